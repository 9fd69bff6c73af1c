"""Compiled control law and thrust allocation (see `autopilot` and `allocation`)."""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from oceangym_core.geometry import Array

# Rows of the wrench in the order in which they are served.
_PRIORITY = ((3, 4), (2, 2), (5, 5), (0, 1))
_NULL_REACH = 40.0  # N of thrust that may be shifted without changing the wrench
_NULL_ITERATIONS = 24
_DEAD_BAND_16V = 28.0  # us
_SLEW = 300.0  # N/s
_SLOPE_FLOOR = 40.0  # N s/m: keeps the learned current calm where drag has no slope


@nb.njit(cache=True)
def _room(thrust: Array, change: Array, low: Array, high: Array) -> float:
    """Return the largest s with low <= thrust + s change <= high (negative if there is none)."""
    scale = 1e9
    for i in range(thrust.shape[0]):
        over = max(thrust[i] - high[i], low[i] - thrust[i])
        if over > 1e-9:
            return float(-over)
        if change[i] > 1e-12:
            scale = min(scale, (high[i] - thrust[i]) / change[i])
        elif change[i] < -1e-12:
            scale = min(scale, (low[i] - thrust[i]) / change[i])
    return scale


@nb.njit(cache=True)
def allocate(
    wrench: Array,
    inverse: Array,
    null: Array,
    low: Array,
    high: Array,
    thrust: Array,
    served: Array,
) -> None:
    """Fill `thrust` (T,) and the `served` part of `wrench` (6,).

    Roll and pitch are served first, then heave, yaw, and last surge and sway together; each gets as
    much as the limits leave after those before it. A column of `inverse` gives one wrench component
    and nothing else: that of surge already holds the vertical thrust against the pitch moment of
    the horizontal thrusters.
    """
    count = thrust.shape[0]
    change, trial = np.empty(count), np.empty(count)
    thrust[:] = 0.0
    for first, last in _PRIORITY:
        for i in range(count):
            change[i] = 0.0
            for k in range(first, last + 1):
                change[i] += inverse[i, k] * wrench[k]
        scale = min(_room(thrust, change, low, high), 1.0)
        for n in range(null.shape[1]):
            if scale >= 1.0:
                break
            # The room is concave in a shift along the null space: bisect its peak by thirds.
            left, right = -_NULL_REACH, _NULL_REACH
            for _ in range(_NULL_ITERATIONS):
                a, b = left + (right - left) / 3.0, right - (right - left) / 3.0
                for i in range(count):
                    trial[i] = thrust[i] + a * null[i, n]
                room_a = _room(trial, change, low, high)
                for i in range(count):
                    trial[i] = thrust[i] + b * null[i, n]
                if room_a < _room(trial, change, low, high):
                    left = a
                else:
                    right = b
            shift = 0.5 * (left + right)
            for i in range(count):
                trial[i] = thrust[i] + shift * null[i, n]
            room = _room(trial, change, low, high)
            if room > scale:
                scale = min(room, 1.0)
                thrust[:] = trial
        scale = max(scale, 0.0)
        for i in range(count):
            thrust[i] += scale * change[i]
        for k in range(first, last + 1):
            served[k] = scale * wrench[k]


