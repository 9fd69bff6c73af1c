"""Gain, beams and noise of the sonar presets in config/sonars."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
import math

from oceangym_core.config.sonars import load_sonar, sonar_files, SonarFile
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_sim.sonar.beam import BeamPattern, UNIFORM_SIDE_LOBE_DB
from oceangym_sim.sonar.limits import Limit

# What a fan image shows from black to white [dB].
DYNAMIC_RANGE_DB = 55.0

_DB = Limit(low=-200.0, high=100.0, unit='dB')
_SIGMA = Limit(low=0.0, high=1.0, unit='')
_JITTER = Limit(low=0.0, high=5.0, unit='m')
_LOOKS = Limit(low=1.0, high=100.0, unit='')
# HoloOcean's multiplicative noise has this mean.
_HOLOOCEAN_GAIN = 0.5
# Deviation of a Rayleigh amplitude over its mean: sqrt(4 / pi - 1).
_RAYLEIGH_SPREAD = 0.5227
_RAYLEIGH_MEAN = math.sqrt(math.pi / 2.0)


@dataclass(frozen=True, kw_only=True)
class HoloOceanNoise:
    """Noise settings by HoloOcean's names, and what they mean here.

    HoloOcean's intensities are what its images show, 0..1. Here images show decibels, and linear
    power underlies them, so that each setting becomes the physical noise that looks as strong.

    Attributes:
        add_sigma: Rayleigh noise. Its mean, 1.25 sigma of a picture's grey scale, is the mean of the
            receiver's noise at the longest range; the amplitude of that noise is Rayleigh too.
        mult_sigma: Normal factor about a mean of 0.5: an echo's amplitude deviates by twice this
            share. Averaging over looks gives the same, without negative echoes.
        range_sigma: Mean of an exponential delay of each cell's echo [m], whose weight falls with
            the delay as the exponential's density does.
        azimuth_streaks: What becomes of ranges where much of what the sonar meets faces it: -1
            squares the grey of the whole row (the removal artefact), 1 the difference from white
            (the gain artefact), 0 leaves it.
    """

    add_sigma: float = 0.0
    mult_sigma: float = 0.0
    range_sigma: float = 0.0
    azimuth_streaks: int = 0

    def __post_init__(self) -> None:
        _SIGMA.check('sonar noise', 'add_sigma', self.add_sigma)
        _SIGMA.check('sonar noise', 'mult_sigma', self.mult_sigma)
        _JITTER.check('sonar noise', 'range_sigma', self.range_sigma)
        if self.azimuth_streaks not in (-1, 0, 1):
            raise OceanGymError(
                f'sonar noise: azimuth_streaks is {self.azimuth_streaks}; give -1 (removal), 0 '
                '(none) or 1 (gain)'
            )

    @property
    def noise_db(self) -> float:
        """Mean receiver noise at the longest range relative to full scale."""
        return -DYNAMIC_RANGE_DB * max(0.0, 1.0 - _RAYLEIGH_MEAN * self.add_sigma)

    @property
    def looks(self) -> float:
        """Looks whose mean varies as the multiplicative noise does."""
        spread = max(self.mult_sigma / _HOLOOCEAN_GAIN, _RAYLEIGH_SPREAD / 10.0)
        return max(1.0, (_RAYLEIGH_SPREAD / spread) ** 2)


@dataclass(frozen=True, kw_only=True)
class Device:
    """A sonar as its maker describes it; angles in rad, lengths in m, frequency in Hz."""

    frequency: float
    azimuth_aperture: float
    elevation_aperture: float
    beams: int
    range_min: float
    range_max: float
    range_bins: int = 512


@dataclass(frozen=True, kw_only=True)
class SonarPreset:
    """Gain, beams and noise of a device or setting.

    Attributes:
        source: Where the figures come from.
        full_scale_db: Echo level that maps to 1.0 in the polar image.
        noise_db: Mean noise at the longest range after gain, relative to full scale.
        reverberation_db: Volume backscatter of the water [dB re 1/m].
        self_noise_db: Noise of the vehicle with all thrusters at full throttle at 900 kHz, as
            `noise_db`. The level, 10 dB over most receivers' noise, is an estimate: extrapolated by
            6 dB an octave, Ross's 175 dB + 60 log(u / 25 m/s) + 10 log(B / 4) leaves 60 dB re
            1 uPa2/Hz at 1 m of a T200 (u = 14 m/s, B = 3) at 900 kHz, 16 dB over thermal noise; what
            hull and side lobes let through of it is not known.
        looks: Independent looks averaged into a cell; 1 is fully developed (Rayleigh) speckle.
        beam_width: Half-power width of a receiving beam in azimuth [rad].
        side_lobe_db: First side lobe of the receiving beam below its axis.
        elevation_lobe_db: First side lobe in elevation below the axis, one-way.
        range_sigma, azimuth_streaks: As in `HoloOceanNoise`.
        multipath: Trace a second bounce.
        device: Apertures, range and frequency.
    """

    source: str
    device: Device
    full_scale_db: float = -20.0
    noise_db: float = -42.0
    reverberation_db: float = -70.0
    self_noise_db: float = -32.0
    looks: float = 1.0
    beam_width: float = math.radians(0.8)
    side_lobe_db: float = 25.0
    elevation_lobe_db: float = UNIFORM_SIDE_LOBE_DB
    range_sigma: float = 0.0
    azimuth_streaks: int = 0
    multipath: bool = True

    def __post_init__(self) -> None:
        for name in ('full_scale_db', 'noise_db', 'reverberation_db', 'self_noise_db'):
            _DB.check('sonar preset', name, getattr(self, name))
        _LOOKS.check('sonar preset', 'looks', self.looks)
        HoloOceanNoise(range_sigma=self.range_sigma, azimuth_streaks=self.azimuth_streaks)
        # They refuse beams that cannot be.
        BeamPattern(width=self.beam_width, side_lobe_db=self.side_lobe_db)
        BeamPattern(width=self.beam_width, side_lobe_db=self.elevation_lobe_db)


def _built(file: SonarFile) -> SonarPreset:
    """Return the preset that a file of config/sonars describes."""
    low, high = file.range_m
    built = SonarPreset(
        source=file.source,
        full_scale_db=file.full_scale_db,
        noise_db=file.noise_db,
        beam_width=math.radians(file.beam_width_deg),
        side_lobe_db=file.side_lobe_db,
        multipath=file.multipath,
        device=Device(
            frequency=file.frequency_khz * 1e3,
            azimuth_aperture=math.radians(file.azimuth_deg),
            elevation_aperture=math.radians(file.elevation_deg),
            beams=file.beams,
            range_min=low,
            range_max=high,
            range_bins=file.range_bins,
        ),
    )
    if file.holoocean_noise is None:
        return built
    noise = HoloOceanNoise(**file.holoocean_noise.model_dump())
    return replace(
        built,
        noise_db=noise.noise_db,
        looks=noise.looks,
        range_sigma=noise.range_sigma,
        azimuth_streaks=noise.azimuth_streaks,
    )


@lru_cache(maxsize=1)
def presets() -> dict[str, SonarPreset]:
    """Return every preset by name."""
    return {name: _built(file) for name, file in sonar_files().items()}


def preset(name: str) -> SonarPreset:
    """Return a preset by name.

    Raises:
        OceanGymError: There is none of this name.
    """
    load_sonar(name)
    return presets()[name]


def device_spec(name: str, *, direction: str, mount: Pose) -> SonarSpec:
    """Return the sonar that a preset describes, at its longest range.

    Args:
        name: Of the preset.
        direction: One of ``contract.DIRECTIONS``.
        mount: Pose of the sonar frame in base_link.

    Raises:
        OceanGymError: There is no preset of this name.
    """
    device = preset(name).device
    return SonarSpec(
        direction=direction,
        mount=mount,
        range_min=device.range_min,
        range_max=device.range_max,
        range_bins=device.range_bins,
        beams=device.beams,
        azimuth_aperture=device.azimuth_aperture,
        elevation_aperture=device.elevation_aperture,
        frequency=device.frequency,
        preset=name,
    )
