"""What holds for every wording: denied, quoted and doubled commands never act; errors help."""

from __future__ import annotations

import itertools
import json
import time
from typing import Any

import pytest

from oceangym_agent.memory.window import command_text
from oceangym_agent.replies import (
    format_instructions,
    parse_reply,
    ParsedReply,
    reply_schema,
    ReplyError,
    ReplyStyle,
)
from oceangym_agent.replies.limits import (
    MAX_ANSWER_CHARS,
    MAX_FINDS,
    MAX_LABEL,
    MAX_MENDED_CHARS,
    MAX_REASON,
    MAX_TEXT,
)
from oceangym_core.contract.actions import Action, ACTION_SETS, Course, DIRECTIONS, STRAIGHT
from oceangym_core.record.memory_files import ACTION_WORDS

IMPERATIVES: dict[str, Action] = {
    'ascend 5 m': Action.UP,
    'descend': Action.DOWN,
    'move forward 7.5 metres': Action.FORWARD,
    'move backward': Action.BACKWARD,
    'move left 4': Action.LEFT,
    'move right': Action.RIGHT,
    'rotate left 30 degrees': Action.ROTATE_LEFT,
    'rotate right': Action.ROTATE_RIGHT,
    'hold': Action.HOLD,
    'stop': Action.STOP,
}
DENIALS = (
    'do not {}',
    'Do NOT {}!',
    "don't {}",
    'DON’T {}',
    'dont {}',
    'never {}',
    'I will not {}.',
    "I won't {}",
    'We must not {} here.',
    'You should never {}',
    'cannot {}',
    'I refuse to {}',
    'It is not safe to {}',
    'It is unsafe to {}.',
    'there is no need to {}',
    'not {}',
    'rather than {}',
    'Do not turn around and {}',
    'Do not do this: {}',
    'Never do the following:\n{}',
    'Forbidden:\n- {}',
    'Rejected options:\n1. {}\n2. look around',
    '~~{}~~',
    '❌ {}',
    'I should not\n{}',
    '{} - not allowed',
    '{}: forbidden',
)
REPORTS = (
    'The instruction said "{}"',
    'The instruction said “{}”.',
    "The operator wrote '{}'",
    'The operator told me to {}',
    'the prompt reads `{}`',
    'The user said: {}',
    'User: {}',
    '> {}',
    'Example: {}',
    'Examples:\n- {}',
    'For instance, {}',
    'Previous action: {}',
    'Last command: {}',
    'Options: {}',
    'If it is clear, {}',
    'if so then {}',
    '{} if it is clear',
    'I would {}',
    'I could {} now',
    'We might {}',
    'Perhaps {}',
    'Should I {}?',
    '{}?',
    'Suppose we {}',
    '## Front: a sign that says {} ##',
    '$$ Target object found@@@ SHIP, {} $$',
    '*** SPECIAL OBJECTS DETECTED: {} ***',
    '<think>{}</think>',
    '<!-- {} -->',
    '{{"reason": "{}"}}',
    '{{"environment": {{"front": "{}"}}}}',
    '{{"previous": {{"action": "{}"}}}}',
)
JOINTS = (
    '{} and {}',
    '{}, {}',
    '{} then {}',
    '{}. {}',
    '{}\n{}',
    '- {}\n- {}',
    '{}; {}',
    '{} or {}',
)
FRAMES = (
    '{}',
    '  {}  ',
    '{}.',
    '**{}**',
    '`{}`',
    'Action: {}',
    '**Command:** {}',
    'The slope falls off to the left.\n{}',
    '## Left: sand Right: do not ascend ##\n{}',
    '<think>do not {}</think>{}',
    '<|begin_of_box|>{}<|end_of_box|>',
)
JSON_FRAMES = (
    '{{"action": "{}"}}',
    "{{'action': '{}',}}",
    '```json\n{{"action": "{}"}}\n```',
    'Here is my reply: {{"action": "{}", "reason": "he said "stop" to me"}} Thanks!',
)


def acts(
    text: str, style: ReplyStyle = ReplyStyle.MARKERS, actions: str = 'oceangym'
) -> ParsedReply | None:
    try:
        return parse_reply(text, style=style, actions=actions)
    except ReplyError:
        return None


def phrased(template: str, phrase: str) -> str:
    return template.format(*[phrase] * template.replace('{{', '').count('{}'))


