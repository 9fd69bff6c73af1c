"""Beam patterns with side lobes, and the rays that sample them.

A line array shaded after Hansen's one-parameter distribution radiates
``F(u) = sin(pi sqrt(u^2 - B^2)) / (pi sqrt(u^2 - B^2))`` (R. C. Hansen, Phased Array Antennas,
section 3.5.3), where ``u`` goes with the sine of the angle. ``B`` sets the first side lobe, which is
``13.26 dB + 20 log(sinh(pi B) / (pi B))`` down: B = 0 is the uniform array with its sinc^2 pattern.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError

Grid = NDArray[np.float32]
Angles = NDArray[np.float64]

# First side lobe of the uniform array [dB] down.
UNIFORM_SIDE_LOBE_DB = 13.26
_HIGHEST_SIDE_LOBE_DB = 60.0
_WIDEST = math.radians(170.0)
# Rays outside the nominal aperture only carry weak echoes: theirs are coarser cells.
_MAIN_LOBE_CELLS, _SIDE_LOBE_CELLS = 2, 8
_MOST_CELLS = 24
_STEEPEST = math.radians(85.0)
# Side lobes are kept over this many beam widths to either side.
_KERNEL_WIDTHS = 12.0


@dataclass(frozen=True, kw_only=True)
class BeamPattern:
    """A one-way power pattern of a shaded line array, 1 on its axis.

    Attributes:
        width: Between the half-power points [rad].
        side_lobe_db: Level of the first side lobe below the axis; 13.26 is the unshaded array.
    """

    width: float
    side_lobe_db: float = UNIFORM_SIDE_LOBE_DB

    def __post_init__(self) -> None:
        if not 0.0 < self.width <= _WIDEST:
            raise OceanGymError(
                f'a beam {math.degrees(self.width):g} deg wide cannot be: give more than 0 and at '
                f'most {math.degrees(_WIDEST):g} deg'
            )
        if not UNIFORM_SIDE_LOBE_DB <= self.side_lobe_db <= _HIGHEST_SIDE_LOBE_DB:
            raise OceanGymError(
                f'side lobes {self.side_lobe_db:g} dB down cannot be: give '
                f'{UNIFORM_SIDE_LOBE_DB:g} (an unshaded array) to {_HIGHEST_SIDE_LOBE_DB:g} dB'
            )

    @cached_property
    def shading(self) -> float:
        """Hansen's B."""
        wanted = self.side_lobe_db - UNIFORM_SIDE_LOBE_DB
        low, high = 0.0, 4.0
        for _ in range(60):
            b = 0.5 * (low + high)
            level = 20.0 * math.log10(math.sinh(math.pi * b) / (math.pi * b))
            low, high = (b, high) if level < wanted else (low, b)
        return low

    @cached_property
    def _half_power(self) -> float:
        """The u at which half the power is left."""
        low, high = 0.0, math.sqrt(1.0 + self.shading**2)
        for _ in range(60):
            u = 0.5 * (low + high)
            low, high = (u, high) if self._field(np.array([u]))[0] ** 2 > 0.5 else (low, u)
        return low

    def _field(self, u: Angles) -> Angles:
        """Return the pattern's amplitude over u, 1 on the axis."""
        b = self.shading
        squared = u * u - b * b
        z = np.maximum(np.sqrt(np.abs(squared)) * math.pi, 1e-9)
        value = np.where(squared >= 0.0, np.sin(z), np.sinh(np.minimum(z, math.pi * b + 1e-9))) / z
        peak = math.sinh(math.pi * b) / (math.pi * b) if b > 1e-9 else 1.0
        field: Angles = value / peak
        return field

    def power(self, angle: ArrayLike) -> Angles:
        """Return the one-way power pattern at angles off the axis [rad]."""
        scale = self._half_power / math.sin(self.width / 2)
        field = self._field(np.asarray(np.sin(np.asarray(angle)) * scale, dtype=np.float64))
        return field * field

    def null(self, order: int) -> float:
        """Return the angle of the pattern's n-th null [rad], 85 deg where it has none."""
        sine = (
            math.sqrt(order * order + self.shading**2)
            * math.sin(self.width / 2)
            / self._half_power
        )
        return min(math.asin(min(sine, 1.0)), _STEEPEST)


