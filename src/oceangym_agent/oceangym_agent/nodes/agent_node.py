"""Lets an agent drive: one observation in, reports, a decision and a maneuver out, until the end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import sys
from threading import Thread

from oceangym_core.assets import assets_root
from oceangym_core.contract import Action
from oceangym_core.errors import OceanGymError
from oceangym_core.frames import shift_for
from oceangym_core.nodes.conversions import goal_polygon
from oceangym_core.nodes.kit import ContractNode, declare, declare_options, run_node
from oceangym_core.observation import Observation
from oceangym_core.options import RunOptions
from oceangym_core.tasks import resolve_targets, TaskRegistry
from oceangym_core.world import load_world, world_path
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.task import Future

from oceangym_agent.agent import Agent, GoalView, Privilege, Turn
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.nodes.vehicle_client import VehicleClient
from oceangym_msgs.msg import TaskGoal


def goal_view(message: TaskGoal) -> GoalView:
    """Return the goal as an agent sees it."""
    image = message.reference_image
    return GoalView(
        task_id=message.task_id,
        instruction=message.instruction,
        target_label=message.target_label,
        target_description=message.target_description,
        reference_image=assets_root() / image if image else None,
        bounds=goal_polygon(message),
        z_min=message.z_min,
        z_max=message.z_max,
        t_max=message.t_max,
        t_interval=message.t_interval,
        target_count=message.target_count,
    )


def privilege_for(options: RunOptions, world_file: str) -> Privilege:
    """Return what an agent that may use the truth is given."""
    task = TaskRegistry.load(options.config_dirs).get(options.task)
    world = load_world(Path(world_file) if world_file else world_path(task.world))
    return Privilege(
        world=world,
        targets=tuple(world.anchor(target.name) for target in resolve_targets(task, world)),
        shift=shift_for(options.frame, options.seed),
    )


class AgentNode(ContractNode):
    """Wraps one agent."""

    def __init__(self) -> None:
        super().__init__('agent')
        options = declare_options(self)
        world = str(
            declare(self, 'world', '', "World file for agents that may use truth; '': the task's.")
        )
        self._options = options
        self._agent: Agent = make_agent(
            options.agent,
            AgentSettings(
                seed=options.seed, replay=Path(options.replay) if options.replay else None
            ),
        )
        self._privilege = privilege_for(options, world) if self._agent.privileged else None
        self._client = VehicleClient(self, agent=options.agent_name, truth=self._agent.privileged)
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._begun = False

    def work(self) -> float:
        """Start the loop once the node is spinning."""
        if not self._begun:
            self._begun = True
            assert self.executor is not None
            self.executor.create_task(self._live)
        return super().work()

    async def _live(self) -> None:
        """Drive every episode that the task manager starts."""
        client = self._client
        while True:
            await client.until(lambda: client.goal is not None and client.running)
            assert client.goal is not None
            self._agent.begin(goal_view(client.goal), self._privilege)
            await self._drive()
            await client.until(lambda: not client.running)

    async def _drive(self) -> None:
        """Decide on one observation after the other until the episode ends."""
        client = self._client
        index = client.state.step
        while True:
            observation = await client.next_observation(index)
            if observation is None:
                return
            try:
                turn = await self._think(observation)
            except OceanGymError as error:
                self.get_logger().error(f'agent {self._options.agent}: {error}')
                await client.stop('error', str(error))
                return
            for report in turn.reports:
                code, message = await client.report_find(report, index)
                if code:
                    self.get_logger().warning(f'find of {report.label!r} refused: {message}')
            client.publish_decision(turn.decision, turn.reports, observation.stamp)
            if turn.decision.action is Action.STOP:
                await client.stop()
                return
            result = await client.fly(turn.decision.action, turn.decision.magnitude)
            if result.error_code:
                if client.running:
                    self.get_logger().error(f'maneuver refused: {result.error_msg}')
                    await client.stop('error', f'maneuver refused: {result.error_msg}')
                return
            index = result.step

    async def _think(self, observation: Observation) -> Turn:
        """Let the agent decide in a thread, so that this node stays responsive meanwhile."""
        outcome: Future = Future()
        truth = self._client.truth() if self._agent.privileged else None
        status = self._client.status
        started = self._wall.now()

        def decide() -> None:
            try:
                outcome.set_result(self._agent.decide(observation, status, truth))
            except Exception as error:
                # Carried over to the coroutine, which raises it where it is awaited.
                outcome.set_exception(error)
            if self.executor is not None:
                self.executor.wake()

        Thread(target=decide, daemon=True).start()
        turn: Turn = await outcome
        latency = (self._wall.now() - started).nanoseconds * 1e-9
        return with_latency(turn, latency)


def with_latency(turn: Turn, latency_s: float) -> Turn:
    """Return a turn whose decision carries the wall time it took [s]."""
    return replace(turn, decision=replace(turn.decision, latency_s=latency_s))


def main() -> int:
    """Run the node."""
    return run_node(AgentNode)


if __name__ == '__main__':
    sys.exit(main())
