"""What the verbs of the command line share: their parser and their words to people."""

from __future__ import annotations

import argparse
from pathlib import Path
import re

from rich.console import Console

from oceangym_bench.matrix.benchmark_file import benchmark_names, benchmark_path
from oceangym_core.config.command_parser import CommandParser
from oceangym_core.paths import user_path

EXIT_ERROR = 1
EXIT_CANCELLED = 130


def verb_parser(verb: str, description: str) -> CommandParser:
    """Return the parser of one verb."""
    return CommandParser(
        prog=f'oceangym bench {verb}', description=description, allow_abbrev=False
    )


def add_file(parser: CommandParser, *, directory: bool) -> None:
    """Add the argument that names a benchmark, and the flag for where its results are."""
    what = 'benchmark file or name' + (', or directory of its results' if directory else '')
    parser.add_argument('file', help=f'{what}; shipped: {", ".join(benchmark_names())}')
    parser.add_argument('--results-dir', type=Path, help="in place of the file's results_dir")


def add_filter(parser: CommandParser) -> None:
    """Add the flag that chooses runs."""
    parser.add_argument(
        '--filter',
        action='append',
        default=[],
        metavar='TEXT',
        help='only runs with these parts in their names, e.g. task2 or survey.task2, or that '
        "match a pattern, e.g. '*point1*'; may be given several times",
    )


def positive(text: str) -> int:
    """Return a whole number from 1 on.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    return _whole(text, 1)


def count(text: str) -> int:
    """Return a whole number from 0 on.

    Raises:
        argparse.ArgumentTypeError: It is none.
    """
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not re.fullmatch(r'\d{1,6}', text) or int(text) < least:
        raise argparse.ArgumentTypeError(f'{text!r} is not a whole number from {least} on')
    return int(text)


def place_of(text: str) -> Path:
    """Return the directory that a word names, or else the benchmark file."""
    path = user_path(text)
    return path if path.is_dir() else benchmark_path(text)


def log_console() -> Console:
    """Return the console for people, on stderr."""
    return Console(stderr=True, soft_wrap=True)


def say(message: str) -> None:
    """Tell people something."""
    log_console().print(message, markup=False, highlight=False)
