"""A hosted server, where Gazebo Harmonic is installed: physics, stopping, cameras, lidars."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_gazebo.hosted.physics import GazeboPlant
from oceangym_gazebo.hosted.sensors import RawSensors
from oceangym_gazebo.hosted.server import GazeboServer
from oceangym_gazebo.rays.ray_cloud import lidar_texels, ray_grid
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Environment

pytest.importorskip('gz.sim8', reason='Gazebo Harmonic is not installed')

PATH = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
VEHICLE = load_vehicle(PATH)
COLOUR = (0.5, 0.25, 0.125)  # linear
WALL_X = 10.0
START = Pose((0.0, 0.0, -15.0))
HEADER = (
    '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1" '
    'xmlns:gz="http://gazebosim.org/schema">'
)


def tank(folder):
    """A world of a bed and a wall, 1 m thick, with the systems of the shipped world."""
    shipped = (assets_root() / 'worlds' / 'ocean' / 'ocean.sdf').read_text(encoding='utf-8')
    head = shipped[shipped.index('    <gz:policies>') : shipped.index('    <oceangym:bounds>')]
    includes = ''
    shapes = {
        'bed': ('0 0 -25.5 0 0 0', '100 100 1'),
        'wall': (f'{WALL_X + 0.5} 0 -15 0 0 0', '1 40 40'),
    }
    for name, (pose, size) in shapes.items():
        home = folder / 'models' / name
        home.mkdir(parents=True)
        geometry = f'<geometry><box><size>{size}</size></box></geometry>'
        colour = ' '.join(str(v) for v in COLOUR)
        (home / 'model.sdf').write_text(
            f'{HEADER}<model name="{name}"><static>true</static><link name="l">'
            f'<visual name="v">{geometry}<material><diffuse>{colour} 1</diffuse></material>'
            '<laser_retro>100</laser_retro>'
            '<oceangym:acoustic material="steel" strength_db="-10"/></visual>'
            f'<collision name="c">{geometry}</collision></link></model></sdf>',
            encoding='utf-8',
        )
        includes += (
            f'<include><uri>model://{name}</uri><name>{name}</name><pose>{pose}</pose></include>'
        )
    path = folder / 'tank.sdf'
    path.write_text(
        f'{HEADER}<world name="tank">{head}<oceangym:bounds><min>-60 -60 -60</min><max>60 60 5</max>'
        f'</oceangym:bounds>{includes}</world></sdf>',
        encoding='utf-8',
    )
    return path


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    made = GazeboServer(world=tank(tmp_path_factory.mktemp('tank')), vehicle=PATH)
    yield made
    made.close()


@pytest.fixture(scope='module')
def views(server):
    server.place(START, VEHICLE.mass_matrix)
    raw = RawSensors(server=server, cameras=VEHICLE.cameras, sonars=VEHICLE.sonars)
    pictures, clouds = raw.take(np.zeros(6))
    return pictures, clouds, server.state.pose


def test_the_vehicle_rises_as_fast_as_buoyancy_and_damping_let_it(server):
    plant = GazeboPlant(server=server, parameters=VEHICLE, environment=Environment())
    plant.reset(START)
    for _ in range(400):
        plant.step(np.zeros(8), 0.01, 5)
    # D_q w^2 + D_l w = rho g V - m g
    force = 1025.0 * 9.81 * VEHICLE.volume - VEHICLE.mass * 9.81
    linear, quadratic = VEHICLE.linear_damping[2, 2], VEHICLE.quadratic_damping[2]
    speed = (-linear + math.sqrt(linear**2 + 4 * quadratic * force)) / (2 * quadratic)
    assert plant.velocity[0, 2] == pytest.approx(speed, rel=0.01)


def test_a_moving_vehicle_is_put_down_at_rest(server):
    server.place(START, VEHICLE.mass_matrix)
    server.advance(np.tile([60.0, 20.0, -30.0, 0.5, 0.2, 3.0], (200, 1)))
    assert np.linalg.norm(server.state.velocity) > 0.5
    elsewhere = Pose.from_euler((-5.0, 3.0, -12.0), 0.0, 0.0, 1.0)
    server.place(elsewhere, VEHICLE.mass_matrix)
    assert np.abs(server.state.velocity).max() < 2e-3
    assert server.state.pose.position == pytest.approx(elsewhere.position, abs=1e-3)
    assert server.state.pose.yaw == pytest.approx(1.0, abs=1e-3)


def test_a_hull_driven_into_the_wall_stops_before_it(server):
    server.place(Pose((8.0, 0.0, -15.0)), VEHICLE.mass_matrix)
    server.advance(np.tile([80.0, 0, 0, 0, 0, 0], (1500, 1)))
    assert WALL_X - 0.6 < server.state.pose.position[0] < WALL_X


def test_cameras_show_albedo_and_planar_depth(views):
    pictures, _, pose = views
    front = pictures['front']
    spec = next(s for s in VEHICLE.cameras if s.direction == 'front')
    ahead = WALL_X - (pose @ spec.mount).position[0]
    middle = slice(spec.height // 2 - 20, spec.height // 2 + 20)
    assert front.depth[middle, middle] == pytest.approx(ahead, rel=2e-3)
    # Planar depth of a wall square to the boresight is the same in the corners of its image.
    assert front.depth[middle, 5:20] == pytest.approx(ahead, rel=2e-3)
    value = front.colour[middle, middle].reshape(-1, 3).mean(axis=0) / 255.0
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    assert linear == pytest.approx(COLOUR, abs=0.02)
    assert not np.isfinite(pictures['back'].depth[: spec.height // 2]).any()


def test_lidars_give_exact_ranges_along_their_rays(views):
    _, clouds, pose = views
    spec = next(s for s in VEHICLE.sonars if s.direction == 'front')
    grid = ray_grid(clouds['front'], spec, skirts=True, cube=lidar_texels(spec, skirts=True))
    ahead = WALL_X - (pose @ spec.mount).position[0]
    level = int(np.argmin(np.abs(np.arange(grid.distance.shape[0]) - grid.distance.shape[0] / 2)))
    azimuths = spec.azimuths
    near = np.abs(azimuths) < math.radians(40)
    expected = ahead / np.cos(azimuths[near])
    assert grid.distance[level][near] == pytest.approx(expected, rel=2e-3)
    assert grid.strength[level][near] == pytest.approx(0.1, rel=1e-3)


def test_a_file_that_gazebo_does_not_take_is_told(tmp_path):
    path = tank(tmp_path)
    path.write_text(path.read_text().replace('<max_step_size>0.004', '<max_step_size>fast'))
    text = path.read_text().replace('<gravity>0 0 -9.81</gravity>', '<gravity>down</gravity>')
    path.write_text(text)
    with pytest.raises(OceanGymError, match='did not take'):
        GazeboServer(world=path, vehicle=PATH, rendered=False)
