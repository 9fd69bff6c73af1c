"""The shape of ``run.yaml`` and of the lines of ``episode.jsonl``, checked when they are read."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from oceangym_core.config.mission import MissionOrder
from oceangym_core.config.starts import Start
from oceangym_core.config.tasks import Target
from oceangym_core.contract.actions import Action, Course
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import Contact, Sighting
from oceangym_core.files import Schema
from oceangym_core.geometry import Pose
from oceangym_core.record.episode import (
    Ending,
    RecordedDecision,
    RecordedReport,
    RunInfo,
    Step,
)
from oceangym_core.world.footprint import Footprint

FORMAT = 1

# Anything farther from the origin than this is no place on Earth's sea floor, but a broken file.
Number = Annotated[float, Field(ge=-1e9, le=1e9)]
Count = Annotated[int, Field(ge=0, le=10**9)]
Vector = tuple[Number, Number, Number]
Component = Annotated[float, Field(ge=-1.001, le=1.001)]
Quaternion = tuple[Component, Component, Component, Component]
Row = tuple[Number, Number, Number, Number, Component, Component, Component, Component]


class _Line(Schema):
    """Part of a line: like other schemas, but later versions may add keys."""

    model_config = ConfigDict(extra='ignore')


class PoseEntry(_Line):
    """A pose."""

    position: Vector
    quaternion: Quaternion

    def value(self) -> Pose:
        """Return it with the quaternion, rounded in the file, normalised again."""
        norm = float(np.linalg.norm(self.quaternion))
        if not 0.9 < norm < 1.1:
            raise ValueError(f'quaternion {self.quaternion} is not of unit length')
        return Pose.of(self.position, np.asarray(self.quaternion) / norm)


class TruthEntry(_Line):
    """What the simulator knew."""

    pose: PoseEntry
    trajectory: tuple[Row, ...] = ()


class DecisionEntry(_Line):
    """A decision; descriptions and replies stay in the file."""

    action: Action
    magnitude: Number | None = None
    turn_deg: Number | None = None
    climb_m: Number | None = None
    altitude_m: Number | None = None
    invalid_replies: Count = 0
    tokens_in: Count = 0
    tokens_out: Count = 0
    cost: Number = 0.0
    notes: tuple[str, ...] = ()

    def value(self) -> RecordedDecision:
        """Return what scoring needs."""
        return RecordedDecision(
            action=self.action,
            magnitude=self.magnitude,
            course=Course(
                turn_deg=self.turn_deg, climb_m=self.climb_m, altitude_m=self.altitude_m
            ),
            invalid_replies=self.invalid_replies,
            tokens=self.tokens_in + self.tokens_out,
            cost=self.cost,
            notes=self.notes,
        )


class ReportEntry(_Line):
    """A find report."""

    label: Annotated[str, Field(max_length=1000)]
    position: Vector | None = None
    sigma: Number | None = None
    sensor: str = ''
    direction: str = ''
    observation_index: Count
    stamp: Number
    accepted: bool

    def value(self) -> RecordedReport:
        """Return it as a value."""
        return RecordedReport(**self.model_dump())


class SightingEntry(_Line):
    """How much of a target a sensor saw."""

    anchor: str
    sensor: str
    pixels: Count = 0
    cells: Count = 0


class ContactEntry(_Line):
    """A collision."""

    stamp: Number
    instance: str
    speed: Number


class StandoffEntry(_Line):
    """Violations of the stand-off distance."""

    events: Count = 0
    seconds: Number = 0.0


class WallEntry(_Line):
    """Wall-clock fields, apart from which a seed determines the line."""

    latency_s: Number = 0.0


class StepLine(_Line):
    """One observation."""

    kind: Literal['reset', 'step']
    index: Count
    t: Number
    decision: DecisionEntry | None = None
    estimate: PoseEntry
    truth: TruthEntry | None = None
    sightings: tuple[SightingEntry, ...] = ()
    contacts: tuple[ContactEntry, ...] = ()
    standoff: StandoffEntry = StandoffEntry()
    boundary: Count = 0
    reports: tuple[ReportEntry, ...] = ()
    wall: WallEntry = WallEntry()

    def value(self) -> Step:
        """Return it as scorers take it."""
        rows = self.truth.trajectory if self.truth is not None else ()
        return Step(
            index=self.index,
            t=self.t,
            decision=None if self.decision is None else self.decision.value(),
            estimate=self.estimate.value(),
            pose=None if self.truth is None else self.truth.pose.value(),
            trajectory=np.array(rows, dtype=float).reshape(-1, 8),
            sightings=tuple(Sighting(**s.model_dump()) for s in self.sightings),
            contacts=tuple(Contact(**c.model_dump()) for c in self.contacts),
            standoff_events=self.standoff.events,
            standoff_seconds=self.standoff.seconds,
            boundary_events=self.boundary,
            reports=tuple(report.value() for report in self.reports),
            latency_s=self.wall.latency_s,
        )


class EndLine(_Line):
    """The last line of a record that was closed."""

    kind: Literal['end']
    t: Number
    ending: Ending
    message: str = ''
    decision: DecisionEntry | None = None
    reports: tuple[ReportEntry, ...] = ()


class BoxEntry(Schema):
    """One box of a footprint."""

    position: Vector
    quaternion: Quaternion
    size: Vector


class TargetEntry(Schema):
    """One target."""

    name: str
    label: str
    point: Vector
    weight: Annotated[float, Field(ge=0, le=1)]
    accepted_labels: tuple[str, ...]
    footprint: Annotated[tuple[BoxEntry, ...], Field(min_length=1)]
    structure: tuple[BoxEntry, ...] | None = None

    def value(self) -> Target:
        """Return it as scorers take it."""
        return Target(
            name=self.name,
            label=self.label,
            point=self.point,
            weight=self.weight,
            footprint=_footprint(self.footprint),
            accepted_labels=frozenset(self.accepted_labels),
            structure=None if self.structure is None else _footprint(self.structure),
        )


def _footprint(boxes: tuple[BoxEntry, ...]) -> Footprint:
    return Footprint.of([(Pose.of(b.position, b.quaternion), b.size) for b in boxes])


class StartEntry(Schema):
    """Where the episode starts, in map; angles in radians."""

    name: str
    position: Vector
    quaternion: Quaternion
    target: str
    range: Number
    bearing: Number
    relative_bearing: Number
    # Of records before benchmark 2.0.0 these are missing.
    stratum: str = ''
    aspect: str = ''


class OrderEntry(Schema):
    """Where to search, in map."""

    area: tuple[tuple[Number, Number], ...]
    bearing: Number | None = None
    bearing_from: tuple[Number, Number] | None = None
    landmark: str = ''
    distance: Number = 0.0
    several: bool = False


class ShiftEntry(Schema):
    """Where odom lies in map [m, rad]."""

    x: Number
    y: Number
    yaw: Number


class WorldEntry(Schema):
    """The world's identity and bounds in map [m]."""

    name: str
    seed: int
    sha256: str
    lower: Vector
    upper: Vector


