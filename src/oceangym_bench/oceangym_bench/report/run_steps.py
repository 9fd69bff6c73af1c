"""What the page shows of each observation and of the decision taken on it, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
import math
from pathlib import Path
import re
from typing import Any

from oceangym_bench.report.page import cut_text
from oceangym_bench.report.pictures import Album, BagViews, read_picture_files
from oceangym_bench.report.run_record import mapping, RunRecord
from oceangym_core.contract import DIRECTIONS
from oceangym_core.episode import Step
from oceangym_core.geometry import euler_from_quaternion, Pose

# A reply of a megabyte is kept in the record; the page shows its beginning [characters].
TEXT_LIMIT = 20_000
_VIEW_OF = re.compile(rf'^(camera|sonar|fan)_({"|".join(DIRECTIONS)})$')


class TextPool:
    """Texts of a page, each content once: most of a prompt is the same in every step."""

    def __init__(self) -> None:
        self._index: dict[str, int] = {}

    def add(self, text: Any, limit: int = TEXT_LIMIT) -> int:
        """Keep a text and return its number."""
        cut = cut_text(text if isinstance(text, str) else str(text), limit)
        return self._index.setdefault(cut, len(self._index))

    @property
    def texts(self) -> list[str]:
        """All texts by number."""
        return list(self._index)


# File -> (name, key in the album) of the pictures that a model was sent at one decision.
Sent = Mapping[str, tuple[str, str]]


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
    return step.pose or record.episode.info.shift.to_map(step.estimate)


def _entry(
    record: RunRecord, step: Step, *, sent: Sent, bag: BagViews, texts: TextPool
) -> dict[str, Any]:
    pose = place(record, step)
    trace = record.trace.get(step.index, {})
    entry: dict[str, Any] = {
        'i': step.index,
        't': round(step.t, 2),
        'p': _rounded(pose.position, 2),
        'yaw': round(math.degrees(pose.yaw), 1),
        'odom': _rounded(step.estimate.position, 1),
        'odomYaw': round(
            math.degrees(euler_from_quaternion(step.estimate.quaternion)[2]), 1
        ),
        'seen': [
            {'target': s.anchor, 'sensor': s.sensor, 'pixels': s.pixels, 'cells': s.cells}
            for s in step.sightings
        ],
        'contacts': [
            {'t': c.stamp, 'with': c.instance, 'speed': round(c.speed, 2)} for c in step.contacts
        ],
        'standoff': [step.standoff_events, round(step.standoff_seconds, 1)],
        'views': {**bag.pictures.get(step.index, {}), **views_sent(sent)},
        'memory': _memory(record, step.index, texts),
        'decision': _decision(record, step.index, texts),
        'maneuver': _maneuver(record.maneuver_after(step.index)),
    }
    if trace:
        entry['trace'] = _trace(trace, sent, texts)
    return entry


def _rounded(values: Sequence[float] | Any, digits: int) -> list[float]:
    return [round(float(v), digits) for v in values]


def _decision(record: RunRecord, index: int, texts: TextPool) -> dict[str, Any] | None:
    decision = record.decision_on(index)
    if decision is None:
        return None
    latency = record.latency_on(index)
    return {
        'action': str(decision.get('action', '')),
        'magnitude': decision.get('magnitude'),
        'description': texts.add(decision.get('description') or ''),
        'finds': [texts.add(text, 2000) for text in decision.get('finds') or []],
        'reply': texts.add(decision.get('raw_reply') or ''),
        'invalid': decision.get('invalid_replies', 0),
        'tokensIn': decision.get('tokens_in', 0),
        'tokensOut': decision.get('tokens_out', 0),
        'cost': decision.get('cost', 0.0),
        'latency': latency,
    }


def _maneuver(maneuver: Mapping[str, Any]) -> dict[str, Any] | None:
    if not maneuver:
        return None
    return {
        key: maneuver.get(key) for key in ('action', 'requested', 'applied', 'saturated')
    } | {'end': maneuver.get('end_reason')}


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


# --- the trace ---------------------------------------------------------------------------------


def _calls(trace: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = trace.get('calls')
    return [mapping(call) for call in calls] if isinstance(calls, list) else []


def _parts(call: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    """Yield (role, part) of a call's messages."""
    messages = call.get('messages')
    for message in messages if isinstance(messages, list) else []:
        parts = mapping(message).get('parts')
        for part in parts if isinstance(parts, list) else []:
            yield str(mapping(message).get('role', '')), mapping(part)


