"""Spars, rigging, deck works and ironwork of the wooden wreck.

Spars, shrouds, beams and deck works are in the hull's frame (`ship_hull`), the rest in their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
import trimesh

from oceangym_core.rng import generator
from oceangym_worlds.modelling.mesh import merge, move
from oceangym_worlds.modelling.primitives import box, lathe, rod, smooth_path, strut, sweep, torus
from oceangym_worlds.props import ship_hull as hull

Array = NDArray[np.float64]


def splintered(
    start: ArrayLike, end: ArrayLike, radius: float, seed: int, taper: float = 0.8
) -> trimesh.Trimesh:
    """Return a spar whose far end is broken off in splinters."""
    a, b = np.asarray(start, dtype=float), np.asarray(end, dtype=float)
    axis = (b - a) / np.linalg.norm(b - a)
    rng = generator(seed, 'splinters', int(1e3 * abs(a[0])))
    pieces = [rod(a, b, radius, radius_end=radius * taper, sections=12, scale=1.0)]
    for _ in range(6):
        off = rng.normal(0, 0.45 * radius, 3)
        tip = b + off * 1.3 + axis * rng.uniform(0.35, 1.1)
        pieces.append(
            rod(b + off * 0.8 - axis * 0.1, tip, 0.3 * radius, radius_end=0.02, sections=5)
        )
    return merge(pieces)


def mast_top(height: float, radius: float) -> trimesh.Trimesh:
    """Return a round fighting top about z with its rim, `height` up."""
    plate = lathe(
        [
            (0.2, 0),
            (radius * 0.6, 0),
            (radius, 0.3),
            (radius, 0.75),
            (radius - 0.07, 0.75),
            (radius - 0.07, 0.36),
            (0.2, 0.3),
        ],
        sections=14,
        scale=1.0,
    )
    return move(plate, (0, 0, height))


def shrouds() -> list[tuple[Array, Array]]:
    """Return feet (N, 3) and crown (3,) of each set of shrouds in the hull's frame."""
    sets = []
    for side, mast_x, head, count in ((1, 7.5, 10.2, 5), (-1, 7.5, 10.2, 5), (-1, -9.1, 8.6, 3)):
        foot_x = mast_x - 0.3 - 0.62 * np.arange(count)
        s = (foot_x - hull.X_STERN) / (hull.X_BOW - hull.X_STERN)
        feet = hull.hull_point(s, 1.0) * [1, side, 1] + [0, 0.1 * side, 0]
        sets.append((feet, np.array([mast_x, 0.25 * side, head])))
    return sets


def spars(seed: int) -> trimesh.Trimesh:
    """Return standing spars in the hull's frame: fore mast, stumps, bowsprit, yards, shrouds."""
    pieces = []
    fore, main, mizzen = 7.3, -1.6, -8.8
    pieces.append(splintered((fore, 0, 0.6), (fore + 0.3, 0, 13.2), 0.33, seed))
    pieces.append(move(mast_top(10.2, 0.95), (fore + 0.22, 0, 0)))
    pieces.append(rod((fore + 0.6, -4.3, 8.6), (fore + 0.5, 0.2, 9.7), 0.10, radius_end=0.15))
    pieces.append(rod((fore + 0.5, 0.2, 9.7), (fore + 0.5, 3.2, 10.6), 0.15, radius_end=0.09))
    pieces.append(splintered((main, 0, 0.6), (main - 0.2, 0.1, 6.4), 0.38, seed + 1, 0.9))
    pieces.append(splintered((mizzen, 0, 3.0), (mizzen - 0.4, 0, 11.0), 0.27, seed + 2))
    pieces.append(rod((mizzen - 0.2, -1.9, 8.4), (mizzen - 0.2, 2.1, 9.2), 0.11))
    bow = hull.hull_point(1.0, 1.0)
    pieces.append(splintered((bow[0] - 3.0, 0, 5.7), (bow[0] + 3.5, 0, 8.25), 0.28, seed + 3, 0.6))
    for feet, crown in shrouds():
        pieces += [rod(foot, crown, 0.035, sections=5, caps=False) for foot in feet]
        for share in np.arange(0.1, 0.9, 0.1):
            line = feet[[0, -1]] + share * (crown - feet[[0, -1]])
            pieces.append(rod(line[0], line[1], 0.024, sections=4, caps=False))
    stay = smooth_path(
        [(fore + 0.5, 0, 10.0), ((fore + bow[0] + 3) / 2, 0, 8.6), (bow[0] + 2.9, 0, 8.0)],
        step=1.0,
    )
    pieces.append(sweep(stay, 0.035, sections=5, caps=False))
    return hull.along_v(merge(pieces))


def beams() -> list[tuple[Array, Array]]:
    """Return the ends of the deck beams across the gap, two of them fallen, in the hull's frame."""
    ends = []
    for index, s in enumerate(np.linspace(0.475, 0.62, 5)):
        x, z = float(hull.hull_point(s, 0.5)[0]), hull.deck_z(s) - 0.15
        a, b = (x, -3.7, z), (x, 3.7, z)
        if index == 2:
            a, b = (x, 3.6, z), (x + 0.7, -0.6, 1.2)
        elif index == 3:
            a, b = (x, -3.6, z), (x - 0.2, 0.9, z + 0.1)
        ends.append((np.array(a), np.array(b)))
    return ends


