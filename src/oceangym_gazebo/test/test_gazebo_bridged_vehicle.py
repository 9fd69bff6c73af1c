"""The vehicle's side of a bridged session, driven sample by sample without ROS."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import Action, Course, EndReason
from oceangym_core.contract.frames import FrameShift
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import Bounds
from oceangym_gazebo.session.vehicle import BridgedVehicle, Motion
from oceangym_gazebo.session.watchdog import Watchdog
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.thrusters import submergence, thrust_limits
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Current, Environment
from oceangym_sim.requests import Refusal, RefusedError, ResetRequest

VEHICLE = load_vehicle(assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf')
# Gazebo's thrusters follow at once.
PROMPT = replace(VEHICLE, thrusters=tuple(replace(t, lag=1e-9) for t in VEHICLE.thrusters))
START = Pose.from_euler((144.0, -114.0, -30.0), 0.0, 0.0, 0.7)
ENDLESS = Bounds(lower=(-1e9,) * 3, upper=(1e9,) * 3)
STEP = 0.004


class Rig:
    """A vehicle in a sea of the embedded dynamics, sampled with Gazebo's period."""

    def __init__(self, *, profile='standard', pose=START, period=0.052, **options):
        self.vehicle = BridgedVehicle(
            vehicle=VEHICLE,
            water=load_water('shallow'),
            profile=load_profile(profile),
            **options,
        )
        self.sea = Dynamics(
            parameters=PROMPT,
            environment=Environment(current=Current.of(load_profile(profile), 0)),
        )
        self.sea.reset(pose)
        self.period = period
        self.outputs = []

    def motion(self, **changes):
        state = self.sea.vehicle()
        motion = Motion(
            stamp=round(self.sea.time, 6),
            pose=state.pose,
            linear_velocity=tuple(state.linear_velocity.tolist()),
            angular_velocity=tuple(state.angular_velocity.tolist()),
        )
        return replace(motion, **changes)

    def sample(self):
        output = self.vehicle.take(self.motion())
        if output is not None:
            self.outputs.append(output)
        return output

    def run(self, seconds):
        for _ in range(round(seconds / self.period)):
            self.sea.step(self.vehicle.thrust, STEP, round(self.period / STEP), newtons=True)
            self.sample()

    def until_landed(self):
        while True:
            self.run(self.period)
            if self.outputs[-1].finished:
                return self.outputs[-1].finished


def flying(**options):
    rig = Rig(**options)
    rig.sample()
    rig.run(1.0)
    return rig


def request(pose=START, **changes):
    values = {
        'start': pose,
        'seed': 0,
        't_max': 600.0,
        't_interval': 10.0,
        'profile': load_profile('standard'),
        'bounds': ENDLESS,
    }
    return ResetRequest(**(values | changes))


def test_nothing_is_flown_before_the_first_sample():
    vehicle = Rig().vehicle
    assert not vehicle.thrust.any() and vehicle.estimate is None and vehicle.current() is None
    for act in (
        lambda: vehicle.start_maneuver(Action.FORWARD, 1.0),
        lambda: vehicle.set_velocity((0.1, 0.0, 0.0), 0.0),
        lambda: vehicle.reset(request()),
    ):
        with pytest.raises(RefusedError, match='not come yet') as caught:
            act()
        assert caught.value.code is Refusal.NOT_RESET


@pytest.mark.parametrize('period', [0.052, 0.1])
def test_a_maneuver_ends_in_time_whatever_gazebos_period(period):
    # 4 ms steps publish every 52 ms when 50 are asked for; a lost sample doubles the time.
    rig = flying(period=period, interval=12.0)
    before = rig.sea.position[0].copy()
    assert rig.vehicle.start_maneuver(Action.LEFT, 4.0) == 4.0
    assert rig.vehicle.busy
    begin = rig.outputs[-1].stamp
    result = rig.until_landed()
    assert result.end_reason is EndReason.COMPLETED and not rig.vehicle.busy
    assert result.t_end - begin == pytest.approx(12.0, abs=period / 2 + 1e-6)
    way = rig.sea.position[0] - before
    port = np.array([-math.sin(START.yaw), math.cos(START.yaw), 0.0])
    assert way @ port == pytest.approx(4.0, abs=0.3)
    assert rig.vehicle.step == 1


