"""How far two engines differ: the same thrusts, the same maneuvers, the same geometry.

Dynamics are compared where nothing is near; cameras and sonars where there is much to see.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.actions import Action
from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_core.geometry import Array, Pose, wrap_angle
from oceangym_gazebo.rays.optics import DepthPicture
from oceangym_gazebo.rays.ray_cloud import lidar_texels, PointCloud, ray_grid
from oceangym_sim.backend import Plant
from oceangym_sim.optics.rays import optical_rays
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.simulator import Simulator
from oceangym_sim.sonar.beam import elevation_cells, ray_directions

TICK_S = 0.05
# Where dynamics are compared: far from seabed and props, near neither surface nor bounds.
OPEN_WATER = Pose.from_euler((144.0, -114.0, -40.0), 0.0, 0.0, math.radians(-135))

# Throttles of T1..T4 (horizontal), T5..T8 (vertical): seconds, eight values. Roll and pitch are left
# to the vehicle's own stability, so thrusts stay small.
THRUST_PROGRAM: tuple[tuple[float, tuple[float, ...]], ...] = (
    (6.0, (-0.22, -0.22, 0.22, 0.22, 0.0, 0.0, 0.0, 0.0)),  # surge
    (6.0, (0.0,) * 8),  # coast
    (6.0, (0.0, 0.0, 0.0, 0.0, -0.25, -0.25, -0.25, -0.25)),  # heave
    (6.0, (-0.2, 0.2, 0.2, -0.2, 0.0, 0.0, 0.0, 0.0)),  # turn
    (6.0, (0.0,) * 8),
)
# The eight moves, a hold, and more than an interval allows.
MANEUVERS: tuple[tuple[Action, float | None], ...] = (
    (Action.FORWARD, 10.0),
    (Action.BACKWARD, 5.0),
    (Action.LEFT, 5.0),
    (Action.RIGHT, 5.0),
    (Action.UP, 5.0),
    (Action.DOWN, 5.0),
    (Action.ROTATE_LEFT, 90.0),
    (Action.ROTATE_RIGHT, 45.0),
    (Action.HOLD, None),
    (Action.FORWARD, 60.0),
)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One compared quantity: its value, what it may be at most, and its unit."""

    name: str
    value: float
    limit: float
    unit: str

    @property
    def within(self) -> bool:
        """Whether the engines agree as far as is asked."""
        return math.isfinite(self.value) and self.value <= self.limit


def open_loop(plant: Plant, start: Pose = OPEN_WATER) -> Array:
    """Return the poses (n, 8) t, x, y, z, qx, qy, qz, qw that the thrust program leads to."""
    plant.reset(start)
    rows = [_row(plant)]
    for seconds, throttle in THRUST_PROGRAM:
        for _ in range(round(seconds / TICK_S)):
            plant.step(np.array(throttle), TICK_S / 5, 5)
            rows.append(_row(plant))
    return np.array(rows)


def _row(plant: Plant) -> list[float]:
    state = plant.vehicle()
    return [state.time, *state.pose.position, *state.pose.quaternion]


def maneuver_ends(simulator: Simulator) -> list[Pose]:
    """Return where each of `MANEUVERS` ends; the simulator has been reset."""
    ends = []
    for action, magnitude in MANEUVERS:
        simulator.run_maneuver(action, magnitude)
        ends.append(simulator.state.pose)
    return ends


def trajectory_figures(ours: Array, theirs: Array, water: str) -> tuple[Figure, ...]:
    """Compare two trajectories of the same program.

    Open loop, a difference in yaw rate grows into one of position, so the first limit is a share of
    the way.

    Args:
        ours: Of one engine, as `open_loop` returns it.
        theirs: Of the other.
        water: That they went through, for the figures' names.
    """
    way = float(np.linalg.norm(np.diff(ours[:, 1:4], axis=0), axis=1).sum())
    apart = np.linalg.norm(ours[:, 1:4] - theirs[:, 1:4], axis=1)
    turns = [[Pose.of(r[1:4], r[4:8]) for r in rows] for rows in (ours, theirs)]
    heading = [abs(wrap_angle(a.yaw - b.yaw)) for a, b in zip(*turns)]
    tilt = [
        math.acos(min(1.0, float(a.rotation[:, 2] @ b.rotation[:, 2]))) for a, b in zip(*turns)
    ]
    return (
        Figure(name=f'open loop, {water}, largest distance', value=float(apart.max()),
               limit=0.01 * way, unit='m'),
        Figure(name=f'open loop, {water}, heading', value=math.degrees(max(heading)), limit=2.0, unit='deg'),
        Figure(name=f'open loop, {water}, tilt', value=math.degrees(max(tilt)), limit=1.0, unit='deg'),
    )  # fmt: skip


