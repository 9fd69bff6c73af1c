"""UV-mapped mesh primitives, z up, metres.

Each returns a mesh as `oceangym_worlds.modelling.mesh` (shading, merging, moving, denting, unwrapping)
defines it. ``scale`` is the side of one texture tile in metres.
"""

from __future__ import annotations

from collections.abc import Sequence
import itertools
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from shapely.geometry import Polygon
import trimesh

from oceangym_worlds.modelling.mesh import Array, box_uv, build, merge, move, shade, uv_of


def grid(points: ArrayLike, uv: ArrayLike, *, crease_deg: float = 180.0) -> trimesh.Trimesh:
    """Return the surface through points (I, J, 3); its outside is d/di x d/dj."""
    p, t = np.asarray(points, dtype=float), np.asarray(uv, dtype=float)
    rows, columns = p.shape[:2]
    index = np.arange(rows * columns).reshape(rows, columns)
    a, b = index[:-1, :-1].ravel(), index[1:, :-1].ravel()
    c, d = index[1:, 1:].ravel(), index[:-1, 1:].ravel()
    faces = np.vstack([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    flat = p.reshape(-1, 3)
    return shade(build(flat, faces, t.reshape(-1, 2), np.zeros_like(flat)), crease_deg=crease_deg)


def polygon(outline: ArrayLike | Polygon, *, scale: float = 1.0) -> trimesh.Trimesh:
    """Return a flat polygon in z = 0 facing up, of an outline (N, 2) or one with holes."""
    shape = outline if isinstance(outline, Polygon) else Polygon(np.asarray(outline, dtype=float))
    flat, faces = trimesh.creation.triangulate_polygon(shape, engine='earcut')
    flat, faces = np.asarray(flat, dtype=float), np.asarray(faces)
    edge_1, edge_2 = (flat[faces[:, k]] - flat[faces[:, 0]] for k in (1, 2))
    clockwise = edge_1[:, 0] * edge_2[:, 1] - edge_1[:, 1] * edge_2[:, 0] < 0
    faces = np.where(clockwise[:, None], faces[:, ::-1], faces)
    vertices = np.column_stack([flat, np.zeros(len(flat))])
    return build(vertices, faces, flat / scale, np.tile([0.0, 0.0, 1.0], (len(flat), 1)))


def extrude(
    outline: ArrayLike | Polygon, height: float, *, scale: float = 1.0, crease_deg: float = 35.0
) -> trimesh.Trimesh:
    """Return a prism from z = 0 to `height` over an outline (N, 2), which may have holes."""
    shape = outline if isinstance(outline, Polygon) else Polygon(np.asarray(outline, dtype=float))
    top = polygon(shape, scale=scale)
    sides = []
    for order, ring in enumerate((shape.exterior, *shape.interiors)):
        loop = np.asarray(ring.coords)[:, :2]
        if ring.is_ccw != (order == 0):
            loop = loop[::-1]
        run = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(loop, axis=0), axis=1))])
        levels = np.array([0.0, height])
        points = np.empty((len(loop), 2, 3))
        points[..., :2] = loop[:, None]
        points[..., 2] = levels
        uv = np.stack(np.meshgrid(run / scale, levels / scale, indexing='ij'), axis=-1)
        sides.append(grid(points, uv, crease_deg=crease_deg))
    bottom = move(top, scale=(1.0, 1.0, -1.0))
    return merge([*sides, move(top, (0.0, 0.0, height)), bottom])


def box(
    size: ArrayLike, centre: ArrayLike = (0.0, 0.0, 0.0), *, bevel: float = 0.0, scale: float = 1.0
) -> trimesh.Trimesh:
    """Return a box, its edges chamfered by `bevel` [m] and shaded round."""
    half = np.asarray(size, dtype=float) / 2.0
    inner = half - min(bevel, 0.49 * 2.0 * float(half.min()))
    points = []
    for signs in np.ndindex(2, 2, 2):
        sign = 2.0 * np.array(signs) - 1.0
        for axis in range(3 if bevel > 0 else 1):
            corner = (inner if bevel > 0 else half).copy()
            corner[axis] = half[axis]
            points.append(sign * corner)
    hull = trimesh.Trimesh(vertices=np.array(points), process=False).convex_hull
    raw = build(hull.vertices, hull.faces, np.zeros((len(hull.vertices), 2)), hull.vertex_normals)
    unwrapped = box_uv(shade(raw, crease_deg=50.0 if bevel > 0 else 0.0), scale=scale)
    return move(unwrapped, centre)


