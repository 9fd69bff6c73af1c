"""A benchmark's results in OceanGym's layout: task and point directories with memory files and logs.

Locations are taken back to map and keep their full precision, so that the released evaluator, and
``oceangym score``, give the very scores that the runs have. What a model wrote keeps the coordinates
of the frame that it was shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
import json
from pathlib import Path
import re
from typing import Any

from oceangym_bench.execution.directory import BenchmarkDirectory, CellState, CellStatus
from oceangym_bench.matrix.benchmark_file import BenchmarkFile
from oceangym_bench.matrix.runs import Cell, DEFAULT_PROMPT
from oceangym_core.errors import OceanGymError
from oceangym_core.files import write_atomic
from oceangym_core.record.episode import Episode
from oceangym_core.record.memory_files import (
    ACTION_WORDS,
    find_text,
    MemoryEntry,
    TIMESTAMP_IN_NAME,
)
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import End, RecordedReport, Step

LAYOUTS = ('oceangym',)
_STAMP = '%Y-%m-%d_%H-%M-%S'


def export_oceangym(
    directory: BenchmarkDirectory,
    rows: Sequence[CellStatus],
    out: Path,
    *,
    say: Callable[[str], None],
) -> int:
    """Write the tree ``[<setting>/]<model>/task<N>/point<k>/`` and return how many runs are in it.

    Each run leaves ``memory_<time>.json``, ``important_memory_<time>.json`` and
    ``llm_output_<model>_<time>.log``. Runs of other layouts than the released one have no place in
    it, nor have tasks without a number, nor runs that were cut short.

    Args:
        directory: Of the results.
        rows: State of every run.
        out: Where the tree is made; must not exist or be empty.
        say: Told what is left out.

    Raises:
        OceanGymError: There is nothing to export, or `out` holds something.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise OceanGymError(f'{out} is there already; give a directory that is not')
    chosen, left = [], 0
    for row in rows:
        reason = _why_not(row)
        if not reason:
            chosen.append(row.cell)
        elif row.state is CellState.PENDING:
            left += 1
        else:
            say(f'{row.cell.id} is left out: {reason}')
    if left:
        say(f'{left} runs have not been made')
    if not chosen:
        raise OceanGymError(f'{directory.root} holds no run that the layout has a place for')
    benchmark = directory.benchmark()
    points = point_numbers(benchmark.start_names)
    for cell in chosen:
        place = out / _setting(benchmark, chosen, cell) / cell.model_word
        place = place / str(cell.alias) / f'point{points[cell.start]}'
        place.mkdir(parents=True, exist_ok=True)
        _export_run(directory.runs / cell.id, cell.model_word, place)
    return len(chosen)


def _why_not(row: CellStatus) -> str:
    if row.score is None:
        return f'{row.state.value}, {row.message}'.rstrip(', ')
    if row.score.get('partial'):
        return f'it ended by {row.score["ending"]}'
    if row.cell.alias is None:
        return 'its task has no number in OceanGym'
    if row.cell.options.world_seed != 0:
        return 'its layout is not the released one, whose coordinates the evaluator knows'
    return ''


def point_numbers(starts: Sequence[str]) -> dict[str, int]:
    """Return the number of each start's point directory: point<k> has its own, others from 3 on."""
    numbers = {name: int(name[5:]) for name in starts if re.fullmatch(r'point[1-9]\d*', name)}
    taken = {1, 2, *numbers.values()}
    for name in starts:
        if name not in numbers:
            free = next(k for k in range(3, len(starts) + len(taken) + 4) if k not in taken)
            numbers[name] = free
            taken.add(free)
    return numbers


def _setting(benchmark: BenchmarkFile, cells: Sequence[Cell], cell: Cell) -> str:
    """Return the directory that keeps runs apart which are no repeats; empty for a plain matrix."""
    parts = []
    if len(benchmark.durations) > 1 and cell.duration is not None:
        parts.append(f't{cell.duration:g}')
    if len({c.prompt for c in cells if c.prompt}) > 1:
        parts.append(Path(cell.prompt or DEFAULT_PROMPT).name)
    if len({c.transfer for c in cells}) > 1:
        parts.append(cell.transfer)
    return '_'.join(parts)


