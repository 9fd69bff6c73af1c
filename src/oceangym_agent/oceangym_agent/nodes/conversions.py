"""Messages to values, as an agent needs them. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
import math
from pathlib import Path
from typing import Any

import numpy as np
from oceangym_msgs.msg import SonarInfo, TaskGoal
from sensor_msgs.msg import Image

from oceangym_agent.agent import GoalView
from oceangym_core.assets import assets_root
from oceangym_core.contract.actions import DIRECTIONS, sonar_orientation
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.geometry import Pose
from oceangym_core.nodes.conversions import goal_polygon

# Of the contract's images: channels, and type of a value.
ENCODINGS = {'rgb8': (3, 'u1'), 'mono8': (1, 'u1'), '32FC1': (1, 'f4')}
# More range bins than any sonar has would only exhaust the memory.
MAX_BINS = 100_000


def goal_view(message: TaskGoal, folders: Sequence[Path] = ()) -> GoalView:
    """Return the goal as an agent sees it.

    Args:
        message: The goal.
        folders: Where the goal's picture may lie beside share/oceangym.

    Raises:
        OceanGymError: The picture lies elsewhere: a message must not make an agent read any file.
    """
    return GoalView(
        task_id=message.task_id,
        instruction=message.instruction,
        target_label=message.target_label,
        target_description=message.target_description,
        reference_image=_reference_image(message.reference_image, folders),
        bounds=goal_polygon(message),
        z_min=message.z_min,
        z_max=message.z_max,
        t_max=message.t_max,
        t_interval=message.t_interval,
        target_count=message.target_count,
        mission_order=message.mission_order,
        search_area=tuple((float(p.x), float(p.y)) for p in message.search_area),
        sight_m=message.sight,
    )


def _reference_image(name: str, folders: Sequence[Path]) -> Path | None:
    if not name:
        return None
    roots = [folder.resolve() for folder in (assets_root(), *folders)]
    path = (roots[0] / name).resolve()
    if not any(path.is_relative_to(root) for root in roots):
        raise OceanGymError(
            f'reference_image {name!r} of the goal is outside {", ".join(map(str, roots))}; for a '
            'task of your own, give config:= to the agent too'
        )
    return path


def sonar_spec(message: SonarInfo) -> SonarSpec:
    """Return the geometry of a sonar; its direction is in the name of its frame.

    Raises:
        OceanGymError: The frame is none of the contract's, or the geometry none of a sonar.
    """
    direction = message.header.frame_id.removeprefix('sonar_').removesuffix('_frame')
    if direction not in DIRECTIONS:
        raise unknown_name('sonar frame', message.header.frame_id, DIRECTIONS)
    azimuths = np.asarray(message.azimuth, dtype=np.float64)
    span, resolution = message.range_max - message.range_min, message.range_resolution
    bins = span / resolution if resolution > 0.0 else math.nan
    if not (len(azimuths) >= 2 and azimuths[0] > azimuths[-1] and 1.0 <= bins <= MAX_BINS):
        raise OceanGymError(
            f'sonar {direction}: {len(azimuths)} beams and ranges {message.range_min} .. '
            f'{message.range_max} m in steps of {resolution} m are no geometry of a sonar; wanted: '
            f'two beams or more, port-most first, and 1 .. {MAX_BINS} range bins'
        )
    return SonarSpec(
        direction=direction,
        mount=Pose.of((0.0, 0.0, 0.0), sonar_orientation(direction)),
        range_min=message.range_min,
        range_max=message.range_max,
        range_bins=round(bins),
        beams=len(azimuths),
        azimuth_aperture=float(azimuths[0] - azimuths[-1]),
        elevation_aperture=message.elevation_aperture,
        frequency=message.frequency,
        sound_speed=message.sound_speed,
    )


def image_array(message: Image) -> np.ndarray[Any, Any]:
    """Return the pixels of an image: (H, W, 3) uint8, (H, W) uint8 or (H, W) float32.

    Raises:
        OceanGymError: The encoding is none that the contract has, or the data are too few.
    """
    if message.encoding not in ENCODINGS:
        raise OceanGymError(
            f'image encoding {message.encoding!r} is not of the contract; '
            f'allowed: {", ".join(ENCODINGS)}'
        )
    channels, kind = ENCODINGS[message.encoding]
    dtype = np.dtype(('>' if message.is_bigendian else '<') + kind)
    row, wanted = message.width * channels * dtype.itemsize, message.height * message.step
    if not wanted or not row or message.step < row or len(message.data) < wanted:
        raise OceanGymError(
            f'an image of {message.width} x {message.height} {message.encoding} pixels in rows of '
            f'{message.step} bytes does not fit its {len(message.data)} bytes of data'
        )
    # Drivers may pad their rows.
    table = np.frombuffer(message.data, np.uint8, count=wanted).reshape(-1, message.step)
    pixels = np.ascontiguousarray(table[:, :row]).view(dtype)
    shape = (message.height, message.width, channels)
    return pixels.reshape(shape if channels > 1 else shape[:2]).astype(kind, copy=False)
