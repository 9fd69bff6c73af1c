"""What is known about a vehicle: mass, hydrodynamics, thrusters, sensors, lamps, battery."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array


@dataclass(frozen=True, kw_only=True)
class Thruster:
    """One thruster: `position` and unit `direction` of positive thrust in base_link, `lag` [s]."""

    name: str
    joint: str
    position: tuple[float, float, float]
    direction: tuple[float, float, float]
    lag: float


@dataclass(frozen=True, kw_only=True)
class Lamp:
    """One lamp: pose in base_link, full beam width [rad], luminous flux [lm]."""

    name: str
    position: tuple[float, float, float]
    direction: tuple[float, float, float]
    beam_width: float
    lumens: float


@dataclass(frozen=True, kw_only=True)
class Battery:
    """Energy store: `capacity` [J], cells in series, internal resistance [ohm], hotel load [W]."""

    capacity: float = 532.0 * 3600.0
    cells: int = 4
    resistance: float = 0.015
    hotel_power: float = 25.0


@dataclass(frozen=True, kw_only=True)
class VehicleParameters:
    """Everything the simulator and the autopilot know about a vehicle, in base_link (FLU) and SI.

    Attributes:
        name, parameter_set: Of the model and of its hydrodynamic identification.
        mass: [kg].
        centre_of_gravity: (3,) [m].
        inertia: (3, 3) about the centre of gravity [kg m2].
        volume: Displaced [m3].
        centre_of_buoyancy: (3,) [m].
        hull_size: Outline box (x, y, z), centred on base_link [m]; touches things.
        added_mass: (6, 6) about base_link.
        linear_damping: (6, 6), positive semidefinite.
        quadratic_damping: (6,) on |v| v, >= 0.
        thrusters, cameras, sonars, lamps, battery: What it carries.
        warnings: What a person should know about the model, e.g. bad trim.
    """

    name: str
    parameter_set: str
    mass: float
    centre_of_gravity: tuple[float, float, float]
    inertia: Array
    volume: float
    centre_of_buoyancy: tuple[float, float, float]
    hull_size: tuple[float, float, float]
    added_mass: Array
    linear_damping: Array
    quadratic_damping: Array
    thrusters: tuple[Thruster, ...]
    cameras: tuple[CameraSpec, ...] = ()
    sonars: tuple[SonarSpec, ...] = ()
    lamps: tuple[Lamp, ...] = ()
    battery: Battery = Battery()
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse numbers that no body in water can have."""
        for name, value, shape in (
            ('inertia', self.inertia, (3, 3)),
            ('added_mass', self.added_mass, (6, 6)),
            ('linear_damping', self.linear_damping, (6, 6)),
            ('quadratic_damping', self.quadratic_damping, (6,)),
        ):
            if np.shape(value) != shape or not np.all(np.isfinite(value)):
                raise OceanGymError(f'vehicle {name} must be {shape} finite numbers, not {value}')
        for name, number in (('mass', self.mass), ('volume', self.volume)):
            if not np.isfinite(number) or number <= 0:
                raise OceanGymError(f'vehicle {name} must be a positive number, not {number}')
        if not np.all(np.isfinite(self.hull_size)) or min(self.hull_size) <= 0:
            raise OceanGymError(f'vehicle hull_size must be positive, not {self.hull_size}')
        matrix = self.mass_matrix
        if np.linalg.eigvalsh(self.inertia)[0] <= 0 or np.linalg.eigvalsh(matrix)[0] <= 0:
            raise OceanGymError(
                'the mass matrix (rigid body + added mass) is singular or not positive definite: '
                'check mass, inertia and fluid_added_mass'
            )
        if np.linalg.eigvalsh((self.added_mass + self.added_mass.T) / 2)[0] < -1e-9:
            raise OceanGymError('fluid_added_mass must be positive semidefinite')
        if np.linalg.eigvalsh((self.linear_damping + self.linear_damping.T) / 2)[0] < -1e-9:
            raise OceanGymError(
                'linear damping adds energy: coefficients such as xU must be negative in SDF'
            )
        if np.min(self.quadratic_damping) < 0:
            raise OceanGymError(
                'quadratic damping adds energy: coefficients such as xUabsU must be negative in SDF'
            )

    @property
    def rigid_body_mass(self) -> Array:
        """M_RB (6, 6) about base_link (Fossen 2011, eq. 3.44)."""
        matrix = np.zeros((6, 6))
        gravity = _skew(self.centre_of_gravity)
        matrix[:3, :3] = self.mass * np.eye(3)
        matrix[:3, 3:] = -self.mass * gravity
        matrix[3:, :3] = self.mass * gravity
        matrix[3:, 3:] = self.inertia - self.mass * gravity @ gravity
        return matrix

    @property
    def mass_matrix(self) -> Array:
        """M_RB + M_A (6, 6) about base_link."""
        total: Array = self.rigid_body_mass + self.added_mass
        return total

    @property
    def thruster_matrix(self) -> Array:
        """(6, T) wrench on base_link per newton of each thruster."""
        columns = [
            np.concatenate([t.direction, np.cross(t.position, t.direction)])
            for t in self.thrusters
        ]
        matrix: Array = np.array(columns, dtype=float).reshape(-1, 6).T
        return matrix


def _skew(vector: tuple[float, float, float]) -> Array:
    x, y, z = vector
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
