"""Locks that end with the process that holds them, however it ends."""

from __future__ import annotations

from collections.abc import Iterator
import contextlib
import fcntl
from pathlib import Path
import time

from oceangym_core.errors import OceanGymError

POLL_S = 0.1


@contextlib.contextmanager
def own_lock(path: Path, *, patience_s: float, refusal: str) -> Iterator[None]:
    """Hold a lock that nobody else holds or shares.

    Args:
        path: The lock's file.
        patience_s: How long to wait for others to let go [s].
        refusal: What to tell if they do not.

    Raises:
        OceanGymError: Somebody held it all the time.
    """
    with path.open('a', encoding='utf-8') as stream:
        deadline = time.monotonic() + patience_s
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise OceanGymError(refusal) from None
                time.sleep(POLL_S)
        yield


@contextlib.contextmanager
def share_lock(path: Path) -> Iterator[None]:
    """Hold a lock together with others."""
    with path.open('a', encoding='utf-8') as stream:
        fcntl.flock(stream, fcntl.LOCK_SH)
        yield
