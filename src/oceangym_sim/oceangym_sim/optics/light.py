"""How light reaches a camera: daylight, caustics, lamps, the surface from below, the water's veil.

Everything here runs on Dr.Jit arrays of the active variant, one lane a ray.
"""

from __future__ import annotations

import math
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

from oceangym_sim.optics.lamps import Lamp, lamp_table
from oceangym_sim.optics.water import (
    LAMP_PHASE,
    LAMP_RADIUS,
    VEIL_ASYMMETRY,
    WATER_INDEX,
    WaterOptics,
)
from oceangym_sim.rays.placement import Placement, rotate_back
from oceangym_sim.rays.scene import Hits, RayScene

_SHADOW_REACH = 30.0
# Snell's window: cosine of the critical angle.
_WINDOW_COSINE = math.sqrt(1.0 - 1.0 / WATER_INDEX**2)
# Surface waves: length [m], heading [rad], relative slope, phase. Incommensurate, so that no
# pattern repeats; the water's wind scales their slopes.
_WAVES = (
    (23.0, 0.31, 0.05, 0.0),
    (11.7, -0.42, 0.06, 1.3),
    (6.1, 0.95, 0.06, 4.1),
    (3.7, -1.13, 0.05, 2.2),
    (2.3, 0.12, 0.05, 5.7),
    (1.3, 1.71, 0.04, 3.3),
    (0.71, -2.2, 0.04, 0.9),
)
_WAVES_SLOPE = math.sqrt(0.5 * sum(wave[2] ** 2 for wave in _WAVES))
# Distance over which single waves blur into their mean [m].
_WAVE_SIGHT = 9.0
# The sun's disk blurs to this width [rad] over this distance [m].
_SUN_BLUR, _SUN_SIGHT = 0.45, 30.0
# Ripples that focus sunlight: length [m], heading [rad], share of the slope, phase.
_RIPPLES = (
    (1.9, 0.35, 0.5, 0.0),
    (1.3, -0.85, 0.5, 1.7),
    (0.83, 1.45, 0.45, 4.0),
    (0.57, -2.25, 0.4, 2.6),
)
# Depth over which scattering washes the caustics out [m], and beyond which they are not computed.
_CAUSTIC_DEPTH = 7.0
CAUSTIC_REACH = 30.0
# Light below this is none [lux]: its logarithm stays finite.
_FAINTEST = 1e-30
_GLOW_STEPS = 6
_GLOW_REACH = 25.0
# Cosine off axis below which a lamp's housing cuts into its beam.
_LAMP_SHADE = 0.35


