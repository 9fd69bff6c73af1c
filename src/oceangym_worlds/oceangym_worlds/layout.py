"""Where everything stands: anchors, props, the pipeline's route, and the relief that fits them.

world_seed 0 keeps the released coordinates. Any other seed mirrors the relief (canyons, cliffs,
and the anchors fixed to them), shifts it a little, and draws the other anchors anew.
"""

from __future__ import annotations

from dataclasses import dataclass
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.rng import generator
from oceangym_worlds.config import AnchorConfig, PropConfig, WorldConfig
from oceangym_worlds.pipe_route import PipeRoute, resolve_route
from oceangym_worlds.relief import (
    Canyon,
    distance_to_line,
    Gully,
    LEVEL_TILT,
    Pad,
    PAD_TILT,
    Scarp,
)
from oceangym_worlds.terrain import TerrainPlan

Array = NDArray[np.float64]

INSIDE_M = 40.0  # drawn anchors keep this far from the bounds
SPACING_M = 50.0  # and from each other
START_CLEARANCE_M = 30.0  # and from every start, horizontally
STEEPEST = 0.42  # mean gradient allowed between two anchors, so that pads and slopes fit between
_PAD_RADIUS = 9.5
_TRIES = 4000
_LEG_M = (90.0, 240.0)  # length of a leg of the pipeline to an anchor that is drawn


@dataclass(frozen=True, kw_only=True)
class PlacedAnchor:
    """A target's point in this world."""

    name: str
    label: str
    point: tuple[float, float, float]
    instances: tuple[str, ...]
    radius: float | None


@dataclass(frozen=True, kw_only=True)
class PlacedProp:
    """A prop's place on the seabed: x, y [m], yaw [rad], and z where it is prescribed."""

    config: PropConfig
    x: float
    y: float
    z: float | None
    yaw: float


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The plan of a world before its seabed is built."""

    anchors: tuple[PlacedAnchor, ...]
    props: tuple[PlacedProp, ...]
    starts: tuple[tuple[float, float, float], ...]
    route: PipeRoute
    terrain: TerrainPlan

    def anchor(self, name: str) -> PlacedAnchor:
        """Return an anchor by name."""
        return next(a for a in self.anchors if a.name == name)


@dataclass(frozen=True)
class _Motion:
    """How the relief of another seed lies: mirrored about the bounds' middle, then shifted."""

    centre: Array
    flip: Array
    shift: Array

    def point(self, xy: NDArray[np.floating] | tuple[float, ...]) -> Array:
        return (
            self.centre + self.flip * (np.asarray(xy, dtype=float)[:2] - self.centre) + self.shift
        )

    def yaw(self, angle: float) -> float:
        """Return a direction after the mirroring; a single mirroring reverses the sense."""
        return math.atan2(self.flip[1] * math.sin(angle), self.flip[0] * math.cos(angle))

    @property
    def mirrored(self) -> bool:
        return bool(self.flip[0] * self.flip[1] < 0)


def plan_layout(config: WorldConfig, world_seed: int) -> Layout:
    """Return the layout of a world for a seed.

    Raises:
        OceanGymError: The anchors cannot be placed under the rules.
    """
    lower, upper = np.asarray(config.bounds.min[:2]), np.asarray(config.bounds.max[:2])
    motion = _motion(config, world_seed)
    canyons, scarps = _canyons(config, motion), _scarps(config, motion)
    points = _anchor_points(config, world_seed, motion, canyons, scarps)
    anchors = tuple(
        PlacedAnchor(
            name=a.name,
            label=a.label,
            point=points[a.name],
            instances=tuple(a.instances),
            radius=a.radius,
        )
        for a in config.anchors
    )
    props = tuple(_placed(prop, points, motion) for prop in config.props)
    route = _route(config, points, motion)
    control = _control(config, world_seed, motion, points)
    margin = config.terrain.margin_m
    plan = TerrainPlan(
        lower=lower - margin,
        upper=upper + margin,
        spacing=config.terrain.spacing_m,
        control=control,
        pads=_pads(anchors, props),
        canyons=canyons,
        scarps=scarps,
        gullies=_gullies(config, route),
        route=route.way[::4],
        dune_height=config.terrain.dune_height_m,
        dune_wavelength=config.terrain.dune_wavelength_m,
    )
    starts = tuple(s.position for s in config.starts)
    return Layout(anchors=anchors, props=props, starts=starts, route=route, terrain=plan)


