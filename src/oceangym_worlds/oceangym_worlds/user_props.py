"""Turns a user's mesh file into a prop: upright, on the seabed, with collision and material."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor
import trimesh

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose, quaternion_from_matrix
from oceangym_worlds.config import MESH_SUFFIXES, PropConfig
from oceangym_worlds.model import Part, Primitive, PropAttributes, PropModel

Array = NDArray[np.float64]

MAX_MESH_BYTES = 64_000_000
MAX_FACES = 500_000
_Y_UP = ('.glb', '.gltf')  # glTF 2.0 specification, section 3.4: +y is up
_TEXTURE_LIMIT = 1024


def build_user_prop(config: PropConfig) -> PropModel:
    """Build the model of a prop that is given as a mesh file.

    The mesh is scaled, turned z up if it is glTF, and moved so that the centre of its footprint is
    the origin and its lowest point lies on the seabed. Its oriented bounding box is the collision.

    Raises:
        OceanGymError: Naming the file.
    """
    assert config.mesh is not None
    path = Path(config.mesh)
    meshes = _load(path, config)
    for mesh in meshes:
        if path.suffix.lower() in _Y_UP:
            mesh.apply_transform(trimesh.transformations.rotation_matrix(np.pi / 2, [1, 0, 0]))
        mesh.apply_scale(config.scale)
    points = np.concatenate([m.vertices for m in meshes])
    low, high = points.min(axis=0), points.max(axis=0)
    shift = -np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
    for mesh in meshes:
        mesh.apply_translation(shift)
    extent = high - low
    parts = tuple(_part(config, i, mesh) for i, mesh in enumerate(meshes))
    size = config.size or ' x '.join(f'{v:.1f}' for v in sorted(extent, reverse=True)) + ' m'
    label = config.label or config.name.replace('_', ' ').upper()
    return PropModel(
        name=config.name,
        parts=parts,
        collisions=(_box(points + shift),),
        attributes=PropAttributes(
            prop_class=config.prop_class or config.name,
            label=label,
            structure=config.structure,
            material=config.material,
            colour=config.colour or 'as textured',
            size=size,
            markings=config.markings,
            state=config.state or 'as placed',
            description=config.description or f'{label.capitalize()}, {size}.',
        ),
    )


def _load(path: Path, config: PropConfig) -> list[trimesh.Trimesh]:
    where = f'mesh of prop {config.name!r}: {path}'
    if path.suffix.lower() not in MESH_SUFFIXES:
        raise OceanGymError(f'{where}: {path.suffix!r} is not one of {", ".join(MESH_SUFFIXES)}')
    try:
        size = path.stat().st_size
    except OSError as error:
        raise OceanGymError(f'{where}: {error.strerror or error}') from error
    if size > MAX_MESH_BYTES:
        raise OceanGymError(f'{where}: {size} bytes is more than the {MAX_MESH_BYTES} allowed')
    try:
        scene: Any = trimesh.load(path, process=False)
        loaded = scene.dump() if isinstance(scene, trimesh.Scene) else [scene]
    except Exception as error:
        # trimesh has no common base class for what its many readers raise.
        raise OceanGymError(f'{where}: cannot be read: {" ".join(str(error).split())}') from error
    meshes = [m for m in loaded if isinstance(m, trimesh.Trimesh) and len(m.faces)]
    faces = sum(len(m.faces) for m in meshes)
    if not meshes:
        raise OceanGymError(f'{where}: holds no triangles')
    if faces > MAX_FACES:
        raise OceanGymError(
            f'{where}: {faces} triangles are more than the {MAX_FACES} allowed; decimate it'
        )
    if not all(np.isfinite(m.vertices).all() for m in meshes):
        raise OceanGymError(f'{where}: has vertices that are not finite numbers')
    extent = np.ptp(np.concatenate([m.vertices for m in meshes]), axis=0) * config.scale
    if not 0.05 <= extent.max() <= 200.0:
        raise OceanGymError(
            f'{where}: its longest side is {extent.max():.3g} m with scale {config.scale:g}; '
            'a prop is 0.05 to 200 m long: set scale (e.g. 0.001 for a file in millimetres)'
        )
    return [m.copy() for m in meshes]


def _part(config: PropConfig, index: int, mesh: trimesh.Trimesh) -> Part:
    image = None if config.colour else _image(mesh)
    uv = getattr(mesh.visual, 'uv', None)
    if image is None or uv is None:
        image = np.full((8, 8, 3), _colour(config, mesh), dtype=np.uint8)
        uv = np.zeros((len(mesh.vertices), 2))
    plain = trimesh.Trimesh(
        mesh.vertices, mesh.faces, vertex_normals=mesh.vertex_normals, process=False
    )
    plain.visual = trimesh.visual.TextureVisuals(uv=np.asarray(uv))
    return Part(name=f'part_{index + 1}', mesh=plain, texture=image, acoustic=config.material)


def _image(mesh: trimesh.Trimesh) -> NDArray[np.uint8] | None:
    """Return the albedo image of a mesh, at most `_TEXTURE_LIMIT` pixels a side."""
    material = getattr(mesh.visual, 'material', None)
    image = getattr(material, 'baseColorTexture', None) or getattr(material, 'image', None)
    if image is None:
        return None
    picture = image.convert('RGB')
    picture.thumbnail((_TEXTURE_LIMIT, _TEXTURE_LIMIT), Image.Resampling.LANCZOS)
    return np.asarray(picture)


def _colour(config: PropConfig, mesh: trimesh.Trimesh) -> tuple[int, int, int]:
    if config.colour is not None:
        try:
            red, green, blue = ImageColor.getrgb(config.colour)[:3]
        except ValueError as error:
            raise OceanGymError(
                f'prop {config.name!r}: colour: {config.colour!r} is not a colour; '
                'give a name such as orange, or #rrggbb'
            ) from error
        return red, green, blue
    main = getattr(getattr(mesh.visual, 'material', None), 'main_color', None)
    if main is None:
        return 150, 150, 145
    red, green, blue = (int(v) for v in np.asarray(main)[:3])
    return red, green, blue


def _box(points: Array) -> Primitive:
    """Return the oriented bounding box of points (N, 3), at least 2 cm thick."""
    low, high = points.min(axis=0), points.max(axis=0)
    if (high - low).min() < 0.02:
        # Qhull refuses flat hulls: their upright box serves.
        pose, extents = Pose.of((low + high) / 2.0), high - low
    else:
        to_box, extents = trimesh.bounds.oriented_bounds(points)
        frame = np.linalg.inv(to_box)
        pose = Pose.of(frame[:3, 3], quaternion_from_matrix(frame[:3, :3]))
    x, y, z = (float(max(v, 0.02)) for v in extents)
    return Primitive(shape='box', size=(x, y, z), pose=pose)