@dataclass(frozen=True, kw_only=True)
class ElevationCells:
    """What a beam's rays stand for in elevation, lowest first.

    Attributes:
        angle: Of each cell's centre [rad], (rays,).
        height: Of each cell [rad], (rays,).
        one_way: One-way power pattern at the centre, (rays,).
        core: The cells within the nominal aperture.
    """

    angle: Angles
    height: Angles
    one_way: Angles
    core: slice

    @property
    def solid(self) -> Angles:
        """Each cell's share of solid angle, up to a factor, (rays,)."""
        solid: Angles = self.height * np.cos(self.angle)
        return solid

    @property
    def total(self) -> float:
        """Two-way pattern integrated over elevation [rad]: the beam's effective height."""
        return float((self.solid * self.one_way**2).sum())

    @property
    def shares(self) -> Angles:
        """Each ray's share of a beam's energy, sent and received, (rays,), summing to 1."""
        shares: Angles = self.solid * self.one_way**2 / self.total
        return shares


def elevation_cells(
    spec: SonarSpec, side_lobe_db: float = UNIFORM_SIDE_LOBE_DB, *, skirts: bool = True
) -> ElevationCells:
    """Return the elevation cells that a sonar traces.

    The nominal aperture spans the half-power points of one way (6 dB down two-way) and holds
    `spec.elevation_rays` equal cells. The skirts outside it reach to the end of the first side lobe.

    Args:
        spec: The sonar.
        side_lobe_db: One-way level of the first side lobe below the axis.
        skirts: Whether to hear anything outside the nominal aperture at all.
    """
    half = spec.elevation_aperture / 2
    pattern = BeamPattern(width=spec.elevation_aperture, side_lobe_db=side_lobe_db)
    cell = spec.elevation_aperture / spec.elevation_rays
    edges = [np.linspace(-half, half, spec.elevation_rays + 1)]
    if skirts:
        start = half
        for order, coarser in ((1, _MAIN_LOBE_CELLS), (2, _SIDE_LOBE_CELLS)):
            stop = pattern.null(order)
            if stop - start > 1e-6:
                count = min(max(1, math.ceil((stop - start) / (coarser * cell))), _MOST_CELLS)
                steps = np.linspace(start, stop, count + 1)[1:]
                edges = [-steps[::-1], *edges, steps]
                start = stop
    all_edges = np.concatenate(edges)
    angle = 0.5 * (all_edges[1:] + all_edges[:-1])
    below = (len(angle) - spec.elevation_rays) // 2
    return ElevationCells(
        angle=angle,
        height=np.diff(all_edges),
        one_way=pattern.power(angle),
        core=slice(below, below + spec.elevation_rays),
    )


def ray_directions(spec: SonarSpec, cells: ElevationCells) -> Angles:
    """Return unit rays in the sonar frame (z forward, x up, y starboard), (rays, beams, 3)."""
    azimuth, elevation = np.meshgrid(spec.azimuths, cells.angle)
    return np.stack(
        [
            np.sin(elevation),
            -np.sin(azimuth) * np.cos(elevation),
            np.cos(azimuth) * np.cos(elevation),
        ],
        axis=-1,
    )


def beam_kernel(spec: SonarSpec, pattern: BeamPattern, *, main_lobe: bool = False) -> Grid:
    """Return an azimuth pattern sampled at the beam spacing, summing to 1, of odd length.

    Args:
        spec: The sonar.
        pattern: Of its receiving array: the transmitter lights the whole aperture.
        main_lobe: Leave the side lobes out; the main lobe keeps its values.
    """
    spacing = spec.azimuth_aperture / max(spec.beams - 1, 1)
    reach = min(math.ceil(_KERNEL_WIDTHS * pattern.width / spacing), (spec.beams - 1) // 2)
    angle = np.arange(-reach, reach + 1) * spacing
    # The array sees no farther than to its sides.
    kernel = np.where(np.abs(angle) < math.pi / 2, pattern.power(angle), 0.0)
    kernel /= kernel.sum()
    if main_lobe:
        inside = np.abs(angle) < pattern.null(1)
        kernel = kernel[inside]
    return np.asarray(kernel, dtype=np.float32)
