"""Endpoints and their quirks in whole short episodes, over HTTP: what each makes the vehicle do."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib.util import module_from_spec, spec_from_file_location
import json
from pathlib import Path
import re
import subprocess
import sys
import tempfile
import time
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

import cv2
import numpy as np
import pytest

from oceangym_agent.agent import GoalView, StatusView
from oceangym_agent.agents.mllm import MllmAgent
from oceangym_agent.agents.mllm_parts import model_parts
from oceangym_agent.chat import (
    ChatMessage,
    ChatRequest,
    ModelUnavailable,
    NoReply,
    Role,
    TextPart,
)
from oceangym_agent.models.client import LAST_DELAY_S, make_model
from oceangym_agent.models.presets import load_preset, ModelPreset
from oceangym_agent.models.probe import probe, ProbeResult
from oceangym_agent.models.rate_limit import RateLimiter
from oceangym_agent.scripted_models.faults import Fault, FaultKind
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_agent.trace import read_trace, TraceCall
from oceangym_core.assets import assets_root
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision
from oceangym_core.contract.observation import NavigationState, Observation
from oceangym_core.geometry import Pose

STEPS = 3
DEADLINE_S = 180.0
KEY = 'sk-planted-0123456789abcdef'
PRESET = load_preset('gpt-4o').model_copy(update={'max_output_tokens': 777})
GOAL = GoalView(
    task_id='search_ship',
    instruction='Find the wreck.',
    target_label='SUNKEN SHIP',
    target_description='A wooden ship.',
    reference_image=None,
    bounds=((-200.0, -400.0), (650.0, -400.0), (650.0, 250.0), (-200.0, 250.0)),
    z_min=-100.0,
    z_max=5.0,
    t_max=90.0,
    t_interval=30.0,
    target_count=1,
)
REPLY = json.dumps({'action': 'forward', 'magnitude': 12.0, 'reason': 'onwards', 'finds': []})
MARKED = '## Front: sand ##\nmove forward 12 m'

Answer = 'str | Fault'
Script = Callable[[Mapping[str, Any], int], 'str | Fault']


class Outcome(Enum):
    """What a quirk of the first answer comes to."""

    FLOWN = 'flown'  # as if there were none
    WAITED = 'waited'  # flown after asking again, and no reply counts as invalid
    EDITED = 'edited'  # flown after asking differently, for the rest of the episode
    REASKED = 'reasked'  # counts as an invalid reply and is not flown; lasting, the vehicle holds
    REFUSED = 'refused'  # the episode ends as an error with advice, nothing is asked again


@dataclass(frozen=True, kw_only=True)
class Case:
    """A quirk.

    Attributes:
        answers: The quirk, once or several times; good replies follow.
        outcome: Of the episode.
        wait_s: Least and most time waited [s], None where it is not the point.
        says: Pattern of the error, or of the notes or problems in the record.
        script: In place of `answers`, for what depends on the request.
        url: Of the endpoint, given the server's.
        style: Of the replies.
    """

    answers: Sequence[str | Fault] = ()
    outcome: Outcome
    wait_s: tuple[float, float] | None = None
    says: str = ''
    script: Script | None = None
    url: Callable[[str], str] = lambda url: url
    style: str = 'json'
    options: Mapping[str, Any] = field(default_factory=dict)


def http(status: int, body: Any, headers: Mapping[str, str] | None = None, **more: Any) -> Fault:
    """A response with this body instead of a completion."""
    return Fault(
        kind=FaultKind.RESPONSE, status=status, body=lambda _: body, headers=headers or {}, **more
    )


def error(status: int, message: str, code: Any = None, **headers: str) -> Fault:
    """An error as OpenAI's API words it."""
    names = {name.replace('_', '-'): value for name, value in headers.items()}
    return http(status, {'error': {'message': message, 'type': 'error', 'code': code}}, names)


