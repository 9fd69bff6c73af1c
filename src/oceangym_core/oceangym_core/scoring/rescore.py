"""Scoring again what was recorded: a run directory, a directory of runs, or OceanGym's results."""

from __future__ import annotations

from collections.abc import Sequence
import json
from pathlib import Path
import sys
from typing import Any

from rich.console import Console
from rich.table import Table

from oceangym_core.config.command_parser import CommandParser
from oceangym_core.config.tasks import PAPER_WEIGHTS
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import Vector
from oceangym_core.paths import user_path
from oceangym_core.record.reader import load_episode
from oceangym_core.record.result_tree import FileGroup, is_oceangym_tree, load_oceangym_tree
from oceangym_core.scoring.compat import (
    PointScore,
    RELEASED_TARGETS,
    score_task,
    summarise,
    task_of,
    TaskScore,
)
from oceangym_core.scoring.paper import weigh
from oceangym_core.scoring.score import score_episode, score_with, SCORERS

TREE_SCORERS = ('compat', 'paper')


def rescore(path: Path | str, scorer: str | None = None) -> dict[str, Any]:
    """Score a record again.

    Args:
        path: A run directory, a directory of run directories, or a result tree
            ``<model>/task*/point*/memory_*.json, important_memory_*.json``.
        scorer: One of ``verified``, ``paper``, ``compat``; None for all (a run) or compat (a tree).

    Returns:
        For a run the content of ``score.json``, or one scorer's part of it. For a directory of runs
        that by run. For a tree each task's average, best, std and its points' averages; with several
        models, that by model.

    Raises:
        OceanGymError: There is nothing of the kind at the path, or a file is wrong.
    """
    root = user_path(path)
    if scorer is not None and scorer not in SCORERS:
        raise unknown_name('scorer', scorer, SCORERS)
    if not root.is_dir():
        problem = 'is a file; give its directory' if root.exists() else 'does not exist'
        raise OceanGymError(f'{root} {problem}')
    if (root / 'run.yaml').exists() or (root / 'episode.jsonl').exists():
        return _rescore_run(root, scorer)
    runs = sorted(p.parent for p in root.glob('*/run.yaml'))
    if runs:
        return {run.name: _rescore_run(run, scorer) for run in runs}
    if is_oceangym_tree(root):
        return _rescore_tree(root, scorer or 'compat')
    raise OceanGymError(
        f'{root} is neither a run directory (run.yaml, episode.jsonl), nor holds any, nor is a '
        'result tree (<model>/task*/point*/memory_*.json)'
    )


def _rescore_run(run_dir: Path, scorer: str | None) -> dict[str, Any]:
    episode = load_episode(run_dir)
    if scorer is None:
        return score_episode(episode)
    result = score_with(episode, scorer)
    return {
        'run_id': episode.info.run_id,
        'ending': episode.ending.value,
        'partial': episode.partial,
        'notes': list(episode.notes),
        'scorer': scorer,
        **result.as_dict(),
    }


def _rescore_tree(root: Path, scorer: str) -> dict[str, Any]:
    if scorer not in TREE_SCORERS:
        raise OceanGymError(
            f'{root} is a result tree: memory files hold no truth, so that {scorer} cannot score '
            f'them. Use --scorer {" or --scorer ".join(TREE_SCORERS)}.'
        )
    tree = load_oceangym_tree(root)
    tree.print_notes()
    models = {
        model: {
            task: _task_numbers(_score_tree_task(root / task, points, scorer))
            for task, points in sorted(tasks.items(), key=lambda item: int(item[0][4:]))
        }
        for model, tasks in tree.models.items()
    }
    return next(iter(models.values())) if len(models) == 1 else models


def _score_tree_task(
    directory: Path, points: dict[str, tuple[FileGroup, ...]], scorer: str
) -> TaskScore:
    targets = RELEASED_TARGETS[int(directory.name[4:])]
    if scorer == 'compat':
        return score_task(points, targets)
    by_point: dict[str, PointScore] = {
        name: summarise(
            tuple(paper_score_of_group(group, targets, directory / name) for group in groups)
        )
        for name, groups in points.items()
    }
    return task_of(by_point, [s for point in by_point.values() for s in point.scores])


