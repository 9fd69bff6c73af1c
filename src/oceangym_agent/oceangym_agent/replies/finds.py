"""Finds of a reply, from JSON values and from OceanGym's ``$$ Target object found@@@`` lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
import math
import re
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field

from oceangym_agent.replies.limits import (
    MAX_COORDINATE_M,
    MAX_FINDS,
    MAX_LABEL,
    MAX_PIXEL,
    MAX_RANGE_M,
    MAX_TEXT,
    tidy,
)
from oceangym_agent.replies.magnitudes import DEGREES, METRES, NUMBER, number_of
from oceangym_agent.replies.reply import Find
from oceangym_core.contract.actions import DIRECTIONS

_NO_LABEL = re.compile(
    r'(?:|none|null|n/?a|nan|nothing|unknown|undefined|label|object|target|<.*|\[.*|(?:no|not)\b.*)',
    re.IGNORECASE,
)
_NOT_SEEN = re.compile(r'(?:the )?(?:target|object|it)? ?(?:is |was )?(?:not|no)\b', re.IGNORECASE)
_SIDES = {'left': 1.0, 'port': 1.0, 'right': -1.0, 'starboard': -1.0}
_VECTOR = rf'[\[(]\s*({NUMBER})\s*m?,\s*({NUMBER})\s*m?,\s*({NUMBER})\s*m?\s*[\])]'
_MARKED = re.compile(
    r'(?:(?<!\$)\${2,}|^)[ \t]*(?P<denied>(?:no |the )?target objects?)(?P<not>[^@$\n]{0,60}?)found\s{0,9}@@@'
    r'(?P<rest>[^$\n]*)(?:\${2,}|$)',
    re.IGNORECASE | re.MULTILINE,
)
_PLACE = re.compile(rf'estimated position[:\s]*{_VECTOR}')
_RANGE = re.compile(rf'distance(?: about| of)?[:\s]*({NUMBER})\s*(?:{METRES})?(?![\w.])')
_BEARING = re.compile(
    rf'(?:bearing|direction)[:\s]*({NUMBER})\s*(?:{DEGREES})?(?![\w.])'
    r'(?: (?:to )?(?:the )?(left|port|right|starboard))?'
)
_VIEWS = '|'.join(DIRECTIONS)
_CAMERA = re.compile(rf'camera[:\s]*({_VIEWS})\b|\b({_VIEWS}) camera')


def _number(limit: float, unit: str = '') -> BeforeValidator:
    """Return a validator that takes a number within +-limit, and anything else as not given."""

    def read(value: object) -> float | None:
        number = number_of(value, unit)
        return number if number is not None and abs(number) <= limit else None

    return BeforeValidator(read)


def _text(limit: int) -> BeforeValidator:
    return BeforeValidator(lambda value: tidy(value, limit) if isinstance(value, str) else '')


def _place(value: object) -> tuple[float, float, float] | None:
    if isinstance(value, Mapping):
        value = [value.get(axis) for axis in 'xyz']
    if not isinstance(value, list) or len(value) != 3:
        return None
    x, y, z = (number_of(part, 'm') for part in value)
    if x is None or y is None or z is None or max(abs(x), abs(y), abs(z)) > MAX_COORDINATE_M:
        return None
    return x, y, z


def _pixel(value: object) -> tuple[float, float] | None:
    """Return a point [px]: itself, or the middle of a box x1, y1, x2, y2."""
    if not isinstance(value, list) or len(value) not in (2, 4):
        return None
    known = [n for part in value if (n := number_of(part)) is not None and 0 <= n <= MAX_PIXEL]
    if len(known) != len(value):
        return None
    return (known[0] + known[-2]) / 2.0, (known[1] + known[-1]) / 2.0


def _view(value: object) -> str:
    word = value.strip().lower() if isinstance(value, str) else ''
    word = re.sub(r'[ _-](?:camera|view)$', '', word)
    return word if word in DIRECTIONS else ''


class _JsonFind(BaseModel):
    """One entry of ``finds``; a value that is none counts as not given."""

    label: Annotated[str, _text(MAX_LABEL)] = ''
    position: Annotated[tuple[float, float, float] | None, BeforeValidator(_place)] = None
    range_m: Annotated[float | None, _number(MAX_RANGE_M, 'm')] = Field(
        default=None, validation_alias=AliasChoices('range_m', 'range', 'distance_m', 'distance')
    )
    bearing_deg: Annotated[float | None, _number(360.0, 'deg')] = Field(
        default=None, validation_alias=AliasChoices('bearing_deg', 'bearing')
    )
    direction: Annotated[str, BeforeValidator(_view)] = ''
    pixel: Annotated[tuple[float, float] | None, BeforeValidator(_pixel)] = None
    text: Annotated[str, _text(MAX_TEXT)] = ''


def finds_in(value: object) -> tuple[Find, ...]:
    """Return the finds of a JSON value: a list of objects or names, or one of them."""
    items = value if isinstance(value, list) else [value]
    return distinct(find for item in items if (find := _find(item)) is not None)


def distinct(finds: Iterable[Find]) -> tuple[Find, ...]:
    """Return finds without repetitions, at most `MAX_FINDS`."""
    kept: dict[Find, None] = {}
    for find in finds:
        kept[find] = None
        if len(kept) == MAX_FINDS:
            break
    return tuple(kept)


def _find(value: object) -> Find | None:
    if isinstance(value, str):
        value = {'label': value}
    if not isinstance(value, dict):
        return None
    given = _JsonFind.model_validate(value)
    if _NO_LABEL.fullmatch(given.label) or _NOT_SEEN.match(given.text):
        return None
    if any(value.get(flag) is False for flag in ('found', 'detected', 'visible')):
        return None
    if str(value.get('status', '')).lower().startswith(('no', 'false')):
        return None
    fields: dict[str, Any] = given.model_dump()
    if given.range_m is not None and given.range_m < 0:
        fields['range_m'] = None
    return Find(**{**fields, 'bearing_deg': _wrapped(given.bearing_deg)})


def _wrapped(bearing_deg: float | None) -> float | None:
    """Return a bearing in (-180, 180] [deg]."""
    if bearing_deg is None or -180.0 < bearing_deg <= 180.0:
        return bearing_deg
    return bearing_deg - math.copysign(360.0, bearing_deg)


def cut_out_finds(text: str) -> tuple[str, tuple[Find, ...]]:
    """Return a text without its ``$$ Target object found@@@ LABEL, .. $$`` lines, and their finds."""
    finds = [_marked_find(match) for match in _MARKED.finditer(text)]
    return _MARKED.sub('\n', text), distinct(find for find in finds if find is not None)


def _marked_find(match: re.Match[str]) -> Find | None:
    label, _, details = match['rest'].partition(',')
    label = tidy(label.strip(' *"\'`.'), MAX_LABEL)
    said = ' '.join(details.lower().split())
    if match['denied'].lower().startswith('no') or re.search(r'\b(?:not|n.t)\b', match['not']):
        return None
    if _NO_LABEL.fullmatch(label) or re.search(r'\bnot (?:visible|found|detected|seen)\b', said):
        return None
    place = _PLACE.search(said)
    distance = _RANGE.search(said)
    bearing = _BEARING.search(said)
    camera = _CAMERA.search(said)
    return _find(
        {
            'label': label,
            'position': list(place.groups()) if place else None,
            'range_m': distance[1] if distance else None,
            'bearing_deg': float(bearing[1]) * _SIDES.get(bearing[2], 1.0) if bearing else None,
            'direction': camera[1] or camera[2] if camera else '',
            'text': tidy(match['rest'], MAX_TEXT),
        }
    )
