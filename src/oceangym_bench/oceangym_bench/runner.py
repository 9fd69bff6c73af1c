"""Runs a benchmark file: what is finished is kept, what was cut short or failed is run again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
import time
from typing import Protocol

from oceangym_bench.benchmark_file import load_benchmark
from oceangym_bench.cells import Cell, cells_of, select, with_sources
from oceangym_bench.directory import BenchmarkDirectory, CellState, CellStatus, whole_score
from oceangym_bench.executors import Executor
from oceangym_bench.jobs import Job, JobQueue, JobResult
from oceangym_core.options import MODEL_AGENTS
from oceangym_worlds.world_files import world_file


class Redo(str, Enum):
    """Which finished runs are made again."""

    NONE = 'none'
    FAILED = 'failed'
    ALL = 'all'


class Watcher(Protocol):
    """Is told how a matrix goes on."""

    def say(self, message: str) -> None:
        """Take a message for people."""
        ...

    def begin(self, total: int, done: int) -> None:
        """Learn how many runs there are, and how many were finished before."""
        ...

    def started(self, cell_id: str) -> None:
        """Learn that a run has begun."""
        ...

    def finished(self, result: JobResult) -> None:
        """Learn what became of a run."""
        ...


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What a call of `run_benchmark` did.

    Attributes:
        directory: Where everything is.
        total: Runs that were asked for.
        kept: Finished before.
        ran: Finished now.
        failed: Without a whole record, or ended by an error.
        left: Not begun, because of a limit.
        wall_s: [s].
    """

    directory: Path
    total: int
    kept: int
    ran: int
    failed: int
    left: int
    wall_s: float


def run_benchmark(
    source: Path,
    *,
    make_executor: Callable[[BenchmarkDirectory], Executor],
    watcher: Watcher,
    results_dir: Path | None = None,
    filters: Sequence[str] = (),
    redo: Redo = Redo.NONE,
    limit: int | None = None,
    check_models: bool = True,
) -> RunSummary:
    """Run what is still to be run of a benchmark file.

    Args:
        source: The benchmark file.
        make_executor: Returns where the runs are made.
        watcher: Told what happens.
        results_dir: In place of the file's.
        filters: Only runs that match one of these, and those whose memory they take.
        redo: Which finished runs are made again.
        limit: Most runs to be begun.
        check_models: Whether to see before anything runs that each model has what it needs.

    Raises:
        OceanGymError: The file is wrong, does not fit the results that are there, or somebody else
            is running it.
    """
    begin = time.monotonic()
    benchmark = load_benchmark(source)
    directory = BenchmarkDirectory.of(benchmark, results_dir)
    cells = cells_of(benchmark)
    chosen = select(cells, filters)
    wanted = with_sources(cells, chosen)
    if len(wanted) > len(chosen):
        watcher.say(
            f'{len(wanted) - len(chosen)} runs are added whose memory the chosen ones take'
        )
    with directory.held():
        added = directory.adopt(source, cells)
        if added:
            watcher.say(f'the file has {added} more runs than before')
        states = [directory.status(cell) for cell in wanted]
        chosen_ids = {cell.id for cell in chosen}
        due = [s for s in states if _is_due(s, redo if s.cell.id in chosen_ids else Redo.NONE)]
        due = due if limit is None else due[:limit]
        due_ids = {status.cell.id for status in due}
        done = frozenset(s.cell.id for s in states if s.finished and s.cell.id not in due_ids)
        if check_models:
            try_models([status.cell for status in due])
        prepare_worlds([status.cell for status in due], watcher.say)
        for status in due:
            moved = directory.clear(status.cell.id)
            if moved is not None and status.state is CellState.UNFINISHED:
                watcher.say(f'{status.cell.id} was cut short; its record is moved to {moved}')
        watcher.begin(len(due) + len(done), len(done))
        queue = JobQueue([status.cell for status in due], directory.runs, done)
        failed: list[str] = []

        def finished(result: JobResult) -> None:
            directory.note(result)
            if result.error or _ended_in_error(directory, result.cell_id):
                failed.append(result.cell_id)
            watcher.finished(result)

        def started(job: Job) -> None:
            watcher.started(job.cell_id)

        if due:
            make_executor(directory).run(queue, started=started, finished=finished)
    return RunSummary(
        directory=directory.root,
        total=len(wanted),
        kept=len(done),
        ran=len(due) - len(failed) - len(queue),
        failed=len(failed),
        left=len(wanted) - len(done) - len(due) + len(queue),
        wall_s=time.monotonic() - begin,
    )


def _is_due(status: CellStatus, redo: Redo) -> bool:
    if not status.finished or redo is Redo.ALL:
        return True
    return redo is Redo.FAILED and status.state is CellState.ERROR


def _ended_in_error(directory: BenchmarkDirectory, cell_id: str) -> bool:
    score = whole_score(directory.runs / cell_id)
    return score is None or score['ending'] == 'error'


def prepare_worlds(cells: Iterable[Cell], say: Callable[[str], None]) -> None:
    """Generate the worlds that some runs need before workers ask for them at once.

    Raises:
        OceanGymError: One cannot be generated.
    """
    for options in {cell.workshop[:2]: cell.options for cell in cells}.values():
        world_file(options, say)


def try_models(cells: Iterable[Cell]) -> None:
    """Refuse models that lack a key or a prompt, of which each of their runs would die.

    Raises:
        OceanGymError: Names the model and what it lacks.
    """
    models = {
        (cell.model, cell.prompt): cell.options
        for cell in cells
        if cell.options.agent in MODEL_AGENTS
    }
    if models:
        # The client's library takes a second to import.
        from oceangym_agent.mllm_parts import model_parts
    for options in models.values():
        model_parts(options, None).close()
