"""Generates a world: ``python -m oceangym_worlds.generate --world FILE --output DIR``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
import functools
import hashlib
import json
import math
from pathlib import Path
import shutil
import sys
import tempfile

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose, quaternion_from_matrix
from oceangym_core.record.provenance import files_sha256
from oceangym_worlds.catalogue import build_model, CATALOGUE, unknown_model
from oceangym_worlds.modelling.model import PropModel, write_model
from oceangym_worlds.plan.config import load_world_config, WorldConfig
from oceangym_worlds.plan.layout import Layout, PlacedAnchor, PlacedProp, plan_layout
from oceangym_worlds.plan.pipe_route import lay_on_seabed
from oceangym_worlds.plan.scatter import strew
from oceangym_worlds.props import pipeline
from oceangym_worlds.sdf_world import Include, world_sdf
from oceangym_worlds.seabed.model import write_seabed
from oceangym_worlds.seabed.terrain import build_seabed, Seabed
from oceangym_worlds.user_props import build_user_prop

SHIPPED_SEED = 0
_NAMED_BY_MESHES = ('.mtl', '.bin', *Image.registered_extensions())


@dataclass(frozen=True, kw_only=True)
class GeneratedWorld:
    """A world in memory.

    Attributes:
        seabed: The terrain, model `terrain`.
        own_models: Models that only this world has: the pipeline's sections and the user's props.
        shared_models: Names of the shipped models that it includes.
        sdf: Text of the world file.
    """

    config: WorldConfig
    world_seed: int
    layout: Layout
    seabed: Seabed
    own_models: tuple[PropModel, ...]
    shared_models: tuple[str, ...]
    includes: tuple[Include, ...]
    sdf: str


def generate(config: WorldConfig, world_seed: int) -> GeneratedWorld:
    """Generate a world; the same configuration and seed give the same world.

    Raises:
        OceanGymError: The configuration names an unknown model, has a mesh that is not one, or cannot
            be laid out; the message names the file it was read from.
    """
    try:
        return _generate(config, world_seed)
    except OceanGymError as error:
        raise OceanGymError(f'{config.path or config.name}: {error}') from error


def _generate(config: WorldConfig, world_seed: int) -> GeneratedWorld:
    for name in [p.model for p in config.props] + [m for s in config.scatter for m in s.models]:
        if name is not None and name not in CATALOGUE:
            raise unknown_model(name)
    layout = plan_layout(config, world_seed)
    seabed = build_seabed(layout.terrain, world_seed)
    own: list[PropModel] = []
    includes = [Include(name='terrain', model='terrain', pose=Pose())]
    for placed in layout.props:
        prop = placed.config
        if prop.mesh is not None:
            own.append(build_user_prop(prop))
        pose = _standing(placed, seabed)
        includes.append(Include(name=prop.name, model=prop.model or prop.name, pose=pose))
    sections, anchors = _pipeline(config, layout, seabed, world_seed)
    own += [section.prop for section in sections]
    includes += [Include(name=s.prop.name, model=s.prop.name, pose=s.origin) for s in sections]
    includes += [
        Include(name=s.name, model=s.model, pose=s.pose)
        for s in strew(config, layout, seabed, world_seed)
    ]
    mine = {prop.name for prop in own} | {'terrain'}
    shared = tuple(sorted({i.model for i in includes} - mine))
    sdf = world_sdf(
        name=config.name,
        world_seed=world_seed,
        bounds=config.bounds,
        anchors=anchors,
        includes=includes,
    )
    return GeneratedWorld(
        config=config,
        world_seed=world_seed,
        layout=replace(layout, anchors=anchors),
        seabed=seabed,
        own_models=tuple(own),
        shared_models=shared,
        includes=tuple(includes),
        sdf=sdf,
    )


def write_world(world: GeneratedWorld, output: Path, *, shared: bool = True) -> Path:
    """Write a world under `output`: ``worlds/<name>/<name>.sdf`` and ``models/``.

    Args:
        world: What to write.
        output: Directory; made if it does not exist.
        shared: Build and write the shipped props too.

    Returns:
        The world file.
    """
    models = output / 'models'
    names = [
        'terrain',
        *(p.name for p in world.own_models),
        *(world.shared_models if shared else ()),
    ]
    for name in names:  # no file of an earlier version stays behind
        shutil.rmtree(models / name, ignore_errors=True)
    write_seabed(
        world.seabed, models, shipped=None if shared else assets_root() / 'models/terrain'
    )
    for prop in world.own_models:
        write_model(prop, models)
    if shared:
        for name in world.shared_models:
            write_model(build_model(name), models)
    path = output / 'worlds' / world.config.name / f'{world.config.name}.sdf'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(world.sdf, encoding='utf-8')
    return path


def ensure_world(
    name: str,
    world_seed: int,
    cache_dir: Path,
    *,
    report: Callable[[str], None] = lambda message: None,
) -> Path:
    """Return the SDF file of a world for a seed, generated into the cache if it is not shipped.

    The cached directory holds the world file, its terrain, its pipeline and the user's props; the
    other models are those shipped. It appears under its final name only when complete.

    Args:
        name: Of a shipped world, or the path of a YAML file, or of an SDF file, which is returned.
        world_seed: 0 is the released layout.
        cache_dir: Where generated worlds are kept.
        report: Told before a world is generated.

    Raises:
        OceanGymError: The world is unknown or its YAML has a mistake.
    """
    if name.endswith('.sdf'):
        if world_seed != SHIPPED_SEED:
            raise OceanGymError(
                f'world {name} is an SDF file, which has one layout: leave world_seed:= out, or name '
                'a YAML file, from which a layout can be generated'
            )
        return Path(name)
    config = load_world_config(name)
    shipped = assets_root() / 'worlds' / config.name / f'{config.name}.sdf'
    if world_seed == SHIPPED_SEED and not name.endswith(('.yaml', '.yml')) and shipped.is_file():
        return shipped
    folder = cache_dir / f'{config.name}_seed{world_seed}_{_digest(config)}'
    path = folder / 'worlds' / config.name / f'{config.name}.sdf'
    if path.is_file():
        return path
    report(
        f'generating world {config.name} for world_seed {world_seed}, once; it is kept in {cache_dir}'
    )
    world = generate(config, world_seed)
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix='.generating_', dir=cache_dir))
    except OSError as error:
        raise OceanGymError(
            f'cannot write worlds to {cache_dir}: {error.strerror or error}'
        ) from error
    try:
        write_world(world, staging, shared=False)
        try:
            staging.replace(folder)
        except OSError:
            # Another process has put the same world there in the meantime.
            if not path.is_file():
                raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return path


def _digest(config: WorldConfig) -> str:
    """Return a short name of all that a world depends on: values, the user's files, the generator."""
    state = hashlib.sha256(_generator_digest().encode())
    state.update(
        json.dumps(config.model_dump(mode='json', by_alias=True), sort_keys=True).encode()
    )
    for prop in config.props:
        if prop.mesh is not None:
            mesh = Path(prop.mesh)
            files = ((p.relative_to(mesh.parent).as_posix(), p) for p in _mesh_files(mesh))
            state.update(files_sha256(files).encode())
    return state.hexdigest()[:12]


