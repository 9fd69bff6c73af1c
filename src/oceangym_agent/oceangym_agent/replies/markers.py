"""OceanGym's reply format: ``## views ##``, ``$$ find @@@ .. $$``, special objects, one command."""

from __future__ import annotations

import re

from oceangym_agent.replies.finds import cut_out_finds
from oceangym_agent.replies.limits import MAX_REASON, MAX_SPECIAL_OBJECTS, MAX_TEXT, tidy
from oceangym_agent.replies.magnitudes import DEGREES, magnitude_of, METRES, NUMBER, number_of
from oceangym_agent.replies.reply import ParsedReply, ReplyError
from oceangym_core.contract.actions import Action, Course, DIRECTIONS
from oceangym_core.record.memory_files import ACTION_WORDS

_VIEWS = re.compile(r'(?<!#)#{2,}(?:(?P<inside>[^#]*)#{2,}|(?P<open>[^#\n]*)$)', re.MULTILINE)
_SPECIAL = re.compile(
    r'(?<!\*)\*{2,3}\s{0,9}special objects? detected\s*:?\**\s*:?(?P<inside>[^*\n#$]*)(?:\*{2,3})?',
    re.I,
)
_VIEW = re.compile(rf'\b({"|".join(DIRECTIONS)})\s*:', re.IGNORECASE)

_WORDS = {word: action for action, word in ACTION_WORDS.items() if word} | {'hold': Action.HOLD}
_WORD = '|'.join(re.escape(word) for word in sorted(_WORDS, key=len, reverse=True))
_METRES, _DEGREES = (rf'{NUMBER}(?:\s?(?:{unit}))?' for unit in (METRES, DEGREES))
_COMMAND = re.compile(
    rf'(?:(?:action|command)\s*:\s*)?(?P<word>{_WORD})(?:\s(?P<magnitude>{NUMBER}(?:\s?[a-z°]+)?))?'
    rf'(?:,? turn (?P<turn>{_DEGREES}))?'
    rf'(?:,? climb (?P<climb>{_METRES})|,? altitude (?P<altitude>{_METRES}))?'
)
# Beside the command these make it doubtful which one is meant, or whether it is meant at all.
_DOUBT = re.compile(
    r'\b(?:ascend|descend|move|rotate|turn|go|hold|stop|forward|backward|example|instead|previous|option)',
    re.IGNORECASE,
)


def read_marker_reply(text: str) -> ParsedReply:
    """Return the reply written in OceanGym's format.

    The command stands alone in the last line. Sentences before it are allowed as long as they end
    as sentences do and speak of no command.

    Raises:
        ReplyError: There is no such command, or it is not the only one.
    """
    text, finds = cut_out_finds(text)
    special = [match['inside'] for match in _SPECIAL.finditer(text)]
    text = _SPECIAL.sub('\n', text)
    views = ' '.join(match['inside'] or match['open'] or '' for match in _VIEWS.finditer(text))
    said, line = _last_line(_VIEWS.sub('\n', text))
    action, magnitude, course = _command(line)
    if said and (said[-1] not in '.!)' or _DOUBT.search(said)):
        raise ReplyError(
            'Beside the command in its last line it says more than what is seen; '
            'give the command alone.'
        )
    return ParsedReply(
        action=action,
        magnitude=magnitude,
        course=course,
        environment=_environment(views[: 10 * MAX_REASON]),
        special_objects=_special_objects(special),
        finds=finds,
        reason=tidy(said, MAX_REASON),
    )


def _last_line(text: str) -> tuple[str, str]:
    """Return the text before the last line that is not empty, and that line without emphasis."""
    before, _, line = text.strip(' \t\n`*').rpartition('\n')
    return before.strip(' \t\n`*'), line.replace('**', '').strip(' \t`*.')


def _command(line: str) -> tuple[Action, float | None, Course]:
    """Return the command that a line is.

    Raises:
        ReplyError: It is none, or cannot be carried out.
    """
    match = _COMMAND.fullmatch(' '.join(line.lower().split()))
    if match is None:
        raise ReplyError('Its last line is not one command alone.')
    action = _WORDS[match['word']]
    values = {
        'turn_deg': number_of(match['turn'], 'deg'),
        'climb_m': number_of(match['climb'], 'm'),
        'altitude_m': number_of(match['altitude'], 'm'),
    }
    if action is not Action.GO and any(value is not None for value in values.values()):
        raise ReplyError(f'Its last line asks for more than {match["word"]}.')
    course = Course(**{name: value or None for name, value in values.items()})
    return action, magnitude_of(action, match['magnitude']), course


def _environment(text: str) -> dict[str, str]:
    """Return the views of ``Left: sand Right: rock ..``."""
    views: dict[str, str] = {}
    matches = list(_VIEW.finditer(text))
    for match, following in zip(matches, [*matches[1:], None]):
        end = following.start() if following else len(text)
        seen = tidy(text[match.end() : end][: 4 * MAX_TEXT], MAX_TEXT).strip(' ,;-*')
        if seen:
            views.setdefault(match[1].lower(), seen)
    return views


def _special_objects(blocks: list[str]) -> tuple[str, ...]:
    names = [
        tidy(name, MAX_TEXT).strip(' .') for block in blocks for name in re.split('[,;]', block)
    ]
    kept = dict.fromkeys(name for name in names if name and name.lower() != 'none')
    return tuple(kept)[:MAX_SPECIAL_OBJECTS]
