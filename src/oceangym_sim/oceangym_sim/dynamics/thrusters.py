"""Blue Robotics T200: thrust from throttle and voltage, its inverse, and power.

Numbers are the maker's public measurements of September 2019. The 16 V curve is interpolated
monotonically through the table; other voltages scale it to their own measured ends and dead band.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import PchipInterpolator

from oceangym_core.geometry import Array, Pose

# Pulse width minus 1500 [us] -> thrust [N] at 16 V.
_PULSE = np.array([-400, -300, -200, -100, -40, -28, 28, 40, 100, 200, 300, 400], dtype=float)
_THRUST_16V = np.array([-39.9, -26.6, -14.1, -4.72, -0.67, 0.0, 0.0, 0.76, 5.92, 17.9, 33.5, 51.4])
_FULL_PULSE = 400.0
ROTOR_DIAMETER = 0.076  # m
_NOMINAL_VOLTAGE = 16.0

_VOLTAGES = np.array([10.0, 12.0, 14.0, 16.0, 18.0, 20.0])
_FULL_FORWARD = np.array([28.7, 36.4, 44.4, 51.4, 59.0, 65.9])
_FULL_REVERSE = np.array([22.6, 28.6, 34.5, 39.9, 45.0, 49.4])
# Half width of the dead band [us]: 1464-1536 at 12 V, 1468-1532 at 14 V, 1472-1528 at 16 V; linear.
_DEAD_BAND_16V, _DEAD_BAND_SLOPE = 28.0, -2.0

# Electrical power at full throttle and 16 V [W]; between, power goes with thrust^1.5 as for any
# propeller at rest (thrust with n^2, power with n^3).
_FULL_POWER_FORWARD = 16.0 * 23.8
_FULL_POWER_REVERSE = 16.0 * 24.3
POWER_FORWARD = _FULL_POWER_FORWARD / 51.4**1.5
POWER_REVERSE = _FULL_POWER_REVERSE / 39.9**1.5

_SAMPLES = 801


def _sample_curve() -> Array:
    """Return the 16 V thrust at every microsecond of -400..400 (801,)."""
    pulse = np.linspace(-_FULL_PULSE, _FULL_PULSE, _SAMPLES)
    thrust = np.zeros(_SAMPLES)
    reverse, forward = slice(0, 6), slice(6, 12)
    ahead, astern = pulse > _DEAD_BAND_16V, pulse < -_DEAD_BAND_16V
    thrust[ahead] = PchipInterpolator(_PULSE[forward], _THRUST_16V[forward])(pulse[ahead])
    thrust[astern] = PchipInterpolator(_PULSE[reverse], _THRUST_16V[reverse])(pulse[astern])
    return thrust


CURVE_16V: Array = _sample_curve()


@dataclass(frozen=True)
class VoltageScale:
    """How the 16 V curve changes with supply voltage: thrust factors and dead band [us]."""

    forward: float
    reverse: float
    dead_band: float


def voltage_scale(voltage: float) -> VoltageScale:
    """Return the scale of a supply voltage [V], clamped to the measured 10..20 V."""
    v = float(np.clip(voltage, _VOLTAGES[0], _VOLTAGES[-1]))
    return VoltageScale(
        forward=float(np.interp(v, _VOLTAGES, _FULL_FORWARD) / 51.4),
        reverse=float(np.interp(v, _VOLTAGES, _FULL_REVERSE) / 39.9),
        dead_band=_DEAD_BAND_16V + _DEAD_BAND_SLOPE * (v - _NOMINAL_VOLTAGE),
    )


def thrust_limits(voltage: float = _NOMINAL_VOLTAGE) -> tuple[float, float]:
    """Return the thrust [N] at full reverse (negative) and full forward throttle."""
    scale = voltage_scale(voltage)
    return -39.9 * scale.reverse, 51.4 * scale.forward


def steady_thrust(throttle: ArrayLike, voltage: float = _NOMINAL_VOLTAGE) -> Array:
    """Return the steady thrust [N] at a throttle of -1..1 (values beyond are clamped)."""
    scale = voltage_scale(voltage)
    pulse = np.clip(np.asarray(throttle, dtype=float), -1.0, 1.0) * _FULL_PULSE
    beyond = np.maximum(np.abs(pulse) - scale.dead_band, 0.0)
    stretch = (_FULL_PULSE - _DEAD_BAND_16V) / (_FULL_PULSE - scale.dead_band)
    at_16v = np.where(beyond > 0, _DEAD_BAND_16V + beyond * stretch, 0.0)
    index = np.sign(pulse) * at_16v + _FULL_PULSE
    thrust = np.interp(index, np.arange(_SAMPLES), CURVE_16V)
    scaled: Array = thrust * np.where(thrust > 0, scale.forward, scale.reverse)
    return scaled


def throttle_for(thrust: ArrayLike, voltage: float = _NOMINAL_VOLTAGE) -> Array:
    """Return the throttle -1..1 whose steady thrust is nearest to `thrust` [N].

    Zero thrust gives zero throttle; other values jump over the dead band.
    """
    scale = voltage_scale(voltage)
    wanted = np.asarray(thrust, dtype=float)
    at_16v = wanted / np.where(wanted > 0, scale.forward, scale.reverse)
    pulse_16v = np.where(
        wanted > 0,
        np.interp(at_16v, CURVE_16V[_POSITIVE], _INDEX[_POSITIVE]),
        np.interp(at_16v, CURVE_16V[_NEGATIVE], _INDEX[_NEGATIVE]),
    )
    stretch = (_FULL_PULSE - scale.dead_band) / (_FULL_PULSE - _DEAD_BAND_16V)
    beyond = (np.abs(pulse_16v) - _DEAD_BAND_16V) * stretch
    pulse = np.sign(wanted) * (scale.dead_band + np.maximum(beyond, 0.0))
    throttle: Array = np.where(wanted == 0, 0.0, pulse / _FULL_PULSE)
    return throttle


def submergence(pose: Pose, places: Sequence[tuple[float, float, float]]) -> Array:
    """Return the share of its thrust that each rotor gives near the surface (T,), 0..1.

    It falls from 1 to 0 while the rotor's disc rises through z = 0, as in the compiled dynamics.

    Args:
        pose: base_link in map.
        places: Of the rotors in base_link [m].
    """
    height = pose.apply(np.asarray(places, dtype=float).reshape(-1, 3))[:, 2]
    return np.clip(0.5 - height / ROTOR_DIAMETER, 0.0, 1.0)


def electrical_power(thrust: ArrayLike) -> Array:
    """Return the electrical power [W] that a thrust [N] takes."""
    t = np.asarray(thrust, dtype=float)
    power: Array = np.where(t > 0, POWER_FORWARD, POWER_REVERSE) * np.abs(t) ** 1.5
    return power


_INDEX: Array = np.arange(_SAMPLES, dtype=float) - _FULL_PULSE
_POSITIVE: NDArray[np.int64] = np.flatnonzero(_INDEX >= _DEAD_BAND_16V)
_NEGATIVE: NDArray[np.int64] = np.flatnonzero(_INDEX <= -_DEAD_BAND_16V)
