"""Sonar images as ``marine_acoustic_msgs/ProjectedSonarImage``, where that package is installed."""

from __future__ import annotations

from typing import Any

import numpy as np

from oceangym_core.contract.observation import SonarPing, SonarSpec
from oceangym_core.nodes.conversions import header_of, vector_message
from oceangym_sim.nodes.conversions import sonar_frame
from oceangym_sim.sonar.presets import preset

try:
    from marine_acoustic_msgs.msg import PingInfo, ProjectedSonarImage, SonarImageData
except ImportError:
    ProjectedSonarImage = None

# The intensity 1.0 in counts.
FULL_SCALE = np.float64(2**32 - 1)

AVAILABLE = ProjectedSonarImage is not None


def projected_topic(direction: str) -> str:
    """Return the name of a sonar's topic."""
    return f'sonar/{direction}/projected'


def projected_message(ping: SonarPing, sonar: SonarSpec, *, stamp: float) -> Any:
    """Return a ping; beams lie in the frame's y-z plane, data are by range, then by beam.

    Args:
        ping: What was heard.
        sonar: Its geometry.
        stamp: Time of transmission [s].
    """
    centres = sonar.range_min + (np.arange(sonar.range_bins) + 0.5) * sonar.range_resolution
    beam_width = preset(sonar.preset).beam_width
    return ProjectedSonarImage(
        header=header_of(stamp, sonar_frame(sonar.direction)),
        ping_info=PingInfo(
            frequency=sonar.frequency,
            sound_speed=sonar.sound_speed,
            tx_beamwidths=[sonar.elevation_aperture] * sonar.beams,
            rx_beamwidths=[beam_width] * sonar.beams,
        ),
        beam_directions=[
            vector_message((0.0, -np.sin(azimuth), np.cos(azimuth))) for azimuth in sonar.azimuths
        ],
        ranges=centres.tolist(),
        image=SonarImageData(
            is_bigendian=False,
            # The common viewers draw whole numbers only; 32 bits keep the dynamic range.
            dtype=SonarImageData.DTYPE_UINT32,
            beam_count=sonar.beams,
            data=np.rint(np.clip(ping.polar, 0.0, 1.0) * FULL_SCALE).astype('<u4').tobytes(),
        ),
    )
