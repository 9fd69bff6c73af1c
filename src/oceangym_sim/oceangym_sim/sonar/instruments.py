"""Other sonars from the core of the imaging ones: altimeter, scanning, side-scan and profiling sonar."""

from __future__ import annotations

from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.actions import sonar_orientation
from oceangym_core.contract.observation import SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.sonar.presets import device_spec
from oceangym_sim.sonar.rig import SonarRig
from oceangym_sim.sonar.sound import Grid, NOMINAL_WATER, SeaWater

Floats = NDArray[np.float64]

# An echo is one from this much over the noise [dB].
_DETECTION_DB = 10.0
# The seabed begins where the echo comes within this of its strongest [dB].
_LEADING_EDGE_DB = 10.0
SIDE_SCAN_TILT = math.radians(25.0)


def bin_ranges(spec: SonarSpec) -> Floats:
    """Return the centres of a sonar's range bins [m], (range_bins,)."""
    places = np.arange(spec.range_bins, dtype=np.float64) + 0.5
    return np.asarray(spec.range_min + places * spec.range_resolution)


class SingleBeam:
    """One beam, which a narrow fan of rays samples: the fan's middle column is what it hears.

    Args:
        scene: What the rays meet.
        spec: An odd number of columns over the beam and its side lobes, at its mount in base_link.
        seed: Of speckle and noise.
        stream: Name of the noise's random stream.
        water: What absorbs the sound.

    Raises:
        OceanGymError: The number of columns is even, so that none is in the middle.
    """

    def __init__(
        self,
        *,
        scene: RayScene,
        spec: SonarSpec,
        seed: int,
        stream: str,
        water: SeaWater = NOMINAL_WATER,
    ) -> None:
        if spec.beams % 2 == 0:
            raise OceanGymError(
                f'sonar {stream}: {spec.beams} columns have none in the middle for the beam; give '
                'an odd number of beams'
            )
        self.spec = spec
        self._seed, self._stream = seed, stream
        self._rig = SonarRig(
            scene=scene, specs=(replace(spec, mount=Pose()),), seed=seed, water=water
        )

    def noise(self, self_noise: float = 0.0) -> Grid:
        """Return the mean noise by range, full scale 1, (range_bins,)."""
        return self._rig.formers[0].noise(self_noise)

    def listen(
        self, *, pose: Pose, index: int, turn: float = 0.0, self_noise: float = 0.0
    ) -> Grid:
        """Return one ping's linear intensity 0..1, (range_bins,).

        Args:
            pose: base_link in map.
            index: Of the ping, for the noise.
            turn: Of the head about the sonar's up axis, positive to port [rad].
            self_noise: See `PingFormer.ping`.
        """
        head = pose @ self.spec.mount @ Pose.from_euler((0, 0, 0), turn, 0.0, 0.0)
        frame = self._rig.observe(pose=head, index=index, noise=False)[self.spec.direction]
        middle = self.spec.beams // 2
        assert frame.mean is not None
        mean = np.ascontiguousarray(frame.mean[:, middle : middle + 1])
        rng = generator(self._seed, self._stream, index)
        return self._rig.formers[0].ping(mean, rng, self_noise=self_noise)[:, 0]


class Altimeter:
    """A single-beam altimeter looking down: the range to the nearest point of the seabed.

    Args:
        scene: What the rays meet.
        seed: Of speckle and noise.
        mount: Of its sonar frame in base_link.
        device: Name of the device's preset.
        water: What absorbs the sound.
    """

    def __init__(
        self,
        *,
        scene: RayScene,
        seed: int,
        mount: Pose | None = None,
        device: str = 'ping1d',
        water: SeaWater = NOMINAL_WATER,
    ) -> None:
        down = Pose.of((0, 0, 0), sonar_orientation('down')) if mount is None else mount
        spec = device_spec(device, direction='down', mount=down)
        self.beam = SingleBeam(scene=scene, spec=spec, seed=seed, stream='altimeter', water=water)

    def range(self, *, pose: Pose, index: int, self_noise: float = 0.0) -> float:
        """Return the altitude along the beam [m], inf without an echo.

        A smooth echo of three bins must rise from the noise and close to the strongest one: a wide
        beam hears the nearest part of the seabed first, be it aside or ahead.

        Args:
            pose: base_link in map.
            index: Of the ping, for the noise.
            self_noise: See `PingFormer.ping`; it counts as noise that echoes must rise from.
        """
        echo = self.beam.listen(pose=pose, index=index, self_noise=self_noise)
        window = np.ones(3) / 3
        smooth = np.convolve(echo, window, mode='same')
        noise = np.convolve(self.beam.noise(self_noise), window, mode='same')
        heard = smooth > noise * 10.0 ** (_DETECTION_DB / 10.0)
        if not heard.any():
            return math.inf
        strongest = float(smooth[heard].max())
        first = int(np.argmax(heard & (smooth >= strongest * 10.0 ** (-_LEADING_EDGE_DB / 10.0))))
        # The window hears an echo a bin before it begins.
        return self.beam.spec.range_min + (first + 1.0) * self.beam.spec.range_resolution


