"""What of the hull touches the world: spheres that cover its outline, and their tangent planes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from oceangym_core.geometry import Array
from oceangym_core.world.distance import nearest_surface
from oceangym_sim.dynamics.kernel import NO_CONTACT


@dataclass(frozen=True, kw_only=True)
class HullContact:
    """One touch during a step: of which vehicle, with which instance, how fast it closed [m/s].

    `instance` indexes the distance field's names; ``signed_distance.SEABED`` is the seabed.
    """

    vehicle: int
    instance: int
    speed: float


def hull_spheres(size: tuple[float, float, float]) -> Array:
    """Return spheres (C, 4) x, y, z, radius in base_link that cover a box of `size` [m].

    Their radius is half the shortest side and neighbours overlap, so that no pole slips between.
    """
    radius = min(size) / 2
    axes = []
    for side in size:
        room = side - 2 * radius
        count = int(np.ceil(room / (1.6 * radius))) + 1 if room > 1e-9 else 1
        axes.append(np.linspace(-room / 2, room / 2, count))
    centres = np.stack(np.meshgrid(*axes, indexing='ij'), axis=-1).reshape(-1, 3)
    return np.hstack([centres, np.full((len(centres), 1), radius)])


@nb.njit(cache=True)
def tangent_planes(
    state: Array,
    spheres: Array,
    reach: float,
    planes: Array,
    owners: NDArray[np.int64],
    field: tuple[Any, ...],
) -> bool:
    """Fill the tangent plane (normal, offset) of what is nearest to each sphere of each vehicle.

    A plane with offset `NO_CONTACT` is out of `reach` [m]. Returns whether any is within it.
    """
    near = False
    for n in range(state.shape[0]):
        x, y, z, w = state[n, 3], state[n, 4], state[n, 5], state[n, 6]
        for c in range(spheres.shape[0]):
            sx, sy, sz, radius = spheres[c, 0], spheres[c, 1], spheres[c, 2], spheres[c, 3]
            # q s q* by Rodrigues' form.
            tx, ty, tz = 2 * (y * sz - z * sy), 2 * (z * sx - x * sz), 2 * (x * sy - y * sx)
            px = state[n, 0] + sx + w * tx + y * tz - z * ty
            py = state[n, 1] + sy + w * ty + z * tx - x * tz
            pz = state[n, 2] + sz + w * tz + x * ty - y * tx
            d, gx, gy, gz, owner = nearest_surface(px, py, pz, field)
            owners[n, c] = owner
            if d - radius > reach or not np.isfinite(d):
                planes[n, c, 3] = NO_CONTACT
                continue
            near = True
            planes[n, c, 0], planes[n, c, 1], planes[n, c, 2] = gx, gy, gz
            planes[n, c, 3] = d - (gx * px + gy * py + gz * pz)
    return near
