"""The dynamics against closed forms, and bounded where others diverge."""

from dataclasses import replace
import math
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.config.waters import load_profile
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import euler_from_quaternion, Pose, rotation_matrix
from oceangym_sim.control.allocation import Allocator
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.thrusters import thrust_limits
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Current, Environment

MODEL = Path(__file__).parents[3] / 'models' / 'bluerov2_heavy' / 'model.sdf'
VEHICLE = load_vehicle(MODEL)
NEUTRAL = Environment(density=VEHICLE.mass / VEHICLE.volume)
DEEP = Pose((0.0, 0.0, -50.0))
HARD = load_profile('hard')


def scaled(mass: float = 13.5, added: float | None = None, damping: bool = True):
    """Return the vehicle with another mass (inertia and volume with it) and added-mass ratio."""
    factor = mass / VEHICLE.mass
    changed = replace(
        VEHICLE, mass=mass, inertia=VEHICLE.inertia * factor, volume=VEHICLE.volume * factor
    )
    if added is not None:
        inertia = np.diag(VEHICLE.inertia) * factor
        changed = replace(changed, added_mass=np.diag([*[added * mass] * 3, *(added * inertia)]))
    if not damping:
        changed = replace(changed, linear_damping=np.zeros((6, 6)), quadratic_damping=np.zeros(6))
    return changed


def terminal(linear: float, quadratic: float, force: float) -> float:
    """Return the speed at which linear u + quadratic u^2 = force."""
    return (-linear + math.sqrt(linear**2 + 4 * quadratic * force)) / (2 * quadratic)


def wrench_thrust(*wrench: float) -> np.ndarray:
    allocator = Allocator(matrix=VEHICLE.thruster_matrix, limits=thrust_limits())
    allocation = allocator.allocate(wrench)
    np.testing.assert_allclose(allocation.served, wrench, atol=1e-9)
    return allocation.thrust


def pitch(dynamics: Dynamics) -> float:
    return euler_from_quaternion(dynamics.quaternion[0])[1]


@pytest.mark.parametrize('force', [20.0, 60.0, 129.0])
def test_terminal_surge_speed_is_that_of_the_von_benzon_set(force):
    dynamics = Dynamics(parameters=VEHICLE, environment=NEUTRAL)
    dynamics.reset(DEEP)
    # Short: without control the Munk moment turns rounding errors into a tumble after ten seconds.
    dynamics.step(wrench_thrust(force, 0, 0, 0, 0, 0), 0.01, 300, newtons=True)
    assert dynamics.velocity[0, 0] == pytest.approx(terminal(13.7, 141.0, force), rel=2e-3)


def test_top_speed_is_the_published_0_91():
    assert terminal(13.7, 141.0, 129.0) == pytest.approx(0.91, abs=0.005)


def test_heave_drift_of_one_percent_buoyancy_excess():
    water = Environment(density=1.01 * VEHICLE.mass / VEHICLE.volume)
    dynamics = Dynamics(parameters=VEHICLE, environment=water)
    dynamics.reset(DEEP)
    dynamics.step(np.zeros(8), 0.01, 3000)
    net = 0.01 * VEHICLE.mass * 9.81
    assert dynamics.velocity[0, 2] == pytest.approx(terminal(33.0, 190.0, net), rel=1e-3)


def test_neutral_vehicle_stays_where_it_is():
    dynamics = Dynamics(parameters=VEHICLE, environment=NEUTRAL)
    dynamics.reset(DEEP)
    dynamics.step(np.zeros(8), 0.01, 6000)
    assert np.abs(dynamics.velocity).max() < 1e-6


@pytest.mark.parametrize('density, sign', [(1000.0, -1.0), (1025.0, 2.31)])
def test_trim_in_fresh_and_sea_water(density, sign):
    net = 9.81 * (density * VEHICLE.volume - VEHICLE.mass)
    assert net == pytest.approx(sign, abs=0.05)


def test_period_of_the_righting_moment():
    free = scaled(damping=False)
    dynamics = Dynamics(parameters=free, environment=NEUTRAL)
    dynamics.reset(Pose.from_euler((0, 0, -50), math.radians(2), 0, 0))
    rolls = []
    for _ in range(1500):
        dynamics.step(np.zeros(8), 0.002, 5)
        rolls.append(euler_from_quaternion(dynamics.quaternion[0])[0])
    signs = np.sign(rolls)
    crossings = np.flatnonzero(np.diff(signs)) * 0.01
    measured = 2 * np.mean(np.diff(crossings))
    stiffness = free.mass * 9.81 * 0.01
    assert measured == pytest.approx(2 * math.pi * math.sqrt((0.26 + 0.189) / stiffness), rel=5e-3)


