"""Templates broken in any way are refused with file and reason, when loaded or when rendered."""

from __future__ import annotations

from pathlib import Path
import shutil

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from oceangym_agent.prompts.prompt_files import load_prompt, TEMPLATES
from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError

BUDGET = settings(max_examples=80, deadline=None)
FRAGMENTS = st.sampled_from(
    [
        '{{', '}}', '{%', '%}', '{#', '#}', '{{ goal }}', '{{ goal.target }}', '{{ goal["x"] }}',
        '{{ error }}', '{{ error.upper() }}', '{{ error[999] }}', '{{ error % error }}', '{{ (1 }}',
        '{% if goal %}', '{% endif %}', '{% else %}', '{% for x in error %}', '{% endfor %}',
        '{% set error = 3 %}', '{% include "_state.j2" %}', '{% include goal %}', '{% raw %}',
        '{% import "x" as y %}', '{% extends "single.j2" %}', '{% include "reask.j2" %}',
        '{% block b %}', '{% endblock %}', '{% macro m(a) %}', '{% endmacro %}', '{{ m(1, 2) }}',
        '{{ 10 ** 10 ** 2 }}', '{{ "%d" % "x" }}', '{{ "{0.__class__}".format(goal) }}', '{{ [] }}',
        '{{ error | int(base=99) }}', '{{ error | tojson }}', '{{ goal | sum }}', '{{ -goal }}',
        '{{ goal is sameas }}', '{% call m() %}', '\x00', '\ud7ff', '\r', '\\', "'", '"',
    ]
)  # fmt: skip
TEXTS = st.lists(FRAGMENTS | st.text(max_size=8), max_size=8).map(''.join)
CONTEXT = {
    'error': 'No command.',
    'goal': {'target': 'pipe'},
    'reply_instructions': 'One command.',
}


@pytest.fixture(scope='module')
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('prompts') / 'mine'
    shutil.copytree(config_path('prompts', 'concise'), folder)
    return folder


def load_and_render(own: Path) -> None:
    try:
        rendered = load_prompt(str(own)).render('reask', CONTEXT)
    except OceanGymError as error:
        assert 'mine' in str(error)
        assert len(str(error)) < 2000
    else:
        assert isinstance(rendered, str)


@BUDGET
@given(text=TEXTS)
def test_any_template(own: Path, text: str) -> None:
    path = own / 'reask.j2'
    path.write_text(text, encoding='utf-8')
    load_and_render(own)


@BUDGET
@given(
    template=st.sampled_from(TEMPLATES), place=st.floats(0, 1), cut=st.integers(0, 20), text=TEXTS
)
def test_templates_with_something_in_their_middle(
    own: Path, template: str, place: float, cut: int, text: str
) -> None:
    path = own / f'{template}.j2'
    whole = (config_path('prompts', 'concise') / f'{template}.j2').read_text(encoding='utf-8')
    at = int(place * len(whole))
    try:
        path.write_text(whole[:at] + text + whole[at + cut :], encoding='utf-8')
        load_and_render(own)
    finally:
        path.write_text(whole, encoding='utf-8')


@BUDGET
@given(
    description=st.binary(max_size=120)
    | st.text(max_size=120).map(lambda text: text.encode('utf-8'))
)
def test_any_description(own: Path, description: bytes) -> None:
    path = own / 'prompt.yaml'
    whole = path.read_bytes()
    try:
        path.write_bytes(description)
        load_and_render(own)
    finally:
        path.write_bytes(whole)
