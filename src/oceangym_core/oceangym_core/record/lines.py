"""Numbers and texts of the lines that records and traces are made of."""

from __future__ import annotations

from collections.abc import Mapping
import json
import math
from numbers import Integral
from typing import Any

import numpy as np

from oceangym_core.errors import OceanGymError
from oceangym_core.files import utf8_text

# Floats are written to a micrometre (or microradian, microsecond): below what physics tells apart,
# and stable in print.
DECIMALS = 6


def line_text(line: Mapping[str, Any]) -> str:
    """Return a line of a JSON Lines file, without its end; a lone surrogate is replaced."""
    return utf8_text(json.dumps(line, ensure_ascii=False, allow_nan=False))


def rounded(value: Any, decimals: int | None = DECIMALS) -> Any:
    """Return plain data with every float rounded (None: as it is) and every tuple a list.

    Raises:
        OceanGymError: A number is not finite, so that the record could not be scored.
    """
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {key: rounded(item, decimals) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(item, decimals) for item in value]
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        return int(value)
    number = float(value)
    if not math.isfinite(number):
        raise OceanGymError(f'{number} cannot be recorded: the simulation has diverged')
    # Adding zero turns -0.0 into 0.0, which prints the same on every platform.
    return (number if decimals is None else round(number, decimals)) + 0.0
