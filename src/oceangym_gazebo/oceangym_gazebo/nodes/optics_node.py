"""Turns Gazebo's RGBD images into the camera topics of the contract."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
import sys
from typing import Any

from nav_msgs.msg import Odometry
import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Image
from std_msgs.msg import Float32

from oceangym_core.assets import assets_root
from oceangym_core.config.waters import load_water, Water
from oceangym_core.contract.topics import camera_streams, stream
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.nodes.conversions import nanoseconds_of, pose_of_message
from oceangym_core.nodes.node import (
    ContractNode,
    declare,
    declare_options,
    NO_EVENTS,
    publish_stream,
    read_stream,
    run_node,
)
from oceangym_gazebo.rays.optics import DepthCameras, DepthPicture
from oceangym_gazebo.session.bridge import camera_topic, ODOMETRY
from oceangym_gazebo.session.instants import Instants
from oceangym_sim.dynamics.parameters import VehicleParameters
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.nodes.conversions import (
    camera_frame,
    camera_info_message,
    jpeg_message,
    rgb_message,
)
from oceangym_sim.optics.lamps import Lamp
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.rays.device import select_variant

_FAULT_PAUSE_S = 30.0
_KINDS: dict[str, tuple[str, np.dtype[Any], int]] = {
    'image': ('rgb8', np.dtype(np.uint8), 3),
    'depth_image': ('32FC1', np.dtype('<f4'), 1),
}


class OpticsNode(ContractNode):
    """Publishes six images once an instant is whole; what does not fit is told and left out.

    It belongs to the simulator's side: how much light there is at the vehicle's depth, it takes
    from the true odometry.
    """

    def __init__(self) -> None:
        super().__init__('optics')
        options = declare_options(self)
        model = str(declare(self, 'vehicle', '', "The vehicle's model.sdf; '': the shipped one."))
        water = load_water(options.water, options.config_dirs)
        shipped = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
        vehicle = load_vehicle(Path(model) if model else shipped)
        select_variant(options.device)
        self._specs = {spec.direction: spec for spec in vehicle.cameras}
        self._cameras = DepthCameras(
            specs=vehicle.cameras,
            optics=water_optics(water),
            lamps=_lamps(vehicle),
            seed=options.seed,
        )
        self._lamps = 1.0 if water.lamps else 0.0
        self._pose: Pose | None = None
        self._index = 0
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._told = -_FAULT_PAUSE_S
        names = [f'{kind}/{direction}' for kind in _KINDS for direction in self._specs]
        self._instants: Instants[Image] = Instants(names)
        self._topics = {
            s.name: publish_stream(self, s)
            for direction in self._specs
            for s in camera_streams(direction)
        }
        read_stream(self, stream('lights'), self._on_lights)
        newest = QoSProfile(depth=2, reliability=ReliabilityPolicy.RELIABLE)
        self.create_subscription(
            Odometry, ODOMETRY, self._on_odometry, newest, event_callbacks=NO_EVENTS
        )
        for name in names:
            kind, direction = name.split('/')
            self.create_subscription(
                Image,
                camera_topic(direction, kind),
                lambda message, name=name: self._on_image(name, message),
                newest,
                event_callbacks=NO_EVENTS,
            )

    def _on_odometry(self, message: Odometry) -> None:
        self._pose = pose_of_message(message.pose.pose)

    def _on_lights(self, message: Float32) -> None:
        self._lamps = min(max(float(message.data), 0.0), 1.0)

    def _on_image(self, name: str, message: Image) -> None:
        stamp = nanoseconds_of(message.header.stamp)
        parts = self._instants.add(stamp, name, message)
        if parts is None:
            return
        if self._pose is None:
            self._tell("Gazebo's odometry has not come yet")
            return
        try:
            pictures = {
                direction: DepthPicture(
                    colour=pixels(parts[f'image/{direction}'], 'image'),
                    depth=pixels(parts[f'depth_image/{direction}'], 'depth_image'),
                )
                for direction in self._specs
            }
            frames = self._cameras.develop(
                pictures, pose=self._pose, index=self._index, lamp_level=self._lamps
            )
        except OceanGymError as error:
            self._tell(str(error))
            return
        self._index += 1
        for direction, frame in frames.items():
            self._publish(direction, frame.image, message.header.stamp)

    def _publish(self, direction: str, image: Any, stamp: Any) -> None:
        raw, compressed, info = (s.name for s in camera_streams(direction))
        frame = camera_frame(direction)
        messages = {
            raw: rgb_message(image, stamp=0.0, frame=frame),
            info: camera_info_message(self._specs[direction], stamp=0.0),
        }
        if self._topics[compressed].get_subscription_count():
            messages[compressed] = jpeg_message(image, stamp=0.0, frame=frame)
        for name, message in messages.items():
            message.header.stamp = stamp
            self._topics[name].publish(message)

    def _tell(self, problem: str) -> None:
        now = self._wall.now().nanoseconds * 1e-9
        if now - self._told >= _FAULT_PAUSE_S:
            self._told = now
            self.get_logger().error(f'no image: {problem}')


def pixels(message: Image, kind: str) -> Any:
    """Return the pixels of an image of Gazebo: (H, W, 3) uint8 colours or (H, W) float32 depths.

    Raises:
        OceanGymError: Encoding or size are not those of such an image.
    """
    encoding, dtype, channels = _KINDS[kind]
    row = message.width * channels * dtype.itemsize
    if message.encoding != encoding or message.is_bigendian:
        raise OceanGymError(
            f'{kind} {message.header.frame_id!r} is {message.encoding!r}; wanted: {encoding!r}, '
            'little endian'
        )
    if not row or message.step < row or len(message.data) < message.height * message.step:
        raise OceanGymError(
            f'{kind} {message.header.frame_id!r} holds {len(message.data)} bytes; '
            f'{message.width} x {message.height} pixels are more'
        )
    table = np.frombuffer(message.data, np.uint8, count=message.height * message.step)
    rows = np.ascontiguousarray(table.reshape(message.height, message.step)[:, :row])
    shape = (message.height, message.width, channels)
    return rows.view(dtype).reshape(shape if channels > 1 else shape[:2])


def water_optics(water: Water) -> WaterOptics:
    """Return what a water does to light."""
    optics = WaterOptics(
        jerlov=water.jerlov, light_lux=water.light_lux, depth_offset=water.depth_offset
    )
    return optics if water.visibility is None else replace(optics, visibility=water.visibility)


def _lamps(vehicle: VehicleParameters) -> tuple[Lamp, ...]:
    return tuple(
        Lamp(
            position=lamp.position,
            direction=lamp.direction,
            lumen=lamp.lumens,
            half_angle=lamp.beam_width / 2,
        )
        for lamp in vehicle.lamps
    )


def main() -> int:
    """Run the node."""
    return run_node(OpticsNode)


if __name__ == '__main__':
    sys.exit(main())
