"""Forms imaging-sonar pings from grids of range, incidence and strength, whoever traced them.

Energies are linear powers relative to a perfect Lambert scatterer that fills a beam's whole
elevation aperture face on, after time-varied gain.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numba
import numpy as np
from numpy.typing import NDArray

from oceangym_core.errors import unknown_name
from oceangym_core.observation import SonarSpec

Grid = NDArray[np.float32]

# Longest share of its range that one ray's footprint may span (a glancing cell has no end).
_LONGEST_FOOTPRINT = 0.3
_LEAST_COSINE = 0.02
# Rays must be traced this much past the longest range: their footprints reach back into the image.
REACH = 1.0 + _LONGEST_FOOTPRINT / 2


@dataclass(frozen=True, kw_only=True)
class SonarPreset:
    """Gain and noise of a device or setting.

    Attributes:
        full_scale_db: Echo level that maps to 1.0 in the polar image.
        noise_db: Mean noise at the longest range after gain, relative to full scale.
        looks: Independent looks averaged into a cell; 1 is fully developed (Rayleigh) speckle.
        beam_width: Two-way half-power width in azimuth [rad].
        elevation_edge_db: Two-way level at the edge of the elevation aperture.
        multipath: Trace a second bounce.
    """

    full_scale_db: float = -20.0
    noise_db: float = -42.0
    looks: int = 2
    beam_width: float = math.radians(0.8)
    elevation_edge_db: float = -6.0
    multipath: bool = True


# OceanGym's decision setting is the noisier of the two (AddSigma .15, MultSigma .2, multipath),
# its perception setting the cleaner (.1, .1, none). The Oculus and M900 beams are the vendors'.
PRESETS: dict[str, SonarPreset] = {
    'oceangym_decision': SonarPreset(noise_db=-38.0, looks=2, multipath=True),
    'oceangym_perception': SonarPreset(noise_db=-42.0, looks=4, multipath=False),
    'oculus_m750d': SonarPreset(noise_db=-42.0, looks=1, beam_width=math.radians(1.0)),
    'blueprint_m1200d': SonarPreset(noise_db=-44.0, looks=1, beam_width=math.radians(0.6)),
    'teledyne_m900': SonarPreset(noise_db=-42.0, looks=1, beam_width=math.radians(1.0)),
}


def preset(name: str) -> SonarPreset:
    """Return a preset by name.

    Raises:
        OceanGymError: There is none of this name.
    """
    if name not in PRESETS:
        raise unknown_name('sonar preset', name, PRESETS)
    return PRESETS[name]


@dataclass(frozen=True, kw_only=True)
class SeaWater:
    """What absorbs sound: temperature [deg C], salinity [g/kg], acidity (pH), depth [m]."""

    temperature: float = 10.0
    salinity: float = 35.0
    ph: float = 8.0
    depth: float = 50.0


# What a device's time-varied gain is set for.
NOMINAL_WATER = SeaWater()


def absorption_db(frequency: float, water: SeaWater = NOMINAL_WATER) -> float:
    """Return the absorption of sound in sea water [dB/m] (Ainslie and McColm 1998).

    Args:
        frequency: [Hz].
        water: Where the sound travels.
    """
    f, z, t = frequency / 1e3, water.depth / 1e3, water.temperature
    salinity, ph = water.salinity, water.ph
    boric = 0.78 * math.sqrt(salinity / 35.0) * math.exp(t / 26.0)
    magnesium = 42.0 * math.exp(t / 17.0)
    per_km = (
        0.106 * boric * f * f / (boric * boric + f * f) * math.exp((ph - 8.0) / 0.56)
        + 0.52
        * (1.0 + t / 43.0)
        * (salinity / 35.0)
        * magnesium
        * f
        * f
        / (magnesium * magnesium + f * f)
        * math.exp(-z / 6.0)
        + 0.00049 * f * f * math.exp(-(t / 27.0 + z / 17.0))
    )
    return per_km / 1e3


def elevations(spec: SonarSpec) -> NDArray[np.float64]:
    """Return the elevations of the traced rays [rad], (elevation_rays,), lowest first."""
    cell = spec.elevation_aperture / spec.elevation_rays
    angles = (np.arange(spec.elevation_rays) + 0.5) * cell - spec.elevation_aperture / 2
    return np.asarray(angles, dtype=np.float64)


def ray_directions(spec: SonarSpec) -> NDArray[np.float64]:
    """Return unit rays in the sonar frame (z forward, x up, y starboard), (rays, beams, 3)."""
    azimuth, elevation = np.meshgrid(spec.azimuths, elevations(spec))
    return np.stack(
        [
            np.sin(elevation),
            -np.sin(azimuth) * np.cos(elevation),
            np.cos(azimuth) * np.cos(elevation),
        ],
        axis=-1,
    )


def elevation_weights(spec: SonarSpec, edge_db: float) -> NDArray[np.float64]:
    """Return each ray's share of a beam's energy, (elevation_rays,), summing to 1.

    The pattern is Gaussian with `edge_db` at the edge of the aperture.
    """
    place = elevations(spec) / (spec.elevation_aperture / 2)
    pattern = 10.0 ** (edge_db / 10.0 * place * place)
    shares: NDArray[np.float64] = pattern / pattern.sum()
    return shares


def transmission_loss(distance: Grid, absorption: float) -> Grid:
    """Return the two-way loss of a Lambert cell's echo as power, with `absorption` in dB/m.

    The cell grows with r^2 and its echo falls with r^-4, so r^-2 remains.
    """
    r = np.maximum(distance, 1e-3)
    loss: Grid = (10.0 ** (-0.2 * absorption * r) / (r * r)).astype(np.float32)
    return loss


def time_varied_gain(distance: Grid, absorption: float) -> Grid:
    """Return the receiver's gain over range as power: 20 log r + 2 a r."""
    gain: Grid = (1.0 / transmission_loss(distance, absorption)).astype(np.float32)
    return gain


