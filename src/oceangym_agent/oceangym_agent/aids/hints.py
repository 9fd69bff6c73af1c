"""Aids for a model: what a simple detector finds and where a lawn-mower search would go next.

They use what the agent perceives and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
import math

import numpy as np

from oceangym_agent.aids.detector import colour_anomaly, nearest_return, sonar_contacts
from oceangym_agent.aids.sonar_text import bearing_text
from oceangym_agent.memory.coverage import CoverageMap
from oceangym_agent.memory.lawn_mower import next_leg
from oceangym_agent.memory.window import command_text, vector_text
from oceangym_agent.replies.reply import ReplyStyle
from oceangym_agent.steering import steer
from oceangym_core.contract.actions import Action, DIRECTIONS, sonar_orientation
from oceangym_core.contract.observation import Observation
from oceangym_core.geometry import Array, Pose, rotation_matrix

STAND_OFF_M = 10.0
# Least share of an image out of the water's colour that is worth a word.
COLOUR_SHARE = 0.05
CONTACTS_PER_SONAR = 2
# A miss that is good enough at the end of a leg [m].
TOLERANCE_M = 3.0
# Room kept below the surface [m].
SURFACE_ROOM_M = 3.0
FORWARD_SECTOR_RAD = math.radians(20.0)
# Heights above the bottom [m]: below the first the vehicle climbs, above the second it descends,
# to the third.
ALTITUDE_BAND_M = (5.0, 15.0)
CRUISE_ALTITUDE_M = 10.0


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """What the planner would do next: a command, its magnitude [m or deg] and the reason."""

    action: Action
    magnitude: float
    reason: str

    def in_words(self, style: ReplyStyle = ReplyStyle.JSON) -> str:
        """Return the suggestion, its command as the style words it."""
        return f'{command_text(self.action, self.magnitude, style)}: {self.reason}'


def sonar_place(pose: Pose, direction: str, distance: float, azimuth: float) -> Array:
    """Return the place (3,) in odom of a return, taken to lie in the sonar's middle plane.

    Args:
        pose: base_link in odom.
        direction: Of the sonar.
        distance: Range [m].
        azimuth: In the sonar's frame [rad, + to port].
    """
    beam = np.array([0.0, -math.sin(azimuth), math.cos(azimuth)]) * distance
    return pose.apply(rotation_matrix(sonar_orientation(direction)) @ beam)


def detector_text(observation: Observation) -> str:
    """Return what the colour and the sonar detector find, a line a direction."""
    lines: list[str] = []
    for direction in DIRECTIONS:
        found: list[str] = []
        image = observation.cameras.get(direction)
        # Looking up, the surface itself is out of the water's colour.
        if image is not None and direction != 'up':
            share = colour_anomaly(image)
            if share >= COLOUR_SHARE:
                found.append(f'{100 * share:.0f} % of the image is not water-coloured')
        ping = observation.sonars.get(direction)
        if ping is not None:
            for contact in sonar_contacts(ping, observation.sonar_geometry[direction])[
                :CONTACTS_PER_SONAR
            ]:
                place = sonar_place(
                    observation.navigation.pose, direction, contact.range, contact.azimuth
                )
                found.append(
                    f'compact sonar contact, {bearing_text(direction, contact.azimuth)}, range '
                    f'{contact.range:.1f} m, {contact.extent:.1f} m across, about at '
                    f'{vector_text([float(v) for v in place])}'
                )
        if found:
            lines.append(f'- {direction}: {"; ".join(found)}')
    return '\n'.join(lines) or 'nothing out of the ordinary'


def suggest(
    observation: Observation, coverage: CoverageMap, *, z_min: float, z_max: float, reach: float
) -> Suggestion:
    """Return the next maneuver of a lawn-mower search over what was not seen yet.

    The stand-off comes first, then a height from which the bottom is seen.

    Args:
        observation: The present one.
        coverage: What was seen so far.
        z_min: Lower limit of the operating volume in odom [m].
        z_max: Upper limit [m].
        reach: Longest translation of one maneuver [m].
    """
    navigation = observation.navigation
    vertical = _vertical(observation, z_min=z_min, z_max=z_max, reach=reach)
    if vertical is not None:
        return vertical
    leg = next_leg(coverage, navigation.pose.position, navigation.pose.yaw)
    if leg is None:
        return Suggestion(action=Action.HOLD, magnitude=0.0, reason='the whole area was seen')
    move = steer(
        navigation.pose,
        (*leg.end, navigation.pose.position[2]),
        tolerance=TOLERANCE_M,
        reach=reach,
    )
    if move is None:
        return Suggestion(action=Action.HOLD, magnitude=0.0, reason='at the end of a leg')
    distance = math.dist(leg.end, navigation.pose.position[:2])
    what = 'follow the lane to its end' if leg.along_lane else 'go where an unseen lane begins'
    x, y = (f'{round(v) + 0.0:.0f}' for v in leg.end)
    return Suggestion(
        action=move[0],
        magnitude=round(move[1], 1),
        reason=f'{what}, {distance:.0f} m away at x {x}, y {y}',
    )


def _vertical(
    observation: Observation, *, z_min: float, z_max: float, reach: float
) -> Suggestion | None:
    """Return a climb from what is too near, or a descent to where the bottom is seen."""
    navigation = observation.navigation
    altitude, z = navigation.altitude, navigation.pose.position[2]
    room = min(z_max, 0.0) - z - SURFACE_ROOM_M
    ahead = math.inf
    if 'front' in observation.sonars:
        ahead = nearest_return(
            observation.sonars['front'],
            observation.sonar_geometry['front'],
            sector=FORWARD_SECTOR_RAD,
        )
    low, high = ALTITUDE_BAND_M
    climb, reason = 0.0, ''
    if ahead < STAND_OFF_M:
        climb, reason = STAND_OFF_M, f'something is {ahead:.1f} m ahead'
    elif altitude < low:
        climb, reason = CRUISE_ALTITUDE_M - altitude, f'only {altitude:.1f} m above the bottom'
    climb = min(climb, room, reach)
    if climb > 1.0:
        return Suggestion(action=Action.UP, magnitude=round(climb, 1), reason=reason)
    if altitude > high:
        descent = min(altitude - CRUISE_ALTITUDE_M, z - z_min - CRUISE_ALTITUDE_M, reach)
        where = 'out of sight' if math.isinf(altitude) else f'{altitude:.0f} m below'
        if descent > 1.0:
            return Suggestion(
                action=Action.DOWN, magnitude=round(descent, 1), reason=f'the bottom is {where}'
            )
    return None
