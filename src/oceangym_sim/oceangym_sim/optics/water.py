"""Water optics: attenuation along a sight line, veil, ambient light by depth and surface state.

The three channels are R (600-650 nm), G (525-550 nm) and B (450-475 nm), in this order everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_core.config.waters import Water
from oceangym_core.errors import OceanGymError
from oceangym_sim.optics.jerlov import ABSORPTION, channels, JERLOV_TYPES, KD, SCATTERING

__all__ = ['JERLOV_TYPES', 'WaterOptics', 'jerlov_kd', 'veil_phase']

Array = NDArray[np.float64]

# Luminous weights of the linear sRGB primaries (ITU-R BT.709).
LUMINOUS_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])
REFERENCE_DEPTH = 50.0
WATER_INDEX = 1.34
# Visibility is the range at which a black target's contrast has fallen to 5 %, exp(-2.996): the
# meteorological optical range (WMO), with Koschmieder's law.
_KEPT = 0.05
_CONTRAST_THRESHOLD = 2.996
# Share of the scattered light that stays within a pixel's blur and still carries the object: the
# direct signal is attenuated less than the veil builds up. Divers see a black disk to 4.8 / c
# (Davies-Colley 1988), a fifth farther than 2 % contrast over c = a + b alone.
FORWARD_SHARE = 0.2
# A wide lamp beam keeps most of its forward-scattered light (Henyey-Greenstein g = 0.924).
LAMP_FORWARD_SHARE = 0.8
# Petzold's particles send 1.8 % of what they scatter into the back half-space [1/sr].
LAMP_PHASE = 0.018 / (2.0 * math.pi)
# The water within this distance of a lamp is the vehicle's frame [m].
LAMP_RADIUS = 0.5
# Reflectance of the object that visibility by lamp light is told by.
_LAMP_LIT = 0.3
# Asymmetry of the ambient in-scatter after multiple scattering: looking up is about 6 times as
# bright as looking level, level twice as bright as down.
VEIL_ASYMMETRY = 0.4
# Slant of the sun's light spreads over this depth into the diffuse light [m].
SUN_DIFFUSION_DEPTH = 60.0
# Sun's share of the light just below a calm surface under a clear sky, sun high.
_SUN_SHARE = 0.55


def jerlov_kd(jerlov: str) -> Array:
    """Return Kd [1/m] of R, G, B, (3,), each the mean of the two tabled wavelengths."""
    return channels(KD, jerlov)


@dataclass(frozen=True, kw_only=True)
class WaterOptics:
    """What the water does to light.

    Attributes:
        jerlov: Jerlov type, which sets diffuse attenuation, absorption and scattering.
        light_lux: Daylight at map z = -50 without a depth offset [lux].
        depth_offset: Added to the depth for light [m]; map z stays.
        lamps: Level of the vehicle's lamps 0..1 at the start of an episode.
        visibility: Scales the type's scattering; None: the type's own. In daylight the range [m] at
            which a black target keeps 5 % contrast; with lamps on the range at which the light of
            a lamp-lit grey object has fallen to 5 % of the lamps' own glow in the water.
        sun_elevation: Of the sun above the horizon [rad]; not above it: only the sky's light.
        wind: Wind speed over the surface [m/s], which sets the slope of its waves.
        snow: Marine snow, aggregates over half a millimetre in a cubic metre [1/m3].
    """

    jerlov: str = 'IB'
    light_lux: float = 10.0
    depth_offset: float = 0.0
    lamps: float = 0.0
    visibility: float | None = None
    sun_elevation: float = math.radians(45.0)
    wind: float = 4.0
    snow: float = 50.0

    def __post_init__(self) -> None:
        jerlov_kd(self.jerlov)
        for name in ('light_lux', 'depth_offset', 'wind', 'snow'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise OceanGymError(f'water {name}: {value!r} must be a number >= 0.')
        if not 0.0 <= self.lamps <= 1.0:
            raise OceanGymError(f'water lamps: {self.lamps!r} must lie in 0..1.')
        if not -math.pi / 2 <= self.sun_elevation <= math.pi / 2:
            raise OceanGymError(
                f'water sun_elevation: {self.sun_elevation!r} rad must lie in -pi/2..pi/2.'
            )
        if self.visibility is None:
            return
        clearest = _CONTRAST_THRESHOLD / float(self.absorption.min())
        if not 0.1 <= self.visibility < clearest:
            raise OceanGymError(
                f'water visibility: {self.visibility!r} m must lie in 0.1..{clearest:.0f} m for '
                f'Jerlov type {self.jerlov} (absorption alone allows no more).'
            )

    @classmethod
    def of(cls, water: Water) -> WaterOptics:
        """Return the optics of a water's description."""
        return cls(
            jerlov=water.jerlov,
            light_lux=water.light_lux,
            depth_offset=water.depth_offset,
            lamps=1.0 if water.lamps else 0.0,
            visibility=water.visibility,
            sun_elevation=math.radians(water.sun_elevation_deg),
            wind=water.wind,
            snow=water.marine_snow,
        )

    @cached_property
    def kd(self) -> Array:
        """Diffuse attenuation of daylight by depth [1/m], (3,)."""
        return jerlov_kd(self.jerlov)

    @cached_property
    def absorption(self) -> Array:
        """Absorption a [1/m], (3,)."""
        return channels(ABSORPTION, self.jerlov)

    @cached_property
    def scattering(self) -> Array:
        """Scattering b [1/m], (3,): the type's spectrum, scaled to the visibility."""
        table = channels(SCATTERING, self.jerlov)
        if self.visibility is None:
            return table
        if self.lamps > 0.0:
            return table * self._lamp_turbidity(table, self.visibility)
        # The channel that sees farthest reaches the threshold, no channel sees farther.
        wanted = _CONTRAST_THRESHOLD / self.visibility
        factor = np.max((wanted - self.absorption) / ((1.0 - FORWARD_SHARE) * table))
        scaled: Array = factor * table
        return scaled

    def _lamp_turbidity(self, table: Array, visibility: float) -> float:
        """Return the factor on the scattering at which lamp light reaches the visibility."""
        low, high = 1e-4, 1e4
        for _ in range(60):
            middle = math.sqrt(low * high)
            if self._lamp_contrast(middle * table, visibility) > _KEPT:
                low = middle
            else:
                high = middle
        return low

    def _lamp_contrast(self, scattering: Array, distance: float) -> float:
        """Return a lamp-lit object's light over the glow in front of it, in the best channel.

        With the lamps at the camera both grow with the lamps' intensity: it cancels. The glow is
        the integral of b p / (s^2 + r^2), attenuation aside.
        """
        both = 2.0 * self.absorption + (2.0 - FORWARD_SHARE - LAMP_FORWARD_SHARE) * scattering
        own = _LAMP_LIT / math.pi * np.exp(-both * distance) / distance**2
        glow = scattering * LAMP_PHASE * math.atan(distance / LAMP_RADIUS) / LAMP_RADIUS
        return float((own / glow).max())

    @cached_property
    def beam_attenuation(self) -> Array:
        """Beam attenuation c = a + b [1/m], (3,): what builds the veil up."""
        return self.absorption + self.scattering

    @cached_property
    def direct_attenuation(self) -> Array:
        """Attenuation of an object's own light on the way to the camera [1/m], (3,)."""
        return self.absorption + (1.0 - FORWARD_SHARE) * self.scattering

    @cached_property
    def lamp_attenuation(self) -> Array:
        """Attenuation of lamp light on its way out [1/m], (3,)."""
        return self.absorption + (1.0 - LAMP_FORWARD_SHARE) * self.scattering

    @property
    def sight(self) -> float:
        """Range at which a black target keeps 5 % contrast in daylight [m]."""
        return _CONTRAST_THRESHOLD / float(self.direct_attenuation.min())

    @cached_property
    def surface_irradiance(self) -> Array:
        """Downwelling white irradiance just below the surface [lux per channel], (3,)."""
        at_reference = float(LUMINOUS_WEIGHTS @ np.exp(-self.kd * REFERENCE_DEPTH))
        return np.full(3, self.light_lux / at_reference)

    def irradiance(self, z: ArrayLike) -> Array:
        """Return the downwelling irradiance [lux per channel], (..., 3), at map z [m]."""
        depth = np.maximum(-np.asarray(z, dtype=float), 0.0) + self.depth_offset
        light: Array = self.surface_irradiance * np.exp(-self.kd * depth[..., None])
        return light

    def lux(self, z: ArrayLike) -> Array:
        """Return the illuminance [lux] at map z [m]."""
        total: Array = self.irradiance(z) @ LUMINOUS_WEIGHTS
        return total

    @cached_property
    def sun_direction(self) -> tuple[float, float, float]:
        """Unit vector in map towards the refracted sun (Snell); it stands in the north-east."""
        away = math.cos(max(self.sun_elevation, 0.0)) / WATER_INDEX
        up = math.sqrt(1.0 - away * away)
        return away * math.sqrt(0.5), away * math.sqrt(0.5), up

    def sun_share(self, z: float) -> float:
        """Return the share of the downwelling light that still comes from the sun's direction."""
        depth = max(-z, 0.0) + self.depth_offset
        high = math.sqrt(max(math.sin(self.sun_elevation), 0.0))
        return _SUN_SHARE * high * math.exp(-depth / SUN_DIFFUSION_DEPTH)

    @property
    def wave_slope(self) -> float:
        """Root mean square slope of the surface (Cox and Munk 1954, clean surface)."""
        return math.sqrt(0.003 + 0.00512 * self.wind)

    def veil_rate(self, upward: float) -> Array:
        """Return the rate bB [1/m], (3,), at which the veil builds up along a sight line.

        Integrating b p E(z(s)) exp(-c s) ds with E growing by exp(Kd s upward) along the line gives
        (1 - exp(-bB s)) / bB with bB = c - Kd upward, which differs from the attenuation of the
        direct signal (Akkaynak and Treibitz 2018).

        Args:
            upward: z component of the unit viewing direction.
        """
        return self.beam_attenuation - self.kd * upward

    def veil_source(self, upward: float) -> Array:
        """Return b p(upward) [1/m/sr], (3,): radiance scattered into the line per metre and lux."""
        return self.scattering * veil_phase(upward)

    def veiling_light(self, z: float, upward: float, distance: float) -> Array:
        """Return the veil [lux/sr per channel], (3,), over a sight line of this length [m]."""
        rate = self.veil_rate(upward)
        # In the clearest types daylight grows faster upwards than the line attenuates it.
        small = np.abs(rate * distance) < 1e-6
        safe = np.where(small, 1.0, rate)
        path = np.where(small, distance, -np.expm1(-safe * distance) / safe)
        veil: Array = self.veil_source(upward) * self.irradiance(z) * path
        return veil


def veil_phase(upward: float) -> float:
    """Return the in-scatter phase function [1/sr] towards a viewing direction (Henyey-Greenstein)."""
    g = VEIL_ASYMMETRY
    return (1.0 - g * g) / (4.0 * math.pi * math.pow(1.0 + g * g - 2.0 * g * upward, 1.5))
