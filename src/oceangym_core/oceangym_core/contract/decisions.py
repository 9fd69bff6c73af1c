"""What an agent decides and reports, as it crosses package boundaries and enters the record."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from oceangym_core.contract.actions import Action, Course, STRAIGHT


@dataclass(frozen=True, kw_only=True)
class Decision:
    """One decision of an agent.

    Attributes:
        index: Of the observation that it was taken on.
        action: What to do next.
        magnitude: Metres or degrees; None for the action's default.
        course: What ``go`` is asked for beside its distance; nothing for other actions.
        description: What the agent says it perceives (the memory's text).
        finds: What the agent says it found; a log, only reports count.
        raw_reply: The model's reply as received.
        invalid_replies: Replies that could not be understood before this decision.
        tokens_in, tokens_out: Of the model calls behind this decision.
        cost: Of those calls [USD].
        latency_s: Wall time from observation to decision [s].
        notes: What a reader of the numbers must know of those calls, e.g. which parameter of the
            request the endpoint refused.
    """

    index: int
    action: Action
    magnitude: float | None = None
    course: Course = STRAIGHT
    description: str = ''
    finds: tuple[str, ...] = ()
    raw_reply: str = ''
    invalid_replies: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    latency_s: float = 0.0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FindReport:
    """A target reported found.

    Attributes:
        label: What was found, e.g. ``OIL PIPELINE``; case and separators do not matter.
        position: Its estimated place in odom [m]; None stands for the vehicle's own odometry.
        sigma: One-sigma of the estimate [m], None if unknown.
        sensor, direction: Where it was seen, e.g. ``camera``, ``front``.
        observation_index: The observation reported on; None for the current one.
        stamp: Simulation time of the report [s].
    """

    label: str
    position: tuple[float, float, float] | None = None
    sigma: float | None = None
    sensor: str = ''
    direction: str = ''
    observation_index: int | None = None
    stamp: float = 0.0


class Refusal(str, Enum):
    """Why a report was not taken down."""

    NONE = 'none'
    NOT_RUNNING = 'not_running'
    BAD_LABEL = 'bad_label'
    BAD_POSITION = 'bad_position'
    BAD_OBSERVATION = 'bad_observation'


@dataclass(frozen=True, kw_only=True)
class ReportAck:
    """The answer to a report: whether it was taken down, never whether it is true."""

    accepted: bool
    refusal: Refusal
    message: str
