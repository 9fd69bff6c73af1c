"""Runs the processes of an episode without ROS's launch: starts, watches and ends them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import ctypes
from dataclasses import dataclass
import os
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import IO

import yaml

from oceangym.processes import OnExit, parameter_file, ProcessSpec, ros_arguments
from oceangym_core.errors import OceanGymError
from oceangym_core.files import read_json
from oceangym_core.record.bag import recover_bag
from oceangym_core.record.schema import EPISODE_FILE, SCORE_FILE

EXIT_ERROR = 1
EXIT_CANCELLED = 130

# The task manager learns of a lost node from DDS (liveliness) and then closes the record.
LOSS_GRACE_S = 15.0
# The recorder writes its index, the task manager its scores.
STOP_GRACE_S = 20.0
# A process that is still loading may lose a signal: it is asked again.
ASK_AGAIN_S = 2.0
POLL_S = 0.1
_MESSAGE_LINES = 5
# As ``python -m``, but without the current directory, whose files may have the names of modules.
# Interrupted while it loads, a node ends at once and quietly.
_RUN_MODULE = """import sys
sys.path[:] = [path for path in sys.path if path]
import runpy, signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)"""
_PR_SET_PDEATHSIG = 1


@dataclass
class Child:
    """A started process and its log."""

    spec: ProcessSpec
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def code(self) -> int | None:
        """Exit code; None while it runs, negative for the signal that ended it."""
        return self.process.poll()


@dataclass(frozen=True)
class Outcome:
    """How a run ended: exit code for the shell, and what to tell a person (empty if all is well)."""

    code: int
    message: str = ''


def describe_exit(code: int) -> str:
    """Return in words how a process ended."""
    if code >= 0:
        return f'exit code {code}'
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = 'an unknown signal'
    return f'killed by {name} ({-code})'


def last_error_lines(log: Path, limit: int = _MESSAGE_LINES) -> list[str]:
    """Return a log's error message: from its last ``error:`` line on, else its last lines."""
    try:
        lines = log.read_text(encoding='utf-8', errors='replace').splitlines()
    except OSError:
        return []
    lines = [line for line in lines if line.strip()]
    for index in range(len(lines) - 1, -1, -1):
        if lines[index].startswith('error:'):
            return lines[index : index + limit]
    return lines[-limit:]


def closing_words(directory: Path) -> str:
    """Return why an episode whose record is closed ended, where its record gives a reason."""
    try:
        score = read_json(directory / SCORE_FILE)
    except OceanGymError:
        return ''
    reason = score.get('message') if isinstance(score, dict) else ''
    return f'the episode ended as {score["ending"]}: {reason}' if reason else ''


def command_line(spec: ProcessSpec, parameters: Path) -> list[str]:
    """Return the words that start a process."""
    if spec.package.startswith('oceangym'):
        return [sys.executable, '-c', _RUN_MODULE, spec.module, *ros_arguments(spec, parameters)]
    return [spec.executable, *ros_arguments(spec, parameters)]