def deck_works(seed: int) -> trimesh.Trimesh:
    """Return beams across the gap, hatch coamings, the ruined deck house, rudder, capstan."""
    rng = generator(seed, 'deck_works')
    pieces = []
    across = [strut(a, b, 0.24, 0.28, up=(0, 0, 1)) for a, b in beams()]
    pieces.append(hull.along_v(merge(across)))
    for s in (0.40, 0.72):
        x, z = hull.X_STERN + 26 * s, hull.deck_z(s) + 0.3
        for dx, dy, sx, sy in (
            (0.85, 0, 0.12, 2.0),
            (-0.85, 0, 0.12, 2.0),
            (0, 0.95, 1.8, 0.12),
            (0, -0.95, 1.8, 0.12),
        ):
            pieces.append(hull.along_v(box((sx, sy, 0.4), (x + dx, dy, z))))
    x, z = hull.X_STERN + 26 * 0.325, hull.deck_z(0.325)
    for dx in (-0.9, 0.0, 0.9):
        for dy in (-1.3, 1.3):
            tall = float(rng.uniform(1.0, 2.1))
            pieces.append(box((0.16, 0.16, tall), (x + dx, dy, z + 0.1 + tall / 2)))
    for size, place in (
        ((1.9, 0.09, 1.1), (x, 1.3, z + 0.65)),
        ((0.9, 0.09, 1.5), (x - 0.45, -1.3, z + 0.85)),
    ):
        pieces.append(hull.along_v(box(size, place)))
    pieces.append(
        strut((x - 1.0, 1.35, z + 1.5), (x + 0.9, -1.2, z + 0.4), 0.5, 0.07, up=(0, 0, 1))
    )
    rudder = box((1.35, 0.2, 4.3))
    pieces.append(move(rudder, (-14.0, 0.12, 1.9), rpy_deg=(0, -9.0, 14.0)))
    capstan = lathe(
        [(0, 0), (0.45, 0), (0.26, 0.35), (0.26, 0.8), (0.42, 0.9), (0.42, 1.1), (0, 1.1)],
        sections=12,
    )
    pieces.append(move(capstan, (hull.X_STERN + 26 * 0.79, 0, hull.deck_z(0.79) + 0.1)))
    return merge(pieces)


def cannon() -> trimesh.Trimesh:
    """Return an iron gun along +x, its breech at the origin."""
    profile = [
        (0, 0),
        (0.09, 0.02),
        (0.1, 0.12),
        (0.24, 0.2),
        (0.23, 0.8),
        (0.19, 0.85),
        (0.14, 2.2),
        (0.19, 2.3),
        (0.19, 2.42),
        (0.08, 2.42),
        (0.08, 2.1),
        (0, 2.1),
    ]
    return move(lathe(profile, sections=12), rpy_deg=(0, 90, 0))


def anchor() -> trimesh.Trimesh:
    """Return an admiralty anchor, ring at the origin, shank along -z, stock along x."""
    arc = np.radians(np.linspace(-65, 65, 11))
    arms = np.column_stack([0 * arc, 1.25 * np.sin(arc), -1.75 - 1.25 * np.cos(arc)])
    radii = 0.09 + 0.06 * np.cos(arc * 1.38)
    pieces = [
        rod((0, 0, -0.1), (0, 0, -3.05), 0.11, radius_end=0.17, sections=10),
        rod((-1.35, 0, -0.45), (1.35, 0, -0.45), 0.09, sections=8),
        sweep(arms, radii, sections=8),
        move(torus(0.24, 0.06, sections=14, around=6), (0, 0, 0.1), rpy_deg=(90, 0, 0)),
    ]
    for side in (1, -1):
        tip = np.array([0, side * 1.13, -2.28])
        palm = move(
            box((0.6, 0.62, 0.09)),
            tip + np.array([0, -side * 0.1, -0.02]),
            rpy_deg=(side * 30, 0, 0),
        )
        pieces.append(palm)
    return merge(pieces)


def chain(path: Array) -> trimesh.Trimesh:
    """Return a stud-less chain along points (N, 3), one link a point."""
    link = move(torus(0.15, 0.045, sections=10, around=5), scale=(1.55, 1.0, 1.0))
    pieces = []
    for index in range(len(path) - 1):
        step = path[index + 1] - path[index]
        yaw = float(np.degrees(np.arctan2(step[1], step[0])))
        pitch = float(np.degrees(-np.arctan2(step[2], np.hypot(step[0], step[1]))))
        roll = 90.0 * (index % 2) + 20.0
        pieces.append(move(link, (path[index] + path[index + 1]) / 2, rpy_deg=(roll, pitch, yaw)))
    return merge(pieces)
