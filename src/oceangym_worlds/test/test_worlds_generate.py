"""World files: YAML in, SDF and models out, user props, the cache, and the shipped world regenerated."""

from __future__ import annotations

from functools import lru_cache
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image
import pytest
import trimesh
import yaml

from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError
from oceangym_core.world.world import load_visual_mesh, load_world
from oceangym_worlds import generate as generator
from oceangym_worlds.catalogue import build_model
from oceangym_worlds.modelling.model import write_model
from oceangym_worlds.plan.config import load_world_config
from oceangym_worlds.plan.layout import plan_layout
from oceangym_worlds.plan.pipe_route import trace
from oceangym_worlds.seabed.mesh import collision_mesh, seabed_meshes
from oceangym_worlds.seabed.model import write_seabed
from oceangym_worlds.seabed.relief import distance_to_line
from oceangym_worlds.seabed.textures import seabed_texture, TILE_M

POOL = """
name: pool
bounds: {min: [-60, -60, -60], max: [60, 60, 5]}
terrain:
  spacing_m: 4.0
  margin_m: 20
  control_points: [[-80, -80, -40], [80, -80, -44], [80, 80, -40], [-80, 80, -42]]
anchors:
  - {name: crate_1, label: CRATE, point: [10, 20, -41], instances: [crate_1]}
"""
CRATE = 'props:\n  - {name: crate_1, mesh: %s, anchor: crate_1, yaw_deg: 30%s}\n'


@lru_cache(maxsize=1)
def ocean() -> generator.GeneratedWorld:
    return generator.generate(load_world_config('ocean'), 0)


def write_pool(folder: Path, *, mesh: str = 'crate.glb', extra: str = '') -> Path:
    path = folder / 'pool.yaml'
    path.write_text(POOL + CRATE % (mesh, extra), encoding='utf-8')
    return path


def crate(folder: Path, name: str = 'crate.glb', extents: tuple[float, ...] = (2, 1, 4)) -> Path:
    box = trimesh.creation.box(extents=extents)
    box.apply_translation((100.0, -7.0, 3.0))
    box.export(folder / name)
    return folder / name


# ------------------------------------------------------------------ the ocean


def test_every_target_names_instances_at_its_point() -> None:
    world = ocean()
    includes = {i.name: i for i in world.includes}
    assert len(world.layout.anchors) == 14
    for anchor in world.layout.anchors:
        assert anchor.instances, anchor.name
        for name in anchor.instances:
            assert name in includes
        if anchor.radius is None:
            position = np.asarray(includes[anchor.instances[0]].pose.position)
            assert np.linalg.norm(position - anchor.point) < 0.1, anchor.name


def test_the_pipeline_passes_its_three_points_and_rests_on_the_seabed() -> None:
    world = ocean()
    route, field = world.layout.route.way, world.seabed.heightfield
    points = [world.layout.anchor(f'oil_pipeline_{n}').point for n in (3, 1, 2)]
    places = [int(np.argmin(np.hypot(*(route - p[:2]).T))) for p in points]
    assert places == sorted(places) and places[0] == 0
    sections = [i for i in world.includes if i.model.startswith('pipeline_')]
    models = {p.name: p for p in world.own_models}
    cloud = np.concatenate(
        [
            s.pose.apply(np.concatenate([p.mesh.vertices for p in models[s.model].parts]))
            for s in sections
        ]
    )
    for point in points[1:]:
        assert np.linalg.norm(cloud - point, axis=1).min() < 1.0
    origins = np.array([s.pose.position for s in sections])
    assert (np.abs(origins[:, 2] - field.height(origins[:, 0], origins[:, 1])) < 6.0).all()
    drums = world.layout.anchor('oil_drums_1').point
    assert float(distance_to_line(route, drums[0], drums[1])) > 40.0


def test_the_damaged_free_span_hangs_above_a_gully() -> None:
    world = ocean()
    (start, end), *_ = world.layout.route.free_span
    middle = round((start + end) / 2)
    bed = world.seabed.heightfield.height(*world.layout.route.way.T)
    chord = (bed[round(start)] + bed[round(end)]) / 2
    assert chord - bed[middle] > 2.0
    assert any(a < end and b > start for a, b in world.layout.route.damaged)


