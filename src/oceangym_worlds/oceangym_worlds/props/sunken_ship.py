"""Wreck of an old wooden three-masted sailing ship, broken open amidships and listing."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
import trimesh

from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_worlds import texture_kit as tk
from oceangym_worlds.mesh_kit import box, lathe, rod, smooth_path, strut, sweep, torus
from oceangym_worlds.mesh_ops import build as build_mesh
from oceangym_worlds.mesh_ops import merge, move, rotation, uv_of
from oceangym_worlds.model import Part, Primitive, PropAttributes, PropModel
from oceangym_worlds.props import ship_hull as hull
from oceangym_worlds.shell_kit import bar, block, euler_pose, place_all

LIST_DEG = -14.0  # to starboard
_SINK = 0.75  # m that the keel has settled into the seabed
_CENTRE_X = 1.9  # m, middle of the length over all in the hull's frame
_BREAK_X = 0.6  # m, where the back is broken
_BOW_PITCH_DEG, _BOW_YAW_DEG = 4.0, -5.0

Array = NDArray[np.float64]


def _bend_share(x: ArrayLike) -> Array:
    return np.clip((np.asarray(x, dtype=float) - _BREAK_X + 2.0) / 4.0, 0, 1)


def _bend(points: ArrayLike) -> Array:
    """Return hull points (N, 3) with the fore part sagged and slewed about the break."""
    p = np.asarray(points, dtype=float)
    pivot = np.array([_BREAK_X, 0.0, 0.0])
    turned = (p - pivot) @ rotation(0, _BOW_PITCH_DEG, _BOW_YAW_DEG).T + pivot
    share = _bend_share(p[:, 0])[:, None]
    return np.asarray(p + share * (turned - p))


def _settle() -> Pose:
    """Return the pose of the hull's frame in the model's."""
    pose = euler_pose((0, 0, 0), (-LIST_DEG, 0.0, 0.0))
    shift = pose.apply([-_CENTRE_X, 0.0, 0.0])
    return Pose.of((shift[0], shift[1] + 0.6, shift[2] - _SINK), pose.quaternion)


def _settled(mesh: trimesh.Trimesh) -> trimesh.Trimesh:
    pose = _settle()
    turn = pose.rotation
    return build_mesh(
        pose.apply(_bend(mesh.vertices)),
        mesh.faces,
        uv_of(mesh),
        np.asarray(mesh.vertex_normals) @ turn.T,
    )


def _to_model(point: ArrayLike) -> Array:
    return np.asarray(_settle().apply(_bend(np.atleast_2d(np.asarray(point, dtype=float))))[0])


def _splintered(
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
        pieces.append(rod(b + off * 0.8 - axis * 0.1, tip, 0.3 * radius, radius_end=0.02, sections=5))
    return merge(pieces)


def _mast_top(height: float, radius: float) -> trimesh.Trimesh:
    """Return a round fighting top about z with its rim, `height` up."""
    plate = lathe(
        [(0.2, 0), (radius * 0.6, 0), (radius, 0.3), (radius, 0.75), (radius - 0.07, 0.75),
         (radius - 0.07, 0.36), (0.2, 0.3)],
        sections=14,
        scale=1.0,
    )
    return move(plate, (0, 0, height))


def _spars(seed: int) -> trimesh.Trimesh:
    """Return standing spars in the hull's frame: fore mast, stumps, bowsprit, yards, shrouds."""
    pieces = []
    fore, main, mizzen = 7.3, -1.6, -8.8
    pieces.append(_splintered((fore, 0, 0.6), (fore + 0.3, 0, 13.2), 0.33, seed))
    pieces.append(move(_mast_top(10.2, 0.95), (fore + 0.22, 0, 0)))
    pieces.append(rod((fore + 0.6, -4.3, 8.6), (fore + 0.5, 0.2, 9.7), 0.10, radius_end=0.15))
    pieces.append(rod((fore + 0.5, 0.2, 9.7), (fore + 0.5, 3.2, 10.6), 0.15, radius_end=0.09))
    pieces.append(_splintered((main, 0, 0.6), (main - 0.2, 0.1, 6.4), 0.38, seed + 1, 0.9))
    pieces.append(_splintered((mizzen, 0, 3.0), (mizzen - 0.4, 0, 11.0), 0.27, seed + 2))
    pieces.append(rod((mizzen - 0.2, -1.9, 8.4), (mizzen - 0.2, 2.1, 9.2), 0.11))
    bow = hull.hull_point(1.0, 1.0)
    pieces.append(_splintered((bow[0] - 3.0, 0, 5.7), (bow[0] + 4.2, 0, 8.5), 0.28, seed + 3, 0.6))
    for side in (1, -1):
        for mast_x, head, count in ((fore + 0.2, 10.2, 5), (mizzen - 0.3, 8.6, 3)):
            if side > 0 and mast_x < 0:
                continue
            foot_x = mast_x - 0.3 - 0.62 * np.arange(count)
            s = (foot_x - hull.X_STERN) / (hull.X_BOW - hull.X_STERN)
            feet = hull.hull_point(s, 1.0) * [1, side, 1] + [0, 0.1 * side, 0]
            crown = np.array([mast_x, 0.25 * side, head])
            pieces += [rod(foot, crown, 0.035, sections=5, caps=False) for foot in feet]
            for share in np.arange(0.1, 0.9, 0.1):
                line = feet[[0, -1]] + share * (crown - feet[[0, -1]])
                pieces.append(rod(line[0], line[1], 0.024, sections=4, caps=False))
    stay = smooth_path(
        [(fore + 0.5, 0, 10.0), ((fore + bow[0] + 3) / 2, 0, 8.6), (bow[0] + 3.2, 0, 8.1)], step=1.0
    )
    pieces.append(sweep(stay, 0.035, sections=5, caps=False))
    return merge(pieces)


