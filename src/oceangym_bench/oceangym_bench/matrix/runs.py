"""The runs that a benchmark file stands for, each with a readable name that never changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
import itertools
from pathlib import Path
import re
from typing import Any

from oceangym_agent.models.presets import preset_names
from oceangym_bench.matrix.benchmark_file import (
    BenchmarkFile,
    known_choice,
    OwnAgent,
    PLAIN_AGENTS,
    TASK_GROUPS,
)
from oceangym_bench.matrix.hidden_layouts import layout_label
from oceangym_core.config.options import prompt_names, resolve_names, RunOptions
from oceangym_core.config.tasks import config_folder, TaskRegistry
from oceangym_core.errors import OceanGymError
from oceangym_core.paths import user_path

MAX_CELLS = 20_000
# What a person may change without changing what is measured.
PLACE_OPTIONS = ('results_dir', 'memory_from', 'config', 'base_url', 'device')
DEFAULT_PROMPT = 'oceangym'


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of a benchmark.

    Attributes:
        id: Name of its run directory, made of its own values only.
        options: Of the run; `memory_from` is filled in when its sources have run.
        model: As the benchmark file names it.
        alias: Benchmark alias task1..task12 of task and water, or None.
        world: Source of the task's world.
        start: As in the file.
        repeat: Counts from 0.
        duration: Length of the episode if the file gives one [s].
        prompt: Name of the prompt; empty for agents without a model.
        transfer: ``none``, ``within_task`` or ``cross_task``.
        sources: Ids of the runs whose memory it is given.
        own_agent: The user's agent that flies it, if it is one.
    """

    id: str
    options: RunOptions
    model: str
    alias: str | None
    world: str
    start: str
    repeat: int
    duration: float | None
    prompt: str
    transfer: str
    sources: tuple[str, ...] = ()
    own_agent: OwnAgent | None = None

    @property
    def layout(self) -> str:
        """Whether targets lie where OceanGym released them: ``released`` or ``hidden``."""
        return 'released' if self.options.world_seed == 0 else 'hidden'

    @property
    def model_word(self) -> str:
        """The model as a part of file names."""
        return _word(self.model)

    @property
    def simulator_key(self) -> tuple[Any, ...]:
        """What a worker keeps from one run to the next: the same for cells of one simulator."""
        o = self.options
        return (o.world_seed, self.world, o.water, o.resolved_sensors, o.device, o.config)

    def settings(self) -> dict[str, Any]:
        """Return what decides the result, for comparison with an earlier version of the file."""
        content = self.options.as_dict()
        for name in PLACE_OPTIONS:
            content.pop(name)
        content |= {'transfer': self.transfer, 'sources': list(self.sources)}
        if self.own_agent is not None:
            content['own_agent'] = self.own_agent.model_dump()
        return content


@dataclass(frozen=True)
class _TaskPoint:
    """A task in one water, and where its world comes from."""

    task: str
    water: str
    alias: str | None
    world: str


@dataclass(frozen=True, kw_only=True)
class _Key:
    """One value of every axis of the matrix."""

    model: str
    point: _TaskPoint
    start: str
    world_seed: int
    private: bool
    repeat: int
    duration: float | None
    prompt: str
    transfer: str

    @property
    def cell_id(self) -> str:
        """The name of the run; what is as usual is left out."""
        point = self.point
        task = point.alias or f'{_word(point.task)}_{_word(point.water)}'
        parts = [_word(self.model), task, _word(self.start)]
        layout = layout_label(self.world_seed) if self.private else self.world_seed
        parts += [f'w{layout}', f'r{self.repeat}']
        if self.duration is not None:
            parts.append(f't{self.duration:g}'.replace('.', '_'))
        if self.prompt not in ('', DEFAULT_PROMPT):
            parts.append(f'p_{_word(self.prompt)}')
        if self.transfer != 'none':
            parts.append(self.transfer)
        return '.'.join(parts)


