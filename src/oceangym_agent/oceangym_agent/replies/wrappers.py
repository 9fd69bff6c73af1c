"""What models wrap around their answer: thoughts, boxes, tags, markup."""

from __future__ import annotations

from collections.abc import Iterator
import html
import re

from oceangym_agent.replies.limits import MAX_ANSWER_CHARS, MAX_REPLY_CHARS
from oceangym_agent.replies.reply import ReplyError

_THOUGHT = re.compile(
    r'<(/?)(?:think|thinking|thoughts?|reasoning|reflection|scratchpad|analysis)>|◁(/?)think▷',
    re.IGNORECASE,
)
_FINAL_CHANNEL = '<|channel|>final<|message|>'
_BOX = (re.compile(r'<\|begin_of_box\|>'), re.compile(r'<\|end_of_box\|>'))
_ANSWER = (
    re.compile(r'<(?:answer|final_answer|output|response)>', re.IGNORECASE),
    re.compile(r'</(?:answer|final_answer|output|response)>', re.IGNORECASE),
)
# Markup whose content is not said: struck out, quoted, commented out, code of a page.
_UNSAID = (
    re.compile(
        r'<!--|<(?:del|s|strike|blockquote|q|script|style|title)(?:\s[^<>\n]{0,200})?>', re.I
    ),
    re.compile(r'-->|</(?:del|s|strike|blockquote|q|script|style|title)>', re.IGNORECASE),
)
_COMMAND_TAG = re.compile(
    r'<(action|command|move)>\s*([^<>]{0,300}?)\s*</(?:action|command|move)>', re.IGNORECASE
)
_LATEX_BOX = re.compile(
    r'\${0,2}[ \t]{0,4}\\(?:boxed|fbox)'
    r'\{([^{}\n]{0,200}(?:\{[^{}\n]{0,200}\})?[^{}\n]{0,50})\}[ \t]{0,4}\${0,2}'
)
_LATEX_TEXT = re.compile(
    r'\\(?:text|textbf|textit|texttt|mathrm|mathbf|emph|mbox)\{([^{}\n]{0,200})\}'
)
# A model that goes on with the next turn of the conversation speaks for somebody else.
_NEXT_TURN = re.compile(
    r'<\|(?:im_start|start_header_id|start)\|>\s*(?:user|system|tool)|<start_of_turn>\s*user|<\|user\|>'
)
# Calls of tools with their parameters in markup (Claude, GLM, Qwen): these would be lost.
_MARKED_CALL = re.compile(
    r'<(?:arg_key|invoke|function|parameter)(?:[= ][^<>\n]{1,100})?>', re.IGNORECASE
)
_TOKEN = re.compile(r'<\|[^<>|\n]{1,40}\|>')
_INLINE_TAG = re.compile(
    r'</?(?:b|i|u|em|strong|span|code|font|mark|small|big|tt)(?:\s[^<>\n]{0,200})?>', re.IGNORECASE
)
_TAG = re.compile(r'</?[a-zA-Z][^<>\n]{0,200}>')


def answer_of(text: str) -> str:
    """Return what a reply says, without its thoughts and wrapping.

    Raises:
        ReplyError: It is empty, or longer than any answer.
    """
    text = text.strip()
    if len(text) > MAX_REPLY_CHARS:
        raise ReplyError(_too_long(len(text)))
    text = _NEXT_TURN.split(_without_thoughts(text), 1)[0].strip()
    if len(text) > MAX_ANSWER_CHARS:
        raise ReplyError(_too_long(len(text)))
    if '&quot;' in text and '"' not in text:
        text = html.unescape(text)
    text = _only_inside(text, *_BOX)
    text = _without(text, *_UNSAID)
    text = _only_inside(text, *_ANSWER)
    if _MARKED_CALL.search(text):
        raise ReplyError('It calls a tool, and there are none; write the reply itself.')
    text = _LATEX_TEXT.sub(r'\1', text)
    text = _LATEX_BOX.sub(r'.\nAction: \1.\n', text)
    text = _COMMAND_TAG.sub(r'.\nAction: \2\n', text)
    text = _INLINE_TAG.sub('', _TOKEN.sub('\n', text))
    text = _TAG.sub('\n', text).strip()
    if not text:
        raise ReplyError('It holds no answer.')
    return text


def _too_long(length: int) -> str:
    return (
        f'It has {length} characters; at most {MAX_ANSWER_CHARS} are read. '
        'Answer once and in a few sentences.'
    )


def _without_thoughts(text: str) -> str:
    """Return what stands outside of thoughts; what follows one that is never closed is lost."""
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


def _spans(
    text: str, opening: re.Pattern[str], closing: re.Pattern[str]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (start, start of content, end of content, end); what is not closed ends with the text."""
    position = 0
    while (start := opening.search(text, position)) is not None:
        end = closing.search(text, start.end())
        if end is None:
            yield start.start(), start.end(), len(text), len(text)
            return
        yield start.start(), start.end(), end.start(), end.end()
        position = end.end()


def _only_inside(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str:
    """Return the marked parts of a text; the text where none is marked."""
    inside = [text[start:end].strip() for _, start, end, _ in _spans(text, opening, closing)]
    return '\n\n'.join(inside) if any(inside) else text


def _without(text: str, opening: re.Pattern[str], closing: re.Pattern[str]) -> str:
    kept: list[str] = []
    position = 0
    for start, _, _, end in _spans(text, opening, closing):
        kept.append(text[position:start])
        position = end
    kept.append(text[position:])
    return ' '.join(kept) if position else text
