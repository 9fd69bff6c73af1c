"""What a model is told about the form of its reply, and the schema that enforces it."""

from __future__ import annotations

from typing import Any

from oceangym_agent.replies.limits import MAX_FINDS, MAX_ROTATION_DEG, MAX_TRANSLATION_M
from oceangym_agent.replies.reply import ReplyStyle
from oceangym_core.contract import (
    Action,
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

_MAGNITUDES = (
    f'metres for moves (default {DEFAULT_TRANSLATION_M:g}, at most {MAX_TRANSLATION_M:g}), degrees '
    f'for rotations (default {DEFAULT_ROTATION_DEG:g}, at most {MAX_ROTATION_DEG:g})'
)


def reply_schema() -> dict[str, Any]:
    """Return the JSON schema of a reply.

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
            'action': {'type': 'string', 'enum': [action.value for action in Action]},
            'magnitude': {**number, 'description': f'{_MAGNITUDES}; null for the default'},
            'reason': {'type': 'string', 'description': 'one or two sentences'},
        }
    )


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        'type': 'object',
        'properties': properties,
        'required': list(properties),
        'additionalProperties': False,
    }


def format_instructions(style: ReplyStyle) -> str:
    """Return the part of the prompt that says how to answer."""
    if style is ReplyStyle.JSON:
        return _json_instructions()
    return _marker_instructions()


def _json_instructions() -> str:
    return f"""\
Answer with one JSON object and nothing else, with these keys:
- "environment": an object with the keys {', '.join(DIRECTIONS)}; what each view shows, in a few words.
- "special_objects": a list of texts; other man-made objects worth remembering, or [].
- "finds": a list; one object for the target if it is visible now, otherwise []. Each with "label", \
"position" ([x, y, z] in metres as you estimate it, or null), "range_m" (metres or null), \
"bearing_deg" (degrees from the bow, positive to port, or null), "direction" (the view that shows \
it, or null) and "text". At most {MAX_FINDS}.
- "action": exactly one of {', '.join(action.value for action in Action)}.
- "magnitude": {_MAGNITUDES}; null for the default. Always more than 0.
- "reason": one or two sentences.
left, right, up and down move sideways and vertically without turning; hold keeps the position; \
stop ends the whole mission at once.
Example, not to be copied:
{_JSON_EXAMPLE}"""


def _marker_words() -> str:
    return ', '.join(ReplyStyle.MARKERS.word(action) for action in Action)


def _marker_instructions() -> str:
    words = _marker_words()
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
{_MAGNITUDES}. "move left" and "move right" move sideways without turning; "hold" keeps the \
position; "stop" ends the whole mission at once.
Example, not to be copied:
{_MARKER_EXAMPLE}"""


def remedy(style: ReplyStyle) -> str:
    """Return what a model is told after an invalid reply: what is allowed, and an example."""
    if style is ReplyStyle.JSON:
        actions = ', '.join(action.value for action in Action)
        return (
            f'Answer again with one JSON object whose "action" is exactly one of: {actions}; '
            f'"magnitude" is in {_MAGNITUDES}, or null. Example: {_JSON_EXAMPLE}'
        )
    return (
        f'Answer again with one command alone in the last line, one of: {_marker_words()}; '
        f'with a magnitude in {_MAGNITUDES}. Example:\n{_MARKER_EXAMPLE}'
    )
