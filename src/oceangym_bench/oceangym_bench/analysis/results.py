"""Recorded episodes as the rows that tables are made of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from oceangym_bench.matrix.runs import Cell
from oceangym_bench.matrix.tracks import Track
from oceangym_core.config.options import MODEL_AGENTS
from oceangym_core.config.starts import STRATA
from oceangym_core.config.waters import Profile
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_json, read_schema
from oceangym_core.paths import user_path
from oceangym_core.record.result_tree import is_oceangym_tree
from oceangym_core.record.schema import Benchmark, Ending, RUN_FILE, RunInfo, SCORE_FILE
from oceangym_core.scoring import rescore, SCORERS
from oceangym_tasks.episode_files import PRIVILEGED_AGENTS

# Options that make one model behave differently: runs that differ in one are no repeats.
AGENT_SETTINGS = (
    'prompt',
    'reply',
    'loop',
    'sonar',
    'coverage',
    'detector',
    'planner',
    'image_size',
    'memory',
    'memory_tokens',
    'memory_images',
)


class Transfer(str, Enum):
    """Where an agent's experience came from."""

    NONE = 'none'
    WITHIN = 'within task'
    CROSS = 'cross task'
    BOTH = 'within and cross task'
    UNKNOWN = 'of unknown origin'


_TRANSFERS = {
    'none': Transfer.NONE,
    'within_task': Transfer.WITHIN,
    'cross_task': Transfer.CROSS,
}


class State(str, Enum):
    """Whether an episode counts in a table."""

    COUNTED = 'counted'
    UNSCORED = 'unscored'
    PARTIAL = 'partial'


@dataclass(frozen=True, kw_only=True)
class System:
    """What is compared with others: a model with everything that makes it behave differently.

    Attributes:
        model: Preset or agent.
        settings: Name and value of the agent's options, see `AGENT_SETTINGS`.
        transfer: Experience it was given.
        strip: What was taken out of that experience.
        privileged: Whether it knew the truth.
    """

    model: str
    settings: tuple[tuple[str, str], ...] = ()
    transfer: Transfer = Transfer.NONE
    strip: str = 'none'
    privileged: bool = False


