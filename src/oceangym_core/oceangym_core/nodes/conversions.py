"""Messages that several packages exchange, to and from plain values. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
import math

from builtin_interfaces.msg import Time as TimeMessage
from geometry_msgs.msg import Point, Quaternion, Transform, Vector3
from geometry_msgs.msg import Pose as PoseMessage
import numpy as np
from oceangym_msgs.msg import (
    Collision,
    Find,
    PerceptibleTarget,
    TaskGoal,
)
from oceangym_msgs.msg import (
    Decision as DecisionMessage,
)
from oceangym_msgs.msg import (
    StepTruth as StepTruthMessage,
)
from std_msgs.msg import Header

from oceangym_core.contract.actions import Action, Course, EndReason
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import (
    Contact,
    ManeuverResult,
    NavigationState,
    Sighting,
    StepTruth,
)
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.geometry import Pose

NANOSECONDS = 1_000_000_000


def stamp_of(seconds: float, epoch_ns: int = 0) -> TimeMessage:
    """Return a time [s] after an epoch [ns] as a message, rounded to the nanosecond."""
    sec, nanosec = divmod(round(seconds * NANOSECONDS) + epoch_ns, NANOSECONDS)
    return TimeMessage(sec=sec, nanosec=nanosec)


def seconds_of(stamp: TimeMessage, epoch_ns: int = 0) -> float:
    """Return a message's time [s] after an epoch [ns]."""
    # One division of whole nanoseconds: the very number that the stamp was made from.
    return (nanoseconds_of(stamp) - epoch_ns) / NANOSECONDS


def nanoseconds_of(stamp: TimeMessage) -> int:
    """Return a message's time [ns], exact."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def header_of(seconds: float, frame: str, epoch_ns: int = 0) -> Header:
    """Return a header with a time [s] after an epoch [ns] and a frame."""
    return Header(stamp=stamp_of(seconds, epoch_ns), frame_id=frame)


def point_message(position: Iterable[float]) -> Point:
    """Return a position as a message."""
    x, y, z = (float(v) for v in position)
    return Point(x=x, y=y, z=z)


def vector_message(vector: Iterable[float]) -> Vector3:
    """Return a vector as a message."""
    x, y, z = (float(v) for v in vector)
    return Vector3(x=x, y=y, z=z)


def quaternion_message(quaternion: Iterable[float]) -> Quaternion:
    """Return a quaternion (x, y, z, w) as a message."""
    x, y, z, w = (float(v) for v in quaternion)
    return Quaternion(x=x, y=y, z=z, w=w)


def pose_message(pose: Pose) -> PoseMessage:
    """Return a pose as a message."""
    return PoseMessage(
        position=point_message(pose.position), orientation=quaternion_message(pose.quaternion)
    )


def transform_message(pose: Pose) -> Transform:
    """Return a pose as a transform message."""
    return Transform(
        translation=vector_message(pose.position), rotation=quaternion_message(pose.quaternion)
    )


def pose_of_message(message: PoseMessage) -> Pose:
    """Return a message's pose."""
    p, q = message.position, message.orientation
    return Pose.of((p.x, p.y, p.z), (q.x, q.y, q.z, q.w))


def action_of(name: str) -> Action:
    """Return the action of a name.

    Raises:
        OceanGymError: It is none.
    """
    try:
        return Action(name)
    except ValueError:
        raise unknown_name('action', name, [a.value for a in Action]) from None


def magnitude_of(value: float) -> float | None:
    """Return a message's magnitude; NaN stands for the action's default."""
    return None if math.isnan(value) else float(value)


def magnitude_field(value: float | None) -> float:
    """Return a magnitude as messages hold it."""
    return math.nan if value is None else float(value)


def course_of(turn_deg: float, climb_m: float, altitude_m: float) -> Course:
    """Return a message's course; NaN and 0, which a field has when it is not set, ask for nothing."""
    turn, climb, altitude = (
        None if math.isnan(value) else float(value) or None
        for value in (turn_deg, climb_m, altitude_m)
    )
    return Course(turn_deg=turn, climb_m=climb, altitude_m=altitude)


