"""Perfect eyes behind a prompt: a stand-in for a model that recognises every target it is shown.

It measures what the way through prompt, reply and report costs: what a privileged agent decides and reports
is said over HTTP in the form that the prompt asks for, and read from there as any model's reply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
import yaml

from oceangym_agent.agent import Agent, GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents.mllm import MllmAgent
from oceangym_agent.scripted_models.faults import Fault
from oceangym_agent.scripted_models.prompt_reading import read, Reading
from oceangym_agent.scripted_models.scripts import describe, Plan, say
from oceangym_agent.scripted_models.server import ScriptedModelServer
from oceangym_core.assets import config_path
from oceangym_core.config.options import RunOptions
from oceangym_core.contract.actions import SENSOR_AXES
from oceangym_core.contract.decisions import FindReport
from oceangym_core.contract.observation import Observation, StepTruth
from oceangym_core.errors import OceanGymError
from oceangym_core.files import read_yaml

NAME = 'scripted_perfect'


class Way(str, Enum):
    """How a find's place is told, of the ways that prompts offer."""

    RANGE = 'range'  # distance and bearing; the place is worked out by the agent
    PIXEL = 'pixel'  # a pixel of a view and the distance; the same, in JSON replies
    POSITION = 'position'  # coordinates, worked out from the own position that the prompt shows


class PerfectModelAgent:
    """The agent with a model, asking a model that sees the truth; privileged, and recorded as such.

    Attributes:
        told: Every report of the eyes so far, with its true place: what the model was to tell.
    """

    privileged = True

    def __init__(
        self, options: RunOptions, directory: Path, *, eyes: Agent, way: Way = Way.RANGE
    ) -> None:
        """Start the model.

        Args:
            options: Of the run, from `perfect_options`; base_url is replaced.
            directory: For the trace.
            eyes: Whose moves and reports the model tells, e.g. `perfect_eyes`.
            way: How places are told.

        Raises:
            OceanGymError: See `MllmAgent.of`.
        """
        self._eyes = eyes
        self._way = way
        self._server = ScriptedModelServer(script=self._answer, keep_requests=False, model=NAME)
        self._server.start()
        try:
            self._inner = MllmAgent.of(replace(options, base_url=self._server.url), directory)
        except OceanGymError:
            self._server.close()
            raise

    def close(self) -> None:
        """Close the agent and its model."""
        self._inner.close()
        self._server.close()

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode; see the eyes for what they refuse."""
        self.told: list[FindReport] = []
        self._eyes.begin(goal, privilege)
        self._inner.begin(goal)

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Let the model know what there is to see, then ask it."""
        self._seen = self._eyes.decide(observation, status, truth)
        self._pose = observation.navigation.pose
        self.told += self._seen.reports
        return self._inner.decide(observation, status)

    def _answer(self, body: Mapping[str, Any], number: int) -> str | Fault:
        """Answer as a model would that recognises what it is shown."""
        reading = read(body)
        if reading.describe:
            return describe(reading)
        decision = self._seen.decision
        plan = Plan(
            action=decision.action,
            magnitude=decision.magnitude or 0.0,
            reason='perfect eyes',
            finds=tuple(self._find(report, reading) for report in self._seen.reports),
        )
        return say(reading, plan)

    def _find(self, report: FindReport, reading: Reading) -> dict[str, Any]:
        """Return a find as it is told: rounded, and by what the prompt shows of the own place."""
        offset = np.asarray(report.position) - np.asarray(self._pose.position)
        bearing = math.remainder(math.atan2(offset[1], offset[0]) - self._pose.yaw, math.tau)
        position = None
        if self._way is Way.POSITION and reading.position is not None:
            course, flat = reading.yaw + bearing, math.hypot(offset[0], offset[1])
            x, y, z = reading.position
            place = (x + flat * math.cos(course), y + flat * math.sin(course), z + offset[2])
            position = [round(float(v), 1) for v in place]
        direction, pixel = report.direction, None
        if self._way is Way.PIXEL and reading.views:
            direction, pixel = _seen_at(self._pose.rotation.T @ offset, reading)
        return {
            'label': report.label,
            'position': position,
            'range_m': round(float(np.linalg.norm(offset)), 1),
            'bearing_deg': round(math.degrees(bearing), 1),
            'direction': direction,
            'pixel': pixel,
            'text': 'clearly seen',
        }


def _seen_at(offset: NDArray[np.float64], reading: Reading) -> tuple[str, list[int]]:
    """Return the view that shows a place in base_link (3,) nearest to its middle, and the pixel."""
    direction = max(reading.views, key=lambda d: float(np.dot(SENSOR_AXES[d][0], offset)))
    forward, up = (np.asarray(axis) for axis in SENSOR_AXES[direction])
    width, height, fov = reading.views[direction]
    focal = width / 2.0 / math.tan(math.radians(fov) / 2.0) / float(forward @ offset)
    x = width / 2.0 + focal * float(np.cross(forward, up) @ offset)
    y = height / 2.0 - focal * float(up @ offset)
    return direction, [round(x), round(y)]


def perfect_options(options: RunOptions, directory: Path) -> RunOptions:
    """Return the options of a run with this model, and write its preset into a directory."""
    preset = read_yaml(config_path('agents', 'scripted_patrol.yaml'))
    preset |= {'id': NAME, 'title': 'Scripted model with perfect eyes', 'model': NAME}
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f'{NAME}.yaml'
    path.write_text(yaml.safe_dump(preset), encoding='utf-8')
    return replace(options, agent='mllm', model=str(path))
