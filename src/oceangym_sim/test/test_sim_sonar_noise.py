"""Noise of OceanGym's settings and of devices, presets, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

from oceangym_core.contract.actions import sonar_orientation
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_sim.dynamics.thrusters import CURVE_16V
from oceangym_sim.sonar.fan import to_grey
from oceangym_sim.sonar.formation import PingFormer
from oceangym_sim.sonar.presets import (
    device_spec,
    HoloOceanNoise,
    preset,
    presets,
)
from oceangym_sim.sonar.sound import thruster_noise_share

SPEC = SonarSpec(
    direction='front',
    mount=Pose.of((0, 0, 0), sonar_orientation('front')),
    range_min=1.0,
    range_max=40.0,
    elevation_aperture=float(np.deg2rad(20.0)),
    preset='oceangym_decision',
)
EMPTY = np.zeros((SPEC.range_bins, SPEC.beams), np.float32)


# OceanGym_sonar.json (decision) and with_sonar.json (perception).
DECISION_NOISE = HoloOceanNoise(
    add_sigma=0.15, mult_sigma=0.2, range_sigma=0.1, azimuth_streaks=-1
)
PERCEPTION_NOISE = HoloOceanNoise(
    add_sigma=0.1, mult_sigma=0.1, range_sigma=0.05, azimuth_streaks=0
)


@pytest.mark.parametrize(
    ('name', 'noise', 'aperture_deg', 'reach', 'multipath'),
    [
        ('oceangym_decision', DECISION_NOISE, (120, 20), (1, 40), True),
        ('oceangym_perception', PERCEPTION_NOISE, (120, 22.5), (0.1, 30), False),
    ],
)
def test_oceangym_settings_are_the_published_ones(
    name: str,
    noise: HoloOceanNoise,
    aperture_deg: tuple[float, float],
    reach: tuple[float, float],
    multipath: bool,
) -> None:
    setting = preset(name)
    assert (setting.looks, setting.noise_db) == (noise.looks, noise.noise_db)
    assert (setting.range_sigma, setting.azimuth_streaks) == (
        noise.range_sigma, noise.azimuth_streaks
    )  # fmt: skip
    assert setting.multipath == multipath
    spec = device_spec(name, direction='front', mount=SPEC.mount)
    assert (spec.range_min, spec.range_max) == reach
    assert np.rad2deg([spec.azimuth_aperture, spec.elevation_aperture]) == pytest.approx(
        aperture_deg
    )


@pytest.mark.parametrize('noise', [DECISION_NOISE, PERCEPTION_NOISE])
def test_add_sigma_is_the_grey_of_noise_at_the_longest_range(noise: HoloOceanNoise) -> None:
    # A Rayleigh number of scale sigma has the mean sigma sqrt(pi / 2).
    mean = np.full((1, 1), 10 ** (noise.noise_db / 10), np.float32)
    assert to_grey(mean)[0, 0] / 255 == pytest.approx(
        noise.add_sigma * np.sqrt(np.pi / 2), abs=0.005
    )


@pytest.mark.parametrize('noise', [DECISION_NOISE, PERCEPTION_NOISE])
def test_mult_sigma_is_the_deviation_of_an_amplitude(noise: HoloOceanNoise) -> None:
    amplitude = np.sqrt(generator(1, 'looks').standard_gamma(noise.looks, 200000))
    # HoloOcean multiplies by 0.5 + N(0, sigma).
    assert amplitude.std() / amplitude.mean() == pytest.approx(2 * noise.mult_sigma, rel=0.05)


def test_range_sigma_delays_echoes_and_keeps_their_energy() -> None:
    former = PingFormer(SPEC)
    former.preset = replace(former.preset, looks=100.0, azimuth_streaks=0, range_sigma=0.3)
    mean = EMPTY.copy()
    mean[100:103] = 0.01
    polar = former.ping(mean, generator(2, 'delay')) - former.noise_floor[:, None]
    profile = polar.mean(axis=1)[80:160]
    assert profile.sum() == pytest.approx(0.03, rel=0.05)
    centre = (profile * np.arange(80, 160)).sum() / profile.sum()
    # An exponential delay weighted by its own density: half its mean.
    assert (centre - 101.0) * SPEC.range_resolution == pytest.approx(0.15, rel=0.15)
    assert profile[:20].sum() == pytest.approx(0.0, abs=1e-4)


def test_azimuth_streaks_square_the_grey_of_rows_that_face_the_sonar() -> None:
    former = PingFormer(SPEC)
    shape = (former.rays, SPEC.beams)
    distance = np.full(shape, np.inf, np.float32)
    cosine = np.ones(shape, np.float32)
    distance[40, :60] = 10.0  # 12 % of the beams, face on
    distance[41, :30] = 20.0  # 6 %
    distance[42, :] = 30.0
    cosine[42] = 0.9  # not facing within 8 deg
    rows = former.streak_rows(distance, cosine)
    assert rows is not None
    assert np.nonzero(rows)[0].tolist() == [int((10.0 - 1.0) / SPEC.range_resolution)]
    mean = np.full_like(EMPTY, 0.01)
    plain = former.ping(mean, generator(3, 'streak'))
    streaked = former.ping(mean, generator(3, 'streak'), streaks=rows)
    assert (plain[~rows] == streaked[~rows]).all()
    grey = to_grey(plain[rows]) / 255.0
    assert to_grey(streaked[rows]) / 255.0 == pytest.approx(grey**2, abs=0.01)
    former.preset = replace(former.preset, azimuth_streaks=1)
    gained = former.ping(mean, generator(3, 'streak'), streaks=rows)
    assert to_grey(gained[rows]) / 255.0 == pytest.approx(1 - (1 - grey) ** 2, abs=0.01)
    former.preset = replace(former.preset, azimuth_streaks=0)
    assert former.streak_rows(distance, cosine) is None


def test_open_water_reverberates_by_its_volume() -> None:
    former = PingFormer(SPEC)
    quiet = PingFormer(SPEC)
    quiet.preset = replace(quiet.preset, reverberation_db=-200.0)
    # Sv times the length of a bin, level after the gain: 20 dB full scale.
    expected = -70.0 + 10 * np.log10(SPEC.range_resolution) + 20.0
    receiver = 10 ** (former.preset.noise_db / 10)
    rest = former.noise_floor[-1] - receiver
    assert 10 * np.log10(rest) == pytest.approx(expected, abs=0.3)
    assert 10 * np.log10(former.noise_floor[0]) == pytest.approx(expected, abs=0.1)


def test_self_noise_raises_the_floor_by_its_share() -> None:
    former = PingFormer(SPEC)
    full, half = (
        former.ping(EMPTY, generator(4, 'self'), self_noise=share)[-40:].mean()
        for share in (1.0, 0.5)
    )
    silent = former.ping(EMPTY, generator(4, 'self'))[-40:].mean()
    assert full - silent == pytest.approx(2 * (half - silent), rel=0.01)
    assert 10 * np.log10(full - silent) == pytest.approx(former.preset.self_noise_db, abs=2.0)


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'range_bins': 2_400_000}, 'range_bins is 2.4e[+]06; give 2 to 8192'),
        ({'beams': 1}, 'beams is 1; give 2 to 4096'),
        ({'range_max': float('nan')}, 'range_max is nan m'),
        ({'range_max': -3.0}, 'range_max is -3 m; give 0.1 to 1000 m'),
        ({'range_min': 50.0}, 'range_min 50 m is not below range_max 40 m'),
        ({'frequency': 900.0}, 'frequency is 0.9 kHz; give 10 to 5000 kHz'),
        ({'sound_speed': 343.0}, 'sound_speed is 343 m/s; give 1350 to 1650'),
        ({'elevation_rays': 0}, 'elevation_rays is 0; give 1 to 1024'),
        ({'azimuth_aperture': 7.0}, 'azimuth_aperture is 401.07 deg; give 0.1 to 360 deg'),
        ({'elevation_aperture': 0.0}, 'elevation_aperture is 0 deg'),
        ({'range_max': 1.5, 'range_bins': 8192}, 'give fewer range_bins'),
        ({'beams': 4096, 'range_bins': 8192}, 'more than 8000000 cells'),
        ({'preset': 'oculus'}, 'unknown sonar preset'),
    ],
)
def test_absurd_sonars_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(OceanGymError, match=message):
        PingFormer(replace(SPEC, **change))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'looks': 0.5}, 'looks is 0.5; give 1 to 100'),
        ({'beam_width': 0.0}, '0 deg wide'),
        ({'side_lobe_db': 10.0}, 'side lobes 10 dB down cannot be: give 13.26'),
        ({'range_sigma': -0.1}, 'range_sigma is -0.1 m; give 0 to 5 m'),
        ({'azimuth_streaks': 2}, 'azimuth_streaks is 2; give -1'),
        ({'noise_db': float('inf')}, 'noise_db is inf dB'),
    ],
)
def test_absurd_presets_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(OceanGymError, match=message):
        replace(preset('oculus_m750d'), **change)
    with pytest.raises(OceanGymError, match=r'add_sigma is 1\.5; give 0 to 1'):
        HoloOceanNoise(add_sigma=1.5)


@pytest.mark.parametrize(
    ('name', 'kilohertz', 'azimuth_deg', 'elevation_deg', 'width_deg', 'range_max'),
    [
        ('oculus_m750d', 750, 130, 20, 1.0, 120),
        ('oculus_m1200d', 1200, 130, 20, 0.6, 40),
        ('blueview_p900', 900, 130, 20, 1.0, 60),
    ],
)
def test_devices_are_as_their_makers_say(
    name: str,
    kilohertz: float,
    azimuth_deg: float,
    elevation_deg: float,
    width_deg: float,
    range_max: float,
) -> None:
    spec = device_spec(name, direction='front', mount=SPEC.mount)
    former = PingFormer(spec)
    assert spec.frequency == kilohertz * 1e3
    assert np.rad2deg([spec.azimuth_aperture, spec.elevation_aperture]) == pytest.approx(
        [azimuth_deg, elevation_deg]
    )
    assert spec.range_max == range_max
    assert np.rad2deg(former.preset.beam_width) == pytest.approx(width_deg)
    assert former.preset.looks == 1.0
    assert former.preset.source


def test_every_preset_is_known_by_name() -> None:
    with pytest.raises(OceanGymError, match="Did you mean 'ping360'"):
        preset('ping36')
    assert set(presets()) == {
        'oceangym_decision', 'oceangym_perception', 'oculus_m750d', 'oculus_m1200d',
        'blueview_p900', 'ping360', 'ping1d', 'side_scan', 'profiler',
    }  # fmt: skip


def test_thrusters_are_heard_with_60_log_of_their_speed() -> None:
    full = np.full(8, CURVE_16V[-1])
    assert thruster_noise_share(full) == pytest.approx(1.0)
    # Thrust goes with the speed squared: half the speed, a quarter of the thrust, 60 log 2 less.
    drop = 10 * np.log10(thruster_noise_share(full / 4) / thruster_noise_share(full))
    assert drop == pytest.approx(-60 * np.log10(2.0))
    # Astern full throttle gives less thrust at the same speed.
    assert thruster_noise_share(np.full(8, CURVE_16V[0])) == pytest.approx(1.0)
    # Noise of independent thrusters adds up as power; none is silence.
    one = np.zeros(8)
    one[3] = CURVE_16V[-1]
    assert thruster_noise_share(one) == pytest.approx(1 / 8)
    assert thruster_noise_share(np.zeros(8)) == thruster_noise_share([]) == 0.0


@pytest.mark.parametrize('kilohertz', [115.0, 450.0, 1800.0])
def test_thruster_noise_falls_by_6_db_an_octave(kilohertz: float) -> None:
    here, there = (
        PingFormer(replace(SPEC, frequency=f)).thruster_noise[-1] for f in (900e3, kilohertz * 1e3)
    )
    assert 10 * np.log10(here) == pytest.approx(presets()[SPEC.preset].self_noise_db, abs=0.01)
    octaves = np.log2(kilohertz / 900.0)
    assert 10 * np.log10(there / here) == pytest.approx(-6.02 * octaves, abs=0.02)