@pytest.mark.parametrize('period', [0.052, 0.1])
def test_it_follows_a_slope_at_its_altitude_by_gazebos_altimeter(period):
    rig = flying(period=period, interval=30.0)
    bow = np.array([math.cos(START.yaw), math.sin(START.yaw), 0.0])
    start, heights = rig.sea.position[0].copy(), []

    def height():
        # A slope of 20 deg that begins 8 m below the vehicle and 5 m ahead of it.
        x, z = (rig.sea.position[0] - start) @ bow, rig.sea.position[0, 2] - start[2]
        return z + 8.0 - max(x - 5.0, 0.0) * math.tan(math.radians(20.0))

    rig.vehicle.altitude = height()
    rig.vehicle.start_maneuver(Action.GO, 18.0, Course(altitude_m=8.0))
    while not rig.outputs[-1].finished:
        rig.vehicle.altitude = height()
        rig.run(period)
        heights.append(height())
    result = rig.outputs[-1].finished
    assert min(heights) > 7.5 and max(heights) < 8.5
    assert result.applied == pytest.approx(18.0, abs=0.3) and not result.saturated
    assert result.climbed_m == pytest.approx(13.0 * math.tan(math.radians(20.0)), abs=0.3)


def test_thrust_stays_within_the_thrusters_limits():
    rig = flying(interval=20.0)
    rig.vehicle.start_maneuver(Action.FORWARD, None)
    low, high = thrust_limits()
    for _ in range(200):
        rig.run(0.05)
        assert (rig.vehicle.thrust >= low - 1e-9).all() and (
            rig.vehicle.thrust <= high + 1e-9
        ).all()
    assert np.abs(rig.vehicle.thrust).max() > 15.0


@pytest.mark.parametrize('height', [-0.2, -0.04, 0.0, 0.06, 0.3])
def test_a_rotor_in_air_gives_nothing_as_in_the_embedded_dynamics(height):
    pose = Pose.from_euler((0.0, 0.0, height), 0.1, -0.05, 0.4)
    share = submergence(pose, [t.position for t in VEHICLE.thrusters])
    assert share.min() >= 0.0 and share.max() <= 1.0
    lit = Dynamics(parameters=PROMPT)
    dark = Dynamics(parameters=PROMPT)
    for sea in (lit, dark):
        sea.reset(pose)
    dt = 1e-4
    for index in range(len(VEHICLE.thrusters)):
        command = np.zeros(len(VEHICLE.thrusters))
        command[index] = 20.0
        for sea, newtons in ((lit, command), (dark, 0 * command)):
            sea.reset(pose)
            sea.step(newtons, dt, newtons=True)
        gained = PROMPT.mass_matrix @ (lit.velocity[0] - dark.velocity[0]) / dt
        wanted = PROMPT.thruster_matrix[:, index] * 20.0 * share[index]
        np.testing.assert_allclose(gained, wanted, atol=0.02)


def test_the_command_is_faded_where_the_rotor_comes_out():
    places = [t.position for t in VEHICLE.thrusters]
    for height, dry in ((-5.0, False), (0.0, False), (0.2, True)):
        rig = Rig(pose=Pose((0.0, 0.0, height)))
        rig.sample()
        # It wants down from there with every rotor that it has for it.
        rig.vehicle.set_velocity((0.0, 0.0, -0.5), 0.2)
        rig.vehicle.take(rig.motion(stamp=0.05))
        share = submergence(rig.sea.vehicle().pose, places)
        assert rig.vehicle.thrust.any() == (not dry)
        assert (np.abs(rig.vehicle.thrust) <= 51.4 * share + 1e-9).all()


