"""What a model is asked: every label, number and image where it belongs, the same each time."""

from __future__ import annotations

from dataclasses import replace
import itertools
import math
from pathlib import Path
import re
import shutil
from typing import Any

import cv2
import numpy as np
import pytest

from oceangym_agent.agent import GoalView, StatusView
from oceangym_agent.chat import ChatRequest, ImagePart, Role, TextPart
from oceangym_agent.memory import CoverageMap, Memory, MemoryStep
from oceangym_agent.memory.tokens import estimate_tokens
from oceangym_agent.prompts import (
    CoverageInput,
    load_prompt,
    Loop,
    Outcome,
    prompt_names,
    PromptBuilder,
    PromptSettings,
    SonarInput,
    StepView,
)
from oceangym_agent.replies import format_instructions, parse_reply, reply_schema
from oceangym_agent.replies.reply import ReplyStyle
from oceangym_core.assets import config_path
from oceangym_core.config.tasks import load_task
from oceangym_core.contract.actions import Action, DIRECTIONS, sonar_orientation
from oceangym_core.contract.frames import bounds_polygon, FrameShift
from oceangym_core.contract.observation import (
    NavigationState,
    Observation,
    SonarPing,
    SonarSpec,
)
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose

SHIFT = FrameShift(-731.5, 1204.25, -2.4)
PROMPTS = ('oceangym', 'concise')
STYLES = tuple(ReplyStyle)


def goal(**changes: Any) -> GoalView:
    task = load_task(config_path('tasks', 'search_ship.yaml'))
    view = GoalView(
        task_id=task.id,
        instruction=task.instruction,
        target_label=task.label,
        target_description=task.target_description,
        reference_image=task.reference_image_path,
        bounds=bounds_polygon((-200.0, -400.0, -100.0), (650.0, 250.0, 5.0), SHIFT),
        z_min=-95.5,
        z_max=4.5,
        t_max=1500.0,
        t_interval=30.0,
        target_count=2,
    )
    return replace(view, **changes)


def settings(style: ReplyStyle = ReplyStyle.JSON, **changes: Any) -> PromptSettings:
    return PromptSettings(
        reply_instructions=format_instructions(style),
        style=style,
        schema=reply_schema() if style is ReplyStyle.JSON else None,
        **{'image_size': 128, **changes},
    )


def observation(index: int = 3, *, yaw_deg: float = -135.0, sonars: bool = True) -> Observation:
    x, y, z = SHIFT.points_to_odom((93.7, -41.3, -40.0))
    navigation = NavigationState(
        stamp=30.0 * index,
        pose=Pose.from_euler((x, y, z), 0.0, 0.0, math.radians(yaw_deg)),
        linear_velocity=(0.3, 0.4, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.3, 0.4, 0.1),
        depth=40.0,
        altitude=9.26,
        battery=0.734,
    )
    rng = np.random.default_rng(index)
    cameras = {d: rng.integers(0, 255, (64, 64, 3)).astype(np.uint8) for d in reversed(DIRECTIONS)}
    geometry = {
        d: SonarSpec(
            direction=d,
            mount=Pose.of((0, 0, 0), sonar_orientation(d)),
            range_bins=64,
            beams=64,
            elevation_aperture=math.radians(20.0),
        )
        for d in DIRECTIONS
    }
    polar = np.full((64, 64), 1e-6, np.float32)
    polar[30:36, 28:36] = 0.4
    pings = {d: SonarPing(polar=polar, fan=np.zeros((8, 8), np.uint8)) for d in DIRECTIONS}
    return Observation(
        index=index,
        stamp=navigation.stamp,
        navigation=navigation,
        cameras=cameras,
        sonars=pings if sonars else {},
        sonar_geometry=geometry if sonars else {},
    )


