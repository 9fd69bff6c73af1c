"""Packs a world's textures into one texel buffer with mip levels, and its triangles into one table.

One buffer and one mesh need no virtual call per material: a hit is one BVH query and a few gathers,
whatever the number of props.
"""

from __future__ import annotations

from dataclasses import dataclass, field
import math
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image
import trimesh

from oceangym_core.errors import OceanGymError
from oceangym_core.world.sdf import Visual
from oceangym_core.world.textures import linear_to_srgb, rgb_picture, srgb_to_linear
from oceangym_core.world.world import load_visual_mesh, World

MAX_TEXTURE = 2048


@dataclass(frozen=True, kw_only=True)
class Texture:
    """Where a texture lies in the texel buffer: `offset` [texels], power-of-two size, mip levels."""

    offset: int
    width: int
    height: int
    levels: int


class TextureAtlas:
    """Collects textures as packed sRGB texels (R | G << 8 | B << 16), each with its mip pyramid."""

    def __init__(self) -> None:
        self._chunks: list[NDArray[np.uint32]] = []
        self._size = 0
        self._known: dict[Path | None, Texture] = {}

    def add(self, path: Path | None) -> Texture:
        """Return a file's place in the buffer, reading it the first time (None: a white texel).

        Raises:
            OceanGymError: The file is not an image.
        """
        if path not in self._known:
            self._known[path] = self._pack(_read_image(path))
        return self._known[path]

    def texels(self) -> NDArray[np.uint32]:
        """Return the whole buffer, (N,)."""
        return np.concatenate(self._chunks)

    def _pack(self, image: NDArray[np.uint8]) -> Texture:
        height, width = image.shape[:2]
        levels = int(math.log2(min(width, height))) + 1
        offset = self._size
        linear = _SRGB_TO_LINEAR[image]
        for level in range(levels):
            if level:
                linear = 0.25 * (
                    linear[0::2, 0::2]
                    + linear[1::2, 0::2]
                    + linear[0::2, 1::2]
                    + linear[1::2, 1::2]
                )
            texels = image if level == 0 else _linear_to_srgb(linear)
            channels = texels.astype(np.uint32)
            packed = np.asarray(
                channels[..., 0]
                | np.left_shift(channels[..., 1], np.uint32(8))
                | np.left_shift(channels[..., 2], np.uint32(16)),
                dtype=np.uint32,
            ).ravel()
            self._chunks.append(packed)
            self._size += packed.size
        return Texture(offset=offset, width=width, height=height, levels=levels)


_SRGB_TO_LINEAR = srgb_to_linear(np.arange(256) / 255.0).astype(np.float32)
_LINEAR_STEPS = 4096
_LINEAR_TO_SRGB = linear_to_srgb(np.arange(_LINEAR_STEPS) / (_LINEAR_STEPS - 1))