def test_boulders_and_plants_keep_clear_of_targets_starts_and_pipe() -> None:
    world = ocean()
    strewn = [i for i in world.includes if i.model.startswith(('boulder', 'kelp', 'seagrass'))]
    assert 300 <= sum(i.model.startswith('boulder') for i in strewn) <= 600
    positions = np.array([i.pose.position for i in strewn])
    for anchor in world.layout.anchors:
        assert np.hypot(*(positions[:, :2] - anchor.point[:2]).T).min() > 12.0, anchor.name
    for start in world.layout.starts:
        assert np.hypot(*(positions[:, :2] - start[:2]).T).min() > 15.0
    assert distance_to_line(world.layout.route.way, *positions[:, :2].T).min() > 3.5
    bed = world.seabed.heightfield.height(positions[:, 0], positions[:, 1])
    assert (np.abs(bed - positions[:, 2]) < 0.6).all()
    for anchor in world.layout.anchors:
        near = np.hypot(*(positions[:, :2] - anchor.point[:2]).T) < 30.0
        assert near.any(), f'{anchor.name} stands on a bare plain'


def test_props_do_not_overlap() -> None:
    """Ship 2 and aircraft 1 are the closest pair: 38 m."""
    props = ocean().layout.props
    for i, first in enumerate(props):
        for second in props[i + 1 :]:
            assert math.hypot(first.x - second.x, first.y - second.y) > 35.0


def test_world_file_has_what_gazebo_expects() -> None:
    root = ElementTree.fromstring(ocean().sdf)
    assert root.get('version') == '1.11'
    element = root.find('world')
    assert element is not None
    systems = {p.get('name') for p in element.findall('plugin')}
    for name in ('Physics', 'UserCommands', 'SceneBroadcaster', 'Sensors', 'Buoyancy', 'Contact'):
        assert f'gz::sim::systems::{name}' in systems
    assert element.find('light') is not None
    assert element.find('spherical_coordinates') is not None
    assert element.find('scene/fog') is None


# ------------------------------------------------------------------ shipped files


def assert_same_model(fresh: Path, shipped: Path) -> None:
    files = sorted(p.relative_to(fresh) for p in fresh.rglob('*') if p.is_file())
    assert files == sorted(p.relative_to(shipped) for p in shipped.rglob('*') if p.is_file())
    for name in files:
        one, two = fresh / name, shipped / name
        if name.suffix in ('.sdf', '.config'):
            assert one.read_text() == two.read_text(), name
        elif name.suffix == '.glb':
            a, b = (trimesh.load(p, force='mesh', process=False) for p in (one, two))
            assert np.array_equal(a.faces, b.faces), name
            assert np.abs(a.vertices - b.vertices).max() <= 1e-3, name
        elif name.suffix == '.npy':
            assert np.abs(np.load(one) - np.load(two)).max() <= 1e-3
        else:
            a, b = (np.asarray(Image.open(p)).astype(int) for p in (one, two))
            assert np.abs(a - b).max() <= 2, name


def test_shipped_world_file_is_what_is_generated() -> None:
    shipped = assets_root() / 'worlds' / 'ocean' / 'ocean.sdf'
    assert shipped.read_text(encoding='utf-8') == ocean().sdf


def test_shipped_terrain_is_what_is_generated(tmp_path: Path) -> None:
    write_seabed(ocean().seabed, tmp_path)
    assert_same_model(tmp_path / 'terrain', assets_root() / 'models' / 'terrain')


@pytest.mark.parametrize('name', ['pipeline_03', 'boulder_b', 'seagrass', 'oil_drums'])
def test_shipped_models_are_what_is_generated(name: str, tmp_path: Path) -> None:
    own = {p.name: p for p in ocean().own_models}
    write_model(own[name] if name in own else build_model(name), tmp_path)
    assert_same_model(tmp_path / name, assets_root() / 'models' / name)


