"""What a person reads of an episode in rviz: where it stands, and how it was scored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oceangym_tasks.task_manager import TaskState, TaskStatus


def status_text(
    task_id: str, status: TaskStatus, *, reports: int, score: Mapping[str, Any] | None = None
) -> str:
    """Return a few short lines.

    Targets are numbered, not named: whoever watches may be an agent, too.

    Args:
        task_id: Of the episode.
        status: Where it stands.
        reports: Finds reported so far, right or wrong.
        score: Content of ``score.json`` once it has ended; None if there is none.
    """
    head = f'{task_id}: {status.state.value}'
    if status.state is not TaskState.FINISHED:
        return '\n'.join(
            [
                head,
                f'step {status.step}, {_clock(status.elapsed)} gone, {_clock(status.remaining)} left',
                f'{reports} reported',
            ]
        )
    lines = [f'{head} ({status.ending}) after {_clock(status.elapsed)}']
    if score is None:
        return '\n'.join([*lines, 'unscored'])
    scorers = score['scorers']
    lines.append(', '.join(f'{name} {_points(scorers[name]["score"])}' for name in scorers))
    verified = scorers.get('verified', {})
    for number, target in enumerate(verified.get('targets', ()), start=1):
        found = f'found, {target["score"]:.1f}' if target['counted'] else 'not found'
        lines.append(f'target {number}: {found}')
    lines.append(f'{reports} reported, {verified.get("false_finds", 0)} of them wrong')
    return '\n'.join(lines)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f'{minutes}:{rest:02d}'


def _points(score: float | None) -> str:
    return 'unscored' if score is None else f'{score:.1f}'
