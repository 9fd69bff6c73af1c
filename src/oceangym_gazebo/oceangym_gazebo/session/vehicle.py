"""The vehicle's own side beside a Gazebo session: navigation, autopilot and maneuvers.

Gazebo says where the vehicle is, this says what its thrusters do. Time is Gazebo's and runs on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

import numpy as np

from oceangym_core.config.waters import Profile, Water
from oceangym_core.contract.actions import Action, Course, EndReason, STRAIGHT, Timing
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import ManeuverResult, NavigationState
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose
from oceangym_sim.control.autopilot import Autopilot
from oceangym_sim.control.maneuver import ManeuverExecutor
from oceangym_sim.dynamics.rigid_body import VehicleState
from oceangym_sim.dynamics.thrusters import submergence
from oceangym_sim.dynamics.vehicle import VehicleParameters
from oceangym_sim.dynamics.water_column import current_in, Environment
from oceangym_sim.navigation import ImuSample, Navigation
from oceangym_sim.requests import (
    check_course,
    Refusal,
    RefusedError,
    ResetRequest,
    TickOutput,
)

# Between two samples: Gazebo publishes every 0.05 s, and a lost sample is no reason to leap.
_SHORTEST_S, _LONGEST_S = 1e-3, 0.2
# A vehicle that has come further than this between two samples was put there by hand.
_CARRIED_M, _FASTEST, _DRIFT_S = 0.5, 5.0, 1.0  # m, m/s, s
# How near the start the vehicle must be for a reset to have worked.
_ARRIVED_M = 1.0


@dataclass(frozen=True, kw_only=True)
class Motion:
    """The true motion as Gazebo tells it.

    Attributes:
        stamp: Simulation time [s].
        pose: base_link in map.
        linear_velocity, angular_velocity: In base_link [m/s], [rad/s].
    """

    stamp: float
    pose: Pose
    linear_velocity: tuple[float, float, float]
    angular_velocity: tuple[float, float, float]

    @property
    def finite(self) -> bool:
        """Whether every number is one, and the attitude a rotation."""
        numbers = np.array([
            self.stamp, *self.pose.position, *self.linear_velocity, *self.angular_velocity,
        ])  # fmt: skip
        norm = math.hypot(*self.pose.quaternion)
        return bool(np.isfinite(numbers).all()) and abs(norm - 1.0) < 0.01


class BridgedVehicle:
    """One vehicle that swims in Gazebo.

    It holds station from the first sample on, and carries maneuvers out without a reset, too; then
    there is no end of time and there are no bounds.

    Args:
        vehicle: Its model.
        water: For density, depth and its own current, if it has one.
        profile: Whose current and navigation hold until a reset names another.
        navigation: ``truth`` or ``dead_reckoning``; None for the profile's.
        seed: Of the navigation's noise and of the current, until a reset gives another.
        interval: Length of a maneuver before a reset [s].
    """

    def __init__(
        self,
        *,
        vehicle: VehicleParameters,
        water: Water,
        profile: Profile,
        navigation: str | None = None,
        seed: int = 0,
        interval: float = 30.0,
    ) -> None:
        self._vehicle, self._water = vehicle, water
        self._interval = interval
        self._timing = Timing()
        self.profile = profile
        self.request: ResetRequest | None = None
        self.shift = FrameShift()
        self.altitude = math.inf
        self.step = 0
        self.ended: EndReason | None = None
        self._motion: Motion | None = None
        self._since = 0.0
        self._busy = False
        self._t_start = self._t_stop = 0.0
        self._estimate: NavigationState | None = None
        self._due: dict[str, float] = {}
        self.thrust: Array = np.zeros(len(vehicle.thrusters))
        self._prepare(profile, seed, navigation)

    @property
    def busy(self) -> bool:
        """Whether a maneuver is running."""
        return self._busy

    @property
    def estimate(self) -> NavigationState | None:
        """The navigation estimate in odom; None before the first sample."""
        return self._estimate

    @property
    def motion(self) -> Motion | None:
        """The last true motion."""
        return self._motion

    def current(self) -> tuple[float, float, float] | None:
        """Return the water's velocity in map where the vehicle is [m/s]; None in still water."""
        current = self._environment.current
        if not current.speed or self._motion is None:
            return None
        return current.velocity(self._motion.pose.position[2], self._motion.stamp - self._since)

    def take(self, motion: Motion) -> TickOutput | None:
        """Take in a sample of Gazebo and set `thrust`; None if it brings nothing new.

        Raises:
            OceanGymError: The sample is not finite; `thrust` is zero then.
        """
        if not motion.finite:
            self.thrust[:] = 0.0
            raise OceanGymError("Gazebo's odometry is not finite")
        last = self._motion
        if last is not None and motion.stamp == last.stamp:
            return None
        if last is None or _carried(last, motion):
            return self._begin_at(motion)
        dt = min(max(motion.stamp - last.stamp, _SHORTEST_S), _LONGEST_S)
        self._motion = motion
        estimate = self._estimate = self._estimated(motion)
        progress = applied = 0.0
        if self._busy:
            span = max(self._t_stop - self._t_start, _SHORTEST_S)
            progress = min((estimate.stamp - self._t_start) / span, 1.0)
            applied = self._executor.progress(estimate)
        reason = self._end_reason(motion)
        finished = None if reason is None or not self._busy else self._finish(reason)
        self._executor.update(estimate, dt)
        self._command(motion)
        return self._output(progress=progress, applied=applied, finished=finished)

    def stop(self) -> None:
        """Take thrust away until the next sample."""
        self.thrust[:] = 0.0

    def reset(self, request: ResetRequest) -> None:
        """Start an episode where the vehicle is now: at rest at the request's start, or nearly.

        Raises:
            RefusedError: A maneuver is running, no sample has come, or the vehicle is elsewhere.
        """
        if self._busy:
            raise RefusedError(Refusal.BUSY, 'a maneuver is running; cancel it first')
        motion = self._need_motion()
        times = (request.t_max, request.t_interval)
        if not all(math.isfinite(t) and t >= self._timing.tick for t in times):
            raise RefusedError(
                Refusal.BAD_TIME,
                f't_max, t_interval {times} s must be at least {self._timing.tick} s',
            )
        off = math.dist(motion.pose.position, request.start.position)
        if not off <= _ARRIVED_M:
            raise RefusedError(
                Refusal.BAD_START, f'the vehicle is {off:.1f} m from {request.start.position}'
            )
        self.request = request
        self.shift = request.shift
        self.step = 0
        self.ended = None
        self._interval = request.t_interval
        self._prepare(request.profile, request.seed, request.navigation)
        self._since = motion.stamp
        self._begin_at(motion)

    def start_maneuver(
        self, action: Action, magnitude: float | None, course: Course = STRAIGHT
    ) -> float:
        """Begin a maneuver and return the magnitude it aims at [m or deg].

        Raises:
            RefusedError: One is running, the episode is over, magnitude or course make no sense, or
                no odometry has come yet.
        """
        self._need_motion()
        assert self._estimate is not None
        if self._busy:
            raise RefusedError(Refusal.BUSY, 'another maneuver is running; one at a time')
        if self.ended is EndReason.BOUNDS:
            raise RefusedError(Refusal.OUT_OF_BOUNDS, 'the bounds were crossed; reset first')
        if self.ended is not None:
            raise RefusedError(
                Refusal.TIME_IS_UP, f'the episode ended by {self.ended.value}; reset first'
            )
        check_course(action, course)
        interval = self._interval
        if self.request is not None:
            interval = min(interval, self._since + self.request.t_max - self._estimate.stamp)
        try:
            aim = self._executor.start(action, magnitude, self._estimate, interval, course)
        except OceanGymError as error:
            raise RefusedError(Refusal.BAD_MAGNITUDE, str(error)) from error
        self._t_start = self._estimate.stamp
        self._t_stop = self._t_start + interval
        self._busy = True
        return aim

    def preempt(self) -> ManeuverResult:
        """End the running maneuver now.

        Raises:
            RefusedError: None is running.
        """
        if not self._busy:
            raise RefusedError(Refusal.NOT_RESET, 'no maneuver is running')
        return self._finish(EndReason.PREEMPTED)

    def set_velocity(self, linear: tuple[float, float, float], yaw_rate: float) -> None:
        """Follow a velocity [m/s] (heading frame) and yaw rate [rad/s] until the dead-man acts.

        Raises:
            RefusedError: A maneuver is running, or no odometry has come yet.
        """
        self._need_motion()
        assert self._estimate is not None
        if self._busy:
            raise RefusedError(Refusal.BUSY, 'a maneuver is running; cancel it first')
        self._executor.command_velocity(linear, yaw_rate, self._estimate)

    def imu(
        self, stamp: float, angular_velocity: Array, linear_acceleration: Array
    ) -> ImuSample | None:
        """Return Gazebo's IMU sample with the attitude of the estimate; None before the first one.

        Gazebo counts attitude from where the sensor was born, which is nobody's frame.
        """
        if self._estimate is None:
            return None
        return replace(
            self._navigation.imu(),
            stamp=stamp,
            orientation=self._estimate.pose.quaternion,
            angular_velocity=angular_velocity,
            linear_acceleration=linear_acceleration,
        )

    def _prepare(self, profile: Profile, seed: int, navigation: str | None) -> None:
        """Make the water, the navigation and the autopilot of an episode."""
        self.profile = profile
        self._environment = Environment(
            depth_offset=self._water.depth_offset,
            current=current_in(self._water, profile, seed),
        )
        self._navigation = Navigation(
            environment=self._environment, seed=seed, mode=navigation or profile.nav
        )
        # Gazebo's thrusters follow at once, so there is no lag to drive out.
        self._executor = ManeuverExecutor(
            autopilot=Autopilot(parameters=self._vehicle, environment=self._environment, lead=0.0)
        )

    def _begin_at(self, motion: Motion) -> TickOutput:
        """Hold station where the vehicle has been put; a running maneuver ends."""
        finished = self._finish(EndReason.PREEMPTED) if self._busy else None
        if self._motion is None or motion.stamp < self._motion.stamp:
            self._since = motion.stamp
        self._motion = motion
        self._due.clear()
        self._navigation.reset(self._state(motion))
        self._estimate = self._estimated(motion)
        self._executor.reset(self._estimate)
        self._executor.update(self._estimate, self._timing.tick)
        self._command(motion)
        return self._output(progress=0.0, applied=0.0, finished=finished)

    def _state(self, motion: Motion) -> VehicleState:
        # The noise and the current count time from the start of an episode.
        return VehicleState(
            time=motion.stamp - self._since,
            pose=motion.pose,
            linear_velocity=np.array(motion.linear_velocity),
            angular_velocity=np.array(motion.angular_velocity),
            thrust=self.thrust,
            battery=1.0,
        )

    def _estimated(self, motion: Motion) -> NavigationState:
        estimate = self._navigation.update(self._state(motion), self.altitude)
        return replace(estimate, stamp=motion.stamp, pose=self.shift.to_odom(estimate.pose))

    def _command(self, motion: Motion) -> None:
        """Set the thrusts that the autopilot wants [N]; a rotor in air gives none."""
        places = [thruster.position for thruster in self._vehicle.thrusters]
        self.thrust = self._executor.autopilot.thrust * submergence(motion.pose, places)

    def _output(
        self, *, progress: float, applied: float, finished: ManeuverResult | None
    ) -> TickOutput:
        assert self._motion is not None and self._estimate is not None
        timing, stamp = self._timing, self._motion.stamp
        dvl, pressure = self._navigation.dvl(), self._navigation.pressure()
        fresh = abs(dvl.stamp - (stamp - self._since)) < _SHORTEST_S / 2
        navigation = self._is_due('odometry', timing.odometry_hz) or finished is not None
        return TickOutput(
            stamp=stamp,
            navigation=self._estimate if navigation else None,
            dvl=dvl if fresh else None,
            pressure=pressure if fresh else None,
            thrust=self.thrust if self._is_due('thrust', timing.battery_hz) else None,
            truth=self._state(self._motion) if navigation else None,
            progress=progress,
            applied=applied,
            finished=finished,
        )

    def _is_due(self, name: str, hertz: float) -> bool:
        assert self._motion is not None
        stamp, period = self._motion.stamp, 1.0 / hertz
        due = self._due.get(name, stamp)
        if stamp < due - _SHORTEST_S:
            return False
        # Due times are sums of the period, so that Gazebo's own period does not beat with them.
        self._due[name] = due + period if stamp < due + period else stamp + period
        return True

    def _end_reason(self, motion: Motion) -> EndReason | None:
        """Return why the maneuver, or an idle episode, ends on this sample."""
        request, half = self.request, self._timing.tick / 2
        if self.ended is not None:
            return None
        if request is not None:
            if not request.bounds.contains(motion.pose.position):
                self.ended = EndReason.BOUNDS
            elif motion.stamp - self._since >= request.t_max - half:
                self.ended = EndReason.TIME
            if self.ended is not None:
                return self.ended
        if self._busy and motion.stamp >= self._t_stop - half:
            return EndReason.COMPLETED
        return None

    def _finish(self, reason: EndReason) -> ManeuverResult:
        assert self._estimate is not None
        self._busy = False
        self.step += 1
        return self._executor.finish(self._estimate, reason)

    def _need_motion(self) -> Motion:
        if self._motion is None:
            raise RefusedError(
                Refusal.NOT_RESET, "Gazebo's odometry has not come yet; is the vehicle spawned?"
            )
        return self._motion


def _carried(last: Motion, motion: Motion) -> bool:
    """Return whether the vehicle was put where it is, or time was set back."""
    dt = motion.stamp - last.stamp
    way = math.dist(motion.pose.position, last.pose.position)
    return dt < 0 or way > _CARRIED_M + _FASTEST * min(dt, _DRIFT_S)
