"""Records the contract's topics into an MCAP bag, as serialized, stamped with simulation time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
import sys

from builtin_interfaces.msg import Time
import numpy as np
from oceangym_msgs.msg import Capabilities
from rcl_interfaces.srv import ListParameters
from rclpy.client import Client
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.node import Node
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import Image
from std_msgs.msg import Bool, Header

from oceangym_core.contract.topics import (
    CONTRACT,
    POLAR_DB,
    Record,
    RECORD_PROGRESS,
    RECORD_READY,
    Source,
    Stream,
    stream,
)
from oceangym_core.errors import unknown_name
from oceangym_core.nodes.node import (
    ContractNode,
    declare,
    message_type,
    NO_EVENTS,
    publish_stream,
    read_stream,
    run_node,
)
from oceangym_core.nodes.qos import LATCHED, publisher_qos, recorder_qos
from oceangym_core.nodes.rosbag2_writer import bag_writer
from oceangym_core.record.bag import stamp_in_cdr
from oceangym_core.record.decibels import to_decibel_bytes

LEVELS = ('light', 'full')
# What goes on while time stands still, and does not keep a recording from ending.
HEARTBEATS = ('/clock', '/diagnostics')
QUIET_S = 0.5
# What a killed recorder may lose [s of wall time].
FLUSH_S = 5.0
# A publisher's node that has not answered after this long [s] is not waited for any longer.
ROLL_CALL_PATIENCE_S = 30.0
ASK_AGAIN_S = 1.0


def decibel_image(data: bytes) -> bytes:
    """Return a serialized 32FC1 polar image as a serialized mono8 one in decibels."""
    image: Image = deserialize_message(data, Image)
    polar = np.frombuffer(image.data, '<f4').reshape(image.height, image.width)
    small = Image(
        header=image.header,
        height=image.height,
        width=image.width,
        encoding='mono8',
        step=image.width,
    )
    small.data = to_decibel_bytes(polar).tobytes()
    return bytes(serialize_message(small))


class PublisherRollCall:
    """Finds out whether the publishers of topics have connected this node's subscriptions.

    A publisher that is seen may not have seen its subscriber yet; what it sends until then is lost
    on topics that keep nothing. The middleware makes a node's subscriptions known in the order in
    which they were made: whoever answers a service whose client is younger knows them all.

    Args:
        node: The subscriptions' node; they have all been made.
        clock: Steady.
    """

    def __init__(self, node: Node, clock: Clock) -> None:
        self._node, self._clock = node, clock
        self._answered: set[str] = set()
        self._clients: dict[str, Client] = {}
        self._asked: dict[str, list[float]] = {}

    def complete(self, topics: Iterable[str]) -> bool:
        """Return whether all topics have a publisher whose node has answered; ask those others."""
        publishers: set[str] = set()
        for topic in topics:
            infos = self._node.get_publishers_info_by_topic(topic)
            names = {f'{i.node_namespace.rstrip("/")}/{i.node_name}' for i in infos}
            if not names or any('_NODE_NAME_UNKNOWN_' in name for name in names):
                return False
            publishers |= names
        for name in publishers - self._answered:
            self._ask(name)
        return publishers <= self._answered

    def _ask(self, name: str) -> None:
        """Ask a node for its parameters, again after a while: the first answers may get lost."""
        now = self._clock.now().nanoseconds * 1e-9
        asked = self._asked.setdefault(name, [])
        if asked and now - asked[0] > ROLL_CALL_PATIENCE_S:
            self._node.get_logger().warning(
                f'{name} does not answer; its first samples may be missing in the bag'
            )
            self._answered.add(name)
            return
        if asked and now - asked[-1] < ASK_AGAIN_S:
            return
        asked.append(now)
        if name not in self._clients:
            self._clients[name] = self._node.create_client(
                ListParameters, f'{name}/list_parameters'
            )
        answer = self._clients[name].call_async(ListParameters.Request())
        answer.add_done_callback(lambda _: self._answered.add(name))


class RecorderNode(ContractNode):
    """Subscribes to everything before an episode begins and says so on ``record/ready``."""

    def __init__(self) -> None:
        super().__init__('recorder')
        self.min_period_s = 0.005
        directory = Path(str(declare(self, 'bag', 'bag', 'Directory of the bag; must not exist.')))
        run_id = str(declare(self, 'run_id', 'run', "Noted in the bag's metadata."))
        level = str(declare(self, 'record', 'light', 'light, or full: float and raw images too.'))
        if level not in LEVELS:
            raise unknown_name('record', level, LEVELS)
        self._full = level == 'full'
        self._stamp = 0
        self._closed = False
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)
        self._capabilities: Capabilities | None = None
        self._writer = bag_writer(directory, custom={'run_id': run_id, 'record': level})
        self._taps: list[tuple[Subscription, Callable[[bytes], None]]] = []
        for topic in CONTRACT:
            self._record(topic)
        read_stream(self, stream('capabilities'), self._on_capabilities)
        self._roll_call = PublisherRollCall(self, self._wall)
        self._ready = publish_stream(self, RECORD_READY, watched=True)
        self._ready.publish(Bool(data=False))
        self._progress = publish_stream(self, RECORD_PROGRESS)
        self._last_message = self._seconds()
        self._ending = False
        self._timer = self.create_timer(0.1, self._check_ready, clock=self._wall)
        self.create_timer(FLUSH_S, self._flush, clock=self._wall)

    def _record(self, topic: Stream) -> None:
        """Subscribe to a topic if this recording keeps it."""
        name = topic.absolute(self.get_namespace())
        in_decibels = topic.name.endswith('/polar') and not self._full
        if topic.record is Record.NEVER or (
            topic.record is Record.FULL and not self._full and not in_decibels
        ):
            return
        target = f'{name.removesuffix("polar")}{POLAR_DB}' if in_decibels else name
        self._writer.add_topic(
            target,
            topic.type,
            latched=topic.delivery in LATCHED,
            depth=publisher_qos(topic.delivery).depth,
        )

        def write(data: bytes) -> None:
            # The clock goes on while the executor takes its last turn.
            if self._closed:
                return
            stamp = stamp_in_cdr(topic.type, data)
            # Zero is no time: what is valid at all times carries it, or has none of its own.
            if stamp:
                self._stamp = stamp
            self._writer.write(target, self._stamp, decibel_image(data) if in_decibels else data)
            if topic.name not in HEARTBEATS:
                self._last_message = self._seconds()

        def take(data: bytes) -> None:
            write(data)
            # What else has queued up is taken at once: a turn of the executor costs far more.
            self._drain(subscription, write)
            if topic.name == 'truth/step':
                self._report_progress()

        subscription = self.create_subscription(
            message_type(topic.type),
            name,
            take,
            recorder_qos(topic.delivery),
            raw=True,
            event_callbacks=NO_EVENTS,
        )
        self._taps.append((subscription, write))

    @staticmethod
    def _drain(subscription: Subscription, write: Callable[[bytes], None]) -> None:
        with subscription.handle:
            while True:
                taken = subscription.handle.take_message(subscription.msg_type, True)
                if taken is None:
                    return
                write(taken[0])

    def _on_capabilities(self, message: Capabilities) -> None:
        self._capabilities = message

    def _check_ready(self) -> None:
        """Say that nothing will be missed once every stream of the backend is connected."""
        capabilities = self._capabilities
        if capabilities is None:
            return
        expected = [
            self.resolve_topic_name(topic.absolute(self.get_namespace()))
            for topic in CONTRACT
            if topic.source is Source.BACKEND and topic.name in capabilities.streams
        ]
        if self._roll_call.complete(expected):
            self._ready.publish(Bool(data=True))
            self._timer.cancel()

    def _report_progress(self) -> None:
        """Say that all up to a step is in the bag: whatever was published before it is here."""
        stamp = self._stamp
        self._drain_all()
        self._writer.flush()
        seconds, nanoseconds = divmod(stamp, 1_000_000_000)
        self._progress.publish(Header(stamp=Time(sec=seconds, nanosec=nanoseconds)))

    def _flush(self) -> None:
        if not self._closed:
            self._writer.flush()

    def _drain_all(self) -> None:
        for subscription, write in self._taps:
            self._drain(subscription, write)

    def interrupt(self) -> None:
        """End once nothing more arrives: the others are still there and may have more in flight."""
        self._ending = True

    def work(self) -> float:
        """Wait for the quiet that ends a recording that was asked to end."""
        if self._ending and self._seconds() - self._last_message > QUIET_S:
            # Here, where it is still heard of, and not on the way out.
            self.close()
            self.exit_code = 0
        return super().work()

    def _seconds(self) -> float:
        return self._wall.now().nanoseconds * 1e-9

    def close(self) -> None:
        """Close the bag."""
        if self._closed:
            return
        if self._writer.failed:
            self._closed = True
            return
        self._drain_all()
        self._closed = True
        total = sum(self._writer.counts.values())
        self._writer.close()
        print(f'recorded {total} messages', file=sys.stderr, flush=True)


def main() -> int:
    """Run the node."""
    return run_node(RecorderNode)


if __name__ == '__main__':
    sys.exit(main())
