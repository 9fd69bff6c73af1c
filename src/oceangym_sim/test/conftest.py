"""Small SDF worlds on disk for the sensor tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

HEADER = '<sdf version="1.11" xmlns:oceangym="urn:oceangym:sdf:1">'


@dataclass(frozen=True)
class Thing:
    """One primitive in a test world. `pose` is the text of an SDF pose."""

    name: str
    pose: str
    shape: str
    colour: str = '0.8 0.8 0.8'
    strength_db: float = -8.0


def write_world(directory: Path, things: Sequence[Thing], anchors: str = '') -> Path:
    """Write a world of primitives and return its SDF file."""
    includes = ''
    for thing in things:
        folder = directory / 'models' / thing.name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / 'model.sdf').write_text(
            f'{HEADER}<model name="{thing.name}"><link name="l"><visual name="v">'
            f'<geometry>{thing.shape}</geometry>'
            f'<material><diffuse>{thing.colour} 1</diffuse></material>'
            f'<oceangym:acoustic material="steel" strength_db="{thing.strength_db}"/>'
            '</visual></link></model></sdf>'
        )
        includes += (
            f'<include><uri>model://{thing.name}</uri><name>{thing.name}</name>'
            f'<pose>{thing.pose}</pose></include>'
        )
    path = directory / 'tank.sdf'
    path.write_text(
        f'{HEADER}<world name="tank"><oceangym:bounds><min>-200 -200 -100</min>'
        f'<max>200 200 5</max></oceangym:bounds>{anchors}{includes}</world></sdf>'
    )
    return path


@pytest.fixture(scope='session')
def sphere() -> Callable[..., Thing]:
    def make(name: str, pose: str, radius: float, **options: object) -> Thing:
        shape = f'<sphere><radius>{radius}</radius></sphere>'
        return Thing(name, pose, shape, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope='session')
def box() -> Callable[..., Thing]:
    def make(name: str, pose: str, size: str, **options: object) -> Thing:
        return Thing(name, pose, f'<box><size>{size}</size></box>', **options)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope='session')
def build_world(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    def build(things: Sequence[Thing], anchors: str = '') -> Path:
        return write_world(tmp_path_factory.mktemp('world'), things, anchors)

    return build
