"""Wreck of a twin-engined propeller airliner of the 1930s, broken in pieces within 12 m."""

from __future__ import annotations

import numpy as np
import trimesh

from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_worlds.modelling import textures as tk
from oceangym_worlds.modelling.mesh import merge, mirror, move, planar_uv, uv_of, with_uv
from oceangym_worlds.modelling.model import Part, Primitive, PropAttributes, PropModel
from oceangym_worlds.modelling.primitives import box, extrude, rod, smooth_path, sweep
from oceangym_worlds.modelling.shells import bar, block, euler_pose, laid, place_all
from oceangym_worlds.props import aircraft_parts as parts_of

_BREAK_1, _BREAK_2 = 2.9, 8.2  # m aft of the nose: cockpit | cabin | tail
_WING_AFT, _WING_Z = 3.7, -0.55  # m, leading edge of the root
_SPAN, _ROOT, _TIP = 8.6, 3.1, 1.35  # m, of one wing from the fuselage's side
_ENGINE_Y = 2.3  # m outboard of the fuselage's side
_SIDE_Y = 0.9

# Where each piece lies: x, y, z [m] of its own origin, roll, pitch, yaw [deg].
_CABIN = euler_pose((6.3, 0.9, 1.0), (5.0, 2.0, 6.0))
_COCKPIT = euler_pose((7.7, 0.1, 0.75), (-14.0, 9.0, -16.0))
_TAIL = euler_pose((4.2, 3.3, 0.75), (-17.0, -4.0, 22.0))
_TORN_WING = euler_pose((-0.6, -2.5, 0.45), (181.5, -3.0, 207.0))
_LOOSE_ENGINE = euler_pose((6.6, -5.2, 0.45), (25.0, 14.0, -62.0))

# Where torn skin panels lie [m].
_PANEL_SPOTS = (
    (9.4, 2.9), (9.2, -3.2), (6.2, -2.6), (6.0, -8.6), (-3.6, -8.0), (-3.4, -3.6), (-3.0, 6.4),
    (0.2, 6.9), (-7.8, -2.6), (1.0, 4.8), (8.4, 5.6), (-1.2, -3.0), (-5.6, -5.2), (6.8, -8.4),
)  # fmt: skip

_RED = (186, 44, 40)
_BLUE = (28, 58, 120)


class _Bin:
    """Meshes gathered by the part they belong to."""

    def __init__(self) -> None:
        self._meshes: dict[str, list[trimesh.Trimesh]] = {}

    def add(self, part: str, mesh: trimesh.Trimesh, pose: Pose | None = None) -> None:
        placed = mesh if pose is None else laid(mesh, pose)
        self._meshes.setdefault(part, []).append(placed)

    def mesh(self, part: str) -> trimesh.Trimesh:
        return merge(self._meshes[part])


def _add_fuselage(pieces: _Bin, seed: int) -> None:
    for pose, start, end, tear_start, tear_end in (
        (_COCKPIT, 0.0, _BREAK_1, 0.0, 0.8),
        (_CABIN, _BREAK_1, _BREAK_2, 0.6, 1.1),
        (_TAIL, _BREAK_2, parts_of.LENGTH, 1.0, 0.0),
    ):
        skin, inside = parts_of.fuselage(
            start, end, seed, ragged_start=tear_start, ragged_end=tear_end
        )
        pieces.add('fuselage', skin, pose)
        pieces.add('inside', inside, pose)
        stations = np.arange(start + 0.12, min(end, 11.4), 0.5)
        pieces.add('inside', parts_of.fuselage_frames(stations), pose)
    floor = box((4.6, 1.7, 0.06), (-5.6, 0, -0.55), scale=1.0)
    pieces.add('inside', floor, _CABIN)
    for aft in (3.6, 4.6, 6.6):
        for side in (-0.55, 0.55):
            if aft == 4.6 and side > 0:
                continue
            pieces.add('seats', move(parts_of.seat(), (-aft, side, -0.52)), _CABIN)
    for angle in np.radians([60, 120, 150, 210, 240, 300]):
        run = parts_of.section_point(np.linspace(_BREAK_1 - 0.2, _BREAK_2 + 0.25, 8), angle)
        centre = np.array([0.0, 0.0, 0.05])
        inner = run + 0.06 * (centre - run) * [0, 1, 1]
        pieces.add('inside', sweep(inner, 0.035, sections=4, caps=False), _CABIN)


