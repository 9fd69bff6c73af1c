"""The autopilot beside a Gazebo session: the test plays Gazebo, with the embedded dynamics, over DDS."""

from __future__ import annotations

from dataclasses import replace
import itertools
import math
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistStamped, Vector3
from nav_msgs.msg import Odometry
from oceangym_msgs.action import Maneuver
from oceangym_msgs.srv import Observe, Reset
from rclpy.action import ActionClient
from rclpy.clock import Clock as SteadyClock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.task import Future
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Imu
from std_msgs.msg import Float64

from oceangym.processes import ProcessSpec
from oceangym_core.assets import assets_root
from oceangym_core.config.options import RunOptions
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import Action
from oceangym_core.contract.topics import Delivery, stream
from oceangym_core.geometry import Pose, wrap_angle
from oceangym_core.nodes.conversions import pose_message, pose_of_message, vector_message
from oceangym_core.nodes.conversions import seconds_of as seconds
from oceangym_core.nodes.qos import publisher_qos
from oceangym_gazebo.nodes import gazebo_services
from oceangym_gazebo.nodes.reset_server import ResetServer
from oceangym_gazebo.session.bridge import CURRENT, IMU, ODOMETRY, thrust_topic, THRUSTERS
from oceangym_gazebo.session.vehicle import BridgedVehicle, Motion
from oceangym_sim.control.maneuver import capability
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.vehicle import load_vehicle

pytestmark = pytest.mark.ros

# The patience is for machines on which everything runs at once.
TICK, INTERVAL, PATIENCE = 0.05, 15.0, 6.0
NODE = ProcessSpec(
    package='oceangym_gazebo',
    executable='autopilot_node',
    name='autopilot',
    namespace='auv',
    parameters={
        'use_sim_time': True,
        't_interval': INTERVAL,
        'patience': PATIENCE,
        'truth': True,
        'images': False,
    },
)
# Earlier and earlier, as when a world is reset: the vehicle then begins anew where it is.
EPOCHS = itertools.count(100_000.0, -1000.0)
START = Pose.from_euler((20.0, -10.0, -40.0), 0.0, 0.0, -2.3)