def test_impulse_moves_mass_and_added_mass():
    dynamics = Dynamics(parameters=scaled(damping=False), environment=NEUTRAL)
    for axis, added in enumerate((6.36, 7.12, 18.68)):
        wrench = np.zeros(6)
        wrench[axis] = 4.0
        dynamics.reset(DEEP)
        dynamics.step(wrench_thrust(*wrench), 0.01, 200, newtons=True)
        # The lag costs exactly its time constant of impulse.
        lag = VEHICLE.thrusters[0].lag
        assert dynamics.velocity[0, axis] == pytest.approx(
            4.0 * (2 - lag) / (13.5 + added), rel=1e-3
        )


def test_momentum_of_a_tumbling_body_is_kept():
    free = replace(scaled(damping=False), centre_of_buoyancy=(0.0, 0.0, 0.0))
    dynamics = Dynamics(parameters=free, environment=NEUTRAL)
    dynamics.reset(DEEP, velocity=[0.4, -0.2, 0.3, 0.5, 0.8, -0.6])

    def momentum():
        local = free.mass_matrix @ dynamics.velocity[0]
        return rotation_matrix(dynamics.quaternion[0]) @ local[:3]

    before = momentum()
    dynamics.step(np.zeros(8), 0.001, 2000)
    np.testing.assert_allclose(momentum(), before, rtol=0, atol=0.01 * np.linalg.norm(before))


def test_drifts_with_a_uniform_current():
    current = Current(speed=0.3, heading=2.0)
    dynamics = Dynamics(parameters=VEHICLE, environment=replace(NEUTRAL, current=current))
    dynamics.reset(Pose.from_euler((0, 0, -50), 0, 0, 0.7))
    dynamics.step(np.zeros(8), 0.01, 20_000)
    ground = rotation_matrix(dynamics.quaternion[0]) @ dynamics.velocity[0, :3]
    np.testing.assert_allclose(ground, current.velocity(-50.0, 0.0), atol=1e-3)


def test_a_body_moving_with_the_water_feels_nothing():
    """Galilean invariance: spin and attitude evolve in a current as they do in still water."""
    start = Pose.from_euler((0, 0, -50), 0.3, -0.4, 1.0)
    velocity = np.array([0.2, 0.1, -0.3, 0.4, 0.2, 0.5])
    still = Dynamics(parameters=VEHICLE, environment=NEUTRAL)
    still.reset(start, velocity=velocity)
    current = Current(speed=0.5, heading=0.9)
    moving = Dynamics(parameters=VEHICLE, environment=replace(NEUTRAL, current=current))
    water = np.array(current.velocity(-50.0, 0.0))
    carried = velocity.copy()
    carried[:3] += start.rotation.T @ water
    moving.reset(start, velocity=carried)
    for dynamics in (still, moving):
        dynamics.step(np.full(8, 0.2), 0.01, 500)
    np.testing.assert_allclose(moving.quaternion, still.quaternion, atol=1e-9)
    np.testing.assert_allclose(moving.position[0] - still.position[0], 5.0 * water, atol=1e-8)


def test_hard_current_veers_with_depth_and_is_seeded():
    current = Current.of(HARD, 3)
    top, deep = (np.array(current.velocity(z, 0.0)) for z in (0.0, -80.0))
    assert np.linalg.norm(top) == pytest.approx(0.25)
    angle = math.acos(float(top @ deep) / 0.25**2)
    assert math.radians(60) < angle
    assert current == Current.of(HARD, 3) != Current.of(HARD, 4)


@pytest.mark.parametrize('dt', [0.001, 0.01, 0.05])
@pytest.mark.parametrize('damped', [True, False])
def test_energy_of_a_passive_vehicle_never_rises(dt, damped):
    random = np.random.default_rng(5)
    dynamics = Dynamics(parameters=scaled(damping=damped), environment=NEUTRAL)
    for _ in range(4):
        quaternion = random.normal(size=4)
        dynamics.reset(
            Pose.of((0, 0, -50), quaternion / np.linalg.norm(quaternion)),
            velocity=random.normal(size=6) * 1.5,
        )
        energies = [dynamics.energy()]
        for _ in range(400):
            dynamics.step(np.zeros(8), dt)
            energies.append(dynamics.energy())
        kinetic = energies[0] - min(energies)
        assert np.diff(energies).max() < 1e-7 * max(kinetic, 1.0)


