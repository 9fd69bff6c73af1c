"""Search pattern of the agents without a model: where to fly, at which altitude, and how far at once."""

from __future__ import annotations

from collections.abc import Sequence
import math
import re

import cv2
import numpy as np

from oceangym_agent.agent import GoalView
from oceangym_agent.steering import steer
from oceangym_core.contract.actions import Action
from oceangym_core.contract.observation import NavigationState
from oceangym_core.geometry import Array

LANE_SPACING_M = 40.0
REACH_M = 20.0
STAND_OFF_M = 10.0
ALTITUDE_BAND_M = (6.0, 14.0)
CRUISE_ALTITUDE_M = 9.0
# Kept from the bounds of the operating area [m].
MARGIN_M = 20.0
WAYPOINT_TOLERANCE_M = 4.0
# Corners of the square flown round the start before the lanes of a search area.
FIRST_CORNERS = 4
SURFACE_MARGIN_M = 3.0

Place = tuple[float, float]
_BEARING = re.compile(
    r'bearing from \[(?P<x>-?\d+\.\d), (?P<y>-?\d+\.\d)\] is (?P<angle>\d+) degrees'
)


class SearchPattern:
    """Waypoints flown at survey altitude.

    Args:
        goal: With the operating area.
        waypoints: Places (x, y) in odom [m], in the order flown.
    """

    def __init__(self, goal: GoalView, waypoints: Sequence[Place]) -> None:
        self._z_min = goal.z_min
        self._waypoints = list(waypoints)

    @classmethod
    def of(cls, goal: GoalView, start: Sequence[float]) -> SearchPattern:
        """Return the pattern for a goal: its mission order first, then squares that grow round the start.

        Args:
            goal: What is asked.
            start: x, y in odom [m].
        """
        here = (float(start[0]), float(start[1]))
        return cls(goal, [*ordered_waypoints(goal, here), *expanding_square(goal, here)])

    @property
    def finished(self) -> bool:
        """Whether every waypoint has been passed."""
        return not self._waypoints

    @property
    def next_waypoint(self) -> Place | None:
        """The waypoint that is flown to; None after the last."""
        return self._waypoints[0] if self._waypoints else None

    def move(self, navigation: NavigationState, ahead: float) -> tuple[Action, float] | None:
        """Return the next maneuver; None once the pattern has been flown.

        Args:
            navigation: The vehicle's estimate.
            ahead: Free way ahead [m].
        """
        position = navigation.pose.position
        low, high = ALTITUDE_BAND_M
        room_above = -position[2] - SURFACE_MARGIN_M
        if (navigation.altitude < low or ahead < STAND_OFF_M) and room_above > 1.0:
            return Action.UP, min(STAND_OFF_M, room_above)
        if high < navigation.altitude < math.inf:
            return Action.DOWN, min(navigation.altitude - CRUISE_ALTITUDE_M, REACH_M)
        if math.isinf(navigation.altitude) and position[2] > self._z_min + 15:
            return Action.DOWN, REACH_M
        while self._waypoints:
            x, y = self._waypoints[0]
            move = steer(
                navigation.pose,
                (x, y, position[2]),
                tolerance=WAYPOINT_TOLERANCE_M,
                reach=min(REACH_M, max(3.0, ahead - STAND_OFF_M)),
            )
            if move is not None:
                return move
            self._waypoints.pop(0)
        return None


def last_known_bearing(goal: GoalView) -> tuple[Place, float] | None:
    """Return the place that a mission order's bearing was taken from [m], and the bearing [rad]."""
    found = _BEARING.search(goal.mission_order)
    if found is None:
        return None
    return (float(found['x']), float(found['y'])), math.radians(float(found['angle']))


