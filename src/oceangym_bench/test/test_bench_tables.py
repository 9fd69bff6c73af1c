"""Tables of made-up episodes whose figures are known, and what may not stand in one table."""

from collections.abc import Callable, Sequence
import csv
from dataclasses import replace
import io
import json
from pathlib import Path
import re

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from oceangym_bench.analysis.comparable import check_comparable, labels_of
from oceangym_bench.analysis.comparisons import compare, ranking
from oceangym_bench.analysis.results import EpisodeRow, System, Transfer
from oceangym_bench.analysis.studies import scaling_points, scaling_table, transfer_table
from oceangym_bench.analysis.table import Difference, Number, Rate, Ratio, Score, Table
from oceangym_bench.analysis.table_sets import benchmark_tables, headline_of, write_tables
from oceangym_bench.analysis.tables import (
    category_table,
    cost_table,
    layout_table,
    rate_table,
    score_table,
    scorer_table,
    size_table,
)
from oceangym_bench.matrix.hidden_layouts import layout_label
from oceangym_bench.matrix.tracks import Track
from oceangym_core.errors import OceanGymError
from oceangym_core.rng import generator

BASE = EpisodeRow(
    source='runs/a',
    run_id='a',
    system=System(model='alpha'),
    task='locate_drums',
    water='shallow',
    category='detection',
    size_class='small',
    start='point1',
    place=(0.0,),
    seed=0,
    world='ocean',
    world_seed=0,
    t_max=1800.0,
    t_interval=30.0,
    profile='standard',
    track=Track.V,
    backend='embedded',
    frame='shifted',
    mode='lockstep',
    nav='truth',
    version='2.0.0',
    scores={'verified': 0.0, 'paper': 0.0, 'compat': 0.0},
    ending='time',
    collisions=0,
    standoff_events=0,
    boundary_events=0,
    targets=1,
)


def row(score: float | None = 0.0, number: int = 0, **changes: object) -> EpisodeRow:
    """Return an episode at a numbered start."""
    model = str(changes.pop('model', 'alpha'))
    values = {
        'source': f'runs/{model}_{number}',
        'system': System(model=model),
        'start': f'random_{number}',
        'place': (float(number),),
        'scores': {'verified': score, 'paper': score, 'compat': score},
    }
    return replace(BASE, **{**values, **changes})  # type: ignore[arg-type]


def cell(table: Table, line: str, column: str, water: str = 'shallow') -> object:
    """Return one cell of a table with a column of waters."""
    found = next(r for r in table.rows if r[:2] == (line, water))
    return found[table.columns.index(column)]


def test_cell_holds_mean_and_deviation_over_starts() -> None:
    rows = [row(0, 0), row(100, 0, seed=1), row(20, 1), row(20, 2)]
    found = cell(score_table(rows), 'locate_drums', 'alpha')
    assert isinstance(found, Score)
    assert (found.mean, found.starts, found.episodes) == (30, 3, 4)
    assert found.sd == pytest.approx(np.std([50, 20, 20], ddof=1))
    assert found.interval is not None and 30 in found.interval


def test_seeds_at_a_fixed_start_are_repeats_and_layouts_are_starts() -> None:
    fixed = [row(s, 0, start='point1', seed=s) for s in (1, 2, 3)]
    found = cell(score_table(fixed), 'locate_drums', 'alpha')
    assert isinstance(found, Score) and found.starts == 1
    layouts = [row(s, 0, start='point1', world_seed=s) for s in (1, 2, 3)]
    found = cell(score_table(layouts), 'locate_drums', 'alpha')
    assert isinstance(found, Score) and found.starts == 3


def test_random_starts_of_one_name_are_told_apart_by_their_place() -> None:
    rows = [row(10, s, start='random', seed=s) for s in range(4)]
    found = cell(score_table(rows), 'locate_drums', 'alpha')
    assert isinstance(found, Score) and found.starts == 4


def test_rows_come_in_the_papers_order_with_averages_below_each_water() -> None:
    tasks = ['dock', 'inspect_pipe', 'own_task', 'locate_robot', 'search_ship']
    rows = [row(1, s, task=t, water=w) for t in tasks for w in ('deep', 'shallow') for s in (0, 1)]
    order = ['locate_robot', 'search_ship', 'inspect_pipe', 'dock', 'own_task', 'average']
    assert [r[:2] for r in score_table(rows).rows] == [
        (task, water) for water in ('shallow', 'deep') for task in order
    ]


