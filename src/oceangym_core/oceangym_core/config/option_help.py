"""What the command line's help and the manual say of a run's arguments."""

from __future__ import annotations

from oceangym_core.config.arguments import Argument, ARGUMENTS, Kind, MAX_SEED
from oceangym_core.config.options import model_names, prompt_names
from oceangym_core.config.starts import START_NAMES
from oceangym_core.config.tasks import TaskRegistry
from oceangym_core.config.waters import profile_names, water_names


def choices_of(argument: Argument) -> tuple[str, ...]:
    """Return the values that an argument takes, looked up where they are files."""
    if argument.choices:
        return argument.choices
    if argument.name == 'task':
        return (*TaskRegistry.load().names(), 'task1..task12', '<file>.yaml')
    if argument.name == 'water':
        return (*water_names(), '<file>.yaml')
    if argument.name == 'profile':
        return (*profile_names(), '<file>.yaml')
    if argument.name == 'start':
        return (*START_NAMES, 'x,y,z,yaw_deg')
    if argument.name == 'model':
        return (*model_names(), '<file>.yaml')
    if argument.name == 'prompt':
        return (*prompt_names(), '<directory>')
    return ()


def help_lines() -> list[str]:
    """Return one line an argument for the command line's help."""
    width = max(len(a.name) + len(a.default) for a in ARGUMENTS) + 4
    lines = []
    for argument in ARGUMENTS:
        head = f'{argument.name}:={argument.default}'.ljust(width)
        lines.append(f'  {head}{argument.description}{_values_note(argument)}')
    return lines


def _values_note(argument: Argument) -> str:
    if argument.choices and argument.kind is Kind.NAME:
        return f' [{" | ".join(argument.choices)}]'
    if argument.kind is Kind.NUMBER:
        return (
            f' [{argument.low:g} .. {argument.high:g}{f" {argument.unit}" * bool(argument.unit)}]'
        )
    return ''


def option_table() -> str:
    """Return the manual's table of arguments (Markdown)."""
    rows = ['| argument | default | values | meaning |', '|---|---|---|---|']
    for argument in ARGUMENTS:
        values = ' '.join(f'`{c}`' for c in choices_of(argument))
        if argument.kind in (Kind.INTEGER, Kind.NUMBER):
            high = 'large' if argument.high == MAX_SEED else f'{argument.high:g}'
            values = f'{argument.low:g} .. {high} {argument.unit}'.strip()
        default = f'`{argument.default}`' if argument.default else ''
        rows.append(f'| `{argument.name}` | {default} | {values} | {argument.description} |')
    return '\n'.join(rows) + '\n'
