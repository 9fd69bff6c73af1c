"""The page of a benchmark: every episode in its cell, nothing mixed, names harmless, links that lead."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import product
from pathlib import Path

import pytest

from oceangym_bench.analysis.results import EpisodeRow, number_repeats, System
from oceangym_bench.analysis.statistics import Interval
from oceangym_bench.analysis.table import Number, Score, Table
from oceangym_bench.analysis.table_sets import benchmark_tables
from oceangym_bench.matrix.tracks import Track
from oceangym_bench.report import write_benchmark_report
from oceangym_bench.report.benchmark_page import report_link
from oceangym_bench.report.plots import condition_plot, HEIGHT, interval_plot, scaling_plot

EVIL = '<script>alert(1)</script>"\'&'


def row(
    model: str = 'm',
    task: str = 'dock',
    start: str = 'point1',
    *,
    score: float | None = 50.0,
    source: str = '/nowhere',
    **kw,
) -> EpisodeRow:
    scores = {'verified': score, 'paper': score, 'compat': score}
    values = {
        'water': 'shallow',
        'ending': 'time',
        't_max': 1800.0,
        't_interval': 30.0,
        'profile': 'standard',
        'backend': 'embedded',
        'track': Track.V,
        'version': '2.0.0',
        'category': 'tracking',
        'size_class': 'large',
        'seed': 0,
        'world_seed': 0,
        'run_id': f'{model} {task} {start}',
    } | kw
    return EpisodeRow(
        source=source, system=System(model=model), task=task, start=start, scores=scores, **values
    )


class Cells(HTMLParser):
    """Collects the text of elements of a class, and every attribute that leads elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.cells: list[list[str]] = []
        self.scripts = 0
        self._inside = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.links += [v for k, v in attrs if k in ('href', 'src') and v]
        self.scripts += tag == 'script'
        if tag == 'td':
            self._inside = 'cell' in (values.get('class') or '').split()
            if self._inside:
                self.cells.append([])

    def handle_endtag(self, tag):
        if tag == 'td':
            self._inside = False

    def handle_data(self, data):
        if self._inside and data.strip():
            self.cells[-1].append(data.strip())


def page(tmp_path: Path, rows) -> tuple[str, Cells]:
    numbered = number_repeats(rows)
    path = write_benchmark_report(tmp_path, numbered, benchmark_tables(numbered))
    assert path == tmp_path / 'report.html'
    text = path.read_text(encoding='utf-8')
    return text, Cells(text)


def test_a_cell_holds_its_mean_its_deviation_and_each_episode(tmp_path) -> None:
    rows = [row(start=f's{k}', score=s) for k, s in enumerate((20.0, 40.0, 90.0))]
    _, found = page(tmp_path, rows)
    # The three scorers have one cell each.
    assert found.cells == [['50.0', '± 36.1', '20', '40', '90']] * 3


def test_unscored_and_partial_are_counted_never_averaged(tmp_path) -> None:
    rows = [
        row(start='a', score=30.0),
        row(start='b', score=None),
        row(start='c', score=99.0, partial=True, ending='budget'),
    ]
    text, found = page(tmp_path, rows)
    assert found.cells[0] == ['30.0', '30', '–', '–', '1 unscored, 1 partial']
    assert 'could not be scored' in text and 'cut short from outside' in text


def test_tracks_and_durations_stand_apart(tmp_path) -> None:
    rows = [
        row(track=track, t_max=t_max, start=start, score=10.0)
        for track, t_max, start in product((Track.V, Track.VS), (1800.0, 3600.0), ('a', 'b'))
    ]
    _, found = page(tmp_path, rows)
    assert found.cells == [['10.0', '± 0.0', '10', '10']] * 12


def test_names_are_text(tmp_path) -> None:
    text, found = page(tmp_path, [row(EVIL), row('b', run_id=EVIL, start=EVIL)])
    assert EVIL not in text and '&lt;script&gt;alert(1)' in text
    assert found.scripts == 1


