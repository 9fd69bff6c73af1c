"""Altimeter, scanning, side-scan and profiling sonar against geometry."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import select_variant
from oceangym_sim.sonar.fan import FanProjector

select_variant('cpu')

from oceangym_sim.rays.scene import RayScene  # noqa: E402
from oceangym_sim.sonar.instruments import (  # noqa: E402
    Altimeter,
    bin_ranges,
    Profiler,
    ScanningSonar,
    SideScan,
    waterfall,
)

BOTTOM = -60.0


@pytest.fixture(scope='module')
def flat(build_world: Callable[..., Path], box: Any) -> RayScene:
    bottom = box('bottom', f'0 0 {BOTTOM - 1} 0 0 0', '400 400 2', strength_db=-22.0)
    rock = box('rock', '0 12 -59 0 0 0', '2 2 2', strength_db=-10.0)
    return RayScene(load_world(build_world([bottom, rock])), device='cpu')


@pytest.fixture(scope='module')
def altimeter(flat: RayScene) -> Altimeter:
    return Altimeter(scene=flat, seed=0)


@pytest.mark.parametrize('altitude', [1.5, 5.0, 12.0, 30.0])
def test_altimeter_reads_the_height_over_flat_ground(
    altimeter: Altimeter, altitude: float
) -> None:
    pose = Pose.of((-80.0, -80.0, BOTTOM + altitude))
    readings = [altimeter.range(pose=pose, index=i) for i in range(9)]
    spec = altimeter.beam.spec
    assert np.median(readings) == pytest.approx(altitude, abs=2 * spec.range_resolution)
    assert max(readings) - min(readings) < 8 * spec.range_resolution + 0.05 * altitude


def test_altimeter_hears_the_nearest_ground_within_its_beam(altimeter: Altimeter) -> None:
    # Rolled by 10 deg the vehicle's vertical still lies inside the 30 deg beam.
    pose = Pose.from_euler((-80.0, -80.0, BOTTOM + 10.0), np.deg2rad(10.0), 0.0, 0.0)
    readings = [altimeter.range(pose=pose, index=i) for i in range(9)]
    assert np.median(readings) == pytest.approx(10.0, abs=0.2)


def test_altimeter_without_ground_reads_infinity(altimeter: Altimeter) -> None:
    pose = Pose.from_euler((-80.0, -80.0, -2.0), 0.0, 0.0, 0.0)
    assert altimeter.range(pose=pose, index=0) == np.inf


def test_side_scan_sides_are_independent_on_flat_ground(flat: RayScene) -> None:
    sonar = SideScan(scene=flat, seed=0)
    pose = Pose.of((-80.0, -80.0, BOTTOM + 8.0))
    lines = [sonar.ping(pose=pose, index=i) for i in range(12)]
    ranges = bin_ranges(sonar.spec)
    swath = (ranges > 12.0) & (ranges < 60.0)
    port = np.stack([line.port[swath] for line in lines])
    starboard = np.stack([line.starboard[swath] for line in lines])
    # Geometry is the same on both sides: their means agree, their speckle does not.
    assert port.mean() == pytest.approx(starboard.mean(), rel=0.1)
    assert abs(np.corrcoef(port.ravel(), starboard.ravel())[0, 1]) < 0.5
    centred = port - port.mean(axis=0), starboard - starboard.mean(axis=0)
    assert abs(np.corrcoef(centred[0].ravel(), centred[1].ravel())[0, 1]) < 0.05
    assert (lines[0].port != lines[1].port).any()
    # Nothing but noise comes from the water column.
    column = ranges < 7.5
    level = np.mean([line.port[column] for line in lines])
    assert level < 0.02 * port.mean()


def test_side_scan_shows_a_rock_and_its_shadow_on_its_own_side(flat: RayScene) -> None:
    sonar = SideScan(scene=flat, seed=0)
    # Facing +x port looks to +y, where the rock stands 11 m off, 2 m high.
    lines = [sonar.ping(pose=Pose.of((0.0, 0.0, BOTTOM + 6.0)), index=i) for i in range(20)]
    port = np.mean([line.port for line in lines], axis=0)
    starboard = np.mean([line.starboard for line in lines], axis=0)
    ranges = bin_ranges(sonar.spec)
    face = np.hypot(11.0, np.array([6.0, 4.0]))
    echo = (ranges > face[1] - 0.2) & (ranges < face[0] + 0.1)
    assert port[echo].max() > 4 * starboard[echo].max()
    # The far top edge, 4 m below and 13 m off, hides the ground up to 13 * 6 / 4 m off.
    shadow = (ranges > np.hypot(13.0, 4.0) + 0.5) & (ranges < np.hypot(19.5, 6.0) - 0.5)
    assert port[shadow].mean() < 0.2 * starboard[shadow].mean()
    behind = Pose.from_euler((0.0, 0.0, BOTTOM + 6.0), 0.0, 0.0, np.pi)
    turned = sonar.ping(pose=behind, index=0)
    assert turned.starboard[echo].max() > turned.port[echo].max()
    picture = waterfall(lines)
    assert picture.shape == (20, 2 * sonar.spec.range_bins)
    assert (picture[0, : sonar.spec.range_bins] == lines[-1].port[::-1]).all()


def test_profiler_measures_flat_ground(flat: RayScene) -> None:
    profiler = Profiler(scene=flat, seed=0)
    pose = Pose.from_euler((-80.0, -80.0, BOTTOM + 10.0), 0.1, 0.05, 0.7)
    profile = profiler.ping(pose=pose, index=0)
    inner = np.abs(profiler.spec.azimuths) < np.deg2rad(45.0)
    assert np.isfinite(profile.ranges[inner]).all()
    error = profile.points[inner][:, 2] - BOTTOM
    assert abs(np.median(error)) < 0.05
    assert np.abs(error).max() < 0.3
    # Port beams reach out to the vehicle's port side.
    local = pose.inverse().apply(profile.points)
    assert local[np.isfinite(profile.ranges)][0, 1] > 0 > local[np.isfinite(profile.ranges)][-1, 1]


def test_scanning_sonar_puts_a_target_at_its_bearing(
    build_world: Callable[..., Path], sphere: Any
) -> None:
    away = np.array([-8.0, 6.0])
    scene = RayScene(
        load_world(build_world([sphere('ball', f'{away[0]} {away[1]} -50 0 0 0', 0.5)])),
        device='cpu',
    )
    sonar = ScanningSonar(scene=scene, seed=0, steps=100)
    pose = Pose.of((0.0, 0.0, -50.0))
    lines = [sonar.step(pose) for _ in range(100)]
    assert lines[0].angle == pytest.approx(np.pi - np.pi / 100)
    row, column = np.unravel_index(int(sonar.image.argmax()), sonar.image.shape)
    assert bin_ranges(sonar.spec)[row] == pytest.approx(10.0 - 0.5, abs=0.15)
    assert lines[column].angle == pytest.approx(np.arctan2(away[1], away[0]), abs=2 * np.pi / 100)
    # Port and aft: the lower left quarter of the fan.
    fan = FanProjector(sonar.spec, rings=False).render(sonar.image)
    bright = np.argwhere(fan == fan.max()).mean(axis=0)
    assert bright[0] > fan.shape[0] / 2
    assert bright[1] < fan.shape[1] / 2
    # The next turn starts over.
    assert sonar.step(pose).angle == lines[0].angle


def test_scans_that_cannot_be_are_refused(flat: RayScene) -> None:
    with pytest.raises(OceanGymError, match='give 2 to 400 steps'):
        ScanningSonar(scene=flat, seed=0, steps=401)
    with pytest.raises(OceanGymError, match='at most 360 deg'):
        ScanningSonar(scene=flat, seed=0, sector=7.0)
    with pytest.raises(OceanGymError, match='odd number of beams'):
        Altimeter(scene=flat, seed=0, device='blueview_p900')


def test_instruments_repeat_with_their_seed(flat: RayScene) -> None:
    pose = Pose.of((0.0, 0.0, BOTTOM + 6.0))
    first, again, other = (
        SideScan(scene=flat, seed=seed).ping(pose=pose, index=3) for seed in (1, 1, 2)
    )
    assert (first.port == again.port).all()
    assert (first.port != other.port).any()
