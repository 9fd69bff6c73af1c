"""Signed distance to seabed and props, as flat arrays for compiled code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from oceangym_core.geometry import Array
from oceangym_core.world.world import Heightfield, Instance, World

BOX, SPHERE, CYLINDER, CAPSULE = 0, 1, 2, 3
_KINDS = {'box': BOX, 'sphere': SPHERE, 'cylinder': CYLINDER, 'capsule': CAPSULE}
SEABED = -1
NOTHING = -2

# kind, centre, axes, size, instance, cell_start, cell_items, grid, height, terrain: see DistanceField.
FieldArrays = tuple[Any, ...]

# A loose grid over map x, y keeps a query from visiting every primitive of the world.
CELL_M = 20.0
MAX_QUERY_M = 40.0


@dataclass(frozen=True, kw_only=True)
class DistanceField:
    """Primitives and heightfield of a world, ready for the compiled functions of this module.

    Attributes:
        kind: (P,) int64 primitive kinds.
        centre: (P, 3) map position [m].
        axes: (P, 3, 3) rotation from the primitive's frame to map.
        size: (P, 3) box half extents; or radius, half length, 0.
        instance: (P,) index into `instance_names`.
        instance_names: Names of the instances that have collisions.
        cell_start, cell_items: Primitives listed by grid cell (CSR).
        grid: x0, y0, cell size [m], nx, ny.
        height, terrain: Height grid and its x0, y0, spacing (a 2x2 grid far below without a terrain).
    """

    kind: NDArray[np.int64]
    centre: Array
    axes: Array
    size: Array
    instance: NDArray[np.int64]
    instance_names: tuple[str, ...]
    cell_start: NDArray[np.int64]
    cell_items: NDArray[np.int64]
    grid: Array
    height: Array
    terrain: Array

    @property
    def arrays(self) -> FieldArrays:
        """What the compiled functions of this module take after the point."""
        return (
            self.kind,
            self.centre,
            self.axes,
            self.size,
            self.instance,
            self.cell_start,
            self.cell_items,
            self.grid,
            self.height,
            self.terrain,
        )

    def name(self, index: int) -> str:
        """Return the instance's name, ``seabed`` or an empty string for nothing near."""
        if index == SEABED:
            return 'seabed'
        return '' if index == NOTHING else self.instance_names[index]

    def query(self, point: Array) -> tuple[float, Array, int]:
        """Return distance [m], outward unit gradient and instance index of the nearest surface.

        Props and seabed count alike; distances beyond `MAX_QUERY_M` from every prop are those to
        the seabed.
        """
        d, gx, gy, gz, index = nearest_surface(
            float(point[0]), float(point[1]), float(point[2]), self.arrays
        )
        return d, np.array([gx, gy, gz]), int(index)


def build_distance_field(
    world: World, *, select: Any = None, heightfield: Heightfield | None = None
) -> DistanceField:
    """Collect the collision primitives of a world.

    Args:
        world: Where they come from.
        select: Optional predicate on `Instance`; others are left out.
        heightfield: Replaces the world's own.
    """
    kinds: list[int] = []
    centres: list[Array] = []
    axes: list[Array] = []
    sizes: list[tuple[float, float, float]] = []
    owners: list[int] = []
    names: list[str] = []
    for instance in world.instances:
        if not instance.model.collisions or (select is not None and not select(instance)):
            continue
        names.append(instance.name)
        for pose, shape in _posed_shapes(instance):
            kinds.append(_KINDS[shape.kind])
            centres.append(np.asarray(pose.position))
            axes.append(pose.rotation)
            owners.append(len(names) - 1)
            if shape.kind == 'box':
                sizes.append((shape.size[0] / 2, shape.size[1] / 2, shape.size[2] / 2))
            elif shape.kind == 'sphere':
                sizes.append((shape.size[0], 0.0, 0.0))
            else:
                sizes.append((shape.size[0], shape.size[1] / 2, 0.0))
    field = world.heightfield if heightfield is None else heightfield
    height = np.full((2, 2), -1e6) if field is None else field.height
    terrain = (0.0, 0.0, 1e6) if field is None else (*field.origin, field.spacing)
    centre = np.array(centres, dtype=float).reshape(-1, 3)
    size = np.array(sizes, dtype=float).reshape(-1, 3)
    kind = np.array(kinds, dtype=np.int64)
    start, items, grid = _cells(centre, _bounding_radius(kind, size))
    return DistanceField(
        kind=kind,
        centre=centre,
        axes=np.array(axes, dtype=float).reshape(-1, 3, 3),
        size=size,
        instance=np.array(owners, dtype=np.int64),
        instance_names=tuple(names),
        cell_start=start,
        cell_items=items,
        grid=grid,
        height=np.ascontiguousarray(height, dtype=float),
        terrain=np.array(terrain, dtype=float),
    )


