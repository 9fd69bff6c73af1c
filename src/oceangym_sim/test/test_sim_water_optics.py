import math

import numpy as np
import pytest

from oceangym_core.errors import OceanGymError
from oceangym_sim.water import (
    jerlov_kd,
    JERLOV_TYPES,
    kirk_absorption,
    LUMINOUS_WEIGHTS,
    veil_phase,
    WaterOptics,
)


def test_kd_is_the_mean_of_the_tabled_wavelengths() -> None:
    # Austin and Petzold 1984, type IB: R 600, 650; G 525, 550; B 450, 475 nm.
    expected = [(0.2471 + 0.3652) / 2, (0.0596 + 0.0715) / 2, (0.0355 + 0.0330) / 2]
    assert jerlov_kd('IB') == pytest.approx(expected)


@pytest.mark.parametrize('jerlov', ['I', 'IA', 'IB', 'II'])
def test_blue_survives_longest_in_oceanic_water(jerlov: str) -> None:
    red, green, blue = jerlov_kd(jerlov)
    assert blue < green < red


@pytest.mark.parametrize('jerlov', ['1C', '3C', '5C'])
def test_green_survives_longest_in_coastal_water(jerlov: str) -> None:
    assert np.argmin(jerlov_kd(jerlov)) == 1


@pytest.mark.parametrize('jerlov', ['7C', '9C'])
def test_blue_dies_first_in_turbid_water(jerlov: str) -> None:
    assert np.argmax(jerlov_kd(jerlov)) == 2


@pytest.mark.parametrize('light', [1.5, 10.0, 4000.0])
def test_light_holds_at_fifty_metres_and_falls_by_kd(light: float) -> None:
    water = WaterOptics(light_lux=light)
    assert float(water.lux(-50.0)) == pytest.approx(light)
    ratio = water.irradiance(-80.0) / water.irradiance(-50.0)
    assert ratio == pytest.approx(np.exp(-water.kd * 30.0))
    assert water.irradiance(-50.0) @ LUMINOUS_WEIGHTS == pytest.approx(light)


def test_depth_offset_is_depth_for_light() -> None:
    shallow, deep = WaterOptics(), WaterOptics(depth_offset=30.0)
    assert deep.irradiance(-50.0) == pytest.approx(shallow.irradiance(-80.0))
    assert float(WaterOptics(light_lux=1.5, depth_offset=450.0).lux(-60.0)) < 1e-6


def test_nothing_brightens_above_the_surface() -> None:
    water = WaterOptics()
    assert water.irradiance(2.0) == pytest.approx(water.surface_irradiance)


@pytest.mark.parametrize('visibility', [5.0, 12.0, 30.0, 60.0])
def test_visibility_is_the_range_of_five_per_cent_contrast(visibility: float) -> None:
    water = WaterOptics(visibility=visibility)
    left = np.exp(-water.direct_attenuation * visibility).max()
    assert left == pytest.approx(0.05, rel=1e-3)


def test_sight_line_attenuation_exceeds_kd_in_hazy_water() -> None:
    for jerlov in JERLOV_TYPES:
        water = WaterOptics(jerlov=jerlov, visibility=1.2)
        assert (water.beam_attenuation > water.kd).all(), jerlov


def test_absorption_inverts_kirk() -> None:
    kd, scattering = np.array([0.3, 0.07, 0.03]), np.array([0.1, 0.1, 0.4])
    a = kirk_absorption(kd, scattering)
    assert np.sqrt(a * a + 0.256 * a * scattering) / 0.86 == pytest.approx(kd)


def test_veil_is_the_integral_along_the_sight_line() -> None:
    water, z, upward, distance = WaterOptics(), -60.0, 0.3, 25.0
    s = np.linspace(0.0, distance, 20001)
    integrand = (
        water.scattering
        * veil_phase(upward)
        * water.irradiance(z + upward * s)
        * np.exp(-water.beam_attenuation * s[:, None])
    )
    step = s[1] - s[0]
    expected = (integrand[1:] + integrand[:-1]).sum(axis=0) * step / 2
    assert water.veiling_light(z, upward, distance) == pytest.approx(expected, rel=1e-6)


def test_veil_builds_up_at_another_rate_than_the_signal_dies() -> None:
    water = WaterOptics()
    assert (np.abs(water.veil_rate(0.5) - water.direct_attenuation) > 1e-3).all()
    up, level, down = (water.veiling_light(-60.0, u, 100.0).max() for u in (1.0, 0.0, -1.0))
    assert up > 5 * level > 5 * down


def test_phase_function_is_normalised() -> None:
    cosine = np.linspace(-1.0, 1.0, 200001)
    values = np.array([veil_phase(float(c)) for c in cosine[::20]])
    total = 2 * math.pi * values.mean() * 2.0
    assert total == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'jerlov': 'Ib'}, "Did you mean 'IB'"),
        ({'light_lux': -1.0}, 'light_lux'),
        ({'light_lux': math.nan}, 'light_lux'),
        ({'depth_offset': -5.0}, 'depth_offset'),
        ({'lamps': 2.0}, 'lamps'),
        ({'visibility': 0.0}, 'visibility'),
        ({'visibility': 1000.0}, 'absorption alone'),
        ({'visibility': math.nan}, 'visibility'),
    ],
)
def test_bad_water_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OceanGymError, match=message):
        WaterOptics(**options)  # type: ignore[arg-type]
