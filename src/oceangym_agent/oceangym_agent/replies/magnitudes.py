"""Distances and angles of commands: numbers, or texts such as ``15 m`` and ``30 degrees``."""

from __future__ import annotations

import math
import re

from oceangym_agent.replies.limits import MAX_ROTATION_DEG, MAX_TRANSLATION_M, quoted
from oceangym_agent.replies.reply import ReplyError
from oceangym_core.contract.actions import Action, ROTATIONS, TRANSLATIONS

METRES = r'm|met(?:er|re)s?'
DEGREES = r'deg|degrees?|°'
NUMBER = r'[+-]?(?:\d{1,12}(?:\.\d{1,12})?|\.\d{1,12})'
_QUANTITY = re.compile(rf'\s*({NUMBER})\s*(?:({METRES})|({DEGREES}))?\s*', re.IGNORECASE)


def number_of(value: object, unit: str = '') -> float | None:
    """Return a finite number, given as one or as a text with or without its unit; None otherwise.

    Args:
        value: As JSON gives it.
        unit: ``m`` or ``deg``: a text with the other one is no number. Empty: a text has either.
    """
    if isinstance(value, str):
        match = _QUANTITY.fullmatch(value[:60])
        if match is None or (match[2] and unit == 'deg') or (match[3] and unit == 'm'):
            return None
        value = float(match[1])
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e300 and math.isfinite(value) else None


def magnitude_of(action: Action, value: object) -> float | None:
    """Return an action's magnitude [m, deg]; None for its default, and for hold and stop.

    Raises:
        ReplyError: It is not one that the action can have.
    """
    if action in TRANSLATIONS or action is Action.GO:
        unit, name, limit = 'm', 'metres', MAX_TRANSLATION_M
    elif action in ROTATIONS:
        unit, name, limit = 'deg', 'degrees', MAX_ROTATION_DEG
    else:
        return None
    if value is None or (isinstance(value, str) and value.strip().lower() in ('', 'null')):
        return None
    number = number_of(value, unit)
    if number is None:
        shown = quoted(value) if isinstance(value, str) else 'not a finite number'
        raise ReplyError(f'Its "magnitude" is {shown}; give one number of {name}, or null.')
    if number < 0:
        raise ReplyError(
            f'The magnitude of {action.value} is negative ({number:g}); '
            'it must be more than 0: name the opposite action instead.'
        )
    if number == 0:
        raise ReplyError(
            f'The magnitude of {action.value} is 0; it must be more than 0: '
            'name the action hold to stay where you are.'
        )
    if number > limit:
        raise ReplyError(
            f'The magnitude of {action.value} is {number:g} {name}; at most {limit:g} is accepted.'
        )
    return round(number, 6)
