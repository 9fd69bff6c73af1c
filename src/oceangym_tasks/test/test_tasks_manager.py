"""The life cycle of an episode: states, endings, reports, and messages in any order."""

from __future__ import annotations

from dataclasses import fields
import json
import math
from pathlib import Path

import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.contract.actions import Action, EndReason
from oceangym_core.contract.decisions import Decision, FindReport, Refusal
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import Sighting
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import Ending, RunInfo
from oceangym_core.record.writer import RunWriter
from oceangym_core.testing.records import (
    Leg,
    maneuver_to,
    navigation_at,
    run_info,
    StepClock,
    targets_at,
    truth_at,
)
from oceangym_tasks.task_manager import TaskGoal, TaskManager, TaskState

TARGET = (100.0, 0.0, -50.0)
SEEN = (Sighting(anchor='a', sensor='camera/front', pixels=100),)
TASK = TaskRegistry.load().get('inspect_pipe')


class Flight:
    """A manager, and a vehicle that moves 10 m towards the target with each step."""

    def __init__(self, directory: Path | None = None, *, lag: bool = False, **kw: object) -> None:
        self.info: RunInfo = run_info(targets_at([TARGET]), **kw)  # type: ignore[arg-type]
        self.writer = RunWriter(directory, self.info, clock=StepClock())
        self.manager = TaskManager(
            task=TASK, info=self.info, writer=self.writer, decisions_lag=lag
        )
        self.index = -1

    def begin(self) -> TaskManager:
        self.manager.ready()
        self.index = 0
        self.manager.begin(*self.observation())
        return self.manager

    def observation(self):
        leg = Leg(position=(60.0 + 10.0 * self.index, 0.0, -50.0), sightings=SEEN)
        stamp = 30.0 * self.index
        pose = self.info.shift.to_odom(Pose.of(leg.position))
        return navigation_at(pose, stamp), truth_at(leg, self.index, stamp)

    def decide(self, action: Action = Action.FORWARD) -> None:
        self.manager.on_decision(Decision(index=self.index, action=action))

    def step(self, end: EndReason = EndReason.COMPLETED) -> None:
        self.index += 1
        self.manager.on_step(maneuver_to(self.index, end=end), *self.observation())


def test_states_follow_one_another() -> None:
    flight = Flight()
    states = [flight.manager.state]
    flight.manager.ready()
    states.append(flight.manager.state)
    flight.begin()
    states.append(flight.manager.state)
    flight.manager.stop()
    states.append(flight.manager.state)
    assert states == [TaskState.INITIAL, TaskState.READY, TaskState.RUNNING, TaskState.FINISHED]
    with pytest.raises(OceanGymError, match='cannot begin again'):
        flight.begin()


def test_the_goal_tells_no_place_of_a_target() -> None:
    target = (123.4, -56.7, -78.9)
    info = run_info(targets_at([target]), shift=FrameShift(100.0, 50.0, 1.0))
    manager = TaskManager(task=TASK, info=info, writer=RunWriter(None, info, clock=StepClock()))
    goal = manager.goal('The water is clear.')
    assert goal.number_of_targets == 1 and goal.instruction.endswith('The water is clear.')
    assert (goal.z_min, goal.z_max, goal.t_max, goal.t_interval) == (-100.0, 5.0, 1800.0, 30.0)
    text = json.dumps({f.name: getattr(goal, f.name) for f in fields(TaskGoal)})
    for number in (*target, *info.shift.points_to_odom(target)):
        assert f'{number:.1f}' not in text
    # The corners are those of the bounds, seen from odom.
    corners = info.shift.points_to_map([(*c, 0.0) for c in goal.bounds_polygon])
    assert corners[:, 0].min() == pytest.approx(-200.0) and corners[:, 1].max() == pytest.approx(
        250.0
    )


def test_an_answer_to_a_report_does_not_tell_whether_it_is_true() -> None:
    flight = Flight()
    manager = flight.begin()
    true = manager.report_find(FindReport(label='OIL PIPELINE', position=TARGET))
    false = manager.report_find(FindReport(label='SUNKEN SHIP', position=(0.0, 0.0, 0.0)))
    assert true == false and true.accepted


