"""The chart of a run: contours on their level, outlines, clearances and colours by geometry."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image
import pytest

from oceangym_bench.report.run_map import ramp, svg
from oceangym_bench.report.surroundings import obstacle_distances, plan_outline, structures
from oceangym_bench.report.terrain import contours, relief_jpeg
from oceangym_core.geometry import Pose
from oceangym_core.world.distance import build_distance_field
from oceangym_core.world.footprint import OrientedBox
from oceangym_core.world.world import Heightfield, load_world, world_path


@pytest.fixture(scope='module')
def ocean():
    return load_world(world_path('ocean'))


def field(height, spacing=2.0) -> Heightfield:
    return Heightfield(height=np.asarray(height, float), origin=(-100.0, 50.0), spacing=spacing)


def test_contours_of_a_plane_are_straight_lines_at_their_depth() -> None:
    x = np.arange(80) * 2.0
    plane = field(np.tile(-20.0 - 0.5 * x, (60, 1)))
    found = contours(plane, interval=10.0)
    # Blurring bends the plane at its edges only.
    inner = [c for c in found if 35 <= c.depth <= 85]
    assert [c.depth for c in sorted(inner, key=lambda c: c.depth)] == [40, 50, 60, 70, 80]
    for contour in inner:
        expected = -100.0 + (contour.depth - 20.0) / 0.5
        assert np.allclose(contour.line[:, 0], expected, atol=0.05)
        assert abs(np.ptp(contour.line[:, 1])) == pytest.approx(59 * 2.0)
        assert abs(contour.middle[2]) == pytest.approx(90, abs=0.5)


def test_contours_of_a_cone_are_closed_circles() -> None:
    y, x = np.mgrid[0:100, 0:100] * 2.0
    cone = field(-60.0 + np.hypot(x - 99.0, y - 99.0) * 0.5)
    rings = {c.depth: c.line for c in contours(cone, interval=10.0) if c.depth in (20, 30, 40)}
    assert set(rings) == {20, 30, 40}
    for depth, line in rings.items():
        radius = np.hypot(line[:, 0] + 1.0, line[:, 1] - 149.0)
        # The blur rounds the cone off a little.
        assert np.allclose(radius, (60.0 - depth) / 0.5, atol=0.6)
        assert np.allclose(line[0], line[-1])


def test_contours_of_the_ocean_lie_on_the_seabed(ocean) -> None:
    found = contours(ocean.heightfield)
    assert {c.depth % 10 for c in found} == {0}
    deviations = np.concatenate(
        [ocean.heightfield.at(c.line[:, 0], c.line[:, 1]) + c.depth for c in found]
    )
    # Smoothed over 5 m, on slopes of up to 45 deg.
    assert np.percentile(np.abs(deviations), 90) < 1.5


def test_a_flat_seabed_has_no_contours() -> None:
    assert contours(field(np.full((20, 20), -55.0))) == ()


def test_light_comes_from_the_north_west_and_depth_is_darker() -> None:
    y, x = np.mgrid[0:60, 0:60] * 2.0
    hill = field(-60.0 + 20.0 * np.exp(-((x - 60) ** 2 + (y - 60) ** 2) / 800.0))
    image = np.asarray(Image.open(io.BytesIO(relief_jpeg(hill))).convert('L'), dtype=float)
    assert image.shape == (180, 180)
    # The image's upper edge is north.
    north_west, south_east = image[60:80, 60:80].mean(), image[100:120, 100:120].mean()
    assert north_west > south_east + 20
    slope = field(np.tile(np.linspace(-30, -90, 60), (60, 1)))
    image = np.asarray(Image.open(io.BytesIO(relief_jpeg(slope))).convert('L'), dtype=float)
    assert image[:, :20].mean() > image[:, -20:].mean() + 40


def test_a_box_seen_from_above() -> None:
    turned = OrientedBox.of(Pose.from_euler((10, 20, -30), 0, 0, np.pi / 2), (4, 2, 9))
    outline = plan_outline(turned)
    assert sorted(map(tuple, outline.round(3).tolist())) == [(9, 18), (9, 22), (11, 18), (11, 22)]


def test_structures_are_man_made(ocean) -> None:
    names = {name for name, _ in structures(ocean)}
    assert {'sunken_ship_1', 'sunken_ship_2', 'pipeline_01', 'landing_platform_1'} & names
    assert not any(name.startswith(('boulder', 'kelp', 'terrain')) for name in names)


def test_clearance_leaves_out_targets_and_vegetation(ocean) -> None:
    anchor = ocean.anchor('sunken_ship_1')
    above = np.array([(*anchor.point[:2], anchor.point[2] + 12.0)])
    near = obstacle_distances(ocean, [], above)[0]
    assert near < 13
    assert obstacle_distances(ocean, ['sunken_ship_1'], above)[0] > near
    field_of_all = build_distance_field(
        ocean, select=lambda i: i.model.prop.prop_class != 'vegetation'
    )
    assert near >= field_of_all.query(above[0])[0] - 1e-9


def test_paths_are_drawn_with_north_up() -> None:
    assert svg([(1.0, 2.0), (3.0, -4.0)]) == 'M1.0 -2.0L3.0 4.0'
    assert svg([(0.0, 0.0), (1.0, 0.0)], closed=True) == 'M0.0 0.0L1.0 0.0Z'
    assert svg([]) == ''


def test_time_grows_darker_along_the_path() -> None:
    def grey(colour: str) -> float:
        r, g, b = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    shades = [grey(ramp(k / 10)) for k in range(11)]
    assert shades == sorted(shades, reverse=True)
