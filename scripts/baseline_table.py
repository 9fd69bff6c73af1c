#!/usr/bin/env python3
"""Write the table of the agents without a model into the manual.

First ``./scripts/oceangym bench run baselines``, then inside ``./scripts/oceangym shell``:
``python scripts/baseline_table.py``.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from manual_tables import replace_part
from oceangym_bench.analysis.results import read_rows
from oceangym_bench.analysis.table_sets import benchmark_tables
from oceangym_core.files import write_atomic

PAGE = Path(__file__).resolve().parent.parent / 'docs' / 'tasks_and_scores.md'


def main() -> int:
    """Print the table by strata and put it between the page's markers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--folder', type=Path, default=Path('runs/baselines'))
    rows = read_rows(parser.parse_args().folder)
    table = next(table for table in benchmark_tables(rows) if table.name == 'strata').markdown()
    write_atomic(PAGE, replace_part(PAGE.read_text(encoding='utf-8'), 'baselines', table))
    print(table)
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
