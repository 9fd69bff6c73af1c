#!/usr/bin/env python3
"""Write the generated parts of the manual: what the code knows is not written down a second time.

Run in the checkout, inside ``./scripts/oceangym shell``: ``python scripts/manual_tables.py``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

from oceangym_agent.models.presets import load_preset, ModelPreset, preset_names
from oceangym_core.config.option_help import option_table
from oceangym_core.contract.topics import CONTRACT, Stream
from oceangym_core.errors import OceanGymError
from oceangym_setup.dependency_lint import MAY_IMPORT
from oceangym_setup.workspace import PACKAGES
from package_drawing import drawing

ROOT = Path(__file__).resolve().parent.parent


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


def interface_texts() -> str:
    """Return the definition of every message, service and action, as Markdown."""
    parts = []
    for kind in ('msg', 'srv', 'action'):
        for path in sorted((ROOT / 'src/oceangym_msgs' / kind).glob(f'*.{kind}')):
            text = path.read_text(encoding='utf-8').strip()
            parts.append(f'### {kind}/{path.stem}\n\n```text\n{text}\n```')
    return '\n\n'.join(parts)


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


def package_table() -> str:
    """Return a line a package and a line a folder in it: what it holds, what it may import."""
    lines = ['| package or folder | holds | may import |', '|---|---|---|']
    for package in PACKAGES:
        allowed = ', '.join(f'`{name}`' for name in sorted(MAY_IMPORT.get(package, ())))
        folder = ROOT / 'src' / package / package
        if not folder.is_dir():
            lines.append(f'| **`{package}`** | Messages, services, actions. | |')
            continue
        lines.append(
            f'| **`{package}`** | {_first_sentence(folder)} | {allowed or "none of ours"} |'
        )
        lines += [
            f'| `{package}/{name}` | {_first_sentence(folder / name)} | |'
            for name in _folders_of(package)
        ]
    return '\n'.join(lines)


def package_drawing() -> str:
    """Return the packages, their folders and imports as SVG."""
    # The messages are used in every folder `nodes`; arrows to them would say nothing.
    packages = [name for name in PACKAGES if name in MAY_IMPORT]
    imports = {name: MAY_IMPORT[name] for name in packages}
    return drawing(imports, {name: _folders_of(name) for name in packages}) + '\n'


def _folders_of(package: str) -> list[str]:
    inits = (ROOT / 'src' / package / package).glob('*/__init__.py')
    return sorted(init.parent.name for init in inits)


def _first_sentence(folder: Path) -> str:
    module = ast.parse((folder / '__init__.py').read_text(encoding='utf-8'))
    text = (ast.get_docstring(module) or '').split('\n\n')[0].replace('\n', ' ')
    if not text:
        raise OceanGymError(
            f'{folder}/__init__.py: no docstring; say in a line what the folder holds'
        )
    return text.replace('``', '`')


DRAWING = 'docs/packages.svg'
TABLES: dict[str, dict[str, Callable[[], str]]] = {
    'docs/running.md': {'arguments': option_table},
    'docs/models.md': {'presets': preset_table},
    'docs/contract.md': {'topics': topic_table, 'interfaces': interface_texts},
    'docs/packages.md': {'packages': package_table},
}


def replace_part(text: str, name: str, content: str) -> str:
    """Return a page with the part between ``<!-- name:begin -->`` and ``<!-- name:end -->`` replaced.

    Raises:
        OceanGymError: A marker is missing.
    """
    begin, end = f'<!-- {name}:begin -->', f'<!-- {name}:end -->'
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise OceanGymError(f'a page of docs lacks the markers {begin} .. {end}; put them back')
    return f'{head}{begin}\n{content.strip()}\n{end}{tail}'


GENERATED = (*TABLES, DRAWING)
"""Files of which something is generated."""


def filled(page: str) -> str:
    """Return a file of `GENERATED` as it has to be."""
    if page == DRAWING:
        return package_drawing()
    text = (ROOT / page).read_text(encoding='utf-8')
    for name, make in TABLES[page].items():
        text = replace_part(text, name, make())
    return text


def main() -> int:
    """Rewrite the pages."""
    for page in GENERATED:
        (ROOT / page).write_text(filled(page), encoding='utf-8')
    return 0


if __name__ == '__main__':
    raise SystemExit(main())
