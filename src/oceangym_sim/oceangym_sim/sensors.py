"""Everything a vehicle sees and hears at one instant, and what of the targets was perceptible."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
import hashlib

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import CameraSpec, Sighting, SonarPing, SonarSpec
from oceangym_core.errors import unknown_name
from oceangym_core.geometry import Pose
from oceangym_core.world.world import Anchor, World
from oceangym_sim.optics.labels import CameraTruth, Labeller
from oceangym_sim.optics.lamps import Lamp
from oceangym_sim.optics.rig import CameraFrame, CameraRig, Motion
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.perceptible import (
    camera_meets,
    camera_pixels,
    sonar_cells,
    sonar_meets,
    Target,
)
from oceangym_sim.rays.device import select_variant
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.sonar.fan import FanProjector
from oceangym_sim.sonar.formation import NOMINAL_WATER, SeaWater
from oceangym_sim.sonar.rig import SonarFrame, SonarRig
from oceangym_sim.sonar.sound import thruster_noise_share

MODES = ('all', 'truth', 'none')
TRUTH_SIZE = 128
_ALTIMETER_REACH = 100.0


@dataclass(frozen=True, kw_only=True)
class SensorReading:
    """One observation's images and truth.

    Attributes:
        cameras: Direction -> (H, W, 3) uint8 RGB.
        sonars: Direction -> ping.
        sightings: Per target and sensor, what was resolved; only what is not zero. Counts are those
            of full-size sensors in every mode.
        image_hashes: Stream (``camera/front``, ``sonar/front``) -> hex digest of the raw bytes.
        labels: Direction -> ground truth of the camera; empty unless asked for.
    """

    cameras: dict[str, NDArray[np.uint8]] = field(default_factory=dict)
    sonars: dict[str, SonarPing] = field(default_factory=dict)
    sightings: tuple[Sighting, ...] = ()
    image_hashes: dict[str, str] = field(default_factory=dict)
    labels: dict[str, CameraTruth] = field(default_factory=dict)


class SensorSuite:
    """The cameras and sonars of one vehicle in one world.

    Args:
        world: What there is to see.
        cameras: Mounted in base_link.
        sonars: Mounted in base_link.
        optics: The water, for light.
        lamps: The vehicle's lamps.
        anchors: The task's targets, whose perceptibility is recorded.
        seed: Of all sensor noise.
        device: ``auto``, ``cpu`` or ``cuda``.
        mode: ``all`` renders images; ``truth`` only what perceptibility needs, with
            small cameras and without noise;
            ``none`` nothing at all.
        scene: The world's ray scene where one is built already.
        sound: The water, for sound.
        labels: Make ground truth of the cameras too (mode ``all`` only).
    """

    def __init__(
        self,
        *,
        world: World,
        cameras: tuple[CameraSpec, ...],
        sonars: tuple[SonarSpec, ...],
        optics: WaterOptics,
        lamps: tuple[Lamp, ...],
        anchors: tuple[Anchor, ...],
        seed: int,
        device: str = 'auto',
        mode: str = 'all',
        scene: RayScene | None = None,
        sound: SeaWater = NOMINAL_WATER,
        labels: bool = False,
    ) -> None:
        if mode not in MODES:
            raise unknown_name('sensors mode', mode, MODES)
        self.mode = mode
        self.variant = select_variant(device)
        self._world, self._device = world, device
        self._scene = scene
        self._cameras: CameraRig | None = None
        self._sonars: tuple[SonarRig, ...] = ()
        self._targets: tuple[Target, ...] = ()
        self.labeller: Labeller | None = None
        if mode == 'none':
            return
        scene = self.scene
        self._targets = tuple(Target.of(anchor, scene.instance_names, world) for anchor in anchors)
        groups = {target.instances.tobytes(): target.instances for target in self._targets}
        # Stretches of one pipe are one thing to look past.
        self._groups = tuple(list(groups).index(t.instances.tobytes()) for t in self._targets)
        truth = mode == 'truth'
        if cameras:
            self._pixel_factors = {spec.direction: _pixel_factor(spec, truth) for spec in cameras}
            self._cameras = CameraRig(
                scene=scene,
                specs=tuple(_small_camera(spec) if truth else spec for spec in cameras),
                # Snow hides nothing that counts.
                optics=replace(optics, snow=0.0) if truth else optics,
                lamps=lamps,
                seed=seed,
                samples=1 if truth else 4,
                normals=labels and not truth,
                targets=tuple(groups.values()),
            )
            if labels and not truth:
                self.labeller = Labeller(world, cameras)
        if sonars:
            # For the truth most sonars can stay silent most of the time.
            together = [(spec,) for spec in sonars] if truth else [sonars]
            self._sonars = tuple(
                SonarRig(
                    scene=scene,
                    specs=specs,
                    seed=seed,
                    water=sound,
                    targets=tuple(groups.values()),
                )
                for specs in together
            )
            self._fans = {} if truth else {spec.direction: FanProjector(spec) for spec in sonars}
        self._wanted = np.concatenate(
            [np.empty(0, np.uint32), *(t.instances for t in self._targets)]
        )

    @property
    def scene(self) -> RayScene:
        """The ray scene, built when first used."""
        if self._scene is None:
            self._scene = shared_scene(self._world, self._device)
        return self._scene

    def observe(
        self,
        *,
        pose: Pose,
        index: int,
        lamp_level: float,
        thrust: NDArray[np.float64] | None = None,
        motion: Motion | None = None,
    ) -> SensorReading:
        """Return what the vehicle perceives.

        Args:
            pose: base_link in map.
            index: Of the observation; with the seed it fixes every noise bit.
            lamp_level: 0..1.
            thrust: Of each thruster [N], (T,): their noise reaches the sonars; None for silence.
            motion: Blurs the images while the shutter is open; None: sharp images.
        """
        cameras: dict[str, NDArray[np.uint8]] = {}
        sonars: dict[str, SonarPing] = {}
        sightings: list[Sighting] = []
        hashes: dict[str, str] = {}
        labels: dict[str, CameraTruth] = {}
        render = self.mode == 'all'
        wanted = None if render else self._in_view(pose)
        if self._cameras is not None and (render or wanted):
            frames = self._cameras.render(
                pose=pose,
                index=index,
                lamp_level=lamp_level,
                motion=motion if render else None,
                only=wanted,
            )
            sightings += self._camera_sightings(pose, frames)
            if render:
                cameras = {name: frame.image for name, frame in frames.items()}
                hashes |= {f'camera/{name}': digest(image) for name, image in cameras.items()}
            if self.labeller is not None:
                labels = {
                    name: self.labeller.label(frame, name, pose) for name, frame in frames.items()
                }
        for rig in self._sonars:
            if not render and not self._in_fan(rig, pose):
                continue
            pings = rig.observe(
                pose=pose,
                index=index,
                noise=render,
                only_with=None if render else self._wanted,
                self_noise=0.0 if thrust is None else thruster_noise_share(thrust),
            )
            sightings += self._sonar_sightings(rig, pings)
            for name, frame in pings.items():
                if frame.polar is not None:
                    sonars[name] = SonarPing(
                        polar=frame.polar, fan=self._fans[name].render(frame.polar)
                    )
                    hashes[f'sonar/{name}'] = digest(frame.polar)
        return SensorReading(
            cameras=cameras,
            sonars=sonars,
            sightings=tuple(sightings),
            image_hashes=hashes,
            labels=labels,
        )

    def altitude(self, pose: Pose) -> float:
        """Return the range [m] straight down the body's -z axis; inf without a return in 100 m."""
        down = -pose.rotation[:, 2]
        ranges = self.scene.distances(
            np.asarray([pose.position]), down[None, :], reach=_ALTIMETER_REACH
        )
        return float(ranges[0])

    def _camera_sightings(self, pose: Pose, frames: dict[str, CameraFrame]) -> list[Sighting]:
        assert self._cameras is not None
        found = []
        for spec in self._cameras.specs:
            name = spec.direction
            for target in self._targets if name in frames else ():
                seen = camera_pixels(target, frames[name], spec, pose)
                count = seen * self._pixel_factors[name]
                if count:
                    found.append(
                        Sighting(
                            anchor=target.anchor.name, sensor=f'camera/{name}', pixels=round(count)
                        )
                    )
        return found

    def _in_view(self, pose: Pose) -> frozenset[str]:
        """Return the cameras that may show a target."""
        specs = () if self._cameras is None else self._cameras.specs
        return frozenset(
            spec.direction
            for spec in specs
            if any(camera_meets(target, spec, pose) for target in self._targets)
        )

    def _in_fan(self, rig: SonarRig, pose: Pose) -> bool:
        return any(sonar_meets(target, f, pose) for f in rig.formers for target in self._targets)

    def _sonar_sightings(self, rig: SonarRig, frames: dict[str, SonarFrame]) -> list[Sighting]:
        found = []
        for former in rig.formers:
            name = former.spec.direction
            for target, group in zip(self._targets, self._groups):
                if name not in frames:
                    continue
                cells = sonar_cells(target, frames[name], former, group)
                if cells:
                    found.append(
                        Sighting(anchor=target.anchor.name, sensor=f'sonar/{name}', cells=cells)
                    )
        return found


