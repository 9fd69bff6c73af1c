"""The YAML file of a benchmark: what is run, with what, and what it may cost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
import re
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, field_validator, model_validator, Tag

from oceangym_bench.matrix.hidden_layouts import read_seeds
from oceangym_core.assets import config_path
from oceangym_core.config.arguments import MAX_SEED
from oceangym_core.config.starts import DRAWN_STARTS
from oceangym_core.config.tasks import Name
from oceangym_core.errors import unknown_name
from oceangym_core.files import read_schema, Schema
from oceangym_core.paths import user_path
from oceangym_core.record.version import BENCHMARK_VERSION

# What stands beside every table: agents whose scores bound what a score means. They ask no model.
BASELINES = ('idle', 'blind_prior', 'perfect_eyes', 'oracle')
# Agents that need no model and can be run in a matrix.
PLAIN_AGENTS = ('survey', 'random', 'blind_spam', *BASELINES)
DEEP = 'deep'
# Groups of tasks: all twelve, and those of one water.
TASK_GROUPS = ('benchmark', 'shallow', 'deep')

Word = Annotated[str, Field(min_length=1, max_length=400)]
Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
StartSeed = Annotated[int, Field(ge=0, lt=10**18)]


class TrackSpec(Schema):
    """What a model is shown and how it answers; decides the table that its scores belong to.

    Attributes:
        sonar, coverage, detector, planner: Aids beside the six camera images.
        deep_sonar: What ``sonar: none`` becomes in deep water, where cameras see 8 m; ``none`` asks
            for what cannot be seen, as the paper does.
        reply, loop: Format of the reply, and calls a decision.
        actions: The paper's moves, or the extended actions, whose scores have tables of their own.
        image_size: Longer side of the images sent [px]; the preset's if None.
    """

    sonar: Literal['none', 'fan', 'described'] = 'none'
    deep_sonar: Literal['none', 'fan'] = 'fan'
    coverage: Literal['none', 'text', 'image'] = 'none'
    detector: bool = False
    planner: bool = False
    reply: Literal['json', 'markers'] = 'json'
    loop: Literal['single', 'perceive_act'] = 'single'
    actions: Literal['oceangym', 'extended'] = 'oceangym'
    image_size: Annotated[int, Field(ge=32, le=4096)] | None = None


class OwnAgent(Schema):
    """An agent of the user's that flies in the runner's process, see `oceangym_agent.agent.Agent`.

    Attributes:
        name: In tables and run directories.
        agent: ``package.module:Class`` or ``path/to/file.py:Class``.
        options: Keyword arguments of the class.
    """

    name: Name
    agent: Annotated[str, Field(min_length=3, max_length=400, pattern=r'^[^:]+:[A-Za-z_]\w*$')]
    options: dict[str, Any] = {}

    @model_validator(mode='before')
    @classmethod
    def _is_no_node(cls, content: Any) -> Any:
        if isinstance(content, dict) and {'command', 'node'} & content.keys():
            raise ValueError(
                'a ROS node is not started by a benchmark file: give agent: module:Class, or start '
                'each run with ros2 launch, agent:=none model:=NAME, and hand the run directories '
                'to `oceangym bench report`'
            )
        return content


# A mapping is an agent of the user's, so that what is wrong with one is said of it.
ModelEntry = Annotated[
    Annotated[Word, Tag('name')] | Annotated[OwnAgent, Tag('agent')],
    Discriminator(lambda value: 'agent' if isinstance(value, (dict, OwnAgent)) else 'name'),
]


class MemorySpec(Schema):
    """The model's memory: window [steps], budget [tokens], steps whose images are sent again."""

    window: Annotated[int, Field(ge=0, le=100_000)] = 60
    tokens: Annotated[int, Field(ge=100, le=1_000_000)] = 4000
    images: Annotated[int, Field(ge=0, le=20)] = 0


