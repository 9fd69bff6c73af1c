"""Navigation sensors and the estimate made of them, seeded, from the true state."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
import math

import numpy as np

from oceangym_core.contract.actions import Timing
from oceangym_core.contract.observation import NavigationState
from oceangym_core.geometry import Array, multiply_quaternions, Pose, rotation_matrix
from oceangym_core.rng import generator
from oceangym_sim.dynamics.rigid_body import VehicleState
from oceangym_sim.dynamics.water_column import ATMOSPHERE_PA, Environment


class NavigationMode(str, Enum):
    """Where odometry comes from."""

    TRUTH = 'truth'
    DEAD_RECKONING = 'dead_reckoning'


@dataclass(frozen=True, kw_only=True)
class NavigationNoise:
    """One-sigma errors; those of IMU and DVL are HoloOcean's defaults.

    Attributes:
        accelerometer, accelerometer_bias: [m/s2].
        gyroscope, gyroscope_bias: [rad/s].
        tilt: Of roll and pitch [rad].
        heading, heading_time: Slow error of the compass [rad] and its correlation time [s].
        dvl, dvl_scale: [m/s], relative.
        dvl_near, dvl_far: Altitudes with bottom lock [m].
        pressure: [Pa].
        altitude: [m].
        truth_position, truth_attitude: Stated for exact odometry [m], [rad].
    """

    accelerometer: float = 2.77e-3
    accelerometer_bias: float = 1.41e-3
    gyroscope: float = 1.23e-3
    gyroscope_bias: float = 3.88e-3
    tilt: float = math.radians(0.1)
    heading: float = math.radians(1.0)
    heading_time: float = 900.0
    dvl: float = 0.02626
    dvl_scale: float = 0.003
    dvl_near: float = 0.1
    dvl_far: float = 50.0
    pressure: float = 100.0
    altitude: float = 0.02
    truth_position: float = 0.01
    truth_attitude: float = math.radians(0.1)


@dataclass(frozen=True, kw_only=True)
class ImuSample:
    """One IMU sample in base_link: attitude, rates [rad/s], specific force [m/s2] (+g up at rest)."""

    stamp: float
    orientation: tuple[float, float, float, float]
    angular_velocity: Array
    linear_acceleration: Array
    orientation_sigma: float
    angular_velocity_sigma: float
    linear_acceleration_sigma: float


@dataclass(frozen=True, kw_only=True)
class PressureSample:
    """Absolute water pressure [Pa] and its one-sigma error."""

    stamp: float
    pressure: float
    sigma: float


@dataclass(frozen=True, kw_only=True)
class DvlSample:
    """Velocity in base_link [m/s]: over ground with `bottom_lock`, else through the water."""

    stamp: float
    velocity: Array
    sigma: float
    bottom_lock: bool


# How strongly the estimate follows a DVL and a pressure sample; the IMU carries it between.
_DVL_GAIN = 0.3
_PRESSURE_GAIN = 0.2
_START_SIGMA = 0.1  # m
_DEPTH_SIGMA = 0.02  # m


class Navigation:
    """Samples the sensors each tick and keeps the navigation estimate.

    Dead reckoning starts at the true pose and integrates the IMU, corrected by DVL and pressure. Its
    heading carries a slow compass error, so that position drifts with the distance travelled; out
    of bottom lock it drifts with the current as well.
    """

    def __init__(
        self,
        *,
        environment: Environment,
        seed: int,
        mode: NavigationMode | str = NavigationMode.TRUTH,
        noise: NavigationNoise | None = None,
    ) -> None:
        """Prepare the sensors of one episode; call `reset` before `update`."""
        self.environment = environment
        self.mode = NavigationMode(mode)
        self.noise = noise if noise is not None else NavigationNoise()
        self._seed = seed

    def reset(self, state: VehicleState, *, seed: int | None = None) -> None:
        """Start an episode at a true state, with the noise of `seed` (that given at first)."""
        if seed is not None:
            self._seed = seed
        n = self.noise
        self._random = {
            name: generator(self._seed, f'navigation/{name}')
            for name in ('bias', 'imu', 'heading', 'dvl', 'pressure', 'altitude')
        }
        bias = self._random['bias']
        self._accelerometer_bias = bias.normal(0.0, n.accelerometer_bias, 3)
        self._gyroscope_bias = bias.normal(0.0, n.gyroscope_bias, 3)
        self._dvl_scale = 1.0 + bias.normal(0.0, n.dvl_scale)
        self._heading_error = 0.0
        self._truth = state
        self._rotation = state.pose.rotation
        self._ground = self._rotation @ state.linear_velocity
        self._acceleration = np.zeros(3)
        self._velocity = self._ground.copy()
        self._position = np.array(state.pose.position)
        self._travelled = self._unlocked = 0.0
        self._start = state.time
        self._next_dvl = state.time
        self._altitude = math.inf
        self._imu = self._sample_imu()
        self._dvl = self._sample_dvl()
        self._pressure = self._sample_pressure()

    def update(self, state: VehicleState, altitude: float) -> NavigationState:
        """Sample the sensors at a new true state and return the estimate.

        Args:
            state: Now; its time must not lie before the last one.
            altitude: True distance to the seabed along the downward beam [m]; inf without a return.
        """
        dt = state.time - self._truth.time
        self._rotation = state.pose.rotation
        ground = self._rotation @ state.linear_velocity
        if dt > 1e-9:
            self._acceleration = (ground - self._ground) / dt
            self._drift_heading(dt)
        self._ground, self._truth, self._altitude = ground, state, altitude
        self._imu = self._sample_imu()
        if state.time >= self._next_dvl - 1e-9:
            self._dvl = self._sample_dvl()
            self._pressure = self._sample_pressure()
            self._next_dvl = state.time + 1.0 / Timing().navigation_hz
        if self.mode is NavigationMode.TRUTH:
            return self._exact()
        self._reckon(dt)
        return self._reckoned()

    def imu(self) -> ImuSample:
        """Return the last IMU sample."""
        return self._imu

    def dvl(self) -> DvlSample:
        """Return the last DVL sample."""
        return self._dvl

    def pressure(self) -> PressureSample:
        """Return the last pressure sample."""
        return self._pressure

    def _drift_heading(self, dt: float) -> None:
        """Let the compass error wander as a first-order Gauss-Markov process from zero."""
        n = self.noise
        keep = math.exp(-dt / n.heading_time)
        kick = n.heading * math.sqrt(1.0 - keep * keep)
        self._heading_error = keep * self._heading_error + kick * float(
            self._random['heading'].standard_normal()
        )

    def _sample_imu(self) -> ImuSample:
        n, state, noise = self.noise, self._truth, self._random['imu'].standard_normal(8)
        push = self._acceleration.copy()
        push[2] += self.environment.gravity
        force = self._rotation.T @ push
        exact = self.mode is NavigationMode.TRUTH
        if exact:
            orientation = state.pose.quaternion
        else:
            half = self._heading_error / 2
            turned = multiply_quaternions(
                (0.0, 0.0, math.sin(half), math.cos(half)), state.pose.quaternion
            )
            tilt = 0.5 * n.tilt * noise[6:8]
            q = multiply_quaternions(turned, (tilt[0], tilt[1], 0.0, 1.0))
            qx, qy, qz, qw = (q / math.sqrt(float(q @ q))).tolist()
            orientation = (qx, qy, qz, qw)
        return ImuSample(
            stamp=state.time,
            orientation=orientation,
            angular_velocity=state.angular_velocity
            + self._gyroscope_bias
            + n.gyroscope * noise[0:3],
            linear_acceleration=force + self._accelerometer_bias + n.accelerometer * noise[3:6],
            orientation_sigma=n.truth_attitude if exact else math.hypot(n.heading, n.tilt),
            angular_velocity_sigma=math.hypot(n.gyroscope, n.gyroscope_bias),
            linear_acceleration_sigma=math.hypot(n.accelerometer, n.accelerometer_bias),
        )

    def _sample_dvl(self) -> DvlSample:
        n, state = self.noise, self._truth
        lock = n.dvl_near <= self._altitude <= n.dvl_far
        velocity = state.linear_velocity
        if not lock:
            water = self.environment.current.velocity(state.pose.position[2], state.time)
            velocity = velocity - self._rotation.T @ np.array(water)
        noise = n.dvl * self._random['dvl'].standard_normal(3)
        return DvlSample(
            stamp=state.time,
            velocity=self._dvl_scale * velocity + noise,
            sigma=n.dvl,
            bottom_lock=lock,
        )

    def _sample_pressure(self) -> PressureSample:
        n = self.noise
        true = self.environment.pressure(self._truth.pose.position[2])
        return PressureSample(
            stamp=self._truth.time,
            pressure=true + n.pressure * float(self._random['pressure'].standard_normal()),
            sigma=n.pressure,
        )

    def _reckon(self, dt: float) -> None:
        """Advance the estimate by one tick."""
        imu, e = self._imu, self.environment
        rotation = self._attitude = rotation_matrix(imu.orientation)
        acceleration = rotation @ imu.linear_acceleration
        acceleration[2] -= e.gravity
        self._velocity = self._velocity + dt * acceleration
        if self._dvl.stamp == imu.stamp:
            self._velocity += _DVL_GAIN * (rotation @ self._dvl.velocity - self._velocity)
        self._position = self._position + dt * self._velocity
        if self._pressure.stamp == imu.stamp:
            depth = (self._pressure.pressure - ATMOSPHERE_PA) / (e.density * e.gravity)
            height = e.depth_offset - depth
            self._position[2] += _PRESSURE_GAIN * (height - self._position[2])
        self._travelled += dt * math.hypot(*self._velocity[:2].tolist())
        if not self._dvl.bottom_lock:
            self._unlocked += dt

    def _exact(self) -> NavigationState:
        state, sigma = self._truth, self.noise.truth_position
        return NavigationState(
            stamp=state.time,
            pose=state.pose,
            linear_velocity=_triple(state.linear_velocity),
            angular_velocity=_triple(state.angular_velocity),
            position_sigma=(sigma, sigma, sigma),
            depth=-state.pose.position[2],
            altitude=self._altitude,
            battery=state.battery,
        )

    def _reckoned(self) -> NavigationState:
        n, imu = self.noise, self._imu
        elapsed = self._truth.time - self._start
        # DVL noise averages out over samples; heading and scale errors go with distance, a current
        # that the DVL cannot see with time.
        walk = n.dvl * math.sqrt(elapsed / Timing().navigation_hz)
        current = self.environment.current.speed * self._unlocked
        spread = math.hypot(n.heading, n.dvl_scale) * self._travelled
        horizontal = math.sqrt(_START_SIGMA**2 + walk**2 + spread**2 + current**2)
        altitude = self._altitude
        if math.isfinite(altitude):
            noise = n.altitude * float(self._random['altitude'].standard_normal())
            altitude = max(altitude + noise, 0.0)
        return NavigationState(
            stamp=imu.stamp,
            pose=Pose(_triple(self._position), imu.orientation),
            linear_velocity=_triple(self._attitude.T @ self._velocity),
            angular_velocity=_triple(imu.angular_velocity - self._gyroscope_bias),
            position_sigma=(horizontal, horizontal, _DEPTH_SIGMA),
            depth=-float(self._position[2]),
            altitude=altitude,
            battery=self._truth.battery,
        )


def _triple(vector: Array) -> tuple[float, float, float]:
    x, y, z = vector.tolist()
    return x, y, z
