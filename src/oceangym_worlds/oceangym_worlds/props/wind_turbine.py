"""Monopile foundation of an offshore wind turbine, from its scour rock to above the surface."""

from __future__ import annotations

from functools import lru_cache
import math

import numpy as np
import trimesh

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_worlds.modelling import mesh as ops
from oceangym_worlds.modelling import primitives as kit
from oceangym_worlds.modelling import textures as tex
from oceangym_worlds.modelling.assembly import Assembly, bar_primitive, Finish, metal
from oceangym_worlds.modelling.model import Primitive, PropAttributes, PropModel
from oceangym_worlds.modelling.texture_noise import fbm, smoothstep
from oceangym_worlds.seabed.textures import seabed_texture

RADIUS = 3.0  # of the pile [m]
ABOVE_SURFACE = 4.5  # top of the railing; the world ends at z = 5 m
_SLEEVE_RADIUS, _SLEEVE_DEPTH = 3.16, 3.0  # transition piece, and how far it dips [m]
_PLATFORM = 3.3  # height of the work platform above the surface [m]
_GRADED = 27.0  # height below the transition piece over which growth thickens [m]
_MIN_DEPTH = 15.0
_WRAPS = 2
_TILE = 2.0 * math.pi * RADIUS / _WRAPS
_TUBE_ANGLES = (40.0, 140.0, 216.0)
_LANDING_ANGLE = -12.0


def build(*, seed: int, water_depth: float, number: int = 7) -> PropModel:
    """Build the foundation; its origin is on the seabed.

    Args:
        seed: Of growth, rust and rocks.
        water_depth: Depth of the seabed [m].
        number: Of the turbine, painted on as WT-07.

    Raises:
        OceanGymError: The water is too shallow for a monopile of this kind.
    """
    if not math.isfinite(water_depth) or water_depth < _MIN_DEPTH:
        raise OceanGymError(
            f'a wind turbine in {water_depth} m of water cannot be built; '
            f'use a depth of at least {_MIN_DEPTH:g} m'
        )
    words = f'WT-{number:02d}'
    model = Assembly()
    _add_pile(model, water_depth, seed)
    _add_sleeve(model, water_depth)
    _add_platform(model, water_depth)
    _add_landing(model, water_depth)
    collisions = _add_tubes(model, water_depth)
    _add_anodes(model, water_depth)
    _add_scour(model, seed)
    return PropModel(
        name='wind_turbine',
        parts=model.parts(_finishes(seed, words)),
        collisions=(*_body_collisions(water_depth), *collisions),
        attributes=PropAttributes(
            prop_class='wind_turbine',
            label='WIND POWER STATION',
            structure=True,
            material='painted steel',
            colour='grey pile with yellow transition piece and white tower foot',
            size=f'6 m across, {water_depth + ABOVE_SURFACE:.0f} m high, rock ring 18 m across',
            markings=f'{words} in black on yellow',
            state='in service, growth thickening towards the surface, anodes half spent',
            description=(
                'Monopile foundation of a wind turbine: a steel pile 6 m thick rises from a ring '
                'of scour rock through the surface. J-tubes and sacrificial anodes run up its '
                'sides; near the surface it is overgrown and turns into a yellow transition piece '
                'with boat landing, ladder and a railed work platform.'
            ),
        ),
    )


def _around(mesh: trimesh.Trimesh, angle_deg: float, radius: float, z: float) -> trimesh.Trimesh:
    """Return a mesh made about the origin facing +x, moved out to an angle around the pile."""
    return ops.move(ops.move(mesh, (radius, 0.0, z)), rpy_deg=(0.0, 0.0, angle_deg))