class TransferSpec(Schema):
    """Which earlier runs of the same model in the same file a run is given as experience.

    Attributes:
        modes: ``none``; ``within_task``: runs of the same task from the starts that follow its own
            in `starts`, cyclically; ``cross_task``: runs from the same start of the tasks of the
            same water that follow its own in `tasks`, cyclically.
        sources: How many runs.
        strip: Whether coordinates are taken out of them.
    """

    modes: tuple[Literal['none', 'within_task', 'cross_task'], ...] = ('none',)
    sources: Annotated[int, Field(ge=1, le=32)] = 1
    strip: Literal['none', 'coordinates'] = 'none'

    @field_validator('modes')
    @classmethod
    def _begins_without(cls, modes: tuple[str, ...]) -> tuple[str, ...]:
        if 'none' not in modes:
            raise ValueError(
                'needs none too: the runs without experience are what others are given'
            )
        return modes


class BudgetSpec(Schema):
    """Limits of one episode: USD, tokens in and out, wall time [s], decisions."""

    max_cost: Annotated[float, Field(ge=1e-6, le=1e6)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=10**12)] | None = None
    max_wall: Annotated[float, Field(ge=0.01, le=1e7)] | None = None
    max_decisions: Annotated[int, Field(ge=1, le=10**6)] | None = None


class TotalSpec(Schema):
    """Limits of the whole file over all of its runs and resumes: USD, tokens in and out.

    No run begins once one is reached; runs that are under way are finished.
    """

    max_cost: Annotated[float, Field(ge=1e-6, le=1e9)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=10**15)] | None = None


class CallSpec(Schema):
    """Patience with an endpoint: wall times [s] and numbers of further attempts."""

    call_timeout: Annotated[float, Field(ge=0.01, le=3600)] = 60.0
    decision_deadline: Annotated[float, Field(ge=0.01, le=86400)] = 180.0
    max_retries: Annotated[int, Field(ge=0, le=100)] = 3
    max_reasks: Annotated[int, Field(ge=0, le=20)] = 2


