"""A corpus of hostile replies: what each may make the vehicle do, thought out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from oceangym_agent.replies import parse_reply, ParsedReply, ReplyError, ReplyStyle
from oceangym_core.contract.actions import Action

LOADER: Any = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
CORPUS = Path(__file__).parent / 'replies'
KEYS = {'reply', 'repeat', 'error', 'action', 'magnitude', 'finds', 'special', 'views'}


FILES = sorted(CORPUS.glob('*.yaml'))


def entries(path: Path) -> list[dict[str, Any]]:
    """Return the replies of a file with what each may make the vehicle do."""
    loaded: list[dict[str, Any]] = yaml.load(path.read_text(encoding='utf-8'), LOADER)
    return loaded


def text_of(entry: dict[str, Any]) -> str:
    return str(entry['reply'] * entry.get('repeat', 1))


def outcome(text: str, style: ReplyStyle) -> ParsedReply | str:
    try:
        return parse_reply(text, style=style)
    except ReplyError as error:
        return str(error)


def test_the_corpus_is_large_and_well_formed() -> None:
    everything = [entry for path in FILES for entry in entries(path)]
    assert len(everything) >= 800
    for entry in everything:
        assert set(entry) <= KEYS, entry
        assert ('error' in entry) != ('action' in entry), entry
    assert len({text_of(entry) for entry in everything}) == len(everything)


def check(entry: dict[str, Any]) -> None:
    shown = repr(text_of(entry)[:80])
    result, other = (outcome(text_of(entry), style) for style in ReplyStyle)
    assert isinstance(result, str) == isinstance(other, str)
    assert isinstance(result, str) or result == other
    if 'error' in entry:
        assert isinstance(result, str), f'{shown} acted: {result}'
        assert result
        return
    assert isinstance(result, ParsedReply), f'{shown}: {result}'
    assert result.action is Action(entry['action']), shown
    assert result.magnitude == pytest.approx(entry.get('magnitude')), shown
    if 'finds' in entry:
        assert len(result.finds) == entry['finds'], shown
    if 'special' in entry:
        assert len(result.special_objects) == entry['special'], shown
    if 'views' in entry:
        assert sorted(result.environment) == entry['views'], shown


@pytest.mark.parametrize('path', FILES, ids=lambda path: path.stem)
def test_replies_act_as_they_clearly_say_or_not_at_all(path: Path) -> None:
    for entry in entries(path):
        check(entry)
