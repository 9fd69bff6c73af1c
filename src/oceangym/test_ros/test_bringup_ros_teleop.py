"""Every key of the keyboard node, pressed on a pseudo-terminal."""

from __future__ import annotations

from collections.abc import Callable
import os
import pty
import select
import subprocess
import time

import pytest
import yaml

from oceangym.processes import parameter_file
from oceangym.supervisor import command_line
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import Action
from oceangym_core.record.reader import load_episode

pytestmark = pytest.mark.ros


class Terminal:
    """A node on a pseudo-terminal: keys in, what it prints out."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        self.text = ''

    def press(self, key: str) -> None:
        os.write(self._master, key.encode())

    def until(self, condition: Callable[[str], bool], timeout: float = 90.0) -> None:
        deadline = time.monotonic() + timeout
        while not condition(self.text):
            assert time.monotonic() < deadline, f'not seen in: {self.text[-2000:]}'
            if select.select([self._master], [], [], 0.1)[0]:
                self.text += os.read(self._master, 4096).decode('utf-8', 'replace')

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


def test_every_key_on_a_terminal(
    tmp_path, domain_id, small_world, make_specs, make_nodes, make_probe
):
    run = tmp_path / 'run'
    options = RunOptions(agent='teleop', sensors='none', record='false')
    specs = make_specs(options, run, small_world)
    nodes = make_nodes(tmp_path, domain_id)
    nodes.start(specs['simulator'])
    nodes.start(specs['task_manager'])
    parameters = tmp_path / 'teleop.yaml'
    content = parameter_file(specs['agent'])
    content['/**']['ros__parameters']['hand_over_to'] = 'idle'
    parameters.write_text(yaml.safe_dump(content))
    terminal = Terminal(command_line(specs['agent'], parameters), nodes.environment)
    try:
        keys = {
            'w': Action.FORWARD,
            's': Action.BACKWARD,
            'a': Action.LEFT,
            'd': Action.RIGHT,
            'j': Action.ROTATE_LEFT,
            'l': Action.ROTATE_RIGHT,
            'i': Action.UP,
            'K': Action.DOWN,
        }
        for index, (key, action) in enumerate(keys.items()):
            terminal.until(lambda text, index=index: f'[{index}]' in text)
            terminal.press(key)
            terminal.until(lambda text, action=action: f'{action.value}:' in text)
        terminal.until(lambda text: '[8]' in text)
        terminal.press('x')
        terminal.until(lambda text: "'x' has no meaning" in text)
        terminal.press('?')
        terminal.until(lambda text: text.count('report a find') >= 2)
        terminal.press('f')
        terminal.until(lambda text: 'OIL PIPELINE reported found' in text)
        terminal.press('m')
        terminal.until(lambda text: 'idle has the vehicle' in text)
        probe = make_probe('watcher')
        probe.listen('task/state')
        probe.until(lambda: probe.heard['task/state'] and probe.heard['task/state'][-1].step >= 9)
        probe.close()
        terminal.press('m')
        terminal.until(lambda text: 'you have the vehicle' in text)
        terminal.press('q')
        terminal.until(lambda text: 'ended' in text.split('you have the vehicle')[1])
        manager = nodes.running['task_manager']
        assert manager.wait(timeout=60) == 0
    finally:
        terminal.close()
        nodes.close()

    episode = load_episode(run)
    assert episode.info.agent == 'human'
    assert episode.ending.value == 'stop'
    flown = [step.decision.action for step in episode.steps[1:9]]
    assert flown == list(keys.values())
    assert {s.decision.action for s in episode.steps[9:]} == {Action.HOLD}
    assert [r.label for r in episode.reports] == ['OIL PIPELINE']
    assert episode.reports[0].observation_index == 8


def test_without_a_terminal_it_says_so(tmp_path, domain_id, small_world, make_specs, make_nodes):
    specs = make_specs(RunOptions(agent='teleop', sensors='none'), tmp_path / 'run', small_world)
    nodes = make_nodes(tmp_path, domain_id)
    parameters = tmp_path / 'teleop.yaml'
    parameters.write_text(yaml.safe_dump(parameter_file(specs['agent'])))
    done = subprocess.run(
        command_line(specs['agent'], parameters),
        env=nodes.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    # It is said to ROS's log as well.
    assert done.stderr.splitlines()[-1] == 'error: teleop reads keys: run it in a terminal'
    assert 'Traceback' not in done.stderr
