"""Paths as people type them."""

from __future__ import annotations

from pathlib import Path

from oceangym_core.errors import OceanGymError


def user_path(text: str | Path) -> Path:
    """Return a path with ``~`` and ``~user`` replaced by home directories.

    Raises:
        OceanGymError: There is no such user, the user has no home directory, or the text holds a
            null character.
    """
    path = Path(text)
    if '\0' in str(path):
        raise OceanGymError(f'path {str(path)!r} holds a null character, which no path can')
    try:
        return path.expanduser()
    except RuntimeError:
        raise OceanGymError(
            f'{path}: no home directory is known for {path.parts[0]!r}. '
            f'Give the whole path, or ./{path} for a name that begins with ~.'
        ) from None
