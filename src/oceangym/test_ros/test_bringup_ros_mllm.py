"""Runs with a model through nodes: the same as without ROS, outages, and a key that is nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rosbags.rosbag2 import Reader

from oceangym import cli
from oceangym.processes import process_environment, process_specs
from oceangym.supervisor import Outcome, Supervisor
from oceangym_agent.scripted_models.faults import Fault, FaultKind
from oceangym_agent.scripted_models.scripts import script
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_agent.trace import read_trace
from oceangym_bench.execution.episode import run_episode
from oceangym_core.assets import config_path
from oceangym_core.config.options import parse_ros_arguments, RunOptions
from oceangym_core.config.setup import prepare_episode
from oceangym_core.contract.actions import DIRECTIONS, sonar_orientation
from oceangym_core.contract.observation import published_geometry, SonarSpec
from oceangym_core.geometry import Pose, wrap_angle
from oceangym_core.nodes.conversions import nanoseconds_of, pose_of_message
from oceangym_core.record.bag import read_messages
from oceangym_core.record.reader import load_episode
from oceangym_core.scoring import rescore
from oceangym_core.world.world import load_world, world_path
from oceangym_sim.requests import SimulatorOptions
from oceangym_sim.simulator import Simulator

pytestmark = pytest.mark.ros

# Members that the wall clock decides; everything else follows from the seed.
WALL = frozenset({'wall', 'latency_s'})
# Of the autopilot (oceangym_sim): a maneuver ends, and is held, within 0.3 m and 2 deg.
POSITION_TOLERANCE_M = 0.3
DEPTH_TOLERANCE_M = 0.1
HEADING_TOLERANCE = math.radians(2.0)
OUTAGE_S = 300.0
KEY = 'sk-planted-0123456789abcdef'


def without_wall(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_wall(item) for key, item in value.items() if key not in WALL}
    return [without_wall(item) for item in value] if isinstance(value, list) else value


def lines(path: Path) -> list[Any]:
    return [without_wall(json.loads(text)) for text in path.read_text('utf-8').splitlines()]


# ------------------------------------------------------------------ the same with and without ROS


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_messages_say_what_an_agent_in_the_same_process_is_told(direction):
    from rclpy.serialization import deserialize_message, serialize_message

    from oceangym_agent.nodes.conversions import sonar_spec
    from oceangym_sim.nodes.conversions import sonar_info_message

    # Awkward numbers: none of them has a short binary form.
    spec = SonarSpec(
        direction=direction,
        mount=Pose.of((0.2, -0.1, 0.05), sonar_orientation(direction)),
        range_min=0.1,
        range_max=39.7,
        azimuth_aperture=2.0943951023931953,
        elevation_aperture=0.39269908169872414,
        frequency=900123.4,
        sound_speed=1480.3,
    )
    # Python's messages take single precision only on their way.
    message = sonar_info_message(spec, stamp=0.0)
    arrived = deserialize_message(serialize_message(message), type(message))
    assert sonar_spec(arrived) == published_geometry(spec)


def test_a_run_with_a_model_is_the_same_with_and_without_ros(tmp_path, domain_id):
    # What is hard to keep alike: drift, a shifted frame, every aid, two calls a decision.
    words = [
        'agent:=scripted',
        'model:=scripted_lookout',
        'task:=search_ship',
        't_max:=150',
        'sensors:=all',
        'profile:=hard',
        'frame:=shifted',
        'seed:=3',
        'sonar:=described',
        'coverage:=image',
        'detector:=true',
        'planner:=true',
        'loop:=perceive_act',
        'memory_images:=1',
    ]
    assert cli.main(['run', *words, f'results_dir:={tmp_path}']) == 0
    (with_ros,) = tmp_path.iterdir()

    options = parse_ros_arguments(words)
    setup = prepare_episode(options, load_world(world_path('ocean')))
    simulator = Simulator(world=setup.world, options=SimulatorOptions.of(setup))
    outcome = run_episode(setup, simulator, results_dir=tmp_path, run_id='without_ros')
    without_ros = outcome.directory
    assert without_ros is not None

    for name in ('episode.jsonl', 'trace.jsonl'):
        assert lines(with_ros / name) == lines(without_ros / name), name
    images = [
        {path.name: path.read_bytes() for path in (run / 'images').iterdir()}
        for run in (with_ros, without_ros)
    ]
    assert images[0] == images[1]
    scores = [json.loads((run / 'score.json').read_text()) for run in (with_ros, without_ros)]
    for score in scores:
        del score['run_id']
    assert without_wall(scores[0]) == without_wall(scores[1])

    # The record holds every decision with what it took, and a page shows them.
    episode, trace = load_episode(with_ros), read_trace(with_ros)
    assert (episode.ending.value, len(episode.decisions)) == ('time', 5)
    assert [step.index for step in trace] == list(range(5))
    for decision, step in zip(episode.decisions, trace):
        assert [call.purpose for call in step.calls] == ['perceive', 'act']
        taken = [call.reply for call in step.calls if call.reply is not None]
        assert decision.tokens == sum(r.tokens_in + r.tokens_out for r in taken) > 0
    assert (with_ros / 'report.html').stat().st_size > 100_000
    decisions = list(read_messages(with_ros / 'bag', ['/auv/agent/decision']))
    assert [message.agent for _, _, message in decisions] == ['scripted_lookout'] * 5


# ------------------------------------------------------------------ an endpoint that is down


class ModelRun:
    """A supervised run whose model's endpoint can be taken down while it goes on."""

    def __init__(self, directory: Path, world: Path, domain: int, probe: Any) -> None:
        self.directory, self.world, self.domain = directory, world, domain
        self.probe = probe
        self.down: FaultKind | None = None
        self.calls = 0
        probe.listen('odometry')

    def script(self, body: Mapping[str, Any], number: int) -> str | Fault:
        # Before the call counts, so that the story cannot change what it has not seen.
        answer = Fault(kind=self.down) if self.down else script('patrol')(body, number)
        self.calls += 1
        return answer

    @property
    def now(self) -> float:
        heard = self.probe.heard['odometry']
        return nanoseconds_of(heard[-1].header.stamp) * 1e-9 if heard else -1.0

    def run(self, story: Iterator[None], **options: object) -> Outcome:
        """Run to the end; the story goes on whenever the run is looked at."""

        def poll() -> None:
            for _ in range(100):
                self.probe.executor.spin_once(timeout_sec=0.0)
            next(story, None)

        supervisor = Supervisor(
            process_specs(RunOptions(**options), run_directory=self.directory, world=self.world),
            directory=self.directory,
            environment=process_environment(os.environ, domain_id=self.domain),
            on_poll=poll,
        )
        self.children = supervisor.children
        return supervisor.run()


