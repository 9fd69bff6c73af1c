"""Reading of users' mesh files: each feature of glTF, OBJ and PLY is honoured or refused by name."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
import io
import json
import logging
from pathlib import Path
import re
import struct
from typing import Any
import unicodedata
from urllib.parse import unquote

import numpy as np
from PIL import Image
import trimesh

from oceangym_core.errors import OceanGymError

_TRIANGLES, _TRIANGLE_STRIP = 4, 5
_FLOAT = 5126
# Least alpha of a picture that counts as opaque.
_OPAQUE = 250
# Extensions that the reader honours, or that leave shape and colour of a surface as they are.
_ACCEPTED_EXTENSIONS = frozenset(
    f'KHR_{name}'
    for name in (
        *('materials_pbrSpecularGlossiness', 'materials_unlit', 'materials_specular'),
        *('materials_ior', 'materials_clearcoat', 'materials_sheen', 'materials_anisotropy'),
        *('materials_emissive_strength', 'materials_iridescence', 'materials_dispersion'),
        *('lights_punctual', 'xmp_json_ld', 'xmp'),
    )
) | {'EXT_texture_webp'}
# Options of map_Kd with the number of values they may take; those that move the picture are refused.
_MAP_OPTIONS = {'blendu': 1, 'blendv': 1, 'boost': 1, 'mm': 2, 'clamp': 1, 'bm': 1, 'cc': 1}
_MAP_OPTIONS |= {'texres': 1, 'imfchan': 1, 'type': 1, 'colorspace': 1}
_NUMBER = r'[-+]?[\d.]+(?:[eE][-+]?\d+)?'
_COLOURED_VERTEX = rf'^v(?:[ \t]+{_NUMBER}){{3}}' + rf'[ \t]+({_NUMBER})' * 3
_PLACING = {'s': 1.0, 'o': 0.0, 't': 0.0}


class MeshFileError(OceanGymError):
    """A feature of a mesh file that cannot be honoured, or a file it names that is not there."""


class FolderResolver(trimesh.resolvers.Resolver):
    """Access to the files that a mesh file names, within its own folder.

    Names may be percent-encoded, have backslashes or another case than the file. trimesh passes
    over files that are missing or damaged; `faults` keeps them.
    """

    def __init__(self, folder: Path) -> None:
        self._root = folder.resolve()
        self._folders = [self._root]
        self._pictures: dict[str, str] = {}
        self.faults: list[MeshFileError] = []

    def get(self, key: str) -> bytes:
        """Return a file's content; a material library with its picture names made plain."""
        name = self._pictures.get(key, key)
        path = self.find(name)
        try:
            if path is None:
                raise _missing(name)
            data = path.read_bytes()
            if path.suffix.lower() == '.mtl':
                return self._plain_library(data, path)
            if path.suffix.lower() != '.bin':
                opened_picture(data, name)
        except MeshFileError as error:
            self.faults.append(error)
            raise FileNotFoundError(name) from error
        return data

    def find(self, name: str) -> Path | None:
        """Return the file of a name, None if there is none within the folder."""
        for start in self._folders:
            for text in (name, unquote(name)):
                path = start
                for part in text.strip().strip('"').replace('\\', '/').split('/'):
                    here = path / part
                    path = here if here.exists() else _other_case(path, part) or here
                if path.resolve().is_relative_to(self._root) and path.is_file():
                    return path
        return None

    def write(self, name: str, data: str | bytes) -> None:
        """Refuse: nothing is written beside a user's files."""
        raise NotImplementedError

    def namespaced(self, namespace: str) -> FolderResolver:
        """Return the same folder: names are taken as the file gives them."""
        return self

    def keys(self) -> Iterable[str]:
        """Return the names of the files in the folder."""
        return [path.name for path in self._root.iterdir()]

    def _plain_library(self, data: bytes, path: Path) -> bytes:
        """Return a material library whose pictures have plain names and no options."""
        # Its pictures are named relative to itself.
        self._folders.append(path.parent.resolve())
        lines = []
        for line in _text(data).splitlines():
            word, _, rest = line.strip().partition(' ')
            if word.lower() == 'map_kd':
                key = f'picture_{len(self._pictures)}'
                self._pictures[key] = _map_file(rest, path.name)
                line = f'map_Kd {key}'
            lines.append(line)
        return '\n'.join(lines).encode()


