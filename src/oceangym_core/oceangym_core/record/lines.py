"""What the lines of ``episode.jsonl`` are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
import json
import math
from numbers import Integral
from typing import Any

import numpy as np

from oceangym_core.contract.actions import Action, Course
from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.observation import ManeuverResult, StepTruth
from oceangym_core.errors import OceanGymError
from oceangym_core.files import utf8_text

# Floats are written to a micrometre (or microradian, microsecond): below what physics tells apart,
# and stable in print.
DECIMALS = 6


def find_text(report: FindReport) -> str:
    """Return what a find leaves in the important memory."""
    words = [f'Target object found@@@ {report.label}']
    if report.position is not None:
        x, y, z = report.position
        words.append(f'estimated position [{x:.1f}, {y:.1f}, {z:.1f}]')
    seen = ' '.join(part for part in (report.direction, report.sensor) if part)
    if seen:
        words.append(f'detected by the {seen}')
    return ', '.join(words)


def decision_entry(decision: Decision | None) -> dict[str, Any] | None:
    """Return a decision as a line holds it, wall-clock fields aside."""
    if decision is None:
        return None
    return {
        'index': decision.index,
        'action': Action(decision.action).value,
        'magnitude': decision.magnitude,
        **_course_entry(decision.action, decision.course),
        'description': decision.description,
        'finds': list(decision.finds),
        'raw_reply': decision.raw_reply,
        'invalid_replies': decision.invalid_replies,
        'tokens_in': decision.tokens_in,
        'tokens_out': decision.tokens_out,
        'cost': decision.cost,
        **({'notes': list(decision.notes)} if decision.notes else {}),
    }


def _course_entry(action: Action, course: Course) -> dict[str, float | None]:
    """Return what only `Action.GO` has: lines of the paper's moves stay as they always were."""
    return asdict(course) if action is Action.GO else {}


def maneuver_entry(maneuver: ManeuverResult) -> dict[str, Any]:
    """Return a maneuver as a line holds it."""
    made: dict[str, float | None] = {}
    if maneuver.action is Action.GO:
        made = {'turned_deg': maneuver.turned_deg, 'climbed_m': maneuver.climbed_m}
    return {
        'action': maneuver.action.value,
        'requested': maneuver.requested,
        'applied': maneuver.applied,
        **_course_entry(maneuver.action, maneuver.course),
        **made,
        'saturated': maneuver.saturated,
        'end_reason': maneuver.end_reason.value,
        't_start': maneuver.t_start,
        't_end': maneuver.t_end,
    }


def truth_entries(truth: StepTruth | None) -> dict[str, Any]:
    """Return the entries of a line that come from truth."""
    if truth is None:
        return {'truth': None}
    return {
        'truth': {
            'pose': {'position': truth.pose.position, 'quaternion': truth.pose.quaternion},
            'trajectory': truth.trajectory.tolist(),
        },
        'sightings': [
            {'anchor': s.anchor, 'sensor': s.sensor, 'pixels': s.pixels, 'cells': s.cells}
            for s in truth.sightings
        ],
        'contacts': [
            {'stamp': c.stamp, 'instance': c.instance, 'speed': c.speed} for c in truth.contacts
        ],
        'standoff': {'events': truth.standoff_events, 'seconds': truth.standoff_seconds},
        'boundary': truth.boundary_events,
        'image_hashes': dict(sorted(truth.image_hashes.items())),
    }


def report_entry(report: FindReport, accepted: bool) -> dict[str, Any]:
    """Return a report as a line holds it."""
    return {
        'label': report.label,
        'position': report.position,
        'sigma': report.sigma,
        'sensor': report.sensor,
        'direction': report.direction,
        'observation_index': report.observation_index,
        'stamp': report.stamp,
        'accepted': accepted,
    }


def line_text(line: dict[str, Any]) -> str:
    """Return a line of the record."""
    return utf8_text(json.dumps(rounded(line), ensure_ascii=False, allow_nan=False))


def rounded(value: Any, decimals: int | None = DECIMALS) -> Any:
    """Return plain data with every float rounded (None: as it is) and every tuple a list.

    Raises:
        OceanGymError: A number is not finite, so that the record could not be scored.
    """
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: rounded(item, decimals) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, decimals) for item in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    if not math.isfinite(number):
        raise OceanGymError(f'{number} cannot be recorded: the simulation has diverged')
    # Adding zero turns -0.0 into 0.0, which prints the same on every platform.
    return (number if decimals is None else round(number, decimals)) + 0.0
