from collections.abc import Callable
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oceangym_core.contract.actions import DIRECTIONS, sonar_orientation
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import select_variant
from oceangym_sim.sonar.fan import FanProjector

select_variant('cpu')

from oceangym_sim.rays.scene import RayScene  # noqa: E402
from oceangym_sim.sonar.rig import SILENT_PINGS, SonarRig  # noqa: E402

BALL = np.array([10.0, -5.0, -60.0])
RADIUS = 0.2
ATTITUDES = [(0.0, 0.0, 0.0), (0.3, -0.2, 2.4), (-0.5, 0.4, -1.1)]


def specs(**options: Any) -> tuple[SonarSpec, ...]:
    settings = {
        'range_min': 1.0, 'range_max': 40.0, 'elevation_aperture': float(np.deg2rad(20.0)),
        'preset': 'oceangym_decision', **options,
    }  # fmt: skip
    return tuple(
        SonarSpec(direction=d, mount=Pose.of((0.1, 0.05, -0.06), sonar_orientation(d)), **settings)
        for d in DIRECTIONS
    )


@pytest.fixture(scope='module')
def ball_scene(build_world: Callable[..., Path], sphere: Any) -> RayScene:
    return RayScene(
        load_world(build_world([sphere('ball', '10 -5 -60 0 0 0', RADIUS)])), device='cpu'
    )


@pytest.fixture(scope='module')
def rig(ball_scene: RayScene) -> SonarRig:
    return SonarRig(scene=ball_scene, specs=specs(), seed=0)


def at(distance: float, azimuth_deg: float, elevation_deg: float) -> np.ndarray:
    """Return a point in the sonar frame: z forward, x up, y starboard; azimuth positive to port."""
    azimuth, elevation = np.deg2rad(azimuth_deg), np.deg2rad(elevation_deg)
    return distance * np.array(
        [
            np.sin(elevation),
            -np.sin(azimuth) * np.cos(elevation),
            np.cos(azimuth) * np.cos(elevation),
        ]
    )


def pose_that_hears(point_body: np.ndarray, attitude: tuple[float, float, float]) -> Pose:
    turned = Pose.from_euler((0, 0, 0), *attitude)
    return Pose.of(BALL - turned.apply(point_body), turned.quaternion)


@pytest.mark.parametrize('attitude', ATTITUDES)
@pytest.mark.parametrize(('azimuth_deg', 'distance'), [(25.0, 12.0), (-41.0, 7.0)])
@pytest.mark.parametrize('direction', DIRECTIONS)
def test_known_point_lands_in_its_bin_and_beam(
    rig: SonarRig,
    direction: str,
    azimuth_deg: float,
    distance: float,
    attitude: tuple[float, float, float],
) -> None:
    spec = next(s for s in rig.specs if s.direction == direction)
    target = at(distance, azimuth_deg, 3.0)
    pose = pose_that_hears(spec.mount.apply(target), attitude)
    frame = rig.observe(pose=pose, index=0)[direction]
    row, beam = np.unravel_index(int(frame.mean.argmax()), frame.mean.shape)
    # The strongest echo is the ball's nearest face.
    expected_row = (distance - RADIUS - spec.range_min) / spec.range_resolution
    assert row + 0.5 == pytest.approx(expected_row, abs=1.5)
    # A spherical cap spreads evenly over some beams: their centre is the ball's azimuth.
    lit = frame.mean[: row + 8].sum(axis=0)
    centre = float((lit * np.arange(spec.beams)).sum() / lit.sum())
    step = spec.azimuth_aperture / (spec.beams - 1)
    assert centre == pytest.approx((np.deg2rad(60.0) - np.deg2rad(azimuth_deg)) / step, abs=1.0)
    # Port is the left half of the polar and of the fan image.
    assert (beam < spec.beams / 2) == (azimuth_deg > 0)
    fan = FanProjector(spec)
    silent = fan.render(np.zeros_like(frame.mean))
    _, columns = np.nonzero(fan.render(np.minimum(frame.mean, 1.0)) != silent)
    assert (columns.mean() < fan.width / 2) == (azimuth_deg > 0)
    assert frame.polar is not None
    noisy_row, noisy_beam = np.unravel_index(int(frame.polar.argmax()), frame.polar.shape)
    assert abs(noisy_row - expected_row) < 4
    assert abs(noisy_beam - centre) < 8


def test_asymmetric_scene_is_not_mirrored(build_world: Callable[..., Path], sphere: Any) -> None:
    things = [sphere('port', '9 4 -50 0 0 0', 0.4), sphere('starboard', '15 -5 -50 0 0 0', 0.4)]
    scene = RayScene(load_world(build_world(things)), device='cpu')
    rig = SonarRig(scene=scene, specs=specs()[:1], seed=0)
    frame = rig.observe(pose=Pose.of((0, 0, -50)), index=0)['front']
    half = rig.specs[0].beams // 2
    bins = {}
    for side, part in (('port', frame.mean[:, :half]), ('starboard', frame.mean[:, half:])):
        row = int(part.sum(axis=1).argmax())
        bins[side] = rig.specs[0].range_min + (row + 0.5) * rig.specs[0].range_resolution
    offset = np.array([0.1, 0.05, -0.06])
    assert bins['port'] == pytest.approx(np.linalg.norm([9, 4, 0] - offset) - 0.4, abs=0.15)
    assert bins['starboard'] == pytest.approx(np.linalg.norm([15, -5, 0] - offset) - 0.4, abs=0.15)


