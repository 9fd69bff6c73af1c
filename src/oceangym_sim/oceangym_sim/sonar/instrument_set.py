"""The vehicle's further sonars as one set: where they are mounted, when they ping, what they show."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
import math
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from oceangym_core.assets import config_path
from oceangym_core.contract.actions import sonar_orientation
from oceangym_core.errors import unknown_name
from oceangym_core.files import read_schema, Schema
from oceangym_core.geometry import Pose
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.sonar.fan import FanProjector, to_grey
from oceangym_sim.sonar.instruments import (
    Altimeter,
    Profile,
    Profiler,
    ScanLine,
    ScanningSonar,
    SideScan,
    waterfall,
)
from oceangym_sim.sonar.sound import NOMINAL_WATER, SeaWater, thruster_noise_share

INSTRUMENTS = ('altimeter', 'profiler', 'sidescan', 'ping360')
# Poses arrive at this rate of simulation time [Hz]: nothing pings more often.
POSE_HZ = 10.0

Metres = Annotated[float, Field(ge=-5.0, le=5.0)]
Rate = Annotated[float, Field(gt=0.0, le=POSE_HZ)]


class Mounting(Schema):
    """Where an instrument sits.

    Attributes:
        device: Name of its preset.
        position: In base_link [m].
    """

    device: str
    position: tuple[Metres, Metres, Metres]


class AimedMounting(Mounting):
    """Where an instrument with one boresight sits, and where that looks.

    Attributes:
        direction: Of the boresight.
    """

    direction: Literal['front', 'back', 'left', 'right', 'up', 'down']

    @property
    def pose(self) -> Pose:
        """Of the sonar frame in base_link."""
        return Pose.of(self.position, sonar_orientation(self.direction))


class SideScanMounting(Mounting):
    """A side-scan sonar.

    Attributes:
        tilt_deg: Of each side's fan below the horizon [deg].
        rate_hz: Pings in a second of simulation time.
        lines: Of the waterfall.
    """

    tilt_deg: Annotated[float, Field(ge=0.0, le=90.0)]
    rate_hz: Rate
    lines: Annotated[int, Field(ge=1, le=4096)]


class ScanningMounting(AimedMounting):
    """A mechanically scanned sonar.

    Attributes:
        rate_hz: Pings, and steps of the head, in a second of simulation time.
        steps: Of the head over the sector.
        sector_deg: That the head sweeps [deg].
    """

    rate_hz: Rate
    steps: Annotated[int, Field(ge=2, le=400)]
    sector_deg: Annotated[float, Field(gt=0.0, le=360.0)]


class InstrumentMountings(Schema):
    """All instruments of a vehicle, as ``config/instruments.yaml`` gives them."""

    altimeter: AimedMounting
    profiler: AimedMounting
    sidescan: SideScanMounting
    ping360: ScanningMounting

    def link(self, name: str) -> Pose:
        """Return an instrument's link in base_link: x along its boresight, y to port, z up.

        Messages with ranges (REP 117, LaserScan) have this frame, not the sonars' own.
        """
        mounting = getattr(self, name)
        if not isinstance(mounting, AimedMounting):
            return Pose.of(mounting.position)
        return mounting.pose @ Pose.of((0, 0, 0), sonar_orientation('front')).inverse()


def load_mountings(path: Path | None = None) -> InstrumentMountings:
    """Return the mountings of a file, by default the shipped one.

    Raises:
        OceanGymError: The file is wrong.
    """
    return read_schema(path or config_path('instruments.yaml'), InstrumentMountings)


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of instruments in their fixed order, each once.

    Raises:
        OceanGymError: One is unknown.
    """
    wanted = set(names)
    for name in sorted(wanted):
        if name not in INSTRUMENTS:
            raise unknown_name('instrument', name, INSTRUMENTS)
    return tuple(name for name in INSTRUMENTS if name in wanted)


@dataclass(frozen=True, kw_only=True)
class Readings:
    """What the instruments show at one instant; None for those that are off.

    Attributes:
        altitude: [m] along the altimeter's beam, inf without an echo.
        profile: Of the profiler's ping.
        waterfall: Of the side-scan sonar, newest line at the top, port left, 8-bit decibels,
            (lines, 2 range_bins).
        line: The scanning sonar's newest ping.
        scan: Its fan image, 8-bit decibels.
    """

    altitude: float | None = None
    profile: Profile | None = None
    waterfall: NDArray[np.uint8] | None = None
    line: ScanLine | None = None
    scan: NDArray[np.uint8] | None = None


