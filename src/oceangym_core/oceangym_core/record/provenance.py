"""What a run was made with: versions, commit and digests."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
import hashlib
from importlib import metadata
from pathlib import Path
import platform
import subprocess
from typing import Any

from oceangym_core.config.options import RunOptions
from oceangym_core.errors import OceanGymError
from oceangym_core.files import read_schema
from oceangym_core.record.schema import ExperienceSource, RUN_FILE, RunInfo
from oceangym_core.world.world import World

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
    'openai',
    'jinja2',
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
    state = path.stat()
    return _file_sha256(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=4096)
def _file_sha256(path: Path, size: int, mtime_ns: int) -> str:
    # A benchmark runs thousands of episodes in one world: unchanged files are read once.
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


def world_files(
    world: World, *, terrain: bool = True, props: bool = True
) -> list[tuple[str, Path]]:
    """Return the files that a world is made of, named alike wherever they lie.

    Args:
        world: As loaded.
        terrain: With the SDF file and the models that hold the seabed.
        props: With all other models: description, meshes, textures.
    """
    files = {world.path.name: world.path} if terrain else {}
    models = {i.model.path.parent: i.model.heightfield is not None for i in world.instances}
    for folder, is_terrain in models.items():
        if terrain if is_terrain else props:
            files |= {
                f'models/{folder.name}/{path.relative_to(folder).as_posix()}': path
                for path in folder.rglob('*')
                if path.is_file()
            }
    return list(files.items())


def world_sha256(world: World) -> str:
    """Return the digest of all that a world is made of; 40 ms for the 33 MB of the shipped ocean."""
    return files_sha256(world_files(world))


def experience_sources(options: RunOptions) -> tuple[ExperienceSource, ...]:
    """Return where a run's experience comes from: each source with its run and files' digests.

    Raises:
        OceanGymError: A source does not exist, has no memory files or a broken ``run.yaml``.
    """
    return tuple(_experience_source(path) for path in options.memory_sources)


def _experience_source(path: Path) -> ExperienceSource:
    folder = path if path.is_dir() else path.parent
    files = [path] if path.is_file() else sorted(path.glob('*memory_*.json'))
    if not files:
        raise OceanGymError(
            f'memory_from: {path} holds no memory_<time>.json; name run directories or memory '
            "files, separated by ':'"
        )
    run_file = folder / RUN_FILE
    info = read_schema(run_file, RunInfo) if run_file.is_file() else None
    return ExperienceSource(
        path=str(path),
        run_id='' if info is None else info.run_id,
        task='' if info is None else info.task.id,
        files={file.name: file_sha256(file) for file in files},
    )
