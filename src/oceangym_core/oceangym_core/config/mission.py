"""Mission orders: a search area with a last known bearing or a landmark, as a dive is given them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from oceangym_core.config.starts import Start
from oceangym_core.config.tasks import Target
from oceangym_core.contract.frames import FrameShift
from oceangym_core.files import Number
from oceangym_core.geometry import Array, wrap_angle
from oceangym_core.rng import generator
from oceangym_core.world.footprint import Footprint
from oceangym_core.world.footprints import footprint_boxes
from oceangym_core.world.world import Anchor, Instance, World

# Sides of a search area [m], and the part of each side about its middle in which the target may lie.
AREA_SIDE_M = (150.0, 250.0)
AREA_INNER = 0.7
# A last known bearing was taken from this far away [m]. Taken from the start, it would give away the
# place with the distance of the start's stratum, which everybody knows.
BEARING_FROM_M = (300.0, 500.0)
# Its standard deviation; it is given to the next multiple of the step [deg].
BEARING_SIGMA_DEG = 6.0
BEARING_STEP_DEG = 5.0
# A landmark is named within these distances of the target, which are given to a step [m].
LANDMARK_M = (20.0, 150.0)
LANDMARK_STEP_M = 10.0
# Rocks lie everywhere.
_NO_LANDMARKS = ('boulder', 'rock')


@dataclass(frozen=True, kw_only=True)
class MissionOrder:
    """Where to search; lengths [m] and angles [rad] in map.

    Attributes:
        area: Corners (x, y) of the search area; the target is inside, but not at its middle.
        bearing: Last known bearing of the target, counter-clockwise from +x; None: a landmark is given.
        bearing_from: Place (x, y) that the bearing was taken from; None without one.
        landmark: Name of a thing near the target.
        distance: Of the target from it, rounded.
        several: Whether the task has further targets, about which the order says nothing.
    """

    area: tuple[tuple[Number, Number], ...]
    bearing: Number | None = None
    bearing_from: tuple[Number, Number] | None = None
    landmark: str = ''
    distance: Number = 0.0
    several: bool = False

    def text(self, shift: FrameShift) -> str:
        """Return the order in words; angles are those of odom."""
        which = 'The nearest of the targets' if self.several else 'The target'
        words = [f'{which} lies inside the search area.']
        if self.bearing is not None and self.bearing_from is not None:
            x, y, _ = shift.points_to_odom((*self.bearing_from, 0.0))
            angle = math.degrees(self.bearing - shift.yaw)
            rounded = BEARING_STEP_DEG * round(angle / BEARING_STEP_DEG)
            words.append(
                f'Its last known bearing from [{x:.1f}, {y:.1f}] is {rounded % 360:.0f} degrees, '
                f'give or take {2 * BEARING_SIGMA_DEG:.0f}; its range is unknown.'
            )
        else:
            words.append(f'It was reported some {self.distance:.0f} m off the {self.landmark}.')
        if self.several:
            words.append('Nothing is known of the others.')
        return ' '.join(words)

    def area_in_odom(self, shift: FrameShift) -> tuple[tuple[float, float], ...]:
        """Return the corners of the area in odom."""
        corners = shift.points_to_odom([(x, y, 0.0) for x, y in self.area])
        return tuple((float(x), float(y)) for x, y, _ in corners)


def mission_order(
    start: Start, *, targets: Sequence[Target], world: World, seed: int
) -> MissionOrder | None:
    """Return the order that goes with a start; None for starts in no stratum and for ``far`` ones.

    Args:
        start: With its nearest target.
        targets: Of the task.
        world: What landmarks are looked for in.
        seed: Of the start.
    """
    if start.stratum not in ('near', 'medium'):
        return None
    rng = generator(seed, f'order/{start.stratum}/{start.target}')
    target = next(t for t in targets if t.name == start.target)
    point = np.asarray(target.point[:2])
    area = _area(point, rng)
    found = _landmark(target, targets, world)
    # Near the start a bearing would leave little to search, so it stands in for a landmark only.
    by_landmark = start.stratum == 'near' or rng.random() < 0.5
    error = math.radians(float(rng.normal(0.0, BEARING_SIGMA_DEG)))
    several = len(targets) > 1
    if found is not None and by_landmark:
        name, distance = found
        return MissionOrder(area=area, landmark=name, distance=distance, several=several)
    true, away = rng.uniform(-math.pi, math.pi), rng.uniform(*BEARING_FROM_M)
    x, y = point - away * np.array([math.cos(true), math.sin(true)])
    return MissionOrder(
        area=area,
        bearing=wrap_angle(true + error),
        bearing_from=(round(float(x), 1), round(float(y), 1)),
        several=several,
    )


def _area(point: Array, rng: np.random.Generator) -> tuple[tuple[float, float], ...]:
    """Return a rectangle in any direction whose inner part holds a point, anywhere as likely."""
    sides = rng.uniform(*AREA_SIDE_M, 2)
    angle = rng.uniform(-math.pi, math.pi)
    offset = rng.uniform(-AREA_INNER / 2, AREA_INNER / 2, 2) * sides
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)]) * sides / 2
    placed = np.round(point + (corners - offset) @ turn.T, 1)
    return tuple((float(x), float(y)) for x, y in placed)


def _landmark(target: Target, targets: Sequence[Target], world: World) -> tuple[str, float] | None:
    """Return the name and the rounded distance of the nearest landmark; None if none is near."""
    own = {name for t in targets for name in world.anchor(t.name).instances}
    gaps: dict[str, float] = {}
    for instance in world.instances:
        prop = instance.model.prop
        kind = prop.prop_class or instance.model.name
        if not prop.structure or instance.name in own or kind in _NO_LANDMARKS:
            continue
        gap = _distance(instance, target, world)
        # normal-pipeline and damaged-pipeline are parts of one.
        name = kind.rpartition('-')[2].replace('_', ' ')
        gaps[name] = min(gap, gaps.get(name, math.inf))
    near = {name: gap for name, gap in gaps.items() if LANDMARK_M[0] <= gap <= LANDMARK_M[1]}
    if not near:
        return None
    name = min(near, key=lambda n: (near[n], n))
    return name, LANDMARK_STEP_M * round(near[name] / LANDMARK_STEP_M)


def _distance(instance: Instance, target: Target, world: World) -> float:
    """Return the horizontal distance of a target's point from an instance [m]."""
    whole = Anchor(name='', label='', point=instance.pose.position, instances=(instance.name,))
    boxes = Footprint.of(footprint_boxes(world, whole))
    x, y, _ = target.point
    return float(boxes.distance((x, y, instance.pose.position[2]))[0])