def footprint(distance: Grid, cosine: Grid, cell: float) -> tuple[Grid, Grid]:
    """Return the nearest and farthest range [m] of the plane patch that each elevation cell sees.

    On a plane met at an angle t, r(e) = r cos t / cos(t + e): neighbouring cells of a flat seabed
    abut without gap or overlap.

    Args:
        distance: To the cell's centre [m].
        cosine: Of the angle of incidence.
        cell: Height of the cell [rad].
    """
    c = np.clip(cosine, _LEAST_COSINE, 1.0).astype(np.float32)
    along = c * np.float32(math.cos(cell / 2))
    across = np.sqrt(1.0 - c * c) * np.float32(math.sin(cell / 2))
    near = distance * np.maximum(c / (along + across), 1.0 - _LONGEST_FOOTPRINT / 2)
    longest = np.float32(1.0 + _LONGEST_FOOTPRINT / 2)
    far = distance * np.minimum(c / np.maximum(along - across, c / longest), longest)
    return near.astype(np.float32), far.astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Bounces:
    """Echoes of a second bounce, flat arrays: beam, half the path's length [m], power."""

    beam: NDArray[np.int32]
    distance: Grid
    power: Grid


class PingFormer:
    """Turns one sonar's ray grids into polar images. Holds no state between pings.

    The gain is that of a device set for `NOMINAL_WATER`: where the water absorbs more, far echoes
    fade.

    Args:
        spec: The sonar.
        water: What absorbs the sound.

    Attributes:
        absorption: In that water at the sonar's frequency [dB/m].
    """

    def __init__(self, spec: SonarSpec, water: SeaWater = NOMINAL_WATER) -> None:
        self.spec = spec
        self.preset = preset(spec.preset)
        self.absorption = absorption_db(spec.frequency, water)
        self._full_scale = 10.0 ** (self.preset.full_scale_db / 10.0)
        self._weights = elevation_weights(spec, self.preset.elevation_edge_db).astype(np.float32)
        self._cell = spec.elevation_aperture / spec.elevation_rays
        self._beam_kernel = _beam_kernel(spec, self.preset.beam_width)
        centres = spec.range_min + (np.arange(spec.range_bins) + 0.5) * spec.range_resolution
        self._gain = time_varied_gain(centres.astype(np.float32), absorption_db(spec.frequency))
        # Receiver noise is level; the gain makes it grow with range.
        self.noise_floor: Grid = (
            10.0 ** (self.preset.noise_db / 10.0) * self._gain / self._gain[-1]
        ).astype(np.float32)

    def loss(self, distance: Grid) -> Grid:
        """Return this sonar's two-way loss as power (see `transmission_loss`)."""
        return transmission_loss(distance, self.absorption)

    def echo_power(self, distance: Grid, cosine: Grid, strength: Grid) -> Grid:
        """Return the received power of each ray before gain, (elevation_rays, beams).

        Lambert's law gives mu cos^2 per area, and a cell's area is r^2 dOmega / cos: mu cos remains.

        Args:
            distance: [m], inf or NaN without a hit, (elevation_rays, beams).
            cosine: Of the angle between the ray and the surface normal.
            strength: Backscatter mu as linear power.
        """
        found = np.isfinite(distance)
        r = np.where(found, distance, 1.0).astype(np.float32)
        power = strength * np.clip(cosine, 0.0, 1.0) * self.loss(r)
        return np.where(found, power * self._weights[:, None], 0.0).astype(np.float32)

    def noise_free(
        self, distance: Grid, cosine: Grid, power: Grid, bounces: Bounces | None = None
    ) -> Grid:
        """Return the mean echo image, (range_bins, beams), full scale 1, not clipped.

        Each ray is an elevation cell: its echo is spread over the range its footprint spans.

        Args:
            distance: As for `echo_power`.
            cosine: As for `echo_power`.
            power: From `echo_power`; zero out rays to see only some things.
            bounces: Echoes of the second bounce.
        """
        spec = self.spec
        image = np.zeros((spec.range_bins, spec.beams), np.float32)
        found = np.isfinite(distance) & (power > 0.0)
        r = np.where(found, distance, 0.0).astype(np.float32)
        near, far = footprint(r, cosine, self._cell)
        _spread(
            image,
            near,
            far,
            np.where(found, power, 0.0).astype(np.float32),
            np.float32(spec.range_min),
            np.float32(spec.range_resolution),
        )
        if bounces is not None:
            _scatter(
                image,
                bounces.beam,
                bounces.distance,
                bounces.power,
                np.float32(spec.range_min),
                np.float32(spec.range_resolution),
            )
        image *= (self._gain / self._full_scale)[:, None]
        smeared: Grid = _convolve_beams(image, self._beam_kernel)
        return smeared

    def ping(self, mean: Grid, rng: np.random.Generator) -> Grid:
        """Return a mean echo image with speckle and noise, clipped to 0..1, (range_bins, beams)."""
        looks = self.preset.looks
        shape = mean.shape
        speckle = rng.standard_exponential(shape, dtype=np.float32)
        for _ in range(looks - 1):
            speckle += rng.standard_exponential(shape, dtype=np.float32)
        # Echo and noise are independent Gaussian fields: the power of their sum is exponential
        # (gamma for several looks) about the sum of their mean powers.
        polar = (mean + self.noise_floor[:, None]) * speckle * np.float32(1.0 / looks)
        clipped: Grid = np.minimum(polar, np.float32(1.0))
        return clipped


