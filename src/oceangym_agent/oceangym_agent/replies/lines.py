"""From a text to its lines and sentences, without what is struck out or quoted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
import re
import unicodedata

from oceangym_agent.replies.labels import is_label
from oceangym_agent.replies.phrases import ends_open

_QUOTES = re.compile(
    r'"[^"]*"|“[^“”]*”|„[^„“”]*[“”]|«[^«»]*»|「[^「」]*」|『[^『』]*』|《[^《》]*》|``[^`]*``|`[^`]*`'
    r"|(?<![\w])'[^'\n]*'(?!\w)|‘[^‘’\n]*’(?!\w)"
)
_OPEN_QUOTE = re.compile(r"""["“„«「『`][^\n]*|(?<![\w])'[^\n]*""")
_MASK = ' quotation '
_WRAPPED = re.compile(
    r'(["“„«「『\'‘`*_]{1,3})([^"“”„«»「」『』‘’`*]{1,200})(["”“»」』\'’`*_]{1,3})[.!。]?'
)

_STRUCK = re.compile(r'~~[^~]*~~')
_FENCE = re.compile(r'^[ \t]*(?:```|~~~)[^\n]*$', re.MULTILINE)
_HEADING = re.compile(r'^\s{0,3}#{1,6}\s*(.*?)\s*#*\s*$')
BULLET = re.compile(r'^\s*(?:[-*•‣·–]|\(?\d{1,3}[.)]|[a-z][.)])\s+')
_BLOCKQUOTE = re.compile(r'^\s*>')
# Not after the number of a list item, and not an ellipsis, after which a sentence goes on.
_SENTENCE_END = re.compile(
    r'(?<![.\d])\.(?=\s|$|[*"\'A-Z])|(?<=\d\d|[a-z]\d)\.(?=\s|$)|[!?]+(?=\s|$|[*"\'.])|[。！？；;]+'
)
_ABBREVIATION = re.compile(r'\b(e\.g|i\.e|etc|approx|vs)\.(?=\s*[\w,(])', re.IGNORECASE)
_TERMINATED = re.compile(r'[.!?:;。！？：；]\W*$')


@dataclass(frozen=True, kw_only=True)
class Line:
    """A logical line: what was wrapped is joined."""

    text: str
    bullet: bool = False
    heading: bool = False
    after_blank: bool = False
    apart: bool = True  # no other line of prose runs into it, or on from it


def plain_text(text: str) -> str:
    """Return a text without what is struck out, emphasised, fenced or quoted as a block."""
    text = unicodedata.normalize('NFKC', text)
    text = ''.join(c for c in text if c in '\n\t' or unicodedata.category(c) not in ('Cf', 'Cc'))
    text = text.replace('’', "'").replace('−', '-')
    text = _ABBREVIATION.sub(lambda match: match[1].replace('.', ''), text)
    text = _FENCE.sub('', _STRUCK.sub(' ', text))
    kept = [line for line in text.split('\n') if not _BLOCKQUOTE.match(line)]
    return '\n'.join(kept)


def unwrapped(text: str) -> str:
    """Return a text that is nothing but a quoted or emphasised phrase without its marks."""
    match = _WRAPPED.fullmatch(text)
    return match[2] if match else text


def masked_text(text: str) -> str:
    """Return a text with its quotations replaced; a label's quoted command is kept."""

    def masked(match: re.Match[str]) -> str:
        before = match.string[max(0, match.start() - 60) : match.start()].rstrip(' *_')
        start = max(before.rfind('\n'), before.rfind('.'), before.rfind(',')) + 1
        if before.endswith((':', '：')) and is_label(before[start:-1]):
            return match.group().strip('"“”„«»「」『』《》`\'‘’')
        return _MASK

    return _OPEN_QUOTE.sub(_MASK, _QUOTES.sub(masked, text))


def _joined_lines(text: str) -> Iterator[Line]:
    """Yield logical lines: a line that breaks off within a phrase goes on in the next."""
    pending = ''
    after_blank = False
    for raw in text.split('\n'):
        if not raw.strip():
            after_blank = True
            continue
        heading = _HEADING.match(raw)
        if heading is not None:
            if pending:
                yield Line(text=pending)
                pending = ''
            yield Line(text=heading[1], heading=True, after_blank=after_blank)
            after_blank = False
            continue
        bullet = BULLET.match(raw)
        body = (raw[bullet.end() :] if bullet else raw).replace('*', '').strip()
        if pending and not bullet:
            body, pending = f'{pending} {body}', ''
        elif pending:
            yield Line(text=pending)
            pending = ''
        if ends_open(body) and len(body) < 5000:
            pending = body
            continue
        yield Line(text=body, bullet=bullet is not None, after_blank=after_blank)
        after_blank = False
    if pending:
        yield Line(text=pending)


def lines_of(text: str) -> Iterator[Line]:
    """Yield the lines of a text, telling of each whether it stands apart from those around it."""
    lines = list(_joined_lines(text))
    for before, line, after in zip([None, *lines], lines, [*lines[1:], None]):
        runs_on = before is not None and not before.heading and not line.after_blank
        runs_on = runs_on and not _TERMINATED.search(before.text if before else '')
        goes_on = after is not None and not (after.after_blank or after.heading or after.bullet)
        goes_on = goes_on and ':' not in (after.text if after else '')
        yield replace(line, apart=line.bullet or not (runs_on or goes_on))


def sentences_of(line: str) -> list[tuple[str, str]]:
    """Return (sentence, its end marks) of a line."""
    parts: list[tuple[str, str]] = []
    start = 0
    for match in _SENTENCE_END.finditer(line):
        parts.append((line[start : match.start()], match.group()))
        start = match.end()
    if line[start:].strip():
        parts.append((line[start:], ''))
    return parts
