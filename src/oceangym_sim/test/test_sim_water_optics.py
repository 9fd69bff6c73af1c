import math

import numpy as np
import pytest

from oceangym_core.config.waters import load_water, Water
from oceangym_core.errors import OceanGymError
from oceangym_sim.optics.jerlov import ABSORPTION, KD, SCATTERING
from oceangym_sim.optics.water import (
    jerlov_kd,
    JERLOV_TYPES,
    LAMP_PHASE,
    LAMP_RADIUS,
    LUMINOUS_WEIGHTS,
    veil_phase,
    WaterOptics,
)


def test_kd_is_the_mean_of_the_tabled_wavelengths() -> None:
    # Austin and Petzold 1986, type IB: R 600, 650; G 525, 550; B 450, 475 nm.
    expected = [(0.2471 + 0.3652) / 2, (0.0596 + 0.0715) / 2, (0.0355 + 0.0330) / 2]
    assert jerlov_kd('IB') == pytest.approx(expected)


@pytest.mark.parametrize('jerlov', ['I', 'IA', 'IB', 'II'])
def test_blue_survives_longest_in_oceanic_water(jerlov: str) -> None:
    red, green, blue = jerlov_kd(jerlov)
    assert blue < green < red


@pytest.mark.parametrize('jerlov', ['1C', '3C', '5C'])
def test_green_survives_longest_in_coastal_water(jerlov: str) -> None:
    assert np.argmin(jerlov_kd(jerlov)) == 1
    assert np.argmin(WaterOptics(jerlov=jerlov).direct_attenuation) == 1


@pytest.mark.parametrize('jerlov', ['7C', '9C'])
def test_blue_dies_first_in_turbid_water(jerlov: str) -> None:
    assert np.argmax(jerlov_kd(jerlov)) == 2
    assert np.argmax(WaterOptics(jerlov=jerlov).direct_attenuation) == 2


def test_types_grow_more_turbid_in_their_order() -> None:
    waters = [WaterOptics(jerlov=jerlov) for jerlov in JERLOV_TYPES]
    sights = [water.sight for water in waters]
    assert sights == sorted(sights, reverse=True)
    green = [(water.kd[1], water.beam_attenuation[1]) for water in waters]
    assert green == sorted(green)


@pytest.mark.parametrize('jerlov', JERLOV_TYPES)
def test_the_tables_agree_with_each_other(jerlov: str) -> None:
    # Kd mu = sqrt(a^2 + 0.256 a b) (Kirk 1984, mu = 0.86): the tables, of three independent
    # sources, agree with it within half in every channel.
    absorption, scattering = np.array(ABSORPTION[jerlov]), np.array(SCATTERING[jerlov])
    kirk = np.sqrt(absorption**2 + 0.256 * absorption * scattering) / 0.86
    assert np.array(KD[jerlov]) == pytest.approx(kirk, rel=0.5)


@pytest.mark.parametrize('light', [1.5, 10.0, 4000.0])
def test_light_holds_at_fifty_metres_and_falls_by_kd(light: float) -> None:
    water = WaterOptics(light_lux=light)
    assert float(water.lux(-50.0)) == pytest.approx(light)
    ratio = water.irradiance(-80.0) / water.irradiance(-50.0)
    assert ratio == pytest.approx(np.exp(-water.kd * 30.0))
    assert water.irradiance(-50.0) @ LUMINOUS_WEIGHTS == pytest.approx(light)


def test_shallow_is_an_overcast_noon_and_deep_is_dark() -> None:
    shallow, deep = (WaterOptics.of(load_water(name)) for name in ('shallow', 'deep'))
    # An overcast noon has 10,000 to 20,000 lux, and no sun.
    assert 10e3 < shallow.surface_irradiance @ LUMINOUS_WEIGHTS < 20e3
    assert shallow.sun_share(-50.0) == 0.0
    # The lowest target lies at 98 m: still more than a lit room's corner, far above dusk.
    assert float(shallow.lux(-98.0)) > 50.0
    assert float(deep.lux(0.0)) < 1e-6
    assert deep.lamps == 1.0
    assert shallow.jerlov == deep.jerlov == 'IB'
    assert shallow.sight == pytest.approx(40.0)


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
    assert water.sight == pytest.approx(visibility)


