"""Record what runs: ``ros2 launch oceangym record.launch.py record:=full``."""

from launch import LaunchDescription

from oceangym.nodes.launching import launch_description


def generate_launch_description() -> LaunchDescription:
    """Return the description that ``ros2 launch`` runs."""
    return launch_description('record')