@pytest.mark.parametrize('elevation_deg', [-14.0, 14.0, 32.0])
def test_outside_the_aperture_is_heard_by_the_pattern(rig: SonarRig, elevation_deg: float) -> None:
    spec, former = rig.specs[0], rig.formers[0]

    def frame(elevation: float) -> Any:
        pose = pose_that_hears(spec.mount.apply(at(10.0, 0.0, elevation)), (0.0, 0.0, 0.0))
        return rig.observe(pose=pose, index=0, noise=False)['front']

    outside, inside = frame(elevation_deg), frame(0.0)
    # Sent and received: the pattern counts twice. Half of the power one way is left at 10 deg.
    expected = 20 * np.log10(former.one_way(np.array([np.deg2rad(elevation_deg)]))[0])
    level = 10 * np.log10(outside.mean.sum() / inside.mean.sum())
    assert level == pytest.approx(expected, abs=2.0)
    assert level < -12.0


def test_strength_and_incidence_shade_the_echo(build_world: Callable[..., Path], box: Any) -> None:
    tilt = 1.0
    things = [
        box('strong', '10 0 -50 0 0 0', '0.5 40 40', strength_db=-10.0),
        box('weak', '-10 0 -50 0 0 0', '0.5 40 40', strength_db=-25.0),
        box('tilted', f'0 40 -50 {tilt} 0 0', '60 0.5 60', strength_db=-10.0),
    ]
    scene = RayScene(load_world(build_world(things)), device='cpu')
    rig = SonarRig(scene=scene, specs=specs(range_max=70.0), seed=0)
    frames = rig.observe(pose=Pose.of((0, 0, -50)), index=0, bounce=False, noise=False)
    middle = slice(250, 262)
    echo = {d: frames[d].mean[:, middle].sum(axis=0).mean() for d in ('front', 'back', 'left')}
    assert 10 * np.log10(echo['front'] / echo['back']) == pytest.approx(15.0, abs=0.3)
    assert echo['left'] / echo['front'] == pytest.approx(np.cos(tilt), rel=0.12)


def test_second_bounce_appears_behind_a_corner(build_world: Callable[..., Path], box: Any) -> None:
    # Floor and wall: a ray may go floor, wall, home; it must come later than the wall's own echo.
    things = [
        box('floor', '15 0 -52.5 0 0 0', '60 40 1', strength_db=-15.0),
        box('wall', '20.5 0 -47 0 0 0', '1 40 12', strength_db=-8.0),
    ]
    scene = RayScene(load_world(build_world(things)), device='cpu')
    rig = SonarRig(scene=scene, specs=specs()[:1], seed=0)
    pose = Pose.of((0, 0, -50))
    single = rig.observe(pose=pose, index=0, bounce=False, noise=False)['front'].mean
    double = rig.observe(pose=pose, index=0, bounce=True, noise=False)['front'].mean
    extra = double - single
    assert extra.max() > 0.0
    rows = np.nonzero(extra[:, 256] > 1e-9)[0]
    first = rig.specs[0].range_min + rows.min() * rig.specs[0].range_resolution
    assert first >= 20.0 - 0.1 - 0.2
    assert extra.sum() < 0.3 * single.sum()


def test_pings_repeat_with_their_seed(ball_scene: RayScene) -> None:
    small = specs(beams=64, range_bins=64, elevation_rays=16)

    def polar(seed: int, index: int) -> np.ndarray:
        frames = SonarRig(scene=ball_scene, specs=small, seed=seed).observe(
            pose=Pose.of((0, 0, -60)), index=index
        )
        return np.stack([frames[d].polar for d in DIRECTIONS])

    first = polar(1, 2)
    assert first.dtype == np.float32
    assert (first == polar(1, 2)).all()
    assert (first != polar(2, 2)).any()
    assert (first != polar(1, 3)).any()
    assert (first[0] != first[1]).any()


def test_silence_is_reported(
    ball_scene: RayScene, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = SonarRig(
        scene=ball_scene, specs=specs(beams=16, range_bins=16, elevation_rays=4)[:1], seed=0
    )
    monkeypatch.setattr(rig.formers[0], 'ping', lambda mean, rng, **_: np.zeros_like(mean))
    with caplog.at_level(logging.WARNING):
        for index in range(2 * SILENT_PINGS):
            rig.observe(pose=Pose.of((0, 0, -60)), index=index)
    assert sum('all zero' in record.message for record in caplog.records) == 1
