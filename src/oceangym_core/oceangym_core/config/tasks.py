"""Tasks: YAML files that say what to find, where it may be looked for, and how it is weighed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
import functools
import hashlib
import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_serializer, field_validator, model_validator, PrivateAttr

from oceangym_core.assets import config_path
from oceangym_core.contract.labels import normalised_label
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_schema, Schema, Vector
from oceangym_core.paths import user_path
from oceangym_core.world.footprint import Footprint
from oceangym_core.world.footprints import footprint_boxes
from oceangym_core.world.world import World

# Weights of one to three targets by point index: paper, section 2.5, footnote 5.
PAPER_WEIGHTS: dict[int, tuple[float, ...]] = {1: (1.0,), 2: (0.6, 0.4), 3: (0.6, 0.2, 0.2)}

# Endings of a world that is given as a file.
WORLD_FILES = ('.yaml', '.yml', '.sdf')

Name = Annotated[str, Field(pattern=r'^[a-z][a-z0-9_]{0,63}$')]
Text = Annotated[str, Field(min_length=1, max_length=4000)]


class BoundsSpec(Schema):
    """An operating volume in map [m] in place of the world's."""

    min: Vector
    max: Vector

    @model_validator(mode='after')
    def _ordered(self) -> BoundsSpec:
        if any(low >= high for low, high in zip(self.min, self.max, strict=True)):
            raise ValueError(f'min {self.min} must be below max {self.max} on every axis')
        return self


class TaskSpec(Schema):
    """One task as its YAML file describes it.

    Attributes:
        id: Name for ``task:=``.
        title: For people.
        category: ``detection`` (find it) or ``tracking`` (find it and follow or approach it).
        size_class: Of the target.
        label: What a true report says.
        label_aliases: Other names that count as the label.
        target_name, target_description, instruction: What the agent is told.
        targets: Anchors of the world, in the order of the paper's point index.
        weights: Of the targets, summing to 1; needed for more than three.
        benchmark: Water -> alias of the benchmark's task number.
        waters: Waters it may run in; empty for any.
        world: Name of a shipped world, or a file (YAML or SDF), relative to the task's file.
        t_max: Length of an episode [s].
        t_interval: Length of a maneuver [s].
        bounds: Operating volume; the world's if not given.
        reference_image: Picture of the target, relative to the task's file.
        measure: What is measured besides the scores.
    """

    id: Name
    title: Text
    category: Literal['detection', 'tracking']
    size_class: Literal['small', 'medium', 'large']
    label: Annotated[str, Field(min_length=2, max_length=80)]
    label_aliases: tuple[Annotated[str, Field(min_length=2, max_length=80)], ...] = ()
    target_name: Annotated[str, Field(min_length=2, max_length=80)]
    target_description: Text
    instruction: Text
    targets: Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]
    weights: tuple[Annotated[float, Field(gt=0, le=1)], ...] | None = None
    benchmark: dict[Name, Annotated[str, Field(pattern=r'^[a-z][a-z0-9]*$')]] = {}
    waters: tuple[str, ...] = ()
    world: Annotated[str, Field(min_length=1, max_length=400)] = 'ocean'
    t_max: Annotated[float, Field(gt=0, le=86400)] = 1800.0
    t_interval: Annotated[float, Field(ge=1, le=3600)] = 30.0
    bounds: BoundsSpec | None = None
    reference_image: Annotated[str, Field(max_length=400)] = ''
    measure: Literal['none', 'pipe_coverage', 'docking'] = 'none'

    _path: Path | None = PrivateAttr(default=None)
    _sha256: str = PrivateAttr(default='')

    @field_validator('targets')
    @classmethod
    def _unique(cls, targets: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(targets)) != len(targets):
            raise ValueError('a target is named twice')
        return targets

    @model_validator(mode='after')
    def _consistent(self) -> TaskSpec:
        count = len(self.targets)
        if self.weights is None and count not in PAPER_WEIGHTS:
            raise ValueError(
                f'{count} targets need weights: (a list of {count} numbers that sum to 1); '
                "one to three targets have the paper's"
            )
        if self.weights is not None:
            if len(self.weights) != count:
                raise ValueError(f'weights has {len(self.weights)} numbers for {count} targets')
            if not math.isclose(sum(self.weights), 1.0, abs_tol=1e-6):
                raise ValueError(f'weights sum to {sum(self.weights):g}; they must sum to 1')
        if self.t_interval > self.t_max:
            raise ValueError(f't_interval {self.t_interval:g} s exceeds t_max {self.t_max:g} s')
        stray = [w for w in self.benchmark if self.waters and w not in self.waters]
        if stray:
            raise ValueError(f'benchmark water {stray[0]!r} is not among its waters')
        return self

    @property
    def path(self) -> Path | None:
        """The file it was read from."""
        return self._path

    @property
    def sha256(self) -> str:
        """Digest of that file."""
        return self._sha256

    @property
    def target_weights(self) -> tuple[float, ...]:
        """Weights by point index."""
        return self.weights or PAPER_WEIGHTS[len(self.targets)]

    @property
    def labels(self) -> frozenset[str]:
        """Every accepted label, normalised."""
        names = (self.label, self.target_name, *self.label_aliases)
        return frozenset(normalised_label(name) for name in names)

    @property
    def world_source(self) -> str:
        """The name of a shipped world, or the path of a world file taken from beside the task's."""
        if self._path is None or not self.world.endswith(WORLD_FILES):
            return self.world
        return str((self._path.parent / user_path(self.world)).resolve())

    @property
    def reference_image_path(self) -> Path | None:
        """The reference picture, if it is given and there."""
        if not self.reference_image or self._path is None:
            return None
        image = self._path.parent / self.reference_image
        return image if image.is_file() else None