def _motion(config: WorldConfig, world_seed: int) -> _Motion:
    """Return a mirroring and a shift that put no anchor of the relief beside a start."""
    centre = (np.asarray(config.bounds.min[:2]) + np.asarray(config.bounds.max[:2])) / 2.0
    if world_seed == 0:
        return _Motion(centre, np.ones(2), np.zeros(2))
    fixed = [a.point for a in config.anchors if a.fixed_to_relief]
    rng = generator(world_seed, 'layout/motion')
    for _ in range(_TRIES):
        flip = rng.choice([-1.0, 1.0], 2)
        motion = _Motion(centre, flip, np.round(rng.uniform(-20.0, 20.0, 2), 1))
        moved = [(*motion.point(p), p[2]) for p in fixed]
        if flip.min() < 0.0 and all(
            _clear_of(p, _starts(config), START_CLEARANCE_M) for p in moved
        ):
            return motion
    raise OceanGymError(
        f'world {config.name}, world_seed {world_seed}: the anchors fixed to the relief lie beside '
        'a start however the world is mirrored; move the start or use another world_seed'
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
        if gap < spacing or abs(point[2] - z) > STEEPEST * (gap - 2.0 * _PAD_RADIUS):
            return False
    return True


def _canyons(config: WorldConfig, motion: _Motion) -> tuple[Canyon, ...]:
    canyons = []
    for canyon in config.terrain.canyons:
        points = np.asarray(canyon.points, dtype=float)
        points[:, :2] = [motion.point(p) for p in points]
        for _ in range(3):  # Chaikin's corner cutting (1974); the ends stay.
            near, far = points[:-1], points[1:]
            cut = np.stack([0.75 * near + 0.25 * far, 0.25 * near + 0.75 * far], axis=1)
            points = np.concatenate([points[:1], cut.reshape(-1, 4), points[-1:]])
        canyons.append(
            Canyon(
                points=points[:, :2],
                floor=points[:, 2],
                half_width=points[:, 3],
                wall_width=canyon.wall_width_m,
            )
        )
    return tuple(canyons)


def _scarps(config: WorldConfig, motion: _Motion) -> tuple[Scarp, ...]:
    scarps = []
    for scarp in config.terrain.scarps:
        ends = [motion.point(scarp.start), motion.point(scarp.end)]
        if motion.mirrored:
            ends.reverse()
        scarps.append(
            Scarp(
                start=ends[0],
                end=ends[1],
                height=scarp.height_m,
                width=scarp.width_m,
                reach=scarp.reach_m,
            )
        )
    return tuple(scarps)


def _anchor_points(
    config: WorldConfig,
    world_seed: int,
    motion: _Motion,
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
    others = [(*motion.point(p.position), np.nan) for p in config.props if p.position is not None]
    rng = generator(world_seed, 'layout/anchors')
    for anchor in config.anchors:
        if anchor.point in placed:
            continue
        keep = any(a.keep_depth for a in config.anchors if a.point == anchor.point)
        for _ in range(_TRIES):
            point = _candidate(config, anchor, keep, rng)
            if _fits(config, point, [*placed.values(), *others], canyons, scarps) and _links(
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
    motion: _Motion,
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


def _placed(
    prop: PropConfig, points: dict[str, tuple[float, float, float]], motion: _Motion
) -> PlacedProp:
    yaw = motion.yaw(math.radians(prop.yaw_deg))
    if prop.anchor is not None:
        x, y, z = points[prop.anchor]
        return PlacedProp(config=prop, x=x, y=y, z=z, yaw=yaw)
    assert prop.position is not None
    x, y = motion.point(prop.position)
    z_given = float(prop.position[2]) if len(prop.position) == 3 else None
    return PlacedProp(config=prop, x=float(x), y=float(y), z=z_given, yaw=yaw)


def _pads(anchors: tuple[PlacedAnchor, ...], props: tuple[PlacedProp, ...]) -> tuple[Pad, ...]:
    pads = []
    for prop in props:
        if prop.config.anchor is not None or prop.z is None:
            radius = prop.config.pad_radius_m or _PAD_RADIUS
            half = prop.config.pad_half_length_m
            pads.append(
                Pad(
                    x=prop.x,
                    y=prop.y,
                    z=prop.z,
                    yaw=prop.yaw,
                    half_length=half,
                    radius=radius,
                    max_tilt=LEVEL_TILT if prop.config.upright else PAD_TILT,
                )
            )
    taken = {(pad.x, pad.y) for pad in pads}
    pads += [
        Pad(x=a.point[0], y=a.point[1], z=a.point[2], radius=_PAD_RADIUS)
        for a in anchors
        if a.point[:2] not in taken
    ]
    # Those with a prescribed height first: they win where two meet.
    return tuple(sorted(pads, key=lambda pad: pad.z is None))


def _control(
    config: WorldConfig,
    world_seed: int,
    motion: _Motion,
    points: dict[str, tuple[float, float, float]],
) -> Array:
    """Return what the relief passes through: anchors, starts, and control points clear of both."""
    fixed = set(points.values())
    fixed |= {
        (s.position[0], s.position[1], s.seabed_m) for s in config.starts if s.seabed_m is not None
    }
    firm = np.array(sorted(fixed), dtype=float).reshape(-1, 3)
    control = np.asarray(config.terrain.control_points, dtype=float).copy()
    control[:, :2] = [motion.point(p) for p in control]
    if world_seed != 0:
        rng = generator(world_seed, 'layout/control')
        control[:, 2] += np.round(rng.uniform(-4.0, 4.0, len(control)), 2)
        gaps = np.hypot(*(control[:, None, :2] - firm[None, :, :2]).transpose(2, 0, 1))
        control = control[gaps.min(axis=1) > 60.0]
    return np.concatenate([firm, control])


def _route(
    config: WorldConfig, points: dict[str, tuple[float, float, float]], motion: _Motion
) -> PipeRoute:
    """Return the pipeline's way through every stop of its route."""
    if config.pipeline is None:
        return PipeRoute(way=np.zeros((0, 2)))
    stops = [
        motion.point(stop)
        if not isinstance(stop, str)
        else _stop(points, stop, 'anchor in pipeline.route')
        for stop in config.pipeline.route
    ]
    origin = config.pipeline.measured_from
    zero = stops[0] if origin is None else _stop(points, origin, 'pipeline.measured_from')
    return resolve_route(config.pipeline, np.array(stops), zero)


def _stop(points: dict[str, tuple[float, float, float]], name: str, kind: str) -> Array:
    if name not in points:
        raise unknown_name(kind, name, points)
    return np.asarray(points[name][:2])


def _gullies(config: WorldConfig, route: PipeRoute) -> tuple[Gully, ...]:
    """Return a notch across the route under the middle of each free span."""
    gullies = []
    for start, end in route.free_span:
        middle = round((start + end) / 2.0)
        along = route.way[middle + 1] - route.way[middle - 1]
        gullies.append(
            Gully(
                x=float(route.way[middle, 0]),
                y=float(route.way[middle, 1]),
                yaw=math.atan2(along[1], along[0]) + math.pi / 2.0,
                half_width=(end - start) / 4.0,
                half_length=16.0,
                depth=0.0 if config.pipeline is None else config.pipeline.gully_depth_m,
            )
        )
    return tuple(gullies)
