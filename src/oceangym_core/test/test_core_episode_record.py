"""The run directory: written step by step, read back whole or cut short."""

from __future__ import annotations

from datetime import datetime
import json
from pathlib import Path

import numpy as np
import pytest

from oceangym_core.config.options import RunOptions
from oceangym_core.config.starts import resolve_start
from oceangym_core.config.tasks import resolve_targets, TaskRegistry
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.frames import FrameShift, shift_for
from oceangym_core.contract.observation import Contact, Sighting
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.record.memory_files import MemoryEntry, read_memory, write_memory
from oceangym_core.record.provenance import git_state, package_versions
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import Ending
from oceangym_core.record.writer import make_run_info, new_run_directory, run_id_for, RunWriter
from oceangym_core.scoring import rescore, score_episode
from oceangym_core.testing.records import (
    Leg,
    maneuver_to,
    navigation_at,
    run_info,
    StepClock,
    targets_at,
    truth_at,
    write_episode,
)
from oceangym_core.world.world import load_world, world_path

TARGET = (100.0, 0.0, -50.0)
SEEN = (Sighting(anchor='a', sensor='camera/front', pixels=100),)


def legs() -> list[Leg]:
    path = np.array([(31.0 + i, 60.0 + i, 0.0, -50.0) for i in range(5)])
    return [
        Leg(position=(50.0, 0.0, -50.0), action=Action.FORWARD),
        Leg(position=(60.0, 0.0, -50.0), action=Action.UP, sightings=SEEN),
        Leg(
            position=(90.0, 0.0, -50.0),
            sightings=SEEN,
            trajectory=path,
            contacts=(Contact(stamp=45.0, instance='rock_1', speed=0.3),),
            standoff=(2, 7.5),
            boundary=1,
            reports=(FindReport(label='OIL PIPELINE', position=TARGET, sigma=2.0),),
        ),
    ]


def info(**kw):
    return run_info(targets_at([TARGET]), **kw)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    writer = write_episode(legs(), info(), directory=tmp_path)
    read, kept = load_episode(tmp_path), writer.episode()
    assert read.ending is Ending.STOP and not read.partial and read.notes == ()
    assert read.info.targets == kept.info.targets
    assert read.info.start == kept.info.start and read.info.shift == kept.info.shift
    assert np.array_equal(read.trajectory, kept.trajectory)
    assert read.reports == kept.reports and read.decisions == kept.decisions
    assert read.steps[2].contacts == kept.steps[2].contacts
    assert (read.memory, read.important) == (kept.memory, kept.important)
    assert score_episode(read) == score_episode(kept)


def test_scoring_again_gives_the_same_file(tmp_path: Path) -> None:
    writer = write_episode(legs(), info(), directory=tmp_path)
    writer.write_score(score_episode(writer.episode()))
    assert rescore(tmp_path) == json.loads((tmp_path / 'score.json').read_text())


def test_memory_files_have_oceangym_s_form(tmp_path: Path) -> None:
    write_episode(legs(), info(), directory=tmp_path)
    (memory,) = tmp_path.glob('memory_*.json')
    (important,) = tmp_path.glob('important_memory_*.json')
    assert memory.name.removeprefix('memory_') == important.name.removeprefix('important_memory_')
    entries = json.loads(memory.read_text())
    assert all(list(e) == ['timestamp', 'target_info', 'action', 'location'] for e in entries)
    assert [e['action'] for e in entries] == ['move forward', 'ascend', 'stop']
    assert [e['location'] for e in entries] == [
        [50.0, 0.0, -50.0],
        [60.0, 0.0, -50.0],
        [90.0, 0.0, -50.0],
    ]
    datetime.strptime(entries[0]['timestamp'], '%Y-%m-%d %H:%M:%S')
    (find,) = json.loads(important.read_text())
    assert find['location'] == [90.0, 0.0, -50.0] and 'OIL PIPELINE' in find['target_info'][0]


def test_a_description_without_utf8_form_is_remembered(tmp_path: Path) -> None:
    path = tmp_path / 'memory.json'
    write_memory(path, [MemoryEntry(target_info=('pipe \udc80 ahead',))])
    assert read_memory(path)[0].target_info == ('pipe ? ahead',)


