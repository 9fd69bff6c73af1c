from collections.abc import Callable
from dataclasses import replace
import json
import os
from pathlib import Path
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
from numpy.typing import NDArray
import pytest
from scipy.ndimage import uniform_filter

from oceangym_core.config.waters import load_water
from oceangym_core.contract.actions import DIRECTIONS, optical_orientation, sonar_orientation
from oceangym_core.contract.observation import CameraSpec, Sighting, SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.record.episode import PERCEPTIBLE_CELLS, PERCEPTIBLE_PIXELS
from oceangym_core.world.world import load_world
from oceangym_sim import sensors
from oceangym_sim.optics.lamps import default_lamps
from oceangym_sim.optics.rig import CameraRig, LEAST_GREY
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.perceptible import CONTRAST_SIGMA, ECHO_RATIO
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.sensors import SensorSuite
from oceangym_sim.sonar.rig import SonarRig

ANCHORS = (
    '<oceangym:anchor name="wreck_1" label="SUNKEN SHIP" instances="wreck"><point>15 0 -58</point>'
    '</oceangym:anchor>'
    '<oceangym:anchor name="pipe_1" label="OIL PIPELINE" instances="pipe" radius="5">'
    '<point>0 20 -59</point></oceangym:anchor>'
    '<oceangym:anchor name="hidden_1" label="OIL DRUM" instances="drum"><point>-15 0 -58.5</point>'
    '</oceangym:anchor>'
)
CAMERAS = tuple(
    CameraSpec(direction=d, mount=Pose.of((0, 0, 0), optical_orientation(d))) for d in DIRECTIONS
)
SONARS = tuple(
    SonarSpec(
        direction=d, mount=Pose.of((0, 0, 0), sonar_orientation(d)), range_min=1.0, range_max=40.0,
        elevation_aperture=float(np.deg2rad(20.0)), preset='oceangym_decision',
    )
    for d in DIRECTIONS
)  # fmt: skip


@pytest.fixture(scope='module')
def world_path(build_world: Callable[..., Path], box: Any) -> Path:
    return build_world(
        [
            box('bottom', '0 0 -61 0 0 0', '300 300 2', colour='0.5 0.45 0.35', strength_db=-22.0),
            box('wreck', '15 0 -58 0 0 0.5', '3 8 4', colour='0.3 0.2 0.15'),
            box('pipe', '0 20 -59 0 0 0', '60 1 1', colour='0.4 0.4 0.4'),
            box('drum', '-15 0 -59 0 0 0', '1 1 1', colour='0.1 0.2 0.7'),
            box('rock', '-10 0 -57 0 0 0', '2 12 6', strength_db=-14.0),
        ],
        ANCHORS,
    )


def suite(path: Path, **options: Any) -> SensorSuite:
    world = load_world(path)
    settings = {
        'cameras': CAMERAS, 'sonars': SONARS, 'optics': WaterOptics(visibility=40.0), 'lamps': default_lamps(),
        'anchors': world.anchors, 'seed': 0, 'device': 'cpu', 'mode': 'truth', **options,
    }  # fmt: skip
    return SensorSuite(world=world, **settings)


def counts(sightings: tuple[Sighting, ...]) -> dict[tuple[str, str], int]:
    return {(s.anchor, s.sensor): s.pixels + s.cells for s in sightings}


POSE = Pose.of((0, 0, -57))


def test_truth_mode_agrees_with_full_size(world_path: Path) -> None:
    full = suite(world_path, mode='all').observe(pose=POSE, index=0, lamp_level=0.0)
    truth = suite(world_path).observe(pose=POSE, index=0, lamp_level=0.0)
    assert set(full.cameras) == set(full.sonars) == set(DIRECTIONS)
    assert not truth.cameras
    assert not truth.sonars
    expected, got = counts(full.sightings), counts(truth.sightings)
    for key, value in expected.items():
        if value > 500:
            assert got[key] == pytest.approx(value, rel=0.25), key
    assert all(expected.get(key, 0) > 50 for key, value in got.items() if value > 500)


