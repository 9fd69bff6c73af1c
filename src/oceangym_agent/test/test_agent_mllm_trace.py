"""The trace: written whole, read back, cut short, or not a trace at all."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from oceangym_agent.chat import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    ImagePart,
    Role,
    TextPart,
)
from oceangym_agent.replies.reply import Find, ParsedReply
from oceangym_agent.trace import Call, DecisionTrace, Purpose, read_trace, TraceWriter
from oceangym_core.contract.actions import Action
from oceangym_core.errors import OceanGymError


def clock() -> datetime:
    return datetime(2026, 1, 2, 3, 4, 5)


def image(name: str, data: bytes) -> ImagePart:
    return ImagePart(name=name, data=data, media_type='image/png', width=8, height=6)


def decision(index: int, text: str = 'Go on.') -> DecisionTrace:
    request = ChatRequest(
        messages=(
            ChatMessage(role=Role.SYSTEM, parts=(TextPart(text='You dive.'),)),
            ChatMessage(
                role=Role.USER,
                parts=(
                    image('reference', b'the same each time'),
                    TextPart(text='Front:'),
                    image('camera_front', f'view {index}'.encode()),
                ),
            ),
        )
    )
    reply = ChatReply(
        text=text,
        model='m-1',
        parameters={'temperature': 0.0, 'when': clock()},
        tokens_in=700,
        tokens_out=20,
        cost=0.002,
        retries=1,
        latency_s=1.5,
        notes=('refused',),
    )
    return DecisionTrace(
        index=index,
        t=30.0 * index,
        calls=[Call(purpose=Purpose.SINGLE, request=request, reply=reply)],
        parsed=ParsedReply(
            action=Action.FORWARD,
            environment={'front': 'sand'},
            finds=(Find(label='SHIP', position=(1.0, 2.0, -3.0)),),
            magnitude=5.0,
        ),
        latency_s=2.0,
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path, clock=clock)
    for index in range(2):
        writer.write(decision(index))
    first, second = read_trace(tmp_path)
    assert (first.index, second.index, second.t) == (0, 1, 30.0)
    reply = first.calls[0].reply
    assert reply is not None
    assert (reply.text, reply.tokens_in, reply.cost, reply.retries) == ('Go on.', 700, 0.002, 1)
    assert reply.notes == ('refused',)
    assert first.parsed is not None
    assert first.parsed['finds'][0]['position'] == [1.0, 2.0, -3.0]
    assert first.wall == {'written': '2026-01-02T03:04:05.000', 'latency_s': 2.0}


def test_an_image_sent_again_is_kept_once(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path, clock=clock)
    for index in range(3):
        writer.write(decision(index))
    names = sorted(path.name for path in (tmp_path / 'images').iterdir())
    assert names == ['0000_camera_front.png', '0000_reference.png'] + [
        f'{k:04d}_camera_front.png' for k in (1, 2)
    ]
    parts = read_trace(tmp_path)[2].calls[0].messages[1].parts
    assert parts[0].image is not None and parts[2].image is not None
    assert parts[0].image.file == 'images/0000_reference.png'
    assert (tmp_path / parts[2].image.file).read_bytes() == b'view 2'


def test_a_line_that_was_being_written_is_left_out(tmp_path: Path) -> None:
    writer = TraceWriter(tmp_path, clock=clock)
    writer.write(decision(0))
    whole = (tmp_path / 'trace.jsonl').read_bytes()
    writer.write(decision(1))
    both = (tmp_path / 'trace.jsonl').read_bytes()
    for cut in (len(whole), len(whole) + 1, len(both) - 1):
        (tmp_path / 'trace.jsonl').write_bytes(both[:cut])
        assert [step.index for step in read_trace(tmp_path)] == [0]


@pytest.mark.parametrize(
    'spoil',
    [
        lambda line: 'not json',
        lambda line: '[]',
        lambda line: json.dumps({'index': 'one', 't': 0.0, 'calls': []}),
        lambda line: line[: len(line) // 2],
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, spoil: Callable[[str], str]) -> None:
    TraceWriter(tmp_path, clock=clock).write(decision(0))
    path = tmp_path / 'trace.jsonl'
    good = path.read_text()
    path.write_text(f'{good}{spoil(good.strip())}\n')
    with pytest.raises(OceanGymError, match=r'trace\.jsonl, line 2'):
        read_trace(tmp_path)


def test_no_trace_is_said(tmp_path: Path) -> None:
    with pytest.raises(OceanGymError, match=r'trace\.jsonl'):
        read_trace(tmp_path)


def test_without_a_directory_nothing_is_kept(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    TraceWriter(None, clock=clock).write(decision(0))
    assert list(tmp_path.iterdir()) == []


@settings(max_examples=50, deadline=None)
@given(text=st.text(st.characters(), max_size=80))
def test_any_reply_is_kept_on_one_line(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    directory = tmp_path_factory.mktemp('trace')
    TraceWriter(directory, clock=clock).write(decision(0, text))
    (step,) = read_trace(directory)
    assert step.calls[0].reply is not None
    assert step.calls[0].reply.text == text.encode('utf-8', 'replace').decode('utf-8')
