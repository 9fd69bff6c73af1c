"""Install programs of the distribution that only tests use, where that is possible.

Without one of them the tests that need it are skipped; nothing else needs them, so nothing here
fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
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
SDF_LIBRARY = '/usr/lib/*-linux-gnu/libsdformat12.so.12'


@dataclass(frozen=True, kw_only=True)
class TestExtra:
    """One thing that some tests need.

    Attributes:
        name: What it is, in a sentence.
        stamp: Name of the step that installs it.
        packages: Of Debian and Ubuntu.
        tested_package: Our package whose tests use it.
        lost: What is skipped without it.
        is_installed: Tells whether it is there.
    """

    name: str
    stamp: str
    packages: tuple[str, ...]
    tested_package: str
    lost: str
    is_installed: Callable[[], bool]

    @property
    def manual(self) -> str:
        """How a person installs it."""
        return f'sudo apt-get update && sudo apt-get install {" ".join(self.packages)}'


def has_browser() -> bool:
    """Tell whether there is a browser and a driver for it."""
    return any(map(shutil.which, BROWSERS)) and any(map(shutil.which, DRIVERS))


def has_sdf_library() -> bool:
    """Tell whether there is the libsdformat that world and model files are checked with."""
    return any(Path('/').glob(SDF_LIBRARY.lstrip('/')))


BROWSER = TestExtra(
    name='Chromium',
    stamp='browser',
    packages=('chromium', 'chromium-driver'),
    tested_package='oceangym_bench',
    lost='the browser tests of the reports',
    is_installed=has_browser,
)
SDFORMAT = TestExtra(
    name='libsdformat 12',
    stamp='sdformat',
    packages=('libsdformat12-12', 'sdformat-sdf'),
    tested_package='oceangym_worlds',
    lost="libsdformat's checks of worlds and models",
    is_installed=has_sdf_library,
)
EXTRAS = (BROWSER, SDFORMAT)


def is_wanted(tested_package: str, root: Path, arguments: Sequence[str]) -> bool:
    """Tell whether tests of a package may be among those that are asked for."""
    return not names_tests(root, arguments) or any(f'{tested_package}/' in a for a in arguments)


def root_prefix(env: Mapping[str, str]) -> list[str] | None:
    """Return what makes a command run as root without asking anybody; None if nothing does."""
    if os.geteuid() == 0:
        return []
    if shutil.which('sudo') is None:
        return None
    command = ['sudo', '-n', 'true']
    allowed = subprocess.run(command, env=dict(env), capture_output=True, check=False)
    return ['sudo', '-n'] if allowed.returncode == 0 else None


def ensure_wanted(workspace: Workspace, arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """Install what the tests that are asked for may use."""
    for extra in EXTRAS:
        if is_wanted(extra.tested_package, workspace.root, arguments):
            ensure(extra, workspace, env)


def ensure(extra: TestExtra, workspace: Workspace, env: Mapping[str, str]) -> None:
    """Install what is missing; where that fails, say how to.

    What failed once is not tried again before the packages' names change or ``setup --clean``.
    """
    if extra.is_installed():
        return
    key = digest(extra.packages)
    tried = workspace.is_done(extra.stamp, key)
    prefix = None if tried or shutil.which('apt-get') is None else root_prefix(env)
    if prefix is not None:
        with step(f'{extra.name} for the tests') as shown:
            try:
                _install(extra, workspace, shown, prefix, env)
            except SetupError as error:
                say(f'not installed: {error.problem.splitlines()[0]}')
        workspace.mark_done(extra.stamp, key)
    if not extra.is_installed():
        say(f'without {extra.name} {extra.lost} are skipped; to have it: {extra.manual}')


def _install(
    extra: TestExtra, workspace: Workspace, shown: Step, prefix: list[str], env: Mapping[str, str]
) -> None:
    plain = {**env, 'DEBIAN_FRONTEND': 'noninteractive', 'LC_ALL': 'C'}
    for name in ('LD_LIBRARY_PATH', 'PYTHONPATH'):
        plain.pop(name, None)
    commands: tuple[list[str | Path], ...] = (
        ['apt-get', 'update'],
        ['apt-get', 'install', '-y', '--no-install-recommends', *extra.packages],
    )
    for command in commands:
        run_logged(
            shown,
            [*prefix, *command],
            log=workspace.logs / f'{extra.stamp}-{command[1]}.log',
            env=plain,
            cwd=workspace.root,
            remedies={},
            default_remedy=extra.manual,
        )
