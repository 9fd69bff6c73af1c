"""The action ``maneuver``, the same for every simulated vehicle."""

from __future__ import annotations

from collections.abc import Callable
import math

from geometry_msgs.msg import TwistStamped
from oceangym_msgs.action import Maneuver
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock
from rclpy.node import Node
from rclpy.task import Future

from oceangym_core.contract.actions import Action, Course, EndReason
from oceangym_core.contract.observation import ManeuverResult
from oceangym_core.nodes.conversions import course_of, magnitude_of, stamp_of
from oceangym_sim.requests import check_offered, RefusedError

FEEDBACK_S = 1.0  # of simulation time
_PAUSE_S = 5.0  # between two warnings of a kind


class ManeuverServer:
    """Takes goals; whoever moves the vehicle says how far it has come, and when it has landed.

    Args:
        node: The server's node.
        start: Begins a maneuver, or raises `RefusedError`.
        actions: Name of the set of `ACTION_SETS` that the run allows.
    """

    def __init__(
        self,
        node: Node,
        start: Callable[[Action, float | None, Course], object],
        *,
        actions: str,
    ) -> None:
        self._start = start
        self._actions = actions
        self._goal: ServerGoalHandle | None = None
        self._landed: Future | None = None
        self._next_feedback = -math.inf
        self._server = ActionServer(
            node,
            Maneuver,
            'maneuver',
            self._execute,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )

    @property
    def cancel_requested(self) -> bool:
        """Whether the running maneuver is to end now."""
        return self._goal is not None and self._goal.is_cancel_requested

    def feedback(self, stamp: float, progress: float, applied: float) -> None:
        """Tell how far the running maneuver has come at a time [s], once a second of it."""
        if self._goal is not None and not stamp < self._next_feedback:
            self._next_feedback = stamp + FEEDBACK_S
            self._goal.publish_feedback(Maneuver.Feedback(progress=progress, applied=applied))

    def land(self, result: ManeuverResult, step: int) -> None:
        """End the running maneuver, if any; `step` is the index of the observation after it."""
        if self._landed is not None:
            # Handed over for good: before the result goes out, time may have run on to another end.
            self._landed.set_result((result, step))
            self._goal, self._landed = None, None

    async def _execute(self, handle: ServerGoalHandle) -> Maneuver.Result:
        """Begin one maneuver and wait until it has landed."""
        goal = handle.request
        result = Maneuver.Result()
        if goal.action not in {a.value for a in Action if a is not Action.STOP}:
            allowed = ', '.join(a.value for a in Action if a is not Action.STOP)
            return _refuse(
                handle,
                Maneuver.Result.UNKNOWN_ACTION,
                f'unknown action {goal.action!r}; allowed: {allowed}',
            )
        try:
            action = Action(goal.action)
            check_offered(action, self._actions)
            self._start(
                action,
                magnitude_of(goal.magnitude),
                course_of(goal.turn_deg, goal.climb_m, goal.altitude_m),
            )
        except RefusedError as error:
            return _refuse(handle, getattr(Maneuver.Result, error.code.value), str(error))
        self._goal, self._landed = handle, Future()
        self._next_feedback = -math.inf
        flown: ManeuverResult
        flown, result.step = await self._landed
        result.applied = flown.applied
        result.saturated = flown.saturated
        result.turned_deg = flown.turned_deg or 0.0
        result.climbed_m = flown.climbed_m or 0.0
        result.end_reason = flown.end_reason.value
        result.t_end = stamp_of(flown.t_end)
        if flown.end_reason is EndReason.PREEMPTED:
            result.error_code = Maneuver.Result.PREEMPTED
            result.error_msg = 'cancelled while running'
            handle.canceled()
        else:
            handle.succeed()
        return result


class VelocityReceiver:
    """Hands commands of ``cmd_vel`` on, where they make sense; the rest is told and left out.

    Args:
        node: Which tells.
        clock: Steady; it paces what is told.
        follow: Takes a velocity in the heading frame [m/s] and a yaw rate [rad/s], or raises
            `RefusedError`.
    """

    def __init__(
        self,
        node: Node,
        clock: Clock,
        follow: Callable[[tuple[float, float, float], float], object],
    ) -> None:
        self._node, self._clock, self._follow = node, clock, follow

    def __call__(self, message: TwistStamped) -> None:
        """Take one command."""
        log, pace = self._node.get_logger(), self._clock
        twist = message.twist
        velocity = (twist.linear.x, twist.linear.y, twist.linear.z)
        if not all(math.isfinite(v) for v in (*velocity, twist.angular.z)):
            log.warning(
                f'cmd_vel {velocity} is not finite and is ignored',
                throttle_duration_sec=_PAUSE_S,
                throttle_time_source_type=pace,
            )
            return
        try:
            self._follow(velocity, twist.angular.z)
        except RefusedError as error:
            log.warning(
                f'cmd_vel refused: {error}',
                throttle_duration_sec=_PAUSE_S,
                throttle_time_source_type=pace,
            )


def _refuse(handle: ServerGoalHandle, code: int, message: str) -> Maneuver.Result:
    handle.abort()
    return Maneuver.Result(error_code=code, error_msg=message)
