"""Pair of electrical cabinets on a yellow skid, with cables snaking away over the seabed."""

from __future__ import annotations

from functools import lru_cache
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.rng import generator
from oceangym_worlds.modelling import mesh as ops
from oceangym_worlds.modelling import primitives as kit
from oceangym_worlds.modelling import textures as tex
from oceangym_worlds.modelling.assembly import Assembly, box_primitive, cylinder_x, Finish, metal
from oceangym_worlds.modelling.model import PropAttributes, PropModel

_GREY: tex.Colour = (196, 204, 202)
_CABINETS = ((-0.6, 1.72), (0.6, 1.55))  # middle along x and height of the two [m]
_WIDTH, _DEPTH, _FLOOR = 1.08, 0.92, 0.3
_FRONT = -_DEPTH / 2.0
# Cables: where they leave the skid (x, y), heading [deg], length [m], radius [m], colour.
_CABLES = (
    ((-1.2, 0.1), 160.0, 7.6, 0.07, 'black'),
    ((-1.2, -0.25), 205.0, 5.2, 0.055, 'orange'),
    ((1.2, 0.15), 18.0, 7.9, 0.075, 'orange'),
    ((1.2, -0.2), -32.0, 6.2, 0.06, 'black'),
    ((0.35, 0.5), 84.0, 5.6, 0.07, 'black'),
)


def build(*, seed: int) -> PropModel:
    """Build the cabinets, doors facing -y, and their cables."""
    model = Assembly()
    _add_skid(model)
    for index, (x, height) in enumerate(_CABINETS):
        _add_cabinet(model, index, x, height)
    for index in range(len(_CABLES)):
        _add_cable(model, index, seed)
    return PropModel(
        name='electrical_box',
        parts=model.parts(_finishes(seed)),
        collisions=(
            box_primitive((-1.25, -0.75, -0.2), (1.25, 0.75, 0.35)),
            box_primitive((-1.2, -0.55, 0.3), (-0.02, 0.5, 2.1)),
            box_primitive((0.02, -0.55, 0.3), (1.2, 0.5, 1.95)),
        ),
        attributes=PropAttributes(
            prop_class='electrical_box',
            label='ELECTRICAL BOX',
            structure=True,
            material='painted steel',
            colour='light grey cabinets on a yellow skid, black and orange cables',
            size='2.4 x 1.4 x 2.0 m, cables up to 8 m long',
            markings='yellow lightning triangles, DANGER and 10 KV on the doors',
            state='standing on the seabed, lightly rusted and overgrown, cables attached',
            description=(
                'Two light grey electrical cabinets side by side on a yellow skid, with double '
                'doors, louvres, handles and yellow high-voltage triangles. Five thick black and '
                'orange cables leave through glands and snake over the seabed.'
            ),
        ),
    )


def _add_skid(model: Assembly) -> None:
    for y in (-0.55, 0.55):
        flange = [kit.box((2.4, 0.2, 0.03), (0.0, y, z), scale=1.0) for z in (0.065, 0.285)]
        web = kit.box((2.4, 0.03, 0.2), (0.0, y, 0.17), scale=1.0)
        model.add_dusted('yellow', 'yellow_dusty', *flange, web)
    for x in (-1.1, -0.4, 0.4, 1.1):
        model.add('yellow', kit.box((0.1, 1.1, 0.12), (x, 0.0, 0.2), scale=1.0))
    # Mud mats reach into the seabed so that no slope shows a gap.
    for x in (-0.85, 0.85):
        model.add_dusted('steel', 'steel', kit.box((0.65, 1.4, 0.45), (x, 0.0, -0.175), scale=1.0))
    for x in (-1.14, 1.14):
        for y in (-0.55, 0.55):
            eye = ops.move(
                kit.torus(0.09, 0.03, sections=12, around=6), (x, y, 0.4), rpy_deg=(90, 0, 0)
            )
            model.add('yellow', eye)
    # A bumper rail guards the cabinets' feet.
    ring = [(-1.2, -0.68, 0.52), (1.2, -0.68, 0.52), (1.2, 0.68, 0.52), (-1.2, 0.68, 0.52)]
    for a, b in zip(ring, [*ring[1:], ring[0]], strict=True):
        model.add('yellow', kit.rod(a, b, 0.035))
        for share in (0.02, 0.5):
            p = np.asarray(a) + share * (np.asarray(b) - np.asarray(a))
            model.add('yellow', kit.rod((p[0], p[1], 0.26), (p[0], p[1], 0.52), 0.03))


