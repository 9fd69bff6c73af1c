from __future__ import annotations

from collections.abc import Iterator
import datetime
import email.utils
import logging
import socket
import threading
import time
import traceback
from typing import Any

import pytest

from oceangym_agent.chat import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    ModelUnavailable,
    Role,
    TextPart,
)
from oceangym_agent.models import client
from oceangym_agent.models.client import make_model, OpenAIModel
from oceangym_agent.models.failures import Redactor
from oceangym_agent.models.presets import load_preset
from oceangym_agent.models.waits import reset_wait, retry_after, stated_wait
from oceangym_agent.models.wire import MAX_REPLY_CHARS
from oceangym_agent.replies import parse_reply, ReplyError, ReplyStyle
from oceangym_agent.scripted_models.faults import Fault, FaultKind
from oceangym_agent.scripted_models.server import ScriptedModelServer

KEY = 'sk-planted-0123456789abcdef'
PRESET = load_preset('gpt-4o')
ENVIRON = {'OPENAI_API_KEY': KEY}
REQUEST = ChatRequest(
    messages=(ChatMessage(role=Role.USER, parts=(TextPart(text='Where to?'),)),), schema={}
)
REPLY = '{"action": "forward", "magnitude": 20, "reason": "on along the lane"}'
# Far more than a loaded machine takes beyond a deadline, far less than any fault here lasts.
SLACK_S = 5.0


def script(body: Any, number: int) -> str:
    return REPLY


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(5.0)
        assert not thread.is_alive(), thread.name


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, 'FIRST_DELAY_S', 0.02)


def serve(faults: Any) -> ScriptedModelServer:
    return ScriptedModelServer(script=script, faults=faults, key=KEY)


def connect(server: ScriptedModelServer, **options: Any) -> OpenAIModel:
    options = {'call_timeout_s': 5.0, 'max_retries': 2, **options}
    return make_model(PRESET, base_url=server.url, environ=ENVIRON, **options)


@pytest.mark.parametrize('kind', [FaultKind.HANG, FaultKind.DRIP, FaultKind.DRIP_HEADERS])
def test_a_silent_attempt_is_given_up_and_tried_again(kind: FaultKind) -> None:
    with serve({0: Fault(kind=kind)}) as server, connect(server, call_timeout_s=0.3) as model:
        started = time.monotonic()
        reply = model.complete(REQUEST, deadline_s=60.0)
        assert reply.text == REPLY
        assert reply.retries == 1
        assert time.monotonic() - started < 0.3 + 0.5 + SLACK_S
        assert reply.latency_s >= 0.3


@pytest.mark.parametrize('kind', list(FaultKind))
def test_every_fault_ends_within_the_deadline(kind: FaultKind) -> None:
    deadline = 0.5
    fault = Fault(kind=kind, retry_after='30')
    with serve(fault) as server, connect(server, call_timeout_s=60.0) as model:
        started = time.monotonic()
        try:
            outcome: ChatReply | ModelUnavailable = model.complete(REQUEST, deadline_s=deadline)
        except ModelUnavailable as error:
            outcome = error
        assert time.monotonic() - started < deadline + SLACK_S
        assert isinstance(outcome, (ChatReply, ModelUnavailable))


@pytest.mark.parametrize('kind', [FaultKind.HANG, FaultKind.DRIP, FaultKind.DRIP_HEADERS])
@pytest.mark.parametrize('pace_s', [0.001, 0.05])
def test_a_deadline_is_kept_whatever_trickles_in(kind: FaultKind, pace_s: float) -> None:
    # At a byte in 1 ms the 700 bytes of the response take 0.7 s, at one in 50 ms 35 s.
    with serve(Fault(kind=kind, pace_s=pace_s)) as server, connect(server) as model:
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r'no complete answer|would be in'):
            model.complete(REQUEST, deadline_s=0.2)
        assert time.monotonic() - started < 0.2 + SLACK_S


