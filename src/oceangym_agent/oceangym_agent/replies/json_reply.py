"""Replies in JSON, however they are wrapped and written."""

from __future__ import annotations

from dataclasses import dataclass, replace
import re

from oceangym_agent.replies.finds import fields, finds_in, plain_key
from oceangym_agent.replies.json_text import (
    Cut,
    find_objects,
    JsonArray,
    JsonObject,
    JsonValue,
    read_array,
    unescaped,
)
from oceangym_agent.replies.limits import MAX_REASON, quoted, tidy
from oceangym_agent.replies.phrases import Command, normalised, single
from oceangym_agent.replies.prose import read_value
from oceangym_agent.replies.quantities import magnitude_of, NO_MAGNITUDE, Quantity, read_quantity
from oceangym_agent.replies.reply import ParsedReply, ReplyError
from oceangym_agent.replies.views import environment_of, special_objects_of
from oceangym_core.contract import Action, Course

_ACTION_ALIASES = (
    'command',
    'actions',
    'commands',
    'next_action',
    'next_command',
    'chosen_action',
    'selected_action',
    'final_action',
    'move',
    'movement',
    'maneuver',
    'manoeuvre',
    '动作',
    '指令',
    '行动',
)
_NESTED_ACTION_KEYS = ('action', 'type', 'name', 'command', 'value', 'move', 'direction')
_MAGNITUDE_KEYS = (
    'magnitude',
    'magnitude_m',
    'magnitude_deg',
    'distance',
    'distance_m',
    'angle',
    'angle_deg',
    'degrees',
    'meters',
    'metres',
    'amount',
    'delta',
)
_COURSE_KEYS = {
    'turn_deg': ('turn_deg', 'turn'),
    'climb_m': ('climb_m', 'climb'),
    'altitude_m': ('altitude_m', 'altitude'),
}
_NAMED_BY = ('name', 'function', 'tool', 'tool_name')
_ARGUMENTS = ('arguments', 'parameters', 'args', 'input', 'action_input', 'params', 'kwargs')
# Only in these is an inner object the reply: the one under "previous_step" is not.
_WRAPPERS = frozenset(
    {
        *_ARGUMENTS,
        *('reply', 'response', 'answer', 'output', 'result', 'decision', 'function', 'content'),
        *('tool_call', 'tool_calls', 'function_call', 'message', 'data', 'json', 'final'),
        *('final_answer', 'final_reply', 'step', 'command', 'commands'),
    }
)
_REPLY_KEYS = frozenset(
    {
        *('environment', 'special_objects', 'finds', 'magnitude', 'reason', 'action', 'direction'),
        *_ACTION_ALIASES,
    }
)
_REASON_KEYS = ('reason', 'reasoning', 'rationale', 'explanation', 'thought', 'thoughts')
_GENERIC = frozenset(
    {'move', 'go', 'rotate', 'turn', 'yaw', 'strafe', 'translate', 'swim', 'travel', 'spin'}
)
_VALUELESS = frozenset({Action.HOLD, Action.STOP})
# Before an object: it is an example, or what the model does not want.
_NOT_MEANT = re.compile(
    r'\bexample|\be\.?g\b|\bfor instance\b|\binstead of\b|\brather than\b|\b(?:do not|don\'t|must not|'
    r'should not|will not|won\'t|not going to|never|cannot|can\'t|not)\s+(?:to )?(?:send|reply|answer|'
    r'output|use|do|choose|take|return|respond|write|execute|say|be|with|this|the following|like)\b'
    r'|\bprevious(?:ly)?\b|\bearlier\b|\blast (?:step|reply|time|command|action)\b|\bwrong\b'
    r'|\bincorrect\b|\binvalid\b|\bwould\b|\bnot$|\bsuch as\b|\binstruct|\b(?:says|said|told|asked)\b'
)
_DOUBLY_ENCODED = re.compile(r'"\s*\{.*\}\s*"', re.DOTALL)
_HEADLESS = re.compile(r'["\'][\w ]{1,40}["\']\s*:')