def _end_with_parent() -> None:
    """Ask the kernel to interrupt this process when the supervisor dies, even by SIGKILL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Supervisor:
    """The processes of one run.

    Children live in sessions of their own, so that Ctrl-C reaches only the supervisor, which ends
    them in order: the task manager first, so that it can close the record.
    """

    def __init__(
        self,
        specs: Sequence[ProcessSpec],
        *,
        directory: Path,
        environment: Mapping[str, str],
        on_poll: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare a run.

        Args:
            specs: What to start, in order.
            directory: Run directory; logs and parameter files go to its ``logs/``.
            environment: Of every process.
            on_poll: Called about ten times a second while the run goes on, e.g. to show progress.
        """
        self._specs = tuple(specs)
        self._directory = directory
        self._environment = dict(environment)
        self._on_poll = on_poll
        self.children: list[Child] = []

    def run(self) -> Outcome:
        """Start everything, wait for the end, and leave no process behind."""
        # A request to end (batch systems, timeout) is handled like Ctrl-C.
        before = signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            outcome = self._run()
        finally:
            signal.signal(signal.SIGTERM, before)
        note = self._close_bag()
        if note:
            outcome = Outcome(outcome.code, '\n'.join(filter(None, (outcome.message, note))))
        return outcome

    def _close_bag(self) -> str:
        """Close the bag of a recorder that could not; return what there is to say about it."""
        try:
            recovery = recover_bag(self._directory / 'bag')
        except OceanGymError as error:
            return f'the bag was not closed: {error}'
        if recovery is None or not recovery.was_broken:
            return ''
        return f'the bag was not closed; recovered {recovery.messages} messages'

    def _run(self) -> Outcome:
        try:
            for spec in self._specs:
                self.children.append(self._start(spec))
            outcome = self._watch()
        except KeyboardInterrupt:
            outcome = Outcome(EXIT_CANCELLED, 'cancelled')
        finally:
            # A second Ctrl-C must not leave processes behind.
            previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
            try:
                self._stop_all()
            finally:
                signal.signal(signal.SIGINT, previous)
        return outcome

    def _start(self, spec: ProcessSpec) -> Child:
        logs = self._directory / 'logs'
        logs.mkdir(parents=True, exist_ok=True)
        parameters = logs / f'{spec.name}.params.yaml'
        parameters.write_text(yaml.safe_dump(parameter_file(spec)), encoding='utf-8')
        log = logs / f'{spec.name}.log'
        with log.open('wb') as stream:
            output: IO[bytes] | None = None if spec.interactive else stream
            process = subprocess.Popen(
                command_line(spec, parameters),
                stdin=None if spec.interactive else subprocess.DEVNULL,
                stdout=output,
                stderr=stream if spec.interactive else subprocess.STDOUT,
                env=self._environment,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )
        return Child(spec=spec, process=process, log=log)

    def _watch(self) -> Outcome:
        lost: Child | None = None
        deadline = 0.0
        while True:
            self._on_poll()
            for child in self.children:
                if child.code is None:
                    continue
                if child.spec.on_exit is OnExit.ENDS_RUN:
                    return self._ended(child, lost)
                if child.spec.on_exit is OnExit.REQUIRED and lost is None:
                    lost = child
                    grace = LOSS_GRACE_S if self._has_record() else 0.0
                    deadline = time.monotonic() + grace
            if lost is not None and time.monotonic() > deadline:
                return Outcome(EXIT_ERROR, self._obituary(lost))
            time.sleep(POLL_S)

    def _has_record(self) -> bool:
        """Whether there is anything that the task manager has to close."""
        record = self._directory / EPISODE_FILE
        return record.is_file() and record.stat().st_size > 0

    def _ended(self, child: Child, lost: Child | None) -> Outcome:
        code = child.code
        assert code is not None
        if code == 0:
            return Outcome(0)
        if lost is not None:
            return Outcome(EXIT_ERROR, self._obituary(lost))
        if code == EXIT_CANCELLED:
            return Outcome(code, 'cancelled')
        # One that has closed the record has ended in time; what counts is why the episode did.
        message = closing_words(self._directory) or self._obituary(child)
        return Outcome(code if code > 0 else EXIT_ERROR, message)

    def _obituary(self, child: Child) -> str:
        code = child.code
        assert code is not None
        head = f'{child.spec.name} ({child.spec.executable}) ended early: {describe_exit(code)}'
        return '\n'.join([head, *last_error_lines(child.log), f'log: {child.log}'])

    def _stop_all(self) -> None:
        """Interrupt every process, rank by rank; kill what does not end."""
        for rank in sorted({child.spec.stop_rank for child in self.children}):
            group = [child for child in self.children if child.spec.stop_rank == rank]
            deadline = time.monotonic() + STOP_GRACE_S
            while group and time.monotonic() < deadline:
                for child in group:
                    child.process.send_signal(signal.SIGINT)
                asked_again = min(time.monotonic() + ASK_AGAIN_S, deadline)
                group = [child for child in group if not _ends(child, asked_again)]
            for child in group:
                # With all that it started.
                os.killpg(child.process.pid, signal.SIGKILL)
                child.process.wait()


def _ends(child: Child, deadline: float) -> bool:
    """Wait for a process until a time of the monotonic clock; tell whether it has ended."""
    try:
        child.process.wait(timeout=max(0.0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True
