"""What an operator asks after a mission: collisions, bounds, stand-off, path."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oceangym_core.record.episode import Episode
from oceangym_core.record.schema import RecordedContact

# Contacts with one instance closer in time than this are one collision [s].
DEBOUNCE_S = 3.0


@dataclass(frozen=True, kw_only=True)
class SafetyReport:
    """Counts over an episode; speeds [m/s], times [s], lengths [m]."""

    collisions: int
    collided_with: tuple[str, ...]
    hardest_contact: float
    boundary_events: int
    standoff_events: int
    standoff_seconds: float
    path_length: float


def debounce(contacts: tuple[RecordedContact, ...]) -> tuple[RecordedContact, ...]:
    """Return one contact per bump: those that begin more than 3 s after the last with an instance."""
    last: dict[str, float] = {}
    bumps = []
    for contact in sorted(contacts, key=lambda c: c.stamp):
        if contact.stamp - last.get(contact.instance, -np.inf) > DEBOUNCE_S:
            bumps.append(contact)
        last[contact.instance] = contact.stamp
    return tuple(bumps)


def path_length(episode: Episode) -> float:
    """Return the length of the true trajectory [m], 0 without truth."""
    positions = episode.trajectory[:, 1:4]
    return float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())


def assess_safety(episode: Episode) -> SafetyReport:
    """Return an episode's safety figures."""
    bumps = debounce(tuple(c for step in episode.steps for c in step.contacts))
    return SafetyReport(
        collisions=len(bumps),
        collided_with=tuple(sorted({bump.instance for bump in bumps})),
        hardest_contact=max((bump.speed for bump in bumps), default=0.0),
        boundary_events=sum(step.boundary for step in episode.steps),
        standoff_events=sum(step.standoff.events for step in episode.steps),
        standoff_seconds=sum(step.standoff.seconds for step in episode.steps),
        path_length=path_length(episode),
    )
