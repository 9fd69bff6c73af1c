"""A run is the same, bit for bit, for the same seed, and can be flown again from its record."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
import json
from pathlib import Path
from typing import Any

import numpy as np

from oceangym_bench.execution.episode import run_episode
from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import prepare_episode
from oceangym_core.contract.actions import DIRECTIONS
from oceangym_core.record.reader import load_episode
from oceangym_core.world.world import load_world, World, world_path
from oceangym_sim.requests import SimulatorOptions
from oceangym_sim.simulator import Simulator

STEPS = 3


@lru_cache(maxsize=1)
def ocean() -> World:
    return load_world(world_path('ocean'))


def fly(results: Path, **options: Any) -> tuple[Path, dict[str, Any]]:
    """Fly three steps and return the run directory and its score."""
    setup = prepare_episode(
        RunOptions(t_max=30.0 * STEPS, results_dir=str(results), **options), ocean()
    )
    simulator = Simulator(
        world=ocean(), options=replace(SimulatorOptions.of(setup), image_size=96)
    )
    outcome = run_episode(setup, simulator, results_dir=results)
    assert outcome.directory is not None
    return outcome.directory, outcome.score


def lines(run: Path) -> list[dict[str, Any]]:
    """Return the record's lines without what wall time decides."""
    content = []
    for text in (run / 'episode.jsonl').read_text(encoding='utf-8').splitlines():
        line = json.loads(text)
        assert set(line.pop('wall')) == {'written', 'latency_s'}
        content.append(line)
    return content


def hashes(record: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [line['image_hashes'] for line in record if line['kind'] != 'end']


def test_the_same_seed_gives_the_same_record_and_images(tmp_path: Path) -> None:
    # The surveyor decides on what it sees, so that a difference in images would grow.
    options = {'agent': 'survey', 'sensors': 'all', 'profile': 'hard', 'start': 'point1'}
    first, second, other = (
        lines(fly(tmp_path / str(k), seed=seed, **options)[0]) for k, seed in enumerate((5, 5, 6))
    )
    assert len(first) == STEPS + 2
    assert first == second
    streams = {f'{kind}/{side}' for kind in ('camera', 'sonar') for side in DIRECTIONS}
    for images in hashes(first):
        assert set(images) == streams
        assert len(set(images.values())) == 2 * len(DIRECTIONS)
    # Noise differs from the first instant on, the current from the first step on.
    for ours, theirs in zip(hashes(first), hashes(other)):
        assert all(ours[name] != theirs[name] for name in streams)
    assert first[1]['truth'] != other[1]['truth']


def test_a_replayed_run_gives_the_same_trajectory_and_score(tmp_path: Path) -> None:
    common = {'task': 'search_ship', 'profile': 'hard', 'seed': 3, 'start': 'point2'}
    first, score = fly(tmp_path, agent='blind_spam', **common)
    again, repeated = fly(tmp_path, agent='replay', replay=str(first), sensors='truth', **common)
    one, two = load_episode(first), load_episode(again)
    np.testing.assert_array_equal(one.trajectory, two.trajectory)
    assert [s.decision.action for s in one.steps if s.decision] == [
        s.decision.action for s in two.steps if s.decision
    ]
    assert sum(len(s.reports) for s in two.steps) + len(two.last_reports) == STEPS
    for key in ('ending', 'scorers', 'targets', 'reports', 'funnel', 'path', 'safety'):
        assert repeated[key] == score[key], key
