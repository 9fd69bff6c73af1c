"""Deterministic tileable noise fields for textures."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oceangym_core.rng import generator

Field = NDArray[np.floating[Any]]
Cells = int | tuple[int, int]
Size = int | tuple[int, int]


def shape_of(size: Size) -> tuple[int, int]:
    """Return (H, W) of a size given as one number or as (H, W) [pixels]."""
    return (size, size) if isinstance(size, int) else size


def _fade(t: Field) -> Field:
    faded: Field = t * t * t * (t * (t * 6 - 15) + 10)
    return faded


def perlin(seed: int, size: Size, cells: Cells, stream: str = 'perlin') -> Field:
    """Return periodic gradient noise (H, W), about -1..1 (Perlin 2002, quintic fade).

    Args:
        seed: Seed of the lattice gradients.
        size: Pixels.
        cells: Lattice cells along (rows, columns); the field repeats after the whole lattice.
        stream: Name of the random stream, so that fields of one seed differ.
    """
    height, width = shape_of(size)
    rows, cols = shape_of(cells)
    angles = generator(seed, stream, rows, cols).uniform(0.0, 2 * np.pi, (rows, cols))
    gx, gy = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    y = (np.arange(height, dtype=np.float32) + 0.5) * (rows / height)
    x = (np.arange(width, dtype=np.float32) + 0.5) * (cols / width)
    y0, x0 = y.astype(int), x.astype(int)
    fy, fx = (y - y0)[:, None], (x - x0)[None, :]
    y0, x0 = y0 % rows, x0 % cols
    y1, x1 = (y0 + 1) % rows, (x0 + 1) % cols

    def corner(iy: NDArray[np.int_], ix: NDArray[np.int_], dy: Field, dx: Field) -> Field:
        dot: Field = gx[np.ix_(iy, ix)] * dx + gy[np.ix_(iy, ix)] * dy
        return dot

    u, v = _fade(fx), _fade(fy)
    top = corner(y0, x0, fy, fx) * (1 - u) + corner(y0, x1, fy, fx - 1) * u
    bottom = corner(y1, x0, fy - 1, fx) * (1 - u) + corner(y1, x1, fy - 1, fx - 1) * u
    noise: Field = (top * (1 - v) + bottom * v) * np.float32(1.41)
    return noise


@lru_cache(maxsize=16)
def fbm(
    seed: int,
    size: Size = 512,
    cells: Cells = 4,
    octaves: int = 5,
    gain: float = 0.55,
    stream: str = 'fbm',
) -> Field:
    """Return periodic fractal noise (H, W), read-only, scaled to 0..1 with mean near 0.5."""
    total = np.zeros(shape_of(size), dtype=np.float32)
    rows, cols = shape_of(cells)
    height, width = shape_of(size)
    weight, norm = 1.0, 0.0
    for octave in range(octaves):
        lattice = (rows << octave, cols << octave)
        if octave and (lattice[0] > height // 2 or lattice[1] > width // 2):
            break
        total += np.float32(weight) * perlin(seed, size, lattice, f'{stream}/{octave}')
        norm += weight * weight
        weight *= gain
    scaled: Field = np.clip(0.5 + total * np.float32(0.85 / np.sqrt(norm)), 0, 1)
    scaled.flags.writeable = False
    return scaled


def ridged(
    seed: int, size: Size = 512, cells: Cells = 4, octaves: int = 4, stream: str = 'ridged'
) -> Field:
    """Return periodic ridged noise (H, W) 0..1: thin bright creases on a dark ground."""
    total = np.zeros(shape_of(size), dtype=np.float32)
    rows, cols = shape_of(cells)
    weight, norm = 1.0, 0.0
    for octave in range(octaves):
        lattice = (rows << octave, cols << octave)
        crease = 1 - np.abs(perlin(seed, size, lattice, f'{stream}/{octave}'))
        total += np.float32(weight) * crease**3
        norm += weight
        weight *= 0.5
    scaled: Field = np.clip(total / np.float32(norm), 0, 1)
    return scaled


def worley(
    seed: int, size: Size = 512, cells: Cells = 8, stream: str = 'worley'
) -> tuple[Field, Field, NDArray[np.int_]]:
    """Return periodic cellular noise from one jittered point a lattice cell.

    Returns:
        Distance to the nearest point and to the second nearest (H, W) in cells, and the index of
        the nearest point (H, W).
    """
    height, width = shape_of(size)
    rows, cols = shape_of(cells)
    jitter = generator(seed, stream, rows, cols).uniform(0, 1, (rows, cols, 2)).astype(np.float32)
    y = ((np.arange(height, dtype=np.float32) + 0.5) * (rows / height))[:, None]
    x = ((np.arange(width, dtype=np.float32) + 0.5) * (cols / width))[None, :]
    iy, ix = y.astype(int), x.astype(int)
    nearest = np.full((height, width), 9.0, dtype=np.float32)
    second = nearest.copy()
    index = np.zeros((height, width), dtype=int)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            cy, cx = iy + dy, ix + dx
            point = jitter[cy % rows, cx % cols]
            distance = np.hypot(cy + point[..., 0] - y, cx + point[..., 1] - x)
            closer = distance < nearest
            second = np.where(closer, nearest, np.minimum(second, distance))
            nearest = np.where(closer, distance, nearest)
            index = np.where(closer, (cy % rows) * cols + cx % cols, index)
    return nearest, second, index


def smoothstep(low: float, high: float, value: Field) -> Field:
    """Return 0 below `low`, 1 above `high` and a smooth ramp between."""
    t = np.clip((value - low) / (high - low), 0, 1)
    ramp: Field = (t * t * (3 - 2 * t)).astype(np.float32)
    return ramp
