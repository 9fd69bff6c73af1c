"""The verb ``run``: one supervised episode, from arguments to score table."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timezone
import os
from pathlib import Path
import shutil

from rich.console import Console

from oceangym.domain import DomainLease
from oceangym.prerequisites import check_episode, check_options, check_path
from oceangym.processes import process_environment, process_specs
from oceangym.progress import ProgressView
from oceangym.report_command import report_run
from oceangym.supervisor import EXIT_CANCELLED, Outcome, Supervisor
from oceangym_core.config.options import MODEL_AGENTS, parse_ros_arguments, RunOptions
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.errors import OceanGymError
from oceangym_core.record.schema import RUN_FILE, SCORE_FILE
from oceangym_core.record.writer import new_run_directory, run_id_for
from oceangym_core.scoring import main as score_main
from oceangym_worlds.world_files import world_file


def run_command(arguments: Sequence[str]) -> int:
    """Run one episode and return its exit code."""
    options = parse_ros_arguments(arguments)
    check_options(options)
    check_path(process_specs(options, run_directory=Path(), world=Path()))
    world = world_file(options)
    check_episode(options, world)
    run_id = run_id_for(options, datetime.now(timezone.utc))
    directory = new_run_directory(Path(options.results_dir), run_id).resolve()
    console = Console(stderr=True, soft_wrap=True)
    with DomainLease() as domain_id:
        console.print(
            f'run {directory}\n'
            f'task {options.task}, water {options.water}, start {options.start}, agent '
            f'{_agent_words(options)}, seed {options.seed}; ROS_DOMAIN_ID={domain_id}, '
            f'namespace /{options.namespace}',
            markup=False,
            highlight=False,
        )
        outcome = _supervise(options, directory, world, domain_id, console)
    if outcome.code == EXIT_CANCELLED and not (directory / RUN_FILE).is_file():
        # Interrupted before there was anything to keep.
        shutil.rmtree(directory, ignore_errors=True)
        return outcome.code
    if outcome.message:
        console.print(f'error: {outcome.message}', markup=False, highlight=False)
    report_run(directory, lambda text: console.print(text, markup=False, highlight=False))
    return _report(outcome, directory)


def _agent_words(options: RunOptions) -> str:
    if options.agent not in MODEL_AGENTS:
        return options.agent
    return f'{options.agent} ({options.agent_name}, track {options.track})'


def _supervise(
    options: RunOptions, directory: Path, world: Path, domain_id: int, console: Console
) -> Outcome:
    task = TaskRegistry.load(options.config_dirs).get(options.task)
    teleop = options.agent == 'teleop'
    view = ProgressView(
        directory, t_max=options.t_max or task.t_max, console=console, quiet=teleop
    )
    with view:
        supervisor = Supervisor(
            process_specs(options, run_directory=directory, world=world),
            directory=directory,
            environment=process_environment(os.environ, domain_id=domain_id),
            on_poll=view.poll,
        )
        return supervisor.run()


def _report(outcome: Outcome, directory: Path) -> int:
    """Print the score table where there is one."""
    if (directory / SCORE_FILE).is_file():
        with suppress(OceanGymError):
            score_main([str(directory)])
    return outcome.code
