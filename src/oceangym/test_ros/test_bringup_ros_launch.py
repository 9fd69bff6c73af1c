"""The launch file against ROS's own launch, where that is installed (native ROS)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip('launch_ros')

from oceangym.processes import process_specs
from oceangym_core.options import ARGUMENTS, RunOptions

pytestmark = pytest.mark.ros

LAUNCH_FILE = Path(__file__).parents[3] / 'launch' / 'task.launch.py'


@pytest.fixture(scope='module')
def launch_file():
    spec = importlib.util.spec_from_file_location('task_launch', LAUNCH_FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_launch_arguments_are_those_of_run(launch_file):
    from launch.actions import DeclareLaunchArgument

    entities = launch_file.generate_launch_description().entities
    declared = [e.name for e in entities if isinstance(e, DeclareLaunchArgument)]
    assert declared == [a.name for a in ARGUMENTS]


def test_every_process_becomes_a_node(launch_file, tmp_path):
    specs = process_specs(RunOptions(), run_directory=tmp_path, world=tmp_path / 'w.sdf')
    actions = launch_file.node_actions(specs)
    assert [a.node_executable for a in actions] == [s.executable for s in specs]
    assert [a.node_package for a in actions] == [s.package for s in specs]


def test_an_episode_runs_to_its_end(tmp_path, domain_id, monkeypatch):
    from launch import LaunchService
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    words = {'agent': 'idle', 'sensors': 'none', 't_max': '30', 'results_dir': str(tmp_path)}
    service = LaunchService()
    service.include_launch_description(
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(str(LAUNCH_FILE)), launch_arguments=words.items()
        )
    )
    assert service.run() == 0
    (run,) = tmp_path.iterdir()
    assert (run / 'score.json').is_file()
    assert (run / 'bag' / 'metadata.yaml').is_file()
