"""The T200 curve against the maker's table."""

from pathlib import Path

import numpy as np
import pytest

from oceangym_core.geometry import Pose
from oceangym_sim.dynamics import kernel as dynamics_kernel
from oceangym_sim.dynamics import thrusters
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.vehicle import load_vehicle

MODEL = Path(__file__).parents[3] / 'models' / 'bluerov2_heavy' / 'model.sdf'

# Pulse width [us] -> thrust [N], Blue Robotics public data, September 2019.
TABLE = {
    16.0: {
        1100: -39.9, 1200: -26.6, 1300: -14.1, 1400: -4.72, 1460: -0.67, 1472: 0.0, 1500: 0.0,
        1528: 0.0, 1540: 0.76, 1600: 5.92, 1700: 17.9, 1800: 33.5, 1900: 51.4,
    },
    14.0: {
        1100: -34.5, 1200: -23.0, 1300: -12.1, 1400: -3.91, 1460: -0.44, 1468: 0.0, 1532: 0.0,
        1540: 0.62, 1600: 4.89, 1700: 15.2, 1800: 29.4, 1900: 44.4,
    },
    10.0: {1100: -22.6, 1900: 28.7},
    12.0: {1100: -28.6, 1464: 0.0, 1536: 0.0, 1900: 36.4},
    18.0: {1100: -45.0, 1900: 59.0},
    20.0: {1100: -49.4, 1900: 65.9},
}  # fmt: skip
HALF = np.linspace(0, 1, 1001)
GRID = np.concatenate([-HALF[:0:-1], HALF])
VOLTAGES = [10.0, 12.0, 13.3, 14.0, 16.0, 17.1, 20.0]


@pytest.mark.parametrize('voltage', TABLE)
def test_table_within_1_3_newtons(voltage):
    for pulse, thrust in TABLE[voltage].items():
        assert thrusters.steady_thrust((pulse - 1500) / 400, voltage) == pytest.approx(
            thrust, abs=1.3
        )


def test_16_volt_table_is_exact():
    for pulse, thrust in TABLE[16.0].items():
        assert thrusters.steady_thrust((pulse - 1500) / 400) == pytest.approx(thrust, abs=1e-9)


@pytest.mark.parametrize('voltage', VOLTAGES)
def test_zero_command_gives_zero_and_the_curve_is_monotone(voltage):
    assert thrusters.steady_thrust(0.0, voltage) == 0
    curve = thrusters.steady_thrust(GRID, voltage)
    assert np.all(np.diff(curve) >= 0)
    assert np.all(curve[GRID > 0.12] > 0) and np.all(curve[GRID < -0.12] < 0)


@pytest.mark.parametrize('voltage', VOLTAGES)
def test_dead_band_is_odd(voltage):
    dead = thrusters.steady_thrust(GRID, voltage) == 0
    np.testing.assert_array_equal(dead, dead[::-1])
    assert dead.sum() == pytest.approx(
        2001 * thrusters.voltage_scale(voltage).dead_band / 400, abs=3
    )


@pytest.mark.parametrize('voltage', VOLTAGES)
def test_inverse_returns_the_thrust(voltage):
    low, high = thrusters.thrust_limits(voltage)
    wanted = np.linspace(low, high, 301)
    back = thrusters.steady_thrust(thrusters.throttle_for(wanted, voltage), voltage)
    np.testing.assert_allclose(back, wanted, atol=1e-9)
    assert thrusters.throttle_for(0.0, voltage) == 0
    assert thrusters.steady_thrust(thrusters.throttle_for(999.0, voltage), voltage) == (
        pytest.approx(high)
    )


def test_commands_beyond_full_are_clamped():
    assert thrusters.steady_thrust([-7.0, 7.0]).tolist() == pytest.approx([-39.9, 51.4])


def test_compiled_curve_is_the_same():
    for voltage in VOLTAGES:
        scale = thrusters.voltage_scale(voltage)
        scales = np.array([scale.forward, scale.reverse, scale.dead_band])
        compiled = [dynamics_kernel.t200_thrust(u, scales, thrusters.CURVE_16V) for u in GRID]
        np.testing.assert_allclose(compiled, thrusters.steady_thrust(GRID, voltage), atol=1e-12)


def test_power_at_the_measured_ends():
    assert thrusters.electrical_power(51.4) == pytest.approx(16 * 23.8)
    assert thrusters.electrical_power(-39.9) == pytest.approx(16 * 24.3)
    assert thrusters.electrical_power(0.0) == 0


def test_lag_is_the_exact_exponential_for_any_step():
    vehicle = load_vehicle(MODEL)
    lag = vehicle.thrusters[0].lag
    for dt, steps in ((0.001, 120), (0.01, 12), (0.04, 3)):
        dynamics = Dynamics(parameters=vehicle)
        dynamics.reset(Pose((0, 0, -40)))
        dynamics.step([10.0] * 8, dt, steps, newtons=True)
        np.testing.assert_allclose(dynamics.thrust, 10 * (1 - np.exp(-0.12 / lag)), rtol=1e-12)


def test_thrust_fades_out_of_the_water():
    vehicle = load_vehicle(MODEL)
    speeds = []
    for height in (-5.0, 0.5):
        dynamics = Dynamics(parameters=vehicle)
        dynamics.reset(Pose((0, 0, height)))
        dynamics.step([-20, -20, 20, 20, 0, 0, 0, 0], 0.01, 10, newtons=True)
        speeds.append(dynamics.velocity[0, 0])
    assert speeds[0] > 0.05 and abs(speeds[1]) < 1e-9
