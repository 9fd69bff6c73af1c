"""The verb ``report``, and the page that every run leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from oceangym_core.errors import OceanGymError
from oceangym_core.paths import user_path
from oceangym_core.record.schema import EPISODE_FILE, RUN_FILE

BENCHMARK_FILE = 'benchmark.yaml'


def report_command(arguments: Sequence[str]) -> int:
    """Write ``report.html`` into each run directory that is named, and print where it is."""
    if not arguments:
        raise OceanGymError('report takes run directories, e.g. report runs/NAME')
    for word in arguments:
        directory = user_path(word)
        if not (directory / RUN_FILE).is_file():
            if (directory / BENCHMARK_FILE).is_file():
                raise OceanGymError(f'{word} is a benchmark: bench report writes its page')
            raise OceanGymError(f'{word} is no run directory: it holds no {RUN_FILE}')
        print(_write(directory))
    return 0


def report_run(directory: Path, say: Callable[[str], None]) -> None:
    """Write the page of a run that has just ended; the run counts whatever becomes of it.

    Args:
        directory: Of the run.
        say: Tells a person where the page is, or why there is none.
    """
    record = directory / EPISODE_FILE
    if not record.is_file() or record.stat().st_size == 0:
        return
    try:
        say(f'report {_write(directory)}')
    except OceanGymError as error:
        # A run that was cut short before its first observation has nothing to show.
        say(f'no report: {error}')
    except Exception as error:
        # Whatever a page trips over, the exit code is the episode's.
        say(
            f'the report could not be written ({type(error).__name__}: {error}); the record is whole'
        )


def _write(directory: Path) -> Path:
    # Plots and pictures take seconds to import, which no other verb needs.
    from oceangym_bench.report import write_run_report

    return write_run_report(directory)
