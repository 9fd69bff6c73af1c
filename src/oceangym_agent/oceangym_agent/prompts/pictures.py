"""Pictures made for a model: sonar fans with rings and scale, and sheets of several views."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math

import cv2
import numpy as np
from numpy.typing import NDArray

from oceangym_agent.aids.sonar_text import BORESIGHT
from oceangym_core.contract.observation import SonarPing, SonarSpec
from oceangym_core.geometry import wrap_angle

Image = NDArray[np.uint8]
Colour = tuple[int, int, int]

# Shown from black to white [dB re full scale]; the sonars' noise floor lies near -58 dB.
DYNAMIC_RANGE_DB = 55.0
INK: Colour = (255, 214, 90)
RING: Colour = (150, 126, 60)
PAPER: Colour = (16, 20, 28)
_FONT = cv2.FONT_HERSHEY_SIMPLEX
# Labels do not shrink below this share of those of a picture of 512 px.
SMALLEST_LABELS = 0.8
# What the sonar's own port and starboard are for the vehicle, by the direction it looks.
SIDES: dict[str, tuple[str, str]] = {
    'front': ('port', 'starboard'),
    'back': ('starboard', 'port'),
    'left': ('stern', 'bow'),
    'right': ('bow', 'stern'),
    'up': ('port', 'starboard'),
    'down': ('port', 'starboard'),
}


def ring_ranges(range_max: float) -> list[float]:
    """Return 3 to 6 round ranges [m] for rings."""
    for step in (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0):
        count = int(range_max / step + 1e-9)
        if count <= 6:
            return [step * (i + 1) for i in range(count)]
    return [range_max]


def draw_fan(ping: SonarPing, spec: SonarSpec, *, size: int = 512) -> Image:
    """Return a fan (H, W, 3) uint8 RGB: boresight up, port left, rings with labels.

    Made from the polar image, whose geometry is known whatever drew the vehicle's own fan.

    Args:
        ping: The ping.
        spec: Its geometry.
        size: Longest side of the picture [px]; it is drawn so large, not scaled, so that its
            labels stay legible.
    """
    fan = _Fan(spec, size)
    return fan.labelled(fan.project(ping.polar))


class _Fan:
    """Where ranges and azimuths of one sonar lie in its picture."""

    def __init__(self, spec: SonarSpec, size: int) -> None:
        self.spec = spec
        self.unit = max(size / 512, SMALLEST_LABELS)
        self.half = spec.azimuth_aperture / 2
        top, bottom, side = (round(v * self.unit) for v in (40, 20, 34))
        # Beyond 180 deg the fan reaches below its apex.
        below = max(0.0, -math.cos(self.half))
        widest = math.sin(min(self.half, math.pi / 2))
        tall, wide = spec.range_max * (1.0 + below), 2 * spec.range_max * widest
        self.scale = min((size - top - bottom) / tall, (size - 2 * side) / wide)
        self.shape = (
            math.floor(tall * self.scale) + top + bottom,
            math.floor(wide * self.scale) + 2 * side,
        )
        self.apex = (self.shape[1] / 2, top + spec.range_max * self.scale)

    def pixel(self, distance: float, azimuth: float) -> tuple[int, int]:
        """Return column and row [px] of a range [m] and an azimuth [rad, + to port]."""
        reach = distance * self.scale
        return (
            round(self.apex[0] - reach * math.sin(azimuth)),
            round(self.apex[1] - reach * math.cos(azimuth)),
        )

    def project(self, polar: NDArray[np.float32]) -> Image:
        """Return the echoes without any drawing; the highest echo of the cells in a pixel."""
        spec = self.spec
        rows, columns = np.mgrid[0 : self.shape[0], 0 : self.shape[1]].astype(np.float32)
        ahead, starboard = self.apex[1] - rows, columns - self.apex[0]
        distance = np.hypot(ahead, starboard) / self.scale
        azimuth = np.arctan2(-starboard, ahead)
        bins = (distance - spec.range_min) / spec.range_resolution - 0.5
        beams = (self.half - azimuth) / (spec.azimuth_aperture / max(spec.beams - 1, 1))
        floor = 10.0 ** (-DYNAMIC_RANGE_DB / 10.0)
        decibel = 10.0 * np.log10(np.maximum(polar, floor))
        grey = (255.0 * (1.0 + decibel / DYNAMIC_RANGE_DB)).astype(np.float32)
        # A pixel of a small picture holds several range bins: keep the strongest, not any one.
        tall = max(1, math.floor(1.0 / (self.scale * spec.range_resolution)))
        if tall > 1:
            grey = cv2.dilate(grey, np.ones((tall, 1), np.uint8))
        shown = cv2.remap(grey, beams, bins, cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        inside = (
            (np.abs(azimuth) <= self.half)
            & (distance >= spec.range_min)
            & (distance <= spec.range_max)
        )
        picture = np.full((*self.shape, 3), PAPER, np.uint8)
        picture[inside] = np.clip(shown, 0, 255).astype(np.uint8)[inside][:, None]
        return picture

    def labelled(self, picture: Image) -> Image:
        """Draw rings, bearings, sides and title."""
        spec = self.spec
        half_deg = math.degrees(self.half)
        centre = (round(self.apex[0]), round(self.apex[1]))
        for ring in ring_ranges(spec.range_max):
            reach = round(ring * self.scale)
            cv2.ellipse(
                picture, centre, (reach, reach), -90.0, -half_deg, half_deg, RING, 1, cv2.LINE_AA
            )
            x, y = self.pixel(ring, -self.half)
            self._write(picture, f'{ring:g} m', (x + 4, y + round(14 * self.unit)))
        for angle_deg in _ticks(half_deg):
            azimuth = math.radians(angle_deg)
            start = self.pixel(spec.range_max, azimuth)
            if angle_deg == 0:
                cv2.line(picture, centre, start, RING, 1, cv2.LINE_AA)
            label = self._bearing(angle_deg)
            x, y = self.pixel(spec.range_max + 5 * self.unit / self.scale, azimuth)
            cv2.line(picture, start, (x, y), INK, 1, cv2.LINE_AA)
            x, y = self.pixel(spec.range_max + 8 * self.unit / self.scale, azimuth)
            (width, _), _ = cv2.getTextSize(label, _FONT, 0.38 * self.unit, 1)
            shift = width * (1.0 + math.sin(azimuth)) / 2
            self._write(picture, label, (round(x - shift), y))
        for side in (1.0, -1.0):
            cv2.line(
                picture, centre, self.pixel(spec.range_max, side * self.half), RING, 1, cv2.LINE_AA
            )
        self._write(
            picture,
            f'{spec.direction.upper()} SONAR, rings m, {self._reference}',
            (round(6 * self.unit), round(14 * self.unit)),
        )
        port, starboard = SIDES.get(spec.direction, ('port', 'starboard'))
        base = self.shape[0] - round(30 * self.unit)
        self._write(picture, f'< {port}', (round(6 * self.unit), base))
        label = f'{starboard} >'
        (width, _), _ = cv2.getTextSize(label, _FONT, 0.38 * self.unit, 1)
        self._write(picture, label, (self.shape[1] - width - round(6 * self.unit), base))
        return picture

    @property
    def _reference(self) -> str:
        return (
            'bow bearing deg (+ port)'
            if self.spec.direction in BORESIGHT
            else 'angle deg (+ port)'
        )

    def _bearing(self, angle_deg: float) -> str:
        """Return a tick's label: relative to the bow where the sonar looks out horizontally."""
        boresight = math.degrees(BORESIGHT.get(self.spec.direction, 0.0))
        bearing = round(math.degrees(wrap_angle(math.radians(boresight + angle_deg))))
        return f'{bearing:+d}' if bearing % 180 else f'{abs(bearing)}'

    def _write(self, picture: Image, text: str, at: tuple[int, int]) -> None:
        """Write a text, moved into the picture where it would reach beyond it."""
        (width, height), _ = cv2.getTextSize(text, _FONT, 0.38 * self.unit, 1)
        x = max(2, min(at[0], self.shape[1] - width - 3))
        y = max(height + 1, min(at[1], self.shape[0] - 3))
        cv2.putText(picture, text, (x, y), _FONT, 0.38 * self.unit, INK, 1, cv2.LINE_AA)


