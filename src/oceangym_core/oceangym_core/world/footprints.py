"""The volume that counts as a target, as oriented boxes that an episode record can carry."""

from __future__ import annotations

import math

import numpy as np

from oceangym_core.geometry import Pose
from oceangym_core.world.sdf import Shape
from oceangym_core.world.world import Anchor, World

Box = tuple[Pose, tuple[float, float, float]]


def footprint_boxes(world: World, anchor: Anchor) -> tuple[Box, ...]:
    """Return the boxes (pose in map, full size [m]) that cover an anchor's collision primitives.

    With a radius, long primitives are cut to what lies within it of the anchor's point; what is
    wholly outside is left out. An anchor without any primitive left is a point.
    """
    boxes: list[Box] = []
    for name in anchor.instances:
        instance = world.instance(name)
        for collision in instance.model.collisions:
            pose, size = instance.pose @ collision.pose, _box_size(collision.shape)
            clipped = (
                (pose, size)
                if anchor.radius is None
                else _clip(pose, size, anchor.point, anchor.radius)
            )
            if clipped is not None:
                boxes.append(clipped)
    return tuple(boxes) or ((Pose.of(anchor.point), (0.0, 0.0, 0.0)),)


def _box_size(shape: Shape) -> tuple[float, float, float]:
    if shape.kind == 'box':
        x, y, z = shape.size
        return x, y, z
    diameter = 2 * shape.size[0]
    if shape.kind == 'sphere':
        return diameter, diameter, diameter
    length = shape.size[1] + (diameter if shape.kind == 'capsule' else 0.0)
    return diameter, diameter, length


def _clip(
    pose: Pose, size: tuple[float, float, float], point: tuple[float, float, float], radius: float
) -> Box | None:
    """Cut a box along its longest axis to the chord inside a sphere."""
    axis = int(np.argmax(size))
    direction = pose.rotation[:, axis]
    offset = np.asarray(pose.position) - np.asarray(point)
    along = float(offset @ direction)
    aside2 = float(offset @ offset) - along * along
    if aside2 >= radius * radius:
        return None
    half_chord = math.sqrt(radius * radius - aside2)
    low = max(-size[axis] / 2, -along - half_chord)
    high = min(size[axis] / 2, -along + half_chord)
    if low >= high:
        return None
    cut = list(size)
    cut[axis] = high - low
    centre = np.asarray(pose.position) + direction * (low + high) / 2
    return Pose.of(centre, pose.quaternion), (cut[0], cut[1], cut[2])
