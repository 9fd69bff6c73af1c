#!/usr/bin/env python3
"""Run the baseline agents over the benchmark and write their table into the README.

Run inside the workspace's environment: ``./scripts/oceangym shell`` and then
``python scripts/baseline_table.py``. Finished episodes are kept in --folder and skipped next time.
"""

from __future__ import annotations

import argparse
from pathlib import Path
import sys

from oceangym_bench.baselines import AGENTS, Cell, cells, markdown_table, run_cells, STARTS

README = Path(__file__).resolve().parent.parent / 'README.md'
BEGIN, END = '<!-- baselines:begin -->', '<!-- baselines:end -->'


def main() -> int:
    """Run, print the table, and with --write put it between the README's markers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--agents', nargs='+', default=AGENTS, choices=AGENTS)
    parser.add_argument('--starts', nargs='+', default=STARTS)
    parser.add_argument('--folder', type=Path, default=Path('runs/baselines'))
    parser.add_argument('--write', action='store_true', help='update README.md')
    arguments = parser.parse_args()

    def report(cell: Cell) -> None:
        print(
            f'{cell.agent:10s} {cell.alias:7s} {cell.start:7s} {cell.scores} {cell.ending} '
            f'{cell.decisions} decisions, {cell.collisions} collisions',
            file=sys.stderr,
            flush=True,
        )

    results = run_cells(cells(arguments.agents, arguments.starts), arguments.folder, report=report)
    table = markdown_table(results)
    print(table)
    if arguments.write:
        text = README.read_text(encoding='utf-8')
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        README.write_text(f'{head}{BEGIN}\n{table}\n{END}{tail}', encoding='utf-8')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
