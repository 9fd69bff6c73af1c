"""What a camera truly sees: depth, classes, instances, normals and boxes, for labels and scoring.

All of it comes from the rays that made the picture.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import CameraSpec
from oceangym_core.geometry import Pose
from oceangym_core.world.world import Instance, load_visual_mesh, World
from oceangym_sim.optics.rays import optical_rays
from oceangym_sim.optics.rig import CameraFrame

# Segmentation values below the world's own classes.
NOTHING, SURFACE = 0, 1
# Fewer pixels than this make no box.
SMALLEST = 4


@dataclass(frozen=True, kw_only=True)
class Box:
    """One thing in a camera's view, in the optical frame (z forward, x right, y down).

    Attributes:
        instance: Its name in the world.
        prop_class: Its class (``sunken_ship``, ``boulder``, ...).
        label: Report label, empty for what is no target.
        pixels: How many show it.
        left, top, right, bottom: Edges of what shows [px]; right and bottom are exclusive.
        centre: Of its oriented box [m].
        size: Of that box along its own axes [m].
        orientation: Of those axes, quaternion (x, y, z, w).
        distance: Range of its nearest visible point [m].
    """

    instance: str
    prop_class: str
    label: str
    pixels: int
    left: int
    top: int
    right: int
    bottom: int
    centre: tuple[float, float, float]
    size: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    distance: float

    def as_dict(self) -> dict[str, object]:
        """Return it for JSON."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class CameraTruth:
    """Ground truth of one picture.

    Attributes:
        depth: (H, W) float32 along the optical axis [m] (REP 118: inf without a return).
        segmentation: (H, W) uint8 index into `Labeller.classes`.
        instance: (H, W) uint16 index into `Labeller.instances`.
        normal: (H, W, 3) float32 unit normals in the optical frame, zero without a hit.
        boxes: Of everything but terrain that at least SMALLEST pixels show, nearest first.
    """

    depth: NDArray[np.float32]
    segmentation: NDArray[np.uint8]
    instance: NDArray[np.uint16]
    normal: NDArray[np.float32]
    boxes: tuple[Box, ...]


class Labeller:
    """Turns camera frames into ground truth.

    Args:
        world: What the frames show.
        specs: The cameras.
    """

    def __init__(self, world: World, specs: tuple[CameraSpec, ...]) -> None:
        self._world = world
        self._cosine = {
            spec.direction: optical_rays(spec)[:, 2]
            .reshape(spec.height, spec.width)
            .astype(np.float32)
            for spec in specs
        }
        self._specs = {spec.direction: spec for spec in specs}
        found = sorted({_class_of(instance) for instance in world.instances})
        self.classes: tuple[str, ...] = ('nothing', 'surface', *found)
        self.instances: tuple[str, ...] = (*(i.name for i in world.instances), 'surface', '')
        number = {name: i for i, name in enumerate(self.classes)}
        self._class_of = np.array(
            [*(number[_class_of(i)] for i in world.instances), SURFACE, NOTHING], dtype=np.uint8
        )
        self._labels = {name: a.label for a in world.anchors for name in a.instances}
        self._extents: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def label(self, frame: CameraFrame, direction: str, pose: Pose) -> CameraTruth:
        """Return the truth of a frame that was rendered with normals.

        Args:
            frame: The camera's frame.
            direction: Of the camera.
            pose: base_link in map.
        """
        assert frame.normal is not None
        return CameraTruth(
            depth=frame.distance * self._cosine[direction],
            segmentation=self._class_of[frame.instance],
            instance=frame.instance.astype(np.uint16),
            normal=frame.normal,
            boxes=self._boxes(frame, pose @ self._specs[direction].mount),
        )

    def _boxes(self, frame: CameraFrame, camera: Pose) -> tuple[Box, ...]:
        boxes = []
        names, counts = np.unique(frame.instance, return_counts=True)
        for index, count in zip(names.tolist(), counts.tolist()):
            if index >= len(self._world.instances) or count < SMALLEST:
                continue
            instance = self._world.instances[index]
            if instance.model.heightfield is not None:
                continue
            mask = frame.instance == index
            rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
            middle, size = self._extent(instance)
            placed = camera.inverse() @ instance.pose
            x, y, z = placed.apply(middle)
            boxes.append(
                Box(
                    instance=instance.name,
                    prop_class=_class_of(instance),
                    label=self._labels.get(instance.name, ''),
                    pixels=int(count),
                    left=int(columns[0]),
                    top=int(rows[0]),
                    right=int(columns[-1]) + 1,
                    bottom=int(rows[-1]) + 1,
                    centre=(float(x), float(y), float(z)),
                    size=(float(size[0]), float(size[1]), float(size[2])),
                    orientation=placed.quaternion,
                    distance=float(frame.distance[mask].min()),
                )
            )
        return tuple(sorted(boxes, key=lambda box: box.distance))

    def _extent(self, instance: Instance) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return middle and size of a model's box along its own axes [m]."""
        key = str(instance.model.path)
        if key not in self._extents:
            points = np.concatenate(
                [np.asarray(load_visual_mesh(v).vertices) for v in instance.model.visuals]
            )
            low, high = points.min(axis=0), points.max(axis=0)
            self._extents[key] = ((low + high) / 2, high - low)
        return self._extents[key]


def _class_of(instance: Instance) -> str:
    """Return an instance's class; a model without one is its own."""
    return instance.model.prop.prop_class or instance.model.name
