"""Arguments of a run: every one is read, checked and documented from one table."""

from __future__ import annotations

import contextlib
from dataclasses import fields
from pathlib import Path
import re

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from oceangym_core.assets import config_path
from oceangym_core.config.option_help import choices_of, help_lines, option_table
from oceangym_core.config.options import (
    ARGUMENTS,
    parse_ros_arguments,
    RunOptions,
)
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.config.waters import load_water
from oceangym_core.errors import OceanGymError
from oceangym_core.record.version import prompt_folder


def test_defaults_are_those_of_the_readme() -> None:
    options = parse_ros_arguments([])
    assert options == RunOptions()
    assert (options.agent, options.start, options.water, options.seed) == (
        'survey',
        'point1',
        'shallow',
        0,
    )
    assert (options.backend, options.mode, options.frame, options.profile, options.record) == (
        'embedded',
        'lockstep',
        'map',
        'standard',
        'light',
    )
    assert options.results_dir == 'runs'


def test_the_table_and_the_options_agree() -> None:
    assert [f.name for f in fields(RunOptions)] == [a.name for a in ARGUMENTS]
    for argument in ARGUMENTS:
        default = getattr(RunOptions(), argument.name)
        typed = '' if default is None else str(default).lower()
        assert typed == argument.default


def test_every_argument_survives_a_round_trip() -> None:
    words = [
        'task:=dock',
        'water:=deep',
        'start:=10,-20.5,-30,90',
        'seed:=7',
        'world_seed:=3',
        'agent:=scripted',
        'backend:=gazebo',
        'mode:=realtime',
        'rtf:=2.5',
        't_max:=600',
        't_interval:=20',
        'frame:=shifted',
        'profile:=hard',
        'nav:=truth',
        'record:=full',
        'sensors:=truth',
        'device:=cpu',
        'rviz:=true',
        'namespace:=fleet/auv1',
        'results_dir:=/tmp/x',
        'frame_seed:=0',
        'memory_images:=2',
        'coverage:=text',
        'max_cost:=0.25',
        'max_tokens:=100000',
    ]
    options = parse_ros_arguments(words)
    assert options.rtf == 2.5 and options.rviz is True and options.t_max == 600.0
    assert parse_ros_arguments(options.as_ros_arguments()) == options
    assert RunOptions.from_dict(options.as_dict()) == options


@pytest.mark.parametrize(
    ('word', 'part'),
    [
        ('tsak:=dock', "Did you mean 'task'?"),
        ('task:=inspect-pip', "Did you mean 'inspect_pipe'?"),
        ('water:=depp', "Did you mean 'deep'?"),
        ('agent:=oracel', "Did you mean 'oracle'?"),
        ('mode:=lock_step', "Did you mean 'lockstep'?"),
        ('start:=randmo', "Did you mean 'random'?"),
        ('start:=1,2,3', 'x,y,z,yaw_deg'),
        ('start:=1,2,nan,4', 'x,y,z,yaw_deg'),
        ('rviz:=ture', "Did you mean 'true'?"),
        ('rviz:=True', "Did you mean 'true'?"),
        ('rtf:=0', '0.01 .. 100'),
        ('rtf:=nan', 'not a number'),
        ('rtf:=1_0', 'not a number'),
        ('t_max:=-3', 'out of range'),
        ('seed:=1.5', 'whole number'),
        ('seed:=-1', 'out of range'),
        ('seed:=99999999999999999999', 'whole number'),
        ('profile:=hrad', "Did you mean 'hard'?"),
        ('record:=none', 'Allowed: false, full, light'),
        ('task=dock', 'Write task:=value'),
        ('--task', 'Write task:=value'),
        ('dock', 'name:=value'),
        ('task:=', "leave it out for 'inspect_pipe'"),
        ('namespace:=1auv', 'ROS name'),
        ('agent:=replay', 'replay:='),
        ('replay:=runs/x', 'agent:=replay'),
        ('task:=missing.yaml', 'cannot read missing.yaml'),
        ('agent:=mllm', 'needs model:='),
        ('model:=gpt', 'model:= is for agent:=mllm'),
        ('max_decisions:=5', 'max_decisions:= is for agent:=mllm'),
        ('sonar:=fan', 'the agent is survey'),
        ('agent:=mlm', "Did you mean 'mllm'?"),
        ('loop:=perceive', "Did you mean 'perceive_act'?"),
        ('sonar:=fans', "Did you mean 'fan'?"),
        ('memory:=-1', 'out of range'),
        ('max_cost:=0', 'out of range'),
        ('max_tokens:=1.5', 'whole number'),
        ('detector:=yes', 'true'),
        ('frame_seed:=4', 'frame_seed:= is for frame:=shifted; frame is map'),
        ('rtf:=2', 'give mode:=realtime'),
    ],
)
def test_a_wrong_word_is_refused_with_its_remedy(word: str, part: str) -> None:
    with pytest.raises(OceanGymError) as caught:
        parse_ros_arguments([word])
    assert part in str(caught.value)


