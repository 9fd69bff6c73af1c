"""A small world on disk and private ROS domains for the tests with nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from oceangym.domain import DomainLease

ANCHORS = {
    'oil_pipeline_1': (160.0, -114.0, -68.0),
    'oil_pipeline_2': (190.0, -134.0, -68.0),
    'oil_pipeline_3': (144.0, -160.0, -68.0),
}
LABEL = 'OIL PIPELINE'
SEABED_Z = -70.0

_NAMESPACE = 'xmlns:oceangym="urn:oceangym:sdf:1"'
_SEABED = f"""<sdf version="1.11" {_NAMESPACE}><model name="seabed"><static>true</static>
<oceangym:heightfield><uri>model://seabed/heightfield.npy</uri><origin>-300 -500</origin>
<spacing>50.0</spacing></oceangym:heightfield>
<link name="link"><visual name="v"><pose>175 -75 -0.5 0 0 0</pose>
<geometry><box><size>1100 900 1</size></box></geometry>
<material><diffuse>0.7 0.6 0.5 1</diffuse></material>
<oceangym:acoustic material="sand" strength_db="-22"/></visual></link></model></sdf>"""
_PIPE = f"""<sdf version="1.11" {_NAMESPACE}><model name="pipe"><static>true</static>
<oceangym:prop class="pipeline" label="{LABEL}" structure="true" material="steel"
 colour="orange" size="6 x 2 x 2 m"/>
<link name="link"><visual name="v"><geometry><box><size>6 2 2</size></box></geometry>
<material><diffuse>0.9 0.4 0.1 1</diffuse></material>
<oceangym:acoustic material="steel" strength_db="-8"/></visual>
<collision name="c"><geometry><box><size>6 2 2</size></box></geometry></collision>
</link></model></sdf>"""


def write_small_world(root: Path) -> Path:
    """Write a flat seabed with three boxes near point1 as the pipe's points; return the SDF file."""
    models = root / 'models'
    for name, text in (('seabed', _SEABED), ('pipe', _PIPE)):
        (models / name).mkdir(parents=True)
        (models / name / 'model.sdf').write_text(text)
    np.save(models / 'seabed' / 'heightfield.npy', np.zeros((20, 24), np.float32))
    parts = [
        f'<include><uri>model://seabed</uri><name>seabed</name><pose>0 0 {SEABED_Z} 0 0 0</pose></include>'
    ]
    for name, (x, y, z) in ANCHORS.items():
        parts.append(
            f'<oceangym:anchor name="{name}" label="{LABEL}" instances="{name}">'
            f'<point>{x} {y} {z}</point></oceangym:anchor>'
            f'<include><uri>model://pipe</uri><name>{name}</name><pose>{x} {y} {z} 0 0 0</pose></include>'
        )
    path = root / 'small.sdf'
    path.write_text(
        f'<sdf version="1.11" {_NAMESPACE}><world name="small">'
        '<oceangym:bounds><min>-200 -400 -100</min><max>650 250 5</max></oceangym:bounds>'
        f'{"".join(parts)}</world></sdf>'
    )
    return path


@pytest.fixture(scope='session')
def small_world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_world(tmp_path_factory.mktemp('small_world'))


@pytest.fixture
def anchors() -> dict[str, tuple[float, float, float]]:
    """The targets of the small world."""
    return ANCHORS


@pytest.fixture
def domain_id(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A ROS domain that no other test uses."""
    monkeypatch.delenv('ROS_DOMAIN_ID', raising=False)
    with DomainLease() as domain:
        monkeypatch.setenv('ROS_DOMAIN_ID', str(domain))
        yield domain
