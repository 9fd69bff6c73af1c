"""Gazebo as the engine of a simulator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from oceangym_gazebo.plant import GazeboPlant
from oceangym_gazebo.sensors import GazeboSensors
from oceangym_gazebo.server import GazeboServer
from oceangym_sim.engine import Engine


def gazebo_engine(*, world: Path, vehicle: Path, rendered: bool) -> Engine:
    """Return an engine whose physics and raw images are those of a Gazebo server in this process.

    Args:
        world: World file.
        vehicle: Model file.
        rendered: Whether images are wanted.

    Raises:
        OceanGymError: Gazebo is not installed, or it does not take the files.
    """
    server = GazeboServer(world=world, vehicle=vehicle, rendered=rendered)
    flown: list[GazeboPlant] = []

    def plant(**arguments: Any) -> GazeboPlant:
        flown[:] = [GazeboPlant(server=server, **arguments)]
        return flown[0]

    def wrench() -> NDArray[Any]:
        return flown[0].wrench

    def sensors(**arguments: Any) -> GazeboSensors:
        return GazeboSensors(server=server, wrench=wrench, **arguments)

    return Engine(name='gazebo', plant=plant, sensors=sensors)
