"""The contract of design section 5 on the embedded backend, in a process of its own."""

from __future__ import annotations

import math

import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.topics import camera_streams, CONTRACT, Delivery, sonar_streams, Source

pytestmark = pytest.mark.ros

START = (144.0, -114.0, -63.0)
KEPT = (Delivery.FROZEN, Delivery.LATCHED, Delivery.EVENT)
IMAGES = [
    *(camera_streams(d)[0].name for d in DIRECTIONS),
    *(s.name for d in DIRECTIONS for s in sonar_streams(d)[:2]),
]


@pytest.fixture(scope='module')
def backend(nodes, small_world, make_specs, make_probe):
    """The running backend; its refusals before the first reset are looked at first."""
    from oceangym_msgs.srv import Observe

    options = RunOptions(agent='none', actions='extended', sensors='all', record='false')
    specs = make_specs(options, nodes.directory, small_world)
    nodes.start(specs['simulator'], camera_size=48)
    probe = make_probe('first')
    observed = probe.call(Observe, 'sim/observe', Observe.Request())
    refused = fly(probe, 'forward')
    probe.listen('/clock', deep=True)
    reset(probe)
    first_clock = clock_ns(probe.until(lambda: probe.heard['/clock'])[0])
    probe.close()
    return {'observe': observed, 'maneuver': refused, 'nodes': nodes, 'clock': first_clock}


def reset_request(**changes):
    from geometry_msgs.msg import Point, Pose, Quaternion
    from oceangym_msgs.srv import Reset

    x, y, z = changes.pop('start', START)
    request = Reset.Request(
        start=Pose(position=Point(x=x, y=y, z=z), orientation=Quaternion(w=1.0)),
        seed=0,
        t_max=600.0,
        t_interval=30.0,
        profile='standard',
        targets=['oil_pipeline_1'],
    )
    for name, value in changes.items():
        setattr(request, name, value)
    return request


def reset(probe, **changes):
    from oceangym_msgs.srv import Reset

    return probe.call(Reset, 'sim/reset', reset_request(**changes))


def send(probe, action, magnitude=math.nan):
    """Send a maneuver and return its goal handle."""
    from oceangym_msgs.action import Maneuver

    client = probe.action_client(Maneuver, 'maneuver')
    handle = probe.done(client.send_goal_async(Maneuver.Goal(action=action, magnitude=magnitude)))
    assert handle.accepted
    return handle


def fly(probe, action, magnitude=math.nan):
    return probe.done(send(probe, action, magnitude).get_result_async()).result


def time_ns(time) -> int:
    return time.sec * 1_000_000_000 + time.nanosec


def stamp_ns(message) -> int:
    return time_ns(message.header.stamp)


def clock_ns(message) -> int:
    return time_ns(message.clock)


def test_every_topic_service_and_action_is_there_with_its_type(backend, probe):
    wanted = [stream for stream in CONTRACT if stream.source in (Source.BACKEND, Source.OPERATOR)]

    def known():
        # Publications and subscriptions are made known in streams of their own.
        names = dict(probe.node.get_topic_names_and_types())
        return all(stream.absolute('auv') in names for stream in wanted) and names

    topics = probe.until(known)
    for stream in wanted:
        name = stream.absolute('auv')
        assert topics[name] == [stream.type], name
    # Two vehicles have a base_link each: the one tree of /tf is nobody's.
    assert not {'/tf', '/tf_static'} & set(topics)
    services = dict(probe.node.get_service_names_and_types())
    assert services['/auv/sim/reset'] == ['oceangym_msgs/srv/Reset']
    assert services['/auv/sim/observe'] == ['oceangym_msgs/srv/Observe']
    assert services['/auv/maneuver/_action/send_goal'] == [
        'oceangym_msgs/action/Maneuver_SendGoal'
    ]


