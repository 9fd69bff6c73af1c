"""Albedo of users' meshes: texture times factor, colours of vertices and faces, or one colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
import trimesh

from oceangym_core.world.textures import linear_to_srgb, rgb_picture, srgb_to_linear
from oceangym_worlds.modelling.mesh_files import MeshFileError

Array = NDArray[np.float64]

TEXTURE_LIMIT = 1024
# Most texels a side that one triangle takes of a texture made of vertex colours.
_LARGEST_BLOCK = 64
_GREY = (150, 150, 145)
# The picture that trimesh gives an OBJ file with texture coordinates and no material.
_FILLING = [(4, (100, 100, 100, 255))]


@dataclass(frozen=True, kw_only=True)
class Albedo:
    """The colours of a mesh.

    Attributes:
        mesh: The triangles that `uv` belongs to; corners are not shared where colours need it.
        texture: (H, W, 3) uint8 sRGB.
        uv: (V, 2) texture coordinates, v up.
        own: Whether the file itself gave colours.
    """

    mesh: trimesh.Trimesh
    texture: NDArray[np.uint8]
    uv: Array
    own: bool = True


def painted(mesh: trimesh.Trimesh, colour: tuple[int, int, int]) -> Albedo:
    """Return a mesh in one sRGB colour."""
    return Albedo(
        mesh=mesh,
        texture=np.full((8, 8, 3), colour, dtype=np.uint8),
        uv=np.zeros((len(mesh.vertices), 2)),
        own=False,
    )


def albedo_of(mesh: trimesh.Trimesh, *, linear: bool) -> Albedo:
    """Return the colours that a file gives a mesh.

    Args:
        mesh: As read.
        linear: Whether factors and colours of vertices are linear light (glTF 2.0, section 3.9.2)
            and not sRGB, as OBJ and PLY files have them.

    Raises:
        MeshFileError: A texture and colours of vertices are to be multiplied.
    """
    visual: Any = mesh.visual
    material = getattr(visual, 'material', None)
    factor = _factor(material, linear=linear)
    picture = getattr(material, 'baseColorTexture', None) or getattr(material, 'image', None)
    colours = _corner_colours(mesh, linear=linear)
    uv = getattr(visual, 'uv', None)
    if picture is not None and picture.size == (2, 2) and picture.getcolors() == _FILLING:
        picture = None
    if picture is not None:
        if uv is None:
            raise MeshFileError('has a textured part without texture coordinates')
        if colours is not None and colours.min() < 0.98:
            raise MeshFileError('has a texture and colours of vertices on one part; bake them')
        return Albedo(mesh=mesh, texture=_textured(picture, factor), uv=np.asarray(uv, float))
    if colours is not None:
        return _baked(mesh, colours * (1.0 if factor is None else factor))
    if factor is not None:
        red, green, blue = (int(v) for v in linear_to_srgb(factor))
        return Albedo(**{**vars(painted(mesh, (red, green, blue))), 'own': True})
    return painted(mesh, _GREY)


def _factor(material: object, *, linear: bool) -> Array | None:
    """Return the colour that multiplies a material's texture, linear (3,); None without one."""
    value = getattr(material, 'baseColorFactor', None)
    if value is not None:
        factor = np.asarray(value, dtype=float)[:3] / 255.0
    else:
        # An OBJ material as the file gives it: trimesh's own default is a grey.
        given = getattr(material, 'kwargs', {}).get('kd')
        if given is None:
            return None
        factor = np.clip(np.broadcast_to(np.asarray(given, dtype=float), 3), 0.0, 1.0)
    if not factor.any() and not linear:
        # Exporters write Kd 0 0 0 beside a texture that they mean to be seen.
        return np.ones(3)
    return factor if linear else srgb_to_linear(factor)


