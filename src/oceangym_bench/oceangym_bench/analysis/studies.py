"""Studies over durations and over transferred memories: as tables, and as points to draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from oceangym_bench.analysis.comparable import (
    average_over,
    check_comparable,
    check_one_duration,
    labels_of,
    task_order,
    water_order,
)
from oceangym_bench.analysis.comparisons import adjusted, compare
from oceangym_bench.analysis.results import EpisodeRow, System, Transfer
from oceangym_bench.analysis.table import Difference, Score, Table
from oceangym_core.errors import OceanGymError


def _key_without_duration(row: EpisodeRow) -> tuple[object, ...]:
    return row.pair_key[:-1]


def scaling_points(
    rows: Iterable[EpisodeRow], *, scorer: str = 'verified', seed: int = 0
) -> dict[tuple[str, str], dict[float, Score]]:
    """Return each system's and water's average by duration [s].

    Only tasks that a system flew, scored, at each of its durations are averaged, so that its points
    differ in nothing but time.

    Raises:
        OceanGymError: The rows may not stand in one table, or one has no duration.
    """
    checked = check_comparable(rows)
    labels = labels_of(row.system for row in checked)
    curves: dict[tuple[str, str], dict[float, Score]] = {}
    for system, label in labels.items():
        mine = [row for row in checked if row.system == system]
        for water in sorted({row.water for row in mine}, key=water_order):
            here = [row for row in mine if row.water == water]
            durations = sorted({_duration(row) for row in here})
            tasks = _tasks_at_all(here, durations, scorer)
            curves[label, water] = {
                duration: average_over(
                    [row for row in here if row.t_max == duration],
                    [(task, water) for task in tasks],
                    scorer,
                    seed,
                )
                for duration in durations
            }
    return curves


def _duration(row: EpisodeRow) -> float:
    if row.t_max is None:
        raise OceanGymError(f'{row.source} has no duration and cannot be part of a scaling curve')
    return row.t_max


def _tasks_at_all(
    rows: Sequence[EpisodeRow], durations: Sequence[float], scorer: str
) -> list[str]:
    flown = {(row.task, row.t_max) for row in rows if row.score(scorer) is not None}
    tasks = {row.task for row in rows}
    return sorted(
        (task for task in tasks if all((task, duration) in flown for duration in durations)),
        key=task_order,
    )


def scaling_table(rows: Iterable[EpisodeRow], *, scorer: str = 'verified', seed: int = 0) -> Table:
    """Return the average by duration, and the paired gain of the longest over the shortest.

    Raises:
        OceanGymError: The rows may not stand in one table, or one has no duration.
    """
    checked = check_comparable(rows)
    curves = scaling_points(checked, scorer=scorer, seed=seed)
    labels = labels_of(row.system for row in checked)
    durations = sorted({_duration(row) for row in checked})
    gains = []
    for label, water in curves:
        here = [r for r in checked if (labels[r.system], r.water) == (label, water)]
        own = sorted(curves[label, water])
        gains.append(
            compare(
                [row for row in here if row.t_max == own[0]],
                [row for row in here if row.t_max == own[-1]],
                scorer=scorer,
                seed=seed,
                key=_key_without_duration,
            )
            if len(own) > 1
            else Difference(mean=None)
        )
    return Table(
        name='scaling',
        title=f'Score by duration ({scorer})',
        columns=('system', 'water', *(hours(d) for d in durations), 'longest - shortest'),
        rows=tuple(
            (label, water, *(curve.get(d, Score(mean=None)) for d in durations), gain)
            for ((label, water), curve), gain in zip(curves.items(), adjusted(gains), strict=True)
        ),
        notes=(
            'Each duration is flown anew and stands for itself; durations are never averaged.',
            'Averages are over the tasks that a system flew at each of its durations.',
            'The last column is paired on task, water, start and seeds; p is Holm-adjusted over '
            'its rows.',
        ),
    )


def hours(seconds: float) -> str:
    """Return a duration for a heading."""
    return f'{seconds / 3600:g} h' if seconds >= 900 else f'{seconds:g} s'


Condition = tuple[Transfer, str]


@dataclass(frozen=True, kw_only=True)
class _Transfers:
    """A system's episodes in one water by the memory that it was given, and their averages."""

    label: str
    water: str
    episodes: dict[Condition, list[EpisodeRow]]
    scores: dict[Condition, Score]


