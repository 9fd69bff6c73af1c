"""Benchmark files: what they stand for, and what wrong ones are told."""

from __future__ import annotations

from collections import Counter
import contextlib
import hashlib
import itertools
import json
from pathlib import Path
import shutil
from typing import Any

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
import yaml

from oceangym_bench.analysis.results import read_rows
from oceangym_bench.cli.main import main
from oceangym_bench.execution.runner import try_models
from oceangym_bench.matrix.benchmark_file import (
    BASELINES,
    benchmark_names,
    benchmark_path,
    load_benchmark,
)
from oceangym_bench.matrix.hidden_layouts import read_seeds
from oceangym_bench.matrix.runs import Cell, cells_of, select, with_sources
from oceangym_core.assets import config_path
from oceangym_core.config.options import RunOptions
from oceangym_core.errors import OceanGymError

SMALL: dict[str, Any] = {
    'name': 'small',
    'version': '2.0.0',
    'baselines': [],
    'models': ['survey', 'scripted_patrol'],
    'tasks': ['task2', 'task9', 'locate_robot'],
    'starts': ['point1', 'random'],
    'start_seeds': [5, 6],
}


def write(folder: Path, **changes: Any) -> Path:
    """Write the small file with changes; None takes a key out."""
    content = {k: v for k, v in {**SMALL, **changes}.items() if v is not None}
    path = folder / 'small.yaml'
    path.write_text(yaml.safe_dump(content), encoding='utf-8')
    return path


def laid_out(folder: Path, **changes: Any) -> tuple[Cell, ...]:
    return cells_of(load_benchmark(write(folder, **changes)))


def test_the_matrix_is_every_combination_once(tmp_path: Path) -> None:
    cells = laid_out(tmp_path, repeats=2, world_seeds=[0, 4])
    assert len(cells) == 2 * 3 * 3 * 2 * 2
    assert len({cell.id for cell in cells}) == len(cells)
    counted = Counter((c.model, c.options.task, c.options.water, c.start) for c in cells)
    assert set(counted.values()) == {4}
    one = next(c for c in cells if c.id == 'scripted_patrol.task9.random_6.w4.r1')
    expected = RunOptions(
        agent='scripted', model='scripted_patrol', task='inspect_pipe', water='deep',
        start='random_6', seed=1, world_seed=4, frame='shifted', frame_seed=0, record='false',
        sonar='fan',
    )  # fmt: skip
    assert one.options == expected
    # A task that is named by its id runs in the waters of the file, and has its alias there.
    assert [c.alias for c in cells if c.options.task == 'locate_robot'] == ['task1'] * 24


def test_models_and_prompts_of_the_file_s_own_configuration_are_known(tmp_path: Path) -> None:
    own = tmp_path / 'conf'
    shutil.copytree(config_path('prompts', 'concise'), own / 'prompts' / 'terse')
    (own / 'agents').mkdir()
    preset = config_path('agents', 'scripted_patrol.yaml').read_text(encoding='utf-8')
    (own / 'agents' / 'mine.yaml').write_text(preset.replace('id: scripted_patrol', 'id: mine'))
    changes: dict[str, Any] = {'models': ['mine'], 'prompts': ['terse']}
    cells = laid_out(tmp_path, config=[str(own)], **changes)
    assert {(c.options.model, c.options.prompt) for c in cells} == {('mine', 'terse')}
    try_models(cells)
    for kind, value in (('model', 'mine'), ('prompt', 'terse')):
        with pytest.raises(OceanGymError, match=f"unknown {kind} '{value}'"):
            laid_out(tmp_path, **{f'{kind}s': [value]})


def test_runs_of_one_simulator_follow_each_other(tmp_path: Path) -> None:
    cells = laid_out(tmp_path, world_seeds=[0, 4])
    keys = [cell.simulator_key for cell in cells]
    changes = sum(a != b for a, b in itertools.pairwise(keys))
    assert changes == len(set(keys)) - 1