def test_energy_never_rises_at_the_surface():
    dynamics = Dynamics(parameters=VEHICLE)
    dynamics.reset(Pose.from_euler((0, 0, 0.3), 0.5, 0.2, 0))
    energies = [dynamics.energy()]
    for _ in range(3000):
        dynamics.step(np.zeros(8), 0.01)
        energies.append(dynamics.energy())
    assert np.diff(energies).max() < 1e-6
    assert abs(dynamics.velocity).max() < 0.05


def test_passive_vehicle_stays_upright_for_ten_minutes():
    dynamics = Dynamics(parameters=VEHICLE, environment=NEUTRAL)
    dynamics.reset(Pose.from_euler((0, 0, -80), 0.3, 0.3, 0))
    for _ in range(600):
        dynamics.step(np.zeros(8), 0.01, 100)
        assert abs(pitch(dynamics)) < 0.35
    assert abs(pitch(dynamics)) < 0.05


@pytest.mark.parametrize('mass', [0.3, 3.0, 13.5, 80.0, 500.0])
@pytest.mark.parametrize('dt', [0.001, 0.005, 0.02, 0.05])
def test_bounded_for_any_mass_and_step(mass, dt):
    vehicle = scaled(mass)
    dynamics = Dynamics(parameters=vehicle)
    random = np.random.default_rng(int(mass * 10))
    dynamics.reset(DEEP)
    for _ in range(int(20 / dt / 10)):
        dynamics.step(random.uniform(-1, 1, 8), dt, 10)
        assert np.all(np.isfinite(dynamics.state))
        assert np.abs(dynamics.velocity[0, :3]).max() < 4.0


