"""Goal and vehicle state as templates see them: rounded, with units in their names."""

from __future__ import annotations

import math
from typing import Any

from oceangym_agent.agent import GoalView, StatusView
from oceangym_agent.memory.coverage import distance_to_bounds
from oceangym_agent.memory.tokens import one_line
from oceangym_agent.memory.window import vector_text
from oceangym_core.contract.actions import DEFAULT_ROTATION_DEG, DEFAULT_TRANSLATION_M
from oceangym_core.contract.observation import NavigationState

# Cruise speeds [m/s], and what speeding up, slowing down and settling take of an interval [s]. In 30 s
# the vehicle of the simulators makes 20.7 m ahead and back, 20.2 m up, 18.7 m down, 17.2 m sideways,
# and 15.5 m ahead after a turn of 90 deg; what exceeds its reach is cut and told.
CRUISE_M_S = 0.76
SIDEWAYS_M_S = 0.64
LOST_S = 3.5
TURN_90_S = 6.7
# Charge below which a model is told of the battery.
LOW_BATTERY = 0.3


def reach_m(goal: GoalView, *, cruise: float = CRUISE_M_S, turn_s: float = 0.0) -> float:
    """Return about how far a vehicle gets in one maneuver [m].

    Args:
        goal: For the interval.
        cruise: Of the kind of move [m/s].
        turn_s: That a turn before it takes [s].
    """
    # Of a few seconds next to nothing is left.
    left = goal.t_interval - turn_s
    return round(cruise * max(left - LOST_S, left / 5, 0.0), 1)


def _about(length: float) -> str:
    return f'{length:.{0 if length >= 10 else 1}f}'


def goal_context(goal: GoalView) -> dict[str, Any]:
    """Return the goal for templates."""
    return {
        'task': goal.task_id,
        'instruction': one_line(goal.instruction),
        'target': goal.target_label,
        'description': one_line(goal.target_description),
        'targets': goal.target_count,
        'corners': ', '.join(f'[{_number(x)}, {_number(y)}]' for x, y in goal.bounds),
        'mission_order': one_line(goal.mission_order),
        'search_area': ', '.join(f'[{_number(x)}, {_number(y)}]' for x, y in goal.search_area),
        'z_min': _number(goal.z_min),
        'z_max': _number(goal.z_max),
        'duration_s': round(goal.t_max),
        'interval_s': round(goal.t_interval),
        'decisions': math.ceil(goal.t_max / goal.t_interval - 1e-9),
        'reach_m': _about(reach_m(goal)),
        'reach_sideways_m': _about(reach_m(goal, cruise=SIDEWAYS_M_S)),
        'reach_after_90_m': _about(reach_m(goal, turn_s=TURN_90_S)),
        'default_m': round(DEFAULT_TRANSLATION_M),
        'default_deg': round(DEFAULT_ROTATION_DEG),
    }


def state_context(
    index: int, navigation: NavigationState, status: StatusView, goal: GoalView
) -> dict[str, Any]:
    """Return the vehicle's state for templates; all coordinates in odom."""
    pose = navigation.pose
    x, y, z = pose.position
    edges = {
        name: distance_to_bounds(goal.bounds, pose.position, pose.yaw + math.radians(bearing))
        for name, bearing in (('ahead', 0), ('left', 90), ('behind', 180), ('right', -90))
    }
    inside = all(math.isfinite(distance) for distance in edges.values())
    return {
        'step': index,
        'time_s': round(status.elapsed),
        'time_left_s': max(0, round(status.remaining)),
        'decisions_left': max(0, math.ceil(status.remaining / goal.t_interval - 1e-9)),
        'position': vector_text(pose.position),
        'x': _number(x),
        'y': _number(y),
        'z': _number(z),
        'heading': _number(math.degrees(pose.yaw)),
        'depth_m': _number(navigation.depth),
        'altitude_m': _number(navigation.altitude) if math.isfinite(navigation.altitude) else '',
        'speed_m_s': f'{math.hypot(*navigation.linear_velocity):.2f}',
        # Said only where it matters; a vehicle may not measure it.
        'battery_percent': (
            round(100 * navigation.battery) if navigation.battery < LOW_BATTERY else ''
        ),
        'position_sigma_m': _number(math.hypot(*navigation.position_sigma[:2])),
        'to_bounds_m': {k: round(v) for k, v in edges.items()} if inside else {},
        'below_ceiling_m': _number(min(goal.z_max, 0.0) - z),
        'above_floor_m': _number(z - goal.z_min),
    }


def _number(value: float) -> str:
    """Return a number with one decimal and without a negative zero."""
    return f'{round(value, 1) + 0.0:.1f}'
