"""The task's goal, state and score as messages. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
import json
import math
from pathlib import Path
from typing import Any

from geometry_msgs.msg import Point32
from geometry_msgs.msg import Pose as PoseMessage
import numpy as np
from oceangym_msgs.msg import TaskGoal as TaskGoalMessage
from oceangym_msgs.msg import TaskScore
from oceangym_msgs.msg import TaskState as TaskStateMessage
from oceangym_msgs.srv import ReportFind, Reset
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker

from oceangym_core.assets import assets_root
from oceangym_core.config.setup import EpisodeSetup
from oceangym_core.contract.decisions import FindReport, Refusal
from oceangym_core.geometry import Pose
from oceangym_core.nodes.conversions import header_of, point_message, pose_message, stamp_of
from oceangym_tasks.task_manager import TaskGoal, TaskState, TaskStatus

# Of one line, and how high the text hovers: readable from where the whole path is in view.
TEXT_HEIGHT_M = 2.0
TEXT_ABOVE_M = 8.0

STATES = {
    TaskState.INITIAL: TaskStateMessage.INITIAL,
    TaskState.READY: TaskStateMessage.READY,
    TaskState.RUNNING: TaskStateMessage.RUNNING,
    TaskState.FINISHED: TaskStateMessage.FINISHED,
}

REFUSALS = {
    Refusal.NONE: ReportFind.Response.NONE,
    Refusal.NOT_RUNNING: ReportFind.Response.NOT_RUNNING,
    Refusal.BAD_LABEL: ReportFind.Response.EMPTY_LABEL,
    Refusal.BAD_POSITION: ReportFind.Response.BAD_POSITION,
    Refusal.BAD_OBSERVATION: ReportFind.Response.BAD_STEP,
}


def goal_message(goal: TaskGoal, stamp: float) -> TaskGoalMessage:
    """Return what the agent is asked to do; `stamp` is in simulation time [s]."""
    return TaskGoalMessage(
        header=header_of(stamp, 'odom'),
        task_id=goal.task_id,
        title=goal.title,
        instruction=goal.instruction,
        target_label=goal.target_label,
        target_description=goal.target_description,
        reference_image=_shared_name(goal.reference_image),
        target_count=goal.number_of_targets,
        bounds=[Point32(x=x, y=y) for x, y in goal.bounds_polygon],
        mission_order=goal.mission_order,
        search_area=[Point32(x=x, y=y) for x, y in goal.search_area],
        sight=goal.sight,
        z_min=goal.z_min,
        z_max=goal.z_max,
        t_max=goal.t_max,
        t_interval=goal.t_interval,
    )


def _shared_name(path: str) -> str:
    """Return a file's name under share/oceangym, or the path itself if it lies elsewhere."""
    if not path:
        return ''
    root = assets_root().resolve()
    file = Path(path).resolve()
    return str(file.relative_to(root)) if file.is_relative_to(root) else str(file)


def state_message(status: TaskStatus, stamp: float, epoch_ns: int = 0) -> TaskStateMessage:
    """Return where the episode stands.

    Args:
        status: What the task manager says.
        stamp: Of the current observation, in seconds of the episode.
        epoch_ns: Stamp at which the episode's time is 0 [ns].
    """
    return TaskStateMessage(
        header=header_of(stamp, 'odom', epoch_ns),
        state=STATES[status.state],
        step=status.step,
        epoch=stamp_of(0.0, epoch_ns),
        elapsed=status.elapsed,
        remaining=status.remaining,
        end_reason=status.ending,
    )


def score_message(
    score: Mapping[str, Any] | None, *, task_id: str, ending: str, stamp: float
) -> TaskScore:
    """Return the result of a finished episode.

    Args:
        score: The content of score.json or None.
        task_id: Of the task.
        ending: Why the episode ended.
        stamp: Simulation time [s].
    """
    message = TaskScore(
        header=header_of(stamp, 'odom'),
        task_id=task_id,
        scored=False,
        partial=True,
        end_reason=ending,
        verified=math.nan,
        paper=math.nan,
        compat=math.nan,
        path_length=math.nan,
    )
    if score is None:
        return message
    scorers = score['scorers']
    message.scored = scorers['verified']['status'] == 'scored'
    message.partial = score['partial']
    message.verified = _number(scorers['verified']['score'])
    message.paper = _number(scorers['paper']['score'])
    message.compat = _number(scorers['compat']['score'])
    message.finds_true = int(scorers['verified'].get('true_finds', 0))
    message.finds_false = int(scorers['verified'].get('false_finds', 0))
    message.path_length = _number(score['path']['length_m'])
    message.collisions = score['safety']['collisions'] or 0
    message.json = json.dumps(score, ensure_ascii=False)
    return message


def text_marker(text: str) -> Marker:
    """Return lines of text that hover over the vehicle."""
    marker = Marker(
        # Without a time, rviz takes the newest transform.
        header=header_of(0.0, 'base_link'),
        ns='task',
        type=Marker.TEXT_VIEW_FACING,
        action=Marker.ADD,
        pose=pose_message(Pose.of((0.0, 0.0, TEXT_ABOVE_M))),
        frame_locked=True,
        color=ColorRGBA(r=1.0, g=1.0, b=1.0, a=1.0),
        text=text,
    )
    marker.scale.z = TEXT_HEIGHT_M
    return marker


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def find_report(request: ReportFind.Request, *, now: float) -> FindReport:
    """Return the report that a request makes; `now` is the time of the episode [s]."""
    place = request.position
    return FindReport(
        label=request.label,
        position=(place.x, place.y, place.z) if request.has_position else None,
        sigma=float(request.sigma) if request.sigma >= 0 else None,
        sensor=request.sensor,
        direction=request.direction,
        observation_index=request.step,
        stamp=now,
    )


def reset_request(setup: EpisodeSetup) -> Reset.Request:
    """Return the request that puts the vehicle at an episode's start."""
    start: PoseMessage = pose_message(setup.start.pose)
    return Reset.Request(
        start=start,
        seed=setup.options.seed,
        t_max=setup.t_max,
        t_interval=setup.t_interval,
        profile=setup.options.profile,
        targets=[anchor.name for anchor in setup.anchors],
        shift=np.array([setup.shift.x, setup.shift.y, setup.shift.yaw]),
        lower=point_message(setup.bounds.lower),
        upper=point_message(setup.bounds.upper),
    )