@nb.njit(cache=True)
def control(
    pose: Array,
    velocity: Array,
    reference: Array,
    memory: Array,
    gains: Array,
    mass: Array,
    linear: Array,
    quadratic: Array,
    trim: float,
    inverse: Array,
    null: Array,
    low: Array,
    high: Array,
    dt: float,
    thrust: Array,
    wrench: Array,
    served: Array,
) -> None:
    """Fill the thrusts that follow a reference.

    `pose` (7,) and `velocity` (6,) are the estimate. `reference` (12,) holds position, velocity and
    acceleration in odom, then yaw, yaw rate and yaw acceleration. `memory` (6,) is what was learned
    and is updated: current x, y in odom [m/s], force up [N], moment in base_link [N m]. `gains` are
    those of `autopilot.Gains.array`, `trim` the net buoyancy [N]; the rest is the vehicle's and the
    allocation's. Filled are `thrust` (T,), the wanted `wrench` (6,) and its `served` part,
    which must hold that of the tick before.
    """
    x, y, z, w = pose[3], pose[4], pose[5], pose[6]
    r = np.empty((3, 3))
    r[0, 0] = 1 - 2 * (y * y + z * z)
    r[0, 1] = 2 * (x * y - z * w)
    r[0, 2] = 2 * (x * z + y * w)
    r[1, 0] = 2 * (x * y + z * w)
    r[1, 1] = 1 - 2 * (x * x + z * z)
    r[1, 2] = 2 * (y * z - x * w)
    r[2, 0] = 2 * (x * z - y * w)
    r[2, 1] = 2 * (y * z + x * w)
    r[2, 2] = 1 - 2 * (x * x + y * y)
    command, error, wanted = np.empty(3), np.empty(6), np.empty(3)
    ground = np.empty(3)
    size = 0.0
    for i in range(3):
        command[i] = gains[0] * (reference[i] - pose[i])
        size += command[i] * command[i]
    limit = min(1.0, gains[1] / max(math.sqrt(size), 1e-9))
    for i in range(3):
        command[i] = command[i] * limit + reference[3 + i]
        ground[i] = r[i, 0] * velocity[0] + r[i, 1] * velocity[1] + r[i, 2] * velocity[2]
        error[i] = command[i] - ground[i]
        wanted[i] = reference[6 + i] + gains[2] * error[i]
    # Attitude error: the rotation from here to level at the wanted heading, in base_link.
    cz, sz = math.cos(reference[9] / 2), math.sin(reference[9] / 2)
    qw = w * cz + z * sz
    sign = 2.0 if qw >= 0 else -2.0
    error[3] = sign * (-x * cz - y * sz)
    error[4] = sign * (-y * cz + x * sz)
    error[5] = sign * (w * sz - z * cz)
    # The learned current is part of what the hull must move through.
    command[0] -= memory[0]
    command[1] -= memory[1]
    body_command, acceleration = np.empty(6), np.empty(6)
    for i in range(3):
        body_command[i] = r[0, i] * command[0] + r[1, i] * command[1] + r[2, i] * command[2]
        acceleration[i] = r[0, i] * wanted[0] + r[1, i] * wanted[1] + r[2, i] * wanted[2]
        body_command[3 + i] = r[2, i] * reference[10]
        acceleration[3 + i] = (
            r[2, i] * reference[11]
            + gains[4] * error[3 + i]
            + gains[5] * (body_command[3 + i] - velocity[3 + i])
        )
    for i in range(6):
        wrench[i] = quadratic[i] * abs(body_command[i]) * body_command[i]
        for j in range(6):
            wrench[i] += mass[i, j] * acceleration[j] + linear[i, j] * body_command[j]
    # The Munk moment is fed forward as for a level hull, from the speed through the water that is
    # made, not wanted: thrust may have run out. Its change with attitude is not fed forward: through
    # the thrusters' delay that would take damping away. Where it turns the hull away (surge and
    # pitch above all) stiffness grows by what it takes.
    level, asked = np.empty(3), np.empty(3)
    norm = 1.0 / max(math.hypot(r[0, 0], r[1, 0]), 1e-6)
    ch, sh = r[0, 0] * norm, r[1, 0] * norm
    east = ground[0] - memory[0]
    north = ground[1] - memory[1]
    level[0] = ch * east + sh * north
    level[1] = ch * north - sh * east
    level[2] = ground[2]
    # A current that has not been learned yet hides behind the command that it resists.
    asked[0] = ch * command[0] + sh * command[1]
    asked[1] = ch * command[1] - sh * command[0]
    asked[2] = command[2]
    for i in range(3):
        wrench[i] += (memory[2] - trim) * r[2, i]
        wrench[3 + i] += memory[3 + i]
        j, k = (i + 1) % 3, (i + 2) % 3
        wrench[3 + i] -= (mass[j, j] - mass[k, k]) * level[j] * level[k]
        lever = mass[j, j] - mass[k, k]
        if lever > 0:
            lever *= max(level[k] ** 2, asked[k] ** 2) - min(level[j] ** 2, asked[j] ** 2)
        else:
            lever *= min(level[k] ** 2, asked[k] ** 2) - max(level[j] ** 2, asked[j] ** 2)
        wrench[3 + i] += max(lever, 0.0) * error[3 + i]
    # Surge and sway change no faster than every thruster can follow alike: where the lead of some
    # were cut off at their limits, the vertical thrust against their pitch moment would run ahead.
    for i in range(2):
        wrench[i] = min(max(wrench[i], served[i] - _SLEW * dt), served[i] + _SLEW * dt)
    allocate(wrench, inverse, null, low, high, thrust, served)
    # Anti-windup: an axis that the thrusters cannot serve does not integrate further that way.
    step = np.empty(6)
    missing = np.empty(6)
    for i in range(6):
        missing[i] = wrench[i] - served[i]
    for i in range(3):
        step[i] = gains[3] * mass[i, i] * error[i]
        step[3 + i] = gains[6] * mass[3 + i, 3 + i] * error[3 + i]
        lacking = r[i, 0] * missing[0] + r[i, 1] * missing[1] + r[i, 2] * missing[2]
        if abs(lacking) > 1e-6 and lacking * step[i] > 0:
            step[i] = 0.0
        if abs(missing[3 + i]) > 1e-6 and missing[3 + i] * step[3 + i] > 0:
            step[3 + i] = 0.0
    memory[2] = min(max(memory[2] + dt * step[2], -gains[8]), gains[8])
    # Horizontally the integral is a current, through the slope of drag at the commanded speed.
    slope = _SLOPE_FLOOR + linear[0, 0] + 2 * quadratic[0] * math.hypot(command[0], command[1])
    for i in range(2):
        memory[i] = min(max(memory[i] - dt * step[i] / slope, -gains[7]), gains[7])
    for i in range(3):
        memory[3 + i] = min(max(memory[3 + i] + dt * step[3 + i], -gains[9]), gains[9])


