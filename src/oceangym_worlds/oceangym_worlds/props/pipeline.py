"""Concrete-coated subsea pipeline along a path, with flanges, valves, supports and damage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
import itertools
import math

import numpy as np
from numpy.typing import ArrayLike
import trimesh

from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_worlds.modelling import mesh as ops
from oceangym_worlds.modelling import primitives as kit
from oceangym_worlds.modelling import textures as tex
from oceangym_worlds.modelling.assembly import Assembly, bar_primitive, Finish, metal
from oceangym_worlds.modelling.model import Primitive, PropAttributes, PropModel
from oceangym_worlds.modelling.texture_noise import fbm, smoothstep
from oceangym_worlds.props import pipe_fittings as fittings
from oceangym_worlds.props.pipe_line import (
    Axis,
    chunk_frame,
    Floor,
    floor_under,
    Interval,
    lay,
    Seabed,
)
from oceangym_worlds.seabed.textures import seabed_texture

RADIUS = 0.5  # of the concrete coating [m]
BARE_RADIUS = 0.455
AXIS_HEIGHT = 0.42  # of the axis over the seabed: the pipe has settled 8 cm
JOINT_SPACING = 12.0
VALVE_SPACING = 40.0
_JOINT_HALF = 0.35
_BREAK_GAP = 0.22
_TILE = 2.0 * math.pi * RADIUS * 2.0  # metres of pipe per texture along it


@dataclass(frozen=True)
class PlacedModel:
    """A prop and where it stands in the map frame."""

    prop: PropModel
    origin: Pose


@dataclass(frozen=True, kw_only=True)
class _State:
    """Where the line is what."""

    damaged: tuple[Interval, ...]
    buried: tuple[Interval, ...]
    spans: tuple[Interval, ...]
    breaks: tuple[float, ...]
    mattresses: tuple[float, ...]

    def rests(self, s: float, margin: float) -> bool:
        """Tell whether the pipe lies on the open seabed, unbroken."""
        return not (
            any(i.holds(s, margin) for i in (*self.buried, *self.spans))
            or any(abs(s - b) < margin + 3.0 for b in self.breaks)
        )


def build(
    *,
    path: ArrayLike,
    seed: int,
    damaged: Sequence[tuple[float, float]] = (),
    buried: Sequence[tuple[float, float]] = (),
    spans: Sequence[tuple[float, float, float]] = (),
    seabed: Seabed | None = None,
    chunk_length: float = 40.0,
    name_prefix: str = 'pipeline',
) -> list[PlacedModel]:
    """Build a pipeline, 1.0 m across, as chunks.

    Args:
        path: Points (N, 3) in the map frame on the seabed under the pipe, or the straight line
            between the shoulders of a free span. The axis runs `AXIS_HEIGHT` above.
        seed: Of weathering and damage.
        damaged: Stretches of path length [m] with spalled coating and dents; in the middle of
            the longest that does not hang free the pipe has parted.
        buried: Stretches half covered by sediment.
        spans: Free spans (start, end, sag) [m].
        seabed: Height [m] of the seabed at map coordinates x (N,), y (N,), for what lies beside
            the pipe; by default level across it.
        chunk_length: Greatest length of one model [m].
        name_prefix: Models are named ``<prefix>_01`` and so on.

    Returns:
        The chunks in the order of the path.
    """
    hanging = tuple(Interval(a, b) for a, b, _ in spans)
    broken = tuple(Interval(a, b) for a, b in damaged)
    lying = [i for i in broken if not any(h.holds(i.middle, 4.0) for h in hanging)]
    breaks = tuple(i.middle for i in sorted(lying, key=lambda i: i.start - i.end)[:1])
    axis = lay(path, height=AXIS_HEIGHT, spans=spans, breaks=breaks)
    state = _State(
        damaged=broken,
        buried=tuple(Interval(a, b) for a, b in buried),
        spans=hanging,
        breaks=breaks,
        mattresses=tuple(float(s) for s in np.arange(33.0, axis.length, 80.0)),
    )
    count = max(1, math.ceil(axis.length / chunk_length - 1e-9))
    ends = np.linspace(0.0, axis.length, count + 1)
    textures = _textures(seed)
    return [
        _chunk(
            f'{name_prefix}_{k + 1:02d}', axis, float(a), float(b), state, seed, textures, seabed
        )
        for k, (a, b) in enumerate(itertools.pairwise(ends))
    ]


def _chunk(
    name: str,
    axis: Axis,
    start: float,
    end: float,
    state: _State,
    seed: int,
    finishes: dict[str, Finish],
    seabed: Seabed | None,
) -> PlacedModel:
    frame = chunk_frame(axis, start, end, height=AXIS_HEIGHT)
    line = axis.seen_from(frame)
    model = Assembly()
    collisions = _capsules(line, start, end)
    stops = _stops(line.length, start, end, state)
    for first, last in itertools.pairwise(stops):
        middle = 0.5 * (first + last)
        if any(abs(middle - b) < _BREAK_GAP for b in state.breaks):
            continue
        if any(i.holds(middle) for i in state.damaged):
            _add_damaged(model, line, first, last, state, seed)
        elif abs(middle / JOINT_SPACING - round(middle / JOINT_SPACING)) * JOINT_SPACING < 0.3:
            model.add('steel', _pipe(line, first, last, BARE_RADIUS, step=0.4))
        else:
            model.add('coating', _pipe(line, first, last, RADIUS, step=1.0))
    floor = floor_under(line, frame, seabed, height=AXIS_HEIGHT)
    _add_furniture(model, collisions, line, start, end, state, seed, floor)
    hurt = any(i.meets(start + 1.0, end - 1.0) for i in state.damaged)
    return PlacedModel(
        PropModel(
            name=name,
            parts=model.parts(finishes),
            collisions=tuple(collisions),
            attributes=_attributes(hurt, start, end, state),
        ),
        frame,
    )


def _stops(length: float, start: float, end: float, state: _State) -> list[float]:
    """Return the path lengths at which the pipe's surface changes in start..end."""
    stops = {start, end}
    for k in range(math.floor(length / JOINT_SPACING) + 1):
        stops |= {k * JOINT_SPACING - _JOINT_HALF, k * JOINT_SPACING + _JOINT_HALF}
    for i in state.damaged:
        stops |= {i.start, i.end}
    for b in state.breaks:
        stops |= {b - _BREAK_GAP, b + _BREAK_GAP}
    return sorted(s for s in stops if start <= s <= end)


