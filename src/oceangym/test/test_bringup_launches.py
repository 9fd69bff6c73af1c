"""The launch files as data: what each starts, takes and refuses, and what rviz shows."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest
import yaml

from oceangym.distributions import check_distributions
from oceangym.launches import launch_named, LAUNCHES
from oceangym.prerequisites import check_packages, check_path
from oceangym.run_command import run_command
from oceangym_core.assets import config_path
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.topics import CONTRACT
from oceangym_core.errors import OceanGymError
from oceangym_gazebo.hosted import server

REPOSITORY = Path(__file__).parents[3]


def defaults(name, **given):
    return {a.name: a.default for a in launch_named(name).arguments} | given


def planned(name, tmp_path, **given):
    if any(a.name == 'results_dir' for a in launch_named(name).arguments):
        given.setdefault('results_dir', str(tmp_path))
    return launch_named(name).plan(defaults(name, **given))


@pytest.mark.parametrize(
    ('name', 'given', 'expected'),
    [
        ('task', {}, ['simulator', 'recorder', 'agent', 'task_manager']),
        ('task', {'rviz': 'true'}, ['simulator', 'recorder', 'agent', 'task_manager', 'rviz']),
        ('task', {'agent': 'none', 'record': 'false'}, ['simulator', 'task_manager']),
        ('sim', {}, ['simulator']),
        ('sim', {'rviz': 'true'}, ['simulator', 'rviz']),
        ('agent', {'agent': 'survey'}, ['agent']),
        ('monitor', {}, ['rviz']),
        ('record', {}, ['recorder']),
    ],
)
def test_each_launch_starts_its_part(name, given, expected, tmp_path):
    plan = planned(name, tmp_path, **given)
    assert [spec.name for spec in plan.specs] == expected
    # Who runs on simulation time must know it, or its stamps are of another time.
    assert all(spec.parameters['use_sim_time'] is True for spec in plan.specs)


# What runs without Gazebo's packages; test_bringup_gazebo_launch.py has the rest.
EVERYWHERE = [launch for launch in LAUNCHES if launch.name != 'gazebo']


@pytest.mark.parametrize('launch', EVERYWHERE, ids=lambda each: each.name)
def test_several_vehicles_live_in_their_namespaces(launch, tmp_path):
    given = {'namespace': 'fleet/auv_2'}
    if launch.required:
        given['agent'] = 'survey'
    plan = planned(launch.name, tmp_path, **given)
    assert {spec.namespace for spec in plan.specs} == {'fleet/auv_2'}


def test_a_launch_that_keeps_files_says_where(tmp_path):
    plan = planned('record', tmp_path)
    (directory,) = tmp_path.iterdir()
    assert plan.messages == (f'run {directory.resolve()}',)
    assert plan.specs[0].parameters['bag'] == str(directory.resolve() / 'bag')
    assert planned('monitor', tmp_path).messages == ()


def test_misspelt_names_are_refused_with_what_was_meant():
    launch = launch_named('task')
    launch.check_names(['task', 'launch-prefix'])
    with pytest.raises(OceanGymError, match=r"task\.launch\.py 'taks'.*Did you mean 'task'"):
        launch.check_names(['taks'])
    with pytest.raises(OceanGymError, match='unknown launch'):
        launch_named('sym')


def test_a_required_argument_is_asked_for_with_its_choices(tmp_path):
    with pytest.raises(OceanGymError, match=r'needs agent:=.*allowed: survey, mllm'):
        planned('agent', tmp_path, agent='')
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize('name', ['task', 'sim'])
@pytest.mark.parametrize(
    ('given', 'problem'),
    [
        ({'start': '0,0,50,0'}, r'start custom: z = 50 m is outside the bounds'),
        ({'start': '0,0,-5000,0'}, 'outside the bounds'),
        ({'start': '5000,0,-5,0'}, 'outside the bounds'),
        ({'start': '144,-114,-85,0'}, 'is in the seabed'),
        ({'rviz': 'true'}, r'rviz needs rviz2, which is not installed.*ros-jazzy-rviz2'),
        ({'backend': 'gazebo'}, r'gz\.sim8.*source it first'),
    ],
)
def test_what_cannot_run_is_refused_before_anything_is_made(
    name, given, problem, tmp_path, monkeypatch
):
    """Both launchers alike; a missing program used to leave the other nodes running."""
    for variable in ('AMENT_PREFIX_PATH', 'ROS_DISTRO'):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv('PATH', str(tmp_path / 'nowhere'))
    monkeypatch.setattr(server, '_is_found', lambda module: False)
    if name == 'task':
        given = {'results_dir': str(tmp_path), **given}
        words = [f'{key}:={value}' for key, value in given.items()]
        with pytest.raises(OceanGymError, match=problem):
            run_command(words)
    with pytest.raises(OceanGymError, match=problem):
        launch_named(name).plan(defaults(name, **given), check_path)
    assert not list(tmp_path.iterdir())


def test_what_pip_brings_is_named_before_an_import_fails(tmp_path):
    check_distributions(REPOSITORY / 'requirements')
    (tmp_path / 'runtime.in').write_text('# A comment.\nnumpy\nmitsubishi\npydantic>=999\n')
    with pytest.raises(
        OceanGymError, match=r'missing: mitsubishi, pydantic>=999 \(installed: '
    ) as e:
        check_distributions(tmp_path)
    assert f'pip install --break-system-packages -r "{tmp_path}/lock-native.txt"' in str(e.value)


def test_a_launch_finds_its_programs_in_the_prefixes_of_ros(tmp_path, monkeypatch):
    """A file that cannot be executed is none."""
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path / "other"}:{tmp_path}')
    program = tmp_path / 'lib' / 'oceangym_sim' / 'sim_node'
    program.parent.mkdir(parents=True)
    program.write_text('')
    (spec,) = planned('sim', tmp_path).specs
    for mode, found in ((0o644, False), (0o755, True)):
        program.chmod(mode)
        with nullcontext() if found else pytest.raises(OceanGymError, match='sim_node of'):
            check_packages([spec])


def test_a_refused_backend_leaves_nothing_behind(tmp_path):
    with pytest.raises(OceanGymError, match="'vehicle' is not part"):
        planned('task', tmp_path, backend='vehicle')


# ------------------------------------------------------------------ rviz

TYPES = {
    'Image': 'sensor_msgs/msg/Image',
    'Marker': 'visualization_msgs/msg/Marker',
    'MarkerArray': 'visualization_msgs/msg/MarkerArray',
    'Odometry': 'nav_msgs/msg/Odometry',
    'Path': 'nav_msgs/msg/Path',
    'RobotModel': 'std_msgs/msg/String',
}
LATCHED = {'latched', 'frozen', 'navigation', 'event'}


def displays():
    content = yaml.safe_load(config_path('rviz', 'oceangym.rviz').read_text(encoding='utf-8'))
    found = []
    for display in content['Visualization Manager']['Displays']:
        found += display.get('Displays', [display])
    return found


def test_every_display_of_rviz_shows_a_topic_of_the_contract():
    streams = {stream.name: stream for stream in CONTRACT}
    for display in displays():
        kind = display['Class'].split('/')[-1]
        topic = display.get('Topic') or display.get('Description Topic')
        if topic is None:
            assert kind in ('Grid', 'TF')
            continue
        stream = streams[topic['Value']]
        assert stream.type == TYPES[kind], display['Name']
        if topic['Durability Policy'] == 'Transient Local':
            assert stream.delivery.value in LATCHED, display['Name']


def test_rviz_shows_all_cameras_and_fans_and_where_the_vehicle_is():
    topics = {(d.get('Topic') or {}).get('Value') for d in displays()}
    assert {f'camera/{side}/image_raw' for side in DIRECTIONS} <= topics
    assert {f'sonar/{side}/fan' for side in DIRECTIONS} <= topics
    assert {'odometry', 'bounds', 'trajectory', 'truth/markers', 'task/text'} <= topics
