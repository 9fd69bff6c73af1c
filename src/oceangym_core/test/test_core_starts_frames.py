"""Starts, and the frame that the agent sees."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oceangym_core.errors import OceanGymError
from oceangym_core.footprint import Footprint
from oceangym_core.frames import bounds_polygon, FrameShift, shift_for
from oceangym_core.geometry import Pose
from oceangym_core.scoring.compat import RELEASED_TARGETS
from oceangym_core.starts import describe_start, resolve_start
from oceangym_core.testing import targets_at

LOWER, UPPER = (-200.0, -400.0, -100.0), (650.0, 250.0, 5.0)
OPEN_WATER = {
    'lower': LOWER,
    'upper': UPPER,
    'seabed': lambda x, y: -90.0,
    'clearance': lambda point: 1000.0,
}
PIPE = targets_at(RELEASED_TARGETS[2])


def test_the_fixed_starts_are_the_released_ones() -> None:
    one = resolve_start('point1', 0, targets=PIPE, **OPEN_WATER)
    assert one.pose.position == (144.0, -114.0, -63.0)
    assert one.pose.yaw == pytest.approx(math.radians(-135))
    two = resolve_start('point2', 0, targets=PIPE, **OPEN_WATER)
    assert two.pose.position == (350.0, -118.0, -7.0)
    assert (two.target, two.range) == ('a', pytest.approx(53.47, abs=0.01))


def test_point1_is_105_m_from_the_turbine() -> None:
    start = resolve_start('point1', 0, targets=targets_at(RELEASED_TARGETS[6]), **OPEN_WATER)
    assert start.range == pytest.approx(105.0, abs=0.05)


def test_bearings_are_counter_clockwise_and_relative_ones_positive_to_port() -> None:
    target = targets_at([(0.0, 50.0, -40.0)])
    start = describe_start('custom', Pose.from_euler((0, 0, -40), 0, 0, 0), target)
    assert start.bearing == pytest.approx(math.pi / 2)
    assert start.relative_bearing == pytest.approx(math.pi / 2)
    turned = describe_start('custom', Pose.from_euler((0, 0, -40), 0, 0, math.pi), target)
    assert turned.relative_bearing == pytest.approx(-math.pi / 2)


def test_a_random_start_with_a_seed_of_its_own_ignores_the_seed_of_the_run() -> None:
    named = [resolve_start('random_7', seed, targets=PIPE, **OPEN_WATER) for seed in (0, 1)]
    drawn = resolve_start('random', 7, targets=PIPE, **OPEN_WATER)
    assert {start.name for start in named} == {'random_7'}
    assert {start.pose for start in named} == {drawn.pose}
    with pytest.raises(OceanGymError, match="unknown start 'random_x'"):
        resolve_start('random_x', 0, targets=PIPE, **OPEN_WATER)


def test_random_starts_keep_away_from_targets_seabed_surface_and_obstacles() -> None:
    rock = np.array([200.0, 0.0, -50.0])

    def clearance(point: np.ndarray) -> float:
        return float(np.linalg.norm(point - rock)) - 30.0

    world = {**OPEN_WATER, 'clearance': clearance, 'seabed': lambda x, y: -60.0 + x / 20.0}
    for seed in range(40):
        start = resolve_start('random', seed, targets=PIPE, **world)
        x, y, z = start.pose.position
        assert start.range >= 100.0
        assert -60.0 + x / 20.0 + 10.0 <= z + 0.05 and z <= -3.0
        assert clearance(np.array([x, y, z])) >= 15.0
        assert all(low <= v <= high for low, v, high in zip(LOWER, (x, y, z), UPPER, strict=True))


def test_a_seed_decides_a_random_start() -> None:
    a, b = (resolve_start('random', 5, targets=PIPE, **OPEN_WATER) for _ in range(2))
    assert a == b
    assert resolve_start('random', 6, targets=PIPE, **OPEN_WATER).pose != a.pose


def test_a_custom_start_is_taken_as_given() -> None:
    start = resolve_start('1,2,-30,90', 0, targets=PIPE, **OPEN_WATER)
    assert start.name == 'custom' and start.pose.position == (1.0, 2.0, -30.0)
    assert start.pose.yaw == pytest.approx(math.pi / 2)


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('700,0,-20,0', 'outside the bounds'),
        ('0,0,2,0', 'above the water'),
        ('0,0,-95,0', 'in the seabed'),
    ],
)
def test_an_impossible_start_is_refused(text: str, part: str) -> None:
    with pytest.raises(OceanGymError, match=part):
        resolve_start(text, 0, targets=PIPE, **OPEN_WATER)


def test_a_start_in_an_obstacle_is_refused() -> None:
    world = {**OPEN_WATER, 'clearance': lambda point: -0.2}
    with pytest.raises(OceanGymError, match='obstacle'):
        resolve_start('0,0,-20,0', 0, targets=PIPE, **world)
    with pytest.raises(OceanGymError, match='found no start'):
        resolve_start('random', 0, targets=PIPE, **world)


def test_the_map_frame_is_not_shifted() -> None:
    assert shift_for('map', 3) == FrameShift()
    point = np.array([1.5, -2.5, -3.5])
    assert (FrameShift().points_to_odom(point) == point).all()
    with pytest.raises(OceanGymError, match="Did you mean 'shifted'"):
        shift_for('shift', 0)


def test_one_shift_a_file_and_another_for_the_next() -> None:
    a = shift_for('shifted', 0, 'bench_a')
    assert a == shift_for('shifted', 0, 'bench_a')
    assert a != shift_for('shifted', 0, 'bench_b') and a != shift_for('shifted', 1, 'bench_a')


def test_a_shift_is_undone_exactly_and_keeps_depth() -> None:
    shift = shift_for('shifted', 11)
    pose = Pose.from_euler((345.0, -165.0, -32.0), 0.1, -0.2, 2.0)
    there = shift.to_odom(pose)
    assert there.position[2] == pytest.approx(-32.0)
    back = shift.to_map(there)
    assert back.position == pytest.approx(pose.position, abs=1e-9)
    assert back.quaternion == pytest.approx(pose.quaternion, abs=1e-12)
    assert np.allclose(shift.points_to_map(there.position), pose.position, atol=1e-9)


def test_the_operating_area_keeps_its_shape_in_odom() -> None:
    corners = np.array(bounds_polygon(LOWER, UPPER, FrameShift(10.0, 20.0, 0.7)))
    sides = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    assert sides == pytest.approx([850.0, 650.0, 850.0, 650.0])


def test_distance_to_a_turned_box() -> None:
    pose = Pose.from_euler((10.0, 0.0, -50.0), 0, 0, math.pi / 2)
    footprint = Footprint.of([(pose, (8.0, 2.0, 2.0))])
    where = [(10.0, 0.0, -50.0), (10.0, 3.9, -50.0), (10.0, 7.0, -50.0), (14.0, 0.0, -47.0)]
    assert footprint.distance(where) == pytest.approx([0.0, 0.0, 3.0, math.hypot(3.0, 2.0)])


def test_a_union_of_boxes_takes_the_nearest() -> None:
    boxes = [(Pose.of((0, 0, 0)), (2.0, 2.0, 2.0)), (Pose.of((10, 0, 0)), (2.0, 2.0, 2.0))]
    assert Footprint.of(boxes).distance([(7.0, 0.0, 0.0)]) == pytest.approx([2.0])
