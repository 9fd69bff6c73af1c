"""The world file of a hosted server, and a vehicle that flies in one."""

from __future__ import annotations

import math
import os
from pathlib import Path
import tempfile
from types import SimpleNamespace
import weakref
from xml.etree import ElementTree

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.distance import build_distance_field
from oceangym_core.world.world import load_world
from oceangym_gazebo.hosted import server as server_module
from oceangym_gazebo.hosted.backend import gazebo_engine
from oceangym_gazebo.hosted.physics import coriolis, GazeboPlant
from oceangym_gazebo.hosted.server import Bindings, BodyState, GazeboServer
from oceangym_gazebo.hosted.world import hosted_world
from oceangym_sim.dynamics import thrusters
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Current, Environment

OCEAN = assets_root() / 'worlds' / 'ocean' / 'ocean.sdf'
VEHICLE = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
GZ = '{http://gazebosim.org/schema}'
START = Pose.from_euler((144.0, -114.0, -63.0), 0.0, 0.0, math.radians(-135))
TICK, STEP = 0.05, 0.005


def hosted(rendered=True):
    root = hosted_world(world=OCEAN, vehicle=VEHICLE, start=START, step=STEP, rendered=rendered)
    return ElementTree.fromstring(ElementTree.tostring(root)).find('world')


def systems(element):
    return {plugin.get('name').rsplit('::', 1)[-1] for plugin in element.findall('plugin')}


def vehicle_of(world):
    return next(m for m in world.findall('model') if m.get('name') == 'auv')


def sensors(world):
    return {s.get('name'): s for s in vehicle_of(world).iter('sensor')}


# ---------------------------------------------------------------- world file


def test_the_server_steps_as_fast_as_it_can_in_whole_fractions_of_every_tick():
    physics = hosted().find('physics')
    assert float(physics.findtext('max_step_size')) == STEP
    assert float(physics.findtext('real_time_factor')) == 0.0
    for tick in (0.05, 0.02):  # lockstep, realtime
        assert tick / STEP == pytest.approx(round(tick / STEP))


def test_the_vehicle_starts_where_it_was_asked_to():
    numbers = [float(v) for v in vehicle_of(hosted()).findtext('pose').split()]
    assert numbers == pytest.approx([144, -114, -63, 0, 0, math.radians(-135)], abs=1e-6)


def test_only_rendered_sensors_stay_and_may_fire_on_any_step():
    kept = sensors(hosted())
    assert {s.get('type') for s in kept.values()} == {'rgbd_camera', 'gpu_lidar'}
    assert len(kept) == 12
    assert {float(s.findtext('update_rate')) for s in kept.values()} == {1 / STEP}


def test_without_images_nothing_is_rendered():
    world = hosted(rendered=False)
    assert not sensors(world)
    assert 'Sensors' not in systems(world)


def test_water_is_gazebos_and_thrust_is_ours():
    world = hosted()
    assert {'Physics', 'Buoyancy', 'Sensors'} <= systems(world)
    model = vehicle_of(world)
    assert systems(model) == {'Hydrodynamics'}
    assert not model.findall(".//plugin[@name='gz::sim::systems::Thruster']")
    assert {joint.get('type') for joint in model.findall('joint')} == {'fixed'}
    added = model.find('link/inertial/fluid_added_mass')
    assert float(added.findtext('zz')) == 18.68


def test_pictures_show_the_albedo_and_no_light():
    world = hosted()
    assert not list(world.iter('light'))
    assert world.findtext('scene/ambient').split()[:3] == ['0'] * 3
    textured = [m for m in world.iter('metal') if m.findtext('albedo_map')]
    assert len(textured) > 500
    for metal in textured:
        assert metal.findtext('emissive_map') == metal.findtext('albedo_map')
        assert Path(metal.findtext('albedo_map')).is_file()
    scenery = next(m for m in world.findall('model') if m.get('name') == 'scenery')
    for material in scenery.iter('material'):
        assert material.findtext('emissive') == material.findtext('diffuse')


