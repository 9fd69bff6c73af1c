"""Where things are in the checkout, and the stamps that say which step is done."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import fcntl
import hashlib
import os
from pathlib import Path
import sys
from typing import TextIO

PACKAGES = (
    'oceangym_msgs',
    'oceangym_core',
    'oceangym_worlds',
    'oceangym_sim',
    'oceangym_gazebo',
    'oceangym_tasks',
    'oceangym_agent',
    'oceangym_vehicle',
    'oceangym_bench',
    'oceangym',
)


@dataclass(frozen=True, kw_only=True)
class Workspace:
    """One checkout and the state that set-up keeps in it.

    Attributes:
        root: top of the checkout.
        native: True where a sourced ROS 2 installation is used, False for ROS 2 from wheels.
    """

    root: Path
    native: bool

    @property
    def state(self) -> Path:
        """Everything set-up makes, apart for native ROS so that switching never mixes two ROS."""
        return self.root / '.oceangym' / ('native' if self.native else 'wheels')

    @property
    def venv(self) -> Path:
        """The virtual environment."""
        return self.state / 'venv'

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.venv / 'bin' / 'python'

    @property
    def docs_python(self) -> Path:
        """The interpreter that builds the manual, in a virtual environment of its own."""
        return self.state / 'docs' / 'bin' / 'python'

    @property
    def site_packages(self) -> Path:
        """Its site-packages; set-up builds it with the interpreter that runs now."""
        version = f'python{sys.version_info.major}.{sys.version_info.minor}'
        return self.venv / 'lib' / version / 'site-packages'

    @property
    def install(self) -> Path:
        """What colcon installs."""
        return self.state / 'install'

    @property
    def build(self) -> Path:
        """Where colcon builds."""
        return self.state / 'build'

    @property
    def generated(self) -> Path:
        """Sources of packages that set-up writes itself."""
        return self.state / 'src'

    @property
    def logs(self) -> Path:
        """One log file for each long step."""
        return self.state / 'log'

    @property
    def env_script(self) -> Path:
        """What a user sources to work in this environment."""
        return self.root / '.oceangym' / 'env.sh'

    @property
    def lock_file(self) -> Path:
        """The pinned requirements."""
        return self.root / 'requirements' / ('lock-native.txt' if self.native else 'lock.txt')

    @property
    def extras_file(self) -> Path:
        """The pinned requirements of optional parts."""
        native = '-native' if self.native else ''
        return self.root / 'requirements' / f'lock-extras{native}.txt'

    @property
    def stamps(self) -> Path:
        """One file for each finished step."""
        return self.state / 'stamps'

    def is_done(self, step: str, key: str) -> bool:
        """Tell whether ``step`` was finished for exactly these inputs."""
        try:
            return (self.stamps / step).read_text(encoding='utf-8') == key
        except OSError:
            return False

    def mark_done(self, step: str, key: str) -> None:
        """Record ``step`` as finished, in one atomic move."""
        self.stamps.mkdir(parents=True, exist_ok=True)
        partial = self.stamps / f'.{step}.{os.getpid()}'
        partial.write_text(key, encoding='utf-8')
        partial.replace(self.stamps / step)

    def mark_undone(self, step: str) -> None:
        """Forget ``step``, so that an interruption leaves it to be done again."""
        (self.stamps / step).unlink(missing_ok=True)


def digest(parts: Iterable[str | bytes]) -> str:
    """Hash a sequence of texts, each with its length, so that no two sequences collide."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(f'{len(data)}:'.encode())
        state.update(data)
    return state.hexdigest()


class SetupLock:
    """Keep two set-ups of one checkout from writing over each other."""

    def __init__(self, workspace: Workspace) -> None:
        self._path = workspace.state / 'lock'
        self._file: TextIO | None = None

    def __enter__(self) -> SetupLock:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._path.open('w', encoding='utf-8')
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(
                'oceangym: another set-up of this checkout is running, waiting for it',
                file=sys.stderr,
            )
            fcntl.flock(self._file, fcntl.LOCK_EX)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()