def test_average_is_the_mean_of_task_means_and_of_their_deviations() -> None:
    rows = [row(s, i) for i, s in enumerate((0, 30, 60))]
    rows += [row(s, i, task='dock') for i, s in enumerate((90, 100))]
    found = cell(score_table(rows), 'average', 'alpha')
    assert isinstance(found, Score)
    assert found.mean == pytest.approx((30 + 95) / 2)
    assert found.sd == pytest.approx((30 + np.std([90, 100], ddof=1)) / 2)


def test_no_average_where_a_task_has_no_score() -> None:
    rows = [row(50, s, task=t) for t in ('dock', 'locate_drums') for s in (0, 1)]
    rows += [row(90, s, task='dock', model='beta') for s in (0, 1)]
    found = cell(score_table(rows), 'average', 'beta')
    assert isinstance(found, Score) and found.mean is None and found.text() == '–'


def test_unscored_and_partial_episodes_are_counted_beside_and_never_zero() -> None:
    rows = [
        row(80, 0),
        row(60, 1),
        row(None, 2, reason='the record holds no truth'),
        row(0, 3, partial=True, ending='budget'),
        row(None, 4, partial=True, ending='error'),
    ]
    table = score_table(rows)
    found = cell(table, 'locate_drums', 'alpha')
    assert isinstance(found, Score)
    assert (found.mean, found.starts, found.unscored, found.partial) == (70, 2, 1, 2)
    assert found.text().endswith('(2), 1 unscored, 2 partial')
    assert any('1 episodes are unscored' in n and 'holds no truth' in n for n in table.notes)
    assert any('2 episodes are partial' in n and 'budget, error' in n for n in table.notes)


def test_a_cell_without_any_score_is_a_dash() -> None:
    found = cell(score_table([row(None, 0)]), 'locate_drums', 'alpha')
    assert isinstance(found, Score)
    assert found.mean is None
    assert found.text() == '–, 1 unscored'


def test_figures_do_not_depend_on_the_order_of_the_episodes() -> None:
    random = generator(0, 'order')
    rows = [
        row(float(random.uniform(0, 100)), s, seed=k, model=m, task=t)
        for s in range(4)
        for k in range(2)
        for m in ('alpha', 'beta')
        for t in ('dock', 'locate_drums')
    ]
    shuffled = [rows[i] for i in random.permutation(len(rows))]
    for one, other in zip(benchmark_tables(rows), benchmark_tables(shuffled), strict=True):
        assert one == other


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        ({'version': '1.1.0'}, 'benchmark version'),
        ({'backend': 'gazebo'}, 'backend'),
        ({'track': Track.AIDED}, 'track'),
        ({'actions': 'extended'}, 'actions'),
        ({'profile': 'hard'}, 'profile'),
        ({'nav': 'dead_reckoning'}, 'navigation'),
        ({'frame': 'map'}, 'frame'),
        ({'mode': 'realtime at 1'}, 'mode'),
        ({'t_interval': 10.0}, 't_interval'),
    ],
)
@pytest.mark.parametrize('make', [score_table, rate_table, cost_table, ranking, transfer_table])
def test_what_differs_in_its_conditions_is_not_mixed(
    change: dict[str, object], message: str, make: Callable[[Sequence[EpisodeRow]], object]
) -> None:
    one, other = row(1, 0), row(1, 1, model='beta', **change)
    ((_, was),) = [(k, getattr(one, k)) for k in change]
    with pytest.raises(OceanGymError, match=f'cannot mix {message}') as caught:
        make([one, other])
    for text in ('runs/alpha_0', 'runs/beta_1', str(getattr(was, 'value', was))):
        assert text in str(caught.value)


@pytest.mark.parametrize('name', ['world', 'props', 'task', 'prompt', 'scorers', 'sensors'])
def test_content_that_differs_is_not_mixed(name: str) -> None:
    with pytest.raises(OceanGymError, match=f'content hash of {name}') as caught:
        check_comparable([row(1, 0, hashes={name: 'a' * 64}), row(1, 1, hashes={name: 'b' * 64})])
    assert 'aaaa' in str(caught.value) and 'bbbb' in str(caught.value)


