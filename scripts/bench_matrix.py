#!/usr/bin/env python3
"""Time a benchmark's matrix, kill it half-way, resume it, and compare the tables.

Run inside the workspace's environment: ``./scripts/oceangym shell`` and then
``python scripts/bench_matrix.py``. The smoke matrix (2 scripted models x 12 tasks x 3 starts,
t_max 150 s) takes minutes. Prints what it measured as Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import subprocess
import sys
import time

from oceangym_bench.analysis.results import read_rows
from oceangym_bench.analysis.table_sets import benchmark_tables
from oceangym_bench.execution.executors import default_workers
from oceangym_bench.matrix.benchmark_file import benchmark_path, load_benchmark
from oceangym_bench.matrix.runs import cells_of

POLL_S = 0.5


def command(source: Path, folder: Path, words: list[str]) -> list[str]:
    """Return the command that runs the file into a folder."""
    run = [sys.executable, '-m', 'oceangym_bench.cli.main', 'run', str(source)]
    return [*run, '--results-dir', str(folder), *words]


def timed(source: Path, folder: Path, words: list[str]) -> float:
    """Run the file and return the wall time [s]."""
    begin = time.monotonic()
    subprocess.run(command(source, folder, words), check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def killed(source: Path, folder: Path, words: list[str], *, count: int) -> int:
    """Kill a run with -9 once so many cells are finished; return how many were."""
    process = subprocess.Popen(command(source, folder, words), stdout=subprocess.DEVNULL)
    while process.poll() is None:
        done = len(list(folder.glob('*/runs/*/score.json')))
        if done >= count:
            process.kill()
            process.wait()
            return done
        time.sleep(POLL_S)
    raise SystemExit(f'the run ended with {process.returncode} before it could be killed')


def tables_of(folder: Path) -> dict[str, str]:
    """Return every table but the one that holds wall times."""
    (root,) = (path.parent for path in folder.glob('*/benchmark.yaml'))
    tables = benchmark_tables(read_rows(root))
    return {table.name: table.json() for table in tables if not table.name.startswith('cost')}


def main() -> int:
    """Run, kill, resume, compare; 1 if tables differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--file', default='smoke', help='benchmark file or name')
    parser.add_argument('--folder', type=Path, default=Path('runs/bench_matrix'))
    parser.add_argument('--workers', type=int, default=default_workers())
    parser.add_argument('--no-kill', action='store_true', help='only time it')
    parser.add_argument('--ray', action='store_true', help='with --executor ray, too')
    given = parser.parse_args()
    source = benchmark_path(given.file)
    total = len(cells_of(load_benchmark(source)))
    workers = ['--workers', str(given.workers)]
    wall = timed(source, given.folder / 'whole', workers)
    lines = [f'- {total} runs, {given.workers} workers: {wall:.0f} s']
    expected = tables_of(given.folder / 'whole')
    same = True
    if not given.no_kill:
        folder = given.folder / 'killed'
        done = killed(source, folder, workers, count=total // 2)
        rest = timed(source, folder, workers)
        equal = tables_of(folder) == expected
        same &= equal
        lines.append(
            f'- killed with -9 after {done} runs, resumed in {rest:.0f} s: tables '
            f'{"equal" if equal else "DIFFER"}'
        )
    if given.ray:
        folder = given.folder / 'ray'
        wall = timed(source, folder, ['--executor', 'ray'])
        equal = tables_of(folder) == expected
        same &= equal
        lines.append(f'- --executor ray: {wall:.0f} s, tables {"equal" if equal else "DIFFER"}')
    print('\n'.join(lines))
    return 0 if same else 1


if __name__ == '__main__':
    raise SystemExit(main())
