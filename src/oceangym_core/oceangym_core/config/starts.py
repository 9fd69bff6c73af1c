"""Where an episode starts, and how far its nearest target is from there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
import math
import re

import numpy as np

from oceangym_core.config.tasks import Target
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import Number, Quaternion, Schema, Vector
from oceangym_core.geometry import Array, Pose, wrap_angle
from oceangym_core.rng import generator

# The two fixed starts of OceanGym: x, y, z [m] and yaw [deg]. The yaw of point2 is our choice.
FIXED_STARTS: dict[str, tuple[float, float, float, float]] = {
    'point1': (144.0, -114.0, -63.0, -135.0),
    'point2': (350.0, -118.0, -7.0, -135.0),
}
# Distance of a start of each stratum to the nearest target of the task [m].
STRATA: dict[str, tuple[float, float]] = {
    'near': (30.0, 50.0),
    'medium': (80.0, 120.0),
    'far': (150.0, 250.0),
}
# Where the nearest target lies from the heading: middle [deg] and half width of the sector.
ASPECTS: dict[str, float] = {'ahead': 0.0, 'abeam': 90.0, 'behind': 180.0}
ASPECT_HALF_WIDTH_DEG = 30.0
DRAWN_STARTS = ('random', *STRATA)
START_NAMES = (*FIXED_STARTS, *DRAWN_STARTS)
# A drawn start of its own seed, so that repeats with other seeds begin at the same place.
_SEEDED_START = re.compile(rf'({"|".join(DRAWN_STARTS)})_(\d{{1,18}})', re.ASCII)

_NUMBER = re.compile(r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?', re.ASCII)

MIN_TARGET_RANGE_M = 100.0
MAX_YAW_DEG = 360.0
SEABED_CLEARANCE_M = 10.0
OBSTACLE_CLEARANCE_M = 15.0
SURFACE_MARGIN_M = 3.0
BOUNDS_MARGIN_M = 20.0
VEHICLE_RADIUS_M = 0.5
# Of starts in strata: height over the seabed, as survey vehicles fly; distance to obstacles there and
# on the way to the target, which ends where the target is in sight.
SURVEY_ALTITUDE_M = (6.0, 12.0)
STRATUM_CLEARANCE_M = 5.5
WAY_CLEARANCE_M = 4.0
IN_SIGHT_M = 20.0
_MAX_DRAWS = 20000


class Start(Schema):
    """A start and the nearest target seen from it.

    Attributes:
        name: ``point1``, ``point2``, ``random``, ``near``, ``medium``, ``far``, one of these four with
            ``_<seed>``, or ``custom``.
        position, quaternion: Of base_link in map.
        target: Name of the nearest target.
        range: Distance to its point, in a stratum to its nearest part [m].
        bearing: Direction to it in map [rad], counter-clockwise from +x.
        relative_bearing: The same from the heading [rad], positive to port.
        stratum: ``near``, ``medium`` or ``far``; empty for other starts.
        aspect: ``ahead``, ``abeam`` or ``behind``: where the nearest target lies; empty for others.
    """

    name: str
    position: Vector
    quaternion: Quaternion
    target: str
    range: Number
    bearing: Number
    relative_bearing: Number
    # Of records before benchmark 2.0.0 these are missing.
    stratum: str = ''
    aspect: str = ''

    @property
    def pose(self) -> Pose:
        """base_link in map."""
        return Pose(self.position, self.quaternion)


def start_seed(text: str, seed: int) -> int:
    """Return the seed that decides a ``start:=`` value: its own, else the run's."""
    own = _SEEDED_START.fullmatch(text)
    return seed if own is None else int(own.group(2))