def test_a_wrong_key_is_named_by_its_variable() -> None:
    with serve(None) as server:
        other = {'OPENAI_API_KEY': KEY[::-1]}
        with make_model(PRESET, base_url=server.url, environ=other) as model:
            with pytest.raises(ModelUnavailable, match='OPENAI_API_KEY') as caught:
                model.complete(REQUEST, deadline_s=60.0)
            assert KEY[::-1] not in str(caught.value)


def test_a_reply_of_a_mebibyte_is_cut() -> None:
    with serve(Fault(kind=FaultKind.HUGE)) as server, connect(server) as model:
        reply = model.complete(REQUEST, deadline_s=60.0)
        assert reply.text.startswith(REPLY)
        assert len(reply.text) == MAX_REPLY_CHARS
        assert '1048576' in reply.notes[0]
        with pytest.raises(ReplyError, match='characters'):
            parse_reply(reply.text, style=ReplyStyle.JSON)
        # What was paid for is what the endpoint counted.
        assert reply.tokens_out == 1024 * 1024 // 4


def test_waits_double_and_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    with (
        serve(Fault(kind=FaultKind.SERVER_ERROR)) as server,
        connect(server, max_retries=5) as model,
        pytest.raises(ModelUnavailable),
    ):
        model.complete(REQUEST, deadline_s=60.0)
    waits = [r.args[2] for r in caplog.records if r.name == client.__name__ and r.args]
    assert len(waits) == 5
    for number, wait in enumerate(waits):
        assert isinstance(wait, float)
        assert 0.75 * 0.02 * 2**number <= wait <= 0.02 * 2**number


def test_a_retry_is_told_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with serve({0: Fault(kind=FaultKind.OVERLOADED)}) as server, connect(server) as model:
        model.complete(REQUEST, deadline_s=60.0)
    (record,) = [r for r in caplog.records if r.name.startswith('oceangym_agent')]
    assert 'gpt-4o: HTTP 503: Overloaded.; trying again in' in record.getMessage()


@pytest.mark.parametrize(
    ('headers', 'wait'),
    [
        ({'retry-after': '7'}, 7.0),
        ({'retry-after': '0.5'}, 0.5),
        ({'retry-after-ms': '250', 'retry-after': '9'}, 0.25),
        ({'retry-after': 'soon'}, None),
        ({'retry-after': 'nan'}, None),
        ({'retry-after': 'inf'}, None),
        ({'retry-after': '-3'}, None),
        ({}, None),
        ({'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT'}, 0.0),
        ({'retry-after': 'Thu, 99 Jan 1970 00:00:00 GMT'}, None),
    ],
)
def test_retry_after_in_its_forms(headers: dict[str, str], wait: float | None) -> None:
    assert retry_after(headers) == wait


def test_retry_after_as_a_date() -> None:
    moment = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=100)
    header = email.utils.format_datetime(moment, usegmt=True)
    wait = retry_after({'retry-after': header})
    assert wait is not None
    assert 60.0 < wait <= 100.0


@pytest.mark.parametrize(
    ('body', 'wait'),
    [
        ({'details': [{'retryDelay': '8s'}]}, 8.0),
        ({'details': [{'retryDelay': '0.250s'}]}, 0.25),
        ({'retry_after': 12}, 12.0),
        ({'metadata': {'headers': {'X-RateLimit-Reset': '30'}}}, 30.0),
        ('Please try again in 6m0s.', 360.0),
        ('Please try again in 20 seconds', 20.0),
        ('Try again in 250ms. Visit the page', 0.25),
        ('Please retry after 1 hour', 3600.0),
        ('Limit 200, used 200', None),
        ({'retry_after': 'soon', 'message': None, 'code': True}, None),
        (None, None),
    ],
)
def test_waits_in_bodies(body: Any, wait: float | None) -> None:
    assert stated_wait({}, body) == wait
    # A header goes before the body.
    assert stated_wait({'retry-after': '3'}, body) == 3.0


