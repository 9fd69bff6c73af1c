"""Which episodes may stand in one table, under which names, and which of them are pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
import statistics

from oceangym_bench.analysis.results import EpisodeRow, State, System, Transfer
from oceangym_bench.analysis.statistics import ratio_interval, score_interval, summarise
from oceangym_bench.analysis.table import Ratio, Score
from oceangym_bench.matrix.benchmark_file import BASELINES
from oceangym_bench.matrix.tracks import Track
from oceangym_core.errors import OceanGymError

# The paper's order of tasks and waters (Table 2); others follow by name.
TASK_ORDER = (
    'locate_robot',
    'locate_drums',
    'locate_electrical_box',
    'search_ship',
    'search_aircraft',
    'inspect_pipe',
    'inspect_turbine',
    'dock',
)
WATER_ORDER = ('shallow', 'deep')

# What must be the same of all episodes of a table.
_CONDITIONS: tuple[tuple[str, Callable[[EpisodeRow], object]], ...] = (
    ('benchmark version', lambda row: row.version),
    ('backend', lambda row: row.backend),
    ('track', lambda row: row.track.value),
    ('actions', lambda row: row.actions),
    ('profile', lambda row: row.profile),
    ('navigation', lambda row: row.nav),
    ('frame', lambda row: row.frame),
    ('mode', lambda row: row.mode),
    ('t_interval', lambda row: row.t_interval),
)
# What a content hash belongs to: two values of the same thing are a mix.
_HASH_OF: dict[str, Callable[[EpisodeRow], tuple[object, ...]]] = {
    'world': lambda row: (row.world, row.world_seed),
    'props': lambda row: (row.world, row.world_seed),
    'task': lambda row: (row.task,),
    'sensors': lambda row: (row.water,),
    'prompt': lambda row: (row.setting('prompt'),),
}


def _owner_of(name: str, row: EpisodeRow) -> tuple[object, ...]:
    return _HASH_OF[name](row) if name in _HASH_OF else ()


def check_comparable(rows: Iterable[EpisodeRow]) -> tuple[EpisodeRow, ...]:
    """Return the rows, all of which may stand in one table.

    Raises:
        OceanGymError: There are none, or two differ in something that a table must not mix; names
            both.
    """
    checked = tuple(rows)
    if not checked:
        raise OceanGymError('there are no episodes to make a table of')
    first = checked[0]
    for row in checked[1:]:
        for name, value in _CONDITIONS:
            if value(row) != value(first):
                raise _mixed(name, first, value(first), row, value(row))
    owners: dict[tuple[object, ...], tuple[EpisodeRow, str]] = {}
    for row in checked:
        for name, digest in row.hashes.items():
            key = (name, *_owner_of(name, row))
            owner, known = owners.setdefault(key, (row, digest))
            if known != digest:
                raise _mixed(f'content hash of {name}', owner, known[:12], row, digest[:12])
    _check_presets(checked)
    return checked


def _check_presets(rows: Iterable[EpisodeRow]) -> None:
    """Refuse two edits of one model's preset under one name."""
    presets: dict[str, EpisodeRow] = {}
    for row in rows:
        if not row.preset:
            continue
        owner = presets.setdefault(row.model, row)
        if owner.preset != row.preset:
            raise OceanGymError(
                f'a table cannot mix two presets called {row.model}: {owner.preset[:12]} '
                f'({owner.source}) and {row.preset[:12]} ({row.source}). Give the edited preset '
                'an id of its own, or make one table of each.'
            )


def _mixed(
    name: str, one: EpisodeRow, one_value: object, other: EpisodeRow, other_value: object
) -> OceanGymError:
    return OceanGymError(
        f'a table cannot mix {name} {one_value!r} ({one.source}) with {other_value!r} '
        f'({other.source}). Make one table of each.'
    )


