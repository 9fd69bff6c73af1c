"""Turns the point clouds of Gazebo's six lidars into sonars and an altimeter of the contract."""

from __future__ import annotations

from pathlib import Path
import sys

from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import PointCloud2

from oceangym_core.assets import assets_root
from oceangym_core.contract.topics import stream
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.node import ContractNode, declare, NO_EVENTS, publish_stream, run_node
from oceangym_gazebo.rays.ray_cloud import range_ahead
from oceangym_gazebo.rays.sonar import LidarSonar
from oceangym_gazebo.session.bridge import cloud_topic
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.nodes.conversions import (
    altitude_message,
    mono_message,
    polar_message,
    sonar_frame,
    sonar_info_message,
)
from oceangym_sim.nodes.vehicle_topics import ALTIMETER_BEAM

# A lidar without an answer sends the same fault once a second: telling it twice a minute will do.
_FAULT_PAUSE_S = 30.0


class SonarNode(ContractNode):
    """Publishes a ping for each cloud; a cloud that cannot be one is told and left out."""

    def __init__(self) -> None:
        super().__init__('sonar')
        model = str(declare(self, 'vehicle', '', "The vehicle's model.sdf; '': the shipped one."))
        seed = int(str(declare(self, 'seed', 0, 'Seed of speckle and noise.')))
        shipped = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
        vehicle = load_vehicle(Path(model) if model else shipped)
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._told: dict[str, float] = {}
        self._topics: dict[str, Publisher] = {'altitude': publish_stream(self, stream('altitude'))}
        self._pings: dict[str, int] = {}
        # The newest cloud counts: forming a ping may take longer than a lidar's period.
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        for spec in vehicle.sonars:
            sonar = LidarSonar(spec, seed=seed)
            names = [f'sonar/{spec.direction}/{name}' for name in ('polar', 'fan', 'info')]
            self._topics |= {name: publish_stream(self, stream(name)) for name in names}
            self._topics[names[2]].publish(sonar_info_message(spec, stamp=0.0))
            self._pings[spec.direction] = 0
            self.create_subscription(
                PointCloud2,
                cloud_topic(spec.direction),
                lambda cloud, sonar=sonar: self._on_cloud(sonar, cloud),
                newest,
                event_callbacks=NO_EVENTS,
            )

    def _on_cloud(self, sonar: LidarSonar, cloud: PointCloud2) -> None:
        direction = sonar.spec.direction
        try:
            ping = sonar.ping(cloud, self._pings[direction])
        except OceanGymError as error:
            self._tell(direction, str(error))
            return
        self._pings[direction] += 1
        stamp = cloud.header.stamp.sec + cloud.header.stamp.nanosec * 1e-9
        frame = sonar_frame(direction)
        polar = polar_message(ping.polar, stamp=stamp, frame=frame)
        fan = mono_message(ping.fan, stamp=stamp, frame=frame)
        for message in (polar, fan):
            message.header.stamp = cloud.header.stamp
        if direction == 'down':
            self._altitude(sonar, cloud)
        self._topics[f'sonar/{direction}/polar'].publish(polar)
        self._topics[f'sonar/{direction}/fan'].publish(fan)

    def _altitude(self, sonar: LidarSonar, cloud: PointCloud2) -> None:
        """Publish how far the vehicle is above what lies under its sonar."""
        message = altitude_message(
            stamp=0.0,
            altitude=range_ahead(cloud) - sonar.spec.mount.position[2],
            range_min=sonar.spec.range_min,
            range_max=sonar.spec.range_max,
            beam_width=ALTIMETER_BEAM,
        )
        message.header.stamp = cloud.header.stamp
        self._topics['altitude'].publish(message)

    def _tell(self, direction: str, problem: str) -> None:
        now = self._wall.now().nanoseconds * 1e-9
        if now - self._told.get(direction, -_FAULT_PAUSE_S) >= _FAULT_PAUSE_S:
            self._told[direction] = now
            self.get_logger().error(f'no ping: {problem}')


def main() -> int:
    """Run the node."""
    return run_node(SonarNode)


if __name__ == '__main__':
    sys.exit(main())