def _wing(seed: int, torn: float, bites: int) -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    return parts_of.flying_surface(
        _SPAN,
        _ROOT,
        _TIP,
        sweep_back=0.75,
        dihedral=0.25,
        seed=seed,
        torn_root=torn,
        bites=bites,
        thickness=0.16,
    )


def _nacelle() -> trimesh.Trimesh:
    """Return the nacelle behind an engine, propeller plane at the origin."""
    aft = np.array([0.9, 1.3, 2.0, 2.9, 3.8, 4.5])
    radius = np.array([0.6, 0.64, 0.6, 0.48, 0.26, 0.05])
    path = np.column_stack([-aft, 0 * aft, -0.1 + 0.05 * aft])
    return sweep(path, radius, sections=18, caps=False, scale=1.5)


def _add_wings(pieces: _Bin, seed: int) -> None:
    skin, inside = _wing(seed, 0.0, 3)
    # Impact bent the outer half of the attached wing upward.
    root = Pose.of((-_WING_AFT, _SIDE_Y, _WING_Z))
    on_wing = _CABIN @ root
    pieces.add('wing', skin, on_wing)
    pieces.add('inside', inside, on_wing)
    hub = Pose.of((1.35, _ENGINE_Y, 0.05))
    cowl, core = parts_of.engine()
    pieces.add('cowl', merge([cowl, _nacelle()]), on_wing @ hub)
    pieces.add('engine', core, on_wing @ hub)
    pieces.add('propeller', move(parts_of.propeller(), (0.12, 0, 0)), on_wing @ hub)

    skin, inside = _wing(seed + 1, 1.1, 5)
    # The mirrored skin takes the sheet upside down, which keeps its registration readable.
    starboard = mirror(skin)
    pieces.add('wing', with_uv(starboard, uv_of(starboard) * [1, -1] + [0, 1]), _TORN_WING)
    pieces.add('inside', mirror(inside), _TORN_WING)
    stub = Pose.of((0.3, -_ENGINE_Y, 0.05))
    pieces.add('cowl', _nacelle(), _TORN_WING @ stub)
    for chord in (0.6, 1.5):
        spar = rod((-chord - 0.1, 0.4, 0.05), (-chord - 0.15, -1.6, 0.05), 0.07, sections=6)
        pieces.add('inside', spar, _TORN_WING)

    cowl, core = parts_of.engine()
    pieces.add('cowl', cowl, _LOOSE_ENGINE)
    pieces.add('engine', core, _LOOSE_ENGINE)
    pieces.add(
        'propeller', move(parts_of.propeller((1.1, 0.2, -0.3)), (0.12, 0, 0)), _LOOSE_ENGINE
    )


def _add_tail(pieces: _Bin, seed: int) -> None:
    fin = extrude(parts_of.fin_outline() * [-1, 1], 0.16)
    fin = move(planar_uv(fin, (1, 0, 0), (0, 1, 0), scale=1.0), (0, 0, -0.08))
    uv = np.clip((uv_of(fin) - [-2.6, 0.0]) / [2.6, 2.5], 0, 1)
    fin = move(with_uv(fin, uv), (-10.5, 0, 0.85), rpy_deg=(90, 0, 0))
    pieces.add('fin', fin, _TAIL)
    for index, side in enumerate((1, -1)):
        span = 2.9 if side > 0 else 2.0
        skin, inside = parts_of.flying_surface(
            span, 1.9, 1.0, sweep_back=0.4, seed=seed + 3 + index, bites=index, thickness=0.11
        )
        at = _TAIL @ Pose.of((-10.9, side * 0.35, 0.5))
        pieces.add('tailplane', skin if side > 0 else mirror(skin), at)
        pieces.add('inside', inside if side > 0 else mirror(inside), at)


def _add_debris(pieces: _Bin, seed: int) -> None:
    rng = generator(seed, 'aircraft_debris')
    for index, (x, y) in enumerate(_PANEL_SPOTS):
        tilt = rng.uniform(-22, 22, 2)
        pose = euler_pose(
            (x, y, 0.16), (float(tilt[0]), float(tilt[1]), float(rng.uniform(0, 360)))
        )
        pieces.add('debris', parts_of.debris_panel(seed, index), pose)
    for x, y, roll, pitch, yaw in (
        (-1.9, 0.9, 80.0, 0.0, 40.0),
        (-1.4, -1.9, 0.0, -65.0, 100.0),
        (0.6, -3.4, 90.0, 10.0, 200.0),
    ):
        pieces.add('seats', parts_of.seat(), euler_pose((x, y, 0.28), (roll, pitch, yaw)))
    for _ in range(5):
        start = np.array([rng.uniform(-2.4, 0.6), rng.uniform(-1.2, 2.4), 0.15])
        path = smooth_path(
            [
                start,
                start + np.array([*rng.uniform(-0.9, 0.9, 2), 0.25]),
                start + np.array([*rng.uniform(-1.6, 1.6, 2), 0.0]),
            ],
            step=0.3,
        )
        pieces.add('engine', sweep(path, 0.03, sections=5), None)


