"""Command line of the benchmark. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
import json
from pathlib import Path
import re
import sys
from typing import Any, NoReturn

from rich.console import Console
from rich.table import Table

from oceangym_bench.benchmark_file import benchmark_names, benchmark_path
from oceangym_bench.directory import (
    BenchmarkDirectory,
    CellState,
    CellStatus,
    count_states,
    find_directory,
    statuses,
)
from oceangym_bench.executors import cpu_count, Executor, EXECUTORS, LocalExecutor, SerialExecutor
from oceangym_bench.progress import ProgressWatcher
from oceangym_bench.runner import Redo, run_benchmark
from oceangym_core.errors import OceanGymError, unknown_name

EXIT_ERROR = 1
EXIT_CANCELLED = 130


class Parser(argparse.ArgumentParser):
    """Refuses with a message that says what was probably meant."""

    def error(self, message: str) -> NoReturn:
        """Raise what the command line prints.

        Raises:
            OceanGymError: Always.
        """
        unknown = re.search(r'unrecognized arguments: (--[^\s=]+)', message)
        if unknown:
            flags = [flag for flag in self._option_string_actions if flag.startswith('--')]
            raise unknown_name('flag', unknown.group(1), flags)
        raise OceanGymError(f'{self.prog}: {message}. See {self.prog} --help')


def _count(text: str) -> int:
    if not re.fullmatch(r'\d{1,6}', text) or int(text) < 1:
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number from 1 on')
    return int(text)


def _parser(verb: str, description: str) -> Parser:
    return Parser(prog=f'oceangym bench {verb}', description=description, allow_abbrev=False)


def _file_argument(parser: Parser, *, directory: bool) -> None:
    what = 'benchmark file or name' + (', or directory of its results' if directory else '')
    parser.add_argument('file', help=f'{what}; shipped: {", ".join(benchmark_names())}')
    parser.add_argument('--results-dir', type=Path, help="in place of the file's results_dir")


def run_verb(words: Sequence[str]) -> int:
    """Run what is still to be run; 1 if a run failed."""
    parser = _parser('run', 'Run a benchmark file; finished runs are kept, so that it resumes.')
    _file_argument(parser, directory=False)
    parser.add_argument(
        '--filter',
        action='append',
        default=[],
        metavar='TEXT',
        help='only runs with these parts in their names, e.g. task2 or survey.task2, or that '
        "match a pattern, e.g. '*point1*'; may be given several times",
    )
    parser.add_argument(
        '--redo',
        choices=[redo.value for redo in Redo if redo is not Redo.NONE],
        default=Redo.NONE.value,
        help='make finished runs again: those that ended by an error, or all',
    )
    parser.add_argument('--limit', type=_count, help='begin at most so many runs')
    parser.add_argument(
        '--executor', choices=EXECUTORS, default='local', help='where runs are made'
    )
    parser.add_argument(
        '--workers', type=_count, help='runs at a time; one for each CPU by default'
    )
    parser.add_argument(
        '--address', default='', help='of a Ray cluster, e.g. auto or ray://head:10001'
    )
    parser.add_argument(
        '--cpus', type=_count, default=1, help='CPUs of each Ray worker (default: 1)'
    )
    given = parser.parse_args(words)
    if given.address and given.executor != 'ray':
        raise OceanGymError('--address is for --executor ray')

    def executor(directory: BenchmarkDirectory) -> Executor:
        if given.executor == 'serial':
            return SerialExecutor()
        if given.executor == 'ray':
            # Ray is an extra that few have installed.
            from oceangym_bench.ray_executor import RayExecutor

            return RayExecutor(
                address=given.address,
                workers=given.workers,
                cpus=given.cpus,
                shared=directory.root,
            )
        return LocalExecutor(
            workers=given.workers or cpu_count(), logs=directory.logs, lock=directory.workers_lock
        )

    console = _log()
    with ProgressWatcher(console) as watcher:
        summary = run_benchmark(
            benchmark_path(given.file),
            make_executor=executor,
            watcher=watcher,
            results_dir=given.results_dir,
            filters=given.filter,
            redo=Redo(given.redo),
            limit=given.limit,
        )
    left = f', {summary.left} left' if summary.left else ''
    _say(
        f'{summary.ran} runs made in {summary.wall_s:.0f} s, {summary.kept} kept, '
        f'{summary.failed} failed{left}'
    )
    print(summary.directory)
    return EXIT_ERROR if summary.failed else 0


def status_verb(words: Sequence[str]) -> int:
    """Print how far a benchmark has come."""
    parser = _parser('status', 'Say how far a benchmark has come, from its files.')
    _file_argument(parser, directory=True)
    parser.add_argument('--json', action='store_true', help='print JSON: every run and its state')
    given = parser.parse_args(words)
    directory = find_directory(_place(given.file), given.results_dir)
    rows = statuses(directory)
    if given.json:
        print(json.dumps(_status_content(directory, rows), indent=1, ensure_ascii=False))
        return 0
    console = Console()
    table = Table(title=str(directory.root), title_justify='left')
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


def _place(text: str) -> Path:
    """Return the directory that a word names, or else the benchmark file."""
    path = Path(text).expanduser()
    return path if path.is_dir() else benchmark_path(text)


def _log() -> Console:
    return Console(stderr=True, soft_wrap=True)


def _say(message: str) -> None:
    _log().print(message, markup=False, highlight=False)


VERBS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    'run': (run_verb, 'run a benchmark file; resumes where it was stopped'),
    'status': (status_verb, 'how far it has come'),
}


def help_text() -> str:
    """Return what ``--help`` prints."""
    lines = ['usage: oceangym bench VERB ...', '', 'verbs:']
    lines += [f'  {verb:<10}{description}' for verb, (_, description) in VERBS.items()]
    lines += ['', 'shipped benchmark files:', *(f'  {name}' for name in benchmark_names())]
    return '\n'.join([*lines, '', '`oceangym bench VERB --help` lists the flags of a verb.'])


def main(words: Sequence[str]) -> int:
    """Run one verb and return the exit code: 0, 1 for an error, 130 for Ctrl-C."""
    if not words or words[0] in ('-h', '--help'):
        print(help_text())
        return 0 if words else EXIT_ERROR
    try:
        if words[0] not in VERBS:
            raise unknown_name('verb', words[0], VERBS)
        return VERBS[words[0]][0](words[1:])
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        return EXIT_ERROR
    except SystemExit as stop:
        # argparse has printed the help that was asked for.
        return stop.code if isinstance(stop.code, int) else 0
    except KeyboardInterrupt:
        _say('stopped; the same command goes on from here')
        return EXIT_CANCELLED
    except BrokenPipeError:
        # The reader of a pipe (head, less) has gone: nothing left to say.
        sys.stderr.close()
        return EXIT_ERROR


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