def _beam_kernel(spec: SonarSpec, width: float) -> Grid:
    """Return the two-way azimuth pattern sampled at the beam spacing, summing to 1, odd length."""
    spacing = spec.azimuth_aperture / max(spec.beams - 1, 1)
    sigma = width / spacing / (2.0 * math.sqrt(2.0 * math.log(2.0)))
    reach = min(math.ceil(3.0 * sigma), (spec.beams - 1) // 2)
    offsets = np.arange(-reach, reach + 1)
    kernel = np.exp(-0.5 * (offsets / max(sigma, 1e-6)) ** 2)
    return np.asarray(kernel / kernel.sum(), dtype=np.float32)


@numba.njit(cache=True, nogil=True)
def _spread(image, near, far, power, range_min, resolution):  # type: ignore[no-untyped-def]
    """Add each ray's power over the bins that its footprint covers (one bin's length at least)."""
    bins = image.shape[0]
    rays, beams = near.shape
    for ray in range(rays):
        for beam in range(beams):
            p = power[ray, beam]
            if p <= 0.0:
                continue
            low = (near[ray, beam] - range_min) / resolution
            high = (far[ray, beam] - range_min) / resolution
            if high - low < np.float32(1.0):
                middle = np.float32(0.5) * (low + high)
                low, high = middle - np.float32(0.5), middle + np.float32(0.5)
            if high <= 0.0 or low >= bins:
                continue
            density = p / (high - low)
            first, last = max(int(np.floor(low)), 0), min(int(np.floor(high)), bins - 1)
            for i in range(first, last + 1):
                covered = min(high, np.float32(i + 1)) - max(low, np.float32(i))
                if covered > 0.0:
                    image[i, beam] += density * covered


@numba.njit(cache=True, nogil=True)
def _scatter(image, beam, distance, power, range_min, resolution):  # type: ignore[no-untyped-def]
    """Add second-bounce echoes, each over two neighbouring bins."""
    bins = image.shape[0]
    for k in range(beam.shape[0]):
        place = (distance[k] - range_min) / resolution - 0.5
        low = int(np.floor(place))
        share = place - low
        if 0 <= low < bins:
            image[low, beam[k]] += power[k] * (1.0 - share)
        if 0 <= low + 1 < bins:
            image[low + 1, beam[k]] += power[k] * share


@numba.njit(cache=True, nogil=True)
def _convolve_beams(image, kernel):  # type: ignore[no-untyped-def]
    """Smear each range bin over the beams; a beam at the edge sees nothing beyond it."""
    bins, beams = image.shape
    reach = kernel.shape[0] // 2
    out = np.zeros_like(image)
    for i in range(bins):
        for k in range(-reach, reach + 1):
            w = kernel[k + reach]
            for j in range(max(0, -k), min(beams, beams - k)):
                out[i, j] += w * image[i, j + k]
    return out