@pytest.fixture
def model_run(tmp_path, small_world, domain_id, make_probe) -> Iterator[ModelRun]:
    probe = make_probe('watch')
    (tmp_path / 'run').mkdir()
    yield ModelRun(tmp_path / 'run', small_world, domain_id, probe)
    probe.close()


def keyed_preset(path: Path, url: str) -> Path:
    """Write a preset that sends the planted key to a server."""
    text = config_path('agents', 'scripted_patrol.yaml').read_text()
    for old, new in {
        'id: scripted_patrol': f'id: {path.stem}',
        "base_url: ''": f'base_url: {url}',
        'api_key_env: null': 'api_key_env: PLANTED_KEY',
        'scripted: patrol': 'scripted: null',
    }.items():
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return path


def test_the_vehicle_holds_while_the_endpoint_is_down_for_five_minutes(
    tmp_path, monkeypatch, model_run
):
    monkeypatch.setenv('PLANTED_KEY', KEY)
    outage: list[float] = []

    def story() -> Iterator[None]:
        # The second decision is asked about 30 s into the episode and meets silence.
        while model_run.calls < 1:
            yield
        model_run.down = FaultKind.HANG
        while model_run.calls < 2:
            yield
        outage.append(model_run.now)
        while model_run.now < outage[0] + OUTAGE_S:
            yield
        outage.append(model_run.now)
        model_run.down = None
        # It answers again; then it turns the vehicle away for good.
        while len(read_trace(model_run.directory)) < 2:
            yield
        model_run.down = FaultKind.FORBIDDEN

    with ScriptedModelServer(script=model_run.script, key=KEY) as server:
        preset = keyed_preset(tmp_path / 'keyed.yaml', server.url)
        outcome = model_run.run(
            story(),
            agent='mllm',
            model=str(preset),
            mode='realtime',
            rtf=20.0,
            sensors='none',
            # A quarter of a metre a second of current that turns: standing still takes work.
            profile='hard',
            nav='truth',
            call_timeout=1.0,
            max_retries=100,
            decision_deadline=300.0,
        )
    run = model_run.directory

    # Nothing drifted from 10 s after the last maneuver's end, when it had come to rest.
    begin, end = outage
    assert end - begin >= OUTAGE_S
    held = [
        (stamp * 1e-9, pose_of_message(message.pose.pose))
        for _, stamp, message in read_messages(run / 'bag', ['/auv/truth/odometry'])
        if begin + 10.0 <= stamp * 1e-9 <= end
    ]
    assert held[-1][0] - held[0][0] > OUTAGE_S - 15.0
    place = np.array([pose.position for _, pose in held])
    assert np.ptp(place[:, 2]) < DEPTH_TOLERANCE_M
    assert np.hypot(*(place - place[0])[:, :2].T).max() < POSITION_TOLERANCE_M
    turned = [abs(wrap_angle(pose.yaw - held[0][1].yaw)) for _, pose in held]
    assert max(turned) < HEADING_TOLERANCE

    # The decision came in the end, after many tries; the refusal ended the episode.
    episode, trace = load_episode(run), read_trace(run)
    assert outcome.code == 1
    assert episode.ending.value == 'error'
    assert episode.message.startswith('agent keyed: ') and '403' in episode.message
    assert [step.error is None for step in trace] == [True, True, False]
    waited = trace[1].calls[0].reply
    assert waited is not None and waited.retries >= 3
    assert len(episode.decisions) == 2
    assert rescore(run)['partial']
    assert_nowhere(run, KEY)


