"""Find, and where possible install, an LLVM library that the CPU ray tracer can use.

Dr.Jit compiles its kernels with a shared libLLVM. Versions up to 16 abort the whole process on AVX2
machines ("Cannot select fminimum"), so each candidate is tried in a child process.
"""

from __future__ import annotations

from collections.abc import Mapping
import os
from pathlib import Path
import re
import shutil
import subprocess

from oceangym_setup.errors import SetupError
from oceangym_setup.progress import run_logged, Step
from oceangym_setup.workspace import Workspace

OLDEST = 17
"""First LLVM version that compiles every kernel."""
PACKAGES = ('libllvm19', 'libllvm18', 'libllvm17', 'libllvm20', 'libllvm21')
"""Distribution packages to install, the one tested first."""
PROBE_TIMEOUT_S = 120

_PLACES = (
    '/usr/lib/*-linux-gnu/libLLVM*.so*',
    '/usr/lib/llvm-*/lib/libLLVM*.so*',
    '/usr/lib64/libLLVM*.so*',
    '/usr/lib/libLLVM*.so*',
    '/usr/local/lib/libLLVM*.so*',
    '/opt/llvm*/lib/libLLVM*.so*',
)
_VERSION = re.compile(r'libLLVM(?:-(\d+)|\.so\.(\d+))')
_PROBE = """
import drjit as dr
from drjit.llvm.ad import Float
x = dr.linspace(Float, -1, 1, 64)
y = dr.minimum(dr.maximum(x, dr.opaque(Float, -0.5)), dr.opaque(Float, 0.5))
assert abs(float(dr.sum(dr.abs(y))[0]) - 24.127) < 0.01
"""


def version_of(path: Path) -> int | None:
    """Read the major version from a library's file name; None where it is not in the name."""
    match = _VERSION.search(path.name)
    return int(match[1] or match[2]) if match else None


def candidates(env: Mapping[str, str], extra: Path | None = None) -> list[Path]:
    """List the libraries worth trying, the user's choice first, then newest first.

    Args:
        env: environment; ``DRJIT_LIBLLVM_PATH`` is the user's own choice.
        extra: directory searched besides the system's.
    """
    found: dict[Path, int] = {}
    for pattern in _PLACES:
        for path in Path('/').glob(pattern.lstrip('/')):
            version = version_of(path)
            if version is not None and version >= OLDEST:
                found.setdefault(path.resolve(), version)
    if extra is not None:
        for path in extra.glob('**/libLLVM*.so*'):
            found.setdefault(path.resolve(), version_of(path) or OLDEST)
    # 19 is the version everything was measured with; after it the newest.
    ranked = sorted(found, key=lambda path: (found[path] != 19, -found[path]))
    chosen = env.get('DRJIT_LIBLLVM_PATH')
    return [Path(chosen), *ranked] if chosen else ranked


def probe(workspace: Workspace, library: Path, env: Mapping[str, str]) -> str | None:
    """Compile and run a kernel with ``library`` in a child process.

    Returns:
        None where it works, else what happened.
    """
    try:
        result = subprocess.run(
            [str(workspace.python), '-c', _PROBE],
            env={**env, 'DRJIT_LIBLLVM_PATH': str(library)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors='replace',
            timeout=PROBE_TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f'no answer within {PROBE_TIMEOUT_S} s'
    if result.returncode == 0:
        return None
    last = [line for line in result.stderr.splitlines() if line.strip()][-1:] or ['no output']
    return f'exit code {result.returncode}: {last[0].strip()[:160]}'


def _record(workspace: Workspace) -> Path:
    return workspace.state / 'libllvm'


def recorded_library(workspace: Workspace) -> Path | None:
    """Return the library that set-up found, if it is still there."""
    try:
        path = Path(_record(workspace).read_text(encoding='utf-8').strip())
    except OSError:
        return None
    return path if path.is_file() else None


def _first_working(
    workspace: Workspace, env: Mapping[str, str], failures: dict[Path, str]
) -> Path | None:
    for library in candidates(env, workspace.state / 'llvm'):
        if library in failures:
            continue
        problem = probe(workspace, library, env)
        if problem is None:
            return library
        failures[library] = problem
    return None


def _install(workspace: Workspace, shown: Step, env: Mapping[str, str]) -> None:
    """Install a package as root; as another user unpack it into the checkout's state."""
    apt_env = {**env, 'DEBIAN_FRONTEND': 'noninteractive', 'LC_ALL': 'C'}
    for name in ('LD_LIBRARY_PATH', 'PYTHONPATH'):
        apt_env.pop(name, None)

    def apt(*command: str | Path, cwd: Path = workspace.root) -> bool:
        try:
            run_logged(
                shown,
                command,
                log=workspace.logs / f'llvm-{Path(command[0]).name}-{command[1]}.log',
                env=apt_env,
                cwd=cwd,
                remedies={},
                default_remedy='',
            )
        except SetupError:
            return False
        return True

    is_root = os.geteuid() == 0
    if is_root:
        apt('apt-get', 'update')
    for package in PACKAGES:
        if is_root:
            if apt('apt-get', 'install', '-y', '--no-install-recommends', package):
                return
            continue
        target = workspace.state / 'llvm'
        target.mkdir(parents=True, exist_ok=True)
        if apt('apt-get', 'download', package, cwd=target):
            for archive in target.glob(f'{package}_*.deb'):
                apt('dpkg', '-x', archive, target)
            return


def ensure(workspace: Workspace, shown: Step, env: Mapping[str, str]) -> Path:
    """Find a working library, installing one where that is possible, and record it.

    Raises:
        SetupError: there is none and none could be installed.
    """
    failures: dict[Path, str] = {}
    library = _first_working(workspace, env, failures)
    if library is None and shutil.which('apt-get'):
        shown.detail = 'installing libLLVM'
        _install(workspace, shown, env)
        library = _first_working(workspace, env, failures)
    if library is None:
        tried = '\n'.join(f'tried {path}: {why}' for path, why in failures.items())
        raise SetupError(
            f'no LLVM library newer than {OLDEST - 1} that works; the simulator traces rays with it',
            'Debian, Ubuntu: sudo apt-get update && sudo apt-get install libllvm19\n'
            'elsewhere: install LLVM 17 or newer and name its library, '
            'DRJIT_LIBLLVM_PATH=/path/to/libLLVM.so' + (f'\n{tried}' if tried else ''),
        )
    _record(workspace).write_text(str(library), encoding='utf-8')
    return library
