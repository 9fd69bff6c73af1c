"""The `Vehicle` of an agent loop behind the contract's topics, services and action.

Used by agent_node and teleop_node alike; everything is asynchronous, for coroutines of the executor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
import math
from pathlib import Path
from typing import Any

from nav_msgs.msg import Odometry
import numpy as np
from oceangym_msgs.action import Maneuver
from oceangym_msgs.msg import Capabilities, SonarInfo, TaskGoal, TaskState
from oceangym_msgs.msg import StepTruth as StepTruthMessage
from oceangym_msgs.srv import ReportFind, StopTask
from rclpy.action import ActionClient
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.task import Future
from sensor_msgs.msg import BatteryState, Image, Range

from oceangym_agent.agent import GoalView, StatusView, Turn
from oceangym_agent.assembly import ObservationAssembler
from oceangym_agent.episode_runner import PendingDecision
from oceangym_agent.nodes.conversions import goal_view, image_array, sonar_spec
from oceangym_core.contract.actions import Action, Course, STRAIGHT
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import NavigationState, Observation, SonarSpec, StepTruth
from oceangym_core.contract.topics import camera_streams, DECISION, sonar_streams, stream
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.conversions import (
    decision_message,
    magnitude_field,
    nanoseconds_of,
    point_message,
    pose_of_message,
    seconds_of,
    step_truth_of,
)
from oceangym_core.nodes.node import publish_stream, read_stream

# Streams that show the frozen instant beside the images.
INSTANT_STREAMS = ('odometry', 'altitude', 'battery')


class VehicleClient:
    """The contract seen from an agent.

    Args:
        node: Its node, in the vehicle's namespace.
        truth: Whether this agent is entitled to truth and subscribes to it.
        folders: Where the pictures of goals may lie beside share/oceangym.
    """

    def __init__(self, node: Node, *, truth: bool, folders: Sequence[str] = ()) -> None:
        self._node = node
        self._folders = [Path(folder) for folder in folders]
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._truth_wanted = truth
        self.goal: TaskGoal | None = None
        self.state: TaskState | None = None
        self.capabilities: Capabilities | None = None
        self._assembler: ObservationAssembler | None = None
        self._odometry: Odometry | None = None
        self._altitude = math.inf
        self._battery = math.nan
        self._truth: StepTruthMessage | None = None
        self._geometry: dict[str, SonarSpec] = {}
        self._silent: set[str] = set()
        # Of the last observation, in seconds of its episode.
        self._stamp = 0.0
        self._epoch_ns = 0
        self._expected_ns = 0
        self._waiter: Future | None = None
        self._waiting_for: Callable[[], bool] = bool
        self._decisions = publish_stream(node, DECISION, watched=True)
        # Before any subscription: whoever has sent us a message on one has then discovered these
        # clients too, and its answers arrive. Those to a client not yet discovered are lost.
        self._maneuver = ActionClient(node, Maneuver, 'maneuver')
        self._report = node.create_client(ReportFind, 'task/report_find')
        self._stop = node.create_client(StopTask, 'task/stop')
        read_stream(node, stream('task/goal'), self._on_goal)
        read_stream(node, stream('task/state'), self._on_state)
        read_stream(node, stream('capabilities'), self._on_capabilities)
        if truth:
            read_stream(node, stream('truth/step'), self._on_truth)

    @property
    def running(self) -> bool:
        """Whether an episode runs."""
        return self.state is not None and self.state.state == TaskState.RUNNING

    @property
    def finished(self) -> bool:
        """Whether an episode has ended."""
        return self.state is not None and self.state.state == TaskState.FINISHED

    @property
    def status(self) -> StatusView:
        """Where the episode stands."""
        assert self.state is not None
        return StatusView(elapsed=self.state.elapsed, remaining=self.state.remaining)

    def goal_view(self) -> GoalView:
        """Return the goal as an agent sees it.

        Raises:
            OceanGymError: Its picture lies outside the folders.
        """
        assert self.goal is not None
        return goal_view(self.goal, self._folders)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until what the topics show meets a condition."""
        while not condition():
            self._waiter = Future()
            self._waiting_for = condition
            await self._waiter

    async def next_observation(self, index: int) -> Observation | None:
        """Wait for an observation and for the task manager to have taken it down.

        Returns:
            The observation; None once the episode has ended.
        """
        await self.until(lambda: self.finished or self._is_complete(index))
        if self.finished:
            return None
        assert self._assembler is not None
        observation = self._assembler.observation(
            index=index, navigation=self._navigation(), sonar_geometry=self._geometry
        )
        self._stamp = observation.stamp
        return observation

    def truth(self) -> StepTruth | None:
        """Return the truth of the current observation, for agents that are entitled to it."""
        return None if self._truth is None else step_truth_of(self._truth)

    async def ask(self, decide: Callable[[], Turn]) -> Turn | None:
        """Have an agent decide in a thread, so that the node stays responsive meanwhile.

        The node's `work` looks for the answer (`wake`).

        Returns:
            The answer with the wall time that it took; None if the episode ends before.
        """
        started = self._wall.now()
        pending = PendingDecision(decide, self._wake_executor)
        await self.until(lambda: pending.done() or not self.running)
        if not pending.done():
            return None
        turn = pending.result()
        latency = (self._wall.now() - started).nanoseconds * 1e-9
        return replace(turn, decision=replace(turn.decision, latency_s=latency))

    def _wake_executor(self) -> None:
        if self._node.executor is not None:
            self._node.executor.wake()

    async def report_find(self, report: FindReport, step: int, *, reporter: str) -> bool:
        """Report a find; return whether the task manager understood it."""
        request = ReportFind.Request(
            label=report.label,
            has_position=report.position is not None,
            position=point_message(report.position or (0.0, 0.0, 0.0)),
            sigma=-1.0 if report.sigma is None else report.sigma,
            sensor=report.sensor,
            direction=report.direction,
            step=step if report.observation_index is None else report.observation_index,
            reporter=reporter,
        )
        response = await self._report.call_async(request)
        if response.error_code:
            self._node.get_logger().warning(
                f'find of {report.label!r} refused: {response.error_msg}'
            )
        return not response.error_code

    def publish_decision(self, turn: Turn, *, agent: str) -> None:
        """Publish what was decided on the last observation, before it is carried out."""
        self._decisions.publish(
            decision_message(
                turn.decision,
                agent=agent,
                stamp=self._stamp,
                epoch_ns=self._epoch_ns,
                reports=turn.reports,
            )
        )

    async def maneuver(self, decision: Decision) -> int | None:
        """Fly what was decided; one that is refused ends the episode.

        Returns:
            The index of the next observation; None once the episode has ended.
        """
        result = await self.fly(decision.action, decision.magnitude, decision.course)
        if not result.error_code:
            return int(result.step)
        if self.running:
            await self.stop('error', f'maneuver refused: {result.error_msg}')
        return None

    async def fly(self, action: Action, magnitude: float | None, course: Course = STRAIGHT) -> Any:
        """Have a maneuver carried out and return its result."""
        goal = Maneuver.Goal(
            action=action.value,
            magnitude=magnitude_field(magnitude),
            turn_deg=magnitude_field(course.turn_deg),
            climb_m=magnitude_field(course.climb_m),
            altitude_m=magnitude_field(course.altitude_m),
        )
        handle = await self._maneuver.send_goal_async(goal)
        if not handle.accepted:
            raise OceanGymError('the backend rejected the maneuver; see its log')
        result = (await handle.get_result_async()).result
        if result.error_code == Maneuver.Result.NONE:
            self._expected_ns = nanoseconds_of(result.t_end)
        return result

    async def stop(self, reason: str = 'stop', message: str = '') -> None:
        """End the episode; a message is logged as an error."""
        if message:
            self._node.get_logger().error(message)
        await self._stop.call_async(StopTask.Request(reason=reason, message=message))

    def wake(self) -> None:
        """Look again at what is waited for."""
        waiter = self._waiter
        if waiter is not None and not waiter.done() and self._waiting_for():
            self._waiter = None
            waiter.set_result(None)

    def _is_complete(self, index: int) -> bool:
        if self._assembler is None or not self.running or self._odometry is None:
            return False
        assert self.state is not None
        stamp = self._assembler.complete_at(nanoseconds_of(self._odometry.header.stamp))
        if stamp is None or self.state.step < index:
            return False
        if self._silent or len(self._geometry) < len(self._assembler.sonars):
            return False
        if self._truth_wanted and (self._truth is None or self._truth.step != index):
            return False
        return stamp >= self._expected_ns

    def _navigation(self) -> NavigationState:
        message = self._odometry
        assert message is not None
        pose = pose_of_message(message.pose.pose)
        linear, angular = message.twist.twist.linear, message.twist.twist.angular
        sigma = np.sqrt(np.maximum(np.asarray(message.pose.covariance)[[0, 7, 14]], 0.0))
        return NavigationState(
            stamp=seconds_of(message.header.stamp, self._epoch_ns),
            pose=pose,
            linear_velocity=(linear.x, linear.y, linear.z),
            angular_velocity=(angular.x, angular.y, angular.z),
            position_sigma=(float(sigma[0]), float(sigma[1]), float(sigma[2])),
            depth=-pose.position[2],
            altitude=self._altitude,
            battery=self._battery,
        )

    def _on_goal(self, message: TaskGoal) -> None:
        self.goal = message
        self.wake()

    def _on_state(self, message: TaskState) -> None:
        self.state = message
        epoch_ns = nanoseconds_of(message.epoch)
        if self.running and epoch_ns != self._epoch_ns:
            # A new episode: the task manager has taken down the observation of this time.
            self._epoch_ns = epoch_ns
            self._expected_ns = nanoseconds_of(message.header.stamp)
        self.wake()

    def _on_truth(self, message: StepTruthMessage) -> None:
        self._truth = message
        self.wake()

    def _on_capabilities(self, message: Capabilities) -> None:
        """Subscribe to what the backend has."""
        if self.capabilities is not None:
            self.capabilities = message
            return
        self.capabilities = message
        streams = [name for name in INSTANT_STREAMS if name in message.streams]
        # Nothing is decided on before each of them was heard once.
        self._silent = set(streams)
        # In realtime time runs on between two images: the navigation is then the newest.
        frozen = streams if message.mode == 'lockstep' else []
        self._assembler = ObservationAssembler(
            cameras=message.cameras, sonars=message.sonars, streams=frozen
        )
        for direction in message.cameras:
            self._read_image(camera_streams(direction)[0].name, 'camera', direction)
        for direction in message.sonars:
            polar, fan, info = sonar_streams(direction)
            read_stream(self._node, info, self._on_sonar_info)
            self._read_image(polar.name, 'polar', direction)
            self._read_image(fan.name, 'fan', direction)
        read_stream(self._node, stream('odometry'), self._on_odometry)
        if 'altitude' in streams:
            read_stream(self._node, stream('altitude'), self._on_altitude)
        if 'battery' in streams:
            read_stream(self._node, stream('battery'), self._on_battery)
        self.wake()

    def _read_image(self, topic: str, kind: str, direction: str) -> None:
        def take(message: Image) -> None:
            assert self._assembler is not None
            self._assembler.put(
                kind, direction, nanoseconds_of(message.header.stamp), image_array(message)
            )
            self.wake()

        read_stream(self._node, stream(topic), take)

    def _on_sonar_info(self, message: SonarInfo) -> None:
        spec = sonar_spec(message)
        self._geometry[spec.direction] = spec
        self.wake()

    def _on_odometry(self, message: Odometry) -> None:
        self._odometry = message
        self._note('odometry', message)

    def _on_altitude(self, message: Range) -> None:
        self._altitude = float(message.range)
        self._note('altitude', message)

    def _on_battery(self, message: BatteryState) -> None:
        self._battery = float(message.percentage)
        self._note('battery', message)

    def _note(self, name: str, message: Any) -> None:
        assert self._assembler is not None
        self._silent.discard(name)
        self._assembler.put('stream', name, nanoseconds_of(message.header.stamp))
        self.wake()
