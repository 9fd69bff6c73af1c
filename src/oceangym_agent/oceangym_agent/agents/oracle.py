"""The upper bound: knows the world and its targets, flies past each, reports what it resolves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
import itertools
import math

import numpy as np

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents.planner import PathPlanner
from oceangym_agent.steering import steer
from oceangym_core.config.tracks import ALL_SENSORS
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array
from oceangym_core.record.episode import resolved
from oceangym_core.world.world import Anchor

# Closest approach [m] that earns a target in full (eq. 7: 30 m), with room for control errors.
FULL_CREDIT_M = 28.0
# Where to look from: distance to the nearest surface [m], near enough for lamps and sonar.
VIEW_CLEARANCE_M = (4.5, 12.0)
VIEW_RADII_M = (0.0, 5.0, 9.0, 13.0, 17.0)
VIEW_HEIGHTS_M = (4.0, 6.0, 8.0, 11.0, 14.0, 18.0, 22.0)
IDEAL_CLEARANCE_M = 6.0
WAYPOINT_TOLERANCE_M = 2.0


class OracleAgent:
    """Plans a collision-free path past every target and reports each when it is perceptible.

    Args:
        sensors: Kinds of sensors in which a target counts as perceptible: ``camera``, ``sonar``.
    """

    privileged = True

    def __init__(self, *, sensors: Collection[str] = ALL_SENSORS) -> None:
        self._sensors = frozenset(sensors)

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Plan in map.

        Raises:
            OceanGymError: The truth is not available to this agent.
        """
        if privilege is None:
            raise OceanGymError('agent:=oracle needs the world and truth topics of a simulator')
        self._privilege = privilege
        self._planner = PathPlanner(privilege.world)
        self._open = list(privilege.targets)
        self._nearest = {anchor.name: math.inf for anchor in privilege.targets}
        self._reported: set[str] = set()
        self._path: list[Array] = []
        self._tried: dict[str, int] = {}

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Report what is in sight, then fly on."""
        if truth is None:
            raise OceanGymError('agent:=oracle got an observation without its truth')
        reports = self._look(observation, truth)
        position = np.asarray(truth.pose.position)
        done = [a for a in self._open if self._is_done(a)]
        if done:
            self._open = [a for a in self._open if a not in done]
            self._path = []
        if not self._open:
            return self._turn(observation, Action.STOP, 0.0, reports)
        move = self._follow(truth)
        if move is None:
            self._path = self._next_path(position)
            move = self._follow(truth) or (Action.HOLD, 0.0)
        return self._turn(observation, *move, reports)

    def _turn(
        self,
        observation: Observation,
        action: Action,
        magnitude: float,
        reports: tuple[FindReport, ...],
    ) -> Turn:
        return Turn(
            decision=Decision(
                index=observation.index,
                action=action,
                magnitude=round(magnitude, 3),
                finds=tuple(r.label for r in reports),
            ),
            reports=reports,
        )

    def _is_done(self, anchor: Anchor) -> bool:
        return anchor.name in self._reported and self._nearest[anchor.name] <= FULL_CREDIT_M

    def _look(self, observation: Observation, truth: StepTruth) -> tuple[FindReport, ...]:
        points = np.vstack([truth.trajectory[:, 1:4], [truth.pose.position]])
        reports: list[FindReport] = []
        for anchor in self._privilege.targets:
            away = float(np.linalg.norm(points - anchor.point, axis=1).min())
            self._nearest[anchor.name] = min(self._nearest[anchor.name], away)
            seen = [
                s
                for s in truth.sightings
                if s.anchor == anchor.name and resolved(s, self._sensors)
            ]
            if anchor.name in self._reported or not seen:
                continue
            self._reported.add(anchor.name)
            x, y, z = self._privilege.shift.points_to_odom(np.array([anchor.point]))[0]
            kind, _, direction = seen[0].sensor.partition('/')
            reports.append(
                FindReport(
                    label=anchor.label,
                    position=(float(x), float(y), float(z)),
                    sensor=kind,
                    direction=direction,
                    observation_index=observation.index,
                    stamp=observation.stamp,
                )
            )
        return tuple(reports)

    def _follow(self, truth: StepTruth) -> tuple[Action, float] | None:
        while self._path:
            move = steer(
                truth.pose,
                tuple(self._path[0]),
                tolerance=WAYPOINT_TOLERANCE_M,
                reach=self._planner.settings.reach,
            )
            if move is not None:
                return move
            self._path.pop(0)
        return None

    def _next_path(self, position: Array) -> list[Array]:
        """Return the way to the best viewpoint of the first target of the shortest tour."""
        tour = min(
            itertools.permutations(self._open),
            key=lambda order: _tour_length(position, [a.point for a in order]),
        )
        for anchor in tour:
            views = self._viewpoints(anchor, position)
            skip = self._tried.get(anchor.name, 0)
            for index, view in enumerate(views[skip:]):
                path = self._planner.plan(position, view)
                if path:
                    # Standing at a viewpoint that shows nothing, the next one is tried.
                    self._tried[anchor.name] = skip + index + 1
                    return path
            self._tried[anchor.name] = 0
        return []

    def _viewpoints(self, anchor: Anchor, position: Array) -> list[Array]:
        point = np.asarray(anchor.point)
        bearings = np.arange(16) * math.pi / 8
        candidates = np.array(
            [
                point + np.array([radius * math.cos(b), radius * math.sin(b), height])
                for radius in VIEW_RADII_M
                for b in (bearings if radius > 0 else bearings[:1])
                for height in VIEW_HEIGHTS_M
            ]
        )
        bounds, margin = self._privilege.world.bounds, self._planner.settings.margin
        inside = np.all(candidates[:, :2] > np.asarray(bounds.lower)[:2] + margin, axis=1)
        inside &= np.all(candidates[:, :2] < np.asarray(bounds.upper)[:2] - margin, axis=1)
        inside &= candidates[:, 2] < -2.0
        clearance = self._planner.clearance(candidates)
        away = np.linalg.norm(candidates - point, axis=1)
        low, high = VIEW_CLEARANCE_M
        good = inside & (clearance >= low) & (clearance <= high) & (away <= FULL_CREDIT_M - 4.0)
        # Near, not far aside, and on the side that the vehicle comes from.
        rank = (
            np.abs(clearance - IDEAL_CLEARANCE_M)
            + 0.5 * np.linalg.norm(candidates[:, :2] - point[:2], axis=1)
            + 0.05 * np.linalg.norm(candidates - position, axis=1)
        )
        order = np.argsort(np.where(good, rank, np.inf), kind='stable')[: int(good.sum())]
        return [candidates[k] for k in order[::3]]


def _tour_length(start: Array, points: Sequence[Sequence[float]]) -> float:
    stops = [start, *(np.asarray(p) for p in points)]
    return sum(float(np.linalg.norm(b - a)) for a, b in itertools.pairwise(stops))
