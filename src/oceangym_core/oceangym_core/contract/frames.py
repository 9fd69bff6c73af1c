"""The frame of everything the agent sees (odom) against the world's (map)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np
from numpy.typing import ArrayLike

from oceangym_core.errors import unknown_name
from oceangym_core.files import Number
from oceangym_core.geometry import Array, Pose
from oceangym_core.rng import generator
from oceangym_core.world.world import Bounds, World

FRAMES = ('map', 'shifted')
SHIFT_RANGE_M = 2000.0
# How far a side of the operating area is moved at most in a shifted frame, and kept from targets [m].
INWARD_M = 110.0
OUTWARD_M = 20.0
TARGET_MARGIN_M = 30.0


@dataclass(frozen=True)
class FrameShift:
    """Where odom lies in map: `x`, `y` [m] and `yaw` [rad]. Depth and attitude stay observable."""

    x: Number = 0.0
    y: Number = 0.0
    yaw: Number = 0.0

    @cached_property
    def pose(self) -> Pose:
        """T_map_odom: takes coordinates in odom to map."""
        if self == FrameShift():
            return Pose()
        return Pose.from_euler((self.x, self.y, 0.0), 0.0, 0.0, self.yaw)

    @cached_property
    def _from_map(self) -> Pose:
        return self.pose.inverse()

    def to_map(self, pose: Pose) -> Pose:
        """Return a pose given in odom as a pose in map."""
        return self.pose @ pose

    def to_odom(self, pose: Pose) -> Pose:
        """Return a pose given in map as a pose in odom."""
        return self._from_map @ pose

    def points_to_map(self, points: ArrayLike) -> Array:
        """Return points (..., 3) given in odom in map."""
        return self.pose.apply(points)

    def points_to_odom(self, points: ArrayLike) -> Array:
        """Return points (..., 3) given in map in odom."""
        return self._from_map.apply(points)


def shift_for(frame: str, seed: int, key: str = '') -> FrameShift:
    """Return the shift of a run.

    Args:
        frame: ``map`` (no shift) or ``shifted``.
        seed: Seed of the run or of the benchmark file.
        key: Name of the benchmark file: all its episodes share one shift, so that memories
            transfer from one to the next.
    """
    if frame not in FRAMES:
        raise unknown_name('frame', frame, FRAMES)
    if frame == 'map':
        return FrameShift()
    rng = generator(seed, f'frame/{key}')
    x, y = rng.uniform(-SHIFT_RANGE_M, SHIFT_RANGE_M, 2)
    # Rounded to what the record stores, so that a re-scored run undoes the very same shift.
    return FrameShift(
        round(float(x), 3), round(float(y), 3), round(float(rng.uniform(-math.pi, math.pi)), 6)
    )


def bounds_polygon(
    lower: tuple[float, float, float], upper: tuple[float, float, float], shift: FrameShift
) -> tuple[tuple[float, float], ...]:
    """Return the four corners x, y [m] of the operating area in odom.

    Without a shift they run counter-clockwise from the lower ones. With one, the first corner and the
    sense are drawn from the shift: a fixed order would tell how odom is turned against the map.
    """
    corners = np.array(
        [
            (lower[0], lower[1], 0.0),
            (upper[0], lower[1], 0.0),
            (upper[0], upper[1], 0.0),
            (lower[0], upper[1], 0.0),
        ]
    )
    drawn_from = (1000 * abs(shift.x), 1000 * abs(shift.y))
    # A stranger's reset may hold any number.
    if shift != FrameShift() and all(map(math.isfinite, drawn_from)):
        drawn = generator(round(drawn_from[0]), 'frame/corners', round(drawn_from[1]))
        corners = np.roll(corners, int(drawn.integers(4)), axis=0)
        corners = corners[::-1] if drawn.random() < 0.5 else corners
    return tuple((float(x), float(y)) for x, y, _ in shift.points_to_odom(corners))


def operating_bounds(world: World, frame: str, seed: int) -> Bounds:
    """Return the operating volume of a run.

    In a shifted frame each side of the world's area is moved on its own, for the seed of the frame and
    the layout: the released area would tell where odom lies in the map. Every target of the world
    stays inside.

    Args:
        world: With its full bounds and all targets.
        frame: ``map`` or ``shifted``.
        seed: Of the frame.
    """
    if frame == 'map':
        return world.bounds
    rng = generator(seed, f'frame/bounds/{world.name}', world.seed)
    points = np.array([anchor.point[:2] for anchor in world.anchors]).reshape(-1, 2)
    low, high = np.asarray(world.bounds.lower[:2]), np.asarray(world.bounds.upper[:2])
    room = np.stack([points.min(axis=0) - low, high - points.max(axis=0)]) if len(points) else 0.0
    most = np.clip(room - TARGET_MARGIN_M, -OUTWARD_M, INWARD_M)
    inward = np.round(rng.uniform(-OUTWARD_M, np.broadcast_to(most, (2, 2))), 1)
    (x_low, y_low), (x_high, y_high) = (low + inward[0]).tolist(), (high - inward[1]).tolist()
    return Bounds(
        lower=(x_low, y_low, world.bounds.lower[2]),
        upper=(x_high, y_high, world.bounds.upper[2]),
    )