def test_every_topic_is_reliable_and_kept_for_late_joiners_only_where_it_is_a_state(
    backend, probe
):
    from rclpy.qos import DurabilityPolicy, ReliabilityPolicy

    probe.until(lambda: probe.node.count_publishers('sonar/down/fan'))
    for stream in CONTRACT:
        if stream.source is not Source.BACKEND:
            continue
        infos = probe.node.get_publishers_info_by_topic(stream.absolute('auv'))
        assert len(infos) == 1, stream.name
        assert infos[0].qos_profile.reliability is ReliabilityPolicy.RELIABLE, stream.name
        kept = infos[0].qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL
        assert kept == (stream.delivery in KEPT), stream.name


def test_nothing_flies_before_a_reset(backend):
    from oceangym_msgs.action import Maneuver
    from oceangym_msgs.srv import Observe

    assert backend['observe'].error_code == Observe.Response.NOT_RESET
    assert backend['maneuver'].error_code == Maneuver.Result.NOT_RESET
    assert 'reset' in backend['maneuver'].error_msg


def test_capabilities_name_what_is_published(backend, probe):
    probe.listen('capabilities')
    message = probe.until(lambda: probe.heard['capabilities'])[-1]
    assert (message.backend, message.mode) == ('embedded', 'lockstep')
    assert list(message.cameras) == list(message.sonars) == list(DIRECTIONS)
    for name in ('odometry', 'imu', 'dvl', 'pressure', 'altitude', 'battery', 'truth/step'):
        assert name in message.streams


def test_a_late_joiner_gets_the_frozen_instant_whole(backend, probe, make_probe):
    epoch = time_ns(reset(probe).stamp)
    assert fly(probe, 'hold').error_code == 0
    late = make_probe('late')
    names = [*IMAGES, *(f'camera/{d}/camera_info' for d in DIRECTIONS)]
    names += ['odometry', 'altitude', 'battery', 'truth/odometry']
    names += [f'camera/{d}/image_raw/compressed' for d in DIRECTIONS]
    late.listen(*names, *(f'sonar/{d}/info' for d in DIRECTIONS), '/clock', deep=True)
    late.until(lambda: all(late.heard[name] for name in late.heard))
    # Nothing of the 30 s before: each stream begins with the instant that stands still.
    stamps = {name: {stamp_ns(m) for m in late.heard[name]} for name in names}
    assert all(found == {epoch + 30_000_000_000} for found in stamps.values()), stamps
    assert {clock_ns(m) for m in late.heard['/clock']} == {epoch + 30_000_000_000}
    late.close()


def test_time_begins_above_zero_and_never_runs_back_over_resets(backend, probe):
    # tf2 and rclpy take zero for "not started", and a clock that runs back empties tf2's buffers.
    assert backend['clock'] > 0
    names = ['imu', 'odometry', 'truth/odometry', 'camera/up/image_raw', 'sonar/up/info']
    probe.listen(*names, '/clock', 'tf', 'truth/step', deep=True)
    epochs = []
    for _ in range(2):
        epochs.append(time_ns(reset(probe).stamp))
        flown = fly(probe, 'forward', 5.0)
        assert time_ns(flown.t_end) == epochs[-1] + 30_000_000_000
    # Nobody may take the last instant of one episode for the first one of the next.
    assert epochs[0] > 0
    assert epochs[1] > epochs[0] + 30_000_000_000
    last = epochs[1] + 30_000_000_000
    stamps = {}

    def heard() -> bool:
        messages = probe.heard
        stamps.update({n: [stamp_ns(m) for m in messages[n]] for n in (*names, 'truth/step')})
        stamps['/clock'] = [clock_ns(m) for m in messages['/clock']]
        stamps['tf'] = [stamp_ns(t) for m in messages['tf'] for t in m.transforms]
        ends = dict.fromkeys(stamps, last) | {'sonar/up/info': epochs[1]}
        return all(stamps[name] and stamps[name][-1] == end for name, end in ends.items())

    probe.until(heard)
    for name, values in stamps.items():
        assert values == sorted(values), name
    # tf2 warns of a transform that it has already.
    assert len(stamps['tf']) == len(set(stamps['tf']))
    # The record's times are those of the episode, whatever the stamps are.
    steps = [m for m in probe.heard['truth/step'] if stamp_ns(m) >= epochs[0]]
    assert [s.t_end for s in steps] == [0.0, 30.0, 0.0, 30.0]
    assert [s.trajectory[::8] for s in steps[::2]] == [steps[0].trajectory[::8]] * 2


