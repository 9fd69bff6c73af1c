"""Running a benchmark file: finished runs are kept, those cut short or failed are made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
import re
import time
from typing import Protocol

from oceangym_agent.agent import close_agent
from oceangym_bench.execution.directory import BenchmarkDirectory, CellState, CellStatus, Spending
from oceangym_bench.execution.executors import Executor
from oceangym_bench.execution.jobs import Job, JobQueue, JobResult
from oceangym_bench.matrix.benchmark_file import load_benchmark, TotalSpec
from oceangym_bench.matrix.own_agents import make_own_agent
from oceangym_bench.matrix.runs import Cell, cells_of, select, with_sources
from oceangym_core.config.options import MODEL_AGENTS
from oceangym_core.config.tasks import config_folder
from oceangym_core.errors import OceanGymError
from oceangym_worlds.world_files import world_file

# Equal failures of one model after which the rest is not tried.
MAX_FAILURES = 5
# Models of this agent are asked at endpoints; scripted ones answer in the process of the run.
ASKED_AGENT = 'mllm'


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
        kept: Finished before, without an error.
        ran: Finished now, without an error.
        failures: Why, by id of the runs without a whole record or ended by an error, those of before
            that were not made again included.
        left: Not begun, because of a limit or of `stopped`.
        stopped: Why the rest was not begun; empty where it was.
        wall_s: [s].
    """

    directory: Path
    total: int
    kept: int
    ran: int
    failures: Mapping[str, str]
    left: int
    stopped: str
    wall_s: float

    @property
    def failed(self) -> int:
        """Number of the failures."""
        return len(self.failures)


class StopRule:
    """Reasons to leave the rest of a matrix: the budget of the file, and equal failures.

    Args:
        total: Budget of the file.
        spent: What its runs have cost so far.
        max_failures: Equal failures of one model, without a success between, that stop the matrix;
            0 for none.
    """

    def __init__(self, total: TotalSpec, spent: Spending, max_failures: int) -> None:
        self._total = total
        self._spent = spent
        self._max_failures = max_failures
        self._failures: Counter[tuple[str, str]] = Counter()
        self._last: dict[tuple[str, str], str] = {}

    def add_spending(self, spent: Spending) -> None:
        """Count what a run has cost."""
        self._spent += spent

    def add_success(self, model: str) -> None:
        """Forget the failures of a model: what stood in its way is over."""
        for key in [key for key in self._failures if key[0] == model]:
            del self._failures[key]

    def add_failure(self, model: str, message: str) -> None:
        """Count a failure; messages that differ in numbers and names of runs are equal."""
        key = (model, re.sub(r'\S*\d\S*', '#', message)[:400])
        self._failures[key] += 1
        self._last[key] = message

    def reason(self) -> str:
        """Return why no further run may begin; empty if one may."""
        for name, spent, limit in (
            ('max_cost', self._spent.cost, self._total.max_cost),
            ('max_tokens', self._spent.tokens, self._total.max_tokens),
        ):
            if limit is not None and spent >= limit:
                return (
                    f'the budget of the file is spent: {spent:.6g} of total_budget.{name} '
                    f'{limit:.6g}. To go on, raise it in the file and give the same command again'
                )
        for key, count in self._failures.items():
            if 0 < self._max_failures <= count:
                return (
                    f'{count} runs of {key[0]} failed alike: {self._last[key]}. Put that right and give the '
                    'same command again: it makes the failed runs again and goes on. '
                    '--max-failures 0 tries every run whatever happens'
                )
        return ''


