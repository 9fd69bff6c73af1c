"""OceanGym's reply format: ``## views ##``, ``$$ find @@@ .. $$``, special objects, one command."""

from __future__ import annotations

import re

from oceangym_agent.replies.finds import distinct, find_in_marker
from oceangym_agent.replies.limits import (
    MAX_FINDS,
    MAX_REASON,
    MAX_SPECIAL_OBJECTS,
    MAX_TEXT,
    tidy,
)
from oceangym_agent.replies.phrases import Command, normalised
from oceangym_agent.replies.prose import find_command
from oceangym_agent.replies.quantities import magnitude_of, NUMBER, read_quantity
from oceangym_agent.replies.reply import Find, ParsedReply, ReplyError
from oceangym_agent.replies.views import environment_in
from oceangym_core.contract import Action, Course

_SPECIAL = re.compile(r'\*{2,3}\s*special objects?(?: detected)?\s*:?\**\s*:?', re.IGNORECASE)
_SPECIAL_END = re.compile(r'\*{2,}|\n|##|\$\$')
# A short line after hashes is a heading of markdown, not the start of OceanGym's block.
_MARKDOWN_HEADING = re.compile(
    r'^[ \t]*#{1,6}[ \t]+(?!.*environment)([^#:\n]{1,80}:?)[ \t]*#*[ \t]*$', re.M | re.I
)
_METRES, _DEGREES = (
    rf'{NUMBER}(?: ?(?:{unit}))?' for unit in ('m|metres?|meters?', 'deg|degrees?|°')
)
_GO = re.compile(
    rf'go(?: (?P<way>{_METRES}))?(?:,? turn (?P<turn>{_DEGREES}))?'
    rf'(?:,? climb (?P<climb>{_METRES})|,? altitude (?P<altitude>{_METRES}))?'
)
_IN_ITS_PLACE = ('move forward', 'move backward')
_HASHES = re.compile(r'#{2,}')
_DOLLARS = re.compile(r'\${2,}')
_NOTHING = re.compile(r'(?:none|no|n/?a|nothing|-)\b.{0,40}', re.IGNORECASE)


def read_marker_reply(text: str) -> ParsedReply:
    """Return the reply written with OceanGym's markers, or in free text.

    Raises:
        ReplyError: Outside of the markers there is not exactly one command.
    """
    text = _MARKDOWN_HEADING.sub(r'# \1', text)
    text, specials = _cut_out_special(text)
    text, found_blocks = _cut_out(text, _DOLLARS)
    text, views = _cut_out(text, _HASHES)
    finds = [find for block in found_blocks if (find := find_in_marker(block)) is not None]
    text, loose = _loose_finds(text)
    command = _go(text) or find_command(text)
    said = tidy(text, MAX_REASON)
    return ParsedReply(
        action=command.action,
        magnitude=command.magnitude,
        course=command.course,
        environment=environment_in(' '.join(views)[: 10 * MAX_REASON]),
        special_objects=_special_objects(specials),
        finds=distinct([*finds, *loose]),
        reason=said if len(said.split()) > 6 else '',
    )


def _go(text: str) -> Command | None:
    """Return the command of the extended actions that stands alone in the last line, if one does.

    Raises:
        ReplyError: Its distance cannot be flown, or it is not the one command of the text.
    """
    *before, line = text.strip().split('\n')
    match = _GO.fullmatch(normalised(line).strip(' .`*'))
    if match is None:
        return None
    try:
        # What holds for any other command in its place holds for it: no second one, no example.
        for word in _IN_ITS_PLACE:
            find_command('\n'.join([*before, word]))
    except ReplyError:
        raise ReplyError('It gives another command beside go, or go as an example only.') from None
    way, turn, climb, altitude = (
        read_quantity(match[name] or '') for name in ('way', 'turn', 'climb', 'altitude')
    )
    return Command(
        action=Action.GO,
        magnitude=None if way is None else magnitude_of(Action.GO, way),
        course=Course(
            turn_deg=None if turn is None else turn.value or None,
            climb_m=None if climb is None else climb.value or None,
            altitude_m=None if altitude is None else altitude.value or None,
        ),
    )


def _cut_out(text: str, marker: re.Pattern[str]) -> tuple[str, list[str]]:
    """Return a text without the parts between pairs of a marker, and these parts.

    A part that is never closed ends with its line.
    """
    kept: list[str] = []
    inside: list[str] = []
    position = 0
    while (start := marker.search(text, position)) is not None:
        kept.append(text[position : start.start()])
        end = marker.search(text, start.end())
        if end is not None:
            inside.append(text[start.end() : end.start()])
            position = end.end()
            continue
        line_end = text.find('\n', start.end())
        if not text[start.end() : line_end if line_end >= 0 else len(text)].strip():
            line_end = text.find('\n', line_end + 1) if line_end >= 0 else -1
        position = line_end if line_end >= 0 else len(text)
        inside.append(text[start.end() : position])
    kept.append(text[position:])
    return '\n'.join(kept), [part for part in inside if part.strip()]


def _cut_out_special(text: str) -> tuple[str, list[str]]:
    """Return a text without ``*** SPECIAL OBJECTS DETECTED: .. ***``, and what these name."""
    kept: list[str] = []
    inside: list[str] = []
    position = 0
    while (start := _SPECIAL.search(text, position)) is not None:
        kept.append(text[position : start.start()])
        end = _SPECIAL_END.search(text, start.end())
        stop = end.start() if end else len(text)
        inside.append(text[start.end() : stop])
        position = end.end() if end and end.group().startswith('*') else stop
    kept.append(text[position:])
    return '\n'.join(kept), inside


def _special_objects(blocks: list[str]) -> tuple[str, ...]:
    names: list[str] = []
    for block in blocks[:MAX_SPECIAL_OBJECTS]:
        line = tidy(block, 4 * MAX_TEXT).strip(' .,;')
        parts = line.split(';') if ';' in line else line.split(',')
        # A comma within a sentence separates no names.
        if ';' not in line and any(len(part.split()) > 5 for part in parts):
            parts = [line]
        names += [tidy(part, MAX_TEXT) for part in parts]
    kept = dict.fromkeys(name for name in names if name and not _NOTHING.fullmatch(name))
    return tuple(kept)[:MAX_SPECIAL_OBJECTS]


def _loose_finds(text: str) -> tuple[str, list[Find]]:
    """Return a text without lines that hold ``@@@`` though no ``$$``, and their finds."""
    kept: list[str] = []
    finds: list[Find] = []
    for line in text.split('\n'):
        if '@@@' not in line:
            kept.append(line)
            continue
        find = find_in_marker(line) if len(finds) < MAX_FINDS else None
        if find is not None:
            finds.append(find)
    return '\n'.join(kept), finds
