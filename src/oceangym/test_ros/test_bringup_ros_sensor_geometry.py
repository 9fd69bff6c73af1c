"""Where sensors say a thing is, followed through messages and TF, is where the thing is in map."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
import subprocess
import sys
import textwrap

import cv2
import numpy as np
import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.geometry import Pose

pytestmark = pytest.mark.ros

START = Pose.from_euler((20.0, -30.0, -50.0), 0.0, 0.0, math.radians(70.0))
SHIFT = (130.0, -40.0, math.radians(-25.0))
DISTANCE, BEARING, RADIUS = 12.0, math.radians(15.0), 0.1
CAMERA_SIZE = 512
# Where a sensor looks and where its image's left is, in base_link: x ahead, y port, z up. Left is
# a quarter turn from the boresight about the image's up.
AHEAD = {
    'front': ((1, 0, 0), (0, 1, 0)),
    'back': ((-1, 0, 0), (0, -1, 0)),
    'left': ((0, 1, 0), (-1, 0, 0)),
    'right': ((0, -1, 0), (1, 0, 0)),
    'up': ((0, 0, 1), (0, 1, 0)),
    'down': ((0, 0, -1), (0, 1, 0)),
}
_HEADER = '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">'


def balls() -> dict[str, np.ndarray]:
    """One ball before each sensor, 15 degrees to its own left: its place in map."""
    turn = START.rotation
    middle = np.asarray(START.position)
    places = {}
    for direction, (ahead, left) in AHEAD.items():
        body = math.cos(BEARING) * np.array(ahead) + math.sin(BEARING) * np.array(left)
        places[direction] = middle + turn @ (DISTANCE * body)
    return places


def write_balls(directory: Path) -> Path:
    ball = directory / 'models' / 'ball'
    ball.mkdir(parents=True)
    (ball / 'model.sdf').write_text(
        f'{_HEADER}<model name="ball"><link name="l"><visual name="v"><geometry><sphere>'
        f'<radius>{RADIUS}</radius></sphere></geometry><material><diffuse>0.9 0.9 0.9 1</diffuse>'
        '</material><oceangym:acoustic material="steel" strength_db="6"/></visual></link>'
        '</model></sdf>'
    )
    includes = ''.join(
        f'<include><uri>model://ball</uri><name>ball_{direction}</name>'
        f'<pose>{x:.6f} {y:.6f} {z:.6f} 0 0 0</pose></include>'
        for direction, (x, y, z) in balls().items()
    )
    path = directory / 'balls.sdf'
    path.write_text(
        f'{_HEADER}<world name="balls"><oceangym:bounds><min>-200 -200 -100</min>'
        f'<max>200 200 5</max></oceangym:bounds>{includes}</world></sdf>'
    )
    return path


# The interface of marine_acoustic_msgs 2 as far as it is used here: fields and constants.
_INTERFACE = {
    'msg/PingInfo.msg': """
        float32 frequency
        float32 sound_speed
        float32[] tx_beamwidths
        float32[] rx_beamwidths
    """,
    'msg/SonarImageData.msg': """
        bool is_bigendian
        uint32 DTYPE_UINT8=0
        uint32 DTYPE_INT8=1
        uint32 DTYPE_UINT16=2
        uint32 DTYPE_INT16=3
        uint32 DTYPE_UINT32=4
        uint32 DTYPE_INT32=5
        uint32 DTYPE_UINT64=6
        uint32 DTYPE_INT64=7
        uint32 DTYPE_FLOAT32=8
        uint32 DTYPE_FLOAT64=9
        uint32 dtype
        uint32 beam_count
        uint8[] data
    """,
    'msg/ProjectedSonarImage.msg': """
        std_msgs/Header header
        PingInfo ping_info
        geometry_msgs/Vector3[] beam_directions
        float32[] ranges
        SonarImageData image
    """,
    'package.xml': """
        <package format="3">
          <name>marine_acoustic_msgs</name><version>2.0.0</version>
          <description>Sonar images.</description>
          <maintainer email="nobody@example.com">Nobody</maintainer><license>BSD-3-Clause</license>
          <buildtool_depend>ament_cmake</buildtool_depend>
          <buildtool_depend>rosidl_default_generators</buildtool_depend>
          <depend>geometry_msgs</depend><depend>std_msgs</depend>
          <exec_depend>rosidl_default_runtime</exec_depend>
          <member_of_group>rosidl_interface_packages</member_of_group>
          <export><build_type>ament_cmake</build_type></export>
        </package>
    """,
    'CMakeLists.txt': """
        cmake_minimum_required(VERSION 3.20)
        project(marine_acoustic_msgs)
        find_package(ament_cmake REQUIRED)
        find_package(rosidl_default_generators REQUIRED)
        find_package(geometry_msgs REQUIRED)
        find_package(std_msgs REQUIRED)
        rosidl_generate_interfaces(${PROJECT_NAME} msg/PingInfo.msg msg/SonarImageData.msg
          msg/ProjectedSonarImage.msg DEPENDENCIES geometry_msgs std_msgs)
        ament_package()
    """,
}


def _prepend(environment: dict[str, str], **paths: Path) -> dict[str, str]:
    changed = dict(environment)
    for name, path in paths.items():
        changed[name] = os.pathsep.join(filter(None, (str(path), environment.get(name, ''))))
    return changed


def _can_import(environment: dict[str, str]) -> bool:
    command = [sys.executable, '-c', 'import marine_acoustic_msgs.msg']
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    return done.returncode == 0


@pytest.fixture(scope='module')
def acoustic_environment(tmp_path_factory, nodes) -> dict[str, str]:
    """An environment with marine_acoustic_msgs: the installed one, or one made for the test."""
    environment = nodes.environment
    if _can_import(environment):
        return environment
    source = tmp_path_factory.mktemp('interface')
    for name, text in _INTERFACE.items():
        path = source / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(textwrap.dedent(text).strip() + '\n')
    build, prefix = source / 'build', source / 'install'
    # Our sources hide no module of the generators, but another workspace of the shell might.
    clean = {k: v for k, v in environment.items() if k != 'COLCON_PREFIX_PATH'}
    for command in (
        ['cmake', '-G', 'Ninja', '-S', str(source), '-B', str(build), '-DBUILD_TESTING=OFF',
         f'-DCMAKE_INSTALL_PREFIX={prefix}', f'-DPython3_EXECUTABLE={sys.executable}',
         '-DPython3_FIND_VIRTUALENV=ONLY', '--no-warn-unused-cli'],
        ['cmake', '--build', str(build), '--target', 'install'],
    ):  # fmt: skip
        done = subprocess.run(command, env=clean, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f'{done.stdout[-3000:]}\n{done.stderr[-3000:]}'
    packages = next(prefix.rglob('marine_acoustic_msgs/__init__.py')).parents[1]
    environment = _prepend(
        environment, AMENT_PREFIX_PATH=prefix, LD_LIBRARY_PATH=prefix / 'lib', PYTHONPATH=packages
    )
    assert _can_import(environment)
    return environment


def _matrix(transform) -> np.ndarray:
    t, q = transform.translation, transform.rotation
    matrix = np.eye(4)
    matrix[:3, :3] = Pose.of((0, 0, 0), (q.x, q.y, q.z, q.w)).rotation
    matrix[:3, 3] = (t.x, t.y, t.z)
    return matrix


@pytest.fixture(scope='module')
def tank(tmp_path_factory, nodes, make_specs, make_probe, acoustic_environment):
    """What a client hears of one observation among six balls, and frames as map sees them."""
    from oceangym_msgs.srv import Reset

    from oceangym_core.contract.topics import LABEL_CLASSES, label_streams
    from oceangym_core.nodes.conversions import pose_message
    from oceangym_core.nodes.node import message_type
    from oceangym_core.nodes.qos import reader_qos

    nodes.environment = acoustic_environment
    world = write_balls(tmp_path_factory.mktemp('balls'))
    options = RunOptions(agent='none', sensors='all', record='false')
    simulator = make_specs(options, nodes.directory, world)['simulator']
    nodes.start(simulator, camera_size=CAMERA_SIZE, labels=True)
    probe = make_probe('surveyor')
    names = [f'sonar/{d}/{kind}' for d in DIRECTIONS for kind in ('polar', 'info', 'fan')]
    names += [f'camera/{d}/camera_info' for d in DIRECTIONS]
    probe.listen(*names, 'tf', 'tf_static', 'truth/tf', 'capabilities')
    for labels in [LABEL_CLASSES, *(label_streams(d)[2] for d in DIRECTIONS)]:
        heard = probe.heard.setdefault(labels.name, [])
        probe.node.create_subscription(
            message_type(labels.type), labels.name, heard.append, reader_qos(labels.delivery)
        )
    request = Reset.Request(
        start=pose_message(START), t_max=600.0, t_interval=30.0, profile='standard', targets=[],
        shift=list(SHIFT),
    )  # fmt: skip
    response = probe.call(Reset, 'sim/reset', request)
    assert response.error_code == 0, response.error_msg
    probe.until(lambda: all(probe.heard.values()))
    parents = {
        t.child_frame_id: (t.header.frame_id, _matrix(t.transform))
        for name in ('tf', 'tf_static', 'truth/tf')
        for message in probe.heard[name]
        for t in message.transforms
    }

    def to_map(frame: str) -> np.ndarray:
        whole = np.eye(4)
        while frame != 'map':
            frame, step = parents[frame]
            whole = step @ whole
        return whole

    yield probe.heard, to_map
    probe.close()


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_strongest_echo_leads_back_to_its_ball(tank, direction):
    """An axis convention off by a sign or a quarter turn would lead metres away."""
    heard, to_map = tank
    info, polar = heard[f'sonar/{direction}/info'][-1], heard[f'sonar/{direction}/polar'][-1]
    # Laid out range by range, four bytes a cell, beams from port to starboard.
    assert (polar.encoding, polar.is_bigendian, polar.step) == ('32FC1', 0, 4 * polar.width)
    assert polar.width == len(info.azimuth)
    assert len(polar.data) == 4 * polar.width * polar.height
    grid = np.frombuffer(polar.data, '<f4')
    row, column = divmod(int(grid.argmax()), polar.width)
    assert column < polar.width / 2
    azimuth = info.azimuth[column]
    reach = info.range_min + (row + 0.5) * info.range_resolution
    in_frame = np.array([0.0, -math.sin(azimuth) * reach, math.cos(azimuth) * reach, 1.0])
    place = (to_map(polar.header.frame_id) @ in_frame)[:3]
    assert _miss(place, direction, info.range_resolution) < 1.0


def _miss(place: np.ndarray, direction: str, bin_size: float) -> float:
    """Return how far a place is from a ball, over what a sonar can tell apart."""
    error = place - balls()[direction]
    ahead, left = (START.rotation @ np.array(axis, float) for axis in AHEAD[direction])
    beside = np.cross(ahead, left)
    in_plane = error - (error @ beside) * beside
    # Half the elevation aperture of 20 degrees is unknown to a sonar across its plane.
    across = abs(error @ beside) / (DISTANCE * math.tan(math.radians(10.0)))
    return max(float(np.linalg.norm(in_plane)) / (RADIUS + 2 * bin_size), across)


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_fan_shows_port_on_its_left(tank, direction):
    """A fan drawn with the polar image's columns reversed is a mirror image."""
    heard, _ = tank
    fan = heard[f'sonar/{direction}/fan'][-1]
    image = np.frombuffer(fan.data, np.uint8).reshape(fan.height, fan.width).astype(int)
    info = heard[f'sonar/{direction}/info'][-1]
    scale = fan.height / info.range_max
    middle = np.array([fan.height, fan.width / 2])
    to_ball = scale * DISTANCE * np.array([-math.cos(BEARING), -math.sin(BEARING)])

    def brightness(offset: np.ndarray) -> float:
        row, column = np.rint(middle + offset).astype(int)
        return float(
            np.sort(image[row - 4 : row + 5, column - 4 : column + 5].ravel())[-6:].mean()
        )

    # The same place to starboard, and twice as far off to port: nothing is there.
    assert brightness(to_ball) > 40 + brightness(to_ball * (1, -1))
    assert brightness(to_ball) > 40 + brightness(to_ball * 2)


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_the_pixel_of_a_ball_leads_back_to_it(tank, direction):
    """Images stamped with the body's frame, or a wrong principal point, would miss the ball."""
    heard, to_map = tank
    instances = json.loads(heard['truth/camera/classes'][-1].data)['instances']
    label = heard[f'truth/camera/{direction}/instance'][-1]
    image = np.frombuffer(label.data, '<u2').reshape(label.height, label.width)
    rows, columns = np.nonzero(image == instances.index(f'ball_{direction}'))
    assert rows.size >= 5
    info = heard[f'camera/{direction}/camera_info'][-1]
    camera = np.linalg.inv(to_map(info.header.frame_id))
    x, y, z, _ = camera @ np.append(balls()[direction], 1.0)
    assert z > 0
    k, d = np.array(info.k).reshape(3, 3), np.array(info.d)
    ((((u, v),),), _) = cv2.projectPoints(np.array([[x, y, z]]), np.zeros(3), np.zeros(3), k, d)
    assert (columns.mean(), rows.mean()) == pytest.approx((u, v), abs=1.0)


