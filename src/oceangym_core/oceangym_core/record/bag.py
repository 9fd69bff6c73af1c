"""Writes MCAP bags that rosbag2 plays (metadata version 9), and closes those of a killed recorder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache
import os
from pathlib import Path
import shutil
import struct

from mcap.records import Channel, Message, Schema
from mcap.stream_reader import StreamReader
from rosbags.interfaces import (
    Connection,
    Qos,
    QosDurability,
    QosHistory,
    QosLiveliness,
    QosReliability,
    QosTime,
)
from rosbags.rosbag2 import CompressionMode, Reader, StoragePlugin, Writer
from rosbags.rosbag2.enums import CompressionFormat
from rosbags.rosbag2.storage_mcap import McapWriter
from rosbags.typesys import get_types_from_msg, get_typestore, Stores
from rosbags.typesys.store import Typestore

from oceangym_core.errors import OceanGymError, unknown_name

MESSAGE_PACKAGE = 'oceangym_msgs'
_BROKEN_SUFFIX = '.broken'
_FOREVER = QosTime(9223372036, 854775807)
_CLOSE_HINT = 'To close the bag later: ros2 bag reindex, or mcap recover'


def message_directory() -> Path:
    """Return the folder of our .msg files: installed, else the source tree's.

    Raises:
        OceanGymError: Neither exists.
    """
    candidates = [
        Path(prefix) / 'share' / MESSAGE_PACKAGE / 'msg'
        for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
        if prefix
    ]
    candidates += [parent / MESSAGE_PACKAGE / 'msg' for parent in Path(__file__).resolve().parents]
    for candidate in candidates:
        if candidate.is_dir():
            return candidate
    raise OceanGymError(
        f'cannot find the message definitions of {MESSAGE_PACKAGE}. Source the workspace '
        '(scripts/oceangym shell) or build it (scripts/oceangym setup).'
    )


@lru_cache(maxsize=1)
def typestore() -> Typestore:
    """Return Jazzy's message types and ours."""
    store = get_typestore(Stores.ROS2_JAZZY)
    types = {}
    for path in sorted(message_directory().glob('*.msg')):
        name = f'{MESSAGE_PACKAGE}/msg/{path.stem}'
        types.update(get_types_from_msg(path.read_text(encoding='utf-8'), name))
    store.register(types)
    return store


def _offered_qos(*, latched: bool, depth: int) -> Qos:
    return Qos(
        history=QosHistory.KEEP_LAST,
        depth=depth,
        reliability=QosReliability.RELIABLE,
        durability=QosDurability.TRANSIENT_LOCAL if latched else QosDurability.VOLATILE,
        deadline=_FOREVER,
        lifespan=_FOREVER,
        liveliness=QosLiveliness.AUTOMATIC,
        liveliness_lease_duration=_FOREVER,
        avoid_ros_namespace_conventions=False,
    )


