#!/usr/bin/env python3
"""Measure the sensors: ms a ping by size and rays, ms an image by size and water, all of them together.

Run in the project's environment: `python scripts/bench_sensors.py [--json]`. Times are medians. `raw`
is the bare nearest hit of the same primary rays on the same scene, `ratio` the whole against it.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace
import json
from pathlib import Path
import sys
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np

from bench_sim import CAMERAS, machine, median_of, pose, SONARS
from oceangym_core.errors import OceanGymError
from oceangym_core.waters import load_water, water_names
from oceangym_core.world import load_world, World, world_path
from oceangym_sim.camera_rays import pixel_rays, SAMPLES
from oceangym_sim.cameras import CameraRig
from oceangym_sim.lamps import default_lamps
from oceangym_sim.scene import RayScene
from oceangym_sim.sensors import SensorSuite, shared_scene
from oceangym_sim.sonar_instruments import Altimeter, Profiler, ScanningSonar, SideScan
from oceangym_sim.sonar_presets import device_spec
from oceangym_sim.sonar_rig import SonarRig
from oceangym_sim.water import WaterOptics

# Beams and bins, and rays over the elevation aperture.
PING_SIZES = ((128, 32), (256, 32), (256, 64), (512, 32), (512, 64), (512, 128))
IMAGE_SIZES = (128, 256, 512)
DEVICES = ('oculus_m750d', 'oculus_m1200d', 'blueview_p900')


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table; times in ms, `rays` are primary rays, `cpu` is processor time."""

    name: str
    wall: float
    cpu: float
    rays: int = 0
    raw: float = 0.0

    @property
    def ratio(self) -> float | None:
        """Whole over bare nearest hit."""
        return self.wall / self.raw if self.raw else None

    @property
    def rate(self) -> float | None:
        """Primary rays a second [millions]."""
        return self.rays / self.wall / 1e3 if self.rays else None


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

    def time(self, name: str, call: Callable[[int], object], directions: Any = None) -> Figure:
        """Return the median time of a call, with the raw time of its rays' directions (3, N)."""
        wall, cpu = median_of(call, self._repeats)
        if directions is None:
            return Figure(name=name, wall=wall, cpu=cpu)
        rays = directions.shape[1]
        return Figure(name=name, wall=wall, cpu=cpu, rays=rays, raw=self._raw(directions))

    def _raw(self, directions: Any) -> float:
        """Return the time of the bare nearest hit of rays from the first pose [ms]."""
        self._scene.activate()
        origin = mi.Point3f(*(dr.opaque(mi.Float, c) for c in pose(0).position))
        turned = pose(0).rotation.astype(np.float32) @ directions
        heading = mi.Vector3f(np.ascontiguousarray(turned, dtype=np.float32))
        dr.eval(origin, heading)

        def trace(_: int) -> None:
            # Mitsuba's own intersection, with nothing of ours around it.
            found = self._scene._scene.ray_intersect_preliminary(
                mi.Ray3f(origin, heading), coherent=True
            )
            dr.eval(found.t)
            dr.sync_thread()

        return median_of(trace, self._repeats)[0]

    def pings(self) -> list[Figure]:
        """Return one ping by size, all six, and the named devices."""
        figures = []
        for size, rays in PING_SIZES:
            spec = replace(SONARS[0], beams=size, range_bins=size, elevation_rays=rays)
            figures.append(self._ping(f'ping {size} beams x {size} bins, {rays} rays', (spec,)))
        figures.append(self._ping('six pings 512 x 512, 64 rays', SONARS))
        for name in DEVICES:
            device = device_spec(name, direction='front', mount=SONARS[0].mount)
            figures.append(self._ping(f'ping {name}', (device,)))
        return figures

    def _ping(self, name: str, specs: tuple[Any, ...]) -> Figure:
        rig = SonarRig(scene=self._scene, specs=specs, seed=0)
        directions = np.concatenate(
            [
                (former.directions() @ former.spec.mount.rotation.T).reshape(-1, 3)
                for former in rig.formers
            ]
        ).T
        return self.time(name, lambda i: rig.observe(pose=pose(i), index=i), directions)

    def instruments(self) -> list[Figure]:
        """Return a ping of the other kinds of sonar."""
        scene = self._scene
        altimeter, profiler = Altimeter(scene=scene, seed=0), Profiler(scene=scene, seed=0)
        side_scan, scanning = SideScan(scene=scene, seed=0), ScanningSonar(scene=scene, seed=0)
        return [
            self.time('altimeter', lambda i: altimeter.range(pose=pose(i), index=i)),
            self.time('profiler', lambda i: profiler.ping(pose=pose(i), index=i)),
            self.time('side-scan, both sides', lambda i: side_scan.ping(pose=pose(i), index=i)),
            self.time('scanning sonar, one line', lambda i: scanning.step(pose(i))),
        ]

    def images(self) -> list[Figure]:
        """Return six images by size and water."""
        figures = []
        for water in water_names():
            optics = WaterOptics.of(load_water(water))
            for size in IMAGE_SIZES if water == 'shallow' else IMAGE_SIZES[-1:]:
                specs = tuple(replace(spec, width=size, height=size) for spec in CAMERAS)
                rig = CameraRig(
                    scene=self._scene, specs=specs, optics=optics, lamps=default_lamps(), seed=0
                )
                rays = [pixel_rays(spec, SAMPLES[0]) for spec in specs]
                figures.append(
                    self.time(
                        f'six images {size} x {size}, {water}',
                        lambda i, rig=rig, lamps=optics.lamps: rig.render(
                            pose=pose(i), index=i, lamp_level=lamps
                        ),
                        np.concatenate(rays).T,
                    )
                )
        return figures

    def observations(self) -> list[Figure]:
        """Return full observations: six cameras, six sonars and what of three targets is perceptible."""
        figures = []
        for water in ('shallow', 'deep'):
            optics = WaterOptics.of(load_water(water))
            suite = self._suite(optics)
            figures.append(
                self.time(
                    f'observation, {water}',
                    lambda i, suite=suite, lamps=optics.lamps: suite.observe(
                        pose=pose(i), index=i, lamp_level=lamps
                    ),
                )
            )
        return figures

    def soak(self, count: int) -> float:
        """Return how much memory `count` observations add after the first twenty [MB]."""
        suite = self._suite(WaterOptics.of(load_water('shallow')))
        before = 0.0
        for i in range(count + 20):
            if i == 20:
                before = resident()
            suite.observe(pose=pose(i % 60), index=i, lamp_level=0.0)
        return resident() - before

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


