"""Collecting the meshes of a prop by finish, and its collision primitives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from shapely.geometry import Polygon
import trimesh

from oceangym_core.geometry import Pose, quaternion_from_matrix
from oceangym_worlds.modelling.mesh import Array, merge, move, split_facing
from oceangym_worlds.modelling.model import Part, Primitive
from oceangym_worlds.modelling.primitives import cylinder, extrude


@dataclass(frozen=True, kw_only=True)
class Finish:
    """How the surface of one part looks and sounds."""

    texture: NDArray[np.uint8]
    acoustic: str
    metalness: float = 0.0
    roughness: float = 0.85


def metal(texture: NDArray[np.uint8]) -> Finish:
    """Return the finish of painted or rusty steel."""
    return Finish(texture=texture, acoustic='steel', metalness=0.2, roughness=0.75)


class Assembly:
    """Meshes gathered under the names of their finishes."""

    def __init__(self) -> None:
        self._meshes: dict[str, list[trimesh.Trimesh]] = {}

    def add(self, finish: str, *meshes: trimesh.Trimesh) -> None:
        """Add meshes in the model frame."""
        self._meshes.setdefault(finish, []).extend(meshes)

    def add_dusted(
        self, finish: str, dusted: str, *meshes: trimesh.Trimesh, within_deg: float = 40.0
    ) -> None:
        """Add meshes whose faces looking up within an angle get the finish `dusted`."""
        top, rest = split_facing(merge(meshes), within_deg=within_deg)
        for name, mesh in ((dusted, top), (finish, rest)):
            if len(mesh.faces):
                self.add(name, mesh)

    def parts(self, finishes: Mapping[str, Finish]) -> tuple[Part, ...]:
        """Return one part for each finish used, in the order of `finishes`."""
        return tuple(
            Part(
                name=name,
                mesh=merge(self._meshes[name]),
                texture=finish.texture,
                acoustic=finish.acoustic,
                metalness=finish.metalness,
                roughness=finish.roughness,
            )
            for name, finish in finishes.items()
            if name in self._meshes
        )


def prism_y(
    outline: ArrayLike | Polygon, low: float, high: float, *, scale: float = 1.0
) -> trimesh.Trimesh:
    """Return a prism over an outline (N, 2) of (x, z), from y = `low` to `high`."""
    return move(extrude(outline, high - low, scale=scale), (0.0, high, 0.0), rpy_deg=(90, 0, 0))


def cylinder_y(
    centre: ArrayLike,
    radius: float,
    length: float,
    *,
    sections: int = 24,
    scale: float = 1.0,
    bevel: float = 0.0,
) -> trimesh.Trimesh:
    """Return a cylinder along y about its centre."""
    standing = cylinder(radius, length, sections=sections, scale=scale, bevel=bevel)
    middle = np.asarray(centre, dtype=float) + np.array([0.0, length / 2.0, 0.0])
    return move(standing, middle, rpy_deg=(90, 0, 0))


def cylinder_x(
    centre: ArrayLike,
    radius: float,
    length: float,
    *,
    sections: int = 24,
    scale: float = 1.0,
    bevel: float = 0.0,
) -> trimesh.Trimesh:
    """Return a cylinder along x about its centre."""
    lying = cylinder(radius, length, sections=sections, scale=scale, bevel=bevel)
    middle = np.asarray(centre, dtype=float) - np.array([length / 2.0, 0.0, 0.0])
    return move(lying, middle, rpy_deg=(0, 90, 0))


def box_primitive(low: ArrayLike, high: ArrayLike) -> Primitive:
    """Return a collision box between two corners."""
    a, b = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    return Primitive(shape='box', size=tuple((b - a).tolist()), pose=Pose.of((a + b) / 2.0))


def leaning_axes(axis: ArrayLike, turn: float = 0.0) -> Array:
    """Return columns (3, 3) whose z is along `axis`, turned about it by an angle [rad]."""
    along = np.asarray(axis, dtype=float) / np.linalg.norm(axis)
    side = np.cross(np.eye(3)[int(np.argmin(np.abs(along)))], along)
    side /= np.linalg.norm(side)
    x = math.cos(turn) * side + math.sin(turn) * np.cross(along, side)
    return np.column_stack([x, np.cross(along, x), along])


def bar_primitive(
    start: ArrayLike, end: ArrayLike, radius: float, *, shape: str = 'capsule'
) -> Primitive:
    """Return a collision capsule (or cylinder) between two points."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    length = float(np.linalg.norm(b - a))
    pose = Pose.of((a + b) / 2.0, quaternion_from_matrix(leaning_axes(b - a)))
    return Primitive(shape=shape, size=(radius, length), pose=pose)
