from __future__ import annotations

import base64
from collections.abc import Mapping
import json
from pathlib import Path
import threading
from typing import Any

import pytest
import yaml

from oceangym_agent.chat import (
    BudgetExhausted,
    ChatMessage,
    ChatModel,
    ChatReply,
    ChatRequest,
    ImagePart,
    ModelUnavailable,
    Role,
    TextPart,
)
from oceangym_agent.models.budget import Budget
from oceangym_agent.models.client import make_model
from oceangym_agent.models.presets import load_preset, ModelPreset
from oceangym_agent.models.wire import (
    decode,
    MAX_REPLY_CHARS,
    PROMPT_CUT,
    request_body,
    UnusableReply,
)
from oceangym_agent.scripted_models.faults import Fault, FaultKind
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError

KEY = 'sk-planted-0123456789abcdef'
SCHEMA = {'type': 'object', 'properties': {}, 'required': [], 'additionalProperties': False}
IMAGE = ImagePart(
    name='camera_front', data=b'\xff\xd8image', media_type='image/jpeg', width=64, height=64
)
REQUEST = ChatRequest(
    messages=(
        ChatMessage(role=Role.SYSTEM, parts=(TextPart(text='You pilot a vehicle.'),)),
        ChatMessage(role=Role.USER, parts=(TextPart(text='Front camera'), IMAGE)),
        ChatMessage(role=Role.ASSISTANT, parts=(TextPart(text='hm'),)),
        ChatMessage(role=Role.USER, parts=(TextPart(text='Answer in JSON.'),)),
    ),
    schema=SCHEMA,
)


def say(text: str) -> Any:
    return lambda body, number: text


def changed(tmp_path: Path, name: str, **values: object) -> ModelPreset:
    content = yaml.safe_load((config_path('agents') / f'{name}.yaml').read_text('utf-8'))
    path = tmp_path / 'changed.yaml'
    path.write_text(yaml.safe_dump({**content, **values}), encoding='utf-8')
    return load_preset(str(path))


def ask(preset: ModelPreset, request: ChatRequest = REQUEST) -> tuple[ChatReply, Any]:
    """The reply, and the request as the server received it."""
    with (
        ScriptedModelServer(script=say('{"action": "up"}'), keep_keys=True) as server,
        make_model(preset, base_url=server.url, environ=keys(preset)) as model,
    ):
        reply = model.complete(request, deadline_s=10.0)
        (received,) = server.requests
    return reply, received


def keys(preset: ModelPreset) -> dict[str, str]:
    return {preset.api_key_env: KEY} if preset.api_key_env else {}


def test_the_client_is_a_chat_model() -> None:
    with make_model(load_preset('scripted_patrol')) as model:
        accepted: ChatModel = model
        assert accepted is model


def test_a_request_arrives_as_the_protocol_has_it() -> None:
    reply, received = ask(load_preset('gpt-4o'))
    body = received.body
    assert received.path == '/v1/chat/completions'
    assert received.headers['authorization'] == f'Bearer {KEY}'
    assert [m['role'] for m in body['messages']] == ['system', 'user', 'assistant', 'user']
    assert body['messages'][0]['content'] == 'You pilot a vehicle.'
    text, image = body['messages'][1]['content']
    assert text == {'type': 'text', 'text': 'Front camera'}
    assert image['image_url']['detail'] == 'high'
    head, _, encoded = image['image_url']['url'].partition(',')
    assert head == 'data:image/jpeg;base64'
    assert base64.b64decode(encoded) == IMAGE.data
    assert body['messages'][3]['content'] == 'Answer in JSON.'
    assert body['response_format']['type'] == 'json_schema'
    assert body['response_format']['json_schema']['strict'] is True
    assert body['response_format']['json_schema']['schema'] == SCHEMA
    assert (body['temperature'], body['top_p'], body['max_tokens']) == (0.0, 1.0, 1024)
    assert not body.get('stream')
    assert reply.text == '{"action": "up"}'
    assert reply.model == 'scripted'
    assert reply.finish_reason == 'stop'
    assert reply.retries == 0


def test_the_reply_tells_what_was_sent() -> None:
    reply, _ = ask(load_preset('gpt-4o'))
    assert reply.parameters == {
        'model': 'gpt-4o',
        'max_tokens': 1024,
        'temperature': 0.0,
        'top_p': 1.0,
        'seed': 0,
        'response_format': 'json_schema',
        'image_detail': 'high',
    }
    assert json.dumps(dict(reply.parameters))


def test_a_reasoning_model_is_asked_without_temperature() -> None:
    _, received = ask(load_preset('gpt-5.4-mini'))
    body = received.body
    assert body['reasoning_effort'] == 'low'
    assert body['max_completion_tokens'] == 8192
    assert not {'temperature', 'top_p', 'max_tokens'} & set(body)


