"""Plots of tables of results, as geometry that the templates draw in SVG."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
import re

from oceangym_bench.analysis.table import Score, Table

WIDTH, HEIGHT = 640.0, 300.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 16.0, 14.0, 30.0
_ROW = 30.0
_LABEL_WIDTH = 210.0
# Points of several systems at one place stand beside each other [px].
_DODGE = 5.0
_DURATION = re.compile(r'^([\d.]+) (h|s)$')


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A mean with its interval on the plot [px]; `text` is what it stands for."""

    x: float
    y: float
    low: float | None
    high: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Series:
    """One system's points, joined in order."""

    name: str
    spots: tuple[Spot, ...]

    @property
    def line(self) -> str:
        """The path's data through its points."""
        return 'M' + 'L'.join(f'{s.x:.1f} {s.y:.1f}' for s in self.spots) if self.spots else ''


@dataclass(frozen=True, kw_only=True)
class Plot:
    """Scores 0..100 over something.

    Attributes:
        title: What it shows.
        ticks: Position [px] and text of the ticks of x.
        levels: Position [px] and text of the ticks of y.
        series: One a system.
        width, height: Of the drawing [px].
    """

    title: str
    ticks: tuple[tuple[float, str], ...]
    levels: tuple[tuple[float, str], ...]
    series: tuple[Series, ...]
    width: float = WIDTH
    height: float = HEIGHT
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    bottom: float = HEIGHT - _BOTTOM


def _level(score: float) -> float:
    return _TOP + (1 - score / 100) * (HEIGHT - _TOP - _BOTTOM)


def _levels() -> tuple[tuple[float, str], ...]:
    return tuple((_level(v), f'{v:g}') for v in (0, 25, 50, 75, 100))


def _names(table: Table) -> list[str]:
    """Return what tells a table's rows apart: the leading texts, constant ones left out."""
    leading = [i for i in range(len(table.columns)) if not table.numeric(i)]
    several = [i for i in leading if len({row[i] for row in table.rows}) > 1] or leading[:1]
    return [', '.join(str(row[i]) for i in several) for row in table.rows]


def _over(table: Table, columns: Sequence[int], at: Sequence[float]) -> tuple[Series, ...]:
    """Return a series a row through the scores of some columns, at places 0..1 of the width."""
    span = WIDTH - _LEFT - _RIGHT
    found = []
    for number, (name, row) in enumerate(zip(_names(table), table.rows, strict=True)):
        aside = (number - (len(table.rows) - 1) / 2) * _DODGE
        spots = []
        for column, part in zip(columns, at, strict=True):
            cell = row[column]
            if not isinstance(cell, Score) or cell.mean is None:
                continue
            spots.append(
                Spot(
                    x=_LEFT + part * span + aside,
                    y=_level(cell.mean),
                    low=None if cell.interval is None else _level(cell.interval.low),
                    high=None if cell.interval is None else _level(cell.interval.high),
                    text=f'{name}, {table.columns[column]}: {cell.text()}',
                )
            )
        found.append(Series(name=name, spots=tuple(spots)))
    return tuple(found)


def scaling_plot(table: Table) -> Plot | None:
    """Return the curves of a table with a column a duration; None where it has fewer than two."""
    hours: dict[int, float] = {}
    for column, name in enumerate(table.columns):
        match = _DURATION.match(name)
        if match is not None:
            hours[column] = float(match.group(1)) / (1 if match.group(2) == 'h' else 3600)
    if len(hours) < 2 or not table.rows:
        return None
    longest = max(hours.values())
    # A twentieth on either side keeps the first and the last point off the edge.
    places = [0.05 + 0.9 * value / longest for value in hours.values()]
    span = WIDTH - _LEFT - _RIGHT
    ticks = [(_LEFT + p * span, table.columns[c]) for c, p in zip(hours, places, strict=True)]
    return Plot(
        title=table.title,
        ticks=tuple(ticks),
        levels=_levels(),
        series=_over(table, list(hours), places),
    )


def condition_plot(table: Table) -> Plot | None:
    """Return the scores of a table with a column a condition; None where it has fewer than two."""
    columns = [
        i
        for i in range(len(table.columns))
        if any(isinstance(row[i], Score) for row in table.rows)
    ]
    if len(columns) < 2:
        return None
    places = [(k + 0.5) / len(columns) for k in range(len(columns))]
    span = WIDTH - _LEFT - _RIGHT
    ticks = [(_LEFT + p * span, table.columns[c]) for c, p in zip(columns, places, strict=True)]
    return Plot(
        title=table.title,
        ticks=tuple(ticks),
        levels=_levels(),
        series=_over(table, columns, places),
    )


def interval_plot(table: Table) -> Plot | None:
    """Return a table's first scores as points with intervals, a line a row; None without any."""
    column = next(
        (i for i in range(len(table.columns)) if any(isinstance(r[i], Score) for r in table.rows)),
        None,
    )
    if column is None:
        return None
    span = WIDTH - _LABEL_WIDTH - _RIGHT
    height = _TOP + len(table.rows) * _ROW + _BOTTOM
    system = table.columns.index('system') if 'system' in table.columns else 0
    found = []
    for number, row in enumerate(table.rows):
        cell = row[column]
        name = str(row[system])
        spots: tuple[Spot, ...] = ()
        if isinstance(cell, Score) and cell.mean is not None:
            ends = (
                (None, None)
                if cell.interval is None
                else tuple(
                    _LABEL_WIDTH + v / 100 * span for v in (cell.interval.low, cell.interval.high)
                )
            )
            spots = (
                Spot(
                    x=_LABEL_WIDTH + cell.mean / 100 * span,
                    y=_TOP + (number + 0.5) * _ROW,
                    low=ends[0],
                    high=ends[1],
                    text=f'{name}: {cell.text()}',
                ),
            )
        found.append(Series(name=name, spots=spots))
    return Plot(
        title=table.title,
        ticks=tuple((_LABEL_WIDTH + v / 100 * span, f'{v:g}') for v in (0, 25, 50, 75, 100)),
        levels=tuple((_TOP + (k + 0.5) * _ROW, s.name) for k, s in enumerate(found)),
        series=tuple(found),
        height=height,
        left=_LABEL_WIDTH,
        bottom=height - _BOTTOM,
    )
