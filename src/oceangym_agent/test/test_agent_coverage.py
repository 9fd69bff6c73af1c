"""What was seen of the operating area: shares, sectors, map and search lanes, from geometry."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oceangym_agent.memory.coverage import CoverageMap, distance_to_bounds
from oceangym_agent.memory.coverage_image import draw_coverage, SEEN, UNSEEN, VEHICLE
from oceangym_agent.memory.lawn_mower import next_leg
from oceangym_agent.steering import steer
from oceangym_core.contract.actions import Action
from oceangym_core.contract.frames import bounds_polygon, FrameShift
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose

SQUARE = ((0.0, 0.0), (200.0, 0.0), (200.0, 200.0), (0.0, 200.0))
SHIFT = FrameShift(312.5, -871.25, 2.1)


def turned(width: float, height: float) -> tuple[tuple[float, float], ...]:
    """Return a rectangle of map as it lies in a shifted odom."""
    return bounds_polygon((0.0, 0.0, -100.0), (width, height, 5.0), SHIFT)


def in_odom(x: float, y: float) -> tuple[float, float]:
    u, v, _ = SHIFT.points_to_odom((x, y, 0.0))
    return float(u), float(v)


def test_a_place_marks_a_disc_and_a_leg_a_strip() -> None:
    coverage = CoverageMap(SQUARE, sensor_radius=30.0, cell=2.0)
    coverage.visit((100.0, 100.0))
    assert coverage.share == pytest.approx(math.pi * 30**2 / 200**2, rel=0.02)
    coverage.visit((150.0, 100.0))
    # A strip of 50 m by 60 m and half a disc at either end.
    assert coverage.share == pytest.approx((math.pi * 30**2 + 50 * 60) / 200**2, rel=0.02)


def test_a_turned_area_is_covered_like_a_straight_one() -> None:
    straight = CoverageMap(
        ((0.0, 0.0), (300.0, 0.0), (300.0, 120.0), (0.0, 120.0)), sensor_radius=20.0, cell=5.0
    )
    shifted = CoverageMap(turned(300.0, 120.0), sensor_radius=20.0, cell=5.0)
    for place in ((10.0, 60.0), (250.0, 60.0), (250.0, 100.0)):
        straight.visit(place)
        shifted.visit(in_odom(*place))
    # The corners of a shifted area begin anywhere and run either way, and so do rows and columns.
    ways = [np.rot90(shifted.seen, k) for k in range(4)]
    ways += [way.T for way in ways]
    same = [np.mean(way != straight.seen) for way in ways if way.shape == straight.seen.shape]
    # Cells whose centre lies on the rim may fall to either side by rounding.
    assert min(same) < 0.01
    assert shifted.inside.all()


def test_everything_seen_is_one_and_what_lies_outside_does_not_count() -> None:
    triangle = CoverageMap(((0.0, 0.0), (100.0, 0.0), (0.0, 100.0)), sensor_radius=200.0, cell=2.0)
    assert triangle.inside.mean() == pytest.approx(0.5, abs=0.02)
    triangle.visit((0.0, 0.0))
    assert triangle.share == 1.0
    assert all(math.isinf(s.nearest) for s in triangle.sectors((10.0, 10.0), 0.0))


def test_a_vast_area_is_kept_coarse() -> None:
    vast = CoverageMap(((0.0, 0.0), (1e5, 0.0), (1e5, 1e5), (0.0, 1e5)), cell=1.0)
    assert vast.seen.size <= 260_000


@pytest.mark.parametrize('bounds', [(), ((0.0, 0.0), (1.0, 1.0))])
def test_an_area_needs_three_corners(bounds: tuple[tuple[float, float], ...]) -> None:
    with pytest.raises(OceanGymError, match='three corners'):
        CoverageMap(bounds)


@pytest.mark.parametrize(
    ('heading_deg', 'expected'), [(0.0, 150.0), (90.0, 170.0), (180.0, 50.0), (-90.0, 30.0)]
)
def test_the_distance_to_the_bounds(heading_deg: float, expected: float) -> None:
    found = distance_to_bounds(SQUARE, (50.0, 30.0, -9.0), math.radians(heading_deg))
    assert found == pytest.approx(expected)


def test_the_diagonal_meets_the_corner_and_outside_looking_away_meets_nothing() -> None:
    diagonal = distance_to_bounds(SQUARE, (100.0, 100.0), math.radians(45.0))
    assert diagonal == pytest.approx(100 * math.sqrt(2))
    assert distance_to_bounds(SQUARE, (250.0, 100.0), 0.0) == math.inf
    assert distance_to_bounds(SQUARE, (250.0, 100.0), math.pi) == pytest.approx(50.0)


@pytest.mark.parametrize('heading_deg', [0.0, 90.0, -135.0])
def test_sectors_follow_the_bow(heading_deg: float) -> None:
    """The half of the area on the vehicle's port side was seen, the other half was not."""
    yaw = math.radians(heading_deg)
    coverage = CoverageMap(SQUARE, sensor_radius=20.0, cell=5.0)
    u, v = np.meshgrid(coverage.u - 100.0, coverage.v - 100.0)
    coverage.seen = -math.sin(yaw) * u + math.cos(yaw) * v > 0
    sectors = {s.name: s for s in coverage.sectors((100.0, 100.0), yaw)}
    assert sectors['left'].unseen == sectors['ahead left'].unseen == 0.0
    assert sectors['right'].unseen == sectors['ahead right'].unseen == 1.0
    assert sectors['ahead'].unseen == pytest.approx(0.5, abs=0.1)
    assert sectors['right'].nearest < 10.0 < sectors['left'].nearest
    turned_deg = math.remainder(sectors['left'].heading_deg - heading_deg, 360.0)
    assert turned_deg == pytest.approx(90.0)


