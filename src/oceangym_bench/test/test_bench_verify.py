"""A true run is accepted; one whose record or score was touched is not."""

from __future__ import annotations

from collections.abc import Callable
import json
from pathlib import Path
import shutil
from typing import Any

import pytest
import yaml

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_bench.cli.main import main
from oceangym_bench.execution.episode import run_episode
from oceangym_bench.execution.simulator_cache import SimulatorCache
from oceangym_bench.verify.differences import first_difference
from oceangym_bench.verify.run import Finding, Outcome, Verdict, verify_run
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import Action, Course
from oceangym_core.contract.decisions import Decision
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.scoring import rescore

Line = dict[str, Any]


@pytest.fixture(scope='module')
def simulators() -> SimulatorCache:
    return SimulatorCache()


@pytest.fixture(scope='module')
def flown(tmp_path_factory: pytest.TempPathFactory, simulators: SimulatorCache) -> Path:
    """A run with truth rendered, beside a target, in current, with odometry that drifts."""
    options = RunOptions(
        agent='blind_spam', task='inspect_pipe', start='point2', profile='hard', seed=3,
        frame='shifted', frame_seed=9, t_max=90.0, record='false',
    )  # fmt: skip
    setup, simulator = simulators.prepare(options)
    outcome = run_episode(setup, simulator, results_dir=tmp_path_factory.mktemp('flown'))
    assert outcome.directory is not None
    lines = record(outcome.directory)
    assert any(s['pixels'] >= 64 for line in lines for s in line.get('sightings', ()))
    return outcome.directory


class Terrain:
    """Follows the bottom, turning as it goes."""

    privileged = False

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None: ...

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        course = Course(turn_deg=40.0, altitude_m=8.0)
        decision = Decision(
            index=observation.index, action=Action.GO, magnitude=12.0, course=course
        )
        return Turn(decision=decision)


class Diver:
    """Goes down until the seabed stops it."""

    privileged = False

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None: ...

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        decision = Decision(index=observation.index, action=Action.DOWN, magnitude=20.0)
        return Turn(decision=decision)


@pytest.fixture(scope='module')
def grounded(tmp_path_factory: pytest.TempPathFactory, simulators: SimulatorCache) -> Path:
    """A run that ends on the seabed."""
    options = RunOptions(agent='idle', start='point1', t_max=120.0, sensors='none', record='false')
    setup, simulator = simulators.prepare(options)
    outcome = run_episode(
        setup, simulator, agent=Diver(), results_dir=tmp_path_factory.mktemp('grounded')
    )
    assert outcome.directory is not None
    assert outcome.score['safety']['collisions'] > 0
    return outcome.directory


def record(run: Path) -> list[Line]:
    text = (run / 'episode.jsonl').read_text(encoding='utf-8')
    return [json.loads(line) for line in text.splitlines()]


def forged(run: Path, folder: Path, change: Callable[[list[Line]], object]) -> Path:
    """Return a copy of a run with a changed record and a score that fits it."""
    copy = folder / 'forged'
    shutil.copytree(run, copy)
    lines = record(copy)
    change(lines)
    text = ''.join(json.dumps(line) + '\n' for line in lines)
    (copy / 'episode.jsonl').write_text(text, encoding='utf-8')
    (copy / 'score.json').write_text(json.dumps(rescore(copy)), encoding='utf-8')
    return copy


