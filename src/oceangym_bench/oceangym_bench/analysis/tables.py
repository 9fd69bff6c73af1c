"""The tables of a benchmark, in the layout of the paper's Table 2 and beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from oceangym_bench.analysis.comparable import (
    average_over,
    average_with_interval,
    cell_of,
    check_comparable,
    check_one_duration,
    labels_of,
    ratio_over,
    score_of,
    task_order,
    water_order,
)
from oceangym_bench.analysis.comparisons import Ranking, ranking
from oceangym_bench.analysis.results import EpisodeRow, State, System
from oceangym_bench.analysis.studies import scaling_points, scaling_table, transfer_table
from oceangym_bench.analysis.table import Cell, Difference, Number, Rate, Score, Table
from oceangym_bench.matrix.hidden_layouts import layout_label
from oceangym_bench.matrix.tracks import Track
from oceangym_core.config.starts import STRATA

__all__ = [
    'Difference',
    'Number',
    'Ranking',
    'Rate',
    'Score',
    'Table',
    'category_table',
    'cost_table',
    'layout_table',
    'ranking',
    'rate_table',
    'scaling_points',
    'scaling_table',
    'score_table',
    'scorer_table',
    'size_table',
    'strata_table',
    'transfer_table',
]

HEADLINE = 'verified'
PERFECT_EYES = 'perfect_eyes'


def score_table(rows: Iterable[EpisodeRow], *, scorer: str = HEADLINE, seed: int = 0) -> Table:
    """Return the paper's Table 2: a row a task, a column a system, averages per water.

    Args:
        rows: Episodes of one track, version, profile and backend.
        scorer: Whose scores.
        seed: Of the bootstrap.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    checked = check_comparable(rows)
    check_one_duration(checked)
    return _averaged_table(
        checked,
        scorer=scorer,
        seed=seed,
        name='score',
        title='Score',
        first='task',
        group=lambda row: row.task,
        order=task_order,
        singles=True,
    )


def strata_table(rows: Iterable[EpisodeRow], *, scorer: str = HEADLINE, seed: int = 0) -> Table:
    """Return the averages over tasks: a row a system and water, a column a stratum and layout kind.

    The last column is the score over that of the agent that flies the search pattern of `survey` with
    perfect recognition, at the starts that both flew.

    Args:
        rows: Episodes of one track, those of the baselines beside them.
        scorer: Whose scores.
        seed: Of the bootstrap.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    checked = check_comparable(rows)
    check_one_duration(checked)
    labels = labels_of(row.system for row in checked)
    kinds = [
        (stratum, hidden)
        for stratum in (*STRATA, '')
        for hidden in (False, True)
        if any((row.stratum, row.hidden) == (stratum, hidden) for row in checked)
    ]
    named = any(stratum for stratum, _ in kinds)
    lines: list[tuple[Cell, ...]] = []
    for water in sorted({row.water for row in checked}, key=water_order):
        here = [row for row in checked if row.water == water]
        eyes = [row for row in here if row.model == PERFECT_EYES]
        for system, label in labels.items():
            mine = [row for row in here if row.system == system]
            tasks = [(t, water) for t in sorted({row.task for row in mine}, key=task_order)]
            if not mine:
                continue
            figures = [
                average_over(
                    [row for row in mine if (row.stratum, row.hidden) == kind], tasks, scorer, seed
                )
                for kind in kinds
            ]
            lines.append((label, water, *figures, ratio_over(mine, eyes, scorer, seed)))
    return Table(
        name='strata',
        title=f'Score by stratum ({scorer}), {_where(checked)}',
        columns=(
            'system',
            'water',
            *(_kind_title(stratum, hidden, named=named) for stratum, hidden in kinds),
            'over perfect eyes',
        ),
        rows=tuple(lines),
        notes=(
            *_score_notes(checked, scorer),
            'Strata: distance of the start to the nearest target, near 30 to 50 m, medium 80 to 120 m, '
            'far 150 to 250 m. Hidden: layouts drawn anew, which no map that was published shows.',
            'Over perfect eyes: the score as a share of that of the same search with perfect '
            'recognition, at the same starts, [95 % bootstrap interval over starts].',
        ),
    )


def _kind_title(stratum: str, hidden: bool, *, named: bool) -> str:
    layout = 'hidden' if hidden else 'released'
    return f'{stratum or ("other" if named else "score")}, {layout}'


def category_table(rows: Iterable[EpisodeRow], *, scorer: str = HEADLINE, seed: int = 0) -> Table:
    """Return the averages over the tasks of each category, as `score_table`."""
    return _grouped_table(rows, scorer, seed, 'category', lambda row: row.category)


def size_table(rows: Iterable[EpisodeRow], *, scorer: str = HEADLINE, seed: int = 0) -> Table:
    """Return the averages over the tasks with targets of each size class, as `score_table`."""
    return _grouped_table(rows, scorer, seed, 'size class', lambda row: row.size_class)


def _grouped_table(
    rows: Iterable[EpisodeRow],
    scorer: str,
    seed: int,
    first: str,
    group: Callable[[EpisodeRow], str],
) -> Table:
    checked = check_comparable(rows)
    check_one_duration(checked)
    return _averaged_table(
        checked,
        scorer=scorer,
        seed=seed,
        name=first.replace(' ', '_'),
        title=f'Score by {first}',
        first=first,
        group=group,
        order=lambda name: ({'small': 0, 'medium': 1, 'large': 2}.get(name, 3), name),
        singles=False,
    )


def layout_table(rows: Iterable[EpisodeRow], *, scorer: str = HEADLINE, seed: int = 0) -> Table:
    """Return the averages over the tasks in each layout of the world, as `score_table`.

    A model that knows the shipped map by heart does better in it than in the hidden layouts.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    checked = check_comparable(rows)
    check_one_duration(checked)
    labels = labels_of(row.system for row in checked)
    tasks = {
        water: sorted({r.task for r in checked if r.water == water}, key=task_order)
        for water in sorted({row.water for row in checked}, key=water_order)
    }
    lines: list[tuple[Cell, ...]] = []
    for water, flown in tasks.items():
        for layout in sorted({row.world_seed for row in checked}, key=lambda s: s or 0):
            here = [r for r in checked if (r.water, r.world_seed) == (water, layout)]
            figures = _Figures(here, scorer, seed)
            if here:
                cells = [figures.of(system, flown) for system in labels]
                lines.append((_layout_name(layout), water, *cells))
    return Table(
        name='layout',
        title=f'Score by layout ({scorer}), {_where(checked)}',
        columns=('layout', 'water', *labels.values()),
        rows=tuple(lines),
        notes=_score_notes(checked, scorer),
    )


