from pathlib import Path

import numpy as np
import pytest

from oceangym_core.errors import OceanGymError
from oceangym_core.world.distance import build_distance_field
from oceangym_core.world.footprints import footprint_boxes
from oceangym_core.world.world import load_world

WORLD = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><world name="tank">
<oceangym:bounds><min>-50 -50 -20</min><max>50 50 5</max></oceangym:bounds>
<oceangym:anchor name="pipe_1" label="OIL PIPELINE" instances="pipe" radius="10"><point>0 0 -10</point></oceangym:anchor>
<include><uri>model://floor</uri><name>floor</name></include>
<include><uri>model://pipe</uri><name>pipe</name><pose>0 0 -10 0 1.5707963267948966 0</pose></include>
<include><uri>model://crate</uri><name>crate</name><pose>20 0 -10 0 0 0.7853981633974483</pose></include>
</world></sdf>"""
MODEL = """<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1"><model name="{name}">{extra}
<link name="l"><visual name="v"><geometry>{shape}</geometry></visual>
<collision name="c"><geometry>{shape}</geometry></collision></link></model></sdf>"""


def write(directory: Path, name: str, shape: str, extra: str = '') -> None:
    folder = directory / 'models' / name
    folder.mkdir(parents=True)
    (folder / 'model.sdf').write_text(MODEL.format(name=name, shape=shape, extra=extra))


@pytest.fixture
def tank(tmp_path: Path) -> Path:
    x = np.arange(51) * 2.0 - 50.0
    slope = np.tile(-15.0 + 0.1 * x, (51, 1)).astype(np.float32)
    write(
        tmp_path,
        'floor',
        '<box><size>1 1 1</size></box>',
        '<oceangym:heightfield><uri>model://floor/h.npy</uri><origin>-50 -50</origin>'
        '<spacing>2</spacing></oceangym:heightfield>',
    )
    np.save(tmp_path / 'models' / 'floor' / 'h.npy', slope)
    write(tmp_path, 'pipe', '<capsule><radius>0.5</radius><length>40</length></capsule>')
    write(tmp_path, 'crate', '<box><size>4 2 2</size></box>')
    (tmp_path / 'tank.sdf').write_text(WORLD)
    return tmp_path / 'tank.sdf'


def test_distance_to_rotated_box_capsule_and_sloping_seabed(tank: Path) -> None:
    field = build_distance_field(load_world(tank))
    # The pipe lies along x at z = -10 with radius 0.5: 3 m above its axis is 2.5 m off.
    d, gradient, index = field.query(np.array([5.0, 0.0, -7.0]))
    assert d == pytest.approx(2.5)
    assert gradient == pytest.approx([0, 0, 1], abs=1e-9)
    assert field.name(index) == 'pipe'
    # The crate is turned by 45 deg: its +x face lies 2 m from its centre along (1, 1)/sqrt 2.
    away = np.array([1.0, 1.0, 0.0]) / np.sqrt(2)
    d, gradient, index = field.query(np.array([20.0, 0.0, -10.0]) + away * 4.0)
    assert (d, field.name(index)) == (pytest.approx(2.0), 'crate')
    assert gradient == pytest.approx(away)
    # Seabed z = -15 + x / 10: the distance to the plane is the height times cos(atan 0.1).
    d, gradient, index = field.query(np.array([-40.0, 30.0, -16.0]))
    assert field.name(index) == 'seabed'
    assert d == pytest.approx(3.0 / np.hypot(1, 0.1))
    assert gradient == pytest.approx(np.array([-0.1, 0, 1]) / np.hypot(1, 0.1), abs=1e-6)


def test_footprint_is_the_pipe_within_the_radius(tank: Path) -> None:
    world = load_world(tank)
    ((pose, size),) = footprint_boxes(world, world.anchor('pipe_1'))
    assert size == pytest.approx((1.0, 1.0, 20.0))
    assert pose.position == pytest.approx((0, 0, -10))


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('<max>50 50 5</max>', '<max>50 50 -30</max>', 'must be below'),
        ('instances="pipe"', 'instances="pipes"', "no such instances \\['pipes'\\]"),
        ('model://crate', 'model://../crate', 'inside its model directory'),
        ('model://crate', 'model://crates', 'not found'),
        ('<name>crate', '<name>pipe', 'used twice'),
        ('20 0 -10 0 0', '20 0 nan 0 0', 'finite'),
        ('<world', '<wor', 'well-formed'),
        ('<sdf', '<!DOCTYPE a><sdf', 'DOCTYPE'),
    ],
)
def test_bad_worlds_are_refused_with_the_element(
    tank: Path, old: str, new: str, message: str
) -> None:
    tank.write_text(WORLD.replace(old, new, 1))
    with pytest.raises(OceanGymError, match=message):
        load_world(tank)


def test_unsupported_geometry_names_file_and_element(tank: Path) -> None:
    model = tank.parent / 'models' / 'crate' / 'model.sdf'
    model.write_text(MODEL.format(name='crate', shape='<plane/>', extra=''))
    with pytest.raises(OceanGymError, match=r"crate/model.sdf: <geometry>: \['plane'\]"):
        load_world(tank)


@pytest.mark.parametrize('seed', range(200))
def test_mutated_worlds_never_give_a_traceback(tank: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray(WORLD.encode())
    for _ in range(rng.integers(1, 8)):
        at = int(rng.integers(len(data)))
        if rng.random() < 0.5:
            data[at] = int(rng.integers(256))
        else:
            del data[at : at + int(rng.integers(1, 40))]
    tank.write_bytes(bytes(data))
    try:
        load_world(tank)
    except OceanGymError as error:
        assert str(error)


@pytest.mark.parametrize('seed', range(100))
def test_mutated_models_never_give_a_traceback(tank: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    model = tank.parent / 'models' / 'floor' / 'model.sdf'
    data = bytearray(model.read_bytes())
    for _ in range(rng.integers(1, 6)):
        at = int(rng.integers(len(data)))
        data[at : at + int(rng.integers(0, 12))] = bytes(rng.integers(0, 256, 3, dtype=np.uint8))
    model.write_bytes(bytes(data))
    try:
        load_world(tank)
    except OceanGymError as error:
        assert str(error)


@pytest.mark.parametrize(
    'content',
    [b'', b'\x93NUMPY', b'\xff\xfe junk', b'\x80\x04\x95pickle', np.zeros(3).tobytes()],
)
def test_a_broken_height_grid_is_refused(tank: Path, content: bytes) -> None:
    (tank.parent / 'models' / 'floor' / 'h.npy').write_bytes(content)
    with pytest.raises(OceanGymError, match=r'h\.npy'):
        load_world(tank)


def test_huge_and_deeply_nested_files_are_refused(tank: Path) -> None:
    tank.write_text('<sdf>' + '<a>' * 200_000)
    with pytest.raises(OceanGymError):
        load_world(tank)
    tank.write_bytes(b'<sdf>' + b' ' * (33 * 1024 * 1024) + b'</sdf>')
    with pytest.raises(OceanGymError, match='bytes is more than'):
        load_world(tank)
