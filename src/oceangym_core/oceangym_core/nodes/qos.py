"""The contract's QoS profiles, named once."""

from __future__ import annotations

from rclpy.duration import Duration
from rclpy.qos import (
    DurabilityPolicy,
    HistoryPolicy,
    LivelinessPolicy,
    QoSProfile,
    ReliabilityPolicy,
)

from oceangym_core.contract.topics import Delivery

# One maneuver of 30 s at 20 Hz is 600 samples, which lockstep sends in a fraction of a second.
STREAM_DEPTH = 1000
EVENT_DEPTH = 100
# What a publisher keeps for late joiners.
LATCHED = (Delivery.LATCHED, Delivery.FROZEN, Delivery.EVENT)
# A process that was killed is noticed after this long, whatever its interpreter was doing: the
# middleware's own threads assert liveliness.
LIVELINESS_LEASE = Duration(seconds=2)


def _profile(
    depth: int,
    *,
    reliable: bool = True,
    latched: bool = False,
) -> QoSProfile:
    return QoSProfile(
        history=HistoryPolicy.KEEP_LAST,
        depth=depth,
        reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        durability=DurabilityPolicy.TRANSIENT_LOCAL if latched else DurabilityPolicy.VOLATILE,
    )


def publisher_qos(delivery: Delivery) -> QoSProfile:
    """Return what a publisher of the contract offers."""
    return {
        Delivery.LATCHED: _profile(1, latched=True),
        Delivery.FROZEN: _profile(1, latched=True),
        # Volatile: a late joiner is not to take samples of long ago for new ones. The recorder says
        # that it is ready only once it is connected (`PublisherRollCall`).
        Delivery.SAMPLED: _profile(STREAM_DEPTH),
        Delivery.NAVIGATION: _profile(STREAM_DEPTH),
        Delivery.EVENT: _profile(EVENT_DEPTH, latched=True),
        Delivery.COMMAND: _profile(1),
        Delivery.CLOCK: _profile(STREAM_DEPTH),
    }[delivery]


def reader_qos(delivery: Delivery) -> QoSProfile:
    """Return what a subscriber asks for that wants the newest state (events: all of them)."""
    return {
        Delivery.LATCHED: _profile(1, latched=True),
        Delivery.FROZEN: _profile(1, latched=True),
        Delivery.SAMPLED: _profile(1),
        Delivery.NAVIGATION: _profile(1),
        Delivery.EVENT: _profile(EVENT_DEPTH, latched=True),
        Delivery.COMMAND: _profile(1, reliable=False),
        Delivery.CLOCK: _profile(1, reliable=False),
    }[delivery]


def recorder_qos(delivery: Delivery) -> QoSProfile:
    """Return what a subscriber asks for that may miss nothing."""
    if delivery is Delivery.COMMAND:
        return _profile(EVENT_DEPTH, reliable=False)
    return _profile(STREAM_DEPTH, latched=delivery in LATCHED)


def with_liveliness(profile: QoSProfile) -> QoSProfile:
    """Return the same profile with a lease by which a watcher notices a killed process."""
    return QoSProfile(
        history=profile.history,
        depth=profile.depth,
        reliability=profile.reliability,
        durability=profile.durability,
        liveliness=LivelinessPolicy.AUTOMATIC,
        liveliness_lease_duration=LIVELINESS_LEASE,
    )
