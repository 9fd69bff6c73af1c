"""Where runs are made: in this process, in processes of this machine, or on a Ray cluster.

The results do not depend on it: a run knows nothing but its own options and the records of the runs
that it takes its memory from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection, get_context, parent_process
from multiprocessing.connection import Connection
import os
from pathlib import Path
import signal
import sys
import threading
from typing import Any, Protocol

from oceangym_bench.execution.jobs import Job, JobQueue, JobResult, RunWorker
from oceangym_bench.execution.locks import share_lock

EXECUTORS = ('local', 'ray', 'serial')
STOP_GRACE_S = 5.0
# Measured: 1.2 GB resident with the ray scene of the shipped world.
WORKER_BYTES = 1_500_000_000


class Executor(Protocol):
    """Takes jobs from a queue until it is empty."""

    def run(
        self,
        queue: JobQueue,
        *,
        started: Callable[[Job], None],
        finished: Callable[[JobResult], None],
    ) -> None:
        """Run everything.

        Args:
            queue: Of the jobs; told of each result.
            started: Called when a job is handed out.
            finished: Called with each result, those of cells that became impossible included.
        """
        ...


class SerialExecutor:
    """Runs one job after the other in this process."""

    def run(
        self,
        queue: JobQueue,
        *,
        started: Callable[[Job], None],
        finished: Callable[[JobResult], None],
    ) -> None:
        """Run everything; see `Executor`."""
        run_worker = RunWorker()
        built: tuple[Any, ...] | None = None
        while True:
            item = queue.next_job(built)
            if item is None:
                return
            job, built = item
            started(job)
            for result in queue.finish(run_worker.run(job)):
                finished(result)


@dataclass
class _Worker:
    """A process, the pipe to it, and what it has built and is doing."""

    process: Any
    pipe: Connection
    built: tuple[Any, ...] | None = None
    job: Job | None = None


class LocalExecutor:
    """Runs jobs in processes of this machine; one that dies fails its own job only.

    Args:
        workers: Number of processes.
        logs: Directory for what they print.
        lock: File that they hold as long as they live, so that nobody touches their records.
    """

    def __init__(self, *, workers: int, logs: Path, lock: Path) -> None:
        self._workers = workers
        self._logs = logs
        self._lock = lock
        self._threads = max(1, cpu_count() // workers)
        self._context = get_context('spawn')
        self._pool: list[_Worker] = []

    def run(
        self,
        queue: JobQueue,
        *,
        started: Callable[[Job], None],
        finished: Callable[[JobResult], None],
    ) -> None:
        """Run everything; see `Executor`."""
        try:
            while True:
                self._hand_out(queue, started)
                busy = [worker for worker in self._pool if worker.job is not None]
                if not busy:
                    return
                connection.wait([worker.pipe for worker in busy])
                for worker in busy:
                    result = self._collect(worker)
                    if result is not None:
                        for each in queue.finish(result):
                            finished(each)
        finally:
            self._stop()

    def _hand_out(self, queue: JobQueue, started: Callable[[Job], None]) -> None:
        while True:
            idle = next((w for w in self._pool if w.job is None), None)
            if idle is None and len(self._pool) >= self._workers:
                return
            item = queue.next_job(None if idle is None else idle.built)
            if item is None:
                return
            worker = idle or self._start()
            job, worker.built = item
            worker.job = job
            started(job)
            try:
                worker.pipe.send(job)
            except OSError:
                # It has just died: noticed, with the reason, when its answer is collected.
                continue

    def _collect(self, worker: _Worker) -> JobResult | None:
        """Return a worker's result if there is one; the worker is given up if it has died."""
        assert worker.job is not None
        try:
            if not worker.pipe.poll():
                return None
            result = worker.pipe.recv()
        except (EOFError, OSError):
            result = self._result_of_lost(worker, worker.job)
        worker.job = None
        assert isinstance(result, JobResult)
        return result

    def _result_of_lost(self, worker: _Worker, job: Job) -> JobResult:
        self._pool.remove(worker)
        worker.pipe.close()
        worker.process.join()
        code = worker.process.exitcode
        how = f'exited with code {code}'
        if code is not None and code < 0:
            how = f'was killed by signal {-code} ({signal.Signals(-code).name})'
        return JobResult(
            cell_id=job.cell_id,
            error=f'its worker {how}; run the benchmark again to repeat it',
            detail=f'see {self._logs}',
        )

    def _start(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(
            target=_serve,
            args=(theirs, self._threads, str(self._logs), str(self._lock)),
            daemon=True,
        )
        process.start()
        theirs.close()
        worker = _Worker(process=process, pipe=ours)
        self._pool.append(worker)
        return worker

    def _stop(self) -> None:
        for worker in self._pool:
            # An idle worker ends when its pipe does; one in the middle of a run has to be told.
            worker.pipe.close()
            if worker.job is not None:
                worker.process.terminate()
        for worker in self._pool:
            worker.process.join(STOP_GRACE_S)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._pool.clear()


def _serve(pipe: Connection, threads: int, logs: str, lock: str) -> None:
    """Be a worker: answer jobs until the runner closes the pipe or dies."""
    # Ctrl-C reaches the whole group; the runner decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    with share_lock(Path(lock)):
        _redirect_output(Path(logs))
        run_worker = RunWorker(threads=threads)
        while True:
            try:
                job = pipe.recv()
            except (EOFError, OSError):
                return
            pipe.send(run_worker.run(job))


def _die_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _redirect_output(logs: Path) -> None:
    """Keep what libraries print away from the runner's progress."""
    logs.mkdir(parents=True, exist_ok=True)
    stream = (logs / f'worker_{os.getpid()}.log').open('a', encoding='utf-8', buffering=1)
    for target in (sys.stdout, sys.stderr):
        os.dup2(stream.fileno(), target.fileno())


def default_workers() -> int:
    """Return how many runs at a time suit this machine: one a CPU, as long as memory lasts."""
    try:
        lines = Path('/proc/meminfo').read_text(encoding='ascii').splitlines()
        free = next(int(line.split()[1]) for line in lines if line.startswith('MemAvailable:'))
    except (OSError, StopIteration):
        return cpu_count()
    return max(1, min(cpu_count(), free * 1024 // WORKER_BYTES))


def cpu_count() -> int:
    """Return the CPUs that this process may use."""
    return (
        len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count() or 1
    )