@pytest.mark.parametrize('visibility', [3.0, 10.0])
def test_visibility_by_lamp_light_is_where_the_glow_drowns_a_thing(visibility: float) -> None:
    water = WaterOptics(visibility=visibility, lamps=1.0)
    # A grey object (0.3) at the distance, lamp and camera in one place, against the glow.
    out, back = water.lamp_attenuation, water.direct_attenuation
    own = 0.3 / math.pi * np.exp(-(out + back) * visibility) / visibility**2
    glow = math.atan(visibility / LAMP_RADIUS) / LAMP_RADIUS * water.scattering * LAMP_PHASE
    assert (own / glow).max() == pytest.approx(0.05, rel=1e-3)


def test_the_types_own_turbidity_shows_lamp_lit_things_to_ten_metres_in_ib() -> None:
    # The deep water's visibility of 10 m is near what type IB has by itself.
    own, deep = WaterOptics(jerlov='IB'), WaterOptics.of(load_water('deep'))
    assert own.scattering == pytest.approx(deep.scattering, rel=0.4)


def test_sun_and_surface() -> None:
    noon = WaterOptics(sun_elevation=math.pi / 2)
    assert noon.sun_direction == pytest.approx((0, 0, 1))
    low = WaterOptics(sun_elevation=0.0)
    # Snell: grazing light comes down at the critical angle, asin(1 / 1.34) = 48.3 deg.
    assert math.degrees(math.acos(low.sun_direction[2])) == pytest.approx(48.3, abs=0.1)
    assert low.sun_share(-10.0) == 0.0
    assert WaterOptics(sun_elevation=-0.3).sun_share(-10.0) == 0.0
    assert noon.sun_share(-10.0) > noon.sun_share(-50.0) > WaterOptics().sun_share(-50.0)
    # Cox and Munk 1954: mean square slope 0.003 + 0.00512 W.
    assert WaterOptics(wind=10.0).wave_slope ** 2 == pytest.approx(0.0542)


def test_a_water_s_description_is_carried_over() -> None:
    water = Water(
        id='w', title='W', briefing='B', depth_offset=5, jerlov='3C', light_lux=2, lamps=True,
        sun_elevation_deg=30, wind=7, marine_snow=12,
    )  # fmt: skip
    optics = WaterOptics.of(water)
    assert optics.scattering == pytest.approx(WaterOptics(jerlov='3C').scattering)
    assert (optics.wind, optics.snow, optics.lamps) == (7.0, 12.0, 1.0)
    assert optics.sun_elevation == pytest.approx(math.pi / 6)


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
    water = WaterOptics(visibility=60.0)
    assert (np.abs(water.veil_rate(0.5) - water.direct_attenuation) > 1e-3).all()
    up, level, down = (water.veiling_light(-60.0, u, 100.0).max() for u in (1.0, 0.0, -1.0))
    assert up > 5 * level > 5 * down


def test_veil_is_finite_where_its_rate_vanishes() -> None:
    # In type I daylight grows upwards as fast as the line attenuates it, at some slope.
    water = WaterOptics(jerlov='I')
    upward = np.linspace(0.0, 1.0, 400)
    values = np.array([water.veiling_light(-60.0, float(u), 50.0) for u in upward])
    assert np.isfinite(values).all()
    assert (np.diff(values, axis=0) > 0.0).all()


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
        ({'wind': -1.0}, 'wind'),
        ({'snow': math.inf}, 'snow'),
        ({'sun_elevation': 2.0}, 'sun_elevation'),
        ({'visibility': 0.0}, 'visibility'),
        ({'visibility': 1000.0}, 'absorption alone'),
        ({'visibility': math.nan}, 'visibility'),
    ],
)
def test_bad_water_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(OceanGymError, match=message):
        WaterOptics(**options)  # type: ignore[arg-type]
