"""Gazebo as the engine of a simulator."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from oceangym_gazebo.hosted.physics import GazeboPlant
from oceangym_gazebo.hosted.sensors import GazeboSensors
from oceangym_gazebo.hosted.server import GazeboServer
from oceangym_sim.backend import Engine


def gazebo_engine(server: GazeboServer) -> Engine:
    """Return an engine whose physics and raw images are those of a server in this process."""
    flown: list[GazeboPlant] = []

    def plant(**arguments: Any) -> GazeboPlant:
        flown[:] = [GazeboPlant(server=server, **arguments)]
        return flown[0]

    def wrench() -> NDArray[Any]:
        return flown[0].wrench

    def sensors(**arguments: Any) -> GazeboSensors:
        return GazeboSensors(server=server, wrench=wrench, **arguments)

    return Engine(name='gazebo', plant=plant, sensors=sensors, close=server.close)
