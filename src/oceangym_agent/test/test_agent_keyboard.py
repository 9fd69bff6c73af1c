"""OceanGym's keys."""

from __future__ import annotations

import pytest

from oceangym_agent.keyboard import Command, COMMANDS, HELP, interpret, MOVES, velocity_of
from oceangym_core.contract.actions import Action, unit_motion


@pytest.mark.parametrize(
    ('key', 'action'),
    [
        ('w', Action.FORWARD),
        ('s', Action.BACKWARD),
        ('a', Action.LEFT),
        ('d', Action.RIGHT),
        ('j', Action.ROTATE_LEFT),
        ('l', Action.ROTATE_RIGHT),
        ('i', Action.UP),
        ('k', Action.DOWN),
    ],
)
def test_moves(key, action):
    assert interpret(key) is action
    assert interpret(key.upper()) is action


def test_commands_and_keys_without_a_meaning():
    assert interpret('M') is Command.HAND_OVER
    assert interpret('f') is Command.REPORT
    assert interpret('q') is Command.QUIT
    assert interpret('x') is None
    assert interpret('') is None
    assert not set(MOVES) & set(COMMANDS)
    assert all(
        f'{key} ' in HELP or f'{key}/' in HELP for key in (*MOVES, *COMMANDS) if key in 'wajqmf'
    )


@pytest.mark.parametrize('action', list(MOVES.values()))
def test_a_velocity_points_where_its_maneuver_goes(action):
    velocity = velocity_of(action)
    direction = unit_motion(action)
    assert velocity.surge * direction[0] >= 0
    moved = (velocity.surge, velocity.sway, velocity.heave)
    if any(direction):
        assert sum(v * d for v, d in zip(moved, direction)) > 0
        assert velocity.yaw == 0
    else:
        # Positive yaw is to port, as everywhere.
        assert (velocity.yaw > 0) is (action is Action.ROTATE_LEFT)
        assert moved == (0.0, 0.0, 0.0)