def _posed_shapes(instance: Instance) -> list[tuple[Any, Any]]:
    return [(instance.pose @ c.pose, c.shape) for c in instance.model.collisions]


def _bounding_radius(kind: NDArray[np.int64], size: Array) -> Array:
    box = np.linalg.norm(size, axis=1)
    long = np.where(kind == CAPSULE, size[:, 0] + size[:, 1], np.hypot(size[:, 0], size[:, 1]))
    radius: Array = np.where(kind == BOX, box, np.where(kind == SPHERE, size[:, 0], long))
    return radius


def _cells(centre: Array, radius: Array) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    if len(centre) == 0:
        return np.zeros(2, np.int64), np.zeros(0, np.int64), np.array([0.0, 0.0, CELL_M, 1.0, 1.0])
    reach = radius + MAX_QUERY_M
    low = (centre[:, :2] - reach[:, None]).min(axis=0)
    high = (centre[:, :2] + reach[:, None]).max(axis=0)
    nx, ny = (int(n) for n in np.ceil((high - low) / CELL_M).clip(1))
    lists: list[list[int]] = [[] for _ in range(nx * ny)]
    for p in range(len(centre)):
        i0, j0 = ((centre[p, :2] - reach[p] - low) / CELL_M).astype(int).clip(0)
        i1, j1 = ((centre[p, :2] + reach[p] - low) / CELL_M).astype(int)
        for j in range(j0, min(j1, ny - 1) + 1):
            for i in range(i0, min(i1, nx - 1) + 1):
                lists[j * nx + i].append(p)
    start = np.concatenate([[0], np.cumsum([len(cell) for cell in lists])]).astype(np.int64)
    items = np.array([p for cell in lists for p in cell], dtype=np.int64)
    return start, items, np.array([low[0], low[1], CELL_M, float(nx), float(ny)])


@nb.njit(cache=True)
def primitive_distance(
    x: float, y: float, z: float, kind: int, centre: Array, axes: Array, size: Array
) -> tuple[float, float, float, float]:
    """Return the signed distance to one primitive and its outward gradient in map."""
    dx, dy, dz = x - centre[0], y - centre[1], z - centre[2]
    lx = axes[0, 0] * dx + axes[1, 0] * dy + axes[2, 0] * dz
    ly = axes[0, 1] * dx + axes[1, 1] * dy + axes[2, 1] * dz
    lz = axes[0, 2] * dx + axes[1, 2] * dy + axes[2, 2] * dz
    gx = gy = gz = 0.0
    if kind == 0:
        qx, qy, qz = abs(lx) - size[0], abs(ly) - size[1], abs(lz) - size[2]
        ox, oy, oz = max(qx, 0.0), max(qy, 0.0), max(qz, 0.0)
        outside = (ox * ox + oy * oy + oz * oz) ** 0.5
        if outside > 1e-12:
            distance = outside
            gx, gy, gz = ox / outside, oy / outside, oz / outside
        else:
            distance = max(qx, max(qy, qz))
            if distance == qx:
                gx = 1.0
            elif distance == qy:
                gy = 1.0
            else:
                gz = 1.0
        gx, gy, gz = np.copysign(gx, lx), np.copysign(gy, ly), np.copysign(gz, lz)
    elif kind == 2:
        radial = (lx * lx + ly * ly) ** 0.5
        qr, qz = radial - size[0], abs(lz) - size[1]
        ux, uy = (lx / radial, ly / radial) if radial > 1e-12 else (1.0, 0.0)
        sz = np.copysign(1.0, lz)
        outer, oz = max(qr, 0.0), max(qz, 0.0)
        outside = (outer * outer + oz * oz) ** 0.5
        if outside > 1e-12:
            distance = outside
            gx, gy, gz = ux * outer / outside, uy * outer / outside, sz * oz / outside
        elif qr > qz:
            distance = qr
            gx, gy = ux, uy
        else:
            distance = qz
            gz = sz
    else:
        if kind == 3:
            lz -= min(max(lz, -size[1]), size[1])
        norm = (lx * lx + ly * ly + lz * lz) ** 0.5
        distance = norm - size[0]
        if norm > 1e-12:
            gx, gy, gz = lx / norm, ly / norm, lz / norm
        else:
            gz = 1.0
    return (
        distance,
        axes[0, 0] * gx + axes[0, 1] * gy + axes[0, 2] * gz,
        axes[1, 0] * gx + axes[1, 1] * gy + axes[1, 2] * gz,
        axes[2, 0] * gx + axes[2, 1] * gy + axes[2, 2] * gz,
    )