def resident() -> float:
    """Return this process's resident memory [MB] (Linux)."""
    fields = Path('/proc/self/statm').read_text().split()
    return int(fields[1]) * 4096 / 1e6


def table(figures: list[Figure]) -> str:
    """Return the figures as Markdown."""
    lines = [
        '| what | ms | cpu ms | rays | raw ms | ratio | Mrays/s |',
        '|---|---:|---:|---:|---:|---:|---:|',
    ]
    for f in figures:
        cells = [f.name, f'{f.wall:.1f}', f'{f.cpu:.1f}']
        if f.rays:
            cells += [f'{f.rays:,}', f'{f.raw:.1f}', f'{f.ratio:.1f}', f'{f.rate:.2f}']
        else:
            cells += ['', '', '', '']
        lines.append('| ' + ' | '.join(cells) + ' |')
    return '\n'.join(lines)


def main() -> int:
    """Print the figures as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument('--world', default='ocean', help='shipped world or SDF file')
    parser.add_argument('--device', default='auto', choices=('auto', 'cpu', 'cuda'))
    parser.add_argument('--repeats', type=int, default=15, help='calls to take medians of')
    parser.add_argument(
        '--only', default='pings,instruments,images,observations', help='parts, comma-separated'
    )
    parser.add_argument(
        '--soak', type=int, default=0, help='observations to watch the memory over'
    )
    arguments = parser.parse_args()
    bench = Bench(
        load_world(world_path(arguments.world)), arguments.device, max(1, arguments.repeats)
    )
    parts = {
        'pings': bench.pings,
        'instruments': bench.instruments,
        'images': bench.images,
        'observations': bench.observations,
    }
    unknown = [name for name in arguments.only.split(',') if name not in parts]
    if unknown:
        raise OceanGymError(f'--only {unknown[0]}: choose of {", ".join(parts)}')
    figures = [figure for name in arguments.only.split(',') for figure in parts[name]()]
    growth = bench.soak(arguments.soak) if arguments.soak > 0 else None
    if arguments.json:
        report: dict[str, Any] = {
            'machine': machine(),
            'variant': bench.variant,
            'figures': [
                {**vars(figure), 'ratio': figure.ratio, 'million_rays_per_s': figure.rate}
                for figure in figures
            ],
        }
        if growth is not None:
            report |= {'soak_observations': arguments.soak, 'soak_growth_mb': growth}
        print(json.dumps(report))
        return 0
    print(f'{machine()}, {bench.variant}\n\n{table(figures)}')
    if growth is not None:
        print(f'\nmemory grew by {growth:.1f} MB over {arguments.soak} observations')
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(1)