def _fuselage_texture(seed: int) -> tk.Texture:
    """Paint the unrolled fuselage: u nose to tail, v keel, port side, top, starboard side, keel."""
    tex = tk.aluminium_skin(seed, panels=(8, 12), size=(1024, 1024), rivets=10)
    for low, high in ((0.225, 0.262), (0.738, 0.775)):
        tex = tk.band(tex, low, high, _RED, seed=seed, wear=0.12)
    for low, high in ((0.266, 0.278), (0.722, 0.734)):
        tex = tk.band(tex, low, high, _BLUE, seed=seed, wear=0.15)
    # Windows sit at v near 0.29 and 0.71. On the port side u runs backward, seen from outside
    # it reads left to right from nose to tail with v upward; on starboard it is turned by half.
    for words, u, v, turn in (('SKYLINER', 0.40, 0.365, 0), ('SKYLINER', 0.40, 0.635, 2)):
        tex = tk.text(
            tex, words, (u, v), 0.035, _BLUE, seed=seed, wear=0.2, stretch=0.62, turn=turn
        )
    for v, turn in ((0.20, 0), (0.80, 2)):
        tex = tk.text(
            tex,
            'NC-1807',
            (0.74, v),
            0.055,
            tk.BLACK,
            seed=seed,
            wear=0.12,
            stretch=0.6,
            turn=turn,
        )
    tex = tk.streaks(tex, seed, 0.12, colour=(120, 112, 92), columns=40)
    tex = tk.growth(tex, seed, 0.10)
    return tk.sediment(tex, seed, 0.05, colour=tk.SILT)


def _wing_texture(seed: int) -> tk.Texture:
    """Paint a wing: u root to tip, v 0.5..1 the upper side, trailing edge at v = 1."""
    tex = tk.aluminium_skin(seed + 1, panels=(8, 10), size=(512, 1024), rivets=10)
    tex = tk.band(tex, 0.90, 0.97, _RED, along_u=False, seed=seed, wear=0.12)
    for v, turn in ((0.76, 2), (0.24, 0)):
        tex = tk.text(
            tex,
            'NC-1807',
            (0.62, v),
            0.17,
            tk.BLACK,
            seed=seed,
            wear=0.1,
            stretch=0.75,
            turn=turn,
        )
    tex = tk.streaks(tex, seed + 2, 0.12, colour=(120, 112, 92), columns=30)
    return tk.sediment(tk.growth(tex, seed + 2, 0.10), seed, 0.06, colour=tk.SILT)


def _fin_texture(seed: int) -> tk.Texture:
    tex = tk.aluminium_skin(seed + 4, panels=(4, 3), size=256, rivets=8)
    for low, high, colour in ((0.42, 0.58, _RED), (0.62, 0.78, tk.WHITE), (0.82, 0.98, _BLUE)):
        tex = tk.band(tex, low, high, colour, seed=seed, wear=0.1)
    return tk.growth(tex, seed + 5, 0.08)


