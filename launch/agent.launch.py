"""Let an agent fly what runs already: ``ros2 launch oceangym agent.launch.py agent:=survey``.

The episode is another launch's, e.g. that of ``task.launch.py agent:=none``.
"""

from launch import LaunchDescription

from oceangym.nodes.launching import launch_description


def generate_launch_description() -> LaunchDescription:
    """Return the description that ``ros2 launch`` runs."""
    return launch_description('agent')
