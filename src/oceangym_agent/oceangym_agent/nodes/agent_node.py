"""Lets an agent drive every episode that the task manager starts."""

from __future__ import annotations

from pathlib import Path
import sys

from oceangym_agent.agent import Agent, close_agent, Privilege
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.episode_runner import EpisodeRunner
from oceangym_agent.nodes.vehicle_client import VehicleClient
from oceangym_core.config.options import RunOptions
from oceangym_core.config.tasks import resolve_targets, TaskRegistry
from oceangym_core.contract.frames import shift_for
from oceangym_core.nodes.node import ContractNode, declare, declare_options, run_node
from oceangym_core.world.world import load_world, world_path


def privilege_for(options: RunOptions, world_file: str) -> Privilege:
    """Return what an agent that may use the truth is given."""
    task = TaskRegistry.load(options.config_dirs).get(options.task)
    world = load_world(Path(world_file) if world_file else world_path(task.world_source))
    return Privilege(
        world=world,
        targets=tuple(world.anchor(target.name) for target in resolve_targets(task, world)),
        shift=shift_for(options.frame, options.resolved_frame_seed),
    )


class AgentNode(ContractNode):
    """Wraps one agent."""

    def __init__(self) -> None:
        super().__init__('agent')
        self.min_period_s = 0.003
        options = declare_options(self)
        world = str(
            declare(self, 'world', '', "World file for agents that may use truth; '': the task's.")
        )
        self._options = options
        self._directory = str(
            declare(self, 'run_directory', '', "Of the first episode's record; '': none is kept.")
        )
        # Built at once, so that what it lacks is said before anybody waits for it.
        self._first: Agent | None = self._make()
        privileged = self._first.privileged
        self._client = VehicleClient(self, truth=privileged, folders=options.config_dirs)
        self._runner = EpisodeRunner(
            self._client,
            self._next_agent,
            name=options.agent_name,
            privilege=privilege_for(options, world) if privileged else None,
        )
        self._begun = False

    def _make(self) -> Agent:
        directory, self._directory = self._directory, ''
        settings = AgentSettings(
            options=self._options, directory=Path(directory) if directory else None
        )
        return make_agent(self._options.agent, settings)

    def _next_agent(self) -> Agent:
        agent, self._first = self._first, None
        return agent if agent is not None else self._make()

    def close(self) -> None:
        """Let the agent go."""
        self._runner.close()
        if self._first is not None:
            close_agent(self._first)

    def work(self) -> float:
        """Start the loop once the node is spinning."""
        if not self._begun:
            self._begun = True
            assert self.executor is not None
            self.executor.create_task(self._live)
        self._client.wake()
        return super().work()

    async def _live(self) -> None:
        client = self._client
        while True:
            await client.until(lambda: client.goal is not None and client.running)
            assert client.state is not None
            await self._runner.run(client.state.step)
            self._runner.close()
            await client.until(lambda: not client.running)


def main() -> int:
    """Run the node."""
    return run_node(AgentNode)


if __name__ == '__main__':
    sys.exit(main())
