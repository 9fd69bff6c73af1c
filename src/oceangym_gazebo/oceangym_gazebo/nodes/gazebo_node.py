"""The Gazebo backend of the contract: a server in this process, ticked like the embedded simulator."""

from __future__ import annotations

from pathlib import Path
import sys

from oceangym_core.assets import assets_root
from oceangym_core.config.options import RunOptions
from oceangym_core.nodes.node import run_node
from oceangym_gazebo.hosted.backend import gazebo_engine
from oceangym_gazebo.hosted.server import GazeboServer
from oceangym_sim.backend import Engine
from oceangym_sim.nodes.sim_node import SimNode
from oceangym_sim.simulator import VEHICLE


def _engine(world: Path, options: RunOptions) -> Engine:
    return gazebo_engine(
        GazeboServer(
            world=world,
            vehicle=assets_root() / 'models' / VEHICLE / 'model.sdf',
            rendered=options.resolved_sensors == 'all',
        )
    )


def main() -> int:
    """Run the node."""
    return run_node(lambda: SimNode(_engine))


if __name__ == '__main__':
    sys.exit(main())
