"""Rows of recorded runs, whole, killed and without truth, and of OceanGym's result trees."""

from dataclasses import replace
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from oceangym_bench.analysis.results import EpisodeRow, read_rows, State, System, Transfer
from oceangym_bench.analysis.table import Score
from oceangym_bench.analysis.table_sets import benchmark_tables, headline_of
from oceangym_bench.analysis.tables import score_table, scorer_table
from oceangym_bench.matrix.tracks import Track
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.decisions import FindReport
from oceangym_core.contract.observation import Contact, Sighting
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.record.schema import Benchmark, Ending, ExperienceSource
from oceangym_core.scoring import rescore
from oceangym_core.testing.records import Leg, run_info, targets_at, write_episode

HASHES = {'world': 'w' * 64, 'task': 't' * 64, 'prompt': ''}
TARGET = (60.0, 0.0, -50.0)


def fly(
    directory: Path,
    *,
    ending: Ending | None = Ending.STOP,
    scored: bool = True,
    has_truth: bool = True,
    start: float = 0.0,
    options: RunOptions | None = None,
    **changes: Any,
) -> Path:
    """Write a run that ends 20 m from its target and reports it."""
    directory.mkdir(parents=True)
    info = run_info(
        targets_at([TARGET]),
        start=Pose.of((start, 0.0, -50.0)),
        options=options,
        has_truth=has_truth,
    )
    kind = {'alias': 'task2', 'category': 'tracking', 'size_class': 'large'}
    info = info.model_copy(
        update={
            'run_id': directory.name,
            'task': info.task.model_copy(update=kind),
            'benchmark': Benchmark(version='1.0.0', track='none', hashes=HASHES),
            **changes,
        }
    )
    seen = Sighting(anchor='a', sensor='camera/front', pixels=500)
    report = FindReport(label='OIL PIPELINE', position=TARGET, sensor='camera')
    legs = [
        Leg(position=(start, 0.0, -50.0)),
        Leg(
            position=(40.0, 0.0, -50.0),
            sightings=(seen,),
            reports=(report,),
            contacts=(Contact(stamp=20.0, instance='rock', speed=0.2),),
            standoff=(2, 7.5),
        ),
        Leg(position=(40.0, 0.0, -50.0), sightings=(seen,)),
    ]
    write_episode(legs, info, directory=directory, ending=ending)
    if scored:
        (directory / 'score.json').write_text(json.dumps(rescore(directory)))
    return directory


def only(path: Path) -> EpisodeRow:
    (row,) = read_rows(path)
    return row


def test_a_run_directory_gives_a_row(tmp_path: Path) -> None:
    row = only(fly(tmp_path / 'run_a'))
    assert (row.task, row.alias, row.water) == ('inspect_pipe', 'task2', 'shallow')
    assert (row.category, row.size_class, row.start) == ('tracking', 'large', 'custom')
    assert row.scores == {'verified': 100.0, 'paper': 100.0, 'compat': 100.0}
    assert row.place is not None and row.place[:3] == (0.0, 0.0, -50.0)
    assert (row.ending, row.partial, row.state('verified')) == ('stop', False, State.COUNTED)
    assert (row.profile, row.backend, row.frame, row.mode) == (
        'standard',
        'embedded',
        'map',
        'lockstep',
    )
    assert (row.version, row.track, row.hashes['world']) == ('1.0.0', Track.NONE, 'w' * 64)
    assert 'prompt' not in row.hashes
    assert (row.decisions, row.collisions, row.standoff_events) == (3, 1, 2)
    assert (row.standoff_seconds, row.first_sight, row.targets) == (7.5, 30.0, 1)
    assert row.funnel['verified'] == 1
    assert row.path_length == pytest.approx(40.0)
    assert (row.t_max, row.t_interval, row.duration) == (1800.0, 30.0, 60.0)
    assert row.system == System(model='survey')


def test_runs_are_found_in_every_kind_of_directory_and_once(tmp_path: Path) -> None:
    bench = tmp_path / 'results' / 'bench'
    for name in ('cell_b', 'cell_a'):
        fly(bench / 'runs' / name)
    ways = [bench / 'runs', bench, tmp_path / 'results', [bench / 'runs' / 'cell_a', bench]]
    for way in ways:
        assert [row.run_id for row in read_rows(way)] == ['cell_a', 'cell_b']
    assert [row.repeat for row in read_rows(str(bench))] == [0, 1]


@pytest.mark.parametrize('ending', [Ending.BUDGET, Ending.ERROR, Ending.CANCELLED])
def test_a_run_cut_short_is_partial(tmp_path: Path, ending: Ending) -> None:
    row = only(fly(tmp_path / 'run', ending=ending))
    assert (row.ending, row.state('paper'), row.score('paper')) == (
        ending.value,
        State.PARTIAL,
        None,
    )


