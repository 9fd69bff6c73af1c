"""Thumbnails of what the vehicle saw, each picture embedded once."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping
import contextlib
from dataclasses import dataclass
import hashlib
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.errors import OceanGymError
from oceangym_core.record.bag import read_messages, read_unclosed

# Widths of thumbnails [px], widest first, and how much all of them together may take [bytes].
WIDTHS = (256, 192, 160, 128, 96, 64)
BUDGET = 4_500_000
_QUALITY = 72
# Stamps of one observation agree to the nanosecond; this only absorbs their conversion [ns].
_SAME_INSTANT_NS = 1_000_000


def thumbnail(picture: Image.Image, width: int) -> bytes:
    """Return a picture as a JPEG of at most this width."""
    small = picture if picture.mode in ('L', 'RGB') else picture.convert('RGB')
    if small.width > width:
        height = max(1, round(small.height * width / small.width))
        small = small.resize((width, height), Image.Resampling.LANCZOS, reducing_gap=2.0)
    stream = io.BytesIO()
    small.save(stream, 'JPEG', quality=_QUALITY)
    return stream.getvalue()


def data_url(data: bytes, media_type: str = 'image/jpeg') -> str:
    """Return a file as a URL that needs no file."""
    return f'data:{media_type};base64,{base64.b64encode(data).decode()}'


class Album:
    """The pictures of a page: each content once, small enough together."""

    def __init__(self) -> None:
        self._kept: list[bytes] = []
        self._key_of: dict[bytes, str] = {}

    def add_file(self, data: bytes) -> str | None:
        """Keep an encoded picture and return its key; None if it is no picture."""
        digest = hashlib.sha256(data).digest()
        if digest in self._key_of:
            return self._key_of[digest]
        try:
            with Image.open(io.BytesIO(data)) as picture:
                # A JPEG is decoded no larger than is needed.
                picture.draft(picture.mode, (WIDTHS[0], WIDTHS[0]))
                return self._keep(digest, picture)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return None

    def add_grey(self, rows: NDArray[np.uint8]) -> str:
        """Keep a grey picture (H, W) and return its key."""
        digest = hashlib.sha256(f'{rows.shape}'.encode() + rows.tobytes()).digest()
        if digest in self._key_of:
            return self._key_of[digest]
        return self._keep(digest, Image.fromarray(rows))

    def _keep(self, digest: bytes, picture: Image.Image) -> str:
        # Kept at the largest size that is ever shown; a whole episode at 512 px is 600 MB.
        data = thumbnail(picture, WIDTHS[0])
        key = f'p{len(self._kept)}'
        self._kept.append(data)
        self._key_of[digest] = key
        return key

    def urls(self, budget: int = BUDGET) -> dict[str, str]:
        """Return every picture's data URL by its key, as large as the budget allows [bytes]."""
        chosen = self._kept
        for width in WIDTHS[1:]:
            if sum(len(data) for data in chosen) <= budget:
                break
            chosen = [_smaller(data, width) for data in self._kept]
        return {f'p{number}': data_url(data) for number, data in enumerate(chosen)}


def _smaller(data: bytes, width: int) -> bytes:
    with Image.open(io.BytesIO(data)) as picture:
        return thumbnail(picture, width)


@dataclass(frozen=True, kw_only=True)
class BagViews:
    """What a bag shows of the observations.

    Attributes:
        pictures: Observation index -> view (``camera_front``, ``sonar_down``) -> key in the album.
        camera_fov, sonar_aperture: Horizontal angles of the front sensors [rad]; None if unknown.
        sonar_range: Of the front sonar [m]; None if unknown.
        problem: Why there are no pictures, if so.
    """

    pictures: Mapping[int, Mapping[str, str]]
    camera_fov: float | None = None
    sonar_aperture: float | None = None
    sonar_range: float | None = None
    problem: str = ''


