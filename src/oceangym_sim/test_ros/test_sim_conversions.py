"""Sensor values as messages: layout, frames, units and what a receiver makes of them."""

from __future__ import annotations

from dataclasses import replace
import math
import xml.etree.ElementTree as ElementTree

import cv2
import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import BatteryState
from visualization_msgs.msg import Marker

from oceangym_core.contract.actions import (
    DIRECTIONS,
    optical_orientation,
    SENSOR_AXES,
    sonar_orientation,
)
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import CameraSpec, NavigationState, SonarSpec
from oceangym_core.geometry import Pose, rotation_matrix
from oceangym_core.world.world import Anchor, Bounds
from oceangym_sim.nodes import conversions, description
from oceangym_sim.optics.rays import optical_rays

pytestmark = pytest.mark.ros

CAMERAS = [
    CameraSpec(direction=d, mount=Pose.of((0.2, 0.0, 0.1), optical_orientation(d)))
    for d in DIRECTIONS
]
SONARS = [
    SonarSpec(direction=d, mount=Pose.of((0.1, 0.0, -0.1), sonar_orientation(d)))
    for d in DIRECTIONS
]
NAVIGATION = NavigationState(
    stamp=12.25,
    pose=Pose.from_euler((10.0, -20.0, -30.0), 0.0, 0.0, 1.0),
    linear_velocity=(0.5, 0.1, -0.2),
    angular_velocity=(0.01, 0.02, 0.03),
    position_sigma=(1.0, 2.0, 0.1),
    depth=30.0,
    altitude=4.0,
    battery=0.8,
)


def test_an_image_is_laid_out_by_rows_top_left_first():
    image = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    message = conversions.rgb_message(image, stamp=1.5, frame='f')
    assert (message.height, message.width, message.step, message.encoding) == (2, 3, 9, 'rgb8')
    assert not message.is_bigendian
    assert bytes(message.data) == bytes(range(18))
    assert (message.header.stamp.sec, message.header.stamp.nanosec) == (1, 500_000_000)


def test_a_sliced_image_is_not_scrambled():
    whole = np.arange(4 * 6 * 3, dtype=np.uint8).reshape(4, 6, 3)
    view = whole[::-1, ::2]
    message = conversions.rgb_message(view, stamp=0.0, frame='f')
    assert np.array_equal(np.frombuffer(message.data, np.uint8).reshape(4, 3, 3), view)


def test_a_jpeg_keeps_red_red():
    image = np.zeros((16, 16, 3), np.uint8)
    image[..., 0] = 200
    message = conversions.jpeg_message(image, stamp=0.0, frame='f')
    # What image_transport expects of an rgb8 image: JPEG whose decoded pixels are bgr8.
    assert message.format == 'rgb8; jpeg compressed bgr8'
    decoded = cv2.imdecode(np.frombuffer(message.data, np.uint8), cv2.IMREAD_COLOR)
    assert decoded[8, 8, 2] == pytest.approx(200, abs=4)
    assert decoded[8, 8, 0] == pytest.approx(0, abs=4)


def test_a_polar_image_keeps_every_float_row_by_row():
    polar = np.random.default_rng(0).random((5, 7), np.float32)
    message = conversions.polar_message(polar, stamp=0.0, frame='f')
    assert (message.encoding, message.height, message.width, message.step) == ('32FC1', 5, 7, 28)
    assert len(message.data) == 5 * 7 * 4
    assert np.array_equal(np.frombuffer(message.data, '<f4').reshape(5, 7), polar)


@pytest.mark.parametrize('camera', CAMERAS, ids=lambda c: c.direction)
def test_the_intrinsics_put_the_boresight_in_the_middle_and_the_edge_at_the_edge(camera):
    info = conversions.camera_info_message(camera, stamp=0.0)
    k = np.asarray(info.k).reshape(3, 3)
    middle = k @ [0.0, 0.0, 1.0]
    # Pixel centres are whole numbers: the image reaches from -0.5 to 511.5.
    assert middle[:2] == pytest.approx([255.5, 255.5])
    # 90 degrees: 45 degrees to the right is the right edge of the image.
    edge = k @ [1.0, 0.0, 1.0]
    assert edge[0] == pytest.approx(511.5)
    assert np.asarray(info.p).reshape(3, 4)[:, :3] == pytest.approx(k)
    assert info.header.frame_id == f'camera_{camera.direction}_optical_frame'


