"""Reading recorded episodes, whole or cut short."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
import re
from typing import TypeVar

from pydantic import ValidationError

from oceangym_core.errors import OceanGymError
from oceangym_core.files import MAX_JSON_BYTES, read_schema, read_text
from oceangym_core.record.episode import Ending, Episode, RunInfo, Step
from oceangym_core.record.memory_files import MemoryEntry, read_memory
from oceangym_core.record.schema import EndLine, RunFile, StepLine

LineT = TypeVar('LineT', StepLine, EndLine)
_IS_END = re.compile(r'\s*\{\s*"kind"\s*:\s*"end"')


def _parse(schema: type[LineT], text: str, where: str) -> LineT:
    try:
        return schema.model_validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        key = '.'.join(str(part) for part in problem['loc'])
        raise OceanGymError(
            f'{where}: {f"{key[:200]}: " if key else ""}{problem["msg"][:300]}'
        ) from error


def parse_step(text: str, where: str) -> Step:
    """Return the step of one line.

    Raises:
        OceanGymError: The line is not one.
    """
    try:
        return _parse(StepLine, text, where).value()
    except ValueError as error:
        raise OceanGymError(f'{where}: {error}') from error


def parse_end(text: str, where: str) -> EndLine:
    """Return the closing line.

    Raises:
        OceanGymError: The line is not one.
    """
    return _parse(EndLine, text, where)


def episode_of(
    info: RunInfo,
    steps: Sequence[Step],
    end: EndLine | None,
    *,
    notes: Iterable[str] = (),
    memory: tuple[MemoryEntry, ...] = (),
    important: tuple[MemoryEntry, ...] = (),
) -> Episode:
    """Put an episode together from its parts."""
    return Episode(
        info=info,
        steps=tuple(steps),
        ending=Ending.INTERRUPTED if end is None else end.ending,
        message='the record ends without a closing line' if end is None else end.message,
        last_reports=() if end is None else tuple(report.value() for report in end.reports),
        last_decision=None if end is None or end.decision is None else end.decision.value(),
        notes=tuple(notes),
        memory=memory,
        important=important,
    )


def load_episode(run_dir: Path) -> Episode:
    """Read a run directory.

    A last line that was being written when the run was killed is left out, with a note.

    Raises:
        OceanGymError: A file is missing or wrong; names the file and the line.
    """
    info = read_schema(run_dir / 'run.yaml', RunFile).value()
    path = run_dir / 'episode.jsonl'
    lines = read_text(path, MAX_JSON_BYTES).split('\n')
    # A whole record ends with a newline, hence an empty last item.
    complete, tail = lines[:-1], lines[-1]
    notes: list[str] = []
    if tail:
        notes.append(f'{path.name}: the last line is cut off and was left out')
    steps: list[Step] = []
    end: EndLine | None = None
    for number, line in enumerate(complete, start=1):
        where = f'{path}, line {number}'
        if end is not None:
            raise OceanGymError(f'{where}: follows the closing line')
        if _is_end(line):
            end = parse_end(line, where)
        else:
            steps.append(parse_step(line, where))
    memory = _newest(run_dir, 'memory_', notes)
    important = _newest(run_dir, 'important_memory_', notes)
    return episode_of(info, steps, end, notes=notes, memory=memory, important=important)


def _is_end(line: str) -> bool:
    # The kind is the first key of a closing line, so that texts inside cannot be mistaken for it.
    return _IS_END.match(line) is not None


def _newest(run_dir: Path, prefix: str, notes: list[str]) -> tuple[MemoryEntry, ...]:
    paths = sorted(run_dir.glob(f'{prefix}*.json'))
    if not paths:
        notes.append(f'{prefix}*.json is missing')
        return ()
    return read_memory(paths[-1])
