from dataclasses import replace

import numpy as np
import pytest

from oceangym_core.contract.actions import sonar_orientation
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_sim.sonar.formation import footprint, PingFormer, REACH
from oceangym_sim.sonar.presets import presets
from oceangym_sim.sonar.sound import absorption_db, SeaWater, time_varied_gain, transmission_loss

SPEC = SonarSpec(
    direction='front',
    mount=Pose.of((0, 0, 0), sonar_orientation('front')),
    range_min=1.0,
    range_max=40.0,
    elevation_aperture=float(np.deg2rad(20.0)),
    preset='oceangym_decision',
)


@pytest.mark.parametrize(
    ('kilohertz', 'at_10', 'at_5'),
    [
        (100, 34.34, 29.00),
        (450, 115.78, 114.76),
        (900, 322.31, 362.49),
        (1200, 535.61, 619.06),
    ],
)
def test_absorption_is_ainslie_mccolm(kilohertz: float, at_10: float, at_5: float) -> None:
    # dB/km at the surface, S = 35, pH 8, as another implementation gives it: echopype,
    # utils.uwa.calc_absorption(formula_source='AM').
    for temperature, value in ((10.0, at_10), (5.0, at_5)):
        water = SeaWater(temperature=temperature, depth=0.0)
        assert absorption_db(kilohertz * 1e3, water) * 1e3 == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize(
    ('kilohertz', 'db_per_metre'),
    [(100, 0.034), (450, 0.115), (600, 0.169), (750, 0.238), (900, 0.321), (1200, 0.534)],
)
def test_absorption_at_working_depth(kilohertz: float, db_per_metre: float) -> None:
    # T = 10 C, S = 35, pH 8, 50 m.
    assert absorption_db(kilohertz * 1e3) == pytest.approx(db_per_metre, rel=0.02)


def francois_garrison(f: float, water: SeaWater) -> float:
    """Return the absorption [dB/km] at f [kHz] by Francois and Garrison 1982, up to 20 deg C."""
    t, s, z = water.temperature, water.salinity, water.depth
    c = 1412.0 + 3.21 * t + 1.19 * s + 0.0167 * z
    boric = 2.8 * np.sqrt(s / 35.0) * 10 ** (4.0 - 1245.0 / (273.0 + t))
    magnesium = 8.17 * 10 ** (8.0 - 1990.0 / (273.0 + t)) / (1.0 + 0.0018 * (s - 35.0))
    pure = 4.937e-4 - 2.59e-5 * t + 9.11e-7 * t**2 - 1.5e-8 * t**3
    return float(
        8.86 / c * 10 ** (0.78 * water.ph - 5.0) * boric * f**2 / (boric**2 + f**2)
        + 21.44 * s / c * (1.0 + 0.025 * t)
        * (1.0 - 1.37e-4 * z + 6.2e-9 * z**2) * magnesium * f**2 / (magnesium**2 + f**2)
        + pure * (1.0 - 3.83e-5 * z + 4.9e-10 * z**2) * f**2
    )  # fmt: skip


@pytest.mark.parametrize('kilohertz', [100.0, 450.0, 900.0, 1200.0])
@pytest.mark.parametrize(('temperature', 'depth'), [(10.0, 0.0), (10.0, 500.0), (15.0, 50.0)])
def test_francois_and_garrison_lie_within_ten_percent(
    kilohertz: float, temperature: float, depth: float
) -> None:
    # What Ainslie and McColm claim of their simpler formula against the one that they fitted.
    water = SeaWater(temperature=temperature, depth=depth)
    ours = absorption_db(kilohertz * 1e3, water) * 1e3
    assert ours == pytest.approx(francois_garrison(kilohertz, water), rel=0.10)
    if temperature == 10.0:
        assert ours > 1.01 * francois_garrison(kilohertz, water)


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
        image(former, 30.0, 1.0).max() for former in (PingFormer(SPEC), PingFormer(SPEC, warm))
    )
    assert 10 * np.log10(there / here) == pytest.approx(-2 * change * 30.0, rel=0.02)


RAYS = PingFormer(SPEC).rays


def grid(value: float) -> np.ndarray:
    return np.full((RAYS, SPEC.beams), value, np.float32)


def lean(former: PingFormer, cosine: np.ndarray) -> np.ndarray:
    """Return what a plane leaning away in elevation makes n . d change by to a cell's edge."""
    half = np.sin(former.cells.height / 2)[:, None]
    return (np.sqrt(1.0 - cosine**2) * half).astype(np.float32)


