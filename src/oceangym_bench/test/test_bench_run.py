"""Matrices are the same however they are run, interrupted and resumed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
import contextlib
import fcntl
import json
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
import yaml

from oceangym_agent.scripted_models.faults import Fault, FaultKind
from oceangym_agent.scripted_models.scripts import script
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_bench.analysis.results import read_rows
from oceangym_bench.analysis.table_sets import benchmark_tables
from oceangym_bench.cli.main import main
from oceangym_bench.execution.directory import (
    BenchmarkDirectory,
    CellState,
    count_states,
    statuses,
)
from oceangym_bench.execution.executors import Executor, LocalExecutor, SerialExecutor
from oceangym_bench.execution.jobs import Job, JobQueue, JobResult
from oceangym_bench.execution.runner import Redo, run_benchmark, RunSummary
from oceangym_core.errors import OceanGymError

MATRIX: dict[str, Any] = {
    'name': 'matrix',
    'version': '2.0.0',
    'baselines': [],
    'models': ['random', 'blind_spam'],
    'tasks': ['task2', 'task9'],
    'starts': ['point1', 'random'],
    'start_seeds': [2],
    'durations': [60],
    'sensors': 'none',
    'frame_seed': 8,
    'profile': 'hard',
}
# A start in the rock under the seabed: the run cannot begin.
BURIED = '144,-114,-99.9,0'
PATIENCE_S = 120.0


class Quiet:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.results: list[JobResult] = []
        self.began: list[str] = []

    def say(self, message: str) -> None:
        self.said.append(message)

    def begin(self, total: int, done: int) -> None:
        self.total, self.done = total, done

    def started(self, cell_id: str) -> None:
        self.began.append(cell_id)

    def finished(self, result: JobResult) -> None:
        self.results.append(result)


def write(folder: Path, **changes: Any) -> Path:
    path = folder / 'matrix.yaml'
    path.write_text(yaml.safe_dump({**MATRIX, **changes}), encoding='utf-8')
    return path


def serial(directory: BenchmarkDirectory) -> Executor:
    return SerialExecutor()


def local(directory: BenchmarkDirectory) -> Executor:
    return LocalExecutor(workers=2, logs=directory.logs, lock=directory.workers_lock)


def run(
    source: Path,
    results: Path,
    make_executor: Callable[[BenchmarkDirectory], Executor] = serial,
    watcher: Quiet | None = None,
    **options: Any,
) -> RunSummary:
    return run_benchmark(
        source,
        make_executor=make_executor,
        watcher=watcher or Quiet(),
        results_dir=results,
        **options,
    )


def record_of(run_dir: Path) -> list[dict[str, Any]]:
    """Return a record without what wall time decides."""
    lines = []
    for text in (run_dir / 'episode.jsonl').read_text(encoding='utf-8').splitlines():
        line = json.loads(text)
        line.pop('wall')
        lines.append(line)
    return lines


def score_of(run_dir: Path) -> dict[str, Any]:
    score = json.loads((run_dir / 'score.json').read_text(encoding='utf-8'))
    assert isinstance(score, dict)
    score.pop('wall')
    return score


def assert_same(one: Path, other: Path) -> None:
    """Compare two directories of results, run by run and table by table."""
    names = [sorted(p.name for p in (root / 'runs').iterdir()) for root in (one, other)]
    assert names[0] == names[1]
    for name in names[0]:
        a, b = one / 'runs' / name, other / 'runs' / name
        assert record_of(a) == record_of(b), name
        assert score_of(a) == score_of(b), name
    tables = [tables_of(root) for root in (one, other)]
    assert tables[0] == tables[1]


def tables_of(root: Path) -> dict[str, str]:
    """Return all tables but that of wall times and prices."""
    tables = benchmark_tables(read_rows(root))
    return {t.name: t.json() for t in tables if not t.name.startswith('cost')}


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The matrix, run in one process without a break."""
    folder = tmp_path_factory.mktemp('whole')
    summary = run(write(folder), folder)
    assert (summary.ran, summary.failed, summary.left) == (8, 0, 0)
    return summary.directory


