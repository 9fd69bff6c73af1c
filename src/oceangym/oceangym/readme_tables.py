"""The README's generated parts: what the code knows is not written down a second time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from oceangym_agent.models.presets import load_preset, ModelPreset, preset_names
from oceangym_core.config.option_help import option_table
from oceangym_core.contract.topics import CONTRACT, Stream
from oceangym_core.errors import OceanGymError


def topic_table() -> str:
    """Return the contract's topics, the six directions of a sensor in one row, as Markdown."""
    lines = ['| topic | type | published by | delivery | in the bag |', '|---|---|---|---|---|']
    seen: set[str] = set()
    for stream in CONTRACT:
        name = _generic(stream)
        if name in seen:
            continue
        seen.add(name)
        lines.append(
            f'| `{name}` | `{stream.type}` | {stream.source.value} | {stream.delivery.value} '
            f'| {stream.record.value} |'
        )
    return '\n'.join(lines)


def _generic(stream: Stream) -> str:
    if not stream.direction:
        return stream.name
    return stream.name.replace(f'/{stream.direction}/', '/<dir>/')


def preset_table() -> str:
    """Return the shipped models and their endpoints as Markdown."""
    lines = ['| `model:=` | what | key in | JSON | image | USD per million in / out |']
    lines.append('|---|---|---|---|---|---|')
    lines += [_preset_row(load_preset(name)) for name in preset_names()]
    return '\n'.join(lines)


def _preset_row(preset: ModelPreset) -> str:
    key = f'`{preset.api_key_env}`' if preset.api_key_env else 'none'
    price = f'{preset.price_in:g} / {preset.price_out:g}' if preset.price_date else ''
    if preset.price_date and (preset.price_in or preset.price_out):
        price += f' ({preset.price_date})'
    image = f'{preset.image_size} px {preset.image_format}'
    return f'| `{preset.id}` | {preset.title} | {key} | {preset.json_mode} | {image} | {price} |'


GENERATED: dict[str, Callable[[], str]] = {
    'arguments': option_table,
    'topics': topic_table,
    'presets': preset_table,
}


def filled(text: str) -> str:
    """Return the README's text with every generated part up to date.

    Raises:
        OceanGymError: A pair of markers is missing.
    """
    for name, make in GENERATED.items():
        begin, end = f'<!-- {name}:begin -->', f'<!-- {name}:end -->'
        head, found, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not found or not closed:
            raise OceanGymError(f'README.md: markers {begin} .. {end} are missing; put them back')
        text = f'{head}{begin}\n{make().strip()}\n{end}{tail}'
    return text


def main() -> int:
    """Rewrite README.md in the current directory."""
    path = Path('README.md')
    path.write_text(filled(path.read_text(encoding='utf-8')), encoding='utf-8')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