def _corner_colours(mesh: trimesh.Trimesh, *, linear: bool) -> Array | None:
    """Return linear colours of the triangles' corners (F, 3, 3); None where there are none."""
    visual: Any = mesh.visual
    if isinstance(visual, trimesh.visual.ColorVisuals):
        if visual.kind == 'face':
            colours = np.repeat(np.asarray(visual.face_colors)[:, None, :3], 3, axis=1)
        elif visual.kind == 'vertex':
            colours = np.asarray(visual.vertex_colors)[mesh.faces][..., :3]
        else:
            return None
    else:
        given = visual.vertex_attributes.get('color')
        if given is None:
            return None
        colours = np.asarray(trimesh.visual.to_rgba(given))[mesh.faces][..., :3]
    values = np.asarray(colours, dtype=float) / 255.0
    return values if linear else srgb_to_linear(values)


def _textured(picture: Image.Image, factor: Array | None) -> NDArray[np.uint8]:
    """Return a picture times a linear factor, at most `TEXTURE_LIMIT` texels a side."""
    shown = rgb_picture(picture)
    shown.thumbnail((TEXTURE_LIMIT, TEXTURE_LIMIT), Image.Resampling.LANCZOS)
    texels = np.asarray(shown)
    if factor is None or (factor > 0.995).all():
        return texels
    return linear_to_srgb(srgb_to_linear(texels / 255.0) * factor)


def _baked(mesh: trimesh.Trimesh, colours: Array) -> Albedo:
    """Return linear colours of corners (F, 3, 3) as a texture with one square a triangle.

    Squares of neighbouring triangles lie side by side (both in Morton order), because far away a
    texel of a coarser level covers several of them.
    """
    count = len(mesh.faces)
    side = 1 << max(0, int(np.ceil(np.log2(np.sqrt(count)))))
    block = int(np.clip(TEXTURE_LIMIT // side, 1, _LARGEST_BLOCK))
    place = np.empty((count, 2), dtype=np.int64)
    place[_morton_order(mesh.triangles_center)] = _morton_cells(count)
    # Texel centres run from corner 0 along both sides: colours are linear over the triangle.
    step = np.arange(block) / max(block - 1, 1)
    along, up = np.meshgrid(step, step)
    if block == 1:
        squares = colours.mean(axis=1)[:, None, None]
    else:
        first, second, third = (colours[:, i, None, None] for i in range(3))
        squares = first + along[..., None] * (second - first) + up[..., None] * (third - first)
    texture = np.broadcast_to(colours.mean(axis=(0, 1)), (side, block, side, block, 3)).copy()
    texture[place[:, 1], :, place[:, 0]] = np.clip(squares, 0.0, 1.0)
    size = side * block
    inset = 0.5 if block > 1 else 0.0
    corners = np.array([(inset, inset), (block - inset, inset), (inset, block - inset)])
    corners = corners if block > 1 else np.full((3, 2), 0.5)
    uv = (place[:, None] * block + corners) / size
    uv[..., 1] = 1.0 - uv[..., 1]
    split = trimesh.Trimesh(
        vertices=np.asarray(mesh.triangles).reshape(-1, 3),
        faces=np.arange(3 * count).reshape(-1, 3),
        vertex_normals=np.asarray(mesh.vertex_normals)[mesh.faces].reshape(-1, 3),
        process=False,
    )
    return Albedo(
        mesh=split, texture=linear_to_srgb(texture).reshape(size, size, 3), uv=uv.reshape(-1, 2)
    )


def _morton_order(points: Array) -> NDArray[np.int64]:
    """Return the order of points (N, 3) along a Z-shaped curve through their box."""
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    cell = np.minimum((points - low) / np.maximum(extent.max(), 1e-9) * 1024, 1023).astype(int)
    code = np.zeros(len(points), dtype=np.int64)
    for bit in range(10):
        for axis in range(3):
            code |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    return np.argsort(code, kind='stable')


def _morton_cells(count: int) -> NDArray[np.int64]:
    """Return the first cells (count, 2) of a square grid along a Z-shaped curve."""
    number = np.arange(count, dtype=np.int64)
    cells = np.zeros((count, 2), dtype=np.int64)
    for bit in range(12):
        for axis in range(2):
            cells[:, axis] |= ((number >> (2 * bit + axis)) & 1) << bit
    return cells