def test_two_edits_of_one_preset_are_not_mixed() -> None:
    one, two = row(1, 0, preset='a' * 64), row(1, 1, preset='b' * 64)
    with pytest.raises(OceanGymError, match='two presets called alpha') as caught:
        check_comparable([one, two])
    for text in ('aaaa', 'bbbb', one.source, two.source):
        assert text in str(caught.value)
    # Each model has its own, and older records do not say.
    check_comparable([one, row(1, 1, model='beta', preset='b' * 64), row(1, 2), one])


def test_each_layout_task_water_and_prompt_has_a_hash_of_its_own() -> None:
    def prompt(name: str) -> System:
        return System(model='alpha', settings=(('prompt', name),))

    check_comparable(
        [
            row(
                1, hashes={'world': 'a', 'props': 'a', 'task': 'a', 'sensors': 'a', 'prompt': 'a'}
            ),
            row(1, world_seed=1, hashes={'world': 'b', 'props': 'b'}),
            row(1, task='dock', hashes={'task': 'b'}),
            row(1, water='deep', hashes={'sensors': 'b'}),
            row(1, system=prompt('one'), hashes={'prompt': 'c'}),
            row(1, system=prompt('two'), hashes={'prompt': 'd'}),
        ]
    )


def test_durations_are_no_repeats() -> None:
    rows = [row(1, 0), row(2, 0, t_max=3600.0)]
    for make in (score_table, rate_table, ranking, transfer_table):
        with pytest.raises(OceanGymError, match='durations are no repeats'):
            make(rows)


def test_no_episodes_make_no_table() -> None:
    with pytest.raises(OceanGymError, match='no episodes'):
        score_table([])


def test_an_unknown_scorer_is_named() -> None:
    with pytest.raises(OceanGymError, match='Did you mean'):
        score_table([row(1)], scorer='verifed')


def test_systems_are_named_by_what_tells_them_apart() -> None:
    def system(model: str, **changes: object) -> System:
        settings = (('prompt', str(changes.pop('prompt', 'oceangym'))), ('loop', 'single'))
        return System(model=model, settings=settings, **changes)  # type: ignore[arg-type]

    labels = labels_of(
        [
            system('b', prompt='plain'),
            system('b'),
            system('a'),
            system('c', transfer=Transfer.WITHIN),
            system('c'),
            system('c', transfer=Transfer.WITHIN, strip='coordinates'),
            system('d', privileged=True),
        ]
    )
    assert list(labels.values()) == [
        'a',
        'b (prompt oceangym)',
        'b (prompt plain)',
        'c (memory within task)',
        'c (memory within task, coordinates stripped)',
        'c (no memory)',
        'd (knows the truth)',
    ]


def test_settings_of_a_model_are_no_repeats_of_each_other() -> None:
    systems = [System(model='alpha', settings=(('loop', x),)) for x in ('single', 'perceive_act')]
    table = score_table([row(20, 0, system=systems[0]), row(40, 0, system=systems[1])])
    assert table.columns[2:] == ('alpha (loop perceive_act)', 'alpha (loop single)')


def test_categories_and_sizes_average_tasks_not_episodes() -> None:
    rows = [row(0, s) for s in range(8)]
    rows += [row(60, s, task='search_ship', size_class='large') for s in range(2)]
    rows += [row(90, s, task='dock', size_class='medium', category='tracking') for s in range(2)]
    by_category, by_size = category_table(rows), size_table(rows)
    found = cell(by_category, 'detection', 'alpha')
    assert isinstance(found, Score) and (found.mean, found.starts) == (30, 10)
    assert [r[0] for r in by_size.rows] == ['small', 'medium', 'large']
    assert [r[2].mean for r in by_size.rows if isinstance(r[2], Score)] == [0, 90, 60]


def test_layouts_are_averaged_apart() -> None:
    rows = [
        row(score + 10 * (task == 'dock'), number, task=task, world_seed=layout)
        for layout, score in ((0, 60.0), (7, 20.0))
        for task in ('dock', 'locate_drums')
        for number in range(3)
    ]
    lines = layout_table(rows).rows
    assert [line[:2] for line in lines] == [('released', 'shallow'), (layout_label(7), 'shallow')]
    assert [line[2].mean for line in lines if isinstance(line[2], Score)] == [65, 25]
    assert 'layout' in [table.name for table in benchmark_tables(rows)]


