"""From an action and a magnitude, or a velocity command, to what the autopilot follows."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
import math

import numpy as np

from oceangym_core.contract import Action, default_magnitude, EndReason, ROTATIONS, unit_motion
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, wrap_angle
from oceangym_core.observation import ManeuverResult
from oceangym_sim.autopilot import Autopilot, Estimate, Reference

DEAD_MAN_S = 1.0
_SHALLOWEST = -0.3  # m: highest depth that an upward move aims at


@dataclass(frozen=True, kw_only=True)
class AxisLimits:
    """Cruise speed [m/s or rad/s] and acceleration [m/s2 or rad/s2] of one kind of move."""

    cruise: float
    acceleration: float

    def scaled(self, scale: float) -> AxisLimits:
        """Return the limits with another cruise speed."""
        return AxisLimits(cruise=self.cruise * scale, acceleration=self.acceleration)

    def reach(self, interval: float) -> float:
        """Return how far a move from rest to rest gets within `interval` [s], settling included."""
        moving = max(interval - SETTLE_S, 0.0)
        ramp = self.cruise / self.acceleration
        if moving < 2 * ramp:
            return self.acceleration * (moving / 2) ** 2
        return self.cruise * (moving - ramp)


# What the Heavy sustains at 16 V with a reserve for control (thrust at cruise / available): surge 97
# of 129 N, sway 89 of 129 N, up 135 of 206 N, down 116 of 160 N. In 30 s: 20.7, 17.2, 20.2, 18.7 m
# and 9.6 rad.
SETTLE_S = 1.5
SURGE = AxisLimits(cruise=0.78, acceleration=0.4)
SWAY = AxisLimits(cruise=0.64, acceleration=0.4)
RISE = AxisLimits(cruise=0.76, acceleration=0.4)
DIVE = AxisLimits(cruise=0.7, acceleration=0.4)
YAW = AxisLimits(cruise=0.35, acceleration=0.3)

# How far the reference may run ahead of a vehicle that a current holds back.
_LEASH_M = 0.6
_LEASH_RAD = 0.4
# A held setpoint is kept for the axes that do not move, unless the vehicle was carried off it.
_KEEP_M = 0.3
_KEEP_RAD = math.radians(3.0)
# How fast a velocity command is taken up: ahead, port, up [m/s2], yaw [rad/s2].
_RAMP: Array = np.array(
    [SURGE.acceleration, SWAY.acceleration, DIVE.acceleration, YAW.acceleration]
)
_CRUISE: Array = np.array([SURGE.cruise, SWAY.cruise, DIVE.cruise, YAW.cruise])
_REST: Array = np.zeros(3)


def axis_limits(action: Action) -> AxisLimits:
    """Return the limits of an action's axis (those of surge for hold and stop)."""
    if action in ROTATIONS:
        return YAW
    if action in (Action.LEFT, Action.RIGHT):
        return SWAY
    return {Action.UP: RISE, Action.DOWN: DIVE}.get(action, SURGE)


def capability(action: Action, interval: float, speed_scale: float = 1.0) -> float:
    """Return the largest magnitude of an action within `interval` [s] (m or deg; hold, stop: 0).

    `speed_scale` is the autopilot's: less than 1 on a low battery.
    """
    if action in (Action.HOLD, Action.STOP):
        return 0.0
    reach = axis_limits(action).scaled(speed_scale).reach(interval)
    return math.degrees(reach) if action in ROTATIONS else reach


class _Mode(Enum):
    HOLD = 'hold'
    MANEUVER = 'maneuver'
    VELOCITY = 'velocity'


