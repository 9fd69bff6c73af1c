"""OceanGym's own result trees as rows: scored by what their memory files tell."""

from __future__ import annotations

from pathlib import Path
import re

from oceangym_bench.analysis.results import EpisodeRow, System, Transfer
from oceangym_core.config.tasks import TaskRegistry, TaskSpec
from oceangym_core.errors import OceanGymError
from oceangym_core.record.result_tree import FileGroup, load_oceangym_tree
from oceangym_core.scoring.compat import RELEASED_TARGETS, score_group
from oceangym_core.scoring.rescore import paper_score_of_group

# In its scaling study OceanGym's point1..point4 are durations from one start [s].
SCALE_DURATIONS = {'point1': 3600.0, 'point2': 5400.0, 'point3': 7200.0, 'point4': 10800.0}
RELEASED_T_MAX = 1800.0
KNOWN_SETTINGS = ('main', 'scale', 'migration')
BACKEND = 'oceangym'
NO_TRUTH = 'memory files hold no truth'


def read_tree_rows(root: Path) -> list[EpisodeRow]:
    """Return the episodes of ``<setting>/<model>/task*/point*``, ``compat`` and ``paper`` scored.

    Directories called ``scale`` hold durations instead of starts, ``migration`` transferred memory.

    Raises:
        OceanGymError: Nothing of the kind is there, or a duration is none of OceanGym's.
    """
    tree = load_oceangym_tree(root)
    tree.print_notes()
    names = {alias: (task, water) for alias, task, water in TaskRegistry.load().benchmark()}
    registry = TaskRegistry.load()
    rows = []
    for model, tasks in tree.models.items():
        for task, points in sorted(tasks.items()):
            spec, water = registry.get(names[task][0]), names[task][1]
            for point, groups in points.items():
                where = f'{root}/{model}/{task}/{point}'
                rows += [_row(model, task, spec, water, point, g, where) for g in groups]
    return rows


def _row(
    model: str, alias: str, spec: TaskSpec, water: str, point: str, group: FileGroup, where: str
) -> EpisodeRow:
    setting, _, name = model.rpartition('/')
    setting = setting.rpartition('/')[2]
    duration = RELEASED_T_MAX
    if setting == 'scale':
        if point not in SCALE_DURATIONS:
            raise OceanGymError(
                f'{where}: unknown duration {point!r}; allowed: {", ".join(SCALE_DURATIONS)} '
                '(1, 1.5, 2 and 3 h)'
            )
        duration = SCALE_DURATIONS[point]
    number = int(re.sub(r'\D', '', alias))
    targets = RELEASED_TARGETS[number]
    scores: dict[str, float | None] = {
        'verified': None,
        'paper': None,
        'compat': score_group(group, targets),
    }
    reason = f'{NO_TRUTH}; {group.damage}' if group.damage else NO_TRUTH
    try:
        scores['paper'] = paper_score_of_group(group, targets, Path(where))
    except OceanGymError as error:
        reason = f'{NO_TRUTH}; {error}'
    return EpisodeRow(
        source=where,
        run_id=f'{model}/{alias}/{point}/{group.stamp}',
        system=System(
            model=name,
            # Of other names nobody but who gave them knows the meaning: they are never averaged.
            settings=(('setting', setting),) if setting not in ('', *KNOWN_SETTINGS) else (),
            transfer=Transfer.UNKNOWN if setting == 'migration' else Transfer.NONE,
        ),
        task=spec.id,
        alias=alias,
        category=spec.category,
        size_class=spec.size_class,
        water=water,
        start='scale' if setting == 'scale' else point,
        t_max=duration,
        backend=BACKEND,
        scores=scores,
        reason=reason,
        ending='unknown',
        decisions=len(group.memory or ()),
        targets=len(targets),
    )
