"""How much of a reply is read and kept."""

from __future__ import annotations

import re

MAX_REPLY_CHARS = 2_000_000  # as received, with thoughts
MAX_ANSWER_CHARS = 100_000  # what is left to understand
# Mending takes time that grows with the square of the text's length.
MAX_MENDED_CHARS = 8_000
MAX_MENDED_BRACKETS = 60

MAX_FINDS = 16
MAX_SPECIAL_OBJECTS = 32
MAX_LABEL = 80
MAX_TEXT = 500
MAX_REASON = 2000
MAX_QUOTE = 60  # of the model's own words in an error

MAX_TRANSLATION_M = 1000.0  # no two places of the operating area are further apart
MAX_ROTATION_DEG = 360.0
MAX_PIXEL = 8192
MAX_RANGE_M = 10_000.0
MAX_COORDINATE_M = 100_000.0

_UNPRINTABLE = re.compile(r'[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]+')
_SPACES = re.compile(r'\s+')


def tidy(text: str, limit: int) -> str:
    """Return one line of printable text of at most `limit` characters."""
    # Four times the limit before the clean-up: a field of a million spaces costs nothing.
    line = _SPACES.sub(' ', _UNPRINTABLE.sub(' ', text[: 4 * limit])).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + '…'


def quoted(text: str) -> str:
    """Return the start of a model's own words, for an error that it is told."""
    return repr(tidy(text, MAX_QUOTE))
