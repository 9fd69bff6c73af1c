"""Observations of twelve full-size images, to an agent, a second reader and the recorder."""

from __future__ import annotations

from collections import defaultdict
import statistics
import time

import pytest
from rosbags.rosbag2 import Reader

from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.topics import camera_streams, sonar_streams, stream

pytestmark = pytest.mark.ros

IMAGES = [
    *(camera_streams(d)[0].name for d in DIRECTIONS),
    *(sonar_streams(d)[0].name for d in DIRECTIONS),
]


class HandOver:
    """When each image of each instant was sent and was in this process's hands [ns of wall time]."""

    def __init__(self, probe) -> None:
        from oceangym_core.nodes.node import message_type
        from oceangym_core.nodes.qos import reader_qos

        self.sent = defaultdict(dict)
        self.taken = defaultdict(dict)
        for name in IMAGES:
            s = stream(name)

            def take(message, info, name=name):
                stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
                self.sent[stamp][name] = info['source_timestamp']
                self.taken[stamp][name] = time.time_ns()

            probe.node.create_subscription(
                message_type(s.type), name, take, reader_qos(s.delivery)
            )

    def complete(self) -> list[int]:
        return sorted(t for t, images in self.taken.items() if len(images) == len(IMAGES))

    def milliseconds(self) -> list[float]:
        return [
            (max(self.taken[t].values()) - min(self.sent[t].values())) / 1e6
            for t in self.complete()
        ]


@pytest.mark.parametrize('decisions', [20, pytest.param(60, marks=pytest.mark.soak)])
def test_all_of_all_observations_arrive_whole(
    decisions, tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe
):
    options = RunOptions(
        agent='idle', sensors='all', t_interval=1.0, t_max=float(decisions), record='light'
    )
    specs = make_specs(options, tmp_path / 'run', small_world)
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('second_reader')
    try:
        handed = HandOver(probe)
        # The test's own patience ends a run whose nodes do not come up.
        manager = nodes.start(specs.pop('task_manager'), startup_timeout=1e6)
        for spec in specs.values():
            nodes.start(spec)
        for count in range(1, decisions + 2):
            # Each observation has its own time, however long all of them take.
            probe.until(lambda n=count: len(handed.taken) >= n or manager.poll() is not None)
        probe.until(lambda: manager.poll() is not None)
        assert manager.poll() == 0, nodes.log('task_manager')
        # The last instant's images may still be on their way here.
        probe.until(lambda: len(handed.complete()) == decisions + 1)
    finally:
        nodes.close()
        probe.close()
    first = handed.complete()[0]
    assert handed.complete() == [first + i * 10**9 for i in range(decisions + 1)]
    with Reader(tmp_path / 'run' / 'bag') as reader:
        counts = {c.topic.removeprefix('/auv/'): c.msgcount for c in reader.connections}
    for direction in DIRECTIONS:
        for name in (
            f'camera/{direction}/image_raw/compressed',
            f'camera/{direction}/camera_info',
            f'sonar/{direction}/polar_db',
            f'sonar/{direction}/fan',
        ):
            assert counts[name] == decisions + 1, name
    times = sorted(handed.milliseconds())
    # A figure for people (the aim is a median below 100 ms); no test depends on a clock.
    print(
        f'\nhand-over of {len(IMAGES)} images: median {statistics.median(times):.1f} ms, '
        f'90 % below {times[int(0.9 * len(times))]:.1f} ms'
    )
