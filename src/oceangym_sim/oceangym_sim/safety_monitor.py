"""Counts collisions, stand-off violations and boundary crossings of one vehicle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from oceangym_core.contract.observation import Contact
from oceangym_core.geometry import Pose
from oceangym_core.world.distance import build_distance_field, DistanceField, nearest_obstacle
from oceangym_core.world.world import Anchor, Bounds, Instance, World
from oceangym_sim.dynamics.contact import HullContact

STAND_OFF_M = 10.0
# Leaving needs a little more than entering, so that hovering at the limit is one event.
STAND_OFF_RELEASE_M = 11.0
# One bump is one collision: touches of the same thing within this time belong together.
DEBOUNCE_S = 3.0
VEGETATION = 'vegetation'


@dataclass(frozen=True, kw_only=True)
class Tally:
    """What was counted since the last `SafetyMonitor.take`."""

    contacts: tuple[Contact, ...]
    standoff_events: int
    standoff_seconds: float
    boundary_events: int


class SafetyMonitor:
    """Watches one episode; rocks and structures count, the seabed and the targets do not."""

    def __init__(
        self,
        *,
        world: World,
        field: DistanceField,
        targets: Iterable[Anchor],
        bounds: Bounds,
        tick: float,
    ) -> None:
        """Prepare for an episode.

        Args:
            world: Where it takes place.
            field: The distance field whose instance indices the contacts carry.
            targets: Of the task; one may come near them.
            bounds: Operating volume in map.
            tick: Time between two updates [s].
        """
        own = {name for anchor in targets for name in anchor.instances}

        def counts(instance: Instance) -> bool:
            return instance.name not in own and instance.model.prop.prop_class != VEGETATION

        self._obstacles = build_distance_field(world, select=counts)
        self._field = field
        self.bounds = bounds
        self._tick = tick
        self._last_touch: dict[str, float] = {}
        self._inside = False
        self._contacts: list[Contact] = []
        self._events = 0
        self._ticks_inside = 0
        self._crossings = 0

    def update(
        self, *, stamp: float, pose: Pose, touched: Iterable[HullContact]
    ) -> tuple[Contact, ...]:
        """Take one tick into account and return the new collisions."""
        new: list[Contact] = []
        for touch in touched:
            name = self._field.name(touch.instance)
            if stamp - self._last_touch.get(name, -np.inf) > DEBOUNCE_S:
                new.append(Contact(stamp=stamp, instance=name, speed=round(touch.speed, 6)))
            self._last_touch[name] = stamp
        self._contacts += new
        x, y, z = pose.position
        distance = nearest_obstacle(x, y, z, self._obstacles.arrays)[0]
        if distance < STAND_OFF_M:
            self._ticks_inside += 1
            self._events += not self._inside
            self._inside = True
        elif distance > STAND_OFF_RELEASE_M:
            self._inside = False
        return tuple(new)

    def count_boundary(self) -> None:
        """Take down a crossing of the bounds."""
        self._crossings += 1

    def take(self) -> Tally:
        """Return what was counted since the last call, and start anew."""
        tally = Tally(
            contacts=tuple(self._contacts),
            standoff_events=self._events,
            standoff_seconds=round(self._ticks_inside * self._tick, 6),
            boundary_events=self._crossings,
        )
        self._contacts, self._events, self._ticks_inside, self._crossings = [], 0, 0, 0
        return tally
