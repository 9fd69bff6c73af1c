"""Realtime mode: time runs on, velocities are followed, a silent operator stops the vehicle."""

from __future__ import annotations

import itertools
import math

import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.contract.topics import Delivery

pytestmark = pytest.mark.ros

# Faster than wall time, so that seconds of simulation pass quickly; slow enough to keep up with.
RTF = 4.0


def seconds(stamp) -> float:
    return stamp.sec + stamp.nanosec * 1e-9


@pytest.mark.parametrize('rtf', [0.3, 3.0])
def test_images_carry_simulation_time_at_any_speed(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe, rtf
):
    from geometry_msgs.msg import Point, Pose, Quaternion
    from oceangym_msgs.action import Maneuver
    from oceangym_msgs.srv import Reset

    directions = ('front', 'down')
    names = [
        *(f'camera/{direction}/image_raw' for direction in directions),
        *(f'sonar/{direction}/polar' for direction in directions),
    ]
    options = RunOptions(agent='none', mode='realtime', rtf=rtf, sensors='all', record='false')
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('operator')
    try:
        simulator = make_specs(options, tmp_path, small_world)['simulator']
        nodes.start(simulator, camera_size=32)
        probe.listen('/clock', 'odometry', 'truth/step', *names, deep=True)
        start = Pose(position=Point(x=144.0, y=-114.0, z=-60.0), orientation=Quaternion(w=1.0))
        request = Reset.Request(start=start, t_max=3.0, t_interval=1.3, profile='standard')
        # Before the reset: an episode this short may be over when a later one is known.
        client = probe.action_client(Maneuver, 'maneuver')
        response = probe.call(Reset, 'sim/reset', request)
        assert response.error_code == 0
        epoch = seconds(response.stamp)
        handle = probe.done(client.send_goal_async(Maneuver.Goal(action='hold', magnitude=1.0)))
        landed = probe.done(handle.get_result_async()).result
        heard = probe.heard
        probe.until(lambda: len(heard['truth/step']) >= 3)
        probe.until(lambda: all(seconds(heard[n][-1].header.stamp) == epoch + 3.0 for n in names))
    finally:
        nodes.close()
        probe.close()

    # Every whole second and the end of the maneuver: none is skipped, late or taken twice.
    due = sorted({*(epoch + t for t in (0.0, 1.0, 2.0, 3.0)), seconds(landed.t_end)})
    for name in names:
        assert [seconds(m.header.stamp) for m in heard[name]] == due
    # An instant is one of the clock's and of the navigation's, to the last digit.
    clock = {seconds(m.clock) for m in heard['/clock']}
    assert set(due) <= clock
    assert set(due) <= {seconds(m.header.stamp) for m in heard['odometry']}
    assert max(clock) == epoch + 3.0


def test_velocities_are_followed_until_the_operator_falls_silent(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe
):
    from geometry_msgs.msg import Point, Pose, Quaternion, TwistStamped
    from oceangym_msgs.action import Maneuver
    from oceangym_msgs.srv import Reset

    from oceangym_core.nodes.qos import publisher_qos

    options = RunOptions(agent='none', mode='realtime', rtf=RTF, sensors='all', record='false')
    specs = make_specs(options, tmp_path, small_world)
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('operator')
    try:
        nodes.start(specs['simulator'], camera_size=32)
        start = Pose(position=Point(x=144.0, y=-114.0, z=-60.0), orientation=Quaternion(w=1.0))
        request = Reset.Request(
            start=start, t_max=600.0, t_interval=30.0, profile='standard', targets=[]
        )
        response = probe.call(Reset, 'sim/reset', request)
        assert response.error_code == 0
        epoch = seconds(response.stamp)
        probe.listen('odometry', 'camera/front/image_raw', 'sonar/down/fan', '/clock')
        heard = probe.heard

        def now() -> float:
            return seconds(heard['odometry'][-1].header.stamp) if heard['odometry'] else -1.0

        # Time runs on without anybody doing anything.
        probe.until(lambda: now() > epoch + 2.0)
        velocity = probe.node.create_publisher(
            TwistStamped, 'cmd_vel', publisher_qos(Delivery.COMMAND)
        )
        probe.until(velocity.get_subscription_count)
        command = TwistStamped()
        command.twist.linear.x = 0.5

        def surge() -> float:
            velocity.publish(command)
            return heard['odometry'][-1].twist.twist.linear.x

        probe.until(lambda: surge() == pytest.approx(0.5, abs=0.05))
        silent_from = now()
        probe.until(lambda: now() > silent_from + 8.0)
        stopped = heard['odometry'][-1]
        assert abs(stopped.twist.twist.linear.x) < 0.05
        assert stopped.pose.pose.position.x > 144.5
        command.twist.linear.x = math.nan
        velocity.publish(command)

        # Images keep coming, one set a second of simulation time, stamped with it.
        images = heard['camera/front/image_raw']
        images.clear()
        probe.until(lambda: len(images) >= 4)
        stamps = [seconds(m.header.stamp) for m in images]
        gaps = [b - a for a, b in itertools.pairwise(stamps)]
        assert gaps == [1.0] * len(gaps)
        assert abs(stamps[-1] - seconds(heard['/clock'][-1].clock)) < 3.0

        # A maneuver works the same, and commands during it are refused.
        client = probe.action_client(Maneuver, 'maneuver')
        goal = Maneuver.Goal(action='up', magnitude=3.0)
        handle = probe.done(client.send_goal_async(goal))
        result = probe.done(handle.get_result_async()).result
        assert (result.error_code, result.end_reason) == (0, 'completed')
        assert result.applied == pytest.approx(3.0, abs=0.3)
    finally:
        nodes.close()
        probe.close()
    assert 'cmd_vel' in nodes.log('simulator')
    assert 'is not finite' in nodes.log('simulator')
    assert 'Traceback' not in nodes.log('simulator')
