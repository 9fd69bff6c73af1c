"""What a model says it has found, from JSON values and from OceanGym's marker lines."""

from __future__ import annotations

from collections.abc import Iterable
import math
import re

from oceangym_agent.replies.json_text import JsonArray, JsonObject, JsonValue
from oceangym_agent.replies.limits import (
    MAX_COORDINATE_M,
    MAX_FINDS,
    MAX_LABEL,
    MAX_PIXEL,
    MAX_RANGE_M,
    MAX_TEXT,
    tidy,
)
from oceangym_agent.replies.quantities import NUMBER, read_quantity
from oceangym_agent.replies.reply import Find

Position = tuple[float, float, float]

_LABEL_KEYS = ('label', 'name', 'object', 'target', 'item', 'class', 'type', 'object_name')
_POSITION_KEYS = (
    'position',
    'estimated_position',
    'target_position',
    'location',
    'coordinates',
    'xyz',
)
_RANGE_KEYS = ('range_m', 'range', 'distance_m', 'distance')
_BEARING_KEYS = ('bearing_deg', 'bearing', 'azimuth_deg', 'azimuth')
_DIRECTION_KEYS = ('direction', 'camera', 'view', 'seen_in', 'sensor')
_PIXEL_KEYS = ('pixel', 'pixels', 'point', 'point_2d', 'box', 'bbox', 'bbox_2d', 'bounding_box')
_TEXT_KEYS = ('text', 'description', 'note', 'comment', 'details', 'evidence')
_FLAG_KEYS = ('found', 'detected', 'visible', 'present', 'confirmed', 'is_target')
_STATUS_KEYS = ('status', 'state', 'result')

_DIRECTION_WORDS: dict[str, str] = {
    **dict.fromkeys(('front', 'ahead', 'forward', 'bow'), 'front'),
    **dict.fromkeys(('back', 'rear', 'behind', 'aft', 'astern', 'backward'), 'back'),
    **dict.fromkeys(('left', 'port'), 'left'),
    **dict.fromkeys(('right', 'starboard'), 'right'),
    **dict.fromkeys(('up', 'above', 'upward', 'top'), 'up'),
    **dict.fromkeys(('down', 'below', 'downward', 'bottom', 'beneath', 'underneath'), 'down'),
}
_WORDS = '|'.join(_DIRECTION_WORDS)
_DIRECTION = re.compile(rf'(?<![a-z])({_WORDS})(?:s|wards?)?(?:[ _-]?(?:camera|view))?(?![a-z])')
_NO_LABEL = re.compile(
    r'(?:none|null|nil|no|not?|n/?a|nan|nothing|unknown|undefined|tbd|-+|\?+|\.*|label|item|string|'
    r'example|name|placeholder|x+|(?:the )?(?:name|label|item)(?: (?:of|for) (?:the |an? )?'
    r'(?:object|target|item))?|object name|target item|name of object)?'
)
_NO_FIND = re.compile(
    r'(?:\b(?:not|never)|n\'t)(?: (?:yet|been|be|currently|clearly|it|the|any|a|target|object|match\w*|'
    r'confirmed|being)){0,4} (?:found|detected|visible|seen|identified|located|present|spotted|in view|'
    r'in sight|match|confirmed|target|see|find|detect)\b|\bnot (?:the|a|our) target|\bno (?:target|sign|'
    r'trace|object|match|matching|such|new find|finds?\b|special)|\bnothing\b|\bnone\b|\bunable to\b|'
    r'\bcannot (?:see|find|be)|\bcould not\b|\bfailed to\b|\bstill searching\b|\bundetected\b|\bunfound\b'
    r'|\bnot$|\bnot found\b'
)
# Unlike a label, a text may say of a true find what of it is not visible.
_DENYING_TEXT = re.compile(
    r'\W*(?:(?:the |any |no )?(?:target|object|it)?(?: object)? ?(?:is |was |has )?(?:been )?)?'
    r'(?:not|never)(?: (?:yet|been|be|currently|clearly)){0,2} '
    r'(?:found|detected|visible|seen|identified|located|present|spotted|in view|in sight|confirmed)\b'
    r'|\W*(?:no (?:target|object|find|match|sign of the target)|none|nothing|still searching)\b'
)
_FALSE_WORDS = frozenset(
    {'false', 'no', 'not found', 'not_found', 'none', 'absent', '0', 'missing'}
)

