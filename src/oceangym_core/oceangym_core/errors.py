"""Errors that a user can act on."""

from __future__ import annotations

from collections.abc import Iterable
import difflib


class OceanGymError(Exception):
    """A mistake or a missing prerequisite that a person can put right.

    Command lines print the message and exit with code 1, without a traceback. The message names
    the value, what is allowed and the remedy.
    """


def unknown_name(
    kind: str, value: object, allowed: Iterable[str], *, hint: str = ''
) -> OceanGymError:
    """Return the error for a name outside a closed set, with the closest allowed name.

    Args:
        kind: What the name stands for, e.g. ``task``.
        value: The name as given.
        allowed: Every name that would have been accepted.
        hint: A last sentence with the remedy where the list alone is not one.
    """
    names = sorted(allowed)
    folded = {name.lower().replace('-', '_'): name for name in names}
    close = difflib.get_close_matches(
        str(value).lower().replace('-', '_'), folded, n=1, cutoff=0.5
    )
    meant = f' Did you mean {folded[close[0]]!r}?' if close else ''
    tail = f' {hint}' if hint else ''
    return OceanGymError(f'unknown {kind} {value!r}.{meant} Allowed: {", ".join(names)}.{tail}')
