"""Returns told from polar images of known geometry: bearing within a beam, range within a bin."""

from __future__ import annotations

import math
import re

import numpy as np
from numpy.typing import NDArray
import pytest

from oceangym_agent.aids.hints import sonar_place
from oceangym_agent.aids.sonar_text import (
    bearing_text,
    BORESIGHT,
    describe_sonars,
    find_returns,
    SonarReturn,
)
from oceangym_core.contract.actions import DIRECTIONS, SENSOR_AXES, sonar_orientation
from oceangym_core.contract.observation import SonarPing, SonarSpec
from oceangym_core.geometry import Pose

NOISE = 10 ** (-58 / 10)


def sonar(direction: str = 'front', **changes: float) -> SonarSpec:
    return SonarSpec(
        direction=direction,
        mount=Pose.of((0, 0, 0), sonar_orientation(direction)),
        **changes,  # type: ignore[arg-type]
    )


class Scene:
    """A mean image to which echoes are added, and its speckled ping."""

    def __init__(self, spec: SonarSpec, floor: float = NOISE) -> None:
        self.spec = spec
        self.mean: NDArray[np.float64] = np.full((spec.range_bins, spec.beams), floor)
        ranges = spec.range_min + (np.arange(spec.range_bins) + 0.5) * spec.range_resolution
        self.range, self.azimuth = np.meshgrid(ranges, spec.azimuths, indexing='ij')
        self.ahead = self.range * np.cos(self.azimuth)
        self.port = self.range * np.sin(self.azimuth)

    def ball(self, distance: float, azimuth: float, radius: float, power: float = 0.3) -> Scene:
        x, y = distance * math.cos(azimuth), distance * math.sin(azimuth)
        self.mean[np.hypot(self.ahead - x, self.port - y) < radius] += power
        return self

    def seabed(self, start: float, power: float) -> Scene:
        """Return the scene with reverberation that falls with range, from `start` [m] on."""
        ground = self.range > start
        self.mean[ground] += power * (start / self.range[ground]) ** 2
        return self

    def shadow(self, distance: float, azimuth: float, half_width: float, length: float) -> Scene:
        behind = (np.abs(self.azimuth - azimuth) < half_width / distance) & (
            (self.range > distance) & (self.range < distance + length)
        )
        self.mean[behind] = NOISE
        return self

    def ping(self, seed: int = 3) -> SonarPing:
        speckle = np.random.default_rng(seed).standard_exponential(self.mean.shape)
        polar = np.minimum(self.mean * speckle, 1.0).astype(np.float32)
        return SonarPing(polar=polar, fan=np.zeros((8, 8), np.uint8))


@pytest.mark.parametrize('azimuth_deg', [-57.0, -31.0, -4.0, 0.0, 22.0, 56.0])
@pytest.mark.parametrize('distance', [3.0, 11.0, 28.0])
def test_a_ball_is_told_within_a_beam_and_a_bin(distance: float, azimuth_deg: float) -> None:
    spec, azimuth = sonar(), math.radians(azimuth_deg)
    radius = 0.06 * distance if distance < 5 else 0.5
    (found,) = find_returns(Scene(spec).ball(distance, azimuth, radius).ping(), spec)
    beam = spec.azimuth_aperture / (spec.beams - 1)
    # The speckled centre of an ellipse of a beams by b bins (half axes) scatters by a / 2 over the
    # root of its pi a b cells: 0.28 beams times the root of a bin's over a beam's size.
    scatter = 0.28 * math.sqrt(spec.range_resolution / (distance * beam))
    assert found.azimuth == pytest.approx(azimuth, abs=beam * max(1.0, 3 * scatter))
    assert found.range == pytest.approx(distance, abs=spec.range_resolution)
    # 35 cells of averaging blur the rim by a few cells on either side.
    blur = 6 * max(spec.range_resolution, beam * distance)
    assert found.depth == pytest.approx(2 * radius, abs=blur)
    assert found.width == pytest.approx(2 * radius, abs=blur)
    # Mean of the peak cells in decibels, speckle averaged out to about a decibel or two.
    assert found.level_db == pytest.approx(10 * math.log10(0.3), abs=2.5)


def test_two_objects_are_two_returns_the_stronger_first() -> None:
    spec = sonar()
    scene = Scene(spec).ball(12.0, 0.5, 0.5, power=0.02).ball(18.0, -0.3, 0.5, power=0.5)
    first, second = find_returns(scene.ping(), spec)
    assert (first.range, second.range) == (
        pytest.approx(18.0, abs=0.1),
        pytest.approx(12.0, abs=0.1),
    )
    assert first.contrast_db > second.contrast_db


@pytest.mark.parametrize('seed', range(6))
def test_noise_and_a_smooth_bottom_give_no_returns(seed: int) -> None:
    spec = sonar()
    assert find_returns(Scene(spec).ping(seed), spec) == ()
    slope = Scene(spec)
    slope.mean += 0.02 * np.clip((slope.range - 6.0) / 24.0, 0.0, 1.0)
    assert find_returns(slope.ping(seed), spec) == ()


def test_an_object_stands_out_of_the_bottom_behind_it_with_its_shadow() -> None:
    spec = sonar()
    scene = Scene(spec).seabed(8.0, 0.01).ball(15.0, 0.2, 0.5, power=0.5)
    plain = find_returns(scene.ping(), spec)[0]
    assert plain.range == pytest.approx(15.0, abs=0.15)
    assert plain.shadow == 0.0
    shadowed = find_returns(scene.shadow(15.5, 0.2, 0.5, 4.0).ping(), spec)[0]
    assert shadowed.range == pytest.approx(15.0, abs=0.15)
    assert shadowed.shadow == pytest.approx(4.0, abs=0.5)


