"""The adversary that a layout must withstand: knows the released map by heart, and looks at nothing."""

from __future__ import annotations

from collections.abc import Sequence
import math

import numpy as np

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents.search_pattern import last_known_bearing, SearchPattern
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.geometry import Array
from oceangym_core.scoring.compat import RELEASED_TARGETS

# The released operating area: centre and sides [m].
AREA_CENTRE = (225.0, -75.0)
AREA_SIDES = (850.0, 650.0)
# So near to a place it is reported [m].
ARRIVED_M = 12.0
# A goal's corners that agree so well with the released ones are given in map [m].
SAME_AREA_M = 1.0


class BlindPriorAgent:
    """Works out where odom lies in the released map, flies to the released places and reports them.

    The frame is undone by laying the released area over the told one, both ways round; a search area
    and a last known bearing choose between the two and correct the place.
    """

    privileged = False

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Recall the released places of the task."""
        self._goal = goal
        self._places: list[Array] | None = None
        self._pattern: SearchPattern | None = None

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Fly on, and report the places that are reached; no image is looked at."""
        pose = observation.navigation.pose
        if self._places is None or self._pattern is None:
            self._places = places_in_odom(self._goal)
            route = _tour(np.asarray(pose.position[:2]), self._places)
            self._pattern = SearchPattern(self._goal, [(float(x), float(y)) for x, y, _ in route])
        near = [
            place for place in self._places if math.dist(place[:2], pose.position[:2]) <= ARRIVED_M
        ]
        self._places = [p for p in self._places if not any(p is q for q in near)]
        reports = tuple(
            FindReport(
                label=self._goal.target_label,
                position=(float(x), float(y), float(z)),
                observation_index=observation.index,
                stamp=observation.stamp,
            )
            for x, y, z in near
        )
        move = self._pattern.move(observation.navigation, math.inf) or (Action.STOP, 0.0)
        return Turn(
            decision=Decision(
                index=observation.index,
                action=move[0],
                magnitude=round(move[1], 3),
                finds=tuple(r.label for r in reports),
            ),
            reports=reports,
        )


def places_in_odom(goal: GoalView) -> list[Array]:
    """Return where the targets of a goal lie in odom if the layout is the released one [m].

    Args:
        goal: Names the task and its operating area, and may have a mission order.
    """
    released = np.array(_released_places(goal.task_id), dtype=float).reshape(-1, 3)
    if not len(released):
        return []
    guesses = [shift.points_to_odom(released) for shift in _shifts(goal)]
    if not goal.search_area:
        return list(guesses[0])
    middle = np.mean(goal.search_area, axis=0)
    gaps = [np.linalg.norm(guess[:, :2] - middle, axis=1) for guess in guesses]
    best = min(range(len(guesses)), key=lambda k: float(gaps[k].min()))
    places = guesses[best]
    wanted = int(np.argmin(gaps[best]))
    bearing = last_known_bearing(goal)
    if bearing is not None:
        # The place on the bearing that lies nearest to where the map has the target.
        origin, angle = np.asarray(bearing[0]), bearing[1]
        along = np.array([math.cos(angle), math.sin(angle)])
        away = max(float((places[wanted, :2] - origin) @ along), 0.0)
        places[wanted, :2] = origin + away * along
    return list(places)


def _released_places(task_id: str) -> tuple[tuple[float, float, float], ...]:
    numbers = [
        int(alias[4:]) for alias, task, _ in TaskRegistry.load().benchmark() if task == task_id
    ]
    return RELEASED_TARGETS[numbers[0]] if numbers else ()


def _shifts(goal: GoalView) -> list[FrameShift]:
    """Return where odom may lie in map, most likely first."""
    corners = np.asarray(goal.bounds, dtype=float)
    if np.abs(corners.mean(axis=0) - AREA_CENTRE).max() < SAME_AREA_M:
        return [FrameShift()]
    sides = [corners[1] - corners[0], corners[3] - corners[0]]
    lengthwise = max(sides, key=lambda side: float(np.linalg.norm(side)))
    angle = math.atan2(lengthwise[1], lengthwise[0])
    shifts = []
    for yaw in (-angle, math.pi - angle):
        turned = FrameShift(0.0, 0.0, yaw).points_to_map([(*corners.mean(axis=0), 0.0)])[0]
        shifts.append(FrameShift(AREA_CENTRE[0] - turned[0], AREA_CENTRE[1] - turned[1], yaw))
    return shifts


def _tour(start: Array, places: Sequence[Array]) -> list[Array]:
    """Return the places, always the nearest next."""
    left, here, tour = list(places), start, []
    while left:
        k = int(np.argmin([np.linalg.norm(p[:2] - here) for p in left]))
        here = left[k][:2]
        tour.append(left.pop(k))
    return tour
