"""The command line: verbs, refusals in one line, exit codes, progress."""

from __future__ import annotations

import io
from pathlib import Path
import tempfile

import pytest
from rich.console import Console

from oceangym import cli
from oceangym.progress import describe_step, ProgressView, RecordTail
from oceangym_core.config.options import AGENTS, ARGUMENTS
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.geometry import Pose
from oceangym_core.record.schema import Ending, EPISODE_FILE
from oceangym_core.record.writer import RunWriter
from oceangym_core.testing.records import (
    maneuver_to,
    navigation_at,
    run_info,
    StepClock,
    targets_at,
)


def test_list_prints_data_only(capsys):
    assert cli.main(['list', 'agents']) == 0
    out = capsys.readouterr()
    assert out.out.split() == list(AGENTS)
    assert out.err == ''
    assert cli.main(['list', 'benchmark']) == 0
    assert len(capsys.readouterr().out.splitlines()) == 12
    for kind, name in (('models', 'scripted_patrol'), ('prompts', 'oceangym')):
        assert cli.main(['list', kind]) == 0
        assert name in capsys.readouterr().out.split()
    assert cli.main(['list']) == 0
    assert 'inspect_pipe' in capsys.readouterr().out


@pytest.mark.parametrize(
    ('words', 'parts'),
    [
        (['fly'], ["unknown verb 'fly'"]),
        (['lst'], ["Did you mean 'list'?"]),
        (['list', 'taks'], ["Did you mean 'tasks'?"]),
        (['list', 'tasks', 'agents'], ['list takes one kind']),
        (['run', 'task:=inspct_pipe'], ["Did you mean 'inspect_pipe'?"]),
        (['run', 'agnt:=idle'], ["unknown argument 'agnt'", "Did you mean 'agent'?"]),
        (['run', 'agent=idle'], ['Write agent:=value']),
        (['run', 'agent:=oracel'], ["Did you mean 'oracle'?"]),
        (['run', 't_max:=-1'], ['t_max', '1 .. 86400']),
        (['run', 'task:=task9', 'water:=shallow'], ['contradicts']),
        (['score', '/nowhere/at/all'], ['does not exist']),
        (['run', 'agent:=mllm'], ['agent mllm needs model:=', 'scripted_patrol']),
        (['run', 'agent:=mllm', 'model:=gpt-4p'], ["Did you mean 'gpt-4o'?"]),
        (['run', 'agent:=mllm', 'model:=gpt-4o'], ['OPENAI_API_KEY']),
        (['run', 'agent:=scripted', 'prompt:=oceangim'], ["Did you mean 'oceangym'?"]),
        (['run', 'agent:=scripted', 'memory_from:=/nowhere'], ['/nowhere']),
        (['report'], ['report takes run directories']),
        (['report', '/nowhere'], ['is no run directory']),
        (['bench', 'rnu'], ["Did you mean 'run'?"]),
    ],
)
def test_refusals_are_one_message_and_exit_code_1(capsys, monkeypatch, words, parts):
    monkeypatch.delenv('OPENAI_API_KEY', raising=False)
    assert cli.main(words) == 1
    out = capsys.readouterr()
    assert out.out == ''
    assert 'Traceback' not in out.err
    for part in parts:
        assert part in out.err


def test_help_names_every_argument(capsys):
    assert cli.main(['--help']) == 0
    text = capsys.readouterr().out
    assert all(f'{a.name}:={a.default}' in text for a in ARGUMENTS)
    assert cli.main([]) == 1


def test_ctrl_c_is_130(monkeypatch):
    def interrupted(words):
        raise KeyboardInterrupt

    monkeypatch.setitem(cli.VERBS, 'run', interrupted)
    assert cli.main(['run']) == 130


def test_teleop_without_a_terminal_is_refused(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr('sys.stdin', io.StringIO())
    assert cli.main(['run', 'agent:=teleop', f'results_dir:={tmp_path}']) == 1
    assert 'run it in a terminal' in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def _lines(count: int, action: Action, *, reports: bool = False) -> list[str]:
    """Return the lines of a record, each observation with the same maneuver and reports."""
    info = run_info(targets_at([(100.0, 0.0, -50.0)]))
    found = [(FindReport(label='PIPE', observation_index=0), ok) for ok in (True, False)]
    with tempfile.TemporaryDirectory() as folder:
        writer = RunWriter(Path(folder), info, clock=StepClock())
        for index in range(count):
            writer.write_step(
                index=index,
                navigation=navigation_at(Pose.of((1.0, 2.0, -30.0)), 30.0 * index),
                truth=None,
                maneuver=maneuver_to(index, action) if index else None,
                decision=Decision(index=index - 1, action=action, description='a \u2028pipe')
                if index
                else None,
                reports=found if index and reports else (),
            )
        writer.write_end(t=30.0 * count, ending=Ending.TIME)
        writer.close()
        return (Path(folder) / EPISODE_FILE).read_text(encoding='utf-8').split('\n')


def test_progress_follows_the_record_as_it_grows(tmp_path):
    tail = RecordTail(tmp_path)
    assert tail.poll() == []
    record = tmp_path / EPISODE_FILE
    first, second, end, _ = _lines(2, Action.FORWARD, reports=True)
    record.write_text(first + '\n' + second[:20], encoding='utf-8')
    assert [s.index for s in tail.poll()] == [0]
    record.write_text(first + '\n' + second + '\n', encoding='utf-8')
    (step,) = tail.poll()
    text = describe_step(step, t_max=1800.0, reports=1)
    assert text.startswith('step   1      30 / 1800 s  (    1.0,     2.0,  -30.0) m')
    assert text.endswith('forward 20.0 m  a \u2028pipe  [1 finds reported]')
    with record.open('a', encoding='utf-8') as stream:
        stream.write(end + '\n')
    assert tail.poll() == []
    assert tail.latest is step


def test_without_a_terminal_every_tenth_step_and_the_last_are_printed_once(tmp_path):
    out = io.StringIO()
    view = ProgressView(tmp_path, t_max=1800.0, console=Console(file=out, width=200), quiet=False)
    with view:
        lines = _lines(13, Action.ROTATE_LEFT, reports=True)
        (tmp_path / EPISODE_FILE).write_text('\n'.join(lines), encoding='utf-8')
        view.poll()
    shown = [int(line.split()[1]) for line in out.getvalue().split('\n') if line]
    assert shown == [0, 10, 12]
    assert 'rotate_left 20.0 deg' in out.getvalue()
    assert '[12 finds reported]' in out.getvalue()
