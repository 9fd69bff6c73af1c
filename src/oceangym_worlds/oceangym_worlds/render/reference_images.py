"""The reference picture of each task's target: the prop in clear air, as an agent is shown it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
import sys

import numpy as np
from PIL import Image

from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_worlds.catalogue import build_model, PROP_SEED
from oceangym_worlds.modelling.model import Part
from oceangym_worlds.props import pipeline
from oceangym_worlds.render.studio import render_parts

SIZE_PX = 512
JPEG_QUALITY = 92


@dataclass(frozen=True, kw_only=True)
class Shot:
    """One picture: which model, and from where the camera looks [deg]."""

    model: str
    azimuth_deg: float = -50.0
    elevation_deg: float = 24.0
    zoom: float = 1.0
    centre: tuple[float, float, float] | None = None


SHOTS: dict[str, Shot] = {
    'locate_robot': Shot(model='mining_robot', azimuth_deg=40.0),
    'inspect_pipe': Shot(model='pipeline', azimuth_deg=-28.0, elevation_deg=16.0, zoom=1.5),
    'locate_drums': Shot(model='oil_drums'),
    'search_ship': Shot(model='sunken_ship'),
    'locate_electrical_box': Shot(model='electrical_box', zoom=2.2, centre=(0.0, 0.0, 0.9)),
    'inspect_turbine': Shot(
        model='wind_turbine', elevation_deg=10.0, zoom=3.0, centre=(0.0, 0.0, 8.0)
    ),
    'search_aircraft': Shot(model='aircraft', azimuth_deg=-60.0, elevation_deg=30.0),
    'dock': Shot(model='landing_platform', elevation_deg=40.0),
}


def _parts(model: str) -> Sequence[Part]:
    if model != 'pipeline':
        return build_model(model).parts
    # A straight stretch with a valve stands for the network.
    chunks = pipeline.build(path=[(0, 0, 0), (20, 0, 0), (40, 0, 0)], seed=PROP_SEED)
    return chunks[0].prop.parts


def render_reference(task: str) -> Image.Image:
    """Return a task's reference picture.

    Raises:
        OceanGymError: There is none for this task.
    """
    if task not in SHOTS:
        raise unknown_name('task with a reference picture', task, SHOTS)
    shot = SHOTS[task]
    pixels = render_parts(
        _parts(shot.model),
        azimuth_deg=shot.azimuth_deg,
        elevation_deg=shot.elevation_deg,
        size=SIZE_PX,
        zoom=shot.zoom,
        centre=shot.centre,
    )
    return Image.fromarray(np.ascontiguousarray(pixels))


def main(arguments: Sequence[str] | None = None) -> int:
    """Render the pictures of all or some tasks; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('tasks', nargs='*', help='task ids; all if none are given')
    parser.add_argument('--out', type=Path, help='directory; default config/tasks/images')
    options = parser.parse_args(arguments)
    try:
        directory: Path = options.out or config_path('tasks', 'images')
        directory.mkdir(parents=True, exist_ok=True)
        for task in options.tasks or SHOTS:
            path = directory / f'{task}.jpg'
            render_reference(task).save(path, quality=JPEG_QUALITY)
            sys.stdout.write(f'{path}\n')
    except OceanGymError as error:
        sys.stderr.write(f'error: {error}\n')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
