"""The surveyor's forms on rendered pings: they fit echoes of targets, and nothing where there is nothing."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

from oceangym_agent.agents.survey import (
    BOTTOM_ALTITUDES,
    echo_place,
    form_of,
    LEVEL,
    METAL,
    PIPE,
    WRECK,
)
from oceangym_agent.aids.detector import bright_echoes, Echo
from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import EpisodeSetup, prepare_episode
from oceangym_core.geometry import Array, Pose
from oceangym_core.scoring.verified import REPORT_RADIUS_M
from oceangym_core.world.world import load_world, World, world_path
from oceangym_sim.requests import ResetRequest, SimulatorOptions
from oceangym_sim.simulator import Simulator

SONAR_RANGE_M = 40.0
ALTITUDE_M = 8.0
# The greatest half size of a built thing, and what the vehicle may find anywhere.
HALF_SIZE_M = 30.0
NATURAL = ('terrain', 'boulder', 'rock', 'seagrass', 'coral', 'kelp')


@lru_cache(maxsize=1)
def ocean() -> World:
    return load_world(world_path('ocean'))


@lru_cache(maxsize=1)
def simulator() -> Simulator:
    options = SimulatorOptions.of(prepared('inspect_pipe', 'point1'))
    return Simulator(world=ocean(), options=replace(options, image_size=64))


def prepared(task: str, start: str) -> EpisodeSetup:
    options = RunOptions(task=task, start=start, agent='survey', sensors='all')
    return prepare_episode(options, ocean())


def heard(setup: EpisodeSetup, pose: Pose) -> list[tuple[Echo, Array]]:
    """Return the echoes of the level sonars at a pose, with their places in map."""
    request = replace(ResetRequest.of(setup), start=pose, targets=())
    observation = simulator().reset(request)
    return [
        (echo, echo_place(observation, direction, echo))
        for direction in LEVEL
        for echo in bright_echoes(
            observation.sonars[direction], observation.sonar_geometry[direction]
        )
    ]


@pytest.mark.parametrize('task', ['inspect_pipe', 'inspect_turbine', 'search_ship'])
def test_a_target_in_range_has_its_form_and_place(task: str) -> None:
    setup = prepared(task, 'near_1')
    form = form_of(setup.task.target_description)
    assert form is not None
    places = [place for echo, place in heard(setup, setup.start.pose) if form.fits(echo)]
    nearest = [min(float(t.footprint.distance(p)[0]) for t in setup.targets) for p in places]
    assert nearest and min(nearest) <= REPORT_RADIUS_M


def test_no_form_fits_where_nature_alone_is_in_range() -> None:
    built = np.array(
        [i.pose.position[:2] for i in ocean().instances if not i.name.startswith(NATURAL)]
    )
    setup = prepared('inspect_pipe', 'point1')
    rng = np.random.default_rng(4)
    places = 0
    while places < 4:
        x, y = rng.uniform((-100.0, -300.0), (550.0, 200.0))
        z = ocean().seabed(x, y) + ALTITUDE_M
        if z > -5.0 or np.linalg.norm(built - (x, y), axis=1).min() < SONAR_RANGE_M + HALF_SIZE_M:
            continue
        places += 1
        for echo, _ in heard(setup, Pose((x, y, z))):
            assert not PIPE.fits(echo) and not METAL.fits(echo), echo
            assert not WRECK.fits(echo) or echo.range < BOTTOM_ALTITUDES * ALTITUDE_M, echo
