"""Limits on what an episode may take."""

from __future__ import annotations

import math
import threading

from oceangym_agent.chat import BudgetExhausted, ChatReply
from oceangym_core.errors import OceanGymError


class Budget:
    """Counts what calls take and says when a limit is reached; one per episode.

    The call that crosses a limit is still answered, so that a budget is exceeded by one call at
    most.
    """

    def __init__(
        self,
        *,
        max_cost: float | None = None,
        max_tokens: int | None = None,
        max_wall_s: float | None = None,
        max_decisions: int | None = None,
    ) -> None:
        """Set limits; None for none.

        Args:
            max_cost: [USD].
            max_tokens: Input and output together.
            max_wall_s: Wall time of the episode [s].
            max_decisions: Decisions of the episode.
        """
        limits = {
            'max_cost': max_cost,
            'max_tokens': max_tokens,
            'max_wall': max_wall_s,
            'max_decisions': max_decisions,
        }
        for name, limit in limits.items():
            if limit is not None and not (math.isfinite(limit) and limit > 0):
                raise OceanGymError(f'{name}:={limit} must be a number above 0, or empty')
        self._max_cost = max_cost
        self._max_tokens = max_tokens
        self._max_wall_s = max_wall_s
        self._max_decisions = max_decisions
        self._lock = threading.Lock()
        self._cost = 0.0
        self._tokens = 0
        self._tokens_in = 0
        self._calls = 0

    @property
    def cost(self) -> float:
        """Spent so far [USD]."""
        return self._cost

    @property
    def tokens(self) -> int:
        """Input and output tokens so far."""
        return self._tokens

    @property
    def tokens_in(self) -> int:
        """Input tokens so far."""
        return self._tokens_in

    @property
    def calls(self) -> int:
        """Answered calls so far."""
        return self._calls

    def spend(self, reply: ChatReply) -> None:
        """Count one answered call."""
        with self._lock:
            self._cost += reply.cost
            self._tokens += reply.tokens_in + reply.tokens_out
            self._tokens_in += reply.tokens_in
            self._calls += 1

    def check(self, *, decisions: int = 0, wall_s: float = 0.0) -> None:
        """Make sure that another call or decision is within the limits.

        Args:
            decisions: Decisions made so far.
            wall_s: Wall time since the episode began [s].

        Raises:
            BudgetExhausted: A limit is reached; the message says which and what raises it.
        """
        after = f'after {self._calls} calls'
        if self._max_cost is not None and self._cost >= self._max_cost:
            raise BudgetExhausted(
                f'the cost limit of {self._max_cost:g} USD is reached: {self._cost:.4f} USD {after}; '
                'max_cost:= raises it'
            )
        if self._max_tokens is not None and self._tokens >= self._max_tokens:
            raise BudgetExhausted(
                f'the limit of {self._max_tokens} tokens is reached: {self._tokens} {after}; '
                'max_tokens:= raises it'
            )
        if self._max_wall_s is not None and wall_s >= self._max_wall_s:
            raise BudgetExhausted(
                f'the limit of {self._max_wall_s:g} s of wall time is reached {after}; '
                'max_wall:= raises it'
            )
        if self._max_decisions is not None and decisions >= self._max_decisions:
            raise BudgetExhausted(
                f'the limit of {self._max_decisions} decisions is reached; max_decisions:= raises it'
            )
