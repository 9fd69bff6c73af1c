#!/usr/bin/env python3
"""Fly past the sunken ship and beside the landing platform with the further sonars; draw what they show.

The side-scan sonar and the profiler pass along the ship, the scanning sonar turns once beside the
platform, and the altimeter follows the ground between the two.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
import sys

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.world.world import load_world, World, world_path
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.sonar.instrument_set import InstrumentSet, load_mountings

SPEED = 0.7  # m/s
ALTITUDE = 9.0  # m
THRUST = np.full(8, 6.0)  # N, about what cruising takes
CAPTION = 22
WIDTH = 1200


class Survey:
    """Moves a vehicle with instruments at constant speed over the ground."""

    def __init__(self, world: World, scene: RayScene, *names: str) -> None:
        self.world = world
        self.set = InstrumentSet(scene=scene, names=names, seed=0, mountings=load_mountings())

    def line(
        self, start: NDArray[np.float64], heading: float, length: float, altitude: float
    ) -> list[Pose]:
        """Return poses at the rate of the instruments along a line that follows the ground."""
        ahead = np.array([math.cos(heading), math.sin(heading)])
        along = np.arange(0.0, length, SPEED / 10)
        places = start + along[:, None] * ahead
        ground = [self.world.seabed(float(x), float(y)) for x, y in places]
        heights = np.polyval(np.polyfit(along, ground, 3), along) + altitude
        return [
            Pose.from_euler((*place, height), 0.0, 0.0, heading)
            for place, height in zip(places, heights)
        ]


def heading_of(world: World, name: str) -> tuple[NDArray[np.float64], float]:
    """Return where an anchor's thing lies and how it is turned."""
    instance = world.instance(world.anchor(name).instances[0])
    return np.array(instance.pose.position[:2]), instance.pose.yaw


def side_scan(world: World, scene: RayScene) -> list[tuple[str, Image.Image]]:
    """Return the waterfall and the profile of a pass along the ship."""
    survey = Survey(world, scene, 'sidescan', 'profiler')
    centre, yaw = heading_of(world, 'sunken_ship_1')
    aside = np.array([-math.sin(yaw), math.cos(yaw)])
    ahead = np.array([math.cos(yaw), math.sin(yaw)])
    poses = survey.line(centre - 40 * ahead + 18 * aside, yaw, 80.0, ALTITUDE)
    for i, pose in enumerate(poses):
        survey.set.move(stamp=i / 10, pose=pose, thrust=THRUST)
    last = survey.set.observe(stamp=len(poses) / 10, pose=poses[-1], thrust=THRUST)
    assert last.waterfall is not None
    picture = last.waterfall[: 2 * len(poses) // 10]
    height = round(picture.shape[0] * SPEED / 2 / 150.0 * WIDTH)
    fall = Image.fromarray(picture).resize((WIDTH, height), Image.Resampling.BOX)
    profiles = Survey(world, scene, 'profiler').set
    across = survey.line(centre - 4 * ahead, yaw, 8.0, 16.0)
    chart = Image.new('L', (WIDTH, 360), 0)
    draw = ImageDraw.Draw(chart)
    for i, pose in enumerate(across[:: len(across) // 3]):
        profile = profiles.observe(stamp=float(i), pose=pose, thrust=THRUST).profile
        assert profile is not None
        local = pose.inverse().apply(profile.points)
        for _, port, up in local[np.isfinite(profile.ranges)]:
            x, y = WIDTH / 2 - port * WIDTH / 60.0, -up * WIDTH / 60.0
            draw.ellipse((x - 1, y - 1, x + 1, y + 1), fill=255 - 60 * i)
    return [
        (
            f'sidescan: {picture.shape[0]} pings along the sunken ship, {ALTITUDE:g} m up, 75 m a side',
            fall,
        ),
        ('profiler: three pings across the ship from above, 60 m wide', chart),
    ]


def scanning(world: World, scene: RayScene) -> list[tuple[str, Image.Image]]:
    """Return a turn of the scanning sonar beside the landing platform."""
    survey = Survey(world, scene, 'ping360')
    centre, yaw = heading_of(world, 'landing_platform_1')
    place = centre - 14 * np.array([math.cos(yaw), math.sin(yaw)])
    ground = world.seabed(float(place[0]), float(place[1]))
    pose = Pose.from_euler((*place, ground + 1.5), 0.0, 0.0, yaw)
    for step in range(400):
        survey.set.move(stamp=step / 10, pose=pose, thrust=THRUST / 4)
    readings = survey.set.observe(stamp=39.9, pose=pose, thrust=THRUST / 4)
    assert readings.scan is not None
    return [
        ('ping360: one turn of 400 pings, the landing platform 14 m ahead', Image.fromarray(readings.scan))
    ]  # fmt: skip


def altitude(world: World, scene: RayScene) -> list[tuple[str, Image.Image]]:
    """Return the altimeter's readings over the ground that it flew over."""
    survey = Survey(world, scene, 'altimeter')
    centre, yaw = heading_of(world, 'sunken_ship_1')
    ahead = np.array([math.cos(yaw), math.sin(yaw)])
    poses = survey.line(centre - 45 * ahead, yaw, 90.0, 18.0)[::10]
    chart = Image.new('L', (WIDTH, 200), 0)
    draw = ImageDraw.Draw(chart)
    bottom = min(world.seabed(p.position[0], p.position[1]) for p in poses) - 1.0
    for i, pose in enumerate(poses):
        reading = survey.set.observe(stamp=float(i), pose=pose, thrust=THRUST).altitude
        assert reading is not None
        x = (i + 0.5) / len(poses) * WIDTH
        ground = world.seabed(pose.position[0], pose.position[1])
        echo = pose.apply(load_mountings().altimeter.position)[2] - reading
        for height, size, grey in ((ground, 1, 110), (echo, 2, 255)):
            y = 195 - (height - bottom) * WIDTH / 180.0
            draw.ellipse((x - size, y - size, x + size, y + size), fill=grey)
    return [
        ('altimeter: what it makes of 90 m across ship and ground; grey: the ground alone', chart)
    ]


def sheet(parts: list[tuple[str, Image.Image]]) -> Image.Image:
    """Return captioned pictures one below the other."""
    height = sum(picture.height + CAPTION + 6 for _, picture in parts)
    canvas = Image.new('L', (max(p.width for _, p in parts), height), 24)
    draw, y = ImageDraw.Draw(canvas), 0
    for caption, picture in parts:
        draw.text((4, y + 3), caption, fill=230, font=ImageFont.load_default(14))
        canvas.paste(picture, (0, y + CAPTION))
        y += picture.height + CAPTION + 6
    return canvas


def main() -> int:
    """Write the sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--world', default='ocean', help='shipped world or SDF file')
    parser.add_argument('--output', type=Path, default=Path('docs/sensors/instruments.jpg'))
    parser.add_argument('--device', default='auto', choices=('auto', 'cpu', 'cuda'))
    arguments = parser.parse_args()
    world = load_world(world_path(arguments.world))
    scene = RayScene(world, device=arguments.device)
    parts = [part for draw in (side_scan, scanning, altitude) for part in draw(world, scene)]
    sheet(parts).save(arguments.output, quality=80)
    print(f'{arguments.output}: {arguments.output.stat().st_size / 1e6:.2f} MB')
    return 0


if __name__ == '__main__':
    try:
        sys.exit(main())
    except OceanGymError as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(1)
