"""What a world, a profile or a bag is made of, broken in any way: read, refused, never a traceback."""

from __future__ import annotations

from collections.abc import Callable
import contextlib
import io
from pathlib import Path

from hypothesis import given, HealthCheck, settings
from hypothesis import strategies as st
import numpy as np
import pytest
import trimesh
import yaml

from oceangym_core.assets import config_path
from oceangym_core.config.waters import load_profile, load_water
from oceangym_core.errors import OceanGymError
from oceangym_core.record.bag import (
    BagWriter,
    read_messages,
    read_unclosed,
    recover_bag,
    typestore,
)
from oceangym_core.world.world import load_visual_mesh, load_world

HEADER = '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">'
BUDGET = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
EDITS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 30), st.binary(max_size=12)), min_size=1, max_size=5
)


def edited(data: bytes, edits: list[tuple[float, int, bytes]]) -> bytes:
    """Return data with bytes replaced, inserted and removed at some places."""
    out = bytearray(data)
    for place, removed, inserted in edits:
        at = int(place * len(out))
        out[at : at + removed] = inserted
    return bytes(out)


def read_or_refused(read: Callable[[], object]) -> None:
    with contextlib.suppress(OceanGymError):
        read()


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ('folder', 'name', 'load'),
    [
        ('profiles', 'hard', load_profile),
        ('waters', 'deep', load_water),
        ('environments', 'harbour', load_water),
    ],
)
@BUDGET
@given(data=st.data())
def test_any_values_in_profiles_waters_and_environments(
    tmp_path: Path, folder: str, name: str, load: Callable[[str], object], data: st.DataObject
) -> None:
    content = yaml.safe_load(config_path(folder, f'{name}.yaml').read_text())
    keys = [*content, 'current', 'speed', 'x']
    changes = data.draw(st.dictionaries(st.sampled_from(keys), VALUES, min_size=1, max_size=3))
    path = tmp_path / f'{name}.yaml'
    path.write_text(yaml.safe_dump({**content, **changes}, allow_unicode=True), encoding='utf-8')
    read_or_refused(lambda: load(str(path)))


@pytest.mark.parametrize(
    ('folder', 'name', 'load'),
    [
        ('profiles', 'hard', load_profile),
        ('environments', 'fjord_winter', load_water),
    ],
)
@BUDGET
@given(edits=EDITS)
def test_any_bytes_in_profiles_and_environments(
    tmp_path: Path,
    folder: str,
    name: str,
    load: Callable[[str], object],
    edits: list[tuple[float, int, bytes]],
) -> None:
    path = tmp_path / f'{name}.yaml'
    path.write_bytes(edited(config_path(folder, f'{name}.yaml').read_bytes(), edits))
    read_or_refused(lambda: load(str(path)))


