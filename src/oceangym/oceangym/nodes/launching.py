"""The launch files: ``oceangym.processes`` and ``oceangym.launches`` said in launch's words.

launch ends with exit code 0 whatever became of its processes, and takes any argument name; both are
made good here.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterable
import os
from pathlib import Path
import shutil
import signal
import sys
from typing import Any

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    ExecuteProcess,
    LogInfo,
    OpaqueFunction,
    RegisterEventHandler,
    SetEnvironmentVariable,
    Shutdown,
    TimerAction,
)
from launch.event_handlers import OnProcessIO
from launch.events import matches_action
from launch.events.process import ProcessExited, ProcessIO, SignalProcess
from launch.launch_description_entity import LaunchDescriptionEntity
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from oceangym.launch_plan import Launch
from oceangym.launches import launch_named
from oceangym.prerequisites import check_packages
from oceangym.processes import OnExit, process_environment, ProcessSpec
from oceangym.report_command import report_run
from oceangym.supervisor import describe_exit, LOSS_GRACE_S, STOP_GRACE_S
from oceangym_core.config.options import Argument
from oceangym_core.errors import OceanGymError
from oceangym_core.record.schema import RUN_FILE
from oceangym_worlds.world_files import say

# Programs that are not ours end with the launcher by this one, where it is installed (util-linux).
_WITH_PARENT = ('setpriv', '--pdeathsig', 'TERM', '--')

Entities = list[LaunchDescriptionEntity]


def launch_description(name: str) -> LaunchDescription:
    """Return what a launch file is: arguments, and the processes that they lead to.

    Args:
        name: Of the launch, e.g. ``task`` of task.launch.py.
    """
    launch = launch_named(name)

    def set_up(context: LaunchContext) -> Entities:
        launch.check_names(given_names(context, name))
        values = {a.name: LaunchConfiguration(a.name).perform(context) for a in launch.arguments}
        plan = launch.plan(values, check_packages)
        environment = process_environment(os.environ)
        changed = {k: v for k, v in environment.items() if os.environ.get(k) != v}
        nodes = process_actions(plan.specs)
        logs: list[RegisterEventHandler] = []
        if plan.directory is not None:
            logs = [log_to(plan.directory, node, spec) for node, spec in zip(nodes, plan.specs)]
            # launch itself tells nobody that all its processes have ended.
            atexit.register(put_away, plan.directory, episode=name == 'task')
        return [
            *(SetEnvironmentVariable(key, value) for key, value in sorted(changed.items())),
            *(LogInfo(msg=line) for line in plan.messages),
            *logs,
            *nodes,
        ]

    declared = [declare(argument, launch) for argument in launch.arguments]
    return LaunchDescription([*declared, OpaqueFunction(function=set_up)])


def log_to(directory: Path, node: ExecuteProcess, spec: ProcessSpec) -> RegisterEventHandler:
    """Return what writes the output of a process to ``logs/`` of a run directory."""
    logs = directory / 'logs'
    logs.mkdir(exist_ok=True)
    path = logs / f'{spec.name}.log'
    path.touch()

    def write(event: ProcessIO) -> None:
        with path.open('ab') as stream:
            stream.write(event.text)

    return RegisterEventHandler(OnProcessIO(target_action=node, on_stdout=write, on_stderr=write))


def put_away(directory: Path, *, episode: bool) -> None:
    """Write the page of a run that has ended; remove a directory without anything to keep."""
    if episode:
        report_run(directory, say)
    kept = {path.name for path in directory.iterdir()} - {'logs'}
    if not kept or (episode and RUN_FILE not in kept):
        logs = (directory / 'logs').glob('*.log')
        if not any(path.stat().st_size for path in logs):
            shutil.rmtree(directory, ignore_errors=True)


def declare(argument: Argument, launch: Launch) -> DeclareLaunchArgument:
    """Return one argument of a launch, without a default if it must be given."""
    unit = f' [{argument.unit}]' if argument.unit else ''
    required = argument.name in launch.required
    return DeclareLaunchArgument(
        argument.name,
        default_value=None if required else argument.default,
        description=argument.description + unit,
        choices=list(argument.choices) or None,
    )


def given_names(context: LaunchContext, name: str) -> list[str]:
    """Return the names a person gave on the command line to this launch file.

    Where another launch file includes ours, the command line is that one's, and not checked.
    """
    if not any(Path(word).name == f'{name}.launch.py' for word in sys.argv):
        return []
    return [word.split(':=', 1)[0] for word in context.argv if ':=' in word]


class Ending:
    """How a launch ends: the recorders first, then the rest, with an error if there was one."""

    def __init__(self) -> None:
        self.begun = False
        self.problem = ''
        self.recorders: dict[str, ExecuteProcess] = {}
        self._has_run = False

    def note(self, name: str, code: int) -> None:
        """Remember the first process that did not end well."""
        if code != 0 and not self.problem:
            self.problem = f'{name} ended early: {describe_exit(code)}'

    def finish(self, context: LaunchContext) -> Entities | None:
        """End the launch; an exception is the only way to an exit code other than 0."""
        if context.is_shutdown:
            return None
        if self.problem:
            raise OceanGymError(self.problem)
        return [Shutdown(reason='the run is over')]

    def of_run(self, spec: ProcessSpec) -> Callable[[ProcessExited, LaunchContext], Entities]:
        """Return what follows the end of the process that the run is about."""

        def react(event: ProcessExited, context: LaunchContext) -> Entities:
            self.note(spec.name, event.returncode)
            self.begun = True
            finish = OpaqueFunction(function=self.finish)
            if not self.recorders:
                return [finish]
            interrupts = [
                EmitEvent(
                    event=SignalProcess(
                        signal_number=signal.SIGINT, process_matcher=matches_action(node)
                    )
                )
                for node in self.recorders.values()
            ]
            return [*interrupts, TimerAction(period=STOP_GRACE_S, actions=[finish])]

        return react

    def of_recorder(self, spec: ProcessSpec) -> Callable[[ProcessExited, LaunchContext], Entities]:
        """Return what follows the end of a recorder: the rest's, if the run is over."""

        def react(event: ProcessExited, context: LaunchContext) -> Entities:
            self.recorders.pop(spec.name, None)
            if self.begun:
                return [OpaqueFunction(function=self.finish)]
            return self._lost(spec, event, context)

        return react

    def of_required(self, spec: ProcessSpec) -> Callable[[ProcessExited, LaunchContext], Entities]:
        """Return what follows the loss of a process: the task manager may close the record first."""

        def react(event: ProcessExited, context: LaunchContext) -> Entities:
            return self._lost(spec, event, context)

        return react

    def of_finisher(self, spec: ProcessSpec) -> Callable[[ProcessExited, LaunchContext], Entities]:
        """Return what follows the end of a process that has done its part: nothing, if it has."""

        def react(event: ProcessExited, context: LaunchContext) -> Entities:
            return self._lost(spec, event, context) if event.returncode else []

        return react

    def _lost(self, spec: ProcessSpec, event: ProcessExited, context: LaunchContext) -> Entities:
        if self.begun or context.is_shutdown:
            return []
        self.note(spec.name, event.returncode)
        finish = OpaqueFunction(function=self.finish)
        return [TimerAction(period=LOSS_GRACE_S, actions=[finish])] if self._has_run else [finish]

    def actions(self, specs: Iterable[ProcessSpec]) -> list[ExecuteProcess]:
        """Return the processes of a launch, in order."""
        specs = tuple(specs)
        self._has_run = any(spec.on_exit is OnExit.ENDS_RUN for spec in specs)
        nodes = []
        for spec in specs:
            if spec.on_exit is OnExit.ENDS_RUN:
                node = process_action(spec, self.of_run(spec))
            elif spec.stop_rank == 1:
                node = process_action(spec, self.of_recorder(spec))
                self.recorders[spec.name] = node
            elif spec.on_exit is OnExit.REQUIRED:
                node = process_action(spec, self.of_required(spec))
            elif spec.on_exit is OnExit.FINISHES:
                node = process_action(spec, self.of_finisher(spec))
            else:
                node = process_action(spec, None)
            nodes.append(node)
        return nodes


def process_actions(specs: Iterable[ProcessSpec]) -> list[ExecuteProcess]:
    """Return the processes; what ends the run ends the recorder next, and the rest after that."""
    return Ending().actions(specs)


def process_action(
    spec: ProcessSpec, on_exit: Callable[[ProcessExited, LaunchContext], Entities] | None
) -> ExecuteProcess:
    """Return one process as a launch action."""
    common: dict[str, Any] = {
        'output': 'screen',
        'emulate_tty': spec.interactive,
        'additional_env': dict(spec.environment),
        'on_exit': on_exit,
        'sigterm_timeout': str(STOP_GRACE_S),
    }
    if not spec.package.startswith('oceangym') and shutil.which(_WITH_PARENT[0]):
        common['prefix'] = ' '.join(_WITH_PARENT)
    if not spec.package:
        return ExecuteProcess(cmd=[spec.executable, *spec.arguments], name=spec.name, **common)
    return Node(
        package=spec.package,
        executable=spec.executable,
        name=spec.name,
        namespace=f'/{spec.namespace}',
        parameters=[dict(spec.parameters)],
        remappings=list(spec.remappings),
        arguments=list(spec.arguments),
        **common,
    )