def parse_start(text: str) -> tuple[str, tuple[float, float, float, float] | None]:
    """Return (name, (x, y, z [m], yaw [deg]) or None for drawn ones) of a ``start:=`` value.

    Raises:
        OceanGymError: It is neither a known name nor four numbers.
    """
    if text in FIXED_STARTS:
        return text, FIXED_STARTS[text]
    if text in DRAWN_STARTS or _SEEDED_START.fullmatch(text):
        return text, None
    if ',' not in text:
        raise unknown_name(
            'start',
            text,
            (*START_NAMES, *(f'{name}_<seed>' for name in DRAWN_STARTS)),
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
        text: A value of ``start:=``, see `Start.name`.
        seed: Of the run; decides a drawn start without a seed of its own.
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
        stratum = name.partition('_')[0]
        area = _Area(lower=lower, upper=upper, seabed=seabed, clearance=clearance)
        drawn = start_seed(text, seed)
        if stratum in STRATA:
            return _stratum_start(name, stratum, drawn, targets, area)
        pose = _random_pose(drawn, targets, area)
    else:
        x, y, z, yaw_deg = numbers
        _check_place(name, (x, y, z), lower, upper, seabed, clearance)
        pose = Pose.from_euler((x, y, z), 0.0, 0.0, math.radians(yaw_deg))
    return describe_start(name, pose, targets)


def describe_start(name: str, pose: Pose, targets: Sequence[Target]) -> Start:
    """Return a start with range and bearing of its nearest target."""
    place = np.asarray(pose.position)
    return _described(name, pose, min(targets, key=lambda t: np.linalg.norm(t.point - place)))


def _described(name: str, pose: Pose, target: Target) -> Start:
    """Return a start with range and bearing of a target's point."""
    offset = np.asarray(target.point) - np.asarray(pose.position)
    bearing = math.atan2(offset[1], offset[0])
    return Start(
        name=name,
        position=pose.position,
        quaternion=pose.quaternion,
        target=target.name,
        range=float(np.linalg.norm(offset)),
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


@dataclass(frozen=True, kw_only=True)
class _Area:
    """The water that a start may be drawn in; see `resolve_start`."""

    lower: Vector
    upper: Vector
    seabed: Callable[[float, float], float]
    clearance: Callable[[Array], float]

    @property
    def corners(self) -> tuple[Array, Array]:
        """Lower and upper corner of what is far enough from the bounds [m]."""
        return np.asarray(self.lower) + BOUNDS_MARGIN_M, np.asarray(self.upper) - BOUNDS_MARGIN_M

    @property
    def top(self) -> float:
        """Highest place of a start [m]."""
        return min(-SURFACE_MARGIN_M, self.upper[2] - SURFACE_MARGIN_M)


def _random_pose(seed: int, targets: Sequence[Target], area: _Area) -> Pose:
    rng = generator(seed, 'start')
    points = np.array([t.point for t in targets])
    low, high = area.corners
    for _ in range(_MAX_DRAWS):
        u = rng.random(4)
        x, y = (float(v) for v in low[:2] + u[:2] * (high[:2] - low[:2]))
        bottom = max(area.seabed(x, y) + SEABED_CLEARANCE_M, area.lower[2] + SURFACE_MARGIN_M)
        if bottom >= area.top:
            continue
        # Rounded to what a person would type, so that the start can be given again by hand.
        place = np.round([x, y, bottom + u[2] * (area.top - bottom)], 1)
        if np.linalg.norm(points - place, axis=1).min() < MIN_TARGET_RANGE_M:
            continue
        if any(t.footprint.distance(place)[0] < MIN_TARGET_RANGE_M for t in targets):
            continue
        if area.clearance(place) < OBSTACLE_CLEARANCE_M:
            continue
        yaw = math.radians(round(float(u[3]) * 360.0 - 180.0))
        return Pose.from_euler(place, 0.0, 0.0, yaw)
    raise OceanGymError(
        f'found no start with {MIN_TARGET_RANGE_M:g} m to every target and '
        f'{OBSTACLE_CLEARANCE_M:g} m to obstacles in {_MAX_DRAWS} draws; '
        'widen the bounds or give x,y,z,yaw_deg'
    )


def _stratum_start(
    name: str, stratum: str, seed: int, targets: Sequence[Target], area: _Area
) -> Start:
    """Draw a start of a stratum.

    One target of the task, drawn, lies nearest, at a distance of its footprint within the stratum's
    limits. Over three seeds that follow each other it lies once ahead, once abeam and once behind.
    """
    rng = generator(seed, f'start/{stratum}/{targets[0].name}')
    nearest, farthest = STRATA[stratum]
    aspects = list(ASPECTS)
    aspect = aspects[(seed + list(STRATA).index(stratum)) % len(aspects)]
    low, high = area.corners
    for _ in range(_MAX_DRAWS):
        target = targets[int(rng.integers(len(targets)))]
        u = rng.random(5)
        bearing = 2.0 * math.pi * float(u[0])
        away = nearest + float(u[1]) * (farthest - nearest)
        x = target.point[0] + away * math.cos(bearing)
        y = target.point[1] + away * math.sin(bearing)
        if not (low[0] <= x <= high[0] and low[1] <= y <= high[1]):
            continue
        rise = SURVEY_ALTITUDE_M[0] + float(u[2]) * (SURVEY_ALTITUDE_M[1] - SURVEY_ALTITUDE_M[0])
        place = np.round([x, y, area.seabed(x, y) + rise], 1)
        if not area.lower[2] + SURFACE_MARGIN_M <= place[2] <= area.top:
            continue
        gaps = [float(t.footprint.distance(place)[0]) for t in targets]
        if not nearest <= min(gaps) <= farthest or targets[int(np.argmin(gaps))] is not target:
            continue
        if area.clearance(place) < STRATUM_CLEARANCE_M or not _is_reachable(place, target, area):
            continue
        side = 1.0 if u[3] < 0.5 else -1.0
        aside = ASPECTS[aspect] * side + ASPECT_HALF_WIDTH_DEG * (2.0 * float(u[4]) - 1.0)
        towards = math.degrees(math.atan2(target.point[1] - place[1], target.point[0] - place[0]))
        yaw = math.radians(round((towards - aside + 180.0) % 360.0 - 180.0))
        pose = Pose.from_euler(place, 0.0, 0.0, yaw)
        return _described(name, pose, target).model_copy(
            update={'stratum': stratum, 'aspect': aspect, 'range': min(gaps)}
        )
    raise OceanGymError(
        f'found no start {nearest:g} to {farthest:g} m from a target in {_MAX_DRAWS} draws; '
        'use another stratum or seed, or give x,y,z,yaw_deg'
    )


def _is_reachable(place: Array, target: Target, area: _Area) -> bool:
    """Return whether the way to a target is free at survey altitude, up to where it is in sight."""
    point = np.asarray(target.point)
    length = float(np.hypot(*(point - place)[:2]))
    for share in np.arange(0.0, max(length - IN_SIGHT_M, 0.0), 5.0) / max(length, 1e-9):
        x, y = (place + share * (point - place))[:2]
        here = np.array([x, y, area.seabed(float(x), float(y)) + SURVEY_ALTITUDE_M[1]])
        if area.clearance(here) < WAY_CLEARANCE_M:
            return False
    return True