def test_results_do_not_depend_on_workers(whole: Path, tmp_path: Path) -> None:
    summary = run(write(tmp_path), tmp_path, local)
    assert (summary.ran, summary.failed) == (8, 0)
    assert_same(whole, summary.directory)


def finished(root: Path) -> int:
    return len(list(root.glob('runs/*/score.json')))


def wait_for(count: int, root: Path, process: subprocess.Popen[bytes]) -> None:
    """Wait until so many runs are finished."""
    deadline = time.monotonic() + PATIENCE_S
    while finished(root) < count:
        assert process.poll() is None, 'the runner ended by itself'
        assert time.monotonic() < deadline, 'the runner takes too long'
        time.sleep(0.02)


def test_a_killed_runner_resumes_to_the_same_tables(whole: Path, tmp_path: Path) -> None:
    source = write(tmp_path)
    command = [sys.executable, '-m', 'oceangym_bench.cli.main', 'run', str(source)]
    command += ['--results-dir', str(tmp_path), '--workers', '2']
    root = tmp_path / 'matrix'
    with (tmp_path / 'log').open('wb') as log:
        process = subprocess.Popen(command, stdout=log, stderr=log)
    with contextlib.suppress(ProcessLookupError):
        wait_for(2, root, process)
        process.kill()
    assert process.wait() == -signal.SIGKILL
    before = finished(root)
    assert 2 <= before < 8
    watcher = Quiet()
    # Workers of the killed runner let go of the directory before anything is touched.
    summary = run(source, tmp_path, watcher=watcher)
    assert summary.kept >= before
    assert (summary.kept + summary.ran, summary.failed) == (8, 0)
    for path in (root / 'aside').glob('*'):
        assert any(path.name.rpartition('.')[0] in text for text in watcher.said)
    assert_same(whole, root)


class Killer(Quiet):
    """Kills the worker that a run was handed to, once."""

    def __init__(self, executor: LocalExecutor, victim: str) -> None:
        super().__init__()
        self._executor = executor
        self._victim = victim

    def started(self, cell_id: str) -> None:
        super().started(cell_id)
        if cell_id == self._victim:
            worker = next(
                w for w in self._executor._pool if w.job is not None and w.job.cell_id == cell_id
            )
            os.kill(worker.process.pid, signal.SIGKILL)


def test_a_killed_worker_fails_its_own_run_only(whole: Path, tmp_path: Path) -> None:
    source = write(tmp_path)
    directory = BenchmarkDirectory((tmp_path / 'matrix').resolve())
    executor = LocalExecutor(workers=1, logs=directory.logs, lock=directory.workers_lock)
    victim = 'random.task9.random_2.w0.r0.t60'
    summary = run(source, tmp_path, lambda d: executor, Killer(executor, victim))
    assert (summary.ran, summary.failed) == (7, 1)
    rows = statuses(directory)
    failed = [row for row in rows if row.state is CellState.FAILED]
    assert [row.cell.id for row in failed] == [victim]
    assert 'was killed by signal 9 (SIGKILL)' in failed[0].message
    assert (run(source, tmp_path).kept, finished(directory.root)) == (7, 8)
    assert count_states(statuses(directory))[CellState.DONE] == 8
    assert_same(whole, directory.root)


def test_a_run_that_cannot_begin_is_noted_and_the_others_go_on(tmp_path: Path) -> None:
    changes = {'models': ['idle'], 'tasks': ['task2'], 'starts': [BURIED, 'point1']}
    source = write(tmp_path, start_seeds=[], **changes)
    watcher = Quiet()
    summary = run(source, tmp_path, watcher=watcher)
    assert (summary.ran, summary.failed) == (1, 1)
    row = next(
        r for r in statuses(BenchmarkDirectory(summary.directory)) if BURIED in r.cell.start
    )
    assert row.state is CellState.FAILED
    assert 'the seabed' in row.message
    # It is tried again each time; the finished one is not.
    again = Quiet()
    assert run(source, tmp_path, watcher=again).failed == 1
    assert again.began == [row.cell.id]