_LISTENER = """
import json, sys
import numpy as np
import rclpy
from marine_acoustic_msgs.msg import ProjectedSonarImage, SonarImageData
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.nodes.qos import reader_qos
from oceangym_core.contract.topics import Delivery

rclpy.init()
node = rclpy.create_node('viewer', namespace='auv')
heard = {}
for d in DIRECTIONS:
    node.create_subscription(ProjectedSonarImage, f'sonar/{d}/projected',
                             lambda m, d=d: heard.__setitem__(d, m), reader_qos(Delivery.FROZEN))
for _ in range(600):
    rclpy.spin_once(node, timeout_sec=0.1)
    if len(heard) == len(DIRECTIONS):
        break
found = {}
for d, m in heard.items():
    assert m.image.dtype == SonarImageData.DTYPE_UINT32 and not m.image.is_bigendian
    data = np.frombuffer(bytes(m.image.data), '<u4')
    row, beam = divmod(int(data.argmax()), m.image.beam_count)
    directions = [(v.x, v.y, v.z) for v in m.beam_directions]
    found[d] = {'frame': m.header.frame_id, 'cells': data.size, 'beams': m.image.beam_count,
                'ranges': len(m.ranges), 'range': m.ranges[row], 'direction': directions[beam],
                'first': directions[0], 'last': directions[-1], 'bin': m.ranges[1] - m.ranges[0],
                'grey': (data / (2**32 - 1)).tolist() if d == 'front' else None,
                'widths': [len(m.ping_info.tx_beamwidths), len(m.ping_info.rx_beamwidths)]}
print(json.dumps(found))
node.destroy_node()
rclpy.shutdown()
"""


def test_projected_images_lead_back_to_their_balls(tank, acoustic_environment):
    """A client of the acoustic message alone, in a process of its own, finds the balls to port."""
    heard, to_map = tank
    result = subprocess.run(
        [sys.executable, '-c', _LISTENER],
        env=acoustic_environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout.splitlines()[-1])
    assert set(found) == set(DIRECTIONS)
    for direction, seen in found.items():
        # Every cell of beams x ranges is there once, and every beam has its direction and widths.
        assert seen['cells'] == seen['beams'] * seen['ranges']
        assert seen['widths'] == [seen['beams']] * 2
        # In a frame whose y is starboard the first beam is the port-most one.
        assert seen['first'][1] < 0 < seen['last'][1]
        assert seen['direction'][1] < 0
        in_frame = np.append(np.array(seen['direction']) * seen['range'], 1.0)
        place = (to_map(seen['frame']) @ in_frame)[:3]
        assert _miss(place, direction, seen['bin']) < 1.0
    polar = np.frombuffer(heard['sonar/front/polar'][-1].data, '<f4')
    assert np.asarray(found['front']['grey']) == pytest.approx(np.clip(polar, 0, 1), abs=1e-6)
    assert 'sonar/front/projected' in heard['capabilities'][-1].streams
