"""The seabed as triangles, cut along the borders of its materials."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
import trimesh

from oceangym_worlds.modelling.noise import Noise
from oceangym_worlds.seabed.terrain import Heightfield, Seabed
from oceangym_worlds.seabed.textures import TILE_M

Array = NDArray[np.float64]
Faces = NDArray[np.int64]

_ROCK_LEVEL, _RUBBLE_LEVEL, _HALF = 0.5, 0.25, 0.5


@dataclass
class _Vertices:
    """Vertices with all that is interpolated along an edge: position, normal and the fields."""

    values: Array
    columns: dict[str, int]

    def field(self, name: str) -> Array:
        column: Array = self.values[:, self.columns[name]]
        return column


def seabed_meshes(seabed: Seabed) -> dict[str, trimesh.Trimesh]:
    """Return one mesh per material that occurs, UV in tiles of `TILE_M`, in map coordinates.

    Triangles are cut where a field crosses its level, so a border is a curve and not the steps of
    the grid; both sides share its points.
    """
    vertices, faces = _vertices(seabed), _grid_faces(seabed.heightfield)
    parts: dict[str, Faces] = {}
    parts['rock'], faces = _cut(vertices, faces, 'rock', _ROCK_LEVEL)
    parts['gravel'], faces = _cut(vertices, faces, 'rubble', _RUBBLE_LEVEL)
    parts['silt'], faces = _cut(vertices, faces, 'silt', _HALF)
    parts['rippled_sand'], parts['sand'] = _cut(vertices, faces, 'ripple', _HALF)
    return {
        name: _mesh(vertices, part, TILE_M[name])
        for name, part in sorted(parts.items())
        if len(part)
    }


def collision_mesh(heightfield: Heightfield, stride: int = 2) -> trimesh.Trimesh:
    """Return the seabed with every `stride`-th node, for a physics engine."""
    coarse = Heightfield(
        z=heightfield.z[::stride, ::stride],
        origin=heightfield.origin,
        spacing=heightfield.spacing * stride,
    )
    x, y = np.meshgrid(*coarse.axes())
    points = np.column_stack([x.ravel(), y.ravel(), coarse.z.astype(float).ravel()])
    return trimesh.Trimesh(
        points, _grid_faces(coarse), vertex_normals=_normals(coarse), process=False
    )


def _normals(heightfield: Heightfield) -> Array:
    gx, gy = heightfield.gradient()
    normals = np.column_stack([-gx.ravel(), -gy.ravel(), np.ones(gx.size)])
    return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))


def _vertices(seabed: Seabed) -> _Vertices:
    heightfield = seabed.heightfield
    x, y = np.meshgrid(*heightfield.axes())
    values = np.column_stack(
        [
            x.ravel(),
            y.ravel(),
            heightfield.z.astype(float).ravel(),
            _normals(heightfield),
            seabed.rock.ravel(),
            seabed.rubble.ravel(),
            seabed.silt.ravel(),
            seabed.ripple.ravel(),
        ]
    )
    names = ('x', 'y', 'z', 'nx', 'ny', 'nz', 'rock', 'rubble', 'silt', 'ripple')
    return _Vertices(values, {name: i for i, name in enumerate(names)})


def _grid_faces(heightfield: Heightfield) -> Faces:
    """Return two triangles a cell, split along the diagonal that bends less, seen from above ccw."""
    z = heightfield.z
    ny, nx = z.shape
    index = np.arange(ny * nx).reshape(ny, nx)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, 1:], index[1:, :-1]
    rising = np.abs(z[:-1, :-1] - z[1:, 1:]) <= np.abs(z[:-1, 1:] - z[1:, :-1])
    first = np.where(rising[..., None], np.stack([a, b, c], -1), np.stack([a, b, d], -1))
    other = np.where(rising[..., None], np.stack([a, c, d], -1), np.stack([b, c, d], -1))
    return np.stack([first, other], axis=2).reshape(-1, 3)


def _cut(vertices: _Vertices, faces: Faces, field: str, level: float) -> tuple[Faces, Faces]:
    """Split triangles at a field's level into those above and those below; adds vertices."""
    height = vertices.field(field) - level
    above = height >= 0.0
    count = above[faces].sum(axis=1)
    mixed = faces[(count == 1) | (count == 2)]
    up = above[mixed]
    # The odd corner is the one alone on its side; turn each triangle so that it comes first.
    odd = np.where(up.sum(axis=1) == 1, up.argmax(axis=1), (~up).argmax(axis=1))
    turn = (odd[:, None] + np.arange(3)) % 3
    a, b, c = np.take_along_axis(mixed, turn, axis=1).T
    ab, ac = _edge_points(vertices, height, np.stack([a, b], 1), np.stack([a, c], 1))
    tip = np.stack([a, ab, ac], 1)
    rest = np.concatenate([np.stack([ab, b, c], 1), np.stack([ab, c, ac], 1)])
    tip_above = above[a]
    rest_above = np.tile(~tip_above, 2)
    return (
        np.concatenate([faces[count == 3], tip[tip_above], rest[rest_above]]),
        np.concatenate([faces[count == 0], tip[~tip_above], rest[~rest_above]]),
    )


def _edge_points(
    vertices: _Vertices, height: Array, first: Faces, second: Faces
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Add one vertex on each distinct edge and return the vertex numbers for both lists of edges."""
    edges = np.sort(np.concatenate([first, second]), axis=1)
    unique, inverse = np.unique(edges, axis=0, return_inverse=True)
    low, high = unique.T
    # Not nearer to a corner than a twentieth: no slivers.
    t = np.clip(height[low] / (height[low] - height[high]), 0.05, 0.95)[:, None]
    start = len(vertices.values)
    added = vertices.values[low] * (1.0 - t) + vertices.values[high] * t
    vertices.values = np.concatenate([vertices.values, added])
    numbers = start + inverse.reshape(-1)
    return numbers[: len(first)], numbers[len(first) :]


def _texture_place(points: Array) -> Array:
    """Return where on the endless texture points (N, 2) [m] lie.

    The map is bent by up to about two metres over fifty, so that the repeats of a tile form no
    grid that the eye, or a feature matcher, could pick up.
    """
    x, y = points.T
    bend = [Noise.of(0, f'texture/{axis}').fractal(x, y, 55.0, octaves=2) for axis in 'uv']
    return np.asarray(points + 2.2 * np.stack(bend, axis=1))


def _mesh(vertices: _Vertices, faces: Faces, tile: float) -> trimesh.Trimesh:
    used, inverse = np.unique(faces, return_inverse=True)
    values = vertices.values[used]
    normals = values[:, 3:6] / np.linalg.norm(values[:, 3:6], axis=1, keepdims=True)
    mesh = trimesh.Trimesh(
        values[:, :3], inverse.reshape(-1, 3), vertex_normals=normals, process=False
    )
    mesh.visual = trimesh.visual.TextureVisuals(uv=_texture_place(values[:, :2]) / tile)
    return mesh