class BenchmarkFile(Schema):
    """One benchmark: systems x tasks x starts x layouts x repeats x durations x prompts x transfer.

    Attributes:
        name: Of the directory that the results are kept in.
        version: Of the benchmark's rules; those of this software are `BENCHMARK_VERSION`.
        title: For people.
        models: Presets in config/agents, YAML files, agents without a model, or agents of your own:
            ``{name: mine, agent: 'package.module:Class'}``.
        baselines: Agents without a model whose rows stand beside every table; [] for none.
        base_urls: Endpoint by model, in place of the preset's.
        tasks: ``benchmark`` (all twelve), ``shallow``, ``deep``, aliases task1..task12, or ids and
            YAML files, which run in each of `waters`.
        waters: For tasks that are given by id or file.
        starts: ``near``, ``medium``, ``far`` (strata by the distance to the nearest target) or
            ``random``, each of which stands for one start for each of `start_seeds`; ``near_<seed>``
            and the like; ``point1``, ``point2``, or x,y,z,yaw_deg.
        start_seeds: See `starts`.
        world_seeds: Layouts of targets and props; 0 is the released one.
        world_seeds_file: Private file with the seeds of hidden layouts, which are flown as well; where
            it is absent they are left out.
        world_seeds_sha256: Its hash, which is published.
        seed: Of the first repeat; the next ones count on.
        repeats: Runs of everything else equal but the seed.
        durations: Lengths of an episode [s], a curve, never averaged; the task's if empty.
        t_interval: Length of a maneuver [s]; the task's if None.
        prompts: Names of prompts, or directories of templates.
        track, memory, transfer, budget, total_budget, calls: See there.
        profile: ``standard``, ``hard`` or a YAML file.
        frame: ``shifted`` hides the released coordinates from the models.
        frame_seed: Of the one shift that all runs of the file share, so that memories transfer.
        sensors: What is rendered, as in ``run``.
        sonar_device, sonar_mount: Preset and mount of the vehicle's sonars.
        device: Where rays are traced.
        results_dir: The directory `name` is made there.
        config: Further configuration directories.
    """

    name: Name
    version: Annotated[str, Field(max_length=40)]
    title: Annotated[str, Field(max_length=400)] = ''
    models: Annotated[tuple[ModelEntry, ...], Field(min_length=1, max_length=200)]
    baselines: tuple[Word, ...] = BASELINES
    base_urls: dict[Word, Word] = {}
    tasks: Annotated[tuple[Word, ...], Field(min_length=1, max_length=200)] = ('benchmark',)
    waters: Annotated[tuple[Word, ...], Field(max_length=20)] = ()
    starts: Annotated[tuple[Word, ...], Field(min_length=1, max_length=200)]
    start_seeds: Annotated[tuple[StartSeed, ...], Field(max_length=200)] = ()
    world_seeds: Annotated[tuple[Seed, ...], Field(min_length=1, max_length=50)] = (0,)
    world_seeds_file: Annotated[str, Field(max_length=400)] = ''
    world_seeds_sha256: Annotated[str, Field(pattern=r'^([0-9a-f]{64})?$')] = ''
    seed: Annotated[int, Field(ge=0, le=2**62)] = 0
    repeats: Annotated[int, Field(ge=1, le=1000)] = 1
    durations: Annotated[
        tuple[Annotated[float, Field(ge=1, le=86400)], ...], Field(max_length=50)
    ] = ()
    t_interval: Annotated[float, Field(ge=1, le=3600)] | None = None
    prompts: Annotated[tuple[Word, ...], Field(min_length=1, max_length=50)] = ('oceangym',)
    track: TrackSpec = TrackSpec()
    memory: MemorySpec = MemorySpec()
    transfer: TransferSpec = TransferSpec()
    profile: Word = 'standard'
    frame: Literal['shifted', 'map'] = 'shifted'
    frame_seed: Seed = 0
    sensors: Literal['auto', 'all', 'truth', 'none'] = 'auto'
    sonar_device: str = ''
    sonar_mount: Literal['paper', 'tilted'] = 'paper'
    device: Literal['auto', 'cpu', 'cuda'] = 'auto'
    budget: BudgetSpec = BudgetSpec()
    total_budget: TotalSpec = TotalSpec()
    calls: CallSpec = CallSpec()
    results_dir: Word = 'runs'
    config: tuple[Word, ...] = ()

    @field_validator('version')
    @classmethod
    def _is_ours(cls, version: str) -> str:
        if version != BENCHMARK_VERSION:
            raise ValueError(
                f'this software runs benchmark {BENCHMARK_VERSION}; results of another version cannot be '
                'compared with its results'
            )
        return version

    @model_validator(mode='after')
    def _consistent(self) -> BenchmarkFile:
        for key in (
            'systems', 'tasks', 'waters', 'starts', 'start_seeds', 'world_seeds', 'durations',
            'prompts',
        ):  # fmt: skip
            values = getattr(self, key)
            twice = [value for value in values if values.count(value) > 1]
            if twice:
                name = 'models' if key == 'systems' else key
                raise ValueError(f'{name} holds {twice[0]!r} twice')
        if len(set(self.transfer.modes)) != len(self.transfer.modes):
            raise ValueError('transfer.modes holds a mode twice')
        drawn = [start for start in self.starts if start in DRAWN_STARTS]
        if bool(drawn) != bool(self.start_seeds):
            raise ValueError(
                f'starts holds {drawn[0]}, which needs start_seeds: [1, 2, ...]'
                if drawn
                else f'start_seeds is for the starts {", ".join(DRAWN_STARTS)}, of which starts '
                'holds none'
            )
        for name in self.baselines:
            if name not in PLAIN_AGENTS:
                raise ValueError(f'baselines holds {name!r}; known: {", ".join(PLAIN_AGENTS)}')
        if bool(self.world_seeds_file) != bool(self.world_seeds_sha256):
            raise ValueError(
                'world_seeds_file and world_seeds_sha256 belong together; '
                '`oceangym bench layouts --count 3 --out FILE` makes a file and says its hash'
            )
        for folder in self.config:
            if ':' in folder:
                raise ValueError(f'config holds {folder!r}; list several directories one by one')
        for model in self.base_urls:
            if model not in self.systems or model in self.own_agents:
                raise ValueError(f'base_urls names {model!r}, which is not one of the models')
        return self

    def hidden_seeds(self) -> tuple[int, ...]:
        """Return the seeds of the private file; none where it is absent.

        Raises:
            OceanGymError: The file's hash is another than the published one, or it is no seeds file.
        """
        if not self.world_seeds_file or not user_path(self.world_seeds_file).exists():
            return ()
        return read_seeds(user_path(self.world_seeds_file), self.world_seeds_sha256)

    @property
    def absent_layouts(self) -> str:
        """What to say where the private file is absent; empty where nothing is left out."""
        if not self.world_seeds_file or user_path(self.world_seeds_file).exists():
            return ''
        return (
            f'hidden layouts are left out: {self.world_seeds_file} is not here. To fly hidden layouts '
            'of your own, make a file with `oceangym bench layouts --count 3 --out FILE` and name it '
            'and its hash in a copy of the benchmark file'
        )

    @property
    def own_agents(self) -> dict[str, OwnAgent]:
        """The agents of the user's by name."""
        return {model.name: model for model in self.models if isinstance(model, OwnAgent)}

    @property
    def systems(self) -> tuple[str, ...]:
        """The names of the models, without the baselines."""
        return tuple(m.name if isinstance(m, OwnAgent) else m for m in self.models)

    @property
    def start_names(self) -> tuple[str, ...]:
        """Every start, those that are drawn spelt out."""
        names: list[str] = []
        for start in self.starts:
            drawn = start in DRAWN_STARTS
            names += [f'{start}_{seed}' for seed in self.start_seeds] if drawn else [start]
        return tuple(dict.fromkeys(names))

    def sonar_in(self, water: str) -> str:
        """Return what sonar a model is shown in a water, as in ``sonar:=``."""
        track = self.track
        return track.deep_sonar if track.sonar == 'none' and water == DEEP else track.sonar


