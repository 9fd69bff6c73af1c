"""The running system as plain data: which processes a run needs, made once for every launcher."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
import os
from pathlib import Path
from typing import Any

from oceangym_core.assets import assets_root, config_path
from oceangym_core.config.options import ARGUMENTS, RunOptions
from oceangym_core.errors import OceanGymError
from oceangym_core.launcher_watch import LAUNCHER_VARIABLE

PROFILES_VARIABLE = 'FASTRTPS_DEFAULT_PROFILES_FILE'
DISCOVERY_VARIABLE = 'ROS_AUTOMATIC_DISCOVERY_RANGE'

# Backend -> package and executable.
_SIMULATORS = {
    'embedded': ('oceangym_sim', 'sim_node'),
    'gazebo': ('oceangym_gazebo', 'gazebo_node'),
}

# A vehicle's frames lie in its namespace, as multi-robot bring-ups have them. Our own nodes publish
# them there; tf2's listeners and broadcasters name them from the root, and follow by these.
_FRAMES = (('/tf', 'tf'), ('/tf_static', 'tf_static'))
# What all nodes of a ROS domain share, and two simulated vehicles in it cannot.
_SHARED_TOPICS = ('/clock', '/diagnostics')

_DEFAULT_NAMESPACE = RunOptions().namespace

Parameter = bool | int | float | str | list[str]


class OnExit(str, Enum):
    """What the end of a process means for the run."""

    ENDS_RUN = 'ends_run'  # the run is over, with this process's exit code
    REQUIRED = 'required'  # the run has failed unless it is over already
    FINISHES = 'finishes'  # it ends by itself; the run has failed if it ends with an error
    IGNORED = 'ignored'


class Part(str, Enum):
    """A part of the running system."""

    BACKEND = 'backend'
    RECORDER = 'recorder'
    AGENT = 'agent'
    TASKS = 'tasks'
    RVIZ = 'rviz'


@dataclass(frozen=True, kw_only=True)
class ProcessSpec:
    """One process.

    Attributes:
        package, executable: As for ``ros2 run``; without a package, a program that is no node.
        name: Node name.
        namespace: Node namespace, without a leading slash.
        parameters: Of the node.
        remappings: Pairs (from, to).
        arguments: Further command line arguments, before ``--ros-args``.
        environment: Variables that it has in addition.
        on_exit: What its end means.
        interactive: Whether it reads the terminal.
        stop_rank: At the end, lower ranks are ended first, while the others are still there.
    """

    package: str
    executable: str
    name: str
    namespace: str = ''
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    remappings: tuple[tuple[str, str], ...] = ()
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    on_exit: OnExit = OnExit.REQUIRED
    interactive: bool = False
    stop_rank: int = 2

    @property
    def module(self) -> str:
        """The Python module behind the executable (our own packages)."""
        return f'{self.package}.nodes.{self.executable}'


def option_parameters(options: RunOptions) -> dict[str, Parameter]:
    """Return the run options as node parameters."""
    values = options.as_dict()
    return {argument.name: argument.to_parameter(values[argument.name]) for argument in ARGUMENTS}


def given_words(values: Mapping[str, str]) -> list[str]:
    """Return ``name:=value`` for the launch arguments that differ from their defaults.

    A default is not given: an alias such as task9 may then still choose the water.
    """
    defaults = {argument.name: argument.default for argument in ARGUMENTS}
    return [f'{name}:={value}' for name, value in values.items() if value != defaults[name]]


def process_specs(
    options: RunOptions,
    *,
    run_directory: Path,
    world: Path,
    autostart: bool = True,
    parts: Collection[Part] = tuple(Part),
) -> tuple[ProcessSpec, ...]:
    """Return what has to run, in the order of starting; any order works.

    Args:
        options: Of the run.
        run_directory: Where record, bag and logs go.
        world: World file (SDF).
        autostart: Whether one episode is run at once and ends the run; else episodes are asked for
            with the action ``task/run``.
        parts: What is looked at; of it, what the options ask for is started.

    Raises:
        OceanGymError: The backend is not part of this installation.
    """
    common = {**option_parameters(options), 'use_sim_time': True, 'world': str(world)}
    specs = [_backend(options, common)] if Part.BACKEND in parts else []
    waits_for: list[str] = []
    if options.record != 'false' and Part.RECORDER in parts:
        specs.append(
            ProcessSpec(
                package='oceangym_tasks',
                executable='recorder_node',
                name='recorder',
                namespace=options.namespace,
                parameters={
                    'use_sim_time': True,
                    'bag': str(run_directory / 'bag'),
                    'run_id': run_directory.name,
                    'record': options.record,
                },
                stop_rank=1,
            )
        )
        waits_for.append('recorder')
    if options.agent != 'none' and Part.AGENT in parts:
        specs.append(_agent(options, {**common, 'run_directory': str(run_directory)}))
        waits_for.append('agent')
    if Part.TASKS in parts:
        specs.append(
            ProcessSpec(
                package='oceangym_tasks',
                executable='task_manager_node',
                name='task_manager',
                namespace=options.namespace,
                parameters={
                    **common,
                    'run_directory': str(run_directory),
                    'autostart': autostart,
                    'wait_for': waits_for or [''],
                },
                on_exit=OnExit.ENDS_RUN,
                stop_rank=0,
            )
        )
    if options.rviz and Part.RVIZ in parts:
        specs.append(
            ProcessSpec(
                package='rviz2',
                executable='rviz2',
                name='rviz',
                namespace=options.namespace,
                parameters={'use_sim_time': True},
                arguments=('-d', str(config_path('rviz', 'oceangym.rviz'))),
                on_exit=OnExit.IGNORED,
            )
        )
    return tuple(replace(spec, remappings=own_topics(options.namespace)) for spec in specs)


def own_topics(namespace: str) -> tuple[tuple[str, str], ...]:
    """Return the remappings that keep a vehicle's frames and clock apart from other vehicles'.

    Frames lie in the vehicle's namespace, whatever it is. Clock and diagnostics have the names that
    every tool expects in the default namespace, and lie in the vehicle's in any other.

    Args:
        namespace: Of the vehicle, without a leading slash.
    """
    if namespace == _DEFAULT_NAMESPACE:
        return _FRAMES
    return (*_FRAMES, *((topic, f'/{namespace}{topic}') for topic in _SHARED_TOPICS))


def _backend(options: RunOptions, common: Mapping[str, Parameter]) -> ProcessSpec:
    if options.backend not in _SIMULATORS:
        raise OceanGymError(
            f'backend {options.backend!r} is not part of this version. '
            f'Allowed: {", ".join(_SIMULATORS)}.'
        )
    package, executable = _SIMULATORS[options.backend]
    return ProcessSpec(
        package=package,
        executable=executable,
        name='simulator',
        namespace=options.namespace,
        parameters=common,
    )


def _agent(options: RunOptions, common: Mapping[str, Parameter]) -> ProcessSpec:
    teleop = options.agent == 'teleop'
    return ProcessSpec(
        package='oceangym_agent',
        executable='teleop_node' if teleop else 'agent_node',
        name='agent',
        namespace=options.namespace,
        parameters=common,
        interactive=teleop,
    )


def process_environment(
    base: Mapping[str, str], *, domain_id: int | None = None
) -> dict[str, str]:
    """Return the environment of every process.

    Discovery stays on the local host and images travel in shared memory unless the caller's
    environment says otherwise.

    Args:
        base: Usually ``os.environ``.
        domain_id: ROS domain; the caller's when None.
    """
    environment = dict(base)
    environment.setdefault(PROFILES_VARIABLE, str(config_path('fastdds.xml')))
    environment.setdefault(DISCOVERY_VARIABLE, 'LOCALHOST')
    environment.setdefault('OCEANGYM_ROOT', str(assets_root()))
    # The nodes end with the process that has made this, however it ends.
    environment[LAUNCHER_VARIABLE] = str(os.getpid())
    # Progress and messages of a child must reach its log at once, and the log of a killed one, too.
    environment['PYTHONUNBUFFERED'] = '1'
    if domain_id is not None:
        environment['ROS_DOMAIN_ID'] = str(domain_id)
    return environment


def parameter_file(spec: ProcessSpec) -> dict[str, Any]:
    """Return the content of a ROS parameter file for one process."""
    return {'/**': {'ros__parameters': dict(spec.parameters)}}


def ros_arguments(spec: ProcessSpec, parameters: os.PathLike[str]) -> list[str]:
    """Return the command line of a node after its program."""
    words = [*spec.arguments, '--ros-args', '-r', f'__node:={spec.name}']
    if spec.namespace:
        words += ['-r', f'__ns:=/{spec.namespace}']
    for source, target in spec.remappings:
        words += ['-r', f'{source}:={target}']
    return [*words, '--params-file', os.fspath(parameters)]
