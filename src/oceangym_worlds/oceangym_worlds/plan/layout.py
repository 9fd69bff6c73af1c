"""Where everything stands: anchors, props, the pipeline's route, and the relief that fits them.

world_seed 0 keeps the released coordinates. Any other seed turns and moves the relief (canyons, cliffs
and the anchors fixed to them) to another place, and draws the other anchors and heights anew.
"""

from __future__ import annotations

from dataclasses import dataclass
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.rng import generator
from oceangym_worlds.plan.config import PropConfig, WorldConfig
from oceangym_worlds.plan.pipe_route import PipeRoute, resolve_route
from oceangym_worlds.plan.sites import (
    draw_anchors,
    draw_motion,
    draw_props,
    Motion,
    PAD_RADIUS_M,
)
from oceangym_worlds.seabed.relief import (
    Canyon,
    distance_to_line,
    Gully,
    LEVEL_TILT,
    Pad,
    PAD_TILT,
    Scarp,
)
from oceangym_worlds.seabed.terrain import TerrainPlan

Array = NDArray[np.float64]

_WALL_RISE = 0.75  # mean gradient of a canyon's wall
_MOTIONS = 40  # of the relief, before a world seed is given up
_RELIEF_REACH_M = 150.0  # control points so near to an anchor of the relief belong to it


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


def plan_layout(config: WorldConfig, world_seed: int) -> Layout:
    """Return the layout of a world for a seed.

    Raises:
        OceanGymError: The anchors cannot be placed under the rules.
    """
    lower, upper = np.asarray(config.bounds.min[:2]), np.asarray(config.bounds.max[:2])
    motion, points = _draw(config, world_seed)
    canyons, scarps = _canyons(config, motion), _scarps(config, motion)
    places = draw_props(config, world_seed, motion, points)
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
    props = tuple(_placed(prop, points, places, motion) for prop in config.props)
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
        floor=config.bounds.min[2] + 0.4,
        ceiling=config.terrain.shallowest_m,
        dune_height=config.terrain.dune_height_m,
        dune_wavelength=config.terrain.dune_wavelength_m,
    )
    starts = tuple(s.position for s in config.starts)
    return Layout(anchors=anchors, props=props, starts=starts, route=route, terrain=plan)


def _draw(
    config: WorldConfig, world_seed: int
) -> tuple[Motion, dict[str, tuple[float, float, float]]]:
    """Return a motion of the relief and the anchors' points; motions that leave no room are redrawn."""
    attempt = 0
    while True:
        motion = draw_motion(config, world_seed, attempt)
        try:
            canyons, scarps = _canyons(config, motion), _scarps(config, motion)
            return motion, draw_anchors(config, world_seed, motion, canyons, scarps)
        except OceanGymError:
            attempt += 1
            if attempt == _MOTIONS or world_seed == 0:
                raise


def _canyons(config: WorldConfig, motion: Motion) -> tuple[Canyon, ...]:
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


def _scarps(config: WorldConfig, motion: Motion) -> tuple[Scarp, ...]:
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


def _placed(
    prop: PropConfig,
    points: dict[str, tuple[float, float, float]],
    places: dict[str, Array],
    motion: Motion,
) -> PlacedProp:
    yaw = motion.yaw(math.radians(prop.yaw_deg))
    if prop.anchor is not None:
        x, y, z = points[prop.anchor]
        return PlacedProp(config=prop, x=x, y=y, z=z, yaw=yaw)
    assert prop.position is not None
    x, y = places[prop.name]
    z_given = float(prop.position[2]) if len(prop.position) == 3 else None
    return PlacedProp(config=prop, x=float(x), y=float(y), z=z_given, yaw=yaw)


def _pads(anchors: tuple[PlacedAnchor, ...], props: tuple[PlacedProp, ...]) -> tuple[Pad, ...]:
    pads = []
    for prop in props:
        if prop.config.anchor is not None or prop.z is None:
            radius = prop.config.pad_radius_m or PAD_RADIUS_M
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
        Pad(x=a.point[0], y=a.point[1], z=a.point[2], radius=PAD_RADIUS_M)
        for a in anchors
        if a.point[:2] not in taken
    ]
    # Those with a prescribed height first: they win where two meet.
    return tuple(sorted(pads, key=lambda pad: pad.z is None))


def _control(
    config: WorldConfig,
    world_seed: int,
    motion: Motion,
    points: dict[str, tuple[float, float, float]],
) -> Array:
    """Return what the relief passes through: anchors, starts, and control points clear of both."""
    fixed = set(points.values())
    fixed |= {
        (s.position[0], s.position[1], s.seabed_m) for s in config.starts if s.seabed_m is not None
    }
    firm = np.array(sorted(fixed), dtype=float).reshape(-1, 3)
    _refuse_coincident(firm)
    control = np.asarray(config.terrain.control_points, dtype=float).copy()
    if world_seed != 0:
        control = _moved_control(config, world_seed, motion, control)
    gaps = np.full((len(control), 1), np.inf)
    if len(firm):
        gaps = np.hypot(*(control[:, None, :2] - firm[None, :, :2]).transpose(2, 0, 1))
    return np.concatenate([firm, control[gaps.min(axis=1) > (1.0 if world_seed == 0 else 60.0)]])


def _moved_control(config: WorldConfig, world_seed: int, motion: Motion, control: Array) -> Array:
    """Return the control points of another seed (N, 3).

    Those near the relief's own anchors move with it and keep their heights within 4 m. The others
    stay, for a spline needs points all over the area, and exchange their heights.
    """
    rng = generator(world_seed, 'layout/control')
    fixed = np.array([a.point[:2] for a in config.anchors if a.fixed_to_relief]).reshape(-1, 2)
    near = np.zeros(len(control), dtype=bool)
    if len(fixed):
        gaps = np.hypot(*(control[:, None, :2] - fixed[None]).transpose(2, 0, 1))
        near = gaps.min(axis=1) < _RELIEF_REACH_M
    moved, kept = control[near], control[~near]
    moved[:, :2] = np.array([motion.point(p) for p in moved]).reshape(-1, 2)
    centres = np.array([motion.point(p) for p in fixed]).reshape(-1, 2)
    if len(centres):
        gaps = np.hypot(*(kept[:, None, :2] - centres[None]).transpose(2, 0, 1))
        kept = kept[gaps.min(axis=1) >= _RELIEF_REACH_M]
    kept[:, 2] = rng.permutation(kept[:, 2])
    both = np.concatenate([moved, kept])
    both[:, 2] += np.round(rng.uniform(-4.0, 4.0, len(both)), 2)
    for canyon in _canyons(config, motion):
        # Beside a canyon the plain lies no higher than its walls can climb.
        away = distance_to_line(canyon.points, both[:, 0], both[:, 1])
        rim = canyon.floor.min() + _WALL_RISE * canyon.wall_width
        beside = away < canyon.wall_width + _RELIEF_REACH_M / 2
        both[beside, 2] = np.minimum(both[beside, 2], rim)
    return both


def _refuse_coincident(points: Array) -> None:
    """Refuse two heights for one place."""
    for (ax, ay, az), (bx, by, bz) in itertools.combinations(points.tolist(), 2):
        if math.hypot(ax - bx, ay - by) < 1.0:
            raise OceanGymError(
                f'anchors or starts give the seabed at ({ax:g}, {ay:g}) both {az:g} and {bz:g} m; '
                'give points at one place one height, or move them a metre apart'
            )


def _route(
    config: WorldConfig, points: dict[str, tuple[float, float, float]], motion: Motion
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
