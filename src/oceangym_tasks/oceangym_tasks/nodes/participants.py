"""Who an episode needs, who of them is there, and who was lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oceangym_msgs.action import RunTask
from oceangym_msgs.msg import Capabilities
from oceangym_msgs.srv import Reset
from rclpy.node import Node
from std_msgs.msg import Bool, Header

from oceangym_core.contract.topics import DECISION, RECORD_PROGRESS, RECORD_READY, stream
from oceangym_core.nodes.conversions import nanoseconds_of
from oceangym_core.nodes.node import read_stream, watch_publisher

RECORDER = 'recorder'


class ParticipantMonitor:
    """Watches backend, agent and recorder.

    Args:
        node: The task manager's node.
        wait_for: Names of nodes that an episode waits for.
        on_lost: Called with who was lost and the error code of ``task/run`` for it.
        on_recorded: Called when the recorder has come further.
    """

    def __init__(
        self,
        node: Node,
        wait_for: Sequence[str],
        *,
        on_lost: Callable[[str, int], None],
        on_recorded: Callable[[], None],
    ) -> None:
        self._node = node
        self._wait_for = tuple(wait_for)
        self._on_lost = on_lost
        self._on_recorded = on_recorded
        self._capabilities: Capabilities | None = None
        self._record_ready = False
        self._recorded_ns = -1
        # Before any subscription: whoever has sent us a message on one has then discovered this
        # client too, and its answers arrive. Those to a client not yet discovered are lost.
        self.reset_client = node.create_client(Reset, 'sim/reset')
        read_stream(node, stream('capabilities'), self._on_capabilities)
        watch_publisher(node, stream('capabilities'), self._backend_lost)
        watch_publisher(node, DECISION, lambda: on_lost('the agent', RunTask.Result.AGENT_LOST))
        if self.has_recorder:
            read_stream(node, RECORD_READY, self._on_record_ready)
            read_stream(node, RECORD_PROGRESS, self._on_progress)
            watch_publisher(
                node,
                RECORD_READY,
                lambda: on_lost('the recorder', RunTask.Result.RECORDER_LOST),
            )

    @property
    def has_recorder(self) -> bool:
        """Whether a recorder is waited for."""
        return RECORDER in self._wait_for

    def missing(self) -> list[str]:
        """Return who is not there yet."""
        present = {
            name
            for name, space in self._node.get_node_names_and_namespaces()
            if space == self._node.get_namespace()
        }
        missing = [name for name in self._wait_for if name not in present]
        if self.has_recorder and not self._record_ready and RECORDER not in missing:
            missing.append('the recorder to be ready')
        if self._capabilities is None or not self.reset_client.service_is_ready():
            missing.append('a backend (capabilities, sim/reset)')
        return missing

    def has_recorded(self, stamp_ns: int) -> bool:
        """Return whether all up to a time [ns] is in the bag, or nothing is recorded."""
        return not self.has_recorder or self._recorded_ns >= stamp_ns

    def _backend_lost(self) -> None:
        self._capabilities = None
        self._on_lost('the backend', RunTask.Result.BACKEND_LOST)

    def _on_capabilities(self, message: Capabilities) -> None:
        self._capabilities = message

    def _on_record_ready(self, message: Bool) -> None:
        self._record_ready = message.data

    def _on_progress(self, message: Header) -> None:
        self._recorded_ns = nanoseconds_of(message.stamp)
        self._on_recorded()
