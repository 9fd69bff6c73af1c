"""The seabed keeps the rules that targets, starts and vehicles rely on, for the released seed and others."""

from __future__ import annotations

from functools import cache
import math

import numpy as np
import pytest

from oceangym_worlds.modelling.noise import Noise, smoothstep
from oceangym_worlds.plan.config import load_world_config
from oceangym_worlds.plan.layout import Layout, plan_layout
from oceangym_worlds.seabed.relief import Canyon, Pad, Scarp, thin_plate
from oceangym_worlds.seabed.terrain import build_seabed, Heightfield, Seabed

RELEASED = {
    'mining_robot_1': (-71, 149, -61),
    'mining_robot_2': (325, -47, -83),
    'oil_pipeline_1': (345, -165, -32),
    'oil_pipeline_2': (539, -233, -42),
    'oil_pipeline_3': (207, -30, -66),
    'oil_drums_1': (447, -203, -98),
    'sunken_ship_1': (429, -151, -69),
    'sunken_ship_2': (78, -11, -47),
    'electrical_box_1': (168, 168, -65),
    'wind_turbine_1': (207, -30, -66),
    'aircraft_1': (40, -9, -54),
    'aircraft_2': (296, 78, -70),
    'aircraft_3': (292, -186, -67),
    'landing_platform_1': (267, 33, -80),
}
SEEDS = (0, 1, 2, 3, 5, 11)


@cache
def world(seed: int) -> tuple[Layout, Seabed]:
    layout = plan_layout(load_world_config('ocean'), seed)
    return layout, build_seabed(layout.terrain, seed)


def inside_bounds(heightfield: Heightfield) -> np.ndarray:
    bounds = load_world_config('ocean').bounds
    x, y = heightfield.axes()
    return ((x >= bounds.min[0]) & (x <= bounds.max[0]))[None, :] & (
        (y >= bounds.min[1]) & (y <= bounds.max[1])
    )[:, None]


def test_seed_zero_keeps_the_released_coordinates() -> None:
    layout, _ = world(0)
    assert {a.name: a.point for a in layout.anchors} == RELEASED


@pytest.mark.parametrize('seed', SEEDS)
def test_seabed_passes_each_target_on_a_level_pad(seed: int) -> None:
    layout, seabed = world(seed)
    field = seabed.heightfield
    x, y = field.axes()
    for anchor in layout.anchors:
        px, py, pz = anchor.point
        assert abs(float(field.height(px, py)) - pz) < 0.1, anchor.name
        near = np.hypot(x[None, :] - px, y[:, None] - py) <= 8.0
        assert np.degrees(field.slope()[near].max()) <= 7.0, anchor.name


@pytest.mark.parametrize('seed', SEEDS)
def test_every_prop_stands_on_a_level_pad(seed: int) -> None:
    layout, seabed = world(seed)
    x, y = seabed.heightfield.axes()
    for prop in layout.props:
        near = np.hypot(x[None, :] - prop.x, y[:, None] - prop.y) <= 8.0
        assert np.degrees(seabed.heightfield.slope()[near].max()) <= 7.0, prop.config.name


@pytest.mark.parametrize('seed', SEEDS)
def test_slopes_and_depths_stay_in_range(seed: int) -> None:
    _, seabed = world(seed)
    z, slope = seabed.heightfield.z, np.degrees(seabed.heightfield.slope())
    inside = inside_bounds(seabed.heightfield)
    assert np.isfinite(z).all()
    assert z.min() > -100.0
    assert z.max() < -20.0
    assert slope.max() <= 50.0
    assert 3.0 <= np.median(slope[inside]) <= 9.0


@pytest.mark.parametrize('seed', SEEDS)
def test_starts_have_water_below(seed: int) -> None:
    _, seabed = world(seed)
    assert float(seabed.heightfield.height(144, -114)) <= -73.0
    assert float(seabed.heightfield.height(350, -118)) <= -7.0 - 4.0


