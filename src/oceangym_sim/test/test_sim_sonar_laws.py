"""The laws that sonar echoes obey, each against its closed form."""

from collections.abc import Callable
from dataclasses import replace
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from oceangym_core.contract.actions import sonar_orientation
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import select_variant
from oceangym_sim.sonar.beam import beam_kernel, BeamPattern, elevation_cells
from oceangym_sim.sonar.formation import footprint, PingFormer
from oceangym_sim.sonar.sound import absorption_db, SeaWater

select_variant('cpu')

from oceangym_sim.rays.scene import RayScene  # noqa: E402
from oceangym_sim.sonar.rig import SonarRig  # noqa: E402

SPEC = SonarSpec(
    direction='front',
    mount=Pose.of((0, 0, 0), sonar_orientation('front')),
    range_min=1.0,
    range_max=40.0,
    elevation_aperture=float(np.deg2rad(20.0)),
    preset='blueview_p900',
)
Echo = tuple[np.ndarray, np.ndarray, np.ndarray]


def meet_sphere(former: PingFormer, range_: float, radius: float, mu: float) -> Echo:
    """Return near, far and power of the rays at a Lambert sphere dead ahead."""
    rays = former.directions()
    along = rays[..., 2] * range_
    discriminant = along**2 - (range_**2 - radius**2)
    hit = discriminant > 0.0
    distance = np.where(hit, along - np.sqrt(np.maximum(discriminant, 0.0)), np.inf)
    normal = (rays * np.where(hit, distance, 0.0)[..., None] - [0.0, 0.0, range_]) / radius
    cosine = np.where(hit, -(rays * normal).sum(-1), 0.0)
    lean = sum(np.abs((edge * normal).sum(-1)) for edge in former.edges())
    power = former.echo_power(
        distance.astype(np.float32), cosine.astype(np.float32), np.full(hit.shape, mu, np.float32)
    )
    near, far = footprint(
        distance.astype(np.float32), cosine.astype(np.float32), lean.astype(np.float32)
    )
    return near, far, power


def test_a_cell_that_fills_the_beam_falls_with_20_log_r() -> None:
    former = PingFormer(SPEC)
    shape = (former.rays, SPEC.beams)
    for r in (2.0, 5.0, 10.0, 20.0, 39.0):
        power = former.echo_power(
            np.full(shape, r, np.float32), np.ones(shape, np.float32), np.ones(shape, np.float32)
        )
        # 20 log r + a r each way, less 20 log r for the growth of what the beam covers.
        expected = -20 * np.log10(r) - 2 * former.absorption * r
        assert 10 * np.log10(power.sum(axis=0)) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize('range_', [6.0, 12.0, 24.0, 36.0])
def test_a_thing_smaller_than_the_beam_falls_with_40_log_r(range_: float) -> None:
    spec = replace(SPEC, azimuth_aperture=float(np.deg2rad(30.0)), elevation_rays=256)
    former = PingFormer(spec)
    radius, mu = 0.5, 0.1
    _, _, power = meet_sphere(former, range_, radius, mu)
    # Lambert's sphere returns 2/3 of what its disc would: mu 2/3 pi a^2 / r^4, per beam and
    # relative to the pattern's height.
    spacing = spec.azimuth_aperture / (spec.beams - 1)
    sphere = mu * 2 / 3 * np.pi * radius**2 / (spacing * former.cells.total)
    # Weighted by its echo the near side lies 3/4 of the radius before the centre.
    surface = range_ - 0.75 * radius
    expected = 10 * np.log10(sphere) - 20 * np.log10(range_ * surface)
    expected -= 2 * former.absorption * surface
    assert 10 * np.log10(power.sum()) == pytest.approx(expected, abs=0.25)


@pytest.mark.parametrize('angle_deg', [0.0, 30.0, 60.0, 80.0])
def test_lamberts_cosine(angle_deg: float) -> None:
    former = PingFormer(SPEC)
    shape = (former.rays, SPEC.beams)
    ones = np.ones(shape, np.float32)
    cosine = np.float32(np.cos(np.deg2rad(angle_deg)))
    slanted = former.echo_power(10 * ones, cosine * ones, ones).sum()
    # mu cos^2 per area, of which the ray covers 1 / cos.
    assert slanted / former.echo_power(10 * ones, ones, ones).sum() == pytest.approx(cosine)


