"""The options of a run: what its arguments mean together, read from words and checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
import re
from typing import Any
from urllib.parse import urlsplit

from oceangym_core.assets import config_path
from oceangym_core.config.arguments import AGENTS, Argument, ARGUMENTS, Kind
from oceangym_core.config.sonars import load_sonar
from oceangym_core.config.starts import parse_start
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import is_utf8
from oceangym_core.paths import user_path

# The table belongs to the options: whoever needs one takes both from here.
__all__ = [
    'AGENTS',
    'ARGUMENTS',
    'MODEL_AGENTS',
    'SCRIPTED_MODEL',
    'Argument',
    'Kind',
    'RunOptions',
    'model_names',
    'parse_ros_arguments',
    'read_argument',
    'prompt_names',
    'resolve_names',
]

# Agents that ask a model, and the preset of the one that needs none to be named.
MODEL_AGENTS = ('mllm', 'scripted')
SCRIPTED_MODEL = 'scripted_patrol'
# Arguments that mean nothing without a model: in the table, from model:= to the budgets.
_NAMES = [argument.name for argument in ARGUMENTS]
_MODEL_ARGUMENTS = _NAMES[_NAMES.index('model') : _NAMES.index('max_decisions') + 1]
# These not even as part of recorded options.
_NEVER_WITHOUT_MODEL = ('model', 'base_url', 'memory_from')
# But for these: what counts as perfect eyes, and the name of an agent that is not ours.
_OF_OTHER_AGENTS = (('perfect_eyes', 'sonar'), ('none', 'model'))

# Arguments that another one must be set for, else they would be silently without effect.
_ONLY_WITH = {'frame_seed': ('frame', 'shifted'), 'rtf': ('mode', 'realtime')}

# What the sensors render when `sensors:=auto`; every other agent gets everything.
_AUTO_SENSORS = {'idle': 'none', 'random': 'none'} | dict.fromkeys(
    ('blind_spam', 'blind_prior', 'perfect_eyes', 'oracle'), 'truth'
)
_YAML = ('.yaml', '.yml')
# Longer ones are no mistake in typing, and a message cannot repeat them.
_LONGEST_WORD = 20_000
# A full topic name has at most 247 characters in ROS 2, and the contract's own part takes up to 60.
_LONGEST_NAMESPACE = 180
_BY_NAME = {argument.name: argument for argument in ARGUMENTS}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The arguments of one run, checked; None where it is decided elsewhere or has no limit."""

    task: str = 'inspect_pipe'
    water: str = 'shallow'
    start: str = 'point1'
    seed: int = 0
    world_seed: int = 0
    agent: str = 'survey'
    actions: str = 'oceangym'
    backend: str = 'embedded'
    mode: str = 'lockstep'
    rtf: float = 1.0
    t_max: float | None = None
    t_interval: float | None = None
    frame: str = 'map'
    frame_seed: int | None = None
    profile: str = 'standard'
    nav: str = 'auto'
    record: str = 'light'
    sensors: str = 'auto'
    sonar_device: str = ''
    sonar_mount: str = 'paper'
    device: str = 'auto'
    rviz: bool = False
    namespace: str = 'auv'
    results_dir: str = 'runs'
    replay: str = ''
    model: str = ''
    base_url: str = ''
    prompt: str = 'oceangym'
    reply: str = 'json'
    loop: str = 'single'
    sonar: str = 'none'
    image_size: int | None = None
    memory: int = 60
    memory_tokens: int = 4000
    memory_images: int = 0
    memory_from: str = ''
    memory_strip: str = 'none'
    coverage: str = 'none'
    detector: bool = False
    planner: bool = False
    call_timeout: float = 60.0
    decision_deadline: float = 180.0
    max_retries: int = 3
    max_reasks: int = 2
    max_cost: float | None = None
    max_tokens: int | None = None
    max_wall: float | None = None
    max_decisions: int | None = None
    config: str = ''

    def __post_init__(self) -> None:
        for argument in ARGUMENTS:
            _check(argument, getattr(self, argument.name))
        if self.record == 'true':
            # As launch files in general say it.
            object.__setattr__(self, 'record', 'light')
        if not re.fullmatch(r'[A-Za-z][A-Za-z0-9_]*(/[A-Za-z][A-Za-z0-9_]*)*', self.namespace):
            raise OceanGymError(
                f'namespace {self.namespace!r} is not a ROS name; '
                'use letters, digits and underscores, beginning with a letter, e.g. auv'
            )
        if len(self.namespace) > _LONGEST_NAMESPACE:
            raise OceanGymError(
                f'namespace {self.namespace[:20]}... has {len(self.namespace)} characters; '
                f'allowed: up to {_LONGEST_NAMESPACE}, as ROS limits the length of topic names'
            )
        parse_start(self.start)
        if self.sonar_device:
            load_sonar(self.sonar_device)
        if self.backend != 'embedded' and (self.sonar_device or self.sonar_mount != 'paper'):
            raise OceanGymError(
                f'sonar_device:= and sonar_mount:= choose the sonars of backend:=embedded; '
                f'the sonars of backend:={self.backend} are its own'
            )
        if self.agent == 'replay' and not self.replay:
            raise OceanGymError('agent replay needs replay:=<run directory> of a recorded run')
        if self.replay and self.agent != 'replay':
            raise OceanGymError(f'replay:= is for agent:=replay; the agent is {self.agent}')
        self._check_model()

    def _check_model(self) -> None:
        """Refuse what does not fit an agent with, or without, a model."""
        if self.agent not in MODEL_AGENTS:
            for name in _NEVER_WITHOUT_MODEL:
                # An agent that is not ours is named by it.
                if getattr(self, name) and (self.agent, name) not in _OF_OTHER_AGENTS:
                    raise _needs_model(name, self.agent)
            return
        if self.agent == 'mllm' and not self.model:
            known = ', '.join(_file_names('agents')) or 'none is installed'
            raise OceanGymError(
                f'agent mllm needs model:=<preset or YAML file>. Presets: {known}. '
                'agent:=scripted shows the whole path without a model.'
            )
        unseen = [a for a in ('sonar', 'detector') if getattr(self, a) not in ('none', False)]
        if unseen and self.resolved_sensors != 'all':
            value = _typed(getattr(self, unseen[0]))
            raise OceanGymError(
                f'{unseen[0]}:={value} needs what sensors:=all renders; '
                f'sensors is {self.sensors}: give sensors:=all'
            )
        if self.base_url:
            _check_url(self.base_url)

    @property
    def model_preset(self) -> str:
        """Name or file of the model's preset; empty for agents without a model."""
        if self.agent not in MODEL_AGENTS:
            return ''
        return self.model or SCRIPTED_MODEL

    @property
    def track(self) -> str:
        """Table of the benchmark that a run belongs to: V, VS, AIDED, or none without a model."""
        if self.agent not in MODEL_AGENTS:
            return 'none'
        if self.sonar == 'described' or self.coverage != 'none' or self.detector or self.planner:
            return 'AIDED'
        return 'VS' if self.sonar == 'fan' else 'V'

    @property
    def resolved_frame_seed(self) -> int:
        """Seed of the shifted frame."""
        return self.seed if self.frame_seed is None else self.frame_seed

    @property
    def memory_sources(self) -> tuple[Path, ...]:
        """Where experience comes from."""
        return _paths('memory_from', self.memory_from)

    @property
    def config_dirs(self) -> tuple[Path, ...]:
        """Further configuration directories; what a later one holds replaces its namesake."""
        return _paths('config', self.config)

    @property
    def resolved_sensors(self) -> str:
        """``all``, ``truth`` or ``none``."""
        if self.sensors != 'auto':
            return self.sensors
        return _AUTO_SENSORS.get(self.agent, 'all')

    @property
    def agent_name(self) -> str:
        """The agent's name in the record: its model's, and ``human`` for a person at the keys.

        An agent that is not ours (``agent:=none``) is called as ``model:=`` says, or ``foreign``.
        """
        if self.agent in MODEL_AGENTS:
            name = self.model_preset
            return Path(name).stem if name.endswith(_YAML) else name
        if self.agent == 'none':
            return self.model or 'foreign'
        return {'teleop': 'human'}.get(self.agent, self.agent)

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