def read_mesh_file(path: Path, *, textured: bool) -> list[trimesh.Trimesh]:
    """Return the triangle meshes of a file, in the coordinates of its scene.

    Args:
        path: A file of type glb, gltf, obj, ply or stl.
        textured: Whether its own colours and pictures are wanted; if not, faults of these pass.

    Raises:
        MeshFileError: Names the feature that is not supported, or the file that is missing.
        Exception: trimesh's many readers have no common base class for damaged files.
    """
    resolver = FolderResolver(path.parent)
    suffix = path.suffix.lower()
    if suffix in ('.glb', '.gltf'):
        _GltfCheck(path, resolver, textured=textured).run()
    data = path.read_bytes()
    if suffix == '.obj':
        # trimesh finds a library's name in comments, too.
        text = re.sub(r'^[ \t]*#.*$', '', _text(data), flags=re.MULTILINE)
        data = text.encode()
        if textured:
            _check_obj(text, resolver)
    elif suffix == '.ply' and textured:
        _check_ply(data)
    # It logs, with a traceback, what `faults` says.
    logging.getLogger('trimesh').setLevel(logging.CRITICAL)
    loaded: Any = trimesh.load(
        io.BytesIO(data), file_type=suffix[1:], resolver=resolver, process=False
    )
    if resolver.faults and textured:
        raise resolver.faults[0]
    parts = loaded.dump() if isinstance(loaded, trimesh.Scene) else [loaded]
    return [part for part in parts if isinstance(part, trimesh.Trimesh) and len(part.faces)]


def _missing(name: str) -> MeshFileError:
    return MeshFileError(
        f'names {name[:200]!r}, which is not in its folder; put it there, or give colour: in '
        'place of its textures'
    )


def _other_case(folder: Path, name: str) -> Path | None:
    """Return the file or folder whose name differs in case or Unicode form only."""

    def folded(text: str) -> str:
        return unicodedata.normalize('NFC', text).casefold()

    if not folder.is_dir():
        return None
    return next((p for p in sorted(folder.iterdir()) if folded(p.name) == folded(name)), None)


def _text(data: bytes) -> str:
    """Return a text file's content, in UTF-8 or else Latin-1 as older exporters write it."""
    try:
        return data.decode('utf-8-sig')
    except UnicodeDecodeError:
        return data.decode('latin-1')


# ---------------------------------------------------------------------- OBJ


def _check_obj(text: str, resolver: FolderResolver) -> None:
    """Refuse materials and libraries that an OBJ file names and that are not there."""
    found = re.findall(r'^[ \t]*mtllib[ \t]+(.+?)\s*$', text, re.MULTILINE)
    libraries = list(dict.fromkeys(found))
    if len(libraries) > 1:
        raise MeshFileError('names several material libraries (mtllib); join them into one')
    # As exporters write faces without a material.
    defined = {'None', '(null)', 'default'}
    for name in libraries:
        path = resolver.find(name)
        if path is None:
            raise _missing(name)
        found = re.findall(r'^[ \t]*newmtl[ \t]+(.+?)\s*$', _text(path.read_bytes()), re.MULTILINE)
        defined |= {' '.join(material.split()) for material in found}
    for name in re.findall(r'^[ \t]*usemtl[ \t]+(.+?)\s*$', text, re.MULTILINE):
        if ' '.join(name.split()) not in defined:
            where = f'{libraries[0][:100]} does not define' if libraries else 'no mtllib defines'
            raise MeshFileError(
                f'uses the material {name[:100]!r}, which {where}; put that right, or give colour:'
            )
    coloured = re.findall(_COLOURED_VERTEX, text, re.MULTILINE)
    if any(float(value) > 1.0 for values in coloured for value in values):
        raise MeshFileError('has colours of vertices above 1; OBJ colours run from 0 to 1')


