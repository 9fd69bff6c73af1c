"""From what a model says it found to the report that is made of it."""

from __future__ import annotations

from collections.abc import Mapping
import math

import numpy as np

from oceangym_agent.replies.reply import Find
from oceangym_core.contract.actions import SENSOR_AXES
from oceangym_core.contract.decisions import FindReport
from oceangym_core.contract.observation import Observation
from oceangym_core.geometry import Pose

Vector = tuple[float, float, float]
# Views whose middle is straight up or down.
_VERTICAL = ('up', 'down')


def report_of(
    find: Find,
    observation: Observation,
    *,
    sizes: Mapping[str, tuple[int, int]] | None = None,
    fov_deg: float = 90.0,
) -> FindReport:
    """Return the report of a find: the model's own label, and its place where one was given.

    The place is the model's; else it follows from range and pixel, bearing or direction as seen from
    where the vehicle believes to be. Without either the report stands for the vehicle's own position.
    Whether the label or the place is right is for the task manager to judge.

    Args:
        find: As understood.
        observation: That the reply is about.
        sizes: Width and height of each view as it was sent [px]; pixels of others do not count.
        fov_deg: Horizontal field of view of the cameras [deg].
    """
    size = (sizes or {}).get(find.direction)
    return FindReport(
        label=find.label,
        position=place_of(find, observation.navigation.pose, size=size, fov_deg=fov_deg),
        sensor='camera' if find.direction else '',
        direction=find.direction,
        observation_index=observation.index,
        stamp=observation.stamp,
    )


def place_of(
    find: Find, pose: Pose, *, size: tuple[int, int] | None = None, fov_deg: float = 90.0
) -> Vector | None:
    """Return a find's place in odom [m], None where it gives neither a position nor a range.

    Args:
        find: As understood.
        pose: base_link in odom.
        size: Width and height of its view as sent [px]; None where its pixel does not count.
        fov_deg: Horizontal field of view of that view [deg].
    """
    if find.position is not None:
        return find.position
    if find.range_m is None:
        return None
    ray = None if size is None else _pixel_ray(find, size, math.radians(fov_deg))
    towards = _ray(find, pose.yaw) if ray is None else pose.rotation @ ray
    x, y, z = np.asarray(pose.position) + find.range_m * towards
    # What a model estimates is not known to a millimetre.
    return round(float(x), 3), round(float(y), 3), round(float(z), 3)


def _pixel_ray(
    find: Find, size: tuple[int, int], fov: float
) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Return the unit vector (3,) in base_link through a find's pixel; None without one in the view."""
    if find.pixel is None or find.direction not in SENSOR_AXES:
        return None
    width, height = size
    if not (0 <= find.pixel[0] <= width and 0 <= find.pixel[1] <= height):
        return None
    forward, up = (np.asarray(axis) for axis in SENSOR_AXES[find.direction])
    focal = width / 2.0 / math.tan(fov / 2.0)
    right, down = (find.pixel[0] - width / 2.0) / focal, (find.pixel[1] - height / 2.0) / focal
    ray = forward + right * np.cross(forward, up) - down * up
    return np.asarray(ray / np.linalg.norm(ray))


def _ray(find: Find, yaw: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the unit vector (3,) in odom towards a find, for a vehicle that is level."""
    if find.direction in _VERTICAL:
        return np.asarray(SENSOR_AXES[find.direction][0])
    bearing = 0.0 if find.bearing_deg is None else math.radians(find.bearing_deg)
    if find.bearing_deg is None and find.direction:
        ahead, port, _ = SENSOR_AXES[find.direction][0]
        bearing = math.atan2(port, ahead)
    return np.array([math.cos(yaw + bearing), math.sin(yaw + bearing), 0.0])
