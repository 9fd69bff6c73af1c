"""Textures and vehicles' pictures of any bytes are read or refused, never a traceback."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
import zlib

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
from PIL import Image
import pytest

from oceangym_core.errors import OceanGymError
from oceangym_sim.rays.atlas import TextureAtlas


def picture(kind: str, mode: str) -> bytes:
    pixels = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
    stream = io.BytesIO()
    Image.fromarray(pixels).convert(mode).save(stream, kind)
    return stream.getvalue()


@pytest.mark.parametrize(
    ('kind', 'mode'), [('PNG', 'RGB'), ('PNG', 'P'), ('JPEG', 'RGB'), ('TIFF', 'L'), ('GIF', 'P')]
)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    edits=st.lists(
        st.tuples(st.floats(0, 1), st.integers(0, 30), st.binary(max_size=12)),
        min_size=1,
        max_size=5,
    )
)
def test_any_bytes_in_a_texture(
    tmp_path: Path, kind: str, mode: str, edits: list[tuple[float, int, bytes]]
) -> None:
    data = bytearray(picture(kind, mode))
    for place, removed, inserted in edits:
        at = int(place * len(data))
        data[at : at + removed] = inserted
    path = tmp_path / 'texture'
    path.write_bytes(bytes(data))
    with contextlib.suppress(OceanGymError):
        TextureAtlas().add(path)


@pytest.mark.parametrize('size', [(60000, 60000), (2**31 - 1, 1)])
def test_pictures_that_claim_to_be_huge_are_refused(tmp_path: Path, size: tuple[int, int]) -> None:
    """The header of a small file may ask for more memory than there is."""
    data = bytearray(picture('PNG', 'RGB'))
    data[16:24] = size[0].to_bytes(4, 'big') + size[1].to_bytes(4, 'big')
    data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, 'big')
    path = tmp_path / 'huge.png'
    path.write_bytes(bytes(data))
    with pytest.raises(OceanGymError, match='texture'):
        TextureAtlas().add(path)
