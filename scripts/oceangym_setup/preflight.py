"""Check what set-up needs of the machine before it starts, each with a remedy."""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import platform
import shutil
import sys
import sysconfig

from oceangym_setup.errors import SetupError
from oceangym_setup.workspace import Workspace

FREE_DISK_GB = 3.0
"""Free space a first set-up needs: it installs about 1.9 GB, and pip unpacks beside it."""
SHARED_MEMORY_MB = 256
"""Room for one 32 MiB Fast DDS segment for each process of an episode."""
_PATH_SIGNS = ' ._+=@~-/'
"""Signs that a checkout's path may have beside letters and digits: set-up was tried with these."""
SUPPORTED_DISTROS = ('jazzy', 'kilted')


def check_python() -> None:
    """Refuse a Python that has no wheels.

    Raises:
        SetupError: it is older than 3.10 or newer than 3.13.
    """
    version = sys.version_info
    if not (3, 10) <= (version.major, version.minor) <= (3, 13):
        raise SetupError(
            f'Python {version.major}.{version.minor} at {sys.executable} is not supported',
            'use Python 3.10, 3.11, 3.12 or 3.13, for example '
            'OCEANGYM_PYTHON=/usr/bin/python3.12 scripts/oceangym setup',
        )


def check_platform() -> None:
    """Refuse machines that the ROS wheels were not built for.

    Raises:
        SetupError: not Linux on x86-64.
    """
    if sys.platform != 'linux' or platform.machine() not in ('x86_64', 'AMD64'):
        raise SetupError(
            f'there are no ROS 2 wheels for {sys.platform} on {platform.machine()}',
            'install ROS 2 Jazzy (Ubuntu 24.04), then: '
            'source /opt/ros/jazzy/setup.bash && scripts/oceangym setup\n'
            'or use the container images in docker/',
        )


def check_ros_distro(env: Mapping[str, str]) -> None:
    """Refuse a sourced ROS that the messages and nodes were not written for.

    Raises:
        SetupError: ``ROS_DISTRO`` is set to another distribution, or it has no rclpy.
    """
    distro = env.get('ROS_DISTRO', '')
    if distro not in SUPPORTED_DISTROS:
        raise SetupError(
            f'ROS_DISTRO is {distro!r}; supported: {", ".join(SUPPORTED_DISTROS)}',
            'source /opt/ros/jazzy/setup.bash, or work without an installed ROS 2: '
            'unset ROS_DISTRO and run again',
        )
    missing = [name for name in ('colcon', 'cmake') if shutil.which(name) is None]
    if missing:
        raise SetupError(
            f'not found: {", ".join(missing)}',
            'sudo apt-get install python3-colcon-common-extensions cmake',
        )


def compiler(env: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the C and the C++ compiler, None for one that is not there."""
    path = env.get('PATH')
    c = next(
        (n for n in (env.get('CC'), 'cc', 'gcc', 'clang') if n and shutil.which(n, path=path)),
        None,
    )
    cxx = next(
        (n for n in (env.get('CXX'), 'c++', 'g++', 'clang++') if n and shutil.which(n, path=path)),
        None,
    )
    return c, cxx


def check_compiler(env: Mapping[str, str]) -> None:
    """Check for compilers and Python's headers, which the message packages are built with.

    Raises:
        SetupError: something is missing.
    """
    c, cxx = compiler(env)
    if c is None or cxx is None:
        what = ' and '.join(n for n, p in (('C', c), ('C++', cxx)) if p is None)
        raise SetupError(
            f'no {what} compiler found; the ROS messages are compiled at set-up',
            'Debian, Ubuntu: sudo apt-get install build-essential',
        )
    header = Path(sysconfig.get_paths()['include']) / 'Python.h'
    if not header.is_file():
        name = f'python{sys.version_info.major}.{sys.version_info.minor}'
        raise SetupError(
            f'the headers of {sys.executable} are missing (no {header})',
            f'Debian, Ubuntu: sudo apt-get install {name}-dev\nor name another Python in OCEANGYM_PYTHON',
        )


def check_disk(directory: Path) -> None:
    """Check that a first set-up fits.

    Raises:
        SetupError: less than ``FREE_DISK_GB`` free.
    """
    free = shutil.disk_usage(directory).free / 1e9
    if free < FREE_DISK_GB:
        raise SetupError(
            f'{free:.1f} GB free at {directory}; set-up needs {FREE_DISK_GB:.0f} GB',
            'free some space, or clone the repository onto a larger disk',
        )


def shared_memory_mb(directory: str = '/dev/shm') -> float | None:
    """Return the size of the shared-memory file system in MiB, None where there is none."""
    try:
        stats = os.statvfs(directory)
    except OSError:
        return None
    return stats.f_blocks * stats.f_frsize / 2**20


def check_shared_memory(directory: str = '/dev/shm') -> None:
    """Check that the images of an episode fit through shared memory.

    Raises:
        SetupError: it is missing or too small.
    """
    size = shared_memory_mb(directory)
    if size is None or size < SHARED_MEMORY_MB:
        state = 'is missing' if size is None else f'has {size:.0f} MiB'
        raise SetupError(
            f'shared memory {directory} {state}; an episode needs {SHARED_MEMORY_MB} MiB',
            f'docker: add --shm-size=1g (compose: shm_size: 1g)\n'
            f'elsewhere: sudo mount -o remount,size=1g {directory}',
        )


def check_place(workspace: Workspace) -> None:
    """Refuse a checkout whose path the build tools cannot work with.

    Raises:
        SetupError: the path has letters beyond ASCII, or signs with a meaning of their own in search
            paths, shells and CMake.
    """
    path = str(workspace.root)
    strange = sorted({c for c in path if not (c.isascii() and (c.isalnum() or c in _PATH_SIGNS))})
    if strange:
        raise SetupError(
            f'the path of this checkout, {path!r}, has {" ".join(map(repr, strange))}',
            'the ROS message generators and CMake fail there: move the checkout to a path of plain '
            f'letters, digits, spaces and {_PATH_SIGNS.strip(" /")}',
        )


def check_writable(workspace: Workspace) -> None:
    """Check that set-up can write into the checkout.

    Raises:
        SetupError: it cannot.
    """
    problem = 'Permission denied'
    try:
        workspace.state.mkdir(parents=True, exist_ok=True)
        folders = [workspace.state.parent, *(p for p in workspace.state.iterdir() if p.is_dir())]
        if all(os.access(folder, os.W_OK) for folder in (workspace.state, *folders)):
            return
    except OSError as error:
        problem = error.strerror or str(error)
    raise SetupError(
        f'cannot write to {workspace.state}: {problem}',
        'what is there was set up from other sources or by another user, and something is left to '
        'do: run scripts/oceangym setup as its owner, or clone the repository into a directory of '
        'your own',
    )


def check_before_setup(workspace: Workspace, env: Mapping[str, str]) -> None:
    """Run every check that a set-up depends on, cheapest first."""
    check_python()
    if workspace.native:
        check_ros_distro(env)
    else:
        check_platform()
    check_writable(workspace)
    check_compiler(env)
    if not workspace.stamps.is_dir():
        check_disk(workspace.root)