def _pipe(
    line: Axis,
    start: float,
    end: float,
    radius: float,
    *,
    step: float,
    sections: int = 20,
    caps: bool = True,
) -> trimesh.Trimesh:
    """Return a piece of round pipe; u = 0.25 is its top."""
    s = np.linspace(start, end, max(2, math.ceil((end - start) / step) + 1))
    return kit.sweep(
        line.at(s),
        radius,
        sections=sections,
        scale=_TILE,
        wraps=1,
        up=(0.0, 0.0, 1.0),
        v_start=start,
        caps=caps,
    )


def _add_damaged(
    model: Assembly, line: Axis, start: float, end: float, state: _State, seed: int
) -> None:
    """Add a stretch of dented, rusty pipe with what is left of its coating."""
    rng = generator(seed, 'pipeline_damage', int(start * 100))
    raw = any(min(abs(start - b), abs(end - b)) < _BREAK_GAP + 0.01 for b in state.breaks)
    bare = _pipe(line, start, end, BARE_RADIUS, step=0.25, sections=24, caps=not raw)
    if raw:
        bare = _torn(bare, line, start, end, state, seed)
        for b in state.breaks:
            if start - 0.5 <= b <= end + 0.5:
                model.add('stain', fittings.bore(line, b, end if end < b else start, BARE_RADIUS))
    for s in np.arange(start + 0.8, end - 0.4, 2.2):
        way = line.axes(float(s)) @ [0.0, rng.normal(), rng.uniform(0.2, 1.0)]
        way /= np.linalg.norm(way)
        bare = ops.dent(
            bare,
            line.at(float(s)) + BARE_RADIUS * way,
            -way,
            radius=0.55,
            depth=rng.uniform(0.1, 0.24),
        )
    model.add('rust', bare)
    place = start + (1.3 if raw else 0.0)
    while place < end - 0.6:
        stretch = min(rng.uniform(1.2, 2.8), end - place)
        model.add('spalled', _coat_left(line, place, place + stretch, seed))
        gap = rng.uniform(0.7, 1.7)
        for k in range(int(gap / 0.3)):
            hoop = kit.torus(0.49, 0.012, sections=20, around=5)
            s = place + stretch + 0.15 + 0.3 * k
            if s < end - 0.3:
                axes = line.axes(s)
                turned = np.column_stack([axes[:, 1], axes[:, 2], axes[:, 0]])
                model.add('rust', ops.place(hoop, turned, line.at(s)))
        place += stretch + gap


