"""Thin shells and the placing of prop parts and collision primitives."""

from __future__ import annotations

from collections.abc import Iterable
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
import trimesh

from oceangym_core.geometry import Pose, quaternion_from_matrix
from oceangym_worlds.modelling.mesh import build, merge, rotation, uv_of
from oceangym_worlds.modelling.model import Primitive


def _welded(mesh: trimesh.Trimesh) -> NDArray[np.int_]:
    """Return for each vertex (N,) the number of its place."""
    _, index = np.unique(np.round(mesh.vertices, 5) + 0.0, axis=0, return_inverse=True)
    return np.asarray(index).reshape(-1)


def thicken(mesh: trimesh.Trimesh, thickness: float) -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return a sheet as a plate: the outer face with its rims, and the inner face.

    Args:
        mesh: Open surface with outward faces; every free edge gets a rim, holes included.
        thickness: Distance of the inner face [m].
    """
    points, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
    place = _welded(mesh)
    normals = np.zeros((int(place.max()) + 1, 3))
    np.add.at(normals, place, np.asarray(mesh.vertex_normals))
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    inside = points - thickness * normals[place]
    inner = build(inside, faces[:, ::-1], uv_of(mesh), -np.asarray(mesh.vertex_normals))

    edges = faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2)
    key = place[edges]
    both = {(int(a), int(b)) for a, b in key}
    free = edges[[(int(b), int(a)) not in both for a, b in key]]
    a, b = free.T
    corners = np.stack([points[a], inside[a], inside[b], points[b]], axis=1)
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0])
    across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-12)
    start = 4 * np.arange(len(free))[:, None]
    rim = build(
        corners.reshape(-1, 3),
        np.vstack([start + np.array([0, 1, 2]), start + np.array([0, 2, 3])]),
        np.stack([uv_of(mesh)[a]] * 2 + [uv_of(mesh)[b]] * 2, axis=1).reshape(-1, 2),
        np.repeat(across, 4, axis=0),
    )
    return merge([mesh, rim]), inner


def laid(mesh: trimesh.Trimesh, pose: Pose) -> trimesh.Trimesh:
    """Return a mesh of a body's frame in the frame in which the body has `pose`."""
    normals = np.asarray(mesh.vertex_normals) @ pose.rotation.T
    return build(pose.apply(mesh.vertices), mesh.faces, uv_of(mesh), normals)


def double_sided(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Return the mesh together with its back, for blades too thin to have a thickness."""
    back = build(
        mesh.vertices,
        np.asarray(mesh.faces)[:, ::-1],
        uv_of(mesh),
        -np.asarray(mesh.vertex_normals),
    )
    return merge([mesh, back])


def euler_pose(position: ArrayLike, rpy_deg: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> Pose:
    """Return the pose of a position [m] and roll, pitch, yaw [deg], as `mesh_ops.move` turns."""
    return Pose.of(position, quaternion_from_matrix(rotation(*rpy_deg)))


def block(
    size: tuple[float, float, float],
    centre: ArrayLike = (0.0, 0.0, 0.0),
    rpy_deg: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> Primitive:
    """Return a collision box."""
    return Primitive(shape='box', size=size, pose=euler_pose(centre, rpy_deg))


def ball(radius: float, centre: ArrayLike) -> Primitive:
    """Return a collision sphere."""
    return Primitive(shape='sphere', size=(radius,), pose=euler_pose(centre))


def bar(start: ArrayLike, end: ArrayLike, radius: float) -> Primitive:
    """Return a collision capsule with its rounded ends at two points."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    axis = b - a
    length = float(np.linalg.norm(axis))
    yaw = math.degrees(math.atan2(axis[1], axis[0]))
    pitch = math.degrees(math.atan2(math.hypot(axis[0], axis[1]), axis[2]))
    cylinder = max(length - 2 * radius, 0.01)
    pose = euler_pose((a + b) / 2, (0.0, pitch, yaw))
    return Primitive(shape='capsule', size=(radius, cylinder), pose=pose)


def place_all(primitives: Iterable[Primitive], pose: Pose) -> list[Primitive]:
    """Return primitives of a body's frame in the frame in which the body has `pose`."""
    return [Primitive(shape=p.shape, size=p.size, pose=pose @ p.pose) for p in primitives]