@pytest.mark.parametrize('case', [str, str.upper, str.title])
def test_each_command_acts_in_each_frame(case: Any) -> None:
    for frame, (phrase, action) in itertools.product(FRAMES, IMPERATIVES.items()):
        reply = acts(phrased(frame, case(phrase)))
        assert reply is not None, phrased(frame, phrase)
        assert reply.action is action, phrased(frame, phrase)
    for frame, action in itertools.product(JSON_FRAMES, ACTION_SETS['oceangym']):
        for word in (action.value, ACTION_WORDS[action] or 'hold'):
            reply = acts(phrased(frame, case(word)))
            assert reply is not None and reply.action is action, phrased(frame, word)


@pytest.mark.parametrize('template', DENIALS)
def test_what_is_denied_never_acts(template: str) -> None:
    for phrase in IMPERATIVES:
        text = phrased(template, phrase)
        assert acts(text) is None, text
        assert acts(json.dumps({'action': text})) is None, text


@pytest.mark.parametrize('template', REPORTS)
def test_what_is_reported_or_supposed_never_acts(template: str) -> None:
    for phrase in IMPERATIVES:
        text = phrased(template, phrase)
        assert acts(text) is None, text


@pytest.mark.parametrize('joint', JOINTS)
def test_two_different_commands_never_act(joint: str) -> None:
    for (one, first), (two, second) in itertools.permutations(IMPERATIVES.items(), 2):
        if first is not second:
            text = joint.format(one, two)
            assert acts(text) is None, text
            assert acts(json.dumps({'action': text})) is None, text


@pytest.mark.parametrize('style', list(ReplyStyle))
@pytest.mark.parametrize(
    'text',
    [
        '',
        'ascend then descend',
        'move forward -5 m',
        '{"action": 7}',
        '{"action": "fly"}',
        'x' * 999_999,
    ],
)
@pytest.mark.parametrize('actions', ACTION_SETS)
def test_an_error_tells_the_model_what_is_allowed(
    text: str, style: ReplyStyle, actions: str
) -> None:
    with pytest.raises(ReplyError) as caught:
        parse_reply(text, style=style, actions=actions)
    message = str(caught.value)
    assert len(message) < 2000
    assert 'Example' in message
    words = [style.word(action) for action in ACTION_SETS[actions]]
    assert all(word in message for word in words)
    assert ('altitude' in message) is (actions == 'extended')


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('ascend then descend', 'last line is not one command alone'),
        ('I could ascend.\ndescend', 'says more than what is seen'),
        ('move forward -5 m', 'negative (-5)'),
        ('move forward 0', 'is 0'),
        ('rotate left 10 m', "is '10 m'; give one number of degrees"),
        ('move forward 2000 m', 'at most 1000'),
        ('move forward 5 m, turn 30 deg', 'more than move forward'),
        ('{"action": "fly"}', "'fly'"),
        ('{"action": "up", "magnitude": "much"}', "'much'"),
        ('{"action": "up", "magnitude": 3, "distance": 5}', 'several magnitudes'),
        ('{"action": "up", "args": {"steps": 3}}', "under 'args'"),
        ('{"action": "up", "Action": "down"}', 'gives "action" twice'),
        ('{"action": "up"} {"action": "down"}', '2 different commands (down, up)'),
        ('{"environment": {}, "reason": "x"}', 'no key "action"'),
        ('{"environment": {"front": "sa', 'breaks off'),
        ('', 'no answer'),
    ],
)
def test_an_error_says_what_was_wrong(text: str, part: str) -> None:
    with pytest.raises(ReplyError) as caught:
        parse_reply(text, style=ReplyStyle.JSON)
    assert part in str(caught.value)


@pytest.mark.parametrize('style', list(ReplyStyle))
@pytest.mark.parametrize('actions', ACTION_SETS)
def test_reading_the_instructions_or_an_error_back_does_not_act(
    style: ReplyStyle, actions: str
) -> None:
    assert acts(format_instructions(style, actions), style, actions) is None
    with pytest.raises(ReplyError) as caught:
        parse_reply('', style=style, actions=actions)
    assert acts(str(caught.value), style, actions) is None
    assert acts(json.dumps(reply_schema(actions)), style, actions) is None


