"""The figures show the means and intervals of the tables, and are the same whenever they are made."""

from dataclasses import replace
from pathlib import Path

import pytest

from oceangym_bench.analysis.figures import save_figure, scaling_figure, transfer_figure
from oceangym_bench.analysis.results import EpisodeRow, System, Transfer
from oceangym_bench.analysis.studies import scaling_points, transfer_points
from oceangym_core.errors import OceanGymError


def row(score: float, number: int, **changes: object) -> EpisodeRow:
    plain = EpisodeRow(
        source=f'runs/{number}',
        run_id=str(number),
        system=System(model='alpha'),
        task='dock',
        water='shallow',
        start=f'random_{number}',
        t_max=1800.0,
        scores={'verified': score},
        ending='time',
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def over_time() -> list[EpisodeRow]:
    return [
        row(
            10 * hours + 3 * number,
            number,
            t_max=3600 * hours,
            water=water,
            system=System(model=m),
        )
        for hours in (0.5, 1.0, 3.0)
        for number in range(6)
        for water in ('shallow', 'deep')
        for m in ('alpha', 'beta')
    ]


def test_scaling_figure_has_a_panel_a_water_and_the_points_of_the_table() -> None:
    figure = scaling_figure(over_time())
    assert [panel.get_title() for panel in figure.axes] == ['shallow water', 'deep water']
    points = scaling_points(over_time())['alpha', 'shallow']
    drawn = figure.axes[0].containers[0][0].get_ydata()
    assert list(drawn) == [score.mean for score in points.values()] == [12.5, 17.5, 37.5]
    (bars,) = figure.axes[0].containers[0][2]
    first = points[1800.0].interval
    assert first is not None
    assert bars.get_segments()[0][:, 1].tolist() == pytest.approx([first.low, first.high])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ['alpha', 'beta']


def test_transfer_figure_has_a_place_for_each_condition() -> None:
    rows = [
        row(score + number, number, system=System(model='alpha', transfer=transfer))
        for transfer, score in ((Transfer.NONE, 10.0), (Transfer.CROSS, 30.0))
        for number in range(6)
    ]
    figure = transfer_figure(rows)
    assert [t.get_text() for t in figure.axes[0].get_xticklabels()] == ['none', 'cross task']
    drawn = figure.axes[0].containers[0][0]
    means = [score.mean for score in transfer_points(rows)['alpha', 'shallow'].values()]
    assert list(drawn.get_ydata()) == means == [12.5, 32.5]
    assert list(drawn.get_xdata()) == [0, 1]


def test_unscored_points_are_left_out() -> None:
    rows = [row(1.0, n, scores={'verified': None}) for n in range(3)]
    assert not scaling_figure(rows).axes[0].containers


@pytest.mark.parametrize('ending', ['svg', 'png', 'pdf'])
def test_the_same_episodes_give_the_same_file(tmp_path: Path, ending: str) -> None:
    one, other = (
        save_figure(scaling_figure(over_time()), tmp_path / f'{name}.{ending}') for name in 'ab'
    )
    assert one.read_bytes() == other.read_bytes()


def test_wrong_places_and_formats_are_named(tmp_path: Path) -> None:
    figure = scaling_figure(over_time())
    with pytest.raises(OceanGymError, match='unknown figure format'):
        save_figure(figure, tmp_path / 'a.gif')
    with pytest.raises(OceanGymError, match='cannot write'):
        save_figure(figure, tmp_path / 'nowhere' / 'a.svg')