def test_an_id_depends_on_its_own_run_only(tmp_path: Path) -> None:
    before = {cell.id: cell.settings() for cell in laid_out(tmp_path)}
    more = laid_out(
        tmp_path,
        models=['idle', 'scripted_patrol', 'survey'],
        starts=['random', 'point2', 'point1'],
        repeats=3,
        prompts=['concise', 'oceangym'],
        world_seeds=[9, 0],
    )
    after = {cell.id: cell.settings() for cell in more}
    assert before.items() <= after.items()
    assert 'scripted_patrol.task2.point1.w0.r0.p_concise' in after
    # Prompts are nothing to agents without a model.
    assert sum(c.model == 'survey' for c in more) * 2 == sum(
        c.model == 'scripted_patrol' for c in more
    )


def test_durations_are_runs_of_their_own(tmp_path: Path) -> None:
    cells = laid_out(tmp_path, models=['idle'], durations=[1800, 5400.5])
    assert {(c.options.t_max, c.id.rsplit('.', 1)[-1]) for c in cells} == {
        (1800.0, 't1800'),
        (5400.5, 't5400_5'),
    }


def test_memory_is_taken_from_other_starts_and_other_tasks_that_come_first(
    tmp_path: Path,
) -> None:
    cells = laid_out(
        tmp_path,
        tasks=['shallow', 'task9'],
        transfer={'modes': ['none', 'within_task'], 'sources': 2},
    )
    place = {cell.id: i for i, cell in enumerate(cells)}
    taking = [cell for cell in cells if cell.sources]
    assert len(taking) == 9 * 3
    assert all(place[s] < place[cell.id] for cell in taking for s in cell.sources)
    one = next(c for c in taking if c.id == 'scripted_patrol.task2.random_5.w0.r0.within_task')
    assert one.sources == (
        'scripted_patrol.task2.random_6.w0.r0',
        'scripted_patrol.task2.point1.w0.r0',
    )
    cells = laid_out(
        tmp_path,
        tasks=['shallow', 'task9', 'task10'],
        transfer={'modes': ['none', 'cross_task'], 'strip': 'coordinates'},
    )
    last = next(c for c in cells if c.id == 'scripted_patrol.task8.point1.w0.r0.cross_task')
    # The tasks of a water form a ring: after the last comes the first.
    assert last.sources == ('scripted_patrol.task1.point1.w0.r0',)
    deep = next(c for c in cells if c.id == 'scripted_patrol.task9.point1.w0.r0.cross_task')
    assert deep.sources == ('scripted_patrol.task10.point1.w0.r0',)
    assert last.options.memory_strip == 'coordinates'
    assert {c.options.memory_strip for c in cells if not c.sources and c.model != 'survey'} == {
        'none'
    }
    chosen = with_sources(cells, select(cells, ['cross_task']))
    assert {c.transfer for c in chosen} == {'none', 'cross_task'}


def test_baselines_are_flown_once_whatever_prompts_and_memories_models_have(
    tmp_path: Path,
) -> None:
    cells = laid_out(
        tmp_path,
        models=['scripted_patrol', 'idle'],
        baselines=['idle', 'oracle'],
        prompts=['oceangym', 'concise'],
        transfer={'modes': ['none', 'within_task']},
    )
    count = Counter(c.model for c in cells)
    assert count == {'scripted_patrol': 4 * 3 * 3, 'idle': 3 * 3, 'oracle': 3 * 3}


def test_sonar_comes_in_where_cameras_see_nothing(tmp_path: Path) -> None:
    for track, shallow, deep in (
        ({}, 'V', 'VS'),
        ({'deep_sonar': 'none'}, 'V', 'V'),
        ({'sonar': 'fan', 'deep_sonar': 'none'}, 'VS', 'VS'),
        ({'sonar': 'described'}, 'AIDED', 'AIDED'),
        ({'coverage': 'text'}, 'AIDED', 'AIDED'),
    ):
        cells = laid_out(tmp_path, models=['scripted_patrol'], track=track)
        tracks = {c.options.water: c.options.track for c in cells}
        assert tracks == {'shallow': shallow, 'deep': deep}
        sonars = {c.options.water: c.options.sonar for c in cells}
        assert sonars['deep'] == ('none' if deep == 'V' else track.get('sonar', 'fan'))


