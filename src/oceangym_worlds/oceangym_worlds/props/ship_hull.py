"""Lines, planking, frames and decks of the wooden wreck, upright with the keel's bottom at z = 0."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
import trimesh

from oceangym_core.rng import generator
from oceangym_worlds.modelling.mesh import merge, move, select_faces, uv_of, with_uv
from oceangym_worlds.modelling.primitives import box, grid, strut, sweep
from oceangym_worlds.modelling.shells import thicken

Array = NDArray[np.float64]

BEAM = 8.0  # m
X_STERN, X_BOW = -13.0, 13.0  # m, ends of the lines at half height
GAP = (0.455, 0.635)  # stations between which the sides are broken open
STRAKES = 18
_STATIONS = 78
_DECK_DROP = 0.95  # m, deck below the sheer line, i.e. height of the bulwark


def half_breadth(s: ArrayLike) -> Array:
    """Return the half breadth at deck [m] at stations s (0 stern .. 1 stem)."""
    s = np.asarray(s, dtype=float)
    aft = np.clip((0.45 - s) / 0.45, 0, 1)
    fore = np.clip((s - 0.45) / 0.55, 0, 1)
    breadth: Array = BEAM / 2 * (1 - 0.40 * aft**2.6) * (1 - fore**2.7) ** 0.7
    return breadth


def sheer(s: ArrayLike) -> Array:
    """Return the height of the sheer line [m]."""
    s = np.asarray(s, dtype=float)
    aft = np.clip((0.42 - s) / 0.42, 0, 1)
    fore = np.clip((s - 0.5) / 0.5, 0, 1)
    height: Array = 4.3 + 1.5 * aft**1.6 + 1.5 * fore**2
    return height


def hull_point(s: ArrayLike, t: ArrayLike) -> Array:
    """Return points (..., 3) of the port side, t = 0 at the keel and 1 at the sheer."""
    s, t = np.broadcast_arrays(np.asarray(s, dtype=float), np.asarray(t, dtype=float))
    fore, aft = np.clip((s - 0.62) / 0.38, 0, 1), np.clip((0.34 - s) / 0.34, 0, 1)
    full = (1 - fore**1.5) * (1 - 0.9 * aft**1.2)
    angle = t * np.pi / 2
    end_power = np.where(s > 0.5, 1.1, 2.3)
    across = full * np.sin(angle) ** 0.72 + (1 - full) * t**end_power
    up = full * (1 - np.cos(angle)) ** 1.05 + (1 - full) * t
    across = across * (1 - 0.10 * np.clip((t - 0.72) / 0.28, 0, 1) ** 1.5)
    stem = np.clip((s - 0.8) / 0.2, 0, 1) ** 2
    post = np.clip((0.2 - s) / 0.2, 0, 1) ** 2
    keel = 1.0 * stem**1.5
    x = X_STERN + (X_BOW - X_STERN) * s
    x = x + stem * (3.2 * t**1.4 - 1.3) - post * (1.5 * t**1.5 - 0.3)
    y = half_breadth(s) * across
    z = keel + (sheer(s) - keel) * up
    return np.stack([x, y, z], axis=-1)


def along_v(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Return a timber with its UV swapped: grain runs along u, and swept bars lie along v."""
    return with_uv(mesh, uv_of(mesh)[:, ::-1])


def _mirrored(mesh: trimesh.Trimesh, side: int) -> trimesh.Trimesh:
    return mesh if side > 0 else move(mesh, scale=(1.0, -1.0, 1.0))


