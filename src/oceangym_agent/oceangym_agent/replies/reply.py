"""What a model's reply says, once understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from oceangym_core.contract.actions import Action, Course, STRAIGHT
from oceangym_core.record.memory_files import ACTION_WORDS


class ReplyStyle(str, Enum):
    """How a model is asked to answer."""

    JSON = 'json'
    MARKERS = 'markers'  # OceanGym's `## .. ##`, `$$ .. @@@ .. $$` and one command

    def word(self, action: Action) -> str:
        """Return what an action is called in replies of this style."""
        if self is ReplyStyle.JSON:
            return str(action.value)
        return ACTION_WORDS[action] or 'hold'


@dataclass(frozen=True, kw_only=True)
class Find:
    """An object that the model says it has found.

    Attributes:
        label: As the model names it.
        position: Its estimated place in odom [m], None where not given.
        range_m: Estimated distance from the vehicle [m].
        bearing_deg: Estimated direction relative to the bow, positive to port [deg].
        direction: The view that shows it, one of ``contract.DIRECTIONS``, or empty.
        pixel: Where the view shows it, (x, y) of its middle in pixels of the image as sent.
        text: What the model says about it.
    """

    label: str
    position: tuple[float, float, float] | None = None
    range_m: float | None = None
    bearing_deg: float | None = None
    direction: str = ''
    pixel: tuple[float, float] | None = None
    text: str = ''


@dataclass(frozen=True, kw_only=True)
class ParsedReply:
    """One understood reply.

    Attributes:
        environment: Direction -> what is seen there.
        special_objects: Objects worth remembering, in the model's words.
        finds: Of the target.
        action: The one command.
        magnitude: Metres or degrees; None for the action's default.
        course: What ``go`` is asked for beside its distance.
        reason: The model's reason.
    """

    action: Action
    environment: Mapping[str, str] = field(default_factory=dict)
    special_objects: tuple[str, ...] = ()
    finds: tuple[Find, ...] = ()
    magnitude: float | None = None
    course: Course = STRAIGHT
    reason: str = ''


class ReplyError(ValueError):
    """A reply that gives no single command; the message tells the model what was wrong."""
