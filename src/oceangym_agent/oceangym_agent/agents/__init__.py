"""Every agent by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from oceangym_agent.agent import Agent
from oceangym_agent.agents.blind_prior import BlindPriorAgent
from oceangym_agent.agents.oracle import OracleAgent
from oceangym_agent.agents.perfect_eyes import PerfectEyesAgent
from oceangym_agent.agents.replay import ReplayAgent
from oceangym_agent.agents.scripted import BlindSpamAgent, IdleAgent, RandomAgent
from oceangym_agent.agents.survey import SurveyAgent
from oceangym_core.config.options import RunOptions
from oceangym_core.config.tracks import track_sensors
from oceangym_core.errors import OceanGymError, unknown_name


@dataclass(frozen=True, kw_only=True)
class AgentSettings:
    """What an agent is built from.

    Attributes:
        options: Of the run.
        directory: Of the run, for what an agent records itself; None to record nothing.
        resume_from: Directory of the same run as it was interrupted: replies in its trace are used
            again where the same is asked. None to ask a model anew.
    """

    options: RunOptions = field(default_factory=RunOptions)
    directory: Path | None = None
    resume_from: Path | None = None


def _replay(settings: AgentSettings) -> Agent:
    if not settings.options.replay:
        raise OceanGymError('agent:=replay needs a recorded run: add replay:=RUN_DIRECTORY')
    return ReplayAgent(run=Path(settings.options.replay))


def _model(settings: AgentSettings) -> Agent:
    # The clients of models take a second to import, and the other agents do without them.
    from oceangym_agent.agents.mllm import MllmAgent

    return MllmAgent.of(settings.options, settings.directory, resume_from=settings.resume_from)


AGENTS: dict[str, Callable[[AgentSettings], Agent]] = {
    'idle': lambda settings: IdleAgent(),
    'random': lambda settings: RandomAgent(seed=settings.options.seed),
    'blind_spam': lambda settings: BlindSpamAgent(),
    'blind_prior': lambda settings: BlindPriorAgent(),
    'survey': lambda settings: SurveyAgent(),
    'perfect_eyes': lambda settings: PerfectEyesAgent(
        sensors=track_sensors(settings.options.as_dict())
    ),
    'oracle': lambda settings: OracleAgent(),
    'replay': _replay,
    'mllm': _model,
    'scripted': _model,
}


def make_agent(name: str, settings: AgentSettings) -> Agent:
    """Build an agent by name.

    Raises:
        OceanGymError: There is none of this name, or a setting it needs is missing.
    """
    if name not in AGENTS:
        raise unknown_name('agent', name, AGENTS)
    return AGENTS[name](settings)
