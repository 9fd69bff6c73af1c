"""What a score is comparable with: version, track and digests, in old records too."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path
import re
import shutil

import pytest
import yaml

from oceangym_core.assets import assets_root
from oceangym_core.config.options import RunOptions
from oceangym_core.config.tasks import load_task, TaskRegistry
from oceangym_core.config.waters import load_water
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.record import version as benchmark_version
from oceangym_core.record.provenance import experience_sources, files_sha256, world_files
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import Benchmark, ExperienceSource
from oceangym_core.record.version import (
    benchmark_entry,
    BENCHMARK_VERSION,
    prompt_folder,
    prompt_sha256,
    SENSOR_FOLDERS,
    sensors_sha256,
    task_sha256,
    VEHICLE,
)
from oceangym_core.scoring import rescore, score_episode
from oceangym_core.testing.records import Leg, run_info, targets_at, write_episode
from oceangym_core.world.world import load_world, World, world_path

KEYS = ('world', 'props', 'task', 'prompt', 'scorers', 'sensors')


@lru_cache(maxsize=1)
def ocean() -> World:
    return load_world(world_path('ocean'))


def entry(**options) -> Benchmark:
    chosen = RunOptions(**options)
    return benchmark_entry(
        chosen,
        task=TaskRegistry.load().get(chosen.task),
        world=ocean(),
        water=load_water(chosen.water),
    )


def test_every_digest_is_there_and_depends_on_its_own_part_only() -> None:
    plain = entry()
    assert (plain.version, plain.track) == (BENCHMARK_VERSION, 'none')
    hashes = plain.hashes
    assert tuple(hashes) == KEYS
    # An agent without a model has no prompt.
    assert hashes.pop('prompt') == ''
    assert all(re.fullmatch('[0-9a-f]{64}', value) for value in hashes.values())
    assert len(set(hashes.values())) == len(hashes)
    other_task, other_water = entry(task='dock').hashes, entry(water='deep').hashes
    for key, value in hashes.items():
        assert (other_task[key] == value) == (key != 'task')
        assert (other_water[key] == value) == (key != 'sensors')


def test_terrain_and_props_make_up_the_world() -> None:
    terrain = world_files(ocean(), props=False)
    props = world_files(ocean(), terrain=False)
    assert sorted(terrain + props) == sorted(world_files(ocean()))
    assert any(name.endswith('heightfield.npy') for name, _ in terrain)
    assert any(name.startswith('models/sunken_ship/') for name, _ in props)


def test_a_changed_reference_image_is_another_task(tmp_path: Path) -> None:
    tasks = assets_root() / 'config' / 'tasks'
    shutil.copy(tasks / 'dock.yaml', tmp_path)
    shutil.copytree(tasks / 'images', tmp_path / 'images')
    before = load_task(tmp_path / 'dock.yaml')
    assert before.reference_image_path is not None
    digest = task_sha256(before)
    assert digest == task_sha256(load_task(tasks / 'dock.yaml'))
    with before.reference_image_path.open('ab') as stream:
        stream.write(b'\0')
    assert task_sha256(before) != digest


def test_a_prompt_is_found_by_name_or_as_a_directory(tmp_path: Path) -> None:
    own = tmp_path / 'prompts' / 'terse'
    own.mkdir(parents=True)
    (own / 'prompt.yaml').write_text('version: 1.0.0')
    (own / 'act.j2').write_text('go')
    assert prompt_folder('terse', [tmp_path]) == own
    assert prompt_folder(str(own)) == own
    digest = prompt_sha256(own)
    (own / '.act.j2').write_text('an editor at work')
    (own / 'README.md').write_text('for people')
    assert prompt_sha256(own) == digest
    (own / 'act.j2').write_text('stay')
    assert prompt_sha256(own) != digest
    with pytest.raises(OceanGymError, match="Did you mean 'terse'"):
        prompt_folder('tersee', [tmp_path])


def test_water_is_part_of_the_sensors() -> None:
    water = load_water('shallow')
    murky = water.model_copy(update={'jerlov': '9C'})
    assert sensors_sha256(water) != sensors_sha256(murky)


@pytest.mark.parametrize('part', ['models/bluerov2_heavy', 'config/sonars', 'config/environments'])
def test_every_file_behind_the_sensors_is_covered(
    part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    water = load_water('shallow')
    for folder in (f'models/{VEHICLE}', *(f'config/{name}' for name in SENSOR_FOLDERS)):
        shutil.copytree(assets_root() / folder, tmp_path / folder)
    monkeypatch.setattr(benchmark_version, 'assets_root', lambda: tmp_path)
    monkeypatch.setattr(benchmark_version, 'config_path', lambda name: tmp_path / 'config' / name)
    before = sensors_sha256(water)
    file = next(p for p in sorted((tmp_path / part).iterdir()) if p.suffix in ('.yaml', '.sdf'))
    file.write_text(file.read_text() + '\n# another number\n')
    assert sensors_sha256(water) != before


def test_the_digest_names_files_not_places(tmp_path: Path) -> None:
    for folder in ('a', 'b'):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / 'x').write_text('same')
    one, two = (files_sha256([('x', tmp_path / folder / 'x')]) for folder in ('a', 'b'))
    assert one == two


def flown(directory: Path, **changes) -> Path:
    info = run_info(targets_at([(100.0, 0.0, -50.0)]), start=Pose()).model_copy(update=changes)
    write_episode([Leg(position=(0.0, 0.0, -5.0))], info, directory=directory)
    return directory


def test_the_record_keeps_it_and_scores_name_the_scorers_at_work(tmp_path: Path) -> None:
    recorded = {'version': '1.0.0', 'track': 'VS', 'hashes': {**dict.fromkeys(KEYS, 'old')}}
    sources = (ExperienceSource(path='runs/a', run_id='a'),)
    run = flown(tmp_path, benchmark=Benchmark(**recorded), experience=sources)
    info = load_episode(run).info
    assert (info.benchmark.model_dump(), info.experience) == (recorded, sources)
    score = rescore(run)['benchmark']
    assert score['hashes'].pop('scorers') != 'old'
    assert set(score['hashes'].values()) == {'old'}
    assert (score['version'], score['track']) == ('1.0.0', 'VS')


def test_a_record_from_before_is_still_read(tmp_path: Path) -> None:
    run = flown(tmp_path)
    content = yaml.safe_load((run / 'run.yaml').read_text())
    del content['benchmark'], content['experience']
    for name in ('model', 'prompt', 'frame_seed', 'max_cost'):
        del content['options'][name]
    (run / 'run.yaml').write_text(yaml.safe_dump(content))
    episode = load_episode(run)
    assert (episode.info.benchmark, episode.info.experience) == (Benchmark(), ())
    assert score_episode(episode)['benchmark'] == {}


def test_sources_of_experience_are_named_with_their_digests(tmp_path: Path) -> None:
    (tmp_path / 'run').mkdir()
    run = flown(tmp_path / 'run')
    options = RunOptions(agent='scripted', memory_from=str(run))
    (source,) = experience_sources(options)
    assert (source.path, source.run_id, source.task) == (str(run), 'test_run', 'inspect_pipe')
    assert len(source.files) == 2
    single = next(run.glob('important_memory_*.json'))
    (source,) = experience_sources(replace(options, memory_from=str(single)))
    assert list(source.files) == [single.name]
    with pytest.raises(OceanGymError, match='holds no memory_'):
        experience_sources(replace(options, memory_from=str(tmp_path / 'nowhere')))
