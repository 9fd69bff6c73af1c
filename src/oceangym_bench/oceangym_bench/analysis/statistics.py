"""Intervals and tests for scores of few, unequal and often zero episodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from oceangym_core.errors import OceanGymError
from oceangym_core.rng import generator

CONFIDENCE = 0.95
MAX_SCORE = 100.0
RESAMPLES = 10_000
# Up to this many differences all their signs are tried: 65,536 sums.
EXACT_LIMIT = 16

Array = NDArray[np.float64]
# The scores of one task: one sequence a start, one score a repeat at that start.
Starts = Sequence[Sequence[float]]


@dataclass(frozen=True)
class Interval:
    """A confidence interval, both ends included."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, kw_only=True)
class Summary:
    """Mean and spread over starts.

    Attributes:
        starts: Number of starts, the n of `sd`.
        episodes: Number of episodes at them.
        mean: Of the starts' means.
        sd: Sample deviation (ddof 1) of the starts' means; None for one start.
    """

    starts: int
    episodes: int
    mean: float
    sd: float | None


@dataclass(frozen=True, kw_only=True)
class PermutationTest:
    """A paired permutation test.

    Attributes:
        statistic: The weighted mean difference.
        p: Two-sided.
        exact: Whether every assignment of signs was counted, not a sample of them.
    """

    statistic: float
    p: float
    exact: bool


def wilson(successes: int, trials: int, *, confidence: float = CONFIDENCE) -> Interval | None:
    """Return the Wilson score interval of a rate, 0..1; None without trials.

    Raises:
        OceanGymError: The counts are no counts.
    """
    if not 0 <= successes <= trials:
        raise OceanGymError(f'{successes} of {trials} is no rate; need 0 <= successes <= trials')
    if trials == 0:
        return None
    found = stats.binomtest(successes, trials).proportion_ci(confidence, method='wilson')
    return Interval(float(found.low), float(found.high))


def summarise(starts: Starts) -> Summary:
    """Return mean and sample deviation over starts; repeats at a start are averaged first.

    Raises:
        OceanGymError: There are no scores, or one is not finite.
    """
    groups = _groups(starts)
    means = np.array([group.mean() for group in groups])
    return Summary(
        starts=len(means),
        episodes=sum(len(group) for group in groups),
        mean=float(means.mean()),
        sd=float(means.std(ddof=1)) if len(means) > 1 else None,
    )


def bootstrap_interval(
    tasks: Sequence[Starts],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """Return the interval of the mean over tasks of the mean over starts of the mean over repeats.

    The tasks of a benchmark are fixed; within each, starts are drawn with replacement, then repeats
    within each drawn start. The percentiles are widened for few starts as Student's t is against the
    normal distribution and for the narrowness of resampled means (Hesterberg 2015, "What teachers
    should know about the bootstrap", The American Statistician 69(4), section 4: expanded
    percentiles), which keeps the interval within the range of scores.

    Args:
        tasks: One entry a task (one for a single cell of a table).
        seed: Of the resampling; the same scores and seed give the same interval.
        resamples: How many.
        confidence: Of the interval.

    Returns:
        None where a task has one start only: its spread over starts is unknown.

    Raises:
        OceanGymError: There are no scores, or one is not finite.
    """
    grouped = [_groups(starts) for starts in tasks]
    if not grouped:
        raise OceanGymError('there are no scores to make an interval of')
    if any(len(groups) < 2 for groups in grouped):
        return None
    means = np.zeros(resamples)
    for number, groups in enumerate(grouped):
        random = generator(seed, 'bootstrap', number)
        means += _resampled_means(groups, resamples, random) / len(grouped)
    total = sum(len(groups) for groups in grouped)
    freedom = total - len(grouped)
    spread = float(stats.t.ppf((1 + confidence) / 2, freedom)) * math.sqrt(total / freedom)
    tail = float(stats.norm.cdf(-spread))
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(low), float(high))