def test_no_two_textures_share_a_file_name() -> None:
    """Gazebo's renderer tells textures apart by that name alone."""
    pictures = [p for p in (assets_root() / 'models').rglob('textures/*') if p.is_file()]
    assert len(pictures) > 100
    assert len({p.name for p in pictures}) == len(pictures)


def test_shipped_world_loads_and_stays_small() -> None:
    world = load_world(assets_root() / 'worlds' / 'ocean' / 'ocean.sdf')
    assert world.heightfield is not None
    assert len(world.anchors) == 14
    for folder in ('worlds', 'models'):
        assert (assets_root() / folder).is_dir()
    size = sum(
        p.stat().st_size
        for folder in ('worlds', 'models')
        for p in (assets_root() / folder).rglob('*')
        if p.is_file()
    )
    assert size < 40e6


# ------------------------------------------------------------------ meshes and textures


def test_material_meshes_tile_the_seabed_without_gaps() -> None:
    seabed = ocean().seabed
    meshes = seabed_meshes(seabed)
    assert set(meshes) == set(TILE_M)
    ny, nx = seabed.heightfield.z.shape
    flat = 0.0
    for mesh in meshes.values():
        triangles = mesh.vertices[mesh.faces][:, :, :2]
        edge, other = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
        area = 0.5 * (edge[:, 0] * other[:, 1] - edge[:, 1] * other[:, 0])
        assert area.min() > 0.0  # all face up
        flat += area.sum()
        assert (mesh.vertex_normals[:, 2] > 0.5).all()
    assert flat == pytest.approx((nx - 1) * (ny - 1) * seabed.heightfield.spacing**2, rel=1e-9)


def test_collision_mesh_follows_the_seabed() -> None:
    field = ocean().seabed.heightfield
    mesh = collision_mesh(field)
    x, y, z = np.asarray(mesh.vertices).T
    assert np.abs(field.height(x, y) - z).max() < 1e-3
    centres = mesh.triangles_center
    gap = np.abs(field.height(centres[:, 0], centres[:, 1]) - centres[:, 2])
    assert np.quantile(gap, 0.99) < 0.5


@pytest.mark.parametrize('material', sorted(TILE_M))
def test_seabed_textures_are_seamless(material: str) -> None:
    image = seabed_texture(material, 0, 256).astype(float)
    for axis in (0, 1):
        seam = np.abs(np.take(image, 0, axis) - np.take(image, -1, axis)).mean()
        inside = np.abs(np.diff(image, axis=axis)).mean(axis=(1 - axis, 2))
        assert seam <= inside.max() * 1.2


# ------------------------------------------------------------------ user worlds


def test_a_users_mesh_becomes_a_prop(tmp_path: Path) -> None:
    crate(tmp_path)
    extra = ', scale: 0.5, colour: orange, class: crate, material: wood'
    path = generator.ensure_world(str(write_pool(tmp_path, extra=extra)), 0, tmp_path / 'cache')
    world = load_world(path)
    instance = world.instance('crate_1')
    assert np.allclose(instance.pose.position, (10, 20, -41), atol=0.1)
    assert instance.model.prop.label == 'CRATE 1'
    assert instance.model.prop.prop_class == 'crate'
    (visual,) = instance.model.visuals
    mesh = load_visual_mesh(visual)
    # glTF has y up: 2 x 1 x 4 in the file, at half scale, stands 0.5 m tall on the seabed.
    assert np.allclose(mesh.bounds, [[-0.5, -1.0, 0.0], [0.5, 1.0, 0.5]], atol=1e-5)
    (box,) = instance.model.collisions
    assert sorted(box.shape.size) == pytest.approx([0.5, 1.0, 2.0], abs=1e-4)
    assert visual.acoustic_material == 'wood'
    assert visual.albedo_map is not None
    red, green, blue = np.asarray(Image.open(visual.albedo_map)).reshape(-1, 3).mean(axis=0)
    assert red > 220 and 130 < green < 190 and blue < 40
    assert world.anchor('crate_1').instances == ('crate_1',)


