from pathlib import Path

import pytest
import yaml

from oceangym_core.assets import config_path
from oceangym_core.config.options import parse_ros_arguments
from oceangym_core.config.waters import Environment, load_water, water_names
from oceangym_core.errors import OceanGymError

NAMES = sorted(path.stem for path in config_path('environments').glob('*.yaml'))


def test_there_are_environments_beside_the_benchmark_s_waters() -> None:
    assert len(NAMES) >= 6
    assert set(water_names()) >= {'shallow', 'deep', *NAMES}


@pytest.mark.parametrize('name', NAMES)
def test_an_environment_runs_like_a_water(name: str) -> None:
    water = load_water(name)
    assert isinstance(water, Environment)
    assert parse_ros_arguments([f'water:={name}']).water == name


def test_the_benchmark_s_waters_are_no_environments() -> None:
    assert not isinstance(load_water('shallow'), Environment)


def test_one_s_own_environment(tmp_path: Path) -> None:
    content = yaml.safe_load(config_path('environments', 'estuary.yaml').read_text())
    path = tmp_path / 'mine.yaml'
    path.write_text(yaml.safe_dump({**content, 'id': 'mine', 'current': {'speed': 1.0}}))
    mine = load_water(str(path))
    assert isinstance(mine, Environment)
    assert mine.current is not None
    assert mine.current.speed == 1.0
    path.write_text(yaml.safe_dump({**content, 'id': 'mine', 'wind': -1}))
    with pytest.raises(OceanGymError, match='wind'):
        load_water(str(path))
    path.write_text(yaml.safe_dump({**content, 'id': 'mine', 'current': {'speed': 9.0}}))
    with pytest.raises(OceanGymError, match='speed'):
        load_water(str(path))


def test_an_environment_may_not_take_a_water_s_name(tmp_path: Path) -> None:
    folder = tmp_path / 'environments'
    folder.mkdir()
    content = yaml.safe_load(config_path('environments', 'estuary.yaml').read_text())
    (folder / 'deep.yaml').write_text(yaml.safe_dump({**content, 'id': 'deep'}))
    with pytest.raises(OceanGymError, match='has the id of a water'):
        load_water('deep', [tmp_path])
