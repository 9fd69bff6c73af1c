"""The compiled step of the vehicle dynamics. All compiled code is in this one file, because a cached
kernel is rebuilt only when its own file changes.

One step of dt solves for the velocity relative to the water, in body axes (Fossen 2011, eq. 6.42)

    (M + dt C(v) + dt (D_l + D_q |v|) + dt^2/2 K) v' = M v + dt tau,    M = M_RB + M_A

with damping, Coriolis and the change of the hydrostatic forces over the step (K) implicit. C is
skew, so it can do no work on v'; the hydrostatic work is that of the midpoint attitude, i.e. the
change of potential. A passive vehicle in still water therefore loses energy in every step, whatever
dt and whatever the ratio of added mass to mass. In a uniform current the same equation holds in the
frame that drifts with the water.
"""

from __future__ import annotations

import math
from typing import Any

import numba as nb
import numpy as np

from oceangym_core.geometry import Array

# Columns of a state row.
POSITION, QUATERNION, VELOCITY, ENERGY, THRUST = 0, 3, 7, 13, 14
# Entries of the `body` array.
WEIGHT, BUOYANCY, GRAVITY_CENTRE, BUOYANCY_CENTRE, HULL_HEIGHT, ROTOR_DIAMETER = 0, 1, 2, 5, 8, 9
BODY_SIZE = 10
# Entries of the `supply` array; the voltage table follows.
SUPPLY_LIMITS, SUPPLY_CAPACITY, SUPPLY_CELLS, SUPPLY_RESISTANCE, SUPPLY_HOTEL = 0, 1, 2, 3, 4
SUPPLY_FORWARD_POWER, SUPPLY_REVERSE_POWER, SUPPLY_SIZE = 5, 6, 7

NO_CONTACT = 1e9
MAX_SPEED = 25.0  # m/s and rad/s: ten times what water lets the vehicle reach
MAX_COORDINATE = 1e6  # m
_FRICTION = 0.4
_CONTACT_SWEEPS = 6
_SLOP = 0.002  # m of penetration that is left alone, so that a resting hull does not chatter
_PUSH_RATE = 0.2  # of the penetration, each substep
_MAX_PUSH = 0.02  # m each substep
_NOMINAL_VOLTAGE = 16.0
_CURVE_HALF = 400.0
_DEAD_BAND_16V = 28.0


@nb.njit(cache=True)
def open_circuit_voltage(charge: float) -> float:
    """Return a lithium-ion cell's voltage [V] at a charge of 0..1."""
    if charge > 0.9:
        return 4.05 + (min(charge, 1.0) - 0.9) * 1.5
    if charge > 0.5:
        return 3.75 + (charge - 0.5) * 0.75
    if charge > 0.1:
        return 3.55 + (charge - 0.1) * 0.5
    return 3.2 + max(charge, 0.0) * 3.5


@nb.njit(cache=True)
def supply_voltage(row: Array, supply: Array) -> float:
    """Return the voltage at the thrusters [V]: nominal, or sagging with charge and load."""
    if supply[SUPPLY_LIMITS] == 0.0:
        return _NOMINAL_VOLTAGE
    charge = 1.0 - row[ENERGY] / supply[SUPPLY_CAPACITY]
    if charge <= 0.0:
        return 0.0
    open_circuit = supply[SUPPLY_CELLS] * open_circuit_voltage(charge)
    power = supply[SUPPLY_HOTEL]
    for j in range(THRUST, row.shape[0]):
        power += thrust_power(row[j], supply)
    # V = E - R P / V, the upper root; half of E is all that a source can deliver power at.
    root = open_circuit * open_circuit - 4.0 * supply[SUPPLY_RESISTANCE] * power
    return float(0.5 * (open_circuit + math.sqrt(max(root, 0.0))))


@nb.njit(cache=True)
def thrust_power(thrust: float, supply: Array) -> float:
    """Return the electrical power [W] of one thrust [N]."""
    factor = supply[SUPPLY_FORWARD_POWER] if thrust > 0 else supply[SUPPLY_REVERSE_POWER]
    size = abs(thrust)
    return float(factor * size * math.sqrt(size))


