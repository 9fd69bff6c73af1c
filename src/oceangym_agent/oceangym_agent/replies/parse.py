"""Understanding a reply: exactly one command, or an error that the model is told."""

from __future__ import annotations

from dataclasses import replace

from oceangym_agent.replies.answer import answer_of
from oceangym_agent.replies.instructions import remedy
from oceangym_agent.replies.json_reply import read_json_reply
from oceangym_agent.replies.markers import read_marker_reply
from oceangym_agent.replies.reply import ParsedReply, ReplyError, ReplyStyle
from oceangym_core.contract.actions import ACTION_SETS, STRAIGHT
from oceangym_core.errors import OceanGymError


def parse_reply(text: str, *, style: ReplyStyle, actions: str = 'oceangym') -> ParsedReply:
    """Return what a reply says.

    Either style is understood whichever was asked for: a JSON object with the key ``action``, or
    OceanGym's markers with the command alone in the last line. Anything else is asked again.

    Args:
        text: As received.
        style: What the model was asked for; decides on the example in the error.
        actions: Name of the set of `ACTION_SETS` that it may choose from.

    Raises:
        ReplyError: It gives none, or several different commands, or one that cannot be carried
            out. The message says what was wrong, what is allowed, and shows an example.
    """
    try:
        answer = answer_of(text)
        reply = read_json_reply(answer)
        if reply is None:
            reply = read_marker_reply(answer)
        return _within(reply, actions)
    except ReplyError as error:
        told = remedy(style, actions)
        raise ReplyError(f'Your reply was not carried out. {error} {told}') from None


def _within(reply: ParsedReply, actions: str) -> ParsedReply:
    """Return a reply whose action is one of a set, and has the course that it says.

    Raises:
        ReplyError: It is none, or cannot be asked for such a course.
    """
    if reply.action not in ACTION_SETS[actions]:
        raise ReplyError(f'Its action is {reply.action.value!r}, which is no command.')
    if actions == 'oceangym':
        # The keys of a course mean nothing beside the paper's moves.
        return replace(reply, course=STRAIGHT)
    try:
        reply.course.check(reply.action)
    except OceanGymError as error:
        raise ReplyError(f'{error}.') from None
    return reply