def test_members_that_only_one_endpoint_knows_are_sent() -> None:
    reply, received = ask(load_preset('glm-4.5v'))
    assert received.body['thinking'] == {'type': 'disabled'}
    assert received.body['response_format'] == {'type': 'json_object'}
    assert reply.parameters['thinking'] == {'type': 'disabled'}
    assert 'detail' not in received.body['messages'][1]['content'][1]['image_url']


@pytest.mark.parametrize('mode', ['schema', 'object', 'none'])
def test_free_text_is_asked_for_without_a_response_format(tmp_path: Path, mode: str) -> None:
    preset = changed(tmp_path, 'scripted_patrol', json_mode=mode)
    _, received = ask(preset, ChatRequest(messages=REQUEST.messages, schema=None))
    assert 'response_format' not in received.body


def test_no_json_mode_sends_no_response_format(tmp_path: Path) -> None:
    _, received = ask(changed(tmp_path, 'scripted_patrol', json_mode='none'))
    assert 'response_format' not in received.body


def test_account_identifiers_of_openai_reach_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv('OPENAI_ORG_ID', 'org-planted')
    monkeypatch.setenv('OPENAI_PROJECT_ID', 'proj-planted')
    monkeypatch.setenv('OPENAI_BASE_URL', 'http://127.0.0.1:9/v1')
    monkeypatch.setenv('OPENAI_API_KEY', 'sk-of-another-account')
    _, received = ask(load_preset('glm-4.5v'))
    sent = json.dumps(dict(received.headers)) + json.dumps(received.body)
    assert 'planted' not in sent.replace(KEY, '')
    assert 'another-account' not in sent


def test_a_proxy_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ('http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'):
        monkeypatch.setenv(name, 'http://127.0.0.1:9')
    for name in ('no_proxy', 'NO_PROXY'):
        monkeypatch.delenv(name, raising=False)
    with make_model(load_preset('scripted_patrol'), max_retries=0) as model:
        assert model.complete(REQUEST, deadline_s=10.0).text


def test_a_missing_key_is_explained_by_its_variable() -> None:
    with pytest.raises(OceanGymError, match='OPENAI_API_KEY'):
        make_model(load_preset('gpt-4o'), environ={})


@pytest.mark.parametrize('value', [f'{KEY} export', f'{KEY}\n{KEY}', f'{KEY}é', '  '])
def test_a_badly_copied_key_is_refused_without_repeating_it(value: str) -> None:
    with pytest.raises(OceanGymError, match='OPENAI_API_KEY') as caught:
        make_model(load_preset('gpt-4o'), environ={'OPENAI_API_KEY': value})
    assert KEY not in str(caught.value)


def test_a_line_break_after_the_key_does_no_harm() -> None:
    preset = load_preset('gpt-4o')
    with (
        ScriptedModelServer(script=say('{}'), key=KEY) as server,
        make_model(preset, base_url=server.url, environ={'OPENAI_API_KEY': f'{KEY}\n'}) as model,
    ):
        assert model.complete(REQUEST, deadline_s=10.0).text == '{}'


@pytest.mark.parametrize(
    'arguments', [{'call_timeout_s': 0.0}, {'call_timeout_s': float('nan')}, {'max_retries': -1}]
)
def test_arguments_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(OceanGymError, match='must be'):
        make_model(load_preset('scripted_patrol'), **arguments)