def _paths(name: str, text: str) -> tuple[Path, ...]:
    """Return the paths of an argument that takes several."""
    if ':' in text and _exists(text):
        raise OceanGymError(
            f'{name}:={text} is one path with a colon in its name, and colons separate paths. '
            'Rename it, or give a symbolic link to it.'
        )
    paths = tuple(user_path(part) for part in text.split(':') if part)
    if text and not paths:
        raise OceanGymError(f'{name}:={text} names no path; leave it out, or give one')
    return paths


def _exists(path: str) -> bool:
    try:
        return user_path(path).exists()
    except (OSError, ValueError, OceanGymError):
        # Too long for a name, a null character in it, or the home of nobody.
        return False


def _needs_model(name: str, agent: str) -> OceanGymError:
    return OceanGymError(
        f'{name}:= is for agent:=mllm and agent:=scripted; the agent is {agent}. '
        f'Leave {name}:= out, or give one of these agents.'
    )


def _file_names(folder: str) -> tuple[str, ...]:
    """Return the names of the shipped YAML files of a configuration folder."""
    return tuple(sorted(path.stem for path in config_path(folder).glob('*.y*ml')))


def model_names() -> tuple[str, ...]:
    """Return the shipped model presets."""
    return _file_names('agents')


def prompt_names(config_dirs: Iterable[Path] = ()) -> tuple[str, ...]:
    """Return the shipped prompts, and those of further configuration directories."""
    roots = (config_path('prompts'), *(folder / 'prompts' for folder in config_dirs))
    return tuple(sorted({p.parent.name for root in roots for p in root.glob('*/prompt.yaml')}))


