"""The world file of a run: shipped, or generated for its seed and kept."""

from __future__ import annotations

from collections.abc import Callable
import os
from pathlib import Path
import sys

from oceangym_core.config.options import RunOptions
from oceangym_core.config.tasks import TaskRegistry, WORLD_FILES
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.paths import user_path
from oceangym_worlds.generate import ensure_world


def say(message: str) -> None:
    """Tell a person at the terminal."""
    print(message, file=sys.stderr, flush=True)


def cache_directory() -> Path:
    """Return where generated worlds are kept."""
    base = os.environ.get('XDG_CACHE_HOME') or '~/.cache'
    return user_path(base) / 'oceangym' / 'worlds'


def world_file(options: RunOptions, report: Callable[[str], None] = say) -> Path:
    """Return the SDF file of the options' task and world seed, generated on first use.

    Args:
        options: Of the run.
        report: Told when a world has to be generated, which takes a while.

    Raises:
        OceanGymError: The world is unknown or cannot be generated.
    """
    task = TaskRegistry.load(options.config_dirs).get(options.task)
    source = Path(task.world_source)
    if task.world_source != task.world and not source.is_file():
        near = [p.name for p in source.parent.glob('*') if p.suffix in WORLD_FILES]
        problem = unknown_name('file', task.world, near, hint=f'Looked for {source}.')
        raise OceanGymError(f'{task.path}: world: {problem}')
    try:
        return ensure_world(
            task.world_source, options.world_seed, cache_directory(), report=report
        )
    except OceanGymError as error:
        # A world's own file names itself; of a mere name only the task knows where it comes from.
        if task.path is None or task.world_source != task.world:
            raise
        raise OceanGymError(f'{task.path}: world: {error}') from error
