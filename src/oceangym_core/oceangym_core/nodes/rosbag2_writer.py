"""Writes a bag with rosbag2 itself where ROS 2 came with it; elsewhere `oceangym_core.record.bag` does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from oceangym_core.errors import OceanGymError
from oceangym_core.record.bag import BagWriter

STORAGE = 'mcap'
# Of rosbag2_storage_mcap: chunks of 768 KiB, compressed at the speed of the disk.
PRESET = 'zstd_fast'
# Version of metadata.yaml whose names of QoS policies are written below.
METADATA_VERSION = 9
_FOREVER = {'sec': 9223372036, 'nsec': 854775807}


class Writer(Protocol):
    """What a recorder needs of a bag that it writes."""

    @property
    def failed(self) -> bool:
        """Whether the disk has refused something."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Messages written so far, by topic."""

    def add_topic(
        self, topic: str, type_name: str, *, latched: bool = False, depth: int = 10
    ) -> None:
        """Register a topic before its first message."""

    def write(self, topic: str, stamp_ns: int, data: bytes) -> None:
        """Append one message in CDR at its time [ns]."""

    def flush(self) -> None:
        """Put on disk what was written so far."""

    def close(self) -> None:
        """Write the index and the metadata."""


class Rosbag2Writer:
    """One bag directory, written by ``rosbag2_py.SequentialWriter``.

    Stamps are ours: in lockstep ``ros2 bag record --use-sim-time`` would stamp a whole maneuver with
    whatever the clock says when its messages come through, and here each has its own time.
    """

    failed = False

    def __init__(
        self, rosbag2: ModuleType | Any, directory: Path, *, custom: Mapping[str, str]
    ) -> None:
        """Create the bag.

        Args:
            rosbag2: The module ``rosbag2_py``.
            directory: Must not exist.
            custom: Notes kept in the metadata.

        Raises:
            OceanGymError: rosbag2 refuses; most often the directory exists.
        """
        self._rosbag2 = rosbag2
        self._directory = directory
        self._counts: Counter[str] = Counter()
        self._writer = rosbag2.SequentialWriter()
        storage = rosbag2.StorageOptions(
            uri=str(directory),
            storage_id=STORAGE,
            storage_preset_profile=PRESET,
            custom_data=dict(custom),
        )
        with self._told('make'):
            self._writer.open(storage, rosbag2.ConverterOptions('cdr', 'cdr'))

    def add_topic(
        self, topic: str, type_name: str, *, latched: bool = False, depth: int = 10
    ) -> None:
        """Register a topic; see `oceangym_core.record.bag.BagWriter.add_topic`."""
        offered = self._rosbag2.to_rclcpp_qos_vector(
            qos_text(latched=latched, depth=depth), METADATA_VERSION
        )
        metadata = self._rosbag2.TopicMetadata(
            id=len(self._counts),
            name=topic,
            type=type_name,
            serialization_format='cdr',
            offered_qos_profiles=offered,
        )
        with self._told('make'):
            self._writer.create_topic(metadata)
        self._counts[topic] = 0

    def write(self, topic: str, stamp_ns: int, data: bytes) -> None:
        """Append one message in CDR at its time [ns].

        Raises:
            OceanGymError: rosbag2 refuses it.
        """
        with self._told('write'):
            self._writer.write(topic, bytes(data), stamp_ns)
        self._counts[topic] += 1

    def flush(self) -> None:
        """Do nothing: rosbag2 writes each full chunk, and has no way to be asked for more."""

    @property
    def counts(self) -> Mapping[str, int]:
        """Messages written so far, by topic."""
        return self._counts

    def close(self) -> None:
        """Write the index and the metadata."""
        with self._told('close'):
            self._writer.close()

    @contextmanager
    def _told(self, action: str) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            self.failed = True
            raise OceanGymError(
                f'rosbag2 cannot {action} bag {self._directory}: {error}. Give another place, '
                'make room, or record less (record:=light or false)'
            ) from error


def qos_text(*, latched: bool, depth: int) -> str:
    """Return one offered QoS profile as metadata.yaml has it; JSON is YAML."""
    profile = {
        'history': 'keep_last',
        'depth': depth,
        'reliability': 'reliable',
        'durability': 'transient_local' if latched else 'volatile',
        'deadline': _FOREVER,
        'lifespan': _FOREVER,
        'liveliness': 'automatic',
        'liveliness_lease_duration': _FOREVER,
        'avoid_ros_namespace_conventions': False,
    }
    return json.dumps([profile])


def rosbag2_module() -> ModuleType | None:
    """Return ``rosbag2_py`` where it is installed."""
    try:
        return importlib.import_module('rosbag2_py')
    except ImportError:
        return None


def bag_writer(directory: Path, *, custom: Mapping[str, str]) -> Writer:
    """Create a bag: with rosbag2 where it is installed, as on native ROS, else without.

    Args:
        directory: Must not exist.
        custom: Notes kept in the metadata, at least one.

    Raises:
        OceanGymError: It cannot be made.
    """
    rosbag2 = rosbag2_module()
    if rosbag2 is None:
        return BagWriter(directory, custom=custom)
    return Rosbag2Writer(rosbag2, directory, custom=custom)