def test_a_lens_s_distortion_is_told():
    lens = (-0.1, 0.01, 0.002, -0.001, 0.0)
    info = conversions.camera_info_message(replace(CAMERAS[0], distortion=lens), stamp=0.0)
    assert info.distortion_model == 'plumb_bob'
    assert tuple(info.d) == lens
    assert tuple(conversions.camera_info_message(CAMERAS[0], stamp=0.0).d) == (0.0,) * 5


@pytest.mark.parametrize('lens', [(), (-0.1, 0.01, 0.002, -0.001, 0.0)])
def test_opencv_projects_the_renderer_s_rays_onto_their_pixels(lens):
    """Not half a pixel beside them."""
    camera = replace(CAMERAS[0], width=9, height=6, distortion=lens or CAMERAS[0].distortion)
    info = conversions.camera_info_message(camera, stamp=0.0)
    pixels, _ = cv2.projectPoints(
        optical_rays(camera), np.zeros(3), np.zeros(3), info.k.reshape(3, 3), np.array(info.d)
    )
    column, row = np.meshgrid(np.arange(9), np.arange(6))
    expected = np.stack([column, row], axis=-1).reshape(-1, 2)
    assert pixels[:, 0] == pytest.approx(expected, abs=1e-4)


def test_a_sonar_says_where_its_bins_and_beams_are():
    sonar = SONARS[0]
    info = conversions.sonar_info_message(sonar, stamp=0.0)
    last = info.range_min + sonar.range_bins * info.range_resolution
    assert last == pytest.approx(info.range_max, rel=1e-5)
    assert info.azimuth[0] == pytest.approx(math.radians(60.0))
    assert info.azimuth[-1] == pytest.approx(math.radians(-60.0))
    assert all(a > b for a, b in zip(info.azimuth, info.azimuth[1:]))


def test_odometry_carries_covariances_that_a_filter_accepts():
    message = conversions.odometry_message(NAVIGATION)
    assert (message.header.frame_id, message.child_frame_id) == ('odom', 'base_link')
    pose = np.asarray(message.pose.covariance).reshape(6, 6)
    assert np.diag(pose)[:3] == pytest.approx([1.0, 4.0, 0.01])
    for matrix in (pose, np.asarray(message.twist.covariance).reshape(6, 6)):
        assert (np.linalg.eigvalsh(matrix) > 0).all()
    exact = conversions.odometry_message(NAVIGATION, frame='map', exact=True)
    assert not np.any(exact.pose.covariance)


def test_a_dvl_says_that_it_measures_no_rotation():
    message = conversions.dvl_message(stamp=0.0, velocity=(0.1, 0.2, 0.3), sigma=0.02)
    covariance = np.asarray(message.twist.covariance).reshape(6, 6)
    assert np.diag(covariance)[:3] == pytest.approx([4e-4] * 3)
    assert np.diag(covariance)[3:] == pytest.approx([-1.0] * 3)
    assert message.header.frame_id == 'base_link'


def test_no_bottom_is_infinite_and_unknown_is_nan():
    far = conversions.altitude_message(
        stamp=0.0, altitude=math.inf, range_min=0.1, range_max=100.0, beam_width=0.1
    )
    assert math.isinf(far.range)
    # REP 117's beam is on x: the frame's +x is the vehicle's own down.
    (frame,) = description.static_transforms(description.sensor_mounts((), ()))
    assert frame.child_frame_id == far.header.frame_id
    turn = frame.transform.rotation
    down = Pose.of((0, 0, 0), (turn.x, turn.y, turn.z, turn.w)).rotation @ [1.0, 0.0, 0.0]
    assert down == pytest.approx([0.0, 0.0, -1.0], abs=1e-12)
    battery = conversions.battery_message(stamp=0.0, charge=0.5, voltage=15.2)
    assert battery.percentage == 0.5
    assert battery.voltage == pytest.approx(15.2)
    assert math.isnan(battery.temperature)
    assert battery.power_supply_status == BatteryState.POWER_SUPPLY_STATUS_DISCHARGING


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_frames_look_where_the_sensors_look(direction):
    mounts = description.sensor_mounts(CAMERAS, SONARS)
    transforms = {t.child_frame_id: t for t in description.static_transforms(mounts)}
    forward, up = SENSOR_AXES[direction]
    q = transforms[f'camera_{direction}_optical_frame'].transform.rotation
    camera = rotation_matrix((q.x, q.y, q.z, q.w))
    assert camera[:, 2] == pytest.approx(forward)
    assert camera[:, 1] == pytest.approx(-np.asarray(up))
    q = transforms[f'sonar_{direction}_frame'].transform.rotation
    sonar = rotation_matrix((q.x, q.y, q.z, q.w))
    assert sonar[:, 2] == pytest.approx(forward)
    assert sonar[:, 0] == pytest.approx(up)
    # y is starboard: to the right of someone who looks ahead with the head up.
    assert sonar[:, 1] == pytest.approx(np.cross(forward, up))