def test_memory_holds_what_the_agent_was_told_not_the_truth(tmp_path: Path) -> None:
    shift = FrameShift(1000.0, -500.0, 1.0)
    write_episode(legs(), info(shift=shift), directory=tmp_path)
    (memory,) = tmp_path.glob('memory_*.json')
    first = read_memory(memory)[0].location
    assert first == pytest.approx(shift.points_to_odom((50.0, 0.0, -50.0)), abs=0.06)


def test_a_killed_run_scores_up_to_its_last_step(tmp_path: Path) -> None:
    write_episode(legs(), info(), directory=tmp_path, ending=None)
    episode = load_episode(tmp_path)
    assert episode.ending is Ending.INTERRUPTED and episode.partial
    assert len(episode.steps) == 3
    assert rescore(tmp_path, 'paper')['score'] == pytest.approx(100.0)


@pytest.mark.parametrize('cut', [1, 5, 40, 200])
def test_a_line_cut_off_is_left_out_with_a_note(tmp_path: Path, cut: int) -> None:
    write_episode(legs(), info(), directory=tmp_path, ending=None)
    path = tmp_path / 'episode.jsonl'
    path.write_bytes(path.read_bytes()[:-cut])
    episode = load_episode(tmp_path)
    assert len(episode.steps) == 2 and 'cut off' in episode.notes[0]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    write_episode(legs(), info(), directory=tmp_path)
    path = tmp_path / 'episode.jsonl'
    lines = path.read_text().split('\n')
    path.write_text('\n'.join([lines[0], lines[1][:-9], *lines[2:]]))
    with pytest.raises(OceanGymError, match=r'episode\.jsonl, line 2'):
        load_episode(tmp_path)


def test_the_same_episode_gives_the_same_bytes_apart_from_wall_time(tmp_path: Path) -> None:
    texts = []
    for name, start in (('a', datetime(2026, 1, 1)), ('b', datetime(2027, 6, 5, 4, 3, 2))):
        (tmp_path / name).mkdir()
        writer = RunWriter(tmp_path / name, info(), clock=StepClock(start))
        for index, leg in enumerate(legs()):
            writer.write_step(
                index=index,
                navigation=navigation_at(Pose.of(leg.position), 30.0 * index),
                truth=truth_at(leg, index, 30.0 * index),
                maneuver=None if index == 0 else maneuver_to(index),
                decision=Decision(index=index - 1, action=Action.UP, latency_s=start.second)
                if index
                else None,
            )
        writer.write_end(t=60.0, ending=Ending.TIME)
        writer.close()
        lines = (tmp_path / name / 'episode.jsonl').read_text().splitlines()
        stripped = [json.loads(line) for line in lines]
        assert all(line.pop('wall') for line in stripped)
        texts.append(json.dumps(stripped))
    assert texts[0] == texts[1]


def test_floats_are_rounded_to_a_micrometre(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, info(), clock=StepClock())
    place = (1.23456789, -0.0000000001, -1 / 3)
    leg = Leg(position=place)
    writer.write_step(
        index=0, navigation=navigation_at(Pose.of(place), 0.0), truth=truth_at(leg, 0, 0.0)
    )
    line = json.loads((tmp_path / 'episode.jsonl').read_text())
    assert line['truth']['pose']['position'] == [1.234568, 0.0, -0.333333]
    assert '-0.0,' not in (tmp_path / 'episode.jsonl').read_text()


def test_a_diverged_simulation_is_refused_before_it_is_written(tmp_path: Path) -> None:
    writer = RunWriter(tmp_path, info(), clock=StepClock())
    leg = Leg(position=(float('nan'), 0.0, 0.0))
    with pytest.raises(OceanGymError, match='diverged'):
        writer.write_step(
            index=0, navigation=navigation_at(Pose(), 0.0), truth=truth_at(leg, 0, 0.0)
        )
    assert (tmp_path / 'episode.jsonl').read_text() == ''


def test_a_record_is_never_overwritten(tmp_path: Path) -> None:
    write_episode(legs(), info(), directory=tmp_path)
    with pytest.raises(OceanGymError, match='already holds a record'):
        RunWriter(tmp_path, info(), clock=StepClock())


