"""Look at what runs: ``ros2 launch oceangym monitor.launch.py`` opens rviz."""

from launch import LaunchDescription

from oceangym.nodes.launching import launch_description


def generate_launch_description() -> LaunchDescription:
    """Return the description that ``ros2 launch`` runs."""
    return launch_description('monitor')