def test_a_killed_run_is_scored_up_to_its_last_step_and_partial(tmp_path: Path) -> None:
    row = only(fly(tmp_path / 'run', ending=None, scored=False))
    assert (row.ending, row.partial, row.decisions) == ('interrupted', True, 2)
    assert row.scores['verified'] == 100.0
    assert row.score('verified') is None


def test_a_run_killed_before_its_start_is_counted_as_partial(tmp_path: Path) -> None:
    run = fly(tmp_path / 'run', scored=False)
    (run / 'episode.jsonl').write_text('')
    row = only(run)
    assert (row.partial, row.ending, row.scores['paper']) == (True, 'interrupted', None)
    assert 'no observation' in row.reason
    table = score_table([row])
    assert isinstance(table.rows[0][2], Score) and table.rows[0][2].text() == '–, 1 partial'


def test_a_run_without_truth_is_unscored(tmp_path: Path) -> None:
    row = only(fly(tmp_path / 'run', has_truth=False))
    assert row.state('verified') is State.UNSCORED
    assert (row.scores['verified'], row.reason) == (None, 'the record holds no truth')


def test_a_model_s_settings_are_part_of_it(tmp_path: Path) -> None:
    options = RunOptions(agent='mllm', model='gpt_4o', loop='perceive_act', detector=True)
    row = only(fly(tmp_path / 'run', options=options))
    assert row.setting('loop') == 'perceive_act'
    assert row.setting('detector') == 'true'
    assert row.setting('image_size') == 'preset'
    assert row.system.transfer is Transfer.NONE
    plain = only(fly(tmp_path / 'plain', options=replace(options, loop='single')))
    assert plain.system != row.system


@pytest.mark.parametrize(
    ('tasks', 'transfer'),
    [
        (['inspect_pipe'], Transfer.WITHIN),
        (['inspect_pipe', 'inspect_pipe'], Transfer.WITHIN),
        (['dock'], Transfer.CROSS),
        (['dock', 'inspect_pipe'], Transfer.BOTH),
        (['dock', ''], Transfer.UNKNOWN),
        ([], Transfer.UNKNOWN),
    ],
)
def test_transfer_is_told_by_the_tasks_of_its_sources(
    tmp_path: Path, tasks: list[str], transfer: Transfer
) -> None:
    options = RunOptions(
        agent='mllm', model='gpt_4o', memory_from='runs/x', memory_strip='coordinates'
    )
    sources = tuple(ExperienceSource(path='runs/x', task=task) for task in tasks)
    row = only(fly(tmp_path / 'run', options=options, experience=sources))
    assert (row.system.transfer, row.system.strip) == (transfer, 'coordinates')


def test_realtime_runs_name_their_speed(tmp_path: Path) -> None:
    row = only(fly(tmp_path / 'run', options=RunOptions(mode='realtime', rtf=4.0)))
    assert row.mode == 'realtime at 4'


def test_records_from_before_the_version_are_not_mixed_with_later_ones(tmp_path: Path) -> None:
    old = fly(tmp_path / 'old', scored=False)
    content = yaml.safe_load((old / 'run.yaml').read_text())
    del content['benchmark']
    (old / 'run.yaml').write_text(yaml.safe_dump(content))
    fly(tmp_path / 'new')
    with pytest.raises(OceanGymError, match='cannot mix benchmark version'):
        score_table(read_rows(tmp_path))


def test_a_table_of_runs_is_made_from_their_directories(tmp_path: Path) -> None:
    for number in range(3):
        fly(tmp_path / f'run_{number}', start=float(number))
    fly(tmp_path / 'run_3', start=3.0, ending=Ending.BUDGET)
    (line,) = score_table(read_rows(tmp_path)).rows
    assert isinstance(line[2], Score)
    assert (line[2].mean, line[2].starts, line[2].partial) == (100.0, 3, 1)


@pytest.mark.parametrize(
    ('file', 'text'),
    [
        ('score.json', '[]'),
        ('score.json', '{"scorers": {"paper": {"score": "many"}}}'),
        ('score.json', '{"decisions": "x"}'),
        ('score.json', '{"scorers": {"paper": {"score": NaN}}}'),
        ('run.yaml', '- a list'),
        ('run.yaml', 'start: {position: [a, b, c]}'),
        ('run.yaml', 'benchmark: {track: X}'),
    ],
)
def test_broken_records_are_named(tmp_path: Path, file: str, text: str) -> None:
    run = fly(tmp_path / 'run')
    if file == 'run.yaml':
        (run / 'score.json').write_text('{}')
    (run / file).write_text(text)
    with pytest.raises(OceanGymError):
        read_rows(run)


def test_paths_without_results_are_named(tmp_path: Path) -> None:
    with pytest.raises(OceanGymError, match='does not exist'):
        read_rows(tmp_path / 'nowhere')
    with pytest.raises(OceanGymError, match='is no run directory'):
        read_rows(tmp_path)
    with pytest.raises(OceanGymError, match='at least one'):
        read_rows([])


# OceanGym's result trees


