"""A hand-written surveyor: search pattern, stand-off by sonar, detection by sonar and colour."""

from __future__ import annotations

import math

import numpy as np

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents.search_pattern import SearchPattern
from oceangym_agent.detector import colour_anomaly, nearest_return, sonar_contacts, structure
from oceangym_core.contract import Action, SENSOR_AXES, sonar_orientation
from oceangym_core.decisions import Decision, FindReport
from oceangym_core.geometry import Array, rotation_matrix
from oceangym_core.observation import Observation, StepTruth

FORWARD_SECTOR_RAD = math.radians(20.0)
# Two finds nearer than this are one object [m].
SAME_OBJECT_M = 25.0
# Least share of an image that must be out of colour, and how far above the direction's median;
# least share that must stand out of its surroundings. Sand shows less of either (the shipped ocean
# in shallow water: 0.07 and 0.02 at most in 23 of 24 places).
MIN_COLOUR_SHARE = 0.075
OUTSTANDING = 2.0
MIN_STRUCTURE_SHARE = 0.02
SETTLING_OBSERVATIONS = 2
# Where something is taken to be that a camera shows and no sonar ranges [m].
CAMERA_REACH_M = 9.0


class SurveyAgent:
    """Flies a search pattern at survey altitude and reports compact, coloured contacts."""

    privileged = False

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode."""
        self._goal = goal
        self._pattern: SearchPattern | None = None
        self._reported: list[Array] = []
        self._shares: dict[str, list[float]] = {}

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Report contacts, keep clear, then fly on."""
        reports = self._contacts(observation)
        action, magnitude = self._move(observation)
        return Turn(
            decision=Decision(
                index=observation.index,
                action=action,
                magnitude=round(magnitude, 3),
                finds=tuple(r.label for r in reports),
                description='; '.join(f'contact {r.direction}' for r in reports),
            ),
            reports=reports,
        )

    def _contacts(self, observation: Observation) -> tuple[FindReport, ...]:
        """Return reports on the directions whose colours are out of the ordinary."""
        reports: list[FindReport] = []
        for direction, image in observation.cameras.items():
            if direction == 'up':
                continue
            share = colour_anomaly(image)
            ordinary = self._shares.setdefault(direction, [])
            threshold = max(MIN_COLOUR_SHARE, OUTSTANDING * float(np.median(ordinary or [0.0])))
            ordinary.append(share)
            if share < threshold or len(ordinary) <= SETTLING_OBSERVATIONS:
                continue
            if structure(image) < MIN_STRUCTURE_SHARE:
                continue
            position, sensor = self._place(observation, direction)
            if any(np.linalg.norm(position - p) < SAME_OBJECT_M for p in self._reported):
                continue
            self._reported.append(position)
            x, y, z = (float(v) for v in position)
            reports.append(
                FindReport(
                    label=self._goal.target_label,
                    position=(x, y, z),
                    sigma=4.0,
                    sensor=sensor,
                    direction=direction,
                    observation_index=observation.index,
                    stamp=observation.stamp,
                )
            )
        return tuple(reports)

    def _place(self, observation: Observation, direction: str) -> tuple[Array, str]:
        """Return where the object in a direction lies in odom, and the sensor that ranged it."""
        pose = observation.navigation.pose
        ping = observation.sonars.get(direction)
        if ping is not None:
            spec = observation.sonar_geometry[direction]
            contacts = sonar_contacts(ping, spec)
            if contacts:
                # The sonar frame has z forward, x up, y starboard; azimuth is positive to port.
                nearest = min(contacts, key=lambda c: c.range)
                beam = np.array([0.0, -math.sin(nearest.azimuth), math.cos(nearest.azimuth)])
                in_body = rotation_matrix(sonar_orientation(direction)) @ beam * nearest.range
                return pose.apply(in_body), 'sonar'
        boresight = np.asarray(SENSOR_AXES[direction][0])
        reach = observation.navigation.altitude if direction == 'down' else CAMERA_REACH_M
        return pose.apply(boresight * min(reach, 2 * CAMERA_REACH_M)), 'camera'

    def _move(self, observation: Observation) -> tuple[Action, float]:
        if self._pattern is None:
            start = observation.navigation.pose.position
            self._pattern = SearchPattern.of(self._goal, start)
        ahead = math.inf
        if 'front' in observation.sonars:
            ahead = nearest_return(
                observation.sonars['front'],
                observation.sonar_geometry['front'],
                sector=FORWARD_SECTOR_RAD,
            )
        return self._pattern.move(observation.navigation, ahead) or (Action.STOP, 0.0)
