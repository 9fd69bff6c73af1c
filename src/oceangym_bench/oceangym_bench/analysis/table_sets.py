"""All tables of a benchmark at once, and their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from oceangym_bench.analysis.comparable import baselines_of, check_comparable
from oceangym_bench.analysis.comparisons import ranking
from oceangym_bench.analysis.results import EpisodeRow, State, Transfer
from oceangym_bench.analysis.studies import scaling_table, transfer_table
from oceangym_bench.analysis.table import Table
from oceangym_bench.analysis.tables import (
    category_table,
    cost_table,
    HEADLINE,
    layout_table,
    rate_table,
    score_table,
    scorer_table,
    size_table,
    strata_table,
)
from oceangym_bench.matrix.benchmark_file import BASELINES
from oceangym_bench.matrix.tracks import Track
from oceangym_core.contract.actions import ACTION_SETS
from oceangym_core.errors import OceanGymError
from oceangym_core.files import write_atomic


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
    """Return every table that the episodes have, one set a track and set of actions.

    A set has, for each duration, the scores by stratum, task, category and size class with the
    baselines beside them, the ranking, its pairs and the rates, of runs without transferred memory,
    and the comparison of memory transfers where there are several; over all durations the costs, and
    the scaling curve. Baselines have a set of their own only where nothing else was flown.

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
    known = {(row.track, row.actions) for row in everything}
    groups = [(t, a) for a in ACTION_SETS for t in Track if (t, a) in known]
    unasked = {row.model for row in everything if row.track is Track.NONE}
    if len({track for track, _ in groups}) > 1 and unasked <= set(BASELINES):
        groups = [(track, actions) for track, actions in groups if track is not Track.NONE]
    tables: list[Table] = []
    for track, actions in groups:
        mine = check_comparable(
            _one_baseline(row)
            for row in everything
            if (row.track, row.actions) == (track, actions)
        )
        suffix = f'_{track.value}' if len({t for t, _ in groups}) > 1 else ''
        suffix += f'_{actions}' if actions != 'oceangym' else ''
        tables += _track_tables(mine, everything, suffix=suffix, scorer=scorer, seed=seed)
    return tuple(tables)


def _one_baseline(row: EpisodeRow) -> EpisodeRow:
    """Return the row of a baseline as that of one system, whatever sensors its water asks for."""
    if row.track is not Track.NONE or row.model not in BASELINES:
        return row
    return replace(row, system=replace(row.system, settings=()))


def _track_tables(
    mine: Sequence[EpisodeRow],
    everything: Sequence[EpisodeRow],
    *,
    suffix: str,
    scorer: str,
    seed: int,
) -> list[Table]:
    """Return the tables of a track's episodes, their names with a suffix."""
    plain = [row for row in mine if row.system.transfer is Transfer.NONE] or list(mine)
    durations = sorted({row.t_max or 0.0 for row in plain})
    tables: list[Table] = []
    for duration in durations:
        several = len(durations) > 1
        tail, after = (f'_{duration:g}s', f', {duration:g} s') if several else ('', '')
        flown = [row for row in plain if (row.t_max or 0.0) == duration]
        made = _duration_tables(flown, everything, scorer=scorer, seed=seed)
        with_memory = [row for row in mine if (row.t_max or 0.0) == duration]
        if len({row.system.transfer for row in with_memory}) > 1:
            made.append(transfer_table(with_memory, scorer=scorer, seed=seed))
        tables += [_renamed(table, suffix + tail, after) for table in made]
    if len(durations) > 1:
        tables.append(_renamed(scaling_table(plain, scorer=scorer, seed=seed), suffix, ''))
    return [*tables, _renamed(cost_table(mine), suffix, '')]


def _duration_tables(
    flown: Sequence[EpisodeRow], everything: Sequence[EpisodeRow], *, scorer: str, seed: int
) -> list[Table]:
    """Return the tables of episodes of one track and duration."""
    beside = list(flown)
    if flown[0].track is not Track.NONE:
        beside += baselines_of(everything, flown)
    result = ranking(flown, scorer=scorer, seed=seed)
    tables = [
        score_table(beside, scorer=scorer, seed=seed),
        strata_table(beside, scorer=scorer, seed=seed),
        result.table(),
        *([result.pair_table()] if result.pairs else []),
        category_table(beside, scorer=scorer, seed=seed),
        size_table(beside, scorer=scorer, seed=seed),
    ]
    if len({row.world_seed for row in flown}) > 1:
        tables.append(layout_table(beside, scorer=scorer, seed=seed))
    tables.append(rate_table(flown) if scorer == HEADLINE else scorer_table(flown))
    return tables


def _renamed(table: Table, tail: str, after: str) -> Table:
    return replace(table, name=table.name + tail, title=table.title + after)


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
