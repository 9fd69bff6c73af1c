"""The chat-completions protocol: from a request to JSON, and from JSON to a reply."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
import json
import re
from typing import Any

from oceangym_agent.chat import ChatMessage, ChatRequest, ImagePart, Role, TextPart
from oceangym_agent.models.presets import ModelPreset
from oceangym_agent.models.pricing import least_tokens, request_tokens, text_tokens
from oceangym_agent.replies.limits import MAX_ANSWER_CHARS
from oceangym_core.files import utf8_text

# A decision takes about 2,000 characters; a model that rambles on must not fill records with it. Twice
# what is understood of an answer, so that one that was cut here is refused and never acted on.
MAX_REPLY_CHARS = 2 * MAX_ANSWER_CHARS
PROMPT_CUT = (
    'the endpoint read only part of the prompt: it counted fewer tokens than the prompt has words; '
    'raise its context length (Ollama: num_ctx, vLLM: --max-model-len)'
)
MAX_TOKENS_CREDIBLE = 100_000_000
# Members of the request that a trace shows otherwise, or that never differ.
_NOT_PARAMETERS = ('messages', 'response_format', 'stream')
# Finish reasons of a whole reply: OpenAI's, and what other servers call the same. Every other one
# marks a reply that is not to be acted on.
_WHOLE = frozenset(
    {'', 'stop', 'eos', 'eos_token', 'end', 'end_turn', 'stop_sequence', 'complete', 'completed'}
)
_AT_TOKEN_LIMIT = frozenset({'length', 'max_tokens', 'model_length', 'max_output_tokens'})
_FILTERED = frozenset(
    {'content_filter', 'safety', 'recitation', 'prohibited_content', 'blocklist', 'sensitive'}
)
# Where servers put hidden reasoning; some leave the answer there too.
_REASONING = ('reasoning_content', 'reasoning')
_THOUGHT_PARTS = ('thinking', 'reasoning', 'redacted_thinking')


class UnusableReply(ValueError):
    """A response that holds no chat completion; asking again may help.

    Attributes:
        error: The error object that the endpoint sent in its place, if it did.
        tokens_in, tokens_out: What the endpoint counted for it all the same.
    """

    def __init__(
        self, message: str, *, error: object = None, tokens_in: int = 0, tokens_out: int = 0
    ) -> None:
        super().__init__(message)
        self.error = error
        self.tokens_in = tokens_in
        self.tokens_out = tokens_out


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a response says; `problem`, `notes` and the token counts are those of `ChatReply`."""

    text: str
    model: str
    finish_reason: str
    problem: str
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
        # Some servers stream unless told not to.
        'stream': False,
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
    """Return a response's JSON object, whatever its content type says; events of a stream as one.

    Raises:
        UnusableReply: It is none.
    """
    text = raw.decode('utf-8-sig', 'replace').strip()
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        if re.search(r'^data:', text, re.MULTILINE):
            return _streamed(text)
        kind = content_type.partition(';')[0].strip().lower()
        if kind == 'application/json' or kind.endswith('+json'):
            raise UnusableReply(f'the response of {len(raw)} bytes is not valid JSON') from error
        raise UnusableReply(
            f'the endpoint answered {kind[:80] or "without a content type"!r} instead of '
            'application/json; is base_url the address of the API?'
        ) from error
    if isinstance(content, list) and len(content) == 1:
        # Google wraps an error object in a list.
        content = content[0]
    if not isinstance(content, dict):
        raise UnusableReply('the response is not a JSON object')
    return content


def _streamed(text: str) -> Mapping[str, Any]:
    """Return the chat completion that server-sent events add up to.

    Raises:
        UnusableReply: An event is not valid JSON, or the stream ends without its last event.
    """
    merged: dict[str, Any] = {}
    choice: dict[str, Any] = {}
    message: dict[str, Any] = {}
    ended = False
    for event in re.findall(r'^data:[ \t]*(.*?)\s*$', text, re.MULTILINE):
        if event == '[DONE]':
            ended = True
            continue
        try:
            chunk = json.loads(event)
        except (ValueError, RecursionError) as error:
            raise UnusableReply('an event of the streamed response is not valid JSON') from error
        if not isinstance(chunk, dict):
            raise UnusableReply('an event of the streamed response is not a JSON object')
        merged |= {key: value for key, value in chunk.items() if value is not None}
        choices = chunk.get('choices')
        first = choices[0] if isinstance(choices, list) and choices else None
        if isinstance(first, dict):
            choice |= {key: value for key, value in first.items() if value is not None}
            _add_delta(message, first.get('delta') or first.get('message'))
    if not ended and not choice.get('finish_reason') and not merged.get('error'):
        raise UnusableReply('the streamed response breaks off')
    return {**merged, 'choices': [{**choice, 'message': message}] if choice else []}