@pytest.mark.parametrize('actions', ACTION_SETS)
def test_the_schema_is_strict_and_names_every_action_and_view(actions: str) -> None:
    schema = reply_schema(actions)

    def check(part: dict[str, Any]) -> None:
        if part.get('type') == 'object':
            assert part['required'] == list(part['properties'])
            assert part['additionalProperties'] is False
            for inner in part['properties'].values():
                check(inner)
        if 'items' in part:
            check(part['items'])

    check(schema)
    assert list(schema['properties']) == [
        'environment',
        'special_objects',
        'finds',
        'action',
        'magnitude',
        *(['turn_deg', 'climb_m', 'altitude_m'] if actions == 'extended' else []),
        'reason',
    ]
    assert schema['properties']['action']['enum'] == [a.value for a in ACTION_SETS[actions]]
    assert list(schema['properties']['environment']['properties']) == list(DIRECTIONS)
    json.dumps(schema)


@pytest.mark.parametrize(
    ('text', 'magnitude', 'course'),
    [
        (
            '{"action": "go", "magnitude": 18, "turn_deg": -30, "climb_m": null, "altitude_m": 8}',
            18.0,
            Course(turn_deg=-30.0, altitude_m=8.0),
        ),
        (
            '{"action": "go", "magnitude": null, "climb_m": -4, "turn_deg": 0}',
            None,
            Course(climb_m=-4),
        ),
        (
            '{"name": "decide", "arguments": {"action": "go", "distance_m": 12, "turn_deg": "45 deg"}}',
            12.0,
            Course(turn_deg=45.0),
        ),
        (
            '## Front: sand ##\ngo 18 m, turn -30 deg, climb 4 m',
            18.0,
            Course(turn_deg=-30, climb_m=4),
        ),
        ('Nothing here.\n`go 12.5 m, altitude 8 m`', 12.5, Course(altitude_m=8.0)),
        ('go', None, STRAIGHT),
    ],
)
@pytest.mark.parametrize('style', list(ReplyStyle))
def test_the_combined_command_is_read_with_extended_actions_only(
    text: str, magnitude: float | None, course: Course, style: ReplyStyle
) -> None:
    reply = parse_reply(text, style=style, actions='extended')
    assert (reply.action, reply.magnitude, reply.course) == (Action.GO, magnitude, course)
    # What a memory shows of the command is what a reply may say.
    shown = command_text(reply.action, reply.magnitude, ReplyStyle.MARKERS, reply.course)
    again = parse_reply(shown, style=ReplyStyle.MARKERS, actions='extended')
    assert (again.magnitude or 20.0, again.course) == (magnitude or 20.0, course)
    with pytest.raises(ReplyError):
        parse_reply(text, style=style)


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('{"action": "go", "climb_m": 2, "altitude_m": 8}', 'climb_m or altitude_m, not both'),
        ('{"action": "go", "altitude_m": 1}', 'allowed: 3 .. 50'),
        ('{"action": "go", "turn_deg": "left"}', '"turn_deg" is not a number'),
        (
            '{"action": "go", "turn_deg": 10} {"action": "go", "turn_deg": 20}',
            '2 different commands',
        ),
        ('{"action": "go", "magnitude": 0}', 'is 0'),
        ('{"action": "forward", "turn_deg": 20}', 'turn_deg is for the action go'),
        ('move forward 5 m\ngo 5 m', 'says more than what is seen'),
        ('go 5 m, altitude 60 m', 'allowed: 3 .. 50'),
    ],
)
def test_a_course_that_cannot_be_flown_is_asked_for_again(text: str, part: str) -> None:
    with pytest.raises(ReplyError) as caught:
        parse_reply(text, style=ReplyStyle.JSON, actions='extended')
    assert part in str(caught.value)
    # With the paper's moves such keys are as unknown as any other.
    if '"forward"' in text:
        assert parse_reply(text, style=ReplyStyle.JSON).course == STRAIGHT


def test_a_find_keeps_what_is_known_of_it() -> None:
    reply = parse_reply(
        json.dumps(
            {
                'finds': [
                    {
                        'label': 'SUNKEN SHIP',
                        'position': [12.5, -3, '-60 m'],
                        'range_m': '12 m',
                        'bearing_deg': '-30 deg',
                        'direction': 'Front camera',
                        'text': 'a hull; the stern is not visible',
                    },
                    {
                        'label': 'OIL DRUM',
                        'position': {'x': 1, 'y': 2, 'z': 3},
                        'bearing_deg': 350,
                    },
                    {'label': 'CABLE', 'position': [1, 2], 'range_m': -4, 'bearing_deg': 1e9},
                ],
                'action': 'hold',
            }
        ),
        style=ReplyStyle.JSON,
    )
    ship, drum, cable = reply.finds
    assert ship.label == 'SUNKEN SHIP'
    assert ship.position == (12.5, -3, -60)
    assert (ship.range_m, ship.bearing_deg, ship.direction) == (12, -30, 'front')
    assert ship.text == 'a hull; the stern is not visible'
    assert (drum.position, drum.bearing_deg) == ((1, 2, 3), -10)
    assert (cable.position, cable.range_m, cable.bearing_deg) == (None, None, None)


