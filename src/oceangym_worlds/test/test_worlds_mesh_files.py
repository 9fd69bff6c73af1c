"""Users' mesh files: colours and textures as the file has them, everything else refused by name."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image
import pytest
import trimesh

from oceangym_core.errors import OceanGymError
from oceangym_worlds.modelling.model import PropModel
from oceangym_worlds.plan.config import PropConfig
from oceangym_worlds.user_props import build_user_prop

# Two triangles of a square of 2 m, in the x-z plane of an OBJ file.
SQUARE = 'v 0 0 0\nv 2 0 0\nv 2 0 2\nv 0 0 2\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\n'
FACES = 'f 1/1 2/2 3/3\nf 1/1 3/3 4/4\n'
BROWN = (150, 90, 30)


def built(path: Path, **settings: Any) -> PropModel:
    return build_user_prop(PropConfig(name='thing', mesh=str(path), position=(0, 0), **settings))


def picture(mode: str = 'RGB', colour: Any = BROWN) -> bytes:
    stream = io.BytesIO()
    Image.new(mode, (8, 8), colour).save(stream, 'TIFF' if mode == 'CMYK' else 'PNG')
    return stream.getvalue()


def obj(folder: Path, library: str, texture: bytes | None = None, name: str = 'wood.png') -> Path:
    folder.mkdir(exist_ok=True)
    (folder / 'thing.mtl').write_bytes(library.encode('latin-1'))
    if texture is not None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(texture)
    path = folder / 'thing.obj'
    path.write_text(f'mtllib thing.mtl\n{SQUARE}usemtl planks\n{FACES}')
    return path


def shown(prop: PropModel) -> np.ndarray:
    """Return the mean sRGB colour of a prop's only texture."""
    (part,) = prop.parts
    return part.texture.reshape(-1, 3).mean(axis=0)


def gltf(folder: Path, **changes: Any) -> Path:
    """Write a textured square as glTF, with keys of its header replaced."""
    points = np.array([[0, 0, 0], [2, 0, 0], [2, 2, 0], [0, 2, 0]], np.float32)
    uv = np.array([[0, 1], [1, 1], [1, 0], [0, 0]], np.float32)
    faces = np.array([0, 1, 2, 0, 2, 3], np.uint16)
    data = points.tobytes() + uv.tobytes() + faces.tobytes() + bytes(4)
    sizes = (points.nbytes, uv.nbytes, faces.nbytes)
    starts = np.cumsum([0, *sizes])
    header: dict[str, Any] = {
        'asset': {'version': '2.0'},
        'scenes': [{'nodes': [0]}],
        'nodes': [{'mesh': 0}],
        'meshes': [
            {
                'primitives': [
                    {'attributes': {'POSITION': 0, 'TEXCOORD_0': 1}, 'indices': 2, 'material': 0}
                ]
            }
        ],
        'materials': [{'pbrMetallicRoughness': {'baseColorTexture': {'index': 0}}}],
        'textures': [{'source': 0}],
        'images': [{'uri': 'data:image/png;base64,' + base64.b64encode(picture()).decode()}],
        'buffers': [
            {
                'uri': 'data:application/octet-stream;base64,' + base64.b64encode(data).decode(),
                'byteLength': len(data),
            }
        ],
        'bufferViews': [
            {'buffer': 0, 'byteOffset': int(a), 'byteLength': n}
            for a, n in zip(starts, sizes, strict=False)
        ],
        'accessors': [
            {'bufferView': 0, 'componentType': 5126, 'count': 4, 'type': 'VEC3'},
            {'bufferView': 1, 'componentType': 5126, 'count': 4, 'type': 'VEC2'},
            {'bufferView': 2, 'componentType': 5123, 'count': 6, 'type': 'SCALAR'},
        ],
    }
    folder.mkdir(exist_ok=True)
    path = folder / 'thing.gltf'
    path.write_text(json.dumps({**header, **changes}))
    return path


@pytest.mark.parametrize('number', ['nan', 'inf', '-inf'])
def test_coordinates_that_are_no_numbers_are_refused_before_they_reach_the_renderer(
    number: str, tmp_path: Path
) -> None:
    path = tmp_path / 'thing.obj'
    path.write_text(SQUARE.replace('vt 1 1', f'vt {number} {number}') + FACES)
    with pytest.raises(OceanGymError, match=r'thing\.obj: has texture coordinates that are not'):
        built(path, colour='red')


