"""Marine snow: aggregates drifting in front of the lens, lit by daylight and lamps."""

from __future__ import annotations

import math

import numba as nb
import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import CameraSpec
from oceangym_core.geometry import Pose
from oceangym_sim.optics.rays import distort

Array = NDArray[np.float64]

# Particles farther than this are too faint to stand out [m]; nearer ones are inside the housing.
_REACH = 2.5
_NEAREST = 0.12
# Diameters fall as a power law from the smallest counted to the largest drawn [m].
_SMALLEST, _LARGEST = 0.5e-3, 4e-3
_POWER = 4.0
_ALBEDO = 0.2
# The lens is focused here [m]; blur is this many pixels per dioptre at a focal length of 256 px.
_FOCUS = 2.0
_DEFOCUS = 0.45
_SHARPEST = 0.5
_WIDEST = 10.0


class MarineSnow:
    """Draws particles anew for each frame: between two observations the water has moved on.

    Args:
        density: Aggregates over half a millimetre in a cubic metre [1/m3].
        specs: The cameras.
    """

    def __init__(self, *, density: float, specs: tuple[CameraSpec, ...]) -> None:
        self._specs = specs
        self._count = round(density * (2.0 * _REACH) ** 3)

    def particles(self, random: np.random.Generator) -> tuple[Array, Array]:
        """Return particle positions in base_link, (N, 3) [m], and diameters, (N,) [m]."""
        place = random.uniform(-_REACH, _REACH, (self._count, 3))
        share = random.random(self._count)
        steps = 1.0 - _POWER
        low, high = _SMALLEST**steps, _LARGEST**steps
        diameter: Array = (low + share * (high - low)) ** (1.0 / steps)
        return place, diameter

    def draw(
        self,
        picture: NDArray[np.float32],
        distance: NDArray[np.float32],
        starts: NDArray[np.int64],
        *,
        particles: tuple[Array, Array],
        lighting: NDArray[np.float64],
        attenuation: Array,
    ) -> None:
        """Put the particles into all cameras' radiance.

        Args:
            picture: (3, pixels) radiance [lux/sr], changed in place.
            distance: (pixels,) range of what lies behind [m].
            starts: First pixel of each camera, and the end.
            particles: Of `particles`.
            lighting: (N, 3) irradiance on the particles [lux].
            attenuation: (3,) of a particle's light on its way to the camera [1/m].
        """
        place, diameter = particles
        for spec, start in zip(self._specs, starts[:-1]):
            at = _into(spec.mount, place)
            seen = (at[:, 2] > _NEAREST) & (np.abs(at[:, :2]).max(axis=1) < 2.0 * at[:, 2])
            at, size, light = at[seen], diameter[seen], lighting[seen]
            away = np.linalg.norm(at, axis=1)
            plane = at[:, :2] / at[:, 2:]
            if any(spec.distortion):
                plane = distort(plane, spec.distortion)
            focal = spec.focal_length
            column = plane[:, 0] * focal + spec.width / 2
            row = plane[:, 1] * focal + spec.height / 2
            radius = 0.5 * size / away * focal
            defocus = _DEFOCUS * (focal / 256.0) * np.abs(1.0 / away - 1.0 / _FOCUS)
            sigma = np.minimum(np.sqrt(_SHARPEST**2 + radius**2 / 2 + defocus**2), _WIDEST)
            opacity = np.minimum(radius**2 / (2.0 * sigma**2), 1.0)
            through = np.exp(-attenuation * away[:, None])
            _splat(
                picture[:, start:],
                distance[start:],
                spec.width,
                spec.height,
                np.stack([column, row, sigma, away], axis=1),
                opacity[:, None] * through,
                light * (_ALBEDO / math.pi),
            )


def _into(mount: Pose, points: Array) -> Array:
    """Return points of base_link in an optical frame."""
    inside: Array = (points - np.asarray(mount.position)) @ mount.rotation
    return inside


@nb.njit(cache=True)
def _splat(picture, distance, width, height, spots, opacity, light):  # type: ignore[no-untyped-def]
    """Blend Gaussian spots (column, row, sigma [px], range [m]) over the picture, one by one."""
    for i in range(len(spots)):
        column, row, sigma, away = spots[i]
        reach = int(3.0 * sigma) + 1
        x0, y0 = int(column // 1.0), int(row // 1.0)
        for y in range(max(0, y0 - reach), min(height, y0 + reach + 1)):
            for x in range(max(0, x0 - reach), min(width, x0 + reach + 1)):
                pixel = y * width + x
                if distance[pixel] < away:
                    continue
                dx, dy = x + 0.5 - column, y + 0.5 - row
                spread = math.exp(-0.5 * (dx * dx + dy * dy) / (sigma * sigma))
                for c in range(3):
                    behind = picture[c, pixel]
                    picture[c, pixel] = behind + spread * opacity[i, c] * (light[i, c] - behind)
