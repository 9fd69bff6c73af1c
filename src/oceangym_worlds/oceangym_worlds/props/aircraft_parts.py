"""Sections of the wrecked airliner, each in the aircraft's own frame: x forward, z up, nose at 0.

The proportions are those of a Lockheed 14 class transport: 13.5 m long, 20 m span.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
import trimesh

from oceangym_core.rng import generator
from oceangym_worlds.modelling.mesh import merge, move, select_faces, uv_of
from oceangym_worlds.modelling.primitives import box, cylinder, grid, lathe, rod, sphere
from oceangym_worlds.modelling.shells import thicken

Array = NDArray[np.float64]

LENGTH = 13.4  # m
AROUND = 36
STEP = 0.2  # m between stations
_SKIN = 0.03  # m; thicker than real sheet so that edges show
# Station aft of the nose [m], half width, half height, height of the centre line.
_LINES = np.array(
    [
        (0.0, 0.06, 0.06, -0.20),
        (0.3, 0.42, 0.40, -0.16),
        (0.9, 0.72, 0.74, -0.06),
        (1.8, 0.95, 1.05, 0.02),
        (3.0, 1.05, 1.22, 0.05),
        (7.0, 1.05, 1.22, 0.05),
        (9.0, 0.90, 1.02, 0.14),
        (11.0, 0.58, 0.66, 0.32),
        (12.6, 0.28, 0.36, 0.46),
        (13.4, 0.07, 0.14, 0.52),
    ]
)


def _lines(aft: ArrayLike) -> tuple[Array, Array, Array]:
    a = np.asarray(aft, dtype=float)
    half_width, half_height, centre = (np.interp(a, _LINES[:, 0], _LINES[:, k]) for k in (1, 2, 3))
    return half_width, half_height, centre


def section_point(aft: ArrayLike, angle: ArrayLike) -> Array:
    """Return points (..., 3) on the skin; the angle runs from the keel over port (+y) and top."""
    a, phi = np.broadcast_arrays(np.asarray(aft, dtype=float), np.asarray(angle, dtype=float))
    width, height, centre = _lines(a)
    return np.stack([-a, width * np.sin(phi), centre - height * np.cos(phi)], axis=-1)


def _windows(station: Array, phi: Array) -> NDArray[np.bool_]:
    """Return where the skin is cut out: cabin windows, windscreen, door."""
    side = np.abs(np.abs(np.degrees(phi) - 180.0) - 75.0)  # 0 a little above half height
    row = (station > 3.0) & (station < 9.3) & (side < 10.5)
    pitch = np.mod(station - 3.0, 1.0)
    cabin = row & (pitch < 0.6)
    top = np.abs(np.degrees(phi) - 180.0)
    screen = (station > 1.15) & (station < 1.75) & (top > 12) & (top < 68)
    side_screen = (station > 1.95) & (station < 2.55) & (top > 52) & (top < 78)
    door = (station > 8.35) & (station < 9.05) & (np.degrees(phi) > 60) & (np.degrees(phi) < 124)
    return cabin | screen | side_screen | door


def fuselage(
    start: float, end: float, seed: int, *, ragged_start: float = 0.0, ragged_end: float = 0.0
) -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return skin and inside between two stations aft of the nose [m], torn at the ragged ends.

    UV: u is the station over `LENGTH` reversed, so that text on the port side reads forwards; v
    runs from the keel over port to the keel again.
    """
    rng = generator(seed, 'fuselage', round(start * 10))
    aft = np.linspace(start, end, round((end - start) / STEP) + 1)
    phi = np.linspace(0, 2 * np.pi, AROUND + 1)
    points = section_point(aft[:, None], phi[None, :])
    uv = np.stack(np.meshgrid(aft / LENGTH, phi / (2 * np.pi), indexing='ij'), axis=-1)
    sheet = grid(points, uv, crease_deg=60.0)
    middle = uv_of(sheet)[np.asarray(sheet.faces)]
    # Both triangles of a quad get the quad's middle.
    station = (middle[..., 0].min(axis=1) + middle[..., 0].max(axis=1)) / 2 * LENGTH
    angle = (middle[..., 1].min(axis=1) + middle[..., 1].max(axis=1)) * np.pi
    column = np.minimum((angle / (2 * np.pi) * AROUND).astype(int), AROUND - 1)
    tear = rng.uniform(0, 1, (2, AROUND)) * 0.6 + 0.4 * rng.uniform(0, 1, (2, AROUND // 4)).repeat(
        4, 1
    )
    keep = ~_windows(station, angle)
    keep &= station > start + ragged_start * tear[0, column]
    keep &= station < end - ragged_end * tear[1, column]
    skin, inside = thicken(select_faces(sheet, keep), _SKIN)
    return skin, inside


def fuselage_frames(stations: ArrayLike) -> trimesh.Trimesh:
    """Return ring frames inside the skin at stations aft [m]."""
    pieces = []
    phi = np.linspace(0, 2 * np.pi, 25)
    for aft in np.atleast_1d(np.asarray(stations, dtype=float)):
        outer = section_point(aft, phi)
        centre = outer[:-1].mean(axis=0)
        rows = []
        for shrink, dx in ((0.055, 0.04), (0.15, 0.04), (0.15, -0.04), (0.055, -0.04)):
            radial = outer - centre
            radial *= 1 - shrink / np.maximum(np.linalg.norm(radial, axis=1, keepdims=True), 0.2)
            rows.append(centre + radial + [dx, 0, 0])
        ring = np.stack([*rows, rows[0]], axis=0)
        uv = np.stack(
            np.meshgrid(np.linspace(0, 0.4, 5), np.linspace(0, 7, 25), indexing='ij'), axis=-1
        )
        pieces.append(grid(ring, uv, crease_deg=35.0))
    return merge(pieces)


def _aerofoil(points: int) -> Array:
    """Return a closed loop (N, 2) of (chord fraction from the leading edge, thickness -1..1)."""
    c = (1 - np.cos(np.linspace(0, np.pi, points))) / 2
    half = 2.97 * np.sqrt(c) - 1.26 * c - 3.52 * c**2 + 2.84 * c**3 - 1.03 * c**4
    half = half / half.max()
    upper = np.column_stack([c[::-1], half[::-1]])
    lower = np.column_stack([c[1:], -0.55 * half[1:]])
    return np.vstack([upper, lower])


def flying_surface(
    span: float,
    root: float,
    tip: float,
    *,
    thickness: float = 0.13,
    sweep_back: float = 0.0,
    dihedral: float = 0.0,
    seed: int = 0,
    torn_root: float = 0.0,
    bites: int = 0,
) -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return skin and inside of a wing half or tailplane from y = 0 to `span`, leading edge x = 0.

    UV: u along the span 0..1, v along the chord, the upper side in 0.5..1 and the lower in 0..0.5.

    Args:
        span: Half span [m].
        root: Chord at y = 0 [m].
        tip: Chord at the tip before its rounding [m].
        thickness: Of the root section over its chord; thinner outward.
        sweep_back: Of the leading edge at the tip [m].
        dihedral: Rise at the tip [m].
        seed: Seed of the tears.
        torn_root: Depth of the torn edge at the root [m].
        bites: Holes torn through the skin.
    """
    rng = generator(seed, 'surface', round(span * 100))
    count = max(8, round(span / 0.3))
    y = np.linspace(0, span, count + 1)
    y = np.concatenate([y[:-1], span + np.array([0.0, 0.12, 0.2, 0.235]) * tip])
    share = np.clip(y / span, 0, 1)
    rounding = np.sqrt(np.clip(1 - (np.clip(y - span, 0, None) / (0.24 * tip)) ** 2, 0.02, 1))
    chord = (root + (tip - root) * share) * (0.35 + 0.65 * rounding)
    front = sweep_back * share + (root + (tip - root) * share - chord) * 0.35
    loop = _aerofoil(9)
    thick = thickness * (1 - 0.45 * share) * rounding
    x = -(front[:, None] + chord[:, None] * loop[None, :, 0])
    z = (chord * thick / 2)[:, None] * loop[None, :, 1] + (dihedral * share)[:, None]
    points = np.stack([x, np.broadcast_to(y[:, None], x.shape), z], axis=-1)
    v = np.linspace(1, 0, len(loop))
    uv = np.stack(np.meshgrid(y / y[-1], v, indexing='ij'), axis=-1)
    sheet = grid(points[:, ::-1], uv[:, ::-1], crease_deg=60.0)
    corner = uv_of(sheet)[np.asarray(sheet.faces)]
    u = (corner[..., 0].min(axis=1) + corner[..., 0].max(axis=1)) / 2 * y[-1]
    w = (corner[..., 1].min(axis=1) + corner[..., 1].max(axis=1)) / 2
    strip = np.minimum((w * 16).astype(int), 15)
    keep = u > torn_root * rng.uniform(0, 1, 16)[strip]
    for _ in range(bites):
        at, where = rng.uniform(0.15, 0.9) * span, rng.uniform(0.55, 0.95)
        keep &= ~((np.abs(u - at) < rng.uniform(0.2, 0.5)) & (np.abs(w - where) < 0.09))
    return thicken(select_faces(sheet, keep), 0.008)


def fin_outline() -> Array:
    """Return the side view (N, 2) of fin and rudder as (aft from its leading edge, height) [m]."""
    return np.array(
        [
            (0.0, 0.0),
            (0.5, 0.9),
            (0.9, 1.7),
            (1.25, 2.2),
            (1.7, 2.42),
            (2.15, 2.3),
            (2.45, 1.8),
            (2.55, 1.1),
            (2.5, 0.3),
            (2.4, 0.0),
        ]
    )


def engine() -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return a cowling and its radial engine, propeller shaft at the origin along +x."""
    cowl = lathe(
        [
            (0.60, -1.25),
            (0.66, -0.9),
            (0.68, -0.35),
            (0.62, -0.12),
            (0.52, -0.06),
            (0.46, -0.12),
            (0.46, -0.5),
        ],
        sections=20,
        scale=1.2,
    )
    core = [
        lathe([(0.0, -0.75), (0.24, -0.75), (0.24, -0.15), (0.14, 0.05), (0.0, 0.08)], sections=12)
    ]
    for k in range(9):
        spoke = move(cylinder(0.1, 0.26, sections=8), (0, 0, 0.2))
        core.append(move(move(spoke, rpy_deg=(90, 0, 0)), (0, 0, -0.4), rpy_deg=(0, 0, 40.0 * k)))
    turn = (0.0, 90.0, 0.0)
    return move(cowl, rpy_deg=turn), move(merge(core), rpy_deg=turn)


def propeller(bends: tuple[float, ...] = (0.0, 0.9, -0.4)) -> trimesh.Trimesh:
    """Return a three-bladed propeller on the x axis; `bends` curl the tips backward [m]."""
    pieces = [move(sphere(0.17, sections=12, rings=6, from_deg=-30.0), rpy_deg=(0, 90, 0))]
    for k, bend in enumerate(bends):
        r = np.linspace(0.12, 1.5, 10)
        share = (r - 0.12) / 1.38
        half = 0.15 * np.sin(np.pi * np.clip(0.18 + 0.78 * share, 0, 1)) + 0.02
        twist = np.radians(55 - 38 * share)
        back = bend * share**2
        reach = r - 0.35 * abs(bend) * share**2
        rows = []
        for sign, lift in ((-1, 0), (0, 0.025), (1, 0), (0, -0.025), (-1, 0)):
            across = sign * half
            rows.append(
                np.stack(
                    [across * np.sin(twist) - back + lift, across * np.cos(twist), reach], axis=-1
                )
            )
        blade = np.stack(rows, axis=0)
        uv = np.stack(
            np.meshgrid(np.linspace(0, 1, 5), 0.05 + 0.9 * share, indexing='ij'), axis=-1
        )
        pieces.append(move(grid(blade, uv, crease_deg=60.0), rpy_deg=(120.0 * k + 20.0, 0, 0)))
    return merge(pieces)


def seat() -> trimesh.Trimesh:
    """Return a cabin seat standing on z = 0, facing +x."""
    return merge(
        [
            box((0.5, 0.5, 0.14), (0, 0, 0.42), bevel=0.04),
            move(box((0.14, 0.5, 0.75), bevel=0.05), (-0.27, 0, 0.78), rpy_deg=(0, -14, 0)),
            *(box((0.4, 0.05, 0.3), (0, y, 0.56)) for y in (-0.26, 0.26)),
            *(
                rod((x, y, 0), (x, y, 0.38), 0.025, sections=6)
                for x in (-0.2, 0.2)
                for y in (-0.2, 0.2)
            ),
        ]
    )


def debris_panel(seed: int, index: int) -> trimesh.Trimesh:
    """Return a torn, bent piece of skin of 0.6-1.6 m with its two sides, about the origin."""
    rng = generator(seed, 'panel', index)
    long, wide = rng.uniform(0.8, 1.7), rng.uniform(0.5, 1.1)
    x, y = np.linspace(-0.5, 0.5, 8), np.linspace(-0.5, 0.5, 6)
    gx, gy = np.meshgrid(x * long, y * wide, indexing='ij')
    gz = rng.uniform(-0.4, 0.4) * gx**2 + rng.uniform(-0.9, 0.9) * gy**2
    gz += rng.normal(0, 0.03, gz.shape)
    sheet = grid(
        np.stack([gx, gy, gz], axis=-1),
        np.stack([gx / 2.5 + rng.uniform(), gy / 2.5 + rng.uniform()], axis=-1),
        crease_deg=50.0,
    )
    keep = rng.random(len(sheet.faces)) > 0.08
    skin, inside = thicken(select_faces(sheet, keep), 0.025)
    return merge([skin, inside])
