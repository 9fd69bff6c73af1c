"""The end of a node with its launcher, even where the launcher is killed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
import os
import select
import signal
from threading import Thread

LAUNCHER_VARIABLE = 'OCEANGYM_LAUNCHER_PID'
# A node that was asked to end has this long for its last messages and files.
GRACE_S = 20.0


def end_with_launcher(environment: Mapping[str, str] = os.environ) -> None:
    """Ask this process to end, by SIGTERM, once its launcher has; kill it where that does not help.

    Without a launcher in the environment (``ros2 run``) nothing is watched. What is watched is the
    launcher and not the parent, which may be a debugger or a terminal between the two; a launcher
    that has ended before this call ends this process at once.
    """
    text = environment.get(LAUNCHER_VARIABLE, '')
    if not text.isdigit() or int(text) == os.getpid():
        return
    try:
        launcher = os.pidfd_open(int(text))
    except ProcessLookupError:
        os.kill(os.getpid(), signal.SIGTERM)
        return
    except OSError:
        # A kernel or sandbox without it: the parent's signals still arrive.
        return
    Thread(target=_watch, args=(launcher, _terminate), daemon=True).start()


def _watch(launcher: int, terminate: Callable[[int], None]) -> None:
    select.select([launcher], [], [])
    terminate(signal.SIGTERM)
    # The launcher's end stays readable: this only waits.
    select.select([], [], [], GRACE_S)
    terminate(signal.SIGKILL)


def _terminate(number: int) -> None:
    os.kill(os.getpid(), number)
