"""What a vehicle perceives at one instant, and what only the simulator knows about it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.actions import Action, Course, EndReason, sonar_orientation, STRAIGHT
from oceangym_core.geometry import Pose

# Filters reject a zero variance.
SMALLEST_SIGMA_M = 1e-3


def single(value: float) -> float:
    """Return a number as a message of single precision carries it."""
    return float(np.float32(value))


@dataclass(frozen=True, kw_only=True)
class CameraSpec:
    """One pinhole camera. The focal length follows from the horizontal field of view.

    Attributes:
        direction: One of ``contract.DIRECTIONS``.
        mount: Pose of the optical frame (z forward, x right, y down) in base_link.
        width, height: Image size [px].
        horizontal_fov: [rad].
        near, far: Clip distances [m].
        distortion: k1, k2, p1, p2, k3 of the ``plumb_bob`` lens model; all zero: a pinhole.
    """

    direction: str
    mount: Pose
    width: int = 512
    height: int = 512
    horizontal_fov: float = float(np.pi / 2)
    near: float = 0.1
    far: float = 120.0
    distortion: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)

    @property
    def focal_length(self) -> float:
        """Focal length [px], equal in x and y."""
        return self.width / (2.0 * float(np.tan(self.horizontal_fov / 2)))


@dataclass(frozen=True, kw_only=True)
class SonarSpec:
    """One imaging sonar.

    Attributes:
        direction: One of ``contract.DIRECTIONS``.
        mount: Pose of the sonar frame (z forward, x up, y starboard) in base_link.
        range_min, range_max: [m]; row i of a polar image covers range_min + [i, i + 1) dr.
        range_bins, beams: Size of the polar image.
        azimuth_aperture: [rad]; beams are spread evenly from +aperture/2 (port) to -aperture/2.
        elevation_aperture: [rad].
        elevation_rays: Rays traced over the elevation aperture of each beam.
        frequency: [Hz].
        sound_speed: [m/s].
        preset: Name of the noise and gain preset.
    """

    direction: str
    mount: Pose
    range_min: float = 1.0
    range_max: float = 40.0
    range_bins: int = 512
    beams: int = 512
    azimuth_aperture: float = float(np.deg2rad(120.0))
    elevation_aperture: float = float(np.deg2rad(20.0))
    elevation_rays: int = 64
    frequency: float = 900e3
    sound_speed: float = 1480.0
    preset: str = 'oceangym_decision'

    @property
    def range_resolution(self) -> float:
        """Length of one range bin [m]."""
        return (self.range_max - self.range_min) / self.range_bins

    @property
    def azimuths(self) -> NDArray[np.float64]:
        """Beam azimuths [rad], (beams,), positive to port, port first."""
        half = self.azimuth_aperture / 2
        return np.linspace(half, -half, self.beams)


@dataclass(frozen=True, kw_only=True)
class SonarPing:
    """One ping: `polar` (range_bins, beams) float32 linear intensity 0..1, `fan` (H, W) uint8."""

    polar: NDArray[np.float32]
    fan: NDArray[np.uint8]


@dataclass(frozen=True, kw_only=True)
class NavigationState:
    """The navigation estimate, in the odom frame.

    Attributes:
        stamp: Simulation time [s].
        pose: base_link in odom.
        linear_velocity: In base_link [m/s], over ground.
        angular_velocity: In base_link [rad/s].
        position_sigma: One-sigma of x, y, z [m].
        depth: Below the sea surface, positive down [m].
        altitude: Above the seabed along the downward beam [m]; inf without a return.
        battery: Remaining charge 0..1.
    """

    stamp: float
    pose: Pose
    linear_velocity: tuple[float, float, float]
    angular_velocity: tuple[float, float, float]
    position_sigma: tuple[float, float, float]
    depth: float
    altitude: float
    battery: float


@dataclass(frozen=True, kw_only=True)
class Observation:
    """Everything the agent may perceive at one instant.

    Attributes:
        index: 0 after a reset, then one more with each maneuver.
        stamp: Simulation time [s].
        navigation: The navigation estimate.
        cameras: Direction -> (H, W, 3) uint8 RGB; empty when cameras are off.
        sonars: Direction -> ping; empty when sonars are off.
        sonar_geometry: Direction -> geometry of the ping of that direction.
    """

    index: int
    stamp: float
    navigation: NavigationState
    cameras: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    sonars: dict[str, SonarPing] = field(default_factory=dict)
    sonar_geometry: dict[str, SonarSpec] = field(default_factory=dict)


def as_published(observation: Observation) -> Observation:
    """Return an observation as an agent gets it over messages, to the last bit.

    An agent in the same process is given this, so that it decides as it would in a node.
    """
    navigation = observation.navigation
    x, y, z = (math.sqrt(max(s, SMALLEST_SIGMA_M) ** 2) for s in navigation.position_sigma)
    return replace(
        observation,
        navigation=replace(
            navigation,
            position_sigma=(x, y, z),
            depth=-navigation.pose.position[2],
            altitude=single(navigation.altitude),
            battery=single(navigation.battery),
        ),
        sonar_geometry={
            name: published_geometry(spec) for name, spec in observation.sonar_geometry.items()
        },
    )


def published_geometry(spec: SonarSpec) -> SonarSpec:
    """Return what a sonar's latched geometry says of it: single precision, no place on the hull."""
    return SonarSpec(
        direction=spec.direction,
        mount=Pose.of((0.0, 0.0, 0.0), sonar_orientation(spec.direction)),
        range_min=single(spec.range_min),
        range_max=single(spec.range_max),
        range_bins=spec.range_bins,
        beams=spec.beams,
        azimuth_aperture=single(spec.azimuths[0]) - single(spec.azimuths[-1]),
        elevation_aperture=single(spec.elevation_aperture),
        frequency=single(spec.frequency),
        sound_speed=single(spec.sound_speed),
    )


