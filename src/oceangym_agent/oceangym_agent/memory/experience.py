"""Experience: what earlier runs remembered, handed on to a new one with its origin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
import math
from pathlib import Path

from oceangym_agent.memory.coordinates import strip_coordinates
from oceangym_agent.memory.tokens import cut_text, one_line
from oceangym_core.contract.frames import FrameShift
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_schema
from oceangym_core.paths import user_path
from oceangym_core.record.memory_files import MemoryEntry, read_memory, TIMESTAMP_IN_NAME
from oceangym_core.record.schema import RUN_FILE, RunInfo

STRIPS = ('none', 'coordinates')
MEMORY_PREFIX = 'memory_'
IMPORTANT_PREFIX = 'important_memory_'
ENTRY_CHARACTERS = 400
# Recorded shifts are rounded to 1 mm and 1e-6 rad.
SHIFT_TOLERANCE_M = 2e-3
SHIFT_TOLERANCE_RAD = 2e-6
REMEDY = 'Give memory_strip:=coordinates to hand on what was learnt without the places'


class Relation(str, Enum):
    """How an earlier run's task relates to the present one."""

    WITHIN_TASK = 'within_task'
    CROSS_TASK = 'cross_task'
    UNKNOWN = 'unknown'


@dataclass(frozen=True, kw_only=True)
class EarlierRun:
    """What one earlier run left.

    Attributes:
        path: As it was given.
        task_id: From its run.yaml; empty for bare OceanGym files.
        world_seed: Of the layout, None where unknown.
        relation: Of its task to the present one.
        steps, important: Its memories, oldest first.
    """

    path: str
    task_id: str = ''
    world_seed: int | None = None
    relation: Relation = Relation.UNKNOWN
    steps: tuple[MemoryEntry, ...] = ()
    important: tuple[MemoryEntry, ...] = ()

    @property
    def title(self) -> str:
        """What the run was, in a few words."""
        if not self.task_id:
            return 'an earlier dive'
        same = {Relation.WITHIN_TASK: 'the same task', Relation.CROSS_TASK: 'another task'}
        kind = same.get(self.relation)
        return f'earlier dive on {self.task_id}' + (f' ({kind})' if kind else '')


@dataclass(frozen=True, kw_only=True)
class Experience:
    """The memories of earlier runs, in the order they were named."""

    runs: tuple[EarlierRun, ...]

    def lines(self) -> Iterator[str]:
        """Return one line an entry, those worth most last: finds after steps, later runs last."""
        for finds in (False, True):
            for number, run in enumerate(self.runs, start=1):
                for entry in run.important if finds else run.steps:
                    yield _line(f'dive {number}, {run.title}', entry, find=finds)


def _line(origin: str, entry: MemoryEntry, *, find: bool) -> str:
    place = ''
    if entry.location is not None:
        place = ' at [' + ', '.join(f'{round(v, 1) + 0.0:.1f}' for v in entry.location) + ']'
    said = cut_text(one_line(' / '.join(entry.target_info)), ENTRY_CHARACTERS) or 'nothing noted'
    action = f' -> {cut_text(one_line(entry.action), 40)}' if entry.action and not find else ''
    return f'- {origin}: {"find, vehicle" if find else "vehicle"}{place}: {said}{action}'


def load_experience(
    paths: Iterable[Path | str],
    *,
    strip: str = 'none',
    shift: FrameShift | None = None,
    world_seed: int | None = None,
    task_id: str = '',
) -> Experience:
    """Read the memories of earlier runs.

    Args:
        paths: Run directories (``run.yaml`` and memory files), directories of OceanGym's memory
            files, or single ``memory_*.json`` and ``important_memory_*.json`` files. OceanGym's
            coordinates are those of map.
        strip: ``none``, or ``coordinates`` to leave every place out, in texts too.
        shift: Of the present run; None leaves the frames unchecked.
        world_seed: Of the present run's layout; None leaves the layouts unchecked.
        task_id: Of the present run.

    Raises:
        OceanGymError: A path is none of these or holds broken files, or its coordinates lie in
            another frame or layout than the present ones.
    """
    if strip not in STRIPS:
        raise unknown_name('memory_strip', strip, STRIPS)
    runs: list[EarlierRun] = []
    for given in paths:
        run, recorded = _read(given, task_id)
        if strip == 'none' and shift is not None and not _same_frame(recorded, shift):
            raise OceanGymError(_frame_message(str(given), recorded, shift))
        known = None not in (run.world_seed, world_seed)
        if strip == 'none' and known and run.world_seed != world_seed:
            raise OceanGymError(
                f'memory_from: {given} was flown in the layout world_seed:={run.world_seed}, this run '
                f'is in {world_seed}, where things lie elsewhere. {REMEDY}.'
            )
        runs.append(_stripped(run) if strip == 'coordinates' else run)
    return Experience(runs=tuple(runs))


