"""Run one episode: ``ros2 launch oceangym task.launch.py task:=inspect_pipe``.

The processes, their parameters and what their end means come from ``oceangym.processes``; this file
only says it in launch's words. Arguments are those of ``scripts/oceangym run``.
"""

from __future__ import annotations

from datetime import datetime, timezone
import os
from pathlib import Path
import signal

from launch import LaunchContext, LaunchDescription
from launch.actions import (
    DeclareLaunchArgument,
    EmitEvent,
    LogInfo,
    OpaqueFunction,
    SetEnvironmentVariable,
    Shutdown,
    TimerAction,
)
from launch.events import matches_action
from launch.events.process import SignalProcess
from launch.launch_description_entity import LaunchDescriptionEntity
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from oceangym.processes import (
    given_words,
    OnExit,
    process_environment,
    process_specs,
    ProcessSpec,
)
from oceangym.supervisor import LOSS_GRACE_S, STOP_GRACE_S
from oceangym_core.options import Argument, ARGUMENTS, parse_ros_arguments
from oceangym_core.record import new_run_directory, run_id_for
from oceangym_worlds.world_files import world_file


def declared(argument: Argument) -> DeclareLaunchArgument:
    """Return one argument of a run as a launch argument."""
    unit = f' [{argument.unit}]' if argument.unit else ''
    return DeclareLaunchArgument(
        argument.name,
        default_value=argument.default,
        description=argument.description + unit,
        choices=list(argument.choices) or None,
    )


def launch_setup(context: LaunchContext) -> list[LaunchDescriptionEntity]:
    """Return the actions of one run."""
    words = given_words({a.name: LaunchConfiguration(a.name).perform(context) for a in ARGUMENTS})
    options = parse_ros_arguments(words)
    world = world_file(options)
    run_id = run_id_for(options, datetime.now(timezone.utc))
    directory = new_run_directory(Path(options.results_dir), run_id).resolve()
    specs = process_specs(options, run_directory=directory, world=world)
    environment = process_environment(os.environ)
    changed = {k: v for k, v in environment.items() if os.environ.get(k) != v}
    return [
        *(SetEnvironmentVariable(name, value) for name, value in sorted(changed.items())),
        LogInfo(msg=f'run {directory}'),
        *node_actions(specs),
    ]


def node_actions(specs: tuple[ProcessSpec, ...]) -> list[Node]:
    """Return the nodes; what ends the run ends the recorder next, and the rest after that."""
    recorders = {
        spec.name: node_action(spec, [Shutdown(reason=f'{spec.name} has ended')])
        for spec in specs
        if spec.stop_rank == 1
    }
    nodes = dict(recorders)
    for spec in specs:
        if spec.name in recorders:
            continue
        ending: list[LaunchDescriptionEntity] = []
        if spec.on_exit is OnExit.ENDS_RUN and recorders:
            ending = [
                EmitEvent(
                    event=SignalProcess(
                        signal_number=signal.SIGINT, process_matcher=matches_action(node)
                    )
                )
                for node in recorders.values()
            ]
            ending.append(TimerAction(period=STOP_GRACE_S, actions=[Shutdown()]))
        elif spec.on_exit is OnExit.ENDS_RUN:
            ending = [Shutdown(reason='the episode has ended')]
        elif spec.on_exit is OnExit.REQUIRED:
            reason = f'{spec.name} has ended early'
            ending = [TimerAction(period=LOSS_GRACE_S, actions=[Shutdown(reason=reason)])]
        nodes[spec.name] = node_action(spec, ending)
    return [nodes[spec.name] for spec in specs]


def node_action(spec: ProcessSpec, ending: list[LaunchDescriptionEntity]) -> Node:
    """Return one process as a launch action."""
    return Node(
        package=spec.package,
        executable=spec.executable,
        name=spec.name,
        namespace=f'/{spec.namespace}',
        parameters=[dict(spec.parameters)],
        remappings=list(spec.remappings),
        arguments=list(spec.arguments),
        output='screen',
        emulate_tty=spec.interactive,
        on_exit=ending,
    )


def generate_launch_description() -> LaunchDescription:
    """Return the description that ``ros2 launch`` runs."""
    return LaunchDescription(
        [*(declared(argument) for argument in ARGUMENTS), OpaqueFunction(function=launch_setup)]
    )