def decision_message(
    decision: Decision,
    *,
    agent: str,
    stamp: float,
    epoch_ns: int = 0,
    reports: Iterable[FindReport] = (),
) -> DecisionMessage:
    """Return a decision as a message; `stamp` [s] is that of the observation decided on."""
    return DecisionMessage(
        header=header_of(stamp, 'odom', epoch_ns),
        step=decision.index,
        agent=agent,
        action=decision.action.value,
        magnitude=magnitude_field(decision.magnitude),
        turn_deg=magnitude_field(decision.course.turn_deg),
        climb_m=magnitude_field(decision.course.climb_m),
        altitude_m=magnitude_field(decision.course.altitude_m),
        description=decision.description,
        finds=[_find_message(report) for report in reports]
        or [Find(label=label, sigma=-1.0) for label in decision.finds],
        raw_reply=decision.raw_reply,
        valid=decision.invalid_replies == 0,
        invalid_replies=decision.invalid_replies,
        prompt_tokens=decision.tokens_in,
        completion_tokens=decision.tokens_out,
        cost=decision.cost,
        latency=decision.latency_s,
        notes=list(decision.notes),
    )


def decision_of(message: DecisionMessage) -> Decision:
    """Return a message's decision.

    Raises:
        OceanGymError: Its action is none of ours.
    """
    return Decision(
        index=message.step,
        action=action_of(message.action),
        magnitude=magnitude_of(message.magnitude),
        course=course_of(message.turn_deg, message.climb_m, message.altitude_m),
        description=message.description,
        finds=tuple(find.label for find in message.finds),
        raw_reply=message.raw_reply,
        # An agent of somebody else's may say only that its reply was invalid.
        invalid_replies=max(message.invalid_replies, 0 if message.valid else 1),
        tokens_in=message.prompt_tokens,
        tokens_out=message.completion_tokens,
        cost=message.cost,
        latency_s=message.latency,
        notes=tuple(message.notes),
    )


def _find_message(report: FindReport) -> Find:
    return Find(
        label=report.label,
        has_position=report.position is not None,
        position=point_message(report.position or (0.0, 0.0, 0.0)),
        sigma=-1.0 if report.sigma is None else report.sigma,
        sensor=report.sensor,
        direction=report.direction,
    )


def navigation_of(
    pose: Pose, *, stamp: float, sigma: Iterable[float], battery: float
) -> NavigationState:
    """Return the navigation state that a step's record needs (velocities are not part of it)."""
    sx, sy, sz = (float(v) for v in sigma)
    return NavigationState(
        stamp=stamp,
        pose=pose,
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(sx, sy, sz),
        depth=-pose.position[2],
        altitude=math.inf,
        battery=battery,
    )


def sighting_message(sighting: Sighting) -> PerceptibleTarget:
    """Return a sighting as a message."""
    return PerceptibleTarget(
        target=sighting.anchor,
        sensor=sighting.sensor,
        pixels=sighting.pixels,
        cells=sighting.cells,
    )


def collision_message(contact: Contact, epoch_ns: int = 0) -> Collision:
    """Return a collision as a message."""
    return Collision(
        header=header_of(contact.stamp, 'map', epoch_ns),
        instance=contact.instance,
        speed=contact.speed,
    )


