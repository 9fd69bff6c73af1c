#!/usr/bin/env python3
"""Measure the sensors: ms an image and a ping by size, rays, water and device, against bare rays.

Run in the project's environment: `python scripts/bench_sensors.py [--device cpu,cuda] [--json]`.

Times are medians, `best` the shortest: on a busy machine it says more. `raw` is Mitsuba's bare nearest
hit of the same primary rays on the same scene, `ratio` the whole against it. An image's pixels have
more rays where surfaces have edges; those, shadows and second bounces count as work, not as rays.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
import json
import os
from pathlib import Path
import statistics
import sys
import time
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np
from rich.console import Console
from rich.table import Table

from bench_sim import CAMERAS, machine, pose, SONARS
from oceangym_core.config.waters import load_profile, load_water, water_names
from oceangym_core.contract.actions import Action
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world, World, world_path
from oceangym_sim.optics.lamps import default_lamps
from oceangym_sim.optics.rays import pixel_rays
from oceangym_sim.optics.rig import CameraRig
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.requests import ResetRequest, SimulatorOptions
from oceangym_sim.sensors import SensorSuite, shared_scene
from oceangym_sim.simulator import Simulator
from oceangym_sim.sonar.instruments import Altimeter, Profiler, ScanningSonar, SideScan
from oceangym_sim.sonar.presets import device_spec
from oceangym_sim.sonar.rig import SonarRig

PARTS = ('pings', 'instruments', 'images', 'observations', 'episode')
DEVICES = ('auto', 'cpu', 'cuda')
# Beams and bins, and rays over the elevation aperture.
PING_SIZES = ((128, 32), (256, 32), (256, 64), (512, 32), (512, 64), (512, 128))
IMAGE_SIZES = (128, 256, 512)
SONAR_DEVICES = ('oculus_m750d', 'oculus_m1200d', 'blueview_p900')
WARM_UP = 2
OBSERVATIONS = 60
# What the figures are to stay below: ms, and MB of growth.
PING_LIMIT_MS, OBSERVATION_LIMIT_MS, EPISODE_LIMIT_MS, GROWTH_LIMIT_MB = 40.0, 800.0, 60e3, 20.0
# Kernels are compiled and buffers have found their size by then.
SETTLED = 20


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table.

    Attributes:
        part, device, name: Of what is measured.
        wall, best, cpu: Median and shortest time, and processor time [ms].
        parts: Images or pings in it.
        rays: Primary rays.
        raw: Time of the bare nearest hit of the same rays [ms]; 0: not measured.
        limit: What `wall` is to stay below [ms]; 0: none is set.
    """

    part: str
    device: str
    name: str
    wall: float
    best: float
    cpu: float
    parts: int = 1
    rays: int = 0
    raw: float = 0.0
    limit: float = 0.0

    @property
    def each(self) -> float:
        """Time of one image or ping [ms]."""
        return self.wall / self.parts

    @property
    def ratio(self) -> float:
        """Whole over bare nearest hit."""
        return self.wall / self.raw if self.raw else 0.0

    @property
    def rate(self) -> float:
        """Primary rays a second [millions]."""
        return self.rays / self.wall / 1e3

    @property
    def raw_rate(self) -> float:
        """The same of the bare nearest hit."""
        return self.rays / self.raw / 1e3 if self.raw else 0.0


@dataclass(frozen=True, kw_only=True)
class Soak:
    """Memory over many observations: the resident size [MB] at each tenth, and how much it grew."""

    observations: int
    sizes: tuple[float, ...]

    @property
    def growth(self) -> float:
        """From the settled start to the end [MB]."""
        return self.sizes[-1] - self.sizes[0]