def _check_url(url: str) -> None:
    """Refuse what is no endpoint, or would put a key into the record."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit('')
    if parts.scheme not in ('http', 'https') or not parts.hostname:
        raise OceanGymError(
            f'base_url {url!r} is not of the form http(s)://host[:port]/path, '
            'e.g. http://127.0.0.1:8000/v1'
        )
    if '@' in parts.netloc or parts.query or parts.fragment:
        # The value is not repeated: it may hold a key.
        raise OceanGymError(
            'base_url must not hold a user, a key or a query: it is written into the record. '
            "Put the key into the environment variable that the model's preset names."
        )


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


def read_argument(argument: Argument, text: str) -> object:
    """Return an argument's value from its text, checked.

    Raises:
        OceanGymError: It is not of the argument's type, set or range.
    """
    if not text and not argument.default:
        return None if argument.kind in (Kind.INTEGER, Kind.NUMBER) else ''
    value = _read(argument, text)
    _check(argument, value)
    return value


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
        if not re.fullmatch(pattern, text, re.ASCII):
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
        if len(word) > _LONGEST_WORD:
            raise OceanGymError(
                f'argument {name[:40]}:= has {len(text)} characters; at most {_LONGEST_WORD} are read'
            )
        if not separator:
            bare = re.split(r'[=:\s]', word.lstrip('-'), maxsplit=1)[0]
            hint = f'Write {bare}:=value.' if bare in _BY_NAME else 'Write name:=value.'
            raise OceanGymError(f'argument {word!r} is not of the form name:=value. {hint}')
        if name not in _BY_NAME:
            raise unknown_name('argument', name, _BY_NAME)
        if not is_utf8(text):
            raise OceanGymError(f'argument {name}:={text!r} is not UTF-8 text; nor may a path be')
        if name in given:
            raise OceanGymError(f'argument {name}:= is given twice')
        argument = _BY_NAME[name]
        if not text:
            remedy = (
                f'leave it out for {argument.default!r}' if argument.default else 'leave it out'
            )
            raise OceanGymError(f'argument {name}:= has no value; {remedy}')
        given[name] = _read(argument, text)
    options = RunOptions(**given)
    for name, (other, value) in _ONLY_WITH.items():
        if name in given and getattr(options, other) != value:
            raise OceanGymError(
                f'{name}:= is for {other}:={value}; {other} is {getattr(options, other)}. '
                f'Leave {name}:= out, or give {other}:={value}.'
            )
    if options.agent not in MODEL_AGENTS:
        # Ignored, a limit or an aid would be taken to be in force.
        for name in given:
            if name in _MODEL_ARGUMENTS and (options.agent, name) not in _OF_OTHER_AGENTS:
                raise _needs_model(name, options.agent)
    return resolve_names(options, water_given='water' in given)


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
