"""The task manager as others meet it: services, the action task/run, losses, any start order."""

from __future__ import annotations

import json
import math

import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.contract.decisions import FindReport
from oceangym_core.record.reader import load_episode

pytestmark = pytest.mark.ros


@pytest.fixture
def system(tmp_path, domain_id, small_world, make_specs, make_nodes):
    """A function that starts some of the processes of a run without an episode of its own."""
    started = []

    def start(*names, nodes=None, startup_timeout=60.0, **options):
        nodes = make_nodes(tmp_path, domain_id) if nodes is None else nodes
        started.append(nodes)
        defaults = {'agent': 'none', 'sensors': 'none', 'record': 'false', 't_max': 120.0}
        defaults['results_dir'] = str(tmp_path / 'runs')
        specs = make_specs(
            RunOptions(**{**defaults, **options}), tmp_path, small_world, autostart=False
        )
        for name in names:
            manager = {'run_directory': '', 'startup_timeout': startup_timeout}
            extra = manager if name == 'task_manager' else {}
            nodes.start(specs[name], **extra)
        return nodes

    yield start
    for nodes in started:
        nodes.close()


@pytest.fixture
def client(domain_id, make_probe):
    probe = make_probe('client')
    yield probe
    probe.close()


def run_episode(client, **goal):
    """Ask for an episode; return the goal handle and the future of its result."""
    from oceangym_msgs.action import RunTask

    server = client.action_client(RunTask, 'task/run')
    handle = client.done(server.send_goal_async(RunTask.Goal(**{'seed': -1, **goal})))
    assert handle.accepted
    return handle, handle.get_result_async()


def report(client, **fields):
    from oceangym_msgs.srv import ReportFind

    request = ReportFind.Request(label='OIL PIPELINE', sigma=-1.0, reporter='test')
    for name, value in fields.items():
        setattr(request, name, value)
    return client.call(ReportFind, 'task/report_find', request).error_code


def stop(client, reason='stop'):
    from oceangym_msgs.srv import StopTask

    return client.call(StopTask, 'task/stop', StopTask.Request(reason=reason)).error_code


def wait_until_running(client):
    from oceangym_msgs.msg import TaskState

    client.listen('task/state', 'task/goal')
    client.until(
        lambda: (
            client.heard['task/state']
            and client.heard['task/state'][-1].state == TaskState.RUNNING
        )
    )


def test_reports_stops_and_their_refusals(system, client, tmp_path):
    from geometry_msgs.msg import Point
    from oceangym_msgs.action import RunTask
    from oceangym_msgs.srv import ReportFind, StopTask

    codes = ReportFind.Response
    # The task manager comes first and waits for the backend.
    nodes = system('task_manager')
    assert report(client) == codes.NOT_RUNNING
    assert stop(client) == StopTask.Response.NOT_RUNNING
    system('simulator', nodes=nodes)
    _, result = run_episode(client)
    wait_until_running(client)
    goal = client.heard['task/goal'][-1]
    assert (goal.task_id, goal.t_max, goal.target_count) == ('inspect_pipe', 120.0, 3)
    assert (goal.z_min, len(goal.bounds)) == (-100.0, 4)

    assert report(client, label='  ') == codes.EMPTY_LABEL
    assert report(client, step=7) == codes.BAD_STEP
    broken = Point(x=math.nan, y=0.0, z=0.0)
    assert report(client, has_position=True, position=broken) == codes.BAD_POSITION
    assert report(client) == codes.NONE
    assert stop(client, 'bored') == StopTask.Response.BAD_REASON

    _, refused = run_episode(client)
    assert client.done(refused).result.error_code == RunTask.Result.ALREADY_RUNNING
    assert stop(client) == StopTask.Response.NONE
    outcome = client.done(result).result
    assert (outcome.error_code, outcome.score.end_reason) == (0, 'stop')
    assert outcome.score.scored
    assert not outcome.score.partial

    # What one service took down is what the record and the answer to the client hold.
    (directory,) = (tmp_path / 'runs').iterdir()
    episode = load_episode(directory)
    assert [r.label for r in episode.reports] == ['OIL PIPELINE']
    assert '"ending": "stop"' in outcome.score.json

    # A bad start is refused before anything moves; the next episode works all the same.
    _, bad = run_episode(client, start='nowhere')
    assert client.done(bad).result.error_code == RunTask.Result.BAD_START
    handle, again = run_episode(client, start='144,-114,-60,90', seed=3)
    wait_until_running(client)
    client.done(handle.cancel_goal_async())
    cancelled = client.done(again).result
    assert cancelled.error_code == RunTask.Result.CANCELLED
    assert cancelled.score.partial