def test_what_stands_still_is_one_model_with_all_shapes_where_they_were():
    world = hosted()
    assert not world.findall('include')
    scenery = next(m for m in world.findall('model') if m.get('name') == 'scenery')
    assert scenery.findtext('static') == 'true'
    assert len(scenery.findall('link')) == 1
    link = scenery.find('link')
    names = [shape.get('name') for shape in link]
    assert len(set(names)) == len(names)
    ship = next(i for i in load_world(OCEAN).instances if i.name == 'sunken_ship_1')
    visuals = [v for v in link.findall('visual') if v.get('name').startswith('sunken_ship_1_')]
    assert len(visuals) == len(ship.model.visuals)
    for shape, visual in zip(visuals, ship.model.visuals):
        numbers = [float(v) for v in shape.findtext('pose').split()]
        expected = ship.pose @ visual.pose
        assert numbers[:3] == pytest.approx(expected.position, abs=1e-6)
        turned = Pose.from_euler(numbers[:3], *numbers[3:])
        assert turned.rotation == pytest.approx(expected.rotation, abs=1e-6)


def test_the_shipped_files_are_left_as_they_are():
    before = (OCEAN.read_bytes(), VEHICLE.read_bytes())
    hosted()
    assert (OCEAN.read_bytes(), VEHICLE.read_bytes()) == before


def test_prefixes_survive_for_gazebo_reads_names_and_not_namespaces():
    root = hosted_world(world=OCEAN, vehicle=VEHICLE, start=START, step=STEP, rendered=True)
    text = ElementTree.tostring(root, encoding='unicode')
    assert '<gz:policies>' in text
    assert '<oceangym:sonar ' in text
    assert 'ns0:' not in text


@pytest.mark.parametrize(
    ('world', 'vehicle', 'problem'),
    [
        ('<sdf version="1.11"><model name="x"/></sdf>', None, 'holds no <world>'),
        (None, '<sdf version="1.11"><world name="x"/></sdf>', 'holds no <model>'),
        ('not xml', None, 'not well-formed'),
        (
            '<sdf version="1.11"><world name="x"><include><name>rock</name></include></world></sdf>',
            None,
            "include.*instance 'rock' has no <uri>",
        ),
    ],
)
def test_other_files_are_refused(tmp_path, world, vehicle, problem):
    paths = {}
    for name, text, shipped in (('w.sdf', world, OCEAN), ('v.sdf', vehicle, VEHICLE)):
        path = tmp_path / name
        path.write_bytes(shipped.read_bytes() if text is None else text.encode())
        paths[name] = path
    with pytest.raises(OceanGymError, match=problem):
        hosted_world(
            world=paths['w.sdf'], vehicle=paths['v.sdf'], start=START, step=STEP, rendered=True
        )


def test_missing_modules_are_named_with_the_remedy(monkeypatch):
    def absent(name):
        raise ImportError(f'No module named {name!r}')

    monkeypatch.setattr(server_module.importlib, 'import_module', absent)
    with pytest.raises(OceanGymError, match=r'gz\.sim8.*ros-jazzy-ros-gz.*backend:=embedded'):
        Bindings.load()


class StubFixture:
    """What a hosted server needs of Gazebo's own test fixture to be made."""

    def __init__(self, path):
        self.read = Path(path).read_text(encoding='utf-8')
        self.display = os.environ.get('DISPLAY')

    def on_pre_update(self, call): ...

    def on_post_update(self, call): ...

    def finalize(self): ...

    def server(self):
        return self

    def has_entity(self, name, world):
        return f'"{name}"' in self.read