def _read(given: Path | str, task_id: str) -> tuple[EarlierRun, FrameShift]:
    """Return one source's memories and the frame that they are in."""
    try:
        path = user_path(given)
    except OceanGymError as error:
        raise OceanGymError(f'memory_from: {error}') from None
    try:
        directory = path if path.is_dir() else path.parent
        files = _memory_files(path)
        described = (directory / RUN_FILE).is_file()
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or str(error)
        raise OceanGymError(f'memory_from: cannot read {str(given)[:300]!r}: {reason}') from error
    steps, important = _entries(files, MEMORY_PREFIX), _entries(files, IMPORTANT_PREFIX)
    run = EarlierRun(
        path=str(given),
        steps=steps,
        important=important,
    )
    if not described:
        return run, FrameShift()
    info = read_schema(directory / RUN_FILE, RunInfo)
    earlier = info.task.id
    relation = Relation.WITHIN_TASK if earlier == task_id else Relation.CROSS_TASK
    return (
        replace(
            run,
            task_id=earlier,
            world_seed=info.world.seed,
            relation=relation if earlier and task_id else Relation.UNKNOWN,
        ),
        info.shift,
    )


def _memory_files(path: Path) -> list[Path]:
    """Return the memory files that a path stands for, oldest first.

    Raises:
        OceanGymError: There are none.
    """
    if path.is_file():
        if not path.name.startswith((MEMORY_PREFIX, IMPORTANT_PREFIX)) or path.suffix != '.json':
            raise OceanGymError(
                f'memory_from: {path} is no memory file; these are called '
                f'{MEMORY_PREFIX}<time>.json and {IMPORTANT_PREFIX}<time>.json'
            )
        return [path]
    if not path.is_dir():
        raise OceanGymError(
            f'memory_from: {path} does not exist; give run directories or OceanGym memory files, '
            "separated by ':'"
        )
    files = [
        *path.glob(f'{MEMORY_PREFIX}*.json'),
        *path.glob(f'{IMPORTANT_PREFIX}*.json'),
    ]
    if not files:
        hint = ''
        if any(path.glob(f'*/{RUN_FILE}')) or any(path.glob('point*')):
            hint = '; name one of the runs in it'
        raise OceanGymError(
            f'memory_from: {path} holds no {MEMORY_PREFIX}<time>.json and no '
            f'{IMPORTANT_PREFIX}<time>.json{hint}'
        )
    return sorted(files, key=_stamp_and_name)


def _stamp_and_name(path: Path) -> tuple[str, str]:
    stamp = TIMESTAMP_IN_NAME.search(path.name)
    return (stamp.group() if stamp else '', path.name)


def _entries(files: Sequence[Path], prefix: str) -> tuple[MemoryEntry, ...]:
    return tuple(
        entry for file in files if file.name.startswith(prefix) for entry in read_memory(file)
    )


def _same_frame(one: FrameShift, other: FrameShift) -> bool:
    turned = math.remainder(one.yaw - other.yaw, 2 * math.pi)
    return (
        math.hypot(one.x - other.x, one.y - other.y) <= SHIFT_TOLERANCE_M
        and abs(turned) <= SHIFT_TOLERANCE_RAD
    )


def _frame_message(path: str, recorded: FrameShift, shift: FrameShift) -> str:
    # The shifts themselves stay out: with them a log would give the released coordinates away.
    frames = ['map' if s == FrameShift() else 'a shifted frame' for s in (recorded, shift)]
    if frames[0] == frames[1]:
        frames[0] = 'another shifted frame'
    return (
        f'memory_from: the coordinates in {path} are in {frames[0]}, those of this run in '
        f'{frames[1]}. {REMEDY}, or fly both runs in one frame (the same frame:= and frame_seed:=).'
    )


def _stripped(run: EarlierRun) -> EarlierRun:
    return replace(
        run,
        steps=tuple(_without_place(entry) for entry in run.steps),
        important=tuple(_without_place(entry) for entry in run.important),
    )


def _without_place(entry: MemoryEntry) -> MemoryEntry:
    return replace(
        entry,
        location=None,
        target_info=tuple(strip_coordinates(text) for text in entry.target_info),
        action=strip_coordinates(entry.action),
    )
