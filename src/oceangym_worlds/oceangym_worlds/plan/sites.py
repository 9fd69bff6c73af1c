"""Anchors of a world seed: moved with the relief that they belong to, or drawn under rules of distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.errors import OceanGymError
from oceangym_core.rng import generator
from oceangym_worlds.plan.config import AnchorConfig, WorldConfig
from oceangym_worlds.seabed.relief import Canyon, distance_to_line, Scarp

Array = NDArray[np.float64]

INSIDE_M = 40.0  # drawn anchors keep this far from the bounds
SPACING_M = 50.0  # and from each other
START_CLEARANCE_M = 30.0  # and from every start, horizontally
PROP_SPACING_M = 40.0  # of other props from anchors, starts, the pipeline and each other
PAD_RADIUS_M = 9.5
STEEPEST = 0.42  # mean gradient allowed between two anchors, so that pads and slopes fit between
_TRIES = 4000
_LEG_M = (90.0, 240.0)  # length of a leg of the pipeline to an anchor that is drawn


@dataclass(frozen=True)
class Motion:
    """A rigid motion of the relief: a turn, possibly with a mirroring, about `pivot`, which moves to `place`.

    `turn` is an orthonormal matrix (2, 2).
    """

    pivot: Array
    turn: Array
    place: Array

    def point(self, xy: NDArray[np.floating] | tuple[float, ...]) -> Array:
        """Return where a point (x, y) of the released layout comes to lie."""
        return self.place + self.turn @ (np.asarray(xy, dtype=float)[:2] - self.pivot)

    def yaw(self, angle: float) -> float:
        """Return where a direction points after the motion [rad]."""
        x, y = self.turn @ np.array([math.cos(angle), math.sin(angle)])
        return math.atan2(y, x)

    @property
    def mirrored(self) -> bool:
        """Whether left and right are exchanged."""
        return bool(np.linalg.det(self.turn) < 0)


def draw_motion(config: WorldConfig, world_seed: int, attempt: int = 0) -> Motion:
    """Return a motion of the relief that takes its anchors anywhere inside the bounds.

    Any turn, mirrored or not, and any place are as likely, so that nothing of the released layout
    tells where the relief lies. World seed 0 is the released layout.

    Args:
        config: Of the world.
        world_seed: Of the layout.
        attempt: Counts the motions drawn before for which no place was found for other anchors.

    Raises:
        OceanGymError: The anchors of the relief do not fit into the bounds, or lie beside a start.
    """
    fixed = [a.point for a in config.anchors if a.fixed_to_relief]
    low, high = np.asarray(config.bounds.min[:2]), np.asarray(config.bounds.max[:2])
    pivot = np.mean([p[:2] for p in fixed], axis=0) if fixed else (low + high) / 2.0
    if world_seed == 0:
        return Motion(pivot, np.eye(2), pivot)
    rng = generator(world_seed, 'layout/motion', attempt)
    for _ in range(_TRIES):
        angle = rng.uniform(-math.pi, math.pi)
        turn = np.array(
            [[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]]
        ) @ np.diag([1.0, rng.choice([-1.0, 1.0])])
        motion = Motion(pivot, turn, np.round(rng.uniform(low, high), 1))
        moved = [(*motion.point(p), p[2]) for p in fixed]
        inside = all(
            (np.asarray(p[:2]) > low + INSIDE_M).all()
            and (np.asarray(p[:2]) < high - INSIDE_M).all()
            for p in moved
        )
        if inside and all(_clear_of(p, _starts(config), START_CLEARANCE_M) for p in moved):
            return motion
    raise OceanGymError(
        f'world {config.name}, world_seed {world_seed}: the anchors fixed to the relief lie outside '
        'the bounds or beside a start however the relief is moved; widen the bounds, move the start '
        'or use another world_seed'
    )


def _starts(config: WorldConfig) -> list[tuple[float, float, float]]:
    """Return x, y and the height of the seabed below each start (NaN where it is free)."""
    return [
        (*s.position[:2], math.nan if s.seabed_m is None else s.seabed_m) for s in config.starts
    ]


def _clear_of(
    point: tuple[float, ...], others: list[tuple[float, float, float]], spacing: float
) -> bool:
    """Return whether a point keeps its distance from others and the slopes to them are moderate."""
    for x, y, z in others:
        gap = math.hypot(point[0] - x, point[1] - y)
        if gap < spacing or abs(point[2] - z) > STEEPEST * (gap - 2.0 * PAD_RADIUS_M):
            return False
    return True


def draw_anchors(
    config: WorldConfig,
    world_seed: int,
    motion: Motion,
    canyons: tuple[Canyon, ...],
    scarps: tuple[Scarp, ...],
) -> dict[str, tuple[float, float, float]]:
    """Return each anchor's point; anchors released at one point stay at one point."""
    if world_seed == 0:
        return {a.name: a.point for a in config.anchors}
    placed: dict[tuple[float, ...], tuple[float, float, float]] = {}
    for anchor in config.anchors:
        if anchor.fixed_to_relief:
            x, y = motion.point(anchor.point)
            placed[anchor.point] = (float(x), float(y), anchor.point[2])
    rng = generator(world_seed, 'layout/anchors')
    for anchor in config.anchors:
        if anchor.point in placed:
            continue
        keep = any(a.keep_depth for a in config.anchors if a.point == anchor.point)
        for _ in range(_TRIES):
            point = _candidate(config, anchor, keep, rng)
            if _fits(config, point, [*placed.values()], canyons, scarps) and _links(
                config, anchor, point, placed, motion
            ):
                placed[anchor.point] = point
                break
        else:
            raise OceanGymError(
                f'world {config.name}, world_seed {world_seed}: no place is left for anchor '
                f'{anchor.name!r}; use another world_seed, fewer anchors or wider bounds'
            )
    return {a.name: placed[a.point] for a in config.anchors}


