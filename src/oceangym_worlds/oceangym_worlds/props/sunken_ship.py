"""Wreck of an old wooden three-masted sailing ship, broken open amidships and listing."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray
import trimesh

from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_worlds.modelling import textures as tk
from oceangym_worlds.modelling.mesh import build as build_mesh
from oceangym_worlds.modelling.mesh import merge, move, rotation, uv_of
from oceangym_worlds.modelling.model import Part, Primitive, PropAttributes, PropModel
from oceangym_worlds.modelling.primitives import box, rod, smooth_path, sweep
from oceangym_worlds.modelling.shells import bar, block, euler_pose, laid, place_all
from oceangym_worlds.props import ship_fittings as fittings
from oceangym_worlds.props import ship_hull as hull

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
    bent = build_mesh(_bend(mesh.vertices), mesh.faces, uv_of(mesh), mesh.vertex_normals)
    return laid(bent, _settle())


def _to_model(point: ArrayLike) -> Array:
    return np.asarray(_settle().apply(_bend(np.atleast_2d(np.asarray(point, dtype=float))))[0])


def _anchor_poses() -> tuple[Pose, Pose, Array]:
    """Return the poses of the anchor on the seabed and the hanging one, and the hawse's place."""
    hawse = _to_model(hull.hull_point(0.965, 0.72) * [1, -1, 1] + [0, -0.1, 0])
    ground = euler_pose((hawse[0] + 1.7, hawse[1] - 2.9, 0.33), (72.0, 0.0, 35.0))
    cathead = _to_model(hull.hull_point(0.93, 1.0) + np.array([0.0, 0.5, 0.1]))
    return ground, euler_pose(cathead, (-6.0, 0.0, 80.0)), hawse


def _chain_knots() -> Array:
    """Return the course (5, 3) of the chain from the hawse to the anchor on the seabed."""
    ground, _, hawse = _anchor_poses()
    ring = np.array(ground.position)
    knots = [
        hawse,
        hawse + np.array([0.15, -0.35, -1.6]),
        np.array([hawse[0] + 0.5, hawse[1] - 0.9, 0.12]),
        ring + np.array([-0.5, 1.3, -0.2]),
        ring + np.array([-0.1, 0.1, 0.1]),
    ]
    return np.array(knots)


def _anchor_boxes() -> list[Primitive]:
    shape = [
        block((0.5, 2.5, 1.2), (0, 0, -2.55)),
        bar((0, 0, 0.3), (0, 0, -2.2), 0.25),
        bar((-1.35, 0, -0.45), (1.35, 0, -0.45), 0.15),
    ]
    ground, hanging, _ = _anchor_poses()
    chain = [bar(a, b, 0.15) for a, b in itertools.pairwise(_chain_knots())]
    return [*place_all(shape, ground), *place_all(shape, hanging), *chain]


def _ironwork() -> trimesh.Trimesh:
    """Return anchors, chain and cannons in the model's frame."""
    ground, hanging, _ = _anchor_poses()
    path = smooth_path([*_chain_knots()], step=0.36)
    pieces = [
        fittings.chain(path),
        laid(fittings.anchor(), ground),
        laid(fittings.anchor(), hanging),
    ]
    for s, y, yaw in ((0.36, -2.6, -80.0), (0.69, 2.7, 85.0), (0.70, -2.5, -100.0)):
        spot = (hull.X_STERN + 26 * s, y - 1.2 * np.sign(y), hull.deck_z(s) + 0.42)
        pieces.append(_settled(move(fittings.cannon(), spot, rpy_deg=(0, -2, yaw))))
    pieces.append(move(fittings.cannon(), (-1.6, -6.0, 0.12), rpy_deg=(0, 8, 205)))
    pieces.append(move(fittings.cannon(), (2.2, -6.8, 0.16), rpy_deg=(0, -4, 120)))
    return merge(pieces)


def _fallen_spars() -> tuple[Array, Array]:
    """Return the ends (2, 3) of the fallen main mast and of its yard in the model's frame."""
    start = _to_model((-0.6, 2.9, hull.deck_z(0.47) + 0.9))
    end = np.array([5.6, -8.6, 0.25])
    cross = np.cross(end - start, [0, 0, 1.0]) / np.linalg.norm(end - start)
    yard = start + 0.88 * (end - start) + np.array([0, 0, 0.2])
    return np.array([start, end]), np.array([yard - 2.6 * cross, yard + 2.2 * cross])


def _fallen_mast(seed: int) -> trimesh.Trimesh:
    """Return the fallen main mast with its top, yard and ropes in the model's frame."""
    (start, end), yard = _fallen_spars()
    axis = (end - start) / np.linalg.norm(end - start)
    yaw = float(np.degrees(np.arctan2(axis[1], axis[0])))
    pitch = float(np.degrees(np.arccos(axis[2])))
    top = start + 0.72 * (end - start)
    pieces = [
        fittings.splintered(end, start, 0.3, seed + 7, 1.15),
        move(fittings.mast_top(0.0, 0.9), top, rpy_deg=(0, pitch, yaw)),
        rod(yard[0], yard[1], 0.12, radius_end=0.08),
    ]
    hang = np.array([[0, 0, 0], [0.8, 0.3, -1.4], [1.4, -0.4, -2.2]])
    for share in (0.3, 0.5):
        rope = smooth_path([*(start + share * (end - start) + hang)], step=0.5)
        pieces.append(sweep(rope, 0.035, sections=5))
    return hull.along_v(merge(pieces))


