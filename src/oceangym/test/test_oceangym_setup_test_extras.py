"""What only tests use: installed where that is allowed, never in anybody's way."""

from __future__ import annotations

from pathlib import Path
import subprocess

import pytest

from oceangym_setup import docs, test_extras
from oceangym_setup.errors import SetupError
from oceangym_setup.test_extras import BROWSER, ensure, is_wanted, SDFORMAT
from oceangym_setup.workspace import Workspace


@pytest.fixture
def workspace(tmp_path):
    return Workspace(root=tmp_path, native=False)


@pytest.fixture
def machine(monkeypatch):
    """A machine with apt-get and without a browser, on which commands are only taken down."""
    programs = {'apt-get', 'sudo'}
    commands: list[list[str]] = []

    def run_logged(shown, command, **kw):
        words = [str(word) for word in command]
        commands.append(words)
        if 'install' in words:
            programs.update(BROWSER.packages, {'chromedriver'})

    monkeypatch.setattr(
        test_extras.shutil, 'which', lambda name: name if name in programs else None
    )
    monkeypatch.setattr(test_extras, 'run_logged', run_logged)
    return programs, commands


def test_root_installs_it(workspace, machine, monkeypatch, capsys):
    _, commands = machine
    monkeypatch.setattr(test_extras.os, 'geteuid', lambda: 0)
    ensure(BROWSER, workspace, {})
    assert commands == [
        ['apt-get', 'update'],
        ['apt-get', 'install', '-y', '--no-install-recommends', 'chromium', 'chromium-driver'],
    ]
    assert 'skipped' not in capsys.readouterr().err


def test_sudo_is_used_only_where_it_asks_nothing(workspace, machine, monkeypatch, capsys):
    _, commands = machine
    answers = {'code': 0}
    monkeypatch.setattr(test_extras.os, 'geteuid', lambda: 1000)
    monkeypatch.setattr(
        test_extras.subprocess,
        'run',
        lambda command, **kw: subprocess.CompletedProcess(command, answers['code']),
    )
    answers['code'] = 1
    ensure(BROWSER, workspace, {})
    assert commands == [] and BROWSER.manual in capsys.readouterr().err
    answers['code'] = 0
    ensure(BROWSER, workspace, {})
    assert [command[:3] for command in commands] == [['sudo', '-n', 'apt-get']] * 2


def test_a_failed_installation_is_told_and_not_tried_again(
    workspace, machine, monkeypatch, capsys
):
    calls = []

    def fail(shown, command, **kw):
        calls.append(command)
        raise SetupError('no network', 'connect it')

    monkeypatch.setattr(test_extras.os, 'geteuid', lambda: 0)
    monkeypatch.setattr(test_extras, 'run_logged', fail)
    ensure(BROWSER, workspace, {})
    ensure(BROWSER, workspace, {})
    told = capsys.readouterr().err
    assert len(calls) == 1
    assert 'no network' in told and told.count(BROWSER.manual) == 2


def test_where_it_is_there_nothing_is_done(workspace, machine, monkeypatch):
    programs, commands = machine
    programs |= {'chromium', 'chromedriver'}
    ensure(BROWSER, workspace, {})
    assert commands == [] and not Path(workspace.stamps).exists()


def test_tests_of_other_packages_do_not_ask_for_it(tmp_path):
    for package in ('oceangym_core', 'oceangym_bench'):
        (tmp_path / 'src' / package / 'test').mkdir(parents=True)
    assert is_wanted(BROWSER.tested_package, tmp_path, [])
    assert is_wanted(BROWSER.tested_package, tmp_path, ['-k', 'report'])
    assert is_wanted(BROWSER.tested_package, tmp_path, ['src/oceangym_bench/test'])
    assert not is_wanted(BROWSER.tested_package, tmp_path, ['src/oceangym_core/test'])
    assert is_wanted(SDFORMAT.tested_package, tmp_path, [])
    assert not is_wanted(SDFORMAT.tested_package, tmp_path, ['src/oceangym_bench/test'])


def test_the_packages_of_the_manual_are_installed_once_and_a_failure_skips_its_test(
    workspace, monkeypatch, capsys
):
    (workspace.root / 'requirements').mkdir()
    docs.lock_file(workspace).write_text('mkdocs==1.6.1\n', encoding='utf-8')
    commands = []

    def run_logged(shown, command, **kw):
        words = [str(word) for word in command]
        commands.append(words[2])
        if 'pip' in words and failing:
            raise SetupError('no network', 'connect it')
        workspace.docs_python.parent.mkdir(parents=True, exist_ok=True)
        workspace.docs_python.touch()

    monkeypatch.setattr(docs, 'run_logged', run_logged)
    failing = True
    docs.ensure_for_tests(workspace)
    docs.ensure_for_tests(workspace)
    told = capsys.readouterr().err
    assert commands == ['venv', 'pip'] and not docs.is_installed(workspace)
    assert 'no network' in told and told.count('scripts/oceangym docs') == 2
    failing = False
    docs.ensure(workspace)  # who asks for the manual itself is not held back by that
    docs.ensure(workspace)
    assert commands == ['venv', 'pip'] * 2 and docs.is_installed(workspace)
    docs.lock_file(workspace).write_text('mkdocs==1.6.2\n', encoding='utf-8')
    assert not docs.is_installed(workspace)