def lathe(
    profile: ArrayLike,
    *,
    sections: int = 24,
    scale: float = 1.0,
    wraps: int | None = None,
    crease_deg: float = 35.0,
    arc_deg: float = 360.0,
) -> trimesh.Trimesh:
    """Return the surface of a profile (N, 2) of (radius, z) turned about z.

    A profile that runs upward has its outside away from the axis. Its corners sharper than the
    crease stay sharp. ``u`` runs around with `wraps` whole tiles, ``v`` along the profile.
    """
    line = np.asarray(profile, dtype=float)
    steps = np.diff(line, axis=0)
    length = np.linalg.norm(steps, axis=1)
    run = np.concatenate([[0.0], np.cumsum(length)])
    tiles = wraps or max(1, round(math.radians(arc_deg) * float(line[:, 0].max()) / scale))
    angle = np.radians(np.linspace(0.0, arc_deg, sections + 1))
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    if arc_deg == 360.0:
        circle[-1] = circle[0]
    heading = np.arctan2(steps[:, 1], steps[:, 0])
    turn = np.abs((np.diff(heading) + np.pi) % (2.0 * np.pi) - np.pi)
    cuts = [0, *(np.nonzero(turn > math.radians(crease_deg))[0] + 1), len(line) - 1]
    pieces = []
    for first, last in itertools.pairwise(cuts):
        part = slice(first, last + 1)
        if line[part, 0].max() < 1e-9:
            continue
        points = np.empty((sections + 1, last + 1 - first, 3))
        points[..., :2] = circle[:, None, :] * line[None, part, :1]
        points[..., 2] = line[None, part, 1]
        u = np.linspace(0.0, tiles, sections + 1)
        uv = np.stack(np.meshgrid(u, run[part] / scale, indexing='ij'), axis=-1)
        pieces.append(grid(points, uv))
    return merge(pieces)


def cylinder(
    radius: float,
    length: float,
    *,
    radius_top: float | None = None,
    sections: int = 24,
    scale: float = 1.0,
    wraps: int | None = None,
    caps: bool = True,
    bevel: float = 0.0,
) -> trimesh.Trimesh:
    """Return a cylinder (or cone) standing on z = 0."""
    top = radius if radius_top is None else radius_top
    side = [(radius, 0.0), (top, length)]
    if bevel > 0:
        side = [
            (radius - bevel, 0.0),
            (radius, bevel),
            (top, length - bevel),
            (top - bevel, length),
        ]
    if caps:
        side = [(0.0, 0.0), *side, (0.0, length)]
    return lathe(side, sections=sections, scale=scale, wraps=wraps)


def tube(
    radius: float, inner: float, length: float, *, sections: int = 24, scale: float = 1.0
) -> trimesh.Trimesh:
    """Return a tube with walls, standing on z = 0."""
    ring = [(inner, length), (inner, 0.0), (radius, 0.0), (radius, length), (inner, length)]
    return lathe(ring, sections=sections, scale=scale)


def sphere(
    radius: float,
    *,
    sections: int = 24,
    rings: int = 12,
    scale: float = 1.0,
    from_deg: float = -90.0,
    to_deg: float = 90.0,
) -> trimesh.Trimesh:
    """Return a sphere, or its zone between two latitudes (a dome is 0..90)."""
    latitude = np.radians(np.linspace(from_deg, to_deg, rings + 1))
    profile = radius * np.column_stack([np.cos(latitude), np.sin(latitude)])
    profile[np.abs(profile) < 1e-9] = 0.0
    return lathe(profile, sections=sections, scale=scale, crease_deg=180.0)


def torus(
    ring: float,
    radius: float,
    *,
    sections: int = 24,
    around: int = 8,
    scale: float = 1.0,
    arc_deg: float = 360.0,
) -> trimesh.Trimesh:
    """Return a torus about z, its tube's centre circle in z = 0."""
    angle = np.linspace(0.0, 2.0 * np.pi, around + 1)
    profile = np.column_stack([ring + radius * np.cos(angle), radius * np.sin(angle)])
    profile[-1] = profile[0]
    return lathe(profile, sections=sections, scale=scale, crease_deg=180.0, arc_deg=arc_deg)


def frames(path: ArrayLike, up: ArrayLike | None = None) -> tuple[Array, Array, Array]:
    """Return tangents, sides and tops (N, 3) along a path (N, 3), with side x top = tangent.

    With `up` the tops stay as close to it as they can; without, they are carried along the path
    without twist (parallel transport).
    """
    points = np.asarray(path, dtype=float)
    tangent = np.gradient(points, axis=0)
    tangent /= np.maximum(np.linalg.norm(tangent, axis=1, keepdims=True), 1e-12)
    if up is not None:
        side = np.cross(np.asarray(up, dtype=float), tangent)
    else:
        start = np.eye(3)[int(np.argmin(np.abs(tangent[0])))]
        side = np.empty_like(points)
        side[0] = np.cross(start, tangent[0])
        for k in range(1, len(points)):
            side[k] = side[k - 1] - tangent[k] * (side[k - 1] @ tangent[k])
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    return tangent, side, np.cross(tangent, side)


