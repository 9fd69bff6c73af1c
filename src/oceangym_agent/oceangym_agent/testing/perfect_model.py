"""Perfect eyes behind a prompt: a stand-in for a model that recognises every target it is shown.

It measures what the way through prompt, reply and report costs: it flies as the survey agent does, knows
from the truth what every view shows, and says so over HTTP in the form that the prompt asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
import math
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from oceangym_agent.agent import GoalView, Privilege, StatusView, Turn
from oceangym_agent.agents.survey import SurveyAgent
from oceangym_agent.mllm import MllmAgent
from oceangym_agent.testing.faults import Fault
from oceangym_agent.testing.model_server import ScriptedModelServer
from oceangym_agent.testing.prompt_reading import read
from oceangym_agent.testing.scripts import describe, Plan, say
from oceangym_core.assets import config_path
from oceangym_core.decisions import Decision
from oceangym_core.episode import resolved
from oceangym_core.errors import OceanGymError
from oceangym_core.observation import Observation, StepTruth
from oceangym_core.options import RunOptions
from oceangym_core.text_files import read_yaml
from oceangym_core.tracks import track_sensors
from oceangym_core.world import Anchor

NAME = 'scripted_perfect'


class Way(str, Enum):
    """How a find's place is told, of the ways that prompts offer."""

    RANGE = 'range'  # distance and bearing; the place is worked out by the agent
    POSITION = 'position'  # coordinates, worked out from the own position that the prompt shows


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One target in one view, as eyes see it from the vehicle.

    Attributes:
        label: Of the target.
        direction: The camera or sonar that shows it best.
        range_m: Distance of its middle [m].
        bearing_deg: Of its middle, positive to port.
        above_m: Its middle above the vehicle [m].
    """

    label: str
    direction: str
    range_m: float
    bearing_deg: float
    above_m: float


class PerfectModelAgent:
    """The agent with a model, asking a model that sees the truth; privileged, and recorded as such.

    Args:
        options: Of the run, from `perfect_options`; base_url is replaced.
        directory: For the trace.
        way: How finds are told.

    Attributes:
        told: Observation's index and target of every find, in order.
    """

    privileged = True

    def __init__(self, options: RunOptions, directory: Path, *, way: Way = Way.RANGE) -> None:
        self._way = way
        self._sensors = track_sensors(options.as_dict())
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
        """Start an episode.

        Raises:
            OceanGymError: The truth is not available.
        """
        if privilege is None:
            raise OceanGymError('perfect eyes need the world and the truth of a simulator')
        self._targets = {anchor.name: anchor for anchor in privilege.targets}
        self.told: list[tuple[int, Anchor]] = []
        self._pattern = SurveyAgent()
        self._pattern.begin(goal)
        self._inner.begin(goal)
        self._now: tuple[Decision, tuple[Seen, ...]] | None = None

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Show the model what there is to see, then ask it.

        Raises:
            OceanGymError: The truth of the observation is missing.
        """
        if truth is None:
            raise OceanGymError('perfect eyes got an observation without its truth')
        decision = self._pattern.decide(observation, status).decision
        self._now = decision, self._look(truth)
        return self._inner.decide(observation, status)

    def _look(self, truth: StepTruth) -> tuple[Seen, ...]:
        """Return the targets that this observation shows for the first time."""
        best: dict[str, tuple[int, str]] = {}
        for sighting in truth.sightings:
            if resolved(sighting, self._sensors):
                size = (max(sighting.pixels, sighting.cells), sighting.sensor)
                best[sighting.anchor] = max(best.get(sighting.anchor, (0, '')), size)
        told = {anchor.name for _, anchor in self.told}
        new = [self._targets[name] for name in best if name in self._targets.keys() - told]
        self.told += [(truth.index, anchor) for anchor in new]
        return tuple(_seen(a, best[a.name][1].partition('/')[2], truth) for a in new)

    def _answer(self, body: Mapping[str, Any], number: int) -> str | Fault:
        """Answer as a model would that sees what there is."""
        reading = read(body)
        assert self._now is not None
        decision, seen = self._now
        if reading.describe:
            return describe(reading)
        return say(
            reading,
            Plan(
                action=decision.action,
                magnitude=decision.magnitude or 0.0,
                reason='search pattern',
                finds=tuple(self._find(s, reading.position, reading.yaw) for s in seen),
            ),
        )

    def _find(
        self, seen: Seen, position: tuple[float, float, float] | None, yaw: float
    ) -> dict[str, Any]:
        find: dict[str, Any] = {
            'label': seen.label,
            'position': None,
            'range_m': round(seen.range_m, 1),
            'bearing_deg': round(seen.bearing_deg, 1),
            'direction': seen.direction,
            'text': 'clearly seen',
        }
        if self._way is Way.POSITION and position is not None:
            flat = math.sqrt(max(seen.range_m**2 - seen.above_m**2, 0.0))
            course = yaw + math.radians(seen.bearing_deg)
            x, y, z = position
            find['position'] = [
                round(x + flat * math.cos(course), 1),
                round(y + flat * math.sin(course), 1),
                round(z + seen.above_m, 1),
            ]
        return find


def _seen(anchor: Anchor, direction: str, truth: StepTruth) -> Seen:
    """Return where a target's middle is, seen from the vehicle."""
    offset = np.asarray(anchor.point) - np.asarray(truth.pose.position)
    bearing = math.atan2(offset[1], offset[0]) - truth.pose.yaw
    return Seen(
        label=anchor.label,
        direction=direction,
        range_m=float(np.linalg.norm(offset)),
        bearing_deg=math.degrees(math.remainder(bearing, math.tau)),
        above_m=float(offset[2]),
    )


def perfect_options(options: RunOptions, directory: Path) -> RunOptions:
    """Return the options of a run with this model, and write its preset into a directory."""
    preset = read_yaml(config_path('agents', 'scripted_patrol.yaml'))
    preset |= {'id': NAME, 'title': 'Scripted model with perfect eyes', 'model': NAME}
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f'{NAME}.yaml'
    path.write_text(yaml.safe_dump(preset), encoding='utf-8')
    return replace(options, agent='mllm', model=str(path))
