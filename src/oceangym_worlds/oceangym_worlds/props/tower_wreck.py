"""Wreck of a 25 m lattice tower: leaning, its upper third bent over."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
import trimesh

from oceangym_core.rng import generator
from oceangym_worlds.modelling import textures as tk
from oceangym_worlds.modelling.mesh import build as build_mesh
from oceangym_worlds.modelling.mesh import merge, move, rotation, uv_of
from oceangym_worlds.modelling.model import Part, Primitive, PropAttributes, PropModel
from oceangym_worlds.modelling.primitives import (
    angle_bar,
    box,
    lathe,
    rod,
    smooth_path,
    strut,
    sweep,
)
from oceangym_worlds.modelling.shells import bar, block
from oceangym_worlds.modelling.texture_noise import fbm, smoothstep

HEIGHT = 25.0  # m along the tower's axis
_BASE, _TOP = 4.2, 1.3  # m, sides at foot and head
_BEND_AT = 16.5  # m along the axis
_LEAN_DEG = 9.0
_FOLD_DEG = 118.0  # of the upper third against the lower part
_BAYS = 10
_CENTRE_X = 4.6  # m, middle of the footprint from the foot

Array = NDArray[np.float64]


def _side(z: float) -> float:
    return _BASE + (_TOP - _BASE) * float(min(max(z / HEIGHT, 0.0), 1.0) ** 0.85)


def _bent(points: Array) -> Array:
    """Return points (N, 3) of the straight tower as leaned and folded in the x-z plane."""
    p = np.asarray(points, dtype=float)
    z = p[:, 2]
    # Curvature is spread over 2 m, so that the legs buckle rather than break.
    fold = np.radians(_FOLD_DEG)
    lean = math.radians(_LEAN_DEG)
    s = np.linspace(0, HEIGHT + 3, 561)
    angle = lean + fold * np.clip((s - _BEND_AT) / 2.0, 0, 1)
    step = np.diff(s, prepend=0.0)
    axis_x, axis_z = np.cumsum(np.sin(angle) * step), np.cumsum(np.cos(angle) * step)
    here = np.interp(np.maximum(z, 0), s, angle)
    here = np.where(z < 0, lean, here)
    base_x = np.interp(z, s, axis_x) + np.where(z < 0, z * math.sin(lean), 0)
    base_z = np.interp(z, s, axis_z) + np.where(z < 0, z * math.cos(lean), 0)
    return np.column_stack(
        [
            base_x + p[:, 0] * np.cos(here) - _CENTRE_X,
            p[:, 1],
            base_z - p[:, 0] * np.sin(here),
        ]
    )


def _place(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    moved = _bent(np.asarray(mesh.vertices))
    # Normals turn with the axis at their own height.
    tips = _bent(np.asarray(mesh.vertices) + 1e-4 * np.asarray(mesh.vertex_normals))
    normals = tips - moved
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return build_mesh(moved, mesh.faces, uv_of(mesh), normals)


def _lattice(seed: int) -> trimesh.Trimesh:
    rng = generator(seed, 'lattice')
    levels = HEIGHT * (np.linspace(0, 1, _BAYS + 1) ** 0.92)
    corners = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
    rings = [np.column_stack([corners * _side(z) / 2, np.full(4, z)]) for z in levels]
    pieces = []
    for k in range(4):
        leg = np.array([[*(corners[k] * _side(z) / 2), z] for z in np.linspace(-0.4, HEIGHT, 54)])
        toward = -corners[k] / math.sqrt(2)
        w = 0.19
        outline = [(w / 2, -w / 2), (w / 2, w / 2), (-w / 2, w / 2), (-w / 2, -w / 2)]
        pieces.append(sweep(leg, outline, up=(*toward, 0.0), scale=1.0))
    for bay in range(_BAYS):
        low, high = rings[bay], rings[bay + 1]
        for k in range(4):
            n = (k + 1) % 4
            outward = np.append((corners[k] + corners[n]) / 2, 0.0)
            pieces.append(angle_bar(high[k], high[n], 0.12, 0.02, up=outward))
            for a, b in ((low[k], high[n]), (low[n], high[k])):
                if bay > 1 and rng.random() < 0.12:
                    continue
                mid = (a + b) / 2 + outward * rng.normal(0, 0.05)
                for start, end in ((a, mid), (mid, b)):
                    pieces.append(strut(start, end, 0.1, 0.06, up=outward))
    return merge(pieces)


def _fittings() -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return platform, ladder and head frame (steel), and the antennas (fibreglass)."""
    steel, white = [], []
    z = 13.6
    reach = _side(z) / 2 + 0.8
    for x0, x1, y0, y1 in (
        (-reach, reach, reach - 0.8, reach),
        (-reach, reach, -reach, -reach + 0.8),
        (reach - 0.8, reach, -reach, reach),
        (-reach, -reach + 0.8, -reach, reach),
    ):
        steel.append(box((x1 - x0, y1 - y0, 0.07), ((x0 + x1) / 2, (y0 + y1) / 2, z)))
    for k in range(4):
        turn = rotation(yaw=90.0 * k)
        bars = [((reach, y, z), (reach, y, z + 1.1)) for y in np.linspace(-reach, reach, 5)]
        bars += [((reach, -reach, z + h), (reach, reach, z + h)) for h in (0.55, 1.1)]
        steel += [rod(turn @ a, turn @ b, 0.03, sections=6) for a, b in bars]
    ladder = np.array([[_side(s) / 2 + 0.12, 0.0, s] for s in np.linspace(0.2, 13.4, 36)])
    half = np.array([0, 0.22, 0])
    steel += [sweep(ladder + side, 0.03, sections=6) for side in (-half, half)]
    steel += [rod(p - half, p + half, 0.02, sections=5) for p in ladder[1:]]
    dish = lathe(
        [
            (0.0, 0.0),
            (0.5, 0.05),
            (0.85, 0.16),
            (1.05, 0.32),
            (1.05, 0.36),
            (0.85, 0.21),
            (0.5, 0.1),
            (0.0, 0.05),
        ],
        sections=20,
    )
    for z_dish, yaw, size in ((15.2, 90.0, 1.0), (12.2, -70.0, 0.75)):
        out = rotation(yaw=yaw) @ [_side(z_dish) / 2 + 0.45, 0, z_dish]
        white.append(move(dish, out, rpy_deg=(0, 84, yaw), scale=size))
        inner = rotation(yaw=yaw) @ [_side(z_dish) / 2 - 0.1, 0, z_dish]
        steel.append(rod(inner, out, 0.07))
        white.append(rod(out, out + rotation(yaw=yaw) @ [0.6 * size, 0, 0.06], 0.04, sections=6))
    for sx in (-1, 1):
        for sy in (-1, 1):
            foot = np.array([sx * _TOP / 2, sy * _TOP / 2, HEIGHT - 2.2])
            panel = box((0.14, 0.34, 1.9), scale=2.0)
            white.append(move(panel, foot + np.array([sx * 0.3, sy * 0.1, 1.2])))
    steel.append(box((1.7, 1.7, 0.08), (0, 0, HEIGHT)))
    steel.append(rod((0, 0, HEIGHT), (0.1, 0, HEIGHT + 2.6), 0.07, radius_end=0.03))
    return merge(steel), merge(white)