def _mesh_files(mesh: Path) -> list[Path]:
    """Return a mesh file with what it may name: materials, buffers and pictures beside or below."""
    if mesh.suffix.lower() in ('.glb', '.stl'):
        return [mesh]
    around = (p for pattern in ('*', '*/*') for p in mesh.parent.glob(pattern))
    return [mesh, *(p for p in sorted(around) if p.suffix.lower() in _NAMED_BY_MESHES)]


@functools.lru_cache(maxsize=1)
def _generator_digest() -> str:
    """Return the digest of the generator's own source: another version gives other worlds."""
    package = Path(__file__).parent
    sources = package.rglob('*.py')
    return files_sha256((path.relative_to(package).as_posix(), path) for path in sources)


def _standing(placed: PlacedProp, seabed: Seabed) -> Pose:
    """Return the pose of a prop on its pad, leaning with it unless it is plumb."""
    x, y, z = placed.x, placed.y, placed.z
    if z is not None and placed.config.anchor is None:
        return Pose.from_euler((x, y, z), 0.0, 0.0, placed.yaw)
    z = round(float(seabed.heightfield.height(x, y)), 3)
    tilt = next((p.tilt for p in seabed.pads if (p.x, p.y) == (x, y)), (0.0, 0.0))
    if placed.config.upright:
        tilt = (0.0, 0.0)
    up = np.array([-tilt[0], -tilt[1], 1.0])
    ahead = np.array([math.cos(placed.yaw), math.sin(placed.yaw), 0.0])
    ahead[2] = tilt[0] * ahead[0] + tilt[1] * ahead[1]
    up, ahead = up / np.linalg.norm(up), ahead / np.linalg.norm(ahead)
    rotation = np.column_stack([ahead, np.cross(up, ahead), up])
    return Pose.of((x, y, z), quaternion_from_matrix(rotation))


def _pipeline(
    config: WorldConfig, layout: Layout, seabed: Seabed, world_seed: int
) -> tuple[list[pipeline.PlacedModel], tuple[PlacedAnchor, ...]]:
    """Return the pipeline's sections and the anchors with those sections that are theirs."""
    if config.pipeline is None:
        return [], layout.anchors
    line = lay_on_seabed(layout.route, seabed.heightfield)
    sections = pipeline.build(
        path=line,
        seed=world_seed,
        damaged=layout.route.damaged,
        buried=layout.route.buried,
        spans=[(a, b, config.pipeline.sag_m) for a, b in layout.route.free_span],
        seabed=seabed.heightfield.height,
    )
    anchors = []
    for anchor in layout.anchors:
        if not anchor.instances:
            names = tuple(s.prop.name for s in sections if _reaches(s, anchor))
            anchor = replace(anchor, instances=names)
        anchors.append(anchor)
    return sections, tuple(anchors)


def _reaches(section: pipeline.PlacedModel, anchor: PlacedAnchor) -> bool:
    """Return whether part of a section lies within the anchor's radius."""
    vertices = np.concatenate([np.asarray(p.mesh.vertices) for p in section.prop.parts])
    away: NDArray[np.float64] = section.origin.apply(vertices) - np.asarray(anchor.point)
    return bool(np.linalg.norm(away, axis=1).min() < (anchor.radius or math.inf))


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog='python -m oceangym_worlds.generate',
        description='Generate the SDF world and models of a world YAML.',
    )
    parser.add_argument('--world', default='ocean', help='name of a shipped world, or a YAML file')
    parser.add_argument('--world-seed', type=int, default=0, help='0: the released layout')
    parser.add_argument('--output', type=Path, required=True, help='directory to write into')
    parser.add_argument(
        '--without-shared', action='store_true', help='leave out the models shared by all worlds'
    )
    options = parser.parse_args(arguments)
    try:
        world = generate(load_world_config(options.world), options.world_seed)
        path = write_world(world, options.output, shared=not options.without_shared)
    except (OceanGymError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == '__main__':
    sys.exit(main())