def sent_pictures(directory: Path, trace: Mapping[str, Any], album: Album) -> Sent:
    """Return the pictures that were sent at one decision, as far as their files are there."""
    names: dict[str, str] = {}
    for call in _calls(trace):
        for _, part in _parts(call):
            image = mapping(part.get('image'))
            file = image.get('file')
            if isinstance(file, str) and _inside(directory, file):
                names[file] = str(image.get('name', file))
    keys = read_picture_files(((file, directory / file) for file in names), album)
    return {file: (names[file], key) for file, key in keys.items()}


def _inside(directory: Path, file: str) -> bool:
    """Tell whether a name in the record stays within the run's directory."""
    try:
        return (directory / file).resolve().is_relative_to(directory.resolve())
    except (OSError, ValueError):
        return False


def views_sent(sent: Sent) -> dict[str, str]:
    """Return the cameras and fans among pictures that were sent, by view."""
    views = {}
    for name, key in sent.values():
        match = _VIEW_OF.match(name)
        if match is not None:
            kind = 'camera' if match.group(1) == 'camera' else 'sonar'
            views[f'{kind}_{match.group(2)}'] = key
    return views


def _trace(
    trace: Mapping[str, Any], sent: Sent, texts: TextPool
) -> dict[str, Any]:
    return {
        'calls': [_call(call, sent, texts) for call in _calls(trace)],
        'parsed': None if trace.get('parsed') is None else texts.add(_pretty(trace['parsed'])),
        'error': texts.add(trace.get('error') or ''),
    }


def _pretty(value: Any, indent: str = '') -> str:
    """Return parsed data in lines that read like YAML."""
    if isinstance(value, dict) and value:
        return '\n'.join(
            f'{indent}{key}: {_pretty(item)}'
            if not isinstance(item, (dict, list)) or not item
            else f'{indent}{key}:\n{_pretty(item, indent + "  ")}'
            for key, item in value.items()
        )
    if isinstance(value, list) and value:
        if all(isinstance(item, (int, float)) for item in value):
            return f'{indent}[{", ".join(map(str, value))}]'
        return '\n'.join(f'{indent}- {_pretty(item, indent + "  ").lstrip()}' for item in value)
    return '–' if value in (None, '', [], {}) else f'{value}'


def _call(
    call: Mapping[str, Any], sent: Sent, texts: TextPool
) -> dict[str, Any]:
    reply = call.get('reply')
    entry: dict[str, Any] = {
        'purpose': str(call.get('purpose', '')),
        'error': texts.add(call.get('error') or ''),
        'parts': [_part(role, part, sent, texts) for role, part in _parts(call)],
        'reply': None,
    }
    if isinstance(reply, dict):
        entry['reply'] = {
            'text': texts.add(reply.get('text') or ''),
            'facts': texts.add(_facts(reply)),
        }
    return entry


def _part(
    role: str, part: Mapping[str, Any], sent: Sent, texts: TextPool
) -> dict[str, Any]:
    if 'image' in part:
        image = mapping(part['image'])
        name, key = sent.get(str(image.get('file')), (str(image.get('name', '')), None))
        size = f'{image.get("width", "?")}×{image.get("height", "?")} px'
        return {'role': role, 'image': key, 'name': texts.add(f'{name}, {size}', 300)}
    return {'role': role, 'text': texts.add(part.get('text') or '')}


def _facts(reply: Mapping[str, Any]) -> str:
    """Return one line about a reply: who answered, how long it took, what it cost."""
    parameters = mapping(reply.get('parameters'))
    facts = [
        reply.get('model'),
        f'finish {reply["finish_reason"]}' if reply.get('finish_reason') else None,
        f'{reply.get("tokens_in", 0)} + {reply.get("tokens_out", 0)} tokens',
        f'{reply["tokens_reasoning"]} of them reasoning' if reply.get('tokens_reasoning') else None,
        f'{reply["cost"]:.4f} USD' if isinstance(reply.get('cost'), (int, float)) else None,
        f'{reply["latency_s"]:.1f} s' if isinstance(reply.get('latency_s'), (int, float)) else None,
        f'{reply["retries"]} retries' if reply.get('retries') else None,
        *(f'{key} {value}' for key, value in parameters.items()),
    ]
    return ' · '.join(str(fact) for fact in facts if fact)