def score_interval(
    tasks: Sequence[Starts],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """Return the interval of a mean of scores, which lie within 0..100.

    A bootstrap cannot draw what was not seen: of starts that all scored 0 it makes [0, 0]. The
    interval is therefore widened to what bounded scores allow: weights of starts are drawn from a
    Dirichlet distribution with one start more, which scores 100 for the upper end and 0 for the lower
    one (Gaffke 2005; Learned-Miller and Thomas 2019, "A new confidence interval for the mean of a
    bounded random variable", arXiv 1905.06208). For scores of 0 and 100 alone these are the bounds of
    Clopper and Pearson. In a mean over tasks the tasks share that start.

    Args:
        tasks: One entry a task (one for a single cell of a table).
        seed: Of the resampling; the same scores and seed give the same interval.
        resamples: How many.
        confidence: Of the interval.

    Returns:
        None where a task has one start only.

    Raises:
        OceanGymError: There are no scores, or one is not finite.
    """
    resampled = bootstrap_interval(tasks, seed=seed, resamples=resamples, confidence=confidence)
    if resampled is None:
        return None
    lower, upper = np.zeros(resamples), np.zeros(resamples)
    for number, starts in enumerate(tasks):
        random = generator(seed, 'unseen starts', number)
        means = np.array([group.mean() for group in _groups(starts)])
        weights = random.exponential(size=(resamples, len(means)))
        unseen = random.gamma(1.0 / len(tasks), size=resamples)
        share = len(tasks) * (weights.sum(axis=1) + unseen)
        lower += weights @ means / share
        upper += (weights @ means + MAX_SCORE * unseen) / share
    tail = (1 - confidence) / 2
    return Interval(
        min(resampled.low, float(np.quantile(lower, tail))),
        max(resampled.high, float(np.quantile(upper, 1 - tail))),
    )


def ratio_interval(
    tasks: Sequence[Sequence[tuple[float, float]]],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Interval | None:
    """Return the interval of a mean of scores over another mean at the same starts.

    Starts are drawn anew within each task, both scores together. One further start, shared by the
    tasks as in `score_interval`, at which both scored 100, gives the upper end room where nothing was
    found.

    Args:
        tasks: One entry a task: the two scores of each start.
        seed: Of the resampling.
        resamples: How many.
        confidence: Of the interval.

    Returns:
        None where a task has one start only, or where the second mean is 0.

    Raises:
        OceanGymError: There are no scores, or one is not finite.
    """
    pairs = [np.stack(_groups(task)) for task in tasks]
    if not pairs:
        raise OceanGymError('there are no scores to make an interval of')
    below = sum(float(pair[:, 1].mean()) for pair in pairs)
    if below <= 0 or any(len(pair) < 2 for pair in pairs):
        return None
    drawn, widened = np.zeros((resamples, 2)), np.zeros((resamples, 2))
    for number, pair in enumerate(pairs):
        random = generator(seed, 'ratio', number)
        drawn += pair[random.integers(len(pair), size=(resamples, len(pair)))].mean(axis=1)
        weights = random.exponential(size=(resamples, len(pair)))
        unseen = random.gamma(1.0 / len(pairs), size=(resamples, 1))
        share = weights.sum(axis=1, keepdims=True) + unseen
        widened += (weights @ pair + MAX_SCORE * unseen) / share
    tail = (1 - confidence) / 2
    # Where a draw holds no find of the second at all, the ratio has no upper end.
    with np.errstate(divide='ignore', invalid='ignore'):
        ratios = np.nan_to_num(drawn[:, 0] / drawn[:, 1], nan=0.0, posinf=np.inf)
    high = max(
        float(np.quantile(ratios, 1 - tail, method='higher')),
        float(np.quantile(widened[:, 0] / widened[:, 1], 1 - tail)),
    )
    return Interval(float(np.quantile(ratios, tail, method='lower')), high)


def _groups(starts: Starts) -> list[Array]:
    groups = [np.asarray(scores, dtype=np.float64) for scores in starts]
    if not groups or any(group.size == 0 for group in groups):
        raise OceanGymError('there are no scores to summarise')
    if not all(np.isfinite(group).all() for group in groups):
        raise OceanGymError('a score is not finite and cannot be summarised')
    return groups


def _resampled_means(groups: list[Array], resamples: int, random: np.random.Generator) -> Array:
    """Return one mean a resample (resamples,)."""
    counts = np.array([len(group) for group in groups])
    most = int(counts.max())
    table = np.zeros((len(groups), most))
    for row, group in zip(table, groups, strict=True):
        row[: len(group)] = group
    drawn = random.integers(len(groups), size=(resamples, len(groups)))
    if most == 1:
        single: Array = table[drawn, 0].mean(axis=1)
        return single
    repeats = random.random((resamples, len(groups), most)) * counts[drawn][..., None]
    values = table[drawn[..., None], repeats.astype(np.intp)]
    used = np.arange(most) < counts[drawn][..., None]
    means: Array = ((values * used).sum(axis=2) / counts[drawn]).mean(axis=1)
    return means


def paired_permutation(
    differences: Sequence[float],
    *,
    weights: Sequence[float] | None = None,
    seed: int = 0,
    resamples: int = 2 * RESAMPLES,
) -> PermutationTest:
    """Test whether paired differences are symmetric about 0.

    If two models are the same, each pair could as well have come out the other way round: the
    weighted mean is compared with those of all assignments of signs, or of a seeded sample of them
    (counting the observed one, so that p is never 0).

    Args:
        differences: One a start (or other unit that was drawn independently).
        weights: Of the differences in the mean; equal if not given.
        seed: Of the sample.
        resamples: Size of the sample where there are too many assignments to try all.

    Raises:
        OceanGymError: There are no differences, or one is not finite.
    """
    (values,) = _groups([differences])
    shares = np.full(len(values), 1.0) if weights is None else np.asarray(weights, dtype=float)
    if shares.shape != values.shape or not (shares > 0).all():
        raise OceanGymError('each difference needs one weight above 0')
    parts = values * shares / shares.sum()
    observed = float(parts.sum())
    # Sums of the same numbers in another order differ in the last digits; they count as equal.
    bar = abs(observed) - 1e-9 * max(float(np.abs(parts).sum()), 1e-300)
    if len(parts) <= EXACT_LIMIT:
        sums = np.zeros(1)
        for part in parts:
            sums = np.concatenate([sums + part, sums - part])
        p = float(np.mean(np.abs(sums) >= bar))
        return PermutationTest(statistic=observed, p=p, exact=True)
    random = generator(seed, 'permutation')
    extreme = 0
    chunk = max(1, 2_000_000 // len(parts))
    for begin in range(0, resamples, chunk):
        size = (min(chunk, resamples - begin), len(parts))
        signs = random.integers(0, 2, size=size, dtype=np.int8) * 2.0 - 1.0
        extreme += int(np.count_nonzero(np.abs(signs @ parts) >= bar))
    return PermutationTest(statistic=observed, p=(1 + extreme) / (1 + resamples), exact=False)


def holm(p_values: Sequence[float]) -> tuple[float, ...]:
    """Return the p values adjusted for their number (Holm 1979), in the order given.

    Raises:
        OceanGymError: One is not within 0..1.
    """
    values = np.asarray(p_values, dtype=float)
    if not ((values >= 0) & (values <= 1)).all():
        raise OceanGymError(f'p values must lie within 0..1; got {list(p_values)}')
    order = np.argsort(values, kind='stable')
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty(len(values))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return tuple(float(p) for p in adjusted)