def ordered_waypoints(goal: GoalView, start: Place) -> list[Place]:
    """Return the way through the search area of a mission order; empty without one.

    A last known bearing is followed through the area first; without one, a vehicle that starts in
    the area first flies once round its start. Then lanes run along the area's longer side, from the
    corner nearest to the vehicle.
    """
    if not goal.search_area:
        return []
    area = np.asarray(goal.search_area, dtype=float)
    bearing = last_known_bearing(goal)
    places: list[Place] = []
    if bearing is not None:
        places = _along_bearing(area, start, *bearing)
    elif _holds(area, start):
        places = expanding_square(goal, start)[:FIRST_CORNERS]
    return [_inside(goal, place) for place in (*places, *_lanes(area, (places or [start])[-1]))]


def _holds(area: Array, place: Place) -> bool:
    return bool(cv2.pointPolygonTest(area.astype(np.float32).reshape(-1, 1, 2), place, False) >= 0)


def _along_bearing(area: Array, start: Place, origin: Place, bearing: float) -> list[Place]:
    """Return the places, a maneuver apart, that a bearing passes within the area.

    Those nearest to the start come first: from there to the line's far end, then back to its near.
    """
    reach = float(np.linalg.norm(area - np.asarray(origin), axis=1).max())
    steps = [
        (origin[0] + d * math.cos(bearing), origin[1] + d * math.sin(bearing))
        for d in np.arange(REACH_M, reach, REACH_M)
    ]
    line = [p for p in steps if _holds(area, p)]
    if not line:
        return []
    first = min(range(len(line)), key=lambda k: math.dist(line[k], start))
    return [*line[first:], *line[:first][::-1]]


def _lanes(area: Array, here: Place) -> list[Place]:
    """Return the ends of parallel lanes over a rectangle, nearest corner first."""
    first = int(np.argmin(np.linalg.norm(area - np.asarray(here), axis=1)))
    corner = area[first]
    sides = [area[(first + 1) % 4] - corner, area[first - 1] - corner]
    along, across = sorted(sides, key=lambda side: -float(np.linalg.norm(side)))
    width = float(np.linalg.norm(across))
    count = max(1, math.ceil(width / LANE_SPACING_M))
    places: list[Place] = []
    for lane in range(count):
        begin = corner + across * (lane + 0.5) / count
        inset = along * min(0.5, LANE_SPACING_M / 2 / max(float(np.linalg.norm(along)), 1e-9))
        ends = [begin + inset, begin + along - inset]
        places += [(float(x), float(y)) for x, y in (ends if lane % 2 == 0 else ends[::-1])]
    return places


def _inside(goal: GoalView, place: Place) -> Place:
    """Return a place moved into the operating area, `MARGIN_M` away from its bounds."""
    centre, axes, half = _frame(goal)
    local = np.clip(axes @ (np.asarray(place) - centre), -half, half)
    x, y = centre + axes.T @ local
    return float(x), float(y)


def _frame(goal: GoalView) -> tuple[Array, Array, Array]:
    """Return centre, unit axes (2, 2) and half sides of the operating area less the margin."""
    corners = np.asarray(goal.bounds, dtype=float)
    axes = np.stack([corners[1] - corners[0], corners[3] - corners[0]])
    lengths = np.linalg.norm(axes, axis=1)
    return corners.mean(axis=0), axes / lengths[:, None], np.maximum(lengths / 2 - MARGIN_M, 0.0)


def expanding_square(goal: GoalView, start: Place) -> list[Place]:
    """Return corners of a square spiral round the start, clipped to the operating area."""
    centre, axes, half = _frame(goal)
    local = axes @ (np.asarray(start) - centre)
    points: list[Place] = []
    side, turn = LANE_SPACING_M, 0
    while side < 4 * max(half):
        for _ in range(2):
            local = local + np.asarray(((1, 0), (0, 1), (-1, 0), (0, -1))[turn % 4]) * side
            x, y = centre + axes.T @ np.clip(local, -half, half)
            points.append((float(x), float(y)))
            turn += 1
        side += LANE_SPACING_M
    return points
