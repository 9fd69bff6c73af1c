"""Navigation sensors at rest and under way, and drift that the stated sigma covers."""

import math
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.geometry import Pose, rotation_matrix
from oceangym_sim.dynamics.rigid_body import Dynamics, VehicleState
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Current, Environment
from oceangym_sim.navigation import Navigation, NavigationMode

MODEL = Path(__file__).parents[3] / 'models' / 'bluerov2_heavy' / 'model.sdf'
VEHICLE = load_vehicle(MODEL)
WATER = Environment()


def state(time=0.0, position=(0.0, 0.0, -30.0), yaw=0.0, linear=(0, 0, 0), angular=(0, 0, 0)):
    return VehicleState(
        time=time,
        pose=Pose.from_euler(position, 0, 0, yaw),
        linear_velocity=np.array(linear, dtype=float),
        angular_velocity=np.array(angular, dtype=float),
        thrust=np.zeros(8),
        battery=0.8,
    )


def straight(navigation: Navigation, *, speed=0.75, yaw=0.6, seconds=1200.0, altitude=8.0):
    """Drive straight ahead; return the true end and the estimate there."""
    direction = np.array([math.cos(yaw), math.sin(yaw), 0.0])
    navigation.reset(state(yaw=yaw, linear=(speed, 0, 0)))
    steps = round(seconds / 0.05)
    for k in range(1, steps + 1):
        true = np.array([0, 0, -30.0]) + direction * speed * 0.05 * k
        estimate = navigation.update(
            state(time=0.05 * k, position=true, yaw=yaw, linear=(speed, 0, 0)), altitude
        )
    return true, estimate


def test_imu_at_rest_reads_gravity_upwards():
    navigation = Navigation(environment=WATER, seed=1)
    navigation.reset(state())
    samples = []
    for k in range(1, 200):
        navigation.update(state(time=0.05 * k), 5.0)
        samples.append(navigation.imu().linear_acceleration)
    np.testing.assert_allclose(np.mean(samples, axis=0), [0, 0, 9.81], atol=6e-3)
    assert np.std(samples, axis=0) == pytest.approx(2.77e-3, rel=0.2)


def test_imu_upside_down_reads_gravity_along_minus_z():
    navigation = Navigation(environment=WATER, seed=1)
    upside_down = Pose.from_euler((0, 0, -30), math.pi, 0, 0)
    true = VehicleState(
        time=0.0, pose=upside_down, linear_velocity=np.zeros(3), angular_velocity=np.zeros(3),
        thrust=np.zeros(8), battery=1.0,
    )  # fmt: skip
    navigation.reset(true)
    assert navigation.imu().linear_acceleration[2] == pytest.approx(-9.81, abs=0.02)


def test_imu_feels_the_vehicle_accelerate():
    dynamics = Dynamics(parameters=VEHICLE, environment=WATER)
    dynamics.reset(Pose((0, 0, -30)))
    navigation = Navigation(environment=WATER, seed=1)
    navigation.reset(dynamics.vehicle())
    for _ in range(6):
        dynamics.step([-10, -10, 10, 10, 0, 0, 0, 0], 0.01, 5, newtons=True)
        before = dynamics.velocity[0, 0]
        navigation.update(dynamics.vehicle(), 5.0)
    dynamics.step([-10, -10, 10, 10, 0, 0, 0, 0], 0.01, 5, newtons=True)
    navigation.update(dynamics.vehicle(), 5.0)
    expected = (dynamics.velocity[0, 0] - before) / 0.05
    # Pitch tips gravity into x by a little; the acceleration dominates.
    tilt = rotation_matrix(dynamics.quaternion[0])[2, 0] * 9.81
    assert navigation.imu().linear_acceleration[0] - tilt == pytest.approx(expected, abs=0.03)


def test_truth_is_exact_and_states_a_small_covariance():
    navigation = Navigation(environment=WATER, seed=1)
    true, estimate = straight(navigation, seconds=60)
    np.testing.assert_allclose(estimate.pose.position, true, atol=1e-12)
    assert estimate.pose.yaw == pytest.approx(0.6)
    assert estimate.linear_velocity == (0.75, 0, 0)
    assert 0 < max(estimate.position_sigma) <= 0.05
    assert estimate.depth == pytest.approx(30) and estimate.battery == 0.8
    assert estimate.altitude == 8.0


