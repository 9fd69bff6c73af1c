"""Which way surfaces face, from the points that a grid of rays hit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def surface_normals(
    points: NDArray[np.float64], distance: NDArray[np.float64], found: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return unit normals towards the origin of the rays, (rows, columns, 3), zero where unknown.

    Args:
        points: Hits in the sensor's frame [m], (rows, columns, 3).
        distance: Their range [m].
        found: Where there is a hit.
    """
    normal = np.cross(_slope(points, distance, found, 0), _slope(points, distance, found, 1))
    length = np.sqrt((normal * normal).sum(axis=-1))
    facing = (normal * points).sum(axis=-1)
    unit = normal * (np.where(facing > 0.0, -1.0, 1.0) / np.maximum(length, 1e-12))[..., None]
    return np.where((found & (length > 0.0))[..., None], unit, 0.0)


def _slope(
    points: NDArray[np.float64],
    distance: NDArray[np.float64],
    found: NDArray[np.bool_],
    axis: int,
) -> NDArray[np.float64]:
    """Return the step to the neighbour along an axis, the shorter one: it lies on the same surface."""
    count = found.shape[axis]
    step = np.diff(points, axis=axis)
    both = np.take(found, range(count - 1), axis) & np.take(found, range(1, count), axis)
    jump = np.where(both, np.abs(np.diff(distance, axis=axis)), np.inf)
    none = np.full_like(np.take(distance, [0], axis), np.inf)
    still = np.zeros_like(np.take(points, [0], axis))
    ahead = np.concatenate([jump, none], axis)
    behind = np.concatenate([none, jump], axis)
    steps = np.where(
        (ahead <= behind)[..., None],
        np.concatenate([step, still], axis),
        np.concatenate([still, step], axis),
    )
    return np.where(np.isfinite(np.minimum(ahead, behind))[..., None], steps, 0.0)
