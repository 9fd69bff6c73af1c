"""Names and numbers that every backend keeps: directions, actions, frames and streams."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from oceangym_core.geometry import Pose, quaternion_from_matrix

DIRECTIONS: tuple[str, ...] = ('front', 'back', 'left', 'right', 'up', 'down')

# Boresight and image-up of each sensor in base_link (FLU) coordinates.
SENSOR_AXES: dict[str, tuple[tuple[float, float, float], tuple[float, float, float]]] = {
    'front': ((1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    'back': ((-1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
    'left': ((0.0, 1.0, 0.0), (0.0, 0.0, 1.0)),
    'right': ((0.0, -1.0, 0.0), (0.0, 0.0, 1.0)),
    'up': ((0.0, 0.0, 1.0), (-1.0, 0.0, 0.0)),
    'down': ((0.0, 0.0, -1.0), (1.0, 0.0, 0.0)),
}


def optical_orientation(direction: str) -> tuple[float, float, float, float]:
    """Return the quaternion of a camera's optical frame (z forward, x right, y down) in base_link."""
    forward, up = (np.asarray(axis) for axis in SENSOR_AXES[direction])
    right = np.cross(forward, up)
    quaternion = quaternion_from_matrix(np.stack([right, -up, forward], axis=1))
    return Pose.of((0, 0, 0), quaternion).quaternion


def sonar_orientation(direction: str) -> tuple[float, float, float, float]:
    """Return the quaternion of a sonar's frame (z forward, x up, y starboard) in base_link.

    The axes are those of ``marine_acoustic_msgs/ProjectedSonarImage``: a beam at azimuth a (positive
    to port) points to (0, -sin a, cos a).
    """
    forward, up = (np.asarray(axis) for axis in SENSOR_AXES[direction])
    starboard = np.cross(forward, up)
    quaternion = quaternion_from_matrix(np.stack([up, starboard, forward], axis=1))
    return Pose.of((0, 0, 0), quaternion).quaternion


class Action(str, Enum):
    """The eight moves, hold, and stop, which ends the episode."""

    FORWARD = 'forward'
    BACKWARD = 'backward'
    LEFT = 'left'
    RIGHT = 'right'
    UP = 'up'
    DOWN = 'down'
    ROTATE_LEFT = 'rotate_left'
    ROTATE_RIGHT = 'rotate_right'
    HOLD = 'hold'
    STOP = 'stop'


TRANSLATIONS: frozenset[Action] = frozenset(
    {Action.FORWARD, Action.BACKWARD, Action.LEFT, Action.RIGHT, Action.UP, Action.DOWN}
)
ROTATIONS: frozenset[Action] = frozenset({Action.ROTATE_LEFT, Action.ROTATE_RIGHT})

DEFAULT_TRANSLATION_M = 20.0
DEFAULT_ROTATION_DEG = 45.0


def default_magnitude(action: Action) -> float:
    """Return the magnitude an action has when none is given (metres, degrees, or 0)."""
    if action in TRANSLATIONS:
        return DEFAULT_TRANSLATION_M
    return DEFAULT_ROTATION_DEG if action in ROTATIONS else 0.0


def unit_motion(action: Action) -> tuple[float, float, float]:
    """Return a translation's unit vector in the heading frame (x ahead, y port, z up)."""
    return {
        Action.FORWARD: (1.0, 0.0, 0.0),
        Action.BACKWARD: (-1.0, 0.0, 0.0),
        Action.LEFT: (0.0, 1.0, 0.0),
        Action.RIGHT: (0.0, -1.0, 0.0),
        Action.UP: (0.0, 0.0, 1.0),
        Action.DOWN: (0.0, 0.0, -1.0),
    }.get(action, (0.0, 0.0, 0.0))


class EndReason(str, Enum):
    """Why a maneuver ended."""

    COMPLETED = 'completed'
    TIME = 'time'
    BOUNDS = 'bounds'
    BATTERY = 'battery'
    PREEMPTED = 'preempted'


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Rates [Hz] and steps [s] of simulation time."""

    physics_step: float = 0.01
    tick: float = 0.05
    imu_hz: float = 20.0
    odometry_hz: float = 10.0
    navigation_hz: float = 5.0
    battery_hz: float = 1.0
    trajectory_hz: float = 1.0


LOCKSTEP = Timing()
# As on hardware: a faster IMU needs a shorter tick.
REALTIME = Timing(tick=0.02, imu_hz=50.0)
