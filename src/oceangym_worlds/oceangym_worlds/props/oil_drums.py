"""Cluster of blue 200-litre steel drums: standing, lying, half buried, some on a broken pallet."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
import trimesh

from oceangym_core.rng import generator
from oceangym_worlds.modelling import mesh as ops
from oceangym_worlds.modelling import primitives as kit
from oceangym_worlds.modelling import textures as tex
from oceangym_worlds.modelling.assembly import (
    Assembly,
    bar_primitive,
    box_primitive,
    Finish,
    leaning_axes,
    metal,
)
from oceangym_worlds.modelling.model import Primitive, PropAttributes, PropModel
from oceangym_worlds.seabed.textures import seabed_texture

RADIUS, HEIGHT = 0.2925, 0.88  # of a 200-litre drum, ISO 15750 [m]
_BLUE: tex.Colour = (30, 100, 206)


@dataclass(frozen=True, kw_only=True)
class _Drum:
    """Where one drum is: its middle [m], its axis, its paint and the depth of its dent [m]."""

    centre: tuple[float, float, float]
    axis: tuple[float, float, float]
    paint: str = 'blue'
    dent: float = 0.0


def _drums() -> tuple[_Drum, ...]:
    up, half = (0.0, 0.0, 1.0), HEIGHT / 2.0
    deck = 0.15 + half
    lying = RADIUS - 0.06
    return (
        # On the pallet: three stand, one has tipped off its broken edge.
        _Drum(centre=(-1.62, 0.62, deck), axis=up, paint='label'),
        _Drum(centre=(-0.98, 0.66, deck), axis=up),
        _Drum(centre=(-1.58, -0.02, deck), axis=up, paint='rusty', dent=0.06),
        _Drum(centre=(-0.72, -0.16, 0.4), axis=(0.72, -0.2, 0.62), dent=0.04),
        # A stack that has rolled apart.
        _Drum(centre=(0.62, 0.35, lying), axis=(0.35, 0.94, 0.0)),
        _Drum(centre=(1.22, 0.12, lying), axis=(0.38, 0.92, 0.02), paint='worn', dent=0.07),
        _Drum(centre=(0.94, 0.3, lying + 0.47), axis=(0.42, 0.9, 0.03), paint='label'),
        # Strewn around.
        _Drum(centre=(2.25, 1.15, lying), axis=(0.9, -0.4, 0.05), paint='rusty', dent=0.1),
        _Drum(centre=(1.9, -1.05, half - 0.06), axis=(0.05, 0.04, 1.0), paint='worn'),
        _Drum(centre=(0.42, -1.32, 0.02), axis=(0.82, 0.5, 0.27)),
        _Drum(centre=(-0.55, -1.62, 0.16), axis=(-0.3, 0.25, 0.9), paint='rusty'),
        _Drum(
            centre=(-2.2, -1.2, lying - 0.08), axis=(0.55, -0.83, 0.06), paint='worn', dent=0.05
        ),
        _Drum(centre=(-2.45, 0.95, half - 0.16), axis=(-0.22, 0.12, 0.96), paint='worn'),
        _Drum(
            centre=(0.1, 1.72, lying - 0.12), axis=(0.97, 0.2, -0.1), paint='leaking', dent=0.05
        ),
    )


def build(*, seed: int) -> PropModel:
    """Build a cluster of fourteen drums within 6 m."""
    model = Assembly()
    collisions: list[Primitive] = [box_primitive((-2.0, -0.4, -0.1), (-0.6, 1.05, 0.16))]
    for index, drum in enumerate(_drums()):
        axes = leaning_axes(drum.axis, generator(seed, 'oil_drums', index).uniform(0.0, 6.28))
        body, ends, caps = _drum_meshes(seed, index, drum.dent)
        model.add(drum.paint, ops.place(body, axes, drum.centre))
        plain = drum.paint if drum.paint in ('rusty', 'worn') else 'worn'
        model.add(plain, ops.place(ends, axes, drum.centre))
        model.add('steel', ops.place(caps, axes, drum.centre))
        reach = (HEIGHT / 2.0) * axes[:, 2]
        centre = np.asarray(drum.centre)
        collisions.append(bar_primitive(centre - reach, centre + reach, RADIUS, shape='cylinder'))
    _add_pallet(model, seed)
    for x, y, radius, height in (
        (0.42, -1.32, 0.75, 0.2),
        (-0.55, -1.62, 0.62, 0.22),
        (-2.2, -1.2, 0.8, 0.12),
        (-2.45, 0.95, 0.6, 0.16),
    ):
        model.add('silt', _drift(x, y, radius, height, seed))
    model.add('oil', _slick((0.62, 1.6), seed))
    return PropModel(
        name='oil_drums',
        parts=model.parts(_finishes(seed)),
        collisions=tuple(collisions),
        attributes=PropAttributes(
            prop_class='oil_drum',
            label='OIL DRUM',
            structure=True,
            material='steel',
            colour='blue, in part rusty',
            size='14 drums of 0.59 x 0.88 m within 5.6 m',
            markings='a flammable-liquid diamond and the word OIL on some drums',
            state='some standing, some lying or half buried; rust, dents, one leaking',
            description=(
                'Cluster of fourteen blue 200-litre steel oil drums, each with two rolling hoops '
                'and bungs in its lid. Four are on or beside a broken wooden pallet, the others '
                'stand, lie or stick half buried in the sediment; several are rusty or dented and '
                'one has leaked oil.'
            ),
        ),
    )


def _drum_meshes(
    seed: int, index: int, depth: float
) -> tuple[trimesh.Trimesh, trimesh.Trimesh, trimesh.Trimesh]:
    """Return the shell (one tile around), the two ends, and the bungs, about the middle."""
    half, hoop, third = HEIGHT / 2.0, 0.016, HEIGHT / 6.0
    skin = RADIUS - 0.014
    profile = [(RADIUS, -half), (RADIUS, -half + 0.02), (skin, -half + 0.03)]
    for z in (-third, third):
        profile += [
            (skin, z - 0.03),
            (skin + hoop, z - 0.012),
            (skin + hoop, z + 0.012),
            (skin, z + 0.03),
        ]
    profile += [(skin, half - 0.03), (RADIUS, half - 0.02), (RADIUS, half)]
    line = np.array(profile)
    halves = np.stack([line[:-1], 0.5 * (line[:-1] + line[1:])], axis=1).reshape(-1, 2)
    dense = np.vstack([halves, line[-1:]])
    shell = kit.lathe(dense, sections=26, wraps=1, scale=1.0, crease_deg=50)
    uv = ops.uv_of(shell)
    shell = ops.with_uv(
        shell, np.column_stack([uv[:, 0], (np.asarray(shell.vertices)[:, 2] + half) / HEIGHT])
    )
    rng = generator(seed, 'oil_drum_dents', index)
    if depth > 0:
        for k in range(3):
            angle, z = rng.uniform(0.0, 6.28), rng.uniform(-0.25, 0.25)
            spot = np.array([np.cos(angle), np.sin(angle), 0.0])
            shell = ops.dent(
                shell,
                RADIUS * spot + [0.0, 0.0, z],
                -spot,
                radius=0.26,
                depth=depth * (1.0 if k == 0 else 0.5),
            )
    lid = kit.lathe([(skin, half - 0.025), (0.0, half - 0.02)], sections=26)
    rim = kit.lathe([(RADIUS, half), (skin, half), (skin, half - 0.025)], sections=26)
    top = ops.merge([lid, rim])
    ends = ops.merge([top, ops.move(top, rpy_deg=(180, 0, 0))])
    caps = [
        ops.move(kit.cylinder(r, 0.03, sections=10), (x, 0.0, half - 0.025))
        for r, x in ((0.035, 0.19), (0.02, -0.2))
    ]
    return shell, ends, ops.merge(caps)


def _add_pallet(model: Assembly, seed: int) -> None:
    """Add a pallet sunk on one side, two of its boards snapped."""
    rng = generator(seed, 'oil_drums_pallet')
    pieces = [kit.box((1.3, 0.1, 0.1), (-1.3, y, 0.06), scale=1.0) for y in (-0.3, 0.3, 0.9)]
    for k in range(8):
        x = -1.9 + 0.17 * k
        whole = k not in (5, 7)
        length = 1.3 if whole else rng.uniform(0.5, 0.8)
        y = 0.3 if whole else 0.3 + (1.3 - length) / 2.0
        board = kit.box((0.12, length, 0.025), scale=1.0)
        pieces.append(ops.move(board, (x, y, 0.125), rpy_deg=(0, 0, rng.uniform(-1.5, 1.5))))
    for x, y, yaw in ((-0.35, -0.62, 40.0), (-0.1, 0.95, -63.0)):
        splinter = kit.box((0.55, 0.11, 0.025), scale=1.0)
        pieces.append(ops.move(splinter, (x, y, 0.04), rpy_deg=(3, 5, yaw)))
    model.add('wood', *pieces)


def _ground_patch(
    x: float, y: float, radius: float, height: float, seed: int, scale: float
) -> trimesh.Trimesh:
    """Return a low mound with an uneven outline whose edge dips under the seabed."""
    angle = np.linspace(0.0, 2.0 * np.pi, 37)
    rim = np.column_stack([np.cos(angle), np.sin(angle), np.full(37, x - y)])
    reach = radius * (1.0 + 0.3 * ops.noise(rim, seed=seed, size=1.2))
    share = np.array([1.25, 1.0, 0.7, 0.35, 0.0])
    level = np.array([-0.4, -0.01, 0.55 * height, 0.9 * height, height])
    points = np.empty((37, 5, 3))
    points[..., 0] = x + reach[:, None] * share * np.cos(angle)[:, None]
    points[..., 1] = y + reach[:, None] * share * np.sin(angle)[:, None]
    points[..., 2] = level
    return kit.grid(points, points[..., :2] / scale)


def _drift(x: float, y: float, radius: float, height: float, seed: int) -> trimesh.Trimesh:
    return _ground_patch(x, y, radius, height, seed, 3.0)


def _slick(centre: tuple[float, float], seed: int) -> trimesh.Trimesh:
    return _ground_patch(*centre, 0.7, 0.05, seed + 1, 1.0)


def _shell_texture(seed: int, *, rust: float, words: str, leak: bool = False) -> tex.Texture:
    """Return a drum's side, once around: paint, rust along hoops and rims, a diamond label."""
    size = (256, 512)
    sheet = tex.painted_metal(seed, _BLUE, wear=0.4, rust=rust, size=size)
    for v in (0.0, 1.0 / 3.0, 2.0 / 3.0, 1.0):
        sheet = tex.band(sheet, v - 0.012, v + 0.012, tex.RUST, seed=seed, wear=0.45)
    if words:
        sheet = tex.band(sheet, 0.36, 0.64, tex.WHITE, seed=seed, wear=0.1)
        for u in (0.25, 0.75):
            sheet = tex.text(sheet, words, (u, 0.5), 0.17, tex.BLACK, seed=seed, wear=0.1)
        for u in (0.0, 0.5, 1.0):
            sheet = tex.stamp(
                sheet, _diamond(size, u, 0.5, 0.34), (206, 30, 26), seed=seed, wear=0.06
            )
            sheet = tex.stamp(
                sheet, _diamond(size, u, 0.5, 0.27) - _diamond(size, u, 0.5, 0.24), tex.WHITE
            )
            sheet = tex.stamp(sheet, _flame(size, u, 0.5, 0.15), tex.WHITE)
    sheet = tex.streaks(sheet, seed, 0.25 + 0.5 * rust)
    if leak:
        sheet = tex.streaks(sheet, seed + 1, 0.75, colour=(18, 14, 12), columns=8)
    return tex.sediment(tex.growth(sheet, seed, 0.05), seed, 0.06, colour=tex.SILT)