def test_episodes_lead_to_their_pages_where_they_are(tmp_path) -> None:
    run = tmp_path / 'runs' / 'a # run'
    run.mkdir(parents=True)
    (run / 'report.html').write_text('x')
    there, missing = row(source=str(run)), row('other', source=str(tmp_path / 'runs' / 'b'))
    assert report_link(tmp_path, there) == 'runs/a%20%23%20run/report.html'
    assert report_link(tmp_path / 'report', there) == '../runs/a%20%23%20run/report.html'
    assert report_link(tmp_path, missing) == ''
    _, found = page(tmp_path, [there, missing])
    pages = [link for link in found.links if not link.startswith('data:')]
    # Once a scorer's map and once in the list.
    assert pages == ['runs/a%20%23%20run/report.html'] * 4


def test_tables_are_there_with_their_notes_and_files(tmp_path) -> None:
    rows = number_repeats([row('a', start=s) for s in 'xyz'] + [row('b', start=s) for s in 'xyz'])
    tables = benchmark_tables(rows)
    text, found = page(tmp_path, rows)
    for table in tables:
        assert table.title in text
    assert 'Told apart: p &lt; 0.05' in text
    downloads = [link for link in found.links if link.startswith('data:')]
    assert len(downloads) == 3 * len(tables)
    assert sum(
        link.startswith('data:text/csv;charset=utf-8;base64,') for link in downloads
    ) == len(tables)


def test_the_folder_report_is_named_after_its_benchmark(tmp_path) -> None:
    folder = tmp_path / 'monday' / 'report'
    write_benchmark_report(folder, [row()], [])
    assert '<h1>monday</h1>' in (folder / 'report.html').read_text()


# --- plots -------------------------------------------------------------------------------------


def scores(*means: float | None) -> list[Score]:
    return [
        Score(mean=m, interval=None if m is None else Interval(m - 5, m + 5), starts=3)
        for m in means
    ]


def test_durations_are_drawn_to_scale() -> None:
    table = Table(
        title='Score by duration',
        columns=('system', 'water', '1800 s', '1 h', '3 h', 'longest - shortest'),
        rows=(
            ('a', 'shallow', *scores(10, 20, 30), None),
            ('b', 'shallow', *scores(0, None, 100), None),
        ),
    )
    plot = scaling_plot(table)
    assert plot is not None
    at = [x for x, _ in plot.ticks]
    assert [text for _, text in plot.ticks] == ['1800 s', '1 h', '3 h']
    assert (at[1] - at[0]) / (at[2] - at[1]) == pytest.approx(0.5 / 2)
    a, b = plot.series
    # What is the same in all rows, the water, is no part of a name.
    assert (a.name, b.name) == ('a', 'b')
    assert [len(s.spots) for s in (a, b)] == [3, 2]
    levels = {text: y for y, text in plot.levels}
    assert (b.spots[0].y, b.spots[1].y) == pytest.approx((levels['0'], levels['100']))
    assert 0 < levels['100'] < levels['0'] < HEIGHT
    middle = a.spots[1]
    assert middle.low is not None and middle.high is not None
    assert middle.low - middle.y == pytest.approx(middle.y - middle.high)


def test_what_cannot_be_drawn_is_left_out() -> None:
    table = Table(title='t', columns=('system', 'score'), rows=(('a', Number(1.0)),))
    assert scaling_plot(table) is None
    assert condition_plot(table) is None
    assert interval_plot(table) is None


def test_a_ranking_is_drawn_a_line_a_system() -> None:
    table = Table(
        title='Ranking',
        columns=('rank', 'system', 'average', 'not told apart from'),
        rows=(
            (1, 'b', *scores(75), None),
            (2, 'a', *scores(25), None),
            (2, 'c', *scores(None), 'a'),
        ),
    )
    plot = interval_plot(table)
    assert plot is not None
    assert [text for _, text in plot.levels] == ['b', 'a', 'c']
    b, a, c = plot.series
    scale = {text: x for x, text in plot.ticks}
    assert (b.spots[0].x, a.spots[0].x) == pytest.approx((scale['75'], scale['25']))
    assert c.spots == ()
