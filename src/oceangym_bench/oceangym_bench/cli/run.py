"""The verbs that spend: ``plan`` says what a benchmark costs, ``run`` runs it, ``status`` watches."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table as ScreenTable

from oceangym_bench.analysis.table import Number, Table
from oceangym_bench.cli.parser import (
    add_file,
    add_filter,
    count,
    EXIT_ERROR,
    log_console,
    place_of,
    positive,
    say,
    verb_parser,
)
from oceangym_bench.execution.directory import (
    BenchmarkDirectory,
    CellState,
    CellStatus,
    count_states,
    find_directory,
    statuses,
)
from oceangym_bench.execution.executors import (
    default_workers,
    Executor,
    EXECUTORS,
    LocalExecutor,
    SerialExecutor,
)
from oceangym_bench.execution.progress import ProgressWatcher
from oceangym_bench.execution.runner import MAX_FAILURES, Redo, run_benchmark, RunSummary
from oceangym_bench.matrix.benchmark_file import benchmark_path, load_benchmark
from oceangym_bench.matrix.hidden_layouts import MAX_LAYOUTS, write_seeds
from oceangym_bench.matrix.runs import cells_of, select, with_sources
from oceangym_core.errors import OceanGymError
from oceangym_core.paths import user_path

# Failed runs that are named at the end of a run.
MOST_NAMED = 10


def run_verb(words: Sequence[str]) -> int:
    """Run what is still to be run; 1 while a run has failed or the rest was not begun."""
    parser = verb_parser(
        'run',
        'Run a benchmark file; finished runs are kept, so that it resumes, and failed ones are made '
        'again.',
    )
    add_file(parser, directory=False)
    add_filter(parser)
    parser.add_argument(
        '--redo',
        choices=[redo.value for redo in Redo],
        default=Redo.FAILED.value,
        help='which finished runs are made again: those that ended by an error (failed, the '
        'default), none, or all',
    )
    parser.add_argument(
        '--max-failures',
        type=count,
        default=MAX_FAILURES,
        metavar='N',
        help='leave the rest when N runs of a model failed alike without a success between '
        f'(default: {MAX_FAILURES}; 0: never)',
    )
    parser.add_argument(
        '--no-probe',
        action='store_true',
        help='do not ask each model one small question before the first run',
    )
    parser.add_argument('--limit', type=positive, help='begin at most so many runs')
    parser.add_argument(
        '--executor', choices=EXECUTORS, default='local', help='where runs are made'
    )
    parser.add_argument(
        '--workers',
        type=positive,
        help='runs at a time; one for each CPU by default, as long as memory lasts',
    )
    parser.add_argument(
        '--address', default='', help='of a Ray cluster, e.g. auto or ray://head:10001'
    )
    parser.add_argument(
        '--cpus', type=positive, default=1, help='CPUs of each Ray worker (default: 1)'
    )
    given = parser.parse_args(words)
    if given.address and given.executor != 'ray':
        raise OceanGymError('--address is for --executor ray')

    def executor(directory: BenchmarkDirectory) -> Executor:
        if given.executor == 'serial':
            return SerialExecutor()
        if given.executor == 'ray':
            # Ray is an extra that few have installed.
            from oceangym_bench.execution.ray_executor import RayExecutor

            return RayExecutor(
                address=given.address,
                workers=given.workers,
                cpus=given.cpus,
                shared=directory.root,
            )
        return LocalExecutor(
            workers=given.workers or default_workers(),
            logs=directory.logs,
            lock=directory.workers_lock,
        )

    with ProgressWatcher(log_console()) as watcher:
        summary = run_benchmark(
            benchmark_path(given.file),
            make_executor=executor,
            watcher=watcher,
            results_dir=given.results_dir,
            filters=given.filter,
            redo=Redo(given.redo),
            limit=given.limit,
            max_failures=given.max_failures,
            # The nodes of a cluster have keys of their own.
            check_models=given.executor != 'ray',
            ask_models=not given.no_probe,
        )
    left = f', {summary.left} left' if summary.left else ''
    say(
        f'{summary.ran} runs made in {summary.wall_s:.0f} s, {summary.kept} kept, '
        f'{summary.failed} failed{left}'
    )
    _say_failures(summary, redone=given.redo != Redo.NONE.value)
    print(summary.directory)
    return EXIT_ERROR if summary.failed or summary.stopped else 0


def _say_failures(summary: RunSummary, *, redone: bool) -> None:
    """Name the failed runs and how they are made again."""
    for cell_id, message in list(summary.failures.items())[:MOST_NAMED]:
        say(f'failed: {cell_id}: {message}')
    if summary.failed > MOST_NAMED:
        say(f'... and {summary.failed - MOST_NAMED} more; `oceangym bench status` names them all')
    if summary.stopped:
        say(f'stopped with {summary.left} runs left: {summary.stopped}')
    elif summary.failed:
        say(
            'failed runs are made again by the same command'
            + ('' if redone else ' without --redo none')
        )


def status_verb(words: Sequence[str]) -> int:
    """Print how far a benchmark has come."""
    parser = verb_parser('status', 'Say how far a benchmark has come, from its files.')
    add_file(parser, directory=True)
    parser.add_argument('--json', action='store_true', help='print JSON: every run and its state')
    given = parser.parse_args(words)
    directory = find_directory(place_of(given.file), given.results_dir)
    rows = statuses(directory)
    if given.json:
        print(json.dumps(_status_content(directory, rows), indent=1, ensure_ascii=False))
        return 0
    console = Console()
    table = ScreenTable(title=str(directory.root), title_justify='left')
    table.add_column('model')
    for state in CellState:
        table.add_column(state.value, justify='right')
    models = dict.fromkeys(row.cell.model for row in rows)
    for model in models:
        counts = count_states([row for row in rows if row.cell.model == model])
        table.add_row(model, *(str(counts[state]) for state in CellState))
    if len(models) > 1:
        table.add_section()
        table.add_row('all', *(str(n) for n in count_states(rows).values()))
    console.print(table)
    for row in rows:
        if row.state in (CellState.FAILED, CellState.ERROR):
            console.print(
                f'{row.cell.id}: {row.message}', markup=False, highlight=False, soft_wrap=True
            )
    return 0


def _status_content(directory: BenchmarkDirectory, rows: Sequence[CellStatus]) -> dict[str, Any]:
    return {
        'directory': str(directory.root),
        'counts': {state.value: n for state, n in count_states(rows).items()},
        'runs': {row.cell.id: {'state': row.state.value, 'message': row.message} for row in rows},
    }


def layouts_verb(words: Sequence[str]) -> int:
    """Draw the seeds of hidden layouts into a private file and print what a benchmark file says of it."""
    parser = verb_parser('layouts', 'Draw hidden layouts: a private file of seeds, and its hash.')
    parser.add_argument('--count', type=positive, default=3, help='of layouts (default: 3)')
    parser.add_argument('--out', type=Path, required=True, help='the private file; must not exist')
    given = parser.parse_args(words)
    if given.count > MAX_LAYOUTS:
        raise OceanGymError(f'--count {given.count} is more than {MAX_LAYOUTS} layouts')
    path = user_path(given.out)
    sha256 = write_seeds(path, given.count)
    say(f'{path} must stay private; a benchmark file names it by these two lines:')
    print(f'world_seeds_file: {json.dumps(str(path))}\nworld_seeds_sha256: {sha256}')
    return 0


def plan_verb(words: Sequence[str]) -> int:
    """Print what a benchmark will ask of its models."""
    # Building a request takes the simulator, which takes a second to import.
    from oceangym_bench.execution.plan import plan_cells, REASONING_TOKENS, REPLY_TOKENS

    parser = verb_parser('plan', 'Say how many calls, tokens and USD a benchmark will take.')
    add_file(parser, directory=False)
    add_filter(parser)
    parser.add_argument(
        '--reply-tokens',
        type=positive,
        default=REPLY_TOKENS,
        help=f'of one reply (default: {REPLY_TOKENS})',
    )
    parser.add_argument(
        '--reasoning-tokens',
        type=positive,
        default=REASONING_TOKENS,
        help=f'hidden ones of models that reason (default: {REASONING_TOKENS})',
    )
    parser.add_argument('--json', action='store_true', help='print JSON instead of a table')
    given = parser.parse_args(words)
    benchmark = load_benchmark(benchmark_path(given.file))
    cells = cells_of(benchmark)
    if benchmark.absent_layouts:
        say(benchmark.absent_layouts)
    wanted = with_sources(cells, select(cells, given.filter))
    directory = BenchmarkDirectory.of(benchmark, given.results_dir)
    finished = {cell.id for cell in wanted if directory.status(cell).finished}
    if finished:
        say(f'{len(finished)} of {len(wanted)} runs are finished and are left out')
    plan = plan_cells(
        [cell for cell in wanted if cell.id not in finished],
        reply_tokens=given.reply_tokens,
        reasoning_tokens=given.reasoning_tokens,
        say=say,
    )
    if given.json:
        print(json.dumps(plan.as_dict(), indent=1))
        return 0
    rows = [
        (
            demand.model,
            demand.runs,
            demand.decisions,
            demand.calls,
            demand.images,
            Number(value=demand.tokens_in / 1e6, decimals=3),
            Number(value=demand.tokens_out / 1e6, decimals=3),
            Number(value=demand.price, decimals=2),
            demand.price_date,
        )
        for demand in (*plan.models, plan.total)
    ]
    columns = ('model', 'runs', 'decisions', 'calls', 'images', 'M tokens in', 'M tokens out')
    table = Table(
        title=f'Plan of benchmark {benchmark.name}',
        columns=(*columns, 'USD', 'price of'),
        rows=tuple(rows),
        notes=tuple(f'Assumed: {line}.' for line in plan.assumptions),
    )
    print(table.markdown(), end='')
    return 0
