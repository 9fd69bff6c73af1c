"""Fan view of a ping, what people and models look at: boresight up, port left."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from oceangym_core.contract.observation import SonarSpec
from oceangym_sim.sonar.presets import DYNAMIC_RANGE_DB

_HEIGHT = 512
_MARGIN = 18
_RING = 110
_LABEL = 200


class FanProjector:
    """Maps polar images of one sonar to fan images of 8 bit, decibels over `DYNAMIC_RANGE_DB`.

    The whole aperture is inside, both edge beams included, for any aperture up to 360 deg.

    Args:
        spec: The sonar.
        height: Of the fan image [px].
        rings: Draw range rings with labels, the edges of the aperture and the scale over the echoes.
    """

    def __init__(self, spec: SonarSpec, *, height: int = _HEIGHT, rings: bool = True) -> None:
        half = spec.azimuth_aperture / 2
        # Beyond 180 deg the fan reaches below its apex.
        below = max(0.0, -math.cos(half))
        self.pixels_per_metre = (height - 2 * _MARGIN) / (spec.range_max * (1.0 + below))
        widest = math.sin(min(half, math.pi / 2))
        self.width = 2 * math.ceil(spec.range_max * widest * self.pixels_per_metre) + 2 * _MARGIN
        self.height = height
        self.apex = (self.width / 2, _MARGIN + spec.range_max * self.pixels_per_metre)
        x, y = np.meshgrid(np.arange(self.width) + 0.5, np.arange(height) + 0.5)
        ahead, starboard = self.apex[1] - y, x - self.apex[0]
        distance = np.hypot(ahead, starboard) / self.pixels_per_metre
        azimuth = np.arctan2(-starboard, ahead)
        step = spec.azimuth_aperture / max(spec.beams - 1, 1)
        row = np.floor((distance - spec.range_min) / spec.range_resolution).astype(int)
        column = np.round((half - azimuth) / step).astype(int)
        inside = (row >= 0) & (row < spec.range_bins) & (column >= 0) & (column < spec.beams)
        self._inside = inside
        self._index = (row * spec.beams + column)[inside]
        self._overlay = self._draw_overlay(spec) if rings else None

    def render(self, polar: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Return the fan (height, width) uint8 of a polar image (range_bins, beams)."""
        grey = to_grey(polar).ravel()
        fan = np.zeros((self.height, self.width), np.uint8)
        fan[self._inside] = grey[self._index]
        return fan if self._overlay is None else np.maximum(fan, self._overlay)

    def pixel(self, distance: float, azimuth: float) -> tuple[float, float]:
        """Return the column and row [px] of a range [m] and an azimuth [rad, + to port]."""
        reach = distance * self.pixels_per_metre
        return self.apex[0] - reach * math.sin(azimuth), self.apex[1] - reach * math.cos(azimuth)

    def _draw_overlay(self, spec: SonarSpec) -> NDArray[np.uint8]:
        """Return rings with labels in metres, the edges of the aperture and the scale in dB."""
        canvas = Image.new('L', (self.width, self.height), 0)
        draw = ImageDraw.Draw(canvas)
        font = ImageFont.load_default(12)
        half_deg = math.degrees(spec.azimuth_aperture / 2)
        for ring in ring_ranges(spec.range_max):
            reach = ring * self.pixels_per_metre
            x, y = self.apex
            draw.arc(
                (x - reach, y - reach, x + reach, y + reach), -90 - half_deg, -90 + half_deg, _RING
            )
            edge = self.pixel(ring, -spec.azimuth_aperture / 2)
            at = (min(edge[0] + 3, self.width - 30), min(edge[1], self.height - 14))
            draw.text(at, f'{ring:g} m', fill=_LABEL, font=font)
        for side in (1.0, -1.0):
            end = self.pixel(spec.range_max, side * spec.azimuth_aperture / 2)
            draw.line([self.apex, end], fill=_RING)
        draw.text((4, self.height - 30), f'{-DYNAMIC_RANGE_DB:g}..0 dB', fill=_LABEL, font=font)
        for column in range(64):
            shade = round(255 * column / 63)
            draw.line([(4 + column, self.height - 14), (4 + column, self.height - 6)], fill=shade)
        draw.text((4, 2), spec.direction, fill=_LABEL, font=font)
        return np.asarray(canvas, dtype=np.uint8)


def to_grey(polar: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Return linear power 0..1 as 8-bit decibels: 0 is -DYNAMIC_RANGE_DB and less, 255 full scale."""
    floor = 10.0 ** (-DYNAMIC_RANGE_DB / 10.0)
    decibel = np.log10(np.maximum(polar, np.float32(floor)))
    scaled = decibel * np.float32(2550.0 / DYNAMIC_RANGE_DB) + np.float32(255.5)
    grey: NDArray[np.uint8] = np.minimum(scaled, 255.0).astype(np.uint8)
    return grey


def ring_ranges(range_max: float) -> list[float]:
    """Return 3 to 6 round ring ranges [m] up to the longest range."""
    for step in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0):
        count = int(range_max / step + 1e-9)
        if count <= 6:
            return [step * (i + 1) for i in range(count)]
    return [range_max]
