"""The arguments of a run: one table that the command line, launch files and README are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
import math
from pathlib import Path
import re
from typing import Any

from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.starts import parse_start, START_NAMES
from oceangym_core.tasks import TaskRegistry
from oceangym_core.waters import load_profile, load_water, profile_names, water_names

AGENTS = ('survey', 'idle', 'random', 'blind_spam', 'oracle', 'replay', 'teleop', 'none')

# What the sensors render when `sensors:=auto`; every other agent gets everything.
_AUTO_SENSORS = {'idle': 'none', 'random': 'none', 'blind_spam': 'truth', 'oracle': 'truth'}
MAX_SEED = 2**63 - 1


class Kind(str, Enum):
    """How an argument's text is read."""

    NAME = 'name'
    INTEGER = 'integer'
    NUMBER = 'number'
    BOOLEAN = 'boolean'
    TEXT = 'text'


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument of ``run`` and of the launch file.

    Attributes:
        name: As in ``name:=value``.
        default: As a person would type it; empty where it is decided elsewhere.
        kind: How the text is read.
        description: One sentence with the unit.
        choices: The closed set of values, or empty.
        unit: Of a number.
        low, high: Accepted range of a number, both included.
    """

    name: str
    default: str
    kind: Kind
    description: str
    choices: tuple[str, ...] = ()
    unit: str = ''
    low: float = -math.inf
    high: float = math.inf


def _name(name: str, default: str, description: str, *choices: str) -> Argument:
    return Argument(
        name=name, default=default, kind=Kind.NAME, description=description, choices=choices
    )


def _number(
    name: str, default: str, description: str, unit: str, low: float, high: float
) -> Argument:
    return Argument(
        name=name,
        default=default,
        kind=Kind.NUMBER,
        description=description,
        unit=unit,
        low=low,
        high=high,
    )


def _integer(name: str, description: str) -> Argument:
    return Argument(
        name=name,
        default='0',
        kind=Kind.INTEGER,
        description=description,
        low=0,
        high=MAX_SEED,
    )


def _text(name: str, default: str, description: str) -> Argument:
    return Argument(name=name, default=default, kind=Kind.TEXT, description=description)


ARGUMENTS: tuple[Argument, ...] = (
    _text('task', 'inspect_pipe', 'Task: an id, an alias task1..task12, or a YAML file.'),
    _text('water', 'shallow', 'Water: shallow, deep, or a YAML file.'),
    _text('start', 'point1', 'Start: point1, point2, random, or x,y,z,yaw_deg in map.'),
    _integer('seed', 'Seed of noise, current and random start.'),
    _integer('world_seed', 'Seed of the layout of targets and props; 0 is the shipped map.'),
    _name('agent', 'survey', 'Who drives; none waits for an agent of your own.', *AGENTS),
    _name('backend', 'embedded', 'What swims.', 'embedded', 'gazebo', 'vehicle'),
    _name(
        'mode',
        'lockstep',
        'Whether time waits for the agent (lockstep) or runs on (realtime).',
        'lockstep',
        'realtime',
    ),
    _number('rtf', '1.0', 'Speed of realtime mode over wall time.', '', 0.01, 100.0),
    _number('t_max', '', "Length of the episode; the task's if not given.", 's', 1.0, 86400.0),
    _number('t_interval', '', "Length of a maneuver; the task's if not given.", 's', 1.0, 3600.0),
    _name(
        'frame', 'map', 'Frame that the agent sees: map, or shifted by the seed.', 'map', 'shifted'
    ),
    _text('profile', 'standard', 'Profile: standard, hard, or a YAML file.'),
    _name(
        'nav',
        'auto',
        "Navigation estimate; auto is the profile's.",
        'auto',
        'truth',
        'dead_reckoning',
    ),
    _name('record', 'light', 'What the bag holds.', 'light', 'full', 'false'),
    _name(
        'sensors',
        'auto',
        'What is rendered; truth is only what scoring needs, auto depends on the agent.',
        'auto',
        'all',
        'truth',
        'none',
    ),
    _name('device', 'auto', 'Where rays are traced.', 'auto', 'cpu', 'cuda'),
    Argument(
        name='rviz',
        default='false',
        kind=Kind.BOOLEAN,
        description='Whether rviz is started.',
        choices=('true', 'false'),
    ),
    _text('namespace', 'auv', 'Namespace of the vehicle.'),
    _text('results_dir', 'runs', 'Directory that run directories are made in.'),
    _text('replay', '', 'Run directory whose decisions agent:=replay repeats.'),
    _text('config', '', 'Further configuration directories, separated by colons.'),
)
_BY_NAME = {argument.name: argument for argument in ARGUMENTS}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The arguments of one run, checked. `t_max` and `t_interval` [s] are the task's when None."""

    task: str = 'inspect_pipe'
    water: str = 'shallow'
    start: str = 'point1'
    seed: int = 0
    world_seed: int = 0
    agent: str = 'survey'
    backend: str = 'embedded'
    mode: str = 'lockstep'
    rtf: float = 1.0
    t_max: float | None = None
    t_interval: float | None = None
    frame: str = 'map'
    profile: str = 'standard'
    nav: str = 'auto'
    record: str = 'light'
    sensors: str = 'auto'
    device: str = 'auto'
    rviz: bool = False
    namespace: str = 'auv'
    results_dir: str = 'runs'
    replay: str = ''
    config: str = ''

    def __post_init__(self) -> None:
        for argument in ARGUMENTS:
            _check(argument, getattr(self, argument.name))
        if not re.fullmatch(r'[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*', self.namespace):
            raise OceanGymError(
                f'namespace {self.namespace!r} is not a ROS name; '
                'use letters, digits and underscores, beginning with a letter, e.g. auv'
            )
        parse_start(self.start)
        if self.agent == 'replay' and not self.replay:
            raise OceanGymError('agent replay needs replay:=<run directory> of a recorded run')
        if self.replay and self.agent != 'replay':
            raise OceanGymError(f'replay:= is for agent:=replay; the agent is {self.agent}')

    @property
    def config_dirs(self) -> tuple[Path, ...]:
        """Further configuration directories."""
        return tuple(Path(part).expanduser() for part in self.config.split(':') if part)

    @property
    def resolved_sensors(self) -> str:
        """``all``, ``truth`` or ``none``."""
        if self.sensors != 'auto':
            return self.sensors
        return _AUTO_SENSORS.get(self.agent, 'all')

    @property
    def agent_name(self) -> str:
        """The agent's name in the record: a person at the keyboard is ``human``."""
        return {'teleop': 'human', 'none': 'foreign'}.get(self.agent, self.agent)

    def as_dict(self) -> dict[str, Any]:
        """Return plain data, in the table's order."""
        content = asdict(self)
        return {argument.name: content[argument.name] for argument in ARGUMENTS}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> RunOptions:
        """Build the options from plain data.

        Raises:
            OceanGymError: A name or a value is not accepted.
        """
        for name in content:
            if name not in _BY_NAME:
                raise unknown_name('argument', name, _BY_NAME)
        return cls(**content)

    def as_ros_arguments(self) -> list[str]:
        """Return ``name:=value`` for every argument that differs from its default."""
        defaults = {f.name: f.default for f in fields(self)}
        return [
            f'{name}:={_typed(value)}'
            for name, value in self.as_dict().items()
            if value != defaults[name]
        ]


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(argument: Argument, value: object) -> None:
    """Refuse a value of the wrong type, set or range."""
    kind = argument.kind
    if kind is Kind.BOOLEAN:
        if not isinstance(value, bool):
            raise OceanGymError(f'{argument.name} {value!r} must be true or false')
    elif kind in (Kind.INTEGER, Kind.NUMBER):
        if value is None and not argument.default:
            return
        numeric = (int,) if kind is Kind.INTEGER else (int, float)
        if isinstance(value, bool) or not isinstance(value, numeric):
            raise OceanGymError(f'{argument.name} {value!r} must be a number')
        if not argument.low <= value <= argument.high:  # False for NaN, too
            raise OceanGymError(
                f'{argument.name} {value} is out of range; '
                f'allowed: {argument.low:g} .. {argument.high:g} {argument.unit}'.rstrip()
            )
    elif not isinstance(value, str):
        raise OceanGymError(f'{argument.name} {value!r} must be text')
    elif kind is Kind.NAME and value not in argument.choices:
        raise unknown_name(argument.name, value, argument.choices)
    elif argument.default and not value:
        raise OceanGymError(f'{argument.name} is empty; leave it out for {argument.default!r}')


