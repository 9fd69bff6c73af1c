"""Command line of the benchmark. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import sys

from oceangym_bench.cli.parser import EXIT_CANCELLED, EXIT_ERROR, say
from oceangym_bench.cli.results import export_verb, report_verb, verify_verb
from oceangym_bench.cli.run import layouts_verb, plan_verb, run_verb, status_verb
from oceangym_bench.matrix.benchmark_file import benchmark_names
from oceangym_core.errors import OceanGymError, unknown_name

VERBS: dict[str, tuple[Callable[[Sequence[str]], int], str]] = {
    'plan': (plan_verb, 'calls, tokens and price of a benchmark file, before anything is spent'),
    'run': (run_verb, 'run a benchmark file; goes on where it was stopped'),
    'status': (status_verb, 'how far it has come'),
    'report': (report_verb, 'tables and an HTML page of the results'),
    'verify': (verify_verb, 'score submitted runs again and fly their commands again'),
    'layouts': (
        layouts_verb,
        'draw hidden layouts: a private file of seeds, and its hash to publish',
    ),
    'export': (export_verb, "write results in OceanGym's layout"),
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
        say('stopped; the same command goes on from here')
        return EXIT_CANCELLED
    except BrokenPipeError:
        # The reader of a pipe (head, less) has gone: nothing left to say.
        sys.stderr.close()
        return EXIT_ERROR


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