def test_images_have_the_shapes_that_their_descriptions_say(backend, probe):
    probe.listen(*IMAGES, 'camera/front/camera_info', 'sonar/front/info')
    reset(probe)
    probe.until(lambda: all(probe.heard.values()))
    image = probe.heard['camera/front/image_raw'][-1]
    assert (image.encoding, image.width, image.height, image.step) == ('rgb8', 48, 48, 144)
    assert len(image.data) == 48 * 48 * 3
    info = probe.heard['camera/front/camera_info'][-1]
    # A square image with 90 degrees: f = width / 2.
    assert info.k[0] == pytest.approx(24.0)
    assert (info.width, info.header.frame_id) == (48, image.header.frame_id)
    sonar = probe.heard['sonar/front/info'][-1]
    polar = probe.heard['sonar/front/polar'][-1]
    assert (polar.encoding, polar.width) == ('32FC1', len(sonar.azimuth))
    rows = (sonar.range_max - sonar.range_min) / sonar.range_resolution
    assert polar.height == round(rows)
    assert len(polar.data) == polar.height * polar.width * 4
    # Port is positive and comes first.
    assert sonar.azimuth[0] == pytest.approx(-sonar.azimuth[-1])
    assert sonar.azimuth[0] > 0
    fan = probe.heard['sonar/front/fan'][-1]
    assert fan.encoding == 'mono8'
    assert len(fan.data) == fan.height * fan.width


def test_every_frame_is_named_and_hangs_in_the_tree(backend, probe):
    streams = [
        s for s in CONTRACT if s.source is Source.BACKEND and s.name not in ('/clock', 'tf')
    ]
    probe.listen(*(s.name for s in streams), 'tf')
    reset(probe)
    assert fly(probe, 'rotate_left').error_code == 0
    headed = [s.name for s in streams if s.type.split('/')[-1] not in NO_HEADER]
    quiet = {'truth/collisions'}
    probe.until(lambda: all(probe.heard[n] for n in {*headed, 'tf', 'tf_static'} - quiet))
    parents = {
        t.child_frame_id: t.header.frame_id
        for name in ('tf', 'tf_static', 'truth/tf')
        for message in probe.heard[name]
        for t in message.transforms
    }
    assert parents['base_link'] == 'odom'
    assert parents['odom'] == 'map'
    outside_truth = {
        t.header.frame_id
        for name in ('tf', 'tf_static')
        for message in probe.heard[name]
        for t in message.transforms
    }
    assert 'map' not in outside_truth
    for name in set(headed) - quiet:
        frame = probe.heard[name][-1].header.frame_id
        assert frame, name
        while frame != 'map':
            assert frame in parents, f'{name}: frame {frame} leads nowhere'
            frame = parents[frame]


NO_HEADER = ('TFMessage', 'String', 'Clock', 'MarkerArray')


def test_rates_are_those_of_simulation_time_and_stamps_those_of_the_clock(backend, probe):
    # What is published again for others that join has the same stamp: the set of stamps counts.
    rates = {'imu': 20, 'odometry': 10, 'dvl': 5, 'pressure': 5, 'altitude': 5, 'battery': 1}
    probe.listen(*rates, '/clock', deep=True)
    epoch = time_ns(reset(probe).stamp)
    assert fly(probe, 'forward', 10.0).error_code == 0
    last = epoch + 30_000_000_000
    probe.until(
        lambda: all(m and stamp_ns(m[-1]) == last for n, m in probe.heard.items() if n in rates)
    )
    probe.until(lambda: clock_ns(probe.heard['/clock'][-1]) == last)
    ticks = {epoch + round(i * 5e7) for i in range(601)}
    for name, rate in rates.items():
        due = {epoch + round(i * 1e9 / rate) for i in range(1, 30 * rate + 1)}
        stamps = {stamp_ns(m) for m in probe.heard[name] if stamp_ns(m) >= epoch}
        assert due <= stamps, name
        assert stamps <= ticks, name
    assert ticks <= {clock_ns(c) for c in probe.heard['/clock']}


