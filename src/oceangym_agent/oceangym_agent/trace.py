"""What was said to a model and what it answered: ``trace.jsonl`` and ``images/`` of a run directory.

One line a decision, on disk before the decision is carried out. It holds the rendered prompt, images
by reference, every reply as received, its cost, and what was understood. Nothing in it depends on the
wall clock but the members ``wall`` and ``latency_s``. Keys are never part of a request's messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from enum import Enum
import json
import os
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, ValidationError

from oceangym_agent.chat import ChatMessage, ChatReply, ChatRequest, ImagePart, TextPart
from oceangym_agent.replies.reply import Find, ParsedReply
from oceangym_core.contract.actions import Action
from oceangym_core.errors import OceanGymError
from oceangym_core.files import MAX_JSON_BYTES, read_text, Schema
from oceangym_core.record.lines import line_text, rounded

TRACE_FILE = 'trace.jsonl'
IMAGE_FOLDER = 'images'
_SUFFIX = {'image/jpeg': '.jpg', 'image/png': '.png'}


class Purpose(str, Enum):
    """Why a model was called."""

    SINGLE = 'single'
    PERCEIVE = 'perceive'
    ACT = 'act'
    REASK = 'reask'


@dataclass
class Call:
    """One call: what was asked, and the reply or why there is none.

    Attributes:
        unusable: What was billed without being a reply, where none came in the end; their texts
            say why.
        error: Of the call, or what was wrong with the reply.
    """

    purpose: Purpose
    request: ChatRequest
    reply: ChatReply | None = None
    unusable: tuple[ChatReply, ...] = ()
    error: str | None = None


@dataclass
class DecisionTrace:
    """One decision in the making.

    Attributes:
        index: Of the observation.
        t: Its simulation time [s].
        calls: In their order.
        parsed: What was understood; None where the vehicle holds because nothing was.
        error: Why there was no decision.
        latency_s: Wall time of the whole decision [s].
    """

    index: int
    t: float
    calls: list[Call] = field(default_factory=list)
    parsed: ParsedReply | None = None
    error: str | None = None
    latency_s: float = 0.0

    @property
    def replies(self) -> tuple[ChatReply, ...]:
        """Every reply, those that were not understood included."""
        return tuple(call.reply for call in self.calls if call.reply is not None)

    @property
    def paid(self) -> tuple[ChatReply, ...]:
        """Everything that was billed: the replies, and what was unusable where none came."""
        return (*self.replies, *(answer for call in self.calls for answer in call.unusable))


class TraceWriter:
    """Appends decisions to the trace of a run.

    Args:
        directory: Of the run, or None to keep nothing.
        clock: Wall clock.

    Raises:
        OceanGymError: The directory holds a trace already, or cannot be written.
    """

    def __init__(self, directory: Path | None, *, clock: Callable[[], datetime]) -> None:
        self._directory = directory
        self._clock = clock
        # An image that is sent again, as the reference is in every prompt, is kept once.
        self._files: dict[str, str] = {}
        if directory is not None:
            try:
                directory.mkdir(parents=True, exist_ok=True)
                (directory / TRACE_FILE).open('x').close()
            except FileExistsError:
                raise OceanGymError(
                    f'{directory} already holds a trace; choose an empty directory'
                ) from None
            except OSError as error:
                raise _unwritable(directory, error) from error

    def write(self, decision: DecisionTrace) -> None:
        """Put one decision on disk, its images first.

        Raises:
            OceanGymError: The disk refuses it.
        """
        if self._directory is None:
            return
        try:
            line = {
                'index': decision.index,
                't': decision.t,
                'calls': [self._call(call, decision.index) for call in decision.calls],
                'parsed': parsed_entry(decision.parsed),
                'error': decision.error,
                'wall': {
                    'written': self._clock().isoformat(timespec='milliseconds'),
                    'latency_s': decision.latency_s,
                },
            }
            with (self._directory / TRACE_FILE).open('a', encoding='utf-8') as stream:
                stream.write(line_text(rounded(line)) + '\n')
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise _unwritable(self._directory, error) from error

    def _call(self, call: Call, index: int) -> dict[str, Any]:
        return {
            'purpose': call.purpose.value,
            'messages': [self._message(m, index) for m in call.request.messages],
            'reply': None if call.reply is None else reply_entry(call.reply),
            **({'unusable': [unusable_entry(a) for a in call.unusable]} if call.unusable else {}),
            'error': call.error,
        }

    def _message(self, message: ChatMessage, index: int) -> dict[str, Any]:
        parts = [
            {'text': part.text} if isinstance(part, TextPart) else self._image(part, index)
            for part in message.parts
        ]
        return {'role': message.role.value, 'parts': parts}

    def _image(self, image: ImagePart, index: int) -> dict[str, Any]:
        assert self._directory is not None
        digest = image.sha256
        if digest not in self._files:
            file = f'{IMAGE_FOLDER}/{index:04d}_{image.name}{_SUFFIX[image.media_type]}'
            (self._directory / IMAGE_FOLDER).mkdir(exist_ok=True)
            (self._directory / file).write_bytes(image.data)
            self._files[digest] = file
        return {
            'image': {
                'name': image.name,
                'file': self._files[digest],
                'sha256': digest,
                'width': image.width,
                'height': image.height,
            }
        }


def _unwritable(directory: Path, error: OSError) -> OceanGymError:
    return OceanGymError(f'cannot write the trace in {directory}: {error.strerror}')


def reply_entry(reply: ChatReply) -> dict[str, Any]:
    """Return a reply as a line holds it."""
    return {
        'text': reply.text,
        'model': reply.model,
        'problem': reply.problem,
        'finish_reason': reply.finish_reason,
        # Whatever a preset's extra_body holds, JSON can hold.
        'parameters': json.loads(json.dumps(dict(reply.parameters), default=str)),
        'tokens_in': reply.tokens_in,
        'tokens_out': reply.tokens_out,
        'tokens_reasoning': reply.tokens_reasoning,
        'cost': reply.cost,
        'retries': reply.retries,
        'latency_s': reply.latency_s,
        'notes': list(reply.notes),
    }


def unusable_entry(answer: ChatReply) -> dict[str, Any]:
    """Return an answer that was billed and could not be used, as a line holds it."""
    return {
        'problem': answer.text,
        'tokens_in': answer.tokens_in,
        'tokens_out': answer.tokens_out,
        'cost': answer.cost,
    }


def parsed_entry(parsed: ParsedReply | None) -> dict[str, Any] | None:
    """Return what was understood as a line holds it."""
    if parsed is None:
        return None
    return {
        'environment': dict(parsed.environment),
        'special_objects': list(parsed.special_objects),
        'finds': [_find_entry(find) for find in parsed.finds],
        'action': parsed.action.value,
        'magnitude': parsed.magnitude,
        **(asdict(parsed.course) if parsed.action is Action.GO else {}),
        'reason': parsed.reason,
    }


def _find_entry(find: Find) -> dict[str, Any]:
    return {
        'label': find.label,
        'position': find.position,
        'range_m': find.range_m,
        'bearing_deg': find.bearing_deg,
        'direction': find.direction,
        'text': find.text,
    }


class _Entry(Schema):
    """Part of a line: later versions may add keys."""

    model_config = ConfigDict(extra='ignore')


class TraceReply(_Entry):
    """A reply as recorded; see `chat.ChatReply`."""

    text: str
    model: str = ''
    problem: str = ''
    finish_reason: str = ''
    parameters: dict[str, Any] = {}
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    cost: float = 0.0
    retries: int = 0
    latency_s: float = 0.0
    notes: tuple[str, ...] = ()


class TraceUnusable(_Entry):
    """An answer that was billed and could not be used; `problem` says why."""

    problem: str = ''
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


class TraceImage(_Entry):
    """An image as sent: its `file` is relative to the run directory."""

    name: str
    file: str
    sha256: str
    width: int
    height: int


class TracePart(_Entry):
    """A text or an image."""

    text: str | None = None
    image: TraceImage | None = None


class TraceMessage(_Entry):
    """One message."""

    role: str
    parts: tuple[TracePart, ...]


class TraceCall(_Entry):
    """One call."""

    purpose: str
    messages: tuple[TraceMessage, ...]
    reply: TraceReply | None = None
    unusable: tuple[TraceUnusable, ...] = ()
    error: str | None = None

    @property
    def text(self) -> str:
        """Every text of the prompt, a line apart."""
        return '\n'.join(p.text for m in self.messages for p in m.parts if p.text is not None)


class TraceStep(_Entry):
    """One line."""

    index: int
    t: float
    calls: tuple[TraceCall, ...]
    parsed: dict[str, Any] | None = None
    error: str | None = None
    wall: dict[str, Any] = {}


def read_trace(run_dir: Path) -> tuple[TraceStep, ...]:
    """Return the decisions of a run's trace; a last line that was being written is left out.

    Raises:
        OceanGymError: There is no trace, or a whole line of it is not one.
    """
    path = run_dir / TRACE_FILE
    # What follows the last line's end was cut off; a whole trace has nothing there.
    complete = read_text(path, MAX_JSON_BYTES).split('\n')[:-1]
    return tuple(_step(text, f'{path}, line {n}') for n, text in enumerate(complete, start=1))


def _step(text: str, where: str) -> TraceStep:
    try:
        return TraceStep.model_validate_json(text)
    except ValidationError as error:
        problem: Mapping[str, Any] = error.errors(include_url=False, include_input=False)[0]
        key = _key(problem['loc'])
        raise OceanGymError(f'{where}: {key}{problem["msg"][:300]}') from error


def _key(location: Sequence[int | str]) -> str:
    key = '.'.join(str(part) for part in location)
    return f'{key[:200]}: ' if key else ''
