"""What ros_gz_bridge carries between Gazebo and ROS, as plain data and as its configuration file.

What Gazebo measures goes to nodes of ours under ``gazebo/``, which make the contract's topics of it;
nobody else should read it. Topics are relative: the bridge runs in the vehicle's namespace.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

import yaml

from oceangym_core.assets import config_path
from oceangym_core.contract.actions import DIRECTIONS

NAMESPACE = (
    'auv'  # Gazebo's topics are fixed in the vehicle's model, which is spawned under this name
)
THRUSTERS = 8
POSE_SERVICE_TYPE = 'ros_gz_interfaces/srv/SetEntityPose'

CLOCK = '/clock'
ODOMETRY = 'gazebo/odometry'
IMU = 'gazebo/imu'
CURRENT = 'gazebo/current'
CONTACTS = 'truth/contacts'


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


def thrust_topic(number: int) -> str:
    """Return the ROS topic of a thruster's command [N], relative to the vehicle's namespace."""
    return f'gazebo/thruster_{number}/thrust'


def pose_service(world: str) -> str:
    """Return the name, in Gazebo and in ROS, of the service that moves models of a world."""
    return f'/world/{world}/set_pose'


def service_argument(world: str) -> str:
    """Return the word by which ros_gz_bridge (1.0.11 on) is told to carry that service."""
    return f'{pose_service(world)}@{POSE_SERVICE_TYPE}@gz.msgs.Pose@gz.msgs.Boolean'


def vehicle_channels() -> tuple[Channel, ...]:
    """Return what the nodes beside Gazebo need."""
    return (
        Channel(
            ros=CLOCK,
            gazebo='/clock',
            ros_type='rosgraph_msgs/msg/Clock',
            gazebo_type='gz.msgs.Clock',
        ),
        Channel(
            ros=ODOMETRY,
            gazebo=f'/model/{NAMESPACE}/odometry',
            ros_type='nav_msgs/msg/Odometry',
            gazebo_type='gz.msgs.Odometry',
        ),
        Channel(
            ros=IMU,
            gazebo=f'/{NAMESPACE}/gazebo/imu',
            ros_type='sensor_msgs/msg/Imu',
            gazebo_type='gz.msgs.IMU',
        ),
        # Nobody here reads these two: they are for whoever wants Gazebo's own.
        Channel(
            ros='gazebo/altimeter',
            gazebo=f'/{NAMESPACE}/gazebo/altimeter',
            ros_type='ros_gz_interfaces/msg/Altimeter',
            gazebo_type='gz.msgs.Altimeter',
            lazy=True,
        ),
        Channel(
            ros='gazebo/dvl',
            gazebo=f'/{NAMESPACE}/gazebo/dvl',
            ros_type='marine_acoustic_msgs/msg/Dvl',
            gazebo_type='gz.msgs.DVLVelocityTracking',
            lazy=True,
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
                ros=thrust_topic(number),
                gazebo=f'/model/{NAMESPACE}/joint/thruster_{number}_joint/cmd_thrust',
                ros_type='std_msgs/msg/Float64',
                gazebo_type='gz.msgs.Double',
                way=Way.TO_GAZEBO,
            )
            for number in range(1, THRUSTERS + 1)
        ),
        Channel(
            ros=CURRENT,
            gazebo=f'/model/{NAMESPACE}/ocean_current',
            ros_type='geometry_msgs/msg/Vector3',
            gazebo_type='gz.msgs.Vector3d',
            way=Way.TO_GAZEBO,
        ),
    )


def truth_channels() -> tuple[Channel, ...]:
    """Return what is for people and scoring, and not for the vehicle."""
    return (
        Channel(
            ros=CONTACTS,
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


def bridge_yaml(channels: Iterable[Channel]) -> str:
    """Return the text of a configuration file for ros_gz_bridge.

    Args:
        channels: What it carries.
    """
    entries = [
        {
            'ros_topic_name': c.ros,
            'gz_topic_name': c.gazebo,
            'ros_type_name': c.ros_type,
            'gz_type_name': c.gazebo_type,
            'direction': c.way.value,
            'lazy': c.lazy,
        }
        for c in channels
    ]
    return yaml.safe_dump(entries, sort_keys=False)


def bridge_files() -> dict[str, str]:
    """Return the shipped configuration files: name -> text."""
    return {
        'bridge.yaml': '# Made by oceangym_gazebo.session.bridge: clock, motion, sensors and thrusters.\n'
        '# Names are relative: run the bridge in the namespace of the vehicle.\n'
        + bridge_yaml(vehicle_channels()),
        'bridge_truth.yaml': '# Made by oceangym_gazebo.session.bridge: for people and scoring; an agent '
        'must not see it.\n' + bridge_yaml(truth_channels()),
    }


def main() -> None:
    """Write the shipped files anew: ``python -m oceangym_gazebo.session.bridge``."""
    for name, text in bridge_files().items():
        config_path('gazebo', name).write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
