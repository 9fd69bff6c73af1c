"""The comparison of engines: nothing to tell between equals, and planted differences are found."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_core.contract.actions import Action
from oceangym_core.geometry import Pose, wrap_angle
from oceangym_core.world.world import load_world, world_path
from oceangym_gazebo import parity
from oceangym_gazebo.rays.optics import DepthPicture
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Environment
from oceangym_sim.optics.rays import optical_rays
from oceangym_sim.rays.scene import RayScene

VEHICLE = load_vehicle(assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf')
VIEW = Pose.from_euler((429.0, -163.0, -62.0), 0.0, 0.0, 1.2)


def flown(parameters=VEHICLE):
    return parity.open_loop(Dynamics(parameters=parameters, environment=Environment()))


@pytest.fixture(scope='module')
def ours():
    return flown()


@pytest.fixture(scope='module')
def scene():
    return RayScene(load_world(world_path('ocean')), device='cpu')


def named(figures):
    return {figure.name.split(', ')[-1]: figure for figure in figures}


def test_the_program_moves_all_that_it_names(ours):
    surge = np.linalg.norm(ours[120, 1:3] - ours[0, 1:3])
    heave = ours[360, 3] - ours[240, 3]
    yaws = [Pose.of(ours[row, 1:4], ours[row, 4:8]).yaw for row in (360, 480)]
    turned = abs(wrap_angle(yaws[1] - yaws[0]))
    assert surge > 1.0
    assert heave < -0.5
    assert turned > math.radians(30)
    assert len(ours) == 30.0 / parity.TICK_S + 1


def test_equal_trajectories_do_not_differ(ours):
    figures = parity.trajectory_figures(ours, ours.copy(), 'still water')
    assert all(figure.value == pytest.approx(0.0, abs=1e-5) for figure in figures)
    assert all(figure.within for figure in figures)


def test_half_the_damping_is_found(ours):
    light = replace(
        VEHICLE,
        linear_damping=VEHICLE.linear_damping / 2,
        quadratic_damping=VEHICLE.quadratic_damping / 2,
    )
    assert not named(parity.trajectory_figures(ours, flown(light), 'still water'))[
        'largest distance'
    ].within


def test_added_mass_counted_twice_is_found(ours):
    heavy = replace(VEHICLE, added_mass=VEHICLE.added_mass * 2)
    assert not all(f.within for f in parity.trajectory_figures(ours, flown(heavy), 'still water'))


def test_ends_are_compared_one_by_one():
    ends = [Pose.from_euler((float(i), 0.0, -40.0), 0.0, 0.0, 0.1 * i) for i in range(10)]
    shifted = list(ends)
    shifted[3] = Pose.from_euler((3.0, 0.4, -40.0), 0.0, 0.0, 0.3 + math.radians(3))
    same = named(parity.maneuver_figures(ends, list(ends)))
    assert all(figure.value == 0.0 for figure in same.values())
    found = named(parity.maneuver_figures(ends, shifted))
    assert found['largest distance of ends'].value == pytest.approx(0.4)
    assert found['heading of ends'].value == pytest.approx(3.0)
    assert not any(figure.within for figure in found.values())


def test_all_moves_a_hold_and_an_excess_are_flown():
    assert len(parity.MANEUVERS) == 10
    assert {action for action, _ in parity.MANEUVERS} == set(Action) - {Action.GO, Action.STOP}
    assert max(m for a, m in parity.MANEUVERS if a is Action.FORWARD) > 30.0  # 1 m/s is too fast


# ---------------------------------------------------------------- geometry


def depths(scene, specs, pose, *, stretch=1.0, shift=0.0):
    """What cameras would send whose depths are stretched, or which stand a little aside."""
    pictures = {}
    for spec in specs:
        rays = optical_rays(spec)
        turned = rays @ (pose.rotation @ spec.mount.rotation).T
        origin = np.add((pose @ spec.mount).position, (0.0, 0.0, shift))
        ranges = scene.distances(np.tile(origin, (len(turned), 1)), turned, reach=100.0)
        depth = (ranges * rays[:, 2] * stretch).astype(np.float32)
        size = (spec.height, spec.width)
        pictures[spec.direction] = DepthPicture(
            colour=np.zeros((*size, 3), np.uint8), depth=depth.reshape(size)
        )
    return pictures


def test_the_same_rays_give_the_same_ranges_and_a_camera_aside_is_found(scene):
    specs = tuple(replace(spec, width=96, height=96) for spec in VEHICLE.cameras)
    right = parity.camera_figures(scene, specs, depths(scene, specs, VIEW), VIEW)
    assert all(figure.within for figure in right)
    assert max(figure.value for figure in right) < 0.01
    # Distance along the ray taken for depth: 1 / cos of the angle, up to 1.7 in the corners.
    planar = {
        name: replace(p, depth=p.depth / optical_rays(specs[0])[:, 2].reshape(96, 96).astype('f4'))
        for name, p in depths(scene, specs, VIEW).items()
    }
    assert not named(parity.camera_figures(scene, specs, planar, VIEW))[
        'median range error'
    ].within
    aside = depths(scene, specs, VIEW, shift=0.5)
    assert not all(f.within for f in parity.camera_figures(scene, specs, aside, VIEW))


def test_nothing_to_compare_is_no_agreement(scene):
    specs = VEHICLE.cameras[:1]
    size = (specs[0].height, specs[0].width)
    blind = {
        specs[0].direction: DepthPicture(
            colour=np.zeros((*size, 3), np.uint8), depth=np.full(size, np.inf, np.float32)
        )
    }
    assert not all(f.within for f in parity.camera_figures(scene, specs, blind, VIEW))
