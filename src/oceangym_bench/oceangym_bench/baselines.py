"""The table of agents without a model: every benchmark task from three starts, all scorers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
import json
from pathlib import Path
import statistics
from typing import Any

from oceangym_bench.episode import run_episode
from oceangym_core.episode_setup import prepare_episode
from oceangym_core.options import RunOptions
from oceangym_core.scoring import SCORERS
from oceangym_core.tasks import TaskRegistry
from oceangym_core.world import load_world, World, world_path
from oceangym_sim.requests import SimulatorOptions
from oceangym_sim.simulator import Simulator

AGENTS = ('idle', 'random', 'blind_spam', 'survey', 'oracle')
STARTS = ('point1', 'point2', 'random')


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One episode of the table and what it scored."""

    agent: str
    alias: str
    task: str
    water: str
    start: str
    scores: dict[str, float | None]
    ending: str
    decisions: int
    collisions: int


def cells(agents: Iterable[str], starts: Iterable[str]) -> Iterator[tuple[RunOptions, str]]:
    """Yield the options and the benchmark alias of each episode, grouped by water and agent."""
    tasks = sorted(TaskRegistry.load().benchmark(), key=lambda entry: entry[2])
    starts = tuple(starts)
    for agent in agents:
        for alias, task, water in tasks:
            for start in starts:
                yield RunOptions(agent=agent, task=task, water=water, start=start), alias


def run_cells(
    wanted: Iterable[tuple[RunOptions, str]],
    folder: Path,
    *,
    report: Callable[[Cell], None] = lambda cell: None,
) -> list[Cell]:
    """Run what is not yet in `folder`, a JSON file per cell, so that a killed run resumes."""
    folder.mkdir(parents=True, exist_ok=True)
    world: World | None = None
    simulator: Simulator | None = None
    built: SimulatorOptions | None = None
    done: list[Cell] = []
    for options, alias in wanted:
        path = folder / f'{options.agent}_{alias}_{options.start}.json'
        if path.is_file():
            done.append(Cell(**json.loads(path.read_text(encoding='utf-8'))))
            continue
        world = world or load_world(world_path('ocean'))
        setup = prepare_episode(options, world)
        needed = SimulatorOptions.of(setup)
        if simulator is None or built != needed:
            simulator, built = Simulator(world=world, options=needed), needed
        outcome = run_episode(setup, simulator)
        cell = _cell(options, alias, outcome.score, outcome.decisions)
        partial = path.with_suffix('.part')
        partial.write_text(json.dumps(asdict(cell), indent=1), encoding='utf-8')
        partial.replace(path)
        report(cell)
        done.append(cell)
    return done


def _cell(options: RunOptions, alias: str, score: dict[str, Any], decisions: int) -> Cell:
    return Cell(
        agent=options.agent,
        alias=alias,
        task=options.task,
        water=options.water,
        start=options.start,
        scores={name: score['scorers'][name]['score'] for name in SCORERS},
        ending=score['ending'],
        decisions=decisions,
        collisions=score['safety']['collisions'],
    )


def markdown_table(results: Sequence[Cell]) -> str:
    """Return the table: a row per task, and per agent the mean over starts of each scorer."""
    agents = [a for a in AGENTS if any(c.agent == a for c in results)]
    order = sorted({(c.water, c.alias, c.task) for c in results}, key=lambda k: int(k[1][4:]))
    lines = [
        '| task | water | ' + ' | '.join(agents) + ' |',
        '|---|---|' + '---|' * len(agents),
    ]
    for water, alias, task in order:
        row = [_summary([c for c in results if (c.agent, c.alias) == (a, alias)]) for a in agents]
        lines.append(f'| {task} ({alias}) | {water} | ' + ' | '.join(row) + ' |')
    means = [_summary([c for c in results if c.agent == a]) for a in agents]
    lines.append('| **mean** | | ' + ' | '.join(f'**{m}**' for m in means) + ' |')
    return '\n'.join(lines)


def _summary(some: Sequence[Cell]) -> str:
    """Return verified / paper / compat means, a dash where nothing was scored."""
    texts: list[str] = []
    for name in SCORERS:
        values = [v for c in some if (v := c.scores[name]) is not None]
        texts.append(f'{statistics.fmean(values):.1f}' if values else '-')
    return ' / '.join(texts)
