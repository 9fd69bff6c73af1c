"""What an agent is given and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from oceangym_core.contract.decisions import Decision, FindReport
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import Observation, single, StepTruth
from oceangym_core.world.world import Anchor, World


@dataclass(frozen=True, kw_only=True)
class GoalView:
    """The task as an agent sees it; positions are in odom.

    Numbers have the single precision of the messages, so that an agent is told the same with and
    without ROS.

    Attributes:
        bounds: Corners (x, y) of the operating area [m].
        z_min, z_max: Its vertical limits [m].
        t_max, t_interval: Episode and maneuver length [s].
        target_count: How many targets there are.
        mission_order: Where to search, in words; empty if nothing is said about it.
        search_area: Corners (x, y) of the search area [m]; empty without one.
        sight_m: How far cameras show a large thing in this water [m]; 0 where it is not known.
    """

    task_id: str
    instruction: str
    target_label: str
    target_description: str
    reference_image: Path | None
    bounds: tuple[tuple[float, float], ...]
    z_min: float
    z_max: float
    t_max: float
    t_interval: float
    target_count: int
    mission_order: str = ''
    search_area: tuple[tuple[float, float], ...] = ()
    sight_m: float = 0.0

    def __post_init__(self) -> None:
        for name in ('z_min', 'z_max', 't_max', 't_interval', 'sight_m'):
            object.__setattr__(self, name, single(getattr(self, name)))
        for name in ('bounds', 'search_area'):
            corners = tuple((single(x), single(y)) for x, y in getattr(self, name))
            object.__setattr__(self, name, corners)


@dataclass(frozen=True, kw_only=True)
class StatusView:
    """Where the episode stands: `elapsed` and `remaining` simulation time [s], single precision."""

    elapsed: float
    remaining: float

    def __post_init__(self) -> None:
        object.__setattr__(self, 'elapsed', single(self.elapsed))
        object.__setattr__(self, 'remaining', single(self.remaining))


@dataclass(frozen=True, kw_only=True)
class Privilege:
    """What an agent that may use the truth is given: the world, its targets, odom in map."""

    world: World
    targets: tuple[Anchor, ...]
    shift: FrameShift


@dataclass(frozen=True, kw_only=True)
class Turn:
    """An agent's answer to one observation: reports are made before the action is carried out."""

    decision: Decision
    reports: tuple[FindReport, ...] = ()


class Agent(Protocol):
    """Decides on observations.

    Attributes:
        privileged: Uses truth; marked as such in the record and given a `Privilege`.
    """

    privileged: bool

    def begin(self, goal: GoalView, privilege: Privilege | None = None) -> None:
        """Start an episode."""
        ...

    def decide(
        self, observation: Observation, status: StatusView, truth: StepTruth | None = None
    ) -> Turn:
        """Answer one observation; `truth` is given to privileged agents only.

        Raises:
            ModelUnavailable: The model behind the agent gave no answer; the episode ends.
            BudgetExhausted: What the episode may take is spent; it ends.
        """
        ...


def close_agent(agent: Agent) -> None:
    """Have an agent give back what it holds (connections, files); most hold nothing."""
    close = getattr(agent, 'close', None)
    if close is not None:
        close()
