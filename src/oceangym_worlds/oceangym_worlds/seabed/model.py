"""Writes a seabed as the SDF model `terrain`: meshes by material, collision mesh, heightfield."""

from __future__ import annotations

from pathlib import Path
import shutil

import numpy as np
from PIL import Image

from oceangym_worlds.modelling.model import acoustic_sdf, texture_name, write_glb
from oceangym_worlds.seabed.mesh import collision_mesh, seabed_meshes
from oceangym_worlds.seabed.terrain import Seabed
from oceangym_worlds.seabed.textures import seabed_texture

_NAME = 'terrain'
_URI = f'model://{_NAME}'
_ACOUSTIC = {
    'sand': 'sand',
    'rippled_sand': 'sand',
    'silt': 'silt',
    'gravel': 'gravel',
    'rock': 'rock',
}


def write_seabed(seabed: Seabed, directory: Path, *, shipped: Path | None = None) -> Path:
    """Write ``directory/terrain/``.

    Args:
        seabed: What to write.
        directory: Of the models.
        shipped: A `terrain` written before, whose textures are copied: they are the same for all.

    Returns:
        The model's directory.
    """
    root = directory / _NAME
    meshes, textures = root / 'meshes', root / 'materials' / 'textures'
    meshes.mkdir(parents=True, exist_ok=True)
    textures.mkdir(parents=True, exist_ok=True)
    parts = seabed_meshes(seabed)
    for name, mesh in parts.items():
        write_glb(mesh, meshes / f'{name}.glb')
        picture = texture_name(_NAME, name)
        ready = None if shipped is None else shipped / 'materials' / 'textures' / picture
        if ready is not None and ready.is_file():
            shutil.copyfile(ready, textures / ready.name)
        else:
            Image.fromarray(seabed_texture(name, 0)).save(textures / picture, quality=92)
    write_glb(collision_mesh(seabed.heightfield), meshes / 'collision.glb')
    np.save(root / 'heightfield.npy', seabed.heightfield.z.astype(np.float32))
    (root / 'model.sdf').write_text(_sdf(seabed, list(parts)), encoding='utf-8')
    (root / 'model.config').write_text(_CONFIG, encoding='utf-8')
    return root


def _sdf(seabed: Seabed, materials: list[str]) -> str:
    heightfield = seabed.heightfield
    x0, y0 = heightfield.origin
    lines = [
        '<?xml version="1.0"?>',
        '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">',
        '  <model name="terrain">',
        '    <static>true</static>',
        '    <oceangym:heightfield>',
        f'      <uri>{_URI}/heightfield.npy</uri>',
        f'      <origin>{x0:g} {y0:g}</origin>',
        f'      <spacing>{heightfield.spacing:g}</spacing>',
        '    </oceangym:heightfield>',
        '    <link name="link">',
    ]
    for name in materials:
        acoustic = _ACOUSTIC[name]
        lines += [
            f'      <visual name="{name}">',
            f'        <geometry><mesh><uri>{_URI}/meshes/{name}.glb</uri></mesh></geometry>',
            '        <material>',
            '          <diffuse>1 1 1 1</diffuse>',
            '          <pbr><metal>',
            f'            <albedo_map>{_URI}/materials/textures/{texture_name(_NAME, name)}</albedo_map>',
            '            <metalness>0</metalness>',
            '            <roughness>0.95</roughness>',
            '          </metal></pbr>',
            '        </material>',
            *acoustic_sdf(acoustic),
            '      </visual>',
        ]
    lines += [
        '      <collision name="seabed">',
        f'        <geometry><mesh><uri>{_URI}/meshes/collision.glb</uri></mesh></geometry>',
        '      </collision>',
        '    </link>',
        '  </model>',
        '</sdf>',
        '',
    ]
    return '\n'.join(lines)


_CONFIG = """<?xml version="1.0"?>
<model>
  <name>terrain</name>
  <version>1.0</version>
  <sdf version="1.11">model.sdf</sdf>
  <author><name>OceanGym ROS 2 contributors</name></author>
  <description>Seabed: plains, dunes, rock outcrops, cliffs, a canyon and a trench.</description>
</model>
"""
