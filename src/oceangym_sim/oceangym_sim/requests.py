"""What a simulator is asked, why it refuses, and what a tick of it brings."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from oceangym_core.config.setup import EpisodeSetup
from oceangym_core.config.waters import Profile, Water
from oceangym_core.contract.actions import Action, check_action, Course, LOCKSTEP, Timing
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import Contact, ManeuverResult, NavigationState
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose
from oceangym_core.world.world import Bounds
from oceangym_sim.dynamics.rigid_body import VehicleState
from oceangym_sim.navigation import DvlSample, ImuSample, PressureSample


class Refusal(str, Enum):
    """Why a request was refused; the names are those of the interfaces' error codes."""

    BUSY = 'BUSY'
    BAD_START = 'BAD_START'
    BAD_TIME = 'BAD_TIME'
    UNKNOWN_TARGET = 'UNKNOWN_TARGET'
    BAD_MAGNITUDE = 'BAD_MAGNITUDE'
    NOT_RESET = 'NOT_RESET'
    TIME_IS_UP = 'TIME_IS_UP'
    OUT_OF_BOUNDS = 'OUT_OF_BOUNDS'
    BAD_COURSE = 'BAD_COURSE'
    NOT_OFFERED = 'NOT_OFFERED'


class RefusedError(OceanGymError):
    """A request that the simulator does not carry out."""

    def __init__(self, code: Refusal, message: str) -> None:
        super().__init__(message)
        self.code = code


def check_course(action: Action, course: Course) -> None:
    """Refuse a course that is not possible, or that the action does not have.

    Raises:
        RefusedError: Names the value, and what is allowed.
    """
    try:
        course.check(action)
    except OceanGymError as error:
        raise RefusedError(Refusal.BAD_COURSE, str(error)) from error


def check_offered(action: Action, actions: str) -> None:
    """Refuse an action that is not of a run's set of `ACTION_SETS`.

    Raises:
        RefusedError: Says how to allow it.
    """
    try:
        check_action(action, actions)
    except OceanGymError as error:
        raise RefusedError(Refusal.NOT_OFFERED, str(error)) from error


@dataclass(frozen=True, kw_only=True)
class SimulatorOptions:
    """What is fixed for a simulator's life.

    Attributes:
        water: Optics, depth offset and lamps.
        sensors: ``all``, ``truth`` or ``none``.
        device: ``auto``, ``cpu`` or ``cuda``.
        image_size: Side of the camera images [px]; the vehicle's own if None.
        vehicle: Model file; the shipped BlueROV2 Heavy if None.
        sonar_device: Preset that replaces the vehicle's sonars where they are mounted; '': its own.
        sonar_mount: ``paper`` or ``tilted``, for the shipped vehicle.
        timing: Rates and the tick; they differ between lockstep and realtime mode.
        labels: Make ground truth of the cameras with every observation.
        motion_blur: Exposure time during which the vehicle's motion blurs the images [s]; 0: none.
    """

    water: Water
    sensors: str = 'all'
    device: str = 'auto'
    image_size: int | None = None
    vehicle: Path | None = None
    sonar_device: str = ''
    sonar_mount: str = 'paper'
    timing: Timing = LOCKSTEP
    labels: bool = False
    motion_blur: float = 0.0

    @classmethod
    def of(cls, setup: EpisodeSetup) -> SimulatorOptions:
        """Return the options that an episode needs."""
        options = setup.options
        return cls(
            water=setup.water,
            sensors=options.resolved_sensors,
            device=options.device,
            sonar_device=options.sonar_device,
            sonar_mount=options.sonar_mount,
        )


@dataclass(frozen=True, kw_only=True)
class ResetRequest:
    """One episode as the vehicle side sees it; poses and bounds are in map."""

    start: Pose
    seed: int
    t_max: float
    t_interval: float
    profile: Profile
    bounds: Bounds
    navigation: str = 'truth'
    targets: tuple[str, ...] = ()
    shift: FrameShift = field(default_factory=FrameShift)

    @classmethod
    def of(cls, setup: EpisodeSetup) -> ResetRequest:
        """Return the request that starts an episode."""
        return cls(
            start=setup.start.pose,
            seed=setup.options.seed,
            t_max=setup.t_max,
            t_interval=setup.t_interval,
            profile=setup.profile,
            bounds=setup.bounds,
            navigation=setup.navigation,
            targets=tuple(anchor.name for anchor in setup.anchors),
            shift=setup.shift,
        )


@dataclass(frozen=True, kw_only=True)
class TickOutput:
    """What one tick brought; sensors that were not due are None.

    Attributes:
        stamp: Simulation time at the end of the tick [s].
        thrust: (T,) [N], with the battery's rate.
        contacts: New, debounced collisions.
        progress: Share of the interval flown 0..1; `applied` the magnitude so far [m or deg].
        finished: Set on the last tick of a maneuver or of the episode; the new observation is then
            in place.
    """

    stamp: float
    imu: ImuSample | None = None
    navigation: NavigationState | None = None
    dvl: DvlSample | None = None
    pressure: PressureSample | None = None
    altitude: float | None = None
    battery: float | None = None
    thrust: Array | None = None
    truth: VehicleState | None = None
    contacts: tuple[Contact, ...] = ()
    progress: float = 0.0
    applied: float = 0.0
    finished: ManeuverResult | None = None
