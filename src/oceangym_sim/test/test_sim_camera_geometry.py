from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oceangym_core.contract.actions import DIRECTIONS, optical_orientation
from oceangym_core.contract.observation import CameraSpec
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_sim.optics.lamps import default_lamps
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.rays.device import select_variant

select_variant('cpu')

import drjit as dr  # noqa: E402

from oceangym_sim.optics.rig import CameraRig  # noqa: E402
from oceangym_sim.rays.scene import RayScene  # noqa: E402

BALL = np.array([10.0, -5.0, -40.0])
MOUNTS = {
    'front': (0.26, 0.0, 0.0), 'back': (-0.26, 0.0, 0.0), 'left': (0.0, 0.2, 0.05),
    'right': (0.0, -0.2, 0.05), 'up': (0.0, 0.0, 0.15), 'down': (0.05, 0.0, -0.15),
}  # fmt: skip
ATTITUDES = [(0.0, 0.0, 0.0), (0.3, -0.2, 2.4), (-0.5, 0.4, -1.1)]


def specs(size: int) -> tuple[CameraSpec, ...]:
    return tuple(
        CameraSpec(
            direction=d, mount=Pose.of(MOUNTS[d], optical_orientation(d)), width=size, height=size
        )
        for d in DIRECTIONS
    )


@pytest.fixture(scope='module')
def ball_scene(build_world: Callable[..., Path], sphere: Any) -> RayScene:
    ball = sphere('ball', '10 -5 -40 0 0 0', 0.2, colour='0.95 0.95 0.95')
    return RayScene(load_world(build_world([ball])), device='cpu')


@pytest.fixture(scope='module')
def rig(ball_scene: RayScene) -> CameraRig:
    return CameraRig(
        scene=ball_scene, specs=specs(512), optics=WaterOptics(visibility=60.0),
        lamps=default_lamps(), seed=0,
    )  # fmt: skip


def pose_that_sees(point_body: np.ndarray, attitude: tuple[float, float, float]) -> Pose:
    """Return the vehicle pose at which the ball lies at a point of base_link."""
    turned = Pose.from_euler((0, 0, 0), *attitude)
    return Pose.of(BALL - turned.apply(point_body), turned.quaternion)


@pytest.mark.parametrize('attitude', ATTITUDES)
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_known_point_projects_to_its_pixel(
    rig: CameraRig, direction: str, attitude: tuple[float, float, float]
) -> None:
    spec = next(s for s in rig.specs if s.direction == direction)
    in_camera = np.array([1.5, -2.0, 7.0])
    pose = pose_that_sees(spec.mount.apply(in_camera), attitude)
    frames = rig.render(pose=pose, index=0, lamp_level=0.0)
    rows, columns = np.nonzero(frames[direction].instance == 0)
    # Pinhole, pixel centres at half-integers: u = f x / z + W / 2, right and down positive.
    u = spec.focal_length * in_camera[0] / in_camera[2] + spec.width / 2
    v = spec.focal_length * in_camera[1] / in_camera[2] + spec.height / 2
    assert columns.mean() + 0.5 == pytest.approx(u, abs=1.0)
    assert rows.mean() + 0.5 == pytest.approx(v, abs=1.0)
    expected = np.linalg.norm(in_camera) - 0.2
    assert frames[direction].distance.min() == pytest.approx(expected, abs=0.02)
    others = [d for d in DIRECTIONS if (frames[d].instance == 0).any()]
    assert others == [direction]
    # The picture shows it there too, not only the truth.
    image = frames[direction].image.astype(float).max(axis=2)
    row, column = int(v), int(u)
    around = np.median(image[row - 40 : row + 40, column - 40 : column + 40])
    # The ball, some 13 pixels wide, is lit from above: its cap is lighter, its base darker.
    assert np.abs(image[row - 6 : row + 7, column - 6 : column + 7] - around).mean() > 6.0


