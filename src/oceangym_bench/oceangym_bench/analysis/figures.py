"""The paper's figures of a benchmark: the scaling curve and the comparison of memory transfers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from textwrap import wrap

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from oceangym_bench.analysis.results import EpisodeRow
from oceangym_bench.analysis.studies import scaling_points, transfer_points
from oceangym_bench.analysis.table import Score
from oceangym_core.errors import OceanGymError, unknown_name

FORMATS = ('svg', 'png', 'pdf')
# Okabe and Ito's colours, told apart by the colour-blind; markers tell them apart in print.
COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000')
MARKERS = 'osD^vP*'
PANEL_WIDTH, PANEL_HEIGHT = 4.6, 3.4  # inches
# Points of several systems at one place stand beside each other [h].
DODGE = 0.02


def scaling_figure(
    rows: Iterable[EpisodeRow], *, scorer: str = 'verified', seed: int = 0
) -> Figure:
    """Return scores over the duration of an episode, a panel a water, with 95 % intervals.

    Raises:
        OceanGymError: The rows may not stand in one figure, or one has no duration.
    """
    curves = scaling_points(rows, scorer=scorer, seed=seed)
    systems = list(dict.fromkeys(label for label, _ in curves))
    figure, panels = _panels(list(dict.fromkeys(water for _, water in curves)))
    for (label, water), points in curves.items():
        number = systems.index(label)
        shift = (number - (len(systems) - 1) / 2) * DODGE
        places = [seconds / 3600 + shift for seconds in points]
        _draw(panels[water], places, list(points.values()), label, number, line='-')
    for panel in panels.values():
        panel.set_xticks(
            sorted({seconds / 3600 for curve in curves.values() for seconds in curve})
        )
        panel.set_xlabel('duration of an episode [h]')
    return _finished(figure, panels, scorer)


def transfer_figure(
    rows: Iterable[EpisodeRow], *, scorer: str = 'verified', seed: int = 0
) -> Figure:
    """Return scores without and with transferred memory, a panel a water, with 95 % intervals.

    Raises:
        OceanGymError: The rows may not stand in one figure.
    """
    points = transfer_points(rows, scorer=scorer, seed=seed)
    systems = list(dict.fromkeys(label for label, _ in points))
    conditions = list(dict.fromkeys(name for scores in points.values() for name in scores))
    figure, panels = _panels(list(dict.fromkeys(water for _, water in points)))
    for (label, water), scores in points.items():
        number = systems.index(label)
        shift = (number - (len(systems) - 1) / 2) * 0.6 / max(len(systems), 1)
        places = [conditions.index(name) + shift for name in scores]
        _draw(panels[water], places, list(scores.values()), label, number, line='')
    for panel in panels.values():
        panel.set_xticks(
            range(len(conditions)), ['\n'.join(wrap(name, 13)) for name in conditions]
        )
        panel.set_xlim(-0.5, len(conditions) - 0.5)
        panel.set_xlabel('memory handed on')
    return _finished(figure, panels, scorer)


def _panels(waters: Sequence[str]) -> tuple[Figure, dict[str, Axes]]:
    figure = Figure(
        figsize=(PANEL_WIDTH * max(len(waters), 1), PANEL_HEIGHT), layout='constrained'
    )
    axes = figure.subplots(1, max(len(waters), 1), sharey=True, squeeze=False)[0]
    panels = dict(zip(waters, axes, strict=False))
    for water, panel in panels.items():
        panel.set_title(f'{water} water')
        panel.grid(axis='y', color='#dddddd', linewidth=0.8)
        panel.set_axisbelow(True)
        panel.spines[['top', 'right']].set_visible(False)
    return figure, panels


def _draw(
    panel: Axes,
    places: Sequence[float],
    scores: Sequence[Score],
    label: str,
    number: int,
    *,
    line: str,
) -> None:
    known = [(x, s, s.mean) for x, s in zip(places, scores, strict=True) if s.mean is not None]
    if not known:
        return
    below = [0.0 if s.interval is None else mean - s.interval.low for _, s, mean in known]
    above = [0.0 if s.interval is None else s.interval.high - mean for _, s, mean in known]
    panel.errorbar(
        [x for x, _, _ in known],
        [mean for _, _, mean in known],
        yerr=[[max(v, 0.0) for v in below], [max(v, 0.0) for v in above]],
        label=label,
        color=COLOURS[number % len(COLOURS)],
        marker=MARKERS[number % len(MARKERS)],
        linestyle=line,
        capsize=3,
        markersize=5,
    )


def _finished(figure: Figure, panels: dict[str, Axes], scorer: str) -> Figure:
    first = next(iter(panels.values()), None)
    if first is not None:
        first.set_ylabel(f'{scorer} score\n(mean, 95 % interval)')
        first.set_ylim(0, 100)
        handles = {
            label: handle
            for panel in panels.values()
            for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            handles.values(), handles.keys(), loc='outside lower center', ncols=3, frameon=False
        )
    return figure


def save_figure(figure: Figure, path: Path) -> Path:
    """Write a figure as its ending says; the same figure gives the same bytes.

    Raises:
        OceanGymError: The ending is unknown or the file cannot be written.
    """
    ending = path.suffix.lstrip('.')
    if ending not in FORMATS:
        raise unknown_name('figure format', ending, FORMATS)
    dates = {'svg': {'Date': None}, 'pdf': {'CreationDate': None}}
    try:
        with rc_context({'svg.hashsalt': 'oceangym'}):
            figure.savefig(path, dpi=200, metadata=dates.get(ending))
    except OSError as error:
        raise OceanGymError(f'cannot write {path}: {error.strerror}') from error
    return path
