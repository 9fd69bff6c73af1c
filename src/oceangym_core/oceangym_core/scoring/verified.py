"""The headline score: only reports that are right, near enough and based on something seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from oceangym_core.config.tasks import Target
from oceangym_core.geometry import Array
from oceangym_core.record.episode import Episode
from oceangym_core.record.schema import RecordedReport
from oceangym_core.scoring.results import (
    closest_distances,
    distance_score,
    ScoreResult,
    TargetScore,
)

# A report's place may be this far from the target's footprint [m].
REPORT_RADIUS_M = 15.0
# And so far from a structure to be a report of one of its other places [m].
STRUCTURE_RADIUS_M = 10.0


class Verdict(str, Enum):
    """What a report was worth.

    REPEAT (of a target found before) and ALONG (on a structure such as the pipeline, at none of its
    stations that score) are neutral, everything but TRUE_FIND else is false.
    """

    TRUE_FIND = 'true_find'
    REPEAT = 'repeat'
    ALONG = 'along'
    WRONG_LABEL = 'wrong_label'
    TOO_FAR = 'too_far'
    NOT_PERCEPTIBLE = 'not_perceptible'
    NO_OBSERVATION = 'no_observation'

    @property
    def false(self) -> bool:
        """Whether it counts against the agent."""
        return self not in (Verdict.TRUE_FIND, Verdict.REPEAT, Verdict.ALONG)


@dataclass(frozen=True, kw_only=True)
class JudgedReport:
    """A report with its verdict.

    Attributes:
        report: As recorded.
        verdict: What it was worth.
        target: The target it was held against, the nearest; None without a place.
        distance: From its place to that target's footprint [m].
        place: In map [m].
    """

    report: RecordedReport
    verdict: Verdict
    target: str | None
    distance: float | None
    place: tuple[float, float, float] | None


def judge_reports(episode: Episode) -> tuple[JudgedReport, ...]:
    """Judge every accepted report in the order made.

    A report is a true find if its label is right, its place lies within 15 m of the footprint of
    the nearest target of that label that was not found before, and that target was perceptible in
    the observation reported on by the sensors that the agent is given. Another one at a target
    already found is a repeat.
    """
    found: set[str] = set()
    judged = []
    for report in episode.reports:
        verdict = _judge(episode, report, found)
        if verdict.verdict is Verdict.TRUE_FIND and verdict.target is not None:
            found.add(verdict.target)
        judged.append(verdict)
    return tuple(judged)


def _judge(episode: Episode, report: RecordedReport, found: set[str]) -> JudgedReport:
    place = episode.place_in_map(report)
    if place is None:
        return JudgedReport(
            report=report, verdict=Verdict.NO_OBSERVATION, target=None, distance=None, place=None
        )
    where = (float(place[0]), float(place[1]), float(place[2]))

    def result(verdict: Verdict, target: Target, distance: float) -> JudgedReport:
        return JudgedReport(
            report=report, verdict=verdict, target=target.name, distance=distance, place=where
        )

    named = [t for t in episode.info.targets if t.is_called(report.label)]
    if not named:
        return result(Verdict.WRONG_LABEL, *_nearest(episode.info.targets, place))
    open_targets = [t for t in named if t.name not in found]
    if open_targets:
        target, distance = _nearest(open_targets, place)
        if distance <= REPORT_RADIUS_M and episode.perceptible(
            episode.step_of[report.observation_index], target.name
        ):
            return result(Verdict.TRUE_FIND, target, distance)
    known = [t for t in named if t.name in found]
    if known:
        target, distance = _nearest(known, place)
        if distance <= REPORT_RADIUS_M:
            return result(Verdict.REPEAT, target, distance)
    target, distance = _nearest(open_targets or named, place)
    structures = [t.structure for t in named if t.structure is not None]
    along = any(s.distance(place)[0] <= STRUCTURE_RADIUS_M for s in structures)
    if distance > REPORT_RADIUS_M and along:
        return result(Verdict.ALONG, target, distance)
    verdict = Verdict.NOT_PERCEPTIBLE if distance <= REPORT_RADIUS_M else Verdict.TOO_FAR
    return result(verdict, target, distance)


def _nearest(targets: Sequence[Target], place: Array) -> tuple[Target, float]:
    distances = [float(t.footprint.distance(place)[0]) for t in targets]
    index = int(np.argmin(distances))
    return targets[index], distances[index]


def score_verified(episode: Episode) -> ScoreResult:
    """Score an episode by its true finds.

    S_i of eq. 7 from the closest point of the true trajectory, 0 for a target without a true find;
    the weighted sum times n_true / (n_true + n_false).
    """
    if not episode.has_truth:
        return ScoreResult(scorer='verified', score=None, reason='the record holds no truth')
    judged = judge_reports(episode)
    found = {j.target for j in judged if j.verdict is Verdict.TRUE_FIND}
    n_true, n_false = len(found), sum(j.verdict.false for j in judged)
    targets = episode.info.targets
    closest = closest_distances(episode.trajectory[:, 1:4], [t.point for t in targets])
    parts = [
        TargetScore(
            name=t.name,
            weight=t.weight,
            counted=t.name in found,
            distance=float(gap),
            score=distance_score(float(gap)) if t.name in found else 0.0,
        )
        for t, gap in zip(targets, closest, strict=True)
    ]
    precision = n_true / (n_true + n_false) if n_true else 0.0
    return ScoreResult(
        scorer='verified',
        score=sum(part.weight * part.score for part in parts) * precision,
        targets=tuple(parts),
        details={
            'true_finds': n_true,
            'false_finds': n_false,
            'repeats': sum(j.verdict is Verdict.REPEAT for j in judged),
            'along': sum(j.verdict is Verdict.ALONG for j in judged),
        },
    )
