"""Turns a user's mesh file into a prop: upright, on the seabed, with collision and material."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import ImageColor
import trimesh

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose, quaternion_from_matrix
from oceangym_core.world.world import check_finite
from oceangym_worlds.modelling.mesh_colours import Albedo, albedo_of, painted
from oceangym_worlds.modelling.mesh_files import MeshFileError, read_mesh_file
from oceangym_worlds.modelling.model import Part, Primitive, PropAttributes, PropModel
from oceangym_worlds.plan.config import MESH_SUFFIXES, PropConfig

Array = NDArray[np.float64]

MAX_MESH_BYTES = 64_000_000
MAX_FACES = 500_000
_GLTF = ('.glb', '.gltf')  # section 3.4 of glTF 2.0: +y is up


def build_user_prop(config: PropConfig) -> PropModel:
    """Build the model of a prop that is given as a mesh file.

    The mesh is scaled, turned z up if its y axis is up, and moved so that the centre of its footprint
    is the origin and its lowest point lies on the seabed. Its oriented bounding box is the collision.

    Raises:
        OceanGymError: Naming the file.
    """
    assert config.mesh is not None
    path = Path(config.mesh)
    meshes = _load(path, config)
    up = config.up or ('y' if path.suffix.lower() in _GLTF else 'z')
    for mesh in meshes:
        if up == 'y':
            mesh.apply_transform(trimesh.transformations.rotation_matrix(np.pi / 2, [1, 0, 0]))
        mesh.apply_scale(config.scale)
    points = np.concatenate([m.vertices for m in meshes])
    low, high = points.min(axis=0), points.max(axis=0)
    shift = -np.array([(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, low[2]])
    for mesh in meshes:
        mesh.apply_translation(shift)
    extent = high - low
    albedos = [_albedo(config, mesh) for mesh in meshes]
    parts = tuple(_part(config, i, albedo) for i, albedo in enumerate(albedos))
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
            colour=config.colour or ('as textured' if any(a.own for a in albedos) else 'grey'),
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
        meshes = read_mesh_file(path, textured=config.colour is None)
    except MeshFileError as error:
        raise OceanGymError(f'{where}: {error}') from error
    except Exception as error:
        # trimesh has no common base class for what its many readers raise.
        raise OceanGymError(f'{where}: cannot be read: {" ".join(str(error).split())}') from error
    faces = sum(len(m.faces) for m in meshes)
    if not meshes:
        raise OceanGymError(f'{where}: holds no triangles')
    if faces > MAX_FACES:
        raise OceanGymError(
            f'{where}: {faces} triangles are more than the {MAX_FACES} allowed; decimate it'
        )
    for mesh in meshes:
        check_finite(mesh, where)
    extent = np.ptp(np.concatenate([m.vertices for m in meshes]), axis=0) * config.scale
    if not 0.05 <= extent.max() <= 200.0:
        raise OceanGymError(
            f'{where}: its longest side is {extent.max():.3g} m with scale {config.scale:g}; '
            'a prop is 0.05 to 200 m long: set scale (e.g. 0.001 for a file in millimetres)'
        )
    return [m.copy() for m in meshes]


def _albedo(config: PropConfig, mesh: trimesh.Trimesh) -> Albedo:
    if config.colour is not None:
        return painted(mesh, _colour(config))
    try:
        return albedo_of(mesh, linear=Path(config.mesh or '').suffix.lower() in _GLTF)
    except MeshFileError as error:
        raise OceanGymError(f'mesh of prop {config.name!r}: {config.mesh}: {error}') from error


def _part(config: PropConfig, index: int, albedo: Albedo) -> Part:
    mesh = albedo.mesh
    plain = trimesh.Trimesh(
        mesh.vertices, mesh.faces, vertex_normals=_finite_normals(mesh), process=False
    )
    plain.visual = trimesh.visual.TextureVisuals(uv=albedo.uv)
    return Part(
        name=f'part_{index + 1}', mesh=plain, texture=albedo.texture, acoustic=config.material
    )


def _finite_normals(mesh: trimesh.Trimesh) -> Array:
    """Return the vertex normals (V, 3), upwards where a file gives none that are numbers."""
    normals = np.array(mesh.vertex_normals, dtype=float)
    normals[~np.isfinite(normals).all(axis=1)] = (0.0, 0.0, 1.0)
    return normals


def _colour(config: PropConfig) -> tuple[int, int, int]:
    try:
        red, green, blue = ImageColor.getrgb(config.colour or '')[:3]
    except ValueError as error:
        raise OceanGymError(
            f'prop {config.name!r}: colour: {config.colour!r} is not a colour; '
            'give a name such as orange, or #rrggbb'
        ) from error
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
