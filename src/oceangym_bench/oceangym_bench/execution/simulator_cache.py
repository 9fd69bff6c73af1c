"""Keeps a world and a simulator from one run to the next, as building them takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import EpisodeSetup, prepare_episode
from oceangym_core.world.world import load_world, World
from oceangym_sim.requests import SimulatorOptions
from oceangym_sim.simulator import Simulator
from oceangym_worlds.world_files import say, world_file


class SimulatorCache:
    """Holds the world and the simulator that were last asked for."""

    def __init__(self, report: Callable[[str], None] = say) -> None:
        self._report = report
        self._world: tuple[Path, World] | None = None
        self._simulator: tuple[SimulatorOptions, Simulator] | None = None

    def prepare(self, options: RunOptions) -> tuple[EpisodeSetup, Simulator]:
        """Return an episode and a simulator for it, the one at hand if it will do.

        Raises:
            OceanGymError: The options do not make an episode.
        """
        path = world_file(options, self._report)
        if self._world is None or self._world[0] != path:
            self._simulator = None
            self._world = (path, load_world(path))
        setup = prepare_episode(options, self._world[1])
        needed = SimulatorOptions.of(setup)
        if self._simulator is None or self._simulator[0] != needed:
            # Two ray scenes at a time are not needed: the old one goes before the new one comes.
            self._simulator = None
            self._simulator = (needed, Simulator(world=setup.world, options=needed))
        return setup, self._simulator[1]
