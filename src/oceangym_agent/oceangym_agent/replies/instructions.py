"""What a model is told about the form of its reply, and the schema that enforces it."""

from __future__ import annotations

from typing import Any

from oceangym_agent.replies.limits import MAX_FINDS, MAX_ROTATION_DEG, MAX_TRANSLATION_M
from oceangym_agent.replies.reply import ReplyStyle
from oceangym_core.contract.actions import (
    ACTION_SETS,
    ALTITUDES_M,
    DEFAULT_ROTATION_DEG,
    DEFAULT_TRANSLATION_M,
    DIRECTIONS,
)

_JSON_EXAMPLE = (
    '{"environment": {"front": "bare sand slope", "back": "open water", "left": "rock wall about '
    '15 m off", "right": "open water", "up": "clear water", "down": "sand"}, "special_objects": [], '
    '"finds": [], "action": "forward", "magnitude": 15, "reason": "The slope leads on to the '
    'stored coordinates."}'
)
_MARKER_EXAMPLE = (
    '## Current environment information: Left: rock wall Right: open water Down: sand Up: clear '
    'water Front: bare sand slope Back: open water ##\nmove forward 15 m'
)

_GO_JSON_EXAMPLE = (
    '{"environment": {"front": "sand slope rising", "back": "open water", "left": "open water", '
    '"right": "sand slope", "up": "clear water", "down": "sand about 8 m below"}, '
    '"special_objects": [], "finds": [], "action": "go", "magnitude": 18, "turn_deg": 30, '
    '"climb_m": null, "altitude_m": 8, "reason": "Along the slope, at the same height above it."}'
)
_GO_MARKER_EXAMPLE = (
    '## Current environment information: Left: open water Right: sand slope Down: sand Up: clear '
    'water Front: sand slope rising Back: open water ##\ngo 18 m, turn 30 deg, altitude 8 m'
)

_MAGNITUDES = (
    f'metres for moves (default {DEFAULT_TRANSLATION_M:g}, at most {MAX_TRANSLATION_M:g}), degrees '
    f'for rotations (default {DEFAULT_ROTATION_DEG:g}, at most {MAX_ROTATION_DEG:g})'
)


_LOW, _HIGH = ALTITUDES_M
_GO_KEYS = f"""\
- "turn_deg", "climb_m", "altitude_m": of go only, otherwise null. go turns on the spot by turn_deg \
(positive to port), then goes ahead by the magnitude, while it climbs by climb_m (negative: dives) or \
holds altitude_m ({_LOW:g} .. {_HIGH:g}) above the seabed; null for none.
"""
_GO_LINE = (
    'go may be followed by a turn on the spot before the way (positive to port), and by a climb along '
    'the way (negative: dive) or an altitude above the seabed to hold '
    f'({_LOW:g} .. {_HIGH:g} m): go 15 m, turn -40 deg, climb 4 m; or go 15 m, altitude 8 m. '
)


def reply_schema(actions: str = 'oceangym') -> dict[str, Any]:
    """Return the JSON schema of a reply with a set of `ACTION_SETS`.

    Every key is required and none may be added, as endpoints with strict schemas demand; what may
    be unknown is nullable.
    """
    number = {'type': ['number', 'null']}
    text = {'type': 'string'}
    find = _object(
        {
            'label': {'type': 'string', 'description': 'name of the object'},
            'position': {
                'type': ['array', 'null'],
                'items': {'type': 'number'},
                'description': 'its estimated [x, y, z] in metres, or null',
            },
            'range_m': {**number, 'description': 'estimated distance in metres, or null'},
            'bearing_deg': {
                **number,
                'description': 'degrees from the bow, positive to port (left), or null',
            },
            'direction': {
                'type': ['string', 'null'],
                'enum': [*DIRECTIONS, None],
                'description': 'the view that shows it',
            },
            'pixel': {
                'type': ['array', 'null'],
                'items': {'type': 'number'},
                'description': 'its middle [x, y], or its box [x1, y1, x2, y2], in pixels of that '
                'image from the upper left, or null',
            },
            'text': {'type': 'string', 'description': 'what is seen of it'},
        }
    )
    return _object(
        {
            'environment': {
                **_object(dict.fromkeys(DIRECTIONS, text)),
                'description': 'what each view shows',
            },
            'special_objects': {
                'type': 'array',
                'items': text,
                'description': 'other man-made objects worth remembering',
            },
            'finds': {
                'type': 'array',
                'items': find,
                'description': 'the target, only where it is seen now; otherwise empty',
            },
            'action': {'type': 'string', 'enum': [a.value for a in ACTION_SETS[actions]]},
            'magnitude': {**number, 'description': f'{_MAGNITUDES}; null for the default'},
            **(_course_schema() if actions == 'extended' else {}),
            'reason': {'type': 'string', 'description': 'one or two sentences'},
        }
    )


