"""Images as they are sent to a model."""

from __future__ import annotations

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from oceangym_agent.chat import ImagePart
from oceangym_agent.models.presets import ImageFormat, ModelPreset

# Keeps the range rings of a fan image sharp; a 512 px camera image takes about 40 kB.
JPEG_QUALITY = 90
# zlib's default: level 9 takes several times as long for a few per cent.
PNG_COMPRESSION = 6


def sent_size(array: NDArray[np.uint8], size: int) -> tuple[int, int]:
    """Return width and height [px] that an image (H, W, ...) is sent with, at most `size` a side."""
    height, width = array.shape[:2]
    scale = min(1.0, size / max(height, width))
    return max(1, round(width * scale)), max(1, round(height * scale))


def encode(
    array: NDArray[np.uint8], *, name: str, size: int, format: ImageFormat = 'jpeg'
) -> ImagePart:
    """Return an image as the file that is sent; the same pixels always give the same bytes.

    Args:
        array: (H, W, 3) RGB or (H, W) grey, uint8.
        name: What it shows, e.g. ``camera_front``.
        size: Longest side [px]; a smaller image is not enlarged, it would only cost tokens.
        format: ``jpeg`` or ``png``.

    Raises:
        ValueError: The array is not such an image.
    """
    if array.dtype != np.uint8 or not (
        array.ndim == 2 or (array.ndim == 3 and array.shape[2] == 3)
    ):
        raise ValueError(
            f'image {name!r} is {array.dtype} {array.shape}; expected uint8 (H, W, 3) or (H, W)'
        )
    if 0 in array.shape or size < 1:
        raise ValueError(f'image {name!r} is empty: {array.shape}, size {size}')
    width, height = sent_size(array, size)
    if (height, width) != array.shape[:2]:
        array = cv2.resize(array, (width, height), interpolation=cv2.INTER_AREA)  # type: ignore[assignment]
    pixels = array[..., ::-1] if array.ndim == 3 else array
    ending, settings = (
        ('.jpg', [cv2.IMWRITE_JPEG_QUALITY, JPEG_QUALITY])
        if format == 'jpeg'
        else ('.png', [cv2.IMWRITE_PNG_COMPRESSION, PNG_COMPRESSION])
    )
    done, encoded = cv2.imencode(ending, np.ascontiguousarray(pixels), settings)
    if not done:
        raise ValueError(f'image {name!r} of {width} x {height} px cannot be encoded as {format}')
    return ImagePart(
        name=name,
        data=encoded.tobytes(),
        media_type=f'image/{format}',
        width=width,
        height=height,
    )


def image_tokens(preset: ModelPreset, width: int, height: int) -> int:
    """Return an estimate of the tokens of one image.

    Args:
        preset: Whose rule counts.
        width: As sent [px].
        height: As sent [px].
    """
    rule = preset.image_tokens
    w, h = float(width), float(height)
    # Endpoints scale down the long side first, then the short one; they never scale up.
    for limit, side in ((rule.fit_long_px, max), (rule.fit_short_px, min)):
        if limit is not None and side(w, h) > limit:
            factor = limit / side(w, h)
            w, h = w * factor, h * factor
    cells = 1
    if rule.cell_px is not None and rule.rule in ('tiles', 'patches'):
        cells = math.ceil(w / rule.cell_px) * math.ceil(h / rule.cell_px)
    elif rule.cell_px is not None and rule.rule == 'slices':
        cells = math.ceil(w * h / rule.cell_px**2)
    if rule.max_cells is not None:
        cells = min(cells, rule.max_cells)
    if rule.rule == 'slices' and cells > 1:
        cells += 1
    return math.ceil(rule.multiplier * (rule.base + rule.tokens * cells))
