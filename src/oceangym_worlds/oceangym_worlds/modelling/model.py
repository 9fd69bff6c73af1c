"""A prop as built in memory, and how it is written as an SDF model."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import numpy as np
from numpy.typing import NDArray
from PIL import Image
import trimesh

from oceangym_core.errors import unknown_name
from oceangym_core.geometry import euler_from_quaternion, Pose
from oceangym_core.world.sdf import RETRO_SCALE

# Surface backscatter strength [dB] relative to a perfect Lambert scatterer. Order of magnitude after
# the ranges in Urick, Principles of Underwater Sound (3rd ed. 1983), ch. 8-9, for hundreds of kHz.
ACOUSTIC_STRENGTH_DB: dict[str, float] = {
    'steel': -6.0,
    'aluminium': -7.0,
    'concrete': -10.0,
    'rock': -12.0,
    'wood': -16.0,
    'gravel': -15.0,
    'sand': -22.0,
    'silt': -28.0,
    'plastic': -18.0,
    'vegetation': -25.0,
}


@dataclass(frozen=True, kw_only=True)
class Part:
    """One visual of a prop.

    Attributes:
        name: Unique in the prop; names the mesh and texture files.
        mesh: In the model frame, with UV in ``mesh.visual.uv`` (N, 2) and vertex normals.
        texture: (H, W, 3) uint8 sRGB albedo.
        acoustic: Key of `ACOUSTIC_STRENGTH_DB`.
        metalness, roughness: PBR factors 0..1.
    """

    name: str
    mesh: trimesh.Trimesh
    texture: NDArray[np.uint8]
    acoustic: str
    metalness: float = 0.0
    roughness: float = 0.9


@dataclass(frozen=True, kw_only=True)
class Primitive:
    """One collision primitive in the model frame.

    `shape` is box (size x, y, z), sphere (radius), cylinder or capsule (radius, length along z).
    """

    shape: str
    size: tuple[float, ...]
    pose: Pose = field(default_factory=Pose)


@dataclass(frozen=True, kw_only=True)
class PropAttributes:
    """The checked description of a prop; `prop_class` and texts are what a judge would accept."""

    prop_class: str
    label: str
    structure: bool
    material: str
    colour: str
    size: str
    markings: str
    state: str
    description: str


@dataclass(frozen=True, kw_only=True)
class PropModel:
    """A complete prop: z up, x along the longest side, origin on the seabed."""

    name: str
    parts: tuple[Part, ...]
    collisions: tuple[Primitive, ...]
    attributes: PropAttributes


def texture_name(model: str, part: str) -> str:
    """Return a texture's file name.

    It names the model, too: Gazebo's renderer knows a texture by its file name alone, and would
    give all models the first ``steel.jpg`` that it meets.
    """
    return f'{model}_{part}.jpg'


def write_model(prop: PropModel, directory: Path) -> Path:
    """Write `prop` as ``directory/<name>/`` (model.sdf, model.config, meshes, textures).

    Returns:
        The model's directory.

    Raises:
        OceanGymError: A part names an unknown acoustic material.
    """
    root = directory / prop.name
    meshes, textures = root / 'meshes', root / 'materials' / 'textures'
    meshes.mkdir(parents=True, exist_ok=True)
    textures.mkdir(parents=True, exist_ok=True)
    for part in prop.parts:
        write_glb(part.mesh, meshes / f'{part.name}.glb')
        Image.fromarray(part.texture).save(
            textures / texture_name(prop.name, part.name), quality=92
        )
    (root / 'model.sdf').write_text(_model_sdf(prop), encoding='utf-8')
    (root / 'model.config').write_text(_model_config(prop), encoding='utf-8')
    return root


def write_glb(mesh: trimesh.Trimesh, path: Path) -> None:
    """Write geometry, normals and UV as GLB, without the texture."""
    uv = getattr(mesh.visual, 'uv', None)
    plain = trimesh.Trimesh(
        vertices=mesh.vertices,
        faces=mesh.faces,
        vertex_normals=mesh.vertex_normals,
        process=False,
    )
    if uv is not None:
        plain.visual = trimesh.visual.TextureVisuals(uv=np.asarray(uv))
    path.write_bytes(trimesh.exchange.gltf.export_glb(plain, include_normals=True))


def _model_sdf(prop: PropModel) -> str:
    a = prop.attributes
    lines = [
        '<?xml version="1.0"?>',
        '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">',
        f'  <model name="{prop.name}">',
        '    <static>true</static>',
        f'    <oceangym:prop class={quoteattr(a.prop_class)} label={quoteattr(a.label)}'
        f' structure="{str(a.structure).lower()}" material={quoteattr(a.material)}'
        f' colour={quoteattr(a.colour)} size={quoteattr(a.size)}'
        f' markings={quoteattr(a.markings)} state={quoteattr(a.state)}>',
        f'      <oceangym:description>{escape(a.description)}</oceangym:description>',
        '    </oceangym:prop>',
        '    <link name="link">',
    ]
    for part in prop.parts:
        lines += _visual_sdf(prop.name, part)
    for index, primitive in enumerate(prop.collisions):
        lines += _collision_sdf(index, primitive)
    lines += ['    </link>', '  </model>', '</sdf>', '']
    return '\n'.join(lines)


def _visual_sdf(model: str, part: Part) -> list[str]:
    if part.acoustic not in ACOUSTIC_STRENGTH_DB:
        raise unknown_name('acoustic material', part.acoustic, ACOUSTIC_STRENGTH_DB)
    uri = f'model://{model}'
    return [
        f'      <visual name="{part.name}">',
        f'        <geometry><mesh><uri>{uri}/meshes/{part.name}.glb</uri></mesh></geometry>',
        '        <material>',
        '          <diffuse>1 1 1 1</diffuse>',
        '          <pbr><metal>',
        f'            <albedo_map>{uri}/materials/textures/{texture_name(model, part.name)}</albedo_map>',
        f'            <metalness>{part.metalness:g}</metalness>',
        f'            <roughness>{part.roughness:g}</roughness>',
        '          </metal></pbr>',
        '        </material>',
        *acoustic_sdf(part.acoustic),
        '      </visual>',
    ]


def acoustic_sdf(material: str) -> list[str]:
    """Return what says how a visual scatters sound, to us and to Gazebo's lidars."""
    strength_db = ACOUSTIC_STRENGTH_DB[material]
    return [
        f'        <laser_retro>{RETRO_SCALE * 10 ** (strength_db / 10):.4g}</laser_retro>',
        f'        <oceangym:acoustic material="{material}" strength_db="{strength_db:g}"/>',
    ]


