"""The ``doctor`` verb: what is well, what is not, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
import enum
import json
import os
from pathlib import Path
import shutil
import subprocess
import sys
import textwrap
from xml.etree import ElementTree

from oceangym_setup import build, cmake_prefix, environment, llvm, preflight, venv
from oceangym_setup.errors import SetupError
from oceangym_setup.workspace import PACKAGES, Workspace

_IMPORT_TIMEOUT_S = 180
_RUN_SETUP = 'run: scripts/oceangym setup'
_GPU_CODE = """
import json
from oceangym_sim.rays.device_check import check_device
report = check_device('cuda')
print(json.dumps([report.works, report.detail, report.remedy]))
"""
_GAZEBO_CODE = """
from oceangym_gazebo.hosted.server import Bindings, message_type
bindings = Bindings.load()
message_type('Image')
print(bindings.sim.__file__)
"""
_RUNTIME_MODULES = (
    'numpy',
    'scipy',
    'numba',
    'mitsuba',
    'trimesh',
    'shapely',
    'mapbox_earcut',
    'PIL',
    'cv2',
    'pydantic',
    'yaml',
    'mcap',
    'rosbags',
    'openai',
    'pymavlink',
    'rich',
    'matplotlib',
    'networkx',
)
_MESSAGES = [
    'sensor_msgs',
    'nav_msgs',
    'diagnostic_msgs',
    'visualization_msgs',
    'rosgraph_msgs',
    'tf2_msgs',
]


class Status(enum.Enum):
    """Verdict on one finding."""

    OK = 'ok'
    WARN = 'warn'
    FAIL = 'fail'


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One row of the table."""

    name: str
    status: Status
    detail: str
    remedy: str = ''


def _from_check(name: str, detail: str, check: Callable[[], None]) -> Finding:
    try:
        check()
    except SetupError as error:
        return Finding(name=name, status=Status.FAIL, detail=error.problem, remedy=error.remedy)
    return Finding(name=name, status=Status.OK, detail=detail)


