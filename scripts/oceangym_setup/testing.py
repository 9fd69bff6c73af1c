"""The ``test`` verb: style, types, unit tests, then tests with ROS.

Without arguments the tests run as ``colcon test`` runs them, by what the packages register;
arguments are pytest's, and go to pytest.
"""

from __future__ import annotations

from collections.abc import Sequence
import os
from pathlib import Path
import subprocess
import sys
import time

from oceangym_setup import build, environment, test_results
from oceangym_setup.progress import say
from oceangym_setup.workspace import PACKAGES, Workspace

_NO_TESTS_SELECTED = 5
_STYLE_PATHS = ('src', 'scripts', 'launch')
ROS_LABEL = 'ros'
"""CTest's label of the tests with ROS, as in the packages' CMakeLists.txt."""
_MOST_WORKERS = 4
"""Each may hold a simulator, which is more than a gigabyte."""
_WITH_ROS = 2
"""Files of tests with ROS at a time: four nodes each, which wait for each other half of the time."""
_TYPED_WITH = (3, 11)
"""The Python whose locked numpy the types are written for: numpy's own types differ by version."""


def names_tests(root: Path, arguments: Sequence[str]) -> bool:
    """Tell whether the arguments name test files, folders or test ids."""
    return any(
        not argument.startswith('-') and (root / argument.split('::')[0]).exists()
        for argument in arguments
    )


def style_commands(workspace: Workspace) -> dict[str, list[str]]:
    """Return the checks that read the code without running it."""
    python = str(workspace.python)
    styled = [name for name in _STYLE_PATHS if (workspace.root / name).is_dir()]
    typed = [
        f'src/{name}/{name}'
        for name in PACKAGES
        if (workspace.root / 'src' / name / name / '__init__.py').is_file()
    ]
    commands = {
        'ruff check': [python, '-m', 'ruff', 'check', *styled],
        'ruff format': [python, '-m', 'ruff', 'format', '--check', *styled],
    }
    if checks_types(workspace):
        version = '.'.join(map(str, _TYPED_WITH))
        commands['mypy'] = [
            *(python, '-m', 'mypy', '--python-version', version, '--exclude', '/nodes/'),
            *('--cache-dir', str(workspace.state / 'cache' / 'mypy')),
            *(*typed, 'scripts/oceangym_setup'),
        ]
    return commands


def checks_types(workspace: Workspace) -> bool:
    """Tell whether this environment has the numpy that the types are written for."""
    return not workspace.native and sys.version_info[:2] == _TYPED_WITH


def workers() -> int:
    """Return how many tests without ROS run at a time."""
    return min(os.cpu_count() or 1, _MOST_WORKERS)


def pytest_commands(workspace: Workspace, arguments: Sequence[str]) -> dict[str, list[str]]:
    """Return the pytest runs: one where the user names tests, else without and then with ROS.

    The user's arguments come last, so that an own ``-m`` wins over ours.
    """
    pytest = [str(workspace.python), '-m', 'pytest']
    if names_tests(workspace.root, arguments):
        return {'tests': [*pytest, *arguments]}
    runs = {}
    for label, folder, count in (
        ('unit tests', 'test', workers()),
        ('tests with ROS', 'test_ros', _WITH_ROS),
    ):
        found = sorted(str(path) for path in workspace.root.glob(f'src/*/{folder}/'))
        found = [path for path in found if any(Path(path).rglob('test_*.py'))]
        if found:
            runs[label] = [*pytest, *_files_at_once(count), *found, *arguments]
    return runs


def _files_at_once(count: int) -> list[str]:
    return ['-n', str(count), '--dist', 'loadfile']


def colcon_commands(workspace: Workspace) -> dict[str, list[str]]:
    """Return what runs the tests of all packages: without ROS side by side, then with ROS.

    Nearly all tests with ROS are one package's, so that it is their files that run side by side.
    """
    with_ros = build.test_command(workspace, side_by_side=1, ctest=('-L', ROS_LABEL))
    options = ' '.join(_files_at_once(_WITH_ROS))
    return {
        'unit tests': build.test_command(
            workspace, side_by_side=workers(), ctest=('-LE', ROS_LABEL)
        ),
        'tests with ROS': ['env', f'PYTEST_ADDOPTS={options}', *with_ros],
    }


def run(workspace: Workspace, arguments: Sequence[str]) -> int:
    """Run all checks, each even after one has failed, and return the exit code."""
    env = environment.environment(workspace)
    failed = []
    if not checks_types(workspace):
        wanted = '.'.join(map(str, _TYPED_WITH))
        say(f'mypy is left out: the types are checked with Python {wanted} and its locked numpy')
    with_colcon = not arguments and build.has_package(env, build.TEST_PACKAGE)
    if with_colcon:
        test_results.forget(workspace)
        tests = colcon_commands(workspace)
        # Nothing is built while tests run, so those of a package need not wait for another's.
        env['COLCON_FEATURE_FLAGS'] = 'drop_test_deps'
    else:
        tests = pytest_commands(workspace, arguments)
    commands = style_commands(workspace) | tests
    for label, command in commands.items():
        say(label)
        started = time.monotonic()
        code = subprocess.run(command, cwd=workspace.root, env=env, check=False).returncode
        say(f'{label}: {time.monotonic() - started:.0f} s')
        selected_nothing = code == _NO_TESTS_SELECTED and arguments
        if code != 0 and not selected_nothing:
            failed.append(f'{label} (exit code {code})')
    if with_colcon:
        print(test_results.summary(map(test_results.read, test_results.files(workspace))))
    if failed:
        say(f'FAILED: {", ".join(failed)}')
        return 1
    say(f'all passed: {", ".join(commands)}')
    return 0
