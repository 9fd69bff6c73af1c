"""Runs episodes: waits for everybody, resets the backend, keeps the record and scores it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
import sys
from typing import Any

from oceangym_msgs.action import RunTask
from oceangym_msgs.msg import Decision as DecisionMessage
from oceangym_msgs.msg import StepTruth as StepTruthMessage
from oceangym_msgs.srv import ReportFind, Reset, StopTask
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.clock import Clock
from rclpy.clock_type import ClockType
from rclpy.duration import Duration
from rclpy.task import Future

from oceangym_core.config.options import RunOptions
from oceangym_core.config.setup import EpisodeSetup
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.contract.topics import DECISION, stream
from oceangym_core.errors import OceanGymError
from oceangym_core.nodes.conversions import (
    decision_of,
    epoch_of,
    maneuver_of,
    nanoseconds_of,
    seconds_of,
    stamp_of,
    step_navigation_of,
    step_truth_of,
)
from oceangym_core.nodes.node import (
    ContractNode,
    declare,
    declare_options,
    EXIT_CANCELLED,
    EXIT_ERROR,
    publish_stream,
    read_stream,
    run_node,
)
from oceangym_core.record.schema import Ending
from oceangym_core.world.world import load_world, World, world_path
from oceangym_tasks.episode_files import open_episode
from oceangym_tasks.nodes.conversions import (
    find_report,
    goal_message,
    REFUSALS,
    reset_request,
    score_message,
    state_message,
    text_marker,
)
from oceangym_tasks.nodes.participants import ParticipantMonitor
from oceangym_tasks.status_text import status_text
from oceangym_tasks.task_manager import TaskManager, TaskState, TaskStatus

# How long the last messages may take to reach their readers.
FLUSH_TIMEOUT = Duration(seconds=2)
# A decision that has not arrived this long after its step will not [s of wall time].
DECISION_PATIENCE_S = 2.0
# A report on an observation whose step is still on its way here waits for it this long [s].
REPORT_PATIENCE_S = 5.0
RESET_PATIENCE_S = 120.0
# A recorder that is slower than this no longer holds the episode up [s].
RECORD_PATIENCE_S = 20.0


class Phase(Enum):
    """What this node is doing."""

    IDLE = 'idle'
    WAITING = 'waiting for backend, agent and recorder'
    RESETTING = 'resetting the backend'
    RUNNING = 'running'


class TaskManagerNode(ContractNode):
    """Wraps `TaskManager` and, one after the other, the episodes that are asked for."""

    def __init__(self) -> None:
        super().__init__('task_manager')
        self.min_period_s = 0.003
        self._options = declare_options(self)
        world = str(declare(self, 'world', '', "World file; '': the task's."))
        self._autostart = bool(
            declare(self, 'autostart', False, 'Run one episode at once and end with it.')
        )
        self._directory = str(
            declare(self, 'run_directory', '', "Of the first episode's record; '': a new one.")
        )
        names = declare(self, 'wait_for', [''], 'Nodes that an episode waits for.')
        wait_for = [str(name) for name in names if name]  # type: ignore[attr-defined]
        self._startup = float(
            declare(self, 'startup_timeout', 180.0, 'How long to wait for them [s].')  # type: ignore[arg-type]
        )
        self._world = self._load_world(world)
        self._wall = Clock(clock_type=ClockType.STEADY_TIME)

        self._phase = Phase.IDLE
        self._since = self._seconds()
        self._setup: EpisodeSetup | None = None
        self._manager: TaskManager | None = None
        self._reset: Future | None = None
        self._outcome: Future | None = None
        self._fault = RunTask.Result.NONE
        # Of the current observation, in seconds of its episode, and the stamp of that episode's
        # time 0.
        self._stamp = 0.0
        self._epoch_ns = 0
        self._held_since: float | None = None
        self._steps: list[StepTruthMessage] = []
        self._announced = ''
        self._unrecorded: int | None = None
        self._report_count = 0

        self._goal = publish_stream(self, stream('task/goal'))
        self._state = publish_stream(self, stream('task/state'))
        self._score = publish_stream(self, stream('task/score'))
        self._text = publish_stream(self, stream('task/text'))
        read_stream(self, stream('truth/step'), self._on_step)
        read_stream(self, DECISION, self._on_decision)
        self._participants = ParticipantMonitor(
            self, wait_for, on_lost=self._lost, on_recorded=self._announce_step
        )
        self.create_service(ReportFind, 'task/report_find', self._on_report)
        self.create_service(StopTask, 'task/stop', self._on_stop)
        self._server = ActionServer(
            self,
            RunTask,
            'task/run',
            self._execute,
            cancel_callback=lambda handle: CancelResponse.ACCEPT,
        )
        if self._options.mode == 'realtime':
            self.create_timer(1.0, self._publish_state, clock=self._wall)
        if self._autostart:
            self._begin(self._options)

    # -- the life of an episode ------------------------------------------------------------------

    def _begin(self, options: RunOptions) -> None:
        """Prepare an episode and start waiting for everybody.

        Raises:
            OceanGymError: The options do not make an episode.
        """
        directory, self._directory = self._directory, ''
        episode = open_episode(
            options,
            self._world,
            directory=Path(directory) if directory else None,
            clock=lambda: datetime.now(timezone.utc),
        )
        self._setup, self._manager = episode.setup, episode.manager
        self._fault = RunTask.Result.NONE
        self._enter(Phase.WAITING)
        self._publish_state()

    def work(self) -> float:
        """Go on where nothing but time or the graph decides."""
        if self._phase is Phase.WAITING:
            self._wait()
        elif self._phase is Phase.RESETTING:
            self._finish_reset()
        elif self._phase is Phase.RUNNING:
            self._watch()
        return 0.05

    def _wait(self) -> None:
        missing = self._participants.missing()
        if not missing:
            assert self._setup is not None
            assert self._manager is not None
            self._manager.ready()
            self._goal.publish(
                goal_message(self._manager.goal(self._setup.water.briefing), self._time())
            )
            self._publish_state()
            self._steps.clear()
            self._reset = self._participants.reset_client.call_async(reset_request(self._setup))
            self._enter(Phase.RESETTING)
        elif self._waited() > self._startup:
            self._fail(
                RunTask.Result.RESET_FAILED,
                f'{", ".join(missing)} did not appear within {self._startup:.0f} s',
            )
        elif self._announced != (text := ', '.join(missing)):
            self._announced = text
            self.get_logger().info(f'waiting for {text}')

    def _finish_reset(self) -> None:
        """Begin once the backend has answered and its observation 0 is here."""
        assert self._reset is not None
        if self._waited() > RESET_PATIENCE_S:
            self._fail(RunTask.Result.RESET_FAILED, 'the backend did not answer the reset')
            return
        if not self._reset.done():
            return
        response = self._reset.result()
        if response.error_code:
            bad_start = response.error_code == Reset.Response.BAD_START
            self._fail(
                RunTask.Result.BAD_START if bad_start else RunTask.Result.RESET_FAILED,
                f'the backend refused the reset: {response.error_msg}',
            )
            return
        stamp = nanoseconds_of(response.stamp)
        first = [s for s in self._steps if s.step == 0 and nanoseconds_of(s.header.stamp) == stamp]
        if first:
            assert self._manager is not None
            self._steps.clear()
            self._manager.begin(step_navigation_of(first[0]), step_truth_of(first[0]))
            self._epoch_ns = epoch_of(first[0])
            self._stamp = seconds_of(first[0].header.stamp, self._epoch_ns)
            self._enter(Phase.RUNNING)
            self._publish_state()

    def _watch(self) -> None:
        """Do not wait for ever for a decision, and close the episode when it is over."""
        self._announce_step()
        manager = self._manager
        assert manager is not None
        if not manager.awaiting_decision:
            self._held_since = None
        elif self._held_since is None:
            self._held_since = self._seconds()
        elif self._seconds() - self._held_since > DECISION_PATIENCE_S:
            manager.flush()
        if manager.state is TaskState.FINISHED:
            self._finish()

    def _finish(self) -> None:
        """Publish the result and answer who asked for the episode."""
        manager, setup = self._manager, self._setup
        assert manager is not None
        assert setup is not None
        ending = manager.ending
        assert ending is not None
        self._enter(Phase.IDLE)
        score = score_message(
            manager.result, task_id=setup.task.id, ending=ending.value, stamp=self._time()
        )
        self._score.publish(score)
        self._publish_state()
        self.get_logger().info(
            f'the episode has ended: {ending.value}; verified {score.verified:.1f}, '
            f'paper {score.paper:.1f}, compat {score.compat:.1f}'
        )
        if self._outcome is not None and not self._outcome.done():
            self._outcome.set_result(score)
        if self._autostart:
            self._score.wait_for_all_acked(FLUSH_TIMEOUT)
            self._state.wait_for_all_acked(FLUSH_TIMEOUT)
            self.exit_code = _exit_code(ending)

    def _fail(self, code: int, message: str) -> None:
        """End the episode because something outside it failed."""
        manager = self._manager
        if manager is None or self._phase is Phase.IDLE:
            return
        self._fault = code
        print(f'error: {message}', file=sys.stderr, flush=True)
        self.get_logger().fatal(message)
        manager.crash(message)
        self._finish()

    def _lost(self, who: str, code: int) -> None:
        if self._phase in (Phase.RUNNING, Phase.RESETTING):
            self._fail(code, f'{who} was lost: its process has died or hangs')

    def interrupt(self) -> None:
        """Ctrl-C: what was earned is kept, marked as cancelled."""
        if self._manager is not None and self._phase is not Phase.IDLE:
            self._manager.cancel('interrupted')
            self._manager.flush()
            self._finish()
        self.exit_code = EXIT_CANCELLED if self._autostart else 0

    # -- what others say -------------------------------------------------------------------------

    def _on_step(self, message: StepTruthMessage) -> None:
        if self._phase is Phase.RESETTING:
            self._steps.append(message)
            return
        manager = self._manager
        if self._phase is not Phase.RUNNING or manager is None or manager.episode_over:
            return
        maneuver = maneuver_of(message)
        if maneuver is None or message.step != manager.status().step + 1:
            self._fail(
                RunTask.Result.BACKEND_LOST,
                f'the backend published step {message.step} where '
                f'{manager.status().step + 1} was due: it was reset by somebody else',
            )
            return
        manager.on_step(maneuver, step_navigation_of(message), step_truth_of(message))
        self._stamp = seconds_of(message.header.stamp, self._epoch_ns)
        if not manager.episode_over:
            self._unrecorded = nanoseconds_of(message.header.stamp)
            self._since = self._seconds()
            self._announce_step()

    def _announce_step(self) -> None:
        """Tell the agent about a step once it is in the bag, or the recorder takes too long."""
        if self._unrecorded is None:
            return
        late = self._waited() > RECORD_PATIENCE_S
        if late or self._participants.has_recorded(self._unrecorded):
            self._unrecorded = None
            self._publish_state()

    def _on_decision(self, message: DecisionMessage) -> None:
        if self._phase is not Phase.RUNNING or self._manager is None:
            return
        try:
            self._manager.on_decision(decision_of(message))
        except OceanGymError as error:
            self.get_logger().warning(f'decision on observation {message.step} ignored: {error}')

    async def _on_report(
        self, request: ReportFind.Request, response: ReportFind.Response
    ) -> ReportFind.Response:
        """Take a report down; the answer never says whether it is right."""
        deadline = self._seconds() + REPORT_PATIENCE_S
        while self._is_ahead(request.step) and self._seconds() < deadline:
            await self._pause()
        manager = self._manager
        if manager is None or self._phase is not Phase.RUNNING:
            response.error_code = ReportFind.Response.NOT_RUNNING
            response.error_msg = 'no episode is running; reports count from its start to its end'
            return response
        ack = manager.report_find(find_report(request, now=self._stamp))
        response.error_code = REFUSALS[ack.refusal]
        response.error_msg = '' if ack.accepted else ack.message
        self._report_count += 1
        response.report_id = self._report_count
        return response

    def _is_ahead(self, step: int) -> bool:
        """Whether a report is about the next observation, whose step is still on its way here."""
        manager = self._manager
        return (
            self._phase is Phase.RUNNING
            and manager is not None
            and step == manager.status().step + 1
        )

    async def _pause(self) -> None:
        """Let other callbacks run."""
        done: Future = Future()
        timer = self.create_timer(0.01, lambda: done.set_result(None), clock=self._wall)
        await done
        self.destroy_timer(timer)

    def _on_stop(
        self, request: StopTask.Request, response: StopTask.Response
    ) -> StopTask.Response:
        manager = self._manager
        endings: dict[str, Callable[[str], None]] = {}
        if manager is not None and self._phase is Phase.RUNNING and not manager.episode_over:
            endings = {
                'stop': manager.stop,
                'cancelled': manager.cancel,
                'budget': manager.budget,
                'error': manager.error,
            }
        if not endings:
            response.error_code = StopTask.Response.NOT_RUNNING
            response.error_msg = 'no episode is running'
        elif request.reason not in endings:
            response.error_code = StopTask.Response.BAD_REASON
            response.error_msg = (
                f'reason {request.reason!r} is unknown; allowed: {", ".join(endings)}'
            )
        else:
            endings[request.reason](request.message)
        return response

    async def _execute(self, handle: ServerGoalHandle) -> RunTask.Result:
        """Run one episode for the action ``task/run``."""
        if self._phase is not Phase.IDLE:
            handle.abort()
            return RunTask.Result(
                error_code=RunTask.Result.ALREADY_RUNNING,
                error_msg=f'an episode is {self._phase.value}; cancel it or wait for its end',
            )
        try:
            self._begin(self._options_of(handle.request))
        except OceanGymError as error:
            handle.abort()
            return RunTask.Result(error_code=RunTask.Result.BAD_START, error_msg=str(error))
        self._outcome = Future()
        while not self._outcome.done():
            if handle.is_cancel_requested and self._manager is not None:
                self._manager.cancel('cancelled by the client of task/run')
                self._manager.flush()
                self._finish()
                break
            handle.publish_feedback(RunTask.Feedback(state=self._state_message()))
            await self._pause()
        score = self._outcome.result()
        result = RunTask.Result(score=score)
        if handle.is_cancel_requested:
            handle.canceled()
            result.error_code = RunTask.Result.CANCELLED
            result.error_msg = 'cancelled'
            return result
        result.error_code = self._fault
        if self._fault:
            assert self._manager is not None
            result.error_msg = score.end_reason
            handle.abort()
            return result
        handle.succeed()
        return result

    def _options_of(self, goal: RunTask.Goal) -> RunOptions:
        changes: dict[str, Any] = {}
        if goal.start:
            changes['start'] = goal.start
        if goal.seed >= 0:
            changes['seed'] = goal.seed
        return RunOptions.from_dict({**self._options.as_dict(), **changes})

    # -- small things ----------------------------------------------------------------------------

    def _load_world(self, file: str) -> World:
        task = TaskRegistry.load(self._options.config_dirs).get(self._options.task)
        return load_world(Path(file) if file else world_path(task.world_source))

    def _publish_state(self) -> None:
        manager = self._manager
        if manager is None:
            return
        self._state.publish(self._state_message())
        text = status_text(
            manager.task_id,
            self._status(),
            reports=manager.accepted_reports,
            score=manager.result,
        )
        self._text.publish(text_marker(text))

    def _status(self) -> TaskStatus:
        assert self._manager is not None
        realtime = self._options.mode == 'realtime'
        now = seconds_of(self.get_clock().now().to_msg(), self._epoch_ns) if realtime else None
        return self._manager.status(now)

    def _state_message(self) -> Any:
        return state_message(self._status(), self._stamp, self._epoch_ns)

    def _time(self) -> float:
        """Return the simulation time of the current observation [s]."""
        return seconds_of(stamp_of(self._stamp, self._epoch_ns))

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._since = self._seconds()

    def _seconds(self) -> float:
        return self._wall.now().nanoseconds * 1e-9

    def _waited(self) -> float:
        return self._seconds() - self._since


def _exit_code(ending: Ending) -> int:
    if not ending.partial:
        return 0
    return EXIT_CANCELLED if ending is Ending.CANCELLED else EXIT_ERROR


def main() -> int:
    """Run the node."""
    return run_node(TaskManagerNode)


if __name__ == '__main__':
    sys.exit(main())
