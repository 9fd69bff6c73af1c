"""A table that knows its figures and prints them as Markdown, CSV, JSON and LaTeX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
import csv
from dataclasses import dataclass
import io
import json
import math
import re
from typing import TypeAlias
import unicodedata

from oceangym_bench.analysis.statistics import Interval, wilson

Scalar: TypeAlias = 'str | int | float | None'

# What stands where there is no figure.
NOTHING = '–'

_LATEX = {
    '\\': r'\textbackslash{}',
    '~': r'\textasciitilde{}',
    '^': r'\textasciicircum{}',
    '–': '--',
    '±': r'$\pm$',
    '≤': r'$\leq$',
    '≥': r'$\geq$',
    '−': '$-$',
    '|': r'\textbar{}',
    '<': '$<$',
    '>': '$>$',
} | {sign: f'\\{sign}' for sign in '&%$#_{}'}


def fixed(value: float | None, decimals: int) -> str:
    """Return a number with a fixed number of decimals, a dash for none."""
    if value is None:
        return NOTHING
    text = f'{value:.{decimals}f}'
    return text.removeprefix('-') if not text.strip('-0.') else text


def _range(interval: Interval | None, decimals: int) -> str:
    if interval is None:
        return ''
    return f' [{fixed(interval.low, decimals)}, {fixed(interval.high, decimals)}]'


@dataclass(frozen=True)
class Number:
    """A plain number with its decimals."""

    value: float | None
    decimals: int = 0

    def text(self) -> str:
        """Return it as read by people."""
        return fixed(self.value, self.decimals)

    def values(self) -> dict[str, Scalar]:
        """Return what it consists of; the empty name is the figure itself."""
        return {'': self.value}


@dataclass(frozen=True, kw_only=True)
class Score:
    """Mean and spread of scores, 0..100, and what was left out of them.

    Attributes:
        mean: Over starts (of an average: over tasks); None where nothing was scored.
        sd: Sample deviation (ddof 1) over starts; of an average the mean of the tasks' deviations.
        starts: Number of starts.
        episodes: Number of scored episodes.
        interval: Of the mean.
        unscored: Episodes that ended by themselves and could not be scored.
        partial: Episodes cut short from outside.
        decimals: Printed.
    """

    mean: float | None
    sd: float | None = None
    starts: int = 0
    episodes: int = 0
    interval: Interval | None = None
    unscored: int = 0
    partial: int = 0
    decimals: int = 1

    def text(self) -> str:
        """Return it as read by people."""
        text = NOTHING
        if self.mean is not None:
            text = fixed(self.mean, self.decimals)
            if self.sd is not None:
                text += f' ± {fixed(self.sd, self.decimals)}'
            text += _range(self.interval, self.decimals)
            if self.starts:
                text += f' ({self.starts})'
        left_out = [
            f'{count} {name}'
            for count, name in ((self.unscored, 'unscored'), (self.partial, 'partial'))
            if count
        ]
        return ', '.join([text, *left_out])

    def values(self) -> dict[str, Scalar]:
        """Return what it consists of."""
        return {
            'mean': self.mean,
            'sd': self.sd,
            'n': self.starts,
            'episodes': self.episodes,
            'low': None if self.interval is None else self.interval.low,
            'high': None if self.interval is None else self.interval.high,
            'unscored': self.unscored,
            'partial': self.partial,
        }


@dataclass(frozen=True)
class Rate:
    """How many of some episodes did something, with its Wilson interval."""

    successes: int
    trials: int
    decimals: int = 1

    @property
    def interval(self) -> Interval | None:
        """Of the rate, 0..1."""
        return wilson(self.successes, self.trials)

    def text(self) -> str:
        """Return it as read by people, in percent."""
        if not self.trials:
            return NOTHING
        found = self.interval
        assert found is not None
        share = f'{fixed(100 * self.successes / self.trials, self.decimals)} %'
        low, high = fixed(100 * found.low, self.decimals), fixed(100 * found.high, self.decimals)
        ends = f'[{low}, {high}]'
        return f'{share} {ends} ({self.successes}/{self.trials})'

    def values(self) -> dict[str, Scalar]:
        """Return what it consists of."""
        found = self.interval
        return {
            'rate': self.successes / self.trials if self.trials else None,
            'successes': self.successes,
            'n': self.trials,
            'low': None if found is None else found.low,
            'high': None if found is None else found.high,
        }


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """A mean of scores over another one, with its interval; the upper end may be infinite."""

    value: float | None
    interval: Interval | None = None

    def text(self) -> str:
        """Return it as read by people."""
        return fixed(self.value, 2) + _range(self.interval, 2)

    def values(self) -> dict[str, Scalar]:
        """Return what it consists of; None for an end that is not finite."""
        ends = (None, None) if self.interval is None else (self.interval.low, self.interval.high)
        low, high = (e if e is not None and math.isfinite(e) else None for e in ends)
        return {'ratio': self.value, 'low': low, 'high': high}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """A paired difference of scores with its interval and test.

    Attributes:
        mean: Of the differences; None without a pair.
        interval: Of the mean.
        p: Two-sided, adjusted for the number of tests in its table.
        pairs: Number of pairs of episodes.
        starts: Number of starts they come from.
    """

    mean: float | None
    interval: Interval | None = None
    p: float | None = None
    pairs: int = 0
    starts: int = 0

    def text(self) -> str:
        """Return it as read by people."""
        if self.mean is None:
            return NOTHING
        sign = '+' if self.mean > 0 else ''
        p = '' if self.p is None else f', p {_p_text(self.p)}'
        return f'{sign}{fixed(self.mean, 1)}{_range(self.interval, 1)}{p} ({self.starts})'

    def values(self) -> dict[str, Scalar]:
        """Return what it consists of."""
        return {
            'mean': self.mean,
            'low': None if self.interval is None else self.interval.low,
            'high': None if self.interval is None else self.interval.high,
            'p': self.p,
            'n': self.starts,
            'pairs': self.pairs,
        }


def _p_text(p: float) -> str:
    return '< 0.001' if p < 0.001 else f'= {p:.3f}'


Cell: TypeAlias = 'str | int | Number | Score | Rate | Ratio | Difference | None'


def cell_text(cell: Cell) -> str:
    """Return a cell as read by people."""
    if cell is None:
        return NOTHING
    return str(cell) if isinstance(cell, (str, int)) else cell.text()


def cell_values(cell: Cell) -> dict[str, Scalar]:
    """Return the numbers of a cell by name; the empty name for one that is a single value."""
    return {'': cell} if cell is None or isinstance(cell, (str, int)) else cell.values()


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table.

    Attributes:
        title: What it shows.
        columns: Names.
        rows: One cell a column each.
        notes: What a reader must know, below it.
        name: Of its file.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    name: str = 'table'

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f'{len(row)} cells for {len(self.columns)} columns: {row}')
        if len(set(self.columns)) != len(self.columns):
            raise ValueError(f'a column is named twice: {self.columns}')

    def texts(self) -> tuple[tuple[str, ...], ...]:
        """Return the rows as read by people."""
        return tuple(tuple(cell_text(cell) for cell in row) for row in self.rows)

    def numeric(self, column: int) -> bool:
        """Return whether a column holds figures, to be set flush right."""
        return any(not isinstance(row[column], (str, type(None))) for row in self.rows)

    def markdown(self) -> str:
        """Return it as a Markdown table with aligned columns."""
        grid = [[_markdown(text) for text in row] for row in (self.columns, *self.texts())]
        right = [self.numeric(i) for i in range(len(self.columns))]
        widths = [max(3, *(_width(row[i]) for row in grid)) for i in range(len(self.columns))]
        rule = ['-' * (w - 1) + (':' if r else '-') for w, r in zip(widths, right, strict=True)]
        lines = [
            f'| {" | ".join(_pad(t, w, r) for t, w, r in zip(row, widths, right, strict=True))} |'
            for row in (grid[0], rule, *grid[1:])
        ]
        notes = [f'- {_markdown(note)}' for note in self.notes]
        parts = [f'**{_markdown(self.title)}**', '\n'.join(lines)]
        return '\n\n'.join([*parts, *(['\n'.join(notes)] if notes else [])]) + '\n'

    def csv(self) -> str:
        """Return it as CSV, a column for each number; title and notes are left out."""
        names = self._value_names()
        header = [
            f'{column} {name}' if name else column
            for column, group in zip(self.columns, names, strict=True)
            for name in group
        ]
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator='\n')
        writer.writerow(header)
        for row in self.rows:
            values = [cell_values(cell) for cell in row]
            writer.writerow(
                '' if (value := cell.get(name)) is None else value
                for cell, group in zip(values, names, strict=True)
                for name in group
            )
        return stream.getvalue()

    def _value_names(self) -> list[tuple[str, ...]]:
        names = []
        for index in range(len(self.columns)):
            found = [cell_values(row[index]) for row in self.rows if row[index] is not None]
            names.append(tuple(dict.fromkeys(n for values in found for n in values)) or ('',))
        return names

    def as_dict(self) -> dict[str, object]:
        """Return it as plain data."""
        return {
            'title': self.title,
            'columns': list(self.columns),
            'rows': [
                {c: _plain(cell_values(v)) for c, v in zip(self.columns, row, strict=True)}
                for row in self.rows
            ],
            'notes': list(self.notes),
        }

    def json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False, allow_nan=False) + '\n'

    def latex(self) -> str:
        """Return it as a LaTeX table environment (packages booktabs and graphicx)."""
        layout = ''.join('r' if self.numeric(i) else 'l' for i in range(len(self.columns)))
        lines = [
            r'\begin{table}',
            r'\centering',
            f'\\caption{{{latex_text(self.title)}}}',
            r'\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%',
            f'\\begin{{tabular}}{{{layout}}}',
            r'\toprule',
            *(_latex_row(row) for row in (self.columns,)),
            r'\midrule',
            *(_latex_row(row) for row in self.texts()),
            r'\bottomrule',
            r'\end{tabular}}',
            *(f'\\par\\footnotesize {latex_text(note)}' for note in self.notes),
            r'\end{table}',
        ]
        return '\n'.join(lines) + '\n'


def _plain(values: Mapping[str, Scalar]) -> Scalar | dict[str, Scalar]:
    return values[''] if set(values) == {''} else dict(values)


def _markdown(text: str) -> str:
    flat = ' '.join(text.split()).replace('&', '&amp;').replace('<', '&lt;')
    return re.sub(r'([\\`*|])', r'\\\1', flat)


def _width(text: str) -> int:
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in 'WF' else 1
        for c in text
    )


def _pad(text: str, width: int, right: bool) -> str:
    gap = ' ' * (width - _width(text))
    return gap + text if right else text + gap


def latex_text(text: str) -> str:
    """Return text with LaTeX's special characters escaped."""
    return ''.join(_LATEX.get(sign, sign) for sign in ' '.join(text.split()))


def _latex_row(texts: Sequence[str]) -> str:
    return ' & '.join(latex_text(text) for text in texts) + r' \\'
