"""The chart of a run: what the template draws, in SVG units of one metre with y pointing south."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
import math
from typing import Any

import numpy as np

from oceangym_bench.report.pictures import BagViews, data_url
from oceangym_bench.report.run_record import mapping, RunRecord
from oceangym_bench.report.run_steps import numbered_reports, place
from oceangym_bench.report.surroundings import outlines, structures
from oceangym_bench.report.terrain import contours, relief_jpeg
from oceangym_core.contract.observation import CameraSpec, SonarSpec
from oceangym_core.geometry import Array
from oceangym_core.scoring.results import FULL_SCORE_M, NO_SCORE_M
from oceangym_core.scoring.safety import debounce
from oceangym_core.world.world import World
from oceangym_sim.safety_monitor import STAND_OFF_M

# The path's colour from start to end; bright on the seabed's blue, and told apart without hue.
_RAMP = np.array([(255, 244, 166), (255, 186, 73), (243, 100, 79), (196, 28, 122)], float)
_PIECES = 60
# A camera sees farther or less by water; its wedge on the map is a pointer, not a range [m].
_CAMERA_WEDGE_M = 22.0
_MARGIN_M = 40.0
_LEAST_SPAN_M = 160.0
_LABELLED_CONTOUR_M = 160.0


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A rectangle of the map: left, top, width, height in SVG units."""

    left: float
    top: float
    width: float
    height: float

    def __str__(self) -> str:
        return f'{self.left:.1f} {self.top:.1f} {self.width:.1f} {self.height:.1f}'


def svg(points: Iterable[Sequence[float]] | Array, *, closed: bool = False) -> str:
    """Return a path's data through map points x, y [m]."""
    words = [f'{p[0]:.1f} {-p[1] + 0.0:.1f}' for p in points]
    return f'M{"L".join(words)}{"Z" * closed}' if words else ''


def ramp(part: float) -> str:
    """Return the colour of the path at a part 0..1 of the time."""
    at = part * (len(_RAMP) - 1)
    r, g, b = (int(np.interp(at, range(len(_RAMP)), _RAMP[:, c])) for c in range(3))
    return f'#{r:02x}{g:02x}{b:02x}'


def run_map(
    record: RunRecord,
    *,
    path: Array,
    curves: Mapping[str, Any],
    world: World | None,
    bag: BagViews,
) -> dict[str, Any]:
    """Return what the template draws of a run.

    Args:
        record: The run.
        path: Rows t, x, y, z [s, m] in map.
        curves: Of `run_series.series`.
        world: None if it is not known.
        bag: For the sensors' angles.
    """
    info = record.episode.info
    (x0, y0, _), (x1, y1, _) = info.world.lower, info.world.upper
    whole = Frame(left=x0 - 15, top=-y1 - 15, width=x1 - x0 + 30, height=y1 - y0 + 30)
    start = info.start.pose
    return {
        'whole': whole,
        'near': _near(path, [t.point for t in info.targets]),
        'bounds': svg([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], closed=True),
        **_seabed(world),
        'structures': []
        if world is None
        else [
            {'name': name, 'd': ''.join(svg(o, closed=True) for o in shapes)}
            for name, shapes in structures(world)
        ],
        'targets': _targets(record),
        'rings': (FULL_SCORE_M, NO_SCORE_M),
        'path': svg(path[:, 1:3]),
        'pieces': _pieces(path),
        'close': _close(path, curves.get('obstacle')),
        'arrows': [
            {
                'i': s.index,
                'x': round(place(record, s).position[0], 2),
                'y': round(-place(record, s).position[1], 2),
                'angle': round(-math.degrees(place(record, s).yaw), 1),
            }
            for s in record.episode.steps
        ],
        'start': {'x': start.position[0], 'y': -start.position[1]},
        'reports': _reports(record),
        'collisions': _collisions(record, path),
        'wedges': _wedges(bag),
        'ramp': [ramp(k / 8) for k in range(9)],
    }


def _near(path: Array, points: Sequence[tuple[float, float, float]]) -> Frame:
    """Return the frame of the path and the targets, in the proportions of a screen."""
    spots = np.vstack([path[:, 1:3], np.asarray(points, float)[:, :2]])
    low, high = spots.min(axis=0) - _MARGIN_M, spots.max(axis=0) + _MARGIN_M
    middle = (low + high) / 2
    width, height = np.maximum(high - low, _LEAST_SPAN_M)
    width, height = max(width, height * 1.25), max(height, width / 1.6)
    return Frame(
        left=float(middle[0] - width / 2),
        top=float(-middle[1] - height / 2),
        width=float(width),
        height=float(height),
    )


