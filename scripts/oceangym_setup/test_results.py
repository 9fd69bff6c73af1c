"""What the packages' tests have left behind, counted and summed up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from oceangym_setup.workspace import Workspace

_PATTERN = '*/test_results/*/*.xunit.xml'


@dataclass(frozen=True, kw_only=True)
class Result:
    """One set of tests of one package.

    Attributes:
        package, name: Whose tests, and which: unit or ros.
        tests, skipped: How many.
        seconds: What they took.
        failed: Names of those that failed.
    """

    package: str
    name: str
    tests: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failed: Sequence[str] = field(default=())


def files(workspace: Workspace) -> list[Path]:
    """Return the result files that are there."""
    return sorted(workspace.build.glob(_PATTERN))


def forget(workspace: Workspace) -> None:
    """Remove the results of earlier runs, so that none is taken for a new one."""
    for path in files(workspace):
        path.unlink()


def read(path: Path) -> Result:
    """Read one result file; one that cannot be read is a failure."""
    package, name = path.parent.name, path.name.removesuffix('.xunit.xml')
    try:
        cases = list(ElementTree.parse(path).getroot().iter('testcase'))
    except (OSError, ElementTree.ParseError) as error:
        return Result(package=package, name=name, tests=1, failed=(f'{path}: {error}',))
    failed = [
        f'{case.get("classname", "")}::{case.get("name", "")}'
        for case in cases
        if case.find('failure') is not None or case.find('error') is not None
    ]
    return Result(
        package=package,
        name=name,
        tests=len(cases),
        skipped=sum(case.find('skipped') is not None for case in cases),
        seconds=sum(float(case.get('time') or 0.0) for case in cases),
        failed=tuple(failed),
    )


def summary(results: Iterable[Result]) -> str:
    """Lay the results out as a table, with the names of the tests that failed beneath it."""
    results = list(results)
    rows = [
        (f'{r.package} {r.name}', r.tests, len(r.failed), r.skipped, r.seconds) for r in results
    ]
    total = (
        'all',
        sum(r.tests for r in results),
        sum(len(r.failed) for r in results),
        sum(r.skipped for r in results),
        sum(r.seconds for r in results),
    )
    lines = [f'{"":<24} {"tests":>6} {"failed":>6} {"skipped":>7} {"time":>7}']
    lines += [
        f'{name:<24} {tests:>6} {failed:>6} {skipped:>7} {seconds:>5.0f} s'
        for name, tests, failed, skipped, seconds in [*rows, total]
    ]
    lines += [f'failed: {name}' for r in results for name in r.failed]
    return '\n'.join(lines)
