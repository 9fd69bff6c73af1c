"""What a benchmark will ask of its models, and what that costs, before anything is spent.

The requests are built by the same code as in a run, on a real observation of the first task, with
the memory as long as it will be at five moments of an episode; tokens in between are interpolated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timezone
from functools import lru_cache
import math
from typing import Any

import numpy as np

from oceangym_agent.agent import GoalView, StatusView
from oceangym_agent.agents.mllm_parts import prompt_settings
from oceangym_agent.chat import ChatRequest, ImagePart
from oceangym_agent.memory import CoverageMap, Memory, MemoryStep
from oceangym_agent.models.presets import load_preset, ModelPreset
from oceangym_agent.models.pricing import cost, request_tokens
from oceangym_agent.prompts import load_prompt, Loop, PromptBuilder, StepView
from oceangym_bench.execution.episode import goal_view
from oceangym_bench.execution.simulator_cache import SimulatorCache
from oceangym_bench.matrix.runs import Cell
from oceangym_core.config.options import MODEL_AGENTS, RunOptions
from oceangym_core.config.tasks import config_folder, TaskRegistry
from oceangym_core.contract.actions import Action
from oceangym_core.contract.observation import Observation
from oceangym_sim.requests import ResetRequest
from oceangym_tasks.episode_files import begin_record

# Where in an episode requests are built; the memory grows in between.
MOMENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Measured replies in our format have 150 to 350 tokens.
REPLY_TOKENS = 300
# Hidden, by models that think before they answer; they vary more than anything else here.
REASONING_TOKENS = 1500
QUIET_EFFORTS = (None, 'none', 'minimal')
# What a model typically notes: six directions of murky water and a reason, 60 words.
TYPICAL_NOTE = (
    'Front: open blue-green water, nothing distinct. Back: open water. Left: a slope of sand and '
    'scattered boulders fading at about 20 m. Right: open water. Up: brighter water, no objects. '
    'Down: sandy seabed with ripples, no structure. | Reason: nothing resembles the reference '
    'image here, so the line search goes on along the current heading to new ground.'
)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What some runs ask of a model; tokens and price are estimates.

    Attributes:
        model: As the file names it; ``total`` of all.
        runs, decisions, calls, images: Counts.
        tokens_in, tokens_out: [tokens].
        price: [USD].
        price_date: When the price was read; empty where nothing is paid.
    """

    model: str
    runs: int = 0
    decisions: int = 0
    calls: int = 0
    images: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    price: float = 0.0
    price_date: str = ''

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**asdict(self), 'price': round(self.price, 4)}


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The demand by model, in total, and what was assumed."""

    models: tuple[Demand, ...]
    total: Demand
    assumptions: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            'models': [demand.as_dict() for demand in self.models],
            'total': self.total.as_dict(),
            'assumptions': list(self.assumptions),
        }


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """What requests are built on."""

    goal: GoalView
    observation: Observation


def plan_cells(
    cells: Sequence[Cell],
    *,
    reply_tokens: int = REPLY_TOKENS,
    reasoning_tokens: int = REASONING_TOKENS,
    say: Callable[[str], None] = lambda message: None,
) -> Plan:
    """Return what some cells will ask of their models.

    Args:
        cells: To be run.
        reply_tokens: Visible tokens of one reply.
        reasoning_tokens: Hidden ones, of models that reason.
        say: Told what takes time.

    Raises:
        OceanGymError: A model's preset or a prompt does not exist or is wrong.
    """
    sample: _Sample | None = None
    per_run: dict[RunOptions, Demand] = {}
    demands: dict[str, list[Demand]] = defaultdict(list)
    for cell in cells:
        if cell.options.agent not in MODEL_AGENTS:
            demands[cell.model].append(
                Demand(model=cell.model, runs=1, decisions=_decisions(cell))
            )
            continue
        kind = _kind(cell)
        if kind not in per_run:
            if sample is None:
                say('building requests on an observation of the first task')
                sample = _sample(cell.options)
            per_run[kind] = _demand(cell, sample, reply_tokens, reasoning_tokens)
        demands[cell.model].append(per_run[kind])
    models = tuple(_sum(model, parts) for model, parts in demands.items())
    return Plan(
        models=models,
        total=_sum('total', models),
        assumptions=_assumptions(cells, reply_tokens, reasoning_tokens),
    )


def _kind(cell: Cell) -> RunOptions:
    """Return what runs of the same demand share."""
    return replace(
        cell.options,
        task='inspect_pipe',
        water='shallow',
        start='point1',
        seed=0,
        world_seed=0,
        t_max=_t_max(cell),
        memory_strip='coordinates' if cell.transfer != 'none' else 'none',
    )


def _t_max(cell: Cell) -> float:
    options = cell.options
    task = TaskRegistry.load(options.config_dirs).get(options.task)
    return float(options.t_max or task.t_max)


def _decisions(cell: Cell) -> int:
    options = cell.options
    task = TaskRegistry.load(options.config_dirs).get(options.task)
    count = math.ceil(_t_max(cell) / (options.t_interval or task.t_interval))
    return min(count, options.max_decisions or count)


def _sample(options: RunOptions) -> _Sample:
    """Return the goal and the first observation of a run."""
    return _observe(
        RunOptions(
            task=options.task,
            water=options.water,
            start=options.start,
            agent='survey',
            frame=options.frame,
            frame_seed=options.frame_seed,
            world_seed=options.world_seed,
            config=options.config,
            device=options.device,
        )
    )


@lru_cache(maxsize=1)
def _observe(options: RunOptions) -> _Sample:
    setup, simulator = SimulatorCache().prepare(options)
    manager = begin_record(
        setup, directory=None, privileged=False, clock=lambda: datetime.now(timezone.utc)
    )
    return _Sample(
        goal=goal_view(manager, setup.water.briefing),
        observation=simulator.reset(ResetRequest.of(setup)),
    )


def _demand(cell: Cell, sample: _Sample, reply_tokens: int, reasoning_tokens: int) -> Demand:
    options = cell.options
    folders = [config_folder(folder, 'agents') for folder in options.config_dirs]
    preset = load_preset(options.model_preset, folders)
    settings = prompt_settings(options, preset)
    builder = PromptBuilder(
        prompt=load_prompt(options.prompt, options.config_dirs),
        goal=sample.goal,
        settings=settings,
    )
    decisions = _decisions(cell)
    at = [round(moment * (decisions - 1)) for moment in MOMENTS]
    tokens, images = [], []
    for index in at:
        requests = _requests(builder, options, sample, index, cell.transfer != 'none')
        tokens.append(sum(request_tokens(preset, request) for request in requests))
        images.append(sum(_images(request) for request in requests))
    calls = decisions * (2 if settings.loop is Loop.PERCEIVE_ACT else 1)
    tokens_in = round(decisions * float(np.interp(np.arange(decisions), at, tokens).mean()))
    tokens_out = calls * _reply_tokens(preset, reply_tokens, reasoning_tokens)
    price = cost(preset, tokens_in=tokens_in, tokens_out=tokens_out)
    return Demand(
        model=cell.model,
        runs=1,
        decisions=decisions,
        calls=calls,
        images=round(decisions * float(np.interp(np.arange(decisions), at, images).mean())),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        price=price if options.max_cost is None else min(price, options.max_cost),
        price_date='' if preset.price_date is None or not price else str(preset.price_date),
    )


def _requests(
    builder: PromptBuilder, options: RunOptions, sample: _Sample, index: int, experienced: bool
) -> list[ChatRequest]:
    """Return the requests of one decision, as late in the episode as `index`."""
    # A given experience takes the room in the memory's budget that own steps do not need yet.
    memory = Memory(window=max(options.memory, 200) if experienced else options.memory)
    for step in range(200 if experienced else index):
        memory.remember(_typical_step(step, sample))
    builder.begin()
    coverage = CoverageMap(sample.goal.bounds)
    coverage.visit(sample.observation.navigation.pose.position)
    elapsed = index * sample.goal.t_interval
    view = StepView(
        index=index,
        observation=replace(sample.observation, index=index, stamp=elapsed),
        status=StatusView(elapsed=elapsed, remaining=max(sample.goal.t_max - elapsed, 0.0)),
        memory=memory,
        coverage=coverage if builder.settings.needs_coverage else None,
    )
    if builder.settings.loop is Loop.PERCEIVE_ACT:
        return [builder.perceive(view), builder.act(view, TYPICAL_NOTE)]
    return [builder.single(view)]


def _typical_step(index: int, sample: _Sample) -> MemoryStep:
    return MemoryStep(
        index=index,
        time=index * sample.goal.t_interval,
        description=TYPICAL_NOTE,
        action=Action.FORWARD,
        magnitude=20.0,
        position=(100.0 + 20.0 * index, -100.0, -60.0),
        heading_deg=-135.0,
    )


def _images(request: ChatRequest) -> int:
    return sum(isinstance(part, ImagePart) for m in request.messages for part in m.parts)


def _reply_tokens(preset: ModelPreset, reply_tokens: int, reasoning_tokens: int) -> int:
    reasons = preset.reasoning_effort not in QUIET_EFFORTS
    return min(preset.max_output_tokens, reply_tokens + (reasoning_tokens if reasons else 0))


def _sum(model: str, parts: Iterable[Demand]) -> Demand:
    items = tuple(parts)
    return Demand(
        model=model,
        runs=sum(d.runs for d in items),
        decisions=sum(d.decisions for d in items),
        calls=sum(d.calls for d in items),
        images=sum(d.images for d in items),
        tokens_in=sum(d.tokens_in for d in items),
        tokens_out=sum(d.tokens_out for d in items),
        price=sum(d.price for d in items),
        price_date=', '.join(sorted({d.price_date for d in items if d.price_date}))
        if model != 'total'
        else '',
    )


def _assumptions(
    cells: Sequence[Cell], reply_tokens: int, reasoning_tokens: int
) -> tuple[str, ...]:
    lines = [
        'every episode lasts its whole time; one that stops early asks and costs less',
        f'a reply has {reply_tokens} tokens, and {reasoning_tokens} hidden ones from a model with '
        'a reasoning effort above minimal',
        'text is counted as one token for four bytes, images by the rule of the preset',
        'the prompt is that of the first task; others differ by a few tens of tokens',
        f'a step is remembered with {len(TYPICAL_NOTE.split())} words, within the budget of the '
        'memory',
        'no call is repeated for an error or an unclear reply; no discount for cached input',
    ]
    if any(cell.transfer != 'none' for cell in cells):
        lines.append('runs with experience fill the budget of their memory from the first step on')
    limits = {cell.options.max_cost for cell in cells if cell.options.max_cost is not None}
    if limits:
        lines.append(f'an episode ends when it has cost {max(limits):g} USD')
    return tuple(lines)
