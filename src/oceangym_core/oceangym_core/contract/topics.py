"""The topics of the contract: one table that nodes, the recorder, tests and documentation read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.errors import unknown_name


class Delivery(str, Enum):
    """How a topic is delivered; ``nodes/qos.py`` turns each into a QoS profile."""

    LATCHED = 'latched'  # the last one is kept for late joiners
    FROZEN = 'frozen'  # images of an instant: kept for late joiners, one deep
    SAMPLED = 'sampled'  # reliable stream, deep enough for one maneuver at full speed
    NAVIGATION = 'navigation'  # the same; the last one is published again for a late joiner
    EVENT = 'event'  # reliable, none may be lost, kept for late joiners
    COMMAND = 'command'  # to the backend; only the newest counts
    CLOCK = 'clock'


class Source(str, Enum):
    """Who publishes a topic."""

    BACKEND = 'backend'
    TASKS = 'tasks'
    AGENT = 'agent'
    RECORDER = 'recorder'
    OPERATOR = 'operator'


class Record(str, Enum):
    """From which setting of ``record:=`` on a topic goes into the bag."""

    LIGHT = 'light'
    FULL = 'full'
    NEVER = 'never'


@dataclass(frozen=True, kw_only=True)
class Stream:
    """One topic.

    Attributes:
        name: Relative to the vehicle's namespace unless it begins with a slash.
        type: Message type, ``package/msg/Name``.
        delivery: How it is delivered.
        source: Who publishes it.
        record: From which recording level on it is in the bag.
        direction: The sensor's direction, empty for other topics.
    """

    name: str
    type: str
    delivery: Delivery
    source: Source = Source.BACKEND
    record: Record = Record.LIGHT
    direction: str = ''

    @property
    def is_truth(self) -> bool:
        """Whether only scoring, labels and people may read it."""
        return self.name.startswith('truth/')

    def absolute(self, namespace: str) -> str:
        """Return the full topic name under a vehicle's namespace."""
        return self.name if self.name.startswith('/') else f'/{namespace.strip("/")}/{self.name}'


# Written by the recorder in place of the float image: 8-bit decibels, see oceangym_core.record.decibels.
POLAR_DB = 'polar_db'


def camera_streams(direction: str) -> tuple[Stream, ...]:
    """Return the topics of one camera."""

    def stream(name: str, kind: str, record: Record) -> Stream:
        return Stream(
            name=f'camera/{direction}/{name}',
            type=f'sensor_msgs/msg/{kind}',
            delivery=Delivery.FROZEN,
            record=record,
            direction=direction,
        )

    return (
        stream('image_raw', 'Image', Record.FULL),
        stream('image_raw/compressed', 'CompressedImage', Record.LIGHT),
        stream('camera_info', 'CameraInfo', Record.LIGHT),
    )


def sonar_streams(direction: str) -> tuple[Stream, ...]:
    """Return the topics of one sonar."""

    def stream(name: str, kind: str, delivery: Delivery, record: Record) -> Stream:
        return Stream(
            name=f'sonar/{direction}/{name}',
            type=kind,
            delivery=delivery,
            record=record,
            direction=direction,
        )

    return (
        stream('polar', 'sensor_msgs/msg/Image', Delivery.FROZEN, Record.FULL),
        stream('fan', 'sensor_msgs/msg/Image', Delivery.FROZEN, Record.LIGHT),
        stream('info', 'oceangym_msgs/msg/SonarInfo', Delivery.LATCHED, Record.LIGHT),
    )


def label_streams(direction: str) -> tuple[Stream, ...]:
    """Return a camera's ground truth, which a backend publishes only when asked to.

    Boxes are JSON: ``{stamp, frame_id, boxes: [...]}`` (`oceangym_sim.optics.labels.Box`).
    """

    def stream(name: str, kind: str) -> Stream:
        return Stream(
            name=f'truth/camera/{direction}/{name}',
            type=kind,
            delivery=Delivery.FROZEN,
            record=Record.FULL,
            direction=direction,
        )

    image = 'sensor_msgs/msg/Image'
    return (
        stream('depth', image),
        stream('segmentation', image),
        stream('instance', image),
        stream('normal', image),
        stream('boxes', 'std_msgs/msg/String'),
    )


# What the numbers in those images stand for, as JSON: ``{classes: [...], instances: [...]}``.
LABEL_CLASSES = Stream(
    name='truth/camera/classes', type='std_msgs/msg/String', delivery=Delivery.LATCHED
)


def _backend(name: str, kind: str, delivery: Delivery) -> Stream:
    return Stream(name=name, type=kind, delivery=delivery)