def test_rates_count_episodes_with_wilson_intervals() -> None:
    rows = [row(1, s, collisions=int(s < 2), funnel={'in_view': 1}) for s in range(51)]
    rows += [row(None, 60), row(5, 61, partial=True, collisions=3)]
    table = rate_table(rows)
    collided = next(r[1] for r in table.rows if r[0] == 'collided')
    assert isinstance(collided, Rate)
    assert (collided.successes, collided.trials) == (2, 51)
    assert collided.text() == '3.9 % [1.1, 13.2] (2/51)'
    seen = next(r[1] for r in table.rows if r[0] == 'had a target in view')
    assert isinstance(seen, Rate) and (seen.successes, seen.trials) == (51, 51)


def test_every_target_verified_asks_for_all_of_them() -> None:
    rows = [
        row(1, 0, targets=2, funnel={'verified': 2}),
        row(1, 1, targets=2, funnel={'verified': 1}),
        row(1, 2, targets=2),
    ]
    lines = {r[0]: r[1] for r in rate_table(rows).rows}
    assert lines['had a find verified'] == Rate(2, 3)
    assert lines['had every target verified'] == Rate(1, 3)


def test_costs_count_partial_and_unscored_episodes_too() -> None:
    spent = {'decisions': 10, 'tokens': 5000, 'cost': 0.25, 'latency': 18.0, 'invalid_replies': 1}
    rows = [
        row(1, 0, funnel={'verified': 1}, **spent),
        row(None, 1, **spent),
        row(1, 2, partial=True, **spent),
        row(1, 3, **spent),
    ]
    table = cost_table(rows)
    line = dict(zip(table.columns, table.rows[0], strict=True))
    assert [line[k] for k in ('episodes', 'unscored', 'partial', 'decisions')] == [4, 1, 1, 40]
    assert line['invalid replies'] == 4
    assert line['tokens a decision'] == Number(500)
    assert line['cost [USD]'] == Number(1.0, 2)
    assert line['USD a verified find'] == Number(1.0, 4)
    assert line['s a decision'] == Number(1.8, 1)


def test_scorers_stand_side_by_side() -> None:
    rows = [
        row(0, s, scores={'verified': None, 'paper': 30.0 + s, 'compat': 60.0 + s})
        for s in range(3)
    ]
    table = scorer_table(rows)
    assert table.columns == ('task', 'water', 'alpha, compat', 'alpha, paper')
    assert [c.mean for c in table.rows[0] if isinstance(c, Score)] == [61, 31]
    assert headline_of(rows) == 'paper'
    assert headline_of([row(1)]) == 'verified'


# Ranking


def field(
    models: dict[str, float], *, seed: int, starts: int = 12, sd: float = 15
) -> list[EpisodeRow]:
    """Return episodes of models at the same starts; hard starts are hard for all of them."""
    random = generator(seed, 'field')
    hardness = {
        (task, start): random.uniform(0, 60)
        for task in ('locate_drums', 'dock')
        for start in range(starts)
    }
    return [
        row(float(base + gain + random.normal(0, sd)), start, task=task, model=model)
        for model, gain in models.items()
        for (task, start), base in hardness.items()
    ]


def test_a_planted_difference_is_found() -> None:
    found = [
        ranking(field({'better': 20, 'worse': 0, 'same': 0}, seed=s)).table().rows[0][:2]
        for s in range(10)
    ]
    assert found == [(1, 'better')] * 10
    result = ranking(field({'better': 20, 'worse': 0, 'same': 0}, seed=0))
    assert [result.rank(label) for label in ('better', 'worse', 'same')] == [1, 2, 2]
    assert result.tied_with('better') == ()
    assert result.tied_with('worse') == ('same',)


def test_a_planted_null_is_not_ranked() -> None:
    """Three equal models: some pair is told apart in at most about 5 % of benchmarks (Holm)."""
    trials = 100
    false = 0
    for seed in range(trials):
        result = ranking(field({'a': 0, 'b': 0, 'c': 0}, seed=seed, starts=6))
        false += any(pair.told_apart for pair in result.pairs)
    # Binomial(100, 0.05): 99.9 % of draws are at most 13.
    assert 1 <= false <= 13


