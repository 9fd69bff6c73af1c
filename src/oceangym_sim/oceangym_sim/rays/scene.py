"""The world as something rays hit: where, at what angle, of what colour, strength and instance."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

from oceangym_core.world.world import World
from oceangym_sim.rays.atlas import build_geometry, Geometry
from oceangym_sim.rays.device import select_variant

# Acoustic strength of the sea surface seen from below: a pressure-release mirror, roughened.
SURFACE_STRENGTH = 10.0 ** (-18.0 / 10.0)
_EPSILON = 2e-3
# Surfaces of one target behind each other along a ray: a ship's ribs and planks are some twenty.
_MOST_LAYERS = 64


@dataclass(frozen=True, kw_only=True)
class Hits:
    """What rays met, one lane a ray (Dr.Jit arrays of the active variant).

    Attributes:
        valid: Whether anything was hit within the reach.
        distance: Euclidean range [m]; infinite without a hit.
        position: In map [m].
        normal: Interpolated unit normal, facing the ray's origin.
        face_normal: Unit normal of the triangle, facing the ray's origin.
        albedo: Linear RGB reflectance.
        instance: Index into `RayScene.instance_names`.
        strength: Acoustic backscatter as linear power.
        surface: Whether the sea surface was hit from below.
    """

    valid: Any
    distance: Any
    position: Any
    normal: Any
    face_normal: Any
    albedo: Any
    instance: Any
    strength: Any
    surface: Any


class RayScene:
    """A world's triangles behind one acceleration structure, on the CPU or a GPU.

    Args:
        world: What to trace.
        device: ``auto``, ``cpu`` or ``cuda``.
    """

    def __init__(self, world: World, *, device: str = 'auto') -> None:
        self.variant = select_variant(device)
        self.instance_names = (*(i.name for i in world.instances), 'surface', '')
        self.surface_index = len(world.instances)
        self.nothing_index = self.surface_index + 1
        geometry = build_geometry(world)
        self.triangles = len(geometry.faces)
        self._scene = _mitsuba_scene(geometry, self.variant)
        self._records = mi.Float(_face_records(geometry))
        self._materials = mi.Float(geometry.materials.ravel())
        self._texels = mi.UInt32(geometry.texels)
        dr.eval(self._records, self._materials, self._texels)

    def activate(self) -> None:
        """Make this scene's Mitsuba variant the current one (it is global to the process)."""
        if mi.variant() != self.variant:
            mi.set_variant(self.variant)

    def trace(
        self,
        origin: Any,
        direction: Any,
        *,
        reach: Any,
        pixel_angle: float = 0.0,
        start: Any = None,
    ) -> Hits:
        """Return what rays meet first.

        Args:
            origin: mi.Point3f in map [m].
            direction: mi.Vector3f, unit.
            reach: Longest range [m].
            pixel_angle: Angle a ray stands for [rad]; picks the texture's mip level.
            start: Range from which on things count [m], see `past`; None: all.
        """
        ray = mi.Ray3f(origin if start is None else origin + direction * start, direction)
        ray.maxt = mi.Float(reach if start is None else reach - start)
        found = self._scene.ray_intersect_preliminary(ray, coherent=True)
        hit = found.is_valid()
        away = found.t if start is None else found.t + start
        to_surface = dr.select(direction.z > 1e-6, -origin.z / direction.z, dr.inf)
        surface = (origin.z < 0.0) & (to_surface < dr.minimum(away, reach))
        solid = hit & ~surface
        distance = dr.select(surface, to_surface, dr.select(hit, away, dr.inf))
        first = dr.gather(mi.Vector4f, self._records, found.prim_index * 3, solid)
        second = dr.gather(mi.Vector4f, self._records, found.prim_index * 3 + 1, solid)
        third = dr.gather(mi.Vector4f, self._records, found.prim_index * 3 + 2, solid)
        b1, b2 = found.prim_uv.x, found.prim_uv.y
        b0 = 1.0 - b1 - b2
        smooth = (
            b0 * _unpack_normal(third.x)
            + b1 * _unpack_normal(third.y)
            + b2 * _unpack_normal(third.z)
        )
        face = _unpack_normal(third.w)
        down = mi.Vector3f(0.0, 0.0, -1.0)
        face = dr.select(surface, down, face)
        face = dr.select(dr.dot(face, direction) > 0.0, -face, face)
        smooth = dr.select(surface, down, dr.normalize(smooth))
        smooth = dr.select(dr.dot(smooth, face) < 0.0, -smooth, smooth)
        # A smooth normal may not turn away from the viewer: that would blacken silhouettes.
        facing = dr.dot(smooth, direction)
        smooth = dr.select(facing > 0.0, dr.normalize(smooth - 1.02 * facing * direction), smooth)
        identity = dr.reinterpret_array(mi.UInt32, second.w)
        material = identity >> 16
        instance = dr.select(
            surface, self.surface_index, dr.select(solid, identity & 0xFFFF, self.nothing_index)
        )
        placement = dr.gather(mi.Vector4f, self._materials, material * 2, solid)
        tint = dr.gather(mi.Vector4f, self._materials, material * 2 + 1, solid)
        albedo = mi.Color3f(tint.x, tint.y, tint.z)
        if pixel_angle > 0.0:
            u = b0 * first.x + b1 * first.z + b2 * second.x
            v = b0 * first.y + b1 * first.w + b2 * second.y
            # A glancing footprint is long: the mean of its axes keeps grain without shimmer.
            slant = dr.rsqrt(dr.maximum(-dr.dot(face, direction), 0.08))
            footprint = distance * (pixel_angle * slant)
            level = second.z + dr.log2(dr.maximum(footprint, 1e-6))
            albedo *= self._texture(placement, u, v, level, solid)
        return Hits(
            valid=solid | surface,
            distance=distance,
            position=origin + direction * dr.select(solid | surface, distance, 0.0),
            normal=smooth,
            face_normal=face,
            albedo=albedo & solid,
            instance=instance,
            strength=dr.select(surface, SURFACE_STRENGTH, dr.select(solid, tint.w, 0.0)),
            surface=surface,
        )

    def past(
        self,
        origin: Any,
        direction: Any,
        distance: Any,
        instances: NDArray[np.uint32],
        *,
        reach: Any,
    ) -> Any:
        """Return the range [m] just past those instances' surfaces that follow each other.

        What a ray meets from there on is what it would meet if the instances were not there.

        Args:
            origin: In map [m], one lane a ray.
            direction: Unit vectors.
            distance: To the first of their surfaces [m].
            instances: What to look past.
            reach: Longest range [m].
        """
        table = np.zeros(len(self.instance_names), np.uint32)
        table[instances] = 1
        skipped = mi.UInt32(table)

        def again(start: Any, left: Any, active: Any) -> Any:
            return active & (left > 0)

        def step(start: Any, left: Any, active: Any) -> tuple[Any, Any, Any]:
            ray = mi.Ray3f(mi.Point3f(origin + direction * start), direction)
            ray.maxt = mi.Float(reach - start)
            found = self._scene.ray_intersect_preliminary(ray, coherent=False, active=active)
            hit = active & found.is_valid()
            record = dr.gather(mi.Vector4f, self._records, found.prim_index * 3 + 1, hit)
            owner = dr.reinterpret_array(mi.UInt32, record.w) & 0xFFFF
            hit &= dr.gather(mi.UInt32, skipped, owner, hit) > 0
            return dr.select(hit, start + found.t + _EPSILON, start), left - 1, hit

        start = mi.Float(distance + _EPSILON)
        left = dr.full(mi.UInt32, _MOST_LAYERS, dr.width(start))
        start, _, _ = dr.while_loop(
            state=(start, left, dr.full(mi.Bool, True, dr.width(start))),
            cond=again,
            body=step,
            labels=('start', 'left', 'active'),
        )
        return start

    def distances(
        self, origins: NDArray[np.float64], directions: NDArray[np.float64], *, reach: float
    ) -> NDArray[np.float32]:
        """Return the range [m] along each ray, (N,), inf beyond `reach`; the sea surface is none.

        Args:
            origins: (N, 3) in map [m].
            directions: (N, 3) of unit length.
            reach: Longest range [m].
        """
        self.activate()
        ray = mi.Ray3f(
            mi.Point3f(np.ascontiguousarray(origins.T, dtype=np.float32)),
            mi.Vector3f(np.ascontiguousarray(directions.T, dtype=np.float32)),
        )
        ray.maxt = dr.opaque(mi.Float, reach)
        found = self._scene.ray_intersect_preliminary(ray, coherent=False)
        distance = dr.select(found.is_valid(), found.t, dr.inf)
        return np.asarray(distance.numpy(), dtype=np.float32)

    def occluded(
        self, position: Any, face_normal: Any, direction: Any, reach: Any, active: Any
    ) -> Any:
        """Return whether anything lies within `reach` [m] of surface points in a direction."""
        ray = mi.Ray3f(position + face_normal * _EPSILON * 10.0, direction)
        ray.maxt = mi.Float(reach)
        return self._scene.ray_test(ray, active=active)

    def _texture(self, placement: Any, u: Any, v: Any, level: Any, active: Any) -> Any:
        """Return bilinear linear RGB of the texture's nearest mip level (v up, repeated)."""
        base = dr.reinterpret_array(mi.UInt32, placement.x)
        width, height = mi.UInt32(placement.y), mi.UInt32(placement.z)
        mip = mi.UInt32(dr.clip(level + 0.5, 0.0, placement.w - 1.0))
        # The levels above hold 4/3 (W H - w h) texels.
        small_width, small_height = width >> mip, height >> mip
        base += (4 * (width * height - small_width * small_height)) // 3
        x = (u - dr.floor(u)) * mi.Float(small_width) - 0.5
        y = (1.0 - (v - dr.floor(v))) * mi.Float(small_height) - 0.5
        x0, y0 = dr.floor(x), dr.floor(y)
        fx, fy = x - x0, y - y0
        # Sizes are powers of two: a mask wraps, negative numbers included.
        left = mi.UInt32(mi.Int32(x0)) & (small_width - 1)
        right = (left + 1) & (small_width - 1)
        upper = (mi.UInt32(mi.Int32(y0)) & (small_height - 1)) * small_width
        lower = ((mi.UInt32(mi.Int32(y0)) + 1) & (small_height - 1)) * small_width
        encoded = mi.Color3f(0.0)
        for index, weight in (
            (upper + left, (1.0 - fx) * (1.0 - fy)),
            (upper + right, fx * (1.0 - fy)),
            (lower + left, (1.0 - fx) * fy),
            (lower + right, fx * fy),
        ):
            texel = dr.gather(mi.UInt32, self._texels, base + index, active)
            encoded += (weight / 255.0) * mi.Color3f(
                mi.Float(texel & 0xFF),
                mi.Float((texel >> 8) & 0xFF),
                mi.Float((texel >> 16) & 0xFF),
            )
        # Cubic fit of the sRGB decoding, off by less than 0.004: a power per texel would cost more
        # than the tracing.
        return encoded * (encoded * (encoded * 0.305306011 + 0.682171111) + 0.012522878)


