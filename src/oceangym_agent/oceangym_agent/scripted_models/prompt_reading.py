"""What a scripted model understands of a prompt: the lines with numbers, nothing of the images."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
import math
import re
from typing import Any

from oceangym_agent.scripted_models.completions import contents

_NUMBER = r'[-+]?\d+(?:\.\d+)?'
# The lines that every prompt shows (config/prompts/README.md).
_STEP = re.compile(r'^Step: (\d+)', re.MULTILINE)
_POSITION = re.compile(rf'^Position: \[({_NUMBER}), ({_NUMBER}), ({_NUMBER})\]', re.MULTILINE)
_HEADING = re.compile(rf'^Heading: ({_NUMBER})', re.MULTILINE)
_ALTITUDE = re.compile(rf'^Altitude: ({_NUMBER})', re.MULTILINE)
_BOUNDS = re.compile(rf'^Bounds: corners (.*), z ({_NUMBER}) to ({_NUMBER}) m', re.MULTILINE)
_CORNER = re.compile(rf'\[({_NUMBER}), ({_NUMBER})\]')
_TARGET = re.compile(r'^Target: (.+)$', re.MULTILINE)
# The detector's line on one direction, where camera and sonar agree.
_DETECTION = re.compile(
    r'(?:^|: )- (front|back|left|right|up|down): '
    r'(\d+ % of the image[^\n]*compact sonar contact[^\n]*)',
    re.MULTILINE,
)
# The label in front of a view.
_VIEW = re.compile(
    r'^(Front|Back|Left|Right|Up|Down) camera, (\d+) x (\d+) px, (\d+) deg', re.MULTILINE
)
_PLACE = re.compile(rf'about at \[({_NUMBER}), ({_NUMBER}), ({_NUMBER})\]')


@dataclass(frozen=True, kw_only=True)
class Detection:
    """A direction in which the detector's line names something; `position` in odom [m]."""

    direction: str
    position: tuple[float, float, float] | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a prompt says.

    Attributes:
        step: Decision number from 0.
        position: In odom [m], None where the prompt does not give it.
        yaw: From x counter-clockwise [rad].
        altitude: Above the seabed [m].
        corners: Of the operating area [m]; empty where the prompt gives none.
        z_range: Vertical limits [m].
        target: Name of the target.
        detection: What the detector names, None where it is off or nothing agrees.
        views: Width and height [px] and horizontal field of view [deg] of each camera view.
        markers: The prompt asks for OceanGym's markers instead of JSON.
        describe: The prompt asks for a description of the images and no command.
    """

    step: int = 0
    position: tuple[float, float, float] | None = None
    yaw: float = 0.0
    altitude: float | None = None
    corners: tuple[tuple[float, float], ...] = ()
    z_range: tuple[float, float] | None = None
    target: str = 'OBJECT'
    detection: Detection | None = None
    views: Mapping[str, tuple[int, int, float]] = field(default_factory=dict)
    markers: bool = False
    describe: bool = False

    def inside(self, x: float, y: float, z: float, *, margin: float) -> bool:
        """Return whether a point is inside the bounds and `margin` [m] away from them."""
        if self.z_range is not None and not (
            self.z_range[0] + margin <= z <= self.z_range[1] - margin
        ):
            return False
        if len(self.corners) < 3:
            return True
        return _contains(self.corners, x, y) and _distance(self.corners, x, y) >= margin


def read(body: Mapping[str, Any]) -> Reading:
    """Return what a request's prompt says; the last mention of a value counts."""
    # What the model itself said before is no part of what it is told.
    told = [m for m in body['messages'] if isinstance(m, dict) and m.get('role') != 'assistant']
    texts, _ = contents({'messages': told})
    text = '\n'.join(texts)
    position = _last(_POSITION, text)
    heading = _last(_HEADING, text)
    altitude = _last(_ALTITUDE, text)
    step = _last(_STEP, text)
    area = _last(_BOUNDS, text)
    target = _TARGET.search(text)
    schema = 'response_format' in body
    markers = '$$' in text and not schema
    return Reading(
        step=int(step.group(1)) if step is not None else 0,
        position=_vector(position) if position is not None else None,
        yaw=math.radians(float(heading.group(1))) if heading is not None else 0.0,
        altitude=float(altitude.group(1)) if altitude is not None else None,
        corners=_corners(area.group(1)) if area is not None else (),
        z_range=(float(area.group(2)), float(area.group(3))) if area is not None else None,
        target=target.group(1).strip() if target is not None else 'OBJECT',
        detection=_detection(text),
        views={
            name.lower(): (int(width), int(height), float(fov))
            for name, width, height, fov in _VIEW.findall(text)
        },
        markers=markers,
        describe=not schema and not markers and '"action"' not in text,
    )


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    matches = list(pattern.finditer(text))
    return matches[-1] if matches else None


def _vector(match: re.Match[str]) -> tuple[float, float, float]:
    return float(match.group(1)), float(match.group(2)), float(match.group(3))


def _corners(text: str) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in _CORNER.findall(text))


def _detection(text: str) -> Detection | None:
    found = _last(_DETECTION, text)
    if found is None:
        return None
    place = _PLACE.search(found.group(2))
    return Detection(
        direction=found.group(1),
        position=_vector(place) if place is not None else None,
        text=found.group(2)[:200],
    )


def _contains(corners: tuple[tuple[float, float], ...], x: float, y: float) -> bool:
    """Even-odd rule."""
    inside = False
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1]):
        if (y0 > y) != (y1 > y) and x < x0 + (y - y0) / (y1 - y0) * (x1 - x0):
            inside = not inside
    return inside


def _distance(corners: tuple[tuple[float, float], ...], x: float, y: float) -> float:
    """Return the distance to the nearest edge [m]."""
    nearest = math.inf
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1]):
        dx, dy = x1 - x0, y1 - y0
        length2 = dx * dx + dy * dy
        along = 0.0 if length2 == 0 else ((x - x0) * dx + (y - y0) * dy) / length2
        along = min(1.0, max(0.0, along))
        nearest = min(nearest, math.hypot(x - x0 - along * dx, y - y0 - along * dy))
    return nearest
