"""The manual: its pages build without a warning."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from oceangym_setup import docs
from oceangym_setup.cli import workspace_here

WORKSPACE = workspace_here(os.environ)
needs_mkdocs = pytest.mark.skipif(
    not docs.is_installed(WORKSPACE),
    reason='the packages of requirements/lock-docs.txt are not installed; '
    'scripts/oceangym docs and scripts/oceangym test install them',
)


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
