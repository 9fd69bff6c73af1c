"""The one command in free text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
import re
import unicodedata

from oceangym_agent.replies.limits import quoted
from oceangym_agent.replies.phrases import (
    Command,
    commands_in,
    ends_open,
    is_alternative,
    is_offered,
    is_reported,
    MAX_SENTENCE,
    normalised,
    single,
)
from oceangym_agent.replies.quantities import magnitude_of, read_quantity
from oceangym_agent.replies.reply import ReplyError
from oceangym_core.contract import Action

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
_BULLET = re.compile(r'^\s*(?:[-*•‣·–]|\(?\d{1,3}[.)]|[a-z][.)])\s+')
_BLOCKQUOTE = re.compile(r'^\s*>')
# Not after the number of a list item, and not an ellipsis, after which a sentence goes on.
_SENTENCE_END = re.compile(
    r'(?<![.\d])\.(?=\s|$|[*"\'A-Z])|(?<=\d\d|[a-z]\d)\.(?=\s|$)|[!?]+(?=\s|$|[*"\'.])|[。！？；;]+'
)
_ABBREVIATION = re.compile(r'\b(e\.g|i\.e|etc|approx|vs)\.(?=\s*[\w,(])', re.IGNORECASE)
_COLON = re.compile(r'(?<!\d)[:：](?!//)|[:：](?![\d/])')
_TERMINATED = re.compile(r'[.!?:;。！？：；]\W*$')
_PIECE = re.compile(r'[,;|—]|\s-\s')

_ADJECTIVE = (
    r'(?:next|final|chosen|selected|navigation|control|movement|motion|single|one|output|immediate|'
    r'recommended|auv|vehicle|rov|robot|best|safest|decided)'
)
_STRONG_LABEL = re.compile(
    rf'(?:my |the |your |our )?(?:{_ADJECTIVE} ){{0,3}}(?:command|action|move|manoeuvre|maneuver)'
    r'(?: (?:is|to take|to execute|chosen|selected|for this step|now)){0,2}'
)
_WEAK_LABEL = re.compile(
    rf'(?:my |the |your |our )?(?:{_ADJECTIVE} ){{0,3}}(?:answer|order|output|response|reply|'
    r'decision|next step|result|conclusion)(?: is)?|assistant|'
    r'.{0,80}\b(?:i|we)(?: have|\'ve)? (?:will|shall|decided? to|choose(?: to)?|chose(?: to)?)'
)
_CHINESE_LABELS = frozenset(
    {'指令', '动作', '命令', '下一步动作', '行动', '下一步', '最终指令', '操作'}
)
_MAGNITUDE_LABEL = re.compile(r'(?:the )?magnitude(?: is)?')
# Below such a heading nothing is meant to be carried out.
_CLOSING_HEADING = re.compile(
    r'\b(?:not|never|avoid\w*|forbidden|prohibited|reject\w*|discarded|ruled out|unsafe|wrong|bad|'
    r'options?|allowed|available|possible|candidates?|examples?|previous\w*|history|log|past|earlier|'
    r'memory|instructions?|rules?|user|human|operator|captain|system|commands|actions|alternatives?|considered|steps|plan|don\'?t)\b'
)
# What follows such a list after an empty line is no part of it.
_CHOICE_HEADING = re.compile(
    r'^(?:the |my |all |some )?(?:(?:available|possible|allowed|valid|candidate) )?'
    r'(?:options?|commands|actions|choices|moves|candidates?|alternatives?)(?: considered| are)?$'
)
_TAKEN_BACK = re.compile(
    r'(?:no(?:pe)?|wait|actually|scratch that|never mind|nevermind|cancel\w*|correction|on second thought'
    r'|hold on|sorry|oops|just kidding)\b(?=\s*(?:$|[,.!—–-])|\s+(?:that|this|the above)\b)'
)


class _Label(Enum):
    """What a title announces: the command itself, an answer that may hold it, or something else."""

    NONE = 'none'
    WEAK = 'weak'
    STRONG = 'strong'


@dataclass(frozen=True, kw_only=True)
class _Line:
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


def find_command(text: str) -> Command:
    """Return the one command that a text gives.

    A command after a label (``Command: ascend``) goes before what the text says beside it.

    Raises:
        ReplyError: There is none, or there are several.
    """
    text = plain_text(text)
    whole = _unwrapped(_BULLET.sub('', text.strip()))
    if len(whole) <= MAX_SENTENCE and not re.search(r'[\n:：?？]', whole):
        parts = [sentence for sentence, _ in _sentences(_masked(whole)) if sentence.strip()]
        if len(parts) == 1:
            return _required(single(commands_in(parts[0], expected=True)), text)
    reader = _Reader()
    for line in _set_apart(list(_lines(_masked(text)))):
        reader.read(line)
    return reader.conclusion(text)


def read_value(text: str) -> list[Command]:
    """Return the commands of a text that should be a command and nothing else."""
    if len(text) > MAX_SENTENCE:
        return []
    whole = _unwrapped(plain_text(text).strip())
    if '\n' in whole:
        return [find_command(whole)]
    return [
        command
        for sentence, end in _sentences(_masked(whole))
        if '?' not in end
        for command in commands_in(sentence, expected=True)
    ]


def _required(command: Command | None, text: str) -> Command:
    if command is None:
        said = f' ({quoted(text)})' if text.strip() else ''
        raise ReplyError(
            f'It gives no command that can be carried out{said}; what is negated, quoted, supposed '
            'or asked is not one.'
        )
    return command


def _unwrapped(text: str) -> str:
    """Return a text that is nothing but a quoted or emphasised phrase without its marks."""
    match = _WRAPPED.fullmatch(text)
    return match[2] if match else text


def _masked(text: str) -> str:
    """Return a text with its quotations replaced; a label's quoted command is kept."""

    def masked(match: re.Match[str]) -> str:
        before = match.string[max(0, match.start() - 60) : match.start()].rstrip(' *_')
        start = max(before.rfind('\n'), before.rfind('.'), before.rfind(',')) + 1
        if before.endswith((':', '：')) and _is_label(before[start:-1]):
            return match.group().strip('"“”„«»「」『』《》`\'‘’')
        return _MASK

    return _OPEN_QUOTE.sub(_MASK, _QUOTES.sub(masked, text))


