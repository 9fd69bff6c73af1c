"""The directory of a benchmark's results: all of its state is in files that are written whole.

``<results_dir>/<name>/`` holds ``benchmark.yaml`` (the file as it was run), ``cells.json`` (what each
run was to be), ``runs/<cell>/`` (run directories), ``failures/<cell>.json`` (runs that left no whole
record), ``aside/`` (what was there before a run was made again), ``logs/`` and ``report/``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
import contextlib
from dataclasses import asdict, dataclass
from enum import Enum
import json
import os
from pathlib import Path
from typing import Any

from oceangym_agent.trace import TRACE_FILE
from oceangym_bench.execution.jobs import JobResult
from oceangym_bench.execution.locks import own_lock
from oceangym_bench.matrix.benchmark_file import BenchmarkFile, load_benchmark
from oceangym_bench.matrix.runs import Cell, cells_of, changed_settings
from oceangym_core.errors import OceanGymError
from oceangym_core.files import MAX_YAML_BYTES, read_json, read_text, write_atomic
from oceangym_core.paths import user_path
from oceangym_core.record.schema import Ending, EPISODE_FILE, SCORE_FILE
from oceangym_core.scoring import rescore

BENCHMARK_COPY = 'benchmark.yaml'
CELLS_FILE = 'cells.json'
FORMAT = 1
# In a directory that was moved aside: the run in its place goes on from it.
RESUMED_FILE = 'resumed'
# Workers of a runner that was killed notice it at once, unless they are in the middle of a step.
ORPHAN_PATIENCE_S = 60.0
# Longer than any closing line: a stop's decision holds the model's whole reply.
TAIL_BYTES = 4 * 1024 * 1024


class CellState(str, Enum):
    """How far a run has come."""

    DONE = 'done'
    ERROR = 'error'
    FAILED = 'failed'
    UNFINISHED = 'unfinished'
    PENDING = 'pending'


@dataclass(frozen=True, kw_only=True)
class CellStatus:
    """A run's state.

    Attributes:
        cell: The run.
        state: DONE has a score; ERROR too, but the episode ended by an error or was cancelled;
            FAILED left no whole record and says why; UNFINISHED is running or was killed.
        message: Why, for those that are not done.
        score: Content of its score.json, if it is whole.
    """

    cell: Cell
    state: CellState
    message: str = ''
    score: Mapping[str, Any] | None = None

    @property
    def finished(self) -> bool:
        """Whether there is a whole record, so that it is not run again by itself."""
        if self.score is None:
            return False
        return self.score.get('ending') != Ending.CANCELLED.value


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What runs have cost [USD], and their tokens in and out."""

    cost: float = 0.0
    tokens: int = 0

    def __add__(self, other: Spending) -> Spending:
        return Spending(cost=self.cost + other.cost, tokens=self.tokens + other.tokens)

    def or_more(self, other: Spending) -> Spending:
        """Return the higher of both."""
        return Spending(cost=max(self.cost, other.cost), tokens=max(self.tokens, other.tokens))


def _spent_in(folder: Path) -> Spending:
    if not folder.is_dir():
        return Spending()
    score = whole_score(folder)
    if score is None:
        # Cut short: what its record holds was paid for.
        try:
            score = rescore(folder)
        except OceanGymError:
            return Spending()
    return Spending(cost=float(score.get('cost_usd', 0.0)), tokens=int(score.get('tokens', 0)))