def _deck_works(seed: int) -> trimesh.Trimesh:
    """Return beams across the gap, hatch coamings, the ruined deck house, rudder, capstan."""
    rng = generator(seed, 'deck_works')
    pieces = []
    for index, s in enumerate(np.linspace(0.475, 0.62, 5)):
        x = float(hull.hull_point(s, 0.5)[0])
        z = hull.deck_z(s) - 0.15
        if index == 2:
            pieces.append(strut((x, 3.6, z), (x + 0.7, -0.6, 1.2), 0.24, 0.28, up=(0, 0, 1)))
        elif index == 3:
            pieces.append(strut((x, -3.6, z), (x - 0.2, 0.9, z + 0.1), 0.24, 0.28, up=(0, 0, 1)))
        else:
            pieces.append(strut((x, -3.7, z), (x, 3.7, z), 0.24, 0.28, up=(0, 0, 1)))
    for s in (0.40, 0.72):
        x, z = hull.X_STERN + 26 * s, hull.deck_z(s) + 0.3
        for dx, dy, sx, sy in ((0.85, 0, 0.12, 2.0), (-0.85, 0, 0.12, 2.0), (0, 0.95, 1.8, 0.12),
                               (0, -0.95, 1.8, 0.12)):
            pieces.append(box((sx, sy, 0.4), (x + dx, dy, z)))
    x, z = hull.X_STERN + 26 * 0.325, hull.deck_z(0.325)
    for dx in (-0.9, 0.0, 0.9):
        for dy in (-1.3, 1.3):
            tall = float(rng.uniform(1.0, 2.1))
            pieces.append(box((0.16, 0.16, tall), (x + dx, dy, z + 0.1 + tall / 2)))
    pieces.append(box((1.9, 0.09, 1.1), (x, 1.3, z + 0.65)))
    pieces.append(box((0.9, 0.09, 1.5), (x - 0.45, -1.3, z + 0.85)))
    pieces.append(strut((x - 1.0, 1.35, z + 1.5), (x + 0.9, -1.2, z + 0.4), 0.5, 0.07, up=(0, 0, 1)))
    rudder = box((1.35, 0.2, 4.3))
    pieces.append(move(rudder, (-14.0, 0.12, 1.9), rpy_deg=(0, -9.0, 14.0)))
    capstan = lathe([(0, 0), (0.45, 0), (0.26, 0.35), (0.26, 0.8), (0.42, 0.9), (0.42, 1.1), (0, 1.1)],
                    sections=12)
    pieces.append(move(capstan, (hull.X_STERN + 26 * 0.79, 0, hull.deck_z(0.79) + 0.1)))
    return merge(pieces)


