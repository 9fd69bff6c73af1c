"""Contact with seabed and props: bounded, dissipative, and reported."""

import math
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.geometry import euler_from_quaternion, Pose
from oceangym_core.world.distance import BOX, CYLINDER, DistanceField, SEABED
from oceangym_sim.dynamics.contact import hull_spheres
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Current, Environment

MODEL = Path(__file__).parents[3] / 'models' / 'bluerov2_heavy' / 'model.sdf'
VEHICLE = load_vehicle(MODEL)
HEAVY_WATER = Environment(density=1000.0)  # sinks with 1 N
HALF_HEIGHT = VEHICLE.hull_size[2] / 2
# 40 N of surge without pitch moment, and 2.3 N down against the buoyancy in sea water.
AHEAD = np.linalg.pinv(VEHICLE.thruster_matrix) @ [40.0, 0, -2.31, 0, 0, 0]


def field(*props, height=None) -> DistanceField:
    """Return a bed at -10 m (or `height`, 2 m grid from -100) and props (kind, centre, size)."""
    bed = np.full((101, 101), -10.0) if height is None else height
    count = len(props)
    return DistanceField(
        kind=np.array([p[0] for p in props], dtype=np.int64),
        centre=np.array([p[1] for p in props], dtype=float).reshape(-1, 3),
        axes=np.tile(np.eye(3), (count, 1, 1)),
        size=np.array([p[2] for p in props], dtype=float).reshape(-1, 3),
        instance=np.arange(count, dtype=np.int64),
        instance_names=tuple(f'prop_{i}' for i in range(count)),
        cell_start=np.array([0, count], dtype=np.int64),
        cell_items=np.arange(count, dtype=np.int64),
        grid=np.array([-200.0, -200.0, 400.0, 1.0, 1.0]),
        height=bed,
        terrain=np.array([-100.0, -100.0, 2.0]),
    )


def test_spheres_cover_the_hull_and_stay_inside_it():
    spheres = hull_spheres(VEHICLE.hull_size)
    half = np.array(VEHICLE.hull_size) / 2
    assert np.all(np.abs(spheres[:, :3]) + spheres[:, 3:] <= half + 1e-9)
    # Every point of the hull's middle plane lies in a sphere or within 5 cm of one.
    x, y = np.meshgrid(np.linspace(-half[0], half[0], 41), np.linspace(-half[1], half[1], 41))
    points = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], axis=1)
    distance = np.linalg.norm(points[:, None] - spheres[None, :, :3], axis=2) - spheres[:, 3]
    assert distance.min(axis=1).max() < 0.055


def test_comes_to_rest_on_the_seabed_and_says_so():
    dynamics = Dynamics(parameters=VEHICLE, environment=HEAVY_WATER, distance_field=field())
    dynamics.reset(Pose((0.0, 0.0, -9.0)))
    touched = []
    for _ in range(1200):
        dynamics.step(np.zeros(8), 0.01, 5)
        touched += [c.instance for c in dynamics.contacts]
    assert dynamics.position[0, 2] == pytest.approx(-10 + HALF_HEIGHT, abs=0.01)
    assert np.abs(dynamics.velocity).max() < 1e-3
    assert set(touched) == {SEABED}


def test_stops_at_a_wall_without_bouncing():
    wall = (BOX, (5.0, 0.0, -5.0), (0.5, 10.0, 10.0))
    dynamics = Dynamics(parameters=VEHICLE, distance_field=field(wall))
    dynamics.reset(Pose((0.0, 0.0, -5.0)), velocity=[1.0, 0, 0, 0, 0, 0])
    hits, furthest = [], 0.0
    for _ in range(200):
        dynamics.step(AHEAD, 0.01, 5, newtons=True)
        hits += list(dynamics.contacts)
        furthest = max(furthest, dynamics.position[0, 0])
    assert furthest < 4.5 - VEHICLE.hull_size[0] / 2 + 0.02
    assert hits[0].instance == 0 and 0.3 < hits[0].speed < 1.0
    assert hits[0].vehicle == 0


def test_a_thin_pole_does_not_slip_through_the_hull():
    for offset in (0.0, 0.08, 0.16, 0.24):
        pole = (CYLINDER, (2.0, offset, -5.0), (0.03, 10.0, 0.0))
        dynamics = Dynamics(parameters=VEHICLE, distance_field=field(pole))
        dynamics.reset(Pose((0.0, 0.0, -5.0)), velocity=[1.0, 0, 0, 0, 0, 0])
        touched = False
        for _ in range(100):
            dynamics.step(AHEAD, 0.01, 5, newtons=True)
            touched |= bool(dynamics.contacts)
        assert touched


def test_friction_holds_on_a_slope_and_lets_go_on_a_steep_one():
    moved = []
    for degrees in (10.0, 40.0):
        x = np.arange(101) * 2.0 - 100
        bed = np.tile(-30 + x * math.tan(math.radians(degrees)), (101, 1))
        dynamics = Dynamics(
            parameters=VEHICLE, environment=HEAVY_WATER, distance_field=field(height=bed)
        )
        pitch = -math.radians(degrees)
        dynamics.reset(Pose.from_euler((0, 0, -30 + 0.14 / math.cos(pitch)), 0, pitch, 0))
        dynamics.step(np.zeros(8), 0.01, 1)
        for _ in range(100):
            dynamics.step(np.zeros(8), 0.01, 5)
        start = dynamics.position[0].copy()
        for _ in range(400):
            dynamics.step(np.zeros(8), 0.01, 5)
        moved.append(float(np.linalg.norm(dynamics.position[0] - start)))
    assert moved[0] < 0.02 < 0.2 < moved[1]


