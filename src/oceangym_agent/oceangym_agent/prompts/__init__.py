"""What a model is told and shown."""

from oceangym_agent.prompts.builder import PromptBuilder
from oceangym_agent.prompts.prompt_files import load_prompt, prompt_names, PromptSet
from oceangym_agent.prompts.step_view import (
    CoverageInput,
    Loop,
    Outcome,
    PromptSettings,
    SonarInput,
    StepView,
)

__all__ = [
    'CoverageInput',
    'Loop',
    'Outcome',
    'PromptBuilder',
    'PromptSet',
    'PromptSettings',
    'SonarInput',
    'StepView',
    'load_prompt',
    'prompt_names',
]