def _shell(
    radius: float, low: float, high: float, v0: float, v1: float, step: float = 3.0
) -> trimesh.Trimesh:
    """Return a piece of pile whose texture runs from `v0` to `v1`."""
    count = max(2, round((high - low) / step) + 1)
    heights = np.linspace(low, high, count)
    side = kit.lathe(
        np.column_stack([np.full(count, radius), heights]), sections=48, wraps=_WRAPS, scale=1.0
    )
    share = (np.asarray(side.vertices)[:, 2] - low) / (high - low)
    return ops.with_uv(side, np.column_stack([ops.uv_of(side)[:, 0], v0 + share * (v1 - v0)]))


def _add_pile(model: Assembly, depth: float, seed: int) -> None:
    top = depth - _SLEEVE_DEPTH
    graded = min(_GRADED, 0.6 * top)
    low = top - graded
    model.add('pile', _shell(RADIUS, -1.5, low, 0.0, (low + 1.5) / _TILE))
    grown = _shell(RADIUS, low, top + 0.2, 0.0, 1.0, step=0.7)

    def lumps(points: ops.Array) -> ops.Array:
        share = np.clip((points[:, 2] - low) / graded, 0.0, 1.0)
        return np.asarray(0.13 * share * (1.0 + ops.noise(points, seed=seed, size=1.6)))

    model.add('pile_grown', ops.displace(grown, lumps, crease_deg=180.0))
    # Circumferential welds, and yellow identity bands for vehicles working along the pile.
    for z in np.arange(4.0, low, 4.0):
        weld = kit.lathe(
            [(RADIUS, z - 0.06), (RADIUS + 0.025, z), (RADIUS, z + 0.06)],
            sections=48,
            crease_deg=180,
        )
        model.add('weld', weld)
    for z in (7.0, 0.5 * low + 3.0, low - 2.0):
        model.add('ident', _shell(RADIUS + 0.03, z, z + 1.7, 0.0, 1.0))


def _add_sleeve(model: Assembly, depth: float) -> None:
    low, high = depth - _SLEEVE_DEPTH, depth + _PLATFORM
    model.add('sleeve', _shell(_SLEEVE_RADIUS, low, high, 0.0, 1.0))
    skirt = kit.lathe(
        [
            (RADIUS, low),
            (_SLEEVE_RADIUS + 0.12, low),
            (_SLEEVE_RADIUS + 0.12, low + 0.25),
            (_SLEEVE_RADIUS, low + 0.32),
        ],
        sections=48,
        scale=2.0,
    )
    model.add('growth', skirt)
    tower = kit.lathe(
        [
            (2.62, high),
            (2.6, depth + 4.25),
            (2.78, depth + 4.25),
            (2.78, depth + 4.4),
            (0.0, depth + 4.4),
        ],
        sections=40,
        scale=3.0,
    )
    model.add('white', tower)
    door = kit.box((0.1, 0.8, 0.72), bevel=0.03)
    model.add('yellow', _around(door, _LANDING_ANGLE + 60.0, 2.62, high + 0.5))


def _add_platform(model: Assembly, depth: float) -> None:
    z, outer, rail = depth + _PLATFORM, 4.9, depth + ABOVE_SURFACE
    deck = kit.lathe(
        [(3.1, z - 0.16), (outer, z - 0.16), (outer, z + 0.02), (2.6, z + 0.02)],
        sections=40,
        scale=2.0,
    )
    model.add('yellow', deck)
    for level in (0.15, 0.62, rail - z - 0.03):
        ring = kit.torus(outer - 0.08, 0.03, sections=40, around=6)
        model.add('yellow', ops.move(ring, (0.0, 0.0, z + level)))
    for angle in np.arange(0.0, 360.0, 15.0):
        post = kit.rod((0, 0, 0), (0, 0, rail - z - 0.03), 0.03, sections=6)
        model.add('yellow', _around(post, float(angle), outer - 0.08, z))
    for angle in np.arange(0.0, 360.0, 45.0):
        brace = kit.strut((0.0, 0.0, 0.0), (1.5, 0.0, 0.95), 0.12)
        model.add('yellow', _around(brace, float(angle) + 22.5, _SLEEVE_RADIUS, z - 1.1))


