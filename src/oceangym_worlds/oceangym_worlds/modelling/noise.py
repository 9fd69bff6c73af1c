"""Gradient noise: smooth, deterministic random fields, tileable on request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_core.rng import generator

Array = NDArray[np.float64]

_LATTICE = 256


@dataclass(frozen=True)
class Noise:
    """Perlin's gradient noise of one named stream of a seed, about -1..1, standard deviation near 0.4.

    Ken Perlin, Improving Noise (2002): quintic fade, gradients on a permuted lattice.
    """

    permutation: NDArray[np.int64]
    gradients: Array

    @classmethod
    def of(cls, seed: int, stream: str) -> Noise:
        """Build the noise of one stream."""
        rng = generator(seed, f'noise/{stream}')
        angles = rng.uniform(0.0, 2.0 * np.pi, _LATTICE)
        return cls(rng.permutation(_LATTICE), np.stack([np.cos(angles), np.sin(angles)], axis=-1))

    def at(
        self, x: ArrayLike, y: ArrayLike, wavelength: float, *, period: int = _LATTICE
    ) -> Array:
        """Return the noise at points x, y [m] (broadcast) for cells of `wavelength` [m].

        The field repeats after `period` cells (at most 256), which makes a texture seamless.
        """
        u, v = np.broadcast_arrays(np.asarray(x) / wavelength, np.asarray(y) / wavelength)
        i, j = np.floor(u), np.floor(v)
        fu, fv = u - i, v - j
        i0, j0 = i.astype(np.int64) % period, j.astype(np.int64) % period
        i1, j1 = (i0 + 1) % period, (j0 + 1) % period
        corners = [
            self._corner(i0, j0, fu, fv),
            self._corner(i1, j0, fu - 1.0, fv),
            self._corner(i0, j1, fu, fv - 1.0),
            self._corner(i1, j1, fu - 1.0, fv - 1.0),
        ]
        su, sv = _fade(fu), _fade(fv)
        low = corners[0] + su * (corners[1] - corners[0])
        high = corners[2] + su * (corners[3] - corners[2])
        field: Array = 1.5 * (low + sv * (high - low))
        return field

    def fractal(
        self,
        x: ArrayLike,
        y: ArrayLike,
        wavelength: float,
        *,
        octaves: int,
        gain: float = 0.5,
        period: int = _LATTICE,
        ridged: bool = False,
    ) -> Array:
        """Return the sum of `octaves` of noise, each of half the wavelength and `gain` the amplitude.

        With `ridged` each octave is 1 - 2 |noise|: sharp crests, as of broken rock.
        """
        total: Array = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)))
        amplitude, norm = 1.0, 0.0
        for k in range(octaves):
            scale = 2**k
            cells = min(_LATTICE, period * scale)
            # The shift by whole cells decorrelates the octaves and keeps a tile seamless.
            shift = wavelength / scale * (17 * k)
            layer = self.at(
                np.asarray(x) + shift, np.asarray(y) - shift, wavelength / scale, period=cells
            )
            total = total + amplitude * (1.0 - 2.0 * np.abs(layer) if ridged else layer)
            norm += amplitude
            amplitude *= gain
        return total / norm

    def _corner(self, i: NDArray[np.int64], j: NDArray[np.int64], dx: Array, dy: Array) -> Array:
        index = self.permutation[(self.permutation[i % _LATTICE] + j) % _LATTICE]
        gradient = self.gradients[index]
        product: Array = gradient[..., 0] * dx + gradient[..., 1] * dy
        return product


def _fade(t: Array) -> Array:
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


def smoothstep(low: float, high: float, value: ArrayLike) -> Array:
    """Return 0 below `low`, 1 above `high`, and a smooth step between (also for low > high)."""
    t = np.clip((np.asarray(value, dtype=float) - low) / (high - low), 0.0, 1.0)
    return np.asarray(t * t * (3.0 - 2.0 * t))
