"""Three lost 20-foot ISO containers, one leaning on another."""

from __future__ import annotations

import numpy as np
import trimesh

from oceangym_worlds.modelling import textures as tk
from oceangym_worlds.modelling.mesh import build as build_mesh
from oceangym_worlds.modelling.mesh import dent, merge, move, uv_of
from oceangym_worlds.modelling.model import Part, PropAttributes, PropModel
from oceangym_worlds.modelling.primitives import box, grid, rod
from oceangym_worlds.modelling.shells import block, euler_pose, laid

LENGTH, WIDTH, HEIGHT = 6.058, 2.438, 2.591  # m, ISO 668 1CC
_PITCH, _DEPTH = 0.275, 0.04  # m, of the corrugation
_FRAME = 0.14  # m, posts and rails
_CASTING = (0.18, 0.165, 0.12)  # m

# (name, colour, marking, number, position of the bottom's centre [m], roll, pitch, yaw [deg])
_BOXES = (
    ('red', (196, 44, 34), 'OCEANLINE', 'OGCU 180722', (0.3, 1.5, -0.18), (2.0, 1.5, 4.0)),
    ('blue', (26, 84, 176), 'NORDHAV', 'NHVU 402915', (-1.0, -1.75, -0.3), (-3.0, -2.0, -9.0)),
    ('grey', (188, 190, 186), 'PACIFICA', 'PCFU 335608', (4.2, -0.2, 0.1), (4.0, -33.0, 66.0)),
)


def _corrugated(length: float, height: float) -> trimesh.Trimesh:
    """Return a corrugated wall in x and z from the origin, outside -y, UV 0..1."""
    count = round(length / _PITCH)
    steps = np.array([0.0, 0.25, 0.5, 0.75])
    x = (np.arange(count)[:, None] + steps).ravel() / count * length
    x = np.append(x, length)
    y = np.tile([0.0, 0.0, _DEPTH, _DEPTH], count)
    y = np.append(y, 0.0)
    points = np.zeros((len(x), 2, 3))
    points[:, :, 0] = x[:, None]
    points[:, :, 1] = y[:, None]
    points[:, 1, 2] = height
    uv = np.stack(np.meshgrid(x / length, [0.0, 1.0], indexing='ij'), axis=-1)
    return grid(points, uv, crease_deg=20.0)


def _in_region(
    mesh: trimesh.Trimesh, u0: float, v0: float, u1: float, v1: float
) -> trimesh.Trimesh:
    """Return the mesh with UV 0..1 moved to a region of the container's sheet."""
    uv = np.array([u0, v0]) + uv_of(mesh) * [u1 - u0, v1 - v0]
    return build_mesh(mesh.vertices, mesh.faces, uv, mesh.vertex_normals)


# Regions of the texture sheet: side walls in the upper half, roof, door and plain paint below.
_SIDE = (0.0, 0.5, 1.0, 1.0)
_ROOF = (0.0, 0.0, 0.5, 0.5)
_DOOR = (0.5, 0.0, 0.75, 0.5)
_PLAIN = (0.76, 0.01, 0.99, 0.49)


