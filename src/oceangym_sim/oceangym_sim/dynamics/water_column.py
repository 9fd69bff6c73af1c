"""The water: density, gravity, current and pressure."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from oceangym_core.config.waters import Environment as NamedEnvironment
from oceangym_core.config.waters import Profile, Water
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array
from oceangym_core.rng import generator

ATMOSPHERE_PA = 101_325.0


@dataclass(frozen=True, kw_only=True)
class Current:
    """A horizontal current of constant speed whose set veers with depth and slowly with time.

    At height z and time t it flows towards ``heading + veer z + swing sin(2 pi t / period + phase)``.

    Attributes:
        speed: [m/s].
        heading: At the surface, counter-clockwise from east [rad].
        veer: Change of heading with height [rad/m].
        swing: Amplitude of the change with time [rad].
        period, phase: Of that change [s], [rad].
    """

    speed: float = 0.0
    heading: float = 0.0
    veer: float = 0.0
    swing: float = 0.0
    period: float = 1800.0
    phase: float = 0.0

    def __post_init__(self) -> None:
        """Refuse values that are not a current."""
        values = (self.speed, self.heading, self.veer, self.swing, self.period, self.phase)
        if not all(math.isfinite(v) for v in values) or not 0 <= self.speed <= 5:
            raise OceanGymError(f'current {values} must be finite, with a speed of 0..5 m/s')
        if self.period <= 0:
            raise OceanGymError(f'current period {self.period} s must be positive')

    @classmethod
    def of(cls, profile: Profile, seed: int) -> Current:
        """Return the current of a profile; what the profile leaves open is drawn from the seed."""
        spec, random = profile.current, generator(seed, 'current')
        heading = float(random.uniform(-math.pi, math.pi))
        phase = float(random.uniform(0.0, 2.0 * math.pi))
        return cls(
            speed=spec.speed,
            heading=heading if spec.direction_deg is None else math.radians(spec.direction_deg),
            veer=math.radians(spec.depth_veer_deg_per_m),
            swing=math.radians(spec.veer_deg),
            period=spec.veer_period_s,
            phase=phase,
        )

    @property
    def array(self) -> Array:
        """The numbers as the compiled step takes them: (6,), with the angular rate [rad/s]."""
        rate = 2 * math.pi / self.period
        return np.array([self.speed, self.heading, self.veer, self.swing, rate, self.phase])

    def velocity(self, z: float, time: float) -> tuple[float, float, float]:
        """Return the water's velocity in map [m/s] at height z [m] and time [s]."""
        swing = self.swing * math.sin(2 * math.pi * time / self.period + self.phase)
        angle = self.heading + self.veer * z + swing
        return self.speed * math.cos(angle), self.speed * math.sin(angle), 0.0


def current_in(water: Water, profile: Profile, seed: int) -> Current:
    """Return the current of an episode: the water's own, where it has one, else the profile's."""
    if isinstance(water, NamedEnvironment) and water.current is not None:
        profile = profile.model_copy(update={'current': water.current})
    return Current.of(profile, seed)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The water body; z = 0 is the surface.

    Attributes:
        density: [kg/m3]. Sea water at 1025: the von Benzon volume then floats with 2.3 N; in fresh
            water (1000) it sinks with 1.0 N.
        gravity: [m/s2].
        depth_offset: Added to the depth for pressure and light only [m].
        current: See `Current`.
    """

    density: float = 1025.0
    gravity: float = 9.81
    depth_offset: float = 0.0
    current: Current = Current()

    def __post_init__(self) -> None:
        """Refuse values that are not water."""
        if not 500 <= self.density <= 2000:
            raise OceanGymError(f'density {self.density} kg/m3 is outside 500..2000')
        if not 0 < self.gravity <= 30:
            raise OceanGymError(f'gravity {self.gravity} m/s2 is outside 0..30')
        if not 0 <= self.depth_offset <= 12_000:
            raise OceanGymError(f'depth_offset {self.depth_offset} m is outside 0..12000')

    def pressure(self, z: float) -> float:
        """Return the absolute pressure [Pa] at height z [m]: hydrostatic below the surface."""
        depth = self.depth_offset - z
        return ATMOSPHERE_PA + self.density * self.gravity * max(depth, 0.0)
