"""How a matrix goes on, on stderr: a bar on a terminal, a line a run elsewhere."""

from __future__ import annotations

from types import TracebackType

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from oceangym_bench.execution.jobs import JobResult


class ProgressWatcher:
    """Shows what is running, done and failed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            TextColumn('{task.description}'),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._bar = self._progress.add_task('runs', total=None)
        self._running: dict[str, None] = {}
        self._count = self._total = self._failed = 0

    def __enter__(self) -> ProgressWatcher:
        """Begin to show."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave the terminal as it was."""
        self._progress.stop()

    def say(self, message: str) -> None:
        """Print a message."""
        self._console.print(message, markup=False, highlight=False)

    def begin(self, total: int, done: int) -> None:
        """Show how much there is to do."""
        self._count, self._total = done, total
        self._progress.update(self._bar, total=total, completed=done)
        if done:
            self.say(f'{done} of {total} runs are there already')

    def started(self, cell_id: str) -> None:
        """Show a run that has begun."""
        self._running[cell_id] = None
        self._show()

    def finished(self, result: JobResult) -> None:
        """Show a run that is over."""
        self._running.pop(result.cell_id, None)
        self._count += 1
        self._failed += bool(result.error)
        self._progress.update(self._bar, advance=1)
        self._show()
        if result.error:
            self.say(f'{result.cell_id} failed: {result.error}')
        elif not self._console.is_terminal:
            self.say(f'[{self._count}/{self._total}] {result.cell_id} {result.wall_s:.1f} s')

    def _show(self) -> None:
        failed = f', {self._failed} failed' if self._failed else ''
        names = ' '.join(list(self._running)[:2])
        more = f' +{len(self._running) - 2}' if len(self._running) > 2 else ''
        self._progress.update(self._bar, description=f'{names}{more}{failed}' or 'runs')