def test_a_marker_find_keeps_what_is_known_of_it() -> None:
    reply = parse_reply(
        '$$ Target object found@@@ H-MARKED LANDING PLATFORM, current position [1.0, 2.0, -63.0], '
        'camera down detected the target object, distance about 12.5 m, bearing 20 degrees to '
        'port, estimated position [10, -20.5, -75] $$\ndescend 5 m',
        style=ReplyStyle.MARKERS,
    )
    (find,) = reply.finds
    assert find.label == 'H-MARKED LANDING PLATFORM'
    # "Current position" is the vehicle's.
    assert find.position == (10, -20.5, -75)
    assert (find.range_m, find.bearing_deg, find.direction) == (12.5, 20, 'down')
    assert (reply.action, reply.magnitude) == (Action.DOWN, 5)


def test_the_vehicles_own_position_is_not_taken_for_the_targets() -> None:
    reply = parse_reply(
        '$$ Target object found@@@ OIL DRUM, current position [1, 2, -3], camera front detected '
        'the target object, distance 8 m, direction front $$ hold',
        style=ReplyStyle.MARKERS,
    )
    (find,) = reply.finds
    assert find.position is None
    assert (find.range_m, find.direction) == (8, 'front')


def test_every_field_is_cut_to_its_limit() -> None:
    long = 'x y ' * 3000
    reply = parse_reply(
        json.dumps(
            {
                'environment': {'front': long, 'north': 'ignored'},
                'special_objects': [f'object {i}' for i in range(500)],
                'finds': [{'label': f'{i} {long}'[:200], 'text': 'z' * 600} for i in range(40)],
                'action': 'up',
                'magnitude': 2,
                'reason': long,
            }
        ),
        style=ReplyStyle.JSON,
    )
    assert set(reply.environment) == {'front'}
    assert len(reply.environment['front']) <= MAX_TEXT
    assert len(reply.special_objects) == 32
    assert len(reply.finds) == MAX_FINDS
    assert all(len(f.label) <= MAX_LABEL and len(f.text) <= MAX_TEXT for f in reply.finds)
    assert len(reply.reason) <= MAX_REASON


def test_surrogates_and_controls_do_not_leave_the_parser() -> None:
    reply = parse_reply(
        '{"action": "up", "reason": "a\\ud800b\\u0000c\ud83dd\\ud83d\\ude00", "finds": ["S\udfffHIP"]}',
        style=ReplyStyle.JSON,
    )
    said = reply.reason + reply.finds[0].label
    said.encode('utf-8')
    assert said == 'a b c d😀S HIP'


UNITS = (
    *(
        '{',
        '[',
        '{"a":',
        '{"a": [',
        '{"action": "up", "x": [{',
        '{"a": "x ',
        "{'",
        '{"a": 1} ',
        '{"action": ',
    ),
    *(
        '"" ',
        '“',
        'ascend, ',
        'do not ascend. ',
        '#',
        '$',
        '*',
        '## ',
        '$$ ',
        '*** SPECIAL OBJECTS DETECTED: ',
    ),
    *(
        '$$ target object ',
        '<think>',
        '<answer>',
        'Action: ',
        '- option:\n',
        'a' * 30 + ' ',
        '(1, 2, 3), ',
    ),
    *('camera front ', 'distance ', '{"a": {}} junk { ', '[1, '),
)


def test_no_text_takes_long() -> None:
    """The slowest takes 0.3 s on one core; quadratic patterns take minutes at this length."""
    started = time.process_time()
    for unit in UNITS:
        acts((unit * MAX_ANSWER_CHARS)[:MAX_ANSWER_CHARS])
        acts('{"action": "up", ' + (unit * MAX_ANSWER_CHARS)[:MAX_MENDED_CHARS] + '}')
    assert time.process_time() - started < 120.0


@pytest.mark.timeout(60)
def test_ten_megabytes_are_refused_without_being_read() -> None:
    for unit in ('{"action": "up"}', 'ascend ', '\n{', '<think>ascend</think>'):
        text = unit * (10_000_000 // len(unit))
        assert acts(text) is None
