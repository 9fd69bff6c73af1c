"""What is said to a model and what comes back: values shared by prompts, clients and the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
import hashlib
from typing import Any, Protocol

from oceangym_core.contract.decisions import Decision
from oceangym_core.errors import OceanGymError


class Role(str, Enum):
    """Who speaks."""

    SYSTEM = 'system'
    USER = 'user'
    ASSISTANT = 'assistant'


@dataclass(frozen=True, kw_only=True)
class TextPart:
    """A piece of text."""

    text: str


@dataclass(frozen=True, kw_only=True)
class ImagePart:
    """An encoded image.

    Attributes:
        name: What it shows, as a file name without suffix, e.g. ``camera_front``.
        data: The encoded file.
        media_type: ``image/jpeg`` or ``image/png``.
        width, height: [px].
    """

    name: str
    data: bytes = field(repr=False)
    media_type: str
    width: int
    height: int

    @property
    def sha256(self) -> str:
        """Hex digest of the encoded file."""
        return hashlib.sha256(self.data).hexdigest()


Part = TextPart | ImagePart


@dataclass(frozen=True, kw_only=True)
class ChatMessage:
    """One message; labels of images are text parts before them."""

    role: Role
    parts: tuple[Part, ...]


@dataclass(frozen=True, kw_only=True)
class ChatRequest:
    """One call.

    Attributes:
        messages: System message first.
        schema: JSON schema of the reply, for endpoints that can enforce one; None for free text.
    """

    messages: tuple[ChatMessage, ...]
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, kw_only=True)
class ChatReply:
    """What a model answered and what it took.

    Attributes:
        text: The visible reply; empty for a refusal without text.
        problem: Why it must not be acted on, as the model is told it: the endpoint marks it as cut,
            filtered or refused, or it is empty or calls a tool. Empty for a whole reply.
        model: The model id that the endpoint says answered.
        finish_reason: As the endpoint gives it, e.g. ``stop`` or ``length``.
        parameters: Sampling parameters that were sent.
        tokens_in, tokens_out: `tokens_out` counts hidden reasoning too.
        tokens_reasoning: The hidden part of `tokens_out`.
        cost: [USD].
        retries: Attempts after the first.
        latency_s: Wall time over all attempts [s].
        notes: What a reader of the numbers must know, e.g. that the tokens are an estimate.
    """

    text: str
    model: str
    problem: str = ''
    finish_reason: str = ''
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    tokens_reasoning: int = 0
    cost: float = 0.0
    retries: int = 0
    latency_s: float = 0.0
    notes: tuple[str, ...] = ()


class NoReply(OceanGymError):
    """A call without a reply, which ends an episode.

    Attributes:
        unusable: Answers within the call that were billed and could not be used; their texts say
            why, and there is nothing else to them than what they took.
        decision: Holds what was spent on the decision that could not be made; None for nothing.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.unusable: tuple[ChatReply, ...] = ()
        self.decision: Decision | None = None


class ModelUnavailable(NoReply):
    """The endpoint gave no usable answer within the deadline; the episode ends as ``error``.

    Attributes:
        retries: Attempts after the first.
    """

    def __init__(self, message: str, *, retries: int = 0) -> None:
        super().__init__(message)
        self.retries = retries


class BudgetExhausted(NoReply):
    """A limit on cost, tokens, wall time or decisions is reached; the episode ends as ``budget``."""


class ChatModel(Protocol):
    """Answers requests; blocks, so that callers run it in a thread of its own."""

    def complete(self, request: ChatRequest, *, deadline_s: float) -> ChatReply:
        """Return the reply.

        Args:
            request: What is asked.
            deadline_s: Wall time that this call may take with all its retries [s].

        Raises:
            ModelUnavailable: There was none within the deadline or the allowed retries.
            BudgetExhausted: The call may not be made.
        """
        ...
