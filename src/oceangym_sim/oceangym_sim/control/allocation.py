"""Thrust allocation: which thruster pushes how hard for a wanted force and moment."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array
from oceangym_sim.control.kernel import allocate


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """Thrusts and the part of the wanted wrench that they give.

    Attributes:
        thrust: (T,) [N].
        served: (6,) force [N] and moment [N m] on base_link.
    """

    thrust: Array
    served: Array


class Allocator:
    """Least-effort allocation with limits, serving roll and pitch, then depth, yaw, and the rest.

    A plain scaled pseudo-inverse lets full surge take the vertical thrusters' share: the horizontal
    thrusters sit 0.085 m below the centre of gravity, and the vehicle tumbles.
    """

    def __init__(self, *, matrix: Array, limits: tuple[float, float]) -> None:
        """Prepare for a thruster `matrix` (6, T) and `limits` (lowest, highest thrust) [N]."""
        if np.linalg.matrix_rank(matrix) < 6:
            raise OceanGymError(
                f'the {matrix.shape[1]} thrusters cannot push in all six degrees of freedom'
            )
        self.inverse: Array = np.ascontiguousarray(np.linalg.pinv(matrix))
        self.null: Array = np.ascontiguousarray(np.linalg.svd(matrix)[2][6:].T)
        self.low: Array = np.empty(matrix.shape[1])
        self.high: Array = np.empty(matrix.shape[1])
        self.set_limits(limits)

    def set_limits(self, limits: tuple[float, float]) -> None:
        """Change the thrust limits [N], e.g. with the supply voltage."""
        self.low[:], self.high[:] = limits

    def allocate(self, wrench: ArrayLike) -> Allocation:
        """Return the allocation of a wrench (6,) [N], [N m] on base_link."""
        thrust, served = np.empty(len(self.low)), np.empty(6)
        wanted = np.asarray(wrench, dtype=float)
        allocate(wanted, self.inverse, self.null, self.low, self.high, thrust, served)
        return Allocation(thrust=thrust, served=served)
