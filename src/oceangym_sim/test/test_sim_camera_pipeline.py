"""From light to pixels and back: what the rendered pictures themselves obey."""

from collections.abc import Callable
from dataclasses import replace
import json
import math
import os
from pathlib import Path
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from oceangym_core.contract.actions import Action, optical_orientation
from oceangym_core.contract.observation import CameraSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.rays.device import select_variant

select_variant('cpu')

import drjit as dr  # noqa: E402
import mitsuba as mi  # noqa: E402

from oceangym_sim.optics.rig import CameraRig, Motion  # noqa: E402
from oceangym_sim.optics.sensor import develop, Sensor  # noqa: E402
from oceangym_sim.rays.scene import RayScene  # noqa: E402

MOUNT = Pose.of((0, 0, 0), optical_orientation('front'))
SPEC = CameraSpec(direction='front', mount=MOUNT, width=65, height=65)
# Overcast, so that an upright card is lit evenly.
CLOUDY = WaterOptics(jerlov='II', sun_elevation=-0.1, snow=0.0)
# As good as noiseless, and no colour of its own.
IDEAL = Sensor(
    vignette=0.0, read_noise=0.0, full_well=1e9, electrons=1e9, black_share=0.0,
    crosstalk=((1, 0, 0), (0, 1, 0), (0, 0, 1)), balance_share=0.0,
)  # fmt: skip


@pytest.fixture(scope='module')
def card(build_world: Callable[..., Path], box: Any) -> RayScene:
    face = box('card', '30.5 0 -40 0 0 0', '1 70 70', colour='0.9 0.9 0.9')
    return RayScene(load_world(build_world([face])), device='cpu')


def decoded(image: np.ndarray) -> np.ndarray:
    """Return sRGB bytes as linear values 0..1 (IEC 61966-2-1)."""
    value = image / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def test_light_dies_over_the_euclidean_range(card: RayScene) -> None:
    rig = CameraRig(scene=card, specs=(SPEC,), optics=CLOUDY, lamps=(), seed=0, samples=1)
    seen = rig.measure(pose=Pose.of((22, 0, -40)), lamp_level=0.0)['front']
    centre = np.arange(65) - 32.0
    column, row = np.meshgrid(centre, centre)
    slant = np.sqrt(1 + (column**2 + row**2) / SPEC.focal_length**2)
    assert seen.distance == pytest.approx(8.0 * slant, rel=1e-5)
    assert slant.max() > 1.7
    # One row sees points of one depth, that is of one lighting.
    for channel in range(3):
        middle = seen.direct[32, :, channel]
        away = 8.0 * (slant[32] - 1.0)
        expected = np.exp(-CLOUDY.direct_attenuation[channel] * away)
        assert middle / middle[32] == pytest.approx(expected, rel=1e-3)


def test_vignetting_darkens_the_picture_s_corners(card: RayScene) -> None:
    clear = replace(CLOUDY, jerlov='I', visibility=None)
    pictures = [
        CameraRig(
            scene=card, specs=(SPEC,), optics=clear, lamps=(), seed=0,
            sensor=replace(IDEAL, vignette=share),
        ).render(pose=Pose.of((29.5, 0, -40)), index=0, lamp_level=0.0)['front'].image
        for share in (0.0, 1.0)
    ]  # fmt: skip
    plain, dimmed = (decoded(picture[32, :, 2]) for picture in pictures)
    cosine = 1.0 / np.hypot(1.0, (np.arange(65) - 32.0) / SPEC.focal_length)
    ratio = (dimmed / dimmed[32]) / (plain / plain[32])
    assert ratio == pytest.approx(cosine**4, rel=0.03)