def check_one_duration(rows: Iterable[EpisodeRow]) -> None:
    """Refuse a task flown for several durations: they are no repeats.

    Raises:
        OceanGymError: Names two of them.
    """
    known: dict[tuple[str, str], EpisodeRow] = {}
    for row in rows:
        other = known.setdefault((row.task, row.water), row)
        if other.t_max != row.t_max:
            raise OceanGymError(
                f'{row.task} was flown for {other.t_max} s ({other.source}) and for {row.t_max} s '
                f'({row.source}): durations are no repeats. Make a scaling table of them, or one '
                'table of each.'
            )


def labels_of(systems: Iterable[System]) -> dict[System, str]:
    """Return a name for each system: the model and what tells it apart.

    They come in the order of names, the baselines after all others.
    """
    distinct = list(dict.fromkeys(systems))
    labels: dict[System, str] = {}
    for system in distinct:
        alike = [other for other in distinct if other.model == system.model]
        parts = [
            f'{name} {value}'
            for name, value in system.settings
            if any(dict(other.settings).get(name) != value for other in alike)
        ]
        if any(other.transfer is not system.transfer for other in alike):
            text = 'no memory' if system.transfer is Transfer.NONE else 'memory'
            origin = '' if system.transfer is Transfer.NONE else f' {system.transfer.value}'
            parts.append(f'{text}{origin}')
        if any(other.strip != system.strip for other in alike) and system.strip != 'none':
            parts.append(f'{system.strip} stripped')
        if system.privileged:
            parts.append('knows the truth')
        labels[system] = f'{system.model} ({", ".join(parts)})' if parts else system.model
    return dict(
        sorted(labels.items(), key=lambda item: (*_baseline_order(item[0]), item[1].lower()))
    )


def _baseline_order(system: System) -> tuple[int, int]:
    return (1, BASELINES.index(system.model)) if system.model in BASELINES else (0, 0)


