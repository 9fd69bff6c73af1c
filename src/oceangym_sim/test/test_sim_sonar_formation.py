from dataclasses import replace

import numpy as np
import pytest

from oceangym_core.contract import sonar_orientation
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.observation import SonarSpec
from oceangym_core.rng import generator
from oceangym_sim.sonar import (
    absorption_db,
    elevation_weights,
    elevations,
    PingFormer,
    PRESETS,
    ray_directions,
    REACH,
    SeaWater,
    time_varied_gain,
    transmission_loss,
)

SPEC = SonarSpec(
    direction='front',
    mount=Pose.of((0, 0, 0), sonar_orientation('front')),
    range_min=1.0,
    range_max=40.0,
    elevation_aperture=float(np.deg2rad(20.0)),
    preset='oceangym_decision',
)


@pytest.mark.parametrize(
    ('kilohertz', 'db_per_metre'),
    [
        (100, 0.034),
        (450, 0.115),
        (600, 0.169),
        (750, 0.238),
        (900, 0.321),
        (1200, 0.534),
        (2100, 1.54),
    ],
)
def test_absorption_is_ainslie_mccolm(kilohertz: float, db_per_metre: float) -> None:
    # T = 10 C, S = 35, pH 8, 50 m.
    assert absorption_db(kilohertz * 1e3) == pytest.approx(db_per_metre, rel=0.02)


def test_absorption_falls_with_depth() -> None:
    # At 750 kHz and 10 C magnesium sulphate absorbs 48.0 dB/km times exp(-z / 6 km) and water
    # itself 190.3 dB/km times exp(-z / 17 km): 50 m to 500 m take 3.44 and 4.96 dB/km off.
    drop = absorption_db(750e3) - absorption_db(750e3, SeaWater(depth=500.0))
    assert drop == pytest.approx(0.00840, rel=0.01)


def test_fresh_water_absorbs_less() -> None:
    assert absorption_db(900e3, SeaWater(salinity=1e-9)) == pytest.approx(0.273, rel=0.02)


def test_loss_is_spreading_and_absorption_and_gain_undoes_it() -> None:
    r = np.array([5.0, 10.0, 20.0, 40.0], np.float32)
    loss_db = 10 * np.log10(transmission_loss(r, 0.321))
    # A cell that grows with r^2 loses 20 log r, and the absorption both ways.
    assert loss_db == pytest.approx(-20 * np.log10(r) - 2 * 0.321 * r, abs=1e-3)
    assert transmission_loss(r, 0.321) * time_varied_gain(r, 0.321) == pytest.approx(1.0)


def test_depth_and_warmth_reach_the_echo_not_the_gain() -> None:
    deep, shallow = SeaWater(depth=500.0), SeaWater()
    assert absorption_db(900e3, deep) < absorption_db(900e3, shallow)
    warm = SeaWater(temperature=25.0)
    change = absorption_db(900e3, warm) - absorption_db(900e3)
    here, there = (
        former.noise_free(
            grid(30.0), grid(1.0), former.echo_power(grid(30.0), grid(1.0), grid(0.1))
        ).max()
        for former in (PingFormer(SPEC), PingFormer(SPEC, warm))
    )
    assert 10 * np.log10(there / here) == pytest.approx(-2 * change * 30.0, rel=0.02)


def grid(value: float) -> np.ndarray:
    return np.full((SPEC.elevation_rays, SPEC.beams), value, np.float32)


def test_echo_follows_lambert_and_strength() -> None:
    former = PingFormer(SPEC)
    square_on = former.echo_power(grid(10.0), grid(1.0), grid(0.1)).sum()
    assert former.echo_power(grid(10.0), grid(0.5), grid(0.1)).sum() == pytest.approx(
        square_on / 2
    )
    assert former.echo_power(grid(10.0), grid(1.0), grid(0.02)).sum() == pytest.approx(
        square_on / 5
    )
    assert former.echo_power(grid(np.inf), grid(1.0), grid(0.1)).sum() == 0.0
    assert former.echo_power(grid(np.nan), grid(1.0), grid(0.1)).sum() == 0.0