def _is_label(title: str) -> bool:
    return _label(normalised(title).strip(' *"-#>')) is not _Label.NONE


def _lines(text: str) -> Iterator[_Line]:
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
                yield _Line(text=pending)
                pending = ''
            yield _Line(text=heading[1], heading=True, after_blank=after_blank)
            after_blank = False
            continue
        bullet = _BULLET.match(raw)
        body = (raw[bullet.end() :] if bullet else raw).replace('*', '').strip()
        if pending and not bullet:
            body, pending = f'{pending} {body}', ''
        elif pending:
            yield _Line(text=pending)
            pending = ''
        if ends_open(body) and len(body) < 5000:
            pending = body
            continue
        yield _Line(text=body, bullet=bullet is not None, after_blank=after_blank)
        after_blank = False
    if pending:
        yield _Line(text=pending)


def _set_apart(lines: list[_Line]) -> Iterator[_Line]:
    """Yield lines, telling of each whether it stands apart from the prose around it."""
    for before, line, after in zip([None, *lines], lines, [*lines[1:], None]):
        runs_on = before is not None and not before.heading and not line.after_blank
        runs_on = runs_on and not _TERMINATED.search(before.text if before else '')
        goes_on = after is not None and not (after.after_blank or after.heading or after.bullet)
        goes_on = goes_on and ':' not in (after.text if after else '')
        yield replace(line, apart=line.bullet or not (runs_on or goes_on))


def _sentences(line: str) -> list[tuple[str, str]]:
    """Return (sentence, its end marks) of a line."""
    parts: list[tuple[str, str]] = []
    start = 0
    for match in _SENTENCE_END.finditer(line):
        parts.append((line[start : match.start()], match.group()))
        start = match.end()
    if line[start:].strip():
        parts.append((line[start:], ''))
    return parts