def _seabed(world: World | None) -> dict[str, Any]:
    if world is None or world.heightfield is None:
        return {'relief': None, 'contours': [], 'depths': None}
    field = world.heightfield
    rows, columns = field.height.shape
    # Pixels of the relief are centred on nodes: half a cell reaches over on every side.
    half = field.spacing / 2
    left, bottom = field.origin[0] - half, field.origin[1] - half
    width, height = columns * field.spacing, rows * field.spacing
    lines = []
    for contour in contours(field):
        length = float(np.linalg.norm(np.diff(contour.line, axis=0), axis=1).sum())
        x, y, angle = contour.middle
        lines.append(
            {
                'd': svg(contour.line),
                'depth': contour.depth,
                'label': length >= _LABELLED_CONTOUR_M and contour.depth % 20 == 0,
                'x': round(x, 1),
                'y': round(-y, 1),
                'angle': round(-angle, 1),
            }
        )
    return {
        'relief': {
            'url': data_url(relief_jpeg(field)),
            'frame': Frame(left=left, top=-(bottom + height), width=width, height=height),
        },
        'contours': lines,
        'depths': (-float(field.height.max()), -float(field.height.min())),
    }


def _targets(record: RunRecord) -> list[dict[str, Any]]:
    verified = {
        t.get('name') for t in record.score.get('targets') or [] if mapping(t).get('verified')
    }
    return [
        {
            'name': target.name.replace('_', ' '),
            'label': target.label,
            'weight': target.weight,
            'x': target.point[0],
            'y': -target.point[1],
            'd': ''.join(svg(o, closed=True) for o in outlines(target.footprint.boxes)),
            'verified': target.name in verified,
        }
        for target in record.episode.info.targets
    ]


def _pieces(path: Array) -> list[dict[str, str]]:
    """Return the path in pieces of one colour each; neighbours share a point."""
    cuts = np.unique(np.linspace(0, len(path) - 1, min(_PIECES, len(path)) + 1).astype(int))
    last = max(float(path[-1, 0] - path[0, 0]), 1e-9)
    return [
        {
            'd': svg(path[a : b + 1, 1:3]),
            'colour': ramp(float((path[a, 0] + path[b, 0]) / 2 - path[0, 0]) / last),
        }
        for a, b in pairwise(cuts)
    ]


def _close(path: Array, obstacle: Sequence[float | None] | None) -> str:
    """Return where the path is within the stand-off distance of a rock or structure."""
    if obstacle is None:
        return ''
    inside = [d is not None and d < STAND_OFF_M for d in obstacle]
    spans, begin = [], None
    for k, here in enumerate([*inside, False]):
        if here and begin is None:
            begin = k
        elif not here and begin is not None:
            spans.append(svg(path[begin : k + 1, 1:3]))
            begin = None
    return ''.join(spans)


def _reports(record: RunRecord) -> list[dict[str, Any]]:
    marks = []
    for report in numbered_reports(record):
        if report['place'] is None:
            continue
        step = record.episode.step_of.get(report['observation'])
        x, y, _ = report['place']
        vehicle = None if step is None else place(record, step).position
        marks.append(
            {
                **report,
                'x': round(x, 1),
                'y': round(-y, 1),
                'line': '' if vehicle is None else svg([vehicle, (x, y)]),
            }
        )
    return marks


def _collisions(record: RunRecord, path: Array) -> list[dict[str, Any]]:
    bumps = debounce(tuple(c for step in record.episode.steps for c in step.contacts))
    return [
        {
            'x': round(float(np.interp(bump.stamp, path[:, 0], path[:, 1])), 1),
            'y': round(-float(np.interp(bump.stamp, path[:, 0], path[:, 2])), 1),
            't': bump.stamp,
            'with': bump.instance,
            'speed': bump.speed,
        }
        for bump in bumps
    ]


def _wedges(bag: BagViews) -> dict[str, Any]:
    """Return the fields of view around a vehicle that heads along +x."""
    fov = bag.camera_fov or CameraSpec.horizontal_fov
    aperture = bag.sonar_aperture or SonarSpec.azimuth_aperture
    reach = bag.sonar_range or SonarSpec.range_max
    return {
        'camera': [_wedge(side, fov, _CAMERA_WEDGE_M) for side in (0.0, 90.0, 180.0, 270.0)],
        'sonar': _wedge(0.0, aperture, reach),
        'fov_deg': math.degrees(fov),
        'aperture_deg': math.degrees(aperture),
        'range_m': reach,
    }


def _wedge(middle_deg: float, angle: float, reach: float) -> str:
    a = math.radians(middle_deg) - angle / 2
    b = a + angle
    large = int(angle > math.pi)
    x0, y0 = reach * math.cos(a), reach * math.sin(a)
    x1, y1 = reach * math.cos(b), reach * math.sin(b)
    return f'M0 0L{x0:.1f} {y0:.1f}A{reach:g} {reach:g} 0 {large} 1 {x1:.1f} {y1:.1f}Z'
