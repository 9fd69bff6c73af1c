"""The paper's tables rebuilt by our table code, and what in them does not follow."""

import numpy as np
import pytest

from oceangym_bench.analysis import published
from oceangym_bench.analysis.published import (
    AVERAGE,
    Inconsistency,
    Printed,
    rebuild_table_1,
    rebuild_table_2,
    single_success,
    TABLE_1,
    table_1_inconsistencies,
    TABLE_2,
    table_2_inconsistencies,
    TABLE_2_MODELS,
    table_2_rows,
    WATERS,
)
from oceangym_bench.analysis.statistics import summarise
from oceangym_bench.analysis.table import Number, Rate, Score
from oceangym_bench.analysis.tables import score_table


def test_every_percentage_of_table_1_follows_from_the_counts() -> None:
    table = rebuild_table_1()
    assert len(table.rows) == 14
    for model, water, *cells in table.rows:
        printed = TABLE_1[str(model)][WATERS.index(str(water))].split()
        for cell, text in zip(cells, printed, strict=True):
            value = cell.value if isinstance(cell, Number) else None
            if isinstance(cell, Rate):
                value = 100 * cell.successes / cell.trials
            assert value == pytest.approx(float(text), abs=0.005 + 1e-9)
    assert table_1_inconsistencies() == ()


def test_counts_are_the_only_ones_that_give_the_percentages() -> None:
    for model, waters in published.TABLE_1_COUNTS.items():
        for line, right in zip(TABLE_1[model], waters, strict=True):
            for text, k, n in zip(line.split(), right, published.SCENES, strict=False):
                fits = [i for i in range(n + 1) if abs(100 * i / n - float(text)) <= 0.005 + 1e-9]
                assert fits == [k]


def test_a_wrong_count_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    shallow, deep = published.TABLE_1_COUNTS['Human']
    wrong = {**published.TABLE_1_COUNTS, 'Human': ((54, *shallow[1:]), deep)}
    monkeypatch.setattr(published, 'TABLE_1_COUNTS', wrong)
    assert [p.row for p in table_1_inconsistencies()] == ['multi-view', AVERAGE]


def test_every_mean_and_deviation_of_table_2_comes_out_of_our_table_code() -> None:
    table = score_table(table_2_rows(), scorer='paper')
    seen = 0
    for task, water, *cells in table.rows:
        if task == AVERAGE:
            continue
        for model, cell in zip(table.columns[2:], cells, strict=True):
            text = TABLE_2[str(water)][str(task)][TABLE_2_MODELS.index(model)]
            figure = Printed.parse(text)
            assert isinstance(cell, Score)
            assert cell.mean == pytest.approx(figure.mean)
            assert cell.sd == (None if figure.sd is None else pytest.approx(figure.sd))
            seen += 1
    assert seen == 12 * 5


def test_its_inconsistencies_are_found() -> None:
    found = {
        (p.model, p.water, p.quantity): (p.printed, round(p.recomputed, 3))
        for p in table_2_inconsistencies()
    }
    assert found == {
        ('Human', 'deep', 'mean'): (69.6, 79.75),
        ('Gemini-2.5', 'shallow', 'mean'): (14.4, 14.3),
        ('Gemini-2.5', 'shallow', 'sd'): (16.1, 16.85),
        ('Gemini-2.5', 'deep', 'sd'): (8.8, 8.875),
        ('Qwen2.5-VL-7B', 'shallow', 'sd'): (13.7, 13.5),
        ('Qwen2.5-VL-7B', 'deep', 'sd'): (8.4, 7.925),
    }
    assert all(p.row == AVERAGE for p in table_2_inconsistencies())


def test_inconsistencies_are_noted_below_the_table() -> None:
    notes = '\n'.join(rebuild_table_2().notes)
    assert 'Human, deep average: the mean is printed as 69.6; the printed rows give 79.75' in notes
    assert 'Gemini-2.5, shallow average: the mean is printed as 14.4' in notes
    assert isinstance(table_2_inconsistencies()[0], Inconsistency)


@pytest.mark.parametrize(
    ('text', 'runs', 'score'),
    [
        ('19.4 ± 33.6', 3, 58.2),  # docking, Gemini
        ('19.2 ± 33.28', 3, 57.64),  # docking, GPT-4o-mini
        ('11.1 ± 19.2', 3, 33.26),
        ('5.6 ± 9.69', 3, 16.78),
        ('6.6 ± 19.83', 9, 59.5),  # robot, GLM: one success in nine runs
    ],
)
def test_one_success_of_several_runs_prints_as_published(
    text: str, runs: int, score: float
) -> None:
    found = single_success(text, runs)
    assert found == pytest.approx(score, abs=0.05)
    assert found is not None
    again = summarise([[found], *[[0.0]] * (runs - 1)])
    figure = Printed.parse(text)
    assert round(again.mean, figure.mean_decimals) == figure.mean
    assert again.sd is not None
    assert round(again.sd, figure.sd_decimals) == pytest.approx(figure.sd)


def test_other_rows_are_no_single_success() -> None:
    assert single_success('36.6 ± 21.9', 3) is None
    assert single_success('0.0 ± 0.0', 3) is None
    assert single_success('100', 3) is None
    assert single_success('6.6 ± 19.83', 3) is None


def test_printed_averages_of_deviations_are_means_of_the_rows() -> None:
    deep = [Printed.parse(TABLE_2['deep'][t][1]).sd for t in TABLE_2['deep'] if t != AVERAGE]
    assert np.mean([sd for sd in deep if sd is not None]) == pytest.approx(13.9175)


def test_published_text_holds_both_tables() -> None:
    text = published.published_text()
    assert '52.73 % [39.79, 65.31] (29/55)' in text
    assert '79.75' in text and '6.60 ± 19.83' in text
