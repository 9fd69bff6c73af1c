"""Octagonal charging and landing platform with an H, level, on four legs."""

from __future__ import annotations

import math

import numpy as np
import trimesh

from oceangym_worlds.modelling import textures as tk
from oceangym_worlds.modelling.mesh import fit_uv, merge, move, planar_uv, uv_of, with_uv
from oceangym_worlds.modelling.model import Part, PropAttributes, PropModel
from oceangym_worlds.modelling.primitives import (
    box,
    cylinder,
    extrude,
    polygon,
    rod,
    smooth_path,
    sphere,
    sweep,
)
from oceangym_worlds.modelling.shells import block

FLATS = 8.0  # m, across opposite flats
DECK_Z = 1.2  # m above the seabed
_PLATE = 0.22  # m, thickness of the deck
_CORNER = FLATS / 2 / math.cos(math.pi / 8)
_GREEN = (22, 140, 78)
_LEG = 2.75  # m from the centre along x and y


def _octagon(flats: float) -> np.ndarray:
    angle = np.pi / 8 + np.arange(8) * np.pi / 4
    radius = flats / 2 / math.cos(math.pi / 8)
    return radius * np.column_stack([np.cos(angle), np.sin(angle)])


def _deck_texture(seed: int) -> tk.Texture:
    """Paint the deck as seen from above, `FLATS` square, x to the right."""
    size = 1024
    deck = tk.painted_metal(seed, _GREEN, wear=0.35, rust=0.02, size=size)
    y, x = np.mgrid[0:size, 0:size] + 0.5
    east, north = (x / size - 0.5) * FLATS, (0.5 - y / size) * FLATS
    # Distance inside the nearest of the eight edges [m].
    angles = np.arange(8) * np.pi / 4
    inside = FLATS / 2 - np.max([east * np.cos(a) + north * np.sin(a) for a in angles], axis=0)
    edge = np.clip((0.36 - inside) * size / FLATS, 0, 1).astype(np.float32)
    deck = tk.stamp(deck, edge, tk.SAFETY_YELLOW, seed=seed, wear=0.04)
    ticks = (np.floor((np.arctan2(north, east) + np.pi) / (np.pi / 32)) % 2).astype(np.float32)
    deck = tk.stamp(deck, edge * ticks, tk.BLACK, seed=seed, wear=0.06)
    centre = (0.5, 0.5)
    white = tk.WHITE
    deck = tk.ring(deck, centre, 2.95 / FLATS, white, inner=2.5 / FLATS, seed=seed, wear=0.05)
    bars = [(0.0, 0.0, 1.3, 0.5), (-0.95, 0.0, 0.52, 3.0), (0.95, 0.0, 0.52, 3.0)]
    for cx, cy, width, height in bars:
        letter = np.clip(
            np.minimum(width / 2 - np.abs(east - cx), height / 2 - np.abs(north - cy))
            * (size / FLATS)
            + 0.5,
            0,
            1,
        )
        deck = tk.stamp(deck, letter.astype(np.float32), white, seed=seed + 1, wear=0.04)
    deck = tk.text(deck, 'CHARGE 48V', (0.5, 0.10), 0.022, white, seed=seed)
    deck = tk.growth(deck, seed, 0.02)
    return tk.sediment(deck, seed, 0.03, colour=tk.SILT)


def _frame() -> trimesh.Trimesh:
    """Return legs, feet, braces, girders."""
    pieces = []
    for sx in (-1, 1):
        for sy in (-1, 1):
            foot = np.array([sx * _LEG, sy * _LEG, 0.0])
            pieces.append(
                move(cylinder(0.2, DECK_Z + 0.35 - _PLATE, scale=1.0), foot - [0, 0, 0.35])
            )
            pieces.append(move(cylinder(0.62, 0.12, bevel=0.03, scale=1.0), foot - [0, 0, 0.02]))
            pieces.append(move(cylinder(0.55, 0.5, scale=1.0), foot - [0, 0, 0.5]))
            pieces.append(rod(foot + np.array([0, 0, 0.25]), foot * 0.45 + [0, 0, 0.9], 0.07))
    for sign in (-1, 1):
        pieces.append(box((2 * _LEG, 0.16, 0.26), (0, sign * _LEG, DECK_Z - _PLATE - 0.13)))
        pieces.append(box((0.16, 2 * _LEG, 0.26), (sign * _LEG, 0, DECK_Z - _PLATE - 0.13)))
        pieces.append(rod((-_LEG, sign * _LEG, 0.3), (_LEG, sign * _LEG, 0.3), 0.06))
        pieces.append(rod((sign * _LEG, -_LEG, 0.3), (sign * _LEG, _LEG, 0.3), 0.06))
    return merge(pieces)


