"""The vehicle's own side beside a Gazebo session that runs in real time."""

from __future__ import annotations

import math
from pathlib import Path
import sys
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from geometry_msgs.msg import Vector3
from nav_msgs.msg import Odometry
import numpy as np
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu, Range
from std_msgs.msg import Float64

from oceangym_core.assets import assets_root
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import ManeuverResult
from oceangym_core.contract.topics import Stream, stream
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.conversions import (
    header_of,
    pose_of_message,
    seconds_of,
    vector_message,
)
from oceangym_core.nodes.node import (
    ContractNode,
    declare,
    declare_options,
    NO_EVENTS,
    read_stream,
    run_node,
)
from oceangym_gazebo.nodes.gazebo_services import ModelMover
from oceangym_gazebo.nodes.reset_server import EVERYWHERE, ResetServer
from oceangym_gazebo.session.bridge import CURRENT, IMU, NAMESPACE, ODOMETRY, thrust_topic
from oceangym_gazebo.session.vehicle import BridgedVehicle, Motion
from oceangym_gazebo.session.watchdog import Watchdog
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.nodes.maneuver_server import ManeuverServer, VelocityReceiver
from oceangym_sim.nodes.vehicle_topics import VehicleTopics
from oceangym_sim.requests import ResetRequest, TickOutput

WATCH_S = 0.05
HEALTH_S = 1.0
FAREWELL_S = 0.5
INTERVAL_S = 30.0  # of a maneuver, where nothing else is asked for

STREAMS = (
    'odometry',
    'imu',
    'pressure',
    'dvl',
    'thrusters',
    'capabilities',
    'robot_description',
    'bounds',
    'trajectory',
    '/diagnostics',
    'tf',
    'tf_static',
)
TRUTH = ('truth/odometry', 'truth/tf')
# Published by the bridge and by the sonar node.
BY_OTHERS = ('/clock', 'altitude')