def test_contact_never_adds_energy_of_motion():
    random = np.random.default_rng(3)
    neutral = Environment(density=VEHICLE.mass / VEHICLE.volume)
    block = (BOX, (0.0, 0.0, -6.0), (1.0, 1.0, 1.0))
    for _ in range(30):
        dynamics = Dynamics(parameters=VEHICLE, environment=neutral, distance_field=field(block))
        start = random.normal(size=3) * [1.5, 1.5, 1.0] + [0, 0, -5.0]
        dynamics.reset(Pose.of(start, _unit(random)), velocity=random.normal(size=6) * 1.5)
        before = dynamics.energy()
        for _ in range(100):
            dynamics.step(np.zeros(8), 0.01)
            after = dynamics.energy()
            # Righting energy may change by what undoing an overlap moves the hull.
            assert after <= before + 1e-6
            before = after


def _unit(random):
    quaternion = random.normal(size=4)
    return quaternion / np.linalg.norm(quaternion)


def test_is_pushed_out_when_started_inside_a_block():
    block = (BOX, (0.0, 0.0, -6.0), (0.6, 0.6, 0.6))
    dynamics = Dynamics(parameters=VEHICLE, distance_field=field(block))
    dynamics.reset(Pose((0.1, 0.05, -5.7)))
    for _ in range(100):
        dynamics.step(np.zeros(8), 0.01, 5)
        assert np.abs(dynamics.velocity).max() < 2
    assert dynamics.position[0, 2] > -5.4 + HALF_HEIGHT - 0.02


def test_far_from_everything_there_is_no_contact():
    dynamics = Dynamics(parameters=VEHICLE, distance_field=field())
    dynamics.reset(Pose((0.0, 0.0, -2.0)))
    dynamics.step(np.zeros(8), 0.01, 5)
    assert dynamics.contacts == ()


def test_single_and_batch_touch_alike():
    poses = [Pose.from_euler((0.3 * i, 0, -9.6), 0.2, 0.1 * i, 0) for i in range(5)]
    batch = Dynamics(parameters=VEHICLE, environment=HEAVY_WATER, count=5, distance_field=field())
    batch.reset(poses)
    touching = set()
    for _ in range(60):
        batch.step(np.full(8, -0.2), 0.01, 5)
        touching |= {c.vehicle for c in batch.contacts}
    assert touching == set(range(5))
    for i, pose in enumerate(poses):
        single = Dynamics(parameters=VEHICLE, environment=HEAVY_WATER, distance_field=field())
        single.reset(pose)
        for _ in range(60):
            single.step(np.full(8, -0.2), 0.01, 5)
        np.testing.assert_array_equal(single.state[0], batch.state[i])


def churn(steps: int, seed: int) -> tuple[int, int, float]:
    """Drive at random near a rough bed with rocks, tumbling; return contacts, flips, top spin."""
    random = np.random.default_rng(seed)
    bed = -10 + random.normal(size=(101, 101)) * 0.4
    rocks = [
        (BOX, (*random.uniform(-8, 8, 2), -9.5), random.uniform(0.2, 0.8, 3)) for _ in range(12)
    ]
    water = Environment(density=960.0, current=Current(speed=0.2, heading=1.0, swing=0.5))
    dynamics = Dynamics(
        parameters=VEHICLE, environment=water, distance_field=field(*rocks, height=bed)
    )
    dynamics.reset(Pose((0.0, 0.0, -9.0)))
    contacts = flips = 0
    spin = 0.0
    for k in range(steps // 50):
        command = random.uniform(-1, 1, 8)
        command[4:] -= 0.1  # downwards, to stay in contact
        for _ in range(10):
            dynamics.step(command, 0.01, 5)
            contacts += bool(dynamics.contacts)
        state = dynamics.state[0]
        assert np.all(np.isfinite(state))
        assert np.linalg.norm(dynamics.quaternion[0]) == pytest.approx(1, abs=1e-9)
        assert np.abs(state[7:10]).max() < 4 and np.abs(state[10:13]).max() < 15
        assert -11.8 < state[2] < 0.5
        roll, pitch, _ = euler_from_quaternion(state[3:7])
        flips += abs(roll) > math.pi / 2 or abs(pitch) > 1.2
        spin = max(spin, float(np.abs(state[10:13]).max()))
        if k % 200 == 199 or np.abs(state[:2]).max() > 90:
            dynamics.reset(Pose.of((0, 0, -9.0), _unit(random)), time=dynamics.time)
    return contacts, flips, spin


def test_finite_after_random_steps_with_contact_tipping_and_spinning():
    contacts, flips, spin = churn(50_000, seed=0)
    assert contacts > 500 and flips > 20 and spin > 1


@pytest.mark.soak
def test_finite_after_a_million_random_steps():
    contacts, flips, spin = churn(1_000_000, seed=1)
    assert contacts > 10_000 and flips > 400 and spin > 1
