"""How sound fares on its way: absorption, spreading, the gain that undoes both, thruster noise."""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_sim.dynamics.thrusters import CURVE_16V

Grid = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class SeaWater:
    """What absorbs sound: temperature [deg C], salinity [g/kg], acidity (pH), depth [m]."""

    temperature: float = 10.0
    salinity: float = 35.0
    ph: float = 8.0
    depth: float = 50.0


# What a device's time-varied gain is set for.
NOMINAL_WATER = SeaWater()


def absorption_db(frequency: float, water: SeaWater = NOMINAL_WATER) -> float:
    """Return the absorption of sound in sea water [dB/m] (Ainslie and McColm 1998).

    Args:
        frequency: [Hz].
        water: Where the sound travels.
    """
    f, z, t = frequency / 1e3, water.depth / 1e3, water.temperature
    salinity, ph = water.salinity, water.ph
    boric = 0.78 * math.sqrt(salinity / 35.0) * math.exp(t / 26.0)
    magnesium = 42.0 * math.exp(t / 17.0)
    per_km = (
        0.106 * boric * f * f / (boric * boric + f * f) * math.exp((ph - 8.0) / 0.56)
        + 0.52
        * (1.0 + t / 43.0)
        * (salinity / 35.0)
        * magnesium
        * f
        * f
        / (magnesium * magnesium + f * f)
        * math.exp(-z / 6.0)
        + 0.00049 * f * f * math.exp(-(t / 27.0 + z / 17.0))
    )
    return per_km / 1e3


def transmission_loss(distance: Grid, absorption: float) -> Grid:
    """Return the two-way loss of a Lambert cell's echo as power, with `absorption` in dB/m.

    Spreading costs 20 log r each way. A cell that fills its share of the beam grows with r^2, so
    20 log r + 2 a r remains of 40 log r + 2 a r; of a thing smaller than the beam fewer cells see
    something at a longer range, and its echo falls with 40 log r + 2 a r.
    """
    r = np.maximum(distance, 1e-3)
    loss: Grid = (10.0 ** (-0.2 * absorption * r) / (r * r)).astype(np.float32)
    return loss


def time_varied_gain(distance: Grid, absorption: float) -> Grid:
    """Return the receiver's gain over range as power: 20 log r + 2 a r."""
    gain: Grid = (1.0 / transmission_loss(distance, absorption)).astype(np.float32)
    return gain


# At what frequency presets state the thrusters' noise [Hz].
THRUSTER_NOISE_FREQUENCY = 900e3


def thruster_noise_share(thrust: ArrayLike) -> float:
    """Return the noise power of a vehicle's thrusters over that of all of them at full throttle.

    Propeller noise grows with 60 log of the tip speed (D. Ross, Mechanics of Underwater Noise, 1976,
    for cavitating propellers) and thrust with the square of it: noise power goes with thrust cubed.
    A tenth of full thrust is 30 dB quieter than full throttle.

    Args:
        thrust: Of each thruster [N], ahead positive, (T,).
    """
    newton = np.asarray(thrust, dtype=np.float64)
    if newton.size == 0:
        return 0.0
    full = np.where(newton >= 0.0, CURVE_16V[-1], CURVE_16V[0])
    return float(np.mean((newton / full) ** 3))


def thruster_noise_slope_db(frequency: float) -> float:
    """Return thruster noise at a frequency [Hz] relative to `THRUSTER_NOISE_FREQUENCY` [dB].

    Above its peak at some hundred hertz the noise of cavitation falls by 6 dB an octave (Ross 1976).
    """
    return -20.0 * math.log10(frequency / THRUSTER_NOISE_FREQUENCY)
