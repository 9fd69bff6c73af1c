"""Chooses what traces the rays: all CPU cores (LLVM) or an NVIDIA GPU (CUDA)."""

from __future__ import annotations

import ctypes
from functools import lru_cache
import logging
import os
from pathlib import Path
import re

from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_sim.rays.device_check import cuda_report

_LOG = logging.getLogger(__name__)
DEVICES = ('auto', 'cpu', 'cuda')
VARIANTS = {'cpu': 'llvm_ad_rgb', 'cuda': 'cuda_ad_rgb'}
# LLVM 15 and 16 abort the whole process on AVX2 machines ("Cannot select fminimum").
MINIMUM_LLVM = 17
_REMEDY = (
    'Install a shared LLVM newer than 16 (Debian and Ubuntu: apt-get install libllvm19) or point '
    'DRJIT_LIBLLVM_PATH to one.'
)


def llvm_version(library: Path) -> int:
    """Return the major version of a shared libLLVM (0 where it cannot be told).

    Raises:
        OceanGymError: The file cannot be loaded as a library.
    """
    try:
        handle = ctypes.CDLL(str(library))
    except OSError as error:
        raise OceanGymError(
            f'{library} cannot be loaded as libLLVM: {error}. {_REMEDY}'
        ) from error
    try:
        query = handle.LLVMGetVersion
    except AttributeError:
        # LLVMGetVersion came with LLVM 16: a library without it is older.
        return 0
    major, minor, patch = ctypes.c_uint(), ctypes.c_uint(), ctypes.c_uint()
    query(ctypes.byref(major), ctypes.byref(minor), ctypes.byref(patch))
    return int(major.value)


def find_llvm() -> Path:
    """Return the shared libLLVM to use: DRJIT_LIBLLVM_PATH if set, else the newest installed.

    Raises:
        OceanGymError: There is none that works.
    """
    named = os.environ.get('DRJIT_LIBLLVM_PATH')
    if named:
        path = Path(named)
        if not path.is_file():
            raise OceanGymError(f'DRJIT_LIBLLVM_PATH={named} is not a file. {_REMEDY}')
        version = llvm_version(path)
        if version < MINIMUM_LLVM:
            raise OceanGymError(
                f'DRJIT_LIBLLVM_PATH={named} is LLVM {version or "15 or older"}; '
                f'{MINIMUM_LLVM} or newer is needed. {_REMEDY}'
            )
        return path
    seen: set[Path] = set()
    best: tuple[int, Path] | None = None
    for candidate in _candidates():
        path = candidate.resolve()
        if path in seen or not path.is_file():
            continue
        seen.add(path)
        version = llvm_version(path)
        if version >= MINIMUM_LLVM and (best is None or version > best[0]):
            best = (version, path)
    if best is None:
        found = ', '.join(str(path) for path in sorted(seen)) or 'none'
        raise OceanGymError(f'no usable libLLVM (found: {found}). {_REMEDY}')
    return best[1]


def _candidates() -> list[Path]:
    """Return installed files that look like a shared libLLVM new enough by their names."""
    patterns = ('lib/*-linux-gnu/libLLVM*.so*', 'lib/llvm-*/lib/libLLVM*.so*', 'lib*/libLLVM*.so*')
    found = [path for pattern in patterns for path in sorted(Path('/usr').glob(pattern))]
    usable = []
    for path in found:
        number = re.search(r'(?:LLVM-|so\.|llvm-)(\d+)', str(path))
        # An old LLVM is not even loaded: two in one process can clash.
        if number is not None and int(number.group(1)) >= MINIMUM_LLVM:
            usable.append(path)
    return usable


@lru_cache(maxsize=1)
def gpu_count() -> int:
    """Return the number of NVIDIA GPUs that the driver offers (0 without a driver)."""
    try:
        driver = ctypes.CDLL('libcuda.so.1')
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return int(count.value)


def choose_device(device: str = 'auto') -> tuple[str, str]:
    """Return where rays will be traced, ``cpu`` or ``cuda``, and a line that says why.

    A GPU is used only after its self-test in a child process (see `device_check`), which runs once
    in a process; without a GPU there is none.

    Args:
        device: ``cpu``, ``cuda``, or ``auto`` (the GPU where there is one that works).

    Raises:
        OceanGymError: The device is unknown, or ``cuda`` was asked for and does not work.
    """
    if device not in DEVICES:
        raise unknown_name('device', device, DEVICES)
    if device == 'cpu':
        return 'cpu', 'rays are traced on the CPU, as asked for'
    if gpu_count() == 0:
        if device == 'auto':
            return 'cpu', 'rays are traced on the CPU: there is no NVIDIA GPU with a driver'
        raise OceanGymError(
            'device cuda: no NVIDIA GPU with a driver was found. Use device:=cpu or install the driver.'
        )
    report = cuda_report()
    if report.works:
        return 'cuda', f'rays are traced on the NVIDIA GPU (self-test: {report.detail})'
    if device == 'cuda':
        raise OceanGymError(f'device cuda: {report.detail}. {report.remedy}')
    return 'cpu', f'rays are traced on the CPU, not on the GPU: {report.detail}. {report.remedy}'


def select_variant(device: str = 'auto') -> str:
    """Make Mitsuba ready for a device and return the name of its variant.

    Args:
        device: ``cpu``, ``cuda``, or ``auto`` (the GPU where there is one that works, else the CPU
            with a warning that says why).

    Raises:
        OceanGymError: The device is unknown or does not work, or libLLVM is unusable. Dr.Jit
            itself would abort the process.
    """
    chosen, why = choose_device(device)
    if chosen == 'cpu':
        if device == 'auto' and gpu_count() > 0:
            _warn_once(why)
        os.environ['DRJIT_LIBLLVM_PATH'] = str(find_llvm())
    import mitsuba as mi

    variant = VARIANTS[chosen]
    if variant not in mi.variants():
        raise OceanGymError(
            f'this Mitsuba has no variant {variant} (it has {", ".join(mi.variants())}). '
            'Reinstall the mitsuba wheel of requirements.'
        )
    mi.set_variant(variant)
    return variant


@lru_cache
def _warn_once(text: str) -> None:
    _LOG.warning(text)
