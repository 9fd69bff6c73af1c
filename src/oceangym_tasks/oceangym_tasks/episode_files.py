"""Opens an episode: everything resolved, its run directory made, its record begun."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import EpisodeSetup, prepare_episode
from oceangym_core.record.writer import make_run_info, new_run_directory, run_id_for, RunWriter
from oceangym_core.world.world import World
from oceangym_tasks.task_manager import TaskManager

# Agents that are given the truth; their runs are marked.
PRIVILEGED_AGENTS = ('oracle', 'perfect_eyes')


@dataclass(frozen=True, kw_only=True)
class OpenEpisode:
    """An episode that is ready to be waited for, and the manager that keeps its record."""

    setup: EpisodeSetup
    manager: TaskManager


def open_episode(
    options: RunOptions,
    world: World,
    *,
    directory: Path | None,
    clock: Callable[[], datetime],
) -> OpenEpisode:
    """Resolve an episode and begin its record.

    Args:
        options: Of the run.
        world: Of its task.
        directory: Where the record goes; a new one under the options' results_dir if None.
        clock: Wall clock, for names and notes only.

    Raises:
        OceanGymError: The options do not make an episode, or the directory cannot be used.
    """
    setup = prepare_episode(options, world)
    if directory is None:
        run_id = run_id_for(options, clock())
        directory = new_run_directory(Path(options.results_dir), run_id)
    else:
        directory.mkdir(parents=True, exist_ok=True)
    manager = begin_record(
        setup,
        directory=directory,
        privileged=options.agent in PRIVILEGED_AGENTS,
        clock=clock,
        decisions_lag=True,
    )
    return OpenEpisode(setup=setup, manager=manager)


def begin_record(
    setup: EpisodeSetup,
    *,
    directory: Path | None,
    privileged: bool,
    clock: Callable[[], datetime],
    decisions_lag: bool = False,
) -> TaskManager:
    """Write down what is fixed about an episode and return the manager that keeps its record.

    Args:
        setup: The episode.
        directory: An empty run directory; None to keep the record in memory.
        privileged: Whether the agent is given the truth.
        clock: Wall clock, for notes only.
        decisions_lag: See `TaskManager`.

    Raises:
        OceanGymError: The directory cannot be used, or something that is to be noted is missing.
    """
    options = setup.options
    info = make_run_info(
        run_id=run_id_for(options, clock()) if directory is None else directory.name,
        options=options,
        task=setup.task,
        targets=setup.targets,
        world=setup.world,
        bounds=setup.bounds,
        shift=setup.shift,
        start=setup.start,
        order=setup.order,
        water=setup.water,
        profile=setup.profile,
        privileged=privileged,
        started=clock(),
    )
    writer = RunWriter(directory, info, clock=clock)
    return TaskManager(task=setup.task, info=info, writer=writer, decisions_lag=decisions_lag)
