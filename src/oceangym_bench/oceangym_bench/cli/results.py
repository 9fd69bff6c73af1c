"""The verbs about results: ``report`` shows them, ``verify`` doubts them, ``export`` hands them on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
import json
from pathlib import Path

from rich.console import Console

from oceangym_bench.cli.parser import add_file, EXIT_ERROR, place_of, positive, say, verb_parser
from oceangym_bench.execution.directory import (
    BENCHMARK_COPY,
    BenchmarkDirectory,
    CellState,
    find_directory,
    statuses,
)
from oceangym_bench.matrix.runs import Cell
from oceangym_core.errors import OceanGymError
from oceangym_core.paths import user_path
from oceangym_core.record.schema import RUN_FILE
from oceangym_core.scoring import SCORERS

FORMATS = ('markdown', 'csv', 'json', 'latex')


def report_verb(words: Sequence[str]) -> int:
    """Write and print the tables of some results."""
    parser = verb_parser(
        'report',
        'Write tables (Markdown, CSV, JSON, LaTeX) and an HTML page of results; print the tables.',
    )
    parser.add_argument(
        'paths',
        nargs='+',
        metavar='path',
        help='benchmark file or name, directory of its results, run directories, or a result '
        'tree of OceanGym',
    )
    parser.add_argument('--results-dir', type=Path, help="in place of the file's results_dir")
    parser.add_argument('--format', choices=FORMATS, default='markdown', help='of what is printed')
    parser.add_argument('--scorer', choices=tuple(SCORERS), help='of the tables')
    parser.add_argument('--out', type=Path, help='directory of the files')
    parser.add_argument('--runs', action='store_true', help='write the page of each run, too')
    parser.add_argument('--no-html', action='store_true', help='write no page')
    given = parser.parse_args(words)
    sources: list[Path] = []
    directories: list[BenchmarkDirectory] = []
    missing: list[Cell] = []
    for text in given.paths:
        path = user_path(text)
        if path.is_dir() and not (path / BENCHMARK_COPY).is_file():
            sources.append(path)
            continue
        directory = find_directory(place_of(text), given.results_dir)
        directories.append(directory)
        there, lacking = _run_directories(directory)
        sources += there
        missing += lacking
    out = given.out or (
        directories[0].report if len(given.paths) == len(directories) == 1 else None
    )
    return _report(
        sources, missing, given.format, given.scorer, out, html=not given.no_html, runs=given.runs
    )


def _run_directories(directory: BenchmarkDirectory) -> tuple[list[Path], list[Cell]]:
    """Return the runs that count, finished or failed half-way, and those that left no record."""
    rows = statuses(directory)
    missing = [row for row in rows if not row.finished]
    if missing:
        say(f'{len(missing)} of {len(rows)} runs of {directory.root} are not finished')
    counted = [
        row for row in rows if row.finished or row.state in (CellState.FAILED, CellState.ERROR)
    ]
    runs = [directory.runs / row.cell.id for row in counted]
    there = [run for run in runs if (run / RUN_FILE).is_file()]
    if not there:
        raise OceanGymError(f'{directory.root} holds no finished run yet')
    names = {run.name for run in there}
    return there, [row.cell for row in rows if row.cell.id not in names]


def _report(
    sources: Iterable[Path],
    missing: Sequence[Cell],
    form: str,
    scorer: str | None,
    out: Path | None,
    *,
    html: bool,
    runs: bool,
) -> int:
    # Reports draw maps and plots: their libraries take a second to import.
    from oceangym_bench.analysis.results import missing_rows, read_rows
    from oceangym_bench.analysis.table import Table
    from oceangym_bench.analysis.table_sets import benchmark_tables, write_tables
    from oceangym_bench.report import write_benchmark_report, write_run_report

    places = list(sources)
    rows = read_rows(places)
    tables = benchmark_tables((*rows, *missing_rows(rows, missing)), scorer=scorer)
    if out is not None:
        write_tables(out, tables)
        if runs:
            for place in places:
                write_run_report(place)
        if html:
            say(f'written: {write_benchmark_report(out, rows, tables)}')
    if form == 'json':
        print(json.dumps([table.as_dict() for table in tables], indent=1, ensure_ascii=False))
        return 0
    render = {'markdown': Table.markdown, 'csv': Table.csv, 'latex': Table.latex}[form]
    print('\n'.join(render(table) for table in tables))
    return 0


def verify_verb(words: Sequence[str]) -> int:
    """Check submitted runs; 1 unless every one is accepted."""
    # Flying again takes the simulator, which takes a second to import.
    from oceangym_bench.execution.simulator_cache import SimulatorCache
    from oceangym_bench.verify.run import Outcome, verify_run

    parser = verb_parser(
        'verify',
        'Score runs again from their records, and fly their commands again: a trajectory that is '
        'more than 0.01 m off is rejected.',
    )
    parser.add_argument(
        'paths', nargs='+', metavar='path', help='run directory, or directory of runs'
    )
    parser.add_argument(
        '--sample', type=positive, metavar='N', help='check N runs spread evenly over those given'
    )
    parser.add_argument(
        '--no-render',
        action='store_true',
        help='do not check what was perceptible, which takes most of the time',
    )
    parser.add_argument('--json', action='store_true', help='print JSON instead of text')
    given = parser.parse_args(words)
    runs = [run for text in given.paths for run in _runs_in(user_path(text))]
    if given.sample is not None and given.sample < len(runs):
        runs = [runs[i * len(runs) // given.sample] for i in range(given.sample)]
    simulators, console = SimulatorCache(), Console()
    verdicts = []
    for run in runs:
        verdict = verify_run(run, simulators, render=not given.no_render)
        verdicts.append(verdict)
        if given.json:
            continue
        word = 'REJECTED' if verdict.rejected else 'accepted'
        word = word if verdict.accepted or verdict.rejected else 'NOT REPEATABLE'
        console.print(f'{word} {run}', markup=False, highlight=False, soft_wrap=True)
        for finding in verdict.findings:
            if finding.outcome is not Outcome.PASSED or len(runs) == 1:
                text = f'  {finding.check}: {finding.outcome.value} {finding.detail}'
                console.print(text.rstrip(), markup=False, highlight=False, soft_wrap=True)
    if given.json:
        print(json.dumps([verdict.as_dict() for verdict in verdicts], indent=1))
    accepted, rejected = (
        sum(v.accepted for v in verdicts),
        sum(v.rejected for v in verdicts),
    )
    rest = len(runs) - accepted - rejected
    say(f'{accepted} accepted, {rejected} rejected' + f', {rest} not repeatable' * bool(rest))
    return 0 if accepted == len(runs) else EXIT_ERROR


def _runs_in(path: Path) -> list[Path]:
    if not path.exists():
        raise OceanGymError(f'{path} does not exist; give a run directory or a directory of runs')
    if (path / RUN_FILE).is_file():
        return [path]
    for pattern in (f'runs/*/{RUN_FILE}', f'*/{RUN_FILE}'):
        runs = sorted(found.parent for found in path.glob(pattern))
        if runs:
            return runs
    raise OceanGymError(f'{path} is no run directory ({RUN_FILE}) and holds none')


def export_verb(words: Sequence[str]) -> int:
    """Write results in another layout."""
    from oceangym_bench.analysis.export import export_oceangym, LAYOUTS

    parser = verb_parser(
        'export',
        'Write results as OceanGym does: <model>/task<N>/point<k>/ with memory files and logs.',
    )
    add_file(parser, directory=True)
    parser.add_argument('--layout', choices=LAYOUTS, default=LAYOUTS[0], help='of the tree')
    parser.add_argument(
        '--out', type=Path, help='directory of the tree (default: with the results)'
    )
    given = parser.parse_args(words)
    directory = find_directory(place_of(given.file), given.results_dir)
    out = given.out or directory.root / f'export_{given.layout}'
    count = export_oceangym(directory, statuses(directory), out, say=say)
    say(f'{count} runs written; score them with: oceangym score {out}')
    print(out)
    return 0
