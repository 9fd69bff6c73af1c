"""Water optics: Jerlov types, attenuation along a sight line, ambient light by depth.

The three channels are R (600-650 nm), G (525-550 nm) and B (450-475 nm), in this order everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_core.errors import OceanGymError, unknown_name

Array = NDArray[np.float64]

# Diffuse attenuation Kd [1/m] at 600, 650; 525, 550; 450, 475 nm. Types I-1C: Austin and Petzold
# 1984; 3C-9C: Jerlov 1976, Table XXVII.
_KD_TABLE: dict[str, tuple[float, float, float, float, float, float]] = {
    'I': (0.2408, 0.3559, 0.0504, 0.0640, 0.0176, 0.0184),
    'IA': (0.2437, 0.3601, 0.0545, 0.0674, 0.0257, 0.0250),
    'IB': (0.2471, 0.3652, 0.0596, 0.0715, 0.0355, 0.0330),
    'II': (0.2595, 0.3837, 0.0779, 0.0863, 0.0714, 0.0620),
    'III': (0.2826, 0.4181, 0.1120, 0.1139, 0.1381, 0.1160),
    '1C': (0.3057, 0.4525, 0.1461, 0.1415, 0.2048, 0.1700),
    '3C': (0.33, 0.46, 0.20, 0.19, 0.39, 0.29),
    '5C': (0.40, 0.54, 0.31, 0.30, 0.56, 0.43),
    '7C': (0.48, 0.63, 0.49, 0.46, 0.89, 0.71),
    '9C': (0.60, 0.76, 0.78, 0.63, 1.60, 1.23),
}
JERLOV_TYPES = tuple(_KD_TABLE)
_WAVELENGTHS = np.array([625.0, 537.5, 462.5])
# Luminous weights of the linear sRGB primaries (ITU-R BT.709).
LUMINOUS_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])
REFERENCE_DEPTH = 50.0
# Visibility is the range at which a black target's contrast has fallen to 5 %, exp(-2.996): the
# meteorological optical range (WMO), with Koschmieder's law.
_CONTRAST_THRESHOLD = 2.996
# Mean cosine of the downwelling light just below the surface (sun 45 deg from zenith, refracted).
_MEAN_COSINE = 0.86
# Share of the scattered light that stays within a pixel's blur and still carries the object: the
# direct signal is attenuated less than the veil builds up.
_FORWARD_SHARE = 0.2
# A wide lamp beam keeps most of its forward-scattered light (Henyey-Greenstein g = 0.924).
_LAMP_FORWARD_SHARE = 0.8
# Asymmetry of the ambient in-scatter after multiple scattering: looking up is about 6 times as
# bright as looking level, level twice as bright as down.
_VEIL_ASYMMETRY = 0.4


def jerlov_kd(jerlov: str) -> Array:
    """Return Kd [1/m] of R, G, B, (3,), each the mean of the two tabled wavelengths."""
    if jerlov not in _KD_TABLE:
        raise unknown_name('Jerlov water type', jerlov, JERLOV_TYPES)
    kd: Array = np.asarray(_KD_TABLE[jerlov]).reshape(3, 2).mean(axis=1)
    return kd


def kirk_absorption(kd: ArrayLike, scattering: ArrayLike) -> Array:
    """Return the absorption a [1/m] from Kd and scattering b [1/m].

    Kirk 1984: Kd mu = sqrt(a^2 + 0.256 a b), solved for a.
    """
    product = np.asarray(kd, dtype=float) * _MEAN_COSINE
    half = 0.128 * np.asarray(scattering, dtype=float)
    absorption: Array = np.sqrt(half * half + product * product) - half
    return absorption


@dataclass(frozen=True, kw_only=True)
class WaterOptics:
    """What the water does to light.

    Attributes:
        jerlov: Jerlov type, which sets the diffuse attenuation Kd.
        light_lux: Daylight at map z = -50 without a depth offset [lux].
        depth_offset: Added to the depth for light [m]; map z stays.
        lamps: Level of the vehicle's lamps 0..1 at the start of an episode.
        visibility: Range at which a black target keeps 5 % contrast in daylight [m]; sets the
            scattering.
    """

    jerlov: str = 'IB'
    light_lux: float = 10.0
    depth_offset: float = 0.0
    lamps: float = 0.0
    visibility: float = 80.0

    def __post_init__(self) -> None:
        jerlov_kd(self.jerlov)
        for name in ('light_lux', 'depth_offset'):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise OceanGymError(f'water {name}: {value!r} must be a number >= 0.')
        if not 0.0 <= self.lamps <= 1.0:
            raise OceanGymError(f'water lamps: {self.lamps!r} must lie in 0..1.')
        clearest = _CONTRAST_THRESHOLD / float(kirk_absorption(self.kd, 0.0).min())
        if not 0.1 <= self.visibility < clearest:
            raise OceanGymError(
                f'water visibility: {self.visibility!r} m must lie in 0.1..{clearest:.0f} m for '
                f'Jerlov type {self.jerlov} (absorption alone allows no more).'
            )

    @cached_property
    def kd(self) -> Array:
        """Diffuse attenuation of daylight by depth [1/m], (3,)."""
        return jerlov_kd(self.jerlov)

    @cached_property
    def scattering(self) -> Array:
        """Scattering b [1/m], (3,), falling as 1 / wavelength, from the visibility."""
        spectrum = 550.0 / _WAVELENGTHS
        wanted = _CONTRAST_THRESHOLD / self.visibility
        low, high = 0.0, 2.0 * wanted / (1.0 - _FORWARD_SHARE)
        for _ in range(60):
            middle = 0.5 * (low + high)
            if float(self._direct(middle * spectrum).min()) < wanted:
                low = middle
            else:
                high = middle
        return 0.5 * (low + high) * spectrum

    def _direct(self, scattering: Array) -> Array:
        return kirk_absorption(self.kd, scattering) + (1.0 - _FORWARD_SHARE) * scattering

    @cached_property
    def absorption(self) -> Array:
        """Absorption a [1/m], (3,)."""
        return kirk_absorption(self.kd, self.scattering)

    @cached_property
    def beam_attenuation(self) -> Array:
        """Beam attenuation c = a + b [1/m], (3,): what builds the veil up."""
        return self.absorption + self.scattering

    @cached_property
    def direct_attenuation(self) -> Array:
        """Attenuation of an object's own light on the way to the camera [1/m], (3,)."""
        return self._direct(self.scattering)

    @cached_property
    def lamp_attenuation(self) -> Array:
        """Attenuation of lamp light on its way out [1/m], (3,)."""
        return self.absorption + (1.0 - _LAMP_FORWARD_SHARE) * self.scattering

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
        return (
            self.veil_source(upward) * self.irradiance(z) * (1.0 - np.exp(-rate * distance)) / rate
        )


def veil_phase(upward: float) -> float:
    """Return the in-scatter phase function [1/sr] towards a viewing direction (Henyey-Greenstein)."""
    g = _VEIL_ASYMMETRY
    return (1.0 - g * g) / (4.0 * math.pi * math.pow(1.0 + g * g - 2.0 * g * upward, 1.5))


def veil_asymmetry() -> float:
    """Return the asymmetry g of the ambient in-scatter phase function."""
    return _VEIL_ASYMMETRY
