"""Orange tracked seabed mining machine: cutter drum ahead, hopper and riser hose behind."""

from __future__ import annotations

import math

import numpy as np
from shapely.geometry import Point
from shapely.ops import unary_union
import trimesh

from oceangym_core.rng import generator
from oceangym_worlds.modelling import mesh as ops
from oceangym_worlds.modelling import primitives as kit
from oceangym_worlds.modelling import textures as tex
from oceangym_worlds.modelling.assembly import (
    Assembly,
    bar_primitive,
    box_primitive,
    cylinder_x,
    cylinder_y,
    Finish,
    metal,
    prism_y,
)
from oceangym_worlds.modelling.model import PropAttributes, PropModel

_ORANGE: tex.Colour = (238, 104, 22)
_TRACK_Y, _TRACK_WIDTH = 1.24, 0.64
_DRUM_X, _DRUM_Z, _DRUM_RADIUS, _DRUM_WIDTH = 2.52, 0.72, 0.6, 2.9
_SIDE_Y = 1.12  # half width of the upper hull
_SIDE = [
    (-2.75, 1.16),
    (1.45, 1.16),
    (1.72, 1.42),
    (1.2, 2.2),
    (-1.1, 2.2),
    (-1.1, 1.75),
    (-2.75, 1.75),
]  # upper hull seen from starboard, (x, z)
_TILE = 2.2  # metres per tile of paint


def build(*, seed: int, number: int = 2) -> PropModel:
    """Build the mining robot, 6.5 x 3.2 x 3.2 m, facing +x.

    Args:
        seed: Of weathering and small parts.
        number: Painted on the hull's sides.
    """
    model = Assembly()
    for side in (1.0, -1.0):
        _add_track(model, side)
    _add_hull(model)
    _add_cutter(model, seed)
    _add_hopper(model)
    _add_hose(model)
    _add_fittings(model)
    return PropModel(
        name='mining_robot',
        parts=model.parts(_finishes(seed, f'MR-{number:02d}')),
        collisions=(
            box_primitive((-2.95, -1.58, 0.0), (1.95, 1.58, 1.2)),
            box_primitive((-2.75, -1.15, 1.2), (1.6, 1.15, 2.25)),
            box_primitive((-2.8, -1.1, 2.0), (-1.0, 1.1, 2.85)),
            box_primitive((-0.95, -1.0, 2.2), (0.8, 1.0, 2.75)),
            box_primitive((1.4, -1.1, 0.3), (2.6, 1.1, 1.75)),
            bar_primitive(
                (_DRUM_X, -1.47, _DRUM_Z), (_DRUM_X, 1.47, _DRUM_Z), 0.74, shape='cylinder'
            ),
            bar_primitive((-0.95, 0.5, 2.3), (-0.95, 0.5, 3.15), 0.22),
            bar_primitive((-2.75, -0.55, 0.3), (-2.75, -0.55, 2.9), 0.3),
        ),
        attributes=PropAttributes(
            prop_class='mining_robot',
            label='MINING ROBOT',
            structure=True,
            material='painted steel',
            colour='orange with yellow-black hazard stripes and dark tracks',
            size='6.5 x 3.2 x 3.2 m',
            markings=f'MR-{number:02d} in white on both sides, yellow-black hazard stripes',
            state='parked on the seabed, worn paint, light growth, dusted with sediment',
            description=(
                'Orange seabed mining machine on two crawler tracks. A toothed cutter drum as wide '
                'as the machine hangs on a boom at the front; at the back are a hopper and a thick '
                'black riser hose. Yellow-black hazard stripes, work lamps, a number on the hull.'
            ),
        ),
    )