class Target(Schema):
    """One target of an episode, with all that scoring needs of the world.

    Attributes:
        name: The anchor.
        label: The label of a true report.
        point: The evaluation point in map [m].
        weight: Share of the score.
        accepted_labels: Further labels that count.
        footprint: Its volume in map.
        structure: The whole of what it is a station of, e.g. the pipeline; None for other targets, and
            for all but the first station of a structure.
    """

    name: str
    label: str
    point: Vector
    weight: Annotated[float, Field(ge=0, le=1)]
    accepted_labels: frozenset[str] = frozenset()
    footprint: Footprint
    structure: Footprint | None = Field(default=None, exclude_if=lambda whole: whole is None)

    @field_validator('footprint')
    @classmethod
    def _some(cls, footprint: Footprint) -> Footprint:
        if not footprint.boxes:
            raise ValueError('it needs at least one box')
        return footprint

    @field_serializer('accepted_labels')
    def _in_order(self, labels: frozenset[str]) -> list[str]:
        return sorted(labels)

    def is_called(self, label: str) -> bool:
        """Return whether a report's label names this target."""
        accepted = (self.label, *self.accepted_labels)
        return normalised_label(label) in map(normalised_label, accepted)


def load_task(path: Path) -> TaskSpec:
    """Read one task file.

    Raises:
        OceanGymError: Names the file, the key and what is accepted.
    """
    task = read_schema(path, TaskSpec)
    # Filled in after validation: the file cannot know its own place and digest.
    task._path = path.resolve()
    task._sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    return task


