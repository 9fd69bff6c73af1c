"""Reads the parts of SDF 1.11 that the embedded simulator honours; refuses the rest by name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
import math
from pathlib import Path
import xml.etree.ElementTree as ElementTree

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose

NAMESPACE = 'urn:oceangym:sdf:1'
MAX_SDF_BYTES = 32 * 1024 * 1024
# Gazebo renders laser_retro in 65535 steps up to 2000: as backscatter strength times this, -45 to
# +3 dB fit.
RETRO_SCALE = 1000.0
# Backscatter relative to a perfect Lambert scatterer: nothing real lies outside [dB].
STRENGTH_DB = (-100.0, 40.0)
PRIMITIVES = ('box', 'sphere', 'cylinder', 'capsule')


def own(tag: str) -> str:
    """Return the qualified tag of one of our own elements."""
    return f'{{{NAMESPACE}}}{tag}'


class SdfError(OceanGymError):
    """An SDF file that cannot be read or honoured; names the file and the element."""

    def __init__(self, path: Path, element: str, problem: str) -> None:
        super().__init__(f'{path}: <{element}>: {problem}')


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A primitive: box (x, y, z), sphere (radius), cylinder or capsule (radius, length along z)."""

    kind: str
    size: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Visual:
    """One visual. Exactly one of `mesh` (a file) and `shape` is set.

    Attributes:
        pose: In the model frame.
        scale: Of the mesh.
        albedo_map: Texture file or None.
        diffuse: Linear factor RGB 0..1 on the texture, or the colour itself without one.
        acoustic_material, strength_db: Backscatter relative to a perfect Lambert scatterer.
    """

    name: str
    pose: Pose
    mesh: Path | None
    shape: Shape | None
    scale: tuple[float, float, float]
    albedo_map: Path | None
    diffuse: tuple[float, float, float]
    metalness: float
    roughness: float
    acoustic_material: str
    strength_db: float


@dataclass(frozen=True, kw_only=True)
class Collision:
    """One collision primitive, posed in the model frame."""

    name: str
    pose: Pose
    shape: Shape


@dataclass(frozen=True, kw_only=True)
class PropInfo:
    """The checked description of a prop (see the `oceangym:prop` element)."""

    prop_class: str = ''
    label: str = ''
    structure: bool = False
    material: str = ''
    colour: str = ''
    size: str = ''
    markings: str = ''
    state: str = ''
    description: str = ''


@dataclass(frozen=True, kw_only=True)
class HeightfieldInfo:
    """Where the terrain's height grid lies: float32 array [iy, ix] of z, `origin` (x, y), spacing."""

    path: Path
    origin: tuple[float, float]
    spacing: float


@dataclass(frozen=True, kw_only=True)
class Model:
    """A static model as the embedded simulator uses it."""

    name: str
    path: Path
    visuals: tuple[Visual, ...]
    collisions: tuple[Collision, ...]
    prop: PropInfo = field(default_factory=PropInfo)
    heightfield: HeightfieldInfo | None = None


def parse_xml(path: Path) -> ElementTree.Element:
    """Return the root element of an SDF file.

    Raises:
        OceanGymError: The file is missing, too large, not XML, or declares entities.
    """
    try:
        size = path.stat().st_size
        if size > MAX_SDF_BYTES:
            raise SdfError(path, 'sdf', f'{size} bytes is more than {MAX_SDF_BYTES} allowed')
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise OceanGymError(f'cannot read {path}: {reason}') from error
    if b'<!ENTITY' in data or b'<!DOCTYPE' in data:
        raise SdfError(path, 'sdf', 'DOCTYPE and ENTITY declarations are not allowed')
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as error:
        raise SdfError(path, 'sdf', f'not well-formed XML: {error}') from error
    if root.tag != 'sdf':
        raise SdfError(path, root.tag, 'the root element must be <sdf>')
    return root


def numbers(path: Path, element: ElementTree.Element | None, count: int, name: str) -> list[float]:
    """Return `count` finite numbers of an element's text."""
    text = '' if element is None else (element.text or '')
    try:
        values = [float(word) for word in text.split()]
    except ValueError as error:
        raise SdfError(path, name, f'{text!r} is not {count} numbers') from error
    if len(values) != count or not all(math.isfinite(v) for v in values):
        raise SdfError(path, name, f'{text!r} is not {count} finite numbers')
    return values


