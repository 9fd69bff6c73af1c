"""Traces the rays of all sonars of a vehicle in one launch and forms their pings."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import logging
import os
from typing import Any

import drjit as dr
import mitsuba as mi
import numpy as np
from numpy.typing import NDArray

from oceangym_core.contract.observation import SonarSpec
from oceangym_core.geometry import Pose
from oceangym_core.rng import generator
from oceangym_sim.rays.placement import Placement, rotate, rotate_back
from oceangym_sim.rays.scene import RayScene
from oceangym_sim.sonar.formation import Bounces, footprint, PingFormer, REACH
from oceangym_sim.sonar.sound import Grid, NOMINAL_WATER, SeaWater

_LOG = logging.getLogger(__name__)
# Every second elevation ray carries a second bounce: the echoes are weak and blurred.
_BOUNCE_STRIDE = 2
# Beams from one traced background to the next, behind a target.
_BACKGROUND_STRIDE = 4
# Amplitude that a mirror-like first bounce keeps: a rough solid, the sea surface.
_SOLID_REFLECTION = 0.25
_SURFACE_REFLECTION = 0.7
SILENT_PINGS = 5


@dataclass(frozen=True, kw_only=True)
class SonarFrame:
    """One sonar's ping and what perceptibility needs to know about it.

    Attributes:
        polar: (range_bins, beams) float32 0..1; None where only the truth was asked for.
        mean: (range_bins, beams) float32, noise-free, full scale 1; None where only the truth was
            asked for.
        distance, near, far: (rays, beams) to the centre and the ends of what each ray stands for [m].
        power: (rays, beams) echo of each before gain.
        instance: (rays, beams) uint32 index into the scene's instance names.
        position: (rays, beams, 3) float32 hits in map [m].
        bounces: Echoes of the second bounce in `mean`.
        behind: Per group of targets near, far and power of all rays as they would be without it;
            None where no ray meets it.
    """

    polar: Grid | None
    mean: Grid | None
    distance: Grid
    near: Grid
    far: Grid
    power: Grid
    instance: NDArray[np.uint32]
    position: Grid
    bounces: Bounces | None = None
    behind: tuple[tuple[Grid, Grid, Grid] | None, ...] = ()


class SonarRig:
    """All imaging sonars of a vehicle.

    Their pings are formed side by side on the processor's cores; each draws its own noise, so that
    their number changes no bit.

    Args:
        scene: What the rays meet.
        specs: The sonars; sizes may differ.
        seed: Of speckle and noise.
        water: What absorbs the sound.
        targets: Groups of instances without which the scene is traced as well.
    """

    def __init__(
        self,
        *,
        scene: RayScene,
        specs: tuple[SonarSpec, ...],
        seed: int,
        water: SeaWater = NOMINAL_WATER,
        targets: tuple[NDArray[np.uint32], ...] = (),
    ) -> None:
        self._scene = scene
        self._targets = targets
        self.specs = specs
        self.formers = tuple(PingFormer(spec, water) for spec in specs)
        self._seed = seed
        self._silent = {spec.direction: 0 for spec in specs}
        scene.activate()
        self._shapes = [(former.rays, former.spec.beams) for former in self.formers]
        self._starts = np.cumsum([0, *(rays * beams for rays, beams in self._shapes)])
        self._rays = self._in_body([former.directions() for former in self.formers])
        edges = [former.edges() for former in self.formers]
        self._up = self._in_body([up for up, _ in edges])
        self._port = self._in_body([port for _, port in edges])
        self._owner = mi.UInt32(
            np.repeat(np.arange(len(specs), dtype=np.uint32), np.diff(self._starts))
        )
        self._offsets = mi.Float(
            np.concatenate([[*s.mount.position, s.range_max * REACH] for s in specs]).astype(
                np.float32
            )
        )
        bouncing = np.concatenate(
            [
                np.arange(start, stop).reshape(shape)[former.cells.core][::_BOUNCE_STRIDE].ravel()
                if former.preset.multipath
                else np.empty(0, int)
                for former, shape, start, stop in zip(
                    self.formers, self._shapes, self._starts[:-1], self._starts[1:]
                )
            ]
        )
        self._strided = np.concatenate(
            [
                np.arange(rays * beams) % beams % _BACKGROUND_STRIDE == 0
                for rays, beams in self._shapes
            ]
        )
        self._bouncing = bouncing.astype(np.uint32)
        self._bouncing_lanes = mi.UInt32(self._bouncing)
        dr.eval(self._rays, self._up, self._port, self._owner, self._offsets, self._bouncing_lanes)
        self._pool = ThreadPoolExecutor(max_workers=max(1, min(len(specs), _cores())))

    def observe(
        self,
        *,
        pose: Pose,
        index: int,
        bounce: bool = True,
        noise: bool = True,
        only_with: NDArray[np.uint32] | None = None,
        self_noise: float = 0.0,
    ) -> dict[str, SonarFrame]:
        """Return the sonars' frames from a vehicle pose (base_link in map), by direction.

        Args:
            pose: base_link in map.
            index: Of the observation, for the noise.
            bounce: Trace the second bounce where the preset has one.
            noise: Draw speckle and noise.
            only_with: Form no images, and leave out sonars that meet none of these instances.
            self_noise: Share of the vehicle's noise at full throttle that is heard now.
        """
        self._scene.activate()
        placement = Placement.of(pose)
        origin, direction, reach = self._launch(placement)
        hits = self._scene.trace(origin, direction, reach=reach)
        cosine, lean = self._slopes(placement, hits, direction, self._up, self._port)
        outputs = [hits.distance, cosine, lean, hits.strength, hits.instance]
        dr.eval(*outputs, hits.position, hits.normal)
        distance, cosines, leans, strength, instance = (np.asarray(o) for o in outputs)
        position = np.asarray(hits.position).T
        wanted = [
            only_with is None or bool(np.isin(instance[a:b], only_with).any())
            for a, b in zip(self._starts[:-1], self._starts[1:])
        ]
        echoes: dict[int, Bounces] = {}
        if bounce and any(wanted) and len(self._bouncing):
            echoes = self._second_bounce(placement, hits)

        backgrounds = [
            self._without(placement, group, distance, cosines, leans, strength, instance)
            for group in self._targets
        ]

        def form(i: int) -> SonarFrame:
            former, shape = self.formers[i], self._shapes[i]
            part = slice(self._starts[i], self._starts[i + 1])
            grid = distance[part].reshape(shape)
            cos = cosines[part].reshape(shape)
            power = former.echo_power(grid, cos, strength[part].reshape(shape))
            near, far = footprint(grid, cos, leans[part].reshape(shape))
            mean = polar = None
            if only_with is None:
                mean = former.noise_free(near, far, power, echoes.get(i))
            if noise and mean is not None:
                polar = former.ping(
                    mean,
                    generator(self._seed, f'sonar/{former.spec.direction}', index),
                    streaks=former.streak_rows(grid, cos),
                    self_noise=self_noise,
                )
            return SonarFrame(
                polar=polar,
                mean=mean,
                distance=grid,
                near=near,
                far=far,
                power=power,
                instance=instance[part].reshape(shape),
                position=position[part].reshape(*shape, 3),
                bounces=echoes.get(i),
                behind=tuple(self._behind(i, grids) for grids in backgrounds),
            )

        chosen = [i for i in range(len(self.specs)) if wanted[i]]
        frames = {}
        for i, frame in zip(chosen, self._pool.map(form, chosen)):
            frames[self.specs[i].direction] = frame
            if frame.polar is not None:
                self._watch(self.specs[i].direction, frame.polar)
        return frames

    @staticmethod
    def _slopes(
        placement: Placement, hits: Any, direction: Any, up: Any, port: Any
    ) -> tuple[Any, Any]:
        """Return the cosine of incidence and the lean (see `footprint`) of each hit."""
        lean = dr.abs(dr.dot(hits.normal, rotate(placement.rotation, up)))
        lean += dr.abs(dr.dot(hits.normal, rotate(placement.rotation, port)))
        return -dr.dot(hits.normal, direction), lean

    def _without(
        self,
        placement: Placement,
        group: NDArray[np.uint32],
        distance: Grid,
        cosine: Grid,
        lean: Grid,
        strength: Grid,
        instance: NDArray[np.uint32],
    ) -> tuple[NDArray[np.bool_], Grid, Grid, Grid, Grid]:
        """Return which rays meet a target, and every ray's hit as it would be without the target."""
        mine = np.isin(instance, group)
        grids = [np.array(grid) for grid in (distance, cosine, lean, strength)]
        # The first ray of each run and every fourth beam: a beam is wider than three.
        chosen = mine & (self._strided | ~np.concatenate([[False], mine[:-1]]))
        lanes = np.flatnonzero(chosen).astype(np.uint32)
        if len(lanes):
            index = mi.UInt32(lanes)
            offset = dr.gather(
                mi.Vector4f, self._offsets, dr.gather(mi.UInt32, self._owner, index)
            )
            origin = placement.position + rotate(
                placement.rotation, mi.Vector3f(offset.x, offset.y, offset.z)
            )
            origin, reach = mi.Point3f(origin), offset.w
            direction = rotate(placement.rotation, _take(self._rays, index))
            start = self._scene.past(
                origin, direction, mi.Float(distance[lanes]), group, reach=reach
            )
            hits = self._scene.trace(origin, direction, reach=reach, start=start)
            slopes = self._slopes(
                placement, hits, direction, _take(self._up, index), _take(self._port, index)
            )
            found = [hits.distance, *slopes, hits.strength]
            dr.eval(*found)
            nearest = (np.cumsum(chosen) - 1)[mine]
            for grid, values in zip(grids, found):
                grid[mine] = np.asarray(values)[nearest]
        return mine, grids[0], grids[1], grids[2], grids[3]

    def _behind(
        self, i: int, grids: tuple[NDArray[np.bool_], Grid, Grid, Grid, Grid]
    ) -> tuple[Grid, Grid, Grid] | None:
        """Return near, far and power behind a target for one sonar, None if it meets none of it."""
        part, former = slice(self._starts[i], self._starts[i + 1]), self.formers[i]
        mine = grids[0][part].reshape(self._shapes[i])
        if not mine.any():
            return None
        distance, cosine, lean, strength = (
            grid[part].reshape(self._shapes[i]) for grid in grids[1:]
        )
        power = former.echo_power(distance, cosine, strength)
        near, far = footprint(distance, cosine, lean)
        return near, far, power

    def _in_body(self, grids: list[NDArray[np.float64]]) -> Any:
        """Return vectors of each sonar's frame (rays, beams, 3) in base_link, one lane a ray."""
        flat = [
            (grid @ spec.mount.rotation.T).reshape(-1, 3) for grid, spec in zip(grids, self.specs)
        ]
        return mi.Vector3f(np.ascontiguousarray(np.concatenate(flat).T, dtype=np.float32))

    def _launch(self, placement: Placement) -> tuple[Any, Any, Any]:
        """Return origin and direction in map, and reach [m], of every ray."""
        offset = dr.gather(mi.Vector4f, self._offsets, self._owner)
        origin = placement.position + rotate(
            placement.rotation, mi.Vector3f(offset.x, offset.y, offset.z)
        )
        return origin, rotate(placement.rotation, self._rays), offset.w

    def _second_bounce(self, placement: Placement, hits: Any) -> dict[int, Bounces]:
        """Return the echoes that come back by way of a second surface, by sonar index.

        The wave mirrors off the first hit, scatters at the second and returns straight from there:
        it shows at the second hit's azimuth and half the whole path's length. As much takes the
        same way in reverse and shows where the ray left, at the same range: a ghost behind the wall
        that mirrored it.
        """
        lanes = self._bouncing_lanes
        offset = dr.gather(mi.Vector4f, self._offsets, dr.gather(mi.UInt32, self._owner, lanes))
        origin = placement.position + rotate(
            placement.rotation, mi.Vector3f(offset.x, offset.y, offset.z)
        )
        reach = offset.w
        direction = rotate(placement.rotation, _take(self._rays, lanes))
        normal = _take(hits.normal, lanes)
        first_range = dr.gather(mi.Float, hits.distance, lanes)
        first_strength = dr.gather(mi.Float, hits.strength, lanes)
        on_surface = dr.gather(mi.UInt32, hits.instance, lanes) == self._scene.surface_index
        start = mi.Point3f(_take(hits.position, lanes)) + normal * 0.01
        mirrored = direction - 2.0 * dr.dot(direction, normal) * normal
        found = self._scene.trace(start, mirrored, reach=reach)
        back = origin - found.position
        last_range = dr.norm(back)
        homeward = back / dr.maximum(last_range, 1e-6)
        half_path = 0.5 * (first_range + found.distance + last_range)
        active = dr.isfinite(first_range) & found.valid & (half_path < reach)
        facing = dr.dot(found.face_normal, homeward)
        active &= facing > 0.0
        active &= ~self._scene.occluded(
            found.position, found.face_normal, homeward, last_range - 0.05, active
        )
        kept = dr.select(
            on_surface, _SURFACE_REFLECTION, _SOLID_REFLECTION * dr.sqrt(first_strength)
        )
        power = dr.select(active, kept * found.strength * facing, 0.0)
        arrival = rotate_back(placement.rotation, -homeward)
        # What a ray carries does not spread on the way out, whatever the mirror's shape: only the
        # scattered wave does on its way back.
        power /= dr.maximum(last_range * last_range, 1e-2)
        first = dr.gather(mi.UInt32, hits.instance, lanes)
        places = [mi.Point3f(_take(hits.position, lanes)), found.position]
        dr.eval(arrival, half_path, power, first, found.instance, *places)
        return self._sort_bounces(
            np.asarray(arrival).T,
            np.asarray(half_path),
            np.asarray(power),
            np.stack([np.asarray(first), np.asarray(found.instance)]),
            np.stack([np.asarray(place).T for place in places]),
        )

    def _sort_bounces(
        self,
        arrival: Grid,
        half_path: Grid,
        power: Grid,
        instance: NDArray[np.uint32],
        position: Grid,
    ) -> dict[int, Bounces]:
        """Assign second-bounce echoes to the beams of their own sonar."""
        echoes = {}
        for i, (spec, former) in enumerate(zip(self.specs, self.formers)):
            mine = (self._bouncing >= self._starts[i]) & (self._bouncing < self._starts[i + 1])
            mine &= power > 0.0
            if not mine.any():
                continue
            ray, left = np.divmod(self._bouncing[mine] - self._starts[i], spec.beams)
            local = arrival[mine] @ spec.mount.rotation.astype(np.float32)
            azimuth = np.arctan2(-local[:, 1], local[:, 2])
            elevation = np.arcsin(np.clip(local[:, 0], -1.0, 1.0))
            step = spec.azimuth_aperture / max(spec.beams - 1, 1)
            back = np.round((spec.azimuth_aperture / 2 - azimuth) / step).astype(np.int64)
            distance = half_path[mine]
            # One ray stands for _BOUNCE_STRIDE cells of its beam; it leaves by the pattern of one
            # elevation and returns by another's.
            cells = former.cells
            share = _BOUNCE_STRIDE * cells.solid[ray] * cells.one_way[ray] / cells.total
            share *= former.one_way(elevation)
            share *= 10.0 ** (-0.2 * former.absorption * distance)
            echo = (power[mine] * share).astype(np.float32)
            # It reached the second hit by a beam of the transmitter, which lights the aperture only.
            inside = (back >= 0) & (back < spec.beams)
            echoes[i] = Bounces(
                beam=np.concatenate([back[inside], left[inside]]).astype(np.int32),
                distance=np.concatenate([distance[inside]] * 2),
                power=np.concatenate([echo[inside]] * 2),
                instance=np.concatenate([instance[:, mine][:, inside]] * 2, axis=1),
                position=np.concatenate([position[:, mine][:, inside]] * 2, axis=1),
            )
        return echoes

    def _watch(self, direction: str, polar: Grid) -> None:
        """Warn when a sonar has been silent for several pings: noise alone is never all zero."""
        self._silent[direction] = 0 if polar.any() else self._silent[direction] + 1
        if self._silent[direction] == SILENT_PINGS:
            _LOG.warning(
                'sonar %s: %d pings in a row are all zero; the ray backend %s may be unusable here '
                '(try device:=cpu)',
                direction,
                SILENT_PINGS,
                self._scene.variant,
            )


def _cores() -> int:
    """Return the number of cores this process may use."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _take(vector: Any, lanes: Any) -> Any:
    """Return some lanes of a three-component array."""
    return mi.Vector3f(*(dr.gather(mi.Float, component, lanes) for component in vector))
