#!/usr/bin/env python3
"""Render every kind of target as the vehicle meets it, in several waters: RGB and sonar.

A sheet per water: each target from 5 m and 10 m off its surface and from where its longest side
spans 40 pixels (from 25 m where that is farther), and those over 5 m from 30 m. Cameras and sonars are
the vehicle's own, and the vehicle is level. One more sheet shows all six directions, and one the
ranges at which the contrast of targets is about 4, 2 and 1 times what counts as perceptible.
"""

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

from oceangym_core.assets import assets_root
from oceangym_core.config.waters import load_water
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.observation import CameraSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import Anchor, load_visual_mesh, load_world, World, world_path
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.optics.lamps import Lamp
from oceangym_sim.optics.rig import CameraFrame, CameraRig
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.perceptible import CONTRAST_SIGMA
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.sonar.fan import FanProjector
from oceangym_sim.sonar.rig import SonarRig

TILE = 224
CAPTION = 20
SPAN_PIXELS = 40
CROP = 120
NEAR, MIDDLE, FAR = 5.0, 10.0, 30.0
WATERS = ('shallow', 'deep', 'coastal_summer')
BEARINGS = 16
# Heights to look from besides the plain one, and from which distance on [m].
NEAR_ENOUGH, RISES = 10.0, (0.0, 6.0, 12.0)
HULL = 20.0  # m
# Beyond this the water hides everything: longer targets are seen from here with fewer pixels.
SIGHT = 25.0
# Ranges to look for a contrast at [m], and the contrasts in units of CONTRAST_SIGMA.
RANGES = {
    'shallow': (14, 18, 22, 27, 30, 34, 39, 46, 54),
    'deep': (3.5, 4.2, 5, 5.7, 6.4, 7.2, 8, 9),
}
CONTRAST_TARGETS = {
    'shallow': ('OIL DRUM', 'MINING ROBOT', 'H-MARKED LANDING PLATFORM'),
    'deep': ('SUNKEN SHIP', 'WIND POWER STATION'),
}
CONTRASTS = (4.0, 2.0, 1.0)
VEHICLE = load_vehicle(assets_root() / 'models' / 'bluerov2_heavy' / 'model.sdf')
CAMERA = next(spec for spec in VEHICLE.cameras if spec.direction == 'front')


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
        self._lamps = tuple(
            Lamp(
                position=lamp.position,
                direction=lamp.direction,
                lumen=lamp.lumens,
                half_angle=lamp.beam_width / 2,
            )
            for lamp in VEHICLE.lamps
        )
        self._sonar = SonarRig(scene=scene, specs=VEHICLE.sonars, seed=0)
        self._fans = {spec.direction: FanProjector(spec) for spec in VEHICLE.sonars}
        self._taken = 0
        self._poses: dict[tuple[str, float], Pose] = {}

    def pose(self, subject: Subject, distance: float) -> Pose:
        """Return where to photograph a target from, `distance` [m] off its surface."""
        key = (subject.anchor.name, distance)
        if key not in self._poses:
            self._poses[key] = self._best_pose(subject, distance)
        return self._poses[key]

    def image(self, pose: Pose, water: str, *, size: int = 512) -> NDArray[np.uint8]:
        """Return RGB (size, size, 3) of the front camera in a water."""
        return self._frames(pose, water, (replace(CAMERA, width=size, height=size),))['front']

    def around(self, pose: Pose, water: str) -> dict[str, NDArray[np.uint8]]:
        """Return RGB of all six cameras in a water, by direction."""
        return self._frames(pose, water, VEHICLE.cameras)

    def fan(self, pose: Pose, direction: str = 'front') -> NDArray[np.uint8]:
        """Return the fan image of a sonar."""
        ping = self._sonar.observe(pose=pose, index=0)[direction]
        assert ping.polar is not None
        return self._fans[direction].render(ping.polar)

    def back_off(
        self, subject: Subject, water: str
    ) -> list[tuple[float, Pose, CameraFrame, NDArray[np.bool_]]]:
        """Return range [m], pose, front view and the target's pixels from ever farther off."""
        names = enumerate(self._scene.instance_names)
        wanted = np.array([i for i, n in names if n in subject.anchor.instances], dtype=np.uint32)
        optics = WaterOptics.of(load_water(water))
        rig = CameraRig(
            specs=(CAMERA,), optics=optics, scene=self._scene, lamps=self._lamps, seed=0,
            targets=(wanted,),
        )  # fmt: skip
        start, views = self.pose(subject, MIDDLE), []
        ahead = start.rotation[:, 0]
        for away in RANGES[water]:
            x, y, z = np.asarray(start.position) + (MIDDLE - away) * ahead
            place = (x, y, max(z, self._world.seabed(float(x), float(y)) + 1.2))
            pose = Pose.from_euler(place, 0.0, 0.0, math.atan2(ahead[1], ahead[0]))
            frame = rig.render(pose=pose, index=len(views), lamp_level=optics.lamps)['front']
            mine = np.isin(frame.instance, wanted)
            if mine.any():
                views.append((away, pose, frame, mine))
        return views

    def _frames(
        self, pose: Pose, water: str, specs: tuple[CameraSpec, ...]
    ) -> dict[str, NDArray[np.uint8]]:
        optics = WaterOptics.of(load_water(water))
        rig = CameraRig(specs=specs, optics=optics, scene=self._scene, lamps=self._lamps, seed=0)
        # Other snow in every picture.
        self._taken += 1
        frames = rig.render(pose=pose, index=self._taken, lamp_level=optics.lamps)
        return {name: frame.image for name, frame in frames.items()}

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
        """Return the level pose towards the target with its nearest point at `distance` [m]."""
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
        return Pose.from_euler(place, 0.0, 0.0, bearing + math.pi)

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