def test_six_decibel_more_strength_double_the_amplitude() -> None:
    former = PingFormer(SPEC)
    weak, strong = (
        former.noise_free(*meet_sphere(former, 15.0, 0.5, mu)) for mu in (1e-3, 1e-3 * 10**0.602)
    )
    at = np.unravel_index(int(weak.argmax()), weak.shape)
    assert np.sqrt(strong[at] / weak[at]) == pytest.approx(2.0, rel=1e-3)


@pytest.mark.parametrize('temperature', [10.0, 25.0])
def test_traced_boards_lose_what_spreading_and_absorption_take(
    build_world: Callable[..., Path], box: Any, temperature: float
) -> None:
    near, far, mu_db = 9.0, 27.0, -12.0
    things = [
        box('near', f'{near + 0.5} 0 -50 0 0 0', '1 90 90', strength_db=mu_db),
        box('far', f'{-far - 0.5} 0 -50 0 0 0', '1 90 90', strength_db=mu_db - 6.0),
    ]
    scene = RayScene(load_world(build_world(things)), device='cpu')
    specs = tuple(
        replace(SPEC, direction=d, mount=Pose.of((0, 0, 0), sonar_orientation(d)))
        for d in ('front', 'back')
    )
    water = SeaWater(temperature=temperature)
    rig = SonarRig(scene=scene, specs=specs, seed=0, water=water)
    frames = rig.observe(pose=Pose.of((0, 0, -50)), index=0, bounce=False, noise=False)
    middle = slice(SPEC.beams // 2 - 20, SPEC.beams // 2 + 20)
    level = {d: 10 * np.log10(frames[d].mean[:, middle].sum(axis=0).mean()) for d in frames}
    full_scale = rig.formers[0].preset.full_scale_db
    # The gain takes 20 log r + a r each way off, with the absorption of nominal water.
    extra = absorption_db(SPEC.frequency, water) - absorption_db(SPEC.frequency)
    assert level['front'] == pytest.approx(mu_db - full_scale - 2 * extra * near, abs=0.25)
    assert level['back'] == pytest.approx(mu_db - 6.0 - full_scale - 2 * extra * far, abs=0.25)
    if temperature > 10.0:
        assert abs(2 * extra * far) > 1.0


def speckled(preset: str, mean: float) -> np.ndarray:
    former = PingFormer(replace(SPEC, preset=preset))
    level = np.full((SPEC.range_bins, SPEC.beams), mean, np.float32)
    # The nearest rows, where the receiver's noise is far below; beams farther apart than wide.
    apart = math.ceil(3 * former.preset.beam_width / np.abs(np.diff(SPEC.azimuths)).min())
    return np.concatenate(
        [
            former.ping(level, generator(5, 'speckle', index))[:40, ::apart].ravel()
            for index in range(6)
        ]
    )


def test_grains_are_as_wide_as_a_beam() -> None:
    former = PingFormer(SPEC)
    level = np.full((SPEC.range_bins, SPEC.beams), 0.01, np.float32)
    power = np.concatenate([former.ping(level, generator(7, 'grain', i))[:40] for i in range(8)])
    spacing = SPEC.azimuth_aperture / (SPEC.beams - 1)
    pattern = BeamPattern(width=former.preset.beam_width, side_lobe_db=former.preset.side_lobe_db)
    lags = np.arange(-40, 41) * spacing
    amplitude = np.sqrt(np.where(np.abs(lags) < pattern.null(1), pattern.power(lags), 0.0))
    for lag in (1, 2, 4, 8, 20):
        # Powers of complex Gaussians correlate as the square of the field, which two beams share.
        shared = (amplitude[lag:] * amplitude[:-lag]).sum() / (amplitude**2).sum()
        found = np.corrcoef(power[:, lag:].ravel(), power[:, :-lag].ravel())[0, 1]
        assert found == pytest.approx(shared**2, abs=0.03)
    # Half as far apart as a beam is wide they hear much the same, two widths apart nothing.
    rows = power[1:].ravel(), power[:-1].ravel()
    assert abs(np.corrcoef(*rows)[0, 1]) < 0.02


@pytest.mark.parametrize('preset', ['oceangym_decision', 'oceangym_perception'])
def test_oceangyms_noise_is_its_own_in_every_cell(preset: str) -> None:
    former = PingFormer(replace(SPEC, preset=preset))
    former.preset = replace(former.preset, range_sigma=0.0)
    level = np.full((SPEC.range_bins, SPEC.beams), 0.01, np.float32)
    power = former.ping(level, generator(7, 'grain'))
    assert abs(np.corrcoef(power[:, 1:].ravel(), power[:, :-1].ravel())[0, 1]) < 0.02


def test_amplitude_of_one_look_is_rayleigh() -> None:
    amplitude = np.sqrt(speckled('blueview_p900', 0.01))
    assert stats.kstest(amplitude, stats.rayleigh(scale=np.sqrt(0.01 / 2)).cdf).pvalue > 0.01


def test_speckle_is_what_phasors_of_many_scatterers_add_up_to() -> None:
    rng = generator(6, 'phasors')
    phase = rng.uniform(0.0, 2 * np.pi, (20000, 60))
    power = 0.01 * np.abs(np.exp(1j * phase).sum(axis=1)) ** 2 / 60
    assert stats.ks_2samp(power, speckled('blueview_p900', 0.01)).pvalue > 0.01


def test_looks_average_the_speckle_down() -> None:
    former = PingFormer(replace(SPEC, preset='oceangym_perception'))
    level = np.full((SPEC.range_bins, SPEC.beams), 0.01, np.float32)
    quiet = replace(former.preset, range_sigma=0.0)
    former.preset = quiet
    power = former.ping(level, generator(5, 'speckle'))[:40].ravel()
    looks = quiet.looks
    assert stats.kstest(power, stats.gamma(looks, scale=0.01 / looks).cdf).pvalue > 0.01


@pytest.mark.parametrize('side_lobe_db', [13.26, 20.0, 25.0, 35.0])
@pytest.mark.parametrize('width_deg', [0.6, 1.0, 2.0])
def test_beam_pattern_has_its_width_and_its_side_lobes(
    width_deg: float, side_lobe_db: float
) -> None:
    pattern = BeamPattern(width=float(np.deg2rad(width_deg)), side_lobe_db=side_lobe_db)
    angle = np.deg2rad(np.linspace(0.0, 10 * width_deg, 20001))
    level = 10 * np.log10(np.maximum(pattern.power(angle), 1e-12))
    half_power = np.interp(3.0103, -level[: np.argmax(level < -6)], angle[: np.argmax(level < -6)])
    assert np.rad2deg(2 * half_power) == pytest.approx(width_deg, rel=1e-3)
    first_null = int(np.argmax(np.diff(level) > 0))
    assert angle[first_null] == pytest.approx(pattern.null(1), rel=1e-3)
    assert level[first_null:].max() == pytest.approx(-side_lobe_db, abs=0.03)


def test_unshaded_array_is_sinc_squared() -> None:
    pattern = BeamPattern(width=float(np.deg2rad(1.0)))
    u = np.linspace(0.0, 4.0, 400)
    # 0.443 is where sinc^2 is a half.
    angle = np.arcsin(u / 0.44295 * np.sin(np.deg2rad(0.5)))
    assert pattern.power(angle) == pytest.approx(np.sinc(u) ** 2, abs=1e-4)


def test_a_point_paints_the_beam_pattern_into_the_image() -> None:
    spec = replace(
        SPEC, azimuth_aperture=float(np.deg2rad(40.0)), beams=1025, elevation_rays=8, range_bins=64
    )
    former = PingFormer(spec)
    shape = (former.rays, spec.beams)
    power = np.zeros(shape, np.float32)
    power[former.rays // 2, 512] = 1e-6
    place = np.full(shape, 10.0, np.float32)
    row = former.noise_free(place, place, power).sum(axis=0)
    level = 10 * np.log10(np.maximum(row / row.max(), 1e-9))
    azimuth = np.rad2deg(spec.azimuths)
    above = azimuth[level >= -3.01]
    assert np.ptp(above) == pytest.approx(1.0, abs=2 * 40 / 1024)
    outside = level[np.abs(azimuth) > np.rad2deg(BeamPattern(
        width=former.preset.beam_width, side_lobe_db=former.preset.side_lobe_db).null(1))]  # fmt: skip
    assert outside.max() == pytest.approx(-former.preset.side_lobe_db, abs=0.2)
    assert row.sum() == pytest.approx(
        1e-6 / former.loss(np.float32(10.0)) * 100.0, rel=0.1
    )  # smearing keeps the energy


def test_kernel_of_the_main_lobe_keeps_its_values() -> None:
    pattern = BeamPattern(width=float(np.deg2rad(1.0)), side_lobe_db=25.0)
    whole = beam_kernel(SPEC, pattern)
    main = beam_kernel(SPEC, pattern, main_lobe=True)
    cut = (len(whole) - len(main)) // 2
    assert (whole[cut:-cut] == main).all()
    assert whole.sum() == pytest.approx(1.0)


def test_elevation_pattern_is_half_one_way_at_the_edge_of_the_aperture() -> None:
    cells = elevation_cells(replace(SPEC, elevation_rays=400))
    assert cells.shares.sum() == pytest.approx(1.0)
    edge = np.interp(np.deg2rad(10.0), cells.angle, cells.one_way)
    assert 10 * np.log10(edge) == pytest.approx(-3.01, abs=0.03)
    outside = cells.one_way[cells.angle > BeamPattern(width=SPEC.elevation_aperture).null(1)]
    assert 10 * np.log10(outside.max()) == pytest.approx(-13.26, abs=0.1)


def peaks(former: PingFormer, *ranges: float) -> int:
    """Return the number of separate maxima of points dead ahead."""
    shape = (former.rays, SPEC.beams)
    total = np.zeros(SPEC.range_bins)
    for r in ranges:
        power = np.zeros(shape, np.float32)
        power[former.rays // 2, 256] = 1e-6
        place = np.full(shape, r, np.float32)
        total += former.noise_free(place, place, power)[:, 256]
    padded = np.concatenate([[0.0], total, [0.0]])
    steps = np.sign(np.where(np.abs(np.diff(padded)) > 0.2 * total.max(), np.diff(padded), 0.0))
    steps = steps[steps != 0]
    return int(((steps[:-1] > 0) & (steps[1:] < 0)).sum())


def test_range_resolution_is_a_bin() -> None:
    former = PingFormer(SPEC)
    bin_ = SPEC.range_resolution
    # Where a point lies within its bin decides what one ping shows: an approach passes all places.
    starts = 15.0 + np.arange(16) / 16 * bin_
    assert max(peaks(former, r, r + 1.5 * bin_) for r in starts) == 2
    assert max(peaks(former, r, r + 0.5 * bin_) for r in starts) == 1
    assert min(peaks(former, r, r + 2.5 * bin_) for r in starts) == 2


def test_ghost_behind_a_flat_wall(build_world: Callable[..., Path], box: Any, sphere: Any) -> None:
    wall, target, radius = 15.0, np.array([10.0, 5.0, 0.0]), 0.2
    things = [
        box('wall', f'{wall + 0.5} 0 -50 0 0 0', '1 60 60', strength_db=-8.0),
        sphere('target', f'{target[0]} {target[1]} -50 0 0 0', radius, strength_db=-5.0),
    ]
    scene = RayScene(load_world(build_world(things)), device='cpu')
    spec = replace(SPEC, elevation_rays=128)
    rig = SonarRig(scene=scene, specs=(spec,), seed=0)
    single, double = (
        rig.observe(pose=Pose.of((0, 0, -50)), index=0, bounce=bounce, noise=False)['front'].mean
        for bounce in (False, True)
    )
    extra = double - single
    # The wall shows the sonar mirrored at 2 D; the target scatters where it faces both.
    mirrored = np.array([2 * wall, 0.0, 0.0])
    to_both = (mirrored - target) / np.linalg.norm(mirrored - target) - target / np.linalg.norm(
        target
    )
    point = target + radius * to_both / np.linalg.norm(to_both)
    half_path = 0.5 * (np.linalg.norm(point) + np.linalg.norm(mirrored - point))
    image = np.array([2 * wall - point[0], point[1], 0.0])
    step = spec.azimuth_aperture / (spec.beams - 1)
    for place in (point, image):
        beam = round((spec.azimuth_aperture / 2 - np.arctan2(place[1], place[0])) / step)
        heard = extra[:, beam - 2 : beam + 3].sum(axis=1)
        # The straight mirror path is the shortest; what the round target scatters to other places
        # of the wall comes later.
        begin = spec.range_min + int(np.argmax(heard > 0.2 * heard.max())) * spec.range_resolution
        assert begin == pytest.approx(half_path, abs=2 * spec.range_resolution)
    behind = wall * np.linalg.norm(image) / image[0]
    assert half_path > behind + 2 * spec.range_resolution
