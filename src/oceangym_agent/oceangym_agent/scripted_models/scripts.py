"""Scripted models: pure functions of the request, so that a run can be repeated and resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import json
import math
from typing import Any

from oceangym_agent.scripted_models.faults import Fault
from oceangym_agent.scripted_models.prompt_reading import Detection, read, Reading
from oceangym_agent.scripted_models.server import Script
from oceangym_core.contract.actions import Action, DIRECTIONS, ROTATIONS, TRANSLATIONS, unit_motion
from oceangym_core.errors import unknown_name

# How far from the bounds the vehicle stays: a maneuver may overshoot by a few metres [m].
MARGIN_M = 8.0
# Heights above the seabed between which a patrol flies, and to which it returns [m].
LOW_M, HIGH_M, CRUISE_M = 8.0, 25.0, 14.0
STRIDE_M = 20.0
RIGHT_ANGLE_DEG = 90.0
LOOKOUT_REPORT_STEPS = (5, 29)
REPORT_RANGE_M = 10.0
# What a script says of every view: it has looked at none.
UNSEEN = 'not looked at (scripted reply)'

# One lane out, over, one lane back, over: 14 decisions.
_LANE = (Action.FORWARD,) * 4
_PATROL: tuple[tuple[Action, float], ...] = (
    *((a, STRIDE_M) for a in _LANE),
    (Action.ROTATE_LEFT, RIGHT_ANGLE_DEG),
    (Action.FORWARD, STRIDE_M),
    (Action.ROTATE_LEFT, RIGHT_ANGLE_DEG),
    *((a, STRIDE_M) for a in _LANE),
    (Action.ROTATE_RIGHT, RIGHT_ANGLE_DEG),
    (Action.FORWARD, STRIDE_M),
    (Action.ROTATE_RIGHT, RIGHT_ANGLE_DEG),
)
# A full turn, then a little higher or lower, then on.
_LOOKOUT: tuple[tuple[Action, float], ...] = (
    *((Action.ROTATE_LEFT, 45.0),) * 8,
    (Action.UP, 5.0),
    (Action.FORWARD, STRIDE_M),
    (Action.DOWN, 5.0),
    (Action.LEFT, STRIDE_M),
)
_WORDS = {
    Action.FORWARD: 'move forward',
    Action.BACKWARD: 'move backward',
    Action.LEFT: 'move left',
    Action.RIGHT: 'move right',
    Action.UP: 'ascend',
    Action.DOWN: 'descend',
    Action.ROTATE_LEFT: 'rotate left',
    Action.ROTATE_RIGHT: 'rotate right',
    Action.HOLD: 'hold',
    Action.STOP: 'stop',
}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a script decides: an action, its magnitude [m or deg], its reason, and finds."""

    action: Action
    magnitude: float
    reason: str
    finds: tuple[Mapping[str, Any], ...] = field(default=())


def patrol(body: Mapping[str, Any], number: int) -> str | Fault:
    """Fly lanes; report what the detector names, and nothing of one's own."""
    reading = read(body)
    if reading.describe:
        return describe(reading)
    action, magnitude = _PATROL[reading.step % len(_PATROL)]
    reason = f'lane, part {reading.step % len(_PATROL) + 1} of {len(_PATROL)}'
    if reading.altitude is not None and not LOW_M <= reading.altitude <= HIGH_M:
        low = reading.altitude < LOW_M
        action = Action.UP if low else Action.DOWN
        magnitude = round(min(abs(reading.altitude - CRUISE_M), STRIDE_M), 1)
        reason = 'too near the seabed' if low else 'too far above the seabed to see it'
    finds: tuple[Mapping[str, Any], ...] = ()
    if reading.detection is not None:
        finds = (_detected(reading.target, reading.detection),)
    return say(reading, _kept_inside(reading, action, magnitude, reason, finds))


def lookout(body: Mapping[str, Any], number: int) -> str | Fault:
    """Turn on the spot, change depth, move on; report something ahead at two of the steps."""
    reading = read(body)
    if reading.describe:
        return describe(reading)
    action, magnitude = _LOOKOUT[reading.step % len(_LOOKOUT)]
    finds: tuple[Mapping[str, Any], ...] = ()
    if reading.step in LOOKOUT_REPORT_STEPS:
        finds = (_ahead(reading),)
    return say(reading, _kept_inside(reading, action, magnitude, 'looking around', finds))


_SCRIPTS: dict[str, Script] = {'patrol': patrol, 'lookout': lookout}


