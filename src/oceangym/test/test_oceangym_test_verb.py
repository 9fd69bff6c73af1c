"""The test verb: which tests run, by whom, and what is told of them."""

from __future__ import annotations

from pathlib import Path
import re

import pytest

from oceangym_setup import test_results, testing
from oceangym_setup.workspace import PACKAGES, Workspace

ROOT = Path(__file__).resolve().parents[3]
HERE = Workspace(root=ROOT, native=False)
XUNIT = """<testsuites><testsuite name="pytest" tests="4">
<testcase classname="oceangym_core.test.test_a" name="test_one" time="1.5"/>
<testcase classname="oceangym_core.test.test_a" name="test_two" time="0.25"><failure message="x"/></testcase>
<testcase classname="oceangym_core.test.test_a" name="test_three" time="0"><skipped message="y"/></testcase>
<testcase classname="oceangym_core.test.test_b" name="test_four" time="0.25"><error message="z"/></testcase>
</testsuite></testsuites>"""


@pytest.mark.parametrize('package', PACKAGES)
def test_colcon_is_told_of_every_folder_with_tests_once(package):
    home = ROOT / 'src' / package
    text = (home / 'CMakeLists.txt').read_text(encoding='utf-8')
    registered = re.findall(r'ament_add_pytest_test\((\w+) (\w+) TIMEOUT \d+\)', text)
    present = {
        (name, folder)
        for name, folder in (('unit', 'test'), ('ros', 'test_ros'))
        if any((home / folder).rglob('test_*.py'))
    }
    assert len(registered) == text.count('ament_add_pytest_test')
    assert sorted(registered) == sorted(present)
    labelled = f'set_tests_properties(ros PROPERTIES LABELS "pytest;{testing.ROS_LABEL}")' in text
    assert labelled == (('ros', 'test_ros') in present)


def test_no_folder_but_these_two_holds_tests():
    tests = {path.relative_to(ROOT).parts for path in ROOT.glob('src/**/test_*.py')}
    outside = {
        parts for parts in tests if parts[2] not in ('test', 'test_ros') and parts[2] != parts[1]
    }
    assert outside == set()


def test_all_tests_go_to_colcon_those_with_ros_last():
    commands = testing.colcon_commands(HERE)
    assert list(commands) == ['unit tests', 'tests with ROS']
    for command in commands.values():
        assert command[command.index('--build-base') + 1] == str(HERE.build)
        assert all(str(ROOT / 'src' / name) in command for name in PACKAGES)
        assert '--return-code-on-test-failure' in command
    unit, ros = commands.values()
    assert unit[-2:] == [' -LE', f' {testing.ROS_LABEL}']
    assert ros[-2:] == [' -L', f' {testing.ROS_LABEL}']
    assert ros[ros.index('--parallel-workers') + 1] == '1'
    assert ros[:2] == ['env', 'PYTEST_ADDOPTS=-n 2 --dist loadfile']


def test_named_tests_run_alone_and_options_go_to_both_runs():
    named = testing.pytest_commands(HERE, ['src/oceangym/test/test_oceangym_setup.py::x', '-q'])
    assert list(named) == ['tests']
    both = testing.pytest_commands(HERE, ['-k', 'scorer'])
    assert list(both) == ['unit tests', 'tests with ROS']
    assert all(command[-2:] == ['-k', 'scorer'] for command in both.values())
    assert all('loadfile' in command for command in both.values())


def result_file(workspace, text, name='unit'):
    path = workspace.build / 'oceangym_core/test_results/oceangym_core' / f'{name}.xunit.xml'
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding='utf-8')
    return path


def test_results_are_counted_and_failures_named(tmp_path):
    workspace = Workspace(root=tmp_path, native=False)
    result_file(workspace, XUNIT)
    (result,) = map(test_results.read, test_results.files(workspace))
    assert (result.package, result.name) == ('oceangym_core', 'unit')
    assert (result.tests, result.skipped, result.seconds) == (4, 1, 2.0)
    assert result.failed == (
        'oceangym_core.test.test_a::test_two',
        'oceangym_core.test.test_b::test_four',
    )
    lines = test_results.summary([result]).splitlines()
    assert lines[1].split() == ['oceangym_core', 'unit', '4', '2', '1', '2', 's']
    assert lines[2].split() == ['all', '4', '2', '1', '2', 's']
    assert lines[-1] == 'failed: oceangym_core.test.test_b::test_four'


def test_a_result_cut_short_is_a_failure(tmp_path):
    path = result_file(Workspace(root=tmp_path, native=False), XUNIT[:200])
    result = test_results.read(path)
    assert result.tests == 1
    assert str(path) in result.failed[0]


def test_results_of_earlier_runs_are_forgotten(tmp_path):
    workspace = Workspace(root=tmp_path, native=False)
    result_file(workspace, XUNIT)
    result_file(workspace, XUNIT, 'ros')
    test_results.forget(workspace)
    assert test_results.files(workspace) == []
    test_results.forget(workspace)
