"""The launch files against ROS's own launch, where that is installed (native ROS)."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
import signal
import subprocess
import sys

import pytest

pytest.importorskip('launch_ros')

from oceangym.launches import LAUNCHES
from oceangym.processes import process_specs
from oceangym_core.config.options import ARGUMENTS, RunOptions

pytestmark = pytest.mark.ros

LAUNCH_FILES = Path(__file__).parents[3] / 'launch'
# What `ros2 launch` does with its arguments.
DRIVER = """
import sys
from launch import LaunchDescription, LaunchService
from launch.actions import IncludeLaunchDescription
from launch.launch_description_sources import PythonLaunchDescriptionSource
path, *words = sys.argv[1:]
service = LaunchService(argv=words)
given = [word.split(':=', 1) for word in words]
source = PythonLaunchDescriptionSource(path)
service.include_launch_description(
    LaunchDescription([IncludeLaunchDescription(source, launch_arguments=given)])
)
sys.exit(service.run())
"""


def description(name):
    spec = importlib.util.spec_from_file_location(name, LAUNCH_FILES / f'{name}.launch.py')
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.generate_launch_description()


def start(domain_id, name, *words):
    return subprocess.Popen(
        [sys.executable, '-c', DRIVER, str(LAUNCH_FILES / f'{name}.launch.py'), *words],
        env={**os.environ, 'ROS_DOMAIN_ID': str(domain_id)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(domain_id, name, *words):
    process = start(domain_id, name, *words)
    text, _ = process.communicate(timeout=120)
    return process.returncode, text


@pytest.mark.parametrize('launch', LAUNCHES, ids=lambda each: each.name)
def test_each_file_declares_its_arguments_with_choices_and_units(launch):
    from launch.actions import DeclareLaunchArgument

    entities = description(launch.name).entities
    declared = {e.name: e for e in entities if isinstance(e, DeclareLaunchArgument)}
    assert list(declared) == [a.name for a in launch.arguments]
    for argument in launch.arguments:
        entity = declared[argument.name]
        assert entity.choices == (list(argument.choices) or None)
        assert argument.unit in entity.description
        assert (entity.default_value is None) == (argument.name in launch.required)


def test_the_task_launch_takes_what_run_takes():
    (task,) = (launch for launch in LAUNCHES if launch.name == 'task')
    assert task.arguments == ARGUMENTS
    assert {p.name for p in LAUNCH_FILES.glob('*.launch.py')} == {
        f'{launch.name}.launch.py' for launch in LAUNCHES
    }


def test_every_process_becomes_a_node(tmp_path):
    from oceangym.nodes.launching import process_actions

    specs = process_specs(RunOptions(), run_directory=tmp_path, world=tmp_path / 'w.sdf')
    actions = process_actions(specs)
    assert [a.node_executable for a in actions] == [s.executable for s in specs]
    assert [a.node_package for a in actions] == [s.package for s in specs]


@pytest.mark.parametrize(
    ('name', 'word', 'expected'),
    [
        ('task', 'agent:=surveyy', 'survey'),
        ('task', 'seed:=minus', 'minus'),
        ('task', 'taks:=dock', "Did you mean 'task'?"),
        ('task', 'task:=dokc', "Did you mean 'dock'?"),
        ('record', 'namespce:=x', "Did you mean 'namespace'?"),
        ('agent', 'seed:=1', "missing required argument 'agent'"),
        ('gazebo', 'wold:=ocean', "Did you mean 'world'?"),
        ('gazebo', 'gui:=maybe', 'maybe'),
    ],
)
def test_mistakes_are_refused_with_what_is_allowed(
    name, word, expected, tmp_path, domain_id, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code, text = ended(domain_id, name, word)
    assert code == 1
    assert expected in text and 'process started' not in text
    assert not list(tmp_path.glob('runs/*'))


def test_an_episode_runs_to_its_end(tmp_path, domain_id):
    code, text = ended(
        domain_id,
        'task',
        *('agent:=idle', 'sensors:=none', 't_max:=30', f'results_dir:={tmp_path}'),
    )
    assert code == 0, text
    (run,) = tmp_path.iterdir()
    assert (run / 'score.json').is_file()
    assert (run / 'bag' / 'metadata.yaml').is_file()


def test_a_killed_simulator_is_an_error_with_its_record_intact(tmp_path, domain_id):
    process = start(
        domain_id,
        'task',
        *('agent:=idle', 'sensors:=none', 't_max:=86400', f'results_dir:={tmp_path}'),
    )
    lines = []
    for line in process.stdout:
        lines.append(line)
        if 'sim_node' in line and 'process started with pid' in line:
            simulator = int(line.rsplit('[', 1)[1].split(']')[0])
        if 'recorder to be ready' in line:
            break
    (run,) = tmp_path.iterdir()
    while not ((run / 'episode.jsonl').is_file() and (run / 'episode.jsonl').stat().st_size):
        assert process.poll() is None, ''.join(lines)
    os.kill(simulator, signal.SIGKILL)
    text, _ = process.communicate(timeout=120)
    assert process.returncode == 1
    assert 'simulator ended early: killed by SIGKILL' in text
    assert json.loads((run / 'score.json').read_text(encoding='utf-8'))
    assert (run / 'bag' / 'metadata.yaml').is_file()


# ------------------------------------------------------------------ Gazebo, played by scripts

STAYS = '#!/bin/sh\necho "$0 $@"\ntrap "exit 0" INT TERM\nwhile :; do sleep 0.1; done\n'


@pytest.fixture
def gazebo_prefix(tmp_path, monkeypatch):
    """A ROS prefix with programs that stand for Gazebo, its bridge and its spawner."""
    prefix = tmp_path / 'prefix'
    programs = {
        'bin/gz': STAYS,
        'lib/ros_gz_bridge/parameter_bridge': STAYS,
        'lib/ros_gz_sim/create': '#!/bin/sh\necho "spawned $@"\n',
        'lib/ros_gz_interfaces/none': '',
    }
    for name, text in programs.items():
        path = prefix / name
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o755)
        if name.startswith('lib'):
            package = prefix / 'share/ament_index/resource_index/packages' / path.parent.name
            package.parent.mkdir(parents=True, exist_ok=True)
            package.touch()
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{prefix}:{os.environ["AMENT_PREFIX_PATH"]}')
    monkeypatch.setenv('PATH', f'{prefix / "bin"}:{os.environ["PATH"]}')
    return prefix


def until(process, *words):
    """Read what a launch prints until all these have been said; return it."""
    lines = []
    for line in process.stdout:
        lines.append(line)
        text = ''.join(lines)
        if all(word in text for word in words):
            return text
    raise AssertionError(''.join(lines))


def test_a_gazebo_session_runs_until_it_is_interrupted(gazebo_prefix, domain_id):
    process = start(domain_id, 'gazebo', 'images:=false', 'gui:=false')
    text = until(
        process,
        'sim -s -r --headless-rendering',
        'spawned --ros-args',
        '/world/ocean/set_pose@ros_gz_interfaces/srv/SetEntityPose',
        'autopilot_node-',
        'process has finished cleanly',
    )
    assert 'GZ_IP' in text
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert process.returncode == 0, text + rest
    assert 'Traceback' not in text + rest


@pytest.mark.parametrize('part', ['create', 'gz'])
def test_a_session_that_fails_ends_with_an_error(gazebo_prefix, domain_id, part):
    (path,) = gazebo_prefix.glob(f'**/{part}')
    path.write_text('#!/bin/sh\necho failing\nexit 3\n')
    code, text = ended(domain_id, 'gazebo', 'images:=false', 'gui:=false')
    assert code == 1
    assert 'ended early: exit code 3' in text


def test_without_ros_gz_the_packages_are_named(gazebo_prefix, domain_id):
    (gazebo_prefix / 'share/ament_index/resource_index/packages/ros_gz_interfaces').unlink()
    installed = os.environ['AMENT_PREFIX_PATH'].split(':')
    if any(Path(p, 'share', 'ros_gz_interfaces').is_dir() for p in installed):
        pytest.skip('ros_gz is installed')
    code, text = ended(domain_id, 'gazebo')
    assert code == 1
    assert 'sudo apt install ros-' in text and 'process started' not in text
