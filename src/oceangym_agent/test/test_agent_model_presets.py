from __future__ import annotations

import datetime
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
import pytest
import yaml

from oceangym_agent.chat import ChatMessage, ChatRequest, ImagePart, Role, TextPart
from oceangym_agent.models.budget import Budget
from oceangym_agent.models.images import image_tokens
from oceangym_agent.models.presets import load_preset, ModelPreset, preset_names
from oceangym_agent.models.pricing import cost, request_tokens, text_tokens
from oceangym_agent.scripted_models.scripts import script_names
from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError

NAMES = preset_names()
PLANTED = 'sk-planted-0123456789abcdef'


def shipped(name: str) -> dict[str, object]:
    return yaml.safe_load((config_path('agents') / f'{name}.yaml').read_text('utf-8'))


def write(path: Path, content: object) -> str:
    path.write_text(yaml.safe_dump(content), encoding='utf-8')
    return str(path)


@pytest.mark.parametrize('name', NAMES)
def test_every_shipped_preset_is_valid_and_named_as_its_file(name: str) -> None:
    assert load_preset(name).id == name


def test_every_endpoint_of_the_benchmark_has_a_preset() -> None:
    hosts = {load_preset(n).base_url.split('/')[2] for n in NAMES if load_preset(n).base_url}
    assert {
        'api.openai.com',
        'generativelanguage.googleapis.com',
        'dashscope-intl.aliyuncs.com',
        'api.z.ai',
        'localhost:8000',  # vLLM
        'localhost:11434',  # Ollama
        'localhost:8080',  # llama.cpp
    } <= hosts


@pytest.mark.parametrize('name', NAMES)
def test_paid_presets_name_a_key_and_dated_prices(name: str) -> None:
    preset = load_preset(name)
    if preset.price_in:
        assert preset.api_key_env
        assert preset.price_out > preset.price_in
        assert isinstance(preset.price_date, datetime.date)
        assert preset.price_source.startswith('https://')
    else:
        assert preset.api_key_env is None


@pytest.mark.parametrize('name', NAMES)
def test_every_number_of_a_preset_has_a_unit_or_a_reason(name: str) -> None:
    lines = (config_path('agents') / f'{name}.yaml').read_text('utf-8').splitlines()
    for key in ('price_in', 'price_out', 'image_size'):
        (line,) = [text for text in lines if text.startswith(f'{key}:')]
        assert '#' in line, line


def test_reasoning_models_get_an_effort_and_no_temperature() -> None:
    preset = load_preset('gpt-5.4-mini')
    assert preset.temperature is None
    assert preset.top_p is None
    assert preset.reasoning_effort is not None
    assert preset.max_tokens_field == 'max_completion_tokens'


@pytest.mark.parametrize('name', [n for n in NAMES if n != 'gpt-5.4-mini'])
def test_other_models_are_asked_deterministically(name: str) -> None:
    preset = load_preset(name)
    assert (preset.temperature, preset.top_p) == (0.0, 1.0)


def test_every_scripted_preset_names_a_script_and_every_script_has_a_preset() -> None:
    named = {load_preset(n).scripted for n in NAMES} - {None}
    assert named == set(script_names())
    assert len(named) >= 2


@pytest.mark.parametrize(
    ('given_name', 'meant'), [('gpt4o', 'gpt-4o'), ('scripted-patrol', 'scripted_patrol')]
)
def test_an_unknown_name_is_answered_with_the_closest(given_name: str, meant: str) -> None:
    with pytest.raises(OceanGymError, match=f"Did you mean '{meant}'"):
        load_preset(given_name)


@pytest.mark.parametrize('name', ['', '..', '../agents/gpt-4o', '/etc/passwd', 'gpt-4o\x00'])
def test_a_name_does_not_reach_out_of_the_folder(name: str) -> None:
    with pytest.raises(OceanGymError, match='unknown model'):
        load_preset(name)


def test_own_presets_come_before_shipped_ones_and_by_path(tmp_path: Path) -> None:
    own = {**shipped('gemma-3'), 'id': 'mine', 'title': 'Mine'}
    path = write(tmp_path / 'gemma-3.yaml', own)
    assert load_preset('gemma-3', [tmp_path]).title == 'Mine'
    assert load_preset(path).id == 'mine'
    assert load_preset('gemma-3').title != 'Mine'
    write(tmp_path / 'other.yml', own)
    assert {'other', 'gpt-4o'} <= set(preset_names([tmp_path]))
    # Of two directories the later one counts, as for tasks, waters and prompts.
    (tmp_path / 'later').mkdir()
    write(tmp_path / 'later' / 'gemma-3.yaml', {**own, 'title': 'Later'})
    assert load_preset('gemma-3', [tmp_path, tmp_path / 'later']).title == 'Later'
    assert load_preset('gemma-3', [tmp_path / 'later', tmp_path]).title == 'Mine'


