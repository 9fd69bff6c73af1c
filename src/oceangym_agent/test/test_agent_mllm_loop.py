"""The loop around a model, over HTTP: ask, understand, ask again, hold, report, remember, end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oceangym_agent.agent import GoalView, StatusView, Turn
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.agents.find_reports import place_of
from oceangym_agent.agents.mllm import MllmAgent
from oceangym_agent.agents.mllm_parts import (
    model_parts,
    NOT_DECIDED,
    NOT_UNDERSTOOD,
    RAW_REPLY_CHARACTERS,
)
from oceangym_agent.chat import BudgetExhausted, ModelUnavailable
from oceangym_agent.models.recorded import NOTE
from oceangym_agent.prompts import load_prompt
from oceangym_agent.replies.reply import Find
from oceangym_agent.scripted_models.faults import Fault, FaultKind
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_agent.trace import read_trace, TraceStep
from oceangym_core.config.options import prompt_names, RunOptions
from oceangym_core.contract.actions import Action, DIRECTIONS, optical_orientation
from oceangym_core.contract.observation import NavigationState, Observation
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.record.memory_files import MemoryEntry, write_memory
from oceangym_core.record.version import prompt_folder, prompt_sha256

GOAL = GoalView(
    task_id='search_ship',
    instruction='Find the wreck.',
    target_label='SUNKEN SHIP',
    target_description='A wooden ship.',
    reference_image=None,
    bounds=((-200.0, -400.0), (650.0, -400.0), (650.0, 250.0), (-200.0, 250.0)),
    z_min=-100.0,
    z_max=5.0,
    t_max=1800.0,
    t_interval=30.0,
    target_count=2,
)
GARBAGE = 'The water is lovely today.'


def observation(index: int, x: float = 10.0, yaw: float = 0.0) -> Observation:
    pose = Pose.from_euler((x, -20.0, -50.0), 0.0, 0.0, yaw)
    navigation = NavigationState(
        stamp=30.0 * index,
        pose=pose,
        linear_velocity=(0.0, 0.0, 0.0),
        angular_velocity=(0.0, 0.0, 0.0),
        position_sigma=(0.001, 0.001, 0.001),
        depth=50.0,
        altitude=12.0,
        battery=0.9,
    )
    cameras = {d: np.full((24, 32, 3), 40 * i, np.uint8) for i, d in enumerate(DIRECTIONS)}
    return Observation(index=index, stamp=30.0 * index, navigation=navigation, cameras=cameras)


def reply(**changes: Any) -> str:
    content = {
        'environment': {d: f'{d} is blue' for d in DIRECTIONS},
        'special_objects': [],
        'finds': [],
        'action': 'forward',
        'magnitude': 12.0,
        'reason': 'onwards',
    }
    return json.dumps(content | changes)


class Dive:
    """One agent, its server, and what it decided."""

    def __init__(
        self, server: ScriptedModelServer, directory: Path, options: Mapping[str, Any]
    ) -> None:
        self.server = server
        self.directory = directory
        self.now = 0.0
        options = dict(options)
        resume_from = options.pop('resume_from', None)
        parts = model_parts(
            RunOptions(agent='scripted', base_url=server.url, **options),
            directory,
            resume_from=resume_from,
        )
        self.agent = MllmAgent(parts, clock=lambda: self.now)
        self.agent.begin(GOAL)

    def decide(self, index: int = 0, **place: float) -> Turn:
        return self.agent.decide(
            observation(index, **place), StatusView(elapsed=30.0 * index, remaining=1800.0)
        )

    @property
    def trace(self) -> tuple[TraceStep, ...]:
        return read_trace(self.directory)

    def prompt(self, call: int) -> str:
        """Every text of the messages of one call."""
        return '\n'.join(texts(self.server.requests[call].body))


def texts(body: Any) -> Iterator[str]:
    for message in body['messages']:
        if isinstance(message['content'], str):
            yield message['content']
        else:
            yield from (p['text'] for p in message['content'] if p['type'] == 'text')


def images(body: Any) -> int:
    return sum(
        part['type'] == 'image_url'
        for message in body['messages']
        if not isinstance(message['content'], str)
        for part in message['content']
    )


Answers = Callable[[Mapping[str, Any], int], 'str | Fault'] | Sequence['str | Fault']


@contextmanager
def dive(directory: Path, answers: Answers, **options: Any) -> Iterator[Dive]:
    """An agent whose model gives these answers in turn, the last one for ever."""
    said = answers if callable(answers) else lambda body, n: answers[min(n, len(answers) - 1)]
    with ScriptedModelServer(script=said) as server:
        flight = Dive(server, directory, options)
        try:
            yield flight
        finally:
            flight.agent.close()


# ------------------------------------------------------------------ one decision


def test_a_reply_becomes_a_decision_and_a_line_of_the_trace(tmp_path: Path) -> None:
    with dive(tmp_path, [reply(special_objects=['red buoy'])]) as flight:
        decision = flight.decide(3).decision
        assert (decision.index, decision.action, decision.magnitude) == (3, Action.FORWARD, 12.0)
        assert decision.raw_reply == reply(special_objects=['red buoy'])
        assert 'Front: front is blue' in decision.description
        assert 'red buoy' in decision.description and 'onwards' in decision.description
        (line,) = flight.trace
        (call,) = line.calls
        assert (line.index, line.t, call.purpose, call.error) == (3, 90.0, 'single', None)
        assert call.reply is not None
        assert decision.tokens_in == call.reply.tokens_in > 0
        assert decision.tokens_out == call.reply.tokens_out > 0
        # The trace shows what was sent: every text, and every image by its digest.
        assert call.text == flight.prompt(0)
        shown = [p.image for m in call.messages for p in m.parts if p.image is not None]
        assert len(shown) == images(flight.server.requests[0].body) == 6
        for image in shown:
            assert (tmp_path / image.file).stat().st_size > 0
            assert (image.width, image.height) == (32, 24)


def test_the_line_is_on_disk_before_the_next_decision_is_asked(tmp_path: Path) -> None:
    seen: list[int] = []

    def say(body: Mapping[str, Any], number: int) -> str:
        seen.append(len(read_trace(tmp_path)))
        return reply()

    with dive(tmp_path, say) as flight:
        for index in range(3):
            flight.decide(index)
    assert seen == [0, 1, 2]


def test_an_unclear_reply_is_asked_again_with_its_error(tmp_path: Path) -> None:
    with dive(tmp_path, [GARBAGE, 'Go up or down.', reply(action='up')]) as flight:
        decision = flight.decide().decision
        assert (decision.action, decision.invalid_replies) == (Action.UP, 2)
        calls = flight.trace[0].calls
        assert [call.purpose for call in calls] == ['single', 'reask', 'reask']
        assert [call.error is None for call in calls] == [False, False, True]
        assert [c.reply.text for c in calls if c.reply] == [
            GARBAGE,
            'Go up or down.',
            reply(action='up'),
        ]
        # The model is shown its own words and what was wrong with them.
        again = flight.prompt(1)
        assert GARBAGE in again
        assert calls[0].error is not None and calls[0].error in again
        assert decision.tokens_in == sum(c.reply.tokens_in for c in calls if c.reply)


@pytest.mark.parametrize('reasks', [0, 2])
def test_after_the_allowed_number_the_vehicle_holds(tmp_path: Path, reasks: int) -> None:
    with dive(tmp_path, [GARBAGE], max_reasks=reasks) as flight:
        turn = flight.decide()
        assert (turn.decision.action, turn.decision.magnitude) == (Action.HOLD, None)
        assert turn.decision.invalid_replies == 1 + reasks == len(flight.server.requests)
        assert turn.decision.description == NOT_UNDERSTOOD
        assert turn.decision.raw_reply == GARBAGE and turn.reports == ()
        assert flight.trace[0].parsed is None
        flight.decide(1)
        assert NOT_UNDERSTOOD in flight.prompt(1 + reasks)


def test_an_endpoint_lost_while_asking_again_means_hold(tmp_path: Path) -> None:
    lost = Fault(kind=FaultKind.AUTH)
    with dive(tmp_path, [GARBAGE, lost, reply()]) as flight:
        decision = flight.decide().decision
        assert (decision.action, decision.invalid_replies) == (Action.HOLD, 1)
        assert flight.trace[0].calls[1].reply is None
        assert '401' in (flight.trace[0].calls[1].error or '')
        assert flight.decide(1).decision.action is Action.FORWARD


def test_two_calls_a_decision_look_first_and_act_on_words(tmp_path: Path) -> None:
    with dive(tmp_path, ['A mast, to port.', reply(action='left')], loop='perceive_act') as flight:
        decision = flight.decide().decision
        assert decision.action is Action.LEFT
        look, act = (request.body for request in flight.server.requests)
        assert images(look) == 6 and 'response_format' not in look
        assert images(act) == 0 and 'response_format' in act
        assert 'A mast, to port.' in flight.prompt(1)
        assert [call.purpose for call in flight.trace[0].calls] == ['perceive', 'act']
        replies = [call.reply for call in flight.trace[0].calls if call.reply]
        assert decision.tokens_in == sum(r.tokens_in for r in replies)


def test_a_reply_in_markers_is_understood(tmp_path: Path) -> None:
    with dive(tmp_path, ['## Front: sand ##\nmove backward'], reply='markers') as flight:
        assert flight.decide().decision.action is Action.BACKWARD
        assert 'response_format' not in flight.server.requests[0].body


def test_a_reply_that_no_message_can_carry_is_made_harmless(tmp_path: Path) -> None:
    hostile = reply(reason='a\0b\ud800c') + ' ' * 3 * RAW_REPLY_CHARACTERS
    with dive(tmp_path, [hostile]) as flight:
        decision = flight.decide().decision
        assert decision.action is Action.FORWARD
        for text in (decision.raw_reply, decision.description):
            assert '\0' not in text
            text.encode('utf-8')
        assert len(decision.raw_reply) < RAW_REPLY_CHARACTERS + 100
        assert len(flight.trace) == 1


@pytest.mark.parametrize('prompt', ['oceangym', 'concise'])
def test_the_battery_is_told_of_where_it_is_low_and_measured(tmp_path: Path, prompt: str) -> None:
    with dive(tmp_path, [reply()], prompt=prompt) as flight:
        for charge, told in ((0.2, True), (0.5, False), (math.nan, False)):
            seen = observation(0)
            seen = replace(seen, navigation=replace(seen.navigation, battery=charge))
            flight.agent.decide(seen, StatusView(elapsed=0.0, remaining=60.0))
            assert ('attery' in flight.prompt(-1)) is told
            assert 'nan' not in flight.prompt(-1).split()


# ------------------------------------------------------------------ finds and memory


@pytest.mark.parametrize('direction', DIRECTIONS)
def test_a_find_by_pixel_and_range_lies_where_the_camera_sees_it(direction: str) -> None:
    pose = Pose.from_euler((3.0, -2.0, -40.0), 0.1, -0.2, 2.0)
    camera = pose @ Pose.of((0.0, 0.0, 0.0), optical_orientation(direction))
    # A pinhole of 90 deg in 300 x 200 px: x right, y down, z ahead.
    ray = np.array([(70.0 - 150.0) / 150.0, (150.0 - 100.0) / 150.0, 1.0])
    wanted = camera.apply(ray / np.linalg.norm(ray) * 12.0)
    find = Find(label='X', range_m=12.0, direction=direction, pixel=(70.0, 150.0))
    assert place_of(find, pose, size=(300, 200)) == pytest.approx(wanted, abs=2e-3)
    # Beyond the image it is none: the middle of the view stands for it.
    stray = replace(find, pixel=(900.0, 150.0))
    assert place_of(stray, pose, size=(300, 200)) == place_of(replace(find, pixel=None), pose)


def test_a_box_in_a_reply_places_the_find_and_a_retraction_is_forgotten(tmp_path: Path) -> None:
    find = {'label': 'SUNKEN SHIP', 'range_m': 10.0, 'direction': 'front', 'pixel': [0, 6, 32, 10]}
    answers = [
        reply(finds=[find], special_objects=['rusty chain', 'oil drum below']),
        reply(special_objects=['not rusty chain']),
        reply(),
    ]
    with dive(tmp_path, answers) as flight:
        seen = observation(0)
        height, width = seen.cameras['front'].shape[:2]
        turn = flight.agent.decide(seen, StatusView(elapsed=0.0, remaining=600.0))
        (report,) = turn.reports
        # 90 deg over the width: the focal length is half of it.
        ray = np.array([1.0, 0.0, (height / 2 - 8.0) / (width / 2)])
        assert width == 32
        wanted = seen.navigation.pose.apply(ray / np.linalg.norm(ray) * 10.0)
        assert report.position == pytest.approx(wanted, abs=2e-3)
        for index in (1, 2):
            flight.agent.decide(observation(index), StatusView(elapsed=30.0, remaining=570.0))
        important = flight.prompt(-1).split('Steps of this dive')[0]
        assert 'oil drum below' in important and 'rusty chain' not in important


def test_finds_become_reports_where_the_model_says(tmp_path: Path) -> None:
    finds = [
        {'label': 'sunken ship', 'position': [60.0, -20.0, -55.0], 'direction': 'front'},
        {'label': 'TEAPOT', 'range_m': 10.0, 'bearing_deg': 90.0},
        {'label': 'SUNKEN SHIP', 'range_m': 4.0, 'direction': 'down'},
        {'label': 'SUNKEN SHIP', 'direction': 'back'},
    ]
    with dive(tmp_path, [reply(finds=finds)]) as flight:
        turn = flight.decide(2, yaw=math.pi / 2)
    assert [r.label for r in turn.reports] == [
        'sunken ship',
        'TEAPOT',
        'SUNKEN SHIP',
        'SUNKEN SHIP',
    ]
    assert turn.decision.finds == tuple(r.label for r in turn.reports)
    # Heading north, port is west of (10, -20); the vehicle's own depth is taken.
    assert [r.position for r in turn.reports] == [
        (60.0, -20.0, -55.0),
        (0.0, -20.0, -50.0),
        (10.0, -20.0, -54.0),
        None,
    ]
    assert [(r.sensor, r.direction) for r in turn.reports][:2] == [('camera', 'front'), ('', '')]
    assert all((r.observation_index, r.stamp) == (2, 60.0) for r in turn.reports)


def test_the_next_prompt_remembers_steps_finds_and_objects(tmp_path: Path) -> None:
    find = {'label': 'SUNKEN SHIP', 'range_m': 10.0, 'bearing_deg': 0.0, 'text': 'two masts'}
    first = reply(finds=[find], special_objects=['yellow cable drum'])
    with dive(tmp_path, [first, reply()]) as flight:
        flight.decide(0)
        flight.decide(1, x=22.0)
        before, after = flight.prompt(0), flight.prompt(1)
    for words in ('two masts', 'yellow cable drum', 'front is blue', 'forward 12 m'):
        assert words not in before
        assert words in after
    # The find's own place, and what became of the maneuver.
    assert '[20.0, -20.0, -50.0]' in after
    assert '12.0 m were made' in after


def test_experience_changes_the_prompt(tmp_path: Path) -> None:
    source = tmp_path / 'earlier'
    source.mkdir()
    entry = MemoryEntry(target_info=('A wreck with a broken mast',), location=(500.0, 90.0, -60.0))
    write_memory(source / 'important_memory_2026-01-02_03-04-05.json', [entry])
    with dive(tmp_path / 'with', [reply()], memory_from=str(source)) as flight:
        flight.decide()
        told = flight.prompt(0)
    with dive(tmp_path / 'without', [reply()]) as flight:
        flight.decide()
        assert 'broken mast' not in flight.prompt(0)
    assert 'broken mast' in told and '500.0' in told
    stripped = {'memory_from': str(source), 'memory_strip': 'coordinates'}
    with dive(tmp_path / 'stripped', [reply()], **stripped) as flight:
        flight.decide()
        assert 'broken mast' in flight.prompt(0) and '500.0' not in flight.prompt(0)
    # Places of map mean nothing in another frame.
    with pytest.raises(OceanGymError, match='memory_strip:=coordinates'):
        model_parts(RunOptions(agent='scripted', memory_from=str(source), frame='shifted'), None)


# ------------------------------------------------------------------ limits and losses


def test_a_dead_endpoint_ends_the_episode_with_its_reason_on_record(tmp_path: Path) -> None:
    with dive(tmp_path, [reply(), Fault(kind=FaultKind.AUTH)]) as flight:
        flight.decide(0)
        with pytest.raises(ModelUnavailable, match='401'):
            flight.decide(1)
        first, last = flight.trace
        assert first.error is None
        assert last.index == 1 and '401' in (last.error or '')
        assert last.calls[0].reply is None and last.calls[0].error == last.error


def test_budgets_end_the_episode_before_the_next_decision(tmp_path: Path) -> None:
    with dive(tmp_path, [reply()], max_decisions=2) as flight:
        flight.decide(0)
        flight.decide(1)
        with pytest.raises(BudgetExhausted, match='2 decisions'):
            flight.decide(2)
        assert len(flight.server.requests) == 2
        assert 'max_decisions' in (flight.trace[2].error or '')
    with dive(tmp_path / 'tokens', [GARBAGE], max_tokens=1) as flight:
        # Reached within the decision: what was asked and answered is kept.
        with pytest.raises(BudgetExhausted, match='1 tokens'):
            flight.decide(0)
        assert [call.reply is None for call in flight.trace[0].calls] == [False, True]


@pytest.mark.parametrize(
    ('answers', 'options'),
    [
        # A look that was paid for before the act failed.
        (['A mast.', Fault(kind=FaultKind.AUTH)], {'loop': 'perceive_act'}),
        # Replies that were not understood, and the budget reached by them.
        ([GARBAGE], {'max_tokens': 1}),
    ],
)
def test_what_was_paid_for_no_decision_is_not_lost(
    tmp_path: Path, answers: list[str | Fault], options: dict[str, Any]
) -> None:
    with dive(tmp_path, answers, **options) as flight:
        with pytest.raises((ModelUnavailable, BudgetExhausted)) as caught:
            flight.decide(0)
        spent, budget = caught.value.decision, flight.agent._parts.budget
    assert spent is not None and spent.index == 0
    assert (spent.action, spent.description) == (Action.HOLD, NOT_DECIDED)
    assert spent.tokens_in + spent.tokens_out == budget.tokens > 0
    assert spent.cost == pytest.approx(budget.cost)
    assert spent.invalid_replies == (answers == [GARBAGE])


@pytest.mark.parametrize('before', [[], [GARBAGE]], ids=['at once', 'while asking again'])
def test_answers_that_cannot_be_used_are_paid_and_traced(
    tmp_path: Path, before: list[str | Fault]
) -> None:
    billed = Fault(
        kind=FaultKind.RESPONSE, body=lambda reply: {**reply, 'error': {'message': 'lost'}}
    )
    with dive(tmp_path, [*before, billed], max_retries=1, decision_deadline=20.0) as flight:
        if before:
            # It answered a moment ago: the vehicle holds.
            spent: Any = flight.decide(0).decision
        else:
            with pytest.raises(ModelUnavailable) as caught:
                flight.decide(0)
            spent = caught.value.decision
        budget = flight.agent._parts.budget
        unusable = flight.trace[0].calls[-1].unusable
    assert spent.tokens_in + spent.tokens_out == budget.tokens
    assert len(unusable) == 2 and all(answer.problem for answer in unusable)
    heard = sum(answer.tokens_in + answer.tokens_out for answer in unusable)
    assert 0 < heard <= budget.tokens and (heard == budget.tokens) is (not before)


def test_nothing_is_kept_of_a_decision_that_cost_nothing(tmp_path: Path) -> None:
    with dive(tmp_path, [Fault(kind=FaultKind.AUTH)]) as flight:
        with pytest.raises(ModelUnavailable) as caught:
            flight.decide(0)
        assert caught.value.decision is None


def test_wall_time_counts_from_the_episode_s_begin(tmp_path: Path) -> None:
    with dive(tmp_path, [reply()], max_wall=100.0) as flight:
        flight.decide(0)
        flight.now = 99.0
        flight.decide(1)
        flight.now = 100.0
        with pytest.raises(BudgetExhausted, match='100 s of wall time'):
            flight.decide(2)


def test_a_call_that_outlasts_the_episode_s_wall_time_is_the_budget_s_end(tmp_path: Path) -> None:
    def slow(body: Mapping[str, Any], number: int) -> Fault:
        flight.now = 7.0
        return Fault(kind=FaultKind.AUTH)

    with dive(tmp_path, slow, max_wall=5.0) as flight, pytest.raises(BudgetExhausted):
        flight.decide(0)
    assert 'wall time' in (read_trace(tmp_path)[0].error or '')


def test_one_deadline_holds_for_all_calls_of_a_decision(tmp_path: Path) -> None:
    deadlines: list[float] = []

    class Model:
        def complete(self, request: Any, *, deadline_s: float) -> Any:
            deadlines.append(deadline_s)
            flight.now += 20.0
            return flight_model.complete(request, deadline_s=60.0)

    with dive(tmp_path, [GARBAGE], decision_deadline=50.0) as flight:
        flight_model = flight.agent._parts.model
        flight.agent._parts = replace(flight.agent._parts, model=Model())
        flight.decide()
    assert deadlines == [50.0, 30.0, 10.0]


# ------------------------------------------------------------------ what a run lacks


@pytest.mark.parametrize(
    ('options', 'part'),
    [
        ({'agent': 'mllm', 'model': 'gpt-4p'}, "Did you mean 'gpt-4o'"),
        ({'agent': 'mllm', 'model': 'gpt-4o'}, 'OPENAI_API_KEY'),
        ({'agent': 'scripted', 'prompt': 'oceangim'}, "Did you mean 'oceangym'"),
        ({'agent': 'scripted', 'memory_from': '/nowhere'}, '/nowhere'),
    ],
)
def test_what_a_run_lacks_is_said_before_it_begins(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, str], part: str
) -> None:
    monkeypatch.delenv('OPENAI_API_KEY', raising=False)
    with pytest.raises(OceanGymError, match=part):
        make_agent(options['agent'], AgentSettings(options=RunOptions(**options)))


def test_a_preset_of_one_s_own_is_called_like_its_file(tmp_path: Path) -> None:
    from oceangym_core.assets import config_path

    text = config_path('agents', 'scripted_patrol.yaml').read_text()
    (tmp_path / 'mine.yaml').write_text(text)
    options = RunOptions(agent='mllm', model=str(tmp_path / 'mine.yaml'))
    with pytest.raises(OceanGymError, match="must be the name of the file: 'mine'"):
        model_parts(options, None)
    (tmp_path / 'mine.yaml').write_text(text.replace('id: scripted_patrol', 'id: mine'))
    model_parts(options, None).close()


@pytest.mark.parametrize('name', prompt_names())
def test_scores_name_the_prompt_that_was_used(name: str) -> None:
    assert prompt_sha256(prompt_folder(name)) == load_prompt(name).sha256


def test_a_run_directory_holds_one_trace(tmp_path: Path) -> None:
    (tmp_path / 'trace.jsonl').touch()
    with pytest.raises(OceanGymError, match='already holds a trace'):
        model_parts(RunOptions(agent='scripted'), tmp_path)


# ------------------------------------------------------------------ going on after an interruption


def test_an_interrupted_episode_goes_on_without_paying_again(tmp_path: Path) -> None:
    """Cut in the middle of a line of the trace; what was answered before is not asked again."""

    def say(body: Mapping[str, Any], number: int) -> str:
        text = '\n'.join(texts(body))
        if 'Step: 1' in text and 'not carried out' not in text:
            return GARBAGE
        return reply(magnitude=float(len(text) % 17 + 1))

    def fly(name: str, options: Mapping[str, Any]) -> tuple[list[Any], int]:
        with dive(tmp_path / name, say, **options) as flight:
            turns = [flight.decide(index).decision for index in range(3)]
            assert flight.agent._parts.budget.tokens == sum(
                d.tokens_in + d.tokens_out for d in turns
            )
            return turns, len(flight.server.requests)

    whole, asked = fly('whole', {})
    cut = tmp_path / 'cut'
    cut.mkdir()
    lines = (tmp_path / 'whole' / 'trace.jsonl').read_text().splitlines(keepends=True)
    (cut / 'trace.jsonl').write_text(''.join(lines[:2]) + lines[2][:50])
    resumed, asked_again = fly('resumed', {'resume_from': cut})
    assert (asked, asked_again) == (4, 1)
    assert [replace(d, notes=(), latency_s=0.0) for d in resumed] == [
        replace(d, notes=(), latency_s=0.0) for d in whole
    ]
    assert [NOTE in d.notes for d in resumed] == [True, True, False]
    # Another model's replies, and those to other questions, are of no use.
    other = (cut / 'trace.jsonl').read_text().replace('"model": "scripted_patrol"', '"model": "x"')
    for text in (other, lines[0].replace('Step: 0', 'Step: 7'), 'no trace\n'):
        (cut / 'trace.jsonl').write_text(text)
        _, asked_again = fly(f'anew {len(text)}', {'resume_from': cut})
        assert asked_again == 4
