"""The report of a benchmark: who scored what where, with links to the runs' own reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from oceangym_bench.analysis.comparable import cell_of, labels_of, task_order, water_order
from oceangym_bench.analysis.results import EpisodeRow, State
from oceangym_bench.analysis.statistics import summarise
from oceangym_bench.analysis.studies import hours
from oceangym_bench.analysis.table import Table
from oceangym_bench.matrix.hidden_layouts import layout_label
from oceangym_bench.report.page import render_page
from oceangym_bench.report.pictures import data_url
from oceangym_bench.report.plots import condition_plot, interval_plot, scaling_plot
from oceangym_bench.report.run_page import FILE_NAME, SCORER_NAMES
from oceangym_core.errors import OceanGymError
from oceangym_core.files import write_atomic
from oceangym_core.scoring import SCORERS


def write_benchmark_report(
    directory: Path, rows: Iterable[EpisodeRow], tables: Iterable[Table]
) -> Path:
    """Write ``report.html`` into a benchmark's directory and return its path.

    The page needs no network. Episodes link to their own reports where these are written.

    Args:
        directory: Where the page goes.
        rows: Every episode, counted or not.
        tables: Of these episodes, in the order in which they are shown.

    Raises:
        OceanGymError: The page cannot be written.
    """
    episodes = tuple(rows)
    shown = tuple(tables)
    # The tables and the page of a benchmark lie in its folder `report`.
    place = directory.resolve()
    name = place.parent.name if place.name == 'report' else place.name
    page = render_page(
        'benchmark.html.j2',
        script='benchmark.js',
        title=f'{name} – OceanGym benchmark',
        name=name,
        facts=_facts(episodes),
        counts=_counts(episodes),
        scorers=[s for s in SCORERS if any(row.scores.get(s) is not None for row in episodes)]
        or list(SCORERS)[:1],
        scorer_names=SCORER_NAMES,
        maps=_heat_maps(directory, episodes),
        systems=_systems(episodes),
        plots=_plots(shown),
        tables=[_table(table) for table in shown],
        runs=[_run(directory, row) for row in episodes],
    )
    target = directory / FILE_NAME
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OceanGymError(f'cannot make {directory}: {error.strerror}') from error
    write_atomic(target, page)
    return target


def _different(values: Iterable[Any]) -> str:
    """Return the distinct values for a heading."""
    return ', '.join(sorted({str(value) for value in values if value not in (None, '')}))


def _facts(rows: Sequence[EpisodeRow]) -> list[tuple[str, str]]:
    facts = [
        ('Benchmark', _different(row.version for row in rows)),
        ('Tracks', _different(row.track.value for row in rows)),
        ('Actions', _different(row.actions for row in rows if row.actions != 'oceangym')),
        ('Profiles', _different(row.profile for row in rows)),
        ('Backends', _different(row.backend for row in rows)),
        ('Frames', _different(row.frame for row in rows)),
        (
            'Layouts',
            _different(layout_label(row.world_seed) for row in rows if row.world_seed is not None),
        ),
        ('Durations', _different(hours(row.t_max) for row in rows if row.t_max)),
        ('Prompts', _different(row.setting('prompt') for row in rows)),
    ]
    return [(name, value) for name, value in facts if value]


def _counts(rows: Sequence[EpisodeRow]) -> dict[str, Any]:
    # Whether an episode counts depends on the scorer only where there is no truth.
    states = Counter(row.state('verified') for row in rows)
    return {
        'episodes': len(rows),
        'counted': states[State.COUNTED],
        'unscored': states[State.UNSCORED],
        'partial': states[State.PARTIAL],
        'systems': len({row.system for row in rows}),
        'tasks': len({(row.task, row.water) for row in rows}),
        'decisions': sum(row.decisions for row in rows),
        'invalid': sum(row.invalid_replies for row in rows),
        'tokens': sum(row.tokens for row in rows),
        'cost': sum(row.cost for row in rows),
        'latency': sum(row.latency for row in rows),
    }


def _systems(rows: Sequence[EpisodeRow]) -> list[dict[str, Any]]:
    """Return what became of each system's episodes."""
    lines = []
    for system, label in labels_of(row.system for row in rows).items():
        mine = [row for row in rows if row.system == system]
        states = Counter(row.state('verified') for row in mine)
        endings = Counter(row.ending for row in mine)
        lines.append(
            {
                'label': label,
                'episodes': len(mine),
                'counted': states[State.COUNTED],
                'unscored': states[State.UNSCORED],
                'partial': states[State.PARTIAL],
                'endings': ', '.join(
                    f'{count} {ending}' for ending, count in endings.most_common()
                ),
                'invalid': sum(row.invalid_replies for row in mine),
                'collisions': sum(row.collisions or 0 for row in mine),
                'tokens': sum(row.tokens for row in mine),
                'cost': sum(row.cost for row in mine),
            }
        )
    return lines


