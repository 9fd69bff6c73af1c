"""The coverage map as a picture: what was seen, the track, the vehicle, axes and a scale."""

from __future__ import annotations

from collections.abc import Sequence
import math

import cv2
import numpy as np
from numpy.typing import NDArray

from oceangym_agent.memory.coverage import CoverageMap
from oceangym_core.geometry import Array

Colour = tuple[int, int, int]

OUTSIDE: Colour = (236, 236, 236)
UNSEEN: Colour = (60, 78, 98)
SEEN: Colour = (160, 214, 205)
INK: Colour = (20, 20, 20)
TRACK: Colour = (196, 60, 20)
VEHICLE: Colour = (225, 30, 30)
LIGHT: Colour = (255, 255, 255)

_MARGIN = 0.07
_FONT = cv2.FONT_HERSHEY_SIMPLEX
# Drawn larger and averaged: OpenCV's thin lines have no even edges otherwise.
_OVERSAMPLING = 2


def draw_coverage(
    coverage: CoverageMap, position: Sequence[float], heading: float, *, size: int = 512
) -> NDArray[np.uint8]:
    """Return the map (size, size, 3) uint8 RGB, odom's x to the right and y upwards.

    Args:
        coverage: What was seen.
        position: Vehicle in odom [m].
        heading: Counter-clockwise from odom's x axis [rad].
        size: Side of the picture [px].
    """
    canvas = _Canvas(coverage, size * _OVERSAMPLING)
    canvas.fill_cells(coverage)
    canvas.outline(coverage.bounds)
    canvas.track(coverage.track)
    canvas.corners(coverage.bounds)
    canvas.vehicle(position, heading)
    canvas.axes()
    canvas.scale_bar()
    canvas.legend(coverage)
    return np.asarray(
        cv2.resize(canvas.image, (size, size), interpolation=cv2.INTER_AREA), np.uint8
    )