def _add_landing(model: Assembly, depth: float) -> None:
    """Add two fender tubes with stubs to the pile, and the ladder between them."""
    low, high = depth - 2.6, depth + 2.9
    for y in (-0.75, 0.75):
        bend = [(0.35, y, low), (1.0, y, low + 0.5), (1.0, y, high - 0.5), (0.35, y, high)]
        path = kit.smooth_path(
            [
                bend[0],
                (0.85, y, low + 0.2),
                bend[1],
                (1.0, y, depth),
                bend[2],
                (0.85, y, high - 0.2),
                bend[3],
            ],
            step=0.4,
        )
        model.add(
            'fender',
            _around(
                kit.sweep(path, 0.2, sections=12, scale=1.5), _LANDING_ANGLE, _SLEEVE_RADIUS, 0.0
            ),
        )
        for z in (low + 0.9, depth, high - 0.9):
            stub = kit.rod((-0.1, 0.8 * y, 0.0), (1.0, y, 0.0), 0.11)
            model.add('yellow', _around(stub, _LANDING_ANGLE, _SLEEVE_RADIUS, z))
    for y in (-0.25, 0.25):
        stile = kit.strut((0.62, y, low + 0.3), (0.62, y, depth + _PLATFORM), 0.07)
        model.add('yellow', _around(stile, _LANDING_ANGLE, _SLEEVE_RADIUS, 0.0))
    for z in np.arange(low + 0.45, depth + _PLATFORM, 0.3):
        rung = kit.rod((0.62, -0.25, 0.0), (0.62, 0.25, 0.0), 0.024, sections=5)
        model.add('yellow', _around(rung, _LANDING_ANGLE, _SLEEVE_RADIUS, float(z)))


def _add_tubes(model: Assembly, depth: float) -> list[Primitive]:
    """Add J-tubes with bell mouths, their clamps and the cables that leave them."""
    capsules = []
    reach = RADIUS + 0.42
    for angle in _TUBE_ANGLES:
        path = kit.smooth_path(
            [(1.7, 0, 0.62), (1.15, 0, 0.85), (0.5, 0, 1.5), (0.06, 0, 2.8), (0, 0, 5.0)],
            step=0.3,
        )
        path = np.vstack([path, [(0.0, 0.0, z) for z in np.linspace(9.0, depth + 2.6, 14)]])
        model.add(
            'tube', _around(kit.sweep(path, 0.17, sections=10, scale=2.0), angle, reach, 0.0)
        )
        bell = ops.move(
            kit.cylinder(0.34, 0.45, radius_top=0.17, sections=12, caps=False),
            (1.98, 0.0, 0.55),
            rpy_deg=(0, -78, 0),
        )
        model.add('tube', _around(bell, angle, reach, 0.0))
        run = kit.smooth_path(
            [
                (1.5, 0, 0.68),
                (2.3, 0.0, 0.5),
                (3.4, 0.15, 0.75),
                (4.6, 0.5, 0.2),
                (5.6, 0.8, -0.3),
            ],
            step=0.25,
        )
        model.add('cable', _around(kit.sweep(run, 0.09, sections=8), angle, reach, 0.0))
        for z in np.arange(6.0, depth + 2.0, 7.0):
            clamp = kit.strut((-0.45, 0, 0), (0, 0, 0), 0.14)
            collar = ops.move(kit.cylinder(0.23, 0.3, sections=12), (0, 0, -0.15))
            model.add(
                'tube',
                _around(clamp, angle, reach, float(z)),
                _around(collar, angle, reach, float(z)),
            )
        turn = math.radians(angle)
        way = np.array([math.cos(turn), math.sin(turn), 0.0])
        ends = (reach * way + [0, 0, 2.0], reach * way + [0, 0, depth + 2.4])
        capsules.append(bar_primitive(*ends, 0.2))
        capsules.append(
            bar_primitive(
                (reach + 0.3) * way + [0, 0, 1.8], (reach + 1.8) * way + [0, 0, 0.6], 0.25
            )
        )
    return capsules