def sweep(
    path: ArrayLike,
    section: float | ArrayLike,
    *,
    sections: int = 12,
    caps: bool = True,
    scale: float = 1.0,
    wraps: int | None = None,
    up: ArrayLike | None = None,
    v_start: float = 0.0,
    crease_deg: float = 35.0,
) -> trimesh.Trimesh:
    """Return a section carried along a path (N, 3).

    Args:
        path: Points [m].
        section: Radius, radii per point (N,), or a closed counter-clockwise outline (M, 2) of
            (side, top) offsets seen against the direction of travel.
        sections: Sides of a round section.
        caps: Close both ends.
        scale: Metres per texture tile along the path (``v``).
        wraps: Tiles around (``u``); by default as many as keep the texture square. On a round
            section u / wraps is 0 at the side, 0.25 at the top, 0.75 at the bottom.
        up: See `frames`.
        v_start: Path length at which the texture starts [m].
        crease_deg: Edges of an outline sharper than this stay sharp.
    """
    points = np.asarray(path, dtype=float)
    _, side, top = frames(points, up)
    shape = np.asarray(section, dtype=float)
    if shape.ndim < 2:
        angle = np.linspace(0.0, 2.0 * np.pi, sections + 1)
        circle = np.column_stack([np.cos(angle), np.sin(angle)])
        offsets = circle[:, None, :] * np.broadcast_to(shape, (len(points),))[None, :, None]
        crease = 180.0
    else:
        closed = np.vstack([shape, shape[:1]])
        offsets = np.repeat(closed[:, None, :], len(points), axis=1)
        crease = crease_deg
    offsets[-1] = offsets[0]
    surface = points[None] + offsets[..., :1] * side[None] + offsets[..., 1:] * top[None]
    around = np.concatenate(
        [[0.0], np.cumsum(np.linalg.norm(np.diff(offsets.mean(axis=1), axis=0), axis=1))]
    )
    tiles = wraps or max(1, round(float(around[-1]) / scale))
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    u, v = around / around[-1] * tiles, (along + v_start) / scale
    pieces = [grid(surface, np.stack(np.meshgrid(u, v, indexing='ij'), -1), crease_deg=crease)]
    if caps:
        for k, flip in ((0, True), (len(points) - 1, False)):
            lid = polygon(offsets[:-1, k], scale=scale)
            local = np.asarray(lid.vertices)
            placed = points[k] + local[:, :1] * side[k] + local[:, 1:2] * top[k]
            faces = np.asarray(lid.faces)[:, ::-1] if flip else lid.faces
            raw = build(placed, faces, uv_of(lid), placed)
            pieces.append(shade(raw, crease_deg=180.0))
    return merge(pieces)


def rod(
    start: ArrayLike,
    end: ArrayLike,
    radius: float,
    *,
    radius_end: float | None = None,
    sections: int = 8,
    scale: float = 1.0,
    caps: bool = True,
) -> trimesh.Trimesh:
    """Return a round bar between two points."""
    radii = [radius, radius if radius_end is None else radius_end]
    return sweep(
        np.array([start, end], dtype=float), radii, sections=sections, scale=scale, caps=caps
    )


def strut(
    start: ArrayLike,
    end: ArrayLike,
    width: float,
    depth: float | None = None,
    *,
    scale: float = 1.0,
    up: ArrayLike | None = None,
) -> trimesh.Trimesh:
    """Return a rectangular bar between two points; `depth` is its size towards `up`."""
    w, d = width / 2.0, (width if depth is None else depth) / 2.0
    return sweep(
        np.array([start, end], dtype=float),
        [(w, -d), (w, d), (-w, d), (-w, -d)],
        scale=scale,
        up=up,
    )


def angle_bar(
    start: ArrayLike,
    end: ArrayLike,
    width: float,
    thickness: float,
    *,
    scale: float = 1.0,
    up: ArrayLike | None = None,
) -> trimesh.Trimesh:
    """Return an L-section bar between two points, as lattice towers are made of."""
    w, t = width, thickness
    outline = [(0.0, 0.0), (w, 0.0), (w, t), (t, t), (t, w), (0.0, w)]
    return sweep(np.array([start, end], dtype=float), outline, scale=scale, up=up)


def smooth_path(points: Sequence[ArrayLike], *, step: float) -> NDArray[np.float64]:
    """Return a Catmull-Rom curve through points (N, 3), sampled about every `step` metres."""
    knots = np.asarray(points, dtype=float)
    padded = np.vstack([2.0 * knots[0] - knots[1], knots, 2.0 * knots[-1] - knots[-2]])
    curve = []
    for p0, p1, p2, p3 in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        count = max(1, math.ceil(float(np.linalg.norm(p2 - p1)) / step))
        t = (np.arange(count) / count)[:, None]
        curve.append(
            0.5
            * (
                2 * p1
                + (p2 - p0) * t
                + (2 * p0 - 5 * p1 + 4 * p2 - p3) * t**2
                + (3 * p1 - p0 - 3 * p2 + p3) * t**3
            )
        )
    return np.vstack([*curve, knots[-1:]])