def step_view(index: int = 3, **changes: Any) -> StepView:
    memory = Memory()
    for k in range(index):
        memory.remember(
            MemoryStep(
                index=k,
                time=30.0 * k,
                description=f'boulder {k}',
                action=Action.UP,
                magnitude=5.0,
                position=(1.0, 2.0, -40.0),
                heading_deg=10.0,
            )
        )
    coverage = CoverageMap(goal().bounds)
    seen = observation(index)
    coverage.visit(seen.navigation.pose.position)
    view = StepView(
        index=index,
        observation=seen,
        status=StatusView(elapsed=30.0 * index, remaining=1500.0 - 30.0 * index),
        memory=memory,
        coverage=coverage,
        outcome=Outcome(action=Action.FORWARD, requested=30.0, applied=20.7, saturated=True),
    )
    return replace(view, **changes)


def builder(
    name: str = 'oceangym', goal_: GoalView | None = None, **changes: Any
) -> PromptBuilder:
    return PromptBuilder(
        prompt=load_prompt(name), goal=goal_ or goal(), settings=settings(**changes)
    )


def text_of(request: ChatRequest, role: Role) -> str:
    return '\n'.join(
        part.text
        for message in request.messages
        if message.role is role
        for part in message.parts
        if isinstance(part, TextPart)
    )


def images_of(request: ChatRequest) -> list[ImagePart]:
    return [p for m in request.messages for p in m.parts if isinstance(p, ImagePart)]


def label_before(request: ChatRequest, name: str) -> str:
    """Return the last line of text in front of an image."""
    parts = request.messages[1].parts
    number = next(i for i, p in enumerate(parts) if isinstance(p, ImagePart) and p.name == name)
    before = parts[number - 1]
    assert isinstance(before, TextPart)
    return before.text.strip().splitlines()[-1]


# ------------------------------------------------------------------ what every prompt holds


@pytest.mark.parametrize('style', STYLES)
@pytest.mark.parametrize('name', PROMPTS)
def test_system_and_user_message_with_all_images(name: str, style: ReplyStyle) -> None:
    request = builder(name, style=style).single(step_view())
    assert [m.role for m in request.messages] == [Role.SYSTEM, Role.USER]
    assert all(isinstance(p, TextPart) for p in request.messages[0].parts)
    assert [i.name for i in images_of(request)] == [
        'reference',
        *(f'camera_{d}' for d in DIRECTIONS),
    ]
    told = text_of(request, Role.SYSTEM)
    assert format_instructions(style).strip() in told
    for expected in ('SUNKEN SHIP', '10 m', goal().instruction, '2'):
        assert expected in told
    assert (request.schema is not None) == (style is ReplyStyle.JSON)


@pytest.mark.parametrize('name', PROMPTS)
def test_the_state_lines(name: str) -> None:
    request = builder(name).single(step_view())
    lines = text_of(request, Role.USER).splitlines()
    x, y, z = (round(float(v), 1) for v in SHIFT.points_to_odom((93.7, -41.3, -40.0)))
    assert 'Step: 3' in lines
    assert f'Position: [{x}, {y}, {z}]' in lines
    assert 'Heading: -135.0 deg' in lines
    text = '\n'.join(lines)
    assert re.search(r'^Altitude: 9\.3 m', text, re.MULTILINE)
    for expected in ('40.0 m', '0.50 m/s', '1410 s', '47 decisions', '20.7 m were made'):
        assert expected in text
    # Bounds are those of the goal, in odom.
    (bounds,) = (line for line in lines if line.startswith('Bounds:'))
    corners = [(float(a), float(b)) for a, b in re.findall(r'\[([-\d.]+), ([-\d.]+)\]', bounds)]
    assert np.asarray(corners) == pytest.approx(np.asarray(goal().bounds), abs=0.051)
    assert 'z -95.5 to 4.5 m' in bounds


@pytest.mark.parametrize('name', PROMPTS)
@pytest.mark.parametrize('loop', ['single', 'perceive', 'act'])
def test_the_released_numbers_are_nowhere(name: str, loop: str) -> None:
    """Neither the released bounds and starts nor any target's coordinate is written down."""
    made = builder(name)
    view = step_view(memory=Memory())
    request = {
        'single': lambda: made.single(view),
        'perceive': lambda: made.perceive(view),
        'act': lambda: made.act(view, 'Open water.'),
    }[loop]()
    text = text_of(request, Role.SYSTEM) + text_of(request, Role.USER)
    for number in ('-200', '650', '-400', '250.0', '144', '-114', '350', '429', '-151'):
        assert not re.search(rf'(?<![\d.-]){re.escape(number)}(?![\d])', text), number