def number_attribute(path: Path, element: ElementTree.Element, name: str) -> float:
    """Return a finite number from an attribute."""
    text = element.get(name, '')
    try:
        value = float(text)
    except ValueError as error:
        raise SdfError(path, element.tag, f'{name}={text!r} is not a number') from error
    if not math.isfinite(value):
        raise SdfError(path, element.tag, f'{name}={text!r} is not finite')
    return value


def within(path: Path, name: str, value: float, low: float, high: float) -> float:
    """Return a number that lies in its range.

    Raises:
        SdfError: It does not.
    """
    if not low <= value <= high:
        raise SdfError(path, name, f'{value:g} is out of range; allowed: {low:g} .. {high:g}')
    return value


def pose_of(path: Path, parent: ElementTree.Element) -> Pose:
    """Return the <pose> of an element (identity without one)."""
    element = parent.find('pose')
    if element is None:
        return Pose()
    x, y, z, roll, pitch, yaw = numbers(path, element, 6, 'pose')
    if element.get('degrees', 'false').lower() in ('true', '1'):
        roll, pitch, yaw = (math.radians(v) for v in (roll, pitch, yaw))
    return Pose.from_euler((x, y, z), roll, pitch, yaw)


def resolve_uri(path: Path, uri: str, search: Iterable[Path], element: str = 'uri') -> Path:
    """Return the file or directory of a ``model://`` URI or of a path relative to the SDF file.

    Raises:
        OceanGymError: It leaves its directory or does not exist.
    """
    uri = uri.strip()
    if not uri:
        raise SdfError(path, element, 'names no file: it needs a URI, e.g. model://NAME')
    tried: list[str] = []
    if uri.startswith('model://'):
        relative = uri[len('model://') :]
        bases: list[Path] = list(search)
    elif '://' in uri:
        raise SdfError(path, element, f'{uri!r}: only model:// and relative paths are supported')
    else:
        relative, bases = uri, [path.parent]
    if '..' in Path(relative).parts or Path(relative).is_absolute() or '\0' in relative:
        raise SdfError(path, element, f'{uri!r} must stay inside its model directory')
    for base in bases:
        candidate = base / relative
        try:
            if candidate.exists():
                return candidate
        except OSError:
            pass
        tried.append(str(base))
    raise SdfError(path, element, f'{uri!r} not found in {", ".join(tried)}')


def included_model(path: Path, include: ElementTree.Element, search: Iterable[Path]) -> Path:
    """Return the directory of the model that an ``<include>`` of a world brings.

    Raises:
        OceanGymError: It has no ``<uri>``, or there is no such model.
    """
    uri = include.findtext('uri', '')
    if not uri.strip():
        name = include.findtext('name', '').strip()
        named = f' {name!r}' if name else ''
        raise SdfError(path, 'include', f'instance{named} has no <uri>, e.g. model://rock')
    return resolve_uri(path, uri, search)


def read_shape(path: Path, geometry: ElementTree.Element) -> Shape:
    """Return the primitive of a <geometry>.

    Raises:
        OceanGymError: No supported primitive, or a size that is not positive.
    """
    for kind in PRIMITIVES:
        element = geometry.find(kind)
        if element is None:
            continue
        if kind == 'box':
            size = numbers(path, element.find('size'), 3, 'size')
        else:
            size = numbers(path, element.find('radius'), 1, 'radius')
            if kind != 'sphere':
                size += numbers(path, element.find('length'), 1, 'length')
        if min(size) <= 0:
            raise SdfError(path, kind, f'size {size} must be positive')
        return Shape(kind=kind, size=tuple(size))
    found = [child.tag for child in geometry]
    raise SdfError(
        path,
        'geometry',
        f'{found or "nothing"} is not supported; allowed: {", ".join(PRIMITIVES)}',
    )


