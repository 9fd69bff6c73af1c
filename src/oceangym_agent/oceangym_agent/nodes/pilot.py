"""Lets an agent answer observations: reports, decision and maneuver, one turn after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread

from oceangym_msgs.msg import TaskGoal
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node

from oceangym_agent.agent import Agent, close_agent, ending_message, GoalView, Privilege, Turn
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.chat import BudgetExhausted, NoReply
from oceangym_agent.nodes.vehicle_client import VehicleClient
from oceangym_core.assets import assets_root
from oceangym_core.config.options import RunOptions
from oceangym_core.config.tasks import resolve_targets, TaskRegistry
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision
from oceangym_core.contract.frames import shift_for
from oceangym_core.contract.observation import Observation
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.conversions import goal_polygon
from oceangym_core.world.world import load_world, world_path


def goal_view(message: TaskGoal, folders: Sequence[Path] = ()) -> GoalView:
    """Return the goal as an agent sees it.

    Args:
        message: The goal.
        folders: Where the goal's picture may lie beside share/oceangym.

    Raises:
        OceanGymError: The picture lies elsewhere: a message must not make an agent read any file.
    """
    return GoalView(
        task_id=message.task_id,
        instruction=message.instruction,
        target_label=message.target_label,
        target_description=message.target_description,
        reference_image=_reference_image(message.reference_image, folders),
        bounds=goal_polygon(message),
        z_min=message.z_min,
        z_max=message.z_max,
        t_max=message.t_max,
        t_interval=message.t_interval,
        target_count=message.target_count,
        mission_order=message.mission_order,
        search_area=tuple((float(p.x), float(p.y)) for p in message.search_area),
        sight_m=message.sight,
    )


def _reference_image(name: str, folders: Sequence[Path]) -> Path | None:
    if not name:
        return None
    roots = [folder.resolve() for folder in (assets_root(), *folders)]
    path = (roots[0] / name).resolve()
    if not any(path.is_relative_to(root) for root in roots):
        raise OceanGymError(
            f'reference_image {name!r} of the goal is outside {", ".join(map(str, roots))}; for a '
            'task of your own, give config:= to the agent too'
        )
    return path


def privilege_for(options: RunOptions, world_file: str) -> Privilege:
    """Return what an agent that may use the truth is given."""
    task = TaskRegistry.load(options.config_dirs).get(options.task)
    world = load_world(Path(world_file) if world_file else world_path(task.world_source))
    return Privilege(
        world=world,
        targets=tuple(world.anchor(target.name) for target in resolve_targets(task, world)),
        shift=shift_for(options.frame, options.resolved_frame_seed),
    )


def build_agent(name: str, options: RunOptions, directory: Path | None = None) -> Agent:
    """Return a new agent of a name for a run; `directory` is where it records, if anywhere."""
    return make_agent(name, AgentSettings(options=options, directory=directory))


@dataclass
class _Thought:
    """What a thread that decides brings back."""

    turn: Turn | None = None
    error: Exception | None = None

    @property
    def done(self) -> bool:
        return self.turn is not None or self.error is not None


class Pilot:
    """One agent at the controls.

    Args:
        node: Whose log is used.
        client: The contract seen from the agent.
        build: Makes the agent of an episode.
        name: To publish decisions under.
        privilege: What an agent that uses truth is given.
        folders: Where the pictures of goals may lie beside share/oceangym.
    """

    def __init__(
        self,
        node: Node,
        client: VehicleClient,
        build: Callable[[], Agent],
        *,
        name: str,
        privilege: Privilege | None = None,
        folders: Sequence[Path] = (),
    ) -> None:
        self._node = node
        self._client = client
        self._build = build
        self._agent: Agent | None = None
        self._name = name
        self._privilege = privilege
        self._folders = tuple(folders)
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)

    def begin(self) -> None:
        """Tell a new agent the goal.

        Each episode has its own: one that an ended episode left in the middle of a call may still
        be thinking.
        """
        assert self._client.goal is not None
        self.close()
        self._agent = self._build()
        self._agent.begin(goal_view(self._client.goal, self._folders), self._privilege)

    def close(self) -> None:
        """Let the agent go; a decision that it is still thinking about is dropped."""
        if self._agent is not None:
            close_agent(self._agent)
            self._agent = None

    async def turn(self, index: int) -> int | None:
        """Answer one observation.

        Returns:
            The index of the next one; None once the episode has ended.
        """
        client = self._client
        observation = await client.next_observation(index)
        if observation is None:
            return None
        try:
            turn = await self._think(observation)
        except OceanGymError as error:
            if isinstance(error, NoReply) and error.decision is not None:
                # What it cost belongs to the record, although nothing came of it.
                client.publish_decision(error.decision, agent=self._name, stamp=observation.stamp)
            await self.give_up(error)
            return None
        if turn is None:
            return None
        for report in turn.reports:
            code, message = await client.report_find(report, index, reporter=self._name)
            if code:
                self._node.get_logger().warning(f'find of {report.label!r} refused: {message}')
        client.publish_decision(
            turn.decision, agent=self._name, reports=turn.reports, stamp=observation.stamp
        )
        if turn.decision.action is Action.STOP:
            await client.stop()
            return None
        return await self._fly(turn.decision)

    async def give_up(self, error: OceanGymError) -> None:
        """End the episode because the agent cannot go on; its record says why."""
        message = ending_message(self._name, error)
        self._node.get_logger().error(message)
        budget = isinstance(error, BudgetExhausted)
        await self._client.stop('budget' if budget else 'error', message)

    async def _fly(self, decision: Decision) -> int | None:
        client = self._client
        result = await client.fly(decision.action, decision.magnitude, decision.course)
        if result.error_code and client.running:
            self._node.get_logger().error(f'maneuver refused: {result.error_msg}')
            await client.stop('error', f'maneuver refused: {result.error_msg}')
        return None if result.error_code else int(result.step)

    async def _think(self, observation: Observation) -> Turn | None:
        """Let the agent decide in a thread, so that the node stays responsive meanwhile.

        The node's `work` looks for the answer (`VehicleClient.wake`).

        Returns:
            None if the episode has ended before there was an answer.
        """
        agent, thought = self._agent, _Thought()
        assert agent is not None
        truth = self._client.truth() if agent.privileged else None
        status = self._client.status
        started = self._wall.now()

        def decide() -> None:
            try:
                thought.turn = agent.decide(observation, status, truth)
            except Exception as error:
                # Carried over to the coroutine, which raises it.
                thought.error = error
            if self._node.executor is not None:
                self._node.executor.wake()

        Thread(target=decide, daemon=True).start()
        await self._client.until(lambda: thought.done or not self._client.running)
        if thought.error is not None:
            raise thought.error
        if thought.turn is None:
            return None
        latency = (self._wall.now() - started).nanoseconds * 1e-9
        return replace(thought.turn, decision=replace(thought.turn.decision, latency_s=latency))
