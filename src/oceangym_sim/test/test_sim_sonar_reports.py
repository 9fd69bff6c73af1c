"""What went wrong for users of comparable sonar simulators, as tests."""

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
import pytest

from oceangym_core.contract.actions import DIRECTIONS, sonar_orientation
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import select_variant
from oceangym_sim.sonar.fan import FanProjector

select_variant('cpu')

import drjit as dr  # noqa: E402
import mitsuba as mi  # noqa: E402

from oceangym_sim.rays.scene import RayScene  # noqa: E402
from oceangym_sim.sonar.rig import SonarRig  # noqa: E402

SPECS = tuple(
    SonarSpec(
        direction=d,
        mount=Pose.of((0, 0, 0), sonar_orientation(d)),
        range_min=1.0,
        range_max=40.0,
        elevation_aperture=float(np.deg2rad(20.0)),
        preset='oceangym_decision',
        beams=256,
        range_bins=256,
        elevation_rays=32,
    )
    for d in DIRECTIONS
)
FRONT = SPECS[0]


def scene_with(build_world: Callable[..., Path], things: list[Any]) -> RayScene:
    return RayScene(load_world(build_world(things)), device='cpu')


@pytest.mark.parametrize('roll', [0.0, np.pi])
def test_a_target_to_port_shows_on_the_port_half(
    build_world: Callable[..., Path], sphere: Any, roll: float
) -> None:
    # nps_uw_multibeam_sonar 46: right only when rolled over.
    azimuth = np.deg2rad(15.0)
    place = 12.0 * np.array([np.cos(azimuth), np.sin(azimuth)])
    scene = scene_with(build_world, [sphere('ball', f'{place[0]} {place[1]} -50 0 0 0', 0.3)])
    rig = SonarRig(scene=scene, specs=(FRONT,), seed=0)
    frame = rig.observe(pose=Pose.from_euler((0, 0, -50), roll, 0, 0), index=0)['front']
    assert frame.polar is not None
    beam = int(frame.polar.max(axis=0).argmax())
    on_port = roll == 0.0
    assert (beam < FRONT.beams // 2) == on_port
    assert FRONT.azimuths[beam] == pytest.approx(azimuth if on_port else -azimuth, abs=0.02)
    fan = FanProjector(FRONT, rings=False).render(frame.polar)
    assert (np.argwhere(fan == fan.max())[:, 1].mean() < fan.shape[1] / 2) == on_port


@pytest.mark.parametrize('aperture_deg', [60.0, 120.0, 180.0])
def test_beams_run_from_edge_to_edge_of_the_field_of_view(aperture_deg: float) -> None:
    # forward_looking_sonar_gazebo 8 and 10: the index came from the full circle.
    spec = replace(FRONT, azimuth_aperture=float(np.deg2rad(aperture_deg)))
    half = spec.azimuth_aperture / 2
    index = np.abs(spec.azimuths[:, None] - np.linspace(half, -half, 99)).argmin(axis=0)
    assert (index[0], index[-1]) == (0, spec.beams - 1)
    assert (np.diff(index) > 0).all()


@pytest.mark.parametrize('aperture_deg', [120.0, 180.0])
def test_fan_images_are_not_cropped(aperture_deg: float) -> None:
    # nps_uw_multibeam_sonar 35: the width was the number of beams.
    spec = replace(FRONT, azimuth_aperture=float(np.deg2rad(aperture_deg)))
    projector = FanProjector(spec, rings=False)
    for beam in (0, spec.beams - 1):
        polar = np.zeros((spec.range_bins, spec.beams), np.float32)
        polar[-4:, beam] = 1.0
        assert projector.render(polar).max() == 255


def test_polar_images_lie_range_by_range_in_memory(
    build_world: Callable[..., Path], sphere: Any
) -> None:
    # IOES-Lab/dave 37: beams and ranges swapped after a port.
    things = [sphere('ball', '9 -6 -50 0 0 0', 0.3)]
    spec = replace(FRONT, beams=192, range_bins=320)
    rig = SonarRig(scene=scene_with(build_world, things), specs=(spec,), seed=0)
    polar = rig.observe(pose=Pose.of((0, 0, -50)), index=0)['front'].polar
    assert polar is not None
    data = polar.tobytes()
    assert len(data) == spec.beams * spec.range_bins * polar.itemsize
    strongest = int(np.frombuffer(data, np.float32).argmax())
    bin_, beam = divmod(strongest, spec.beams)
    assert spec.range_min + (bin_ + 0.5) * spec.range_resolution == pytest.approx(
        np.hypot(9, 6) - 0.3, abs=0.3
    )
    assert spec.azimuths[beam] == pytest.approx(np.arctan2(-6, 9), abs=0.03)


def test_no_ping_of_a_working_backend_is_all_zero(
    build_world: Callable[..., Path], sphere: Any
) -> None:
    # nps_uw_multibeam_sonar 42: a black image without an error.
    scene = scene_with(build_world, [sphere('ball', '10 0 -50 0 0 0', 0.3)])
    frames = SonarRig(scene=scene, specs=SPECS, seed=0).observe(pose=Pose.of((0, 0, -50)), index=0)
    assert set(frames) == set(DIRECTIONS)
    for frame in frames.values():
        assert frame.polar is not None
        assert (frame.polar > 0.0).mean() > 0.99
        assert np.isfinite(frame.polar).all()


def test_nothing_is_built_in_the_middle_of_a_run(
    build_world: Callable[..., Path], sphere: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # holoocean-docs 13: seconds of stutter while octrees were built.
    scene = scene_with(build_world, [sphere('ball', '10 0 -50 0 0 0', 0.3)])
    rig = SonarRig(scene=scene, specs=SPECS, seed=0)
    for index in range(2):
        rig.observe(pose=Pose.of((0, 0, -50)), index=index)

    def refuse(*_: object) -> None:
        raise AssertionError('a scene was built during a run')

    monkeypatch.setattr(mi, 'load_dict', refuse)
    dr.kernel_history_clear()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        for index in range(2, 6):
            pose = Pose.from_euler((3.0 * index, -index, -50.0 + index), 0.1, 0.1 * index, index)
            rig.observe(pose=pose, index=index)
    kernels = [k for k in dr.kernel_history() if k['type'] == dr.KernelType.JIT]
    assert kernels
    assert all(kernel['cache_hit'] for kernel in kernels)


CHILD = """
import hashlib, json, os, sys
from pathlib import Path
cores = int(sys.argv[3])
if hasattr(os, 'sched_setaffinity'):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
sys.path[:0] = json.loads(sys.argv[2])
import numba
import numpy as np
from oceangym_core.contract.actions import DIRECTIONS, sonar_orientation
from oceangym_core.geometry import Pose
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.world.world import load_world
from oceangym_sim.rays.device import select_variant
select_variant('cpu')
from oceangym_sim.sonar.instrument_set import INSTRUMENTS, InstrumentSet, load_mountings
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.sonar.rig import SonarRig
import drjit as dr
dr.set_thread_count(cores)
assert numba.config.NUMBA_NUM_THREADS == dr.thread_count() == cores
specs = tuple(SonarSpec(direction=d, mount=Pose.of((0, 0, 0), sonar_orientation(d)), beams=128,
                        range_bins=128, elevation_rays=16, preset='oceangym_decision')
              for d in DIRECTIONS)
scene = RayScene(load_world(Path(sys.argv[1])), device='cpu')
rig = SonarRig(scene=scene, specs=specs, seed=4)
instruments = InstrumentSet(scene=scene, names=INSTRUMENTS, seed=4, mountings=load_mountings())
digest = hashlib.sha256()
for index in range(3):
    frames = rig.observe(pose=Pose.from_euler((index, 0, -55), 0, 0.1, index), index=index)
    for d in DIRECTIONS:
        digest.update(frames[d].polar.tobytes())
    readings = instruments.observe(
        stamp=float(index), pose=Pose.of((index, 0, -55)), thrust=np.full(8, 5.0)
    )
    for array in (readings.profile.ranges, readings.waterfall, readings.line.intensity):
        digest.update(array.tobytes())
    digest.update(repr(readings.altitude).encode())
print(digest.hexdigest())
"""


def test_pings_do_not_depend_on_the_number_of_threads(
    build_world: Callable[..., Path], sphere: Any, box: Any
) -> None:
    world = build_world(
        [
            sphere('ball', '10 0 -50 0 0 0', 0.8),
            box('bottom', '0 0 -61 0 0 0', '200 200 2', strength_db=-20.0),
            box('wall', '-12 0 -55 0 0 0.4', '1 30 20'),
        ]
    )
    digests = set()
    for cores in (1, 2):
        result = subprocess.run(
            [sys.executable, '-c', textwrap.dedent(CHILD), str(world), json.dumps(sys.path), str(cores)],
            capture_output=True, text=True, check=True, timeout=300,
            env={**os.environ, 'NUMBA_NUM_THREADS': str(cores)},
        )  # fmt: skip
        digests.add(result.stdout.strip())
    assert len(digests) == 1
