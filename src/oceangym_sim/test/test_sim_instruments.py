"""The set of further sonars: mountings, rates, and what they show."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import select_variant
from oceangym_sim.sonar.formation import PingFormer
from oceangym_sim.sonar.presets import device_spec, DYNAMIC_RANGE_DB, presets

select_variant('cpu')

from oceangym_sim.dynamics.thrusters import CURVE_16V  # noqa: E402
from oceangym_sim.rays.scene import RayScene  # noqa: E402
from oceangym_sim.sonar.instrument_set import (  # noqa: E402
    check_names,
    INSTRUMENTS,
    InstrumentSet,
    load_mountings,
)

BOTTOM = -120.0
STILL = np.zeros(8)
HULL = np.array([0.457, 0.575, 0.254])


@pytest.fixture(scope='module')
def scene(build_world: Callable[..., Path], box: Any, sphere: Any) -> RayScene:
    things = [
        box('bottom', f'0 0 {BOTTOM - 1} 0 0 0', '400 400 2', strength_db=-22.0),
        sphere('mine', '8 6 -50 0 0 0', 0.5),
    ]
    return RayScene(load_world(build_world(things)), device='cpu')


def instruments(scene: RayScene, *names: str, seed: int = 0) -> InstrumentSet:
    return InstrumentSet(scene=scene, names=names, seed=seed, mountings=load_mountings())


def test_instruments_sit_outside_the_hull_and_apart() -> None:
    mountings = load_mountings()
    places = [np.array(getattr(mountings, name).position) for name in INSTRUMENTS]
    for i, place in enumerate(places):
        assert (np.abs(place) > HULL / 2).any()
        assert all(np.linalg.norm(place - other) > 0.05 for other in places[:i])


@pytest.mark.parametrize(
    ('name', 'ahead', 'port', 'up'),
    [
        # Fans that look down lie across track: their up is the vehicle's ahead.
        ('altimeter', (0, 0, -1), (0, 1, 0), (1, 0, 0)),
        ('profiler', (0, 0, -1), (0, 1, 0), (1, 0, 0)),
        ('sidescan', (1, 0, 0), (0, 1, 0), (0, 0, 1)),
        ('ping360', (1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ],
)
def test_links_have_x_along_the_boresight(
    name: str, ahead: tuple[int, ...], port: tuple[int, ...], up: tuple[int, ...]
) -> None:
    mountings = load_mountings()
    link = mountings.link(name)
    assert pytest.approx(np.array([ahead, port, up]), abs=1e-9) == link.rotation.T
    assert link.position == pytest.approx(getattr(mountings, name).position)


def test_unknown_instruments_are_refused_with_a_suggestion() -> None:
    with pytest.raises(OceanGymError, match="Did you mean 'ping360'"):
        check_names(['altimeter', 'ping36'])
    assert check_names(['ping360', 'altimeter', 'ping360']) == ('altimeter', 'ping360')


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (('rate_hz: 10.0', 'rate_hz: 20.0'), 'ping360.rate_hz is 20'),
        (('steps: 400', 'steps: 500'), 'ping360.steps is 500'),
        (('direction: front', 'direction: ahead'), "ping360.direction is 'ahead'"),
        (('tilt_deg: 25.0', 'tilt: 25.0'), "tilt_deg"),
        (('[0.0, 0.0, 0.20]', '[0.0, 0.0, 20]'), 'ping360.position.2 is 20'),
    ],
)  # fmt: skip
def test_mountings_that_cannot_be_are_refused(
    tmp_path: Path, change: tuple[str, str], message: str
) -> None:
    text = config_path('instruments.yaml').read_text(encoding='utf-8')
    assert change[0] in text
    path = tmp_path / 'instruments.yaml'
    path.write_text(text.replace(*change), encoding='utf-8')
    with pytest.raises(OceanGymError, match=message):
        load_mountings(path)


def test_devices_that_do_not_exist_are_refused(scene: RayScene) -> None:
    mountings = load_mountings()
    wrong = mountings.model_copy(
        update={'ping360': mountings.ping360.model_copy(update={'device': 'ping36'})}
    )
    with pytest.raises(OceanGymError, match="Did you mean 'ping360'"):
        InstrumentSet(scene=scene, names=('ping360',), seed=0, mountings=wrong)


def test_altitude_and_profile_are_measured_from_the_mounts(scene: RayScene) -> None:
    both, pose = (
        instruments(scene, 'altimeter', 'profiler'),
        Pose.of((-80.0, -80.0, BOTTOM + 10.0)),
    )
    shown = [both.observe(stamp=float(i), pose=pose, thrust=STILL) for i in range(9)]
    assert np.median([r.altitude for r in shown]) == pytest.approx(10.0 - 0.16, abs=0.1)
    readings = shown[0]
    assert readings.profile is not None
    assert np.nanmedian(readings.profile.points[:, 2]) == pytest.approx(BOTTOM, abs=0.05)
    # The fan leaves from the profiler, 0.1 m behind the vehicle's centre.
    assert np.nanmax(np.abs(readings.profile.points[:, 0] + 80.1)) < 0.3
    assert readings.waterfall is None
    assert readings.scan is None


def test_side_scan_leaves_from_its_mount_at_its_tilt(scene: RayScene) -> None:
    mountings = load_mountings()

    def line(**change: object) -> np.ndarray:
        """Return the grey of the port side over range, with something of the mount changed."""
        fish = mountings.sidescan.model_copy(update=change)
        one = InstrumentSet(
            scene=scene,
            names=('sidescan',),
            seed=0,
            mountings=mountings.model_copy(update={'sidescan': fish}),
        )
        pose = Pose.of((-80.0, -80.0, BOTTOM + 20.0))
        picture = one.observe(stamp=0.0, pose=pose, thrust=STILL).waterfall
        assert one.sidescan is not None
        assert picture is not None
        return picture[0, one.sidescan.spec.range_bins - 1 :: -1].astype(float)

    bins = presets()['side_scan'].device
    assert bins is not None
    step = (bins.range_max - bins.range_min) / bins.range_bins

    def onset(grey: np.ndarray) -> float:
        smooth = np.convolve(grey, np.ones(9) / 9, mode='same')
        return bins.range_min + step * float(np.argmax(smooth > 0.5 * (smooth.max() + 40.0)))

    # What looks down first hears the ground at the height of its mount.
    steep = line(tilt_deg=90.0)
    assert onset(steep) == pytest.approx(20.0 - 0.16, abs=0.4)
    lower = line(tilt_deg=90.0, position=(0.0, 0.0, -5.0))
    assert onset(steep) - onset(lower) == pytest.approx(5.0 - 0.16, abs=0.3)
    # What looks aside hears it later.
    assert onset(line(tilt_deg=5.0)) > onset(steep) + 1.0


def test_side_scan_and_head_ping_at_their_rates_on_the_way(scene: RayScene) -> None:
    both = instruments(scene, 'sidescan', 'ping360')
    assert both.sidescan is not None
    assert both.ping360 is not None
    for tick in range(31):
        pose = Pose.of((-80.0 + 0.07 * tick, -80.0, BOTTOM + 6.0))
        both.move(stamp=tick / 10, pose=pose, thrust=STILL)
    readings = both.observe(stamp=3.0, pose=pose, thrust=STILL)
    assert readings.waterfall is not None
    heard = readings.waterfall.max(axis=1) > 0
    # Two a second from 0 to 3 s, newest at the top.
    assert heard.sum() == 7
    assert heard[:7].all()
    assert readings.waterfall.shape == (256, 2 * both.sidescan.spec.range_bins)
    # Ten steps a second, both ends included.
    assert (both.ping360.image.max(axis=0) > 0).sum() == 31
    assert readings.line is not None
    assert readings.line.angle == pytest.approx(both.ping360.spec.azimuths[30])
    # The same instant shows the same again.
    assert both.observe(stamp=3.0, pose=pose, thrust=STILL) is readings


def test_newest_line_of_the_waterfall_is_the_last_ping(scene: RayScene) -> None:
    one = instruments(scene, 'sidescan')
    first = one.observe(stamp=0.0, pose=Pose.of((0, 0, BOTTOM + 6.0)), thrust=STILL).waterfall
    later = one.observe(stamp=1.0, pose=Pose.of((1, 0, BOTTOM + 6.0)), thrust=STILL).waterfall
    assert first is not None
    assert later is not None
    assert (later[1] == first[0]).all()
    assert (later[0] != first[0]).any()


def test_instruments_repeat_with_their_seed_whatever_else_is_on(scene: RayScene) -> None:
    pose = Pose.of((0.0, 0.0, BOTTOM + 6.0))

    def waterfall(*names: str, seed: int) -> np.ndarray:
        picture = instruments(scene, *names, seed=seed).observe(
            stamp=0.0, pose=pose, thrust=STILL
        ).waterfall  # fmt: skip
        assert picture is not None
        return picture

    alone = waterfall('sidescan', seed=3)
    assert (alone == waterfall(*INSTRUMENTS, seed=3)).all()
    assert (alone != waterfall('sidescan', seed=4)).any()


def test_thrusters_are_heard_in_the_water_column(scene: RayScene) -> None:
    pose = Pose.of((-80.0, -80.0, BOTTOM + 60.0))

    def column(share: float) -> float:
        """Return the mean grey of a side-scan line where neither surface nor ground echo."""
        one = instruments(scene, 'sidescan')
        picture = one.observe(
            stamp=0.0, pose=pose, thrust=np.full(8, share * CURVE_16V[-1])
        ).waterfall
        assert one.sidescan is not None
        assert picture is not None
        spec = one.sidescan.spec
        reach = slice(*(round(r / spec.range_resolution) for r in (40.0, 48.0)))
        middle = spec.range_bins
        return float(np.mean([picture[0, middle:][reach], picture[0, middle - 1 :: -1][reach]]))

    silent, hover, full = column(0.0), column(0.04), column(1.0)
    # Hovering at 2 N a thruster is 42 dB below full throttle.
    assert hover == pytest.approx(silent, abs=0.5)
    former = PingFormer(device_spec('side_scan', direction='left', mount=Pose()))
    far = slice(*(round(r / former.spec.range_resolution) for r in (40.0, 48.0)))
    louder = 10 * np.log10(former.noise(1.0)[far] / former.noise()[far]).mean()
    assert (full - silent) * DYNAMIC_RANGE_DB / 255.0 == pytest.approx(louder, abs=0.5)
    assert louder > 3.0
