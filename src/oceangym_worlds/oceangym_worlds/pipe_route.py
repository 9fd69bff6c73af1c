"""Lays the pipeline over the seabed: from a route in the plane to points in space."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from oceangym_worlds.config import PipelineConfig
from oceangym_worlds.terrain import Heightfield

Array = NDArray[np.float64]

_STIFFNESS_STEPS = 40


def trace(stops: Array) -> Array:
    """Return a smooth way (M, 2) through the stops (N, 2), a point a metre.

    Centripetal Catmull-Rom (Yuksel et al. 2011): passes through the stops without loops.
    """
    p = np.concatenate([2 * stops[:1] - stops[1:2], stops, 2 * stops[-1:] - stops[-2:-1]])
    line = []
    for a, b, c, d in zip(p[:-3], p[1:-2], p[2:-1], p[3:], strict=True):
        t = np.cumsum([0.0, *(np.hypot(*(v - u)) ** 0.5 for u, v in ((a, b), (b, c), (c, d)))])
        s = np.linspace(t[1], t[2], 200, endpoint=False)[:, None]
        ab = ((t[1] - s) * a + (s - t[0]) * b) / (t[1] - t[0])
        bc = ((t[2] - s) * b + (s - t[1]) * c) / (t[2] - t[1])
        cd = ((t[3] - s) * c + (s - t[2]) * d) / (t[3] - t[2])
        abc = ((t[2] - s) * ab + (s - t[0]) * bc) / (t[2] - t[0])
        bcd = ((t[3] - s) * bc + (s - t[1]) * cd) / (t[3] - t[1])
        line.append(((t[2] - s) * abc + (s - t[1]) * bcd) / (t[2] - t[1]))
    curve = np.concatenate([*line, stops[-1:]])
    way = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(curve, axis=0).T))])
    steps = np.linspace(0.0, way[-1], round(way[-1]) + 1)
    return np.stack([np.interp(steps, way, curve[:, i]) for i in range(2)], axis=1)


def lay_on_seabed(route: Array, heightfield: Heightfield, config: PipelineConfig) -> Array:
    """Return the line (N, 3) [m] on which the pipe's underside rests.

    A pipe is stiff: over a short hollow it hangs instead of following. Diffusing the heights while
    never letting them below the seabed bridges hollows shorter than about twice
    sqrt(2 * `_STIFFNESS_STEPS`) metres. Free spans are straight from shoulder to shoulder.

    Args:
        route: (N, 2), a point a metre.
        heightfield: The seabed.
        config: Stretches of the pipeline.
    """
    bed = heightfield.height(route[:, 0], route[:, 1])
    z = bed.copy()
    for _ in range(_STIFFNESS_STEPS):
        z[1:-1] = np.maximum(bed[1:-1], 0.5 * (z[:-2] + z[2:]))
    for start, end in config.free_span:
        a, b = round(start), round(end)
        chord = np.linspace(z[a], z[b], b - a + 1)
        z[a : b + 1] = np.maximum(chord, bed[a : b + 1])
    return np.column_stack([route, z])
