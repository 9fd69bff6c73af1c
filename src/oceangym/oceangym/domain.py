"""A ROS domain of one's own: two runs on one machine must not hear each other."""

from __future__ import annotations

import os
import random
import socket
from types import TracebackType

from oceangym_core.errors import OceanGymError

# Above 101 the UDP ports of a domain reach into Linux's ephemeral range.
DOMAINS = range(1, 102)
# A bound TCP port marks a domain as taken; the kernel frees it however the owner ends.
_FIRST_PORT = 22119


class DomainLease:
    """Holds a free ROS domain until closed: ``with DomainLease() as domain_id``.

    A ROS_DOMAIN_ID of the caller's is respected: other tools of theirs are to see the run.
    """

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        given = os.environ.get('ROS_DOMAIN_ID', '')
        if given:
            if not (given.isascii() and given.isdigit() and len(given) < 9 and int(given) <= 232):
                raise OceanGymError(
                    f'ROS_DOMAIN_ID={given[:20]!r} is not a domain; allowed: 0 .. 232'
                )
            self.domain_id = int(given)
            return
        # The process id spreads runs that start at the same moment.
        candidates = list(DOMAINS)
        random.Random(os.getpid()).shuffle(candidates)
        for candidate in candidates:
            lock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                lock.bind(('127.0.0.1', _FIRST_PORT + candidate))
            except OSError:
                lock.close()
                continue
            self._socket = lock
            self.domain_id = candidate
            return
        raise OceanGymError(
            'every ROS domain 1..101 is in use on this machine; end other runs or set ROS_DOMAIN_ID'
        )

    def close(self) -> None:
        """Give the domain back."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> int:
        return self.domain_id

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
