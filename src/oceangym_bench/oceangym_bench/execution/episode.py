"""One episode in one process, without ROS: the same parts as the nodes wrap."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from oceangym_agent.agent import Agent, close_agent, GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents import AgentSettings, make_agent
from oceangym_agent.chat import NoReply
from oceangym_agent.episode_runner import EpisodeRunner, run_blocking
from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import EpisodeSetup
from oceangym_core.contract.decisions import Decision, FindReport
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


class _SimulatedVehicle:
    """A simulator and the task manager of its episode, as the agent loop sees them; all blocks.

    Args:
        setup: What is flown; the simulator is reset to it.
        simulator: Of the setup's world.
        manager: Of the episode, which begins.
        on_step: See `run_episode`.
    """

    def __init__(
        self,
        setup: EpisodeSetup,
        simulator: Simulator,
        manager: TaskManager,
        on_step: Callable[[int, float], None],
    ) -> None:
        self._setup = setup
        self._simulator = simulator
        self._manager = manager
        self._on_step = on_step
        manager.ready()
        self._observation = simulator.reset(ResetRequest.of(setup))
        self._truth = simulator.truth
        manager.begin(self._observation.navigation, self._truth)

    @property
    def running(self) -> bool:
        return not self._manager.episode_over

    @property
    def status(self) -> StatusView:
        status = self._manager.status(self._observation.stamp)
        return StatusView(elapsed=status.elapsed, remaining=status.remaining)

    def goal_view(self) -> GoalView:
        return goal_view(self._manager, self._setup.water.briefing)

    async def next_observation(self, index: int) -> Observation | None:
        return as_published(self._observation) if self.running else None

    def truth(self) -> StepTruth | None:
        return self._truth

    async def ask(self, decide: Callable[[], Turn]) -> Turn:
        return decide()

    async def report_find(self, report: FindReport, step: int, *, reporter: str) -> bool:
        return self._manager.report_find(report).accepted

    def publish_decision(self, turn: Turn, *, agent: str) -> None:
        self._manager.on_decision(turn.decision)

    async def maneuver(self, decision: Decision) -> int | None:
        if not self.running:
            # The decision itself has ended the episode: the run does not offer its action.
            return None
        result, self._observation, self._truth = self._simulator.run_maneuver(
            decision.action, decision.magnitude, decision.course
        )
        self._manager.on_step(result, self._observation.navigation, self._truth)
        self._on_step(self._observation.index, self._observation.stamp)
        return self._observation.index

    async def stop(self, reason: str = 'stop', message: str = '') -> None:
        manager = self._manager
        ends = {'stop': manager.stop, 'budget': manager.budget, 'error': manager.error}
        ends[reason](message)


def _keep_record(
    setup: EpisodeSetup,
    simulator: Simulator,
    manager: TaskManager,
    agent: Agent,
    on_step: Callable[[int, float], None],
) -> None:
    """Fly, and close the record whatever happens."""
    try:
        runner = EpisodeRunner(
            _SimulatedVehicle(setup, simulator, manager, on_step),
            lambda: agent,
            name=setup.options.agent_name,
            privilege=Privilege(world=setup.world, targets=setup.anchors, shift=setup.shift),
        )
        run_blocking(runner.run())
        if runner.error is not None and not isinstance(runner.error, NoReply):
            raise runner.error
    except KeyboardInterrupt:
        manager.cancel('interrupted')
        raise
    except BaseException as error:
        manager.error(f'{type(error).__name__}: {error}')
        raise