def test_a_preset_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match='frozen'):
        load_preset('gpt-4o').price_in = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ('key', 'value', 'complaint'),
    [
        ('jsonmode', 'schema', "Did you mean 'json_mode'"),
        ('json_mode', 'yes', 'json_mode'),
        ('temperature', '0', 'temperature'),
        ('temperature', 3.0, 'temperature'),
        ('price_in', -1.0, 'price_in'),
        ('price_in', float('nan'), 'price_in'),
        ('price_date', None, 'prices need price_date'),
        ('base_url', 'api.openai.com/v1', 'http'),
        ('base_url', 'https://me:secret@api.openai.com/v1', 'no password'),
        ('base_url', 'https://api.openai.com/v1?key=1', 'query'),
        ('base_url', 'https://api.openai.com:99999/v1', 'base_url'),
        ('base_url', '', 'base_url is empty'),
        ('image_tokens', {'rule': 'tiles', 'tokens': 1}, 'cell_px'),
        ('image_tokens', {'rule': 'fixed', 'token': 1}, "Did you mean 'tokens'"),
        ('max_images', True, 'max_images'),
        ('id', '../escape', 'id'),
    ],
)
def test_a_bad_value_is_refused_by_name(
    tmp_path: Path, key: str, value: object, complaint: str
) -> None:
    path = write(tmp_path / 'bad.yaml', {**shipped('gpt-4o'), key: value})
    with pytest.raises(OceanGymError) as caught:
        load_preset(path)
    assert complaint in str(caught.value)
    assert 'bad.yaml' in str(caught.value)


@pytest.mark.parametrize(
    'change',
    [
        {'api_key_env': PLANTED},
        {'api_key_env': PLANTED.upper().replace('-', '.')},
        {'api_key': PLANTED},
        {'apikey': PLANTED},
        {'extra_body': {'auth-token': PLANTED}},
    ],
)
def test_a_key_written_into_a_preset_is_refused_without_repeating_it(
    tmp_path: Path, change: dict[str, object]
) -> None:
    path = write(tmp_path / 'leak.yaml', {**shipped('gpt-4o'), **change})
    with pytest.raises(OceanGymError) as caught:
        load_preset(path)
    error: BaseException | None = caught.value
    while error is not None:
        assert PLANTED.lower().replace('-', '.') not in repr(error).lower().replace('-', '.')
        error = error.__cause__ or error.__context__


YAML_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)


@settings(max_examples=150, deadline=None)
@given(key=st.sampled_from([*ModelPreset.model_fields, 'other']), value=YAML_VALUES)
def test_any_value_of_any_key_is_taken_or_refused_politely(
    tmp_path_factory: pytest.TempPathFactory, key: str, value: object
) -> None:
    path = tmp_path_factory.mktemp('preset') / 'fuzz.yaml'
    path.write_text(yaml.safe_dump({**shipped('scripted_patrol'), key: value}), 'utf-8')
    try:
        preset = load_preset(str(path))
    except OceanGymError as error:
        assert 'fuzz.yaml' in str(error)
    else:
        assert image_tokens(preset, 512, 512) >= 0


@settings(max_examples=100, deadline=None)
@given(raw=st.binary(max_size=300) | st.text(max_size=300).map(lambda t: t.encode('utf-8')))
def test_any_file_is_taken_or_refused_politely(
    tmp_path_factory: pytest.TempPathFactory, raw: bytes
) -> None:
    path = tmp_path_factory.mktemp('preset') / 'fuzz.yaml'
    path.write_bytes(raw)
    with pytest.raises(OceanGymError, match=r'fuzz\.yaml'):
        load_preset(str(path))


# ---------------------------------------------------------------- tokens and prices


@pytest.mark.parametrize(
    ('name', 'width', 'height', 'tokens'),
    [
        # OpenAI's examples: 1024 x 1024 -> 768 x 768 -> 4 tiles; 2048 x 4096 -> 768 x 1536 -> 6.
        ('gpt-4o', 1024, 1024, 765),
        ('gpt-4o', 2048, 4096, 1105),
        ('gpt-4o', 512, 512, 255),
        ('gpt-4o', 640, 480, 425),
        ('gpt-4o-mini', 512, 512, 8500),
        # Google's example: up to 768 px one tile of 258.
        ('gemini-2.5-flash', 600, 400, 258),
        ('gemini-2.5-flash', 1024, 768, 516),
        # 18 x 18 patches of 28 px and two markers.
        ('qwen2.5-vl-7b', 504, 504, 326),
        ('minicpm-v-4.5', 448, 448, 64),
        # 512^2 / 448^2 = 1.3: two slices and the overview.
        ('minicpm-v-4.5', 512, 512, 192),
        ('minicpm-v-4.5', 4480, 4480, 640),
        ('gemma-3', 512, 512, 256),
    ],
)
def test_image_tokens_follow_the_published_rules(
    name: str, width: int, height: int, tokens: int
) -> None:
    assert image_tokens(load_preset(name), width, height) == tokens


def test_costs_are_per_million_tokens() -> None:
    assert cost(load_preset('gpt-4o'), tokens_in=1_000_000, tokens_out=100_000) == pytest.approx(
        2.50 + 1.00
    )


def test_a_request_is_estimated_from_its_texts_and_images() -> None:
    image = ImagePart(name='a', data=b'', media_type='image/png', width=512, height=512)
    message = ChatMessage(role=Role.USER, parts=(TextPart(text='x' * 400), image, image))
    request = ChatRequest(messages=(message,))
    assert text_tokens('x' * 400) == 100
    assert request_tokens(load_preset('gpt-4o'), request) == 4 + 100 + 2 * 255


@pytest.mark.parametrize('limit', [0, -1, float('nan'), float('inf')])
@pytest.mark.parametrize('name', ['max_cost', 'max_tokens', 'max_wall_s', 'max_decisions'])
def test_a_limit_must_be_a_positive_number(name: str, limit: float) -> None:
    with pytest.raises(OceanGymError, match='must be a number above 0'):
        Budget(**{name: limit})  # type: ignore[arg-type]
