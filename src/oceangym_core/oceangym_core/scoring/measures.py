"""What single tasks measure besides the scores: pipe seen, quality of a docking."""

from __future__ import annotations

from dataclasses import dataclass
import math
import re

import numpy as np

from oceangym_core.config.sonars import DECISION_SONAR, load_sonar, SonarFile
from oceangym_core.config.tasks import Target
from oceangym_core.contract.actions import SENSOR_AXES
from oceangym_core.contract.observation import CameraSpec
from oceangym_core.geometry import Array
from oceangym_core.record.episode import Episode, resolved
from oceangym_core.record.schema import RecordedSighting, Step
from oceangym_core.world.footprint import OrientedBox

_SAMPLE_M = 0.5
# A pipe's own sections are this much longer than wide; flanges and valves along them are not.
_ELONGATION = 3.0
# The camera range counted where the water's file gives no visibility [m].
_SUNLIT_RANGE_M = 30.0


@dataclass(frozen=True, kw_only=True)
class PipeCoverage:
    """Pipe seen of the stretches that are targets [m]."""

    seen: float
    total: float


def pipe_coverage(episode: Episode) -> PipeCoverage:
    """Return how much of the pipe was seen.

    The pipe's axis is sampled each half metre. A sample is seen if, in some observation, it lies in
    the field of view and range of a sensor of the agent in which its stretch was perceptible.
    """
    camera_range = episode.info.water.visibility or _SUNLIT_RANGE_M
    options = episode.info.options
    # Runs from before there was a choice carried the other setting.
    sonar = load_sonar(options.get('sonar_device', 'oceangym_perception') or DECISION_SONAR)
    tilted = options.get('sonar_mount') == 'tilted'
    tilt = load_sonar(DECISION_SONAR).front_tilt if tilted else 0.0
    seen, total = 0, 0
    for target in episode.info.targets:
        samples = _pipe_samples(target)
        hit = np.zeros(len(samples), dtype=bool)
        for step in episode.steps:
            for sighting in step.sightings:
                if sighting.anchor == target.name and resolved(sighting, episode.sensors):
                    hit |= _in_view(step, sighting, samples, camera_range, sonar, tilt)
        seen += int(hit.sum())
        total += len(samples)
    return PipeCoverage(seen=seen * _SAMPLE_M, total=total * _SAMPLE_M)


def _pipe_samples(target: Target) -> Array:
    points = [
        _axis_samples(box)
        for box in target.footprint.boxes
        if sorted(box.size)[2] >= _ELONGATION * max(sorted(box.size)[1], 1e-6)
    ]
    return np.concatenate(points) if points else np.empty((0, 3))


def _axis_samples(box: OrientedBox) -> Array:
    axis = int(np.argmax(box.size))
    length = box.size[axis]
    count = max(1, round(length / _SAMPLE_M))
    along = (np.arange(count) + 0.5) / count * length - length / 2
    samples: Array = (
        np.asarray(box.pose.position) + along[:, None] * box.pose.rotation[:, axis][None, :]
    )
    return samples


def _in_view(
    step: Step,
    sighting: RecordedSighting,
    samples: Array,
    camera_range: float,
    sonar: SonarFile,
    front_tilt: float,
) -> Array:
    nothing = np.zeros(len(samples), dtype=bool)
    direction = next((d for d in re.split(r'[/_\s]', sighting.sensor) if d in SENSOR_AXES), None)
    if step.pose is None or direction is None:
        return nothing
    forward, up = (np.asarray(axis) for axis in SENSOR_AXES[direction])
    body = step.pose.inverse().apply(samples)
    ahead, aloft, aside = body @ forward, body @ up, body @ np.cross(up, forward)
    distance = np.linalg.norm(body, axis=1)
    seen = nothing
    if sighting.pixels:
        spread = math.tan(CameraSpec.horizontal_fov / 2)
        seen = (
            (distance <= camera_range)
            & (ahead > 0)
            & (np.abs(aside) <= spread * ahead)
            & (np.abs(aloft) <= spread * ahead)
        )
    if sighting.cells:
        if direction == 'front':
            cosine, sine = math.cos(front_tilt), math.sin(front_tilt)
            ahead, aloft = cosine * ahead - sine * aloft, cosine * aloft + sine * ahead
        azimuth = np.arctan2(aside, ahead)
        elevation = np.arcsin(np.clip(aloft / np.maximum(distance, 1e-9), -1, 1))
        seen = seen | (
            (distance <= sonar.range_m[1])
            & (np.abs(np.degrees(azimuth)) <= sonar.azimuth_deg / 2)
            & (np.abs(np.degrees(elevation)) <= sonar.elevation_deg / 2)
        )
    return seen


@dataclass(frozen=True, kw_only=True)
class Docking:
    """Where the vehicle ended over the platform.

    Attributes:
        lateral: Horizontal distance from the centre of the deck [m].
        height: Of base_link above the deck [m].
        heading: From the line of the H's uprights [rad], 0..pi/2; the H looks the same from behind.
    """

    lateral: float
    height: float
    heading: float


def docking(episode: Episode) -> Docking | None:
    """Return the final position against the platform; None without truth."""
    pose = episode.steps[-1].pose
    if pose is None:
        return None
    target = episode.info.targets[0]
    deck = max(target.footprint.boxes, key=lambda box: box.size[0] * box.size[1])
    top = max(_top(box) for box in target.footprint.boxes)
    x, y, z = pose.position
    # The platform model's H stands upright along its y axis.
    turned = abs(math.remainder(pose.yaw - deck.pose.yaw - math.pi / 2, math.pi))
    return Docking(
        lateral=math.hypot(x - target.point[0], y - target.point[1]),
        height=z - top,
        heading=turned,
    )


def _top(box: OrientedBox) -> float:
    half = np.asarray(box.size) / 2
    return float(box.pose.position[2] + np.abs(box.pose.rotation[2]) @ half)