@nb.njit(cache=True)
def t200_thrust(throttle: float, scales: Array, curve: Array) -> float:
    """Return the steady thrust [N]; `scales` is (forward, reverse, dead band [us])."""
    if not math.isfinite(throttle):
        return 0.0
    pulse = min(max(throttle, -1.0), 1.0) * _CURVE_HALF
    beyond = abs(pulse) - scales[2]
    if beyond <= 0.0:
        return 0.0
    stretch = (_CURVE_HALF - _DEAD_BAND_16V) / (_CURVE_HALF - scales[2])
    at_16v = _DEAD_BAND_16V + beyond * stretch
    place = _CURVE_HALF + (at_16v if pulse > 0 else -at_16v)
    i = min(int(place), curve.shape[0] - 2)
    part = place - i
    thrust = curve[i] * (1.0 - part) + curve[i + 1] * part
    return float(thrust * (scales[0] if thrust > 0 else scales[1]))


@nb.njit(cache=True)
def _set_scales(voltage: float, table: Array, scales: Array) -> None:
    """Fill `scales` from the voltage table, rows (V, forward, reverse, dead band)."""
    if voltage <= 0.0:
        scales[0] = scales[1] = 0.0
        scales[2] = _DEAD_BAND_16V
        return
    last = table.shape[0] - 1
    v = min(max(voltage, table[0, 0]), table[last, 0])
    i = 0
    while i < last - 1 and v > table[i + 1, 0]:
        i += 1
    part = (v - table[i, 0]) / (table[i + 1, 0] - table[i, 0])
    for c in range(3):
        scales[c] = table[i, c + 1] * (1.0 - part) + table[i + 1, c + 1] * part


@nb.njit(cache=True)
def _rotation(row: Array, r: Array) -> None:
    """Fill `r` (3, 3), body to map, from the state's quaternion."""
    x, y, z, w = row[3], row[4], row[5], row[6]
    r[0, 0] = 1 - 2 * (y * y + z * z)
    r[0, 1] = 2 * (x * y - z * w)
    r[0, 2] = 2 * (x * z + y * w)
    r[1, 0] = 2 * (x * y + z * w)
    r[1, 1] = 1 - 2 * (x * x + z * z)
    r[1, 2] = 2 * (y * z - x * w)
    r[2, 0] = 2 * (x * z - y * w)
    r[2, 1] = 2 * (y * z + x * w)
    r[2, 2] = 1 - 2 * (x * x + y * y)


@nb.njit(cache=True)
def _turn(row: Array, wx: float, wy: float, wz: float, dt: float) -> None:
    """Advance the state's quaternion by the exponential map of body rates [rad/s]."""
    rate = math.sqrt(wx * wx + wy * wy + wz * wz)
    half = 0.5 * dt * rate
    s = 0.5 * dt * (1.0 - half * half / 6.0) if half < 1e-4 else math.sin(half) / rate
    c = math.cos(half)
    ex, ey, ez = wx * s, wy * s, wz * s
    x, y, z, w = row[3], row[4], row[5], row[6]
    qx = w * ex + x * c + y * ez - z * ey
    qy = w * ey - x * ez + y * c + z * ex
    qz = w * ez + x * ey - y * ex + z * c
    qw = w * c - x * ex - y * ey - z * ez
    norm = 1.0 / math.sqrt(qx * qx + qy * qy + qz * qz + qw * qw)
    row[3], row[4], row[5], row[6] = qx * norm, qy * norm, qz * norm, qw * norm


@nb.njit(cache=True)
def _solve(a: Array, x: Array) -> None:
    """Solve a x' = x in place by Gaussian elimination.

    The symmetric part of `a` is positive definite, so that no pivoting is needed.
    """
    for k in range(6):
        inverse = 1.0 / a[k, k]
        for i in range(k + 1, 6):
            factor = a[i, k] * inverse
            for j in range(k + 1, 6):
                a[i, j] -= factor * a[k, j]
            x[i] -= factor * x[k]
    for k in range(5, -1, -1):
        total = x[k]
        for j in range(k + 1, 6):
            total -= a[k, j] * x[j]
        x[k] = total / a[k, k]


