from __future__ import annotations

from collections.abc import Mapping
import http.client
import itertools
import json
import math
import threading
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from oceangym_agent.scripted_models.completions import contents, usage
from oceangym_agent.scripted_models.faults import Fault, FaultKind
from oceangym_agent.scripted_models.prompt_reading import read, Reading
from oceangym_agent.scripted_models.scripts import lookout, patrol, script, script_names
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_core.contract.actions import Action, default_magnitude, unit_motion
from oceangym_core.errors import OceanGymError

KEY = 'sk-planted-0123456789abcdef'
CORNERS = ((-200.0, -400.0), (650.0, -400.0), (650.0, 250.0), (-200.0, 250.0))
Z_RANGE = (-100.0, 5.0)


def prompt(
    step: int = 0,
    position: tuple[float, float, float] = (144.0, -114.0, -63.0),
    heading: float = -135.0,
    *,
    altitude: str = '12.0 m above the bottom',
    corners: tuple[tuple[float, float], ...] = CORNERS,
    extra: str = '',
    style: str = 'json',
) -> dict[str, Any]:
    """A request as the shipped prompts make it."""
    command = {'json': 'JSON with "action"', 'markers': '$$ .. @@@ .. $$', 'describe': 'describe'}
    state = (
        f'Step: {step}\nPosition: [{", ".join(f"{v:.1f}" for v in position)}]\n'
        f'Heading: {heading:.1f} deg\nAltitude: {altitude}\n'
        f'Bounds: corners {", ".join(f"[{x:.1f}, {y:.1f}]" for x, y in corners)}, '
        f'z {Z_RANGE[0]:.1f} to {Z_RANGE[1]:.1f} m\n{extra}'
    )
    image = {'type': 'image_url', 'image_url': {'url': 'data:image/png;base64,AAAA'}}
    return {
        'model': 'any',
        'messages': [
            {'role': 'system', 'content': f'Target: SUNKEN SHIP\nAnswer: {command[style]}'},
            {'role': 'user', 'content': [{'type': 'text', 'text': state}, image, image]},
        ],
    }


