"""What light does under water, against closed forms."""

from collections.abc import Callable
from dataclasses import replace
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oceangym_core.config.waters import load_water
from oceangym_core.contract.actions import optical_orientation
from oceangym_core.contract.observation import CameraSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_sim.optics.lamps import Lamp, lamp_irradiance, lamp_table
from oceangym_sim.optics.rays import distort, optical_rays, undistort
from oceangym_sim.optics.water import JERLOV_TYPES, LAMP_PHASE, LAMP_RADIUS, WaterOptics
from oceangym_sim.rays.device import select_variant

select_variant('cpu')

import drjit as dr  # noqa: E402
import mitsuba as mi  # noqa: E402

from oceangym_sim.optics.light import LightField  # noqa: E402
from oceangym_sim.optics.rig import CameraFrame, CameraRig, Motion  # noqa: E402
from oceangym_sim.optics.sensor import Sensor  # noqa: E402
from oceangym_sim.optics.snow import MarineSnow  # noqa: E402
from oceangym_sim.rays.scene import RayScene  # noqa: E402

WHITE = 0.9
# A one-pixel ray along the axis: an odd size has its middle pixel there.
SPEC = CameraSpec(
    direction='front', mount=Pose.of((0, 0, 0), optical_orientation('front')), width=5, height=5
)
RANGES = (1.0, 2.0, 5.0, 10.0, 20.0)
DARK = 2000.0
LAMP = Lamp(position=(0, 0, 0), direction=(1, 0, 0), lumen=1000.0, half_angle=math.radians(60))


@pytest.fixture(scope='module')
def card(build_world: Callable[..., Path], box: Any) -> RayScene:
    """A white card at x = 30 that faces west; the sun stands in the north-east, behind it."""
    face = box('card', '30.5 0 -6 0 0 0', '1 60 60', colour=f'{WHITE} {WHITE} {WHITE}')
    return RayScene(load_world(build_world([face])), device='cpu')


@pytest.fixture(scope='module')
def open_water(build_world: Callable[..., Path], sphere: Any) -> RayScene:
    far = sphere('far', '190 190 -90 0 0 0', 0.1)
    return RayScene(load_world(build_world([far])), device='cpu')


