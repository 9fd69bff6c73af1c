"""A record tells which preset its model had, and two edits of one apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from oceangym_core.assets import config_path
from oceangym_core.config.options import RunOptions
from oceangym_core.errors import OceanGymError
from oceangym_core.record.model_identity import model_entry, preset_file
from oceangym_core.record.schema import ModelIdentity

SHIPPED = config_path('agents', 'gpt-4o.yaml').read_text(encoding='utf-8')


def preset(folder: Path, text: str = SHIPPED) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / 'gpt-4o.yaml').write_text(text, encoding='utf-8')
    return folder / 'gpt-4o.yaml'


def entry(model: str = 'gpt-4o', **options: str) -> ModelIdentity:
    identity = model_entry(RunOptions(agent='mllm', model=model, **options))
    assert identity is not None
    return identity


def test_an_edit_shows_in_the_digest_and_a_comment_does_not(tmp_path: Path) -> None:
    shipped = entry()
    assert (shipped.id, shipped.host) == ('gpt-4o', 'api.openai.com')
    assert len(shipped.preset_sha256) == 64
    own = preset(tmp_path, SHIPPED + '\n# copied\n')
    assert entry(str(own)) == shipped
    assert 'temperature: 0.0' in SHIPPED
    preset(tmp_path, SHIPPED.replace('temperature: 0.0', 'temperature: 0.7'))
    warm = entry(str(own))
    assert (warm.id, warm.host) == (shipped.id, shipped.host)
    assert warm.preset_sha256 != shipped.preset_sha256


def test_the_endpoint_asked_is_named_by_its_host() -> None:
    elsewhere = entry(base_url='http://127.0.0.1:8000/v1')
    assert elsewhere.host == '127.0.0.1'
    assert elsewhere.preset_sha256 == entry().preset_sha256
    assert model_entry(RunOptions(agent='scripted')).host == ''


def test_agents_without_a_model_have_none() -> None:
    assert model_entry(RunOptions(agent='survey')) is None


def test_later_configuration_directories_count_before_earlier_ones(tmp_path: Path) -> None:
    one, two = tmp_path / 'one', tmp_path / 'two'
    first, second = preset(one / 'agents'), preset(two / 'agents')
    assert preset_file('gpt-4o', [one, two]) == second
    assert preset_file('gpt-4o', [two, one]) == first
    assert preset_file('gpt-4o') == config_path('agents', 'gpt-4o.yaml')
    with pytest.raises(OceanGymError, match="Did you mean 'gpt-4o'"):
        preset_file('gpt-4oo', [one])
