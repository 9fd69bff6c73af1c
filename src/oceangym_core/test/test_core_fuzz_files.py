"""Files that are mutated, cut, huge, nested or not text are refused with a message, never a traceback."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import json
from pathlib import Path
import random

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import pytest
import yaml

from oceangym_core import files as text_files
from oceangym_core.assets import config_path
from oceangym_core.config.tasks import load_task
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.contract.decisions import FindReport
from oceangym_core.contract.observation import Sighting
from oceangym_core.errors import OceanGymError
from oceangym_core.record.memory_files import read_memory
from oceangym_core.record.reader import load_episode
from oceangym_core.scoring import main, rescore
from oceangym_core.testing.records import Leg, run_info, targets_at, write_episode

HOSTILE: dict[str, bytes] = {
    'empty': b'',
    'blank': b'\n\n',
    'nul': b'\x00' * 64,
    'not utf-8': b'\xff\xfe\x80id: x',
    'utf-16': 'id: x\n'.encode('utf-16'),
    'brackets': b'[' * 200_000,
    'braces': b'{"a":' * 100_000,
    'dashes': b'- ' * 100_000,
    'questions': b'? ' * 50_000,
    'number': b'9' * 100_000,
    'json number': b'[{"location": [' + b'9' * 5000 + b', 0, 0]}]',
    'exponent': b'[{"location": [1e99999, 0, 0]}]',
    'scalar': b'42',
    'text': b'once upon a time',
    'null': b'null',
    'list of lists': b'[[[[1]]]]',
    'alias to itself': b'id: &a [*a]\n',
    'laughs': b'a: &a [x,x,x,x,x,x,x,x,x]\n'
    + b''.join(
        f'{chr(98 + i)}: &{chr(98 + i)} [{",".join(["*" + chr(97 + i)] * 9)}]\n'.encode()
        for i in range(9)
    ),
    'python tag': b'!!python/object/apply:os.system ["true"]\n',
    'bad tags': b'!!int ""\n',
    'bad float': b'id: !!float "x"\n',
    'bad date': b'id: 2001-99-99\n',
    'bad binary': b'id: !!binary "%%%"\n',
    'tab': b'id:\t- x\n\t- y\n',
    'unhashable key': b'? [a]\n: b\n? {c: d}\n: e\n',
    'surrogate': b'["\\ud800"]',
    'control': b'id: "\x07"\n',
    'two documents': b'id: a\n---\nid: b\n',
    'merge': b'<<: 3\n',
}


def refused(read: Callable[[Path], object], path: Path) -> str:
    with pytest.raises(OceanGymError) as caught:
        read(path)
    message = str(caught.value)
    assert 0 < len(message) < 4000
    return message


def fine_or_refused(read: Callable[[Path], object], path: Path) -> None:
    with contextlib.suppress(OceanGymError):
        read(path)


def read_profile(path: Path) -> object:
    return load_profile(str(path))


def read_water(path: Path) -> object:
    return load_water(str(path))


@pytest.mark.parametrize('name', HOSTILE)
@pytest.mark.parametrize('read', [load_task, read_water, read_profile])
def test_hostile_yaml_is_refused(
    tmp_path: Path, name: str, read: Callable[[Path], object]
) -> None:
    path = tmp_path / 'file.yaml'
    path.write_bytes(HOSTILE[name])
    assert str(path) in refused(read, path)


@pytest.mark.parametrize('name', HOSTILE)
def test_hostile_memory_files_are_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / 'memory_2025-01-01_00-00-00.json'
    path.write_bytes(HOSTILE[name])
    refused(read_memory, path)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    seen = (Sighting(anchor='a', sensor='camera/front', pixels=100),)
    legs = [
        Leg(
            position=(50.0 + 10 * i, 0.0, -50.0),
            sightings=seen,
            reports=(FindReport(label='PIPE'),),
        )
        for i in range(4)
    ]
    write_episode(legs, run_info(targets_at([(100.0, 0.0, -50.0)])), directory=tmp_path)
    return tmp_path


@pytest.mark.parametrize('name', HOSTILE)
@pytest.mark.parametrize('file', ['run.yaml', 'episode.jsonl'])
def test_hostile_record_files_are_refused(run: Path, name: str, file: str) -> None:
    content = HOSTILE[name]
    # A closed line: an open one at the end counts as cut off, which is no error by itself.
    (run / file).write_bytes(content + b'\n')
    refused(load_episode, run)
    assert main([str(run)]) == 1


@pytest.mark.parametrize('file', ['run.yaml', 'episode.jsonl'])
def test_a_missing_record_file_is_named(run: Path, file: str) -> None:
    (run / file).unlink()
    assert file in refused(rescore, run)  # type: ignore[arg-type]


def test_a_directory_in_place_of_a_file_is_refused(run: Path) -> None:
    (run / 'episode.jsonl').unlink()
    (run / 'episode.jsonl').mkdir()
    refused(load_episode, run)


def test_huge_files_are_refused_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / 'task.yaml'
    path.write_bytes(b'# ' + b'x' * (2 * text_files.MAX_YAML_BYTES))
    assert 'larger than' in refused(load_task, path)
    monkeypatch.setattr('oceangym_core.files.MAX_JSON_BYTES', 100)
    memory = tmp_path / 'memory_2025-01-01_00-00-00.json'
    memory.write_text('[' + '{},' * 100 + '{}]')
    assert 'larger than' in refused(read_memory, memory)


@pytest.mark.parametrize(
    'change',
    [
        {'index': -1},
        {'index': 1.5},
        {'index': 10**30},
        {'kind': 'jump'},
        {'t': None},
        {'estimate': {'position': [0, 0], 'quaternion': [0, 0, 0, 1]}},
        {'estimate': {'position': [0, 0, 0], 'quaternion': [0, 0, 0, 0]}},
        {'truth': {'pose': {'position': [0, 0, 1e300], 'quaternion': [0, 0, 0, 1]}}},
        {'truth': {'pose': 3}},
        {'sightings': [{'anchor': 'a'}]},
        {'reports': [{'label': 'x'}]},
        {'decision': {'action': 'fly'}},
        {'contacts': 'none'},
    ],
)
def test_a_wrong_value_in_a_line_is_named(run: Path, change: dict) -> None:
    path = run / 'episode.jsonl'
    lines = path.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), **change})
    path.write_text('\n'.join(lines) + '\n')
    place, _, problem = refused(load_episode, run).partition(', line 2: ')
    assert place == str(path)
    assert next(iter(change)) in problem


def test_a_wrong_value_in_run_yaml_is_named(run: Path) -> None:
    path = run / 'run.yaml'
    content = yaml.safe_load(path.read_text())
    content['targets'][0]['footprint'][0]['size'][2] = 'tall'
    path.write_text(yaml.safe_dump(content))
    message = refused(load_episode, run)
    assert f"{path}: targets.0.footprint.0.size.2 is 'tall'" in message


def mutated(data: bytes, seed: int) -> bytes:
    """Return data with a few bytes or blocks changed, cut, doubled or moved."""
    rng = random.Random(seed)
    out = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        if not out:
            break
        at = rng.randrange(len(out))
        size = rng.randint(1, 40)
        kind = rng.randrange(6)
        if kind == 0:
            out[at] = rng.randrange(256)
        elif kind == 1:
            del out[at : at + size]
        elif kind == 2:
            out[at:at] = out[at : at + size]
        elif kind == 3:
            del out[at:]
        elif kind == 4:
            out[at:at] = rng.choice([b'null', b'-1e308', b'{}', b'[]', b'"', b': ', b'\n', b'NaN'])
        else:
            out[at : at + size] = bytes(rng.randrange(256) for _ in range(size))
    return bytes(out)


@pytest.mark.parametrize('seed', range(24))
def test_mutated_tasks_and_waters(tmp_path: Path, seed: int) -> None:
    for source, read in (
        (config_path('tasks', 'inspect_pipe.yaml'), load_task),
        (config_path('waters', 'deep.yaml'), read_water),
    ):
        path = tmp_path / 'file.yaml'
        path.write_bytes(mutated(source.read_bytes(), seed))
        fine_or_refused(read, path)  # type: ignore[arg-type]


@pytest.mark.parametrize('seed', range(24))
def test_mutated_records(run: Path, seed: int) -> None:
    for path in sorted(run.iterdir()):
        original = path.read_bytes()
        path.write_bytes(mutated(original, seed))
        fine_or_refused(lambda where: rescore(where), run)
        path.write_bytes(original)


@pytest.mark.parametrize('share', [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_records_cut_anywhere(run: Path, share: float) -> None:
    for path in sorted(run.iterdir()):
        original = path.read_bytes()
        path.write_bytes(original[: int(share * len(original))])
        fine_or_refused(lambda where: rescore(where), run)
        path.write_bytes(original)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
KEYS = yaml.safe_load(config_path('tasks', 'inspect_pipe.yaml').read_text())


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    changes=st.dictionaries(st.sampled_from([*KEYS, 'weights', 'bounds', 'x']), VALUES, max_size=3)
)
def test_any_values_in_a_task_file(tmp_path: Path, changes: dict) -> None:
    path = tmp_path / 'task.yaml'
    path.write_text(yaml.safe_dump({**KEYS, **changes}, allow_unicode=True), encoding='utf-8')
    fine_or_refused(load_task, path)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    content=st.lists(
        st.dictionaries(
            st.sampled_from(['timestamp', 'target_info', 'action', 'location']),
            VALUES.filter(lambda v: 'date' not in str(type(v))),
            max_size=4,
        ),
        max_size=3,
    )
)
def test_any_values_in_a_memory_file(tmp_path: Path, content: list) -> None:
    path = tmp_path / 'memory_2025-01-01_00-00-00.json'
    path.write_text(json.dumps(content, default=str))
    fine_or_refused(read_memory, path)
