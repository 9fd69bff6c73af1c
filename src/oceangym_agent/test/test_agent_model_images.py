from __future__ import annotations

import cv2
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from oceangym_agent.models.images import encode


def decode(data: bytes) -> np.ndarray:
    return cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED)[..., ::-1]


def gradient(height: int, width: int) -> np.ndarray:
    rows, columns = np.mgrid[0:height, 0:width]
    red, green = 255 * columns / width, 255 * rows / height
    return np.stack([red, green, np.full_like(red, 40.0)], axis=2).astype(np.uint8)


def test_a_png_holds_the_same_pixels() -> None:
    image = gradient(60, 80)
    part = encode(image, name='camera_front', size=512, format='png')
    assert (part.width, part.height, part.media_type) == (80, 60, 'image/png')
    assert np.array_equal(decode(part.data), image)


def test_red_stays_red_in_a_jpeg() -> None:
    image = np.zeros((64, 64, 3), np.uint8)
    image[..., 0] = 200
    part = encode(image, name='camera_front', size=64)
    assert part.data[:3] == b'\xff\xd8\xff'
    assert part.media_type == 'image/jpeg'
    red, green, blue = decode(part.data)[32, 32]
    assert red > 190
    assert max(green, blue) < 15


def test_a_large_image_is_scaled_to_the_longest_side() -> None:
    part = encode(gradient(480, 640), name='a', size=320)
    assert (part.width, part.height) == (320, 240)
    assert decode(part.data).shape == (240, 320, 3)
    # Area averaging keeps the mean brightness.
    assert abs(float(decode(part.data).mean()) - float(gradient(480, 640).mean())) < 1.0


def test_a_small_image_is_not_enlarged() -> None:
    assert encode(gradient(48, 64), name='a', size=512).width == 64


def test_a_grey_fan_is_taken_as_it_is() -> None:
    fan = np.tile(np.arange(100, dtype=np.uint8), (100, 1))
    part = encode(fan, name='sonar_front', size=100, format='png')
    assert np.array_equal(
        cv2.imdecode(np.frombuffer(part.data, np.uint8), cv2.IMREAD_UNCHANGED), fan
    )


@pytest.mark.parametrize('format', ['jpeg', 'png'])
def test_the_same_pixels_give_the_same_bytes(format: str) -> None:
    image = gradient(300, 200)
    strided = np.asfortranarray(image)
    parts = [encode(i, name='a', size=128, format=format) for i in (image, strided)]  # type: ignore[arg-type]
    assert parts[0].data == parts[1].data
    assert parts[0].sha256 == parts[1].sha256
    assert np.array_equal(image, gradient(300, 200))


@pytest.mark.parametrize(
    'array',
    [
        np.zeros((4, 4, 3), np.float32),
        np.zeros((4, 4, 4), np.uint8),
        np.zeros((4,), np.uint8),
        np.zeros((0, 4, 3), np.uint8),
    ],
)
def test_other_arrays_are_refused_by_name(array: np.ndarray) -> None:
    with pytest.raises(ValueError, match="'camera_up'"):
        encode(array, name='camera_up', size=64)


@settings(max_examples=60, deadline=None)
@given(
    height=st.integers(1, 400),
    width=st.integers(1, 400),
    size=st.integers(1, 300),
)
def test_the_longest_side_is_never_exceeded_and_the_aspect_is_kept(
    height: int, width: int, size: int
) -> None:
    part = encode(np.zeros((height, width), np.uint8), name='a', size=size)
    assert max(part.width, part.height) == min(size, max(height, width))
    scale = min(1.0, size / max(height, width))
    assert abs(part.width - max(1.0, width * scale)) <= 0.5
    assert abs(part.height - max(1.0, height * scale)) <= 0.5
