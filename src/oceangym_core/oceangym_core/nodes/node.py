"""Start, parameters and end of a node, the same for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
import signal
import sys
import time
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
import rclpy
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.exceptions import ParameterException
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.signals import SignalHandlerOptions
from rclpy.subscription import Subscription

from oceangym_core.config.options import Argument, ARGUMENTS, Kind, resolve_names, RunOptions
from oceangym_core.contract.topics import Stream
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.launcher_watch import end_with_launcher
from oceangym_core.nodes.qos import publisher_qos, reader_qos, with_liveliness

EXIT_ERROR = 1
EXIT_CANCELLED = 130
# The default event handlers of every subscription and publisher (they log QoS mismatches) are
# waited for in each turn of the executor and double its cost; the contract's QoS is tested instead.
NO_EVENTS = SubscriptionEventCallbacks(use_default_callbacks=False)
# Parameters that rclpy reads by itself.
_ROS_PARAMETERS = ('qos_overrides.', 'use_sim_time', 'start_type_description_service')
# Bounds how late a node notices a signal.
IDLE_WAIT_S = 0.1


def declare_options(node: Node) -> RunOptions:
    """Declare every run option as a parameter and return them, checked.

    Raises:
        OceanGymError: A value is not accepted.
    """
    defaults = RunOptions().as_dict()
    values = {}
    for argument in ARGUMENTS:
        default = defaults[argument.name]
        value = node.declare_parameter(
            argument.name, argument.to_parameter(default), _descriptor(argument)
        ).value
        values[argument.name] = argument.of_parameter(value)
    return resolve_names(RunOptions.from_dict(values))


def _descriptor(argument: Argument) -> ParameterDescriptor:
    unit = f' [{argument.unit}]' if argument.unit else ''
    descriptor = ParameterDescriptor(description=argument.description + unit, read_only=True)
    low = argument.low if argument.default else argument.blank
    if argument.kind is Kind.INTEGER:
        descriptor.integer_range = [
            IntegerRange(from_value=int(low), to_value=int(argument.high), step=0)
        ]
    elif argument.kind is Kind.NUMBER:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=low, to_value=argument.high, step=0.0)
        ]
    return descriptor


def declare(node: Node, name: str, default: object, description: str) -> object:
    """Declare one read-only parameter and return its value."""
    descriptor = ParameterDescriptor(description=description, read_only=True)
    return node.declare_parameter(name, default, descriptor).value


def message_type(name: str) -> Any:
    """Return the class of a message type ``package/msg/Name``."""
    package, _, kind = name.split('/')
    return getattr(import_module(f'{package}.msg'), kind)


def publish_stream(
    node: Node,
    stream: Stream,
    *,
    watched: bool = False,
    on_joined: Callable[[], None] | None = None,
) -> Publisher:
    """Create the publisher of a topic of the contract.

    Args:
        node: The publisher's node, in the vehicle's namespace.
        stream: The topic.
        watched: Whether others are to notice when this process is killed.
        on_joined: Called when a subscriber has been connected.
    """

    def matched(status: Any) -> None:
        if on_joined is not None and status.current_count_change > 0:
            on_joined()

    qos = publisher_qos(stream.delivery)
    if watched:
        qos = with_liveliness(qos)
    return node.create_publisher(
        message_type(stream.type),
        stream.name,
        qos,
        event_callbacks=PublisherEventCallbacks(
            matched=None if on_joined is None else matched, use_default_callbacks=False
        ),
    )


def read_stream(node: Node, stream: Stream, callback: Callable[..., None]) -> Subscription:
    """Create a subscription to the newest state of a topic of the contract."""
    return node.create_subscription(
        message_type(stream.type),
        stream.name,
        callback,
        reader_qos(stream.delivery),
        event_callbacks=NO_EVENTS,
    )


def watch_publisher(node: Node, stream: Stream, on_lost: Callable[[], None]) -> Subscription:
    """Call back once a publisher of a topic has died without saying goodbye, or left.

    The publisher must offer a liveliness lease; others do not match and are not watched.
    """

    def changed(status: Any) -> None:
        # The first change is that one has come: none alive always means that one was lost, even if
        # both changes were noticed together.
        if status.alive_count == 0:
            on_lost()

    def ignore(status: object) -> None:
        """A publisher without a lease is not watched; that is no fault."""

    return node.create_subscription(
        message_type(stream.type),
        stream.name,
        lambda message: None,
        with_liveliness(reader_qos(stream.delivery)),
        event_callbacks=SubscriptionEventCallbacks(
            liveliness=changed, incompatible_qos=ignore, use_default_callbacks=False
        ),
    )


class ContractNode(Node):
    """A node that is run by `run_node`: it ends when it says so, or when it is interrupted."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.exit_code: int | None = None
        # While others stream faster than this node needs, it looks only so often [s]: what it reads
        # is one deep, so that only the newest is taken.
        self.min_period_s = 0.0

    def work(self) -> float:
        """Do a slice of work between callbacks; return how long to wait for the next one [s]."""
        return IDLE_WAIT_S

    def interrupt(self) -> None:
        """Ctrl-C or a request to end: by default the node ends at once."""
        self.exit_code = 0

    def close(self) -> None:
        """Put away what must not be lost; called once, before the node is destroyed."""