def transfer_points(
    rows: Iterable[EpisodeRow], *, scorer: str = 'verified', seed: int = 0
) -> dict[tuple[str, str], dict[str, Score]]:
    """Return each system's and water's averages by the memory that it was given.

    Only tasks that a system flew, scored, in each of its conditions are averaged.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    return {
        (found.label, found.water): {
            _condition_title(condition): score for condition, score in found.scores.items()
        }
        for found in _transfers(check_comparable(rows), scorer, seed)
    }


def _transfers(rows: Sequence[EpisodeRow], scorer: str, seed: int) -> list[_Transfers]:
    check_one_duration(rows)
    conditions = _conditions(rows)
    found = []
    for base, label in labels_of(_base(row.system) for row in rows).items():
        mine = [row for row in rows if _base(row.system) == base]
        for water in sorted({row.water for row in mine}, key=water_order):
            here = [row for row in mine if row.water == water]
            episodes = {
                c: [row for row in here if _condition(row.system) == c] for c in conditions
            }
            tasks = [
                (task, water)
                for task in _tasks_in_all([flown for flown in episodes.values() if flown], scorer)
            ]
            scores = {
                condition: average_over(flown, tasks, scorer, seed)
                for condition, flown in episodes.items()
                if flown
            }
            found.append(_Transfers(label=label, water=water, episodes=episodes, scores=scores))
    return found


def transfer_table(
    rows: Iterable[EpisodeRow], *, scorer: str = 'verified', seed: int = 0
) -> Table:
    """Return the averages without and with transferred memory, and the paired gains over none.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    checked = check_comparable(rows)
    found = _transfers(checked, scorer, seed)
    conditions = _conditions(checked)
    gained = [c for c in conditions if c[0] is not Transfer.NONE]
    gains = iter(
        adjusted(
            [
                compare(
                    line.episodes.get((Transfer.NONE, 'none'), []),
                    line.episodes[condition],
                    scorer=scorer,
                    seed=seed,
                )
                for line in found
                for condition in gained
            ]
        )
    )
    return Table(
        name='transfer',
        title=f'Memory transfer ({scorer})',
        columns=(
            'system',
            'water',
            *(_condition_title(c) for c in conditions),
            *(f'{_condition_title(c)} - none' for c in gained),
        ),
        rows=tuple(
            (
                line.label,
                line.water,
                *(line.scores.get(c, Score(mean=None)) for c in conditions),
                *(next(gains) for _ in gained),
            )
            for line in found
        ),
        notes=(
            'Averages are over the tasks that a system flew in each of its conditions.',
            'Gains are paired on task, water, start, seeds, profile and duration with the runs '
            'without memory; p is Holm-adjusted over the whole table.',
        ),
    )


def _conditions(rows: Iterable[EpisodeRow]) -> list[Condition]:
    return sorted(
        {_condition(row.system) for row in rows},
        key=lambda c: (list(Transfer).index(c[0]), c[1] != 'none', c[1]),
    )


def _base(system: System) -> System:
    return replace(system, transfer=Transfer.NONE, strip='none')


def _condition(system: System) -> Condition:
    return (system.transfer, system.strip)


def _condition_title(condition: Condition) -> str:
    transfer, strip = condition
    return transfer.value if strip == 'none' else f'{transfer.value}, {strip} stripped'


def _tasks_in_all(conditions: Sequence[Sequence[EpisodeRow]], scorer: str) -> list[str]:
    flown = [{r.task for r in rows if r.score(scorer) is not None} for rows in conditions]
    return sorted(set.intersection(*flown) if flown else set(), key=task_order)
