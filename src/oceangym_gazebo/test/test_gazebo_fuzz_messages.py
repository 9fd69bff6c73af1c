"""Clouds and images of any make are read or refused: a node beside Gazebo lives on."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError
from oceangym_gazebo.rays.ray_cloud import range_ahead, ray_grid
from oceangym_gazebo.rays.sonar import LidarSonar
from oceangym_sim.dynamics.vehicle import load_vehicle

VEHICLE = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
SPEC = replace(load_vehicle(VEHICLE).sonars[0], beams=5, elevation_rays=4, range_bins=16)
BUDGET = settings(max_examples=150, deadline=None)
SIZES = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 16, 20, 24, 2**31, 2**32 - 1])
FLOATS = st.floats(width=32) | st.sampled_from([math.inf, -math.inf, math.nan, 0.0, 1e38])


@dataclass
class Field:
    name: str
    offset: int
    datatype: int = 7


@dataclass
class Cloud:
    """As sensor_msgs/PointCloud2, without ROS."""

    height: int = 4
    width: int = 5
    data: bytes = b'\0' * 400
    point_step: int = 20
    row_step: int = 100
    is_bigendian: bool = False
    fields: list[Field] = field(
        default_factory=lambda: [
            Field('x', 0), Field('y', 4), Field('z', 8), Field('intensity', 16),
        ]
    )  # fmt: skip


FIELDS = st.lists(
    st.builds(
        Field,
        name=st.sampled_from(['x', 'y', 'z', 'intensity', 'ring', '']),
        offset=SIZES,
        datatype=st.integers(0, 9),
    ),
    max_size=5,
)


def read(cloud: Cloud) -> None:
    with contextlib.suppress(OceanGymError):
        grid = ray_grid(cloud, SPEC)
        assert grid.distance.shape == (SPEC.elevation_rays, SPEC.beams)
        assert not np.isnan(grid.distance).any()
        assert np.isfinite(grid.strength).all()
    with contextlib.suppress(OceanGymError):
        assert range_ahead(cloud) > 0.0


@BUDGET
@given(
    changes=st.fixed_dictionaries(
        {},
        optional={
            'height': SIZES, 'width': SIZES, 'point_step': SIZES, 'row_step': SIZES,
            'data': st.binary(max_size=500), 'is_bigendian': st.booleans(), 'fields': FIELDS,
        },
    )
)  # fmt: skip
def test_any_layout_of_a_cloud(changes: dict[str, object]) -> None:
    read(replace(Cloud(), **changes))  # type: ignore[arg-type]


@BUDGET
@given(values=st.lists(FLOATS, min_size=100, max_size=100))
def test_any_numbers_in_a_cloud(values: list[float]) -> None:
    read(Cloud(data=np.asarray(values, '<f4').tobytes()))


@settings(max_examples=40, deadline=None)
@given(
    reach=st.lists(FLOATS.map(abs), min_size=20, max_size=20),
    retro=st.lists(FLOATS, min_size=20, max_size=20),
)
def test_any_ranges_and_strengths_make_a_finite_ping(
    reach: list[float], retro: list[float]
) -> None:
    """Whatever a driver puts into ranges and retro, no cell of the ping is unknown."""
    sonar = LidarSonar(SPEC, seed=1)
    rays = sonar_rays()
    with np.errstate(invalid='ignore', over='ignore'):
        points = rays * np.asarray(reach).reshape(rays.shape[:2])[..., None]
    table = np.zeros((4, 5, 5), '<f4')
    with np.errstate(over='ignore'):
        table[..., :3] = points
        table[..., 4] = np.asarray(retro).reshape(4, 5)
    cloud = Cloud(data=table[:, ::-1].tobytes())
    try:
        ping = sonar.ping(cloud, 0)
    except OceanGymError:
        return
    assert np.isfinite(ping.polar).all()
    assert (ping.polar >= 0.0).all()


def sonar_rays() -> np.ndarray:
    """Unit rays in the lidar's frame (x ahead, y port, z up), lowest row and port column first."""
    from oceangym_sim.sonar.formation import PingFormer

    up, starboard, ahead = np.moveaxis(PingFormer(SPEC, skirts=False).directions(), -1, 0)
    return np.stack([ahead, -starboard, up], axis=-1)


def test_the_rays_of_this_test_are_those_of_the_sonar() -> None:
    rays = sonar_rays()
    table = np.zeros((4, 5, 5), '<f4')
    table[..., :3], table[..., 4] = 10.0 * rays, 0.1
    grid = ray_grid(Cloud(data=table[:, ::-1].tobytes()), SPEC)
    assert grid.distance == pytest.approx(10.0, abs=1e-4)
