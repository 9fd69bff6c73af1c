"""What a scorer returns, and the distance score that all scorers share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array

# Thresholds of eq. 7 [m].
FULL_SCORE_M = 30.0
NO_SCORE_M = 100.0


@dataclass(frozen=True, kw_only=True)
class TargetScore:
    """One target's part of a score.

    Attributes:
        name: The target.
        weight: Its share.
        counted: Whether it counts as found by the scorer's rule.
        distance: The distance that was scored [m]; None where none was.
        score: 0..100 before weighting.
    """

    name: str
    weight: float
    counted: bool
    distance: float | None
    score: float


@dataclass(frozen=True, kw_only=True)
class ScoreResult:
    """A scorer's result. An episode that cannot be scored has no score, and the reason; never 0."""

    scorer: str
    score: float | None
    reason: str = ''
    targets: tuple[TargetScore, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        """Whether there is a score."""
        return self.score is not None

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        content: dict[str, Any] = {
            'status': 'scored' if self.scored else 'unscored',
            'score': self.score,
        }
        if self.reason:
            content['reason'] = self.reason
        content['targets'] = [
            {
                'name': t.name,
                'weight': t.weight,
                'counted': t.counted,
                'distance': t.distance,
                'score': t.score,
            }
            for t in self.targets
        ]
        return {**content, **self.details}


def distance_score(distance: float) -> float:
    """Return S of a distance [m], 0..100 (paper, eq. 7).

    Raises:
        OceanGymError: The distance is not a finite number >= 0.
    """
    if not (np.isfinite(distance) and distance >= 0):
        raise OceanGymError(f'distance {distance} cannot be scored; it must be finite and >= 0 m')
    if distance <= FULL_SCORE_M:
        return 100.0
    if distance > NO_SCORE_M:
        return 0.0
    return 100.0 * (NO_SCORE_M - distance) / (NO_SCORE_M - FULL_SCORE_M)


def closest_distances(positions: ArrayLike, points: Sequence[Sequence[float]]) -> Array:
    """Return the distance [m] of each point to the nearest of some positions (N, 3), Euclidean.

    Raises:
        OceanGymError: There are no positions, or one is not finite.
    """
    where = np.asarray(positions, dtype=float).reshape(-1, 3)
    if not len(where):
        raise OceanGymError('there are no positions to score')
    if not np.isfinite(where).all():
        raise OceanGymError('a position is not finite and cannot be scored')
    targets = np.asarray(points, dtype=float).reshape(-1, 3)
    gaps: Array = np.linalg.norm(where[:, None, :] - targets[None, :, :], axis=2).min(axis=0)
    return gaps