def call(
    server: ScriptedModelServer, body: object, *, path: str = '/v1/chat/completions'
) -> tuple[int, dict[str, Any]]:
    port = int(server.url.split(':')[2].partition('/')[0])
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=30)
    try:
        headers = {'Authorization': f'Bearer {KEY}', 'Content-Type': 'application/json'}
        if body is None:
            connection.request('GET', path, headers=headers)
        else:
            raw = body if isinstance(body, bytes) else json.dumps(body).encode()
            connection.request('POST', path, body=raw, headers=headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


# ---------------------------------------------------------------- the protocol


def test_a_completion_has_the_members_of_the_protocol() -> None:
    with ScriptedModelServer(script=lambda body, number: f'reply {number}') as server:
        status, first = call(server, prompt())
        _, second = call(server, prompt())
    assert status == 200
    assert first['object'] == 'chat.completion'
    assert first['choices'][0]['message'] == {'role': 'assistant', 'content': 'reply 0'}
    assert first['choices'][0]['finish_reason'] == 'stop'
    assert second['choices'][0]['message']['content'] == 'reply 1'


def test_models_are_listed() -> None:
    with ScriptedModelServer(script=patrol, model='scripted_patrol') as server:
        status, listed = call(server, None, path='/v1/models')
    assert status == 200
    assert [m['id'] for m in listed['data']] == ['scripted_patrol']


@pytest.mark.parametrize(
    ('body', 'path', 'status'),
    [
        (b'not json', '/v1/chat/completions', 400),
        ([], '/v1/chat/completions', 400),
        ({'model': 'm'}, '/v1/chat/completions', 400),
        ({'messages': []}, '/v1/embeddings', 404),
        (None, '/', 404),
    ],
)
def test_other_requests_are_refused_as_the_protocol_does(
    body: object, path: str, status: int
) -> None:
    with ScriptedModelServer(script=patrol) as server:
        given_status, content = call(server, body, path=path)
    assert given_status == status
    assert content['error']['message']


def test_requests_are_recorded_without_their_key() -> None:
    with ScriptedModelServer(script=patrol, key=KEY) as server:
        assert call(server, prompt())[0] == 200
        (request,) = server.requests
        assert request.body == prompt()
        assert request.headers['content-type'] == 'application/json'
        assert KEY not in repr((request.headers, request.body))
    with ScriptedModelServer(script=patrol, key=KEY, keep_keys=True) as server:
        call(server, prompt())
        assert server.requests[0].headers['authorization'] == f'Bearer {KEY}'


def test_an_agent_s_own_server_keeps_no_requests() -> None:
    with ScriptedModelServer(script=patrol, keep_requests=False) as server:
        assert call(server, prompt())[0] == call(server, prompt())[0] == 200
        assert (server.calls, server.requests) == (2, ())


def test_another_key_is_not_let_in() -> None:
    with ScriptedModelServer(script=patrol, key=KEY[::-1]) as server:
        assert call(server, prompt())[0] == 401


def test_a_script_may_return_a_fault() -> None:
    fault = Fault(kind=FaultKind.LENGTH, text='0123456789')
    with ScriptedModelServer(script=lambda body, number: fault) as server:
        _, content = call(server, prompt())
    assert content['choices'][0]['message']['content'] == '01234'
    assert content['choices'][0]['finish_reason'] == 'length'


def test_faults_are_given_by_call_number() -> None:
    faults = {1: Fault(kind=FaultKind.SERVER_ERROR)}
    with ScriptedModelServer(script=patrol, faults=faults) as server:
        assert [call(server, prompt())[0] for _ in range(3)] == [200, 500, 200]
        assert server.calls == 3


def test_usage_depends_on_nothing_but_texts_and_images() -> None:
    body = prompt()
    texts, images = contents(body)
    assert images == 2
    assert len(texts) == 2
    counted = usage(body, 'x' * 41)
    assert counted['prompt_tokens'] == sum(math.ceil(len(t) / 4) for t in texts) + 2 * 85
    assert counted['completion_tokens'] == 11
    assert counted['total_tokens'] == counted['prompt_tokens'] + 11


@pytest.mark.parametrize(
    'kind', [FaultKind.HANG, FaultKind.DRIP, FaultKind.DRIP_HEADERS, FaultKind.ENDLESS]
)
def test_a_server_stops_while_a_client_waits(kind: FaultKind) -> None:
    before = set(threading.enumerate())
    server = ScriptedModelServer(script=patrol, faults=Fault(kind=kind))
    server.start()
    failures: list[Exception] = []

    def wait() -> None:
        try:
            call(server, prompt())
        except Exception as error:
            failures.append(error)

    client = threading.Thread(target=wait)
    client.start()
    while server.calls == 0:
        client.join(0.005)
    server.close()
    server.close()
    client.join(30.0)
    assert failures
    assert set(threading.enumerate()) <= before
    with pytest.raises(RuntimeError, match='not running'):
        _ = server.url


# ---------------------------------------------------------------- scripts


def test_scripts_are_known_by_name() -> None:
    assert script_names() == ('lookout', 'patrol')
    assert script('patrol') is patrol
    with pytest.raises(OceanGymError, match="Did you mean 'patrol'"):
        script('patroll')


def test_a_prompt_is_understood() -> None:
    line = (
        'Detector (often wrong): - front: 12 % of the image is not water-coloured; compact sonar '
        'contact, bearing +5 deg, range 14.0 m, 6.0 m across, about at [130.0, -120.0, -64.0]\n'
        '- left: 3 % of the image is not water-coloured'
    )
    reading = read(prompt(7, (1.5, -2.0, -30.0), 90.0, extra=line))
    assert reading.step == 7
    assert reading.position == (1.5, -2.0, -30.0)
    assert reading.yaw == pytest.approx(math.pi / 2)
    assert reading.altitude == 12.0
    assert reading.corners == CORNERS
    assert reading.z_range == Z_RANGE
    assert reading.target == 'SUNKEN SHIP'
    assert reading.detection is not None
    assert reading.detection.direction == 'front'
    assert reading.detection.position == (130.0, -120.0, -64.0)
    assert not reading.markers
    assert not reading.describe


def test_a_prompt_of_another_make_is_survived() -> None:
    bodies: list[Mapping[str, Any]] = [
        {'messages': []},
        {'messages': [None, {'content': 5}, {'content': [3, {'text': 4}]}]},
        {'messages': [{'role': 'user', 'content': 'Step: x "action"'}]},
    ]
    for body in bodies:
        for name in script_names():
            assert script(name)(body, 0)


@pytest.mark.parametrize('name', script_names())
def test_a_script_depends_on_the_request_alone(name: str) -> None:
    for step in range(5):
        assert len({script(name)(prompt(step), number) for number in (0, 1, 99)}) == 1


def moved(
    position: tuple[float, float, float], heading_deg: float, action: Action, magnitude: float
) -> tuple[tuple[float, float, float], float]:
    """Ideal kinematics of one maneuver."""
    if action is Action.ROTATE_LEFT:
        return position, heading_deg + magnitude
    if action is Action.ROTATE_RIGHT:
        return position, heading_deg - magnitude
    ahead, port, up = (magnitude * c for c in unit_motion(action))
    yaw = math.radians(heading_deg)
    x, y, z = position
    return (
        x + ahead * math.cos(yaw) - port * math.sin(yaw),
        y + ahead * math.sin(yaw) + port * math.cos(yaw),
        z + up,
    ), heading_deg


def fly(
    name: str,
    position: tuple[float, float, float],
    heading: float,
    corners: tuple[tuple[float, float], ...],
) -> tuple[list[tuple[float, float, float]], list[dict[str, Any]]]:
    """Positions and replies of 60 decisions over a flat seabed at z = -75."""
    track, replies = [position], []
    for step in range(60):
        altitude = f'{position[2] + 75:.1f} m'
        body = prompt(step, position, heading, altitude=altitude, corners=corners)
        reply = json.loads(str(script(name)(body, step)))
        action = Action(reply['action'])
        assert action is not Action.STOP
        magnitude = reply['magnitude']
        magnitude = default_magnitude(action) if magnitude is None else magnitude
        position, heading = moved(position, heading, action, magnitude)
        track.append(position)
        replies.append(reply)
    return track, replies


def shifted(
    x: float, y: float, turn: float
) -> tuple[tuple[tuple[float, float], ...], tuple[float, float]]:
    """The operating area in an odom frame that is moved and turned, and the start in it."""
    c, s = math.cos(turn), math.sin(turn)

    def carry(px: float, py: float) -> tuple[float, float]:
        return round(c * px - s * py + x, 1), round(s * px + c * py + y, 1)

    return tuple(carry(*corner) for corner in CORNERS), carry(144.0, -114.0)


@settings(max_examples=40, deadline=None)
@given(
    name=st.sampled_from(script_names()),
    x=st.floats(-500, 500),
    y=st.floats(-500, 500),
    turn=st.floats(-math.pi, math.pi),
    ahead=st.floats(0.0, 320.0),
    z=st.floats(-70.0, -5.0),
    heading=st.floats(-180, 180),
)
def test_sixty_decisions_stay_in_the_area_and_go_somewhere(
    name: str, x: float, y: float, turn: float, ahead: float, z: float, heading: float
) -> None:
    corners, start = shifted(x, y, turn)
    # Towards the nearest edge along the area's own x axis, so that some starts are close to it.
    begin = (start[0] - ahead * math.cos(turn), start[1] - ahead * math.sin(turn), round(z, 1))
    track, replies = fly(name, begin, round(heading, 1), corners)
    area = Reading(corners=corners, z_range=Z_RANGE)
    assert all(area.inside(*p, margin=2.0) for p in track)
    assert len(replies) == 60
    assert max(math.dist(p, begin) for p in track) > 20.0


def test_a_patrol_flies_lanes_at_its_height() -> None:
    track, replies = fly('patrol', (144.0, -114.0, -63.0), -135.0, CORNERS)
    assert all(8.0 <= p[2] + 75.0 <= 25.0 for p in track)
    assert not any(r['finds'] for r in replies)
    assert sum(math.dist(a, b) for a, b in itertools.pairwise(track)) > 600.0


def test_a_patrol_returns_to_its_height() -> None:
    for altitude, action, magnitude in ((3.0, 'up', 11.0), (60.0, 'down', 20.0)):
        reply = json.loads(str(patrol(prompt(altitude=f'{altitude} m'), 0)))
        assert (reply['action'], reply['magnitude']) == (action, magnitude)


def test_a_patrol_reports_what_the_detector_names_and_nothing_else() -> None:
    line = (
        'Detector: - left: 9 % of the image is not water-coloured; compact sonar contact, '
        'bearing +90 deg, range 9.0 m, 4.0 m across, about at [1.0, 2.0, -60.0]'
    )
    (find,) = json.loads(str(patrol(prompt(extra=line), 0)))['finds']
    assert find['label'] == 'SUNKEN SHIP'
    assert find['direction'] == 'left'
    assert find['position'] == [1.0, 2.0, -60.0]
    quiet = 'Detector: nothing out of the ordinary'
    assert json.loads(str(patrol(prompt(extra=quiet), 0)))['finds'] == []


def test_a_lookout_turns_and_reports_twice() -> None:
    _, replies = fly('lookout', (144.0, -114.0, -63.0), -135.0, CORNERS)
    assert [bool(r['finds']) for r in replies].count(True) == 2
    find = replies[5]['finds'][0]
    assert find['label'] == 'SUNKEN SHIP'
    assert find['direction'] == 'front'
    # Five turns of 45 deg to the left of -135 deg: ahead is at 90 deg.
    assert find['position'] == pytest.approx([144.0, -104.0, -63.0], abs=0.11)
    assert [r['action'] for r in replies[:9]] == ['rotate_left'] * 8 + ['up']


def test_the_two_scripts_differ() -> None:
    assert any(patrol(prompt(s), s) != lookout(prompt(s), s) for s in range(3))


def test_replies_come_in_markers_where_the_prompt_asks_for_them() -> None:
    quiet = str(patrol(prompt(4, style='markers'), 0))
    assert quiet.startswith('## Front: ')
    assert quiet.endswith('##\nrotate left 90 deg')
    found = str(lookout(prompt(5, style='markers'), 0))
    assert found.startswith('$$ Target object found@@@ SUNKEN SHIP, estimated position [')
    assert found.endswith('$$\nrotate left 45 deg')
    assert str(patrol(prompt(0, style='markers'), 0)).endswith('move forward 20 m')


def test_views_are_described_where_the_prompt_asks_for_that() -> None:
    text = str(patrol(prompt(3, style='describe'), 0))
    assert 'front: not looked at' in text
    assert '{' not in text


def test_a_reask_is_answered_for_the_same_step() -> None:
    body = prompt(4)
    again = {
        **body,
        'messages': [
            *body['messages'],
            {'role': 'assistant', 'content': 'Step forward, Step: 9'},
            {'role': 'user', 'content': 'That was no JSON with "action".'},
        ],
    }
    assert patrol(again, 1) == patrol(body, 0)
