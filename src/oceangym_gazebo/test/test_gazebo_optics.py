"""Images from colour and depth equal those that the embedded cameras form on the same geometry."""

from __future__ import annotations

import numpy as np
import pytest

from oceangym_core.contract.actions import optical_orientation
from oceangym_core.contract.observation import CameraSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_gazebo.rays.optics import DepthCameras, DepthPicture
from oceangym_gazebo.session.instants import Instants
from oceangym_sim.optics.rig import CameraRig
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.rays.scene import RayScene

SIZE = 96
SPECS = tuple(
    CameraSpec(
        direction=d, mount=Pose.of((0, 0, 0), optical_orientation(d)), width=SIZE, height=SIZE
    )
    for d in ('front', 'up', 'down')
)
POSE = Pose.from_euler((0.0, 0.0, -20.0), 0.0, 0.0, 0.3)
OPTICS = WaterOptics()
COLOUR = (188, 137, 64)  # sRGB of everything below
HEADER = '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">'


def linear(values):
    value = np.asarray(values) / 255.0
    return ((value + 0.055) / 1.055) ** 2.4


@pytest.fixture(scope='module')
def scene(tmp_path_factory):
    folder = tmp_path_factory.mktemp('tank')
    shapes = {
        'bed': ('0 0 -25 0 0 0', '<box><size>100 100 1</size></box>'),
        'wall': ('8 1 -20 0.2 0.3 0.4', '<box><size>2 4 6</size></box>'),
    }
    colour = ' '.join(f'{v:.6f}' for v in linear(COLOUR))
    includes = ''
    for name, (pose, shape) in shapes.items():
        home = folder / 'models' / name
        home.mkdir(parents=True)
        (home / 'model.sdf').write_text(
            f'{HEADER}<model name="{name}"><link name="l"><visual name="v"><geometry>{shape}'
            f'</geometry><material><diffuse>{colour} 1</diffuse></material>'
            '<oceangym:acoustic material="steel" strength_db="-8"/></visual></link></model></sdf>'
        )
        includes += (
            f'<include><uri>model://{name}</uri><name>{name}</name><pose>{pose}</pose></include>'
        )
    path = folder / 'tank.sdf'
    path.write_text(
        f'{HEADER}<world name="tank"><oceangym:bounds><min>-60 -60 -60</min><max>60 60 5</max>'
        f'</oceangym:bounds>{includes}</world></sdf>'
    )
    return RayScene(load_world(path), device='cpu')


@pytest.fixture(scope='module')
def pictures_of(scene):
    return lambda frames: pictures(frames, scene.surface_index)


def pictures(frames, surface):
    """What Gazebo's RGBD cameras would send: planar depth, and no sea surface."""
    column, row = np.meshgrid(*[np.arange(SIZE) + 0.5 - SIZE / 2] * 2)
    slant = np.sqrt(1.0 + (column**2 + row**2) / SPECS[0].focal_length ** 2)
    made = {}
    for name, frame in frames.items():
        depth = (frame.distance / slant).astype(np.float32)
        depth[frame.instance == surface] = np.inf
        colour = np.empty((SIZE, SIZE, 3), np.uint8)
        colour[:] = COLOUR
        made[name] = DepthPicture(colour=colour, depth=depth)
    return made


@pytest.fixture(scope='module')
def embedded(scene):
    rig = CameraRig(
        scene=scene, specs=SPECS, optics=OPTICS, lamps=(), seed=5, shadows=False, samples=1
    )
    return rig.render(pose=POSE, index=2, lamp_level=0.0)


@pytest.fixture(scope='module')
def cameras(scene):
    return DepthCameras(specs=SPECS, optics=OPTICS, lamps=(), seed=5)


def test_the_same_geometry_gives_the_same_picture(embedded, cameras, pictures_of):
    frames = cameras.develop(pictures_of(embedded), pose=POSE, index=2, lamp_level=0.0)
    for name, expected in embedded.items():
        off = np.abs(frames[name].image.astype(int) - expected.image.astype(int))
        assert off.mean() < 1.0, name
        # Where a surface ends, the slope is the neighbour's.
        assert np.quantile(off, 0.99) <= 4, name
        hit = np.isfinite(expected.distance)
        np.testing.assert_allclose(
            frames[name].distance[hit], expected.distance[hit], rtol=1e-3, err_msg=name
        )


def test_far_things_drown_in_the_water(cameras, embedded, pictures_of):
    shown = pictures_of(embedded)
    means = []
    for depth in (2.0, 6.0, 15.0):
        for picture in shown.values():
            picture.depth[:] = depth
        frame = cameras.develop(shown, pose=POSE, index=0, lamp_level=0.0)['front']
        means.append(frame.direct.mean())
    assert means[0] > means[1] > means[2]


@pytest.mark.parametrize('miss', [np.inf, -np.inf, np.nan, 0.0, -1.0])
def test_depth_without_a_hit_is_open_water(miss, cameras, embedded, pictures_of):
    shown = pictures_of(embedded)
    shown['front'].depth[20:40] = miss
    frame = cameras.develop(shown, pose=POSE, index=0, lamp_level=0.0)['front']
    open_water = frame.distance[20:40]
    assert not np.isnan(open_water).any()
    assert frame.direct[20:40][np.isinf(open_water)].max() == 0.0


def test_what_does_not_fit_is_refused(cameras, embedded, pictures_of):
    shown = pictures_of(embedded)
    missing = {name: p for name, p in shown.items() if name != 'up'}
    with pytest.raises(OceanGymError, match='camera up: no picture'):
        cameras.develop(missing, pose=POSE, index=0, lamp_level=0.0)
    small = DepthPicture(colour=shown['up'].colour[:50], depth=shown['up'].depth)
    with pytest.raises(OceanGymError, match=r'camera up: colour \(50, 96, 3\)'):
        cameras.develop({**shown, 'up': small}, pose=POSE, index=0, lamp_level=0.0)


def test_an_instant_is_handed_out_when_whole_and_dropped_when_a_part_is_lost():
    instants = Instants(['a', 'b'])
    assert instants.add(1, 'a', 'a1') is None
    assert instants.add(2, 'b', 'b2') is None
    assert instants.add(2, 'a', 'a2') == {'a': 'a2', 'b': 'b2'}
    # What is older than a whole instant lost a part.
    assert instants.dropped == 1
    for stamp in range(3, 9):
        assert instants.add(stamp, 'a', 'x') is None
    assert instants.dropped == 4
    assert instants.add(8, 'b', 'y') == {'a': 'x', 'b': 'y'}
