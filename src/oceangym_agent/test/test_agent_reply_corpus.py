"""A corpus of hostile replies: what each may make the vehicle do, thought out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from oceangym_agent.replies import parse_reply, ParsedReply, ReplyError, ReplyStyle
from oceangym_core.contract import Action

LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
CORPUS = Path(__file__).parent / 'replies'
KEYS = {'reply', 'repeat', 'error', 'action', 'magnitude', 'finds', 'special', 'views'}


def entries() -> list[tuple[str, dict[str, Any]]]:
    """Return every entry with its name, ``kind:number``."""
    return [
        (f'{path.stem}:{number}', entry)
        for path in sorted(CORPUS.glob('*.yaml'))
        for number, entry in enumerate(yaml.load(path.read_text(encoding='utf-8'), LOADER), 1)
    ]


ENTRIES = entries()


def text_of(entry: dict[str, Any]) -> str:
    return entry['reply'] * entry.get('repeat', 1)


def outcome(text: str, style: ReplyStyle) -> ParsedReply | str:
    try:
        return parse_reply(text, style=style)
    except ReplyError as error:
        return str(error)


def test_the_corpus_is_large_and_well_formed() -> None:
    assert len(ENTRIES) >= 300
    for name, entry in ENTRIES:
        assert set(entry) <= KEYS, name
        assert isinstance(entry['reply'], str), name
        assert ('error' in entry) != ('action' in entry), name
    texts = [text_of(entry) for _, entry in ENTRIES]
    assert len(set(texts)) == len(texts)


@pytest.mark.timeout(60)
@pytest.mark.parametrize('entry', [pytest.param(entry, id=name) for name, entry in ENTRIES])
def test_reply(entry: dict[str, Any]) -> None:
    asked, other = (outcome(text_of(entry), style) for style in ReplyStyle)
    assert isinstance(asked, str) == isinstance(other, str)
    assert isinstance(asked, str) or asked == other
    result = asked
    if 'error' in entry:
        assert isinstance(result, str), f'{entry["reply"][:80]!r} acted: {result}'
        assert result
        return
    assert isinstance(result, ParsedReply), f'{entry["reply"][:80]!r}: {result[:200]}'
    assert result.action is Action(entry['action'])
    assert result.magnitude == pytest.approx(entry.get('magnitude'))
    if 'finds' in entry:
        assert len(result.finds) == entry['finds']
    if 'special' in entry:
        assert len(result.special_objects) == entry['special']
    if 'views' in entry:
        assert sorted(result.environment) == entry['views']