def _scatter(seed: int) -> trimesh.Trimesh:
    """Return planks and timbers on the seabed beside the gap."""
    rng = generator(seed, 'scatter')
    pieces = []
    for _ in range(16):
        length = float(rng.uniform(1.2, 3.6))
        spot = np.array([rng.uniform(-7, 8), -rng.uniform(4.6, 7.6), 0.05])
        plank = hull.along_v(box((length, 0.32, 0.1)))
        tilt = (float(rng.uniform(-12, 12)), float(rng.uniform(-8, 8)), float(rng.uniform(0, 180)))
        pieces.append(move(plank, spot, rpy_deg=tilt))
    return merge(pieces)


def _hull_texture(seed: int) -> tk.Texture:
    """Paint a whole side: strakes, dark wales, an ochre gun band with ports, growth, silt."""
    tex = tk.wood_planks(
        seed, rows=hull.STRAKES, colour=(136, 102, 70), joints=6, size=(512, 1024)
    )
    for low, high in ((0.665, 0.70), (0.895, 0.93)):
        tex = tk.band(tex, low, high, (54, 42, 32))
    tex = tk.band(tex, 0.715, 0.88, (212, 168, 88), seed=seed, wear=0.3)
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
    tex = tk.text(tex, 'AURORA', (0.5, 0.9), 0.075, (214, 190, 130), seed=seed, wear=0.08)
    return tk.growth(tex, seed + 4, 0.08)


def _collisions() -> tuple[Primitive, ...]:
    """Return boxes over slices of the hull, thin ones along the broken sides, and spars."""
    upright: list[Primitive] = []
    cuts = np.array([-14.8, -12.2, -9.4, -6.5, -4.0, -1.2, 1.6, 3.6, 6.2, 8.6, 10.6, 12.4, 14.9])
    s = np.linspace(0, 1, 161)
    t = np.linspace(0, 1, 41)
    points = hull.hull_point(s[:, None], t[None, :]).reshape(-1, 3)
    for a, b in itertools.pairwise(cuts):
        inside = points[(points[:, 0] >= a - 0.3) & (points[:, 0] <= b + 0.3)]
        if len(inside) == 0:
            continue
        middle = (a + b) / 2
        gap = -1.3 < middle < 3.7
        top = float(inside[:, 2].max()) + (1.3 if middle < -6.4 else 0.6 if middle > 8.6 else 0.1)
        bottom = 1.0 if middle > 12.4 else -0.3
        levels = [bottom, 1.2, top] if -6.6 < middle < 6.3 else [bottom, 1.0, 2.0, 3.2, top]
        for low, high in itertools.pairwise(levels):
            layer = inside[(inside[:, 2] <= high) & (inside[:, 2] >= low - 0.3)]
            if low >= high or len(layer) == 0:
                continue
            wide = 2 * max(float(layer[:, 1].max()) - 0.05, 0.2)
            tall, centre = high - low, (low + high) / 2
            if gap and low > bottom:
                edge = wide / 2 - 0.35
                size = (b - a, 0.8, tall)
                upright += [block(size, (middle, y, centre)) for y in (-edge, edge)]
            else:
                upright.append(block((b - a, wide, tall), (middle, 0, centre)))
    bow = hull.hull_point(1.0, 1.0)
    upright += [
        bar((7.4, 0, 4.5), (7.6, 0, 14.0), 0.45),
        bar((8.0, -4.3, 8.6), (7.8, 3.2, 10.6), 0.25),
        bar((-1.6, 0, 1.5), (-1.8, 0.1, 7.2), 0.5),
        bar((-8.8, 0, 4.5), (-9.2, 0, 11.8), 0.4),
        bar((-9.0, -1.9, 8.4), (-9.0, 2.1, 9.2), 0.2),
        bar((bow[0] - 1.5, 0, 6.3), (bow[0] + 4.4, 0, 8.6), 0.4),
        block((1.4, 0.5, 4.4), (-14.0, 0.12, 1.9), (0, -9.0, 14.0)),
        block((2.2, 2.9, 1.7), (hull.X_STERN + 26 * 0.325, 0, hull.deck_z(0.325) + 0.85)),
        # The forestay, and the shrouds as a fan of bars.
        bar((7.8, 0, 10.0), (12.5, 0, 8.6), 0.2),
        bar((12.5, 0, 8.6), (bow[0] + 2.9, 0, 8.0), 0.2),
        *(bar(a, b, 0.35) for a, b in fittings.beams()),
        *(bar(foot, crown, 0.3) for feet, crown in fittings.shrouds() for foot in feet[::2]),
    ]
    bent = []
    for primitive in upright:
        position = np.asarray(primitive.pose.position)
        share = float(_bend_share(position[0]))
        turn = euler_pose((0, 0, 0), (0, _BOW_PITCH_DEG * share, _BOW_YAW_DEG * share))
        place = Pose.of(_bend(position[None])[0], (turn @ primitive.pose).quaternion)
        bent.append(Primitive(shape=primitive.shape, size=primitive.size, pose=place))
    mast, yard = _fallen_spars()
    beside = [
        bar(mast[0], mast[1], 0.45),
        bar(yard[0], yard[1], 0.2),
        # Low boxes over the scattered timbers and guns, and some on the anchors.
        block((15.5, 4.2, 0.5), (0.3, -6.2, 0.05)),
        *_anchor_boxes(),
    ]
    return (*place_all(bent, _settle()), *beside)


def build(*, seed: int) -> PropModel:
    """Build the wreck; the bow points along +x and the list is to starboard (-y)."""
    outer, inner = hull.planking(seed)
    timber = merge(
        [
            _settled(
                merge(
                    [
                        hull.ribs(seed),
                        hull.backbone(),
                        fittings.spars(seed),
                        fittings.deck_works(seed),
                    ]
                )
            ),
            _fallen_mast(seed),
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
            texture=tk.wood_planks(
                seed + 5, rows=18, colour=(92, 68, 46), joints=6, size=(256, 512)
            ),
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
        collisions=_collisions(),
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