def cells_of(benchmark: BenchmarkFile) -> tuple[Cell, ...]:
    """Return every run, in the order in which they are best made.

    Runs that give their memory come before those that take it; within that, those of one simulator
    follow each other.

    Raises:
        OceanGymError: A name in the file is unknown, or the file stands for too many runs.
    """
    points = _task_points(benchmark)
    _check_size(benchmark, points)
    for point, duration in itertools.product(points, benchmark.durations or (None,)):
        _check_names(benchmark, point, duration)
    presets = preset_names([config_folder(folder, 'agents') for folder in _folders(benchmark)])
    known_prompts = prompt_names(_folders(benchmark))
    prompts_of_models = [known_choice('prompt', p, known_prompts) for p in benchmark.prompts]
    cells: list[Cell] = []
    for model in _systems(benchmark):
        plain = _is_plain(benchmark, model)
        if not plain:
            known_choice('model', model, (*PLAIN_AGENTS, *presets))
        prompts = [''] if plain else prompts_of_models
        modes = ('none',) if plain else benchmark.transfer.modes
        for prompt in prompts:
            for mode in modes:
                keys = _keys(benchmark, model, prompt, mode, points)
                cells += [_cell(benchmark, key, points) for key in keys]
    _check_unique(benchmark, cells)
    return tuple(sorted(cells, key=lambda cell: (cell.transfer != 'none', cell.simulator_key)))


def _systems(benchmark: BenchmarkFile) -> tuple[str, ...]:
    """Return the models and the baselines that are no models of the file already."""
    return tuple(dict.fromkeys((*benchmark.systems, *benchmark.baselines)))


def _is_plain(benchmark: BenchmarkFile, model: str) -> bool:
    """Return whether an agent asks no model, so that prompts and memories mean nothing to it."""
    return model in PLAIN_AGENTS or model in benchmark.own_agents


def _check_size(benchmark: BenchmarkFile, points: Sequence[_TaskPoint]) -> None:
    plain = [_is_plain(benchmark, model) for model in _systems(benchmark)]
    prompted = len(benchmark.prompts) * len(benchmark.transfer.modes)
    systems = sum(1 if is_plain else prompted for is_plain in plain)
    layouts = len({*benchmark.world_seeds, *benchmark.hidden_seeds()})
    one = len(points) * len(benchmark.start_names) * layouts
    count = systems * one * benchmark.repeats * max(1, len(benchmark.durations))
    if count > MAX_CELLS:
        raise OceanGymError(
            f'benchmark {benchmark.name} stands for {count} runs; at most {MAX_CELLS} are '
            'accepted. Split it into several files'
        )


def _check_names(benchmark: BenchmarkFile, point: _TaskPoint, duration: float | None) -> None:
    """Look up, once for all runs that share them, what is looked up in files."""
    options = RunOptions(
        task=point.task,
        water=point.water,
        profile=benchmark.profile,
        t_max=duration,
        t_interval=benchmark.t_interval,
        config=':'.join(benchmark.config),
    )
    try:
        resolve_names(options)
    except OceanGymError as error:
        raise OceanGymError(f'benchmark {benchmark.name}: {error}') from None


def _folders(benchmark: BenchmarkFile) -> tuple[Path, ...]:
    """Return the file's own configuration directories."""
    return tuple(user_path(folder) for folder in benchmark.config)


def _keys(
    benchmark: BenchmarkFile, model: str, prompt: str, mode: str, points: Sequence[_TaskPoint]
) -> Iterator[_Key]:
    open_seeds = benchmark.world_seeds
    for world_seed, point, start, repeat, duration in itertools.product(
        dict.fromkeys((*open_seeds, *benchmark.hidden_seeds())),
        points,
        benchmark.start_names,
        range(benchmark.repeats),
        benchmark.durations or (None,),
    ):
        yield _Key(
            model=model,
            point=point,
            start=start,
            world_seed=world_seed,
            private=world_seed not in open_seeds,
            repeat=repeat,
            duration=duration,
            prompt=prompt,
            transfer=mode,
        )


