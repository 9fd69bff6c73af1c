"""The environment variables that nodes, tests and shells run with."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import shlex
import subprocess

from oceangym_setup import llvm
from oceangym_setup.errors import SetupError
from oceangym_setup.workspace import digest, PACKAGES, Workspace


def _join(first: list[Path], rest: str | None) -> str:
    parts = [str(path) for path in first]
    parts += [part for part in (rest or '').split(os.pathsep) if part and part not in parts]
    return os.pathsep.join(parts)


def source_paths(workspace: Workspace) -> list[Path]:
    """Return the directories that make our packages importable straight from the checkout."""
    return [workspace.root / 'src' / name for name in PACKAGES if name != 'oceangym_msgs']


def compiled_code_digest(workspace: Workspace) -> str:
    """Return a digest of all compiled code, which names Numba's cache.

    Numba keeps a function's cache while its own file is unchanged, although it takes in functions
    of other files; one directory per state of all of them leaves nothing stale.
    """
    texts = (
        path.read_text(encoding='utf-8')
        for path in sorted(workspace.root.glob('src/*/oceangym*/**/*.py'))
    )
    return digest([text for text in texts if 'njit(' in text])[:12]


def _cache(workspace: Workspace, base: Mapping[str, str]) -> Path:
    """Return the checkout's cache, or the user's where the checkout cannot be written."""
    if os.access(workspace.state, os.W_OK) or not workspace.state.is_dir():
        return workspace.state / 'cache'
    home = base.get('XDG_CACHE_HOME') or Path('~/.cache').expanduser()
    return Path(home) / 'oceangym'


def _shared_settings(workspace: Workspace, base: Mapping[str, str]) -> dict[str, str]:
    cache = _cache(workspace, base)
    settings = {
        'OCEANGYM_ROOT': str(workspace.root),
        'FASTRTPS_DEFAULT_PROFILES_FILE': str(workspace.root / 'config' / 'fastdds.xml'),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'NUMBA_CACHE_DIR': str(cache / 'numba' / compiled_code_digest(workspace)),
        'PYTHONPYCACHEPREFIX': str(cache / 'bytecode'),
    }
    # What lies in our own state came from us, through a shell of ours, and may be out of date.
    ours = f'{workspace.state}{os.sep}'
    chosen_by_user = {
        name: base[name] for name in settings if base.get(name) and not base[name].startswith(ours)
    }
    # Containers often forbid bytecode to keep folders clean. Ours has a folder of its own, and without
    # it every process compiles the three thousand files that it imports again.
    fixed = {'OCEANGYM_ROOT': str(workspace.root), 'PYTHONDONTWRITEBYTECODE': ''}
    return settings | chosen_by_user | fixed


def wheels_environment(workspace: Workspace, base: Mapping[str, str]) -> dict[str, str]:
    """Return ``base`` with everything that ROS 2 from wheels needs.

    The wheels' own start-up hook would find the shared libraries by executing Python a second
    time; with the paths and its guard variable set here it does nothing.
    """
    libraries = sorted(workspace.site_packages.glob('ros_*.libs'))
    installed = workspace.install / 'lib'
    site = installed / workspace.site_packages.parent.name / 'site-packages'
    env = dict(base)
    env |= _shared_settings(workspace, base)
    env |= {
        'OCEANGYM_ROS': 'wheels',
        'VIRTUAL_ENV': str(workspace.venv),
        'PYTHONNOUSERSITE': '1',
        'PATH': _join([workspace.venv / 'bin'], base.get('PATH')),
        'PYTHONPATH': _join([*source_paths(workspace), site], None),
        'LD_LIBRARY_PATH': _join(
            [installed, workspace.venv / 'lib', *libraries], base.get('LD_LIBRARY_PATH')
        ),
        '_ROS_WHEELS_BOOTSTRAP_COMPLETE': '1',
        'AMENT_PREFIX_PATH': _join([workspace.install, workspace.venv], None),
        'CMAKE_PREFIX_PATH': _join([workspace.install, workspace.venv], None),
        'ROS_VERSION': '2',
        'ROS_PYTHON_VERSION': '3',
        'RMW_IMPLEMENTATION': 'rmw_fastrtps_cpp',
    }
    env.pop('PYTHONHOME', None)
    return env


def native_environment(workspace: Workspace, base: Mapping[str, str]) -> dict[str, str]:
    """Return the sourced ROS 2 environment with our overlay and virtual environment on top."""
    env = dict(base)
    overlay = workspace.install / 'local_setup.sh'
    if overlay.is_file():
        # Sourced by a plain sh, the file cannot find out where it lies.
        command = f'. {shlex.quote(str(overlay))} >/dev/null && env -0'
        listing = subprocess.run(
            ['sh', '-c', command],
            env={**env, 'COLCON_CURRENT_PREFIX': str(workspace.install)},
            capture_output=True,
            check=False,
            text=True,
        )
        if listing.returncode != 0:
            raise SetupError(
                f'cannot source {overlay}: {listing.stderr.strip()}',
                'remove .oceangym/native and run: scripts/oceangym setup',
            )
        env = dict(line.split('=', 1) for line in listing.stdout.split('\0') if '=' in line)
    env |= _shared_settings(workspace, base)
    env |= {
        'OCEANGYM_ROS': 'native',
        'VIRTUAL_ENV': str(workspace.venv),
        'PATH': _join([workspace.venv / 'bin'], env.get('PATH')),
        'PYTHONPATH': _join(source_paths(workspace), env.get('PYTHONPATH')),
    }
    return env


def environment(workspace: Workspace, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for this checkout, the LLVM library found at set-up included."""
    given = dict(os.environ) if base is None else dict(base)
    build = native_environment if workspace.native else wheels_environment
    env = build(workspace, given)
    library = llvm.recorded_library(workspace)
    if library is not None:
        env['DRJIT_LIBLLVM_PATH'] = str(library)
    return env


