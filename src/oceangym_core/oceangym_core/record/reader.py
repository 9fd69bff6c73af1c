"""Reading recorded episodes, whole or cut short."""

from __future__ import annotations

from pathlib import Path
import re

from pydantic import ValidationError

from oceangym_core.errors import OceanGymError
from oceangym_core.files import MAX_JSON_BYTES, read_schema, read_text, schema_error
from oceangym_core.record.episode import Episode
from oceangym_core.record.memory_files import MemoryEntry, read_memory
from oceangym_core.record.schema import End, EPISODE_FILE, RUN_FILE, RunInfo, Step

# The kind is the first key of a closing line, so that texts inside cannot be mistaken for it.
_IS_END = re.compile(r'\s*\{\s*"kind"\s*:\s*"end"')


def parse_line(text: str, where: str) -> Step | End:
    """Return a line of ``episode.jsonl``; `where` names it in messages.

    Raises:
        OceanGymError: It is none; names the key, the value and what is accepted.
    """
    model = End if _IS_END.match(text) else Step
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise schema_error(where, model, error) from error


def load_episode(run_dir: Path) -> Episode:
    """Read a run directory.

    A last line that was being written when the run was killed is left out, with a note.

    Raises:
        OceanGymError: A file is missing or wrong; names the file and the line.
    """
    info = read_schema(run_dir / RUN_FILE, RunInfo)
    path = run_dir / EPISODE_FILE
    lines = read_text(path, MAX_JSON_BYTES).split('\n')
    # A whole record ends with a newline, hence an empty last item.
    complete, tail = lines[:-1], lines[-1]
    notes: list[str] = []
    if tail:
        notes.append(f'{path.name}: the last line is cut off and was left out')
    steps: list[Step] = []
    end: End | None = None
    for number, line in enumerate(complete, start=1):
        where = f'{path}, line {number}'
        if end is not None:
            raise OceanGymError(f'{where}: follows the closing line')
        entry = parse_line(line, where)
        if isinstance(entry, End):
            end = entry
        else:
            steps.append(entry)
    memory = _newest(run_dir, 'memory_', notes)
    important = _newest(run_dir, 'important_memory_', notes)
    return Episode(
        info=info,
        steps=tuple(steps),
        end=end,
        notes=tuple(notes),
        memory=memory,
        important=important,
    )


def _newest(run_dir: Path, prefix: str, notes: list[str]) -> tuple[MemoryEntry, ...]:
    paths = sorted(run_dir.glob(f'{prefix}*.json'))
    if not paths:
        notes.append(f'{prefix}*.json is missing')
        return ()
    return read_memory(paths[-1])
