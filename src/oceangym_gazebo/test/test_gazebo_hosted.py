"""The world file of a hosted server, and a vehicle that flies in one."""

from __future__ import annotations

import itertools
import math
from xml.etree import ElementTree

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.signed_distance import build_distance_field
from oceangym_core.world import load_world
from oceangym_gazebo import server as server_module
from oceangym_gazebo.hosted_world import hosted_world
from oceangym_gazebo.plant import GazeboPlant
from oceangym_gazebo.server import Bindings, BodyState
from oceangym_sim import thrusters
from oceangym_sim.environment import Current, Environment
from oceangym_sim.vehicle import load_vehicle

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


def test_pictures_show_reflectance_under_an_even_light():
    world = hosted()
    assert not world.findall('light')
    assert world.findtext('scene/ambient').split() == ['1'] * 4
    assert world.findtext('scene/shadows') == 'false'


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


# ---------------------------------------------------------------- plant


class FreeBody:
    """A server in which only the wrench acts on the vehicle: momentum is its time integral."""

    step = STEP

    def __init__(self, mass):
        self.mass = mass
        self.state = BodyState(pose=Pose(), velocity=np.zeros(6))
        self.currents = []
        self.steps = 0
        self.impulse = np.zeros(6)

    def place(self, pose, mass):
        assert mass == pytest.approx(self.mass)
        self.state = BodyState(pose=pose, velocity=np.zeros(6))

    def advance(self, wrenches):
        self.steps += len(wrenches)
        self.impulse += np.asarray(wrenches).sum(axis=0) * self.step
        pose = self.state.pose
        self.state = BodyState(pose=pose, velocity=np.linalg.solve(self.mass, self.impulse))
        return self.state

    def set_current(self, velocity):
        self.currents.append(velocity)


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


def test_the_current_is_told_when_it_changes_and_not_with_every_tick(parameters):
    current = Current(speed=0.25, heading=0.0, swing=1.0, period=60.0)
    plant, server = flown(parameters, environment=Environment(current=current))
    for _ in range(20):
        plant.step(np.zeros(8), TICK)
    told = server.currents[1:]
    assert server.currents[0] == (0.0, 0.0, 0.0)
    # Half a degree a tick at most: 2 mm/s, so about every tick here, but never twice the same.
    assert 5 < len(told) <= 20
    for earlier, later in itertools.pairwise(told):
        assert max(abs(a - b) for a, b in zip(earlier, later)) > 1e-3
    assert told[-1] == pytest.approx(current.velocity(START.position[2], 19 * TICK), abs=2e-3)
    still, quiet = flown(parameters)
    still.step(np.zeros(8), TICK)
    assert quiet.currents == [(0.0, 0.0, 0.0)]
    assert still.environment.current.speed == 0.0


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