def _export_run(run: Path, model: str, place: Path) -> None:
    episode = load_episode(run)
    stamp = _free_stamp(_stamp_of(run), place)
    _write(place / f'memory_{stamp}.json', _in_map(episode, episode.memory))
    important = _in_map(episode, episode.important)
    texts = [find_text(_report_in_map(episode, report)) for report in episode.reports]
    if len(texts) == len(important):
        important = [replace(e, target_info=(text,)) for e, text in zip(important, texts)]
    _write(place / f'important_memory_{stamp}.json', important)
    log = '\n'.join(log_lines(episode))
    write_atomic(place / f'llm_output_{model}_{stamp}.log', log + '\n')


def _stamp_of(run: Path) -> str:
    """Return the time in the names of a run's memory files."""
    for path in sorted(run.glob('memory_*.json'), reverse=True):
        match = TIMESTAMP_IN_NAME.search(path.name)
        if match is not None:
            return match.group()
    raise OceanGymError(f'{run} holds no memory_<time>.json')


def _free_stamp(stamp: str, place: Path) -> str:
    """Return the time, or the next second that no other run of the point has."""
    when = datetime.strptime(stamp, _STAMP)
    while (place / f'memory_{when.strftime(_STAMP)}.json').exists():
        when += timedelta(seconds=1)
    return when.strftime(_STAMP)


def _in_map(episode: Episode, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    return [
        entry
        if entry.location is None
        else replace(entry, location=_to_map(episode, entry.location))
        for entry in entries
    ]


def _to_map(episode: Episode, place: Sequence[float]) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in episode.info.shift.points_to_map(place))
    return x, y, z


def _report_in_map(episode: Episode, report: RecordedReport) -> RecordedReport:
    if report.position is None:
        return report
    return report.model_copy(update={'position': _to_map(episode, report.position)})


def _write(path: Path, entries: Sequence[MemoryEntry]) -> None:
    content = [
        {
            'timestamp': entry.timestamp,
            'target_info': list(entry.target_info),
            'action': entry.action,
            'location': list(entry.location or ()),
        }
        for entry in entries
    ]
    write_atomic(path, json.dumps(content, indent=2, ensure_ascii=False) + '\n')


def log_lines(episode: Episode) -> list[str]:
    """Return a run as OceanGym logs it: time, then what the model said, did and remembered."""
    lines: list[str] = []
    for line in episode.lines:
        when = line.wall.written[:23].replace('T', ' ')
        place = _place_before(episode, line)
        decision = line.decision
        if decision is not None:
            action = ACTION_WORDS[decision.action]
            said = decision.raw_reply or decision.description or action
            lines.append(f'{when} - LLM output: {said}')
            memory = {'target_info': [decision.description], 'action': action, 'location': place}
            lines.append(f'{when} - Memory updated: {memory}')
        for report in line.reports:
            if report.accepted:
                lines.append(f'{when} - Target object found at location {place}')
                lines.append(f'{when} - Important Memory updated: {_report_note(episode, report)}')
        if isinstance(line, End):
            lines.append(f'{when} - Episode ended: {line.ending.value} {line.message}')
    return [line.rstrip() for line in lines]


def _place_before(episode: Episode, line: Step | End) -> list[float]:
    """Return where the vehicle was when the decision of a line was made, in map [m]."""
    number = line.index - 1 if isinstance(line, Step) else episode.steps[-1].index
    before = episode.step_of.get(max(number, 0))
    return [] if before is None else _decimetres(episode, before.estimate.position)


def _report_note(episode: Episode, report: RecordedReport) -> dict[str, Any]:
    place = report.position
    return {
        'target_info': report.label,
        'location': [] if place is None else _decimetres(episode, place),
    }


def _decimetres(episode: Episode, place: Sequence[float]) -> list[float]:
    return [round(v, 1) for v in _to_map(episode, place)]
