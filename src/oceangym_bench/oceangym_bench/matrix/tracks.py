"""The tracks of the benchmark: which aids an agent had. Each has a table of its own."""

from __future__ import annotations

from enum import Enum

from oceangym_core.errors import unknown_name


class Track(str, Enum):
    """What an agent was given to perceive with; NONE for agents without a model."""

    V = 'V'
    VS = 'VS'
    AIDED = 'AIDED'
    NONE = 'none'

    @property
    def description(self) -> str:
        """What it means, for headings."""
        return _DESCRIPTIONS[self]

    @classmethod
    def named(cls, name: str) -> Track:
        """Return the track of a name.

        Raises:
            OceanGymError: There is none.
        """
        try:
            return cls(name)
        except ValueError:
            raise unknown_name('track', name, [track.value for track in cls]) from None


_DESCRIPTIONS = {
    Track.V: 'track V: RGB',
    Track.VS: 'track VS: RGB and sonar fan images',
    Track.AIDED: 'track AIDED: RGB, described sonar, coverage map, detector or planner',
    Track.NONE: 'agents without a model',
}
