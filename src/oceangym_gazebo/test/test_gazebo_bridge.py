"""What ros_gz_bridge is told: against the vehicle's model, and as it is shipped."""

from __future__ import annotations

import pytest
import yaml

from oceangym_core.assets import assets_root, config_path
from oceangym_core.world.sdf import parse_xml
from oceangym_gazebo.session.bridge import (
    bridge_files,
    CONTACTS,
    ODOMETRY,
    service_argument,
    truth_channels,
    vehicle_channels,
    Way,
)

VEHICLE = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
CHANNELS = (*vehicle_channels(), *truth_channels())


@pytest.mark.parametrize('name', bridge_files())
def test_the_shipped_files_are_what_is_made(name):
    text = config_path('gazebo', name).read_text(encoding='utf-8')
    assert text == bridge_files()[name]


def test_the_bridge_listens_where_the_model_speaks():
    # A topic of SDF without a leading slash is one of the whole Gazebo, like one with it.
    topics = {element.text for element in parse_xml(VEHICLE).iter('topic')}
    gazebo = {c.gazebo.lstrip('/') for c in CHANNELS}
    for topic in topics:
        assert any(g == topic or g.startswith(f'{topic}/') for g in gazebo), topic
    infos = {e.text for e in parse_xml(VEHICLE).iter('camera_info_topic')}
    assert infos <= gazebo
    (odometry,) = (e.text for e in parse_xml(VEHICLE).iter('odom_topic'))
    assert odometry.lstrip('/') in gazebo


def test_the_bridge_speaks_where_the_plugins_listen():
    root = parse_xml(VEHICLE)
    plugins = list(root.iter('plugin'))
    namespaces = {p.findtext('namespace') for p in plugins if p.find('namespace') is not None}
    assert namespaces == {'auv'}
    joints = [p.findtext('joint_name') for p in plugins if p.get('name', '').endswith('Thruster')]
    wanted = {f'/model/auv/joint/{joint}/cmd_thrust' for joint in joints} | {
        '/model/auv/ocean_current'
    }
    assert {c.gazebo for c in CHANNELS if c.way is Way.TO_GAZEBO} == wanted
    # Thruster k of the model hears what is said on thruster_k.
    for channel in CHANNELS:
        if 'thruster' in channel.ros:
            assert channel.ros.split('/')[1] == channel.gazebo.split('/')[4].removesuffix('_joint')


def test_the_frames_of_odometry_are_those_of_the_contract():
    (plugin,) = (p for p in parse_xml(VEHICLE).iter('plugin') if 'Odometry' in p.get('name', ''))
    assert plugin.findtext('odom_frame') == 'map'
    assert plugin.findtext('robot_base_frame') == 'base_link'
    assert plugin.findtext('dimensions') == '3'


def test_names_are_relative_so_that_every_namespace_has_its_own():
    names = [c.ros for c in CHANNELS]
    assert len(names) == len(set(names))
    assert [name for name in names if name.startswith('/')] == ['/clock']


def test_what_an_agent_reads_comes_from_none_of_these():
    for channel in CHANNELS:
        assert channel.ros.startswith(('gazebo/', 'truth/', '/clock'))
    assert CONTACTS not in {c.ros for c in vehicle_channels()}
    assert ODOMETRY in {c.ros for c in vehicle_channels()}


def test_types_are_pairs_that_the_bridge_knows():
    known = {
        ('geometry_msgs/msg/Vector3', 'gz.msgs.Vector3d'),
        ('marine_acoustic_msgs/msg/Dvl', 'gz.msgs.DVLVelocityTracking'),
        ('nav_msgs/msg/Odometry', 'gz.msgs.Odometry'),
        ('ros_gz_interfaces/msg/Altimeter', 'gz.msgs.Altimeter'),
        ('ros_gz_interfaces/msg/Contacts', 'gz.msgs.Contacts'),
        ('rosgraph_msgs/msg/Clock', 'gz.msgs.Clock'),
        ('sensor_msgs/msg/CameraInfo', 'gz.msgs.CameraInfo'),
        ('sensor_msgs/msg/Image', 'gz.msgs.Image'),
        ('sensor_msgs/msg/Imu', 'gz.msgs.IMU'),
        ('sensor_msgs/msg/PointCloud2', 'gz.msgs.PointCloudPacked'),
        ('std_msgs/msg/Float64', 'gz.msgs.Double'),
    }
    assert {(c.ros_type, c.gazebo_type) for c in CHANNELS} == known


def test_every_entry_has_the_keys_of_the_bridge():
    for text in bridge_files().values():
        for entry in yaml.safe_load(text):
            assert set(entry) == {
                'ros_topic_name',
                'gz_topic_name',
                'ros_type_name',
                'gz_type_name',
                'direction',
                'lazy',
            }
            assert entry['direction'] in ('GZ_TO_ROS', 'ROS_TO_GZ')
            assert isinstance(entry['lazy'], bool)


def test_the_service_is_said_in_the_words_of_the_command_line():
    assert service_argument('ocean') == (
        '/world/ocean/set_pose@ros_gz_interfaces/srv/SetEntityPose@gz.msgs.Pose@gz.msgs.Boolean'
    )
