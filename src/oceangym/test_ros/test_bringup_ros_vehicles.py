"""Two vehicles in one ROS domain: each with its own clock, frames, topics and services."""

from __future__ import annotations

import math

import pytest

from oceangym_core.config.options import RunOptions

pytestmark = pytest.mark.ros

# Of the middleware: every node has them.
EVERYBODYS = {'/parameter_events', '/rosout'}
VEHICLES = ('auv1', 'auv2')


def topics_of(probe, vehicle):
    """What the nodes in a vehicle's namespace publish and subscribe to."""
    node = probe.node
    names = set()
    for name, space in node.get_node_names_and_namespaces():
        if space == f'/{vehicle}' and name != 'probe':
            for find in (
                node.get_publisher_names_and_types_by_node,
                node.get_subscriber_names_and_types_by_node,
            ):
                names |= {topic for topic, _ in find(name, space)}
    return names - EVERYBODYS


def test_two_vehicles_share_nothing(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe
):
    from oceangym_msgs.action import Maneuver
    from oceangym_msgs.srv import Reset
    from rosgraph_msgs.msg import Clock

    from oceangym_core.config.setup import prepare_episode
    from oceangym_core.contract.topics import stream
    from oceangym_core.nodes.qos import reader_qos
    from oceangym_core.world.world import load_world
    from oceangym_tasks.nodes.conversions import reset_request

    crew, probes, clocks, epochs = {}, {}, {}, {}
    try:
        for vehicle in VEHICLES:
            options = RunOptions(
                agent='none', sensors='none', record='light', namespace=vehicle, t_max=60.0
            )
            directory = tmp_path / vehicle
            directory.mkdir()
            specs = make_specs(options, directory, small_world)
            crew[vehicle] = make_nodes(directory, domain_id)
            crew[vehicle].start(specs['simulator'])
            probe = probes[vehicle] = make_probe(namespace=vehicle)
            clocks[vehicle] = []
            qos = reader_qos(stream('/clock').delivery)
            probe.node.create_subscription(Clock, f'/{vehicle}/clock', clocks[vehicle].append, qos)
            probe.listen('odometry', 'tf', 'record/ready')
        crew['auv1'].start(specs_of_recorder(make_specs, tmp_path / 'auv1', small_world))

        starts = {'auv1': '144,-114,-60,0', 'auv2': '200,-50,-30,90'}
        for vehicle, probe in probes.items():
            options = RunOptions(
                agent='none', namespace=vehicle, start=starts[vehicle], t_max=60.0
            )
            request = reset_request(prepare_episode(options, load_world(small_world)))
            response = probe.call(Reset, 'sim/reset', request)
            assert response.error_code == Reset.Response.NONE
            epochs[vehicle] = response.stamp.sec

        # One of them flies 30 s ahead; the other's time stands still, and so does it.
        probe = probes['auv1']
        probe.until(lambda: any(m.data for m in probe.heard['record/ready']))
        client = probe.action_client(Maneuver, 'maneuver')
        handle = probe.done(client.send_goal_async(Maneuver.Goal(action='forward', magnitude=5.0)))
        assert probe.done(handle.get_result_async()).result.error_code == 0
        probe.until(lambda: clocks['auv1'] and clocks['auv1'][-1].clock.sec == epochs['auv1'] + 30)
        other = probes['auv2']
        clocks['auv2'].clear()
        other.until(lambda: clocks['auv2'])
        assert {m.clock.sec for m in clocks['auv2']} == {epochs['auv2']}

        # Topics arrive in any order: the clock's end says nothing about the others'.
        ends = {'auv1': epochs['auv1'] + 30, 'auv2': epochs['auv2']}
        for vehicle, probe in probes.items():
            heard, end = probe.heard['odometry'], ends[vehicle]
            probe.until(lambda h=heard, e=end: h and h[-1].header.stamp.sec == e)
        places = {v: p.heard['odometry'][-1].pose.pose.position for v, p in probes.items()}
        assert places['auv1'].x == pytest.approx(149.0, abs=0.5)
        assert math.hypot(places['auv2'].x - 200.0, places['auv2'].y + 50.0) < 1e-6

        # base_link has one place in each tree.
        for vehicle, x in (('auv1', places['auv1'].x), ('auv2', 200.0)):
            heard, end = probes[vehicle].heard['tf'], ends[vehicle]
            probes[vehicle].until(
                lambda h=heard, e=end: h and h[-1].transforms[-1].header.stamp.sec == e
            )
            last = heard[-1].transforms[-1]
            assert last.child_frame_id == 'base_link'
            assert last.transform.translation.x == pytest.approx(x, abs=0.5)

        for vehicle in VEHICLES:
            names = topics_of(probes[vehicle], vehicle)
            assert {f'/{vehicle}/clock', f'/{vehicle}/tf', f'/{vehicle}/imu'} <= names
            assert {n for n in names if not n.startswith(f'/{vehicle}/')} == set()
    finally:
        for nodes in crew.values():
            nodes.close()
        for probe in probes.values():
            probe.close()


def specs_of_recorder(make_specs, directory, world):
    options = RunOptions(agent='none', record='light', namespace='auv1')
    return make_specs(options, directory, world)['recorder']