class LightField:
    """The light in the water around a vehicle.

    Args:
        scene: What casts shadows.
        optics: The water.
        lamps: The vehicle's lamps, in base_link.
        shadows: Trace a ray to the sun from each hit.
    """

    def __init__(
        self, *, scene: RayScene, optics: WaterOptics, lamps: tuple[Lamp, ...], shadows: bool
    ) -> None:
        self._scene = scene
        self.optics = optics
        self.lamps = lamp_table(lamps)
        self._shadows = shadows
        scene.activate()
        # Opaque: one kernel, cached on disk, serves every water.
        self._kd = colour(optics.kd)
        # Daylight at map z = 0, as if the surface were where the depth offset puts it.
        self._log_top = colour(
            np.log(np.maximum(optics.surface_irradiance, _FAINTEST))
            - optics.kd * optics.depth_offset
        )
        self._beam = colour(optics.beam_attenuation)
        self._direct = colour(optics.direct_attenuation)
        self._lamp_path = colour(optics.lamp_attenuation)
        self._scattering = colour(optics.scattering)
        self._sun_share = dr.opaque(mi.Float, optics.sun_share(0.0))
        self._wave_slope = dr.opaque(mi.Float, optics.wave_slope)
        self._sun = mi.Vector3f(*(dr.opaque(mi.Float, c) for c in optics.sun_direction))
        if optics.depth_offset < CAUSTIC_REACH:
            self._caustic_mean = self._mean_concentration()

    def radiance(
        self,
        *,
        rig: Placement,
        origin: Any,
        rays: Any,
        direction: Any,
        hits: Hits,
        reach: float,
        lamp_level: float,
    ) -> tuple[Any, Any]:
        """Return the light [lux/sr per channel] that comes along sight lines: (all, direct).

        The direct part is the object's own light, attenuated on its way; the rest is the veil of
        daylight and the glow of the lamps in the water between.

        Args:
            rig: The vehicle's pose.
            origin: Of the rays in base_link.
            rays: In base_link, unit.
            direction: The same in map.
            hits: What they met.
            reach: Where a sight line without a hit ends [m].
            lamp_level: 0..1.
        """
        distance = dr.minimum(hits.distance, reach)
        ambient = colour(self.optics.irradiance(rig.z))
        # By the depth of what is hit. (Where no light is left at the vehicle, it cannot be told
        # from the light there: exp(Kd rise) overflows.)
        depth = dr.maximum(-(rig.position.z + direction.z * distance), 0.0)
        lighting = dr.exp(self._log_top - self._kd * depth) * self._daylight(hits, rig)
        glow = mi.Color3f(0.0)
        if lamp_level > 0.0:
            level = dr.opaque(mi.Float, float(lamp_level))
            hit_body = origin + rays * distance
            lighting += level * self.lamp_light(hit_body, rotate_back(rig.rotation, hits.normal))
            glow = level * self.lamp_glow(origin, rays, distance)
        outgoing = hits.albedo * lighting / math.pi
        outgoing = dr.select(
            hits.surface,
            self._surface_radiance(hits.position, direction, distance),
            outgoing,
        )
        direct = dr.select(hits.valid, outgoing * dr.exp(-self._direct * distance), 0.0)
        veil = ambient * self.veil(direction.z, distance)
        return direct + veil + glow, direct & ~hits.surface

    def veil(self, upward: Any, distance: Any) -> Any:
        """Return the veil [1/sr] over sight lines per daylight at the camera."""
        rate = self._beam - self._kd * upward
        # In the clearest types the rate may vanish looking up: the path is then its length.
        small = dr.abs(rate * distance) < 1e-3
        path = dr.select(
            small,
            distance * (1.0 - 0.5 * rate * distance),
            (1.0 - dr.exp(-rate * distance)) / dr.select(small, 1.0, rate),
        )
        return self._scattering * veil_phase(upward) * path

    def _daylight(self, hits: Hits, rig: Placement) -> Any:
        """Return the irradiance on a surface over the downwelling irradiance."""
        optics = self.optics
        share = dr.opaque(mi.Float, optics.sun_share(rig.z))
        sun = self._sun
        cosine = dr.maximum(dr.dot(hits.normal, sun), 0.0) / sun.z
        if self._shadows:
            lit = hits.valid & ~hits.surface & (cosine > 0.0)
            blocked = self._scene.occluded(
                hits.position, hits.face_normal, sun, _SHADOW_REACH, lit
            )
            cosine = dr.select(blocked, 0.0, cosine)
        if -rig.z + optics.depth_offset < CAUSTIC_REACH:
            cosine *= self._caustics(hits.position)
        up = 0.5 + 0.5 * hits.normal.z
        # Diffuse light: most comes from above, some from the sides, a few per cent from below.
        diffuse = 0.06 + 0.94 * up * dr.sqrt(up)
        return share * cosine + (1.0 - share) * diffuse

    def _caustics(self, point: Any) -> Any:
        """Return by how much the surface's ripples focus the sunlight at points in map.

        The concentration's mean over a level plane is one at every depth.
        """
        depth = dr.maximum(-point.z, 0.0)
        at = dr.minimum(depth, CAUSTIC_REACH - 1e-3)
        below = mi.UInt32(at)
        share = at - mi.Float(below)
        mean = (1.0 - share) * dr.gather(mi.Float, self._caustic_mean, below)
        mean += share * dr.gather(mi.Float, self._caustic_mean, below + 1)
        sharp = dr.exp(-depth / _CAUSTIC_DEPTH)
        return 1.0 + sharp * (self._concentration(point) / mean - 1.0)

    def _mean_concentration(self) -> Any:
        """Return the mean of `_concentration` over a plane at depths of 0, 1, 2 .. m."""
        depths = int(CAUSTIC_REACH) + 1
        side = np.arange(64, dtype=np.float32) * np.float32(0.77)
        x, y, z = np.meshgrid(side, side, -np.arange(depths, dtype=np.float32), indexing='ij')
        points = mi.Point3f(*(np.ascontiguousarray(axis.ravel()) for axis in (x, y, z)))
        values = self._concentration(points).numpy().reshape(-1, depths)
        return mi.Float(values.mean(axis=0, dtype=np.float64).astype(np.float32))

    def _concentration(self, point: Any) -> Any:
        """Return how dense the sunlight is at points in map, up to a constant for each depth.

        A ripple of slope m bends a vertical ray by m (1 - 1/n). At depth d the light of a unit of
        surface falls on 1 - d (1 - 1/n) times the curvature; its inverse is the concentration,
        capped by the sun's disk and the water's scattering.
        """
        sun = self._sun
        depth = dr.maximum(-point.z, 0.0)
        east = point.x + depth * (sun.x / sun.z)
        north = point.y + depth * (sun.y / sun.z)
        strain = mi.Float(0.0)
        for length, heading, share, phase in _RIPPLES:
            number = 2.0 * math.pi / length
            slope = self._wave_slope * (share * math.sqrt(0.5))
            along = math.cos(heading) * east + math.sin(heading) * north
            # Refraction through the other ripples wobbles the pattern into a net.
            across = math.cos(heading) * north - math.sin(heading) * east
            wobble = 0.8 * dr.sin(0.7 * number * across)
            strain += slope * number * dr.sin(number * along + phase + wobble)
        # Beyond its focus a ripple's light spreads again: the strain saturates.
        bend = depth * (1.0 - 1.0 / WATER_INDEX)
        spread = strain * bend * dr.rsqrt(1.0 + 0.6 * bend * bend)
        return 1.0 / dr.maximum(dr.abs(1.0 - spread), 0.22)

    def _surface_radiance(self, point: Any, direction: Any, distance: Any) -> Any:
        """Return the radiance that leaves the sea surface downwards: Snell's window or the mirror."""
        wave_scale = self._wave_slope / _WAVES_SLOPE
        slope_x, slope_y = mi.Float(0.0), mi.Float(0.0)
        for length, heading, slope, phase in _WAVES:
            east, north = math.cos(heading), math.sin(heading)
            along = (2.0 * math.pi / length) * (east * point.x + north * point.y) + phase
            tilt = wave_scale * slope * dr.cos(along)
            slope_x += east * tilt
            slope_y += north * tilt
        # From far below, a line of sight takes in many waves at once: their mean is a soft edge.
        sharp = dr.exp(-distance / _WAVE_SIGHT)
        normal = dr.normalize(mi.Vector3f(sharp * slope_x, sharp * slope_y, 1.0))
        cosine = dr.maximum(dr.dot(direction, normal), 0.0)
        softness = 0.02 + 1.7 * self._wave_slope * (1.0 - sharp)
        edge = dr.clip((cosine - _WINDOW_COSINE) / softness + 0.5, 0.0, 1.0)
        through = edge * edge * (3.0 - 2.0 * edge) * (1.0 - 0.02)
        at_surface = dr.exp(self._log_top)
        sky = at_surface * (WATER_INDEX**2 / math.pi)
        below = (
            at_surface
            * self._scattering
            * veil_phase(-direction.z)
            / (self._beam + self._kd * direction.z)
        )
        return (
            through * (sky + self._glitter(direction, slope_x, slope_y, distance, at_surface))
            + (1.0 - through) * below
        )

    def _glitter(
        self, direction: Any, slope_x: Any, slope_y: Any, distance: Any, at_surface: Any
    ) -> Any:
        """Return the sun's radiance through the waves: a disk that their slopes scatter about it.

        A slope m turns the refracted ray by m (1 - 1/n): Gaussian slopes spread the sun's light
        over a lobe of that width; the water's own scattering widens it with the distance.
        """
        turn = 1.0 - 1.0 / WATER_INDEX
        sharp = dr.exp(-distance / _WAVE_SIGHT)
        width = 0.02 + turn * self._wave_slope * (1.0 - 0.6 * sharp)
        width += _SUN_BLUR * (1.0 - dr.exp(-distance / _SUN_SIGHT))
        bent = dr.normalize(
            mi.Vector3f(
                direction.x + turn * sharp * slope_x,
                direction.y + turn * sharp * slope_y,
                direction.z,
            )
        )
        off = dr.maximum(1.0 - dr.dot(bent, self._sun), 0.0)
        lobe = dr.exp(-off / (width * width)) / (2.0 * math.pi * width * width)
        return at_surface * (self._sun_share * lobe)

    def lamp_light(self, point: Any, normal: Any) -> Any:
        """Return the lamps' irradiance [lux] on a surface point and normal in base_link."""
        total = mi.Color3f(0.0)
        for lamp in self.lamps:
            away, distance, intensity = _beam(lamp, point)
            cosine = dr.maximum(-dr.dot(away, normal), 0.0)
            total += dr.exp(-self._lamp_path * distance) * (
                intensity * cosine / dr.maximum(distance * distance, 0.01)
            )
        return total

    def lamp_glow(self, origin: Any, rays: Any, distance: Any) -> Any:
        """Return the lamp light scattered into the sight line [lux/sr].

        The lamps sit close to the cameras, so the integrand falls about as 1 / (s^2 + r^2): steps
        even in atan(s / r) make it almost constant (equiangular sampling).
        """
        total = mi.Color3f(0.0)
        span = dr.atan(dr.minimum(distance, _GLOW_REACH) / LAMP_RADIUS) / _GLOW_STEPS
        for step in range(_GLOW_STEPS):
            tangent = dr.tan(span * (step + 0.5))
            along = LAMP_RADIUS * tangent
            length = LAMP_RADIUS * span * (1.0 + tangent * tangent)
            point = origin + rays * along
            shining, path = mi.Float(0.0), mi.Float(0.0)
            for lamp in self.lamps:
                _, away, intensity = _beam(lamp, point)
                shining += intensity * length / (away * away + LAMP_RADIUS**2)
                path += away * (1.0 / len(self.lamps))
            # Lamps of one vehicle are about as far away: one path serves all.
            total += shining * dr.exp(-self._lamp_path * path - self._beam * along)
        return total * self._scattering * LAMP_PHASE


