"""The paper's score: eq. 7 with weights by point index."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from oceangym_core.record.episode import Episode
from oceangym_core.scoring.results import (
    closest_distances,
    distance_score,
    ScoreResult,
    TargetScore,
)


def score_paper(episode: Episode) -> ScoreResult:
    """Score an episode as section 2.5 of the paper says.

    A target whose label was reported counts with the closest point of the true trajectory, any
    other with the final position; S_i of eq. 7 is weighted by point index. Whether a report is
    true is not asked: `verified` does that.
    """
    if not episode.has_truth:
        return ScoreResult(scorer='paper', score=None, reason='the record holds no truth')
    targets = episode.info.targets
    reported = [any(t.is_called(r.label) for r in episode.reports) for t in targets]
    return weigh(
        names=[t.name for t in targets],
        points=[t.point for t in targets],
        weights=[t.weight for t in targets],
        found=reported,
        trajectory=episode.trajectory[:, 1:4],
        final=episode.final_position,
    )


def weigh(
    *,
    names: Sequence[str],
    points: Sequence[tuple[float, float, float]],
    weights: Sequence[float],
    found: Sequence[bool],
    trajectory: ArrayLike,
    final: ArrayLike,
) -> ScoreResult:
    """Return the weighted eq. 7 over targets.

    Args:
        names: Of the targets.
        points: Of the targets [m].
        weights: By point index.
        found: Whether each was reported.
        trajectory: Positions (N, 3) [m].
        final: The last position (3,) [m].

    Raises:
        OceanGymError: There are no positions, or one is not finite.
    """
    closest = closest_distances(trajectory, points)
    last = closest_distances(np.asarray(final, dtype=float).reshape(1, 3), points)
    parts = [
        TargetScore(
            name=name,
            weight=weight,
            counted=hit,
            distance=float(near if hit else far),
            score=distance_score(float(near if hit else far)),
        )
        for name, weight, hit, near, far in zip(names, weights, found, closest, last, strict=True)
    ]
    total = sum(part.weight * part.score for part in parts)
    return ScoreResult(scorer='paper', score=total, targets=tuple(parts))
