"""Every clause of the headline score, on hand-made episodes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from oceangym_core.contract.decisions import FindReport
from oceangym_core.contract.frames import FrameShift
from oceangym_core.contract.observation import Sighting
from oceangym_core.geometry import Pose
from oceangym_core.record.schema import Ending
from oceangym_core.record.writer import RunWriter
from oceangym_core.scoring import score_episode
from oceangym_core.scoring.funnel import funnel
from oceangym_core.scoring.verified import judge_reports, score_verified, Verdict
from oceangym_core.testing.records import (
    box_target,
    Leg,
    make_episode,
    navigation_at,
    run_info,
    StepClock,
    targets_at,
    truth_at,
)
from oceangym_core.world.footprint import Footprint

TARGET = (100.0, 0.0, -50.0)
NEAR = (90.0, 0.0, -50.0)
SEEN = (Sighting(anchor='a', sensor='camera/front', pixels=64),)


def verdicts(legs: list[Leg], info=None) -> list[Verdict]:
    info = info or run_info(targets_at([TARGET]))
    return [item.verdict for item in judge_reports(make_episode(legs, info))]


def score(legs: list[Leg], info=None) -> float | None:
    return score_verified(make_episode(legs, info or run_info(targets_at([TARGET])))).score


def report(x: float, label: str = 'OIL PIPELINE', **kw) -> FindReport:
    return FindReport(label=label, position=(x, 0.0, -50.0), **kw)


def leg(*reports: FindReport, sightings=SEEN, position=NEAR, **kw) -> Leg:
    return Leg(position=position, sightings=sightings, reports=reports, **kw)


def test_a_right_report_in_sight_of_its_target_is_a_find() -> None:
    assert verdicts([leg(report(100.0))]) == [Verdict.TRUE_FIND]
    assert score([leg(report(100.0))]) == 100.0


def test_an_unreported_target_earns_nothing_however_near() -> None:
    assert score([leg(position=TARGET)]) == 0.0


@pytest.mark.parametrize('label', ['oil pipeline', 'Oil_Pipeline', 'the oil-pipeline'])
def test_case_and_separators_of_a_label_do_not_matter(label: str) -> None:
    assert verdicts([leg(report(100.0, label))]) == [Verdict.TRUE_FIND]


def test_a_wrong_label_is_false() -> None:
    assert verdicts([leg(report(100.0, 'SUNKEN SHIP'))]) == [Verdict.WRONG_LABEL]
    assert score([leg(report(100.0, 'SUNKEN SHIP'))]) == 0.0


@pytest.mark.parametrize(('gap', 'verdict'), [(14.9, Verdict.TRUE_FIND), (15.1, Verdict.TOO_FAR)])
def test_a_place_counts_within_15_m_of_the_footprint(gap: float, verdict: Verdict) -> None:
    # The target's box reaches 1 m to either side of its point.
    assert verdicts([leg(report(TARGET[0] + 1.0 + gap))]) == [verdict]


def test_without_a_place_the_vehicle_s_own_counts() -> None:
    assert verdicts([leg(FindReport(label='OIL PIPELINE'))]) == [Verdict.TRUE_FIND]
    far = leg(FindReport(label='OIL PIPELINE'), position=(80.0, 0.0, -50.0))
    assert verdicts([far]) == [Verdict.TOO_FAR]


@pytest.mark.parametrize(
    ('sighting', 'verdict'),
    [
        (Sighting(anchor='a', sensor='camera/front', pixels=64), Verdict.TRUE_FIND),
        (Sighting(anchor='a', sensor='camera/front', pixels=63), Verdict.NOT_PERCEPTIBLE),
        (Sighting(anchor='a', sensor='sonar/front', cells=3), Verdict.TRUE_FIND),
        (Sighting(anchor='a', sensor='sonar/front', cells=2), Verdict.NOT_PERCEPTIBLE),
        (Sighting(anchor='b', sensor='camera/front', pixels=9999), Verdict.NOT_PERCEPTIBLE),
    ],
)
def test_the_target_must_be_perceptible(sighting: Sighting, verdict: Verdict) -> None:
    assert verdicts([leg(report(100.0), sightings=(sighting,))]) == [verdict]


@pytest.mark.parametrize(
    ('options', 'verdict'),
    [
        # Track V: a deep drum in 786 cells of the down sonar, which no model is shown.
        ({'agent': 'mllm', 'sonar': 'none'}, Verdict.NOT_PERCEPTIBLE),
        ({'agent': 'mllm', 'sonar': 'none', 'coverage': 'text'}, Verdict.NOT_PERCEPTIBLE),
        ({'agent': 'perfect_eyes', 'sonar': 'none'}, Verdict.NOT_PERCEPTIBLE),
        ({'agent': 'mllm', 'sonar': 'fan'}, Verdict.TRUE_FIND),
        ({'agent': 'mllm', 'sonar': 'none', 'detector': True}, Verdict.TRUE_FIND),
        ({'agent': 'perfect_eyes', 'sonar': 'fan'}, Verdict.TRUE_FIND),
        ({'agent': 'survey', 'sonar': 'none'}, Verdict.TRUE_FIND),
        ({}, Verdict.TRUE_FIND),
    ],
)
def test_only_the_sensors_of_the_track_count(options: dict, verdict: Verdict) -> None:
    echoes = (Sighting(anchor='a', sensor='sonar/down', cells=786),)
    info = run_info(targets_at([TARGET])).model_copy(update={'options': options})
    legs = [leg(report(100.0), sightings=echoes)]
    assert verdicts(legs, info) == [verdict]
    seen = verdict is Verdict.TRUE_FIND
    episode = make_episode(legs, info)
    (stage,) = funnel(episode, judge_reports(episode))
    assert (stage.in_view, stage.verified) == (seen, seen)
    assert score_episode(episode)['start']['visible'] == seen


def test_a_target_hidden_behind_a_rock_or_in_dark_water_does_not_count() -> None:
    # Both leave no sighting, however near the vehicle and however right the place.
    assert verdicts([leg(report(100.0), sightings=())]) == [Verdict.NOT_PERCEPTIBLE]
    assert score([leg(report(100.0), sightings=())]) == 0.0


def test_pixels_of_two_cameras_do_not_add_up() -> None:
    halves = tuple(
        Sighting(anchor='a', sensor=f'camera/{d}', pixels=40) for d in ('front', 'left')
    )
    assert verdicts([leg(report(100.0), sightings=halves)]) == [Verdict.NOT_PERCEPTIBLE]


def test_perceptibility_is_asked_of_the_observation_reported_on() -> None:
    late = [leg(), leg(report(100.0, observation_index=0), sightings=())]
    assert verdicts(late) == [Verdict.TRUE_FIND]
    early = [leg(sightings=()), leg(report(100.0, observation_index=0))]
    assert verdicts(early) == [Verdict.NOT_PERCEPTIBLE]


def test_repeats_of_a_true_find_are_neutral() -> None:
    legs = [leg(report(100.0)), leg(report(103.0)), leg(report(100.0), sightings=())]
    assert verdicts(legs) == [Verdict.TRUE_FIND, Verdict.REPEAT, Verdict.REPEAT]
    assert score(legs) == 100.0


def test_false_reports_divide_the_score() -> None:
    legs = [leg(report(100.0), report(300.0), report(100.0, 'SUNKEN SHIP')), leg(report(400.0))]
    assert score(legs) == pytest.approx(100.0 * 1 / 4)


def test_each_target_is_found_once_and_the_nearest_unfound_one_counts() -> None:
    targets = targets_at([(100.0, 0.0, -50.0), (112.0, 0.0, -50.0)])
    both = tuple(Sighting(anchor=n, sensor='camera/front', pixels=200) for n in 'ab')
    info = run_info(targets)
    legs = [leg(report(101.0), sightings=both), leg(report(101.0), sightings=both)]
    judged = judge_reports(make_episode(legs, info))
    assert [j.target for j in judged] == ['a', 'b']
    assert score(legs, info) == 100.0


def test_the_nearest_unfound_target_must_be_the_one_in_view() -> None:
    targets = targets_at([(100.0, 0.0, -50.0), (112.0, 0.0, -50.0)])
    only_b = (Sighting(anchor='b', sensor='camera/front', pixels=200),)
    assert verdicts([leg(report(101.0), sightings=only_b)], run_info(targets)) == [
        Verdict.NOT_PERCEPTIBLE
    ]


def test_a_found_target_scores_from_the_closest_point_of_the_trajectory() -> None:
    # The pipe is seen from far, found, and never approached closer than 65 m from its point.
    target = box_target('a', TARGET, size=(100.0, 1.0, 1.0))
    legs = [
        leg(report(60.0), position=(35.0, 0.0, -50.0)),
        leg(position=(0.0, 0.0, -50.0), sightings=()),
    ]
    result = score_verified(make_episode(legs, run_info([target])))
    assert result.score == pytest.approx(50.0)
    passing = np.array([(5.0, 70.0, 0.0, -50.0)])
    legs[1].trajectory = passing
    assert score_verified(make_episode(legs, run_info([target]))).score == 100.0


def test_drift_of_the_odometry_is_not_punished() -> None:
    # The odometry is 80 m and 30 deg off; the agent places the target 10 m ahead of itself.
    drifted = Pose.from_euler((170.0, 0.0, -45.0), 0, 0, math.radians(30))
    ahead = tuple(float(v) for v in drifted.apply((10.0, 0.0, 0.0)))
    found = FindReport(label='OIL PIPELINE', position=ahead)  # type: ignore[arg-type]
    judged = judge_reports(
        make_episode([leg(found, estimate=drifted)], run_info(targets_at([TARGET])))
    )
    assert judged[0].verdict is Verdict.TRUE_FIND
    assert judged[0].place == pytest.approx(TARGET, abs=1e-4)


def test_the_shift_of_the_frame_does_not_change_a_score() -> None:
    shift = FrameShift(900.0, -1200.0, 2.5)
    where = tuple(float(v) for v in shift.points_to_odom(TARGET))
    info = run_info(targets_at([TARGET]), shift=shift)
    found = FindReport(label='OIL PIPELINE', position=where)  # type: ignore[arg-type]
    assert score([leg(found)], info) == 100.0
    # The map coordinates known by heart are worth nothing.
    assert score([leg(report(100.0))], info) == 0.0


def test_reports_that_were_refused_do_not_count() -> None:
    info = run_info(targets_at([TARGET]))
    writer = RunWriter(None, info, clock=StepClock())
    start = leg()
    writer.write_step(
        index=0,
        navigation=navigation_at(Pose.of(NEAR), 0.0),
        truth=truth_at(start, 0, 0.0),
    )
    bad = report(300.0, observation_index=0)
    good = report(100.0, observation_index=0)
    writer.write_end(t=0.0, ending=Ending.STOP, reports=[(bad, False), (good, True)])
    assert score_verified(writer.episode()).score == 100.0


def test_an_inspector_of_the_whole_line_loses_nothing_and_a_guesser_gains_nothing() -> None:
    """A line of 400 m along x with stations at 100, 200 and 300 m, reported every 50 m."""
    line = Footprint.of([(Pose.of((200.0, 0.0, -50.0)), (400.0, 1.0, 1.0))])
    stations = targets_at([(x, 0.0, -50.0) for x in (100.0, 200.0, 300.0)])
    targets = (stations[0].model_copy(update={'structure': line}), *stations[1:])
    seen = {0: 'a', 2: 'b', 4: 'c'}
    legs = [
        leg(
            report(100.0 + 50.0 * k),
            position=(100.0 + 50.0 * k, 0.0, -45.0),
            sightings=(Sighting(anchor=seen[k], sensor='camera/down', pixels=900),)
            if k in seen
            else (),
        )
        for k in range(5)
    ]
    episode = make_episode(legs, run_info(targets))
    found = [j.verdict for j in judge_reports(episode)]
    assert found == [Verdict.TRUE_FIND, Verdict.ALONG] * 2 + [Verdict.TRUE_FIND]
    assert score_verified(episode).score == pytest.approx(100.0)
    # Beside the line it counts against the reporter as before, and on it without a sight it earns nothing.
    beside = make_episode(
        [leg(FindReport(label='OIL PIPELINE', position=(150.0, 12.0, -50.0)), sightings=())],
        run_info(targets),
    )
    assert [j.verdict for j in judge_reports(beside)] == [Verdict.TOO_FAR]
    blind = make_episode(
        [leg(report(x), sightings=()) for x in range(0, 400, 50)], run_info(targets)
    )
    assert score_verified(blind).score == 0.0


def test_the_funnel_counts_finds_lost_to_their_name_alone() -> None:
    legs = [leg(report(100.0, 'tower wreck')), leg(report(180.0, 'tower wreck'))]
    episode = make_episode(legs, run_info(targets_at([(100.0, 0.0, -50.0)])))
    (row,) = funnel(episode, judge_reports(episode))
    assert (row.mislabelled, row.right_label, row.verified) == (1, False, False)


def test_the_funnel_counts_the_stages_in_order() -> None:
    targets = targets_at([(100.0, 0.0, -50.0), (400.0, 0.0, -50.0), (0.0, 300.0, -50.0)])
    info = run_info(targets)
    see_b = (Sighting(anchor='b', sensor='sonar/left', cells=5),)
    legs = [
        leg(sightings=()),
        leg(report(100.0)),
        leg(report(375.0), sightings=see_b, position=(390.0, 0.0, -50.0)),
    ]
    episode = make_episode(legs, info)
    a, b, c = funnel(episode, judge_reports(episode))
    assert (a.in_view, a.reported, a.right_label, a.within_30m, a.verified) == (True,) * 5
    # 24 m from b's box: near enough for eq. 7's full score, not for a find.
    assert (b.reported, b.right_label, b.within_30m, b.verified) == (True, True, True, False)
    assert not c.in_view and not c.reported
    assert (a.first_sight, b.first_sight, c.first_sight) == (30.0, 60.0, None)
