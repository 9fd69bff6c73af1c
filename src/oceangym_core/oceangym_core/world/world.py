"""The world as every backend sees it: models placed in the map, target anchors and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TYPE_CHECKING
import xml.etree.ElementTree as ElementTree

import numpy as np
from numpy.typing import NDArray

from oceangym_core.assets import assets_root, model_search_path
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.geometry import Array, Pose
from oceangym_core.world.sdf import (
    included_model,
    Model,
    number_attribute,
    numbers,
    own,
    parse_xml,
    pose_of,
    read_model,
    SdfError,
    Visual,
)

if TYPE_CHECKING:
    # Half of the start of a node that renders nothing: brought in where a mesh is read.
    import trimesh


@dataclass(frozen=True, kw_only=True)
class Instance:
    """A model placed in the map under its own name."""

    name: str
    model: Model
    pose: Pose


@dataclass(frozen=True, kw_only=True)
class Anchor:
    """One target point: its report label and the instances that are it.

    Attributes:
        radius: Only what lies within this distance of the point belongs to the target [m]; None
            for the whole of the instances.
    """

    name: str
    label: str
    point: tuple[float, float, float]
    instances: tuple[str, ...]
    radius: float | None = None


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """The axis-aligned operating volume in map [m]."""

    lower: tuple[float, float, float]
    upper: tuple[float, float, float]

    def contains(self, position: NDArray[np.float64] | tuple[float, float, float]) -> bool:
        """Return whether a point lies inside or on the bounds."""
        point = np.asarray(position)
        return bool(np.all(point >= self.lower) and np.all(point <= self.upper))


@dataclass(frozen=True, kw_only=True)
class Heightfield:
    """A regular grid of seabed heights: `height` float64 [iy, ix] of map z, `origin`, `spacing` [m]."""

    height: Array
    origin: tuple[float, float]
    spacing: float

    def at(self, x: NDArray[np.float64] | float, y: NDArray[np.float64] | float) -> Array:
        """Return the bilinear seabed height [m] at map x, y (clamped at the grid's edge)."""
        rows, columns = self.height.shape
        u = np.clip((np.asarray(x, float) - self.origin[0]) / self.spacing, 0, columns - 1.000001)
        v = np.clip((np.asarray(y, float) - self.origin[1]) / self.spacing, 0, rows - 1.000001)
        i, j = u.astype(int), v.astype(int)
        fu, fv = u - i, v - j
        h = self.height
        z: Array = (
            h[j, i] * (1 - fu) * (1 - fv)
            + h[j, i + 1] * fu * (1 - fv)
            + h[j + 1, i] * (1 - fu) * fv
            + h[j + 1, i + 1] * fu * fv
        )
        return z


@dataclass(frozen=True, kw_only=True)
class World:
    """Everything static: instances, anchors, bounds, terrain."""

    name: str
    path: Path
    seed: int
    bounds: Bounds
    instances: tuple[Instance, ...]
    anchors: tuple[Anchor, ...]
    heightfield: Heightfield | None

    def anchor(self, name: str) -> Anchor:
        """Return one anchor.

        Raises:
            OceanGymError: There is none of this name.
        """
        for anchor in self.anchors:
            if anchor.name == name:
                return anchor
        raise unknown_name(
            f'target anchor of world {self.name}', name, [a.name for a in self.anchors]
        )

    def instance(self, name: str) -> Instance:
        """Return one placed model by its instance name."""
        for instance in self.instances:
            if instance.name == name:
                return instance
        raise unknown_name('instance', name, [i.name for i in self.instances])

    def seabed(self, x: float, y: float) -> float:
        """Return the seabed's map z [m] at x, y (the lower bound without a terrain)."""
        return (
            self.bounds.lower[2] if self.heightfield is None else float(self.heightfield.at(x, y))
        )


def world_path(name: str) -> Path:
    """Return the SDF file of a shipped world, or the path itself if `name` is one.

    Raises:
        OceanGymError: There is no such world, or it is a YAML file, which has to be generated.
    """
    as_path = Path(name)
    if as_path.suffix == '.sdf':
        return as_path
    if as_path.suffix in ('.yaml', '.yml'):
        raise OceanGymError(
            f'world {name} is a description that has to be generated first: start it through '
            '`oceangym run` or the launch file, or give a node the generated file as world:=<SDF>'
        )
    worlds = assets_root() / 'worlds'
    path = worlds / name / f'{name}.sdf'
    if not path.is_file():
        shipped = [p.name for p in worlds.iterdir() if p.is_dir()] if worlds.is_dir() else []
        raise unknown_name('world', name, shipped)
    return path


def world_search_path(path: Path) -> tuple[Path, ...]:
    """Return where the ``model://`` URIs of a world file are looked up, nearest first.

    Beside the world's folder (``models`` and ``../../models``), in GZ_SIM_RESOURCE_PATH and in the
    shipped models.
    """
    return (path.parent / 'models', path.parent.parent.parent / 'models', *model_search_path())


def load_world(path: Path) -> World:
    """Read a world file and every model that it includes, found by `world_search_path`.

    Raises:
        OceanGymError: Anything that cannot be honoured, with file and element.
    """
    root = parse_xml(path)
    element = root.find('world')
    if element is None:
        raise SdfError(path, 'sdf', 'holds no <world>')
    search = world_search_path(path)
    cache: dict[Path, Model] = {}
    instances: list[Instance] = []
    for include in element.findall('include'):
        directory = included_model(path, include, search)
        if directory not in cache:
            cache[directory] = read_model(directory / 'model.sdf', search)
        model = cache[directory]
        instances.append(
            Instance(
                name=include.findtext('name', model.name).strip(),
                model=model,
                pose=pose_of(path, include),
            )
        )
    names = [instance.name for instance in instances]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SdfError(path, 'include', f'instance name {twice[0]!r} is used twice')
    bounds = element.find(own('bounds'))
    if bounds is None:
        raise SdfError(path, 'world', 'holds no <oceangym:bounds>')
    low = numbers(path, bounds.find('min'), 3, 'min')
    high = numbers(path, bounds.find('max'), 3, 'max')
    if any(a >= b for a, b in zip(low, high)):
        raise SdfError(path, 'oceangym:bounds', f'min {low} must be below max {high}')
    seed = element.find(own('world_seed'))
    return World(
        name=element.get('name', path.stem),
        path=path,
        seed=0 if seed is None else int(numbers(path, seed, 1, 'oceangym:world_seed')[0]),
        bounds=Bounds(lower=(low[0], low[1], low[2]), upper=(high[0], high[1], high[2])),
        instances=tuple(instances),
        anchors=tuple(_read_anchor(path, a, set(names)) for a in element.iter(own('anchor'))),
        heightfield=_load_heightfield(path, instances),
    )


def _read_anchor(path: Path, element: ElementTree.Element, names: set[str]) -> Anchor:
    name = element.get('name', '')
    members = tuple(element.get('instances', '').split())
    missing = [m for m in members if m not in names]
    if missing or not members:
        raise SdfError(
            path, 'oceangym:anchor', f'{name!r}: no such instances {missing or members}'
        )
    x, y, z = numbers(path, element.find('point'), 3, 'point')
    return Anchor(
        name=name,
        label=element.get('label', ''),
        point=(x, y, z),
        instances=members,
        radius=number_attribute(path, element, 'radius') if element.get('radius') else None,
    )


def _load_heightfield(path: Path, instances: list[Instance]) -> Heightfield | None:
    fields = [(i, i.model.heightfield) for i in instances if i.model.heightfield is not None]
    if not fields:
        return None
    if len(fields) > 1:
        raise SdfError(path, 'include', 'only one model may carry an oceangym:heightfield')
    instance, info = fields[0]
    assert info is not None
    height = _read_height_grid(info.path)
    x, y, z = instance.pose.position
    return Heightfield(
        height=height + z,
        origin=(info.origin[0] + x, info.origin[1] + y),
        spacing=info.spacing,
    )


def _read_height_grid(path: Path) -> Array:
    try:
        # Mapped, so that a header which claims a huge array is compared with the file's size.
        height: Any = np.load(path, allow_pickle=False, mmap_mode='r')
    except Exception as error:
        # NumPy has no common class for what a broken header makes it raise.
        raise OceanGymError(f'{path}: not a NumPy height grid: {error}') from error
    is_grid = isinstance(height, np.ndarray) and height.ndim == 2 and min(height.shape) >= 2
    if not is_grid or height.dtype.kind not in 'fiu' or not np.isfinite(height).all():
        what = f'{height.dtype} of shape {height.shape}' if is_grid else type(height).__name__
        raise OceanGymError(f'{path}: must be a 2-D grid of finite numbers, not {what}')
    return np.array(height, dtype=float)


def load_visual_mesh(visual: Visual) -> trimesh.Trimesh:
    """Return a visual's triangles in the model frame, UV and normals kept.

    Raises:
        OceanGymError: The file is not a mesh that trimesh can read.
    """
    mesh: Any
    if visual.mesh is None:
        assert visual.shape is not None
        mesh = _primitive_mesh(visual.shape.kind, visual.shape.size)
    else:
        mesh = _read_mesh(visual.mesh)
    transform = np.eye(4)
    transform[:3, :3] = visual.pose.rotation @ np.diag(visual.scale)
    transform[:3, 3] = visual.pose.position
    placed: trimesh.Trimesh = mesh.apply_transform(transform)
    return placed


def _read_mesh(path: Path) -> Any:
    import trimesh

    try:
        loaded: Any = trimesh.load(path, process=False)
        if isinstance(loaded, trimesh.Scene):
            nodes = loaded.graph.nodes_geometry
            if len(nodes) == 1:
                # Merging a scene would drop the file's normals, which are smooth over UV seams.
                transform, name = loaded.graph[nodes[0]]
                loaded = loaded.geometry[name].apply_transform(transform)
            else:
                loaded = loaded.to_mesh()
    except Exception as error:
        # trimesh has no common base class for what its many readers raise.
        raise OceanGymError(f'{path}: cannot be read as a mesh: {error}') from error
    if not isinstance(loaded, trimesh.Trimesh) or len(loaded.faces) == 0:
        raise OceanGymError(f'{path}: holds no triangles')
    check_finite(loaded, str(path))
    return loaded


def check_finite(mesh: Any, where: str) -> None:
    """Refuse a mesh with numbers that the ray tracer cannot take.

    Raises:
        OceanGymError: Begins with `where`.
    """
    uv = getattr(mesh.visual, 'uv', None)
    for what, values in (('vertices', mesh.vertices), ('texture coordinates', uv)):
        if values is not None and not np.isfinite(values).all():
            raise OceanGymError(f'{where}: has {what} that are not finite numbers')


def _primitive_mesh(kind: str, size: tuple[float, ...]) -> Any:
    import trimesh

    if kind == 'box':
        return trimesh.creation.box(size)
    if kind == 'sphere':
        return trimesh.creation.icosphere(subdivisions=3, radius=size[0])
    if kind == 'cylinder':
        return trimesh.creation.cylinder(radius=size[0], height=size[1], sections=32)
    return trimesh.creation.capsule(radius=size[0], height=size[1])