@pytest.fixture(scope='module')
def tank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world of one height grid and one mesh."""
    root = tmp_path_factory.mktemp('tank')
    floor, rock = root / 'models' / 'floor', root / 'models' / 'rock'
    floor.mkdir(parents=True)
    rock.mkdir()
    (floor / 'model.sdf').write_text(
        f'{HEADER}<model name="floor"><oceangym:heightfield><uri>model://floor/h.npy</uri>'
        '<origin>0 0</origin><spacing>2</spacing></oceangym:heightfield><link name="l"/>'
        '</model></sdf>'
    )
    (rock / 'model.sdf').write_text(
        f'{HEADER}<model name="rock"><link name="l"><visual name="v"><geometry><mesh>'
        '<uri>model://rock/rock.glb</uri></mesh></geometry></visual></link></model></sdf>'
    )
    np.save(floor / 'h.npy', np.full((6, 6), -50.0, np.float32))
    (rock / 'rock.glb').write_bytes(
        trimesh.creation.icosphere(subdivisions=1).export(file_type='glb')
    )
    world = root / 'tank.sdf'
    world.write_text(
        f'{HEADER}<world name="tank"><oceangym:bounds><min>0 0 -60</min><max>9 9 5</max>'
        '</oceangym:bounds><include><uri>model://floor</uri></include>'
        '<include><uri>model://rock</uri></include></world></sdf>'
    )
    return world


def load_all(world: Path) -> None:
    for instance in load_world(world).instances:
        for visual in instance.model.visuals:
            load_visual_mesh(visual)


@BUDGET
@given(edits=EDITS)
def test_any_bytes_in_a_mesh(tank: Path, edits: list[tuple[float, int, bytes]]) -> None:
    path = tank.parent / 'models' / 'rock' / 'rock.glb'
    whole = path.read_bytes()
    try:
        path.write_bytes(edited(whole, edits))
        read_or_refused(lambda: load_all(tank))
    finally:
        path.write_bytes(whole)


def grid(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


@pytest.mark.parametrize(
    ('content', 'word'),
    [
        ('<material><diffuse>2 0 0 1</diffuse></material>', 'diffuse'),
        ('<material><diffuse>-0.1 0 0 1</diffuse></material>', 'diffuse'),
        ('<material><pbr><metal><metalness>1e9</metalness></metal></pbr></material>', 'metalness'),
        ('<material><pbr><metal><roughness>-1</roughness></metal></pbr></material>', 'roughness'),
        ('<oceangym:acoustic material="x" strength_db="4000"/>', 'strength_db'),
        ('<oceangym:acoustic material="x" strength_db="nan"/>', 'strength_db'),
    ],
)
def test_surfaces_that_cannot_be_are_refused(tank: Path, content: str, word: str) -> None:
    """Reflecting more than comes in, or echoes beyond any number, would ruin a picture in silence."""
    path = tank.parent / 'models' / 'rock' / 'model.sdf'
    whole = path.read_text()
    try:
        path.write_text(whole.replace('</visual>', f'{content}</visual>'))
        with pytest.raises(OceanGymError, match=rf'rock/model\.sdf.*{word}'):
            load_world(tank)
        path.write_text(whole.replace('</mesh>', '<scale>1 0 1</scale></mesh>'))
        with pytest.raises(OceanGymError, match='flattens'):
            load_world(tank)
    finally:
        path.write_text(whole)


@BUDGET
@given(edits=EDITS)
def test_any_bytes_in_a_height_grid(tank: Path, edits: list[tuple[float, int, bytes]]) -> None:
    path = tank.parent / 'models' / 'floor' / 'h.npy'
    whole = path.read_bytes()
    try:
        path.write_bytes(edited(whole, edits))
        read_or_refused(lambda: load_world(tank))
    finally:
        path.write_bytes(whole)


@pytest.mark.parametrize(
    'content',
    [
        grid(np.array([['a', 'b'], ['c', 'd']])),
        grid(np.full((6, 6), 1j)),
        grid(np.full((6, 6), None)),
        grid(np.zeros((6, 6), bool)),
        grid(np.zeros((3, 3), [('z', 'f4')])),
        grid(np.zeros((0, 6))),
        grid(np.array(1.0)),
        grid(np.zeros((3, 3))).replace(b'(3, 3)', b'(3, 9999999999999)'),
        grid(np.zeros((3, 3))).replace(b'(3, 3)', b'(-3, -3)'),
    ],
    ids=[
        'text',
        'complex',
        'objects',
        'truth',
        'fields',
        'empty',
        'number',
        'endless',
        'negative',
    ],
)
def test_arrays_that_are_no_height_grid_are_refused(tank: Path, content: bytes) -> None:
    path = tank.parent / 'models' / 'floor' / 'h.npy'
    whole = path.read_bytes()
    try:
        path.write_bytes(content)
        with pytest.raises(OceanGymError, match=r'h\.npy'):
            load_world(tank)
    finally:
        path.write_bytes(whole)


@pytest.fixture(scope='module')
def bag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp('bags') / 'bag'
    writer = BagWriter(directory, custom={'run_id': 'x'})
    store = typestore()
    writer.add_topic('/auv/text', 'std_msgs/msg/String', latched=True)
    for i in range(40):
        message = store.types['std_msgs/msg/String'](data=f'{i} ' * i)
        writer.write('/auv/text', i, bytes(store.serialize_cdr(message, 'std_msgs/msg/String')))
        if i % 10 == 9:
            writer.flush()
    writer.close()
    return directory


@pytest.mark.parametrize('file', ['bag.mcap', 'metadata.yaml'])
@BUDGET
@given(edits=EDITS, cut=st.floats(0, 1))
def test_any_bytes_in_a_bag(
    bag: Path, tmp_path: Path, file: str, edits: list[tuple[float, int, bytes]], cut: float
) -> None:
    broken = tmp_path / 'bag'
    broken.mkdir(exist_ok=True)
    for path in [*broken.parent.glob('bag.*'), *broken.iterdir()]:
        path.unlink() if path.is_file() else None
    for source in bag.iterdir():
        content = source.read_bytes()
        if source.name == file:
            content = edited(content, edits)
            content = content[: int(cut * len(content))] if cut < 0.5 else content
        (broken / source.name).write_bytes(content)
    read_or_refused(lambda: list(read_unclosed(broken, ['/auv/text'])))
    read_or_refused(lambda: list(read_messages(broken)))
    read_or_refused(lambda: recover_bag(broken))
    read_or_refused(lambda: list(read_messages(broken)))
