"""The seabed as a heightfield: relief through given points, canyons, scarps, dunes, rock, pads.

Frame: map (ENU, z up, z = 0 at the sea surface), metres. Arrays are [iy, ix].
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_worlds.modelling.noise import Noise, smoothstep
from oceangym_worlds.seabed.relief import (
    Canyon,
    distance_to_line,
    Gully,
    Pad,
    Scarp,
    thin_plate,
)

Array = NDArray[np.float64]

REPOSE_SLOPE = math.tan(math.radians(42.5))  # steepest difference between neighbours that is left


@dataclass(frozen=True, kw_only=True)
class TerrainPlan:
    """All that fixes a seabed apart from the seed of its random detail.

    Attributes:
        lower, upper: (2,) corners of the grid [m].
        spacing: Grid step [m].
        control: (N, 3) points that the large-scale relief passes through.
        pads: Level places, in order of precedence (the first ones win where two meet).
        floor, ceiling: Range of the seabed's height [m].
        route: (N, 2) line along which dunes and rock are subdued, so that a pipe can lie there.
    """

    lower: Array
    upper: Array
    spacing: float
    control: Array
    pads: tuple[Pad, ...]
    canyons: tuple[Canyon, ...] = ()
    scarps: tuple[Scarp, ...] = ()
    gullies: tuple[Gully, ...] = ()
    route: Array = field(default_factory=lambda: np.zeros((0, 2)))
    floor: float = -99.6
    ceiling: float = -24.0
    dune_height: float = 1.0
    dune_wavelength: float = 34.0


@dataclass(frozen=True, kw_only=True)
class Heightfield:
    """Heights on a regular grid: `z` (ny, nx) float32, node [iy, ix] at origin + spacing * (ix, iy)."""

    z: NDArray[np.float32]
    origin: tuple[float, float]
    spacing: float

    def axes(self) -> tuple[Array, Array]:
        """Return the x (nx,) and y (ny,) coordinates of the nodes."""
        ny, nx = self.z.shape
        x: Array = self.origin[0] + self.spacing * np.arange(nx, dtype=float)
        y: Array = self.origin[1] + self.spacing * np.arange(ny, dtype=float)
        return x, y

    def sample(self, values: NDArray[np.floating], x: ArrayLike, y: ArrayLike) -> Array:
        """Return any nodal field (ny, nx) interpolated bilinearly at points; clamped at the edge."""
        ny, nx = self.z.shape
        u = np.clip((np.asarray(x, dtype=float) - self.origin[0]) / self.spacing, 0, nx - 1.000001)
        v = np.clip((np.asarray(y, dtype=float) - self.origin[1]) / self.spacing, 0, ny - 1.000001)
        i, j = u.astype(int), v.astype(int)
        fu, fv = u - i, v - j
        low = values[j, i] * (1 - fu) + values[j, i + 1] * fu
        high = values[j + 1, i] * (1 - fu) + values[j + 1, i + 1] * fu
        return np.asarray(low * (1 - fv) + high * fv)

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the seabed's z [m] at points."""
        return self.sample(self.z, x, y)

    def gradient(self) -> tuple[Array, Array]:
        """Return dz/dx and dz/dy (ny, nx) by central differences."""
        dy, dx = np.gradient(self.z.astype(float), self.spacing)
        return np.asarray(dx), np.asarray(dy)

    def slope(self) -> Array:
        """Return the steepness (ny, nx) [rad]."""
        return np.asarray(np.arctan(np.hypot(*self.gradient())))


@dataclass(frozen=True, kw_only=True)
class Seabed:
    """A heightfield with the nodal fields (ny, nx) that decide its material.

    Attributes:
        rock: 0 sediment .. 1 bare rock.
        rubble: 0 .. 1 on and around rock: gravel and stones that came off it.
        ripple: 0 smooth .. 1 rippled sand.
        silt: 0 sand .. 1 silt.
    """

    heightfield: Heightfield
    rock: Array
    rubble: Array
    ripple: Array
    silt: Array
    pads: tuple[Pad, ...] = field(default=())