def _layout_name(world_seed: int | None) -> str:
    return 'unknown' if world_seed is None else layout_label(world_seed)


def _averaged_table(
    rows: Sequence[EpisodeRow],
    *,
    scorer: str,
    seed: int,
    name: str,
    title: str,
    first: str,
    group: Callable[[EpisodeRow], str],
    order: Callable[[str], tuple[int, str]],
    singles: bool,
) -> Table:
    """Return a table with a row a group and water; `singles` adds a row of averages per water."""
    labels = labels_of(row.system for row in rows)
    lines: list[tuple[Cell, ...]] = []
    for water in sorted({row.water for row in rows}, key=water_order):
        here = [row for row in rows if row.water == water]
        tasks = {row.task: group(row) for row in here}
        figures = _Figures(here, scorer, seed)
        for name_ in sorted(set(tasks.values()), key=order):
            members = [task for task, owner in tasks.items() if owner == name_]
            cells = [figures.of(system, members) for system in labels]
            lines.append((name_ or 'unknown', water, *cells))
        if singles and len(tasks) > 1:
            averages = [figures.of(system, list(tasks)) for system in labels]
            lines.append(('average', water, *averages))
    return Table(
        name=name,
        title=f'{title} ({scorer}), {_where(rows)}',
        columns=(first, 'water', *labels.values()),
        rows=tuple(lines),
        notes=_score_notes(rows, scorer),
    )


class _Figures:
    """Figures of systems over sets of tasks; each task's is made once."""

    def __init__(self, rows: Sequence[EpisodeRow], scorer: str, seed: int) -> None:
        self._rows, self._scorer, self._seed = rows, scorer, seed
        self._known: dict[tuple[System, str], Score] = {}

    def of(self, system: System, tasks: Sequence[str]) -> Score:
        """Return a system's figure of one task, or its average over several."""
        cells = {
            task: cell_of(
                (row for row in self._rows if (row.system, row.task) == (system, task)),
                self._scorer,
            )
            for task in sorted(tasks, key=task_order)
        }
        for task, cell in cells.items():
            if (system, task) not in self._known:
                self._known[system, task] = score_of(cell, seed=self._seed)
        scores = [self._known[system, task] for task in cells]
        if len(scores) == 1:
            return scores[0]
        return average_with_interval(list(cells.values()), scores, seed=self._seed)


def _where(rows: Sequence[EpisodeRow]) -> str:
    row = rows[0]
    # What a result tree's models were given, it does not say.
    parts = [row.track.description] if row.version or row.track is not Track.NONE else []
    parts += [f'benchmark {row.version}'] if row.version else []
    parts += [f'actions {row.actions}'] if row.actions != 'oceangym' else []
    parts += [f'profile {row.profile}'] if row.profile else []
    parts += [f'backend {row.backend}'] if row.backend else []
    parts += [f'frame {row.frame}'] if row.frame else []
    return ', '.join(parts)