class RunFile(Schema):
    """``run.yaml``."""

    format: Literal[1]
    run_id: str
    agent: str
    privileged: bool
    has_truth: bool
    options: dict[str, Any]
    t_max: Annotated[float, Field(gt=0, le=1e6)]
    t_interval: Annotated[float, Field(gt=0, le=1e6)]
    task: dict[str, Any]
    water: dict[str, Any]
    profile: dict[str, Any]
    world: WorldEntry
    shift: ShiftEntry
    start: StartEntry
    order: OrderEntry | None = None
    targets: Annotated[tuple[TargetEntry, ...], Field(min_length=1)]
    # Of records made before benchmark 1.0.0 these are missing.
    benchmark: dict[str, Any] = {}
    experience: tuple[dict[str, Any], ...] = ()
    versions: dict[str, str]
    git: dict[str, Any]
    wall: dict[str, str]

    def value(self) -> RunInfo:
        """Return it as a value."""
        start = self.start
        return RunInfo(
            run_id=self.run_id,
            options=self.options,
            task=self.task,
            water=self.water,
            profile=self.profile,
            agent=self.agent,
            privileged=self.privileged,
            world_name=self.world.name,
            world_seed=self.world.seed,
            world_sha256=self.world.sha256,
            lower=self.world.lower,
            upper=self.world.upper,
            targets=tuple(target.value() for target in self.targets),
            shift=FrameShift(self.shift.x, self.shift.y, self.shift.yaw),
            start=Start(
                name=start.name,
                pose=Pose.of(start.position, start.quaternion),
                target=start.target,
                range=start.range,
                bearing=start.bearing,
                relative_bearing=start.relative_bearing,
                stratum=start.stratum,
                aspect=start.aspect,
            ),
            order=None if self.order is None else MissionOrder(**self.order.model_dump()),
            t_max=self.t_max,
            t_interval=self.t_interval,
            has_truth=self.has_truth,
            benchmark=self.benchmark,
            experience=self.experience,
            versions=self.versions,
            git=self.git,
            started=self.wall.get('started', ''),
        )


def run_file_content(info: RunInfo) -> dict[str, Any]:
    """Return what ``run.yaml`` holds."""
    start = info.start
    return {
        'format': FORMAT,
        'run_id': info.run_id,
        'agent': info.agent,
        'privileged': info.privileged,
        'has_truth': info.has_truth,
        'options': dict(info.options),
        't_max': info.t_max,
        't_interval': info.t_interval,
        'task': dict(info.task),
        'water': dict(info.water),
        'profile': dict(info.profile),
        'world': {
            'name': info.world_name,
            'seed': info.world_seed,
            'sha256': info.world_sha256,
            'lower': list(info.lower),
            'upper': list(info.upper),
        },
        'shift': {'x': info.shift.x, 'y': info.shift.y, 'yaw': info.shift.yaw},
        'start': {
            'name': start.name,
            'position': list(start.pose.position),
            'quaternion': list(start.pose.quaternion),
            'target': start.target,
            'range': start.range,
            'bearing': start.bearing,
            'relative_bearing': start.relative_bearing,
            'stratum': start.stratum,
            'aspect': start.aspect,
        },
        'order': None if info.order is None else asdict(info.order),
        'targets': [
            {
                'name': target.name,
                'label': target.label,
                'point': list(target.point),
                'weight': target.weight,
                'accepted_labels': sorted(target.accepted_labels),
                'footprint': target.footprint.as_list(),
                **({} if target.structure is None else {'structure': target.structure.as_list()}),
            }
            for target in info.targets
        ],
        'benchmark': dict(info.benchmark),
        'experience': [dict(source) for source in info.experience],
        'versions': dict(info.versions),
        'git': dict(info.git),
        'wall': {'started': info.started},
    }
