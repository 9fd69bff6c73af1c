"""Six cameras in one launch: light, water, lens and sensor turn what the rays hit into RGB images."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import CameraSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_sim.optics.lamps import Lamp, lamp_irradiance
from oceangym_sim.optics.light import LightField
from oceangym_sim.optics.rays import optical_rays, pixel_rays, SAMPLES
from oceangym_sim.optics.sensor import contrast, develop, Sensor
from oceangym_sim.optics.snow import MarineSnow
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.rays.placement import Placement, rotate
from oceangym_sim.rays.scene import Hits, pixel_angle, RayScene

# Two neighbouring pixels lie on one surface if their ranges differ by less than this share.
_STEP = 0.03
# Lamp light on things at a few metres [lux]: with less daylight the lamps set the white balance.
_LAMP_LUX = 20.0
# The sensor's longest exposure [s].
LONGEST_SHUTTER = 1.0 / 15.0
# Motion blur: parts of an exposure, and the range at which a thing's shift sets their number [m].
_FEWEST_PARTS, _MOST_PARTS = 5, 25
_BLUR_NEAR = 2.0
# A difference of fewer grey levels nobody sees on a display, however low the noise.
LEAST_GREY = 3.0
# Pixels a side that the exposure looks at.
_METERED = 128
# Pixels from one traced ray to the next where a camera only helps to balance the others' colours.
_BALANCE_STRIDE = 8


@dataclass(frozen=True, kw_only=True)
class CameraFrame:
    """One camera's picture and what perceptibility and ground truth need to know about it.

    Attributes:
        image: (H, W, 3) uint8 sRGB.
        direct: (H, W) float32, the brightest channel of the object's own attenuated light, exposed
            like the image, of full scale 0..1; without veil, and zero where the noise drowns it.
        distance: (H, W) float32 range [m], inf without a hit.
        instance: (H, W) uint32 index into the scene's instance names.
        contrast: (H, W) float32: by how many standard deviations of the image a target's pixel
            differs from what would show there without the target; zero where that is less than
            `LEAST_GREY` grey levels, and off the targets. None unless asked for.
        normal: (H, W, 3) float32 unit normals in the optical frame, zero without a hit; None
            unless asked for.
    """

    image: NDArray[np.uint8]
    direct: NDArray[np.float32]
    distance: NDArray[np.float32]
    instance: NDArray[np.uint32]
    contrast: NDArray[np.float32] | None = None
    normal: NDArray[np.float32] | None = None


@dataclass(frozen=True, kw_only=True)
class Radiance:
    """What arrives at one camera before lens and sensor, without marine snow.

    Attributes:
        total: (H, W, 3) float32 [lux/sr per channel].
        direct: (H, W, 3) the object's own light in it.
        distance: (H, W) float32 range [m].
    """

    total: NDArray[np.float32]
    direct: NDArray[np.float32]
    distance: NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class Motion:
    """The vehicle's motion while the shutter is open.

    Attributes:
        linear: Velocity in base_link [m/s].
        angular: Angular velocity in base_link [rad/s].
        shutter: Exposure time [s].
    """

    linear: tuple[float, float, float]
    angular: tuple[float, float, float]
    shutter: float = 1.0 / 30.0

    def __post_init__(self) -> None:
        if not 0.0 < self.shutter <= LONGEST_SHUTTER:
            raise OceanGymError(
                f'motion blur: an exposure of {self.shutter!r} s must lie in '
                f'0..{LONGEST_SHUTTER:g} s; 0 s as option: no blur.'
            )

    def shares(self, focal_length: float) -> tuple[float, ...]:
        """Return the middles of equal parts of the exposure, -0.5..0.5, without the one at 0.

        There are enough that a thing 2 m away moves by about a pixel in each.

        Args:
            focal_length: [px].
        """
        speed = math.hypot(*self.angular) + math.hypot(*self.linear) / _BLUR_NEAR
        wanted = 2 * math.ceil(0.5 * speed * self.shutter * focal_length) + 1
        parts = min(max(wanted, _FEWEST_PARTS), _MOST_PARTS)
        middle = parts // 2
        return tuple((i - middle) / parts for i in range(parts) if i != middle)

    def pose(self, pose: Pose, share: float) -> Pose:
        """Return the pose at a share -0.5..0.5 of the exposure, from the pose at its middle."""
        time = share * self.shutter
        turn = np.asarray(self.angular) * time
        shift = np.asarray(self.linear) * time
        return pose @ Pose.from_euler(tuple(shift), *(float(angle) for angle in turn))


@dataclass(frozen=True, kw_only=True)
class _View:
    """The pixels `lanes` of a target: radiance as shown, (3, N), and as without it, one lane each."""

    lanes: NDArray[np.uint32]
    shown: NDArray[np.float32]
    hidden: Any
    camera: Any


class CameraRig:
    """All cameras of a vehicle, rendered together.

    Args:
        scene: What the rays meet.
        specs: The cameras; sizes may differ.
        optics: The water.
        lamps: The vehicle's lamps, in base_link.
        seed: Of the sensor noise and the marine snow.
        shadows: Trace a ray to the sun from each hit.
        samples: Rays a pixel (1 to 4) where surfaces have edges; elsewhere one, filtered by the
            texture's mip level.
        sensor: What turns light into pixels.
        normals: Whether frames carry normals.
        targets: Groups of instances whose contrast against the scene without them is wanted.
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
        samples: int = 4,
        sensor: Sensor | None = None,
        normals: bool = False,
        targets: tuple[NDArray[np.uint32], ...] = (),
    ) -> None:
        self._scene = scene
        self._targets = targets
        self.specs = specs
        self.sensor = sensor or Sensor()
        self._optics = optics
        self._light = LightField(scene=scene, optics=optics, lamps=lamps, shadows=shadows)
        self._snow = MarineSnow(density=optics.snow, specs=specs)
        self._seed = seed
        self._normals = normals
        self._starts = np.cumsum([0, *(spec.width * spec.height for spec in specs)])
        scene.activate()
        self._rays = [
            mi.Vector3f(
                np.ascontiguousarray(np.concatenate([pixel_rays(spec, at) for spec in specs]).T)
            )
            for at in SAMPLES[:samples]
        ]
        self._far = max(spec.far for spec in specs)
        self._angle = float(np.mean([pixel_angle(spec.focal_length) for spec in specs]))
        owner = np.repeat(np.arange(len(specs), dtype=np.uint32), np.diff(self._starts))
        self._camera = mi.UInt32(owner)
        self._offsets = mi.Float(
            np.concatenate([[*spec.mount.position, 0.0] for spec in specs]).astype(np.float32)
        )
        self._fall_off = np.concatenate(
            [self.sensor.fall_off(optical_rays(spec)[:, 2]) for spec in specs]
        )
        self._fall_off_lanes = mi.Float(self._fall_off)
        self._sparse_lanes: dict[frozenset[str], tuple[Any, NDArray[np.intp]]] = {}
        dr.eval(*self._rays, self._camera, self._offsets, self._fall_off_lanes)

    def render(
        self,
        *,
        pose: Pose,
        index: int,
        lamp_level: float,
        motion: Motion | None = None,
        only: frozenset[str] | None = None,
    ) -> dict[str, CameraFrame]:
        """Return every camera's frame from a vehicle pose (base_link in map), by direction.

        Args:
            pose: base_link in map, in the middle of the exposure.
            index: Of the observation; with the seed it fixes every noise bit.
            lamp_level: 0..1.
            motion: Of the vehicle, for motion blur; None: it holds still.
            only: Directions wanted, of a rig with one sample and without normals. The other cameras
                are traced coarsely, since all share one white balance.
        """
        assert only is None or (len(self._rays) == 1 and not self._normals)
        self._scene.activate()
        picture, direct, hits = self._trace(pose, lamp_level, only)
        distance, instance = hits.distance.numpy(), hits.instance.numpy()
        if only is not None:
            source = self._sparse(only)[1]
            picture, direct = picture[:, source], direct[:, source]
            distance, instance = distance[source], instance[source]
        views = self._without(pose, lamp_level, picture, distance, instance)
        if motion is not None:
            shares = motion.shares(max(spec.focal_length for spec in self.specs))
            for share in shares:
                picture += self._trace(motion.pose(pose, share), lamp_level)[0]
            picture /= np.float32(len(shares) + 1)
        elif len(self._rays) > 1:
            self._smooth_edges(picture, pose, lamp_level, self._edges(distance, instance))
        self._snow_fall(picture, distance, pose, index, lamp_level)
        lux = float(self._optics.lux(pose.position[2]))
        settings = self.sensor.expose(
            self._metered(picture), daylight=lux / max(lux + _LAMP_LUX * lamp_level, 1e-12)
        )
        image, signal = develop(
            self.sensor,
            radiance=mi.Color3f(picture),
            direct=mi.Color3f(direct),
            fall_off=self._fall_off_lanes,
            settings=settings,
            camera=self._camera,
            key=generator(self._seed, 'camera', index).integers(0, 2**32, 2, dtype=np.uint32),
        )
        dr.eval(image, signal)
        pixels = image.numpy().view(np.uint8).reshape(-1, 4)[:, :3]
        signals = signal.numpy()
        apart = self._contrast(views, settings) if self._targets else None
        normals = self._optical_normals(hits, pose) if self._normals else None
        frames = {}
        for spec, part in zip(self.specs, self._parts()):
            if only is not None and spec.direction not in only:
                continue
            size = (spec.height, spec.width)
            normal = None
            if normals is not None:
                turned = normals[part] @ spec.mount.rotation
                normal = np.asarray(turned, dtype=np.float32).reshape(*size, 3)
            frames[spec.direction] = CameraFrame(
                image=np.ascontiguousarray(pixels[part]).reshape(*size, 3),
                direct=signals[part].reshape(size),
                distance=distance[part].reshape(size),
                instance=instance[part].reshape(size),
                contrast=None if apart is None else apart[part].reshape(size),
                normal=normal,
            )
        return frames

    def measure(self, *, pose: Pose, lamp_level: float) -> dict[str, Radiance]:
        """Return the light that arrives at each camera, by direction."""
        self._scene.activate()
        total, direct, hits = self._trace(pose, lamp_level)
        distance = hits.distance.numpy()
        return {
            spec.direction: Radiance(
                total=total[:, part].T.reshape(spec.height, spec.width, 3),
                direct=direct[:, part].T.reshape(spec.height, spec.width, 3),
                distance=distance[part].reshape(spec.height, spec.width),
            )
            for spec, part in zip(self.specs, self._parts())
        }

    def _parts(self) -> list[slice]:
        return [slice(a, b) for a, b in zip(self._starts[:-1], self._starts[1:])]

    def _sparse(self, only: frozenset[str]) -> tuple[Any, NDArray[np.intp]]:
        """Return the pixels to trace where only some cameras matter, and each pixel's place in them."""
        if only not in self._sparse_lanes:
            pixels = []
            for spec, start in zip(self.specs, self._starts):
                step = 1 if spec.direction in only else _BALANCE_STRIDE
                row, column = (
                    np.minimum(np.arange(n) // step * step + step // 2, n - 1)
                    for n in (spec.height, spec.width)
                )
                pixels.append((start + row[:, None] * spec.width + column).ravel())
            lanes, source = np.unique(np.concatenate(pixels), return_inverse=True)
            self._sparse_lanes[only] = (mi.UInt32(lanes.astype(np.uint32)), source)
        return self._sparse_lanes[only]

    def _trace(
        self, pose: Pose, lamp_level: float, only: frozenset[str] | None = None
    ) -> tuple[NDArray[np.float32], NDArray[np.float32], Hits]:
        """Return total and direct radiance, (3, rays), and the hits of the first sample."""
        rays, camera = self._rays[0], self._camera
        if only is not None:
            lanes = self._sparse(only)[0]
            rays, camera = dr.gather(mi.Vector3f, rays, lanes), dr.gather(mi.UInt32, camera, lanes)
            dr.eval(rays, camera)
        radiance, direct, hits = self._radiance(Placement.of(pose), rays, camera, lamp_level)
        wanted = [radiance, direct, hits.distance, hits.instance]
        dr.eval(*wanted, *([hits.normal] if self._normals else []))
        return radiance.numpy(), direct.numpy(), hits

    def _without(
        self,
        pose: Pose,
        lamp_level: float,
        picture: NDArray[np.float32],
        distance: NDArray[np.float32],
        instance: NDArray[np.uint32],
    ) -> list[_View]:
        """Return what the pixels of each target show, and would show if it were not there.

        The light on the background is that of the scene with the target: its shadow stays.
        """
        views = []
        for target in self._targets:
            lanes = np.flatnonzero(np.isin(instance, target)).astype(np.uint32)
            if not len(lanes):
                continue
            rig, index = Placement.of(pose), mi.UInt32(lanes)
            rays = dr.gather(mi.Vector3f, self._rays[0], index)
            camera = dr.gather(mi.UInt32, self._camera, index)
            dr.eval(rays, camera)
            hidden, _, _ = self._radiance(
                rig, rays, camera, lamp_level, past=(target, distance[lanes])
            )
            dr.eval(hidden)
            shown = np.ascontiguousarray(picture[:, lanes])
            views.append(_View(lanes=lanes, shown=shown, hidden=hidden, camera=camera))
        return views

    def _contrast(self, views: list[_View], settings: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return each pixel's contrast (see `CameraFrame`), (pixels,)."""
        found = np.zeros(int(self._starts[-1]), np.float32)
        for view in views:
            ratio, grey = contrast(
                self.sensor,
                shown=mi.Color3f(view.shown),
                hidden=view.hidden,
                fall_off=mi.Float(self._fall_off[view.lanes]),
                settings=settings,
                camera=view.camera,
            )
            dr.eval(ratio, grey)
            found[view.lanes] = np.where(grey.numpy() >= LEAST_GREY, ratio.numpy(), 0.0)
        return found

    def _radiance(
        self,
        rig: Placement,
        rays: Any,
        camera: Any,
        lamp_level: float,
        past: tuple[NDArray[np.uint32], NDArray[np.float32]] | None = None,
    ) -> tuple[Any, Any, Hits]:
        """Return total and direct radiance [lux/sr per channel] and the hits, one lane a ray.

        With `past`, instances and the ranges to them [m], as if these instances were not there.
        """
        offset = dr.gather(mi.Vector4f, self._offsets, camera)
        body_origin = mi.Vector3f(offset.x, offset.y, offset.z)
        origin = rig.position + rotate(rig.rotation, body_origin)
        direction = rotate(rig.rotation, rays)
        start = None
        if past is not None:
            start = self._scene.past(
                origin, direction, mi.Float(past[1]), past[0], reach=self._far
            )
        hits = self._scene.trace(
            origin, direction, reach=self._far, pixel_angle=self._angle, start=start
        )
        total, direct = self._light.radiance(
            rig=rig,
            origin=body_origin,
            rays=rays,
            direction=direction,
            hits=hits,
            reach=self._far,
            lamp_level=lamp_level,
        )
        return total, direct, hits

    def _edges(
        self, distance: NDArray[np.float32], instance: NDArray[np.uint32]
    ) -> NDArray[np.uint32]:
        """Return the pixels where a surface ends, those on both sides of each edge."""
        found = np.zeros(len(distance), dtype=bool)
        # A step in 1 / range is fair to slanted planes, whose inverse range is linear.
        near = 1.0 / np.minimum(distance, self._far)
        for spec, part in zip(self.specs, self._parts()):
            size = (spec.height, spec.width)
            nearness, owner = near[part].reshape(size), instance[part].reshape(size)
            edge = found[part].reshape(size)
            for a, b in ((np.s_[:, :-1], np.s_[:, 1:]), (np.s_[:-1], np.s_[1:])):
                step = np.abs(nearness[a] - nearness[b]) > _STEP * nearness[a]
                step |= owner[a] != owner[b]
                edge[a] |= step
                edge[b] |= step
        return np.flatnonzero(found).astype(np.uint32)

    def _smooth_edges(
        self,
        picture: NDArray[np.float32],
        pose: Pose,
        lamp_level: float,
        edges: NDArray[np.uint32],
    ) -> None:
        """Average the remaining samples into the pixels of edges."""
        if not len(edges):
            return
        rig, lanes = Placement.of(pose), mi.UInt32(edges)
        camera = dr.gather(mi.UInt32, self._camera, lanes)
        total = picture[:, edges]
        for rays in self._rays[1:]:
            bent = dr.gather(mi.Vector3f, rays, lanes)
            dr.eval(bent, camera)
            more, _, _ = self._radiance(rig, bent, camera, lamp_level)
            # Joining channels on the device compiles their number in, which differs every frame.
            dr.eval(more)
            total += np.stack([channel.numpy() for channel in more])
        picture[:, edges] = total / np.float32(len(self._rays))

    def _snow_fall(
        self,
        picture: NDArray[np.float32],
        distance: NDArray[np.float32],
        pose: Pose,
        index: int,
        lamp_level: float,
    ) -> None:
        """Draw the marine snow, lit by the daylight and the lamps."""
        particles = self._snow.particles(generator(self._seed, 'marine snow', index))
        optics = self._optics
        lighting = lamp_level * lamp_irradiance(
            self._light.lamps, particles[0], optics.lamp_attenuation
        )
        # An aggregate is lit from all sides: half of what a plate facing up would get.
        lighting += 0.5 * optics.irradiance(pose.position[2])
        self._snow.draw(
            picture,
            distance,
            self._starts,
            particles=particles,
            lighting=lighting,
            attenuation=optics.direct_attenuation,
        )

    def _metered(self, picture: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Return what the exposure looks at of each camera, (3, N), vignetted."""
        views = []
        for spec, part in zip(self.specs, self._parts()):
            size = (spec.height, spec.width)
            rows, columns = (slice(None, None, max(1, length // _METERED)) for length in size)
            light = picture[:, part].reshape(3, *size)[:, rows, columns]
            lens = self._fall_off[part].reshape(size)[rows, columns]
            views.append((light * lens).reshape(3, -1))
        return views

    @staticmethod
    def _optical_normals(hits: Hits, pose: Pose) -> NDArray[np.float32]:
        """Return the hits' normals in base_link, (pixels, 3), zero without a hit."""
        normal = (hits.normal & hits.valid).numpy().T @ pose.rotation
        return np.asarray(normal, dtype=np.float32)
