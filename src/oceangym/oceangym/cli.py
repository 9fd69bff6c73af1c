"""The command line. Data goes to stdout, everything else to stderr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
import sys

from oceangym.report_command import report_command
from oceangym.run_command import run_command
from oceangym.supervisor import EXIT_CANCELLED, EXIT_ERROR
from oceangym_core.assets import config_path
from oceangym_core.config.option_help import help_lines
from oceangym_core.config.options import AGENTS, model_names, prompt_names
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.config.waters import profile_names, water_names
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.scoring import main as score_main

USAGE = """usage: oceangym VERB ...

verbs:
  run [name:=value ...]       run one episode, e.g. run task:=inspect_pipe agent:=survey
  list [KIND]                 what there is: tasks, benchmark, benchmarks, agents, models, prompts,
                              waters, worlds, profiles
  score PATH [--scorer NAME] [--json]
                              score a run directory or a tree of OceanGym results again
  report RUN ...              write report.html of run directories
  bench ...                   run and report whole benchmarks; bench --help says more

arguments of run, with their defaults:
"""

KINDS = (
    'tasks',
    'benchmark',
    'benchmarks',
    'agents',
    'models',
    'prompts',
    'waters',
    'worlds',
    'profiles',
)


def list_lines(kind: str) -> list[str]:
    """Return one line a thing of a kind.

    Raises:
        OceanGymError: There is no such kind.
    """
    registry = TaskRegistry.load()
    if kind == 'tasks':
        return [f'{name:<24}{registry.get(name).title}' for name in registry.names()]
    if kind == 'benchmark':
        return [f'{alias:<8}{task:<24}{water}' for alias, task, water in registry.benchmark()]
    if kind == 'agents':
        return list(AGENTS)
    if kind == 'benchmarks':
        return sorted(path.stem for path in config_path('benchmarks').glob('*.yaml'))
    if kind == 'models':
        return list(model_names())
    if kind == 'prompts':
        return list(prompt_names())
    if kind == 'waters':
        return list(water_names())
    if kind == 'worlds':
        return sorted(path.stem for path in config_path('worlds').glob('*.yaml'))
    if kind == 'profiles':
        return list(profile_names())
    raise unknown_name('list', kind, KINDS)


def list_command(arguments: Sequence[str]) -> int:
    """Print what there is."""
    if len(arguments) > 1:
        raise OceanGymError(f'list takes one kind, not {len(arguments)}: {" ".join(arguments)}')
    if arguments:
        print('\n'.join(list_lines(arguments[0])))
        return 0
    for kind in KINDS:
        print(f'{kind}:')
        print('\n'.join(f'  {line}' for line in list_lines(kind)))
    return 0


def help_text() -> str:
    """Return what ``--help`` prints."""
    return USAGE + '\n'.join(help_lines())


def bench_command(arguments: Sequence[str]) -> int:
    """Run a verb of the benchmark."""
    # Its tables and executors are not needed by any other verb.
    from oceangym_bench.cli.main import main as bench_main

    return bench_main(arguments)


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    'run': run_command,
    'list': list_command,
    'score': score_main,
    'report': report_command,
    'bench': bench_command,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code: 0, 1 for an error, 130 for Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    own_help = words[:1] != ['bench'] and {'-h', '--help'} & set(words[:2])
    if not words or own_help:
        print(help_text())
        return 0 if words else EXIT_ERROR
    try:
        if words[0] not in VERBS:
            raise unknown_name('verb', words[0], VERBS)
        return VERBS[words[0]](words[1:])
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return EXIT_CANCELLED
    except BrokenPipeError:
        # The reader of a pipe (head, less) has gone: nothing left to say.
        sys.stderr.close()
        return EXIT_ERROR
    except OSError as error:
        # The machine refuses: a full disk, a limit, a permission. Tracebacks would only hide which.
        where = '' if error.filename is None else f'{error.filename}: '
        print(f'error: {where}{error.strerror or error}', file=sys.stderr)
        return EXIT_ERROR


if __name__ == '__main__':
    sys.exit(main())
