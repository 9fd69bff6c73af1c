"""Create the virtual environment and install the pinned requirements into it."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import shutil
import sys

from oceangym_setup.progress import run_logged, Step, step
from oceangym_setup.workspace import digest, Workspace

_NETWORK = (
    'the package index could not be reached: check the network and the proxy '
    '(https_proxy, pip config), then run the same command again; finished steps are kept'
)
PIP_REMEDIES = {
    'No space left on device': 'the disk is full: free at least 3 GB and run the same command again',
    'Temporary failure in name resolution': _NETWORK,
    'Name or service not known': _NETWORK,
    'Network is unreachable': _NETWORK,
    'Connection refused': _NETWORK,
    'NewConnectionError': _NETWORK,
    'Max retries exceeded': _NETWORK,
    'Read timed out': _NETWORK,
    'ProxyError': _NETWORK,
    'CERTIFICATE_VERIFY_FAILED': (
        'the certificate of the package index is not trusted: set PIP_CERT to the CA bundle of '
        'your network and run the same command again'
    ),
    'No matching distribution found': (
        'the package index has no such version for this Python: check that pip is not restricted '
        'to a mirror or by constraints (pip config list), or use another Python in OCEANGYM_PYTHON'
    ),
    'ResolutionImpossible': (
        "pip's own configuration contradicts requirements/: look for constraints in "
        '`pip config list` and lift them with PIP_CONFIG_FILE=/dev/null'
    ),
    'ensurepip': 'Debian, Ubuntu: sudo apt-get install python3-venv',
}
_BUILD_TOOLS = ('setuptools==', 'wheel==', 'packaging==')


def venv_key(workspace: Workspace) -> str:
    """Identify interpreter and place; a venv made for others is made anew."""
    version = '.'.join(map(str, sys.version_info[:3]))
    return digest([sys.base_prefix, version, str(workspace.venv)])


def interpreter() -> str:
    """Return the Python beneath any virtual environment that is active now.

    Set-up may be started from inside a virtual environment, its own included.
    """
    return getattr(sys, '_base_executable', None) or sys.executable


def install_key(workspace: Workspace) -> str:
    """Identify what the virtual environment must hold."""
    return digest([venv_key(workspace), workspace.lock_file.read_bytes()])


def build_tools(lock: str) -> str:
    """Pick the lock's lines for what source distributions are built with."""
    return ''.join(f'{line}\n' for line in lock.splitlines() if line.startswith(_BUILD_TOOLS))


def pip_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for pip: the user's indexes, but no user site and no other venv."""
    clean = {k: v for k, v in env.items() if k not in ('PYTHONPATH', 'PYTHONHOME', 'PIP_TARGET')}
    return {**clean, 'PIP_USER': '0', 'PIP_DISABLE_PIP_VERSION_CHECK': '1', 'PIP_NO_INPUT': '1'}


def _create(workspace: Workspace, env: Mapping[str, str]) -> None:
    key = venv_key(workspace)
    if workspace.is_done('venv', key) and workspace.python.exists():
        return
    with step('virtual environment') as shown:
        for stamp in ('venv', 'requirements', 'extras', 'cmake_prefix'):
            workspace.mark_undone(stamp)
        shutil.rmtree(workspace.venv, ignore_errors=True)
        flags = ['--system-site-packages'] if workspace.native else []
        run_logged(
            shown,
            [interpreter(), '-m', 'venv', *flags, workspace.venv],
            log=workspace.logs / 'venv.log',
            env=env,
            cwd=workspace.root,
            remedies=PIP_REMEDIES,
            default_remedy='Debian, Ubuntu: sudo apt-get install python3-venv',
        )
        # The next start takes the same Python, whatever comes first in PATH by then.
        (workspace.root / '.oceangym' / 'python').write_text(interpreter(), encoding='utf-8')
        workspace.mark_done('venv', key)


def _install(workspace: Workspace, env: Mapping[str, str]) -> None:
    key = install_key(workspace)
    if workspace.is_done('requirements', key):
        return
    lock = workspace.lock_file.read_text(encoding='utf-8')
    first = workspace.state / 'build-tools.txt'
    first.write_text(build_tools(lock), encoding='utf-8')
    workspace.mark_undone('requirements')
    workspace.mark_undone('cmake_prefix')
    with step(f'about {_count(lock)} pinned Python packages') as shown:
        if first.stat().st_size:
            _pip(workspace, shown, env, 'build-tools', first)
        _pip(workspace, shown, env, 'requirements', workspace.lock_file)
        workspace.mark_done('requirements', key)


def _count(lock: str) -> int:
    return sum(1 for line in lock.splitlines() if '==' in line)


def is_current(workspace: Workspace) -> bool:
    """Tell whether nothing is left to install."""
    made = workspace.is_done('venv', venv_key(workspace)) and workspace.python.exists()
    return made and workspace.is_done('requirements', install_key(workspace))


def ensure_extras(workspace: Workspace) -> None:
    """Install what optional parts need, on top of the rest."""
    lock = workspace.extras_file.read_text(encoding='utf-8')
    key = digest([install_key(workspace), lock])
    if workspace.is_done('extras', key):
        return
    workspace.mark_undone('extras')
    with step(f'about {_count(lock)} pinned Python packages of optional parts') as shown:
        _pip(workspace, shown, pip_environment(os.environ), 'extras', workspace.extras_file)
        workspace.mark_done('extras', key)


def _pip(workspace: Workspace, shown: Step, env: Mapping[str, str], name: str, file: Path) -> None:
    run_logged(
        shown,
        [
            workspace.python,
            *('-m', 'pip', 'install', '--no-build-isolation', '--only-binary=:all:'),
            *('--no-binary=empy', '--no-deps', '--no-compile', '-r', file),
        ],
        log=workspace.logs / f'pip-{name}.log',
        env=env,
        cwd=workspace.root,
        remedies=PIP_REMEDIES,
        default_remedy='run the same command again; finished downloads are kept',
    )


def ensure(workspace: Workspace) -> None:
    """Bring the virtual environment up to date with the lock file."""
    env = pip_environment(os.environ)
    _create(workspace, env)
    _install(workspace, env)