def test_time_stands_still_without_a_maneuver_while_the_clock_repeats(backend, probe):
    epoch = time_ns(reset(probe).stamp)
    probe.listen('/clock', 'odometry')
    clock, odometry = probe.heard['/clock'], probe.heard['odometry']
    probe.until(lambda: odometry and clock and stamp_ns(odometry[-1]) == epoch)
    del clock[:], odometry[:]
    probe.until(lambda: len(clock) >= 5)
    assert {clock_ns(c) for c in clock} == {epoch}
    assert odometry == []


def test_observe_publishes_the_instant_again(backend, probe):
    from oceangym_msgs.srv import Observe

    landed = time_ns(reset(probe).stamp) + 30_000_000_000
    fly(probe, 'down', 1.0)
    probe.listen('camera/up/image_raw', 'odometry', 'tf', deep=True)
    images, frames = probe.heard['camera/up/image_raw'], probe.heard['tf']
    probe.until(lambda: images and probe.heard['odometry'])
    before = len(images)
    response = probe.call(Observe, 'sim/observe', Observe.Request())
    assert (response.error_code, response.step, time_ns(response.stamp)) == (0, 1, landed)
    probe.until(lambda: len(images) > before)
    first, again = images[-2:]
    assert bytes(first.data) == bytes(again.data)
    assert stamp_ns(again) == landed
    # tf2 warns of a transform that it has already. The next maneuver's frames come after any.
    fly(probe, 'hold', 1.0)
    probe.until(lambda: frames and stamp_ns(frames[-1].transforms[-1]) == landed + 30_000_000_000)
    assert min(stamp_ns(t) for m in frames for t in m.transforms) > landed


@pytest.mark.parametrize(
    ('name', 'change'),
    [
        ('BAD_START', {'start': (144.0, -114.0, -72.0)}),
        ('BAD_START', {'start': (9000.0, 0.0, -5.0)}),
        ('BAD_START', {'start': (math.nan, 0.0, -5.0)}),
        ('UNKNOWN_PROFILE', {'profile': 'hardest'}),
        ('UNKNOWN_TARGET', {'targets': ['atlantis']}),
        ('BAD_TIME', {'t_max': 0.0}),
        ('BAD_TIME', {'t_interval': math.nan}),
    ],
)
def test_every_refusal_of_a_reset(backend, probe, name, change):
    from oceangym_msgs.srv import Reset

    response = reset(probe, **change)
    assert response.error_code == getattr(Reset.Response, name)
    assert response.error_msg


def test_every_refusal_of_a_maneuver(backend, probe):
    from oceangym_msgs.action import Maneuver
    from oceangym_msgs.srv import Reset

    codes = Maneuver.Result
    reset(probe)
    assert fly(probe, 'sideways').error_code == codes.UNKNOWN_ACTION
    assert fly(probe, 'stop').error_code == codes.UNKNOWN_ACTION
    assert fly(probe, 'forward', -1.0).error_code == codes.BAD_MAGNITUDE
    assert fly(probe, 'forward', math.inf).error_code == codes.BAD_MAGNITUDE

    reset(probe, t_interval=80000.0, t_max=80000.0)
    running = send(probe, 'hold')
    assert fly(probe, 'forward').error_code == codes.BUSY
    assert reset(probe).error_code == Reset.Response.BUSY
    probe.done(running.cancel_goal_async())
    result = probe.done(running.get_result_async()).result
    assert (result.error_code, result.end_reason) == (codes.PREEMPTED, 'preempted')

    epoch = time_ns(reset(probe, t_max=20.0).stamp)
    last = fly(probe, 'forward')
    assert (last.error_code, last.end_reason) == (0, 'time')
    assert time_ns(last.t_end) == epoch + 20_000_000_000
    assert fly(probe, 'forward').error_code == codes.TIME_IS_UP

    # 12 m below the surface-side bound of a volume that ends above the vehicle.
    from geometry_msgs.msg import Point

    reset(
        probe,
        lower=Point(x=100.0, y=-200.0, z=-69.0),
        upper=Point(x=200.0, y=0.0, z=-61.0),
    )
    out = fly(probe, 'up', 20.0)
    assert (out.error_code, out.end_reason) == (0, 'bounds')
    assert fly(probe, 'hold').error_code == codes.OUT_OF_BOUNDS


