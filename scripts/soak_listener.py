#!/usr/bin/env python3
"""Hear every stream of a backend and keep, message by message, stamp, arrival and checksum.

The subscriber of `soak_realtime.py`, a process of its own: prints ``ready`` once every stream has a
publisher, and writes FILE (npz, per topic rows of stamp [ns], arrival [ns], CRC-32) when interrupted.
"""

from __future__ import annotations

import argparse
from array import array
from collections.abc import Callable
from pathlib import Path
import sys
import time
import zlib

import numpy as np
from rclpy.subscription import Subscription

from oceangym_core.contract.topics import CONTRACT, Source, Stream
from oceangym_core.nodes.node import ContractNode, message_type, NO_EVENTS, run_node
from oceangym_core.nodes.qos import recorder_qos
from oceangym_core.record.bag import stamp_in_cdr

SEEN_EVERY_S = 0.2


class Listener(ContractNode):
    """Takes serialized messages as they come, as a subscriber that wants them all."""

    def __init__(self, path: Path) -> None:
        super().__init__('soak_listener')
        self._path = path
        self._rows: dict[str, array[int]] = {}
        self._subscriptions: list[Subscription] = [
            self._listen(stream) for stream in CONTRACT if stream.source is Source.BACKEND
        ]
        self._timer = self.create_timer(SEEN_EVERY_S, self._look)

    def _listen(self, stream: Stream) -> Subscription:
        rows = self._rows.setdefault(stream.name, array('q'))
        return self.create_subscription(
            message_type(stream.type),
            stream.absolute(self.get_namespace()),
            self._taker(stream.type, rows),
            recorder_qos(stream.delivery),
            raw=True,
            event_callbacks=NO_EVENTS,
        )

    @staticmethod
    def _taker(kind: str, rows: array[int]) -> Callable[[bytes], None]:
        def take(data: bytes) -> None:
            rows.extend((stamp_in_cdr(kind, data) or 0, time.monotonic_ns(), zlib.crc32(data)))

        return take

    def _look(self) -> None:
        """Say once that every stream has its publisher."""
        if all(self.count_publishers(s.topic_name) for s in self._subscriptions):
            print('ready', flush=True)
            self._timer.cancel()

    def close(self) -> None:
        """Write what was heard."""
        arrays = {
            name: np.array(rows, np.int64).reshape(-1, 3)
            for name, rows in self._rows.items()
            if rows
        }
        with self._path.open('wb') as stream:
            np.savez(stream, **arrays)


def main() -> int:
    """Listen until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('file', type=Path, help='where to write what was heard (.npz)')
    own, ros = parser.parse_known_args()
    return run_node(lambda: Listener(own.file), [sys.argv[0], *ros])


if __name__ == '__main__':
    sys.exit(main())
