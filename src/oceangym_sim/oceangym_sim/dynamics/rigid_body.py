"""Six degrees of freedom of one or many vehicles under water, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose, rotation_matrix
from oceangym_core.world.distance import DistanceField
from oceangym_sim.dynamics import kernel as kernel
from oceangym_sim.dynamics import thrusters
from oceangym_sim.dynamics.contact import hull_spheres, HullContact, tangent_planes
from oceangym_sim.dynamics.vehicle import VehicleParameters
from oceangym_sim.dynamics.water_column import Environment

_PARALLEL_FROM = 512  # vehicles: below, starting threads costs more than it saves
_MAX_STEP = 0.05  # s


@dataclass(frozen=True, kw_only=True)
class VehicleState:
    """One vehicle's true state, copied out.

    Attributes:
        time: Simulation time [s].
        pose: base_link in map.
        linear_velocity, angular_velocity: (3,) over ground, in base_link [m/s], [rad/s].
        thrust: (T,) [N].
        battery: Remaining charge 0..1.
    """

    time: float
    pose: Pose
    linear_velocity: Array
    angular_velocity: Array
    thrust: Array
    battery: float


class Dynamics:
    """`count` vehicles of one kind, advanced together.

    `state` is (N, 14 + T), one row a vehicle: position in map (3), quaternion x, y, z, w (4), linear
    then angular velocity over ground in base_link (6), electrical energy used [J] (1), thrusts [N]
    (T). Vehicles do not touch each other.
    """

    def __init__(
        self,
        *,
        parameters: VehicleParameters,
        environment: Environment | None = None,
        count: int = 1,
        distance_field: DistanceField | None = None,
        battery_limits: bool = False,
        seed: int = 0,
    ) -> None:
        """Prepare `count` vehicles at the origin, at rest and upright.

        Args:
            parameters: The vehicle.
            environment: Its water; sea water at rest by default.
            count: Number of vehicles, at least 1.
            distance_field: What they can touch; nothing by default.
            battery_limits: Whether thrust sags with the battery and ends with it; else 16 V always.
            seed: Kept for reproducibility of callers; the step itself draws no random numbers.
        """
        if count < 1:
            raise OceanGymError(f'count {count} must be at least 1')
        self.parameters = parameters
        self.environment = environment if environment is not None else Environment()
        self.time = 0.0
        self.count = count
        self.seed = seed
        self.state: Array = np.zeros((count, kernel.THRUST + len(parameters.thrusters)))
        self.state[:, 6] = 1.0
        self._field = None if distance_field is None else distance_field.arrays
        self._spheres = hull_spheres(parameters.hull_size)
        shape = (count, len(self._spheres))
        self._planes = np.zeros((*shape, 4))
        self._owners: NDArray[np.int64] = np.zeros(shape, dtype=np.int64)
        self._closing = np.full(shape, -1.0)
        self._no_planes = np.zeros((0, *self._planes.shape[1:]))
        self._touched = False
        self._supply = self._supply_array(battery_limits)
        self._step_dt = 0.0
        self._step_model: tuple[Array, ...] = ()
        p, e = parameters, self.environment
        self._inverse_mass = np.linalg.inv(p.mass_matrix)
        self._body = np.array(
            [
                p.mass * e.gravity,
                e.density * p.volume * e.gravity,
                *p.centre_of_gravity,
                *p.centre_of_buoyancy,
                p.hull_size[2],
                thrusters.ROTOR_DIAMETER,
            ]
        )

    def reset(
        self,
        poses: Pose | Sequence[Pose],
        velocity: ArrayLike = 0.0,
        *,
        time: float = 0.0,
    ) -> None:
        """Put the vehicles at `poses` (one for all, or one each) with body `velocity` (6,).

        Raises:
            OceanGymError: A pose or velocity that is not finite, or the wrong number of poses.
        """
        each = [poses] * self.count if isinstance(poses, Pose) else list(poses)
        if len(each) != self.count:
            raise OceanGymError(f'{len(each)} poses for {self.count} vehicles')
        self.state[:] = 0.0
        for row, pose in zip(self.state, each):
            quaternion = np.asarray(pose.quaternion)
            norm = float(np.linalg.norm(quaternion))
            if not np.all(np.isfinite(pose.position)) or not 1e-6 < norm < 1e6:
                raise OceanGymError(f'start pose {pose} is not finite')
            row[:3] = pose.position
            row[3:7] = quaternion / norm
        self.state[:, 7:13] = velocity
        if not np.all(np.isfinite(self.state)):
            raise OceanGymError(f'start velocity {velocity!r} is not finite')
        self.time = time
        self._closing[:] = -1.0
        self._touched = False

    def step(
        self, command: ArrayLike, dt: float, substeps: int = 1, *, newtons: bool = False
    ) -> None:
        """Advance time by ``substeps * dt``.

        What a hull can touch is taken as its tangent planes for the whole call, so keep a call
        below 0.1 s.

        Args:
            command: (T,) or (N, T) throttles -1..1, or thrusts [N] with `newtons`. Values that are
                not finite count as zero.
            dt: [s], at most 0.05.
            substeps: Number of steps.
            newtons: Whether `command` is thrust; it is limited to what the supply allows.
        """
        if not 0 < dt <= _MAX_STEP:
            raise OceanGymError(f'dt {dt} s is outside 0..{_MAX_STEP}')
        model = self._model(dt)
        # A copy: numba would compile once more for a read-only view.
        commands = np.empty((self.count, len(self.parameters.thrusters)))
        commands[:] = command
        planes = self._no_planes
        self._closing[:] = -1.0
        self._touched = False
        if self._field is not None:
            reach = 0.5 + 3.0 * dt * substeps
            if tangent_planes(
                self.state, self._spheres, reach, self._planes, self._owners, self._field
            ):
                planes = self._planes
                self._touched = True
        advance = kernel.advance if self.count < _PARALLEL_FROM else kernel.advance_parallel
        advance(
            self.state, commands, newtons, planes, self._closing, model, self.time, dt, substeps
        )
        self.time += dt * substeps

    @property
    def contacts(self) -> tuple[HullContact, ...]:
        """What touched during the last `step`, the fastest touch of each vehicle and instance."""
        if not self._touched:
            return ()
        fastest: dict[tuple[int, int], float] = {}
        for vehicle, sphere in np.argwhere(self._closing >= 0.0):
            key = (int(vehicle), int(self._owners[vehicle, sphere]))
            fastest[key] = max(fastest.get(key, 0.0), float(self._closing[vehicle, sphere]))
        return tuple(
            HullContact(vehicle=v, instance=i, speed=speed) for (v, i), speed in fastest.items()
        )

    @property
    def position(self) -> Array:
        """(N, 3) in map [m]; a view."""
        return self.state[:, 0:3]

    @property
    def quaternion(self) -> Array:
        """(N, 4) x, y, z, w of base_link in map; a view."""
        return self.state[:, 3:7]

    @property
    def velocity(self) -> Array:
        """(N, 6) over ground in base_link [m/s], [rad/s]; a view."""
        return self.state[:, 7:13]

    @property
    def thrust(self) -> Array:
        """(N, T) [N]; a view."""
        return self.state[:, kernel.THRUST :]

    @property
    def battery(self) -> Array:
        """(N,) remaining charge 0..1."""
        used = self.state[:, kernel.ENERGY] / self.parameters.battery.capacity
        remaining: Array = np.clip(1.0 - used, 0.0, 1.0)
        return remaining

    @property
    def voltage(self) -> Array:
        """(N,) supply voltage at the thrusters [V]."""
        return np.array([kernel.supply_voltage(row, self._supply) for row in self.state])

    def vehicle(self, index: int = 0) -> VehicleState:
        """Return a copy of one vehicle's state."""
        row = self.state[index].copy()
        x, y, z, qx, qy, qz, qw = row[0:7].tolist()
        used = float(row[kernel.ENERGY]) / self.parameters.battery.capacity
        return VehicleState(
            time=self.time,
            pose=Pose((x, y, z), (qx, qy, qz, qw)),
            linear_velocity=row[7:10],
            angular_velocity=row[10:13],
            thrust=row[kernel.THRUST :],
            battery=min(max(1.0 - used, 0.0), 1.0),
        )

    def energy(self, index: int = 0) -> float:
        """Return kinetic (with added mass) plus potential energy of a vehicle in still water [J]."""
        row, p, e = self.state[index], self.parameters, self.environment
        rotation = rotation_matrix(row[3:7])
        kinetic = 0.5 * float(row[7:13] @ p.mass_matrix @ row[7:13])
        weight_height = row[2] + float(rotation[2] @ np.array(p.centre_of_gravity))
        lift_height = row[2] + float(rotation[2] @ np.array(p.centre_of_buoyancy))
        # Buoyancy's potential: its integral over height, with the fade over the hull's height.
        half = p.hull_size[2] / 2
        inside = float(np.clip(lift_height, -half, half))
        lifted = (
            min(lift_height, -half) + half + (inside + half) * (1 - (inside + half) / (4 * half))
        )
        weight = p.mass * e.gravity * weight_height
        return float(kinetic + weight - e.density * p.volume * e.gravity * lifted)

    def _model(self, dt: float) -> tuple[Array, ...]:
        """Return what the kernel needs beside the state, for steps of `dt` [s]."""
        if self._step_dt != dt:
            p = self.parameters
            lag = np.array([t.lag for t in p.thrusters], dtype=float)
            ratio = dt / np.maximum(lag, 1e-9)
            decay = np.stack([np.exp(-ratio), -np.expm1(-ratio) / ratio], axis=1)
            place = np.array([t.position for t in p.thrusters], dtype=float)
            self._step_dt = dt
            self._step_model = tuple(
                np.ascontiguousarray(array, dtype=np.float64)
                for array in (
                    p.mass_matrix,
                    self._inverse_mass,
                    p.linear_damping,
                    p.quadratic_damping,
                    p.thruster_matrix,
                    place.reshape(-1, 3),
                    decay.reshape(-1, 2),
                    self._body,
                    self._supply,
                    _VOLTAGE_TABLE,
                    thrusters.CURVE_16V,
                    self.environment.current.array,
                    self._spheres,
                )
            )
        return self._step_model

    def _supply_array(self, limits: bool) -> Array:
        battery = self.parameters.battery
        return np.array(
            [
                float(limits),
                battery.capacity,
                float(battery.cells),
                battery.resistance,
                battery.hotel_power,
                thrusters.POWER_FORWARD,
                thrusters.POWER_REVERSE,
            ]
        )


def _voltage_table() -> Array:
    rows = []
    for voltage in np.arange(10.0, 20.5, 2.0):
        scale = thrusters.voltage_scale(float(voltage))
        rows.append([voltage, scale.forward, scale.reverse, scale.dead_band])
    return np.array(rows)


_VOLTAGE_TABLE = _voltage_table()
