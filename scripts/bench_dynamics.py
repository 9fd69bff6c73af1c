#!/usr/bin/env python3
"""Measure the vehicle dynamics: microseconds a step, vehicle-steps a second, cost of a tick.

Run in the project's environment: `python scripts/bench_dynamics.py [--json]`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
import json
import os
from pathlib import Path
import time

import numpy as np

from oceangym_core.contract.actions import Action
from oceangym_core.geometry import Pose
from oceangym_sim.control.autopilot import Autopilot
from oceangym_sim.control.maneuver import ManeuverExecutor
from oceangym_sim.dynamics.rigid_body import Dynamics
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Environment
from oceangym_sim.navigation import Navigation

MODEL = Path(__file__).parents[1] / 'models' / 'bluerov2_heavy' / 'model.sdf'
START = Pose((0.0, 0.0, -40.0))


def best_of(call: Callable[[], object], repeats: int = 5) -> float:
    """Return the shortest of several run times [s], after one run to compile."""
    call()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def measure() -> dict[str, float]:
    """Return the figures by name."""
    vehicle, water = load_vehicle(MODEL), Environment()
    figures: dict[str, float] = {'cpu_cores': float(os.cpu_count() or 1)}

    single = Dynamics(parameters=vehicle)
    single.reset(START)
    command = np.linspace(-0.5, 0.5, 8)
    seconds = best_of(lambda: single.step(command, 0.01, 100_000))
    figures['one_vehicle_us_per_step'] = seconds / 100_000 * 1e6

    count = 8192
    batch = Dynamics(parameters=vehicle, count=count)
    batch.reset(START)
    commands = np.random.default_rng(0).uniform(-1, 1, (count, 8))
    for substeps in (1, 5, 50):
        seconds = best_of(partial(batch.step, commands, 0.01, substeps))
        figures[f'batch_{count}_million_vehicle_steps_per_s_{substeps}_substeps'] = (
            count * substeps / seconds / 1e6
        )

    single.reset(START)
    navigation = Navigation(environment=water, seed=0)
    navigation.reset(single.vehicle())
    executor = ManeuverExecutor(autopilot=Autopilot(parameters=vehicle, environment=water))
    executor.reset(navigation.update(single.vehicle(), 10.0))
    executor.start(Action.FORWARD, None, navigation.update(single.vehicle(), 10.0), 1e6)

    def ticks() -> None:
        for _ in range(600):
            estimate = navigation.update(single.vehicle(), 10.0)
            single.step(executor.update(estimate, 0.05), 0.01, 5)

    figures['closed_loop_tick_us'] = best_of(ticks) / 600 * 1e6
    figures['episode_of_36000_ticks_s'] = figures['closed_loop_tick_us'] * 0.036
    return figures


def main() -> None:
    """Print the figures as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    figures = measure()
    if parser.parse_args().json:
        print(json.dumps(figures))
        return
    for name, value in figures.items():
        print(f'{name:60s} {value:10.3f}')


if __name__ == '__main__':
    main()
