"""What a benchmark will cost is said before it is spent, and is what a run then asks for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from oceangym_agent.models.presets import load_preset
from oceangym_agent.models.pricing import cost
from oceangym_bench.cli.main import main

MATRIX: dict[str, Any] = {
    'name': 'planned',
    'version': '2.0.0',
    'baselines': [],
    'models': ['gpt-4o-mini', 'gpt-4o', 'idle'],
    'tasks': ['task2'],
    'starts': ['point1', 'point2'],
    'durations': [610],
}


def plan(folder: Path, capsys: pytest.CaptureFixture[str], **changes: Any) -> dict[str, Any]:
    source = folder / 'planned.yaml'
    source.write_text(yaml.safe_dump({**MATRIX, **changes}), encoding='utf-8')
    assert main(['plan', str(source), '--json', '--results-dir', str(folder)]) == 0
    content = json.loads(capsys.readouterr().out)
    assert isinstance(content, dict)
    return content


def test_a_plan_counts_calls_images_tokens_and_price(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = plan(tmp_path, capsys)
    by_model = {demand['model']: demand for demand in content['models']}
    # 610 s are 20 intervals of 30 s and a last one of 10 s.
    decisions = 2 * 21
    mini = by_model['gpt-4o-mini']
    assert (mini['runs'], mini['decisions'], mini['calls']) == (2, decisions, decisions)
    # Six cameras and the reference image.
    assert mini['images'] == 7 * decisions
    assert mini['tokens_out'] == 300 * decisions
    preset = load_preset('gpt-4o-mini')
    expected = cost(preset, tokens_in=mini['tokens_in'], tokens_out=mini['tokens_out'])
    assert mini['price'] == pytest.approx(expected, rel=1e-3)
    assert mini['price_date'] == str(preset.price_date)
    idle = by_model['idle']
    assert (idle['decisions'], idle['calls'], idle['price']) == (decisions, 0, 0.0)
    assert content['total']['price'] == pytest.approx(
        sum(d['price'] for d in content['models']), abs=1e-3
    )
    assert content['total']['runs'] == 6
    assert any('reply' in text for text in content['assumptions'])


def test_what_a_file_asks_for_is_in_its_plan(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common: dict[str, Any] = {'models': ['gpt-4o'], 'starts': ['point1', 'point2']}
    plain = plan(tmp_path, capsys, **common)['total']
    two = plan(tmp_path, capsys, track={'loop': 'perceive_act', 'sonar': 'fan'}, **common)['total']
    assert two['calls'] == 2 * plain['calls']
    # The six fans are looked at once a decision; acting takes text only.
    assert two['images'] - plain['images'] == 6 * plain['decisions']
    assert two['tokens_in'] > plain['tokens_in']
    experienced = plan(tmp_path, capsys, transfer={'modes': ['none', 'within_task']}, **common)[
        'total'
    ]
    assert experienced['runs'] == 2 * plain['runs']
    assert experienced['tokens_in'] > 2 * plain['tokens_in']
    capped = plan(tmp_path, capsys, budget={'max_decisions': 5, 'max_cost': 0.01}, **common)
    assert capped['total']['decisions'] == 2 * 5
    assert capped['total']['price'] <= 2 * 0.01 + 1e-9


def test_finished_runs_cost_nothing_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {'models': ['idle', 'blind_spam'], 'sensors': 'none', 'durations': [30]}
    source = tmp_path / 'planned.yaml'
    source.write_text(yaml.safe_dump({**MATRIX, **changes}), encoding='utf-8')
    words = [str(source), '--results-dir', str(tmp_path)]
    assert main(['run', *words, '--executor', 'serial', '--filter', 'idle']) == 0
    capsys.readouterr()
    assert main(['plan', *words]) == 0
    captured = capsys.readouterr()
    assert '2 of 4 runs are finished' in captured.err
    assert 'blind_spam' in captured.out and 'idle' not in captured.out
    assert '| total' in captured.out and 'Assumed' in captured.out


def test_the_plan_agrees_with_what_a_run_uses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changes = {'models': ['scripted_patrol'], 'starts': ['point1'], 'durations': [90]}
    demand = plan(tmp_path, capsys, **changes)['total']
    words = [str(tmp_path / 'planned.yaml'), '--results-dir', str(tmp_path)]
    assert main(['run', *words, '--executor', 'serial']) == 0
    (run,) = (tmp_path / 'planned' / 'runs').iterdir()
    calls = [
        call
        for text in (run / 'trace.jsonl').read_text(encoding='utf-8').splitlines()
        for call in json.loads(text)['calls']
    ]
    assert len(calls) == demand['calls'] == 3
    images = [p for c in calls for m in c['messages'] for p in m['parts'] if 'image' in p]
    assert len(images) == demand['images']
    used = sum(call['reply']['tokens_in'] for call in calls)
    assert demand['tokens_in'] == pytest.approx(used, rel=0.15)
