"""Values to messages and back: nothing is lost on the way."""

from __future__ import annotations

from dataclasses import replace
import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point
from oceangym_msgs.msg import Decision as DecisionMessage
from rclpy.qos import DurabilityPolicy, qos_check_compatible, QoSCompatibility, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message

from oceangym_core.contract.actions import Action, Course, EndReason, STRAIGHT
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import Contact, ManeuverResult, Sighting, StepTruth
from oceangym_core.contract.topics import CONTRACT, Delivery
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.nodes import conversions
from oceangym_core.nodes.node import message_type
from oceangym_core.nodes.qos import (
    LIVELINESS_LEASE,
    publisher_qos,
    reader_qos,
    recorder_qos,
    with_liveliness,
)
from oceangym_core.record.bag import stamp_in_cdr

pytestmark = pytest.mark.ros

finite = st.floats(-1e6, 1e6)


def over_the_wire(message):
    return deserialize_message(serialize_message(message), type(message))


@given(st.integers(0, 2**31 - 1), st.integers(0, 36000 * 20))
def test_a_stamp_on_a_tick_is_exact(seconds, ticks):
    time = ticks * 0.05
    stamp = conversions.stamp_of(time)
    assert conversions.nanoseconds_of(stamp) == ticks * 50_000_000
    assert conversions.seconds_of(stamp) == pytest.approx(time, abs=1e-9)
    assert conversions.stamp_of(float(seconds)).nanosec == 0


@given(finite, finite, finite, st.floats(-math.pi, math.pi))
def test_a_pose_survives(x, y, z, yaw):
    pose = Pose.from_euler((x, y, z), 0.1, -0.2, yaw)
    assert conversions.pose_of_message(over_the_wire(conversions.pose_message(pose))) == pose


def test_a_decision_survives():
    decision = Decision(
        index=3,
        action=Action.ROTATE_LEFT,
        magnitude=13.37,
        description='a pipe \u2192 port',
        finds=('OIL PIPELINE',),
        raw_reply='{"x": 1}',
        invalid_replies=2,
        tokens_in=10,
        tokens_out=4,
        cost=0.0125,
        latency_s=1.5,
        notes=('request edited: seed was left out',),
    )
    message = conversions.decision_message(decision, agent='survey', stamp=90.0)
    assert message.agent == 'survey'
    assert message.header.frame_id == 'odom'
    assert conversions.decision_of(over_the_wire(message)) == decision
    go = replace(decision, action=Action.GO, course=Course(turn_deg=-30.5, altitude_m=8.0))
    message = over_the_wire(conversions.decision_message(go, agent='mllm', stamp=90.0))
    assert conversions.decision_of(message) == go
    # An agent that knows nothing of courses leaves the fields alone.
    message = over_the_wire(DecisionMessage(action='forward', magnitude=5.0))
    assert conversions.decision_of(message).course == STRAIGHT


def test_no_magnitude_is_nan_and_back():
    decision = Decision(index=0, action=Action.FORWARD)
    message = conversions.decision_message(decision, agent='idle', stamp=0.0)
    assert math.isnan(message.magnitude)
    assert conversions.decision_of(message).magnitude is None


def test_reports_are_the_finds_of_a_decision_message():
    report = FindReport(label='SHIP', position=(1.0, 2.0, -3.0), sigma=4.0, sensor='sonar')
    message = conversions.decision_message(
        Decision(index=0, action=Action.HOLD), agent='a', stamp=0.0, reports=[report]
    )
    (find,) = message.finds
    assert (find.label, find.has_position, find.position) == (
        'SHIP',
        True,
        Point(x=1.0, y=2.0, z=-3.0),
    )
    assert (find.sigma, find.sensor) == (4.0, 'sonar')


def test_an_unknown_action_in_a_message_is_refused_by_name():
    with pytest.raises(OceanGymError, match="Did you mean 'forward'"):
        conversions.decision_of(DecisionMessage(action='foward'))


