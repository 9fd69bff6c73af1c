"""Gain, beams and noise of OceanGym's two sonar settings and of named devices, with their sources."""

from __future__ import annotations

from dataclasses import dataclass
import math

from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.geometry import Pose
from oceangym_core.observation import SonarSpec
from oceangym_sim.sonar_beam import BeamPattern, UNIFORM_SIDE_LOBE_DB
from oceangym_sim.sonar_limits import Limit

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
        device: What the maker says of the device; None for a mere setting.
    """

    source: str
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
    device: Device | None = None

    def __post_init__(self) -> None:
        for name in ('full_scale_db', 'noise_db', 'reverberation_db', 'self_noise_db'):
            _DB.check('sonar preset', name, getattr(self, name))
        _LOOKS.check('sonar preset', 'looks', self.looks)
        HoloOceanNoise(range_sigma=self.range_sigma, azimuth_streaks=self.azimuth_streaks)
        # They refuse beams that cannot be.
        BeamPattern(width=self.beam_width, side_lobe_db=self.side_lobe_db)
        BeamPattern(width=self.beam_width, side_lobe_db=self.elevation_lobe_db)


def _setting(noise: HoloOceanNoise, *, multipath: bool, source: str) -> SonarPreset:
    return SonarPreset(
        source=source,
        noise_db=noise.noise_db,
        looks=noise.looks,
        range_sigma=noise.range_sigma,
        azimuth_streaks=noise.azimuth_streaks,
        multipath=multipath,
    )


def _deg(value: float) -> float:
    return math.radians(value)


DECISION_NOISE = HoloOceanNoise(
    add_sigma=0.15, mult_sigma=0.2, range_sigma=0.1, azimuth_streaks=-1
)
PERCEPTION_NOISE = HoloOceanNoise(
    add_sigma=0.1, mult_sigma=0.1, range_sigma=0.05, azimuth_streaks=0
)

_OCULUS = 'Blueprint Subsea, Oculus M-series data sheet (UM-148 user manual)'
# Neither vendor states side lobes: 25 dB is what a moderately shaded receiving array has, and the
# transmitting elements are taken as unshaded.
PRESETS: dict[str, SonarPreset] = {
    'oceangym_decision': _setting(
        DECISION_NOISE, multipath=True, source='OceanGym, OceanGym_sonar.json'
    ),
    'oceangym_perception': _setting(
        PERCEPTION_NOISE, multipath=False, source='OceanGym, with_sonar.json'
    ),
    'oculus_m750d': SonarPreset(
        source=f'{_OCULUS}, 750 kHz mode',
        beam_width=_deg(1.0),
        device=Device(
            frequency=750e3, azimuth_aperture=_deg(130), elevation_aperture=_deg(20), beams=512,
            range_min=0.1, range_max=120.0,
        ),
    ),
    'oculus_m1200d': SonarPreset(
        source=f'{_OCULUS}, 1.2 MHz mode',
        noise_db=-44.0,
        beam_width=_deg(0.6),
        device=Device(
            frequency=1.2e6, azimuth_aperture=_deg(130), elevation_aperture=_deg(20), beams=512,
            range_min=0.1, range_max=40.0,
        ),
    ),
    'blueview_p900': SonarPreset(
        source='Teledyne BlueView, P900-130 data sheet; bandwidth and apertures as in Choi et al. 2021',
        beam_width=_deg(1.0),
        device=Device(
            frequency=900e3, azimuth_aperture=_deg(130), elevation_aperture=_deg(20), beams=768,
            range_min=2.0, range_max=60.0,
        ),
    ),
    'ping360': SonarPreset(
        source='Blue Robotics, Ping360 technical details: 750 kHz, 2 x 25 deg, 0.75..50 m, 1200 samples',
        noise_db=-38.0,
        beam_width=_deg(2.0),
        side_lobe_db=UNIFORM_SIDE_LOBE_DB,
        multipath=False,
        device=Device(
            frequency=750e3, azimuth_aperture=_deg(9), elevation_aperture=_deg(25), beams=19,
            range_min=0.75, range_max=50.0, range_bins=1200,
        ),
    ),
    'ping1d': SonarPreset(
        source='Blue Robotics, Ping sonar altimeter: 115 kHz, 30 deg, 0.5..50 m',
        noise_db=-38.0,
        beam_width=_deg(30.0),
        side_lobe_db=UNIFORM_SIDE_LOBE_DB,
        multipath=False,
        device=Device(
            frequency=115e3, azimuth_aperture=_deg(90), elevation_aperture=_deg(30), beams=91,
            range_min=0.5, range_max=50.0, range_bins=1000,
        ),
    ),
    'side_scan': SonarPreset(
        source='a 400 kHz tow fish, each side: 0.5 x 50 deg',
        full_scale_db=-40.0,
        beam_width=_deg(0.5),
        side_lobe_db=20.0,
        multipath=False,
        device=Device(
            frequency=400e3, azimuth_aperture=_deg(4), elevation_aperture=_deg(50), beams=17,
            range_min=0.5, range_max=75.0, range_bins=1500,
        ),
    ),
    'profiler': SonarPreset(
        source='a 400 kHz multibeam echo sounder: 1 x 1 deg beams over 120 deg',
        beam_width=_deg(1.0),
        multipath=False,
        device=Device(
            frequency=400e3, azimuth_aperture=_deg(120), elevation_aperture=_deg(1), beams=256,
            range_min=0.5, range_max=75.0, range_bins=1500,
        ),
    ),
}  # fmt: skip


def preset(name: str) -> SonarPreset:
    """Return a preset by name.

    Raises:
        OceanGymError: There is none of this name.
    """
    if name not in PRESETS:
        raise unknown_name('sonar preset', name, PRESETS)
    return PRESETS[name]


def device_spec(name: str, *, direction: str, mount: Pose) -> SonarSpec:
    """Return the sonar that a device preset describes, at its longest range.

    Args:
        name: Of a preset that describes a device.
        direction: One of ``contract.DIRECTIONS``.
        mount: Pose of the sonar frame in base_link.

    Raises:
        OceanGymError: There is no preset of this name, or it is a setting and no device.
    """
    device = preset(name).device
    if device is None:
        raise unknown_name('sonar device', name, [n for n, p in PRESETS.items() if p.device])
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