OWN_AGENT = """
from oceangym_agent.agent import Turn
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision


class Climber:
    privileged = False

    def __init__(self, height=4.0):
        self.height = height

    def begin(self, goal, privilege=None):
        assert privilege is None
        self.label = goal.target_label

    def decide(self, observation, status, truth=None):
        assert truth is None
        decision = Decision(
            index=observation.index, action=Action.UP, magnitude=self.height
        )
        return Turn(decision=decision)


class Peeping(Climber):
    privileged = True


class Mute:
    privileged = False
"""


def test_an_agent_of_one_s_own_flies_and_its_run_is_verified(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = tmp_path / 'climber.py'
    code.write_text(OWN_AGENT, encoding='utf-8')
    own = {'name': 'climber', 'agent': f'{code}:Climber', 'options': {'height': 6.0}}
    source = write(
        tmp_path,
        models=[own],
        tasks=['task2'],
        starts=['point1'],
        start_seeds=None,
        durations=[60],
        sensors='none',
    )
    words = ['run', str(source), '--results-dir', str(tmp_path), '--executor', 'serial']
    assert main(words) == 0
    run = tmp_path / 'small' / 'runs' / 'climber.task2.point1.w0.r0.t60'
    (row,) = read_rows(run)
    assert (row.model, row.decisions, row.ending) == ('climber', 2, 'time')
    lines = [json.loads(text) for text in (run / 'episode.jsonl').read_text().splitlines()]
    assert '"up"' in json.dumps(lines) and '6.0' in json.dumps(lines)
    assert main(['verify', str(run)]) == 0
    capsys.readouterr()
    for changes, message in (
        ({'agent': f'{code}:Swimmer'}, 'has no class Swimmer'),
        ({'agent': f'{code}:Peeping'}, 'must have privileged = False'),
        ({'agent': f'{code}:Mute'}, 'has no method begin and decide'),
        ({'agent': 'no.such.module:Agent'}, "No module named 'no'"),
        ({'agent': f'{code}:Climber', 'options': {'depth': 1}}, "unexpected keyword argument 'depth'"),
        ({'agent': 'climber'}, 'models'),
        ({'command': 'ros2 run mine agent'}, 'agent:=none model:=NAME'),
    ):  # fmt: skip
        write(tmp_path, models=[{'name': 'wrong', **changes}], tasks=['task2'], name='other')
        assert main(words) == 1
        assert message in capsys.readouterr().err, changes


def test_filters_match_whole_parts_or_patterns(tmp_path: Path) -> None:
    cells = laid_out(tmp_path, tasks=['benchmark'])
    assert {c.alias for c in select(cells, ['task1'])} == {'task1'}
    assert {c.alias for c in select(cells, ['task1', 'task12'])} == {'task1', 'task12'}
    assert {c.alias for c in select(cells, ['*.task1?.*'])} == {'task10', 'task11', 'task12'}
    assert len(select(cells, ['survey.task3.point1'])) == 1
    with pytest.raises(OceanGymError, match="'task13' matches none of the 72 runs"):
        select(cells, ['task13'])


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    'key': ({'modls': ['survey']}, "unknown key 'modls'. Did you mean 'models'"),
    'nested key': ({'track': {'sonnar': 'fan'}}, "unknown key 'sonnar'. Did you mean 'sonar'"),
    'model': ({'models': ['servey']}, "unknown model 'servey'. Did you mean 'survey'"),
    'preset': ({'models': ['gpt-4o-mni']}, "Did you mean 'gpt-4o-mini'"),
    'task': ({'tasks': ['benchmrak']}, "unknown task 'benchmrak'. Did you mean 'benchmark'"),
    'start': ({'starts': ['piont1'], 'start_seeds': None}, "Did you mean 'point1'"),
    'water': ({'waters': ['shalow']}, "unknown water 'shalow'. Did you mean 'shallow'"),
    'profile': ({'profile': 'hrd'}, "Did you mean 'hard'"),
    'prompt': ({'prompts': ['ocean']}, "Did you mean 'oceangym'"),
    'version': ({'version': '0.9.0'}, 'runs benchmark 2.0.0'),
    'no version': ({'version': None}, "key 'version' is missing"),
    'no seeds': ({'start_seeds': None}, 'needs start_seeds'),
    'stray seeds': ({'starts': ['point1']}, 'of which starts holds none'),
    'twice': ({'starts': ['point1', 'point1', 'random']}, "starts holds 'point1' twice"),
    'waters for nothing': (
        {'tasks': ['benchmark'], 'waters': ['deep']},
        'waters is for tasks given by their ids',
    ),
    'transfer alone': ({'transfer': {'modes': ['within_task']}}, 'needs none too'),
    'too few sources': (
        {'transfer': {'modes': ['none', 'within_task'], 'sources': 3}},
        'needs 3 other starts, and the file has 2',
    ),
    'hash alone': ({'world_seeds_sha256': 'a' * 64}, 'belong together'),
    'negative': ({'repeats': 0}, 'greater than or equal to 1'),
    'duration twice': ({'durations': [60, 60]}, '.yaml: durations holds 60.0 twice'),
    'colon': ({'config': ['a:b']}, 'list several directories one by one'),
    'short': ({'durations': [10]}, 't_interval 30 s exceeds t_max 10 s'),
    'text for a number': ({'frame_seed': 'seven'}, 'frame_seed'),
    'url of nobody': ({'base_urls': {'gpt-4o': 'http://x'}}, 'not one of the models'),
    'blind sonar': (
        {'track': {'sonar': 'fan'}, 'sensors': 'truth'},
        'needs what sensors:=all renders',
    ),
    'too much': (
        {'repeats': 1000, 'tasks': ['benchmark'], 'durations': [60 + i for i in range(50)]},
        'at most 20000 are accepted',
    ),
    'name': ({'name': '../out'}, 'name'),
}  # fmt: skip


