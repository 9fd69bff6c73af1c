from dataclasses import replace
import math
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import Action, EndReason, LOCKSTEP, REALTIME, Timing
from oceangym_core.contract.frames import FrameShift
from oceangym_core.geometry import Pose, wrap_angle
from oceangym_core.world.world import Bounds, load_world, World
from oceangym_sim.dynamics.kernel import ENERGY
from oceangym_sim.requests import Refusal, RefusedError, ResetRequest, SimulatorOptions
from oceangym_sim.simulator import Simulator

WORLD = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><world name="tank">
<oceangym:bounds><min>-60 -60 -40</min><max>60 60 5</max></oceangym:bounds>
<oceangym:anchor name="block_1" label="BLOCK" instances="block"><point>0 40 -30</point></oceangym:anchor>
<include><uri>model://floor</uri><name>floor</name></include>
<include><uri>model://block</uri><name>block</name><pose>0 40 -28 0 0 0</pose></include>
<include><uri>model://block</uri><name>wall</name><pose>0 -40 -20 0 0 0</pose></include>
</world></sdf>"""
FLOOR = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><model name="floor">
<oceangym:heightfield><uri>model://floor/h.npy</uri><origin>-80 -80</origin><spacing>40</spacing>
</oceangym:heightfield><link name="l"/></model></sdf>"""
BLOCK = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><model name="block">
<oceangym:prop class="block" label="BLOCK" structure="true"/>
<link name="l"><visual name="v"><geometry><box><size>4 4 4</size></box></geometry></visual>
<collision name="c"><geometry><box><size>4 4 4</size></box></geometry></collision></link></model></sdf>"""
FLOOR_Z = -30.0


@pytest.fixture
def tank(tmp_path: Path) -> World:
    for name, text in (('floor', FLOOR), ('block', BLOCK)):
        (tmp_path / 'models' / name).mkdir(parents=True)
        (tmp_path / 'models' / name / 'model.sdf').write_text(text)
    np.save(tmp_path / 'models' / 'floor' / 'h.npy', np.full((5, 5), FLOOR_Z, np.float32))
    (tmp_path / 'tank.sdf').write_text(WORLD)
    return load_world(tmp_path / 'tank.sdf')


def request(world: World, **changes: object) -> ResetRequest:
    plain = ResetRequest(
        start=Pose.from_euler((0.0, 0.0, -15.0), 0, 0, math.pi / 2),
        seed=4,
        t_max=300.0,
        t_interval=30.0,
        profile=load_profile('standard'),
        bounds=world.bounds,
        targets=('block_1',),
    )
    return replace(plain, **changes)


def simulator(world: World, sensors: str = 'none') -> Simulator:
    return Simulator(
        world=world, options=SimulatorOptions(water=load_water('shallow'), sensors=sensors)
    )


@pytest.mark.parametrize(
    ('action', 'magnitude', 'east', 'north', 'up', 'turn'),
    [
        # The vehicle heads north (yaw 90 deg): ahead is +y, port is -x.
        (Action.FORWARD, 10.0, 0.0, 10.0, 0.0, 0.0),
        (Action.BACKWARD, 10.0, 0.0, -10.0, 0.0, 0.0),
        (Action.LEFT, 8.0, -8.0, 0.0, 0.0, 0.0),
        (Action.RIGHT, 8.0, 8.0, 0.0, 0.0, 0.0),
        (Action.UP, 5.0, 0.0, 0.0, 5.0, 0.0),
        (Action.DOWN, 5.0, 0.0, 0.0, -5.0, 0.0),
        (Action.ROTATE_LEFT, 90.0, 0.0, 0.0, 0.0, 90.0),
        (Action.ROTATE_RIGHT, 90.0, 0.0, 0.0, 0.0, -90.0),
        (Action.HOLD, None, 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_each_move_goes_where_its_name_says(
    tank: World,
    action: Action,
    magnitude: float | None,
    east: float,
    north: float,
    up: float,
    turn: float,
) -> None:
    sim = simulator(tank)
    sim.reset(request(tank))
    result, observation, truth = sim.run_maneuver(action, magnitude)
    assert observation.stamp == 30.0 and observation.index == 1
    assert result.end_reason is EndReason.COMPLETED and not result.saturated
    assert truth.pose.position == pytest.approx((east, north, -15.0 + up), abs=0.3)
    turned = math.degrees(wrap_angle(truth.pose.yaw - math.pi / 2))
    assert turned == pytest.approx(turn, abs=2.0)


def test_excess_saturates_at_what_one_interval_allows(tank: World) -> None:
    sim = simulator(tank)
    sim.reset(request(tank))
    result, _, truth = sim.run_maneuver(Action.FORWARD, 500.0)
    assert result.saturated and result.requested == 500.0
    # At the benchmark's cruise of at least 0.7 m/s and no more than the vehicle's 0.91 m/s.
    assert 0.65 * 30 < result.applied < 0.91 * 30
    assert truth.pose.position[1] == pytest.approx(result.applied, abs=0.3)


def test_time_ends_the_episode_on_its_exact_tick(tank: World) -> None:
    sim = simulator(tank)
    sim.reset(request(tank, t_max=42.35))
    sim.run_maneuver(Action.HOLD, None)
    result, observation, _ = sim.run_maneuver(Action.HOLD, None)
    assert result.end_reason is EndReason.TIME and observation.stamp == pytest.approx(42.35)
    with pytest.raises(RefusedError) as refused:
        sim.start_maneuver(Action.FORWARD, 5.0)
    assert refused.value.code is Refusal.TIME_IS_UP


def test_crossing_the_bounds_ends_it_on_the_tick_of_the_crossing(tank: World) -> None:
    sim = simulator(tank)
    narrow = Bounds(lower=(-60, -60, -40), upper=(60, 6.0, 5))
    sim.reset(request(tank, bounds=narrow))
    result, observation, truth = sim.run_maneuver(Action.FORWARD, 20.0)
    assert result.end_reason is EndReason.BOUNDS and truth.boundary_events == 1
    # One tick of 0.05 s at less than a metre a second past the line, no more.
    assert 6.0 < truth.pose.position[1] < 6.05
    assert truth.trajectory[-1, 0] == observation.stamp < 30.0
    with pytest.raises(RefusedError) as refused:
        sim.start_maneuver(Action.HOLD, None)
    assert refused.value.code is Refusal.OUT_OF_BOUNDS


@pytest.mark.parametrize(
    ('changes', 'code'),
    [
        ({'start': Pose.of((0, 0, -29.9))}, Refusal.BAD_START),
        ({'start': Pose.of((0, 40, -28))}, Refusal.BAD_START),
        ({'start': Pose.of((0, 400, -8))}, Refusal.BAD_START),
        ({'start': Pose.of((0, math.nan, -8))}, Refusal.BAD_START),
        ({'t_max': 0.0}, Refusal.BAD_TIME),
        ({'t_interval': math.inf}, Refusal.BAD_TIME),
        ({'targets': ('block_2',)}, Refusal.UNKNOWN_TARGET),
    ],
)
def test_bad_resets_are_refused(tank: World, changes: dict[str, object], code: Refusal) -> None:
    with pytest.raises(RefusedError) as refused:
        simulator(tank).reset(request(tank, **changes))
    assert refused.value.code is code


def test_maneuvers_are_refused_before_a_reset_while_busy_and_with_bad_magnitudes(
    tank: World,
) -> None:
    sim = simulator(tank)
    with pytest.raises(RefusedError) as refused:
        sim.start_maneuver(Action.FORWARD, 1.0)
    assert refused.value.code is Refusal.NOT_RESET
    sim.reset(request(tank))
    for magnitude in (-1.0, math.inf, math.nan):
        with pytest.raises(RefusedError) as refused:
            sim.start_maneuver(Action.FORWARD, magnitude)
        assert refused.value.code is Refusal.BAD_MAGNITUDE
    sim.start_maneuver(Action.FORWARD, 1.0)
    for call in (lambda: sim.start_maneuver(Action.UP, 1.0), lambda: sim.reset(request(tank))):
        with pytest.raises(RefusedError) as refused:
            call()
        assert refused.value.code is Refusal.BUSY
    sim.tick()
    assert sim.preempt().end_reason is EndReason.PREEMPTED
    assert sim.observation is not None and sim.observation.index == 1


def test_a_shifted_frame_hides_map_and_changes_nothing_else(tank: World) -> None:
    shift = FrameShift(x=100.0, y=-40.0, yaw=math.radians(30.0))
    plain, shifted = simulator(tank), simulator(tank)
    plain.reset(request(tank))
    shifted.reset(request(tank, shift=shift))
    _, seen, truth = plain.run_maneuver(Action.FORWARD, 10.0)
    _, hidden, same = shifted.run_maneuver(Action.FORWARD, 10.0)
    assert same.pose.position == pytest.approx(truth.pose.position, abs=1e-6)
    back = shift.to_map(hidden.navigation.pose)
    assert back.position == pytest.approx(seen.navigation.pose.position, abs=1e-6)
    assert math.dist(hidden.navigation.pose.position, truth.pose.position) > 50.0


def test_a_collision_is_one_event_and_stand_off_spares_the_target(tank: World) -> None:
    sim = simulator(tank)
    # Facing the wall (not a target) 8 m off its face, 2 m below its middle.
    sim.reset(request(tank, start=Pose.from_euler((0, -30.0, -20.0), 0, 0, -math.pi / 2)))
    _, _, truth = sim.run_maneuver(Action.FORWARD, 20.0)
    assert [c.instance for c in truth.contacts] == ['wall']
    assert 0.2 < truth.contacts[0].speed < 0.91
    assert truth.standoff_events == 1 and truth.standoff_seconds == pytest.approx(30.0, abs=0.1)
    # The vehicle is stopped by the face at y = -38, hull half a metre long or less.
    assert -38.0 < truth.pose.position[1] < -37.4
    sim.reset(request(tank, start=Pose.from_euler((0, 30.0, -28.0), 0, 0, math.pi / 2)))
    _, _, near_target = sim.run_maneuver(Action.HOLD, None)
    assert near_target.standoff_events == 0 and near_target.standoff_seconds == 0.0


def test_altitude_is_the_range_to_the_floor(tank: World) -> None:
    sim = simulator(tank)
    observation = sim.reset(request(tank))
    assert observation.navigation.altitude == pytest.approx(-15.0 - FLOOR_Z, abs=0.1)
    assert observation.navigation.depth == pytest.approx(15.0, abs=0.05)


@pytest.mark.parametrize(('timing', 'imu_hz'), [(LOCKSTEP, 20), (REALTIME, 50)])
def test_rates_of_the_streams(tank: World, timing: Timing, imu_hz: int) -> None:
    options = SimulatorOptions(water=load_water('shallow'), sensors='none', timing=timing)
    sim = Simulator(world=tank, options=options)
    sim.reset(request(tank))
    sim.start_maneuver(Action.FORWARD, 5.0)
    ticks = [sim.tick() for _ in range(round(10.0 / timing.tick))]
    assert ticks[-1].stamp == pytest.approx(10.0)
    for stream, hertz in (
        ('imu', imu_hz),
        ('navigation', 10),
        ('dvl', 5),
        ('pressure', 5),
        ('altitude', 5),
        ('battery', 1),
        ('truth', 10),
    ):
        assert sum(getattr(t, stream) is not None for t in ticks) == hertz * 10, stream
    # The same autopilot flies at either tick.
    assert ticks[-1].applied == pytest.approx(5.0, abs=0.3)


def test_the_hard_profile_drifts_a_vehicle_that_reckons(tank: World) -> None:
    sim = simulator(tank)
    sim.reset(request(tank, profile=load_profile('hard'), navigation='dead_reckoning'))
    for _ in range(4):
        _, observation, truth = sim.run_maneuver(Action.FORWARD, 3.0)
    error = math.dist(observation.navigation.pose.position, truth.pose.position)
    assert 0.001 < error < 5.0
    assert observation.navigation.position_sigma[0] > 0.0


def test_a_low_battery_is_known_to_the_autopilot_and_slows_the_vehicle(tank: World) -> None:
    hard = load_profile('hard')
    still = hard.model_copy(update={'current': load_profile('standard').current})
    speeds, voltages = [], []
    for used in (0.0, 0.95):
        sim = simulator(tank)
        sim.reset(request(tank, profile=still))
        sim._plant.state[:, ENERGY] = used * sim.vehicle.battery.capacity
        sim.run_maneuver(Action.HOLD, None)
        sim.start_maneuver(Action.FORWARD, 20.0)
        for _ in range(240):
            sim.tick()
        speeds.append(float(sim.state.linear_velocity[0]))
        voltages.append(sim._executor.autopilot.voltage)
        assert voltages[-1] == pytest.approx(float(sim._plant.voltage[0]), abs=0.3)
    assert voltages[1] < voltages[0] - 1.5
    # At a steady speed drag equals thrust: speed goes with the square root of the thrust limit.
    assert speeds[1] < 0.95 * speeds[0]


def test_pressure_and_sound_know_the_depth_offset(tank: World) -> None:
    readings = {}
    for offset in (0.0, 450.0):
        water = load_water('shallow').model_copy(update={'depth_offset': offset})
        sim = Simulator(world=tank, options=SimulatorOptions(water=water, sensors='truth'))
        sim.reset(request(tank))
        samples = [t.pressure for t in (sim.tick() for _ in range(40)) if t.pressure is not None]
        absorption = sim._sensors._sonars[0].formers[0].absorption
        readings[offset] = (np.mean([s.pressure for s in samples]), absorption)
    # rho g h at 1025 kg/m3 and 9.81 m/s2; the sensor's noise is of the order of a centimetre.
    assert readings[450.0][0] - readings[0.0][0] == pytest.approx(1025 * 9.81 * 450, rel=1e-4)
    assert readings[450.0][1] < readings[0.0][1]


@pytest.mark.parametrize('sensors', ['none', 'truth'])
def test_the_same_seed_gives_the_same_bits(tank: World, sensors: str) -> None:
    records = []
    for seed in (7, 7, 8):
        sim = simulator(tank, sensors)
        sim.reset(request(tank, seed=seed, profile=load_profile('hard')))
        steps = [sim.run_maneuver(a, None)[1:] for a in (Action.FORWARD, Action.ROTATE_LEFT)]
        records.append(
            [(o.navigation, t.pose, t.trajectory.tobytes(), t.sightings) for o, t in steps]
        )
    assert records[0] == records[1]
    assert records[0] != records[2]


def test_realtime_holds_station_and_ends_by_itself(tank: World) -> None:
    sim = simulator(tank)
    sim.reset(request(tank, t_max=12.0))
    sim.set_velocity((0.5, 0.0, 0.0), 0.0)
    moved = [sim.tick() for _ in range(20)]
    assert sim.state.linear_velocity[0] > 0.2
    rest = [sim.tick() for _ in range(220)]
    # The dead-man stopped it a second after the only command.
    assert np.linalg.norm(sim.state.linear_velocity) < 0.02
    ended = [t.finished for t in moved + rest if t.finished is not None]
    assert [e.end_reason for e in ended] == [EndReason.TIME]
    assert sim.observation is not None and sim.observation.index == 1


def test_the_sonars_are_those_asked_for(tank: World) -> None:
    water = load_water('shallow')
    plain, other = (
        Simulator(world=tank, options=SimulatorOptions(water=water, sensors='none', **options))
        for options in ({}, {'sonar_device': 'oculus_m750d', 'sonar_mount': 'tilted'})
    )
    for own, chosen in zip(plain.sonars, other.sonars, strict=True):
        assert (own.preset, own.range_max) == ('oceangym_decision', 40.0)
        assert (chosen.preset, chosen.range_max) == ('oculus_m750d', 120.0)
        turn = np.degrees(
            np.arccos(np.trace(own.mount.rotation.T @ chosen.mount.rotation) / 2 - 0.5)
        )
        assert turn == pytest.approx(10.0 if own.direction == 'front' else 0.0, abs=1e-3)
    # What the node publishes as frames is what the rays are cast from.
    assert [s.mount for s in other.vehicle.sonars] == [s.mount for s in other.sonars]