def test_an_episode_without_an_observation_is_refused(tmp_path: Path) -> None:
    RunWriter(tmp_path, info(), clock=StepClock()).close()
    with pytest.raises(OceanGymError, match='holds no observation'):
        load_episode(tmp_path)


def test_run_directories_do_not_collide(tmp_path: Path) -> None:
    run_id = run_id_for(RunOptions(start='1,2,-3,4', seed=9), datetime(2026, 1, 2, 3, 4, 5))
    assert run_id == '20260102-030405_inspect_pipe_shallow_custom_survey_s9'
    a, b = (
        new_run_directory(tmp_path / 'runs', run_id),
        new_run_directory(tmp_path / 'runs', run_id),
    )
    assert a != b and a.is_dir() and b.is_dir()
    (tmp_path / 'file').write_text('')
    with pytest.raises(OceanGymError, match='cannot make'):
        new_run_directory(tmp_path / 'file', run_id)


def test_safety_counts_and_costs(tmp_path: Path) -> None:
    score = score_episode(write_episode(legs(), info()).episode())
    assert score['safety']['collisions'] == 1
    assert score['safety']['collided_with'] == ['rock_1']
    assert (score['safety']['standoff_events'], score['safety']['standoff_seconds']) == (2, 7.5)
    assert score['safety']['boundary_events'] == 1
    assert score['path']['length_m'] == pytest.approx(40.0)
    assert score['time_to_first_sight_s'] == 30.0
    assert score['start']['nearest_target'] == 'a'
    doubled = score_episode(write_episode(legs(), info()).episode(), oracle_path_length=20.0)
    assert doubled['path']['over_oracle'] == pytest.approx(2.0)


def test_one_bump_counts_once() -> None:
    bumps = tuple(
        Contact(stamp=t, instance=name, speed=0.2)
        for t, name in [(1.0, 'a'), (2.5, 'a'), (5.0, 'a'), (9.0, 'a'), (9.0, 'b')]
    )
    leg = Leg(position=(0.0, 0.0, -50.0), contacts=bumps)
    score = score_episode(write_episode([leg], info()).episode())
    # 1.0, 2.5 and 5.0 are one bump (each within 3 s of the last), 9.0 another; b is one more.
    assert score['safety']['collisions'] == 3


def test_provenance_says_what_is_known_and_no_more(tmp_path: Path) -> None:
    assert git_state(tmp_path) == {'commit': None, 'dirty': None}
    versions = package_versions(['numpy', 'no-such-package'])
    assert versions['numpy'] == np.__version__ and 'no-such-package' not in versions


def test_everything_that_is_fixed_before_a_run_is_kept(tmp_path: Path) -> None:
    world = load_world(world_path('ocean'))
    options = RunOptions(agent='oracle', water='deep', start='point2', frame='shifted', seed=4)
    task = TaskRegistry.load().get(options.task)
    targets = resolve_targets(task, world)
    start = resolve_start(
        options.start,
        options.seed,
        targets=targets,
        lower=world.bounds.lower,
        upper=world.bounds.upper,
        seabed=world.seabed,
        clearance=lambda point: 100.0,
    )
    fixed = make_run_info(
        run_id='r1',
        options=options,
        task=task,
        targets=targets,
        world=world,
        shift=shift_for(options.frame, options.seed),
        start=start,
        water=load_water('deep'),
        profile=load_profile('standard'),
        privileged=True,
        started=datetime(2026, 1, 2),
    )
    write_episode([Leg(position=start.pose.position)], fixed, directory=tmp_path)
    read = load_episode(tmp_path).info
    assert read == fixed
    assert (read.task.alias, read.privileged, read.agent) == ('task9', True, 'oracle')
    assert RunOptions.from_dict(read.options) == options


def test_memory_round_trip(tmp_path: Path) -> None:
    entries = (
        MemoryEntry(
            timestamp='2026-01-02 03:04:05',
            target_info=('Front: 管道',),
            action='ascend',
            location=(1.0, -2.5, -30.1),
        ),
        MemoryEntry(),
    )
    write_memory(tmp_path / 'memory_2026-01-02_03-04-05.json', entries)
    assert read_memory(tmp_path / 'memory_2026-01-02_03-04-05.json') == entries
