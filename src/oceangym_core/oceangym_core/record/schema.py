"""The record of an episode: ``run.yaml`` and the lines of ``episode.jsonl``.

One model each, by which a record is written, read, scored and shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from enum import Enum
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    ConfigDict,
    Discriminator,
    Field,
    field_validator,
    GetCoreSchemaHandler,
    Tag,
)
from pydantic_core import core_schema, CoreSchema

from oceangym_core.config.mission import MissionOrder
from oceangym_core.config.starts import Start
from oceangym_core.config.tasks import Target
from oceangym_core.config.waters import Environment, Profile, Water
from oceangym_core.contract.actions import Action, Course, EndReason
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import ManeuverResult, NavigationState, StepTruth
from oceangym_core.files import Component, Number, Schema, utf8_text, Vector
from oceangym_core.geometry import Array, Pose
from oceangym_core.record.lines import rounded

FORMAT: Literal[1] = 1
RUN_FILE = 'run.yaml'
EPISODE_FILE = 'episode.jsonl'
SCORE_FILE = 'score.json'


class Prepared:
    """Annotation of a type: a function applied to values given in Python, not to those of a file.

    So a line that is made holds what its file will hold, and reading costs nothing more.
    """

    def __init__(self, prepare: Callable[[Any], Any]) -> None:
        self._prepare = prepare

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Return the schema of the type, for JSON as it is and for Python behind the function."""
        schema = handler(source)
        return core_schema.json_or_python_schema(
            json_schema=schema,
            python_schema=core_schema.no_info_before_validator_function(self._prepare, schema),
        )


# Of lines: rounded, and converted from NumPy's types.
Measured = Annotated[Number, Prepared(rounded)]
Part = Annotated[Component, Prepared(rounded)]
Place = Annotated[tuple[Measured, Measured, Measured], Prepared(tuple)]
Rotation = Annotated[tuple[Part, Part, Part, Part], Prepared(tuple)]
Row = Annotated[
    tuple[Measured, Measured, Measured, Measured, Part, Part, Part, Part], Prepared(tuple)
]
Count = Annotated[int, Field(ge=0, le=10**9), Prepared(int)]
Flag = Annotated[bool, Prepared(bool)]
Text = Annotated[str, Prepared(utf8_text)]


class Ending(str, Enum):
    """Why an episode ended. INTERRUPTED: the record stops without saying why (killed)."""

    STOP = 'stop'
    TIME = 'time'
    BOUNDS = 'bounds'
    BATTERY = 'battery'
    CANCELLED = 'cancelled'
    BUDGET = 'budget'
    ERROR = 'error'
    INTERRUPTED = 'interrupted'

    @property
    def partial(self) -> bool:
        """Whether the episode was cut short from outside and stays out of result tables."""
        return self in (Ending.CANCELLED, Ending.BUDGET, Ending.ERROR, Ending.INTERRUPTED)


def _is_empty(value: Any) -> bool:
    return not value


class _Part(Schema):
    """Part of a record: like other schemas, but later versions may add keys.

    Of lines, only what was given is written: keys that not every line has are given where they belong.
    """

    model_config = ConfigDict(extra='ignore', from_attributes=True)


class RecordedPose(_Part):
    """A pose; its quaternion is rounded."""

    position: Place
    quaternion: Rotation

    @field_validator('quaternion')
    @classmethod
    def _unit(cls, quaternion: Rotation) -> Rotation:
        if not 0.81 < sum(component**2 for component in quaternion) < 1.21:
            raise ValueError('it is not of unit length')
        return quaternion

    @cached_property
    def pose(self) -> Pose:
        """The pose with the quaternion normalised again."""
        norm = float(np.linalg.norm(self.quaternion))
        return Pose.of(self.position, np.asarray(self.quaternion) / norm)


class Estimate(RecordedPose):
    """Where base_link was in odom as the agent knew it.

    Attributes:
        sigma: One-sigma of x, y, z [m].
        battery: Remaining charge 0..1.
    """

    sigma: Place | None = None
    battery: Measured | None = None


class Truth(_Part):
    """What the simulator knew: base_link in map, rows t, x, y, z, qx, qy, qz, qw on the way there."""

    pose: RecordedPose
    trajectory: Annotated[tuple[Row, ...], Prepared(tuple)] = ()


