"""The agents that need no model, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from oceangym_agent.agent import Agent
from oceangym_agent.agents.oracle import OracleAgent
from oceangym_agent.agents.replay import ReplayAgent
from oceangym_agent.agents.scripted import BlindSpamAgent, IdleAgent, RandomAgent
from oceangym_agent.agents.survey import SurveyAgent
from oceangym_core.errors import OceanGymError, unknown_name


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """What an agent is built from: the episode's seed and, for replay, the recorded run."""

    seed: int = 0
    replay: Path | None = None


def _replay(settings: AgentSettings) -> Agent:
    if settings.replay is None:
        raise OceanGymError('agent:=replay needs a recorded run: add replay:=RUN_DIRECTORY')
    return ReplayAgent(run=settings.replay)


AGENTS: dict[str, Callable[[AgentSettings], Agent]] = {
    'idle': lambda settings: IdleAgent(),
    'random': lambda settings: RandomAgent(seed=settings.seed),
    'blind_spam': lambda settings: BlindSpamAgent(),
    'survey': lambda settings: SurveyAgent(),
    'oracle': lambda settings: OracleAgent(),
    'replay': _replay,
}


def make_agent(name: str, settings: AgentSettings) -> Agent:
    """Build an agent by name.

    Raises:
        OceanGymError: There is none of this name, or a setting it needs is missing.
    """
    if name not in AGENTS:
        raise unknown_name('agent', name, AGENTS)
    return AGENTS[name](settings)