class BagWriter:
    """One bag directory, written message by message.

    ``metadata.yaml`` is written last and renamed into place, so a directory without it is a bag
    whose recorder was killed; `recover_bag` closes it.
    """

    def __init__(self, directory: Path, *, custom: Mapping[str, str]) -> None:
        """Create the bag.

        Args:
            directory: Must not exist.
            custom: Notes kept in the metadata, e.g. the run's id. At least one: rosbag2 reads an
                empty mapping as null and refuses it.

        Raises:
            OceanGymError: The directory exists or cannot be made, or `custom` is empty.
        """
        self._directory = directory
        self.failed = False
        if directory.exists():
            raise OceanGymError(f'bag {directory} exists already; remove it or choose another')
        if not custom:
            raise OceanGymError('a bag needs at least one custom note in its metadata')
        self._writer = Writer(directory, version=9, storage_plugin=StoragePlugin.MCAP)
        self._writer.set_compression(CompressionMode.STORAGE, CompressionFormat.ZSTD)
        for key, value in custom.items():
            self._writer.set_custom_data(key, value)
        self._connections: dict[str, Connection] = {}
        with self._on_disk('make'):
            self._writer.open()

    def add_topic(
        self, topic: str, type_name: str, *, latched: bool = False, depth: int = 10
    ) -> None:
        """Register a topic before its first message.

        Args:
            topic: Absolute name.
            type_name: ``package/msg/Name``.
            latched: Whether its publisher is TRANSIENT_LOCAL; playing it back then latches, too.
            depth: Of its publisher.

        Raises:
            OceanGymError: The type is unknown.
        """
        store = typestore()
        if type_name not in store.fielddefs:
            raise unknown_name('message type', type_name, store.fielddefs)
        self._connections[topic] = self._writer.add_connection(
            topic,
            type_name,
            typestore=store,
            offered_qos_profiles=(_offered_qos(latched=latched, depth=depth),),
        )

    def write(self, topic: str, stamp_ns: int, data: bytes) -> None:
        """Append one message in CDR at its time [ns].

        Raises:
            OceanGymError: The disk does not take it. The bag has then `failed`.
        """
        with self._on_disk('write'):
            self._writer.write(self._connections[topic], stamp_ns, data)

    def flush(self) -> None:
        """Put on disk what was written so far: more than this is not lost if the process is killed.

        Raises:
            OceanGymError: The disk does not take it.
        """
        storage = self._writer.storage
        if isinstance(storage, McapWriter) and storage.chunk.msgs:
            with self._on_disk('write'):
                storage.close_chunk()
                storage.bio.flush()

    @property
    def counts(self) -> dict[str, int]:
        """Messages written so far, by topic."""
        return {topic: self._writer.counts[c.id] for topic, c in self._connections.items()}

    def close(self) -> None:
        """Write the index and the metadata; of a bag that has `failed`, keep what there is.

        Raises:
            OceanGymError: The disk does not take them.
        """
        if not self.failed:
            with self._on_disk('close'):
                self._writer.close()

    @contextmanager
    def _on_disk(self, action: str) -> Iterator[None]:
        """Turn what the operating system says into a message, and leave the file as it is."""
        try:
            yield
        except OSError as error:
            self.failed = True
            with suppress(OSError):
                self._writer.abort()
            kept = '' if action == 'make' else f'; what was written before is kept. {_CLOSE_HINT}'
            raise OceanGymError(
                f'cannot {action} bag {self._directory}: {error.strerror}. '
                f'Give another place, make room, or record less (record:=light or false){kept}'
            ) from error


@dataclass(frozen=True)
class Recovery:
    """What became of a bag: whether it `was_broken`, and how many messages it holds."""

    was_broken: bool
    messages: int


def recover_bag(directory: Path) -> Recovery | None:
    """Close the bag of a killed recorder: keep every message that reached the disk.

    Safe to call on a good bag, and again after being interrupted itself.

    Returns:
        What was found; None if there is no bag.

    Raises:
        OceanGymError: There is no room for the closed bag; the broken one is left as it was.
    """
    broken = directory.with_name(directory.name + _BROKEN_SUFFIX)
    if not broken.exists():
        if not directory.is_dir():
            return None
        if (directory / 'metadata.yaml').is_file():
            return Recovery(was_broken=False, messages=-1)
        directory.rename(broken)
    elif directory.exists():
        shutil.rmtree(directory)
    try:
        count = _copy_readable(broken, directory)
    except OceanGymError:
        # No room for the copy: the bag stays what it was, to be recovered another time.
        shutil.rmtree(directory, ignore_errors=True)
        broken.rename(directory)
        raise
    shutil.rmtree(broken)
    return Recovery(was_broken=True, messages=count)


