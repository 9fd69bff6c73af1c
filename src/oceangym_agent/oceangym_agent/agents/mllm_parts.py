"""What an agent with a model is put together from, and texts as records can hold them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timezone
import logging
from pathlib import Path

from oceangym_agent.chat import ChatModel
from oceangym_agent.memory import Experience, load_experience
from oceangym_agent.models.budget import Budget
from oceangym_agent.models.client import make_model, OpenAIModel
from oceangym_agent.models.presets import load_preset, ModelPreset
from oceangym_agent.models.recorded import RecordedModel
from oceangym_agent.prompts import (
    CoverageInput,
    load_prompt,
    Loop,
    PromptSet,
    PromptSettings,
    SonarInput,
)
from oceangym_agent.replies import format_instructions, reply_schema
from oceangym_agent.replies.reply import ParsedReply, ReplyStyle
from oceangym_agent.trace import read_trace, TRACE_FILE, TraceWriter
from oceangym_core.config.options import RunOptions
from oceangym_core.config.tasks import config_folder, TaskRegistry
from oceangym_core.contract.frames import shift_for
from oceangym_core.errors import OceanGymError
from oceangym_core.files import utf8_text

_LOG = logging.getLogger(__name__)

# Of what messages, bags and records hold; the trace has the whole reply.
RAW_REPLY_CHARACTERS = 20_000
NOT_UNDERSTOOD = 'No reply was understood; the vehicle holds.'
NOT_DECIDED = 'No decision was made; the episode ends.'


@dataclass(frozen=True, kw_only=True)
class ModelParts:
    """Everything that `mllm.MllmAgent` uses, ready for one episode."""

    options: RunOptions
    model: ChatModel
    budget: Budget
    prompt: PromptSet
    settings: PromptSettings
    experience: Experience | None
    trace: TraceWriter
    close: Callable[[], None]


def model_parts(
    options: RunOptions, directory: Path | None, *, resume_from: Path | None = None
) -> ModelParts:
    """Look up preset, prompt and experience of a run, and prepare its model and trace.

    Nothing is asked yet, so that this finds out cheaply what a run lacks.

    Args:
        options: Of the run.
        directory: Where the trace goes, if anywhere.
        resume_from: Directory of the same run as it was interrupted, see `RecordedModel`.

    Raises:
        OceanGymError: One of them does not exist or is wrong, or the model's key is missing.
    """
    folders = [config_folder(folder, 'agents') for folder in options.config_dirs]
    preset = load_preset(options.model_preset, folders)
    if preset.id != options.agent_name:
        raise OceanGymError(
            f'{options.model_preset}: id {preset.id!r} must be the name of the file: '
            f'{options.agent_name!r}'
        )
    prompt = load_prompt(options.prompt, options.config_dirs)
    experience = _experience(options)
    budget = Budget(
        max_cost=options.max_cost,
        max_tokens=options.max_tokens,
        max_wall_s=options.max_wall,
        max_decisions=options.max_decisions,
    )
    trace = TraceWriter(directory, clock=lambda: datetime.now(timezone.utc))
    model = make_model(
        preset,
        base_url=options.base_url,
        call_timeout_s=options.call_timeout,
        max_retries=options.max_retries,
        budget=budget,
    )
    return ModelParts(
        options=options,
        model=_resumed(model, resume_from, budget),
        budget=budget,
        prompt=prompt,
        settings=prompt_settings(options, preset),
        experience=experience,
        trace=trace,
        close=model.close,
    )


def _resumed(model: OpenAIModel, directory: Path | None, budget: Budget) -> ChatModel:
    """Return the model, with the replies of an interrupted run before it where there are any."""
    if directory is None or not (directory / TRACE_FILE).is_file():
        return model
    try:
        steps = read_trace(directory)
    except OceanGymError as error:
        _LOG.warning('%s; the model is asked anew', error)
        return model
    return RecordedModel(model, steps, name=model.preset.model, budget=budget)


def prompt_settings(options: RunOptions, preset: ModelPreset) -> PromptSettings:
    """Return how prompts of a run are put together for a model."""
    style = ReplyStyle(options.reply)
    return PromptSettings(
        reply_instructions=format_instructions(style, options.actions),
        style=style,
        actions=options.actions,
        schema=reply_schema(options.actions) if style is ReplyStyle.JSON else None,
        loop=Loop(options.loop),
        sonar=SonarInput(options.sonar),
        image_size=options.image_size or preset.image_size,
        image_format=preset.image_format,
        max_images=preset.max_images,
        memory_tokens=options.memory_tokens,
        memory_images=options.memory_images,
        coverage=CoverageInput(options.coverage),
        detector=options.detector,
        planner=options.planner,
    )


def _experience(options: RunOptions) -> Experience | None:
    if not options.memory_sources:
        return None
    return load_experience(
        options.memory_sources,
        strip=options.memory_strip,
        shift=shift_for(options.frame, options.resolved_frame_seed),
        world_seed=options.world_seed,
        task_id=TaskRegistry.load(options.config_dirs).get(options.task).id,
    )


def description_of(parsed: ParsedReply) -> str:
    """Return what a reply says about the surroundings and why, as memories and records hold it."""
    seen = [f'{side.capitalize()}: {text}' for side, text in parsed.environment.items() if text]
    if parsed.special_objects:
        seen.append(f'Special objects: {", ".join(parsed.special_objects)}')
    if parsed.reason:
        seen.append(f'Reason: {parsed.reason}')
    return recordable(' | '.join(seen))


def recordable(text: str, limit: int = RAW_REPLY_CHARACTERS) -> str:
    """Return a text as messages can carry it: no NUL, no half of a surrogate pair, not endless."""
    text = utf8_text(text.replace('\0', '\ufffd'))
    if len(text) <= limit:
        return text
    return f'{text[:limit]}\n[{len(text)} characters; whole in trace.jsonl]'
