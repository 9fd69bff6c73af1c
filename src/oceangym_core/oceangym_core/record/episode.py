"""A recorded episode as scorers take it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oceangym_core.config.tracks import ALL_SENSORS, track_sensors
from oceangym_core.contract.observation import Sighting
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array
from oceangym_core.record.memory_files import MemoryEntry
from oceangym_core.record.schema import (
    End,
    Ending,
    RecordedDecision,
    RecordedReport,
    RecordedSighting,
    RunInfo,
    Step,
)

# A target is perceptible in an observation from this many pixels of a camera or cells of a sonar.
PERCEPTIBLE_PIXELS = 64
PERCEPTIBLE_CELLS = 3


def resolved(sighting: Sighting | RecordedSighting, sensors: frozenset[str] = ALL_SENSORS) -> bool:
    """Return whether a sensor of these kinds shows enough of a target to perceive it."""
    enough = sighting.pixels >= PERCEPTIBLE_PIXELS or sighting.cells >= PERCEPTIBLE_CELLS
    return enough and sighting.sensor.partition('/')[0] in sensors


@dataclass(frozen=True)
class Episode:
    """One recorded episode.

    Attributes:
        info: What was fixed before.
        steps: Observation 0 and one step a maneuver, in order.
        end: The closing line; None where the record stops without one.
        notes: What the reader had to say about the record.
        memory, important: Content of the memory files, locations in odom.
    """

    info: RunInfo
    steps: tuple[Step, ...]
    end: End | None = None
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

    @property
    def lines(self) -> tuple[Step | End, ...]:
        """Every line of the record in order."""
        return self.steps if self.end is None else (*self.steps, self.end)

    @cached_property
    def sensors(self) -> frozenset[str]:
        """Kinds of sensors that the agent was given, see `track_sensors`."""
        return track_sensors(self.info.options)

    def perceptible(self, step: Step, target: str) -> bool:
        """Return whether the agent could perceive a target in a step's observation."""
        return any(s.anchor == target and resolved(s, self.sensors) for s in step.sightings)

    @property
    def ending(self) -> Ending:
        """Why it ended."""
        return Ending.INTERRUPTED if self.end is None else self.end.ending

    @property
    def message(self) -> str:
        """Detail of the ending."""
        return 'the record ends without a closing line' if self.end is None else self.end.message

    @property
    def last_decision(self) -> RecordedDecision | None:
        """The stop that ended it, if any."""
        return None if self.end is None else self.end.decision

    @property
    def last_reports(self) -> tuple[RecordedReport, ...]:
        """Reports after the last step."""
        return () if self.end is None else self.end.reports

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
        return tuple(r for line in self.lines for r in line.reports if r.accepted)

    @cached_property
    def step_of(self) -> dict[int, Step]:
        """Steps by observation index."""
        return {step.index: step for step in self.steps}

    @property
    def decisions(self) -> tuple[RecordedDecision, ...]:
        """Every decision, the final stop included."""
        return tuple(line.decision for line in self.lines if line.decision is not None)

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
        return step.pose.apply(step.estimate.pose.inverse().apply(report.position))
