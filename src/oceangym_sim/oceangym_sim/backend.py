"""What a simulator runs on: the physics that moves the vehicle and the sensors that it sees with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from oceangym_core.geometry import Array, Pose
from oceangym_sim.dynamics.contact import HullContact
from oceangym_sim.dynamics.rigid_body import Dynamics, VehicleState
from oceangym_sim.sensors import SensorSuite


class Plant(Protocol):
    """The physics of one vehicle for one episode."""

    @property
    def contacts(self) -> tuple[HullContact, ...]:
        """What touched during the last `step`."""

    @property
    def voltage(self) -> Array:
        """(1,) supply voltage at the thrusters [V]."""

    def reset(self, poses: Pose) -> None:
        """Put the vehicle at rest at a pose in map; time starts at zero."""

    def step(self, command: ArrayLike, dt: float, substeps: int = 1) -> None:
        """Advance time by ``substeps * dt`` [s] with throttles (T,) -1..1."""

    def vehicle(self) -> VehicleState:
        """Return a copy of the true state."""


def _nothing_to_close() -> None:
    """Close an engine that is only code."""


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Makes physics and sensors for each episode.

    Attributes:
        name: Of the backend.
        plant: Makes a `Plant`; takes the arguments of `Dynamics`.
        sensors: Makes a suite of sensors; takes the arguments of `SensorSuite`.
        close: Lets go of what runs beside them.
    """

    name: str
    plant: Callable[..., Plant]
    sensors: Callable[..., SensorSuite]
    close: Callable[[], None] = _nothing_to_close


EMBEDDED = Engine(name='embedded', plant=Dynamics, sensors=SensorSuite)