@pytest.mark.parametrize(
    ('words', 'part'),
    [
        (['sonar:=fan', 'sensors:=truth'], 'sonar:=fan needs what sensors:=all renders'),
        (['detector:=true', 'sensors:=none'], 'detector:=true needs'),
        (['base_url:=localhost:8000'], 'http(s)://host'),
        (['base_url:=http://[::1'], 'http(s)://host'),
        (['base_url:=https://me:sk-123@host/v1'], 'environment variable'),
        (['base_url:=https://host/v1?key=sk-123'], 'environment variable'),
    ],
)
def test_what_does_not_fit_a_model_is_refused_without_repeating_a_key(words, part) -> None:
    with pytest.raises(OceanGymError) as caught:
        parse_ros_arguments(['agent:=scripted', *words])
    assert part in str(caught.value)
    assert 'sk-123' not in str(caught.value)


def test_a_model_names_the_agent_and_its_inputs_the_track() -> None:
    assert RunOptions(agent='scripted').agent_name == 'scripted_patrol'
    assert RunOptions(agent='mllm', model='my/qwen2.5-vl.yaml').agent_name == 'qwen2.5-vl'
    assert RunOptions(agent='mllm', model='qwen2.5-vl').agent_name == 'qwen2.5-vl'
    assert RunOptions().track == 'none'
    assert RunOptions(agent='scripted').track == 'V'
    assert RunOptions(agent='scripted', sonar='fan').track == 'VS'
    for aid in ({'sonar': 'described'}, {'coverage': 'image'}, {'detector': True}):
        assert RunOptions(agent='scripted', **aid).track == 'AIDED'


def test_the_frame_is_shifted_by_the_run_s_seed_unless_it_has_its_own() -> None:
    assert RunOptions(seed=4).resolved_frame_seed == 4
    assert RunOptions(seed=4, frame_seed=0).resolved_frame_seed == 0


def test_what_is_not_given_survives_as_a_node_parameter() -> None:
    for options in (RunOptions(), RunOptions(frame_seed=0, max_cost=0.5, t_max=60, max_tokens=1)):
        values = options.as_dict()
        parameters = {a.name: a.to_parameter(values[a.name]) for a in ARGUMENTS}
        assert None not in parameters.values()
        assert {a.name: a.of_parameter(parameters[a.name]) for a in ARGUMENTS} == values


def test_what_a_record_holds_of_frame_and_speed_is_read_whatever_they_mean() -> None:
    # Only what a person gives in vain is refused: benchmark files give every run a frame seed.
    old = RunOptions(frame='map', frame_seed=4, rtf=2.0).as_dict()
    assert RunOptions.from_dict(old).as_dict() == old


def test_a_path_with_a_colon_is_refused_where_colons_separate(tmp_path: Path) -> None:
    odd = tmp_path / 'dive:1'
    odd.mkdir()
    for name in ('config', 'memory_from'):
        options = RunOptions(agent='scripted', **{name: str(odd)})
        with pytest.raises(OceanGymError, match=f'{name}:=.* a colon in its name'):
            _ = (options.config_dirs, options.memory_sources)
    pair = RunOptions(config=f'{tmp_path}:{tmp_path}')
    assert pair.config_dirs == (tmp_path, tmp_path)


