"""Reading of OceanGym's result trees as people keep them: what cannot be read is named and left out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
import re
import sys

from oceangym_core.errors import OceanGymError
from oceangym_core.record.memory_files import MemoryEntry, read_memory, TIMESTAMP_IN_NAME

LAST_TASK = 12
_TASK = re.compile(r'task0*(\d{1,2})', re.IGNORECASE)
_POINT = re.compile(r'point\w*', re.IGNORECASE)
# Left behind by archivers and file managers, beside names that begin with a dot.
_LEFTOVERS = ('__MACOSX', '$RECYCLE.BIN', 'System Volume Information')
# Levels of folders between the root and the task directories; the released tree has up to four.
_DEPTH = 6


@dataclass(frozen=True, kw_only=True)
class FileGroup:
    """The memory files of one run in a result tree.

    Attributes:
        stamp: Of the run, as in the files' names.
        memory, important: Entries; None for a file that is not there, none for a damaged one.
        damage: Why a file cannot be read; empty if all can.
    """

    stamp: str
    memory: tuple[MemoryEntry, ...] | None
    important: tuple[MemoryEntry, ...] | None
    damage: str = ''


@dataclass(frozen=True, kw_only=True)
class OceanGymTree:
    """OceanGym's results.

    Attributes:
        root: Where they lie.
        models: Model -> ``task1`` .. ``task12`` -> point directory -> file groups.
        notes: What was left out or is damaged, each with its path.
    """

    root: Path
    models: dict[str, dict[str, dict[str, tuple[FileGroup, ...]]]]
    notes: tuple[str, ...] = ()

    def print_notes(self) -> None:
        """Write the notes to stderr."""
        for note in self.notes:
            sys.stderr.write(f'note: {note}\n')


def is_oceangym_tree(path: Path) -> bool:
    """Return whether a directory holds ``task*/point*`` directories at some depth."""
    return next(_task_directories(path), None) is not None


def load_oceangym_tree(path: Path) -> OceanGymTree:
    """Read ``<model>/task*/point*/memory_*.json`` and ``important_memory_*.json``.

    A damaged file counts as one without entries, which the released evaluator scores 0.

    Args:
        path: The tree's root, a folder above it, or one model's directory.

    Raises:
        OceanGymError: Nothing of the kind is there.
    """
    reader = _TreeReader(path)
    for directory in _task_directories(path):
        reader.read_task(directory)
    if not reader.models:
        found = f'; {reader.notes[0]}' if reader.notes else ''
        raise OceanGymError(
            f'{path} is neither a run directory (run.yaml, episode.jsonl) nor a result tree '
            f'(<model>/task*/point*/memory_*.json){found}'
        )
    return OceanGymTree(root=path, models=reader.models, notes=tuple(reader.notes))


def _is_leftover(path: Path) -> bool:
    return path.name.startswith('.') or path.name in _LEFTOVERS


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(p for p in path.iterdir() if p.is_dir() and not _is_leftover(p))
    except OSError:
        return []


def _task_directories(path: Path, depth: int = _DEPTH) -> Iterator[Path]:
    for folder in _folders(path):
        points = any(p.name.lower().startswith('point') for p in _folders(folder))
        if folder.name.lower().startswith('task') and points:
            yield folder
        elif depth > 1 and not folder.is_symlink():
            yield from _task_directories(folder, depth - 1)


@dataclass
class _TreeReader:
    root: Path
    models: dict[str, dict[str, dict[str, tuple[FileGroup, ...]]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def read_task(self, directory: Path) -> None:
        match = _TASK.fullmatch(directory.name)
        if match is None or not 1 <= int(match[1]) <= LAST_TASK:
            self._leave_out(directory, f'unknown task; allowed: task1 .. task{LAST_TASK}')
            return
        model = directory.parent.relative_to(self.root).as_posix()
        name = self.root.resolve().name if model == '.' else model
        task = f'task{int(match[1])}'
        if task in self.models.get(name, {}):
            self._leave_out(directory, f'{task} of this model was read from another folder')
            return
        points = {}
        for point in _folders(directory):
            if not _POINT.fullmatch(point.name):
                self._leave_out(point, 'start points are called point1, point2, ...')
                continue
            groups = self._groups(point)
            if groups:
                points[point.name.lower()] = groups
        if points:
            self.models.setdefault(name, {})[task] = points

    def _leave_out(self, path: Path, why: str) -> None:
        self.notes.append(f'{path}: left out: {why}')

    def _groups(self, point: Path) -> tuple[FileGroup, ...]:
        memory = self._by_stamp(point, 'memory_')
        important = self._by_stamp(point, 'important_memory_')
        if not memory and not important:
            self._leave_out(point, 'holds no memory_<time>.json or important_memory_<time>.json')
        return tuple(
            self._group(stamp, memory.get(stamp), important.get(stamp))
            for stamp in sorted({*memory, *important})
        )

    def _group(self, stamp: str, memory: Path | None, important: Path | None) -> FileGroup:
        entries = {path: self._entries(path) for path in (memory, important) if path is not None}
        damaged = [path for path, found in entries.items() if found is None]
        return FileGroup(
            stamp=stamp,
            memory=None if memory is None else entries[memory] or (),
            important=None if important is None else entries[important] or (),
            damage=f'{damaged[0].name} is damaged' if damaged else '',
        )

    def _entries(self, path: Path) -> tuple[MemoryEntry, ...] | None:
        try:
            return read_memory(path)
        except OceanGymError as error:
            self.notes.append(f'{error}; it counts as empty')
            return None

    def _by_stamp(self, point: Path, prefix: str) -> dict[str, Path]:
        files: dict[str, Path] = {}
        # Names without an addition come first: a copy never replaces its original.
        for path in sorted(point.glob(f'{prefix}*.json'), key=lambda p: (len(p.name), p.name)):
            match = TIMESTAMP_IN_NAME.search(path.name)
            if match is None:
                self._leave_out(path, 'its name holds no time such as 2025-09-01_10-00-00')
            elif match.group() in files:
                self._leave_out(path, f'a copy of {files[match.group()].name}')
            else:
                files[match.group()] = path
        return files
