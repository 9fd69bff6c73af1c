"""Whole episodes with a model: faults of its endpoint, budgets, transferred memories."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from oceangym_agent.agent import GoalView, Privilege, Turn
from oceangym_agent.agents.replay import recorded_turns
from oceangym_agent.scripted_models.faults import Fault, FaultKind
from oceangym_agent.scripted_models.scripts import script
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_agent.trace import read_trace, TraceStep
from oceangym_bench.analysis.results import read_run
from oceangym_bench.execution.episode import run_episode
from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import prepare_episode
from oceangym_core.contract.actions import Action
from oceangym_core.errors import OceanGymError
from oceangym_core.record.episode import Episode
from oceangym_core.record.model_identity import model_entry
from oceangym_core.record.reader import load_episode
from oceangym_core.scoring import rescore
from oceangym_core.world.world import load_world, World, world_path
from oceangym_sim.requests import SimulatorOptions
from oceangym_sim.simulator import Simulator

STEPS = 4
DEADLINE_S = 1.5
# What a loaded machine may take on top of a deadline of wall time.
SLACK_S = 5.0


@lru_cache(maxsize=1)
def ocean() -> World:
    return load_world(world_path('ocean'))


@lru_cache(maxsize=1)
def simulator(water: str) -> Simulator:
    options = RunOptions(agent='scripted', sensors='none', water=water)
    return Simulator(world=ocean(), options=SimulatorOptions.of(prepare_episode(options, ocean())))


def fly(results: Path, **options: Any) -> tuple[Path, dict[str, Any]]:
    chosen = RunOptions(
        **{
            'agent': 'scripted',
            'sensors': 'none',
            't_max': 30.0 * STEPS,
            'call_timeout': 0.4,
            'decision_deadline': DEADLINE_S,
            'max_retries': 1,
            **options,
        }
    )
    setup = prepare_episode(chosen, ocean())
    outcome = run_episode(setup, simulator(chosen.water), results_dir=results)
    assert outcome.directory is not None
    return outcome.directory, outcome.score


def whole(run: Path, score: Mapping[str, Any]) -> tuple[Episode, tuple[TraceStep, ...]]:
    """Read everything back: a record is intact if it scores again as it did."""
    episode = load_episode(run)
    assert episode.notes == ()
    again = rescore(run)
    for key in ('ending', 'partial', 'message', 'scorers', 'decisions', 'tokens', 'benchmark'):
        assert again[key] == score[key], key
    return episode, read_trace(run)


def test_an_episode_without_faults(tmp_path: Path) -> None:
    run, score = fly(tmp_path)
    episode, trace = whole(run, score)
    assert (score['ending'], score['decisions'], score['agent']) == (
        'time',
        STEPS,
        'scripted_patrol',
    )
    assert [step.index for step in trace] == list(range(STEPS))
    assert score['tokens'] == sum(
        c.reply.tokens_in + c.reply.tokens_out for s in trace for c in s.calls if c.reply
    )
    assert (score['benchmark']['version'], score['benchmark']['track']) == ('2.0.0', 'V')
    model = score['benchmark']['model']
    identity = model_entry(RunOptions(agent='scripted'))
    assert identity == episode.info.benchmark.model and model == identity.model_dump()
    assert read_run(run).preset == model['preset_sha256'] != ''
    for decision, step in zip(episode.decisions, trace):
        assert step.parsed is not None
        assert decision.action.value == step.parsed['action']


# One of each outcome; every quirk is in oceangym_agent/test/test_agent_endpoints.py.
@pytest.mark.parametrize(
    'kind',
    [FaultKind.HANG, FaultKind.OVERLOADED, FaultKind.AUTH, FaultKind.EMPTY, FaultKind.LENGTH],
)
def test_a_lasting_fault_ends_in_a_decision_or_in_an_episode_with_its_record(
    tmp_path: Path, kind: FaultKind
) -> None:
    # The second decision meets the fault, however often it is tried again.
    faults = dict.fromkeys(range(1, 60), Fault(kind=kind, retry_after='0'))
    with ScriptedModelServer(script=script('patrol'), faults=faults) as server:
        run, score = fly(tmp_path, base_url=server.url)
    episode, trace = whole(run, score)
    assert all(step.wall['latency_s'] < DEADLINE_S + SLACK_S for step in trace)
    assert trace[0].error is None
    if score['ending'] == 'error':
        assert score['partial']
        # The step before is kept, the fault is named, and nothing was flown on a guess.
        assert len(episode.steps) == 2
        assert trace[-1].index == 1 and trace[-1].error
        assert trace[-1].error in score['message']
    else:
        assert score['ending'] == 'time'
        assert len(trace) == STEPS
        heard = [call for step in trace[1:] for call in step.calls]
        assert all(call.reply is not None for call in heard)
        unclear = sum(call.error is not None for call in heard)
        assert score['invalid_replies'] == unclear


@pytest.mark.parametrize(
    'kind', [FaultKind.RATE_LIMIT, FaultKind.SERVER_ERROR, FaultKind.RESET, FaultKind.HANG]
)
def test_a_passing_fault_costs_a_retry_only(tmp_path: Path, kind: FaultKind) -> None:
    faults = {1: Fault(kind=kind, retry_after='0')}
    with ScriptedModelServer(script=script('patrol'), faults=faults) as server:
        run, score = fly(tmp_path, base_url=server.url, decision_deadline=20.0)
    _, trace = whole(run, score)
    assert (score['ending'], score['decisions']) == ('time', STEPS)
    retries = [call.reply.retries for step in trace for call in step.calls if call.reply]
    assert retries == [0, 1, 0, 0]


def test_a_spent_budget_ends_the_episode_as_such(tmp_path: Path) -> None:
    run, score = fly(tmp_path, max_decisions=2)
    episode, trace = whole(run, score)
    assert (score['ending'], score['partial'], len(episode.steps)) == ('budget', True, 3)
    assert 'max_decisions:= raises it' in score['message']
    assert [step.error is None for step in trace] == [True, True, False]
    # Tokens too: the call that crosses the limit is answered, the next one is not made.
    first = trace[0].calls[0].reply
    assert first is not None
    limit = first.tokens_in + first.tokens_out
    _, score = fly(tmp_path, max_tokens=limit)
    assert (score['ending'], score['decisions'], score['tokens']) == ('budget', 1, limit)


@pytest.mark.parametrize('ending', ['error', 'budget'])
def test_the_decision_that_ends_an_episode_is_paid_on_its_record(
    tmp_path: Path, ending: str
) -> None:
    # The second decision looks, and does not get to act.
    faults = {3: Fault(kind=FaultKind.AUTH)} if ending == 'error' else {}
    limits: dict[str, Any] = {} if ending == 'error' else {'max_tokens': 1}
    with ScriptedModelServer(script=script('patrol'), faults=faults) as server:
        run, score = fly(tmp_path, base_url=server.url, loop='perceive_act', **limits)
    episode, trace = whole(run, score)
    assert score['ending'] == ending
    paid = [c.reply.tokens_in + c.reply.tokens_out for s in trace for c in s.calls if c.reply]
    assert len(paid) == (3 if ending == 'error' else 1)
    assert score['tokens'] == sum(paid)
    assert episode.last_decision is not None and episode.last_decision.tokens == paid[-1]
    # Flown again, the vehicle does not carry out what was not decided.
    turn = recorded_turns(episode)[episode.steps[-1].index]
    assert turn.decision.action is Action.STOP


def test_a_transferred_memory_is_told_and_named(tmp_path: Path) -> None:
    shifted = {'frame': 'shifted', 'frame_seed': 11}
    first, _ = fly(tmp_path, start='point1', **shifted)
    plain, _ = fly(tmp_path, start='point2', seed=5, **shifted)
    informed, _ = fly(tmp_path, start='point2', seed=5, memory_from=str(first), **shifted)
    said = [read_trace(run)[0].calls[0].text for run in (plain, informed)]
    assert said[0] != said[1]
    assert 'earlier dive on' not in said[0]
    assert 'earlier dive on inspect_pipe (the same task)' in said[1]
    content = yaml.safe_load((informed / 'run.yaml').read_text())
    assert content['options']['memory_from'] == str(first)
    (source,) = content['experience']
    assert source['run_id'] == first.name
    assert sorted(source['files']) == sorted(p.name for p in first.glob('*memory_*.json'))
    with pytest.raises(OceanGymError, match='another shifted frame'):
        fly(tmp_path, memory_from=str(first), frame='shifted', frame_seed=12)


def test_a_run_that_lacks_something_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(OceanGymError, match='prompt'):
        fly(tmp_path, prompt='no_such_prompt')
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ('error', 'message'),
    [
        (OceanGymError('no route'), 'agent survey: no route'),
        (ZeroDivisionError('speed'), 'ZeroDivisionError: speed'),
    ],
)
def test_what_an_agent_raises_is_on_record_and_reaches_the_caller(
    tmp_path: Path, error: Exception, message: str
) -> None:
    class Broken:
        privileged = False

        def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
            self.label = goal.target_label

        def decide(self, *given: object) -> Turn:
            raise error

    setup = prepare_episode(RunOptions(agent='survey', sensors='none'), ocean())
    with pytest.raises(type(error), match=str(error)):
        run_episode(setup, simulator('shallow'), agent=Broken(), results_dir=tmp_path)
    (run,) = tmp_path.iterdir()
    episode = load_episode(run)
    assert (episode.ending.value, episode.message) == ('error', message)
    assert len(episode.steps) == 1


def test_a_planted_key_is_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = 'sk-planted-0123456789abcdef'
    preset = tmp_path / 'keyed.yaml'
    monkeypatch.setenv('PLANTED_KEY', key)
    faults = {1: Fault(kind=FaultKind.ECHO_KEY)}
    with ScriptedModelServer(script=script('patrol'), faults=faults, key=key) as server:
        preset.write_text(_keyed_preset(server.url))
        _, score = fly(tmp_path / 'runs', agent='mllm', model=str(preset))
    # It was used, and the server that repeated it ended the episode.
    assert score['ending'] == 'error'
    for path in tmp_path.rglob('*'):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path
    assert key not in json.dumps(score)


def _keyed_preset(url: str) -> str:
    from oceangym_core.assets import config_path

    text = config_path('agents', 'scripted_patrol.yaml').read_text()
    changes = {
        'id: scripted_patrol': 'id: keyed',
        "base_url: ''": f'base_url: {url}',
        'api_key_env: null': 'api_key_env: PLANTED_KEY',
        'scripted: patrol': 'scripted: null',
    }
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text