def test_later_configuration_directories_count_before_earlier_ones(tmp_path: Path) -> None:
    """One rule for every kind of file; presets and prompts are looked up by their packages."""
    water = config_path('waters', 'shallow.yaml').read_text(encoding='utf-8')
    task = config_path('tasks', 'dock.yaml').read_text(encoding='utf-8')
    for name in ('one', 'two'):
        for kind in ('waters', 'tasks', 'prompts/terse'):
            (tmp_path / name / kind).mkdir(parents=True)
        (tmp_path / name / 'waters' / 'shallow.yaml').write_text(
            re.sub('^title:.*', f'title: {name}', water, flags=re.MULTILINE)
        )
        (tmp_path / name / 'prompts' / 'terse' / 'prompt.yaml').write_text('version: 1.0.0')
        text = re.sub('^title:.*', f'title: {name}', task, flags=re.MULTILINE)
        text = re.sub('^reference_image:.*', '', text, flags=re.MULTILINE)
        (tmp_path / name / 'tasks' / 'dock.yaml').write_text(text)
    for first, last in (('one', 'two'), ('two', 'one')):
        folders = RunOptions(config=f'{tmp_path / first}:{tmp_path / last}').config_dirs
        assert load_water('shallow', folders).title == last
        assert TaskRegistry.load(folders).get('dock').title == last
        assert prompt_folder('terse', folders) == tmp_path / last / 'prompts' / 'terse'


def test_a_word_given_twice_is_refused() -> None:
    with pytest.raises(OceanGymError, match='given twice'):
        parse_ros_arguments(['seed:=1', 'seed:=1'])


@pytest.mark.parametrize(
    ('alias', 'task', 'water'),
    [
        ('task1', 'locate_robot', 'shallow'),
        ('task2', 'inspect_pipe', 'shallow'),
        ('task3', 'locate_drums', 'shallow'),
        ('task4', 'search_ship', 'shallow'),
        ('task5', 'locate_electrical_box', 'shallow'),
        ('task6', 'inspect_turbine', 'shallow'),
        ('task7', 'search_aircraft', 'shallow'),
        ('task8', 'dock', 'shallow'),
        ('task9', 'inspect_pipe', 'deep'),
        ('task10', 'locate_drums', 'deep'),
        ('task11', 'search_ship', 'deep'),
        ('task12', 'inspect_turbine', 'deep'),
    ],
)
def test_aliases_stand_for_a_task_in_its_water(alias: str, task: str, water: str) -> None:
    options = parse_ros_arguments([f'task:={alias}'])
    assert (options.task, options.water) == (task, water)
    assert parse_ros_arguments([f'task:={alias}', f'water:={water}']) == options
    other = 'deep' if water == 'shallow' else 'shallow'
    with pytest.raises(OceanGymError, match='contradicts'):
        parse_ros_arguments([f'task:={alias}', f'water:={other}'])


def test_any_task_runs_in_any_water() -> None:
    assert parse_ros_arguments(['task:=dock', 'water:=deep']).water == 'deep'


def test_sensors_follow_the_agent_unless_given() -> None:
    assert RunOptions(agent='idle').resolved_sensors == 'none'
    assert RunOptions(agent='oracle').resolved_sensors == 'truth'
    assert RunOptions(agent='survey').resolved_sensors == 'all'
    assert RunOptions(agent='idle', sensors='all').resolved_sensors == 'all'


def test_a_person_is_recorded_as_human() -> None:
    assert RunOptions(agent='teleop').agent_name == 'human'


def test_help_and_table_show_every_argument() -> None:
    table, lines = option_table(), '\n'.join(help_lines())
    for argument in ARGUMENTS:
        assert f'| `{argument.name}` |' in table
        assert f'{argument.name}:=' in lines
    assert 'inspect_pipe' in choices_of(ARGUMENTS[0])


WORDS = st.builds(
    '{}:={}'.format, st.sampled_from([a.name for a in ARGUMENTS]), st.text(max_size=30)
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=40) | WORDS, max_size=3))
def test_any_words_are_read_or_refused(words: list[str]) -> None:
    with contextlib.suppress(OceanGymError):
        parse_ros_arguments(words)


def test_record_true_is_light():
    assert parse_ros_arguments(['record:=true']) == parse_ros_arguments(['record:=light'])
    assert RunOptions(record='true').record == 'light'
    assert 'true' not in ' '.join(RunOptions(record='true').as_ros_arguments())


@pytest.mark.parametrize(
    ('words', 'message'),
    [
        (['sonar_device:=oculus_m750'], "Did you mean 'oculus_m750d'"),
        (['sonar_mount:=tilt'], "Did you mean 'tilted'"),
        (['sonar_mount:=tilted', 'backend:=gazebo'], 'choose the sonars of backend:=embedded'),
        (['sonar_device:=ping360', 'backend:=vehicle'], 'choose the sonars of backend:=embedded'),
    ],
)
def test_sonars_that_cannot_be_carried_are_refused(words: list[str], message: str) -> None:
    with pytest.raises(OceanGymError, match=message):
        parse_ros_arguments(words)