def test_a_missing_key_is_told_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv('OPENAI_API_KEY', raising=False)
    source = write(tmp_path, models=['idle', 'gpt-4o-mini'], tasks=['task2'], sensors='auto')
    with pytest.raises(OceanGymError, match='OPENAI_API_KEY'):
        run(source, tmp_path)
    assert not list((tmp_path / 'matrix' / 'runs').iterdir())
    # Whoever asks for other models needs no key.
    assert run(source, tmp_path, filters=['idle.task2.point1']).ran == 1


def test_redo_and_limit(tmp_path: Path) -> None:
    source = write(tmp_path, models=['idle'], tasks=['task2'])
    first = run(source, tmp_path, limit=1)
    assert (first.ran, first.left) == (1, 1)
    assert (run(source, tmp_path).kept, finished(first.directory)) == (1, 2)
    record = first.directory / 'runs' / 'idle.task2.point1.w0.r0.t60' / 'run.yaml'
    made = record.stat().st_mtime_ns
    assert run(source, tmp_path, redo=Redo.FAILED).ran == 0
    assert run(source, tmp_path, redo=Redo.ALL, filters=['point1']).ran == 1
    assert record.stat().st_mtime_ns > made
    assert (first.directory / 'aside' / 'idle.task2.point1.w0.r0.t60.1').is_dir()


class Endings:
    """An executor that closes each run's record with the ending and price that it is given."""

    def __init__(self, directory: BenchmarkDirectory, endings: Callable[[str], str]) -> None:
        self._runs, self._endings = directory.runs, endings
        self.order: list[str] = []

    def run(
        self,
        queue: JobQueue,
        *,
        started: Callable[[Job], None],
        finished: Callable[[JobResult], None],
    ) -> None:
        while (item := queue.next_job(None)) is not None:
            cell_id = item[0].cell_id
            self.order.append(cell_id)
            ending = self._endings(cell_id)
            folder = self._runs / cell_id
            folder.mkdir()
            (folder / 'episode.jsonl').write_text('{"kind": "end"}\n')
            score = {'ending': ending, 'cost_usd': 0.25, 'tokens': 100, 'message': ''}
            if ending == 'error':
                score['message'] = f'run {len(self.order)}: connection to 10.0.0.1:80 refused'
            (folder / 'score.json').write_text(json.dumps(score))
            for result in queue.finish(JobResult(cell_id=cell_id)):
                finished(result)


def ended(
    source: Path, tmp_path: Path, endings: Callable[[str], str], **options: Any
) -> tuple[RunSummary, list[str]]:
    """Run a file with made-up endings; return the summary and what was begun."""
    made: list[Endings] = []

    def executor(directory: BenchmarkDirectory) -> Executor:
        made.append(Endings(directory, endings))
        return made[0]

    summary = run(source, tmp_path, executor, **options)
    return summary, made[0].order if made else []


def test_a_matrix_stops_when_a_model_fails_alike_and_goes_on_with_the_same_command(
    tmp_path: Path,
) -> None:
    seeds = list(range(8))
    source = write(
        tmp_path, models=['idle'], tasks=['task2'], starts=['random'], start_seeds=seeds
    )
    summary, order = ended(source, tmp_path, lambda _: 'error')
    assert (len(order), summary.failed, summary.left, summary.ran) == (5, 5, 3, 0)
    # Numbers in a message make no other failure of it.
    assert 'failed alike: run 5: connection to 10.0.0.1:80 refused' in summary.stopped
    # With the server up again, the same command makes the failed ones again and the rest.
    summary, order = ended(source, tmp_path, lambda _: 'time')
    assert (len(order), summary.ran, summary.kept, summary.failed) == (8, 8, 0, 0)
    assert summary.stopped == ''
    assert ended(source, tmp_path, lambda _: 'time')[0].kept == 8


def test_failures_that_remain_are_named_and_are_not_called_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = write(tmp_path, models=['idle'], tasks=['task2'])
    summary, _ = ended(source, tmp_path, lambda name: 'error' if 'point1' in name else 'time')
    assert (summary.ran, summary.failed, summary.stopped) == (1, 1, '')
    words = ['run', str(source), '--results-dir', str(tmp_path), '--executor', 'serial']
    assert main([*words, '--redo', 'none']) == 1
    told = capsys.readouterr().err
    assert '1 kept, 1 failed' in told
    assert 'failed: idle.task2.point1.w0.r0.t60: run ' in told
    assert 'made again by the same command without --redo none' in told
    assert main(words) == 0
    assert '1 runs made' in capsys.readouterr().err


