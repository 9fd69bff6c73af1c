"""Reports that a model never made, or made otherwise, are found by its trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import json
from pathlib import Path
import re
import shutil
from typing import Any

import pytest

from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_bench.execution.episode import run_episode
from oceangym_bench.execution.simulator_cache import SimulatorCache
from oceangym_bench.verify.run import Outcome, Verdict, verify_run
from oceangym_core.config.options import RunOptions
from oceangym_core.scoring import rescore

Line = dict[str, Any]
FINDS = (
    {'label': 'OIL PIPELINE', 'position': [10.0, 20.0, -40.0]},
    {'label': 'TEAPOT', 'range_m': 12.0, 'bearing_deg': 30.0},
    {'label': 'OIL PIPELINE', 'direction': 'front'},
)


@pytest.fixture(scope='module')
def simulators() -> SimulatorCache:
    return SimulatorCache()


@pytest.fixture(scope='module')
def flown(tmp_path_factory: pytest.TempPathFactory, simulators: SimulatorCache) -> Path:
    """Three decisions: three finds, no reply that is understood, one find."""

    def say(body: Mapping[str, Any], number: int) -> str:
        if number == 1:
            return 'How blue.'
        finds = FINDS if number == 0 else FINDS[:1]
        return json.dumps({'action': 'forward', 'magnitude': 5.0, 'finds': finds})

    with ScriptedModelServer(script=say) as server:
        options = RunOptions(
            agent='scripted', base_url=server.url, sensors='none', t_max=90.0, profile='hard',
            frame='shifted', frame_seed=9, max_reasks=0, record='false',
        )  # fmt: skip
        setup, simulator = simulators.prepare(options)
        outcome = run_episode(setup, simulator, results_dir=tmp_path_factory.mktemp('flown'))
    assert outcome.directory is not None
    assert len(outcome.score['reports']) == 4
    return outcome.directory


def forged(run: Path, folder: Path, file: str, change: Callable[[list[Line]], object]) -> Path:
    """Return a copy of a run with a changed file and a score that fits it."""
    copy = folder / 'forged'
    shutil.copytree(run, copy)
    lines = [json.loads(line) for line in (run / file).read_text('utf-8').splitlines()]
    change(lines)
    (copy / file).write_text(''.join(json.dumps(line) + '\n' for line in lines), 'utf-8')
    (copy / 'score.json').write_text(json.dumps(rescore(copy)), encoding='utf-8')
    return copy


def reports_of(verdict: Verdict) -> tuple[Outcome, str]:
    (finding,) = (f for f in verdict.findings if f.check == 'reports')
    assert verdict.rejected is (finding.outcome is Outcome.FAILED)
    return finding.outcome, finding.detail


def test_true_reports_agree_with_their_trace(flown: Path, simulators: SimulatorCache) -> None:
    verdict = verify_run(flown, simulators, render=False)
    assert verdict.accepted
    assert reports_of(verdict)[0] is Outcome.PASSED


def move(lines: list[Line]) -> None:
    lines[1]['reports'][1]['position'][0] += 0.5


def rename(lines: list[Line]) -> None:
    lines[1]['reports'][1]['label'] = 'OIL PIPELINE'


def place(lines: list[Line]) -> None:
    lines[1]['reports'][2]['position'] = [345.0, -165.0, -32.0]


def leave_out(lines: list[Line]) -> None:
    del lines[1]['reports'][1]


def postpone(lines: list[Line]) -> None:
    lines[1]['reports'][0]['observation_index'] = 1


def invent(lines: list[Line]) -> None:
    lines[2]['reports'].append(lines[1]['reports'][0] | {'observation_index': 1})


def tell_otherwise(lines: list[Line]) -> None:
    lines[0]['parsed']['finds'][1]['label'] = 'OIL PIPELINE'


def unreadable(lines: list[Line]) -> None:
    lines[0]['parsed']['finds'][0]['position'] = 'here'


RECORDS: dict[str, tuple[Callable[[list[Line]], None], str]] = {
    'a better place': (move, 'observation 0: .* was reported at'),
    'a better label': (rename, "'OIL PIPELINE' was reported, 'TEAPOT' was found"),
    'a place where none was given': (place, 'found at None'),
    'a false report left out': (leave_out, '2 reports, the trace 3 finds'),
    'another observation': (postpone, '2 reports, the trace 3 finds'),
    'a report of no find': (invent, 'observation 1: the record holds 1 reports'),
}
TRACES = {'a trace that says otherwise': tell_otherwise, 'a trace that cannot be read': unreadable}


@pytest.mark.parametrize('forgery', RECORDS)
def test_reports_that_are_no_finds_are_rejected(
    flown: Path, tmp_path: Path, simulators: SimulatorCache, forgery: str
) -> None:
    change, words = RECORDS[forgery]
    copy = forged(flown, tmp_path, 'episode.jsonl', change)
    outcome, detail = reports_of(verify_run(copy, simulators, render=False))
    assert outcome is Outcome.FAILED
    assert re.search(words, detail), detail


@pytest.mark.parametrize('forgery', TRACES)
def test_a_changed_trace_is_rejected(
    flown: Path, tmp_path: Path, simulators: SimulatorCache, forgery: str
) -> None:
    copy = forged(flown, tmp_path, 'trace.jsonl', TRACES[forgery])
    assert reports_of(verify_run(copy, simulators, render=False))[0] is Outcome.FAILED


def test_without_a_trace_there_is_nothing_to_compare(
    flown: Path, tmp_path: Path, simulators: SimulatorCache
) -> None:
    copy = tmp_path / 'copy'
    shutil.copytree(flown, copy)
    (copy / 'trace.jsonl').unlink()
    verdict = verify_run(copy, simulators, render=False)
    assert verdict.accepted
    assert reports_of(verdict)[0] is Outcome.SKIPPED
