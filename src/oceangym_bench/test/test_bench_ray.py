"""The same matrix on a Ray cluster of two nodes."""

from __future__ import annotations

from collections.abc import Iterator
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from oceangym_bench.cli.main import main
from oceangym_bench.execution.directory import BenchmarkDirectory
from oceangym_bench.execution.executors import SerialExecutor
from oceangym_bench.execution.jobs import JobResult
from oceangym_bench.execution.ray_executor import RayExecutor
from oceangym_bench.execution.runner import run_benchmark, RunSummary
from oceangym_core.errors import OceanGymError

ray = pytest.importorskip('ray')
cluster_utils = pytest.importorskip('ray.cluster_utils')

OBJECT_STORE_BYTES = 100 * 1024 * 1024
MATRIX: dict[str, Any] = {
    'name': 'matrix',
    'version': '2.0.0',
    'baselines': [],
    'models': ['random'],
    'tasks': ['task2', 'task9'],
    'starts': ['point1', 'random'],
    'start_seeds': [2],
    'durations': [60],
    'sensors': 'none',
    'profile': 'hard',
}


@pytest.fixture(scope='module')
def address() -> Iterator[str]:
    """The address of a cluster of two nodes with a CPU each."""
    node = {
        'num_cpus': 1,
        'object_store_memory': OBJECT_STORE_BYTES,
        'include_dashboard': False,
    }
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=node)
    try:
        cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE_BYTES)
        cluster.wait_for_nodes()
        yield cluster.address
    finally:
        cluster.shutdown()


class Listener:
    def __init__(self) -> None:
        self.results: list[JobResult] = []

    def say(self, message: str) -> None: ...

    def begin(self, total: int, done: int) -> None: ...

    def started(self, cell_id: str) -> None: ...

    def finished(self, result: JobResult) -> None:
        self.results.append(result)


def run(results: Path, listener: Listener, address: str = '') -> RunSummary:
    results.mkdir()
    source = results / 'matrix.yaml'
    source.write_text(yaml.safe_dump(MATRIX), encoding='utf-8')

    def executor(directory: BenchmarkDirectory) -> RayExecutor | SerialExecutor:
        if not address:
            return SerialExecutor()
        return RayExecutor(address=address, workers=None, shared=directory.root)

    return run_benchmark(source, make_executor=executor, watcher=listener, results_dir=results)


def content_of(root: Path) -> dict[str, list[Any]]:
    """Return every record and score without wall times."""
    content: dict[str, list[Any]] = {}
    for run_dir in sorted((root / 'runs').iterdir()):
        texts = (run_dir / 'episode.jsonl').read_text(encoding='utf-8').splitlines()
        parts = [json.loads(text) for text in texts]
        parts.append(json.loads((run_dir / 'score.json').read_text(encoding='utf-8')))
        for part in parts:
            part.pop('wall')
        content[run_dir.name] = parts
    return content


def test_a_cluster_of_two_nodes_gives_the_same_results(tmp_path: Path, address: str) -> None:
    listener = Listener()
    summary = run(tmp_path / 'ray', listener, address)
    assert (summary.ran, summary.failed) == (4, 0)
    assert len({result.where for result in listener.results}) == 2
    alone = run(tmp_path / 'alone', Listener())
    assert content_of(summary.directory) == content_of(alone.directory)
    # Nothing that was written to see whether the nodes share the directory is left.
    assert not list(summary.directory.glob('.probe*'))


def test_a_cluster_that_is_not_there_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**options: Any) -> None:
        raise ConnectionError(f'nobody at {options["address"]}')

    monkeypatch.setattr(ray, 'is_initialized', lambda: False)
    monkeypatch.setattr(ray, 'init', refuse)
    source = tmp_path / 'matrix.yaml'
    source.write_text(yaml.safe_dump(MATRIX), encoding='utf-8')
    words = ['run', str(source), '--results-dir', str(tmp_path), '--executor', 'ray']
    assert main([*words, '--address', 'far:6379']) == 1
    message = 'no Ray cluster at far:6379: nobody at far:6379. Start one with `ray start --head`'
    assert message in capsys.readouterr().err


def test_without_ray_the_remedy_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__('sys').modules, 'ray', None)
    executor = RayExecutor(address='', workers=1, shared=Path())
    with pytest.raises(OceanGymError, match='pip install ray'):
        executor.run(None, started=None, finished=None)  # type: ignore[arg-type]
