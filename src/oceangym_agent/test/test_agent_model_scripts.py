"""Scripted models against the prompts and the parser that they meet in a run."""

from __future__ import annotations

from collections.abc import Mapping
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.chat import ChatRequest
from oceangym_agent.memory import CoverageMap, Memory
from oceangym_agent.models.client import make_model
from oceangym_agent.models.presets import load_preset
from oceangym_agent.models.wire import request_body
from oceangym_agent.prompts import (
    load_prompt,
    Loop,
    prompt_names,
    PromptBuilder,
    PromptSettings,
    StepView,
)
from oceangym_agent.replies import format_instructions, parse_reply, reply_schema, ReplyStyle
from oceangym_agent.scripted_models.prompt_reading import read
from oceangym_agent.scripted_models.scripts import script, script_names
from oceangym_agent.testing.perfect_model import perfect_options, PerfectModelAgent, Way
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import Action, DIRECTIONS
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import NavigationState, Observation, StepTruth
from oceangym_core.geometry import Pose, quaternion_from_euler

GOAL = GoalView(
    task_id='search_ship',
    instruction='Find the ship.',
    target_label='SUNKEN SHIP',
    target_description='A wreck.',
    reference_image=None,
    bounds=((-200.0, -400.0), (650.0, -400.0), (650.0, 250.0), (-200.0, 250.0)),
    z_min=-100.0,
    z_max=5.0,
    t_max=1800.0,
    t_interval=30.0,
    target_count=2,
)
PRESET = load_preset('scripted_patrol')


def step_view(index: int) -> StepView:
    navigation = NavigationState(
        stamp=30.0 * index,
        pose=Pose.of(
            (144.0, -114.0, -63.0), quaternion_from_euler(0.0, 0.0, math.radians(-135.0))
        ),
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.0, 0.0, 0.0),
        depth=63.0,
        altitude=12.5,
        battery=1.0,
    )
    cameras = {d: np.full((64, 64, 3), 40, np.uint8) for d in DIRECTIONS}
    return StepView(
        index=index,
        observation=Observation(
            index=index, stamp=30.0 * index, navigation=navigation, cameras=cameras
        ),
        status=StatusView(elapsed=30.0 * index, remaining=1800.0 - 30.0 * index),
        memory=Memory(),
        coverage=CoverageMap(GOAL.bounds),
    )


def builder(prompt: str, style: ReplyStyle, loop: Loop = Loop.SINGLE) -> PromptBuilder:
    settings = PromptSettings(
        reply_instructions=format_instructions(style),
        style=style,
        schema=reply_schema() if style is ReplyStyle.JSON else None,
        loop=loop,
        image_size=64,
    )
    return PromptBuilder(prompt=load_prompt(prompt), goal=GOAL, settings=settings)


def body(request: ChatRequest) -> dict[str, Any]:
    return request_body(PRESET, request)


@pytest.mark.parametrize('style', list(ReplyStyle))
@pytest.mark.parametrize('prompt', prompt_names())
def test_shipped_prompts_are_understood(prompt: str, style: ReplyStyle) -> None:
    reading = read(body(builder(prompt, style).single(step_view(7))))
    assert reading.step == 7
    assert reading.position == (144.0, -114.0, -63.0)
    assert reading.yaw == pytest.approx(math.radians(-135.0))
    assert reading.altitude == 12.5
    assert reading.corners == GOAL.bounds
    assert reading.z_range == (-100.0, 5.0)
    assert reading.target == 'SUNKEN SHIP'
    assert reading.markers == (style is ReplyStyle.MARKERS)
    assert not reading.describe


@pytest.mark.parametrize('style', list(ReplyStyle))
@pytest.mark.parametrize('prompt', prompt_names())
def test_looking_and_deciding_are_told_apart(prompt: str, style: ReplyStyle) -> None:
    prompts = builder(prompt, style, Loop.PERCEIVE_ACT)
    looking = body(prompts.perceive(step_view(3)))
    assert read(looking).describe
    seen = script('lookout')(looking, 0)
    assert isinstance(seen, str)
    assert 'front:' in seen
    deciding = body(prompts.act(step_view(3), seen))
    assert not read(deciding).describe
    assert read(deciding).step == 3
    reply = script('lookout')(deciding, 1)
    assert parse_reply(str(reply), style=style).action is Action.ROTATE_LEFT