def _add_cabinet(model: Assembly, index: int, x: float, height: float) -> None:
    shell = kit.box(
        (_WIDTH, _DEPTH, height - 0.12),
        (x, 0.0, _FLOOR + (height - 0.12) / 2.0),
        bevel=0.015,
        scale=1.6,
    )
    front, rest = ops.split_facing(shell, (0, -1, 0), within_deg=10)
    model.add(f'door_{index + 1}', ops.fit_uv(ops.planar_uv(front, (1, 0, 0), (0, 0, 1), scale=1)))
    model.add_dusted('cabinet', 'cabinet_dusty', rest)
    # A roof with an overhang, sloping to the front, with its lifting eyes.
    top = _FLOOR + height - 0.12
    roof = kit.extrude(
        [(-0.53, 0.0), (0.5, 0.0), (0.5, 0.13), (-0.53, 0.07)], _WIDTH + 0.08, scale=1.6
    )
    roof = ops.move(roof, (x - (_WIDTH + 0.08) / 2.0, 0.0, top), rpy_deg=(90, 0, 90))
    model.add_dusted('cabinet', 'cabinet_dusty', roof)
    for dx in (-0.42, 0.42):
        eye = ops.move(
            kit.torus(0.06, 0.02, sections=12, around=6),
            (x + dx, 0.1, top + 0.16),
            rpy_deg=(90, 0, 0),
        )
        model.add('yellow', eye)
    body = top - _FLOOR
    for dx in (-0.27, 0.27):
        # Louvres low and high on each door leaf.
        for base in (0.1, 0.8):
            for k in range(4):
                slat = kit.box((0.36, 0.05, 0.012), scale=1.0)
                z = _FLOOR + base * body + 0.05 * k
                model.add(
                    'cabinet', ops.move(slat, (x + dx, _FRONT - 0.012, z), rpy_deg=(35, 0, 0))
                )
        handle_x = x + math.copysign(0.06, dx)
        z = _FLOOR + 0.52 * body
        grip = kit.smooth_path(
            [
                (handle_x, _FRONT, z - 0.12),
                (handle_x, _FRONT - 0.07, z - 0.1),
                (handle_x, _FRONT - 0.07, z + 0.1),
                (handle_x, _FRONT, z + 0.12),
            ],
            step=0.04,
        )
        model.add('black', kit.sweep(grip, 0.016, sections=7))
        for share in (0.12, 0.5, 0.88):
            hinge = kit.cylinder(0.022, 0.12, sections=8)
            at = (x + math.copysign(0.525, dx), _FRONT - 0.015, _FLOOR + share * body - 0.06)
            model.add('steel', ops.move(hinge, at))
    # Glands and a conduit box on the outer side, cooling fins on the back.
    outer = math.copysign(1.0, x)
    side_x = x + outer * _WIDTH / 2.0
    for k in range(3):
        gland = cylinder_x((side_x + outer * 0.06, -0.25 + 0.2 * k, 0.46), 0.07, 0.14, sections=12)
        model.add('black', gland)
    plate = kit.box((0.08, 0.5, 0.42), (side_x + outer * 0.04, 0.0, 1.15), bevel=0.015, scale=1.0)
    model.add_dusted('cabinet', 'cabinet_dusty', plate)
    for k in range(7):
        fin = kit.box((0.03, 0.1, 0.9), (x - 0.36 + 0.12 * k, -_FRONT + 0.05, 1.1), scale=1.0)
        model.add('cabinet', fin)


def _add_cable(model: Assembly, index: int, seed: int) -> None:
    (x, y), heading, length, radius, colour = _CABLES[index]
    rng = generator(seed, 'electrical_box_cable', index)
    behind = abs(y) > 0.4
    start_y = 0.38 if behind else y
    # Out of the gland, over the rail, down to the seabed.
    knots = [
        (x, start_y, 0.46),
        (x + (0.0 if behind else math.copysign(0.22, x)), y + (0.2 if behind else 0.0), 0.42),
    ]
    at, way = np.array([knots[-1][0], knots[-1][1]]), math.radians(heading)
    bend = rng.choice((-1.0, 1.0))
    steps = max(4, round(length / 0.75))
    for k in range(steps):
        turn = way + bend * 0.75 * math.sin(1.25 * k + rng.uniform(-0.3, 0.3))
        at = at + 0.72 * np.array([math.cos(turn), math.sin(turn)])
        sunk = -0.35 if k == steps - 1 else rng.uniform(-0.3, 0.6) * radius
        knots.append((float(at[0]), float(at[1]), radius + sunk if k else 0.08))
    path = kit.smooth_path(knots, step=0.12)
    model.add(f'cable_{colour}', kit.sweep(path, radius, sections=9, scale=0.5))


