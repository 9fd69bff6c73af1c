"""Lays the pipeline over the seabed: from a route in the plane to points in space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oceangym_worlds.plan.config import PipelineConfig
from oceangym_worlds.seabed.terrain import Heightfield

Array = NDArray[np.float64]

Stretch = tuple[float, float]

_STIFFNESS_STEPS = 40
_END_M = 5.0  # of the pipeline that no stretch reaches


@dataclass(frozen=True, kw_only=True)
class PipeRoute:
    """The pipeline's way over the seabed.

    Attributes:
        way: (N, 2) [m], a point a metre; empty without a pipeline.
        damaged, buried, free_span: Stretches [from, to] as metres from its start.
    """

    way: Array
    damaged: tuple[Stretch, ...] = ()
    buried: tuple[Stretch, ...] = ()
    free_span: tuple[Stretch, ...] = ()


def resolve_route(config: PipelineConfig, stops: Array, zero: Array) -> PipeRoute:
    """Return the route through stops (N, 2) with its stretches measured from its start.

    A stretch that another world's shorter route cuts is shortened, or left out below 4 m.

    Args:
        config: Stretches measured from the stop at `zero`.
        stops: In order [m].
        zero: (2,) place of the stop that stretches are measured from.
    """
    way = trace(stops)
    offset = int(np.argmin(np.hypot(*(way - zero).T)))

    def placed(stretches: Sequence[Stretch]) -> tuple[Stretch, ...]:
        moved = [
            (max(a + offset, _END_M), min(b + offset, len(way) - _END_M)) for a, b in stretches
        ]
        return tuple((a, b) for a, b in moved if b - a >= 4.0)

    return PipeRoute(
        way=way,
        damaged=placed(config.damaged),
        buried=placed(config.buried),
        free_span=placed(config.free_span),
    )


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


def lay_on_seabed(route: PipeRoute, heightfield: Heightfield) -> Array:
    """Return the line (N, 3) [m] on which the pipe's underside rests.

    A pipe is stiff: over a short hollow it hangs instead of following. Diffusing the heights while
    never letting them below the seabed bridges hollows shorter than about twice
    sqrt(2 * `_STIFFNESS_STEPS`) metres. Free spans are straight from shoulder to shoulder.

    Args:
        route: Where it lies and hangs.
        heightfield: The seabed.
    """
    bed = heightfield.height(*route.way.T)
    z = bed.copy()
    for _ in range(_STIFFNESS_STEPS):
        z[1:-1] = np.maximum(bed[1:-1], 0.5 * (z[:-2] + z[2:]))
    for start, end in route.free_span:
        a, b = round(start), round(end)
        chord = np.linspace(z[a], z[b], b - a + 1)
        z[a : b + 1] = np.maximum(chord, bed[a : b + 1])
    return np.column_stack([route.way, z])