def _read(argument: Argument, text: str) -> object:
    """Return an argument's value from its text."""
    if argument.kind is Kind.BOOLEAN:
        if text not in argument.choices:
            raise unknown_name(argument.name, text, argument.choices)
        return text == 'true'
    if argument.kind in (Kind.INTEGER, Kind.NUMBER):
        whole = argument.kind is Kind.INTEGER
        # Plain decimal notation only: int() and float() would also take 1_0, nan and spaces.
        pattern = r'[+-]?\d{1,19}' if whole else r'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?'
        if not re.fullmatch(pattern, text):
            what = 'a whole number' if whole else 'a number'
            raise OceanGymError(
                f'{argument.name} {text!r} is not {what}; '
                f'allowed: {argument.low:g} .. {argument.high:g} {argument.unit}'.rstrip()
            )
        return int(text) if whole else float(text)
    return text


def parse_ros_arguments(arguments: Iterable[str]) -> RunOptions:
    """Return the options that ``name:=value`` words stand for.

    Task, water and profile are looked up, so that a misspelt one is refused here.

    Raises:
        OceanGymError: A word is not of this form, a name or value is unknown or given twice, or an
            alias contradicts the water.
    """
    given: dict[str, Any] = {}
    for word in arguments:
        name, separator, text = word.partition(':=')
        if not separator:
            bare = re.split(r'[=:\s]', word.lstrip('-'), maxsplit=1)[0]
            hint = f'Write {bare}:=value.' if bare in _BY_NAME else 'Write name:=value.'
            raise OceanGymError(f'argument {word!r} is not of the form name:=value. {hint}')
        if name not in _BY_NAME:
            raise unknown_name('argument', name, _BY_NAME)
        if name in given:
            raise OceanGymError(f'argument {name}:= is given twice')
        argument = _BY_NAME[name]
        if not text:
            remedy = (
                f'leave it out for {argument.default!r}' if argument.default else 'leave it out'
            )
            raise OceanGymError(f'argument {name}:= has no value; {remedy}')
        given[name] = _read(argument, text)
    return resolve_names(RunOptions(**given), water_given='water' in given)


