"""What the page shows of each observation and of the decision taken on it, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import math
from typing import Any

from oceangym_bench.report.pictures import BagViews
from oceangym_bench.report.run_record import RunRecord
from oceangym_bench.report.run_trace import Sent, TextPool, trace_entry, views_sent
from oceangym_core.contract.actions import Course
from oceangym_core.geometry import Pose
from oceangym_core.record.schema import RecordedManeuver, Step


def step_entries(
    record: RunRecord, *, sent: Mapping[int, Sent], bag: BagViews, texts: TextPool
) -> list[dict[str, Any]]:
    """Return one entry an observation, for the page's script.

    Args:
        record: The run.
        sent: Observation index -> pictures of the trace.
        bag: Pictures of the bag.
        texts: Takes the texts.
    """
    reports = numbered_reports(record)
    entries = []
    for step in record.episode.steps:
        entry = _entry(record, step, sent=sent.get(step.index, {}), bag=bag, texts=texts)
        entry['reports'] = [r for r in reports if r['observation'] == step.index]
        entries.append(entry)
    return entries


def place(record: RunRecord, step: Step) -> Pose:
    """Return where the vehicle was in map, as it itself believed if nobody knows better."""
    return step.pose or record.episode.info.shift.to_map(step.estimate.pose)


def _entry(
    record: RunRecord, step: Step, *, sent: Sent, bag: BagViews, texts: TextPool
) -> dict[str, Any]:
    pose = place(record, step)
    trace = record.trace.get(step.index)
    entry: dict[str, Any] = {
        'i': step.index,
        't': round(step.t, 2),
        'p': _rounded(pose.position, 2),
        'yaw': round(math.degrees(pose.yaw), 1),
        'odom': _rounded(step.estimate.position, 1),
        'odomYaw': round(math.degrees(step.estimate.pose.yaw), 1),
        'seen': [
            {'target': s.anchor, 'sensor': s.sensor, 'pixels': s.pixels, 'cells': s.cells}
            for s in step.sightings
        ],
        'contacts': [
            {'t': c.stamp, 'with': c.instance, 'speed': round(c.speed, 2)} for c in step.contacts
        ],
        'standoff': [step.standoff.events, round(step.standoff.seconds, 1)],
        'views': {**bag.pictures.get(step.index, {}), **views_sent(sent)},
        'memory': _memory(record, step.index, texts),
        'decision': _decision(record, step.index, texts),
        'maneuver': _maneuver(record.maneuver_after(step.index)),
    }
    if trace is not None:
        entry['trace'] = trace_entry(trace, sent, texts)
    return entry


def _rounded(values: Sequence[float] | Any, digits: int) -> list[float]:
    return [round(float(v), digits) for v in values]


def _decision(record: RunRecord, index: int, texts: TextPool) -> dict[str, Any] | None:
    decision = record.decision_on(index)
    if decision is None:
        return None
    return {
        'action': decision.action.value,
        'magnitude': decision.magnitude,
        'course': _course(decision.course),
        'description': texts.add(decision.description),
        'finds': [texts.add(text, 2000) for text in decision.finds],
        'reply': texts.add(decision.raw_reply),
        'invalid': decision.invalid_replies,
        'tokensIn': decision.tokens_in,
        'tokensOut': decision.tokens_out,
        'cost': decision.cost,
        'latency': record.latency_on(index),
    }


def _course(course: Course) -> str:
    """Return what go was asked for beside its distance, and of other actions nothing."""
    wordings = (
        (course.turn_deg, 'turn {:.0f}°'),
        (course.climb_m, 'climb {:.1f} m'),
        (course.altitude_m, 'altitude {:.1f} m'),
    )
    return ', '.join(text.format(value) for value, text in wordings if value)


def _maneuver(maneuver: RecordedManeuver | None) -> dict[str, Any] | None:
    if maneuver is None:
        return None
    shown = maneuver.model_dump(
        mode='json', include={'action', 'requested', 'applied', 'saturated'}
    )
    return {**shown, 'end': maneuver.end_reason.value}


def _memory(record: RunRecord, index: int, texts: TextPool) -> list[int]:
    """Return what the memory file gained at a decision: entry i was written at decision i."""
    memory = record.episode.memory
    if index >= len(memory) or record.decision_on(index) is None:
        return []
    return [texts.add(text, 4000) for text in memory[index].target_info]


def numbered_reports(record: RunRecord) -> list[dict[str, Any]]:
    """Return the accepted reports with their verdicts, numbered in the order made."""
    return [
        {
            'n': number,
            'label': str(item.get('label', ''))[:200],
            'observation': item.get('observation_index'),
            't': item.get('stamp'),
            'seen': ' '.join(filter(None, (item.get('direction'), item.get('sensor')))),
            'verdict': str(item.get('verdict', '')),
            'target': item.get('target'),
            'distance': item.get('distance_m'),
            'place': item.get('place'),
        }
        for number, item in enumerate(record.score.get('reports') or [], start=1)
    ]
