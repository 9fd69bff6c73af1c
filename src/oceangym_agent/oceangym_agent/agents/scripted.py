"""Agents that never look: the floor that any score must be read against."""

from __future__ import annotations

import math

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.steering import steer
from oceangym_core.contract.actions import Action, ROTATIONS, TRANSLATIONS
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.rng import generator


class IdleAgent:
    """Holds its position until the time is up."""

    privileged = False

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode."""

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Hold."""
        return Turn(decision=Decision(index=observation.index, action=Action.HOLD))


class RandomAgent:
    """Draws each of the eight moves with a uniform magnitude; reports nothing."""

    privileged = False

    def __init__(self, *, seed: int) -> None:
        self._seed = seed

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode."""
        self._rng = generator(self._seed, 'random_agent')

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Draw a move."""
        moves = sorted(TRANSLATIONS | ROTATIONS)
        action = moves[int(self._rng.integers(len(moves)))]
        magnitude = self._rng.uniform(0, 180.0 if action in ROTATIONS else 20.0)
        return Turn(
            decision=Decision(
                index=observation.index, action=action, magnitude=round(float(magnitude), 2)
            )
        )


class BlindSpamAgent:
    """Flies rectangles around the middle of the bounds and reports every target at each step.

    The exploit that eq. 7 rewards: nothing is looked at, everything is reported found.
    """

    privileged = False

    SIDES = (260.0, 200.0)
    CRUISE_DEPTH = 30.0

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Lay the rectangle, long side along the longer edge of the bounds."""
        self._label = goal.target_label
        corners = goal.bounds
        centre = [sum(c[k] for c in corners) / len(corners) for k in (0, 1)]
        # The corners may come in any order.
        sides = [(q[0] - corners[0][0], q[1] - corners[0][1]) for q in (corners[1], corners[-1])]
        longer = max(sides, key=lambda side: math.hypot(*side))
        along = math.atan2(longer[1], longer[0])
        cos, sin = math.cos(along), math.sin(along)
        half = [side / 2 for side in self.SIDES]
        self._corners = [
            (centre[0] + cos * u - sin * v, centre[1] + sin * u + cos * v, -self.CRUISE_DEPTH)
            for u, v in (
                (half[0], -half[1]),
                (half[0], half[1]),
                (-half[0], half[1]),
                (-half[0], -half[1]),
            )
        ]
        self._next = 0

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Fly on and report."""
        move = steer(
            observation.navigation.pose, self._corners[self._next], tolerance=3.0, reach=20.0
        )
        if move is None:
            self._next = (self._next + 1) % len(self._corners)
            move = steer(
                observation.navigation.pose, self._corners[self._next], tolerance=3.0, reach=20.0
            )
        action, magnitude = move or (Action.HOLD, 0.0)
        return Turn(
            decision=Decision(
                index=observation.index,
                action=action,
                magnitude=round(magnitude, 3),
                finds=(self._label,),
            ),
            reports=(FindReport(label=self._label, observation_index=observation.index),),
        )
