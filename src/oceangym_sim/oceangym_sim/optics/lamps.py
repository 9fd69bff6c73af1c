"""The vehicle's lamps: where they sit, where they shine, how wide."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.errors import OceanGymError


@dataclass(frozen=True, kw_only=True)
class Lamp:
    """One lamp with the beam I(theta) = I0 max(cos theta, 0)^n.

    Attributes:
        position: In base_link [m].
        direction: Unit boresight in base_link.
        lumen: Luminous flux at full level [lm].
        half_angle: Off-axis angle at which the intensity is halved [rad].
    """

    position: tuple[float, float, float]
    direction: tuple[float, float, float]
    lumen: float = 1500.0
    half_angle: float = math.radians(45.0)

    def __post_init__(self) -> None:
        norm = math.sqrt(sum(c * c for c in self.direction))
        if not (math.isfinite(norm) and norm > 0.0):
            raise OceanGymError(f'lamp direction: {self.direction!r} must not be zero.')
        if not 0.0 < self.half_angle < math.pi / 2:
            raise OceanGymError(f'lamp half_angle: {self.half_angle!r} must lie in 0..pi/2 rad.')
        object.__setattr__(self, 'direction', tuple(c / norm for c in self.direction))

    @property
    def exponent(self) -> float:
        """The exponent n that halves the intensity at the half angle."""
        return math.log(0.5) / math.log(math.cos(self.half_angle))

    @property
    def peak_intensity(self) -> float:
        """On-axis intensity I0 [cd]: the flux over the beam's solid angle 2 pi / (n + 1)."""
        return self.lumen * (self.exponent + 1.0) / (2.0 * math.pi)


def default_lamps() -> tuple[Lamp, ...]:
    """Return the two forward lamps of the vehicle (1500 lm, wide, toed out, tilted down)."""
    toe, tilt = math.radians(20.0), math.radians(15.0)
    return tuple(
        Lamp(
            position=(0.25, side * 0.22, -0.05),
            direction=(
                math.cos(tilt) * math.cos(toe),
                side * math.cos(tilt) * math.sin(toe),
                -math.sin(tilt),
            ),
            half_angle=math.radians(55.0),
        )
        for side in (1.0, -1.0)
    )


def lamp_table(lamps: tuple[Lamp, ...]) -> NDArray[np.float32]:
    """Return (lamps, 8) rows: position, direction, peak intensity [cd], exponent."""
    rows = [
        [*lamp.position, *lamp.direction, lamp.peak_intensity, lamp.exponent] for lamp in lamps
    ]
    return np.asarray(rows, dtype=np.float32).reshape(len(lamps), 8)


def lamp_irradiance(
    table: NDArray[np.float32], points: NDArray[np.float64], attenuation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the lamps' irradiance [lux per channel] across their light at points, (N, 3).

    Args:
        table: Of `lamp_table`.
        points: (N, 3) in base_link [m].
        attenuation: (3,) of the lamp light on its way [1/m].
    """
    total = np.zeros((len(points), 3))
    for lamp in np.asarray(table, dtype=float):
        offset = points - lamp[:3]
        distance = np.maximum(np.linalg.norm(offset, axis=1), 0.05)
        cosine = np.maximum(offset @ lamp[3:6] / distance, 0.0)
        intensity = lamp[6] * cosine ** lamp[7]
        total += (intensity / distance**2)[:, None] * np.exp(-attenuation * distance[:, None])
    return total