def _collisions() -> tuple[Primitive, ...]:
    def wing(mirrored: int) -> list[Primitive]:
        boxes = []
        for y0, y1, chord, front in (
            (0, 2.9, 2.9, 0.1),
            (2.9, 5.8, 2.3, 0.4),
            (5.8, 9.0, 1.7, 0.6),
        ):
            size = (chord, y1 - y0, 0.42)
            boxes.append(block(size, (-front - chord / 2, mirrored * (y0 + y1) / 2, 0.1)))
        return boxes

    attached = _CABIN @ Pose.of((-_WING_AFT, _SIDE_Y, _WING_Z))
    hub = attached @ Pose.of((1.35, _ENGINE_Y, 0.05))
    loose_wing_hub = _TORN_WING @ Pose.of((0.3, -_ENGINE_Y, 0.05))
    tail = [
        bar((-7.6, 0, 0.15), (-11.2, 0, 0.3), 0.85),
        bar((-10.4, 0, 0.4), (-13.5, 0, 0.5), 0.4),
        block((1.9, 0.2, 2.5), (-12.1, 0, 2.05)),
        block((1.7, 3.3, 0.25), (-11.8, 1.8, 0.5)),
        block((1.7, 2.4, 0.25), (-11.8, -1.3, 0.5)),
    ]
    flat = [block((1.7, 1.7, 0.5), (x, y, 0.15)) for x, y in _PANEL_SPOTS]
    return (
        *flat,
        *place_all([bar((-1.9, 0, 0.05), (-9.2, 0, 0.05), 1.12)], _CABIN),
        *place_all(
            [bar((0.0, 0, -0.1), (-1.9, 0, -0.05), 0.6), bar((-0.7, 0, 0), (-3.2, 0, 0), 0.95)],
            _COCKPIT,
        ),
        *place_all(tail, _TAIL),
        *place_all(wing(1), attached),
        *place_all([bar((0.2, 0, 0), (-4.2, 0, 0), 0.68)], hub),
        *place_all([block((0.5, 2.4, 2.4), (-0.1, 0, 0))], hub),
        *place_all(wing(-1), _TORN_WING),
        *place_all([bar((-0.7, 0, 0), (-4.0, 0, 0), 0.6)], loose_wing_hub),
        *place_all(
            [bar((0.3, 0, 0), (-1.1, 0, 0), 0.68), block((0.5, 2.2, 2.2), (-0.1, 0, 0))],
            _LOOSE_ENGINE,
        ),
    )


def build(*, seed: int) -> PropModel:
    """Build the wreck; the cockpit lies towards +x, the attached wing towards +y."""
    pieces = _Bin()
    _add_fuselage(pieces, seed)
    _add_wings(pieces, seed)
    _add_tail(pieces, seed)
    _add_debris(pieces, seed)
    skin = tk.growth(tk.aluminium_skin(seed + 6, panels=(3, 3), rivets=12), seed + 6, 0.08)
    primer = tk.growth(
        tk.painted_metal(seed, (132, 142, 74), wear=0.5, rust=0.08, size=256), seed + 7, 0.1
    )
    cowl = tk.band(tk.aluminium_skin(seed + 8, panels=(4, 4), size=256), 0.7, 0.95, _RED)
    tipped = tk.band(
        tk.painted_metal(seed, (52, 54, 58), wear=0.4, rust=0.1, size=256),
        0.86,
        0.97,
        tk.SAFETY_YELLOW,
    )
    textures = {
        'fuselage': (_fuselage_texture(seed), 'aluminium', 0.5),
        'wing': (_wing_texture(seed), 'aluminium', 0.5),
        'fin': (_fin_texture(seed), 'aluminium', 0.5),
        'tailplane': (skin, 'aluminium', 0.5),
        'debris': (skin, 'aluminium', 0.5),
        'cowl': (tk.growth(cowl, seed + 9, 0.12), 'aluminium', 0.4),
        'inside': (primer, 'aluminium', 0.2),
        'engine': (tk.rusty_steel(seed, size=256), 'steel', 0.3),
        'propeller': (tipped, 'steel', 0.3),
        'seats': (
            tk.painted_metal(seed, (120, 62, 44), wear=0.5, rust=0.0, size=256),
            'plastic',
            0.0,
        ),
    }
    parts = tuple(
        Part(
            name=name,
            mesh=pieces.mesh(name),
            texture=texture,
            acoustic=acoustic,
            metalness=metalness,
            roughness=0.6,
        )
        for name, (texture, acoustic, metalness) in textures.items()
    )
    return PropModel(
        name='aircraft',
        parts=parts,
        collisions=_collisions(),
        attributes=PropAttributes(
            prop_class='aircraft',
            label='AIRCRAFT WRECKAGE',
            structure=True,
            material='aluminium',
            colour='bare aluminium with a red and blue stripe',
            size='debris field 21 x 20 m, aircraft 13.4 m long with 19 m span',
            markings='NC-1807 on fuselage and wings; SKYLINER; red, white and blue bands on the fin',
            state='broken in three, one wing torn off, one engine loose, propellers bent',
            description=(
                'The wreckage of a twin-engined propeller airliner: the fuselage broken into '
                'cockpit, cabin with windows and open frames, and tail with its fin; one wing still '
                'attached with engine and bent propeller, the other torn off and lying upside down '
                'beside it; skin panels, seats and a loose engine are scattered around.'
            ),
        ),
    )
