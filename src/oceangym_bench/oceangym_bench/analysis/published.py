"""What the paper printed, and whether its figures follow from each other by our table code.

Source: OceanGym, arXiv preprint "OCEANGYM: A Benchmark Environment for Underwater Embodied Agents",
Tables 1, 2 and 3. The counts behind Table 1 are ours: the only ones that give its percentages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
import math
import statistics

from oceangym_bench.analysis.results import EpisodeRow, System
from oceangym_bench.analysis.table import Cell, Number, Rate, Score, Table
from oceangym_bench.analysis.tables import score_table
from oceangym_core.config.tasks import TaskRegistry

SETTINGS = ('multi-view', 'multi-view + sonar', 'context', 'context + sonar')
# Scenes of each setting, the same in both waters.
SCENES = (55, 55, 30, 30)
WATERS = ('shallow', 'deep')

# Scenes answered right, by model: shallow, then deep, each in the order of `SETTINGS`.
TABLE_1_COUNTS: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    'GLM-4.5V': ((29, 31, 14, 19), (20, 17, 6, 10)),
    'GPT-4o-mini': ((19, 19, 6, 10), (8, 11, 1, 2)),
    'Gemini-2.5-Flash': ((16, 17, 15, 10), (5, 3, 6, 9)),
    'Qwen2.5-VL-7B': ((32, 24, 17, 21), (15, 11, 10, 10)),
    'MiniCPM-V-4.5': ((29, 24, 11, 7), (16, 13, 13, 4)),
    'Human': ((55, 55, 30, 30), (52, 54, 26, 27)),
    'GPT-4o-mini (prompt 2)': ((30, 25, 12, 9), (11, 11, 3, 0)),
}

# Percentages as printed in Tables 1 and 3, by model: shallow, then deep, the average last.
TABLE_1: dict[str, tuple[str, str]] = {
    'GLM-4.5V': ('52.73 56.36 46.67 63.33 54.77', '36.36 30.91 20.00 33.33 30.15'),
    'GPT-4o-mini': ('34.55 34.55 20.00 33.33 30.61', '14.55 20.00 3.33 6.67 11.14'),
    'Gemini-2.5-Flash': ('29.09 30.91 50.00 33.33 35.83', '9.09 5.45 20.00 30.00 16.14'),
    'Qwen2.5-VL-7B': ('58.18 43.64 56.67 70.00 57.12', '27.27 20.00 33.33 33.33 28.48'),
    'MiniCPM-V-4.5': ('52.73 43.64 36.67 23.33 39.09', '29.09 23.64 43.33 13.33 27.35'),
    'Human': ('100.00 100.00 100.00 100.00 100.00', '94.55 98.18 86.67 90.00 92.35'),
    'GPT-4o-mini (prompt 2)': ('54.55 45.45 40.00 30.00 42.5', '20.00 20.00 10.00 0.00 12.5'),
}

TABLE_2_MODELS = ('GLM-4.5V', 'GPT-4o-mini', 'Gemini-2.5', 'Qwen2.5-VL-7B', 'Human')
AVERAGE = 'average'

# Mean ± standard deviation as printed in Table 2, by water and task, in the order of the models.
TABLE_2: dict[str, dict[str, tuple[str, ...]]] = {
    'shallow': {
        'locate_robot': ('6.6 ± 19.83', '8.9 ± 10.1', '0.0 ± 0.00', '7.8 ± 13.5', '100'),
        'locate_drums': ('10.7 ± 16.52', '11.1 ± 19.2', '3.5 ± 6.0', '5.7 ± 9.8', '100'),
        'locate_electrical_box': (
            '7.9 ± 17.08',
            '36.6 ± 21.9',
            '15.9 ± 27.4',
            '8.7 ± 15.0',
            '100',
        ),
        'search_ship': ('5.9 ± 5.04', '13.4 ± 19.3', '20.5 ± 14.3', '10.3 ± 10.3', '100'),
        'search_aircraft': ('25.0 ± 6.10', '16.9 ± 17.8', '11.7 ± 15.6', '7.8 ± 10.0', '100'),
        'inspect_pipe': ('37.8 ± 17.88', '27.1 ± 23.6', '18.3 ± 15.8', '30.8 ± 25.2', '100'),
        'inspect_turbine': ('20.3 ± 28.89', '13.9 ± 14.33', '25.1 ± 22.1', '14.7 ± 17.0', '100'),
        'dock': ('14.9 ± 13.20', '19.2 ± 33.28', '19.4 ± 33.6', '8.3 ± 7.2', '100'),
        AVERAGE: ('16.1 ± 15.6', '18.4 ± 19.9', '14.4 ± 16.1', '11.8 ± 13.7', '100'),
    },
    'deep': {
        'locate_drums': ('10.6 ± 21.35', '5.6 ± 9.69', '0.0 ± 0.0', '0.0 ± 0.0', '40.8'),
        'search_ship': ('2.9 ± 2.16', '12.8 ± 14.48', '8.2 ± 14.1', '3.4 ± 5.8', '100'),
        'inspect_pipe': ('32.5 ± 5.86', '15.8 ± 15.5', '6.6 ± 11.4', '21.7 ± 25.3', '78.2'),
        'inspect_turbine': ('0.0 ± 0.0', '25.1 ± 16.0', '10.6 ± 10.0', '0.4 ± 0.6', '100'),
        AVERAGE: ('11.5 ± 7.3', '14.8 ± 13.9', '6.4 ± 8.8', '6.4 ± 8.4', '69.6'),
    },
}


@dataclass(frozen=True, kw_only=True)
class Printed:
    """A printed figure: mean and deviation, each with its number of decimals."""

    mean: float
    sd: float | None
    mean_decimals: int
    sd_decimals: int

    @classmethod
    def parse(cls, text: str) -> Printed:
        """Read ``mean`` or ``mean ± sd``."""
        mean, _, sd = (part.strip() for part in text.partition('±'))
        return cls(
            mean=float(mean),
            sd=float(sd) if sd else None,
            mean_decimals=_decimals(mean),
            sd_decimals=_decimals(sd),
        )


def _decimals(text: str) -> int:
    return len(text.partition('.')[2])


@dataclass(frozen=True, kw_only=True)
class Inconsistency:
    """A printed figure that does not follow from the others.

    Attributes:
        table: 1 or 2.
        model, row, water: Where.
        quantity: ``mean`` or ``sd``.
        printed: As printed.
        recomputed: From the printed rows.
    """

    table: int
    model: str
    row: str
    water: str
    quantity: str
    printed: float
    recomputed: float

    def text(self) -> str:
        """Return it as a note."""
        return (
            f'Table {self.table}, {self.model}, {self.water} {self.row}: the {self.quantity} is '
            f'printed as {self.printed:g}; the printed rows give {self.recomputed:.2f}.'
        )


def _follows(recomputed: float, printed: float, decimals: int) -> bool:
    """Return whether a figure may be printed so: it lies within half a unit of the last digit."""
    return abs(recomputed - printed) <= 0.5 * 10.0**-decimals + 1e-9


def rebuild_table_1(counts: Mapping[str, tuple[tuple[int, ...], ...]] = TABLE_1_COUNTS) -> Table:
    """Return Table 1 from counts: rates, and the unweighted mean of each water's four."""
    rows: list[tuple[Cell, ...]] = []
    for model, waters in counts.items():
        for water, right in zip(WATERS, waters, strict=True):
            rates = [Rate(k, n, decimals=2) for k, n in zip(right, SCENES, strict=True)]
            average = statistics.fmean(100 * rate.successes / rate.trials for rate in rates)
            rows.append((model, water, *rates, Number(average, 2)))
    return Table(
        name='published_perception',
        title='Perception as published (Tables 1 and 3 of the paper), rebuilt from counts',
        columns=('model', 'water', *SETTINGS, 'average'),
        rows=tuple(rows),
        notes=tuple(problem.text() for problem in table_1_inconsistencies()),
    )