@pytest.mark.parametrize(
    ('report', 'refusal'),
    [
        (FindReport(label='  '), Refusal.BAD_LABEL),
        (FindReport(label='x' * 500), Refusal.BAD_LABEL),
        (FindReport(label='PIPE', position=(math.nan, 0.0, 0.0)), Refusal.BAD_POSITION),
        (FindReport(label='PIPE', position=(0.0, 0.0, math.inf)), Refusal.BAD_POSITION),
        (FindReport(label='PIPE', position=(1e9, 0.0, 0.0)), Refusal.BAD_POSITION),
        (FindReport(label='PIPE', position=TARGET, sigma=math.nan), Refusal.BAD_POSITION),
        (FindReport(label='PIPE', observation_index=1), Refusal.BAD_OBSERVATION),
        (FindReport(label='PIPE', observation_index=-1), Refusal.BAD_OBSERVATION),
    ],
)
def test_a_report_that_makes_no_sense_is_refused_and_does_not_count(
    report: FindReport, refusal: Refusal
) -> None:
    manager = Flight().begin()
    ack = manager.report_find(report)
    assert (ack.accepted, ack.refusal) == (False, refusal) and ack.message
    manager.report_find(FindReport(label='OIL PIPELINE', position=TARGET))
    assert manager.accepted_reports == 1
    manager.stop()
    assert manager.result is not None
    assert manager.result['scorers']['verified']['false_finds'] == 0
    assert manager.result['scorers']['verified']['score'] == pytest.approx(100 * 60 / 70)


def test_reports_count_only_while_the_episode_runs() -> None:
    flight = Flight()
    find = FindReport(label='OIL PIPELINE', position=TARGET)
    assert flight.manager.report_find(find).refusal is Refusal.NOT_RUNNING
    flight.begin().stop()
    assert flight.manager.report_find(find).refusal is Refusal.NOT_RUNNING
    assert flight.manager.result is not None and flight.manager.result['reports'] == []


@pytest.mark.parametrize(
    ('end', 'battery_ends', 'ending'),
    [
        (EndReason.BOUNDS, False, Ending.BOUNDS),
        (EndReason.TIME, False, Ending.TIME),
        (EndReason.BATTERY, True, Ending.BATTERY),
        (EndReason.BATTERY, False, None),
        (EndReason.COMPLETED, True, None),
        (EndReason.PREEMPTED, True, None),
    ],
)
def test_what_ends_an_episode(end: EndReason, battery_ends: bool, ending: Ending | None) -> None:
    flight = Flight(battery_ends=battery_ends)
    manager = flight.begin()
    flight.decide()
    flight.step(end)
    assert manager.ending is ending
    assert (manager.state is TaskState.FINISHED) == (ending is not None)


def test_a_find_or_a_hold_does_not_end_it() -> None:
    flight = Flight()
    manager = flight.begin()
    manager.report_find(FindReport(label='OIL PIPELINE', position=TARGET))
    flight.decide(Action.HOLD)
    flight.step()
    assert manager.state is TaskState.RUNNING


def test_time_runs_out_after_the_last_whole_interval_and_keeps_what_was_earned() -> None:
    flight = Flight(t_max=90.0)
    manager = flight.begin()
    manager.report_find(FindReport(label='OIL PIPELINE', position=TARGET))
    for expected in (60.0, 30.0, 0.0):
        assert manager.state is TaskState.RUNNING
        flight.decide()
        flight.step()
        assert manager.status().remaining == pytest.approx(expected)
    assert manager.ending is Ending.TIME
    assert manager.result is not None and manager.result['steps'] == 3
    assert manager.result['scorers']['verified']['score'] == 100.0
    assert not manager.result['partial']


@pytest.mark.parametrize(
    ('call', 'ending', 'partial'),
    [
        ('stop', Ending.STOP, False),
        ('cancel', Ending.CANCELLED, True),
        ('budget', Ending.BUDGET, True),
        ('error', Ending.ERROR, True),
        ('crash', Ending.ERROR, True),
    ],
)
def test_the_first_ending_counts_and_finishing_twice_changes_nothing(
    tmp_path: Path, call: str, ending: Ending, partial: bool
) -> None:
    flight = Flight(tmp_path)
    manager = flight.begin()
    flight.decide()
    flight.step()
    getattr(manager, call)('because')
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for other in ('stop', 'cancel', 'budget', 'error', 'crash'):
        getattr(manager, other)('again')
    manager.flush()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    episode = load_episode(tmp_path)
    assert (episode.ending, episode.message, episode.partial) == (ending, 'because', partial)
    assert json.loads(before['score.json'])['ending'] == ending.value


def test_an_end_before_the_start_leaves_a_record_and_no_score(tmp_path: Path) -> None:
    flight = Flight(tmp_path)
    flight.manager.ready()
    flight.manager.error('the backend never answered')
    assert flight.manager.state is TaskState.FINISHED and flight.manager.result is None
    assert 'never answered' in (tmp_path / 'episode.jsonl').read_text()
    assert not (tmp_path / 'score.json').exists()


def test_a_step_after_the_end_or_out_of_turn_is_refused() -> None:
    flight = Flight()
    flight.begin()
    with pytest.raises(OceanGymError, match='observation 5 arrived where 1 was due'):
        flight.index = 4
        flight.step()
    flight.manager.stop()
    with pytest.raises(OceanGymError, match='finished'):
        flight.index = 0
        flight.step()


