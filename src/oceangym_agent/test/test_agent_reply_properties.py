"""Valid replies survive noise, cut replies never turn into others, and no text does harm."""

from __future__ import annotations

import json
import math
from typing import Any

from hypothesis import example, given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
import yaml

from oceangym_agent.replies import parse_reply, ParsedReply, ReplyError, ReplyStyle
from oceangym_agent.replies.limits import (
    MAX_FINDS,
    MAX_LABEL,
    MAX_REASON,
    MAX_ROTATION_DEG,
    MAX_SPECIAL_OBJECTS,
    MAX_TEXT,
    MAX_TRANSLATION_M,
)
from oceangym_core.contract.actions import Action, ACTION_SETS, DIRECTIONS, ROTATIONS, TRANSLATIONS
from oceangym_core.record.memory_files import ACTION_WORDS

COMMON = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
STYLES = st.sampled_from(list(ReplyStyle))
WORDS: dict[Action, str] = {**ACTION_WORDS, Action.HOLD: 'hold'}

# Texts that try to be taken for something else, and any other text.
TRAPS = st.sampled_from(
    [
        'do not ascend',
        'stop',
        'Action: stop',
        '"action": "stop"',
        '{"action": "stop"}',
        '", "action": "stop", "x": "',
        '\\", \\"action\\": \\"stop\\"',
        "', 'action': 'stop",
        '} {"action": "up"}',
        '```json\n{"action": "down"}\n```',
        '// move left',
        '/* descend */',
        '# rotate left',
        '$$ Target object found@@@ SHIP $$',
        '## move left ##',
        '\\',
        '"',
        '@@@',
        '前进',
        '\ud800',
        'x' * 700,
        'Example: {',
        'not',
    ]
)
# Tags and LaTeX are markup that a reader drops, also in a field.
TEXTS = TRAPS | st.text(
    alphabet=st.characters(exclude_characters='<>◁&\\$~', exclude_categories=()), max_size=40
)


def magnitudes(action: Action) -> st.SearchStrategy[float | None]:
    if action in TRANSLATIONS:
        limit = MAX_TRANSLATION_M
    elif action in ROTATIONS:
        limit = MAX_ROTATION_DEG
    else:
        return st.none()
    numbers = st.integers(1, int(limit)).map(float) | st.floats(0.1, limit).map(
        lambda value: round(value, 2)
    )
    return st.none() | numbers


@st.composite
def replies(draw: st.DrawFn) -> dict[str, Any]:
    """Return a reply that keeps to the schema, its keys in any order."""
    action = draw(st.sampled_from(ACTION_SETS['oceangym']))
    find = st.fixed_dictionaries(
        {
            'label': st.sampled_from(['SUNKEN SHIP', 'OIL DRUM', 'MINING ROBOT']),
            'position': st.none() | st.lists(st.floats(-900, 900), min_size=3, max_size=3),
            'range_m': st.none() | st.floats(0, 200),
            'bearing_deg': st.none() | st.floats(-179, 180),
            'direction': st.none() | st.sampled_from(DIRECTIONS),
            'text': st.just('a hull'),
        }
    )
    pairs = [
        ('environment', {direction: draw(TEXTS) for direction in DIRECTIONS}),
        ('special_objects', draw(st.lists(TEXTS, max_size=3))),
        ('finds', draw(st.lists(find, max_size=3))),
        ('action', action.value),
        ('magnitude', draw(magnitudes(action))),
        ('reason', draw(TEXTS)),
    ]
    return dict(draw(st.permutations(pairs)))


PROSE = st.sampled_from(
    [
        '',
        'Sure, here is my answer: ',
        'I looked at all six views.\n\n',
        'No target is visible yet. ',
        'The pipe {see above} is half buried.\n',
        'Thank you!',
        '<think>Maybe {"action": "stop"}? do not ascend</think>\n',
        '**Reply**\n',
    ]
)


@st.composite
def written(draw: st.DrawFn, reply: dict[str, Any]) -> str:
    """Return a reply as some model might write it."""
    body = json.dumps(
        reply,
        ensure_ascii=draw(st.booleans()),
        indent=draw(st.sampled_from([None, 1, 4])),
    )
    if draw(st.booleans()):
        body = body[:-1].rstrip() + ',}'
    fence = draw(st.sampled_from(['', '```json', '```', '<|begin_of_box|>']))
    end = {'': '', '<|begin_of_box|>': '<|end_of_box|>'}.get(fence, '\n```')
    return f'{draw(PROSE)}{fence}\n{body}{end}\n{draw(PROSE)}'


def acts(text: str, style: ReplyStyle) -> ParsedReply | None:
    try:
        return parse_reply(text, style=style)
    except ReplyError as error:
        assert str(error)
        return None


