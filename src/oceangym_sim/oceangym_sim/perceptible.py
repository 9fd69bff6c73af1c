"""How much of each target a sensor resolves: the record that the `verified` score rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oceangym_core.geometry import Pose
from oceangym_core.observation import CameraSpec
from oceangym_core.world import Anchor
from oceangym_sim.cameras import CameraFrame
from oceangym_sim.sonar import PingFormer
from oceangym_sim.sonar_rig import SonarFrame

# A pixel counts if it differs by more than this many standard deviations of the image from what
# would show there without the target.
CONTRAST_SIGMA = 2.0
# A sonar cell counts if the target's whole echo is at least 6 dB over the scene without it.
ECHO_RATIO = 10.0**0.6


@dataclass(frozen=True, kw_only=True)
class Target:
    """An anchor as the sensors can recognise it.

    Attributes:
        anchor: The target point.
        instances: Indices of its instances in the scene.
    """

    anchor: Anchor
    instances: NDArray[np.uint32]

    @classmethod
    def of(cls, anchor: Anchor, instance_names: tuple[str, ...]) -> Target:
        """Find an anchor's instances in a scene."""
        known = {name: i for i, name in enumerate(instance_names)}
        return cls(
            anchor=anchor,
            instances=np.asarray([known[name] for name in anchor.instances], dtype=np.uint32),
        )

    def near(self, position: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which points (..., 3) in map lie within the anchor's radius (all without one)."""
        if self.anchor.radius is None:
            return np.ones(position.shape[:-1], dtype=bool)
        away = position - np.asarray(self.anchor.point, dtype=position.dtype)
        close: NDArray[np.bool_] = (away * away).sum(axis=-1) <= self.anchor.radius**2
        return close


def camera_pixels(target: Target, frame: CameraFrame, spec: CameraSpec, pose: Pose) -> int:
    """Return the number of pixels that resolve a target.

    Args:
        target: What to look for.
        frame: The camera's frame.
        spec: The camera, of the frame's size.
        pose: base_link in map.
    """
    assert frame.contrast is not None
    seen = np.isin(frame.instance, target.instances) & (frame.contrast > CONTRAST_SIGMA)
    if target.anchor.radius is None or not seen.any():
        return int(seen.sum())
    row, column = np.nonzero(seen)
    rays = np.stack(
        [
            (column + 0.5 - spec.width / 2) / spec.focal_length,
            (row + 0.5 - spec.height / 2) / spec.focal_length,
            np.ones(len(row)),
        ],
        axis=-1,
    )
    rays *= (frame.distance[seen] / np.linalg.norm(rays, axis=-1))[:, None]
    return int(target.near((pose @ spec.mount).apply(rays)).sum())


def sonar_cells(target: Target, frame: SonarFrame, former: PingFormer, group: int) -> int:
    """Return the number of polar cells in which a target stands out by 6 dB.

    Its echo comes by main and side lobes as in the image, and over paths of two bounces of which one
    is off the target. It is held against the mean of the scene without the target and of the noise.

    Args:
        target: What to listen for.
        frame: The sonar's frame.
        former: Of the sonar.
        group: Which of the frame's `behind` leaves out the target's instances.
    """
    mine = np.isin(frame.instance, target.instances) & (frame.power > 0.0)
    behind = frame.behind[group]
    if behind is None or not mine.any():
        return 0
    whole = _echo(target, frame, former, mine)
    rest = frame.mean - whole + former.noise_free(*behind)
    rest = np.maximum(rest, 0.0) + former.noise_floor[:, None]
    echo = whole
    if target.anchor.radius is not None:
        echo = _echo(target, frame, former, mine & target.near(frame.position), near=True)
    return int(((echo >= ECHO_RATIO * rest) & (echo > 0.0)).sum())


def _echo(
    target: Target,
    frame: SonarFrame,
    former: PingFormer,
    mine: NDArray[np.bool_],
    *,
    near: bool = False,
) -> NDArray[np.float32]:
    """Return the mean image of some rays and of the target's second bounces."""
    bounces = frame.bounces
    if bounces is not None:
        touched = np.isin(bounces.instance, target.instances)
        if near:
            touched &= target.near(bounces.position)
        bounces = bounces.only(touched[0] | touched[1])
    return former.noise_free(frame.near, frame.far, np.where(mine, frame.power, 0.0), bounces)
