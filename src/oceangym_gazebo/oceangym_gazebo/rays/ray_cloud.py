"""Reads the point cloud of a gpu_lidar as the ray grid of an imaging sonar.

Gazebo's lidar has x ahead, y to port, z up. A cloud is organised: rows are elevations, columns are
azimuths, misses are infinite. Which way rows and columns run is read from the points themselves,
because drivers and bridges number their rings differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.world.sdf import RETRO_SCALE
from oceangym_gazebo.rays.cube_map import onto_rays, texels
from oceangym_gazebo.rays.slopes import surface_normals
from oceangym_sim.sonar.beam import elevation_cells
from oceangym_sim.sonar.sound import Grid

_FLOAT32 = 7  # sensor_msgs/PointField
_COORDINATES = ('x', 'y', 'z')
# A column or row may lie this share of its spacing off.
_TOLERANCE = 0.5
# A surface whose slope cannot be seen is met at the mean of all angles.
_UNKNOWN_COSINE = 0.5
# 40 dB: more than anything scatters back; another driver's intensity must not overflow a ping.
_LARGEST_RETRO = 1e4 * RETRO_SCALE


class PointField(Protocol):
    """As in sensor_msgs/PointField."""

    name: str
    offset: int
    datatype: int


class PointCloud(Protocol):
    """As in sensor_msgs/PointCloud2."""

    height: int
    width: int
    fields: Sequence[Any]
    is_bigendian: bool
    point_step: int
    row_step: int
    data: Any


@dataclass(frozen=True, kw_only=True)
class RayGrid:
    """What the rays of one sonar met, (elevation_rays, beams) each: lowest row, port column first.

    Attributes:
        distance: [m], inf without a hit.
        cosine: Of the angle between ray and surface normal.
        normal: Of the surface, in the sonar's frame (z forward, x up, y starboard),
            (elevation_rays, beams, 3); zero where its slope cannot be seen.
        strength: Backscatter as linear power.
    """

    distance: Grid
    cosine: Grid
    normal: NDArray[np.float64]
    strength: Grid


def lidar_rows(spec: SonarSpec, *, skirts: bool) -> NDArray[np.float64]:
    """Return the elevations [rad], lowest first, of the rows of a lidar that stands for a sonar.

    They are those of the sonar's own rays within the nominal aperture, and go on in equal steps
    through its skirts, which a lidar cannot take in coarser ones.

    Args:
        spec: The sonar.
        skirts: Whether the lidar sees what the sonar hears outside its nominal aperture.
    """
    cells = elevation_cells(spec, skirts=skirts)
    cell = spec.elevation_aperture / spec.elevation_rays
    beyond = cells.angle[-1] + cells.height[-1] / 2 - spec.elevation_aperture / 2
    count = spec.elevation_rays + 2 * math.ceil(beyond / cell - 1e-6)
    rows: NDArray[np.float64] = (np.arange(count) - (count - 1) / 2) * cell
    return rows


def lidar_texels(spec: SonarSpec, *, skirts: bool) -> int:
    """Return the texels along a face of the cube map behind a lidar that stands for a sonar."""
    rows = lidar_rows(spec, skirts=skirts)
    return texels(
        rows=len(rows),
        columns=spec.beams,
        up=float(rows[-1] - rows[0]),
        across=spec.azimuth_aperture,
    )


def ray_grid(
    cloud: PointCloud, spec: SonarSpec, *, skirts: bool = False, cube: int | None = None
) -> RayGrid:
    """Return the ray grid that a lidar's cloud holds.

    Args:
        cloud: Organised cloud with x, y, z and intensity (laser_retro).
        spec: The sonar that the lidar stands for.
        skirts: Whether it sees what the sonar hears outside its nominal aperture.
        cube: Texels along a face of the cube map that the ranges were read from; None for ranges
            that are exact along their rays.

    Raises:
        OceanGymError: Fields, sizes or angles are not those of the sonar.
    """
    values = _values(cloud)
    rows = lidar_rows(spec, skirts=skirts)
    shape = (len(rows), spec.beams)
    if (cloud.height, cloud.width) != shape:
        raise OceanGymError(
            f'sonar {spec.direction}: the cloud has {cloud.height} x {cloud.width} points; '
            f'the sonar has {shape[0]} rays x {shape[1]} beams'
        )
    places = [values[name].reshape(shape) for name in _COORDINATES]
    points: NDArray[np.float64] = np.stack(places, axis=-1).astype(np.float64)
    retro = values['intensity'].reshape(shape)
    found = np.asarray(np.isfinite(points).all(axis=2))
    points = np.where(found[..., None], points, 0.0)
    distance = np.sqrt((points * points).sum(axis=-1))
    found &= distance > 0.0
    turned = _order(points, found, spec, rows)
    points, distance = points[turned], distance[turned]
    found, retro = found[turned], retro[turned]
    if cube is not None:
        points, distance = onto_rays(points, distance, found, cube)
    normal = surface_normals(points, distance, found)
    heard = np.clip(retro, 0.0, _LARGEST_RETRO)
    strength = np.where(found & np.isfinite(retro), heard, 0.0) / RETRO_SCALE
    whole = RayGrid(
        distance=np.where(found, distance, np.inf).astype(np.float32),
        cosine=_cosine(points, distance, normal),
        normal=np.stack([normal[..., 2], -normal[..., 1], normal[..., 0]], axis=-1),
        strength=strength.astype(np.float32),
    )
    if not skirts:
        return whole
    wanted = elevation_cells(spec).angle
    rays = np.abs(rows[None, :] - wanted[:, None]).argmin(axis=1)
    return RayGrid(
        distance=whole.distance[rays],
        cosine=whole.cosine[rays],
        normal=whole.normal[rays],
        strength=whole.strength[rays],
    )


def range_ahead(cloud: PointCloud) -> float:
    """Return the shortest range of the rays about the boresight [m]; inf without a hit.

    Raises:
        OceanGymError: The cloud is not one of a lidar.
    """
    values = _values(cloud)
    if cloud.height < 2 or cloud.width < 2:
        raise OceanGymError(f'a cloud of {cloud.height} x {cloud.width} points has no middle')
    middle = tuple(slice(n // 2 - 1, n // 2 + 1) for n in (cloud.height, cloud.width))
    places = [values[name].reshape(cloud.height, cloud.width)[middle] for name in _COORDINATES]
    distance = np.sqrt(np.square(np.stack(places).astype(np.float64)).sum(axis=0))
    hits = distance[np.isfinite(distance) & (distance > 0.0)]
    return float(hits.min()) if hits.size else math.inf


def _values(cloud: PointCloud) -> dict[str, NDArray[np.float32]]:
    fields = {field.name: field for field in cloud.fields}
    missing = [name for name in (*_COORDINATES, 'intensity') if name not in fields]
    if missing:
        raise OceanGymError(
            f'the point cloud lacks {", ".join(missing)}; it has {", ".join(fields) or "no field"}'
        )
    step, row_step = cloud.point_step, cloud.row_step
    wanted = cloud.height * row_step
    if not step or row_step < cloud.width * step or len(cloud.data) < wanted or not wanted:
        raise OceanGymError(
            f'the point cloud holds {len(cloud.data)} bytes; {cloud.height} rows of {cloud.width} '
            f'points of {step} bytes are more'
        )
    table = np.frombuffer(cloud.data, np.uint8, count=wanted).reshape(cloud.height, row_step)
    table = table[:, : cloud.width * step].reshape(-1, step)
    found = {}
    for name in (*_COORDINATES, 'intensity'):
        field = fields[name]
        if field.datatype != _FLOAT32 or field.offset + 4 > step:
            raise OceanGymError(f'field {name} of the point cloud is not a 32-bit float')
        raw = np.ascontiguousarray(table[:, field.offset : field.offset + 4])
        found[name] = raw.view('>f4' if cloud.is_bigendian else '<f4').ravel().astype(np.float32)
    return found


def _order(
    points: NDArray[np.float64],
    found: NDArray[np.bool_],
    spec: SonarSpec,
    rows: NDArray[np.float64],
) -> tuple[slice, slice]:
    """Return the slices that put the lowest row and the port column first."""
    azimuth = np.arctan2(points[..., 1], points[..., 0])
    elevation = np.arctan2(points[..., 2], np.hypot(points[..., 0], points[..., 1]))
    # As Gazebo writes them, unless the points say otherwise: lowest row, starboard column first.
    up = _direction(elevation, found, rows, 0, spec, default=1)
    columns = _direction(azimuth, found, spec.azimuths, 1, spec, default=-1)
    return slice(None, None, up), slice(None, None, columns)


def _direction(
    angle: NDArray[np.float64],
    found: NDArray[np.bool_],
    wanted: NDArray[np.float64],
    axis: int,
    spec: SonarSpec,
    *,
    default: int,
) -> int:
    """Return 1 if rows (axis 0) or columns (axis 1) run as wanted, -1 if they run against it."""
    if not found.any() or len(wanted) < 2:
        return default
    spacing = abs(float(wanted[1] - wanted[0]))
    expected = np.expand_dims(wanted, 1 - axis)
    errors = {
        step: float(
            np.abs(angle - np.flip(expected, axis) if step < 0 else angle - expected)[found].max()
        )
        for step in (1, -1)
    }
    # Straight ahead alone, a row or column fits both ways.
    best = default if errors[default] <= errors[-default] else -default
    if errors[best] > _TOLERANCE * spacing:
        kind = 'elevations' if axis == 0 else 'azimuths'
        raise OceanGymError(
            f'sonar {spec.direction}: {kind} of the cloud differ from the sonar by up to '
            f'{math.degrees(errors[best]):.2f} deg; is it the lidar of this sonar?'
        )
    return best


def _cosine(
    points: NDArray[np.float64], distance: NDArray[np.float64], normal: NDArray[np.float64]
) -> Grid:
    """Return the cosine of incidence on surfaces of some normals."""
    ray = points / np.maximum(distance, 1e-9)[..., None]
    facing = -(normal * ray).sum(axis=-1)
    return np.where(normal.any(axis=-1), facing, _UNKNOWN_COSINE).astype(np.float32)