@pytest.mark.parametrize(
    'spoil',
    [
        {'stamp': math.nan},
        {'pose': Pose((math.nan, 0.0, -5.0))},
        {'pose': Pose((0.0, 0.0, -5.0), (0.0, 0.0, 0.0, 0.0))},
        {'linear_velocity': (0.0, math.inf, 0.0)},
        {'angular_velocity': (0.0, 0.0, math.nan)},
    ],
    ids=lambda spoil: next(iter(spoil)),
)
def test_a_sample_that_is_no_number_takes_thrust_away_and_leaves_no_trace(spoil):
    rig = flying()
    before = rig.vehicle.estimate
    assert rig.vehicle.thrust.any()
    with pytest.raises(OceanGymError, match='not finite'):
        rig.vehicle.take(rig.motion(**spoil))
    assert not rig.vehicle.thrust.any() and rig.vehicle.estimate is before
    rig.run(0.1)
    assert rig.vehicle.thrust.any() and np.isfinite(rig.vehicle.thrust).all()


def test_a_sample_again_brings_nothing():
    rig = flying()
    thrust = rig.vehicle.thrust.copy()
    assert rig.vehicle.take(rig.motion()) is None
    np.testing.assert_array_equal(rig.vehicle.thrust, thrust)


def test_who_is_put_elsewhere_holds_there_and_drops_the_maneuver():
    rig = flying(interval=30.0)
    rig.vehicle.start_maneuver(Action.FORWARD, 10.0)
    rig.run(2.0)
    there = Pose.from_euler((0.0, 50.0, -12.0), 0.0, 0.0, -2.0)
    rig.sea.reset(there, time=rig.sea.time + 0.05)
    output = rig.sample()
    assert output.finished.end_reason is EndReason.PREEMPTED and not rig.vehicle.busy
    rig.run(8.0)
    assert math.dist(rig.sea.position[0], there.position) < 0.2


def test_a_world_that_is_reset_begins_anew():
    rig = flying()
    rig.sea.reset(START, time=0.0)
    output = rig.sample()
    assert output is not None and output.stamp == 0.0
    rig.run(2.0)
    assert rig.outputs[-1].stamp == pytest.approx(2.0, abs=rig.period)
    assert math.dist(rig.sea.position[0], START.position) < 0.1


def test_streams_come_at_the_rates_of_the_contract():
    rig = flying(period=0.052)
    rig.outputs.clear()
    rig.run(20.0)
    counts = {
        name: sum(getattr(o, name) is not None for o in rig.outputs)
        for name in ('navigation', 'dvl', 'pressure', 'thrust', 'truth')
    }
    # 10, 5 and 1 Hz; what is due between two samples comes with the later one.
    assert counts['navigation'] == counts['truth'] == pytest.approx(200, abs=10)
    assert counts['dvl'] == counts['pressure'] == pytest.approx(100, abs=8)
    assert counts['thrust'] == pytest.approx(20, abs=1)
    stamps = [o.navigation.stamp for o in rig.outputs if o.navigation]
    assert stamps == [o.stamp for o in rig.outputs if o.navigation]


def test_a_reset_needs_the_vehicle_at_its_start():
    rig = flying()
    with pytest.raises(RefusedError, match='m from') as caught:
        rig.vehicle.reset(request(Pose((0.0, 0.0, -5.0))))
    assert caught.value.code is Refusal.BAD_START
    for times in ({'t_max': math.nan}, {'t_interval': 0.0}):
        with pytest.raises(RefusedError) as caught:
            rig.vehicle.reset(request(**times))
        assert caught.value.code is Refusal.BAD_TIME
    rig.vehicle.start_maneuver(Action.HOLD, None)
    with pytest.raises(RefusedError) as caught:
        rig.vehicle.reset(request())
    assert caught.value.code is Refusal.BUSY
    rig.vehicle.preempt()
    rig.vehicle.reset(request())
    assert rig.vehicle.step == 0 and rig.vehicle.request is not None