def _copy_readable(broken: Path, directory: Path) -> int:
    """Write what can be read of a broken bag into a new one; return the number of messages."""
    count = 0
    writer = BagWriter(directory, custom={'recovered': 'true'})
    topics: set[str] = set()
    for schema, channel, message in _readable(next(iter(broken.glob('*.mcap')), None)):
        if channel.topic not in topics:
            latched = 'transient_local' in channel.metadata.get('offered_qos_profiles', '')
            writer.add_topic(channel.topic, schema.name, latched=latched)
            topics.add(channel.topic)
        writer.write(channel.topic, message.log_time, message.data)
        count += 1
    writer.close()
    return count


def _readable(path: Path | None) -> Iterator[tuple[Schema, Channel, Message]]:
    """Yield the messages of an MCAP file up to where it breaks off."""
    if path is None:
        return
    schemas: dict[int, Schema] = {}
    channels: dict[int, Channel] = {}
    with path.open('rb') as stream:
        try:
            for record in StreamReader(stream).records:
                if isinstance(record, Schema):
                    schemas[record.id] = record
                elif isinstance(record, Channel):
                    channels[record.id] = record
                elif isinstance(record, Message):
                    channel = channels[record.channel_id]
                    yield schemas[channel.schema_id], channel, record
        except Exception:
            # The file ends in the middle of a record, or is damaged from here on: all that came
            # before is good. Reader and decompressors have no common class for what they raise.
            return


def read_messages(
    directory: Path, topics: Sequence[str] = ()
) -> Iterator[tuple[str, int, object]]:
    """Yield (topic, time [ns], deserialized message) of a bag in order of time.

    Args:
        directory: Of the bag.
        topics: Only these; all when empty.

    Raises:
        OceanGymError: The bag was not closed or cannot be read.
    """
    store = typestore()
    try:
        with Reader(directory) as reader:
            connections = [c for c in reader.connections if not topics or c.topic in topics]
            # To the reader, no connections mean all of them.
            if not connections:
                return
            for connection, stamp, data in reader.messages(connections):
                yield (
                    connection.topic,
                    stamp,
                    store.deserialize_cdr(data, connection.msgtype),
                )
    except Exception as error:
        # The libraries have no common class for what a damaged file makes them raise.
        reason = ' '.join(str(error).split())[:300] or type(error).__name__
        raise OceanGymError(f'{directory}: not a readable bag: {reason}') from error


def read_unclosed(directory: Path, topics: Sequence[str]) -> Iterator[tuple[str, int, object]]:
    """Yield (topic, time [ns], deserialized message) of a bag that is not closed, as far as it goes.

    The bag stays as it is: its recorder may still be at work. In the order in which they were written.
    """
    store = typestore()
    wanted = set(topics)
    for schema, channel, message in _readable(next(iter(directory.glob('*.mcap')), None)):
        if channel.topic not in wanted:
            continue
        try:
            content = store.deserialize_cdr(message.data, schema.name)
        except Exception:
            # Damaged, like what `_readable` cannot read.
            return
        yield channel.topic, message.log_time, content


def stamp_in_cdr(type_name: str, data: bytes) -> int | None:
    """Return the time [ns] that a serialized message carries; None where its type has none.

    Reads the first stamp in place: a header that comes first, a clock, or the first transform's.
    """
    offset = _stamp_offset(type_name)
    if offset is None or len(data) < offset + 8:
        return None
    little = data[1] == 1
    sec, nanosec = struct.unpack_from('<iI' if little else '>iI', data, offset)
    return int(sec) * 1_000_000_000 + int(nanosec)


@cache
def _stamp_offset(type_name: str) -> int | None:
    """Return where in CDR a type's first stamp lies: after 4 bytes that name the encoding."""
    if type_name == 'tf2_msgs/msg/TFMessage':
        return 8
    _, fields = typestore().fielddefs[type_name]
    first = repr(fields[0])
    stamped = 'std_msgs/msg/Header' in first or 'builtin_interfaces/msg/Time' in first
    return 4 if stamped else None