def _check_ply(data: bytes) -> None:
    """Refuse colours of a PLY file whose names are not read."""
    header = data[: data.find(b'end_header')].decode('latin-1')
    for name in re.findall(r'^property[ \t]+\w+[ \t]+(\S+)', header, re.MULTILINE):
        if name.lower() != 'red' and re.search(r'red$|^r$', name.lower()):
            raise MeshFileError(
                f'names its colours {name[:40]}, ...; call them red, green and blue'
            )


def _map_file(text: str, library: str) -> str:
    """Return the file name of a map_Kd line, its options aside."""
    words = text.strip()
    while words.startswith('-'):
        option, _, words = words[1:].partition(' ')
        option = option.lower()
        numbers = re.match(rf'\s*((?:{_NUMBER}\s+){{1,3}})', words)
        if option in _PLACING and numbers:
            if any(float(n) != _PLACING[option] for n in numbers[1].split()):
                raise MeshFileError(
                    f'{library}: map_Kd -{option} {numbers[1].strip()} moves or repeats a picture; '
                    'apply it to the texture coordinates when exporting'
                )
            words = words[numbers.end() :]
        elif option in _MAP_OPTIONS:
            words = ' '.join(words.split()[_MAP_OPTIONS[option] :])
        else:
            raise MeshFileError(f'{library}: map_Kd has an unknown option -{option[:40]}')
        words = words.lstrip()
    return words


# --------------------------------------------------------------------- glTF


def _gltf_chunks(path: Path) -> tuple[dict[str, Any], bytes]:
    """Return the JSON and the binary chunk of a glTF file; the chunk is empty outside GLB."""
    data, binary = path.read_bytes(), b''
    if data[:4] == b'glTF':
        length, kind = struct.unpack_from('<I4s', data, 12)
        if kind != b'JSON':
            raise MeshFileError('its first chunk is not JSON')
        data, binary = data[20 : 20 + length], data[28 + length :]
    header = json.loads(data.decode('utf-8'))
    if not isinstance(header, dict):
        raise MeshFileError('its header is not a JSON object')
    return header, binary