def test_the_truth_of_a_step_survives_whole():
    truth = StepTruth(
        index=2,
        stamp=60.0,
        pose=Pose.from_euler((1.25, -2.5, -60.0), 0.0, 0.1, 2.0),
        trajectory=np.arange(24, dtype=float).reshape(3, 8),
        sightings=(Sighting(anchor='sunken_ship_1', sensor='sonar/down', cells=5),),
        contacts=(Contact(stamp=31.5, instance='boulder_3', speed=0.25),),
        standoff_events=1,
        standoff_seconds=12.35,
        boundary_events=1,
        image_hashes={'camera/front': 'ab', 'sonar/up': 'cd'},
    )
    maneuver = ManeuverResult(
        action=Action.LEFT,
        requested=500.0,
        applied=17.2,
        saturated=True,
        end_reason=EndReason.BOUNDS,
        t_start=30.0,
        t_end=60.0,
    )
    estimate = Pose.from_euler((7.0, 8.0, -60.0), 0.0, 0.0, 1.0)
    navigation = conversions.navigation_of(
        estimate, stamp=60.0, sigma=(0.1, 0.2, 0.3), battery=0.5
    )
    epoch_ns = 1831 * 10**9
    message = over_the_wire(
        conversions.step_truth_message(truth, navigation, maneuver, epoch_ns=epoch_ns)
    )
    assert conversions.epoch_of(message) == epoch_ns
    stamps = [m.header.stamp.sec for m in (message, *message.collisions)]
    assert stamps == [1831 + 60, 1831 + 31]
    back = conversions.step_truth_of(message)
    assert np.array_equal(back.trajectory, truth.trajectory)
    for name in ('index', 'stamp', 'pose', 'sightings', 'contacts', 'standoff_events'):
        assert getattr(back, name) == getattr(truth, name), name
    assert back.standoff_seconds == truth.standoff_seconds
    assert back.image_hashes == truth.image_hashes
    assert conversions.maneuver_of(message) == maneuver
    flown = replace(
        maneuver,
        action=Action.GO,
        course=Course(turn_deg=40.0, climb_m=-3.0),
        turned_deg=40.1,
        climbed_m=-2.5,
    )
    sent = over_the_wire(conversions.step_truth_message(truth, navigation, flown))
    assert conversions.maneuver_of(sent) == flown
    recorded = conversions.step_navigation_of(message)
    assert (recorded.pose, recorded.position_sigma) == (estimate, (0.1, 0.2, 0.3))
    assert recorded.battery == 0.5


def test_the_observation_after_a_reset_has_no_maneuver():
    truth = StepTruth(index=0, stamp=0.0, pose=Pose(), trajectory=np.zeros((1, 8)))
    navigation = conversions.navigation_of(Pose(), stamp=0.0, sigma=(0, 0, 0), battery=1.0)
    message = conversions.step_truth_message(truth, navigation, None)
    assert conversions.maneuver_of(message) is None


def test_a_position_that_is_not_finite_is_refused():
    with pytest.raises(OceanGymError, match='finite'):
        conversions.finite_point(Point(x=math.inf))


@pytest.mark.parametrize('delivery', list(Delivery))
def test_whoever_offers_reaches_whoever_asks(delivery):
    for asked in (reader_qos(delivery), recorder_qos(delivery)):
        for offered in (publisher_qos(delivery), with_liveliness(publisher_qos(delivery))):
            verdict, reason = qos_check_compatible(offered, asked)
            assert verdict is not QoSCompatibility.ERROR, reason
    # Best-effort subscribers of other people's tools match every topic that we publish.
    assert publisher_qos(delivery).reliability is ReliabilityPolicy.RELIABLE
    kept = publisher_qos(delivery).durability is DurabilityPolicy.TRANSIENT_LOCAL
    states = (Delivery.LATCHED, Delivery.FROZEN, Delivery.EVENT)
    assert kept == (delivery in states)


def test_a_watched_publisher_offers_a_lease():
    profile = with_liveliness(publisher_qos(Delivery.LATCHED))
    assert profile.liveliness_lease_duration == LIVELINESS_LEASE


def test_every_type_of_the_contract_is_installed_and_shows_its_stamp_in_cdr():
    for stream in CONTRACT:
        message = message_type(stream.type)()
        expected = None
        if hasattr(message, 'header'):
            message.header.stamp = conversions.stamp_of(12.345678901)
            expected = 12_345_678_901
        elif stream.name == '/clock':
            message.clock = conversions.stamp_of(12.345678901)
            expected = 12_345_678_901
        elif stream.type == 'std_msgs/msg/Header':
            continue
        found = stamp_in_cdr(stream.type, bytes(serialize_message(message)))
        assert found == expected, stream.name


def test_the_stamp_of_transforms_is_the_first_ones():
    from geometry_msgs.msg import TransformStamped
    from tf2_msgs.msg import TFMessage

    message = TFMessage(transforms=[TransformStamped(header=conversions.header_of(2.5, 'odom'))])
    data = bytes(serialize_message(message))
    assert stamp_in_cdr('tf2_msgs/msg/TFMessage', data) == 2_500_000_000
    assert stamp_in_cdr('tf2_msgs/msg/TFMessage', bytes(serialize_message(TFMessage()))) is None
