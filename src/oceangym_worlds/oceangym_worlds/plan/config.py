"""The description of a world as typed by a person (config/worlds/*.yaml), checked."""

from __future__ import annotations

from collections.abc import Sequence
import itertools
import math
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator, PrivateAttr, ValidationError

from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_yaml
from oceangym_worlds.modelling.model import ACOUSTIC_STRENGTH_DB

Finite = Annotated[float, Field(allow_inf_nan=False, ge=-1e5, le=1e5)]
Positive = Annotated[float, Field(allow_inf_nan=False, gt=0, le=1e4)]
Name = Annotated[str, Field(pattern=r'^[a-z][a-z0-9_]{0,63}$')]
Point2 = tuple[Finite, Finite]
Point3 = tuple[Finite, Finite, Finite]

MAX_EXTENT_M = 3000.0
MAX_NODES = 2_000_000
MESH_SUFFIXES = ('.glb', '.gltf', '.obj', '.ply', '.stl')
_MAX_EXTENDS = 8


class Strict(BaseModel):
    """A mapping of the file; keys outside the schema are refused."""

    model_config = ConfigDict(extra='forbid', frozen=True)


class BoundsConfig(Strict):
    """The operating volume in map [m]."""

    min: Point3
    max: Point3

    @model_validator(mode='after')
    def _ordered(self) -> BoundsConfig:
        if any(a >= b for a, b in zip(self.min, self.max, strict=True)):
            raise ValueError(f'min {list(self.min)} must be below max {list(self.max)}')
        if max(b - a for a, b in zip(self.min[:2], self.max[:2], strict=True)) > MAX_EXTENT_M:
            raise ValueError(f'a world is at most {MAX_EXTENT_M:g} m across')
        return self


class CanyonConfig(Strict):
    """A valley; each point is x, y, floor z, half width of the floor [m]."""

    wall_width_m: Positive
    points: list[tuple[Finite, Finite, Finite, Positive]] = Field(min_length=2, max_length=100)

    @model_validator(mode='after')
    def _distinct(self) -> CanyonConfig:
        if any(math.dist(a[:2], b[:2]) < 1.0 for a, b in itertools.pairwise(self.points)):
            raise ValueError('points that follow each other must be at least 1 m apart')
        return self


class ScarpConfig(Strict):
    """A cliff line; the side to the left of the way from start to end is higher by height_m."""

    start: Point2
    end: Point2
    height_m: Annotated[float, Field(ge=-100.0, le=100.0)]
    width_m: Positive
    reach_m: Positive

    @model_validator(mode='after')
    def _long_enough(self) -> ScarpConfig:
        if math.dist(self.start, self.end) < 5.0:
            raise ValueError('start and end must be at least 5 m apart')
        if self.reach_m <= self.width_m:
            raise ValueError('reach_m must be more than width_m')
        return self


class TerrainConfig(Strict):
    """The seabed."""

    spacing_m: Annotated[float, Field(ge=1.0, le=10.0)] = 2.0
    shallowest_m: Annotated[float, Field(ge=-1e4, le=-1.0)] = -24.0
    margin_m: Annotated[float, Field(ge=0.0, le=200.0)] = 60.0
    dune_height_m: Annotated[float, Field(ge=0.0, le=1.5)] = 1.1
    dune_wavelength_m: Annotated[float, Field(ge=15.0, le=100.0)] = 34.0
    control_points: list[Point3] = Field(min_length=4, max_length=500)
    canyons: list[CanyonConfig] = []
    scarps: list[ScarpConfig] = []


class StartConfig(Strict):
    """A place where an episode may start; no prop stands near it and the seabed lies deeper."""

    name: Name
    position: Point3
    clearance_m: Positive = 10.0
    # Height of the seabed below; without it the relief is free there.
    seabed_m: Finite | None = None


