"""The launch of a Gazebo session as data: what runs with which words, and what is refused."""

from __future__ import annotations

import math
import os
from pathlib import Path

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
import yaml

from oceangym.gazebo_launch import GAZEBO, HOST, read_world, RESOURCES, ROS_GZ
from oceangym.processes import OnExit, parameter_file
from oceangym_core.assets import assets_root, config_path
from oceangym_core.errors import OceanGymError
from oceangym_gazebo.session.bridge import bridge_files


@pytest.fixture
def ros_gz(tmp_path, monkeypatch):
    """A machine with ros_gz and Gazebo, as far as looking for them goes."""
    index = tmp_path / 'share' / 'ament_index' / 'resource_index' / 'packages'
    index.mkdir(parents=True)
    for name in ROS_GZ:
        (index / name).touch()
    program = tmp_path / 'bin' / 'gz'
    program.parent.mkdir()
    program.write_text('#!/bin/sh\n')
    program.chmod(0o755)
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path}:/nowhere')
    monkeypatch.setenv('PATH', f'{program.parent}:{os.environ["PATH"]}')
    monkeypatch.delenv(HOST, raising=False)
    monkeypatch.delenv(RESOURCES, raising=False)
    return index


def plan(**given):
    return GAZEBO.plan({a.name: a.default for a in GAZEBO.arguments} | given)


def specs_of(**given):
    return {spec.name: spec for spec in plan(**given).specs}


def test_gazebo_its_bridge_and_our_nodes_are_started(ros_gz):
    specs = specs_of()
    assert list(specs) == [
        'gazebo', 'gazebo_gui', 'spawn', 'gazebo_bridge', 'autopilot', 'optics', 'sonar'
    ]  # fmt: skip
    assert list(specs_of(gui='false', images='false', truth='true', rviz='true')) == [
        'gazebo', 'spawn', 'gazebo_bridge', 'gazebo_bridge_truth', 'autopilot', 'rviz'
    ]  # fmt: skip
    ours = [s for s in specs.values() if s.package == 'oceangym_gazebo']
    assert all(s.parameters['use_sim_time'] is True for s in ours)
    assert all((s.module, s.namespace) for s in ours)
    assert specs['autopilot'].parameters['mode'] == 'realtime'
    assert specs['autopilot'].parameters['patience'] == 0.5


def test_the_server_runs_the_world_and_finds_its_models(ros_gz):
    ocean = str(assets_root() / 'worlds' / 'ocean' / 'ocean.sdf')
    server = specs_of()['gazebo']
    assert (server.package, server.executable) == ('', 'gz')
    assert server.arguments == ('sim', '-s', '-r', ocean)
    blind = specs_of(gui='false')['gazebo']
    assert blind.arguments == ('sim', '-s', '-r', '--headless-rendering', ocean)
    assert str(assets_root() / 'models') in server.environment[RESOURCES].split(':')
    # A window that is closed is no reason to end; a server that is gone is.
    assert specs_of()['gazebo_gui'].on_exit is OnExit.IGNORED
    assert server.on_exit is OnExit.REQUIRED


@pytest.mark.parametrize(
    ('start', 'place'),
    [('point1', (144.0, -114.0, -63.0, -135.0)), ('10,20,-5,90', (10.0, 20.0, -5.0, 90.0))],
)
def test_the_vehicle_is_spawned_at_the_start(ros_gz, start, place):
    spawn = specs_of(start=start)['spawn']
    assert (spawn.package, spawn.executable) == ('ros_gz_sim', 'create')
    # It ends once it has done its part.
    assert spawn.on_exit is OnExit.FINISHES
    p = spawn.parameters
    assert (p['x'], p['y'], p['z']) == place[:3]
    assert p['Y'] == pytest.approx(math.radians(place[3]))
    assert all(isinstance(p[k], float) for k in 'xyzY')
    assert (p['world'], p['name']) == ('ocean', 'auv')
    assert Path(p['file']).is_file()


def test_the_bridge_carries_its_file_and_the_service_of_the_world(ros_gz, tmp_path):
    specs = specs_of(truth='true', namespace='fleet/auv_2')
    bridge = specs['gazebo_bridge']
    assert (bridge.package, bridge.executable) == ('ros_gz_bridge', 'parameter_bridge')
    assert Path(bridge.parameters['config_file']) == config_path('gazebo', 'bridge.yaml')
    assert bridge.arguments[0].startswith('/world/ocean/set_pose@ros_gz_interfaces/srv/')
    # The files' names are relative: the namespace of the bridge is that of the vehicle.
    assert {spec.namespace for spec in specs.values()} == {'fleet/auv_2'}
    files = {Path(s.parameters['config_file']).name for n, s in specs.items() if 'bridge' in n}
    assert files == set(bridge_files())
    # A dot in a parameter's name survives the file.
    read = yaml.safe_load(yaml.safe_dump(parameter_file(bridge)))
    assert read['/**']['ros__parameters'] == dict(bridge.parameters)


