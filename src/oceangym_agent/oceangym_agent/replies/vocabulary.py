"""The words that stand for the ten actions."""

from __future__ import annotations

from dataclasses import dataclass
import re

from oceangym_agent.replies.quantities import QUANTITY
from oceangym_core.contract import Action

_FORWARD = r'forwards?|ahead|onwards?|straight(?: (?:ahead|on|forwards?))?'
_BACKWARD = r'(?:in )?(?:backwards?|reverse|rearwards?|astern|aft)'
_LEFT = r'(?:to |towards? )?(?:the |my |your |its )?(?:left|port)(?:[ -]?hand)?(?: side)?'
_LEFT = rf'(?:{_LEFT}|leftwards?|portwards?)'
_RIGHT = _LEFT.replace('left|port', 'right|starboard').replace('leftw', 'rightw')
_RIGHT = _RIGHT.replace('portwards?', 'starboardwards?')
_UP = r'(?:straight |vertically )?(?:upwards?|up|higher)'
_DOWN = r'(?:straight |vertically )?(?:downwards?|down|deeper|lower)'
_COUNTER = r'(?:counter|anti)[ -]?clockwise|ccw'
_CLOCKWISE = r'clockwise|cw'

_TRAVEL = 'move|go|continue|proceed|advance|head|swim|drive|fly|travel|surge|push|cruise|thrust|translate'
_ASIDE = 'move|go|shift|slide|strafe|sway|translate|sidestep|side step|crab|glide|swim|thrust'
_VERTICAL = 'move|go|swim|float|fly|heave|drive|travel|translate|shift|head|thrust'
_TURN = 'rotate|turn|yaw|spin|pivot|swing|swivel|steer'
_ADVERB = (
    'slowly|carefully|gently|steadily|cautiously|directly|laterally|sideways|vertically|further|'
    'farther|now|immediately|horizontally|in place'
)
_VEHICLE = r'(?:(?:the|my|your|our) )?(?:auv|vehicle|robot|rov|drone|submersible|yourself)'
# Words between a verb and its number.
_ABOUT = (
    r'(?:(?:by|for|about|around|approximately|approx\.?|roughly|another|an additional|a further|'
    r'only|just|exactly|at most|up to|with (?:a )?magnitude(?: of)?|magnitude(?: of)?|'
    r'distance(?: of)?|a distance of|of|~|=) ?){0,3}'
)
SEPARATED_QUANTITY = rf'(?:\s*[:=(–—]\s*|\s*){_ABOUT}(?P<after>{QUANTITY})\s*\)?'


def _gerund(verbs: str) -> str:
    """Return ``moving|going|..`` for ``move|go|..``."""
    doubled = {'swim': 'swimming', 'spin': 'spinning', 'submerge': 'submerging'}
    forms = []
    for verb in verbs.split('|'):
        stem, _, rest = verb.partition(' ')
        ing = doubled.get(stem) or (stem[:-1] if stem.endswith('e') else stem) + 'ing'
        forms.append(f'{ing} {rest}' if rest else ing)
    return '|'.join(forms)


@dataclass(frozen=True, kw_only=True)
class Form:
    """One way to word an action.

    Attributes:
        pattern: Anchored by `match`; may hold the group `middle` (a quantity before the direction).
        bare: Is no imperative: counts only where a command is expected, e.g. ``left``.
        gerund: Likewise, e.g. ``ascending``.
    """

    action: Action
    pattern: re.Pattern[str]
    bare: bool = False
    gerund: bool = False


_END = r'(?![\w-])'


def _forms(action: Action, verbs: str, direction: str) -> list[Form]:
    """Return ``verb [10 m] direction`` and its gerund."""
    tail = (
        rf'(?: {_VEHICLE})?(?: {_ABOUT}(?P<middle>{QUANTITY}))?(?: (?:{_ADVERB})){{0,2}}'
        rf' (?:{direction}){_END}'
    )
    return [
        Form(action=action, pattern=re.compile(rf'(?:{verbs}){tail}')),
        Form(action=action, pattern=re.compile(rf'(?:{_gerund(verbs)}){tail}'), gerund=True),
    ]


def _alone(action: Action, verbs: str) -> list[Form]:
    """Return verbs that name an action without a direction, and their gerunds."""
    tail = rf'(?: (?:{_ADVERB})){{0,2}}{_END}'
    return [
        Form(action=action, pattern=re.compile(rf'(?:{verbs}){tail}')),
        Form(action=action, pattern=re.compile(rf'(?:{_gerund(verbs)}){tail}'), gerund=True),
    ]


def _bare(action: Action, words: str) -> list[Form]:
    pattern = rf'(?:(?P<middle>{QUANTITY}) )?(?:{words}){_END}'
    return [Form(action=action, pattern=re.compile(pattern), bare=True)]


_HERE = r'(?: (?:here|still|put|where (?:i am|you are|it is)))?'
_PLACE = r'(?:(?:your|the|my|its|this|current|present) ){0,2}(?:position|station|place|location)'

