"""Results in OceanGym's layout score there as they score here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from oceangym_bench.analysis.export import point_numbers
from oceangym_bench.cli.main import main
from oceangym_core.record.memory_files import read_memory
from oceangym_core.record.reader import load_episode
from oceangym_core.scoring import rescore

MATRIX: dict[str, Any] = {
    'name': 'matrix',
    'version': '2.0.0',
    'baselines': [],
    'models': ['blind_spam'],
    'tasks': ['task2', 'task9'],
    'waters': [],
    'starts': ['random', 'point2'],
    'start_seeds': [2],
    'repeats': 2,
    'durations': [60],
    'sensors': 'none',
    'profile': 'hard',
    'frame_seed': 12,
}


@pytest.fixture(scope='module')
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('results')
    source = folder / 'matrix.yaml'
    source.write_text(yaml.safe_dump(MATRIX), encoding='utf-8')
    words = ['run', str(source), '--results-dir', str(folder), '--executor', 'serial']
    assert main(words) == 0
    return folder / 'matrix'


def test_the_tree_scores_like_the_runs(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / 'tree'
    assert main(['export', str(results), '--layout', 'oceangym', '--out', str(out)]) == 0
    assert capsys.readouterr().out.strip() == str(out)
    scores: dict[str, dict[str, list[float]]] = {}
    for run in sorted((results / 'runs').iterdir()):
        score = json.loads((run / 'score.json').read_text(encoding='utf-8'))
        point = 'point2' if '.point2.' in run.name else 'point3'
        points = scores.setdefault(score['alias'], {})
        points.setdefault(point, []).append(score['scorers']['compat']['score'])
    tree = rescore(out, 'compat')
    assert set(tree) == set(scores) == {'task2', 'task9'}
    for task, points in scores.items():
        assert tree[task]['groups'] == 4
        assert set(tree[task]['points']) == set(points)
        for point, values in points.items():
            assert len(values) == 2
            # From point2 the pipe is 53 m away, so that these are no zeros.
            assert (point == 'point2') == (min(values) > 30.0)
            mean = sum(values) / 2
            assert tree[task]['points'][point] == pytest.approx(mean, abs=1e-6)
    assert main(['export', str(results), '--out', str(out)]) == 1
    assert 'is there already' in capsys.readouterr().err


def test_places_are_back_in_map(results: Path, tmp_path: Path) -> None:
    out = tmp_path / 'tree'
    assert main(['export', str(results), '--out', str(out)]) == 0
    point = out / 'blind_spam' / 'task2' / 'point2'
    first = sorted(point.glob('memory_*.json'))[0]
    run = results / 'runs' / 'blind_spam.task2.point2.w0.r0.t60'
    episode = load_episode(run)
    # Shifted by hundreds of metres in the record, at the start's place in the export.
    assert abs(episode.memory[0].location[0] - 350.0) > 100.0  # type: ignore[index]
    begin = read_memory(first)[0].location
    assert begin == pytest.approx((350.0, -118.0, -7.0), abs=0.11)
    found = read_memory(point / f'important_{first.name}')
    assert len(found) == len(episode.important)
    log = next(point.glob('llm_output_blind_spam_*.log')).read_text(encoding='utf-8')
    assert log.count('LLM output: ') == len(episode.decisions)
    assert 'Target object found at location [350.0, -118.0, -7.0]' in log


def test_what_has_no_place_in_the_layout_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / 'matrix.yaml'
    changes = {
        'models': ['idle'], 'tasks': ['search_ship', 'dock'], 'waters': ['deep'], 'starts': ['point1'],
        'start_seeds': [], 'repeats': 1,
    }  # fmt: skip
    source.write_text(yaml.safe_dump({**MATRIX, **changes}), encoding='utf-8')
    words = [str(source), '--results-dir', str(tmp_path)]
    assert main(['run', *words, '--executor', 'serial']) == 0
    assert main(['export', *words]) == 0
    captured = capsys.readouterr()
    assert 'idle.dock_deep.point1.w0.r0.t60 is left out: its task has no number' in captured.err
    tree = tmp_path / 'matrix' / 'export_oceangym'
    assert [p.name for p in (tree / 'idle').iterdir()] == ['task11']


def test_fixed_starts_keep_their_numbers() -> None:
    names = ('random_4', 'point2', 'random_9', '1,2,-3,4')
    assert point_numbers(names) == {'point2': 2, 'random_4': 3, 'random_9': 4, '1,2,-3,4': 5}
