"""The bag that rosbag2 writes, against a stand-in with the signatures of rosbag2_py 0.26 (Jazzy)."""

from __future__ import annotations

from dataclasses import dataclass, field
import sys
from types import ModuleType

import pytest

pytest.importorskip('rclpy')

import yaml

from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.rosbag2_writer import bag_writer, METADATA_VERSION, qos_text
from oceangym_core.record.bag import BagWriter, read_messages

pytestmark = pytest.mark.ros


@dataclass
class StorageOptions:
    uri: str
    storage_id: str = ''
    max_bagfile_size: int = 0
    max_bagfile_duration: int = 0
    max_cache_size: int = 0
    storage_preset_profile: str = ''
    storage_config_uri: str = ''
    snapshot_mode: bool = False
    start_time_ns: int = -1
    end_time_ns: int = -1
    custom_data: dict[str, str] = field(default_factory=dict)


@dataclass
class TopicMetadata:
    id: int
    name: str
    type: str
    serialization_format: str
    offered_qos_profiles: list[object] = field(default_factory=list)
    type_description_hash: str = ''


class SequentialWriter:
    made: list[SequentialWriter] = []

    def __init__(self):
        self.made.append(self)
        self.topics = {}
        self.messages = []
        self.is_open = False

    def open(self, storage, converter):
        if storage.uri.endswith('refused'):
            raise RuntimeError('Bag directory already exists (refused)')
        self.storage, self.converter, self.is_open = storage, converter, True

    def create_topic(self, topic):
        self.topics[topic.name] = topic

    def write(self, topic, message, stamp):
        assert self.is_open
        if topic not in self.topics:
            raise RuntimeError(f"Failed to write on topic '{topic}'. Call create_topic() first.")
        assert type(message) is bytes and type(stamp) is int
        self.messages.append((topic, stamp, message))

    def close(self):
        self.is_open = False


def to_rclcpp_qos_vector(text, version):
    assert version == METADATA_VERSION
    return yaml.safe_load(text)


@pytest.fixture
def rosbag2(monkeypatch):
    module = ModuleType('rosbag2_py')
    for item in (StorageOptions, TopicMetadata, SequentialWriter, to_rclcpp_qos_vector):
        setattr(module, item.__name__, item)
    module.ConverterOptions = lambda given, wanted: (given, wanted)
    monkeypatch.setitem(sys.modules, 'rosbag2_py', module)
    monkeypatch.setattr(SequentialWriter, 'made', [])
    return module


def test_where_rosbag2_is_installed_it_writes(rosbag2, tmp_path):
    writer = bag_writer(tmp_path / 'bag', custom={'run_id': 'x', 'record': 'light'})
    writer.add_topic('/auv/task/goal', 'oceangym_msgs/msg/TaskGoal', latched=True, depth=1)
    writer.add_topic('/auv/imu', 'sensor_msgs/msg/Imu', depth=1000)
    writer.write('/auv/imu', 50_000_000, bytearray(b'abc'))
    writer.write('/auv/imu', 100_000_000, b'def')
    writer.flush()
    assert dict(writer.counts) == {'/auv/task/goal': 0, '/auv/imu': 2}
    (bag,) = SequentialWriter.made
    assert bag.is_open
    writer.close()
    assert not bag.is_open and not writer.failed

    assert (bag.storage.uri, bag.storage.storage_id) == (str(tmp_path / 'bag'), 'mcap')
    assert bag.storage.custom_data == {'run_id': 'x', 'record': 'light'}
    assert bag.converter == ('cdr', 'cdr')
    # Each message at the time that it is of, whatever the clock says when it comes.
    assert bag.messages == [('/auv/imu', 50_000_000, b'abc'), ('/auv/imu', 100_000_000, b'def')]
    goal, imu = bag.topics.values()
    assert (goal.type, goal.serialization_format) == ('oceangym_msgs/msg/TaskGoal', 'cdr')
    assert len({goal.id, imu.id}) == 2
    # Played back, what was latched is latched again.
    assert goal.offered_qos_profiles[0]['durability'] == 'transient_local'
    assert imu.offered_qos_profiles[0]['durability'] == 'volatile'
    depths = [topic.offered_qos_profiles[0]['depth'] for topic in (goal, imu)]
    assert depths == [1, 1000]


def test_what_rosbag2_refuses_is_a_message(rosbag2, tmp_path):
    with pytest.raises(OceanGymError, match=r'cannot make bag .*already exists'):
        bag_writer(tmp_path / 'refused', custom={'run_id': 'x'})
    writer = bag_writer(tmp_path / 'bag', custom={'run_id': 'x'})
    with pytest.raises(OceanGymError, match=r'cannot write bag .*Call create_topic'):
        writer.write('/nowhere', 0, b'')
    assert writer.failed


def test_where_it_is_not_we_write_ourselves(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, 'rosbag2_py', None)
    assert isinstance(bag_writer(tmp_path / 'bag', custom={'run_id': 'x'}), BagWriter)


def test_both_describe_qos_alike(monkeypatch, tmp_path):
    """What we hand to rosbag2 is what our own writer puts into metadata.yaml, by name."""
    monkeypatch.setitem(sys.modules, 'rosbag2_py', None)
    writer = bag_writer(tmp_path / 'bag', custom={'run_id': 'x'})
    writer.add_topic('/clock', 'rosgraph_msgs/msg/Clock', latched=True, depth=7)
    writer.write('/clock', 0, b'\x00\x01\x00\x00' + b'\x00' * 8)
    writer.close()
    assert len(list(read_messages(tmp_path / 'bag'))) == 1
    metadata = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())
    information = metadata['rosbag2_bagfile_information']
    assert information['version'] == METADATA_VERSION
    (topic,) = information['topics_with_message_count']
    profiles = topic['topic_metadata']['offered_qos_profiles']
    if isinstance(profiles, str):
        profiles = yaml.safe_load(profiles)
    assert profiles == yaml.safe_load(qos_text(latched=True, depth=7))
