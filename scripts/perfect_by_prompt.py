#!/usr/bin/env python3
"""Show what the way through prompt, reply and report costs an agent that recognises everything.

A scripted model sees the truth and answers as prompts ask (`oceangym_agent.testing.perfect_model`). Each
episode is scored as it was reported, and again with the true places of the same finds: the difference is
what telling a place costs. Run inside the workspace's environment: ``./scripts/oceangym shell``, then
``python scripts/perfect_by_prompt.py --tasks search_ship inspect_pipe --starts near``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
import sys

import numpy as np

from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.testing.perfect_model import NAME, perfect_options, PerfectModelAgent, Way
from oceangym_bench.episode import run_episode
from oceangym_bench.hangar import Hangar
from oceangym_core.decisions import FindReport
from oceangym_core.episode import Episode, RecordedReport
from oceangym_core.errors import OceanGymError
from oceangym_core.options import RunOptions
from oceangym_core.record_reader import load_episode
from oceangym_core.scoring.verified import judge_reports, score_verified

EYES = 'perfect_eyes'
HEAD = (
    '| task | water | start | told as | reports | found | places wrong by [m] | verified '
    '| with true places |\n|---|---|---|---|---|---|---|---|---|'
)


def main() -> int:
    """Fly and print a row for each episode."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--tasks', nargs='+', default=['search_ship', 'inspect_pipe'])
    parser.add_argument('--water', default='shallow')
    parser.add_argument('--starts', nargs='+', default=['near_1', 'medium_1'])
    parser.add_argument('--sonar', default='fan')
    parser.add_argument('--t-max', type=float, default=1800.0, help='simulated seconds')
    parser.add_argument('--folder', type=Path, default=Path('runs/perfect_by_prompt'))
    arguments = parser.parse_args()
    hangar = Hangar()
    print(HEAD, flush=True)
    for task in arguments.tasks:
        for start in arguments.starts:
            for way in Way:
                options = RunOptions(
                    task=task,
                    water=arguments.water,
                    start=start,
                    sonar=arguments.sonar,
                    t_max=arguments.t_max,
                )
                try:
                    print(row(hangar, options, way, arguments.folder), flush=True)
                except OceanGymError as error:
                    print(error, file=sys.stderr)
                    return 1
    return 0


def row(hangar: Hangar, options: RunOptions, way: Way, folder: Path) -> str:
    """Fly one episode and return its row."""
    eyes = make_agent(EYES, AgentSettings(options=replace(options, agent=EYES)))
    options = perfect_options(options, folder / 'presets')
    setup, simulator = hangar.prepare(options)
    run_id = f'{NAME}_{options.task}_{options.water}_{options.start}_{way.value}'
    agent = PerfectModelAgent(options, folder / 'traces' / run_id, eyes=eyes, way=way)
    outcome = run_episode(setup, simulator, agent=agent, results_dir=folder, run_id=run_id)
    assert outcome.directory is not None
    episode = load_episode(outcome.directory)
    truly = with_reports(episode, agent.told)
    judged, right = judge_reports(episode), judge_reports(truly)
    errors = [
        float(np.linalg.norm(np.subtract(a.place, b.place)))
        for a, b in zip(judged, right)
        if a.place is not None and b.place is not None
    ]
    wrong = ', '.join(f'{e:.1f}' for e in errors)
    scores = [score_verified(e).score for e in (episode, truly)]
    found = sum(not j.verdict.false for j in judged)
    return (
        f'| {options.task} | {options.water} | {options.start} | {way.value} | {len(right)} | {found} '
        f'| {wrong} | {scores[0]:.1f} | {scores[1]:.1f} |'
    )


def with_reports(episode: Episode, told: Iterable[FindReport]) -> Episode:
    """Return the same flight with other reports, as perfect eyes make them."""
    made = tuple(
        RecordedReport(
            label=report.label,
            position=report.position,
            sigma=None,
            sensor=report.sensor,
            direction=report.direction,
            observation_index=report.observation_index or 0,
            stamp=report.stamp,
            accepted=True,
        )
        for report in told
    )
    steps = tuple(replace(step, reports=()) for step in episode.steps)
    return replace(episode, steps=steps, last_reports=made)


if __name__ == '__main__':
    raise SystemExit(main())