def _cell(benchmark: BenchmarkFile, key: _Key, points: Sequence[_TaskPoint]) -> Cell:
    return Cell(
        id=key.cell_id,
        options=_options(benchmark, key),
        model=key.model,
        alias=key.point.alias,
        world=key.point.world,
        start=key.start,
        repeat=key.repeat,
        duration=key.duration,
        prompt=key.prompt,
        transfer=key.transfer,
        sources=tuple(source.cell_id for source in _sources(benchmark, key, points)),
        own_agent=benchmark.own_agents.get(key.model),
    )


def _sources(benchmark: BenchmarkFile, key: _Key, points: Sequence[_TaskPoint]) -> list[_Key]:
    """Return the runs that a run is given."""
    point, count = key.point, benchmark.transfer.sources
    if key.transfer == 'within_task':
        starts = benchmark.start_names
        at = starts.index(key.start)
        others = [*starts[at + 1 :], *starts[:at]]
        _need(benchmark, key, len(others), 'other starts')
        return [replace(key, start=other, transfer='none') for other in others[:count]]
    if key.transfer == 'cross_task':
        at = points.index(point)
        turned = [*points[at + 1 :], *points[:at]]
        same = [p for p in turned if p.water == point.water and p.task != point.task]
        _need(benchmark, key, len(same), f'other tasks in {point.water} water')
        return [replace(key, point=other, transfer='none') for other in same[:count]]
    return []


def _need(benchmark: BenchmarkFile, key: _Key, there: int, what: str) -> None:
    count = benchmark.transfer.sources
    if there < count:
        raise OceanGymError(
            f'benchmark {benchmark.name}: transfer {key.transfer} with sources: {count} needs '
            f'{count} {what}, and the file has {there}'
        )


def _options(benchmark: BenchmarkFile, key: _Key) -> RunOptions:
    common: dict[str, Any] = {
        'task': key.point.task,
        'water': key.point.water,
        'start': key.start,
        'seed': benchmark.seed + key.repeat,
        'world_seed': key.world_seed,
        't_max': key.duration,
        't_interval': benchmark.t_interval,
        'frame': benchmark.frame,
        'frame_seed': benchmark.frame_seed,
        'profile': benchmark.profile,
        'record': 'false',
        'sensors': benchmark.sensors,
        'sonar_device': benchmark.sonar_device,
        'sonar_mount': benchmark.sonar_mount,
        'device': benchmark.device,
        'results_dir': benchmark.results_dir,
        'config': ':'.join(benchmark.config),
    }
    sonar = benchmark.sonar_in(key.point.water)
    if key.model in benchmark.own_agents:
        common |= {'agent': 'none', 'model': key.model}
    elif key.model == 'perfect_eyes':
        # What is perceptible to it is what is so to the models of the file.
        common |= {'agent': key.model, 'sonar': 'none' if sonar == 'none' else 'fan'}
    elif key.model in PLAIN_AGENTS:
        common['agent'] = key.model
    else:
        memory, strip = benchmark.memory, benchmark.transfer.strip
        common |= {
            'agent': 'scripted' if key.model.startswith('scripted_') else 'mllm',
            'model': key.model,
            'base_url': benchmark.base_urls.get(key.model, ''),
            'prompt': key.prompt,
            'memory': memory.window,
            'memory_tokens': memory.tokens,
            'memory_images': memory.images,
            'memory_strip': 'none' if key.transfer == 'none' else strip,
            **benchmark.track.model_dump(exclude={'deep_sonar'}),
            'sonar': sonar,
            **benchmark.budget.model_dump(),
            **benchmark.calls.model_dump(),
        }
    try:
        return RunOptions(**common)
    except OceanGymError as error:
        raise OceanGymError(f'benchmark {benchmark.name}: {error}') from None