def _heat_maps(directory: Path, rows: Sequence[EpisodeRow]) -> list[dict[str, Any]]:
    """Return a map a set of conditions and scorer; conditions are never averaged."""
    groups: dict[tuple[str, str, str, float], list[EpisodeRow]] = {}
    for row in rows:
        extended = '' if row.actions == 'oceangym' else f', actions {row.actions}'
        key = (row.track.description + extended, row.profile, row.backend, row.t_max or 0.0)
        groups.setdefault(key, []).append(row)
    maps = []
    for (track, profile, backend, duration), members in sorted(groups.items()):
        named = [
            track,
            f'profile {profile}' if profile else '',
            backend,
            hours(duration) if duration else '',
        ]
        for scorer in SCORERS:
            heat = _heat_map(directory, members, scorer)
            maps.append({'title': ', '.join(filter(None, named)), 'scorer': scorer, **heat})
    return maps


def _heat_map(directory: Path, rows: Sequence[EpisodeRow], scorer: str) -> dict[str, Any]:
    columns = sorted(
        {(row.water, row.task) for row in rows},
        key=lambda c: (water_order(c[0]), task_order(c[1])),
    )
    lines = []
    for system, label in labels_of(row.system for row in rows).items():
        cells = []
        for water, task in columns:
            mine = [r for r in rows if (r.system, r.water, r.task) == (system, water, task)]
            cell = cell_of(mine, scorer)
            summary = summarise(cell.starts) if cell.starts else None
            cells.append(
                {
                    'mean': None if summary is None else summary.mean,
                    'sd': None if summary is None else summary.sd,
                    'starts': 0 if summary is None else summary.starts,
                    'unscored': cell.unscored,
                    'partial': cell.partial,
                    'runs': [
                        {
                            'link': report_link(directory, row),
                            'text': _brief(row.score(scorer)),
                            'title': f'{row.run_id}: {row.start}, {row.ending}',
                        }
                        for row in mine
                    ],
                }
            )
        lines.append({'label': label, 'cells': cells})
    waters: list[tuple[str, int]] = list(Counter(water for water, _ in columns).items())
    return {'waters': waters, 'tasks': [task for _, task in columns], 'rows': lines}


def _brief(score: float | None) -> str:
    return '–' if score is None else f'{score:.0f}'


def report_link(directory: Path, row: EpisodeRow) -> str:
    """Return the relative URL of an episode's report; empty where there is none."""
    page = Path(row.source) / FILE_NAME
    if not page.is_file():
        return ''
    try:
        relative = os.path.relpath(page.resolve(), directory.resolve())
    except ValueError:
        return ''  # On another drive.
    return quote(Path(relative).as_posix())


def _run(directory: Path, row: EpisodeRow) -> dict[str, Any]:
    return {
        'id': row.run_id,
        'link': report_link(directory, row),
        'system': row.model,
        'task': row.task,
        'water': row.water,
        'start': row.start,
        'seed': row.seed,
        'ending': row.ending,
        'state': row.state('verified').value,
        'scores': [row.scores.get(scorer) for scorer in SCORERS],
        'minutes': None if row.duration is None else row.duration / 60,
        'decisions': row.decisions,
        'invalid': row.invalid_replies,
        'collisions': row.collisions,
        'cost': row.cost,
    }


def _plots(tables: Sequence[Table]) -> list[Any]:
    makers = (('ranking', interval_plot), ('scaling', scaling_plot), ('transfer', condition_plot))
    found = [
        make(table) for name, make in makers for table in tables if table.name.startswith(name)
    ]
    return [plot for plot in found if plot is not None]


def _table(table: Table) -> dict[str, Any]:
    return {
        'name': table.name,
        'title': table.title,
        'columns': table.columns,
        'texts': table.texts(),
        'numeric': [table.numeric(i) for i in range(len(table.columns))],
        'notes': table.notes,
        'files': [
            (ending, data_url(text.encode(), f'{media};charset=utf-8'))
            for ending, media, text in (
                ('csv', 'text/csv', table.csv()),
                ('md', 'text/markdown', table.markdown()),
                ('tex', 'text/x-tex', table.latex()),
            )
        ],
    }
