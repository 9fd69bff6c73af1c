"""Which part of the operating area was seen: a grid over the bounds, marked along the track."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import cv2
import numpy as np
from numpy.typing import NDArray

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, wrap_angle

DEFAULT_CELL_M = 10.0
# What a camera shows in shallow water and a sonar still ranges in deep water.
DEFAULT_RADIUS_M = 15.0
# A grid larger than this is coarsened: no text or map shows more.
MAX_CELLS = 250_000
# Of a sketch in signs: enough to see lanes, and few tokens.
SKETCH_COLUMNS = 24
# Bearings of the eight sectors relative to the bow, positive to port [deg].
SECTORS: tuple[tuple[str, float], ...] = (
    ('ahead', 0.0),
    ('ahead left', 45.0),
    ('left', 90.0),
    ('behind left', 135.0),
    ('behind', 180.0),
    ('behind right', -135.0),
    ('right', -90.0),
    ('ahead right', -45.0),
)


@dataclass(frozen=True, kw_only=True)
class Sector:
    """What is left to see in one direction from a place.

    Attributes:
        name: Relative to the bow.
        heading_deg: Of its middle in odom, counter-clockwise from x [deg].
        unseen: Share of its area within the bounds that was not seen yet, 0..1.
        nearest: Distance to the nearest unseen cell [m]; inf without any.
        boundary: Distance to the bounds along its middle [m].
    """

    name: str
    heading_deg: float
    unseen: float
    nearest: float
    boundary: float


class CoverageMap:
    """A grid over the operating area; everything in odom [m].

    Its rows run along the first edge of the bounds, so that a turned rectangle is covered exactly.

    Args:
        bounds: Corners (x, y) of the area.
        sensor_radius: Around the vehicle, within which the ground counts as seen.
        cell: Side of a cell.
    """

    def __init__(
        self,
        bounds: Sequence[tuple[float, float]],
        *,
        sensor_radius: float = DEFAULT_RADIUS_M,
        cell: float = DEFAULT_CELL_M,
    ) -> None:
        corners = np.asarray(bounds, dtype=float)
        if corners.ndim != 2 or corners.shape[0] < 3 or corners.shape[1] != 2:
            raise OceanGymError('a coverage map needs bounds of at least three corners')
        if not (sensor_radius > 0 and cell > 0):
            raise OceanGymError('a coverage map needs a sensor radius and a cell above 0 m')
        self.bounds = corners
        self.sensor_radius = sensor_radius
        edge = corners[1] - corners[0]
        angle = math.atan2(edge[1], edge[0])
        # Rows of `axes` are the grid's unit vectors in odom.
        self.axes = np.array(
            [[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]]
        )
        local = corners @ self.axes.T
        self.low, high = local.min(axis=0), local.max(axis=0)
        size = high - self.low
        self.cell = max(cell, math.sqrt(size[0] * size[1] / MAX_CELLS))
        columns, rows = (max(1, math.ceil(length / self.cell - 1e-9)) for length in size)
        self.u = self.low[0] + (np.arange(columns) + 0.5) * self.cell
        self.v = self.low[1] + (np.arange(rows) + 0.5) * self.cell
        self.inside = _inside(local, self.u, self.v)
        self.seen = np.zeros((rows, columns), dtype=bool)
        self.track: list[tuple[float, float]] = []

    def visit(self, position: Sequence[float]) -> None:
        """Mark what lies within the sensor radius of the straight line from the last place."""
        place = (float(position[0]), float(position[1]))
        a = self.to_grid(self.track[-1] if self.track else place)
        b = self.to_grid(place)
        self.track.append(place)
        gap = _segment_distances(self.u, self.v, a, b)
        self.seen |= gap <= self.sensor_radius

    def to_grid(self, place: Sequence[float]) -> Array:
        """Return a place of odom (2,) in the grid's axes."""
        turned: Array = self.axes @ np.asarray(place[:2], dtype=float)
        return turned

    def to_odom(self, place: Sequence[float]) -> tuple[float, float]:
        """Return a place of the grid's axes in odom."""
        x, y = self.axes.T @ np.asarray(place, dtype=float)
        return float(x), float(y)

    @property
    def unseen(self) -> NDArray[np.bool_]:
        """Cells (rows, columns) within the bounds that were not seen."""
        return self.inside & ~self.seen

    @property
    def share(self) -> float:
        """Share of the area that was seen, 0..1."""
        total = int(self.inside.sum())
        return float((self.seen & self.inside).sum() / total) if total else 1.0

    def sketch(self, position: Sequence[float], *, columns: int = SKETCH_COLUMNS) -> str:
        """Return a map of signs: ``#`` seen, ``.`` not, ``V`` the vehicle, space outside.

        Its first line says how it lies: the second axis of the map points up.
        """
        step = max(1, math.ceil(max(len(self.u), len(self.v)) / columns))
        here = self.to_grid(position)
        column = int(np.argmin(np.abs(self.u - here[0]))) // step
        row = int(np.argmin(np.abs(self.v - here[1]))) // step
        lines = []
        for r in range(math.ceil(len(self.v) / step)):
            signs = []
            for c in range(math.ceil(len(self.u) / step)):
                cells = np.s_[r * step : (r + 1) * step, c * step : (c + 1) * step]
                inside, seen = self.inside[cells], (self.seen & self.inside)[cells]
                sign = ' ' if not inside.any() else '#' if 2 * seen.sum() > inside.sum() else '.'
                signs.append('V' if (r, c) == (row, column) else sign)
            lines.append(''.join(signs).rstrip())
        angle = round(math.degrees(math.atan2(self.axes[0, 1], self.axes[0, 0]))) + 0
        side = round(step * self.cell)
        head = f'One sign is {side} m; right is the heading {angle} deg, up is {angle + 90} deg.'
        return '\n'.join([head, *reversed(lines)])

    def boundary_distance(self, position: Sequence[float], heading: float) -> float:
        """Return the distance to the bounds along a heading in odom [m]; inf where it misses."""
        return distance_to_bounds(self.bounds, position, heading)

    def sectors(self, position: Sequence[float], heading: float) -> tuple[Sector, ...]:
        """Return what is left in eight directions from a place.

        Args:
            position: In odom [m].
            heading: Counter-clockwise from odom's x axis [rad].
        """
        here = self.to_grid(position)
        u, v = np.meshgrid(self.u - here[0], self.v - here[1])
        distance = np.hypot(u, v)
        own_heading = heading - math.atan2(self.axes[0, 1], self.axes[0, 0])
        bearing = np.arctan2(v, u) - own_heading
        number = np.round(bearing / (math.pi / 4)).astype(int) % len(SECTORS)
        unseen = self.unseen
        found: list[Sector] = []
        for index, (name, bearing_deg) in enumerate(SECTORS):
            here_in = self.inside & (number == index)
            left = unseen & here_in
            middle = wrap_angle(heading + math.radians(bearing_deg))
            found.append(
                Sector(
                    name=name,
                    heading_deg=math.degrees(middle),
                    unseen=float(left.sum() / max(int(here_in.sum()), 1)),
                    nearest=float(distance[left].min()) if left.any() else math.inf,
                    boundary=self.boundary_distance(position, middle),
                )
            )
        return tuple(found)

    def text(self, position: Sequence[float], heading: float) -> str:
        """Return the summary as a few lines of text."""
        lines = [
            f'{100 * self.share:.1f} % of the operating area has been within '
            f'{self.sensor_radius:g} m of the vehicle. Not seen yet, by direction from here:'
        ]
        for sector in self.sectors(position, heading):
            if math.isinf(sector.nearest):
                rest = 'nothing left'
            else:
                rest = f'{100 * sector.unseen:.0f} % left, nearest {sector.nearest:.0f} m away'
            edge = (
                'outside the bounds'
                if math.isinf(sector.boundary)
                else f'bounds at {sector.boundary:.0f} m'
            )
            lines.append(
                f'- {sector.name} (heading {round(sector.heading_deg)} deg): {rest}; {edge}'
            )
        return '\n'.join(lines)


