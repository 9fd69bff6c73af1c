"""What a person is told whose prop, water, task or world file has a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
import random

import pytest
import trimesh

from oceangym import run_command
from oceangym.cli import main
from oceangym_core.errors import OceanGymError
from oceangym_worlds.plan.config import load_world_config
from oceangym_worlds.plan.layout import plan_layout

WORLD = """
name: pool
bounds: {min: [-60, -60, -60], max: [60, 60, 5]}
terrain:
  spacing_m: 4.0
  margin_m: 20
  control_points: [[-80, -80, -40], [80, -80, -44], [80, 80, -40], [-80, 80, -42]]
anchors:
  - {name: bollard_1, label: BOLLARD, point: [20, 20, -41], instances: [bollard_1]}
props:
  - {name: bollard_1, mesh: bollard.obj, anchor: bollard_1, label: BOLLARD, colour: orange}
"""
WATER = """
id: murk
title: Murky
briefing: Dark.
depth_offset: 60
jerlov: IB
light_lux: 10
lamps: false
"""
TASK = """
id: find_bollard
title: Find the bollard
category: detection
size_class: small
label: BOLLARD
target_name: orange post
target_description: An orange post.
instruction: Find it.
targets: [bollard_1]
world: pool.yaml
"""


@pytest.fixture(autouse=True)
def nothing_starts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep worlds apart from the user's, and start no process."""

    def supervise(*arguments: object) -> run_command.Outcome:
        return run_command.Outcome(code=0, message='')

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('XDG_CACHE_HOME', str(tmp_path_factory.getbasetemp() / 'worlds'))
        patch.setattr(run_command, '_supervise', supervise)
        yield


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    for name, text in (('pool', WORLD), ('murk', WATER), ('find', TASK)):
        (tmp_path / f'{name}.yaml').write_text(text, encoding='utf-8')
    trimesh.creation.cylinder(radius=0.4, height=3.0).export(tmp_path / 'bollard.obj')
    return tmp_path