FORMS: tuple[Form, ...] = (
    *_forms(Action.FORWARD, _TRAVEL, _FORWARD),
    *_alone(Action.FORWARD, 'advance'),
    *_forms(Action.BACKWARD, _TRAVEL, _BACKWARD),
    *_forms(Action.BACKWARD, 'move|go|swim|drive|thrust', r'back(?! to\b| the way\b)'),
    *_alone(Action.BACKWARD, 'reverse|retreat|back up|back off|back away'),
    *_forms(Action.LEFT, _ASIDE, _LEFT),
    *_forms(Action.RIGHT, _ASIDE, _RIGHT),
    *_forms(Action.UP, _VERTICAL, _UP),
    *_alone(Action.UP, 'ascend|rise|climb'),
    *_forms(Action.UP, 'ascend|rise|climb|swim', _UP),
    *_forms(Action.DOWN, _VERTICAL, _DOWN),
    *_alone(Action.DOWN, 'descend|dive|submerge'),
    *_forms(Action.DOWN, 'descend|dive|swim|sink', _DOWN),
    *_forms(Action.ROTATE_LEFT, _TURN, f'{_LEFT}|{_COUNTER}'),
    *_forms(Action.ROTATE_RIGHT, _TURN, f'{_RIGHT}|{_CLOCKWISE}'),
    *(
        Form(action=action, pattern=re.compile(rf'{_MAKE}(?:{noun}){_END}'))
        for _MAKE in (r'(?:(?:make|do|execute|perform) (?:a )?)?',)
        for action, noun in (
            (Action.ROTATE_LEFT, r'(?:left|port) (?:turn|rotation|yaw)'),
            (Action.ROTATE_RIGHT, r'(?:right|starboard) (?:turn|rotation|yaw)'),
        )
    ),
    *(
        Form(action=action, pattern=re.compile(rf'rotation (?:{side}){_END}'), bare=True)
        for action, side in ((Action.ROTATE_LEFT, _LEFT), (Action.ROTATE_RIGHT, _RIGHT))
    ),
    *_alone(Action.HOLD, 'hover|standby|stand by'),
    Form(
        action=Action.HOLD,
        pattern=re.compile(
            rf'(?:(?:hold|keep|maintain) {_PLACE}|(?:stay|remain|hover|wait) (?:in|at|on) {_PLACE}'
            rf'|(?:hold|stay|remain|hover|wait) (?:here|still|put|stationary|where you are)'
            rf'|keep station|station keep|station keeping|do nothing|no movement){_END}'
        ),
    ),
    *_bare(Action.HOLD, f'(?:hold|stay|wait|remain|pause){_HERE}|holding(?: position)?'),
    *_bare(Action.FORWARD, _FORWARD),
    *_bare(Action.BACKWARD, f'{_BACKWARD}|back'),
    *_bare(Action.LEFT, 'left|leftwards?'),
    *_bare(Action.RIGHT, 'right|rightwards?'),
    *_bare(Action.UP, 'up|upwards?'),
    *_bare(Action.DOWN, 'down|downwards?'),
)

# A sentence of its own that is one of these is a command, unlike "left".
HOLD = re.compile(r'hold|stay|hover')

# Ends the episode: only these exact wordings, never within a sentence.
STOP = re.compile(
    r'(?:stop|(?:stop|end|terminate|finish) (?:the |this )?(?:episode|mission|task))'
)
# Chinese, of models that fall back to it: whole phrases only, so that "不要上升" is none.
CHINESE: dict[str, Action] = {
    **dict.fromkeys(('前进', '向前', '向前移动', '向前进', '直行'), Action.FORWARD),
    **dict.fromkeys(('后退', '向后', '向后移动'), Action.BACKWARD),
    **dict.fromkeys(('左移', '向左移动', '向左平移'), Action.LEFT),
    **dict.fromkeys(('右移', '向右移动', '向右平移'), Action.RIGHT),
    **dict.fromkeys(('上升', '上浮', '向上', '向上移动'), Action.UP),
    **dict.fromkeys(('下降', '下潜', '向下', '向下移动'), Action.DOWN),
    **dict.fromkeys(('左转', '向左转', '向左旋转'), Action.ROTATE_LEFT),
    **dict.fromkeys(('右转', '向右转', '向右旋转'), Action.ROTATE_RIGHT),
    **dict.fromkeys(('悬停', '保持位置', '保持不动', '原地不动'), Action.HOLD),
    **dict.fromkeys(('停止', '结束任务'), Action.STOP),
}

# A text with one of these speaks about moving, whatever it says about it.
MOVES = re.compile(
    r'\b(?:mov(?:e|ing)|go\b|going|proceed|advanc|surg|ascen|ris(?:e|ing)|climb|descen|div(?:e|ing)|'
    r'submerg|rotat|turn|yaw|spin|pivot|straf|sway|hover|hold|stay|remain|stop|halt|revers|retreat|'
    r'swim|driv|fly|shift|slid|do(?:ing)? (?:this|that|so)\b)'
)