def read_model(path: Path, search: Iterable[Path]) -> Model:
    """Read a static model file.

    Raises:
        OceanGymError: Anything that cannot be honoured, with file and element.
    """
    search = tuple(search)
    root = parse_xml(path)
    element = root.find('model')
    if element is None:
        raise SdfError(path, 'sdf', 'holds no <model>')
    visuals: list[Visual] = []
    collisions: list[Collision] = []
    for link in element.findall('link'):
        frame = pose_of(path, link)
        visuals += [_read_visual(path, v, frame, search) for v in link.findall('visual')]
        for item in link.findall('collision'):
            geometry = item.find('geometry')
            if geometry is None:
                raise SdfError(path, 'collision', 'holds no <geometry>')
            if geometry.find('mesh') is not None and element.find(own('heightfield')) is not None:
                continue  # The height grid stands in for the terrain's mesh collision.
            collisions.append(
                Collision(
                    name=item.get('name', ''),
                    pose=frame @ pose_of(path, item),
                    shape=read_shape(path, geometry),
                )
            )
    return Model(
        name=element.get('name', path.parent.name),
        path=path,
        visuals=tuple(visuals),
        collisions=tuple(collisions),
        prop=_read_prop(element.find(own('prop'))),
        heightfield=_read_heightfield(path, element.find(own('heightfield')), search),
    )


def _read_visual(
    path: Path, element: ElementTree.Element, frame: Pose, search: tuple[Path, ...]
) -> Visual:
    geometry = element.find('geometry')
    if geometry is None:
        raise SdfError(path, 'visual', f'{element.get("name")!r} holds no <geometry>')
    mesh_element, mesh, shape = geometry.find('mesh'), None, None
    scale = (1.0, 1.0, 1.0)
    if mesh_element is not None:
        mesh = resolve_uri(path, mesh_element.findtext('uri', ''), search)
        if mesh_element.find('scale') is not None:
            sx, sy, sz = numbers(path, mesh_element.find('scale'), 3, 'scale')
            scale = (sx, sy, sz)
            if 0.0 in scale:
                raise SdfError(path, 'scale', f'{sx:g} {sy:g} {sz:g} flattens the mesh to nothing')
    else:
        shape = read_shape(path, geometry)
    diffuse, albedo, metalness, roughness = (0.6, 0.6, 0.6), None, 0.0, 1.0
    material = element.find('material')
    if material is not None:
        if material.find('diffuse') is not None:
            r, g, b = (
                within(path, 'diffuse', value, 0.0, 1.0)
                for value in numbers(path, material.find('diffuse'), 4, 'diffuse')[:3]
            )
            diffuse = (r, g, b)
        metal = material.find('pbr/metal')
        if metal is not None:
            if metal.find('albedo_map') is not None:
                albedo = resolve_uri(path, metal.findtext('albedo_map', ''), search, 'albedo_map')
            if metal.find('metalness') is not None:
                (value,) = numbers(path, metal.find('metalness'), 1, 'metalness')
                metalness = within(path, 'metalness', value, 0.0, 1.0)
            if metal.find('roughness') is not None:
                (value,) = numbers(path, metal.find('roughness'), 1, 'roughness')
                roughness = within(path, 'roughness', value, 0.0, 1.0)
    acoustic, strength_db = element.find(own('acoustic')), -15.0
    if acoustic is not None:
        strength_db = number_attribute(path, acoustic, 'strength_db')
        within(path, 'strength_db', strength_db, *STRENGTH_DB)
    return Visual(
        name=element.get('name', ''),
        pose=frame @ pose_of(path, element),
        mesh=mesh,
        shape=shape,
        scale=scale,
        albedo_map=albedo,
        diffuse=diffuse,
        metalness=metalness,
        roughness=roughness,
        acoustic_material='' if acoustic is None else acoustic.get('material', ''),
        strength_db=strength_db,
    )


def _read_prop(element: ElementTree.Element | None) -> PropInfo:
    if element is None:
        return PropInfo()
    return PropInfo(
        prop_class=element.get('class', ''),
        label=element.get('label', ''),
        structure=element.get('structure', 'false') == 'true',
        material=element.get('material', ''),
        colour=element.get('colour', ''),
        size=element.get('size', ''),
        markings=element.get('markings', ''),
        state=element.get('state', ''),
        description=(element.findtext(own('description')) or '').strip(),
    )


def _read_heightfield(
    path: Path, element: ElementTree.Element | None, search: tuple[Path, ...]
) -> HeightfieldInfo | None:
    if element is None:
        return None
    x0, y0 = numbers(path, element.find('origin'), 2, 'origin')
    spacing = numbers(path, element.find('spacing'), 1, 'spacing')[0]
    if spacing <= 0:
        raise SdfError(path, 'spacing', f'{spacing} must be positive')
    return HeightfieldInfo(
        path=resolve_uri(path, element.findtext('uri', ''), search),
        origin=(x0, y0),
        spacing=spacing,
    )
