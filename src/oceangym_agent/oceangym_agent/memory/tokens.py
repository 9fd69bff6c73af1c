"""How many tokens a text may take, without any model's tokenizer."""

from __future__ import annotations

import math

# English prose has about 4 characters a token and coordinates about 2.5; the estimate errs high.
CHARACTERS_PER_TOKEN = 3.0


def estimate_tokens(text: str) -> int:
    """Return an estimate that errs on the high side; other scripts count a token a character."""
    plain = sum(character < '\x80' for character in text)
    return math.ceil(plain / CHARACTERS_PER_TOKEN + (len(text) - plain))


def cut_text(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; what is cut off is marked."""
    if len(text) <= limit:
        return text
    return text[: max(limit - 1, 0)].rstrip() + '…' if limit > 0 else ''


def cut_to_tokens(text: str, budget: int) -> str:
    """Return the longest beginning of a text that fits into a number of tokens."""
    if estimate_tokens(text) <= budget:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if estimate_tokens(cut_text(text, middle)) <= budget:
            low = middle
        else:
            high = middle - 1
    return cut_text(text, low)


def one_line(text: str) -> str:
    """Return a text on one line without control characters, as it may stand in a list."""
    return ' '.join(''.join(c if c.isprintable() else ' ' for c in text).split())
