"""Publishes what the simulator brings, topic by topic of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from oceangym_msgs.msg import PerceptibleTargets
from rclpy.event_handler import PublisherEventCallbacks
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CompressedImage

from oceangym_core.nodes.conversions import (
    collision_message,
    header_of,
    sighting_message,
    stamp_of,
    step_truth_message,
)
from oceangym_core.nodes.kit import publish_stream
from oceangym_core.nodes.qos import publisher_qos
from oceangym_core.observation import ManeuverResult, NavigationState, Observation, StepTruth
from oceangym_core.streams import (
    camera_streams,
    Delivery,
    sonar_streams,
    TRUTH_STREAMS,
    VEHICLE_STREAMS,
)
from oceangym_sim.nodes import projected
from oceangym_sim.nodes.conversions import (
    battery_message,
    camera_frame,
    camera_info_message,
    jpeg_message,
    mono_message,
    polar_message,
    rgb_message,
    sonar_frame,
    sonar_info_message,
)
from oceangym_sim.nodes.description import target_markers
from oceangym_sim.nodes.instruments import Instruments
from oceangym_sim.nodes.labels import LabelPublishers
from oceangym_sim.nodes.vehicle_topics import VehicleTopics
from oceangym_sim.requests import TickOutput
from oceangym_sim.simulator import ALTIMETER_REACH_M, Simulator

SERVICES = ('sim/reset', 'sim/observe')


class Publishers(VehicleTopics):
    """Every topic that a simulated backend offers.

    Args:
        node: The publishers' node.
        simulator: Whose sensors and vehicle are published.
        mode: ``lockstep`` or ``realtime``.
    """

    def __init__(self, node: Node, simulator: Simulator, *, mode: str) -> None:
        super().__init__(node, simulator.vehicle, streams=(*VEHICLE_STREAMS, *TRUTH_STREAMS))
        self._simulator = simulator
        self._mode = mode
        self._observation: Observation | None = None
        images = simulator.options.sensors == 'all'
        self._cameras = {c.direction: c for c in simulator.cameras} if images else {}
        self._sonars = {s.direction: s for s in simulator.sonars} if images else {}
        for direction in self._cameras:
            raw, compressed, info = camera_streams(direction)
            self._topics[raw.name] = publish_stream(node, raw)
            self._topics[info.name] = publish_stream(node, info)
            self._topics[compressed.name] = node.create_publisher(
                CompressedImage,
                compressed.name,
                publisher_qos(compressed.delivery),
                event_callbacks=PublisherEventCallbacks(
                    matched=self._late_joiner(direction), use_default_callbacks=False
                ),
            )
        for direction in self._sonars:
            for s in sonar_streams(direction):
                self._topics[s.name] = publish_stream(node, s)
            if projected.AVAILABLE:
                name = projected.projected_topic(direction)
                self._topics[name] = node.create_publisher(
                    projected.ProjectedSonarImage, name, publisher_qos(Delivery.FROZEN)
                )
        self._labels: LabelPublishers | None = None
        if images and simulator.options.labels:
            self._labels = LabelPublishers(node, tuple(self._cameras))
        self._instruments = Instruments(node, simulator)
        if self._sonars and not projected.AVAILABLE:
            node.get_logger().info(
                'off: sonar/*/projected (marine_acoustic_msgs is not installed)'
            )

    def _late_joiner(self, direction: str) -> Callable[[Any], None]:
        """JPEGs are made only for subscribers: one that comes later is served at once."""

        def matched(status: Any) -> None:
            if status.current_count_change > 0 and self._observation is not None:
                self._compressed(self._observation, direction)

        return matched

    def introduce(self) -> None:
        """Publish what does not change: capabilities, frames and the vehicle's description."""
        self.describe(
            backend=self._simulator.engine.name,
            mode=self._mode,
            cameras=tuple(self._cameras),
            sonars=tuple(self._sonars),
            streams=self._stream_names(),
            services=SERVICES,
        )
        self._instruments.introduce()

    def _stream_names(self) -> list[str]:
        names = [s.name for s in (*VEHICLE_STREAMS, *TRUTH_STREAMS)]
        if projected.AVAILABLE:
            names += [projected.projected_topic(direction) for direction in self._sonars]
        return names + self._instruments.topics

    def clock(self) -> None:
        """Publish the simulation time."""
        self._topics['/clock'].publish(Clock(clock=stamp_of(self._simulator.clock)))

    def begin(self) -> None:
        """Publish what belongs to one episode: bounds, targets, frames under truth, sonar geometry."""
        request = self._simulator.request
        assert request is not None
        self.begin_at(request.bounds, request.shift)
        anchors = [self._simulator.world.anchor(name) for name in request.targets]
        self._topics['truth/markers'].publish(target_markers(anchors))
        self.shift(request.shift)
        if self._labels is not None and (labeller := self._simulator.labeller) is not None:
            self._labels.names(labeller)
        for direction, sonar in self._sonars.items():
            info = sonar_info_message(sonar, stamp=self._simulator.clock)
            self._topics[f'sonar/{direction}/info'].publish(info)
        self._instruments.begin()

    def tick(self, output: TickOutput) -> None:
        """Publish what one tick brought."""
        stamp = output.stamp
        self.clock()
        if output.imu is not None:
            self.imu(output.imu, stamp)
        if output.navigation is not None:
            self.navigation(output.navigation)
        if output.dvl is not None:
            self.dvl(output.dvl, stamp)
        if output.pressure is not None:
            self.pressure(output.pressure, stamp)
        if output.altitude is not None:
            self.altitude(stamp, output.altitude, ALTIMETER_REACH_M)
        if output.battery is not None:
            self._battery(stamp, output.battery)
        if output.thrust is not None:
            self.thrusters(stamp, output.thrust.tolist())
        if output.truth is not None:
            self.truth(output.truth, stamp)
            self._instruments.move(output.truth, stamp)
        for contact in output.contacts:
            self._topics['truth/collisions'].publish(collision_message(contact))

    def instant(
        self, observation: Observation, *, done: Iterable[str] = (), repeated: bool = False
    ) -> None:
        """Publish an observation: every image and, with the same stamp, the navigation.

        Args:
            observation: The instant.
            done: Navigation streams that this instant's tick has brought already.
            repeated: Whether the same instant was published before.
        """
        self._observation = observation
        navigation, stamp = observation.navigation, observation.stamp
        if 'odometry' not in done:
            self.navigation(navigation, repeated=repeated)
        if 'altitude' not in done:
            self.altitude(stamp, navigation.altitude, ALTIMETER_REACH_M)
        if 'battery' not in done:
            self._battery(stamp, navigation.battery)
        self.trajectory(stamp)
        for direction, image in observation.cameras.items():
            frame = camera_frame(direction)
            raw, compressed, info = (s.name for s in camera_streams(direction))
            self._topics[raw].publish(rgb_message(image, stamp=stamp, frame=frame))
            self._topics[info].publish(camera_info_message(self._cameras[direction], stamp=stamp))
            if self._topics[compressed].get_subscription_count():
                self._compressed(observation, direction)
        if self._labels is not None:
            self._labels.instant(self._simulator.labels, stamp=stamp)
        for direction, ping in observation.sonars.items():
            frame = sonar_frame(direction)
            polar, fan, _ = (s.name for s in sonar_streams(direction))
            self._topics[polar].publish(polar_message(ping.polar, stamp=stamp, frame=frame))
            self._topics[fan].publish(mono_message(ping.fan, stamp=stamp, frame=frame))
            if projected.AVAILABLE:
                message = projected.projected_message(ping, self._sonars[direction], stamp=stamp)
                self._topics[projected.projected_topic(direction)].publish(message)
        self._instruments.instant(stamp)

    def step(
        self, truth: StepTruth, navigation: NavigationState, maneuver: ManeuverResult | None
    ) -> None:
        """Publish what only a simulator knows about a step."""
        self._topics['truth/perceptible'].publish(
            PerceptibleTargets(
                header=header_of(truth.stamp, 'map'),
                step=truth.index,
                targets=[sighting_message(s) for s in truth.sightings],
            )
        )
        self._topics['truth/step'].publish(step_truth_message(truth, navigation, maneuver))

    def truth_now(self) -> None:
        """Publish the true pose of the current instant."""
        self.truth(self._simulator.state, self._simulator.clock)

    def _compressed(self, observation: Observation, direction: str) -> None:
        if direction in observation.cameras:
            self._topics[camera_streams(direction)[1].name].publish(
                jpeg_message(
                    observation.cameras[direction],
                    stamp=observation.stamp,
                    frame=camera_frame(direction),
                )
            )

    def _battery(self, stamp: float, charge: float) -> None:
        self._topics['battery'].publish(
            battery_message(stamp=stamp, charge=charge, voltage=self._simulator.voltage)
        )
