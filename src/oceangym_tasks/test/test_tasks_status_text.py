"""What rviz shows of an episode."""

from __future__ import annotations

import pytest

from oceangym_tasks.status_text import status_text
from oceangym_tasks.task_manager import TaskState, TaskStatus

SCORE = {
    'scorers': {
        'verified': {
            'status': 'scored',
            'score': 39.6,
            'targets': [
                {'name': 'oil_pipeline_1', 'counted': True, 'score': 66.0},
                {'name': 'oil_pipeline_2', 'counted': False, 'score': 0.0},
            ],
            'false_finds': 1,
        },
        'paper': {'status': 'scored', 'score': 52.04},
        'compat': {'status': 'unscored', 'score': None},
    }
}


def status(state, elapsed=90.0, ending=''):
    return TaskStatus(
        state=state, step=3, elapsed=elapsed, remaining=1800 - elapsed, ending=ending
    )


def test_while_it_runs_the_time_that_is_left_is_told():
    text = status_text('inspect_pipe', status(TaskState.RUNNING), reports=2)
    assert text == 'inspect_pipe: running\nstep 3, 1:30 gone, 28:30 left\n2 reported'


def test_afterwards_each_target_and_each_score():
    text = status_text(
        'inspect_pipe', status(TaskState.FINISHED, 725.4, 'stop'), reports=2, score=SCORE
    )
    assert text.splitlines() == [
        'inspect_pipe: finished (stop) after 12:05',
        'verified 39.6, paper 52.0, compat unscored',
        'target 1: found, 66.0',
        'target 2: not found',
        '2 reported, 1 of them wrong',
    ]
    assert 'pipeline' not in text


@pytest.mark.parametrize('ending', ['error', 'budget'])
def test_an_episode_without_score_is_unscored_and_not_zero(ending):
    text = status_text('dock', status(TaskState.FINISHED, ending=ending), reports=0)
    assert text.splitlines() == [f'dock: finished ({ending}) after 1:30', 'unscored']


def test_a_minute_is_never_sixty_seconds():
    assert '2:00 gone' in status_text('dock', status(TaskState.RUNNING, 119.7), reports=0)
