"""A node ends with its launcher."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from oceangym_core.launcher_watch import end_with_launcher, LAUNCHER_VARIABLE

# A launcher that starts a node and sleeps; the node says when it watches, and sleeps.
NODE = """
import sys, time
sys.path[:0] = {path!r}
from oceangym_core.launcher_watch import end_with_launcher
end_with_launcher()
print('watching', flush=True)
time.sleep(600)
"""
LAUNCHER = """
import os, subprocess, sys, time
os.environ[{variable!r}] = str(os.getpid())
# Between the two stands a shell, as a terminal or a debugger would.
node = subprocess.Popen(['sh', '-c', '"$0" -c "$1"; true', sys.executable, {node!r}])
time.sleep(600)
"""


@pytest.mark.parametrize('number', [signal.SIGTERM, signal.SIGKILL])
def test_a_node_ends_however_its_launcher_does(number):
    node = NODE.format(path=sys.path)
    launcher = subprocess.Popen(
        [sys.executable, '-c', LAUNCHER.format(variable=LAUNCHER_VARIABLE, node=node)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert launcher.stdout is not None
    assert launcher.stdout.readline() == 'watching\n'
    launcher.send_signal(number)
    launcher.wait()
    # The pipe closes when its last writer has ended: the node.
    assert launcher.stdout.read() == ''


def test_a_launcher_that_is_gone_already_ends_the_node():
    gone = subprocess.Popen(['true'])
    gone.wait()
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        end_with_launcher({LAUNCHER_VARIABLE: str(gone.pid)})
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked == [signal.SIGTERM]


def test_without_a_launcher_nothing_is_watched(monkeypatch):
    monkeypatch.setattr(os, 'pidfd_open', lambda pid: pytest.fail('watched'))
    for value in ('', 'x', str(os.getpid())):
        end_with_launcher({LAUNCHER_VARIABLE: value})
