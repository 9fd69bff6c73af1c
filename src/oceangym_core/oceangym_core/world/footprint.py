"""The volume that counts as a target, carried in the record so that no world file is needed."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from pydantic import ConfigDict, RootModel

from oceangym_core.files import Quaternion, Schema, Vector
from oceangym_core.geometry import Array, Pose


class OrientedBox(Schema):
    """A box of full `size` (x, y, z) [m], centred on a pose in map."""

    position: Vector
    quaternion: Quaternion
    size: Vector

    @classmethod
    def of(cls, pose: Pose, size: ArrayLike) -> OrientedBox:
        """Build a box from its pose and full size [m]."""
        x, y, z = np.asarray(size, dtype=float).tolist()
        return cls(position=pose.position, quaternion=pose.quaternion, size=(x, y, z))

    @cached_property
    def pose(self) -> Pose:
        """The pose of its centre in map."""
        return Pose(self.position, self.quaternion)


class Footprint(RootModel[tuple[OrientedBox, ...]]):
    """A union of oriented boxes in map."""

    model_config = ConfigDict(frozen=True, strict=True)

    @property
    def boxes(self) -> tuple[OrientedBox, ...]:
        """The boxes."""
        return self.root

    @classmethod
    def of(cls, boxes: Iterable[tuple[Pose, ArrayLike]]) -> Footprint:
        """Build a footprint from (pose in map, full size [m]) pairs."""
        return cls(tuple(OrientedBox.of(pose, size) for pose, size in boxes))

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