def maneuver_figures(ours: list[Pose], theirs: list[Pose]) -> tuple[Figure, ...]:
    """Compare where the maneuvers ended; each starts where the last one ended."""
    apart = [
        float(np.linalg.norm(np.subtract(a.position, b.position))) for a, b in zip(ours, theirs)
    ]
    heading = [math.degrees(abs(wrap_angle(a.yaw - b.yaw))) for a, b in zip(ours, theirs)]
    return (
        Figure(name='maneuvers, largest distance of ends', value=max(apart), limit=0.05, unit='m'),
        Figure(name='maneuvers, heading of ends', value=max(heading), limit=0.5, unit='deg'),
    )


def camera_figures(
    scene: RayScene,
    specs: tuple[CameraSpec, ...],
    pictures: Mapping[str, DepthPicture],
    pose: Pose,
) -> tuple[Figure, ...]:
    """Compare depth images with the ranges of the same rays in the ray scene."""
    errors, missed = [], []
    for spec in specs:
        rays = optical_rays(spec)
        turned = rays @ (pose.rotation @ spec.mount.rotation).T
        origin = (pose @ spec.mount).position
        ranges = scene.distances(np.tile(origin, (len(turned), 1)), turned, reach=_CAMERA_REACH)
        depth = pictures[spec.direction].depth.astype(np.float64).ravel()
        error, miss = _errors(ranges, depth / rays[:, 2], _CAMERA_REACH * 0.9)
        errors.append(error)
        missed.append(miss)
    return _geometry('cameras', errors, missed)


def sonar_figures(
    scene: RayScene, specs: tuple[SonarSpec, ...], clouds: Mapping[str, PointCloud], pose: Pose
) -> tuple[Figure, ...]:
    """Compare lidar ranges with the ranges of the same rays in the ray scene."""
    errors, missed = [], []
    for spec in specs:
        cube = lidar_texels(spec, skirts=True)
        grid = ray_grid(clouds[spec.direction], spec, skirts=True, cube=cube)
        rays = ray_directions(spec, elevation_cells(spec)).reshape(-1, 3)
        origin = (pose @ spec.mount).position
        turned = rays @ (pose.rotation @ spec.mount.rotation).T
        ranges = scene.distances(np.tile(origin, (len(turned), 1)), turned, reach=spec.range_max)
        error, miss = _errors(ranges, grid.distance.ravel(), spec.range_max * 0.9)
        errors.append(error)
        missed.append(miss)
    return _geometry('sonars', errors, missed)


_CAMERA_REACH = 60.0  # m: farther than light carries a picture


def _errors(
    ours: NDArray[np.floating], theirs: NDArray[np.floating], reach: float
) -> tuple[NDArray[np.floating], NDArray[np.bool_]]:
    """Return relative errors of rays that both hit, and for each ray whether one of them misses."""
    hits = ours < reach
    both = hits & np.isfinite(theirs) & (theirs > 0.0)
    return np.abs(theirs[both] - ours[both]) / ours[both], ~both[hits]


def _geometry(
    name: str, errors: list[NDArray[np.floating]], missed: list[NDArray[np.bool_]]
) -> tuple[Figure, ...]:
    """Edges are one texel wide in Gazebo, so that a few rays meet what lies behind."""
    error, miss = np.concatenate(errors), np.concatenate(missed)
    if not len(error):
        return (Figure(name=f'{name}, rays that hit', value=math.nan, limit=0.0, unit=''),)
    return (
        Figure(name=f'{name}, median range error', value=100 * float(np.median(error)),
               limit=0.2, unit='%'),
        Figure(name=f'{name}, range error of 95 % of the rays',
               value=100 * float(np.quantile(error, 0.95)), limit=1.5, unit='%'),
        Figure(name=f'{name}, rays that hit in one engine only', value=100 * float(miss.mean()),
               limit=0.5, unit='%'),
    )  # fmt: skip