def test_sensors_left_out_for_speed_would_have_resolved_nothing(
    world_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig = suite(world_path)
    rng = np.random.default_rng(3)
    poses = [
        Pose.from_euler(
            (*rng.uniform((-25, -12), (25, 30)), rng.uniform(-56, -50)),
            0.1,
            0.1,
            rng.uniform(-3, 3),
        )
        for _ in range(6)
    ]
    quick = [counts(rig.observe(pose=p, index=0, lamp_level=0.0).sightings) for p in poses]
    left_out = 0
    for name in ('camera_meets', 'sonar_meets'):
        meets = getattr(sensors, name)

        def count(*arguments: Any, meets: Any = meets) -> bool:
            nonlocal left_out
            left_out += not meets(*arguments)
            return True

        monkeypatch.setattr(sensors, name, count)
    for pose, got in zip(poses, quick):
        expected = counts(rig.observe(pose=pose, index=0, lamp_level=0.0).sightings)
        # Cameras without a target only help to balance the colours: a few pixels at the threshold.
        assert got.keys() == expected.keys()
        assert list(got.values()) == pytest.approx(list(expected.values()), rel=0.03, abs=64)
    assert left_out > len(poses)


def test_a_target_in_the_open_is_seen_and_heard_where_it_is(world_path: Path) -> None:
    got = counts(suite(world_path).observe(pose=POSE, index=0, lamp_level=0.0).sightings)
    assert got['wreck_1', 'camera/front'] > 1000
    assert got['wreck_1', 'sonar/front'] > 100
    assert ('wreck_1', 'camera/back') not in got
    assert got['pipe_1', 'camera/left'] > 500


def test_a_target_behind_a_rock_is_not(world_path: Path) -> None:
    got = counts(suite(world_path).observe(pose=POSE, index=0, lamp_level=0.0).sightings)
    assert not [key for key in got if key[0] == 'hidden_1']
    beside = Pose.of((-15, 8, -57))
    got = counts(suite(world_path).observe(pose=beside, index=0, lamp_level=0.0).sightings)
    assert got['hidden_1', 'camera/right'] > 64


def test_only_the_part_within_the_radius_counts(world_path: Path) -> None:
    far_end = Pose.of((25, 14, -57))
    got = counts(suite(world_path).observe(pose=far_end, index=0, lamp_level=0.0).sightings)
    # The pipe fills the left view, but its target part is 20 m along it.
    near = counts(
        suite(world_path).observe(pose=Pose.of((0, 14, -57)), index=0, lamp_level=0.0).sightings
    )
    assert near['pipe_1', 'camera/left'] > 5000
    assert got.get(('pipe_1', 'camera/left'), 0) == 0


def test_veil_and_distance_hide_a_target_in_deep_water(world_path: Path) -> None:
    deep = WaterOptics(light_lux=1.5, depth_offset=450.0, visibility=10.0)
    dark = suite(world_path, optics=deep, sonars=())
    near = counts(dark.observe(pose=Pose.of((9, 0, -57)), index=0, lamp_level=1.0).sightings)
    assert near['wreck_1', 'camera/front'] > 64
    far = dark.observe(pose=Pose.of((-7, 0, -57)), index=0, lamp_level=1.0)
    assert not [s for s in far.sightings if s.anchor == 'wreck_1']
    off = dark.observe(pose=Pose.of((9, 0, -57)), index=0, lamp_level=0.0)
    assert not off.sightings


def test_none_renders_nothing(world_path: Path) -> None:
    idle = suite(world_path, mode='none')
    reading = idle.observe(pose=POSE, index=0, lamp_level=0.0)
    assert not (reading.cameras or reading.sonars or reading.sightings or reading.image_hashes)
    assert idle.altitude(POSE) == pytest.approx(3.0, abs=1e-3)
    with pytest.raises(OceanGymError, match="Did you mean 'truth'"):
        suite(world_path, mode='truths')


CHILD = """
import json, sys
from pathlib import Path
sys.path[:0] = json.loads(sys.argv[4])
import numpy as np
from dataclasses import replace
from oceangym_core.world.world import load_world
from oceangym_core.contract.actions import DIRECTIONS, optical_orientation, sonar_orientation
from oceangym_core.geometry import Pose
from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_sim.optics.lamps import default_lamps
from oceangym_sim.sensors import SensorSuite
from oceangym_sim.optics.water import WaterOptics
world = load_world(Path(sys.argv[1]))
suites = [SensorSuite(
    world=world, anchors=world.anchors, seed=seed, device='cpu', mode='all',
    optics=WaterOptics(), lamps=default_lamps(),
    cameras=tuple(CameraSpec(direction=d, mount=Pose.of((0, 0, 0), optical_orientation(d)),
                             width=128, height=128) for d in DIRECTIONS),
    sonars=tuple(SonarSpec(direction=d, mount=Pose.of((0, 0, 0), sonar_orientation(d)), beams=128,
                           preset='oceangym_decision') for d in DIRECTIONS),
) for seed in json.loads(sys.argv[3])]
import drjit as dr
dr.set_thread_count(int(sys.argv[2]))
pose = Pose.from_euler((0, 0, -57), 0.1, 0.1, 0.2)
readings = [suite.observe(pose=pose, index=1, lamp_level=0.5) for suite in suites]
print(json.dumps([
    [r.image_hashes, [[s.anchor, s.sensor, s.pixels, s.cells] for s in r.sightings]] for r in readings
]))
"""


def test_bits_depend_on_the_seed_and_not_on_the_threads(world_path: Path) -> None:
    def hashes(threads: int, *seeds: int) -> Any:
        done = subprocess.run(
            [sys.executable, '-c', textwrap.dedent(CHILD), str(world_path), str(threads), json.dumps(seeds),
             json.dumps(sys.path)],
            capture_output=True, text=True, check=True, env=dict(os.environ),
        )  # fmt: skip
        return json.loads(done.stdout.splitlines()[-1])

    [one] = hashes(1, 7)
    assert len(one[0]) == 12
    same, other = hashes(3, 7, 8)
    assert same == one
    assert all(other[0][stream] != digest for stream, digest in one[0].items())


def _shots(rig: CameraRig, pose: Pose, lamp_level: float) -> NDArray[np.float64]:
    """Return twelve pictures of one instant that differ in noise, (12, H, W, 3), traced once."""
    picture, direct, hits = rig._trace(pose, lamp_level)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rig, '_trace', lambda *_: (picture.copy(), direct, hits))
        frames = [rig.render(pose=pose, index=i, lamp_level=lamp_level) for i in range(12)]
    return np.stack([frame['front'].image for frame in frames]).astype(float)