@pytest.mark.parametrize(
    ('mode', 'ending', 'code'), [('realtime', 'time', 0), ('lockstep', 'cancelled', 130)]
)
def test_an_episode_ends_although_a_call_hangs(model_run, mode, ending, code):
    def story() -> Iterator[None]:
        model_run.down = FaultKind.HANG
        while model_run.calls < 1:
            yield
        # In lockstep time stands still, and somebody loses patience.
        if mode == 'lockstep':
            raise KeyboardInterrupt

    with ScriptedModelServer(script=model_run.script) as server:
        outcome = model_run.run(
            story(),
            agent='scripted',
            base_url=server.url,
            mode=mode,
            rtf=10.0,
            t_max=60.0,
            sensors='none',
            record='false',
            call_timeout=600.0,
            decision_deadline=600.0,
        )
    assert outcome.code == code
    # Nobody had to be killed: a node that waits for its call would have been.
    assert [child.code for child in model_run.children] == [0, 0, code]
    episode = load_episode(model_run.directory)
    assert (episode.ending.value, episode.decisions) == (ending, ())


def assert_nowhere(run: Path, key: str) -> None:
    """A key is in no file of a run, and in no message of its bag, whose chunks are compressed."""
    secret = key.encode()
    names = {path.name for path in run.rglob('*')}
    assert {'trace.jsonl', 'agent.log', 'agent.params.yaml', 'metadata.yaml'} <= names
    for path in run.rglob('*'):
        if path.is_file():
            assert secret not in path.read_bytes(), path
    with Reader(run / 'bag') as reader:
        assert reader.message_count > 0
        for connection, _, data in reader.messages():
            assert secret not in data, connection.topic