# One scene takes seconds to build and a gigabyte: episodes that follow each other share it.
_LAST_SCENE: dict[tuple[object, ...], RayScene] = {}


def shared_scene(world: World, device: str) -> RayScene:
    """Return the ray scene of a world; the one built last is kept for the next caller."""
    key = (
        select_variant(device),
        *(
            (i.name, str(i.model.path), i.pose.position, i.pose.quaternion)
            for i in world.instances
        ),
    )
    if key not in _LAST_SCENE:
        _LAST_SCENE.clear()
        _LAST_SCENE[key] = RayScene(world, device=device)
    return _LAST_SCENE[key]


def _small_camera(spec: CameraSpec) -> CameraSpec:
    """Return the camera at no more than TRUTH_SIZE pixels a side, with the same view."""
    factor = min(1.0, TRUTH_SIZE / max(spec.width, spec.height))
    return replace(
        spec,
        width=max(1, round(spec.width * factor)),
        height=max(1, round(spec.height * factor)),
    )


def _pixel_factor(spec: CameraSpec, truth: bool) -> float:
    """Return the number of full-size pixels that one rendered pixel stands for."""
    small = _small_camera(spec) if truth else spec
    return spec.width * spec.height / (small.width * small.height)


def digest(array: NDArray[np.generic]) -> str:
    """Return the hex digest of an image's raw bytes."""
    return hashlib.blake2b(np.ascontiguousarray(array).data, digest_size=16).hexdigest()
