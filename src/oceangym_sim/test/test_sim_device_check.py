"""What becomes of a GPU that does not do what it should, told by fake children."""

from collections.abc import Callable, Iterator
import json
import logging
import os
from pathlib import Path
import re
import subprocess
import sys

import numpy as np
import pytest

from oceangym_core.contract.actions import DIRECTIONS, optical_orientation
from oceangym_core.contract.observation import CameraSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world
from oceangym_sim import selftest
from oceangym_sim.rays import device as backend
from oceangym_sim.rays import device_check
from oceangym_sim.rays.device import choose_device, gpu_count, select_variant
from oceangym_sim.rays.device_check import check_device, DeviceReport

GOOD = json.dumps({'figures': {'variant': 'cuda_ad_rgb', 'echo': '-34.4 dB'}, 'faults': []})
OPTIX = (
    'jit_optix_api_init(): libnvoptix.so.1 could not be loaded -- disabling OptiX backend! Set the '
    'DRJIT_LIBOPTIX_PATH environment variable to specify its path.'
)
MEMORY = (
    'Critical Dr.Jit compiler failure: jit_malloc(): out of memory! Could not allocate 1 bytes'
)
TOO_OLD = (
    'jit_cuda_init(): your version of CUDA is too old (found 11.4, at least 12.2 / driver R535)'
)
NO_DEVICE = 'jit_cuda_init(): No devices found -- disabling CUDA backend!'


def child(code: str) -> tuple[str, ...]:
    """Return a command that runs Python code."""
    return (sys.executable, '-c', f'import os, signal, sys, time\n{code}')


def dies(stderr: str, how: str = 'sys.exit(1)') -> tuple[str, ...]:
    return child(f'print({stderr!r}, file=sys.stderr, flush=True); {how}')


def test_a_child_that_is_right_makes_the_device_work() -> None:
    report = check_device(command=child(f'print("drjit says hello"); print({GOOD!r})'))
    assert report == DeviceReport(works=True, detail='variant cuda_ad_rgb, echo -34.4 dB')


@pytest.mark.parametrize(
    ('command', 'detail', 'remedy'),
    [
        (dies(OPTIX), 'no usable OptiX: .*exit code 1.*libnvoptix', 'NVIDIA_DRIVER_CAPABILITIES'),
        (dies(f'{OPTIX}\nAborted', 'os.abort()'), 'no usable OptiX: .*SIGABRT', '535 or newer'),
        (dies(MEMORY, 'os.abort()'), 'too little free memory: .*SIGABRT', 'nvidia-smi'),
        (dies('cuda_check(): API error 0002 (CUDA_ERROR_OUT_OF_MEMORY)'), 'free memory', 'End'),
        (dies(TOO_OLD), 'driver is too old', 'Update'),
        (dies(NO_DEVICE), 'no GPU answers', 'nvidia-smi lists the GPU'),
        (child('import no_such_mitsuba'), "library is missing: .*'no_such_mitsuba'", 'again'),
        (dies('this Mitsuba has no variant cuda_ad_rgb'), 'library is missing', 'again'),
        (dies('', 'os.kill(os.getpid(), signal.SIGSEGV)'), 'ended by SIGSEGV', 'Update'),
        (dies('something new\n\n', 'sys.exit(7)'), r"exit code 7\), 'something new'", 'Update'),
        (dies('x' * 500), r'xxx\.\.\.', 'Update'),
        (child('time.sleep(60)'), 'did not end within 1 s', 'Update'),
        (child(''), 'gave no result', 'Update'),
        (child('print("[1]")'), 'gave no result', 'Update'),
        (child('print("{\\"figures\\": 3, \\"faults\\": []}")'), 'gave no result', 'Update'),
        (('/nowhere/python',), 'could not be started', 'Update'),
        (
            child(
                'print(\'{"figures": {}, "faults": ["the range of a card is 4 instead of 3"]}\')'
            ),
            'computes wrongly: the range of a card is 4',
            'Update',
        ),
    ],
)
def test_a_child_that_fails_says_why(command: tuple[str, ...], detail: str, remedy: str) -> None:
    report = check_device(command=command, timeout=1.0 if 'sleep' in command[-1] else 60.0)
    assert not report.works
    assert re.search(detail, report.detail), report.detail
    assert remedy in report.remedy
    assert 'device:=cpu' in report.remedy


@pytest.fixture
def one_gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[DeviceReport], list[int]]]:
    """Pretend that a driver offers a GPU whose self-test ends with a report; count the tests."""

    def pretend(report: DeviceReport) -> list[int]:
        asked: list[int] = []

        def test(device: str) -> DeviceReport:
            asked.append(1)
            return report

        monkeypatch.setattr(device_check, 'check_device', test)
        return asked

    device_check.cuda_report.cache_clear()
    monkeypatch.setattr(backend, 'gpu_count', lambda: 1)
    backend._warn_once.cache_clear()
    yield pretend
    device_check.cuda_report.cache_clear()
    backend._warn_once.cache_clear()