@pytest.mark.parametrize('gain', [1.0, 40.0])
def test_noise_in_the_picture_is_shot_and_read_noise(gain: float) -> None:
    sensor = replace(IDEAL, full_well=4e4, electrons=500.0, read_noise=8.0)
    count = 200_000
    # A level of 0.3 before the display curve.
    radiance = 0.3 / (gain * sensor.electrons / sensor.full_well)
    scale = gain * sensor.electrons / sensor.full_well
    settings = np.array([[scale, scale, scale, gain, 0, 0, 0, 0]], np.float32)
    light = mi.Color3f(*(dr.full(mi.Float, radiance, count) for _ in range(3)))
    image, _ = develop(
        sensor, radiance=light, direct=light, fall_off=dr.ones(mi.Float, count),
        settings=settings, camera=dr.zeros(mi.UInt32, count),
        key=np.array([1, 2], np.uint32),
    )  # fmt: skip
    linear = decoded(image.numpy().view(np.uint8).reshape(-1, 4)[:, :3])
    # N electrons fluctuate by sqrt(N), and each reading by the read noise.
    electrons = 0.3 * sensor.full_well / gain
    expected = 0.3 * math.sqrt(electrons + sensor.read_noise**2) / electrons
    step = 0.5 / 255 * 2.4 * 0.3**0.6
    for channel in range(3):
        assert linear[:, channel].mean() == pytest.approx(0.3, abs=2e-3)
        assert linear[:, channel].std() == pytest.approx(expected, rel=0.03, abs=step)
    if gain > 1.0:
        mixed = np.corrcoef(linear.T)
        assert np.abs(mixed - np.eye(3)).max() < 0.02


def test_edges_are_smooth(build_world: Callable[..., Path], box: Any) -> None:
    # A card turned by a tenth of a radian in the picture plane, before open water.
    tilted = box('tilted', '4 0 -40 0.1 0 0', '0.1 3 3', colour='0.9 0.9 0.9')
    scene = RayScene(load_world(build_world([tilted])), device='cpu')
    levels = {}
    for samples in (1, 4):
        rig = CameraRig(
            scene=scene, specs=(SPEC,), optics=replace(CLOUDY, jerlov='I'), lamps=(), seed=0,
            samples=samples, sensor=IDEAL,
        )  # fmt: skip
        frame = rig.render(pose=Pose.of((0, 0, -40)), index=0, lamp_level=0.0)['front']
        light = decoded(frame.image[24:41, 38:52, 1])
        bright, dark = light[:, :1], light[:, -1:]
        covered = np.clip((light - dark) / (bright - dark), 0.0, 1.0)
        levels[samples] = covered
    partly = {n: int(((c > 0.1) & (c < 0.9)).sum()) for n, c in levels.items()}
    assert partly[1] == 0
    # The edge crosses one pixel in each of the 17 rows, most of them not just at a corner.
    assert partly[4] >= 8
    # It moves by a tenth of a pixel a row; so does the area that it leaves.
    rows = np.arange(17)
    fits = {n: np.polyfit(rows, c.sum(axis=1), 1) for n, c in levels.items()}
    errors = {
        n: np.abs(levels[n].sum(axis=1) - np.polyval(fit, rows)).max() for n, fit in fits.items()
    }
    assert abs(fits[4][0]) == pytest.approx(0.1, abs=0.02)
    assert errors[4] < 0.3
    assert errors[1] > errors[4]


def test_a_bent_lens_shows_things_where_camera_info_says(
    build_world: Callable[..., Path], sphere: Any
) -> None:
    cv2 = pytest.importorskip('cv2')
    lens = (-0.18, 0.02, 0.001, -0.0005, 0.0)
    spec = replace(SPEC, width=256, height=192, horizontal_fov=1.3, distortion=lens)
    places = [(6.0, 2.6, -38.6), (6.0, -2.2, -41.4), (6.0, 0.0, -40.0)]
    balls = [sphere(f'ball{i}', f'{x} {y} {z} 0 0 0', 0.15) for i, (x, y, z) in enumerate(places)]
    scene = RayScene(load_world(build_world(balls)), device='cpu')
    rig = CameraRig(scene=scene, specs=(spec,), optics=CLOUDY, lamps=(), seed=0)
    frame = rig.render(pose=Pose.of((0, 0, -40)), index=0, lamp_level=0.0)['front']
    f = spec.focal_length
    matrix = np.array([[f, 0, spec.width / 2], [0, f, spec.height / 2], [0, 0, 1]])
    optical = np.array([(-y, -(z + 40.0), x) for x, y, z in places])
    wanted, _ = cv2.projectPoints(optical, np.zeros(3), np.zeros(3), matrix, np.array(lens))
    for i, pixel in enumerate(wanted.reshape(-1, 2)):
        rows, columns = np.nonzero(frame.instance == i)
        assert (columns.mean() + 0.5, rows.mean() + 0.5) == pytest.approx(pixel, abs=0.5)
    straight = optical[0, :2] / optical[0, 2] * f + (spec.width / 2, spec.height / 2)
    assert np.abs(straight - wanted[0, 0]).max() > 2.0