def read_bag_views(
    directory: Path,
    *,
    namespace: str,
    stamps: Mapping[int, float],
    album: Album,
    known: Mapping[int, Iterable[str]],
) -> BagViews:
    """Take the cameras' and fans' pictures of each observation from a run's bag.

    Args:
        directory: Of the bag.
        namespace: Of the vehicle's topics.
        stamps: Observation index -> simulation time [s].
        album: Takes the pictures.
        known: Observation index -> views that are not wanted, because the trace has them.
    """
    if not directory.is_dir():
        return BagViews(pictures={}, problem='this run has no bag')
    closed = (directory / 'metadata.yaml').is_file()
    read = read_messages if closed else read_unclosed
    root = f'/{namespace.strip("/")}'
    views = {f'{root}/camera/{d}/image_raw/compressed': f'camera_{d}' for d in DIRECTIONS}
    views |= {f'{root}/sonar/{d}/fan': f'sonar_{d}' for d in DIRECTIONS}
    camera_info, sonar_info = f'{root}/camera/front/camera_info', f'{root}/sonar/front/info'
    at = {round(t * 1e9): index for index, t in stamps.items()}
    found: dict[int, dict[str, str]] = {}
    geometry: dict[str, float] = {}
    try:
        epoch = _epoch_ns(read(directory, (f'{root}/truth/step',)))
        for topic, _, message in read(directory, (*views, camera_info, sonar_info)):
            if topic == camera_info:
                geometry.setdefault('camera_fov', _camera_fov(message))
            elif topic == sonar_info:
                geometry |= _sonar_geometry(message)
            else:
                index = _nearest(at, _stamp_ns(message) - epoch)
                if index is None or views[topic] in known.get(index, ()):
                    continue
                key = _keep_image(message, album)
                if key is not None:
                    found.setdefault(index, {})[views[topic]] = key
    except OceanGymError as error:
        return BagViews(pictures=found, problem=str(error))
    if not closed:
        problem = 'the bag was not closed: its recorder was killed or is still at work'
    else:
        problem = '' if found else 'the bag holds no images'
    return BagViews(pictures=found, problem=problem, **geometry)


def _nearest(at: Mapping[int, int], stamp: int) -> int | None:
    if stamp in at:
        return at[stamp]
    return next((i for ns, i in at.items() if abs(ns - stamp) <= _SAME_INSTANT_NS), None)


def _epoch_ns(steps: Iterator[tuple[str, int, Any]]) -> int:
    """Return the stamp at which a recorded episode's time is 0 [ns]; 0 where no step tells it."""
    return next((_stamp_ns(m) - round(m.t_end * 1e9) for _, _, m in steps), 0)


def _stamp_ns(message: Any) -> int:
    stamp = message.header.stamp
    return int(stamp.sec) * 1_000_000_000 + int(stamp.nanosec)


def _camera_fov(message: Any) -> float:
    return float(2 * np.arctan2(message.width / 2, float(message.k[0])))


def _sonar_geometry(message: Any) -> dict[str, float]:
    azimuth = np.asarray(message.azimuth, dtype=float)
    if not len(azimuth):
        return {}
    return {
        'sonar_aperture': float(azimuth.max() - azimuth.min()),
        'sonar_range': float(message.range_max),
    }


def _keep_image(message: Any, album: Album) -> str | None:
    """Put a CompressedImage or a mono8 Image into the album and return its key."""
    data = np.asarray(message.data, np.uint8)
    if hasattr(message, 'format'):
        return album.add_file(data.tobytes())
    if message.encoding != 'mono8' or data.size != message.height * message.step:
        return None
    rows = data.reshape(message.height, message.step)[:, : message.width]
    return album.add_grey(np.ascontiguousarray(rows))


def read_picture_files(paths: Iterable[tuple[str, Path]], album: Album) -> dict[str, str]:
    """Return the keys of picture files that are there and readable, by their given names."""
    keys = {}
    for name, path in paths:
        with contextlib.suppress(OSError):
            key = album.add_file(path.read_bytes())
            if key is not None:
                keys[name] = key
    return keys
