"""The axis of a laid pipe: smooth path, sagging spans, the offset of a broken joint, chunk frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_worlds.modelling.mesh import Array
from oceangym_worlds.modelling.primitives import frames, smooth_path

_STEP = 0.5  # m between samples of the axis
_EDGE = 1e-3  # m from a break to the samples beside it
_CREEP = 4.0  # m over which a broken end comes back to the laid line


# Height of the seabed [m] at map coordinates x (N,), y (N,); and the same in a chunk's frame, at
# points (N, 2 or 3).
Seabed = Callable[[Array, Array], Array]
Floor = Callable[[Array], Array]


@dataclass(frozen=True)
class Interval:
    """A stretch of path length, start to end [m]."""

    start: float
    end: float

    @property
    def middle(self) -> float:
        """The path length half-way."""
        return 0.5 * (self.start + self.end)

    def holds(self, s: float, margin: float = 0.0) -> bool:
        """Tell whether a path length lies in the stretch grown by a margin [m]."""
        return self.start - margin <= s <= self.end + margin

    def meets(self, start: float, end: float) -> bool:
        """Tell whether the stretch shares some length with another."""
        return self.start < end and start < self.end


@dataclass(frozen=True)
class Axis:
    """The pipe's centre line: path length `s` (N,) [m], points (N, 3) in some frame, its breaks."""

    s: Array
    points: Array
    breaks: tuple[float, ...] = ()

    @property
    def length(self) -> float:
        """Length of the whole line [m]."""
        return float(self.s[-1])

    def at(self, s: ArrayLike) -> Array:
        """Return points (..., 3) at path lengths (...)."""
        wanted = np.asarray(s, dtype=float)
        return np.stack([np.interp(wanted, self.s, self.points[:, k]) for k in range(3)], axis=-1)

    def axes(self, s: float) -> Array:
        """Return columns forward, left, top (3, 3) at a path length."""
        low, high = max(s - 0.3, 0.0), min(s + 0.3, self.length)
        for b in self.breaks:
            low, high = (low, min(high, b - _EDGE)) if s < b else (max(low, b + _EDGE), high)
        forward = self.at(high) - self.at(low)
        forward /= np.linalg.norm(forward)
        left = np.cross([0.0, 0.0, 1.0], forward)
        left /= np.linalg.norm(left)
        return np.column_stack([forward, left, np.cross(forward, left)])

    def seen_from(self, frame: Pose) -> Axis:
        """Return the line in another frame."""
        return Axis(self.s, frame.inverse().apply(self.points), self.breaks)


def lay(
    path: ArrayLike,
    *,
    height: float,
    spans: Sequence[tuple[float, float, float]],
    breaks: Sequence[float],
) -> Axis:
    """Return the axis of a pipe laid along a path.

    Args:
        path: Points (N, 3) on the seabed, or between the shoulders of a span.
        height: Of the axis above the path [m].
        spans: Stretches (start, end, sag) [m] that hang below the path as a parabola.
        breaks: Path lengths where the pipe has parted, its ends aside [m].

    Raises:
        OceanGymError: The path is too short or not finite.
    """
    knots = np.asarray(path, dtype=float)
    if knots.ndim != 2 or knots.shape[1] != 3 or len(knots) < 2 or not np.isfinite(knots).all():
        raise OceanGymError(
            f'a pipeline path of shape {knots.shape} cannot be laid; '
            'give at least two finite points (x, y, z)'
        )
    points = smooth_path(list(knots), step=_STEP)
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    beside = [b + side * _EDGE for b in breaks for side in (-1.0, 1.0)]
    dense = np.unique(np.concatenate([s, beside]))
    points = np.column_stack([np.interp(dense, s, points[:, k]) for k in range(3)])
    s, points = dense, points + np.array([0.0, 0.0, height])
    for start, end, sag in spans:
        t = np.clip((s - start) / (end - start), 0.0, 1.0)
        points[:, 2] -= 4.0 * sag * t * (1.0 - t)
    left = frames(points, (0.0, 0.0, 1.0))[1]
    for where in breaks:
        behind = np.where(s < where, np.exp((s - where) / _CREEP), 0.0)
        ahead = np.where(s >= where, np.exp(-(s - where) / _CREEP), 0.0)
        points = points + left * (0.85 * ahead - 0.3 * behind)[:, None]
    return Axis(s, points, tuple(breaks))


def chunk_frame(axis: Axis, start: float, end: float, *, height: float) -> Pose:
    """Return the frame of a chunk: its middle on the seabed, x along its chord, z up."""
    a, b = axis.at(start), axis.at(end)
    low, high = (f(axis.at(np.linspace(start, end, 41)), axis=0) for f in (np.min, np.max))
    middle = axis.at(0.5 * (start + end))
    origin = (*(0.5 * (low + high))[:2], middle[2] - height)
    return Pose.from_euler(origin, 0.0, 0.0, math.atan2(b[1] - a[1], b[0] - a[0]))


def floor_under(line: Axis, frame: Pose, seabed: Seabed | None, *, height: float) -> Floor:
    """Return the seabed in a chunk's frame; by default it is level across the pipe.

    Args:
        line: The axis in the chunk's frame.
        frame: The chunk's frame, which only turns about z.
        seabed: Heights in the map frame.
        height: Of the axis above the seabed [m].
    """
    if seabed is not None:

        def surveyed(points: Array) -> Array:
            world = frame.apply(np.column_stack([points[:, :2], np.zeros(len(points))]))
            return np.asarray(seabed(world[:, 0], world[:, 1]) - frame.position[2])

        return surveyed

    def level(points: Array) -> Array:
        away = np.linalg.norm(points[:, None, :2] - line.points[None, :, :2], axis=2)
        return np.asarray(line.points[np.argmin(away, axis=1), 2] - height)

    return level
