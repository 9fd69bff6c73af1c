"""Bring the whole checkout to a state in which everything runs; quick where nothing changed."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import time

from oceangym_setup import build, environment, llvm, preflight, venv
from oceangym_setup.progress import say, step
from oceangym_setup.workspace import digest, SetupLock, Workspace


def _ensure_llvm(workspace: Workspace) -> None:
    recorded = llvm.recorded_library(workspace)
    chosen = os.environ.get('DRJIT_LIBLLVM_PATH', '')
    if chosen == str(recorded):
        chosen = ''  # our own finding, seen from inside our own shell
    key = digest([venv.install_key(workspace), chosen])
    if workspace.is_done('llvm', key) and recorded is not None:
        return
    with step('LLVM library for the ray tracer') as shown:
        library = llvm.ensure(workspace, shown, environment.environment(workspace))
        workspace.mark_done('llvm', key)
        shown.name = f'LLVM library for the ray tracer ({library.name})'


def ensure(workspace: Workspace, *, extras: bool = False) -> None:
    """Do what is left to do of the set-up.

    Args:
        workspace: the checkout.
        extras: whether the packages of optional parts are wanted too.
    """
    preflight.check_before_setup(workspace, os.environ)
    started = time.monotonic()
    with SetupLock(workspace):
        first = not workspace.is_done('complete', venv.install_key(workspace))
        if first:
            say(f'setting up {workspace.root} (first use; about three minutes)')
        venv.ensure(workspace)
        if extras:
            venv.ensure_extras(workspace)
        _ensure_llvm(workspace)
        build.ensure(workspace)
        environment.write_script(workspace)
        if first:
            workspace.mark_done('complete', venv.install_key(workspace))
            say(f'set-up complete in {time.monotonic() - started:.0f} s')


def clean(workspace: Workspace) -> None:
    """Remove everything that set-up made for this kind of ROS."""
    shutil.rmtree(workspace.state, ignore_errors=True)
    Path(workspace.env_script).unlink(missing_ok=True)