def test_dead_reckoning_drifts_within_its_sigma():
    ratios, errors = [], []
    for seed in range(8):
        navigation = Navigation(environment=WATER, seed=seed, mode='dead_reckoning')
        true, estimate = straight(navigation, seconds=200)
        error = np.array(estimate.pose.position) - true
        errors.append(float(np.linalg.norm(error[:2])))
        ratios.append(errors[-1] / estimate.position_sigma[0])
        assert abs(error[2]) < 0.1
    assert 0.2 < float(np.median(errors)) < 5
    # Two components of sigma each, the along-track one smaller.
    assert 0.1 < float(np.median(ratios)) < 1.5
    assert max(ratios) < 3.5


def test_sigma_grows_with_the_distance():
    navigation = Navigation(environment=WATER, seed=4, mode='dead_reckoning')
    _, early = straight(navigation, seconds=30)
    _, late = straight(navigation, seconds=300)
    assert late.position_sigma[0] > 3 * early.position_sigma[0] > 0.3


def test_out_of_bottom_lock_it_drifts_with_the_current():
    water = Environment(current=Current(speed=0.25, heading=0.0))
    navigation = Navigation(environment=water, seed=2, mode='dead_reckoning')
    true, estimate = straight(navigation, yaw=0.0, seconds=200, altitude=70.0)
    error = np.array(estimate.pose.position) - true
    assert error[0] == pytest.approx(-0.25 * 200, rel=0.1)
    assert not navigation.dvl().bottom_lock
    assert estimate.position_sigma[0] > 40


def test_dvl_measures_body_velocity_at_5_hz():
    navigation = Navigation(environment=WATER, seed=1)
    navigation.reset(state(linear=(0.5, -0.2, 0.1)))
    stamps, samples = set(), []
    for k in range(1, 401):
        navigation.update(state(time=0.05 * k, linear=(0.5, -0.2, 0.1)), 5.0)
        if navigation.dvl().stamp not in stamps:
            samples.append(navigation.dvl().velocity)
        stamps.add(navigation.dvl().stamp)
    assert len(stamps) == pytest.approx(100, abs=2)
    np.testing.assert_allclose(np.mean(samples, axis=0), [0.5, -0.2, 0.1], atol=0.012)
    assert np.std(samples, axis=0) == pytest.approx(0.02626, rel=0.3)


def test_pressure_follows_depth_and_offset():
    navigation = Navigation(environment=Environment(depth_offset=450.0), seed=1)
    navigation.reset(state())
    assert navigation.pressure().pressure == pytest.approx(101_325 + 1025 * 9.81 * 480, abs=500)
    assert navigation.update(state(time=0.05), 5.0).depth == pytest.approx(30.0)


def test_dead_reckoned_depth_is_that_of_the_map():
    water = Environment(depth_offset=450.0)
    navigation = Navigation(environment=water, seed=1, mode='dead_reckoning')
    _, estimate = straight(navigation, seconds=60)
    assert estimate.depth == pytest.approx(30.0, abs=0.1)


def test_same_seed_same_bits_and_another_seed_differs():
    def run(seed):
        navigation = Navigation(environment=WATER, seed=seed, mode='dead_reckoning')
        return straight(navigation, seconds=20)[1]

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_reset_starts_the_noise_again():
    navigation = Navigation(environment=WATER, seed=3, mode='dead_reckoning')
    first = straight(navigation, seconds=10)[1]
    assert straight(navigation, seconds=10)[1] == first
    navigation.reset(state(), seed=8)
    other = navigation.imu().angular_velocity
    navigation.reset(state(), seed=3)
    assert not np.array_equal(other, navigation.imu().angular_velocity)


def test_modes_are_closed():
    with pytest.raises(ValueError):
        Navigation(environment=WATER, seed=0, mode='magic')
    assert NavigationMode('truth') is NavigationMode.TRUTH