def _fittings() -> tuple[trimesh.Trimesh, trimesh.Trimesh, trimesh.Trimesh]:
    """Return lamps, anodes with the junction box, and copper contacts."""
    lamps, grey = [], []
    for corner in _octagon(FLATS - 0.36):
        base = np.array([*corner, DECK_Z])
        grey.append(move(cylinder(0.11, 0.04, sections=12), base))
        lamps.append(
            move(sphere(0.09, sections=12, rings=5, from_deg=0.0), base + np.array([0, 0, 0.04]))
        )
    for k in range(8):
        yaw = k * 45.0
        turn = (math.cos(math.radians(yaw)), math.sin(math.radians(yaw)))
        at = np.array([turn[0], turn[1], 0.0]) * (FLATS / 2 + 0.05)
        if k > 0:
            anode = box((0.1, 0.62, 0.14), bevel=0.03)
            grey.append(move(anode, at + np.array([0, 0, DECK_Z - 0.42]), rpy_deg=(0, 0, yaw)))
    grey.append(box((0.34, 1.0, 0.5), (FLATS / 2 + 0.1, 0, DECK_Z - 0.5), bevel=0.03))
    copper = [box((0.9, 0.22, 0.03), (0, y, DECK_Z + 0.01), bevel=0.008) for y in (-2.0, 2.0)]
    return merge(lamps), merge(grey), merge(copper)


def build(*, seed: int) -> PropModel:
    """Build the platform; its H is centred on the origin and its deck is flat at `DECK_Z`."""
    outline = _octagon(FLATS)
    top = move(planar_uv(polygon(outline), (1, 0, 0), (0, 1, 0), scale=FLATS), (0, 0, DECK_Z))
    top = with_uv(top, uv_of(top) + 0.5)
    skirt_profile = extrude(outline, _PLATE, scale=2.0)
    skirt = merge(
        [
            move(skirt_profile, (0, 0, DECK_Z - _PLATE - 0.002)),
            *_skirt_panels(outline),
        ]
    )
    lamps, grey, copper = _fittings()
    cable_path = smooth_path(
        [(4.2, 0.4, 0.7), (4.36, 0.6, 0.5), (4.42, 0.7, 0.2), (4.4, 1.1, 0.04), (4.2, 1.6, -0.1)],
        step=0.2,
    )
    cable = sweep(cable_path, 0.06, sections=8, scale=0.5)
    side = tk.band(
        tk.painted_metal(seed + 1, tk.SAFETY_YELLOW, wear=0.4, rust=0.14),
        0.0,
        0.1,
        tk.BLACK,
    )
    parts = (
        Part(name='deck', mesh=top, texture=_deck_texture(seed), acoustic='steel', metalness=0.1),
        Part(
            name='skirt',
            mesh=skirt,
            texture=tk.streaks(side, seed, 0.25),
            acoustic='steel',
            metalness=0.2,
        ),
        Part(
            name='frame',
            mesh=_frame(),
            texture=tk.growth(
                tk.painted_metal(seed + 2, (168, 172, 170), wear=0.5, rust=0.2), seed, 0.2
            ),
            acoustic='steel',
            metalness=0.3,
        ),
        Part(
            name='lamps',
            mesh=fit_uv(lamps),
            texture=tk.plain((255, 120, 40)),
            acoustic='plastic',
            roughness=0.3,
        ),
        Part(
            name='fittings',
            mesh=grey,
            texture=tk.bare_steel(seed),
            acoustic='steel',
            metalness=0.6,
        ),
        Part(
            name='contacts',
            mesh=fit_uv(copper),
            texture=tk.plain((206, 122, 72)),
            acoustic='steel',
            metalness=0.8,
            roughness=0.4,
        ),
        Part(name='cable', mesh=cable, texture=tk.rubber(seed), acoustic='plastic'),
    )
    # Two boxes, turned by 45 degrees, leave only slivers of the octagon outside their union.
    side_length = 2 * _CORNER * math.sin(math.pi / 8)
    collisions = [
        block((FLATS, side_length, DECK_Z + 0.4), (0, 0, (DECK_Z - 0.4) / 2), (0, 0, yaw))
        for yaw in (0.0, 45.0, 90.0, 135.0)
    ]
    return PropModel(
        name='landing_platform',
        parts=parts,
        collisions=tuple(collisions),
        attributes=PropAttributes(
            prop_class='landing_platform',
            label='H-MARKED LANDING PLATFORM',
            structure=True,
            material='steel',
            colour='green deck, white H and circle, yellow edge',
            size='8.0 x 8.0 x 1.3 m',
            markings='white H in a white circle; CHARGE 48V; black and yellow edge',
            state='intact, lightly fouled, level',
            description=(
                'An octagonal docking and charging platform: a flat green deck with a large white '
                'H inside a white circle, yellow and black edge marking, amber lamps at the eight '
                'corners, a yellow skirt and four legs on round feet.'
            ),
        ),
    )


def _skirt_panels(outline: np.ndarray) -> list[trimesh.Trimesh]:
    """Return a sloping panel under each edge of the deck."""
    panels = []
    for k in range(8):
        a, b = outline[k], outline[(k + 1) % 8]
        middle = (a + b) / 2
        yaw = math.degrees(math.atan2(middle[1], middle[0]))
        length = float(np.linalg.norm(b - a)) - 0.12
        panel = box((0.05, length, 0.36), scale=2.0)
        lowered = (*(middle * 0.975), DECK_Z - _PLATE - 0.15)
        panels.append(move(panel, lowered, rpy_deg=(0.0, 12.0, yaw)))
    return panels
