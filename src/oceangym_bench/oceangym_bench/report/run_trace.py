"""What a model was told and what it answered at one decision, as the page shows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
import re
from typing import Any

from oceangym_agent.trace import TraceCall, TracePart, TraceReply, TraceStep
from oceangym_bench.report.page import cut_text
from oceangym_bench.report.pictures import Album, read_picture_files
from oceangym_core.contract.actions import DIRECTIONS

# A reply of a megabyte is kept in the record; the page shows its beginning [characters].
TEXT_LIMIT = 20_000
# What the texts of a page may take together before further ones are cut shorter [characters].
TEXT_BUDGET = 3_000_000
_SHORT = 1_500
_VIEW_OF = re.compile(rf'^(camera|sonar|fan)_({"|".join(DIRECTIONS)})$')

# File -> (name, key in the album) of the pictures that a model was sent at one decision.
Sent = Mapping[str, tuple[str, str]]


class TextPool:
    """Texts of a page, each content once: most of a prompt is the same in every step."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._size = 0

    def add(self, text: Any, limit: int = TEXT_LIMIT) -> int:
        """Keep a text and return its number."""
        most = limit if self._size < TEXT_BUDGET else min(limit, _SHORT)
        cut = cut_text(text if isinstance(text, str) else str(text), most)
        if cut not in self._index:
            self._index[cut] = len(self._index)
            self._size += len(cut)
        return self._index[cut]

    @property
    def texts(self) -> list[str]:
        """All texts by number."""
        return list(self._index)


def sent_pictures(directory: Path, step: TraceStep, album: Album) -> Sent:
    """Return the pictures that were sent at one decision, as far as their files are there."""
    names = {
        part.image.file: part.image.name
        for call in step.calls
        for message in call.messages
        for part in message.parts
        if part.image is not None and _inside(directory, part.image.file)
    }
    keys = read_picture_files(((file, directory / file) for file in names), album)
    return {file: (names[file], key) for file, key in keys.items()}


def _inside(directory: Path, file: str) -> bool:
    """Tell whether a name in the record stays within the run's directory."""
    try:
        return (directory / file).resolve().is_relative_to(directory.resolve())
    except (OSError, ValueError):
        return False


def views_sent(sent: Sent) -> dict[str, str]:
    """Return the cameras and fans among pictures that were sent, by view."""
    views = {}
    for name, key in sent.values():
        match = _VIEW_OF.match(name)
        if match is not None:
            kind = 'camera' if match.group(1) == 'camera' else 'sonar'
            views[f'{kind}_{match.group(2)}'] = key
    return views


def trace_entry(step: TraceStep, sent: Sent, texts: TextPool) -> dict[str, Any]:
    """Return a decision's calls as plain data for the page's script."""
    return {
        'calls': [_call(call, sent, texts) for call in step.calls],
        'parsed': None if step.parsed is None else texts.add(readable(step.parsed)),
        'error': texts.add(step.error or ''),
    }


def readable(value: Any, indent: str = '') -> str:
    """Return parsed data in lines that read like YAML."""
    if isinstance(value, dict) and value:
        return '\n'.join(
            f'{indent}{key}: {readable(item)}'
            if not isinstance(item, (dict, list)) or not item
            else f'{indent}{key}:\n{readable(item, indent + "  ")}'
            for key, item in value.items()
        )
    if isinstance(value, list) and value:
        if all(isinstance(item, (int, float)) for item in value):
            return f'{indent}[{", ".join(map(str, value))}]'
        return '\n'.join(f'{indent}- {readable(item, indent + "  ").lstrip()}' for item in value)
    return '–' if value in (None, '', [], {}) else f'{value}'


def _call(call: TraceCall, sent: Sent, texts: TextPool) -> dict[str, Any]:
    return {
        'purpose': call.purpose,
        'error': texts.add(call.error or ''),
        'parts': [
            _part(message.role, part, sent, texts)
            for message in call.messages
            for part in message.parts
        ],
        'reply': None
        if call.reply is None
        else {'text': texts.add(call.reply.text), 'facts': texts.add(_facts(call.reply))},
    }


def _part(role: str, part: TracePart, sent: Sent, texts: TextPool) -> dict[str, Any]:
    image = part.image
    if image is None:
        return {'role': role, 'text': texts.add(part.text or '')}
    _, key = sent.get(image.file, (image.name, None))
    name = texts.add(f'{image.name}, {image.width}×{image.height} px', 300)
    return {'role': role, 'image': key, 'name': name}


def _facts(reply: TraceReply) -> str:
    """Return one line about a reply: who answered, how long it took, what it cost."""
    facts = [
        reply.model,
        f'finish {reply.finish_reason}' if reply.finish_reason else '',
        f'{reply.tokens_in} + {reply.tokens_out} tokens',
        f'{reply.tokens_reasoning} of them reasoning' if reply.tokens_reasoning else '',
        f'{reply.cost:.4f} USD',
        f'{reply.latency_s:.1f} s',
        f'{reply.retries} retries' if reply.retries else '',
        *(f'{key} {value}' for key, value in reply.parameters.items()),
        *reply.notes,
    ]
    return ' · '.join(fact for fact in facts if fact)
