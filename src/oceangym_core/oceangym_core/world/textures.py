"""Pictures of every depth and mode as 8-bit sRGB texels, and their curve (IEC 61966-2-1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

_SIXTEEN_BIT = ('I', 'I;16', 'I;16B', 'I;16L', 'I;16N')


def rgb_picture(picture: Image.Image) -> Image.Image:
    """Return a picture in mode RGB, without its alpha channel.

    Grey values of 16 bits are scaled; Pillow's own conversion cuts them off at 255. Floats count
    from 0 (black) to 1 (white).
    """
    if picture.mode in _SIXTEEN_BIT or picture.mode == 'F':
        full = 1.0 if picture.mode == 'F' else 65535.0
        grey = np.nan_to_num(np.asarray(picture, dtype=np.float64)) / full
        texels: NDArray[np.uint8] = np.round(255.0 * np.clip(grey, 0.0, 1.0)).astype(np.uint8)
        picture = Image.fromarray(texels)
    return picture.convert('RGB')


def srgb_to_linear(srgb: ArrayLike) -> NDArray[np.float64]:
    """Return linear light of sRGB values 0..1."""
    value = np.asarray(srgb, dtype=np.float64)
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def linear_to_srgb(linear: ArrayLike) -> NDArray[np.uint8]:
    """Return linear light, cut to 0..1, as sRGB bytes."""
    value = np.clip(np.asarray(linear, dtype=np.float64), 0.0, 1.0)
    coded = np.where(value <= 0.0031308, 12.92 * value, 1.055 * value ** (1 / 2.4) - 0.055)
    texels: NDArray[np.uint8] = np.round(255.0 * coded).astype(np.uint8)
    return texels
