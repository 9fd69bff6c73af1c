"""Observations put together from messages in any order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from oceangym_agent.assembly import ObservationAssembler
from oceangym_core.contract.observation import NavigationState, SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose

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


@pytest.mark.parametrize(
    ('kind', 'direction', 'image', 'word'),
    [
        # A side-scan's line, a profiler's ranges and the like, where an imaging sonar was.
        ('polar', 'down', np.zeros((1, 3), np.float32), '1 x 3 cells.*4 ranges x 3 beams'),
        ('polar', 'down', np.zeros((3, 4), np.float32), '3 x 4 cells'),
        ('polar', 'down', np.zeros((4, 3), np.uint8), 'uint8'),
        ('fan', 'down', np.zeros((4, 5, 3), np.uint8), '3 dimensions'),
        ('camera', 'front', np.zeros((2, 2), np.uint8), '2 dimensions'),
        ('camera', 'front', np.zeros((2, 2), np.float32), 'float32'),
    ],
)
def test_images_of_another_kind_of_sensor_are_refused(kind, direction, image, word):
    """Elsewhere another sonar's data was drawn as if it were an image, and looked like garbage."""
    parts = assembler()
    for a_kind, name, usual in MESSAGES:
        parts.put(a_kind, name, 0, usual)
    geometry = {
        'down': SonarSpec(direction='down', mount=Pose(), range_bins=4, beams=3),
    }
    parts.observation(index=0, navigation=NAVIGATION, sonar_geometry=geometry)
    parts.put(kind, direction, 0, image)
    with pytest.raises(OceanGymError, match=word):
        parts.observation(index=0, navigation=NAVIGATION, sonar_geometry=geometry)
