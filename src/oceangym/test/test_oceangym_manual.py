"""The manual and the README: generated parts are current, links lead somewhere, the site builds."""

from __future__ import annotations

import os
from pathlib import Path
import re

import pytest

from manual_tables import filled, GENERATED, topic_table
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_setup import docs
from oceangym_setup.cli import workspace_here
from oceangym_setup.workspace import PACKAGES
from package_drawing import layers, needed

WORKSPACE = workspace_here(os.environ)
README = WORKSPACE.root / 'README.md'
MOST_README_BYTES = 8000
needs_mkdocs = pytest.mark.skipif(
    not docs.is_installed(WORKSPACE),
    reason='the packages of requirements/lock-docs.txt are not installed; '
    'scripts/oceangym docs and scripts/oceangym test install them',
)


@pytest.mark.parametrize('page', GENERATED)
def test_generated_parts_are_up_to_date(page: str) -> None:
    text = (WORKSPACE.root / page).read_text(encoding='utf-8')
    assert filled(page) == text, 'run in scripts/oceangym shell: python scripts/manual_tables.py'


def test_the_six_directions_share_a_row() -> None:
    table = topic_table()
    assert '`camera/<dir>/image_raw`' in table
    assert not any(f'/{direction}/' in table for direction in DIRECTIONS)


def test_the_drawing_has_packages_above_what_they_import() -> None:
    imports = {'top': {'left', 'core'}, 'left': {'core'}, 'core': set(), 'right': {'core'}}
    assert layers(imports) == [['core'], ['left', 'right'], ['top']]
    assert needed(imports, 'top') == {'left'}  # core comes with left
    with pytest.raises(ValueError, match='circle'):
        layers({'a': {'b'}, 'b': {'a'}})


def test_every_package_without_ros_has_a_page_of_its_interfaces() -> None:
    settings = (WORKSPACE.root / 'mkdocs.yml').read_text(encoding='utf-8')
    for package in PACKAGES:
        modules = list((WORKSPACE.root / 'src' / package / package).glob('*.py'))
        if len(modules) < 2 or package == 'oceangym':  # no code yet; processes and launch files
            continue
        page = WORKSPACE.root / 'docs/api' / f'{package}.md'
        assert f'::: {package}\n' in page.read_text(encoding='utf-8')
        assert f'- src/{package}\n' in settings, f'paths of mkdocs.yml lack src/{package}'


def test_the_readme_is_short_and_begins_with_two_commands() -> None:
    text = README.read_text(encoding='utf-8')
    assert len(text.encode()) <= MOST_README_BYTES, 'what is longer belongs into docs'
    section = text.split('## Quick start')[1].split('##')[0]
    first = re.search(r'```bash\n(.*?)```', section, re.DOTALL)
    assert first is not None
    assert first.group(1).split('\n')[:-1] == [
        './scripts/oceangym run task:=inspect_pipe',
        './scripts/oceangym test',
    ]


def test_every_file_that_the_readme_shows_exists() -> None:
    links = re.findall(r'\]\(([^)#]+)\)', README.read_text(encoding='utf-8'))
    assert links
    for link in links:
        if '://' not in link:
            assert (README.parent / link).exists(), link


@needs_mkdocs
def test_the_manual_builds_without_a_warning(tmp_path: Path) -> None:
    assert docs.build(WORKSPACE.docs_python, root=WORKSPACE.root, site=tmp_path) == 0
    page = (tmp_path / 'api/oceangym_core.html').read_text(encoding='utf-8')
    assert 'id="oceangym_core.errors.OceanGymError"' in page
    assert 'id="oceangym_core.nodes' not in page  # ROS's side is no Python interface


@needs_mkdocs
def test_a_link_to_a_page_that_is_not_there_fails_the_build(tmp_path: Path) -> None:
    settings = (WORKSPACE.root / 'mkdocs.yml').read_text(encoding='utf-8')
    settings, nav, _ = settings.partition('\nnav:')
    assert nav, 'the pages of the copy are its own, so the copy has no nav'
    (tmp_path / 'mkdocs.yml').write_text(settings, encoding='utf-8')
    (tmp_path / 'docs').mkdir()
    (tmp_path / 'docs/index.md').write_text('[elsewhere](nowhere.md)', encoding='utf-8')
    site = tmp_path / 'site'
    assert docs.build(WORKSPACE.docs_python, root=tmp_path, site=site) != 0