class RecordedDecision(_Part):
    """A decision, see `decisions.Decision`; its latency is among the step's wall-clock fields.

    ``turn_deg``, ``climb_m`` and ``altitude_m`` are written for `Action.GO` alone, notes where there
    are any.
    """

    index: Count = 0
    action: Action
    magnitude: Measured | None = None
    turn_deg: Measured | None = None
    climb_m: Measured | None = None
    altitude_m: Measured | None = None
    description: Text = ''
    finds: tuple[Text, ...] = ()
    raw_reply: Text = ''
    invalid_replies: Count = 0
    tokens_in: Count = 0
    tokens_out: Count = 0
    cost: Measured = 0.0
    notes: tuple[Text, ...] = ()

    @classmethod
    def of(cls, decision: Decision) -> RecordedDecision:
        """Return a decision as it is recorded."""
        given = {**vars(decision), **_course(decision)}
        return cls(**{key: value for key, value in given.items() if key != 'notes' or value})

    @property
    def course(self) -> Course:
        """What `Action.GO` was asked for beside its distance."""
        return Course(turn_deg=self.turn_deg, climb_m=self.climb_m, altitude_m=self.altitude_m)

    @property
    def tokens(self) -> int:
        """Of the model calls behind it."""
        return self.tokens_in + self.tokens_out


class RecordedManeuver(_Part):
    """A maneuver, see `observation.ManeuverResult`; what only `Action.GO` has is written for it alone."""

    action: Action
    requested: Measured
    applied: Measured
    turn_deg: Measured | None = None
    climb_m: Measured | None = None
    altitude_m: Measured | None = None
    turned_deg: Measured | None = None
    climbed_m: Measured | None = None
    saturated: Flag
    end_reason: EndReason
    t_start: Measured
    t_end: Measured

    @classmethod
    def of(cls, maneuver: ManeuverResult) -> RecordedManeuver:
        """Return a maneuver as it is recorded."""
        given = {**vars(maneuver), **_course(maneuver)}
        if maneuver.action is not Action.GO:
            del given['turned_deg'], given['climbed_m']
        return cls(**given)


def _course(value: Decision | ManeuverResult) -> dict[str, float | None]:
    return asdict(value.course) if value.action is Action.GO else {}


class RecordedReport(_Part):
    """A find report, see `decisions.FindReport`; `accepted` ones count."""

    label: Annotated[Text, Field(max_length=1000)]
    position: Place | None = None
    sigma: Measured | None = None
    sensor: Text = ''
    direction: Text = ''
    observation_index: Count
    stamp: Measured
    accepted: Flag

    @classmethod
    def of(cls, report: FindReport, accepted: bool) -> RecordedReport:
        """Return a report as it is recorded."""
        return cls(**vars(report), accepted=accepted)


class RecordedSighting(_Part):
    """How much of a target a sensor showed, see `observation.Sighting`."""

    anchor: Text
    sensor: Text
    pixels: Count = 0
    cells: Count = 0


class RecordedContact(_Part):
    """A collision, see `observation.Contact`."""

    stamp: Measured
    instance: Text
    speed: Measured


class Standoff(_Part):
    """Violations of the stand-off distance, and the time spent inside it [s]."""

    events: Count = 0
    seconds: Measured = 0.0


class Wall(_Part):
    """Wall-clock fields, apart from which a seed determines the line.

    Attributes:
        written: When the line was written.
        latency_s: Of the decision [s].
    """

    written: str = ''
    latency_s: Measured = 0.0


class Step(_Part):
    """One line of the record: an observation and what led to it.

    Attributes:
        index: Of the observation that closes the step; 0 for the reset.
        t: Simulation time of that observation [s].
        kind: The reset's line has no maneuver.
        decision: None at the reset or where the agent published none.
        maneuver: What became of it.
        estimate: base_link in odom as the agent knew it.
        truth: None without truth; the keys after it, up to `image_hashes`, are missing then, too.
        sightings, contacts, standoff, boundary, image_hashes: See `observation.StepTruth`.
        reports: Made since the line before.
        wall: What wall time decides.
    """

    index: Count
    t: Measured
    kind: Literal['reset', 'step']
    decision: RecordedDecision | None = None
    maneuver: RecordedManeuver | None = None
    estimate: Estimate
    truth: Truth | None = None
    sightings: tuple[RecordedSighting, ...] = ()
    contacts: tuple[RecordedContact, ...] = ()
    standoff: Standoff = Standoff()
    boundary: Count = 0
    image_hashes: dict[str, str] = {}
    reports: tuple[RecordedReport, ...] = ()
    wall: Wall = Wall()

    @classmethod
    def of(
        cls,
        *,
        index: int,
        navigation: NavigationState,
        truth: StepTruth | None,
        maneuver: ManeuverResult | None,
        decision: Decision | None,
        reports: tuple[RecordedReport, ...],
        wall: Wall,
    ) -> Step:
        """Return the line of an observation; the parameters are those of `RunWriter.write_step`."""
        known: dict[str, Any] = {'truth': None}
        if truth is not None:
            known = {
                'truth': Truth.model_validate(truth),
                'sightings': truth.sightings,
                'contacts': truth.contacts,
                'standoff': Standoff(events=truth.standoff_events, seconds=truth.standoff_seconds),
                'boundary': truth.boundary_events,
                'image_hashes': dict(sorted(truth.image_hashes.items())),
            }
        return cls(
            index=index,
            t=navigation.stamp,
            kind='reset' if maneuver is None else 'step',
            decision=None if decision is None else RecordedDecision.of(decision),
            maneuver=None if maneuver is None else RecordedManeuver.of(maneuver),
            estimate=Estimate(
                position=navigation.pose.position,
                quaternion=navigation.pose.quaternion,
                sigma=navigation.position_sigma,
                battery=navigation.battery,
            ),
            **known,
            reports=reports,
            wall=wall,
        )

    @property
    def pose(self) -> Pose | None:
        """base_link in map; None without truth."""
        return None if self.truth is None else self.truth.pose.pose

    @cached_property
    def trajectory(self) -> Array:
        """(T, 8) rows t, x, y, z, qx, qy, qz, qw in map; none without truth."""
        rows = () if self.truth is None else self.truth.trajectory
        return np.array(rows, dtype=float).reshape(-1, 8)


