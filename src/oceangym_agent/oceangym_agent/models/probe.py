"""One small call that shows whether a model can be asked at all, before a series of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
import json
import time

import numpy as np

from oceangym_agent.chat import ChatMessage, ChatReply, ChatRequest, NoReply, Role, TextPart
from oceangym_agent.models.budget import Budget
from oceangym_agent.models.client import make_model
from oceangym_agent.models.images import encode
from oceangym_agent.models.presets import ModelPreset

COLOUR = 'red'
SIDE_PX = 64
QUESTION = (
    'This is a test of the connection. Which colour has the image? Answer with one JSON object and '
    'nothing else, e.g. {"colour": "green"}'
)
SCHEMA = {
    'type': 'object',
    'properties': {'colour': {'type': 'string'}},
    'required': ['colour'],
    'additionalProperties': False,
}


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What a probe of a model found.

    Attributes:
        model: Id of the preset.
        base_url: What was asked.
        problem: Why the model cannot be used, with the remedy; empty if it can.
        warnings: What a person should know before paying for runs: the image was not seen, the reply
            is no JSON, parameters that the endpoint refused, a prompt that was cut.
        answered_by: The model id that the endpoint names.
        tokens_in, tokens_out: Of the probe, unusable answers included.
        cost: Of the probe [USD].
        latency_s: Wall time with all attempts [s].
    """

    model: str
    base_url: str
    problem: str
    warnings: tuple[str, ...] = ()
    answered_by: str = ''
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    latency_s: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether runs can be started."""
        return not self.problem


def probe(
    preset: ModelPreset,
    *,
    base_url: str = '',
    call_timeout_s: float = 60.0,
    deadline_s: float = 180.0,
    max_retries: int = 3,
    environ: Mapping[str, str] | None = None,
    clock: Callable[[], float] = time.monotonic,
    wait: Callable[[float], bool] | None = None,
) -> ProbeResult:
    """Ask a model one question about one small image.

    Args:
        preset: The model.
        base_url: Instead of the preset's.
        call_timeout_s: Wall time that one attempt may take [s].
        deadline_s: Wall time of the whole probe [s].
        max_retries: Further attempts, see `make_model`.
        environ: Where the key is looked up; the process's environment when not given.
        clock: Steady time [s].
        wait: Sleeps, see `OpenAIModel`.

    Raises:
        OceanGymError: The key is missing, an argument is out of range, or the environment names a
            proxy that cannot be used.
    """
    budget = Budget()
    started = clock()
    with make_model(
        preset,
        base_url=base_url,
        call_timeout_s=call_timeout_s,
        max_retries=max_retries,
        budget=budget,
        environ=environ,
        clock=clock,
        wait=wait,
    ) as model:
        reply, problem = None, ''
        try:
            reply = model.complete(_request(preset), deadline_s=deadline_s)
            if reply.problem:
                problem = f'{preset.id} at {model.base_url} gives no whole reply. {reply.problem}'
        except NoReply as error:
            problem = str(error)
        return ProbeResult(
            model=preset.id,
            base_url=model.base_url,
            problem=problem,
            warnings=() if reply is None else _warnings(reply, preset),
            answered_by='' if reply is None else reply.model,
            tokens_in=budget.tokens_in,
            tokens_out=budget.tokens - budget.tokens_in,
            cost=budget.cost,
            latency_s=clock() - started,
        )


def _request(preset: ModelPreset) -> ChatRequest:
    image = np.zeros((SIDE_PX, SIDE_PX, 3), np.uint8)
    image[..., 0] = 230
    shown = encode(image, name='probe', size=SIDE_PX, format=preset.image_format)
    parts = (TextPart(text=QUESTION), *((shown,) if preset.max_images else ()))
    return ChatRequest(messages=(ChatMessage(role=Role.USER, parts=parts),), schema=SCHEMA)


def _warnings(reply: ChatReply, preset: ModelPreset) -> tuple[str, ...]:
    found = list(reply.notes)
    if preset.max_images and COLOUR not in reply.text.lower():
        found.append(
            f'the image was not seen: asked for the colour of a {COLOUR} one, it said '
            f'{reply.text[:80]!r}'
        )
    try:
        is_object = isinstance(json.loads(reply.text), dict)
    except (ValueError, RecursionError):
        is_object = False
    if preset.json_mode != 'none' and not is_object:
        found.append(f'json_mode is {preset.json_mode!r}, and the reply is no JSON object')
    return tuple(found)
