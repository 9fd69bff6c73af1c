"""The launch files as plain data: which part of the system each starts, and its arguments."""

from __future__ import annotations

from collections.abc import Collection

from oceangym.gazebo_launch import GAZEBO
from oceangym.launch_plan import Launch
from oceangym.processes import Part
from oceangym_core.config.options import Argument, ARGUMENTS
from oceangym_core.errors import unknown_name

_SIMULATOR = (
    'task', 'water', 'start', 'seed', 'world_seed', 'backend', 'mode', 'rtf', 't_max', 't_interval',
    'frame', 'frame_seed', 'profile', 'nav', 'sensors', 'device', 'rviz', 'namespace', 'config',
)  # fmt: skip
_NOT_OF_AN_AGENT = ('backend', 'rtf', 'nav', 'record', 'sensors', 'device', 'rviz')


def _arguments(names: Collection[str]) -> tuple[Argument, ...]:
    return tuple(argument for argument in ARGUMENTS if argument.name in names)


LAUNCHES: tuple[Launch, ...] = (
    Launch(name='task', parts=tuple(Part), arguments=ARGUMENTS, keeps_files=True),
    Launch(name='sim', parts=(Part.BACKEND, Part.RVIZ), arguments=_arguments(_SIMULATOR)),
    Launch(
        name='agent',
        parts=(Part.AGENT,),
        arguments=tuple(a for a in ARGUMENTS if a.name not in _NOT_OF_AN_AGENT),
        required=('agent',),
        keeps_files=True,
    ),
    Launch(
        name='monitor',
        parts=(Part.RVIZ,),
        arguments=_arguments(('namespace',)),
        settings=(('rviz', 'true'),),
    ),
    Launch(
        name='record',
        parts=(Part.RECORDER,),
        arguments=_arguments(('record', 'namespace', 'results_dir')),
        keeps_files=True,
    ),
    GAZEBO,
)


def launch_named(name: str) -> Launch:
    """Return one launch.

    Raises:
        OceanGymError: There is none of this name.
    """
    by_name = {launch.name: launch for launch in LAUNCHES}
    if name not in by_name:
        raise unknown_name('launch', name, by_name)
    return by_name[name]
