#!/usr/bin/env python3
"""Render every kind of target as the vehicle meets it: RGB and sonar, near, at 40 pixels, at 30 m."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
import itertools
import math
from pathlib import Path
import sys

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from oceangym_core.contract import optical_orientation, sonar_orientation
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.observation import CameraSpec, SonarSpec
from oceangym_core.world import Anchor, load_visual_mesh, load_world, World, world_path
from oceangym_sim.cameras import CameraRig
from oceangym_sim.fan import FanProjector
from oceangym_sim.scene import RayScene
from oceangym_sim.sonar_rig import SonarRig
from oceangym_sim.water import WaterOptics

TILE = 224
CAPTION = 20
SPAN_PIXELS = 40
CROP = 120
NEAR, FAR = 5.0, 30.0
LARGE = 5.0
BEARINGS = 16
# Heights to look from besides the plain one, and from which distance on [m].
NEAR_ENOUGH, RISES = 10.0, (0.0, 6.0, 12.0)
HULL = 20.0  # m
# Beyond this the water hides everything: longer targets are seen from here with fewer pixels.
SIGHT = 25.0
CAMERA = CameraSpec(direction='front', mount=Pose.of((0, 0, 0), optical_orientation('front')))
SONAR = SonarSpec(
    direction='front',
    mount=Pose.of((0, 0, 0), sonar_orientation('front')),
    range_min=1.0,
    range_max=40.0,
    elevation_aperture=math.radians(20.0),
    preset='oceangym_decision',
)


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A target as a photographer sees it.

    Attributes:
        anchor: The target point.
        points: Its visible points in map, (N, 3).
        length: Longest side [m].
        heading: Of its long axis [rad].
        slender: Whether it tells nothing end on.
    """

    anchor: Anchor
    points: NDArray[np.float64]
    length: float
    heading: float
    slender: bool

    @property
    def height(self) -> float:
        """From its lowest to its highest point below the surface [m]."""
        return float(np.ptp(self.points[:, 2]))

    @property
    def centre(self) -> NDArray[np.float64]:
        """What to aim at in map [m]: the target's point, or the middle of its bounding box."""
        if self.anchor.radius is not None:
            return np.asarray(self.anchor.point)
        centre: NDArray[np.float64] = (self.points.min(axis=0) + self.points.max(axis=0)) / 2
        return centre


def subject_of(world: World, anchor: Anchor) -> Subject:
    """Gather a target's vertices; with a radius only those within it, and all below the surface."""
    clouds = []
    for name in anchor.instances:
        instance = world.instance(name)
        clouds += [
            instance.pose.apply(load_visual_mesh(visual).vertices)
            for visual in instance.model.visuals
        ]
    points = np.concatenate(clouds)
    if anchor.radius is not None:
        away = np.linalg.norm(points - np.asarray(anchor.point), axis=1)
        points = points[away <= anchor.radius]
    points = points[points[:, 2] < -1.0]
    size = points.max(axis=0) - points.min(axis=0)
    spread = points[:, :2] - points[:, :2].mean(axis=0)
    _, _, axes = np.linalg.svd(spread, full_matrices=False)
    along, across = (float(np.ptp(spread @ axis)) for axis in axes)
    return Subject(
        anchor=anchor,
        points=points,
        length=max(along, float(size[2])),
        heading=math.atan2(axes[0][1], axes[0][0]),
        slender=along > 2.5 * across,
    )