@dataclass(frozen=True, kw_only=True)
class EpisodeRow:
    """One recorded episode.

    Attributes:
        source: Its directory, for messages.
        run_id: Its name.
        system: Who flew it.
        task, alias, water: What was flown; the benchmark's alias or ''.
        category, size_class: Of the task and its target; '' where unknown.
        start: Name of the start.
        place: Of the start in map [m]; None where unknown.
        seed: Of the run; None where unknown.
        world, world_seed: Name and layout; '' and None where unknown.
        repeat: Number among the episodes of the same system, task, water, start, seeds, duration.
        t_max, t_interval: [s]; None where unknown.
        profile, track, actions, backend, frame, mode, nav: Under which conditions.
        version: Of the benchmark; '' where the record does not say.
        hashes: Name and digest of the benchmark's contents.
        preset: Digest of the model's preset; '' without a model, and in older records.
        scores: By scorer; None where it could not score.
        reason: Why the first of them could not.
        ending: Why the episode ended.
        partial: Whether it was cut short from outside.
        duration: Simulated [s].
        decisions, invalid_replies, tokens: Counts.
        cost: [USD].
        latency: Wall time that decisions took [s].
        collisions, boundary_events, standoff_events: Counts.
        standoff_seconds: [s].
        path_length: [m]; None without truth.
        first_sight: Time until a target was first perceptible [s]; None if never.
        targets: Number of the task's targets.
        funnel: Targets that reached each stage.
    """

    source: str
    run_id: str
    system: System
    task: str
    water: str
    start: str
    scores: Mapping[str, float | None]
    ending: str
    partial: bool = False
    alias: str = ''
    category: str = ''
    size_class: str = ''
    place: tuple[float, ...] | None = None
    seed: int | None = None
    world: str = ''
    world_seed: int | None = None
    repeat: int = 0
    t_max: float | None = None
    t_interval: float | None = None
    profile: str = ''
    track: Track = Track.NONE
    actions: str = 'oceangym'
    backend: str = ''
    frame: str = ''
    mode: str = ''
    nav: str = ''
    version: str = ''
    hashes: Mapping[str, str] = field(default_factory=dict)
    preset: str = ''
    reason: str = ''
    duration: float | None = None
    decisions: int = 0
    invalid_replies: int = 0
    tokens: int = 0
    cost: float = 0.0
    latency: float = 0.0
    collisions: int | None = None
    boundary_events: int | None = None
    standoff_events: int | None = None
    standoff_seconds: float | None = None
    path_length: float | None = None
    first_sight: float | None = None
    targets: int = 0
    funnel: Mapping[str, int] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """The model's name."""
        return self.system.model

    def setting(self, name: str) -> str:
        """Return one of the agent's options as text, '' where it has none."""
        return dict(self.system.settings).get(name, '')

    @property
    def start_key(self) -> tuple[object, ...]:
        """What tells starts apart: layout, name and place; runs that share it are repeats."""
        place = None if self.place is None else tuple(round(v, 2) for v in self.place)
        return (self.world_seed, self.start, place)

    @property
    def pair_key(self) -> tuple[object, ...]:
        """What two systems must share for their scores to be paired."""
        return (self.task, self.water, *self.start_key, self.seed, self.profile, self.t_max)

    def state(self, scorer: str) -> State:
        """Return whether the episode counts under a scorer.

        Raises:
            OceanGymError: There is no scorer of this name.
        """
        if scorer not in SCORERS:
            raise unknown_name('scorer', scorer, SCORERS)
        if self.partial:
            return State.PARTIAL
        return State.UNSCORED if self.scores.get(scorer) is None else State.COUNTED

    def score(self, scorer: str) -> float | None:
        """Return the score where the episode counts, else None."""
        return self.scores[scorer] if self.state(scorer) is State.COUNTED else None

    @property
    def stratum(self) -> str:
        """Stratum of the start: ``near``, ``medium``, ``far``; '' for other starts."""
        word = self.start.partition('_')[0]
        return word if word in STRATA else ''

    @property
    def hidden(self) -> bool:
        """Whether the layout is another than the released one."""
        return self.world_seed not in (0, None)

    def as_planned(self, scorer: str) -> EpisodeRow:
        """Return the row as it counts among all planned episodes: with what it earned so far."""
        if self.state(scorer) is State.COUNTED:
            return self
        return replace(self, partial=False, scores={scorer: self.scores.get(scorer) or 0.0})


def read_rows(paths: Path | str | Iterable[Path | str]) -> tuple[EpisodeRow, ...]:
    """Return the episodes under some paths, each once, in the order of their directories.

    Args:
        paths: Run directories, directories of these, benchmark directories (with ``runs``), or
            result trees in OceanGym's layout (their ``compat`` and ``paper`` scores side by side).

    Raises:
        OceanGymError: There is nothing of the kind, or a file is wrong.
    """
    given = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not given:
        raise OceanGymError('give at least one run directory, directory of runs or result tree')
    found: dict[Path, None] = {}
    rows: list[EpisodeRow] = []
    for item in given:
        root = user_path(item)
        runs = list(_run_directories(root))
        if runs:
            found |= dict.fromkeys(run.resolve() for run in runs)
        elif is_oceangym_tree(root):
            # Only needed for results from elsewhere.
            from oceangym_bench.analysis.result_tree import read_tree_rows

            rows += read_tree_rows(root)
        else:
            raise _nothing_there(root)
    rows += [read_run(directory) for directory in sorted(found)]
    return number_repeats(rows)


def _run_directories(root: Path) -> Iterator[Path]:
    for pattern in (RUN_FILE, f'*/{RUN_FILE}', f'runs/*/{RUN_FILE}', f'*/runs/*/{RUN_FILE}'):
        hits = sorted(root.glob(pattern)) if root.is_dir() else []
        if hits:
            yield from (path.parent for path in hits)
            return