def test_a_lost_backend_and_a_lost_agent_end_the_episode(system, client):
    from oceangym_msgs.action import RunTask
    from oceangym_msgs.msg import Decision as DecisionMessage
    from rcl_interfaces.msg import Log
    from rclpy.duration import Duration

    from oceangym_core.contract.actions import Action
    from oceangym_core.contract.decisions import Decision
    from oceangym_core.contract.topics import DECISION
    from oceangym_core.nodes.conversions import decision_message
    from oceangym_core.nodes.qos import publisher_qos, with_liveliness

    logged: list[Log] = []
    client.node.create_subscription(Log, '/rosout', logged.append, 100)
    nodes = system('simulator', 'task_manager')
    _, result = run_episode(client)
    wait_until_running(client)
    publisher = client.node.create_publisher(
        DecisionMessage, 'agent/decision', with_liveliness(publisher_qos(DECISION.delivery))
    )
    decision = Decision(index=0, action=Action.HOLD)
    client.until(lambda: publisher.get_subscription_count() >= 2)
    publisher.publish(decision_message(decision, agent='test', stamp=0.0))
    # Matched here is not matched there: only one that was heard can be missed.
    assert publisher.wait_for_all_acked(Duration(seconds=30))
    client.node.destroy_publisher(publisher)
    outcome = client.done(result).result
    assert outcome.error_code == RunTask.Result.AGENT_LOST
    assert outcome.score.end_reason == 'error'

    client.heard['task/state'].clear()
    _, result = run_episode(client)
    client.until(lambda: [s for s in client.heard['task/state'] if s.state == s.RUNNING])
    nodes.running['simulator'].kill()
    outcome = client.done(result).result
    assert outcome.error_code == RunTask.Result.BACKEND_LOST
    assert outcome.score.partial
    assert 'the backend was lost' in nodes.log('task_manager')
    # Tools that show /rosout and nothing else say it, too.
    client.until(
        lambda: any(m.level == Log.FATAL and 'the backend was lost' in m.msg for m in logged)
    )


def test_a_lost_recorder_ends_the_episode(system, client):
    from oceangym_msgs.action import RunTask

    nodes = system('simulator', 'recorder', 'task_manager', record='light')
    _, result = run_episode(client)
    wait_until_running(client)
    nodes.running['recorder'].kill()
    outcome = client.done(result).result
    assert outcome.error_code == RunTask.Result.RECORDER_LOST
    assert outcome.score.partial


def test_an_episode_without_a_backend_says_who_is_missing(system, client):
    from oceangym_msgs.action import RunTask

    nodes = system('task_manager', startup_timeout=1.0)
    _, result = run_episode(client)
    outcome = client.done(result).result
    assert outcome.error_code == RunTask.Result.RESET_FAILED
    assert 'a backend (capabilities, sim/reset) did not appear' in nodes.log('task_manager')


def test_a_report_position_survives_the_service(tmp_path):
    from geometry_msgs.msg import Point
    from oceangym_msgs.srv import ReportFind

    from oceangym_tasks.nodes.conversions import find_report

    request = ReportFind.Request(
        label='X',
        has_position=True,
        position=Point(x=1.5, y=-2.25, z=-60.0),
        sigma=2.0,
        sensor='camera',
        direction='front',
        step=4,
    )
    assert find_report(request, now=120.0) == FindReport(
        label='X',
        position=(1.5, -2.25, -60.0),
        sigma=2.0,
        sensor='camera',
        direction='front',
        observation_index=4,
        stamp=120.0,
    )


def test_two_episodes_of_one_system_leave_the_records_of_two_processes(
    system, client, tmp_path, small_world
):
    """Stamps go on from one episode to the next; what is on record begins at zero each time."""
    from oceangym_msgs.action import RunTask

    from oceangym_bench.execution.episode import run_episode as fly_in_process
    from oceangym_core.config.setup import prepare_episode
    from oceangym_core.world.world import load_world
    from oceangym_sim.requests import SimulatorOptions
    from oceangym_sim.simulator import Simulator

    options = {'agent': 'survey', 'sensors': 'truth', 'record': 'light', 't_max': 60.0}
    options |= {'profile': 'hard', 'frame': 'shifted'}
    client.listen('odometry', deep=True)
    system('task_manager', 'simulator', 'recorder', 'agent', **options)
    seeds = (3, 4)
    for seed in seeds:
        _, result = run_episode(client, seed=seed)
        outcome = client.done(result).result
        assert (outcome.error_code, outcome.score.end_reason) == (RunTask.Result.NONE, 'time')
    stamps = [
        m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in client.heard['odometry']
    ]
    assert stamps == sorted(stamps)
    assert stamps[-1] - stamps[0] > 2 * 60 * 10**9 > stamps[0] > 0
    recorded = sorted((tmp_path / 'runs').iterdir())
    assert len(recorded) == len(seeds)
    for seed, directory in zip(seeds, recorded):
        setup = prepare_episode(RunOptions(**options, seed=seed), load_world(small_world))
        simulator = Simulator(world=setup.world, options=SimulatorOptions.of(setup))
        flown = fly_in_process(setup, simulator, results_dir=tmp_path / 'in_process')
        assert flown.directory is not None
        records = [
            [without_wall(line) for line in (d / 'episode.jsonl').read_text().splitlines()]
            for d in (directory, flown.directory)
        ]
        assert records[0] == records[1]


def without_wall(line: str) -> dict[str, object]:
    """Return a line of a record without what the machine's clock says."""
    return {key: value for key, value in json.loads(line).items() if key != 'wall'}


def test_any_start_order_works(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe
):
    """Each node is seen in the graph before the next one is started."""
    order = ('agent', 'recorder', 'task_manager', 'simulator')
    specs = make_specs(
        RunOptions(agent='idle', sensors='none', t_max=60.0), tmp_path / 'run', small_world
    )
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('watcher')
    try:
        for name in order:
            nodes.start(specs[name])
            probe.until(lambda name=name: name in probe.node.get_node_names())
        manager = nodes.running['task_manager']
        probe.until(lambda: manager.poll() is not None, timeout=120.0)
        assert manager.poll() == 0, nodes.log('task_manager')
    finally:
        nodes.close()
        probe.close()
    assert [s.index for s in load_episode(tmp_path / 'run').steps] == [0, 1, 2]
