"""Self-contained HTML pages of runs and of benchmarks."""

from oceangym_bench.report.benchmark_page import write_benchmark_report
from oceangym_bench.report.run_page import write_run_report

__all__ = ['write_benchmark_report', 'write_run_report']
