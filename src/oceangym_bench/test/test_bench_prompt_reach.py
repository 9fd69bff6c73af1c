"""What prompts say of the vehicle's reach, against what its autopilot does."""

import pytest

from oceangym_agent.agent import GoalView
from oceangym_agent.prompts.state import goal_context, reach_m
from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import prepare_episode
from oceangym_core.contract.actions import Action, Course
from oceangym_core.world.world import load_world, world_path
from oceangym_sim.control.maneuver import capability
from oceangym_sim.requests import ResetRequest, SimulatorOptions
from oceangym_sim.simulator import Simulator


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


@pytest.mark.parametrize('t_interval', [10.0, 30.0, 60.0, 600.0])
def test_the_reach_that_a_prompt_tells_is_the_autopilot_s(t_interval: float) -> None:
    """To the metre or twentieth for moves ahead, back and up, and sideways; down is a little less."""
    told = goal_context(goal(t_interval))
    for name, key in (
        ('forward', 'reach_m'),
        ('backward', 'reach_m'),
        ('up', 'reach_m'),
        ('left', 'reach_sideways_m'),
        ('right', 'reach_sideways_m'),
    ):
        reach = capability(Action(name), t_interval)
        assert float(told[key]) == pytest.approx(reach, rel=0.05, abs=1.0)
    assert 0.9 * float(told['reach_m']) < capability(Action.DOWN, t_interval)
    if t_interval == 30.0:
        assert (told['reach_m'], told['reach_sideways_m']) == ('20', '17')
    assert reach_m(goal(t_interval)) <= 1.02 * capability(Action.FORWARD, t_interval)


@pytest.mark.parametrize('t_interval', [15.0, 30.0, 60.0])
def test_the_reach_after_a_turn_is_what_is_flown(t_interval: float) -> None:
    options = RunOptions(start='10,20,-40,0', t_interval=t_interval, sensors='none', nav='truth')
    setup = prepare_episode(options, load_world(world_path('ocean')))
    simulator = Simulator(world=setup.world, options=SimulatorOptions.of(setup))
    simulator.reset(ResetRequest.of(setup))
    result, _, _ = simulator.run_maneuver(Action.GO, 500.0, Course(turn_deg=90.0))
    told = goal_context(goal(t_interval))['reach_after_90_m']
    assert float(told) == pytest.approx(result.applied, rel=0.06, abs=1.0)


def test_any_turn_fits_where_the_prompt_says_so() -> None:
    """The templates say "any turn" from 25 s on; 360 deg is the most that a reply may ask for."""
    assert capability(Action.ROTATE_LEFT, 25.0) > 360.0
