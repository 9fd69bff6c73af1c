"""A person at the keyboard: every key a maneuver (lockstep) or a velocity (realtime)."""

from __future__ import annotations

import os
import select
import sys
import termios
from threading import Thread
import tty

from geometry_msgs.msg import TwistStamped
from rclpy.task import Future

from oceangym_agent.agent import Turn
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.episode_runner import EpisodeRunner
from oceangym_agent.keyboard import Command, HELP, interpret, velocity_of
from oceangym_agent.nodes.vehicle_client import VehicleClient
from oceangym_core.config.options import AGENTS, MODEL_AGENTS
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.topics import stream
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.nodes.conversions import vector_message
from oceangym_core.nodes.node import (
    ContractNode,
    declare,
    declare_options,
    publish_stream,
    run_node,
)

# Whoever can take over from a person: the rest either is one or knows too much.
SUCCESSORS = tuple(
    a for a in AGENTS if a not in ('teleop', 'none', 'replay', 'oracle', *MODEL_AGENTS)
)
_POLL_S = 0.1


class Keys:
    """Single key presses from a terminal; Ctrl-C still interrupts.

    Raises:
        OceanGymError: Standard input is no terminal.
    """

    def __init__(self) -> None:
        if not sys.stdin.isatty():
            raise OceanGymError('teleop reads keys: run it in a terminal')
        self._fd = sys.stdin.fileno()
        self._saved = termios.tcgetattr(self._fd)
        tty.setcbreak(self._fd)
        self._open = True

    def read(self) -> str:
        """Return the next key; empty once closed or at the end of the input."""
        while self._open:
            if select.select([self._fd], [], [], _POLL_S)[0]:
                return os.read(self._fd, 1).decode('ascii', 'replace')
        return ''

    def close(self) -> None:
        """Give the terminal back as it was."""
        if self._open:
            self._open = False
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._saved)


class TeleopNode(ContractNode):
    """Wraps the keyboard, and the agent that a person may hand over to."""

    def __init__(self) -> None:
        super().__init__('agent')
        self._options = declare_options(self)
        declare(self, 'world', '', 'World file; not used here.')
        declare(self, 'run_directory', '', 'Of the record; not used here.')
        successor = str(declare(self, 'hand_over_to', 'survey', 'Agent that m hands over to.'))
        if successor not in SUCCESSORS:
            raise unknown_name('hand_over_to', successor, SUCCESSORS)
        options = self._options
        self._client = VehicleClient(self, truth=False, folders=options.config_dirs)
        self._velocity = publish_stream(self, stream('cmd_vel'))
        self._runner = EpisodeRunner(
            self._client,
            lambda: make_agent(successor, AgentSettings(options=options)),
            name=successor,
        )
        self._successor = successor
        self._handed_over = False
        self._queue: list[str] = []
        self._key: Future | None = None
        self._keys = Keys()
        self._begun = False

    def work(self) -> float:
        """Start the loop and the reader of keys once the node is spinning."""
        if not self._begun:
            self._begun = True
            assert self.executor is not None
            self.executor.create_task(self._live)
            Thread(target=self._read_keys, daemon=True).start()
        self._deliver()
        self._client.wake()
        return super().work()

    def close(self) -> None:
        """Give the terminal back."""
        self._keys.close()
        self._runner.close()

    # -- keys -------------------------------------------------------------------------------------

    def _read_keys(self) -> None:
        while key := self._keys.read():
            self._queue.append(key)
            if self.executor is not None:
                self.executor.wake()

    def _deliver(self) -> None:
        if self._key is not None and self._queue:
            waiter, self._key = self._key, None
            waiter.set_result(self._queue.pop(0))

    async def _next_key(self) -> str:
        waiter = self._key = Future()
        self._deliver()
        key: str = await waiter
        return key

    # -- driving ----------------------------------------------------------------------------------

    async def _live(self) -> None:
        client = self._client
        _say(HELP)
        _say('waiting for the episode ...')
        while True:
            await client.until(lambda: client.goal is not None and client.running)
            assert client.goal is not None
            assert client.state is not None
            _say(f'task: {client.goal.instruction}')
            if await self._runner.begin():
                await self._drive(client.state.step)
            await client.until(lambda: not client.running)
            _say('the episode has ended')

    async def _drive(self, index: int | None) -> None:
        while index is not None:
            if self._handed_over:
                if self._asked_back():
                    continue
                index = await self._runner.turn(index)
                continue
            observation = await self._client.next_observation(index)
            if observation is None:
                return
            x, y, z = observation.navigation.pose.position
            status = self._client.status
            _say(
                f'[{index}] x {x:.1f} y {y:.1f} z {z:.1f} m, {status.remaining:.0f} s left: ready'
            )
            index = await self._obey(await self._next_key(), index)

    def _asked_back(self) -> bool:
        """Whether a key takes the vehicle back from the agent."""
        while self._queue:
            key = self._queue.pop(0)
            if interpret(key) is Command.HAND_OVER:
                self._handed_over = False
                _say('you have the vehicle')
                return True
            if interpret(key) is Command.QUIT:
                self._handed_over = False
                self._queue.insert(0, key)
                return True
        return False

    async def _obey(self, key: str, index: int) -> int | None:
        """Do what a key means; return the index of the next observation, None at the end."""
        meaning = interpret(key)
        if isinstance(meaning, Action):
            return await self._move(meaning, index)
        if meaning is Command.QUIT:
            self._decide(Action.STOP, index)
            await self._client.stop()
            _say('ended')
            return None
        if meaning is Command.REPORT:
            await self._report(index)
        elif meaning is Command.HAND_OVER:
            self._handed_over = True
            _say(f'{self._successor} has the vehicle; m takes it back, q ends')
        else:
            _say(HELP if meaning is Command.HELP else f'{key!r} has no meaning; ? shows the keys')
        return index

    async def _move(self, action: Action, index: int) -> int | None:
        if self._options.mode == 'realtime':
            self._publish_velocity(action)
            return index
        self._decide(action, index)
        result = await self._client.fly(action, None)
        if result.error_code:
            _say(f'refused: {result.error_msg}')
            return index if self._client.running else None
        _say(f'{action.value}: {result.applied:.1f} flown')
        return int(result.step)

    def _decide(self, action: Action, index: int) -> None:
        turn = Turn(decision=Decision(index=index, action=action))
        self._client.publish_decision(turn, agent=self._options.agent_name)

    async def _report(self, index: int) -> None:
        assert self._client.goal is not None
        label = self._client.goal.target_label
        if await self._client.report_find(
            FindReport(label=label), index, reporter=self._options.agent_name
        ):
            _say(f'{label} reported found here')

    def _publish_velocity(self, action: Action) -> None:
        velocity = velocity_of(action)
        message = TwistStamped()
        message.header.stamp = self.get_clock().now().to_msg()
        message.header.frame_id = 'base_link'
        message.twist.linear = vector_message((velocity.surge, velocity.sway, velocity.heave))
        message.twist.angular.z = velocity.yaw
        self._velocity.publish(message)


def _say(text: str) -> None:
    print(text, flush=True)


def main() -> int:
    """Run the node."""
    return run_node(TeleopNode)


if __name__ == '__main__':
    sys.exit(main())
