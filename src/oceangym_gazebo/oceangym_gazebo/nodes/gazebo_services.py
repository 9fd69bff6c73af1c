"""Services of Gazebo through ros_gz_bridge, where its interfaces are installed."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.task import Future

from oceangym_core.geometry import Pose
from oceangym_core.nodes.conversions import pose_message
from oceangym_gazebo.session.bridge import pose_service

try:
    from ros_gz_interfaces.msg import Entity
    from ros_gz_interfaces.srv import SetEntityPose

    AVAILABLE = True
except ImportError:
    AVAILABLE = False

REMEDY = 'sudo apt install ros-$ROS_DISTRO-ros-gz-interfaces ros-$ROS_DISTRO-ros-gz-bridge'


class ModelMover:
    """Puts a model of a running world somewhere else.

    Args:
        node: The client's node.
        world: Name of the world.
        model: Name of the model in it.
    """

    def __init__(self, node: Node, *, world: str, model: str) -> None:
        self._model = model
        self._service = pose_service(world)
        self._client = node.create_client(SetEntityPose, self._service) if AVAILABLE else None

    @property
    def installed(self) -> bool:
        """Whether the interfaces that this needs are installed."""
        return self._client is not None

    @property
    def obstacle(self) -> str:
        """Why the model cannot be moved now, and what helps; empty if it can."""
        if self._client is None:
            return f'ros_gz_interfaces is not installed, so Gazebo cannot be asked to. {REMEDY}'
        if not self._client.service_is_ready():
            return (
                f'nobody offers {self._service}; is the world of this name running, and does '
                'ros_gz_bridge (1.0.11 or later) carry its service?'
            )
        return ''

    def move(self, pose: Pose) -> Future:
        """Ask for a pose in map; the result has ``success``."""
        assert self._client is not None
        request = SetEntityPose.Request(
            entity=Entity(name=self._model, type=Entity.MODEL), pose=pose_message(pose)
        )
        return self._client.call_async(request)