def changed(content_type: str = 'application/json', **choice: Any) -> Fault:
    """A completion whose choice is changed; `message` and `usage` are merged in."""
    message, usage = choice.pop('message', {}), choice.pop('usage', {})

    def body(completion: dict[str, Any]) -> Any:
        first = completion['choices'][0]
        first = {**first, 'message': {**first['message'], 'content': REPLY, **message}, **choice}
        return {**completion, 'choices': [first], 'usage': {**completion['usage'], **usage}}

    return Fault(kind=FaultKind.RESPONSE, body=body, content_type=content_type)


def google(quota: str, delay: str) -> Fault:
    """A 429 of Gemini's OpenAI-compatible endpoint: a list, with the wait in RetryInfo."""
    words = 'You exceeded your current quota, please check your plan and billing details.'
    details = [
        {
            '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
            'violations': [{'quotaId': quota}],
        },
        {'@type': 'type.googleapis.com/google.rpc.RetryInfo', 'retryDelay': delay},
    ]
    body = {'code': 429, 'message': words, 'status': 'RESOURCE_EXHAUSTED', 'details': details}
    return http(429, [{'error': body}])


def events(*deltas: Mapping[str, Any], end: str = 'data: [DONE]\n\n', line: str = '\n') -> Fault:
    """A stream of server-sent events."""
    chunks = [{'choices': [{'index': 0, 'delta': d}], 'model': 'm'} for d in deltas[:-1]]
    last = {'choices': [{'index': 0, 'delta': deltas[-1], 'finish_reason': 'stop'}]}
    chunks.append(last if end else {'choices': [{'index': 0, 'delta': deltas[-1]}]})
    text = ': PROCESSING\n\n' + ''.join(f'data: {json.dumps(c)}\n\n' for c in chunks) + end
    return http(200, text.replace('\n', line), content_type='text/event-stream')


HALVES = ({'role': 'assistant', 'content': REPLY[:20]}, {'content': REPLY[20:]})
TOOL = {'id': 'a', 'type': 'function', 'function': {'name': 'move', 'arguments': REPLY}}


def refusing(parameter: str, response: Callable[[Any], Fault]) -> Script:
    """An endpoint that refuses a parameter as long as it is sent."""
    return lambda body, _: response(body[parameter]) if parameter in body else REPLY


def unsupported(parameter: str) -> Callable[[Any], Fault]:
    """OpenAI's refusal of a parameter."""
    message = f"Unsupported parameter: '{parameter}' is not supported with this model."
    body = {'message': message, 'param': parameter, 'code': 'unsupported_parameter'}
    return lambda _: http(400, {'error': body})


def no_schema(value: Mapping[str, Any]) -> Fault:
    """A server that knows no response formats at all, and says so for each kind."""
    return http(400, {'error': {'message': f'{value["type"]} is not supported by this model'}})


FLOWN, WAITED, EDITED = Outcome.FLOWN, Outcome.WAITED, Outcome.EDITED
REASKED, REFUSED = Outcome.REASKED, Outcome.REFUSED
# Longer than three attempts with their waits of at most 3.5 s.
LONG = (10.0, 6 * LAST_DELAY_S)

