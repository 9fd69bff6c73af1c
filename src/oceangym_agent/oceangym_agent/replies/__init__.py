"""From a model's raw reply to one command."""

from oceangym_agent.replies.instructions import format_instructions, reply_schema
from oceangym_agent.replies.parse import parse_reply
from oceangym_agent.replies.reply import Find, ParsedReply, ReplyError, ReplyStyle

__all__ = [
    'Find',
    'ParsedReply',
    'ReplyError',
    'ReplyStyle',
    'format_instructions',
    'parse_reply',
    'reply_schema',
]
