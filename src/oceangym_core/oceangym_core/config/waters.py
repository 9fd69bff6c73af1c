"""Waters, environments and operating profiles: what the vehicle swims in, as YAML files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field

from oceangym_core.assets import config_path
from oceangym_core.config.tasks import config_folder, Name, Text
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_schema, Schema
from oceangym_core.paths import user_path

# Jerlov's oceanic and coastal water types, clearest first.
JERLOV_TYPES = ('I', 'IA', 'IB', 'II', 'III', '1C', '3C', '5C', '7C', '9C')


class Water(Schema):
    """One kind of water.

    Attributes:
        id: Name for ``water:=``.
        title: For people.
        briefing: A sentence for the agent about what to expect.
        depth_offset: Depth at map z = 0, added for light, pressure and absorption [m].
        jerlov: Optical water type.
        light_lux: Daylight 50 m below the surface [lux].
        lamps: Whether the vehicle's lamps are on.
        visibility: How far one sees [m], which sets the turbidity: a black object against daylight,
            with lamps on a lamp-lit one against the lamps' haze. None: as the Jerlov type is.
        sun_elevation_deg: Of the sun above the horizon [deg].
        wind: Over the surface [m/s]; roughens it.
        marine_snow: Aggregates larger than half a millimetre in a cubic metre [1/m3].
        temperature_c, salinity_psu: Of the water [deg C, PSU], for sound absorption.
    """

    id: Name
    title: Text
    briefing: Text
    depth_offset: Annotated[float, Field(ge=0, le=11000)]
    jerlov: Literal['I', 'IA', 'IB', 'II', 'III', '1C', '3C', '5C', '7C', '9C']
    light_lux: Annotated[float, Field(ge=0, le=200000)]
    lamps: bool
    visibility: Annotated[float, Field(gt=0, le=200)] | None = None
    sun_elevation_deg: Annotated[float, Field(ge=-90, le=90)] = 45.0
    wind: Annotated[float, Field(ge=0, le=30)] = 4.0
    marine_snow: Annotated[float, Field(ge=0, le=10000)] = 50.0
    temperature_c: Annotated[float, Field(ge=-2, le=40)] = 10.0
    salinity_psu: Annotated[float, Field(ge=0, le=45)] = 35.0


class Current(Schema):
    """A current that veers about its mean direction.

    Attributes:
        speed: [m/s].
        direction_deg: Where it flows to, counter-clockwise from east [deg]; None: from the seed.
        veer_deg: Amplitude of the direction's swing [deg].
        veer_period_s: Of that swing [s].
        depth_veer_deg_per_m: Turn of the direction with height [deg/m].
    """

    speed: Annotated[float, Field(ge=0, le=3)] = 0.0
    direction_deg: Annotated[float, Field(ge=-360, le=360)] | None = None
    veer_deg: Annotated[float, Field(ge=0, le=180)] = 0.0
    veer_period_s: Annotated[float, Field(gt=0, le=86400)] = 600.0
    depth_veer_deg_per_m: Annotated[float, Field(ge=-30, le=30)] = 0.0


class Environment(Water):
    """A named place and time: a water with its own current. ``water:=`` takes it like a water.

    Attributes:
        current: Replaces that of the profile; None leaves the profile's.
    """

    current: Current | None = None


class Profile(Schema):
    """How hard the run is made.

    Attributes:
        id: Name for ``profile:=``.
        title: For people.
        current: The water's motion.
        nav: Navigation estimate used unless ``nav:=`` says otherwise.
        battery_ends: Whether an empty battery ends the episode.
    """

    id: Name
    title: Text
    current: Current
    nav: Literal['truth', 'dead_reckoning']
    battery_ends: bool


EntryT = TypeVar('EntryT', Water, Environment, Profile)


def load_water(name: str, extra_dirs: Iterable[Path] = ()) -> Water:
    """Return a water or an environment by id or by the path of its YAML file.

    Raises:
        OceanGymError: There is none, or its file is wrong.
    """
    if name.endswith(('.yaml', '.yml')):
        # An environment may say all that a water may.
        return read_schema(user_path(name), Environment)
    entries = _waters(extra_dirs)
    if name not in entries:
        raise unknown_name(
            'water', name, entries, hint='One of your own is given by the path of its YAML file.'
        )
    return entries[name]


def load_profile(name: str, extra_dirs: Iterable[Path] = ()) -> Profile:
    """Return a profile by id or by the path of its YAML file.

    Raises:
        OceanGymError: There is none, or its file is wrong.
    """
    return _load('profile', 'profiles', Profile, name, extra_dirs)


def water_names(extra_dirs: Iterable[Path] = ()) -> tuple[str, ...]:
    """Return the ids of the known waters, those of the benchmark and named environments."""
    return tuple(_waters(extra_dirs))


def profile_names(extra_dirs: Iterable[Path] = ()) -> tuple[str, ...]:
    """Return the ids of the known profiles."""
    return tuple(_entries('profiles', Profile, extra_dirs))


def _waters(extra_dirs: Iterable[Path]) -> dict[str, Water]:
    extra = tuple(extra_dirs)
    waters: dict[str, Water] = dict(_entries('waters', Water, extra))
    for name, environment in _entries('environments', Environment, extra).items():
        if name in waters:
            raise OceanGymError(f'environment {name!r} has the id of a water; rename it')
        waters[name] = environment
    return waters


def _load(
    kind: str, folder: str, schema: type[EntryT], name: str, extra_dirs: Iterable[Path]
) -> EntryT:
    if name.endswith(('.yaml', '.yml')):
        return read_schema(user_path(name), schema)
    entries = _entries(folder, schema, extra_dirs)
    if name not in entries:
        raise unknown_name(
            kind, name, entries, hint='One of your own is given by the path of its YAML file.'
        )
    return entries[name]


def _entries(folder: str, schema: type[EntryT], extra_dirs: Iterable[Path]) -> dict[str, EntryT]:
    entries: dict[str, EntryT] = {}
    for directory in (config_path(folder), *(config_folder(d, folder) for d in extra_dirs)):
        # A directory of several kinds without folders of its own holds tasks only.
        if directory.name != folder:
            continue
        for path in sorted(directory.glob('*.y*ml')):
            entry = read_schema(path, schema)
            if path.stem != entry.id:
                raise OceanGymError(f'{path}: id {entry.id!r} must be the name of the file')
            entries[entry.id] = entry
    return entries
