#!/usr/bin/env python3
"""Measure the embedded simulator: a full observation, a ping, the dynamics, start-up, memory.

Run in the project's environment: `python scripts/bench_sim.py [--json]`. Figures are medians.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
import json
import math
import os
from pathlib import Path
import platform
import resource
import statistics
import sys
import time

import bench_dynamics
from oceangym_core.contract.actions import DIRECTIONS, optical_orientation, sonar_orientation
from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world, world_path
from oceangym_sim.optics.lamps import default_lamps
from oceangym_sim.optics.water import WaterOptics
from oceangym_sim.sensors import SensorSuite
from oceangym_sim.sonar.rig import SonarRig

SHALLOW = WaterOptics()
DEEP = WaterOptics(light_lux=1.5, depth_offset=450.0, lamps=1.0, visibility=10.0)
CAMERAS = tuple(
    CameraSpec(direction=d, mount=Pose.of((0, 0, 0), optical_orientation(d))) for d in DIRECTIONS
)
SONARS = tuple(
    SonarSpec(
        direction=d,
        mount=Pose.of((0, 0, 0), sonar_orientation(d)),
        range_min=1.0,
        range_max=40.0,
        elevation_aperture=math.radians(20.0),
        preset='oceangym_decision',
    )
    for d in DIRECTIONS
)


def machine() -> str:
    """Return the processor's name and the number of its cores this process may use."""
    name = platform.processor() or platform.machine()
    info = Path('/proc/cpuinfo')
    if info.is_file():
        lines = [line for line in info.read_text().splitlines() if line.startswith('model name')]
        name = lines[0].split(':', 1)[1].strip() if lines else name
    cores = len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()
    return f'{name}, {cores} cores'


def median_of(
    call: Callable[[int], object], repeats: int, warm_up: int = 2
) -> tuple[float, float]:
    """Return the median wall time [ms] and processor time [ms] of a call."""
    walls, cpus = [], []
    for i in range(-warm_up, repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        call(i + warm_up)
        if i >= 0:
            walls.append((time.perf_counter() - wall) * 1e3)
            cpus.append((time.process_time() - cpu) * 1e3)
    return statistics.median(walls), statistics.median(cpus)


def pose(index: int) -> Pose:
    """Return the poses measured at: a slow pass by the first ship at mid height."""
    return Pose.from_euler((415.0 + 0.5 * index, -175.0, -62.0), 0.0, 0.0, math.pi / 2)


def measure(world_name: str, device: str, repeats: int) -> dict[str, object]:
    """Return the figures by name."""
    figures: dict[str, object] = {'machine': machine()}
    begin = time.perf_counter()
    world = load_world(world_path(world_name))

    def suite(optics: WaterOptics, mode: str) -> SensorSuite:
        return SensorSuite(
            world=world,
            cameras=CAMERAS,
            sonars=SONARS,
            optics=optics,
            lamps=default_lamps(),
            anchors=world.anchors[:3],
            seed=0,
            device=device,
            mode=mode,
        )

    def record(name: str, call: Callable[[int], object]) -> None:
        wall, cpu = median_of(call, repeats)
        figures[f'{name}_ms'], figures[f'{name}_cpu_ms'] = wall, cpu

    sensors = suite(SHALLOW, 'all')
    figures['load_s'] = time.perf_counter() - begin
    figures['variant'], figures['triangles'] = sensors.variant, sensors.scene.triangles
    begin = time.perf_counter()
    sensors.observe(pose=pose(0), index=0, lamp_level=0.0)
    figures['first_observation_s'] = time.perf_counter() - begin
    record(
        'observation_shallow',
        lambda i: sensors.observe(pose=pose(i), index=i, lamp_level=0.0),
    )
    figures['kernels'] = launches(lambda: sensors.observe(pose=pose(9), index=9, lamp_level=0.0))
    six = SonarRig(scene=sensors.scene, specs=SONARS, seed=0)
    record('six_pings', lambda i: six.observe(pose=pose(i), index=i))
    one = SonarRig(scene=sensors.scene, specs=SONARS[:1], seed=0)
    record('one_ping', lambda i: one.observe(pose=pose(i), index=i))
    figures['peak_memory_mb'] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    deep = suite(DEEP, 'all')
    record('observation_deep', lambda i: deep.observe(pose=pose(i), index=i, lamp_level=1.0))
    truth = suite(SHALLOW, 'truth')
    record('observation_truth', lambda i: truth.observe(pose=pose(i), index=i, lamp_level=0.0))
    figures.update(bench_dynamics.measure())
    return figures


def launches(call: Callable[[], object]) -> int:
    """Return the number of compiled kernels that a call launches."""
    import drjit as dr

    dr.kernel_history_clear()
    with dr.scoped_set_flag(dr.JitFlag.KernelHistory):
        call()
    return sum(entry['type'] == dr.KernelType.JIT for entry in dr.kernel_history())


def main() -> int:
    """Print the figures as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument('--world', default='ocean', help='shipped world or SDF file')
    parser.add_argument('--device', default='auto', choices=('auto', 'cpu', 'cuda'))
    parser.add_argument('--repeats', type=int, default=15, help='observations to take medians of')
    arguments = parser.parse_args()
    figures = measure(arguments.world, arguments.device, max(1, arguments.repeats))
    if arguments.json:
        print(json.dumps(figures))
        return 0
    for name, value in figures.items():
        print(f'{name:60s} {value:10.3f}' if isinstance(value, float) else f'{name:60s} {value}')
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(1)