def run_node(make: Callable[[], ContractNode], arguments: Sequence[str] | None = None) -> int:
    """Build a node, spin it and return the exit code of its process.

    A user's mistake ends with ``error: ...`` and 1, without a traceback. SIGINT and SIGTERM only
    set a flag: rclpy's own handlers would shut the context down before a last message is sent.

    Args:
        make: Builds the node.
        arguments: Of the command line; the process's own when None.
    """
    interrupted = [False]

    def note(number: int, frame: object) -> None:
        interrupted[0] = True

    signal.signal(signal.SIGINT, note)
    signal.signal(signal.SIGTERM, note)
    end_with_launcher()
    rclpy.init(
        args=None if arguments is None else list(arguments),
        signal_handler_options=SignalHandlerOptions.NO,
    )
    node: ContractNode | None = None
    executor = SingleThreadedExecutor()
    rested = time.monotonic()
    try:
        node = make()
        check_parameters(node)
        executor.add_node(node)
        while node.exit_code is None:
            if interrupted[0]:
                interrupted[0] = False
                node.interrupt()
            else:
                executor.spin_once(timeout_sec=node.work())
                rested = _rest(node.min_period_s, rested)
        return node.exit_code
    except (OceanGymError, ParameterException) as error:
        _log_fatal(node, str(error))
        print(f'error: {error}', file=sys.stderr, flush=True)
        return EXIT_ERROR
    finally:
        # Whoever asks twice must not cut the closing short.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if node is not None:
            node.close()
        executor.shutdown(timeout_sec=1.0)
        if node is not None:
            node.destroy_node()
        if rclpy.ok():
            rclpy.shutdown()


def check_parameters(node: Node) -> None:
    """Check that every parameter of the command line is one of the node's.

    Raises:
        OceanGymError: One is not; rclpy would ignore it.
    """
    declared = [str(name) for name in node._parameters]
    for name in node._parameter_overrides:
        if name not in declared and not name.startswith(_ROS_PARAMETERS):
            raise unknown_name(f'parameter of {node.get_name()}', name, declared)


def _log_fatal(node: Node | None, message: str) -> None:
    """Log an error on /rosout too, for tools that show nothing else."""
    if not rclpy.ok():
        return
    teller = node if node is not None else Node('oceangym_error')
    teller.get_logger().fatal(message)
    if teller is not node:
        teller.destroy_node()


def _rest(min_period_s: float, rested: float) -> float:
    """Sleep if the last sleep is long enough ago; return when the last one ended [s]."""
    if min_period_s <= 0.0 or time.monotonic() - rested < min_period_s / 2:
        return rested
    time.sleep(min_period_s)
    return time.monotonic()