def _add_track(model: Assembly, side: float) -> None:
    y0, y1 = sorted((side * (_TRACK_Y - _TRACK_WIDTH / 2), side * (_TRACK_Y + _TRACK_WIDTH / 2)))
    wheel_x = np.linspace(-1.75, 0.95, 5)
    ends = ((1.42, 0.5), (-2.4, 0.5))
    circles = [Point(x, z).buffer(0.48, 10) for x, z in ends]
    circles += [Point(float(x), 0.26).buffer(0.3, 8) for x in wheel_x]
    inner = unary_union(circles).convex_hull
    belt = inner.buffer(0.07, 4)
    model.add_dusted('tracks', 'tracks_dusty', prism_y(belt.difference(inner), y0, y1))
    ring = belt.exterior
    count = 52
    for k in range(count):
        here = np.asarray(ring.interpolate(k / count, normalized=True).coords[0])
        ahead = np.asarray(ring.interpolate((k + 0.2) / count, normalized=True).coords[0])
        turn = math.degrees(math.atan2(ahead[1] - here[1], ahead[0] - here[0]))
        bar = kit.extrude(
            [(-0.06, -0.02), (0.06, -0.02), (0.03, 0.1), (-0.03, 0.1)], _TRACK_WIDTH + 0.06
        )
        # The ring of a buffer runs clockwise or not depending on its maker; out is away from it.
        out = 180.0 if ring.is_ccw else 0.0
        bar = ops.move(bar, (0.0, _TRACK_WIDTH / 2 + 0.03, 0.0), rpy_deg=(90, 0, 0))
        bar = ops.move(bar, rpy_deg=(0, -turn + out, 0))
        model.add('tracks', ops.move(bar, (here[0], side * _TRACK_Y, here[1])))
    for x in wheel_x:
        model.add('tracks', _wheel((float(x), side * _TRACK_Y, 0.28), 0.27, 12))
    for x, z in ends:
        model.add('grey', _wheel((x, side * _TRACK_Y, z), 0.44, 18))
    frame = prism_y(
        [(-2.4, 0.42), (1.4, 0.42), (1.5, 0.62), (1.2, 0.8), (-2.2, 0.8), (-2.5, 0.62)],
        side * _TRACK_Y - 0.24,
        side * _TRACK_Y + 0.24,
        scale=_TILE,
    )
    model.add_dusted('paint', 'paint_dusty', frame)
    fender = kit.box((4.75, 0.78, 0.09), (-0.5, side * 1.21, 1.17), bevel=0.02, scale=_TILE)
    model.add_dusted('paint', 'paint_dusty', fender)
    for x, tilt in ((1.98, 38.0), (-2.98, -38.0)):
        flap = kit.box((0.5, 0.78, 0.07), scale=_TILE)
        model.add('paint', ops.move(flap, (x, side * 1.21, 1.03), rpy_deg=(0, tilt, 0)))
    edge = kit.box((4.75, 0.03, 0.17), (-0.5, side * 1.605, 1.15), scale=0.5)
    model.add('hazard', edge)


def _wheel(centre: tuple[float, float, float], radius: float, sections: int) -> trimesh.Trimesh:
    half = 0.27
    profile = [
        (0.0, -half),
        (0.3 * radius, -half),
        (0.34 * radius, -half + 0.09),
        (0.78 * radius, -half + 0.09),
        (0.82 * radius, -half),
        (radius, -half),
        (radius, half),
        (0.82 * radius, half),
        (0.78 * radius, half - 0.09),
        (0.34 * radius, half - 0.09),
        (0.3 * radius, half),
        (0.0, half),
    ]
    return ops.move(kit.lathe(profile, sections=sections), centre, rpy_deg=(90, 0, 0))


def _add_hull(model: Assembly) -> None:
    lower = kit.box((4.3, 1.8, 0.8), (-0.5, 0.0, 0.8), bevel=0.05, scale=_TILE)
    upper = prism_y(_SIDE, -_SIDE_Y, _SIDE_Y, scale=_TILE)
    port, upper = ops.split_facing(upper, (0, 1, 0), within_deg=10)
    starboard, upper = ops.split_facing(upper, (0, -1, 0), within_deg=10)
    # One picture shows the whole side; to port it is read from the other side.
    for face, right in ((starboard, 1.0), (port, -1.0)):
        shown = ops.planar_uv(face, (right, 0, 0), (0, 0, 1), scale=1.0)
        model.add('side', ops.fit_uv(shown))
    model.add_dusted('paint', 'paint_dusty', lower, upper)
    # Flush hatches and a radiator on the hull's top, pressure vessels of the electronics on it.
    for x, y, w, d in ((0.75, 0.55, 0.7, 0.7), (0.75, -0.55, 0.7, 0.7)):
        hatch = kit.box((w, d, 0.06), (x, y, 2.22), bevel=0.02, scale=_TILE)
        model.add_dusted('paint', 'paint_dusty', hatch)
    pack = kit.box((1.1, 0.95, 0.42), (-0.3, -0.42, 2.4), bevel=0.05, scale=_TILE)
    model.add_dusted('paint', 'paint_dusty', pack)
    for k in range(6):
        fin = kit.box((0.07, 0.8, 0.07), (-0.72 + 0.17 * k, -0.42, 2.63), scale=1.0)
        model.add('grey', fin)
    for y in (0.35, 0.72):
        model.add_dusted('white', 'white', cylinder_x((-0.2, y, 2.42), 0.16, 1.25, bevel=0.04))
        for x in (-0.6, 0.2):
            model.add('grey', cylinder_x((x, y, 2.42), 0.175, 0.06))
    front = kit.strut((1.5, -1.1, 1.3), (1.5, 1.1, 1.3), 0.32, 0.12, scale=0.5)
    model.add('hazard', front)
    rear = kit.box((0.05, 2.1, 0.24), (-2.79, 0.0, 1.33), scale=0.5)
    model.add('hazard', rear)