class AutopilotNode(ContractNode):
    """Drives the thrusters of a vehicle in Gazebo; offers what the contract asks of a vehicle.

    Whatever comes from Gazebo comes through its bridge and may stop coming: thrust is then taken
    away, because Gazebo's thrusters would go on with the last command for ever.
    """

    def __init__(self) -> None:
        super().__init__('autopilot')
        options = declare_options(self)
        model = str(declare(self, 'vehicle', '', "The vehicle's model.sdf; '': the shipped one."))
        world = str(declare(self, 'gazebo_world', 'ocean', "Name of Gazebo's world."))
        truth = bool(declare(self, 'truth', False, 'Publish the true pose, for people.'))
        images = bool(
            declare(self, 'images', True, 'Whether cameras and sonars run beside this node.')
        )
        patience = float(
            declare(self, 'patience', 0.5, 'How long odometry or clock may be silent [s].')  # type: ignore[arg-type]
        )
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        shipped = assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf'
        self._model = load_vehicle(Path(model) if model else shipped)
        self._vehicle = BridgedVehicle(
            vehicle=self._model,
            water=load_water(options.water, options.config_dirs),
            profile=load_profile(options.profile, options.config_dirs),
            navigation=None if options.nav == 'auto' else options.nav,
            seed=options.seed,
            interval=options.t_interval or INTERVAL_S,
        )
        self._watchdog = Watchdog(('odometry', 'clock'), patience=patience)
        self._lost: dict[str, float] = {}
        self._fault = ''
        self._clock_seen = -1
        self._flowing = False
        self._truth = truth
        self._out = VehicleTopics(
            self, self._model, streams=_streams(STREAMS, TRUTH if truth else ())
        )
        newest = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
        self._thrusters = [
            self.create_publisher(Float64, thrust_topic(number), newest)
            for number in range(1, len(self._model.thrusters) + 1)
        ]
        self._current = self.create_publisher(Vector3, CURRENT, newest)
        mover = ModelMover(self, world=world, model=NAMESPACE)
        self._maneuvers = ManeuverServer(
            self, self._vehicle.start_maneuver, actions=options.actions
        )
        self._listen(newest)
        self._resets = ResetServer(
            self,
            vehicle=self._vehicle,
            mover=mover,
            options=options,
            clock=self._wall,
            began=self._begin,
        )
        self.create_timer(WATCH_S, self._watch, clock=self._wall)
        self.create_timer(HEALTH_S, self._once_a_second, clock=self._wall)
        self._introduce(images, resets=mover.installed)

    def _listen(self, newest: QoSProfile) -> None:
        samples = QoSProfile(depth=50, reliability=ReliabilityPolicy.RELIABLE)
        for kind, topic, callback, qos in (
            (Odometry, ODOMETRY, self._on_odometry, newest),
            (Imu, IMU, self._on_imu, samples),
        ):
            self.create_subscription(kind, topic, callback, qos, event_callbacks=NO_EVENTS)
        follow = VelocityReceiver(self, self._wall, self._vehicle.set_velocity)
        read_stream(self, stream('cmd_vel'), follow)
        read_stream(self, stream('altitude'), self._on_altitude)

    def _introduce(self, images: bool, *, resets: bool) -> None:
        directions = DIRECTIONS if images else ()
        others = BY_OTHERS if images else BY_OTHERS[:1]
        self._out.describe(
            backend='gazebo',
            mode='realtime',
            cameras=directions,
            sonars=directions,
            streams=[*STREAMS, *others, *(TRUTH if self._truth else ())],
            services=('sim/reset',) if resets else (),
        )
        if self._truth:
            self._out.shift(FrameShift())

    # -- what Gazebo tells ------------------------------------------------------------------------

    def _on_odometry(self, message: Odometry) -> None:
        twist = message.twist.twist
        motion = Motion(
            stamp=seconds_of(message.header.stamp),
            pose=pose_of_message(message.pose.pose),
            linear_velocity=(twist.linear.x, twist.linear.y, twist.linear.z),
            angular_velocity=(twist.angular.x, twist.angular.y, twist.angular.z),
        )
        try:
            output = self._vehicle.take(motion)
        except OceanGymError as error:
            self._complain(str(error))
            self._push()
            return
        self._fault = ''
        self._watchdog.heard('odometry', self._seconds())
        if self._lost:
            self._watch()
        if output is None:
            return
        self._push()
        self._publish(output)
        self._resets.look()

    def _publish(self, output: TickOutput) -> None:
        out, stamp = self._out, output.stamp
        if output.navigation is not None:
            out.navigation(output.navigation)
        if output.dvl is not None:
            out.dvl(output.dvl, stamp)
        if output.pressure is not None:
            out.pressure(output.pressure, stamp)
        if output.thrust is not None:
            out.thrusters(stamp, output.thrust.tolist())
            out.trajectory(stamp)
        if self._truth and output.truth is not None:
            out.truth(output.truth, stamp)
        if output.finished is not None:
            self._land(output.finished)
        elif self._vehicle.busy:
            self._maneuvers.feedback(stamp, output.progress, output.applied)

    def _on_imu(self, message: Imu) -> None:
        rates, force = message.angular_velocity, message.linear_acceleration
        sample = self._vehicle.imu(
            seconds_of(message.header.stamp),
            np.array([rates.x, rates.y, rates.z]),
            np.array([force.x, force.y, force.z]),
        )
        if sample is not None:
            self._out.imu(sample, sample.stamp)

    def _on_altitude(self, message: Range) -> None:
        self._vehicle.altitude = float(message.range)

    # -- what the vehicle does --------------------------------------------------------------------

    def work(self) -> float:
        """End a maneuver that was cancelled."""
        if self._maneuvers.cancel_requested and self._vehicle.busy:
            self._land(self._vehicle.preempt())
        return super().work()

    def _land(self, result: ManeuverResult) -> None:
        self._maneuvers.land(result, self._vehicle.step)

    def _push(self) -> None:
        """Send the thrusts; none while Gazebo is silent, or has not been heard at all."""
        mute = bool(self._lost or self._watchdog.awaited)
        for publisher, newton in zip(self._thrusters, self._vehicle.thrust.tolist()):
            publisher.publish(Float64(data=0.0 if mute else newton))

    def close(self) -> None:
        """Leave the thrusters at rest: Gazebo holds the last command."""
        self._vehicle.stop()
        self._push()
        for publisher in self._thrusters:
            publisher.wait_for_all_acked(Duration(seconds=FAREWELL_S / len(self._thrusters)))

    def _begin(self, request: ResetRequest) -> None:
        """Publish what belongs to an episode that has just begun."""
        if request.bounds is not EVERYWHERE:
            self._out.begin_at(request.bounds, request.shift)
        if self._truth:
            self._out.shift(request.shift)

    # -- health -----------------------------------------------------------------------------------

    def _watch(self) -> None:
        """Take thrust away while Gazebo is silent, and say so."""
        now, clock = self._seconds(), self.get_clock().now().nanoseconds
        if clock != self._clock_seen:
            if self._clock_seen >= 0:
                self._watchdog.heard('clock', now)
            self._clock_seen = clock
        before = self._lost
        self._lost = self._watchdog.silent(now)
        if self._lost:
            self._push()
        self._resets.look()
        if bool(before) != bool(self._lost):
            if self._lost:
                self.get_logger().error(f'no thrust: {self._complaint()}')
            else:
                self.get_logger().info('Gazebo is back; thrust again')
            self._diagnose()

    def _complaint(self) -> str:
        return ', '.join(f'{name} silent for {age:.1f} s' for name, age in self._lost.items())

    def _complain(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            self.get_logger().error(f'no thrust: {fault}')
            self._diagnose()

    def _once_a_second(self) -> None:
        velocity = self._vehicle.current()
        if velocity is not None:
            self._current.publish(vector_message(velocity))
        elif self._flowing:
            # The plugin keeps the last one: still water has to be said once.
            self._current.publish(Vector3())
        self._flowing = velocity is not None
        self._diagnose()

    def _diagnose(self) -> None:
        level, message = DiagnosticStatus.OK, 'ok'
        awaited = self._watchdog.awaited
        if self._lost or self._fault:
            level, message = DiagnosticStatus.ERROR, self._complaint() or self._fault
        elif awaited:
            level = DiagnosticStatus.WARN
            message = f'waiting for {", ".join(awaited)} of Gazebo'
        vehicle = self._vehicle
        current = vehicle.current()
        values: dict[str, Any] = {
            'mode': 'realtime',
            'profile': vehicle.profile.id,
            'current': 'off' if current is None else f'{math.hypot(*current):g} m/s',
            'maneuver': 'running' if vehicle.busy else 'none',
            'ended': vehicle.ended.value if vehicle.ended else 'no',
        }
        status = DiagnosticStatus(
            level=level,
            name=f'{self.get_fully_qualified_name()}: Gazebo vehicle',
            message=message,
            hardware_id='gazebo',
            values=[KeyValue(key=key, value=str(value)) for key, value in values.items()],
        )
        stamp = vehicle.motion.stamp if vehicle.motion is not None else 0.0
        self._out.diagnostics(
            DiagnosticArray(header=header_of(stamp, 'base_link'), status=[status])
        )

    def _seconds(self) -> float:
        return float(self._wall.now().nanoseconds) * 1e-9


def _streams(*names: tuple[str, ...]) -> list[Stream]:
    return [stream(name) for group in names for name in group]


def main() -> int:
    """Run the node."""
    return run_node(AutopilotNode)


if __name__ == '__main__':
    sys.exit(main())
