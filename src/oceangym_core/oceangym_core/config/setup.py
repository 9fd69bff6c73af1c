"""Everything that an episode needs, resolved once from the options of a run and its world."""

from __future__ import annotations

from dataclasses import dataclass

from oceangym_core.config.mission import mission_order, MissionOrder
from oceangym_core.config.options import RunOptions
from oceangym_core.config.starts import resolve_start, Start, start_seed
from oceangym_core.config.tasks import resolve_targets, Target, TaskRegistry, TaskSpec
from oceangym_core.config.waters import load_profile, load_water, Profile, Water
from oceangym_core.contract.frames import FrameShift, operating_bounds, shift_for
from oceangym_core.world.distance import build_distance_field
from oceangym_core.world.world import Anchor, Bounds, World


@dataclass(frozen=True, kw_only=True)
class EpisodeSetup:
    """One episode, ready to be flown.

    Attributes:
        targets: With footprints and weights, in the order of the task.
        anchors: The same targets as anchors of the world.
        bounds: Operating volume in map.
        shift: odom in map.
        order: Where to search; None if nothing is said about it.
        t_max, t_interval: [s].
        navigation: ``truth`` or ``dead_reckoning``.
    """

    options: RunOptions
    task: TaskSpec
    water: Water
    profile: Profile
    world: World
    targets: tuple[Target, ...]
    anchors: tuple[Anchor, ...]
    bounds: Bounds
    shift: FrameShift
    start: Start
    order: MissionOrder | None
    t_max: float
    t_interval: float
    navigation: str


def prepare_episode(options: RunOptions, world: World) -> EpisodeSetup:
    """Resolve task, water, profile, targets, shift and start.

    Args:
        options: Of the run.
        world: The loaded world of the task, for the options' world seed.

    Raises:
        OceanGymError: A name is unknown, a file is wrong, or the start is not free.
    """
    extra = options.config_dirs
    task = TaskRegistry.load(extra).get(options.task)
    profile = load_profile(options.profile, extra)
    targets = resolve_targets(task, world)
    frame_seed = options.resolved_frame_seed
    bounds = operating_bounds(world, options.frame, frame_seed)
    if task.bounds is not None:
        bounds = Bounds(lower=task.bounds.min, upper=task.bounds.max)
    field = build_distance_field(world)
    start = resolve_start(
        options.start,
        options.seed,
        targets=targets,
        lower=bounds.lower,
        upper=bounds.upper,
        seabed=world.seabed,
        clearance=lambda point: field.query(point)[0],
    )
    return EpisodeSetup(
        options=options,
        task=task,
        water=load_water(options.water, extra),
        profile=profile,
        world=world,
        targets=targets,
        anchors=tuple(world.anchor(t.name) for t in targets),
        bounds=bounds,
        shift=shift_for(options.frame, frame_seed),
        start=start,
        order=mission_order(
            start, targets=targets, world=world, seed=start_seed(options.start, options.seed)
        ),
        t_max=options.t_max or task.t_max,
        t_interval=options.t_interval or task.t_interval,
        navigation=profile.nav if options.nav == 'auto' else options.nav,
    )
