"""The commands that one sentence gives, and only those: nothing negated, supposed or reported."""

from __future__ import annotations

from dataclasses import dataclass
import re

from oceangym_agent.replies.limits import quoted
from oceangym_agent.replies.quantities import magnitude_of, QUANTITY, read_quantity
from oceangym_agent.replies.reply import ReplyError
from oceangym_agent.replies.vocabulary import (
    CHINESE,
    Form,
    FORMS,
    HOLD,
    MOVES,
    SEPARATED_QUANTITY,
    STOP,
)
from oceangym_core.contract import Action, Course, STRAIGHT

MAX_SENTENCE = 600


@dataclass(frozen=True, kw_only=True)
class Command:
    """One action as worded, checked."""

    action: Action
    magnitude: float | None = None
    course: Course = STRAIGHT


_SPLIT = re.compile(
    r',(?!\d)|[;|()\[\]]|\s[–—-]{1,3}\s|—|…|\.{2,}'
    r'|\b(?:and then|then|and|but|so(?! that)|therefore|thus|hence|instead(?! of))\b'
)
# What these introduce is no longer denied by the clause before them, when that is complete.
_CONTRASTS = frozenset({'but', 'so', 'therefore', 'thus', 'hence', 'instead'})
_LEAD = re.compile(
    r'(?:(?:so|then|next|now|therefore|thus|hence|finally|first|firstly|please|ok|okay|sure|alright|'
    r'instead(?! of)|just|simply|immediately|slowly|carefully|non stop|nonstop|and|'
    r'(?:continue|keep(?: on)?)(?= \w{2,12}ing\b)|continue to|'
    r"(?:i|we)(?: will|'ll| shall| must| should| need to| have to| am going to|'m going to"
    r"| are going to|'re going to| have decided to|'ve decided to| decide to| decided to"
    r"| choose to| chose to|'d like to| intend to| plan to)(?: now)?|let's|let us|let me|"
    r'you should|(?:the )?(?:auv|vehicle|robot|rov) (?:should|must|shall|needs to|has to)|'
    r'(?:my|the|our)(?: (?:next|final|best|chosen|safest|single|only|recommended|correct|right|'
    r'appropriate|navigation|control|movement)){0,3} '
    r'(?:command|action|move|decision|step|manoeuvre|maneuver|choice|answer|thing to do)(?: now| here)? '
    r'(?:is|will be|should be|must be)(?: now)?(?: to)?|it is (?:best|safest|time) to|'
    r'command|action)(?![\w-]),? *){0,6}'
)
_GERUND_LEAD = re.compile(r'\b(?:continue|keep|keep on) *$')
_TAIL = re.compile(
    r'(?:to|towards?|into|onto|in order|in place|because|since|as|for|along|over|past|around|away|from|'
    r'through|at|with|while|without|instead|rather than|slowly|carefully|gently|steadily|cautiously|'
    r'again|now|immediately|further|farther|more|here|ahead|above|below|beneath|under|near|closer|'
    r'beyond|across|between|so|vertically|horizontally|straight|directly|please|only|'
    r'non stop|nonstop)(?![\w-])'
)
_VAGUE = re.compile(
    r'\s*(?:slightly|(?:by |for )?(?:a )?(?:little|bit|few|couple|tad|small|short)\b|some(?:what)?\b'
    r'|several\b)'
)
_TARGET_VALUE = re.compile(
    rf'(?:to|at)(?: (?:a|an|the|about|around|approximately|depth|altitude|heading|z|of|speed|bearing'
    rf'|course|=)){{0,5}} ?={{0,1}} ?{QUANTITY}'
)
_RANGE = re.compile(r'\s*(?:-|–|to|or|and)\s*\d')
_LATER_QUANTITY = re.compile(rf'\b(?:by|for) ({QUANTITY})')
_CONDITION = re.compile(
    r'\b(?:(?<!see )(?<!check )(?<!verify )if|unless|until|till|once|whenever|provided|only when|when)\b'
)
# "Ascend towards the light is dangerous" speaks about it; "because it is dark" gives a reason.
_STATEMENT = re.compile(
    r'(?:(?!\b(?:because|since|as|where|what|which|that|who|while|if|whether)\b).)*'
    r"\b(?:is|are|was|were|would|could|might|has|had|isn't|wasn't|means|said|says)\b"
)
_OR = re.compile(r'\bor\b\s*')

