"""Refuses sonars that cannot be, before they cost memory, time or a run's meaning."""

from __future__ import annotations

from dataclasses import dataclass
import math

from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What a number may be: `low` to `high`, both included, in `unit`s of `scale`."""

    low: float
    high: float
    unit: str
    scale: float = 1.0

    def check(self, owner: str, name: str, value: float) -> None:
        """Raise an OceanGymError unless a value lies within."""
        shown = value / self.scale
        if not (math.isfinite(shown) and self.low <= shown <= self.high):
            unit = f' {self.unit}' if self.unit else ''
            raise OceanGymError(
                f'{owner}: {name} is {shown:g}{unit}; give {self.low:g} to {self.high:g}{unit}'
            )


LIMITS = {
    'range_min': Limit(low=0.0, high=999.0, unit='m'),
    'range_max': Limit(low=0.1, high=1000.0, unit='m'),
    'range_bins': Limit(low=2, high=8192, unit=''),
    'beams': Limit(low=2, high=4096, unit=''),
    'elevation_rays': Limit(low=1, high=1024, unit=''),
    'azimuth_aperture': Limit(low=0.1, high=360.0, unit='deg', scale=math.pi / 180.0),
    'elevation_aperture': Limit(low=0.1, high=170.0, unit='deg', scale=math.pi / 180.0),
    'frequency': Limit(low=10.0, high=5000.0, unit='kHz', scale=1e3),
    'sound_speed': Limit(low=1350.0, high=1650.0, unit='m/s'),
}
# Shortest range bin [m]: a tenth of the finest that imaging sonars resolve.
SHORTEST_BIN = 2.5e-4
# Cells of one polar image.
MOST_CELLS = 8_000_000


def check_spec(spec: SonarSpec) -> None:
    """Refuse a sonar with numbers out of range, naming the number, what it may be and a remedy.

    Raises:
        OceanGymError: It cannot be simulated.
    """
    owner = f'sonar {spec.direction}'
    for name, limit in LIMITS.items():
        limit.check(owner, name, getattr(spec, name))
    if spec.range_min >= spec.range_max:
        raise OceanGymError(
            f'{owner}: range_min {spec.range_min:g} m is not below range_max '
            f'{spec.range_max:g} m; swap them or lengthen the range'
        )
    if spec.range_resolution < SHORTEST_BIN:
        raise OceanGymError(
            f'{owner}: {spec.range_bins} bins over {spec.range_max - spec.range_min:g} m are '
            f'{spec.range_resolution * 1e3:.3g} mm each, finer than {SHORTEST_BIN * 1e3:g} mm; '
            f'give fewer range_bins'
        )
    if spec.range_bins * spec.beams > MOST_CELLS:
        raise OceanGymError(
            f'{owner}: {spec.range_bins} bins times {spec.beams} beams are more than {MOST_CELLS} '
            f'cells; give fewer range_bins or beams'
        )
