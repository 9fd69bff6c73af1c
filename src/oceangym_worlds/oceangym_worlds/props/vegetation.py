"""Kelp, seagrass, sea fan and tube sponge as thin two-sided geometry; no collisions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
import trimesh

from oceangym_core.errors import unknown_name
from oceangym_core.rng import generator
from oceangym_worlds.modelling import textures as tk
from oceangym_worlds.modelling.mesh import merge, move
from oceangym_worlds.modelling.model import Part, PropAttributes, PropModel
from oceangym_worlds.modelling.primitives import grid, lathe, sweep
from oceangym_worlds.modelling.shells import double_sided

Array = NDArray[np.float64]


def _blade(path: Array, width: Array, facing: float) -> trimesh.Trimesh:
    """Return a ribbon along a path (N, 3) of widths (N,) [m], its flat side facing a bearing."""
    across = np.array([-np.sin(facing), np.cos(facing), 0.0])
    offset = across * (width / 2)[:, None]
    points = np.stack([path - offset, path + offset], axis=1)
    v = np.linspace(0, 1, len(path))
    uv = np.stack(np.meshgrid(v, [0.0, 1.0], indexing='ij')[::-1], axis=-1)
    return double_sided(grid(points, uv, crease_deg=180.0))


def _kelp(rng: np.random.Generator) -> trimesh.Trimesh:
    """Return five plants up to 5 m high, each a stipe with long pointed blades."""
    pieces = []
    lean = rng.uniform(-0.1, 0.25, 2)
    for k in range(5):
        angle = 2 * np.pi * k / 5 + rng.uniform(-0.4, 0.4)
        root = np.array([np.cos(angle), np.sin(angle), 0.0]) * rng.uniform(0.15, 0.5)
        tall = rng.uniform(3.9, 5.0)
        t = np.linspace(0, 1, 6)
        sway = np.column_stack([lean[0] * t**2 * tall, lean[1] * t**2 * tall, 0 * t])
        stipe = root + np.column_stack([0 * t, 0 * t, t * tall]) + sway
        stipe[:, 0] += 0.1 * np.sin(5 * t + k)
        stipe[0, 2] = -0.3
        pieces.append(sweep(stipe, [0.035] * 5 + [0.015], sections=3, caps=False, scale=1.0))
        for share in np.linspace(0.2, 0.97, 8):
            at = np.array([np.interp(share, t, stipe[:, c]) for c in range(3)])
            bearing = rng.uniform(0, 2 * np.pi)
            out = np.array([np.cos(bearing), np.sin(bearing), 0.0])
            s = np.linspace(0, 1, 4)[:, None]
            long = rng.uniform(0.75, 1.25)
            path = (
                at + out * s * long * 0.75 + np.array([0, 0, 1]) * (0.55 * s - 0.35 * s**2) * long
            )
            width = np.array([0.05, 0.30, 0.26, 0.02])
            pieces.append(_blade(path, width, bearing))
    return merge(pieces)


def _seagrass(rng: np.random.Generator) -> trimesh.Trimesh:
    """Return a 2 m patch of ribbons 0.4-0.9 m long."""
    pieces = []
    lean = rng.uniform(-0.25, 0.25, 2)
    for _ in range(82):
        angle, reach = rng.uniform(0, 2 * np.pi), 0.95 * np.sqrt(rng.uniform())
        root = np.array([np.cos(angle) * reach, np.sin(angle) * reach * 0.85, -0.08])
        tall = rng.uniform(0.45, 0.95) * (1 - 0.25 * reach)
        s = np.linspace(0, 1, 3)[:, None]
        bend = np.array([*(lean + rng.uniform(-0.2, 0.2, 2)), 0.0])
        path = root + np.array([0, 0, 1]) * s * tall + bend * s**2
        pieces.append(_blade(path, np.array([0.04, 0.05, 0.012]), rng.uniform(0, np.pi)))
    return merge(pieces)


def _sea_fan(rng: np.random.Generator) -> trimesh.Trimesh:
    """Return a fan coral 1.8 m wide: branches that fork in one plane."""
    pieces: list[trimesh.Trimesh] = []

    def branch(start: Array, angle: float, length: float, radius: float, level: int) -> None:
        angle = min(max(angle, -1.0), 1.0)
        end = start + length * np.array([np.sin(angle), rng.uniform(-0.06, 0.06), np.cos(angle)])
        pieces.append(
            sweep(
                [start, end],
                [radius, 0.72 * radius],
                sections=4 if level < 2 else 3,
                caps=False,
                scale=0.5,
            )
        )
        if level == 4:
            return
        spread = rng.uniform(0.30, 0.46)
        for sign in (-1, 1):
            branch(
                end,
                angle * 0.85 + sign * spread,
                length * rng.uniform(0.74, 0.9),
                0.7 * radius,
                level + 1,
            )

    for lean in (-0.42, 0.02, 0.42):
        branch(np.array([0.0, 0.0, -0.1]), lean, 0.36, 0.045, 0)
    return merge(pieces)


def _tube_sponge(rng: np.random.Generator) -> trimesh.Trimesh:
    """Return a cluster of seven open tubes 0.4-1.1 m high."""
    pieces = []
    for k in range(7):
        angle = 2 * np.pi * k / 6 + rng.uniform(-0.3, 0.3)
        reach = 0.0 if k == 6 else rng.uniform(0.2, 0.34)
        tall = rng.uniform(0.75, 1.15) if k == 6 else rng.uniform(0.4, 0.85)
        r = rng.uniform(0.085, 0.12)
        profile = [
            (0.7 * r, -0.15),
            (0.85 * r, 0.35 * tall),
            (1.15 * r, 0.92 * tall),
            (1.0 * r, tall),
            (0.7 * r, 0.97 * tall),
            (0.6 * r, 0.5 * tall),
            (0.0, 0.45 * tall),
        ]
        tube = lathe(profile, sections=8, scale=0.5, crease_deg=60.0)
        tilt = 16.0 * reach / 0.3
        pieces.append(
            move(
                tube,
                (reach * np.cos(angle), reach * np.sin(angle), 0.0),
                rpy_deg=(0.0, tilt, float(np.degrees(angle))),
            )
        )
    return merge(pieces)


# Builder, colour, size, what it is.
_VARIANTS: dict[
    str, tuple[Callable[[np.random.Generator], trimesh.Trimesh], tk.Colour, str, str, str]
] = {
    'kelp': (_kelp, (126, 116, 34), 'olive', '2.5 x 2.5 x 5 m', 'A stand of tall kelp plants.'),
    'seagrass': (_seagrass, (64, 138, 52), 'green', '2 x 2 x 0.9 m', 'A patch of seagrass.'),
    'sea_fan': (_sea_fan, (206, 62, 104), 'pink', '1.8 x 0.2 x 1.2 m', 'A branching fan coral.'),
    'tube_sponge': (
        _tube_sponge,
        (226, 170, 44),
        'yellow',
        '0.9 x 0.9 x 1.1 m',
        'A cluster of tube sponges.',
    ),
}
VARIANTS: tuple[str, ...] = tuple(_VARIANTS)


def build(*, seed: int, variant: str = 'kelp') -> PropModel:
    """Build one plant, coral or sponge.

    Args:
        seed: Seed of its growth.
        variant: One of `VARIANTS`.

    Raises:
        OceanGymError: The variant is unknown.
    """
    if variant not in _VARIANTS:
        raise unknown_name('vegetation', variant, _VARIANTS)
    make, colour, colour_name, size, description = _VARIANTS[variant]
    mesh = make(generator(seed, variant))
    leafy = variant in ('kelp', 'seagrass')
    texture = tk.plant_leaf(seed, colour=colour) if leafy else tk.coral(seed, colour)
    return PropModel(
        name=variant,
        parts=(Part(name=variant, mesh=mesh, texture=texture, acoustic='vegetation'),),
        collisions=(),
        attributes=PropAttributes(
            prop_class='vegetation',
            label='VEGETATION',
            structure=False,
            material='vegetation',
            colour=colour_name,
            size=size,
            markings='none',
            state='natural',
            description=description,
        ),
    )
