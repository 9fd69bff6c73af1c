"""Check whether a device traces rays as it should, made in a child process.

Some faults of drivers end the process instead of raising an error, so `oceangym_sim.selftest` runs
in a process of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
import json
import os
import re
import signal
import subprocess
import sys

# The first start compiles all kernels, on a slow machine for half a minute [s].
TIMEOUT_S = 180.0
_CPU_INSTEAD = 'or use device:=cpu'
# What a child says on its way out -> what it means and what to do, most telling first.
_MEANINGS = (
    (
        r'out of memory|CUDA_ERROR_OUT_OF_MEMORY|MemoryError',
        'the GPU has too little free memory',
        f'End other programs that use the GPU (nvidia-smi lists them), {_CPU_INSTEAD}.',
    ),
    (
        r'optix|nvoptix|nvrtx',
        'the driver has no usable OptiX',
        'Install the whole NVIDIA driver, version 535 or newer (565-569 are refused); in a '
        'container set NVIDIA_DRIVER_CAPABILITIES=all, '
        f'{_CPU_INSTEAD}.',
    ),
    (
        r'version of CUDA is too old|CUDA_ERROR_SYSTEM_DRIVER_MISMATCH|insufficient',
        'the driver is too old',
        f'Update the NVIDIA driver to version 535 or newer, {_CPU_INSTEAD}.',
    ),
    (
        r'No devices found|no compatible CUDA devices|cuInit\(\) failed|CUDA_ERROR_NO_DEVICE'
        r'|CUDA driver library',
        'no GPU answers',
        f'Check that nvidia-smi lists the GPU, {_CPU_INSTEAD}.',
    ),
    (
        r'ModuleNotFoundError|ImportError|no variant',
        'a library is missing',
        f'Install the requirements again, {_CPU_INSTEAD}.',
    ),
)
_UNKNOWN_REMEDY = f'Update the NVIDIA driver, {_CPU_INSTEAD}.'


@dataclass(frozen=True, kw_only=True)
class DeviceReport:
    """What came out of a self-test.

    Attributes:
        works: Whether the device may be used.
        detail: Its figures, or why not.
        remedy: What to do about it; empty where it works.
    """

    works: bool
    detail: str
    remedy: str = ''


@lru_cache(maxsize=1)
def cuda_report() -> DeviceReport:
    """Return the report of the GPU, whose self-test runs once in a process."""
    return _TRUSTED[0] if _TRUSTED else check_device('cuda')


_TRUSTED: list[DeviceReport] = []


def trust_cuda() -> None:
    """Take the GPU as working: in the self-test itself nothing is to be tested before it."""
    _TRUSTED.append(DeviceReport(works=True, detail='under test'))


def check_device(
    device: str = 'cuda', *, command: Sequence[str] | None = None, timeout: float = TIMEOUT_S
) -> DeviceReport:
    """Return the report of a self-test in a child process.

    Args:
        device: ``cpu`` or ``cuda``.
        command: Run instead of this module, which prints a line of JSON on success.
        timeout: After which it counts as hanging [s].
    """
    if command is None:
        command = (sys.executable, '-m', 'oceangym_sim.selftest', device)
    path = os.pathsep.join(entry for entry in sys.path if entry)
    try:
        child = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors='replace',
            timeout=timeout,
            env={**os.environ, 'PYTHONPATH': path},
            check=False,
        )
    except subprocess.TimeoutExpired:
        return _failure(f'its self-test did not end within {timeout:g} s', '')
    except OSError as error:
        return _failure(f'its self-test could not be started ({error})', '')
    if child.returncode < 0:
        return _failure(
            f'its self-test was ended by {_signal_name(-child.returncode)}', child.stderr
        )
    if child.returncode != 0:
        return _failure(f'its self-test failed (exit code {child.returncode})', child.stderr)
    try:
        answer = json.loads(child.stdout.strip().splitlines()[-1])
        figures, faults = dict(answer['figures']), list(answer['faults'])
    except (IndexError, KeyError, TypeError, ValueError):
        return _failure('its self-test gave no result', child.stderr)
    if faults:
        return DeviceReport(
            works=False,
            detail=f'it computes wrongly: {"; ".join(map(str, faults))}',
            remedy=_UNKNOWN_REMEDY,
        )
    return DeviceReport(
        works=True, detail=', '.join(f'{name} {value}' for name, value in figures.items())
    )


def _failure(what: str, stderr: str) -> DeviceReport:
    """Return the report of a child that failed, from what it said last."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    for pattern, reason, remedy in _MEANINGS:
        telling = [line for line in lines if re.search(pattern, line, re.IGNORECASE)]
        if telling:
            return DeviceReport(
                works=False, detail=f'{reason}: {what}, {_shortened(telling[-1])}', remedy=remedy
            )
    said = f', {_shortened(lines[-1])}' if lines else ''
    return DeviceReport(works=False, detail=f'{what}{said}', remedy=_UNKNOWN_REMEDY)


def _shortened(line: str) -> str:
    return repr(line if len(line) <= 200 else line[:197] + '...')


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f'signal {number}'
