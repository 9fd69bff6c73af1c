"""Run one episode: ``ros2 launch oceangym task.launch.py task:=inspect_pipe``.

Arguments are those of ``scripts/oceangym run``; ``--show-args`` lists them.
"""

from launch import LaunchDescription

from oceangym.nodes.launching import launch_description


def generate_launch_description() -> LaunchDescription:
    """Return the description that ``ros2 launch`` runs."""
    return launch_description('task')