@pytest.mark.parametrize('seed', SEEDS[1:])
def test_other_seeds_move_targets_under_the_same_rules(seed: int) -> None:
    layout, _ = world(seed)
    config = load_world_config('ocean')
    points = {a.name: np.asarray(a.point) for a in layout.anchors}
    moved = [np.hypot(*(points[n] - np.asarray(p))[:2]) for n, p in RELEASED.items()]
    assert min(moved) > 5.0
    assert np.median(moved) > 50.0
    assert tuple(points['wind_turbine_1']) == tuple(points['oil_pipeline_3'])
    assert points['wind_turbine_1'][2] == -66
    names = sorted(set(points) - {'wind_turbine_1'})
    for i, first in enumerate(names):
        low = np.asarray(config.bounds.min[:2]) + 40.0
        high = np.asarray(config.bounds.max[:2]) - 40.0
        assert (points[first][:2] >= low).all() and (points[first][:2] <= high).all(), first
        for second in names[i + 1 :]:
            assert np.hypot(*(points[first] - points[second])[:2]) >= 45.0, (first, second)
        for start in layout.starts:
            assert np.hypot(*(points[first][:2] - np.asarray(start[:2]))) >= 30.0, first


def test_released_places_tell_nothing_of_another_layout_however_they_are_mirrored() -> None:
    config = load_world_config('ocean')
    centre = (np.asarray(config.bounds.min[:2]) + np.asarray(config.bounds.max[:2])) / 2.0
    released = np.array(list(RELEASED.values()))[:, :2] - centre
    mirrors = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    seeds = range(101, 125)
    near = np.zeros(len(mirrors))
    for seed in seeds:
        layout = plan_layout(config, seed)
        points = np.array([layout.anchor(name).point for name in RELEASED])[:, :2] - centre
        gaps = np.linalg.norm(points[None] - mirrors[:, None] * released[None], axis=2)
        near += (gaps < 35.0).mean(axis=1) / len(seeds)
    # By chance a place lies within 35 m of another one in pi 35^2 / (770 x 570) = 0.9 % of cases.
    assert near.max() < 0.04


def test_the_mesh_reaches_past_the_bounds() -> None:
    _, seabed = world(0)
    x, y = seabed.heightfield.axes()
    assert (x[0], y[0]) == (-260.0, -460.0)
    assert (x[-1], y[-1]) == (710.0, 310.0)


def test_another_seed_gives_another_terrain_and_the_same_seed_the_same() -> None:
    layout, seabed = world(0)
    again = build_seabed(layout.terrain, 0)
    assert np.array_equal(again.heightfield.z, seabed.heightfield.z)
    other = build_seabed(layout.terrain, 1)
    assert np.abs(other.heightfield.z - seabed.heightfield.z).mean() > 0.3


def test_the_drums_lie_in_a_canyon_below_the_pipeline() -> None:
    layout, seabed = world(0)
    a, b, drums = (
        np.asarray(layout.anchor(n).point)
        for n in ('oil_pipeline_1', 'oil_pipeline_2', 'oil_drums_1')
    )
    t = float((drums - a)[:2] @ (b - a)[:2] / ((b - a)[:2] @ (b - a)[:2]))
    above = a + t * (b - a)
    assert np.hypot(*(above - drums)[:2]) < 5.0
    assert 58.0 < above[2] - drums[2] < 64.0
    along = a[:2] + np.linspace(0, 1, 200)[:, None] * (b - a)[:2]
    assert seabed.heightfield.height(*along.T).min() < -97.0
    # The route keeps to the walls: it never goes down to the drums.
    heights = seabed.heightfield.height(*layout.route.way.T)
    after = heights[int(np.argmin(np.hypot(*(layout.route.way - a[:2]).T))) :]
    assert after.min() > -65.0


