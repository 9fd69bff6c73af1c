#!/usr/bin/env python3
"""Compare Gazebo with the embedded simulator: dynamics, maneuvers, camera and sonar geometry.

Run where Gazebo Harmonic's Python modules are installed: `python scripts/parity.py --out parity`.
Writes a plot and the figures; ends with 1 if one of them is beyond its limit.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
import json
from pathlib import Path
import sys
import time

import matplotlib as mpl
import numpy as np
from rich.console import Console
from rich.table import Table

from oceangym_core.assets import assets_root
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Array, Pose
from oceangym_core.world.distance import build_distance_field
from oceangym_core.world.world import load_world, world_path
from oceangym_gazebo import parity
from oceangym_gazebo.hosted.backend import gazebo_engine
from oceangym_gazebo.hosted.sensors import RawSensors
from oceangym_gazebo.hosted.server import GazeboServer
from oceangym_sim.backend import EMBEDDED, Engine
from oceangym_sim.dynamics.vehicle import load_vehicle
from oceangym_sim.dynamics.water_column import Current, Environment
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.requests import ResetRequest, SimulatorOptions
from oceangym_sim.simulator import Simulator, VEHICLE

mpl.use('Agg')
# Off a wreck, a platform and a pipe: much to see in several directions.
VIEWPOINTS = (
    Pose.from_euler((429.0, -163.0, -62.0), 0.0, 0.0, 1.2),
    Pose.from_euler((267.0, 26.0, -76.0), 0.0, 0.1, 1.4),
    Pose.from_euler((345.0, -172.0, -29.0), 0.05, 0.0, 1.0),
)
WATERS = {'still water': Current(), '0.25 m/s current': Current(speed=0.25, heading=0.6)}
PLOTTED = (('x [m]', 1), ('y [m]', 2), ('z [m]', 3))


def simulator(engine: Engine) -> Simulator:
    """Return a simulator on an engine, reset to the start of the maneuvers; it takes no images."""
    world = load_world(world_path('ocean'))
    made = Simulator(
        world=world,
        options=SimulatorOptions(water=load_water('shallow'), sensors='none'),
        engine=engine,
    )
    made.reset(
        ResetRequest(
            start=parity.OPEN_WATER,
            seed=0,
            t_max=1800.0,
            t_interval=30.0,
            profile=load_profile('standard'),
            bounds=world.bounds,
        )
    )
    return made


def trajectory(engine: Engine, current: Current) -> Array:
    """Return the trajectory of the open-loop program in a current."""
    plant = engine.plant(
        parameters=load_vehicle(vehicle_file()),
        environment=Environment(current=current),
        distance_field=build_distance_field(load_world(world_path('ocean'))),
        battery_limits=False,
        seed=0,
    )
    return parity.open_loop(plant)


def vehicle_file() -> Path:
    """Return the shipped vehicle's model."""
    return assets_root() / 'models' / VEHICLE / 'model.sdf'


def geometry(server: GazeboServer) -> list[parity.Figure]:
    """Return how cameras and sonars differ, the worst of all viewpoints."""
    vehicle = load_vehicle(vehicle_file())
    scene = RayScene(load_world(world_path('ocean')), device='cpu')
    raw = RawSensors(server=server, cameras=vehicle.cameras, sonars=vehicle.sonars)
    worst: dict[str, parity.Figure] = {}
    for viewpoint in VIEWPOINTS:
        server.place(viewpoint, vehicle.mass_matrix)
        pictures, clouds = raw.take(np.zeros(6))
        pose = server.state.pose
        for figure in (
            *parity.camera_figures(scene, vehicle.cameras, pictures, pose),
            *parity.sonar_figures(scene, vehicle.sonars, clouds, pose),
        ):
            kept = worst.get(figure.name)
            if kept is None or not figure.value <= kept.value:
                worst[figure.name] = figure
    return list(worst.values())


def plot(path: Path, flown: dict[str, list[Array]], ends: tuple[list[Pose], list[Pose]]) -> None:
    """Draw both trajectories of the program, and the ends of the maneuvers from above."""
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(11, 8), layout='constrained')
    for axis, (label, column) in zip(axes.flat, PLOTTED):
        for water, (ours, theirs) in flown.items():
            (line,) = axis.plot(ours[:, 0], ours[:, column], alpha=0.6, label=f'embedded, {water}')
            axis.plot(
                theirs[:, 0], theirs[:, column], '--', color=line.get_color(), label='Gazebo'
            )
        axis.set(xlabel='time [s]', ylabel=label)
        axis.grid(alpha=0.3)
    axes.flat[0].legend()
    above = axes.flat[3]
    for poses, marker, label in zip(ends, ('o', 'x'), ('embedded', 'Gazebo')):
        places = np.array([parity.OPEN_WATER.position, *(pose.position for pose in poses)])
        above.plot(places[:, 0], places[:, 1], f'{marker}-', label=label, alpha=0.8)
    above.set(xlabel='x [m]', ylabel='y [m]', title='ends of the maneuvers')
    above.set_aspect('equal', adjustable='datalim')
    above.grid(alpha=0.3)
    above.legend()
    figure.suptitle('The same thrusts and the same maneuvers in two engines')
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> int:
    """Compare, print the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--out', type=Path, default=Path('parity'), help='folder of the results')
    parser.add_argument('--no-images', action='store_true', help='dynamics only')
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    server = GazeboServer(
        world=world_path('ocean'), vehicle=vehicle_file(), rendered=not options.no_images
    )
    engines = (EMBEDDED, gazebo_engine(server))
    flown = {
        water: [trajectory(engine, current) for engine in engines]
        for water, current in WATERS.items()
    }
    begun = time.monotonic()
    ends = tuple(parity.maneuver_ends(simulator(engine)) for engine in engines)
    pace = len(parity.MANEUVERS) * 30.0 / (time.monotonic() - begun)
    figures = [
        *(f for water, both in flown.items() for f in parity.trajectory_figures(*both, water)),
        *parity.maneuver_figures(*ends),
        *([] if options.no_images else geometry(server)),
    ]
    plot(options.out / 'parity.png', flown, (ends[0], ends[1]))
    (options.out / 'parity.json').write_text(
        json.dumps([asdict(figure) for figure in figures], indent=2) + '\n', encoding='utf-8'
    )
    table = Table('quantity', 'value', 'at most', 'unit', '')
    for figure in figures:
        verdict = 'ok' if figure.within else '[red]differs[/]'
        table.add_row(
            figure.name, f'{figure.value:.3g}', f'{figure.limit:.3g}', figure.unit, verdict
        )
    console = Console()
    console.print(table)
    console.print(f'maneuvers in both engines: {pace:.1f} times real time together')
    console.print(f'plot: {options.out / "parity.png"}')
    server.close()
    return 0 if all(figure.within for figure in figures) else 1


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OceanGymError as problem:
        print(f'error: {problem}', file=sys.stderr)
        sys.exit(1)
