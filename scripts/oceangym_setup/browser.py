"""Install the browser that looks at the reports in the tests, where that is possible.

Chromium and its driver are packages of the distribution. Without them the tests that click through
a report are skipped; nothing else needs them, so nothing here fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import os
from pathlib import Path
import shutil
import subprocess

from oceangym_setup.errors import SetupError
from oceangym_setup.progress import run_logged, say, Step, step
from oceangym_setup.testing import names_tests
from oceangym_setup.workspace import digest, Workspace

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome')
DRIVERS = ('chromedriver', '/usr/lib/chromium/chromedriver')
PACKAGES = ('chromium', 'chromium-driver')
MANUAL = f'sudo apt-get update && sudo apt-get install {" ".join(PACKAGES)}'


def is_installed() -> bool:
    """Tell whether there is a browser and a driver for it."""
    return any(map(shutil.which, BROWSERS)) and any(map(shutil.which, DRIVERS))


def is_wanted(root: Path, arguments: Sequence[str]) -> bool:
    """Tell whether tests that use it may be among those that are asked for."""
    return not names_tests(root, arguments) or any('oceangym_bench' in a for a in arguments)


def root_prefix(env: Mapping[str, str]) -> list[str] | None:
    """Return what makes a command run as root without asking anybody; None if nothing does."""
    if os.geteuid() == 0:
        return []
    if shutil.which('sudo') is None:
        return None
    command = ['sudo', '-n', 'true']
    allowed = subprocess.run(command, env=dict(env), capture_output=True, check=False)
    return ['sudo', '-n'] if allowed.returncode == 0 else None


def ensure(workspace: Workspace, env: Mapping[str, str]) -> None:
    """Install Chromium and its driver if they are missing; where that fails, say how to.

    What failed once is not tried again before the packages' names change or ``setup --clean``.
    """
    key = digest(PACKAGES)
    if is_installed():
        return
    tried = workspace.is_done('browser', key)
    prefix = None if tried or shutil.which('apt-get') is None else root_prefix(env)
    if prefix is not None:
        with step('Chromium for the tests of the reports') as shown:
            try:
                _install(workspace, shown, prefix, env)
            except SetupError as error:
                say(f'not installed: {error.problem.splitlines()[0]}')
        workspace.mark_done('browser', key)
    if not is_installed():
        say(f'without Chromium the browser tests of the reports are skipped; to have it: {MANUAL}')


def _install(workspace: Workspace, shown: Step, prefix: list[str], env: Mapping[str, str]) -> None:
    plain = {**env, 'DEBIAN_FRONTEND': 'noninteractive', 'LC_ALL': 'C'}
    for name in ('LD_LIBRARY_PATH', 'PYTHONPATH'):
        plain.pop(name, None)
    commands: tuple[list[str | Path], ...] = (
        ['apt-get', 'update'],
        ['apt-get', 'install', '-y', '--no-install-recommends', *PACKAGES],
    )
    for command in commands:
        run_logged(
            shown,
            [*prefix, *command],
            log=workspace.logs / f'browser-{command[1]}.log',
            env=plain,
            cwd=workspace.root,
            remedies={},
            default_remedy=MANUAL,
        )
