"""Presets of models and their endpoints: one YAML file each, shipped in ``config/agents/``."""

from __future__ import annotations

from collections.abc import Sequence
import datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from oceangym_core.assets import config_path
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_schema, read_yaml, Schema
from oceangym_core.paths import user_path

YAML_ENDINGS = ('.yaml', '.yml')
VARIABLE_PATTERN = r'^[A-Z][A-Z0-9_]{0,63}$'
# Keys under which somebody may have written the secret itself.
SECRET_WORDS = ('key', 'secret', 'token', 'password', 'authorization')

JsonMode = Literal['schema', 'object', 'none']
ImageFormat = Literal['jpeg', 'png']
Price = Annotated[float, Field(ge=0.0, le=10_000.0)]


class ImageTokens(Schema):
    """How many tokens an endpoint counts for an image.

    Attributes:
        rule: ``fixed`` per image; ``tiles`` and ``patches`` of a grid laid over the image; ``slices``
            of equal area plus one overview where there is more than one.
        tokens: Per image, tile, patch or slice.
        base: Added once per image.
        cell_px: Side of a tile, patch or slice [px].
        multiplier: Of the sum.
        max_cells: Most patches or slices; a larger image is scaled down to them.
        fit_long_px, fit_short_px: Sides to which the endpoint scales an image down before [px].
    """

    rule: Literal['fixed', 'tiles', 'patches', 'slices']
    tokens: Annotated[int, Field(ge=0, le=100_000)]
    base: Annotated[int, Field(ge=0, le=100_000)] = 0
    cell_px: Annotated[int, Field(ge=1, le=8192)] | None = None
    multiplier: Annotated[float, Field(gt=0.0, le=100.0)] = 1.0
    max_cells: Annotated[int, Field(ge=1, le=100_000)] | None = None
    fit_long_px: Annotated[int, Field(ge=1, le=65_536)] | None = None
    fit_short_px: Annotated[int, Field(ge=1, le=65_536)] | None = None

    @model_validator(mode='after')
    def _cells(self) -> ImageTokens:
        if self.rule != 'fixed' and self.cell_px is None:
            raise ValueError(f'rule {self.rule!r} needs cell_px, the side of one cell in px')
        return self