@nb.njit(cache=True)
def _hydrostatics(
    a: Array, b: Array, r: Array, body: Array, wet: float, fading: bool, dt: float
) -> None:
    """Add weight and buoyancy over one step to the system a v' = b."""
    zx, zy, zz = r[2, 0], r[2, 1], r[2, 2]
    lift = body[BUOYANCY] * wet
    net = lift - body[WEIGHT]
    cx = lift * body[5] - body[WEIGHT] * body[2]
    cy = lift * body[6] - body[WEIGHT] * body[3]
    cz = lift * body[7] - body[WEIGHT] * body[4]
    b[0] += dt * net * zx
    b[1] += dt * net * zy
    b[2] += dt * net * zz
    b[3] += dt * (cy * zz - cz * zy)
    b[4] += dt * (cz * zx - cx * zz)
    b[5] += dt * (cx * zy - cy * zx)
    # The up vector turns by dt (up x w); half of that is its mean over the step.
    half = 0.5 * dt * dt
    f = half * net
    a[0, 4] += f * zz
    a[0, 5] -= f * zy
    a[1, 3] -= f * zz
    a[1, 5] += f * zx
    a[2, 3] += f * zy
    a[2, 4] -= f * zx
    # -S(c) S(up) = c.up I - up c^T.
    dot = cx * zx + cy * zy + cz * zz
    a[3, 3] += half * (dot - zx * cx)
    a[3, 4] -= half * zx * cy
    a[3, 5] -= half * zx * cz
    a[4, 3] -= half * zy * cx
    a[4, 4] += half * (dot - zy * cy)
    a[4, 5] -= half * zy * cz
    a[5, 3] -= half * zz * cx
    a[5, 4] -= half * zz * cy
    a[5, 5] += half * (dot - zz * cz)
    if fading:
        # At the surface buoyancy changes with height: the water-plane stiffness.
        k = half * body[BUOYANCY] / body[HULL_HEIGHT]
        j3 = body[6] * zz - body[7] * zy
        j4 = body[7] * zx - body[5] * zz
        j5 = body[5] * zy - body[6] * zx
        jac = (zx, zy, zz, j3, j4, j5)
        for i in range(6):
            for j in range(6):
                a[i, j] += k * jac[i] * jac[j]


@nb.njit(cache=True)
def _contact(
    row: Array,
    v: Array,
    r: Array,
    water: Array,
    spheres: Array,
    planes: Array,
    inverse_mass: Array,
    work: Array,
    closing: Array,
    dt: float,
) -> None:
    """Stop the hull's spheres at their tangent planes by impulses with Coulomb friction.

    An impulse only removes closing speed, and overlap is undone by moving the vehicle without giving
    it speed, so that no contact can add energy of motion.
    """
    count = spheres.shape[0]
    touching = False
    for c in range(count):
        work[c, 0] = 0.0
        work[c, 1] = NO_CONTACT
        if planes[c, 3] >= NO_CONTACT:
            continue
        sx, sy, sz = spheres[c, 0], spheres[c, 1], spheres[c, 2]
        px = row[0] + r[0, 0] * sx + r[0, 1] * sy + r[0, 2] * sz
        py = row[1] + r[1, 0] * sx + r[1, 1] * sy + r[1, 2] * sz
        pz = row[2] + r[2, 0] * sx + r[2, 1] * sy + r[2, 2] * sz
        nx, ny, nz = planes[c, 0], planes[c, 1], planes[c, 2]
        gap = nx * px + ny * py + nz * pz + planes[c, 3] - spheres[c, 3]
        if gap > MAX_SPEED * dt:
            continue
        # Normal in body axes and the contact point below the sphere's centre.
        bx = r[0, 0] * nx + r[1, 0] * ny + r[2, 0] * nz
        by = r[0, 1] * nx + r[1, 1] * ny + r[2, 1] * nz
        bz = r[0, 2] * nx + r[1, 2] * ny + r[2, 2] * nz
        ax, ay, az = sx - spheres[c, 3] * bx, sy - spheres[c, 3] * by, sz - spheres[c, 3] * bz
        work[c, 1] = gap
        work[c, 2], work[c, 3], work[c, 4] = bx, by, bz
        work[c, 5] = ay * bz - az * by
        work[c, 6] = az * bx - ax * bz
        work[c, 7] = ax * by - ay * bx
        work[c, 8], work[c, 9], work[c, 10] = ax, ay, az
        drift = nx * water[0] + ny * water[1] + nz * water[2]
        approach = drift
        for i in range(6):
            approach += work[c, 2 + i] * v[i]
        work[c, 11] = drift
        work[c, 12] = -max(gap, 0.0) / dt
        if approach < work[c, 12]:
            touching = True
            closing[c] = max(closing[c], -approach)
        if gap < -_SLOP:
            push = min(_PUSH_RATE * (-gap - _SLOP), _MAX_PUSH)
            row[0] += push * nx
            row[1] += push * ny
            row[2] += push * nz
            closing[c] = max(closing[c], 0.0)
    if not touching:
        return
    for _ in range(_CONTACT_SWEEPS):
        for c in range(count):
            if work[c, 1] >= NO_CONTACT:
                continue
            speed = work[c, 11]
            for i in range(6):
                speed += work[c, 2 + i] * v[i]
            response = 0.0
            for i in range(6):
                for j in range(6):
                    response += work[c, 2 + i] * inverse_mass[i, j] * work[c, 2 + j]
            impulse = max(work[c, 0] + (work[c, 12] - speed) / response, 0.0)
            change = impulse - work[c, 0]
            work[c, 0] = impulse
            for i in range(6):
                kick = 0.0
                for j in range(6):
                    kick += inverse_mass[i, j] * work[c, 2 + j]
                v[i] += change * kick
    wx = r[0, 0] * water[0] + r[1, 0] * water[1] + r[2, 0] * water[2]
    wy = r[0, 1] * water[0] + r[1, 1] * water[1] + r[2, 1] * water[2]
    wz = r[0, 2] * water[0] + r[1, 2] * water[1] + r[2, 2] * water[2]
    for c in range(count):
        if work[c, 1] >= NO_CONTACT or work[c, 0] <= 0.0:
            continue
        ax, ay, az = work[c, 8], work[c, 9], work[c, 10]
        ux = v[0] + v[4] * az - v[5] * ay + wx
        uy = v[1] + v[5] * ax - v[3] * az + wy
        uz = v[2] + v[3] * ay - v[4] * ax + wz
        along = ux * work[c, 2] + uy * work[c, 3] + uz * work[c, 4]
        tx, ty, tz = ux - along * work[c, 2], uy - along * work[c, 3], uz - along * work[c, 4]
        slip = math.sqrt(tx * tx + ty * ty + tz * tz)
        if slip < 1e-9:
            continue
        tx, ty, tz = tx / slip, ty / slip, tz / slip
        jac = (tx, ty, tz, ay * tz - az * ty, az * tx - ax * tz, ax * ty - ay * tx)
        response = 0.0
        for i in range(6):
            for j in range(6):
                response += jac[i] * inverse_mass[i, j] * jac[j]
        impulse = min(_FRICTION * work[c, 0], slip / response)
        for i in range(6):
            kick = 0.0
            for j in range(6):
                kick += inverse_mass[i, j] * jac[j]
            v[i] -= impulse * kick


