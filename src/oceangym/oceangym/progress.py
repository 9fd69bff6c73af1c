"""What a person sees while an episode runs, read from the record as it grows."""

from __future__ import annotations

from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.text import Text

from oceangym_core.record.writer import EPISODE_FILE

# Without a terminal, every so many steps get a line.
LINE_EVERY = 10


@dataclass(frozen=True, kw_only=True)
class StepSummary:
    """One line of the record in brief: position in odom [m], time [s], what was decided last."""

    index: int
    t: float
    position: tuple[float, float, float]
    action: str
    description: str
    reports: int

    def describe(self, t_max: float) -> str:
        """Return one line of text."""
        x, y, z = self.position
        words = f'step {self.index:3d}  {self.t:6.0f} / {t_max:.0f} s  ({x:7.1f}, {y:7.1f}, {z:6.1f}) m'
        if self.action:
            words += f'  {self.action}'
        if self.description:
            words += f'  {self.description[:60]}'
        return f'{words}  [{self.reports} finds reported]' if self.reports else words


class RecordTail:
    """Follows ``episode.jsonl`` while another process writes it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / EPISODE_FILE
        self._offset = 0
        self._reports = 0
        self.latest: StepSummary | None = None

    def poll(self) -> list[StepSummary]:
        """Return the steps written since the last call."""
        try:
            with self._path.open('rb') as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return []
        complete, newline, _ = data.rpartition(b'\n')
        self._offset += len(complete) + len(newline)
        steps = [self._summary(json.loads(line)) for line in complete.splitlines()]
        fresh = [step for step in steps if step is not None]
        if fresh:
            self.latest = fresh[-1]
        return fresh

    def _summary(self, line: dict[str, Any]) -> StepSummary | None:
        self._reports += sum(1 for report in line.get('reports', ()) if report['accepted'])
        if line['kind'] == 'end':
            return None
        decision = line['decision'] or {}
        maneuver = line['maneuver']
        action = ''
        if maneuver is not None:
            unit = 'deg' if maneuver['action'].startswith('rotate') else 'm'
            action = f'{maneuver["action"]} {maneuver["applied"]:.1f} {unit}'
        x, y, z = line['estimate']['position']
        return StepSummary(
            index=line['index'],
            t=line['t'],
            position=(x, y, z),
            action=action,
            description=decision.get('description') or '',
            reports=self._reports,
        )


class ProgressView:
    """Shows the latest step: in place on a terminal, else one line every ten steps."""

    def __init__(self, directory: Path, *, t_max: float, console: Console, quiet: bool) -> None:
        """Prepare the view.

        Args:
            directory: Of the run.
            t_max: Of the episode [s].
            console: Where to write.
            quiet: Whether another program owns the terminal (teleop).
        """
        self._tail = RecordTail(directory)
        self._t_max = t_max
        self._console = console
        self._quiet = quiet
        self._live: Live | None = None
        self._shown = -1

    def __enter__(self) -> ProgressView:
        if self._console.is_terminal and not self._quiet:
            waiting = Text('starting the simulator, the task manager and the agent ...')
            self._live = Live(waiting, console=self._console, refresh_per_second=8, transient=True)
            self._live.start()
        return self

    def __exit__(self, *details: object) -> None:
        self.poll()
        if self._live is not None:
            self._live.stop()
            self._live = None
        latest = self._tail.latest
        if latest is not None and latest.index != self._shown and not self._quiet:
            self._show(latest)

    def _show(self, step: StepSummary) -> None:
        self._shown = step.index
        self._console.print(step.describe(self._t_max), markup=False, highlight=False)

    def poll(self) -> None:
        """Read what is new and show it."""
        steps = self._tail.poll()
        if not steps or self._quiet:
            return
        if self._live is not None:
            self._live.update(Text(steps[-1].describe(self._t_max)))
            return
        for step in steps:
            if step.index % LINE_EVERY == 0:
                self._show(step)