@pytest.mark.parametrize('name', PROMPTS)
def test_images_stand_behind_their_labels(name: str) -> None:
    request = builder(name, camera_fov_deg=80.0).single(step_view())
    assert 'eference image' in label_before(request, 'reference')
    for direction in DIRECTIONS:
        label = label_before(request, f'camera_{direction}')
        assert label.startswith(
            f'{direction.capitalize()} camera, 64 x 64 px, 80 deg field of view'
        )
    assert 'stern' in label_before(request, 'camera_up')
    assert 'bow' in label_before(request, 'camera_down')


def test_the_images_are_those_of_the_observation() -> None:
    view = step_view()
    for part in images_of(builder(image_format='png').single(view)):
        decoded = cv2.imdecode(np.frombuffer(part.data, np.uint8), cv2.IMREAD_COLOR)
        assert (part.width, part.height) == (decoded.shape[1], decoded.shape[0])
        if part.name.startswith('camera_'):
            sent = cv2.cvtColor(decoded, cv2.COLOR_BGR2RGB)
            assert np.array_equal(sent, view.observation.cameras[part.name[7:]])


def test_the_reference_image_is_sent_as_an_image() -> None:
    task_image = goal().reference_image
    assert task_image is not None
    (sent,) = (
        p
        for p in images_of(builder(image_format='png', image_size=256).single(step_view()))
        if p.name == 'reference'
    )
    decoded = cv2.imdecode(np.frombuffer(sent.data, np.uint8), cv2.IMREAD_COLOR)
    original = cv2.imread(str(task_image))
    assert max(decoded.shape) == 256
    scaled = cv2.resize(original, decoded.shape[1::-1], interpolation=cv2.INTER_AREA)
    assert np.abs(decoded.astype(int) - scaled).mean() < 1.0


@pytest.mark.parametrize('name', PROMPTS)
def test_the_same_input_gives_the_same_request(name: str) -> None:
    everything = {
        'sonar': SonarInput.FAN,
        'coverage': CoverageInput.IMAGE,
        'detector': True,
        'planner': True,
    }
    one, other = (builder(name, **everything).single(step_view()) for _ in range(2))
    assert one == other
    again = builder(name, **everything)
    assert again.single(step_view()) == again.single(step_view())


@pytest.mark.parametrize('name', PROMPTS)
def test_concise_is_much_shorter(name: str) -> None:
    tokens = estimate_tokens(text_of(builder(name).single(step_view()), Role.SYSTEM))
    assert tokens < (3500 if name == 'oceangym' else 1300)


# ------------------------------------------------------------------ options


@pytest.mark.parametrize('name', PROMPTS)
def test_sonar_fans(name: str) -> None:
    request = builder(name, sonar=SonarInput.FAN, image_size=256).single(step_view())
    names = [i.name for i in images_of(request)]
    assert [n for n in names if n.startswith('sonar_')] == [f'sonar_{d}' for d in DIRECTIONS]
    assert label_before(request, 'sonar_left') == (
        'Left sonar, 120 deg wide, 20 deg high, 1 to 40 m:'
    )
    for image in images_of(request):
        if image.name.startswith('sonar_'):
            assert max(image.width, image.height) == 256


@pytest.mark.parametrize('name', PROMPTS)
def test_sonar_in_words(name: str) -> None:
    request = builder(name, sonar=SonarInput.DESCRIBED).single(step_view())
    assert not any(i.name.startswith('sonar') for i in images_of(request))
    assert 'Front sonar (120 x 20 deg, 40 m)' in text_of(request, Role.USER)
    plain = text_of(builder(name).single(step_view()), Role.USER)
    assert 'sonar' not in plain.lower()