def _cannon() -> trimesh.Trimesh:
    profile = [(0, 0), (0.09, 0.02), (0.1, 0.12), (0.24, 0.2), (0.23, 0.8), (0.19, 0.85), (0.14, 2.2),
               (0.19, 2.3), (0.19, 2.42), (0.08, 2.42), (0.08, 2.1), (0, 2.1)]
    return move(lathe(profile, sections=12), rpy_deg=(0, 90, 0))


def _anchor() -> trimesh.Trimesh:
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
        palm = move(box((0.6, 0.62, 0.09)), tip + [0, -side * 0.1, -0.02], rpy_deg=(side * 30, 0, 0))
        pieces.append(palm)
    return merge(pieces)


def _chain(path: Array) -> trimesh.Trimesh:
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


def _ironwork() -> trimesh.Trimesh:
    """Return anchors, chain and cannons in the model's frame."""
    pieces = []
    hawse = _to_model(hull.hull_point(0.965, 0.72) * [1, -1, 1] + [0, -0.1, 0])
    foot = np.array([hawse[0] + 1.4, hawse[1] - 2.6, 0.05])
    path = smooth_path(
        [hawse, hawse + [0.15, -0.35, -1.6], [*(hawse[:2] + [0.5, -0.9]), 0.12],
         foot + [-0.2, 1.0, 0.05], foot],
        step=0.36,
    )
    pieces.append(_chain(path))
    pieces.append(move(_anchor(), foot + [0.3, -0.3, 0.28], rpy_deg=(72, 0, 35)))
    cathead = hull.hull_point(0.93, 1.0) + [0.0, 0.5, 0.1]
    pieces.append(move(_anchor(), _to_model(cathead), rpy_deg=(-6, 0, 80)))
    deck_guns = ((0.36, -2.6, -80.0), (0.69, 2.7, 85.0), (0.70, -2.5, -100.0))
    for s, y, yaw in deck_guns:
        spot = np.array([hull.X_STERN + 26 * s, y - 1.2 * np.sign(y), hull.deck_z(s) + 0.42])
        gun = move(_cannon(), spot, rpy_deg=(0, -2, yaw))
        pieces.append(_settled(gun))
    pieces.append(move(_cannon(), (-1.6, -6.0, 0.12), rpy_deg=(0, 8, 205)))
    pieces.append(move(_cannon(), (2.2, -6.8, 0.16), rpy_deg=(0, -4, 120)))
    return merge(pieces)


def _fallen_mast(seed: int) -> tuple[trimesh.Trimesh, Array, Array]:
    """Return the fallen main mast in the model's frame, and its two ends."""
    start = _to_model((-0.6, 2.9, hull.deck_z(0.47) + 0.9))
    end = np.array([5.6, -8.6, 0.25])
    spar = _splintered(end, start, 0.3, seed + 7, 1.15)
    middle = start + 0.72 * (end - start)
    axis = (end - start) / np.linalg.norm(end - start)
    top = _mast_top(0.0, 0.9)
    yaw = float(np.degrees(np.arctan2(axis[1], axis[0])))
    pitch = float(np.degrees(np.arccos(axis[2])))
    pieces = [spar, move(top, middle, rpy_deg=(0, pitch, yaw))]
    cross = np.cross(axis, [0, 0, 1.0])
    yard = start + 0.88 * (end - start) + [0, 0, 0.2]
    pieces.append(rod(yard - cross * 2.6, yard + cross * 2.2, 0.12, radius_end=0.08))
    for share in (0.3, 0.5):
        rope = start + share * (end - start)
        pieces.append(
            sweep(
                smooth_path([rope, rope + [0.8, 0.3, -1.4], rope + [1.4, -0.4, -2.2]], step=0.5),
                0.035,
                sections=5,
            )
        )
    return merge(pieces), start, end


def _scatter(seed: int) -> trimesh.Trimesh:
    """Return planks and timbers on the seabed beside the gap."""
    rng = generator(seed, 'scatter')
    pieces = []
    for _ in range(16):
        length = float(rng.uniform(1.2, 3.6))
        spot = np.array([rng.uniform(-7, 8), -rng.uniform(4.6, 7.6), 0.05])
        plank = box((length, 0.32, 0.1))
        tilt = (float(rng.uniform(-12, 12)), float(rng.uniform(-8, 8)), float(rng.uniform(0, 180)))
        pieces.append(move(plank, spot, rpy_deg=tilt))
    return merge(pieces)


