"""Thumbnails of what the vehicle saw, each picture embedded once."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
import hashlib
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from oceangym_core.bag import read_messages
from oceangym_core.contract import DIRECTIONS
from oceangym_core.errors import OceanGymError

# Widths of thumbnails [px], widest first, and how much all of them together may take [bytes].
WIDTHS = (256, 192, 160, 128, 96, 64)
BUDGET = 5_000_000
_QUALITY = 72
# Stamps of one observation agree to the nanosecond; this only absorbs their conversion [ns].
_SAME_INSTANT_NS = 1_000_000

Image = NDArray[Any]


def decode(data: bytes) -> Image | None:
    """Return an encoded picture as an array, None if it is none."""
    if not data:
        return None
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error:
        return None
    return None if image is None else np.asarray(image)


def thumbnail(image: Image, width: int) -> bytes:
    """Return a picture (H, W) or (H, W, 3) BGR as a JPEG of at most this width."""
    height, own = image.shape[:2]
    scale = min(1.0, width / own)
    size = (max(1, round(own * scale)), max(1, round(height * scale)))
    small = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    _, data = cv2.imencode('.jpg', small, [cv2.IMWRITE_JPEG_QUALITY, _QUALITY])
    return bytes(data)


def data_url(data: bytes, media_type: str = 'image/jpeg') -> str:
    """Return a file as a URL that needs no file."""
    return f'data:{media_type};base64,{base64.b64encode(data).decode()}'


class Album:
    """The pictures of a page: each content once, small enough together."""

    def __init__(self) -> None:
        self._kept: dict[str, bytes] = {}
        self._key_of: dict[str, str] = {}

    def add(self, image: Image) -> str:
        """Keep a picture and return its key."""
        digest = hashlib.sha256(f'{image.shape}'.encode() + image.tobytes()).hexdigest()
        if digest not in self._key_of:
            key = f'p{len(self._kept)}'
            self._key_of[digest] = key
            # Kept at the largest size that is ever shown; a whole episode at 512 px is 600 MB.
            self._kept[key] = thumbnail(image, WIDTHS[0])
        return self._key_of[digest]

    def urls(self, budget: int = BUDGET) -> dict[str, str]:
        """Return every picture's data URL by its key, as large as the budget allows [bytes]."""
        chosen = self._kept
        for width in WIDTHS[1:]:
            if sum(len(data) for data in chosen.values()) <= budget:
                break
            images = {key: decode(data) for key, data in self._kept.items()}
            chosen = {k: thumbnail(i, width) for k, i in images.items() if i is not None}
        return {key: data_url(data) for key, data in chosen.items()}


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
    if not (directory / 'metadata.yaml').is_file():
        return BagViews(
            pictures={},
            problem='the bag was not closed (the recorder was killed or is still at work)',
        )
    root = f'/{namespace.strip("/")}'
    views = {f'{root}/camera/{d}/image_raw/compressed': f'camera_{d}' for d in DIRECTIONS}
    views |= {f'{root}/sonar/{d}/fan': f'sonar_{d}' for d in DIRECTIONS}
    camera_info, sonar_info = f'{root}/camera/front/camera_info', f'{root}/sonar/front/info'
    at = {round(t * 1e9): index for index, t in stamps.items()}
    found: dict[int, dict[str, str]] = {}
    geometry: dict[str, float] = {}
    try:
        for topic, _, message in read_messages(directory, (*views, camera_info, sonar_info)):
            if topic == camera_info:
                geometry.setdefault('camera_fov', _camera_fov(message))
            elif topic == sonar_info:
                geometry |= _sonar_geometry(message)
            else:
                index = _nearest(at, _stamp_ns(message))
                if index is None or views[topic] in known.get(index, ()):
                    continue
                image = _image_of(message)
                if image is not None:
                    found.setdefault(index, {})[views[topic]] = album.add(image)
    except OceanGymError as error:
        return BagViews(pictures=found, problem=str(error))
    problem = '' if found else 'the bag holds no images'
    return BagViews(pictures=found, problem=problem, **geometry)


def _nearest(at: Mapping[int, int], stamp: int) -> int | None:
    if stamp in at:
        return at[stamp]
    return next((i for ns, i in at.items() if abs(ns - stamp) <= _SAME_INSTANT_NS), None)


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


def _image_of(message: Any) -> Image | None:
    """Return a CompressedImage or a mono8 Image as an array."""
    if hasattr(message, 'format'):
        return decode(bytes(message.data))
    if message.encoding != 'mono8':
        return None
    rows = np.asarray(message.data, np.uint8).reshape(message.height, message.step)
    return rows[:, : message.width]


def read_picture_files(paths: Iterable[tuple[str, Path]], album: Album) -> dict[str, str]:
    """Return the keys of picture files that are there and readable, by their given names."""
    keys = {}
    for name, path in paths:
        try:
            image = decode(path.read_bytes())
        except OSError:
            continue
        if image is not None:
            keys[name] = album.add(image)
    return keys