class _Canvas:
    """A square picture with the scale that fits the bounds."""

    def __init__(self, coverage: CoverageMap, side: int) -> None:
        low, high = coverage.bounds.min(axis=0), coverage.bounds.max(axis=0)
        # Room for the legend above and the scale below.
        self.metres_per_pixel = float(max(high - low)) / (side * (1 - 2 * _MARGIN - 0.06))
        self.middle = (low + high) / 2
        self.side = side
        self.unit = side / 512
        self.image: NDArray[np.uint8] = np.full((side, side, 3), OUTSIDE, np.uint8)

    def pixels(self, points: Array) -> NDArray[np.int32]:
        """Return the columns and rows (N, 2) of places in odom."""
        flat = (np.atleast_2d(points) - self.middle) / self.metres_per_pixel
        return np.round(
            np.stack([self.side / 2 + flat[:, 0], self.side / 2 - flat[:, 1]], axis=1)
        ).astype(np.int32)

    def fill_cells(self, coverage: CoverageMap) -> None:
        """Paint every pixel within the bounds by its cell."""
        rows, columns = np.mgrid[0 : self.side, 0 : self.side]
        x = (columns + 0.5 - self.side / 2) * self.metres_per_pixel + self.middle[0]
        y = (self.side / 2 - rows - 0.5) * self.metres_per_pixel + self.middle[1]
        u = coverage.axes[0, 0] * x + coverage.axes[0, 1] * y
        v = coverage.axes[1, 0] * x + coverage.axes[1, 1] * y
        i = np.floor((u - coverage.low[0]) / coverage.cell).astype(int)
        j = np.floor((v - coverage.low[1]) / coverage.cell).astype(int)
        mask = np.zeros((self.side, self.side), np.uint8)
        cv2.fillPoly(mask, [self.pixels(coverage.bounds)], 1)
        within = (mask > 0) & (i >= 0) & (i < len(coverage.u)) & (j >= 0) & (j < len(coverage.v))
        seen = np.zeros_like(within)
        seen[within] = coverage.seen[j[within], i[within]]
        self.image[within] = UNSEEN
        self.image[seen] = SEEN

    def outline(self, bounds: Array) -> None:
        """Draw the bounds."""
        cv2.polylines(self.image, [self.pixels(bounds)], True, INK, self._thick(2.0), cv2.LINE_AA)

    def corners(self, bounds: Array) -> None:
        """Write the corners' coordinates, so that places can be read off."""
        middle = self.pixels(self.middle[None])[0]
        for place, at in zip(bounds, self.pixels(bounds), strict=True):
            label = f'{round(place[0]) + 0:d}, {round(place[1]) + 0:d}'
            (width, height), _ = cv2.getTextSize(label, _FONT, 0.36 * self.unit, 1)
            x = int(np.clip(at[0] - width / 2, 4, self.side - width - 4))
            away = round(8 * self.unit)
            y = int(at[1]) + (away + height if at[1] > middle[1] else -away)
            # On paper of its own: it may lie over the area.
            cv2.rectangle(self.image, (x - 3, y - height - 3), (x + width + 3, y + 5), OUTSIDE, -1)
            self._write(label, (x, y), scale=0.36)

    def track(self, places: Sequence[tuple[float, float]]) -> None:
        """Draw the way so far with a ring at its start."""
        if not places:
            return
        line = self.pixels(np.asarray(places))
        cv2.polylines(self.image, [line], False, TRACK, self._thick(1.5), cv2.LINE_AA)
        start = (int(line[0, 0]), int(line[0, 1]))
        cv2.circle(self.image, start, self._thick(4), TRACK, self._thick(1.5), cv2.LINE_AA)

    def vehicle(self, position: Sequence[float], heading: float) -> None:
        """Draw an arrow head at the vehicle, its tip ahead."""
        cos, sin = math.cos(heading), math.sin(heading)
        length = 15 * self.unit * self.metres_per_pixel
        shape = np.array([[0.75, 0.0], [-0.45, 0.5], [-0.2, 0.0], [-0.45, -0.5]]) * length
        turned = shape @ np.array([[cos, sin], [-sin, cos]]) + np.asarray(position[:2])
        head = self.pixels(turned)
        cv2.fillPoly(self.image, [head], VEHICLE, cv2.LINE_AA)
        cv2.polylines(self.image, [head], True, LIGHT, self._thick(1.0), cv2.LINE_AA)

    def axes(self) -> None:
        """Draw odom's axes in the corner below right."""
        reach = round(30 * self.unit)
        x0, y0 = round(self.side - 58 * self.unit), round(self.side - 14 * self.unit)
        for tip, name in (((x0 + reach, y0), '+x'), ((x0, y0 - reach), '+y')):
            cv2.arrowedLine(
                self.image, (x0, y0), tip, INK, self._thick(1.5), cv2.LINE_AA, tipLength=0.3
            )
            self._write(name, (tip[0] + round(8 * self.unit), tip[1] + round(4 * self.unit)))

    def scale_bar(self) -> None:
        """Draw a bar of a round length below left."""
        wanted = 0.25 * self.side * self.metres_per_pixel
        power = 10.0 ** math.floor(math.log10(wanted))
        length = max(step * power for step in (1.0, 2.0, 5.0) if step * power <= wanted)
        x0, y0 = round(12 * self.unit), round(self.side - 14 * self.unit)
        x1 = x0 + round(length / self.metres_per_pixel)
        cv2.line(self.image, (x0, y0), (x1, y0), INK, self._thick(2.0))
        for x in (x0, x1):
            tick = round(4 * self.unit)
            cv2.line(self.image, (x, y0 - tick), (x, y0 + tick), INK, self._thick(2.0))
        self._write(f'{length:g} m', (x1 + round(6 * self.unit), y0 + round(4 * self.unit)))

    def legend(self, coverage: CoverageMap) -> None:
        """Name the colours along the top."""
        y = round(16 * self.unit)
        x = round(12 * self.unit)
        box = round(10 * self.unit)
        for colour, name in (
            (SEEN, f'seen {100 * coverage.share:.1f} %'),
            (UNSEEN, 'not seen'),
            (TRACK, 'track'),
            (VEHICLE, 'vehicle'),
        ):
            cv2.rectangle(self.image, (x, y - box), (x + box, y), colour, -1)
            self._write(name, (x + round(1.5 * box), y))
            x += round((32 + 8.2 * len(name)) * self.unit)

    def _thick(self, pixels: float) -> int:
        return max(1, round(pixels * self.unit))

    def _write(self, text: str, at: tuple[int, int], *, scale: float = 0.42) -> None:
        cv2.putText(
            self.image, text, at, _FONT, scale * self.unit, INK, self._thick(1.0), cv2.LINE_AA
        )
