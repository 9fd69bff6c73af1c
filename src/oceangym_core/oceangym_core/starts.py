"""Where an episode starts, and how far its nearest target is from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import re

import numpy as np

from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.geometry import Array, Pose, wrap_angle
from oceangym_core.rng import generator
from oceangym_core.tasks import Target, Vector

# The two fixed starts of OceanGym: x, y, z [m] and yaw [deg]. The yaw of point2 is our choice.
FIXED_STARTS: dict[str, tuple[float, float, float, float]] = {
    'point1': (144.0, -114.0, -63.0, -135.0),
    'point2': (350.0, -118.0, -7.0, -135.0),
}
START_NAMES = (*FIXED_STARTS, 'random')
# A random start of its own seed, so that repeats with other seeds begin at the same place.
_SEEDED_START = re.compile(r'random_(\d{1,18})', re.ASCII)

_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?', re.ASCII)

MIN_TARGET_RANGE_M = 100.0
MAX_YAW_DEG = 360.0
SEABED_CLEARANCE_M = 10.0
OBSTACLE_CLEARANCE_M = 15.0
SURFACE_MARGIN_M = 3.0
BOUNDS_MARGIN_M = 20.0
VEHICLE_RADIUS_M = 0.5
_MAX_DRAWS = 20000


@dataclass(frozen=True, kw_only=True)
class Start:
    """A start and the nearest target seen from it.

    Attributes:
        name: ``point1``, ``point2``, ``random``, ``random_<seed>`` or ``custom``.
        pose: base_link in map.
        target: Name of the nearest target.
        range: Distance to its point [m].
        bearing: Direction to it in map [rad], counter-clockwise from +x.
        relative_bearing: The same from the heading [rad], positive to port.
    """

    name: str
    pose: Pose
    target: str
    range: float
    bearing: float
    relative_bearing: float


def parse_start(text: str) -> tuple[str, tuple[float, float, float, float] | None]:
    """Return (name, (x, y, z [m], yaw [deg]) or None for random) of a ``start:=`` value.

    Raises:
        OceanGymError: It is neither a known name nor four numbers.
    """
    if text in FIXED_STARTS:
        return text, FIXED_STARTS[text]
    if text == 'random' or _SEEDED_START.fullmatch(text):
        return text, None
    if ',' not in text:
        raise unknown_name(
            'start',
            text,
            (*START_NAMES, 'random_<seed>'),
            hint='A place of your own is x,y,z,yaw_deg in map.',
        )
    parts = [part.strip() for part in text.split(',')]
    # Plain decimal notation only: float() would also take 1_44, nan and digits of other scripts.
    numbers = [float(part) for part in parts if _NUMBER.fullmatch(part)]
    if len(parts) != 4 or len(numbers) != 4 or not all(math.isfinite(n) for n in numbers):
        raise OceanGymError(
            f'start {text!r} is not four numbers x,y,z,yaw_deg '
            '(metres in map, z up from the surface; degrees), e.g. 144,-114,-63,-135'
        )
    x, y, z, yaw = numbers
    if abs(yaw) > MAX_YAW_DEG:
        raise OceanGymError(
            f'start {text!r}: yaw {yaw:g} is out of range; allowed: -{MAX_YAW_DEG:g} .. '
            f'{MAX_YAW_DEG:g} degrees, counter-clockwise from east'
        )
    return 'custom', (x, y, z, yaw)


def resolve_start(
    text: str,
    seed: int,
    *,
    targets: Sequence[Target],
    lower: Vector,
    upper: Vector,
    seabed: Callable[[float, float], float],
    clearance: Callable[[Array], float],
) -> Start:
    """Return the start that a ``start:=`` value stands for.

    Args:
        text: ``point1``, ``point2``, ``random``, ``random_<seed>`` or ``x,y,z,yaw_deg``.
        seed: Of the run; decides a random start without a seed of its own.
        targets: Of the task.
        lower: Lower bounds in map [m].
        upper: Upper bounds in map [m].
        seabed: Height of the seabed at x, y [m in map].
        clearance: Distance of a point (3,) to the nearest obstacle [m].

    Raises:
        OceanGymError: A given place is out of bounds, in the ground or in an obstacle, or no free
            place was found.
    """
    name, numbers = parse_start(text)
    if numbers is None:
        own = _SEEDED_START.fullmatch(text)
        drawn = seed if own is None else int(own.group(1))
        pose = _random_pose(
            drawn, targets=targets, lower=lower, upper=upper, seabed=seabed, clearance=clearance
        )
    else:
        x, y, z, yaw_deg = numbers
        _check_place(name, (x, y, z), lower, upper, seabed, clearance)
        pose = Pose.from_euler((x, y, z), 0.0, 0.0, math.radians(yaw_deg))
    return describe_start(name, pose, targets)


def describe_start(name: str, pose: Pose, targets: Sequence[Target]) -> Start:
    """Return a start with range and bearing of its nearest target."""
    offsets = np.array([t.point for t in targets]) - np.asarray(pose.position)
    ranges = np.linalg.norm(offsets, axis=1)
    nearest = int(np.argmin(ranges))
    bearing = math.atan2(offsets[nearest, 1], offsets[nearest, 0])
    return Start(
        name=name,
        pose=pose,
        target=targets[nearest].name,
        range=float(ranges[nearest]),
        bearing=bearing,
        relative_bearing=wrap_angle(bearing - pose.yaw),
    )


def _check_place(
    name: str,
    place: Vector,
    lower: Vector,
    upper: Vector,
    seabed: Callable[[float, float], float],
    clearance: Callable[[Array], float],
) -> None:
    for axis, value, low, high in zip('xyz', place, lower, upper, strict=True):
        if not low <= value <= high:
            raise OceanGymError(
                f'start {name}: {axis} = {value:g} m is outside the bounds {low:g} .. {high:g} m'
            )
    if place[2] > 0:
        raise OceanGymError(
            f'start {name}: z = {place[2]:g} m is above the water; z is 0 at the surface, '
            'negative below'
        )
    ground = seabed(place[0], place[1])
    if place[2] < ground + VEHICLE_RADIUS_M:
        raise OceanGymError(
            f'start {name}: z = {place[2]:g} m is in the seabed, which lies at {ground:.1f} m '
            f'there; start at {ground + SEABED_CLEARANCE_M:.0f} m or higher'
        )
    free = clearance(np.asarray(place))
    if free < VEHICLE_RADIUS_M:
        raise OceanGymError(
            f'start {name}: ({place[0]:g}, {place[1]:g}, {place[2]:g}) is {max(free, 0.0):.1f} m '
            'from an obstacle; move it away'
        )


def _random_pose(
    seed: int,
    *,
    targets: Sequence[Target],
    lower: Vector,
    upper: Vector,
    seabed: Callable[[float, float], float],
    clearance: Callable[[Array], float],
) -> Pose:
    rng = generator(seed, 'start')
    points = np.array([t.point for t in targets])
    low = np.asarray(lower) + BOUNDS_MARGIN_M
    high = np.asarray(upper) - BOUNDS_MARGIN_M
    for _ in range(_MAX_DRAWS):
        u = rng.random(4)
        x, y = (float(v) for v in low[:2] + u[:2] * (high[:2] - low[:2]))
        bottom = max(seabed(x, y) + SEABED_CLEARANCE_M, lower[2] + SURFACE_MARGIN_M)
        top = min(-SURFACE_MARGIN_M, upper[2] - SURFACE_MARGIN_M)
        if bottom >= top:
            continue
        # Rounded to what a person would type, so that the start can be given again by hand.
        place = np.round([x, y, bottom + u[2] * (top - bottom)], 1)
        if np.linalg.norm(points - place, axis=1).min() < MIN_TARGET_RANGE_M:
            continue
        if any(t.footprint.distance(place)[0] < MIN_TARGET_RANGE_M for t in targets):
            continue
        if clearance(place) < OBSTACLE_CLEARANCE_M:
            continue
        yaw = math.radians(round(float(u[3]) * 360.0 - 180.0))
        return Pose.from_euler(place, 0.0, 0.0, yaw)
    raise OceanGymError(
        f'found no start with {MIN_TARGET_RANGE_M:g} m to every target and '
        f'{OBSTACLE_CLEARANCE_M:g} m to obstacles in {_MAX_DRAWS} draws; '
        'widen the bounds or give x,y,z,yaw_deg'
    )
