"""Where worlds, models and configuration lie, in a source tree or an installed workspace."""

from __future__ import annotations

from functools import lru_cache
import os
from pathlib import Path

from oceangym_core.errors import OceanGymError

ROOT_VARIABLE = 'OCEANGYM_ROOT'


@lru_cache(maxsize=1)
def assets_root() -> Path:
    """Return the directory that holds ``worlds/``, ``models/`` and ``config/``.

    Looked up in the variable OCEANGYM_ROOT, in the installed share/oceangym of a sourced ROS
    workspace, and upwards from this file (source tree).

    Raises:
        OceanGymError: None of the places has the assets.
    """
    candidates: list[Path] = []
    if os.environ.get(ROOT_VARIABLE):
        candidates.append(Path(os.environ[ROOT_VARIABLE]))
    candidates += [
        Path(prefix) / 'share' / 'oceangym'
        for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
        if prefix
    ]
    candidates += list(Path(__file__).resolve().parents)
    for candidate in candidates:
        if (candidate / 'config' / 'worlds').is_dir():
            return candidate
    raise OceanGymError(
        'cannot find the worlds/, models/ and config/ folders. '
        f'Source the workspace or set {ROOT_VARIABLE} to the project folder.'
    )


def config_path(*parts: str) -> Path:
    """Return a path under the shipped ``config/``."""
    return assets_root().joinpath('config', *parts)


def model_search_path() -> tuple[Path, ...]:
    """Return the directories in which ``model://`` URIs are looked up, nearest first."""
    extra = os.environ.get('GZ_SIM_RESOURCE_PATH', '').split(os.pathsep)
    return (*(Path(p) for p in extra if p), assets_root() / 'models')