def paper_score_of_group(group: FileGroup, targets: Sequence[Vector], where: Path) -> float:
    """Return eq. 7 of a run that is known by its memory files only.

    The remembered locations are the trajectory; any important entry is a report of the target.

    Args:
        group: The run's files.
        targets: Target points of its task [m].
        where: Names the files in messages.

    Raises:
        OceanGymError: The files hold no location.
    """
    memory = [e.location for e in group.memory or () if e.location is not None]
    important = [e.location for e in group.important or () if e.location is not None]
    if not memory and not important:
        raise OceanGymError(f'{where}, {group.stamp}: no location in its files; paper needs one')
    result = weigh(
        names=[str(i) for i in range(len(targets))],
        points=targets,
        weights=PAPER_WEIGHTS[len(targets)],
        found=[bool(group.important)] * len(targets),
        trajectory=[*memory, *important],
        final=(memory or important)[-1],
    )
    assert result.score is not None, 'weigh always scores'
    return result.score


def _task_numbers(task: TaskScore) -> dict[str, Any]:
    return {
        'average': task.average,
        'best': task.best,
        'std': task.std,
        'points': {name: point.average for name, point in task.points.items()},
        'point_stds': {name: point.std for name, point in task.points.items()},
        'groups': sum(len(point.scores) for point in task.points.values()),
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Run the ``score`` verb; return its exit code."""
    parser = CommandParser(
        prog='oceangym score',
        description='Score recorded runs or an OceanGym result tree again.',
        allow_abbrev=False,
    )
    parser.add_argument('path', help='run directory, directory of runs, or result tree')
    parser.add_argument('--scorer', help=f'one of {", ".join(SCORERS)}; default: all')
    parser.add_argument('--json', action='store_true', help='print JSON instead of a table')
    try:
        arguments = parser.parse_args(argv)
        result = rescore(arguments.path, arguments.scorer)
    except OceanGymError as error:
        sys.stderr.write(f'error: {error}\n')
        return 1
    if arguments.json:
        sys.stdout.write(json.dumps(result, indent=2, ensure_ascii=False) + '\n')
    else:
        console = Console()
        for table in tables(result):
            console.print(table)
    return 0


def tables(result: dict[str, Any]) -> list[Table]:
    """Return the result of `rescore` as tables for the terminal."""
    if 'run_id' in result:
        return [_run_table(result)]
    first = next(iter(result.values()))
    if 'run_id' in first:
        return [_run_table(run) for run in result.values()]
    if 'average' in first:
        return [_tree_table('', result)]
    return [_tree_table(model, tasks) for model, tasks in result.items()]


def _run_table(run: dict[str, Any]) -> Table:
    note = ', partial' if run['partial'] else ''
    table = Table(title=f'{run["run_id"]} ({run["ending"]}{note})', title_justify='left')
    table.add_column('figure')
    table.add_column('value', justify='right')
    scorers = run.get('scorers') or {run['scorer']: run}
    for name, part in scorers.items():
        score = part['score']
        table.add_row(name, f'unscored: {part["reason"]}' if score is None else f'{score:.2f}')
    for target in run.get('targets', []):
        if 'closest_m' in target and target['closest_m'] is not None:
            state = next(
                (s for s in ('verified', 'reported', 'in_view') if target[s]), 'never in view'
            )
            text = f'{target["closest_m"]:.1f} m closest, {target["final_m"]:.1f} m at the end'
            table.add_row(target['name'], f'{text}, {state.replace("_", " ")}')
    if 'safety' in run:
        safety = run['safety']
        length = run['path']['length_m']
        table.add_row('path', 'unknown' if length is None else f'{length:.0f} m')
        table.add_row('collisions', str(safety['collisions']))
        table.add_row(
            'stand-off', f'{safety["standoff_events"]} x, {safety["standoff_seconds"]:.0f} s'
        )
        table.add_row('duration', f'{run["duration_s"]:.0f} s in {run["steps"]} steps')
    measures = dict(run.get('measures', {}))
    if 'pipe_total_m' in measures:
        seen, total = measures.pop('pipe_seen_m'), measures.pop('pipe_total_m')
        table.add_row('pipe seen at the stations', f'{seen:.0f} of {total:.0f} m')
    for key, value in measures.items():
        table.add_row(key.replace('_', ' '), f'{value:.2f}')
    for text in run.get('notes', []):
        table.add_row('note', text)
    return table


def _tree_table(model: str, tasks: dict[str, Any]) -> Table:
    points = sorted({point for task in tasks.values() for point in task['points']})
    table = Table(title=model or None, title_justify='left')
    for column in ('task', 'average', 'best', 'std', *points):
        table.add_column(column, justify='left' if column == 'task' else 'right')
    for name, task in tasks.items():
        averages = [task['points'].get(point) for point in points]
        table.add_row(
            name,
            *(f'{task[key]:.2f}' for key in ('average', 'best', 'std')),
            *('' if value is None else f'{value:.2f}' for value in averages),
        )
    return table
