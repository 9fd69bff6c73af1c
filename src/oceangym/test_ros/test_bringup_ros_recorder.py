"""What becomes of a recording when its recorder is ended, killed, or its disk takes no more."""

from __future__ import annotations

import itertools
from pathlib import Path
import resource
import signal

import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.record.bag import read_messages, read_unclosed, recover_bag

pytestmark = pytest.mark.ros

# Small messages only, many of them.
RTF = 20.0
OPTIONS = RunOptions(agent='none', mode='realtime', rtf=RTF, sensors='none', record='light')
IMU_PERIOD_NS = 20_000_000
# The first sample of the first episode, whose time begins at a whole second above zero.
FIRST_NS = 1_000_000_000 + IMU_PERIOD_NS


@pytest.fixture
def recording(tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe):
    """A simulator in realtime whose every message is recorded."""
    from geometry_msgs.msg import Point, Pose, Quaternion
    from oceangym_msgs.srv import Reset

    specs = make_specs(OPTIONS, tmp_path, small_world)
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('operator')
    try:
        nodes.start(specs['simulator'])
        nodes.start(specs['recorder'])
        probe.listen('record/ready')
        ready = probe.heard['record/ready']
        probe.until(lambda: ready and ready[-1].data)
        start = Pose(position=Point(x=144.0, y=-114.0, z=-60.0), orientation=Quaternion(w=1.0))
        request = Reset.Request(start=start, t_max=1e5, t_interval=30.0, profile='standard')
        assert probe.call(Reset, 'sim/reset', request).error_code == 0
        yield nodes, probe
    finally:
        nodes.close()
        probe.close()


def file_size(directory: Path) -> int:
    return (directory / 'bag' / 'bag.mcap').stat().st_size


def test_a_killed_recorder_leaves_all_up_to_its_last_chunk(tmp_path, recording):
    nodes, probe = recording
    probe.until(lambda: file_size(tmp_path) > 300_000)
    nodes.running['recorder'].kill()
    nodes.running['recorder'].wait()

    # As it lies there, and closed.
    imu = [stamp for _, stamp, _ in read_unclosed(tmp_path / 'bag', ['/auv/imu'])]
    assert len(imu) > 500
    assert imu[0] == FIRST_NS
    assert {b - a for a, b in itertools.pairwise(imu)} == {IMU_PERIOD_NS}
    recovery = recover_bag(tmp_path / 'bag')
    assert recovery is not None
    assert recovery.was_broken
    assert [stamp for _, stamp, _ in read_messages(tmp_path / 'bag', ['/auv/imu'])] == imu


def test_a_disk_that_takes_no_more_ends_the_recorder_with_a_message(tmp_path, recording):
    nodes, probe = recording
    recorder = nodes.running['recorder']
    probe.until(lambda: file_size(tmp_path) > 100_000)
    limit = file_size(tmp_path) + 100_000
    resource.prlimit(recorder.pid, resource.RLIMIT_FSIZE, (limit, limit))
    probe.until(lambda: recorder.poll() is not None)

    assert recorder.returncode == 1
    log = nodes.log('recorder')
    assert f'error: cannot write bag {tmp_path}/bag: File too large. ' in log
    assert 'Traceback' not in log
    assert file_size(tmp_path) <= limit
    recovery = recover_bag(tmp_path / 'bag')
    assert recovery is not None
    stamps = [stamp for _, stamp, _ in read_messages(tmp_path / 'bag', ['/auv/imu'])]
    assert len(stamps) > 100
    assert stamps == [FIRST_NS + IMU_PERIOD_NS * i for i in range(len(stamps))]


def test_a_clock_that_goes_on_does_not_disturb_the_end(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe
):
    """While time stands still, a lockstep backend repeats it ten times a second."""
    from geometry_msgs.msg import Point, Pose, Quaternion
    from oceangym_msgs.srv import Reset

    options = RunOptions(agent='none', sensors='none', record='light')
    specs = make_specs(options, tmp_path, small_world)
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('operator')
    try:
        nodes.start(specs['simulator'])
        recorder = nodes.start(specs['recorder'])
        probe.listen('record/ready')
        ready = probe.heard['record/ready']
        probe.until(lambda: ready and ready[-1].data)
        start = Pose(position=Point(x=144.0, y=-114.0, z=-60.0), orientation=Quaternion(w=1.0))
        request = Reset.Request(start=start, t_max=60.0, t_interval=30.0, profile='standard')
        assert probe.call(Reset, 'sim/reset', request).error_code == 0
        recorder.send_signal(signal.SIGINT)
        probe.until(lambda: recorder.poll() is not None)
    finally:
        nodes.close()
        probe.close()
    assert recorder.returncode == 0, nodes.log('recorder')
    assert 'Traceback' not in nodes.log('recorder')
    assert read_messages(tmp_path / 'bag', ['/auv/odometry'])


def test_a_start_that_is_refused_says_why(
    tmp_path, domain_id, small_world, make_specs, make_nodes
):
    (tmp_path / 'file').touch()
    spec = make_specs(OPTIONS, tmp_path, small_world)['recorder']
    refusals = (
        # A place that cannot be written, and a parameter that rclpy alone would ignore.
        (
            {'bag': f'{tmp_path}/file/bag'},
            f'cannot make bag {tmp_path}/file/bag: Not a directory.',
        ),
        ({'recrod': 'full'}, "unknown parameter of recorder 'recrod'. Did you mean 'record'?"),
    )
    nodes = make_nodes(tmp_path, domain_id)
    try:
        for parameters, why in refusals:
            assert nodes.start(spec, **parameters).wait() == 1
            assert f'error: {why}' in nodes.log('recorder')
            assert 'Traceback' not in nodes.log('recorder')
    finally:
        nodes.close()
