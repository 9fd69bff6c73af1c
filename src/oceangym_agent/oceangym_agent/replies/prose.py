"""The one command in free text."""

from __future__ import annotations

import re

from oceangym_agent.replies.labels import (
    CHOICE_HEADING,
    CLOSING_HEADING,
    Label,
    label_of,
    MAGNITUDE_LABEL,
)
from oceangym_agent.replies.limits import quoted
from oceangym_agent.replies.lines import (
    BULLET,
    Line,
    lines_of,
    masked_text,
    plain_text,
    sentences_of,
    unwrapped,
)
from oceangym_agent.replies.phrases import (
    Command,
    commands_in,
    is_alternative,
    is_offered,
    is_reported,
    MAX_SENTENCE,
    normalised,
    single,
)
from oceangym_agent.replies.quantities import magnitude_of, NO_MAGNITUDE, read_quantity
from oceangym_agent.replies.reply import ReplyError

_COLON = re.compile(r'(?<!\d)[:：](?!//)|[:：](?![\d/])')
_LABELLED = re.compile(r'\W*(?:\w+ ){0,3}(?:command|action|magnitude)\W*[:：]', re.IGNORECASE)
_PIECE = re.compile(r'[,;|—]|\s-\s')

_TAKEN_BACK = re.compile(
    r'(?:no(?:pe)?|wait|actually|scratch that|never mind|nevermind|cancel\w*|correction|on second thought'
    r'|hold on|sorry|oops|just kidding)\b(?=\s*(?:$|[,.!—–-])|\s+(?:that|this|the above)\b)'
)


def find_command(text: str) -> Command:
    """Return the one command that a text gives.

    A command after a label (``Command: ascend``) goes before what the text says beside it.

    Raises:
        ReplyError: There is none, or there are several.
    """
    text = plain_text(text)
    whole = unwrapped(BULLET.sub('', text.strip()))
    if len(whole) <= MAX_SENTENCE and not re.search(r'[\n:：?？]', whole):
        parts = [sentence for sentence, _ in sentences_of(masked_text(whole)) if sentence.strip()]
        if len(parts) == 1:
            return _required(single(commands_in(parts[0], expected=True)), text)
    reader = _Reader()
    for line in lines_of(masked_text(text)):
        reader.read(line)
    return reader.conclusion(text)


def read_value(text: str) -> list[Command]:
    """Return the commands of a text that should be a command and nothing else."""
    if len(text) > MAX_SENTENCE:
        return []
    whole = unwrapped(plain_text(text).strip())
    if '\n' in whole:
        return [find_command(whole)]
    return [
        command
        for sentence, end in sentences_of(masked_text(whole))
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
        self._expecting = Label.NONE

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
        return self._with_magnitude(_required(command, text))

    def _with_magnitude(self, command: Command) -> Command:
        """Return a command with the magnitude that stands under a label of its own."""
        magnitudes = {command.magnitude} - {None}
        for number in self._magnitudes:
            quantity = read_quantity(number)
            if quantity is None:
                raise ReplyError(f'It names as its magnitude {quoted(number)}; give one number.')
            magnitudes.add(magnitude_of(command.action, quantity))
        if len(magnitudes) > 1:
            raise ReplyError(f'It gives {command.action.value} with several magnitudes.')
        return Command(action=command.action, magnitude=next(iter(magnitudes), None))

    def read(self, line: Line) -> None:
        """Take in one line."""
        low = normalised(line.text).strip(' :*.')
        if line.heading or line.text.rstrip(' *_').endswith((':', '：')):
            self._open_block(line, low)
            return
        if self._expecting is not Label.NONE:
            kind = self._expecting
            if not line.bullet:
                self._expecting = Label.NONE
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
        parts = [part for part in sentences_of(line.text) if part[0].strip()]
        labelled = False
        for sentence, end in parts:
            if '?' in end or '？' in end:
                continue
            alone = len(parts) == 1 and line.apart
            # A label counts below "Here is what I do:", though plain words there might be quoted.
            whose = bool(self._closed) if _LABELLED.match(sentence) else barred
            labelled = self._read_sentence(sentence, alone, whose, labelled)

    def _open_block(self, line: Line, low: str) -> None:
        kind = label_of(low.rsplit(':', 1)[-1].strip())
        self._expecting = kind
        self._introduced = ''
        if kind is not Label.NONE:
            self._closed = ''
        elif CLOSING_HEADING.search(low) or is_reported(low):
            self._closed = 'choice' if CHOICE_HEADING.search(low) else 'past'
        elif not line.heading:
            self._introduced = 'first'

    def _take_labelled(self, text: str, kind: Label) -> bool:
        """Read what a label announces; return whether it was a command."""
        try:
            commands = [
                command
                for sentence, end in sentences_of(text)
                if '?' not in end
                for command in commands_in(sentence, expected=True)
            ]
        except ReplyError as error:
            self._label_error = self._label_error or error
            return True
        if not commands and kind is Label.STRONG:
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
        if MAGNITUDE_LABEL.fullmatch(low):
            number = normalised(payload).strip(' *."')
            if not barred and number not in NO_MAGNITUDE:
                self._magnitudes.append(number)
            return barred, labelled
        kind = label_of(low)
        if kind is not Label.NONE:
            if not barred and payload.strip():
                self._take_labelled(payload, kind)
            return barred, True
        if read_quantity(normalised(payload).strip(' *.')) is not None and not barred:
            self._take_plain(f'{label} {payload}', False, labelled)
        return barred or bool(CLOSING_HEADING.search(low)) or is_offered(low), labelled

    def _take_plain(self, text: str, alone: bool, labelled: bool) -> None:
        try:
            commands = commands_in(text, expected=alone)
        except ReplyError as error:
            self._plain_error = self._plain_error or error
            return
        self._plain += commands
        if labelled:
            self._labelled += commands
