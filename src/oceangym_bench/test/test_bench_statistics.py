"""Intervals and tests against published values, hand computation, scipy and simulated populations."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy import stats

from oceangym_bench.analysis.statistics import (
    bootstrap_interval,
    holm,
    Interval,
    paired_permutation,
    ratio_interval,
    score_interval,
    summarise,
    wilson,
)
from oceangym_core.errors import OceanGymError
from oceangym_core.rng import generator

scores = st.floats(0, 100, allow_nan=False)
starts = st.lists(st.lists(scores, min_size=1, max_size=3), min_size=2, max_size=8)


def test_wilson_interval_of_2_in_51() -> None:
    found = wilson(2, 51)
    assert found is not None
    assert (round(100 * found.low, 2), round(100 * found.high, 2)) == (1.08, 13.22)


def test_wilson_interval_of_0_in_96() -> None:
    found = wilson(0, 96)
    assert found is not None
    assert found.low == 0
    assert round(100 * found.high, 2) == 3.85


@given(st.integers(1, 200), st.data())
def test_wilson_interval_holds_the_rate_within_0_and_1(trials: int, data: st.DataObject) -> None:
    successes = data.draw(st.integers(0, trials))
    found, mirrored = wilson(successes, trials), wilson(trials - successes, trials)
    assert found is not None and mirrored is not None
    assert 0 <= found.low <= successes / trials <= found.high <= 1
    assert found.low == pytest.approx(1 - mirrored.high)


def test_no_trials_have_no_interval_and_wrong_counts_are_refused() -> None:
    assert wilson(0, 0) is None
    for successes, trials in ((3, 2), (-1, 2), (0, -1)):
        with pytest.raises(OceanGymError, match='is no rate'):
            wilson(successes, trials)


def test_summary_averages_repeats_before_starts() -> None:
    # Starts: 50 (of 0 and 100), 20, 20; not the five scores.
    found = summarise([[0, 100], [20, 20, 20], [20]])
    assert (found.starts, found.episodes, found.mean) == (3, 6, 30)
    assert found.sd == pytest.approx(np.sqrt((400 + 100 + 100) / 2))


def test_one_success_of_three_has_the_papers_ratio_of_deviation_to_mean() -> None:
    found = summarise([[58.2], [0], [0]])
    assert found.mean == pytest.approx(19.4)
    assert found.sd == pytest.approx(19.4 * np.sqrt(3))


def test_one_start_has_a_mean_but_no_deviation_and_no_interval() -> None:
    assert summarise([[10, 30]]).sd is None
    assert bootstrap_interval([[[10, 30]]]) is None
    assert bootstrap_interval([[[1], [2]], [[10, 30]]]) is None


@pytest.mark.parametrize('bad', [[], [[]], [[1.0], []], [[float('nan')]], [[float('inf'), 1]]])
def test_what_cannot_be_averaged_is_refused(bad: list[list[float]]) -> None:
    with pytest.raises(OceanGymError):
        summarise(bad)
    with pytest.raises(OceanGymError):
        bootstrap_interval([bad])


@settings(max_examples=40, deadline=None)
@given(starts)
def test_interval_lies_within_the_scores(cell: list[list[float]]) -> None:
    found = bootstrap_interval([cell], resamples=400)
    assert found is not None
    everything = [score for start in cell for score in start]
    assert min(everything) - 1e-9 <= found.low <= found.high <= max(everything) + 1e-9


@settings(max_examples=30, deadline=None)
@given(starts, st.floats(-50, 50), st.floats(0.5, 2))
def test_interval_moves_and_scales_with_the_scores(
    cell: list[list[float]], shift: float, scale: float
) -> None:
    one = bootstrap_interval([cell], resamples=200)
    other = bootstrap_interval([[[scale * s + shift for s in x] for x in cell]], resamples=200)
    assert one is not None and other is not None
    assert other.low == pytest.approx(scale * one.low + shift, abs=1e-6)
    assert other.high == pytest.approx(scale * one.high + shift, abs=1e-6)


def test_interval_of_a_seed_is_always_the_same() -> None:
    cell = [[1.0, 5.0], [20.0], [70.0, 90.0, 10.0]]
    assert bootstrap_interval([cell], seed=3) == bootstrap_interval([cell], seed=3)
    assert bootstrap_interval([cell], seed=3) != bootstrap_interval([cell], seed=4)


def test_equal_scores_have_an_interval_without_width() -> None:
    assert bootstrap_interval([[[40.0], [40.0], [40.0]]]) == Interval(40.0, 40.0)


def test_repeats_that_differ_widen_the_interval() -> None:
    steady = bootstrap_interval([[[m, m] for m in (20.0, 40.0, 60.0, 80.0)]])
    shaky = bootstrap_interval([[[m - 20, m + 20] for m in (20.0, 40.0, 60.0, 80.0)]])
    assert steady is not None and shaky is not None
    assert shaky.high - shaky.low > steady.high - steady.low


@pytest.mark.parametrize(('repeats', 'within'), [(1, 0.0), (3, 15.0)])
def test_interval_covers_the_mean_of_a_population_of_starts(repeats: int, within: float) -> None:
    """12 starts, three in five of them hopeless, as scores of searches are."""
    random = generator(0, 'population', repeats)
    truth = 0.4 * 60
    covered = 0
    trials = 400
    for trial in range(trials):
        means = np.where(random.random(12) < 0.6, 0.0, random.uniform(20, 100, 12))
        cell = means[:, None] + random.normal(0, 1, (12, repeats)) * within
        found = bootstrap_interval([cell.tolist()], seed=trial, resamples=1000)
        assert found is not None
        covered += truth in found
    # 95 % is asked for; so skew a population costs a few.
    assert 0.90 <= covered / trials <= 0.99


def test_interval_of_an_average_over_tasks_covers_it() -> None:
    """Tasks of different height: drawing starts across them would make it far too wide."""
    random = generator(1, 'population')
    heights = np.array([10.0, 50.0, 90.0])
    covered, widths = 0, []
    trials = 300
    for trial in range(trials):
        tasks = [(h + random.normal(0, 8, (6, 1))).tolist() for h in heights]
        found = bootstrap_interval(tasks, seed=trial, resamples=1000)
        assert found is not None
        covered += 50.0 in found
        widths.append(found.high - found.low)
    assert 0.92 <= covered / trials <= 0.99
    # Student's t interval of the average: 2 * 2.13 * 8 / sqrt(18).
    assert np.mean(widths) == pytest.approx(8.0, abs=1.0)


@pytest.mark.parametrize('hits', [0, 1, 6, 11, 12])
def test_interval_of_all_or_nothing_is_that_of_clopper_and_pearson(hits: int) -> None:
    cell = [[100.0]] * hits + [[0.0]] * (12 - hits)
    found = score_interval([cell])
    exact = stats.binomtest(hits, 12).proportion_ci(0.95, method='exact')
    assert found is not None
    # The bootstrap's end is kept where it lies farther out.
    assert found.low <= 100 * exact.low + 1 and found.high >= 100 * exact.high - 1
    if hits in (0, 12):
        assert (found.low, found.high) == pytest.approx((100 * exact.low, 100 * exact.high), abs=1)


@pytest.mark.parametrize('tasks', [1, 4])
@pytest.mark.parametrize('count', [3, 6, 12, 36])
def test_interval_covers_scores_that_are_mostly_zero(tasks: int, count: int) -> None:
    """Success from 2 % to all, with one score, a few or many: what searches earn."""
    trials = 50
    covered: dict[tuple[str, float], list[bool]] = {}
    for kind, success in itertools.product(
        ('60', '100', 'steps', 'beta'), (0.02, 0.1, 0.3, 0.9, 1)
    ):
        random = generator(1, kind, round(100 * success), tasks, count)
        # Of several tasks some are harder than others.
        rates = [min(1.0, success * 2 * (k + 1) / (tasks + 1)) for k in range(tasks)]
        truth = float(np.mean(rates)) * {'60': 60, '100': 100, 'steps': 60, 'beta': 50}[kind]
        hits = covered.setdefault((kind, success), [])
        for trial in range(trials):
            cells = []
            for rate in rates:
                earned = {
                    '60': np.full(count, 60.0),
                    '100': np.full(count, 100.0),
                    'steps': random.choice([20.0, 60.0, 100.0], count),
                    'beta': 100 * random.beta(2, 2, count),
                }[kind]
                cells.append((earned * (random.random(count) < rate))[:, None].tolist())
            found = score_interval(cells, seed=trial, resamples=400)
            assert found is not None
            hits.append(found.low - 1e-9 <= truth <= found.high + 1e-9)
    shares = [np.mean(hits) for hits in covered.values()]
    assert np.mean(shares) >= 0.95
    # 86 % of 50 are two and a half deviations below 95 %.
    assert min(shares) >= 0.86
    if tasks == 1:
        zeros = [h for (kind, success), h in covered.items() if success == 0.1]
        assert np.mean(zeros) >= 0.93


def test_ratio_is_drawn_with_both_scores_of_a_start_together() -> None:
    # Half of the other at every start, whatever is drawn: only the unseen start, at which both are
    # 100, leaves the upper end room.
    steady = ratio_interval([[(v / 2, v) for v in (20.0, 40.0, 60.0, 80.0) * 9]])
    assert steady is not None
    assert steady.low == pytest.approx(0.5)
    assert 0.5 < steady.high < 0.6
    nothing = ratio_interval([[(0.0, 50.0)] * 12])
    assert nothing is not None
    assert nothing.low == 0 and 0.2 < nothing.high < 0.5
    assert ratio_interval([[(10.0, 0.0)] * 12]) is None


def test_ratio_covers_that_of_a_population() -> None:
    random = generator(3, 'ratio')
    covered = 0
    for trial in range(200):
        best = np.where(random.random(12) < 0.5, 100.0, 0.0)
        mine = best * (random.random(12) < 0.3)
        if best.any():
            found = ratio_interval([list(zip(mine, best, strict=True))], seed=trial, resamples=400)
            assert found is not None
            covered += found.low <= 0.3 <= found.high
    assert covered / 200 >= 0.93


def test_permutations_of_three_differences_by_hand() -> None:
    # The means of all signs of 1, 2, 3, times 3: +-6 +-4 +-2 0 0; two of eight reach 6.
    found = paired_permutation([1, 2, 3])
    assert (found.statistic, found.p, found.exact) == (2, 2 / 8, True)
    # Of -1, 2, 3 the sum is 4: 6, 4, -4, -6 reach it.
    assert paired_permutation([-1, 2, 3]).p == 4 / 8
    # Of 1, 2, -3 the sum is 0: all do.
    assert paired_permutation([1, 2, -3]).p == 1


def test_smallest_p_of_n_pairs_is_two_of_all_signs() -> None:
    for n in range(1, 17):
        assert paired_permutation([5.0] * n).p == pytest.approx(2 / 2**n)


def test_weights_count_like_parts_of_a_mean() -> None:
    # Two starts in one task, one in another: 1/4, 1/4, 1/2 of the mean.
    found = paired_permutation([4, 8, 2], weights=[0.5, 0.5, 1])
    assert found.statistic == pytest.approx(4)
    # Parts 1, 2, 1: sums +-4, +-2, +-2, 0, 0; two of eight reach 4.
    assert found.p == 2 / 8


def test_differences_of_zero_say_nothing() -> None:
    assert paired_permutation([0.0] * 5).p == 1
    assert paired_permutation([0.0] * 40).p == 1
    # Pairs without a difference neither help nor harm.
    assert paired_permutation([0, 0, 1, 2, 3]).p == paired_permutation([1, 2, 3]).p


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-20, 20), min_size=2, max_size=9))
def test_permutation_test_agrees_with_scipy(differences: list[int]) -> None:
    reference = stats.permutation_test(
        (np.array(differences, dtype=float),),
        np.mean,
        permutation_type='samples',
        n_resamples=np.inf,
    )
    assert paired_permutation(differences).p == pytest.approx(reference.pvalue)


def test_sample_of_permutations_comes_close_to_all_of_them() -> None:
    random = generator(2, 'differences')
    differences = random.normal(8, 20, 16)
    exact = paired_permutation(differences.tolist())
    sampled = paired_permutation([*differences, 0.0])
    assert exact.exact and not sampled.exact
    assert sampled.p == pytest.approx(exact.p, abs=0.01)
    assert paired_permutation([*differences, 0.0]) == sampled


def test_sampled_p_is_never_zero() -> None:
    found = paired_permutation([10.0] * 100, resamples=999)
    assert found.p == 1 / 1000


def test_true_null_is_rejected_as_often_as_stated() -> None:
    random = generator(3, 'null')
    trials = 1000
    rejected = sum(
        paired_permutation(random.normal(0, 20, 12).tolist()).p < 0.05 for _ in range(trials)
    )
    # Binomial(1000, 0.05): 99.9 % of draws lie within 29 .. 74.
    assert 29 <= rejected <= 74


@pytest.mark.parametrize(
    ('differences', 'weights'),
    [([], None), ([float('nan')], None), ([1.0], [0.0]), ([1.0, 2.0], [1.0])],
)
def test_wrong_differences_and_weights_are_refused(
    differences: list[float], weights: list[float] | None
) -> None:
    with pytest.raises(OceanGymError):
        paired_permutation(differences, weights=weights)


def test_holm_by_hand() -> None:
    # In order .005 x 4, .01 x 3, .03 x 2, .04 x 1, never below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))


def test_holm_of_none_and_of_one() -> None:
    assert holm([]) == ()
    assert holm([0.2]) == (0.2,)
    with pytest.raises(OceanGymError, match='must lie within'):
        holm([0.2, 1.5])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_p_and_keeps_the_order(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(p <= q <= 1 for p, q in zip(values, adjusted, strict=True))
    assert all(
        adjusted[i] <= adjusted[j]
        for i in range(len(values))
        for j in range(len(values))
        if values[i] < values[j]
    )
    # Never stricter than Bonferroni's.
    assert all(q <= min(1, p * len(values)) + 1e-12 for p, q in zip(values, adjusted, strict=True))
