"""The rules of the agent loop, whatever it drives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.chat import BudgetExhausted, ModelUnavailable
from oceangym_agent.episode_runner import EpisodeRunner, PendingDecision, run_blocking
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import NavigationState, Observation, StepTruth
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose

GOAL = GoalView(
    task_id='dock',
    instruction='Dock.',
    target_label='PLATFORM',
    target_description='',
    reference_image=None,
    bounds=((0.0, 0.0), (1.0, 0.0), (1.0, 1.0)),
    z_min=-100.0,
    z_max=0.0,
    t_max=90.0,
    t_interval=30.0,
    target_count=1,
)
POSE = Pose.of((0.0, 0.0, -50.0), (0.0, 0.0, 0.0, 1.0))
TRUTH: Any = object()
PRIVILEGE: Any = object()


def observation(index: int) -> Observation:
    navigation = NavigationState(
        stamp=30.0 * index,
        pose=POSE,
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.1, 0.1, 0.1),
        depth=50.0,
        altitude=10.0,
        battery=1.0,
    )
    return Observation(index=index, stamp=30.0 * index, navigation=navigation)


class Recorded:
    """A vehicle that notes what it is asked for; its third observation is the last one."""

    def __init__(self, ends_while_deciding: bool = False) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.running = True
        self.step = 0
        self.status = StatusView(elapsed=0.0, remaining=90.0)
        self._ends_while_deciding = ends_while_deciding

    def goal_view(self) -> GoalView:
        return GOAL

    async def next_observation(self, index: int) -> Observation | None:
        assert index == self.step
        return observation(index) if self.running else None

    def truth(self) -> StepTruth | None:
        return TRUTH

    async def ask(self, decide: Callable[[], Turn]) -> Turn | None:
        self.running = not self._ends_while_deciding
        return decide()

    async def report_find(self, report: FindReport, step: int, *, reporter: str) -> bool:
        self.calls.append(('report', report.label, step, reporter))
        return False

    def publish_decision(self, turn: Turn, *, agent: str) -> None:
        labels = [report.label for report in turn.reports]
        self.calls.append(('decision', turn.decision.action, agent, labels))

    async def maneuver(self, decision: Decision) -> int | None:
        self.calls.append(('maneuver', decision.action))
        self.step += 1
        self.running = self.step < 2
        return self.step

    async def stop(self, reason: str = 'stop', message: str = '') -> None:
        self.calls.append(('stop', reason, message))
        self.running = False


class Scripted:
    """An agent that gives one answer after the other, or raises it."""

    def __init__(self, *answers: Turn | Exception, privileged: bool = False) -> None:
        self.privileged = privileged
        self.closed = False
        self.given: list[Any] = []
        self._answers = iter(answers)

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        assert goal is GOAL
        self.given.append(privilege)

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        self.given.append(truth)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def close(self) -> None:
        self.closed = True


def turn(action: Action, *labels: str) -> Turn:
    reports = tuple(FindReport(label=label) for label in labels)
    return Turn(decision=Decision(index=0, action=action), reports=reports)


def fly(vehicle: Recorded, agent: Scripted) -> EpisodeRunner:
    runner = EpisodeRunner(vehicle, lambda: agent, name='pat', privilege=PRIVILEGE)
    run_blocking(runner.run())
    return runner


def test_reports_come_before_their_decision_and_it_before_its_maneuver() -> None:
    vehicle = Recorded()
    runner = fly(vehicle, Scripted(turn(Action.FORWARD, 'A', 'B'), turn(Action.LEFT)))
    # A refused report does not hold the decision up; the third observation is not asked about.
    assert vehicle.calls == [
        ('report', 'A', 0, 'pat'),
        ('report', 'B', 0, 'pat'),
        ('decision', Action.FORWARD, 'pat', ['A', 'B']),
        ('maneuver', Action.FORWARD),
        ('decision', Action.LEFT, 'pat', []),
        ('maneuver', Action.LEFT),
    ]
    assert runner.error is None


def test_stop_is_decided_and_not_flown() -> None:
    vehicle = Recorded()
    fly(vehicle, Scripted(turn(Action.STOP, 'A')))
    assert vehicle.calls == [
        ('report', 'A', 0, 'pat'),
        ('decision', Action.STOP, 'pat', ['A']),
        ('stop', 'stop', ''),
    ]


@pytest.mark.parametrize('answer', [turn(Action.FORWARD, 'A'), ModelUnavailable('down')])
def test_an_answer_after_the_end_of_its_episode_is_dropped(answer: Turn | Exception) -> None:
    vehicle = Recorded(ends_while_deciding=True)
    assert fly(vehicle, Scripted(answer)).error is None
    assert vehicle.calls == []


def paid(error: ModelUnavailable | BudgetExhausted) -> Exception:
    error.decision = Decision(index=0, action=Action.HOLD, tokens_in=7)
    return error


SPENT = ('decision', Action.HOLD, 'pat', [])


@pytest.mark.parametrize(
    ('error', 'calls'),
    [
        (ModelUnavailable('down'), [('stop', 'error', 'agent pat: down')]),
        (paid(ModelUnavailable('down')), [SPENT, ('stop', 'error', 'agent pat: down')]),
        (paid(BudgetExhausted('5 USD')), [SPENT, ('stop', 'budget', 'agent pat: 5 USD')]),
        (OceanGymError('no route'), [('stop', 'error', 'agent pat: no route')]),
    ],
)
def test_an_agent_that_cannot_go_on_ends_the_episode(
    error: Exception, calls: list[tuple[Any, ...]]
) -> None:
    vehicle = Recorded()
    assert fly(vehicle, Scripted(error)).error is error
    assert vehicle.calls == calls


def test_an_agent_that_cannot_begin_ends_the_episode() -> None:
    vehicle = Recorded()

    def make_agent() -> Scripted:
        raise OceanGymError('no key')

    runner = EpisodeRunner(vehicle, make_agent, name='pat')
    run_blocking(runner.run())
    assert vehicle.calls == [('stop', 'error', 'agent pat: no key')]


def test_a_mistake_in_an_agents_code_is_raised() -> None:
    vehicle = Recorded()
    with pytest.raises(ZeroDivisionError):
        fly(vehicle, Scripted(ZeroDivisionError()))
    assert vehicle.calls == []


@pytest.mark.parametrize('privileged', [False, True])
def test_truth_and_world_are_given_to_privileged_agents_only(privileged: bool) -> None:
    agent = Scripted(turn(Action.STOP), privileged=privileged)
    fly(Recorded(), agent)
    assert agent.given == ([PRIVILEGE, TRUTH] if privileged else [None, None])


def test_every_episode_has_an_agent_of_its_own() -> None:
    agents = [Scripted(ModelUnavailable('down')), Scripted(turn(Action.STOP))]
    waiting = iter(agents)
    vehicle = Recorded()
    runner = EpisodeRunner(vehicle, lambda: next(waiting), name='pat')
    run_blocking(runner.run())
    vehicle.running = True
    run_blocking(runner.run(vehicle.step))
    assert runner.error is None
    assert [agent.closed for agent in agents] == [True, False]
    runner.close()
    assert agents[1].closed


def test_a_pending_decision_brings_its_answer_or_its_error_from_its_thread() -> None:
    asked, done = Event(), Event()
    answer = turn(Action.FORWARD)

    def decide() -> Turn:
        asked.wait()
        return answer

    pending = PendingDecision(decide, done.set)
    assert not pending.done()
    asked.set()
    done.wait()
    assert pending.result(timeout=0) is answer

    def fail() -> Turn:
        raise ZeroDivisionError

    done.clear()
    pending = PendingDecision(fail, done.set)
    done.wait()
    with pytest.raises(ZeroDivisionError):
        pending.result(timeout=0)


def test_a_vehicle_that_has_to_wait_needs_an_executor() -> None:
    class Later:
        def __await__(self) -> Iterator[None]:
            yield

    async def wait() -> None:
        await Later()

    with pytest.raises(RuntimeError, match='at once'):
        run_blocking(wait())
