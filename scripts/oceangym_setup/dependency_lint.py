"""Check who imports whom: the packages' one-way dependencies, and ROS only where nodes are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
import sys
from xml.etree import ElementTree

_BELOW_BENCH = ('oceangym_core', 'oceangym_sim', 'oceangym_tasks', 'oceangym_agent')
MAY_IMPORT: dict[str, frozenset[str]] = {
    'oceangym_core': frozenset(),
    'oceangym_worlds': frozenset({'oceangym_core'}),
    'oceangym_sim': frozenset({'oceangym_core'}),
    'oceangym_gazebo': frozenset({'oceangym_core', 'oceangym_sim'}),
    'oceangym_tasks': frozenset({'oceangym_core'}),
    'oceangym_agent': frozenset({'oceangym_core'}),
    'oceangym_vehicle': frozenset({'oceangym_core'}),
    # Held-out layouts of a benchmark file are generated where its episodes are flown.
    'oceangym_bench': frozenset({*_BELOW_BENCH, 'oceangym_worlds'}),
    'oceangym': frozenset(
        {*_BELOW_BENCH, 'oceangym_worlds', 'oceangym_gazebo', 'oceangym_vehicle', 'oceangym_bench'}
    ),
}
"""Our packages and the ones of ours that each may import."""

ROS_FOLDERS = frozenset({'nodes', 'test_ros', 'launch'})
"""Folders of a package whose files may import ROS."""
OPTIONAL = frozenset({'marine_acoustic_msgs', 'cv_bridge'})
"""ROS packages that are used where they are installed, so no manifest requires them."""
_ROS_MODULES = frozenset({'rclpy', 'launch', 'launch_ros', 'launch_testing', 'rosidl_runtime_py'})
_ROS_SUFFIXES = ('_msgs', '_interfaces')
_ROS_PREFIXES = ('ament_', 'tf2_', 'rosbag2_', 'rcl_')


@dataclass(frozen=True, kw_only=True)
class Violation:
    """One import that should not be there."""

    path: Path
    line: int
    message: str

    def __str__(self) -> str:
        return f'{self.path}:{self.line}: {self.message}'


def is_ros(module: str) -> bool:
    """Tell whether a top-level module comes with ROS."""
    return (
        module in _ROS_MODULES
        or module.endswith(_ROS_SUFFIXES)
        or module.startswith(_ROS_PREFIXES)
    )


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and full name of every absolute import, those inside functions included."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.lineno, node.module
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ('import_module', 'importorskip')
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
        ):
            yield node.lineno, node.args[0].value


def declared(manifest: Path, *, for_tests: bool) -> frozenset[str]:
    """Return the packages that a manifest lets its code use."""
    tags = {'depend', 'exec_depend'} | ({'test_depend'} if for_tests else set())
    root = ElementTree.parse(manifest).getroot()
    return frozenset((element.text or '').strip() for element in root if element.tag in tags)


def check_declared(
    path: Path, package: str, manifest: Path, *, for_tests: bool
) -> Iterator[Violation]:
    """Check that what a file imports of ours and of ROS stands in its package's manifest."""
    known = declared(manifest, for_tests=for_tests) | {package} | OPTIONAL
    for line, name in imports(path.read_text(encoding='utf-8')):
        top = name.split('.')[0]
        if (is_ros(top) or top in MAY_IMPORT) and top not in known:
            yield Violation(path=path, line=line, message=f'{top} is not declared in {manifest}')


def check_file(path: Path, package: str, folders: tuple[str, ...]) -> Iterator[Violation]:
    """Check one file.

    Args:
        path: the file.
        package: the ROS package it belongs to.
        folders: the directories between the package's root and the file.
    """
    allowed = MAY_IMPORT[package]
    is_test = bool(folders) and folders[0] in ('test', 'test_ros')
    for line, name in imports(path.read_text(encoding='utf-8')):
        top = name.split('.')[0]
        if is_ros(top) and not ROS_FOLDERS & set(folders):
            yield Violation(
                path=path,
                line=line,
                message=f'{name} is ROS; only {", ".join(sorted(ROS_FOLDERS))} may import it',
            )
        elif top in MAY_IMPORT and top != package and top not in allowed and not is_test:
            known = ', '.join(sorted(allowed)) or 'none of ours'
            yield Violation(
                path=path, line=line, message=f'{package} must not know {top}; it may know {known}'
            )


def check_manifest(path: Path, package: str) -> Iterator[Violation]:
    """Check that package.xml declares no dependency that the imports may not have."""
    tags = {'depend', 'build_depend', 'build_export_depend', 'exec_depend'}
    for element in ElementTree.parse(path).getroot():
        name = (element.text or '').strip()
        if element.tag in tags and name in MAY_IMPORT and name not in MAY_IMPORT[package]:
            yield Violation(path=path, line=1, message=f'{package} must not depend on {name}')


def check(root: Path) -> list[Violation]:
    """Check every Python file and manifest under ``root/src``."""
    found: list[Violation] = []
    for package in MAY_IMPORT:
        home = root / 'src' / package
        if (home / 'package.xml').is_file():
            found += check_manifest(home / 'package.xml', package)
        for path in sorted(home.rglob('*.py')):
            folders = path.relative_to(home).parts[:-1]
            found += check_file(path, package, folders)
            if (home / 'package.xml').is_file():
                for_tests = folders[:1] in (('test',), ('test_ros',))
                found += check_declared(path, package, home / 'package.xml', for_tests=for_tests)
    return found


def cycles() -> list[str]:
    """Return the packages that would, by ``MAY_IMPORT``, come to know themselves."""
    bad = []
    for package in MAY_IMPORT:
        seen: set[str] = set()
        waiting = list(MAY_IMPORT[package])
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += MAY_IMPORT[name]
        if package in seen:
            bad.append(package)
    return bad


def main() -> int:
    """Print the violations of this checkout and return 1 where there are any."""
    found = check(Path(__file__).resolve().parents[2])
    for violation in found:
        print(violation)
    return 1 if found else 0


if __name__ == '__main__':
    sys.exit(main())