@pytest.mark.parametrize('name', PROMPTS)
def test_coverage_and_aids(name: str) -> None:
    plain = text_of(builder(name).single(step_view()), Role.USER)
    assert 'operating area has been' not in plain
    worded = text_of(
        builder(name, coverage=CoverageInput.TEXT, detector=True, planner=True).single(
            step_view()
        ),
        Role.USER,
    )
    assert '% of the operating area has been' in worded
    assert 'compact sonar contact' in worded or 'not water-coloured' in worded
    assert re.search(
        r'(forward|backward|rotate_left|rotate_right|up|down) [\d.]+ (m|deg): ', worded
    )
    drawn = builder(name, coverage=CoverageInput.IMAGE).single(step_view())
    assert 'coverage' in [i.name for i in images_of(drawn)]
    with pytest.raises(ValueError, match='coverage map'):
        builder(name, planner=True).single(step_view(coverage=None))


def test_memory_is_within_its_budget() -> None:
    memory = Memory(window=500)
    for index in range(500):
        memory.remember(
            MemoryStep(
                index=index,
                time=1.0,
                description='open water over sand',
                action=Action.HOLD,
                magnitude=None,
                position=(0.0, 0.0, -9.0),
                heading_deg=0.0,
            )
        )
    short, long = (
        text_of(builder(memory_tokens=n).single(step_view(memory=memory)), Role.USER)
        for n in (200, 2000)
    )
    assert '#499 ' in short and '#0 ' not in short
    empty = text_of(builder().single(step_view(memory=Memory())), Role.USER)
    for text, budget in ((short, 200), (long, 2000)):
        taken = estimate_tokens(text) - estimate_tokens(empty)
        assert 0.8 * budget < taken <= budget


@pytest.mark.parametrize('name', PROMPTS)
def test_requests_that_follow_each_other_begin_alike(name: str) -> None:
    """Endpoints need not read again what has not changed: reference image and old memory."""
    made = builder(name)
    before, after = (made.single(step_view(index)) for index in (30, 31))
    assert before.messages[0] == after.messages[0]
    first, second = (request.messages[1].parts for request in (before, after))
    names = [part.name if isinstance(part, ImagePart) else 'text' for part in second]
    assert names[1] == 'reference' and first[:2] == second[:2]
    told = [
        next(p.text for p in parts[2:] if isinstance(p, TextPart)) for parts in (first, second)
    ]
    shared = ''.join(
        a + '\n'
        for a, b in itertools.takewhile(
            lambda pair: pair[0] == pair[1], zip(*(text.splitlines() for text in told))
        )
    )
    # 31 steps of which the last four are told in full: 26 short lines stay as they were.
    assert len(re.findall(r'^- #', shared, re.MULTILINE)) >= 26
    words = text_of(after, Role.USER)
    assert words.index('Step: 31') > words.index('Down camera') > words.index('- #30')


@pytest.mark.parametrize('name', PROMPTS)
@pytest.mark.parametrize(
    ('sight', 'sonar'), [(40.0, 'none'), (10.0, 'none'), (10.0, 'fan'), (4.0, 'none')]
)
def test_the_numbers_of_a_prompt_can_be_kept_in_its_water(
    name: str, sight: float, sonar: str
) -> None:
    made = builder(name, goal(sight_m=sight), sonar=SonarInput(sonar))
    told = text_of(made.single(step_view()), Role.SYSTEM)
    low, high = (int(v) for v in re.search(r'(\d+) to (\d+) m above the bottom', told).groups())
    floor = int(re.search(r'ltitude below (\d+) m', told)[1])
    step = int(re.search(r'at most (\d+) m (?:at once|a move)', told)[1])
    look = 40.0 if sonar == 'fan' else sight
    assert floor < low < high
    # The bottom is in sight of the down camera, and no farther is flown than the sensors show.
    assert high <= sight and 0 < step <= min(0.75 * look, 21.0)
    if sonar == 'fan':
        # The fan's lower edge, 10 deg down, meets the bottom within its 40 m.
        assert high <= 40.0 * math.tan(math.radians(10.0))
    if sight == 40.0:
        assert (low, high) == (8, 15)


