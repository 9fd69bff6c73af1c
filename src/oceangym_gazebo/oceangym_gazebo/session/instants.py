"""Gathers the messages of one instant from sensors that send them one by one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

Part = TypeVar('Part')

# Instants that are waited for at once: one is being sent, one may have lost a message.
_HELD = 3


class Instants(Generic[Part]):
    """Hands out an instant once all its parts are there; one that stays incomplete is dropped.

    Args:
        names: Of the parts.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self._open: dict[int, dict[str, Part]] = {}
        self.dropped = 0

    def add(self, stamp: int, name: str, part: Part) -> dict[str, Part] | None:
        """Take a part of the instant `stamp` [ns]; return all parts where this was the last one."""
        parts = self._open.setdefault(stamp, {})
        parts[name] = part
        if self._names <= parts.keys():
            self._drop(s for s in tuple(self._open) if s < stamp)
            return self._open.pop(stamp)
        if len(self._open) > _HELD:
            self._drop([min(self._open)])
        return None

    def _drop(self, stamps: Iterable[int]) -> None:
        for stamp in stamps:
            del self._open[stamp]
            self.dropped += 1