def build_seabed(plan: TerrainPlan, seed: int) -> Seabed:
    """Build the seabed of a plan; the same plan and seed give the same heights."""
    nx, ny = (np.round((plan.upper - plan.lower) / plan.spacing).astype(int) + 1).tolist()
    x, y = np.meshgrid(
        plan.lower[0] + plan.spacing * np.arange(nx), plan.lower[1] + plan.spacing * np.arange(ny)
    )
    calm = _calm(plan.pads, x, y)
    z = _relief(plan, seed, x, y, calm)
    calm = calm * (0.2 + 0.8 * smoothstep(2.0, 12.0, distance_to_line(plan.route, x, y)))
    steep = np.hypot(*np.gradient(z, plan.spacing))
    outcrop = Noise.of(seed, 'outcrop').fractal(x, y, 140.0, octaves=4)
    rock = np.clip(
        smoothstep(0.26, 0.52, steep) + smoothstep(0.24, 0.38, outcrop) * (0.15 + 0.85 * calm),
        0.0,
        1.0,
    )
    z = z + _rock_relief(seed, x, y, z, rock, calm)
    sand = (1.0 - rock) * smoothstep(0.2, 0.08, steep)
    patches = Noise.of(seed, 'dunes').fractal(x, y, 190.0, octaves=2)
    dunes = smoothstep(-0.02, 0.22, patches) * sand
    z = z + _dunes(plan, seed, x, y) * dunes * calm
    z = z + 0.1 * Noise.of(seed, 'sediment').at(x, y, 13.0) * (0.3 + 0.7 * calm)
    pads = _settle(plan.pads, z, plan)
    z = _limit_slope(_level(z, pads, x, y), pads, x, y, plan.spacing)
    # No flat disc is left under a prop; at 6 cm the steepest pad gains about two degrees.
    z = _soft_range(z + 0.06 * Noise.of(seed, 'settled').at(x, y, 9.0) * (1.0 - calm), plan)
    # Heights to 0.1 mm and fields to 1e-6: a last-bit difference between two machines' libraries
    # then does not move the boundary between two materials.
    heightfield = Heightfield(
        z=np.round(z, 4).astype(np.float32),
        origin=(float(plan.lower[0]), float(plan.lower[1])),
        spacing=plan.spacing,
    )
    steep = np.hypot(*heightfield.gradient())
    ragged = Noise.of(seed, 'ragged').fractal(x, y, 9.0, octaves=2)
    rock = np.maximum(0.55 * rock, smoothstep(0.24, 0.62, steep)) + 0.45 * rock + 0.22 * ragged
    silt = smoothstep(
        -70.0, -82.0, z + 9.0 * Noise.of(seed, 'silt').fractal(x, y, 70.0, octaves=4)
    )
    rock = rock * (0.35 + 0.65 * calm)
    patchy = Noise.of(seed, 'rubble').fractal(x, y, 14.0, octaves=3)
    return Seabed(
        heightfield=heightfield,
        rock=np.round(rock, 6),
        rubble=np.round(_spread(rock, 8) + 0.25 * patchy, 6),
        ripple=np.round(dunes + 0.2 * ragged, 6),
        silt=np.round(silt + 0.1 * ragged, 6),
        pads=pads,
    )


def _calm(pads: tuple[Pad, ...], x: Array, y: Array) -> Array:
    """Return 0 on pads rising to 1 at 22 m from them: where random relief may act fully."""
    calm = np.ones(x.shape)
    for pad in pads:
        calm = np.minimum(calm, smoothstep(0.5, 22.0, pad.distance(x, y) - pad.radius))
    return calm


def _relief(plan: TerrainPlan, seed: int, x: Array, y: Array, calm: Array) -> Array:
    """Return the large-scale relief: spline through the points, canyons, scarps, hills."""
    warp_x = 9.0 * Noise.of(seed, 'warp_x').fractal(x, y, 85.0, octaves=3) * calm
    warp_y = 9.0 * Noise.of(seed, 'warp_y').fractal(x, y, 85.0, octaves=3) * calm
    control = plan.control.astype(float).copy()
    keep = np.ones(len(control), dtype=bool)
    for scarp in plan.scarps:
        control[:, 2] -= scarp.offset(control[:, 0], control[:, 1])
    for canyon in reversed(plan.canyons):
        weight, floor = canyon.weight_and_floor(control[:, 0], control[:, 1])
        # On a canyon's floor the relief above it is free.
        keep &= weight < 0.8
        carved = np.minimum(weight, 0.8)
        control[:, 2] = (control[:, 2] - floor * carved) / (1.0 - carved)
    z = thin_plate(control[keep])(x, y)
    hills = Noise.of(seed, 'hills').fractal(x, y, 140.0, octaves=3, gain=0.4)
    z = z + 3.2 * hills * calm
    for canyon in plan.canyons:
        weight, floor = canyon.weight_and_floor(x + warp_x, y + warp_y)
        z = z + (floor - z) * weight
    for scarp in plan.scarps:
        z = z + scarp.offset(x + warp_x, y + warp_y)
    for gully in plan.gullies:
        z = z + gully.offset(x, y) * calm
    return _soft_range(z, plan)


def _rock_relief(seed: int, x: Array, y: Array, z: Array, rock: Array, calm: Array) -> Array:
    """Return ledges, blocks and decimetre roughness of bare rock [m]."""
    blocks = Noise.of(seed, 'blocks').fractal(x, y, 42.0, octaves=4, gain=0.5, ridged=True)
    rough = Noise.of(seed, 'rough').at(x, y, 7.5)
    strata = np.sin(2.0 * np.pi * (z + 2.0 * blocks) / 9.0)
    return np.asarray((4.0 * np.maximum(blocks, -0.3) + 0.35 * rough + 0.5 * strata) * rock * calm)