def test_an_order_is_passed_on_word_for_word() -> None:
    order = 'The target lies inside the search area.'
    area = ((1.0, 2.0), (151.0, 2.0), (151.0, 202.0), (1.0, 202.0))
    for name in PROMPTS:
        told = text_of(
            builder(name, goal(mission_order=order, search_area=area)).single(step_view()),
            Role.SYSTEM,
        )
        assert order in told and '[151.0, 202.0]' in told
        assert 'earch area' not in text_of(builder(name).single(step_view()), Role.SYSTEM)


def test_the_track_shows_where_the_vehicle_has_been() -> None:
    coverage = CoverageMap(((0.0, 0.0), (240.0, 0.0), (240.0, 120.0), (0.0, 120.0)))
    for x in (20.0, 100.0):
        coverage.visit((x, 60.0))
    head, *rows = coverage.sketch((100.0, 60.0)).splitlines()
    assert head == 'One sign is 10 m; right is the heading 0 deg, up is 90 deg.'
    assert (len(rows), max(map(len, rows))) == (12, 24)
    # Seen within 15 m of the way from x = 20 to 100 at y = 60; cells are counted from the top.
    assert rows[0] == '.' * 24 and rows[5].startswith('.#########') and 'V' in rows[5] + rows[6]
    text = text_of(builder().single(step_view()), Role.USER)
    assert '% of the operating area seen so far' in text


def test_views_of_earlier_steps() -> None:
    made = builder(memory_images=2)
    names = []
    for index in range(5):
        request = made.single(step_view(index))
        # Asking again about the same step changes nothing.
        assert made.single(step_view(index)) == request
        names.append([i.name for i in images_of(request) if i.name.startswith('earlier')])
    assert names[0] == []
    assert names[1] == ['earlier_0000']
    assert names[4] == ['earlier_0002', 'earlier_0003']
    assert 'step 3' in label_before(request, 'earlier_0003').lower()
    made.begin()
    assert not any('earlier' in i.name for i in images_of(made.single(step_view(9))))


@pytest.mark.parametrize(
    ('limit', 'views', 'fans'),
    [(None, 6, 6), (13, 6, 6), (12, 6, 1), (8, 6, 1), (7, 1, 1), (3, 1, 1)],
)
def test_views_are_joined_to_keep_to_a_models_limit(
    limit: int | None, views: int, fans: int
) -> None:
    request = builder(sonar=SonarInput.FAN, max_images=limit).single(step_view())
    names = [i.name for i in images_of(request)]
    assert sum(n.startswith('camera') for n in names) == views
    assert sum(n.startswith('sonar') for n in names) == fans
    assert limit is None or len(names) <= limit
    if views == 1:
        assert 'left, front, right, back, up, down' in label_before(request, 'cameras')


def test_more_images_than_a_model_takes_are_refused_before_the_dive() -> None:
    with pytest.raises(OceanGymError, match=r'needs 6 images .* takes 4; lower memory_images:='):
        builder(max_images=4, memory_images=4)
    with pytest.raises(OceanGymError, match=r'takes 0.*sonar:=described'):
        builder(max_images=0, sonar=SonarInput.FAN)


def test_a_model_without_eyes_gets_words_only() -> None:
    request = builder(max_images=0, sonar=SonarInput.DESCRIBED).single(step_view())
    assert images_of(request) == []
    assert 'Front sonar' in text_of(request, Role.USER)
    assert 'reference image of the target comes' not in text_of(request, Role.SYSTEM)


def test_settings_out_of_range_are_refused() -> None:
    for changes in ({'image_size': 8}, {'memory_tokens': -1}, {'memory_images': 99}):
        with pytest.raises(OceanGymError, match='out of range'):
            settings(**changes)


# ------------------------------------------------------------------ two calls, and asking again


