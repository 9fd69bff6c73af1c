"""Numbers with units as people and models write them: ``15 m``, ``1,5 metres``, ``thirty degrees``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
import math
import re

from oceangym_agent.replies.limits import MAX_ROTATION_DEG, MAX_TRANSLATION_M, quoted
from oceangym_agent.replies.reply import ReplyError
from oceangym_core.contract import Action, ROTATIONS, TRANSLATIONS


def _words(text: str, separator: str = ' ') -> list[str]:
    return text.split(separator)


_SMALL = _words(
    'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen '
    'sixteen seventeen eighteen nineteen'
)
_TENS = _words('twenty thirty forty fifty sixty seventy eighty ninety')
# What models write for "the default".
NO_MAGNITUDE = frozenset({'', 'null', 'none', 'default', 'n/a', 'na', '-', 'nil', 'undefined'})
_WORD_VALUES: dict[str, float] = {
    **{word: float(value) for value, word in enumerate(_SMALL)},
    **{word: 10.0 * (index + 2) for index, word in enumerate(_TENS)},
    'half a': 0.5,
}
_LENGTHS: dict[str, float] = {  # [m]
    **dict.fromkeys(('m', 'metre', 'metres', 'meter', 'meters', 'mtr', 'mtrs', '米'), 1.0),
    **dict.fromkeys(('cm', 'centimetre', 'centimetres', 'centimeter', 'centimeters'), 0.01),
    **dict.fromkeys(('km', 'kilometre', 'kilometres', 'kilometer', 'kilometers'), 1000.0),
    **dict.fromkeys(('ft', 'foot', 'feet'), 0.3048),
}
_ANGLES: dict[str, float] = {  # [deg]
    **dict.fromkeys(('deg', 'degs', 'degree', 'degrees', '°', 'º', '度'), 1.0),
    **dict.fromkeys(('rad', 'radian', 'radians'), math.degrees(1.0)),
}
# Recognised so that they are refused instead of being taken for metres.
_OTHER = [
    *_words(
        'm/s,meters per second,metres per second,meter per second,metre per second,deg/s,'
        'degrees per second,km/h,body lengths,boat lengths,vehicle lengths',
        ',',
    ),
    *_words(
        'kn kt kts knot knots s sec secs second seconds min mins minute minutes h hour hours ms '
        'percent % unit units step steps yard yards fathom fathoms inch inches mile miles'
    ),
]


def _alternatives(words: Iterable[str]) -> str:
    return '|'.join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_WORD = _alternatives([*_SMALL, *_TENS])
NUMBER = (
    r'(?:[+-]?\s?(?:\d{1,40}(?:[.,]\d{1,40}){0,5}|\.\d{1,40})(?:e[+-]?\d{1,6})?(?![\d.]*\d)'
    r'|nan\b|[+-]?inf(?:inity)?\b|infinite\b|half a\b'
    rf'|(?:a hundred|(?:{_WORD})\b)(?:[ -](?:and[ -])?(?:hundred|{_WORD})\b){{0,4}}'
    rf'(?: point (?:{_WORD})\b)?)'
)
UNIT = rf'(?:{_alternatives([*_LENGTHS, *_ANGLES, *_OTHER])})(?![\w/])'
QUANTITY = rf'(?:{NUMBER}(?:\s?{UNIT})?(?![\w%]))'
_PARTS = re.compile(rf'({NUMBER})(?:\s?({UNIT}))?')
_THOUSANDS = re.compile(r'[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?')


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number as written; `unit` is empty where there was none."""

    value: float
    unit: str = ''


def read_quantity(text: str) -> Quantity | None:
    """Return what a text says that is one number, with or without a unit; None if it is not."""
    match = _PARTS.fullmatch(text.strip().lower())
    if match is None:
        return None
    value = _number(match[1])
    return None if value is None else Quantity(value=value, unit=match[2] or '')


def _number(text: str) -> float | None:
    compact = text.replace(' ', '')
    if _THOUSANDS.fullmatch(compact):
        compact = compact.replace(',', '')
    elif compact.count(',') == 1 and '.' not in compact:
        compact = compact.replace(',', '.')
    try:
        return float(compact.replace('infinite', 'inf'))
    except ValueError:
        return _spelt(text)


def _spelt(text: str) -> float | None:
    """Return the value of number words, e.g. ``one hundred and twenty five``."""
    text = text.strip()
    if text in _WORD_VALUES:
        return _WORD_VALUES[text]
    whole, _, tenths = text.partition(' point ')
    total, last = 0.0, math.inf
    for word in re.split(r'[ -]', whole):
        if word in ('and', 'a'):
            continue
        if word == 'hundred':
            if total >= 10:
                return None
            total, last = 100.0 * (total or 1.0), 100.0
            continue
        value = _WORD_VALUES.get(word)
        # "Five six" is no number: each word must be a smaller place than the one before.
        if value is None or (value >= 10 and last < 100) or (value < 10 and last < 20):
            return None
        total, last = total + value, value
    if tenths:
        digit = _WORD_VALUES.get(tenths, math.inf)
        return total + digit / 10 if digit < 10 else None
    return total


def magnitude_of(action: Action, quantity: Quantity) -> float | None:
    """Return an action's magnitude in metres or degrees; hold and stop have none.

    Raises:
        ReplyError: It is not one that the action can have.
    """
    if action in TRANSLATIONS or action is Action.GO:
        return _scaled(action, quantity, _LENGTHS, MAX_TRANSLATION_M, 'metres')
    if action in ROTATIONS:
        return _scaled(action, quantity, _ANGLES, MAX_ROTATION_DEG, 'degrees')
    return None


def _scaled(
    action: Action, quantity: Quantity, units: dict[str, float], limit: float, unit: str
) -> float:
    factor = units.get(quantity.unit, 1.0 if not quantity.unit else None)
    if factor is None:
        raise ReplyError(
            f'The magnitude of {action.value} is in {unit}, not in {quoted(quantity.unit)}.'
        )
    value = quantity.value * factor
    if not math.isfinite(value):
        raise ReplyError(f'The magnitude of {action.value} must be a finite number of {unit}.')
    if value < 0:
        raise ReplyError(
            f'The magnitude of {action.value} is negative ({value:g}); '
            'it must be more than 0: name the opposite action instead.'
        )
    if value == 0:
        raise ReplyError(
            f'The magnitude of {action.value} is 0; it must be more than 0: '
            'name the action hold to stay where you are.'
        )
    if value > limit:
        raise ReplyError(
            f'The magnitude of {action.value} is {value:g} {unit}; at most {limit:g} is accepted.'
        )
    return round(value, 6)
