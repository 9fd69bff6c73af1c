"""Lets an agent drive every episode that the task manager starts."""

from __future__ import annotations

import sys

from oceangym_agent.nodes.pilot import build_agent, Pilot, privilege_for
from oceangym_agent.nodes.vehicle_client import VehicleClient
from oceangym_core.nodes.kit import ContractNode, declare, declare_options, run_node


class AgentNode(ContractNode):
    """Wraps one agent."""

    def __init__(self) -> None:
        super().__init__('agent')
        self.breather_s = 0.003
        options = declare_options(self)
        world = str(
            declare(self, 'world', '', "World file for agents that may use truth; '': the task's.")
        )
        agent = build_agent(options.agent, options)
        privilege = privilege_for(options, world) if agent.privileged else None
        self._client = VehicleClient(self, truth=agent.privileged)
        self._pilot = Pilot(
            self, self._client, agent, name=options.agent_name, privilege=privilege
        )
        self._begun = False

    def work(self) -> float:
        """Start the loop once the node is spinning."""
        if not self._begun:
            self._begun = True
            assert self.executor is not None
            self.executor.create_task(self._live)
        return super().work()

    async def _live(self) -> None:
        client = self._client
        while True:
            await client.until(lambda: client.goal is not None and client.running)
            assert client.state is not None
            self._pilot.begin()
            index: int | None = client.state.step
            while index is not None:
                index = await self._pilot.turn(index)
            await client.until(lambda: not client.running)


def main() -> int:
    """Run the node."""
    return run_node(AgentNode)


if __name__ == '__main__':
    sys.exit(main())