def test_terrain_has_plains_dunes_rock_and_silt() -> None:
    _, seabed = world(0)
    inside = inside_bounds(seabed.heightfield)
    rock = seabed.rock[inside] > 0.5
    assert 0.08 < rock.mean() < 0.35
    loose = ~rock
    assert (seabed.ripple[inside][loose] > 0.5).mean() > 0.1
    assert (seabed.silt[inside][loose] > 0.5).mean() > 0.05


def test_dunes_are_lower_and_longer_than_the_limits() -> None:
    """A profile across a dune field: 20-40 m between crests, below 1.5 m, lee steeper than stoss."""
    from oceangym_worlds.seabed.terrain import _dunes

    layout, _ = world(0)
    s = np.arange(0.0, 400.0, 0.25)
    heading = 0.5  # of seed 0
    x, y = s * math.cos(heading), s * math.sin(heading)
    wave = _dunes(layout.terrain, 0, x, y)
    assert wave.min() >= 0.0 and wave.max() < 1.5
    crests = np.flatnonzero(
        (wave[1:-1] > wave[:-2]) & (wave[1:-1] >= wave[2:]) & (wave[1:-1] > 0.5)
    )
    spacing = np.diff(s[crests])
    assert 20.0 <= np.median(spacing) <= 40.0
    rising, falling = (np.diff(wave) > 0).mean(), (np.diff(wave) < 0).mean()
    assert max(rising, falling) > 0.6


def test_thin_plate_passes_through_its_points_and_keeps_planes() -> None:
    rng = np.random.Generator(np.random.Philox(key=5))
    points = rng.uniform(-200, 200, (12, 3))
    assert np.allclose(thin_plate(points)(points[:, 0], points[:, 1]), points[:, 2], atol=1e-6)
    plane = points.copy()
    plane[:, 2] = 3.0 + 0.2 * plane[:, 0] - 0.1 * plane[:, 1]
    assert thin_plate(plane)(33.0, -71.0) == pytest.approx(3.0 + 6.6 + 7.1, abs=1e-6)


def test_canyon_is_flat_on_its_floor_and_ends_at_its_rim() -> None:
    canyon = Canyon(
        points=np.array([[0.0, 0.0], [100.0, 0.0]]),
        floor=np.array([-90.0, -80.0]),
        half_width=np.array([5.0, 5.0]),
        wall_width=40.0,
    )
    weight, floor = canyon.weight_and_floor([50.0, 50.0, 50.0], [4.9, 45.1, 25.0])
    assert weight[:2].tolist() == [1.0, 0.0]
    assert weight[2] == pytest.approx(0.5)
    assert floor[0] == pytest.approx(-85.0)


def test_scarp_is_high_on_its_left() -> None:
    scarp = Scarp(
        start=np.array([0.0, 0.0]), end=np.array([90.0, 0.0]), height=10.0, width=12.0, reach=80.0
    )
    assert scarp.offset(45.0, 12.0) == pytest.approx(10.0, abs=0.01)
    assert scarp.offset(45.0, -7.0) == 0.0
    assert scarp.offset(45.0, 81.0) == 0.0


def test_pad_distance_is_that_from_a_segment() -> None:
    pad = Pad(x=0.0, y=0.0, yaw=math.pi / 2, half_length=10.0, radius=5.0)
    assert pad.distance(3.0, 8.0) == pytest.approx(3.0)
    assert pad.distance(0.0, 14.0) == pytest.approx(4.0)


def test_noise_repeats_after_its_period() -> None:
    noise = Noise.of(3, 'test')
    x = np.linspace(0, 8, 50)
    tile = 8.0
    first = noise.fractal(x, 2.0, 2.0, octaves=4, period=4)
    assert np.allclose(first, noise.fractal(x + tile, 2.0 - tile, 2.0, octaves=4, period=4))
    assert np.abs(first).max() < 1.2


def test_smoothstep_runs_both_ways() -> None:
    assert smoothstep(0.0, 2.0, 1.0) == 0.5
    assert smoothstep(2.0, 0.0, 2.5) == 0.0