def test_the_robot_description_is_a_tree_with_the_same_frames():
    mounts = description.sensor_mounts(CAMERAS, SONARS)
    robot = ElementTree.fromstring(description.robot_description('bluerov2', mounts))
    links = {link.get('name') for link in robot.findall('link')}
    assert links == {'base_link', *mounts}
    for joint in robot.findall('joint'):
        assert joint.find('parent').get('link') == 'base_link'
        child, origin = joint.find('child').get('link'), joint.find('origin')
        xyz = [float(v) for v in origin.get('xyz').split()]
        rpy = [float(v) for v in origin.get('rpy').split()]
        assert xyz == pytest.approx(mounts[child].position)
        assert Pose.from_euler(xyz, *rpy).rotation == pytest.approx(
            mounts[child].rotation, abs=1e-6
        )


def test_the_bounds_are_drawn_in_odom_with_twelve_edges():
    bounds = Bounds(lower=(-200.0, -400.0, -100.0), upper=(650.0, 250.0, 5.0))
    shift = FrameShift(100.0, 50.0, math.pi / 2)
    marker = description.bounds_marker(bounds, shift)
    assert marker.header.frame_id == 'odom'
    assert (marker.type, len(marker.points)) == (Marker.LINE_LIST, 24)
    corners = {(round(p.x, 6), round(p.y, 6)) for p in marker.points}
    # (-200, -400) in map is (-300, -450) from the shift's origin, turned by -90 degrees.
    assert (-450.0, 300.0) in corners
    assert {p.z for p in marker.points} == {-100.0, 5.0}


def test_targets_are_drawn_in_map():
    anchor = Anchor(name='a', label='SHIP', point=(1.0, 2.0, -3.0), instances=('s',))
    sphere, text = description.target_markers([anchor]).markers
    assert {m.header.frame_id for m in (sphere, text)} == {'map'}
    assert text.text == 'SHIP'
    assert sphere.id != text.id


def test_the_trace_is_sparse_and_in_order():
    from dataclasses import replace

    trace = description.TrajectoryTrace()
    for tick in range(101):
        trace.add(replace(NAVIGATION, stamp=tick * 0.1))
    stamps = [p.header.stamp.sec for p in trace.message(10.0).poses]
    assert stamps == [0, 2, 4, 6, 8, 10]


def test_a_projected_image_puts_a_bin_where_the_sonar_heard_it():
    pytest.importorskip('marine_acoustic_msgs')
    from oceangym_core.contract.observation import SonarPing
    from oceangym_sim.nodes.projected import projected_message

    sonar = SONARS[0]
    polar = np.zeros((sonar.range_bins, sonar.beams), np.float32)
    polar[100, 3] = 1.0
    ping = SonarPing(polar=polar, fan=np.zeros((2, 2), np.uint8))
    message = projected_message(ping, sonar, stamp=0.0)
    index = int(np.argmax(np.frombuffer(message.image.data, '<u4')))
    row, beam = divmod(index, message.image.beam_count)
    assert message.ranges[row] == pytest.approx(
        sonar.range_min + 100.5 * sonar.range_resolution, rel=1e-5
    )
    direction = message.beam_directions[beam]
    azimuth = sonar.azimuths[3]
    # Port is -y in a frame whose y is starboard.
    assert (direction.x, direction.y) == pytest.approx((0.0, -math.sin(azimuth)))
    assert direction.y < 0