def planking(seed: int) -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return the outer planking (u along the hull, v keel to sheer, once) and its inside."""
    outer, inner = [], []
    for side in (1, -1):
        rng = generator(seed, 'planking', side + 1)
        s = np.linspace(0, 1, _STATIONS + 1)
        t = np.linspace(0, 1, STRAKES + 1)
        points = hull_point(s[:, None], t[None, :])
        uv = np.stack(np.meshgrid(s, t, indexing='ij'), axis=-1)
        # The port side faces +y: d/ds x d/dt points outward there only with t reversed.
        sheet = grid(points[:, ::-1], uv[:, ::-1])
        keep = _planks_left(rng, sheet, side)
        plate, back = thicken(select_faces(sheet, keep), 0.11)
        outer.append(_mirrored(plate, side))
        inner.append(_mirrored(back, side))
    return merge(outer), merge(inner)


def _planks_left(rng: np.random.Generator, sheet: trimesh.Trimesh, side: int) -> NDArray[np.bool_]:
    """Return which faces (F,) of one side's planking the wreck has kept."""
    uv = uv_of(sheet)[np.asarray(sheet.faces)]
    # Both triangles of a quad share the middle of its u and v range.
    station = (uv[..., 0].min(axis=1) + uv[..., 0].max(axis=1)) / 2
    strake = (uv[..., 1].mean(axis=1) * STRAKES).astype(int)
    ragged = rng.uniform(-0.035, 0.035, (2, STRAKES))[:, strake]
    depth = 0.36 if side < 0 else 0.5
    keep: NDArray[np.bool_] = ~(
        (station > GAP[0] + ragged[0])
        & (station < GAP[1] + ragged[1])
        & (strake >= STRAKES * depth)
    )
    holes = [(0.78, 0.60, 0.055, 0.17), (0.25, 0.45, 0.045, 0.14), (0.34, 0.85, 0.03, 0.2)]
    if side > 0:
        holes = [(0.80, 0.78, 0.05, 0.16), (0.18, 0.62, 0.04, 0.15)]
    for centre, height, reach, tall in holes:
        wide = reach * (1 + 14 * ragged[0])
        middle = (strake + 0.5) / STRAKES
        keep &= ~((np.abs(station - centre) < wide) & (np.abs(middle - height) < tall))
    for _ in range(9):
        row, start = rng.integers(STRAKES // 2, STRAKES), rng.uniform(0.05, 0.9)
        keep &= ~((strake == row) & (np.abs(station - start) < rng.uniform(0.02, 0.05)))
    return keep


def ribs(seed: int) -> trimesh.Trimesh:
    """Return the frames, those in the gap broken at different heights."""
    rng = generator(seed, 'ribs')
    pieces = []
    for s in np.arange(0.05, 0.96, 0.0305):
        broken = GAP[0] - 0.02 < s < GAP[1] + 0.02
        for side in (1, -1):
            top = rng.uniform(0.66, 1.0) if broken else 0.985
            t = np.linspace(0.03, top, 13)
            path = hull_point(s, t)
            inward = np.array([0.0, 1.0, 0.0]) * np.minimum(0.17, path[:, 1])[:, None]
            path = (path - inward) * [1, side, 1]
            lean = rng.uniform(-0.10, 0.10) if broken else 0.0
            path[:, 0] += lean * path[:, 2]
            w, d = 0.13, 0.15
            section = [(w, -d), (w, d), (-w, d), (-w, -d)]
            pieces.append(sweep(path, section, up=(1.0, 0.0, 0.0), scale=1.0))
    return along_v(merge(pieces))


def backbone() -> trimesh.Trimesh:
    """Return keel, keelson, stem, sternpost, wales, rails."""
    pieces = [
        strut((X_STERN + 0.2, 0, -0.1), (11.0, 0, -0.1), 0.36, 0.5, up=(0, 0, 1)),
        strut((X_STERN + 0.8, 0, 0.45), (10.2, 0, 0.45), 0.4, 0.35, up=(0, 0, 1)),
    ]
    t = np.linspace(0.0, 1.12, 14)
    stem = hull_point(1.0, np.clip(t, 0, 1))
    stem[-1] = stem[-2] + 1.2 * (stem[-2] - stem[-3])
    stem = np.vstack([[9.9, 0, -0.15], [11.0, 0, 0.3], stem])
    section = [(0.19, -0.28), (0.19, 0.28), (-0.19, 0.28), (-0.19, -0.28)]
    pieces.append(sweep(stem, section, up=(1.0, 0.0, 0.6), scale=1.0))
    post = hull_point(0.0, np.linspace(0, 0.72, 8)) * [1, 0, 1] - [0.15, 0, 0]
    pieces.append(sweep(post, section, up=(1.0, 0.0, 0.0), scale=1.0))
    for height, size in ((1.0, 0.12), (0.80, 0.09)):
        for spans in ((0.0, GAP[0] - 0.01), (GAP[1] + 0.01, 1.0)):
            s = np.linspace(*spans, 22)
            for side in (1, -1):
                path = hull_point(s, height) * [1, side, 1] + [0, 0.04 * side, 0]
                square = [(size, -size), (size, size), (-size, size), (-size, -size)]
                pieces.append(sweep(path, square, up=(0, 0, 1), scale=1.0))
    return along_v(merge(pieces))


def _deck_half(s: Array, drop: float) -> tuple[Array, Array]:
    """Return half breadth and height [m] of a deck `drop` below the sheer at stations s."""
    level = sheer(s) - drop
    t = np.linspace(0, 1, 120)
    line = hull_point(s[:, None], t[None, :])
    wide = np.array([np.interp(z, row[:, 2], row[:, 1]) for z, row in zip(level, line)])
    return np.maximum(wide - 0.12, 0.02), level


def deck_z(s: float) -> float:
    """Return the height of the main deck at a station [m]."""
    return float(sheer(s)) - _DECK_DROP


def deck(seed: int) -> trimesh.Trimesh:
    """Return main deck fore and aft of the gap, poop and forecastle decks, with ragged ends."""
    rng = generator(seed, 'deck')
    pieces = []
    # (from, to, drop below sheer, ragged end: -1 at from, +1 at to, 0 none, hatch station)
    for start, end, drop, ragged, hatch in (
        (0.02, 0.50, _DECK_DROP, 1, 0.40),
        (0.60, 0.985, _DECK_DROP, -1, 0.72),
        (0.005, 0.25, -0.45, 1, None),
        (0.84, 0.992, -0.1, -1, None),
    ):
        s = np.linspace(start, end, 34)
        across = np.linspace(-1, 1, 23)
        wide, level = _deck_half(s, max(drop, 0.0))
        if drop < 0:
            level = level - drop
        y = wide[:, None] * across
        z = level[:, None] + 0.14 * (1 - across**2)
        x = np.broadcast_to(hull_point(s, 0.9)[:, :1], y.shape)
        points = np.stack([x, y, z], axis=-1)
        sheet = grid(points, np.stack([x / 3.0, y / 3.0], axis=-1))
        middle = np.asarray(sheet.triangles_center)
        f = (middle[:, 0] - X_STERN) / (X_BOW - X_STERN)
        plank = np.floor((middle[:, 1] + 6) / 0.36).astype(int)
        tear = rng.uniform(0.0, 0.075, 40)[plank]
        keep = np.ones(len(f), dtype=bool)
        if ragged > 0:
            keep &= f < end - tear
        elif ragged < 0:
            keep &= f > start + tear
        if hatch is not None:
            keep &= ~((np.abs(f - hatch) < 0.032) & (np.abs(middle[:, 1]) < 0.9))
        plate, under = thicken(select_faces(sheet, keep), 0.1)
        pieces += [plate, under]
    return merge(pieces)


def bulwarks() -> trimesh.Trimesh:
    """Return the raised sides of poop and forecastle with their rails, and the poop's bulkhead."""
    pieces = []
    for start, end, height in ((0.0, 0.27, 1.35), (0.83, 1.0, 0.75)):
        s = np.linspace(start, end, 16)
        base = hull_point(s, 1.0)
        top = base + height * np.array([-0.02, -0.10, 1.0])
        top[:, 1] = np.maximum(top[:, 1], 0.03)
        points = np.stack([top, base], axis=1)
        run = np.linalg.norm(base - base[0], axis=1) / 3.0
        uv = np.stack(np.meshgrid(run, [height / 3.0, 0.0], indexing='ij'), axis=-1)
        plate, back = thicken(grid(points, uv), 0.09)
        for side in (1, -1):
            pieces += [_mirrored(plate, side), _mirrored(back, side)]
            rail = top * [1, side, 1]
            square = [(0.12, -0.07), (0.12, 0.07), (-0.12, 0.07), (-0.12, -0.07)]
            pieces.append(along_v(sweep(rail, square, up=(0, 0, 1), scale=3.0)))
    s_wall = 0.25
    wide, level = _deck_half(np.array([s_wall]), _DECK_DROP)
    x = X_STERN + (X_BOW - X_STERN) * s_wall
    w, z0, tall = float(wide[0]), float(level[0]), _DECK_DROP + 0.5
    door = 0.45
    for y0, y1 in ((-w, -door), (door, w)):
        pieces.append(box((0.1, y1 - y0, tall), (x, (y0 + y1) / 2, z0 + tall / 2), scale=3.0))
    return merge(pieces)


def transom() -> trimesh.Trimesh:
    """Return the flat stern between the sides, UV 0..1 across and up, with its upper works."""
    t = np.linspace(0.35, 1.0, 14)
    edge = hull_point(0.0, t)
    high = edge[-1] + [-0.25, -0.14, 1.35]
    edge = np.vstack([edge, high])
    across = np.linspace(1, -1, 11)
    points = np.stack(
        [
            np.repeat(edge[:, :1], 11, axis=1) - 0.05,
            edge[:, 1:2] * across,
            np.repeat(edge[:, 2:], 11, axis=1),
        ],
        axis=-1,
    )
    low, top = edge[0, 2], edge[-1, 2]
    u = 0.5 - points[..., 1] / 5.4
    uv = np.stack([u, (points[..., 2] - low) / (top - low)], axis=-1)
    plate, back = thicken(grid(points.transpose(1, 0, 2), uv.transpose(1, 0, 2)), 0.12)
    return merge([plate, back])
