"""What goes on and under a pipeline: flanges, valves, saddles, mattresses, berms, spills."""

from __future__ import annotations

import math

import numpy as np
import trimesh

from oceangym_core.geometry import Pose, quaternion_from_matrix
from oceangym_core.rng import generator
from oceangym_worlds.modelling import mesh as ops
from oceangym_worlds.modelling import primitives as kit
from oceangym_worlds.modelling.assembly import Assembly, bar_primitive, cylinder_x
from oceangym_worlds.modelling.mesh import Array
from oceangym_worlds.modelling.model import Primitive
from oceangym_worlds.props.pipe_line import Axis, Floor, Interval

_FLANGE_RADIUS = 0.64
_FOOT = 1.1  # depth of a saddle's foot under the pipe's bed, for sloping ground [m]
_BLOCK = 0.52  # spacing of a mattress's blocks [m]


def _add(model: Assembly, finish: str, line: Axis, s: float, *meshes: trimesh.Trimesh) -> None:
    """Add meshes made with x along the pipe and z up, about the axis at path length `s`."""
    axes, centre = line.axes(s), line.at(s)
    model.add(finish, *(ops.place(m, axes, centre) for m in meshes))


def _bolts(radius: float, count: int, length: float) -> list[trimesh.Trimesh]:
    angles = 2.0 * math.pi * (np.arange(count) + 0.5) / count
    return [
        cylinder_x((0.0, radius * math.cos(a), radius * math.sin(a)), 0.035, length, sections=6)
        for a in angles
    ]


def add_flange(model: Assembly, line: Axis, s: float) -> None:
    """Add a bolted pair of flanges."""
    discs = [cylinder_x((x, 0, 0), _FLANGE_RADIUS, 0.09, bevel=0.015) for x in (-0.055, 0.055)]
    necks = [
        ops.move(
            kit.cylinder(0.56, 0.18, radius_top=0.47, caps=False), (x, 0, 0), rpy_deg=(0, turn, 0)
        )
        for x, turn in ((0.1, 90), (-0.1, -90))
    ]
    _add(model, 'steel', line, s, *discs, *necks, *_bolts(0.58, 12, 0.32))


def add_blind_end(model: Assembly, line: Axis, s: float) -> None:
    """Add the closed flange at an end of the line, with its yellow lifting lug."""
    discs = [cylinder_x((x, 0, 0), _FLANGE_RADIUS, 0.12, bevel=0.02) for x in (-0.06, 0.06)]
    _add(model, 'steel', line, s, *discs, *_bolts(0.58, 12, 0.36))
    lug = ops.move(kit.torus(0.14, 0.04, sections=14, around=6), (0, 0, 0.74), rpy_deg=(90, 0, 0))
    _add(model, 'yellow', line, s, lug)


def add_valve(model: Assembly, line: Axis, s: float) -> list[Primitive]:
    """Add a gate valve: yellow body and bonnet, red handwheel on top."""
    body = [
        kit.sphere(0.78, sections=20, rings=10),
        cylinder_x((0, 0, 0), 0.6, 2.0),
        ops.move(kit.cylinder(0.46, 0.7, radius_top=0.4), (0, 0, 0.45)),
        ops.move(kit.cylinder(0.58, 0.1, bevel=0.02), (0, 0, 1.1)),
        ops.move(kit.cylinder(0.58, 0.1, bevel=0.02), (0, 0, 1.22)),
    ]
    yoke = [kit.strut((0, y, 1.3), (0, 0.3 * y, 2.0), 0.09) for y in (-0.36, 0.36)]
    yoke.append(ops.move(kit.cylinder(0.17, 0.16), (0, 0, 1.94)))
    _add(model, 'yellow', line, s, *body, *yoke)
    flanges = [cylinder_x((x, 0, 0), 0.7, 0.13, bevel=0.02) for x in (-1.0, -0.85, 0.85, 1.0)]
    stem = kit.rod((0, 0, 1.2), (0, 0, 2.36), 0.05)
    feet = [kit.box((0.5, 0.25, 0.9), (0, y, -0.62)) for y in (-0.42, 0.42)]
    _add(model, 'steel', line, s, *flanges, stem, *feet, *_bolts(0.63, 10, 2.36))
    wheel = [ops.move(kit.torus(0.52, 0.05, sections=28, around=8), (0, 0, 2.2))]
    wheel += [
        kit.rod((0, 0, 2.16), (0.52 * math.cos(a), 0.52 * math.sin(a), 2.2), 0.035)
        for a in 2.0 * np.pi * np.arange(5) / 5
    ]
    wheel.append(ops.move(kit.cylinder(0.1, 0.14), (0, 0, 2.12)))
    _add(model, 'red', line, s, *wheel)
    axes, centre = line.axes(s), line.at(s)
    top = axes[:, 2]
    return [
        bar_primitive(centre - 0.75 * axes[:, 0], centre + 0.75 * axes[:, 0], 0.76),
        bar_primitive(centre, centre + 1.0 * top, 0.5),
        bar_primitive(centre + 2.08 * top, centre + 2.34 * top, 0.56, shape='cylinder'),
        bar_primitive(centre + 1.0 * top, centre + 2.1 * top, 0.3),
    ]