def test_clock_and_frames_of_another_namespace_are_its_own(ros_gz):
    # The frames are, in any.
    frames = (('/tf', 'tf'), ('/tf_static', 'tf_static'))
    assert {spec.remappings for spec in plan().specs if spec.package} == {frames}
    bridge = specs_of()['gazebo_bridge']
    assert bridge.parameters['qos_overrides./clock.publisher.durability'] == 'transient_local'
    specs = specs_of(namespace='fleet/auv_2', rviz='true')
    nodes = [spec for spec in specs.values() if spec.package]
    assert all(('/clock', '/fleet/auv_2/clock') in spec.remappings for spec in nodes)
    assert (
        'qos_overrides./fleet/auv_2/clock.publisher.durability'
        in specs['gazebo_bridge'].parameters
    )


def test_a_world_of_ones_own_is_taken_with_its_models_and_name(ros_gz, tmp_path):
    world = tmp_path / 'mine' / 'pool.sdf'
    world.parent.mkdir()
    world.write_text('<sdf version="1.10"><world name="pool"/></sdf>')
    made = plan(world=str(world))
    specs = {spec.name: spec for spec in made.specs}
    assert specs['spawn'].parameters['world'] == 'pool'
    assert specs['autopilot'].parameters['gazebo_world'] == 'pool'
    assert specs['gazebo_bridge'].arguments[0].startswith('/world/pool/set_pose@')
    assert str(world.parent / 'models') in specs['gazebo'].environment[RESOURCES]
    # Gazebo gives a world without plugins the basic ones, and no more.
    assert any('lacks Sensors, Imu, Buoyancy' in message for message in made.messages)
    assert not any('lacks' in message for message in plan().messages)


def test_the_ocean_has_every_system_that_the_vehicle_needs():
    name, systems = read_world(assets_root() / 'worlds' / 'ocean' / 'ocean.sdf')
    assert name == 'ocean'
    assert {'Physics', 'Sensors', 'Imu', 'Buoyancy', 'UserCommands', 'Contact'} <= systems


def test_gazebo_keeps_to_this_host_unless_told_otherwise(ros_gz, monkeypatch):
    made = plan()
    assert made.specs[0].environment[HOST] == '127.0.0.1'
    assert any(HOST in message for message in made.messages)
    # Who joins speaks as the other one does.
    assert all(HOST not in spec.environment for spec in plan(join='true').specs)
    monkeypatch.setenv(HOST, '10.0.0.7')
    assert all(HOST not in spec.environment for spec in plan().specs)


def test_a_running_gazebo_is_joined_without_one_of_our_own(ros_gz, monkeypatch):
    monkeypatch.setenv('PATH', '/nowhere')
    assert list(specs_of(join='true')) == [
        'spawn', 'gazebo_bridge', 'autopilot', 'optics', 'sonar'
    ]  # fmt: skip


def test_what_is_not_installed_is_named_with_its_packages(monkeypatch, ros_gz):
    (ros_gz / 'ros_gz_bridge').unlink()
    monkeypatch.setenv('ROS_DISTRO', 'jazzy')
    with pytest.raises(OceanGymError, match=r'apt install ros-jazzy-ros-gz-bridge$'):
        plan()
    monkeypatch.delenv('AMENT_PREFIX_PATH')
    monkeypatch.setenv('PATH', '/nowhere')
    with pytest.raises(OceanGymError, match=r'ros-jazzy-ros-gz-sim.*ros-jazzy-gz-tools-vendor'):
        plan()


@pytest.mark.parametrize(
    ('given', 'expected'),
    [
        ({'start': 'random'}, 'needs a task.*point1, point2'),
        ({'start': 'point3'}, 'point3'),
        ({'water': 'shalow'}, "Did you mean 'shallow'"),
        ({'gui': 'yes'}, 'gui'),
        ({'patience': '0'}, 'patience 0'),
        ({'patience': 'long'}, "'long' is not a number"),
        ({'world': 'lake'}, "unknown world 'lake'"),
        ({'world': '/nowhere/lake.sdf'}, 'No such file'),
        ({'profile': 'mild'}, 'mild'),
    ],
)
def test_mistakes_are_refused(ros_gz, given, expected):
    with pytest.raises(OceanGymError, match=expected):
        plan(**given)


TEXTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ['', ' ', 'nan', '-1', '1e999', '~nobody/x.sdf', 'x\0.sdf', '/dev/null', '.sdf', '/', '..',
         '/proc/self/mem', 'a' * 5000 + '.sdf', '\udc80.sdf', 'true', 'True', 'random', '1,2,3,4']
    ),
)  # fmt: skip
# A layout of its own would be generated, which takes minutes.
NAMES = [argument.name for argument in GAZEBO.arguments if argument.name != 'world_seed']


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=st.dictionaries(st.sampled_from(NAMES), TEXTS, max_size=3))
def test_any_text_in_any_argument_makes_a_plan_or_one_refusal(ros_gz, changes):
    try:
        made = plan(**changes)
    except OceanGymError as error:
        assert 0 < len(str(error)) < 12_000
        return
    assert all('\0' not in word for spec in made.specs for word in spec.arguments)


def test_a_file_that_is_no_world_is_refused(ros_gz, tmp_path):
    path = tmp_path / 'model.sdf'
    path.write_text('<sdf version="1.10"><model name="x"/></sdf>')
    with pytest.raises(OceanGymError, match='holds no <world>'):
        plan(world=str(path))
