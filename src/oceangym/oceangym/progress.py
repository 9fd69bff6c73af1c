"""What a person sees while an episode runs, read from the record as it grows."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.text import Text

from oceangym_core.contract.actions import ROTATIONS
from oceangym_core.record.reader import parse_line
from oceangym_core.record.schema import EPISODE_FILE, Step

# Without a terminal, every so many steps get a line.
LINE_EVERY = 10


def describe_step(step: Step, *, t_max: float, reports: int) -> str:
    """Return a step in one line of text, with the number of finds reported so far."""
    x, y, z = step.estimate.position
    words = (
        f'step {step.index:3d}  {step.t:6.0f} / {t_max:.0f} s  ({x:7.1f}, {y:7.1f}, {z:6.1f}) m'
    )
    if step.maneuver is not None:
        action = step.maneuver.action
        unit = 'deg' if action in ROTATIONS else 'm'
        words += f'  {action.value} {step.maneuver.applied:.1f} {unit}'
    if step.decision is not None and step.decision.description:
        words += f'  {step.decision.description[:60]}'
    return f'{words}  [{reports} finds reported]' if reports else words


class RecordTail:
    """Follows ``episode.jsonl`` while another process writes it."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / EPISODE_FILE
        self._offset = 0
        self.latest: Step | None = None

    def poll(self) -> list[Step]:
        """Return the steps written since the last call."""
        try:
            with self._path.open('rb') as stream:
                stream.seek(self._offset)
                data = stream.read()
        except FileNotFoundError:
            return []
        complete, newline, _ = data.rpartition(b'\n')
        self._offset += len(complete) + len(newline)
        # Of bytes, splitlines() leaves the line separators inside texts alone.
        lines = (parse_line(text.decode(), str(self._path)) for text in complete.splitlines())
        steps = [line for line in lines if isinstance(line, Step)]
        if steps:
            self.latest = steps[-1]
        return steps


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
        self._reports = 0

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

    def _show(self, step: Step) -> None:
        self._shown = step.index
        self._console.print(self._text(step), markup=False, highlight=False)

    def _text(self, step: Step) -> str:
        return describe_step(step, t_max=self._t_max, reports=self._reports)

    def poll(self) -> None:
        """Read what is new and show it."""
        for step in self._tail.poll():
            self._reports += sum(report.accepted for report in step.reports)
            if self._live is not None:
                self._live.update(Text(self._text(step)))
            elif step.index % LINE_EVERY == 0 and not self._quiet:
                self._show(step)