def test_a_success_between_lets_a_matrix_go_on(tmp_path: Path) -> None:
    seeds = list(range(12))
    source = write(
        tmp_path, models=['idle'], tasks=['task2'], starts=['random'], start_seeds=seeds
    )
    count = iter(range(100))
    summary, order = ended(source, tmp_path, lambda _: 'time' if next(count) == 4 else 'error')
    # Four, a success, and five more.
    assert (len(order), summary.ran, summary.failed, summary.left) == (10, 1, 9, 2)
    summary, order = ended(source, tmp_path, lambda _: 'error', max_failures=0)
    assert (len(order), summary.failed, summary.left) == (11, 11, 0)


def test_the_budget_of_a_file_counts_every_run_that_was_ever_paid(tmp_path: Path) -> None:
    changes: dict[str, Any] = {'models': ['idle'], 'tasks': ['task2'], 'starts': ['random']}
    changes['start_seeds'] = list(range(8))
    source = write(tmp_path, total_budget={'max_cost': 1.0}, **changes)
    summary, order = ended(source, tmp_path, lambda _: 'error', max_failures=0)
    assert (len(order), summary.left) == (4, 4)
    assert 'budget of the file is spent: 1 of total_budget.max_cost 1' in summary.stopped
    with pytest.raises(OceanGymError, match='budget of the file is spent'):
        ended(source, tmp_path, lambda _: 'time')
    # The four that failed are moved aside and stay paid: two more of 0.25 USD fit.
    source = write(tmp_path, total_budget={'max_cost': 1.5}, **changes)
    summary, order = ended(source, tmp_path, lambda _: 'time')
    assert (len(order), summary.ran, summary.left) == (2, 2, 6)
    source = write(tmp_path, total_budget={'max_tokens': 700}, **changes)
    assert len(ended(source, tmp_path, lambda _: 'time')[1]) == 1


