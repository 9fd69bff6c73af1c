#!/usr/bin/env python3
"""Show what the way through prompt, reply and report costs an agent that recognises everything.

A scripted model sees the truth and answers as prompts ask (`oceangym_agent.testing.perfect_model`). A row
``direct`` is `perfect_eyes` without a model, in the same cell. Each episode with the model is scored as it
was reported, and again with the true places of the same finds: the difference is what giving a place in
that form costs. Run inside the workspace's environment: ``./scripts/oceangym shell``, then
``python scripts/perfect_by_prompt.py --tasks search_ship inspect_pipe --starts near_1 medium_1``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
import sys

import numpy as np

from oceangym_agent.agent import Agent
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.testing.perfect_model import NAME, perfect_options, PerfectModelAgent, Way
from oceangym_bench.execution.episode import run_episode
from oceangym_bench.execution.simulator_cache import SimulatorCache
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.decisions import FindReport
from oceangym_core.errors import OceanGymError
from oceangym_core.record.episode import Episode
from oceangym_core.record.reader import load_episode
from oceangym_core.record.schema import RecordedReport
from oceangym_core.scoring.verified import judge_reports, score_verified

EYES = 'perfect_eyes'
DIRECT = 'direct'
WAYS = (DIRECT, *(way.value for way in Way))
HEAD = (
    '| task | water | start | place given as | decisions | reports made | arrived | not false '
    '| places wrong by [m] | verified | with true places |\n|---|---|---|---|---|---|---|---|---|---|---|'
)


def main() -> int:
    """Fly and print a row for each episode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tasks', nargs='+', default=['search_ship', 'inspect_pipe'])
    parser.add_argument('--water', default='shallow')
    parser.add_argument('--starts', nargs='+', default=['near_1', 'medium_1'])
    parser.add_argument('--ways', nargs='+', default=list(WAYS), choices=WAYS)
    parser.add_argument('--sonar', default='fan')
    parser.add_argument('--t-max', type=float, default=1800.0, help='simulated seconds')
    parser.add_argument('--folder', type=Path, default=Path('runs/perfect_by_prompt'))
    arguments = parser.parse_args()
    print(HEAD, flush=True)
    try:
        for line in rows(arguments):
            print(line, flush=True)
    except OceanGymError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def rows(arguments: argparse.Namespace) -> Iterator[str]:
    """Fly every cell in every way, and yield a row for each episode."""
    simulators = SimulatorCache()
    for task, start, way in product(arguments.tasks, arguments.starts, arguments.ways):
        options = RunOptions(
            task=task,
            water=arguments.water,
            start=start,
            sonar=arguments.sonar,
            t_max=arguments.t_max,
        )
        yield row(simulators, options, way, arguments.folder)


def row(simulators: SimulatorCache, options: RunOptions, way: str, folder: Path) -> str:
    """Fly one episode and return its row."""
    options = replace(options, agent=EYES)
    agent: Agent = make_agent(EYES, AgentSettings(options=options))
    run_id = f'{NAME}_{options.task}_{options.water}_{options.start}_{way}'
    if way != DIRECT:
        options = perfect_options(options, folder / 'presets')
        agent = PerfectModelAgent(options, folder / 'traces' / run_id, eyes=agent, way=Way(way))
    setup, simulator = simulators.prepare(options)
    outcome = run_episode(setup, simulator, agent=agent, results_dir=folder, run_id=run_id)
    assert outcome.directory is not None
    episode = load_episode(outcome.directory)
    truly = episode
    if isinstance(agent, PerfectModelAgent):
        truly = with_reports(episode, agent.told)
    judged, right = judge_reports(episode), judge_reports(truly)
    errors = [
        float(np.linalg.norm(np.subtract(a.place, b.place)))
        for a, b in zip(judged, right)
        if a.place is not None and b.place is not None
    ]
    wrong = ', '.join(f'{e:.1f}' for e in errors)
    scores = [score_verified(e).score for e in (episode, truly)]
    kept = sum(not j.verdict.false for j in judged)
    return (
        f'| {options.task} | {options.water} | {options.start} | {way} | {outcome.decisions} '
        f'| {len(right)} | {len(judged)} | {kept} | {wrong} | {scores[0]:.1f} | {scores[1]:.1f} |'
    )


def with_reports(episode: Episode, made: Iterable[FindReport]) -> Episode:
    """Return the same flight with other reports, as perfect eyes make them."""
    recorded = tuple(
        RecordedReport.of(replace(report, observation_index=report.observation_index or 0), True)
        for report in made
    )
    *before, last = (step.model_copy(update={'reports': ()}) for step in episode.steps)
    steps = (*before, last.model_copy(update={'reports': recorded}))
    end = episode.end and episode.end.model_copy(update={'reports': ()})
    return replace(episode, steps=steps, end=end)


if __name__ == '__main__':
    raise SystemExit(main())
