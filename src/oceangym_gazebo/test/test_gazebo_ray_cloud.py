"""Lidar clouds as ray grids: geometry of planes, either order of rings, misses, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError
from oceangym_core.world.sdf import RETRO_SCALE
from oceangym_gazebo.rays.ray_cloud import ray_grid
from oceangym_gazebo.rays.sonar import LidarSonar
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.sonar.formation import footprint, PingFormer

VEHICLE = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
SPEC = replace(load_vehicle(VEHICLE).sonars[0], beams=129, elevation_rays=32, range_bins=256)
STRENGTH = 0.05
# As gz-sensors lays its points out: padded, with a ring number.
POINT = np.dtype(
    {
        'names': ['x', 'y', 'z', 'intensity', 'ring'],
        'formats': ['<f4', '<f4', '<f4', '<f4', '<u2'],
        'offsets': [0, 4, 8, 16, 20],
        'itemsize': 24,
    }
)


@dataclass
class Field:
    name: str
    offset: int
    datatype: int = 7


@dataclass
class Cloud:
    """As sensor_msgs/PointCloud2, without ROS."""

    height: int
    width: int
    data: bytes
    point_step: int = POINT.itemsize
    row_step: int = 0
    is_bigendian: bool = False
    fields: list[Field] = field(
        default_factory=lambda: [
            Field('x', 0),
            Field('y', 4),
            Field('z', 8),
            Field('intensity', 16),
            Field('ring', 20, 4),
        ]
    )

    def __post_init__(self) -> None:
        self.row_step = self.row_step or self.width * self.point_step


def rays():
    """Unit rays in the lidar's frame (x ahead, y port, z up), lowest row and port column first."""
    up, starboard, ahead = np.moveaxis(PingFormer(SPEC, skirts=False).directions(), -1, 0)
    return np.stack([ahead, -starboard, up], axis=-1)


def wall(distance=10.0, normal=(-1.0, 0.0, 0.0)):
    """Range to a plane `distance` ahead, (rays, beams), and the cosine of incidence."""
    n = np.asarray(normal) / np.linalg.norm(normal)
    cosine = -(rays() @ n)
    with np.errstate(divide='ignore'):
        reach = np.where(cosine > 1e-6, -distance * n[0] / cosine, np.inf)
    return reach, cosine


def cloud_of(reach, retro=STRENGTH * RETRO_SCALE, *, rows=1, columns=-1, miss=np.inf):
    """Return the cloud of Gazebo's layout: lowest row, starboard column first."""
    table = np.zeros(reach.shape, POINT)
    with np.errstate(invalid='ignore'):
        points = rays() * reach[..., None]
    points[~np.isfinite(reach)] = miss
    for axis, name in enumerate('xyz'):
        table[name] = points[..., axis]
    table['intensity'] = np.broadcast_to(retro, reach.shape)
    table['ring'] = np.arange(reach.shape[0])[:, None]
    table = table[::rows, ::columns]
    return Cloud(height=reach.shape[0], width=reach.shape[1], data=table.tobytes())


def test_a_wall_is_met_where_and_how_it_stands():
    reach, cosine = wall(normal=(-1.0, 0.3, 0.2))
    grid = ray_grid(cloud_of(reach), SPEC)
    hit = np.isfinite(reach)
    np.testing.assert_allclose(grid.distance[hit], reach[hit], rtol=1e-5)
    assert np.isinf(grid.distance[~hit]).all()
    np.testing.assert_allclose(grid.cosine[hit], cosine[hit], atol=2e-3)
    np.testing.assert_allclose(grid.strength[hit], STRENGTH, rtol=1e-5)


@pytest.mark.parametrize('rows', [1, -1])
@pytest.mark.parametrize('columns', [1, -1])
def test_rings_and_columns_may_run_either_way(rows, columns):
    reach, _ = wall(normal=(-1.0, 0.5, 0.3))
    reach[:, :20] = np.inf  # nothing to port
    retro = np.linspace(10, 100, SPEC.elevation_rays)[:, None]
    expected = ray_grid(cloud_of(reach, retro), SPEC)
    grid = ray_grid(cloud_of(reach, retro, rows=rows, columns=columns), SPEC)
    np.testing.assert_array_equal(grid.distance, expected.distance)
    np.testing.assert_array_equal(grid.strength, expected.strength)
    assert np.isinf(grid.distance[:, :20]).all() and np.isfinite(grid.distance[:, 60]).all()


@pytest.mark.parametrize('miss', [np.inf, -np.inf, np.nan, 0.0])
def test_misses_of_every_kind_are_misses(miss):
    reach, _ = wall()
    reach[10:20, 30:90] = np.inf
    grid = ray_grid(cloud_of(reach, miss=miss), SPEC)
    assert np.isinf(grid.distance[10:20, 30:90]).all()
    assert np.isfinite(grid.distance).sum() == np.isfinite(reach).sum()
    assert np.isfinite(grid.cosine).all() and np.isfinite(grid.strength).all()