def test_pairing_sees_a_difference_that_starts_would_hide() -> None:
    rows = field({'better': 6, 'worse': 0}, seed=1, sd=3)
    (pair,) = ranking(rows).pairs
    assert (pair.better, pair.told_apart) == ('better', True)
    averages = [s.interval for s in ranking(rows).scores.values()]
    assert averages[0] is not None and averages[1] is not None
    assert averages[0].low < averages[1].high  # unpaired, the intervals overlap


def test_too_few_starts_are_never_ranked_however_far_apart() -> None:
    rows = [row(100, s, model='a') for s in range(3)] + [row(0, s, model='b') for s in range(3)]
    result = ranking(rows)
    (pair,) = result.pairs
    # All signs of three pairs: p cannot be below 2/8.
    assert pair.difference.p == 0.25
    assert [result.rank(label) for label in ('a', 'b')] == [1, 1]


def test_only_episodes_that_both_flew_are_compared() -> None:
    mine = [row(50, s) for s in range(5)]
    theirs = [
        row(60, 0, model='b'),
        row(60, 1, model='b', partial=True),
        row(None, 2, model='b'),
        row(60, 3, model='b', seed=9),
        row(60, 4, model='b', water='deep'),
    ]
    found = compare(mine, theirs, scorer='verified')
    assert (found.mean, found.pairs, found.starts) == (10, 1, 1)
    assert compare(mine, [], scorer='verified') == Difference(mean=None)


def test_repeats_are_averaged_before_they_are_compared() -> None:
    mine = [row(s, 0, seed=k) for k, s in enumerate((0, 0))] + [row(10, 1)]
    theirs = [row(40, 0, model='b'), row(80, 0, model='b', seed=1), row(10, 1, model='b')]
    found = compare(mine, theirs, scorer='verified')
    # Start 0: (40 + 80) / 2 = 60 higher; start 1: equal.
    assert (found.mean, found.pairs, found.starts) == (30, 3, 2)


def test_tasks_weigh_the_same_whatever_their_starts() -> None:
    mine = [row(0, s) for s in range(4)] + [row(0, s, task='dock') for s in range(2)]
    theirs = [replace(r, system=System(model='b')) for r in mine]
    theirs = [
        replace(r, scores={**r.scores, 'verified': 30.0 if r.task == 'dock' else 0.0})
        for r in theirs
    ]
    assert compare(mine, theirs, scorer='verified').mean == pytest.approx(15)


def test_turning_two_systems_round_turns_the_difference_round() -> None:
    rows = field({'a': 5, 'b': 0}, seed=4)
    a, b = ([r for r in rows if r.model == name] for name in 'ab')
    one, other = compare(a, b, scorer='verified'), compare(b, a, scorer='verified')
    assert one.mean is not None and other.mean is not None
    assert one.mean == pytest.approx(-other.mean)
    assert one.p == other.p
    (pair,) = ranking(rows).pairs
    assert pair.better == 'a' and pair.difference.mean == pytest.approx(other.mean)


def test_a_single_system_has_rank_one() -> None:
    assert ranking([row(5, 0), row(6, 1)]).table().rows[0][:2] == (1, 'alpha')


# Durations and memories


def test_scaling_keeps_durations_apart_and_compares_the_same_starts() -> None:
    durations = {1800.0: 10.0, 3600.0: 20.0, 10800.0: 45.0}
    rows = [
        row(score + start, start, t_max=duration)
        for duration, score in durations.items()
        for start in range(8)
    ]
    # Flown for one duration only: it would lift that point alone.
    rows += [row(100, s, task='dock', t_max=3600.0) for s in range(8)]
    curve = scaling_points(rows)['alpha', 'shallow']
    assert {d: s.mean for d, s in curve.items()} == {1800: 13.5, 3600: 23.5, 10800: 48.5}
    table = scaling_table(rows)
    assert table.columns == ('system', 'water', '0.5 h', '1 h', '3 h', 'longest - shortest')
    gain = table.rows[0][-1]
    assert isinstance(gain, Difference)
    assert (gain.mean, gain.starts, gain.p) == (35, 8, 2 / 2**8)


