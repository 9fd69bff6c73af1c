"""Compares the reports of a record with what the model's trace says it found."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from oceangym_agent.agents.find_reports import place_of
from oceangym_agent.replies.reply import Find
from oceangym_agent.trace import read_trace, TRACE_FILE
from oceangym_core.errors import OceanGymError
from oceangym_core.files import utf8_text
from oceangym_core.geometry import Pose
from oceangym_core.record.episode import Episode
from oceangym_core.record.schema import RecordedReport

# Poses are rounded in records: farther than this from where the model said, a place was changed [m].
PLACE_TOLERANCE_M = 0.01

Vector = tuple[float, float, float]


def has_trace(run: Path) -> bool:
    """Return whether a run directory holds what was said to a model."""
    return (run / TRACE_FILE).is_file()


def report_difference(episode: Episode, run: Path) -> str:
    """Return the first difference between reports and the finds of the trace, '' for none.

    Each observation's reports must be the finds of the reply that was understood there: the same
    labels in the same order, at the places that follow from them. Refused reports count too.

    Raises:
        OceanGymError: The trace cannot be read.
    """
    finds: dict[int, list[Find]] = {}
    for line in read_trace(run):
        finds[line.index] = [_find(f, line.index) for f in (line.parsed or {}).get('finds', ())]
    reports: defaultdict[int, list[RecordedReport]] = defaultdict(list)
    for report in (report for line in episode.lines for report in line.reports):
        reports[report.observation_index].append(report)
    for index in sorted({*finds, *reports}):
        text = _compare(episode, index, finds.get(index, []), reports[index])
        if text:
            return f'observation {index}: {text}'
    return ''


def _compare(
    episode: Episode, index: int, finds: Sequence[Find], reports: Sequence[RecordedReport]
) -> str:
    if not _was_decided(episode, index):
        # The episode ended before the decision, and all of its reports, were there.
        finds = finds[: len(reports)]
    if len(finds) != len(reports):
        return f'the record holds {len(reports)} reports, the trace {len(finds)} finds'
    step = episode.step_of.get(index)
    for find, report in zip(finds, reports):
        if _written(find.label) != _written(report.label):
            return f'{report.label[:80]!r} was reported, {find.label[:80]!r} was found'
        place = None if step is None else place_of(find, step.estimate.pose)
        if not _same_place(place, report.position):
            return f'{report.label[:80]!r} was reported at {report.position}, found at {place}'
    return ''


def _was_decided(episode: Episode, index: int) -> bool:
    last = episode.steps[-1].index
    if index == last:
        return episode.last_decision is not None
    following = episode.step_of.get(index + 1)
    return following is not None and following.decision is not None


def _same_place(found: Vector | None, reported: Vector | None) -> bool:
    if found is None or reported is None:
        return found is reported
    return float(np.max(np.abs(np.subtract(found, reported)))) <= PLACE_TOLERANCE_M


def _written(label: str) -> str:
    """Return a label as far as every record holds it."""
    return utf8_text(label).replace('\0', '')[:200].strip()


def _find(entry: Any, index: int) -> Find:
    """Return a find of a line; checked, for the file may be anybody's."""
    try:
        if not isinstance(entry, Mapping):
            raise TypeError('it is no mapping')
        position = entry.get('position')
        find = Find(
            label=str(entry['label']),
            position=None if position is None else _vector(position),
            range_m=_number(entry.get('range_m')),
            bearing_deg=_number(entry.get('bearing_deg')),
            direction=str(entry.get('direction') or ''),
        )
        place_of(find, Pose())
    except (KeyError, TypeError, ValueError) as error:
        raise OceanGymError(
            f'{TRACE_FILE}, observation {index}: a find cannot be read: {error}'
        ) from error
    return find


def _vector(value: Any) -> Vector:
    x, y, z = (float(v) for v in value)
    return x, y, z


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
