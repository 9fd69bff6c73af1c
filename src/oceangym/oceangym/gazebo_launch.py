"""The launch of a Gazebo session of one's own with the nodes beside it: realtime, not scored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
import math
import os
from pathlib import Path
import shutil
from typing import Any

from oceangym.launch_plan import accept, Check, Launch, LaunchPlan
from oceangym.processes import (
    given_words,
    OnExit,
    option_parameters,
    own_topics,
    Part,
    process_specs,
    ProcessSpec,
)
from oceangym_core.assets import assets_root, config_path
from oceangym_core.config.options import (
    Argument,
    ARGUMENTS,
    Kind,
    parse_ros_arguments,
    read_argument,
    RunOptions,
)
from oceangym_core.config.starts import FIXED_STARTS, parse_start
from oceangym_core.config.tasks import WORLD_FILES
from oceangym_core.errors import OceanGymError
from oceangym_core.paths import user_path
from oceangym_core.world.sdf import parse_xml, SdfError
from oceangym_core.world.world import world_search_path
from oceangym_gazebo.session.bridge import CLOCK, NAMESPACE, service_argument
from oceangym_worlds.generate import ensure_world
from oceangym_worlds.world_files import cache_directory, say

# What the launch runs of ros_gz, each in the Debian package ros-<distribution>-<name>.
ROS_GZ = ('ros_gz_sim', 'ros_gz_bridge', 'ros_gz_interfaces')
RESOURCES = 'GZ_SIM_RESOURCE_PATH'
HOST = 'GZ_IP'

_FLAG = ('true', 'false')


def _flag(name: str, default: str, description: str) -> Argument:
    return Argument(
        name=name, default=default, kind=Kind.BOOLEAN, description=description, choices=_FLAG
    )


OWN: tuple[Argument, ...] = (
    Argument(
        name='world',
        default='ocean',
        kind=Kind.TEXT,
        description='World: ocean, its YAML file, or an SDF file of your own.',
    ),
    _flag(
        'gui', 'true', "Whether Gazebo's window is opened; false also renders without a display."
    ),
    _flag('join', 'false', 'Whether to join the Gazebo that is running instead of starting one.'),
    _flag('images', 'true', 'Whether cameras and sonars are made of what Gazebo renders.'),
    _flag('truth', 'false', 'Whether the true pose and contacts are published, for people.'),
    Argument(
        name='patience',
        default='0.5',
        kind=Kind.NUMBER,
        description='Wall time of silence after which thrust is taken away; more for slow machines.',
        unit='s',
        low=0.1,
        high=60.0,
    ),
)
_SHARED = (
    'start', 'water', 'seed', 'world_seed', 't_interval', 'profile', 'nav', 'device', 'rviz',
    'namespace', 'config',
)  # fmt: skip

# Systems that the vehicle needs; without any plugin Gazebo loads the first three by itself.
_BASIC = ('Physics', 'UserCommands', 'SceneBroadcaster')
_SYSTEMS = (*_BASIC, 'Sensors', 'Imu', 'Buoyancy')


@dataclass(frozen=True, kw_only=True)
class GazeboLaunch(Launch):
    """Gazebo, its bridge, and the nodes that make a vehicle of the contract of what it sends."""

    def plan(self, values: Mapping[str, str], check: Check = accept) -> LaunchPlan:
        """Return what has to be started.

        Args:
            values: The texts of all arguments.
            check: Refuses programs that are not installed.

        Raises:
            OceanGymError: A value is refused, or ros_gz is not installed.
        """
        check_installed(join=values['join'] == 'true')
        own = {a.name: read_argument(a, values[a.name]) for a in self.arguments if a in OWN}
        shared = {name: values[name] for name in _SHARED}
        options = parse_ros_arguments(
            [*given_words(shared), 'backend:=gazebo', 'mode:=realtime', 'agent:=none']
        )
        world = _world_file(str(own['world']), options.world_seed)
        name, systems = read_world(world)
        messages = []
        missing = [system for system in _SYSTEMS if system not in systems]
        if missing:
            messages.append(
                f'world {name} lacks {", ".join(missing)} among its systems: compare with '
                'worlds/ocean/ocean.sdf'
            )
        environment = {RESOURCES: os.pathsep.join(_once(map(str, world_search_path(world))))}
        if not own['join'] and HOST not in os.environ:
            environment[HOST] = '127.0.0.1'
            messages.append(f'Gazebo keeps to this host; for its tools: export {HOST}=127.0.0.1')
        session = _Session(
            options=options, own=own, world=world, world_name=name, environment=environment
        )
        specs = session.specs()
        check(specs)
        return LaunchPlan(specs=specs, messages=tuple(messages))


@dataclass(frozen=True, kw_only=True)
class _Session:
    """What the processes of one launch have in common."""

    options: RunOptions
    own: Mapping[str, Any]
    world: Path
    world_name: str
    environment: Mapping[str, str]

    def specs(self) -> tuple[ProcessSpec, ...]:
        """Return the processes in the order of starting."""
        own = self.own
        specs = [] if own['join'] else [self._server()]
        if own['gui'] and not own['join']:
            specs.append(self._program('gazebo_gui', ('sim', '-g'), OnExit.IGNORED))
        specs += [self._spawn(), self._bridge('bridge')]
        if own['truth']:
            specs.append(self._bridge('bridge_truth'))
        specs.append(
            self._ours(
                'autopilot_node',
                gazebo_world=self.world_name,
                truth=own['truth'],
                images=own['images'],
                patience=own['patience'],
            )
        )
        if own['images']:
            specs += [self._ours('optics_node'), self._ours('sonar_node')]
        apart = own_topics(self.options.namespace)
        return (
            *(replace(spec, remappings=apart if spec.package else ()) for spec in specs),
            *process_specs(
                self.options, run_directory=Path(), world=self.world, parts=(Part.RVIZ,)
            ),
        )

    def _server(self) -> ProcessSpec:
        display = () if self.own['gui'] else ('--headless-rendering',)
        words = ('sim', '-s', '-r', *display, str(self.world))
        return self._program('gazebo', words, OnExit.REQUIRED)

    def _program(self, name: str, words: tuple[str, ...], on_exit: OnExit) -> ProcessSpec:
        return ProcessSpec(
            package='',
            executable='gz',
            name=name,
            namespace=self.options.namespace,
            arguments=words,
            environment=self.environment,
            on_exit=on_exit,
        )

    def _spawn(self) -> ProcessSpec:
        x, y, z, yaw_deg = _place(self.options.start)
        return ProcessSpec(
            package='ros_gz_sim',
            executable='create',
            name='spawn',
            namespace=self.options.namespace,
            parameters={
                'world': self.world_name,
                'file': str(assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'),
                'name': NAMESPACE,
                'x': x,
                'y': y,
                'z': z,
                'Y': math.radians(yaw_deg),
            },
            environment=self.environment,
            on_exit=OnExit.FINISHES,
        )

    def _bridge(self, file: str) -> ProcessSpec:
        main = file == 'bridge'
        parameters: dict[str, Any] = {'config_file': str(config_path('gazebo', f'{file}.yaml'))}
        if main:
            # The recorder asks for a clock that is kept, as every backend of ours offers it.
            clock = dict(own_topics(self.options.namespace)).get(CLOCK, CLOCK)
            parameters[f'qos_overrides.{clock}.publisher.durability'] = 'transient_local'
        return ProcessSpec(
            package='ros_gz_bridge',
            executable='parameter_bridge',
            name=f'gazebo_{file}',
            namespace=self.options.namespace,
            parameters=parameters,
            arguments=(service_argument(self.world_name),) if main else (),
            environment=self.environment,
        )

    def _ours(self, executable: str, **parameters: Any) -> ProcessSpec:
        return ProcessSpec(
            package='oceangym_gazebo',
            executable=executable,
            name=executable.removesuffix('_node'),
            namespace=self.options.namespace,
            parameters={
                **option_parameters(self.options),
                'use_sim_time': True,
                **parameters,
            },
        )


def check_installed(*, join: bool) -> None:
    """Refuse to start where ros_gz or Gazebo is not installed.

    Args:
        join: Whether Gazebo itself is somebody else's.

    Raises:
        OceanGymError: With what to install.
    """
    prefixes = [Path(p) for p in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep) if p]
    index = Path('share', 'ament_index', 'resource_index', 'packages')
    missing = [name for name in ROS_GZ if not any((p / index / name).is_file() for p in prefixes)]
    if not join and shutil.which('gz') is None:
        missing.append('gz_tools_vendor')
    if missing:
        distribution = os.environ.get('ROS_DISTRO') or 'jazzy'
        packages = ' '.join(f'ros-{distribution}-{name.replace("_", "-")}' for name in missing)
        raise OceanGymError(
            f'gazebo.launch.py needs {", ".join(missing)}, not installed here. '
            f'Install with: sudo apt install {packages}'
        )


def read_world(path: Path) -> tuple[str, frozenset[str]]:
    """Return the name of a world and the systems that it has, or that Gazebo gives it.

    Raises:
        OceanGymError: The file cannot be read, or is no world.
    """
    world = parse_xml(path).find('world')
    if world is None or not world.get('name'):
        raise SdfError(path, 'sdf', 'holds no <world> with a name')
    systems = {plugin.get('name', '').rpartition('::')[2] for plugin in world.findall('plugin')}
    return world.get('name', ''), frozenset(systems or _BASIC)


def _world_file(text: str, world_seed: int) -> Path:
    name = str(user_path(text).resolve()) if text.endswith(WORLD_FILES) else text
    return ensure_world(name, world_seed, cache_directory(), report=say)


def _place(start: str) -> tuple[float, float, float, float]:
    name, place = parse_start(start)
    if place is None:
        raise OceanGymError(
            f'start {name} needs a task, which a Gazebo session of your own has not. '
            f'Allowed: {", ".join(FIXED_STARTS)}, or x,y,z,yaw_deg in map.'
        )
    return place


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


GAZEBO = GazeboLaunch(
    name='gazebo',
    parts=(),
    arguments=(*OWN, *(argument for argument in ARGUMENTS if argument.name in _SHARED)),
)
