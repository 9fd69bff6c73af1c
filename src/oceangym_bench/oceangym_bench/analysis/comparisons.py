"""Comparisons of paired episodes, and the ranking of systems made of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
import statistics

from oceangym_bench.analysis.comparable import (
    average_over,
    check_comparable,
    check_one_duration,
    labels_of,
    task_order,
    water_order,
)
from oceangym_bench.analysis.results import EpisodeRow, State
from oceangym_bench.analysis.statistics import bootstrap_interval, holm, paired_permutation
from oceangym_bench.analysis.table import Difference, Number, Score, Table

ALPHA = 0.05
# Share of the planned episodes without which a system has no rank.
MIN_COMPLETE = 0.98
Key = Callable[[EpisodeRow], tuple[object, ...]]


def _pair_key(row: EpisodeRow) -> tuple[object, ...]:
    return row.pair_key


def compare(
    ones: Iterable[EpisodeRow],
    others: Iterable[EpisodeRow],
    *,
    scorer: str,
    seed: int = 0,
    key: Key = _pair_key,
) -> Difference:
    """Return how much the others score above the ones, on what both flew.

    Episodes are paired by task, water, start, seeds, profile and duration; repeats of one of these
    are averaged. Pairs of one start are repeats of it: the test turns whole starts around. Tasks
    weigh the same, whatever their number of starts.
    """
    mine, theirs = _scores(ones, scorer, key), _scores(others, scorer, key)
    tasks: defaultdict[tuple[object, ...], defaultdict[object, list[float]]]
    tasks = defaultdict(lambda: defaultdict(list))
    common = [k for k in mine if k in theirs]
    for pair in common:
        (start, one), (_, other) = mine[pair], theirs[pair]
        tasks[pair[:2]][start].append(statistics.fmean(other) - statistics.fmean(one))
    if not common:
        return Difference(mean=None)
    # In an order of their own, so that the order of the rows does not change what is drawn.
    grouped = [
        [sorted(starts[start]) for start in sorted(starts, key=repr)]
        for _, starts in sorted(tasks.items())
    ]
    units = [statistics.fmean(repeats) for starts in grouped for repeats in starts]
    weights = [1.0 / len(starts) for starts in grouped for _ in starts]
    test = paired_permutation(units, weights=weights, seed=seed)
    return Difference(
        mean=test.statistic,
        interval=bootstrap_interval(grouped, seed=seed),
        p=test.p,
        pairs=len(common),
        starts=len(units),
    )


def _scores(
    rows: Iterable[EpisodeRow], scorer: str, key: Key
) -> dict[tuple[object, ...], tuple[object, list[float]]]:
    """Return start and scores by pair key."""
    scores: dict[tuple[object, ...], tuple[object, list[float]]] = {}
    for row in rows:
        score = row.score(scorer)
        if score is not None:
            scores.setdefault(key(row), (row.start_key, []))[1].append(score)
    return scores


def adjusted(differences: Sequence[Difference]) -> list[Difference]:
    """Return the differences with p adjusted for all tests among them (Holm)."""
    tested = [d.p for d in differences if d.p is not None]
    corrected = iter(holm(tested))
    return [d if d.p is None else replace(d, p=next(corrected)) for d in differences]


@dataclass(frozen=True, kw_only=True)
class Pairing:
    """Two systems compared, the one with the higher score first.

    Attributes:
        better, worse: Their labels; meant only if `told_apart`.
        difference: Of the first over the second, p adjusted over all pairs.
    """

    better: str
    worse: str
    difference: Difference

    @property
    def told_apart(self) -> bool:
        """Whether the difference is beyond chance: p below 5 % and 0 outside the interval."""
        d = self.difference
        return (
            d.mean is not None
            and d.interval is not None
            and d.p is not None
            and d.p < ALPHA
            and 0.0 not in d.interval
        )


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """Systems in the order of their scores, and which of them are told apart.

    Attributes:
        scorer: Whose scores.
        planned: Average over all tasks and waters by label, the best first; of all planned episodes,
            those that are missing or cut short with what they earned.
        scores: The same of the complete episodes alone.
        complete: Shares of the planned episodes that are complete, 0..1.
        pairs: Every two systems.
    """

    scorer: str
    planned: dict[str, Score]
    scores: dict[str, Score]
    complete: dict[str, float]
    pairs: tuple[Pairing, ...]

    def rank(self, label: str) -> int | None:
        """Return 1 plus the number of ranked systems that are better beyond chance.

        None where too few episodes are complete: a system that fails where it would lose would gain.
        """
        if self.complete[label] < MIN_COMPLETE:
            return None
        return 1 + sum(
            pair.told_apart
            for pair in self.pairs
            if pair.worse == label and self.complete[pair.better] >= MIN_COMPLETE
        )

    def tied_with(self, label: str) -> tuple[str, ...]:
        """Return the systems that this one is not told apart from."""
        return tuple(
            other
            for other in self.scores
            if any(
                {pair.better, pair.worse} == {label, other} and not pair.told_apart
                for pair in self.pairs
            )
        )

    def table(self) -> Table:
        """Return the ranks."""
        return Table(
            name='ranking',
            title=f'Ranking ({self.scorer})',
            columns=(
                'rank',
                'system',
                'average of all planned',
                'complete [%]',
                'average of complete',
                'not told apart from',
            ),
            rows=tuple(
                (
                    self._rank_text(label),
                    label,
                    score,
                    Number(100 * self.complete[label], 1),
                    self.scores[label],
                    ', '.join(self.tied_with(label)) or None,
                )
                for label, score in self.planned.items()
            ),
            notes=(
                'Planned episodes that are missing, cut short or unscored count with what they '
                f'earned so far, or 0; below {100 * MIN_COMPLETE:g} % complete there is no rank.',
                'A rank is 1 plus the number of systems that are better beyond chance; systems '
                'that are not told apart are tied, whatever the order of their averages.',
                'Told apart: p < 0.05 by a paired permutation test over starts, Holm-adjusted '
                'over all pairs, and a 95 % interval of the paired difference without 0.',
            ),
        )

    def _rank_text(self, label: str) -> int | str:
        rank = self.rank(label)
        return f'none: below {100 * MIN_COMPLETE:g} % complete' if rank is None else rank

    def pair_table(self) -> Table:
        """Return every pair with its difference."""
        return Table(
            name='pairs',
            title=f'Paired differences ({self.scorer})',
            columns=('higher', 'lower', 'difference', 'pairs', 'told apart'),
            rows=tuple(
                (
                    pair.better,
                    pair.worse,
                    pair.difference,
                    pair.difference.pairs,
                    'yes' if pair.told_apart else 'no: tied',
                )
                for pair in self.pairs
            ),
            notes=(
                'Mean paired difference [95 % bootstrap interval], two-sided p of the paired '
                'permutation test, Holm-adjusted, (number of starts).',
                'Paired on task, water, start, seeds, profile and duration; an episode that is '
                'partial or unscored on either side makes no pair.',
            ),
        )


def ranking(rows: Iterable[EpisodeRow], *, scorer: str = 'verified', seed: int = 0) -> Ranking:
    """Rank systems by their average; those not told apart are tied.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    checked = check_comparable(rows)
    check_one_duration(checked)
    labels = labels_of(row.system for row in checked)
    by_system = {system: [r for r in checked if r.system == system] for system in labels}
    tasks = sorted({(row.task, row.water) for row in checked}, key=_task_water_order)
    complete = {
        system: sum(row.score(scorer) is not None for row in mine) / len(mine)
        for system, mine in by_system.items()
    }
    averages = {
        system: average_over(mine, tasks, scorer, seed) for system, mine in by_system.items()
    }
    planned = {
        system: averages[system]
        if complete[system] == 1 or all(row.state(scorer) is State.UNSCORED for row in mine)
        else average_over([row.as_planned(scorer) for row in mine], tasks, scorer, seed)
        for system, mine in by_system.items()
    }
    order = sorted(labels, key=lambda s: (-_or_lowest(planned[s].mean), labels[s].lower()))
    pairs = list(combinations(order, 2))
    differences = adjusted(
        [compare(by_system[b], by_system[a], scorer=scorer, seed=seed) for a, b in pairs]
    )
    return Ranking(
        scorer=scorer,
        planned={labels[system]: planned[system] for system in order},
        scores={labels[system]: averages[system] for system in order},
        complete={labels[system]: complete[system] for system in order},
        pairs=tuple(
            _pairing(labels[a], labels[b], d) for (a, b), d in zip(pairs, differences, strict=True)
        ),
    )


def _pairing(one: str, other: str, difference: Difference) -> Pairing:
    """Return the pair with the higher one first: on what both flew, that may be the other."""
    if difference.mean is not None and difference.mean < 0:
        ends = difference.interval
        turned = replace(
            difference,
            mean=-difference.mean,
            interval=None if ends is None else type(ends)(-ends.high, -ends.low),
        )
        return Pairing(better=other, worse=one, difference=turned)
    return Pairing(better=one, worse=other, difference=difference)


def _or_lowest(mean: float | None) -> float:
    return -1.0 if mean is None else mean


def _task_water_order(entry: tuple[str, str]) -> tuple[tuple[int, str], tuple[int, str]]:
    return (water_order(entry[1]), task_order(entry[0]))
