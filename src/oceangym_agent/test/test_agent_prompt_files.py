"""Prompt folders: the shipped ones, one's own, and every way in which they can be wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
import re
import shutil

import pytest

from oceangym_agent.prompts.prompt_files import load_prompt, NAMES, prompt_names, TEMPLATES
from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError

REASK = {'error': 'No command.', 'goal': {}, 'reply_instructions': 'One command.'}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A copy of the concise prompt."""
    folder = tmp_path / 'mine'
    shutil.copytree(config_path('prompts', 'concise'), folder)
    return folder


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding='utf-8')
    assert old in text
    path.write_text(text.replace(old, new), encoding='utf-8')


def test_the_shipped_prompts_load() -> None:
    assert set(prompt_names()) >= {'oceangym', 'concise'}
    for name in prompt_names():
        prompt = load_prompt(name)
        assert prompt.name == name
        assert re.fullmatch(r'\d+\.\d+\.\d+', prompt.version)


def test_the_readme_names_every_variable_and_template() -> None:
    text = config_path('prompts', 'README.md').read_text(encoding='utf-8')
    missing = [name for name in (*NAMES, *TEMPLATES) if not re.search(rf'\b{name}\b', text)]
    assert not missing


def test_the_digest_follows_the_content_and_not_the_place(own: Path, tmp_path: Path) -> None:
    digest = load_prompt(str(own)).sha256
    assert digest == load_prompt('concise').sha256
    (own / 'notes.md').write_text('mine')
    assert load_prompt(str(own)).sha256 == digest
    (own / 'act.j2').write_text('{{ perception }} Other words.')
    assert load_prompt(str(own)).sha256 != digest


def test_own_prompts_by_path_and_by_configuration_folder(own: Path, tmp_path: Path) -> None:
    assert load_prompt(str(own)).name == 'mine'
    shutil.copytree(own, tmp_path / 'config' / 'prompts' / 'theirs')
    folders = [tmp_path / 'config']
    assert load_prompt('theirs', folders).name == 'theirs'
    assert 'theirs' in prompt_names(folders)


def test_unknown_names_and_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OceanGymError, match=r"Did you mean 'concise'.*path of its folder"):
        load_prompt('consise')
    with pytest.raises(OceanGymError, match='is not a folder'):
        load_prompt(str(tmp_path / 'none'))
    with pytest.raises(OceanGymError, match=r'prompt\.yaml'):
        load_prompt(f'{tmp_path}/')


@pytest.mark.parametrize('template', TEMPLATES)
def test_a_missing_template_is_named(own: Path, template: str) -> None:
    (own / f'{template}.j2').unlink()
    with pytest.raises(OceanGymError, match=rf'template file {template}\.j2 is missing'):
        load_prompt(str(own))


def test_an_unknown_template_file_is_refused(own: Path) -> None:
    (own / 'percieve.j2').write_text('x')
    with pytest.raises(OceanGymError, match=r"'percieve\.j2'.*Did you mean 'perceive\.j2'"):
        load_prompt(str(own))


@pytest.mark.parametrize('name', ['single.txt', 'system.j2.bak', 'image.png'])
def test_files_that_nothing_would_read_are_refused(own: Path, name: str) -> None:
    (own / name).write_text('x')
    with pytest.raises(OceanGymError, match=re.escape(name)):
        load_prompt(str(own))


def test_a_part_that_is_missing_or_unused_is_named(own: Path) -> None:
    (own / '_extra.j2').write_text('x')
    with pytest.raises(OceanGymError, match=r'no template includes _extra\.j2'):
        load_prompt(str(own))
    (own / '_extra.j2').unlink()
    (own / '_state.j2').unlink()
    with pytest.raises(OceanGymError, match=r"part '_state\.j2'"):
        load_prompt(str(own))


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('{{ goals.target }}', "variable 'goals'.*Did you mean 'goal'"),
        ('line\n{{ goal.target', 'line 2'),
        ('{% for v in views %}', 'TemplateSyntaxError'),
        ('{{ goal | no_such_filter }}', 'no_such_filter'),
        ('{% include "_none.j2" %}', "part '_none.j2'"),
    ],
)
def test_mistakes_that_show_without_rendering(own: Path, text: str, expected: str) -> None:
    (own / 'reask.j2').write_text(text)
    with pytest.raises(OceanGymError, match=expected) as caught:
        load_prompt(str(own))
    assert 'reask.j2' in str(caught.value)


@pytest.mark.parametrize(
    ('text', 'expected'),
    [
        ('{{ error }}\n{{ goal.tarket }}', r"reask\.j2, line 2: variable .*'tarket'"),
        ('{{ state.step }}', r"reask\.j2, line 1: variable 'state' is undefined"),
        ('{{ 1 / 0 }}', 'ZeroDivisionError'),
        ("{{ ''.__class__.__mro__ }}", r'SecurityError|undefined|unsafe'),
        ('{% for i in range(10 ** 9) %}x{% endfor %}', 'OverflowError'),
        ('{{ error + 3 }}', 'TypeError'),
        ('{% include "_state.j2" %}', r"_state\.j2, line 1: variable 'state'"),
    ],
)
def test_mistakes_that_show_in_rendering(own: Path, text: str, expected: str) -> None:
    (own / 'reask.j2').write_text(text)
    with pytest.raises(OceanGymError, match=expected):
        load_prompt(str(own)).render('reask', REASK)


@pytest.mark.parametrize(
    ('broken', 'expected'),
    [
        ('version: 1.0\ntitle: t\ndescription: d\n', 'version'),
        ('version: 1.0.0\ntitle: t\ndescription: d\nauthor: me\n', "key 'author'"),
        ('version: 1.0.0\ntitle: t\n', "'description' is missing"),
        ('- a\n', 'must be a mapping'),
    ],
)
def test_a_wrong_description_is_refused(own: Path, broken: str, expected: str) -> None:
    (own / 'prompt.yaml').write_text(broken)
    with pytest.raises(OceanGymError, match=expected):
        load_prompt(str(own))


@pytest.mark.parametrize(
    'damage',
    [
        lambda path: path.write_bytes(b'\xff\xfe\x00'),
        lambda path: path.write_bytes(b'x' * 300_000),
        lambda path: (path.unlink(), path.mkdir()),
    ],
)
def test_unreadable_templates_are_refused(own: Path, damage: Callable[[Path], object]) -> None:
    damage(own / 'single.j2')
    with pytest.raises(OceanGymError, match=r'single\.j2'):
        load_prompt(str(own))