@pytest.mark.parametrize('wrong', WRONG)
def test_a_wrong_file_is_told_what_is_wrong(tmp_path: Path, wrong: str) -> None:
    changes, message = WRONG[wrong]
    with pytest.raises(OceanGymError) as caught:
        laid_out(tmp_path, **changes)
    assert message in str(caught.value)


def test_the_shipped_files_are_what_they_say() -> None:
    sizes = {name: cells_of(load_benchmark(benchmark_path(name))) for name in benchmark_names()}
    assert {'default', 'paper', 'scaling', 'smoke', 'transfer'} <= set(sizes)
    assert all(c.options.frame == 'shifted' for cells in sizes.values() for c in cells)
    assert len(sizes['smoke']) == 2 * 12 * 3
    assert {c.options.t_max for c in sizes['smoke']} == {150.0}
    assert sum(c.model == 'scripted_patrol' for c in sizes['paper']) == 12 * 3
    # Without a sonar nothing is asked of models in deep water but by the paper's own file.
    for name, cells in sizes.items():
        deep = {c.options.track for c in cells if c.options.water == 'deep' and c.prompt}
        assert deep == ({'V'} if name == 'paper' else {'VS'} if name != 'baselines' else set())
        assert {c.options.track for c in cells if c.options.water == 'shallow' and c.prompt} <= {
            'V'
        }
    # What bounds a score stands beside it.
    for name in ('default', 'paper', 'baselines'):
        assert set(BASELINES) <= {c.model for c in sizes[name]}
    default = sizes['default']
    assert len({c.alias for c in default}) == 12
    starts = {c.start for c in default}
    assert starts == {f'{s}_{n}' for s in ('near', 'medium', 'far') for n in range(1, 4)}
    # Who reads the file learns no hidden layout.
    assert {c.options.world_seed for c in default} == {0}
    assert load_benchmark(benchmark_path('default')).absent_layouts
    assert {c.options.t_max for c in sizes['scaling']} == {1800, 3600, 5400, 7200, 10800}
    assert {c.transfer for c in sizes['transfer']} == {'none', 'within_task', 'cross_task'}
    # Each file hides the map behind a shift of its own, which all its runs share.
    frames = {name: {c.options.frame_seed for c in cells} for name, cells in sizes.items()}
    assert all(len(seeds) == 1 for seeds in frames.values())
    assert len(set.union(*frames.values())) == len(frames)


