"""Run long commands with a line that says what runs and for how long."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
import subprocess
import sys
import threading
import time

from oceangym_setup.errors import SetupError

HEARTBEAT_S = 20.0
"""How often a step says that it still runs where the output is not a terminal."""


class Step:
    """A named step; its line is rewritten on a terminal, repeated now and then elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.detail = ''
        self._start = time.monotonic()
        self._stop = threading.Event()
        self._tty = sys.stderr.isatty()
        self._thread = threading.Thread(target=self._tick, daemon=True)

    @property
    def elapsed(self) -> float:
        """Seconds since the step began."""
        return time.monotonic() - self._start

    def _line(self) -> str:
        detail = f'  {self.detail[:50]}' if self.detail else ''
        return f'[oceangym] {self.name} ... {self.elapsed:.0f} s{detail}'

    def _tick(self) -> None:
        while not self._stop.wait(0.5 if self._tty else HEARTBEAT_S):
            if self._tty:
                sys.stderr.write(f'\r\x1b[2K{self._line()}')
            else:
                sys.stderr.write(f'{self._line()}\n')
            sys.stderr.flush()

    def __enter__(self) -> Step:
        sys.stderr.write(f'[oceangym] {self.name} ...' + ('' if self._tty else '\n'))
        sys.stderr.flush()
        self._thread.start()
        return self

    def __exit__(self, kind: object, *exc: object) -> None:
        self._stop.set()
        self._thread.join()
        verdict = 'done' if kind is None else 'FAILED'
        begin = '\r\x1b[2K' if self._tty else ''
        sys.stderr.write(f'{begin}[oceangym] {self.name}: {verdict}, {self.elapsed:.1f} s\n')
        sys.stderr.flush()


@contextmanager
def step(name: str) -> Iterator[Step]:
    """Show ``name`` with its running time while the body runs."""
    with Step(name) as shown:
        yield shown


def run_logged(
    shown: Step,
    command: Sequence[str | Path],
    *,
    log: Path,
    env: Mapping[str, str],
    cwd: Path,
    remedies: Mapping[str, str],
    default_remedy: str,
) -> None:
    """Run a command inside a step, its output in ``log``.

    Args:
        shown: the step whose detail follows the command's last line of output.
        command: program and arguments.
        log: file for the whole output.
        env: environment of the command.
        cwd: its working directory.
        remedies: text in the output -> what the user should do about it.
        default_remedy: what to say where no known text was found.

    Raises:
        SetupError: the command cannot be started or ends with a failure.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: deque[str] = deque(maxlen=400)
    with log.open('w', encoding='utf-8') as out:
        try:
            process = subprocess.Popen(
                [str(part) for part in command],
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors='replace',
            )
        except OSError as error:
            raise SetupError(f'cannot start {command[0]}: {error}', default_remedy) from error
        assert process.stdout is not None
        try:
            for line in process.stdout:
                out.write(line)
                tail.append(line.rstrip())
                shown.detail = line.strip()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        code = process.wait()
    shown.detail = ''
    if code == 0:
        return
    text = '\n'.join(tail)
    remedy = next((fix for sign, fix in remedies.items() if sign in text), default_remedy)
    raise SetupError(
        f'{shown.name} failed (exit code {code}):\n    ' + '\n    '.join(telling_lines(tail)),
        remedy,
        log,
    )


def telling_lines(output: Iterable[str]) -> list[str]:
    """Pick what a reader needs of a failed command: its first error and its end."""
    lines = [line for line in output if line.strip()]
    first = next((i for i, line in enumerate(lines) if 'error' in line.lower()), len(lines))
    end = max(len(lines) - 4, 0)
    if first >= end:
        return lines[min(first, max(len(lines) - 10, 0)) :]
    return [*lines[first : min(first + 8, end)], '...', *lines[end:]]


def say(text: str) -> None:
    """Print one line for the user, beside what a program prints as data."""
    print(f'[oceangym] {text}', file=sys.stderr, flush=True)
