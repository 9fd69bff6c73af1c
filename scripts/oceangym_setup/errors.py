"""The one error a user sees: what is wrong and what to do about it."""

from __future__ import annotations

from pathlib import Path


class SetupError(Exception):
    """Something the user has to put right; printed without a traceback, exit code 1."""

    def __init__(self, problem: str, remedy: str, log: Path | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        self.log = log
        super().__init__(problem)

    def __str__(self) -> str:
        lines = [f'oceangym: {self.problem}']
        lines += [f'  {line}' for line in self.remedy.splitlines()]
        if self.log is not None:
            lines.append(f'  full log: {self.log}')
        return '\n'.join(lines)