@pytest.mark.parametrize('style', STYLES)
@pytest.mark.parametrize('name', PROMPTS)
def test_one_call_looks_and_one_decides(name: str, style: ReplyStyle) -> None:
    made = builder(
        name, style=style, loop=Loop.PERCEIVE_ACT, coverage=CoverageInput.IMAGE, memory_images=1
    )
    looking = made.perceive(step_view())
    assert looking.schema is None
    assert len(images_of(looking)) == 8
    assert format_instructions(style).strip() not in text_of(looking, Role.SYSTEM)
    assert 'SUNKEN SHIP' in text_of(looking, Role.SYSTEM)
    acting = made.act(step_view(), '  A hull ahead, 20 m.\x00\n')
    assert images_of(acting) == []
    assert 'A hull ahead, 20 m.' in text_of(acting, Role.USER)
    assert format_instructions(style).strip() in text_of(acting, Role.SYSTEM)
    # The map cannot be shown without images.
    assert '% of the operating area has been' in text_of(acting, Role.USER)
    for request in (looking, acting):
        assert 'Step: 3' in text_of(request, Role.USER).splitlines()
    assert len(text_of(made.act(step_view(), 'x' * 10**6), Role.USER)) < 20_000


@pytest.mark.parametrize('name', PROMPTS)
def test_asking_again_shows_reply_and_error(name: str) -> None:
    made = builder(name)
    request = made.single(step_view())
    again = made.reask(request, 'I go up and down. ' * 10_000, 'Two commands: up, down.')
    assert again.messages[:2] == request.messages
    assert [m.role for m in again.messages[2:]] == [Role.ASSISTANT, Role.USER]
    assert len(text_of(again, Role.ASSISTANT)) <= 2000
    assert 'Two commands: up, down.' in again.messages[-1].parts[0].text  # type: ignore[union-attr]
    assert again.schema == request.schema
    third = made.reask(again, '', 'Empty.')
    assert len(third.messages) == 6
    assert '(empty reply)' in text_of(third, Role.ASSISTANT)


# ------------------------------------------------------------------ examples


@pytest.mark.parametrize('style', STYLES)
@pytest.mark.parametrize('name', PROMPTS)
def test_the_examples_are_replies_that_are_understood(name: str, style: ReplyStyle) -> None:
    told = text_of(builder(name, style=style).single(step_view()), Role.SYSTEM)
    blocks = re.findall(r'```(?:json)?\n(.*?)```', told, re.DOTALL)
    assert len(blocks) == (3 if name == 'oceangym' else 1)
    parsed = [parse_reply(block, style=style) for block in blocks]
    assert (parsed[0].action, parsed[0].magnitude) == (Action.FORWARD, 20.0)
    assert set(parsed[0].environment) == set(DIRECTIONS)
    if name == 'oceangym':
        assert (parsed[1].action, parsed[1].magnitude) == (Action.BACKWARD, 10.0)
        assert len(parsed[1].special_objects) == 1
        (find,) = parsed[2].finds
        assert find.label == 'SUNKEN SHIP'
        assert (parsed[2].action, parsed[2].magnitude) == (Action.ROTATE_LEFT, 30.0)
        assert (find.range_m, find.bearing_deg, find.direction) == (14.0, 30.0, 'front')
        if style is ReplyStyle.JSON:
            # 30 deg to port in 512 px over 90 deg: 256 (1 - tan 30 deg).
            assert find.pixel == pytest.approx((256 * (1 - math.tan(math.pi / 6)), 250), abs=1)
        else:
            # The example's own geometry: heading 60 and bearing 30 is along y, from [10, 20].
            assert find.position == pytest.approx((10.0, 34.0, -52.0))


# ------------------------------------------------------------------ prompts of one's own


def own_prompt(tmp_path: Path, **files: str) -> Path:
    folder = tmp_path / 'mine'
    shutil.copytree(config_path('prompts', 'concise'), folder)
    for name, text in files.items():
        (folder / f'{name}.j2').write_text(text)
    return folder


def test_images_go_where_ones_own_template_puts_them(tmp_path: Path) -> None:
    folder = own_prompt(
        tmp_path,
        single='{% for v in views | reverse %}{{ v.image }}is {{ v.direction }}.{% endfor %}',
    )
    # The parts are still included by the other templates.
    made = PromptBuilder(prompt=load_prompt(str(folder)), goal=goal(), settings=settings())
    parts = made.single(step_view()).messages[1].parts
    assert [getattr(p, 'name', getattr(p, 'text', '')) for p in parts[:4]] == [
        'camera_down',
        'is down.',
        'camera_up',
        'is up.',
    ]
    assert not any(getattr(p, 'name', '') == 'reference' for p in parts)