class End(_Part):
    """The last line of a record that was closed: why it ended, its stop and the last reports."""

    kind: Literal['end']
    t: Measured
    ending: Ending
    message: Text = ''
    decision: RecordedDecision | None = None
    reports: tuple[RecordedReport, ...] = ()
    wall: Wall = Wall()


class RecordedTask(_Part):
    """What was flown, see `tasks.TaskSpec`; `alias` is its number in OceanGym in the run's water."""

    id: str = ''
    title: str = ''
    category: str = ''
    size_class: str = ''
    alias: str | None = None
    measure: str = 'none'
    sha256: str = ''


class RecordedWorld(_Part):
    """The world's identity and the operating volume in map [m]."""

    name: str
    seed: int
    sha256: str
    lower: Vector
    upper: Vector


class ModelIdentity(_Part):
    """The model that was asked: its name, the digest of its preset, the endpoint's host."""

    id: str = ''
    preset_sha256: str = ''
    host: str = ''


class Benchmark(_Part):
    """What scores are comparable with, see `record.version`; empty in records before 1.0.0.

    Attributes:
        version: Of the benchmark.
        track: What the agent is given.
        hashes: Name and digest of the benchmark's contents.
        model: None for agents without one.
    """

    version: str = Field(default='', exclude_if=_is_empty)
    track: str = Field(default='', exclude_if=_is_empty)
    hashes: dict[str, str] = Field(default={}, exclude_if=_is_empty)
    model: ModelIdentity | None = Field(default=None, exclude_if=_is_empty)


class ExperienceSource(_Part):
    """Where an agent's memory of earlier runs comes from: run, its task, digests of the files."""

    path: str
    run_id: str = ''
    task: str = ''
    files: dict[str, str] = {}


class RunWall(_Part):
    """Wall time of the start."""

    started: str = ''


def _kind_of_water(water: Any) -> str:
    named = water if isinstance(water, dict) else type(water).model_fields
    return 'environment' if 'current' in named else 'water'


class RunInfo(Schema):
    """What is fixed before an episode begins: ``run.yaml``.

    Attributes:
        format: Of the record.
        run_id: Name of the run directory.
        agent: Name of the agent.
        privileged: Whether the agent may use truth.
        has_truth: Whether the backend knows the truth; without it nothing can be scored.
        options: As `RunOptions.as_dict` gave them, those of the version that made the record.
        t_max, t_interval: [s].
        task, water, profile, world: What was flown, where and how.
        shift: Frame of the agent in map.
        start: Place and nearest target.
        order: Where to search, as the agent was told; None if it was told nothing.
        targets: With weights and footprints.
        benchmark: What its scores are comparable with.
        experience: Where the agent's memory of earlier runs comes from.
        versions, git: Provenance.
        wall: What wall time decides.
    """

    format: Literal[1] = FORMAT
    run_id: str
    agent: str
    privileged: bool
    has_truth: bool
    options: dict[str, Any]
    t_max: Annotated[float, Field(gt=0, le=1e6)]
    t_interval: Annotated[float, Field(gt=0, le=1e6)]
    task: RecordedTask
    water: Annotated[
        Annotated[Water, Tag('water')] | Annotated[Environment, Tag('environment')],
        Discriminator(_kind_of_water),
    ]
    profile: Profile
    world: RecordedWorld
    shift: FrameShift
    start: Start
    order: MissionOrder | None = None
    targets: Annotated[tuple[Target, ...], Field(min_length=1)]
    benchmark: Benchmark = Benchmark()
    experience: tuple[ExperienceSource, ...] = ()
    versions: dict[str, str] = {}
    git: dict[str, Any] = {}
    wall: RunWall = RunWall()
