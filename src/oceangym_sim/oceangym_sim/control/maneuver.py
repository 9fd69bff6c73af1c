"""From an action and a magnitude, or a velocity command, to what the autopilot follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
import math

import numpy as np

from oceangym_core.contract.actions import (
    Action,
    Course,
    default_magnitude,
    EndReason,
    ROTATIONS,
    STRAIGHT,
    unit_motion,
)
from oceangym_core.contract.observation import ManeuverResult
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, wrap_angle
from oceangym_sim.control.autopilot import Autopilot, Estimate, Reference
from oceangym_sim.control.bottom_following import BottomFollower, Heave

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

    def duration(self, length: float) -> float:
        """Return how long a move from rest to rest over `length` [m or rad] takes [s]."""
        if length * self.acceleration < self.cruise**2:
            return 2 * math.sqrt(length / self.acceleration)
        return length / self.cruise + self.cruise / self.acceleration


# What the Heavy sustains at 16 V with a reserve for control (thrust at cruise / available): surge 97
# of 129 N, sway 89 of 129 N, up 135 of 206 N, down 116 of 160 N. In 30 s: 20.7, 17.2, 20.2, 18.7 m
# and 9.6 rad.
SETTLE_S = 1.5
SURGE = AxisLimits(cruise=0.78, acceleration=0.4)
SWAY = AxisLimits(cruise=0.64, acceleration=0.4)
RISE = AxisLimits(cruise=0.76, acceleration=0.4)
DIVE = AxisLimits(cruise=0.7, acceleration=0.4)
YAW = AxisLimits(cruise=0.35, acceleration=0.3)

# Between a turn and the way after it, the heading comes within _KEEP_RAD of the course.
_TURN_SETTLE_S = 1.0
_TURN_PATIENCE_S = 3.0
# A way that bottom following made this much shorter than asked for was cut.
_CUT_SHORT_M = 1.0

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


def way_limits(ahead: float, climb: float, speed_scale: float = 1.0) -> AxisLimits:
    """Return the limits along a way ahead that climbs [m], dives if negative.

    Surge and heave share the supply: their cruise speeds are the axes of an ellipse.
    """
    length = math.hypot(ahead, climb)
    if length == 0.0:
        return SURGE.scaled(speed_scale)
    heave = RISE if climb > 0 else DIVE
    slowness = math.hypot(ahead / SURGE.cruise, climb / heave.cruise) / length
    return AxisLimits(cruise=speed_scale / slowness, acceleration=SURGE.acceleration)


@dataclass(frozen=True, kw_only=True)
class _Way:
    """The way of `Action.GO` after its turn: distance and climb [m] within reach."""

    ahead: float
    climb: float
    altitude: float | None

    @property
    def length(self) -> float:
        return math.hypot(self.ahead, self.climb)


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
        self._course = STRAIGHT
        self._way: _Way | None = None
        self._follower: BottomFollower | None = None
        self._t_off = 0.0
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
        self,
        action: Action,
        magnitude: float | None,
        estimate: Estimate,
        interval: float,
        course: Course = STRAIGHT,
    ) -> float:
        """Begin a maneuver of `interval` [s] and return the magnitude it will aim at (m or deg).

        Args:
            action: What to do.
            magnitude: Metres or degrees; None for the action's default. Excess is cut to what the
                vehicle can do in the interval.
            estimate: Where the vehicle is.
            interval: Time until the maneuver ends [s].
            course: What else `Action.GO` is asked for.

        Raises:
            OceanGymError: The magnitude is negative or not a number, or the course is not possible.
        """
        course.check(action)
        wanted = default_magnitude(action) if magnitude is None else float(magnitude)
        if not math.isfinite(wanted) or wanted < 0:
            raise OceanGymError(
                f'magnitude {magnitude} of {action.value} must be a number >= 0; use the opposite '
                'action to go the other way'
            )
        self._keep_setpoint(estimate)
        self._action, self._requested, self._course = action, wanted, course
        self._way, self._follower = None, None
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
        elif action is Action.GO:
            applied = self._start_course(estimate, interval)
        else:
            c, s = math.cos(self._yaw), math.sin(self._yaw)
            ahead, port, up = unit_motion(action)
            direction = np.array([c * ahead - s * port, s * ahead + c * port, up])
            if action is Action.UP:
                applied = min(applied, max(_SHALLOWEST - here[2], 0.0))
            self._set_off(direction, applied, estimate)
        # What a course leaves out of its turn or climb was noted there.
        self._saturated = applied < wanted - 1e-9 or (action is Action.GO and self._saturated)
        self._along = 0.0
        self._start, self._start_yaw = here, self._yaw
        self._last_yaw, self._turned = _heading(estimate), 0.0
        self._t_start, self._t_stop = estimate.stamp, estimate.stamp + interval
        self._mode = _Mode.MANEUVER
        return applied

    def _set_off(self, direction: Array, length: float, estimate: Estimate) -> None:
        """Begin a translation: unit `direction` in odom (3,), `length` [m]."""
        here = np.array(estimate.pose.position)
        self._direction, self._length = direction, length
        # The setpoint moves along the axis to where the vehicle is, and keeps the others.
        self._base = self._position + self._direction * float(
            self._direction @ (here - self._position)
        )
        ground = estimate.pose.rotation @ np.array(estimate.linear_velocity)
        self._speed = float(np.clip(self._direction @ ground, 0.0, self._limits.cruise))

    def _start_course(self, estimate: Estimate, interval: float) -> float:
        """Begin `Action.GO` with its turn, if any; return the distance it will aim at [m]."""
        course, scale = self._course, self.autopilot.speed_scale
        turn = math.radians(course.turn_deg or 0.0)
        limits = YAW.scaled(scale)
        length = min(abs(turn), limits.reach(interval))
        left = interval
        if length > 0.0:
            left -= limits.duration(length) + _TURN_SETTLE_S
        climb = course.climb_m or 0.0
        wanted = math.hypot(self._requested, climb)
        share = 1.0
        if wanted > 0.0:
            reach = way_limits(self._requested, climb, scale).reach(left)
            share = min(1.0, reach / wanted)
        way = _Way(
            ahead=share * self._requested,
            climb=min(share * climb, max(_SHALLOWEST - estimate.pose.position[2], 0.0)),
            altitude=course.altitude_m,
        )
        self._saturated = length < abs(turn) or way.climb != climb
        if length > 0.0:
            self._turn, self._length, self._speed = math.copysign(1.0, turn), length, 0.0
            self._limits, self._way = limits, way
            self._t_off = estimate.stamp + limits.duration(length) + _TURN_PATIENCE_S
        else:
            self._set_off_on(way, estimate)
        return way.ahead

    def _has_turned(self, estimate: Estimate) -> bool:
        """Return whether the turn before a way is made."""
        if self._along < self._length - 1e-9:
            return False
        aligned = abs(wrap_angle(_heading(estimate) - self._yaw)) < _KEEP_RAD
        return aligned or estimate.stamp >= self._t_off

    def _set_off_on(self, way: _Way, estimate: Estimate) -> None:
        """Begin the way of `Action.GO`, the vehicle having its heading."""
        scale = self.autopilot.speed_scale
        self._way, self._turn, self._along = None, 0.0, 0.0
        self._limits = way_limits(way.ahead, way.climb, scale)
        ahead, up = (way.ahead / way.length, way.climb / way.length) if way.length else (1.0, 0.0)
        direction = np.array([ahead * math.cos(self._yaw), ahead * math.sin(self._yaw), up])
        self._set_off(direction, way.length, estimate)
        if way.altitude is not None:
            self._follower = BottomFollower(
                altitude=way.altitude,
                height=float(self._position[2]),
                heave=Heave(
                    climb=scale * RISE.cruise,
                    dive=scale * DIVE.cruise,
                    acceleration=RISE.acceleration,
                ),
                shallowest=_SHALLOWEST,
            )

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
        """Return the distance [m] or angle [deg] made good along the maneuver so far.

        Of `Action.GO` it is the distance ahead on the new heading.
        """
        if self._action is Action.GO:
            way = np.array(estimate.pose.position) - self._start
            c, s = math.cos(self._yaw), math.sin(self._yaw)
            return 0.0 if self._turn else float(c * way[0] + s * way[1])
        return self._made(estimate)

    def _made(self, estimate: Estimate) -> float:
        """Return what is made of the present profile [m or deg]."""
        if self._turn:
            swung = wrap_angle(_heading(estimate) - self._last_yaw)
            return math.degrees(self._turn * (self._turned + swung))
        return float(self._direction @ (np.array(estimate.pose.position) - self._start))

    def finish(self, estimate: Estimate, end_reason: EndReason) -> ManeuverResult:
        """End the maneuver, hold station at its setpoint, and say what it came to."""
        applied = self.progress(estimate)
        self._mode = _Mode.HOLD
        result = ManeuverResult(
            action=self._action,
            requested=self._requested,
            applied=applied,
            saturated=self._saturated,
            end_reason=end_reason,
            t_start=self._t_start,
            t_end=estimate.stamp,
        )
        if self._action is not Action.GO:
            return result
        slowed = self._follower is not None and applied < self._requested - _CUT_SHORT_M
        swung = self._turned + wrap_angle(_heading(estimate) - self._last_yaw)
        return replace(
            result,
            saturated=self._saturated or slowed,
            course=self._course,
            turned_deg=math.degrees(swung),
            climbed_m=float(estimate.pose.position[2] - self._start[2]),
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
        if self._way is not None and self._has_turned(estimate):
            self._set_off_on(self._way, estimate)
        follower = self._follower
        if follower is not None:
            self._limits = self._limits_over(follower, estimate)
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
        made, leash = self._made(estimate), _LEASH_M
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
        velocity, acceleration = self._direction * speed, self._direction * change
        if follower is not None:
            follower.update(
                reading=estimate.altitude,
                along=made,
                z=estimate.pose.position[2],
                speed=speed,
                left=left,
                dt=dt,
            )
            self._position[2] = follower.height
            velocity[2], acceleration[2] = follower.rate, follower.change
        return _reference(self._position, self._yaw, velocity=velocity, acceleration=acceleration)

    def _limits_over(self, follower: BottomFollower, estimate: Estimate) -> AxisLimits:
        """Return the limits ahead over a seabed of the slope and clearance that are known."""
        scale = self.autopilot.speed_scale
        along = way_limits(1.0, follower.slope, scale).cruise
        share = follower.share(self._made(estimate), estimate.pose.position[2])
        return AxisLimits(
            cruise=share * along / math.hypot(1.0, follower.slope),
            acceleration=SURGE.acceleration,
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