def test_an_episode_ends_with_its_time_and_the_last_maneuver_is_cut_short():
    rig = flying()
    rig.run(3.0)
    rig.vehicle.reset(request(t_max=15.0))
    begin = rig.outputs[-1].stamp
    rig.vehicle.start_maneuver(Action.UP, 2.0)
    assert rig.until_landed().end_reason is EndReason.COMPLETED
    rig.vehicle.start_maneuver(Action.UP, 1.0)
    result = rig.until_landed()
    assert result.end_reason is EndReason.TIME
    assert result.t_end - begin == pytest.approx(15.0, abs=0.03)
    with pytest.raises(RefusedError) as caught:
        rig.vehicle.start_maneuver(Action.UP, 1.0)
    assert caught.value.code is Refusal.TIME_IS_UP


def test_crossing_the_bounds_ends_the_episode_while_the_vehicle_holds_on():
    rig = flying()
    x, y, z = START.position
    bounds = Bounds(lower=(x - 9, y - 9, z - 9), upper=(x + 9, y + 9, z + 1.0))
    rig.vehicle.reset(request(bounds=bounds))
    rig.vehicle.start_maneuver(Action.UP, 4.0)
    assert rig.until_landed().end_reason is EndReason.BOUNDS
    with pytest.raises(RefusedError) as caught:
        rig.vehicle.start_maneuver(Action.DOWN, 1.0)
    assert caught.value.code is Refusal.OUT_OF_BOUNDS
    rig.run(5.0)
    assert np.linalg.norm(rig.sea.velocity[0]) < 0.05
    rig.vehicle.reset(request(pose=rig.sea.vehicle().pose))
    assert rig.vehicle.ended is None


def test_the_agents_frame_is_shifted_and_the_truth_is_not():
    rig = flying()
    shift = FrameShift(100.0, -20.0, math.pi / 2)
    rig.vehicle.reset(request(shift=shift))
    rig.run(0.2)
    output = next(o for o in reversed(rig.outputs) if o.navigation)
    wanted = shift.to_odom(output.truth.pose)
    np.testing.assert_allclose(output.navigation.pose.position, wanted.position, atol=1e-9)
    np.testing.assert_allclose(output.truth.pose.position, START.position, atol=0.2)


def test_dead_reckoning_drifts_and_its_maneuvers_follow_the_estimate():
    rig = flying(navigation='dead_reckoning', interval=20.0)
    rig.vehicle.start_maneuver(Action.FORWARD, 10.0)
    result = rig.until_landed()
    output = rig.outputs[-1]
    error = math.dist(output.navigation.pose.position, output.truth.pose.position)
    assert 0.0 < error < 1.0
    assert result.applied == pytest.approx(10.0, abs=0.4)


def test_the_current_is_that_of_the_profile_at_the_vehicles_depth():
    rig = flying(profile='hard')
    speed = load_profile('hard').current.speed
    east, north, up = rig.vehicle.current()
    assert math.hypot(east, north) == pytest.approx(speed) and up == 0.0
    expected = Current.of(load_profile('hard'), 0).velocity(
        rig.sea.position[0, 2], rig.outputs[-1].stamp
    )
    np.testing.assert_allclose((east, north, up), expected, atol=1e-9)
    # A reset to still water takes it away.
    rig.vehicle.reset(request(profile=load_profile('standard')))
    assert rig.vehicle.current() is None


def test_station_is_held_in_the_current_of_the_hard_profile():
    rig = flying(profile='hard', navigation='truth')
    rig.run(30.0)
    assert math.dist(rig.sea.position[0], START.position) < 0.3


def test_a_watchdog_knows_who_fell_silent_and_who_never_spoke():
    watchdog = Watchdog(('odometry', 'clock'), patience=0.5)
    assert watchdog.awaited == ('odometry', 'clock')
    assert watchdog.silent(99.0) == {}
    watchdog.heard('odometry', 10.0)
    assert watchdog.awaited == ('clock',)
    assert watchdog.silent(10.5) == {}
    assert watchdog.silent(10.6) == {'odometry': pytest.approx(0.6)}
    watchdog.heard('odometry', 10.7)
    assert watchdog.silent(10.8) == {}
