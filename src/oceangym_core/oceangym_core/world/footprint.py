"""The volume that counts as a target, carried in the record so that no world file is needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from oceangym_core.geometry import Array, Pose

Vector = tuple[float, float, float]


@dataclass(frozen=True, kw_only=True)
class OrientedBox:
    """A box of full `size` (x, y, z) [m], centred on its `pose` in map."""

    pose: Pose
    size: Vector


@dataclass(frozen=True)
class Footprint:
    """A union of oriented boxes in map."""

    boxes: tuple[OrientedBox, ...]

    @classmethod
    def of(cls, boxes: Iterable[tuple[Pose, Vector]]) -> Footprint:
        """Build a footprint from (pose in map, full size [m]) pairs."""
        return cls(tuple(OrientedBox(pose=pose, size=size) for pose, size in boxes))

    @classmethod
    def point(cls, position: Vector) -> Footprint:
        """Build the footprint of a target without extent."""
        return cls.of([(Pose.of(position), (0.0, 0.0, 0.0))])

    def distance(self, points: ArrayLike) -> Array:
        """Return the distance [m] of points (N, 3) in map to the nearest box, 0 inside."""
        where = np.atleast_2d(np.asarray(points, dtype=float))
        nearest = np.full(len(where), np.inf)
        for box in self.boxes:
            local = (where - np.asarray(box.pose.position)) @ box.pose.rotation
            outside = np.maximum(np.abs(local) - np.asarray(box.size) / 2, 0.0)
            nearest = np.minimum(nearest, np.linalg.norm(outside, axis=1))
        return nearest

    def as_list(self) -> list[dict[str, list[float]]]:
        """Return plain data for YAML and JSON."""
        return [
            {
                'position': [float(v) for v in box.pose.position],
                'quaternion': [float(v) for v in box.pose.quaternion],
                'size': [float(v) for v in box.size],
            }
            for box in self.boxes
        ]
