"""Everything that a run directory holds, as far as it got."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oceangym_agent.trace import read_trace, TRACE_FILE, TraceStep
from oceangym_core.errors import OceanGymError
from oceangym_core.files import read_json
from oceangym_core.record.episode import Episode
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import RecordedDecision, RecordedManeuver
from oceangym_core.scoring.score import score_episode

# What the page shows of a score.json.
_FIGURES = frozenset(
    {'scorers', 'targets', 'reports', 'safety', 'measures', 'path', 'time_to_first_sight_s'}
)


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """A run as recorded.

    Attributes:
        directory: Of the run.
        episode: What scorers take.
        score: Content of ``score.json``; scored anew where there is none.
        trace: Observation index -> what the model was told and answered there.
        notes: What was missing or cut off.
    """

    directory: Path
    episode: Episode
    score: Mapping[str, Any]
    trace: Mapping[int, TraceStep]
    notes: tuple[str, ...]

    def decision_on(self, index: int) -> RecordedDecision | None:
        """Return the decision that was taken on an observation, None where there is none."""
        following = self.episode.step_of.get(index + 1)
        if following is not None:
            return following.decision
        last = index == self.episode.steps[-1].index
        return self.episode.last_decision if last else None

    def maneuver_after(self, index: int) -> RecordedManeuver | None:
        """Return the maneuver that followed an observation; None where there is none."""
        following = self.episode.step_of.get(index + 1)
        return None if following is None else following.maneuver

    def latency_on(self, index: int) -> float | None:
        """Return the wall time of the decision taken on an observation [s]."""
        following = self.episode.step_of.get(index + 1) or self.episode.end
        return None if following is None else following.wall.latency_s


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def read_run(directory: Path) -> RunRecord:
    """Read a run directory, finished or killed.

    Raises:
        OceanGymError: There is no record, or it is damaged before its last line.
    """
    episode = load_episode(directory)
    notes = list(episode.notes)
    return RunRecord(
        directory=directory,
        episode=episode,
        score=_score(directory, episode, notes),
        trace=_trace(directory, notes),
        notes=tuple(dict.fromkeys(notes)),
    )


def _score(directory: Path, episode: Episode, notes: list[str]) -> Mapping[str, Any]:
    path = directory / 'score.json'
    if path.is_file():
        try:
            score = read_json(path)
        except OceanGymError as error:
            notes.append(f'{error}; scored anew')
        else:
            if isinstance(score, dict) and score.keys() >= _FIGURES:
                return score
            notes.append('score.json is of another version; scored anew')
    else:
        notes.append('score.json is missing: scored from the record as far as it goes')
    return score_episode(episode)


def _trace(directory: Path, notes: list[str]) -> Mapping[int, TraceStep]:
    if not (directory / TRACE_FILE).is_file():
        return {}
    try:
        return {step.index: step for step in read_trace(directory)}
    except OceanGymError as error:
        notes.append(f'What was said to the model is not shown: {error}')
        return {}
