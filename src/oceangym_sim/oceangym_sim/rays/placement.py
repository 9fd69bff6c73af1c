"""A vehicle pose as Dr.Jit values that stay out of the kernel, so that no frame compiles anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import drjit as dr
import mitsuba as mi

from oceangym_core.geometry import Pose


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Rotation rows and position (mi.Point3f) of base_link in map, and map z [m] as a number."""

    rotation: list[list[Any]]
    position: Any
    z: float

    @classmethod
    def of(cls, pose: Pose) -> Placement:
        """Return a pose as opaque values."""
        return cls(
            rotation=[[dr.opaque(mi.Float, float(v)) for v in row] for row in pose.rotation],
            position=mi.Point3f(*(dr.opaque(mi.Float, float(c)) for c in pose.position)),
            z=pose.position[2],
        )


def rotate(matrix: list[list[Any]], vector: Any) -> Any:
    """Return body vectors in map."""
    return mi.Vector3f(
        *(row[0] * vector.x + row[1] * vector.y + row[2] * vector.z for row in matrix)
    )


def rotate_back(matrix: list[list[Any]], vector: Any) -> Any:
    """Return map vectors in the body."""
    return mi.Vector3f(
        *(
            matrix[0][i] * vector.x + matrix[1][i] * vector.y + matrix[2][i] * vector.z
            for i in range(3)
        )
    )