def distance_to_bounds(
    bounds: Sequence[Sequence[float]] | Array, position: Sequence[float], heading: float
) -> float:
    """Return how far it is from a place to a polygon's outline along a heading; inf if it misses.

    Args:
        bounds: Corners (x, y) [m].
        position: x, y (, z) [m].
        heading: Counter-clockwise from x [rad].
    """
    origin = np.asarray(position[:2], dtype=float)
    ray = np.array([math.cos(heading), math.sin(heading)])
    corners = np.asarray(bounds, dtype=float)
    nearest = math.inf
    for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        side = b - a
        across = ray[0] * side[1] - ray[1] * side[0]
        if abs(across) < 1e-12:
            continue
        to_a = a - origin
        along = (to_a[0] * side[1] - to_a[1] * side[0]) / across
        part = (to_a[0] * ray[1] - to_a[1] * ray[0]) / across
        if along >= 0.0 and -1e-9 <= part <= 1 + 1e-9:
            nearest = min(nearest, float(along))
    return nearest


def _inside(corners: Array, u: Array, v: Array) -> NDArray[np.bool_]:
    """Return which cell centres (rows, columns) lie within a polygon given in grid axes."""
    outline = corners.astype(np.float32).reshape(-1, 1, 2)
    centres = [[cv2.pointPolygonTest(outline, (float(x), float(y)), False) for x in u] for y in v]
    return np.asarray(centres) >= 0


def _segment_distances(u: Array, v: Array, a: Array, b: Array) -> Array:
    """Return the distance (rows, columns) of every cell centre from the segment a-b."""
    along = b - a
    squared = float(along @ along)
    du, dv = np.meshgrid(u - a[0], v - a[1])
    if squared == 0.0:
        from_point: Array = np.hypot(du, dv)
        return from_point
    part = np.clip((du * along[0] + dv * along[1]) / squared, 0.0, 1.0)
    distances: Array = np.hypot(du - part * along[0], dv - part * along[1])
    return distances
