"""Where plain data differ, numbers within a tolerance."""

from __future__ import annotations

import math
from typing import Any

# Of scores: below any difference that matters, above those between machines.
SCORE_TOLERANCE = 1e-6


def first_difference(claimed: Any, found: Any, where: str = '') -> str:
    """Return the first place where plain data differ, as ``key = claimed, but it is found``."""
    if isinstance(claimed, dict) and isinstance(found, dict):
        for key in [*found, *(k for k in claimed if k not in found)]:
            place = f'{where}.{key}' if where else str(key)
            text = first_difference(claimed.get(key), found.get(key), place)
            if text:
                return text
        return ''
    if isinstance(claimed, list) and isinstance(found, list) and len(claimed) == len(found):
        texts = (
            first_difference(a, b, f'{where}[{i}]') for i, (a, b) in enumerate(zip(claimed, found))
        )
        return next((text for text in texts if text), '')
    same = claimed == found and isinstance(claimed, bool) == isinstance(found, bool)
    if _is_number(claimed) and _is_number(found):
        same = math.isclose(claimed, found, rel_tol=SCORE_TOLERANCE, abs_tol=SCORE_TOLERANCE)
    return '' if same else f'{where} = {short(claimed)}, but it is {short(found)}'


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def short(value: Any) -> str:
    """Return a value as messages show it."""
    text = repr(value)
    return text if len(text) <= 80 else f'{text[:77]}...'
