"""Detector notes and search suggestions: from what is perceived, within the bounds."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest

from oceangym_agent.aids.hints import detector_text, sonar_place, suggest
from oceangym_agent.memory.coverage import CoverageMap
from oceangym_agent.memory.window import vector_text
from oceangym_agent.replies.reply import ReplyStyle
from oceangym_core.contract.actions import Action, sonar_orientation
from oceangym_core.contract.observation import NavigationState, Observation, SonarPing, SonarSpec
from oceangym_core.geometry import Pose

BOUNDS = ((0.0, 0.0), (400.0, 0.0), (400.0, 200.0), (0.0, 200.0))
POSE = Pose.from_euler((60.0, 80.0, -50.0), 0.0, 0.0, math.radians(90.0))
LIMITS = {'z_min': -100.0, 'z_max': 5.0, 'reach': 19.5}


def observation(*, altitude: float = 10.0, pose: Pose = POSE) -> Observation:
    navigation = NavigationState(
        stamp=0.0,
        pose=pose,
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.0, 0.0, 0.0),
        depth=-pose.position[2],
        altitude=altitude,
        battery=1.0,
    )
    return Observation(index=0, stamp=0.0, navigation=navigation)


def with_ball(seen: Observation, direction: str, distance: float, azimuth: float) -> Observation:
    """Return the observation with one round echo of 0.8 m radius before one sonar."""
    spec = SonarSpec(direction=direction, mount=Pose.of((0, 0, 0), sonar_orientation(direction)))
    polar = 10**-5.8 * np.random.default_rng(1).standard_exponential((spec.range_bins, spec.beams))
    ranges = spec.range_min + (np.arange(spec.range_bins) + 0.5) * spec.range_resolution
    ahead = ranges[:, None] * np.cos(spec.azimuths) - distance * math.cos(azimuth)
    port = ranges[:, None] * np.sin(spec.azimuths) - distance * math.sin(azimuth)
    polar[np.hypot(ahead, port) < 0.8] = 0.3
    ping = SonarPing(polar=polar.astype(np.float32), fan=np.zeros((8, 8), np.uint8))
    return replace(seen, sonars={direction: ping}, sonar_geometry={direction: spec})


def fresh() -> CoverageMap:
    coverage = CoverageMap(BOUNDS)
    coverage.visit(POSE.position)
    return coverage


@pytest.mark.parametrize(
    ('direction', 'azimuth', 'bearing_deg'),
    [('front', 0.3, 17.2), ('left', -0.2, 78.5), ('right', 0.2, -78.5), ('back', 0.1, -174.3)],
)
def test_a_contact_is_placed_in_odom(direction: str, azimuth: float, bearing_deg: float) -> None:
    """The bow points along +y: a bearing b lies at the heading 90 + b."""
    seen = with_ball(observation(), direction, 14.0, azimuth)
    text = detector_text(seen)
    told_deg = float(
        text.removeprefix(f'- {direction}: compact sonar contact, bearing ').split()[0]
    )
    assert told_deg == pytest.approx(bearing_deg, abs=1.0)
    heading = math.radians(90.0 + bearing_deg)
    place = sonar_place(POSE, direction, 14.0, azimuth)
    expected = (60 + 14 * math.cos(heading), 80 + 14 * math.sin(heading), -50.0)
    assert place == pytest.approx(expected, abs=0.05)
    told = [float(v) for v in text.split('about at [')[1].split(']')[0].split(',')]
    assert told == pytest.approx(expected, abs=0.4)
    assert vector_text(told) in text


def test_paint_is_noted_water_and_the_surface_are_not() -> None:
    water = np.full((256, 256, 3), (30, 110, 140), np.uint8)
    painted = water.copy()
    painted[90:170, 90:170] = (220, 110, 30)
    assert detector_text(replace(observation(), cameras={'front': water})) == (
        'nothing out of the ordinary'
    )
    text = detector_text(replace(observation(), cameras={'left': painted, 'up': painted}))
    assert text.startswith('- left: ') and text.endswith('% of the image is not water-coloured')


@pytest.mark.parametrize(('altitude', 'climb'), [(3.0, 7.0), (4.9, 5.1)])
def test_near_the_bottom_it_climbs_first(altitude: float, climb: float) -> None:
    found = suggest(observation(altitude=altitude), fresh(), **LIMITS)
    assert (found.action, found.magnitude) == (Action.UP, pytest.approx(climb))
    assert 'above the bottom' in found.in_words()
    assert found.in_words().startswith('up ')
    assert found.in_words(ReplyStyle.MARKERS).startswith('ascend ')


def test_an_obstacle_ahead_comes_before_everything() -> None:
    near = with_ball(observation(altitude=40.0), 'front', 8.0, 0.0)
    found = suggest(near, fresh(), **LIMITS)
    assert (found.action, found.magnitude) == (Action.UP, 10.0)
    assert 'ahead' in found.reason
    far = with_ball(observation(), 'front', 16.0, 0.0)
    assert suggest(far, fresh(), **LIMITS).action is not Action.UP


def test_it_never_leaves_the_water_or_the_floor_of_the_bounds() -> None:
    shallow = Pose((60.0, 80.0, -3.5))
    found = suggest(observation(altitude=2.0, pose=shallow), fresh(), **LIMITS)
    assert found.action is not Action.UP
    deep = Pose((60.0, 80.0, -91.0))
    found = suggest(observation(altitude=math.inf, pose=deep), fresh(), **LIMITS)
    assert found.action is not Action.DOWN


@pytest.mark.parametrize('altitude', [25.0, math.inf])
def test_high_above_the_bottom_it_goes_down_to_where_it_is_seen(altitude: float) -> None:
    found = suggest(observation(altitude=altitude), fresh(), **LIMITS)
    assert found.action is Action.DOWN
    assert found.magnitude == pytest.approx(min(altitude - 10.0, 19.5))


def test_a_leg_is_one_maneuver_towards_unseen_water() -> None:
    coverage = fresh()
    found = suggest(observation(), coverage, **LIMITS)
    assert found.action in (Action.ROTATE_LEFT, Action.ROTATE_RIGHT, Action.FORWARD)
    unit = 'm' if found.action is Action.FORWARD else 'deg'
    assert found.in_words().startswith(f'{found.action.value} {found.magnitude:g} {unit}: ')
    assert 0 < found.magnitude <= 180.0
    coverage.seen[:] = True
    assert suggest(observation(), coverage, **LIMITS).in_words() == 'hold: the whole area was seen'
