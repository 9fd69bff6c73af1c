"""Memory over a long run: a full soak is 1200 observations, half an hour of work on two cores."""

import os
from pathlib import Path

import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import prepare_episode
from oceangym_core.contract.actions import Action
from oceangym_core.rng import generator
from oceangym_core.world.world import load_world, world_path
from oceangym_sim.requests import ResetRequest, SimulatorOptions
from oceangym_sim.simulator import Simulator

WARM_UP = 8
# Less than five observations of 12 MB each, should one be held on to.
ALLOWED_GROWTH_MB = 60.0


def resident_mb() -> float:
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE') / 2**20


@pytest.mark.parametrize(
    'observations', [24, pytest.param(1200, marks=pytest.mark.soak)], ids=['ci', 'soak']
)
def test_memory_stays_flat_over_full_observations(observations: int) -> None:
    options = RunOptions(agent='survey', t_interval=1.0, t_max=86400.0)
    setup = prepare_episode(options, load_world(world_path('ocean')))
    simulator = Simulator(world=setup.world, options=SimulatorOptions.of(setup))
    simulator.reset(ResetRequest.of(setup))
    random = generator(1, 'soak')
    moves = [a for a in Action if a is not Action.STOP]
    before = resident_mb()
    for count in range(observations):
        if count == WARM_UP:
            before = resident_mb()
        _, observation, _ = simulator.run_maneuver(moves[random.integers(len(moves))], None)
        assert len(observation.cameras) == len(observation.sonars) == 6
    growth = resident_mb() - before
    print(f'{observations} observations: {before:.0f} MB after warm-up, {growth:+.0f} MB since')
    assert growth < ALLOWED_GROWTH_MB
