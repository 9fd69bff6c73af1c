"""What prompts say of the vehicle's reach, against what its autopilot does."""

import pytest

from oceangym_agent.agent import GoalView
from oceangym_agent.prompts.state import goal_context, reach_m
from oceangym_core.contract import Action
from oceangym_sim.maneuver import capability


def goal(t_interval: float) -> GoalView:
    return GoalView(
        task_id='dock',
        instruction='Dock.',
        target_label='PLATFORM',
        target_description='A platform.',
        reference_image=None,
        bounds=((0.0, 0.0), (9.0, 0.0), (9.0, 9.0)),
        z_min=-90.0,
        z_max=0.0,
        t_max=1800.0,
        t_interval=t_interval,
        target_count=1,
    )


@pytest.mark.parametrize('t_interval', [5.0, 10.0, 30.0, 60.0, 600.0])
def test_the_reach_that_a_prompt_tells_is_the_autopilot_s(t_interval: float) -> None:
    """Every translation gets about so far: ahead a little farther, sideways a little less."""
    told = reach_m(goal(t_interval))
    reaches = [capability(Action(name), t_interval) for name in ('left', 'down', 'up', 'forward')]
    assert 0.85 * told <= min(reaches) and told <= max(reaches) <= 1.25 * told
    assert float(goal_context(goal(t_interval))['reach_m']) == pytest.approx(told, rel=0.05)


def test_any_turn_fits_where_the_prompt_says_so() -> None:
    """The templates say "any turn" from 25 s on; 360 deg is the most that a reply may ask for."""
    assert capability(Action.ROTATE_LEFT, 25.0) > 360.0
