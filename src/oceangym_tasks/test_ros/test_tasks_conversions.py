"""Goal, state and score as messages."""

from __future__ import annotations

import json
import math

import pytest

pytest.importorskip('rclpy')

import numpy as np
from oceangym_msgs.msg import TaskState as TaskStateMessage
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import Image

from oceangym_core.assets import assets_root
from oceangym_core.contract.decisions import Refusal
from oceangym_core.record.decibels import from_decibel_bytes
from oceangym_tasks.nodes import conversions
from oceangym_tasks.nodes.recorder_node import decibel_image
from oceangym_tasks.task_manager import TaskGoal, TaskState, TaskStatus

pytestmark = pytest.mark.ros

GOAL = TaskGoal(
    task_id='search_ship',
    title='Search',
    category='detection',
    instruction='Find it.',
    target_label='SUNKEN SHIP',
    target_name='ship',
    target_description='A wreck.',
    reference_image=str(assets_root() / 'config' / 'tasks' / 'images' / 'ship.png'),
    bounds_polygon=((0.0, 0.0), (10.0, 0.0), (10.0, 5.0), (0.0, 5.0)),
    z_min=-100.0,
    z_max=5.0,
    t_max=1800.0,
    t_interval=30.0,
    number_of_targets=2,
)


def test_the_goal_names_no_place_but_the_bounds():
    message = conversions.goal_message(GOAL, 0.0)
    assert message.header.frame_id == 'odom'
    assert [(p.x, p.y) for p in message.bounds] == list(GOAL.bounds_polygon)
    assert message.reference_image == 'config/tasks/images/ship.png'
    assert (message.target_count, message.t_max) == (2, 1800.0)


@pytest.mark.parametrize('state', list(TaskState))
def test_every_state_has_its_constant(state):
    status = TaskStatus(state=state, step=3, elapsed=90.0, remaining=1710.0, ending='')
    message = conversions.state_message(status, 90.0, epoch_ns=31_000_000_000)
    assert message.state == getattr(TaskStateMessage, state.name)
    assert (message.step, message.elapsed, message.remaining) == (3, 90.0, 1710.0)
    assert (message.header.stamp.sec, message.epoch.sec) == (121, 31)


def test_every_refusal_has_its_code():
    assert set(conversions.REFUSALS) == set(Refusal)
    assert len(set(conversions.REFUSALS.values())) == len(Refusal)


def test_an_unscored_episode_is_nan_and_never_zero():
    message = conversions.score_message(None, task_id='x', ending='error', stamp=0.0)
    assert not message.scored
    assert math.isnan(message.verified)
    assert math.isnan(message.paper)
    assert message.json == ''


def test_a_score_is_carried_whole():
    score = {
        'partial': False,
        'scorers': {
            'verified': {'status': 'scored', 'score': 60.0, 'true_finds': 1, 'false_finds': 2},
            'paper': {'status': 'scored', 'score': 39.88},
            'compat': {'status': 'unscored', 'score': None},
        },
        'path': {'length_m': 12.5},
        'safety': {'collisions': 3},
    }
    message = conversions.score_message(score, task_id='x', ending='time', stamp=1800.0)
    assert (message.verified, message.finds_true, message.finds_false) == (60.0, 1, 2)
    assert message.paper == pytest.approx(39.88, abs=1e-5)
    assert math.isnan(message.compat)
    assert (message.path_length, message.collisions) == (12.5, 3)
    assert json.loads(message.json) == score


def test_text_hovers_over_the_vehicle_wherever_it_goes():
    marker = conversions.text_marker('dock: running\nstep 3')
    assert (marker.type, marker.action) == (marker.TEXT_VIEW_FACING, marker.ADD)
    assert marker.header.frame_id == 'base_link' and marker.frame_locked
    assert (marker.header.stamp.sec, marker.header.stamp.nanosec) == (0, 0)
    assert marker.pose.position.z > marker.scale.z > 0
    assert marker.color.a == 1.0
    assert marker.text == 'dock: running\nstep 3'


def test_a_recorded_polar_image_is_the_float_one_to_a_quarter_of_a_decibel():
    polar = np.geomspace(2e-6, 1.0, 12, dtype=np.float32).reshape(3, 4)
    image = Image(height=3, width=4, encoding='32FC1', step=16)
    image.header.frame_id = 'sonar_front_frame'
    image.header.stamp.sec = 30
    image.data = polar.tobytes()
    small = deserialize_message(decibel_image(bytes(serialize_message(image))), Image)
    assert (small.encoding, small.step, small.header) == ('mono8', 4, image.header)
    back = from_decibel_bytes(np.frombuffer(small.data, np.uint8).reshape(3, 4))
    assert np.abs(10 * np.log10(back / polar)).max() <= 0.251