_NEGATION = re.compile(
    r"\bnot\b|n't\b|\bdont\b|\bnever\b|\bcannot\b|\bavoid|\bwithout\b|\binstead of\b|"
    r'\brather than\b|\bno (?:need|reason|longer|more)\b|\brefus|\brefrain|\bforbid|\bforbade|'
    r'\bprohibit|\bagainst\b|\bneither\b|\bnor\b|\bunsafe\b|\bdangerous\b|\bstop\b|\bcease\b|'
    r'\bdecline|\breject|\bunable\b|\bfail|\bwrong\b|[❌✗✘🚫⛔✖]'
)
_DENIED_DIRECTION = re.compile(
    r'\b(?:not|never) (?:to )?(?:the )?(?:left|right|up|down|forward|back|port|starboard|ahead)'
)
_ALTERNATIVE = re.compile(r'(?:or|alternatively)\b(?: rather| else| even)?[ ,]*')
_DISMISSED = re.compile(
    r'(?:(?:is|was|would be) )?(?:not (?:allowed|possible|safe|recommended|advised|advisable|needed|'
    r'an option|permitted|now|yet|good|feasible|required|chosen|taken)|forbidden|prohibited|unsafe|'
    r'dangerous|rejected|blocked|invalid|wrong|incorrect|bad|too (?:risky|dangerous)|risky|impossible|'
    r'no$|not$|nope|wait$|actually no|never mind|scratch that|cancel|just kidding)\b'
)
_CLOSED = re.compile(r'\s*(?:instead of|rather than)\b')
_ENDS_OPEN = re.compile(
    r'(?:\bto|\bnot|\bor|\band|\bthe|\bnever|\bof|\bthan|\bwithout|\bavoid|\bfrom|\bby|\bwith|\ba'
    r'|\bbe|\bis|\bshould|\bmust|\bwould|\bwill|\bcould|\bcan|\bmay|\bmight|\bdo|\bcannot|\bif'
    r"|n't|,)$"
)
# What is supposed, offered or said by somebody else.
_REPORTED = re.compile(
    r'\b(?:if|unless|when|whenever|whether|suppose|assuming|in case|once|said|says|say|told|tells|'
    r'asked|asks|instruct(?:s|ed|ion|ions)?|prompt|example|for instance|e\.? ?g|quotes?|quoted|'
    r'reads|wrote|writes|written|options?|alternatives?|alternatively|choices?|either|'
    r'commands (?:are|include))\b'
)
_SUPPOSED = re.compile(
    r'\b(?:would|could|might|may|maybe|perhaps|possibly|consider(?:ed|ing)?|previous(?:ly)?|last|'
    r'earlier|tempted|wanted|wonder)\b'
)
_CAMEL = re.compile(r'(?<=[a-z]{4})(?=[A-Z][a-z])')  # moveForward
_EDGE = ' \t"\'`*_~.,:;!()[]{}/\\-–—→⬆⬇⬅➡↑↓←•✅✓✔🔼🔽\ufe0f'


def ends_open(text: str) -> bool:
    """Tell whether a line breaks off within a phrase, so that the next line belongs to it."""
    return _ENDS_OPEN.search(text.strip()[-40:].lower()) is not None


def is_reported(text: str) -> bool:
    """Tell whether a text introduces what somebody else says, an example or something refused."""
    return bool(_REPORTED.search(text) or _NEGATION.search(text) or _SUPPOSED.search(text))


def is_alternative(text: str) -> bool:
    """Tell whether a text offers a second way to move after the first."""
    offer = _ALTERNATIVE.match(text.strip(_EDGE).lower())
    return offer is not None and bool(
        MOVES.search(text.lower()) or _longest(text.strip(_EDGE).lower(), offer.end(), True, True)
    )


def is_offered(text: str) -> bool:
    """Tell whether a text introduces an example, an option or another speaker's words."""
    return bool(_REPORTED.search(text.lower()) or _SUPPOSED.search(text.lower()))


def normalised(text: str) -> str:
    """Return a sentence in the form that the patterns expect."""
    words = (
        _CAMEL.sub(' ', text[: 2 * MAX_SENTENCE])
        .lower()
        .replace('’', "'")
        .replace('−', '-')
        .replace('_', ' ')
        .replace('≈', '~')
    )
    words = re.sub(r'(?<=[a-z])-(?=[a-z])', ' ', words)
    return ' '.join(words.split()).replace('hundred and ', 'hundred ')