def run_benchmark(
    source: Path,
    *,
    make_executor: Callable[[BenchmarkDirectory], Executor],
    watcher: Watcher,
    results_dir: Path | None = None,
    filters: Sequence[str] = (),
    redo: Redo = Redo.FAILED,
    limit: int | None = None,
    max_failures: int = MAX_FAILURES,
    check_models: bool = True,
    ask_models: bool = True,
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
        max_failures: See `StopRule`.
        check_models: Whether to see before anything runs that each model has what it needs.
        ask_models: Whether to ask each model one small question, too.

    Raises:
        OceanGymError: The file is wrong, does not fit the results that are there, another process
            is running it, or its budget is spent.
    """
    begin = time.monotonic()
    benchmark = load_benchmark(source)
    directory = BenchmarkDirectory.of(benchmark, results_dir)
    cells = cells_of(benchmark)
    if benchmark.absent_layouts:
        watcher.say(benchmark.absent_layouts)
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
        due = _due(states, redo, {cell.id for cell in chosen})[:limit]
        due_ids = {status.cell.id for status in due}
        done = frozenset(s.cell.id for s in states if s.finished and s.cell.id not in due_ids)
        rule = StopRule(benchmark.total_budget, directory.spent(), max_failures)
        if due and rule.reason():
            raise OceanGymError(rule.reason())
        if check_models:
            try_models([status.cell for status in due])
            if ask_models:
                probe_models([status.cell for status in due], watcher.say)
        prepare_worlds([status.cell for status in due], watcher.say)
        resumed: dict[str, Path] = {}
        for status in due:
            again = redo is Redo.ALL and status.state is CellState.DONE
            moved = directory.clear(status.cell.id, resume=not again)
            if moved is not None and not again:
                resumed[status.cell.id] = moved
            if moved is not None and status.state is CellState.UNFINISHED:
                watcher.say(f'{status.cell.id} was cut short; its record is moved to {moved}')
        watcher.begin(len(due) + len(done), len(done))
        queue = JobQueue([status.cell for status in due], directory.runs, done, resumed)
        models = {status.cell.id: status.cell.model for status in due}
        over: set[str] = set(done)

        def finished(result: JobResult) -> None:
            directory.note(result)
            over.add(result.cell_id)
            watcher.finished(result)
            rule.add_spending(directory.spent_on(result.cell_id))
            error = result.error or directory.error_of(result.cell_id)
            if error:
                rule.add_failure(models[result.cell_id], error)
            else:
                rule.add_success(models[result.cell_id])
            if rule.reason():
                queue.stop()

        def started(job: Job) -> None:
            watcher.started(job.cell_id)

        if due:
            make_executor(directory).run(queue, started=started, finished=finished)
        after = [directory.status(cell) for cell in wanted]
    failures = {
        s.cell.id: s.message or 'it left no whole record'
        for s in after
        if s.cell.id in over and s.state not in (CellState.DONE, CellState.PENDING)
    }
    left = len(states) - len(due) - len(done) + len(queue)
    kept = len([cell_id for cell_id in done if cell_id not in failures])
    return RunSummary(
        directory=directory.root,
        total=len(wanted),
        kept=kept,
        ran=len(wanted) - kept - len(failures) - left,
        failures=failures,
        left=left,
        stopped=rule.reason() if len(queue) else '',
        wall_s=time.monotonic() - begin,
    )


def _due(states: Sequence[CellStatus], redo: Redo, chosen: set[str]) -> list[CellStatus]:
    """Return the runs to be made; those that only give their memory are kept if they are there."""
    return [
        status
        for status in states
        if not status.finished
        or (redo is Redo.ALL and status.cell.id in chosen)
        or (redo is not Redo.NONE and status.state is CellState.ERROR)
    ]


def prepare_worlds(cells: Iterable[Cell], say: Callable[[str], None]) -> None:
    """Generate the worlds that some runs need before workers ask for them at once.

    Raises:
        OceanGymError: One cannot be generated.
    """
    for options in {cell.simulator_key[:2]: cell.options for cell in cells}.values():
        world_file(options, say)


def try_models(cells: Iterable[Cell]) -> None:
    """Refuse models that lack a key or a prompt, and agents that cannot be built.

    Raises:
        OceanGymError: Names the model and what it lacks.
    """
    cells = tuple(cells)
    for own in {cell.model: cell.own_agent for cell in cells if cell.own_agent}.values():
        close_agent(make_own_agent(own))
    models = {
        (cell.model, cell.prompt): cell.options
        for cell in cells
        if cell.options.agent in MODEL_AGENTS
    }
    if models:
        # The client's library takes a second to import.
        from oceangym_agent.agents.mllm_parts import model_parts
    for options in models.values():
        model_parts(options, None).close()


def probe_models(cells: Iterable[Cell], say: Callable[[str], None]) -> None:
    """Ask each model of an endpoint one small question before any run is paid for.

    Args:
        cells: The runs.
        say: Told what a person should know of the answers.

    Raises:
        OceanGymError: A model cannot be used; names all of these and why.
    """
    models = {
        (cell.model, cell.options.base_url): cell.options
        for cell in cells
        if cell.options.agent == ASKED_AGENT
    }
    if not models:
        return
    from oceangym_agent.models.presets import load_preset
    from oceangym_agent.models.probe import probe

    problems = []
    for (model, base_url), options in models.items():
        folders = [config_folder(folder, 'agents') for folder in options.config_dirs]
        found = probe(
            load_preset(options.model_preset, folders),
            base_url=base_url,
            call_timeout_s=options.call_timeout,
            deadline_s=options.decision_deadline,
            max_retries=options.max_retries,
        )
        for warning in found.warnings:
            say(f'{model}: {warning}')
        if not found.ok:
            problems.append(f'{model}: {found.problem}')
    if problems:
        raise OceanGymError(
            'before the first run each model is asked one small question, and not every one '
            f'answers: {"; ".join(problems)}. --no-probe begins without it'
        )