def table_1_inconsistencies() -> tuple[Inconsistency, ...]:
    """Return every printed percentage of Table 1 that the counts do not give; there are none."""
    problems = []
    for model, waters in TABLE_1_COUNTS.items():
        for water, right, line in zip(WATERS, waters, TABLE_1[model], strict=True):
            shares = [100 * k / n for k, n in zip(right, SCENES, strict=True)]
            values = [*shares, statistics.fmean(shares)]
            for name, value, text in zip((*SETTINGS, AVERAGE), values, line.split(), strict=True):
                if not _follows(value, float(text), _decimals(text)):
                    problems.append(
                        Inconsistency(
                            table=1,
                            model=model,
                            row=name,
                            water=water,
                            quantity='mean',
                            printed=float(text),
                            recomputed=value,
                        )
                    )
    return tuple(problems)


def table_2_rows() -> tuple[EpisodeRow, ...]:
    """Return episodes whose means and deviations over starts are those printed in Table 2.

    The runs behind it are not published. Three starts at mean - sd, mean and mean + sd are the
    plainest sample that has both (one start where no deviation is printed).
    """
    registry = TaskRegistry.load()
    rows = []
    for water, tasks in TABLE_2.items():
        for task, texts in tasks.items():
            if task == AVERAGE:
                continue
            spec = registry.get(task)
            for model, text in zip(TABLE_2_MODELS, texts, strict=True):
                figure = Printed.parse(text)
                steps = (0.0,) if figure.sd is None else (-figure.sd, 0.0, figure.sd)
                rows += [
                    EpisodeRow(
                        source=f'Table 2, {model}, {water} {task}',
                        run_id=f'{model}_{task}_{water}_{number}',
                        system=System(model=model),
                        task=task,
                        water=water,
                        category=spec.category,
                        size_class=spec.size_class,
                        start=f'start {number}',
                        t_max=1800.0,
                        backend='published',
                        scores={'paper': figure.mean + step},
                        ending='unknown',
                    )
                    for number, step in enumerate(steps, start=1)
                ]
    return tuple(rows)


