"""All tables of a benchmark at once, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from oceangym_bench.comparable import check_comparable
from oceangym_bench.comparisons import ranking
from oceangym_bench.results import EpisodeRow, State, Transfer
from oceangym_bench.studies import scaling_table, transfer_table
from oceangym_bench.table import Table
from oceangym_bench.tables import (
    category_table,
    cost_table,
    HEADLINE,
    layout_table,
    rate_table,
    score_table,
    scorer_table,
    size_table,
)
from oceangym_bench.tracks import Track
from oceangym_core.contract import ACTION_SETS
from oceangym_core.errors import OceanGymError
from oceangym_core.text_files import write_atomic


def headline_of(rows: Sequence[EpisodeRow]) -> str:
    """Return the scorer of the main tables: ``verified``, or ``paper`` if that scored nothing.

    Result trees of OceanGym hold no truth to verify reports with.
    """
    scored = any(row.score(HEADLINE) is not None for row in rows)
    unscorable = any(row.state(HEADLINE) is State.UNSCORED for row in rows)
    return HEADLINE if scored or not unscorable else 'paper'


def benchmark_tables(
    rows: Iterable[EpisodeRow], *, scorer: str | None = None, seed: int = 0
) -> tuple[Table, ...]:
    """Return every table that the episodes have, one set a track and set of
    actions.

    A set has, for each duration, the scores by task, category and size class, the ranking, its
    pairs and the rates, of runs without transferred memory, and the comparison of memory transfers
    where there are several; over all durations the costs, and the scaling curve.

    Args:
        rows: Episodes of any tracks.
        scorer: Whose scores; None for `headline_of` them.
        seed: Of resampling.

    Raises:
        OceanGymError: Rows of a track may not stand in one table.
    """
    everything = tuple(rows)
    if scorer is None:
        scorer = headline_of(everything)
    tables: list[Table] = []
    known = {(row.track, row.actions) for row in everything}
    groups = [(t, a) for a in ACTION_SETS for t in Track if (t, a) in known]
    for track, actions in groups:
        mine = check_comparable(r for r in everything if (r.track, r.actions) == (track, actions))
        plain = [row for row in mine if row.system.transfer is Transfer.NONE] or list(mine)
        durations = sorted({row.t_max or 0.0 for row in plain})
        suffix = f'_{track.value}' if len({t for t, _ in groups}) > 1 else ''
        suffix += f'_{actions}' if actions != 'oceangym' else ''
        for duration in durations:
            flown = [row for row in plain if (row.t_max or 0.0) == duration]
            tail = suffix + (f'_{duration:g}s' if len(durations) > 1 else '')
            after = f', {duration:g} s' if len(durations) > 1 else ''
            result = ranking(flown, scorer=scorer, seed=seed)
            made = [
                score_table(flown, scorer=scorer, seed=seed),
                result.table(),
                *([result.pair_table()] if result.pairs else []),
                category_table(flown, scorer=scorer, seed=seed),
                size_table(flown, scorer=scorer, seed=seed),
                *(
                    [layout_table(flown, scorer=scorer, seed=seed)]
                    if len({row.world_seed for row in flown}) > 1
                    else []
                ),
                *([rate_table(flown)] if scorer == HEADLINE else []),
                *([scorer_table(flown)] if scorer != HEADLINE else []),
            ]
            with_memory = [row for row in mine if (row.t_max or 0.0) == duration]
            if len({row.system.transfer for row in with_memory}) > 1:
                made.append(transfer_table(with_memory, scorer=scorer, seed=seed))
            tables += [_renamed(table, tail, after) for table in made]
        if len(durations) > 1:
            table = scaling_table(plain, scorer=scorer, seed=seed)
            tables.append(_renamed(table, suffix, ''))
        tables.append(_renamed(cost_table(mine), suffix, ''))
    return tuple(tables)


def _renamed(table: Table, tail: str, after: str) -> Table:
    return Table(
        name=table.name + tail,
        title=table.title + after,
        columns=table.columns,
        rows=table.rows,
        notes=table.notes,
    )


_FORMATS: dict[str, Callable[[Table], str]] = {
    'md': Table.markdown,
    'csv': Table.csv,
    'json': Table.json,
    'tex': Table.latex,
}


def write_tables(directory: Path, tables: Iterable[Table]) -> tuple[Path, ...]:
    """Write each table as ``<name>.md``, ``.csv``, ``.json`` and ``.tex``; return the files.

    Raises:
        OceanGymError: One cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OceanGymError(f'cannot make {directory}: {error.strerror}') from error
    paths = []
    for table in tables:
        for ending, render in _FORMATS.items():
            path = directory / f'{table.name}.{ending}'
            write_atomic(path, render(table))
            paths.append(path)
    return tuple(paths)