def lines_without_wall(directory: Path) -> list[dict]:
    lines = [json.loads(t) for t in (directory / 'episode.jsonl').read_text().splitlines()]
    for line in lines:
        line.pop('wall')
    return lines


def test_decisions_may_arrive_after_their_steps(tmp_path: Path) -> None:
    for name, late in (('early', False), ('late', True)):
        (tmp_path / name).mkdir()
        flight = Flight(tmp_path / name, lag=True)
        manager = flight.begin()
        for action in (Action.FORWARD, Action.UP):
            decision = Decision(index=flight.index, action=action)
            if not late:
                manager.on_decision(decision)
            flight.step()
            if late:
                assert manager.awaiting_decision
                manager.on_decision(decision)
            assert not manager.awaiting_decision
        stop = Decision(index=flight.index, action=Action.STOP)
        if not late:
            manager.on_decision(stop)
        manager.stop('done')
        if late:
            assert manager.episode_over and manager.state is TaskState.RUNNING
            manager.on_decision(stop)
        assert manager.state is TaskState.FINISHED
    assert lines_without_wall(tmp_path / 'early') == lines_without_wall(tmp_path / 'late')


def test_two_steps_may_wait_for_one_decision(tmp_path: Path) -> None:
    flight = Flight(tmp_path, lag=True)
    manager = flight.begin()
    flight.step()
    flight.step()
    manager.on_decision(Decision(index=1, action=Action.UP))
    assert len(lines_without_wall(tmp_path)) == 1
    manager.on_decision(Decision(index=0, action=Action.DOWN))
    actions = [line['decision']['action'] for line in lines_without_wall(tmp_path)[1:]]
    assert actions == ['down', 'up']


def test_a_flush_writes_what_no_decision_came_for(tmp_path: Path) -> None:
    flight = Flight(tmp_path, lag=True)
    manager = flight.begin()
    flight.step(EndReason.TIME)
    assert manager.awaiting_decision and manager.state is TaskState.RUNNING
    manager.flush()
    assert manager.state is TaskState.FINISHED and not manager.awaiting_decision
    assert [line['kind'] for line in lines_without_wall(tmp_path)] == ['reset', 'step', 'end']


def test_a_crash_waits_for_nobody(tmp_path: Path) -> None:
    flight = Flight(tmp_path, lag=True)
    manager = flight.begin()
    flight.step()
    manager.crash('the agent died with signal 9')
    assert manager.state is TaskState.FINISHED
    assert load_episode(tmp_path).message == 'the agent died with signal 9'


def test_reports_keep_the_observation_they_were_made_on(tmp_path: Path) -> None:
    flight = Flight(tmp_path)
    manager = flight.begin()
    manager.report_find(FindReport(label='OIL PIPELINE', position=TARGET))
    flight.decide()
    flight.step()
    manager.report_find(FindReport(label='OIL PIPELINE', observation_index=0))
    flight.decide(Action.STOP)
    manager.stop()
    lines = lines_without_wall(tmp_path)
    assert [r['observation_index'] for line in lines for r in line['reports']] == [0, 0]
    assert lines[-1]['decision']['action'] == 'stop'


def test_status_counts_simulation_time() -> None:
    flight = Flight()
    manager = flight.begin()
    flight.step()
    status = manager.status()
    assert (status.step, status.elapsed, status.remaining, status.ending) == (1, 30.0, 1770.0, '')
    assert manager.status(now=45.0).elapsed == 45.0
    manager.stop()
    assert manager.status(now=900.0).elapsed == 30.0 and manager.status().ending == 'stop'


def test_in_memory_and_on_disk_score_alike(tmp_path: Path) -> None:
    results = []
    for directory in (None, tmp_path):
        flight = Flight(directory)
        manager = flight.begin()
        manager.report_find(FindReport(label='OIL PIPELINE', position=TARGET))
        flight.decide()
        flight.step()
        manager.stop()
        results.append(manager.result)
    assert results[0] == results[1]
    assert json.loads((tmp_path / 'score.json').read_text()) == results[1]


@pytest.mark.parametrize('actions', ['oceangym', 'extended'])
@pytest.mark.parametrize('said', [True, False])
def test_a_combined_command_ends_a_run_of_the_paper_s_moves(actions: str, said: bool) -> None:
    flight = Flight(options=RunOptions(actions=actions))
    manager = flight.begin()
    if said:
        flight.decide(Action.GO)
    else:
        # A vehicle of somebody else's flew it unasked.
        flight.decide()
        flight.index = 1
        manager.on_step(maneuver_to(1, Action.GO), *flight.observation())
    assert manager.episode_over is (actions == 'oceangym')
    if actions == 'oceangym':
        assert manager.ending is Ending.ERROR and manager.result is not None
        assert manager.result['partial'] and 'actions:=extended' in manager.result['message']