CASES: dict[str, Case] = {
    # ---- no room now: asked until the deadline
    '429 without a hint, often': Case(
        answers=[Fault(kind=FaultKind.RATE_LIMIT)] * 6, outcome=WAITED, wait_s=LONG
    ),
    '503, often': Case(
        answers=[Fault(kind=FaultKind.OVERLOADED)] * 6, outcome=WAITED, wait_s=LONG
    ),
    '529, often': Case(
        answers=[http(529, {'type': 'error', 'error': {'type': 'overloaded_error'}})] * 6,
        outcome=WAITED,
        wait_s=LONG,
    ),
    '500 that says overloaded, often': Case(
        answers=[error(500, 'The engine is currently overloaded.')] * 6,
        outcome=WAITED,
        wait_s=LONG,
    ),
    'error 429 inside a 200, often': Case(
        answers=[error(200, 'Provider returned error', 429)] * 6, outcome=WAITED, wait_s=LONG
    ),
    'overloaded inside a 200, often': Case(
        answers=[Fault(kind=FaultKind.ERROR_IN_BODY)] * 6, outcome=WAITED, wait_s=LONG
    ),
    '403 that limits the rate': Case(
        answers=[error(403, 'User rate limit exceeded, retry in 5s')],
        outcome=WAITED,
        wait_s=(5, 5),
    ),
    'Retry-After': Case(
        answers=[Fault(kind=FaultKind.RATE_LIMIT, retry_after='7')], outcome=WAITED, wait_s=(7, 7)
    ),
    'RetryInfo in a list': Case(
        answers=[google('GenerateRequestsPerMinutePerProjectPerModel', '8.5s')],
        outcome=WAITED,
        wait_s=(8.5, 8.5),
    ),
    'wait in words': Case(
        answers=[error(429, 'Rate limit reached on tokens per min. Please try again in 1m3.5s.')],
        outcome=WAITED,
        wait_s=(63.5, 63.5),
    ),
    'retry in 8s': Case(
        answers=[http(429, 'quota exceeded; please retry in 8s')], outcome=WAITED, wait_s=(8, 8)
    ),
    'reset header of the limit that is reached': Case(
        answers=[
            error(
                429,
                'Too many requests',
                x_ratelimit_remaining_requests='0',
                x_ratelimit_reset_requests='12s',
                x_ratelimit_remaining_tokens='500',
                x_ratelimit_reset_tokens='2m0s',
            )
        ],
        outcome=WAITED,
        wait_s=(12, 12),
    ),
    'reset header beyond the deadline': Case(
        answers=[error(429, 'Too many requests', x_ratelimit_reset_tokens='6m0s')],
        outcome=WAITED,
        wait_s=(0.3, 0.5),
    ),
    'reset header in seconds since 1970': Case(
        answers=[error(429, 'slow', x_ratelimit_reset=f'{(time.time() + 100) * 1e3:.0f}')],
        outcome=WAITED,
        wait_s=(0.3, 100.0),
    ),
    '429 that lasts': Case(
        answers=[Fault(kind=FaultKind.RATE_LIMIT)] * 1000,
        outcome=REFUSED,
        wait_s=(DEADLINE_S - LAST_DELAY_S, DEADLINE_S),
        says='would be in',
    ),
    'Retry-After beyond the deadline': Case(
        answers=[Fault(kind=FaultKind.RATE_LIMIT, retry_after='3600')],
        outcome=REFUSED,
        wait_s=(0, 0),
        says=r'would be in 3\.6e\+03 s',
    ),
    # ---- nothing left to spend: never asked again
    'no credit': Case(
        answers=[Fault(kind=FaultKind.OUT_OF_CREDIT)], outcome=REFUSED, says='no credit'
    ),
    'quota of a day with a short RetryInfo': Case(
        answers=[google('GenerateRequestsPerDayPerProjectPerModel-FreeTier', '37s')],
        outcome=REFUSED,
        says='quota of a day',
    ),
    'free models per day': Case(
        answers=[error(429, 'Rate limit exceeded: free-models-per-day. Add 10 credits')],
        outcome=REFUSED,
        says='quota of a day',
    ),
    '402': Case(
        answers=[error(402, 'Payment required')],
        outcome=REFUSED,
        says=r'no credit left.*(?<!json_mode)$',
    ),
    '403 for an empty account': Case(
        answers=[http(403, {'code': 30001, 'message': 'Sorry, your balance is insufficient'})],
        outcome=REFUSED,
        says='no credit left',
    ),
    # ---- wrong settings: said with their remedy
    '401': Case(answers=[Fault(kind=FaultKind.AUTH)], outcome=REFUSED, says='OPENAI_API_KEY'),
    '403': Case(answers=[Fault(kind=FaultKind.FORBIDDEN)], outcome=REFUSED, says='OPENAI_API_KEY'),
    'no such model': Case(
        answers=[Fault(kind=FaultKind.NOT_FOUND)], outcome=REFUSED, says="the model 'gpt-4o'"
    ),
    'address without /v1': Case(
        outcome=REFUSED,
        url=lambda url: url.removesuffix('/v1'),
        says=r'base_url:=http://127\.0\.0\.1:\d+/v1$',
    ),
    '307': Case(answers=[Fault(kind=FaultKind.REDIRECT)], outcome=REFUSED, says='final address'),
    '400 for no parameter': Case(
        answers=[error(400, 'context length exceeded')], outcome=REFUSED, says='compare the preset'
    ),
    # ---- other failures: asked again a bounded number of times
    '500': Case(answers=[Fault(kind=FaultKind.SERVER_ERROR)], outcome=WAITED),
    '500 that lasts': Case(
        answers=[Fault(kind=FaultKind.SERVER_ERROR)] * 9, outcome=REFUSED, says='4 attempts failed'
    ),
    'reset': Case(answers=[Fault(kind=FaultKind.RESET)], outcome=WAITED),
    'reset in the body': Case(answers=[Fault(kind=FaultKind.RESET_MIDWAY)], outcome=WAITED),
    'body cut short': Case(answers=[Fault(kind=FaultKind.TRUNCATED_BODY)], outcome=WAITED),
    'body without end': Case(answers=[Fault(kind=FaultKind.ENDLESS)], outcome=WAITED),
    'HTML page': Case(answers=[Fault(kind=FaultKind.WRONG_CONTENT_TYPE)], outcome=WAITED),
    'HTML page that lasts': Case(
        answers=[Fault(kind=FaultKind.WRONG_CONTENT_TYPE)] * 9,
        outcome=REFUSED,
        says='is base_url the address of the API',
    ),
    'stream cut short': Case(answers=[events(*HALVES, end='')], outcome=WAITED),
    'error beside half an answer': Case(
        answers=[changed(finish_reason='error', error={'code': 502, 'message': 'gone'})],
        outcome=WAITED,
    ),
    # ---- unusual, and whole
    'text/plain': Case(answers=[changed('text/plain')], outcome=FLOWN),
    'no content type': Case(answers=[changed('')], outcome=FLOWN),
    'JSON labelled as events': Case(answers=[changed('text/event-stream')], outcome=FLOWN),
    'byte order mark': Case(
        answers=[
            Fault(kind=FaultKind.RESPONSE, body=lambda c: '\ufeff' + json.dumps(c), text=REPLY)
        ],
        outcome=FLOWN,
    ),
    'events': Case(answers=[events(*HALVES)], outcome=FLOWN),
    'events with CRLF': Case(answers=[events(*HALVES, line='\r\n')], outcome=FLOWN),
    'content in parts': Case(
        answers=[
            changed(
                message={
                    'content': [
                        {'type': 'thinking', 'text': 'ascend'},
                        {'type': 'text', 'text': REPLY},
                    ]
                }
            )
        ],
        outcome=FLOWN,
    ),
    'answer in the reasoning': Case(
        answers=[changed(message={'content': None, 'reasoning_content': REPLY})],
        outcome=FLOWN,
        says='taken from the hidden reasoning',
    ),
    'no usage': Case(
        answers=[Fault(kind=FaultKind.NO_USAGE, text=REPLY)], outcome=FLOWN, says='estimated'
    ),
    'finish reason null': Case(answers=[changed(finish_reason=None)], outcome=FLOWN),
    'finish reason STOP': Case(answers=[changed(finish_reason='STOP')], outcome=FLOWN),
    'prompt cut by the server': Case(
        answers=[changed(usage={'prompt_tokens': 30, 'total_tokens': 40})],
        outcome=FLOWN,
        says='read only part of the prompt',
    ),
    # ---- not whole, or no reply: never flown
    'empty': Case(answers=[Fault(kind=FaultKind.EMPTY)], outcome=REASKED, says='empty'),
    'null': Case(answers=[Fault(kind=FaultKind.NULL)], outcome=REASKED, says='empty'),
    'no choices': Case(answers=[Fault(kind=FaultKind.NO_CHOICES)], outcome=REASKED, says='empty'),
    'cut, though its JSON is whole': Case(
        answers=[changed(finish_reason='length')],
        outcome=REASKED,
        says=r'token limit of 777 .*max_output_tokens',
    ),
    'cut, in markers': Case(
        answers=[changed(finish_reason='max_tokens', message={'content': MARKED})],
        outcome=REASKED,
        style='markers',
        says='max_output_tokens',
    ),
    'cut, by the word of the server behind': Case(
        answers=[changed(native_finish_reason='MAX_TOKENS')],
        outcome=REASKED,
        says='max_output_tokens',
    ),
    'reasoning ate the tokens': Case(
        answers=[
            changed(
                finish_reason='length',
                message={'content': None, 'reasoning_content': REPLY},
                usage={'completion_tokens_details': {'reasoning_tokens': 4}},
            )
        ],
        outcome=REASKED,
        says=r'of which 4 went into hidden reasoning \(max_output_tokens',
    ),
    'filtered': Case(answers=[Fault(kind=FaultKind.FILTERED)], outcome=REASKED, says='filter'),
    'filtered after a whole reply': Case(
        answers=[changed(finish_reason='content_filter')], outcome=REASKED, says='filter'
    ),
    'refusal': Case(answers=[Fault(kind=FaultKind.REFUSAL)], outcome=REASKED, says='refusal'),
    'tool call beside a reply': Case(
        answers=[changed(message={'tool_calls': [TOOL]})], outcome=REASKED, says='calls a tool'
    ),
    'tool call alone': Case(
        answers=[
            changed(finish_reason='tool_calls', message={'content': None, 'tool_calls': [TOOL]})
        ],
        outcome=REASKED,
        says='calls a tool',
    ),
    'finish reason that nobody knows': Case(
        answers=[changed(finish_reason='insufficient_system_resource')],
        outcome=REASKED,
        says='insufficient_system_resource',
    ),
    'half of the JSON': Case(
        answers=[REPLY[: len(REPLY) // 3]], outcome=REASKED, says='breaks off'
    ),
    'a mebibyte': Case(
        answers=[Fault(kind=FaultKind.HUGE, text=REPLY)], outcome=REASKED, says='characters'
    ),
    'repetition': Case(
        answers=[changed(message={'content': '699 ' * 2000})],
        outcome=REASKED,
        says='not one command alone',
    ),
    # ---- parameters that are refused: left out from then on
    'max_tokens refused': Case(
        script=refusing('max_tokens', unsupported('max_tokens')),
        outcome=EDITED,
        says='max_tokens was sent as max_completion_tokens',
    ),
    'temperature refused': Case(
        script=refusing('temperature', unsupported('temperature')),
        outcome=EDITED,
        says='temperature was left out',
    ),
    'temperature of zero refused': Case(
        script=refusing(
            'temperature', lambda _: http(400, 'temperature must be strictly positive')
        ),
        outcome=EDITED,
        says='temperature was left out',
    ),
    'seed refused by validation': Case(
        script=refusing(
            'seed',
            lambda _: http(
                422,
                {'detail': [{'loc': ['body', 'seed'], 'msg': 'Extra inputs are not permitted'}]},
            ),
        ),
        outcome=EDITED,
        says='seed was left out',
    ),
    'response formats refused': Case(
        script=refusing('response_format', no_schema),
        outcome=EDITED,
        says='any JSON object.*response_format was left out',
    ),
    'max_tokens above what the model has': Case(
        answers=[
            error(400, 'max_tokens is too large: 777. Invalid: this model supports at most 100.')
        ],
        outcome=REFUSED,
        says='compare the preset',
    ),
}


@dataclass(frozen=True, kw_only=True)
class Flight:
    """What an episode left."""

    decisions: tuple[Decision, ...]
    error: str
    waits: tuple[float, ...]
    bodies: tuple[Any, ...]
    calls: tuple[TraceCall, ...]


def observation(index: int) -> Observation:
    """The view after `index` maneuvers of 12 m along x."""
    navigation = NavigationState(
        stamp=30.0 * index,
        pose=Pose.from_euler((10.0 + 12.0 * index, -20.0, -50.0), 0.0, 0.0, 0.0),
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.001, 0.001, 0.001),
        depth=50.0,
        altitude=12.0,
        battery=0.9,
    )
    return Observation(
        index=index,
        stamp=30.0 * index,
        navigation=navigation,
        cameras={'front': np.full((24, 32, 3), 40, np.uint8)},
    )


def fly(case: Case, script: Script, directory: Path) -> Flight:
    """Fly an episode of three decisions on a clock of its own."""
    now, waits = 0.0, []

    def wait(duration: float) -> bool:
        nonlocal now
        now += duration
        waits.append(duration)
        return False

    options = RunOptions(agent='scripted', reply=case.style, decision_deadline=DEADLINE_S)
    decisions: list[Decision] = []
    message = ''
    with ScriptedModelServer(script=script, key=KEY) as server:
        parts = model_parts(options, directory)
        parts.close()
        model = make_model(
            PRESET,
            base_url=case.url(server.url),
            max_retries=options.max_retries,
            budget=parts.budget,
            environ={'OPENAI_API_KEY': KEY},
            clock=lambda: now,
            wait=wait,
        )
        agent = MllmAgent(replace(parts, model=model, close=model.close), clock=lambda: now)
        try:
            agent.begin(GOAL)
            for index in range(STEPS):
                status = StatusView(elapsed=30.0 * index, remaining=90.0 - 30.0 * index)
                decisions.append(agent.decide(observation(index), status).decision)
        except NoReply as lost:
            message = str(lost)
        finally:
            agent.close()
        bodies = tuple(request.body for request in server.requests)
    assert KEY not in (directory / 'trace.jsonl').read_text() + message
    calls = tuple(call for step in read_trace(directory) for call in step.calls)
    return Flight(
        decisions=tuple(decisions), error=message, waits=tuple(waits), bodies=bodies, calls=calls
    )


@pytest.mark.parametrize('case', [pytest.param(case, id=name) for name, case in CASES.items()])
def test_a_quirk_in_an_episode(tmp_path: Path, case: Case) -> None:
    good = REPLY if case.style == 'json' else MARKED
    count = len(case.answers)
    script = case.script or (lambda body, n: case.answers[n] if n < count else good)
    flight = fly(case, script, tmp_path)
    waited = sum(flight.waits)
    if case.wait_s is not None:
        assert case.wait_s[0] - 1e-6 <= waited <= case.wait_s[1] + 1e-6
    said = ' '.join(
        [
            flight.error,
            *(c.reply.problem for c in flight.calls if c.reply),
            *(c.error for c in flight.calls if c.error),
            *(note for d in flight.decisions for note in d.notes),
        ]
    )
    assert re.search(case.says, said)
    assert all('stream' in body and not body['stream'] for body in flight.bodies)
    if case.outcome is REFUSED:
        assert flight.error
        assert flight.decisions == ()
        return
    assert flight.error == ''
    assert [d.action for d in flight.decisions] == [Action.FORWARD] * STEPS
    assert [d.magnitude for d in flight.decisions] == [12.0] * STEPS
    invalid = sum(d.invalid_replies for d in flight.decisions)
    assert invalid == (count if case.outcome is REASKED else 0)
    if case.outcome is EDITED:
        # Refused once or twice, in the first call of the episode and never again.
        refused = len(flight.bodies) - STEPS
        assert refused in (1, 2)
        assert all(d.notes for d in flight.decisions)
        edited = [set(body) for body in flight.bodies[refused:]]
        assert all(names == edited[0] != set(flight.bodies[0]) for names in edited)
    else:
        assert len(flight.bodies) == STEPS + (0 if case.outcome is FLOWN else count)
    if case.outcome is WAITED:
        assert len(flight.waits) == count
    if case.outcome is REASKED:
        # Nothing is waited for, and the model is told what was wrong.
        assert flight.waits == ()
        assert str(flight.calls[0].error).split('.')[1] in json.dumps(
            flight.bodies[1], ensure_ascii=False
        )


NEVER_FLOWN = [name for name, case in CASES.items() if case.outcome is REASKED]


@pytest.mark.parametrize('name', NEVER_FLOWN)
def test_a_quirk_that_lasts_means_hold_to_the_end(tmp_path: Path, name: str) -> None:
    case = CASES[name]
    flight = fly(case, lambda body, n: case.answers[0], tmp_path)
    assert flight.error == ''
    assert [d.action for d in flight.decisions] == [Action.HOLD] * STEPS
    assert [d.invalid_replies for d in flight.decisions] == [3] * STEPS
    # What was paid for is on record.
    tokens = sum(d.tokens_in + d.tokens_out for d in flight.decisions)
    assert tokens == sum(c.reply.tokens_in + c.reply.tokens_out for c in flight.calls if c.reply)
    assert tokens > 0


# ------------------------------------------------------------------ one question before a series


def probed(script: Script, preset: ModelPreset = PRESET) -> ProbeResult:
    """Probe a server that answers like this."""
    with ScriptedModelServer(script=script, key=KEY) as server:
        return probe(
            preset,
            base_url=server.url,
            environ={'OPENAI_API_KEY': KEY},
            clock=lambda: 0.0,
            wait=lambda duration: False,
        )


def test_a_probe_sends_one_small_image_and_counts_what_it_took() -> None:
    def say(body: Mapping[str, Any], number: int) -> str:
        (message,) = body['messages']
        url = message['content'][1]['image_url']['url']
        image = cv2.imdecode(np.frombuffer(base64.b64decode(url.partition(',')[2]), np.uint8), 1)
        assert image is not None
        blue, green, red = image.reshape(-1, 3).mean(axis=0)
        assert red > 200 and max(green, blue) < 30 and image.shape == (64, 64, 3)
        return '{"colour": "Red"}'

    result = probed(say)
    assert result.ok and result.warnings == ()
    assert result.tokens_in > 85 and result.tokens_out > 0
    price = (result.tokens_in * PRESET.price_in + result.tokens_out * PRESET.price_out) / 1e6
    assert result.cost == pytest.approx(price) and price > 0


@pytest.mark.parametrize(
    ('script', 'warning'),
    [
        (lambda body, n: '{"colour": "blue"}', 'image was not seen'),
        (lambda body, n: 'It is red.', 'no JSON object'),
        (refusing('seed', unsupported('seed')), 'seed was left out'),
    ],
)
def test_a_probe_tells_what_to_know_before_paying(script: Script, warning: str) -> None:
    result = probed(script)
    assert result.ok and warning in ' '.join(result.warnings)


@pytest.mark.parametrize(
    ('answer', 'problem'),
    [
        (Fault(kind=FaultKind.AUTH), 'OPENAI_API_KEY'),
        (Fault(kind=FaultKind.OUT_OF_CREDIT), 'no credit'),
        (changed(finish_reason='length'), 'max_output_tokens'),
        (changed(message={'tool_calls': [TOOL]}), 'calls a tool'),
    ],
)
def test_a_probe_finds_what_makes_runs_worthless(answer: Fault, problem: str) -> None:
    result = probed(lambda body, n: answer)
    assert not result.ok and problem in result.problem and KEY not in repr(result)


# ------------------------------------------------------------------ a limit that workers share


WORKER = """
import json, pathlib, sys
from oceangym_agent.models.rate_limit import RateLimiter
# Ten requests a minute; time stands still.
limiter = RateLimiter(pathlib.Path(sys.argv[1]), requests_per_minute=10.0, clock=lambda: 1000.0)
print(json.dumps([limiter.take(longest_s=1e6) for _ in range(20)]))
"""


def test_workers_in_several_processes_share_one_limit(tmp_path: Path) -> None:
    command = [sys.executable, '-c', WORKER, str(tmp_path / 'limit')]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    taken = sorted(wait for w in workers for wait in json.loads(w.communicate()[0]))
    assert taken == pytest.approx([6.0 * k for k in range(40)])


def test_a_limit_gives_no_turn_beyond_the_deadline_or_while_it_is_held(tmp_path: Path) -> None:
    now = 1000.0
    limiter, other = (
        RateLimiter(tmp_path / 'limit', requests_per_minute=10.0, clock=lambda: now)
        for _ in range(2)
    )
    assert [limiter.take(longest_s=5.0), other.take(longest_s=5.0)] == [0.0, None]
    # The turn that was too late for one worker is left to the next.
    assert other.take(longest_s=6.0) == pytest.approx(6.0)
    limiter.hold(30.0)
    assert other.take(longest_s=100.0) == pytest.approx(30.0)
    now = 2000.0
    assert other.take(longest_s=0.0) == 0.0
    # A state from the future is not believed.
    (tmp_path / 'limit').write_text('1e12')
    assert limiter.take(longest_s=0.0) == 0.0


def test_a_model_waits_for_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('TMPDIR', str(tmp_path))
    monkeypatch.setattr(tempfile, 'tempdir', None)
    waits: list[float] = []
    preset = PRESET.model_copy(update={'requests_per_minute': 1.0})
    request = ChatRequest(messages=(ChatMessage(role=Role.USER, parts=(TextPart(text='Hi'),)),))
    with (
        ScriptedModelServer(script=lambda body, n: REPLY) as server,
        make_model(
            preset,
            base_url=server.url,
            environ={'OPENAI_API_KEY': KEY},
            wait=lambda duration: waits.append(duration) or False,
        ) as model,
    ):
        for _ in range(2):
            model.complete(request, deadline_s=600.0)
        with pytest.raises(ModelUnavailable, match='requests_per_minute'):
            model.complete(request, deadline_s=30.0)
    assert len(waits) == 1 and 30.0 < waits[0] <= 60.0


# ------------------------------------------------------------------ a person as the endpoint


def test_a_prompt_is_answered_by_hand_over_http(tmp_path: Path) -> None:
    path = assets_root() / 'scripts' / 'answer_by_hand.py'
    spec = spec_from_file_location('answer_by_hand', path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    server = module.Server()
    url = f'http://127.0.0.1:{server.server_address[1]}'
    pages: list[str] = []

    def person() -> None:
        """Read the page until there is a prompt, and answer a misunderstanding and a command."""
        for text in ('Where am I?', 'move forward 12 m'):
            while '<form' not in (page := urlopen(f'{url}/').read().decode()):
                time.sleep(0.01)
            pages.append(page)
            number = re.search(r'name="number" value="(\d+)"', page)
            assert number is not None
            form = urlencode({'number': number[1], 'text': text})
            urlopen(f'{url}/reply', data=form.encode()).read()

    with server, ThreadPoolExecutor(2) as threads:
        threads.submit(server.serve_forever)
        answering = threads.submit(person)
        options = RunOptions(agent='mllm', model='by_hand', base_url=f'{url}/v1')
        agent = MllmAgent.of(options, tmp_path)
        try:
            agent.begin(GOAL)
            turn = agent.decide(observation(0), StatusView(elapsed=0.0, remaining=90.0))
            answering.result()
        finally:
            agent.close()
            server.shutdown()
    assert (turn.decision.action, turn.decision.magnitude) == (Action.FORWARD, 12.0)
    assert turn.decision.invalid_replies == 1
    assert 'SUNKEN SHIP' in pages[0] and pages[0].count('<img src="data:image/png;base64,') == 1
    assert 'not carried out' in pages[1] and 'Where am I?' in pages[1]