def test_the_seabed_near_the_surface_shows_caustics(
    build_world: Callable[..., Path], box: Any
) -> None:
    def unevenness(depth: float, elevation: float) -> float:
        floor = box('floor', f'0 0 {-depth - 0.5} 0 0 0', '60 60 1', colour='0.5 0.5 0.5')
        scene = RayScene(load_world(build_world([floor])), device='cpu')
        water = replace(CLOUDY, jerlov='I', sun_elevation=elevation)
        rig = CameraRig(scene=scene, specs=(SPEC,), optics=water, lamps=(), seed=0, samples=1)
        down = Pose.from_euler((0, 0, 0.5 - depth + 1.0), 0.0, math.pi / 2, 0.0)
        light = rig.measure(pose=down, lamp_level=0.0)['front'].direct[20:45, 20:45, 1]
        return float(light.std() / light.mean())

    assert unevenness(4.0, 1.0) > 0.1
    assert unevenness(4.0, 1.0) > 5 * unevenness(40.0, 1.0)
    # The sky's light alone focuses nowhere.
    assert unevenness(4.0, -0.1) < 0.02


# -- motion blur ------------------------------------------------------------------------------------


def test_an_exposure_is_cut_into_even_parts_about_its_middle() -> None:
    slow = Motion(linear=(0, 0, 0), angular=(0, 0, 0.1), shutter=1 / 30)
    assert slow.shares(256.0) == pytest.approx((-0.4, -0.2, 0.2, 0.4))
    # 1.5 rad/s for 1/15 s at 256 px/rad is 25.6 px.
    fast = Motion(linear=(0, 0, 0), angular=(0, 0, 1.5), shutter=1 / 15).shares(256.0)
    assert len(fast) == 24
    assert np.diff([*fast[:12], 0.0, *fast[12:]]) == pytest.approx(np.full(24, 1 / 25))
    assert sum(fast) == pytest.approx(0.0)


@pytest.mark.parametrize('shutter', [0.0, -0.01, 0.5, math.nan])
def test_a_shutter_that_no_frame_allows_is_refused(shutter: float) -> None:
    with pytest.raises(OceanGymError, match='motion blur'):
        Motion(linear=(0, 0, 0), angular=(0, 0, 0), shutter=shutter)


def test_blur_spreads_a_thin_bar_evenly(build_world: Callable[..., Path], box: Any) -> None:
    bar = box('bar', '5 0 -40 0 0 0', '0.1 0.12 8', colour='0.9 0.9 0.9')
    scene = RayScene(load_world(build_world([bar])), device='cpu')
    rig = CameraRig(
        scene=scene, specs=(replace(SPEC, width=257, height=33),),
        optics=replace(CLOUDY, jerlov='I'), lamps=(), seed=0,
        # At the highest gain the exposure makes up for nothing.
        sensor=replace(IDEAL, max_gain=0.4),
    )  # fmt: skip

    def profile(motion: Motion | None) -> np.ndarray:
        frame = rig.render(pose=Pose.of((0, 0, -40)), index=0, lamp_level=0.0, motion=motion)
        light = decoded(frame['front'].image[16, :, 1])
        return light - 0.5 * (light[20] + light[-21])

    still = profile(None)
    # 1.5 rad/s for 1/15 s: 0.1 rad, 12.9 px.
    blurred = profile(Motion(linear=(0, 0, 0), angular=(0, 0, 1.5), shutter=1 / 15))
    columns = np.flatnonzero(blurred > 0.15 * blurred.max())
    width = 0.1 * rig.specs[0].focal_length
    bar_width = 0.12 / 4.95 * rig.specs[0].focal_length
    assert np.ptp(columns) + 1 == pytest.approx(width + bar_width, abs=2.5)
    # The bar's light is spread, not lost, and centred where the bar is.
    assert blurred.sum() == pytest.approx(still.sum(), rel=0.1)
    assert (blurred * np.arange(257)).sum() / blurred.sum() == pytest.approx(128.0, abs=0.7)