def _coat_left(line: Axis, start: float, end: float, seed: int) -> trimesh.Trimesh:
    """Return coating with ragged ends, sunk where it has spalled."""
    coat = _pipe(line, start, end, RADIUS, step=0.2, sections=24)
    points, uv = np.asarray(coat.vertices), ops.uv_of(coat)
    axes = line.axes(0.5 * (start + end))
    s = (points - line.at(0.5 * (start + end))) @ axes[:, 0]
    half = max(0.5 * (end - start), 1e-6)
    angle = np.arctan2(
        (points - line.at(start)) @ axes[:, 2], (points - line.at(start)) @ axes[:, 1]
    )
    ragged = 0.28 * np.sin(3.0 * angle + 5.0 * start) + 0.14 * np.sin(7.0 * angle + start)
    shift = np.clip(np.abs(s) / half, 0.0, 1.0) ** 4 * ragged * np.sign(s)
    moved = ops.build(points + shift[:, None] * axes[:, 0], coat.faces, uv, coat.vertex_normals)
    return ops.displace(
        moved,
        lambda p: -0.04 * np.clip(3.0 * ops.noise(p, seed=seed, size=0.7), 0.0, 1.0),
        crease_deg=60.0,
    )


def _torn(
    pipe: trimesh.Trimesh, line: Axis, start: float, end: float, state: _State, seed: int
) -> trimesh.Trimesh:
    """Return bare pipe with its end at a break torn open into petals."""
    points = np.array(pipe.vertices)
    for b in state.breaks:
        tip = end if abs(end - b) < _BREAK_GAP + 0.01 else start
        if abs(tip - b) > _BREAK_GAP + 0.01:
            continue
        centre, axes = line.at(tip), line.axes(tip)
        local = (points - centre) @ axes
        outward = 1.0 if tip < b else -1.0
        near = np.clip(1.0 + outward * local[:, 0] / 0.8, 0.0, 1.0) ** 2
        angle = np.arctan2(local[:, 2], local[:, 1])
        petal = np.sin(2.5 * angle + 0.7 * b) + 0.5 * np.sin(6.0 * angle + seed)
        local[:, 0] += outward * near * 0.26 * petal
        local[:, 1:] *= (1.0 + near * (0.14 + 0.16 * petal))[:, None]
        points = local @ axes.T + centre
    return ops.shade(
        ops.build(points, pipe.faces, ops.uv_of(pipe), pipe.vertex_normals), crease_deg=60.0
    )


def _add_furniture(
    model: Assembly,
    collisions: list[Primitive],
    line: Axis,
    start: float,
    end: float,
    state: _State,
    seed: int,
    floor: Floor,
) -> None:
    """Add flanges, valves, supports, mattresses, berms and the stain of a leak."""
    for k in range(math.floor(line.length / JOINT_SPACING) + 1):
        s = k * JOINT_SPACING
        whole = all(abs(s - b) > 2.0 for b in state.breaks)
        if start <= s < end and whole and s > 0.0:
            fittings.add_flange(model, line, s)
        s += 0.5 * JOINT_SPACING
        clear = state.rests(s, 1.5) and all(abs(s - m) > 4.0 for m in state.mattresses)
        if clear and start + 0.8 <= s < end - 0.8:
            collisions.append(fittings.add_saddle(model, line, s, AXIS_HEIGHT))
    for end_s in (0.0, line.length):
        if start <= end_s <= end:
            fittings.add_blind_end(model, line, end_s)
    for s in np.arange(0.5 * VALVE_SPACING, line.length - 2.0, VALVE_SPACING):
        if start <= s < end and all(abs(s - b) > 3.0 for b in state.breaks):
            collisions += fittings.add_valve(model, line, float(s))
    for s in state.mattresses:
        fits = state.rests(s, 2.5) and fittings.has_level_ground(line, s, AXIS_HEIGHT, floor)
        if fits and start + 2.0 <= s < end - 2.0:
            collisions += fittings.add_mattress(model, line, s, AXIS_HEIGHT, floor)
    for i in state.buried:
        first, last = max(i.start, start), min(i.end, end)
        if last - first > 2.0:
            heap = fittings.berm(line, first, last, i, seed, AXIS_HEIGHT, floor)
            model.add('sand', heap)
    for b in state.breaks:
        if start <= b < end:
            model.add('stain', fittings.spill(line, b, seed, floor))


