"""One run in a worker, which keeps its world and simulator from one run to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
import time
import traceback
from typing import Any

from oceangym_bench.matrix.benchmark_file import OwnAgent
from oceangym_bench.matrix.runs import at_directory, Cell
from oceangym_core.config.options import RunOptions
from oceangym_core.errors import OceanGymError

MAX_MESSAGE_CHARACTERS = 2000


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run to be made.

    Attributes:
        cell_id: Name of its run directory.
        options: Of the run, as plain data.
        runs: The directory that its run directory is made in.
        own_agent: The user's agent that flies it, in place of the options'.
        resume_from: Directory of the same run as it was cut short, whose replies are not paid for
            again; '' for none.
    """

    cell_id: str
    options: Mapping[str, Any]
    runs: str
    own_agent: OwnAgent | None = None
    resume_from: str = ''

    @classmethod
    def of(cls, cell: Cell, runs: Path, resume_from: str = '') -> Job:
        """Return the job of a cell."""
        options = at_directory(cell, runs).options.as_dict()
        return cls(
            cell_id=cell.id,
            options=options,
            runs=str(runs),
            own_agent=cell.own_agent,
            resume_from=resume_from,
        )


@dataclass(frozen=True, kw_only=True)
class JobResult:
    """What became of a job.

    Attributes:
        cell_id: Of the job.
        error: Why there is no whole record; empty when there is one.
        detail: Where it happened, for whoever repairs it.
        wall_s: Time it took [s].
        where: Node of a cluster that made it.
    """

    cell_id: str
    error: str = ''
    detail: str = ''
    wall_s: float = 0.0
    where: str = ''


class RunWorker:
    """Runs jobs one after the other in this process.

    Args:
        threads: Of rendering and physics; None for what the libraries take by themselves.
    """

    def __init__(self, *, threads: int | None = None) -> None:
        self._threads = threads
        self._simulators: Any = None

    def run(self, job: Job) -> JobResult:
        """Run a job; whatever goes wrong is in the result."""
        begin = time.monotonic()
        error = detail = ''
        try:
            self._run(job)
        except OceanGymError as problem:
            error = str(problem)
        except Exception as problem:
            error = f'{type(problem).__name__}: {problem}'
            detail = ''.join(traceback.format_exception(problem))
        return JobResult(
            cell_id=job.cell_id,
            error=error[:MAX_MESSAGE_CHARACTERS],
            detail=detail[-MAX_MESSAGE_CHARACTERS:],
            wall_s=time.monotonic() - begin,
        )

    def _run(self, job: Job) -> None:
        # What flies is imported where it flies: the runner itself needs neither physics nor rays.
        from oceangym_bench.execution.episode import run_episode
        from oceangym_bench.execution.simulator_cache import SimulatorCache
        from oceangym_bench.matrix.own_agents import make_own_agent

        if self._simulators is None:
            if self._threads is not None:
                limit_threads(self._threads)
            self._simulators = SimulatorCache()
        setup, simulator = self._simulators.prepare(RunOptions.from_dict(job.options))
        agent = None if job.own_agent is None else make_own_agent(job.own_agent)
        run_episode(
            setup,
            simulator,
            agent=agent,
            results_dir=Path(job.runs),
            run_id=job.cell_id,
            resume_from=Path(job.resume_from) if job.resume_from else None,
        )


def limit_threads(count: int) -> None:
    """Let the libraries of this process use so many threads; results do not depend on it."""
    import cv2
    import drjit
    import numba

    cv2.setNumThreads(count)
    drjit.set_thread_count(count)
    # Without arguments it says what was decided at start-up, which is the most that is accepted.
    numba.set_num_threads(min(count, numba.get_num_threads()))


class JobQueue:
    """The cells still to be run; those whose sources are missing wait for them.

    Args:
        cells: To be run, in the order wanted.
        runs: The directory of run directories.
        done: Ids of cells that have been run before.
        resumed: Directories of runs that were cut short, by id; see `Job.resume_from`.
    """

    def __init__(
        self,
        cells: Sequence[Cell],
        runs: Path,
        done: frozenset[str],
        resumed: Mapping[str, Path] | None = None,
    ) -> None:
        self._waiting = {cell.id: cell for cell in cells}
        self._running: dict[str, Cell] = {}
        self._done = set(done)
        self._runs = runs
        self._resumed = resumed or {}
        self._stopped = False

    def stop(self) -> None:
        """Hand out no further job."""
        self._stopped = True

    def __len__(self) -> int:
        """Return how many are neither finished nor running."""
        return len(self._waiting)

    def next_job(self, built: tuple[Any, ...] | None) -> tuple[Job, tuple[Any, ...]] | None:
        """Return a job and what a worker builds for it; None if nothing can be run now.

        Args:
            built: Key of the simulator that the asking worker has: a cell that needs the same comes first,
                then one that needs what no other worker is busy with.
        """
        if self._stopped:
            return None
        ready = [c for c in self._waiting.values() if self._done.issuperset(c.sources)]
        if not ready:
            return None
        busy = {cell.simulator_key for cell in self._running.values()}
        cell = next((c for c in ready if c.simulator_key == built), None)
        cell = cell or next((c for c in ready if c.simulator_key not in busy), ready[0])
        self._running[cell.id] = self._waiting.pop(cell.id)
        return Job.of(cell, self._runs, str(self._resumed.get(cell.id, ''))), cell.simulator_key

    def finish(self, result: JobResult) -> list[JobResult]:
        """Take a result down; return it and those of the cells that can no longer be run."""
        self._running.pop(result.cell_id)
        if not result.error:
            self._done.add(result.cell_id)
            return [result]
        results = [result]
        for cell in [c for c in self._waiting.values() if result.cell_id in c.sources]:
            del self._waiting[cell.id]
            error = f'its source {result.cell_id} failed: {result.error}'
            results.append(JobResult(cell_id=cell.id, error=error[:MAX_MESSAGE_CHARACTERS]))
        return results
