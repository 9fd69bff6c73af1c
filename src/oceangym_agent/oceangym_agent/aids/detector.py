"""Simple detection without a model: compact strong sonar returns, and what is not water-coloured."""

from __future__ import annotations

from dataclasses import dataclass
import math

import cv2
import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from oceangym_core.contract.observation import SonarPing, SonarSpec

# Side of the grid that pings are averaged to, and of the square of cells whose median is the surroundings.
ECHO_GRID = 256
SURROUNDINGS_CELLS = 75
# Levels [dB re full scale]: under the noise floor, of open water, and the faintest that is an echo.
FLOOR_DB, QUIET_DB, FAINT_DB = -60.0, -45.0, -32.0


@dataclass(frozen=True, kw_only=True)
class SonarContact:
    """One compact return: `range` [m], `azimuth` [rad, + to port], `extent` [m], `contrast` ratio."""

    range: float
    azimuth: float
    extent: float
    contrast: float


def sonar_contacts(
    ping: SonarPing,
    spec: SonarSpec,
    *,
    contrast: float = 5.0,
    extent: tuple[float, float] = (0.4, 12.0),
    blind_range: float = 1.0,
) -> tuple[SonarContact, ...]:
    """Find returns that stand out of their own range's background, strongest first.

    Each range row is compared with its median over azimuth (a cell-averaging detector whose
    reference cells are the whole row), which removes the seabed's smooth trend.

    Args:
        ping: The polar image.
        spec: Its geometry.
        contrast: Least ratio of the smoothed intensity to the row's median.
        extent: Smallest and largest extent that counts as compact [m].
        blind_range: Returns nearer than this are the vehicle's own reverberation [m].
    """
    smooth = ndimage.uniform_filter(ping.polar.astype(np.float64), size=(5, 7), mode='nearest')
    reference = np.maximum(np.median(smooth, axis=1, keepdims=True), np.median(smooth) + 1e-4)
    ratio = smooth / reference
    ratio[: max(0, int((blind_range - spec.range_min) / spec.range_resolution))] = 0.0
    labels, _ = ndimage.label(ratio > contrast)
    azimuths = spec.azimuths
    found: list[SonarContact] = []
    for index, region in enumerate(ndimage.find_objects(labels), start=1):
        rows, columns = region
        inside = labels[region] == index
        if inside.sum() < 12:
            continue
        middle = spec.range_min + (rows.start + rows.stop) / 2 * spec.range_resolution
        length = (rows.stop - rows.start) * spec.range_resolution
        width = abs(azimuths[columns.start] - azimuths[columns.stop - 1]) * middle
        size = math.hypot(length, width)
        if not extent[0] <= size <= extent[1]:
            continue
        found.append(
            SonarContact(
                range=float(middle),
                azimuth=float(azimuths[(columns.start + columns.stop - 1) // 2]),
                extent=float(size),
                contrast=float(ratio[region][inside].max()),
            )
        )
    return tuple(sorted(found, key=lambda c: -c.contrast))


@dataclass(frozen=True, kw_only=True)
class Echo:
    """One patch that is brighter than the bottom around it.

    Attributes:
        range: Of its centre, weighted by intensity [m].
        azimuth: The same [rad], positive to port.
        length, width: Four standard deviations along its principal axes [m].
        area: [m2].
        contrast: Its 90th percentile over the median around it [dB].
        peak: Its brightest cell [dB re full scale].
    """

    range: float
    azimuth: float
    length: float
    width: float
    area: float
    contrast: float
    peak: float


def bright_echoes(
    ping: SonarPing, spec: SonarSpec, *, contrast_db: float = 8.0, area: float = 1.5
) -> tuple[Echo, ...]:
    """Find patches that stand out of a wide median of their surroundings, strongest contrast first.

    The ping is averaged to `ECHO_GRID` cells a side, which removes most speckle; gaps of a few cells,
    as between the frames of a wreck, are closed.

    Args:
        ping: The polar image.
        spec: Its geometry.
        contrast_db: Least level over the surroundings [dB].
        area: Least area [m2].
    """
    size = (ECHO_GRID, ECHO_GRID)
    cells = cv2.blur(cv2.resize(ping.polar, size, interpolation=cv2.INTER_AREA), (3, 3))
    level = 10 * np.log10(np.maximum(cells, 1e-6))
    # In quarters of a decibel from the floor: the median filter takes bytes.
    coarse = np.clip((level - FLOOR_DB) * 4, 0, 255).astype(np.uint8)
    around = cv2.medianBlur(coarse, SURROUNDINGS_CELLS) / 4.0 + FLOOR_DB
    contrast = level - np.maximum(around, QUIET_DB)
    bright = ((contrast > contrast_db) & (level > FAINT_DB)).astype(np.uint8)
    closed = cv2.morphologyEx(bright, cv2.MORPH_CLOSE, np.ones((9, 9), np.uint8))
    labels, _ = ndimage.label(closed)
    step = (spec.range_max - spec.range_min) / ECHO_GRID
    beam = spec.azimuth_aperture / ECHO_GRID
    found: list[Echo] = []
    for index, region in enumerate(ndimage.find_objects(labels), start=1):
        rows, columns = np.nonzero(labels[region] == index)
        rows, columns = rows + region[0].start, columns + region[1].start
        ranges = spec.range_min + (rows + 0.5) * step
        azimuths = spec.azimuth_aperture / 2 - (columns + 0.5) * beam
        covered = float((ranges * step * beam).sum())
        if covered < area:
            continue
        weights = cells[rows, columns].astype(np.float64)
        places = np.vstack([ranges * np.cos(azimuths), ranges * np.sin(azimuths)])
        spread = np.linalg.eigvalsh(np.cov(places, aweights=weights))
        width, length = (4.0 * math.sqrt(max(float(v), 0.0)) for v in spread)
        found.append(
            Echo(
                range=float(np.average(ranges, weights=weights)),
                azimuth=float(np.average(azimuths, weights=weights)),
                length=length,
                width=width,
                area=covered,
                contrast=float(np.percentile(contrast[rows, columns], 90)),
                peak=float(level[rows, columns].max()),
            )
        )
    return tuple(sorted(found, key=lambda echo: -echo.contrast))


def nearest_return(
    ping: SonarPing, spec: SonarSpec, *, sector: float, level_db: float = -35.0
) -> float:
    """Return the range [m] of the nearest solid return within +-sector [rad] of the boresight.

    Args:
        ping: The polar image.
        spec: Its geometry.
        sector: Half width of what is ahead [rad].
        level_db: Mean intensity over the sector that counts as solid [dB re full scale]; the noise
            floor lies near -58 dB, rock and steel above -25 dB.

    Returns:
        Infinity without any.
    """
    ahead = np.abs(spec.azimuths) <= sector
    rows = ndimage.uniform_filter1d(ping.polar[:, ahead].mean(axis=1), size=5)
    first = max(0, int((1.0 - spec.range_min) / spec.range_resolution))
    solid = np.nonzero(rows[first:] > 10 ** (level_db / 10))[0]
    if len(solid) == 0:
        return math.inf
    return spec.range_min + (float(solid[0]) + first) * spec.range_resolution


def colour_anomaly(image: NDArray[np.uint8]) -> float:
    """Return the share of the image 0..1 whose chroma departs from the surrounding water's.

    The chroma (a*, b*) is compared with its own wide blur: sediment and water vary slowly, paint
    and rust do not.
    """
    small = cv2.resize(image, (128, 128), interpolation=cv2.INTER_AREA)
    lab = cv2.cvtColor(small, cv2.COLOR_RGB2LAB).astype(np.float32)
    chroma = lab[..., 1:]
    away = np.linalg.norm(chroma - cv2.GaussianBlur(chroma, (0, 0), 16.0), axis=-1)
    return float((away > 6.0).mean())
