"""Autopilot, allocation and maneuvers on the simulated vehicle."""

import math
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.config.waters import load_profile
from oceangym_core.contract.actions import Action, EndReason
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import euler_from_quaternion, Pose, wrap_angle
from oceangym_sim.control.allocation import Allocator
from oceangym_sim.control.autopilot import Autopilot, Reference
from oceangym_sim.control.maneuver import capability, ManeuverExecutor
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.thrusters import thrust_limits
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Current, Environment
from oceangym_sim.navigation import Navigation

MODEL = Path(__file__).parents[3] / 'models' / 'bluerov2_heavy' / 'model.sdf'

VEHICLE = load_vehicle(MODEL)
TICK = 0.05
DOCUMENTED = (Action.FORWARD, Action.LEFT, Action.UP, Action.DOWN)


class Rig:
    """A vehicle with its navigation and executor, run tick by tick."""

    def __init__(self, *, water=None, mode='truth', pose=None, seed=0, battery_limits=False):
        water = water if water is not None else Environment()
        self.dynamics = Dynamics(
            parameters=VEHICLE, environment=water, battery_limits=battery_limits
        )
        self.dynamics.reset(pose if pose is not None else Pose.from_euler((0, 0, -40), 0, 0, -2.3))
        self.navigation = Navigation(environment=water, seed=seed, mode=mode)
        self.navigation.reset(self.dynamics.vehicle())
        self.executor = ManeuverExecutor(
            autopilot=Autopilot(parameters=VEHICLE, environment=water)
        )
        self.estimate = self.navigation.update(self.dynamics.vehicle(), 10.0)
        self.executor.reset(self.estimate)
        self.tilts: list[float] = []
        self.speeds: list[float] = []

    def tick(self, throttle):
        self.dynamics.step(throttle, 0.01, 5)
        self.estimate = self.navigation.update(self.dynamics.vehicle(), 10.0)
        roll, pitch, _ = euler_from_quaternion(self.dynamics.quaternion[0])
        self.tilts.append(max(abs(roll), abs(pitch)))
        self.speeds.append(float(np.linalg.norm(self.dynamics.velocity[0, :3])))

    def run(self, seconds):
        for _ in range(round(seconds / TICK)):
            self.tick(self.executor.update(self.estimate, TICK))

    def maneuver(self, action, magnitude=None, interval=30.0):
        start = self.dynamics.vehicle().pose
        self.executor.start(action, magnitude, self.estimate, interval)
        self.run(interval)
        result = self.executor.finish(self.estimate, EndReason.COMPLETED)
        end = self.dynamics.vehicle().pose
        c, s = math.cos(start.yaw), math.sin(start.yaw)
        dx, dy, dz = np.subtract(end.position, start.position)
        moved = np.array([c * dx + s * dy, c * dy - s * dx, dz])
        return result, moved, wrap_angle(end.yaw - start.yaw)


MOVES = [
    (Action.FORWARD, None, (20.0, 0, 0)),
    (Action.BACKWARD, 20.0, (-20.0, 0, 0)),
    (Action.FORWARD, 3.0, (3.0, 0, 0)),
    (Action.LEFT, 12.0, (0, 12.0, 0)),
    (Action.RIGHT, 12.0, (0, -12.0, 0)),
    (Action.UP, 15.0, (0, 0, 15.0)),
    (Action.DOWN, 15.0, (0, 0, -15.0)),
    (Action.HOLD, None, (0, 0, 0)),
]


@pytest.mark.parametrize('action, magnitude, expected', MOVES)
def test_translation_ends_where_it_should(action, magnitude, expected):
    result, moved, turned = Rig().maneuver(action, magnitude)
    along = np.abs(expected) > 0
    np.testing.assert_allclose(moved[along], np.array(expected)[along], atol=0.3)
    np.testing.assert_allclose(moved[~along], 0, atol=0.1)
    assert abs(turned) < math.radians(2)
    assert result.applied == pytest.approx(np.abs(expected).sum(), abs=0.3)
    assert not result.saturated and result.t_end - result.t_start == pytest.approx(30.0)


@pytest.mark.parametrize('degrees', [10.0, 45.0, 90.0, 180.0])
@pytest.mark.parametrize('action', [Action.ROTATE_LEFT, Action.ROTATE_RIGHT])
def test_rotation_ends_where_it_should(action, degrees):
    result, moved, turned = Rig().maneuver(action, degrees)
    sign = 1 if action is Action.ROTATE_LEFT else -1
    assert wrap_angle(turned - sign * math.radians(degrees)) == pytest.approx(0, abs=0.03)
    assert result.applied == pytest.approx(degrees, abs=2)
    assert np.abs(moved).max() < 0.1


