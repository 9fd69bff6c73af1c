"""Advice to a model in numbers: altitude, steps, lanes and stand-off that water and sensors allow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math

from oceangym_agent.agent import GoalView
from oceangym_core.contract.observation import SonarSpec

# Distance to rocks and structures that scoring counts as too near [m].
STAND_OFF_M = 10.0
# Sight that is assumed where the goal does not give one [m].
USUAL_SIGHT_M = 30.0
# Highest altitude of a search, share of the sight from which the bottom is plain, and least altitudes.
HIGHEST_M = 15.0
PLAIN_SHARE = 0.75
LOWEST_M, FLOOR_M = 2.5, 5.0
# Distance of lanes over the sight: a thing between two of them is passed at three quarters of it.
LANE_SHARE = 1.5
APPROACH_M = 12.0


@dataclass(frozen=True, kw_only=True)
class Guidance:
    """What a prompt advises; lengths in metres.

    Attributes:
        stand_off_m: To keep from rocks and structures.
        sight_m: How far cameras show a large thing.
        look_m: How far the sensors show whether the way is free.
        altitude_low_m, altitude_high_m: Between which to search.
        floor_m: Altitude below which to go up first.
        step_m: Longest move whose way the sensors show.
        lanes_m: Distance of search lanes.
        approach_m: From where to look at a thing to be sure what it is.
    """

    stand_off_m: int
    sight_m: int
    look_m: int
    altitude_low_m: int
    altitude_high_m: int
    floor_m: int
    step_m: int
    lanes_m: int
    approach_m: int


def guidance(goal: GoalView, sonars: Mapping[str, SonarSpec], *, reach_m: float) -> Guidance:
    """Return the advice for a goal.

    The bottom must be plain in the down camera at the highest altitude advised; where cameras see less
    than the stand-off and a forward sonar is shown, it must be within that sonar's fan too, whose lower
    edge meets the bottom at altitude / tan(half of its height).

    Args:
        goal: With the sight in its water.
        sonars: Those that the model is shown, by direction; empty for none.
        reach_m: Of one maneuver.
    """
    sight = goal.sight_m or USUAL_SIGHT_M
    front = sonars.get('front')
    look = sight if front is None else max(sight, front.range_max)
    high = min(HIGHEST_M, PLAIN_SHARE * sight)
    if front is not None and sight < 2.0 * STAND_OFF_M:
        high = min(high, front.range_max * math.tan(front.elevation_aperture / 2.0))
    # In the murkiest water the band is a metre high, and the vehicle creeps.
    high = max(high, LOWEST_M)
    low = max(min(8.0, high / 2.0), min(LOWEST_M, high - 1.0))
    return Guidance(
        stand_off_m=round(STAND_OFF_M),
        sight_m=max(round(sight), 1),
        look_m=max(round(look), 1),
        altitude_low_m=math.ceil(low),
        altitude_high_m=max(math.floor(high), math.ceil(low) + 1),
        floor_m=max(math.ceil(min(FLOOR_M, low - 1.0)), 1),
        step_m=max(math.floor(min(reach_m, PLAIN_SHARE * look)), 1),
        lanes_m=max(round(LANE_SHARE * min(sight, USUAL_SIGHT_M)), 2),
        approach_m=max(round(min(APPROACH_M, PLAIN_SHARE * sight)), 1),
    )
