"""Where an episode stopped on the way from not seeing a target to a verified find."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oceangym_core.record.episode import Episode
from oceangym_core.scoring.results import FULL_SCORE_M
from oceangym_core.scoring.verified import JudgedReport, REPORT_RADIUS_M, Verdict


@dataclass(frozen=True, kw_only=True)
class TargetFunnel:
    """One target's way. Each stage asks for all stages before it.

    Attributes:
        name: The target.
        in_view: It was perceptible to the agent's sensors in some observation.
        reported: Some report was about it, that is, lay nearest to it of all targets.
        right_label: One of those had its label.
        within_30m: One of those lay within 30 m of its footprint.
        verified: One of those was a true find.
        mislabelled: Reports that would have been true finds of it under its name; not a stage.
        first_sight: Time from the start until it was first perceptible [s]; None if never.
    """

    name: str
    in_view: bool
    reported: bool
    right_label: bool
    within_30m: bool
    verified: bool
    mislabelled: int
    first_sight: float | None


STAGES = ('in_view', 'reported', 'right_label', 'within_30m', 'verified')


def funnel(episode: Episode, judged: tuple[JudgedReport, ...]) -> tuple[TargetFunnel, ...]:
    """Return each target's funnel."""
    targets = episode.info.targets
    about: dict[str, list[tuple[JudgedReport, float]]] = {t.name: [] for t in targets}
    for item in judged:
        if item.place is None:
            continue
        gaps = [float(t.footprint.distance(item.place)[0]) for t in targets]
        name = targets[int(np.argmin(gaps))].name
        if item.verdict is Verdict.TRUE_FIND and item.target is not None:
            name = item.target
        gap = gaps[[t.name for t in targets].index(name)]
        about[name].append((item, gap))
    rows = []
    for target in targets:
        sight = next((s.t for s in episode.steps if episode.perceptible(s, target.name)), None)
        reports = about[target.name]
        named = [(j, gap) for j, gap in reports if target.is_called(j.report.label)]
        near = [(j, gap) for j, gap in named if gap <= FULL_SCORE_M]
        in_view = sight is not None
        mislabelled = [
            j
            for j, gap in reports
            if j.verdict is Verdict.WRONG_LABEL
            and gap <= REPORT_RADIUS_M
            and episode.perceptible(episode.step_of[j.report.observation_index], target.name)
        ]
        rows.append(
            TargetFunnel(
                name=target.name,
                in_view=in_view,
                reported=in_view and bool(reports),
                right_label=in_view and bool(named),
                within_30m=in_view and bool(near),
                verified=any(j.verdict is Verdict.TRUE_FIND for j, _ in near),
                mislabelled=len(mislabelled),
                first_sight=None if sight is None else sight - episode.steps[0].t,
            )
        )
    return tuple(rows)
