"""The autopilot: follows a reference position, heading and level attitude with eight thrusters."""

from __future__ import annotations

from dataclasses import dataclass
import math
from typing import Protocol

import numpy as np

from oceangym_core.geometry import Array, Pose
from oceangym_sim.control.allocation import Allocator
from oceangym_sim.control.kernel import control, drive
from oceangym_sim.dynamics import thrusters
from oceangym_sim.dynamics.vehicle import VehicleParameters
from oceangym_sim.dynamics.water_column import Environment

_SHALLOWEST = -0.3  # m: a reference above this would pull the thrusters out of the water


class Estimate(Protocol):
    """What the autopilot needs to know; `NavigationState` has it."""

    @property
    def stamp(self) -> float:
        """Simulation time [s]."""

    @property
    def pose(self) -> Pose:
        """base_link in odom."""

    @property
    def linear_velocity(self) -> tuple[float, float, float]:
        """Over ground, in base_link [m/s]."""

    @property
    def angular_velocity(self) -> tuple[float, float, float]:
        """In base_link [rad/s]."""

    @property
    def altitude(self) -> float:
        """Above the seabed, by the altimeter [m]; inf without a return. For bottom following only."""


@dataclass(frozen=True, kw_only=True)
class Gains:
    """Bandwidths, chosen for 20 Hz and a thruster lag of 0.12 s, halved by the lead (0.09 s of delay).

    Attributes:
        position: [1/s].
        correction_limit: Fastest approach to the reference position [m/s].
        velocity, velocity_integral: [1/s], [1/s2].
        attitude, rate, attitude_integral: [1/s2], [1/s], [1/s3].
        current_limit, force_limit, moment_limit: Of what is learned [m/s], [N], [N m].
    """

    position: float = 0.9
    correction_limit: float = 0.35
    velocity: float = 2.2
    velocity_integral: float = 0.6
    attitude: float = 10.0
    rate: float = 6.0
    attitude_integral: float = 5.0
    current_limit: float = 1.0
    force_limit: float = 40.0
    moment_limit: float = 3.0

    @property
    def array(self) -> Array:
        """The values in the order of the compiled law."""
        return np.array(
            [
                self.position,
                self.correction_limit,
                self.velocity,
                self.velocity_integral,
                self.attitude,
                self.rate,
                self.attitude_integral,
                self.current_limit,
                self.force_limit,
                self.moment_limit,
            ]
        )


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Where to be: position, velocity, acceleration in odom; heading, its rate and acceleration."""

    position: tuple[float, float, float]
    yaw: float
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    acceleration: tuple[float, float, float] = (0.0, 0.0, 0.0)
    yaw_rate: float = 0.0
    yaw_acceleration: float = 0.0


class Autopilot:
    """Position, depth, heading, roll and pitch control; one class for every simulator backend.

    Drag, added mass, trim, the Munk moment and the pitch moment of the horizontal thrusters are fed
    forward; integrators learn the rest (a current, trim) and stop where thrust runs out.
    """

    def __init__(
        self,
        *,
        parameters: VehicleParameters,
        environment: Environment | None = None,
        gains: Gains | None = None,
        voltage: float = 16.0,
        lead: float = 1.0,
    ) -> None:
        """Prepare for a vehicle.

        Args:
            parameters: The vehicle.
            environment: Its water, of which density and gravity are used for trim.
            gains: Bandwidths.
            voltage: Of the supply [V].
            lead: How much of the thrusters' lag is driven out: 1 halves it. 0 for a backend whose
                thrusters have none.
        """
        water = environment if environment is not None else Environment()
        count = len(parameters.thrusters)
        self._gains = (gains if gains is not None else Gains()).array
        self._mass = np.ascontiguousarray(parameters.mass_matrix)
        self._linear = np.ascontiguousarray(parameters.linear_damping)
        self._quadratic = np.ascontiguousarray(parameters.quadratic_damping)
        self._trim = water.gravity * (water.density * parameters.volume - parameters.mass)
        self._allocator = Allocator(
            matrix=parameters.thruster_matrix, limits=thrusters.thrust_limits(voltage)
        )
        self._voltage = voltage
        self._scales = _scales(voltage)
        self._lead = lead
        self._lag = np.maximum([t.lag for t in parameters.thrusters], 1e-6)
        self._expected = np.zeros(count)
        self._tick, self._share = 0.0, np.zeros(count)
        self._memory = np.zeros(6)
        self._reference = np.zeros(12)
        self._pose, self._velocity = np.zeros(7), np.zeros(6)
        self.thrust: Array = np.zeros(count)
        self.wrench: Array = np.zeros(6)
        self.served: Array = np.zeros(6)

    def reset(self) -> None:
        """Forget what the integrators learned."""
        self._memory[:] = 0.0
        self._expected[:] = 0.0
        self.served[:] = 0.0

    def set_voltage(self, voltage: float) -> None:
        """Tell the supply voltage [V], which limits thrust."""
        if abs(voltage - self._voltage) > 0.05:
            self._voltage = voltage
            self._allocator.set_limits(thrusters.thrust_limits(voltage))
            self._scales = _scales(voltage)

    @property
    def voltage(self) -> float:
        """The supply voltage that it reckons with [V]."""
        return self._voltage

    @property
    def speed_scale(self) -> float:
        """Share of its speed at 16 V that the vehicle keeps at this voltage; drag goes with v^2."""
        _, nominal = thrusters.thrust_limits()
        _, now = thrusters.thrust_limits(self._voltage)
        return min(math.sqrt(now / nominal), 1.0)

    def update(self, estimate: Estimate, reference: Reference, dt: float) -> Array:
        """Return the throttles (T,) -1..1 for the next `dt` [s]; `thrust` holds them in newtons.

        An estimate that is not finite gives zero throttle.
        """
        r = self._reference
        r[0:3], r[3:6], r[6:9] = reference.position, reference.velocity, reference.acceleration
        r[2] = min(r[2], _SHALLOWEST)
        r[9], r[10], r[11] = reference.yaw, reference.yaw_rate, reference.yaw_acceleration
        self._pose[:3], self._pose[3:] = estimate.pose.position, estimate.pose.quaternion
        self._velocity[:3] = estimate.linear_velocity
        self._velocity[3:] = estimate.angular_velocity
        throttle = np.zeros(len(self.thrust))
        if not math.isfinite(float(self._pose.sum() + self._velocity.sum() + r.sum())):
            self.thrust[:] = 0.0
            return throttle
        a = self._allocator
        control(
            self._pose, self._velocity, r, self._memory, self._gains, self._mass, self._linear,
            self._quadratic, self._trim, a.inverse, a.null, a.low, a.high, dt, self.thrust,
            self.wrench, self.served,
        )  # fmt: skip
        drive(
            self.thrust, self._expected, self._follow(dt), self._lead, a.low, a.high,
            thrusters.CURVE_16V, self._scales, throttle,
        )  # fmt: skip
        return throttle

    def _follow(self, dt: float) -> Array:
        """Return the share of a change that each thruster makes within `dt`."""
        if self._tick != dt:
            self._tick = dt
            self._share = -np.expm1(-dt / self._lag)
        return self._share


def _scales(voltage: float) -> Array:
    scale = thrusters.voltage_scale(voltage)
    return np.array([scale.forward, scale.reverse, scale.dead_band])
