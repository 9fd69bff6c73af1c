"""Lets an agent drive every episode that the task manager starts."""

from __future__ import annotations

from pathlib import Path
import sys

from oceangym_agent.agent import Agent, close_agent
from oceangym_agent.nodes.pilot import build_agent, Pilot, privilege_for
from oceangym_agent.nodes.vehicle_client import VehicleClient
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.node import ContractNode, declare, declare_options, run_node


class AgentNode(ContractNode):
    """Wraps one agent."""

    def __init__(self) -> None:
        super().__init__('agent')
        self.breather_s = 0.003
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
        privilege = privilege_for(options, world) if privileged else None
        self._client = VehicleClient(self, truth=privileged)
        self._pilot = Pilot(
            self,
            self._client,
            self._next_agent,
            name=options.agent_name,
            privilege=privilege,
            folders=[Path(folder) for folder in options.config_dirs],
        )
        self._begun = False

    def _make(self) -> Agent:
        directory, self._directory = self._directory, ''
        return build_agent(
            self._options.agent, self._options, Path(directory) if directory else None
        )

    def _next_agent(self) -> Agent:
        agent, self._first = self._first, None
        return agent if agent is not None else self._make()

    def close(self) -> None:
        """Let the agent go."""
        self._pilot.close()
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
            index: int | None = client.state.step
            try:
                self._pilot.begin()
            except OceanGymError as error:
                await self._pilot.give_up(error)
                index = None
            while index is not None:
                index = await self._pilot.turn(index)
            self._pilot.close()
            await client.until(lambda: not client.running)


def main() -> int:
    """Run the node."""
    return run_node(AgentNode)


if __name__ == '__main__':
    sys.exit(main())