def run(mine: Path, *more: str) -> int:
    return main(
        [
            'run',
            f'task:={mine}/find.yaml',
            f'water:={mine}/murk.yaml',
            f'results_dir:={mine}/runs',
            'start:=0,0,-20,0',
            *more,
        ]
    )


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one line that was said, less the progress of generating."""
    lines = capsys.readouterr().err.splitlines()
    kept = [line for line in lines if not line.startswith('generating world')]
    assert len(kept) == 1, kept
    assert kept[0].startswith('error: ')
    return kept[0]


def test_files_without_a_mistake_are_accepted(
    mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(mine) == 0
    first = capsys.readouterr().err
    assert first.count('generating world pool') == 1
    assert run(mine) == 0
    assert 'generating' not in capsys.readouterr().err


@pytest.mark.parametrize(
    ('file', 'old', 'new', 'words'),
    [
        ('find', 'label:', 'lable:', ['find.yaml', "'lable'", "Did you mean 'label'"]),
        ('find', 'targets: [bollard_1]', 'targets: [bolard_1]', ['targets', "'bollard_1'"]),
        ('find', 'label: BOLLARD', 'label: ANCHOR', ['find.yaml', 'label', 'BOLLARD']),
        ('find', 'world: pool.yaml', 'world: pol.yaml', ['find.yaml', "Did you mean 'pool.yaml'"]),
        ('find', 'world: pool.yaml', 'world: osean', ['find.yaml', "Did you mean 'ocean'"]),
        ('find', 'category: detection', 'category: detect', ['category', 'detection']),
        ('find', 'targets: [bollard_1]', 'targets: [bollard_1]\nt_max: -5', ['t_max', '-5']),
        ('murk', 'light_lux: 10', 'light_lux: -3', ['murk.yaml', 'light_lux', '-3']),
        ('murk', 'light_lux: 10', 'light_lux: bright', ['light_lux', 'bright']),
        ('murk', 'light_lux:', 'ligth_lux:', ["'ligth_lux'", "Did you mean 'light_lux'"]),
        ('murk', 'depth_offset: 60', 'depth_offset: .inf', ['depth_offset']),
        ('murk', 'jerlov: IB', 'jerlov: IX', ['murk.yaml', 'jerlov', 'IX']),
        (
            'pool',
            'mesh: bollard.obj',
            'mesh: bolard.obj',
            ['pool.yaml', "Did you mean 'bollard.obj"],
        ),
        ('pool', 'mesh:', 'msh:', ['pool.yaml', 'props.bollard_1.msh', "Did you mean 'mesh'"]),
        ('pool', 'mesh: bollard.obj', 'mesh: pool.yaml', ['pool.yaml', 'bollard_1', '.glb']),
        ('pool', 'point: [20, 20, -41]', 'point: [90, 20, -41]', ['bollard_1', 'bounds', '90']),
        ('pool', 'anchor: bollard_1, label: BOLLARD', 'anchor: bollard_1, label: POST', ['POST']),
        ('pool', 'anchor: bollard_1,', 'anchor: bolard_1,', ["Did you mean 'bollard_1'"]),
        ('pool', 'colour: orange', 'colour: ornge', ['pool.yaml', 'colour', 'ornge']),
        ('pool', 'colour: orange', 'scale: -1', ['props.bollard_1.scale', '-1']),
        ('pool', 'colour: orange', 'material: stel', ["Did you mean 'steel'"]),
    ],
)
def test_a_mistake_is_one_line_that_names_file_and_key(
    file: str,
    old: str,
    new: str,
    words: list[str],
    mine: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = mine / f'{file}.yaml'
    text = path.read_text(encoding='utf-8')
    assert text.count(old) >= 1
    path.write_text(text.replace(old, new, 1), encoding='utf-8')
    assert run(mine) == 1
    said = complaint(capsys)
    for word in words:
        assert word in said
    assert not (mine / 'runs').exists()


@pytest.mark.parametrize('content', [b'', b'not a mesh', b'\x00\xff' * 500, b'v 1 2 3\nf 1 1 9\n'])
@pytest.mark.parametrize('name', ['bollard.obj', 'bollard.glb', 'bollard.stl', 'bollard.ply'])
def test_a_file_that_is_no_mesh_is_refused(
    name: str, content: bytes, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (mine / name).write_bytes(content)
    (mine / 'pool.yaml').write_text(WORLD.replace('bollard.obj', name), encoding='utf-8')
    assert run(mine) == 1
    said = complaint(capsys)
    assert 'pool.yaml' in said
    assert name in said
    assert "'bollard_1'" in said


@pytest.mark.parametrize('place', ['start:=20,20,-40.9,0', 'start:=500,0,-20,0'])
def test_a_start_that_is_not_free_is_refused_before_anything_runs(
    place: str, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(['run', f'task:={mine}/find.yaml', f'results_dir:={mine}/runs', place]) == 1
    assert 'start' in complaint(capsys)


def hostile() -> list[tuple[str, bytes]]:
    """Return named contents that no reader may fall over."""
    bomb = b'a: &a [x, x, x, x, x, x, x, x, x]\n'
    for before, name in zip(b'abcdefgh', b'bcdefghi', strict=True):
        star = b'*' + bytes([before])
        bomb += bytes([name]) + b': &' + bytes([name]) + b' [' + b', '.join([star] * 9) + b']\n'
    return [
        ('empty', b''),
        ('nothing', b'\n---\n'),
        ('two documents', b'a: 1\n---\nb: 2\n'),
        ('not utf-8', b'name: \xff\xfe\n'),
        ('utf-16', WORLD.encode('utf-16')),
        ('null bytes', b'name: a\x00b\n'),
        ('huge', b'# ' + b'x' * 3_000_000),
        ('deep', b'[' * 50_000),
        ('aliases', bomb),
        ('endless', b'a: &a [*a]\n'),
        ('merge bomb', b'a: &a {b: &b {<<: *a}}\n'),
        ('python tag', b'!!python/object/apply:os.system ["true"]\n'),
        ('long integer', b'name: ' + b'9' * 30_000 + b'\n'),
        ('list', b'[1, 2, 3]\n'),
        ('numeric keys', b'1: 2\n'),
        ('key twice', WORLD.encode() + b'name: pond\n'),
        ('no such parent', b'extends: pond\n'),
        ('own parent', b'extends: pool.yaml\n'),
        ('parent is a list', b'extends: [ocean]\n'),
        ('path as parent', b'extends: ../../../../etc/passwd\n'),
        (
            'props are text',
            WORLD.encode().replace(b'props:\n  - {', b'props: "{').strip() + b'"\n',
        ),
    ]


@pytest.mark.parametrize(('name', 'content'), hostile(), ids=[name for name, _ in hostile()])
def test_a_hostile_world_file_is_refused_in_one_line(
    name: str, content: bytes, mine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (mine / 'pool.yaml').write_bytes(content)
    assert run(mine) == 1
    said = complaint(capsys)
    assert 'pool.yaml' in said
    assert len(said) < 1500


def test_mutated_and_truncated_worlds_are_laid_out_or_refused(mine: Path) -> None:
    path = mine / 'pool.yaml'
    whole = WORLD.encode()
    random_ = random.Random(12)
    refused = 0
    for turn in range(400):
        content = bytearray(whole)
        if turn % 4 == 0:
            content = content[: random_.randrange(len(content))]
        for _ in range(random_.choice((1, 1, 2, 5))):
            place = random_.randrange(max(len(content), 1))
            change = random_.choice(
                (b'', b'-', b'9', b': ', b'[', b'\xc3', b'\t', b'nan', b'{', b'*x')
            )
            content[place : place + random_.randrange(3)] = change
        path.write_bytes(bytes(content))
        try:
            plan_layout(load_world_config(path), turn % 2)
        except OceanGymError as error:
            refused += 1
            assert str(path) in str(error) or 'world' in str(error)
            assert '\n' not in str(error)
    assert 100 < refused < 400