def crop(image: NDArray[np.uint8], subject: Subject, pose: Pose) -> NDArray[np.uint8]:
    """Return CROP pixels a side about a target's middle, less where the image is smaller."""
    size = image.shape[0]
    side = min(CROP, size)
    x, y, ahead = (pose @ CAMERA.mount).inverse().apply(subject.centre)
    focal_length = CAMERA.focal_length * size / CAMERA.width
    left, top = (
        int(np.clip(size / 2 + focal_length * offset / ahead - side / 2, 0, size - side))
        for offset in (x, y)
    )
    return image[top : top + side, left : left + side]


def row(photographer: Photographer, subject: Subject, water: str) -> Image.Image:
    """Return one target's strip of views in a water."""
    label = f'{subject.anchor.label.lower()}, {subject.length:.1f} m'
    tiles = []
    for distance, caption in ((NEAR, f'{label}: {NEAR:g} m off'), (MIDDLE, f'{MIDDLE:g} m off')):
        pose = photographer.pose(subject, distance)
        tiles.append(tile(photographer.image(pose, water), caption))
        tiles.append(tile(photographer.fan(pose), 'sonar, same place'))
    distance = CAMERA.focal_length * subject.length / SPAN_PIXELS
    place = min(distance, SIGHT)
    size = 2 * round(CAMERA.width * place / distance / 2)
    pose = photographer.pose(subject, place)
    small = photographer.image(pose, water, size=size)
    small = crop(small, subject, pose)
    tiles.append(tile(small, f'{SPAN_PIXELS} px long, from {place:.0f} m, enlarged'))
    tiles.append(tile(photographer.image(pose, water), f'{place:.0f} m off'))
    if subject.length > NEAR:
        pose = photographer.pose(subject, FAR)
        tiles.append(tile(photographer.image(pose, water), f'{FAR:g} m off'))
        tiles.append(tile(photographer.fan(pose), 'sonar, same place'))
    return beside(tiles)


