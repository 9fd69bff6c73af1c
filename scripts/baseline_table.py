#!/usr/bin/env python3
"""Write the table of the agents without a model into the README.

First ``./scripts/oceangym bench run baselines``, then inside ``./scripts/oceangym shell``:
``python scripts/baseline_table.py``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from oceangym_bench.analysis.results import read_rows
from oceangym_bench.analysis.table_sets import benchmark_tables
from oceangym_core.files import write_atomic

README = Path(__file__).resolve().parent.parent / 'README.md'
BEGIN, END = '<!-- baselines:begin -->', '<!-- baselines:end -->'


def main() -> int:
    """Print the table by strata and put it between the README's markers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--folder', type=Path, default=Path('runs/baselines'))
    rows = read_rows(parser.parse_args().folder)
    table = next(table for table in benchmark_tables(rows) if table.name == 'strata').markdown()
    text = README.read_text(encoding='utf-8')
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    write_atomic(README, f'{head}{BEGIN}\n{table}{END}{tail}')
    print(table)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
