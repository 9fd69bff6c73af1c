"""Build the packages whose sources changed, and tf2_msgs where ROS came without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
import shutil
import subprocess
import sysconfig

from oceangym_setup import cmake_prefix, environment, venv
from oceangym_setup.errors import SetupError
from oceangym_setup.progress import run_logged, say, step
from oceangym_setup.workspace import digest, PACKAGES, Workspace

_INTERFACES = ('msg/*.msg', 'srv/*.srv', 'action/*.action')
TEST_PACKAGE = 'ament_cmake_pytest'
"""What the packages register their tests with."""
_ASSETS = ('launch', 'worlds', 'models', 'config')
_TF2_MSGS = {
    'msg/TFMessage.msg': 'geometry_msgs/TransformStamped[] transforms\n',
    'package.xml': """<?xml version="1.0"?>
<package format="3">
  <name>tf2_msgs</name>
  <version>0.36.14</version>
  <description>The TF message, generated because this ROS 2 came without tf2_msgs.</description>
  <maintainer email="oceangym-ros2@users.noreply.github.com">OceanGym ROS 2 maintainers</maintainer>
  <license>BSD-3-Clause</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>geometry_msgs</depend>
  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
""",
    'CMakeLists.txt': """cmake_minimum_required(VERSION 3.20)
project(tf2_msgs)
find_package(ament_cmake REQUIRED)
find_package(geometry_msgs REQUIRED)
find_package(rosidl_default_generators REQUIRED)
rosidl_generate_interfaces(${PROJECT_NAME} msg/TFMessage.msg DEPENDENCIES geometry_msgs)
ament_export_dependencies(rosidl_default_runtime)
ament_package()
""",
}
_BUILD_REMEDIES = {
    'No space left on device': 'the disk is full: free some space and run the same command again',
    'Killed signal terminated': 'the compiler ran out of memory: close something and run again',
    'cannot execute': 'the compiler is incomplete: sudo apt-get install build-essential',
    'CMAKE_CXX_COMPILER': 'the compiler does not work: sudo apt-get install build-essential',
    'install directory': 'remove .oceangym and run: scripts/oceangym setup',
}


def package_key(directory: Path, base: str, root: Path) -> str:
    """Identify everything that makes a package need building again.

    Of modules, executables and assets the names are in and not the content, because colcon links
    them one by one.

    Args:
        directory: the package.
        base: key of what the package is built against.
        root: top of the checkout; the bring-up package installs folders from there.
    """
    described = [(directory / name).read_bytes() for name in ('package.xml', 'CMakeLists.txt')]
    parts: list[str | bytes] = [base, *described]
    for pattern in _INTERFACES:
        for path in sorted(directory.glob(pattern)):
            parts += [path.name, path.read_bytes()]
    folders = [directory / 'scripts', directory / directory.name]
    if directory.name == 'oceangym':
        folders += [root / name for name in _ASSETS]
    for folder in folders:
        names = (path.relative_to(folder).as_posix() for path in folder.rglob('*'))
        parts += sorted(n for n in names if '__pycache__' not in n and not n.endswith('.pyc'))
    return digest(parts)


def patch_wheels(workspace: Workspace) -> None:
    """Make the wheels' CMake files find this Python; once for each installation."""
    key = venv.install_key(workspace)
    if workspace.native or workspace.is_done('cmake_prefix', key):
        return
    with step('CMake files of the ROS wheels') as shown:
        count = cmake_prefix.patch_tree(
            workspace.venv,
            include=Path(sysconfig.get_paths()['include']),
            site_packages=workspace.site_packages,
        )
        left = cmake_prefix.leftovers(workspace.venv)
        if left:
            path, text = next(iter(left.items()))
            raise SetupError(
                f'{len(left)} CMake files of the ROS wheels still name another Python: {text} in {path}',
                'run: scripts/oceangym setup --clean',
            )
        workspace.mark_done('cmake_prefix', key)
        shown.name = f'CMake files of the ROS wheels ({count} files now name this Python)'


def has_package(env: Mapping[str, str], name: str) -> bool:
    """Tell whether a ROS package is installed."""
    prefixes = env.get('AMENT_PREFIX_PATH', '').split(':')
    return any(Path(prefix, 'share', name, 'package.xml').is_file() for prefix in prefixes)


def _write_tf2_msgs(directory: Path) -> None:
    for name, text in _TF2_MSGS.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding='utf-8') != text:
            path.write_text(text, encoding='utf-8')


def _directories(workspace: Workspace, env: Mapping[str, str]) -> dict[str, Path]:
    found = {name: workspace.root / 'src' / name for name in PACKAGES}
    absent = [name for name, path in found.items() if not (path / 'package.xml').is_file()]
    if absent:
        raise SetupError(
            f'the checkout is incomplete: no package.xml in src/{absent[0]}',
            'restore it: git checkout -- src',
        )
    generated = workspace.generated / 'tf2_msgs'
    if generated.is_dir() or not has_package(env, 'tf2_msgs'):
        _write_tf2_msgs(generated)
        found = {'tf2_msgs': generated, **found}
    return found