def test_a_curve_needs_durations() -> None:
    with pytest.raises(OceanGymError, match='no duration'):
        scaling_table([row(1, t_max=None)])


def test_transfer_is_compared_with_the_same_starts_without_memory() -> None:
    gains = {Transfer.NONE: 0.0, Transfer.CROSS: 12.0, Transfer.WITHIN: -3.0}
    rows = [
        row(20 + gain + start, start, system=System(model='alpha', transfer=transfer))
        for transfer, gain in gains.items()
        for start in range(10)
    ]
    rows += [
        row(25 + s, s, system=System(model='alpha', transfer=Transfer.CROSS, strip='coordinates'))
        for s in range(10)
    ]
    table = transfer_table(rows)
    assert table.columns == (
        'system',
        'water',
        'none',
        'within task',
        'cross task',
        'cross task, coordinates stripped',
        'within task - none',
        'cross task - none',
        'cross task, coordinates stripped - none',
    )
    line = dict(zip(table.columns, table.rows[0], strict=True))
    assert line['system'] == 'alpha'
    gained = [line[c] for c in table.columns[6:]]
    assert [g.mean for g in gained if isinstance(g, Difference)] == [-3, 12, 5]
    # Ten equal signs: 2/1024, times three tests.
    assert [g.p for g in gained if isinstance(g, Difference)] == [6 / 1024] * 3


def test_transfers_of_several_durations_are_compared_apart() -> None:
    rows = [
        row(
            minutes + 10 * (transfer is Transfer.WITHIN) + s,
            s,
            t_max=60.0 * minutes,
            system=System(model='alpha', transfer=transfer),
        )
        for minutes in (30, 60)
        for transfer in (Transfer.NONE, Transfer.WITHIN)
        for s in range(4)
    ]
    tables = {table.name: table for table in benchmark_tables(rows)}
    for minutes in (30, 60):
        found = tables[f'transfer_{60 * minutes}s'].rows[0]
        assert isinstance(found[2], Score)
        assert found[2].mean == pytest.approx(minutes + 1.5)


def test_scores_leave_transferred_memory_to_its_own_table() -> None:
    rows = [row(10 + s, s) for s in range(4)]
    rows += [
        row(90 + s, s, system=System(model='alpha', transfer=Transfer.WITHIN)) for s in range(4)
    ]
    tables = {table.name: table for table in benchmark_tables(rows)}
    assert tables['score'].columns[2:] == ('alpha',)
    found = cell(tables['score'], 'locate_drums', 'alpha')
    assert isinstance(found, Score) and found.mean == 11.5
    assert 'transfer' in tables


def test_each_track_and_duration_has_tables_of_its_own() -> None:
    rows = [
        row(s, s, track=track, t_max=duration)
        for s in range(3)
        for track in (Track.V, Track.AIDED)
        for duration in (1800.0, 3600.0)
    ]
    names = [table.name for table in benchmark_tables(rows)]
    assert len(set(names)) == len(names)
    for track in ('V', 'AIDED'):
        assert {f'score_{track}_1800s', f'score_{track}_3600s', f'scaling_{track}'} < set(names)
    both = benchmark_tables([*rows, *(replace(r, actions='extended') for r in rows)])
    others = {table.name for table in both} - set(names)
    assert len(both) == 2 * len(names) and len(others) == len(names)
    assert all('_extended' in name for name in others)
    with pytest.raises(OceanGymError, match='cannot mix profile'):
        benchmark_tables([*rows, row(1, 5, profile='hard')])


# Formats

AWKWARD = 'a|b & 50 % of #1_{x} <c>, "d"\n\\e ~^$ 海'


@pytest.fixture
def awkward() -> Table:
    return Table(
        title=AWKWARD,
        columns=('name', AWKWARD, 'n'),
        rows=(
            (AWKWARD, Score(mean=6.6, sd=19.83, starts=9), 3),
            ('short', Score(mean=None, unscored=2), 12),
            (None, Score(mean=-0.01, sd=0.0), 0),
        ),
        notes=(AWKWARD,),
    )