def _hull_texture(seed: int) -> tk.Texture:
    """Paint a whole side: strakes, dark wales, an ochre gun band with ports, growth, silt."""
    tex = tk.wood_planks(seed, rows=hull.STRAKES, colour=(136, 102, 70), joints=6, size=(512, 1024))
    for low, high in ((0.665, 0.70), (0.895, 0.93)):
        tex = tk.band(tex, low, high, (54, 42, 32))
    tex = tk.band(tex, 0.715, 0.88, (206, 162, 84), seed=seed, wear=0.42)
    for u in np.linspace(0.12, 0.88, 11):
        v, tall = 0.8, 0.105
        port = tk.band(np.zeros((512, 1024, 3), np.uint8), v - tall / 2, v + tall / 2, (255,) * 3)
        wide = tk.band(np.zeros_like(port), u - 0.0135, u + 0.0135, (255,) * 3, along_u=False)
        mask = (np.minimum(port, wide)[..., 0] / 255).astype(np.float32)
        tex = tk.stamp(tex, mask, (16, 13, 11))
    tex = tk.streaks(tex, seed, 0.25, colour=(60, 48, 34), columns=60)
    tex = tk.growth(tex, seed + 1, 0.2)
    return tk.sediment(tex, seed, 0.16, colour=tk.SILT, from_below=True)


def _transom_texture(seed: int) -> tk.Texture:
    tex = tk.wood_planks(seed, rows=9, colour=(130, 96, 64), joints=2, size=512)
    for low, high in ((0.50, 0.53), (0.80, 0.83)):
        tex = tk.band(tex, low, high, (206, 162, 84), seed=seed, wear=0.2)
    for u in (0.22, 0.36, 0.5, 0.64, 0.78):
        y, x = np.mgrid[0:512, 0:512] + 0.5
        inside = (np.abs(x / 512 - u) < 0.052) & (np.abs(1 - y / 512 - 0.665) < 0.1)
        frame = (np.abs(x / 512 - u) < 0.063) & (np.abs(1 - y / 512 - 0.665) < 0.115)
        tex = tk.stamp(tex, frame.astype(np.float32), (206, 162, 84), seed=seed, wear=0.2)
        tex = tk.stamp(tex, inside.astype(np.float32), (18, 18, 18))
    tex = tk.text(tex, 'AURORA', (0.5, 0.9), 0.075, (214, 190, 130), seed=seed, wear=0.15)
    return tk.growth(tex, seed + 4, 0.2)


