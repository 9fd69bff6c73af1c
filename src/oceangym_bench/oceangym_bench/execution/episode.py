"""One episode in one process, without ROS: the same parts as the nodes wrap."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from oceangym_agent.agent import (
    Agent,
    close_agent,
    ending_message,
    GoalView,
    Privilege,
    StatusView,
    Turn,
)
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.chat import BudgetExhausted, NoReply
from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import EpisodeSetup
from oceangym_core.contract.actions import Action
from oceangym_core.contract.observation import as_published, Observation, StepTruth
from oceangym_core.errors import OceanGymError
from oceangym_core.record.writer import new_run_directory, run_id_for
from oceangym_sim.requests import ResetRequest
from oceangym_sim.simulator import Simulator
from oceangym_tasks.episode_files import begin_record
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
        mission_order=goal.mission_order,
        search_area=goal.search_area,
        sight_m=goal.sight,
    )


def run_episode(
    setup: EpisodeSetup,
    simulator: Simulator,
    *,
    agent: Agent | None = None,
    results_dir: Path | None = None,
    run_id: str | None = None,
    resume_from: Path | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
    on_step: Callable[[int, float], None] = lambda step, elapsed: None,
) -> EpisodeOutcome:
    """Fly one episode to its end.

    Args:
        setup: What is flown.
        simulator: Of the setup's world; it is reset first.
        agent: Who decides; the options' agent if None.
        results_dir: Where the run directory is made; nothing is written if None.
        run_id: Name of the run directory; made of time and options if None.
        resume_from: See `AgentSettings`.
        clock: Wall clock, for the record only.
        on_step: Called after each step with the observation's index and simulation time [s].
    """
    options = setup.options
    directory = None
    if results_dir is not None:
        directory = new_run_directory(results_dir, run_id or run_id_for(options, clock()))
    if agent is None:
        agent = _agent(options, directory, resume_from)
    try:
        manager = begin_record(
            setup, directory=directory, privileged=agent.privileged, clock=clock
        )
        _keep_record(setup, simulator, manager, agent, on_step)
    finally:
        close_agent(agent)
    assert manager.result is not None
    decisions = 0 if simulator.observation is None else simulator.observation.index
    return EpisodeOutcome(score=manager.result, directory=directory, decisions=decisions)


def _agent(options: RunOptions, directory: Path | None, resume_from: Path | None) -> Agent:
    """Build the options' agent; without one, leave no empty run directory behind."""
    try:
        settings = AgentSettings(options=options, directory=directory, resume_from=resume_from)
        return make_agent(options.agent, settings)
    except OceanGymError:
        if directory is not None:
            with suppress(OSError):
                directory.rmdir()
        raise


def _keep_record(
    setup: EpisodeSetup,
    simulator: Simulator,
    manager: TaskManager,
    agent: Agent,
    on_step: Callable[[int, float], None],
) -> None:
    """Fly, and close the record whatever happens."""
    try:
        _fly(setup, simulator, manager, agent, on_step)
    except KeyboardInterrupt:
        manager.cancel('interrupted')
        raise
    except BaseException as error:
        manager.error(f'{type(error).__name__}: {error}')
        raise


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
        turn = _decide(setup, manager, agent, observation, truth)
        if turn is None:
            break
        for report in turn.reports:
            manager.report_find(report)
        manager.on_decision(turn.decision)
        if turn.decision.action is Action.STOP:
            manager.stop()
        if manager.episode_over:
            break
        result, observation, truth = simulator.run_maneuver(
            turn.decision.action, turn.decision.magnitude, turn.decision.course
        )
        manager.on_step(result, observation.navigation, truth)
        on_step(observation.index, observation.stamp)


def _decide(
    setup: EpisodeSetup,
    manager: TaskManager,
    agent: Agent,
    observation: Observation,
    truth: StepTruth | None,
) -> Turn | None:
    """Ask the agent; None if there is no answer and the episode has ended for that reason."""
    status = manager.status(observation.stamp)
    name = setup.options.agent_name
    try:
        return agent.decide(
            as_published(observation),
            StatusView(elapsed=status.elapsed, remaining=status.remaining),
            truth if agent.privileged else None,
        )
    except NoReply as error:
        if error.decision is not None:
            # What it cost belongs to the record, although nothing came of it.
            manager.on_decision(error.decision)
        end = manager.budget if isinstance(error, BudgetExhausted) else manager.error
        end(ending_message(name, error))
    return None