_EXPORTED = (
    'OCEANGYM_ROOT',
    'OCEANGYM_ROS',
    'VIRTUAL_ENV',
    'PYTHONNOUSERSITE',
    'PATH',
    'PYTHONPATH',
    'LD_LIBRARY_PATH',
    '_ROS_WHEELS_BOOTSTRAP_COMPLETE',
    'AMENT_PREFIX_PATH',
    'CMAKE_PREFIX_PATH',
    'ROS_VERSION',
    'ROS_PYTHON_VERSION',
    'RMW_IMPLEMENTATION',
    'FASTRTPS_DEFAULT_PROFILES_FILE',
    'ROS_AUTOMATIC_DISCOVERY_RANGE',
    'NUMBA_CACHE_DIR',
    'PYTHONDONTWRITEBYTECODE',
    'PYTHONPYCACHEPREFIX',
    'DRJIT_LIBLLVM_PATH',
)
_OVERRIDABLE = ('ROS_AUTOMATIC_DISCOVERY_RANGE', 'FASTRTPS_DEFAULT_PROFILES_FILE')


def script(workspace: Workspace) -> str:
    """Return the text of the file that a POSIX shell sources to get this environment."""
    env = environment(workspace, {})
    lines = ['# Written by scripts/oceangym setup; source it in any POSIX shell.']
    for name in _EXPORTED:
        if name not in env:
            continue
        value = shlex.quote(env[name])
        if name in ('PATH', 'LD_LIBRARY_PATH') or (workspace.native and name == 'PYTHONPATH'):
            lines.append(f'export {name}={value}${{{name}:+:${name}}}')
        elif name in _OVERRIDABLE:
            lines.append(f'export {name}="${{{name}:-{env[name]}}}"')
        else:
            lines.append(f'export {name}={value}')
    if workspace.native:
        overlay = shlex.quote(str(workspace.install / 'local_setup.sh'))
        lines.insert(1, f'COLCON_CURRENT_PREFIX={shlex.quote(str(workspace.install))}')
        lines.insert(2, f'. {overlay}')
    return '\n'.join(lines) + '\n'