@pytest.mark.parametrize(
    ('file', 'text', 'expected'),
    [
        ('act', '{{ state.hedding }}', r"act\.j2, line 1: variable .*'hedding'"),
        ('reask', '{{ state.step }}', r"reask\.j2, line 1: variable 'state'"),
        ('perceive', '{% for v in views %}{{ v.name }}{% endfor %}', r"perceive\.j2.*'name'"),
        ('system', '{{ reference }}', r'system\.j2 places an image'),
    ],
)
def test_mistakes_show_before_the_first_call(
    tmp_path: Path, file: str, text: str, expected: str
) -> None:
    folder = own_prompt(tmp_path, **{file: text})
    if file == 'system':
        (folder / '_example_json.j2').unlink()
        (folder / '_example_markers.j2').unlink()
    with pytest.raises(OceanGymError, match=expected):
        PromptBuilder(prompt=load_prompt(str(folder)), goal=goal(), settings=settings())


def test_words_of_models_cannot_place_images_or_run_as_templates() -> None:
    memory = Memory()
    memory.remember(
        MemoryStep(
            index=0,
            time=0.0,
            description='\x00image:camera_front\x00 {{ goal.target }} {% raw %}',
            action=Action.HOLD,
            magnitude=None,
            position=(0.0, 0.0, -1.0),
            heading_deg=0.0,
        )
    )
    request = builder().single(step_view(memory=memory))
    assert len(images_of(request)) == 7
    assert '{{ goal.target }} {% raw %}' in text_of(request, Role.USER)
    hostile = goal(instruction='\x00image:none\x00 {{ 7 * 7 }}', target_label='A\x00B')
    assert '{{ 7 * 7 }}' in text_of(builder(goal_=hostile).single(step_view()), Role.SYSTEM)


# ------------------------------------------------------------------ less than everything


def test_without_reference_image_sonars_and_bottom() -> None:
    seen = observation(sonars=False)
    seen = replace(seen, navigation=replace(seen.navigation, altitude=math.inf))
    for name in PROMPTS:
        made = builder(
            name,
            goal_=goal(reference_image=None),
            sonar=SonarInput.FAN,
            detector=True,
            planner=True,
        )
        request = made.single(step_view(observation=seen, outcome=None))
        assert [i.name for i in images_of(request)] == [f'camera_{d}' for d in DIRECTIONS]
        text = text_of(request, Role.USER)
        assert 'inf' not in text.lower().replace('information', '')
        assert 'nan' not in text.lower()
        assert 'Last command' not in text


def test_outside_the_bounds_is_said() -> None:
    away = replace(
        observation(), navigation=replace(observation().navigation, pose=Pose((9e4, 0.0, -5.0)))
    )
    text = text_of(builder().single(step_view(observation=away)), Role.USER)
    assert 'outside the area' in text


@pytest.mark.parametrize('content', [b'', b'no picture', None])
def test_a_broken_reference_image_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / 'target.jpg'
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OceanGymError, match=r'target\.jpg'):
        builder(goal_=goal(reference_image=path))


# ------------------------------------------------------------------ outcomes


@pytest.mark.parametrize('yaw_deg', [0.0, 60.0, -170.0])
@pytest.mark.parametrize(
    ('action', 'moved'),
    [
        (Action.FORWARD, (12.0, 0.0, 0.0)),
        (Action.BACKWARD, (-12.0, 0.0, 0.0)),
        (Action.LEFT, (0.0, 12.0, 0.0)),
        (Action.RIGHT, (0.0, -12.0, 0.0)),
        (Action.UP, (0.0, 0.0, 12.0)),
        (Action.DOWN, (0.0, 0.0, -12.0)),
    ],
)
def test_measured_moves(action: Action, moved: tuple[float, float, float], yaw_deg: float) -> None:
    before = Pose.from_euler((5.0, 6.0, -40.0), 0.0, 0.0, math.radians(yaw_deg))
    after = before @ Pose(moved)
    outcome = Outcome.measured(action, 12.5, before, after)
    assert outcome.applied == pytest.approx(12.0, abs=0.01)
    assert not outcome.saturated
    assert Outcome.measured(action, None, before, after).requested == 20.0
    assert Outcome.measured(action, None, before, after).saturated
    assert 'less than asked for' in Outcome.measured(action, None, before, after).in_words()


