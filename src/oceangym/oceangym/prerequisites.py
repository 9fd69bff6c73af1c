"""Checks of a run before anything of it starts, the same for both launchers."""

from __future__ import annotations

from collections.abc import Collection, Iterable
import os
from pathlib import Path
import shutil
import sys

from oceangym.processes import Part, process_specs, ProcessSpec
from oceangym_agent.agent import close_agent
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_core.config.options import MODEL_AGENTS, RunOptions
from oceangym_core.config.setup import prepare_episode
from oceangym_core.errors import OceanGymError
from oceangym_core.record.reader import load_episode
from oceangym_core.world.world import load_world
from oceangym_gazebo.hosted.server import check_bindings


def check_options(options: RunOptions, parts: Collection[Part] = tuple(Part)) -> None:
    """Check what the options ask for, apart from the world.

    Args:
        options: Of the run.
        parts: What is started.

    Raises:
        OceanGymError: Something is missing or refused.
    """
    # Making the list of processes refuses what this installation does not have.
    process_specs(options, run_directory=Path(), world=Path(), parts=parts)
    if Part.BACKEND in parts and options.backend == 'gazebo':
        check_bindings(rendered=options.resolved_sensors == 'all')
    if Part.AGENT not in parts:
        return
    if options.agent == 'replay':
        load_episode(Path(options.replay))
    if options.agent in MODEL_AGENTS:
        # Finds out what preset, prompt, memories or key lack; asks nothing.
        close_agent(make_agent(options.agent, AgentSettings(options=options)))
    if options.agent == 'teleop' and not sys.stdin.isatty():
        raise OceanGymError('agent:=teleop reads keys: run it in a terminal')


def check_episode(options: RunOptions, world: Path, parts: Collection[Part] = tuple(Part)) -> None:
    """Check that the options make an episode in a world: targets, bounds and a free start.

    Raises:
        OceanGymError: The task manager or the backend would refuse it.
    """
    if {Part.TASKS, Part.BACKEND} & set(parts):
        prepare_episode(options, load_world(world))


def check_path(specs: Iterable[ProcessSpec]) -> None:
    """Check that programs that are not ours are on PATH, from where ``run`` starts them.

    Raises:
        OceanGymError: With what to install.
    """
    _refuse_missing(
        spec
        for spec in specs
        if not spec.package.startswith('oceangym') and shutil.which(spec.executable) is None
    )


def check_packages(specs: Iterable[ProcessSpec]) -> None:
    """Check that every program is where ROS's launch looks for it.

    Raises:
        OceanGymError: With what to install.
    """
    _refuse_missing(spec for spec in specs if not _is_installed(spec))


def _is_installed(spec: ProcessSpec) -> bool:
    if not spec.package:
        return shutil.which(spec.executable) is not None
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    programs = (Path(p, 'lib', spec.package, spec.executable) for p in prefixes if p)
    return any(program.is_file() and os.access(program, os.X_OK) for program in programs)


def _refuse_missing(missing: Iterable[ProcessSpec]) -> None:
    for spec in missing:
        if spec.package.startswith('oceangym'):
            raise OceanGymError(
                f'{spec.executable} of {spec.package} is not installed: build the workspace with '
                './scripts/oceangym setup (or colcon build) and source it'
            )
        distribution = os.environ.get('ROS_DISTRO') or 'jazzy'
        package = (spec.package or 'gz_tools_vendor').replace('_', '-')
        raise OceanGymError(
            f'{spec.name} needs {spec.executable}, which is not installed. On Ubuntu with ROS 2: '
            f'sudo apt-get install ros-{distribution}-{package}'
        )
