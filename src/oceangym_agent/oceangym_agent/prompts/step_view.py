"""What one decision is asked about, and how the whole prompt is set up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
import math
from typing import Any, Literal

from oceangym_agent.agent import StatusView
from oceangym_agent.memory.coverage import CoverageMap
from oceangym_agent.memory.window import command_text, Memory
from oceangym_agent.replies.reply import ReplyStyle
from oceangym_core.contract.actions import (
    Action,
    Course,
    default_magnitude,
    ROTATIONS,
    STRAIGHT,
    TRANSLATIONS,
    unit_motion,
)
from oceangym_core.contract.observation import Observation
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose, wrap_angle

# A maneuver that ends this much short was cut or hindered: metres, degrees.
SHORT_OF_M = 1.5
SHORT_OF_DEG = 5.0


class SonarInput(str, Enum):
    """What a model is shown of the sonars."""

    NONE = 'none'
    FAN = 'fan'
    DESCRIBED = 'described'


class Loop(str, Enum):
    """One call a decision, or one that looks and one that decides."""

    SINGLE = 'single'
    PERCEIVE_ACT = 'perceive_act'


class CoverageInput(str, Enum):
    """How a model is told what was visited."""

    NONE = 'none'
    TEXT = 'text'
    IMAGE = 'image'


@dataclass(frozen=True, kw_only=True)
class PromptSettings:
    """How prompts are put together; the defaults are those of the run options.

    Attributes:
        reply_instructions: How to answer, as ``replies.format_instructions`` writes it.
        style: The reply's form.
        actions: Name of the set of `contract.ACTION_SETS` that the model chooses from.
        schema: JSON schema of the reply for endpoints that enforce one, None for none.
        loop: One call a decision or two.
        sonar: What is shown of the sonars.
        image_size: Longest side of an image as sent [px].
        image_format: Of the files.
        camera_fov_deg: Horizontal field of view of the cameras [deg].
        max_images: Most images in one request, None for no limit; the views are joined into sheets to
            keep to it, and with 0 there are none.
        memory_tokens: Budget of the memory's text.
        memory_images: Of how many last steps the views are shown again, a sheet a step.
        coverage: How the visited area is told.
        detector, planner: Whether their texts are included.
    """

    reply_instructions: str
    style: ReplyStyle = ReplyStyle.JSON
    actions: str = 'oceangym'
    schema: Mapping[str, Any] | None = field(default=None, compare=False)
    loop: Loop = Loop.SINGLE
    sonar: SonarInput = SonarInput.NONE
    image_size: int = 512
    image_format: Literal['jpeg', 'png'] = 'jpeg'
    camera_fov_deg: float = 90.0
    max_images: int | None = None
    memory_tokens: int = 4000
    memory_images: int = 0
    coverage: CoverageInput = CoverageInput.NONE
    detector: bool = False
    planner: bool = False

    def __post_init__(self) -> None:
        for name, low, high in (
            ('image_size', 32, 4096),
            ('memory_tokens', 0, 1_000_000),
            ('memory_images', 0, 50),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise OceanGymError(f'{name} {value} is out of range; allowed: {low} .. {high}')

    @property
    def needs_coverage(self) -> bool:
        """Whether every step view must bring a coverage map."""
        return self.coverage is not CoverageInput.NONE or self.planner


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of the last maneuver.

    Attributes:
        action: As commanded.
        requested, applied: Metres or degrees.
        saturated: It was cut to what one interval allows, or fell short of what was asked.
        course: What ``go`` was asked for beside its distance.
        turned_deg, climbed_m: What ``go`` made of it.
    """

    action: Action
    requested: float
    applied: float
    saturated: bool
    course: Course = STRAIGHT
    turned_deg: float = 0.0
    climbed_m: float = 0.0

    @classmethod
    def measured(
        cls,
        action: Action,
        magnitude: float | None,
        before: Pose,
        after: Pose,
        course: Course = STRAIGHT,
    ) -> Outcome:
        """Return the outcome as the navigation shows it.

        Args:
            action: As commanded.
            magnitude: As commanded; None for the action's default.
            before: base_link in odom at the observation that the command answered.
            after: At the next observation.
            course: As commanded.
        """
        requested = default_magnitude(action) if magnitude is None else magnitude
        applied, tolerance = 0.0, SHORT_OF_M
        moved = [b - a for a, b in zip(before.position, after.position)]
        if action is Action.GO:
            # Ahead is where it was turned to.
            ahead = moved[0] * math.cos(after.yaw) + moved[1] * math.sin(after.yaw)
            return cls(
                action=action,
                requested=requested,
                applied=round(ahead, 2),
                saturated=requested - ahead > tolerance,
                course=course,
                turned_deg=math.degrees(wrap_angle(after.yaw - before.yaw)),
                climbed_m=moved[2],
            )
        if action in TRANSLATIONS:
            x, y, z = unit_motion(action)
            cos, sin = math.cos(before.yaw), math.sin(before.yaw)
            along = (cos * x - sin * y, sin * x + cos * y, z)
            applied = sum(a * m for a, m in zip(along, moved))
        elif action in ROTATIONS:
            turn = math.degrees(wrap_angle(after.yaw - before.yaw))
            turn = turn if action is Action.ROTATE_LEFT else -turn
            # Whole turns do not show in the heading: take those that come nearest to the command.
            applied = turn + 360.0 * round((requested - turn) / 360.0)
            tolerance = SHORT_OF_DEG
        else:
            requested = 0.0
        return cls(
            action=action,
            requested=requested,
            applied=round(applied, 2),
            saturated=requested - applied > tolerance,
        )

    def in_words(self, style: ReplyStyle = ReplyStyle.JSON) -> str:
        """Return the outcome, the command as the style words it."""
        if self.action is Action.GO:
            turned, way, climbed = (
                f'{round(value, 1) + 0.0:.1f}'
                for value in (self.turned_deg, self.applied, self.climbed_m)
            )
            cut = ', less than asked for' if self.saturated else ''
            return (
                f'{command_text(self.action, self.requested, style, self.course)} was commanded; '
                f'turned {turned} deg, went {way} m ahead{cut}, climbed {climbed} m'
            )
        if self.action not in TRANSLATIONS | ROTATIONS:
            return f'{style.word(self.action)}: the vehicle kept its place'
        unit = 'deg' if self.action in ROTATIONS else 'm'
        cut = ', less than asked for' if self.saturated else ''
        return (
            f'{command_text(self.action, self.requested, style)} was commanded, '
            f'{round(self.applied, 1) + 0.0:.1f} {unit} were made{cut}'
        )


@dataclass(frozen=True, kw_only=True)
class StepView:
    """Everything that one decision is asked on.

    Attributes:
        index: Of the observation.
        observation: What the vehicle perceives.
        status: Where the episode stands.
        memory: What came before.
        coverage: What was visited, this observation included; None where not kept.
        outcome: Of the last maneuver; None on the first observation.
    """

    index: int
    observation: Observation
    status: StatusView
    memory: Memory
    coverage: CoverageMap | None = None
    outcome: Outcome | None = None