def _agreement(build_world: Callable[..., Path], box: Any, water: str) -> list[tuple[bool, bool]]:
    """Return what truth and pictures say of a block at seeded poses: (truth, picture) each."""
    bottom = box('bottom', '0 0 -61 0 0 0', '300 300 2', colour='0.5 0.45 0.35', strength_db=-22.0)
    rock = box('rock', '-9 3 -59 0 0 0', '2 3 3', colour='0.3 0.3 0.3', strength_db=-14.0)
    block = box('drum', '0 0 -59.2 0 0 0.4', '3 2 1.6', colour='0.25 0.3 0.2', strength_db=-17.0)
    anchor = (
        '<oceangym:anchor name="drum_1" label="OIL DRUM" instances="drum"><point>0 0 -59.2</point>'
        '</oceangym:anchor>'
    )
    optics = replace(WaterOptics.of(load_water(water)), snow=0.0)
    size = 128
    camera = replace(CAMERAS[0], width=size, height=size)
    truth = suite(
        build_world([bottom, rock, block], anchor), optics=optics, cameras=CAMERAS[:1], sonars=()
    )
    pictures = [
        CameraRig(
            scene=RayScene(load_world(build_world(things)), device='cpu'), specs=(camera,),
            optics=optics, lamps=default_lamps(), seed=1, samples=1,
        )
        for things in ([bottom, rock, block], [bottom, rock])
    ]  # fmt: skip
    rng = np.random.default_rng(5)
    answers = []
    for _ in range(24):
        away, bearing, height = rng.uniform(4, 45), rng.uniform(-np.pi, np.pi), rng.uniform(1, 7)
        place = (-away * np.cos(bearing), -away * np.sin(bearing), -60 + height)
        pitch = np.arctan2(height - 0.8, away)
        pose = Pose.from_euler(place, 0.0, pitch, bearing + rng.uniform(-0.5, 0.5))
        reading = truth.observe(pose=pose, index=0, lamp_level=optics.lamps)
        said = any(s.pixels >= PERCEPTIBLE_PIXELS for s in reading.sightings)
        shots = [_shots(rig, pose, optics.lamps) for rig in pictures]
        step = shots[0].mean(axis=0) - shots[1].mean(axis=0)
        spread = np.maximum(shots[0].std(axis=0, ddof=1), shots[1].std(axis=0, ddof=1))
        # A spread of twelve pictures is itself uncertain: that of the neighbourhood is steadier.
        spread = np.sqrt(uniform_filter(spread**2, (5, 5, 0)) + 1 / 12)
        apart = np.sqrt(((step / spread) ** 2).sum(axis=-1))
        seen = (apart > CONTRAST_SIGMA) & (np.abs(step).max(axis=-1) >= LEAST_GREY)
        shown = int(seen.sum()) * 16 >= PERCEPTIBLE_PIXELS
        answers.append((said, shown))
    return answers