def _upright(line: Axis, s: float) -> ops.Array:
    """Return columns forward, left, up with up vertical (3, 3)."""
    forward = line.axes(s)[:, 0] * [1.0, 1.0, 0.0]
    forward /= np.linalg.norm(forward)
    return np.column_stack([forward, np.cross([0.0, 0.0, 1.0], forward), [0.0, 0.0, 1.0]])


def add_saddle(model: Assembly, line: Axis, s: float, height: float) -> Primitive:
    """Add a concrete block that cradles the pipe and reaches into the seabed."""
    arc = np.radians(np.linspace(200, 340, 9))
    cradle = 0.52 * np.column_stack([np.cos(arc), np.sin(arc)])
    outline = [
        (-1.05, -height - _FOOT),
        (1.05, -height - _FOOT),
        (0.85, -0.05),
        (0.58, 0.02),
        *cradle[::-1],
        (-0.58, 0.02),
        (-0.85, -0.05),
    ]
    block = ops.move(kit.extrude(outline, 0.9, scale=1.5), (-0.45, 0, 0), rpy_deg=(90, 0, 90))
    axes, centre = _upright(line, s), line.at(s)
    strap = ops.move(
        kit.torus(0.53, 0.03, sections=16, around=5, arc_deg=180), rpy_deg=(90, 0, 90)
    )
    model.add('concrete', ops.place(block, axes, centre))
    model.add('steel', ops.place(strap, axes, centre))
    middle = centre - np.array([0.0, 0.0, 0.5 * (height + _FOOT)])
    return Primitive(
        shape='box',
        size=(0.9, 1.9, height + _FOOT),
        pose=Pose.of(middle, quaternion_from_matrix(axes)),
    )


def has_level_ground(line: Axis, s: float, height: float, floor: Floor) -> bool:
    """Tell whether a mattress can drape here: a seabed tilted little and close under the pipe."""
    side = _upright(line, s)[:, 1]
    centre = line.at(s)
    below = centre[2] - height - floor(centre + np.outer([-2.2, 0.0, 2.2], side))
    return bool(np.abs(below).max() < 0.75)


def add_mattress(
    model: Assembly, line: Axis, s: float, height: float, floor: Floor
) -> list[Primitive]:
    """Add an articulated concrete mattress draped over the pipe onto the seabed."""
    half = [(0.0, 0.62), (0.35, 0.52), (0.66, 0.1), (0.95, 0.26 - height), (1.5, 0.1 - height)]
    half.append((2.6, 0.1 - height))
    outline = np.array([(-y, z) for y, z in half[:0:-1]] + half)
    curve = kit.smooth_path(list(np.column_stack([outline, np.zeros(len(outline))])), step=0.05)
    run = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(curve, axis=0), axis=1))])
    axes = _upright(line, s)

    def drape(x: float, y: float) -> Array:
        """Return the mattress's point at offsets along and across the pipe."""
        axis = line.at(s + x / math.hypot(1.0, line.axes(s)[2, 0]))
        point = axis + y * axes[:, 1]
        over = axis[2] + float(np.interp(y, curve[:, 0], curve[:, 1]))
        on_floor = float(floor(point[None])[0]) + 0.1
        share = min(max((abs(y) - 0.8) / 0.6, 0.0), 1.0)
        return np.array([point[0], point[1], over + share * (on_floor - over)])

    def lying(x: float, y: float) -> Array:
        """Return the columns (3, 3) of a block's axes on the draped surface."""
        along = drape(x + 0.1, y) - drape(x - 0.1, y)
        up = np.cross(along, drape(x, y + 0.1) - drape(x, y - 0.1))
        along, up = along / np.linalg.norm(along), up / np.linalg.norm(up)
        return np.column_stack([along, np.cross(up, along), up])

    block = kit.box((0.54, _BLOCK - 0.05, 0.2), bevel=0.05, scale=1.5)
    for here in np.arange(0.5 * _BLOCK, run[-1], _BLOCK):
        y = float(np.interp(here, run, curve[:, 0]))
        for x in np.linspace(-1.8, 1.8, 7).tolist():
            model.add('concrete', ops.place(block, lying(x, y), drape(x, y)))
    ridge = Pose.of(line.at(s) - 0.1 * axes[:, 2], quaternion_from_matrix(line.axes(s)))
    flaps = [
        Primitive(
            shape='box',
            size=(4.2, 2.0, 0.4),
            pose=Pose.of(drape(0.0, y), quaternion_from_matrix(lying(0.0, y))),
        )
        for y in (-1.8, 1.8)
    ]
    return [Primitive(shape='box', size=(4.2, 2.2, height + 0.7), pose=ridge), *flaps]