class AnchorConfig(Strict):
    """One target: report label, released coordinate, the instances that are it.

    Without `instances` it is the pipeline within `radius`. With another world_seed the anchor is
    drawn anew, at about its depth, unless it is `fixed_to_relief`; then it moves with the canyons.
    """

    name: Name
    label: str = Field(min_length=1, max_length=80)
    point: Point3
    instances: list[Name] = []
    radius: Positive | None = None
    fixed_to_relief: bool = False
    keep_depth: bool = False

    @model_validator(mode='after')
    def _has_extent(self) -> AnchorConfig:
        if not self.instances and self.radius is None:
            raise ValueError('give "instances", or "radius" for a place on the pipeline')
        return self


class PropConfig(Strict):
    """One placed model: of the shipped kinds (`model`) or a file of the user's (`mesh`).

    A prop stands at its anchor or at `position`: x, y on the seabed, or x, y, z.
    """

    name: Name
    model: Name | None = None
    mesh: str | None = None
    anchor: Name | None = None
    position: Point2 | Point3 | None = None
    yaw_deg: Finite = 0.0
    pad_half_length_m: Annotated[float, Field(ge=0.0, le=40.0)] = 0.0
    pad_radius_m: Positive | None = None
    # Plumb, on a level pad; otherwise the prop leans with its pad (at most 5 degrees).
    upright: bool = False
    # For `mesh` only. `up` is the file's axis that points up; y in glTF and z elsewhere if not given.
    scale: Positive = 1.0
    up: Literal['y', 'z'] | None = None
    label: str = ''
    prop_class: str = Field(default='', alias='class')
    structure: bool = True
    material: str = 'steel'
    colour: str | None = None
    size: str = ''
    markings: str = 'none'
    state: str = ''
    description: str = ''

    @model_validator(mode='after')
    def _one_source(self) -> PropConfig:
        if (self.model is None) == (self.mesh is None):
            raise ValueError('give exactly one of "model" (a shipped model) and "mesh" (a file)')
        if (self.anchor is None) == (self.position is None):
            raise ValueError('give exactly one of "anchor" and "position"')
        if self.material not in ACOUSTIC_STRENGTH_DB:
            raise ValueError(str(unknown_name('material', self.material, ACOUSTIC_STRENGTH_DB)))
        return self


class PipelineConfig(Strict):
    """The pipeline: a route over the seabed through anchors and way points.

    `route` holds anchor names and [x, y] points in order from the turbine. Stretches [from, to] are
    distances along it [m], measured from the stop `measured_from` (by default the first one);
    those of `free_span` hang above a gully.
    """

    route: list[Name | Point2] = Field(min_length=2)
    measured_from: Name | None = None
    damaged: list[Point2] = []
    buried: list[Point2] = []
    free_span: list[Point2] = []
    gully_depth_m: Annotated[float, Field(ge=0.0, le=8.0)] = 3.0
    sag_m: Annotated[float, Field(ge=0.0, le=3.0)] = 0.5


class ScatterConfig(Strict):
    """A population of small models strewn by density.

    `ground` is where it is dense; `near_targets` are put 13-24 m from each target besides.
    """

    prefix: Name
    models: list[Name] = Field(min_length=1)
    count: Annotated[int, Field(ge=0, le=2000)]
    ground: Literal['rock', 'sand']
    min_spacing_m: Positive
    sink_m: Point2 = (0.0, 0.0)
    tilt_deg: Annotated[float, Field(ge=0.0, le=45.0)] = 0.0
    shallowest_m: Finite = 0.0
    deepest_m: Finite = -100.0
    near_targets: Annotated[int, Field(ge=0, le=20)] = 0
    clear_of_pipeline_m: Annotated[float, Field(ge=0.0, le=50.0)] = 4.0