def _diamond(size: tuple[int, int], u: float, v: float, half: float) -> NDArray[np.float32]:
    """Return the mask of a square on its corner; `half` is a share of the height."""
    rows, columns = size
    y, x = np.mgrid[0:rows, 0:columns] + 0.5
    # A drum's side is twice as long as high, and so is its texture: pixels are square.
    reach = np.abs(x - u * columns) + np.abs(y - (1.0 - v) * rows)
    return np.asarray(np.clip(half * rows - reach + 0.5, 0.0, 1.0), dtype=np.float32)


def _flame(size: tuple[int, int], u: float, v: float, half: float) -> NDArray[np.float32]:
    """Return the mask of a drop-shaped flame."""
    rows, columns = size
    y, x = np.mgrid[0:rows, 0:columns] + 0.5
    dx = (x - u * columns) / (half * rows)
    dy = ((1.0 - v) * rows - y) / (half * rows)
    width = np.clip(1.0 - dy, 0.0, 2.0) * np.sqrt(np.clip(1.0 + dy, 0.0, 2.0)) * 0.42
    return np.asarray(np.abs(dx) < width, dtype=np.float32)


def _finishes(seed: int) -> dict[str, Finish]:
    wood = tex.wood_planks(seed, rows=4, colour=(120, 98, 70), size=256)
    return {
        'blue': metal(_shell_texture(seed, rust=0.05, words='')),
        'label': metal(_shell_texture(seed + 1, rust=0.06, words='OIL')),
        'worn': metal(_shell_texture(seed + 2, rust=0.16, words='')),
        'rusty': metal(_shell_texture(seed + 3, rust=0.6, words='')),
        'leaking': metal(_shell_texture(seed + 4, rust=0.1, words='OIL', leak=True)),
        'steel': metal(tex.bare_steel(seed, size=64)),
        'wood': Finish(texture=tex.growth(wood, seed, 0.15), acoustic='wood'),
        'silt': Finish(texture=seabed_texture('silt', seed, 256), acoustic='silt'),
        'oil': Finish(
            texture=tex.sediment(tex.plain((26, 20, 17), 128), seed, 0.12),
            acoustic='silt',
            roughness=0.4,
        ),
    }
