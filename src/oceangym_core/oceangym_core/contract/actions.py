"""Names and numbers that every backend keeps: directions, actions, frames and streams."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum

import numpy as np

from oceangym_core.errors import OceanGymError
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
    """The paper's eight moves, hold, stop, which ends the episode, and go of the extended actions."""

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
    GO = 'go'


# What an agent may use, by the option ``actions``: the paper's moves, or `Action.GO` as well.
ACTION_SETS: dict[str, tuple[Action, ...]] = {
    'oceangym': tuple(action for action in Action if action is not Action.GO),
    'extended': tuple(Action),
}


def check_action(action: Action, actions: str) -> None:
    """Refuse an action that is not of a run's set of `ACTION_SETS`.

    Raises:
        OceanGymError: Says how to allow it.
    """
    if action not in ACTION_SETS[actions]:
        raise OceanGymError(
            f'{action.value} is not one of the actions of a run with actions:={actions}; '
            'give actions:=extended, whose scores have tables of their own'
        )


TRANSLATIONS: frozenset[Action] = frozenset(
    {Action.FORWARD, Action.BACKWARD, Action.LEFT, Action.RIGHT, Action.UP, Action.DOWN}
)
ROTATIONS: frozenset[Action] = frozenset({Action.ROTATE_LEFT, Action.ROTATE_RIGHT})

DEFAULT_TRANSLATION_M = 20.0
DEFAULT_ROTATION_DEG = 45.0


def default_magnitude(action: Action) -> float:
    """Return the magnitude an action has when none is given (metres, degrees, or 0)."""
    if action in TRANSLATIONS or action is Action.GO:
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


# Bottom following slows down towards this altitude and does not go on below it; what may be asked for
# leaves room above it, and is within reach of an altimeter.
FLOOR_ALTITUDE_M = 2.0
ALTITUDES_M = (3.0, 50.0)
MAX_TURN_DEG = 360.0
MAX_CLIMB_M = 1000.0


@dataclass(frozen=True, kw_only=True)
class Course:
    """What `Action.GO` is asked for beside its distance ahead; None where it is not asked for.

    Attributes:
        turn_deg: Made on the spot before the way, positive to port [deg].
        climb_m: Made along the way, positive upwards [m].
        altitude_m: Held above the seabed along the way, in place of a climb [m].
    """

    turn_deg: float | None = None
    climb_m: float | None = None
    altitude_m: float | None = None

    def check(self, action: Action) -> None:
        """Refuse what an action cannot be asked for.

        Raises:
            OceanGymError: Names the value, and what is allowed.
        """
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if action is not Action.GO and given:
            raise OceanGymError(
                f'{next(iter(given))} is for the action go, not for {action.value}'
            )
        if self.climb_m is not None and self.altitude_m is not None:
            raise OceanGymError('go takes climb_m or altitude_m, not both')
        allowed = {
            'turn_deg': (-MAX_TURN_DEG, MAX_TURN_DEG),
            'climb_m': (-MAX_CLIMB_M, MAX_CLIMB_M),
            'altitude_m': ALTITUDES_M,
        }
        for name, value in given.items():
            low, high = allowed[name]
            if not low <= value <= high:  # False for NaN, too
                raise OceanGymError(f'{name} {value} of go; allowed: {low:g} .. {high:g}')


# What every other action is asked for.
STRAIGHT = Course()


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