def _add_anodes(model: Assembly, depth: float) -> None:
    for row, z in enumerate(np.arange(4.2, depth - 5.0, 6.0)):
        for k in range(6):
            angle = 60.0 * k + 30.0 * (row % 2) + 5.0
            bar = kit.box((0.22, 0.24, 1.7), (0.3, 0.0, 0.0), scale=1.0)
            legs = [kit.rod((-0.05, 0, dz), (0.3, 0, dz), 0.045, sections=6) for dz in (-0.6, 0.6)]
            model.add('anode', _around(bar, angle, RADIUS, float(z)))
            model.add('tube', *(_around(leg, angle, RADIUS, float(z)) for leg in legs))


def _add_scour(model: Assembly, seed: int) -> None:
    """Add the ring of rock that keeps the current from scouring the pile free."""
    rng = generator(seed, 'wind_turbine_scour')
    stones = [_stone(seed + k) for k in range(5)]
    for k in range(190):
        out = 3.3 + 5.5 * rng.uniform(0.0, 1.0) ** 0.75
        angle = rng.uniform(0.0, 360.0)
        size = rng.uniform(0.32, 0.66) * (1.15 - 0.5 * (out - 3.3) / 5.5)
        heap = 0.62 * (1.0 - (out - 3.0) / 6.0) + rng.uniform(-0.12, 0.08)
        turned = ops.move(
            stones[k % 5],
            rpy_deg=tuple(rng.uniform(0.0, 360.0, 3).tolist()),
            scale=size * rng.uniform(0.75, 1.25, 3),
        )
        model.add('rock', _around(turned, angle, out, heap))
    bed = kit.lathe(
        [(9.7, -1.7), (9.1, -0.3), (8.4, 0.02), (6.5, 0.32), (3.0, 0.6)],
        sections=48,
        scale=6.0,
        crease_deg=180,
    )
    model.add('gravel', bed)


def _stone(seed: int) -> trimesh.Trimesh:
    ball = kit.sphere(1.0, sections=8, rings=4, scale=2.5)
    return ops.displace(ball, lambda p: 0.32 * ops.noise(p, seed=seed, size=1.1), crease_deg=75)


def _body_collisions(depth: float) -> list[Primitive]:
    def drum(radius: float, low: float, high: float) -> Primitive:
        return Primitive(
            shape='cylinder',
            size=(radius, high - low),
            pose=Pose.of((0.0, 0.0, (low + high) / 2.0)),
        )

    turn = math.radians(_LANDING_ANGLE)
    way = np.array([math.cos(turn), math.sin(turn), 0.0])
    side = np.array([-way[1], way[0], 0.0])
    fenders = [
        bar_primitive(
            4.1 * way + s * 0.75 * side + [0, 0, depth - 2.4],
            4.1 * way + s * 0.75 * side + [0, 0, depth + 2.7],
            0.3,
        )
        for s in (-1.0, 1.0)
    ]
    return [
        drum(RADIUS + 0.05, -1.0, depth),
        drum(_SLEEVE_RADIUS + 0.05, depth - _SLEEVE_DEPTH, depth + ABOVE_SURFACE),
        drum(4.95, depth + _PLATFORM - 0.3, depth + ABOVE_SURFACE),
        drum(8.7, -0.6, 0.42),
        drum(6.6, 0.4, 1.05),
        *fenders,
    ]