def test_models_are_asked_before_anything_runs_and_replies_are_paid_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that is down, one that dies in the second decision, and one that is up."""

    def source(url: str) -> Path:
        return write(
            tmp_path,
            models=['gemma-3'],
            base_urls={'gemma-3': url},
            tasks=['task2'],
            starts=['point1'],
            start_seeds=[],
            sensors='truth',
            calls={'call_timeout': 5, 'decision_deadline': 5, 'max_retries': 0},
        )

    words = ['run', str(source('http://127.0.0.1:9/v1')), '--results-dir', str(tmp_path)]
    words += ['--executor', 'serial']
    assert main(words) == 1
    told = capsys.readouterr().err
    assert 'gemma-3' in told and '--no-probe begins without it' in told
    runs = tmp_path / 'matrix' / 'runs'
    assert not list(runs.iterdir())
    faults = {2: Fault(kind=FaultKind.AUTH)}
    with ScriptedModelServer(script=script('patrol'), faults=faults) as server:
        source(server.url)
        assert main(words) == 1
        assert [r.method for r in server.requests].count('POST') == 3
    told = capsys.readouterr().err
    assert 'failed: gemma-3.task2.point1.w0.r0.t60: agent gemma-3' in told
    assert 'failed runs are made again by the same command' in told
    name = 'gemma-3.task2.point1.w0.r0.t60'
    before = score_of(runs / name)['tokens']
    with ScriptedModelServer(script=script('patrol')) as server:
        source(server.url)
        assert main(words) == 0
        # The probe and the decision that had no answer; the first one stands in the trace.
        assert [r.method for r in server.requests].count('POST') == 2
    assert '1 runs made' in capsys.readouterr().err
    after = score_of(runs / name)
    assert (after['ending'], after['decisions']) == ('time', 2)
    assert after['tokens'] > before > 0
    # The file has paid for each reply once.
    assert BenchmarkDirectory(tmp_path / 'matrix').spent().tokens == after['tokens']
    assert main(['verify', str(runs / name)]) == 0


def test_only_runs_may_be_added_to_a_file_with_results(tmp_path: Path) -> None:
    source = write(tmp_path, models=['idle'], tasks=['task2'])
    root = run(source, tmp_path, filters=['point1']).directory
    with pytest.raises(OceanGymError, match=r"point1.*profile was 'hard', is 'standard'"):
        run(write(tmp_path, models=['idle'], tasks=['task2'], profile='standard'), tmp_path)
    with pytest.raises(OceanGymError, match='not in the file any more'):
        run(write(tmp_path, models=['random'], tasks=['task2']), tmp_path)
    # A refused file leaves the old one in place.
    assert BenchmarkDirectory(root).benchmark().profile == 'hard'
    watcher = Quiet()
    added = write(
        tmp_path, models=['idle'], tasks=['task2'], starts=['point2', 'point1', 'random']
    )
    summary = run(added, tmp_path, watcher=watcher, filters=['idle.task2.point2'])
    assert watcher.said == ['the file has 1 more runs than before']
    assert (summary.kept, summary.ran) == (0, 1)
    assert finished(root) == 2


def test_two_runners_do_not_share_a_directory(tmp_path: Path) -> None:
    directory = BenchmarkDirectory(tmp_path)
    with (
        directory.held(),
        pytest.raises(OceanGymError, match='in use by another'),
        directory.held(),
    ):
        raise AssertionError('held twice')


def test_a_damaged_record_is_run_again(tmp_path: Path) -> None:
    source = write(tmp_path, models=['idle'], tasks=['task2'])
    runs = run(source, tmp_path).directory / 'runs'
    one, other = sorted(runs.iterdir())
    episode = one / 'episode.jsonl'
    episode.write_bytes(episode.read_bytes()[:-40])
    (other / 'score.json').write_text('{"ending": ')
    summary = run(source, tmp_path)
    assert (summary.kept, summary.ran) == (0, 2)
    assert record_of(one)[-1]['kind'] == record_of(other)[-1]['kind'] == 'end'


class Ticker:
    """An executor without a vehicle: hands out jobs as a worker would ask for them."""

    def __init__(self, fail: frozenset[str] = frozenset()) -> None:
        self.order: list[str] = []
        self._fail = fail

    def run(
        self,
        queue: JobQueue,
        *,
        started: Callable[[Job], None],
        finished: Callable[[JobResult], None],
    ) -> None:
        while (item := queue.next_job(None)) is not None:
            cell_id = item[0].cell_id
            self.order.append(cell_id)
            error = 'no fuel' if cell_id in self._fail else ''
            for result in queue.finish(JobResult(cell_id=cell_id, error=error)):
                finished(result)


def test_who_takes_memory_waits_for_who_gives_it(tmp_path: Path) -> None:
    changes = {
        'models': ['scripted_patrol'],
        'tasks': ['task2'],
        'sensors': 'auto',
        'transfer': {'modes': ['none', 'within_task']},
    }
    source = write(tmp_path, **changes)
    ticker, watcher = Ticker(), Quiet()
    # The chosen run brings the one with it whose memory it takes.
    run(source, tmp_path, lambda d: ticker, watcher, filters=['point1.w0.r0.t60.within_task'])
    assert ticker.order == [
        'scripted_patrol.task2.random_2.w0.r0.t60',
        'scripted_patrol.task2.point1.w0.r0.t60.within_task',
    ]
    assert '1 runs are added' in watcher.said[0]
    ticker = Ticker(frozenset({'scripted_patrol.task2.point1.w0.r0.t60'}))
    watcher = Quiet()
    summary = run(source, tmp_path, lambda d: ticker, watcher)
    lost = 'scripted_patrol.task2.random_2.w0.r0.t60.within_task'
    assert lost not in ticker.order
    why = {result.cell_id: result.error for result in watcher.results}
    assert why[lost] == 'its source scripted_patrol.task2.point1.w0.r0.t60 failed: no fuel'
    row = next(r for r in statuses(BenchmarkDirectory(summary.directory)) if r.cell.id == lost)
    assert row.state is CellState.FAILED


def test_memory_is_handed_on_and_such_runs_are_verified(tmp_path: Path) -> None:
    changes = {'models': ['scripted_patrol'], 'tasks': ['task2'], 'sensors': 'auto'}
    source = write(
        tmp_path, durations=[30], transfer={'modes': ['none', 'within_task']}, **changes
    )
    taker = 'scripted_patrol.task2.point1.w0.r0.t30.within_task'
    summary = run(source, tmp_path, filters=[taker])
    assert (summary.ran, summary.failed) == (2, 0)
    directory = summary.directory / 'runs' / taker
    giver = 'scripted_patrol.task2.random_2.w0.r0.t30'
    run_file = yaml.safe_load((directory / 'run.yaml').read_text(encoding='utf-8'))
    assert [source['run_id'] for source in run_file['experience']] == [giver]
    first = json.loads((directory / 'trace.jsonl').read_text(encoding='utf-8').splitlines()[0])
    prompt = ' '.join(
        part.get('text', '')
        for message in first['calls'][0]['messages']
        for part in message['parts']
    )
    assert 'the same task' in prompt
    assert main(['verify', str(directory)]) == 0


@pytest.fixture
def orphan(tmp_path: Path) -> Iterator[int]:
    """A process that holds the workers' lock, as a worker does whose runner was killed."""
    lock = tmp_path / '.workers.lock'
    with lock.open('a') as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        yield stream.fileno()


