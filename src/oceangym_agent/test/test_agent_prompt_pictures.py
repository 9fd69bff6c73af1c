"""Fans and sheets for models: echoes where the geometry puts them, legible at any size."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
import pytest

from oceangym_agent.prompts.pictures import draw_fan, PAPER, ring_ranges, sheet
from oceangym_core.contract.actions import sonar_orientation
from oceangym_core.contract.observation import SonarPing, SonarSpec
from oceangym_core.geometry import Pose


def sonar(
    direction: str = 'front', aperture_deg: float = 120.0, range_max: float = 30.0
) -> SonarSpec:
    return SonarSpec(
        direction=direction,
        mount=Pose.of((0, 0, 0), sonar_orientation(direction)),
        azimuth_aperture=math.radians(aperture_deg),
        range_max=range_max,
    )


def ping(spec: SonarSpec, distance: float | None = None, azimuth: float = 0.0) -> SonarPing:
    """Return silence, or an echo of 1 m by 4 deg at a range [m] and azimuth [rad]."""
    polar = np.zeros((spec.range_bins, spec.beams), np.float32)
    if distance is not None:
        ranges = spec.range_min + (np.arange(spec.range_bins) + 0.5) * spec.range_resolution
        near = np.abs(ranges - distance) < 0.5
        polar[np.ix_(near, np.abs(spec.azimuths - azimuth) < math.radians(2.0))] = 1.0
    return SonarPing(polar=polar, fan=np.zeros((8, 8), np.uint8))


def brightest(fan: NDArray[np.uint8]) -> NDArray[np.float64]:
    """Return row and column of the middle of the echo."""
    white = (fan == 255).all(axis=-1)
    assert white.any()
    return np.argwhere(white).mean(axis=0)


@pytest.mark.parametrize('size', [256, 512, 1024])
@pytest.mark.parametrize('aperture_deg', [60.0, 120.0, 180.0, 360.0])
def test_an_echo_is_drawn_at_its_range_and_bearing(aperture_deg: float, size: int) -> None:
    spec = sonar(aperture_deg=aperture_deg)
    places = {
        (d, a): brightest(draw_fan(ping(spec, d, a), spec, size=size))
        for d, a in ((10.0, 0.1), (20.0, 0.1), (20.0, 0.4), (20.0, -0.4))
    }
    # One ray: twice the range is twice as far from the apex.
    near, far = places[10.0, 0.1], places[20.0, 0.1]
    apex = 2 * near - far
    scale = np.linalg.norm(far - near) / 10.0
    for (distance, azimuth), at in places.items():
        up, right = apex[0] - at[0], at[1] - apex[1]
        assert math.hypot(up, right) / scale == pytest.approx(distance, abs=0.4)
        # Port, a positive azimuth, is on the left; the apex is known to about two pixels.
        error = math.radians(1.0) + 2.0 / (distance * scale)
        assert math.atan2(-right, up) == pytest.approx(azimuth, abs=error)


@pytest.mark.parametrize('size', [128, 384, 512])
@pytest.mark.parametrize('aperture_deg', [30.0, 120.0, 200.0, 360.0])
def test_the_longest_side_is_as_asked(aperture_deg: float, size: int) -> None:
    spec = sonar(aperture_deg=aperture_deg)
    fan = draw_fan(ping(spec), spec, size=size)
    assert size - 3 <= max(fan.shape[:2]) <= size
    assert fan.dtype == np.uint8 and fan.shape[2] == 3


def test_a_thin_echo_survives_in_a_small_picture() -> None:
    """An echo of a single range bin, 6 cm, is a fraction of a pixel."""
    spec = sonar()
    polar = np.zeros((spec.range_bins, spec.beams), np.float32)
    polar[300, 250:262] = 1.0
    fan = draw_fan(SonarPing(polar=polar, fan=np.zeros((8, 8), np.uint8)), spec, size=192)
    assert fan.min(axis=-1).max() > 180


def test_rings_are_round_and_few() -> None:
    assert ring_ranges(30.0) == [5.0, 10.0, 15.0, 20.0, 25.0, 30.0]
    assert ring_ranges(40.0) == [10.0, 20.0, 30.0, 40.0]
    for range_max in (1.0, 3.3, 12.0, 55.0, 120.0, 900.0):
        rings = ring_ranges(range_max)
        assert 1 <= len(rings) <= 9 and rings[-1] <= range_max
    spec = sonar()
    drawn = draw_fan(ping(spec), spec, size=512)
    # Lines are smoothed into the picture: what is not grey is drawn.
    assert (drawn[..., 0].astype(int) - drawn[..., 2] > 30).sum() > 1000


@pytest.mark.parametrize('direction', ['front', 'left', 'back', 'right', 'up', 'down'])
def test_fans_differ_in_their_labels_only(direction: str) -> None:
    spec = sonar(direction)
    fan = draw_fan(ping(spec, 15.0, 0.0), spec)
    front = draw_fan(ping(sonar(), 15.0, 0.0), sonar())
    assert brightest(fan) == pytest.approx(brightest(front))
    assert np.array_equal(fan, front) == (direction == 'front')


def test_a_sheet_keeps_order_and_proportions() -> None:
    colours = {'a': (200, 0, 0), 'b': (0, 200, 0), 'c': (0, 0, 200), 'd': (200, 200, 0)}
    images = {n: np.full((90, 120, 3), c, np.uint8) for n, c in colours.items()}
    page = sheet(images, ('d', 'c', 'x', 'b', 'a'), size=600)
    # Three columns of 200 px, two rows of 150.
    assert page.shape == (300, 600, 3)
    for name, (row, column) in {'d': (0, 0), 'c': (0, 1), 'b': (0, 2), 'a': (1, 0)}.items():
        middle = page[row * 150 + 100, column * 200 + 150]
        assert tuple(middle) == colours[name]
    assert tuple(page[250, 500]) == PAPER
    grey = sheet({'a': np.full((50, 50), 7, np.uint8)}, ('a',), size=100, tags=False)
    assert (grey == 7).all()
    with pytest.raises(ValueError, match='at least one'):
        sheet({}, ('a',), size=100)