@dataclass(frozen=True, kw_only=True)
class Sighting:
    """How much of one anchor one sensor resolves: camera `pixels` or sonar `cells` over threshold."""

    anchor: str
    sensor: str
    pixels: int = 0
    cells: int = 0


@dataclass(frozen=True, kw_only=True)
class Contact:
    """One debounced collision: when [s], with which instance, at which closing speed [m/s]."""

    stamp: float
    instance: str
    speed: float


@dataclass(frozen=True, kw_only=True)
class ManeuverResult:
    """What the vehicle made of one commanded maneuver (magnitudes in m or deg).

    Of `Action.GO` the magnitudes are the distance ahead, `course` is what else was asked for, and
    `turned_deg` and `climbed_m` are what was made; None for other actions.
    """

    action: Action
    requested: float
    applied: float
    saturated: bool
    end_reason: EndReason
    t_start: float
    t_end: float
    course: Course = STRAIGHT
    turned_deg: float | None = None
    climbed_m: float | None = None


@dataclass(frozen=True, kw_only=True)
class StepTruth:
    """What only the simulator knows about one step, for scoring and labels.

    Attributes:
        index: Of the observation that closes the step.
        stamp: Simulation time of that observation [s].
        pose: base_link in map at the stamp.
        trajectory: (T, 8) rows t, x, y, z, qx, qy, qz, qw in map at 1 Hz, over (t_start, stamp].
        sightings: What was perceptible in this observation.
        contacts: Collisions during the step.
        standoff_events: New violations of the stand-off distance during the step.
        standoff_seconds: Time spent inside it during the step [s].
        boundary_events: Crossings of the bounds during the step (0 or 1).
        image_hashes: Stream -> hex digest of the raw image bytes.
    """

    index: int
    stamp: float
    pose: Pose
    trajectory: NDArray[np.float64]
    sightings: tuple[Sighting, ...] = ()
    contacts: tuple[Contact, ...] = ()
    standoff_events: int = 0
    standoff_seconds: float = 0.0
    boundary_events: int = 0
    image_hashes: dict[str, str] = field(default_factory=dict)