def _nothing_there(root: Path) -> OceanGymError:
    if not root.exists():
        return OceanGymError(f'{root} does not exist')
    return OceanGymError(
        f'{root} is no run directory (run.yaml), holds none, and is no result tree '
        '(<model>/task*/point*/memory_*.json)'
    )


def missing_rows(rows: Sequence[EpisodeRow], cells: Iterable[Cell]) -> tuple[EpisodeRow, ...]:
    """Return a row without a score for each planned run that has none among `rows`.

    What all runs of a file share is taken from the first row.
    """
    there = {row.run_id for row in rows}
    by_task = {row.task: row for row in rows}
    return tuple(
        _missing_row(by_task.get(cell.options.task, rows[0]), cell)
        for cell in cells
        if rows and cell.id not in there
    )


def _missing_row(alike: EpisodeRow, cell: Cell) -> EpisodeRow:
    options = cell.options
    same_task = alike.task == options.task
    transfer = _TRANSFERS[cell.transfer]
    return EpisodeRow(
        source=cell.id,
        run_id=cell.id,
        system=System(
            model=options.agent_name,
            settings=_settings(options.as_dict()),
            transfer=transfer,
            strip='none' if transfer is Transfer.NONE else options.memory_strip,
            privileged=options.agent in PRIVILEGED_AGENTS,
        ),
        task=options.task,
        water=options.water,
        alias=cell.alias or '',
        category=alike.category if same_task else '',
        size_class=alike.size_class if same_task else '',
        start=cell.start,
        seed=options.seed,
        world=alike.world,
        world_seed=options.world_seed,
        t_max=options.t_max or alike.t_max,
        t_interval=alike.t_interval,
        profile=alike.profile,
        track=Track.named(options.track),
        actions=options.actions,
        backend=alike.backend,
        frame=alike.frame,
        mode=alike.mode,
        nav=alike.nav,
        version=alike.version,
        scores={},
        ending='missing',
        partial=True,
        reason='not run',
    )


def number_repeats(rows: Iterable[EpisodeRow]) -> tuple[EpisodeRow, ...]:
    """Return the rows with `repeat` counted up among those of the same system and conditions."""
    counts: defaultdict[tuple[object, ...], int] = defaultdict(int)
    numbered = []
    for row in rows:
        key = (row.system, row.backend, row.frame, row.mode, *row.pair_key)
        numbered.append(replace(row, repeat=counts[key]))
        counts[key] += 1
    return tuple(numbered)


def read_run(directory: Path) -> EpisodeRow:
    """Return the row of one run directory.

    Raises:
        OceanGymError: Its files are missing or wrong.
    """
    run = read_schema(directory / RUN_FILE, RunInfo)
    try:
        return _row(directory, run, _score_of(directory))
    except (AttributeError, TypeError, ValueError) as error:
        raise OceanGymError(
            f'{directory / SCORE_FILE} is no score of this software: {error}'
        ) from error


