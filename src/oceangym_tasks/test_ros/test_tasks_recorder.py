"""The recorder's times: whose stamp a message is kept under."""

from __future__ import annotations

import time

import pytest

from oceangym_core.record.bag import read_messages

pytestmark = pytest.mark.ros

SECOND = 1_000_000_000


def test_messages_are_kept_under_their_own_stamps(tmp_path, monkeypatch):
    from geometry_msgs.msg import TwistStamped
    from nav_msgs.msg import Odometry
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from std_msgs.msg import Float32

    from oceangym_core.contract.topics import stream
    from oceangym_core.nodes.qos import publisher_qos
    from oceangym_tasks.nodes.recorder_node import RecorderNode

    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'OFF')
    words = ['-p', f'bag:={tmp_path / "bag"}', '-r', '__ns:=/auv']
    rclpy.init(args=['recorder', '--ros-args', *words])
    executor = SingleThreadedExecutor()
    try:
        recorder = RecorderNode()
        operator = rclpy.create_node('operator', use_global_arguments=False, namespace='auv')
        executor.add_node(recorder)
        executor.add_node(operator)

        def publish(name: str, message) -> None:
            qos = publisher_qos(stream(name).delivery)
            publisher = operator.create_publisher(type(message), name, qos)
            deadline = time.monotonic() + 60.0
            topic = f'/auv/{name}'
            # Whatever was published may have to be repeated until a subscription has been matched.
            while not recorder._writer.counts[topic]:
                if publisher.get_subscription_count():
                    publisher.publish(message)
                executor.spin_once(timeout_sec=0.1)
                assert time.monotonic() < deadline

        odometry = Odometry()
        odometry.header.stamp.sec = 5
        publish('odometry', odometry)
        # What has no stamp, or an operator's that was left empty, is of the time it came at.
        publish('lights', Float32(data=0.5))
        publish('cmd_vel', TwistStamped())
        recorder.close()
    finally:
        executor.shutdown()
        rclpy.shutdown()
    stamps = {topic: stamp for topic, stamp, _ in read_messages(tmp_path / 'bag')}
    assert stamps['/auv/odometry'] == 5 * SECOND
    assert stamps['/auv/lights'] == stamps['/auv/cmd_vel'] == 5 * SECOND