class _GltfCheck:
    """Check of a glTF file for features that would be passed over in silence."""

    def __init__(self, path: Path, resolver: FolderResolver, *, textured: bool) -> None:
        self._header, self._binary = _gltf_chunks(path)
        self._resolver = resolver
        self._textured = textured

    def run(self) -> None:
        """Refuse what is not supported by its name."""
        header = self._header
        used = [*header.get('extensionsUsed', ()), *header.get('extensionsRequired', ())]
        for extension in sorted({*map(str, used)} - _ACCEPTED_EXTENSIONS):
            raise MeshFileError(
                f'uses the glTF extension {extension[:80]}, which is not supported; export the '
                'file without it'
            )
        for buffer in header.get('buffers', ()):
            if 'uri' in buffer:
                self._content(buffer['uri'])
        for number, accessor in enumerate(header.get('accessors', ())):
            if 'sparse' in accessor or 'bufferView' not in accessor:
                what = 'is sparse' if 'sparse' in accessor else 'holds no data'
                raise MeshFileError(
                    f'accessor {number} {what}; export the file without compression'
                )
        if any('skin' in node for node in header.get('nodes', ())):
            raise MeshFileError('has a skin (a skeleton that bends it); apply it when exporting')
        for mesh in header.get('meshes', ()):
            if any(mesh.get('weights', ())):
                raise MeshFileError('has morph targets not at rest; apply them when exporting')
            for primitive in mesh.get('primitives', ()):
                self._check_primitive(primitive)

    def _check_primitive(self, primitive: Mapping[str, Any]) -> None:
        mode = primitive.get('mode', _TRIANGLES)
        if mode not in (_TRIANGLES, _TRIANGLE_STRIP):
            raise MeshFileError(
                f'has a primitive of mode {mode}; triangles (4) and triangle strips (5) are '
                'supported'
            )
        if self._textured and 'material' in primitive:
            material = self._header['materials'][primitive['material']]
            extensions = material.get('extensions', {})
            glossy = extensions.get('KHR_materials_pbrSpecularGlossiness', {})
            metallic = material.get('pbrMetallicRoughness', {})
            base = glossy.get('diffuseTexture', metallic.get('baseColorTexture'))
            if base is not None:
                self._check_texture(primitive.get('attributes', {}), material, base)

    def _check_texture(
        self, attributes: Mapping[str, int], material: Mapping[str, Any], base: Mapping[str, Any]
    ) -> None:
        if base.get('texCoord', 0) != 0:
            raise MeshFileError('places a texture by TEXCOORD_1; only TEXCOORD_0 is supported')
        place = attributes.get('TEXCOORD_0')
        if place is None:
            raise MeshFileError('has a textured part without texture coordinates (TEXCOORD_0)')
        if self._header['accessors'][place].get('componentType') != _FLOAT:
            raise MeshFileError('has texture coordinates of whole numbers; export them as floats')
        texture = self._header['textures'][base['index']]
        webp = texture.get('extensions', {}).get('EXT_texture_webp', {})
        source = webp.get('source', texture.get('source'))
        picture = self._header['images'][source]
        mime = str(picture.get('mimeType', 'image/png'))
        if mime not in ('image/png', 'image/jpeg', 'image/webp'):
            raise MeshFileError(f'has a texture of type {mime[:40]}; give PNG, JPEG or WebP')
        opened = opened_picture(self._picture_data(picture), f'image {source}')
        transparent = (
            'A' in opened.getbands() and np.asarray(opened.getchannel('A')).min() < _OPAQUE
        )
        if material.get('alphaMode', 'OPAQUE') != 'OPAQUE' and transparent:
            raise MeshFileError(
                f'has a transparent texture (alphaMode {material["alphaMode"]}); surfaces are '
                'opaque here: cut the shape out as triangles'
            )

    def _picture_data(self, picture: Mapping[str, Any]) -> bytes:
        if 'uri' in picture:
            return self._content(picture['uri'])
        view = self._header['bufferViews'][picture['bufferView']]
        buffer = self._header['buffers'][view['buffer']]
        data = self._content(buffer['uri']) if 'uri' in buffer else self._binary
        start = view.get('byteOffset', 0)
        return data[start : start + view['byteLength']]

    def _content(self, uri: object) -> bytes:
        """Return what an address holds: base64 data, or a file of the folder."""
        text = str(uri)
        if text.startswith('data:'):
            head, separator, coded = text.partition(';base64,')
            if not separator:
                raise MeshFileError(f'has data that is not in base64 ({head[:40]}...)')
            return base64.b64decode(coded)
        if re.match(r'[a-zA-Z][a-zA-Z0-9+.-]+:', text):
            raise MeshFileError(f'names {text[:200]!r}; only files of its own folder are read')
        path = self._resolver.find(text)
        if path is None:
            raise _missing(text)
        return path.read_bytes()


def opened_picture(data: bytes, name: str) -> Image.Image:
    """Return a picture with its texels read.

    Raises:
        MeshFileError: It is damaged or of an unknown kind.
    """
    try:
        picture = Image.open(io.BytesIO(data))
        picture.load()
    except Exception as error:
        # Pillow has no common class for what its many readers raise on damaged files.
        detail = ' '.join(str(error).split())[:200]
        raise MeshFileError(f'texture {name[:100]!r} cannot be read: {detail}') from error
    return picture