def test_nothing_is_mirrored(build_world: Callable[..., Path], sphere: Any) -> None:
    things = [
        sphere('port', '6 3 -20 0 0 0', 0.5), sphere('starboard', '6 -2 -20 0 0 0', 0.5),
        sphere('above', '6 0 -17 0 0 0', 0.5), sphere('astern', '-6 2 -20 0 0 0', 0.5),
    ]  # fmt: skip
    scene = RayScene(load_world(build_world(things)), device='cpu')
    small = CameraRig(
        scene=scene, specs=specs(128), optics=WaterOptics(), lamps=(), seed=0, samples=1
    )
    frames = small.render(pose=Pose.of((0, 0, -20)), index=0, lamp_level=0.0)

    def centre(view: str, thing: int) -> tuple[float, float]:
        rows, columns = np.nonzero(frames[view].instance == thing)
        return float(columns.mean()), float(rows.mean())

    assert centre('front', 0)[0] < 64 < centre('front', 1)[0]
    assert centre('front', 2)[1] < 64
    # Seen astern, what lies to the vehicle's port is on the right.
    assert centre('back', 3)[0] > 64
    # Left looks to port: ahead is on its right. Right: ahead is on its left.
    ahead_port = small.render(pose=Pose.of((4, 0, -20)), index=0, lamp_level=0.0)
    _, columns = np.nonzero(ahead_port['left'].instance == 0)
    assert columns.mean() > 64
    _, columns = np.nonzero(ahead_port['right'].instance == 1)
    assert columns.mean() < 64
    # Up: the top of the image is aft. Down: the top of the image is ahead; port is left.
    below = small.render(pose=Pose.of((5, 0, -20)), index=0, lamp_level=0.0)
    rows, _ = np.nonzero(below['up'].instance == 2)
    assert rows.mean() > 64
    over = small.render(pose=Pose.of((5, 1.5, -16)), index=0, lamp_level=0.0)
    rows, columns = np.nonzero(over['down'].instance == 0)
    assert rows.mean() < 64
    assert columns.mean() < 64


def test_images_are_lit_and_repeat_with_their_seed(ball_scene: RayScene) -> None:
    def image(seed: int, index: int) -> np.ndarray:
        rig = CameraRig(
            scene=ball_scene, specs=specs(64), optics=WaterOptics(), lamps=(), seed=seed
        )
        frames = rig.render(pose=Pose.of((0, 0, -45)), index=index, lamp_level=0.0)
        return np.stack([frames[d].image for d in DIRECTIONS])

    first = image(3, 5)
    assert (first.reshape(6, -1).mean(axis=1) > 10.0).all()
    assert (first == image(3, 5)).all()
    assert (first != image(4, 5)).any()
    assert (first != image(3, 6)).any()


def test_lamps_light_what_daylight_does_not_reach(ball_scene: RayScene) -> None:
    deep = WaterOptics(light_lux=1.5, depth_offset=450.0, visibility=15.0)
    rig = CameraRig(
        scene=ball_scene, specs=specs(64)[:1], optics=deep, lamps=default_lamps(), seed=0
    )
    pose = pose_that_sees(np.array([2.0, 0.0, 0.0]), (0.0, 0.0, 0.0))
    dark = rig.render(pose=pose, index=0, lamp_level=0.0)['front']
    lit = rig.render(pose=pose, index=0, lamp_level=1.0)['front']
    ball = lit.instance == 0
    assert dark.image.mean() < 12.0
    assert dark.direct[ball].max() < 4 / 255
    assert lit.direct[ball].min() > 0.2
    # Twice the way there and back: the direct signal falls faster than the inverse square.
    far = pose_that_sees(np.array([9.0, 0.0, 0.0]), (0.0, 0.0, 0.0))
    assert rig.render(pose=far, index=0, lamp_level=1.0)['front'].direct.max() < 0.5


def test_up_is_brighter_than_level_and_level_than_down(ball_scene: RayScene) -> None:
    rig = CameraRig(
        scene=ball_scene, specs=specs(64), optics=WaterOptics(), lamps=(), seed=0, samples=1
    )
    light = rig.measure(pose=Pose.of((0, 0, -40)), lamp_level=0.0)
    view = {d: light[d].total[..., 2] for d in DIRECTIONS}
    assert view['up'].max() > 3 * view['front'].mean() > 3 * view['down'].mean()


def test_no_frame_compiles_a_kernel_after_the_first(ball_scene: RayScene) -> None:
    rig = CameraRig(
        scene=ball_scene, specs=specs(32), optics=WaterOptics(), lamps=default_lamps(), seed=0
    )
    rig.render(pose=Pose.of((0, 0, -40)), index=0, lamp_level=0.5)
    dr.kernel_history_clear()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        rig.render(pose=Pose.from_euler((3, 1, -37), 0.1, 0.2, 0.9), index=1, lamp_level=0.8)
    launched = [k for k in dr.kernel_history() if k['type'] == dr.KernelType.JIT]
    assert launched
    assert all(kernel['cache_hit'] for kernel in launched)


def test_cameras_of_different_sizes(ball_scene: RayScene) -> None:
    front, *rest = specs(64)
    mixed = (replace(front, width=96, height=48), *rest)
    rig = CameraRig(scene=ball_scene, specs=mixed, optics=WaterOptics(), lamps=(), seed=0)
    frames = rig.render(pose=Pose.of((0, 0, -40)), index=0, lamp_level=0.0)
    assert frames['front'].image.shape == (48, 96, 3)
    assert frames['down'].image.shape == (64, 64, 3)