def _mitsuba_scene(geometry: Geometry, variant: str) -> Any:
    mesh = mi.Mesh('world', len(geometry.vertices), len(geometry.faces))
    parameters = mi.traverse(mesh)
    parameters['vertex_positions'] = geometry.vertices.ravel()
    parameters['faces'] = geometry.faces.ravel()
    parameters.update()
    # Without robust intersections a ray through an edge or a corner can slip between triangles.
    # (OptiX's are watertight, and some versions refuse the option.)
    robust = {} if variant.startswith('cuda') else {'embree_use_robust_intersections': True}
    return mi.load_dict({'type': 'scene', 'world': mesh, **robust})


def _face_records(geometry: Geometry) -> NDArray[np.float32]:
    """Return 12 words a face: 6 uv, texel density, material and instance, 4 packed normals."""
    records = np.empty((len(geometry.faces), 12), np.float32)
    records[:, :6] = geometry.uv.reshape(-1, 6)
    records[:, 6] = geometry.density
    identity = geometry.material << np.uint32(16) | geometry.instance
    records[:, 7] = identity.view(np.float32)
    records[:, 8:] = _pack_normals(geometry.normals).view(np.float32)
    return records.ravel()


def _pack_normals(normals: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Return unit vectors (..., 3) in 15 + 15 bits (octahedral), (...).

    The top bits stay clear of the patterns of NaN, which a float register may alter.
    """
    scaled = normals / np.maximum(np.abs(normals).sum(axis=-1, keepdims=True), 1e-12)
    x, y, z = scaled[..., 0], scaled[..., 1], scaled[..., 2]
    folded_x = np.where(z < 0, (1 - np.abs(y)) * np.where(x < 0, -1, 1), x)
    folded_y = np.where(z < 0, (1 - np.abs(x)) * np.where(y < 0, -1, 1), y)
    top = 0x7FFF
    qx = np.round((np.clip(folded_x, -1, 1) * 0.5 + 0.5) * top).astype(np.uint32)
    qy = np.round((np.clip(folded_y, -1, 1) * 0.5 + 0.5) * top).astype(np.uint32)
    packed: NDArray[np.uint32] = qx | qy << np.uint32(15)
    return packed


def _unpack_normal(word: Any) -> Any:
    """Return the unit vector of an octahedral word held in a float's bits."""
    bits = dr.reinterpret_array(mi.UInt32, word)
    scale = 2.0 / 0x7FFF
    x = mi.Float(bits & 0x7FFF) * scale - 1.0
    y = mi.Float((bits >> 15) & 0x7FFF) * scale - 1.0
    z = 1.0 - dr.abs(x) - dr.abs(y)
    fold = dr.maximum(-z, 0.0)
    return dr.normalize(mi.Vector3f(x - dr.copysign(fold, x), y - dr.copysign(fold, y), z))


def pixel_angle(focal_length: float) -> float:
    """Return the angle of one pixel on the optical axis [rad]."""
    return math.atan(1.0 / focal_length)