BROKEN = DeviceReport(works=False, detail='the driver has no usable OptiX', remedy='Reinstall it.')


def test_auto_falls_back_to_the_cpu_and_says_why(
    one_gpu: Callable[[DeviceReport], list[int]], caplog: pytest.LogCaptureFixture
) -> None:
    asked = one_gpu(BROKEN)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert select_variant('auto') == 'llvm_ad_rgb'
    assert [r.getMessage() for r in caplog.records] == [
        'rays are traced on the CPU, not on the GPU: the driver has no usable OptiX. Reinstall it.'
    ]
    assert len(asked) == 1


def test_cuda_refuses_with_the_reason_and_the_remedy(
    one_gpu: Callable[[DeviceReport], list[int]],
) -> None:
    one_gpu(BROKEN)
    with pytest.raises(OceanGymError, match=r'device cuda: .* no usable OptiX\. Reinstall it\.'):
        select_variant('cuda')


def test_a_gpu_that_works_is_chosen_by_auto_and_cuda(
    one_gpu: Callable[[DeviceReport], list[int]],
) -> None:
    asked = one_gpu(DeviceReport(works=True, detail='echo -34.4 dB'))
    for device in ('auto', 'cuda'):
        chosen, why = choose_device(device)
        assert chosen == 'cuda'
        assert 'self-test: echo -34.4 dB' in why
    assert choose_device('cpu')[0] == 'cpu'
    assert len(asked) == 1


def test_without_a_gpu_no_child_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError('a child was started')

    monkeypatch.setattr(backend, 'gpu_count', lambda: 0)
    monkeypatch.setattr(subprocess, 'run', start)
    assert choose_device('auto') == (
        'cpu', 'rays are traced on the CPU: there is no NVIDIA GPU with a driver'
    )  # fmt: skip
    assert select_variant('auto') == 'llvm_ad_rgb'
    with pytest.raises(OceanGymError, match='no NVIDIA GPU'):
        choose_device('cuda')


# -- the trial itself, on the device that is there ---------------------------------------------------


def test_the_trial_passes_on_the_cpu_in_a_child_of_its_own() -> None:
    report = check_device('cpu')
    assert report.works, report.detail
    assert 'llvm_ad_rgb' in report.detail


@pytest.mark.parametrize(
    ('right', 'wrong', 'fault'),
    [
        ('0.5 0 -50', '0.502 0 -50', 'the range of a card'),
        ('0.5 0 -50', '0.6 0 -50', "echo's bin"),
        ('<diffuse>0.9 0.9 0.9', '<diffuse>0.9 0.9 0.89', "the card's blue light is"),
        ('strength_db="-8.0"', 'strength_db="-8.3"', r'echo \[dB\]'),
    ],
)
def test_the_trial_finds_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, right: str, wrong: str, fault: str
) -> None:
    write = selftest._write_tank

    def another_tank(folder: Path) -> Path:
        world = write(folder)
        for path in (world, *folder.rglob('model.sdf')):
            path.write_text(path.read_text().replace(right, wrong))
        return world

    monkeypatch.setattr(selftest, '_write_tank', another_tank)
    _, faults = selftest.run_trial('cpu')
    assert any(re.search(fault, text) for text in faults), faults


def test_the_module_s_own_command_line() -> None:
    env = {**os.environ, 'PYTHONPATH': os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, '-m', 'oceangym_sim.selftest', 'gpu'],
        capture_output=True, text=True, env=env, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert 'invalid choice' in done.stderr


@pytest.mark.skipif(gpu_count() == 0, reason='no GPU is there')
def test_cpu_and_gpu_show_the_same_picture() -> None:
    from oceangym_core.world.world import world_path
    from oceangym_sim.optics.rig import CameraRig
    from oceangym_sim.optics.water import WaterOptics
    from oceangym_sim.rays.scene import RayScene

    world = load_world(world_path('ocean'))
    specs = tuple(
        CameraSpec(
            direction=d, mount=Pose.of((0, 0, 0), optical_orientation(d)), width=256, height=256
        )
        for d in DIRECTIONS
    )
    pictures = []
    for device in ('cpu', 'cuda'):
        scene = RayScene(world, device=device)
        rig = CameraRig(scene=scene, specs=specs, optics=WaterOptics(), lamps=(), seed=1)
        frames = rig.render(pose=Pose.of((144, -114, -63)), index=0, lamp_level=0.0)
        pictures.append(np.stack([frames[d].image for d in DIRECTIONS]).astype(int))
    off = np.abs(pictures[0] - pictures[1]).max(axis=-1)
    # The tolerance that the documentation states.
    assert (off <= 2).mean() > 0.995
