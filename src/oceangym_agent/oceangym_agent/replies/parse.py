"""Understanding a reply: exactly one command, or an error that the model is told."""

from __future__ import annotations

from oceangym_agent.replies.instructions import remedy
from oceangym_agent.replies.json_reply import read_json_reply
from oceangym_agent.replies.markers import read_marker_reply
from oceangym_agent.replies.reply import ParsedReply, ReplyError, ReplyStyle
from oceangym_agent.replies.wrappers import answer_of


def parse_reply(text: str, *, style: ReplyStyle) -> ParsedReply:
    """Return what a reply says.

    Either style is understood whichever was asked for: JSON that names an action goes before any
    text beside it, and text without JSON is read for markers and one command. Nothing that is
    negated, quoted, supposed or asked ever counts as a command.

    Args:
        text: As received.
        style: What the model was asked for; decides on the example in the error.

    Raises:
        ReplyError: It gives none, or several different commands, or one that cannot be carried
            out. The message says what was wrong, what is allowed, and shows an example.
    """
    try:
        answer = answer_of(text)
        reply = read_json_reply(answer)
        return read_marker_reply(answer) if reply is None else reply
    except ReplyError as error:
        raise ReplyError(f'Your reply was not carried out. {error} {remedy(style)}') from None
