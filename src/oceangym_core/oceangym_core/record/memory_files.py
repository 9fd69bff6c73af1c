"""OceanGym's memory files: ``memory_<ts>.json`` and ``important_memory_<ts>.json``.

Each is a JSON array of objects with the keys timestamp, target_info, action and location; the
location [x, y, z] is where the images of the step were taken, to a decimetre.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
import json
import math
from pathlib import Path
import re
from typing import Any

from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import FindReport
from oceangym_core.errors import OceanGymError
from oceangym_core.files import read_json, utf8_text, write_atomic
from oceangym_core.record.schema import RecordedReport

TIMESTAMP_IN_NAME = re.compile(r'\d{4}-\d{2}-\d{2}_\d{2}-\d{2}-\d{2}')

# OceanGym's names of the moves, and ours of the extended one; a hold is the empty action.
ACTION_WORDS: dict[Action, str] = {
    Action.FORWARD: 'move forward',
    Action.BACKWARD: 'move backward',
    Action.LEFT: 'move left',
    Action.RIGHT: 'move right',
    Action.UP: 'ascend',
    Action.DOWN: 'descend',
    Action.ROTATE_LEFT: 'rotate left',
    Action.ROTATE_RIGHT: 'rotate right',
    Action.HOLD: '',
    Action.STOP: 'stop',
    Action.GO: 'go',
}


@dataclass(frozen=True, kw_only=True)
class MemoryEntry:
    """One step remembered.

    Attributes:
        timestamp: Local wall time, ``YYYY-MM-DD HH:MM:SS``.
        target_info: What was seen.
        action: One of `ACTION_WORDS`' values.
        location: Vehicle position when the images were taken [m]; None where a file has none.
    """

    timestamp: str = ''
    target_info: tuple[str, ...] = ()
    action: str = ''
    location: tuple[float, float, float] | None = None


def find_text(report: FindReport | RecordedReport) -> str:
    """Return what a find leaves in the important memory."""
    words = [f'Target object found@@@ {report.label}']
    if report.position is not None:
        x, y, z = report.position
        words.append(f'estimated position [{x:.1f}, {y:.1f}, {z:.1f}]')
    seen = ' '.join(part for part in (report.direction, report.sensor) if part)
    if seen:
        words.append(f'detected by the {seen}')
    return ', '.join(words)


def read_memory(path: Path) -> tuple[MemoryEntry, ...]:
    """Return the entries of a memory file.

    Raises:
        OceanGymError: It is not such a file; names the entry.
    """
    content = read_json(path)
    if not isinstance(content, list):
        raise OceanGymError(f'{path} must hold a JSON array of memory entries')
    return tuple(_entry(item, f'{path}: entry {i}') for i, item in enumerate(content))


def _entry(item: Any, where: str) -> MemoryEntry:
    if not isinstance(item, dict):
        raise OceanGymError(
            f'{where} must be an object with timestamp, target_info, action, location'
        )
    info = item.get('target_info', [])
    if isinstance(info, str):
        info = [info]
    if not isinstance(info, list) or not all(isinstance(text, str) for text in info):
        raise OceanGymError(f'{where}: target_info must be a list of texts')
    return MemoryEntry(
        timestamp=_text(item, 'timestamp', where),
        target_info=tuple(info),
        action=_text(item, 'action', where),
        location=_location(item.get('location'), where),
    )


def _text(item: dict[str, Any], key: str, where: str) -> str:
    value = item.get(key, '')
    if not isinstance(value, str):
        raise OceanGymError(f'{where}: {key} must be a text')
    return value


def _location(value: Any, where: str) -> tuple[float, float, float] | None:
    if value is None or value == []:
        return None
    if not isinstance(value, list) or len(value) < 3:
        raise OceanGymError(f'{where}: location must be a list of three numbers')
    return finite_vector(value[:3], f'{where}: location')


def finite_vector(value: Sequence[Any], where: str) -> tuple[float, float, float]:
    """Return three finite numbers.

    Raises:
        OceanGymError: One is not a number, not finite or too large to be a place.
    """
    for number in value:
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise OceanGymError(f'{where} must be a list of three numbers')
        if not abs(number) <= 1e9 or not math.isfinite(number):
            raise OceanGymError(f'{where} holds a value that is no place in metres')
    x, y, z = (float(number) for number in value)
    return x, y, z


def write_memory(path: Path, entries: Iterable[MemoryEntry]) -> None:
    """Write a memory file whole, as OceanGym does after every decision, but atomically."""
    content = [
        {
            'timestamp': entry.timestamp,
            'target_info': list(entry.target_info),
            'action': entry.action,
            'location': [round(v, 1) for v in entry.location or ()],
        }
        for entry in entries
    ]
    text = json.dumps(content, indent=2, ensure_ascii=False)
    write_atomic(path, utf8_text(text) + '\n')