def test_the_simulator_blurs_what_a_turning_vehicle_sees(
    build_world: Callable[..., Path], box: Any
) -> None:
    from oceangym_core.config.waters import load_profile, load_water
    from oceangym_sim.requests import ResetRequest, SimulatorOptions
    from oceangym_sim.simulator import Simulator

    posts = [box(f'p{i}', f'{6 * math.cos(i):.3f} {6 * math.sin(i):.3f} -40 0 0 0', '0.3 0.3 8')
             for i in range(6)]  # fmt: skip
    world = load_world(build_world(posts))

    def picture(motion_blur: float, turning: bool) -> np.ndarray:
        simulator = Simulator(
            world=world,
            options=SimulatorOptions(
                water=load_water('shallow'), device='cpu', image_size=48, motion_blur=motion_blur
            ),
        )
        simulator.reset(
            ResetRequest(
                start=Pose.of((0, 0, -40)), seed=1, t_max=60.0, t_interval=2.0,
                profile=load_profile('standard'),
                bounds=world.bounds,
            )
        )  # fmt: skip
        action = Action.ROTATE_LEFT if turning else Action.HOLD
        _, observation, _ = simulator.run_maneuver(action, 90.0 if turning else None)
        return observation.cameras['front']

    assert (picture(1 / 15, True) != picture(0.0, True)).any()
    with pytest.raises(OceanGymError, match='motion blur'):
        Simulator(
            world=world,
            options=SimulatorOptions(
                water=load_water('shallow'), sensors='none', motion_blur=-1.0
            ),
        )


# -- determinism ------------------------------------------------------------------------------------

_OBSERVER = """
import json, sys
from pathlib import Path
import drjit, numba
from oceangym_core.contract.actions import DIRECTIONS, optical_orientation, sonar_orientation
from oceangym_core.geometry import Pose
from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import select_variant
select_variant('cpu')
from oceangym_sim.optics.lamps import default_lamps
from oceangym_sim.sensors import SensorSuite
from oceangym_sim.optics.water import WaterOptics
threads = int(sys.argv[2])
drjit.set_thread_count(threads)
numba.set_num_threads(min(threads, numba.get_num_threads()))
suite = SensorSuite(
    world=load_world(Path(sys.argv[1])), optics=WaterOptics(visibility=30.0), lamps=default_lamps(),
    anchors=(), seed=int(sys.argv[3]), device='cpu',
    cameras=tuple(CameraSpec(direction=d, mount=Pose.of((0, 0, 0), optical_orientation(d)),
                             width=160, height=160) for d in DIRECTIONS),
    sonars=tuple(SonarSpec(direction=d, mount=Pose.of((0, 0, 0), sonar_orientation(d)),
                           beams=128, range_bins=256) for d in DIRECTIONS[:2]),
)
hashes = {}
for index in range(2):
    reading = suite.observe(pose=Pose.from_euler((0, 0, -20 - index), 0.1, 0.2, 0.3 * index),
                            index=index, lamp_level=0.7)
    hashes |= {f'{name} {index}': value for name, value in reading.image_hashes.items()}
print(json.dumps(hashes))
"""


def test_a_seed_gives_the_same_bits_whatever_the_number_of_threads(
    build_world: Callable[..., Path], box: Any, sphere: Any
) -> None:
    things = [
        box('wreck', '8 1 -22 0 0 0.5', '2 6 4'), box('floor', '0 0 -30 0 0.1 0', '90 90 1'),
        sphere('ball', '4 -2 -19 0 0 0', 0.7),
    ]  # fmt: skip
    world = build_world(things)

    env = {**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)}
    children = [
        subprocess.Popen(
            [sys.executable, '-c', _OBSERVER, str(world), str(threads), str(seed)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )
        for threads, seed in ((1, 5), (2, 5), (2, 6))
    ]  # fmt: skip
    answers = [child.communicate() for child in children]
    assert [child.returncode for child in children] == [0, 0, 0], answers
    one, two, other = (json.loads(out.splitlines()[-1]) for out, _ in answers)
    assert len(one) == 16
    assert one == two
    assert not any(one[name] == other[name] for name in one)
