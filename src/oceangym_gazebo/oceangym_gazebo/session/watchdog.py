"""Notices who has fallen silent. Time is an argument: of a clock that never stops."""

from __future__ import annotations

from collections.abc import Iterable


class Watchdog:
    """Knows since when each source has been silent.

    Args:
        sources: Who has to be heard.
        patience: How long one may be silent [s].
    """

    def __init__(self, sources: Iterable[str], *, patience: float) -> None:
        self._patience = patience
        self._heard: dict[str, float | None] = dict.fromkeys(sources)

    @property
    def awaited(self) -> tuple[str, ...]:
        """Who has never been heard."""
        return tuple(name for name, last in self._heard.items() if last is None)

    def heard(self, source: str, now: float) -> None:
        """Take down that a source was heard at a time [s]."""
        self._heard[source] = now

    def silent(self, now: float) -> dict[str, float]:
        """Return who has fallen silent, and for how long [s]; not who has never been heard."""
        ages = {name: now - last for name, last in self._heard.items() if last is not None}
        return {name: age for name, age in ages.items() if age > self._patience}