class Photographer:
    """Finds an open view of a target at a distance and takes it with camera and sonar."""

    def __init__(self, world: World, scene: RayScene) -> None:
        self._world, self._scene = world, scene
        self._scout = CameraRig(
            specs=(replace(CAMERA, width=96, height=96, far=250.0),),
            optics=WaterOptics(),
            samples=1,
            shadows=False,
            scene=scene,
            lamps=(),
            seed=0,
        )
        self._sonar = SonarRig(scene=scene, specs=(SONAR,), seed=0)
        self._fan = FanProjector(SONAR)

    def take(
        self, subject: Subject, distance: float, *, size: int = 512
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return RGB (size, size, 3) and fan images from `distance` [m] off the target's surface."""
        pose = self._best_pose(subject, distance)
        camera = CameraRig(
            specs=(replace(CAMERA, width=size, height=size),),
            optics=WaterOptics(),
            samples=4,
            scene=self._scene,
            lamps=(),
            seed=0,
        )
        frame = camera.render(pose=pose, index=0, lamp_level=0.0)['front']
        ping = self._sonar.observe(pose=pose, index=0)['front']
        assert ping.polar is not None
        return frame.image, self._fan.render(ping.polar)

    def _best_pose(self, subject: Subject, distance: float) -> Pose:
        """Return the pose of BEARINGS all round that shows most of the target."""
        wanted = [
            i for i, name in enumerate(self._scene.instance_names)
            if name in subject.anchor.instances
        ]  # fmt: skip
        best, most = Pose(), -1.0
        # A long hull tells most by its outline from aside, everything else shows better from above.
        hull = subject.anchor.radius is None and 2 * subject.height < subject.length > HULL
        rises = (0.0,) if hull or distance < NEAR_ENOUGH else RISES
        turns = np.arange(BEARINGS) * 2 * math.pi / BEARINGS
        for bearing, rise in itertools.product(turns, rises):
            if subject.slender and abs(math.cos(bearing - subject.heading)) > 0.75:
                continue
            pose = self._stand_off(subject, distance, float(bearing), rise)
            frame = self._scout.render(pose=pose, index=0, lamp_level=0.0)['front']
            seen = np.isin(frame.instance, wanted) & (frame.distance < distance + subject.length)
            # Of equal views the broadside one tells most.
            columns = np.nonzero(seen.any(axis=0))[0]
            score = float(seen.sum()) + (4.0 * float(np.ptp(columns)) if len(columns) else 0.0)
            if score > most:
                best, most = pose, score
        return best

    def _stand_off(self, subject: Subject, distance: float, bearing: float, rise: float) -> Pose:
        """Return the pose aimed at the target's middle with its nearest point at `distance` [m]."""
        out = np.array([math.cos(bearing), math.sin(bearing), 0.0])
        centre = subject.centre
        cloud = subject.points[:: max(1, len(subject.points) // 4000)]
        low, high = 0.0, distance + 2 * subject.length
        for _ in range(30):
            reach = 0.5 * (low + high)
            place = self._lift(subject, centre + reach * out, rise)
            if np.linalg.norm(cloud - place, axis=1).min() < distance:
                low = reach
            else:
                high = reach
        place = self._lift(subject, centre + high * out, rise)
        to_centre = centre - place
        # Tall things are looked at level, where the vehicle is, low ones from above.
        drop = min(0.0, float(to_centre[2]))
        pitch = math.atan2(-drop, float(np.hypot(*to_centre[:2])))
        return Pose.from_euler(place, 0.0, pitch, bearing + math.pi)

    def _lift(
        self, subject: Subject, place: NDArray[np.float64], rise: float
    ) -> NDArray[np.float64]:
        """Return a place somewhat above a low target or beside a high one, clear of the seabed."""
        bottom, top = subject.points[:, 2].min(), subject.points[:, 2].max()
        height = float(top - bottom)
        flat = height < subject.length / 4
        above = height + 0.25 * subject.length if flat else height / 3
        wanted = bottom + min(max(1.5, above), 6.0) + rise
        ground = self._world.seabed(float(place[0]), float(place[1]))
        return np.array([place[0], place[1], min(max(wanted, ground + 1.2), -1.0)])


def tile(image: NDArray[np.uint8], caption: str) -> Image.Image:
    """Return an image scaled to the sheet's row height with a caption above it."""
    picture = Image.fromarray(image).convert('RGB')
    width = round(picture.width * TILE / picture.height)
    canvas = Image.new('RGB', (width, TILE + CAPTION), (16, 20, 24))
    canvas.paste(picture.resize((width, TILE), Image.Resampling.LANCZOS), (0, CAPTION))
    ImageDraw.Draw(canvas).text(
        (4, 3), caption, fill=(225, 230, 235), font=ImageFont.load_default(12)
    )
    return canvas


def row(photographer: Photographer, subject: Subject) -> Image.Image:
    """Return one target's strip of views."""
    label = f'{subject.anchor.label.lower()}, {subject.length:.1f} m'
    image, fan = photographer.take(subject, NEAR)
    tiles = [tile(image, f'{label}: {NEAR:g} m off'), tile(fan, 'sonar, same place')]
    whole = min(max(NEAR, 0.55 * subject.length), SIGHT)
    image, _ = photographer.take(subject, whole)
    tiles.append(tile(image, f'whole, from {whole:.0f} m'))
    distance = CAMERA.focal_length * subject.length / SPAN_PIXELS
    place = min(distance, SIGHT)
    size = 2 * round(CAMERA.width * place / distance / 2)
    small, fan = photographer.take(subject, place, size=size)
    edge = max(0, (size - CROP) // 2)
    small = small[edge : size - edge, edge : size - edge]
    tiles.append(tile(small, f'{SPAN_PIXELS} px long, from {place:.0f} m, enlarged'))
    if subject.length > LARGE:
        image, fan = photographer.take(subject, FAR)
        tiles += [tile(image, f'{FAR:g} m off'), tile(fan, 'sonar, same place')]
    else:
        image, fan = photographer.take(subject, place)
        tiles += [tile(image, f'{place:.0f} m off'), tile(fan, 'sonar, same place')]
    strip = Image.new('RGB', (sum(t.width + 4 for t in tiles), TILE + CAPTION), (16, 20, 24))
    x = 0
    for picture in tiles:
        strip.paste(picture, (x, 0))
        x += picture.width + 4
    return strip


def main() -> int:
    """Write the sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--world', default='ocean', help='shipped world or SDF file')
    parser.add_argument('--output', type=Path, default=Path('worlds/ocean/contact_sheet.png'))
    parser.add_argument('--device', default='auto', choices=('auto', 'cpu', 'cuda'))
    parser.add_argument('--all', action='store_true', help='every target, not one of each kind')
    arguments = parser.parse_args()
    world = load_world(world_path(arguments.world))
    photographer = Photographer(world, RayScene(world, device=arguments.device))
    seen: set[str] = set()
    strips = []
    for anchor in world.anchors:
        if arguments.all or anchor.label not in seen:
            seen.add(anchor.label)
            strips.append(row(photographer, subject_of(world, anchor)))
            print(f'{anchor.name}', file=sys.stderr)
    width = max(strip.width for strip in strips)
    sheet = Image.new('RGB', (width, sum(s.height + 4 for s in strips)), (16, 20, 24))
    y = 0
    for strip in strips:
        sheet.paste(strip, (0, y))
        y += strip.height + 4
    # Seven bits a channel are enough for the eye and compress far better than sensor noise does.
    levels = np.asarray(sheet) & np.uint8(0xFC)
    Image.fromarray(levels).save(arguments.output, optimize=True)
    print(f'{arguments.output}: {arguments.output.stat().st_size / 1e6:.2f} MB')
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(1)