class WorldConfig(Strict):
    """A whole world."""

    name: Name
    bounds: BoundsConfig
    terrain: TerrainConfig
    starts: list[StartConfig] = []
    anchors: list[AnchorConfig] = []
    props: list[PropConfig] = []
    pipeline: PipelineConfig | None = None
    scatter: list[ScatterConfig] = []

    _path: Path | None = PrivateAttr(default=None)

    @property
    def path(self) -> Path | None:
        """The file it was read from."""
        return self._path

    @model_validator(mode='after')
    def _inside(self) -> WorldConfig:
        low, high, terrain = self.bounds.min, self.bounds.max, self.terrain
        places: list[tuple[str, Sequence[float]]] = [
            *((f'anchor {a.name!r}', a.point) for a in self.anchors),
            *((f'start {s.name!r}', s.position) for s in self.starts),
            *((f'prop {p.name!r}', p.position) for p in self.props if p.position is not None),
        ]
        for what, point in places:
            if any(not a <= v <= b for v, a, b in zip(point, low, high, strict=False)):
                raise ValueError(
                    f'{what} at {list(point)} lies outside the bounds {list(low)} to {list(high)}'
                )
        for anchor in self.anchors:
            if anchor.point[2] > terrain.shallowest_m:
                raise ValueError(
                    f'anchor {anchor.name!r}: the seabed ends at terrain.shallowest_m '
                    f'{terrain.shallowest_m:g}, below its z {anchor.point[2]:g}'
                )
        if low[2] + 1.0 > terrain.shallowest_m:
            raise ValueError('terrain.shallowest_m must be above the lower bound by at least 1 m')
        nodes = math.prod(
            (b - a + 2 * terrain.margin_m) / terrain.spacing_m + 1
            for a, b in zip(low[:2], high[:2], strict=True)
        )
        if nodes > MAX_NODES:
            raise ValueError(
                f'{nodes:.0f} nodes of terrain are more than {MAX_NODES}; '
                'raise terrain.spacing_m or narrow the bounds'
            )
        return self

    @model_validator(mode='after')
    def _consistent(self) -> WorldConfig:
        anchors = [a.name for a in self.anchors]
        props = [p.name for p in self.props]
        for kind, names in (('anchor', anchors), ('prop', props)):
            twice = sorted({n for n in names if names.count(n) > 1})
            if twice:
                raise ValueError(f'{kind} name {twice[0]!r} is used twice')
        for prop in self.props:
            if prop.anchor is not None and prop.anchor not in anchors:
                raise ValueError(
                    str(unknown_name(f'anchor of prop {prop.name}', prop.anchor, anchors))
                )
        labels = {a.name: a.label for a in self.anchors}
        for prop in self.props:
            if prop.label and prop.anchor is not None and prop.label != labels[prop.anchor]:
                raise ValueError(
                    f'label of prop {prop.name!r} is {prop.label!r}, but the label of its anchor '
                    f'{prop.anchor!r} is {labels[prop.anchor]!r}: reports name the latter; '
                    'make them the same'
                )
        for anchor in self.anchors:
            for instance in anchor.instances:
                if instance not in props:
                    raise ValueError(
                        str(unknown_name(f'instance of anchor {anchor.name}', instance, props))
                    )
            if not anchor.instances and self.pipeline is None:
                raise ValueError(
                    f'anchor {anchor.name!r} has no instances and there is no pipeline'
                )
        return self


def load_world_config(source: str | Path) -> WorldConfig:
    """Read a world's YAML: a path, or the name of a shipped one.

    A file with ``extends: NAME`` takes everything of that world; its own lists of props, anchors,
    starts and scatter are added, other keys replace. The files of `mesh` are resolved beside it.

    Raises:
        OceanGymError: Naming the file and the key.
    """
    path = Path(source)
    if path.suffix not in ('.yaml', '.yml'):
        path = _shipped(str(source))
    merged = _merged(path, 0)
    try:
        config = WorldConfig.model_validate(merged)
    except ValidationError as error:
        raise _explained(path, merged, error) from None
    # Filled in after validation: the file cannot know its own place.
    config._path = path
    return config


def _shipped(name: str) -> Path:
    folder = config_path('worlds')
    path = folder / f'{name}.yaml'
    if '/' in name or not path.is_file():
        raise unknown_name('world', name, [p.stem for p in folder.glob('*.yaml')])
    return path


