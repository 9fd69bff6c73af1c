"""The chat-completions protocol: from a request to JSON, and from JSON to a reply."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
import json
from typing import Any

from oceangym_agent.chat import ChatMessage, ChatRequest, ImagePart, Role, TextPart
from oceangym_agent.models.presets import ModelPreset
from oceangym_agent.models.pricing import request_tokens, text_tokens
from oceangym_agent.replies.limits import MAX_ANSWER_CHARS
from oceangym_core.text_files import utf8_text

# A decision takes about 2,000 characters; a model that rambles on must not fill records with it. Twice
# what is understood of an answer, so that one that was cut here is refused and never acted on.
MAX_REPLY_CHARS = 2 * MAX_ANSWER_CHARS
MAX_TOKENS_CREDIBLE = 100_000_000
# Members of the request that a trace shows otherwise.
_NOT_PARAMETERS = ('messages', 'response_format')


class UnusableReply(ValueError):
    """A response that holds no answer; asking again may help.

    Attributes:
        tokens_in, tokens_out: What the endpoint counted for it all the same.
    """

    def __init__(self, message: str, *, tokens_in: int = 0, tokens_out: int = 0) -> None:
        super().__init__(message)
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a response says; the token counts are those of `ChatReply`."""

    text: str
    model: str
    finish_reason: str
    tokens_in: int
    tokens_out: int
    tokens_reasoning: int
    notes: tuple[str, ...]


def request_body(preset: ModelPreset, request: ChatRequest) -> dict[str, Any]:
    """Return the request's JSON members; `extra_body` is not among them."""
    body: dict[str, Any] = {
        'model': preset.model,
        'messages': [_message(m, preset) for m in request.messages],
        preset.max_tokens_field: preset.max_output_tokens,
    }
    for name in ('temperature', 'top_p', 'seed', 'reasoning_effort'):
        value = getattr(preset, name)
        if value is not None:
            body[name] = value
    if request.schema is not None and preset.json_mode == 'schema':
        body['response_format'] = {
            'type': 'json_schema',
            'json_schema': {'name': 'reply', 'strict': True, 'schema': dict(request.schema)},
        }
    elif request.schema is not None and preset.json_mode == 'object':
        body['response_format'] = {'type': 'json_object'}
    return body


def parameters(preset: ModelPreset, body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trace keeps of a request beside its messages."""
    kept = {name: value for name, value in body.items() if name not in _NOT_PARAMETERS}
    if 'response_format' in body:
        kept['response_format'] = body['response_format']['type']
    if preset.image_detail is not None:
        kept['image_detail'] = preset.image_detail
    return {**kept, **preset.extra_body}


def _message(message: ChatMessage, preset: ModelPreset) -> dict[str, Any]:
    texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    # Some servers take plain strings only, except for the user's messages.
    if message.role is not Role.USER or len(texts) == len(message.parts) == 1:
        return {'role': message.role.value, 'content': '\n'.join(texts)}
    return {
        'role': message.role.value,
        'content': [
            _image(part, preset)
            if isinstance(part, ImagePart)
            else {'type': 'text', 'text': part.text}
            for part in message.parts
        ],
    }


def _image(part: ImagePart, preset: ModelPreset) -> dict[str, Any]:
    encoded = base64.b64encode(part.data).decode('ascii')
    image = {'url': f'data:{part.media_type};base64,{encoded}'}
    if preset.image_detail is not None:
        image['detail'] = preset.image_detail
    return {'type': 'image_url', 'image_url': image}


def parse_body(raw: bytes, content_type: str) -> Mapping[str, Any]:
    """Return a response's JSON object.

    Raises:
        UnusableReply: It is none.
    """
    kind = content_type.partition(';')[0].strip().lower()
    if kind != 'application/json' and not kind.endswith('+json'):
        raise UnusableReply(
            f'the endpoint answered {kind[:80] or "without a content type"!r} instead of '
            'application/json; is base_url the address of the API?'
        )
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise UnusableReply(f'the response of {len(raw)} bytes is not valid JSON') from error
    if not isinstance(content, dict):
        raise UnusableReply('the response is not a JSON object')
    return content


def decode(content: Mapping[str, Any], preset: ModelPreset, request: ChatRequest) -> Answer:
    """Return what a chat completion says.

    Raises:
        UnusableReply: It holds no answer.
    """
    if content.get('error'):
        raise UnusableReply(f'the endpoint reported an error: {brief(content["error"])}')
    choices = content.get('choices')
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get('message') if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise UnusableReply('the response has no choices with a message')
    text = _text(message.get('content'))
    refusal = _text(message.get('refusal'))
    finish = _clean(choice.get('finish_reason'))
    declined = bool(refusal) or finish == 'content_filter'
    tokens_in, tokens_out, reasoning = _usage(content.get('usage'))
    if not text.strip() and not declined and finish != 'length':
        raise UnusableReply(
            f'the reply is empty (finish reason {finish or "not given"!r})',
            tokens_in=tokens_in or 0,
            tokens_out=tokens_out or 0,
        )
    notes = []
    text = text or refusal
    if len(text) > MAX_REPLY_CHARS:
        notes.append(f'reply cut from {len(text)} to {MAX_REPLY_CHARS} characters')
        text = text[:MAX_REPLY_CHARS]
    if declined:
        notes.append('refused')
    if tokens_in is None or tokens_out is None:
        notes.append('tokens estimated: the endpoint gave no usage')
        tokens_in = request_tokens(preset, request)
        tokens_out = text_tokens(text)
    return Answer(
        text=text,
        model=_clean(content.get('model'))[:200] or preset.model,
        finish_reason=finish[:80],
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_reasoning=reasoning,
        notes=tuple(notes),
    )


def brief(value: object) -> str:
    """Return one short line for a message: an error object's own words where it has some."""
    if isinstance(value, dict):
        inner = value.get('error', value)
        value = inner.get('message', inner) if isinstance(inner, dict) else inner
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return ' '.join(_clean(text).split())[:300]


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = [p.get('text') for p in content if isinstance(p, dict)]
        return ''.join(_clean(p) for p in parts)
    return _clean(content)


def _clean(value: object) -> str:
    """Return a string as records can hold it, an empty one for anything else."""
    return utf8_text(value) if isinstance(value, str) else ''


def _usage(usage: object) -> tuple[int | None, int | None, int]:
    """Return input tokens, output tokens with hidden ones, and hidden ones."""
    if not isinstance(usage, dict):
        return None, None, 0
    prompt = _count(usage.get('prompt_tokens'))
    completion = _count(usage.get('completion_tokens'))
    total = _count(usage.get('total_tokens'))
    details = usage.get('completion_tokens_details')
    hidden = (_count(details.get('reasoning_tokens')) if isinstance(details, dict) else None) or 0
    if prompt is not None and completion is not None and total is not None:
        # Some endpoints leave hidden reasoning out of completion_tokens and count it in the total.
        unlisted = max(0, total - prompt - completion)
        completion += unlisted
        hidden = max(hidden, unlisted)
    if completion is not None:
        completion = max(completion, hidden)
    return prompt, completion, hidden


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 <= value <= MAX_TOKENS_CREDIBLE:
        return None
    return int(value)