def plant():
    """The embedded dynamics with Gazebo's thrusters, which follow at once."""
    vehicle = load_vehicle(assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf')
    prompt = tuple(replace(thruster, lag=1e-6) for thruster in vehicle.thrusters)
    return Dynamics(parameters=replace(vehicle, thrusters=prompt))


class Gazebo:
    """Odometry and clock out, thrust in; it waits for the answer to each sample, so no machine is
    too slow for it."""

    def __init__(self, probe):
        self.probe = probe
        node = probe.node
        # As the bridge offers and asks: reliable, ten deep, nothing kept.
        self.clock = node.create_publisher(Clock, '/clock', 10)
        self.odometry = node.create_publisher(Odometry, ODOMETRY, 10)
        self.imu = node.create_publisher(Imu, IMU, 10)
        self.newtons = [0.0] * THRUSTERS
        self.answers = [0] * THRUSTERS
        for number in range(THRUSTERS):
            node.create_subscription(
                Float64,
                thrust_topic(number + 1),
                lambda message, number=number: self.hear(number, message.data),
                10,
            )
        self.dynamics = plant()
        # Of its own: a late reader is handed what was published for the tests before.
        self.dynamics.reset(START, time=next(EPOCHS))

    def hear(self, number, newton):
        self.newtons[number] = newton
        self.answers[number] += 1

    def stamp(self):
        sec, nanosec = divmod(round(self.dynamics.time * 1e9), 1_000_000_000)
        return Time(sec=sec, nanosec=nanosec)

    def message(self):
        state = self.dynamics.vehicle()
        message = Odometry(child_frame_id='base_link')
        message.header.frame_id, message.header.stamp = 'map', self.stamp()
        message.pose.pose = pose_message(state.pose)
        message.twist.twist.linear = vector_message(state.linear_velocity)
        message.twist.twist.angular = vector_message(state.angular_velocity)
        return message

    def tell(self, message=None):
        """Send one sample and wait until every thruster has heard what to do about it."""
        before = list(self.answers)
        self.clock.publish(Clock(clock=self.stamp()))
        self.odometry.publish(self.message() if message is None else message)
        self.probe.until(lambda: all(a > b for a, b in zip(self.answers, before)))

    def step(self, until=lambda: False, seconds=math.inf):
        """Let time run until something has happened, or so many seconds."""
        end = self.dynamics.time + seconds - TICK / 2
        while not until() and self.dynamics.time < end:
            self.dynamics.step(self.newtons, 0.01, 5, newtons=True)
            self.tell()

    def wake(self):
        """Run until the autopilot has heard odometry and clock."""
        ends = (self.odometry, self.clock)
        self.probe.until(lambda: all(p.get_subscription_count() for p in ends))
        self.step(until=lambda: any(self.newtons))


@pytest.fixture
def gazebo(probe, nodes):
    played = Gazebo(probe)
    if 'autopilot' in nodes.running:
        # Its own stays up; another Gazebo has another time and another place.
        assert nodes.running['autopilot'].poll() is None
    else:
        nodes.start(NODE)
    played.wake()
    played.step(seconds=1.0)
    return played


def fly(gazebo, action, magnitude=math.nan):
    """Carry one maneuver out; return its result, the way in the heading frame, and the turn."""
    probe = gazebo.probe
    client = ActionClient(probe.node, Maneuver, 'maneuver')
    probe.until(client.server_is_ready)
    probe.acquaint('autopilot')
    before = gazebo.dynamics.vehicle().pose
    sent = client.send_goal_async(Maneuver.Goal(action=action, magnitude=magnitude))
    gazebo.step(until=sent.done)
    result = sent.result().get_result_async()
    gazebo.step(until=result.done)
    client.destroy()
    after = gazebo.dynamics.vehicle().pose
    c, s = math.cos(before.yaw), math.sin(before.yaw)
    dx, dy, dz = np.subtract(after.position, before.position)
    moved = np.array([c * dx + s * dy, c * dy - s * dx, dz])
    return result.result().result, moved, wrap_angle(after.yaw - before.yaw)


MOVES = [
    ('forward', 8.0, (8.0, 0, 0)),
    ('backward', 8.0, (-8.0, 0, 0)),
    ('left', 6.0, (0, 6.0, 0)),
    ('right', 6.0, (0, -6.0, 0)),
    ('up', 7.0, (0, 0, 7.0)),
    ('down', 7.0, (0, 0, -7.0)),
    ('hold', math.nan, (0, 0, 0)),
]


@pytest.mark.parametrize(('action', 'magnitude', 'expected'), MOVES)
def test_translations_end_where_they_should(gazebo, action, magnitude, expected):
    result, moved, turned = fly(gazebo, action, magnitude)
    assert (result.error_code, result.end_reason) == (0, 'completed')
    along = np.abs(expected) > 0
    np.testing.assert_allclose(moved[along], np.array(expected)[along], atol=0.3)
    np.testing.assert_allclose(moved[~along], 0, atol=0.1)
    assert abs(turned) < math.radians(2)
    assert result.applied == pytest.approx(np.abs(expected).sum(), abs=0.3)
    assert not result.saturated


@pytest.mark.parametrize(('action', 'sign'), [('rotate_left', 1), ('rotate_right', -1)])
def test_rotations_end_where_they_should(gazebo, action, sign):
    result, moved, turned = fly(gazebo, action, 90.0)
    assert wrap_angle(turned - sign * math.radians(90.0)) == pytest.approx(0, abs=0.03)
    assert result.applied == pytest.approx(90.0, abs=2)
    assert np.abs(moved).max() < 0.1


def test_excess_is_cut_to_what_the_vehicle_can_do(gazebo):
    result, moved, _ = fly(gazebo, 'forward', 500.0)
    assert result.saturated
    assert result.applied == pytest.approx(capability(Action.FORWARD, INTERVAL), abs=0.3)
    assert moved[0] == pytest.approx(result.applied, abs=0.1)


# ------------------------------------------------------------------ what a vehicle tells of itself


def test_it_offers_the_contract_as_far_as_gazebo_goes(gazebo):
    probe = gazebo.probe
    probe.listen('capabilities', 'robot_description', 'tf_static')
    heard = probe.heard
    probe.until(lambda: all(heard[name] for name in heard))
    (told,) = heard['capabilities']
    assert (told.backend, told.mode, list(told.cameras)) == ('gazebo', 'realtime', [])
    assert {'odometry', 'imu', 'dvl', 'pressure', 'thrusters', '/clock'} <= set(told.streams)
    # No images beside it here, so nothing tells the altitude; there is no battery in Gazebo.
    assert not {'altitude', 'battery'} & set(told.streams)
    for name in told.streams:
        s = stream(name)
        if name == '/clock':
            continue
        (info,) = probe.node.get_publishers_info_by_topic(s.absolute('auv'))
        assert info.topic_type == s.type
        offered, wanted = info.qos_profile, publisher_qos(s.delivery)
        assert offered.reliability is wanted.reliability
        assert offered.durability is wanted.durability
    assert '<robot name="bluerov2_heavy">' in heard['robot_description'][0].data


def test_navigation_comes_in_the_frames_and_at_the_rates_of_the_contract(gazebo):
    probe = gazebo.probe
    names = ('odometry', 'truth/odometry', 'dvl', 'pressure', 'thrusters')
    probe.listen(*names, deep=True)
    heard = probe.heard
    probe.until(lambda: all(probe.node.count_publishers(n) for n in names))
    begin = gazebo.dynamics.time + 2.0
    # A second more: what is due at the end has then come, whatever the order of arrival.
    gazebo.step(seconds=2.0 + 4.0 + 1.1)

    def later(message):
        return begin + 4.0 < seconds(message.header.stamp) < begin + 100.0

    probe.until(lambda: all(any(map(later, heard[n])) for n in names))
    fresh = {
        n: [m for m in heard[n] if begin < seconds(m.header.stamp) <= begin + 4.0 + 1e-6]
        for n in names
    }
    counts = {n: len(m) for n, m in fresh.items()}
    for name, hertz in (('odometry', 10), ('truth/odometry', 10), ('dvl', 5), ('pressure', 5)):
        assert counts[name] == pytest.approx(4 * hertz, abs=1), name
    assert counts['thrusters'] == pytest.approx(4, abs=1)
    estimate, truth = fresh['odometry'][-1], fresh['truth/odometry'][-1]
    assert (estimate.header.frame_id, estimate.child_frame_id) == ('odom', 'base_link')
    assert truth.header.frame_id == 'map'
    assert estimate.pose.covariance[0] > 0 and truth.pose.covariance[0] == 0
    depth = -truth.pose.pose.position.z
    pascal = fresh['pressure'][-1].fluid_pressure
    assert (pascal - 101_325) / (1025 * 9.81) == pytest.approx(depth, abs=0.1)
    efforts = fresh['thrusters'][-1].effort
    assert len(efforts) == THRUSTERS and max(abs(e) for e in efforts) > 0


def test_the_imu_is_gazebos_with_the_attitude_of_the_estimate(gazebo):
    probe = gazebo.probe
    probe.listen('imu', deep=True)
    probe.until(gazebo.imu.get_subscription_count)
    message = Imu()
    message.header.stamp = gazebo.stamp()
    # Gazebo counts attitude from where the vehicle was spawned: nobody's frame.
    message.orientation.w = 1.0
    message.linear_acceleration.z = 9.81
    message.angular_velocity.z = 0.125
    gazebo.imu.publish(message)
    sample = probe.until(lambda: probe.heard['imu'] and probe.heard['imu'][-1])
    assert sample.angular_velocity.z == 0.125 and sample.linear_acceleration.z == 9.81
    q = sample.orientation
    heading = math.atan2(2 * (q.w * q.z + q.x * q.y), 1 - 2 * (q.y**2 + q.z**2))
    assert wrap_angle(heading - gazebo.dynamics.vehicle().pose.yaw) == pytest.approx(0, abs=0.02)
    assert sample.header.frame_id == 'base_link' and sample.angular_velocity_covariance[0] > 0


# ------------------------------------------------------------------ commands


def test_a_velocity_is_followed_until_the_operator_falls_silent(gazebo):
    probe = gazebo.probe
    commands = probe.node.create_publisher(
        TwistStamped, 'cmd_vel', publisher_qos(Delivery.COMMAND)
    )
    probe.until(commands.get_subscription_count)
    command = TwistStamped()
    command.twist.linear.x = 0.5
    for _ in range(120):
        commands.publish(command)
        gazebo.step(seconds=TICK)
    surge = gazebo.dynamics.velocity[0]
    assert surge[0] == pytest.approx(0.5, abs=0.05)
    command.twist.linear.x = math.nan
    commands.publish(command)
    # The dead man's second, and the way it takes to stop at 0.4 m/s2.
    gazebo.step(seconds=6.0)
    held = gazebo.dynamics.position[0].copy()
    assert np.linalg.norm(gazebo.dynamics.velocity[0]) < 0.03
    gazebo.step(seconds=4.0)
    assert np.linalg.norm(gazebo.dynamics.position[0] - held) < 0.1


def test_a_maneuver_can_be_cancelled_and_bad_ones_are_refused(gazebo):
    probe = gazebo.probe
    client = ActionClient(probe.node, Maneuver, 'maneuver')
    probe.until(client.server_is_ready)
    probe.acquaint('autopilot')

    def done(future):
        gazebo.step(until=future.done)
        return future.result()

    for goal, code in (
        (Maneuver.Goal(action='dive'), Maneuver.Result.UNKNOWN_ACTION),
        (Maneuver.Goal(action='up', magnitude=-3.0), Maneuver.Result.BAD_MAGNITUDE),
        (Maneuver.Goal(action='up', magnitude=3.0, turn_deg=9.0), Maneuver.Result.BAD_COURSE),
        # The node's options say actions:=oceangym.
        (Maneuver.Goal(action='go', magnitude=3.0), Maneuver.Result.NOT_OFFERED),
    ):
        handle = done(client.send_goal_async(goal))
        assert done(handle.get_result_async()).result.error_code == code
    handle = done(client.send_goal_async(Maneuver.Goal(action='forward', magnitude=8.0)))
    second = done(client.send_goal_async(Maneuver.Goal(action='up', magnitude=1.0)))
    assert done(second.get_result_async()).result.error_code == Maneuver.Result.BUSY
    gazebo.step(seconds=3.0)
    done(handle.cancel_goal_async())
    result = done(handle.get_result_async()).result
    assert (result.error_code, result.end_reason) == (Maneuver.Result.PREEMPTED, 'preempted')
    gazebo.step(seconds=8.0)
    assert np.linalg.norm(gazebo.dynamics.velocity[0]) < 0.03


# ------------------------------------------------------------------ when Gazebo fails


def health(probe):
    return probe.heard['/diagnostics'][-1].status[0] if probe.heard['/diagnostics'] else None


def level(probe, wanted):
    return lambda: (status := health(probe)) and status.level == wanted and status


def test_silence_takes_thrust_away_and_its_end_gives_it_back(gazebo, nodes):
    probe = gazebo.probe
    probe.listen('/diagnostics')
    gazebo.step(until=level(probe, DiagnosticStatus.OK))
    assert any(gazebo.newtons)
    # Time runs on, but odometry has stopped: Gazebo would hold the last command for ever.
    status = probe.until(level(probe, DiagnosticStatus.ERROR))
    assert 'silent' in status.message
    probe.until(lambda: not any(gazebo.newtons))
    gazebo.step(until=lambda: any(gazebo.newtons), seconds=20.0)
    assert any(gazebo.newtons)
    gazebo.step(until=level(probe, DiagnosticStatus.OK))
    assert 'no thrust' in nodes.log('autopilot') and 'thrust again' in nodes.log('autopilot')


def test_a_clock_that_stands_still_is_silence_too(gazebo):
    probe = gazebo.probe
    probe.listen('/diagnostics')
    gazebo.step(until=level(probe, DiagnosticStatus.OK))
    tell, gazebo.clock = gazebo.clock, Muted()

    def mute():
        status = level(probe, DiagnosticStatus.ERROR)()
        return status and 'clock' in status.message and 'odometry' not in status.message

    gazebo.step(until=lambda: mute() and not any(gazebo.newtons))
    gazebo.clock = tell
    gazebo.step(until=lambda: any(gazebo.newtons))


class Muted:
    def publish(self, message):
        """Say nothing."""


@pytest.mark.parametrize('spoil', ['position', 'velocity', 'attitude'])
def test_odometry_that_is_no_number_takes_thrust_away_at_once(gazebo, spoil):
    probe = gazebo.probe
    probe.listen('/diagnostics')
    bad = gazebo.message()
    if spoil == 'position':
        bad.pose.pose.position.z = math.nan
    elif spoil == 'velocity':
        bad.twist.twist.linear.x = math.inf
    else:
        bad.pose.pose.orientation.w = bad.pose.pose.orientation.z = 0.0
    gazebo.tell(bad)
    probe.until(lambda: not any(gazebo.newtons))
    probe.until(lambda: (status := health(probe)) and 'not finite' in status.message)
    gazebo.step(seconds=TICK)
    assert any(gazebo.newtons)
    gazebo.step(until=level(probe, DiagnosticStatus.OK))


def test_who_is_carried_holds_where_he_was_put(gazebo):
    gazebo.dynamics.reset(
        Pose.from_euler((-60.0, 30.0, -12.0), 0, 0, 1.0), time=gazebo.dynamics.time
    )
    gazebo.step(seconds=10.0)
    assert np.linalg.norm(gazebo.dynamics.position[0] - (-60.0, 30.0, -12.0)) < 0.3


# ------------------------------------------------------------------ services


def test_what_gazebo_cannot_do_is_refused_with_a_reason(gazebo):
    probe = gazebo.probe
    reset = probe.node.create_client(Reset, 'sim/reset')
    observe = probe.node.create_client(Observe, 'sim/observe')
    probe.until(lambda: reset.service_is_ready() and observe.service_is_ready())
    probe.acquaint('autopilot')

    def answer(client, request):
        future = client.call_async(request)
        gazebo.step(until=future.done)
        return future.result()

    request = Reset.Request(t_max=600.0, t_interval=30.0, profile='standard')
    request.start.orientation.w = 1.0
    response = answer(reset, request)
    assert response.error_code == Reset.Response.BAD_START
    assert 'cannot be put' in response.error_msg and 'ros_gz' in response.error_msg
    if not gazebo_services.AVAILABLE:
        assert 'apt install' in response.error_msg
    request.profile = 'stormy'
    response = answer(reset, request)
    assert response.error_code == Reset.Response.UNKNOWN_PROFILE
    response = answer(observe, Observe.Request())
    assert response.error_code != 0 and 'once a second' in response.error_msg


def test_a_reset_waits_until_gazebo_has_moved_the_vehicle(gazebo):
    """The service in this process, with a mover that plays Gazebo's part."""
    probe, dynamics = gazebo.probe, gazebo.dynamics
    vehicle = BridgedVehicle(
        vehicle=dynamics.parameters,
        water=load_water('shallow'),
        profile=load_profile('standard'),
    )
    begun = []

    class Mover:
        obstacle = ''

        def move(self, pose):
            self.pose = pose
            future = Future()
            future.set_result(type('Answer', (), {'success': self.works})())
            return future

    mover = Mover()
    node = Node('resets', namespace='played', context=probe.context)
    probe.executor.add_node(node)
    server = ResetServer(
        node,
        vehicle=vehicle,
        mover=mover,
        options=RunOptions(),
        clock=SteadyClock(clock_type=ClockType.STEADY_TIME),
        began=begun.append,
    )
    client = probe.node.create_client(Reset, '/played/sim/reset')
    probe.until(client.service_is_ready)
    request = Reset.Request(t_max=60.0, t_interval=20.0, profile='hard', seed=4)
    request.start = pose_message(Pose.from_euler((5.0, 6.0, -20.0), 0, 0, 0.5))

    def at(stamp, pose):
        still = (0.0, 0.0, 0.0)
        vehicle.take(Motion(stamp=stamp, pose=pose, linear_velocity=still, angular_velocity=still))
        server.look()

    mover.works = False
    assert 'is it spawned' in probe.done(client.call_async(request)).error_msg
    mover.works = True
    at(1.0, START)
    answer = client.call_async(request)
    probe.until(lambda: hasattr(mover, 'pose') and server.waiting)
    at(1.05, START)
    assert not answer.done() and not begun
    at(1.1, pose_of_message(request.start))
    response = probe.done(answer)
    assert response.error_code == 0 and seconds(response.stamp) == pytest.approx(1.1)
    assert begun[0].profile.id == 'hard' and vehicle.request is begun[0]
    speed = math.hypot(*vehicle.current())
    assert speed == pytest.approx(load_profile('hard').current.speed)
    probe.executor.remove_node(node)
    node.destroy_node()


# ------------------------------------------------------------------ current and end


def test_a_current_is_told_to_gazebo_and_zeros_are_left_behind(gazebo, nodes):
    """The last test: it starts a second autopilot, of the hard profile, and ends it."""
    probe = gazebo.probe
    spec = replace(NODE, name='pilot', namespace='second')
    probe.node.destroy_publisher(gazebo.odometry)
    second = f'/second/{ODOMETRY}'
    currents = []
    probe.node.create_subscription(Vector3, f'/second/{CURRENT}', currents.append, 10)
    gazebo.odometry = probe.node.create_publisher(Odometry, second, 10)
    for number in range(THRUSTERS):
        probe.node.create_subscription(
            Float64,
            f'/second/{thrust_topic(number + 1)}',
            lambda message, number=number: gazebo.hear(number, message.data),
            10,
        )
    process = nodes.start(spec, profile='hard', truth=False)
    gazebo.newtons = [0.0] * THRUSTERS
    probe.until(gazebo.odometry.get_subscription_count)
    gazebo.step(until=lambda: any(gazebo.newtons) and len(currents) >= 2)
    speeds = [math.hypot(c.x, c.y) for c in currents]
    assert speeds == pytest.approx([load_profile('hard').current.speed] * len(speeds))
    assert all(c.z == 0.0 for c in currents)
    assert any(gazebo.newtons)
    process.send_signal(signal.SIGINT)
    probe.until(lambda: not any(gazebo.newtons))
    assert process.wait(timeout=20) == 0
    assert 'Traceback' not in nodes.log('pilot')
    assert 'Traceback' not in nodes.log('autopilot')