class InstrumentSet:
    """Pings the instruments of one vehicle through one episode.

    Args:
        scene: What the rays meet.
        names: Of the instruments that are on.
        seed: Of speckle and noise.
        mountings: Where they sit.
        water: What absorbs the sound.
    """

    def __init__(
        self,
        *,
        scene: RayScene,
        names: Iterable[str],
        seed: int,
        mountings: InstrumentMountings,
        water: SeaWater = NOMINAL_WATER,
    ) -> None:
        wanted = check_names(names)
        self.altimeter = self.profiler = self.sidescan = self.ping360 = None
        if 'altimeter' in wanted:
            here = mountings.altimeter
            self.altimeter = Altimeter(
                scene=scene, seed=seed, mount=here.pose, device=here.device, water=water
            )
        if 'profiler' in wanted:
            here = mountings.profiler
            self.profiler = Profiler(
                scene=scene, seed=seed, mount=here.pose, device=here.device, water=water
            )
        self._clocks: dict[str, _Pulse] = {}
        if 'sidescan' in wanted:
            fish = mountings.sidescan
            self.sidescan = SideScan(
                scene=scene,
                seed=seed,
                mount=Pose.of(fish.position),
                tilt=math.radians(fish.tilt_deg),
                device=fish.device,
                water=water,
            )
            self._lines: deque[NDArray[np.uint8]] = deque(maxlen=fish.lines)
            self._clocks['sidescan'] = _Pulse(fish.rate_hz)
        if 'ping360' in wanted:
            head = mountings.ping360
            self.ping360 = ScanningSonar(
                scene=scene,
                seed=seed,
                mount=head.pose,
                steps=head.steps,
                sector=math.radians(head.sector_deg),
                device=head.device,
                water=water,
            )
            self._fan = FanProjector(self.ping360.spec)
            self._clocks['ping360'] = _Pulse(head.rate_hz)
        self._line: ScanLine | None = None
        self._observed = 0
        self._readings: tuple[float, Readings] | None = None

    def move(self, *, stamp: float, pose: Pose, thrust: ArrayLike) -> None:
        """Ping what is due on the way.

        Args:
            stamp: Simulation time [s]; not before that of the last call.
            pose: base_link in map.
            thrust: Of each thruster [N]: what the instruments hear of the vehicle itself.
        """
        noise = thruster_noise_share(thrust)
        if self.sidescan is not None and (due := self._clocks['sidescan'].due(stamp)) is not None:
            line = self.sidescan.ping(pose=pose, index=due, self_noise=noise)
            self._lines.append(to_grey(waterfall([line]))[0])
        if self.ping360 is not None and self._clocks['ping360'].due(stamp) is not None:
            self._line = self.ping360.step(pose, self_noise=noise)

    def observe(self, *, stamp: float, pose: Pose, thrust: ArrayLike) -> Readings:
        """Return what they show now; the same again at the same time.

        Args:
            stamp: Simulation time [s].
            pose: base_link in map.
            thrust: Of each thruster [N].
        """
        if self._readings is not None and self._readings[0] == stamp:
            return self._readings[1]
        self.move(stamp=stamp, pose=pose, thrust=thrust)
        noise, index = thruster_noise_share(thrust), self._observed
        altitude = profile = None
        if self.altimeter is not None:
            altitude = self.altimeter.range(pose=pose, index=index, self_noise=noise)
        if self.profiler is not None:
            profile = self.profiler.ping(pose=pose, index=index, self_noise=noise)
        readings = Readings(
            altitude=altitude,
            profile=profile,
            waterfall=self._waterfall(),
            line=self._line,
            scan=None if self.ping360 is None else self._fan.render(self.ping360.image),
        )
        self._observed += 1
        self._readings = (stamp, readings)
        return readings

    def _waterfall(self) -> NDArray[np.uint8] | None:
        """Return the lines heard so far, newest at the top, black below."""
        if self.sidescan is None:
            return None
        assert self._lines.maxlen is not None
        picture = np.zeros((self._lines.maxlen, 2 * self.sidescan.spec.range_bins), np.uint8)
        for row, line in enumerate(reversed(self._lines)):
            picture[row] = line
        return picture


class _Pulse:
    """Says when the next ping of a rate is due."""

    def __init__(self, rate: float) -> None:
        self._period = 1.0 / rate
        self._count = 0

    def due(self, stamp: float) -> int | None:
        """Return the number of the ping due at a time [s], None before it; late ones are left out."""
        number = math.floor(stamp / self._period + 1e-6)
        if number < self._count:
            return None
        self._count = number + 1
        return number