@pytest.mark.parametrize('suffix', ['ply', 'glb', 'obj'])
def test_colours_of_vertices_lie_on_the_triangles_as_the_file_has_them(
    suffix: str, tmp_path: Path
) -> None:
    ball = trimesh.creation.icosphere(subdivisions=2, radius=1.0)
    share = (ball.vertices[:, 2:] + 1.0) / 2.0
    colours = np.round(share * (200, 120, 40) + (1 - share) * (20, 60, 220)).astype(np.uint8)
    ball.visual = trimesh.visual.ColorVisuals(ball, vertex_colors=colours)
    path = tmp_path / f'thing.{suffix}'
    ball.export(path)
    prop = built(path, up='z')
    (part,) = prop.parts
    height, width, _ = part.texture.shape
    uv = part.mesh.visual.uv
    column = np.clip((uv[:, 0] * width).astype(int), 0, width - 1)
    row = np.clip(((1 - uv[:, 1]) * height).astype(int), 0, height - 1)
    there = part.texture[row, column].astype(float)
    up = (part.mesh.vertices[:, 2:] / 2.0).clip(0, 1)
    if suffix == 'glb':
        # COLOR_0 is linear light (glTF 2.0, 3.7.2.1), which the texture holds as sRGB.
        linear = (up * (200, 120, 40) + (1 - up) * (20, 60, 220)) / 255.0
        wanted = 255.0 * np.where(
            linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055
        )
    else:
        wanted = up * (200, 120, 40) + (1 - up) * (20, 60, 220)
    assert np.abs(there - wanted).max() < 4.0
    assert prop.attributes.colour == 'as textured'


@pytest.mark.parametrize(
    ('mode', 'colour', 'wanted'),
    [
        ('RGB', BROWN, BROWN),
        ('RGBA', (*BROWN, 0), BROWN),
        ('L', 100, (100, 100, 100)),
        ('LA', (100, 7), (100, 100, 100)),
        ('1', 1, (255, 255, 255)),
        ('I;16', 100 * 257, (100, 100, 100)),
        ('P', 0, None),
        ('CMYK', (0, 255, 255, 0), (255, 0, 0)),
    ],
)
def test_a_texture_of_any_depth_and_mode_keeps_its_colour(
    mode: str, colour: Any, wanted: Any, tmp_path: Path
) -> None:
    texture = picture(mode, colour)
    if mode == 'P':
        stream = io.BytesIO()
        Image.new('RGB', (8, 8), BROWN).quantize(4).save(stream, 'PNG')
        texture, wanted = stream.getvalue(), BROWN
    path = obj(tmp_path, 'newmtl planks\nKd 1 1 1\nmap_Kd wood.png\n', texture)
    assert np.abs(shown(built(path)) - wanted).max() <= 1.0


@pytest.mark.parametrize(
    ('line', 'file'),
    [
        ('map_Kd textures\\Wood.PNG', 'textures/wood.png'),
        ('map_Kd -s 1 1 1 -o 0 0 -clamp on wood grain.png', 'wood grain.png'),
        ('map_kd WOOD.png', 'wood.png'),
        ('map_Kd "wood.png"', 'wood.png'),
        ('map_Kd wood%20grain.png', 'wood grain.png'),
        ('map_Kd ./textures//wood.png', 'textures/wood.png'),
        ('map_Kd bl\xe5.png', 'bl\xe5.png'),
    ],
)
def test_a_texture_is_found_however_its_name_is_written(
    line: str, file: str, tmp_path: Path
) -> None:
    path = obj(tmp_path / 'a', f'newmtl planks\n{line}\n', picture(), file)
    assert np.abs(shown(built(path)) - BROWN).max() <= 1.0


def test_factors_multiply_textures_in_linear_light(tmp_path: Path) -> None:
    def linear(value: float) -> float:
        return ((value / 255 + 0.055) / 1.055) ** 2.4

    half = {'baseColorTexture': {'index': 0}, 'baseColorFactor': [0.5, 0.5, 0.5, 1.0]}
    colour = shown(built(gltf(tmp_path, materials=[{'pbrMetallicRoughness': half}])))
    for channel, original in zip(colour, BROWN, strict=True):
        assert linear(channel) / linear(original) == pytest.approx(0.5, rel=0.06)
    path = obj(tmp_path / 'o', 'newmtl planks\nKd 0 0 0\nmap_Kd wood.png\n', picture())
    assert np.abs(shown(built(path)) - BROWN).max() <= 1.0


def test_the_axis_that_points_up_can_be_told(tmp_path: Path) -> None:
    path = tmp_path / 'thing.obj'
    path.write_text(SQUARE + FACES)
    high = {up: built(path, up=up).parts[0].mesh.vertices[:, 2].max() for up in ('y', 'z')}
    assert high == pytest.approx({'y': 0.0, 'z': 2.0})
    assert built(path).parts[0].mesh.vertices[:, 2].max() == pytest.approx(2.0)


@pytest.mark.parametrize(
    ('library', 'words'),
    [
        ('newmtl planks\nmap_Kd gone.png\n', "names 'gone.png', which is not in its folder"),
        ('newmtl planks\nmap_Kd ../../etc/passwd\n', 'which is not in its folder'),
        ('newmtl planks\nmap_Kd -s 2 2 1 wood.png\n', 'moves or repeats a picture'),
        ('newmtl planks\nmap_Kd -zoom 2 wood.png\n', 'unknown option -zoom'),
        ('newmtl other\n', "uses the material 'planks', which thing.mtl does not define"),
        ('newmtl planks\nmap_Kd broken.png\n', "texture 'broken.png' cannot be read"),
    ],
)
def test_what_a_material_library_asks_for_in_vain_is_named(
    library: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / 'broken.png').write_bytes(picture()[:40])
    path = obj(tmp_path, library, picture())
    with pytest.raises(OceanGymError) as caught:
        built(path)
    assert words in str(caught.value) and 'thing.obj' in str(caught.value)
    # Painted in one colour, it needs none of that.
    assert built(path, colour='red').attributes.colour == 'red'


