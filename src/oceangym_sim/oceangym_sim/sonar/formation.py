"""Forms sonar pings from grids of range, incidence and strength, whoever traced them.

Energies are linear powers relative to a perfect Lambert scatterer that fills a beam's whole
elevation pattern face on, after time-varied gain.

Speckle. The echo of a cell is the sum of many scatterers of random phase, a complex Gaussian number
(Choi et al. 2021 draw one for every ray and add them up as phasors). Its amplitude is Rayleigh and its
power exponential about the cell's mean power; the mean of L independent looks is gamma of shape L.
Drawing one number a cell instead of one a ray has the same distribution, cell by cell. A device's beams
lie closer than they are wide and hear partly the same scatterers: its numbers are seen through the
beams' amplitude pattern, so that grains are as wide as a beam. OceanGym's settings have noise of their
own in every cell, as HoloOcean does. Receiver noise, volume reverberation and self-noise are complex
Gaussian and independent of the echo: the power of the sum is exponential about the sum of the means.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import SonarSpec
from oceangym_sim.sonar.beam import beam_kernel, BeamPattern, elevation_cells, ray_directions
from oceangym_sim.sonar.kernels import (
    convolve_beams,
    delay,
    facing_rows,
    grain,
    join,
    scatter,
    spread,
)
from oceangym_sim.sonar.limits import check_spec
from oceangym_sim.sonar.presets import DYNAMIC_RANGE_DB, preset
from oceangym_sim.sonar.sound import (
    absorption_db,
    Grid,
    NOMINAL_WATER,
    SeaWater,
    thruster_noise_slope_db,
    time_varied_gain,
    transmission_loss,
)

__all__ = ['NOMINAL_WATER', 'REACH', 'Bounces', 'PingFormer', 'SeaWater', 'footprint']

# How far a footprint may reach past its centre, as a share of its range: a glancing cell has no end.
_FARTHEST = 2.0
_LEAST_COSINE = 0.004
# Footprints no more than this share of their length apart belong to one surface.
_ONE_SURFACE = 1.0
# Rays must be traced this much past the longest range: their footprints reach back into the image.
REACH = 1.5
# HoloOcean's azimuth streaks: a row faces the sonar from this share of hits within this angle.
_STREAK_SHARE = 0.08
_STREAK_COSINE = math.cos(math.radians(8.0))


def footprint(distance: Grid, cosine: Grid, lean: Grid) -> tuple[Grid, Grid]:
    """Return the nearest and farthest range [m] of the plane patch that each cell sees.

    On a plane of normal n the range goes with 1 / (n . d): neighbouring cells of a flat seabed abut
    without gap or overlap.

    Args:
        distance: To the cell's centre [m], (rays, beams).
        cosine: Of the angle of incidence, -n . d, (rays, beams).
        lean: What n . d changes by from the cell's centre to its edge, (rays, beams).
    """
    c = np.clip(cosine, _LEAST_COSINE, 1.0).astype(np.float32)
    near = distance * (c / (c + lean))
    far = distance * np.minimum(
        c / np.maximum(c - lean, c / np.float32(_FARTHEST)), np.float32(_FARTHEST)
    )
    near, far = near.astype(np.float32), far.astype(np.float32)
    join(distance, near, far, np.float32(_ONE_SURFACE))
    return near, far


@dataclass(frozen=True, kw_only=True)
class Bounces:
    """Echoes of a second bounce, flat arrays: beam, half the path's length [m], power.

    Attributes:
        beam, distance, power: (N,).
        instance: Of the first and the second hit, (2, N).
        position: Of both in map [m], (2, N, 3).
    """

    beam: NDArray[np.int32]
    distance: Grid
    power: Grid
    instance: NDArray[np.uint32]
    position: Grid

    def only(self, chosen: NDArray[np.bool_]) -> Bounces:
        """Return some of them, (N,)."""
        return Bounces(
            beam=self.beam[chosen],
            distance=self.distance[chosen],
            power=self.power[chosen],
            instance=self.instance[:, chosen],
            position=self.position[:, chosen],
        )


class PingFormer:
    """Turns one sonar's ray grids into polar images. Holds no state between pings.

    The gain is that of a device set for `NOMINAL_WATER`: where the water absorbs more, far echoes
    fade.

    Args:
        spec: The sonar.
        water: What absorbs the sound.
        skirts: Whether the grids hold rays outside the nominal elevation aperture as well.

    Attributes:
        cells: What the rays of a beam stand for in elevation.
        absorption: In that water at the sonar's frequency [dB/m].
        noise_floor: Mean of receiver noise and volume reverberation, full scale 1, (range_bins,).
        thruster_noise: Mean of the vehicle's own noise at full throttle, (range_bins,).

    Raises:
        OceanGymError: The sonar or its preset cannot be.
    """

    def __init__(
        self, spec: SonarSpec, water: SeaWater = NOMINAL_WATER, *, skirts: bool = True
    ) -> None:
        check_spec(spec)
        self.spec = spec
        self.preset = preset(spec.preset)
        self.cells = elevation_cells(spec, self.preset.elevation_lobe_db, skirts=skirts)
        self.absorption = absorption_db(spec.frequency, water)
        self._full_scale = 10.0 ** (self.preset.full_scale_db / 10.0)
        self._elevation = BeamPattern(
            width=spec.elevation_aperture, side_lobe_db=self.preset.elevation_lobe_db
        )
        self._shares = self.cells.shares.astype(np.float32)[:, None]
        pattern = BeamPattern(width=self.preset.beam_width, side_lobe_db=self.preset.side_lobe_db)
        self._kernel = beam_kernel(spec, pattern)
        main_lobe = beam_kernel(spec, pattern, main_lobe=True)
        amplitude = np.sqrt(main_lobe / main_lobe.sum())
        self._amplitude: Grid = amplitude.astype(np.float32)
        centres = spec.range_min + (np.arange(spec.range_bins) + 0.5) * spec.range_resolution
        self._gain = time_varied_gain(centres.astype(np.float32), absorption_db(spec.frequency))
        self.noise_floor: Grid = self._level_noise(self.preset.noise_db) + self._reverberation()
        self.thruster_noise: Grid = self._level_noise(
            self.preset.self_noise_db + thruster_noise_slope_db(spec.frequency)
        )

    @property
    def rays(self) -> int:
        """Rays of each beam."""
        return len(self.cells.angle)

    def directions(self) -> NDArray[np.float64]:
        """Return unit rays in the sonar frame (z forward, x up, y starboard), (rays, beams, 3)."""
        return ray_directions(self.spec, self.cells)

    def one_way(self, elevation: Grid) -> NDArray[np.float64]:
        """Return the one-way power pattern at elevations [rad]."""
        return self._elevation.power(elevation)

    def edges(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return how a ray turns from its cell's centre to its upper and to its port edge.

        Both in the sonar frame, (rays, beams, 3): their products with a surface's normal add up to
        the `lean` of a footprint.
        """
        azimuth, elevation = np.meshgrid(self.spec.azimuths, self.cells.angle)
        up = np.stack(
            [
                np.cos(elevation),
                np.sin(azimuth) * np.sin(elevation),
                -np.cos(azimuth) * np.sin(elevation),
            ],
            axis=-1,
        )
        port = np.stack([np.zeros_like(azimuth), -np.cos(azimuth), -np.sin(azimuth)], axis=-1)
        spacing = self.spec.azimuth_aperture / (self.spec.beams - 1)
        half_height = self.cells.height[:, None, None] / 2
        half_width = math.sin(spacing / 2) * np.cos(elevation)[..., None]
        return up * np.sin(half_height), port * half_width

    def loss(self, distance: Grid) -> Grid:
        """Return this sonar's two-way loss as power (see `transmission_loss`)."""
        return transmission_loss(distance, self.absorption)

    def echo_power(self, distance: Grid, cosine: Grid, strength: Grid) -> Grid:
        """Return the received power of each ray before gain, (rays, beams).

        Lambert's law gives mu cos^2 per area, and a cell's area is r^2 dOmega / cos: mu cos remains.

        Args:
            distance: [m], inf or NaN without a hit, (rays, beams).
            cosine: Of the angle between the ray and the surface normal.
            strength: Backscatter mu as linear power.
        """
        found = np.isfinite(distance)
        r = np.where(found, distance, 1.0).astype(np.float32)
        power = strength * np.clip(cosine, 0.0, 1.0) * self.loss(r)
        return np.where(found, power * self._shares, 0.0).astype(np.float32)

    def noise_free(
        self,
        near: Grid,
        far: Grid,
        power: Grid,
        bounces: Bounces | None = None,
        *,
        bins: slice = slice(None),
    ) -> Grid:
        """Return the mean echo image, (range_bins, beams), full scale 1, not clipped.

        Args:
            near: Where each ray's echo begins [m] (see `footprint`).
            far: Where it ends [m].
            power: From `echo_power`; zero out rays to see only some things.
            bounces: Echoes of the second bounce.
            bins: Which range bins to return.
        """
        image = self._collect(near, far, power)
        if bounces is not None:
            scatter(
                image,
                bounces.beam,
                bounces.distance,
                bounces.power,
                np.float32(self.spec.range_min),
                np.float32(self.spec.range_resolution),
            )
        return self._receive(np.ascontiguousarray(image[:, bins]), bins)

    def noise(self, self_noise: float = 0.0) -> Grid:
        """Return the mean noise with a share of the vehicle's own at full throttle, (range_bins,)."""
        if self_noise == 0.0:
            return self.noise_floor
        floor: Grid = self.noise_floor + np.float32(self_noise) * self.thruster_noise
        return floor

    def ping(
        self,
        mean: Grid,
        rng: np.random.Generator,
        *,
        streaks: NDArray[np.bool_] | None = None,
        self_noise: float = 0.0,
    ) -> Grid:
        """Return a mean echo image with speckle and noise, clipped to 0..1, (range_bins, beams).

        Args:
            mean: From `noise_free`.
            rng: Of all noise.
            streaks: Rows for the preset's azimuth streaks, (range_bins,), from `streak_rows`.
            self_noise: Share of the vehicle's noise at full throttle that is heard now (see
                `thruster_noise_share`).
        """
        polar = mean
        if self.preset.range_sigma > 0.0:
            draws = rng.standard_exponential(mean.shape, dtype=np.float32)
            polar = delay(
                mean,
                draws,
                np.float32(self.preset.range_sigma),
                np.float32(self.spec.range_resolution),
            )
        floor = self.noise(self_noise)
        looks = self.preset.looks
        if looks == 1.0:
            speckle = self._one_look(mean.shape, rng)
        else:
            speckle = rng.standard_gamma(looks, mean.shape, dtype=np.float32)
            speckle *= np.float32(1.0 / looks)
        speckle *= polar + floor[:, None]
        clipped: Grid = np.minimum(speckle, np.float32(1.0), out=speckle)
        if streaks is not None and streaks.any():
            clipped[streaks] = _streak(clipped[streaks], self.preset.azimuth_streaks)
        return clipped

    def streak_rows(self, distance: Grid, cosine: Grid) -> NDArray[np.bool_] | None:
        """Return the rows that the preset's azimuth streaks change, None where it has none."""
        if self.preset.azimuth_streaks == 0:
            return None
        spec = self.spec
        rows = facing_rows(
            distance,
            cosine,
            np.float32(_STREAK_COSINE),
            np.float32(spec.range_min),
            np.float32(spec.range_resolution),
            _STREAK_SHARE,
            spec.range_bins,
        )
        return np.asarray(rows)

    def _one_look(self, shape: tuple[int, ...], rng: np.random.Generator) -> Grid:
        """Return speckle of mean power 1 with the grain of the beams, (range_bins, beams)."""
        bins, beams = shape
        taps = self._amplitude if beams > 1 else self._amplitude[:1] / self._amplitude[0]
        field = rng.standard_normal((2, bins, beams + len(taps) - 1), dtype=np.float32)
        speckle: Grid = grain(field, taps * np.float32(math.sqrt(0.5)))
        return speckle

    def _collect(self, near: Grid, far: Grid, power: Grid) -> Grid:
        """Return the energy of each beam's own direction in each bin, (beams, range_bins)."""
        spec = self.spec
        image = np.zeros((spec.beams, spec.range_bins), np.float32)
        spread(
            image,
            near,
            far,
            power,
            np.float32(spec.range_min),
            np.float32(spec.range_resolution),
            np.float32(0.2 * math.log(10.0) * self.absorption),
        )
        return image

    def _receive(self, image: Grid, bins: slice) -> Grid:
        """Return what the receiving beams hear in some bins after gain, (bins, beams)."""
        image *= self._gain[bins] / np.float32(self._full_scale)
        return np.ascontiguousarray(convolve_beams(image, self._kernel).T)

    def _level_noise(self, level_db: float) -> Grid:
        """Return noise of one level at the receiver: the gain makes it grow with range."""
        noise: Grid = 10.0 ** (level_db / 10.0) * self._gain / self._gain[-1]
        return noise.astype(np.float32)

    def _reverberation(self) -> Grid:
        """Return the mean echo of open water, level after gain.

        A bin holds the volume r^2 dOmega dr, which scatters Sv per volume: as a Lambert cell's its
        echo falls with r^-2 and the absorption, and the gain undoes both.
        """
        backscatter = 10.0 ** (self.preset.reverberation_db / 10.0)
        level = backscatter * self.spec.range_resolution / self._full_scale
        return np.full(self.spec.range_bins, level, np.float32)


def _streak(rows: Grid, kind: int) -> Grid:
    """Return rows with HoloOcean's removal (-1) or gain (1) artefact on their grey."""
    floor = np.float32(10.0 ** (-DYNAMIC_RANGE_DB / 10.0))
    grey = 1.0 + 10.0 * np.log10(np.maximum(rows, floor)) / DYNAMIC_RANGE_DB
    grey = grey * grey if kind == -1 else 1.0 - (1.0 - grey) ** 2
    streaked: Grid = (10.0 ** ((grey - 1.0) * (DYNAMIC_RANGE_DB / 10.0))).astype(np.float32)
    return streaked