def _add_cutter(model: Assembly, seed: int) -> None:
    rng = generator(seed, 'mining_robot_cutter')
    drum = cylinder_y((_DRUM_X, 0.0, _DRUM_Z), _DRUM_RADIUS - 0.06, _DRUM_WIDTH - 0.1, sections=28)
    model.add('drum', drum)
    for y in (-1.4, 1.4):
        disc = cylinder_y((_DRUM_X, y, _DRUM_Z), _DRUM_RADIUS, 0.06, sections=28)
        model.add('drum', disc)
    # Two-start scrolls of tooth boxes from both ends to the middle, as on road planers.
    rows = 17
    for row in range(rows):
        y = (row / (rows - 1) - 0.5) * (_DRUM_WIDTH - 0.15)
        for start in range(3):
            angle = 2 * math.pi * start / 3 + 2.6 * abs(y) + rng.uniform(-0.06, 0.06)
            model.add('drum', _tooth(y, angle)[0])
            model.add('teeth', _tooth(y, angle)[1])
    hood_angles = np.radians(np.linspace(100, 205, 12))
    outer = _DRUM_RADIUS + 0.22
    outline = [
        *(outer * np.column_stack([np.cos(hood_angles), np.sin(hood_angles)])),
        *((outer - 0.06) * np.column_stack([np.cos(hood_angles), np.sin(hood_angles)]))[::-1],
    ]
    hood = prism_y(np.array(outline) + np.array([_DRUM_X, _DRUM_Z]), -1.2, 1.2, scale=_TILE)
    model.add_dusted('paint', 'paint_dusty', hood)
    for side in (1.0, -1.0):
        arm = [
            (1.2, 1.25),
            (1.45, 1.95),
            (2.25, 1.5),
            (2.74, 0.94),
            (2.72, 0.52),
            (2.38, 0.5),
            (2.25, 0.98),
            (1.9, 1.25),
        ]
        model.add_dusted(
            'paint',
            'paint_dusty',
            prism_y(arm, side * 1.56 - 0.06, side * 1.56 + 0.06, scale=_TILE),
        )
        brace = [(1.1, 1.45), (1.1, 1.8), (2.2, 1.5), (2.3, 1.2)]
        model.add_dusted(
            'paint',
            'paint_dusty',
            prism_y(brace, side * 0.72 - 0.1, side * 0.72 + 0.1, scale=_TILE),
        )
        pivot = cylinder_y((1.4, side * 1.32, 1.5), 0.12, 0.62)
        motor = cylinder_y((_DRUM_X, side * 1.56, _DRUM_Z), 0.25, 0.2, bevel=0.03)
        model.add('grey', pivot, motor)
        model.add('grey', kit.rod((0.95, side * 0.4, 2.05), (1.6, side * 0.4, 1.86), 0.09))
        model.add('steel', kit.rod((1.55, side * 0.4, 1.87), (2.4, side * 0.4, 1.36), 0.05))
        stripe = kit.strut(
            (1.45, side * 1.63, 1.6), (2.32, side * 1.63, 1.1), 0.03, 0.2, scale=0.5, up=(0, 0, 1)
        )
        model.add('hazard', stripe)


