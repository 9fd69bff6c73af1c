"""Run the simulator alone, for nodes of your own: ``ros2 launch oceangym sim.launch.py``."""

from launch import LaunchDescription

from oceangym.nodes.launching import launch_description


def generate_launch_description() -> LaunchDescription:
    """Return the description that ``ros2 launch`` runs."""
    return launch_description('sim')
