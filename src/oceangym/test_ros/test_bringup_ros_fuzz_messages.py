"""Messages of foreign nodes with any content are answered, and whoever gets them lives on."""

from __future__ import annotations

import contextlib
import math

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

pytest.importorskip('rclpy')

from oceangym_msgs.msg import SonarInfo
from sensor_msgs.msg import Image

from oceangym_agent.nodes.conversions import image_array, sonar_spec
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import Action
from oceangym_core.errors import OceanGymError
from oceangym_core.rng import generator
from oceangym_gazebo.nodes.optics_node import pixels

pytestmark = pytest.mark.ros

BUDGET = settings(max_examples=150, deadline=None)
SIZES = st.sampled_from([0, 1, 2, 3, 4, 6, 8, 12, 24, 2**31, 2**32 - 1])
FLOATS = st.floats(width=32)


@BUDGET
@given(
    height=SIZES, width=SIZES, step=SIZES, big=st.integers(0, 255), data=st.binary(max_size=60),
    encoding=st.sampled_from(['rgb8', 'mono8', '32FC1', 'bgr8', '16UC1', '', 'RGB8']),
)  # fmt: skip
def test_any_image(height, width, step, big, data, encoding):
    message = Image(height=height, width=width, step=step, is_bigendian=big, encoding=encoding)
    message.data = data
    with contextlib.suppress(OceanGymError):
        assert image_array(message).shape[:2] == (height, width)
    for kind in ('image', 'depth_image'):
        with contextlib.suppress(OceanGymError):
            assert pixels(message, kind).shape[:2] == (height, width)


@BUDGET
@given(
    ranges=st.tuples(FLOATS, FLOATS, FLOATS), azimuths=st.lists(FLOATS, max_size=4),
    rest=st.tuples(FLOATS, FLOATS, FLOATS),
    frame=st.sampled_from(['sonar_front_frame', 'sonar__frame', 'base_link', '']),
)  # fmt: skip
def test_any_sonar_geometry(ranges, azimuths, rest, frame):
    message = SonarInfo(
        range_min=ranges[0], range_max=ranges[1], range_resolution=ranges[2], azimuth=azimuths,
        elevation_aperture=rest[0], frequency=rest[1], sound_speed=rest[2],
    )  # fmt: skip
    message.header.frame_id = frame
    with contextlib.suppress(OceanGymError):
        spec = sonar_spec(message)
        assert spec.range_bins >= 1
        assert np.isfinite(spec.azimuths).all()


ODD = (0.0, -1.0, 1e-300, 1e6, 1e300, math.inf, -math.inf, math.nan)


def test_a_simulator_answers_any_reset_and_any_maneuver(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe
):
    """Twenty odd requests of each kind, then a good one: every one is answered, the last obeyed."""
    from geometry_msgs.msg import Point, Pose, Quaternion
    from oceangym_msgs.action import Maneuver
    from oceangym_msgs.srv import Reset

    rng = generator(0, 'odd requests')

    def odd(usual: float) -> float:
        return float(rng.choice(ODD)) if rng.random() < 0.2 else usual

    def text(usual: str) -> str:
        return (
            str(rng.choice(['', 'ünknown', 'x' * 5000, '../..'])) if rng.random() < 0.2 else usual
        )

    def request(change=lambda value: value, word=lambda value: value):
        return Reset.Request(
            start=Pose(
                position=Point(x=change(144.0), y=change(-114.0), z=change(-60.0)),
                orientation=Quaternion(x=change(0.0), y=change(0.0), z=change(0.0), w=change(1.0)),
            ),
            t_max=change(600.0), t_interval=change(30.0), profile=word('standard'),
            targets=[word('oil_pipeline_1')], shift=[change(0.0), change(0.0), change(0.0)],
            lower=Point(x=change(-200.0), y=change(-400.0), z=change(-100.0)),
            upper=Point(x=change(650.0), y=change(250.0), z=change(5.0)),
        )  # fmt: skip

    options = RunOptions(agent='none', sensors='none', record='false')
    nodes, probe = make_nodes(tmp_path, domain_id), make_probe('stranger')
    try:
        nodes.start(make_specs(options, tmp_path, small_world)['simulator'])
        client = probe.node.create_client(Reset, 'sim/reset')
        probe.until(client.service_is_ready)
        probe.acquaint('simulator')
        answers = [probe.done(client.call_async(request(odd, text))).error_code for _ in range(20)]
        assert any(answers)
        assert probe.done(client.call_async(request())).error_code == 0
        maneuver = probe.action_client(Maneuver, 'maneuver')
        actions = [*(a.value for a in Action), '', 'fly', 'FORWARD', 'x' * 5000]

        def fly(action: str, magnitude: float) -> int:
            goal = Maneuver.Goal(action=action, magnitude=magnitude)
            handle = probe.done(maneuver.send_goal_async(goal))
            return probe.done(handle.get_result_async()).result.error_code

        codes = [fly(str(rng.choice(actions)), odd(1.0)) for _ in range(20)]
        assert any(codes)
        assert probe.done(client.call_async(request())).error_code == 0
        assert fly('forward', 5.0) == 0
    finally:
        nodes.close()
        probe.close()
    assert 'Traceback' not in nodes.log('simulator')
