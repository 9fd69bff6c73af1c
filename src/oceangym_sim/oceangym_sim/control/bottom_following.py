"""Bottom following: holds an altitude above the seabed by the downward altimeter alone."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
import math

import numpy as np

from oceangym_core.contract.actions import FLOOR_ALTITUDE_M

_GAIN = 0.5  # 1/s: approach to the wanted height; with it, slowing down stays below 0.4 m/s2
_WINDOW_M = 1.5  # of way that the slope is fitted over
_SHORTEST_M = 0.4  # of way that gives a slope: the noise of a reading is 0.02 m
_CAUTION_M = 3.0
_LEASH_M = 0.6  # that the reference may be off the vehicle
_STEEPEST = math.tan(math.radians(60.0))


@dataclass(frozen=True, kw_only=True)
class Heave:
    """What the vehicle can do vertically: climb and dive rates [m/s] and acceleration [m/s2]."""

    climb: float
    dive: float
    acceleration: float


class BottomFollower:
    """The vertical reference of one way, and what the seabed leaves of the speed ahead.

    The seabed below is the depth less the altimeter's reading; its slope along the way is fitted to
    the readings of the last metre and a half, and is all that is known of what lies ahead. Height
    follows slope times speed, and the error with a gain. Within `_CAUTION_M` of `FLOOR_ALTITUDE_M`, or
    half of what the wanted altitude leaves, the speed ahead goes down to nothing. Without a return it
    holds its depth.

    Args:
        altitude: Wanted [m].
        height: z to begin with [m].
        heave: Limits.
        shallowest: Highest z [m].
    """

    def __init__(self, *, altitude: float, height: float, heave: Heave, shallowest: float) -> None:
        self._altitude, self._heave, self._shallowest = altitude, heave, shallowest
        self.height = height
        self.rate = self.change = 0.0
        self._readings: deque[tuple[float, float]] = deque()
        self._last_reading = math.nan
        self.slope = 0.0

    def share(self, along: float, z: float) -> float:
        """Return the share 0..1 of its speed that the clearance leaves the vehicle.

        Args:
            along: Way made [m].
            z: Where the vehicle is [m].
        """
        bed = self._bed(along)
        if bed is None:
            return 1.0
        caution = min((self._altitude - FLOOR_ALTITUDE_M) / 2, _CAUTION_M)
        return min(max((z - bed - FLOOR_ALTITUDE_M) / caution, 0.0), 1.0)

    def update(
        self, *, reading: float, along: float, z: float, speed: float, left: float, dt: float
    ) -> None:
        """Advance `height` [m], `rate` [m/s] and `change` [m/s2] by one tick.

        Args:
            reading: Of the altimeter [m]; inf without a return.
            along: Way made [m].
            z: Where the vehicle is [m].
            speed: Ahead [m/s].
            left: Time to come to rest in [s].
            dt: Of the tick [s].
        """
        self._note(reading, along, z)
        # A vehicle that cannot keep up is waited for.
        self.height = min(max(self.height, z - _LEASH_M), z + _LEASH_M)
        bed, heave = self._bed(along), self._heave
        wanted = 0.0
        if bed is not None:
            wanted = self.slope * speed + _GAIN * (bed + self._altitude - self.height)
        wanted = min(max(wanted, -heave.dive), heave.climb)
        wanted = min(wanted, _GAIN * max(self._shallowest - self.height, 0.0))
        rest = heave.acceleration * max(left, 0.0)
        wanted = min(max(wanted, -rest), rest)
        step = heave.acceleration * dt
        rate = min(max(wanted, self.rate - step), self.rate + step)
        self.change = (rate - self.rate) / dt
        self.rate = rate
        self.height += rate * dt

    def _note(self, reading: float, along: float, z: float) -> None:
        """Take in a reading; the same number again is the same echo."""
        if not math.isfinite(reading):
            self._readings.clear()
            self.slope, self._last_reading = 0.0, math.nan
            return
        if reading == self._last_reading:
            return
        self._last_reading = reading
        self._readings.append((along, z - reading))
        while self._readings[0][0] < along - _WINDOW_M:
            self._readings.popleft()
        ways, beds = np.array(self._readings).T
        if ways.max() - ways.min() >= _SHORTEST_M:
            off = ways - ways.mean()
            slope = float(off @ beds) / float(off @ off)
            self.slope = min(max(slope, -_STEEPEST), _STEEPEST)

    def _bed(self, along: float) -> float | None:
        """Return the seabed's z below [m], None without a return."""
        if not self._readings:
            return None
        way, bed = self._readings[-1]
        return bed + self.slope * (along - way)