def baselines_of(
    everything: Iterable[EpisodeRow], rows: Sequence[EpisodeRow]
) -> tuple[EpisodeRow, ...]:
    """Return the baselines' episodes of the tasks and durations of some rows of one track.

    They are given the rows' track and actions, in whose tables they stand. Eyes that see by sonar
    stand in the tables of models that have sonar alone.
    """
    track, actions = rows[0].track, rows[0].actions
    flown = {(row.task, row.water, row.t_max) for row in rows}
    eyes = 'none' if track is Track.V else 'fan'
    return tuple(
        replace(row, track=track, actions=actions, system=replace(row.system, settings=()))
        for row in everything
        if row.track is Track.NONE
        and row.model in BASELINES
        and (row.task, row.water, row.t_max) in flown
        and (track is Track.NONE or row.setting('sonar') in ('', eyes))
    )


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The episodes of one system in one task and water.

    Attributes:
        starts: Scores by start: one list a start, one score a repeat.
        unscored, partial: Episodes left out.
        reasons: Why the unscored are.
    """

    starts: tuple[tuple[float, ...], ...]
    unscored: int = 0
    partial: int = 0
    reasons: tuple[str, ...] = ()


def cell_of(rows: Iterable[EpisodeRow], scorer: str) -> Cell:
    """Group the episodes of one cell by start.

    Starts and scores are put in an order of their own, so that the order of the rows does not change
    what is drawn from them.
    """
    starts: defaultdict[tuple[object, ...], list[float]] = defaultdict(list)
    unscored: list[EpisodeRow] = []
    partial = 0
    for row in rows:
        score = row.score(scorer)
        if score is not None:
            starts[row.start_key].append(score)
        elif row.state(scorer) is State.PARTIAL:
            partial += 1
        else:
            unscored.append(row)
    return Cell(
        starts=tuple(tuple(sorted(starts[key])) for key in sorted(starts, key=repr)),
        unscored=len(unscored),
        partial=partial,
        reasons=tuple(dict.fromkeys(row.reason for row in unscored if row.reason)),
    )


def score_of(cell: Cell, *, seed: int) -> Score:
    """Return the figure of one cell."""
    if not cell.starts:
        return Score(mean=None, unscored=cell.unscored, partial=cell.partial)
    summary = summarise(cell.starts)
    return Score(
        mean=summary.mean,
        sd=summary.sd,
        starts=summary.starts,
        episodes=summary.episodes,
        interval=score_interval([cell.starts], seed=seed),
        unscored=cell.unscored,
        partial=cell.partial,
    )


def average_of(scores: Sequence[Score]) -> Score:
    """Return the average of tasks' figures: the mean of their means, and of their deviations.

    The paper's "avg ± sd" is made so. There is none where a task has no score: an average over
    other tasks would not be comparable.
    """
    means = [score.mean for score in scores]
    deviations = [score.sd for score in scores]
    left_out = Score(
        mean=None,
        unscored=sum(score.unscored for score in scores),
        partial=sum(score.partial for score in scores),
    )
    known = [mean for mean in means if mean is not None]
    if not scores or len(known) < len(means):
        return left_out
    spreads = [sd for sd in deviations if sd is not None]
    return replace(
        left_out,
        mean=sum(known) / len(known),
        sd=sum(spreads) / len(spreads) if len(spreads) == len(scores) else None,
        starts=sum(score.starts for score in scores),
        episodes=sum(score.episodes for score in scores),
    )


def average_with_interval(cells: Sequence[Cell], scores: Sequence[Score], *, seed: int) -> Score:
    """Return the average over tasks with its interval: starts are drawn anew within each task.

    Args:
        cells: One a task.
        scores: Their figures.
        seed: Of the resampling.
    """
    average = average_of(scores)
    if average.mean is None:
        return average
    return replace(average, interval=score_interval([cell.starts for cell in cells], seed=seed))


def average_over(
    rows: Sequence[EpisodeRow], tasks: Sequence[tuple[str, str]], scorer: str, seed: int
) -> Score:
    """Return the average of some episodes over tasks and waters, or the figure of a single one."""
    cells = [
        cell_of((row for row in rows if (row.task, row.water) == entry), scorer) for entry in tasks
    ]
    scores = [score_of(cell, seed=seed) for cell in cells]
    if len(scores) == 1:
        return scores[0]
    return average_with_interval(cells, scores, seed=seed)


def ratio_over(
    rows: Sequence[EpisodeRow], others: Sequence[EpisodeRow], scorer: str, seed: int
) -> Ratio:
    """Return the average over tasks over that of other episodes, at the starts that both have.

    There is none where the others scored nothing.
    """
    pairs = []
    for task in sorted({row.task for row in rows} & {row.task for row in others}, key=task_order):
        mine, theirs = (_start_means(some, task, scorer) for some in (rows, others))
        common = sorted(mine.keys() & theirs.keys(), key=repr)
        if common:
            pairs.append([(mine[start], theirs[start]) for start in common])
    means = [[statistics.fmean(values) for values in zip(*task, strict=True)] for task in pairs]
    below = sum(mean[1] for mean in means)
    if below <= 0:
        return Ratio(value=None)
    value = sum(mean[0] for mean in means) / below
    return Ratio(value=value, interval=ratio_interval(pairs, seed=seed))


def _start_means(
    rows: Iterable[EpisodeRow], task: str, scorer: str
) -> dict[tuple[object, ...], float]:
    """Return the mean score of a task's repeats by start."""
    scores: defaultdict[tuple[object, ...], list[float]] = defaultdict(list)
    for row in rows:
        score = row.score(scorer)
        if row.task == task and score is not None:
            scores[row.start_key].append(score)
    return {start: statistics.fmean(found) for start, found in scores.items()}


def task_order(task: str) -> tuple[int, str]:
    """Return the sort key of a task."""
    known = task in TASK_ORDER
    return (TASK_ORDER.index(task) if known else len(TASK_ORDER), task)


def water_order(water: str) -> tuple[int, str]:
    """Return the sort key of a water."""
    known = water in WATER_ORDER
    return (WATER_ORDER.index(water) if known else len(WATER_ORDER), water)
