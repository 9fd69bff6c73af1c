"""Strews boulders and vegetation over the seabed by density, clear of targets, starts and pipe."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_worlds.modelling.noise import Noise, smoothstep
from oceangym_worlds.plan.config import ScatterConfig, WorldConfig
from oceangym_worlds.plan.layout import Layout
from oceangym_worlds.seabed.relief import distance_to_line
from oceangym_worlds.seabed.terrain import Seabed

Array = NDArray[np.float64]

CLEAR_OF_PROPS_M = 13.0  # from the edge of a prop's pad or a target's point
CLEAR_OF_STARTS_M = 15.0
_NEAR_TARGET_M = (13.5, 24.0)


@dataclass(frozen=True, kw_only=True)
class Strewn:
    """One instance of a population."""

    name: str
    model: str
    pose: Pose


def strew(
    config: WorldConfig, layout: Layout, seabed: Seabed, world_seed: int
) -> tuple[Strewn, ...]:
    """Return every population of a world; each keeps its spacing to itself and to earlier ones."""
    taken = np.zeros((0, 3))
    strewn: list[Strewn] = []
    for population in config.scatter:
        points = _points(population, config, layout, seabed, world_seed, taken)
        rng = generator(world_seed, f'scatter/{population.prefix}/pose')
        for number, (x, y) in enumerate(points, start=1):
            lean = math.radians(population.tilt_deg)
            z = float(seabed.heightfield.height(x, y)) - rng.uniform(*population.sink_m)
            pose = Pose.from_euler(
                (round(float(x), 2), round(float(y), 2), round(z, 3)),
                rng.uniform(-lean, lean),
                rng.uniform(-lean, lean),
                rng.uniform(-math.pi, math.pi),
            )
            model = population.models[int(rng.integers(len(population.models)))]
            strewn.append(Strewn(name=f'{population.prefix}_{number:03d}', model=model, pose=pose))
        spacing = np.full((len(points), 1), population.min_spacing_m)
        taken = np.concatenate([taken, np.hstack([points, spacing])])
    return tuple(strewn)


def _points(
    population: ScatterConfig,
    config: WorldConfig,
    layout: Layout,
    seabed: Seabed,
    world_seed: int,
    taken: Array,
) -> Array:
    """Return (N, 2) places by dart throwing against the density, with the least spacing kept."""
    rng = generator(world_seed, f'scatter/{population.prefix}')
    lower, upper = np.asarray(config.bounds.min[:2]), np.asarray(config.bounds.max[:2])
    darts = [_rings(population, layout, rng), rng.uniform(lower, upper, (60_000, 2))]
    chance = np.concatenate(
        [np.ones(len(darts[0])), _density(population, seabed, darts[1], world_seed)]
    )
    points = np.concatenate(darts)
    wanted = rng.random(len(points)) < chance
    points = points[wanted & _allowed(population, layout, seabed, points, lower, upper)]
    kept = np.zeros((0, 2))
    for point in points:
        if len(kept) >= population.count:
            break
        near = np.hypot(*(kept - point).T) < population.min_spacing_m
        apart = np.hypot(*(taken[:, :2] - point).T) < 0.5 * (
            taken[:, 2] + population.min_spacing_m
        )
        if not near.any() and not apart.any():
            kept = np.vstack([kept, point])
    return kept


def _rings(population: ScatterConfig, layout: Layout, rng: np.random.Generator) -> Array:
    """Return candidates around each target, so that none lies on a bare plain."""
    rings = []
    for anchor in layout.anchors:
        count = population.near_targets
        angle = rng.uniform(-math.pi, math.pi, count)
        radius = rng.uniform(*_NEAR_TARGET_M, count)
        rings.append(
            np.column_stack(
                [
                    anchor.point[0] + radius * np.cos(angle),
                    anchor.point[1] + radius * np.sin(angle),
                ]
            )
        )
    return np.concatenate([np.zeros((0, 2)), *rings])


def _density(population: ScatterConfig, seabed: Seabed, points: Array, world_seed: int) -> Array:
    """Return the chance 0..1 that a dart stays."""
    x, y = points.T
    heightfield = seabed.heightfield
    rock = heightfield.sample(seabed.rock, x, y)
    clumps = Noise.of(world_seed, f'scatter/{population.prefix}').fractal(x, y, 45.0, octaves=3)
    clustered = smoothstep(-0.05, 0.45, clumps)
    if population.ground == 'rock':
        # Boulders lie on rock and in the debris below it, thinning out over the sediment.
        debris = smoothstep(0.02, 0.3, rock)
        return np.asarray((0.02 + 0.98 * debris) * (0.1 + 0.9 * clustered))
    loose = smoothstep(0.3, 0.1, rock) * smoothstep(
        0.8, 0.3, heightfield.sample(seabed.silt, x, y)
    )
    return np.asarray(loose * clustered)


def _allowed(
    population: ScatterConfig,
    layout: Layout,
    seabed: Seabed,
    points: Array,
    lower: Array,
    upper: Array,
) -> NDArray[np.bool_]:
    x, y = points.T
    z = seabed.heightfield.height(x, y)
    allowed = (z <= population.shallowest_m) & (z >= population.deepest_m)
    allowed &= (points > lower).all(axis=1) & (points < upper).all(axis=1)
    steepness = seabed.heightfield.sample(seabed.heightfield.slope(), x, y)
    allowed &= steepness < math.radians(36.0)
    for anchor in layout.anchors:
        away = np.hypot(x - anchor.point[0], y - anchor.point[1])
        allowed &= away > CLEAR_OF_PROPS_M
    for pad in layout.terrain.pads:
        allowed &= pad.distance(x, y) > max(pad.radius + 1.0, CLEAR_OF_PROPS_M - pad.half_length)
    for start in layout.starts:
        allowed &= np.hypot(x - start[0], y - start[1]) > CLEAR_OF_STARTS_M
    allowed &= distance_to_line(layout.route.way[::4], x, y) > population.clear_of_pipeline_m
    return np.asarray(allowed)
