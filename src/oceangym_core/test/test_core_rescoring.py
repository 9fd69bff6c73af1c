"""The score verb: run directories, directories of runs, and OceanGym's result trees."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from oceangym_core.contract.decisions import FindReport
from oceangym_core.contract.observation import Sighting
from oceangym_core.errors import OceanGymError
from oceangym_core.record.schema import Ending
from oceangym_core.scoring import main, rescore
from oceangym_core.testing.records import box_target, Leg, run_info, targets_at, write_episode


def group(point: Path, number: int, memory: list | None, important: list | None) -> None:
    point.mkdir(parents=True, exist_ok=True)
    stamp = f'2025-09-0{number}_10-00-00'
    for prefix, locations in (('memory', memory), ('important_memory', important)):
        if locations is not None:
            content = [
                {
                    'timestamp': '2025-09-01 10:00:00',
                    'target_info': [],
                    'action': 'ascend',
                    'location': at,
                }
                for at in locations
            ]
            (point / f'{prefix}_{stamp}.json').write_text(json.dumps(content))


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    task8 = tmp_path / 'gpt4omini' / 'task8'
    group(task8 / 'point1', 1, [[267, 33, -80]], [])
    group(task8 / 'point1', 2, [[0, 0, 0]], [])
    group(task8 / 'point2', 1, [[0, 0, 0]], [])
    group(task8 / 'point3', 1, [[267, 33, -30]], [])
    group(tmp_path / 'gpt4omini' / 'task10' / 'point1', 1, [[0, 0, 0]], [[447, -203, -98]])
    return tmp_path


@pytest.mark.parametrize('below', ['', 'gpt4omini'])
def test_a_tree_gives_the_released_numbers(tree: Path, below: str) -> None:
    result = rescore(tree / below)
    assert list(result) == ['task8', 'task10']
    task = result['task8']
    assert task['average'] == pytest.approx(42.857, abs=5e-4)
    assert task['std'] == pytest.approx(40.825, abs=5e-4)
    assert task['best'] == 100.0
    assert task['points'] == {
        'point1': 50.0,
        'point2': 0.0,
        'point3': pytest.approx(71.43, abs=5e-3),
    }
    assert task['point_stds']['point1'] == pytest.approx(70.711, abs=5e-4)
    assert result['task10']['average'] == 100.0


def test_several_models_are_kept_apart(tree: Path) -> None:
    group(tree / 'main' / 'qwen' / 'task3' / 'point1', 1, [[447, -203, -48]], [])
    result = rescore(tree)
    assert set(result) == {'gpt4omini', 'main/qwen'}
    assert result['main/qwen']['task3']['average'] == pytest.approx(71.428571, abs=1e-6)


def test_the_paper_s_rule_on_a_tree(tmp_path: Path) -> None:
    point = tmp_path / 'm' / 'task1' / 'point1'
    group(point, 1, [[-71, 149, -61], [325, -47, -83], [0, 0, 0]], [[325, -47, -83]])
    assert rescore(tmp_path, 'paper')['task1']['average'] == pytest.approx(100.0)
    assert rescore(tmp_path, 'compat')['task1']['average'] == pytest.approx(60.0)


def test_verified_cannot_score_a_tree(tree: Path) -> None:
    with pytest.raises(OceanGymError, match='no truth'):
        rescore(tree, 'verified')


@pytest.mark.parametrize(
    ('text', 'part'),
    [
        ('', 'not valid JSON'),
        ('[{"location": [1, 2, 3]}, {"loc', 'not valid JSON'),
        ('{}', 'JSON array'),
        ('[{"location": [NaN, 0, 0]}]', 'NaN'),
        ('[{"location": [1e999, 0, 0]}]', 'no place'),
        ('[{"location": [1, 2]}]', 'three numbers'),
        ('[{"location": "here"}]', 'three numbers'),
    ],
)
def test_a_damaged_memory_file_scores_nothing_and_is_named(
    tree: Path, text: str, part: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tree / 'gpt4omini' / 'task8' / 'point1' / 'memory_2025-09-01_10-00-00.json'
    path.write_text(text)
    # Of the other runs nothing changes: (0, 0), 0 and 71.43.
    assert rescore(tree)['task8']['average'] == pytest.approx(71.4286 / 4, abs=1e-3)
    said = capsys.readouterr().err
    assert str(path) in said and part in said


def test_what_archives_and_file_managers_leave_behind_costs_no_score(
    tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wanted = rescore(tree)
    capsys.readouterr()
    model = tree / 'gpt4omini'
    point = model / 'task8' / 'point1'
    stray = '__MACOSX/gpt4omini/task8/point1/._memory_2025-09-01_10-00-00.json'
    for name in (stray, 'gpt4omini/.DS_Store', 'gpt4omini/task8/point1/Thumbs.db'):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_bytes(b'\x00\x05\x16\x07')
    (point / '._memory_2025-09-01_10-00-00.json').write_bytes(b'\x00\x05')
    copy = point / 'memory_2025-09-01_10-00-00 (1).json'
    copy.write_text('[]')
    (point / 'memory_latest.json').write_text('[]')
    (model / 'task8' / 'point4').mkdir()
    (model / 'task8' / 'point1 - Copy').mkdir()
    group(model / 'task8 old' / 'point1', 1, [[0, 0, 0]], [])
    group(model / 'task13' / 'point1', 1, [[0, 0, 0]], [])
    assert rescore(tree) == wanted
    said = capsys.readouterr().err
    for left in (
        copy.name,
        'memory_latest.json',
        'point4',
        'point1 - Copy',
        'task8 old',
        'task13',
    ):
        assert f'{left}: left out' in said
    assert '__MACOSX' not in said and '._memory' not in said


@pytest.mark.parametrize('above', ['a', 'a/b/c'])
def test_a_tree_is_found_below_the_folders_of_an_archive(tree: Path, above: str) -> None:
    deep = tree / 'unpacked' / above
    deep.mkdir(parents=True)
    (tree / 'gpt4omini').rename(deep / 'GPT4oMini')
    task8 = deep / 'GPT4oMini' / 'task8'
    task8.rename(task8.with_name('Task08'))
    assert set(rescore(tree / 'unpacked')) == {'task8', 'task10'}


def test_a_tree_of_unknown_tasks_only_says_which_are_known(tmp_path: Path) -> None:
    group(tmp_path / 'm' / 'task13' / 'point1', 1, [[0, 0, 0]], [])
    with pytest.raises(OceanGymError, match='allowed: task1'):
        rescore(tmp_path)


def pipe_run(directory: Path, name: str) -> Path:
    run = directory / name
    run.mkdir(parents=True)
    seen = (Sighting(anchor='a', sensor='camera/front', pixels=500),)
    leg = Leg(
        position=(90.0, 0.0, -50.0), sightings=seen, reports=(FindReport(label='OIL PIPELINE'),)
    )
    write_episode([leg], run_info(targets_at([(100.0, 0.0, -50.0)])), directory=run)
    return run


def test_one_scorer_of_a_run(tmp_path: Path) -> None:
    run = pipe_run(tmp_path, 'r')
    assert rescore(run, 'verified')['score'] == 100.0
    assert set(rescore(run)['scorers']) == {'verified', 'paper', 'compat'}
    with pytest.raises(OceanGymError, match="Did you mean 'paper'"):
        rescore(run, 'papre')


def test_a_directory_of_runs(tmp_path: Path) -> None:
    pipe_run(tmp_path, 'one')
    pipe_run(tmp_path, 'two')
    assert set(rescore(tmp_path)) == {'one', 'two'}


def test_the_verb_prints_json_and_tables(
    tmp_path: Path, tree: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = pipe_run(tmp_path / 'runs', 'one')
    assert main([str(run), '--json', '--scorer', 'paper']) == 0
    assert json.loads(capsys.readouterr().out)['score'] == 100.0
    assert main([str(run)]) == 0
    assert 'verified' in capsys.readouterr().out
    assert main([str(run.parent)]) == 0
    assert main([str(tree / 'gpt4omini')]) == 0
    assert 'task8' in capsys.readouterr().out
    assert main([str(tree / 'gpt4omini'), '--json']) == 0
    assert 'task8' in json.loads(capsys.readouterr().out)


def test_the_verb_fails_with_a_message(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / 'nothing')]) == 1
    output = capsys.readouterr()
    assert output.out == '' and 'does not exist' in output.err
    assert main([str(tmp_path)]) == 1
    assert 'neither a run directory' in capsys.readouterr().err


def test_a_backend_without_truth_is_unscored_not_zero(tmp_path: Path) -> None:
    info = run_info(targets_at([(0.0, 0.0, -50.0)]), has_truth=False)
    write_episode([Leg(position=(0.0, 0.0, -50.0))], info, directory=tmp_path)
    result = rescore(tmp_path)
    for part in result['scorers'].values():
        assert part['status'] == 'unscored' and part['score'] is None and part['reason']
    assert main([str(tmp_path)]) == 0


@pytest.mark.parametrize(
    ('ending', 'partial'),
    [
        (Ending.STOP, False),
        (Ending.TIME, False),
        (Ending.BOUNDS, False),
        (Ending.BATTERY, False),
        (Ending.CANCELLED, True),
        (Ending.BUDGET, True),
        (Ending.ERROR, True),
    ],
)
def test_endings_from_outside_are_partial(tmp_path: Path, ending: Ending, partial: bool) -> None:
    info = run_info(targets_at([(0.0, 0.0, -50.0)]))
    write_episode([Leg(position=(0.0, 0.0, -50.0))], info, directory=tmp_path, ending=ending)
    result = rescore(tmp_path)
    assert (result['ending'], result['partial']) == (ending.value, partial)
    assert result['scorers']['paper']['score'] == 100.0


def test_metres_of_pipe_seen(tmp_path: Path) -> None:
    # A pipe along x under the vehicle; the down camera sees 45 deg to either side.
    pipe = box_target('a', (0.0, 0.0, -50.0), size=(40.0, 1.0, 1.0))
    seen = (Sighting(anchor='a', sensor='camera/down', pixels=500),)
    leg = Leg(position=(0.0, 0.0, -44.0), sightings=seen)
    info = run_info([pipe], measure='pipe_coverage')
    write_episode([leg], info, directory=tmp_path)
    measures = rescore(tmp_path)['measures']
    assert measures['pipe_total_m'] == 40.0
    assert measures['pipe_seen_m'] == pytest.approx(12.0, abs=0.5)


def test_pipe_seen_twice_counts_once_and_what_no_sensor_saw_does_not(tmp_path: Path) -> None:
    pipe = box_target('a', (0.0, 0.0, -50.0), size=(40.0, 1.0, 1.0))
    seen = (Sighting(anchor='a', sensor='camera/down', pixels=500),)
    legs = [Leg(position=(x, 0.0, -44.0), sightings=seen) for x in (0.0, 0.0, 6.0)]
    legs.append(Leg(position=(-15.0, 0.0, -44.0)))
    write_episode(legs, run_info([pipe], measure='pipe_coverage'), directory=tmp_path)
    assert rescore(tmp_path)['measures']['pipe_seen_m'] == pytest.approx(18.0, abs=0.5)


def test_errors_of_a_docking(tmp_path: Path) -> None:
    platform = box_target('a', (10.0, 20.0, -80.0), size=(6.0, 6.0, 2.0), yaw=0.3)
    leg = Leg(position=(13.0, 24.0, -78.5), yaw=0.3 - math.pi / 2 - 0.1)
    write_episode([leg], run_info([platform], measure='docking'), directory=tmp_path)
    measures = rescore(tmp_path)['measures']
    assert measures['lateral_error_m'] == pytest.approx(5.0)
    assert measures['height_error_m'] == pytest.approx(0.5)
    assert measures['heading_error_deg'] == pytest.approx(5.7296, abs=1e-3)