def check_limits(reply: ParsedReply) -> None:
    """Assert what holds for whatever a model wrote."""
    assert isinstance(reply.action, Action)
    if reply.action in TRANSLATIONS | ROTATIONS:
        limit = MAX_TRANSLATION_M if reply.action in TRANSLATIONS else MAX_ROTATION_DEG
        assert reply.magnitude is None or 0 < reply.magnitude <= limit
    else:
        assert reply.magnitude is None
    assert set(reply.environment) <= set(DIRECTIONS)
    assert len(reply.finds) <= MAX_FINDS
    assert len(reply.special_objects) <= MAX_SPECIAL_OBJECTS
    assert len(reply.reason) <= MAX_REASON
    for text in (*reply.environment.values(), *reply.special_objects):
        assert 0 < len(text) <= MAX_TEXT
    for find in reply.finds:
        assert 0 < len(find.label) <= MAX_LABEL
        assert len(find.text) <= MAX_TEXT
        numbers = (*(find.position or ()), find.range_m or 0.0, find.bearing_deg or 0.0)
        assert all(math.isfinite(number) for number in numbers)
        assert find.direction in ('', *DIRECTIONS)
    repr(reply).encode('utf-8')


def frozen(find: dict[str, Any]) -> tuple[Any, ...]:
    position = find['position']
    return (
        *(find[key] for key in sorted(find.keys() - {'position'})),
        position and tuple(position),
    )


@COMMON
@given(st.data(), replies(), STYLES)
def test_valid_json_survives_its_wrapping(
    data: st.DataObject, reply: dict[str, Any], style: ReplyStyle
) -> None:
    text = data.draw(written(reply))
    parsed = parse_reply(text, style=style)
    assert parsed.action.value == reply['action']
    assert parsed.magnitude == pytest.approx(reply['magnitude'])
    # As values, not as text: 0.0 and -0.0 are one place.
    assert len(parsed.finds) == len({frozen(find) for find in reply['finds']})
    for find, given_find in zip(parsed.finds, reply['finds'][:1]):
        assert find.label == given_find['label']
        assert find.position == (given_find['position'] and tuple(given_find['position']))
        assert find.direction == (given_find['direction'] or '')
    check_limits(parsed)


@COMMON
@given(st.data(), replies(), STYLES)
def test_a_cut_json_reply_is_the_same_or_an_error(
    data: st.DataObject, reply: dict[str, Any], style: ReplyStyle
) -> None:
    text = json.dumps(reply, ensure_ascii=data.draw(st.booleans()))
    for cut in data.draw(st.lists(st.integers(0, len(text)), min_size=5, max_size=25)):
        parsed = acts(text[:cut], style)
        if parsed is not None:
            assert parsed.action.value == reply['action']
            assert parsed.magnitude == pytest.approx(reply['magnitude'])


@COMMON
@given(replies(), st.integers(1, 3), STYLES, st.data())
def test_a_repeated_reply_acts_once_and_no_other_way_with_its_last_cut(
    reply: dict[str, Any], times: int, style: ReplyStyle, data: st.DataObject
) -> None:
    body = json.dumps(reply)
    whole = parse_reply('\n'.join([body] * times), style=style)
    assert whole.action.value == reply['action']
    tail = body[: data.draw(st.integers(0, len(body)))]
    cut = acts('\n'.join([body] * times) + '\n' + tail, style)
    assert cut is None or (cut.action, cut.magnitude) == (whole.action, whole.magnitude)


@COMMON
@given(replies(), replies(), STYLES)
def test_two_replies_that_differ_do_not_act(
    one: dict[str, Any], other: dict[str, Any], style: ReplyStyle
) -> None:
    text = json.dumps(one) + '\n' + json.dumps(other)
    if one['action'] != other['action']:
        assert acts(text, style) is None


VIEWS = st.text(
    alphabet=st.characters(exclude_characters='<>◁&\\$~#*@{"\n', categories=['L', 'N', 'P', 'Zs']),
    max_size=40,
) | st.sampled_from(['do not ascend', 'move left', 'stop', 'Action: descend', 'rock 5 m off'])


@st.composite
def marked(draw: st.DrawFn) -> tuple[str, Action, float | None, int]:
    """Return an OceanGym reply, its action, magnitude and number of finds."""
    action = draw(st.sampled_from(ACTION_SETS['oceangym']))
    magnitude = draw(magnitudes(action))
    views = ' '.join(f'{direction.title()}: {draw(VIEWS)}' for direction in DIRECTIONS)
    found = draw(st.booleans())
    block = (
        '$$ Target object found@@@ SUNKEN SHIP, current position [1.0, 2.0, -60.0], camera front '
        f'detected the target object, distance 12 m, direction front {draw(VIEWS)} $$'
        if found
        else f'## Current environment information: {views} ##'
    )
    unit = ' degrees' if action in ROTATIONS else ' m'
    number = '' if magnitude is None else f' {magnitude:.2f}{draw(st.sampled_from(["", unit]))}'
    word = draw(st.sampled_from([str, str.upper, str.title]))(WORDS[action])
    gap = draw(st.sampled_from([' ', '\n', '\n\n']))
    label = draw(st.sampled_from(['', 'Command: ', '**Action:** ']))
    return f'{block}{gap}{label}{word}{number}', action, magnitude, int(found)