def test_orphaned_workers_are_waited_for(
    tmp_path: Path, orphan: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr('oceangym_bench.execution.directory.ORPHAN_PATIENCE_S', 0.0)
    directory = BenchmarkDirectory(tmp_path)
    with pytest.raises(OceanGymError, match='still writing'), directory.held():
        raise AssertionError('held in spite of a worker')
    fcntl.flock(orphan, fcntl.LOCK_UN)
    with directory.held():
        pass


def test_the_command_line(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['status', str(whole), '--json']) == 0
    content = json.loads(capsys.readouterr().out)
    assert content['counts'] == {
        'done': 8, 'error': 0, 'failed': 0, 'unfinished': 0, 'pending': 0,
    }  # fmt: skip
    for words, message in (
        (['rnu'], "unknown verb 'rnu'. Did you mean 'run'"),
        (['run', 'smoke', '--fliter', 'x'], "unknown flag '--fliter'. Did you mean '--filter'"),
        (['run', 'smok'], "unknown benchmark 'smok'. Did you mean 'smoke'"),
        (['run'], 'the following arguments are required: file'),
        (['run', 'smoke', '--workers', '0'], "'0' is not a whole number from 1 on"),
        (['run', 'smoke', '--redo', 'some'], "invalid choice: 'some'"),
        (['run', 'smoke', '--address', 'auto'], '--address is for --executor ray'),
        (['run', str(tmp_path / 'none.yaml')], 'cannot read'),
        (['status', str(tmp_path)], 'holds no results of a benchmark'),
        (['verify', str(tmp_path)], 'is no run directory'),
    ):
        assert main(words) == 1, words
        captured = capsys.readouterr()
        assert message in captured.err, words
        assert captured.out == ''
    assert main(['--help']) == main(['run', '--help']) == 0
    assert main([]) == 1


def test_the_report_is_in_files_and_on_stdout(
    whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(['report', str(whole), '--format', 'json', '--no-html', '--out', str(tmp_path)]) == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert next(t['title'] for t in printed).startswith('Score (verified)')
    endings = {path.suffix for path in tmp_path.iterdir()}
    assert endings == {'.md', '.csv', '.json', '.tex'}
    assert main(['report', str(whole / 'runs'), '--format', 'csv', '--no-html']) == 0
    assert 'inspect_pipe' in capsys.readouterr().out


def test_ctrl_c_stops_workers_and_exits_with_130(tmp_path: Path) -> None:
    source = write(tmp_path)
    command = [sys.executable, '-m', 'oceangym_bench.cli.main', 'run', str(source)]
    command += ['--results-dir', str(tmp_path), '--workers', '1']
    with (tmp_path / 'log').open('wb') as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    wait_for(1, tmp_path / 'matrix', process)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=PATIENCE_S) == 130
    assert b'the same command goes on from here' in (tmp_path / 'log').read_bytes()
    assert b'Traceback' not in (tmp_path / 'log').read_bytes()
    with BenchmarkDirectory(tmp_path / 'matrix').held():
        pass