def _task_points(benchmark: BenchmarkFile) -> tuple[_TaskPoint, ...]:
    """Return the tasks in their waters, in the file's order, none twice."""
    registry = TaskRegistry.load(_folders(benchmark))
    named = {
        alias: _TaskPoint(task, water, alias, registry.get(task).world_source)
        for alias, task, water in registry.benchmark()
    }
    aliases = {(p.task, p.water): alias for alias, p in named.items()}
    points: list[_TaskPoint] = []
    by_id = False
    for entry in benchmark.tasks:
        if entry in TASK_GROUPS:
            points += [p for p in named.values() if entry in ('benchmark', p.water)]
        elif entry in named:
            points.append(named[entry])
        else:
            known_choice('task', entry, (*TASK_GROUPS, *named, *registry.names()))
            task = str(user_path(entry).resolve()) if _is_file(entry) else entry
            world = registry.get(task).world_source
            by_id = True
            for water in benchmark.waters or ('shallow',):
                points.append(_TaskPoint(task, water, aliases.get((task, water)), world))
    if benchmark.waters and not by_id:
        raise OceanGymError(
            f'benchmark {benchmark.name}: waters is for tasks given by their ids; '
            f'{", ".join(benchmark.tasks)} bring their own. Leave waters out.'
        )
    return tuple(dict.fromkeys(points))


def _is_file(name: str) -> bool:
    return name.endswith(('.yaml', '.yml'))


def _word(value: str) -> str:
    """Return a value as a part of a directory name: a file's stem, other characters replaced."""
    text = Path(value).stem if _is_file(value) or '/' in value else value
    if ',' in text:
        text = f'at_{text}'
    return re.sub(r'[^A-Za-z0-9_-]+', '_', text)


def _check_unique(benchmark: BenchmarkFile, cells: Sequence[Cell]) -> None:
    seen: dict[str, Cell] = {}
    for cell in cells:
        if cell.id in seen:
            raise OceanGymError(
                f'benchmark {benchmark.name}: two runs are called {cell.id} '
                f'({seen[cell.id].model}, {cell.model}); rename one of the files they come from'
            )
        seen[cell.id] = cell


def select(cells: Sequence[Cell], patterns: Sequence[str]) -> tuple[Cell, ...]:
    """Return the cells whose id holds one of the texts, or matches one of the patterns (* ? []).

    Raises:
        OceanGymError: A pattern matches none.
    """
    if not patterns:
        return tuple(cells)
    chosen: set[str] = set()
    for pattern in patterns:
        matched = {cell.id for cell in cells if _matches(cell.id, pattern)}
        if not matched:
            raise OceanGymError(
                f'filter {pattern!r} matches none of the {len(cells)} runs, which are called like '
                f'{cells[0].id}'
            )
        chosen |= matched
    return tuple(cell for cell in cells if cell.id in chosen)


def _matches(cell_id: str, pattern: str) -> bool:
    """Return whether a pattern with wildcards matches, or whole parts of the id are those given."""
    if any(c in pattern for c in '*?['):
        return fnmatchcase(cell_id, pattern)
    return f'.{pattern}.' in f'.{cell_id}.'


def with_sources(cells: Sequence[Cell], chosen: Sequence[Cell]) -> tuple[Cell, ...]:
    """Return the chosen cells and those whose memory they take, in the order of `cells`."""
    needed = {cell.id for cell in chosen} | {s for cell in chosen for s in cell.sources}
    return tuple(cell for cell in cells if cell.id in needed)


def changed_settings(
    before: Mapping[str, Mapping[str, Any]], cells: Sequence[Cell]
) -> dict[str, str]:
    """Return what differs from an earlier version of the file, by id of the runs in both."""
    changes: dict[str, str] = {}
    # An option that is younger than the results had its default when they were made.
    defaults = RunOptions().as_dict()
    for cell in cells:
        if cell.id not in before:
            continue
        old, new = {**defaults, **before[cell.id]}, {**defaults, **cell.settings()}
        for key in sorted({*old, *new} - {*PLACE_OPTIONS}):
            if old.get(key) != new.get(key):
                changes[cell.id] = f'{key} was {old.get(key)!r}, is {new.get(key)!r}'
                break
    return changes


def at_directory(cell: Cell, runs: Path) -> Cell:
    """Return the cell with the places of its results and of its sources filled in."""
    if cell.sources and ':' in str(runs):
        raise OceanGymError(
            f'{runs} has a colon in its name, and colons separate the runs whose memory is handed '
            'on; give another results_dir'
        )
    sources = ':'.join(str(runs / source) for source in cell.sources)
    return replace(cell, options=replace(cell.options, results_dir=str(runs), memory_from=sources))
