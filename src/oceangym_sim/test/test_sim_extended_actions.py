"""The combined command `go`, and bottom following, flown over made seabeds."""

from collections.abc import Callable
from dataclasses import replace
import math
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import (
    Action,
    ALTITUDES_M,
    Course,
    EndReason,
    FLOOR_ALTITUDE_M,
    STRAIGHT,
)
from oceangym_core.geometry import Pose, wrap_angle
from oceangym_core.world.world import Bounds, load_world
from oceangym_sim.control.maneuver import capability
from oceangym_sim.requests import Refusal, RefusedError, ResetRequest, SimulatorOptions
from oceangym_sim.simulator import ALTIMETER_REACH_M, Simulator

WORLD = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><world name="tank">
<oceangym:bounds><min>-60 -60 -200</min><max>60 60 5</max></oceangym:bounds>
<oceangym:anchor name="block_1" label="BLOCK" instances="block"><point>55 55 -5</point></oceangym:anchor>
<include><uri>model://floor</uri><name>floor</name></include>
<include><uri>model://block</uri><name>block</name><pose>55 55 -5 0 0 0</pose></include>
</world></sdf>"""
FLOOR = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><model name="floor">
<oceangym:heightfield><uri>model://floor/h.npy</uri><origin>-80 -80</origin><spacing>4</spacing>
</oceangym:heightfield><link name="l"/></model></sdf>"""
BLOCK = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><model name="block">
<oceangym:prop class="block" label="BLOCK" structure="true"/>
<link name="l"><visual name="v"><geometry><box><size>4 4 4</size></box></geometry></visual>
<collision name="c"><geometry><box><size>4 4 4</size></box></geometry></collision></link></model></sdf>"""
DEEPEST = -40.0

Seabed = Callable[[np.ndarray], np.ndarray]


def flat(x: np.ndarray) -> np.ndarray:
    """Return a level seabed over x [m]."""
    return np.full_like(x, DEEPEST)


def ramp(slope_deg: float) -> Seabed:
    """Return a seabed that rises from x = -20 m on, falls again from 0 m, and is level outside."""
    rise = math.tan(math.radians(slope_deg))
    return lambda x: DEEPEST + rise * np.clip(20.0 - np.abs(x), 0.0, None)


@pytest.fixture
def dive(tmp_path: Path) -> Callable[..., Simulator]:
    """Return a maker of simulators at rest over a seabed, at x = -40 m and heading along x."""

    def make(
        seabed: Seabed, *, z: float = -20.0, yaw: float = 0.0, nav: str = 'truth', interval=30.0
    ) -> Simulator:
        for name, text in (('floor', FLOOR), ('block', BLOCK)):
            (tmp_path / 'models' / name).mkdir(parents=True, exist_ok=True)
            (tmp_path / 'models' / name / 'model.sdf').write_text(text)
        x = -80.0 + 4.0 * np.arange(41)
        np.save(tmp_path / 'models/floor/h.npy', np.tile(seabed(x), (41, 1)).astype(np.float32))
        (tmp_path / 'tank.sdf').write_text(WORLD)
        world = load_world(tmp_path / 'tank.sdf')
        simulator = Simulator(
            world=world, options=SimulatorOptions(water=load_water('shallow'), sensors='none')
        )
        simulator.reset(
            ResetRequest(
                start=Pose.from_euler((-40.0, 0.0, z), 0, 0, yaw),
                seed=4,
                t_max=900.0,
                t_interval=interval,
                profile=load_profile('standard'),
                bounds=Bounds(lower=world.bounds.lower, upper=world.bounds.upper),
                targets=('block_1',),
                navigation=nav,
            )
        )
        return simulator

    return make


def altitudes(simulator: Simulator, seabed: Seabed, ways: int, altitude: float) -> np.ndarray:
    """Return the true height above the seabed [m] at 20 Hz while ways of 20 m are flown."""
    heights = []
    for _ in range(ways):
        simulator.start_maneuver(Action.GO, 20.0, Course(altitude_m=altitude))
        while simulator.busy:
            simulator.tick()
            x, _, z = simulator.state.pose.position
            # The seabed is linear between the points of the heightfield, 4 m apart.
            points = -80.0 + 4.0 * np.arange(41)
            heights.append(z - float(np.interp(x, points, seabed(points))))
        assert simulator.truth is not None and not simulator.truth.contacts
    return np.array(heights)


@pytest.mark.parametrize(
    ('turn_deg', 'distance', 'climb'),
    [(90.0, 10.0, 5.0), (-60.0, 12.0, -6.0), (None, 20.0, None), (180.0, 0.0, None)],
)
def test_go_turns_then_goes_ahead_and_climbs_to_the_geometric_place(
    dive: Callable[..., Simulator], turn_deg: float | None, distance: float, climb: float | None
) -> None:
    simulator = dive(flat, yaw=0.4)
    result, _, truth = simulator.run_maneuver(
        Action.GO, distance, Course(turn_deg=turn_deg, climb_m=climb)
    )
    turn, rise = math.radians(turn_deg or 0.0), climb or 0.0
    heading = 0.4 + turn
    place = (
        -40.0 + distance * math.cos(heading),
        distance * math.sin(heading),
        -20.0 + rise,
    )
    assert truth.pose.position == pytest.approx(place, abs=0.03)
    assert abs(wrap_angle(truth.pose.yaw - heading)) < math.radians(0.5)
    assert result.end_reason is EndReason.COMPLETED and not result.saturated
    assert result.applied == pytest.approx(distance, abs=0.03)
    assert result.turned_deg == pytest.approx(turn_deg or 0.0, abs=0.5)
    assert result.climbed_m == pytest.approx(rise, abs=0.03)
    # First the turn, then the way: on the way the heading is the new one.
    moving = truth.trajectory[np.hypot(*(truth.trajectory[:, 1:3] - [-40.0, 0.0]).T) > 0.3]
    yaws = [Pose.of(row[1:4], row[4:8]).yaw for row in moving]
    assert all(abs(wrap_angle(yaw - heading)) < math.radians(4) for yaw in yaws)


def test_what_does_not_fit_the_interval_is_cut_at_the_same_gradient_and_told(
    dive: Callable[..., Simulator],
) -> None:
    straight, _, _ = dive(flat).run_maneuver(Action.GO, 100.0, Course(climb_m=50.0))
    assert straight.saturated and straight.requested == 100.0
    assert straight.climbed_m == pytest.approx(straight.applied / 2, abs=0.05)
    # Between what the vehicle can do straight up and straight ahead.
    length = math.hypot(straight.applied, straight.climbed_m)
    assert capability(Action.UP, 30.0) < length < capability(Action.FORWARD, 30.0)
    turned, _, _ = dive(flat).run_maneuver(Action.GO, 100.0, Course(turn_deg=180.0))
    # A turn of pi takes pi / 0.35 + 0.35 / 0.3 = 10.1 s, in which 0.78 m/s make 7.9 m.
    assert turned.saturated and turned.turned_deg == pytest.approx(180.0, abs=0.5)
    assert straight.applied > turned.applied
    assert turned.applied == pytest.approx(capability(Action.FORWARD, 30.0) - 7.9, abs=1.0)
    short, _, _ = dive(flat, interval=5.0).run_maneuver(Action.GO, 10.0, Course(turn_deg=180.0))
    assert short.saturated and short.applied == pytest.approx(0.0, abs=0.05)
    assert short.turned_deg == pytest.approx(capability(Action.ROTATE_LEFT, 5.0), abs=3.0)


@pytest.mark.parametrize(
    ('slope_deg', 'altitude', 'nav', 'too_low', 'too_high'),
    [
        (15.0, 8.0, 'truth', 0.3, 0.4),
        (30.0, 8.0, 'dead_reckoning', 0.5, 1.4),
        (30.0, 3.0, 'dead_reckoning', 0.5, 1.4),
    ],
)
def test_bottom_following_keeps_its_altitude_over_a_ridge(
    dive: Callable[..., Simulator],
    slope_deg: float,
    altitude: float,
    nav: str,
    too_low: float,
    too_high: float,
) -> None:
    seabed = ramp(slope_deg)
    heights = altitudes(dive(seabed, z=DEEPEST + altitude, nav=nav), seabed, 4, altitude)
    assert altitude - too_low < heights.min() and heights.max() < altitude + too_high
    assert heights.min() > FLOOR_ALTITUDE_M
    # At rest over the level seabed behind the ridge.
    assert heights[-1] == pytest.approx(altitude, abs=0.1)


def test_it_goes_to_its_altitude_from_above_and_from_below(
    dive: Callable[..., Simulator],
) -> None:
    for above in (20.0, 4.0):
        heights = altitudes(dive(flat, z=DEEPEST + above), flat, 2, 8.0)
        # It does not swing through the altitude that it comes to.
        low, high = min(above, 8.0), max(above, 8.0)
        assert low - 0.1 < heights.min() and heights.max() < high + 0.1
        assert heights[-1] == pytest.approx(8.0, abs=0.05)


def test_it_stops_before_a_step_that_it_cannot_climb_on_the_way(
    dive: Callable[..., Simulator],
) -> None:
    def step(x: np.ndarray) -> np.ndarray:
        # 8 m within the 4 m between two points: 63 deg.
        return np.where(x > -22.0, DEEPEST + 8.0, DEEPEST)

    simulator = dive(step, z=DEEPEST + 6.0)
    heights = altitudes(simulator, step, 3, 6.0)
    assert heights.min() > FLOOR_ALTITUDE_M
    assert simulator.state.pose.position[0] > -10.0
    assert heights[-1] == pytest.approx(6.0, abs=0.1)


def test_without_a_return_it_holds_its_depth_and_below_the_surface_it_stays(
    dive: Callable[..., Simulator],
) -> None:
    def abyss(x: np.ndarray) -> np.ndarray:
        return np.full_like(x, -20.0 - 1.5 * ALTIMETER_REACH_M)

    simulator = dive(abyss)
    result, observation, _ = simulator.run_maneuver(Action.GO, 15.0, Course(altitude_m=8.0))
    assert observation.navigation.altitude == math.inf
    assert result.applied == pytest.approx(15.0, abs=0.05) and not result.saturated
    assert result.climbed_m == pytest.approx(0.0, abs=0.03)

    def shoal(x: np.ndarray) -> np.ndarray:
        return np.full_like(x, -6.0)

    simulator = dive(shoal, z=-3.0)
    result, _, truth = simulator.run_maneuver(Action.GO, 10.0, Course(altitude_m=20.0))
    assert truth.trajectory[:, 3].max() < -0.2
    assert result.climbed_m == pytest.approx(2.7, abs=0.1)


def test_the_same_seed_gives_the_same_bits(dive: Callable[..., Simulator]) -> None:
    ends = [
        dive(ramp(20.0), z=-32.0, nav='dead_reckoning').run_maneuver(
            Action.GO, 20.0, Course(turn_deg=10.0, altitude_m=8.0)
        )
        for _ in range(2)
    ]
    (one, _, a), (other, _, b) = ends
    assert one == other
    assert np.array_equal(a.trajectory, b.trajectory)


def test_impossible_courses_are_refused_and_others_stand(dive: Callable[..., Simulator]) -> None:
    simulator = dive(flat)
    before = simulator.clock
    for action, course, said in (
        (Action.FORWARD, Course(turn_deg=5.0), 'turn_deg is for the action go, not for forward'),
        (Action.GO, Course(climb_m=1.0, altitude_m=8.0), 'climb_m or altitude_m'),
        (Action.GO, Course(altitude_m=2.0), 'altitude_m 2.0 of go; allowed: 3 .. 50'),
        (Action.GO, Course(turn_deg=math.nan), 'allowed: -360 .. 360'),
        (Action.GO, Course(climb_m=math.inf), 'climb_m inf'),
    ):
        with pytest.raises(RefusedError, match=said) as caught:
            simulator.start_maneuver(action, 5.0, course)
        assert caught.value.code is Refusal.BAD_COURSE
    assert simulator.clock == before and not simulator.busy
    assert FLOOR_ALTITUDE_M < ALTITUDES_M[0] < ALTITUDES_M[1] < ALTIMETER_REACH_M
    result, _, _ = simulator.run_maneuver(Action.FORWARD, 5.0, STRAIGHT)
    assert replace(result, course=STRAIGHT) == result and result.turned_deg is None