def _cable_path() -> Array:
    """Return the course of the cable that hangs from the head to the seabed."""
    head = _bent(np.array([[0.0, 0.3, HEIGHT]]))[0]
    knots = [
        head,
        head + np.array([0.3, 0.2, -4.0]),
        (head[0] + 0.1, 0.8, 0.5),
        (head[0] - 0.6, 1.4, 0.06),
        (head[0] - 2.0, 1.0, 0.04),
    ]
    return smooth_path(knots, step=0.5)


def _footings() -> trimesh.Trimesh:
    pieces = []
    for sx in (-1, 1):
        for sy in (-1, 1):
            x, y = sx * _BASE / 2 - _CENTRE_X, sy * _BASE / 2
            tilt = 6.0 if sx < 0 else 2.0
            lift = 0.35 if sx < 0 else 0.0
            pad = box((1.5, 1.5, 1.3), bevel=0.06, scale=2.0)
            pieces.append(move(pad, (x, y, lift - 0.1), rpy_deg=(0, tilt, 4.0 * sy)))
    return merge(pieces)


def _painted(seed: int) -> tk.Texture:
    """Paint faded red and white bands along v over rusty steel, one red and one white a tile."""
    tex = tk.painted_metal(seed, (206, 62, 44), wear=0.5, rust=0.0)
    tex = tk.band(tex, 0.0, 0.5, (222, 220, 210))
    spots = tk.rusty_steel(seed + 1).astype(np.float32)
    level = fbm(seed + 2, 512, 5, 6, 0.7, 'tower')
    mask = smoothstep(0.60, 0.64, level)[..., None]
    mixed = tex + (spots - tex) * mask
    return tk.growth(np.rint(mixed).astype(np.uint8), seed, 0.1)


