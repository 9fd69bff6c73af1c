"""The answer within a raw reply: without thoughts, boxes and the turns that a model invents."""

from __future__ import annotations

import re
import unicodedata

from oceangym_agent.replies.limits import MAX_ANSWER_CHARS, MAX_REPLY_CHARS
from oceangym_agent.replies.reply import ReplyError

_THOUGHT = re.compile(
    r'<(/?)(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)>|◁(/?)think▷',
    re.IGNORECASE,
)
_FINAL_CHANNEL = '<|channel|>final<|message|>'
_BOX = re.compile(r'<\|begin_of_box\|>|<(?:answer|final_answer)>', re.IGNORECASE)
_BOX_END = re.compile(r'<\|end_of_box\|>|</(?:answer|final_answer)>', re.IGNORECASE)
# A model that goes on with the next turn of the conversation speaks for somebody else.
_NEXT_TURN = re.compile(
    r'<\|(?:im_start|start_header_id|start)\|>\s*(?:user|system|tool)|<start_of_turn>\s*user|<\|user\|>'
)
_TOKEN = re.compile(r'<\|im_start\|>\s{0,9}assistant|<\|[^<>|\n]{1,40}\|>|</s>|<end_of_turn>')
_INVISIBLE = re.compile('[\u200b-\u200d\u2060\ufeff]')


def answer_of(text: str) -> str:
    """Return the part of a reply that is meant as its answer.

    Raises:
        ReplyError: It is empty, or longer than any answer.
    """
    text = text.strip()
    if len(text) > MAX_REPLY_CHARS:
        raise ReplyError(_too_long(len(text)))
    text = _NEXT_TURN.split(_without_thoughts(text), 1)[0].strip()
    if len(text) > MAX_ANSWER_CHARS:
        raise ReplyError(_too_long(len(text)))
    boxes = _BOX.split(text)
    if len(boxes) > 1:
        text = '\n\n'.join(_BOX_END.split(box, 1)[0] for box in boxes[1:])
    text = _TOKEN.sub('\n', _INVISIBLE.sub('', text)).replace('\r\n', '\n').strip()
    if not text:
        raise ReplyError('It holds no answer.')
    return unicodedata.normalize('NFC', text)


def _too_long(length: int) -> str:
    return (
        f'It has {length} characters; at most {MAX_ANSWER_CHARS} are read. '
        'Answer once and in a few sentences.'
    )


def _without_thoughts(text: str) -> str:
    """Return the text outside of thoughts; what follows a thought that is never closed is lost."""
    if _FINAL_CHANNEL in text:
        return text.rsplit(_FINAL_CHANNEL, 1)[1]
    if '<|channel|>analysis' in text:
        return ''
    kept: list[str] = []
    depth = position = 0
    for match in _THOUGHT.finditer(text):
        if depth == 0:
            kept.append(text[position : match.start()])
        position = match.end()
        if match[1] == '/' or match[2] == '/':
            # Templates that open the thought themselves return only its end.
            if depth == 0:
                kept.clear()
            depth = max(0, depth - 1)
        else:
            depth += 1
    if depth == 0:
        kept.append(text[position:])
    return '\n'.join(kept)
