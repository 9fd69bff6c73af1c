"""Task, water and profile files: what is shipped, what a user adds, what is refused."""

from __future__ import annotations

import itertools
from pathlib import Path

from PIL import Image
import pytest
import yaml

from oceangym_core.assets import config_path
from oceangym_core.config.options import parse_ros_arguments
from oceangym_core.config.tasks import (
    load_task,
    PAPER_WEIGHTS,
    resolve_targets,
    TaskRegistry,
)
from oceangym_core.config.waters import JERLOV_TYPES, load_profile, load_water, Water
from oceangym_core.contract.labels import normalised_label
from oceangym_core.errors import OceanGymError
from oceangym_core.scoring.compat import RELEASED_TARGETS
from oceangym_core.world.world import load_world, world_path

MINIMAL = {
    'id': 'find_anchor',
    'title': 'Find the anchor',
    'category': 'detection',
    'size_class': 'small',
    'label': 'ANCHOR',
    'target_name': 'anchor',
    'target_description': 'A stockless anchor.',
    'instruction': 'Find the anchor.',
    'targets': ['sunken_ship_1'],
}


def write(path: Path, **changes: object) -> Path:
    content = {**MINIMAL, **changes}
    path.write_text(yaml.safe_dump({k: v for k, v in content.items() if v is not ...}))
    return path


def test_twelve_tasks_eight_shallow_and_four_deep() -> None:
    rows = TaskRegistry.load().benchmark()
    assert [row[0] for row in rows] == [f'task{n}' for n in range(1, 13)]
    assert [row[2] for row in rows] == ['shallow'] * 8 + ['deep'] * 4
    assert [row[1] for row in rows[8:]] == [
        'inspect_pipe',
        'locate_drums',
        'search_ship',
        'inspect_turbine',
    ]


def test_every_task_has_as_many_targets_as_the_released_evaluator() -> None:
    registry = TaskRegistry.load()
    for alias, task_id, _ in registry.benchmark():
        task = registry.get(task_id)
        assert len(task.targets) == len(RELEASED_TARGETS[int(alias[4:])])
        assert task.target_weights == PAPER_WEIGHTS[len(task.targets)]
        assert (task.t_max, task.t_interval) == (1800.0, 30.0)
        assert len(task.instruction) > 80 and len(task.target_description) > 80


def test_the_shipped_world_has_every_released_target() -> None:
    world = load_world(world_path('ocean'))
    registry = TaskRegistry.load()
    for alias, task_id, _ in registry.benchmark():
        targets = resolve_targets(registry.get(task_id), world)
        assert tuple(t.point for t in targets) == RELEASED_TARGETS[int(alias[4:])]
        for target in targets:
            anchor = world.anchor(target.name)
            assert target.is_called(anchor.label), target.name
            assert target.footprint.distance(target.point)[0] < 1.0, target.name


def test_every_task_has_a_reference_picture_of_512_px() -> None:
    for task in TaskRegistry.load().tasks.values():
        path = task.reference_image_path
        assert path is not None, task.id
        with Image.open(path) as picture:
            assert picture.size == (512, 512)


def test_a_world_without_the_target_is_refused(tmp_path: Path) -> None:
    task = load_task(write(tmp_path / 'mine.yaml', targets=['sunken_shipp_1']))
    with pytest.raises(OceanGymError, match="Did you mean 'sunken_ship_1'"):
        resolve_targets(task, load_world(world_path('ocean')))


def test_instructions_hold_no_number_of_a_coordinate() -> None:
    for task in TaskRegistry.load().tasks.values():
        digits = [w for w in task.instruction.split() if any(c.isdigit() for c in w)]
        assert digits == [], task.id


@pytest.mark.parametrize(
    ('task', 'label'),
    [
        *(('search_ship', name) for name in ('Sunken Ship.', 'SUNKEN SHIPS', 'sunken ship 1')),
        *(('search_ship', name) for name in ('wooden shipwreck', '"the sunken_ship"', 'Ship #2')),
        *(('search_ship', name) for name in ('Sunken ship (second)', 'SUNKEN SHIP B', 'ship!')),
        *(('locate_drums', name) for name in ('DRUMS', 'blue oil drums!')),
        *(('dock', name) for name in ('H platform', ' the  h-marked_landing platform ')),
        ('locate_electrical_box', 'Electrical boxes'),
        ('search_aircraft', "aircraft's wreckage 3"),
        ('inspect_turbine', 'WIND POWER STATION NO. 1'),
    ],
)
def test_a_label_may_be_written_as_people_write(task: str, label: str) -> None:
    names = TaskRegistry.load().get(task).labels
    assert normalised_label(label) in names


def test_no_label_of_one_task_counts_in_another_or_names_other_props() -> None:
    tasks = TaskRegistry.load().tasks.values()
    for one, other in itertools.permutations(tasks, 2):
        assert not one.labels & other.labels, (one.id, other.id)
    others = {'tower wreck', 'container boxes', 'wreck', 'rock', 'not a ship', 'no ship', 'box'}
    for task in tasks:
        assert not task.labels & set(map(normalised_label, others)), task.id


def test_numbers_of_yaml_1_2_are_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / 'mine.yaml')
    path.write_text(path.read_text() + 't_max: 6e2\nt_interval: 1.5E+1\n')
    task = load_task(path)
    assert (task.t_max, task.t_interval) == (600.0, 15.0)


