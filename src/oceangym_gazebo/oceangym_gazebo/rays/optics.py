"""Camera images from Gazebo's colours and depths, through the optics of the embedded simulator.

Gazebo ignores fog, so the water has to be added. Its picture serves as the reflectance of things
and its depth as their range; light, water and lens are those of the embedded cameras.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import drjit as dr
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import CameraSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.textures import srgb_to_linear
from oceangym_gazebo.rays.slopes import surface_normals
from oceangym_sim.optics.lamps import Lamp
from oceangym_sim.optics.rig import CameraFrame, CameraRig
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.rays.scene import Hits, RayScene


@dataclass(frozen=True, kw_only=True)
class DepthPicture:
    """One RGBD image: (H, W, 3) uint8 sRGB, and (H, W) depth along the boresight [m]."""

    colour: NDArray[np.uint8]
    depth: NDArray[np.float32]


class DepthCameras:
    """All cameras of a vehicle in Gazebo. There are no shadows beyond those in Gazebo's picture.

    Args:
        specs: The cameras.
        optics: The water.
        lamps: The vehicle's lamps, in base_link.
        seed: Of the sensor noise.
    """

    def __init__(
        self,
        *,
        specs: tuple[CameraSpec, ...],
        optics: WaterOptics,
        lamps: tuple[Lamp, ...],
        seed: int,
    ) -> None:
        self.specs = specs
        self._scene = _PictureScene()
        self._rig = CameraRig(
            # All that the rig asks of a scene is what its rays meet.
            scene=cast(RayScene, self._scene),
            specs=specs,
            optics=optics,
            lamps=lamps,
            seed=seed,
            shadows=False,
            samples=1,
        )

    def develop(
        self, pictures: Mapping[str, DepthPicture], *, pose: Pose, index: int, lamp_level: float
    ) -> dict[str, CameraFrame]:
        """Return every camera's frame, by direction.

        Args:
            pictures: Of one instant, by direction.
            pose: base_link in map.
            index: Of the observation; with the seed it fixes every noise bit.
            lamp_level: 0..1.

        Raises:
            OceanGymError: A camera's picture is missing or of another size.
        """
        parts = [_surfaces(spec, pictures, pose) for spec in self.specs]
        self._scene.hold(*(np.concatenate(part) for part in zip(*parts)))
        return self._rig.render(pose=pose, index=index, lamp_level=lamp_level)


class _PictureScene:
    """Answers rays with what Gazebo's pictures hold, a lane a pixel."""

    surface_index = 1

    def __init__(self) -> None:
        self._held: tuple[Any, Any, Any] | None = None

    def activate(self) -> None:
        """Use the variant that is active: nothing here is built for another."""

    def hold(self, distance: NDArray[Any], normal: NDArray[Any], albedo: NDArray[Any]) -> None:
        """Take what the next rays meet: range (N,), normals in map (N, 3), albedo (N, 3)."""
        self._held = (
            mi.Float(distance.astype(np.float32)),
            mi.Vector3f(np.ascontiguousarray(normal.T, dtype=np.float32)),
            mi.Color3f(np.ascontiguousarray(albedo.T, dtype=np.float32)),
        )

    def trace(
        self,
        origin: Any,
        direction: Any,
        *,
        reach: Any,
        pixel_angle: float = 0.0,
        start: Any = None,
    ) -> Hits:
        """Return what the pictures show; the sea surface, which Gazebo lacks, is above."""
        assert self._held is not None and start is None, (
            'a picture shows nothing behind its surfaces'
        )
        seen, normal, albedo = self._held
        to_surface = dr.select(direction.z > 1e-6, -origin.z / direction.z, dr.inf)
        surface = (origin.z < 0.0) & (to_surface < dr.minimum(seen, reach))
        solid = (seen < reach) & ~surface
        distance = dr.select(surface, to_surface, dr.select(solid, seen, dr.inf))
        valid = solid | surface
        facing = dr.select(surface, mi.Vector3f(0.0, 0.0, -1.0), normal)
        return Hits(
            valid=valid,
            distance=distance,
            position=origin + direction * dr.select(valid, distance, 0.0),
            normal=facing,
            face_normal=facing,
            albedo=albedo & solid,
            instance=dr.select(surface, mi.UInt32(1), mi.UInt32(0)),
            strength=dr.select(valid, mi.Float(0.0), 0.0),
            surface=surface,
        )


def _surfaces(
    spec: CameraSpec, pictures: Mapping[str, DepthPicture], pose: Pose
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return range (N,), normals in map (N, 3) and linear albedo (N, 3) of one camera's pixels."""
    if spec.direction not in pictures:
        raise OceanGymError(f'camera {spec.direction}: no picture of this instant')
    picture = pictures[spec.direction]
    size = (spec.height, spec.width)
    if picture.colour.shape != (*size, 3) or picture.depth.shape != size:
        raise OceanGymError(
            f'camera {spec.direction}: colour {picture.colour.shape} and depth '
            f'{picture.depth.shape} do not fit {spec.height} x {spec.width} pixels'
        )
    column, row = np.meshgrid(np.arange(spec.width) + 0.5, np.arange(spec.height) + 0.5)
    rays = np.stack(
        [
            (column - spec.width / 2) / spec.focal_length,
            (row - spec.height / 2) / spec.focal_length,
            np.ones(size),
        ],
        axis=-1,
    )
    depth = picture.depth.astype(np.float64)
    found = np.isfinite(depth) & (depth > 0.0)
    points = rays * np.where(found, depth, 0.0)[..., None]
    distance = np.sqrt((points * points).sum(axis=-1))
    normal = surface_normals(points, distance, found)
    # A lone hit faces the camera.
    alone = found & ~normal.any(axis=-1)
    normal[alone] = -points[alone] / distance[alone][:, None]
    in_map = normal.reshape(-1, 3) @ (pose.rotation @ spec.mount.rotation).T
    albedo = srgb_to_linear(picture.colour / 255.0).reshape(-1, 3)
    return np.where(found, distance, np.inf).ravel(), in_map, albedo