def _row(directory: Path, run: RunInfo, score: Mapping[str, Any]) -> EpisodeRow:
    options = run.options
    benchmark = Benchmark.model_validate(_part(score, 'benchmark') or run.benchmark)
    safety = _part(score, 'safety')
    scorers = _part(score, 'scorers')
    scores = {name: _number(_part(scorers, name).get('score'), name) for name in SCORERS}
    reasons = [_part(scorers, name).get('reason', '') for name in SCORERS]
    return EpisodeRow(
        source=str(directory),
        run_id=run.run_id,
        system=_system(run),
        task=run.task.id,
        alias=run.task.alias or '',
        category=run.task.category,
        size_class=run.task.size_class,
        water=run.water.id,
        start=run.start.name,
        place=(*run.start.position, *run.start.quaternion),
        seed=options.get('seed'),
        world=run.world.name,
        world_seed=run.world.seed,
        t_max=run.t_max,
        t_interval=run.t_interval,
        profile=run.profile.id,
        track=Track.named(benchmark.track or Track.NONE.value),
        actions=str(options.get('actions', 'oceangym')),
        backend=str(options.get('backend', '')),
        frame=str(options.get('frame', '')),
        mode=_mode(options),
        nav=_nav(options, run.profile),
        version=benchmark.version,
        hashes={name: digest for name, digest in benchmark.hashes.items() if digest},
        preset='' if benchmark.model is None else benchmark.model.preset_sha256,
        scores=scores,
        reason=next((str(r) for r in reasons if r), str(score.get('message', ''))),
        ending=str(score.get('ending', Ending.INTERRUPTED.value)),
        partial=bool(score.get('partial', True)),
        duration=_number(score.get('duration_s'), 'duration'),
        decisions=int(score.get('decisions', 0)),
        invalid_replies=int(score.get('invalid_replies', 0)),
        tokens=int(score.get('tokens', 0)),
        cost=float(score.get('cost_usd', 0.0)),
        latency=float(_part(score, 'wall').get('latency_s', 0.0)),
        collisions=safety.get('collisions'),
        boundary_events=safety.get('boundary_events'),
        standoff_events=safety.get('standoff_events'),
        standoff_seconds=_number(safety.get('standoff_seconds'), 'standoff_seconds'),
        path_length=_number(_part(score, 'path').get('length_m'), 'path_length'),
        first_sight=_number(score.get('time_to_first_sight_s'), 'first_sight'),
        targets=int(_part(score, 'funnel').get('targets', len(run.targets))),
        funnel={k: int(v) for k, v in _part(score, 'funnel').items() if k != 'targets'},
    )


def _score_of(directory: Path) -> Mapping[str, Any]:
    """Return score.json, made anew where a run was killed before it was written."""
    path = directory / SCORE_FILE
    if path.is_file():
        return _mapping(read_json(path), path)
    try:
        return rescore(directory)
    except OceanGymError as error:
        # Killed before its first observation: there is nothing to score, but it is counted.
        return {'ending': Ending.INTERRUPTED.value, 'partial': True, 'message': str(error)}


def _mapping(content: Any, path: Path) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise OceanGymError(f'{path} does not hold a mapping')
    return content


def _number(value: Any, name: str) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f'{name} is {value!r}, not a number')
    return float(value)


def _part(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = content.get(name)
    return part if isinstance(part, Mapping) else {}


def _system(run: RunInfo) -> System:
    transfer = _transfer(run)
    strip = str(run.options.get('memory_strip') or 'none')
    return System(
        model=run.agent,
        settings=_settings(run.options),
        transfer=transfer,
        strip='none' if transfer is Transfer.NONE else strip,
        privileged=run.privileged,
    )


def _settings(options: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return name and value of what makes one model behave differently."""
    if options.get('agent') in MODEL_AGENTS:
        return tuple((name, _text(options[name])) for name in AGENT_SETTINGS if name in options)
    if options.get('agent') == 'perfect_eyes':
        # The sensors that count as its eyes.
        return (('sonar', _text(options.get('sonar', 'none'))),)
    return ()


def _text(value: object) -> str:
    return (
        'preset'
        if value is None
        else str(value).lower()
        if isinstance(value, bool)
        else str(value)
    )


def _transfer(run: RunInfo) -> Transfer:
    if not run.options.get('memory_from'):
        return Transfer.NONE
    tasks = {source.task for source in run.experience}
    if not tasks or '' in tasks:
        return Transfer.UNKNOWN
    if run.task.id not in tasks:
        return Transfer.CROSS
    return Transfer.WITHIN if tasks == {run.task.id} else Transfer.BOTH


def _mode(options: Mapping[str, Any]) -> str:
    mode = str(options.get('mode', ''))
    return f'{mode} at {options.get("rtf", 1.0):g}' if mode == 'realtime' else mode


def _nav(options: Mapping[str, Any], profile: Profile) -> str:
    nav = options.get('nav', 'auto')
    return profile.nav if nav == 'auto' else str(nav)
