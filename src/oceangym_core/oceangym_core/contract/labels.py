"""Comparison of report labels: ``Sunken Ship.``, ``SUNKEN SHIPS`` and ``wooden shipwreck 2`` agree."""

from __future__ import annotations

from functools import lru_cache
import re
import unicodedata

_ARTICLES = frozenset({'A', 'AN', 'THE'})
# Words that number an instance: "ship 1", "ship no. 2", "second ship", "ship B".
_NUMBERING = frozenset(
    {
        *('ONE', 'TWO', 'THREE', 'FOUR', 'FIRST', 'SECOND', 'THIRD', 'FOURTH', 'NUMBER'),
        *('I', 'II', 'III', 'IV', 'B', 'C', 'D'),
    }
)
# Words for condition, size, material or colour, which add nothing to what a thing is called.
_ATTRIBUTES = frozenset(
    re.findall(
        r'\w+',
        """
        ABANDONED ANCIENT BIG BLACK BLUE BROKEN BURIED CORRODED DAMAGED DARK DERELICT GREEN GREY
        GRAY HUGE INTACT LARGE LOST METAL METALLIC MISSING OLD ORANGE OVERGROWN POSSIBLE PROBABLE
        RED RUSTED RUSTY SMALL STEEL SUBMERGED SUBSEA SUNKEN TARGET UNDERWATER WHITE WOOD WOODEN
        WRECKED YELLOW
        """,
    )
)
# Singular words that end like plurals.
_SINGULAR = frozenset({'BUS', 'GAS', 'LENS', 'SERIES', 'STATUS', 'DEBRIS', 'AUVS', 'CHASSIS'})


@lru_cache(maxsize=4096)
def normalised_label(label: str) -> str:
    """Return a label as it is compared.

    Case, punctuation, articles, numbering, plural endings and attributes such as ``wooden`` or
    ``sunken`` do not count, unless nothing else is left.
    """
    text = unicodedata.normalize('NFKC', label).upper()
    text = re.sub(r"['’]S\b|\bN[OR]\.? ?(?=\d)", ' ', text)
    words = re.findall(r'[^\W_]+', text)
    kept = [_singular(word) for word in words if word not in _ARTICLES]
    for ignored in (str.isdecimal, _NUMBERING.__contains__, _ATTRIBUTES.__contains__):
        kept = [word for word in kept if not ignored(word)] or kept
    return ' '.join(kept or words)


def _singular(word: str) -> str:
    """Return the singular of an English noun by its ending."""
    if word in _SINGULAR or len(word) < 4 or not word.endswith('S') or word.endswith(('SS', 'US')):
        return word
    if word.endswith('IES'):
        return f'{word[:-3]}Y'
    if word.endswith(('XES', 'SSES', 'CHES', 'SHES')):
        return word[:-2]
    return word[:-1]
