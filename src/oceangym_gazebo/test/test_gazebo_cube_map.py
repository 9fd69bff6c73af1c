"""Ranges that a renderer read from the faces of a cube, brought back onto the rays."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np
import pytest

from oceangym_core.assets import assets_root
from oceangym_gazebo.rays.cube_map import onto_rays, texel_centres, texels
from oceangym_gazebo.rays.ray_cloud import lidar_rows, lidar_texels
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.sonar.beam import elevation_cells

SPEC = load_vehicle(assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf').sonars[0]
ALTITUDE = 6.0


def rays(rows, columns):
    up, across = np.meshgrid(rows, columns, indexing='ij')
    return np.stack(
        [np.cos(up) * np.cos(across), np.cos(up) * np.sin(across), np.sin(up)], axis=-1
    )


def down_to_a_bed(directions):
    """Ranges to a flat bed below a level lidar: h / sin of the depression."""
    with np.errstate(divide='ignore'):
        reach = -ALTITUDE / directions[..., 2]
    return np.where((reach > 0) & (reach < 200), reach, np.inf)


@pytest.mark.parametrize(
    ('rows', 'columns', 'up', 'across', 'expected'),
    [
        (64, 512, 22.5, 120.0, 512),  # 384 columns in 90 degrees
        (352, 512, 121.0, 120.0, 512),
        (64, 1024, 22.5, 120.0, 1024),
        (4, 4, 20.0, 360.0, 128),  # the fewest
        (600, 5000, 80.0, 350.0, 1024),  # the most
        (128, 128, 45.0, 45.0, 128),  # narrow views are not scaled up
    ],
)
def test_a_face_has_the_next_power_of_two_of_the_samples_in_a_quarter_turn(
    rows, columns, up, across, expected
):
    angles = {'up': math.radians(up), 'across': math.radians(across)}
    assert texels(rows=rows, columns=columns, **angles) == expected


def test_centres_are_within_half_a_texel_and_stay_where_they_are():
    random = np.random.default_rng(3)
    directions = random.normal(size=(500, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    centres = texel_centres(directions, 64)
    assert np.linalg.norm(centres, axis=1) == pytest.approx(1.0)
    # A texel is widest amid a face: 2 / 64 at distance 1, its corner half a diagonal from the centre.
    apart = np.linalg.norm(centres - directions, axis=1)
    assert 0.005 < apart.max() < math.sqrt(2) / 64
    assert texel_centres(centres, 64) == pytest.approx(centres)


@pytest.mark.parametrize('count', [512, 1024])
def test_a_flat_bed_is_flat_again(count):
    rows = lidar_rows(SPEC, skirts=True)
    nominal = rays(rows, SPEC.azimuths[::-4])
    exact = down_to_a_bed(nominal)
    read = down_to_a_bed(texel_centres(nominal, count))
    found = np.isfinite(exact) & np.isfinite(read) & (exact < 60)
    reach = np.where(found, read, 0.0)
    points, placed = onto_rays(nominal * reach[..., None], reach, found, count)
    # Rays at the edge of what was hit have no neighbour to show the slope.
    inner = found & np.roll(found, 1, 0) & np.roll(found, -1, 0)
    before = np.abs(reach - exact)[inner] / exact[inner]
    after = np.abs(placed - exact)[inner] / exact[inner]
    assert before.max() > 0.005
    assert after.max() < 1e-6
    assert points[inner][:, 2] == pytest.approx(-ALTITUDE, abs=1e-5)


def test_what_stands_before_the_bed_keeps_its_range():
    rows = np.radians(np.arange(-20.0, 20.0, 0.35))
    nominal = rays(rows, np.radians(np.arange(-30.0, 30.0, 0.25)))
    wall = (np.abs(nominal[..., 1]) < 0.1) & (np.abs(nominal[..., 2]) < 0.15)
    reach = np.where(wall, 5.0 / nominal[..., 0], 40.0)
    found = np.ones(reach.shape, bool)
    _, placed = onto_rays(nominal * reach[..., None], reach, found, 512)
    assert np.abs(placed - reach).max() < 0.2 * 40
    assert np.median(np.abs(placed - reach)[wall]) < 0.02
    assert placed[wall].max() < 10.0


def test_nothing_found_stays_nothing():
    shape = (6, 5)
    points, placed = onto_rays(np.zeros((*shape, 3)), np.zeros(shape), np.zeros(shape, bool), 512)
    assert np.isfinite(points).all()
    assert not placed.any()


# ---------------------------------------------------------------- rows


def test_the_rows_hold_the_sonars_own_rays_and_go_on_to_the_end_of_the_side_lobe():
    cells = elevation_cells(SPEC)
    rows = lidar_rows(SPEC, skirts=True)
    core = cells.angle[cells.core]
    nearest = np.abs(rows[:, None] - core[None, :]).min(axis=0)
    assert nearest == pytest.approx(np.zeros(len(core)), abs=1e-9)
    assert rows[0] <= cells.angle[0]
    assert rows[-1] >= cells.angle[-1]
    assert np.diff(rows) == pytest.approx(SPEC.elevation_aperture / SPEC.elevation_rays)
    assert rows == pytest.approx(-rows[::-1])


def test_without_skirts_the_rows_are_those_of_the_shipped_lidar():
    rows = lidar_rows(SPEC, skirts=False)
    assert rows == pytest.approx(elevation_cells(SPEC, skirts=False).angle)
    assert len(rows) == SPEC.elevation_rays
    assert lidar_texels(SPEC, skirts=False) == 512
    assert lidar_texels(replace(SPEC, beams=1024), skirts=False) == 1024