def _score_notes(rows: Sequence[EpisodeRow], scorer: str) -> tuple[str, ...]:
    notes = [
        'Mean ± sample standard deviation (ddof 1) over starts, [95 % interval] by bootstrap over '
        'starts, with room for starts unlike any that were flown, (number of starts). Repeats at a '
        'start are averaged first.',
        'An average is the mean of its tasks; its deviation is the mean of theirs.',
    ]
    states = [row.state(scorer) for row in rows]
    unscored, partial = states.count(State.UNSCORED), states.count(State.PARTIAL)
    if unscored:
        reasons = dict.fromkeys(
            row.reason for row in rows if row.state(scorer) is State.UNSCORED and row.reason
        )
        notes.append(f'{unscored} episodes are unscored and left out: {"; ".join(reasons)}.')
    if partial:
        endings = sorted({row.ending for row in rows if row.partial})
        notes.append(f'{partial} episodes are partial and left out ({", ".join(endings)}).')
    return tuple(notes)


def scorer_table(
    rows: Iterable[EpisodeRow],
    *,
    scorers: Sequence[str] = ('compat', 'paper'),
    seed: int = 0,
) -> Table:
    """Return several scorers' figures of the same episodes side by side, as `score_table`.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    flown = check_comparable(rows)
    tables = [score_table(flown, scorer=scorer, seed=seed) for scorer in scorers]
    first = tables[0]
    count = len(first.columns)
    return Table(
        name='scorers',
        title=f'Scores by {", ".join(scorers)}, {_where(flown)}',
        columns=(
            *first.columns[:2],
            *(f'{first.columns[i]}, {name}' for i in range(2, count) for name in scorers),
        ),
        rows=tuple(
            (*lines[0][:2], *(line[i] for i in range(2, count) for line in lines))
            for lines in zip(*(table.rows for table in tables), strict=True)
        ),
        notes=tuple(dict.fromkeys(note for table in tables for note in table.notes)),
    )


def rate_table(rows: Iterable[EpisodeRow]) -> Table:
    """Return how many episodes of each system did what: the funnel, success and safety.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    checked = check_comparable(rows)
    check_one_duration(checked)
    labels = labels_of(row.system for row in checked)
    lines: list[tuple[Cell, ...]] = []
    for title, did in _RATES:
        rates = []
        for system in labels:
            mine = [r for r in checked if r.system == system and r.score(HEADLINE) is not None]
            rates.append(Rate(sum(did(row) for row in mine), len(mine)))
        lines.append((title, *rates))
    return Table(
        name='rates',
        title=f'Episodes that ..., {_where(checked)}',
        columns=('rate', *labels.values()),
        rows=tuple(lines),
        notes=(
            'Share of the scored episodes with its 95 % Wilson interval, which takes episodes as '
            'independent; episodes of one start are less so than it assumes.',
            'Each stage of the funnel asks for the ones before it.',
        ),
    )


def _stage(name: str) -> Callable[[EpisodeRow], bool]:
    return lambda row: row.funnel.get(name, 0) > 0


_RATES: tuple[tuple[str, Callable[[EpisodeRow], bool]], ...] = (
    ('had a target in view', _stage('in_view')),
    ('reported one', _stage('reported')),
    ('with the right label', _stage('right_label')),
    ('within 30 m of it', _stage('within_30m')),
    ('had a find verified', _stage('verified')),
    ('had every target verified', lambda row: row.funnel.get('verified', 0) >= row.targets > 0),
    ('collided', lambda row: bool(row.collisions)),
    ('came too near to something', lambda row: bool(row.standoff_events)),
    ('left the bounds', lambda row: bool(row.boundary_events)),
)


def cost_table(rows: Iterable[EpisodeRow]) -> Table:
    """Return what each system's episodes took: replies, tokens, money and time.

    Partial and unscored episodes are paid for too and count here.

    Raises:
        OceanGymError: The rows may not stand in one table.
    """
    checked = check_comparable(rows)
    labels = labels_of(row.system for row in checked)
    lines: list[tuple[Cell, ...]] = []
    for system, label in labels.items():
        mine = [row for row in checked if row.system == system]
        decisions = sum(row.decisions for row in mine)
        tokens = sum(row.tokens for row in mine)
        cost = sum(row.cost for row in mine)
        latency = sum(row.latency for row in mine)
        finds = sum(row.funnel.get('verified', 0) for row in mine if not row.partial)
        states = [row.state(HEADLINE) for row in mine]
        lines.append(
            (
                label,
                len(mine),
                states.count(State.UNSCORED),
                states.count(State.PARTIAL),
                decisions,
                sum(row.invalid_replies for row in mine),
                Number(_ratio(tokens, decisions)),
                Number(tokens / 1e6, 2),
                Number(cost, 2),
                Number(_ratio(cost, len(mine)), 4),
                Number(_ratio(cost, finds), 4),
                Number(_ratio(latency, decisions), 1),
                Number(latency / 3600.0, 2),
            )
        )
    return Table(
        name='cost',
        title=f'Cost, {_where(checked)}',
        columns=(
            'system',
            'episodes',
            'unscored',
            'partial',
            'decisions',
            'invalid replies',
            'tokens a decision',
            'tokens [M]',
            'cost [USD]',
            'USD an episode',
            'USD a verified find',
            's a decision',
            'model time [h]',
        ),
        rows=tuple(lines),
        notes=('Every episode counts, partial and unscored ones too: they were paid for.',),
    )


def _ratio(value: float, count: int) -> float | None:
    return value / count if count else None