def test_cruise_is_at_least_0_7_over_ground_and_level():
    rig = Rig()
    rig.maneuver(Action.FORWARD)
    speeds = np.array(rig.speeds)
    assert (speeds >= 0.7).sum() * TICK > 22
    assert max(rig.tilts) < math.radians(3)


@pytest.mark.parametrize('start_pitch', [0.0, 8.0, -8.0])
def test_pitch_stays_below_ten_degrees_at_full_surge(start_pitch):
    water = Environment()
    rig = Rig(water=water, pose=Pose.from_euler((0, 0, -40), 0, math.radians(start_pitch), 0))
    autopilot = Autopilot(parameters=VEHICLE, environment=water)
    for k in range(800):
        # A reference that no vehicle follows: full thrust ahead throughout.
        t = k * TICK
        reference = Reference(position=(1.2 * t + 2, 0, -40), yaw=0.0, velocity=(1.2, 0, 0))
        rig.tick(autopilot.update(rig.estimate, reference, TICK))
    assert rig.dynamics.velocity[0, 0] > 0.88
    assert max(rig.tilts) < math.radians(10)
    assert max(rig.tilts[200:]) < math.radians(1)
    assert abs(rig.dynamics.position[0, 2] + 40) < 0.15


def test_excess_is_cut_to_the_capability():
    rig = Rig()
    result, moved, _ = rig.maneuver(Action.FORWARD, 500.0)
    assert result.saturated and result.requested == 500.0
    assert result.applied == pytest.approx(capability(Action.FORWARD, 30.0), abs=0.3)
    assert moved[0] == pytest.approx(result.applied, abs=1e-6)


def test_documented_capabilities():
    reach = [capability(a, 30.0) for a in DOCUMENTED]
    assert reach == pytest.approx([20.7, 17.2, 20.2, 18.7], abs=0.1)
    assert capability(Action.ROTATE_LEFT, 30.0) > 180
    assert capability(Action.HOLD, 30.0) == 0
    assert capability(Action.FORWARD, 1.0) == 0


def test_consecutive_moves_add_up():
    rig = Rig(pose=Pose.from_euler((0, 0, -40), 0, 0, 0))
    for action, magnitude in (
        (Action.FORWARD, 10), (Action.ROTATE_LEFT, 90), (Action.FORWARD, 10),
        (Action.ROTATE_LEFT, 90), (Action.FORWARD, 10), (Action.ROTATE_LEFT, 90),
        (Action.FORWARD, 10), (Action.ROTATE_LEFT, 90),
    ):  # fmt: skip
        rig.maneuver(action, float(magnitude))
    np.testing.assert_allclose(rig.dynamics.position[0], (0, 0, -40), atol=0.3)
    assert abs(rig.dynamics.vehicle().pose.yaw) < math.radians(2)


def test_upward_move_stops_below_the_surface():
    rig = Rig(pose=Pose((0, 0, -3.0)))
    result, _, _ = rig.maneuver(Action.UP, 20.0)
    assert result.saturated
    assert rig.dynamics.position[0, 2] == pytest.approx(-0.3, abs=0.1)


@pytest.mark.parametrize('seed', [0, 1, 2])
def test_hard_profile_stays_level_and_holds_its_station(seed):
    water = Environment(current=Current.of(load_profile('hard'), seed))
    rig = Rig(water=water, mode='dead_reckoning', seed=seed)
    rig.maneuver(Action.HOLD)
    rig.tilts.clear()
    _, forward, _ = rig.maneuver(Action.FORWARD, 10.0)
    assert forward[0] == pytest.approx(10.0, abs=0.5)
    rig.maneuver(Action.UP, 15.0)
    rig.maneuver(Action.LEFT, 10.0)
    _, held, _ = rig.maneuver(Action.HOLD)
    assert np.linalg.norm(held) < 0.3
    assert max(rig.tilts) < math.radians(10)


def test_a_head_current_shortens_a_move_and_nothing_winds_up():
    rig = Rig(water=Environment(current=Current(speed=0.4, heading=math.pi)),
              pose=Pose((0, 0, -40)))  # fmt: skip
    result, moved, _ = rig.maneuver(Action.FORWARD, 20.0)
    assert 10 < result.applied < 18 and moved[0] == pytest.approx(result.applied, abs=1e-6)
    _, held, _ = rig.maneuver(Action.HOLD)
    assert np.linalg.norm(held) < 0.8
    assert max(rig.tilts) < math.radians(10)


