"""A model that answers from the trace of an interrupted episode, so that nothing is paid twice."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from dataclasses import replace
import hashlib
import json

from oceangym_agent.chat import ChatModel, ChatReply, ChatRequest, ImagePart, TextPart
from oceangym_agent.models.budget import Budget
from oceangym_agent.trace import TraceCall, TraceStep
from oceangym_core.files import utf8_text

NOTE = 'answered from the trace of the interrupted run'


class RecordedModel:
    """Gives the recorded reply to a request that was answered before; asks the model otherwise.

    A reply counts into the budget as it did then: the episode costs what it would have cost without
    the interruption. Equal requests are answered in the order of the trace.
    """

    def __init__(
        self, model: ChatModel, steps: Iterable[TraceStep], *, name: str, budget: Budget
    ) -> None:
        """Read the replies of a trace.

        Args:
            model: Asked where the trace has no answer.
            steps: Of the interrupted run.
            name: The endpoint's model id; replies to requests for another one are not used.
            budget: Of the episode.
        """
        self._model = model
        self._budget = budget
        self._replies: dict[str, deque[ChatReply]] = defaultdict(deque)
        for call in (call for step in steps for call in step.calls):
            if call.reply is not None and call.reply.parameters.get('model') == name:
                self._replies[_recorded_digest(call)].append(ChatReply(**call.reply.model_dump()))

    def complete(self, request: ChatRequest, *, deadline_s: float) -> ChatReply:
        """Return the recorded reply, or what the model answers; see `chat.ChatModel`."""
        replies = self._replies.get(request_digest(request))
        if not replies:
            return self._model.complete(request, deadline_s=deadline_s)
        self._budget.check()
        reply = replies.popleft()
        self._budget.spend(reply)
        return reply if NOTE in reply.notes else replace(reply, notes=(*reply.notes, NOTE))


def request_digest(request: ChatRequest) -> str:
    """Return the digest of everything that a request says and shows."""
    return _digest(
        (message.role.value, [_part(part) for part in message.parts])
        for message in request.messages
    )


def _part(part: TextPart | ImagePart) -> tuple[str, str]:
    if isinstance(part, TextPart):
        return 'text', utf8_text(part.text)
    return 'image', part.sha256


def _recorded_digest(call: TraceCall) -> str:
    return _digest(
        (
            message.role,
            [
                ('image', p.image.sha256) if p.image is not None else ('text', p.text or '')
                for p in message.parts
            ],
        )
        for message in call.messages
    )


def _digest(messages: Iterable[object]) -> str:
    return hashlib.sha256(json.dumps(list(messages)).encode()).hexdigest()
