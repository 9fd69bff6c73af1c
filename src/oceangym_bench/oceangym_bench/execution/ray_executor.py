"""Runs jobs on a Ray cluster, whose nodes share the directory of the results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
import sys
from typing import Any
import uuid

from oceangym_bench.execution.jobs import Job, JobQueue, JobResult, RunWorker
from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError

PROBE_TIMEOUT_S = 120.0


class RayRunWorker:
    """A `RunWorker` in an actor."""

    def __init__(self, threads: int) -> None:
        self._run_worker = RunWorker(threads=threads)

    def sees(self, path: str, text: str) -> bool:
        """Return whether a file that the runner has just written is the same here."""
        file = Path(path)
        return file.is_file() and file.read_text(encoding='utf-8') == text

    def run(self, job: Job) -> JobResult:
        """Run a job and say on which node."""
        node = import_ray().get_runtime_context().get_node_id()
        return replace(self._run_worker.run(job), where=node)


@dataclass
class _Actor:
    """An actor, where it is, and what it has built and is doing."""

    handle: Any
    built: tuple[Any, ...] | None = None
    job: Job | None = None


class RayExecutor:
    """Runs jobs in actors of a Ray cluster; one that dies fails its own job only.

    Args:
        address: Of the cluster, e.g. ``auto`` or ``ray://head:10001``; a cluster of this machine
            is started for the time of the run if empty.
        workers: Number of actors; as many as the cluster has CPUs for if None.
        cpus: CPUs of each actor.
        shared: Directory of the benchmark, which every node must see at the same path.
    """

    def __init__(self, *, address: str, workers: int | None, cpus: int = 1, shared: Path) -> None:
        self._address = address
        self._workers = workers
        self._cpus = cpus
        self._shared = shared
        self._ray: Any = None
        self._most = 1
        self._actors: list[_Actor] = []

    def run(
        self,
        queue: JobQueue,
        *,
        started: Callable[[Job], None],
        finished: Callable[[JobResult], None],
    ) -> None:
        """Run everything; see `executors.Executor`."""
        self._ray = ray = import_ray()
        was_there = ray.is_initialized()
        if not was_there:
            self._connect()
        try:
            total = int(ray.cluster_resources().get('CPU', 0))
            most = max(1, total // self._cpus)
            self._most = most if self._workers is None else min(self._workers, most)
            running: dict[Any, _Actor] = {}
            while True:
                self._hand_out(queue, running, started)
                if not running:
                    return
                ready, _ = ray.wait(list(running), num_returns=1)
                for future in ready:
                    for result in queue.finish(self._collect(future, running.pop(future))):
                        finished(result)
        finally:
            for actor in self._actors:
                ray.kill(actor.handle)
            self._actors.clear()
            if not was_there:
                ray.shutdown()

    def _connect(self) -> None:
        try:
            self._ray.init(
                # Without an address Ray would join whatever was last started here, dead or alive.
                address=self._address or 'local',
                include_dashboard=None if self._address else False,
                log_to_driver=False,
                logging_level='ERROR',
            )
        except Exception as error:
            where = self._address or 'this machine'
            raise OceanGymError(
                f'no Ray cluster at {where}: {" ".join(str(error).split())[:300]}. '
                'Start one with `ray start --head`, or leave --address out'
            ) from error

    def _hand_out(
        self, queue: JobQueue, running: dict[Any, _Actor], started: Callable[[Job], None]
    ) -> None:
        while True:
            idle = next((actor for actor in self._actors if actor.job is None), None)
            if idle is None and len(self._actors) >= self._most:
                return
            item = queue.next_job(None if idle is None else idle.built)
            if item is None:
                return
            actor = idle or self._start()
            actor.job, actor.built = item
            started(actor.job)
            running[actor.handle.run.remote(actor.job)] = actor

    def _collect(self, future: Any, actor: _Actor) -> JobResult:
        job, actor.job = actor.job, None
        assert job is not None
        try:
            result = self._ray.get(future)
        except self._ray.exceptions.RayError as error:
            self._actors.remove(actor)
            reason = ' '.join(str(error).split())[:500]
            return JobResult(
                cell_id=job.cell_id,
                error=f'its Ray worker was lost ({type(error).__name__}); run the benchmark again '
                'to repeat it',
                detail=reason,
            )
        assert isinstance(result, JobResult)
        return result

    def _start(self) -> _Actor:
        run_worker = self._ray.remote(RayRunWorker).options(
            num_cpus=self._cpus,
            max_restarts=0,
            scheduling_strategy='SPREAD',
            runtime_env={'env_vars': _environment()},
        )
        actor = _Actor(handle=run_worker.remote(self._cpus))
        self._check_sight(actor)
        self._actors.append(actor)
        return actor

    def _check_sight(self, actor: _Actor) -> None:
        """Refuse a node that does not share the directory: its records would be lost."""
        probe, text = self._shared / f'.probe_{uuid.uuid4().hex}', uuid.uuid4().hex
        probe.write_text(text, encoding='utf-8')
        try:
            seen = self._ray.get(
                actor.handle.sees.remote(str(probe), text), timeout=PROBE_TIMEOUT_S
            )
        except self._ray.exceptions.RayError as error:
            raise OceanGymError(
                f'a Ray worker does not start ({type(error).__name__}): '
                f'{" ".join(str(error).split())[:500]}'
            ) from error
        finally:
            probe.unlink(missing_ok=True)
        if not seen:
            raise OceanGymError(
                f'a node of the Ray cluster does not see {self._shared}; give a --results-dir that '
                'all nodes share, at the same path'
            )


def _environment() -> dict[str, str]:
    """Return what a worker needs to find the same code and assets; no keys, which nodes bring."""
    path = ':'.join(part for part in sys.path if part)
    return {'PYTHONPATH': path, 'OCEANGYM_ROOT': str(assets_root())}


def import_ray() -> Any:
    """Return the module ray.

    Raises:
        OceanGymError: It is not installed.
    """
    try:
        import ray
    except ImportError as error:
        raise OceanGymError(
            '--executor ray needs the package ray, which is not installed: `pip install ray`, or '
            'leave --executor out to use the processes of this machine'
        ) from error
    return ray
