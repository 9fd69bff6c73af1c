"""The supervisor with small programs in place of nodes: losses, cancelling, nothing left behind."""

from __future__ import annotations

from dataclasses import replace
import json
import os
from pathlib import Path
import sys

import pytest

from oceangym import supervisor as supervisor_module
from oceangym.processes import OnExit, ProcessSpec
from oceangym.supervisor import describe_exit, last_error_lines, Supervisor

SLEEP = 'import time; time.sleep(600)'
POLITE = (
    'import signal, sys, time\n'
    'signal.signal(signal.SIGINT, lambda *a: (open(sys.argv[1], "w").write(str(time.monotonic())), '
    'sys.exit(0)))\n'
    'open(sys.argv[1] + ".up", "w").close()\n'
    'time.sleep(600)'
)
STUBBORN = (
    'import signal, sys, time\n'
    'signal.signal(signal.SIGINT, signal.SIG_IGN)\n'
    'open(sys.argv[1] + ".up", "w").close()\n'
    'time.sleep(600)'
)

# Takes a signal for what it is from the third time on.
HARD_OF_HEARING = (
    'import signal, sys, time\n'
    'heard = []\n'
    'def hear(*a):\n'
    '    heard.append(1)\n'
    '    if len(heard) == 3:\n'
    '        open(sys.argv[1], "w").write(str(len(heard)))\n'
    '        sys.exit(0)\n'
    'signal.signal(signal.SIGINT, hear)\n'
    'open(sys.argv[1] + ".up", "w").close()\n'
    'while True:\n'
    '    time.sleep(600)'
)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that supervises programs, given as (name, code, what its end means)."""
    monkeypatch.setattr(supervisor_module, 'LOSS_GRACE_S', 1.0)
    monkeypatch.setattr(supervisor_module, 'STOP_GRACE_S', 1.0)

    def supervise(*programs, on_poll=lambda: None):
        codes = {name: code for name, code, _ in programs}
        monkeypatch.setattr(
            supervisor_module,
            'command_line',
            lambda spec, parameters: [
                sys.executable,
                '-c',
                codes[spec.name],
                str(tmp_path / spec.name),
            ],
        )
        specs = [
            ProcessSpec(
                package='test',
                executable=f'{name}_node',
                name=name,
                on_exit=on_exit,
                stop_rank=0 if on_exit is OnExit.ENDS_RUN else 2,
            )
            for name, _, on_exit in programs
        ]
        watched = Supervisor(
            specs, directory=tmp_path / 'run', environment=dict(os.environ), on_poll=on_poll
        )
        outcome = watched.run()
        for child in watched.children:
            assert child.code is not None
            assert not Path(f'/proc/{child.process.pid}').exists()
        return outcome

    return supervise


def test_the_end_of_the_one_that_ends_the_run_ends_all(run):
    outcome = run(
        ('simulator', SLEEP, OnExit.REQUIRED),
        ('task_manager', 'pass', OnExit.ENDS_RUN),
    )
    assert (outcome.code, outcome.message) == (0, '')


def test_its_exit_code_and_its_words_are_those_of_the_run(run):
    code = 'import sys; print("x"); print("error: start: bad\\nallowed: good"); sys.exit(1)'
    outcome = run(('task_manager', code, OnExit.ENDS_RUN))
    assert outcome.code == 1
    assert 'task_manager (task_manager_node) ended early: exit code 1' in outcome.message
    assert 'error: start: bad\nallowed: good' in outcome.message
    assert '\nx\n' not in outcome.message


def test_an_episode_that_ended_for_a_reason_tells_it(run, tmp_path):
    (tmp_path / 'run').mkdir()
    score = {'ending': 'budget', 'message': 'agent x: the limit of 5 decisions is reached'}
    (tmp_path / 'run' / 'score.json').write_text(json.dumps(score))
    outcome = run(('task_manager', 'import sys; sys.exit(1)', OnExit.ENDS_RUN))
    assert outcome.code == 1
    assert outcome.message == f'the episode ended as budget: {score["message"]}'


def test_a_required_process_that_dies_fails_the_run_and_is_named(run):
    outcome = run(
        ('simulator', 'import os; os.kill(os.getpid(), 9)', OnExit.REQUIRED),
        ('task_manager', SLEEP, OnExit.ENDS_RUN),
    )
    assert outcome.code == 1
    assert outcome.message.startswith(
        'simulator (simulator_node) ended early: killed by SIGKILL (9)'
    )


def test_a_loss_fails_the_run_even_if_the_task_manager_ends_well_of_itself(run, tmp_path):
    # It has a record and closes it within the grace; a scored end would have been exit code 0.
    (tmp_path / 'run').mkdir()
    (tmp_path / 'run' / 'episode.jsonl').write_text('{}\n')
    outcome = run(
        ('agent', 'import sys; sys.exit(7)', OnExit.REQUIRED),
        ('task_manager', 'import sys, time; time.sleep(0.5); sys.exit(1)', OnExit.ENDS_RUN),
    )
    assert outcome.code == 1
    assert outcome.message.startswith('agent (agent_node) ended early: exit code 7')


def test_what_is_ignored_may_come_and_go(run):
    outcome = run(
        ('rviz', 'import sys; sys.exit(3)', OnExit.IGNORED),
        ('task_manager', 'import time; time.sleep(0.5)', OnExit.ENDS_RUN),
    )
    assert outcome.code == 0


def test_ctrl_c_ends_the_task_manager_first_and_kills_the_stubborn(run, tmp_path):
    def interrupt() -> None:
        if all((tmp_path / f'{n}.up').exists() for n in ('task_manager', 'agent', 'simulator')):
            raise KeyboardInterrupt

    outcome = run(
        ('agent', POLITE, OnExit.REQUIRED),
        ('simulator', STUBBORN, OnExit.REQUIRED),
        ('task_manager', POLITE, OnExit.ENDS_RUN),
        on_poll=interrupt,
    )
    assert (outcome.code, outcome.message) == (130, 'cancelled')
    first = float((tmp_path / 'task_manager').read_text())
    second = float((tmp_path / 'agent').read_text())
    assert first < second


def test_one_that_lost_the_first_signal_while_loading_is_asked_again(run, tmp_path, monkeypatch):
    monkeypatch.setattr(supervisor_module, 'STOP_GRACE_S', 60.0)
    monkeypatch.setattr(supervisor_module, 'ASK_AGAIN_S', 0.1)

    def interrupt() -> None:
        if (tmp_path / 'recorder.up').exists():
            raise KeyboardInterrupt

    outcome = run(('recorder', HARD_OF_HEARING, OnExit.REQUIRED), on_poll=interrupt)
    assert outcome.code == 130
    assert (tmp_path / 'recorder').read_text() == '3'


def test_a_spec_of_ours_runs_as_a_module_another_as_a_program(tmp_path):
    ours = ProcessSpec(package='oceangym_sim', executable='sim_node', name='simulator')
    words = supervisor_module.command_line(ours, tmp_path)
    assert (words[0], words[3]) == (sys.executable, 'oceangym_sim.nodes.sim_node')
    rviz = replace(ours, package='rviz2', executable='rviz2', arguments=('-d', 'x.rviz'))
    assert supervisor_module.command_line(rviz, tmp_path)[:3] == ['rviz2', '-d', 'x.rviz']


def test_exits_in_words():
    assert describe_exit(2) == 'exit code 2'
    assert describe_exit(-9) == 'killed by SIGKILL (9)'
    assert describe_exit(-11) == 'killed by SIGSEGV (11)'
    assert describe_exit(-200) == 'killed by an unknown signal (200)'


def test_last_words_of_a_log(tmp_path):
    log = tmp_path / 'x.log'
    assert last_error_lines(log) == []
    log.write_bytes(b'1\n2\n3\n\xff\n5\n6\n7\n')
    assert last_error_lines(log) == ['3', '\ufffd', '5', '6', '7']
    log.write_text('noise\nerror: a\nhint\n')
    assert last_error_lines(log) == ['error: a', 'hint']