@pytest.mark.parametrize('cosine', [1.0, 0.6, 0.2])
def test_spreading_over_bins_keeps_the_energy(cosine: float) -> None:
    former = PingFormer(SPEC)
    power = former.echo_power(grid(20.0), grid(cosine), grid(0.1))
    mean = former.noise_free(grid(20.0), grid(cosine), power)
    # Away from the edge beams, whose pattern reaches past the aperture.
    column = mean[:, SPEC.beams // 2].sum()
    full_scale = 10 ** (former.preset.full_scale_db / 10)
    # The gain changes by less than 15 % over the footprint.
    assert column == pytest.approx(0.1 * cosine / full_scale, rel=0.15)


def test_square_on_wall_fills_the_bin_of_its_range() -> None:
    former = PingFormer(SPEC)
    power = former.echo_power(grid(20.0), grid(1.0), grid(0.1))
    mean = former.noise_free(grid(20.0), grid(1.0), power)
    peak = int(mean[:, 100].argmax())
    assert abs(peak - (20.0 - SPEC.range_min) / SPEC.range_resolution) <= 1.0


@pytest.mark.parametrize('rays', [24, 64])
@pytest.mark.parametrize('altitude', [2.0, 3.5, 5.0])
def test_flat_seabed_fills_the_bins(altitude: float, rays: int) -> None:
    spec = replace(SPEC, elevation_rays=rays)
    former = PingFormer(spec)
    down = -ray_directions(spec)[..., 0]
    distance = np.where(down > 1e-6, altitude / np.maximum(down, 1e-6), np.inf)
    distance = np.where(distance <= spec.range_max * REACH, distance, np.inf).astype(np.float32)
    cosine = np.maximum(down, 0.0).astype(np.float32)
    power = former.echo_power(distance, cosine, np.full_like(distance, 0.01))
    mean = former.noise_free(distance, cosine, power)
    nearest = altitude / np.sin(spec.elevation_aperture / 2)
    centres = spec.range_min + (np.arange(spec.range_bins) + 0.5) * spec.range_resolution
    covered = mean[(centres > nearest) & (centres < spec.range_max), spec.beams // 2] > 0.0
    assert covered.mean() >= 0.9


def test_speckle_is_rayleigh_for_one_look_and_unbiased() -> None:
    former = PingFormer(replace(SPEC, preset='teledyne_m900'))
    mean = np.full((SPEC.range_bins, SPEC.beams), 0.01, np.float32)
    cells = former.ping(mean, generator(0, 'test'))[:50]
    assert cells.mean() == pytest.approx(0.01, rel=0.03)
    # Power of a Rayleigh amplitude is exponential: its deviation equals its mean.
    assert cells.std() == pytest.approx(cells.mean(), rel=0.03)


def test_noise_grows_with_the_gain_and_stays_below_full_scale() -> None:
    former = PingFormer(SPEC)
    floor_db = 10 * np.log10(former.noise_floor)
    assert (np.diff(floor_db) > 0).all()
    assert floor_db[-1] == pytest.approx(former.preset.noise_db, abs=1e-3)
    silent = former.ping(np.zeros((SPEC.range_bins, SPEC.beams), np.float32), generator(0, 'test'))
    assert 0.0 < silent.mean() < 0.01
    assert silent.max() <= 1.0


def test_port_and_starboard_noise_are_independent() -> None:
    former = PingFormer(SPEC)
    mean = np.full((SPEC.range_bins, SPEC.beams), 0.01, np.float32)
    polar = former.ping(mean, generator(0, 'sonar/front', 3))
    half = SPEC.beams // 2
    port, starboard = polar[:, :half], polar[:, half:][:, ::-1]
    assert abs(np.corrcoef(port.ravel(), starboard.ravel())[0, 1]) < 0.05
    again = former.ping(mean, generator(0, 'sonar/front', 3))
    assert (polar == again).all()
    assert (polar != former.ping(mean, generator(0, 'sonar/front', 4))).any()


def test_rays_span_the_aperture_with_port_first() -> None:
    rays = ray_directions(SPEC)
    azimuth = np.arctan2(-rays[0, :, 1], rays[0, :, 2])
    assert (np.diff(azimuth) < 0).all()
    assert azimuth[[0, -1]] == pytest.approx([np.deg2rad(60), -np.deg2rad(60)])
    assert np.linalg.norm(rays, axis=-1) == pytest.approx(1.0)
    half = SPEC.elevation_aperture / 2
    assert elevations(SPEC)[[0, -1]] == pytest.approx(
        [-half + half / SPEC.elevation_rays, half - half / SPEC.elevation_rays]
    )


def test_elevation_pattern_tapers_to_its_edge() -> None:
    weights = elevation_weights(replace(SPEC, elevation_rays=1000), -6.0)
    assert weights.sum() == pytest.approx(1.0)
    assert 10 * np.log10(weights[0] / weights.max()) == pytest.approx(-6.0, abs=0.05)


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(OceanGymError, match="Did you mean 'oceangym_decision'"):
        PingFormer(replace(SPEC, preset='oceangym_decison'))
    assert set(PRESETS) >= {'oceangym_decision', 'oceangym_perception'}
