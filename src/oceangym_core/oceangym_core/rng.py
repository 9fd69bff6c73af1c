"""Named random streams: one seed gives the same bits in every process and thread order."""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, stream: str, *indices: int) -> np.random.Generator:
    """Return the generator of one named stream of a seed.

    A stream is independent of every other one, so that drawing more numbers in one sensor does not
    change the noise of another.

    Args:
        seed: The episode's or world's seed.
        stream: What the numbers are for, e.g. ``imu``.
        indices: Sub-stream numbers, e.g. the observation's index.
    """
    text = '/'.join([str(int(seed)), stream, *(str(int(i)) for i in indices)])
    key = int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], 'little')
    return np.random.Generator(np.random.Philox(key=key))