def image(former: PingFormer, distance: float, cosine: float, strength: float = 0.1) -> np.ndarray:
    """Return the mean image of something that looks the same along every ray."""
    d, c = grid(distance), grid(cosine)
    near, far = footprint(d, c, lean(former, c))
    return former.noise_free(near, far, former.echo_power(d, c, grid(strength)))


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
    mean = image(former, 20.0, cosine)
    # Away from the edge beams, whose pattern reaches past the aperture.
    column = mean[:, SPEC.beams // 2].sum()
    full_scale = 10 ** (former.preset.full_scale_db / 10)
    # The gain changes by less than 15 % over the footprint.
    assert column == pytest.approx(0.1 * cosine / full_scale, rel=0.15)


def test_square_on_wall_fills_the_bin_of_its_range() -> None:
    former = PingFormer(SPEC)
    mean = image(former, 20.0, 1.0)
    peak = int(mean[:, 100].argmax())
    assert abs(peak - (20.0 - SPEC.range_min) / SPEC.range_resolution) <= 1.0


def seabed(former: PingFormer, altitude: float, pitch: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean image of flat ground (mu 0.01) below the sonar, and each ray's distance."""
    spec = former.spec
    down = np.array([-np.cos(pitch), 0.0, np.sin(pitch)])
    cosine = former.directions() @ down
    distance = np.where(cosine > 1e-6, altitude / np.maximum(cosine, 1e-6), np.inf)
    distance = np.where(distance <= spec.range_max * REACH, distance, np.inf).astype(np.float32)
    cosine = np.maximum(cosine, 0.0).astype(np.float32)
    leans = sum(np.abs(edge @ down) for edge in former.edges()).astype(np.float32)
    power = former.echo_power(distance, cosine, np.full_like(distance, 0.01))
    near, far = footprint(distance, cosine, leans)
    return former.noise_free(near, far, power), distance


@pytest.mark.parametrize('rays', [24, 64])
@pytest.mark.parametrize('pitch_deg', [0.0, 12.0, 35.0, 80.0])
@pytest.mark.parametrize('altitude', [0.5, 2.0, 3.5, 5.0, 20.0])
def test_flat_seabed_leaves_no_bin_empty_at_any_grazing_angle(
    altitude: float, pitch_deg: float, rays: int
) -> None:
    spec = replace(SPEC, elevation_rays=rays)
    mean, distance = seabed(PingFormer(spec), altitude, np.deg2rad(pitch_deg))
    middle = spec.beams // 2
    # The first and the last range at which a ray of the beam meets the seabed.
    met = distance[:, middle][np.isfinite(distance[:, middle])]
    centres = spec.range_min + (np.arange(spec.range_bins) + 0.5) * spec.range_resolution
    inside = (centres > met.min()) & (centres < met.max())
    assert inside.sum() >= (1 if altitude > 1.0 else 0)
    assert (mean[inside, middle] > 0.0).all()


@pytest.mark.parametrize('altitude', [1.0, 2.0, 4.0])
def test_flat_seabed_fades_with_the_cube_of_range_without_steps(altitude: float) -> None:
    former = PingFormer(SPEC)
    mean, _ = seabed(former, altitude, 0.0)
    r = SPEC.range_min + (np.arange(SPEC.range_bins) + 0.5) * SPEC.range_resolution
    # Where the pattern is flat enough for 64 rays: up to its edge at half power.
    seen = (r > altitude / np.sin(SPEC.elevation_aperture / 2)) & (r < SPEC.range_max - 1.0)
    # mu cos / r^2 of each d(elevation) cos(elevation) = h dr / r^2, of which the gain undoes 1 / r^2.
    pattern = former.one_way(np.arcsin(np.minimum(altitude / r, 1.0))) ** 2
    share = altitude**2 * SPEC.range_resolution / r**3 / former.cells.total
    closed = 0.01 * share * pattern / 10 ** (former.preset.full_scale_db / 10)
    error = 10 * np.log10(mean[seen, SPEC.beams // 2] / closed[seen])
    assert np.abs(error).max() < 0.8


def test_speckle_is_rayleigh_for_one_look_and_unbiased() -> None:
    former = PingFormer(replace(SPEC, preset='blueview_p900'))
    mean = np.full((SPEC.range_bins, SPEC.beams), 0.01, np.float32)
    cells = former.ping(mean, generator(0, 'test'))[:50]
    assert cells.mean() == pytest.approx(0.01, rel=0.03)
    # Power of a Rayleigh amplitude is exponential: its deviation equals its mean.
    assert cells.std() == pytest.approx(cells.mean(), rel=0.03)


def test_noise_grows_with_the_gain_and_stays_below_full_scale() -> None:
    former = PingFormer(SPEC)
    floor_db = 10 * np.log10(former.noise_floor)
    assert (np.diff(floor_db) > 0).all()
    # Volume reverberation adds a little.
    assert floor_db[-1] == pytest.approx(former.preset.noise_db, abs=0.1)
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
    former = PingFormer(SPEC)
    rays = former.directions()
    azimuth = np.arctan2(-rays[0, :, 1], rays[0, :, 2])
    assert (np.diff(azimuth) < 0).all()
    assert azimuth[[0, -1]] == pytest.approx([np.deg2rad(60), -np.deg2rad(60)])
    assert np.linalg.norm(rays, axis=-1) == pytest.approx(1.0)
    half = SPEC.elevation_aperture / 2
    core = former.cells.angle[former.cells.core]
    assert len(core) == SPEC.elevation_rays
    assert core[[0, -1]] == pytest.approx(
        [-half + half / SPEC.elevation_rays, half - half / SPEC.elevation_rays]
    )
    # Cells abut, skirts included.
    edges = former.cells.angle[:, None] + former.cells.height[:, None] * [-0.5, 0.5]
    assert edges[1:, 0] == pytest.approx(edges[:-1, 1])


def test_edges_turn_a_ray_to_the_neighbouring_cell() -> None:
    former = PingFormer(SPEC)
    rays = former.directions()
    up, port = former.edges()
    core, middle = former.cells.core, SPEC.beams // 2
    step = 2 * up[core][:-1, middle] - np.diff(rays[core][:, middle], axis=0)
    assert np.abs(step).max() < 2e-4
    step = 2 * port[RAYS // 2, 1:] - (rays[RAYS // 2, :-1] - rays[RAYS // 2, 1:])
    assert np.abs(step).max() < 2e-4


def test_unknown_preset_is_refused() -> None:
    with pytest.raises(OceanGymError, match="Did you mean 'oceangym_decision'"):
        PingFormer(replace(SPEC, preset='oceangym_decison'))
    assert set(presets()) >= {'oceangym_decision', 'oceangym_perception'}