class BenchmarkDirectory:
    """The results of one benchmark file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs = root / 'runs'
        self.failures = root / 'failures'
        self.aside = root / 'aside'
        self.logs = root / 'logs'
        self.report = root / 'report'
        self.workers_lock = root / '.workers.lock'

    @classmethod
    def of(cls, benchmark: BenchmarkFile, results_dir: Path | None = None) -> BenchmarkDirectory:
        """Return the directory of a file's results."""
        base = Path(benchmark.results_dir) if results_dir is None else results_dir
        return cls((user_path(base) / benchmark.name).resolve())

    @classmethod
    def at(cls, path: Path) -> BenchmarkDirectory:
        """Return an existing directory.

        Raises:
            OceanGymError: There is none.
        """
        if not (path / BENCHMARK_COPY).is_file():
            raise OceanGymError(
                f'{path} holds no results of a benchmark ({BENCHMARK_COPY}); begin with '
                '`oceangym bench run FILE`'
            )
        return cls(path.resolve())

    def benchmark(self) -> BenchmarkFile:
        """Return the file as it was run."""
        return load_benchmark(self.root / BENCHMARK_COPY)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Keep other runners out, and wait until workers of a killed one are gone.

        Raises:
            OceanGymError: Somebody else is at work, or the directory cannot be made.
        """
        try:
            self.runs.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OceanGymError(
                f'cannot make {self.runs}: {error.strerror}; give another --results-dir'
            ) from error
        refusal = f'{self.root} is in use by another `bench run`; wait for it or stop it'
        with own_lock(self.root / '.runner.lock', patience_s=0.0, refusal=refusal):
            refusal = f'workers of an earlier `bench run` are still writing to {self.root}'
            with own_lock(self.workers_lock, patience_s=ORPHAN_PATIENCE_S, refusal=refusal):
                pass
            yield

    def adopt(self, source: Path, cells: Sequence[Cell]) -> int:
        """Make the directory that of a benchmark file; return how many runs it adds to what was there.

        Raises:
            OceanGymError: Results are there that the file no longer stands for.
        """
        before = self.planned()
        changes = changed_settings(before, cells)
        kept = {cell.id for cell in cells}
        gone = sorted(cell_id for cell_id in before if cell_id not in kept)
        touched = sorted(c for c in (*changes, *gone) if self._has_results(c))
        if touched:
            first = touched[0]
            what = changes.get(first, 'it is not in the file any more')
            raise OceanGymError(
                f'{source} has changed since {len(touched)} of the runs in {self.root} were made: '
                f'{first}: {what}. Only runs may be added to a file with results. Give the changed '
                'file another name, or another --results-dir, or move the old results away.'
            )
        text = read_text(source, MAX_YAML_BYTES)
        if source.resolve() != self.root / BENCHMARK_COPY:
            write_atomic(self.root / BENCHMARK_COPY, text)
        content = {'format': FORMAT, 'cells': {cell.id: cell.settings() for cell in cells}}
        write_atomic(self.root / CELLS_FILE, json.dumps(content, indent=1) + '\n')
        return len(kept - before.keys()) if before else 0

    def planned(self) -> dict[str, dict[str, Any]]:
        """Return the settings of the runs as last planned, by id; empty in a new directory."""
        path = self.root / CELLS_FILE
        if not path.is_file():
            return {}
        content = read_json(path)
        if not isinstance(content, dict) or not isinstance(content.get('cells'), dict):
            raise OceanGymError(f'{path} is broken; move it away to have it written again')
        return dict(content['cells'])

    def _has_results(self, cell_id: str) -> bool:
        return (self.runs / cell_id).is_dir()

    def status(self, cell: Cell) -> CellStatus:
        """Return how far a run has come, judged by its files."""
        directory = self.runs / cell.id
        score = whole_score(directory)
        if score is not None:
            ending = Ending(score['ending'])
            state = CellState.DONE
            if ending in (Ending.ERROR, Ending.CANCELLED, Ending.INTERRUPTED):
                state = CellState.ERROR
            return CellStatus(
                cell=cell, state=state, message=str(score.get('message', '')), score=score
            )
        failure = self._failure(cell.id)
        if failure is not None:
            return CellStatus(cell=cell, state=CellState.FAILED, message=failure)
        if directory.is_dir():
            return CellStatus(cell=cell, state=CellState.UNFINISHED)
        return CellStatus(cell=cell, state=CellState.PENDING)

    def _failure(self, cell_id: str) -> str | None:
        path = self.failures / f'{cell_id}.json'
        if not path.is_file():
            return None
        with contextlib.suppress(OceanGymError):
            content = read_json(path)
            if isinstance(content, dict):
                return str(content.get('error', ''))
        return 'unknown: its note is not readable'

    def error_of(self, cell_id: str) -> str:
        """Return why a run's episode ended by an error; empty if it did not."""
        score = whole_score(self.runs / cell_id) or {}
        ending = score.get('ending')
        return str(score.get('message') or ending) if ending == Ending.ERROR.value else ''

    def spent(self) -> Spending:
        """Return what all runs have cost, those moved aside and cut short included.

        A run that goes on from one that was cut short counts the replies of that one as its own.
        """
        total = Spending()
        chains: dict[str, Spending] = {
            run.name: _spent_in(run) for run in sorted(self.runs.glob('*'))
        }
        for folder in sorted(self.aside.glob('*')):
            spent, cell_id = _spent_in(folder), folder.name.rpartition('.')[0]
            if (folder / RESUMED_FILE).is_file():
                chains[cell_id] = chains.get(cell_id, Spending()).or_more(spent)
            else:
                total += spent
        return sum(chains.values(), total)

    def spent_on(self, cell_id: str) -> Spending:
        """Return what a run has cost."""
        return _spent_in(self.runs / cell_id)

    def note(self, result: JobResult) -> None:
        """Keep the reason of a failure, or forget it when the run has been made."""
        path = self.failures / f'{result.cell_id}.json'
        if not result.error:
            path.unlink(missing_ok=True)
            return
        self.failures.mkdir(exist_ok=True)
        write_atomic(path, json.dumps(asdict(result), indent=1, ensure_ascii=False) + '\n')

    def clear(self, cell_id: str, *, resume: bool = False) -> Path | None:
        """Move a run's directory aside, if there is one, and return where to.

        Args:
            cell_id: The run.
            resume: Whether the run that takes its place goes on from it.
        """
        directory = self.runs / cell_id
        if not directory.exists():
            return None
        self.aside.mkdir(exist_ok=True)
        number = 1
        while (self.aside / f'{cell_id}.{number}').exists():
            number += 1
        aside = directory.rename(self.aside / f'{cell_id}.{number}')
        if resume and (aside / TRACE_FILE).is_file():
            (aside / RESUMED_FILE).touch()
        return aside