def test_without_a_bottom_there_is_no_shadow_to_be_seen() -> None:
    spec = sonar()
    (found,) = find_returns(Scene(spec).ball(10.0, 0.0, 0.5).ping(), spec)
    assert found.shadow == 0.0


def test_the_vehicles_own_reverberation_is_no_return() -> None:
    spec = sonar()
    assert find_returns(Scene(spec).ball(0.5, 0.0, 0.3).ping(), spec) == ()


@pytest.mark.parametrize('shape', [(64, 16), (256, 96), (8, 4), (1, 1)])
def test_sonars_of_other_sizes(shape: tuple[int, int]) -> None:
    bins, beams = shape
    spec = sonar(range_bins=bins, beams=beams)
    found = find_returns(Scene(spec).ball(15.0, 0.1, 1.5).ping(), spec)
    if bins >= 64:
        assert found[0].range == pytest.approx(15.0, abs=2 * spec.range_resolution)


@pytest.mark.parametrize('value', [0.0, 1.0])
def test_constant_images_hold_nothing(value: float) -> None:
    spec = sonar()
    polar = np.full((spec.range_bins, spec.beams), value, np.float32)
    assert find_returns(SonarPing(polar=polar, fan=np.zeros((2, 2), np.uint8)), spec) == ()


# ------------------------------------------------------------------ words


@pytest.mark.parametrize('direction', DIRECTIONS)
@pytest.mark.parametrize('azimuth_deg', [-40.0, 0.0, 25.0])
def test_bearings_agree_with_the_place_of_the_return(direction: str, azimuth_deg: float) -> None:
    """The words are checked against the sonar frame of the contract, by way of odom."""
    azimuth = math.radians(azimuth_deg)
    place = sonar_place(Pose(), direction, 10.0, azimuth)
    text = bearing_text(direction, azimuth)
    if direction in BORESIGHT:
        bearing = math.degrees(math.atan2(place[1], place[0]))
        told = float(re.search(r'bearing ([+-]?\d+) deg', text)[1])  # type: ignore[index]
        assert math.remainder(told - bearing, 360.0) == pytest.approx(0.0, abs=0.5)
        assert place[2] == pytest.approx(0.0, abs=1e-9)
    else:
        assert text.endswith(f'straight {direction}')
        boresight = np.asarray(SENSOR_AXES[direction][0])
        off = math.degrees(math.acos(float(place @ boresight) / 10.0))
        assert off == pytest.approx(abs(azimuth_deg))
        if azimuth_deg:
            # Port is +y in the body frame.
            assert ('port' in text) == (place[1] > 0)


def test_the_boresight_bearings_are_those_of_the_contract() -> None:
    for direction, bearing in BORESIGHT.items():
        x, y, _ = SENSOR_AXES[direction][0]
        assert math.remainder(math.atan2(y, x) - bearing, 2 * math.pi) == pytest.approx(0.0)


def test_the_description_goes_through_the_sonars_in_order() -> None:
    pings, geometry = {}, {}
    for number, direction in enumerate(reversed(DIRECTIONS)):
        geometry[direction] = sonar(direction)
        scene = Scene(geometry[direction])
        if direction in ('front', 'left'):
            scene.ball(10.0 + number, 0.1, 0.6)
        pings[direction] = scene.ping(number)
    text = describe_sonars(pings, geometry)
    heads = [line.split()[0].lower() for line in text.splitlines() if not line.startswith('  ')]
    assert tuple(heads) == DIRECTIONS
    assert text.count('Nothing stands out') == 4
    assert 'compact return, bearing +6 deg, range 15.0 m' in text
    assert 'compact return, bearing +96 deg, range 13.0 m' in text
    # The ball's face is 0.6 m nearer than its middle.
    assert 'nearest solid return at 14.' in text


def test_a_long_description_loses_its_weakest_returns_first() -> None:
    spec = sonar()
    scene = Scene(spec)
    for k in range(8):
        scene.ball(6.0 + 3 * k, (-1) ** k * 0.6, 0.4, power=0.02 * 1.6**k)
    ping = scene.ping()
    whole = describe_sonars({'front': ping}, {'front': spec}, per_direction=8)
    assert whole.count('- ') == 8
    short = describe_sonars({'front': ping}, {'front': spec}, per_direction=8, max_characters=400)
    assert 0 < short.count('- ') < 8
    assert len(short) <= 400
    # The strongest one, the last, is kept.
    assert 'range 27.0 m' in short
    assert describe_sonars({'front': ping}, {'front': spec}, per_direction=2).count('- ') == 2
    assert describe_sonars({}, {}) == ''


def test_the_same_ping_gives_the_same_words() -> None:
    spec = sonar()
    ping = Scene(spec).ball(10.0, 0.3, 0.5).ping()
    texts = {describe_sonars({'front': ping}, {'front': spec}) for _ in range(3)}
    assert len(texts) == 1


def test_returns_are_values() -> None:
    (found,) = find_returns(Scene(sonar()).ball(10.0, 0.3, 0.5).ping(), sonar())
    assert isinstance(found, SonarReturn)
    assert all(type(v) is float for v in vars(found).values())
