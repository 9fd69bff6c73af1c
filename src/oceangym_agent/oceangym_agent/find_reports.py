"""From what a model says it found to the report that is made of it."""

from __future__ import annotations

import math

import numpy as np

from oceangym_agent.replies.reply import Find
from oceangym_core.contract import SENSOR_AXES
from oceangym_core.decisions import FindReport
from oceangym_core.geometry import Pose
from oceangym_core.observation import Observation

Vector = tuple[float, float, float]
# Whoever says "front" and nothing nearer means the middle of that view.
_VERTICAL = ('up', 'down')


def report_of(find: Find, observation: Observation) -> FindReport:
    """Return the report of a find: the model's own label, and its place where one was given.

    The place is the model's, or follows from range and bearing or direction as seen from where the
    vehicle believes to be. Without either the report stands for the vehicle's own position. Whether
    the label or the place is right is for the task manager to judge.
    """
    return FindReport(
        label=find.label,
        position=place_of(find, observation.navigation.pose),
        sensor='camera' if find.direction else '',
        direction=find.direction,
        observation_index=observation.index,
        stamp=observation.stamp,
    )


def place_of(find: Find, pose: Pose) -> Vector | None:
    """Return a find's place in odom [m], None where it gives neither a position nor a range.

    Args:
        find: As understood.
        pose: base_link in odom.
    """
    if find.position is not None:
        return find.position
    if find.range_m is None:
        return None
    x, y, z = np.asarray(pose.position) + find.range_m * _ray(find, pose.yaw)
    # What a model estimates is not known to a millimetre.
    return round(float(x), 3), round(float(y), 3), round(float(z), 3)


def _ray(find: Find, yaw: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the unit vector (3,) in odom towards a find, for a vehicle that is level."""
    if find.direction in _VERTICAL:
        return np.asarray(SENSOR_AXES[find.direction][0])
    bearing = 0.0 if find.bearing_deg is None else math.radians(find.bearing_deg)
    if find.bearing_deg is None and find.direction:
        ahead, port, _ = SENSOR_AXES[find.direction][0]
        bearing = math.atan2(port, ahead)
    return np.array([math.cos(yaw + bearing), math.sin(yaw + bearing), 0.0])