@dataclass(frozen=True, kw_only=True)
class ScanLine:
    """One ping of a scanning sonar: head angle [rad, + to port], intensity 0..1 (range_bins,)."""

    angle: float
    intensity: Grid


class ScanningSonar:
    """A mechanically scanned sonar: its head turns a step after every ping.

    Its picture holds the last line of every head angle. A vehicle that moves during a turn smears it,
    as every line is taken from where the vehicle then is.

    Args:
        scene: What the rays meet.
        seed: Of speckle and noise.
        mount: Of its sonar frame in base_link; a head angle of 0 looks along its z axis.
        steps: Head angles over the sector.
        sector: That the head sweeps about the z axis [rad]; a full turn by default.
        device: Name of the device's preset.
        water: What absorbs the sound.
    """

    def __init__(
        self,
        *,
        scene: RayScene,
        seed: int,
        mount: Pose | None = None,
        steps: int = 400,
        sector: float = 2 * math.pi,
        device: str = 'ping360',
        water: SeaWater = NOMINAL_WATER,
    ) -> None:
        if not (2 <= steps <= 400 and 0.0 < sector <= 2 * math.pi):
            raise OceanGymError(
                f'a scan of {steps} steps over {math.degrees(sector):g} deg cannot be: give 2 to 400 '
                'steps over at most 360 deg'
            )
        ahead = Pose.of((0, 0, 0), sonar_orientation('front')) if mount is None else mount
        spec = device_spec(device, direction='front', mount=ahead)
        self.beam = SingleBeam(scene=scene, spec=spec, seed=seed, stream='scanning', water=water)
        # What the picture is to a `FanProjector`: a full turn's last beam lies a step before its first.
        closed = sector >= 2 * math.pi - 1e-9
        span = sector * (steps - 1) / steps if closed else sector
        self.spec = replace(spec, beams=steps, azimuth_aperture=span)
        self.image: Grid = np.zeros((spec.range_bins, steps), np.float32)
        self._pings = 0

    def step(self, pose: Pose, *, self_noise: float = 0.0) -> ScanLine:
        """Ping at the head's angle, turn it a step to starboard and return the line.

        Args:
            pose: base_link in map at this ping.
            self_noise: See `PingFormer.ping`.
        """
        column = self._pings % self.spec.beams
        angle = float(self.spec.azimuths[column])
        line = self.beam.listen(pose=pose, index=self._pings, turn=angle, self_noise=self_noise)
        self.image[:, column] = line
        self._pings += 1
        return ScanLine(angle=angle, intensity=line)


@dataclass(frozen=True, kw_only=True)
class SideScanLine:
    """One ping of a side-scan sonar: intensity 0..1 of each side over slant range, (range_bins,)."""

    port: Grid
    starboard: Grid


