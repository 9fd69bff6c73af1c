"""The ceiling of a search: the surveyor's own pattern with perfect recognition."""

from __future__ import annotations

import math

import numpy as np

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents.oracle import OracleAgent
from oceangym_agent.agents.search_pattern import SearchPattern, STAND_OFF_M
from oceangym_core.contract.actions import Action
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.errors import OceanGymError

# How far ahead obstacles are looked for, and what counts as one [m].
LOOK_AHEAD_M = 30.0
OBSTACLE_M = 2.5


class PerfectEyesAgent(OracleAgent):
    """Flies the pattern of `SurveyAgent`, and knows a target once its sensors show it.

    Each target is reported with its true place in the first observation in which it is perceptible
    to the sensors of the track; then the vehicle goes near enough for the full score and searches on.

    Args:
        sensors: Kinds of sensors that count: ``camera``, ``sonar``.
    """

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode; nothing is known of the targets' places yet."""
        super().begin(goal, privilege)
        self._goal = goal
        self._pattern: SearchPattern | None = None
        self._open = []

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Report what has come into sight and go there, else search on."""
        if truth is None:
            raise OceanGymError('agent:=perfect_eyes got an observation without its truth')
        if self._pattern is None:
            self._pattern = SearchPattern.of(self._goal, observation.navigation.pose.position)
        known = set(self._reported)
        reports = self._look(observation, truth)
        found = [t for t in self._privilege.targets if t.name in self._reported - known]
        self._open = [a for a in (*self._open, *found) if not self._is_done(a)]
        if found:
            self._path = []
        move = self._approach(truth) if self._open else None
        if move is None and len(self._reported) < len(self._privilege.targets):
            ahead = self._free_way(truth)
            move = self._pattern.move(observation.navigation, ahead)
        return self._turn(observation, *(move or (Action.STOP, 0.0)), reports)

    def _approach(self, truth: StepTruth) -> tuple[Action, float] | None:
        """Return the next maneuver towards the targets in sight; None if no way leads there."""
        move = self._follow(truth)
        if move is None:
            self._path = self._next_path(np.asarray(truth.pose.position))
            move = self._follow(truth)
        if move is None:
            self._open = []
        return move

    def _free_way(self, truth: StepTruth) -> float:
        """Return how far ahead the way is free [m], as a forward sonar would tell."""
        steps = np.arange(STAND_OFF_M / 2, LOOK_AHEAD_M, 1.0)
        forward = truth.pose.rotation @ np.array([1.0, 0.0, 0.0])
        forward = np.array([forward[0], forward[1], 0.0]) / max(math.hypot(*forward[:2]), 1e-9)
        points = np.asarray(truth.pose.position) + steps[:, None] * forward
        blocked = self._planner.clearance(points) < OBSTACLE_M
        return float(steps[int(np.argmax(blocked))]) if blocked.any() else math.inf
