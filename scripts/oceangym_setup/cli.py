"""The verbs of ``scripts/oceangym``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import difflib
import os
from pathlib import Path
import shlex
import sys

from oceangym_setup import docs, doctor, environment, install, preflight, test_extras, testing
from oceangym_setup.errors import SetupError
from oceangym_setup.workspace import Workspace

_USAGE = """usage: scripts/oceangym VERB [ARGUMENTS]

  run     fly one task: run task:=inspect_pipe [agent:=survey water:=deep ...]
  list    list tasks, agents and the other things run can be given
  score   score a finished run again: score runs/NAME [--scorer paper] [--json]
  report  write report.html of finished runs: report runs/NAME
  bench   run, report and check whole benchmarks: bench run FILE; bench --help says more
  test    style checks, unit tests, then tests with ROS; arguments go to pytest
  setup   set everything up now (run and test do it on first use); --clean starts afresh,
          --extras adds what the Ray executor and the browser tests need
  docs    build the manual as web pages and print where they are
  doctor  check this machine, each finding with a remedy
  shell   a shell in which ROS 2 and the packages are at hand

ROS 2 is the sourced installation where ROS_DISTRO is set, else it is installed as Python wheels
into .oceangym/. OCEANGYM_PYTHON names the Python to use (3.10 to 3.13).
"""


# As ``python -m``, but without the current directory, whose files may have the names of modules.
_RUN_MODULE = """import runpy, sys
sys.path[:] = [path for path in sys.path if path]
runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"""


def workspace_here(env: Mapping[str, str]) -> Workspace:
    """Return the checkout that holds this file.

    Args:
        env: a sourced ROS shows in ``ROS_DISTRO``; ``OCEANGYM_ROS`` (wheels or native) overrides it.

    Raises:
        SetupError: ``OCEANGYM_ROS`` is neither wheels nor native.
    """
    kind = env.get('OCEANGYM_ROS') or ('native' if env.get('ROS_DISTRO') else 'wheels')
    if kind not in ('wheels', 'native'):
        raise SetupError(f'OCEANGYM_ROS is {kind!r}', 'set it to wheels or native, or unset it')
    return Workspace(root=Path(__file__).resolve().parents[2], native=kind == 'native')


def _replace_process(workspace: Workspace, command: Sequence[str | Path]) -> int:
    env = environment.environment(workspace)
    program = str(command[0])
    sys.stdout.flush()
    sys.stderr.flush()
    os.execvpe(program, [str(part) for part in command], env)


def _dispatch(verb: str) -> Callable[[Workspace, list[str]], int]:
    def run(workspace: Workspace, arguments: list[str]) -> int:
        install.ensure(workspace)
        if verb == 'run':
            preflight.check_shared_memory()
        command = [str(workspace.python), '-c', _RUN_MODULE, 'oceangym', verb, *arguments]
        return _replace_process(workspace, command)

    return run


def _setup(workspace: Workspace, arguments: list[str]) -> int:
    for argument in arguments:
        if argument not in ('--clean', '--extras'):
            raise SetupError(f'setup does not know {argument!r}', 'allowed: --clean --extras')
    if '--clean' in arguments:
        install.clean(workspace)
    install.ensure(workspace, extras='--extras' in arguments)
    print(f'ready; in a shell of your own: . {shlex.quote(str(workspace.env_script))}')
    return 0


def _shell(workspace: Workspace, arguments: list[str]) -> int:
    install.ensure(workspace)
    shell = os.environ.get('SHELL') or '/bin/sh'
    return _replace_process(workspace, [shell, *arguments])


def _test(workspace: Workspace, arguments: list[str]) -> int:
    install.ensure(workspace, extras=True)
    test_extras.ensure_wanted(workspace, arguments, os.environ)
    if test_extras.is_wanted('oceangym', workspace.root, arguments):
        docs.ensure_for_tests(workspace)
    preflight.check_shared_memory()
    return testing.run(workspace, arguments)


def _doctor(workspace: Workspace, arguments: list[str]) -> int:
    if arguments:
        raise SetupError(f'doctor does not know {arguments[0]!r}', 'it takes no arguments')
    return doctor.run(workspace)


VERBS: Mapping[str, Callable[[Workspace, list[str]], int]] = {
    'run': _dispatch('run'),
    'test': _test,
    'setup': _setup,
    'list': _dispatch('list'),
    'score': _dispatch('score'),
    'report': _dispatch('report'),
    'bench': _dispatch('bench'),
    'docs': docs.run,
    'doctor': _doctor,
    'shell': _shell,
}


def _unknown(verb: str) -> SetupError:
    close = difflib.get_close_matches(verb, VERBS, n=1)
    hint = f'did you mean {close[0]!r}? ' if close else ''
    return SetupError(f'unknown verb {verb!r}', f'{hint}allowed: {" ".join(VERBS)}')


def main(arguments: Sequence[str]) -> int:
    """Run one verb and return the exit code."""
    if not arguments:
        print(_USAGE, end='', file=sys.stderr)
        return 1
    verb, rest = arguments[0], list(arguments[1:])
    if verb in ('-h', '--help', 'help'):
        print(_USAGE, end='')
        return 0
    try:
        if verb not in VERBS:
            raise _unknown(verb)
        return VERBS[verb](workspace_here(os.environ), rest)
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print('\noceangym: interrupted', file=sys.stderr)
        return 130