def script_names() -> tuple[str, ...]:
    """Return the names that `script` knows."""
    return tuple(sorted(_SCRIPTS))


def script(name: str) -> Script:
    """Return a script by its name.

    Raises:
        OceanGymError: There is none of that name.
    """
    if name not in _SCRIPTS:
        raise unknown_name('script', name, _SCRIPTS)
    return _SCRIPTS[name]


def _kept_inside(
    reading: Reading,
    action: Action,
    magnitude: float,
    reason: str,
    finds: tuple[Mapping[str, Any], ...],
) -> Plan:
    """Return the plan, with a turn in place of a motion across the bounds."""
    if not _stays(reading, action, magnitude):
        reason = f'{action.value} would leave the area'
        action, magnitude = Action.ROTATE_LEFT, 45.0
        # Facing the area again, go on instead of turning for ever.
        if reading.position is not None and _stays(reading, Action.FORWARD, STRIDE_M):
            action, magnitude = Action.FORWARD, STRIDE_M
    return Plan(action=action, magnitude=magnitude, reason=reason, finds=finds)


def _stays(reading: Reading, action: Action, magnitude: float) -> bool:
    if reading.position is None:
        return True
    ahead, port, up = (magnitude * c for c in unit_motion(action))
    if ahead == port == up == 0.0:
        return True
    x, y, z = reading.position
    after = (
        x + ahead * math.cos(reading.yaw) - port * math.sin(reading.yaw),
        y + ahead * math.sin(reading.yaw) + port * math.cos(reading.yaw),
        z + up,
    )
    if reading.inside(*after, margin=MARGIN_M):
        return True
    # Too near the bounds already: what comes no nearer is right.
    return reading.inside(*after, margin=MARGIN_M / 2) and not reading.inside(
        x, y, z, margin=MARGIN_M
    )


def _detected(label: str, detection: Detection) -> dict[str, Any]:
    return {
        'label': label,
        'position': list(detection.position) if detection.position is not None else None,
        'range_m': None,
        'bearing_deg': None,
        'direction': detection.direction,
        'text': detection.text,
    }


def _ahead(reading: Reading) -> dict[str, Any]:
    """Return a find right ahead."""
    position = None
    if reading.position is not None:
        x, y, z = reading.position
        position = [
            round(x + REPORT_RANGE_M * math.cos(reading.yaw), 1),
            round(y + REPORT_RANGE_M * math.sin(reading.yaw), 1),
            z,
        ]
    return {
        'label': reading.target,
        'position': position,
        'range_m': REPORT_RANGE_M,
        'bearing_deg': 0.0,
        'direction': 'front',
        'text': 'something ahead that could be it',
    }


def describe(reading: Reading) -> str:
    """Return the reply of a call that only looks."""
    sides = '\n'.join(f'{d}: {UNSEEN}' for d in DIRECTIONS)
    return f'Step {reading.step}: a script answers in place of a model.\n{sides}'


def say(reading: Reading, plan: Plan) -> str:
    """Return a plan in the form that the prompt asks for."""
    if reading.markers:
        return _marked(reading, plan)
    return json.dumps(
        {
            'environment': dict.fromkeys(DIRECTIONS, UNSEEN),
            'special_objects': [],
            'finds': list(plan.finds),
            'action': plan.action.value,
            'magnitude': plan.magnitude or None,
            'reason': plan.reason,
        }
    )


def _marked(reading: Reading, plan: Plan) -> str:
    """Return the reply in OceanGym's format: a block for each find, then one command."""
    blocks = [_marked_find(find) for find in plan.finds]
    if not blocks:
        seen = ' '.join(f'{d.capitalize()}: {UNSEEN}.' for d in DIRECTIONS)
        blocks = [f'## {seen} ##']
    unit = ' m' if plan.action in TRANSLATIONS else ' deg' if plan.action in ROTATIONS else ''
    size = f' {plan.magnitude:g}{unit}' if unit else ''
    return '\n'.join([*blocks, f'{_WORDS[plan.action]}{size}'])


def _marked_find(find: Mapping[str, Any]) -> str:
    place = f', estimated position {find["position"]}' if find['position'] else ''
    bearing = f', bearing {find["bearing_deg"]:g} deg' if find['bearing_deg'] else ''
    return (
        f'$$ Target object found@@@ {find["label"]}{place}, {find["direction"]} camera, '
        f'distance {find["range_m"] or REPORT_RANGE_M:g} m{bearing} $$'
    )