def _linear_to_srgb(linear: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return linear 0..1 as sRGB bytes (IEC 61966-2-1) by table."""
    encoded: NDArray[np.uint8] = _LINEAR_TO_SRGB[
        (linear * (_LINEAR_STEPS - 1) + 0.5).astype(np.int32)
    ]
    return encoded


def _read_image(path: Path | None) -> NDArray[np.uint8]:
    if path is None:
        return np.full((1, 1, 3), 255, np.uint8)
    try:
        with Image.open(path) as opened:
            image = rgb_picture(opened)
    except Exception as error:
        # Pillow has no common class for what its many readers raise on damaged files.
        raise OceanGymError(f'{path}: cannot be read as a texture: {error}') from error
    size = tuple(min(MAX_TEXTURE, 1 << round(math.log2(max(1, n)))) for n in image.size)
    if size != image.size:
        image = image.resize((size[0], size[1]), Image.Resampling.LANCZOS)
    return np.asarray(image, dtype=np.uint8)


@dataclass(frozen=True, kw_only=True)
class Geometry:
    """A world's triangles, all in map.

    Attributes:
        vertices: (V, 3) float32 [m].
        faces: (F, 3) uint32.
        uv: (F, 3, 2) float32 texture coordinates of the corners (v up).
        normals: (F, 4, 3) float32 unit normals of the three corners and of the face.
        density: (F,) float32 log2 of texels per metre.
        instance: (F,) uint32 index into the world's instances.
        material: (F,) uint32 index into the material table.
        materials: (M, 8) float32: texture offset (bits), width, height, levels, linear RGB tint,
            acoustic strength (linear power).
        texels: (N,) uint32 packed texels.
    """

    vertices: NDArray[np.float32]
    faces: NDArray[np.uint32]
    uv: NDArray[np.float32]
    normals: NDArray[np.float32]
    density: NDArray[np.float32]
    instance: NDArray[np.uint32]
    material: NDArray[np.uint32]
    materials: NDArray[np.float32]
    texels: NDArray[np.uint32]


@dataclass(kw_only=True)
class _Part:
    """A visual in its model frame, ready to be placed."""

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64]
    uv: NDArray[np.float32]
    normals: NDArray[np.float64]
    density: NDArray[np.float32]
    material: int


@dataclass(kw_only=True)
class _Builder:
    atlas: TextureAtlas = field(default_factory=TextureAtlas)
    materials: list[list[float]] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)

    def part(self, visual: Visual) -> _Part | None:
        mesh = load_visual_mesh(visual)
        texture = self.atlas.add(visual.albedo_map)
        corners = np.asarray(mesh.vertices, dtype=float)[mesh.faces]
        cross = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        length = np.linalg.norm(cross, axis=1)
        keep = length > 1e-12
        if not keep.any():
            return None
        faces = np.asarray(mesh.faces)[keep]
        cross, length = cross[keep], length[keep]
        face_normals = cross / length[:, None]
        uv = _corner_uv(mesh, faces)
        side_a, side_b = uv[:, 1] - uv[:, 0], uv[:, 2] - uv[:, 0]
        uv_area = np.abs(side_a[:, 0] * side_b[:, 1] - side_a[:, 1] * side_b[:, 0])
        texel_area = uv_area * texture.width * texture.height
        density = 0.5 * np.log2(np.maximum(texel_area, 1e-12) / length)
        flat = visual.shape is not None and visual.shape.kind in ('box', 'cylinder')
        normals = np.empty((len(faces), 4, 3))
        normals[:, :3] = face_normals[:, None] if flat else np.asarray(mesh.vertex_normals)[faces]
        normals[:, 3] = face_normals
        self.offsets.append(texture.offset)
        self.materials.append(
            [
                0.0,
                texture.width,
                texture.height,
                texture.levels,
                *visual.diffuse,
                10.0 ** (visual.strength_db / 10.0),
            ]
        )
        return _Part(
            vertices=np.asarray(mesh.vertices, dtype=float),
            faces=faces,
            uv=uv,
            normals=normals,
            density=density.astype(np.float32),
            material=len(self.materials) - 1,
        )


def _corner_uv(mesh: trimesh.Trimesh, faces: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the texture coordinates of each face's corners, (F, 3, 2); zero where it has none."""
    uv = getattr(mesh.visual, 'uv', None)
    if uv is None or len(uv) != len(mesh.vertices):
        return np.zeros((len(faces), 3, 2), np.float32)
    corners = np.asarray(uv, dtype=np.float32)[faces]
    # Whole repeats carry no information, but cost float32 precision far from the origin.
    moved: NDArray[np.float32] = corners - np.floor(corners.min(axis=1, keepdims=True))
    return moved


def build_geometry(world: World) -> Geometry:
    """Place every visual of every instance of a world in the map.

    Raises:
        OceanGymError: A mesh or texture cannot be read, or there is nothing to see.
    """
    builder = _Builder()
    parts: dict[Path, list[_Part]] = {}
    placed: dict[str, list[NDArray[np.generic]]] = {
        name: []
        for name in ('vertices', 'faces', 'uv', 'normals', 'density', 'instance', 'material')
    }
    count = 0
    for index, instance in enumerate(world.instances):
        model = instance.model
        if model.path not in parts:
            read = (builder.part(visual) for visual in model.visuals)
            parts[model.path] = [part for part in read if part is not None]
        rotation = instance.pose.rotation
        for part in parts[model.path]:
            faces = len(part.faces)
            placed['vertices'].append(instance.pose.apply(part.vertices).astype(np.float32))
            placed['faces'].append((part.faces + count).astype(np.uint32))
            placed['uv'].append(part.uv)
            placed['normals'].append((part.normals @ rotation.T).astype(np.float32))
            placed['density'].append(part.density)
            placed['instance'].append(np.full(faces, index, np.uint32))
            placed['material'].append(np.full(faces, part.material, np.uint32))
            count += len(part.vertices)
    if count == 0:
        raise OceanGymError(f'{world.path}: holds no visible geometry.')
    materials = np.asarray(builder.materials, dtype=np.float32)
    materials[:, 0] = np.asarray(builder.offsets, dtype=np.uint32).view(np.float32)
    joined = {name: np.concatenate(arrays) for name, arrays in placed.items()}
    return Geometry(materials=materials, texels=builder.atlas.texels(), **joined)