@nb.njit(cache=True)
def seabed_distance(
    x: float, y: float, z: float, height: Array, terrain: Array
) -> tuple[float, float, float, float]:
    """Return the distance to the seabed's tangent plane below a point and the plane's normal.

    Exact for a plane; on a curved bed it is first order, which is enough for contact and altitude.
    """
    rows, columns = height.shape
    spacing = terrain[2]
    u = min(max((x - terrain[0]) / spacing, 0.0), columns - 1.000001)
    v = min(max((y - terrain[1]) / spacing, 0.0), rows - 1.000001)
    i, j = int(u), int(v)
    fu, fv = u - i, v - j
    h00, h10 = height[j, i], height[j, i + 1]
    h01, h11 = height[j + 1, i], height[j + 1, i + 1]
    bed = h00 * (1 - fu) * (1 - fv) + h10 * fu * (1 - fv) + h01 * (1 - fu) * fv + h11 * fu * fv
    sx = ((h10 - h00) * (1 - fv) + (h11 - h01) * fv) / spacing
    sy = ((h01 - h00) * (1 - fu) + (h11 - h10) * fu) / spacing
    length = (1.0 + sx * sx + sy * sy) ** 0.5
    return (z - bed) / length, -sx / length, -sy / length, 1.0 / length


@nb.njit(cache=True)
def nearest_obstacle(
    x: float, y: float, z: float, arrays: FieldArrays
) -> tuple[float, float, float, float, int]:
    """Return distance, outward gradient and instance of the nearest prop (seabed left out).

    Without a prop within `MAX_QUERY_M` the distance is infinite and the instance NOTHING.
    """
    kind, centre, axes, size, instance, cell_start, cell_items, grid, _, _ = arrays
    best, bx, by, bz, owner = np.inf, 0.0, 0.0, 1.0, -2
    nx, ny = int(grid[3]), int(grid[4])
    i = int(np.floor((x - grid[0]) / grid[2]))
    j = int(np.floor((y - grid[1]) / grid[2]))
    if 0 <= i < nx and 0 <= j < ny and len(kind) > 0:
        cell = j * nx + i
        for k in range(cell_start[cell], cell_start[cell + 1]):
            p = cell_items[k]
            d, gx, gy, gz = primitive_distance(x, y, z, kind[p], centre[p], axes[p], size[p])
            if d < best:
                best, bx, by, bz, owner = d, gx, gy, gz, instance[p]
    return best, bx, by, bz, owner


@nb.njit(cache=True)
def nearest_surface(
    x: float, y: float, z: float, arrays: FieldArrays
) -> tuple[float, float, float, float, int]:
    """Return distance, outward gradient and instance of the nearest prop or seabed (SEABED)."""
    best, bx, by, bz, owner = nearest_obstacle(x, y, z, arrays)
    d, gx, gy, gz = seabed_distance(x, y, z, arrays[8], arrays[9])
    if d < best:
        best, bx, by, bz, owner = d, gx, gy, gz, -1
    return best, bx, by, bz, owner


@nb.njit(cache=True)
def cast_ray(
    x: float,
    y: float,
    z: float,
    dx: float,
    dy: float,
    dz: float,
    reach: float,
    arrays: FieldArrays,
) -> float:
    """Return the range [m] along a unit direction to the first surface, inf beyond `reach`.

    Sphere tracing. The seabed's distance is first order, so that steps towards it are shortened.
    """
    travelled = 0.0
    for _ in range(400):
        d = nearest_surface(x + dx * travelled, y + dy * travelled, z + dz * travelled, arrays)[0]
        if d < 0.01:
            return travelled
        travelled += max(0.7 * d, 0.01)
        if travelled > reach:
            break
    return np.inf
