"""Experience of earlier runs: what is read, what is refused, and that stripped means stripped."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
import re

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest

from oceangym_agent.memory.coordinates import REMOVED, strip_coordinates
from oceangym_agent.memory.experience import Experience, load_experience, Relation
from oceangym_agent.memory.window import Memory
from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.frames import FrameShift
from oceangym_core.errors import OceanGymError
from oceangym_core.geometry import Pose
from oceangym_core.record.writer import RunWriter
from oceangym_core.testing.records import (
    maneuver_to,
    navigation_at,
    run_info,
    StepClock,
    targets_at,
)

SHIFT = FrameShift(1203.25, -77.125, 0.75)
OTHER = FrameShift(-400.0, 900.0, -2.0)


def write_run(directory: Path, shift: FrameShift) -> Path:
    """Write a run of three steps with one find, as a real one is written."""
    directory.mkdir(parents=True, exist_ok=True)
    info = run_info(targets_at([(100.0, 0.0, -50.0)]), shift=shift)
    writer = RunWriter(directory, info, clock=StepClock())
    for index in range(3):
        report = FindReport(
            label='OIL PIPELINE', position=(612.0, -333.0, -52.0), observation_index=index
        )
        writer.write_step(
            index=index,
            navigation=navigation_at(Pose((600.5 + index, -340.25, -48.0)), 30.0 * index),
            truth=None,
            maneuver=maneuver_to(index) if index else None,
            decision=Decision(
                index=index - 1,
                action=Action.FORWARD,
                description='a pipe at x=612, y=-333 running to (640, -350, -55)',
            )
            if index
            else None,
            reports=[(report, True)] if index == 2 else [],
        )
    writer.close()
    return directory


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / 'run', SHIFT)


def memory_file(path: Path, entries: list[dict[str, object]]) -> Path:
    path.write_text(json.dumps(entries), encoding='utf-8')
    return path


ENTRY: dict[str, object] = {
    'timestamp': '2025-06-01 10:00:00',
    'target_info': ['Left: sand. Right: a pipe at [345.0, -165.0, -32.0].'],
    'action': 'move forward',
    'location': [300.1, -150.2, -30.3],
}


def test_a_run_is_read_with_its_origin(run: Path) -> None:
    loaded = load_experience([run], shift=SHIFT, task_id='inspect_pipe')
    (source,) = loaded.runs
    assert (source.path, source.task_id) == (str(run), 'inspect_pipe')
    assert source.relation is Relation.WITHIN_TASK
    assert (len(source.steps), len(source.important)) == (2, 1)
    other = load_experience([run], shift=SHIFT, task_id='dock')
    assert other.runs[0].relation is Relation.CROSS_TASK
    assert load_experience([run], shift=SHIFT).runs[0].relation is Relation.UNKNOWN


def test_experience_reaches_the_memory(run: Path) -> None:
    loaded = load_experience([run], shift=SHIFT, task_id='inspect_pipe')
    text = Memory(experience=loaded).render(2000)
    assert 'earlier dive on inspect_pipe (the same task)' in text
    assert '[600.5, -340.2, -48.0]' in text
    assert 'OIL PIPELINE' in text
    assert text != Memory().render(2000)


def test_another_frame_is_refused_with_the_remedy(run: Path) -> None:
    with pytest.raises(OceanGymError, match='memory_strip:=coordinates') as caught:
        load_experience([run], shift=OTHER)
    assert str(run) in str(caught.value)
    assert 'frame_seed:=' in str(caught.value)
    # The shift is no business of whoever reads the log.
    assert '1203' not in str(caught.value)
    with pytest.raises(OceanGymError, match='those of this run in map'):
        load_experience([run], shift=FrameShift())
    load_experience([run], shift=OTHER, strip='coordinates')
    load_experience([run], shift=None)


def test_places_of_another_layout_are_refused(run: Path) -> None:
    load_experience([run], shift=SHIFT, world_seed=0)
    with pytest.raises(OceanGymError, match='memory_strip:=coordinates'):
        load_experience([run], shift=SHIFT, world_seed=7)
    load_experience([run], shift=SHIFT, strip='coordinates', world_seed=7)


def test_a_file_of_a_run_is_in_the_frame_of_its_run(run: Path) -> None:
    (file,) = run.glob('important_memory_*.json')
    with pytest.raises(OceanGymError, match='another shifted frame'):
        load_experience([file], shift=OTHER)
    loaded = load_experience([file], shift=SHIFT)
    assert (len(loaded.runs[0].steps), len(loaded.runs[0].important)) == (0, 1)


def test_oceangym_files_are_in_map(tmp_path: Path) -> None:
    file = memory_file(tmp_path / 'memory_2025-06-01_10-00-00.json', [ENTRY])
    memory_file(tmp_path / 'important_memory_2025-06-01_10-00-00.json', [ENTRY, ENTRY])
    loaded = load_experience([file], shift=FrameShift())
    assert loaded.runs[0].steps[0].location == (300.1, -150.2, -30.3)
    assert loaded.runs[0].important == ()
    both = load_experience([tmp_path], shift=FrameShift())
    assert (len(both.runs[0].steps), len(both.runs[0].important)) == (1, 2)
    with pytest.raises(OceanGymError, match='are in map, those of this run in a shifted frame'):
        load_experience([file], shift=SHIFT)


def test_several_sources_keep_their_order(run: Path, tmp_path: Path) -> None:
    file = memory_file(tmp_path / 'memory_a.json', [ENTRY])
    loaded = load_experience([file, str(run)], strip='coordinates', shift=SHIFT)
    assert [r.path for r in loaded.runs] == [str(file), str(run)]
    lines = list(loaded.lines())
    # Finds come last, as what is worth most.
    assert 'find' in lines[-1] and 'dive 2' in lines[-1]
    assert 'dive 1' in lines[0]


def test_stripped_experience_holds_no_coordinate(run: Path, tmp_path: Path) -> None:
    file = memory_file(tmp_path / 'memory_a.json', [ENTRY])
    loaded = load_experience([run, file], strip='coordinates', shift=OTHER)
    entries = [e for r in loaded.runs for e in (*r.steps, *r.important)]
    assert entries and all(entry.location is None for entry in entries)
    text = Memory(experience=loaded).render(4000)
    for number in ('612', '333', '640', '350', '345', '165', '600', '340'):
        assert number not in text
    assert 'a pipe at' in text and 'Left: sand' in text


@pytest.mark.parametrize(
    'text',
    [
        'at [345.0, -165.0, -32.0]',
        'at (345, -165)',
        'at 345/-165/-32',
        'coordinates 345 -165 -32',
        'x=345, y=-165',
        'X: 345 Y: -165 Z: -32',
        'x is about 345 and y is about −165',
        'x-coordinate of 345',
        'near x ~ 345.5',
        '(345.0; -165.0; -32.0)',
        '<345,-165,-32>',
        'position: 345 m, -165 m',
        'at 3.45e2, -1.65e2',
        'the pipe starts at 345',
        'depth -165',
        'easting 345',
        'between 345 and 165 on the x axis',
        'x 345m y 165m',
        '{"x": 345, "y": -165}',
        "{'location': [345, -165, -32]}",
        'X345 Y-165',
        'x345,y165',
        '345E 165N',
        '345.0|-165.0|-32.0',
        '[345.0,\n-165.0,\n-32.0]',
        'at 345m east',
    ],
)
def test_coordinates_are_found_however_they_are_written(text: str) -> None:
    stripped = strip_coordinates(text)
    assert REMOVED in stripped
    assert not re.search(r'345|165|3\.45|1\.65|32', stripped)


@pytest.mark.parametrize(
    'text',
    [
        'a pipe 12 m ahead',
        'about 8.5 m to port',
        'turned 90 deg to the left',
        'bearing 120°, range 25 m',
        '3 valves on the pipe',
        'sure to 80 %',
        'no target in view; go left along the slope',
        'waited 120 s',
    ],
)
def test_ranges_angles_and_counts_stay(text: str) -> None:
    assert strip_coordinates(text) == text


@settings(max_examples=300, deadline=None)
@given(
    x=st.integers(-2000, 2000).filter(lambda v: abs(v) > 60),
    y=st.floats(-2000, 2000).filter(lambda v: abs(v) > 60).map(lambda v: round(v, 1)),
    frame=st.sampled_from(
        [
            '[{x}, {y}]',
            'x={x} y={y}',
            '({x};{y})',
            'at {x} / {y}',
            '{x} {y}',
            'X {x}, Y {y} m',
            '{x}m,{y}m',
        ]
    ),
    before=st.sampled_from(['', 'wreck at ', 'pos:', 'go to ']),
)
def test_no_place_far_from_the_origin_survives(x: int, y: float, frame: str, before: str) -> None:
    stripped = strip_coordinates(before + frame.format(x=x, y=y))
    digits = [float(n) for n in re.findall(r'\d+(?:\.\d+)?', stripped)]
    assert abs(x) not in digits and abs(y) not in digits


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    'given', ['', 'nowhere', '/nonexistent/run', 'a\x00b', 'x' * 5000, '~nobody/x']
)
def test_paths_that_are_none(tmp_path: Path, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OceanGymError, match='memory_from'):
        load_experience([given])


def test_other_files_and_folders_are_refused_with_a_hint(run: Path, tmp_path: Path) -> None:
    with pytest.raises(OceanGymError, match='no memory file'):
        load_experience([run / 'run.yaml'])
    with pytest.raises(OceanGymError, match='name one of the runs in it'):
        load_experience([tmp_path])
    with pytest.raises(OceanGymError, match="Did you mean 'coordinates'"):
        load_experience([run], strip='coordinate')


def test_a_directory_called_like_a_memory_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / 'memory_x.json').mkdir()
    with pytest.raises(OceanGymError):
        load_experience([tmp_path])


@pytest.mark.parametrize(
    'broken', ['', 'null', '{}', '[3]', '[{"location": [1]}]', '[{"action": 3}]', '[' * 5000]
)
def test_broken_memory_files_are_named(tmp_path: Path, broken: str) -> None:
    path = tmp_path / 'memory_2025-01-01_00-00-00.json'
    path.write_text(broken)
    with pytest.raises(OceanGymError, match=re.escape(path.name)):
        load_experience([path])


def test_a_broken_run_file_is_named(run: Path) -> None:
    (run / 'run.yaml').write_text('shift: {x: far}\n')
    with pytest.raises(OceanGymError, match=r'run\.yaml'):
        load_experience([run])


def loads_or_refuses(path: Path) -> None:
    with contextlib.suppress(OceanGymError):
        loaded = load_experience([path], strip='coordinates', shift=SHIFT)
        assert isinstance(loaded, Experience)
        Memory(experience=loaded).render(500)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
FUZZ = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FUZZ
@given(
    content=st.lists(
        st.dictionaries(st.sampled_from([*ENTRY, 'x']), VALUES, max_size=4), max_size=3
    )
    | VALUES
)
def test_any_json_is_read_or_refused(tmp_path: Path, content: object) -> None:
    path = tmp_path / 'memory_2025-01-01_00-00-00.json'
    path.write_text(json.dumps(content))
    loads_or_refuses(path)


@FUZZ
@given(data=st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / 'important_memory_x.json'
    path.write_bytes(data)
    loads_or_refuses(path)


@FUZZ
@given(
    at=st.integers(0, 4000),
    remove=st.integers(0, 60),
    insert=st.text(max_size=20),
    file=st.integers(0, 2),
)
def test_mutated_runs_are_read_or_refused(
    tmp_path: Path, at: int, remove: int, insert: str, file: int
) -> None:
    directory = tmp_path / 'run'
    if not directory.exists():
        write_run(directory, SHIFT)
    paths = sorted(p for p in directory.iterdir() if p.suffix in ('.json', '.yaml'))
    path = paths[file % len(paths)]
    original = path.read_text(encoding='utf-8')
    at = min(at, len(original))
    path.write_text(
        original[:at] + insert + original[at + remove :], encoding='utf-8', errors='surrogatepass'
    )
    try:
        loads_or_refuses(directory)
    finally:
        path.write_text(original, encoding='utf-8')
