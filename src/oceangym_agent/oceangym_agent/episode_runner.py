"""The agent loop: asks an agent, files its reports, sends its decision, flies its maneuver.

The same loop drives a vehicle behind ROS topics and a simulator in the same process; both are a
`Vehicle` to it. It is a coroutine, so that a node goes on serving its callbacks meanwhile; over a
vehicle whose methods block, `run_blocking` runs it like any function.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from threading import Thread
from typing import Any, Protocol

from oceangym_agent.agent import Agent, close_agent, GoalView, Privilege, StatusView, Turn
from oceangym_agent.chat import BudgetExhausted, NoReply
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.errors import OceanGymError


class Vehicle(Protocol):
    """What the agent loop needs of a vehicle and of the task manager that keeps its record."""

    @property
    def running(self) -> bool:
        """Whether an episode runs."""

    @property
    def status(self) -> StatusView:
        """Where the episode stands."""

    def goal_view(self) -> GoalView:
        """Return the goal as an agent sees it."""

    def truth(self) -> StepTruth | None:
        """Return the truth of the current observation, for agents that are entitled to it."""

    async def next_observation(self, index: int) -> Observation | None:
        """Wait for an observation; return None once the episode has ended."""

    async def ask(self, decide: Callable[[], Turn]) -> Turn | None:
        """Have an agent decide; return None if the episode ends before there is an answer."""

    async def report_find(self, report: FindReport, step: int, *, reporter: str) -> bool:
        """Report a find on an observation; return whether it was understood."""

    def publish_decision(self, turn: Turn, *, agent: str) -> None:
        """Put the decision on the current observation on record, before it is carried out."""

    async def maneuver(self, decision: Decision) -> int | None:
        """Fly what was decided; return the index of the next observation, None at the end."""

    async def stop(self, reason: str = 'stop', message: str = '') -> None:
        """End the episode by ``stop``, ``error`` or ``budget``."""


class PendingDecision(Future[Turn]):
    """A decision that an agent makes in a thread of its own.

    Args:
        decide: Asks the agent.
        on_done: Called from that thread once it has answered or failed.
    """

    def __init__(self, decide: Callable[[], Turn], on_done: Callable[[], None]) -> None:
        super().__init__()
        self.add_done_callback(lambda _: on_done())
        Thread(target=self._run, args=(decide,), daemon=True).start()

    def _run(self, decide: Callable[[], Turn]) -> None:
        try:
            self.set_result(decide())
        except Exception as error:
            self.set_exception(error)


class EpisodeRunner:
    """Lets agents drive episodes, one after the other.

    Args:
        vehicle: What they drive.
        make_agent: Makes the agent of an episode. Each has its own: one that an ended episode left
            in the middle of a call may still be deciding.
        name: To sign decisions and reports with.
        privilege: What an agent that may use the truth is given.

    Attributes:
        error: What the agent could not go on for; None where it could.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        make_agent: Callable[[], Agent],
        *,
        name: str,
        privilege: Privilege | None = None,
    ) -> None:
        self._vehicle = vehicle
        self._make_agent = make_agent
        self._name = name
        self._privilege = privilege
        self._agent: Agent | None = None
        self.error: OceanGymError | None = None

    async def run(self, index: int = 0) -> None:
        """Drive the episode that runs, from its current observation to its end."""
        following = index if await self.begin() else None
        while following is not None:
            following = await self.turn(following)

    async def begin(self) -> bool:
        """Tell a new agent the goal; an agent that cannot begin ends the episode."""
        self.close()
        self.error = None
        try:
            self._agent = agent = self._make_agent()
            privilege = self._privilege if agent.privileged else None
            agent.begin(self._vehicle.goal_view(), privilege)
        except OceanGymError as error:
            await self._give_up(error)
        return self.error is None

    async def turn(self, index: int) -> int | None:
        """Answer one observation.

        Returns:
            The index of the next one; None once the episode has ended.
        """
        vehicle = self._vehicle
        observation = await vehicle.next_observation(index)
        if observation is None:
            return None
        try:
            turn = await self._ask(observation)
        except OceanGymError as error:
            if vehicle.running:
                await self._give_up(error)
            return None
        if turn is None or not vehicle.running:
            return None
        for report in turn.reports:
            await vehicle.report_find(report, index, reporter=self._name)
        vehicle.publish_decision(turn, agent=self._name)
        if turn.decision.action is Action.STOP:
            await vehicle.stop()
            return None
        return await vehicle.maneuver(turn.decision)

    def close(self) -> None:
        """Let the agent go; a decision that it is still making is dropped."""
        if self._agent is not None:
            close_agent(self._agent)
            self._agent = None

    async def _ask(self, observation: Observation) -> Turn | None:
        agent = self._agent
        assert agent is not None
        status = self._vehicle.status
        truth = self._vehicle.truth() if agent.privileged else None
        return await self._vehicle.ask(lambda: agent.decide(observation, status, truth))

    async def _give_up(self, error: OceanGymError) -> None:
        """End the episode because the agent cannot go on; its record says why."""
        self.error = error
        if isinstance(error, NoReply) and error.decision is not None:
            # What it cost belongs to the record, although nothing came of it.
            self._vehicle.publish_decision(Turn(decision=error.decision), agent=self._name)
        reason = 'budget' if isinstance(error, BudgetExhausted) else 'error'
        await self._vehicle.stop(reason, f'agent {self._name}: {error}')


def run_blocking(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine over a vehicle whose methods block.

    Raises:
        RuntimeError: It waits for something that only an executor could bring.
    """
    try:
        coroutine.send(None)
    except StopIteration:
        return
    coroutine.close()
    raise RuntimeError('a vehicle in the same process must answer at once')