def test_a_server_needs_no_display_leaves_no_folder_and_ends_with_its_engine(
    monkeypatch, tmp_path
):
    made = []
    # The display of an X server that is not there, as after ssh -X: Gazebo must not see it.
    monkeypatch.setenv('DISPLAY', 'localhost:99.0')
    for name in ('GZ_PARTITION', 'GZ_IP', 'GZ_SIM_RESOURCE_PATH'):
        monkeypatch.setenv(name, '')
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    fixture = SimpleNamespace(
        TestFixture=lambda path: made.append(StubFixture(path)) or made.pop()
    )
    bindings = Bindings(sim=fixture, math=fixture, transport=SimpleNamespace(Node=object))
    monkeypatch.setattr(Bindings, 'load', lambda: bindings)
    server = GazeboServer(world=OCEAN, vehicle=VEHICLE, rendered=True)
    gazebo = weakref.ref(server._server)
    assert gazebo().display is None
    assert list(tmp_path.iterdir()) == []
    gazebo_engine(server).close()
    # The renderer's threads and topics live as long as Gazebo's server does.
    assert gazebo() is None


# ---------------------------------------------------------------- plant


class FreeBody:
    """A server in which only the wrench acts on the vehicle: momentum is its time integral."""

    step = STEP

    def __init__(self, mass):
        self.mass = mass
        self.state = BodyState(pose=Pose(), velocity=np.zeros(6))
        self.flow = None
        self.steps = 0
        self.impulse = np.zeros(6)

    def place(self, pose, mass):
        assert mass == pytest.approx(self.mass)
        self.state = BodyState(pose=pose, velocity=np.zeros(6))

    def advance(self, wrenches, flow=None):
        self.flow = flow
        self.steps += len(wrenches)
        self.impulse += np.asarray(wrenches).sum(axis=0) * self.step
        pose = self.state.pose
        self.state = BodyState(pose=pose, velocity=np.linalg.solve(self.mass, self.impulse))
        return self.state


@pytest.fixture
def parameters():
    return load_vehicle(VEHICLE)


def flown(parameters, pose=START, **arguments):
    server = FreeBody(parameters.mass_matrix)
    plant = GazeboPlant(server=server, parameters=parameters, **arguments)
    plant.reset(pose)
    return plant, server


def test_a_tick_is_ten_steps_and_the_thrust_follows_its_first_order_lag(parameters):
    plant, server = flown(parameters)
    throttle = np.full(8, 0.5)
    full = thrusters.steady_thrust(throttle)
    for _ in range(4):
        plant.step(throttle, 0.01, 5)
    assert server.steps == 40
    assert plant.time == pytest.approx(0.2)
    lag = parameters.thrusters[0].lag
    assert plant.thrust[0] == pytest.approx(full * -math.expm1(-0.2 / lag), rel=1e-9)
    # Impulse of a first-order lag: T (t - lag (1 - exp(-t / lag))).
    time = 0.2 + lag * math.expm1(-0.2 / lag)
    assert server.impulse == pytest.approx(parameters.thruster_matrix @ full * time, abs=1e-9)
    assert plant.velocity[0] == pytest.approx(
        np.linalg.solve(parameters.mass_matrix, server.impulse)
    )


def test_energy_is_that_of_the_thrusters_and_the_hotel_load(parameters):
    plant, _ = flown(parameters)
    plant.step(np.zeros(8), TICK)
    used = (1.0 - float(plant.battery[0])) * parameters.battery.capacity
    assert used == pytest.approx(parameters.battery.hotel_power * TICK, rel=1e-6)
    for _ in range(40):
        plant.step(np.ones(8), TICK)
    before = float(plant.battery[0])
    plant.step(np.ones(8), TICK)
    power = (before - float(plant.battery[0])) * parameters.battery.capacity / TICK
    # Eight thrusters ahead at 16 V and 23.8 A.
    assert power == pytest.approx(8 * 16 * 23.8 + parameters.battery.hotel_power, rel=1e-4)