@dataclass(frozen=True, kw_only=True)
class _Candidate:
    """One object of the reply that names an action."""

    pairs: dict[str, JsonValue]
    command: Command
    cut: bool


def read_json_reply(text: str) -> ParsedReply | None:
    """Return the reply that is written as JSON in a text; None if there is none.

    Text beside the JSON does not count: the structured action goes before it.

    Raises:
        ReplyError: There is one, without exactly one action.
    """
    text = _opened(text)
    candidates: list[_Candidate] = []
    cut_error: ReplyError | None = None
    actionless: list[JsonObject] = []
    for located in find_objects(text):
        if not isinstance(located.value, JsonObject) or _is_not_meant(text, located.start):
            continue
        replies = list(_replies(located.value, 0))
        if not replies and _REPLY_KEYS & {plain_key(key) for key, _ in located.value.pairs}:
            actionless.append(located.value)
        for reply in replies:
            candidate = _candidate(reply)
            if isinstance(candidate, ReplyError):
                cut_error = candidate
            else:
                candidates.append(candidate)
    if cut_error is not None and all(candidate.cut for candidate in candidates):
        raise cut_error
    if candidates:
        return _parsed(_chosen(candidates))
    if actionless:
        if any(value.cut for value in actionless):
            raise ReplyError('It breaks off before its action; answer more briefly.')
        raise ReplyError('Its JSON has no key "action".')
    return _from_list(text)


def _opened(text: str) -> str:
    """Return a text whose JSON is encoded twice, or lacks its first brace, put right."""
    text = text.strip()
    if _DOUBLY_ENCODED.fullmatch(text) and '\\"' in text:
        return unescaped(text[1:-1])
    if _HEADLESS.match(text):
        return '{' + text
    return text


def _is_not_meant(text: str, start: int) -> bool:
    before = text[max(0, start - 160) : start].rstrip(' \t\n`*')
    before = re.sub(r'```\w*\s*$', '', before).lower()
    before = re.sub(r'```(?:json)?$', '', before).rstrip()
    clause = re.split(r'[.!?;,}\]\n]', before)[-1]
    return _NOT_MEANT.search(clause) is not None


def _replies(value: JsonValue, depth: int) -> list[JsonObject]:
    """Return the objects in `value` that name an action, looking into wrappers only."""
    if depth > 4:
        return []
    if isinstance(value, str) and value.lstrip().startswith('{'):
        return [
            reply
            for located in find_objects(value)
            for reply in _replies(located.value, depth + 1)
        ]
    if isinstance(value, JsonArray):
        return [reply for item in value.items for reply in _replies(item, depth + 1)]
    if not isinstance(value, JsonObject):
        return []
    keys = {plain_key(key) for key, _ in value.pairs}
    if 'action' in keys:
        return [value]
    inner = [
        reply
        for key, item in value.pairs
        if plain_key(key) in _WRAPPERS
        for reply in _replies(item, depth + 1)
    ]
    if inner:
        return inner
    if keys & set(_ACTION_ALIASES) or (keys & set(_NAMED_BY) and keys & set(_ARGUMENTS)):
        return [value]
    return []


def _candidate(value: JsonObject) -> _Candidate | ReplyError:
    """Return the command of an object, or what is wrong with one that was cut off.

    Raises:
        ReplyError: Something is wrong with a whole one.
    """
    try:
        return _whole_candidate(value)
    except ReplyError as error:
        if not value.cut:
            raise
        return error


def _whole_candidate(value: JsonObject) -> _Candidate:
    pairs = _with_arguments(fields(value))
    named = [item for key, item in value.pairs if plain_key(key) == 'action']
    if not named:
        named = [item for key, item in value.pairs if plain_key(key) in _ACTION_ALIASES]
    if not named:
        named = [next(pairs[key] for key in _NAMED_BY if key in pairs)]
    if value.cut and any(isinstance(item, Cut) for item in named):
        raise ReplyError('It breaks off within its action; answer more briefly.')
    commands = [command for item in named for command in _commands(item, pairs, 0)]
    command = single(commands)
    if command is None:
        raise ReplyError('Its "action" is empty.')
    if command.action not in _VALUELESS:
        command = _with_magnitude(command, value, pairs)
    if command.action is Action.GO:
        within = [fields(item) for item in named if isinstance(item, JsonObject)]
        command = replace(command, course=_course([pairs, *map(_with_arguments, within)]))
    return _Candidate(pairs=pairs, command=command, cut=value.cut)


