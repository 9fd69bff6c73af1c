"""What a launch file is as plain data: which part of the system it starts, and its arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from oceangym.prerequisites import check_episode, check_options
from oceangym.processes import given_words, Part, process_specs, ProcessSpec
from oceangym_core.config.options import Argument, parse_ros_arguments
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.record.writer import new_run_directory, run_id_for
from oceangym_worlds.world_files import world_file

# What launch itself takes on the same command line.
_LAUNCH_OWN = ('launch-prefix', 'launch-prefix-filter')


Check = Callable[[Iterable[ProcessSpec]], None]


def accept(specs: Iterable[ProcessSpec]) -> None:
    """Check nothing of the programs: for plans that are only looked at."""


@dataclass(frozen=True, kw_only=True)
class LaunchPlan:
    """What a launch does: the processes, and what a person is told before they start."""

    specs: tuple[ProcessSpec, ...]
    messages: tuple[str, ...]
    directory: Path | None = None  # where the launch keeps its files


@dataclass(frozen=True, kw_only=True)
class Launch:
    """One launch file.

    Attributes:
        name: As in ``<name>.launch.py``.
        parts: What it starts, where the arguments ask for it.
        arguments: What it takes.
        required: Arguments without a default.
        settings: Arguments that it fixes.
        keeps_files: Whether it makes a run directory.
    """

    name: str
    parts: tuple[Part, ...]
    arguments: tuple[Argument, ...]
    required: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    keeps_files: bool = False

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse names that no argument of this launch has.

        Raises:
            OceanGymError: With what was probably meant.
        """
        allowed = [argument.name for argument in self.arguments]
        for name in names:
            if name not in (*allowed, *_LAUNCH_OWN):
                raise unknown_name(f'argument of {self.name}.launch.py', name, allowed)

    def plan(self, values: Mapping[str, str], check: Check = accept) -> LaunchPlan:
        """Return what has to be started.

        Args:
            values: The texts of all arguments.
            check: Refuses programs that are not installed, before anything is made for them.

        Raises:
            OceanGymError: A value is refused, or a required argument is empty.
        """
        for name in self.required:
            if not values.get(name):
                choices = next(a.choices for a in self.arguments if a.name == name)
                raise OceanGymError(
                    f'{self.name}.launch.py needs {name}:=...; allowed: {", ".join(choices)}'
                )
        words = [f'{name}:={value}' for name, value in self.settings]
        options = parse_ros_arguments([*given_words(values), *words])
        # What is refused is refused before anything is made for it.
        check_options(options, self.parts)
        check(process_specs(options, run_directory=Path(), world=Path(), parts=self.parts))
        needs_world = set(self.parts) - {Part.RVIZ, Part.RECORDER}
        world = world_file(options) if needs_world else Path()
        check_episode(options, world, self.parts)
        directory, messages = Path(), []
        if self.keeps_files:
            run_id = run_id_for(options, datetime.now(timezone.utc))
            suffix = '' if self.name == 'task' else f'_{self.name}'
            directory = new_run_directory(Path(options.results_dir), run_id + suffix).resolve()
            messages.append(f'run {directory}')
        specs = process_specs(options, run_directory=directory, world=world, parts=self.parts)
        return LaunchPlan(
            specs=specs,
            messages=tuple(messages),
            directory=directory if self.keeps_files else None,
        )