def _banded(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Return the straight tower's mesh with v along its axis, one red and white pair per 5 m."""
    vertices = np.asarray(mesh.vertices)
    uv = np.column_stack([uv_of(mesh)[:, 0] * 0.3, vertices[:, 2] / 5.0])
    return build_mesh(vertices, mesh.faces, uv, mesh.vertex_normals)


def _collisions() -> tuple[Primitive, ...]:
    boxes = []
    cuts = [-0.4, 2.5, 5.5, 8.5, 11.5, 14.0, 16.4, 17.5, 18.6, 21.0, 23.2, 25.2]
    for low, high in itertools.pairwise(cuts):
        ends = _bent(np.array([[0, 0, low], [0, 0, high]]))
        axis = ends[1] - ends[0]
        pitch = math.degrees(math.atan2(axis[0], axis[2]))
        wide = _side(low) + 0.1
        boxes.append(
            block(
                (wide, wide, float(np.linalg.norm(axis)) + 0.1), ends.mean(axis=0), (0, pitch, 0)
            )
        )
    reach = 2 * (_side(13.6) / 2 + 0.8)
    at = _bent(np.array([[0, 0, 14.15]]))[0]
    boxes.append(block((reach, reach, 1.2), at, (0, _LEAN_DEG, 0)))
    mast = _bent(np.array([[0, 0, HEIGHT], [0.1, 0, HEIGHT + 2.6]]))
    boxes.append(bar(mast[0], mast[1], 0.15))
    for z_dish, yaw in ((15.2, 90.0), (12.2, -70.0)):
        spot = rotation(yaw=yaw) @ [_side(z_dish) / 2 + 0.55, 0, z_dish]
        boxes.append(block((0.7, 2.0, 2.0), _bent(spot[None])[0], (0, _LEAN_DEG, yaw)))
    boxes += [
        block((1.5, 1.5, 1.4), (sx * _BASE / 2 - _CENTRE_X, sy * _BASE / 2, 0.1))
        for sx in (-1, 1)
        for sy in (-1, 1)
    ]
    path = _cable_path()
    cable = path[np.linspace(0, len(path) - 1, 7).astype(int)]
    boxes += [bar(a, b, 0.15) for a, b in itertools.pairwise(cable)]
    return tuple(boxes)


def build(*, seed: int) -> PropModel:
    """Build the tower; it leans and is folded over towards +x."""
    steel, white = _fittings()
    cable = sweep(_cable_path(), 0.05, sections=6)
    rusty = tk.growth(tk.rusty_steel(seed + 3), seed + 3, 0.15)
    parts = (
        Part(
            name='lattice',
            mesh=_place(_banded(_lattice(seed))),
            texture=_painted(seed),
            acoustic='steel',
            metalness=0.2,
        ),
        Part(
            name='platform',
            mesh=merge([_place(steel), cable]),
            texture=rusty,
            acoustic='steel',
            metalness=0.3,
        ),
        Part(
            name='antennas',
            mesh=_place(white),
            texture=tk.growth(tk.fibreglass(seed), seed + 4, 0.15),
            acoustic='plastic',
        ),
        Part(
            name='footings',
            mesh=_footings(),
            texture=tk.growth(tk.concrete(seed), seed + 5, 0.2),
            acoustic='concrete',
        ),
    )
    return PropModel(
        name='tower_wreck',
        parts=parts,
        collisions=_collisions(),
        attributes=PropAttributes(
            prop_class='tower_wreck',
            label='TOWER WRECK',
            structure=True,
            material='steel',
            colour='faded red and white bands, rust',
            size='25 m of tower, 14 x 6 x 18 m as it stands',
            markings='red and white bands',
            state='leaning, upper third folded over, corroded',
            description=(
                'A ruined lattice tower of steel: four legs on concrete blocks with cross bracing, '
                'a platform with railings and a ladder, dish and panel antennas; it leans, and its '
                'upper third is folded over and hangs down.'
            ),
        ),
    )
