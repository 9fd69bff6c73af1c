"""The command line: verbs, refusals in one line, exit codes, progress."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from oceangym import cli
from oceangym.progress import ProgressView, RecordTail
from oceangym_core.config.options import AGENTS, ARGUMENTS


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


def _line(index, *, t, action='forward', accepted=()):
    return json.dumps(
        {
            'index': index,
            't': t,
            'kind': 'step' if index else 'reset',
            'decision': {'description': 'a pipe'} if index else None,
            'maneuver': {'action': action, 'applied': 19.96} if index else None,
            'estimate': {'position': [1.0, 2.0, -30.0]},
            'reports': [{'accepted': ok} for ok in accepted],
        }
    )


def test_progress_follows_the_record_as_it_grows(tmp_path):
    tail = RecordTail(tmp_path)
    assert tail.poll() == []
    record = tmp_path / 'episode.jsonl'
    first, second = _line(0, t=0.0), _line(1, t=30.0, accepted=(True, False))
    record.write_text(first + '\n' + second[:20])
    assert [s.index for s in tail.poll()] == [0]
    record.write_text(first + '\n' + second + '\n')
    (step,) = tail.poll()
    text = step.describe(1800.0)
    assert 'step   1' in text
    assert 'forward 20.0 m' in text
    assert 'a pipe' in text
    assert '[1 finds reported]' in text
    with record.open('a') as stream:
        stream.write('{"kind": "end", "reports": []}\n')
    assert tail.poll() == []
    assert tail.latest is step


def test_without_a_terminal_every_tenth_step_and_the_last_are_printed_once(tmp_path):
    out = io.StringIO()
    view = ProgressView(tmp_path, t_max=1800.0, console=Console(file=out, width=200), quiet=False)
    with view:
        lines = [_line(i, t=30.0 * i, action='rotate_left') for i in range(13)]
        (tmp_path / 'episode.jsonl').write_text('\n'.join(lines) + '\n')
        view.poll()
    shown = [int(line.split()[1]) for line in out.getvalue().splitlines()]
    assert shown == [0, 10, 12]
    assert 'rotate_left 20.0 deg' in out.getvalue()