def test_a_user_s_task_by_path_and_by_directory(tmp_path: Path) -> None:
    path = write(tmp_path / 'mine.yaml')
    assert parse_ros_arguments([f'task:={path}']).task == str(path)
    assert load_task(path).target_weights == (1.0,)
    (tmp_path / 'conf' / 'tasks').mkdir(parents=True)
    write(tmp_path / 'conf' / 'tasks' / 'other.yaml', id='other_task')
    options = parse_ros_arguments(['task:=other_task', f'config:={tmp_path / "conf"}'])
    assert options.task == 'other_task'
    with pytest.raises(OceanGymError, match='does not exist'):
        parse_ros_arguments(['config:=/nowhere/at/all'])


@pytest.mark.parametrize(
    ('changes', 'part'),
    [
        ({'titel': 'x'}, "unknown key 'titel'. Did you mean 'title'?"),
        ({'title': ...}, "key 'title' is missing"),
        ({'category': 'search'}, 'category'),
        ({'t_max': '1800'}, 't_max'),
        ({'t_max': -1}, 't_max'),
        ({'t_max': float('nan')}, 't_max'),
        ({'t_max': 10.0}, 'exceeds t_max'),
        ({'targets': []}, 'targets'),
        ({'targets': ['a_b', 'a_b']}, 'named twice'),
        ({'targets': ['a1', 'b1', 'c1', 'd1']}, '4 targets need weights'),
        ({'weights': [0.5, 0.5]}, '2 numbers for 1 targets'),
        ({'targets': ['a1', 'b1'], 'weights': [0.5, 0.6]}, 'sum to 1.1'),
        ({'bounds': {'min': [0, 0, 0], 'max': [1, 1, -1]}}, 'below max'),
        ({'bounds': {'min': [0, 0, 0], 'maximum': [1, 1, 1]}}, "Did you mean 'max'?"),
        ({'id': 'With Spaces'}, 'id'),
        ({'waters': ['deep'], 'benchmark': {'shallow': 'mine1'}}, 'not among its waters'),
    ],
)
def test_a_wrong_task_file_names_file_and_key(tmp_path: Path, changes: dict, part: str) -> None:
    path = write(tmp_path / 'mine.yaml', **changes)
    with pytest.raises(OceanGymError) as caught:
        load_task(path)
    assert part in str(caught.value) and 'mine.yaml' in str(caught.value)


def test_four_targets_with_weights_are_fine(tmp_path: Path) -> None:
    path = write(
        tmp_path / 'four.yaml', targets=['a1', 'b1', 'c1', 'd1'], weights=[0.4, 0.3, 0.2, 0.1]
    )
    assert load_task(path).target_weights == (0.4, 0.3, 0.2, 0.1)


def test_two_files_cannot_claim_one_id_or_alias(tmp_path: Path) -> None:
    write(tmp_path / 'a.yaml')
    write(tmp_path / 'b.yaml')
    with pytest.raises(OceanGymError, match='taken by'):
        TaskRegistry.load([tmp_path])
    write(tmp_path / 'b.yaml', id='second', benchmark={'shallow': 'task3'})
    with pytest.raises(OceanGymError, match="alias 'task3' is taken"):
        TaskRegistry.load([tmp_path])


def test_a_task_may_be_bound_to_a_water(tmp_path: Path) -> None:
    path = write(tmp_path / 'mine.yaml', waters=['deep'])
    assert parse_ros_arguments([f'task:={path}', 'water:=deep']).water == 'deep'
    with pytest.raises(OceanGymError, match='does not run in water'):
        parse_ros_arguments([f'task:={path}'])


def test_shallow_is_lit_by_day_and_deep_by_lamps() -> None:
    shallow, deep = load_water('shallow'), load_water('deep')
    assert (shallow.depth_offset, shallow.lamps) == (0.0, False)
    assert (deep.depth_offset, deep.light_lux, deep.lamps, deep.visibility) == (
        450.0,
        1.5,
        True,
        10.0,
    )
    assert shallow.jerlov == deep.jerlov == 'IB'


def test_a_user_s_water_by_path(tmp_path: Path) -> None:
    content = yaml.safe_load(config_path('waters', 'deep.yaml').read_text())
    path = tmp_path / 'twilight.yaml'
    path.write_text(yaml.safe_dump({**content, 'id': 'twilight', 'depth_offset': 150.0}))
    assert load_water(str(path)).depth_offset == 150.0
    assert parse_ros_arguments([f'water:={path}']).water == str(path)
    path.write_text(yaml.safe_dump({**content, 'jerlov': 'IV'}))
    with pytest.raises(OceanGymError, match='jerlov'):
        load_water(str(path))


def test_the_water_schema_takes_every_jerlov_type() -> None:
    assert Water.model_fields['jerlov'].annotation.__args__ == JERLOV_TYPES


def test_profiles_differ_in_current_navigation_and_battery() -> None:
    standard, hard = load_profile('standard'), load_profile('hard')
    assert (standard.current.speed, standard.nav, standard.battery_ends) == (0.0, 'truth', False)
    assert (hard.current.speed, hard.nav, hard.battery_ends) == (0.25, 'dead_reckoning', True)
    assert hard.current.veer_deg > 0


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / 'mine.yaml'
    path.write_text('id: a\nid: b\n')
    with pytest.raises(OceanGymError, match="key 'id' is given twice"):
        load_task(path)