def step_truth_message(
    truth: StepTruth,
    navigation: NavigationState,
    maneuver: ManeuverResult | None,
    *,
    epoch_ns: int = 0,
) -> StepTruthMessage:
    """Return what only the simulator knows about one step.

    Args:
        truth: Of the episode, in seconds since its start.
        navigation: The estimate at the end of the step.
        maneuver: None after a reset.
        epoch_ns: Stamp at which the episode's time is 0 [ns].
    """
    message = StepTruthMessage(
        header=header_of(truth.stamp, 'map', epoch_ns),
        step=truth.index,
        t_start=truth.stamp,
        t_end=truth.stamp,
        pose=pose_message(truth.pose),
        estimate=pose_message(navigation.pose),
        estimate_sigma=np.asarray(navigation.position_sigma, dtype=np.float64),
        trajectory=truth.trajectory.astype(np.float64).ravel().tolist(),
        perceptible=[sighting_message(s) for s in truth.sightings],
        collisions=[collision_message(c, epoch_ns) for c in truth.contacts],
        standoff_events=truth.standoff_events,
        standoff_seconds=truth.standoff_seconds,
        boundary_events=truth.boundary_events,
        stream_names=list(truth.image_hashes),
        stream_hashes=list(truth.image_hashes.values()),
        battery=navigation.battery,
    )
    if maneuver is not None:
        message.action = maneuver.action.value
        message.requested = maneuver.requested
        message.applied = maneuver.applied
        message.saturated = maneuver.saturated
        message.turn_deg = magnitude_field(maneuver.course.turn_deg)
        message.climb_m = magnitude_field(maneuver.course.climb_m)
        message.altitude_m = magnitude_field(maneuver.course.altitude_m)
        message.turned_deg = magnitude_field(maneuver.turned_deg)
        message.climbed_m = magnitude_field(maneuver.climbed_m)
        message.end_reason = maneuver.end_reason.value
        message.t_start = maneuver.t_start
        message.t_end = maneuver.t_end
    return message


def epoch_of(message: StepTruthMessage) -> int:
    """Return the stamp [ns] at which the time of a step's episode is 0."""
    return nanoseconds_of(message.header.stamp) - round(message.t_end * NANOSECONDS)


def step_truth_of(message: StepTruthMessage) -> StepTruth:
    """Return a message's truth of one step, in seconds of its episode."""
    epoch_ns = epoch_of(message)
    return StepTruth(
        index=message.step,
        stamp=message.t_end,
        pose=pose_of_message(message.pose),
        trajectory=np.asarray(message.trajectory, dtype=np.float64).reshape(-1, 8),
        sightings=tuple(
            Sighting(anchor=t.target, sensor=t.sensor, pixels=t.pixels, cells=t.cells)
            for t in message.perceptible
        ),
        contacts=tuple(
            Contact(stamp=seconds_of(c.header.stamp, epoch_ns), instance=c.instance, speed=c.speed)
            for c in message.collisions
        ),
        standoff_events=message.standoff_events,
        standoff_seconds=message.standoff_seconds,
        boundary_events=message.boundary_events,
        image_hashes=dict(zip(message.stream_names, message.stream_hashes)),
    )


def step_navigation_of(message: StepTruthMessage) -> NavigationState:
    """Return the navigation estimate at the end of a step."""
    return navigation_of(
        pose_of_message(message.estimate),
        stamp=message.t_end,
        sigma=message.estimate_sigma,
        battery=message.battery,
    )


def maneuver_of(message: StepTruthMessage) -> ManeuverResult | None:
    """Return the maneuver that led to a step; None for the observation after a reset."""
    if not message.action:
        return None
    action = action_of(message.action)
    turned = climbed = None
    if action is Action.GO:
        turned, climbed = magnitude_of(message.turned_deg), magnitude_of(message.climbed_m)
    return ManeuverResult(
        action=action,
        requested=message.requested,
        applied=message.applied,
        saturated=message.saturated,
        end_reason=EndReason(message.end_reason),
        t_start=message.t_start,
        t_end=message.t_end,
        course=course_of(message.turn_deg, message.climb_m, message.altitude_m),
        turned_deg=turned,
        climbed_m=climbed,
    )


def goal_polygon(message: TaskGoal) -> tuple[tuple[float, float], ...]:
    """Return the corners x, y [m] of a goal's operating area."""
    return tuple((float(p.x), float(p.y)) for p in message.bounds)


def finite_point(message: Point) -> tuple[float, float, float]:
    """Return a message's position.

    Raises:
        OceanGymError: A coordinate is not finite.
    """
    place = (message.x, message.y, message.z)
    if not all(math.isfinite(v) for v in place):
        raise OceanGymError(f'position {place} is not finite; give metres in odom')
    return place
