"""The table of a run's arguments, which the command line, launch files and manual are made from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
import math
from typing import Any

AGENTS = (
    'survey',
    'mllm',
    'scripted',
    'idle',
    'random',
    'blind_spam',
    'blind_prior',
    'perfect_eyes',
    'oracle',
    'replay',
    'teleop',
    'none',
)
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

    @property
    def blank(self) -> float:
        """The number that stands for "not given" where there must be one: node parameters."""
        return -1 if self.kind is Kind.INTEGER else 0.0

    def to_parameter(self, value: Any) -> Any:
        """Return a value as a node parameter."""
        if value is None:
            return self.blank
        # A whole number would reach the node as an integer, which ROS refuses for a float.
        return float(value) if self.kind is Kind.NUMBER else value

    def of_parameter(self, value: Any) -> Any:
        """Return the value of a node parameter."""
        numeric = self.kind in (Kind.INTEGER, Kind.NUMBER)
        return None if numeric and not self.default and value == self.blank else value


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


def _integer(
    name: str,
    default: str,
    description: str,
    unit: str = '',
    low: int = 0,
    high: int = MAX_SEED,
) -> Argument:
    return Argument(
        name=name,
        default=default,
        kind=Kind.INTEGER,
        description=description,
        unit=unit,
        low=low,
        high=high,
    )


def _boolean(name: str, description: str) -> Argument:
    return Argument(
        name=name,
        default='false',
        kind=Kind.BOOLEAN,
        description=description,
        choices=('true', 'false'),
    )


def _text(name: str, default: str, description: str) -> Argument:
    return Argument(name=name, default=default, kind=Kind.TEXT, description=description)


ARGUMENTS: tuple[Argument, ...] = (
    _text('task', 'inspect_pipe', 'Task: an id, an alias task1..task12, or a YAML file.'),
    _text('water', 'shallow', 'Water: shallow, deep, or a YAML file.'),
    _text(
        'start',
        'point1',
        'Start: point1, point2, near, medium, far, random, or x,y,z,yaw_deg in map.',
    ),
    _integer('seed', '0', 'Seed of noise, current and random start.'),
    _integer('world_seed', '0', 'Seed of the layout of targets and props; 0 is the shipped map.'),
    _name('agent', 'survey', 'Who drives; none waits for an agent of your own.', *AGENTS),
    _name(
        'actions',
        'oceangym',
        "What an agent may command: the paper's moves, or also go (turn, way and climb in one).",
        'oceangym',
        'extended',
    ),
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
        'frame',
        'map',
        'Frame that the agent sees: map, or shifted by the frame seed.',
        'map',
        'shifted',
    ),
    _integer('frame_seed', '', "Seed of the shifted frame; the run's seed if not given."),
    _text('profile', 'standard', 'Profile: standard, hard, or a YAML file.'),
    _name(
        'nav',
        'auto',
        "Navigation estimate; auto is the profile's.",
        'auto',
        'truth',
        'dead_reckoning',
    ),
    _name(
        'record', 'light', 'What the bag holds; true is light.', 'light', 'full', 'true', 'false'
    ),
    _name(
        'sensors',
        'auto',
        'What is rendered; truth is only what scoring needs, auto depends on the agent.',
        'auto',
        'all',
        'truth',
        'none',
    ),
    _text(
        'sonar_device',
        '',
        "Preset of the vehicle's six sonars, from config/sonars; oceangym_decision if not given.",
    ),
    _name(
        'sonar_mount',
        'paper',
        'How the forward sonar is mounted: level as in the paper, or tilted down by half its height.',
        'paper',
        'tilted',
    ),
    _name('device', 'auto', 'Where rays are traced.', 'auto', 'cpu', 'cuda'),
    _boolean('rviz', 'Whether rviz is started.'),
    _text('namespace', 'auv', 'Namespace of the vehicle.'),
    _text('results_dir', 'runs', 'Directory that run directories are made in.'),
    _text('replay', '', 'Run directory whose decisions agent:=replay repeats.'),
    _text('model', '', 'Model of agent:=mllm: a preset, or a YAML file.'),
    _text('base_url', '', "Endpoint of the model in place of the preset's."),
    _text('prompt', 'oceangym', 'Prompt: a name, or a directory of templates.'),
    _name('reply', 'json', 'How the model answers.', 'json', 'markers'),
    _name(
        'loop',
        'single',
        'One call a decision, or one that perceives and one that acts.',
        'single',
        'perceive_act',
    ),
    _name('sonar', 'none', 'What the model is shown of the sonars.', 'none', 'fan', 'described'),
    _integer(
        'image_size', '', "Longer side of images sent; the preset's if not given.", 'px', 32, 4096
    ),
    _integer('memory', '60', 'Steps that the memory holds.', '', 0, 100_000),
    _integer('memory_tokens', '4000', 'Most tokens of memory in a prompt.', '', 100, 1_000_000),
    _integer('memory_images', '0', 'Steps whose images are sent again.', '', 0, 20),
    _text('memory_from', '', 'Experience: run directories or memory files, separated by colons.'),
    _name('memory_strip', 'none', 'What is taken out of the experience.', 'none', 'coordinates'),
    _name('coverage', 'none', 'Map of where the vehicle has been.', 'none', 'text', 'image'),
    _boolean('detector', 'Whether the prompt holds detections in camera and sonar.'),
    _boolean('planner', 'Whether the prompt holds the next leg of a search pattern.'),
    _number('call_timeout', '60.0', 'Wall time of one attempt of a call.', 's', 0.01, 3600.0),
    _number(
        'decision_deadline',
        '180.0',
        'Wall time of one decision with all its calls.',
        's',
        0.01,
        86400.0,
    ),
    _integer(
        'max_retries',
        '3',
        'Further attempts of a call after a failure such as a lost connection or HTTP 500. An '
        'endpoint without room (HTTP 429, 503, overloaded) is asked until decision_deadline.',
        '',
        0,
        100,
    ),
    _integer('max_reasks', '2', 'Times that an unclear reply is asked again.', '', 0, 20),
    _number('max_cost', '', 'Budget; unlimited if not given.', 'USD', 1e-6, 1e6),
    _integer('max_tokens', '', 'Budget of tokens in and out.', '', 1, 10**12),
    _number('max_wall', '', 'Budget of wall time.', 's', 0.01, 1e7),
    _integer('max_decisions', '', 'Budget of decisions.', '', 1, 10**6),
    _text(
        'config',
        '',
        'Further configuration directories, separated by colons; later ones count first.',
    ),
)
