"""Publishes what the simulator brings, topic by topic of the contract."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from oceangym_msgs.msg import PerceptibleTargets
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from oceangym_core.contract.observation import (
    ManeuverResult,
    NavigationState,
    Observation,
    StepTruth,
)
from oceangym_core.contract.topics import (
    camera_streams,
    Delivery,
    sonar_streams,
    TRUTH_STREAMS,
    VEHICLE_STREAMS,
)
from oceangym_core.nodes.conversions import (
    collision_message,
    header_of,
    NANOSECONDS,
    nanoseconds_of,
    seconds_of,
    sighting_message,
    stamp_of,
    step_truth_message,
)
from oceangym_core.nodes.node import publish_stream
from oceangym_core.nodes.qos import publisher_qos
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
        self._epoch_ns = 0
        self._latest_ns = 0
        images = simulator.options.sensors == 'all'
        self._cameras = {c.direction: c for c in simulator.cameras} if images else {}
        self._sonars = {s.direction: s for s in simulator.sonars} if images else {}
        for direction in self._cameras:
            raw, compressed, info = camera_streams(direction)
            self._topics[raw.name] = publish_stream(node, raw)
            self._topics[info.name] = publish_stream(node, info)
            self._topics[compressed.name] = publish_stream(
                node, compressed, on_joined=self._encoder(direction)
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

    def _encoder(self, direction: str) -> Callable[[], None]:
        """JPEGs are made only for subscribers: one that comes later is served at once."""

        def encode() -> None:
            if self._observation is not None:
                self._compressed(self._observation, direction)

        return encode

    def publish_static(self) -> None:
        """Publish what does not change: capabilities, frames and the vehicle's description."""
        self.describe(
            backend=self._simulator.engine.name,
            mode=self._mode,
            cameras=tuple(self._cameras),
            sonars=tuple(self._sonars),
            streams=self._stream_names(),
            services=SERVICES,
        )
        self._instruments.publish_static()

    def _stream_names(self) -> list[str]:
        names = [s.name for s in (*VEHICLE_STREAMS, *TRUTH_STREAMS)]
        if projected.AVAILABLE:
            names += [projected.projected_topic(direction) for direction in self._sonars]
        return names + self._instruments.topics

    @property
    def now(self) -> float:
        """The simulation time [s]; 0 before the first episode."""
        return self.time(self._simulator.clock)

    def time(self, elapsed: float) -> float:
        """Return the simulation time [s], in whole nanoseconds, of a time of the episode [s]."""
        return seconds_of(stamp_of(elapsed, self._epoch_ns))

    def start_episode(self) -> None:
        """Let the time of a new episode begin at a whole second after every stamp so far.

        Zero means "not yet" to tf2 and rclpy, which also cannot follow a clock that runs back.
        """
        self._epoch_ns = (self._latest_ns // NANOSECONDS + 1) * NANOSECONDS

    def clock(self) -> None:
        """Publish the simulation time."""
        stamp = stamp_of(self._simulator.clock, self._epoch_ns)
        self._latest_ns = nanoseconds_of(stamp)
        self._topics['/clock'].publish(Clock(clock=stamp))

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
            info = sonar_info_message(sonar, stamp=self.now)
            self._topics[f'sonar/{direction}/info'].publish(info)
        self._instruments.begin()

    def tick(self, output: TickOutput) -> None:
        """Publish what one tick brought."""
        stamp = self.time(output.stamp)
        self.clock()
        if output.imu is not None:
            self.imu(output.imu, stamp)
        if output.navigation is not None:
            self.navigation(replace(output.navigation, stamp=stamp))
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
            self._instruments.move(output.truth, output.stamp)
        for contact in output.contacts:
            self._topics['truth/collisions'].publish(collision_message(contact, self._epoch_ns))

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
        stamp = self.time(observation.stamp)
        navigation = replace(observation.navigation, stamp=stamp)
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
        self._instruments.instant(observation.stamp, published=stamp)

    def step(
        self, truth: StepTruth, navigation: NavigationState, maneuver: ManeuverResult | None
    ) -> None:
        """Publish what only a simulator knows about a step."""
        self._topics['truth/perceptible'].publish(
            PerceptibleTargets(
                header=header_of(truth.stamp, 'map', self._epoch_ns),
                step=truth.index,
                targets=[sighting_message(s) for s in truth.sightings],
            )
        )
        self._topics['truth/step'].publish(
            step_truth_message(truth, navigation, maneuver, epoch_ns=self._epoch_ns)
        )

    def truth_now(self) -> None:
        """Publish the true pose of the current instant."""
        self.truth(self._simulator.state, self.now)

    def _compressed(self, observation: Observation, direction: str) -> None:
        if direction in observation.cameras:
            self._topics[camera_streams(direction)[1].name].publish(
                jpeg_message(
                    observation.cameras[direction],
                    stamp=self.time(observation.stamp),
                    frame=camera_frame(direction),
                )
            )

    def _battery(self, stamp: float, charge: float) -> None:
        self._navigate(
            'battery', battery_message(stamp=stamp, charge=charge, voltage=self._simulator.voltage)
        )