def test_rotors_out_of_the_water_push_nothing(parameters):
    plant, server = flown(parameters, Pose((0.0, 0.0, 0.5)))
    plant.step(np.ones(8), TICK)
    assert server.impulse == pytest.approx(np.zeros(6))
    # The horizontal rotors lie .085 m deeper than the vertical ones, whose middle is at the surface.
    plant, server = flown(parameters, Pose((0.0, 0.0, 0.0)))
    plant.step(np.array([0, 0, 0, 0, 1.0, 1.0, 1.0, 1.0]), TICK)
    deep, whole = flown(parameters)
    deep.step(np.array([0, 0, 0, 0, 1.0, 1.0, 1.0, 1.0]), TICK)
    assert server.impulse[2] == pytest.approx(0.5 * whole.impulse[2])


def test_commands_that_are_no_numbers_push_nothing(parameters):
    plant, server = flown(parameters)
    plant.step(np.array([math.nan, math.inf, -math.inf, 0, 0, 0, 0, 0]), TICK)
    assert server.impulse == pytest.approx(np.zeros(6))


def test_a_vehicle_that_drifts_with_the_water_feels_the_current_as_rest(parameters):
    """Gazebo brakes what moves over ground; the current's share has to undo just that."""
    current = Current(speed=0.25, heading=0.4)
    plant, server = flown(parameters, environment=Environment(current=current))
    plant.step(np.zeros(8), TICK)
    rotation = START.rotation
    drift = np.concatenate([rotation.T @ current.velocity(START.position[2], 0.0), np.zeros(3)])
    braking = (
        parameters.linear_damping @ drift
        + parameters.quadratic_damping * np.abs(drift) * drift
        + coriolis(parameters.added_mass, drift)
    )
    assert server.flow(rotation, drift) == pytest.approx(braking)
    assert np.linalg.norm(braking) > 1.0
    # At rest over ground it is what that flow does to a body at rest.
    still = server.flow(rotation, np.zeros(6))
    against = -drift
    assert still == pytest.approx(
        -(
            parameters.linear_damping @ against
            + parameters.quadratic_damping * np.abs(against) * against
            + coriolis(parameters.added_mass, against)
        )
    )


def test_the_munk_moment_is_that_of_the_flow():
    """A body with unlike added masses in a steady oblique flow is turned (M_x - M_y) u v."""
    mass = np.diag([6.36, 7.12, 18.68, 0.189, 0.135, 0.222])
    wrench = coriolis(mass, np.array([0.3, -0.2, 0.1, 0.0, 0.0, 0.0]))
    assert wrench[:3] == pytest.approx(np.zeros(3))
    assert wrench[5] == pytest.approx((7.12 - 6.36) * 0.3 * -0.2)
    assert wrench[4] == pytest.approx((6.36 - 18.68) * 0.3 * 0.1)
    assert wrench[3] == pytest.approx((18.68 - 7.12) * -0.2 * 0.1)


def test_without_a_current_nothing_is_added(parameters):
    plant, server = flown(parameters)
    plant.step(np.zeros(8), TICK)
    assert server.flow is None


def test_a_hull_at_the_seabed_touches_it_with_its_closing_speed(parameters):
    world = load_world(OCEAN)
    field = build_distance_field(world)
    above, _, _ = field.query(np.array([144.0, -114.0, -63.0]))
    assert above > 1.0
    plant, server = flown(parameters, distance_field=field)
    plant.step(np.zeros(8), TICK)
    assert plant.contacts == ()
    x, y, z = START.position
    low = z - above
    for _ in range(40):  # down to where the hull's lower side meets the bed
        gap = field.query(np.array([x, y, low]))[0]
        low -= 0.5 * (gap - parameters.hull_size[2] / 2)
    server.place(Pose((x, y, low)), server.mass)
    sinking = np.array([0.0, 0.0, -0.4, 0.0, 0.0, 0.0])
    server.impulse = parameters.mass_matrix @ sinking
    plant.step(np.zeros(8), TICK)
    assert plant.contacts
    # A slope turns some of it into sliding.
    assert max(touch.speed for touch in plant.contacts) == pytest.approx(0.4, rel=0.15)