@pytest.mark.parametrize('name', script_names())
def test_sixty_replies_are_understood_alike_in_both_styles(name: str) -> None:
    prompts = {style: builder('concise', style) for style in ReplyStyle}
    for index in range(60):
        parsed = {
            style: parse_reply(
                str(script(name)(body(prompts[style].single(step_view(index))), 0)), style=style
            )
            for style in ReplyStyle
        }
        json, markers = parsed[ReplyStyle.JSON], parsed[ReplyStyle.MARKERS]
        assert json.action is markers.action
        assert json.action is not Action.STOP
        assert json.magnitude == markers.magnitude
        assert [f.label.upper() for f in json.finds] == [f.label.upper() for f in markers.finds]
        assert bool(json.finds) == (name == 'lookout' and index in (5, 29))


def test_a_scripted_preset_answers_a_real_prompt_over_http() -> None:
    request = builder('oceangym', ReplyStyle.JSON).single(step_view(0))
    with make_model(load_preset('scripted_lookout')) as model:
        reply = model.complete(request, deadline_s=30.0)
        again = model.complete(request, deadline_s=30.0)
    assert parse_reply(reply.text, style=ReplyStyle.JSON).action is Action.ROTATE_LEFT
    assert (reply.text, reply.tokens_in, reply.tokens_out) == (
        again.text,
        again.tokens_in,
        again.tokens_out,
    )
    assert reply.model == 'scripted_lookout'
    # Six images at 85 tokens, and several thousand characters of text.
    assert reply.tokens_in > 6 * 85 + 1000


def test_a_question_asked_again_gets_an_answer() -> None:
    prompts = builder('oceangym', ReplyStyle.JSON)
    request = prompts.single(step_view(2))
    again = prompts.reask(request, 'Step: 9 or so', 'There was no command.')
    assert script('patrol')(body(again), 1) == script('patrol')(body(request), 0)


# ---------------------------------------------------------------- perfect eyes behind the prompt


class Eyes:
    """Reports three wrecks in the first observation, and turns."""

    privileged = True

    def __init__(self, places: Mapping[str, tuple[float, float, float]]) -> None:
        self.reports = [
            FindReport(label='SUNKEN SHIP', position=place, sensor='camera', direction=direction)
            for direction, place in places.items()
        ]

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None: ...

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        reports, self.reports = tuple(self.reports), []
        decision = Decision(
            index=observation.index, action=Action.ROTATE_LEFT, magnitude=30.0 * len(reports) + 5.0
        )
        return Turn(decision=decision, reports=reports)


@pytest.mark.parametrize('style', list(ReplyStyle))
@pytest.mark.parametrize('prompt', prompt_names())
def test_perfect_eyes_lose_by_the_prompt_what_its_way_of_telling_places_leaves_out(
    tmp_path: Path, prompt: str, style: ReplyStyle
) -> None:
    # Heading -135 deg: one straight ahead at the own height, one 10 m astern and 10 m lower, one below.
    pose = step_view(3).observation.navigation.pose
    places = {
        'front': pose.apply((20.0, 0.0, 0.0)),
        'back': pose.apply((-10.0, 0.0, -10.0)),
        'down': pose.apply((0.0, 0.0, -8.0)),
    }
    errors = {}
    for way in Way:
        options = perfect_options(RunOptions(prompt=prompt, reply=style.value), tmp_path)
        eyes = Eyes({d: (float(p[0]), float(p[1]), float(p[2])) for d, p in places.items()})
        agent = PerfectModelAgent(options, tmp_path / way.value, eyes=eyes, way=way)
        try:
            agent.begin(GOAL)
            turns = [agent.decide(v.observation, v.status) for v in map(step_view, (3, 4))]
        finally:
            agent.close()
        decisions = [turn.decision for turn in turns]
        assert [(d.action, d.magnitude) for d in decisions] == [
            (Action.ROTATE_LEFT, 95.0),
            (Action.ROTATE_LEFT, 5.0),
        ]
        assert [d.invalid_replies for d in decisions] == [0, 0]
        assert turns[1].reports == () and len(agent.told) == 3
        errors[way] = [
            math.dist(report.position or (), place)
            for report, place in zip(turns[0].reports, places.values(), strict=True)
        ]
    # A slant range is laid out level: 14.1 m astern instead of 10 m astern and 10 m down.
    lost = math.hypot(math.hypot(10.0, 10.0) - 10.0, 10.0)
    assert errors[Way.RANGE] == pytest.approx([0.0, lost, 0.0], abs=0.1)
    if style is ReplyStyle.JSON:
        # To the pixel of a view of 64 px: half a pixel at 20 m.
        assert max(errors[Way.PIXEL]) < 20.0 * 0.5 * math.sqrt(2.0) / 32.0 + 0.1
    assert errors[Way.POSITION] == pytest.approx([0.0, 0.0, 0.0], abs=0.1)