def _ticks(half_deg: float) -> list[float]:
    step = 10.0 if half_deg <= 35 else 30.0 if half_deg <= 90 else 45.0
    count = int(half_deg / step + 1e-6)
    return [step * i for i in range(-count, count + 1)]


def sheet(
    images: Mapping[str, Image],
    order: Sequence[str],
    *,
    size: int,
    columns: int = 3,
    tags: bool = True,
) -> Image:
    """Return several views in one picture of width `size` [px], each with its name in a corner.

    Args:
        images: Name -> picture, (H, W, 3) or (H, W) uint8.
        order: Names from top left to bottom right; those without a picture are left out.
        size: Width of the sheet.
        columns: Views side by side.
        tags: Whether the names are written on the views.
    """
    names = [name for name in order if name in images]
    if not names:
        raise ValueError('a sheet needs at least one picture')
    across = min(columns, len(names))
    side = max(1, size // across)
    tall = max(round(side * images[n].shape[0] / images[n].shape[1]) for n in names)
    rows = math.ceil(len(names) / across)
    page = np.full((rows * tall, across * side, 3), PAPER, np.uint8)
    for number, name in enumerate(names):
        image = images[name]
        if image.ndim == 2:
            image = np.repeat(image[..., None], 3, axis=2)
        height = round(side * image.shape[0] / image.shape[1])
        small = np.asarray(cv2.resize(image, (side, height), interpolation=cv2.INTER_AREA))
        y, x = number // across * tall, number % across * side
        page[y : y + height, x : x + side] = small
        if tags:
            _tag(page, name, (x, y), side)
    return page


def _tag(page: Image, name: str, at: tuple[int, int], side: int) -> None:
    """Write a name on a dark ground, so that it is read on any picture."""
    scale = max(0.3, side / 512)
    (width, height), base = cv2.getTextSize(name, _FONT, scale, 1)
    x, y = at
    cv2.rectangle(page, at, (x + width + 6, y + height + base + 4), PAPER, -1)
    cv2.putText(page, name, (x + 3, y + height + 3), _FONT, scale, INK, 1, cv2.LINE_AA)