def test_markdown_keeps_its_columns(awkward: Table) -> None:
    lines = [line for line in awkward.markdown().split('\n') if line.startswith('|')]
    assert len(lines) == 5
    for line in lines:
        assert len(re.findall(r'(?<!\\)\|', line)) == 4
    assert lines[1].split('|')[2].strip().endswith(':')
    assert '6.6 ± 19.8 (9)' in lines[2]
    assert '0.0 ± 0.0' in lines[4] and '-0.0' not in lines[4]
    # Wide letters take two columns, so that the bars stay below each other.
    assert len(lines[3]) == len(lines[4]) == len(lines[2]) + 1


def test_csv_has_a_column_for_each_number(awkward: Table) -> None:
    header, *rows = list(csv.reader(io.StringIO(awkward.csv())))
    assert header[0] == 'name' and header[-1] == 'n'
    assert header[1:4] == [f'{AWKWARD} {name}' for name in ('mean', 'sd', 'n')]
    assert [len(r) for r in rows] == [len(header)] * 3
    assert rows[0][:4] == [AWKWARD, '6.6', '19.83', '9']
    assert rows[1][1] == '' and rows[1][header.index(f'{AWKWARD} unscored')] == '2'


def test_json_has_every_number_in_full(awkward: Table) -> None:
    content = json.loads(awkward.json())
    assert content['rows'][0][AWKWARD]['sd'] == 19.83
    assert content['rows'][1][AWKWARD]['mean'] is None
    assert content['rows'][0]['n'] == 3
    assert content['title'] == content['notes'][0] == AWKWARD


def test_latex_escapes_what_latex_takes_for_commands(awkward: Table) -> None:
    text = awkward.latex()
    body = text[text.index(r'\midrule') : text.index(r'\bottomrule')]
    lines = [line for line in body.split('\n') if line.endswith(r'\\')]
    assert [len(re.findall(r'(?<!\\)&', line)) for line in lines] == [2, 2, 2]
    assert r'a\textbar{}b \& 50 \% of \#1\_\{x\} $<$c$>$' in text
    assert r'\textbackslash{}e \textasciitilde{}\textasciicircum{}\$' in text
    assert r'6.6 $\pm$ 19.8' in text
    assert text.count('{') == text.count('}')
    assert r'\begin{tabular}{lrr}' in text


@given(st.text(max_size=60))
def test_any_name_survives_every_format(name: str) -> None:
    table = Table(title=name, columns=('a', 'b'), rows=((name, 1),))
    lines = [line for line in table.markdown().split('\n') if line.startswith('|')]
    assert len(lines) == 3
    assert all(len(re.findall(r'(?<!\\)(?:\\\\)*\|', line)) >= 3 for line in lines)
    assert json.loads(table.json())['rows'][0]['a'] == name
    assert '\n\n' not in table.latex()


def test_tables_of_the_wrong_shape_are_refused() -> None:
    with pytest.raises(ValueError, match='cells for'):
        Table(title='', columns=('a',), rows=((1, 2),))
    with pytest.raises(ValueError, match='named twice'):
        Table(title='', columns=('a', 'a'), rows=())


def test_tables_are_written_in_four_formats(tmp_path: Path) -> None:
    tables = benchmark_tables([row(s, s) for s in range(3)])
    paths = write_tables(tmp_path / 'tables', tables)
    assert len(paths) == 4 * len(tables)
    assert (tmp_path / 'tables' / 'score.tex').read_text().startswith(r'\begin{table}')
    (tmp_path / 'file').write_text('')
    with pytest.raises(OceanGymError, match='cannot make'):
        write_tables(tmp_path / 'file', tables)


# Strata, baselines and episodes that are missing


def stratum_rows(model: str, scores: dict[str, float], **changes: object) -> list[EpisodeRow]:
    """Return four starts in each of some strata with the same score."""
    return [
        row(
            score,
            number,
            model=model,
            start=f'{stratum}_{number}',
            place=(float(number), float(len(stratum))),
            **changes,
        )
        for stratum, score in scores.items()
        for number in range(4)
    ]


