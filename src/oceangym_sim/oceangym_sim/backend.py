"""Chooses what traces the rays: all CPU cores (LLVM) or an NVIDIA GPU (CUDA)."""

from __future__ import annotations

import ctypes
from functools import lru_cache
import os
from pathlib import Path
import re

from oceangym_core.errors import OceanGymError, unknown_name

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


def select_variant(device: str = 'auto') -> str:
    """Make Mitsuba ready for a device and return the name of its variant.

    Args:
        device: ``cpu``, ``cuda``, or ``auto`` (the GPU where there is one).

    Raises:
        OceanGymError: The device is unknown or not there, or libLLVM is unusable. Dr.Jit itself
            would abort the process.
    """
    if device not in DEVICES:
        raise unknown_name('device', device, DEVICES)
    if device == 'cuda' and gpu_count() == 0:
        raise OceanGymError(
            'device cuda: no NVIDIA GPU with a driver was found. Use device:=cpu or install the driver.'
        )
    chosen = 'cuda' if device == 'cuda' or (device == 'auto' and gpu_count() > 0) else 'cpu'
    if chosen == 'cpu':
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
