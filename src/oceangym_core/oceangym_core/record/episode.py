"""A recorded episode as scorers take it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from oceangym_core.config.mission import MissionOrder
from oceangym_core.config.starts import Start
from oceangym_core.config.tasks import Target, Vector
from oceangym_core.config.tracks import ALL_SENSORS, track_sensors
from oceangym_core.contract.actions import Action, Course, STRAIGHT
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import Contact, Sighting
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose
from oceangym_core.record.memory_files import MemoryEntry

# A target is perceptible in an observation from this many pixels of a camera or cells of a sonar.
PERCEPTIBLE_PIXELS = 64
PERCEPTIBLE_CELLS = 3


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


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """What is fixed before an episode begins; the content of ``run.yaml``.

    Attributes:
        run_id: Name of the run directory.
        options: Resolved run options.
        task, water, profile: What was read from their files.
        agent: Name of the agent.
        privileged: Whether the agent may use truth.
        world_name, world_seed, world_sha256: Of the world.
        lower, upper: Bounds in map [m].
        targets: With weights and footprints.
        shift: Frame of the agent in map.
        start: Place and nearest target.
        t_max, t_interval: [s].
        order: Where to search, as the agent was told; None if it was told nothing.
        has_truth: Whether the backend knows the truth; without it nothing can be scored.
        benchmark: What its scores are comparable with, see `benchmark_version`; empty in records
            of before there was one.
        experience: Where the agent's memory of earlier runs comes from.
        versions, git: Provenance.
        started: Wall time of the start.
    """

    run_id: str
    options: Mapping[str, Any]
    task: Mapping[str, Any]
    water: Mapping[str, Any]
    profile: Mapping[str, Any]
    agent: str
    privileged: bool
    world_name: str
    world_seed: int
    world_sha256: str
    lower: Vector
    upper: Vector
    targets: tuple[Target, ...]
    shift: FrameShift
    start: Start
    t_max: float
    t_interval: float
    has_truth: bool
    order: MissionOrder | None = None
    benchmark: Mapping[str, Any] = field(default_factory=dict)
    experience: tuple[Mapping[str, Any], ...] = ()
    versions: Mapping[str, str] = field(default_factory=dict)
    git: Mapping[str, Any] = field(default_factory=dict)
    started: str = ''


@dataclass(frozen=True, kw_only=True)
class RecordedReport:
    """A find report as recorded: see `decisions.FindReport`; `accepted` ones count."""

    label: str
    position: Vector | None
    sigma: float | None
    sensor: str
    direction: str
    observation_index: int
    stamp: float
    accepted: bool


@dataclass(frozen=True, kw_only=True)
class RecordedDecision:
    """What scoring needs of a decision."""

    action: Action
    magnitude: float | None
    invalid_replies: int
    tokens: int
    cost: float
    notes: tuple[str, ...] = ()
    course: Course = STRAIGHT


@dataclass(frozen=True, kw_only=True)
class Step:
    """One line of the record: an observation and what led to it.

    Attributes:
        index: Of the observation that closes the step; 0 for the reset.
        t: Simulation time of that observation [s].
        decision: None at the reset or where the agent published none.
        estimate: base_link in odom as the agent knew it.
        pose: base_link in map; None without truth.
        trajectory: (T, 8) rows t, x, y, z, qx, qy, qz, qw in map.
        sightings, contacts: See `observation.StepTruth`.
        standoff_events, standoff_seconds, boundary_events: Likewise.
        reports: Made since the line before.
        latency_s: Wall time of the decision [s].
    """

    index: int
    t: float
    estimate: Pose
    pose: Pose | None
    trajectory: Array
    decision: RecordedDecision | None = None
    sightings: tuple[Sighting, ...] = ()
    contacts: tuple[Contact, ...] = ()
    standoff_events: int = 0
    standoff_seconds: float = 0.0
    boundary_events: int = 0
    reports: tuple[RecordedReport, ...] = ()
    latency_s: float = 0.0

    def perceptible(self, target: str, sensors: frozenset[str]) -> bool:
        """Return whether sensors of these kinds resolved a target in this observation."""
        return any(s.anchor == target and resolved(s, sensors) for s in self.sightings)


def resolved(sighting: Sighting, sensors: frozenset[str] = ALL_SENSORS) -> bool:
    """Return whether a sensor of these kinds shows enough of a target to perceive it."""
    enough = sighting.pixels >= PERCEPTIBLE_PIXELS or sighting.cells >= PERCEPTIBLE_CELLS
    return enough and sighting.sensor.partition('/')[0] in sensors


@dataclass(frozen=True)
class Episode:
    """One recorded episode.

    Attributes:
        info: What was fixed before.
        steps: Observation 0 and one step a maneuver, in order.
        ending: Why it ended.
        message: Detail of the ending.
        last_reports: Reports after the last step.
        last_decision: The stop that ended it, if any.
        notes: What the reader had to say about the record.
        memory, important: Content of the memory files, locations in odom.
    """

    info: RunInfo
    steps: tuple[Step, ...]
    ending: Ending
    message: str = ''
    last_reports: tuple[RecordedReport, ...] = ()
    last_decision: RecordedDecision | None = None
    notes: tuple[str, ...] = ()
    memory: tuple[MemoryEntry, ...] = ()
    important: tuple[MemoryEntry, ...] = ()

    def __post_init__(self) -> None:
        if not self.steps:
            raise OceanGymError(
                f'run {self.info.run_id} holds no observation: it ended before its start and '
                'cannot be scored'
            )
        indices = [step.index for step in self.steps]
        if indices != sorted(set(indices)):
            raise OceanGymError(f'run {self.info.run_id}: steps are not in order: {indices[:20]}')

    @cached_property
    def sensors(self) -> frozenset[str]:
        """Kinds of sensors that the agent was given, see `track_sensors`."""
        return track_sensors(self.info.options)

    def perceptible(self, step: Step, target: str) -> bool:
        """Return whether the agent could perceive a target in a step's observation."""
        return step.perceptible(target, self.sensors)

    @property
    def partial(self) -> bool:
        """Whether it was cut short from outside."""
        return self.ending.partial

    @property
    def has_truth(self) -> bool:
        """Whether every step knows where the vehicle truly was."""
        return self.info.has_truth and all(step.pose is not None for step in self.steps)

    @property
    def duration(self) -> float:
        """Simulated time from the first to the last observation [s]."""
        return self.steps[-1].t - self.steps[0].t

    @cached_property
    def trajectory(self) -> Array:
        """(T, 8) rows t, x, y, z, qx, qy, qz, qw in map: 1 Hz truth and every observation's pose."""
        rows = [
            np.array([(step.t, *step.pose.position, *step.pose.quaternion)])
            for step in self.steps
            if step.pose is not None
        ]
        rows += [step.trajectory for step in self.steps if len(step.trajectory)]
        if not rows:
            return np.empty((0, 8))
        stacked = np.concatenate(rows)
        _, first = np.unique(stacked[:, 0], return_index=True)
        unique: Array = stacked[first]
        return unique

    @property
    def final_position(self) -> Array:
        """Position in map at the end [m]."""
        pose = self.steps[-1].pose
        assert pose is not None, 'asked of an episode without truth'
        return np.asarray(pose.position)

    @cached_property
    def reports(self) -> tuple[RecordedReport, ...]:
        """Every accepted report in the order made."""
        made = [report for step in self.steps for report in step.reports]
        return tuple(r for r in (*made, *self.last_reports) if r.accepted)

    @cached_property
    def step_of(self) -> dict[int, Step]:
        """Steps by observation index."""
        return {step.index: step for step in self.steps}

    @property
    def decisions(self) -> tuple[RecordedDecision, ...]:
        """Every decision, the final stop included."""
        made = [step.decision for step in self.steps if step.decision is not None]
        return (*made, *([self.last_decision] if self.last_decision is not None else []))

    def place_in_map(self, report: RecordedReport) -> Array | None:
        """Return where a report's estimate lies in map (3,) [m].

        The estimate is carried by T_truth(t) T_odom(t)^-1 at its observation, so that the drift of
        the odometry does not count against it. None without that observation's truth.
        """
        step = self.step_of.get(report.observation_index)
        if step is None or step.pose is None:
            return None
        if report.position is None:
            return np.asarray(step.pose.position)
        return step.pose.apply(step.estimate.inverse().apply(report.position))