class Bench:
    """Measures on one scene.

    Args:
        world: What there is to sense.
        device: ``auto``, ``cpu`` or ``cuda``.
        repeats: Calls to take medians of.
    """

    def __init__(self, world: World, device: str, repeats: int) -> None:
        self._world, self._device, self._repeats = world, device, repeats
        self._scene: RayScene = shared_scene(world, device)
        self.variant = self._scene.variant

    def measure(self, part: str) -> list[Figure]:
        """Return the figures of one part."""
        found: list[Figure] = getattr(self, f'_{part}')()
        return found

    def _time(
        self, part: str, name: str, call: Callable[[int], object], rays: Any = None, **more: Any
    ) -> Figure:
        """Return the time of a call, against that of its rays' directions [(N, 3) in base_link]."""
        wall, best, cpu = timed(call, self._repeats)
        if rays is not None:
            more |= {'rays': len(rays), 'raw': self._raw(rays)}
        device = 'cuda' if 'cuda' in self.variant else 'cpu'
        return Figure(part=part, device=device, name=name, wall=wall, best=best, cpu=cpu, **more)

    def _raw(self, rays: Any) -> float:
        """Return the time of the bare nearest hit of rays from the first pose [ms]."""
        self._scene.activate()
        origin = mi.Point3f(*(dr.opaque(mi.Float, c) for c in pose(0).position))
        turned = pose(0).rotation.astype(np.float32) @ rays.T
        heading = mi.Vector3f(np.ascontiguousarray(turned, dtype=np.float32))
        dr.eval(origin, heading)

        def trace(_: int) -> None:
            # Mitsuba's own intersection, with nothing of ours around it.
            found = self._scene._scene.ray_intersect_preliminary(
                mi.Ray3f(origin, heading), coherent=True
            )
            dr.eval(found.t)
            dr.sync_thread()

        return timed(trace, self._repeats)[0]

    def _pings(self) -> list[Figure]:
        """Measure one ping by size, all six, and the named devices."""
        figures = []
        for size, rays in PING_SIZES:
            spec = replace(SONARS[0], beams=size, range_bins=size, elevation_rays=rays)
            limit = PING_LIMIT_MS if (size, rays) == (512, 64) else 0.0
            name = f'{size} beams x {size} bins, {rays} rays a beam'
            figures.append(self._ping(name, (spec,), limit))
        figures.append(self._ping('six of 512 x 512, 64 rays', SONARS))
        for name in SONAR_DEVICES:
            device = device_spec(name, direction='front', mount=SONARS[0].mount)
            figures.append(self._ping(f'{name}, {device.beams} x {device.range_bins}', (device,)))
        return figures

    def _ping(self, name: str, specs: tuple[Any, ...], limit: float = 0.0) -> Figure:
        rig = SonarRig(scene=self._scene, specs=specs, seed=0)
        return self._time(
            'ping',
            name,
            lambda i: rig.observe(pose=pose(i), index=i),
            sonar_rays(rig),
            parts=len(specs),
            limit=limit,
        )

    def _instruments(self) -> list[Figure]:
        """Measure the other kinds of sonar."""
        scene = self._scene
        altimeter, profiler = Altimeter(scene=scene, seed=0), Profiler(scene=scene, seed=0)
        side_scan, scanning = SideScan(scene=scene, seed=0), ScanningSonar(scene=scene, seed=0)
        calls: dict[str, Callable[[int], object]] = {
            'altimeter': lambda i: altimeter.range(pose=pose(i), index=i),
            'profiler': lambda i: profiler.ping(pose=pose(i), index=i),
            'side-scan, both sides': lambda i: side_scan.ping(pose=pose(i), index=i),
            'scanning sonar, one line': lambda i: scanning.step(pose(i)),
        }
        return [self._time('instrument', name, call) for name, call in calls.items()]

    def _images(self) -> list[Figure]:
        """Measure one image and six, by size and water."""
        wanted = [
            (water, size, cameras)
            for water in water_names()
            for size in (IMAGE_SIZES if water == 'shallow' else IMAGE_SIZES[-1:])
            for cameras in ((CAMERAS[:1], CAMERAS) if size == IMAGE_SIZES[-1] else (CAMERAS,))
        ]
        return [self._image(*what) for what in wanted]

    def _image(self, water: str, size: int, cameras: tuple[Any, ...]) -> Figure:
        optics = WaterOptics.of(load_water(water))
        specs = tuple(replace(spec, width=size, height=size) for spec in cameras)
        rig = CameraRig(
            scene=self._scene, specs=specs, optics=optics, lamps=default_lamps(), seed=0
        )
        return self._time(
            'image',
            f'{"six of " if len(specs) > 1 else ""}{size} x {size}, {water}',
            lambda i: rig.render(pose=pose(i), index=i, lamp_level=optics.lamps),
            np.concatenate([pixel_rays(spec) for spec in specs]),
            parts=len(specs),
        )

    def _observations(self) -> list[Figure]:
        """Measure six cameras, six sonars, and what of three targets is perceptible."""
        rig = SonarRig(scene=self._scene, specs=SONARS, seed=0)
        rays = np.concatenate([*(pixel_rays(spec) for spec in CAMERAS), sonar_rays(rig)])
        return [self._observation(water, rays) for water in ('shallow', 'deep')]

    def _observation(self, water: str, rays: Any) -> Figure:
        optics = WaterOptics.of(load_water(water))
        suite = self._suite(optics)
        return self._time(
            'observation',
            f'six 512 x 512 and six pings, {water}',
            lambda i: suite.observe(pose=pose(i), index=i, lamp_level=optics.lamps),
            rays,
            parts=len(CAMERAS) + len(SONARS),
            limit=OBSERVATION_LIMIT_MS,
        )

    def _episode(self) -> list[Figure]:
        """Measure 60 maneuvers of 30 s with the vehicle's own sensors, observation 0 not counted."""
        simulator = Simulator(
            world=self._world,
            options=SimulatorOptions(water=load_water('shallow'), device=self._device),
        )
        simulator.reset(
            ResetRequest(
                start=Pose.from_euler((144.0, -114.0, -63.0), 0.0, 0.0, np.radians(-135.0)),
                seed=0,
                t_max=30.0 * OBSERVATIONS,
                t_interval=30.0,
                profile=load_profile('standard'),
                bounds=self._world.bounds,
                targets=tuple(anchor.name for anchor in self._world.anchors[:3]),
            )
        )
        wall, cpu = time.perf_counter(), time.process_time()
        for i in range(OBSERVATIONS):
            if i % 5 == 4:
                simulator.run_maneuver(Action.ROTATE_LEFT, 72.0)
            else:
                simulator.run_maneuver(Action.FORWARD, 10.0)
        wall, cpu = (time.perf_counter() - wall) * 1e3, (time.process_time() - cpu) * 1e3
        device = 'cuda' if 'cuda' in self.variant else 'cpu'
        return [
            Figure(
                part='episode',
                device=device,
                name=f'{OBSERVATIONS} maneuvers of 30 s and their observations',
                wall=wall,
                best=wall,
                cpu=cpu,
                parts=OBSERVATIONS,
                limit=EPISODE_LIMIT_MS,
            )
        ]

    def soak(self, count: int) -> Soak:
        """Take many observations, and look at the memory at each tenth."""
        suite = self._suite(WaterOptics.of(load_water('shallow')))
        sizes = []
        for i in range(SETTLED + count + 1):
            if i >= SETTLED and (i - SETTLED) % max(count // 10, 1) == 0:
                sizes.append(resident())
            suite.observe(pose=pose(i % 60), index=i, lamp_level=0.0)
        return Soak(observations=count, sizes=tuple(sizes))

    def _suite(self, optics: WaterOptics) -> SensorSuite:
        return SensorSuite(
            world=self._world,
            cameras=CAMERAS,
            sonars=SONARS,
            optics=optics,
            lamps=default_lamps(),
            anchors=self._world.anchors[:3],
            seed=0,
            device=self._device,
            scene=self._scene,
        )


def sonar_rays(rig: SonarRig) -> Any:
    """Return the directions of all of a rig's primary rays in base_link, (N, 3)."""
    return np.concatenate(
        [
            (former.directions() @ former.spec.mount.rotation.T).reshape(-1, 3)
            for former in rig.formers
        ]
    )


def timed(call: Callable[[int], object], repeats: int) -> tuple[float, float, float]:
    """Return median and shortest wall time, and median processor time, of a call [ms]."""
    walls, cpus = [], []
    for i in range(WARM_UP + repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        call(i)
        walls.append((time.perf_counter() - wall) * 1e3)
        cpus.append((time.process_time() - cpu) * 1e3)
    walls, cpus = walls[WARM_UP:], cpus[WARM_UP:]
    return statistics.median(walls), min(walls), statistics.median(cpus)


def resident() -> float:
    """Return this process's resident memory [MB] (Linux)."""
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 1e6


def show(figures: list[Figure], console: Console) -> None:
    """Print the figures as a table."""
    table = Table()
    table.add_column('what', no_wrap=True)
    headings = (
        'ms',
        'best',
        'each',
        'cpu ms',
        'limit',
        'rays',
        'Mrays/s',
        'raw ms',
        'raw',
        'ratio',
    )
    for heading in headings:
        table.add_column(heading, justify='right', no_wrap=True)
    several = len({figure.device for figure in figures}) > 1
    for i, f in enumerate(figures):
        cells = [f'{f.part}: {f.name}' + (f' ({f.device})' if several else '')]
        cells += [f'{f.wall:,.1f}', f'{f.best:,.1f}']
        cells += [f'{f.each:,.1f}' if f.parts > 1 else '', f'{f.cpu:,.1f}']
        cells.append(f'{f.limit:,.0f}' if f.limit else '')
        if f.rays:
            cells += [f'{f.rays:,}', f'{f.rate:.2f}', f'{f.raw:.1f}', f'{f.raw_rate:.2f}']
            cells.append(f'{f.ratio:.1f}')
        last = i + 1 == len(figures) or figures[i + 1].part != f.part
        style = 'bold' if f.limit else ''
        table.add_row(*cells, style=f'{style} red' if f.limit and f.wall > f.limit else style)
        if last:
            table.add_section()
    console.print(table)


def show_soak(soak: Soak, device: str, console: Console) -> None:
    """Print how the memory went."""
    sizes = ', '.join(f'{size:.0f}' for size in soak.sizes)
    console.print(
        f'memory over {soak.observations:,} observations on {device}: {soak.growth:+.1f} MB '
        f'(limit {GROWTH_LIMIT_MB:g}); at each tenth {sizes} MB',
        highlight=False,
    )


def main() -> int:
    """Print the figures as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument('--world', default='ocean', help='shipped world or SDF file')
    parser.add_argument('--device', default='auto', help='auto, cpu, cuda, or several: cpu,cuda')
    parser.add_argument('--repeats', type=int, default=15, help='calls to take medians of')
    parser.add_argument('--only', default=','.join(PARTS), help='parts, comma-separated; none')
    parser.add_argument(
        '--soak', type=int, default=0, help='observations to watch the memory over'
    )
    arguments = parser.parse_args()
    parts = [] if arguments.only == 'none' else arguments.only.split(',')
    devices = arguments.device.split(',')
    for names, allowed, option in ((parts, PARTS, 'only'), (devices, DEVICES, 'device')):
        for name in set(names) - set(allowed):
            raise OceanGymError(f'--{option} {name}: choose of {", ".join(allowed)}')
    world = load_world(world_path(arguments.world))
    console = Console(soft_wrap=True)
    load = os.getloadavg()[0]
    figures: list[Figure] = []
    soaks: dict[str, Soak] = {}
    for device in devices:
        bench = Bench(world, device, max(1, arguments.repeats))
        for part in parts:
            figures += bench.measure(part)
        if arguments.soak > 0:
            soaks[device] = bench.soak(arguments.soak)
    loads = f'load {load:.1f} before, {os.getloadavg()[0]:.1f} after'
    if arguments.json:
        rows = [
            {**vars(f), 'ratio': f.ratio, 'million_rays_per_s': f.rate, 'raw_rate': f.raw_rate}
            for f in figures
        ]
        report: dict[str, Any] = {'machine': machine(), 'load': loads, 'figures': rows}
        report['soak'] = {
            device: {**vars(soak), 'growth': soak.growth} for device, soak in soaks.items()
        }
        print(json.dumps(report))
        return 0
    console.print(f'{machine()}; {loads}; medians of {arguments.repeats}', highlight=False)
    if figures:
        show(figures, console)
    for device, soak in soaks.items():
        show_soak(soak, device, console)
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(1)