def reset(run: Path, folder: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """Return a copy of a run with a changed run.yaml and a score that fits it."""
    copy = folder / 'forged'
    shutil.copytree(run, copy)
    content = yaml.safe_load((copy / 'run.yaml').read_text(encoding='utf-8'))
    change(content)
    (copy / 'run.yaml').write_text(yaml.safe_dump(content), encoding='utf-8')
    (copy / 'score.json').write_text(json.dumps(rescore(copy)), encoding='utf-8')
    return copy


def failure(verdict: Verdict) -> Finding:
    """Return the one finding for which a run is rejected."""
    assert not verdict.accepted
    (finding,) = (f for f in verdict.findings if f.outcome is Outcome.FAILED)
    return finding


def test_a_true_run_is_accepted(flown: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(['verify', str(flown)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith(f'accepted {flown}')
    for check in ('record', 'score', 'benchmark', 'setup', 'trajectory', 'odometry', 'sightings'):
        assert f'{check}: passed' in captured.out
    assert '1 accepted, 0 rejected' in captured.err


def test_what_is_not_there_is_said_not_to_exist(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['verify', str(tmp_path / 'nope')]) == 1
    assert f'{tmp_path / "nope"} does not exist' in capsys.readouterr().err
    assert main(['verify', str(tmp_path)]) == 1
    assert 'is no run directory' in capsys.readouterr().err


def test_a_moved_waypoint_is_rejected(
    flown: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def move(lines: list[Line]) -> None:
        lines[2]['truth']['trajectory'][10][1] += 0.02

    assert main(['verify', '--json', str(forged(flown, tmp_path, move))]) == 1
    (verdict,) = json.loads(capsys.readouterr().out)
    assert not verdict['accepted']
    bad = [f for f in verdict['findings'] if f['outcome'] == 'failed']
    assert [f['check'] for f in bad] == ['trajectory']
    assert bad[0]['detail'].startswith('0.02 m off at')


def test_combined_commands_are_flown_again_and_need_their_option(
    tmp_path: Path, simulators: SimulatorCache
) -> None:
    options = RunOptions(
        agent='idle',
        actions='extended',
        start='point1',
        t_max=90.0,
        record='false',
        profile='hard',
    )
    setup, simulator = simulators.prepare(options)
    outcome = run_episode(setup, simulator, agent=Terrain(), results_dir=tmp_path / 'runs')
    assert outcome.directory is not None
    assert outcome.score['actions'] == 'extended' and outcome.score['ending'] == 'time'
    assert verify_run(outcome.directory, simulators, render=False).accepted

    def bend(lines: list[Line]) -> None:
        lines[1]['decision']['turn_deg'] = 0.0

    def climb(lines: list[Line]) -> None:
        lines[1]['decision'] |= {'altitude_m': None}

    for change in (bend, climb):
        lie = forged(outcome.directory, tmp_path / change.__name__, change)
        failed = {
            finding.check
            for finding in verify_run(lie, simulators, render=False).findings
            if finding.outcome is Outcome.FAILED
        }
        assert failed == {'trajectory', 'odometry'}

    def claim(run: dict[str, Any]) -> None:
        run['options']['actions'] = 'oceangym'

    lie = reset(outcome.directory, tmp_path / 'claim', claim)
    assert verify_run(lie, simulators, render=False).rejected


def test_a_waypoint_within_tolerance_is_no_forgery(
    flown: Path, tmp_path: Path, simulators: SimulatorCache
) -> None:
    def nudge(lines: list[Line]) -> None:
        lines[2]['truth']['trajectory'][10][1] += 0.008

    assert verify_run(forged(flown, tmp_path, nudge), simulators, render=False).accepted


def test_an_edited_score_is_rejected(
    flown: Path, tmp_path: Path, simulators: SimulatorCache
) -> None:
    copy = tmp_path / 'edited'
    shutil.copytree(flown, copy)
    score = json.loads((copy / 'score.json').read_text(encoding='utf-8'))
    score['scorers']['paper']['score'] += 1.0
    (copy / 'score.json').write_text(json.dumps(score), encoding='utf-8')
    found = failure(verify_run(copy, simulators, render=False))
    assert found.check == 'score'
    assert 'scorers.paper.score' in found.detail
    assert main(['verify', str(copy)]) == 1


def drop(lines: list[Line]) -> None:
    del lines[-2]


def shift_pose(lines: list[Line]) -> None:
    lines[1]['truth']['pose']['position'][0] += 30.0


def shift_odometry(lines: list[Line]) -> None:
    lines[3]['estimate']['position'][1] -= 1.0


def see_more(lines: list[Line]) -> None:
    lines[1]['sightings'].append(
        {'anchor': 'oil_pipeline_2', 'sensor': 'camera/front', 'pixels': 900, 'cells': 0}
    )


def turn_back(lines: list[Line]) -> None:
    lines[1]['decision']['action'] = 'backward'


RECORDS: dict[str, tuple[Callable[[list[Line]], None], str]] = {
    'a step left out': (drop, 'steps'),
    'an end elsewhere': (shift_pose, 'trajectory'),
    'a better place on the map': (shift_odometry, 'odometry'),
    'a target that was not in view': (see_more, 'sightings'),
    'another command': (turn_back, 'trajectory'),
}


@pytest.mark.parametrize('forgery', RECORDS)
def test_a_forged_record_is_rejected(
    flown: Path, tmp_path: Path, simulators: SimulatorCache, forgery: str
) -> None:
    change, check = RECORDS[forgery]
    verdict = verify_run(forged(flown, tmp_path, change), simulators, render=check == 'sightings')
    assert check in {f.check for f in verdict.findings if f.outcome is Outcome.FAILED}


def nearer_target(run: dict[str, Any]) -> None:
    run['targets'][0]['point'] = run['start']['position']


def other_prompt(run: dict[str, Any]) -> None:
    run['benchmark']['hashes']['scorers'] = '0' * 64


def older(run: dict[str, Any]) -> None:
    run['benchmark']['version'] = '0.9.0'


def other_start(run: dict[str, Any]) -> None:
    run['start']['position'][0] += 5.0


def other_seed(run: dict[str, Any]) -> None:
    run['options']['seed'] = 4


SETUPS: dict[str, tuple[Callable[[dict[str, Any]], None], str, str]] = {
    'a nearer target': (nearer_target, 'setup', 'targets is'),
    'another scorer': (other_prompt, 'benchmark', 'other scorers than are here'),
    'another version': (older, 'benchmark', 'made with benchmark 0.9.0'),
    'another start': (other_start, 'setup', 'start lies 5.00 m'),
}


@pytest.mark.parametrize('forgery', SETUPS)
def test_a_forged_setup_is_rejected(
    flown: Path, tmp_path: Path, simulators: SimulatorCache, forgery: str
) -> None:
    change, check, detail = SETUPS[forgery]
    found = failure(verify_run(reset(flown, tmp_path, change), simulators, render=False))
    assert found.check == check
    assert detail in found.detail


def test_another_seed_is_another_run(
    flown: Path, tmp_path: Path, simulators: SimulatorCache
) -> None:
    verdict = verify_run(reset(flown, tmp_path, other_seed), simulators, render=False)
    checks = {f.check for f in verdict.findings if f.outcome is Outcome.FAILED}
    # The current flows elsewhere and the odometry drifts differently.
    assert {'trajectory', 'odometry'} <= checks


def test_a_killed_run_and_one_without_score_are_rejected(
    flown: Path, tmp_path: Path, simulators: SimulatorCache
) -> None:
    copy = tmp_path / 'killed'
    shutil.copytree(flown, copy)
    episode = copy / 'episode.jsonl'
    episode.write_bytes(episode.read_bytes()[:-30])
    (copy / 'score.json').unlink()
    verdict = verify_run(copy, simulators)
    assert [(f.check, f.outcome) for f in verdict.findings] == [
        ('record', Outcome.FAILED),
        ('score', Outcome.FAILED),
    ]


def test_what_follows_a_contact_is_not_compared(
    grounded: Path, tmp_path: Path, simulators: SimulatorCache
) -> None:
    verdict = verify_run(grounded, simulators)
    assert verdict.accepted
    last = verdict.findings[-1]
    assert (last.check, last.outcome) == ('after contact', Outcome.SKIPPED)

    def bounce(lines: list[Line]) -> None:
        lines[-2]['truth']['trajectory'][-1][3] += 1.0

    assert verify_run(forged(grounded, tmp_path, bounce), simulators).accepted


def test_what_is_not_flown_again_is_not_accepted(
    flown: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else a forger would only have to leave a decision out, or to claim another mode."""

    def lose_a_decision(lines: list[Line]) -> None:
        del lines[2]['decision']
        lines[2]['truth']['trajectory'][10][1] += 5.0

    assert main(['verify', str(forged(flown, tmp_path, lose_a_decision))]) == 1
    captured = capsys.readouterr()
    assert captured.out.startswith('NOT REPEATABLE')
    assert 'trajectory: not compared its agent published no decision' in captured.out
    assert '0 accepted, 0 rejected, 1 not repeatable' in captured.err


def hide_contacts(lines: list[Line]) -> None:
    for line in lines[:-1]:
        line['contacts'] = []


def claim_contact(lines: list[Line]) -> None:
    # Nothing after a contact is compared: a contact at the start would excuse everything.
    lines[1]['contacts'] = [{'stamp': 1.0, 'instance': 'terrain', 'speed': 0.1}]


@pytest.mark.parametrize('change', [hide_contacts, claim_contact])
def test_contacts_can_neither_be_hidden_nor_made_up(
    grounded: Path,
    tmp_path: Path,
    simulators: SimulatorCache,
    change: Callable[[list[Line]], None],
) -> None:
    assert failure(verify_run(forged(grounded, tmp_path, change), simulators)).check == 'contacts'


def test_differences_are_named_by_their_place() -> None:
    one = {'a': [1, {'b': 2.0}], 'c': None}
    assert first_difference(one, {'a': [1, {'b': 2.0 + 1e-9}], 'c': None}) == ''
    assert (
        first_difference(one, {'a': [1, {'b': 2.1}], 'c': None}) == 'a[1].b = 2.0, but it is 2.1'
    )
    assert first_difference(one, {'a': [1], 'c': None}).startswith('a = ')
    assert first_difference({'a': True}, {'a': 1}) == 'a = True, but it is 1'
    assert first_difference({'a': 1, 'extra': 2}, {'a': 1}) == 'extra = 2, but it is None'
