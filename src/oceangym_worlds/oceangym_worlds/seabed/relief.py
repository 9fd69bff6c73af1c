"""What shapes the seabed at large: pads, canyons, scarps, gullies, and a spline through points.

Frame: map (ENU, z up), metres.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_worlds.modelling.noise import smoothstep

Array = NDArray[np.float64]

PAD_TILT = math.tan(math.radians(4.8))  # a pad leans with the seabed around it, at most so much
LEVEL_TILT = math.tan(math.radians(0.5))


@dataclass(frozen=True, kw_only=True)
class Pad:
    """A near-level place for a prop: a capsule around a segment of the seabed.

    Attributes:
        x, y: Centre [m].
        z: Height at the centre [m]; None keeps what the relief has there.
        yaw: Direction of the segment [rad].
        half_length: Half of the segment [m].
        radius: Level within this distance of the segment [m].
        max_tilt: Steepest gradient that the pad may take over from the seabed around it.
        tilt: Gradient (dz/dx, dz/dy) of the pad.
    """

    x: float
    y: float
    z: float | None = None
    yaw: float = 0.0
    half_length: float = 0.0
    radius: float = 9.0
    max_tilt: float = PAD_TILT
    tilt: tuple[float, float] = (0.0, 0.0)

    def height(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the height [m] of the pad's plane at points."""
        rise = (np.asarray(x) - self.x) * self.tilt[0] + (np.asarray(y) - self.y) * self.tilt[1]
        return np.asarray((self.z or 0.0) + rise)

    def distance(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return the horizontal distance [m] of points from the pad's segment."""
        dx, dy = np.asarray(x) - self.x, np.asarray(y) - self.y
        along = dx * math.cos(self.yaw) + dy * math.sin(self.yaw)
        across = -dx * math.sin(self.yaw) + dy * math.cos(self.yaw)
        beyond = np.maximum(np.abs(along) - self.half_length, 0.0)
        return np.asarray(np.hypot(beyond, across))


@dataclass(frozen=True, kw_only=True)
class Canyon:
    """A valley carved to an absolute floor along a polyline.

    Attributes:
        points: (N, 2) axis [m].
        floor: (N,) height of the floor [m].
        half_width: (N,) half width of the floor [m].
        wall_width: Horizontal width of each wall [m].
    """

    points: Array
    floor: Array
    half_width: Array
    wall_width: float

    def weight_and_floor(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """Return how far points are carved (1 on the floor, 0 beyond the rim) and to what height."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        reach = np.full(x.shape, np.inf)
        floor = np.zeros(x.shape)
        for a, b, za, zb, wa, wb in zip(
            self.points[:-1],
            self.points[1:],
            self.floor[:-1],
            self.floor[1:],
            self.half_width[:-1],
            self.half_width[1:],
            strict=True,
        ):
            axis = b - a
            t = np.clip(
                ((x - a[0]) * axis[0] + (y - a[1]) * axis[1]) / float(axis @ axis), 0.0, 1.0
            )
            away = np.hypot(x - a[0] - t * axis[0], y - a[1] - t * axis[1]) - (wa + t * (wb - wa))
            nearer = away < reach
            reach = np.where(nearer, away, reach)
            floor = np.where(nearer, za + t * (zb - za), floor)
        t = np.clip(reach / self.wall_width, 0.0, 1.0)
        # Half straight, half smooth: walls 1.25 times as steep as their mean, rounded at both ends.
        return 1.0 - 0.5 * (t + smoothstep(0.0, 1.0, t)), floor


@dataclass(frozen=True, kw_only=True)
class Scarp:
    """A cliff line: the seabed steps down by `height` to the right of the line from start to end.

    Attributes:
        start, end: (2,) ends of the line [m]; the step fades out over a third of its length.
        height: [m].
        width: Horizontal width of the face [m].
        reach: Distance behind the edge over which the raised side returns to the plain [m].
    """

    start: Array
    end: Array
    height: float
    width: float
    reach: float

    def offset(self, x: ArrayLike, y: ArrayLike) -> Array:
        """Return what the scarp adds to the relief [m]."""
        axis = self.end - self.start
        length = float(np.hypot(*axis))
        ux, uy = axis / length
        along = (np.asarray(x) - self.start[0]) * ux + (np.asarray(y) - self.start[1]) * uy
        left = -(np.asarray(x) - self.start[0]) * uy + (np.asarray(y) - self.start[1]) * ux
        third = length / 3.0
        ends = smoothstep(0.0, third, along) * smoothstep(length, length - third, along)
        profile = smoothstep(-self.width / 2, self.width / 2, left) * smoothstep(
            self.reach, self.width, left
        )
        return np.asarray(self.height * ends * profile)


@dataclass(frozen=True, kw_only=True)
class Gully:
    """A notch across a slope, of Gaussian section.

    Attributes:
        x, y: Centre [m].
        yaw: Direction in which the notch runs [rad].
        half_width: Standard deviation of the section [m].
        half_length: Standard deviation along the notch [m].
        depth: [m].
    """

    x: float
    y: float
    yaw: float
    half_width: float
    half_length: float
    depth: float

    def offset(self, x: Array, y: Array) -> Array:
        """Return what the gully takes from the relief [m], as a negative number."""
        dx, dy = x - self.x, y - self.y
        along = dx * math.cos(self.yaw) + dy * math.sin(self.yaw)
        across = -dx * math.sin(self.yaw) + dy * math.cos(self.yaw)
        shape = (along / self.half_length) ** 2 + (across / self.half_width) ** 2
        return np.asarray(-self.depth * np.exp(-0.5 * shape))


def distance_to_line(line: Array, x: ArrayLike, y: ArrayLike) -> Array:
    """Return the horizontal distance [m] of points from a polyline (N, 2); infinite for none."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    distance = np.full(x.shape, np.inf)
    for a, b in itertools.pairwise(line):
        axis = b - a
        t = np.clip(((x - a[0]) * axis[0] + (y - a[1]) * axis[1]) / float(axis @ axis), 0.0, 1.0)
        distance = np.minimum(distance, np.hypot(x - a[0] - t * axis[0], y - a[1] - t * axis[1]))
    return distance


def thin_plate(control: Array) -> Callable[[ArrayLike, ArrayLike], Array]:
    """Return the thin-plate spline z(x, y) through (N, 3) points (Duchon 1977)."""
    points, scale = control[:, :2], 100.0

    def kernel(distance: Array) -> Array:
        r = np.maximum(distance / scale, 1e-9)
        return np.asarray(r * r * np.log(r))

    n = len(control)
    gaps = np.hypot(*(points[:, None, :] - points[None, :, :]).transpose(2, 0, 1))
    system = np.zeros((n + 3, n + 3))
    system[:n, :n] = kernel(gaps)
    system[:n, n] = system[n, :n] = 1.0
    system[:n, n + 1 :] = points / scale
    system[n + 1 :, :n] = points.T / scale
    weights = np.linalg.solve(system, np.concatenate([control[:, 2], np.zeros(3)]))

    def spline(x: ArrayLike, y: ArrayLike) -> Array:
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        z = weights[n] + (weights[n + 1] * x + weights[n + 2] * y) / scale
        for weight, (px, py) in zip(weights[:n], points, strict=True):
            z = z + weight * kernel(np.hypot(x - px, y - py))
        return np.asarray(z)

    return spline
