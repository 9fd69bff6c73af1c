"""Who may import whom, and that the check notices."""

from __future__ import annotations

from pathlib import Path

import pytest

from oceangym_setup import dependency_lint

ROOT = Path(__file__).resolve().parents[3]


def plant(root: Path, name: str, text: str) -> None:
    """Write one Python file under ``root/src``."""
    path = root / 'src' / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')


def test_this_checkout_keeps_the_one_way_dependencies():
    assert [str(violation) for violation in dependency_lint.check(ROOT)] == []


def test_the_table_has_no_cycle():
    assert dependency_lint.cycles() == []


def test_the_table_names_every_package():
    packages = {path.parent.name for path in ROOT.glob('src/*/package.xml')}
    assert packages == {*dependency_lint.MAY_IMPORT, 'oceangym_msgs'}


@pytest.mark.parametrize(
    ('name', 'text', 'expected'),
    [
        (
            'oceangym_agent/oceangym_agent/a.py',
            'import oceangym_sim',
            'must not know oceangym_sim',
        ),
        ('oceangym_agent/oceangym_agent/a.py', 'from oceangym_tasks.b import c', 'oceangym_tasks'),
        ('oceangym_core/oceangym_core/a.py', 'import oceangym_sim.b as c', 'none of ours'),
        (
            'oceangym_sim/oceangym_sim/a.py',
            'def f():\n    from oceangym_worlds import terrain\n',
            'a.py:2: oceangym_sim must not know',
        ),
        ('oceangym_sim/oceangym_sim/a.py', 'from rclpy.node import Node', 'rclpy.node is ROS'),
        ('oceangym_core/oceangym_core/a.py', 'import sensor_msgs.msg', 'sensor_msgs.msg is ROS'),
        ('oceangym_core/test/test_a.py', 'import oceangym_msgs.msg', 'oceangym_msgs.msg is ROS'),
        (
            'oceangym_core/oceangym_core/a.py',
            'import importlib\nimportlib.import_module("rclpy")',
            'a.py:2: rclpy is ROS',
        ),
    ],
)
def test_a_planted_violation_is_found(tmp_path, name, text, expected):
    plant(tmp_path, name, text)
    found = dependency_lint.check(tmp_path)
    assert len(found) == 1
    assert expected in str(found[0])


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        ('oceangym_sim/oceangym_sim/nodes/sim_node.py', 'import rclpy\nimport oceangym_core'),
        ('oceangym_sim/test_ros/test_sim_node.py', 'import rclpy\nimport sensor_msgs.msg'),
        ('oceangym_agent/test/test_agent_x.py', 'import oceangym_sim'),
        ('oceangym_bench/oceangym_bench/a.py', 'import oceangym_agent, oceangym_tasks'),
        ('oceangym_core/oceangym_core/a.py', 'from . import rclpy\nimport oceangym_core.b'),
    ],
)
def test_what_is_allowed_is_left_alone(tmp_path, name, text):
    plant(tmp_path, name, text)
    assert dependency_lint.check(tmp_path) == []


def test_a_manifest_with_a_forbidden_dependency_is_found(tmp_path):
    home = tmp_path / 'src' / 'oceangym_agent'
    home.mkdir(parents=True)
    (home / 'package.xml').write_text(
        '<package><exec_depend>oceangym_core</exec_depend><exec_depend>oceangym_sim</exec_depend>'
        '<test_depend>oceangym_tasks</test_depend></package>',
        encoding='utf-8',
    )
    found = dependency_lint.check(tmp_path)
    assert [v.message for v in found] == ['oceangym_agent must not depend on oceangym_sim']


def test_an_import_that_the_manifest_does_not_declare_is_found(tmp_path):
    plant(tmp_path, 'oceangym_sim/oceangym_sim/nodes/n.py', 'import rclpy\nimport oceangym_core.a')
    plant(tmp_path, 'oceangym_sim/test/test_sim_a.py', 'import oceangym_worlds\n')
    manifest = tmp_path / 'src' / 'oceangym_sim' / 'package.xml'
    manifest.write_text(
        '<package><exec_depend>oceangym_core</exec_depend>'
        '<test_depend>oceangym_worlds</test_depend></package>',
        encoding='utf-8',
    )
    found = [violation.message for violation in dependency_lint.check(tmp_path)]
    assert found == [f'rclpy is not declared in {manifest}']
