"""What a sonar ping shows, in words: returns that stand out of their surroundings.

Bearings are positive to port, as in the contract; what a fan sonar cannot know, the elevation of a
return, is never stated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from oceangym_agent.aids.detector import nearest_return
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.observation import SonarPing, SonarSpec
from oceangym_core.geometry import wrap_angle

# Bearing of each horizontal sonar's boresight relative to the bow, positive to port [rad].
BORESIGHT: dict[str, float] = {
    'front': 0.0,
    'left': math.pi / 2,
    'back': math.pi,
    'right': -math.pi / 2,
}
# Returns nearer than this are the vehicle's own reverberation [m].
BLIND_RANGE_M = 1.0
# A return stands out by this much over its surroundings' mean [dB]. Averaged over 35 cells of
# exponential speckle the level scatters by 4.34 / sqrt(35) = 0.7 dB: eleven sigma.
CONTRAST_DB = 8.0
# Averaging window of the level: range [m], azimuth [rad]; 5 bins by 7 beams of the default sonar,
# and between the numbers of cells below for others.
SMOOTHING = (0.3, math.radians(1.6))
SMOOTHING_CELLS = ((3, 5), (3, 7))
# The part of a return whose middle is its place [dB below the strongest].
TOP_DB = 6.0
# Half sizes of the guard and of the ring of surroundings: range [m], azimuth [rad].
GUARD = (1.0, math.radians(6.0))
SURROUNDINGS = (3.0, math.radians(16.0))
FLOOR = 1e-7
# Below this nothing was received [dB re full scale]: the noise floor lies near -58 dB.
AUDIBLE_DB = -50.0
# The ground beside a shadow is at least this much louder than the shadow [dB].
SHADOW_DB = 5.0
# Shorter dark gaps behind a return are speckle [m].
SHORTEST_SHADOW_M = 0.5
# What reaches farther in range is the bottom or the surface, behind which it is dark anyway [m].
SHADOW_CASTER_M = 5.0
SECTOR_RAD = math.radians(20.0)
# What a return is called up to which extent [m].
SHAPES: tuple[tuple[str, float], ...] = (
    ('small', 1.0),
    ('compact', 4.0),
    ('large', 10.0),
    ('very large', math.inf),
)


@dataclass(frozen=True, kw_only=True)
class SonarReturn:
    """One return.

    Attributes:
        range: To its strongest part [m].
        azimuth: Of that part, in the sonar's own frame [rad, + to port].
        depth, width: Extent along and across the line of sight [m].
        level_db: Of the strongest part [dB re full scale].
        contrast_db: Over the mean of its surroundings [dB].
        shadow: Length of the dark gap behind it [m]; 0 without.
    """

    range: float
    azimuth: float
    depth: float
    width: float
    level_db: float
    contrast_db: float
    shadow: float


def find_returns(
    ping: SonarPing, spec: SonarSpec, *, contrast_db: float = CONTRAST_DB, limit: int = 8
) -> tuple[SonarReturn, ...]:
    """Return what stands out of its surroundings, most salient first.

    A cell-averaging detector: the level, averaged over a few cells against speckle, is compared
    with the mean over a ring of cells around it, a guard ring left out.

    Args:
        ping: The polar image.
        spec: Its geometry.
        contrast_db: Least level over the surroundings [dB].
        limit: Most returns.
    """
    power = np.asarray(ping.polar, dtype=np.float64)
    window = _window(spec)
    smooth = ndimage.uniform_filter(power, size=window, mode='nearest')
    level = _decibel(smooth)
    over = level - _decibel(_surroundings(power, spec))
    over[: _bin(BLIND_RANGE_M, spec)] = -np.inf
    over[level < AUDIBLE_DB] = -np.inf
    labels, _ = ndimage.label(over > contrast_db, structure=np.ones((3, 3)))
    azimuths = spec.azimuths
    found: list[SonarReturn] = []
    for index, region in enumerate(ndimage.find_objects(labels), start=1):
        inside = labels[region] == index
        if inside.sum() < window[0] * window[1]:
            continue
        rows, columns = region
        peak = np.unravel_index(np.argmax(np.where(inside, level[region], -np.inf)), inside.shape)
        # Not weighted by their levels: speckle would draw the middle away.
        top = np.argwhere(inside & (level[region] >= level[region][peak] - TOP_DB))
        row = float(top[:, 0].mean()) + rows.start
        column = float(top[:, 1].mean()) + columns.start
        reach = spec.range_min + (row + 0.5) * spec.range_resolution
        # The averaging window widens every return by its own size.
        deep = max(1, rows.stop - rows.start - window[0] + 1)
        wide = max(1, columns.stop - columns.start - window[1] + 1)
        found.append(
            SonarReturn(
                range=reach,
                azimuth=float(np.interp(column, np.arange(spec.beams), azimuths)),
                depth=deep * spec.range_resolution,
                width=wide * spec.azimuth_aperture / max(spec.beams - 1, 1) * reach,
                level_db=float(level[region][peak]),
                contrast_db=float(over[region][inside].max()),
                shadow=_shadow(smooth, spec, rows.stop, columns)
                if deep * spec.range_resolution < SHADOW_CASTER_M
                else 0.0,
            )
        )
    found.sort(key=lambda r: (-(r.contrast_db + r.level_db / 2), r.range, r.azimuth))
    return tuple(found[:limit])


def _decibel(power: NDArray[np.float64]) -> NDArray[np.float64]:
    decibel: NDArray[np.float64] = 10.0 * np.log10(np.maximum(power, FLOOR))
    return decibel


def _window(spec: SonarSpec) -> tuple[int, int]:
    """Return the averaging window in range bins and beams, both odd."""
    steps = (spec.range_resolution, spec.azimuth_aperture / max(spec.beams - 1, 1))
    rows, columns = (
        int(np.clip(2 * (int(size / step) // 2) + 1, *limits))
        for size, step, limits in zip(SMOOTHING, steps, SMOOTHING_CELLS, strict=True)
    )
    return rows, columns


def _bin(distance: float, spec: SonarSpec) -> int:
    return int(np.clip((distance - spec.range_min) / spec.range_resolution, 0, spec.range_bins))


def _surroundings(power: NDArray[np.float64], spec: SonarSpec) -> NDArray[np.float64]:
    """Return the mean over a ring of cells about every cell, those outside the image left out."""
    step = spec.azimuth_aperture / max(spec.beams - 1, 1)
    sizes = [
        (2 * round(depth / spec.range_resolution) + 1, 2 * round(width / step) + 1)
        for depth, width in (GUARD, SURROUNDINGS)
    ]
    inner, outer = (_window_sums(power, size) for size in sizes)
    ones = np.ones_like(power)
    inner_count, outer_count = (_window_sums(ones, size) for size in sizes)
    mean: NDArray[np.float64] = (outer - inner) / np.maximum(outer_count - inner_count, 1.0)
    return np.maximum(mean, 0.0)


def _window_sums(image: NDArray[np.float64], size: tuple[int, int]) -> NDArray[np.float64]:
    sums: NDArray[np.float64] = ndimage.uniform_filter(image, size=size, mode='constant')
    return sums * (size[0] * size[1])


def _shadow(smooth: NDArray[np.float64], spec: SonarSpec, behind: int, columns: slice) -> float:
    """Return the length [m] of the gap behind a return that is darker than the ground beside it."""
    width = columns.stop - columns.start
    middle = slice(columns.start + width // 4, max(columns.stop - width // 4, columns.start + 1))
    aside = [
        c
        for c in (
            *range(columns.start - width - 6, columns.start - 6),
            *range(columns.stop + 6, columns.stop + width + 6),
        )
        if 0 <= c < spec.beams
    ]
    if not aside or behind >= spec.range_bins:
        return 0.0
    ground = _decibel(smooth[behind:, aside].mean(axis=1))
    dark = _decibel(smooth[behind:, middle].mean(axis=1))
    gap = (ground > AUDIBLE_DB + SHADOW_DB) & (ground - dark > SHADOW_DB)
    # The first bins still hold the averaged edge of the return itself.
    start = next(
        (i for i, is_dark in enumerate(gap[: 2 * SMOOTHING_CELLS[0][1]]) if is_dark), None
    )
    if start is None:
        return 0.0
    rest = gap[start:]
    length = int(np.argmin(rest)) if not rest.all() else len(rest)
    metres = length * spec.range_resolution
    return metres if metres >= SHORTEST_SHADOW_M else 0.0


def bearing_text(direction: str, azimuth: float) -> str:
    """Return where a beam points: relative to the bow, or to straight up or down."""
    if direction in BORESIGHT:
        bearing = round(math.degrees(wrap_angle(BORESIGHT[direction] + azimuth)))
        return f'bearing {bearing:+d} deg' if bearing % 180 else f'bearing {abs(bearing)} deg'
    angle = round(math.degrees(azimuth))
    if angle == 0:
        return f'straight {direction}'
    return f'{abs(angle)} deg to {"port" if angle > 0 else "starboard"} of straight {direction}'


def return_text(direction: str, found: SonarReturn) -> str:
    """Return one return in words."""
    size = max(found.width, found.depth)
    shape = next(name for name, largest in SHAPES if size <= largest)
    shadow = f', shadow of {found.shadow:.1f} m behind it' if found.shadow > 0 else ''
    return (
        f'{shape} return, {bearing_text(direction, found.azimuth)}, range {found.range:.1f} m, '
        f'{found.width:.1f} m wide, {found.depth:.1f} m deep, '
        f'{found.contrast_db:.0f} dB over its surroundings{shadow}'
    )


def describe_sonars(
    pings: Mapping[str, SonarPing],
    geometry: Mapping[str, SonarSpec],
    *,
    per_direction: int = 4,
    max_characters: int = 3000,
) -> str:
    """Return a few lines on every sonar: the nearest solid return, then what stands out.

    Args:
        pings: Direction -> ping.
        geometry: Direction -> its geometry.
        per_direction: Most returns told of one sonar.
        max_characters: Of the whole text; the least salient returns are left out first.
    """
    heads: dict[str, str] = {}
    ranked: list[tuple[float, str, str]] = []
    for direction in (d for d in DIRECTIONS if d in pings):
        ping, spec = pings[direction], geometry[direction]
        heads[direction] = _head(direction, ping, spec)
        ranked += [
            (found.contrast_db + found.level_db / 2, direction, return_text(direction, found))
            for found in find_returns(ping, spec, limit=per_direction)
        ]
    ranked.sort(key=lambda item: -item[0])
    while True:
        text = _compose(heads, ranked)
        if len(text) <= max_characters or not ranked:
            return text[:max_characters]
        ranked.pop()


def _compose(heads: Mapping[str, str], ranked: list[tuple[float, str, str]]) -> str:
    lines: list[str] = []
    for direction, head in heads.items():
        own = [text for _, owner, text in ranked if owner == direction]
        lines.append(f'{head}{"" if own else " Nothing stands out."}')
        lines += [f'  - {text}' for text in own]
    return '\n'.join(lines)


def _head(direction: str, ping: SonarPing, spec: SonarSpec) -> str:
    nearest = nearest_return(ping, spec, sector=SECTOR_RAD)
    solid = (
        f'no solid return within {spec.range_max:g} m'
        if math.isinf(nearest)
        else f'nearest solid return at {nearest:.1f} m'
    )
    return (
        f'{direction.capitalize()} sonar ({math.degrees(spec.azimuth_aperture):.0f} x '
        f'{math.degrees(spec.elevation_aperture):.0f} deg, {spec.range_max:g} m): within '
        f'{math.degrees(SECTOR_RAD):.0f} deg of its axis {solid}.'
    )