@pytest.mark.parametrize('ratio', [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize('dt', [0.001, 0.01, 0.05])
def test_terminal_speed_for_any_added_mass(ratio, dt):
    """Explicit added mass diverges as soon as it exceeds the body's own (gz-sim#1923)."""
    vehicle = scaled(added=ratio)
    water = Environment(density=1.1 * vehicle.mass / vehicle.volume)
    dynamics = Dynamics(parameters=vehicle, environment=water)
    dynamics.reset(DEEP)
    dynamics.step(np.zeros(8), dt, int(20 / dt))
    net = 0.1 * vehicle.mass * 9.81
    assert dynamics.velocity[0, 2] == pytest.approx(terminal(33.0, 190.0, net), rel=1e-3)


@pytest.mark.parametrize('throttle', [0.0, 0.5, 1.0])
def test_stays_at_the_surface_when_driven_up(throttle):
    dynamics = Dynamics(parameters=VEHICLE)
    dynamics.reset(Pose((0.0, 0.0, -3.0)))
    command = np.array([0, 0, 0, 0, 1, 1, 1, 1]) * throttle
    heights = []
    for _ in range(120):
        dynamics.step(command, 0.01, 100)
        heights.append(dynamics.position[0, 2])
    assert max(heights) < 0.3
    assert abs(heights[-1]) < 0.2
    assert np.abs(dynamics.velocity[0]).max() < 0.05


def test_full_surge_without_pitch_control_tumbles():
    """Design: the horizontal thrusters' arm beats the righting moment at 20 N."""
    dynamics = Dynamics(parameters=VEHICLE, environment=NEUTRAL)
    dynamics.reset(DEEP)
    each = 20.0 / (4 * math.sqrt(0.5))
    flipped = False
    for _ in range(60):
        dynamics.step([-each, -each, each, each, 0, 0, 0, 0], 0.01, 50, newtons=True)
        flipped |= rotation_matrix(dynamics.quaternion[0])[2, 2] < 0
    assert flipped


@pytest.mark.parametrize('force, tumbles', [(10.0, False), (129.0, True)])
def test_munk_moment_alone_tumbles_a_fast_vehicle(force, tumbles):
    """The moment (Z_wd - X_ud) u^2 theta exceeds the righting one above 0.33 m/s, i.e. 20 N."""
    dynamics = Dynamics(parameters=VEHICLE, environment=NEUTRAL)
    dynamics.reset(Pose.from_euler((0, 0, -50), 0, math.radians(2), 0))
    thrust = wrench_thrust(force, 0, 0, 0, 0, 0)
    steepest = 0.0
    for _ in range(300):
        dynamics.step(thrust, 0.01, 10, newtons=True)
        steepest = max(steepest, abs(pitch(dynamics)))
    assert (steepest > math.radians(60)) is tumbles


def test_batch_has_the_bits_of_single_vehicles():
    count = 600
    poses = [Pose.from_euler((i, 0, -20), 0, 0, 0.01 * i) for i in range(count)]
    commands = np.random.default_rng(1).uniform(-1, 1, (count, 8))
    water = Environment(current=Current.of(HARD, 2))
    batch = Dynamics(parameters=VEHICLE, environment=water, count=count)
    batch.reset(poses)
    batch.step(commands, 0.01, 50)
    for i in (0, 63, 64, 599):
        single = Dynamics(parameters=VEHICLE, environment=water)
        single.reset(poses[i])
        single.step(commands[i], 0.01, 50)
        np.testing.assert_array_equal(single.state[0], batch.state[i])


def test_same_commands_give_same_bits():
    runs = []
    for _ in range(2):
        water = Environment(current=Current.of(HARD, 9))
        dynamics = Dynamics(parameters=VEHICLE, environment=water)
        dynamics.reset(DEEP)
        random = np.random.default_rng(7)
        for _ in range(100):
            dynamics.step(random.uniform(-1, 1, 8), 0.01, 5)
        runs.append(dynamics.state.copy())
    np.testing.assert_array_equal(runs[0], runs[1])


def test_battery_runs_down_and_ends_thrust():
    small = replace(VEHICLE, battery=replace(VEHICLE.battery, capacity=20_000.0))
    dynamics = Dynamics(parameters=small, battery_limits=True)
    dynamics.reset(DEEP)
    command = [-0.5, -0.5, 0.5, 0.5, 0, 0, 0, 0]
    charges, volts = [], []
    for _ in range(200):
        dynamics.step(command, 0.01, 50)
        charges.append(dynamics.battery[0])
        volts.append(dynamics.voltage[0])
    assert np.all(np.diff(charges) <= 0) and charges[-1] == 0
    loaded = np.array(volts)[np.array(charges) > 0]
    assert 12 < loaded.min() < loaded.max() < 16.8
    assert np.abs(dynamics.thrust).max() < 1e-6
    unlimited = Dynamics(parameters=small)
    unlimited.reset(DEEP)
    unlimited.step(command, 0.01, 10_000)
    assert unlimited.battery[0] == 0 and np.abs(unlimited.thrust).max() > 5


def test_commands_that_are_not_finite_give_no_thrust():
    dynamics = Dynamics(parameters=VEHICLE, environment=NEUTRAL)
    dynamics.reset(DEEP)
    dynamics.step([np.nan, np.inf, -np.inf, 0, np.nan, 0, 0, 0], 0.01, 100)
    assert np.all(dynamics.thrust == 0) and np.all(np.isfinite(dynamics.state))


@pytest.mark.parametrize(
    'call, word',
    [
        (lambda d: d.step(np.zeros(8), 0.2), 'dt'),
        (lambda d: d.step(np.zeros(8), float('nan')), 'dt'),
        (lambda d: d.reset(Pose((float('nan'), 0, 0))), 'start pose'),
        (lambda d: d.reset(DEEP, velocity=float('inf')), 'velocity'),
        (lambda d: d.reset([DEEP, DEEP]), '2 poses'),
    ],
)
def test_bad_arguments_are_refused(call, word):
    with pytest.raises(OceanGymError, match=word):
        call(Dynamics(parameters=VEHICLE))


@pytest.mark.parametrize(
    'make, word',
    [
        (lambda: Current(speed=9.0), '0..5'),
        (lambda: Current(period=0.0), 'period'),
        (lambda: Environment(density=5.0), 'density'),
        (lambda: Environment(depth_offset=-1.0), 'depth_offset'),
    ],
)
def test_impossible_water_is_refused(make, word):
    with pytest.raises(OceanGymError, match=word):
        make()


def test_pressure_is_hydrostatic():
    water = Environment(depth_offset=450.0)
    assert water.pressure(-50.0) == pytest.approx(101_325 + 1025 * 9.81 * 500)
    assert Environment().pressure(2.0) == 101_325


def test_an_oblique_current_yaws_the_vehicle():
    """The Munk moment about z is (X_ud - Y_vd) u v of the flow past the hull, as in Gazebo."""
    current = Current(speed=0.5, heading=math.radians(30))
    dynamics = Dynamics(parameters=VEHICLE, environment=replace(NEUTRAL, current=current))
    dynamics.reset(DEEP)
    dynamics.step(np.zeros(8), 1e-4, 10)
    u, v, _ = (-c for c in current.velocity(-50.0, 0.0))
    expected = (6.36 - 7.12) * u * v / (0.37 + 0.222)
    assert dynamics.velocity[0, 5] / 1e-3 == pytest.approx(expected, rel=0.01)
