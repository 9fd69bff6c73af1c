"""Checks SDF files with libsdformat 12, the newest that Debian 12 has, which knows SDF 1.9.

It answers a file of version 1.11 with no error at all, so it is given copies: version 1.9, without
the elements that came later. What was taken out, our own tests check.
"""

from __future__ import annotations

from collections.abc import Iterable
import json
import os
from pathlib import Path
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

from oceangym_core.world.sdf import NAMESPACE, parse_xml

LIBRARY = 'libsdformat12.so.12'
VERSION = '1.9'

# Elements of SDF 1.10 and 1.11, and gz_frame_id, which no version describes.
LATER_ELEMENTS = frozenset(
    {'fluid_added_mass', 'camera_info_topic', 'optical_frame_id', 'gz_frame_id'}
)

_PLACES = ('/usr/lib/*-linux-gnu', '/usr/lib', '/usr/lib64', '/usr/local/lib')
# The library prints and exits as it likes: it runs in a process of its own, a line ahead of each file.
_PROGRAM = """
import ctypes, json, os, sys
library = ctypes.CDLL(sys.argv[1])
library.cmdCheck.argtypes = [ctypes.c_char_p]
for path in json.load(sys.stdin):
    for stream in (1, 2):
        os.write(stream, f'\\n@@ {path}\\n'.encode())
    code = library.cmdCheck(os.fsencode(path))
    ctypes.CDLL(None).fflush(None)
    os.write(1, f'code {code}\\n'.encode())
"""

ElementTree.register_namespace('oceangym', NAMESPACE)
ElementTree.register_namespace('gz', 'http://gazebosim.org/schema')


def find_library() -> Path | None:
    """Return libsdformat 12, or None where it is not installed."""
    found = (path for place in _PLACES for path in Path('/').glob(f'{place[1:]}/{LIBRARY}'))
    return next(found, None)


def write_checkable(source: Path, target: Path) -> Path:
    """Write a copy of a world, model or model.config that libsdformat 12 can check.

    A world's further instances of a model are left out, because the library's time grows with the
    square of their number; that their names differ is checked when a world is read.

    Args:
        source: File of version 1.11.
        target: Where the copy goes.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == '.config':
        text = source.read_text(encoding='utf-8')
        target.write_text(
            re.sub('<sdf version="[^"]*"', f'<sdf version="{VERSION}"', text), encoding='utf-8'
        )
        return target
    root = parse_xml(source)
    root.set('version', VERSION)
    _take_out(root)
    for world in root.findall('world'):
        seen: set[str] = set()
        for include in world.findall('include'):
            model = include.findtext('uri', '')
            if model in seen:
                world.remove(include)
            seen.add(model)
    ElementTree.ElementTree(root).write(target, encoding='unicode', xml_declaration=True)
    return target


def _take_out(element: ElementTree.Element) -> None:
    for child in list(element):
        if child.tag in LATER_ELEMENTS:
            element.remove(child)
        else:
            _take_out(child)


def check(paths: Iterable[Path], *, library: Path, models: Path) -> dict[Path, str]:
    """Return what libsdformat has to say about each file; nothing where it is content.

    Elements that are not in the specification count, too: the library only logs them.

    Args:
        paths: Files of version 1.9.
        library: From `find_library`.
        models: Folder in which ``model://`` is looked up.
    """
    wanted = [path.resolve() for path in paths]
    with tempfile.TemporaryDirectory(prefix='oceangym-sdf-') as home:
        done = subprocess.run(
            [sys.executable, '-c', _PROGRAM, str(library)],
            input=json.dumps([str(path) for path in wanted]),
            env={**os.environ, 'HOME': home, 'SDF_PATH': str(models), 'PYTHONPATH': ''},
            capture_output=True,
            text=True,
            errors='replace',
            check=False,
        )
        logs = [p.read_text(errors='replace') for p in Path(home).rglob('*.log')]
    said, errors = _by_file(done.stdout), _by_file(done.stderr)
    problems = {}
    for path in wanted:
        complaints = [errors.get(str(path), '').strip()]
        if 'code 0' not in said.get(str(path), ''):
            complaints.append(f'not valid {said.get(str(path), "").strip()}')
        complaints += sorted(
            {line for log in logs for line in log.splitlines() if _is_unknown(line, path)}
        )
        problems[path] = '\n'.join(filter(None, complaints))
    return problems


def _by_file(text: str) -> dict[str, str]:
    parts = re.split(r'^@@ (.+)$', text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def _is_unknown(line: str, path: Path) -> bool:
    return 'not defined in SDF' in line and f'{path}:' in line