class ManeuverExecutor:
    """Runs one maneuver at a time, holds station otherwise, and takes velocity commands."""

    def __init__(self, *, autopilot: Autopilot) -> None:
        """Drive the vehicle through `autopilot`."""
        self.autopilot = autopilot
        self._mode = _Mode.HOLD
        self._position: Array = np.zeros(3)
        self._yaw = 0.0
        self._direction: Array = np.zeros(3)
        self._turn = 0.0
        self._limits = SURGE
        self._length = self._along = self._speed = 0.0
        self._start: Array = np.zeros(3)
        self._base: Array = np.zeros(3)
        self._start_yaw = self._turned = self._last_yaw = 0.0
        self._t_start = self._t_stop = 0.0
        self._action, self._requested, self._saturated = Action.HOLD, 0.0, False
        self._velocity: Array = np.zeros(4)
        self._wanted: Array = np.zeros(4)
        self._command_stamp = -math.inf

    def reset(self, estimate: Estimate) -> None:
        """Hold station where the vehicle is, with nothing learned."""
        self.autopilot.reset()
        self.hold(estimate)

    def hold(self, estimate: Estimate) -> None:
        """Hold station where the vehicle is."""
        self._position = np.array(estimate.pose.position)
        self._yaw = _heading(estimate)
        self._mode = _Mode.HOLD

    def start(
        self, action: Action, magnitude: float | None, estimate: Estimate, interval: float
    ) -> float:
        """Begin a maneuver of `interval` [s] and return the magnitude it will aim at (m or deg).

        Args:
            action: What to do.
            magnitude: Metres or degrees; None for the action's default. Excess is cut to what the
                vehicle can do in the interval.
            estimate: Where the vehicle is.
            interval: Time until the maneuver ends [s].

        Raises:
            OceanGymError: The magnitude is negative or not a number.
        """
        wanted = default_magnitude(action) if magnitude is None else float(magnitude)
        if not math.isfinite(wanted) or wanted < 0:
            raise OceanGymError(
                f'magnitude {magnitude} of {action.value} must be a number >= 0; use the opposite '
                'action to go the other way'
            )
        self._keep_setpoint(estimate)
        self._action, self._requested = action, wanted
        scale = self.autopilot.speed_scale
        applied = min(wanted, capability(action, interval, scale))
        self._direction = np.zeros(3)
        self._turn = 0.0
        self._limits = axis_limits(action).scaled(scale)
        here = np.array(estimate.pose.position)
        if action in ROTATIONS:
            self._turn = 1.0 if action is Action.ROTATE_LEFT else -1.0
            self._length = math.radians(applied)
            self._speed = 0.0
        else:
            c, s = math.cos(self._yaw), math.sin(self._yaw)
            ahead, port, up = unit_motion(action)
            self._direction = np.array([c * ahead - s * port, s * ahead + c * port, up])
            if action is Action.UP:
                applied = min(applied, max(_SHALLOWEST - here[2], 0.0))
            self._length = applied
            # The setpoint moves along the axis to where the vehicle is, and keeps the others.
            self._base = self._position + self._direction * float(
                self._direction @ (here - self._position)
            )
            ground = estimate.pose.rotation @ np.array(estimate.linear_velocity)
            self._speed = float(np.clip(self._direction @ ground, 0.0, self._limits.cruise))
        self._saturated = applied < wanted - 1e-9
        self._along = 0.0
        self._start, self._start_yaw = here, self._yaw
        self._last_yaw, self._turned = _heading(estimate), 0.0
        self._t_start, self._t_stop = estimate.stamp, estimate.stamp + interval
        self._mode = _Mode.MANEUVER
        return applied

    def command_velocity(
        self, linear: tuple[float, float, float], yaw_rate: float, estimate: Estimate
    ) -> None:
        """Take a velocity command: heading frame (ahead, port, up) [m/s] and yaw rate [rad/s].

        It is cut to the cruise speeds, and lapses to a hold after `DEAD_MAN_S` without another.

        Raises:
            OceanGymError: A value that is not finite.
        """
        values = np.array([*linear, yaw_rate], dtype=float)
        if not np.all(np.isfinite(values)):
            raise OceanGymError(f'velocity command {values.tolist()} must be finite')
        cruise = self.autopilot.speed_scale * _CRUISE
        if self._mode is not _Mode.VELOCITY:
            self._keep_setpoint(estimate)
            self._velocity = np.zeros(4)
            self._mode = _Mode.VELOCITY
        self._wanted = np.clip(values, -cruise, cruise)
        self._command_stamp = estimate.stamp

    def update(self, estimate: Estimate, dt: float) -> Array:
        """Return the throttles (T,) for the next `dt` [s]."""
        if self._mode is _Mode.MANEUVER:
            reference = self._follow(estimate, dt)
        elif self._mode is _Mode.VELOCITY:
            reference = self._drive(estimate, dt)
        else:
            reference = _reference(self._position, self._yaw)
        return self.autopilot.update(estimate, reference, dt)

    def progress(self, estimate: Estimate) -> float:
        """Return the distance [m] or angle [deg] made good along the maneuver so far."""
        if self._turn:
            swung = wrap_angle(_heading(estimate) - self._last_yaw)
            return math.degrees(self._turn * (self._turned + swung))
        return float(self._direction @ (np.array(estimate.pose.position) - self._start))

    def finish(self, estimate: Estimate, end_reason: EndReason) -> ManeuverResult:
        """End the maneuver, hold station at its setpoint, and say what it came to."""
        applied = self.progress(estimate)
        self._mode = _Mode.HOLD
        return ManeuverResult(
            action=self._action,
            requested=self._requested,
            applied=applied,
            saturated=self._saturated,
            end_reason=end_reason,
            t_start=self._t_start,
            t_end=estimate.stamp,
        )

    def _keep_setpoint(self, estimate: Estimate) -> None:
        """Take the vehicle's pose as the setpoint where it is not at the one it holds."""
        here = np.array(estimate.pose.position)
        if float(np.linalg.norm(here - self._position)) > _KEEP_M:
            self._position = here
        heading = _heading(estimate)
        if abs(wrap_angle(heading - self._yaw)) > _KEEP_RAD:
            self._yaw = heading

    def _follow(self, estimate: Estimate, dt: float) -> Reference:
        """Advance the maneuver's profile by one tick."""
        limit = self._limits
        left = self._t_stop - estimate.stamp - 0.5 * SETTLE_S
        remaining = max(self._length - self._along, 0.0)
        speed = min(
            limit.cruise,
            math.sqrt(2 * limit.acceleration * remaining),
            limit.acceleration * max(left, 0.0),
            remaining / dt,
        )
        speed = min(speed, self._speed + limit.acceleration * dt)
        change = max((speed - self._speed) / dt, -2 * limit.acceleration)
        self._speed = speed
        heading = _heading(estimate)
        self._turned += wrap_angle(heading - self._last_yaw)
        self._last_yaw = heading
        made, leash = self.progress(estimate), _LEASH_M
        if self._turn:
            made, leash = math.radians(made), _LEASH_RAD
        self._along = max(min(self._along + speed * dt, made + leash), self._along)
        if self._turn:
            self._yaw = self._start_yaw + self._turn * self._along
            return _reference(
                self._position,
                self._yaw,
                yaw_rate=self._turn * speed,
                yaw_acceleration=self._turn * change,
            )
        self._position = self._base + self._direction * self._along
        return _reference(
            self._position,
            self._yaw,
            velocity=self._direction * speed,
            acceleration=self._direction * change,
        )

    def _drive(self, estimate: Estimate, dt: float) -> Reference:
        """Advance the velocity command by one tick."""
        if estimate.stamp - self._command_stamp > DEAD_MAN_S:
            self._wanted = np.zeros(4)
        step = dt * _RAMP
        change = np.clip(self._wanted - self._velocity, -step, step)
        self._velocity = self._velocity + change
        c, s = math.cos(self._yaw), math.sin(self._yaw)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        velocity = turn @ self._velocity[:3]
        here, heading = np.array(estimate.pose.position), _heading(estimate)
        ahead = self._position + velocity * dt - here
        distance = float(np.linalg.norm(ahead))
        self._position = here + ahead * min(1.0, _LEASH_M / max(distance, 1e-9))
        lead = wrap_angle(self._yaw + float(self._velocity[3]) * dt - heading)
        self._yaw = heading + float(np.clip(lead, -_LEASH_RAD, _LEASH_RAD))
        return _reference(
            self._position,
            self._yaw,
            velocity=velocity,
            acceleration=turn @ change[:3] / dt,
            yaw_rate=float(self._velocity[3]),
            yaw_acceleration=float(change[3]) / dt,
        )


def _heading(estimate: Estimate) -> float:
    x, y, z, w = estimate.pose.quaternion
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def _reference(
    position: Array,
    yaw: float,
    velocity: Array = _REST,
    acceleration: Array = _REST,
    yaw_rate: float = 0.0,
    yaw_acceleration: float = 0.0,
) -> Reference:
    return Reference(
        position=_triple(position),
        yaw=yaw,
        velocity=_triple(velocity),
        acceleration=_triple(acceleration),
        yaw_rate=yaw_rate,
        yaw_acceleration=yaw_acceleration,
    )


def _triple(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z
