"""Sonar presets: apertures, range, gain and noise of settings and named devices, as YAML files."""

from __future__ import annotations

from functools import lru_cache
import math
from typing import Annotated, Literal

from pydantic import Field

from oceangym_core.assets import config_path
from oceangym_core.config.tasks import Name, Text
from oceangym_core.errors import OceanGymError, unknown_name
from oceangym_core.files import read_schema, Schema

_Angle = Annotated[float, Field(gt=0, le=360)]
_Metre = Annotated[float, Field(ge=0, le=1000)]
_Decibel = Annotated[float, Field(ge=-200, le=100)]
_Sigma = Annotated[float, Field(ge=0, le=1)]

# What the vehicle of the benchmark carries.
DECISION_SONAR = 'oceangym_decision'


class HoloOceanSettings(Schema):
    """Noise settings under HoloOcean's names."""

    add_sigma: _Sigma
    mult_sigma: _Sigma
    range_sigma: Annotated[float, Field(ge=0, le=5)]
    azimuth_streaks: Literal[-1, 0, 1]


class SonarFile(Schema):
    """One file of config/sonars. Makers state no side lobes: 25 dB is a moderately shaded array's.

    Attributes:
        id: Name for ``sonar_device:=``.
        source: Where the figures come from.
        frequency_khz, azimuth_deg, elevation_deg, beams, range_m, range_bins: Of the device.
        beam_width_deg: Half-power width of a receiving beam in azimuth.
        side_lobe_db: First side lobe of the receiving beam below its axis.
        full_scale_db, noise_db: See `sonar_presets.SonarPreset`.
        multipath: Trace a second bounce.
        holoocean_noise: Sets noise, looks and delay in place of `noise_db`.
    """

    id: Name
    source: Text
    frequency_khz: Annotated[float, Field(ge=10, le=5000)]
    azimuth_deg: _Angle
    elevation_deg: _Angle
    beams: Annotated[int, Field(ge=2, le=4096)]
    range_m: tuple[_Metre, _Metre]
    range_bins: Annotated[int, Field(ge=2, le=8192)] = 512
    beam_width_deg: _Angle = 0.8
    side_lobe_db: _Decibel = 25.0
    full_scale_db: _Decibel = -20.0
    noise_db: _Decibel = -42.0
    multipath: bool = True
    holoocean_noise: HoloOceanSettings | None = None

    @property
    def front_tilt(self) -> float:
        """Pitch down [rad] of the forward sonar where it is tilted: half the aperture.

        Its upper edge is then level: nothing beside or below the vehicle is lost, and only open
        water above it. With a half aperture a, a level sonar at altitude H meets a thing of height
        h on the bottom beyond (H - h) / tan a, a tilted one beyond (H - h) / tan 2a: 5.7 and 2.7
        times H - h for 20 deg.
        """
        return math.radians(self.elevation_deg / 2)


@lru_cache(maxsize=1)
def sonar_files() -> dict[str, SonarFile]:
    """Return every sonar preset by name.

    Raises:
        OceanGymError: A file is wrong.
    """
    files = {}
    for path in sorted(config_path('sonars').glob('*.yaml')):
        entry = read_schema(path, SonarFile)
        if path.stem != entry.id:
            raise OceanGymError(f'{path}: id {entry.id!r} must be the name of the file')
        files[entry.id] = entry
    return files


def load_sonar(name: str) -> SonarFile:
    """Return a sonar preset by name.

    Raises:
        OceanGymError: There is none of this name.
    """
    files = sonar_files()
    if name not in files:
        raise unknown_name('sonar preset', name, files)
    return files[name]
