"""Builders of small episodes for tests, made through the same writer as real ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oceangym_core.config.options import RunOptions
from oceangym_core.config.starts import describe_start
from oceangym_core.config.tasks import PAPER_WEIGHTS, Target
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import Action, EndReason
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import (
    Contact,
    ManeuverResult,
    NavigationState,
    Sighting,
    StepTruth,
)
from oceangym_core.geometry import Pose
from oceangym_core.record.episode import Episode
from oceangym_core.record.schema import Ending, RecordedTask, RecordedWorld, RunInfo
from oceangym_core.record.writer import RunWriter
from oceangym_core.world.footprint import Footprint

Vector = tuple[float, float, float]


class StepClock:
    """A wall clock that moves on by a second with each look."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 1, 2, 3, 4, 5)

    def __call__(self) -> datetime:
        """Return the next second."""
        self._now += timedelta(seconds=1)
        return self._now


def box_target(
    name: str,
    point: Vector,
    *,
    label: str = 'OIL PIPELINE',
    size: Vector = (2.0, 2.0, 2.0),
    weight: float = 1.0,
    yaw: float = 0.0,
) -> Target:
    """Return a target whose footprint is one box about its point."""
    return Target(
        name=name,
        label=label,
        point=point,
        weight=weight,
        footprint=Footprint.of([(Pose.from_euler(point, 0, 0, yaw), size)]),
    )


def targets_at(points: Sequence[Vector], label: str = 'OIL PIPELINE') -> tuple[Target, ...]:
    """Return box targets a, b, c ... with the paper's weights."""
    weights = PAPER_WEIGHTS[len(points)]
    return tuple(
        box_target(chr(ord('a') + i), point, label=label, weight=weight)
        for i, (point, weight) in enumerate(zip(points, weights, strict=True))
    )


def run_info(
    targets: Sequence[Target],
    *,
    start: Pose | None = None,
    shift: FrameShift | None = None,
    options: RunOptions | None = None,
    measure: str = 'none',
    has_truth: bool = True,
    t_max: float = 1800.0,
    battery_ends: bool = False,
) -> RunInfo:
    """Return the fixed part of a record about some targets."""
    options = options or RunOptions()
    return RunInfo(
        run_id='test_run',
        options=options.as_dict(),
        task=RecordedTask(id='inspect_pipe', measure=measure),
        water=load_water('shallow').model_copy(update={'visibility': None}),
        profile=load_profile('standard').model_copy(update={'battery_ends': battery_ends}),
        agent=options.agent_name,
        privileged=False,
        world=RecordedWorld(
            name='ocean',
            seed=0,
            sha256='0' * 64,
            lower=(-200.0, -400.0, -100.0),
            upper=(650.0, 250.0, 5.0),
        ),
        targets=tuple(targets),
        shift=shift or FrameShift(),
        start=describe_start('custom', start or Pose(), targets),
        t_max=t_max,
        t_interval=30.0,
        has_truth=has_truth,
    )


@dataclass
class Leg:
    """One observation of a made-up episode.

    Attributes:
        position: True position [m].
        yaw: True heading [rad].
        estimate: Pose in odom; the true pose in the shifted frame if None.
        sightings: What was perceptible.
        reports: Made on this observation.
        contacts: During the step that led here.
        standoff: Events and seconds during it.
        boundary: Crossings of the bounds.
        action: Decided on this observation; None for no decision.
        trajectory: (T, 4) rows t, x, y, z on the way here.
    """

    position: Vector
    yaw: float = 0.0
    estimate: Pose | None = None
    sightings: tuple[Sighting, ...] = ()
    reports: tuple[FindReport, ...] = ()
    contacts: tuple[Contact, ...] = ()
    standoff: tuple[int, float] = (0, 0.0)
    boundary: int = 0
    action: Action | None = Action.FORWARD
    trajectory: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 4)))


def navigation_at(pose: Pose, stamp: float) -> NavigationState:
    """Return a navigation state at rest."""
    return NavigationState(
        stamp=stamp,
        pose=pose,
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.1, 0.1, 0.05),
        depth=-pose.position[2],
        altitude=10.0,
        battery=1.0,
    )


def truth_at(leg: Leg, index: int, stamp: float) -> StepTruth:
    """Return the truth of one leg."""
    rows = np.zeros((len(leg.trajectory), 8))
    rows[:, :4] = leg.trajectory
    rows[:, 7] = 1.0
    return StepTruth(
        index=index,
        stamp=stamp,
        pose=Pose.from_euler(leg.position, 0, 0, leg.yaw),
        trajectory=rows,
        sightings=leg.sightings,
        contacts=leg.contacts,
        standoff_events=leg.standoff[0],
        standoff_seconds=leg.standoff[1],
        boundary_events=leg.boundary,
        image_hashes={'camera/front': f'{index:064x}'},
    )


def maneuver_to(
    index: int, action: Action = Action.FORWARD, end: EndReason = EndReason.COMPLETED
) -> ManeuverResult:
    """Return the maneuver that led to an observation, half a minute long."""
    return ManeuverResult(
        action=action,
        requested=20.0,
        applied=20.0,
        saturated=False,
        end_reason=end,
        t_start=30.0 * (index - 1),
        t_end=30.0 * index,
    )


def write_episode(
    legs: Sequence[Leg],
    info: RunInfo,
    *,
    directory: Path | None = None,
    ending: Ending | None = Ending.STOP,
) -> RunWriter:
    """Write legs as an episode; without an ending it stays open, as if the run were killed."""
    writer = RunWriter(directory, info, clock=StepClock())
    pending: list[tuple[FindReport, bool]] = []
    decision: Decision | None = None
    for index, leg in enumerate(legs):
        stamp = 30.0 * index
        true = Pose.from_euler(leg.position, 0, 0, leg.yaw)
        writer.write_step(
            index=index,
            navigation=navigation_at(leg.estimate or info.shift.to_odom(true), stamp),
            truth=truth_at(leg, index, stamp) if info.has_truth else None,
            maneuver=None if index == 0 else maneuver_to(index),
            decision=decision,
            reports=pending,
        )
        pending = [(on_observation(report, index), True) for report in leg.reports]
        decision = None if leg.action is None else Decision(index=index, action=leg.action)
    if ending is not None:
        last = legs[-1].action
        stop = None if last is None else Decision(index=len(legs) - 1, action=Action.STOP)
        writer.write_end(t=30.0 * (len(legs) - 1), ending=ending, decision=stop, reports=pending)
    writer.close()
    return writer


def on_observation(report: FindReport, index: int) -> FindReport:
    """Return a report with its observation named."""
    if report.observation_index is not None:
        return report
    return FindReport(
        label=report.label,
        position=report.position,
        sigma=report.sigma,
        sensor=report.sensor,
        direction=report.direction,
        observation_index=index,
        stamp=30.0 * index,
    )


def make_episode(
    legs: Sequence[Leg], info: RunInfo, *, ending: Ending | None = Ending.STOP
) -> Episode:
    """Return legs as an episode, in memory."""
    return write_episode(legs, info, ending=ending).episode()
