"""Taking coordinates out of what models wrote, so that only the way of searching is handed on."""

from __future__ import annotations

import re

REMOVED = '(removed)'

_NUMBER = r'[-+−–]?\s?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?'
_UNIT = r'(?:\s*m(?:et(?:er|re)s?)?\b)?'
# The letter may stand right before the number, as in X345.
_AXIS = r'(?:\b[xyz](?![a-z])|\b(?:easting|northing|latitude|longitude|lat|lon)\b)'
# x = 12, y: -3, "z is about -40"
_LABELLED = re.compile(
    rf'{_AXIS}(?:\s*-?\s*coordinate)?\s*(?:=|:|≈|~|is|of|about|at|near|\s)*\s*{_NUMBER}{_UNIT}',
    re.IGNORECASE,
)
# [12.0, -3, 40]  (12; -3)  12/-3/40  "12 -3 40"
_SEPARATOR = r'(?:\s*[,;/|]\s*|\s+(?:and\s+|by\s+)?)'
_GROUP = re.compile(
    rf'[\[(<{{]?\s*{_NUMBER}{_UNIT}(?:{_SEPARATOR}(?:{_AXIS}\s*[=:]?\s*)?{_NUMBER}{_UNIT})+\s*[\])>}}]?',
    re.IGNORECASE,
)
_SINGLE = re.compile(r'(?<![\d.])([-+−–]?)(\d+(?:\.\d+)?)(?P<unit>\s*(?:%|°|deg|sec|s\b|min))?')
# Nothing is seen or heard so far away [m]: a larger number is a place.
_LONGEST_RANGE = 50.0


def strip_coordinates(text: str) -> str:
    """Return a text without coordinates.

    Lists of numbers and numbers named as x, y or z go, and any number that is negative or beyond
    the reach of every sensor, unless it is an angle, a share or a time. Short distances and counts
    stay. Numbers written out in words are not recognised.
    """
    text = _LABELLED.sub(REMOVED, text)
    text = _GROUP.sub(REMOVED, text)
    return _SINGLE.sub(_unless_near, text)


def _unless_near(match: re.Match[str]) -> str:
    sign, digits = match.group(1), match.group(2)
    if match.group('unit'):
        return match.group(0)
    if sign in ('', '+') and len(digits) < 12 and float(digits) <= _LONGEST_RANGE:
        return match.group(0)
    return REMOVED
