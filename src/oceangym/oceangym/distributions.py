"""Check of the Python packages that pip brings, which rosdep and apt do not."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
import re

from oceangym_core.assets import assets_root
from oceangym_core.errors import OceanGymError

# Modules whose distribution has another name; Ubuntu packages some without any distribution.
_MODULES = {
    'json-repair': 'json_repair',
    'opencv-python-headless': 'cv2',
    'pillow': 'PIL',
    'pyyaml': 'yaml',
}
_REQUIREMENT = re.compile(r'^([A-Za-z0-9_.-]+)(?:>=(\d+))?$')


def check_distributions(requirements: Path | None = None) -> None:
    """Check that what the nodes import is installed, before an import fails half-way.

    Args:
        requirements: Folder of the requirement files; the installed one when None.

    Raises:
        OceanGymError: With everything that is missing and the one command that installs it.
    """
    folder = assets_root() / 'requirements' if requirements is None else requirements
    required = folder / 'runtime.in'
    if not required.is_file():
        # OCEANGYM_ROOT names a tree of someone's own: only worlds, models and config.
        return
    missing = list(missing_distributions(required.read_text(encoding='utf-8')))
    if missing:
        raise OceanGymError(
            f'Python packages are missing: {", ".join(missing)}. Install them with: '
            'python3 -m pip install --break-system-packages -r '
            f'"{folder / "lock-native.txt"}"'
        )


def missing_distributions(text: str) -> Iterable[str]:
    """Yield the requirements of a file, one ``name`` or ``name>=MAJOR`` a line, that are not met."""
    for line in text.splitlines():
        found = _REQUIREMENT.match(line.strip())
        if found is None:
            continue
        name, major = found.groups()
        try:
            version = metadata.version(name)
        except metadata.PackageNotFoundError:
            if find_spec(_MODULES.get(name, name)) is None:
                yield line.strip()
            continue
        if major and int(version.split('.')[0]) < int(major):
            yield f'{line.strip()} (installed: {version})'
