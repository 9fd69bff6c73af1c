"""The manual: its own virtual environment, and the strict build of its pages.

The pages are read from the sources alone: neither ROS nor the packages need to be set up.
"""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import shutil
import subprocess

from oceangym_setup.errors import SetupError
from oceangym_setup.progress import run_logged, say, step
from oceangym_setup.venv import interpreter, pip_environment, PIP_REMEDIES, venv_key
from oceangym_setup.workspace import digest, SetupLock, Workspace

_STAMP, _TRIED = 'docs', 'docs-tried'


def lock_file(workspace: Workspace) -> Path:
    """Return the pinned requirements of the manual."""
    return workspace.root / 'requirements' / 'lock-docs.txt'


def _key(workspace: Workspace) -> str:
    return digest([venv_key(workspace), lock_file(workspace).read_bytes()])


def is_installed(workspace: Workspace) -> bool:
    """Tell whether the manual can be built here."""
    return workspace.is_done(_STAMP, _key(workspace)) and workspace.docs_python.exists()


def ensure(workspace: Workspace) -> None:
    """Install what the manual is built with; do nothing where it is installed.

    Raises:
        SetupError: The package index cannot be reached, the disk is full, ...
    """
    if is_installed(workspace):
        return
    env = pip_environment(os.environ)
    target = workspace.docs_python.parent.parent
    install = ('-m', 'pip', 'install', '--only-binary=:all:', '--no-deps', '--no-compile')
    commands: Mapping[str, list[str | Path]] = {
        'venv': [interpreter(), '-m', 'venv', target],
        'pip': [workspace.docs_python, *install, '-r', lock_file(workspace)],
    }
    with SetupLock(workspace), step('Python packages of the manual') as shown:
        workspace.mark_undone(_STAMP)
        shutil.rmtree(target, ignore_errors=True)
        for name, command in commands.items():
            run_logged(
                shown,
                command,
                log=workspace.logs / f'docs-{name}.log',
                env=env,
                cwd=workspace.root,
                remedies=PIP_REMEDIES,
                default_remedy='run the same command again; finished downloads are kept',
            )
        workspace.mark_done(_STAMP, _key(workspace))


def ensure_for_tests(workspace: Workspace) -> None:
    """Install it where that is possible; where it fails, say what is skipped.

    What failed once is not tried again before the lock file changes or ``setup --clean``.
    """
    if is_installed(workspace):
        return
    if not workspace.is_done(_TRIED, _key(workspace)):
        try:
            ensure(workspace)
            return
        except SetupError as error:
            say(f'not installed: {error.problem.splitlines()[0]}')
            workspace.mark_done(_TRIED, _key(workspace))
    say('the build of the manual is not tested; to install what it needs: scripts/oceangym docs')


def build(python: Path, *, root: Path, site: Path) -> int:
    """Build a checkout's manual into a folder, every warning an error, and return the exit code."""
    command: list[str | Path] = [python, '-m', 'mkdocs', 'build', '--strict', '--site-dir', site]
    env = {**pip_environment(os.environ), 'NO_MKDOCS_2_WARNING': '1'}
    return subprocess.run(command, cwd=root, env=env, check=False).returncode


def run(workspace: Workspace, arguments: list[str]) -> int:
    """Build the manual and say where it is: the ``docs`` verb."""
    if arguments:
        raise SetupError(f'docs does not know {arguments[0]!r}', 'it takes no arguments')
    ensure(workspace)
    site = workspace.state / 'site'
    code = build(workspace.docs_python, root=workspace.root, site=site)
    if code == 0:
        print(site / 'index.html')
    return code