def test_the_text_is_short_and_says_where_to_go() -> None:
    coverage = CoverageMap(SQUARE, sensor_radius=20.0)
    coverage.visit((20.0, 100.0))
    coverage.visit((180.0, 100.0))
    text = coverage.text((180.0, 100.0), 0.0)
    assert f'{100 * coverage.share:.1f} %' in text
    assert len(text) < 1200
    assert len(text.splitlines()) == 9
    assert '- left (heading 90 deg)' in text
    assert 'bounds at 20 m' in text
    for yaw_deg in range(-180, 181, 45):
        assert 'heading -0 deg' not in coverage.text((180.0, 100.0), math.radians(yaw_deg))


def colours(image: np.ndarray) -> set[tuple[int, ...]]:
    return {tuple(int(v) for v in c) for c in np.unique(image.reshape(-1, 3), axis=0)}


def test_the_map_shows_seen_and_unseen_where_they_are() -> None:
    coverage = CoverageMap(SQUARE, sensor_radius=25.0)
    coverage.visit((30.0, 150.0))
    image = draw_coverage(coverage, (150.0, 50.0), math.radians(90.0), size=400)
    assert image.shape == (400, 400, 3)
    assert {SEEN, UNSEEN, VEHICLE} <= colours(image)
    rows, columns = np.nonzero((image == SEEN).all(axis=-1) & (np.arange(400)[:, None] > 40))
    vehicle = np.argwhere((image == VEHICLE).all(axis=-1) & (np.arange(400)[:, None] > 40))
    # x to the right and y upwards: the visited place is upper left, the vehicle lower right.
    assert columns.mean() < 200 and rows.mean() < 200
    assert vehicle[:, 1].mean() > 200 and vehicle[:, 0].mean() > 200
    # 120 m apart in x, 100 m in y: the picture keeps the proportions.
    ratio = (vehicle[:, 1].mean() - columns.mean()) / (vehicle[:, 0].mean() - rows.mean())
    assert ratio == pytest.approx(1.2, abs=0.15)


def fly(coverage: CoverageMap, start: tuple[float, float], limit: int) -> tuple[int, float, Pose]:
    """Fly the suggested legs with perfect maneuvers; return maneuvers, metres and the last pose."""
    pose, way = Pose.from_euler((*start, -50.0), 0.0, 0.0, 0.7), 0.0
    coverage.visit(start)
    for count in range(limit):
        leg = next_leg(coverage, pose.position, pose.yaw)
        if leg is None:
            return count, way, pose
        move = steer(pose, (*leg.end, -50.0), tolerance=3.0, reach=20.0)
        assert move is not None, (count, leg, pose)
        action, magnitude = move
        x, y, z = pose.position
        yaw = pose.yaw
        if action is Action.FORWARD:
            x, y = x + magnitude * math.cos(yaw), y + magnitude * math.sin(yaw)
            way += magnitude
        else:
            yaw += math.radians(magnitude) * (1 if action is Action.ROTATE_LEFT else -1)
        pose = Pose.from_euler((x, y, z), 0.0, 0.0, yaw)
        coverage.visit((x, y))
        for heading in np.linspace(0, 2 * math.pi, 5):
            assert distance_to_bounds(coverage.bounds, (x, y), float(heading)) < math.inf
    raise AssertionError(f'{100 * coverage.share:.0f} % after {limit} maneuvers')


@pytest.mark.parametrize('start', [(150.0, 60.0), (12.0, 12.0), (290.0, 110.0)])
def test_the_lanes_cover_the_whole_area_once(start: tuple[float, float]) -> None:
    coverage = CoverageMap(turned(300.0, 120.0), sensor_radius=15.0)
    count, way, _ = fly(coverage, in_odom(*start), 400)
    assert coverage.share == 1.0
    # Lanes of 30 m over 300 x 120 m take at least 4 x 270 m; going there and between adds to it.
    assert 4 * 270 <= way + 4 * 15 <= 2.2 * 4 * 300
    assert count < 200


@pytest.mark.parametrize(
    'bounds',
    [
        ((0.0, 0.0), (90.0, 0.0), (90.0, 260.0), (0.0, 260.0)),
        ((0.0, 0.0), (25.0, 0.0), (25.0, 25.0), (0.0, 25.0)),
    ],
)
def test_lanes_run_along_the_longer_side_and_small_areas_end(
    bounds: tuple[tuple[float, float], ...],
) -> None:
    coverage = CoverageMap(bounds, sensor_radius=15.0)
    fly(coverage, (12.0, 12.0), 300)
    assert coverage.share == 1.0