def draw_props(
    config: WorldConfig,
    world_seed: int,
    motion: Motion,
    points: Mapping[str, tuple[float, float, float]],
) -> dict[str, Array]:
    """Return x, y of each prop that stands at a position of its own.

    It moves with the relief where that leads to a free place inside the bounds, and is drawn elsewhere
    if not.

    Raises:
        OceanGymError: There is no room for a prop.
    """
    rng = generator(world_seed, 'layout/props')
    low = np.asarray(config.bounds.min[:2]) + INSIDE_M
    high = np.asarray(config.bounds.max[:2]) - INSIDE_M
    taken = [np.asarray(p[:2]) for p in (*points.values(), *_starts(config))]
    stops = [] if config.pipeline is None else config.pipeline.route
    known = [s for s in stops if not isinstance(s, str) or s in points]
    way = np.array([points[s][:2] if isinstance(s, str) else motion.point(s) for s in known])
    placed: dict[str, Array] = {}
    for prop in config.props:
        if prop.position is None:
            continue
        place = motion.point(prop.position)
        if world_seed != 0:
            for _ in range(_TRIES):
                inside = bool((place > low).all() and (place < high).all())
                apart = all(np.hypot(*(place - other)) >= PROP_SPACING_M for other in taken)
                if inside and apart and float(distance_to_line(way, *place)) >= PROP_SPACING_M:
                    break
                place = np.round(rng.uniform(low, high), 1)
            else:
                raise OceanGymError(
                    f'world {config.name}, world_seed {world_seed}: no place is left for prop '
                    f'{prop.name!r}; use another world_seed, fewer props or wider bounds'
                )
        placed[prop.name] = place
        taken.append(place)
    return placed


def _candidate(
    config: WorldConfig, anchor: AnchorConfig, keep_depth: bool, rng: np.random.Generator
) -> tuple[float, float, float]:
    low = np.asarray(config.bounds.min[:2]) + INSIDE_M
    high = np.asarray(config.bounds.max[:2]) - INSIDE_M
    x, y = np.round(rng.uniform(low, high), 1)
    z = anchor.point[2] + (0.0 if keep_depth else round(float(rng.uniform(-5.0, 5.0)), 1))
    return float(x), float(y), float(np.clip(z, -92.0, -40.0))


def _fits(
    config: WorldConfig,
    point: tuple[float, float, float],
    placed: list[tuple[float, float, float]],
    canyons: tuple[Canyon, ...],
    scarps: tuple[Scarp, ...],
) -> bool:
    """Return whether an anchor may be drawn at a point."""
    x, y, _ = point
    if not _clear_of(point, placed, SPACING_M):
        return False
    if not _clear_of(point, _starts(config), START_CLEARANCE_M):
        return False
    around = np.linspace(0.0, 2.0 * np.pi, 12)
    ring_x, ring_y = x + 26.0 * np.cos(around), y + 26.0 * np.sin(around)
    if any(float(c.weight_and_floor(ring_x, ring_y)[0].max()) > 0.0 for c in canyons):
        return False
    lines = [np.stack([s.start, s.end]) for s in scarps]
    return all(float(distance_to_line(line, x, y)) > 35.0 for line in lines)


def _links(
    config: WorldConfig,
    anchor: AnchorConfig,
    point: tuple[float, float, float],
    placed: dict[tuple[float, ...], tuple[float, float, float]],
    motion: Motion,
) -> bool:
    """Return whether the pipeline can still run: fair lengths and bends, nothing in its way."""
    if config.pipeline is None:
        return True
    at = {a.name: placed.get(a.point) for a in config.anchors}
    mine = {a.name for a in config.anchors if a.point == anchor.point}
    at.update(dict.fromkeys(mine, point))
    stops = [
        at.get(stop) if isinstance(stop, str) else motion.point(stop)
        for stop in config.pipeline.route
    ]
    known = [None if stop is None else np.asarray(stop[:2]) for stop in stops]
    drawn = {i for i, stop in enumerate(config.pipeline.route) if stop in mine}
    others = [p for name, p in at.items() if p is not None and name not in config.pipeline.route]
    for i, (first, second) in enumerate(itertools.pairwise(known)):
        if first is None or second is None:
            continue
        length = float(np.hypot(*(second - first)))
        if drawn & {i, i + 1} and not _LEG_M[0] <= length <= _LEG_M[1]:
            return False
        blocking = others if drawn & {i, i + 1} else [] if drawn else [point]
        line = np.stack([first, second])
        for other in blocking:
            at_end = np.hypot(*(line - other[:2]).T).min() < 1.0
            if not at_end and float(distance_to_line(line, other[0], other[1])) < 25.0:
                return False
    for i, corner in enumerate(zip(known[:-2], known[1:-1], known[2:], strict=True)):
        before, here, after = corner
        if before is None or here is None or after is None or not drawn & {i, i + 1, i + 2}:
            continue
        if float((here - before) @ (after - here)) < 0.0:
            return False
    return True