@nb.njit(cache=True)
def drive(
    thrust: Array,
    expected: Array,
    follow: Array,
    lead: float,
    low: Array,
    high: Array,
    curve: Array,
    scales: Array,
    throttle: Array,
) -> None:
    """Fill the throttles -1..1 that give thrusts, with part of the thrusters' lag driven out.

    `thrust` (T,) is wanted [N]; `expected` (T,) is what the thrusters are believed to give [N] and
    is updated, each making the share `follow` (T,) of a change within the tick. `lead` is the share
    of the expected shortfall that is added, within `low` and `high` [N]. `curve` is the thrust at
    16 V for each microsecond of pulse width, `scales` the factors of forward and reverse thrust and
    the half dead band [us] at the supply voltage.
    """
    middle = (curve.shape[0] - 1) // 2
    stretch = (middle - scales[2]) / (middle - _DEAD_BAND_16V)
    for i in range(thrust.shape[0]):
        wanted = thrust[i] + lead * (thrust[i] - expected[i])
        wanted = min(max(wanted, low[i]), high[i])
        expected[i] += (wanted - expected[i]) * follow[i]
        ahead = wanted > 0
        at_16v = abs(wanted) / (scales[0] if ahead else scales[1])
        if at_16v < 1e-9:
            throttle[i] = 0.0
            continue
        # Bisect the monotone curve, from the dead band's edge to full throttle.
        sign = 1 if ahead else -1
        near, far = int(_DEAD_BAND_16V), middle
        while far - near > 1:
            half = (near + far) // 2
            if abs(curve[middle + sign * half]) > at_16v:
                far = half
            else:
                near = half
        below, above = abs(curve[middle + sign * near]), abs(curve[middle + sign * far])
        part = min((at_16v - below) / (above - below), 1.0)
        pulse = scales[2] + (near + part - _DEAD_BAND_16V) * stretch
        throttle[i] = sign * min(pulse / middle, 1.0)