def _tooth(y: float, angle: float) -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return a tooth's holder and its conical pick, leaning into the cut."""
    holder = kit.box((0.15, 0.1, 0.12), (0.0, 0.0, _DRUM_RADIUS - 0.03), scale=1.0)
    pick = ops.move(
        kit.cylinder(0.045, 0.2, radius_top=0.006, sections=7),
        (0.03, 0.0, _DRUM_RADIUS),
        rpy_deg=(0, 35, 0),
    )
    placed = [
        ops.move(m, (_DRUM_X, y, _DRUM_Z), rpy_deg=(0, math.degrees(angle), 0))
        for m in (holder, pick)
    ]
    return placed[0], placed[1]


def _add_hopper(model: Assembly) -> None:
    low, high = np.array([0.95, 1.3]) / 2, np.array([1.66, 2.1]) / 2
    centre, z0, z1, wall = -1.9, 1.7, 2.72, 0.05
    rings = []
    for half, z in ((low, z0), (high, z1), (high + wall, z1), (low + wall, z0)):
        x, y = half
        rings.append(
            [
                (centre + sx * x, sy * y, z)
                for sx, sy in ((1, 1), (-1, 1), (-1, -1), (1, -1), (1, 1))
            ]
        )
    points = np.array(rings).transpose(1, 0, 2)[:, ::-1]
    shell = kit.grid(points, np.zeros((5, 4, 2)), crease_deg=10)
    shell = ops.box_uv(shell, scale=_TILE)
    model.add('paint', shell)
    floor = kit.polygon(
        [
            (centre + sx * high[0] * 0.93, sy * high[1] * 0.93)
            for sx, sy in ((1, 1), (-1, 1), (-1, -1), (1, -1))
        ],
        scale=1.0,
    )
    heap = ops.subdivide(floor, 0.25)
    model.add('ore', ops.move(heap, (0.0, 0.0, z1 - 0.22)))
    rim = kit.box((1.86, 0.1, 0.1), scale=0.5)
    for side in (1.0, -1.0):
        model.add('hazard', ops.move(rim, (centre, side * 1.1, z1 + 0.02)))
        model.add(
            'hazard',
            ops.move(kit.box((0.1, 2.3, 0.1), scale=0.5), (centre + side * 0.88, 0.0, z1 + 0.02)),
        )
        for x in (-2.5, -1.3):
            leg = kit.strut((x, side * 0.95, 1.2), (x, side * 1.04, z1), 0.1, scale=_TILE)
            model.add('paint', leg)


def _add_hose(model: Assembly) -> None:
    path = kit.smooth_path(
        [
            (-1.7, -0.75, 2.35),
            (-2.05, -0.72, 2.95),
            (-2.55, -0.62, 2.88),
            (-2.86, -0.5, 2.2),
            (-2.93, -0.5, 1.2),
            (-2.9, -0.62, 0.45),
            (-2.72, -0.95, 0.1),
            (-2.85, -1.3, -0.12),
        ],
        step=0.05,
    )
    ripple = 0.155 + 0.014 * np.cos(np.arange(len(path)) * math.pi)
    model.add('rubber', kit.sweep(path, ripple, sections=12, scale=0.5))
    pump = cylinder_x((-2.35, 0.62, 1.98), 0.26, 0.6, bevel=0.05)
    model.add('grey', pump)
    for k, z in ((60, 1.55), (74, 0.9)):
        at = path[np.argmin(np.abs(path[:, 2] - z) + (np.arange(len(path)) < k - 40))]
        model.add('white', ops.move(kit.torus(0.17, 0.05, sections=14, around=6), at))


