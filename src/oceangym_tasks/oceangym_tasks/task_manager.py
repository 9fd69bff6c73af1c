"""The life cycle of an episode: initial, ready, running, finished.

The manager knows no ROS and no clock: a node or an in-process runner tells it what happened, at
which simulation time, and it keeps the record, decides when the episode is over and scores it. It
never tells whether a report was right.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
import math
from typing import Any

from oceangym_core.config.tasks import TaskSpec
from oceangym_core.contract.actions import Action, check_action, EndReason
from oceangym_core.contract.decisions import Decision, FindReport, Refusal, ReportAck
from oceangym_core.contract.frames import bounds_polygon
from oceangym_core.contract.observation import ManeuverResult, NavigationState, StepTruth
from oceangym_core.errors import OceanGymError
from oceangym_core.record.schema import Ending, RunInfo
from oceangym_core.record.writer import RunWriter
from oceangym_core.scoring import score_episode

MAX_LABEL_CHARACTERS = 200
# Places farther than this are typing errors, not estimates [m].
MAX_COORDINATE_M = 1e6
# A step that ends within this of t_max ends the episode [s]: less than any tick.
TIME_TOLERANCE_S = 1e-6


class TaskState(str, Enum):
    """Where in its life an episode is."""

    INITIAL = 'initial'
    READY = 'ready'
    RUNNING = 'running'
    FINISHED = 'finished'


@dataclass(frozen=True, kw_only=True)
class TaskGoal:
    """What the agent is asked to do; never a coordinate of a target.

    Attributes:
        task_id, title, category, instruction: Of the task.
        target_label, target_name, target_description: What to look for and how to call it.
        reference_image: Path of its picture, empty without one.
        bounds_polygon: Corners x, y of the operating area in odom [m].
        z_min, z_max: Its depth range [m].
        t_max, t_interval: Length of the episode and of a maneuver [s].
        number_of_targets: How many there are.
        mission_order: Where to search, in words; empty if nothing is said about it.
        search_area: Corners x, y of the search area in odom [m]; empty without one.
        sight: How far cameras show a large thing in this water [m]; 0 where it is not known.
    """

    task_id: str
    title: str
    category: str
    instruction: str
    target_label: str
    target_name: str
    target_description: str
    reference_image: str
    bounds_polygon: tuple[tuple[float, float], ...]
    z_min: float
    z_max: float
    t_max: float
    t_interval: float
    number_of_targets: int
    mission_order: str = ''
    search_area: tuple[tuple[float, float], ...] = ()
    sight: float = 0.0


@dataclass(frozen=True, kw_only=True)
class TaskStatus:
    """Where the episode stands; times [s] of simulation, `ending` empty before the end."""

    state: TaskState
    step: int
    elapsed: float
    remaining: float
    ending: str


@dataclass(frozen=True, kw_only=True)
class _PendingStep:
    """A step that was made and is not written yet."""

    maneuver: ManeuverResult | None
    navigation: NavigationState
    truth: StepTruth | None
    reports: tuple[tuple[FindReport, bool], ...]


class TaskManager:
    """Runs one episode.

    Args:
        task: What is asked.
        info: What is fixed before the episode, with targets, bounds, frame and times.
        writer: Of the record.
        decisions_lag: Whether a decision may arrive after its own step, as messages over a network
            do. A step, or the end, is then held back until its decision is there or `flush` is
            called.
    """

    def __init__(
        self,
        *,
        task: TaskSpec,
        info: RunInfo,
        writer: RunWriter,
        decisions_lag: bool = False,
    ) -> None:
        self._task = task
        self._info = info
        self._writer = writer
        self._decisions_lag = decisions_lag
        self._state = TaskState.INITIAL
        self._index = -1
        self._accepted = 0
        self._started_at = 0.0
        self._now = 0.0
        self._decisions: dict[int, Decision] = {}
        self._reports: list[tuple[FindReport, bool]] = []
        self._pending: list[_PendingStep] = []
        self._ending: tuple[Ending, str] | None = None
        self._result: dict[str, Any] | None = None

    @property
    def state(self) -> TaskState:
        """Where in its life the episode is."""
        return self._state

    @property
    def task_id(self) -> str:
        """Of the task that is flown."""
        return self._task.id

    @property
    def accepted_reports(self) -> int:
        """How many finds were reported and understood, true or not."""
        return self._accepted

    @property
    def ending(self) -> Ending | None:
        """Why it ended; None before."""
        return None if self._ending is None else self._ending[0]

    @property
    def result(self) -> dict[str, Any] | None:
        """The content of ``score.json`` once finished; None where there was nothing to score."""
        return self._result

    @property
    def awaiting_decision(self) -> bool:
        """Whether a line is held back for a decision that has not arrived."""
        return bool(self._pending) or (
            self._ending is not None and self._state is not TaskState.FINISHED
        )

    @property
    def episode_over(self) -> bool:
        """Whether the episode has ended, be it that its last line is still held back."""
        return self._ending is not None

    def goal(self, briefing: str = '') -> TaskGoal:
        """Return what the agent is told.

        Args:
            briefing: A sentence about the water, added to the instruction.
        """
        task, info, world = self._task, self._info, self._info.world
        image = task.reference_image_path
        return TaskGoal(
            task_id=task.id,
            title=task.title,
            category=task.category,
            instruction=f'{task.instruction} {briefing}'.strip(),
            target_label=task.label,
            target_name=task.target_name,
            target_description=task.target_description,
            reference_image='' if image is None else str(image),
            bounds_polygon=bounds_polygon(world.lower, world.upper, info.shift),
            z_min=world.lower[2],
            z_max=world.upper[2],
            t_max=info.t_max,
            t_interval=info.t_interval,
            number_of_targets=len(info.targets),
            mission_order='' if info.order is None else info.order.text(info.shift),
            search_area=() if info.order is None else info.order.area_in_odom(info.shift),
            sight=info.water.visibility or 0.0,
        )

    def status(self, now: float | None = None) -> TaskStatus:
        """Return where the episode stands at simulation time `now` [s], by default the last known."""
        running = self._state is TaskState.RUNNING and self._ending is None
        at = max(self._now, now) if running and now is not None else self._now
        elapsed = min(max(at - self._started_at, 0.0), self._info.t_max)
        return TaskStatus(
            state=self._state,
            step=max(self._index, 0),
            elapsed=elapsed,
            remaining=self._info.t_max - elapsed,
            ending='' if self._ending is None else self._ending[0].value,
        )

    def ready(self) -> None:
        """Say that backend and agent are there."""
        if self._state is TaskState.INITIAL:
            self._state = TaskState.READY

    def begin(self, navigation: NavigationState, truth: StepTruth | None) -> None:
        """Start the episode with observation 0.

        Raises:
            OceanGymError: The episode has begun before.
        """
        if self._state not in (TaskState.INITIAL, TaskState.READY):
            raise OceanGymError(
                f'the episode is {self._state.value} and cannot begin again; make a new run'
            )
        self._state = TaskState.RUNNING
        self._index = 0
        self._started_at = self._now = navigation.stamp
        self._writer.write_step(index=0, navigation=navigation, truth=truth)

    def report_find(self, report: FindReport) -> ReportAck:
        """Take a find report down.

        The answer says whether it was understood, never whether it is true. What was refused is
        recorded, but does not count.
        """
        if self._state is not TaskState.RUNNING or self._ending is not None:
            return ReportAck(
                accepted=False,
                refusal=Refusal.NOT_RUNNING,
                message='no episode is running; reports count from its start to its end',
            )
        index = self._index if report.observation_index is None else report.observation_index
        refusal, message = self._examine(report, index)
        accepted = refusal is Refusal.NONE
        self._accepted += accepted
        self._reports.append((_recordable(report, index), accepted))
        return ReportAck(
            accepted=accepted,
            refusal=refusal,
            message=message or f'report on observation {index} taken down',
        )

    def _examine(self, report: FindReport, index: int) -> tuple[Refusal, str]:
        label = report.label.strip()
        if not label or len(label) > MAX_LABEL_CHARACTERS:
            return Refusal.BAD_LABEL, f'the label must have 1 to {MAX_LABEL_CHARACTERS} characters'
        if not 0 <= index <= self._index:
            return (
                Refusal.BAD_OBSERVATION,
                f'observation {index} is not one of 0 .. {self._index} of this episode',
            )
        numbers = [*(report.position or ()), *([] if report.sigma is None else [report.sigma])]
        if not all(math.isfinite(n) and abs(n) <= MAX_COORDINATE_M for n in numbers):
            return (
                Refusal.BAD_POSITION,
                f'the position {report.position} must be finite metres in odom; '
                'leave it out to report your own',
            )
        return Refusal.NONE, ''

    def on_decision(self, decision: Decision) -> None:
        """Take a decision down; the last one on an observation counts.

        One for an action that the run does not offer ends the episode with an error.
        """
        if self._state is not TaskState.RUNNING:
            return
        self._decisions[decision.index] = decision
        self._check_offered(decision.action)
        self._advance()

    def _check_offered(self, action: Action) -> None:
        """Keep out of the tables what was not flown with the actions that the run says."""
        try:
            check_action(action, self._info.options.get('actions', 'oceangym'))
        except OceanGymError as error:
            self.error(str(error))

    def on_step(
        self,
        maneuver: ManeuverResult,
        navigation: NavigationState,
        truth: StepTruth | None,
    ) -> None:
        """Take down what a maneuver led to, and end the episode where it ended it.

        Raises:
            OceanGymError: No episode is running.
        """
        if self._state is not TaskState.RUNNING or self._ending is not None:
            raise OceanGymError(f'a step arrived while the episode is {self._state.value}')
        if truth is not None and truth.index != self._index + 1:
            raise OceanGymError(
                f'the truth of observation {truth.index} arrived where {self._index + 1} was due'
            )
        self._index += 1
        self._now = navigation.stamp
        self._pending.append(
            _PendingStep(
                maneuver=maneuver,
                navigation=navigation,
                truth=truth,
                reports=tuple(self._reports),
            )
        )
        self._reports.clear()
        self._check_offered(maneuver.action)
        self._advance()
        ending = self._ending_of(maneuver)
        if ending is not None:
            self._finish(ending, '')

    def _ending_of(self, maneuver: ManeuverResult) -> Ending | None:
        if maneuver.end_reason is EndReason.BOUNDS:
            return Ending.BOUNDS
        if maneuver.end_reason is EndReason.BATTERY and self._info.profile.battery_ends:
            return Ending.BATTERY
        over = self._now - self._started_at >= self._info.t_max - TIME_TOLERANCE_S
        return Ending.TIME if over or maneuver.end_reason is EndReason.TIME else None

    def stop(self, reason: str = '') -> None:
        """End the episode because the agent says so."""
        self._finish(Ending.STOP, reason)

    def cancel(self, reason: str = '') -> None:
        """End the episode because a person says so."""
        self._finish(Ending.CANCELLED, reason)

    def budget(self, reason: str = '') -> None:
        """End the episode because the money or tokens allowed for it are spent."""
        self._finish(Ending.BUDGET, reason)

    def error(self, reason: str = '') -> None:
        """End the episode because something failed; what was earned stays on record."""
        self._finish(Ending.ERROR, reason)

    def crash(self, reason: str) -> None:
        """End the episode because a component died; what is held back is written as it is."""
        self._finish(Ending.ERROR, reason)
        self.flush()

    def flush(self) -> None:
        """Write what is held back for decisions that did not arrive."""
        self._advance(patient=False)
        self._close()

    def _finish(self, ending: Ending, reason: str) -> None:
        """Note the first ending; later ones change nothing."""
        if self._ending is not None:
            return
        if self._state is not TaskState.RUNNING:
            # Nothing was observed: there is nothing to score, and the record says why.
            self._ending = (ending, reason)
            self._state = TaskState.FINISHED
            self._writer.write_end(t=self._now, ending=ending, message=reason)
            self._writer.close()
            return
        self._ending = (ending, reason)
        self._advance(patient=not ending.partial)

    def _stop_is_due(self, ending: Ending) -> bool:
        """Return whether the decision behind a stop may still arrive."""
        return self._decisions_lag and ending is Ending.STOP and self._index not in self._decisions

    def _advance(self, *, patient: bool = True) -> None:
        """Write the steps whose decisions are there, in order."""
        while self._pending:
            step = self._pending[0]
            index = self._index - len(self._pending) + 1
            decision = self._decisions.get(index - 1)
            if decision is None and self._decisions_lag and patient:
                return
            self._pending.pop(0)
            self._writer.write_step(
                index=index,
                navigation=step.navigation,
                truth=step.truth,
                maneuver=step.maneuver,
                decision=decision,
                reports=step.reports,
            )
            self._decisions.pop(index - 1, None)
        if self._ending is not None and not (patient and self._stop_is_due(self._ending[0])):
            self._close()

    def _close(self) -> None:
        """Write the closing line and the scores, once."""
        if self._ending is None or self._pending or self._state is TaskState.FINISHED:
            return
        self._state = TaskState.FINISHED
        ending, message = self._ending
        try:
            self._writer.write_end(
                t=self._now,
                ending=ending,
                message=message,
                decision=self._decisions.get(self._index),
                reports=self._reports,
            )
            self._result = score_episode(self._writer.episode())
            self._writer.write_score(self._result)
        finally:
            self._writer.close()


def _recordable(report: FindReport, index: int) -> FindReport:
    """Return a report with its observation named and without what no record can hold."""
    position = report.position
    if position is not None and not all(math.isfinite(n) for n in position):
        position = None
    sigma = report.sigma if report.sigma is not None and math.isfinite(report.sigma) else None
    return FindReport(
        label=report.label[: MAX_LABEL_CHARACTERS + 1],
        position=position,
        sigma=sigma,
        sensor=report.sensor[:MAX_LABEL_CHARACTERS],
        direction=report.direction[:MAX_LABEL_CHARACTERS],
        observation_index=max(index, 0),
        stamp=report.stamp if math.isfinite(report.stamp) else 0.0,
    )
