"""What a gpu_lidar of gz-rendering 8 really measures, and the ranges that its rays should have had.

It renders the faces of a cube and gives each ray the range of the texel that the ray falls into. The
range is exact, but along the texel's centre: up to half a texel aside, which on a glancing seabed is
as far as from one row to the next.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from oceangym_gazebo.rays.slopes import surface_normals

Grid = NDArray[np.float64]

_FEWEST, _MOST = 128, 1024
# A plane met at less than this cosine says nothing of where the ray beside met it.
_LEAST_COSINE = 0.02
# A range is moved by no more than this share.
_MOST_CHANGE = 0.2


def texels(*, rows: int, columns: int, up: float, across: float) -> int:
    """Return the texels along a face of the cube that the renderer draws for a lidar.

    Args:
        rows: Vertical samples.
        columns: Horizontal samples.
        up: Vertical field of view [rad].
        across: Horizontal field of view [rad].
    """
    quarter = math.pi / 2
    wanted = max(
        count if angle < quarter else int(quarter / angle * count)
        for count, angle in ((columns, across), (rows, up))
    )
    return min(max(1 << (max(wanted, 1) - 1).bit_length(), _FEWEST), _MOST)


def texel_centres(directions: Grid, count: int) -> Grid:
    """Return the unit vectors (..., 3) through the centres of the texels that directions fall into.

    Args:
        directions: (..., 3), not zero, in the lidar's frame.
        count: Texels along a face.
    """
    size = np.abs(directions)
    face = size.argmax(axis=-1)[..., None]
    major = np.take_along_axis(size, face, axis=-1)
    plane = directions / major
    centred = (np.floor((plane * 0.5 + 0.5) * count) + 0.5) / count * 2.0 - 1.0
    centred = np.where(np.arange(3) == face, np.sign(plane), centred)
    unit: Grid = centred / np.linalg.norm(centred, axis=-1, keepdims=True)
    return unit


def onto_rays(
    points: Grid, distance: Grid, found: NDArray[np.bool_], count: int
) -> tuple[Grid, Grid]:
    """Return points (rows, columns, 3) and ranges (rows, columns) where the rays meet the surfaces.

    Each surface goes on as the plane that it shows about the point that was measured.

    Args:
        points: As the lidar gives them: along its rays, with the ranges of the texels [m].
        distance: Their range [m].
        found: Where there is a hit.
        count: Texels along a face.
    """
    rays = np.where(
        found[..., None], points / np.maximum(distance, 1e-9)[..., None], [1.0, 0.0, 0.0]
    )
    measured = texel_centres(rays, count) * distance[..., None]
    normal = surface_normals(measured, distance, found)
    ahead = (normal * rays).sum(axis=-1)
    usable = found & (np.abs(ahead) > _LEAST_COSINE)
    moved = (normal * measured).sum(axis=-1) / np.where(usable, ahead, 1.0)
    usable &= np.abs(moved - distance) < _MOST_CHANGE * distance
    placed = np.where(usable, moved, distance)
    return rays * placed[..., None], placed
