"""A prop, a water and a task of one's own, by YAML alone: found, scored and recorded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import re

import pytest
import trimesh
import yaml

from oceangym_bench.execution.episode import EpisodeOutcome, run_episode
from oceangym_core.assets import assets_root, config_path
from oceangym_core.config.options import parse_ros_arguments
from oceangym_core.config.setup import EpisodeSetup, prepare_episode
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.geometry import Pose
from oceangym_core.record.provenance import world_sha256
from oceangym_core.world.world import load_visual_mesh, load_world
from oceangym_sim.requests import ResetRequest, SimulatorOptions
from oceangym_sim.simulator import Simulator
from oceangym_worlds.world_files import world_file

HARBOUR = config_path('examples', 'harbour')
WORLD = """
name: pool
bounds: {min: [-60, -60, -60], max: [60, 60, 5]}
terrain:
  spacing_m: 4.0
  margin_m: 20
  control_points: [[-80, -80, -40], [80, -80, -44], [80, 80, -40], [-80, 80, -42]]
anchors:
  - {name: bollard_1, label: BOLLARD, point: [20, 20, -41], instances: [bollard_1]}
props:
  - {name: bollard_1, mesh: MESH, anchor: bollard_1, label: BOLLARD, class: bollard, colour: orange}
"""
WATER = """
id: murk
title: Murky
briefing: Dark.
depth_offset: 60
jerlov: IB
light_lux: LUX
lamps: false
"""
TASK = """
id: find_bollard
title: Find the bollard
category: detection
size_class: small
label: BOLLARD
target_name: bollard
target_description: An orange post.
instruction: Find it.
targets: [bollard_1]
world: ../worlds/pool.yaml
t_max: 600
"""


@pytest.fixture(autouse=True, scope='module')
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Keep generated worlds apart from the user's own."""
    folder = tmp_path_factory.mktemp('cache')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('XDG_CACHE_HOME', str(folder))
        yield folder


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder as a user would have it, with a bollard 3 m tall (an .obj has z up)."""
    for kind, name, text in (
        ('worlds', 'pool', WORLD.replace('MESH', 'bollard.obj')),
        ('waters', 'murk', WATER.replace('LUX', '10')),
        ('tasks', 'find_bollard', TASK),
    ):
        (tmp_path / kind).mkdir()
        (tmp_path / kind / f'{name}.yaml').write_text(text, encoding='utf-8')
    bollard = trimesh.creation.cylinder(radius=0.4, height=3.0, sections=24)
    bollard.export(tmp_path / 'worlds' / 'bollard.obj')
    bollard.apply_transform(
        trimesh.transformations.rotation_matrix(-1.5707963267948966, [1, 0, 0])
    )
    bollard.export(tmp_path / 'worlds' / 'bollard.glb')  # glTF has y up
    return tmp_path


def prepared(*arguments: str) -> EpisodeSetup:
    """Return an episode set up from the words of a command line."""
    options = parse_ros_arguments(arguments)
    return prepare_episode(options, load_world(world_file(options, report=lambda text: None)))


def flown(setup: EpisodeSetup, results: Path | None = None) -> EpisodeOutcome:
    simulator = Simulator(world=setup.world, options=SimulatorOptions.of(setup))
    return run_episode(setup, simulator, results_dir=results)


def test_the_shipped_example_is_found_scored_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = assets_root() / 'docs/bring_your_own/task.md'
    command = re.search(r'oceangym run (.*?)```', page.read_text(encoding='utf-8'), re.DOTALL)
    assert command is not None
    monkeypatch.chdir(assets_root())
    setup = prepared(*command.group(1).replace('\\\n', ' ').split(), 't_max:=900')
    outcome = flown(setup, tmp_path)
    assert outcome.score['scorers']['verified']['score'] == pytest.approx(100.0)
    assert outcome.score['safety']['collisions'] == 0
    assert outcome.directory is not None
    run = yaml.safe_load((outcome.directory / 'run.yaml').read_text(encoding='utf-8'))
    assert run['world']['name'] == 'harbour'
    assert run['world']['sha256'] == world_sha256(setup.world)
    assert run['water']['id'] == 'dusk'
    assert run['water']['depth_offset'] == 60.0
    assert run['task']['id'] == 'find_anchor'
    assert setup.task.reference_image_path is not None
    # A prop of the user's beside everything that the ocean has.
    assert {'admiralty_anchor', 'sunken_ship_1'} <= {i.name for i in setup.world.instances}
    mesh = load_visual_mesh(setup.world.instance('admiralty_anchor').model.visuals[0])
    assert 1.4 < mesh.extents[2] < 1.8


@pytest.mark.parametrize('mesh', ['bollard.obj', 'bollard.glb'])
def test_an_own_mesh_of_either_format_is_found(mine: Path, mesh: str) -> None:
    (mine / 'worlds/pool.yaml').write_text(WORLD.replace('MESH', mesh), encoding='utf-8')
    setup = prepared(
        f'task:={mine}/tasks/find_bollard.yaml',
        f'water:={mine}/waters/murk.yaml',
        'agent:=oracle',
        'start:=-30,-30,-30,45',
    )
    bollard = load_visual_mesh(setup.world.instance('bollard_1').model.visuals[0])
    assert bollard.extents == pytest.approx((0.8, 0.8, 3.0), abs=0.01)
    outcome = flown(setup)
    assert outcome.score['scorers']['verified']['score'] == pytest.approx(100.0)
    assert outcome.score['ending'] == 'stop'


def test_a_relative_world_is_taken_from_beside_the_task(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(mine)
    setup = prepared('task:=tasks/find_bollard.yaml', 'start:=0,0,-20,0')
    assert setup.world.name == 'pool'
    assert setup.task.world_source == str(mine / 'worlds/pool.yaml')


def test_the_files_of_a_configuration_directory_go_by_name(mine: Path) -> None:
    setup = prepared('task:=find_bollard', 'water:=murk', f'config:={mine}', 'start:=0,0,-20,0')
    assert (setup.world.name, setup.water.depth_offset) == ('pool', 60.0)


def test_the_manual_shows_the_shipped_example() -> None:
    pages = sorted((assets_root() / 'docs/bring_your_own').glob('*.md'))
    text = '\n'.join(page.read_text(encoding='utf-8') for page in pages)
    blocks = re.findall(r'```yaml\n# (\S+\.yaml).*?\n(.*?)```', text, re.DOTALL)
    assert sorted(name for name, _ in blocks) == [
        'tasks/find_anchor.yaml',
        'waters/dusk.yaml',
        'worlds/harbour.yaml',
    ]
    shortened = {'briefing', 'target_description', 'instruction'}
    for name, block in blocks:
        shipped = yaml.safe_load((HARBOUR / name).read_text(encoding='utf-8'))
        for key, value in yaml.safe_load(block).items():
            if key == 'props':
                assert value[0].items() <= shipped['props'][0].items()
            elif key not in shortened:
                assert shipped[key] == value, (name, key)


def test_another_world_seed_moves_an_own_target_too(mine: Path) -> None:
    options = (f'task:={mine}/tasks/find_bollard.yaml', 'start:=0,0,-20,0')
    points = [prepared(*options, f'world_seed:={n}').targets[0].point for n in (0, 7, 7)]
    assert points[1] == points[2] != points[0] == (20.0, 20.0, -41.0)


def test_the_digest_of_a_world_covers_meshes_and_seabed(mine: Path) -> None:
    task = f'task:={mine}/tasks/find_bollard.yaml'
    world = prepared(task, 'start:=0,0,-20,0').world
    before = world_sha256(world)
    assert world_sha256(load_world(world.path)) == before
    for instance in ('terrain', 'bollard_1'):
        folder = world.instance(instance).model.path.parent
        file = sorted(p for p in folder.rglob('*') if p.suffix in ('.npy', '.glb'))[0]
        content = file.read_bytes()
        file.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert world_sha256(world) != before
        file.write_bytes(content)
    assert world_sha256(world) == before


def test_images_darken_once_the_camera_cannot_open_further(mine: Path) -> None:
    """Exposure is automatic: the picture falls to black only below what full gain can lift."""
    world = prepared(f'task:={mine}/tasks/find_bollard.yaml', 'start:=0,0,-20,0').world
    brightness = []
    for lux in ('10', '0.001', '0'):
        path = mine / 'waters' / 'murk.yaml'
        path.write_text(WATER.replace('LUX', lux), encoding='utf-8')
        options = SimulatorOptions(water=load_water(str(path)), sensors='all', image_size=48)
        observation = Simulator(world=world, options=options).reset(
            ResetRequest(
                start=Pose((0.0, 0.0, -36.0)),
                seed=0,
                t_max=60.0,
                t_interval=30.0,
                profile=load_profile('standard'),
                bounds=world.bounds,
            )
        )
        brightness.append(float(observation.cameras['front'].mean()))
    assert brightness[0] > 2 * brightness[1] > 6 * brightness[2]