def _with_arguments(pairs: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the pairs of a reply that is written as a call of a tool, with those of its arguments.

    Raises:
        ReplyError: An argument is none of a reply: what it asks for would be lost.
    """
    value = next((pairs[key] for key in _ARGUMENTS if key in pairs), None)
    if isinstance(value, str):
        value = next((located.value for located in find_objects(value)), None)
    if not isinstance(value, JsonObject):
        return pairs
    inner = fields(value)
    _refuse_others(inner, _REPLY_KEYS | _keys_of_go(pairs, inner))
    for key in inner.keys() & pairs.keys() - set(_REASON_KEYS):
        if inner[key] != pairs[key]:
            raise ReplyError(f'It gives {quoted(key)} twice, and not the same.')
    return {**inner, **pairs}


def _keys_of_go(*groups: dict[str, JsonValue]) -> frozenset[str]:
    """Return the further arguments that the action go has, if it is named."""
    named = (value for group in groups for value in group.values() if isinstance(value, str))
    if not any(normalised(value) == Action.GO.value for value in named):
        return frozenset()
    return frozenset(key for keys in _COURSE_KEYS.values() for key in keys)


def _refuse_others(pairs: dict[str, JsonValue], known: frozenset[str]) -> None:
    for key in pairs:
        if key not in known and key not in _MAGNITUDE_KEYS and key not in _REASON_KEYS:
            raise ReplyError(
                f'It gives the action an argument {quoted(key)}, which does not exist.'
            )


def _commands(value: JsonValue, siblings: dict[str, JsonValue], depth: int) -> list[Command]:
    """Return the commands that an action's value stands for."""
    if depth > 3:
        raise ReplyError('Its "action" is nested too deeply; give one word.')
    if isinstance(value, str):
        direction = siblings.get('direction')
        if normalised(value) == Action.GO.value and not isinstance(direction, str):
            return [Command(action=Action.GO)]
        return _worded(value, siblings)
    if isinstance(value, JsonArray):
        return [c for item in value.items for c in _commands(item, {}, depth + 1)]
    if isinstance(value, JsonObject):
        inner = fields(value)
        key = next((k for k in _NESTED_ACTION_KEYS if k in inner), None)
        if key is None:
            raise ReplyError('Its "action" is an object; give one word.')
        inner = _with_arguments(inner)
        known = _REPLY_KEYS.union(_NESTED_ACTION_KEYS, _ARGUMENTS)
        _refuse_others(inner, known | _keys_of_go(inner))
        commands = _commands(inner[key], inner, depth + 1)
        return [_with_magnitude(c, value, inner) for c in commands]
    raise ReplyError(f'Its "action" is {_shown(value)}; give one of the words below.')


def _shown(value: JsonValue) -> str:
    if value is None:
        return 'null'
    if isinstance(value, Cut):
        return 'cut off'
    return str(value).lower() if isinstance(value, bool) else f'the number {value}'


def _worded(text: str, siblings: dict[str, JsonValue]) -> list[Command]:
    direction = siblings.get('direction')
    if normalised(text) in _GENERIC and isinstance(direction, str):
        text = f'{text} {direction}'
    commands = read_value(text)
    if not commands:
        raise ReplyError(f'Its "action" is {quoted(text)}, which is no command.')
    return commands


def _with_magnitude(
    command: Command, source: JsonObject, siblings: dict[str, JsonValue]
) -> Command:
    """Return the command with the magnitude that stands beside it.

    Raises:
        ReplyError: It is not one number, contradicts the action's own, or was cut off.
    """
    if command.action in _VALUELESS:
        return command
    key = next((k for k in _MAGNITUDE_KEYS if k in siblings), None)
    if key is None:
        if source.cut and command.magnitude is None:
            raise ReplyError('It breaks off before the magnitude; answer more briefly.')
        return command
    given = [item for name, item in source.pairs if plain_key(name) == key] or [siblings[key]]
    magnitudes = {_magnitude(command.action, item) for item in given}
    if command.magnitude is not None:
        magnitudes.discard(None)
        magnitudes.add(command.magnitude)
    if len(magnitudes) > 1:
        raise ReplyError('It gives several magnitudes.')
    return Command(action=command.action, magnitude=magnitudes.pop())


def _course(groups: list[dict[str, JsonValue]]) -> Course:
    """Return the course that stands beside an action, or within it."""
    return Course(**{name: _course_value(name, groups) for name in _COURSE_KEYS})


def _course_value(name: str, groups: list[dict[str, JsonValue]]) -> float | None:
    """Return a value of a course; zero asks for nothing, as null does.

    Raises:
        ReplyError: It is not one number.
    """
    given = [
        group[key] for group in groups for key in _COURSE_KEYS[name] if group.get(key) is not None
    ]
    values = set()
    for value in given:
        if isinstance(value, str):
            quantity = read_quantity(normalised(value).strip())
            value = None if quantity is None else quantity.value
        if not isinstance(value, float):
            raise ReplyError(f'Its "{name}" is not a number; give one number or null.')
        values.add(value)
    if len(values) > 1:
        raise ReplyError(f'It gives several values of "{name}".')
    return (values.pop() or None) if values else None


def _magnitude(action: Action, value: JsonValue) -> float | None:
    if value is None:
        return None
    if isinstance(value, Cut):
        raise ReplyError('It breaks off within the magnitude; answer more briefly.')
    if isinstance(value, float):
        return magnitude_of(action, Quantity(value=value))
    if isinstance(value, JsonObject):
        inner = fields(value)
        number, unit = inner.get('value'), inner.get('unit', '')
        if isinstance(number, float):
            value = f'{number} {unit if isinstance(unit, str) else ""}'
    if isinstance(value, str):
        low = normalised(value).strip()
        if low in NO_MAGNITUDE:
            return None
        quantity = read_quantity(low)
        if quantity is not None:
            return magnitude_of(action, quantity)
    shown = quoted(value) if isinstance(value, str) else 'not a number'
    raise ReplyError(f'Its "magnitude" is {shown}; give one number or null.')


def _chosen(candidates: list[_Candidate]) -> _Candidate:
    """Return the one meant: all must agree; a cut repetition counts for nothing beside a whole."""
    whole = [candidate for candidate in candidates if not candidate.cut]
    command = single([candidate.command for candidate in whole or candidates])
    assert command is not None
    chosen = (whole or candidates)[0]
    return _Candidate(pairs=chosen.pairs, command=command, cut=chosen.cut)


def _from_list(text: str) -> ParsedReply | None:
    array = read_array(re.sub(r'```\w*', '', text))
    if array is None or not array.items or not all(isinstance(i, str) for i in array.items):
        return None
    command = single([c for item in array.items for c in _commands(item, {}, 0)])
    return (
        None
        if command is None
        else ParsedReply(action=command.action, magnitude=command.magnitude)
    )


def _said_course(command: Command, pairs: dict[str, JsonValue]) -> Course:
    """Return the course beside a command; that of another action than go is the caller's to judge."""
    if command.action is Action.GO:
        return command.course
    numbers = {name: pairs.get(name) for name in _COURSE_KEYS}
    return Course(**{n: v for n, v in numbers.items() if isinstance(v, float) and v})


def _parsed(candidate: _Candidate) -> ParsedReply:
    pairs = candidate.pairs
    reason = next((v for k in _REASON_KEYS if isinstance(v := pairs.get(k), str)), '')
    return ParsedReply(
        action=candidate.command.action,
        magnitude=candidate.command.magnitude,
        course=_said_course(candidate.command, pairs),
        environment=environment_of(pairs.get('environment')),
        special_objects=special_objects_of(pairs.get('special_objects')),
        finds=finds_in(pairs.get('finds')),
        reason=tidy(reason, MAX_REASON),
    )