class SideScan:
    """A side-scan sonar: two fans, narrow along track, each with its own rays and its own noise.

    Args:
        scene: What the rays meet.
        seed: Of speckle and noise.
        mount: Of the fish in base_link, x ahead and z up; both fans leave from its origin.
        tilt: Of each fan's axis below the horizon [rad].
        device: Name of the device's preset.
        water: What absorbs the sound.
    """

    def __init__(
        self,
        *,
        scene: RayScene,
        seed: int,
        mount: Pose | None = None,
        tilt: float = SIDE_SCAN_TILT,
        device: str = 'side_scan',
        water: SeaWater = NOMINAL_WATER,
    ) -> None:
        fish = Pose() if mount is None else mount
        lean = Pose.from_euler((0, 0, 0), 0.0, -tilt, 0.0)
        self._sides = {
            side: SingleBeam(
                scene=scene,
                spec=device_spec(
                    device,
                    direction=direction,
                    mount=fish @ Pose.of((0, 0, 0), sonar_orientation(direction)) @ lean,
                ),
                seed=seed,
                stream=f'side_scan/{side}',
                water=water,
            )
            for side, direction in (('port', 'left'), ('starboard', 'right'))
        }
        self.spec = self._sides['port'].spec

    def ping(self, *, pose: Pose, index: int, self_noise: float = 0.0) -> SideScanLine:
        """Return both sides' echoes of one ping.

        Args:
            pose: base_link in map.
            index: Of the ping, for the noise.
            self_noise: See `PingFormer.ping`.
        """
        port, starboard = (
            beam.listen(pose=pose, index=index, self_noise=self_noise)
            for beam in self._sides.values()
        )
        return SideScanLine(port=port, starboard=starboard)


def waterfall(lines: list[SideScanLine]) -> Grid:
    """Return side-scan lines as a picture, newest at the top, port left, (lines, 2 range_bins)."""
    rows = [np.concatenate([line.port[::-1], line.starboard]) for line in reversed(lines)]
    return np.stack(rows)


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One ping of a profiler, by beam from port to starboard.

    Attributes:
        ranges: [m], NaN without an echo, (beams,).
        intensity: Of the strongest bin, linear 0..1, (beams,).
        points: Where the echoes come from in map [m], NaN without an echo, (beams, 3).
    """

    ranges: Floats
    intensity: Grid
    points: Floats


class Profiler:
    """A multibeam profiler: a thin fan across track that looks down, with one range a beam.

    Args:
        scene: What the rays meet.
        seed: Of speckle and noise.
        mount: Of its sonar frame in base_link; its fan lies across track by default.
        device: Name of the device's preset.
        water: What absorbs the sound.
    """

    def __init__(
        self,
        *,
        scene: RayScene,
        seed: int,
        mount: Pose | None = None,
        device: str = 'profiler',
        water: SeaWater = NOMINAL_WATER,
    ) -> None:
        down = Pose.of((0, 0, 0), sonar_orientation('down')) if mount is None else mount
        self.spec = device_spec(device, direction='down', mount=down)
        self._rig = SonarRig(scene=scene, specs=(self.spec,), seed=seed, water=water)

    def ping(self, *, pose: Pose, index: int, self_noise: float = 0.0) -> Profile:
        """Return the profile below the vehicle.

        A beam's range is the centre of energy of the bins about its strongest one.

        Args:
            pose: base_link in map.
            index: Of the ping, for the noise.
            self_noise: See `PingFormer.ping`; it counts as noise that echoes must rise from.
        """
        polar = self._rig.observe(pose=pose, index=index, self_noise=self_noise)['down'].polar
        assert polar is not None
        centres = bin_ranges(self.spec)
        peak = polar.argmax(axis=0)
        strongest = polar[peak, np.arange(self.spec.beams)]
        near = np.abs(np.arange(self.spec.range_bins)[:, None] - peak) <= self._reach(peak)
        weight = np.where(near & (polar >= 0.1 * strongest), polar, 0.0).astype(np.float64)
        floor = self._rig.formers[0].noise(self_noise)[peak]
        heard = strongest > floor * 10.0 ** (_DETECTION_DB / 10.0)
        total = np.where(heard, weight.sum(axis=0), 1.0)
        ranges = np.where(heard, (weight * centres[:, None]).sum(axis=0) / total, np.nan)
        azimuth = self.spec.azimuths
        along = np.stack([np.zeros_like(azimuth), -np.sin(azimuth), np.cos(azimuth)], axis=-1)
        points = (pose @ self.spec.mount).apply(along * ranges[:, None])
        return Profile(ranges=ranges, intensity=strongest, points=points)

    def _reach(self, peak: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return how many bins to either side of its peak a beam's echo may extend."""
        width = self._rig.formers[0].preset.beam_width
        # A beam met at up to 60 deg spans r w tan 60 deg in range.
        span = bin_ranges(self.spec)[peak] * width * math.tan(math.radians(60.0))
        reach: NDArray[np.intp] = np.ceil(span / self.spec.range_resolution).astype(np.intp)
        return reach
