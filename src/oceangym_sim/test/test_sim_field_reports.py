"""What went wrong for users of comparable simulators, looked for in the vehicle and its sensors."""

from __future__ import annotations

from dataclasses import replace
import math
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import Action, DIRECTIONS, REALTIME
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world, World
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.requests import ResetRequest, SimulatorOptions
from oceangym_sim.simulator import Simulator

VEHICLE = load_vehicle(assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf')
HEADER = '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">'


@pytest.fixture(scope='module')
def sea(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A flat seabed 40 m deep and a ball to look at."""
    root = tmp_path_factory.mktemp('sea')
    floor, ball = root / 'models' / 'floor', root / 'models' / 'ball'
    floor.mkdir(parents=True)
    ball.mkdir()
    (floor / 'model.sdf').write_text(
        f'{HEADER}<model name="floor"><oceangym:heightfield><uri>model://floor/h.npy</uri>'
        '<origin>-100 -100</origin><spacing>50</spacing></oceangym:heightfield><link name="l">'
        '<visual name="v"><geometry><box><size>200 200 1</size></box></geometry></visual></link>'
        '</model></sdf>'
    )
    (ball / 'model.sdf').write_text(
        f'{HEADER}<model name="ball"><link name="l"><visual name="v"><geometry><sphere>'
        '<radius>1</radius></sphere></geometry></visual></link></model></sdf>'
    )
    np.save(floor / 'h.npy', np.full((5, 5), -40.0, np.float32))
    (root / 'sea.sdf').write_text(
        f'{HEADER}<world name="sea"><oceangym:bounds><min>-90 -90 -45</min><max>90 90 5</max>'
        '</oceangym:bounds><include><uri>model://floor</uri><name>floor</name>'
        '<pose>0 0 0 0 0 0</pose></include><include><uri>model://ball</uri><name>ball</name>'
        '<pose>8 0 -10 0 0 0</pose></include></world></sdf>'
    )
    return load_world(root / 'sea.sdf')


def request(sea: World, z: float, **changes: object) -> ResetRequest:
    return replace(
        ResetRequest(
            start=Pose.of((0.0, 0.0, z)), seed=1, t_max=600.0, t_interval=30.0,
            profile=load_profile('standard'), bounds=sea.bounds, targets=(),
        ),
        **changes,
    )  # fmt: skip


def test_ordered_up_beyond_the_surface_it_floats_and_does_not_fly(sea: World) -> None:
    """Buoyancy or thrust that does not fade with submergence lifts a vehicle into the air."""
    simulator = Simulator(
        world=sea, options=SimulatorOptions(water=load_water('shallow'), sensors='none')
    )
    simulator.reset(request(sea, -3.0))
    for _ in range(3):
        result, _, truth = simulator.run_maneuver(Action.UP, 20.0)
        # Its centre stays within half its height of 0.254 m of the surface.
        assert truth.trajectory[:, 3].max() < 0.254 / 2 + 0.1
        assert result.saturated
    assert abs(truth.pose.position[2]) < 0.3
    # And it comes down again when told to.
    _, _, truth = simulator.run_maneuver(Action.DOWN, 5.0)
    assert truth.pose.position[2] == pytest.approx(-5.0, abs=1.0)


@pytest.mark.parametrize('axis', range(6))
@pytest.mark.parametrize('added', [0.0, 1e-9, 0.05, 5.0, 50.0])
def test_added_mass_of_nothing_or_of_many_times_the_body_stays_finite(
    axis: int, added: float
) -> None:
    """A row of zeros made accelerations NaN elsewhere, and more than the body's own made them grow."""
    own = np.diag([VEHICLE.mass] * 3 + list(np.diag(VEHICLE.inertia)))
    matrix = np.array(VEHICLE.added_mass, float)
    matrix[axis, :] = matrix[:, axis] = 0.0
    matrix[axis, axis] = added * own[axis, axis]
    dynamics = Dynamics(parameters=replace(VEHICLE, added_mass=matrix))
    for dt in (0.002, 0.05):
        dynamics.reset(Pose.from_euler((0.0, 0.0, -50.0), 0.3, -0.2, 1.0))
        command = np.array([1.0, -0.5, 0.7, 0.2, -1.0, 0.4, 0.9, -0.3])
        for sign in (1.0, -1.0, 0.0):
            dynamics.step(sign * command, dt, int(10.0 / dt))
            assert np.isfinite(dynamics.state).all()
            assert np.abs(dynamics.velocity[0, :3]).max() < 3.0


def test_sixty_thousand_steps_at_rest_and_in_motion_stay_finite() -> None:
    """A shipped model of another simulator died after 18,000 steps, though a thousand passed."""
    dynamics = Dynamics(parameters=VEHICLE)
    dynamics.reset(Pose.of((0.0, 0.0, -20.0)))
    for piece in range(60):
        command = np.full(8, 0.4 * math.sin(0.7 * piece)) * [1, -1, 1, -1, 1, 1, 1, 1]
        dynamics.step(command if piece % 3 else np.zeros(8), 0.05, 1000)
        assert np.isfinite(dynamics.state).all()


def test_every_sensor_makes_a_picture_at_every_second_of_a_run(sea: World) -> None:
    """No renderer may hand out a black or silent picture without a word, nor stop after a few.

    Ten images of each of six cameras and sonars, without a GPU: each has light and sound in it,
    no two of a sensor are the same, and each has the instant of its tick.
    """
    simulator = Simulator(
        world=sea,
        options=SimulatorOptions(
            water=load_water('shallow'),
            sensors='all',
            image_size=32,
            timing=REALTIME,
            device='cpu',
        ),
    )
    simulator.reset(request(sea, -10.0))
    seen: dict[str, set[bytes]] = {}
    for second in range(1, 11):
        for _ in range(round(1.0 / REALTIME.tick)):
            simulator.tick()
        observation = simulator.refresh()
        assert observation.stamp == pytest.approx(float(second))
        for direction in DIRECTIONS:
            image, ping = observation.cameras[direction], observation.sonars[direction]
            assert image.mean() > 2.0, (direction, second)
            assert np.isfinite(ping.polar).all()
            assert (ping.polar > 0.0).mean() > 0.9, (direction, second)
            assert ping.fan.max() > 0
            seen.setdefault(f'camera {direction}', set()).add(image.tobytes())
            seen.setdefault(f'sonar {direction}', set()).add(ping.polar.tobytes())
    assert {name: len(images) for name, images in seen.items()} == dict.fromkeys(seen, 10)


def test_a_world_with_nothing_to_see_is_refused_and_not_rendered_black(tmp_path: Path) -> None:
    """A missing model would otherwise show as water everywhere."""
    path = tmp_path / 'empty.sdf'
    path.write_text(
        f'{HEADER}<world name="empty"><oceangym:bounds><min>-90 -90 -99</min><max>90 90 5</max>'
        '</oceangym:bounds></world></sdf>'
    )
    with pytest.raises(OceanGymError, match=r'empty\.sdf: holds no visible geometry'):
        Simulator(
            world=load_world(path),
            options=SimulatorOptions(water=load_water('shallow'), sensors='all'),
        )