@pytest.mark.parametrize('turn_deg', [45.0, 90.0, 179.0, 270.0, 360.0])
@pytest.mark.parametrize('sign', [1, -1])
def test_measured_turns(turn_deg: float, sign: int) -> None:
    action = Action.ROTATE_LEFT if sign > 0 else Action.ROTATE_RIGHT
    before = Pose.from_euler((0, 0, -9), 0.0, 0.0, 2.5)
    after = Pose.from_euler((0, 0, -9), 0.0, 0.0, 2.5 + sign * math.radians(turn_deg))
    outcome = Outcome.measured(action, turn_deg, before, after)
    assert outcome.applied == pytest.approx(turn_deg, abs=0.01)
    assert not outcome.saturated


@pytest.mark.parametrize('name', PROMPTS)
def test_nobody_is_told_to_compare_with_an_image_that_is_not_shown(name: str) -> None:
    pilot = builder(name, loop=Loop.PERCEIVE_ACT).act(step_view(), 'Open water.')
    assert 'the reference image' not in text_of(pilot, Role.SYSTEM)
    blind = PromptBuilder(
        prompt=load_prompt(name), goal=goal(reference_image=None), settings=settings()
    )
    for request in (blind.single(step_view()), blind.perceive(step_view())):
        assert 'with the reference image' not in text_of(request, Role.SYSTEM)
    assert 'the reference image' in text_of(builder(name).single(step_view()), Role.SYSTEM)


def test_outcomes_in_words() -> None:
    cut = Outcome.measured(Action.FORWARD, 50.0, Pose(), Pose((20.7, 0.0, 0.0)))
    assert cut.in_words() == ('forward 50 m was commanded, 20.7 m were made, less than asked for')
    held = Outcome.measured(Action.HOLD, None, Pose(), Pose())
    assert held.in_words() == 'hold: the vehicle kept its place'
    assert not held.saturated


@pytest.mark.parametrize('name', PROMPTS)
def test_each_style_is_told_of_commands_in_its_own_words(name: str) -> None:
    view = step_view()
    for index, action in enumerate((Action.ROTATE_LEFT, Action.DOWN, Action.HOLD), start=10):
        view.memory.remember(
            MemoryStep(
                index=index,
                time=30.0 * index,
                description='sand',
                action=action,
                magnitude=None if action is Action.HOLD else 15.0,
                position=(1.0, 2.0, -40.0),
                heading_deg=10.0,
            )
        )
    turned = Outcome(action=Action.ROTATE_RIGHT, requested=30, applied=30, saturated=False)
    # High above the bottom: the planner descends.
    high = replace(view.observation.navigation, altitude=60.0)
    view = replace(view, outcome=turned, observation=replace(view.observation, navigation=high))
    told = {
        style: text_of(builder(name, style=style, planner=True).single(view), Role.USER)
        for style in STYLES
    }
    words = {
        ReplyStyle.MARKERS: (
            'rotate right 30 deg',
            'rotate left 15 deg',
            'descend 15 m',
            'ascend',
        ),
        ReplyStyle.JSON: ('rotate_right 30 deg', 'rotate_left 15 deg', 'down 15 m', 'up 5 m'),
    }
    for style, other in ((ReplyStyle.JSON, ReplyStyle.MARKERS), tuple(words)):
        for word in words[style]:
            assert word in told[style]
        for word in words[other]:
            assert word not in told[style]
        assert '-> hold' in told[style]


def test_every_shipped_prompt_renders_with_everything_and_nothing() -> None:
    for name in prompt_names():
        for style in STYLES:
            for loop in Loop:
                builder(name, style=style, loop=loop)
                builder(
                    name,
                    style=style,
                    loop=loop,
                    sonar=SonarInput.DESCRIBED,
                    coverage=CoverageInput.TEXT,
                    detector=True,
                    planner=True,
                    memory_images=3,
                )
