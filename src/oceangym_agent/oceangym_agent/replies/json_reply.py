"""Replies in JSON, mended where a bracket, quote or comma is wrong, but never guessed at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import re
from typing import Any

import json_repair

from oceangym_agent.replies.finds import finds_in
from oceangym_agent.replies.limits import (
    MAX_MENDED_BRACKETS,
    MAX_MENDED_CHARS,
    MAX_REASON,
    MAX_SPECIAL_OBJECTS,
    MAX_TEXT,
    quoted,
    tidy,
)
from oceangym_agent.replies.magnitudes import magnitude_of, number_of
from oceangym_agent.replies.reply import ParsedReply, ReplyError
from oceangym_core.contract.actions import Action, Course, DIRECTIONS
from oceangym_core.record.memory_files import ACTION_WORDS

_ACTIONS = {word.replace(' ', '_'): action for action, word in ACTION_WORDS.items() if word}
_ACTIONS |= {str(action.value): action for action in Action}
_MAGNITUDES = (
    'magnitude',
    'magnitude_m',
    'magnitude_deg',
    'distance',
    'distance_m',
    'angle',
    'degrees',
)
_COURSE_UNITS = {'turn_deg': 'deg', 'climb_m': 'm', 'altitude_m': 'm'}
# Keys under which a call of a tool, or an endpoint, holds the reply itself.
_WRAPPERS = ('arguments', 'parameters', 'function', 'tool_call', 'reply', 'response', 'answer')
_MAX_WRAPPERS = 4
_WITH_OBJECTS = ('environment', 'special_objects', 'finds')

_OBJECT = re.compile(r'\{\s*(?:\{\s*)?(?:["\'`“‘]|\w[\w -]{0,60}\s*:)')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TRAILING_COMMA = re.compile(r',(?=\s{0,99}[}\]])')
_KEY = re.compile(r'(?<!\\)["\'`“‘]?\b(action|magnitude)\b["\'`”’]?\s*:', re.IGNORECASE)
# Right before an object: it is an example, a report, or what the model does not want.
_NOT_MEANT = re.compile(
    r'\bexamples?\b|\be\.?g\b|\bfor instance\b|\b(?:instead of|rather than|such as|would|previous|previously|'
    r'earlier|last|wrong|incorrect|invalid|instructions?|says?|said|told|asked)\b|\bnot$|'
    r'(?:\b(?:not|never|cannot|refuse to)|n[\'’]t)\s+(?:to )?(?:send|reply|answer|output|use|do|choose|take|'
    r'return|respond|write|execute|say|be|with|this|the following|like|going to)\b',
    re.IGNORECASE,
)


class _TwiceGiven(ValueError):
    """A key of a JSON object that stands in it with two values."""


def read_json_reply(text: str) -> ParsedReply | None:
    """Return the reply that is written as JSON in a text; None if there is none.

    Text beside the JSON does not count. Broken JSON is mended only where its action and magnitude
    stand in it exactly once and whole.

    Raises:
        ReplyError: There is one, without exactly one action.
    """
    try:
        replies = [_reply(value) for value in _objects(text)]
    except _TwiceGiven as error:
        raise ReplyError(f'It gives "{error}" twice.') from None
    if not replies:
        return None
    commands = {_command(reply) for reply in replies}
    if len(commands) > 1:
        words = ', '.join(sorted({action.value for action, _, _ in commands}))
        raise ReplyError(f'It gives {len(commands)} different commands ({words}).')
    ((action, magnitude, course),) = commands
    said = replies[0]
    return ParsedReply(
        action=action,
        magnitude=magnitude,
        course=course,
        environment=_environment(said.get('environment')),
        special_objects=_special_objects(said.get('special_objects')),
        finds=finds_in(said.get('finds')),
        reason=tidy(_flat(said.get('reason')), MAX_REASON),
    )


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost objects of a text; the rest from the first broken one on is one object."""
    decoder = json.JSONDecoder(object_pairs_hook=_unique)
    position = 0
    while (start := _OBJECT.search(text, position)) is not None:
        begin = start.start()
        try:
            value, position = decoder.raw_decode(text, begin)
        except _TwiceGiven:
            raise
        except (ValueError, RecursionError):
            # The commonest fault first, which leaves the rest of the text to be read as it is.
            tidied = text[:begin] + _TRAILING_COMMA.sub('', text[begin:])
            if tidied != text:
                text, position = tidied, begin
                continue
            value = _mended(text[begin:])
            position = len(text)
        if not _NOT_MEANT.search(_clause_before(text, begin)):
            yield value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object by plain lower-case keys.

    Raises:
        _TwiceGiven: A key has two values.
    """
    values: dict[str, Any] = {}
    for key, value in pairs:
        # "Magnitude (m)" is the key "magnitude".
        key = re.sub(r'[\s-]+', '_', key.partition('(')[0].strip().lower())
        if key in values and repr(values[key]) != repr(value):
            raise _TwiceGiven(tidy(key, MAX_TEXT))
        values[key] = value
    return values


def _clause_before(text: str, start: int) -> str:
    """Return the words that introduce an object: the clause right before it."""
    before = re.sub(r'[\s`*~]*(?:json)?[\s`*~\[({]*$', '', text[max(0, start - 160) : start])
    return re.split(r'[.!?;,}\]\n]', before)[-1]


def _mended(text: str) -> dict[str, Any]:
    """Return the broken object with which a text begins, as json-repair reads it.

    Raises:
        ReplyError: It is cut off, or may be read in several ways.
    """
    bare = _STRING.sub('', text)
    is_cut = '"' in bare or bare.count('{') > bare.count('}')
    text = text[: text.rfind('}') + 1]
    keys = [match[1].lower() for match in _KEY.finditer(text)]
    if keys.count('action') == 0 or is_cut:
        raise ReplyError('It breaks off before its action, or has none; answer more briefly.')
    if keys.count('action') > 1 or keys.count('magnitude') > 1:
        raise ReplyError('Its JSON is broken and gives "action" or "magnitude" several times.')
    brackets = text.count('{') + text.count('[')
    if len(text) > MAX_MENDED_CHARS or brackets > MAX_MENDED_BRACKETS:
        raise ReplyError('Its JSON is broken.')
    try:
        value = json_repair.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ReplyError('Its JSON is broken.')
    return _unique(list(value.items()))


def _reply(value: dict[str, Any]) -> dict[str, Any]:
    """Return a reply, taken out of its wrappers.

    Raises:
        ReplyError: It names no action.
    """
    for _ in range(_MAX_WRAPPERS):
        if 'action' in value:
            break
        inner = next((value[key] for key in _WRAPPERS if key in value), None)
        if isinstance(inner, str):
            try:
                inner = json.loads(inner, object_pairs_hook=_unique)
            except (ValueError, RecursionError):
                inner = None
        if not isinstance(inner, dict):
            break
        value = inner
    if 'action' not in value:
        raise ReplyError('Its JSON has no key "action".')
    beside = [k for k, item in value.items() if isinstance(item, dict) and k not in _WITH_OBJECTS]
    if beside:
        raise ReplyError(f'It has an object under {quoted(beside[0])} beside its action.')
    return value


def _command(reply: dict[str, Any]) -> tuple[Action, float | None, Course]:
    """Return the one command of a reply.

    Raises:
        ReplyError: It is none.
    """
    action = _action(reply['action'])
    given = {reply[key] for key in _MAGNITUDES if isinstance(reply.get(key), (str, int, float))}
    if len(given) > 1:
        raise ReplyError('It gives several magnitudes.')
    other = next((key for key in _MAGNITUDES if isinstance(reply.get(key), (dict, list))), None)
    if other is not None:
        raise ReplyError(f'Its "{other}" is not one number.')
    course = {
        name: _course_value(name, reply.get(name), unit) for name, unit in _COURSE_UNITS.items()
    }
    return action, magnitude_of(action, given.pop() if given else None), Course(**course)


def _action(value: object) -> Action:
    """Return the action that a word names.

    Raises:
        ReplyError: It names none.
    """
    if not isinstance(value, str):
        raise ReplyError('Its "action" is not one word.')
    action = _ACTIONS.get(re.sub(r'[\s_-]+', '_', value[:40].strip().lower()))
    if action is None:
        raise ReplyError(f'Its action {quoted(value)} is no command.')
    return action


def _course_value(name: str, value: object, unit: str) -> float | None:
    """Return a value of a course; zero asks for nothing, as null does.

    Raises:
        ReplyError: It is not one number.
    """
    if value is None:
        return None
    number = number_of(value, unit)
    if number is None:
        raise ReplyError(f'Its "{name}" is not a number; give one number or null.')
    return number or None


def _environment(value: object) -> Mapping[str, str]:
    """Return the views of a JSON object by direction."""
    if not isinstance(value, dict):
        return {}
    views = {name: tidy(_flat(value.get(name)), MAX_TEXT) for name in DIRECTIONS}
    return {name: text for name, text in views.items() if text}


def _special_objects(value: object) -> tuple[str, ...]:
    """Return the objects that a JSON list names."""
    items = value if isinstance(value, list) else [value]
    texts = (tidy(_flat(item), MAX_TEXT) for item in items[: 4 * MAX_SPECIAL_OBJECTS])
    kept = dict.fromkeys(text for text in texts if text and text.lower() not in ('none', 'null'))
    return tuple(kept)[:MAX_SPECIAL_OBJECTS]


def _flat(value: object) -> str:
    """Return what a value says, in one line."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ', '.join(filter(None, (_flat(item) for item in value[:20])))
    if isinstance(value, dict):
        return ', '.join(f'{key}: {_flat(item)}' for key, item in list(value.items())[:20])
    return '' if value is None or isinstance(value, bool) else str(value)