@pytest.mark.parametrize(
    'proxy', ['socks5h://me:secret@127.0.0.1:1080', 'socks5://h:1', 'ftp://h']
)
def test_a_proxy_that_cannot_be_used_is_refused_by_its_variable(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv('ALL_PROXY', proxy)
    with pytest.raises(OceanGymError, match=r'ALL_PROXY.*Unset it') as caught:
        make_model(load_preset('gpt-4o'), environ={'OPENAI_API_KEY': KEY})
    assert 'secret' not in str(caught.value)
    assert proxy.partition(':')[0] in str(caught.value)
    # What runs on this machine is reached without one.
    make_model(load_preset('scripted_patrol')).close()


def test_an_address_with_a_password_is_refused_without_repeating_it() -> None:
    with pytest.raises(OceanGymError, match='base_url') as caught:
        make_model(load_preset('scripted_patrol'), base_url=f'http://me:{KEY}@localhost/v1')
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None


def test_too_many_images_are_refused_before_anything_is_sent(tmp_path: Path) -> None:
    preset = changed(tmp_path, 'scripted_patrol', max_images=2)
    message = ChatMessage(role=Role.USER, parts=(IMAGE, IMAGE, IMAGE))
    with (
        ScriptedModelServer(script=say('{}')) as server,
        make_model(preset, base_url=server.url) as model,
    ):
        with pytest.raises(ModelUnavailable, match='3 images') as caught:
            model.complete(ChatRequest(messages=(message,)), deadline_s=5.0)
        assert 'memory_images:=0' in str(caught.value)
        assert server.requests == ()


# ---------------------------------------------------------------- budgets


def test_a_budget_stops_the_call_after_the_one_that_reached_it(tmp_path: Path) -> None:
    preset = changed(tmp_path, 'gpt-4o', price_in=10.0, price_out=100.0)
    budget = Budget(max_cost=0.005)
    with (
        ScriptedModelServer(script=say('x' * 80)) as server,
        make_model(preset, base_url=server.url, budget=budget, environ=keys(preset)) as model,
    ):
        replies = []
        with pytest.raises(BudgetExhausted, match='max_cost:='):
            for _ in range(20):
                replies.append(model.complete(REQUEST, deadline_s=5.0))  # noqa: PERF401
        first = replies[0]
        assert first.tokens_out == 20
        assert first.cost == pytest.approx((first.tokens_in * 10 + 20 * 100) / 1e6)
        assert budget.cost == pytest.approx(sum(r.cost for r in replies))
        assert budget.cost - replies[-1].cost < 0.005 <= budget.cost
        assert server.calls == len(replies) == budget.calls


def billed_error(completion: dict[str, Any]) -> dict[str, Any]:
    """An error that the endpoint counts tokens for."""
    return {**completion, 'error': {'message': 'lost'}}


def test_errors_are_paid_for_where_the_endpoint_counts_them(tmp_path: Path) -> None:
    preset = changed(tmp_path, 'gpt-4o', price_in=10.0, price_out=100.0)
    budget = Budget()
    fault = Fault(kind=FaultKind.RESPONSE, body=billed_error)
    with (
        ScriptedModelServer(script=say('x' * 80), faults={0: fault}) as server,
        make_model(
            preset,
            base_url=server.url,
            budget=budget,
            environ=keys(preset),
            wait=lambda duration: False,
        ) as model,
    ):
        first = model.complete(REQUEST, deadline_s=30.0)
        second = model.complete(REQUEST, deadline_s=30.0)
    assert first.tokens_in == 2 * second.tokens_in
    assert first.tokens_out == 2 * second.tokens_out == 40
    assert '1 unusable' in first.notes[0]
    assert budget.tokens == first.tokens_in + second.tokens_in + 60
    assert budget.cost == pytest.approx(first.cost + second.cost)


def test_a_budget_stops_further_attempts_too(tmp_path: Path) -> None:
    preset = changed(tmp_path, 'gpt-4o')
    with (
        ScriptedModelServer(
            script=say('x'), faults=Fault(kind=FaultKind.RESPONSE, body=billed_error)
        ) as server,
        make_model(
            preset, base_url=server.url, budget=Budget(max_tokens=1), environ=keys(preset)
        ) as model,
    ):
        with pytest.raises(BudgetExhausted, match='max_tokens:='):
            model.complete(REQUEST, deadline_s=30.0)
        assert server.calls == 1


def test_budgets_of_tokens_decisions_and_time() -> None:
    budget = Budget(max_tokens=100, max_decisions=3, max_wall_s=60.0)
    budget.check(decisions=2, wall_s=59.0)
    with pytest.raises(BudgetExhausted, match='max_decisions:='):
        budget.check(decisions=3)
    with pytest.raises(BudgetExhausted, match='max_wall:='):
        budget.check(wall_s=60.0)
    budget.spend(ChatReply(text='', model='m', tokens_in=60, tokens_out=40))
    assert budget.tokens == 100
    with pytest.raises(BudgetExhausted, match='max_tokens:='):
        budget.check()


# ---------------------------------------------------------------- what responses say


def completion(**changes: Any) -> dict[str, Any]:
    message = {'role': 'assistant', 'content': 'up', **changes.pop('message', {})}
    choice = {'index': 0, 'message': message, 'finish_reason': 'stop', **changes.pop('choice', {})}
    usage = {'prompt_tokens': 100, 'completion_tokens': 10, 'total_tokens': 110}
    return {'model': 'm-2026', 'choices': [choice], 'usage': usage, **changes}


def decoded(content: Mapping[str, Any]) -> Any:
    return decode(content, load_preset('gpt-4o'), REQUEST)


def test_hidden_reasoning_is_counted_where_it_is_listed() -> None:
    usage = {
        'prompt_tokens': 100,
        'completion_tokens': 500,
        'total_tokens': 600,
        'completion_tokens_details': {'reasoning_tokens': 450},
    }
    answer = decoded(completion(usage=usage))
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_reasoning) == (100, 500, 450)


def test_hidden_reasoning_is_counted_where_only_the_total_has_it() -> None:
    usage = {'prompt_tokens': 100, 'completion_tokens': 50, 'total_tokens': 600}
    answer = decoded(completion(usage=usage))
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_reasoning) == (100, 500, 450)


