"""Make the CMake files in the ROS wheels find this machine's Python.

The wheels were built in a container, and about a hundred of their exported CMake files name that
container's Python by absolute path. Every such path is replaced by the one of the virtual environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
import os
from pathlib import Path
import re

_BUILDER_PYTHON = re.compile(r'/opt/python/cp3\d+-cp3\d+[a-z]?(?P<rest>[^;"\s\)]*)')
_NUMPY_INCLUDE = re.compile(r'/lib/python3\.\d+/site-packages/(?P<tail>.+)')
_INCLUDE = re.compile(r'/include/python3\.\d+(?P<tail>.*)')


def build_files(venv: Path) -> Iterator[Path]:
    """Yield the files that wheels may have brought into ``venv`` with the builder's paths in them."""
    for folder in ('share', 'lib/cmake'):
        for directory, _, names in os.walk(venv / folder):
            yield from (Path(directory, name) for name in sorted(names) if name.endswith('.cmake'))
    yield from sorted((venv / 'share/ament_index/resource_index/parent_prefix_path').glob('*'))


def patch_text(text: str, *, include: Path, site_packages: Path, prefix: Path) -> str:
    """Replace the builder's Python paths.

    Args:
        text: content of a CMake file.
        include: directory that holds ``Python.h``.
        site_packages: the virtual environment's site-packages.
        prefix: the virtual environment.

    Returns:
        The text with paths of this machine; unchanged where there was nothing to replace, so a
        second pass does nothing.
    """

    def here(match: re.Match[str]) -> str:
        rest = match['rest']
        in_site = _NUMPY_INCLUDE.fullmatch(rest)
        if in_site:
            return str(site_packages / in_site['tail'])
        in_include = _INCLUDE.fullmatch(rest)
        if in_include:
            return f'{include}{in_include["tail"]}'
        return f'{prefix}{rest}'

    return _BUILDER_PYTHON.sub(here, text)


def patch_tree(venv: Path, *, include: Path, site_packages: Path) -> int:
    """Patch every such file below ``venv`` in place and return how many were changed."""
    changed = 0
    for path in build_files(venv):
        text = path.read_text(encoding='utf-8', errors='surrogateescape')
        patched = patch_text(text, include=include, site_packages=site_packages, prefix=venv)
        if patched == text:
            continue
        partial = path.with_name(f'.{path.name}.oceangym')
        partial.write_text(patched, encoding='utf-8', errors='surrogateescape')
        partial.replace(path)
        changed += 1
    return changed


def leftovers(venv: Path) -> Mapping[Path, str]:
    """Return the files that still name the builder's Python, with the first such path."""
    found = {}
    for path in build_files(venv):
        match = _BUILDER_PYTHON.search(path.read_text(encoding='utf-8', errors='replace'))
        if match:
            found[path] = match[0]
    return found
