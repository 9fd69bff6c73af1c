"""A machine that refuses: what the command line says then, without a traceback."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys

import pytest

from oceangym import cli
from oceangym.domain import DomainLease
from oceangym.processes import ProcessSpec
from oceangym.supervisor import Supervisor
from oceangym_core.errors import OceanGymError


@pytest.mark.parametrize(
    ('error', 'said'),
    [
        (OSError(errno.ENOSPC, 'No space left on device', '/x/y'), 'No space left on device'),
        (OSError(errno.ENOSPC, 'No space left on device'), 'No space left on device'),
        (PermissionError(errno.EACCES, 'Permission denied', '/x/y'), '/x/y: Permission denied'),
        (OSError(errno.EMFILE, 'Too many open files'), 'Too many open files'),
        (OSError('something else'), 'something else'),
    ],
)
def test_what_the_machine_refuses_is_one_line(capsys, monkeypatch, error, said):
    def refuse(words):
        raise error

    monkeypatch.setitem(cli.VERBS, 'run', refuse)
    assert cli.main(['run']) == 1
    written = capsys.readouterr().err
    assert written.startswith('error: ')
    assert said in written
    assert written.count('\n') == 1


def test_a_run_directory_that_cannot_be_written_leaves_no_process(tmp_path):
    """A file in the way of the logs stands for a full disk: even root cannot write there."""
    (tmp_path / 'logs').write_text('')
    spec = ProcessSpec(package='oceangym_sim', executable='sim_node', name='simulator')
    supervisor = Supervisor([spec], directory=tmp_path, environment={})
    with pytest.raises(OSError, match='logs'):
        supervisor.run()
    assert supervisor.children == []


@pytest.mark.parametrize('given', ['³', '９', '-1', '1.5', '233', '9' * 5000, 'x', ' 1'])
def test_domains_that_are_none_are_refused(monkeypatch, given):
    monkeypatch.setenv('ROS_DOMAIN_ID', given)
    with pytest.raises(OceanGymError, match=r'not a domain; allowed: 0 \.\. 232'):
        DomainLease()


def test_ctrl_c_while_the_command_line_loads_is_130_without_a_traceback(tmp_path):
    """A module that takes long to load stands for a slow disk."""
    slow = tmp_path / 'oceangym_core'
    slow.mkdir()
    (slow / '__init__.py').write_text(
        'import time\nprint("loading", flush=True)\ntime.sleep(600)\n'
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get('PYTHONPATH', '')])
    process = subprocess.Popen(
        [sys.executable, '-m', 'oceangym', 'list'],
        env={**os.environ, 'PYTHONPATH': path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == 'loading\n'
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (130, '')


def test_a_current_directory_that_is_gone_is_told(tmp_path):
    gone = tmp_path / 'gone'
    gone.mkdir()
    code = f'import os, runpy; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r}); '
    code += 'import sys; sys.argv = ["oceangym", "list"]; runpy.run_module("oceangym", run_name="__main__")'
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == 'error: the current directory no longer exists; cd to one that does\n'
