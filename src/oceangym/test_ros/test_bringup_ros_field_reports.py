"""What went wrong for users of comparable systems, looked for over DDS in our own."""

from __future__ import annotations

import itertools

import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.contract.topics import camera_streams, sonar_streams

pytestmark = pytest.mark.ros

RATE_S = 1.0


def seconds(stamp) -> float:
    return stamp.sec + stamp.nanosec * 1e-9


@pytest.mark.parametrize(('rtf', 'count'), [(0.3, 2), (3.0, 5), (50.0, 8)])
def test_images_are_stamped_with_the_clock_whatever_its_speed(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe, rtf, count
):
    """Slower, faster, and faster than it can be: twelve images each second of the clock.

    Elsewhere cameras and sonars were stamped with wall time, and many cameras were skipped or late
    when the machine could not keep up. Here the clock waits instead.
    """
    from geometry_msgs.msg import Point, Pose, Quaternion
    from oceangym_msgs.srv import Reset

    options = RunOptions(agent='none', mode='realtime', rtf=rtf, sensors='all', record='false')
    simulator = make_specs(options, tmp_path, small_world)['simulator']
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('watch')
    images = [camera_streams(d)[0].name for d in DIRECTIONS]
    images += [s.name for d in DIRECTIONS for s in sonar_streams(d)[:2]]
    try:
        nodes.start(simulator, camera_size=64)
        probe.listen(*images, '/clock', deep=True)
        start = Pose(position=Point(x=144.0, y=-114.0, z=-60.0), orientation=Quaternion(w=1.0))
        request = Reset.Request(
            start=start, t_max=600.0, t_interval=30.0, profile='standard', targets=[]
        )
        response = probe.call(Reset, 'sim/reset', request)
        assert response.error_code == 0
        due = seconds(response.stamp) + count * RATE_S
        ahead = []
        for number in range(1, count + 1):
            probe.until(lambda n=number: all(len(probe.heard[name]) > n for name in images))
            newest = max(seconds(c.clock) for c in probe.heard['/clock'])
            ahead.append(newest - seconds(probe.heard[images[0]][number].header.stamp))
        probe.until(lambda: seconds(probe.heard['/clock'][-1].clock) >= due)
    finally:
        nodes.close()
        probe.close()
    ticks = {round(seconds(c.clock) * 1e3) for c in probe.heard['/clock']}
    for name in images:
        stamps = [seconds(m.header.stamp) for m in probe.heard[name]][: count + 1]
        assert {round(s * 1e3) for s in stamps} <= ticks, name
        gaps = [b - a for a, b in itertools.pairwise(stamps)]
        assert gaps == pytest.approx([RATE_S] * count), name
    if rtf <= 1.0:
        # What the machine can keep up with is heard before the next is due.
        assert max(ahead) < RATE_S


def test_whether_a_current_flows_is_told(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe
):
    """Elsewhere a current in the world file was silently off. Here the diagnostics tell it."""
    from geometry_msgs.msg import Point, Pose, Quaternion
    from oceangym_msgs.srv import Reset

    options = RunOptions(agent='none', sensors='none', record='false')
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('watch')
    probe.listen('/diagnostics', deep=True)

    def current() -> str:
        values = [v for m in probe.heard['/diagnostics'] for v in m.status[0].values]
        return [v.value for v in values if v.key == 'current'][-1]

    try:
        nodes.start(make_specs(options, tmp_path, small_world)['simulator'])
        start = Pose(position=Point(x=144.0, y=-114.0, z=-60.0), orientation=Quaternion(w=1.0))
        for profile, told in (('hard', '0.25 m/s'), ('standard', '0 m/s')):
            request = Reset.Request(
                start=start, t_max=600.0, t_interval=30.0, profile=profile, targets=[]
            )
            assert probe.call(Reset, 'sim/reset', request).error_code == 0
            probe.until(lambda t=told: probe.heard['/diagnostics'] and current() == t)
    finally:
        nodes.close()
        probe.close()