@pytest.mark.parametrize('water', ['shallow', 'deep'])
def test_camera_truth_agrees_with_pictures_with_and_without_the_target(
    build_world: Callable[..., Path], box: Any, water: str
) -> None:
    answers = _agreement(build_world, box, water)
    assert {shown for _, shown in answers} == {True, False}
    assert sum(said == shown for said, shown in answers) >= len(answers) - 2


def test_sonar_truth_agrees_with_fans_with_and_without_the_target(
    build_world: Callable[..., Path], box: Any
) -> None:
    bottom = box('bottom', '0 0 -61 0 0 0', '300 300 2', strength_db=-27.0)
    deck = box('deck', '0 0 -59.5 0 0 0.4', '8 8 1', strength_db=-14.0)
    anchor = (
        '<oceangym:anchor name="deck_1" label="PLATFORM" instances="deck"><point>0 0 -59</point>'
        '</oceangym:anchor>'
    )
    truth = suite(build_world([bottom, deck], anchor), cameras=(), sonars=SONARS[:1])
    rigs = [
        SonarRig(
            scene=RayScene(load_world(build_world(t)), device='cpu'), specs=SONARS[:1], seed=1
        )
        for t in ([bottom, deck], [bottom])
    ]
    floor = rigs[0].formers[0].noise_floor[:, None]
    rng = np.random.default_rng(5)
    answers, beside = [], 0
    for _ in range(24):
        away, bearing, height = rng.uniform(6, 36), rng.uniform(-np.pi, np.pi), rng.uniform(2, 14)
        place = (-away * np.cos(bearing), -away * np.sin(bearing), -60 + height)
        pose = Pose.from_euler(place, 0.0, 0.0, bearing + rng.uniform(-0.8, 0.8))
        reading = truth.observe(pose=pose, index=0, lamp_level=0.0)
        said = any(s.cells >= PERCEPTIBLE_CELLS for s in reading.sightings)
        with_it, without = (
            rig.observe(pose=pose, index=0, noise=False)['front'].mean + floor for rig in rigs
        )
        # 6 dB of echo over what there was: five times as much in all.
        cells = int((with_it >= (1.0 + ECHO_RATIO) * without).sum())
        answers.append((said, cells >= PERCEPTIBLE_CELLS))
        # Below the nominal aperture the side lobes show it all the same.
        beside += said and np.degrees(np.arctan2(height - 1.0, away + 4.0)) > 10.0
    assert {shown for _, shown in answers} == {True, False}
    assert sum(said == shown for said, shown in answers) >= len(answers) - 1
    assert beside >= 3
