"""The simulator: physics, autopilot, navigation and sensors of one vehicle, by ticks."""

from __future__ import annotations

from dataclasses import replace
import math

import numpy as np

from oceangym_core.assets import assets_root
from oceangym_core.config.waters import Water
from oceangym_core.contract.actions import Action, Course, EndReason, STRAIGHT
from oceangym_core.contract.observation import (
    CameraSpec,
    ManeuverResult,
    NavigationState,
    Observation,
    single,
    StepTruth,
)
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose
from oceangym_core.world.distance import build_distance_field, cast_ray
from oceangym_core.world.world import Anchor, World
from oceangym_sim.backend import EMBEDDED, Engine
from oceangym_sim.control.autopilot import Autopilot
from oceangym_sim.control.maneuver import ManeuverExecutor
from oceangym_sim.dynamics.rigid_body import VehicleState
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import current_in, Environment
from oceangym_sim.navigation import ImuSample, Navigation
from oceangym_sim.optics.labels import CameraTruth, Labeller
from oceangym_sim.optics.lamps import Lamp
from oceangym_sim.optics.rig import Motion
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.requests import (
    check_course,
    Refusal,
    RefusedError,
    ResetRequest,
    SimulatorOptions,
    TickOutput,
)
from oceangym_sim.safety_monitor import SafetyMonitor
from oceangym_sim.sonar.formation import SeaWater
from oceangym_sim.sonar.presets import device_spec

VEHICLE = 'bluerov2_heavy'
# Model files by the mount of the forward sonar.
MODELS = {'paper': 'model.sdf', 'tilted': 'model_tilted.sdf'}
ALTIMETER_REACH_M = 100.0
# A start nearer than this to anything is inside it, for a hull of half a metre.
MIN_START_CLEARANCE_M = 0.4
# Where the vehicle works, below the surface of the map: absorption changes by 1.7 % in 100 m.
NOMINAL_DEPTH_M = 50.0