_FOUND = re.compile(r'target(?: object)?s?(?: (?:is|was|has been|have been))? (?:found|detected)')
# A comma between coordinates is no decimal comma.
_COORDINATE = r'([+-]?\s?\d{1,12}(?:\.\d{1,12})?)\s?m?'
_TRIPLE = rf'{_COORDINATE}\s*[,;]\s*{_COORDINATE}\s*[,;]\s*{_COORDINATE}'
_VECTOR = rf'[\[(]\s*{_TRIPLE}\s*[\])]'
_OWN_PLACE = re.compile(
    r'(?:estimated|target|object|its|their)(?:\'?s)?(?: \w+)? (?:position|location|coordinates)(?: is)?'
    rf'[\s:=]*(?:at )?{_VECTOR}|\b(?:located|lies|lying) (?:at|near)\s*{_VECTOR}'
)
_RANGE = re.compile(
    rf'(?:distance|range)(?: (?:is|of|about|approximately|around|approx\.?|roughly|estimated)){{0,3}}'
    rf'\s*[:=~≈]?\s*(?:about |approximately |approx\.? |around |~\s?)?({NUMBER}\s?[a-z]{{0,12}})'
    rf'|({NUMBER}\s?(?:m|metres?|meters?)) (?:away|off|distant)'
)
_SIDED = re.compile(
    rf'({NUMBER})\s?(?:deg(?:rees?)?|°)[ ,]*(?:to |towards? |off )?(?:the |my )?'
    r'(left|port|right|starboard)'
)
_BEARING = re.compile(rf'bearing(?: (?:is|of|about))?\s*[:=]?\s*({NUMBER})')
_CAMERA = re.compile(
    rf'camera\s*[:=]?\s*"?({_WORDS})\b|\b({_WORDS})[ _-]?(?:camera|view)'
    rf'|direction\s*[:=]?\s*(?:is )?"?({_WORDS})\b'
)


def finds_in(value: JsonValue) -> tuple[Find, ...]:
    """Return the finds of a JSON value: a list of objects or names, or one of them."""
    items: Iterable[JsonValue] = value.items if isinstance(value, JsonArray) else (value,)
    return distinct(find for item in items if (find := _find(item)) is not None)


def distinct(finds: Iterable[Find]) -> tuple[Find, ...]:
    """Return finds without repetitions, at most `MAX_FINDS`."""
    kept: dict[Find, None] = {}
    for find in finds:
        kept[find] = None
        if len(kept) == MAX_FINDS:
            break
    return tuple(kept)


def fields(value: JsonObject) -> dict[str, JsonValue]:
    """Return an object's pairs by plain lower-case key; of a repeated key the last."""
    return {plain_key(key): item for key, item in value.pairs}


def plain_key(key: str) -> str:
    """Return ``special_objects`` for ``Special Objects``."""
    return re.sub(r'[\s\-]+', '_', re.sub(r'\([^()]*\)\s*$', '', key).strip().lower())


def _find(value: JsonValue) -> Find | None:
    if isinstance(value, str):
        if '@@@' in value:
            return find_in_marker(value)
        return None if _denied(value) else Find(label=tidy(value, MAX_LABEL))
    if not isinstance(value, JsonObject):
        return None
    pairs = fields(value)
    label = next((v for k in _LABEL_KEYS if isinstance(v := pairs.get(k), str)), '')
    text = next((v for k in _TEXT_KEYS if isinstance(v := pairs.get(k), str)), '')
    if _denied(label) or _DENYING_TEXT.match(text[:MAX_TEXT].lower()):
        return None
    if any(_is_false(pairs[key]) for key in _FLAG_KEYS if key in pairs):
        return None
    if any(_is_false(pairs[key]) for key in _STATUS_KEYS if key in pairs):
        return None
    direction = next((v for k in _DIRECTION_KEYS if isinstance(v := pairs.get(k), str)), '')
    return Find(
        label=tidy(label, MAX_LABEL),
        position=next((p for k in _POSITION_KEYS if (p := _position(pairs.get(k)))), None),
        range_m=next((r for k in _RANGE_KEYS if (r := _range(pairs.get(k))) is not None), None),
        bearing_deg=next(
            (b for k in _BEARING_KEYS if (b := _bearing(pairs.get(k))) is not None), None
        ),
        direction=direction_in(direction),
        pixel=next((at for k in _PIXEL_KEYS if (at := _pixel(pairs.get(k)))), None),
        text=tidy(text, MAX_TEXT),
    )


def _pixel(value: JsonValue) -> tuple[float, float] | None:
    """Return a point [px]: itself, or the middle of a box x1, y1, x2, y2."""
    if not isinstance(value, JsonArray) or value.cut or len(value.items) not in (2, 4):
        return None
    numbers = [_number(part) for part in value.items]
    known = [n for n in numbers if n is not None and 0.0 <= n <= MAX_PIXEL]
    if len(known) != len(numbers):
        return None
    return (known[0] + known[-2]) / 2.0, (known[1] + known[-1]) / 2.0


