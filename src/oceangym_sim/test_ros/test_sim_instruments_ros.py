"""The further sonars over DDS: what a subscriber receives, in frames that TF knows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Transform
import rclpy
from rclpy.node import Node
from rclpy.parameter import Parameter
from sensor_msgs.msg import Image, LaserScan, MultiEchoLaserScan, Range
from tf2_msgs.msg import TFMessage

from oceangym_core.contract.topics import Delivery
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.nodes.qos import reader_qos
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import select_variant

select_variant('cpu')

from oceangym_sim.nodes.instruments import Instruments, TOPICS  # noqa: E402
from oceangym_sim.rays.scene import RayScene  # noqa: E402
from oceangym_sim.sonar.sound import NOMINAL_WATER  # noqa: E402

pytestmark = pytest.mark.ros

SDF = '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">'
BOTTOM = -30.0
PLACE = (5.0, -3.0, BOTTOM + 12.0)


@pytest.fixture(scope='module')
def scene(tmp_path_factory: pytest.TempPathFactory) -> RayScene:
    """Return flat ground and a pillar on the vehicle's port side."""
    folder = tmp_path_factory.mktemp('world')
    boxes = {
        'ground': (f'0 0 {BOTTOM - 1} 0 0 0', '300 300 2'),
        'pillar': (f'{PLACE[0]} {PLACE[1] + 20} {PLACE[2]} 0 0 0', '1 1 20'),
    }
    includes = ''
    for name, (pose, size) in boxes.items():
        (folder / 'models' / name).mkdir(parents=True)
        (folder / 'models' / name / 'model.sdf').write_text(
            f'{SDF}<model name="{name}"><link name="l"><visual name="v"><geometry><box><size>{size}'
            '</size></box></geometry><material><diffuse>0.8 0.8 0.8 1</diffuse></material>'
            '<oceangym:acoustic material="rock" strength_db="-15"/></visual></link></model></sdf>'
        )
        includes += (
            f'<include><uri>model://{name}</uri><name>{name}</name><pose>{pose}</pose></include>'
        )
    path = folder / 'tank.sdf'
    path.write_text(
        f'{SDF}<world name="tank"><oceangym:bounds><min>-150 -150 -40</min><max>150 150 5</max>'
        f'</oceangym:bounds>{includes}</world></sdf>'
    )
    return RayScene(load_world(path), device='cpu')


@pytest.fixture
def context() -> Any:
    rclpy.init()
    yield
    rclpy.shutdown()


def simulator(scene: RayScene | None) -> Any:
    """Return what the instruments ask of a simulator: a vehicle at rest, heading north."""
    return SimpleNamespace(
        scene=scene,
        options=SimpleNamespace(sensors='all' if scene else 'none'),
        request=SimpleNamespace(seed=0),
        sound=NOMINAL_WATER,
        state=SimpleNamespace(pose=Pose.of(PLACE), thrust=np.zeros(8)),
    )


def pose_of(transform: Transform) -> Pose:
    t, q = transform.translation, transform.rotation
    return Pose.of((t.x, t.y, t.z), (q.x, q.y, q.z, q.w))


def node_with(names: list[str] | str | None) -> Node:
    overrides = [] if names is None else [Parameter('instruments', value=names)]
    return Node('instruments', namespace='auv', parameter_overrides=overrides)


