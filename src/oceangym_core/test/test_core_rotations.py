import math

import numpy as np
import pytest

from oceangym_core.contract.actions import (
    DIRECTIONS,
    optical_orientation,
    SENSOR_AXES,
    sonar_orientation,
)
from oceangym_core.geometry import (
    euler_from_quaternion,
    Pose,
    quaternion_from_euler,
    quaternion_from_matrix,
    rotation_matrix,
    wrap_angle,
)


@pytest.mark.parametrize('pitch', [0.0, 0.4, -1.2, 1.5707, math.pi / 2, -math.pi / 2])
@pytest.mark.parametrize(('roll', 'yaw'), [(0.0, 0.0), (0.3, 0.7), (-2.0, 3.0)])
def test_angles_and_quaternions_describe_one_rotation(
    roll: float, pitch: float, yaw: float
) -> None:
    quaternion = quaternion_from_euler(roll, pitch, yaw)
    matrix = rotation_matrix(quaternion)
    assert rotation_matrix(quaternion_from_euler(*euler_from_quaternion(quaternion))) == (
        pytest.approx(matrix, abs=1e-6)
    )
    assert rotation_matrix(quaternion_from_matrix(matrix)) == pytest.approx(matrix, abs=1e-12)


def test_yaw_turns_ahead_towards_port() -> None:
    # REP-103: x ahead, y port, z up; a positive yaw of 90 deg points the bow to the old port side.
    pose = Pose.from_euler((1.0, 2.0, 3.0), 0.0, 0.0, math.pi / 2)
    assert pose.apply((1.0, 0.0, 0.0)) == pytest.approx([1.0, 3.0, 3.0])
    assert (pose.inverse() @ pose).position == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_sensor_frames_look_along_their_boresight(direction: str) -> None:
    forward, up = (np.array(axis) for axis in SENSOR_AXES[direction])
    optical = rotation_matrix(optical_orientation(direction))
    assert optical[:, 2] == pytest.approx(forward) and -optical[:, 1] == pytest.approx(up)
    sonar = rotation_matrix(sonar_orientation(direction))
    assert sonar[:, 2] == pytest.approx(forward) and sonar[:, 0] == pytest.approx(up)
    # Both are right-handed: nothing is mirrored.
    assert np.linalg.det(optical) == pytest.approx(1.0)
    assert np.linalg.det(sonar) == pytest.approx(1.0)


def test_angles_wrap_into_one_turn() -> None:
    assert wrap_angle(3 * math.pi) == pytest.approx(math.pi)
    assert wrap_angle(-math.pi) == pytest.approx(math.pi)
    assert wrap_angle(7.0) == pytest.approx(7.0 - 2 * math.pi)
