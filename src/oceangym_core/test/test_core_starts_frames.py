"""Starts, and the frame that the agent sees."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from oceangym_core.config.mission import mission_order, MissionOrder
from oceangym_core.config.starts import (
    ASPECT_HALF_WIDTH_DEG,
    ASPECTS,
    describe_start,
    resolve_start,
    Start,
    STRATA,
)
from oceangym_core.config.tasks import resolve_targets, Target, TaskRegistry
from oceangym_core.contract.frames import bounds_polygon, FrameShift, operating_bounds, shift_for
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose, wrap_angle
from oceangym_core.scoring.compat import RELEASED_TARGETS
from oceangym_core.testing.records import targets_at
from oceangym_core.world.distance import build_distance_field
from oceangym_core.world.footprint import Footprint
from oceangym_core.world.footprints import footprint_boxes
from oceangym_core.world.world import load_world, world_path

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


# ---------------------------------------------------------------- strata, orders and bounds

OCEAN = load_world(world_path('ocean'))
FIELD = build_distance_field(OCEAN)


def ocean_start(task: str, text: str, seed: int = 0) -> tuple[Start, tuple[Target, ...]]:
    targets = resolve_targets(TaskRegistry.load().get(task), OCEAN)
    start = resolve_start(
        text,
        seed,
        targets=targets,
        lower=OCEAN.bounds.lower,
        upper=OCEAN.bounds.upper,
        seabed=OCEAN.seabed,
        clearance=lambda point: FIELD.query(point)[0],
    )
    return start, targets


@pytest.mark.parametrize('stratum', STRATA)
@pytest.mark.parametrize('task', ['dock', 'inspect_pipe', 'search_aircraft'])
def test_a_start_of_a_stratum_lies_as_far_and_as_clear_as_it_says(task: str, stratum: str) -> None:
    low, high = STRATA[stratum]
    aspects, nearest = [], set()
    for seed in range(9):
        start, targets = ocean_start(task, f'{stratum}_{seed}')
        place = np.asarray(start.pose.position)
        gaps = {t.name: float(t.footprint.distance(place)[0]) for t in targets}
        assert low <= min(gaps.values()) <= high
        assert min(gaps, key=lambda name: gaps[name]) == start.target
        assert start.range == pytest.approx(min(gaps.values()))
        assert 5.9 <= place[2] - OCEAN.seabed(place[0], place[1]) <= 12.1
        assert FIELD.query(place)[0] >= 5.4
        off = abs(math.degrees(start.relative_bearing))
        assert abs(off - ASPECTS[start.aspect]) <= ASPECT_HALF_WIDTH_DEG + 1.0
        aspects.append(start.aspect)
        nearest.add(start.target)
    assert {a: aspects.count(a) for a in ASPECTS} == dict.fromkeys(ASPECTS, 3)
    assert len(nearest) > 1 or len(targets) == 1


def test_an_order_bounds_the_search_without_telling_the_place() -> None:
    places, errors, landmarks = [], [], 0
    for task in ('search_ship', 'locate_drums', 'dock'):
        for seed in range(40):
            start, targets = ocean_start(task, f'medium_{seed}')
            order = mission_order(start, targets=targets, world=OCEAN, seed=seed)
            assert order is not None
            target = next(t for t in targets if t.name == start.target)
            corners = np.asarray(order.area)
            sides = np.stack([corners[1] - corners[0], corners[3] - corners[0]])
            lengths = np.linalg.norm(sides, axis=1)
            assert ((lengths > 149.5) & (lengths < 250.5)).all()
            places.append((sides / lengths[:, None] ** 2) @ (target.point[:2] - corners[0]))
            if order.bearing is None:
                landmarks += 1
                assert order.distance % 10 == 0 and 20 <= order.distance <= 150
            else:
                assert order.bearing_from is not None
                (ax, ay), (x, y, _) = order.bearing_from, target.point
                assert 299.0 <= math.dist((ax, ay), (x, y)) <= 501.0
                true = math.atan2(y - ay, x - ax)
                errors.append(math.degrees(wrap_angle(order.bearing - true)))
    share = np.array(places)
    # Uniform over the inner 70 %: mean a half, deviation 0.7 / sqrt(12).
    assert (np.abs(share - 0.5) <= 0.351).all()
    assert np.abs(share.mean(axis=0) - 0.5).max() < 0.06
    assert share.std(axis=0) == pytest.approx([0.7 / math.sqrt(12)] * 2, rel=0.2)
    assert 20 < landmarks < 100
    assert np.std(errors) == pytest.approx(6.0, rel=0.4)


def best_guess(start: Start, order: MissionOrder) -> float:
    """Return how likely the best single guess lies within 15 m, knowing order, stratum and our code."""
    low, high = STRATA[start.stratum]
    offsets = np.stack(np.meshgrid(*[np.arange(-high, high + 0.1, 4.0)] * 2), -1).reshape(-1, 2)
    away = np.hypot(*offsets.T)
    places = np.asarray(start.pose.position[:2]) + offsets
    corners = np.asarray(order.area)
    sides = np.stack([corners[1] - corners[0], corners[3] - corners[0]])
    shares = (places - corners[0]) @ (sides / np.sum(sides**2, axis=1, keepdims=True)).T
    # Ranges are drawn evenly, so that the density falls with the distance.
    density = ((away >= low) & (away <= high)) / np.maximum(away, 1.0)
    density *= (np.abs(shares - 0.5) <= 0.35).all(axis=1)
    if order.bearing is not None:
        x, y = (places - np.asarray(order.bearing_from)).T
        off = np.degrees([wrap_angle(a) for a in np.arctan2(y, x) - order.bearing])
        density *= np.exp(-0.5 * (off / 6.0) ** 2) / np.hypot(x, y)
    likely = np.argsort(-density)[:400:2]
    gaps = np.linalg.norm(places[:, None] - places[likely], axis=-1)
    return float((density @ (gaps <= 15.0)).max() / density.sum())


@pytest.mark.parametrize('stratum', ['near', 'medium'])
def test_an_order_leaves_a_blind_guess_little_chance(stratum: str) -> None:
    chances = []
    for task in ('search_ship', 'locate_drums', 'dock'):
        for seed in range(8):
            start, targets = ocean_start(task, f'{stratum}_{seed}')
            order = mission_order(start, targets=targets, world=OCEAN, seed=seed)
            assert order is not None
            chances.append(best_guess(start, order))
    # Nothing known but the stratum: a disc of 15 m holds a seventh of the ring of a near start.
    assert np.mean(chances) < 0.3


def test_far_and_released_starts_come_without_an_order() -> None:
    for text in ('far_3', 'point1', 'random_3'):
        start, targets = ocean_start('search_ship', text)
        assert mission_order(start, targets=targets, world=OCEAN, seed=3) is None


def test_a_landmark_lies_as_far_from_the_target_as_the_order_says() -> None:
    for seed in range(30):
        start, targets = ocean_start('locate_drums', f'near_{seed}')
        order = mission_order(start, targets=targets, world=OCEAN, seed=seed)
        assert order is not None
        if order.bearing is None:
            assert order.landmark == 'sunken ship'
            boxes = Footprint.of(footprint_boxes(OCEAN, OCEAN.anchor('sunken_ship_1')))
            x, y, _ = targets[0].point
            gap = min(float(boxes.distance((x, y, z))[0]) for z in np.arange(-75.0, -55.0))
            assert abs(gap - order.distance) <= 5.5
            assert f'some {order.distance:.0f} m off the sunken ship' in order.text(FrameShift())
            return
    raise AssertionError('no order named a landmark')


def test_an_order_says_the_same_in_every_frame() -> None:
    start, targets = ocean_start('search_ship', 'medium_1')
    order = mission_order(start, targets=targets, world=OCEAN, seed=1)
    assert order is not None and order.bearing is not None
    shift = FrameShift(100.0, -50.0, math.radians(70.0))
    told = [re.findall(r'-?\d+\.?\d*', order.text(s))[:3] for s in (FrameShift(), shift)]
    (ax, ay, angle), (bx, by, turned) = [[float(n) for n in numbers] for numbers in told]
    assert (angle - turned - 70) % 360 == 0
    assert shift.points_to_map((bx, by, 0.0))[:2] == pytest.approx([ax, ay], abs=0.1)
    corners = [(x, y, 0.0) for x, y in order.area_in_odom(shift)]
    assert shift.points_to_map(corners)[:, :2] == pytest.approx(np.array(order.area), abs=1e-6)


def test_the_told_area_does_not_give_the_shift_away() -> None:
    lower, upper = np.asarray(OCEAN.bounds.lower[:2]), np.asarray(OCEAN.bounds.upper[:2])
    released = np.array([lower, (upper[0], lower[1]), upper, (lower[0], upper[1])], dtype=float)
    points = np.array([a.point for a in OCEAN.anchors])
    near, orders = [], set()
    for seed in range(200):
        bounds = operating_bounds(OCEAN, 'shifted', seed)
        assert (points[:, :2] >= np.asarray(bounds.lower[:2]) + 29.0).all()
        assert (points[:, :2] <= np.asarray(bounds.upper[:2]) - 29.0).all()
        shift = shift_for('shifted', seed)
        told = np.array(bounds_polygon(bounds.lower, bounds.upper, shift))
        true = shift.points_to_odom(np.column_stack([released, np.zeros(4)]))[:, :2]
        first = int(np.argmin(np.linalg.norm(true - told[0], axis=1)))
        (ax, ay), (bx, by) = told[1] - told[0], told[2] - told[1]
        orders.add((first, bool(ax * by - ay * bx > 0)))
        # An attacker lays the released corners over the told ones in each of the eight ways.
        best = math.inf
        for turned in [np.roll(c, k, axis=0) for c in (told, told[::-1]) for k in range(4)]:
            a, b = released - released.mean(axis=0), turned - turned.mean(axis=0)
            u, _, vt = np.linalg.svd(a.T @ b)
            turn = u @ np.diag([1.0, np.linalg.det(u @ vt)]) @ vt
            guess = (points[:, :2] - released.mean(axis=0)) @ turn + turned.mean(axis=0)
            truth = shift.points_to_odom(points)[:, :2]
            best = min(best, float(np.linalg.norm(guess - truth, axis=1).mean()))
        near.append(best <= 15.0)
    assert len(orders) == 8
    # Within the report radius only by luck, and that with the best of eight guesses.
    assert np.mean(near) < 0.25
    assert operating_bounds(OCEAN, 'map', 3) == OCEAN.bounds