def test_a_cloud_without_a_single_hit_is_an_empty_ping():
    sonar = LidarSonar(SPEC, seed=0)
    mean = sonar.mean(cloud_of(np.full((SPEC.elevation_rays, SPEC.beams), np.inf)))
    assert mean.shape == (SPEC.range_bins, SPEC.beams) and not mean.any()


def test_retro_that_is_no_number_or_negative_is_silent():
    reach, _ = wall()
    retro = np.full(reach.shape, 50.0)
    retro[0], retro[1], retro[2] = np.nan, -5.0, np.inf
    strength = ray_grid(cloud_of(reach, retro), SPEC).strength
    assert not strength[:3].any() and (strength[3:] > 0).all()


def test_an_edge_does_not_tilt_the_surfaces_beside_it():
    near, cosine = wall(5.0)
    far, _ = wall(20.0)
    reach = np.where(np.arange(SPEC.beams) < 60, near, far)
    grid = ray_grid(cloud_of(reach), SPEC)
    np.testing.assert_allclose(grid.cosine, cosine, atol=2e-3)


def test_the_ping_is_that_of_the_embedded_formation():
    """Same geometry, same formation: only the slope is estimated instead of traced."""
    reach, cosine = wall(12.0, normal=(-1.0, 0.4, 0.1))
    former = PingFormer(SPEC, skirts=False)
    distance = np.where(np.isfinite(reach), reach, np.inf).astype(np.float32)
    strength = np.full(reach.shape, STRENGTH, np.float32)
    power = former.echo_power(distance, cosine.astype(np.float32), strength)
    ahead, port, up = np.asarray((-1.0, 0.4, 0.1)) / np.linalg.norm((-1.0, 0.4, 0.1))
    turns = (np.abs(edge @ (up, -port, ahead)) for edge in former.edges())
    lean = np.sum(list(turns), axis=0, dtype=np.float64).astype(np.float32)
    near, far = footprint(distance, cosine.astype(np.float32), lean)
    expected = former.noise_free(near, far, power)
    mean = LidarSonar(SPEC, seed=0).mean(cloud_of(reach))
    assert expected.max() > 0.01
    assert np.abs(mean - expected).max() < 0.02 * expected.max()
    assert mean.sum() == pytest.approx(expected.sum(), rel=1e-3)


def test_a_seed_gives_the_same_bits():
    cloud = cloud_of(wall()[0])
    one, two = (LidarSonar(SPEC, seed=3).ping(cloud, 5) for _ in range(2))
    assert np.array_equal(one.polar, two.polar) and np.array_equal(one.fan, two.fan)
    assert not np.array_equal(one.polar, LidarSonar(SPEC, seed=4).ping(cloud, 5).polar)


def without(name):
    def change(cloud):
        cloud.fields = [f for f in cloud.fields if f.name != name]

    return change


def setting(**values):
    def change(cloud):
        for name, value in values.items():
            setattr(cloud, name, value)

    return change


def doubles(cloud):
    cloud.fields[0].datatype = 8


def beyond(cloud):
    cloud.fields[3].offset = 22


def other_lidar(cloud):
    table = np.frombuffer(cloud.data, POINT).copy()
    table['y'] += 0.5 * table['x']
    cloud.data = table.tobytes()


@pytest.mark.parametrize(
    ('change', 'word'),
    [
        (without('intensity'), 'lacks intensity; it has x, y, z, ring'),
        (without('z'), 'lacks z'),
        (setting(fields=[]), 'no field'),
        (setting(height=31), '31 x 129 points; the sonar has 32 rays x 129 beams'),
        (setting(width=512), 'bytes'),
        (setting(data=b''), 'holds 0 bytes'),
        (setting(row_step=1), 'bytes'),
        (setting(height=0), 'bytes'),
        (doubles, 'field x of the point cloud is not a 32-bit float'),
        (beyond, 'field intensity'),
        (other_lidar, 'of the cloud differ'),
    ],
)
def test_what_is_no_cloud_of_this_sonar_is_refused(change, word):
    cloud = cloud_of(wall()[0])
    change(cloud)
    with pytest.raises(OceanGymError, match=word):
        ray_grid(cloud, SPEC)


def test_big_endian_clouds_are_read():
    cloud = cloud_of(wall()[0])
    expected = ray_grid(cloud, SPEC)
    cloud.data = np.frombuffer(cloud.data, POINT).astype(POINT.newbyteorder('>')).tobytes()
    cloud.is_bigendian = True
    assert np.array_equal(ray_grid(cloud, SPEC).distance, expected.distance)
