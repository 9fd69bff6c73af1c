"""The world of a run as a report needs it: seabed, structures, and how near the vehicle came."""

from __future__ import annotations

from collections.abc import Iterable
import contextlib
from dataclasses import dataclass
import os
from pathlib import Path
import re

import cv2
import numpy as np

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose
from oceangym_core.record.provenance import world_sha256
from oceangym_core.record.schema import RunInfo
from oceangym_core.world.distance import build_distance_field, nearest_obstacle
from oceangym_core.world.footprint import OrientedBox
from oceangym_core.world.footprints import footprint_boxes
from oceangym_core.world.world import Anchor, Instance, load_world, World, world_path
from oceangym_sim.safety_monitor import VEGETATION

_NAME = re.compile(r'[\w-]{1,64}')
_CORNERS = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, 8).T


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """A run's world, if it was found.

    Attributes:
        world: None if it was not.
        note: What a reader has to know: nothing where the world is the run's to the byte.
    """

    world: World | None
    note: str = ''


def find_world(info: RunInfo) -> Surroundings:
    """Look for the world that a run took place in, by its digest.

    Tried are the shipped world of its name and the worlds that were generated on this machine.
    """
    nearest: World | None = None
    for path in _candidates(info):
        try:
            world = load_world(path)
            if world_sha256(world) == info.world.sha256:
                return Surroundings(world=world)
        except (OceanGymError, OSError):
            continue
        if world.seed == info.world.seed:
            nearest = nearest or world
    wanted = f'{info.world.name}, seed {info.world.seed}, {info.world.sha256[:12]}'
    if nearest is not None:
        return Surroundings(
            world=nearest,
            note=f"Seabed and structures are those of this machine's copy of the world, which "
            f'differs from the one flown ({wanted}).',
        )
    return Surroundings(
        world=None,
        note=f'The world flown ({wanted}) is not on this machine: the map has no seabed, and '
        'altitude and stand-off are not shown.',
    )


def _candidates(info: RunInfo) -> list[Path]:
    if not _NAME.fullmatch(info.world.name):
        return []
    found: list[Path] = []
    # A world of the user's own is not shipped, but may be among the generated ones.
    with contextlib.suppress(OceanGymError):
        found.append(world_path(info.world.name))
    cache = Path(os.environ.get('XDG_CACHE_HOME') or '~/.cache').expanduser()
    pattern = f'{info.world.name}_seed{info.world.seed}_*/worlds/*/*.sdf'
    return found + sorted((cache / 'oceangym' / 'worlds').glob(pattern))


def plan_outline(box: OrientedBox) -> Array:
    """Return the outline (N, 2) of a box seen from above, map x, y [m]."""
    corners = box.pose.apply(_CORNERS * np.asarray(box.size))[:, :2]
    hull = cv2.convexHull(corners.astype(np.float32).reshape(-1, 1, 2))
    outline: Array = hull.reshape(-1, 2).astype(float)
    return outline


def outlines(boxes: Iterable[OrientedBox]) -> tuple[Array, ...]:
    """Return the outlines of boxes that have an extent seen from above."""
    return tuple(plan_outline(box) for box in boxes if max(box.size) > 0)


def structures(world: World) -> tuple[tuple[str, tuple[Array, ...]], ...]:
    """Return name and outlines of everything man-made."""
    found = []
    for instance in world.instances:
        if not instance.model.collisions or not instance.model.prop.structure:
            continue
        anchor = Anchor(
            name=instance.name,
            label='',
            point=_position(instance.pose),
            instances=(instance.name,),
        )
        boxes = [OrientedBox.of(p, s) for p, s in footprint_boxes(world, anchor)]
        found.append((instance.name, outlines(boxes)))
    return tuple(found)


def _position(pose: Pose) -> tuple[float, float, float]:
    x, y, z = pose.position
    return float(x), float(y), float(z)


def obstacle_distances(world: World, targets: Iterable[str], positions: Array) -> Array:
    """Return the distance [m] of positions (N, 3) to the nearest rock or structure.

    As for stand-off violations: the task's targets, vegetation and the seabed do not count.
    Infinite beyond the reach of the distance field (40 m).
    """
    names = set(targets)
    own = {i for a in world.anchors if a.name in names for i in a.instances}

    def counts(instance: Instance) -> bool:
        return instance.name not in own and instance.model.prop.prop_class != VEGETATION

    arrays = build_distance_field(world, select=counts).arrays
    return np.array([nearest_obstacle(x, y, z, arrays)[0] for x, y, z in positions.tolist()])