def _grown(base: tex.Texture, seed: int, low: float, high: float, tiles: int) -> tex.Texture:
    """Return a texture whose growth thickens from a share `low` at v = 0 to `high` at v = 1."""
    size = base.shape[:2]
    rough = fbm(seed, size, (4 * tiles, 4), 6, 0.65, 'pile_growth')
    v = 1.0 - (np.arange(size[0], dtype=np.float32)[:, None] + 0.5) / size[0]
    # Rows of equal share: the noise is compared with its own quantile at each height.
    levels = np.quantile(rough, 1.0 - (low + (high - low) * v[:, 0] ** 0.8))
    cover = smoothstep(-0.03, 0.06, rough - levels.astype(np.float32)[:, None])
    crust = tex.growth(base, seed, 0.97).astype(np.float32)
    dark = fbm(seed, size, (6 * tiles, 6), 4, 0.6, 'pile_mussels')
    mussels = smoothstep(0.56, 0.66, dark) * smoothstep(0.4, 0.9, v)
    crust += (np.array([44, 42, 58], dtype=np.float32) - crust) * (0.75 * mussels)[..., None]
    image = base + (crust - base) * cover[..., None]
    return np.asarray(np.clip(image, 0, 255), dtype=np.uint8)


def _sleeve_texture(seed: int, words: str) -> tex.Texture:
    sheet = tex.painted_metal(seed + 1, (250, 200, 24), wear=0.3, rust=0.03, size=(512, 768))
    surface = _SLEEVE_DEPTH / (_SLEEVE_DEPTH + _PLATFORM)
    sheet = tex.text(
        sheet, words, (0.5, surface + 0.26), 0.24, tex.BLACK, weight=0.2, seed=seed, wear=0.03
    )
    sheet = tex.streaks(sheet, seed, 0.2)
    rows = sheet.shape[0]
    wet = round((1.0 - surface - 0.06) * rows)
    below = _grown(np.ascontiguousarray(sheet[wet:]), seed, 0.8, 0.35, 1)
    return np.vstack([sheet[:wet], below])


@lru_cache(maxsize=2)
def _finishes(seed: int, words: str) -> dict[str, Finish]:
    pile = tex.painted_metal(seed, (122, 130, 134), wear=0.5, rust=0.16)
    tall = np.vstack([pile, pile])[:, :384]
    ident = tex.painted_metal(seed + 2, (250, 200, 24), wear=0.4, rust=0.05, size=(128, 768))
    for u in (0.2, 0.7):
        ident = tex.text(ident, words, (u, 0.5), 0.62, tex.BLACK, weight=0.2, seed=seed, wear=0.04)
    yellow = tex.painted_metal(seed + 3, tex.SAFETY_YELLOW, wear=0.3, rust=0.06, size=256)
    tube = tex.painted_metal(seed + 4, (150, 150, 140), wear=0.4, rust=0.2, size=256)
    anode = tex.growth(
        tex.painted_metal(seed + 5, (202, 206, 206), wear=0.9, rust=0.0, size=128), seed, 0.06
    )
    rocks = tex.growth(tex.rock(seed, size=256), seed, 0.2)
    return {
        'pile': metal(tex.growth(tex.streaks(pile, seed, 0.2), seed, 0.22)),
        'pile_grown': metal(_grown(np.ascontiguousarray(tall), seed, 0.22, 0.98, 2)),
        'weld': metal(tex.growth(tex.rusty_steel(seed, size=128), seed, 0.3)),
        'ident': metal(tex.growth(ident, seed, 0.08)),
        'sleeve': metal(_sleeve_texture(seed, words)),
        'growth': metal(tex.growth(tube, seed + 1, 0.95)),
        'yellow': metal(yellow),
        'fender': metal(tex.growth(yellow, seed, 0.3)),
        'white': metal(tex.painted_metal(seed + 6, tex.WHITE, wear=0.15, rust=0.01, size=256)),
        'tube': metal(tex.growth(tube, seed, 0.4)),
        'anode': Finish(texture=anode, acoustic='aluminium', metalness=0.3),
        'cable': Finish(texture=tex.rubber(seed, size=64), acoustic='plastic'),
        'rock': Finish(texture=rocks, acoustic='rock'),
        'gravel': Finish(texture=seabed_texture('gravel', seed, 256), acoustic='gravel'),
    }