@pytest.mark.parametrize(
    ('headers', 'wait'),
    [
        ({'x-ratelimit-reset-requests': '1s', 'x-ratelimit-reset-tokens': '6m0s'}, 1.0),
        ({'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '17'}, 17.0),
        ({'anthropic-ratelimit-requests-reset': '1970-01-01T00:00:00Z'}, 0.0),
        ({'x-ratelimit-reset-tokens': 'never'}, None),
        ({}, None),
    ],
)
def test_resets_of_limits(headers: dict[str, str], wait: float | None) -> None:
    assert reset_wait(headers) == wait


def test_nobody_listening_is_explained() -> None:
    with socket.socket() as free:
        free.bind(('127.0.0.1', 0))
        port = free.getsockname()[1]
    url = f'http://127.0.0.1:{port}/v1'
    with make_model(PRESET, base_url=url, max_retries=1, environ=ENVIRON) as model:
        with pytest.raises(ModelUnavailable, match='Is a server running') as caught:
            model.complete(REQUEST, deadline_s=60.0)
        assert url in str(caught.value)


@pytest.mark.parametrize('deadline', [0.0, -1.0, float('nan')])
def test_no_time_is_no_call(deadline: float) -> None:
    with serve(None) as server, connect(server) as model:
        with pytest.raises(ModelUnavailable, match='no time'):
            model.complete(REQUEST, deadline_s=deadline)
        assert server.calls == 0


def test_the_next_call_works_after_a_hang() -> None:
    with serve({0: Fault(kind=FaultKind.HANG)}) as server, connect(server) as model:
        with pytest.raises(ModelUnavailable):
            model.complete(REQUEST, deadline_s=0.2)
        assert model.complete(REQUEST, deadline_s=60.0).text == REPLY


# ---------------------------------------------------------------- the key appears nowhere


@pytest.mark.parametrize('kind', [None, *FaultKind])
def test_the_key_appears_in_no_error_reply_or_log(
    kind: FaultKind | None, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    names = ('', 'openai', 'httpx2', 'httpcore2', 'oceangym_agent')
    for name in names:
        caplog.set_level(logging.DEBUG, logger=name)
    fault = None if kind is None else Fault(kind=kind, pace_s=0.01)
    with (
        serve(fault) as server,
        connect(server, max_retries=1, call_timeout_s=0.2) as model,
    ):
        seen = [repr(model), str(model), repr(PRESET)]
        try:
            reply = model.complete(REQUEST, deadline_s=1.0)
            seen += [repr(reply), str(dict(reply.parameters))]
        except ModelUnavailable as error:
            seen += [repr(error), ''.join(traceback.format_exception(error))]
            chain: BaseException | None = error
            while chain is not None:
                seen += [repr(chain), repr(vars(chain))]
                chain = chain.__cause__ or chain.__context__
        seen.append(repr(server.requests))
    seen += [repr(vars(record)) for record in caplog.records]
    captured = capfd.readouterr()
    seen += [caplog.text, captured.out, captured.err]
    assert not [text for text in seen if KEY in text]
    if kind is None:
        assert any(record.name.startswith('httpcore2') for record in caplog.records)


def test_errors_hold_no_object_that_holds_the_key() -> None:
    with serve(Fault(kind=FaultKind.AUTH)) as server, connect(server) as model:
        with pytest.raises(ModelUnavailable) as caught:
            model.complete(REQUEST, deadline_s=60.0)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None
        assert [v for v in vars(model).values() if KEY in repr(v)] == []


def test_a_short_placeholder_is_not_taken_out_of_texts() -> None:
    assert Redactor('EMPTY')('the reply is EMPTY') == 'the reply is EMPTY'
    assert Redactor(KEY)(f'Bearer {KEY}, {KEY}') == 'Bearer <key>, <key>'
    assert Redactor('')('as it is') == 'as it is'