@dataclass(frozen=True)
class TaskRegistry:
    """The known tasks by id."""

    tasks: dict[str, TaskSpec]

    @classmethod
    def load(cls, extra_dirs: Iterable[Path] = ()) -> TaskRegistry:
        """Read the shipped tasks and those of further configuration directories.

        Args:
            extra_dirs: Directories with a ``tasks`` folder or with task files; a task here replaces
                a shipped one of the same id.

        Raises:
            OceanGymError: A file is wrong, or two files of a directory claim one id or alias.
        """
        tasks = dict(_shipped_tasks())
        for directory in extra_dirs:
            tasks.update(_tasks_in(config_folder(directory, 'tasks')))
        _check_aliases(tasks)
        return cls(tasks)

    def names(self) -> tuple[str, ...]:
        """Return every task id."""
        return tuple(self.tasks)

    def benchmark(self) -> tuple[tuple[str, str, str], ...]:
        """Return (alias, task id, water) of the benchmark's tasks, in their numbers' order."""
        rows = [
            (alias, task.id, water)
            for task in self.tasks.values()
            for water, alias in task.benchmark.items()
        ]
        return tuple(sorted(rows, key=lambda row: (len(row[0]), row[0])))

    def alias(self, name: str) -> tuple[str, str] | None:
        """Return (task id, water) of a benchmark alias such as ``task9``, None for other names."""
        return next(((t, w) for a, t, w in self.benchmark() if a == name), None)

    def get(self, name: str) -> TaskSpec:
        """Return a task by id, benchmark alias or path of a YAML file.

        Raises:
            OceanGymError: There is none; says what was probably meant.
        """
        if name.endswith(('.yaml', '.yml')):
            return load_task(user_path(name))
        alias = self.alias(name)
        key = alias[0] if alias else name
        if key not in self.tasks:
            raise unknown_name(
                'task',
                name,
                [*self.tasks, *(row[0] for row in self.benchmark())],
                hint='A task of your own is given by the path of its YAML file.',
            )
        return self.tasks[key]


def config_folder(directory: Path, kind: str) -> Path:
    """Return the folder of one kind of file in a configuration directory, or the directory itself."""
    if not directory.is_dir():
        what = 'is not a directory' if directory.exists() else 'does not exist'
        raise OceanGymError(
            f"configuration directory {directory} {what} (':' separates directories)"
        )
    return directory / kind if (directory / kind).is_dir() else directory


@functools.lru_cache(maxsize=1)
def _shipped_tasks() -> dict[str, TaskSpec]:
    return _tasks_in(config_path('tasks'))


def _tasks_in(folder: Path) -> dict[str, TaskSpec]:
    tasks: dict[str, TaskSpec] = {}
    for path in sorted(folder.glob('*.y*ml')):
        task = load_task(path)
        if task.id in tasks:
            raise OceanGymError(f'{path}: task id {task.id!r} is taken by {tasks[task.id].path}')
        tasks[task.id] = task
    return tasks


def _check_aliases(tasks: dict[str, TaskSpec]) -> None:
    owner: dict[str, TaskSpec] = {}
    for task in tasks.values():
        for alias in task.benchmark.values():
            if alias in owner or alias in tasks:
                taken = owner.get(alias, tasks.get(alias))
                raise OceanGymError(
                    f'{task.path}: alias {alias!r} is taken by {taken.path if taken else alias}'
                )
            owner[alias] = task


def resolve_targets(task: TaskSpec, world: World) -> tuple[Target, ...]:
    """Return a task's targets as they lie in a world.

    Raises:
        OceanGymError: The world has no such anchor, or the task calls it by another label.
    """
    targets = []
    known: set[tuple[str, ...]] = set()
    for name, weight in zip(task.targets, task.target_weights, strict=True):
        try:
            anchor = world.anchor(name)
        except OceanGymError as error:
            raise OceanGymError(f'{task.path or task.id}: targets: {error}') from None
        if anchor.label and normalised_label(anchor.label) not in task.labels:
            names = ', '.join(repr(n) for n in (task.label, task.target_name, *task.label_aliases))
            raise OceanGymError(
                f'{task.path or task.id}: label: target {name!r} is labelled {anchor.label!r} in '
                f'world {world.name}, but the task accepts only {names}. '
                f'Write label: {anchor.label}, or add it to label_aliases.'
            )
        structure = None
        whole = tuple(i.name for i in world.instances if i.model.prop.label == anchor.label)
        if anchor.radius is not None and whole and whole not in known:
            known.add(whole)
            all_of_it = replace(anchor, radius=None, instances=whole)
            structure = Footprint.of(footprint_boxes(world, all_of_it))
        targets.append(
            Target(
                name=name,
                label=task.label,
                point=anchor.point,
                weight=weight,
                footprint=Footprint.of(footprint_boxes(world, anchor)),
                accepted_labels=task.labels,
                structure=structure,
            )
        )
    return tuple(targets)