def colour(values: NDArray[np.float64]) -> Any:
    """Return three channel values as a colour whose numbers stay out of the kernel."""
    return mi.Color3f(*(dr.opaque(mi.Float, float(value)) for value in values))


def veil_phase(upward: Any) -> Any:
    """Return the ambient in-scatter phase function [1/sr] (see `water.veil_phase`)."""
    g = VEIL_ASYMMETRY
    base = dr.rsqrt(1.0 + g * g - 2.0 * g * upward)
    return (1.0 - g * g) / (4.0 * math.pi) * base * base * base


def _beam(lamp: NDArray[np.float32], point: Any) -> tuple[Any, Any, Any]:
    """Return direction from the lamp, distance [m] and intensity [cd] at a point in base_link."""
    values = [float(value) for value in lamp]
    offset = point - mi.Vector3f(*values[:3])
    distance = dr.norm(offset)
    away = offset / dr.maximum(distance, 1e-6)
    cosine = dr.dot(away, mi.Vector3f(*values[3:6]))
    # The housing shades what lies beside the lamp, softly, and all that lies behind it.
    shade = dr.clip(cosine / _LAMP_SHADE, 0.0, 1.0)
    beam = dr.exp(values[7] * dr.log(dr.maximum(cosine, 1e-3)))
    return away, distance, values[6] * shade * shade * (3.0 - 2.0 * shade) * beam