def directions(photographer: Photographer, subject: Subject) -> Image.Image:
    """Return what all six cameras and sonars show beside a target, in each water."""
    pose = photographer.pose(subject, NEAR)
    strips = []
    for water in WATERS:
        images = photographer.around(pose, water)
        strips.append(beside([tile(images[d], f'{water}: {d}') for d in DIRECTIONS]))
    fans = [tile(photographer.fan(pose, d), f'sonar {d}') for d in DIRECTIONS]
    half = len(fans) // 2
    return below([*strips, beside(fans[:half]), beside(fans[half:])])


def contrasts(photographer: Photographer, subject: Subject, water: str) -> Image.Image:
    """Return a target where its best tenth of pixels has about each of CONTRASTS, with a crop."""
    found = []
    for away, pose, frame, mine in photographer.back_off(subject, water):
        assert frame.contrast is not None
        shown = frame.contrast[mine]
        level = float(np.percentile(shown, 90)) / CONTRAST_SIGMA
        found.append((level, int((shown > CONTRAST_SIGMA).sum()), away, pose, frame.image))
    tiles = []
    for wanted in CONTRASTS:
        level, count, away, pose, image = min(found, key=lambda view: abs(view[0] - wanted))
        name = f'{subject.anchor.label.lower()}, {water}, {away:g} m'
        tiles.append(tile(image, name))
        tiles.append(tile(crop(image, subject, pose), f'{level:.1f} k, {count} pixels count'))
    return beside(tiles)


def beside(tiles: list[Image.Image]) -> Image.Image:
    """Return pictures in a row."""
    size = (sum(t.width + 4 for t in tiles), max(t.height for t in tiles))
    strip = Image.new('RGB', size, (16, 20, 24))
    x = 0
    for picture in tiles:
        strip.paste(picture, (x, 0))
        x += picture.width + 4
    return strip


def below(strips: list[Image.Image]) -> Image.Image:
    """Return pictures one below the other."""
    size = (max(s.width for s in strips), sum(s.height + 4 for s in strips))
    sheet = Image.new('RGB', size, (16, 20, 24))
    y = 0
    for strip in strips:
        sheet.paste(strip, (0, y))
        y += strip.height + 4
    return sheet


def save(sheet: Image.Image, path: Path) -> None:
    """Write a sheet as JPEG: sensor noise does not compress otherwise."""
    sheet.save(path, quality=84)
    print(f'{path}: {path.stat().st_size / 1e6:.2f} MB')


def main() -> int:
    """Write the sheets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--world', default='ocean', help='shipped world or SDF file')
    parser.add_argument('--output', type=Path, default=Path('docs/sensors'))
    parser.add_argument('--waters', nargs='+', default=list(WATERS))
    parser.add_argument('--device', default='auto', choices=('auto', 'cpu', 'cuda'))
    parser.add_argument('--all', action='store_true', help='every target, not one of each kind')
    arguments = parser.parse_args()
    world = load_world(world_path(arguments.world))
    photographer = Photographer(world, RayScene(world, device=arguments.device))
    subjects: dict[str, Subject] = {}
    for anchor in world.anchors:
        key = anchor.name if arguments.all else anchor.label
        subjects.setdefault(key, subject_of(world, anchor))
    arguments.output.mkdir(parents=True, exist_ok=True)
    kinds = {subject.anchor.label: subject for subject in subjects.values()}
    rows = [
        contrasts(photographer, kinds[label], water)
        for water, labels in CONTRAST_TARGETS.items()
        for label in labels
        if water in arguments.waters and label in kinds
    ]
    if rows:
        save(below(rows), arguments.output / 'contact_sheet_contrast.jpg')
    for water in arguments.waters:
        rows = [row(photographer, subject, water) for subject in subjects.values()]
        save(below(rows), arguments.output / f'contact_sheet_{water}.jpg')
    ship = next(s for s in subjects.values() if s.anchor.label == 'SUNKEN SHIP')
    save(directions(photographer, ship), arguments.output / 'contact_sheet_directions.jpg')
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(1)
