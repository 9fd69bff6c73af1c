"""Sonar intensity as 8-bit decibels: how the light recording keeps polar images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Half a decibel is a tenth of the speckle's own spread: a finer step would store noise, whose low bits
# do not compress.
DECIBEL_PER_COUNT = 0.5
# Below lies the receiver's noise (half of all cells), and below what 8-bit sonars put out.
FLOOR_DB = -60.0


def to_decibel_bytes(intensity: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return 10 log10 of a linear intensity 0..1 as bytes: 255 is 0 dB, 0 is the floor or less."""
    floor = np.float32(10.0 ** (FLOOR_DB / 10.0))
    # NaN compares false: a broken cell becomes the floor, not an arbitrary byte.
    heard = intensity > floor
    safe = np.where(heard, intensity, floor).astype(np.float32)
    counts = 255.0 + 10.0 * np.log10(np.minimum(safe, 1.0)) / DECIBEL_PER_COUNT
    return np.where(heard, np.rint(counts), 0).astype(np.uint8)


def from_decibel_bytes(counts: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Return the linear intensity of bytes made by `to_decibel_bytes`; 0 stands for no echo."""
    decibel = (counts.astype(np.float32) - 255.0) * DECIBEL_PER_COUNT
    intensity = np.where(counts > 0, 10.0 ** (decibel / 10.0), 0.0)
    return intensity.astype(np.float32)