def _dunes(plan: TerrainPlan, seed: int, x: Array, y: Array) -> Array:
    """Return sand waves [m], 0..dune_height: long stoss side, lee side of 0.3 wavelengths."""
    heading = 2.0 * np.pi * (seed * 0.6180339887 % 1.0) + 0.5
    bend = Noise.of(seed, 'crests').fractal(x, y, 120.0, octaves=2)
    phase = (x * math.cos(heading) + y * math.sin(heading)) / plan.dune_wavelength + 1.1 * bend
    t = phase - np.floor(phase)
    wave = np.where(
        t < 0.7, 0.5 - 0.5 * np.cos(np.pi * t / 0.7), 0.5 + 0.5 * np.cos(np.pi * (t - 0.7) / 0.3)
    )
    height = 0.75 + 0.25 * Noise.of(seed, 'dune_height').at(x, y, 60.0)
    return np.asarray(plan.dune_height * height * wave)


def _spread(field_values: Array, steps: int) -> Array:
    """Return a nodal field spread by `steps` of diffusion, about sqrt(steps) nodes wide."""
    spread = field_values
    for _ in range(steps):
        edge = np.pad(spread, 1, mode='edge')
        sides = edge[:-2, 1:-1] + edge[2:, 1:-1] + edge[1:-1, :-2] + edge[1:-1, 2:]
        spread = 0.5 * spread + 0.125 * sides
    return spread


def _settle(pads: tuple[Pad, ...], z: Array, plan: TerrainPlan) -> tuple[Pad, ...]:
    """Return the pads with height and tilt decided by the relief around them."""
    origin = (float(plan.lower[0]), float(plan.lower[1]))
    relief = Heightfield(z=z.astype(np.float32), origin=origin, spacing=plan.spacing)
    settled = []
    for pad in pads:
        span = pad.radius + pad.half_length
        gx = relief.height(pad.x + span, pad.y) - relief.height(pad.x - span, pad.y)
        gy = relief.height(pad.x, pad.y + span) - relief.height(pad.x, pad.y - span)
        tilt = np.array([float(gx), float(gy)]) / (2.0 * span)
        tilt *= min(1.0, pad.max_tilt / max(float(np.hypot(*tilt)), 1e-9))
        z0 = float(relief.height(pad.x, pad.y)) if pad.z is None else pad.z
        settled.append(replace(pad, z=round(z0, 3), tilt=(float(tilt[0]), float(tilt[1]))))
    return tuple(settled)


def _level(z: Array, pads: tuple[Pad, ...], x: Array, y: Array) -> Array:
    """Blend the relief into each pad: its plane inside, the relief again 18 m from its edge."""
    for pad in reversed(pads):
        away = pad.distance(x, y) - pad.radius
        z = z + (pad.height(x, y) - z) * smoothstep(18.0, 0.0, away)
    return z


def _limit_slope(z: Array, pads: tuple[Pad, ...], x: Array, y: Array, spacing: float) -> Array:
    """Let material slide until no two neighbours differ by more than the slope of repose.

    Nodes on pads stay put. Both partners of a pair that is too steep move by a quarter of the excess.
    """
    free = np.ones(z.shape)
    for pad in pads:
        free[pad.distance(x, y) <= pad.radius] = 0.0
    pairs = (
        ((slice(None), slice(1, None)), (slice(None), slice(None, -1)), spacing),
        ((slice(1, None), slice(None)), (slice(None, -1), slice(None)), spacing),
        ((slice(1, None), slice(1, None)), (slice(None, -1), slice(None, -1)), spacing * 2**0.5),
        ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)), spacing * 2**0.5),
    )
    z = z.copy()
    for _ in range(400):
        worst = 0.0
        for a, b, run in pairs:
            step = z[a] - z[b]
            excess = np.sign(step) * np.maximum(np.abs(step) - REPOSE_SLOPE * run, 0.0)
            worst = max(worst, float(np.abs(excess).max()))
            z[a] -= 0.25 * excess * free[a]
            z[b] += 0.25 * excess * free[b]
        if worst < 0.02:
            break
    return z


def _soft_range(z: Array, plan: TerrainPlan) -> Array:
    """Keep heights between floor and ceiling with rounded shoulders of about half a metre."""
    z = plan.floor + np.logaddexp(0.0, (z - plan.floor) / 0.4) * 0.4
    return np.asarray(plan.ceiling - np.logaddexp(0.0, (plan.ceiling - z) / 0.6) * 0.6)
