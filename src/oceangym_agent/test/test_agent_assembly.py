"""Observations put together from messages in any order."""

from __future__ import annotations

import itertools

import numpy as np

from oceangym_agent.assembly import ObservationAssembler
from oceangym_core.geometry import Pose
from oceangym_core.observation import NavigationState

NAVIGATION = NavigationState(
    stamp=30.0,
    pose=Pose(),
    linear_velocity=(0.0, 0.0, 0.0),
    angular_velocity=(0.0, 0.0, 0.0),
    position_sigma=(0.0, 0.0, 0.0),
    depth=0.0,
    altitude=1.0,
    battery=1.0,
)
MESSAGES = (
    ('camera', 'front', np.full((2, 2, 3), 7, np.uint8)),
    ('polar', 'down', np.full((4, 3), 0.5, np.float32)),
    ('fan', 'down', np.full((4, 5), 9, np.uint8)),
    ('stream', 'odometry', None),
)


def assembler() -> ObservationAssembler:
    return ObservationAssembler(cameras=['front'], sonars=['down'], streams=['odometry'])


def test_it_is_complete_only_once_all_show_one_instant_in_any_order():
    for order in itertools.permutations(MESSAGES):
        parts = assembler()
        for kind, name, image in MESSAGES:
            parts.put(kind, name, 0, image)
        assert parts.complete_at(0) == 0
        for kind, name, image in order[:-1]:
            parts.put(kind, name, 30, image)
            assert parts.complete_at(30) is None
        kind, name, image = order[-1]
        assert parts.missing(30) == (f'{kind}/{name}',)
        parts.put(kind, name, 30, image)
        assert parts.complete_at(30) == 30


def test_an_instant_that_overtakes_another_does_not_mix_with_it():
    parts = assembler()
    for kind, name, image in MESSAGES[:3]:
        parts.put(kind, name, 30, image)
    # The next instant begins before the last stream of this one has arrived.
    parts.put('camera', 'front', 60, MESSAGES[0][2])
    parts.put('stream', 'odometry', 30)
    assert parts.complete_at(30) is None
    assert parts.missing(30) == ('camera/front',)


def test_the_observation_holds_the_images():
    parts = assembler()
    for kind, name, image in MESSAGES:
        parts.put(kind, name, 30, image)
    seen = parts.observation(index=4, navigation=NAVIGATION, sonar_geometry={})
    assert seen.index == 4
    assert seen.stamp == 30.0
    assert seen.cameras['front'].shape == (2, 2, 3)
    assert seen.sonars['down'].polar.dtype == np.float32
    assert seen.sonars['down'].fan[0, 0] == 9


def test_without_images_the_navigation_stands_alone():
    parts = ObservationAssembler(cameras=[], sonars=[], streams=[])
    assert parts.complete_at(1234) == 1234
