"""Bring the whole checkout to a state in which everything runs; quick where nothing changed."""

from __future__ import annotations

import os
from pathlib import Path
import shutil
import time

from oceangym_setup import build, environment, llvm, preflight, venv
from oceangym_setup.progress import say, step
from oceangym_setup.workspace import digest, SetupLock, Workspace


def _llvm_key(workspace: Workspace) -> str:
    chosen = os.environ.get('DRJIT_LIBLLVM_PATH', '')
    if chosen == str(llvm.recorded_library(workspace)):
        chosen = ''  # our own finding, seen from inside our own shell
    return digest([venv.install_key(workspace), chosen])


def _has_llvm(workspace: Workspace) -> bool:
    recorded = llvm.recorded_library(workspace)
    return workspace.is_done('llvm', _llvm_key(workspace)) and recorded is not None


def _ensure_llvm(workspace: Workspace) -> None:
    if _has_llvm(workspace):
        return
    key = _llvm_key(workspace)
    with step('LLVM library for the ray tracer') as shown:
        library = llvm.ensure(workspace, shown, environment.environment(workspace))
        workspace.mark_done('llvm', key)
        shown.name = f'LLVM library for the ray tracer ({library.name})'


def is_current(workspace: Workspace) -> bool:
    """Tell whether everything is in place; writes nothing, so that a read-only checkout will do."""
    return (
        venv.is_current(workspace)
        and _has_llvm(workspace)
        and build.is_current(workspace)
        and _has_script(workspace)
    )


def _has_script(workspace: Workspace) -> bool:
    """Tell whether the script to source is there, and is today's where we may write it."""
    script = workspace.env_script
    if not script.is_file() or not os.access(script, os.W_OK):
        return script.is_file()
    return script.read_text(encoding='utf-8') == environment.script(workspace)


def ensure(workspace: Workspace, *, extras: bool = False) -> None:
    """Do what is left to do of the set-up; touch nothing where nothing is left.

    Args:
        workspace: the checkout.
        extras: whether the packages of optional parts are wanted too.
    """
    preflight.check_place(workspace)
    if not extras and is_current(workspace):
        return
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
        workspace.env_script.write_text(environment.script(workspace), encoding='utf-8')
        if first:
            workspace.mark_done('complete', venv.install_key(workspace))
            say(f'set-up complete in {time.monotonic() - started:.0f} s')


def clean(workspace: Workspace) -> None:
    """Remove everything that set-up made for this kind of ROS."""
    shutil.rmtree(workspace.state, ignore_errors=True)
    Path(workspace.env_script).unlink(missing_ok=True)