def _denied(label: str) -> bool:
    """Tell whether a label names nothing: ``none``, ``no target found``, ``<label>``."""
    low = tidy(label, MAX_LABEL).lower().strip(' .!\'"*`<>()[]{}')
    return bool(
        _NO_LABEL.fullmatch(low) or _NO_FIND.search(low) or low.startswith(('no ', 'not '))
    )


def _is_false(value: JsonValue) -> bool:
    if isinstance(value, str):
        low = value.strip().lower()
        return low in _FALSE_WORDS or bool(_NO_FIND.search(low[:MAX_TEXT]))
    return value is False or value is None or (isinstance(value, float) and value == 0)


def _number(value: JsonValue) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        quantity = read_quantity(value[:60])
        value = None if quantity is None else quantity.value
    return value if isinstance(value, float) and math.isfinite(value) else None


def _position(value: JsonValue) -> Position | None:
    if isinstance(value, str):
        match = re.fullmatch(rf'\s*(?:{_VECTOR}|{_TRIPLE})\s*', value[:120].lower())
        parts: list[JsonValue] = [g for g in match.groups() if g] if match else []
    elif isinstance(value, JsonArray) and not value.cut:
        parts = list(value.items)
    elif isinstance(value, JsonObject) and not value.cut:
        pairs = fields(value)
        parts = [pairs.get(axis) for axis in 'xyz']
    else:
        return None
    if len(parts) != 3:
        return None
    numbers = [_number(part) for part in parts]
    x, y, z = numbers
    if x is None or y is None or z is None or max(abs(x), abs(y), abs(z)) > MAX_COORDINATE_M:
        return None
    return x, y, z


def _range(value: JsonValue) -> float | None:
    """Return a range [m]; of a text with a unit in metres."""
    if isinstance(value, str):
        quantity = read_quantity(value[:60])
        if quantity is None:
            return None
        scale = {'cm': 0.01, 'km': 1000.0, 'ft': 0.3048, 'feet': 0.3048}.get(quantity.unit, 1.0)
        value = quantity.value * scale
    number = _number(value)
    return number if number is not None and 0 <= number <= MAX_RANGE_M else None


def _bearing(value: JsonValue) -> float | None:
    """Return a bearing in (-180, 180], positive to port [deg]."""
    if isinstance(value, str):
        sided = _SIDED.search(value[:80].lower())
        if sided is not None:
            magnitude = _number(sided[1])
            if magnitude is None:
                return None
            value = magnitude if sided[2] in ('left', 'port') else -magnitude
    number = _number(value)
    if number is None or abs(number) > 360:
        return None
    return number if -180 < number <= 180 else number - math.copysign(360, number)


def direction_in(text: str) -> str:
    """Return the one view that a text names, or empty."""
    named = {_DIRECTION_WORDS[word] for word in _DIRECTION.findall(text[:MAX_TEXT].lower())}
    return named.pop() if len(named) == 1 else ''


def find_in_marker(block: str) -> Find | None:
    """Return the find of a ``$$ Target object found@@@ ITEM, .. $$`` line; None if it denies one."""
    before, separator, after = block[: 4 * MAX_TEXT].partition('@@@')
    low = ' '.join(before.lower().split())
    if not separator:
        match = _FOUND.search(low)
        if match is None or _NO_FIND.search(low):
            return None
        after = before[before.lower().find(match.group().split()[-1]) :]
        after = after[len(match.group().split()[-1]) :]
    elif _NO_FIND.search(low):
        return None
    after = after.strip(' :;,-–@\n\t')
    label = re.split(r'[,;\n]|\. |\bcurrent position\b', after, maxsplit=1)[0]
    label = label.strip(' *"\'`.<>()[]{}')
    if _denied(label):
        return None
    text = ' '.join(after.lower().split())
    if re.search(r'\b(?:target|object)s? (?:is |was )?not (?:found|visible|detected)', text):
        return None
    return Find(
        label=tidy(label, MAX_LABEL),
        position=_stated_place(text),
        range_m=_stated_range(text),
        bearing_deg=_stated_bearing(text),
        direction=_stated_direction(text),
        text=tidy(after, MAX_TEXT),
    )


def _stated_place(text: str) -> Position | None:
    """Return the target's place; ``current position`` is the vehicle's."""
    match = _OWN_PLACE.search(text)
    if match is None:
        return None
    return _position(JsonArray(tuple(group for group in match.groups() if group)))


def _stated_range(text: str) -> float | None:
    match = _RANGE.search(text)
    return None if match is None else _range(match[1] or match[2])


def _stated_bearing(text: str) -> float | None:
    sided = _SIDED.search(text)
    if sided is not None:
        return _bearing(sided.group())
    match = _BEARING.search(text)
    return None if match is None else _bearing(match[1])


def _stated_direction(text: str) -> str:
    match = _CAMERA.search(text)
    if match is None:
        return ''
    return _DIRECTION_WORDS[next(group for group in match.groups() if group)]