def middle(
    scene: RayScene, optics: WaterOptics, pose: Pose, **options: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return (all, direct) light of the middle pixel [lux/sr], (3,)."""
    level = options.pop('lamp_level', 0.0)
    rig = CameraRig(scene=scene, specs=(SPEC,), optics=optics, seed=0, samples=1, **options)
    seen = rig.measure(pose=pose, lamp_level=level)['front']
    return seen.total[2, 2].astype(float), seen.direct[2, 2].astype(float)


@pytest.mark.parametrize('jerlov', JERLOV_TYPES)
def test_a_white_card_fades_and_the_veil_grows(card: RayScene, jerlov: str) -> None:
    water, z = WaterOptics(jerlov=jerlov), -6.0
    # Light from above on an upright card: the diffuse share of it, sun from behind.
    share = 0.06 + 0.94 * 0.5**1.5
    lighting = water.irradiance(z) * (1.0 - water.sun_share(z)) * share
    own = WHITE * lighting / math.pi
    for distance in RANGES:
        total, direct = middle(card, water, Pose.of((30.0 - distance, 0, z)), lamps=())
        faded = own * np.exp(-water.direct_attenuation * distance)
        assert direct == pytest.approx(faded, rel=2e-3, abs=1e-6 * own.max())
        veil = water.veiling_light(z, 0.0, distance)
        assert total == pytest.approx(faded + veil, rel=2e-3)


def transmission(scene: RayScene, jerlov: str, distance: float) -> np.ndarray:
    """Return per channel the card's light over that at no distance."""
    water = WaterOptics(jerlov=jerlov)
    near = middle(scene, water, Pose.of((29.9, 0, -6)), lamps=())[1]
    far = middle(scene, water, Pose.of((30 - distance, 0, -6)), lamps=())[1]
    return far / near


def test_colours_at_ten_metres(card: RayScene) -> None:
    red, green, blue = transmission(card, 'I', 10.0)
    assert red < green < blue
    for jerlov in ('1C', '3C', '5C'):
        assert np.argmax(transmission(card, jerlov, 10.0)) == 1, jerlov
    for jerlov in ('7C', '9C'):
        assert np.argmin(transmission(card, jerlov, 3.0)) == 2, jerlov


def test_a_card_on_the_bottom_follows_kd_with_depth(
    build_world: Callable[..., Path], box: Any
) -> None:
    cards = [box(f'c{d}', f'{4 * d} 0 {-d - 0.5} 0 0 0', '3 3 1', colour='0.5 0.5 0.5')
             for d in (40, 50, 60)]  # fmt: skip
    scene = RayScene(load_world(build_world(cards)), device='cpu')
    water = WaterOptics(sun_elevation=-0.1)
    light = [
        middle(scene, water, Pose.from_euler((4 * d, 0, -d + 1), 0, math.pi / 2, 0), lamps=())[1]
        for d in (40, 50, 60)
    ]
    assert light[1] / light[0] == pytest.approx(np.exp(-water.kd * 10), rel=5e-3)
    assert light[2] / light[1] == pytest.approx(np.exp(-water.kd * 10), rel=5e-3)


@pytest.mark.parametrize('jerlov', ['IB', '3C'])
def test_a_lamp_lit_card_falls_by_inverse_square_and_two_ways(card: RayScene, jerlov: str) -> None:
    water = WaterOptics(jerlov=jerlov, depth_offset=DARK)
    for distance in RANGES[:4]:
        pose = Pose.of((30 - distance, 0, -6))
        _, direct = middle(card, water, pose, lamps=(LAMP,), lamp_level=1.0)
        loss = np.exp(-(water.lamp_attenuation + water.direct_attenuation) * distance)
        expected = WHITE / math.pi * LAMP.peak_intensity / distance**2 * loss
        assert direct == pytest.approx(expected, rel=2e-3, abs=1e-9)
        _, dimmed = middle(card, water, pose, lamps=(LAMP,), lamp_level=0.25)
        assert dimmed == pytest.approx(expected / 4, rel=2e-3, abs=1e-9)


def test_lamp_light_follows_the_cosine_of_the_card_and_the_cone(open_water: RayScene) -> None:
    field = LightField(
        scene=open_water, optics=WaterOptics(jerlov='I'), lamps=(LAMP,), shadows=False
    )

    def light(point: tuple[float, float, float], normal: tuple[float, float, float]) -> float:
        values = field.lamp_light(mi.Vector3f(*point), mi.Vector3f(*normal))
        return float(np.asarray(values).ravel()[1])

    level = light((4, 0, 0), (-1, 0, 0))
    tilted = light((4, 0, 0), (-math.cos(1.0), math.sin(1.0), 0))
    assert tilted == pytest.approx(level * math.cos(1.0), rel=1e-4)
    # At the half angle of the cone there is half the light at the same distance.
    half = LAMP.half_angle
    there = (4 * math.cos(half), 4 * math.sin(half), 0)
    facing = (-math.cos(half), -math.sin(half), 0)
    assert light(there, facing) == pytest.approx(level / 2, rel=1e-3)
    assert light((-4, 0, 0), (1, 0, 0)) == 0.0
    across = lamp_irradiance(lamp_table((LAMP,)), np.array([[4.0, 0, 0]]), np.zeros(3))
    assert across[0, 1] == pytest.approx(LAMP.peak_intensity / 16)


@pytest.mark.parametrize('jerlov', ['IB', '5C'])
def test_the_lamps_glow_is_the_integral_of_what_is_scattered_back(
    open_water: RayScene, jerlov: str
) -> None:
    water = WaterOptics(jerlov=jerlov, depth_offset=DARK)
    total, direct = middle(open_water, water, Pose.of((0, 0, -40)), lamps=(LAMP,), lamp_level=1.0)
    s = np.linspace(0.0, 25.0, 250001)[:, None]
    loss = np.exp(-(water.lamp_attenuation + water.beam_attenuation) * s)
    integrand = LAMP.peak_intensity * loss / (s * s + LAMP_RADIUS**2)
    step = 25.0 / 250000
    integral = (integrand[1:] + integrand[:-1]).sum(axis=0) * step / 2
    assert direct.max() == 0.0
    assert total == pytest.approx(LAMP_PHASE * water.scattering * integral, rel=0.02)


def test_at_25_m_in_deep_water_there_is_nothing_to_see(card: RayScene) -> None:
    water = replace(WaterOptics.of(load_water('deep')), snow=0.0)
    seen = {}
    for distance in (5.0, 10.0, 25.0):
        pose = Pose.of((30 - distance, 0, -6))
        total, direct = middle(card, water, pose, lamps=(LAMP,), lamp_level=1.0)
        seen[distance] = float((direct / total).max())
    # White is three times as bright as what visibility is told by: 5 % at 10 m become 15 %.
    assert seen[5.0] > 0.5
    assert seen[10.0] == pytest.approx(0.15 / 1.15, abs=0.05)
    assert seen[25.0] < 1e-3


def test_caustics_redistribute_light_and_fade_with_depth(open_water: RayScene) -> None:
    field = LightField(scene=open_water, optics=WaterOptics(), lamps=(), shadows=False)

    def focus(depth: float) -> np.ndarray:
        x, y = np.meshgrid(np.arange(0, 60, 0.11), np.arange(0, 60, 0.11))
        point = mi.Point3f(
            mi.Float(x.ravel().astype(np.float32)), mi.Float(y.ravel().astype(np.float32)),
            mi.Float(-depth),
        )  # fmt: skip
        return np.asarray(field._caustics(point))

    for depth in (1.0, 3.0, 8.0, 20.0):
        assert focus(depth).mean() == pytest.approx(1.0, abs=0.06), depth
        assert focus(depth).min() > 0.1
    # Ripples focus a few metres down, where the pattern is strongest; deeper, scattering blurs it.
    spread = [float(focus(depth).std()) for depth in (0.1, 5.0, 25.0)]
    assert spread[0] < spread[1] > spread[2]
    assert spread[2] < 0.05


# -- sensor -----------------------------------------------------------------------------------------


def test_exposure_has_limits() -> None:
    sensor = Sensor()
    bright, dim, dark = (np.full((3, 100), level, np.float32) for level in (1e4, 1.0, 1e-6))
    for view in (bright, dim):
        row = sensor.expose([view])[0]
        level = float(view[0, 0]) * row[3] * sensor.electrons / sensor.full_well
        # A doubling of the gain lowers the aim by a twelfth.
        aim = sensor.middle * max(row[3], 1.0) ** math.log2(1 - sensor.gain_loss)
        assert level == pytest.approx(aim, rel=1e-3)
    row = sensor.expose([dark])[0]
    assert row[3] == pytest.approx(10 ** (42 / 20))
    assert 1e-6 * row[0] < 1e-4


def test_contrast_control_takes_the_veil_off_and_brightens_what_is_left() -> None:
    sensor = Sensor(black_share=1.0, crosstalk=((1, 0, 0), (0, 1, 0), (0, 0, 1)))
    # A veil of 300 over the picture, in front of things of 0..100: what is left is a seventh of
    # the mean, and may be doubled.
    own = np.linspace(0.0, 100.0, 1000, dtype=np.float32)
    view = np.array([[0.0], [300.0], [200.0]], np.float32) + own
    row = sensor.expose([view])[0]
    gain = row[3] * sensor.electrons / sensor.full_well
    assert row[4:7] == pytest.approx([4.0, 304.0, 204.0], abs=0.1)
    assert row[1] == pytest.approx(2.0 * gain, rel=1e-5)
    assert sensor.expose([view], daylight=0.0)[0][1] == pytest.approx(gain, rel=0.3)
    # In the dark it does not add to the highest gain, and what is bright may not burn out;
    # a picture with true black stays as it is.
    dark = sensor.expose([1e-6 * view])[0]
    assert dark[1] * sensor.full_well / sensor.electrons == pytest.approx(sensor.max_gain)
    contrast = np.tile(np.where(np.arange(1000) < 900, 100.0, 3000.0), (3, 1)).astype(np.float32)
    row = sensor.expose([contrast])[0]
    assert (3000.0 - 100.0) * row[1] <= sensor.highlight * 1.001
    ramp = np.tile(np.where(np.arange(1000) < 500, 0.0, 100.0), (3, 1)).astype(np.float32)
    row = sensor.expose([ramp])[0]
    assert row[1] == pytest.approx(row[3] * sensor.electrons / sensor.full_well)


def test_lamps_limit_the_gain_and_set_the_white_balance() -> None:
    sensor = Sensor()
    view = np.array([0.02, 0.05, 0.04], np.float32)[:, None].repeat(100, axis=1)
    daylight, lamps = (sensor.expose([view], daylight=share)[0] for share in (1.0, 0.0))
    assert daylight[3] > lamps[3] == pytest.approx(sensor.lamp_gain)
    assert daylight[0] > daylight[1]
    assert lamps[:3] == pytest.approx(np.full(3, lamps[0]))


def test_noise_grows_with_gain_and_follows_the_photons() -> None:
    sensor = Sensor(read_noise=0.0)

    def relative(exposed: float, gain: float) -> float:
        sigma = sensor.noise(dr.opaque(mi.Float, exposed), dr.opaque(mi.Float, gain))
        return float(np.asarray(sigma)[0]) / exposed

    # A signal of x at gain g is x full_well / g electrons, which fluctuate by their square root.
    for gain in (1.0, 10.0, 100.0):
        electrons = 0.2 * sensor.full_well / gain
        assert relative(0.2, gain) == pytest.approx(1 / math.sqrt(electrons), rel=1e-4)
    noisy = Sensor(read_noise=5.0)
    floor = np.asarray(noisy.noise(dr.opaque(mi.Float, 0.0), dr.opaque(mi.Float, 100.0)))[0]
    assert floor == pytest.approx(5.0 * 100.0 / noisy.full_well)


def test_darkness_costs(card: RayScene) -> None:
    def frame(lux: float) -> CameraFrame:
        rig = CameraRig(
            scene=card, specs=(replace(SPEC, width=96, height=96),), lamps=(), seed=0,
            optics=WaterOptics(light_lux=lux, visibility=40.0, snow=0.0, depth_offset=44.0),
        )  # fmt: skip
        return rig.render(pose=Pose.of((27, 0, -6)), index=0, lamp_level=0.0)['front']

    frames = [frame(lux) for lux in (1000.0, 10.0, 1.0, 0.1, 0.01)]
    level = [float(f.image[30:66, 30:66, 2].mean()) for f in frames]
    grain = [float(f.image[30:66, 30:66, 2].std()) / m for f, m in zip(frames, level)]
    assert level == sorted(level, reverse=True)
    assert grain[0] < grain[1] < grain[2] < grain[3]
    counted = [int((f.direct >= 4 / 255).sum()) for f in frames]
    assert counted[0] == counted[1] == 96 * 96
    assert counted[-1] == 0
    assert all(f.image.mean() > 0.0 for f in frames)


def test_vignetting_follows_the_cosine_to_the_fourth(open_water: RayScene) -> None:
    sensor = Sensor(vignette=1.0)
    angle = np.deg2rad([0.0, 20.0, 45.0])
    assert sensor.fall_off(np.cos(angle)) == pytest.approx(np.cos(angle) ** 4, rel=1e-6)
    assert Sensor(vignette=0.0).fall_off(np.array([0.3])) == pytest.approx([1.0])


# -- lens, motion, snow -----------------------------------------------------------------------------

BARREL = (-0.18, 0.02, 0.001, -0.0005, 0.0)


def test_distortion_is_that_of_camera_info() -> None:
    cv2 = pytest.importorskip('cv2')
    spec = CameraSpec(
        direction='front', mount=Pose(), width=64, height=48, horizontal_fov=1.2,
        distortion=BARREL,
    )  # fmt: skip
    rays = optical_rays(spec)
    f = spec.focal_length
    matrix = np.array([[f, 0, spec.width / 2], [0, f, spec.height / 2], [0, 0, 1]])
    pixels, _ = cv2.projectPoints(rays, np.zeros(3), np.zeros(3), matrix, np.array(BARREL))
    columns, rows = np.meshgrid(np.arange(64) + 0.5, np.arange(48) + 0.5)
    expected = np.stack([columns.ravel(), rows.ravel()], axis=1)
    assert pixels.reshape(-1, 2) == pytest.approx(expected, abs=1e-3)
    points = np.array([[0.3, -0.2], [0.0, 0.0]])
    assert distort(undistort(points, BARREL), BARREL) == pytest.approx(points, abs=1e-8)


def test_a_lens_that_folds_the_image_is_refused() -> None:
    spec = CameraSpec(direction='front', mount=Pose(), distortion=(-0.9, 0, 0, 0, 0))
    with pytest.raises(OceanGymError, match='folds the image'):
        optical_rays(spec)


def test_motion_blurs_along_the_motion(build_world: Callable[..., Path], box: Any) -> None:
    bar = box('bar', '3 0 -20 0 0 0', '0.05 0.05 8', colour='0.95 0.95 0.95')
    scene = RayScene(load_world(build_world([bar])), device='cpu')
    sensor = Sensor(vignette=0.0, read_noise=0.0, full_well=1e9, electrons=1e9)
    rig = CameraRig(
        scene=scene, specs=(replace(SPEC, width=128, height=128),), lamps=(LAMP,), seed=0,
        optics=WaterOptics(jerlov='I', depth_offset=DARK, snow=0.0), sensor=sensor,
    )  # fmt: skip

    def width(motion: Motion | None) -> int:
        frame = rig.render(pose=Pose.of((0, 0, -20)), index=0, lamp_level=1.0, motion=motion)
        row = frame['front'].image[60:68].astype(float).mean(axis=(0, 2))
        return int((row > 0.5 * np.median(row) + 0.3 * row.max()).sum())

    still = width(None)
    # 3 rad/s for 1/30 s is 0.1 rad, 6.4 pixels of 1/64 rad.
    turning = width(Motion(linear=(0, 0, 0), angular=(0, 0, 3.0)))
    assert 1 <= still <= 3
    assert still + 2 <= turning <= still + 8
    assert abs(width(Motion(linear=(0, 0, 2.0), angular=(0, 0, 0))) - still) <= 1


def test_snow_keeps_its_density_and_its_light() -> None:
    snow = MarineSnow(density=40.0, specs=(replace(SPEC, width=64, height=64),))
    place, diameter = snow.particles(np.random.Generator(np.random.Philox(1)))
    assert len(place) == 40 * 5**3
    assert diameter.min() >= 0.5e-3
    assert (np.abs(place) <= 2.5).all()
    # One particle of 40 mm2 at 1 m covers 4e-5 sr: that share of the picture's light.
    picture, far = np.zeros((3, 4096), np.float32), np.full(4096, np.inf, np.float32)
    at = np.array([[1.0, 0.0, 0.0]])
    snow.draw(
        picture, far, np.array([0, 4096]), particles=(at, np.array([4e-3])),
        lighting=np.full((1, 3), math.pi), attenuation=np.zeros(3),
    )  # fmt: skip
    pixel = (2.0 / 64) ** 2
    assert picture[0].sum() * pixel == pytest.approx(0.2 * math.pi * (2e-3) ** 2, rel=0.03)
    hidden = np.zeros((3, 4096), np.float32)
    snow.draw(
        hidden, np.full(4096, 0.5, np.float32), np.array([0, 4096]),
        particles=(at, np.array([4e-3])), lighting=np.full((1, 3), math.pi),
        attenuation=np.zeros(3),
    )  # fmt: skip
    assert hidden.max() == 0.0


@pytest.mark.parametrize('jerlov', JERLOV_TYPES)
@pytest.mark.parametrize('z', [-0.5, -12.0, -98.0])
def test_nothing_is_undefined_and_no_image_is_black(card: RayScene, jerlov: str, z: float) -> None:
    rig = CameraRig(
        scene=card, specs=(replace(SPEC, width=24, height=24),), lamps=(LAMP,), seed=0,
        optics=WaterOptics(jerlov=jerlov, light_lux=10.0),
    )  # fmt: skip
    for pitch in (-1.5, 0.0, 1.5):
        pose = Pose.from_euler((20, 0, z), 0.1, pitch, 0.0)
        for level in (0.0, 1.0):
            light = rig.measure(pose=pose, lamp_level=level)['front']
            assert np.isfinite(light.total).all()
            assert (light.total >= 0.0).all()
            frame = rig.render(pose=pose, index=0, lamp_level=level)['front']
            assert frame.image.mean() > 0.0
            assert np.isfinite(frame.direct).all()
