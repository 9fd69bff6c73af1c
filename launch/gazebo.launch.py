"""Fly in a Gazebo session of your own, in real time: ``ros2 launch oceangym gazebo.launch.py``."""

from launch import LaunchDescription

from oceangym.nodes.launching import launch_description


def generate_launch_description() -> LaunchDescription:
    """Return the description that ``ros2 launch`` runs."""
    return launch_description('gazebo')
