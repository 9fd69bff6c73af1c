"""Collision-free paths over a known world: any-angle paths on horizontal levels."""

from __future__ import annotations

from dataclasses import dataclass
import heapq
import itertools
import math
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from oceangym_core.geometry import Array
from oceangym_core.world.distance import build_distance_field, DistanceField, nearest_surface
from oceangym_core.world.world import World


@nb.njit(cache=True)
def _clearances(points: Array, arrays: Any) -> Array:
    out = np.empty(points.shape[0])
    for i in range(points.shape[0]):
        out[i] = nearest_surface(points[i, 0], points[i, 1], points[i, 2], arrays)[0]
    return out


@dataclass(frozen=True, kw_only=True)
class PlannerSettings:
    """Distances [m] of the planner.

    Attributes:
        spacing: Of the grid on each level.
        levels: Between which heights levels lie, every `level_step`.
        clearance: Kept from seabed and props in transit.
        margin: Kept from the bounds.
        reach, rise: Longest horizontal and vertical translation of one maneuver.
    """

    spacing: float = 5.0
    level_step: float = 6.0
    clearance: float = 5.0
    margin: float = 12.0
    reach: float = 20.0
    rise: float = 19.0


class PathPlanner:
    """Plans in map coordinates; legs are vertical moves and straight horizontal lines."""

    def __init__(self, world: World, settings: PlannerSettings | None = None) -> None:
        self.settings = settings or PlannerSettings()
        self._world = world
        self._field: DistanceField = build_distance_field(world)
        s, bounds = self.settings, world.bounds
        low = np.asarray(bounds.lower) + s.margin
        high = np.asarray(bounds.upper) - s.margin
        self._x = np.arange(low[0], high[0], s.spacing)
        self._y = np.arange(low[1], high[1], s.spacing)
        self._levels = np.arange(min(-6.0, high[2]), bounds.lower[2] + s.clearance, -s.level_step)
        self._free: dict[float, NDArray[np.bool_]] = {}

    def clearance(self, points: Array) -> Array:
        """Return the distance [m] from (N, 3) map points to the nearest seabed or prop."""
        return _clearances(np.atleast_2d(np.asarray(points, float)), self._field.arrays)

    def line_clearance(self, a: Array, b: Array) -> float:
        """Return the smallest clearance [m] along the straight line from a to b."""
        count = max(2, int(np.ceil(np.linalg.norm(np.subtract(b, a)) / 1.0)) + 1)
        t = np.linspace(0.0, 1.0, count)[:, None]
        return float(self.clearance(np.asarray(a) * (1 - t) + np.asarray(b) * t).min())

    def _mask(self, level: float) -> NDArray[np.bool_]:
        if level not in self._free:
            gx, gy = np.meshgrid(self._x, self._y)
            points = np.stack([gx.ravel(), gy.ravel(), np.full(gx.size, level)], axis=1)
            free = self.clearance(points) >= self.settings.clearance
            self._free[level] = free.reshape(gx.shape)
        return self._free[level]

    def plan(self, start: Array, goal: Array) -> list[Array]:
        """Return waypoints (3,) from start to goal, the start left out.

        Each leg is vertical or horizontal. Of all levels, and the start's and the goal's own
        heights, the one that takes the fewest maneuvers is flown.

        Returns:
            An empty list if there is no clear path on any level.
        """
        start, goal = np.asarray(start, float), np.asarray(goal, float)
        heights = sorted({float(start[2]), float(goal[2]), *(float(z) for z in self._levels)})
        best: tuple[float, list[Array]] | None = None
        for level in sorted(heights, key=lambda z: abs(z - start[2]) + abs(z - goal[2])):
            vertical = abs(level - start[2]) + abs(level - goal[2])
            straight = math.hypot(*(goal - start)[:2])
            least = vertical / self.settings.rise + straight / self.settings.reach
            if best is not None and least >= best[0]:
                continue
            path = self._level_path(start, goal, level)
            if path is None:
                continue
            cost = self._maneuvers([start, *path])
            if best is None or cost < best[0]:
                best = (cost, path)
        return [] if best is None else best[1]

    def _maneuvers(self, path: list[Array]) -> float:
        count, heading = 0, math.nan
        for a, b in itertools.pairwise(path):
            d = b - a
            flat = math.hypot(d[0], d[1])
            count += math.ceil(abs(d[2]) / self.settings.rise - 1e-9)
            count += math.ceil(flat / self.settings.reach - 1e-9)
            if flat > 0.5:
                bearing = math.atan2(d[1], d[0])
                count += int(math.isnan(heading) or abs(math.sin(bearing - heading)) > 0.02)
                heading = bearing
        return float(count)

    def _level_path(self, start: Array, goal: Array, level: float) -> list[Array] | None:
        above_start = np.array([start[0], start[1], level])
        above_goal = np.array([goal[0], goal[1], level])
        column = min(self.settings.clearance, *self.clearance(np.stack([start, goal]))) - 0.5
        if min(
            self.line_clearance(start, above_start), self.line_clearance(above_goal, goal)
        ) < min(column, self.settings.clearance):
            return None
        flat = self._any_angle(above_start, above_goal, level)
        if flat is None:
            return None
        path = [above_start, *flat, goal]
        trimmed = [start]
        for point in path:
            if np.linalg.norm(point - trimmed[-1]) > 0.5:
                trimmed.append(point)
        return trimmed[1:]

    def _any_angle(self, a: Array, b: Array, level: float) -> list[Array] | None:
        """Return grid points pulled tight from a to b on one level, b last."""
        need = self.settings.clearance - 0.5
        if self.line_clearance(a, b) >= need:
            return [b]
        cells = self._search(a, b, self._mask(level))
        if cells is None:
            return None
        points = [a, *(np.array([self._x[i], self._y[j], level]) for j, i in cells), b]
        tight, k = [a], 0
        while k < len(points) - 1:
            far = len(points) - 1
            while far > k + 1 and self.line_clearance(points[k], points[far]) < need:
                far = k + max(1, (far - k) * 3 // 4)
            tight.append(points[far])
            k = far
        return tight[1:]

    def _search(self, a: Array, b: Array, free: NDArray[np.bool_]) -> list[tuple[int, int]] | None:
        """A* over the 8-connected grid; returns cells (row, column) or None."""
        source, target = self._nearest_free(a, free), self._nearest_free(b, free)
        if source is None or target is None:
            return None
        rows, columns = free.shape
        cost = {source: 0.0}
        parent: dict[tuple[int, int], tuple[int, int]] = {}
        queue = [(0.0, source)]
        done: set[tuple[int, int]] = set()
        while queue:
            _, cell = heapq.heappop(queue)
            if cell in done:
                continue
            if cell == target:
                path = [cell]
                while path[-1] in parent:
                    path.append(parent[path[-1]])
                return path[::-1]
            done.add(cell)
            for dj, di in itertools.product((-1, 0, 1), repeat=2):
                j, i = cell[0] + dj, cell[1] + di
                if (dj, di) == (0, 0) or not (0 <= j < rows and 0 <= i < columns):
                    continue
                if not free[j, i]:
                    continue
                new = cost[cell] + math.hypot(dj, di)
                if new < cost.get((j, i), math.inf):
                    cost[(j, i)] = new
                    parent[(j, i)] = cell
                    estimate = new + math.hypot(j - target[0], i - target[1])
                    heapq.heappush(queue, (estimate, (j, i)))
        return None

    def _nearest_free(self, point: Array, free: NDArray[np.bool_]) -> tuple[int, int] | None:
        j = int(np.clip(np.searchsorted(self._y, point[1]), 0, len(self._y) - 1))
        i = int(np.clip(np.searchsorted(self._x, point[0]), 0, len(self._x) - 1))
        j0, i0 = max(0, j - 5), max(0, i - 5)
        window = free[j0 : j + 6, i0 : i + 6]
        if not window.any():
            return None
        rows, columns = np.nonzero(window)
        away = np.hypot(self._y[rows + j0] - point[1], self._x[columns + i0] - point[0])
        for k in np.argsort(away, kind='stable')[:12]:
            cell = (int(rows[k] + j0), int(columns[k] + i0))
            spot = np.array([self._x[cell[1]], self._y[cell[0]], point[2]])
            if self.line_clearance(point, spot) > 2.5:
                return cell
        return None
