"""Publishes the vehicle's further sonars, those that the parameter ``instruments`` names.

They are no part of the contract: nothing publishes, records or asks for them by default. Names and
types are those of the devices' public ROS drivers where they use standard messages.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.node import Node
from sensor_msgs.msg import Image, LaserEcho, LaserScan, MultiEchoLaserScan, Range
from tf2_msgs.msg import TFMessage

from oceangym_core.contract.observation import SonarSpec
from oceangym_core.contract.topics import Delivery, stream
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.conversions import header_of
from oceangym_core.nodes.node import publish_stream
from oceangym_core.nodes.qos import publisher_qos
from oceangym_sim.dynamics.rigid_body import VehicleState
from oceangym_sim.nodes.conversions import mono_message
from oceangym_sim.nodes.description import static_transforms
from oceangym_sim.simulator import Simulator
from oceangym_sim.sonar.instrument_set import (
    check_names,
    INSTRUMENTS,
    InstrumentSet,
    load_mountings,
    Readings,
)
from oceangym_sim.sonar.instruments import bin_ranges, Profile, ScanLine

TOPICS: dict[str, dict[str, Any]] = {
    'altimeter': {'instruments/altimeter': Range},
    'profiler': {'instruments/profiler': LaserScan},
    'sidescan': {'instruments/sidescan': Image},
    'ping360': {
        'instruments/ping360/scan_image': Image,
        'instruments/ping360/scan_echo': MultiEchoLaserScan,
    },
}


def link_frame(name: str) -> str:
    """Return an instrument's frame: x along its boresight, y to port, z up."""
    return f'{name}_link'


class Instruments:
    """The further sonars of a simulated vehicle; does nothing where none is named.

    Args:
        node: The publishers' node; it declares the parameter ``instruments``.
        simulator: Whose vehicle carries them.

    Raises:
        OceanGymError: A name is unknown, or the simulator has nothing that sound could meet.
    """

    def __init__(self, node: Node, simulator: Simulator) -> None:
        descriptor = ParameterDescriptor(
            description=f'Further sonars to publish: {", ".join(INSTRUMENTS)}.',
            read_only=True,
            # An empty list has no type that ROS could tell.
            dynamic_typing=True,
        )
        named = node.declare_parameter('instruments', [], descriptor).value
        self._names = check_names([named] if isinstance(named, str) else named)
        self._simulator = simulator
        self._set: InstrumentSet | None = None
        if not self._names:
            return
        if simulator.scene is None:
            raise OceanGymError(
                f'instruments {", ".join(self._names)} need sensors:=all, not '
                f'{simulator.options.sensors}'
            )
        self._mountings = load_mountings()
        self._topics = {
            topic: node.create_publisher(kind, topic, publisher_qos(Delivery.FROZEN))
            for name in self._names
            for topic, kind in TOPICS[name].items()
        }
        self._frames = publish_stream(node, stream('tf_static'))

    @property
    def topics(self) -> list[str]:
        """The names of what is published."""
        return [topic for name in self._names for topic in TOPICS[name]]

    def publish_static(self) -> None:
        """Publish the instruments' frames."""
        if self._names:
            links = {link_frame(name): self._mountings.link(name) for name in self._names}
            self._frames.publish(TFMessage(transforms=static_transforms(links)))

    def begin(self) -> None:
        """Start an episode: silent waterfall, head at its first angle, noise of the episode's seed."""
        request, scene = self._simulator.request, self._simulator.scene
        if self._names and request is not None and scene is not None:
            self._set = InstrumentSet(
                scene=scene,
                names=self._names,
                seed=request.seed,
                mountings=self._mountings,
                water=self._simulator.sound,
            )

    def move(self, state: VehicleState, stamp: float) -> None:
        """Ping what is due on the way."""
        if self._set is not None:
            self._set.move(stamp=stamp, pose=state.pose, thrust=state.thrust)

    def instant(self, stamp: float, *, published: float) -> None:
        """Publish what the instruments show with an observation.

        Args:
            stamp: Time of the episode [s].
            published: The same as simulation time [s].
        """
        if self._set is None:
            return
        state = self._simulator.state
        readings = self._set.observe(stamp=stamp, pose=state.pose, thrust=state.thrust)
        for topic, message in messages(self._set, readings, published).items():
            self._topics[topic].publish(message)


def messages(instruments: InstrumentSet, readings: Readings, stamp: float) -> dict[str, Any]:
    """Return the messages of one instant by topic."""
    found: dict[str, Any] = {}
    if instruments.altimeter is not None and readings.altitude is not None:
        found['instruments/altimeter'] = range_message(
            readings.altitude, instruments.altimeter.beam.spec, stamp
        )
    if instruments.profiler is not None and readings.profile is not None:
        found['instruments/profiler'] = profile_message(
            readings.profile, instruments.profiler.spec, stamp
        )
    if readings.waterfall is not None:
        found['instruments/sidescan'] = mono_message(
            readings.waterfall, stamp=stamp, frame=link_frame('sidescan')
        )
    if instruments.ping360 is not None and readings.scan is not None:
        found['instruments/ping360/scan_image'] = mono_message(
            readings.scan, stamp=stamp, frame=link_frame('ping360')
        )
        if readings.line is not None:
            found['instruments/ping360/scan_echo'] = echo_message(
                readings.line, instruments.ping360.spec, stamp
            )
    return found


def range_message(altitude: float, spec: SonarSpec, stamp: float) -> Range:
    """Return an altimeter's reading, inf without an echo (REP 117)."""
    return Range(
        header=header_of(stamp, link_frame('altimeter')),
        radiation_type=Range.ULTRASOUND,
        field_of_view=spec.elevation_aperture,
        min_range=spec.range_min,
        max_range=spec.range_max,
        range=altitude,
    )


def profile_message(profile: Profile, spec: SonarSpec, stamp: float) -> LaserScan:
    """Return a profile from its starboard-most beam to its port-most, inf without an echo."""
    half = spec.azimuth_aperture / 2
    ranges = np.where(np.isfinite(profile.ranges), profile.ranges, math.inf)
    return LaserScan(
        header=header_of(stamp, link_frame('profiler')),
        angle_min=-half,
        angle_max=half,
        angle_increment=spec.azimuth_aperture / (spec.beams - 1),
        range_min=spec.range_min,
        range_max=spec.range_max,
        ranges=ranges[::-1].tolist(),
        intensities=profile.intensity[::-1].tolist(),
    )


def echo_message(line: ScanLine, spec: SonarSpec, stamp: float) -> MultiEchoLaserScan:
    """Return one ping of the scanning sonar: a single beam, an echo for every range bin."""
    return MultiEchoLaserScan(
        header=header_of(stamp, link_frame('ping360')),
        angle_min=line.angle,
        angle_max=line.angle,
        range_min=spec.range_min,
        range_max=spec.range_max,
        ranges=[LaserEcho(echoes=bin_ranges(spec).tolist())],
        intensities=[LaserEcho(echoes=line.intensity.tolist())],
    )