def commands_in(sentence: str, *, expected: bool) -> list[Command]:
    """Return the commands of one sentence; several if it gives several, none if it is endless.

    Args:
        sentence: Without its full stop.
        expected: A command is all that belongs here (a JSON value, after ``Action:``, a line of
            its own), so that single words such as ``left`` count.

    Raises:
        ReplyError: It gives a command that cannot be carried out as worded.
    """
    if len(sentence) > MAX_SENTENCE:
        return []
    text = normalised(sentence).strip(_EDGE)
    for action, wording in ((Action.STOP, STOP), (Action.HOLD, HOLD)):
        if wording.fullmatch(_without_repeats(text)):
            return [Command(action=action)]
    chinese = _chinese(text)
    if chinese is not None:
        return [chinese]
    return _chunks(normalised(sentence), expected)


def _without_repeats(text: str) -> str:
    words = re.split(r'[\s,.!]+', text)
    return words[0] if len(set(words)) == 1 else text


def _chinese(text: str) -> Command | None:
    match = re.fullmatch(r'([\u4e00-\u9fff]{2,8}?)\s*(\d.{0,20})?', text)
    if match is None or match[1] not in CHINESE:
        return None
    action = CHINESE[match[1]]
    quantity = read_quantity(match[2]) if match[2] else None
    if match[2] and quantity is None:
        return None
    return Command(
        action=action, magnitude=None if quantity is None else magnitude_of(action, quantity)
    )


def _chunks(text: str, expected: bool) -> list[Command]:
    found: list[Command] = []
    first_is_bare = unread = negated = reported = False
    start = 0
    for separator in [*_SPLIT.finditer(text), None]:
        chunk = text[start : separator.start() if separator else len(text)].strip()
        start = separator.end() if separator else start
        if not (negated or reported) and chunk.strip(_EDGE):
            before = len(found)
            amended = _amended(found, chunk)
            if not amended:
                bare = _read_chunk(chunk, (expected and not unread) or before > 0, found)
                first_is_bare = first_is_bare or (bare and before == 0)
            lead = _LEAD.fullmatch(chunk.strip(_EDGE))
            unread = unread or (not amended and len(found) == before and lead is None)
        if _REPORTED.search(chunk) or (_moves(chunk) and _SUPPOSED.search(chunk)):
            reported = True
        if _NEGATION.search(chunk) and not _CLOSED.match(chunk):
            negated = negated or _moves(chunk) or bool(_DENIED_DIRECTION.search(chunk))
        word = separator.group() if separator else ''
        if word == 'but' or (word in _CONTRASTS and not chunk):
            negated = negated and ends_open(chunk)
    # "Left and front are clear" describes; "left" alone, or "left, 10 m", commands.
    return [] if first_is_bare and (unread or negated or reported) else found


def _moves(chunk: str) -> bool:
    return MOVES.search(chunk) is not None or ends_open(chunk)


def _amended(found: list[Command], chunk: str) -> bool:
    """Tell whether a clause only adds the magnitude of the command before it, and add it.

    Raises:
        ReplyError: It takes the command back instead.
    """
    if not found:
        return False
    if _DISMISSED.match(chunk.strip(_EDGE)):
        raise ReplyError(f'It gives {found[-1].action.value} and takes it back.')
    if is_alternative(chunk):
        raise ReplyError(f'It gives {found[-1].action.value} or something else.')
    alone = re.fullmatch(SEPARATED_QUANTITY, chunk.strip(_EDGE.replace('-', '')))
    quantity = read_quantity(alone['after']) if alone else None
    if quantity is None:
        return False
    action = found[-1].action
    magnitude = magnitude_of(action, quantity)
    if found[-1].magnitude not in (None, magnitude):
        raise ReplyError(f'It gives {action.value} with two magnitudes.')
    found[-1] = Command(action=action, magnitude=magnitude)
    return True


def _read_chunk(chunk: str, expected: bool, found: list[Command]) -> bool:
    """Add the commands of one clause to `found`; return whether the first was a single word."""
    if re.match(r'[^\w]*[❌✗✘🚫⛔✖]', chunk):
        return False
    text = chunk.strip(_EDGE)
    lead = _LEAD.match(text)
    position = lead.end() if lead else 0
    kept_up = _GERUND_LEAD.search(text[:position]) is not None
    gerund = expected or kept_up
    given: list[Command] = []
    first_is_bare = False
    while position < len(text):
        match = _longest(text, position, expected, gerund)
        if match is None:
            _refuse_stop(text[position:])
            return False
        form, end, middle = match
        first_is_bare = first_is_bare or (
            not given and (form.bare or (form.gerund and not kept_up))
        )
        command, position = _with_tail(form, text, end, middle)
        if command is None:
            return False
        given.append(command)
        expected = gerund = True
    found.extend(given)
    return first_is_bare


