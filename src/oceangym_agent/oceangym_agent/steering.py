"""From waypoints to maneuvers."""

from __future__ import annotations

from collections.abc import Sequence
import math

from oceangym_core.contract.actions import Action
from oceangym_core.geometry import Pose, wrap_angle


def steer(
    pose: Pose, waypoint: Sequence[float], *, tolerance: float, reach: float
) -> tuple[Action, float] | None:
    """Return the next maneuver towards a waypoint: height first, then heading, then ahead.

    Args:
        pose: base_link in a frame with z up.
        waypoint: x, y, z [m] in the same frame.
        tolerance: Miss distance that is good enough, horizontally and vertically [m].
        reach: Longest translation of one maneuver [m].

    Returns:
        The action and its magnitude [m or deg], or None on arrival.
    """
    x, y, z = pose.position
    rise = waypoint[2] - z
    if abs(rise) > tolerance:
        return (Action.UP if rise > 0 else Action.DOWN), min(abs(rise), reach)
    east, north = waypoint[0] - x, waypoint[1] - y
    distance = math.hypot(east, north)
    if distance <= tolerance:
        return None
    turn = wrap_angle(math.atan2(north, east) - pose.yaw)
    step = min(distance, reach)
    if abs(turn) > math.pi / 2 or abs(math.sin(turn)) * step > tolerance / 2:
        action = Action.ROTATE_LEFT if turn > 0 else Action.ROTATE_RIGHT
        return action, math.degrees(abs(turn))
    return Action.FORWARD, step