def _add_delta(message: dict[str, Any], delta: object) -> None:
    """Add one event's part of a message; texts are joined."""
    for key, value in delta.items() if isinstance(delta, dict) else ():
        before = message.get(key)
        if value is None:
            continue
        both_text = isinstance(before, str) and isinstance(value, str) and key != 'role'
        message[key] = before + value if both_text else value


def decode(content: Mapping[str, Any], preset: ModelPreset, request: ChatRequest) -> Answer:
    """Return what a chat completion says; `Answer.problem` tells whether it can be acted on.

    Raises:
        UnusableReply: It is none, or the endpoint reports an error in its place or beside it.
    """
    choices = content.get('choices')
    choice = choices[0] if isinstance(choices, list) and choices else {}
    if not isinstance(choice, dict):
        raise UnusableReply('the response has no choices with a message')
    usage = content.get('usage')
    tokens_in, tokens_out, reasoning = _usage(usage)
    error = content.get('error') or choice.get('error')
    if error:
        raise UnusableReply(
            f'the endpoint reported an error: {brief(error)}',
            error=error,
            tokens_in=tokens_in or 0,
            tokens_out=tokens_out or 0,
        )
    message = choice.get('message')
    if not isinstance(message, dict):
        if choice or 'choices' not in content or choices not in (None, []):
            said = brief(content)
            raise UnusableReply(f'the response has no choices with a message: {said}')
        message = {}
    finish = _clean(choice.get('finish_reason'))[:80]
    notes = []
    text = _text(message.get('content'))
    refusal = _text(message.get('refusal'))
    problem = _problem(choice, message, preset=preset, reasoning=reasoning)
    if not text.strip():
        thought = next((t for k in _REASONING if (t := _text(message.get(k))).strip()), '')
        if refusal:
            text = refusal
        elif thought and not problem:
            text = thought
            notes.append('the reply was taken from the hidden reasoning: its content was empty')
        problem = problem or (
            '' if text.strip() else f'It is empty (finish reason {finish or "none"!r}).'
        )
    if len(text) > MAX_REPLY_CHARS:
        notes.append(f'reply cut from {len(text)} to {MAX_REPLY_CHARS} characters')
        text = text[:MAX_REPLY_CHARS]
    if refusal or finish.lower() in _FILTERED:
        notes.append('refused')
    least = least_tokens(request)
    if tokens_in is None or tokens_out is None or tokens_in == 0 < least:
        notes.append('tokens estimated: the endpoint gave no usage')
        tokens_in = request_tokens(preset, request)
        tokens_out = text_tokens(text)
    elif tokens_in + _cached(usage) < least:
        notes.append(PROMPT_CUT)
    return Answer(
        text=text,
        model=_clean(content.get('model'))[:200] or preset.model,
        finish_reason=finish,
        problem=problem,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        tokens_reasoning=reasoning,
        notes=tuple(notes),
    )


def _problem(
    choice: Mapping[str, Any],
    message: Mapping[str, Any],
    *,
    preset: ModelPreset,
    reasoning: int,
) -> str:
    """Return why a reply must not be acted on, as the model is told it; empty if it may be."""
    finish = _clean(choice.get('finish_reason')).strip()
    marks = {_clean(mark).strip().lower() for mark in (finish, choice.get('native_finish_reason'))}
    if marks & _AT_TOKEN_LIMIT:
        hidden = f', of which {reasoning} went into hidden reasoning' if reasoning else ''
        return (
            f'It was cut off at the token limit of {preset.max_output_tokens}{hidden} '
            f'(max_output_tokens of the preset {preset.id!r}); answer more briefly.'
        )
    if marks & _FILTERED or finish.lower() in ('refusal', 'refused'):
        return f'It was withheld by a content filter (finish reason {finish!r}).'
    if message.get('refusal'):
        return 'It is a refusal.'
    if message.get('tool_calls') or message.get('function_call'):
        return 'It calls a tool, and there are none; write the reply itself as text.'
    if finish.lower() not in _WHOLE:
        return f'The endpoint marks it as not whole (finish reason {finish[:80]!r}).'
    return ''


def brief(value: object) -> str:
    """Return one short line for a message: an error object's own words where it has some."""
    if isinstance(value, dict):
        inner = value.get('error', value)
        value = inner.get('message', inner) if isinstance(inner, dict) else inner
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return ' '.join(_clean(text).split())[:300]


def _text(content: object) -> str:
    if isinstance(content, list):
        parts = [
            p.get('text')
            for p in content
            if isinstance(p, dict) and p.get('type') not in _THOUGHT_PARTS
        ]
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


def _cached(usage: object) -> int:
    """Return input tokens from a cache, which some endpoints leave out of prompt_tokens."""
    if not isinstance(usage, dict):
        return 0
    details = usage.get('prompt_tokens_details')
    listed = details.get('cached_tokens') if isinstance(details, dict) else None
    return _count(listed) or _count(usage.get('cache_read_input_tokens')) or 0


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not 0 <= value <= MAX_TOKENS_CREDIBLE:
        return None
    return int(value)