def benchmark_names() -> tuple[str, ...]:
    """Return the names of the shipped benchmark files."""
    return tuple(sorted(path.stem for path in config_path('benchmarks').glob('*.yaml')))


def benchmark_path(name: str) -> Path:
    """Return the file of a shipped benchmark, or the path itself if `name` is one.

    Raises:
        OceanGymError: There is none of this name.
    """
    if name.endswith(('.yaml', '.yml')) or '/' in name:
        return user_path(name)
    if name not in benchmark_names():
        raise unknown_name(
            'benchmark',
            name,
            benchmark_names(),
            hint='One of your own is given by the path of its YAML file.',
        )
    return config_path('benchmarks', f'{name}.yaml')


def load_benchmark(path: Path) -> BenchmarkFile:
    """Read a benchmark file; the names in it are looked up when its runs are laid out.

    Raises:
        OceanGymError: Names the file, the key, the value and what is accepted.
    """
    return read_schema(path, BenchmarkFile)


def known_choice(kind: str, value: str, names: Iterable[str], *, files: bool = True) -> str:
    """Return a name that is known, or the path of a file or directory of the user's own.

    Raises:
        OceanGymError: It is neither; says what was probably meant.
    """
    allowed = tuple(names)
    if value in allowed or (files and re.search(r'/|\.ya?ml$', value)):
        return value
    hint = 'One of your own is given by its path.' if files else ''
    raise unknown_name(kind, value, allowed, hint=hint)
