"""The sensors of a vehicle in a hosted Gazebo server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose
from oceangym_gazebo.hosted.server import GazeboServer, message_type
from oceangym_gazebo.rays.optics import DepthCameras, DepthPicture
from oceangym_gazebo.rays.sonar import LidarSonar
from oceangym_gazebo.session.bridge import NAMESPACE
from oceangym_sim.optics.lamps import Lamp
from oceangym_sim.optics.rig import Motion
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.sensors import digest, SensorReading, SensorSuite
from oceangym_sim.sonar.formation import NOMINAL_WATER, SeaWater
from oceangym_sim.sonar.sound import thruster_noise_share

_PIXELS: dict[str, tuple[str, Any, int]] = {
    'image': ('RGB_INT8', np.uint8, 3),
    'depth_image': ('R_FLOAT32', np.dtype('<f4'), 1),
}
_FLOAT32 = 7  # sensor_msgs/PointField
# Of a picture that holds all its textures: black share, and mean change [of 255] within a step.
_SETTLED_SHARE = 0.01
_SETTLED_CHANGE = 0.5
_MOST_SETTLING = 20


class RawSensors:
    """What Gazebo's cameras and lidars show at one instant."""

    def __init__(
        self,
        *,
        server: GazeboServer,
        cameras: tuple[CameraSpec, ...],
        sonars: tuple[SonarSpec, ...],
    ) -> None:
        """Read the sensors that stand for these cameras and sonars."""
        self._server = server
        self._cameras = tuple(spec.direction for spec in cameras)
        self._sonars = tuple(spec.direction for spec in sonars)
        image, cloud = message_type('Image'), message_type('PointCloudPacked')
        self._topics = {_camera(name, kind): image for name in self._cameras for kind in _PIXELS}
        self._topics |= {_cloud(name): cloud for name in self._sonars}
        self._ready = False

    def take(self, wrench: Array) -> tuple[dict[str, DepthPicture], dict[str, PackedCloud]]:
        """Return pictures and clouds by direction; Gazebo takes a step for them.

        Args:
            wrench: (6,) On base_link during that step.
        """
        if not self._ready:
            self._settle(wrench)
        messages = self._server.capture(self._topics, wrench)
        pictures = self._pictures(messages)
        return pictures, {name: PackedCloud(messages[_cloud(name)]) for name in self._sonars}

    def _settle(self, wrench: Array) -> None:
        """Wait for the textures, which the renderer loads while it already renders: black so far."""
        views = {name: kind for name, kind in self._topics.items() if '/camera/' in name}
        last: dict[str, DepthPicture] = {}
        for _ in range(_MOST_SETTLING if self._cameras else 0):
            seen = self._pictures(self._server.capture(views, wrench))
            if last and all(_settled(picture, last[name]) for name, picture in seen.items()):
                break
            last = seen
        self._ready = True

    def _pictures(self, messages: dict[str, Any]) -> dict[str, DepthPicture]:
        return {
            name: DepthPicture(
                colour=pixels(messages[_camera(name, 'image')], 'image'),
                depth=pixels(messages[_camera(name, 'depth_image')], 'depth_image'),
            )
            for name in self._cameras
        }


def _settled(picture: DepthPicture, last: DepthPicture) -> bool:
    """Return whether a picture is whole: like the one a step before, and nothing in it black."""
    black = np.isfinite(picture.depth) & ~picture.colour.any(axis=2)
    change = np.abs(picture.colour.astype(np.int16) - last.colour)
    return float(black.mean()) < _SETTLED_SHARE and float(change.mean()) < _SETTLED_CHANGE


