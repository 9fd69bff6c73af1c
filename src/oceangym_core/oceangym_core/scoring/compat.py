"""The released evaluator's score to the last digit, its quirks included.

Of a memory file only the last location counts, of an important-memory file the single location
nearest to the task's first target point; from that one location the distances to all target points
are sorted, and the nearest gets the largest weight. The better of the two files is the score.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import math
import statistics

from oceangym_core.errors import OceanGymError
from oceangym_core.files import Vector
from oceangym_core.record.episode import Episode
from oceangym_core.record.memory_files import MemoryEntry
from oceangym_core.record.result_tree import FileGroup
from oceangym_core.scoring.results import distance_score, ScoreResult

# Target points of the released evaluator by task number [m].
RELEASED_TARGETS: dict[int, tuple[Vector, ...]] = {
    1: ((-71, 149, -61), (325, -47, -83)),
    2: ((345, -165, -32), (539, -233, -42), (207, -30, -66)),
    3: ((447, -203, -98),),
    4: ((429, -151, -69), (78, -11, -47)),
    5: ((168, 168, -65),),
    6: ((207, -30, -66),),
    7: ((40, -9, -54), (296, 78, -70), (292, -186, -67)),
    8: ((267, 33, -80),),
}
# The deep tasks look for the same things: 9 the pipeline, 10 drums, 11 ships, 12 the turbine.
RELEASED_TARGETS |= {deep: RELEASED_TARGETS[n] for deep, n in ((9, 2), (10, 3), (11, 4), (12, 6))}

_WEIGHTS: dict[int, tuple[float, ...]] = {1: (100.0,), 2: (60.0, 40.0), 3: (60.0, 20.0, 20.0)}


@dataclass(frozen=True, kw_only=True)
class PointScore:
    """One start point's file groups: their scores, mean and sample deviation (0 for one group)."""

    scores: tuple[float, ...]
    average: float
    std: float


@dataclass(frozen=True, kw_only=True)
class TaskScore:
    """The released evaluator's numbers of one task.

    Attributes:
        average: Over all groups of all points.
        best: The best group.
        std: Sample deviation of the points' deviations, as released (not of their averages).
        points: By directory name.
    """

    average: float
    best: float
    std: float
    points: dict[str, PointScore]


def score_location(location: Vector, targets: Sequence[Vector]) -> float:
    """Return the weighted score of one location [m].

    Raises:
        OceanGymError: There are no targets, or the location is not finite.
    """
    if not targets:
        raise OceanGymError('a task without target points cannot be scored')
    distances = sorted(math.dist(location, target) for target in targets)
    weights = _WEIGHTS[min(len(targets), 3)]
    # Not zip(strict): of more than three points the released evaluator takes the nearest three.
    return sum(w * distance_score(d) / 100.0 for w, d in zip(weights, distances))


def score_memory(entries: Iterable[MemoryEntry], targets: Sequence[Vector]) -> float:
    """Return the score of a memory file: its last location; 0 if there is none."""
    locations = [entry.location for entry in entries if entry.location is not None]
    return score_location(locations[-1], targets) if locations else 0.0


def score_important(entries: Iterable[MemoryEntry], targets: Sequence[Vector]) -> float:
    """Return the score of an important-memory file: its location nearest to the first target."""
    locations = [entry.location for entry in entries if entry.location is not None]
    if not locations:
        return 0.0
    return score_location(min(locations, key=lambda at: math.dist(at, targets[0])), targets)


def score_group(group: FileGroup, targets: Sequence[Vector]) -> float:
    """Return the better score of a run's two files."""
    scores = []
    if group.memory is not None:
        scores.append(score_memory(group.memory, targets))
    if group.important is not None:
        scores.append(score_important(group.important, targets))
    return max(scores)


def score_task(points: dict[str, tuple[FileGroup, ...]], targets: Sequence[Vector]) -> TaskScore:
    """Return the released evaluator's numbers of one task.

    Args:
        points: Start-point directory -> its file groups.
        targets: Of the task [m].
    """
    by_point: dict[str, PointScore] = {}
    for name, groups in points.items():
        scores = tuple(score_group(group, targets) for group in groups)
        by_point[name] = summarise(scores)
    everything = [score for point in by_point.values() for score in point.scores]
    return task_of(by_point, everything)


def summarise(scores: tuple[float, ...]) -> PointScore:
    """Return mean and sample deviation of a point's groups."""
    return PointScore(scores=scores, average=statistics.fmean(scores), std=_sample_std(scores))


def task_of(points: dict[str, PointScore], everything: Sequence[float]) -> TaskScore:
    """Return the task's numbers from its points."""
    return TaskScore(
        average=statistics.fmean(everything),
        best=max(everything),
        std=_sample_std([point.std for point in points.values()]),
        points=points,
    )


def _sample_std(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def score_compat(episode: Episode) -> ScoreResult:
    """Score an episode's memory files as the released evaluator would, back in map."""
    if not episode.has_truth:
        return ScoreResult(scorer='compat', score=None, reason='the record holds no truth')
    if not any(e.location is not None for e in (*episode.memory, *episode.important)):
        return ScoreResult(scorer='compat', score=None, reason='the memory files hold no location')
    targets = [target.point for target in episode.info.targets]
    group = FileGroup(
        stamp='',
        memory=_in_map(episode, episode.memory),
        important=_in_map(episode, episode.important),
    )
    return ScoreResult(
        scorer='compat',
        score=score_group(group, targets),
        details={
            'memory': score_memory(group.memory or (), targets),
            'important': score_important(group.important or (), targets),
        },
    )


def _in_map(episode: Episode, entries: tuple[MemoryEntry, ...]) -> tuple[MemoryEntry, ...]:
    moved = []
    for entry in entries:
        location = entry.location
        if location is not None:
            x, y, z = (float(v) for v in episode.info.shift.points_to_map(location))
            location = (x, y, z)
        moved.append(MemoryEntry(location=location))
    return tuple(moved)
