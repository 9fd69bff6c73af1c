"""One episode in one process, without ROS: the same parts as the nodes wrap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from oceangym_agent.agent import Agent, GoalView, Privilege, StatusView
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_core.contract import Action
from oceangym_core.episode_setup import EpisodeSetup
from oceangym_core.record import make_run_info, new_run_directory, run_id_for, RunWriter
from oceangym_sim.requests import ResetRequest
from oceangym_sim.simulator import Simulator
from oceangym_tasks.task_manager import TaskManager


@dataclass(frozen=True, kw_only=True)
class EpisodeOutcome:
    """What an episode left: its score.json as a dict, and its run directory if one was written."""

    score: dict[str, Any]
    directory: Path | None
    decisions: int


def goal_view(manager: TaskManager, briefing: str) -> GoalView:
    """Return the goal as an agent sees it."""
    goal = manager.goal(briefing)
    return GoalView(
        task_id=goal.task_id,
        instruction=goal.instruction,
        target_label=goal.target_label,
        target_description=goal.target_description,
        reference_image=Path(goal.reference_image) if goal.reference_image else None,
        bounds=goal.bounds_polygon,
        z_min=goal.z_min,
        z_max=goal.z_max,
        t_max=goal.t_max,
        t_interval=goal.t_interval,
        target_count=goal.number_of_targets,
    )


def run_episode(
    setup: EpisodeSetup,
    simulator: Simulator,
    *,
    agent: Agent | None = None,
    results_dir: Path | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    on_step: Callable[[int, float], None] = lambda step, elapsed: None,
) -> EpisodeOutcome:
    """Fly one episode to its end.

    Args:
        setup: What is flown.
        simulator: Of the setup's world; it is reset first.
        agent: Who decides; the options' agent if None.
        results_dir: Where the run directory is made; nothing is written if None.
        clock: Wall clock, for the record only.
        on_step: Called after each step with the observation's index and simulation time [s].
    """
    options = setup.options
    if agent is None:
        replay = Path(options.replay) if options.replay else None
        agent = make_agent(options.agent, AgentSettings(seed=options.seed, replay=replay))
    run_id = run_id_for(options, clock())
    info = make_run_info(
        options=options,
        task=setup.task,
        targets=setup.targets,
        world=setup.world,
        shift=setup.shift,
        start=setup.start,
        water=setup.water,
        profile=setup.profile,
        privileged=agent.privileged,
        run_id=run_id,
    )
    directory = None if results_dir is None else new_run_directory(results_dir, run_id)
    writer = RunWriter(directory, info, clock=clock)
    manager = TaskManager(task=setup.task, info=info, writer=writer)
    try:
        _fly(setup, simulator, manager, agent, on_step)
    except KeyboardInterrupt:
        manager.cancel('interrupted')
        raise
    except Exception as error:
        manager.error(f'{type(error).__name__}: {error}')
        raise
    finally:
        writer.close()
    assert manager.result is not None
    decisions = 0 if simulator.observation is None else simulator.observation.index
    return EpisodeOutcome(score=manager.result, directory=directory, decisions=decisions)


def _fly(
    setup: EpisodeSetup,
    simulator: Simulator,
    manager: TaskManager,
    agent: Agent,
    on_step: Callable[[int, float], None],
) -> None:
    privilege = Privilege(world=setup.world, targets=setup.anchors, shift=setup.shift)
    manager.ready()
    observation = simulator.reset(ResetRequest.of(setup))
    truth = simulator.truth
    manager.begin(observation.navigation, truth)
    agent.begin(goal_view(manager, setup.water.briefing), privilege if agent.privileged else None)
    while not manager.episode_over:
        status = manager.status(observation.stamp)
        turn = agent.decide(
            observation,
            StatusView(elapsed=status.elapsed, remaining=status.remaining),
            truth if agent.privileged else None,
        )
        for report in turn.reports:
            manager.report_find(report)
        manager.on_decision(turn.decision)
        if turn.decision.action is Action.STOP:
            manager.stop()
            break
        result, observation, truth = simulator.run_maneuver(
            turn.decision.action, turn.decision.magnitude
        )
        manager.on_step(result, observation.navigation, truth)
        on_step(observation.index, observation.stamp)
