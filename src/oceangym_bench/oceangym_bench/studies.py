"""Studies over durations and over transferred memories: as tables, and as points to draw."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from oceangym_bench.comparable import (
    average_over,
    check_comparable,
    check_one_duration,
    labels_of,
    task_order,
    water_order,
)
from oceangym_bench.comparisons import adjusted, compare
from oceangym_bench.results import EpisodeRow, System, Transfer
from oceangym_bench.table import Cell, Difference, Score, Table
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


def transfer_table(
    rows: Iterable[EpisodeRow], *, scorer: str = 'verified', seed: int = 0
) -> Table:
    """Return the averages without and with transferred memory, and the paired gains over none.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    checked = check_comparable(rows)
    check_one_duration(checked)
    bases = labels_of(_base(row.system) for row in checked)
    conditions = sorted(
        {_condition(row.system) for row in checked},
        key=lambda c: (list(Transfer).index(c[0]), c[1] != 'none', c[1]),
    )
    gained = [c for c in conditions if c[0] is not Transfer.NONE]
    averages: list[tuple[str, str, list[Score]]] = []
    gains: list[Difference] = []
    for base, label in bases.items():
        mine = [row for row in checked if _base(row.system) == base]
        for water in sorted({row.water for row in mine}, key=water_order):
            here = [row for row in mine if row.water == water]
            by_condition = {
                c: [row for row in here if _condition(row.system) == c] for c in conditions
            }
            tasks = _tasks_in_all([flown for flown in by_condition.values() if flown], scorer)
            scores = [
                average_over(flown, [(t, water) for t in tasks], scorer, seed)
                if flown
                else Score(mean=None)
                for flown in by_condition.values()
            ]
            averages.append((label, water, scores))
            without = by_condition.get((Transfer.NONE, 'none'), [])
            gains += [compare(without, by_condition[c], scorer=scorer, seed=seed) for c in gained]
    gains = adjusted(gains)
    lines: list[tuple[Cell, ...]] = []
    for number, (label, water, scores) in enumerate(averages):
        own = gains[number * len(gained) : (number + 1) * len(gained)]
        lines.append((label, water, *scores, *own))
    return Table(
        name='transfer',
        title=f'Memory transfer ({scorer})',
        columns=(
            'system',
            'water',
            *(_condition_title(c) for c in conditions),
            *(f'{_condition_title(c)} - none' for c in gained),
        ),
        rows=tuple(lines),
        notes=(
            'Averages are over the tasks that a system flew in each of its conditions.',
            'Gains are paired on task, water, start, seeds, profile and duration with the runs '
            'without memory; p is Holm-adjusted over the whole table.',
        ),
    )


def _base(system: System) -> System:
    return replace(system, transfer=Transfer.NONE, strip='none')


def _condition(system: System) -> tuple[Transfer, str]:
    return (system.transfer, system.strip)


def _condition_title(condition: tuple[Transfer, str]) -> str:
    transfer, strip = condition
    return transfer.value if strip == 'none' else f'{transfer.value}, {strip} stripped'


def _tasks_in_all(conditions: Sequence[Sequence[EpisodeRow]], scorer: str) -> list[str]:
    flown = [{r.task for r in rows if r.score(scorer) is not None} for rows in conditions]
    return sorted(set.intersection(*flown) if flown else set(), key=task_order)