def _lightning_sign(
    sheet: tex.Texture, centre: tuple[float, float], half: float, seed: int
) -> tex.Texture:
    """Paint a yellow triangle with a black border and bolt; `half` is a share of the height."""
    rows, columns = sheet.shape[:2]
    y, x = np.mgrid[0:rows, 0:columns] + 0.5
    dx = (x - centre[0] * columns) / (half * rows)
    dy = ((1.0 - centre[1]) * rows - y) / (half * rows)

    def triangle(size: float) -> NDArray[np.float32]:
        inside = np.minimum(dy + 0.5 * size, size - dy - math.sqrt(3.0) * np.abs(dx))
        return np.asarray(np.clip(inside * half * rows + 0.5, 0.0, 1.0), dtype=np.float32)

    sheet = tex.stamp(sheet, triangle(1.12), tex.BLACK, seed=seed, wear=0.02)
    sheet = tex.stamp(sheet, triangle(0.88), (255, 206, 0), seed=seed, wear=0.02)
    upper = np.abs(dx - 0.05 - 0.35 * (dy - 0.08)) < 0.085
    lower = np.abs(dx - 0.35 * (dy + 0.16)) < 0.085 * np.clip((dy + 0.42) / 0.3, 0, 1)
    bolt = (upper & (dy > 0.02) & (dy < 0.5)) | (lower & (dy > -0.42) & (dy < 0.09))
    return tex.stamp(sheet, bolt.astype(np.float32), tex.BLACK)


def _door_texture(seed: int) -> tex.Texture:
    """Return a cabinet's front: two door leaves, signs, rust from the hinges, growth below."""
    sheet = tex.painted_metal(seed, _GREY, wear=0.3, rust=0.03, size=(512, 384))
    dark: tex.Colour = (70, 74, 74)
    for u in (0.03, 0.5, 0.97):
        sheet = tex.band(sheet, u - 0.006, u + 0.006, dark, along_u=False)
    for v in (0.02, 0.97):
        sheet = tex.band(sheet, v - 0.005, v + 0.005, dark)
    for u in (0.25, 0.75):
        for base in (0.1, 0.8):
            rows, columns = sheet.shape[:2]
            grille = np.zeros((rows, columns), dtype=np.float32)
            top, left = round((1 - base - 0.115) * rows), round((u - 0.17) * columns)
            grille[top : top + round(0.125 * rows), left : left + round(0.34 * columns)] = 1.0
            sheet = tex.stamp(sheet, grille, (52, 56, 56))
        sheet = _lightning_sign(sheet, (u, 0.6), 0.15, seed)
    sheet = tex.text(sheet, 'DANGER', (0.25, 0.43), 0.042, (200, 24, 20), seed=seed, wear=0.05)
    sheet = tex.text(sheet, '10 KV', (0.75, 0.43), 0.045, tex.BLACK, seed=seed, wear=0.05)
    sheet = tex.streaks(sheet, seed, 0.15, columns=32)
    return tex.growth(sheet, seed, 0.05)


@lru_cache(maxsize=2)
def _finishes(seed: int) -> dict[str, Finish]:
    cabinet = tex.painted_metal(seed + 2, _GREY, wear=0.35, rust=0.05)
    yellow = tex.painted_metal(seed + 3, tex.SAFETY_YELLOW, wear=0.4, rust=0.1, size=256)
    orange = tex.sediment(tex.plain((240, 112, 22), 128), seed, 0.18, colour=tex.SILT)
    black = tex.sediment(tex.rubber(seed, size=128), seed, 0.2, colour=tex.SILT)
    return {
        'door_1': metal(_door_texture(seed)),
        'door_2': metal(_door_texture(seed + 1)),
        'cabinet': metal(tex.growth(tex.streaks(cabinet, seed, 0.12), seed, 0.08)),
        'cabinet_dusty': metal(
            tex.sediment(tex.growth(cabinet, seed, 0.15), seed, 0.5, colour=tex.SILT)
        ),
        'yellow': metal(tex.growth(yellow, seed, 0.05)),
        'yellow_dusty': metal(tex.sediment(yellow, seed, 0.45, colour=tex.SILT)),
        'steel': metal(tex.growth(tex.rusty_steel(seed, size=128), seed, 0.2)),
        'black': Finish(texture=tex.rubber(seed + 1, size=64), acoustic='plastic'),
        'cable_black': Finish(texture=black, acoustic='plastic'),
        'cable_orange': Finish(texture=orange, acoustic='plastic'),
    }