def test_a_users_texture_is_kept(tmp_path: Path) -> None:
    picture = Image.fromarray(np.full((16, 16, 3), (20, 200, 40), dtype=np.uint8))
    mesh = trimesh.creation.box(extents=(1, 1, 1))
    uv = np.asarray(mesh.vertices)[:, :2] + 0.5
    white = trimesh.visual.material.SimpleMaterial(image=picture, diffuse=(255, 255, 255, 255))
    mesh.visual = trimesh.visual.TextureVisuals(uv=uv, material=white)
    mesh.export(tmp_path / 'crate.obj')
    path = generator.ensure_world(
        str(write_pool(tmp_path, mesh='crate.obj')), 0, tmp_path / 'cache'
    )
    (visual,) = load_world(path).instance('crate_1').model.visuals
    assert visual.albedo_map is not None
    assert np.allclose(
        np.asarray(Image.open(visual.albedo_map)).reshape(-1, 3).mean(axis=0),
        (20, 200, 40),
        atol=4,
    )
    (texture,) = tmp_path.glob('*.png')
    Image.fromarray(np.full((16, 16, 3), (200, 20, 40), dtype=np.uint8)).save(texture)
    source = str(tmp_path / 'pool.yaml')
    assert generator.ensure_world(source, 0, tmp_path / 'cache') != path


def test_the_cache_is_used_and_keyed_by_content(tmp_path: Path) -> None:
    crate(tmp_path)
    source, cache = write_pool(tmp_path), tmp_path / 'cache'
    path = generator.ensure_world(str(source), 0, cache)
    path.write_text(path.read_text().replace('</sdf>', '<!-- kept --></sdf>'))
    assert generator.ensure_world(str(source), 0, cache) == path
    assert 'kept' in path.read_text()
    crate(tmp_path, extents=(1, 1, 1))
    assert generator.ensure_world(str(source), 0, cache) != path
    assert generator.ensure_world(str(source), 7, cache) != path
    assert not [p for p in cache.iterdir() if p.name.startswith('.')]


def test_extending_the_ocean_adds_to_its_lists(tmp_path: Path) -> None:
    crate(tmp_path)
    path = tmp_path / 'harbour.yaml'
    path.write_text(
        'extends: ocean\n'
        'anchors: [{name: crate_1, label: CRATE, point: [0, 60, -63], instances: [crate_1]}]\n'
        'props: [{name: crate_1, mesh: crate.glb, anchor: crate_1}]\n'
    )
    config, base = load_world_config(path), load_world_config('ocean')
    assert config.name == 'harbour'
    assert [a.name for a in config.anchors] == [*(a.name for a in base.anchors), 'crate_1']
    assert config.props[-1].mesh == str(tmp_path / 'crate.glb')
    assert config.scatter == base.scatter


def test_the_shipped_world_needs_no_generation(tmp_path: Path) -> None:
    assert generator.ensure_world('ocean', 0, tmp_path) == (
        assets_root() / 'worlds' / 'ocean' / 'ocean.sdf'
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ('old', 'new', 'expected'),
    [
        ('bounds:', 'bouds:', ['bouds', "Did you mean 'bounds'", 'pool.yaml']),
        ('label:', 'lable:', ['anchors.crate_1.lable', "Did you mean 'label'"]),
        ('spacing_m: 4.0', 'spacing_m: wide', ['terrain.spacing_m', 'wide']),
        ('spacing_m: 4.0', 'spacing_m: .nan', ['terrain.spacing_m']),
        ('min: [-60, -60, -60]', 'min: [60, -60, -60]', ['bounds', 'must be below max']),
        ('instances: [crate_1]', 'instances: [crate_2]', ['crate_2', 'crate_1']),
        ('anchor: crate_1', 'anchor: crate_9', ['crate_9', "Did you mean 'crate_1'"]),
        ('mesh: crate.glb', 'model: mining_robt', ['mining_robt', "Did you mean 'mining_robot'"]),
        ('mesh: crate.glb', 'mesh: none.glb', ['none.glb', 'crate_1']),
        ('mesh: crate.glb', 'mesh: pool.yaml', ['pool.yaml', '.glb']),
        ('yaw_deg: 30', 'yaw_deg: 30, material: stel', ['stel', "Did you mean 'steel'"]),
        ('yaw_deg: 30', 'yaw_deg: 30, scale: 1000', ['crate.glb', 'scale']),
        ('yaw_deg: 30', 'yaw_deg: 30, colour: reddish', ['crate_1', 'reddish']),
        ('point: [10, 20, -41]', 'point: [90, 20, -41]', ['crate_1', 'outside the bounds']),
        ('point: [10, 20, -41]', 'point: [10, 20, -4]', ['crate_1', 'shallowest_m']),
        ('margin_m: 20', 'margin: 20', ['terrain.margin', "Did you mean 'margin_m'"]),
        ('props:', 'pipeline: {route: [crate_2, crate_1]}\nprops:', ['pipeline.route', 'crate_1']),
        ('name: pool', 'name: [', ['pool.yaml is not valid YAML']),
        ('name: pool', 'extends: pond', ['pond', 'ocean']),
        ('name: pool', 'extends: pool.yaml', ['pool.yaml']),
    ],
)
def test_mistakes_name_file_and_key(
    old: str, new: str, expected: list[str], tmp_path: Path
) -> None:
    crate(tmp_path)
    path = write_pool(tmp_path)
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(OceanGymError) as caught:
        generator.ensure_world(str(path), 0, tmp_path / 'cache')
    for words in expected:
        assert words in str(caught.value)