VEHICLE_STREAMS: tuple[Stream, ...] = (
    _backend('odometry', 'nav_msgs/msg/Odometry', Delivery.NAVIGATION),
    _backend('imu', 'sensor_msgs/msg/Imu', Delivery.SAMPLED),
    _backend('pressure', 'sensor_msgs/msg/FluidPressure', Delivery.SAMPLED),
    _backend('dvl', 'geometry_msgs/msg/TwistWithCovarianceStamped', Delivery.SAMPLED),
    _backend('altitude', 'sensor_msgs/msg/Range', Delivery.NAVIGATION),
    _backend('battery', 'sensor_msgs/msg/BatteryState', Delivery.NAVIGATION),
    _backend('thrusters', 'sensor_msgs/msg/JointState', Delivery.SAMPLED),
    _backend('capabilities', 'oceangym_msgs/msg/Capabilities', Delivery.LATCHED),
    _backend('robot_description', 'std_msgs/msg/String', Delivery.LATCHED),
    _backend('bounds', 'visualization_msgs/msg/Marker', Delivery.LATCHED),
    _backend('trajectory', 'nav_msgs/msg/Path', Delivery.LATCHED),
    _backend('/diagnostics', 'diagnostic_msgs/msg/DiagnosticArray', Delivery.SAMPLED),
    _backend('tf', 'tf2_msgs/msg/TFMessage', Delivery.SAMPLED),
    _backend('tf_static', 'tf2_msgs/msg/TFMessage', Delivery.LATCHED),
    _backend('/clock', 'rosgraph_msgs/msg/Clock', Delivery.CLOCK),
)

TRUTH_STREAMS: tuple[Stream, ...] = (
    _backend('truth/odometry', 'nav_msgs/msg/Odometry', Delivery.NAVIGATION),
    _backend('truth/collisions', 'oceangym_msgs/msg/Collision', Delivery.EVENT),
    _backend('truth/markers', 'visualization_msgs/msg/MarkerArray', Delivery.LATCHED),
    _backend('truth/perceptible', 'oceangym_msgs/msg/PerceptibleTargets', Delivery.EVENT),
    _backend('truth/step', 'oceangym_msgs/msg/StepTruth', Delivery.EVENT),
    _backend('truth/tf', 'tf2_msgs/msg/TFMessage', Delivery.LATCHED),
)

TASK_STREAMS: tuple[Stream, ...] = tuple(
    Stream(name=name, type=kind, delivery=Delivery.LATCHED, source=Source.TASKS)
    for name, kind in (
        ('task/goal', 'oceangym_msgs/msg/TaskGoal'),
        ('task/state', 'oceangym_msgs/msg/TaskState'),
        ('task/score', 'oceangym_msgs/msg/TaskScore'),
        ('task/text', 'visualization_msgs/msg/Marker'),  # the same for people, in rviz
    )
)

DECISION = Stream(
    name='agent/decision',
    type='oceangym_msgs/msg/Decision',
    delivery=Delivery.EVENT,
    source=Source.AGENT,
)

RECORD_READY = Stream(
    name='record/ready',
    type='std_msgs/msg/Bool',
    delivery=Delivery.LATCHED,
    source=Source.RECORDER,
    record=Record.NEVER,
)

# How far the recorder has come: in lockstep the next decision waits for it, so that a slow disk
# delays an episode instead of losing samples.
RECORD_PROGRESS = Stream(
    name='record/progress',
    type='std_msgs/msg/Header',
    delivery=Delivery.LATCHED,
    source=Source.RECORDER,
    record=Record.NEVER,
)

COMMANDS: tuple[Stream, ...] = tuple(
    Stream(name=name, type=kind, delivery=Delivery.COMMAND, source=Source.OPERATOR)
    for name, kind in (
        ('cmd_vel', 'geometry_msgs/msg/TwistStamped'),
        ('lights', 'std_msgs/msg/Float32'),
    )
)

CONTRACT: tuple[Stream, ...] = (
    *(s for direction in DIRECTIONS for s in camera_streams(direction)),
    *(s for direction in DIRECTIONS for s in sonar_streams(direction)),
    *VEHICLE_STREAMS,
    *TRUTH_STREAMS,
    *TASK_STREAMS,
    DECISION,
    RECORD_READY,
    RECORD_PROGRESS,
    *COMMANDS,
)
_BY_NAME = {stream.name: stream for stream in CONTRACT}


def stream(name: str) -> Stream:
    """Return one topic of the contract by its relative name.

    Raises:
        OceanGymError: There is none of this name.
    """
    if name not in _BY_NAME:
        raise unknown_name('topic', name, _BY_NAME)
    return _BY_NAME[name]
