"""Bags: readable by two independent readers, field for field as rosbag2 version 9, recoverable."""

from __future__ import annotations

from pathlib import Path

from mcap.reader import make_reader
import numpy as np
import pytest
from rosbags.rosbag2 import Reader
import yaml

from oceangym_core.contract.topics import CONTRACT
from oceangym_core.errors import OceanGymError
from oceangym_core.record.bag import (
    BagWriter,
    read_messages,
    read_unclosed,
    recover_bag,
    typestore,
)
from oceangym_core.record.decibels import from_decibel_bytes, to_decibel_bytes


def _float32(value: float) -> bytes:
    store = typestore()
    message = store.types['std_msgs/msg/Float32'](data=value)
    return bytes(store.serialize_cdr(message, 'std_msgs/msg/Float32'))


def _write(directory, *, count: int = 5, close: bool = True) -> BagWriter:
    writer = BagWriter(directory, custom={'run_id': 'x'})
    writer.add_topic('/auv/lights', 'std_msgs/msg/Float32', latched=True, depth=1)
    writer.add_topic('/auv/blob', 'std_msgs/msg/Float32')
    for i in range(count):
        writer.write('/auv/lights', 1_000_000_000 + i, _float32(i / 10))
    if close:
        writer.close()
    return writer


def test_every_type_of_the_contract_is_known():
    known = typestore().fielddefs
    assert [s.name for s in CONTRACT if s.type not in known] == []


def test_both_readers_see_the_same_messages(tmp_path):
    _write(tmp_path / 'bag')
    with Reader(tmp_path / 'bag') as reader:
        assert reader.message_count == 5
        assert {c.topic: c.msgcount for c in reader.connections} == {
            '/auv/lights': 5,
            '/auv/blob': 0,
        }
    with (tmp_path / 'bag' / 'bag.mcap').open('rb') as stream:
        messages = list(make_reader(stream).iter_messages())
    assert [m.log_time for _, _, m in messages] == [1_000_000_000 + i for i in range(5)]
    values = [m.data for _, _, m in read_messages(tmp_path / 'bag', ['/auv/lights'])]
    assert values == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4])
    assert list(read_messages(tmp_path / 'bag', ['/auv/not_in_this_bag'])) == []


def test_metadata_has_the_fields_of_version_9(tmp_path):
    _write(tmp_path / 'bag')
    info = yaml.safe_load((tmp_path / 'bag' / 'metadata.yaml').read_text())
    info = info['rosbag2_bagfile_information']
    assert set(info) == {
        'version',
        'storage_identifier',
        'duration',
        'starting_time',
        'message_count',
        'topics_with_message_count',
        'compression_format',
        'compression_mode',
        'relative_file_paths',
        'files',
        'custom_data',
        'ros_distro',
    }
    assert (info['version'], info['storage_identifier']) == (9, 'mcap')
    assert info['relative_file_paths'] == ['bag.mcap']
    assert info['duration'] == {'nanoseconds': 4}
    assert info['starting_time'] == {'nanoseconds_since_epoch': 1_000_000_000}
    assert info['custom_data'] == {'run_id': 'x'}
    topic = info['topics_with_message_count'][0]
    assert topic['message_count'] == 5
    meta = topic['topic_metadata']
    assert set(meta) == {
        'name',
        'type',
        'serialization_format',
        'offered_qos_profiles',
        'type_description_hash',
    }
    assert meta['type_description_hash'].startswith('RIHS01_')
    assert meta['offered_qos_profiles'][0]['durability'] == 'transient_local'


def test_bag_of_a_killed_recorder_is_recovered(tmp_path):
    # 3 MB of messages: the first two chunks of 1 MiB are on disk, the third is not.
    writer = BagWriter(tmp_path / 'bag', custom={'run_id': 'x'})
    writer.add_topic('/auv/text', 'std_msgs/msg/String', latched=True)
    rng = np.random.default_rng(1)
    store = typestore()
    for i in range(300):
        text = rng.bytes(5000).hex()
        message = store.types['std_msgs/msg/String'](data=text)
        writer.write('/auv/text', i, bytes(store.serialize_cdr(message, 'std_msgs/msg/String')))
    writer._writer.storage.bio.flush()
    with (tmp_path / 'bag' / 'bag.mcap').open('ab') as stream:
        stream.write(b'\x06\xff\xff\x00\x00\x00\x00\x00\x00half a chunk')

    recovery = recover_bag(tmp_path / 'bag')

    assert recovery is not None
    assert recovery.was_broken
    assert recovery.messages > 100
    stamps = [stamp for _, stamp, _ in read_messages(tmp_path / 'bag')]
    assert stamps == list(range(recovery.messages))
    with Reader(tmp_path / 'bag') as reader:
        qos = reader.connections[0].ext.offered_qos_profiles[0]
    assert qos.durability.name == 'TRANSIENT_LOCAL'
    assert recover_bag(tmp_path / 'bag') is not None
    assert not (tmp_path / 'bag.broken').exists()


