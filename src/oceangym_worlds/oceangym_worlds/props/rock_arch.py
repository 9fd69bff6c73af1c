"""Natural rock arch of 18 m span that a vehicle can pass under."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray
import trimesh

from oceangym_core.rng import generator
from oceangym_worlds.modelling import textures as tk
from oceangym_worlds.modelling.mesh import box_uv, displace, merge, move, noise
from oceangym_worlds.modelling.model import Part, Primitive, PropAttributes, PropModel
from oceangym_worlds.modelling.primitives import grid
from oceangym_worlds.modelling.shells import block
from oceangym_worlds.props.boulders import rock_mesh, VARIANTS

SPAN = 18.0  # m, outside to outside of the legs
HEIGHT = 9.0  # m, top of the arch
_STATIONS, _AROUND = 76, 44

Array = NDArray[np.float64]


def _centre_line() -> tuple[Array, Array, Array]:
    """Return the arch's centre line (N, 3) and its half thickness in the arch's plane and across."""
    t = np.linspace(0, 1, _STATIONS + 1)
    angle = np.pi * t
    x = -6.7 * np.sign(np.cos(angle)) * np.abs(np.cos(angle)) ** 0.75
    z = -1.4 + 8.6 * np.sin(angle) ** 0.72
    y = 0.7 * np.sin(2.2 * np.pi * t + 0.4)
    foot = np.abs(2 * t - 1)
    inner = 1.15 + 1.1 * foot**3 + 0.35 * np.sin(5.0 * t)
    across = 1.7 + 1.5 * foot**2.2 + 0.3 * np.cos(7.0 * t)
    return np.column_stack([x, y, z]), inner, across


def _arch(seed: int) -> trimesh.Trimesh:
    line, inner, across = _centre_line()
    tangent = np.gradient(line, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    side = np.cross([0.0, 1.0, 0.0], tangent)
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    deep = np.cross(tangent, side)
    phi = np.linspace(0, 2 * np.pi, _AROUND + 1)
    # A squarish section: rock breaks along joints.
    c, s = np.cos(phi), np.sin(phi)
    c, s = np.sign(c) * np.abs(c) ** 0.75, np.sign(s) * np.abs(s) ** 0.75
    points = (
        line[:, None]
        + (inner[:, None] * c)[..., None] * side[:, None]
        + (across[:, None] * s)[..., None] * deep[:, None]
    )
    uv = np.zeros((*points.shape[:2], 2))
    tube = grid(points[:, ::-1], uv)

    def relief(p: Array) -> Array:
        coarse = 0.55 * noise(p, seed=seed, size=3.2, octaves=4)
        # Ledges: the strata stand out by turns.
        bed = p[:, 2] + 0.22 * p[:, 0] + 0.9 * noise(p, seed=seed + 2, size=6.0, octaves=1)
        ledge = 0.10 * np.sign(np.sin(2 * np.pi * bed / 2.1) + 0.6 * np.sin(2 * np.pi * bed / 0.9))
        pits = -0.3 * np.clip(noise(p, seed=seed + 1, size=1.3, octaves=2) - 0.35, 0, 1)
        return coarse + ledge + pits

    return box_uv(displace(tube, relief, crease_deg=32.0), scale=5.0)


def _fallen_rocks(seed: int) -> tuple[trimesh.Trimesh, list[Primitive]]:
    """Return the blocks around the feet, and their collision boxes."""
    rng = generator(seed, 'fallen_rocks')
    pieces, boxes = [], []
    for index, (x, y) in enumerate(
        ((-4.2, 2.6), (-8.4, -2.8), (3.6, -2.4), (7.9, 3.0), (-3.4, -2.6), (4.4, 2.9))
    ):
        rock = rock_mesh(seed + index, VARIANTS[index % 3])
        yaw = float(rng.uniform(0, 360))
        pieces.append(move(rock, (x, y, 0.0), rpy_deg=(0, 0, yaw)))
        low, high = rock.bounds
        size = 0.85 * (high - low)
        boxes.append(
            block(
                (float(size[0]), float(size[1]), float(size[2])),
                (x, y, float(low[2] + high[2]) / 2),
                (0.0, 0.0, yaw),
            )
        )
    return merge(pieces), boxes


def _collisions() -> list[Primitive]:
    """Return boxes along the arch."""
    line, inner, across = _centre_line()
    pieces: list[Primitive] = []
    picks = np.linspace(0, _STATIONS, 15).astype(int)
    for a, b in itertools.pairwise(picks):
        thick = float((inner[a] + inner[b]) / 2) + 0.15
        wide = float((across[a] + across[b]) / 2) + 0.1
        middle = (line[a] + line[b]) / 2
        step = line[b] - line[a]
        pitch = float(np.degrees(np.arctan2(step[0], step[2])))
        long = float(np.linalg.norm(step)) + 0.7
        yaw = float(np.degrees(np.arctan2(step[1], np.hypot(step[0], step[2]))))
        turn = (0.0, pitch, 0.0) if abs(yaw) < 60 else (0.0, pitch, yaw)
        pieces.append(block((2 * thick, 2 * wide, long), middle, turn))
    return pieces


def build(*, seed: int) -> PropModel:
    """Build the arch; it spans along x and one passes under it along y."""
    rocks, boxes = _fallen_rocks(seed)
    stone = merge([_arch(seed), rocks])
    texture = tk.growth(tk.rock(seed + 9, colour=(126, 108, 88), size=1024), seed + 9, 0.22)
    return PropModel(
        name='rock_arch',
        parts=(Part(name='rock', mesh=stone, texture=texture, acoustic='rock', roughness=0.95),),
        collisions=(*_collisions(), *boxes),
        attributes=PropAttributes(
            prop_class='boulder',
            label='ROCK ARCH',
            structure=False,
            material='rock',
            colour='brown-grey',
            size='18 x 6 x 9 m, opening 9 m wide and 6 m high',
            markings='none',
            state='natural, overgrown',
            description=(
                'A natural arch of layered rock on two legs with a free opening beneath, and fallen '
                'blocks around its feet.'
            ),
        ),
    )