def test_mutated_worlds_are_laid_out_or_refused(tmp_path: Path) -> None:
    """Wrong types, signs, sizes and missing keys anywhere in the shipped YAML."""
    text = (assets_root() / 'config' / 'worlds' / 'ocean.yaml').read_text(encoding='utf-8')
    rng = np.random.Generator(np.random.Philox(key=9))
    path = tmp_path / 'mutated.yaml'
    refused = 0
    for _ in range(40):
        data = yaml.safe_load(text)
        node, key = data, rng.choice(list(data))
        while isinstance(node[key], (dict, list)) and len(node[key]) and rng.random() < 0.85:
            node = node[key]
            keys = list(node) if isinstance(node, dict) else range(len(node))
            key = list(keys)[rng.integers(len(keys))]
        node[key] = [None, 'x', -5, 9e4, 0, math.nan, [node[key]], {'a': 1}][rng.integers(8)]
        path.write_text(yaml.safe_dump(data), encoding='utf-8')
        try:
            layout = plan_layout(load_world_config(path), 0)
            assert np.isfinite(layout.terrain.control).all()
        except OceanGymError as error:
            refused += 1
            assert str(error)
    assert refused > 10


@pytest.mark.parametrize('content', [b'', b'\xff\xfe\x00', b'[1, 2]', b'a: &x [*x]', b'1: 2'])
def test_garbage_is_refused_with_a_message(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / 'garbage.yaml'
    path.write_bytes(content)
    with pytest.raises(OceanGymError, match=r'garbage\.yaml'):
        load_world_config(path)


@pytest.mark.parametrize('content', [b'', b'glTF', b'\x00' * 100, b'o cube\nv 1 2\nf 1 2 3\n'])
@pytest.mark.parametrize('name', ['crate.glb', 'crate.obj'])
def test_a_broken_mesh_is_refused_with_a_message(
    content: bytes, name: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(OceanGymError, match=name.replace('.', r'\.')):
        generator.ensure_world(str(write_pool(tmp_path, mesh=name)), 0, tmp_path / 'cache')


def test_command_line_reports_errors_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generator.main(['--world', 'osean', '--output', str(tmp_path)]) == 1
    assert "Did you mean 'ocean'" in capsys.readouterr().err


def test_trace_passes_through_its_stops_a_point_a_metre() -> None:
    stops = np.array([[0.0, 0.0], [50.0, 10.0], [60.0, 70.0], [10.0, 90.0]])
    way = trace(stops)
    steps = np.hypot(*np.diff(way, axis=0).T)
    assert np.abs(steps - 1.0).max() < 0.05
    for stop in stops:
        assert np.hypot(*(way - stop).T).min() < 0.6