def test_hidden_layouts_come_from_a_private_file_whose_hash_is_published(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private = tmp_path / 'hidden.txt'
    assert main(['layouts', '--count', '3', '--out', str(private)]) == 0
    published = yaml.safe_load(capsys.readouterr().out)
    assert published['world_seeds_sha256'] == hashlib.sha256(private.read_bytes()).hexdigest()
    assert private.stat().st_mode & 0o077 == 0
    seeds = {int(line) for line in private.read_text().splitlines() if line[0] != '#'}
    # Too many to be tried one by one.
    assert len(seeds) == 3 and min(seeds) >= 2**60
    cells = laid_out(tmp_path, **published)
    hidden = [c for c in cells if c.layout == 'hidden']
    assert {c.options.world_seed for c in hidden} == seeds
    assert len(hidden) == 3 * (len(cells) - len(hidden)) == 0.75 * len(cells)
    assert len({c.id for c in cells}) == len(cells)
    assert not any(str(seed) in c.id for c in hidden for seed in seeds)
    # A drawn file is not overwritten, and another one than the published is refused.
    assert main(['layouts', '--out', str(private)]) == 1
    assert 'exists and is kept' in capsys.readouterr().err
    private.write_text('7\n')
    with pytest.raises(OceanGymError, match='it holds other layouts'):
        laid_out(tmp_path, **published)
    # Without the file the released layout is flown, and what is left out is said.
    private.unlink()
    assert {c.layout for c in laid_out(tmp_path, **published)} == {'released'}
    source = write(tmp_path, **published)
    assert main(['plan', str(source), '--json', '--results-dir', str(tmp_path)]) == 0
    assert 'hidden layouts are left out' in capsys.readouterr().err


def test_a_seeds_file_holds_different_seeds_only(tmp_path: Path) -> None:
    path = tmp_path / 'seeds.txt'
    for text, message in {
        '': 'it holds 0',
        '5\n5\n': 'different seeds',
        '0\n': "'0' is no seed",
        '-3\n': "'-3' is no seed",
        f'{2**63}\n': 'is no seed',
    }.items():
        path.write_text(text)
        with pytest.raises(OceanGymError, match=message):
            read_seeds(path, hashlib.sha256(text.encode()).hexdigest())


def test_an_unknown_name_of_a_file_is_told_the_nearest() -> None:
    with pytest.raises(OceanGymError, match="Did you mean 'default'"):
        benchmark_path('defualt')


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=True)
    | st.text(max_size=12)
    | st.sampled_from(['survey', 'task1', 'point1', 'random', 'none', 'fan', '1.0.0', '-', '']),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
KEYS = (
    'name', 'version', 'models', 'tasks', 'waters', 'starts', 'start_seeds', 'world_seeds', 'repeats',
    'durations', 't_interval', 'prompts', 'track', 'memory', 'transfer', 'budget', 'calls', 'profile',
    'frame_seed', 'sensors', 'base_urls', 'results_dir', 'config',
)  # fmt: skip


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(changes=st.dictionaries(st.sampled_from(KEYS), VALUES, min_size=1, max_size=3))
def test_whatever_a_file_holds_it_is_refused_with_a_message(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    with contextlib.suppress(OceanGymError):
        laid_out(tmp_path, **changes)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.integers(0, 400), noise=st.binary(max_size=8))
def test_a_damaged_file_is_refused_with_a_message(tmp_path: Path, cut: int, noise: bytes) -> None:
    whole = write(tmp_path).read_bytes()
    damaged = tmp_path / 'damaged.yaml'
    damaged.write_bytes(whole[:cut] + noise + whole[cut:])
    with contextlib.suppress(OceanGymError):
        cells_of(load_benchmark(damaged))
