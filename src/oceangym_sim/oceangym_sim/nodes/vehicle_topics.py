"""Publishes what every vehicle of the contract tells of itself, whatever moves it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from oceangym_msgs.msg import Capabilities
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import String
from tf2_msgs.msg import TFMessage

from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import NavigationState
from oceangym_core.contract.topics import Delivery, Stream
from oceangym_core.geometry import Array
from oceangym_core.nodes.conversions import header_of
from oceangym_core.nodes.node import publish_stream
from oceangym_core.world.world import Bounds
from oceangym_sim.dynamics.rigid_body import VehicleState
from oceangym_sim.dynamics.vehicle import VehicleParameters
from oceangym_sim.navigation import DvlSample, ImuSample, PressureSample
from oceangym_sim.nodes.conversions import (
    altitude_message,
    dvl_message,
    imu_message,
    odometry_message,
    pressure_message,
    thrusters_message,
    transform_of,
)
from oceangym_sim.nodes.description import (
    bounds_marker,
    robot_description,
    sensor_mounts,
    static_transforms,
    TrajectoryTrace,
)

# Of the altimeter's beam [rad].
ALTIMETER_BEAM = 0.1


class VehicleTopics:
    """Navigation, frames and description of one vehicle.

    Args:
        node: The publishers' node.
        vehicle: Whose description and thrusters are published.
        streams: The topics on offer, without those of cameras and sonars.
    """

    def __init__(
        self, node: Node, vehicle: VehicleParameters, *, streams: Iterable[Stream]
    ) -> None:
        self._node = node
        self._vehicle = vehicle
        self._trace = TrajectoryTrace()
        self._last: dict[str, Any] = {}
        self._topics: dict[str, Publisher] = {
            s.name: publish_stream(
                node,
                s,
                watched=s.name == 'capabilities',
                on_joined=self._repeater(s.name) if s.delivery is Delivery.NAVIGATION else None,
            )
            for s in streams
        }

    def _repeater(self, name: str) -> Callable[[], None]:
        """Return what publishes a topic's last message again, for one who has just joined."""

        def repeat() -> None:
            if name in self._last:
                self._topics[name].publish(self._last[name])

        return repeat

    def _navigate(self, name: str, message: Any) -> None:
        """Publish on a topic of navigation."""
        self._last[name] = message
        self._topics[name].publish(message)

    def describe(
        self,
        *,
        backend: str,
        mode: str,
        cameras: Sequence[str],
        sonars: Sequence[str],
        streams: Sequence[str],
        services: Sequence[str],
    ) -> None:
        """Publish what does not change: capabilities, frames and the vehicle's description."""
        mounts = sensor_mounts(self._vehicle.cameras, self._vehicle.sonars)
        self._topics['tf_static'].publish(TFMessage(transforms=static_transforms(mounts)))
        self._topics['robot_description'].publish(
            String(data=robot_description(self._vehicle.name, mounts))
        )
        self._topics['capabilities'].publish(
            Capabilities(
                header=header_of(0.0, 'base_link'),
                backend=backend,
                mode=mode,
                cameras=list(cameras),
                sonars=list(sonars),
                streams=list(streams),
                services=list(services),
            )
        )

    def begin_at(self, bounds: Bounds, shift: FrameShift) -> None:
        """Publish the bounds of an episode; its trajectory starts anew."""
        self._trace = TrajectoryTrace()
        self._topics['bounds'].publish(bounds_marker(bounds, shift))

    def shift(self, shift: FrameShift) -> None:
        """Publish where odom lies in map, for people and scoring."""
        transform = transform_of(shift.pose, stamp=0.0, parent='map', child='odom')
        self._topics['truth/tf'].publish(TFMessage(transforms=[transform]))

    def navigation(self, navigation: NavigationState, *, repeated: bool = False) -> None:
        """Publish the estimate as odometry and as a frame.

        Args:
            navigation: The estimate.
            repeated: Whether it was published before: its frame is not, since tf2 warns of data
                that it has already.
        """
        self._navigate('odometry', odometry_message(navigation))
        if repeated:
            return
        self._trace.add(navigation)
        self._topics['tf'].publish(
            TFMessage(
                transforms=[
                    transform_of(
                        navigation.pose,
                        stamp=navigation.stamp,
                        parent='odom',
                        child='base_link',
                    )
                ]
            )
        )

    def trajectory(self, stamp: float) -> None:
        """Publish the estimated path as of a time [s]."""
        self._topics['trajectory'].publish(self._trace.message(stamp))

    def truth(self, state: VehicleState, stamp: float) -> None:
        """Publish the true state, in map, as of a time [s]."""
        exact = NavigationState(
            stamp=stamp,
            pose=state.pose,
            linear_velocity=_triple(state.linear_velocity),
            angular_velocity=_triple(state.angular_velocity),
            position_sigma=(0.0, 0.0, 0.0),
            depth=-state.pose.position[2],
            altitude=0.0,
            battery=state.battery,
        )
        message = odometry_message(exact, frame='map', exact=True)
        self._navigate('truth/odometry', message)

    def imu(self, sample: ImuSample, stamp: float) -> None:
        """Publish an IMU sample."""
        self._topics['imu'].publish(
            imu_message(
                stamp=stamp,
                orientation=sample.orientation,
                angular_velocity=sample.angular_velocity,
                acceleration=sample.linear_acceleration,
                orientation_sigma=sample.orientation_sigma,
                gyro_sigma=sample.angular_velocity_sigma,
                acceleration_sigma=sample.linear_acceleration_sigma,
            )
        )

    def dvl(self, sample: DvlSample, stamp: float) -> None:
        """Publish a velocity over ground."""
        self._topics['dvl'].publish(
            dvl_message(stamp=stamp, velocity=sample.velocity, sigma=sample.sigma)
        )

    def pressure(self, sample: PressureSample, stamp: float) -> None:
        """Publish an absolute pressure."""
        self._topics['pressure'].publish(
            pressure_message(stamp=stamp, pascal=sample.pressure, sigma=sample.sigma)
        )

    def altitude(self, stamp: float, altitude: float, reach: float) -> None:
        """Publish the range to the seabed [m] of an altimeter that reaches so far [m]."""
        self._navigate(
            'altitude',
            altitude_message(
                stamp=stamp,
                altitude=altitude,
                range_min=0.1,
                range_max=reach,
                beam_width=ALTIMETER_BEAM,
            ),
        )

    def thrusters(self, stamp: float, thrust: Sequence[float]) -> None:
        """Publish the thrust of each thruster [N]."""
        names = [thruster.name for thruster in self._vehicle.thrusters]
        self._topics['thrusters'].publish(
            thrusters_message(stamp=stamp, names=names, thrust=thrust)
        )

    def diagnostics(self, message: Any) -> None:
        """Publish the backend's health."""
        self._topics['/diagnostics'].publish(message)


def _triple(vector: Array) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in vector)
    return x, y, z