def test_strata_are_columns_and_baselines_stand_beside_every_model() -> None:
    plain = {'track': Track.NONE}
    hidden = {**plain, 'world_seed': 20417}
    eyes = {'system': System(model='perfect_eyes', settings=(('sonar', 'none'),), privileged=True)}
    rows = [
        *stratum_rows('alpha', {'near': 30, 'medium': 10, 'far': 0}),
        *stratum_rows('alpha', {'near': 15}, world_seed=20417),
        *stratum_rows('idle', {'near': 0, 'medium': 0, 'far': 0}, **plain),
        *stratum_rows('blind_prior', {'near': 100}, **plain),
        *stratum_rows('blind_prior', {'near': 0}, **hidden),
        *stratum_rows('', {'near': 60, 'medium': 40, 'far': 0}, **eyes, **plain),
        # Not flown by the model: no row of it.
        *stratum_rows('idle', {'near': 0}, water='deep', **plain),
    ]
    tables = {table.name: table for table in benchmark_tables(rows)}
    strata = tables['strata']
    assert strata.columns[2:] == (
        'near, released', 'near, hidden', 'medium, released', 'far, released',
        'over perfect eyes',
    )  # fmt: skip
    assert [line[0] for line in strata.rows] == [
        'alpha', 'idle', 'blind_prior', 'perfect_eyes (knows the truth)',
    ]  # fmt: skip
    figures = {
        line[0]: [getattr(cell, 'mean', None) for cell in line[2:-1]] for line in strata.rows
    }
    assert figures['alpha'] == [30, 15, 10, 0]
    assert figures['blind_prior'] == [100, 0, None, None]
    # At the starts that both flew: (30 + 10 + 0) / (60 + 40 + 0), whatever the hidden ones gave.
    ratio = strata.rows[0][-1]
    assert isinstance(ratio, Ratio) and ratio.interval is not None
    assert ratio.value == pytest.approx(0.4)
    assert 0.3 <= ratio.interval.low < 0.4 < ratio.interval.high < 0.8
    assert isinstance(strata.rows[1][-1], Ratio) and strata.rows[1][-1].value == 0
    # They are compared with, not ranked.
    assert [line[1] for line in tables['ranking'].rows] == ['alpha']
    assert set(tables['score'].columns[2:]) == {line[0] for line in strata.rows}
    assert json.loads(strata.json())['rows'][0]['over perfect eyes']['ratio'] == ratio.value


def test_eyes_with_sonar_stand_in_the_tables_of_models_with_sonar() -> None:
    def eyes(sonar: str, score: float) -> list[EpisodeRow]:
        system = System(model='perfect_eyes', settings=(('sonar', sonar),), privileged=True)
        return stratum_rows('', {'near': score}, system=system, track=Track.NONE)

    baselines = [*eyes('none', 20), *eyes('fan', 80)]
    for track, score in ((Track.V, 20), (Track.VS, 80)):
        rows = [*stratum_rows('alpha', {'near': 5}, track=track), *baselines]
        strata = next(table for table in benchmark_tables(rows) if table.name == 'strata')
        found = cell(strata, 'perfect_eyes (knows the truth)', 'near, released')
        assert isinstance(found, Score) and found.mean == score


def test_failing_does_not_beat_losing() -> None:
    """Both find the target at every second start; one has its endpoint fail where it would lose."""
    honest = [row(20.0 * (n % 2), n, model='honest') for n in range(10)]
    failing = [
        row(20.0, n, model='failing')
        if n % 2
        else row(0.0, n, model='failing', partial=True, ending='error')
        for n in range(10)
    ]
    found = ranking([*honest, *failing])
    assert (found.scores['failing'].mean, found.scores['honest'].mean) == (20, 10)
    assert found.planned['failing'].mean == found.planned['honest'].mean == 10
    assert (found.rank('failing'), found.rank('honest')) == (None, 1)
    table = found.table()
    lines = {str(line[1]): line for line in table.texts()}
    assert lines['failing'][0] == 'none: below 98 % complete'
    assert lines['failing'][3] == '50.0'
    # What was earned before the end counts, and episodes that were never begun do as well.
    partly = [row(20.0, 0), row(8.0, 1, partial=True, ending='interrupted')]
    missing = [replace(BASE, start='near_9', scores={}, partial=True, ending='missing')]
    assert ranking([*partly, *missing]).planned['alpha'].mean == pytest.approx(28 / 3)
    # 98 of 100 are enough.
    nearly = [row(20.0, n, partial=n >= 98, ending='error') for n in range(100)]
    assert ranking(nearly).rank('alpha') == 1
    assert ranking([*nearly[1:], row(20.0, 0, partial=True)]).rank('alpha') is None
