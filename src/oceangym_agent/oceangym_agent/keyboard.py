"""The keys of a person who drives: OceanGym's, and F to report a find."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from oceangym_core.contract.actions import Action


class Command(str, Enum):
    """What a key means besides a move."""

    HAND_OVER = 'hand over to the agent'
    REPORT = 'report a find'
    QUIT = 'end the episode'
    HELP = 'show the keys'


@dataclass(frozen=True)
class Velocity:
    """A body velocity: `surge`, `sway`, `heave` [m/s] and `yaw` rate [rad/s], FLU."""

    surge: float = 0.0
    sway: float = 0.0
    heave: float = 0.0
    yaw: float = 0.0


MOVES: dict[str, Action] = {
    'w': Action.FORWARD,
    's': Action.BACKWARD,
    'a': Action.LEFT,
    'd': Action.RIGHT,
    'j': Action.ROTATE_LEFT,
    'l': Action.ROTATE_RIGHT,
    'i': Action.UP,
    'k': Action.DOWN,
}

COMMANDS: dict[str, Command] = {
    'm': Command.HAND_OVER,
    'f': Command.REPORT,
    'q': Command.QUIT,
    '?': Command.HELP,
}

# Realtime: what a key asks for while it is held.
SPEED = 0.7
YAW_RATE = 0.5

HELP = (
    'w/s forward/backward  a/d left/right  i/k up/down  j/l turn left/right\n'
    'f report a find  m hand over to the agent  q end the episode  ? this help'
)


def interpret(key: str) -> Action | Command | None:
    """Return what a key means; None for one without a meaning. Case does not matter."""
    folded = key.lower()
    return MOVES.get(folded) or COMMANDS.get(folded)


def velocity_of(action: Action) -> Velocity:
    """Return the velocity that a move's key asks for in realtime."""
    return {
        Action.FORWARD: Velocity(surge=SPEED),
        Action.BACKWARD: Velocity(surge=-SPEED),
        Action.LEFT: Velocity(sway=SPEED),
        Action.RIGHT: Velocity(sway=-SPEED),
        Action.UP: Velocity(heave=SPEED),
        Action.DOWN: Velocity(heave=-SPEED),
        Action.ROTATE_LEFT: Velocity(yaw=YAW_RATE),
        Action.ROTATE_RIGHT: Velocity(yaw=-YAW_RATE),
    }.get(action, Velocity())
