"""A stencil-like stroke font for markings, drawn without any font file."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

# Polylines on a grid 4 wide and 6 high, y upwards; strokes of a glyph are separated by spaces and
# each point is two digits.
_GLYPHS: dict[str, str] = {
    'A': '00143640 1232',
    'B': '000636453313 0333423000',
    'C': '4536160510203041',
    'D': '0006264541200000',
    'E': '46060040 0333',
    'F': '460600 0333',
    'G': '453616051001304043 4323',
    'H': '0006 4046 0343',
    'I': '2026 1030 1636',
    'J': '464130100102',
    'K': '0006 460240 1340',
    'L': '060040',
    'M': '0006234640',
    'N': '00064046',
    'O': '100105163645413010',
    'P': '0006364534230313 0313',
    'Q': '100105163645413010 2240',
    'R': '00063645443303 2340',
    'S': '453616050413334241301001',
    'T': '0646 2620',
    'U': '06011030414146',
    'V': '062046',
    'W': '0610233046',
    'X': '0046 0640',
    'Y': '062346 2320',
    'Z': '06460040',
    '0': '100105163645413010',
    '1': '1426 2620 1030',
    '2': '0516364544000040',
    '3': '0516364544334241301001 3313',
    '4': '3036024242 3036',
    '5': '4606034342413010000100',
    '6': '4536160501103041423302',
    '7': '06461000',
    '8': '13040516364544331302011030414233',
    '9': '1030414536160504133344',
    '-': '0343',
    '.': '2020',
    '/': '0046',
    ' ': '',
}
_ADVANCE = 5.6


def text_mask(text: str, height: int, weight: float = 0.16) -> NDArray[np.float32]:
    """Return the coverage 0..1 (`height`, W) of one line of text.

    Args:
        text: Capitals, digits, ``-./`` and spaces.
        height: Pixels from the bottom to the top edge of the strokes.
        weight: Stroke width over `height`.
    """
    unit = height * (1 - weight) / 6
    margin = height * weight / 2
    width = int(np.ceil(unit * (_ADVANCE * len(text) - (_ADVANCE - 4)) + 2 * margin))
    y, x = np.mgrid[0:height, 0:width].astype(np.float32) + 0.5
    y = height - y
    distance = np.full((height, width), 1e9, dtype=np.float32)
    for position, character in enumerate(text):
        for stroke in _GLYPHS[character].split():
            points = [
                (margin + (position * _ADVANCE + int(a)) * unit, margin + int(b) * unit)
                for a, b in zip(stroke[::2], stroke[1::2], strict=True)
            ]
            for start, end in itertools.pairwise(points):
                distance = np.minimum(distance, _segment_distance(x, y, start, end))
    coverage: NDArray[np.float32] = np.clip(margin - distance + 0.5, 0, 1)
    return coverage


def _segment_distance(
    x: NDArray[np.float32],
    y: NDArray[np.float32],
    start: tuple[float, float],
    end: tuple[float, float],
) -> NDArray[np.float32]:
    ax, ay = start
    dx, dy = end[0] - ax, end[1] - ay
    t = np.clip(((x - ax) * dx + (y - ay) * dy) / max(dx * dx + dy * dy, 1e-9), 0, 1)
    distance: NDArray[np.float32] = np.hypot(x - ax - t * dx, y - ay - t * dy).astype(np.float32)
    return distance
