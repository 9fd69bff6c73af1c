"""Six cameras in one launch: light, water and lens turn what the rays hit into RGB images."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

from oceangym_core.geometry import Pose
from oceangym_core.observation import CameraSpec
from oceangym_core.rng import generator
from oceangym_sim.lamps import Lamp, lamp_table
from oceangym_sim.placement import Placement, rotate, rotate_back
from oceangym_sim.scene import Hits, pixel_angle, RayScene
from oceangym_sim.water import veil_asymmetry, WaterOptics

# Refracted sun: 45 deg from zenith above the surface is 32 deg below it.
SUN_DIRECTION = (0.38, 0.37, 0.848)
_SUN_SHARE = 0.45
_SUN_DIFFUSION_DEPTH = 60.0
_SHADOW_REACH = 30.0
_WATER_INDEX = 1.34
# Snell's window: cosine of the critical angle.
_WINDOW_COSINE = math.sqrt(1.0 - 1.0 / _WATER_INDEX**2)
# Surface waves: length [m], heading [rad], slope, phase. Incommensurate, so that no pattern repeats.
_WAVES = (
    (23.0, 0.31, 0.05, 0.0),
    (11.7, -0.42, 0.06, 1.3),
    (6.1, 0.95, 0.06, 4.1),
    (3.7, -1.13, 0.05, 2.2),
    (2.3, 0.12, 0.05, 5.7),
    (1.3, 1.71, 0.04, 3.3),
)
# Distance over which single waves blur into their mean [m].
_WAVE_SIGHT = 9.0
_IN_SCATTER_STEPS = 6
# Petzold's particles send 1.8 % of what they scatter into the back half-space [1/sr].
_LAMP_PHASE = 0.018 / (2.0 * math.pi)
# Cosine off axis below which a lamp's housing cuts into its beam.
_LAMP_SHADE = 0.35
# The water within this distance of a lamp is the vehicle's frame [m].
_LAMP_RADIUS = 0.5
# Sub-pixel positions [px] by the number of samples: rotated grids, no two in a row or column.
_SAMPLE_OFFSETS = {
    1: ((0.0, 0.0),),
    2: ((-0.25, -0.25), (0.25, 0.25)),
    4: ((-0.375, -0.125), (0.125, -0.375), (0.375, 0.125), (-0.125, 0.375)),
}
# Darkest scene that the highest gain still lifts to mid grey [lux/sr].
_SENSITIVITY_FLOOR = 2e-4
_MIDDLE_GREY = 0.24
_HIGHLIGHT = 0.85
_BLACK_SHARE = 0.75
# Red gets less: it is gone within metres, and lamp haze close by would turn pink.
_WHITE_BALANCE_LIMIT = np.array([1.3, 4.0, 4.0])
_WHITE_BALANCE_SHARE = 0.72
_READ_NOISE = 0.0025
_SHOT_NOISE = 0.00025


@dataclass(frozen=True, kw_only=True)
class CameraFrame:
    """One camera's picture and what perceptibility needs to know about it.

    Attributes:
        image: (H, W, 3) uint8 sRGB.
        direct: (H, W) float32, the brightest channel of the attenuated object's light, exposed and
            encoded like the image, without veil and noise, 0..1.
        distance: (H, W) float32 range [m], inf without a hit.
        instance: (H, W) uint32 index into the scene's instance names.
    """

    image: NDArray[np.uint8]
    direct: NDArray[np.float32]
    distance: NDArray[np.float32]
    instance: NDArray[np.uint32]


class CameraRig:
    """All cameras of a vehicle, rendered together.

    Args:
        scene: What the rays meet.
        specs: The cameras; sizes may differ.
        optics: The water.
        lamps: The vehicle's lamps, in base_link.
        seed: Of the sensor noise.
        shadows: Trace a ray to the sun from each hit.
        samples: Rays a pixel (1, 2 or 4), averaged before exposure.
    """

    def __init__(
        self,
        *,
        scene: RayScene,
        specs: tuple[CameraSpec, ...],
        optics: WaterOptics,
        lamps: tuple[Lamp, ...],
        seed: int,
        shadows: bool = True,
        samples: int = 2,
    ) -> None:
        self._scene = scene
        self.specs = specs
        self._optics = optics
        self._lamps = lamp_table(lamps)
        self._seed = seed
        self._shadows = shadows
        self._starts = np.cumsum([0, *(spec.width * spec.height for spec in specs)])
        scene.activate()
        self._rays = [
            mi.Vector3f(
                np.ascontiguousarray(np.concatenate([_pixel_rays(spec, at) for spec in specs]).T)
            )
            for at in _SAMPLE_OFFSETS[samples]
        ]
        self._near = min(spec.near for spec in specs)
        self._far = max(spec.far for spec in specs)
        self._angle = float(np.mean([pixel_angle(spec.focal_length) for spec in specs]))
        owner = np.repeat(np.arange(len(specs), dtype=np.uint32), np.diff(self._starts))
        self._camera = mi.UInt32(owner)
        self._offsets = mi.Float(
            np.concatenate([[*spec.mount.position, 0.0] for spec in specs]).astype(np.float32)
        )
        dr.eval(*self._rays, self._camera, self._offsets)

    def render(self, *, pose: Pose, index: int, lamp_level: float) -> dict[str, CameraFrame]:
        """Return every camera's frame from a vehicle pose (base_link in map), by direction."""
        self._scene.activate()
        rig = Placement.of(pose)
        radiance, direct, hits = self._radiance(rig, self._rays[0], lamp_level)
        dr.eval(radiance, direct, hits.distance, hits.instance)
        for rays in self._rays[1:]:
            more, _, _ = self._radiance(rig, rays, lamp_level)
            dr.eval(more)
            radiance += more
        radiance *= 1.0 / len(self._rays)
        picture = radiance.numpy()
        settings = self._expose(picture)
        image, signal = self._develop(radiance, direct, settings, index)
        dr.eval(image, signal)
        pixels = image.numpy().T.astype(np.uint8)
        signals = signal.numpy()
        distance, instance = hits.distance.numpy(), hits.instance.numpy()
        frames = {}
        for i, spec in enumerate(self.specs):
            part = slice(self._starts[i], self._starts[i + 1])
            size = (spec.height, spec.width)
            frames[spec.direction] = CameraFrame(
                image=np.ascontiguousarray(pixels[part]).reshape(*size, 3),
                direct=signals[part].reshape(size),
                distance=distance[part].reshape(size),
                instance=instance[part].reshape(size),
            )
        return frames

    def _radiance(self, rig: Placement, rays: Any, lamp_level: float) -> tuple[Any, Any, Hits]:
        """Return total and direct radiance [lux/sr per channel] and the hits, one lane a pixel."""
        rotation, place = rig.rotation, rig.position
        offset = dr.gather(mi.Vector4f, self._offsets, self._camera)
        body_origin = mi.Vector3f(offset.x, offset.y, offset.z)
        origin = place + rotate(rotation, body_origin)
        direction = rotate(rotation, rays)
        optics = self._optics
        hits = self._scene.trace(origin, direction, reach=self._far, pixel_angle=self._angle)
        distance = dr.minimum(hits.distance, self._far)
        ambient = _colour(optics.irradiance(rig.z), opaque=True)
        kd = _colour(optics.kd)
        # Light at the hit from the light at the vehicle: E grows by exp(Kd rise).
        rise = dr.minimum(direction.z * distance, -place.z)
        irradiance = ambient * dr.exp(kd * rise)
        lit = hits.valid & ~hits.surface
        lighting = irradiance * self._daylight(hits, rig.z, lit)
        glow = mi.Color3f(0.0)
        if lamp_level > 0.0:
            level = dr.opaque(mi.Float, float(lamp_level))
            hit_body = body_origin + rays * distance
            lighting += level * self._lamp_light(hit_body, rotate_back(rotation, hits.normal))
            glow = level * self._lamp_glow(body_origin, rays, distance)
        outgoing = hits.albedo * lighting / math.pi
        outgoing = dr.select(
            hits.surface,
            self._surface_radiance(hits.position, direction, distance, ambient, place),
            outgoing,
        )
        direct = dr.select(
            hits.valid, outgoing * dr.exp(-_colour(optics.direct_attenuation) * distance), 0.0
        )
        rate = _colour(optics.beam_attenuation) - kd * direction.z
        veil = (
            ambient
            * _colour(optics.scattering)
            * _veil_phase(direction.z)
            * (1.0 - dr.exp(-rate * distance))
            / rate
        )
        return direct + veil + glow, direct & ~hits.surface, hits

    def _daylight(self, hits: Hits, z: float, lit: Any) -> Any:
        """Return the irradiance on a surface over the downwelling irradiance."""
        depth = max(-z, 0.0) + self._optics.depth_offset
        share = dr.opaque(mi.Float, _SUN_SHARE * math.exp(-depth / _SUN_DIFFUSION_DEPTH))
        sun = mi.Vector3f(*SUN_DIRECTION)
        cosine = dr.maximum(dr.dot(hits.normal, sun), 0.0) / SUN_DIRECTION[2]
        if self._shadows:
            blocked = self._scene.occluded(
                hits.position, hits.face_normal, sun, _SHADOW_REACH, lit & (cosine > 0.0)
            )
            cosine = dr.select(blocked, 0.0, cosine)
        up = 0.5 + 0.5 * hits.normal.z
        # Diffuse light: most comes from above, some from the sides, a few per cent from below.
        diffuse = 0.06 + 0.94 * up * dr.sqrt(up)
        return share * cosine + (1.0 - share) * diffuse

    def _surface_radiance(
        self, point: Any, direction: Any, distance: Any, ambient: Any, place: Any
    ) -> Any:
        """Return the radiance that leaves the sea surface downwards: Snell's window or the mirror."""
        optics = self._optics
        slope_x, slope_y = mi.Float(0.0), mi.Float(0.0)
        for length, heading, slope, phase in _WAVES:
            east, north = math.cos(heading), math.sin(heading)
            along = (2.0 * math.pi / length) * (east * point.x + north * point.y) + phase
            tilt = slope * dr.cos(along)
            slope_x += east * tilt
            slope_y += north * tilt
        # From far below, a line of sight takes in many waves at once: their mean is a soft edge.
        sharp = dr.exp(-distance / _WAVE_SIGHT)
        normal = dr.normalize(mi.Vector3f(sharp * slope_x, sharp * slope_y, 1.0))
        cosine = dr.maximum(dr.dot(direction, normal), 0.0)
        softness = 0.02 + 0.16 * (1.0 - sharp)
        edge = dr.clip((cosine - _WINDOW_COSINE) / softness + 0.5, 0.0, 1.0)
        through = edge * edge * (3.0 - 2.0 * edge) * (1.0 - 0.02)
        at_surface = ambient * dr.exp(_colour(optics.kd) * -place.z)
        sky = at_surface * (_WATER_INDEX**2 / math.pi)
        below = (
            at_surface
            * _colour(optics.scattering)
            * _veil_phase(-direction.z)
            / (_colour(optics.beam_attenuation) + _colour(optics.kd) * direction.z)
        )
        return through * sky + (1.0 - through) * below

    def _lamp_light(self, point: Any, normal: Any) -> Any:
        """Return the lamps' irradiance [lux] on a surface point and normal in base_link."""
        total = mi.Color3f(0.0)
        attenuation = _colour(self._optics.lamp_attenuation)
        for lamp in self._lamps:
            away, distance, intensity = _beam(lamp, point)
            cosine = dr.maximum(-dr.dot(away, normal), 0.0)
            total += dr.exp(-attenuation * distance) * (
                intensity * cosine / dr.maximum(distance * distance, 0.01)
            )
        return total

    def _lamp_glow(self, origin: Any, rays: Any, distance: Any) -> Any:
        """Return the lamp light scattered into the sight line [lux/sr].

        Steps are spaced evenly in log(1 + s): the integrand falls as a power of the distance.
        """
        optics = self._optics
        outward = _colour(optics.lamp_attenuation)
        inward = _colour(optics.beam_attenuation)
        total = mi.Color3f(0.0)
        span = dr.log(1.0 + dr.minimum(distance, 25.0)) / _IN_SCATTER_STEPS
        for step in range(_IN_SCATTER_STEPS):
            stretched = dr.exp(span * (step + 0.5))
            along = stretched - 1.0
            point = origin + rays * along
            for lamp in self._lamps:
                _, path, intensity = _beam(lamp, point)
                total += dr.exp(-outward * path - inward * along) * (
                    intensity * span * stretched / (path * path + _LAMP_RADIUS**2)
                )
        return total * _colour(optics.scattering) * _LAMP_PHASE

    def _expose(self, picture: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return each camera's automatic gain and black level, (cameras, 8): RGB, 0, RGB, 0.

        White balance is shared, so that a thing has one colour in all views. The black level takes
        off most of the light that veils the whole picture, as contrast controls do.
        """
        views = [
            picture[:, self._starts[i] : self._starts[i + 1]]
            .reshape(3, spec.height, spec.width)[
                :, :: max(1, spec.height // 128), :: max(1, spec.width // 128)
            ]
            .reshape(3, -1)
            for i, spec in enumerate(self.specs)
        ]
        mean = np.mean([view.mean(axis=1, dtype=np.float64) for view in views], axis=0)
        balance = np.clip(
            (mean.max() / np.maximum(mean, 1e-12)) ** _WHITE_BALANCE_SHARE,
            1.0,
            _WHITE_BALANCE_LIMIT,
        )
        settings = np.zeros((len(views), 8), dtype=np.float32)
        for row, view in zip(settings, views):
            black = _BLACK_SHARE * np.percentile(view, 1.0, axis=1)
            level = ((view - black[:, None]) * balance[:, None]).max(axis=0)
            average = float(level.mean(dtype=np.float64))
            bright = float(np.percentile(level, 96.0))
            gain = min(
                _MIDDLE_GREY / max(average, _SENSITIVITY_FLOOR),
                _HIGHLIGHT / max(bright, _SENSITIVITY_FLOOR),
            )
            row[0:3], row[4:7] = gain * balance, black
        return settings

    def _develop(
        self, radiance: Any, direct: Any, settings: NDArray[np.float32], index: int
    ) -> tuple[Any, Any]:
        """Return the 8-bit image (three UInt32) and the encoded direct signal, one lane a pixel."""
        table = mi.Float(settings.ravel())
        packed = dr.gather(mi.Vector4f, table, self._camera * 2)
        gain = mi.Color3f(packed.x, packed.y, packed.z)
        packed = dr.gather(mi.Vector4f, table, self._camera * 2 + 1)
        black = mi.Color3f(packed.x, packed.y, packed.z)
        exposed = dr.maximum(radiance - black, 0.0) * gain
        key = generator(self._seed, 'camera', index).integers(0, 2**32, 2, dtype=np.uint32)
        lane = dr.arange(mi.UInt32, len(self._camera)) + dr.opaque(mi.UInt32, int(key[0]))
        first, second = mi.sample_tea_32(lane, dr.opaque(mi.UInt32, int(key[1])), rounds=4)
        sigma = dr.sqrt(_READ_NOISE**2 + _SHOT_NOISE * exposed)
        noise = mi.Color3f(
            _near_normal(first & 0xFFFF, first >> 16),
            _near_normal(second & 0xFFFF, second >> 16),
            _near_normal((first ^ (second << 3)) & 0xFFFF, (second ^ (first << 5)) >> 16),
        )
        encoded = _encode(exposed + sigma * noise)
        image = mi.Vector3u(encoded * 255.0 + 0.5)
        return image, dr.max(_encode(direct * gain))


def _pixel_rays(spec: CameraSpec, offset: tuple[float, float]) -> NDArray[np.float32]:
    """Return unit rays through all pixels in base_link, (H W, 3), row by row.

    Args:
        spec: The camera.
        offset: From the pixels' centres, x right and y down [px].
    """
    focal = spec.focal_length
    x = (np.arange(spec.width) + 0.5 + offset[0] - spec.width / 2) / focal
    y = (np.arange(spec.height) + 0.5 + offset[1] - spec.height / 2) / focal
    rays = np.stack([*np.meshgrid(x, y), np.ones((spec.height, spec.width))], axis=-1)
    rays /= np.linalg.norm(rays, axis=-1, keepdims=True)
    return np.asarray(rays.reshape(-1, 3) @ spec.mount.rotation.T, dtype=np.float32)


def _colour(values: NDArray[np.float64], *, opaque: bool = False) -> Any:
    """Return three channel values as a colour; opaque where they change from frame to frame."""
    numbers = (float(value) for value in values)
    return mi.Color3f(*(dr.opaque(mi.Float, n) if opaque else mi.Float(n) for n in numbers))


def _veil_phase(upward: Any) -> Any:
    """Return the ambient in-scatter phase function [1/sr] (see `water.veil_phase`)."""
    g = veil_asymmetry()
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


def _near_normal(low: Any, high: Any) -> Any:
    """Return a unit-variance bell-shaped number from two 16-bit ones (their sum, triangular)."""
    return (mi.Float(low + high) * (1.0 / 65535.0) - 1.0) * math.sqrt(6.0)


def _encode(linear: Any) -> Any:
    """Return linear values as sRGB 0..1 (IEC 61966-2-1), clipped."""
    value = dr.clip(linear, 0.0, 1.0)
    curve = 1.055 * dr.power(dr.maximum(value, 1e-6), 1.0 / 2.4) - 0.055
    return dr.select(value <= 0.0031308, 12.92 * value, curve)