def _build_environment(workspace: Workspace) -> dict[str, str]:
    env = environment.environment(workspace)
    # CMake must see neither our sources nor another workspace the shell has sourced.
    if not workspace.native:
        env.pop('COLCON_PREFIX_PATH', None)
        env['PYTHONPATH'] = str(workspace.site_packages)
    return env


def _stale(workspace: Workspace, env: Mapping[str, str]) -> dict[str, str]:
    """Return the key of each package that is not built from its present sources."""
    with_tests = 'ON' if has_package(env, TEST_PACKAGE) else 'OFF'
    base = digest([venv.install_key(workspace), with_tests])
    keys = {
        name: package_key(path, base, workspace.root)
        for name, path in _directories(workspace, env).items()
    }
    return {n: key for n, key in keys.items() if not workspace.is_done(f'build-{n}', key)}


def is_current(workspace: Workspace) -> bool:
    """Tell whether nothing is left to build; writes nothing."""
    return workspace.is_done('cmake_prefix', venv.install_key(workspace)) and not _stale(
        workspace, _build_environment(workspace)
    )


def drop_moved(workspace: Workspace) -> None:
    """Remove what was built where the checkout lay before: CMake refuses to go on from there."""
    caches = workspace.build.glob('*/CMakeCache.txt')
    here = f'CMAKE_CACHEFILE_DIR:INTERNAL={workspace.build}/'
    if all(here in path.read_text(encoding='utf-8', errors='replace') for path in caches):
        return
    say('the checkout has been moved or copied: building its packages anew')
    for folder in (workspace.build, workspace.install):
        shutil.rmtree(folder, ignore_errors=True)
    for stamp in workspace.stamps.glob('build-*'):
        stamp.unlink()


def ensure(workspace: Workspace) -> None:
    """Build the packages that are not built from their present sources."""
    patch_wheels(workspace)
    drop_moved(workspace)
    env = _build_environment(workspace)
    with_tests = 'ON' if has_package(env, TEST_PACKAGE) else 'OFF'
    directories = _directories(workspace, env)
    keys = _stale(workspace, env)
    stale = list(keys)
    if not stale:
        return
    for name in stale:
        workspace.mark_undone(f'build-{name}')
    shown_names = ', '.join(stale) if len(stale) < 4 else f'{len(stale)} packages'
    with step(f'building {shown_names}') as shown:
        run_logged(
            shown,
            _build_command(workspace, directories, stale, with_tests),
            log=workspace.logs / 'colcon.log',
            env=env,
            cwd=workspace.root,
            remedies=_BUILD_REMEDIES,
            default_remedy='read the log; after a change of compiler or Python: '
            'scripts/oceangym setup --clean',
        )
        for name in stale:
            workspace.mark_done(f'build-{name}', keys[name])


def _program(workspace: Workspace) -> list[str]:
    colcon = str(workspace.venv / 'bin' / 'colcon')
    return [str(workspace.python), colcon] if Path(colcon).is_file() else ['colcon']


def _colcon(workspace: Workspace, verb: str, paths: Iterable[Path]) -> list[str]:
    return [
        *_program(workspace),
        *('--log-base', str(workspace.logs / 'colcon')),
        *(verb, '--merge-install'),
        *('--build-base', str(workspace.build), '--install-base', str(workspace.install)),
        *('--paths', *(str(path) for path in paths)),
    ]


def _build_command(
    workspace: Workspace, directories: Mapping[str, Path], names: list[str], with_tests: str
) -> list[str]:
    return [
        *_colcon(workspace, 'build', directories.values()),
        '--symlink-install',
        *('--packages-select', *names),
        *('--event-handlers', 'console_direct+'),
        *(
            '--cmake-args',
            f'-DBUILD_TESTING={with_tests}',
            '-DCMAKE_BUILD_TYPE=Release',
            '--no-warn-unused-cli',
        ),
        *(() if workspace.native else ('-G', 'Ninja')),
        *('-DPython3_FIND_VIRTUALENV=ONLY', f'-DPython3_EXECUTABLE={workspace.python}'),
    ]


def test_command(workspace: Workspace, *, side_by_side: int, ctest: Sequence[str]) -> list[str]:
    """Return the command that runs the tests which the packages register with CTest.

    Args:
        workspace: the checkout, built.
        side_by_side: how many packages are tested at once.
        ctest: arguments that choose among the tests of a package.
    """
    return [
        *_colcon(workspace, 'test', (workspace.root / 'src' / name for name in PACKAGES)),
        '--return-code-on-test-failure',
        *('--executor', 'parallel', '--parallel-workers', str(side_by_side)),
        *('--event-handlers', 'console_cohesion+'),
        *('--ctest-args', *(f' {argument}' for argument in ctest)),
    ]


def has_colcon(workspace: Workspace, env: Mapping[str, str]) -> bool:
    """Tell whether colcon answers, for the doctor."""
    try:
        result = subprocess.run(
            [*_program(workspace), '--help'], env=env, capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0