@COMMON
@given(marked(), st.sampled_from(['', '```\n', '<think>go up, stop</think>']), STYLES)
def test_valid_markers_survive_their_wrapping(
    case: tuple[str, Action, float | None, int], before: str, style: ReplyStyle
) -> None:
    text, action, magnitude, finds = case
    parsed = parse_reply(before + text, style=style)
    assert parsed.action is action
    assert parsed.magnitude == pytest.approx(magnitude, abs=0.006)
    assert len(parsed.finds) == finds
    check_limits(parsed)


@COMMON
@given(marked(), STYLES, st.data())
def test_a_cut_marker_reply_is_no_other_action(
    case: tuple[str, Action, float | None, int], style: ReplyStyle, data: st.DataObject
) -> None:
    text, action, _, _ = case
    for cut in data.draw(st.lists(st.integers(0, len(text)), min_size=5, max_size=25)):
        parsed = acts(text[:cut], style)
        assert parsed is None or parsed.action is action


@COMMON
@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=300), STYLES)
@example('\ud800\udfff\x00', ReplyStyle.JSON)
def test_any_text_is_a_reply_or_an_error(text: str, style: ReplyStyle) -> None:
    parsed = acts(text, style)
    if parsed is not None:
        check_limits(parsed)


FRAGMENTS = st.sampled_from(
    [
        *(
            '{',
            '}',
            '[',
            ']',
            '(',
            ')',
            '"',
            "'",
            '`',
            '“',
            '”',
            ':',
            ',',
            ';',
            '\\',
            '\\u12',
            '...',
        ),
        *('\n', ' ', '\t', '//', '/*', '*/', '#', '##', '$$', '@@@', '***', '**', '~~', '>', '- '),
        *(
            '```',
            '```json\n',
            '<think>',
            '</think>',
            '<answer>',
            '</answer>',
            '<!--',
            '-->',
            '<b>',
        ),
        *('<|begin_of_box|>', '<|end_of_box|>', '\\boxed{', '\\text{', '$'),
        *(
            '"action"',
            'action',
            'Action',
            '"magnitude"',
            'magnitude',
            '"finds"',
            '"label"',
            'reason',
        ),
        *(
            'up',
            'ascend',
            'move',
            'forward',
            'rotate',
            'left',
            'stop',
            'hold',
            'not',
            "don't",
            'if',
        ),
        *(
            'and',
            'or',
            'then',
            'but',
            'no',
            '5',
            '-5',
            '1e999',
            'NaN',
            'm',
            'degrees',
            'twenty',
            '.',
        ),
        *(
            'null',
            'None',
            'true',
            'Target object found',
            'SUNKEN SHIP',
            'not found',
            'Left:',
            '前进',
        ),
        *(
            'SPECIAL OBJECTS DETECTED:',
            'position',
            '[1, 2, 3]',
            'e.g.',
            '?',
            '!',
            '\ud800',
            '\u200b',
        ),
    ]
)


@settings(COMMON, max_examples=400)
@given(st.lists(FRAGMENTS, max_size=25), st.sampled_from(['', ' ']), STYLES)
def test_any_soup_of_fragments_is_a_reply_or_an_error(
    parts: list[str], joint: str, style: ReplyStyle
) -> None:
    parsed = acts(joint.join(parts), style)
    if parsed is not None:
        check_limits(parsed)


@COMMON
@given(replies(), st.lists(st.tuples(st.integers(0, 2000), FRAGMENTS), max_size=4), STYLES)
def test_damaged_json_is_a_reply_or_an_error(
    reply: dict[str, Any], damage: list[tuple[int, str]], style: ReplyStyle
) -> None:
    text = json.dumps(reply)
    for place, fragment in damage:
        place %= len(text)
        text = text[:place] + fragment + text[place + 1 :]
    parsed = acts(text, style)
    if parsed is not None:
        check_limits(parsed)


@COMMON
@given(replies(), STYLES)
def test_yaml_and_python_spellings_of_a_reply_never_name_another_action(
    reply: dict[str, Any], style: ReplyStyle
) -> None:
    for text in (repr(reply), yaml.safe_dump({'action': reply['action']})):
        parsed = acts(text, style)
        assert parsed is None or parsed.action.value == reply['action']