def group(point: Path, number: int, memory: list | None, important: list | None) -> None:
    point.mkdir(parents=True, exist_ok=True)
    for prefix, places in (('memory', memory), ('important_memory', important)):
        if places is not None:
            content = [
                {'timestamp': '', 'target_info': [], 'action': 'ascend', 'location': at}
                for at in places
            ]
            path = point / f'{prefix}_2025-09-0{number}_10-00-00.json'
            path.write_text(json.dumps(content))


def test_a_result_tree_gives_compat_and_paper_side_by_side(tmp_path: Path) -> None:
    task = tmp_path / 'main' / 'qwen' / 'task8'
    group(task / 'point1', 1, [[267, 33, -80]], [])
    group(task / 'point1', 2, [[0, 0, 0]], [])
    group(task / 'point2', 1, [[0, 0, 0]], [])
    group(task / 'point3', 1, [[267, 33, -30]], [])
    # A run past both robots that ended elsewhere and reported the second one.
    robots = [[-71, 149, -61], [325, -47, -83], [0, 0, 0]]
    group(tmp_path / 'main' / 'qwen' / 'task1' / 'point1', 1, robots, [[325, -47, -83]])
    rows = read_rows(tmp_path)
    assert rows[0].run_id == 'main/qwen/task1/point1/2025-09-01_10-00-00'
    assert {row.model for row in rows} == {'qwen'}
    assert [row.repeat for row in rows] == [0, 0, 1, 0, 0]
    table = scorer_table(rows)
    assert table.columns == ('task', 'water', 'qwen, compat', 'qwen, paper')
    assert table.title == 'Scores by compat, paper, backend oceangym'
    lines = {line[0]: [c.mean for c in line[2:] if isinstance(c, Score)] for line in table.rows}
    assert lines['locate_robot'] == pytest.approx([60, 100])
    # Point 1's two groups are repeats: (50 + 0 + 71.43) / 3, where the released evaluator
    # averages all four groups.
    assert lines['dock'] == pytest.approx([40.476, 40.476], abs=1e-3)
    assert headline_of(rows) == 'paper'
    assert 'scorers' in [table.name for table in benchmark_tables(rows)]
    verified = score_table(rows).rows[0][2]
    assert isinstance(verified, Score) and (verified.mean, verified.unscored) == (None, 1)


def test_deep_tasks_are_the_same_tasks_in_deep_water(tmp_path: Path) -> None:
    group(tmp_path / 'm' / 'task10' / 'point1', 1, [[0, 0, 0]], [[447, -203, -98]])
    row = only(tmp_path)
    assert (row.task, row.water, row.alias) == ('locate_drums', 'deep', 'task10')
    assert (row.scores['compat'], row.category, row.t_max) == (100.0, 'detection', 1800.0)


def test_the_scale_study_s_points_are_durations_not_repeats(tmp_path: Path) -> None:
    for number in (1, 2, 3, 4):
        point = tmp_path / 'scale' / 'qwen' / 'task3' / f'point{number}'
        group(point, 1, [[447, -203, -98 + 10 * number]], [])
    rows = read_rows(tmp_path)
    assert [row.t_max for row in rows] == [3600, 5400, 7200, 10800]
    with pytest.raises(OceanGymError, match='durations are no repeats'):
        score_table(rows, scorer='compat')
    group(tmp_path / 'scale' / 'qwen' / 'task3' / 'point5', 1, [[0, 0, 0]], [])
    with pytest.raises(OceanGymError, match="unknown duration 'point5'"):
        read_rows(tmp_path)


def test_migrated_memory_in_a_tree_is_of_unknown_origin(tmp_path: Path) -> None:
    group(tmp_path / 'migration' / 'gpt4o' / 'task3' / 'point1', 1, [[0, 0, 0]], [])
    assert only(tmp_path).system == System(model='gpt4o', transfer=Transfer.UNKNOWN)


def test_settings_of_a_tree_are_no_repeats_of_each_other(tmp_path: Path) -> None:
    for name in ('none', 'within_task', 't3600'):
        group(tmp_path / name / 'qwen' / 'task3' / 'point1', 1, [[0, 0, 0]], [])
    rows = read_rows(tmp_path)
    assert [row.repeat for row in rows] == [0, 0, 0]
    assert len(score_table(rows, scorer='compat').columns) == 2 + 3


def test_a_tree_without_any_location_has_no_paper_score(tmp_path: Path) -> None:
    group(tmp_path / 'm' / 'task3' / 'point1', 1, [], [])
    row = only(tmp_path)
    assert (row.scores['compat'], row.scores['paper']) == (0.0, None)
    assert 'no location' in row.reason


def test_trees_and_runs_are_not_mixed(tmp_path: Path) -> None:
    group(tmp_path / 'tree' / 'm' / 'task2' / 'point1', 1, [[0, 0, 0]], [])
    rows = read_rows([tmp_path / 'tree', fly(tmp_path / 'run')])
    assert len(rows) == 2
    with pytest.raises(OceanGymError, match='cannot mix'):
        score_table(rows, scorer='paper')
