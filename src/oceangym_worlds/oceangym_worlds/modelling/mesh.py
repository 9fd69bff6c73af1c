"""Operations on UV-mapped meshes: shading, joining, moving, denting, unwrapping.

Every mesh here is a `trimesh.Trimesh` with outward faces, explicit vertex normals and
``visual.uv`` (N, 2); v points up in the image. Nothing is modified in place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
import trimesh

from oceangym_core.rng import generator

Array = NDArray[np.float64]
_WELD_DECIMALS = 6


def build(
    vertices: ArrayLike, faces: ArrayLike, uv: ArrayLike, normals: ArrayLike
) -> trimesh.Trimesh:
    """Return a mesh of arrays (N, 3), (F, 3), (N, 2), (N, 3), taken as they are."""
    visuals: Any = trimesh.visual.TextureVisuals
    return trimesh.Trimesh(
        vertices=np.asarray(vertices, dtype=float),
        faces=np.asarray(faces, dtype=np.int64),
        vertex_normals=np.asarray(normals, dtype=float),
        visual=visuals(uv=np.asarray(uv, dtype=float)),
        process=False,
        validate=False,
    )


def uv_of(mesh: trimesh.Trimesh) -> Array:
    """Return the texture coordinates (N, 2)."""
    visual: Any = mesh.visual
    return np.asarray(visual.uv, dtype=np.float64)


def _weld(points: Array) -> tuple[NDArray[np.int64], int]:
    """Return for each point the number of its place, and the count of places."""
    unique, index = np.unique(np.round(points, _WELD_DECIMALS) + 0.0, axis=0, return_inverse=True)
    return np.asarray(index, dtype=np.int64).reshape(-1), len(unique)


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12))


def shade(mesh: trimesh.Trimesh, *, crease_deg: float = 35.0) -> trimesh.Trimesh:
    """Return the mesh with normals recomputed: edges sharper than the crease stay sharp.

    A crease of 0 gives flat shading and 180 fully smooth shading, across UV seams too. Corner
    normals are the area-weighted mean of the adjoining face normals within the crease.
    """
    faces = np.asarray(mesh.faces)
    corners = np.asarray(mesh.vertices)[faces]
    cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    keep = np.linalg.norm(cross, axis=1) > 1e-12
    faces, corners, cross = faces[keep], corners[keep], cross[keep]
    points, uv = corners.reshape(-1, 3), uv_of(mesh)[faces].reshape(-1, 2)
    place, count = _weld(points)
    owner = np.repeat(np.arange(len(faces)), 3)
    incidence = sparse.csr_matrix(
        (np.ones(len(place)), (np.arange(len(place)), place)), shape=(len(place), count)
    )
    pairs = (incidence @ incidence.T).tocoo()
    face_normal = _unit(cross)
    alike = (
        np.einsum('ij,ij->i', face_normal[owner[pairs.row]], face_normal[owner[pairs.col]])
        >= math.cos(math.radians(crease_deg)) - 1e-9
    )
    near = sparse.csr_matrix(
        (np.ones(int(alike.sum())), (pairs.row[alike], pairs.col[alike])), shape=pairs.shape
    )
    normals = _unit(near @ cross[owner])
    return _compact(points, uv, normals)


def _compact(points: Array, uv: Array, normals: Array) -> trimesh.Trimesh:
    """Return a mesh of triangle corners with equal corners shared."""
    key = np.round(np.hstack([points, uv, normals]), 5) + 0.0
    _, first, index = np.unique(key, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first, kind='stable')
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    picked = first[order]
    faces = rank[np.asarray(index).reshape(-1)].reshape(-1, 3)
    return build(points[picked], faces, uv[picked], normals[picked])


def merge(meshes: Iterable[trimesh.Trimesh]) -> trimesh.Trimesh:
    """Return the meshes as one, keeping normals and UV."""
    listed = list(meshes)
    offsets = np.cumsum([0, *(len(m.vertices) for m in listed)])
    return build(
        np.vstack([m.vertices for m in listed]),
        np.vstack([np.asarray(m.faces) + o for m, o in zip(listed, offsets[:-1], strict=True)]),
        np.vstack([uv_of(m) for m in listed]),
        np.vstack([m.vertex_normals for m in listed]),
    )


def rotation(roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0) -> Array:
    """Return R_z(yaw) R_y(pitch) R_x(roll) of angles in degrees, (3, 3)."""
    (cr, cp, cy), (sr, sp, sy) = (
        np.cos(np.radians([roll, pitch, yaw])),
        np.sin(np.radians([roll, pitch, yaw])),
    )
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def move(
    mesh: trimesh.Trimesh,
    offset: ArrayLike = (0.0, 0.0, 0.0),
    *,
    rpy_deg: tuple[float, float, float] = (0.0, 0.0, 0.0),
    scale: ArrayLike = 1.0,
) -> trimesh.Trimesh:
    """Return the mesh scaled (per axis, may mirror), then turned, then shifted [m]."""
    factors = np.broadcast_to(np.asarray(scale, dtype=float), (3,))
    turn = rotation(*rpy_deg)
    vertices = (np.asarray(mesh.vertices) * factors) @ turn.T + np.asarray(offset, dtype=float)
    normals = _unit(np.asarray(mesh.vertex_normals) / factors) @ turn.T
    faces = np.asarray(mesh.faces)
    if np.prod(factors) < 0:
        faces = faces[:, ::-1]
    return build(vertices, faces, uv_of(mesh), normals)


def place(mesh: trimesh.Trimesh, axes: Array, offset: ArrayLike) -> trimesh.Trimesh:
    """Return the mesh with its x, y, z axes turned to the columns of `axes` (3, 3), shifted."""
    return build(
        np.asarray(mesh.vertices) @ axes.T + np.asarray(offset, dtype=float),
        mesh.faces,
        uv_of(mesh),
        np.asarray(mesh.vertex_normals) @ axes.T,
    )


def mirror(mesh: trimesh.Trimesh, axis: int = 1) -> trimesh.Trimesh:
    """Return the mesh mirrored in the plane through the origin normal to `axis`."""
    factors = np.ones(3)
    factors[axis] = -1.0
    return move(mesh, scale=factors)


def noise(points: ArrayLike, *, seed: int, size: float = 1.0, octaves: int = 3) -> Array:
    """Return smooth value noise (N,), about -1..1, at points (N, 3).

    Args:
        points: Places [m].
        seed: Seed of the lattice values.
        size: Length of the coarsest waves [m].
        octaves: Each halves the wave length and the height.
    """
    lattice = generator(seed, 'mesh_noise').uniform(-1.0, 1.0, (32, 32, 32))
    places = np.asarray(points, dtype=float)
    total = np.zeros(len(places))
    for octave in range(octaves):
        scaled = places * 2.0**octave / size + 7.31 * octave
        low = np.floor(scaled).astype(int)
        part = scaled - low
        part = part * part * (3.0 - 2.0 * part)
        for corner in np.ndindex(2, 2, 2):
            weight = np.prod(np.where(np.array(corner) == 1, part, 1.0 - part), axis=1)
            i, j, k = ((low + corner) % 32).T
            total += weight * lattice[i, j, k] * 0.5**octave
    return total


def displace(
    mesh: trimesh.Trimesh, height: Callable[[Array], Array], *, crease_deg: float = 35.0
) -> trimesh.Trimesh:
    """Return the mesh pushed outward by ``height(points)`` [m], without opening seams."""
    points = np.asarray(mesh.vertices)
    place, count = _weld(points)
    summed = np.zeros((count, 3))
    np.add.at(summed, place, np.asarray(mesh.vertex_normals))
    moved = points + _unit(summed)[place] * np.asarray(height(points))[:, None]
    return shade(build(moved, mesh.faces, uv_of(mesh), mesh.vertex_normals), crease_deg=crease_deg)


def dent(
    mesh: trimesh.Trimesh,
    centre: ArrayLike,
    direction: ArrayLike,
    *,
    radius: float,
    depth: float,
    crease_deg: float = 50.0,
) -> trimesh.Trimesh:
    """Return the mesh pushed along `direction`, a bowl of `depth` around `centre`."""
    points = np.asarray(mesh.vertices)
    squared = np.sum((points - np.asarray(centre, dtype=float)) ** 2, axis=1) / radius**2
    bowl = depth * np.clip(1.0 - squared, 0.0, None) ** 2
    push = _unit(np.asarray(direction, dtype=float)[None])
    moved = build(points + bowl[:, None] * push, mesh.faces, uv_of(mesh), mesh.vertex_normals)
    return shade(moved, crease_deg=crease_deg)


def subdivide(mesh: trimesh.Trimesh, max_edge: float) -> trimesh.Trimesh:
    """Return the mesh with edges longer than `max_edge` [m] split, for later bending."""
    attributes = np.hstack([mesh.vertices, uv_of(mesh), mesh.vertex_normals])
    faces = np.asarray(mesh.faces)
    while True:
        edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
        unique, index = np.unique(edges, axis=0, return_inverse=True)
        length = np.linalg.norm(
            attributes[unique[:, 0], :3] - attributes[unique[:, 1], :3], axis=1
        )
        if length.max() <= max_edge:
            break
        # All edges of a face that has a long one are split, and so are its neighbours' shared
        # edges; splitting every face keeps the surface closed.
        middle = len(attributes) + np.asarray(index).reshape(-1, 3)
        attributes = np.vstack([attributes, attributes[unique].mean(axis=1)])
        a, b, c = faces.T
        ab, bc, ca = middle.T
        faces = np.vstack(
            [np.column_stack(t) for t in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return build(attributes[:, :3], faces, attributes[:, 3:5], _unit(attributes[:, 5:]))


def box_uv(mesh: trimesh.Trimesh, *, scale: float) -> trimesh.Trimesh:
    """Return the mesh unwrapped by the main axis of each face, one texture per `scale` metres.

    Side faces have the image's up along z; top and bottom faces have it along y.
    """
    faces = np.asarray(mesh.faces)
    points = np.asarray(mesh.vertices)[faces].reshape(-1, 3)
    normals = np.asarray(mesh.vertex_normals)[faces].reshape(-1, 3)
    favour_top = np.array([0.0, 1e-6, 2e-6])
    axis = np.repeat(np.argmax(np.abs(mesh.face_normals) + favour_top, axis=1), 3)
    sign = np.where(np.repeat(np.asarray(mesh.face_normals), 3, axis=0) < 0, -1.0, 1.0)
    x, y, z = points.T
    u = np.select([axis == 0, axis == 1], [y * sign[:, 0], -x * sign[:, 1]], x * sign[:, 2])
    v = np.where(axis == 2, y, z)
    return _compact(points, np.column_stack([u, v]) / scale, normals)


def planar_uv(
    mesh: trimesh.Trimesh,
    right: ArrayLike,
    up: ArrayLike,
    *,
    scale: float,
    origin: ArrayLike = (0.0, 0.0, 0.0),
) -> trimesh.Trimesh:
    """Return the mesh projected on the plane of `right` and `up`; `origin` gets u = v = 0."""
    relative = np.asarray(mesh.vertices) - np.asarray(origin, dtype=float)
    uv = relative @ np.column_stack([np.asarray(right, float), np.asarray(up, float)]) / scale
    return build(mesh.vertices, mesh.faces, uv, mesh.vertex_normals)


def with_uv(mesh: trimesh.Trimesh, uv: ArrayLike) -> trimesh.Trimesh:
    """Return the mesh with other texture coordinates (N, 2)."""
    return build(mesh.vertices, mesh.faces, uv, mesh.vertex_normals)


def fit_uv(
    mesh: trimesh.Trimesh, region: tuple[float, float, float, float] = (0.0, 0.0, 1.0, 1.0)
) -> trimesh.Trimesh:
    """Return the mesh with its UV range stretched onto ``(u0, v0, u1, v1)``, e.g. of an atlas."""
    uv = uv_of(mesh)
    low, span = uv.min(axis=0), np.maximum(np.ptp(uv, axis=0), 1e-9)
    corner, size = np.array(region[:2]), np.array(region[2:]) - np.array(region[:2])
    return with_uv(mesh, corner + (uv - low) / span * size)


def split_facing(
    mesh: trimesh.Trimesh, direction: ArrayLike = (0.0, 0.0, 1.0), *, within_deg: float = 50.0
) -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return the faces within an angle of `direction` (e.g. for sediment), and the others."""
    unit = _unit(np.asarray(direction, dtype=float)[None])[0]
    facing = np.asarray(mesh.face_normals) @ unit >= math.cos(math.radians(within_deg))
    return select_faces(mesh, facing), select_faces(mesh, ~facing)


def select_faces(mesh: trimesh.Trimesh, mask: NDArray[np.bool_]) -> trimesh.Trimesh:
    """Return the faces of a mask (F,), with the vertices they use."""
    faces = np.asarray(mesh.faces)[mask]
    used, index = np.unique(faces, return_inverse=True)
    return build(
        np.asarray(mesh.vertices)[used],
        np.asarray(index).reshape(-1, 3),
        uv_of(mesh)[used],
        np.asarray(mesh.vertex_normals)[used],
    )