def berm(
    line: Axis, start: float, end: float, whole: Interval, seed: int, height: float, floor: Floor
) -> trimesh.Trimesh:
    """Return sediment heaped against the pipe, fading out at the ends of the whole stretch."""
    s = np.linspace(start, end, max(3, math.ceil((end - start) / 0.6) + 1))
    offsets = np.array([-3.2, -2.4, -1.6, -0.9, -0.4, 0.0, 0.4, 0.9, 1.6, 2.4, 3.2])
    rise = 1.05 * np.exp(-((offsets / 1.5) ** 2))
    close = np.exp(-((offsets / 1.1) ** 2))
    edge = np.where(np.abs(offsets) > 3.0, -0.7, -0.1)
    points = np.empty((len(s), len(offsets), 3))
    for k, here in enumerate(s):
        axes = _upright(line, float(here))
        fade = min(1.0, (here - whole.start) / 3.0 + 0.05, (whole.end - here) / 3.0 + 0.05)
        points[k] = line.at(float(here)) + offsets[:, None] * axes[:, 1]
        wave = 0.28 * ops.noise(points[k], seed=seed, size=2.2)
        ground = floor(points[k])
        # Beside the pipe the heap follows the pipe, further out the seabed.
        base = ground + close * (points[k, :, 2] - height - ground)
        points[k, :, 2] = base + edge + fade * (rise + wave * close)
    uv = np.stack(np.meshgrid(s / 3.0, offsets / 3.0, indexing='ij'), axis=-1)
    return kit.grid(points, uv)


def spill(line: Axis, s: float, seed: int, floor: Floor) -> trimesh.Trimesh:
    """Return the oil-soaked sediment under a leak."""
    rng = generator(seed, 'pipeline_spill')
    angle = np.linspace(0.0, 2.0 * np.pi, 49)
    reach = 1.5 + 0.4 * np.sin(2 * angle + rng.uniform(0, 6)) + 0.3 * np.sin(5 * angle + 1.0)
    reach[-1] = reach[0]
    share = np.array([1.12, 1.0, 0.85, 0.6, 0.3, 0.0])
    level = np.array([-0.45, 0.0, 0.06, 0.1, 0.13, 0.14])
    flat = (
        reach[:, None, None]
        * share[:, None]
        * np.stack([np.cos(angle), np.sin(angle)], axis=-1)[:, None]
    )
    points = np.concatenate([flat + line.at(s)[:2], np.zeros((*flat.shape[:2], 1))], axis=-1)
    points[..., 2] = floor(points.reshape(-1, 3)).reshape(flat.shape[:2]) + level
    return kit.grid(points, flat / 2.0)


def bore(line: Axis, s: float, tip: float, radius: float) -> trimesh.Trimesh:
    """Return the dark inside of the pipe behind a torn end at path length `tip`."""
    inward = -1.0 if tip < s else 1.0
    depth = 1.2
    inside = kit.lathe([(radius - 0.03, 0.0), (radius - 0.03, depth), (0.0, depth)], sections=24)
    faces = np.asarray(inside.faces)[:, ::-1]
    flipped = ops.shade(
        ops.build(inside.vertices, faces, ops.uv_of(inside), -np.asarray(inside.vertex_normals))
    )
    axes = line.axes(tip)
    along = inward * axes[:, 0]
    turned = np.column_stack([np.cross(axes[:, 2], along), axes[:, 2], along])
    return ops.place(flipped, turned, line.at(tip) + 0.12 * along)
