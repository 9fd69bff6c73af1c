"""Poses and rotations. Quaternions are (x, y, z, w); frames follow REP-103 (ENU map, FLU body)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

IDENTITY_QUATERNION: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)


def quaternion_from_euler(roll: float, pitch: float, yaw: float) -> Array:
    """Return the quaternion (x, y, z, w) of fixed-axis roll, pitch, yaw [rad] (Rz Ry Rx)."""
    cr, sr = math.cos(roll / 2), math.sin(roll / 2)
    cp, sp = math.cos(pitch / 2), math.sin(pitch / 2)
    cy, sy = math.cos(yaw / 2), math.sin(yaw / 2)
    return np.array(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ]
    )


def euler_from_quaternion(quaternion: ArrayLike) -> tuple[float, float, float]:
    """Return roll, pitch, yaw [rad] of a unit quaternion (x, y, z, w)."""
    x, y, z, w = np.asarray(quaternion, dtype=float).tolist()
    rise = 2 * (w * y - z * x)
    if abs(rise) > 1 - 1e-12:
        # Nose straight up or down: only the sum of roll and yaw is defined, and yaw takes it all.
        return (
            0.0,
            math.copysign(math.pi / 2, rise),
            wrap_angle(-2 * math.copysign(1, rise) * math.atan2(x, w)),
        )
    roll = math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y))
    pitch = math.asin(rise)
    yaw = math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    return roll, pitch, yaw


def rotation_matrix(quaternion: ArrayLike) -> Array:
    """Return the 3x3 matrix that takes body vectors to the parent frame."""
    x, y, z, w = np.asarray(quaternion, dtype=float).tolist()
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion_from_matrix(matrix: ArrayLike) -> Array:
    """Return the unit quaternion (x, y, z, w), w >= 0, of a 3x3 rotation matrix."""
    m = np.asarray(matrix, dtype=float)
    # Bar-Itzhack's symmetric form: the eigenvector of the largest eigenvalue is the quaternion.
    k = np.array(
        [
            [m[0, 0] - m[1, 1] - m[2, 2], 0.0, 0.0, 0.0],
            [m[1, 0] + m[0, 1], m[1, 1] - m[0, 0] - m[2, 2], 0.0, 0.0],
            [m[2, 0] + m[0, 2], m[2, 1] + m[1, 2], m[2, 2] - m[0, 0] - m[1, 1], 0.0],
            [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1], np.trace(m)],
        ]
    )
    _, vectors = np.linalg.eigh(k, UPLO='L')
    q: Array = vectors[:, -1]
    return -q if q[3] < 0 else q


def multiply_quaternions(left: ArrayLike, right: ArrayLike) -> Array:
    """Return the Hamilton product left * right of (x, y, z, w) quaternions."""
    ax, ay, az, aw = np.asarray(left, dtype=float).tolist()
    bx, by, bz, bw = np.asarray(right, dtype=float).tolist()
    return np.array(
        [
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
            aw * bw - ax * bx - ay * by - az * bz,
        ]
    )


def wrap_angle(angle: float) -> float:
    """Return the angle [rad] wrapped into (-pi, pi]."""
    wrapped = math.remainder(angle, 2 * math.pi)
    return math.pi if wrapped == -math.pi else wrapped


@dataclass(frozen=True)
class Pose:
    """A rigid transform: `position` (3,) [m] and `quaternion` (4,) (x, y, z, w) in the parent frame."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    quaternion: tuple[float, float, float, float] = IDENTITY_QUATERNION

    @classmethod
    def of(cls, position: ArrayLike, quaternion: ArrayLike = IDENTITY_QUATERNION) -> Pose:
        """Build a pose from any array-likes of 3 and 4 numbers."""
        x, y, z = np.asarray(position, dtype=float).tolist()
        qx, qy, qz, qw = np.asarray(quaternion, dtype=float).tolist()
        return cls((x, y, z), (qx, qy, qz, qw))

    @classmethod
    def from_euler(cls, position: ArrayLike, roll: float, pitch: float, yaw: float) -> Pose:
        """Build a pose from a position [m] and fixed-axis angles [rad]."""
        return cls.of(position, quaternion_from_euler(roll, pitch, yaw))

    @cached_property
    def rotation(self) -> Array:
        """The 3x3 rotation from this frame to the parent's, read-only."""
        matrix = rotation_matrix(self.quaternion)
        matrix.setflags(write=False)
        return matrix

    @property
    def yaw(self) -> float:
        """Heading [rad], counter-clockwise from the parent's x axis (east for map)."""
        return euler_from_quaternion(self.quaternion)[2]

    def apply(self, points: ArrayLike) -> Array:
        """Return points (..., 3) of this frame in the parent frame."""
        moved: Array = np.asarray(points, dtype=float) @ self.rotation.T + np.asarray(
            self.position
        )
        return moved

    def __matmul__(self, child: Pose) -> Pose:
        """Return the child's pose seen from this pose's parent."""
        return Pose.of(
            self.apply(child.position), multiply_quaternions(self.quaternion, child.quaternion)
        )

    def inverse(self) -> Pose:
        """Return the transform from the parent to this frame."""
        x, y, z, w = self.quaternion
        back = rotation_matrix((-x, -y, -z, w))
        return Pose.of(-(back @ np.asarray(self.position)), (-x, -y, -z, w))