def _python_answers(workspace: Workspace, env: Mapping[str, str], code: str) -> tuple[bool, str]:
    try:
        result = subprocess.run(
            [str(workspace.python), '-c', code],
            env=dict(env),
            capture_output=True,
            text=True,
            errors='replace',
            timeout=_IMPORT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return False, str(error)
    text = (result.stdout if result.returncode == 0 else result.stderr).strip()
    last = text.splitlines()[-1] if text else f'exit code {result.returncode}'
    return result.returncode == 0, last


def _imports(
    workspace: Workspace, env: Mapping[str, str], name: str, modules: Sequence[str], remedy: str
) -> Finding:
    code = (
        'import importlib, sys\n'
        f'bad = []\nfor name in {list(modules)!r}:\n'
        '    try:\n        importlib.import_module(name)\n'
        '    except Exception as error:\n        bad.append(f"{name}: {error}")\n'
        'print("; ".join(bad) or "all import")\nsys.exit(0)\n'
    )
    answered, text = _python_answers(workspace, env, code)
    if answered and text == 'all import':
        return Finding(name=name, status=Status.OK, detail=f'{len(modules)} import')
    return Finding(name=name, status=Status.FAIL, detail=text, remedy=remedy)


def _machine(workspace: Workspace, env: Mapping[str, str]) -> list[Finding]:
    version = '.'.join(map(str, sys.version_info[:3]))
    c, cxx = preflight.compiler(env)
    free = shutil.disk_usage(workspace.root).free / 1e9
    shm = preflight.shared_memory_mb()
    return [
        _from_check('python', f'{version} at {sys.executable}', preflight.check_python),
        _from_check(
            'ROS 2',
            f'{env.get("ROS_DISTRO")}, sourced' if workspace.native else 'Jazzy, as wheels',
            lambda: (
                preflight.check_ros_distro(env) if workspace.native else preflight.check_platform()
            ),
        ),
        _from_check('compiler', f'{c}, {cxx}', lambda: preflight.check_compiler(env)),
        Finding(
            name='disk',
            status=Status.OK if free >= preflight.FREE_DISK_GB else Status.WARN,
            detail=f'{free:.0f} GB free at {workspace.root}',
            remedy='runs with record:=full take about 340 MB each: free some space',
        ),
        _from_check(
            'shared memory',
            f'/dev/shm has {0 if shm is None else shm:.0f} MiB',
            preflight.check_shared_memory,
        ),
    ]


def _dds_profile(env: Mapping[str, str]) -> Finding:
    path = Path(env['FASTRTPS_DEFAULT_PROFILES_FILE'])
    name = 'DDS profile'
    restore = f'restore it: git checkout -- {path.name}; or unset FASTRTPS_DEFAULT_PROFILES_FILE'
    try:
        tree = ElementTree.parse(path)
    except (OSError, ElementTree.ParseError) as error:
        return Finding(name=name, status=Status.FAIL, detail=f'{path}: {error}', remedy=restore)
    sizes = [int(e.text or 0) for e in tree.iter() if e.tag.endswith('segment_size')]
    if not sizes or max(sizes) < 16 * 2**20:
        return Finding(
            name=name,
            status=Status.WARN,
            detail=f'{path} has no shared-memory segment of 16 MiB; observations will arrive late',
            remedy='unset FASTRTPS_DEFAULT_PROFILES_FILE to use config/fastdds.xml',
        )
    return Finding(
        name=name, status=Status.OK, detail=f'{path}, segment {max(sizes) // 2**20} MiB'
    )


def _gpu(workspace: Workspace, env: Mapping[str, str]) -> Finding:
    name = 'GPU (optional)'
    if not any(Path('/dev').glob('nvidia[0-9]*')):
        return Finding(name=name, status=Status.OK, detail='none; everything runs on the CPU')
    answered, text = _python_answers(workspace, env, _GPU_CODE)
    try:
        works, detail, remedy = json.loads(text) if answered else (False, text, _RUN_SETUP)
    except ValueError:
        works, detail, remedy = False, text, _RUN_SETUP
    return Finding(
        name=name,
        status=Status.OK if works else Status.WARN,
        detail=f'NVIDIA, self-test passed: {detail}' if works else f'NVIDIA, {detail}',
        remedy=remedy,
    )


def _gazebo(workspace: Workspace, env: Mapping[str, str]) -> Finding:
    name = 'Gazebo (optional)'
    works, text = _python_answers(workspace, env, _GAZEBO_CODE)
    if works:
        return Finding(name=name, status=Status.OK, detail=f'Python bindings at {text}')
    # Beside an installed ROS it is an installation away; ROS from wheels has none.
    return Finding(
        name=name,
        status=Status.WARN if workspace.native else Status.OK,
        detail='no Python bindings of Gazebo Harmonic; backend:=gazebo is refused',
        remedy=f'{text}\nsudo apt-get install ros-jazzy-ros-gz (gz_sim_vendor 0.0.13 or newer)',
    )


def _installation(workspace: Workspace, env: Mapping[str, str]) -> list[Finding]:
    current = workspace.is_done('requirements', venv.install_key(workspace))
    if not workspace.python.exists():
        return [
            Finding(name='set-up', status=Status.FAIL, detail='not done yet', remedy=_RUN_SETUP)
        ]
    findings = [
        Finding(
            name='requirements',
            status=Status.OK if current else Status.FAIL,
            detail=f'as in {workspace.lock_file.name}'
            if current
            else 'not those of the lock file',
            remedy=_RUN_SETUP,
        ),
        _imports(
            workspace, env, 'libraries', _RUNTIME_MODULES, 'run: scripts/oceangym setup --clean'
        ),
        _imports(workspace, env, 'ROS client', ['rclpy', 'rclpy.action'], _RUN_SETUP),
        _imports(
            workspace,
            env,
            'messages',
            [f'{name}.msg' for name in (*_MESSAGES, 'oceangym_msgs')],
            _RUN_SETUP,
        ),
        _imports(
            workspace,
            env,
            'our packages',
            [name for name in PACKAGES if name != 'oceangym_msgs'],
            'restore the checkout: git checkout -- src',
        ),
    ]
    findings.append(_llvm(workspace, env))
    if not workspace.native:
        left = cmake_prefix.leftovers(workspace.venv)
        findings.append(
            Finding(
                name='CMake files',
                status=Status.FAIL if left else Status.OK,
                detail=f'{len(left)} name another Python' if left else 'all name this Python',
                remedy='run: scripts/oceangym setup --clean',
            )
        )
    if not build.has_colcon(workspace, env):
        findings.append(
            Finding(name='colcon', status=Status.FAIL, detail='does not start', remedy=_RUN_SETUP)
        )
    return findings


def _llvm(workspace: Workspace, env: Mapping[str, str]) -> Finding:
    chosen = env.get('DRJIT_LIBLLVM_PATH')
    name = 'LLVM'
    if not chosen:
        return Finding(name=name, status=Status.FAIL, detail='no library found', remedy=_RUN_SETUP)
    problem = llvm.probe(workspace, Path(chosen), env)
    if problem is None:
        return Finding(name=name, status=Status.OK, detail=f'{chosen} compiles kernels')
    return Finding(
        name=name,
        status=Status.FAIL,
        detail=f'{chosen}: {problem}',
        remedy='unset DRJIT_LIBLLVM_PATH and run: scripts/oceangym setup',
    )


def examine(workspace: Workspace) -> list[Finding]:
    """Make every check; none of them changes anything."""
    given = dict(os.environ)
    env = environment.environment(workspace, given)
    return [
        *_machine(workspace, given),
        _dds_profile(env),
        *_installation(workspace, env),
        *_optional(workspace, env),
    ]


def _optional(workspace: Workspace, env: Mapping[str, str]) -> list[Finding]:
    if not workspace.python.exists():
        return []
    return [_gpu(workspace, env), _gazebo(workspace, env)]


def table(findings: Sequence[Finding]) -> str:
    """Lay the findings out as a table, remedies under what needs them."""
    width = max(len(finding.name) for finding in findings)
    lines = []
    for finding in findings:
        lines.append(f'{finding.status.value:<5} {finding.name:<{width}}  {finding.detail}')
        if finding.status is not Status.OK:
            indent = ' ' * (width + 8)
            for line in finding.remedy.splitlines():
                lines += textwrap.wrap(
                    f'-> {line}', 96, initial_indent=indent, subsequent_indent=indent
                )
    return '\n'.join(lines)


def run(workspace: Workspace) -> int:
    """Print the table and return 1 where something fails."""
    findings = examine(workspace)
    print(table(findings))
    failures = sum(finding.status is Status.FAIL for finding in findings)
    if failures:
        print(f'\n{failures} to put right', file=sys.stderr)
    return 1 if failures else 0
