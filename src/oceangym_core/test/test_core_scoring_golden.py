"""Eq. 7, its weights, and the released evaluator's numbers."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from oceangym_core.contract.actions import Action
from oceangym_core.contract.decisions import FindReport
from oceangym_core.contract.frames import FrameShift
from oceangym_core.errors import OceanGymError
from oceangym_core.record.memory_files import MemoryEntry
from oceangym_core.record.result_tree import FileGroup
from oceangym_core.scoring import compat
from oceangym_core.scoring.paper import score_paper, weigh
from oceangym_core.scoring.results import closest_distances, distance_score
from oceangym_core.testing.records import Leg, make_episode, run_info, targets_at

PIPE = compat.RELEASED_TARGETS[2]


@pytest.mark.parametrize(
    ('distance', 'score'),
    [
        (0.0, 100.0),
        (29.999, 100.0),
        (30.0, 100.0),
        (30.001, 100.0 * 69.999 / 70.0),
        (65.0, 50.0),
        (99.999, 100.0 * 0.001 / 70.0),
        (100.0, 0.0),
        (100.001, 0.0),
        (1e6, 0.0),
    ],
)
def test_eq_7_at_its_thresholds(distance: float, score: float) -> None:
    assert distance_score(distance) == pytest.approx(score, abs=1e-9)


@pytest.mark.parametrize('distance', [math.nan, math.inf, -1.0])
def test_eq_7_refuses_what_is_no_distance(distance: float) -> None:
    with pytest.raises(OceanGymError, match='cannot be scored'):
        distance_score(distance)


@given(st.floats(0, 200), st.floats(0, 200))
def test_eq_7_never_rises_with_distance(a: float, b: float) -> None:
    near, far = sorted((a, b))
    assert distance_score(near) >= distance_score(far)


def test_positions_that_are_empty_or_nan_are_refused() -> None:
    with pytest.raises(OceanGymError, match='no positions'):
        closest_distances(np.empty((0, 3)), [(0, 0, 0)])
    with pytest.raises(OceanGymError, match='not finite'):
        closest_distances([(0, 0, math.nan)], [(0, 0, 0)])


@pytest.mark.parametrize(
    ('count', 'index', 'share'),
    [(1, 0, 100), (2, 0, 60), (2, 1, 40), (3, 0, 60), (3, 1, 20), (3, 2, 20)],
)
def test_weights_go_by_point_index(count: int, index: int, share: float) -> None:
    points = [(1000.0 * i, 0.0, -50.0) for i in range(count)]
    info = run_info(targets_at(points))
    episode = make_episode([Leg(position=points[index])], info)
    assert score_paper(episode).score == pytest.approx(share)


def test_an_idle_vehicle_at_point2_scores_what_its_distance_to_the_pipe_gives() -> None:
    info = run_info(targets_at(PIPE))
    legs = [Leg(position=(350.0, -118.0, -7.0), action=Action.HOLD) for _ in range(3)]
    by_hand = 0.6 * 100 * (100 - math.sqrt(5**2 + 47**2 + 25**2)) / 70
    result = score_paper(make_episode(legs, info))
    assert result.score == pytest.approx(by_hand, abs=1e-9)
    assert result.score == pytest.approx(39.88, abs=0.05)


def test_paper_takes_the_closest_point_once_reported_and_the_final_one_before() -> None:
    info = run_info(targets_at([(0.0, 0.0, -50.0)]))
    passing = np.array([(t, 100.0 - 10.0 * t, 0.0, -50.0) for t in range(1, 21)])
    legs = [
        Leg(position=(100.0, 0.0, -50.0)),
        Leg(position=(-100.0, 0.0, -50.0), trajectory=passing),
    ]
    assert score_paper(make_episode(legs, info)).score == 0.0
    legs[1].reports = (FindReport(label='oil_pipeline'),)
    assert score_paper(make_episode(legs, info)).score == 100.0
    legs[1].reports = (FindReport(label='SUNKEN SHIP'),)
    assert score_paper(make_episode(legs, info)).score == 0.0


def test_paper_matches_eq_7_for_a_user_s_four_weights() -> None:
    result = weigh(
        names='abcd',
        points=[(0, 0, 0), (65, 0, 0), (0, 65, 0), (0, 0, 500)],
        weights=(0.1, 0.2, 0.3, 0.4),
        found=[True] * 4,
        trajectory=[(0, 0, 0)],
        final=(0, 0, 0),
    )
    assert result.score == pytest.approx(0.1 * 100 + 0.2 * 50 + 0.3 * 50)


def test_an_episode_without_truth_is_unscored_and_not_zero() -> None:
    info = run_info(targets_at([(0.0, 0.0, -50.0)]), has_truth=False)
    result = score_paper(make_episode([Leg(position=(0.0, 0.0, -50.0))], info))
    assert result.score is None and 'truth' in result.reason


# Golden values: what the released evaluator printed for these files.
def entries(*locations: tuple[float, ...]) -> tuple[MemoryEntry, ...]:
    return tuple(MemoryEntry(location=(float(x), float(y), float(z))) for x, y, z in locations)


def group(memory: tuple[MemoryEntry, ...], important: tuple[MemoryEntry, ...]) -> FileGroup:
    return FileGroup(stamp='', memory=memory, important=important)


@pytest.mark.parametrize(
    ('task', 'memory', 'important', 'score'),
    [
        (3, [(447, -203, -98), (0, 0, 0)], [], 0.0),
        (3, [(447, -203, -48)], [], 71.428571),
        (3, [(0, 0, 0)], [(0, 0, 0), (447, -203, -98)], 100.0),
        (5, [(168, 168, -35)], [], 100.0),
        (5, [(168, 168, 0)], [], 50.0),
        (5, [(168, 168, 35)], [], 0.0),
        (1, [(0, 0, 0)], [(-71, 149, -61), (325, -47, -83)], 60.0),
        (1, [(0, 0, 0)], [(325, -47, -83)], 60.0),
        (1, [(0, 0, 0)], [(325, -47, -83), (100, 100, -61)], 0.0),
        (2, [(350, -118, -7)], [], 39.88),
        (9, [(350, -118, -7)], [], 39.88),
    ],
)
def test_compat_golden_values(task: int, memory: list, important: list, score: float) -> None:
    result = compat.score_group(
        group(entries(*memory), entries(*important)), compat.RELEASED_TARGETS[task]
    )
    assert result == pytest.approx(score, abs=5e-3 if task in (2, 9) else 1e-6)


def test_compat_task_numbers_have_the_released_quirks() -> None:
    platform = compat.RELEASED_TARGETS[8]
    at, far, above = entries((267, 33, -80)), entries((0, 0, 0)), entries((267, 33, -30))
    task = compat.score_task(
        {
            'point1': (group(at, ()), group(far, ())),
            'point2': (group(far, ()),),
            'point3': (group(above, ()),),
        },
        platform,
    )
    assert task.average == pytest.approx(42.857, abs=5e-4)
    assert task.points['point1'].std == pytest.approx(70.711, abs=5e-4)
    assert task.std == pytest.approx(40.825, abs=5e-4)
    assert task.best == 100.0


def test_compat_std_is_zero_with_one_group_a_point() -> None:
    one = group(entries((267, 33, -80)), ())
    none = group(entries((0, 0, 0)), ())
    task = compat.score_task({'point1': (one,), 'point2': (none,)}, compat.RELEASED_TARGETS[8])
    assert task.std == 0.0 and task.average == 50.0


def test_compat_distance_ties_and_missing_locations() -> None:
    targets = ((0.0, 0.0, 0.0), (20.0, 0.0, 0.0))
    middle = entries((10, 0, 0))
    assert compat.score_memory((*middle, MemoryEntry()), targets) == 100.0
    assert compat.score_memory((), targets) == 0.0
    assert compat.score_important((), targets) == 0.0


def test_compat_takes_the_nearest_three_of_more_targets() -> None:
    targets = ((1000.0, 0.0, 0.0), (0.0, 0.0, 0.0), (10.0, 0.0, 0.0), (20.0, 0.0, 0.0))
    assert compat.score_location((0.0, 0.0, 0.0), targets) == 100.0


def test_compat_of_an_episode_undoes_the_shift_of_its_frame() -> None:
    point = (447.0, -203.0, -98.0)
    info = run_info(targets_at([point]), shift=FrameShift(812.3, -77.1, 2.1))
    legs = [Leg(position=(447.0, -203.0, -48.0)), Leg(position=(447.0, -203.0, -48.0))]
    result = compat.score_compat(make_episode(legs, info))
    # Memory files hold decimetres.
    assert result.score == pytest.approx(71.428571, abs=100 / 70 * 0.1)
    assert result.score != 0.0