@nb.njit(cache=True)
def _advance_range(
    first: int,
    last: int,
    state: Array,
    command: Array,
    newtons: bool,
    planes: Array,
    closing: Array,
    mass: Array,
    inverse_mass: Array,
    linear: Array,
    quadratic: Array,
    thruster_matrix: Array,
    thruster_place: Array,
    lag: Array,
    body: Array,
    supply: Array,
    voltage_table: Array,
    curve: Array,
    current: Array,
    spheres: Array,
    time: float,
    dt: float,
    substeps: int,
) -> None:
    """Advance the vehicles first..last-1 by `substeps` steps of dt."""
    a, v, r, water = np.empty((6, 6)), np.empty(6), np.empty((3, 3)), np.zeros(3)
    target, work = np.empty(thruster_place.shape[0]), np.empty((spheres.shape[0] + 1, 13))
    has_planes = planes.shape[0] == state.shape[0]
    # One function on purpose: handing thirty arrays to another costs as much as a step.
    thrusters = target.shape[0]
    scales = work[work.shape[0] - 1]
    for n in range(first, last):
        row = state[n]
        _set_scales(supply_voltage(row, supply), voltage_table, scales)
        for j in range(thrusters):
            if newtons:
                c = command[n, j]
                low, high = curve[0] * scales[1], curve[curve.shape[0] - 1] * scales[0]
                target[j] = min(max(c, low), high) if math.isfinite(c) else 0.0
            else:
                target[j] = t200_thrust(command[n, j], scales, curve)
        _rotation(row, r)
        for step in range(substeps):
            if current[0] > 0.0:
                t = time + step * dt
                angle = (
                    current[1]
                    + current[2] * row[2]
                    + current[3] * math.sin(current[4] * t + current[5])
                )
                water[0], water[1], water[2] = (
                    current[0] * math.cos(angle),
                    current[0] * math.sin(angle),
                    0.0,
                )
            height = row[2] + r[2, 0] * body[5] + r[2, 1] * body[6] + r[2, 2] * body[7]
            wet = min(max(0.5 - height / body[HULL_HEIGHT], 0.0), 1.0)
            # Velocity relative to the water, and its momentum M v.
            for i in range(3):
                v[i] = row[7 + i]
                v[3 + i] = row[10 + i]
            if current[0] > 0.0:
                for i in range(3):
                    v[i] -= r[0, i] * water[0] + r[1, i] * water[1] + r[2, i] * water[2]
            m0 = m1 = m2 = m3 = m4 = m5 = 0.0
            for j in range(6):
                m0 += mass[0, j] * v[j]
                m1 += mass[1, j] * v[j]
                m2 += mass[2, j] * v[j]
                m3 += mass[3, j] * v[j]
                m4 += mass[4, j] * v[j]
                m5 += mass[5, j] * v[j]
            for i in range(6):
                for j in range(6):
                    a[i, j] = mass[i, j] + dt * wet * linear[i, j]
                a[i, i] += dt * wet * quadratic[i] * abs(v[i])
            # C v' = -(p x w', p x v' + l x w') of the momenta p, l (Fossen 2011, theorem 3.2).
            a[0, 4] += dt * m2
            a[0, 5] -= dt * m1
            a[1, 3] -= dt * m2
            a[1, 5] += dt * m0
            a[2, 3] += dt * m1
            a[2, 4] -= dt * m0
            a[3, 1] += dt * m2
            a[3, 2] -= dt * m1
            a[4, 0] -= dt * m2
            a[4, 2] += dt * m0
            a[5, 0] += dt * m1
            a[5, 1] -= dt * m0
            a[3, 4] += dt * m5
            a[3, 5] -= dt * m4
            a[4, 3] -= dt * m5
            a[4, 5] += dt * m3
            a[5, 3] += dt * m4
            a[5, 4] -= dt * m3
            v[0], v[1], v[2], v[3], v[4], v[5] = m0, m1, m2, m3, m4, m5
            power = supply[SUPPLY_HOTEL]
            for j in range(thrusters):
                before = row[THRUST + j]
                decay = lag[j, 0]
                row[THRUST + j] = target[j] + (before - target[j]) * decay
                # Mean of the exponential over the step: its impulse is exact.
                thrust = target[j] + (before - target[j]) * lag[j, 1]
                power += thrust_power(thrust, supply)
                depth = row[2] + (
                    r[2, 0] * thruster_place[j, 0]
                    + r[2, 1] * thruster_place[j, 1]
                    + r[2, 2] * thruster_place[j, 2]
                )
                push = dt * thrust * min(max(0.5 - depth / body[ROTOR_DIAMETER], 0.0), 1.0)
                for i in range(6):
                    v[i] += thruster_matrix[i, j] * push
            row[ENERGY] = min(row[ENERGY] + power * dt, 1e12)
            _hydrostatics(a, v, r, body, wet, 0.0 < wet < 1.0, dt)
            _solve(a, v)
            if has_planes:
                _contact(row, v, r, water, spheres, planes[n], inverse_mass, work, closing[n], dt)
            for i in range(6):
                v[i] = min(max(v[i], -MAX_SPEED), MAX_SPEED)
            # Position moves with the mean of the old and the new attitude, as the potential does.
            half = 0.5 * dt
            for i in range(3):
                row[i] += half * (r[i, 0] * v[0] + r[i, 1] * v[1] + r[i, 2] * v[2])
            _turn(row, v[3], v[4], v[5], dt)
            _rotation(row, r)
            for i in range(3):
                row[i] += half * (r[i, 0] * v[0] + r[i, 1] * v[1] + r[i, 2] * v[2]) + dt * water[i]
                row[i] = min(max(row[i], -MAX_COORDINATE), MAX_COORDINATE)
            for i in range(3):
                row[7 + i] = v[i] + (r[0, i] * water[0] + r[1, i] * water[1] + r[2, i] * water[2])
                row[10 + i] = v[3 + i]


# The type checker cannot see how many arrays `model` holds.
_advance_all: Any = _advance_range


@nb.njit(cache=True)
def advance(state: Array, command: Array, newtons: bool, planes: Array, closing: Array,
            model: tuple[Array, ...], time: float, dt: float, substeps: int) -> None:  # fmt: skip
    """Advance all vehicles in this thread. `planes` has no rows where nothing is near."""
    _advance_all(
        0, state.shape[0], state, command, newtons, planes, closing, *model, time, dt, substeps
    )


@nb.njit(cache=True, parallel=True)
def advance_parallel(state: Array, command: Array, newtons: bool, planes: Array, closing: Array,
                     model: tuple[Array, ...], time: float, dt: float, substeps: int) -> None:  # fmt: skip
    """Advance all vehicles in all threads; each vehicle's bits are those of `advance`."""
    count = state.shape[0]
    chunk = 64
    for k in nb.prange((count + chunk - 1) // chunk):
        _advance_all(
            k * chunk, min((k + 1) * chunk, count), state, command, newtons, planes, closing,
            *model, time, dt, substeps,
        )  # fmt: skip
