"""Pictures of every depth and mode as 8-bit sRGB texels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
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
