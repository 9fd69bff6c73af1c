"""Repeats the decisions and reports of a recorded run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.record.episode import Episode
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import RecordedDecision, RecordedReport


class ReplayAgent:
    """Answers observation k with what was decided and reported on observation k of the record."""

    privileged = False

    def __init__(self, *, run: Path) -> None:
        self._turns = recorded_turns(load_episode(run))

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode."""

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Repeat the record; stop where it ends."""
        turn = self._turns.get(observation.index)
        if turn is None:
            return Turn(decision=Decision(index=observation.index, action=Action.STOP))
        return turn


def recorded_turns(episode: Episode) -> dict[int, Turn]:
    """Return the turn taken on each observation; a step's line holds what led to it."""
    turns = {
        step.index - 1: _turn(step.index - 1, step.decision, step.reports)
        for step in episode.steps
        if step.decision is not None
    }
    if episode.last_decision is not None:
        last, decision = episode.steps[-1].index, episode.last_decision
        if episode.partial:
            # It was not carried out: the episode was cut short before.
            decision = RecordedDecision(action=Action.STOP)
        turns[last] = _turn(last, decision, episode.last_reports)
    return turns


def _turn(index: int, decision: RecordedDecision, reports: Iterable[RecordedReport]) -> Turn:
    return Turn(
        decision=Decision(
            index=index,
            action=decision.action,
            magnitude=decision.magnitude,
            course=decision.course,
        ),
        reports=tuple(
            FindReport(**report.model_dump(exclude={'accepted'}))
            for report in reports
            if report.accepted
        ),
    )