class ModelPreset(Schema):
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        id: Name for ``model:=``, and what records and tables call the agent.
        title: For people.
        model: The endpoint's model id.
        base_url: Of the endpoint, up to and without ``/chat/completions``.
        api_key_env: Environment variable that holds the key; None where no key is asked for.
        scripted: Script of the local model server that answers instead of a model.
        json_mode: ``schema``: the endpoint enforces a JSON schema; ``object``: some JSON object;
            ``none``: neither, the prompt alone asks for JSON.
        context_tokens: Context window.
        max_images: Most images a request may hold.
        image_size: Longest side of an image as sent [px].
        image_format: As sent.
        image_detail: OpenAI's ``detail``; None leaves it out.
        image_tokens: How images are counted, for estimates.
        temperature, top_p: None where the model takes none.
        seed: Sampling seed; None where the endpoint takes none.
        max_output_tokens: Most tokens of a reply, hidden reasoning included.
        max_tokens_field: What the endpoint calls that.
        reasoning_effort: Of reasoning models; None leaves it out.
        requests_per_minute: Most requests a minute of all workers of this machine; None for no limit.
        extra_body: Further members of the request that only this endpoint knows.
        price_in, price_out: USD per million tokens; output includes hidden reasoning.
        price_date: When the prices were read.
        price_source: Where.
    """

    id: Annotated[str, Field(pattern=r'^[a-z0-9][a-z0-9._-]{0,63}$')]
    title: Annotated[str, Field(min_length=1, max_length=200)]
    model: Annotated[str, Field(min_length=1, max_length=200)]
    base_url: Annotated[str, Field(max_length=500)]
    api_key_env: Annotated[str, Field(pattern=VARIABLE_PATTERN)] | None
    scripted: str | None = None
    json_mode: JsonMode
    context_tokens: Annotated[int, Field(ge=1024, le=100_000_000)]
    max_images: Annotated[int, Field(ge=0, le=10_000)]
    image_size: Annotated[int, Field(ge=32, le=4096)]
    image_format: ImageFormat = 'jpeg'
    image_detail: Literal['low', 'high', 'auto'] | None = None
    image_tokens: ImageTokens
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = 0.0
    top_p: Annotated[float, Field(gt=0.0, le=1.0)] | None = 1.0
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    max_output_tokens: Annotated[int, Field(ge=16, le=1_000_000)]
    max_tokens_field: Literal['max_tokens', 'max_completion_tokens'] = 'max_tokens'
    reasoning_effort: Literal['none', 'minimal', 'low', 'medium', 'high', 'xhigh'] | None = None
    requests_per_minute: Annotated[float, Field(gt=0.0, le=1e6)] | None = None
    extra_body: dict[str, Any] = {}
    price_in: Price
    price_out: Price
    price_date: datetime.date | None
    price_source: Annotated[str, Field(max_length=300)]

    @field_validator('base_url')
    @classmethod
    def _address(cls, value: str) -> str:
        return checked_url(value)

    @model_validator(mode='after')
    def _priced(self) -> ModelPreset:
        if (self.price_in or self.price_out) and not (self.price_date and self.price_source):
            raise ValueError('prices need price_date and price_source: they change')
        if self.scripted is None and not self.base_url:
            raise ValueError('base_url is empty: give the address of the endpoint')
        return self


def checked_url(value: str) -> str:
    """Return an endpoint's address without a trailing slash; empty stays empty.

    Raises:
        ValueError: It is no plain http(s) address, or it carries a password or a query.
    """
    if not value:
        return ''
    try:
        parts = urlsplit(value)
        port = parts.port
    except ValueError as error:
        raise ValueError('the address cannot be read; write http(s)://host[:port]/path') from error
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ValueError(
            'an address must carry no password, query or fragment: it is written to records; '
            'put the key into an environment variable'
        )
    if (
        parts.scheme not in ('http', 'https')
        or not parts.hostname
        or port == 0
        or not value.isprintable()
        or ' ' in value
    ):
        raise ValueError('must be http(s)://host[:port]/path')
    address = value.rstrip('/')
    if address.endswith('/chat/completions'):
        raise ValueError('leave /chat/completions out: it is added to the address')
    return address


def _directories(config_dirs: Sequence[Path]) -> tuple[Path, ...]:
    """Return where presets lie, the directory that counts first."""
    return (*(Path(d) for d in reversed(config_dirs)), config_path('agents'))


def preset_names(config_dirs: Sequence[Path] = ()) -> tuple[str, ...]:
    """Return the names that `load_preset` finds, sorted."""
    found = {
        path.stem
        for directory in _directories(config_dirs)
        for path in directory.glob('*')
        if path.suffix in YAML_ENDINGS
    }
    return tuple(sorted(found))


def load_preset(name: str, config_dirs: Sequence[Path] = ()) -> ModelPreset:
    """Return a preset by its name or by the path of its YAML file.

    Args:
        name: A name of `preset_names`, or a path that ends in ``.yaml`` or ``.yml``.
        config_dirs: Directories of presets, looked in before the shipped ``config/agents/``; later
            ones count before earlier ones.

    Raises:
        OceanGymError: There is no such preset, or its file is not valid.
    """
    if name.endswith(YAML_ENDINGS):
        return _read(user_path(name))
    for directory in _directories(config_dirs):
        for ending in YAML_ENDINGS:
            # Only a plain file name: '../x' or an absolute path is no preset's name.
            if name and Path(name).name == name and (directory / f'{name}{ending}').is_file():
                return _read(directory / f'{name}{ending}')
    raise unknown_name(
        'model',
        name,
        preset_names(config_dirs),
        hint='Give one of these as model:=, or the path of your own YAML file.',
    )


def _read(path: Path) -> ModelPreset:
    content = read_yaml(path)
    if isinstance(content, dict):
        _refuse_secrets(path, content)
    return read_schema(path, ModelPreset)


def _refuse_secrets(path: Path, content: dict[Any, Any]) -> None:
    """Stop before a key that was written into the file is repeated in a message or a record."""
    fields = ModelPreset.model_fields
    extra = content.get('extra_body')
    suspects = [key for key in content if key not in fields]
    suspects += list(extra) if isinstance(extra, dict) else []
    for key in suspects:
        parts = str(key).lower().replace('-', '_').split('_')
        if any(word in part for part in parts for word in SECRET_WORDS if word != 'token') or (
            parts[-1] == 'token'
        ):
            raise OceanGymError(
                f'{path}: key {str(key)[:80]!r} looks like a secret, and presets are written to '
                'records. Name the environment variable that holds it in api_key_env.'
            )
    named = content.get('api_key_env')
    if named is not None and not (isinstance(named, str) and _is_variable(named)):
        raise OceanGymError(
            f'{path}: api_key_env must name an environment variable (capitals, digits and '
            'underscores, e.g. OPENAI_API_KEY), not hold the key itself'
        )


def _is_variable(name: str) -> bool:
    return (
        0 < len(name) <= 64
        and name.isascii()
        and name[0].isalpha()
        and name == name.upper()
        and name.replace('_', 'A').isalnum()
    )