def _longest(
    text: str, position: int, bare: bool, gerund: bool
) -> tuple[Form, int, str | None] | None:
    best: tuple[Form, int, str | None] | None = None
    for form in FORMS:
        if (form.bare and not bare) or (form.gerund and not gerund):
            continue
        match = form.pattern.match(text, position)
        if match is not None and (best is None or match.end() > best[1]):
            best = form, match.end(), match.groupdict().get('middle')
    return best


def _refuse_stop(text: str) -> None:
    """Tell a model that hints at stopping how to say what it means."""
    if re.match(
        r'(?:full stop|all stop|come to a (?:full )?stop|halt|freeze|stop)(?![\w-])', text
    ):
        raise ReplyError(
            f'{quoted(text)} is ambiguous: the single word stop ends the whole episode, '
            'hold keeps the vehicle where it is.'
        )


def _with_tail(form: Form, text: str, end: int, middle: str | None) -> tuple[Command | None, int]:
    """Return the command with what follows it; None where that makes it something else."""
    number = middle
    after = re.compile(SEPARATED_QUANTITY).match(text, end)
    if after is not None:
        if number is not None:
            raise ReplyError(f'{quoted(text)} holds two magnitudes.')
        number, end = after['after'], after.end()
    rest = text[end:]
    if number is not None and _RANGE.match(rest):
        raise ReplyError(f'{quoted(text)} gives a range; give one number.')
    tail = rest.strip(_EDGE)
    if _VAGUE.match(rest):
        raise ReplyError(
            f'{quoted(text)} does not say how far; give a number of metres or degrees.'
        )
    if tail and not _CONDITION.match(tail) and (form.bare or not _TAIL.match(tail)):
        # Perhaps the same command again, as in "ascend ascend ascend".
        again = _longest(tail, 0, True, True)
        if again is None:
            return None, len(text)
        end = len(text) - len(rest) + rest.index(tail)
        return _command(form.action, number, text), end
    if _STATEMENT.match(tail):
        return None, len(text)
    if _CONDITION.search(tail):
        raise ReplyError(
            f'{quoted(text)} is conditional; look at the views, decide, and give one command.'
        )
    if _TARGET_VALUE.match(tail):
        raise ReplyError(
            f'{quoted(text)} names a depth, heading or speed to reach; '
            'the magnitude is the distance or angle to move.'
        )
    for match in _OR.finditer(tail):
        if _longest(tail, match.end(), True, True) is not None:
            raise ReplyError(f'{quoted(text)} offers alternatives.')
    later = _LATER_QUANTITY.search(tail)
    if number is None and later is not None:
        number = later[1]
    return _command(form.action, number, text), len(text)


def _command(action: Action, number: str | None, text: str) -> Command:
    if number is None:
        return Command(action=action)
    quantity = read_quantity(number)
    if quantity is None:
        raise ReplyError(f'The number in {quoted(text)} cannot be read.')
    return Command(action=action, magnitude=magnitude_of(action, quantity))


def single(commands: list[Command]) -> Command | None:
    """Return the one command that was given, however often; None if there was none.

    Raises:
        ReplyError: They differ.
    """
    if not commands:
        return None
    actions = list(dict.fromkeys(command.action for command in commands))
    if len(actions) > 1:
        names = ', '.join(action.value for action in actions[:5])
        raise ReplyError(f'It gives {len(actions)} different commands ({names}).')
    magnitudes = {c.magnitude for c in commands if c.magnitude is not None}
    if len(magnitudes) > 1:
        numbers = ', '.join(f'{value:g}' for value in sorted(magnitudes)[:5])
        raise ReplyError(f'It gives {actions[0].value} with different magnitudes ({numbers}).')
    courses = {command.course for command in commands}
    if len(courses) > 1:
        raise ReplyError(f'It gives {actions[0].value} on {len(courses)} different courses.')
    return Command(action=actions[0], magnitude=next(iter(magnitudes), None), course=courses.pop())
