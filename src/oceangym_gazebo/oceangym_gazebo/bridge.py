"""What ros_gz_bridge carries between Gazebo and ROS, as plain data and as its configuration file.

Raw sensors go to nodes of ours, which make the contract's topics of them. Truth has a file of its
own: whoever flies without scoring leaves it out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import yaml

from oceangym_core.contract import DIRECTIONS

NAMESPACE = 'auv'  # Gazebo's topics are fixed in the vehicle's model
THRUSTERS = 8


class Way(str, Enum):
    """Which way messages go."""

    TO_ROS = 'GZ_TO_ROS'
    TO_GAZEBO = 'ROS_TO_GZ'


@dataclass(frozen=True, kw_only=True)
class Channel:
    """One bridged topic.

    Attributes:
        ros: Topic in ROS; relative to the vehicle's namespace unless it begins with a slash.
        gazebo: Topic in Gazebo.
        ros_type, gazebo_type: Message types.
        way: Which way.
        lazy: Whether Gazebo is listened to only while ROS has a reader.
    """

    ros: str
    gazebo: str
    ros_type: str
    gazebo_type: str
    way: Way = Way.TO_ROS
    lazy: bool = False


def cloud_topic(direction: str) -> str:
    """Return the ROS topic of the lidar behind a sonar, relative to the vehicle's namespace."""
    return f'gazebo/sonar/{direction}/points'


def camera_topic(direction: str, name: str) -> str:
    """Return a ROS topic of the RGBD camera behind a camera: `name` is image or depth_image."""
    return f'gazebo/camera/{direction}/{name}'


def agent_channels() -> tuple[Channel, ...]:
    """Return what a run needs, without truth."""
    return (
        Channel(
            ros='/clock',
            gazebo='/clock',
            ros_type='rosgraph_msgs/msg/Clock',
            gazebo_type='gz.msgs.Clock',
        ),
        Channel(
            ros='gazebo/imu',
            gazebo=f'/{NAMESPACE}/gazebo/imu',
            ros_type='sensor_msgs/msg/Imu',
            gazebo_type='gz.msgs.IMU',
        ),
        *(channel for direction in DIRECTIONS for channel in _camera(direction)),
        *(
            Channel(
                ros=cloud_topic(direction),
                gazebo=f'/{NAMESPACE}/gazebo/sonar/{direction}/points',
                ros_type='sensor_msgs/msg/PointCloud2',
                gazebo_type='gz.msgs.PointCloudPacked',
                lazy=True,
            )
            for direction in DIRECTIONS
        ),
        *(
            Channel(
                ros=f'gazebo/thruster_{number}/thrust',
                gazebo=f'/model/{NAMESPACE}/joint/thruster_{number}_joint/cmd_thrust',
                ros_type='std_msgs/msg/Float64',
                gazebo_type='gz.msgs.Double',
                way=Way.TO_GAZEBO,
            )
            for number in range(1, THRUSTERS + 1)
        ),
        Channel(
            ros='gazebo/current',
            gazebo=f'/model/{NAMESPACE}/ocean_current',
            ros_type='geometry_msgs/msg/Vector3',
            gazebo_type='gz.msgs.Vector3d',
            way=Way.TO_GAZEBO,
        ),
    )


def truth_channels() -> tuple[Channel, ...]:
    """Return what scoring needs and an agent must not see."""
    return (
        Channel(
            ros='truth/odometry',
            gazebo=f'/model/{NAMESPACE}/odometry',
            ros_type='nav_msgs/msg/Odometry',
            gazebo_type='gz.msgs.Odometry',
        ),
        Channel(
            ros='truth/contacts',
            gazebo=f'/{NAMESPACE}/gazebo/contact',
            ros_type='ros_gz_interfaces/msg/Contacts',
            gazebo_type='gz.msgs.Contacts',
        ),
    )


def _camera(direction: str) -> tuple[Channel, ...]:
    pairs = (
        ('image', 'Image', 'Image'),
        ('depth_image', 'Image', 'Image'),
        ('camera_info', 'CameraInfo', 'CameraInfo'),
    )
    return tuple(
        Channel(
            ros=camera_topic(direction, name),
            gazebo=f'/{NAMESPACE}/gazebo/camera/{direction}/{name}',
            ros_type=f'sensor_msgs/msg/{ros}',
            gazebo_type=f'gz.msgs.{gazebo}',
            lazy=True,
        )
        for name, ros, gazebo in pairs
    )


def bridge_yaml(channels: Iterable[Channel], *, namespace: str = NAMESPACE) -> str:
    """Return the text of a configuration file for ros_gz_bridge.

    Args:
        channels: What it carries.
        namespace: Of the vehicle in ROS.
    """
    entries = [
        {
            'ros_topic_name': c.ros if c.ros.startswith('/') else f'/{namespace}/{c.ros}',
            'gz_topic_name': c.gazebo,
            'ros_type_name': c.ros_type,
            'gz_type_name': c.gazebo_type,
            'direction': c.way.value,
            'lazy': c.lazy,
        }
        for c in channels
    ]
    return yaml.safe_dump(entries, sort_keys=False)
