"""Titles such as ``Action:``, and which of them announce a command."""

from __future__ import annotations

from enum import Enum
import re

from oceangym_agent.replies.phrases import is_reported, normalised

_ADJECTIVE = (
    r'(?:next|final|chosen|selected|navigation|control|movement|motion|single|one|output|immediate|'
    r'recommended|auv|vehicle|rov|robot|best|safest|decided)'
)
_STRONG_LABEL = re.compile(
    rf'(?:my |the |your |our )?(?:{_ADJECTIVE} ){{0,3}}(?:command|action|move|manoeuvre|maneuver)'
    r'(?: (?:is|to take|to execute|chosen|selected|for this step|now)){0,2}'
)
_WEAK_LABEL = re.compile(
    r'(?:here is |here\'s |this is |so )?(?:my |the |your |our )?'
    rf'(?:{_ADJECTIVE} ){{0,3}}(?:answer|'
    r'order|output|execute|response|reply|decision|next step|result|conclusion)(?: is)?|assistant|'
    r'.{0,80}\b(?:i|we)(?: have|\'ve)? (?:will|shall|decided? to|choose(?: to)?|chose(?: to)?)'
)
_CHINESE_LABELS = frozenset(
    {'指令', '动作', '命令', '下一步动作', '行动', '下一步', '最终指令', '操作'}
)
MAGNITUDE_LABEL = re.compile(r'(?:the )?magnitude(?: is)?')
# Below such a heading nothing is meant to be carried out.
CLOSING_HEADING = re.compile(
    r'\b(?:not|never|avoid\w*|forbidden|prohibited|reject\w*|discarded|ruled out|unsafe|wrong|bad|'
    r'options?|allowed|available|possible|candidates?|examples?|previous\w*|history|log|past|earlier|'
    r'memory|instructions?|rules?|user|human|operator|captain|system|'
    r'commands|actions|alternatives?|considered|steps|plan|don\'?t)\b'
)
# What follows such a list after an empty line is no part of it.
CHOICE_HEADING = re.compile(
    r'^(?:the |my |all |some )?(?:(?:available|possible|allowed|valid|candidate) )?'
    r'(?:options?|commands|actions|choices|moves|candidates?|alternatives?)(?: considered| are)?$'
)


class Label(Enum):
    """What a title announces: the command itself, an answer that may hold it, or something else."""

    NONE = 'none'
    WEAK = 'weak'
    STRONG = 'strong'


def label_of(low: str) -> Label:
    """Return what kind of label a normalised title is."""
    if _STRONG_LABEL.fullmatch(low) or low in _CHINESE_LABELS:
        return Label.STRONG
    if _WEAK_LABEL.fullmatch(low) and not is_reported(low):
        return Label.WEAK
    return Label.NONE


def is_label(title: str) -> bool:
    """Tell whether a title as written announces a command."""
    return label_of(normalised(title).strip(' *"-#>')) is not Label.NONE