def resolve_names(options: RunOptions, *, water_given: bool = True) -> RunOptions:
    """Return the options with the alias resolved, after looking up task, water and profile.

    Args:
        options: As given.
        water_given: Whether the water was chosen, so that an alias may contradict it.

    Raises:
        OceanGymError: One of them is unknown, or an alias or task contradicts the water.
    """
    registry = TaskRegistry.load(options.config_dirs)
    task = registry.get(options.task)
    alias = registry.alias(options.task)
    if alias is not None:
        task_id, water = alias
        if water_given and options.water != water:
            raise OceanGymError(
                f'task {options.task} is {task_id} in {water} water, which contradicts '
                f'water:={options.water}. Leave water:= out, or give task:={task_id}.'
            )
        options = replace(options, task=task_id, water=water)
    water_id = load_water(options.water, options.config_dirs).id
    load_profile(options.profile, options.config_dirs)
    if task.waters and water_id not in task.waters:
        raise OceanGymError(
            f'task {task.id} does not run in water {water_id!r}. '
            f'Allowed: {", ".join(task.waters)}.'
        )
    t_max = task.t_max if options.t_max is None else options.t_max
    t_interval = task.t_interval if options.t_interval is None else options.t_interval
    if t_interval > t_max:
        raise OceanGymError(f't_interval {t_interval:g} s exceeds t_max {t_max:g} s')
    return options


def choices_of(argument: Argument) -> tuple[str, ...]:
    """Return the values that an argument takes, looked up where they are files."""
    if argument.choices:
        return argument.choices
    if argument.name == 'task':
        return (*TaskRegistry.load().names(), 'task1..task12', '<file>.yaml')
    if argument.name == 'water':
        return (*water_names(), '<file>.yaml')
    if argument.name == 'profile':
        return (*profile_names(), '<file>.yaml')
    if argument.name == 'start':
        return (*START_NAMES, 'x,y,z,yaw_deg')
    return ()


def help_lines() -> list[str]:
    """Return one line an argument for the command line's help."""
    width = max(len(a.name) + len(a.default) for a in ARGUMENTS) + 4
    lines = []
    for argument in ARGUMENTS:
        head = f'{argument.name}:={argument.default}'.ljust(width)
        lines.append(f'  {head}{argument.description}{_values_note(argument)}')
    return lines


def _values_note(argument: Argument) -> str:
    if argument.choices and argument.kind is Kind.NAME:
        return f' [{" | ".join(argument.choices)}]'
    if argument.kind is Kind.NUMBER:
        return (
            f' [{argument.low:g} .. {argument.high:g}{f" {argument.unit}" * bool(argument.unit)}]'
        )
    return ''


def option_table() -> str:
    """Return the README's table of arguments (Markdown)."""
    rows = ['| argument | default | values | meaning |', '|---|---|---|---|']
    for argument in ARGUMENTS:
        values = ' '.join(f'`{c}`' for c in choices_of(argument))
        if argument.kind in (Kind.INTEGER, Kind.NUMBER):
            high = 'large' if argument.high == MAX_SEED else f'{argument.high:g}'
            values = f'{argument.low:g} .. {high} {argument.unit}'.strip()
        default = f'`{argument.default}`' if argument.default else ''
        rows.append(f'| `{argument.name}` | {default} | {values} | {argument.description} |')
    return '\n'.join(rows) + '\n'
