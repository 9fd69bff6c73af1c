"""Every figure of an episode, as ``score.json`` holds it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
import math
from typing import Any

import numpy as np

from oceangym_core.errors import unknown_name
from oceangym_core.record.episode import Episode
from oceangym_core.record.version import scorers_sha256
from oceangym_core.scoring.compat import score_compat
from oceangym_core.scoring.funnel import funnel, STAGES, TargetFunnel
from oceangym_core.scoring.measures import docking, pipe_coverage
from oceangym_core.scoring.paper import score_paper
from oceangym_core.scoring.results import closest_distances, ScoreResult
from oceangym_core.scoring.safety import assess_safety
from oceangym_core.scoring.verified import judge_reports, JudgedReport, score_verified

FORMAT = 1

# The headline first.
SCORERS: dict[str, Callable[[Episode], ScoreResult]] = {
    'verified': score_verified,
    'paper': score_paper,
    'compat': score_compat,
}


def score_with(episode: Episode, scorer: str) -> ScoreResult:
    """Score an episode with one scorer.

    Raises:
        OceanGymError: There is no scorer of this name.
    """
    if scorer not in SCORERS:
        raise unknown_name('scorer', scorer, SCORERS)
    return SCORERS[scorer](episode)


def score_episode(episode: Episode, oracle_path_length: float | None = None) -> dict[str, Any]:
    """Return everything that ``score.json`` holds.

    Args:
        episode: As recorded.
        oracle_path_length: Of the oracle's run of the same task and start [m], to compare with.
    """
    info = episode.info
    judged = judge_reports(episode)
    stages = funnel(episode, judged)
    safety = assess_safety(episode)
    decisions = episode.decisions
    path = {'length_m': safety.path_length if episode.has_truth else None}
    if oracle_path_length:
        path['over_oracle'] = safety.path_length / oracle_path_length
    content = {
        'format': FORMAT,
        'run_id': info.run_id,
        'task': info.task.id,
        'alias': info.task.alias,
        'water': info.water.id,
        'profile': info.profile.id,
        'agent': info.agent,
        'benchmark': _benchmark(episode),
        'backend': info.options.get('backend'),
        'actions': info.options.get('actions', 'oceangym'),
        'mode': info.options.get('mode'),
        't_max_s': info.t_max,
        'privileged': info.privileged,
        'seed': info.options.get('seed'),
        'world_seed': info.world.seed,
        'frame': info.options.get('frame'),
        'start': _start(episode),
        'ending': episode.ending.value,
        'partial': episode.partial,
        'message': episode.message,
        'notes': list(episode.notes),
        'duration_s': episode.duration,
        'steps': len(episode.steps) - 1,
        'decisions': len(decisions),
        'scorers': {name: scorer(episode).as_dict() for name, scorer in SCORERS.items()},
        'targets': _targets(episode, stages),
        'reports': [_report(item) for item in judged],
        'funnel': {
            'targets': len(stages),
            **{stage: sum(getattr(row, stage) for row in stages) for stage in STAGES},
            'mislabelled': sum(row.mislabelled for row in stages),
        },
        'time_to_first_sight_s': min(
            (row.first_sight for row in stages if row.first_sight is not None), default=None
        ),
        'path': path,
        'safety': {
            'collisions': safety.collisions,
            'collided_with': list(safety.collided_with),
            'hardest_contact_m_s': safety.hardest_contact,
            'boundary_events': safety.boundary_events,
            'standoff_events': safety.standoff_events,
            'standoff_seconds': safety.standoff_seconds,
        },
        'measures': _measures(episode),
        'invalid_replies': sum(d.invalid_replies for d in decisions),
        'model_notes': list(dict.fromkeys(note for d in decisions for note in d.notes)),
        'tokens': sum(d.tokens for d in decisions),
        'cost_usd': sum(d.cost for d in decisions),
        'wall': {'latency_s': sum(step.wall.latency_s for step in episode.steps)},
    }
    tidy: dict[str, Any] = _tidy(content)
    return tidy


def _benchmark(episode: Episode) -> dict[str, Any]:
    """Return what the scores are comparable with; the scorers are those at work, not the run's."""
    entry = episode.info.benchmark.model_dump(mode='json')
    return entry and {**entry, 'hashes': {**entry['hashes'], 'scorers': scorers_sha256()}}


def _start(episode: Episode) -> dict[str, Any]:
    start, first = episode.info.start, episode.steps[0]
    return {
        'name': start.name,
        'position': list(start.position),
        'yaw_deg': math.degrees(start.pose.yaw),
        'nearest_target': start.target,
        'range_m': start.range,
        'bearing_deg': math.degrees(start.bearing),
        'relative_bearing_deg': math.degrees(start.relative_bearing),
        'stratum': start.stratum,
        'aspect': start.aspect,
        'visible': episode.perceptible(first, start.target),
        'sightings': [
            {'target': s.anchor, 'sensor': s.sensor, 'pixels': s.pixels, 'cells': s.cells}
            for s in first.sightings
        ],
    }


def _targets(episode: Episode, stages: tuple[TargetFunnel, ...]) -> list[dict[str, Any]]:
    targets = episode.info.targets
    points = [target.point for target in targets]
    closest: list[float | None] = [None] * len(targets)
    final: list[float | None] = [None] * len(targets)
    if episode.has_truth:
        closest = [float(d) for d in closest_distances(episode.trajectory[:, 1:4], points)]
        final = [float(d) for d in closest_distances(episode.final_position, points)]
    return [
        {
            'name': target.name,
            'label': target.label,
            'weight': target.weight,
            'closest_m': near,
            'final_m': far,
            **{stage: getattr(row, stage) for stage in STAGES},
            'first_sight_s': row.first_sight,
        }
        for target, row, near, far in zip(targets, stages, closest, final, strict=True)
    ]


def _report(item: JudgedReport) -> dict[str, Any]:
    report = item.report
    return {
        'label': report.label,
        'observation_index': report.observation_index,
        'stamp': report.stamp,
        'sensor': report.sensor,
        'direction': report.direction,
        'verdict': item.verdict.value,
        'target': item.target,
        'distance_m': item.distance,
        'place': None if item.place is None else list(item.place),
    }


def _measures(episode: Episode) -> dict[str, Any]:
    measure = episode.info.task.measure
    if not episode.has_truth:
        return {}
    if measure == 'pipe_coverage':
        coverage = pipe_coverage(episode)
        return {'pipe_seen_m': coverage.seen, 'pipe_total_m': coverage.total}
    if measure == 'docking':
        result = docking(episode)
        if result is not None:
            final = asdict(result)
            return {
                'lateral_error_m': final['lateral'],
                'height_error_m': final['height'],
                'heading_error_deg': math.degrees(final['heading']),
            }
    return {}


def _tidy(value: Any) -> Any:
    """Return plain data with floats cut to nine decimals, below any difference that matters."""
    if isinstance(value, dict):
        return {key: _tidy(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tidy(item) for item in value]
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return round(float(value), 9) if isinstance(value, float) else value
