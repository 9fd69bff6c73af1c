"""The shipped prop models by name, and how each is built."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_worlds.modelling.model import PropModel
from oceangym_worlds.props.boulders import VARIANTS as BOULDERS
from oceangym_worlds.props.vegetation import VARIANTS as VEGETATION

# Seed of the shipped props: worlds of every seed share them.
PROP_SEED = 0

# Model name -> (module under oceangym_worlds.props, options of its build()).
CATALOGUE: Mapping[str, tuple[str, Mapping[str, Any]]] = MappingProxyType(
    {
        'mining_robot': ('mining_robot', {}),
        'oil_drums': ('oil_drums', {}),
        'sunken_ship': ('sunken_ship', {}),
        'electrical_box': ('electrical_box', {}),
        'wind_turbine': ('wind_turbine', {'water_depth': 66.0}),
        'aircraft': ('aircraft', {}),
        'landing_platform': ('landing_platform', {}),
        'container_boxes': ('container_boxes', {}),
        'tower_wreck': ('tower_wreck', {}),
        'rock_arch': ('rock_arch', {}),
        **{name: ('boulders', {'variant': name}) for name in BOULDERS},
        **{name: ('vegetation', {'variant': name}) for name in VEGETATION},
    }
)


def unknown_model(name: str) -> OceanGymError:
    """Return the error for a model that is not shipped."""
    return unknown_name('model', name, CATALOGUE, hint='A file of your own is given as "mesh".')


def build_model(name: str) -> PropModel:
    """Build a shipped prop.

    Raises:
        OceanGymError: There is none of this name.
    """
    if name not in CATALOGUE:
        raise unknown_model(name)
    module, options = CATALOGUE[name]
    prop: PropModel = import_module(f'oceangym_worlds.props.{module}').build(
        seed=PROP_SEED, **options
    )
    return prop