def pose_text(pose: Pose) -> str:
    """Return a pose as SDF writes it: x y z roll pitch yaw, micrometres and microradians."""
    values = (*pose.position, *euler_from_quaternion(pose.quaternion))
    return ' '.join(f'{round(v, 6) + 0.0:g}' if abs(v) < 1e3 else f'{v:.6f}' for v in values)


_GEOMETRY = {
    'box': '<box><size>{0:g} {1:g} {2:g}</size></box>',
    'sphere': '<sphere><radius>{0:g}</radius></sphere>',
    'cylinder': '<cylinder><radius>{0:g}</radius><length>{1:g}</length></cylinder>',
    'capsule': '<capsule><radius>{0:g}</radius><length>{1:g}</length></capsule>',
}


def _collision_sdf(index: int, primitive: Primitive) -> list[str]:
    if primitive.shape not in _GEOMETRY:
        raise unknown_name('collision primitive', primitive.shape, _GEOMETRY)
    return [
        f'      <collision name="collision_{index}">',
        f'        <pose>{pose_text(primitive.pose)}</pose>',
        f'        <geometry>{_GEOMETRY[primitive.shape].format(*primitive.size)}</geometry>',
        '      </collision>',
    ]


def _model_config(prop: PropModel) -> str:
    return '\n'.join(
        [
            '<?xml version="1.0"?>',
            '<model>',
            f'  <name>{prop.name}</name>',
            '  <version>1.0</version>',
            '  <sdf version="1.11">model.sdf</sdf>',
            '  <author><name>OceanGym ROS 2 contributors</name></author>',
            f'  <description>{escape(prop.attributes.description)}</description>',
            '</model>',
            '',
        ]
    )