@pytest.mark.parametrize(
    ('file', 'text', 'words'),
    [
        ('thing.obj', f'{SQUARE}usemtl planks\n{FACES}', 'no mtllib defines'),
        ('thing.obj', 'v 0 0 0 200 9 9\nv 1 0 0 200 9 9\nv 0 0 1 9 9 9\nf 1 2 3\n', 'from 0 to 1'),
        (
            'thing.ply',
            'ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n'
            'property float z\nproperty uchar diffuse_red\nelement face 1\n'
            'property list uchar int vertex_indices\nend_header\n'
            '0 0 0 9\n1 0 0 9\n0 0 1 9\n3 0 1 2\n',
            'diffuse_red',
        ),
    ],
)
def test_colours_that_would_be_lost_are_refused(
    file: str, text: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / file).write_text(text)
    with pytest.raises(OceanGymError) as caught:
        built(tmp_path / file)
    assert words in str(caught.value)


def test_a_file_without_colours_is_grey_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / 'thing.obj'
    path.write_text(f'# mtllib none.mtl\n{SQUARE}{FACES}')
    assert built(path).attributes.colour == 'grey'


def test_a_missing_material_library_is_named(tmp_path: Path) -> None:
    path = obj(tmp_path, '')
    (tmp_path / 'thing.mtl').unlink()
    with pytest.raises(OceanGymError, match=r"names 'thing\.mtl'"):
        built(path)


@pytest.mark.parametrize(
    ('changes', 'words'),
    [
        ({'extensionsRequired': ['KHR_draco_mesh_compression']}, 'KHR_draco_mesh_compression'),
        ({'extensionsUsed': ['EXT_meshopt_compression']}, 'EXT_meshopt_compression'),
        ({'extensionsUsed': ['KHR_texture_transform']}, 'KHR_texture_transform'),
        ({'nodes': [{'mesh': 0, 'skin': 0}]}, 'has a skin'),
        ({'images': [{'uri': 'gone.png'}]}, "names 'gone.png'"),
        ({'images': [{'uri': 'https://example.org/a.png'}]}, 'only files of its own folder'),
        ({'images': [{'uri': 'data:image/png,abc'}]}, 'not in base64'),
        ({'images': [{'uri': 'a.ktx2', 'mimeType': 'image/ktx2'}]}, 'image/ktx2'),
        ({'images': [{'uri': 'data:image/png;base64,AAAA'}]}, 'cannot be read'),
        ({'buffers': [{'uri': 'gone.bin', 'byteLength': 96}]}, "names 'gone.bin'"),
        ({'buffers': [{'uri': '../x.bin', 'byteLength': 96}]}, 'which is not in its folder'),
        (
            {'materials': [{'pbrMetallicRoughness': {'baseColorTexture': {'index': 0, 'texCoord': 1}}}]},
            'TEXCOORD_1',
        ),
    ],
)  # fmt: skip
def test_a_feature_of_gltf_that_is_not_supported_is_refused_by_name(
    changes: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(OceanGymError, match=r'thing\.gltf') as caught:
        built(gltf(tmp_path, **changes))
    assert words in str(caught.value)


def test_geometry_that_only_an_extension_holds_is_refused(tmp_path: Path) -> None:
    accessors = json.loads(gltf(tmp_path).read_text())['accessors']
    del accessors[0]['bufferView']
    with pytest.raises(OceanGymError, match='accessor 0 holds no data'):
        built(gltf(tmp_path, accessors=accessors))
    accessors[0] |= {'bufferView': 0, 'sparse': {'count': 1}}
    with pytest.raises(OceanGymError, match='accessor 0 is sparse'):
        built(gltf(tmp_path, accessors=accessors))


def test_primitives_and_transparency_that_cannot_be_shown_are_refused(tmp_path: Path) -> None:
    header = json.loads(gltf(tmp_path).read_text())
    header['meshes'][0]['primitives'][0]['mode'] = 6
    with pytest.raises(OceanGymError, match='mode 6'):
        built(gltf(tmp_path, meshes=header['meshes']))
    clear = base64.b64encode(picture('RGBA', (*BROWN, 0))).decode()
    leaf = {'alphaMode': 'MASK', **header['materials'][0]}
    images = [{'uri': f'data:image/png;base64,{clear}'}]
    with pytest.raises(OceanGymError, match='alphaMode MASK'):
        built(gltf(tmp_path, materials=[leaf], images=images))
    assert np.abs(shown(built(gltf(tmp_path, materials=[leaf]))) - BROWN).max() <= 1.0
