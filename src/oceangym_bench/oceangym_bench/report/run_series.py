"""Depth, distance and clearance over time, for the page's charts."""

from __future__ import annotations

from typing import Any

import numpy as np

from oceangym_bench.report.run_record import RunRecord
from oceangym_bench.report.run_steps import place
from oceangym_bench.report.surroundings import obstacle_distances
from oceangym_core.geometry import Array
from oceangym_core.world.world import World

# A chart is at most about a thousand pixels wide.
MOST_POINTS = 3600


def track(record: RunRecord) -> Array:
    """Return the path flown as rows t, x, y, z [s, m] in map, true where truth is known."""
    episode = record.episode
    if episode.has_truth:
        rows = episode.trajectory[:, :4]
    else:
        rows = np.array([(s.t, *place(record, s).position) for s in episode.steps])
    if len(rows) > MOST_POINTS:
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_POINTS).astype(int))]
    return np.asarray(rows, dtype=float)


def series(record: RunRecord, path: Array, world: World | None) -> dict[str, Any]:
    """Return the charts' curves over the path's times.

    Keys: ``t`` [s], ``z`` of the vehicle [m], ``distance`` by target [m], and with a world ``bed``
    (z of the seabed below), ``altitude`` and ``obstacle`` (nearest rock or structure that is no
    target; None beyond the reach of the distance field) [m].
    """
    targets = record.episode.info.targets
    curves: dict[str, Any] = {
        't': _list(path[:, 0], 1),
        'z': _list(path[:, 3], 2),
        'distance': {
            t.name: _list(np.linalg.norm(path[:, 1:] - np.asarray(t.point), axis=1), 1)
            for t in targets
        },
    }
    if world is not None and world.heightfield is not None:
        bed = world.heightfield.at(path[:, 1], path[:, 2])
        curves['bed'] = _list(bed, 1)
        curves['altitude'] = _list(path[:, 3] - bed, 1)
    if world is not None:
        near = obstacle_distances(world, (t.name for t in targets), path[:, 1:])
        curves['obstacle'] = _list(near, 1)
    return curves


def _list(values: Array, digits: int) -> list[float | None]:
    return [
        round(float(v), digits) if finite else None
        for v, finite in zip(values, np.isfinite(values), strict=True)
    ]