class _Reader:
    """Takes in a text line by line and keeps what it commands."""

    def __init__(self) -> None:
        self._labelled: list[Command] = []
        self._plain: list[Command] = []
        self._label_error: ReplyError | None = None
        self._plain_error: ReplyError | None = None
        self._magnitudes: list[str] = []
        self._taken_back = False
        # Below "Options:" 'choice', then 'listed'; below "Example:", "Rejected:" for good 'past'.
        self._closed = ''
        self._introduced = ''  # 'first' or 'list': below any other heading
        self._expecting = _Label.NONE

    def conclusion(self, text: str) -> Command:
        """Return the one command.

        Raises:
            ReplyError: There is none, or there are several.
        """
        if self._label_error is not None:
            raise self._label_error
        command = single(self._labelled)
        if command is None:
            if self._plain_error is not None:
                raise self._plain_error
            command = single(self._plain)
        if command is not None and self._taken_back:
            raise ReplyError(f'It gives {command.action.value} and takes it back.')
        command = _required(command, text)
        numbers = set(self._magnitudes)
        if command.magnitude is None and len(numbers) == 1:
            quantity = read_quantity(numbers.pop())
            if quantity is not None:
                magnitude = magnitude_of(command.action, quantity)
                return Command(action=command.action, magnitude=magnitude)
        return command

    def read(self, line: _Line) -> None:
        """Take in one line."""
        low = normalised(line.text).strip(' :*.')
        if line.heading or line.text.rstrip(' *_').endswith((':', '：')):
            self._open_block(line, low)
            return
        if self._expecting is not _Label.NONE:
            kind = self._expecting
            if not line.bullet:
                self._expecting = _Label.NONE
            if ':' not in low and self._take_labelled(line.text, kind):
                return
        if self._closed == 'listed' and line.after_blank and not line.bullet:
            self._closed = ''
        if self._closed == 'choice' and line.bullet:
            self._closed = 'listed'
        barred = bool(self._closed)
        if self._introduced:
            inside = line.bullet or self._introduced == 'first'
            barred = barred or inside
            self._introduced = 'list' if inside and line.bullet else ''
        parts = [part for part in _sentences(line.text) if part[0].strip()]
        labelled = False
        for sentence, end in parts:
            if '?' in end or '？' in end:
                continue
            alone = len(parts) == 1 and line.apart
            labelled = self._read_sentence(sentence, alone, barred, labelled)

    def _open_block(self, line: _Line, low: str) -> None:
        kind = _label(low.rsplit(':', 1)[-1].strip())
        self._expecting = kind
        self._introduced = ''
        if kind is not _Label.NONE:
            self._closed = ''
        elif _CLOSING_HEADING.search(low) or is_reported(low):
            self._closed = 'choice' if _CHOICE_HEADING.search(low) else 'past'
        elif not line.heading:
            self._introduced = 'first'

    def _take_labelled(self, text: str, kind: _Label) -> bool:
        """Read what a label announces; return whether it was a command."""
        try:
            commands = [
                command
                for sentence, end in _sentences(text)
                if '?' not in end
                for command in commands_in(sentence, expected=True)
            ]
        except ReplyError as error:
            self._label_error = self._label_error or error
            return True
        if not commands and kind is _Label.STRONG:
            self._label_error = self._label_error or ReplyError(
                f'It names as its command {quoted(text)}, which is none.'
            )
        self._labelled += commands
        self._taken_back = self._taken_back and not commands
        return bool(commands)

    def _read_sentence(self, sentence: str, alone: bool, barred: bool, labelled: bool) -> bool:
        """Take in one sentence; return whether a label has been read in this line."""
        low = normalised(sentence).strip(' "*')
        if (self._plain or self._labelled) and (_TAKEN_BACK.match(low) or is_alternative(low)):
            self._taken_back = True
        segments = _COLON.split(sentence)
        if len(segments) == 1:
            if not barred:
                self._take_plain(sentence, alone, labelled)
            return labelled
        pieces = _PIECE.split(segments[0])
        before = ','.join(pieces[:-1])
        if before and not barred:
            self._take_plain(before, False, labelled)
        barred = barred or is_offered(before)
        label = pieces[-1]
        for index, segment in enumerate(segments[1:], 1):
            following = ''
            if index < len(segments) - 1:
                parts = _PIECE.split(segment)
                segment, following = ','.join(parts[:-1]), parts[-1]
            barred, labelled = self._read_pair(label, segment, barred, labelled)
            label = following
        return labelled

    def _read_pair(
        self, label: str, payload: str, barred: bool, labelled: bool
    ) -> tuple[bool, bool]:
        """Take in ``label: payload``; return whether the rest is barred, and labelled."""
        low = normalised(label).strip(' *"-#>')
        if _MAGNITUDE_LABEL.fullmatch(low):
            self._magnitudes.append(normalised(payload).strip(' *.'))
            return barred, labelled
        kind = _label(low)
        if kind is not _Label.NONE:
            if not barred and payload.strip():
                self._take_labelled(payload, kind)
            return barred, True
        if read_quantity(normalised(payload).strip(' *.')) is not None and not barred:
            self._take_plain(f'{label} {payload}', False, labelled)
        return barred or bool(_CLOSING_HEADING.search(low)) or is_offered(low), labelled

    def _take_plain(self, text: str, alone: bool, labelled: bool) -> None:
        try:
            commands = commands_in(text, expected=alone)
        except ReplyError as error:
            self._plain_error = self._plain_error or error
            return
        if any(c.action is Action.STOP for c in commands) and labelled:
            return
        self._plain += commands
        if labelled:
            self._labelled += commands


def _label(low: str) -> _Label:
    """Return what kind of label a normalised title is."""
    if _STRONG_LABEL.fullmatch(low) or low in _CHINESE_LABELS:
        return _Label.STRONG
    if _WEAK_LABEL.fullmatch(low) and not is_reported(low):
        return _Label.WEAK
    return _Label.NONE
