"""What a run was made with: versions, commit and digests."""

from __future__ import annotations

from collections.abc import Iterable
import hashlib
from importlib import metadata
from pathlib import Path
import platform
import subprocess
from typing import Any

from oceangym_core.world import World

PACKAGES = (
    'numpy',
    'scipy',
    'numba',
    'mitsuba',
    'drjit',
    'trimesh',
    'pydantic',
    'PyYAML',
    'opencv-python-headless',
    'mcap',
    'rclpy',
    'ros-jazzy-rclpy',
)


def package_versions(names: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python, the platform and the installed ones of some packages."""
    versions = {'python': platform.python_version(), 'platform': platform.platform()}
    installed = {name: _version(name) for name in names}
    return versions | {name: version for name, version in installed.items() if version}


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def git_state(directory: Path) -> dict[str, Any]:
    """Return the commit of a source tree and whether it has uncommitted changes; None if unknown."""
    commit = _git(directory, 'rev-parse', 'HEAD')
    if commit is None:
        return {'commit': None, 'dirty': None}
    changes = _git(directory, 'status', '--porcelain', '--untracked-files=no')
    return {'commit': commit, 'dirty': None if changes is None else bool(changes)}


def _git(directory: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(
            ['git', '--no-optional-locks', '-C', str(directory), *arguments],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()


def file_sha256(path: Path) -> str:
    """Return the hex digest of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_sha256(files: Iterable[tuple[str, Path]]) -> str:
    """Return one hex digest of named files: their names, sizes and contents, in the names' order.

    Args:
        files: Pairs of a name that is the same on every machine, and the file.
    """
    state = hashlib.sha256()
    for name, path in sorted(files):
        state.update(f'{name} {path.stat().st_size} {file_sha256(path)}\n'.encode())
    return state.hexdigest()


def world_sha256(world: World) -> str:
    """Return the digest of all that a world is made of.

    These are its SDF file and every file (description, meshes, textures, heightfield) of the
    models that it includes; where they lie makes no difference. The shipped ocean is 33 MB and
    takes 40 ms.
    """
    files = {world.path.name: world.path}
    for model in {instance.model.path.parent: None for instance in world.instances}:
        files |= {
            f'models/{model.name}/{path.relative_to(model).as_posix()}': path
            for path in model.rglob('*')
            if path.is_file()
        }
    return files_sha256(files.items())