def test_velocity_command_is_followed_and_lapses():
    rig = Rig(pose=Pose((0, 0, -40)))
    for _ in range(200):
        rig.executor.command_velocity((0.5, 0.0, 0.0), 0.0, rig.estimate)
        rig.tick(rig.executor.update(rig.estimate, TICK))
    assert rig.dynamics.velocity[0, 0] == pytest.approx(0.5, abs=0.02)
    rig.run(6.0)
    held = rig.dynamics.position[0].copy()
    assert np.linalg.norm(rig.dynamics.velocity[0]) < 0.02
    rig.run(20.0)
    assert np.linalg.norm(rig.dynamics.position[0] - held) < 0.1


def test_velocity_command_turns_and_climbs_in_the_heading_frame():
    rig = Rig(pose=Pose((0, 0, -40)))
    for _ in range(400):
        rig.executor.command_velocity((0.3, 0.0, 0.2), 0.2, rig.estimate)
        rig.tick(rig.executor.update(rig.estimate, TICK))
    np.testing.assert_allclose(rig.dynamics.velocity[0, [0, 2, 5]], [0.3, 0.2, 0.2], atol=0.03)


def test_recovers_from_upside_down():
    rig = Rig(pose=Pose.from_euler((0, 0, -40), 3.0, 0.3, 1.0))
    rig.executor.hold(rig.estimate)
    rig.run(15.0)
    assert rig.tilts[-1] < math.radians(1)


def test_estimate_that_is_not_finite_gives_zero_throttle():
    rig = Rig()
    autopilot = rig.executor.autopilot
    reference = Reference(position=(float('nan'), 0, -40), yaw=0.0)
    assert np.all(autopilot.update(rig.estimate, reference, TICK) == 0)


@pytest.mark.parametrize('magnitude', [-1.0, float('nan'), float('inf')])
def test_bad_magnitudes_are_refused(magnitude):
    rig = Rig()
    with pytest.raises(OceanGymError, match='magnitude'):
        rig.executor.start(Action.FORWARD, magnitude, rig.estimate, 30.0)


def test_bad_velocity_commands_are_refused():
    rig = Rig()
    with pytest.raises(OceanGymError, match='finite'):
        rig.executor.command_velocity((float('nan'), 0, 0), 0.0, rig.estimate)


class TestAllocation:
    allocator = Allocator(matrix=VEHICLE.thruster_matrix, limits=thrust_limits())

    def test_reachable_wrench_is_met_exactly(self):
        wrench = np.array([60.0, -10.0, 30.0, 1.0, -2.0, 3.0])
        allocation = self.allocator.allocate(wrench)
        np.testing.assert_allclose(VEHICLE.thruster_matrix @ allocation.thrust, wrench, atol=1e-9)
        np.testing.assert_allclose(allocation.served, wrench)

    def test_null_space_reaches_the_full_129_newtons(self):
        allocation = self.allocator.allocate([500.0, 0, 0, 0, 0, 0])
        expected = 4 * math.sqrt(0.5) * (51.4 + 39.9) / 2
        assert allocation.served[0] == pytest.approx(expected, rel=2e-3)
        np.testing.assert_allclose(
            VEHICLE.thruster_matrix @ allocation.thrust, allocation.served, atol=1e-9
        )

    def test_pitch_roll_and_depth_come_before_surge(self):
        wanted = np.array([129.0, 0, 100.0, 4.0, 6.0, 0.0])
        allocation = self.allocator.allocate(wanted)
        np.testing.assert_allclose(allocation.served[2:5], wanted[2:5], rtol=1e-9)
        assert 0 < allocation.served[0] < wanted[0]

    def test_thrust_never_leaves_its_limits(self):
        random = np.random.default_rng(0)
        low, high = thrust_limits()
        for _ in range(500):
            wrench = random.normal(size=6) * [200, 200, 300, 30, 30, 40]
            allocation = self.allocator.allocate(wrench)
            assert np.all(allocation.thrust >= low - 1e-9)
            assert np.all(allocation.thrust <= high + 1e-9)
            np.testing.assert_allclose(
                VEHICLE.thruster_matrix @ allocation.thrust, allocation.served, atol=1e-8
            )

    def test_too_few_thrusters_are_refused(self):
        with pytest.raises(OceanGymError, match='six degrees'):
            Allocator(matrix=VEHICLE.thruster_matrix[:, :5], limits=thrust_limits())