def whole_score(directory: Path) -> dict[str, Any] | None:
    """Return a run's score if its record is whole: score.json is there and the closing line too."""
    try:
        score = read_json(directory / SCORE_FILE)
        with (directory / EPISODE_FILE).open('rb') as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - TAIL_BYTES))
            tail = stream.read()
    except (OceanGymError, OSError):
        return None
    if not isinstance(score, dict) or score.get('ending') not in {e.value for e in Ending}:
        return None
    last = tail.rstrip(b'\n').rpartition(b'\n')[2]
    closed = tail.endswith(b'\n') and last.startswith(b'{"kind": "end"')
    return score if closed else None


def find_directory(path: Path, results_dir: Path | None = None) -> BenchmarkDirectory:
    """Return the results of a benchmark, given by their directory or by the file.

    Raises:
        OceanGymError: There are none.
    """
    if path.is_dir():
        return BenchmarkDirectory.at(path)
    return BenchmarkDirectory.at(BenchmarkDirectory.of(load_benchmark(path), results_dir).root)


def statuses(directory: BenchmarkDirectory) -> list[CellStatus]:
    """Return the state of every run of a directory, in the order of the file."""
    return [directory.status(cell) for cell in cells_of(directory.benchmark())]


def count_states(rows: Sequence[CellStatus]) -> dict[CellState, int]:
    """Return how many runs are in each state."""
    counts = Counter(row.state for row in rows)
    return {state: counts[state] for state in CellState}