def _capsules(line: Axis, start: float, end: float) -> list[Primitive]:
    """Return capsules along the pipe, none across the gap of a break."""
    stops = set(np.linspace(start, end, max(2, math.ceil((end - start) / 4.0) + 1)).tolist())
    ends = [b + side * _BREAK_GAP for b in line.breaks for side in (-1.0, 1.0)]
    stops |= {s for s in ends if start < s < end}
    whole = [
        (a, b)
        for a, b in itertools.pairwise(sorted(stops))
        if not any(a < gap < b for gap in line.breaks)
    ]
    return [bar_primitive(line.at(a), line.at(b), 0.52) for a, b in whole]


def _attributes(hurt: bool, start: float, end: float, state: _State) -> PropAttributes:
    notes = ['concrete-coated steel pipe of 1 m diameter with flanged joints']
    if any(start <= s < end for s in np.arange(0.5 * VALVE_SPACING, end, VALVE_SPACING)):
        notes.append('a yellow valve with a red handwheel')
    if any(i.meets(start, end) for i in state.spans):
        notes.append('hanging free between supports')
    if any(i.meets(start, end) for i in state.buried):
        notes.append('partly buried in sediment')
    condition = 'weathered, light growth'
    if hurt:
        condition = 'damaged: coating spalled off, rust, dents'
        if any(start <= b < end for b in state.breaks):
            condition += ', parted at a joint with an oil stain'
    return PropAttributes(
        prop_class='damaged-pipeline' if hurt else 'normal-pipeline',
        label='OIL PIPELINE',
        structure=True,
        material='concrete-coated steel',
        colour='grey-tan with yellow valves',
        size=f'{end - start:.0f} x 1.0 x 1.0 m',
        markings='none',
        state=condition,
        description=f'{", ".join(notes).capitalize()}. Condition: {condition}.',
    )


def _coating(seed: int) -> tex.Texture:
    """Return the coating over (v along, u around): dust on top, growth on the flanks."""
    size = (512, 256)
    coat = tex.concrete(seed, colour=(178, 166, 140), size=size)
    around = (np.arange(size[1], dtype=np.float32) + 0.5)[None, :] / size[1]
    up = np.broadcast_to(np.sin(2.0 * np.pi * around), size).astype(np.float32)
    ragged = fbm(seed, size, (8, 4), 5, 0.6, 'pipe_edge') - 0.5
    grown = tex.growth(coat, seed, 0.55)
    flank = smoothstep(0.15, 0.4, 0.55 - np.abs(up + 0.35) + 0.9 * ragged) * 0.85
    dusty = tex.sediment(coat, seed, 0.95, colour=(204, 190, 156))
    top = smoothstep(0.1, 0.3, up - 0.72 + 0.8 * ragged)
    overgrown = coat + (grown.astype(np.float32) - coat) * flank[..., None]
    image = overgrown + (dusty - overgrown) * top[..., None]
    return np.asarray(np.clip(image, 0, 255), dtype=np.uint8)


@lru_cache(maxsize=2)
def _textures(seed: int) -> dict[str, Finish]:
    coat = _coating(seed)
    rust = tex.rusty_steel(seed, size=256)
    blots = smoothstep(0.52, 0.6, fbm(seed, (512, 256), (8, 4), 5, 0.6, 'spalls'))
    wide = np.tile(rust, (2, 1, 1))
    spalled = coat + (wide.astype(np.float32) - coat) * (blots * 0.9)[..., None]
    yellow = tex.painted_metal(seed + 1, tex.SAFETY_YELLOW, wear=0.4, rust=0.08, size=256)
    concrete = tex.concrete(seed + 2, colour=(158, 152, 138), size=256)
    steel = tex.growth(tex.painted_metal(seed + 3, (74, 72, 70), rust=0.35, size=256), seed, 0.15)
    red = tex.painted_metal(seed + 4, (206, 34, 24), size=128, rust=0.08)
    return {
        'coating': Finish(texture=coat, acoustic='concrete'),
        'spalled': Finish(texture=np.asarray(spalled, dtype=np.uint8), acoustic='concrete'),
        'rust': metal(rust),
        'steel': metal(steel),
        'yellow': metal(tex.growth(yellow, seed, 0.06)),
        'red': metal(red),
        'concrete': Finish(texture=tex.growth(concrete, seed, 0.12), acoustic='concrete'),
        'sand': Finish(texture=seabed_texture('sand', seed, 256), acoustic='sand'),
        'stain': Finish(
            texture=tex.growth(tex.plain((24, 20, 18), 128), seed, 0.05), acoustic='silt'
        ),
    }
