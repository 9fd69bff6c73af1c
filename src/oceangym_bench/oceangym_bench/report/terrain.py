"""The seabed as a chart shows it: tinted by depth, lit from the north-west, with contour lines."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from oceangym_core.geometry import Array
from oceangym_core.world.world import Heightfield

# Depth tints from shallow to deep, RGB: those of a paper chart, a little darker.
_TINTS = np.array(
    [(214, 232, 226), (168, 207, 212), (116, 169, 190), (77, 127, 158), (51, 90, 124)], float
)
_SUN = np.array((-1.0, 1.0, 1.4)) / np.linalg.norm((-1.0, 1.0, 1.4))
# Slopes are gentle: heights are exaggerated before lighting so that they show.
_EXAGGERATION = 3.0
_UPSAMPLING = 3
_JPEG_QUALITY = 82
# Shorter contour lines are noise of the relief [m].
_SHORTEST_M = 40.0


@dataclass(frozen=True, kw_only=True)
class Contour:
    """One depth contour: `depth` below the surface [m], `line` (N, 2) map x, y [m]."""

    depth: float
    line: Array

    @property
    def middle(self) -> tuple[float, float, float]:
        """Where its label goes: map x, y [m] and the line's direction there [deg, -90..90]."""
        k = len(self.line) // 2
        x, y = self.line[k]
        dx, dy = self.line[min(k + 2, len(self.line) - 1)] - self.line[max(k - 2, 0)]
        angle = float(np.degrees(np.arctan2(dy, dx)))
        return float(x), float(y), (angle + 90) % 180 - 90


def relief_jpeg(field: Heightfield) -> bytes:
    """Return the seabed as a JPEG whose upper edge is north, covering the grid's cells."""
    rows, columns = field.height.shape
    size = (columns * _UPSAMPLING, rows * _UPSAMPLING)
    height = cv2.resize(field.height.astype(np.float32), size, interpolation=cv2.INTER_CUBIC)
    # Cubic patches meet with a kink in slope, which light would show as a grid.
    height = cv2.GaussianBlur(height, (0, 0), 0.7 * _UPSAMPLING)
    dz_dy, dz_dx = np.gradient(height, field.spacing / _UPSAMPLING)
    normal = np.stack([-dz_dx * _EXAGGERATION, -dz_dy * _EXAGGERATION, np.ones_like(height)])
    normal /= np.linalg.norm(normal, axis=0)
    light = np.clip(np.tensordot(_SUN, normal, axes=1) / _SUN[2], 0.0, 1.6)
    low, high = float(height.min()), float(height.max())
    shade = (high - height) / max(high - low, 1e-6) * (len(_TINTS) - 1)
    colour = np.stack(
        [np.interp(shade, np.arange(len(_TINTS)), _TINTS[:, c]) for c in range(3)], axis=-1
    )
    lit = np.clip(colour * (0.55 + 0.45 * light[..., None]), 0, 255).astype(np.uint8)
    _, data = cv2.imencode(
        '.jpg', np.flipud(lit)[..., ::-1], [cv2.IMWRITE_JPEG_QUALITY, _JPEG_QUALITY]
    )
    return bytes(data)


def contours(field: Heightfield, interval: float = 10.0) -> tuple[Contour, ...]:
    """Return the depth contours at whole multiples of an interval [m]."""
    smooth = np.asarray(cv2.GaussianBlur(field.height, (0, 0), 2.0), dtype=float)
    levels = np.arange(np.ceil(smooth.min() / interval), np.floor(smooth.max() / interval) + 1)
    found = []
    for level in levels * interval:
        for line in _lines(smooth, float(level)):
            placed = np.asarray(field.origin) + line * field.spacing
            if np.linalg.norm(np.diff(placed, axis=0), axis=1).sum() >= _SHORTEST_M:
                found.append(Contour(depth=-float(level), line=placed))
    return tuple(found)


def _lines(height: Array, level: float) -> list[Array]:
    """Return the polylines of one level by marching squares, in grid units (column, row).

    Crossings are named by the grid edge that they lie on, so that segments of neighbouring cells
    join exactly.
    """
    above = height >= level
    columns = height.shape[1]
    neighbours: dict[int, list[int]] = {}
    cells = above[:-1, :-1] + 2 * above[:-1, 1:] + 4 * above[1:, 1:] + 8 * above[1:, :-1]
    for j, i in zip(*np.nonzero((cells > 0) & (cells < 15)), strict=True):
        corner = 2 * (int(j) * columns + int(i))
        # Edges: bottom and top run along a row, left and right along a column.
        edges = (corner, corner + 3, corner + 2 * columns, corner + 1)
        for a, b in _SEGMENTS[int(cells[j, i])]:
            neighbours.setdefault(edges[a], []).append(edges[b])
            neighbours.setdefault(edges[b], []).append(edges[a])
    lines = []
    while neighbours:
        # An open line begins where only one segment ends; what is left then are rings.
        start = next((e for e, n in neighbours.items() if len(n) == 1), next(iter(neighbours)))
        path = [start]
        while neighbours.get(path[-1]):
            here = path[-1]
            following = neighbours[here].pop()
            neighbours[following].remove(here)
            path.append(following)
        for edge in path:
            if edge in neighbours and not neighbours[edge]:
                del neighbours[edge]
        lines.append(np.array([_crossing(height, level, edge) for edge in path]))
    return lines


_SEGMENTS: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((3, 0),),
    2: ((0, 1),),
    3: ((3, 1),),
    4: ((1, 2),),
    5: ((3, 0), (1, 2)),
    6: ((0, 2),),
    7: ((3, 2),),
    8: ((2, 3),),
    9: ((0, 2),),
    10: ((0, 1), (2, 3)),
    11: ((1, 2),),
    12: ((1, 3),),
    13: ((0, 1),),
    14: ((3, 0),),
}


def _crossing(height: Array, level: float, edge: int) -> tuple[float, float]:
    """Return where a level crosses a grid edge (column, row)."""
    node, along_column = divmod(edge, 2)
    j, i = divmod(node, height.shape[1])
    first = float(height[j, i])
    second = float(height[j + 1, i] if along_column else height[j, i + 1])
    part = (level - first) / (second - first)
    return (i, j + part) if along_column else (i + part, j)