class GazeboSensors(SensorSuite):
    """Images and pings of what Gazebo renders.

    What of the targets was perceptible, which scoring asks, is computed as in the embedded
    simulator from the same world: both backends are scored alike.
    """

    def __init__(
        self,
        *,
        server: GazeboServer,
        cameras: tuple[CameraSpec, ...],
        sonars: tuple[SonarSpec, ...],
        optics: WaterOptics,
        lamps: tuple[Lamp, ...],
        seed: int,
        mode: str = 'all',
        sound: SeaWater = NOMINAL_WATER,
        labels: bool = False,
        wrench: Callable[[], Array] = lambda: np.zeros(6),
        **arguments: Any,
    ) -> None:
        """Read the sensors of `server`.

        Args:
            server: Hosts the vehicle.
            cameras: See `SensorSuite`, as for all that is not named here.
            sonars: See `SensorSuite`.
            optics: See `SensorSuite`.
            lamps: See `SensorSuite`.
            seed: See `SensorSuite`.
            mode: See `SensorSuite`.
            sound: See `SensorSuite`.
            labels: Refused.
            wrench: Returns what acts on base_link while an image is taken.
            arguments: Of `SensorSuite`.

        Raises:
            OceanGymError: Labels are asked for.
        """
        if labels:
            raise OceanGymError('labels come from the embedded simulator: use backend:=embedded')
        super().__init__(
            cameras=cameras,
            sonars=sonars,
            optics=optics,
            lamps=lamps,
            seed=seed,
            mode='truth' if mode == 'all' else mode,
            sound=sound,
            **arguments,
        )
        self._server = server
        self._wrench = wrench
        self._raw: RawSensors | None = None
        if mode != 'all':
            return
        self._raw = RawSensors(server=server, cameras=cameras, sonars=sonars)
        self._pictures = DepthCameras(specs=cameras, optics=optics, lamps=lamps, seed=seed)
        self._lidars = {
            spec.direction: LidarSonar(spec, seed=seed, water=sound, hosted=True)
            for spec in sonars
        }

    def observe(
        self,
        *,
        pose: Pose,
        index: int,
        lamp_level: float,
        thrust: Array | None = None,
        motion: Motion | None = None,
    ) -> SensorReading:
        """Return what the vehicle perceives; see `SensorSuite.observe`.

        Raises:
            OceanGymError: Motion blur is asked for: Gazebo renders an instant.
        """
        if motion is not None:
            raise OceanGymError(
                'motion blur comes from the embedded simulator: use backend:=embedded'
            )
        reading = super().observe(pose=pose, index=index, lamp_level=lamp_level, thrust=thrust)
        if self._raw is None:
            return reading
        pictures, clouds = self._raw.take(self._wrench())
        frames = self._pictures.develop(
            pictures, pose=self._server.state.pose, index=index, lamp_level=lamp_level
        )
        cameras = {name: frame.image for name, frame in frames.items()}
        noise = 0.0 if thrust is None else thruster_noise_share(thrust)
        sonars = {
            name: lidar.ping(clouds[name], index, self_noise=noise)
            for name, lidar in self._lidars.items()
        }
        hashes = {f'camera/{name}': digest(image) for name, image in cameras.items()}
        hashes |= {f'sonar/{name}': digest(ping.polar) for name, ping in sonars.items()}
        return replace(reading, cameras=cameras, sonars=sonars, image_hashes=hashes)


class PackedCloud:
    """A gz.msgs.PointCloudPacked in the terms of a sensor_msgs/PointCloud2."""

    def __init__(self, message: Any) -> None:
        self.height, self.width = int(message.height), int(message.width)
        self.point_step, self.row_step = int(message.point_step), int(message.row_step)
        self.is_bigendian = bool(message.is_bigendian)
        self.data = message.data
        self.fields: Sequence[Any] = [_Field(field) for field in message.field]


class _Field:
    def __init__(self, field: Any) -> None:
        self.name, self.offset = str(field.name), int(field.offset)
        kinds = type(field).DataType
        self.datatype = _FLOAT32 if field.datatype == kinds.Value('FLOAT32') else 0


def pixels(message: Any, kind: str) -> NDArray[Any]:
    """Return the pixels of a gz.msgs.Image: (H, W, 3) uint8 colours or (H, W) float32 depths.

    Raises:
        OceanGymError: Format or size are not those of such an image.
    """
    wanted, dtype, channels = _PIXELS[kind]
    formats = message_type('Image').DESCRIPTOR.fields_by_name['pixel_format_type'].enum_type
    given = formats.values_by_number[message.pixel_format_type].name
    count = message.height * message.width * channels
    if given != wanted or len(message.data) != count * np.dtype(dtype).itemsize:
        raise OceanGymError(
            f'{kind}: {message.width} x {message.height} {given} in {len(message.data)} bytes; '
            f'wanted: {wanted}'
        )
    values = np.frombuffer(message.data, dtype)
    shape = (message.height, message.width, channels)
    return values.reshape(shape if channels > 1 else shape[:2])


def _camera(direction: str, kind: str) -> str:
    return f'/{NAMESPACE}/gazebo/camera/{direction}/{kind}'


def _cloud(direction: str) -> str:
    return f'/{NAMESPACE}/gazebo/sonar/{direction}/points'