@pytest.mark.parametrize(
    'usage',
    [
        None,
        [],
        {},
        {'prompt_tokens': 5},
        {'prompt_tokens': -5, 'completion_tokens': 1},
        {'prompt_tokens': True, 'completion_tokens': 1},
        {'prompt_tokens': '5', 'completion_tokens': 1},
        {'prompt_tokens': float('nan'), 'completion_tokens': 1},
        {'prompt_tokens': 1e300, 'completion_tokens': 1},
    ],
)
def test_missing_or_absurd_usage_is_estimated_and_marked(usage: object) -> None:
    answer = decoded(completion(usage=usage, message={'content': 'x' * 40}))
    assert answer.tokens_in > 100
    assert answer.tokens_out == 10
    assert 'estimated' in answer.notes[0]


def test_content_in_parts_is_joined() -> None:
    parts = [{'type': 'text', 'text': 'go '}, {'type': 'text', 'text': 'up'}, 7, {'text': None}]
    assert decoded(completion(message={'content': parts})).text == 'go up'


def test_half_a_surrogate_pair_can_be_written() -> None:
    text = decoded(completion(message={'content': json.loads('"a\\ud800b"')})).text
    assert text.encode('utf-8') == b'a?b'


def test_a_long_reply_is_cut_and_marked() -> None:
    answer = decoded(completion(message={'content': 'y' * (MAX_REPLY_CHARS + 5)}))
    assert len(answer.text) == MAX_REPLY_CHARS
    assert 'cut' in answer.notes[0]


@pytest.mark.parametrize(
    'content',
    [
        {},
        {'choices': [None]},
        {'choices': [{}]},
        {'choices': [{'message': 'up'}]},
        {'choices': {'0': 1}},
        completion(error={'message': 'no'}),
        completion(choice={'error': {'message': 'no'}}),
    ],
)
def test_a_response_without_an_answer_is_unusable(content: dict[str, Any]) -> None:
    with pytest.raises(UnusableReply):
        decoded(content)


@pytest.mark.parametrize(
    'content',
    [
        {'choices': None},
        {'choices': []},
        completion(message={'content': None}),
        completion(message={'content': '  \n'}),
        completion(message={'content': {'text': 'up'}}),
        completion(message={'content': 5}),
        completion(choice={'finish_reason': 'length'}),
        completion(message={'function_call': {'name': 'up', 'arguments': '{}'}}),
    ],
)
def test_a_completion_that_must_not_be_acted_on_says_why(content: dict[str, Any]) -> None:
    assert decoded(content).problem


@pytest.mark.parametrize('cached', [0, 5])
def test_a_prompt_is_read_whole_if_each_word_and_image_took_a_token(cached: int) -> None:
    # 'You pilot a vehicle.', 'Front camera', an image, 'hm', 'Answer in JSON.'
    least = 4 + 2 + 1 + 1 + 3
    for count, cut in ((least, False), (least - 1, True)):
        usage = {
            'prompt_tokens': count - cached,
            'completion_tokens': 1,
            'prompt_tokens_details': {'cached_tokens': cached},
        }
        assert (PROMPT_CUT in decoded(completion(usage=usage)).notes) is cut


def test_the_body_of_a_request_is_plain_json() -> None:
    for name in ('gpt-4o', 'gpt-5.4-mini', 'minicpm-v-4.5', 'glm-4.5v'):
        assert json.dumps(request_body(load_preset(name), REQUEST))


# ---------------------------------------------------------------- life time


def test_a_closed_model_answers_no_more_and_closes_twice() -> None:
    model = make_model(load_preset('scripted_patrol'))
    assert model.complete(REQUEST, deadline_s=10.0).text
    model.close()
    model.close()
    with pytest.raises(ModelUnavailable, match='closed'):
        model.complete(REQUEST, deadline_s=10.0)


def test_closing_ends_a_wait_between_attempts() -> None:
    fault = Fault(kind=FaultKind.RATE_LIMIT, retry_after='60')
    with ScriptedModelServer(script=say('{}'), faults=fault) as server:
        model = make_model(load_preset('scripted_patrol'), base_url=server.url)
        outcome: list[BaseException] = []

        def run() -> None:
            try:
                model.complete(REQUEST, deadline_s=600.0)
            except ModelUnavailable as error:
                outcome.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while server.calls == 0:
            thread.join(0.005)
        model.close()
        thread.join(10.0)
        assert not thread.is_alive()
        assert 'clos' in str(outcome[0])


def test_one_server_serves_many_calls_over_one_connection() -> None:
    with make_model(load_preset('scripted_patrol')) as model:
        replies = [model.complete(REQUEST, deadline_s=10.0) for _ in range(20)]
    assert len({r.text for r in replies}) == 1
    assert {r.tokens_in for r in replies} == {replies[0].tokens_in}