def test_what_was_flushed_is_on_disk_when_the_recorder_is_killed(tmp_path):
    writer = _write(tmp_path / 'bag', count=5, close=False)
    writer.flush()
    writer.write('/auv/lights', 2_000_000_000, _float32(0.9))
    found = list(read_unclosed(tmp_path / 'bag', ['/auv/lights']))
    assert [stamp for _, stamp, _ in found] == [1_000_000_000 + i for i in range(5)]
    # With nothing new, nothing is written.
    writer.flush()
    size = (tmp_path / 'bag' / 'bag.mcap').stat().st_size
    writer.flush()
    assert (tmp_path / 'bag' / 'bag.mcap').stat().st_size == size
    writer.close()
    assert len(list(read_messages(tmp_path / 'bag'))) == 6


def test_a_full_disk_is_a_message_and_keeps_what_was_written(tmp_path):
    writer = _write(tmp_path / 'bag', close=False)
    writer.flush()
    on_disk = writer._writer.storage.bio
    with Path('/dev/full').open('wb') as full:
        writer._writer.storage.bio = full
        writer.write('/auv/lights', 2_000_000_000, _float32(0.5))
        with pytest.raises(OceanGymError, match=r'No space left on device\. .*make room'):
            writer.flush()
    on_disk.close()
    assert writer.failed
    writer.close()
    assert not (tmp_path / 'bag' / 'metadata.yaml').exists()
    assert len(list(read_unclosed(tmp_path / 'bag', ['/auv/lights']))) == 5


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / 'file').touch()
    with pytest.raises(OceanGymError, match=r'cannot make bag .*file/bag: Not a directory'):
        BagWriter(tmp_path / 'file' / 'bag', custom={'a': 'b'})


def test_a_bag_is_left_as_it_was_where_there_is_no_room_for_its_recovery(tmp_path, monkeypatch):
    _write(tmp_path / 'bag', close=False).flush()
    before = (tmp_path / 'bag' / 'bag.mcap').read_bytes()

    def full(self) -> None:
        raise OceanGymError('No space left on device')

    with monkeypatch.context() as patch, pytest.raises(OceanGymError, match='No space'):
        patch.setattr(BagWriter, 'close', full)
        recover_bag(tmp_path / 'bag')
    assert (tmp_path / 'bag' / 'bag.mcap').read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ['bag']
    recovery = recover_bag(tmp_path / 'bag')
    assert recovery is not None
    assert recovery.messages == 5


def test_recovery_of_nothing_and_of_a_good_bag(tmp_path):
    assert recover_bag(tmp_path / 'none') is None
    _write(tmp_path / 'bag')
    recovery = recover_bag(tmp_path / 'bag')
    assert recovery is not None
    assert not recovery.was_broken


def test_refusals(tmp_path):
    _write(tmp_path / 'bag')
    with pytest.raises(OceanGymError, match='exists already'):
        BagWriter(tmp_path / 'bag', custom={'a': 'b'})
    with pytest.raises(OceanGymError, match='custom'):
        BagWriter(tmp_path / 'other', custom={})
    writer = BagWriter(tmp_path / 'other', custom={'a': 'b'})
    with pytest.raises(OceanGymError, match='Did you mean'):
        writer.add_topic('/x', 'std_msgs/msg/Flaot32')


def test_decibel_bytes_keep_half_a_decibel():
    intensity = np.array([0.0, np.nan, 1e-6, 2e-6, 0.001, 0.5, 1.0, 2.0], np.float32)
    counts = to_decibel_bytes(intensity)
    assert counts.tolist()[:3] == [0, 0, 0]
    assert counts[6] == counts[7] == 255
    # 0.001 is -30 dB: 255 - 30 / 0.5
    assert counts[4] == 195
    back = from_decibel_bytes(counts)
    assert back[0] == 0.0
    error_db = 10 * np.log10(back[3:7] / np.minimum(intensity[3:7], 1.0))
    assert np.abs(error_db).max() <= 0.251
