"""The frame of everything the agent sees (odom) against the world's (map)."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike

from oceangym_core.errors import unknown_name
from oceangym_core.geometry import Array, Pose
from oceangym_core.rng import generator

FRAMES = ('map', 'shifted')
SHIFT_RANGE_M = 2000.0


@dataclass(frozen=True)
class FrameShift:
    """Where odom lies in map: `x`, `y` [m] and `yaw` [rad]. Depth and attitude stay observable."""

    x: float = 0.0
    y: float = 0.0
    yaw: float = 0.0

    @property
    def pose(self) -> Pose:
        """T_map_odom: takes coordinates in odom to map."""
        if self == FrameShift():
            return Pose()
        return Pose.from_euler((self.x, self.y, 0.0), 0.0, 0.0, self.yaw)

    def to_map(self, pose: Pose) -> Pose:
        """Return a pose given in odom as a pose in map."""
        return self.pose @ pose

    def to_odom(self, pose: Pose) -> Pose:
        """Return a pose given in map as a pose in odom."""
        return self.pose.inverse() @ pose

    def points_to_map(self, points: ArrayLike) -> Array:
        """Return points (..., 3) given in odom in map."""
        return self.pose.apply(points)

    def points_to_odom(self, points: ArrayLike) -> Array:
        """Return points (..., 3) given in map in odom."""
        return self.pose.inverse().apply(points)


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
    """Return the four corners x, y [m] of the operating area in odom, counter-clockwise."""
    corners = np.array(
        [
            (lower[0], lower[1], 0.0),
            (upper[0], lower[1], 0.0),
            (upper[0], upper[1], 0.0),
            (lower[0], upper[1], 0.0),
        ]
    )
    return tuple((float(x), float(y)) for x, y, _ in shift.points_to_odom(corners))