def _merged(path: Path, depth: int) -> dict[str, Any]:
    data = _read(path)
    props = data.get('props')
    for prop in props if isinstance(props, list) else []:
        if isinstance(prop, dict) and isinstance(prop.get('mesh'), str):
            prop['mesh'] = str(_mesh_file(path, str(prop.get('name')), prop['mesh']))
    if 'extends' not in data:
        return data
    if depth >= _MAX_EXTENDS:
        raise OceanGymError(
            f'{path}: extends: more than {_MAX_EXTENDS} files deep; is it a cycle?'
        )
    parent = data.pop('extends')
    if not isinstance(parent, str):
        raise OceanGymError(f'{path}: extends: {parent!r} is not the name of a world')
    beside = path.parent / (parent if parent.endswith(('.yaml', '.yml')) else f'{parent}.yaml')
    try:
        base_path = beside if beside.is_file() and beside != path else _shipped(parent[:200])
    except (OceanGymError, OSError, ValueError) as error:
        raise OceanGymError(f'{path}: extends: {error}') from None
    base = _merged(base_path, depth + 1)
    for key, value in data.items():
        both_lists = isinstance(value, list) and isinstance(base.get(key), list)
        base[key] = base[key] + value if both_lists else value
    base.setdefault('name', path.stem)
    if 'name' not in data:
        base['name'] = path.stem
    return base


def _mesh_file(path: Path, prop: str, name: str) -> Path:
    """Return a prop's mesh file, named relative to the world's file."""
    mesh = path.parent / name
    try:
        found = mesh.is_file()
        near = [p.name for p in mesh.parent.iterdir()] if mesh.parent.is_dir() else []
    except (OSError, ValueError) as error:
        raise OceanGymError(f'{path}: mesh of prop {prop!r}: {name[:80]!r}: {error}') from error
    if not found:
        meshes = [n for n in near if n.endswith(MESH_SUFFIXES)]
        problem: object = f'there is no {name[:200]!r}, nor any other mesh in {mesh.parent}'
        if meshes:
            hint = f'Looked for it in {mesh.parent}.'
            problem = unknown_name('file', name[:200], meshes, hint=hint)
        raise OceanGymError(f'{path}: mesh of prop {prop!r}: {problem}')
    return mesh.resolve()


def _read(path: Path) -> dict[str, Any]:
    data = read_yaml(path)
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise OceanGymError(f'{path}: a world is a mapping of keys, not {type(data).__name__}')
    return data


def _explained(path: Path, data: dict[str, Any], error: ValidationError) -> OceanGymError:
    # An unknown key explains a missing one: it comes first.
    errors = sorted(error.errors(), key=lambda e: e['type'] != 'extra_forbidden')
    first = errors[0]
    *parents, last = first['loc'] or ('',)
    where = [part for part in parents if not _is_internal(part)]
    if first['type'] == 'extra_forbidden':
        allowed = _allowed_keys(WorldConfig, where)
        key = _key(data, [*where, last])
        problem = str(unknown_name('key', str(last)[:80], allowed))
        return OceanGymError(f'{path}: {key}: {problem}')
    key = _key(data, where if _is_internal(last) else [*where, last])
    value = first.get('input')
    given = '' if first['type'] in ('missing', 'value_error') else f' (given: {value!r:.80})'
    message = first['msg'].removeprefix('Value error, ')
    return OceanGymError(f'{path}: {key + ": " if key else ""}{message}{given}')


def _key(data: Any, where: list[Any]) -> str:
    """Return a place as a person finds it: the entries of lists by name where they have one."""
    words = []
    for part in where:
        try:
            data = data[part]
        except (LookupError, TypeError):
            data = None
        named = isinstance(part, int) and isinstance(data, dict) and data.get('name')
        words.append(str(named or part)[:80])
    return '.'.join(words)


def _is_internal(part: Any) -> bool:
    """Return whether part of a location names a branch of a union and not a key."""
    return isinstance(part, str) and ('[' in part or '-' in part)


def _allowed_keys(schema: type[BaseModel], where: list[Any]) -> list[str]:
    """Return the keys of the mapping at a place in the schema."""
    for part in where:
        if isinstance(part, int) or part not in schema.model_fields:
            continue
        found = _nested(schema.model_fields[part].annotation)
        if found is not None:
            schema = found
    keys = [field.alias or name for name, field in schema.model_fields.items()]
    return [*keys, 'extends'] if schema is WorldConfig else keys


def _nested(annotation: Any) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) is not None:
        for argument in get_args(annotation):
            found = _nested(argument)
            if found is not None:
                return found
    return None
