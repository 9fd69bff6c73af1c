"""Repeats the decisions and reports of a recorded run."""

from __future__ import annotations

from pathlib import Path

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_core.contract import Action
from oceangym_core.decisions import Decision
from oceangym_core.observation import Observation, StepTruth
from oceangym_core.record import load_episode


class ReplayAgent:
    """Answers observation k with what was decided and reported on observation k of the record."""

    privileged = False

    def __init__(self, *, run: Path) -> None:
        self._episode = load_episode(run)

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Index the record by observation."""
        self._turns = recorded_turns(self._episode)

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Repeat the record; stop where it ends."""
        turn = self._turns.get(observation.index)
        if turn is None:
            return Turn(decision=Decision(index=observation.index, action=Action.STOP))
        return turn