def _plain(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    folded = np.abs(np.mod(uv_of(mesh) / 2.0, 2.0) - 1.0)
    return _in_region(build_mesh(mesh.vertices, mesh.faces, folded, mesh.vertex_normals), *_PLAIN)


def _container(seed: int, dented: bool) -> tuple[trimesh.Trimesh, trimesh.Trimesh]:
    """Return painted body and bare locking gear, bottom's centre at the origin, doors at +x."""
    long, wide, tall = LENGTH - 2 * _FRAME, WIDTH - 2 * _FRAME, HEIGHT - 2 * _FRAME
    side = move(_corrugated(long, tall), (-long / 2, -WIDTH / 2 + 0.03, _FRAME))
    walls = [side, move(side, rpy_deg=(0, 0, 180))]
    if dented:
        walls[0] = dent(
            walls[0], (0.9, -WIDTH / 2, 1.2), (0, 1, 0), radius=1.3, depth=0.3, crease_deg=20.0
        )
    pieces = [_in_region(wall, *_SIDE) for wall in walls]
    roof = move(_corrugated(long, wide), (-long / 2, 0, 0))
    roof = move(roof, (0, 0, HEIGHT - 0.02 - _DEPTH / 2), rpy_deg=(-90, 0, 0))
    pieces.append(_in_region(_recentre(roof), *_ROOF))
    end = move(_corrugated(wide, tall), (-wide / 2, -LENGTH / 2 + 0.03, _FRAME))
    pieces.append(_in_region(move(end, rpy_deg=(0, 0, -90)), *_ROOF))
    door = np.array(
        [[[0, -wide / 2, 0], [0, -wide / 2, tall]], [[0, wide / 2, 0], [0, wide / 2, tall]]]
    )
    sheet = grid(door, [[[0, 0], [0, 1]], [[1, 0], [1, 1]]])
    pieces.append(_in_region(move(sheet, (LENGTH / 2 - 0.04, 0, _FRAME)), *_DOOR))
    floor = box((LENGTH - 0.1, WIDTH - 0.1, 0.1), (0, 0, 0.12))
    pieces.append(_plain(floor))
    for sx in (-1, 1):
        for sy in (-1, 1):
            x, y = sx * (LENGTH - _FRAME) / 2, sy * (WIDTH - _FRAME) / 2
            pieces.append(_plain(box((_FRAME, _FRAME, HEIGHT - 0.1), (x, y, HEIGHT / 2))))
    for z in (_FRAME / 2 + 0.01, HEIGHT - _FRAME / 2 - 0.01):
        for s in (-1, 1):
            y, x = s * (WIDTH - _FRAME) / 2, s * (LENGTH - _FRAME) / 2
            pieces.append(_plain(box((LENGTH - 0.2, _FRAME, _FRAME), (0, y, z))))
            pieces.append(_plain(box((_FRAME, WIDTH - 0.2, _FRAME), (x, 0, z))))
    gear = []
    for sx in (-1, 1):
        for sy in (-1, 1):
            for z in (_CASTING[2] / 2, HEIGHT - _CASTING[2] / 2):
                x, y = sx * (LENGTH - _CASTING[0]) / 2, sy * (WIDTH - _CASTING[1]) / 2
                gear.append(box(_CASTING, (x, y, z)))
    face = LENGTH / 2
    for y in (-0.82, -0.33, 0.33, 0.82):
        gear.append(rod((face, y, 0.1), (face, y, HEIGHT - 0.1), 0.024, sections=8))
        gear.append(box((0.06, 0.32, 0.05), (face + 0.03, y + 0.14, 1.05)))
        gear += [box((0.05, 0.11, 0.07), (face, y, z)) for z in (0.35, 1.3, 2.2)]
    for y in (-1.1, 1.1):
        gear += [box((0.05, 0.12, 0.1), (face, y, z)) for z in (0.4, 1.0, 1.6, 2.2)]
    return merge(pieces), merge(gear)


def _recentre(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    """Return the mesh with the middle of its y extent at 0."""
    y = np.asarray(mesh.vertices)[:, 1]
    return move(mesh, (0, -(y.min() + y.max()) / 2, 0))


def _sheet(seed: int, colour: tk.Colour, words: str, number: str) -> tk.Texture:
    tex = tk.painted_metal(seed, colour, wear=0.35, rust=0.07, size=(512, 1024))
    ink = tk.WHITE if sum(colour) < 480 else (24, 52, 96)
    tex = tk.text(
        tex, words, (0.5, 0.74), 0.19, ink, stretch=1.55, weight=0.22, seed=seed, wear=0.03
    )
    tex = tk.text(tex, number, (0.86, 0.95), 0.04, ink, stretch=1.4, seed=seed, wear=0.05)
    tex = tk.text(tex, number, (0.69, 0.45), 0.03, ink, stretch=1.6, seed=seed, wear=0.05)
    tex = tk.streaks(tex, seed, 0.2, columns=70)
    tex = tk.growth(tex, seed + 3, 0.08)
    return tk.sediment(tex, seed, 0.06, colour=tk.SILT)


def build(*, seed: int) -> PropModel:
    """Build the containers; the long sides of the red and the blue one run along x."""
    parts, collisions, gears = [], [], []
    for index, (name, colour, words, number, position, rpy) in enumerate(_BOXES):
        pose = euler_pose(position, rpy)
        body, gear = _container(seed + index, index == 1)
        gears.append(laid(gear, pose))
        parts.append(
            Part(
                name=name,
                mesh=laid(body, pose),
                texture=_sheet(seed + index, colour, words, number),
                acoustic='steel',
                metalness=0.2,
            )
        )
        middle = pose @ euler_pose((0, 0, HEIGHT / 2))
        box_shape = block((LENGTH, WIDTH, HEIGHT))
        collisions.append(type(box_shape)(shape='box', size=box_shape.size, pose=middle))
    parts.append(
        Part(
            name='gear',
            mesh=merge(gears),
            texture=tk.rusty_steel(seed, size=256),
            acoustic='steel',
            metalness=0.4,
        )
    )
    return PropModel(
        name='container_boxes',
        parts=tuple(parts),
        collisions=tuple(collisions),
        attributes=PropAttributes(
            prop_class='container_boxes',
            label='CONTAINER BOX',
            structure=True,
            material='steel',
            colour='red, blue and light grey',
            size='three of 6.1 x 2.4 x 2.6 m',
            markings='OCEANLINE, NORDHAV, PACIFICA and container numbers',
            state='rusty, the blue one dented, the grey one leaning on the red one',
            description=(
                'Three 20-foot shipping containers lost from a ship: corrugated walls, corner '
                'castings and doors with locking bars; a red and a blue one side by side, a grey one '
                'leaning on them with one end in the seabed.'
            ),
        ),
    )
