"""Which sensors an agent is given: what of a target it could perceive is asked of these alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oceangym_core.config.options import MODEL_AGENTS

ALL_SENSORS = frozenset({'camera', 'sonar'})
# Agents that are given sonar only where their options say so.
_BY_OPTION = (*MODEL_AGENTS, 'perfect_eyes')


def track_sensors(options: Mapping[str, Any]) -> frozenset[str]:
    """Return the kinds of sensors, ``camera`` and ``sonar``, that an agent is given.

    A model is shown the cameras, and the sonars as fan, as text or through the detector: track V
    has cameras only. `perfect_eyes` follows the same option. Every other agent has all sensors.

    Args:
        options: Of the run, as recorded; what is missing has its default.
    """
    if options.get('agent') not in _BY_OPTION:
        return ALL_SENSORS
    heard = options.get('sonar', 'none') != 'none' or bool(options.get('detector', False))
    return ALL_SENSORS if heard else frozenset({'camera'})