class Simulator:
    """One vehicle in one world. Time advances by `tick`, and only then."""

    def __init__(
        self, *, world: World, options: SimulatorOptions, engine: Engine = EMBEDDED
    ) -> None:
        """Load the vehicle and, when images are wanted, build the ray scene.

        Args:
            world: What there is.
            options: What is fixed for the simulator's life.
            engine: Whose physics and sensors they are.
        """
        self.world = world
        self.engine = engine
        self.options = options
        self.timing = options.timing
        if options.motion_blur != 0.0:
            Motion(linear=(0, 0, 0), angular=(0, 0, 0), shutter=options.motion_blur)
        self.vehicle = load_vehicle(
            options.vehicle or assets_root() / 'models' / VEHICLE / MODELS[options.sonar_mount]
        )
        self.cameras = tuple(_resized(spec, options.image_size) for spec in self.vehicle.cameras)
        self.sonars = tuple(
            device_spec(options.sonar_device, direction=spec.direction, mount=spec.mount)
            if options.sonar_device
            else spec
            for spec in self.vehicle.sonars
        )
        self._lamps = tuple(
            Lamp(
                position=lamp.position,
                direction=lamp.direction,
                lumen=lamp.lumens,
                half_angle=lamp.beam_width / 2,
            )
            for lamp in self.vehicle.lamps
        )
        self.observation: Observation | None = None
        self.truth: StepTruth | None = None
        self.labels: dict[str, CameraTruth] = {}
        self.lamp_level = 1.0 if options.water.lamps else 0.0
        self._field = build_distance_field(world)
        self._scene: RayScene | None = None
        if options.sensors != 'none':
            self._scene = RayScene(world, device=options.device)
        self._request: ResetRequest | None = None
        self._ticks = 0
        self._busy = False
        self._ended: EndReason | None = None

    @property
    def scene(self) -> RayScene | None:
        """What rays meet; None without sensors."""
        return self._scene

    @property
    def sound(self) -> SeaWater:
        """What absorbs sound."""
        return _sound(self.options.water)

    @property
    def clock(self) -> float:
        """Simulation time [s]."""
        return round(self._ticks * self.timing.tick, 6)

    @property
    def voltage(self) -> float:
        """Supply voltage at the thrusters [V]."""
        self._need_reset()
        return float(self._plant.voltage[0])

    @property
    def labeller(self) -> Labeller | None:
        """What names the numbers in `labels`; None without labels."""
        self._need_reset()
        return self._sensors.labeller

    @property
    def busy(self) -> bool:
        """Whether a maneuver is running."""
        return self._busy

    @property
    def ended(self) -> EndReason | None:
        """Why no further maneuver is possible, or None."""
        return self._ended

    @property
    def request(self) -> ResetRequest | None:
        """The episode that the vehicle was last reset for."""
        return self._request

    @property
    def state(self) -> VehicleState:
        """The true state.

        Raises:
            RefusedError: Before the first reset.
        """
        self._need_reset()
        return self._plant.vehicle()

    def reset(self, request: ResetRequest) -> Observation:
        """Put the vehicle at rest at a start and take observation 0; time starts at zero.

        Raises:
            RefusedError: A maneuver is running, or the request cannot be met.
        """
        if self._busy:
            raise RefusedError(
                Refusal.BUSY, 'a maneuver is running; wait for its end or cancel it'
            )
        self._check(request)
        anchors = self._anchors(request.targets)
        environment = Environment(
            depth_offset=self.options.water.depth_offset,
            current=current_in(self.options.water, request.profile, request.seed),
        )
        self._request = request
        self._ticks = 0
        self._ended = None
        self._plant = self.engine.plant(
            parameters=self.vehicle,
            environment=environment,
            distance_field=self._field,
            battery_limits=request.profile.battery_ends,
            seed=request.seed,
        )
        self._plant.reset(request.start)
        self._navigation = Navigation(
            environment=environment, seed=request.seed, mode=request.navigation
        )
        state = self._plant.vehicle()
        self._navigation.reset(state)
        self._altitude = self._range_down(state)
        self._estimate = self._estimated(state)
        self._executor = ManeuverExecutor(
            autopilot=Autopilot(parameters=self.vehicle, environment=environment)
        )
        self._executor.reset(self._estimate)
        self._monitor = SafetyMonitor(
            world=self.world,
            field=self._field,
            targets=anchors,
            bounds=request.bounds,
            tick=self.timing.tick,
        )
        self._sensors = self.engine.sensors(
            world=self.world,
            cameras=self.cameras,
            sonars=self.sonars,
            optics=WaterOptics.of(self.options.water),
            sound=self.sound,
            lamps=self._lamps,
            anchors=anchors,
            seed=request.seed,
            device=self.options.device,
            labels=self.options.labels,
            mode=self.options.sensors,
            scene=self._scene,
        )
        self._trajectory: list[Array] = [_row(state)]
        self._close_step(index=0)
        assert self.observation is not None
        return self.observation

    def start_maneuver(
        self, action: Action, magnitude: float | None, course: Course = STRAIGHT
    ) -> float:
        """Begin a maneuver and return the magnitude it aims at [m or deg].

        Raises:
            RefusedError: One is running, the episode is over, or magnitude or course make no sense.
        """
        request = self._need_reset()
        if self._busy:
            raise RefusedError(Refusal.BUSY, 'another maneuver is running; one at a time')
        if self._ended is EndReason.BOUNDS:
            raise RefusedError(Refusal.OUT_OF_BOUNDS, 'the bounds were crossed; reset first')
        if self._ended is not None:
            raise RefusedError(
                Refusal.TIME_IS_UP, f'the episode ended by {self._ended.value}; reset first'
            )
        if magnitude is not None and (not math.isfinite(magnitude) or magnitude < 0):
            raise RefusedError(
                Refusal.BAD_MAGNITUDE,
                f'magnitude {magnitude} must be a number >= 0; use the opposite action to go back',
            )
        check_course(action, course)
        interval = min(request.t_interval, request.t_max - self.clock)
        self._t_start = self.clock
        self._t_stop = self.clock + interval
        aim = self._executor.start(action, magnitude, self._estimate, interval, course)
        self._busy = True
        return aim

    def preempt(self) -> ManeuverResult:
        """End the running maneuver now; the observation is taken here.

        Raises:
            RefusedError: None is running.
        """
        if not self._busy:
            raise RefusedError(Refusal.NOT_RESET, 'no maneuver is running')
        return self._finish(EndReason.PREEMPTED)

    def set_velocity(self, linear: tuple[float, float, float], yaw_rate: float) -> None:
        """Follow a velocity [m/s] (heading frame) and yaw rate [rad/s] until the dead-man acts."""
        self._need_reset()
        if self._busy:
            raise RefusedError(Refusal.BUSY, 'a maneuver is running; cancel it first')
        self._executor.command_velocity(linear, yaw_rate, self._estimate)

    def tick(self) -> TickOutput:
        """Advance simulation time by one tick (0.05 s in lockstep)."""
        request = self._need_reset()
        if request.profile.battery_ends and self._due(self.timing.battery_hz):
            self._executor.autopilot.set_voltage(float(self._plant.voltage[0]))
        throttle = self._executor.update(self._estimate, self.timing.tick)
        substeps = round(self.timing.tick / self.timing.physics_step)
        self._plant.step(throttle, self.timing.physics_step, substeps)
        self._ticks += 1
        state = self._plant.vehicle()
        if self._due(self.timing.navigation_hz):
            self._altitude = self._range_down(state)
        self._estimate = self._estimated(state)
        contacts = self._monitor.update(
            stamp=self.clock, pose=state.pose, touched=self._plant.contacts
        )
        if self._due(self.timing.trajectory_hz):
            self._trajectory.append(_row(state))
        reason = self._end_reason(state, request)
        progress = applied = 0.0
        if self._busy:
            progress = (self.clock - self._t_start) / max(
                self._t_stop - self._t_start, self.timing.tick
            )
            applied = self._executor.progress(self._estimate)
        finished = None if reason is None else self._finish(reason)
        return TickOutput(
            stamp=self.clock,
            imu=self._imu() if self._due(self.timing.imu_hz) else None,
            navigation=self._estimate if self._due(self.timing.odometry_hz) else None,
            dvl=self._navigation.dvl() if self._due(self.timing.navigation_hz) else None,
            pressure=self._navigation.pressure() if self._due(self.timing.navigation_hz) else None,
            altitude=self._estimate.altitude if self._due(self.timing.navigation_hz) else None,
            battery=self._estimate.battery if self._due(self.timing.battery_hz) else None,
            thrust=state.thrust if self._due(self.timing.battery_hz) else None,
            truth=state if self._due(self.timing.odometry_hz) else None,
            contacts=contacts,
            progress=min(progress, 1.0),
            applied=applied,
            finished=finished,
        )

    def run_maneuver(
        self, action: Action, magnitude: float | None, course: Course = STRAIGHT
    ) -> tuple[ManeuverResult, Observation, StepTruth]:
        """Run one maneuver to its end.

        Raises:
            RefusedError: As `start_maneuver`.
        """
        self.start_maneuver(action, magnitude, course)
        while True:
            finished = self.tick().finished
            if finished is not None:
                assert self.observation is not None and self.truth is not None
                return finished, self.observation, self.truth

    def refresh(self) -> Observation:
        """Take the images again where the vehicle is now, under the same index (realtime mode)."""
        self._need_reset()
        assert self.observation is not None
        self.observation, _ = self._observe(self.observation.index, self._ticks)
        return self.observation

    def _check(self, request: ResetRequest) -> None:
        times = (request.t_max, request.t_interval)
        if not all(math.isfinite(t) and t >= self.timing.tick for t in times):
            raise RefusedError(
                Refusal.BAD_TIME,
                f't_max, t_interval {times} s must be at least {self.timing.tick} s',
            )
        position = np.asarray(request.start.position)
        norm = float(np.linalg.norm(request.start.quaternion))
        if not np.isfinite(position).all() or not abs(norm - 1.0) < 1e-3:
            raise RefusedError(
                Refusal.BAD_START, f'start {request.start} must be finite, with a unit quaternion'
            )
        if not request.bounds.contains(position):
            raise RefusedError(
                Refusal.BAD_START,
                f'start {request.start.position} is outside {request.bounds.lower} .. '
                f'{request.bounds.upper}',
            )
        distance, _, index = self._field.query(position)
        if distance < MIN_START_CLEARANCE_M:
            raise RefusedError(
                Refusal.BAD_START,
                f'start {request.start.position} is {distance:.2f} m from {self._field.name(index)}; '
                f'at least {MIN_START_CLEARANCE_M} m are needed',
            )

    def _anchors(self, names: tuple[str, ...]) -> tuple[Anchor, ...]:
        try:
            return tuple(self.world.anchor(name) for name in names)
        except OceanGymError as error:
            raise RefusedError(Refusal.UNKNOWN_TARGET, str(error)) from error

    def _need_reset(self) -> ResetRequest:
        if self._request is None:
            raise RefusedError(Refusal.NOT_RESET, 'the vehicle has no start yet; call reset first')
        return self._request

    def _due(self, hertz: float) -> bool:
        return self._ticks % round(1.0 / (hertz * self.timing.tick)) == 0

    def _range_down(self, state: VehicleState) -> float:
        x, y, z = state.pose.position
        dx, dy, dz = (float(v) for v in -state.pose.rotation[:, 2])
        return float(cast_ray(x, y, z, dx, dy, dz, ALTIMETER_REACH_M, self._field.arrays))

    def _estimated(self, state: VehicleState) -> NavigationState:
        request = self._need_reset()
        estimate = self._navigation.update(state, self._altitude)
        return replace(
            estimate,
            stamp=self.clock,
            pose=request.shift.to_odom(estimate.pose),
            # The battery's message has single precision; the record is to hold what it says.
            battery=single(estimate.battery),
        )

    def _imu(self) -> ImuSample:
        """Return the last IMU sample with its orientation in odom."""
        sample, request = self._navigation.imu(), self._need_reset()
        turned = request.shift.to_odom(Pose(quaternion=sample.orientation))
        return replace(sample, orientation=turned.quaternion)

    def _end_reason(self, state: VehicleState, request: ResetRequest) -> EndReason | None:
        """Return why the maneuver, or an idle episode, ends on this tick."""
        reason: EndReason | None = None
        if self._ended is not None:
            return None
        if not request.bounds.contains(state.pose.position):
            self._monitor.count_boundary()
            reason = self._ended = EndReason.BOUNDS
        elif request.profile.battery_ends and state.battery <= 0.0:
            reason = self._ended = EndReason.BATTERY
        elif self.clock >= request.t_max - self.timing.tick / 2:
            reason = self._ended = EndReason.TIME
        elif self._busy and self.clock >= self._t_stop - self.timing.tick / 2:
            reason = EndReason.COMPLETED
        return reason

    def _finish(self, reason: EndReason) -> ManeuverResult:
        if self._busy:
            result = self._executor.finish(self._estimate, reason)
        else:
            result = ManeuverResult(
                action=Action.HOLD,
                requested=0.0,
                applied=0.0,
                saturated=False,
                end_reason=reason,
                t_start=self.clock,
                t_end=self.clock,
            )
        self._busy = False
        assert self.observation is not None
        self._close_step(index=self.observation.index + 1)
        return replace(result, t_end=self.clock)

    def _close_step(self, index: int) -> None:
        """Take the observation and put together the truth of the step that it closes."""
        state = self._plant.vehicle()
        if abs(self._trajectory[-1][0] - self.clock) > 1e-9 if self._trajectory else True:
            self._trajectory.append(_row(state))
        self.observation, truth = self._observe(index, index)
        tally = self._monitor.take()
        self.truth = replace(
            truth,
            trajectory=np.array(self._trajectory),
            contacts=tally.contacts,
            standoff_events=tally.standoff_events,
            standoff_seconds=tally.standoff_seconds,
            boundary_events=tally.boundary_events,
        )
        self._trajectory = []

    def _motion(self, state: VehicleState) -> Motion | None:
        """Return what blurs the images, if that is wanted."""
        if self.options.motion_blur == 0.0:
            return None
        linear, angular = (
            (float(v[0]), float(v[1]), float(v[2]))
            for v in (state.linear_velocity, state.angular_velocity)
        )
        return Motion(linear=linear, angular=angular, shutter=self.options.motion_blur)

    def _observe(self, index: int, noise_index: int) -> tuple[Observation, StepTruth]:
        state = self._plant.vehicle()
        reading = self._sensors.observe(
            pose=state.pose,
            index=noise_index,
            lamp_level=self.lamp_level,
            thrust=state.thrust,
            motion=self._motion(state),
        )
        self.labels = reading.labels
        observation = Observation(
            index=index,
            stamp=self.clock,
            navigation=self._estimate,
            cameras=reading.cameras,
            sonars=reading.sonars,
            sonar_geometry={s.direction: s for s in self.sonars if s.direction in reading.sonars},
        )
        truth = StepTruth(
            index=index,
            stamp=self.clock,
            pose=state.pose,
            trajectory=np.zeros((0, 8)),
            sightings=reading.sightings,
            image_hashes=reading.image_hashes,
        )
        return observation, truth


def _row(state: VehicleState) -> Array:
    return np.array([round(state.time, 6), *state.pose.position, *state.pose.quaternion])


def _resized(spec: CameraSpec, size: int | None) -> CameraSpec:
    return spec if size is None else replace(spec, width=size, height=size)


def _sound(water: Water) -> SeaWater:
    """Return what absorbs sound in a water, at the depth where the targets lie."""
    return SeaWater(
        temperature=water.temperature_c,
        salinity=water.salinity_psu,
        depth=water.depth_offset + NOMINAL_DEPTH_M,
    )
