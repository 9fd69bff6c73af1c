"""Nodes beside Gazebo, given messages as its bridge writes them, over DDS."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from nav_msgs.msg import Odometry
from sensor_msgs.msg import Image, PointCloud2, PointField

from oceangym.processes import ProcessSpec
from oceangym_core.assets import assets_root
from oceangym_core.config.waters import load_water
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.topics import stream
from oceangym_core.geometry import Pose
from oceangym_core.nodes.qos import reader_qos
from oceangym_core.rng import generator
from oceangym_core.world.sdf import RETRO_SCALE
from oceangym_gazebo.nodes.optics_node import water_optics
from oceangym_gazebo.rays.optics import DepthCameras, DepthPicture
from oceangym_gazebo.session.bridge import camera_topic, cloud_topic, ODOMETRY
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.rays.device import select_variant
from oceangym_sim.sonar.formation import footprint, PingFormer

pytestmark = pytest.mark.ros

SONARS = {
    spec.direction: spec
    for spec in load_vehicle(assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf').sonars
}
STRENGTH, SEED = 0.05, 7
NODE = ProcessSpec(
    package='oceangym_gazebo',
    executable='sonar_node',
    name='sonar',
    namespace='auv',
    parameters={'use_sim_time': True, 'seed': SEED},
)
FIELDS = [
    PointField(name=name, offset=offset, datatype=datatype, count=1)
    for name, offset, datatype in (
        ('x', 0, PointField.FLOAT32),
        ('y', 4, PointField.FLOAT32),
        ('z', 8, PointField.FLOAT32),
        ('intensity', 16, PointField.FLOAT32),
        ('ring', 20, PointField.UINT16),
    )
]
STEP = 24


def wall(spec, distance=8.0):
    """Range and cosine of rays to a wall square ahead, lowest row and port column first."""
    cosine = PingFormer(spec, skirts=False).directions()[..., 2]
    return (distance / cosine).astype(np.float32), cosine.astype(np.float32)


def cloud(spec, reach, *, second, reverse=False):
    """A cloud as gz-sensors and ros_gz_bridge make it: lowest ring, starboard column first."""
    up, starboard, ahead = np.moveaxis(PingFormer(spec, skirts=False).directions(), -1, 0)
    table = np.zeros((*reach.shape, STEP // 4), np.float32)
    with np.errstate(invalid='ignore'):
        for column, axis in enumerate((ahead, -starboard, up)):
            table[..., column] = axis * reach
    table[..., 4] = STRENGTH * RETRO_SCALE
    table[..., :3][~np.isfinite(reach)] = -np.inf
    table = table[::-1, ::-1] if reverse else table[:, ::-1]
    message = PointCloud2(
        height=reach.shape[0],
        width=reach.shape[1],
        fields=FIELDS,
        point_step=STEP,
        row_step=STEP * reach.shape[1],
        is_dense=False,
    )
    message.header.stamp.sec = second
    message.data = np.ascontiguousarray(table).tobytes()
    return message


@pytest.fixture
def sonar(module_domain, probe, nodes):
    """The node, what it publishes, and publishers of its clouds."""
    received = {}
    for direction in DIRECTIONS:
        topic = stream(f'sonar/{direction}/polar')

        def take(message, direction=direction):
            received.setdefault(direction, []).append(message)

        probe.node.create_subscription(Image, topic.name, take, reader_qos(topic.delivery))
    publishers = {
        direction: probe.node.create_publisher(PointCloud2, cloud_topic(direction), 1)
        for direction in DIRECTIONS
    }
    if 'sonar' not in nodes.running:
        nodes.start(NODE)
    probe.until(lambda: all(p.get_subscription_count() for p in publishers.values()), 60)
    return received, publishers


def polar_of(message):
    return np.frombuffer(message.data, np.float32).reshape(message.height, message.width)


def test_six_lidars_become_six_sonars_of_the_embedded_formation(sonar, probe):
    received, publishers = sonar
    probe.listen('altitude')
    for direction, spec in SONARS.items():
        reach, _ = wall(spec)
        publishers[direction].publish(cloud(spec, reach, second=3))
    probe.until(lambda: len(received) == len(DIRECTIONS), 60)
    for direction, spec in SONARS.items():
        message = received[direction][0]
        assert message.header.stamp.sec == 3
        assert message.header.frame_id == f'sonar_{direction}_frame'
        reach, cosine = wall(spec)
        former = PingFormer(spec, skirts=False)
        power = former.echo_power(reach, cosine, np.full_like(reach, STRENGTH))
        # The wall faces the sonar: its normal is the sonar's z axis, reversed.
        lean = sum(np.abs(edge[..., 2]) for edge in former.edges()).astype(np.float32)
        mean = former.noise_free(*footprint(reach, cosine, lean), power)
        expected = former.ping(mean, generator(SEED, f'sonar/{direction}', 0))
        polar = polar_of(message)
        assert polar.shape == expected.shape
        # The slope is estimated from neighbouring points, and points are 32-bit numbers.
        assert np.abs(polar - expected).mean() < 0.02 * expected.mean()
        assert np.argmax(polar.sum(axis=1)) == pytest.approx(
            np.argmax(expected.sum(axis=1)), abs=1
        )
    # The wall under the downward sonar is the seabed for the altimeter.
    above = probe.until(lambda: probe.heard['altitude'] and probe.heard['altitude'][-1])
    assert above.range == pytest.approx(8.0 - SONARS['down'].mount.position[2], abs=0.01)
    assert above.header.stamp.sec == 3 and above.max_range == pytest.approx(40.0)


def test_broken_clouds_are_told_and_the_next_good_one_is_a_ping(sonar, probe, nodes):
    received, publishers = sonar
    spec = SONARS['front']
    reach, _ = wall(spec, 12.0)
    reach[:, :200] = np.nan
    good = cloud(spec, reach, second=9, reverse=True)
    for spoil in ('fields', 'data', 'height'):
        bad = cloud(spec, reach, second=8)
        setattr(bad, spoil, {'fields': FIELDS[:3], 'data': b'', 'height': 1}[spoil])
        publishers['front'].publish(bad)
        probe.until(lambda: 'no ping' in nodes.log('sonar'), 60)
    publishers['front'].publish(good)
    probe.until(lambda: any(m.header.stamp.sec == 9 for m in received.get('front', ())), 60)
    assert not any(m.header.stamp.sec == 8 for m in received['front'])
    polar = polar_of(received['front'][-1])
    assert np.isfinite(polar).all()
    # Nothing to port, a wall to starboard: the ring order did not turn the image.
    assert polar[:, :150].sum() < 0.5 * polar[:, 300:450].sum()
    assert nodes.running['sonar'].poll() is None


# ------------------------------------------------------------------ optics

PIXELS = 64


@pytest.fixture
def small_vehicle(tmp_path):
    shipped = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
    text = shipped.read_text(encoding='utf-8')
    for name in ('width', 'height'):
        text = text.replace(f'<{name}>512</{name}>', f'<{name}>{PIXELS}</{name}>')
    path = tmp_path / 'model.sdf'
    path.write_text(text, encoding='utf-8')
    return path


def gazebo_image(pixels, encoding, second):
    message = Image(
        height=pixels.shape[0],
        width=pixels.shape[1],
        encoding=encoding,
        step=pixels.strides[0],
    )
    message.header.stamp.sec = second
    message.data = pixels.tobytes()
    return message


def test_rgbd_images_become_the_pictures_of_the_embedded_optics(probe, nodes, small_vehicle):
    received = {}
    for direction in DIRECTIONS:
        topic = stream(f'camera/{direction}/image_raw')

        def take(message, direction=direction):
            received[direction] = message

        probe.node.create_subscription(Image, topic.name, take, reader_qos(topic.delivery))
    kinds = [(d, k) for d in DIRECTIONS for k in ('image', 'depth_image')]
    publishers = {
        (d, k): probe.node.create_publisher(Image, camera_topic(d, k), 2) for d, k in kinds
    }
    # As the bridge offers it: reliable, and nothing kept for late joiners.
    place = probe.node.create_publisher(Odometry, ODOMETRY, 10)
    spec = ProcessSpec(
        package='oceangym_gazebo',
        executable='optics_node',
        name='optics',
        namespace='auv',
        parameters={
            'use_sim_time': True,
            'seed': SEED,
            'vehicle': str(small_vehicle),
            'device': 'cpu',
        },
    )
    nodes.start(spec)
    probe.until(
        lambda: (
            place.get_subscription_count()
            and all(p.get_subscription_count() for p in publishers.values())
        ),
        60,
    )
    where = Odometry()
    where.pose.pose.position.z = -20.0
    where.pose.pose.orientation.w = 1.0
    colour = np.full((PIXELS, PIXELS, 3), (188, 137, 64), np.uint8)
    depth = np.full((PIXELS, PIXELS), 5.0, np.float32)
    depth[:8], depth[8:12], depth[12:16] = np.inf, -np.inf, np.nan

    def send(second, *, spoil=None, without=None):
        place.publish(where)
        for direction, kind in kinds:
            if kind == 'image':
                message = gazebo_image(colour, 'rgb8', second)
            else:
                message = gazebo_image(depth, '32FC1', second)
            if (direction, kind) == ('left', 'image') and spoil:
                setattr(message, *spoil)
            if (direction, kind) != without:
                publishers[direction, kind].publish(message)

    for second, spoil in enumerate((('encoding', 'bgr8'), ('data', b''), ('height', 7)), 1):
        send(second, spoil=spoil)
    send(4, without=('up', 'depth_image'))
    probe.until(lambda: 'no image' in nodes.log('optics'), 60)
    assert not received

    seconds = iter(range(5, 60))

    def whole():
        # A latched pose may come after the first images of all: an instant without it is left out.
        send(next(seconds))
        for _ in range(20):
            probe.executor.spin_once(timeout_sec=0.05)
        return len(received) == len(DIRECTIONS)

    probe.until(whole, 60)
    vehicle = load_vehicle(small_vehicle)
    select_variant('cpu')
    optics = water_optics(load_water('shallow'))
    cameras = DepthCameras(specs=vehicle.cameras, optics=optics, lamps=(), seed=SEED)
    expected = cameras.develop(
        {d: DepthPicture(colour=colour, depth=depth) for d in DIRECTIONS},
        pose=Pose.of((0, 0, -20), (0, 0, 0, 1)),
        index=0,
        lamp_level=0.0,
    )
    for direction in DIRECTIONS:
        message = received[direction]
        assert message.header.frame_id == f'camera_{direction}_optical_frame'
        image = np.frombuffer(message.data, np.uint8).reshape(PIXELS, PIXELS, 3)
        # Only the noise of a later instant may differ.
        assert (
            np.abs(image.mean(axis=(0, 1)) - expected[direction].image.mean(axis=(0, 1))).max() < 2
        )
    assert nodes.running['optics'].poll() is None
