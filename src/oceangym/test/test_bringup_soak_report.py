"""The soak's verdict: whatever is lost, off, cut short or altered is found."""

from __future__ import annotations

import numpy as np
import pytest

from soak_report import compare, due_stamps, incomplete_instants, is_good, is_image, recorded, Soak

MANEUVER_END_US = 7_520_000
EPOCH_US = 31_000_000


def perfect(record: str = 'light') -> Soak:
    """A soak of 12 s with one maneuver, as it should be."""
    soak = Soak(
        minutes=0.2, record=record, rtf=1.0, ends=[EPOCH_US + MANEUVER_END_US], epoch=EPOCH_US
    )
    for name, due in due_stamps(soak).items():
        stamps = np.array(sorted(due), np.int64) * 1000
        checksums = np.arange(len(stamps))
        soak.heard[name] = np.stack([stamps, stamps + 5, checksums], axis=1)
        if name in recorded(record):
            soak.kept[name] = np.stack([stamps, checksums], axis=1)
    return soak


def bad_lines(soak: Soak) -> dict[str, tuple[int, int, int]]:
    return {s.name: (s.lost, s.extra, s.differing) for s in compare(soak) if not s.good}


@pytest.mark.parametrize('record', ['light', 'full'])
def test_what_is_due_follows_the_rates_of_realtime_mode(record):
    soak = perfect(record)
    due = {name: len(stamps) for name, stamps in due_stamps(soak).items()}
    assert sum(is_image(name) for name in due) == 6 * 3 + 6 * 2
    # Observation 0, twelve whole seconds and the maneuver's end.
    assert due['camera/front/image_raw'] == due['sonar/down/polar'] == due['trajectory'] == 14
    assert (due['imu'], due['/clock']) == (600, 601)
    # The maneuver's end lies between two odometries; its altitude, between two altitudes.
    assert due['odometry'] == 10 * 12 + 2
    assert due['altitude'] == 5 * 12 + 2
    assert due['thrusters'] == 12
    assert is_good(soak)
    kept = [line.name for line in compare(soak) if line.kept >= 0]
    assert ('camera/front/image_raw' in kept) == (record == 'full')


def test_an_image_that_nobody_heard_is_lost_and_its_instant_incomplete():
    soak = perfect()
    soak.heard['sonar/left/fan'] = soak.heard['sonar/left/fan'][:-1]
    assert bad_lines(soak) == {'sonar/left/fan': (1, 0, 0)}
    assert incomplete_instants(soak) == 1
    assert not is_good(soak)


def test_a_stream_that_is_not_there_is_lost_altogether():
    soak = perfect()
    del soak.heard['imu'], soak.kept['camera/up/camera_info']
    assert bad_lines(soak) == {'imu': (600, 0, 0), 'camera/up/camera_info': (14, 0, 0)}


def test_a_stamp_off_the_second_is_lost_and_surplus():
    soak = perfect()
    soak.heard['camera/back/image_raw'][3, 0] += 20_000_000
    assert bad_lines(soak) == {'camera/back/image_raw': (1, 1, 0)}
    assert incomplete_instants(soak) == 2


def test_a_bag_that_holds_other_bytes_is_found():
    soak = perfect()
    soak.kept['odometry'][7, 1] += 1
    assert bad_lines(soak) == {'odometry': (0, 0, 1)}
    # A polar image is recorded in decibels, and its bytes are not those that were heard.
    soak = perfect()
    soak.kept['sonar/up/polar'][:, 1] += 1
    assert is_good(soak)
    soak = perfect('full')
    soak.kept['sonar/up/polar'][:, 1] += 1
    assert bad_lines(soak) == {'sonar/up/polar': (0, 0, 14)}
