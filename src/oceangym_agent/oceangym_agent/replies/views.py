"""What a reply says about the views and about other objects."""

from __future__ import annotations

import re

from oceangym_agent.replies.finds import direction_in
from oceangym_agent.replies.json_text import JsonArray, JsonObject, JsonValue
from oceangym_agent.replies.limits import MAX_SPECIAL_OBJECTS, MAX_TEXT, tidy

_NOTHING = frozenset({'', 'null', 'none', 'n/a', 'na', '-', 'nil', 'undefined', 'nothing'})

_VIEW = re.compile(
    r'\b(left|right|down|up|front|back)(?: (?:camera|view|image|side))?\s*(?:\([^)\n]{0,30}\))?\s*[:：=]',
    re.IGNORECASE,
)


def environment_of(value: JsonValue) -> dict[str, str]:
    """Return the views of a JSON object by direction, or of a text."""
    if isinstance(value, str):
        return environment_in(value)
    if not isinstance(value, JsonObject):
        return {}
    views: dict[str, str] = {}
    for key, item in value.pairs:
        direction = direction_in(key.replace('_', ' '))
        text = tidy(_flat(item), MAX_TEXT)
        if direction and text:
            views[direction] = text
    return views


def environment_in(text: str) -> dict[str, str]:
    """Return the views of ``Left: sand, Right: rock, ..``."""
    views: dict[str, str] = {}
    matches = list(_VIEW.finditer(text))
    for match, following in zip(matches, [*matches[1:], None]):
        end = following.start() if following else len(text)
        seen = tidy(text[match.end() : min(end, match.end() + 4 * MAX_TEXT)], MAX_TEXT)
        if seen.strip(' ,;.-*#'):
            views.setdefault(match[1].lower(), seen.strip(' ,;-*#'))
    return views


def _flat(value: JsonValue) -> str:
    """Return what a value says, in one line."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f'{value:g}'
    if isinstance(value, JsonArray):
        return ', '.join(filter(None, (_flat(item) for item in value.items[:20])))
    if isinstance(value, JsonObject):
        return ', '.join(f'{key}: {_flat(item)}' for key, item in value.pairs[:20])
    return ''


def special_objects_of(value: JsonValue) -> tuple[str, ...]:
    """Return the objects that a JSON list names."""
    items = value.items if isinstance(value, JsonArray) else (value,)
    texts = (tidy(_flat(item), MAX_TEXT) for item in items[: 4 * MAX_SPECIAL_OBJECTS])
    kept = dict.fromkeys(text for text in texts if text and text.lower() not in _NOTHING)
    return tuple(kept)[:MAX_SPECIAL_OBJECTS]