def test_a_maneuver_flies_what_it_says_and_reports_progress(backend, probe):
    from oceangym_msgs.action import Maneuver

    reset(probe)
    probe.listen('truth/odometry', 'truth/step')
    client = probe.action_client(Maneuver, 'maneuver')
    progress = []
    handle = probe.done(
        client.send_goal_async(
            Maneuver.Goal(action='forward', magnitude=11.0),
            feedback_callback=lambda m: progress.append(m.feedback.progress),
        )
    )
    result = probe.done(handle.get_result_async()).result
    assert result.applied == pytest.approx(11.0, abs=0.3)
    assert (result.end_reason, result.saturated, result.step) == ('completed', False, 1)
    assert progress == sorted(progress)
    assert progress
    steps = probe.until(lambda: [s for s in probe.heard['truth/step'] if s.requested == 11.0])
    moved = steps[-1].pose.position.x - START[0]
    assert moved == pytest.approx(result.applied, abs=0.3)
    saturated = fly(probe, 'forward', 500.0)
    assert saturated.saturated
    assert saturated.applied < 30.0
    reset(probe)
    goal = Maneuver.Goal(action='go', magnitude=9.0, turn_deg=90.0, climb_m=4.0)
    turned = probe.done(probe.done(client.send_goal_async(goal)).get_result_async()).result
    assert (turned.end_reason, turned.saturated) == ('completed', False)
    made = (turned.applied, turned.turned_deg, turned.climbed_m)
    assert made == pytest.approx((9.0, 90.0, 4.0), abs=0.3)
    step = probe.until(lambda: [s for s in probe.heard['truth/step'] if s.action == 'go'])[-1]
    # From a heading along x, a turn to port leads along y.
    place = step.pose.position
    assert (place.x, place.y, place.z) == pytest.approx(
        (START[0], START[1] + 9.0, START[2] + 4.0), abs=0.3
    )
    assert (step.turn_deg, step.climb_m, step.turned_deg) == (90.0, 4.0, turned.turned_deg)


def test_velocity_commands_are_refused_in_lockstep(backend, probe):
    from geometry_msgs.msg import TwistStamped

    from oceangym_core.nodes.qos import publisher_qos

    reset(probe)
    publisher = probe.node.create_publisher(
        TwistStamped, 'cmd_vel', publisher_qos(Delivery.COMMAND)
    )

    def refused() -> bool:
        # Commands are best effort: an operator sends many.
        publisher.publish(TwistStamped())
        return 'cmd_vel is refused in lockstep' in backend['nodes'].log('simulator')

    probe.until(refused)


def test_the_same_seed_gives_the_same_images_another_gives_others(backend, probe):
    probe.listen('truth/step')
    hashes = []
    for seed in (5, 5, 6):
        probe.heard['truth/step'].clear()
        reset(probe, seed=seed)
        step = probe.until(lambda: [s for s in probe.heard['truth/step'] if s.step == 0])[-1]
        hashes.append(dict(zip(step.stream_names, step.stream_hashes)))
    assert hashes[0] == hashes[1]
    assert len(hashes[0]) == 12
    assert all(hashes[0][name] != hashes[2][name] for name in hashes[0])
