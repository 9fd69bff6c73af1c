"""The next leg of a search in parallel lanes over what was not seen yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
import itertools
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_agent.memory.coverage import CoverageMap

# Kept from the bounds: a vehicle that drifts a little must not cross them [m].
BOUNDS_MARGIN_M = 5.0
# Share of a lane's width that adjacent lanes overlap.
OVERLAP = 0.1
# A turn costs a maneuver; as much as so many metres of way [m].
TURN_COST_M = 20.0
# Nearer than this is there [m].
ARRIVED_M = 1.0


@dataclass(frozen=True, kw_only=True)
class Leg:
    """Where to go next: the end of the leg in odom [m], and whether it follows a lane."""

    end: tuple[float, float]
    along_lane: bool


def next_leg(coverage: CoverageMap, position: Sequence[float], heading: float) -> Leg | None:
    """Return the next leg of the search; None once everything within reach was seen.

    Lanes run along the longer side of the bounds, as far apart as the sensor sees to both sides. A
    vehicle on a lane follows it over all that is unseen; else it goes to the nearest end of an
    unseen part of a lane.

    Args:
        coverage: What was seen.
        position: Vehicle in odom [m].
        heading: Counter-clockwise from odom's x axis [rad].
    """
    lengthwise = 0 if _lanes_along_u(coverage) else 1
    here = coverage.to_grid(position)
    along, across = float(here[lengthwise]), float(here[1 - lengthwise])
    ahead = coverage.to_grid((math.cos(heading), math.sin(heading)))
    best: tuple[float, float, float, bool] | None = None
    for lane, low, high in _unseen_runs(coverage):
        for first, last in ((low, high), (high, low)):
            way = math.copysign(1.0, last - first)
            on_lane = abs(across - lane) <= coverage.sensor_radius / 2
            following = on_lane and (last - along) * way > ARRIVED_M
            goal = (last if following else first, lane)
            if math.dist(goal, (along, across)) <= ARRIVED_M:
                continue
            off = (
                max(0.0, (first - along) * way) if following else math.dist(goal, (along, across))
            )
            turn = math.acos(
                np.clip(
                    (
                        (goal[0] - along) * ahead[lengthwise]
                        + (goal[1] - across) * ahead[1 - lengthwise]
                    )
                    / math.dist(goal, (along, across)),
                    -1.0,
                    1.0,
                )
            )
            cost = off + TURN_COST_M * turn / (math.pi / 2)
            if best is None or cost < best[0] - 1e-9:
                best = (cost, *goal, following)
    if best is None:
        return None
    _, end, lane, following = best
    return Leg(
        end=coverage.to_odom((end, lane) if lengthwise == 0 else (lane, end)), along_lane=following
    )


def _lanes_along_u(coverage: CoverageMap) -> bool:
    return len(coverage.u) >= len(coverage.v)


def _unseen_runs(coverage: CoverageMap) -> Iterator[tuple[float, float, float]]:
    """Return the unseen parts of every lane: its place across, and from where to where along."""
    along_u = _lanes_along_u(coverage)
    unseen = coverage.unseen if along_u else coverage.unseen.T
    inside = coverage.inside if along_u else coverage.inside.T
    along, across = (coverage.u, coverage.v) if along_u else (coverage.v, coverage.u)
    wanted = 2 * coverage.sensor_radius * (1 - OVERLAP)
    width = len(across) * coverage.cell
    count = min(len(across), max(1, math.ceil(width / wanted - 1e-9)))
    edges = across[0] - coverage.cell / 2 + np.arange(count + 1) * width / count
    for low, high in itertools.pairwise(float(edge) for edge in edges):
        rows = np.nonzero((across > low - 1e-9) & (across < high + 1e-9))[0]
        if len(rows) == 0:
            continue
        middle = (low + high) / 2
        todo: NDArray[np.bool_] = np.any(unseen[rows], axis=0)
        # The lane is flown on its middle, so only where the middle is within the bounds.
        allowed = inside[rows].any(axis=0)
        centres = np.nonzero(allowed)[0]
        if len(centres) == 0:
            continue
        first_allowed = along[centres[0]] - coverage.cell / 2 + BOUNDS_MARGIN_M
        last_allowed = along[centres[-1]] + coverage.cell / 2 - BOUNDS_MARGIN_M
        for start, stop in _runs(todo):
            yield (
                float(middle),
                float(np.clip(along[start], first_allowed, last_allowed)),
                float(np.clip(along[stop], first_allowed, last_allowed)),
            )


def _runs(flags: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """Return first and last index of every run of true values."""
    padded = np.concatenate([[False], flags, [False]]).astype(np.int8)
    change = np.diff(padded)
    yield from zip(np.nonzero(change == 1)[0].tolist(), (np.nonzero(change == -1)[0] - 1).tolist())
