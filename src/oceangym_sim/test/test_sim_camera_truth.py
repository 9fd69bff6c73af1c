"""The cameras' ground truth against the geometry it is made from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.contract.actions import DIRECTIONS, optical_orientation
from oceangym_core.contract.observation import CameraSpec
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world, World
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.optics.labels import CameraTruth, Labeller, NOTHING, SURFACE
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.sensors import SensorSuite

ANCHOR = (
    '<oceangym:anchor name="wreck_1" label="SUNKEN SHIP" instances="wreck"><point>12 0 -40</point>'
    '</oceangym:anchor>'
)
SPECS = tuple(
    CameraSpec(direction=d, mount=Pose.of((0, 0, 0), optical_orientation(d)), width=128, height=96)
    for d in DIRECTIONS
)


@pytest.fixture(scope='module')
def world(build_world: Callable[..., Path], box: Any, sphere: Any) -> World:
    things = [
        box('wreck', '12 0 -40 0 0 0.5', '2 6 4'),
        box('wall', '0 8 -40 0 0 0', '40 2 60'),
        sphere('ball', '6 -2 -39 0 0 0', 0.5),
        sphere('crumb', '60 -20 -40 0 0 0', 0.05),
    ]
    return load_world(build_world(things, ANCHOR))


@pytest.fixture(scope='module')
def truth(world: World) -> tuple[dict[str, CameraTruth], Labeller]:
    suite = SensorSuite(
        world=world, cameras=SPECS, sonars=(), optics=WaterOptics(), lamps=(), anchors=(), seed=0,
        device='cpu', labels=True,
    )  # fmt: skip
    reading = suite.observe(pose=Pose.of((0, 0, -40)), index=0, lamp_level=0.0)
    assert set(reading.cameras) == set(reading.labels) == set(DIRECTIONS)
    assert suite.labeller is not None
    return reading.labels, suite.labeller


Truth = tuple[dict[str, CameraTruth], Labeller]


def test_depth_is_planar_and_range_is_not(truth: Truth) -> None:
    left = truth[0]['left']
    wall = left.instance == 1
    # The wall's face stands 7 m away, parallel to the image plane.
    assert wall.sum() > 0.9 * wall.size
    assert left.depth[wall] == pytest.approx(7.0, abs=1e-3)
    assert np.isinf(truth[0]['front'].depth[90, 100])


def test_normals_face_the_camera(truth: Truth) -> None:
    left, front = truth[0]['left'], truth[0]['front']
    wall = left.instance == 1
    assert left.normal[wall] == pytest.approx(np.tile([0, 0, -1], (wall.sum(), 1)), abs=1e-3)
    assert not front.normal[np.isinf(front.depth)].any()
    ball = front.instance == 2
    rows, columns = np.nonzero(ball)
    # Seen from the camera a ball's normals turn outwards: left pixels look left, upper ones up.
    assert np.corrcoef(columns, front.normal[ball][:, 0])[0, 1] > 0.95
    assert np.corrcoef(rows, front.normal[ball][:, 1])[0, 1] > 0.95


def test_classes_and_instances_have_names(truth: Truth, world: World) -> None:
    labels, labeller = truth
    front = labels['front']
    for index in np.unique(front.instance):
        name = labeller.instances[index]
        classes = {labeller.classes[c] for c in front.segmentation[front.instance == index]}
        if name in ('wreck', 'wall', 'ball', 'crumb'):
            assert classes == {name}
    assert (labels['up'].segmentation == SURFACE).any()
    assert (front.segmentation == NOTHING).any()
    assert labeller.instances[world.instances.index(world.instance('ball'))] == 'ball'


def test_boxes_frame_what_is_seen(truth: Truth) -> None:
    front = truth[0]['front']
    boxes = {box.instance: box for box in front.boxes}
    assert set(boxes) == {'wreck', 'wall', 'ball'}
    assert [box.distance for box in front.boxes] == sorted(box.distance for box in front.boxes)
    ball = boxes['ball']
    # The ball at (6, -2, 1) from the camera: 2 m to the right, 1 m up, 6 m ahead.
    assert ball.centre == pytest.approx((2, -1, 6), abs=1e-3)
    assert ball.size == pytest.approx((1, 1, 1), abs=0.02)
    u, v = 64 + 64 * 2 / 6, 48 - 64 * 1 / 6
    assert (ball.left + ball.right) / 2 == pytest.approx(u, abs=1.0)
    assert (ball.top + ball.bottom) / 2 == pytest.approx(v, abs=1.0)
    assert ball.right - ball.left == pytest.approx(64 / 6, abs=2.0)
    assert ball.pixels == int((front.instance == 2).sum())
    assert ball.label == ''
    wreck = boxes['wreck']
    assert (wreck.label, wreck.prop_class) == ('SUNKEN SHIP', 'wreck')
    assert wreck.centre == pytest.approx((0, 0, 12), abs=1e-3)
    assert wreck.size == pytest.approx((2, 6, 4), abs=1e-3)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-3, 3) for z in (-2, 2)])
    placed = Pose.of(wreck.centre, wreck.orientation).apply(corners)
    columns = 64 + 64 * placed[:, 0] / placed[:, 2]
    assert wreck.left >= np.floor(columns.min())
    assert wreck.right <= np.ceil(columns.max())


def test_labels_change_no_pixel(world: World, truth: Truth) -> None:
    def picture(labels: bool) -> np.ndarray:
        suite = SensorSuite(
            world=world, cameras=SPECS[:1], sonars=(), optics=WaterOptics(), lamps=(), anchors=(),
            seed=0, device='cpu', labels=labels,
        )  # fmt: skip
        return suite.observe(pose=Pose.of((0, 0, -40)), index=3, lamp_level=0.0).cameras['front']

    assert (picture(True) == picture(False)).all()


def test_a_lens_is_read_from_the_vehicle_s_model(tmp_path: Path) -> None:
    shipped = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
    text = shipped.read_text().replace(
        '</horizontal_fov>',
        '</horizontal_fov><distortion><k1>-0.1</k1><k2>0.01</k2><p1>0.002</p1></distortion>',
        1,
    )
    path = tmp_path / 'model.sdf'
    path.write_text(text)
    bent, *straight = load_vehicle(path).cameras
    assert bent.distortion == (-0.1, 0.01, 0.002, 0.0, 0.0)
    assert not any(any(camera.distortion) for camera in straight)