def _course_schema() -> dict[str, Any]:
    number = {'type': ['number', 'null']}
    return {
        'turn_deg': {**number, 'description': 'of go: turn first, positive to port; or null'},
        'climb_m': {**number, 'description': 'of go: climb along the way, or null'},
        'altitude_m': {**number, 'description': 'of go: altitude to hold, or null'},
    }


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        'type': 'object',
        'properties': properties,
        'required': list(properties),
        'additionalProperties': False,
    }


def format_instructions(style: ReplyStyle, actions: str = 'oceangym') -> str:
    """Return the part of the prompt that says how to answer with a set of `ACTION_SETS`."""
    if style is ReplyStyle.JSON:
        return _json_instructions(actions)
    return _marker_instructions(actions)


def _json_words(actions: str) -> str:
    return ', '.join(action.value for action in ACTION_SETS[actions])


def _json_instructions(actions: str) -> str:
    course = _GO_KEYS if actions == 'extended' else ''
    return f"""\
Answer with one JSON object and nothing else, with these keys:
- "environment": an object with the keys {', '.join(DIRECTIONS)}; what each view shows, in a few words.
- "special_objects": a list of texts; other man-made objects worth remembering, or []. A text that \
begins with "not " takes an earlier one back.
- "finds": a list; one object for the target if it is visible now, otherwise []. Each with "label", \
"position" ([x, y, z] in metres as you estimate it, or null), "range_m" (metres or null), \
"bearing_deg" (degrees from the bow, positive to port, or null), "direction" (the view that shows \
it, or null), "pixel" (its middle [x, y] or its box [x1, y1, x2, y2] in that image, or null) and "text". \
With direction, pixel and range_m the place is worked out for you. At most {MAX_FINDS}.
- "action": exactly one of {_json_words(actions)}.
- "magnitude": {_MAGNITUDES}; null for the default. Always more than 0.
{course}- "reason": one or two sentences.
left, right, up and down move sideways and vertically without turning; hold keeps the position; \
stop ends the whole mission at once.
Example, not to be copied:
{_example(ReplyStyle.JSON, actions)}"""


def _example(style: ReplyStyle, actions: str) -> str:
    plain, extended = (
        (_JSON_EXAMPLE, _GO_JSON_EXAMPLE)
        if style is ReplyStyle.JSON
        else (_MARKER_EXAMPLE, _GO_MARKER_EXAMPLE)
    )
    return extended if actions == 'extended' else plain


def _marker_words(actions: str) -> str:
    return ', '.join(ReplyStyle.MARKERS.word(action) for action in ACTION_SETS[actions])


def _marker_instructions(actions: str) -> str:
    words = _marker_words(actions)
    course = _GO_LINE if actions == 'extended' else ''
    return f"""\
Answer in this form and with nothing else.
If the target is not visible, one continuous line between ## marks:
## Current environment information: Left: (what is seen) Right: (..) Down: (..) Up: (..) Front: (..) \
Back: (..) ##
If the target is visible, instead one line between $$ marks:
$$ Target object found@@@ (name of the object), current position [x, y, z], camera (direction) \
detected the target object, distance (metres), bearing (degrees from the bow, positive to port), \
estimated position [x, y, z] $$
For other man-made objects worth remembering add: *** SPECIAL OBJECTS DETECTED: (names) ***
Below, one command alone in its line: one word group of the list ({words}), with its magnitude: \
{_MAGNITUDES}. {course}"move left" and "move right" move sideways without turning; "hold" keeps the \
position; "stop" ends the whole mission at once.
Example, not to be copied:
{_example(ReplyStyle.MARKERS, actions)}"""


def remedy(style: ReplyStyle, actions: str = 'oceangym') -> str:
    """Return what a model is told after an invalid reply: what is allowed, and an example."""
    if style is ReplyStyle.JSON:
        return (
            'Answer again with one JSON object whose "action" is exactly one of: '
            f'{_json_words(actions)}; "magnitude" is in {_MAGNITUDES}, or null. '
            f'Example: {_example(style, actions)}'
        )
    return (
        f'Answer again with one command alone in the last line, one of: {_marker_words(actions)}; '
        f'with a magnitude in {_MAGNITUDES}. Example:\n{_example(style, actions)}'
    )
