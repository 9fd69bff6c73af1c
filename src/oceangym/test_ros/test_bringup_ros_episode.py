"""Whole episodes through supervised nodes: complete records and bags, and what happens on losses."""

from __future__ import annotations

import os
from pathlib import Path
import signal
import struct

import pytest
from rosbags.rosbag2 import Reader

from oceangym.processes import process_environment, process_specs
from oceangym.progress import RecordTail
from oceangym.supervisor import Outcome, Supervisor
from oceangym_core.config.options import RunOptions
from oceangym_core.nodes.conversions import nanoseconds_of
from oceangym_core.record.bag import read_messages
from oceangym_core.record.reader import load_episode
from oceangym_core.scoring import rescore

pytestmark = pytest.mark.ros


class Run:
    """One supervised run in the small world; `disturb` is called once step `at` is on record."""

    def __init__(self, directory: Path, world: Path, domain: int, **options: object) -> None:
        self.directory = directory
        directory.mkdir()
        self._tail = RecordTail(directory)
        defaults = {'agent': 'idle', 'sensors': 'none', 'record': 'light'}
        self.supervisor = Supervisor(
            process_specs(
                RunOptions(**{**defaults, **options}), run_directory=directory, world=world
            ),
            directory=directory,
            environment=process_environment(os.environ, domain_id=domain),
            on_poll=self._poll,
        )
        self._at = -1
        self._disturb = lambda: None

    def disturb(self, at: int, action) -> None:
        self._at, self._disturb = at, action

    def _poll(self) -> None:
        self._tail.poll()
        if self._at >= 0 and self._tail.latest is not None and self._tail.latest.index >= self._at:
            self._at = -1
            self._disturb()

    def kill(self, name: str) -> None:
        child = next(c for c in self.supervisor.children if c.spec.name == name)
        child.process.send_signal(signal.SIGKILL)

    def run(self) -> Outcome:
        outcome = self.supervisor.run()
        assert all(child.code is not None for child in self.supervisor.children)
        return outcome


def test_an_episode_leaves_a_complete_record_and_bag(tmp_path, small_world, domain_id):
    run = Run(tmp_path / 'run', small_world, domain_id, t_max=90.0)
    outcome = run.run()
    assert (outcome.code, outcome.message) == (0, '')

    episode = load_episode(run.directory)
    assert episode.ending.value == 'time'
    assert [step.index for step in episode.steps] == [0, 1, 2, 3]
    assert [step.t for step in episode.steps] == [0.0, 30.0, 60.0, 90.0]
    assert all(step.decision is not None for step in episode.steps[1:])
    # The trajectory is at 1 Hz, observation 0 and the last included.
    assert episode.trajectory[:, 0].tolist() == [float(t) for t in range(91)]
    assert (run.directory / 'score.json').is_file()

    with Reader(run.directory / 'bag') as reader:
        counts = {c.topic.removeprefix('/auv/'): c.msgcount for c in reader.connections}
    # The frozen instant is sent again to a node that joins late, so its messages are told by stamp.
    for topic in ('odometry', 'truth/odometry', 'altitude', 'battery'):
        found = read_messages(run.directory / 'bag', [f'/auv/{topic}'])
        counts[topic] = len({nanoseconds_of(message.header.stamp) for _, _, message in found})
    # Rates of simulation time over 90 s; streams of the instant have observation 0 besides.
    assert counts['imu'] == 20 * 90
    assert counts['odometry'] == 10 * 90 + 1
    assert counts['truth/odometry'] == 10 * 90 + 1
    assert counts['dvl'] == counts['pressure'] == 5 * 90
    assert counts['altitude'] == 5 * 90 + 1
    assert counts['battery'] == 90 + 1
    assert counts['thrusters'] == 90
    assert counts['/clock'] >= 20 * 90
    assert counts['truth/step'] == counts['truth/perceptible'] == 4
    assert counts['agent/decision'] == 3
    assert counts['task/goal'] == counts['task/score'] == 1
    assert counts['task/text'] == counts['task/state']
    (*_, (_, _, text)) = read_messages(run.directory / 'bag', ['/auv/task/text'])
    assert text.text.startswith('inspect_pipe: finished (time) after 1:30\nverified ')
    states = [m.state for _, _, m in read_messages(run.directory / 'bag', ['/auv/task/state'])]
    assert (states[0], states[-1]) == (0, 3)
    assert states == sorted(states)
    stamps = [t for t, _, _ in sorted_by_time(run.directory / 'bag')]
    (first, *_) = read_messages(run.directory / 'bag', ['/auv/truth/step'])
    assert max(stamps) == first[1] + 90_000_000_000