def test_every_instrument_arrives_and_lies_where_tf_says(context: Any, scene: RayScene) -> None:
    node = node_with(list(TOPICS))
    heard: dict[str, Any] = {}
    try:
        out = Instruments(node, simulator(scene))
        assert out.topics == [topic for topics in TOPICS.values() for topic in topics]
        for topic, kind in (t for topics in TOPICS.values() for t in topics.items()):
            node.create_subscription(
                kind,
                topic,
                lambda message, topic=topic: heard.update({topic: message}),
                reader_qos(Delivery.FROZEN),
            )
        node.create_subscription(
            TFMessage,
            'tf_static',
            lambda message: heard.update(tf=message),
            reader_qos(Delivery.LATCHED),
        )
        out.publish_static()
        out.begin()
        # Half a turn to starboard, so that the head has swept over everything but port.
        for tick in range(400):
            out.move(SimpleNamespace(pose=Pose.of(PLACE), thrust=np.zeros(8)), tick / 10)
        # Simulation time is not the episode's.
        out.instant(40.0, published=71.0)
        for _ in range(200):
            if len(heard) == len(out.topics) + 1:
                break
            rclpy.spin_once(node, timeout_sec=0.1)
    finally:
        node.destroy_node()
    links = {t.child_frame_id: pose_of(t.transform) for t in heard['tf'].transforms}
    assert {t.header.frame_id for t in heard['tf'].transforms} == {'base_link'}
    for topic in out.topics:
        assert heard[topic].header.stamp.sec == 71
        assert heard[topic].header.frame_id in links

    altitude: Range = heard['instruments/altimeter']
    down = links['altimeter_link']
    foot = Pose.of(PLACE).apply(down.apply([altitude.range, 0.0, 0.0]))
    assert foot[2] == pytest.approx(BOTTOM, abs=0.2)

    profile: LaserScan = heard['instruments/profiler']
    ranges = np.array(profile.ranges)
    angles = profile.angle_min + profile.angle_increment * np.arange(len(ranges))
    assert angles[-1] == pytest.approx(profile.angle_max)
    found = np.isfinite(ranges) & (np.abs(angles) < np.deg2rad(40.0))
    fan = np.stack([np.cos(angles), np.sin(angles), np.zeros_like(angles)], axis=-1)
    points = Pose.of(PLACE).apply(links['profiler_link'].apply(fan[found] * ranges[found, None]))
    assert points[:, 2] == pytest.approx(np.full(found.sum(), BOTTOM), abs=0.4)
    # Angles grow towards port, which is north of a vehicle that heads east.
    assert points[-1, 1] > PLACE[1] > points[0, 1]

    for topic in ('instruments/sidescan', 'instruments/ping360/scan_image'):
        image: Image = heard[topic]
        assert image.encoding == 'mono8'
        assert len(image.data) == image.height * image.step
        assert max(image.data) > 100

    echo: MultiEchoLaserScan = heard['instruments/ping360/scan_echo']
    assert echo.angle_min == echo.angle_max
    assert len(echo.ranges) == len(echo.intensities) == 1
    assert len(echo.ranges[0].echoes) == len(echo.intensities[0].echoes) == 1200

    # The pillar stands at 19.5 m to port: the left half of the waterfall and of the sweep.
    picture = np.frombuffer(heard['instruments/ping360/scan_image'].data, np.uint8).reshape(
        heard['instruments/ping360/scan_image'].height, -1
    )
    half = picture.shape[1] // 2
    row = picture.shape[0] // 2
    band = picture[row - 6 : row + 6]
    metre = (picture.shape[1] - 36) / 100.0
    port = band[:, half - round(21 * metre) : half - round(18.5 * metre)]
    starboard = band[:, half + round(18.5 * metre) : half + round(21 * metre)]
    assert port.mean() > starboard.mean() + 40


def test_nothing_is_published_unless_it_is_named(context: Any) -> None:
    for names in (None, []):
        node = node_with(names)
        try:
            out = Instruments(node, simulator(None))
            assert out.topics == []
            out.publish_static()
            out.begin()
            out.instant(0.0, published=1.0)
            assert not [n for n, _ in node.get_topic_names_and_types() if 'instruments' in n]
        finally:
            node.destroy_node()


def test_a_single_name_needs_no_list(context: Any, scene: RayScene) -> None:
    node = node_with('sidescan')
    try:
        assert Instruments(node, simulator(scene)).topics == ['instruments/sidescan']
    finally:
        node.destroy_node()


def test_wrong_names_and_missing_sensors_are_refused(context: Any, scene: RayScene) -> None:
    node = node_with(['altimetre'])
    try:
        with pytest.raises(OceanGymError, match="Did you mean 'altimeter'"):
            Instruments(node, simulator(scene))
    finally:
        node.destroy_node()
    node = node_with(['altimeter'])
    try:
        with pytest.raises(OceanGymError, match='need sensors:=all, not none'):
            Instruments(node, simulator(None))
    finally:
        node.destroy_node()