def _add_fittings(model: Assembly) -> None:
    # Work lamps on a bar across the front, and a mast with camera, sonar and strobe.
    model.add('grey', kit.rod((1.12, -1.05, 2.32), (1.12, 1.05, 2.32), 0.035))
    for y in (-0.9, -0.45, 0.45, 0.9):
        model.add('grey', cylinder_x((1.16, y, 2.42), 0.12, 0.2, sections=14))
        lens = ops.move(kit.cylinder(0.1, 0.02, sections=14), (1.26, y, 2.42), rpy_deg=(0, 90, 0))
        model.add('lamp', lens)
    mast = kit.rod((-0.95, 0.5, 2.2), (-0.95, 0.5, 3.05), 0.05)
    model.add('yellow', mast)
    model.add('yellow', kit.rod((-0.95, 0.5, 2.6), (-1.05, 0.1, 2.2), 0.03))
    model.add('grey', kit.box((0.24, 0.16, 0.16), (-0.88, 0.5, 2.98), bevel=0.02))
    model.add('lamp', kit.sphere(0.08, sections=12, rings=6).apply_translation((-0.95, 0.5, 3.12)))
    # Hand rails and the lifting eyes.
    for side in (1.0, -1.0):
        rail = kit.smooth_path(
            [
                (1.0, side * 1.02, 2.2),
                (1.0, side * 1.02, 2.6),
                (0.8, side * 1.02, 2.68),
                (-0.75, side * 1.02, 2.68),
                (-0.95, side * 1.02, 2.6),
                (-0.95, side * 1.02, 2.2),
            ],
            step=0.12,
        )
        model.add('yellow', kit.sweep(rail, 0.028, sections=7))
        for x in (-0.3, 0.35):
            model.add(
                'yellow', kit.rod((x, side * 1.02, 2.2), (x, side * 1.02, 2.68), 0.024, sections=6)
            )
        model.add(
            'yellow',
            kit.rod((-0.95, side * 1.02, 2.44), (1.0, side * 1.02, 2.44), 0.02, sections=6),
        )
        eye = kit.torus(0.13, 0.04, sections=14, around=6)
        model.add('yellow', ops.move(eye, (0.1, side * 0.8, 2.3), rpy_deg=(90, 0, 0)))


def _side_texture(seed: int, words: str) -> tex.Texture:
    """Return the hull's side: seams, hatches with louvres, the number, dirt from below."""
    sheet = tex.painted_metal(seed, _ORANGE, wear=0.45, rust=0.035, size=(256, 1024))
    for u in (0.17, 0.36, 0.74, 0.9):
        sheet = tex.band(sheet, u - 0.0015, u + 0.0015, (96, 44, 16), along_u=False)
    sheet = tex.band(sheet, 0.555, 0.567, (96, 44, 16))
    for k in range(6):
        v = 0.12 + 0.05 * k
        grille = np.zeros(sheet.shape[:2], dtype=np.float32)
        top = round((1 - v) * 256)
        grille[top : top + 6, 780:900] = 1.0
        sheet = tex.stamp(sheet, grille, (40, 30, 26))
    sheet = tex.text(
        sheet, words, (0.55, 0.31), 0.38, tex.WHITE, seed=seed, wear=0.06, weight=0.22
    )
    sheet = tex.streaks(sheet, seed, 0.4, columns=60)
    return tex.growth(sheet, seed, 0.07)


def _finishes(seed: int, words: str) -> dict[str, Finish]:
    paint = tex.painted_metal(seed, _ORANGE, wear=0.5, rust=0.06)
    ore = tex.rock(seed + 4, colour=(92, 84, 70), size=256)
    tracks = tex.sediment(tex.rusty_steel(seed + 1, size=256), seed, 0.3, colour=tex.SILT)
    dusty = tex.sediment(tex.growth(paint, seed, 0.1), seed, 0.42, colour=tex.SILT)
    grey = tex.growth(tex.painted_metal(seed + 2, (92, 98, 102), size=256, rust=0.12), seed, 0.08)
    textures = {
        'paint': tex.growth(tex.streaks(paint, seed, 0.3), seed, 0.04),
        'paint_dusty': dusty,
        'side': _side_texture(seed, words),
        'tracks': np.asarray(tracks * 0.62, dtype=np.uint8),
        'tracks_dusty': tex.sediment(tracks, seed + 5, 0.6, colour=tex.SILT),
        'drum': tex.sediment(tex.bare_steel(seed + 3, size=256), seed, 0.12, colour=tex.RUST),
        'teeth': tex.bare_steel(seed, size=128),
        'grey': grey,
        'steel': tex.bare_steel(seed + 1, size=128),
        'hazard': tex.hazard_stripes(seed, stripes=2, size=256),
        'yellow': tex.painted_metal(seed + 6, tex.SAFETY_YELLOW, size=128, rust=0.08),
        'white': tex.sediment(tex.fibreglass(seed, size=128), seed, 0.15, colour=tex.SILT),
    }
    finishes = {name: metal(t) for name, t in textures.items()}
    finishes['rubber'] = Finish(texture=tex.rubber(seed, size=128), acoustic='plastic')
    finishes['lamp'] = Finish(texture=tex.plain((250, 248, 230), 16), acoustic='plastic')
    finishes['ore'] = Finish(texture=ore, acoustic='gravel')
    return finishes
