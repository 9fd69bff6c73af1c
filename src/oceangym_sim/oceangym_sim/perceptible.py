"""How much of each target a sensor resolves: the record that the `verified` score rests on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_core.geometry import Pose
from oceangym_core.world.world import Anchor, Instance, load_visual_mesh, World
from oceangym_sim.optics.rays import optical_rays
from oceangym_sim.optics.rig import CameraFrame
from oceangym_sim.sonar.formation import Bounces, PingFormer, REACH
from oceangym_sim.sonar.rig import SonarFrame

# A pixel counts if it differs by more than this many standard deviations of the image from what
# would show there without the target.
CONTRAST_SIGMA = 2.0
# A sonar cell counts if the target's whole echo is at least 6 dB over the scene without it.
ECHO_RATIO = 10.0**0.6
# Boxes along a target's longest axis: few, but tight about a winding pipe.
_PARTS = 32
_CORNERS = np.stack(np.meshgrid(*[(0.0, 1.0)] * 3), axis=-1).reshape(-1, 3)


@dataclass(frozen=True, kw_only=True)
class Target:
    """An anchor as the sensors can recognise it.

    Attributes:
        anchor: The target point.
        instances: Indices of its instances in the scene.
        boxes: Corners in map [m] of boxes that hold all its triangles, (boxes, 8, 3).
    """

    anchor: Anchor
    instances: NDArray[np.uint32]
    boxes: NDArray[np.float64]

    @classmethod
    def of(cls, anchor: Anchor, instance_names: tuple[str, ...], world: World) -> Target:
        """Find an anchor's instances in a world's scene."""
        known = {name: i for i, name in enumerate(instance_names)}
        return cls(
            anchor=anchor,
            instances=np.asarray([known[name] for name in anchor.instances], dtype=np.uint32),
            boxes=_within(
                anchor,
                np.concatenate([_boxes(world.instance(name)) for name in anchor.instances]),
            ),
        )

    def near(self, position: NDArray[np.floating]) -> NDArray[np.bool_]:
        """Return which points (..., 3) in map lie within the anchor's radius (all without one)."""
        if self.anchor.radius is None:
            return np.ones(position.shape[:-1], dtype=bool)
        away = position - np.asarray(self.anchor.point, dtype=position.dtype)
        close: NDArray[np.bool_] = (away * away).sum(axis=-1) <= self.anchor.radius**2
        return close


def _boxes(instance: Instance) -> NDArray[np.float64]:
    """Return corners in map of boxes that hold an instance's triangles, (boxes, 8, 3)."""
    boxes = []
    for visual in instance.model.visuals:
        corners = np.asarray(load_visual_mesh(visual).triangles)
        middle = corners.mean(axis=1)
        axis = int(np.ptp(middle, axis=0).argmax())
        for part in np.array_split(np.argsort(middle[:, axis]), _PARTS):
            if len(part):
                points = corners[part].reshape(-1, 3)
                low, high = points.min(axis=0), points.max(axis=0)
                boxes.append(instance.pose.apply(low + _CORNERS * (high - low)))
    return np.asarray(boxes).reshape(-1, 8, 3)


def _within(anchor: Anchor, boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the boxes that may reach into an anchor's radius."""
    if anchor.radius is None:
        return boxes
    offset = boxes - np.asarray(anchor.point)
    outside = (offset > anchor.radius).all(axis=1) | (offset < -anchor.radius).all(axis=1)
    inside: NDArray[np.float64] = boxes[~outside.any(axis=-1)]
    return inside


def camera_meets(target: Target, spec: CameraSpec, pose: Pose) -> bool:
    """Return whether any part of a target may lie in a camera's view, hidden or not.

    Args:
        target: What to look for.
        spec: The camera.
        pose: base_link in map.
    """
    x, y, z = np.moveaxis((pose @ spec.mount).inverse().apply(target.boxes), -1, 0)
    rays = optical_rays(spec)
    slopes = rays[:, :2] / rays[:, 2:]
    left, top = slopes.min(axis=0) - 1.0 / spec.focal_length
    right, bottom = slopes.max(axis=0) + 1.0 / spec.focal_length
    sides = (x < left * z, x > right * z, y < top * z, y > bottom * z, z < 0.0)
    return not bool(np.any([side.all(axis=-1) for side in sides], axis=0).all())


def sonar_meets(target: Target, former: PingFormer, pose: Pose) -> bool:
    """Return whether any part of a target may lie in a sonar's fan, side lobes included.

    Args:
        target: What to listen for.
        former: Of the sonar.
        pose: base_link in map.
    """
    spec = former.spec
    up, starboard, ahead = np.moveaxis((pose @ spec.mount).inverse().apply(target.boxes), -1, 0)
    highest = np.tan(former.cells.angle.max() + former.cells.height.max())
    level = highest * np.hypot(starboard, ahead)
    # A cone is convex as a box is: all corners in it, all of the box in it.
    sides = [up > level, up < -level]
    edge = spec.azimuth_aperture / 2
    if edge <= np.pi / 2:
        across, along = np.cos(edge) * starboard, np.sin(edge) * ahead
        sides += [across > along, across < -along]
    corners = np.stack([up, starboard, ahead])
    nearest = np.clip(0.0, corners.min(axis=-1), corners.max(axis=-1))
    away = np.linalg.norm(nearest, axis=0) > spec.range_max * REACH
    missed = np.any([away, *(side.all(axis=-1) for side in sides)], axis=0)
    return not bool(missed.all())


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
    own = rest = None
    if frame.bounces is not None:
        touched = np.isin(frame.bounces.instance, target.instances)
        rest = frame.bounces.only(~(touched[0] | touched[1]))
        touched &= target.near(frame.bounces.position)
        own = frame.bounces.only(touched[0] | touched[1])
    mine &= target.near(frame.position)
    bins = _bins(former.spec, frame.near[mine], frame.far[mine], own)
    power = np.where(mine, frame.power, np.float32(0.0))
    echo = former.noise_free(frame.near, frame.far, power, own, bins=bins)
    without = former.noise_free(*behind, rest, bins=bins) + former.noise_floor[bins, None]
    return int(((echo >= ECHO_RATIO * without) & (echo > 0.0)).sum())


def _bins(
    spec: SonarSpec, near: NDArray[np.float32], far: NDArray[np.float32], bounces: Bounces | None
) -> slice:
    """Return the range bins that some rays and second bounces reach: all others stay silent."""
    ranges = [near, far] + ([] if bounces is None else [bounces.distance])
    covered = (np.concatenate(ranges) - spec.range_min) / spec.range_resolution
    if not len(covered):
        return slice(0, 0)
    # A footprint is at least a quarter bin wide.
    low, high = int(np.floor(covered.min())) - 1, int(np.ceil(covered.max())) + 1
    return slice(max(low, 0), min(max(high, 0), spec.range_bins))