def sorted_by_time(bag: Path) -> list[tuple[int, str, object]]:
    return [(stamp, topic, message) for topic, stamp, message in read_messages(bag)]


@pytest.mark.parametrize('victim', ['agent', 'simulator', 'recorder'])
def test_a_killed_process_is_named_and_the_record_scores(tmp_path, small_world, domain_id, victim):
    run = Run(tmp_path / 'run', small_world, domain_id)
    run.disturb(2, lambda: run.kill(victim))
    outcome = run.run()

    assert outcome.code == 1
    assert outcome.message.startswith(f'{victim} (')
    assert 'killed by SIGKILL (9)' in outcome.message
    episode = load_episode(run.directory)
    assert episode.ending.value == 'error'
    assert 'was lost' in episode.message
    assert episode.partial
    assert episode.steps[-1].index >= 2
    score = rescore(run.directory)
    assert score['partial']
    assert score['scorers']['paper']['status'] == 'scored'
    with Reader(run.directory / 'bag') as reader:
        topics = {c.topic: c.msgcount for c in reader.connections}
    # Each decision waited for the bag, so that at most the step under way can be missing.
    if victim != 'recorder':
        assert topics['/auv/truth/step'] >= len(episode.steps) - 1


def test_ctrl_c_cancels_and_keeps_what_was_earned(tmp_path, small_world, domain_id):
    def interrupt() -> None:
        raise KeyboardInterrupt

    run = Run(tmp_path / 'run', small_world, domain_id)
    run.disturb(1, interrupt)
    outcome = run.run()
    assert (outcome.code, outcome.message) == (130, 'cancelled')
    assert load_episode(run.directory).ending.value == 'cancelled'
    with Reader(run.directory / 'bag') as reader:
        assert reader.message_count > 0


def test_a_user_error_in_a_node_is_the_message_of_the_run(tmp_path, small_world, domain_id):
    # 250 m below the seabed of the small world and outside its bounds.
    run = Run(tmp_path / 'run', small_world, domain_id, start='144,-114,-320,0', record='false')
    outcome = run.run()
    assert outcome.code == 1
    assert 'error: start custom: z = -320 m is outside the bounds' in outcome.message
    assert 'Traceback' not in outcome.message


def test_no_target_leaks_outside_truth_before_its_report(
    tmp_path, small_world, domain_id, anchors
):
    run = Run(
        tmp_path / 'run', small_world, domain_id, t_max=60.0, agent='blind_spam', sensors='truth'
    )
    assert run.run().code == 0
    with Reader(run.directory / 'bag') as reader:
        for connection, _, data in reader.messages():
            if '/truth/' in connection.topic or connection.topic == '/auv/task/score':
                continue
            for name in anchors:
                assert name.encode() not in data, connection.topic
            if connection.topic != '/auv/task/goal':
                reported = connection.topic == '/auv/agent/decision'
                assert reported or b'PIPELINE' not in data.upper(), connection.topic
            assert not holds_point(data, anchors.values()), connection.topic


def holds_point(data: bytes, points) -> bool:
    """Whether a target's x and y stand next to each other in a message, in either precision."""
    return any(struct.pack(f'<2{kind}', x, y) in data for x, y, _ in points for kind in ('d', 'f'))
