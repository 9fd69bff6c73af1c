"""Boulders in four variants: faceted, cracked, none of them round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
import trimesh

from oceangym_core.errors import unknown_name
from oceangym_core.rng import generator
from oceangym_worlds.modelling import textures as tk
from oceangym_worlds.modelling.mesh import build as build_mesh
from oceangym_worlds.modelling.mesh import noise, shade
from oceangym_worlds.modelling.model import Part, Primitive, PropAttributes, PropModel
from oceangym_worlds.modelling.shells import ball, block


@dataclass(frozen=True)
class _Variant:
    """Shape of one kind of boulder."""

    size: tuple[float, float, float]  # m
    planes: int  # cuts that make facets
    rough: float  # height of the roughness over the size
    sink: float  # share of the height below the seabed
    colour: tk.Colour
    growth: float
    form: str


_VARIANTS = {
    'boulder_a': _Variant((0.9, 0.75, 0.6), 13, 0.05, 0.18, (120, 112, 98), 0.15, 'small block'),
    'boulder_b': _Variant((1.9, 1.4, 1.25), 11, 0.06, 0.2, (104, 100, 94), 0.25, 'angular block'),
    'boulder_c': _Variant((3.0, 2.3, 1.3), 10, 0.05, 0.22, (132, 118, 98), 0.2, 'slab'),
    'boulder_d': _Variant((4.0, 3.0, 3.1), 15, 0.07, 0.15, (96, 92, 88), 0.3, 'tall cracked rock'),
}
VARIANTS: tuple[str, ...] = tuple(_VARIANTS)
_FREQUENCY = 6


def _geodesic(frequency: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return unit vertices (N, 3) and faces (20 f^2, 3) of an icosahedron split f times an edge."""
    solid = trimesh.creation.icosahedron()
    vertices: list[NDArray[np.float64]] = []
    faces: list[tuple[int, int, int]] = []
    for triangle in np.asarray(solid.vertices)[np.asarray(solid.faces)]:
        index = {}
        for i in range(frequency + 1):
            for j in range(frequency + 1 - i):
                index[i, j] = len(vertices)
                weights = np.array([frequency - i - j, i, j]) / frequency
                vertices.append(weights @ triangle)
        for i in range(frequency):
            for j in range(frequency - i):
                faces.append((index[i, j], index[i + 1, j], index[i, j + 1]))
                if i + j < frequency - 1:
                    faces.append((index[i + 1, j], index[i + 1, j + 1], index[i, j + 1]))
    points = np.array(vertices)
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points, np.array(faces, dtype=np.int64)


def rock_mesh(seed: int, variant: str) -> trimesh.Trimesh:
    """Return a rock of one of `VARIANTS`, sunk into the seabed at z = 0."""
    shape = _VARIANTS[variant]
    rng = generator(seed, variant)
    unit, faces = _geodesic(_FREQUENCY)
    normals = rng.normal(size=(shape.planes, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    normals = np.vstack([normals, [0, 0, 1], [0, 0, -1]])
    offset = np.append(rng.uniform(0.55, 0.86, shape.planes), [0.8, 0.75])
    facing = unit @ normals.T
    reach = np.where(facing > 0.05, offset / np.maximum(facing, 0.05), 9.0).min(axis=1)
    radius = np.minimum(reach, 1.0)
    radius = radius * (1 + shape.rough * 1.4 * noise(unit, seed=seed, size=0.45, octaves=3))
    # A fissure: a plane through the rock along which the surface falls in.
    across = rng.normal(size=3)
    across[2] *= 0.3
    across /= np.linalg.norm(across)
    wander = unit @ across - 0.12 + 0.08 * noise(unit, seed=seed + 1, size=0.5, octaves=2)
    radius = radius * (1 - 0.22 * np.exp(-((wander / 0.07) ** 2)))
    points = unit * radius[:, None]
    low, high = points.min(axis=0), points.max(axis=0)
    points = (points - (low + high) / 2) / (high - low) * np.array(shape.size)
    points[:, 2] += shape.size[2] * (0.5 - shape.sink)
    return shade(_unwrapped(points, unit, faces, max(2.0, shape.size[0] * 0.7)), crease_deg=28.0)


def _unwrapped(
    points: NDArray[np.float64],
    unit: NDArray[np.float64],
    faces: NDArray[np.int64],
    scale: float,
) -> trimesh.Trimesh:
    """Return the rock with UV from the side of a cube that its direction (N, 3) passes through.

    Six connected patches: the main axis of each face normal would change at every facet.
    """
    axis = np.repeat(np.argmax(np.abs(unit[faces].mean(axis=1)), axis=1), 3)
    corners, normals = points[faces].reshape(-1, 3), unit[faces].reshape(-1, 3)
    x, y, z = corners.T
    uv = np.column_stack([np.where(axis == 0, y, x), np.where(axis == 2, y, z)]) / scale
    return build_mesh(corners, np.arange(len(corners)).reshape(-1, 3), uv, normals)


def _collisions(mesh: trimesh.Trimesh) -> tuple[Primitive, ...]:
    """Return a box and, on it, a sphere around the middle of what stands out of the box."""
    points = np.asarray(mesh.vertices)
    low, high = points.min(axis=0), points.max(axis=0)
    size = (high - low) * [0.8, 0.8, 0.86]
    middle = (low + high) / 2
    sphere = float(np.quantile(np.linalg.norm(points - middle, axis=1), 0.5))
    return (
        block((float(size[0]), float(size[1]), float(size[2])), middle),
        ball(min(sphere, float(high[2] - middle[2])), middle),
    )


def build(*, seed: int, variant: str = 'boulder_b') -> PropModel:
    """Build one boulder.

    Args:
        seed: Seed of shape and texture.
        variant: One of `VARIANTS`.

    Raises:
        OceanGymError: The variant is unknown.
    """
    if variant not in _VARIANTS:
        raise unknown_name('boulder', variant, _VARIANTS)
    shape = _VARIANTS[variant]
    mesh = rock_mesh(seed, variant)
    texture = tk.growth(
        tk.rock(seed + VARIANTS.index(variant), colour=shape.colour), seed, shape.growth
    )
    long, wide, tall = shape.size
    return PropModel(
        name=variant,
        parts=(Part(name='rock', mesh=mesh, texture=texture, acoustic='rock', roughness=0.95),),
        collisions=_collisions(mesh),
        attributes=PropAttributes(
            prop_class='boulder',
            label='BOULDER',
            structure=False,
            material='rock',
            colour='grey-brown',
            size=f'{long:g} x {wide:g} x {tall * (1 - shape.sink):.1f} m',
            markings='none',
            state='natural',
            description=f'A natural boulder, a {shape.form} with facets, a fissure and some growth.',
        ),
    )