def rebuild_table_2() -> Table:
    """Return Table 2 from its printed rows; its averages are ours, and notes say where they differ."""
    table = score_table(table_2_rows(), scorer='paper')
    plain = tuple(
        tuple(
            Score(mean=cell.mean, sd=cell.sd, decimals=2) if isinstance(cell, Score) else cell
            for cell in row
        )
        for row in table.rows
    )
    return Table(
        name='published_decision',
        title='Decisions as published (Table 2 of the paper), averages rebuilt from its rows',
        columns=table.columns,
        rows=plain,
        notes=(
            'Mean ± standard deviation over runs, as printed.',
            *(problem.text() for problem in table_2_inconsistencies()),
        ),
    )


def table_2_inconsistencies() -> tuple[Inconsistency, ...]:
    """Return every figure of Table 2 that our table code does not get from its printed rows."""
    table = score_table(table_2_rows(), scorer='paper')
    problems = []
    for line in table.rows:
        row, water = str(line[0]), str(line[1])
        for model, cell in zip(table.columns[2:], line[2:], strict=True):
            figure = Printed.parse(TABLE_2[water][row][TABLE_2_MODELS.index(model)])
            assert isinstance(cell, Score)
            for quantity, value, printed, decimals in (
                ('mean', cell.mean, figure.mean, figure.mean_decimals),
                ('sd', cell.sd, figure.sd, figure.sd_decimals),
            ):
                if value is None or printed is None or _follows(value, printed, decimals):
                    continue
                problems.append(
                    Inconsistency(
                        table=2,
                        model=model,
                        row=row,
                        water=water,
                        quantity=quantity,
                        printed=printed,
                        recomputed=value,
                    )
                )
    return tuple(problems)


def single_success(text: str, runs: int) -> float | None:
    """Return the score of the only run that was not 0, if the printed mean ± sd allows for that.

    Of n runs x, 0, .., 0 the mean is x / n and the sample deviation x / sqrt(n): "19.4 ± 33.6" is
    one run of 58.2 and two of 0. None where no x is printed so.
    """
    figure = Printed.parse(text)
    if figure.sd is None or figure.mean == 0:
        return None
    half_mean, half_sd = 0.5 * 10.0**-figure.mean_decimals, 0.5 * 10.0**-figure.sd_decimals
    root = math.sqrt(runs)
    low = max((figure.mean - half_mean) * runs, (figure.sd - half_sd) * root)
    high = min((figure.mean + half_mean) * runs, (figure.sd + half_sd) * root)
    return (low + high) / 2 if low <= high else None


def published_text() -> str:
    """Return both tables as Markdown."""
    return '\n'.join(table.markdown() for table in (rebuild_table_1(), rebuild_table_2()))