def _collisions(start: Array, end: Array) -> tuple[Primitive, ...]:
    """Return boxes over slices of the hull, thin ones along the broken sides, and spars."""
    upright: list[Primitive] = []
    cuts = np.array([-14.8, -12.2, -9.4, -6.5, -4.0, -1.2, 1.6, 3.6, 6.2, 8.6, 10.6, 12.4, 14.9])
    s = np.linspace(0, 1, 161)
    t = np.linspace(0, 1, 41)
    points = hull.hull_point(s[:, None], t[None, :]).reshape(-1, 3)
    for a, b in zip(cuts[:-1], cuts[1:], strict=True):
        inside = points[(points[:, 0] >= a - 0.3) & (points[:, 0] <= b + 0.3)]
        if len(inside) == 0:
            continue
        middle = (a + b) / 2
        gap = -1.3 < middle < 3.7
        top = float(inside[:, 2].max()) + (1.3 if middle < -6.4 else 0.6 if middle > 8.6 else 0.1)
        bottom = 1.0 if middle > 12.4 else -0.3
        level = 2.0 if not gap else 1.5
        if bottom < level:
            low = inside[inside[:, 2] <= level]
            wide = 2 * float(low[:, 1].max()) if len(low) else 0.5
            upright.append(block((b - a, wide, level - bottom), (middle, 0, (level + bottom) / 2)))
        base = max(level, bottom)
        wide = 2 * float(inside[:, 1].max()) - 0.1
        if gap:
            for side in (1, -1):
                y = side * (wide / 2 - 0.35)
                upright.append(block((b - a, 0.8, top - base), (middle, y, (top + base) / 2)))
        else:
            upright.append(block((b - a, wide, top - base), (middle, 0, (top + base) / 2)))
    bow = hull.hull_point(1.0, 1.0)
    upright += [
        bar((7.4, 0, 4.5), (7.6, 0, 14.0), 0.45),
        bar((8.0, -4.3, 8.6), (7.8, 3.2, 10.6), 0.25),
        bar((-1.6, 0, 1.5), (-1.8, 0.1, 7.2), 0.5),
        bar((-8.8, 0, 4.5), (-9.2, 0, 11.8), 0.4),
        bar((-9.0, -1.9, 8.4), (-9.0, 2.1, 9.2), 0.2),
        bar((bow[0] - 1.5, 0, 6.3), (bow[0] + 5.1, 0, 8.8), 0.4),
        block((1.4, 0.5, 4.4), (-14.0, 0.12, 1.9), (0, -9.0, 14.0)),
        # The shrouds, as one thin slab a side.
        *(
            block((2.9, 0.25, 7.0), (6.2, side * 1.95, 7.5), (side * 30.0, 0, 0))
            for side in (1, -1)
        ),
    ]
    bent = []
    for primitive in upright:
        position = np.asarray(primitive.pose.position)
        share = float(_bend_share(position[0]))
        turn = euler_pose((0, 0, 0), (0, _BOW_PITCH_DEG * share, _BOW_YAW_DEG * share))
        place = Pose.of(_bend(position[None])[0], (turn @ primitive.pose).quaternion)
        bent.append(Primitive(shape=primitive.shape, size=primitive.size, pose=place))
    return (*place_all(bent, _settle()), bar(start, end, 0.45))


def build(*, seed: int) -> PropModel:
    """Build the wreck; the bow points along +x and the list is to starboard (-y)."""
    outer, inner = hull.planking(seed)
    mast, start, end = _fallen_mast(seed)
    timber = merge(
        [
            _settled(merge([hull.ribs(seed), hull.backbone(), _spars(seed), _deck_works(seed)])),
            mast,
            _scatter(seed),
        ]
    )
    timber_texture = tk.growth(
        tk.wood_planks(seed + 2, rows=3, colour=(126, 96, 66), joints=1, size=512), seed + 2, 0.18
    )
    deck_texture = tk.sediment(
        tk.growth(tk.wood_planks(seed + 3, rows=12, colour=(146, 122, 92), joints=2), seed, 0.15),
        seed,
        0.2,
        colour=tk.SILT,
    )
    parts = (
        Part(name='hull', mesh=_settled(outer), texture=_hull_texture(seed), acoustic='wood'),
        Part(
            name='inside',
            mesh=_settled(inner),
            texture=tk.wood_planks(seed + 5, rows=18, colour=(92, 68, 46), joints=6, size=(256, 512)),
            acoustic='wood',
        ),
        Part(name='timber', mesh=timber, texture=timber_texture, acoustic='wood'),
        Part(
            name='deck',
            mesh=_settled(merge([hull.deck(seed), hull.bulwarks()])),
            texture=deck_texture,
            acoustic='wood',
        ),
        Part(
            name='transom',
            mesh=_settled(hull.transom()),
            texture=_transom_texture(seed),
            acoustic='wood',
        ),
        Part(
            name='iron',
            mesh=_ironwork(),
            texture=tk.growth(tk.rusty_steel(seed), seed, 0.12),
            acoustic='steel',
            metalness=0.2,
        ),
    )
    return PropModel(
        name='sunken_ship',
        parts=parts,
        collisions=_collisions(start, end),
        attributes=PropAttributes(
            prop_class='sunken_ship',
            label='SUNKEN SHIP',
            structure=True,
            material='wood',
            colour='weathered brown with an ochre gun band',
            size='34 x 14 x 14 m, hull 29 x 8 m',
            markings='row of black gun ports; AURORA on the stern',
            state='broken open amidships, listing 14 degrees to starboard, overgrown',
            description=(
                'The wreck of an old wooden sailing ship: a curved planked hull with a raised stern '
                'and a bowsprit, split open amidships so that its ribs and deck beams show, one mast '
                'standing with shrouds, two mast stumps, the main mast fallen across the side, '
                'anchors with chain, a rudder and iron guns.'
            ),
        ),
    )
