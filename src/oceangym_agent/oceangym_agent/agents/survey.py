"""A hand-written surveyor: search pattern, stand-off by sonar, and three kinds of echo that it knows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
import math
import re

import cv2
import numpy as np

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents.search_pattern import ALTITUDE_BAND_M, SearchPattern
from oceangym_agent.aids.detector import bright_echoes, Echo, nearest_return
from oceangym_core.contract.actions import Action, sonar_orientation
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import NavigationState, Observation, StepTruth
from oceangym_core.geometry import Array, rotation_matrix

FORWARD_SECTOR_RAD = math.radians(20.0)
# Reports nearer than this are of one object; ships are thirty metres long [m].
SAME_OBJECT_M = 40.0
# Two echoes so near to each other are of one thing [m].
SAME_ECHO_M = 10.0
# How far outside the search area a place may lie [m].
AREA_MARGIN_M = 5.0
# Nearer than so many altitudes an echo may be the slope under the vehicle.
BOTTOM_ALTITUDES = 1.8
# Decisions spent on one suspect.
LOOKS = 12
# The down sonar sees the bottom, the up sonar the surface.
LEVEL = ('front', 'left', 'right', 'back')


@dataclass(frozen=True, kw_only=True)
class Form:
    """What a kind of target looks like in a level sonar: least values, and the range of its shape.

    Attributes:
        contrast, peak: [dB], see `Echo`.
        area: [m2].
        length: Least and greatest [m].
        slenderness: Least and greatest width over length.
    """

    contrast: float
    area: float
    peak: float = -60.0
    length: tuple[float, float] = (0.0, math.inf)
    slenderness: tuple[float, float] = (0.0, 1.0)

    def fits(self, echo: Echo) -> bool:
        """Return whether an echo has this form."""
        return (
            echo.contrast >= self.contrast
            and echo.peak >= self.peak
            and echo.area >= self.area
            and self.length[0] <= echo.length <= self.length[1]
            and self.slenderness[0] <= echo.width / max(echo.length, 1e-9) <= self.slenderness[1]
        )


# Words of a target's description, and the form that goes with them; the first that occurs counts.
# Rock stays below: patches of 8 m2, -8 dB at their brightest, 27 dB over the bottom. Pipes are long;
# faces of steel mirror; a wooden wreck is large, and only somewhat brighter than rock.
PIPE = Form(contrast=26.0, area=15.0, length=(15.0, math.inf), slenderness=(0.0, 0.5))
METAL = Form(contrast=27.0, area=4.0, peak=-6.5, length=(0.0, 20.0), slenderness=(0.15, 1.0))
WRECK = Form(contrast=16.0, area=25.0, length=(9.0, math.inf), slenderness=(0.25, 1.0))
FORMS = {
    'pipeline': PIPE,
    'pile': METAL,
    'cabinets': METAL,
    'machine': METAL,
    'metal': METAL,
    'wreck': WRECK,
}


class SurveyAgent:
    """Flies a search pattern and reports echoes of a form that it knows for the target.

    An echo is a suspect until another observation, on the way there, shows one at the same place. A target
    of no known form is never reported. Cameras are not used.
    """

    privileged = False

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode."""
        self._goal = goal
        self._form = form_of(goal.target_description)
        self._pattern: SearchPattern | None = None
        self._reported: list[Array] = []
        self._suspect: Array | None = None
        self._errand: SearchPattern | None = None
        self._looks = 0
        self._climbed = False

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Report what has been seen twice, keep clear, then fly on."""
        reports = self._reports(observation)
        action, magnitude = self._move(observation)
        self._climbed = action is Action.UP
        return Turn(
            decision=Decision(
                index=observation.index,
                action=action,
                magnitude=round(magnitude, 3),
                finds=tuple(r.label for r in reports),
                description='; '.join(f'echo {r.direction}' for r in reports),
            ),
            reports=reports,
        )

    def _reports(self, observation: Observation) -> tuple[FindReport, ...]:
        """Return a report of the suspect if it shows again, else look for the next suspect."""
        if self._form is None or self._all_reported():
            return ()
        seen = list(self._echoes(observation, self._form))
        if self._suspect is None:
            fitting = [place for _, echo, place in seen if self._form.fits(echo)]
            if fitting:
                self._suspect, self._looks = fitting[0], LOOKS
                self._errand = self._way_to(fitting[0])
            return ()
        again = [
            (direction, place)
            for direction, _, place in seen
            if float(np.linalg.norm(place - self._suspect)) < SAME_ECHO_M
        ]
        if not again:
            return ()
        direction, place = again[0]
        self._reported.append(place)
        self._suspect = None
        x, y, z = (float(v) for v in place)
        return (
            FindReport(
                label=self._goal.target_label,
                position=(x, y, z),
                sigma=4.0,
                sensor='sonar',
                direction=direction,
                observation_index=observation.index,
                stamp=observation.stamp,
            ),
        )

    def _all_reported(self) -> bool:
        """Return whether there is nothing left to claim; a pipe may be reported all along."""
        return self._form is not PIPE and len(self._reported) >= self._goal.target_count

    def _echoes(self, observation: Observation, form: Form) -> Iterator[tuple[str, Echo, Array]]:
        """Yield direction, echo and place in odom of what may be a target, nothing reported before."""
        nearest = BOTTOM_ALTITUDES * observation.navigation.altitude
        for direction in LEVEL:
            ping = observation.sonars.get(direction)
            if ping is None:
                continue
            for echo in bright_echoes(ping, observation.sonar_geometry[direction]):
                place = echo_place(observation, direction, echo)
                known = any(np.linalg.norm(place - p) < SAME_OBJECT_M for p in self._reported)
                if (
                    known
                    or not self._is_in_area(place)
                    or (form is WRECK and echo.range < nearest)
                ):
                    continue
                yield direction, echo, place

    def _is_in_area(self, place: Array) -> bool:
        if not self._goal.search_area:
            return True
        area = np.asarray(self._goal.search_area, dtype=np.float32).reshape(-1, 1, 2)
        here = (float(place[0]), float(place[1]))
        return bool(cv2.pointPolygonTest(area, here, True) >= -AREA_MARGIN_M)

    def _way_to(self, place: Array) -> SearchPattern:
        return SearchPattern(self._goal, [(float(place[0]), float(place[1]))])

    def _move(self, observation: Observation) -> tuple[Action, float]:
        """Return the next maneuver: towards a suspect for some decisions, else along the pattern."""
        navigation = self._after_climb(observation.navigation)
        if self._pattern is None:
            self._pattern = SearchPattern.of(self._goal, navigation.pose.position)
        ahead = math.inf
        if 'front' in observation.sonars:
            ahead = nearest_return(
                observation.sonars['front'],
                observation.sonar_geometry['front'],
                sector=FORWARD_SECTOR_RAD,
            )
        if self._errand is not None:
            self._looks -= 1
            move = self._errand.move(navigation, ahead) if self._looks >= 0 else None
            if move is not None:
                return move
            self._errand, self._suspect = None, None
        return self._pattern.move(navigation, ahead) or (Action.STOP, 0.0)

    def _after_climb(self, navigation: NavigationState) -> NavigationState:
        """Return the state for the pattern, which is not to dive again before what it climbed over."""
        if not self._climbed:
            return navigation
        return replace(navigation, altitude=min(navigation.altitude, ALTITUDE_BAND_M[1]))


def form_of(description: str) -> Form | None:
    """Return the form that goes with a target's description; None if no word of it is known."""
    words = set(re.findall(r'[a-z]+', description.lower()))
    return next((form for word, form in FORMS.items() if word in words), None)


def echo_place(observation: Observation, direction: str, echo: Echo) -> Array:
    """Return an echo's place in odom (3,) [m], in the plane of its sonar.

    The sonar frame has z forward, x up, y starboard; azimuth is positive to port.
    """
    beam = np.array([0.0, -math.sin(echo.azimuth), math.cos(echo.azimuth)]) * echo.range
    in_body = rotation_matrix(sonar_orientation(direction)) @ beam
    return np.asarray(observation.navigation.pose.apply(in_body))
