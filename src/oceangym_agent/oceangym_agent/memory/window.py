"""What an agent remembers: the last steps, what it found, and what earlier runs left it."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
import re

from oceangym_agent.memory.experience import Experience
from oceangym_agent.memory.tokens import cut_text, cut_to_tokens, estimate_tokens, one_line
from oceangym_agent.replies.reply import ReplyStyle
from oceangym_core.contract.actions import (
    Action,
    Course,
    default_magnitude,
    ROTATIONS,
    STRAIGHT,
    TRANSLATIONS,
)
from oceangym_core.errors import OceanGymError

Vector = tuple[float, float, float]

# OceanGym's IMPORTANT_MEMORY_MAX_LENGTH; the oldest goes first.
IMPORTANT_LIMIT = 500
# Of one entry; longer ones are mostly a model repeating itself.
ENTRY_CHARACTERS = 600
# The last steps that are told in full.
WHOLE_STEPS = 4
# Of a full window this part is forgotten at once, a quarter.
FORGOTTEN_SHARE = 4
# A view of which there is nothing to remember, such as "Up: open water, lighter above".
_EMPTY_VIEW = re.compile(
    r'(?:front|back|left|right|up|down): *(?:(?:only|just|clear|open|dark|empty|blue|black|nothing|'
    r'water|surface|light|lighter|darker|above|no (?:structures?|objects?)|visible|and|but|but no|'
    r'towards the surface)[ ,.;-]*)+$',
    re.IGNORECASE,
)
# How a budget is split while every part has more to say than fits.
SHARES = {'important': 0.3, 'experience': 0.3, 'steps': 0.4}


class Kind(str, Enum):
    """Why something is in the important memory."""

    FIND = 'find'
    SPECIAL = 'special object'


@dataclass(frozen=True, kw_only=True)
class MemoryStep:
    """One step: equation 1 of the paper with place and time.

    Attributes:
        index: Of the observation.
        time: Simulation time [s].
        description: What was perceived.
        action: What was done next.
        magnitude: Commanded metres or degrees; None for the action's default.
        course: What ``go`` was asked for beside its distance.
        position: Vehicle in odom when the images were taken [m].
        heading_deg: Counter-clockwise from odom's x axis [deg].
    """

    index: int
    time: float
    description: str
    action: Action
    magnitude: float | None
    position: Vector
    heading_deg: float
    course: Course = STRAIGHT


@dataclass(frozen=True, kw_only=True)
class ImportantEntry:
    """A find or a special object.

    Attributes:
        kind: Which of both.
        index, time: Of the observation that showed it; time in [s].
        text: What it is.
        position: Vehicle in odom [m].
        place: Its own estimated place in odom [m], None where not given.
    """

    kind: Kind
    index: int
    time: float
    text: str
    position: Vector
    place: Vector | None = None


def vector_text(vector: Sequence[float]) -> str:
    """Return coordinates as ``[1.0, -2.0, 3.0]``, to a decimetre."""
    return '[' + ', '.join(f'{round(v, 1) + 0.0:.1f}' for v in vector) + ']'


def command_text(
    action: Action,
    magnitude: float | None,
    style: ReplyStyle = ReplyStyle.JSON,
    course: Course = STRAIGHT,
) -> str:
    """Return a command as a reply of the style gives it, e.g. ``forward 20 m``."""
    word = style.word(action)
    if action is Action.GO:
        way = default_magnitude(action) if magnitude is None else magnitude
        parts = [f'{word} {round(way, 1):g} m']
        parts += [f'turn {round(course.turn_deg, 1):g} deg'] if course.turn_deg else []
        parts += [f'climb {round(course.climb_m, 1):g} m'] if course.climb_m else []
        parts += [f'altitude {round(course.altitude_m, 1):g} m'] if course.altitude_m else []
        return ', '.join(parts)
    if magnitude is None or action not in TRANSLATIONS | ROTATIONS:
        return word
    unit = 'deg' if action in ROTATIONS else 'm'
    return f'{word} {round(magnitude, 1):g} {unit}'


class Memory:
    """The sliding window of the last K steps, the important memory, and experience of earlier runs.

    Args:
        window: K.
        experience: From earlier runs.
    """

    def __init__(self, *, window: int = 60, experience: Experience | None = None) -> None:
        if window < 0:
            raise OceanGymError(
                f'a memory window of {window} steps is not possible; give 0 or more'
            )
        self._window = window
        self._steps: list[MemoryStep] = []
        self._important: deque[ImportantEntry] = deque(maxlen=IMPORTANT_LIMIT)
        self._forgotten = 0
        self.experience = experience

    @property
    def steps(self) -> tuple[MemoryStep, ...]:
        """The steps in the window, oldest first."""
        return tuple(self._steps)

    @property
    def important(self) -> tuple[ImportantEntry, ...]:
        """Finds and special objects, oldest first."""
        return tuple(self._important)

    def remember(self, step: MemoryStep, important: Sequence[ImportantEntry] = ()) -> None:
        """Take in one step and what was found in it; the same special object counts once."""
        self._steps.append(step)
        if len(self._steps) > self._window:
            # Several at a time: each one that goes changes the beginning of the next prompts.
            gone = max(1, min(self._window // FORGOTTEN_SHARE, len(self._steps)))
            del self._steps[:gone]
            self._forgotten += gone
        known: set[tuple[Kind, str]] = {
            (e.kind, e.text.casefold()) for e in self._important if e.kind is Kind.SPECIAL
        }
        for entry in important:
            key: tuple[Kind, str] = (entry.kind, entry.text.casefold())
            if key not in known:
                self._important.append(entry)
                if entry.kind is Kind.SPECIAL:
                    known.add(key)

    def render(self, budget_tokens: int, style: ReplyStyle = ReplyStyle.JSON) -> str:
        """Return the memory as text of at most so many tokens, commands as the style words them.

        The newest entries are kept, and each part says how many it leaves out. Finds come before
        experience, and experience before the last steps, when the budget is shared out.
        """
        parts = {
            'experience': self._experience_lines(),
            'important': _Part(
                'Finds and special objects of this dive:',
                [_important_line(entry) for entry in self._important],
            ),
            'steps': _Part(
                'Steps of this dive, oldest first:',
                self._step_lines(style),
                forgotten=self._forgotten,
            ),
        }
        needs = {name: part.need() for name, part in parts.items()}
        granted = share_out(budget_tokens, needs)
        texts = [part.text(granted[name]) for name, part in parts.items()]
        return '\n\n'.join(text for text in texts if text)

    def _step_lines(self, style: ReplyStyle) -> list[str]:
        """Return a line a step: old ones with place and command only, so that they never change."""
        steps = list(self._steps)
        whole = len(steps) - WHOLE_STEPS
        return [
            _short_line(step, style) if number < whole else _step_line(step, style)
            for number, step in enumerate(steps)
        ]

    def retract(self, text: str) -> None:
        """Forget the special object of this text; case, spaces and a closing stop do not matter."""
        kept = [
            e
            for e in self._important
            if e.kind is not Kind.SPECIAL or _plain(e.text) != _plain(text)
        ]
        self._important = deque(kept, maxlen=IMPORTANT_LIMIT)

    def _experience_lines(self) -> _Part:
        if self.experience is None:
            return _Part('', [])
        # The last ones are kept: finds of the latest run, then those before, then plain steps.
        return _Part(
            'Experience of earlier dives, the most important last:', list(self.experience.lines())
        )


def _plain(text: str) -> str:
    return ' '.join(text.casefold().split()).strip(' .')


def _short_line(step: MemoryStep, style: ReplyStyle) -> str:
    return (
        f'- #{step.index} {vector_text(step.position)}, {round(step.heading_deg) + 0:d} deg: '
        f'{command_text(step.action, step.magnitude, style, step.course)}'
    )


def _telling(description: str) -> str:
    """Return a description without the views that show nothing."""
    parts = [part for part in one_line(description).split(' | ') if not _EMPTY_VIEW.match(part)]
    return ' | '.join(parts)


def _step_line(step: MemoryStep, style: ReplyStyle) -> str:
    said = cut_text(_telling(step.description), ENTRY_CHARACTERS) or 'nothing noted'
    return (
        f'- #{step.index} at {step.time:.0f} s, {vector_text(step.position)}, '
        f'heading {round(step.heading_deg) + 0:d} deg: {said} -> '
        f'{command_text(step.action, step.magnitude, style, step.course)}'
    )


def _important_line(entry: ImportantEntry) -> str:
    place = '' if entry.place is None else f', itself about at {vector_text(entry.place)}'
    return (
        f'- {entry.kind.value}, #{entry.index} at {entry.time:.0f} s, '
        f'vehicle at {vector_text(entry.position)}{place}: '
        f'{cut_text(one_line(entry.text), ENTRY_CHARACTERS)}'
    )


@dataclass(frozen=True)
class _Part:
    """One part of the memory's text: a heading and lines of which the last are worth most."""

    heading: str
    lines: list[str]
    forgotten: int = 0

    def need(self) -> int:
        """Return the tokens that the whole part takes, its separators included."""
        return estimate_tokens(self._joined(self.lines)) + 2 if self.lines else 0

    def text(self, budget: int) -> str:
        """Return the part within a budget; empty where nothing of it fits."""
        if not self.lines:
            return ''
        budget -= 2
        low, high = 0, len(self.lines)
        while low < high:
            count = (low + high + 1) // 2
            if estimate_tokens(self._joined(self.lines[len(self.lines) - count :])) <= budget:
                low = count
            else:
                high = count - 1
        if low:
            return self._joined(self.lines[len(self.lines) - low :])
        # Not even the last line fits whole: as much of it as does.
        frame = estimate_tokens(self._joined([''])) + 1
        rest = cut_to_tokens(self.lines[-1], budget - frame)
        return self._joined([rest]) if len(rest) > len('- #') else ''

    def _joined(self, kept: list[str]) -> str:
        left_out = len(self.lines) - len(kept) + self.forgotten
        note = [f'({left_out} {"entry" if left_out == 1 else "entries"} left out)']
        return '\n'.join([self.heading, *(note if left_out else []), *kept])


def share_out(budget: int, needs: dict[str, int]) -> dict[str, int]:
    """Return what each part of the memory gets: its share, and what others leave over."""
    granted = {name: min(needs[name], int(share * budget)) for name, share in SHARES.items()}
    left = budget - sum(granted.values())
    for name in SHARES:
        more = max(0, min(needs[name] - granted[name], left))
        granted[name] += more
        left -= more
    return granted
